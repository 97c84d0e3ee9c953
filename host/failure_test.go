package host

import (
	"context"
	"strings"
	"testing"

	"codemode/catalog"
)

// What is not there below MCP is said by its name, with what is there.
func TestServersThatAreNotThere(t *testing.T) {
	c := newTools()
	c.ExpectServers("tickets")
	server := func(name string) catalog.Tool {
		tool := catalog.Func(name+"__read", "Read something.", func(context.Context, struct{}) (int, error) { return 1, nil })
		tool.Source, tool.MCP = catalog.SourceMCP, &catalog.MCPTool{Server: name, Tool: "read"}
		return tool
	}
	without := newHost(t, c, Options{})
	const noServer = "failed internal_error guest ReferenceError: MCP is not defined. "
	for _, test := range []struct{ code, want string }{
		{`return MCP.tickets`, noServer + "No MCP server is available now; there may be later: MCP.tickets."},
		{`return Map.nope.x`, "failed internal_error guest TypeError: cannot read property 'x' of undefined\n"},
	} {
		if got := brief(exec(t, without, test.code)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s\ngot  %s\nwant %s", test.code, got, test.want)
		}
	}
	if problems := c.Add(server("files"), server("memory")); problems != nil {
		t.Fatal(problems)
	}
	const undefined = "failed internal_error guest TypeError: cannot read property 'read' of undefined. "
	with := newHost(t, c, Options{})
	for _, test := range []struct{ code, want string }{
		{`return await MCP.fies.read({})`, undefined + "There is no MCP.fies. There are MCP.files, MCP.memory."},
		{`return await MCP.tickets.read({})`, undefined + "MCP.tickets is not available now: its server is not connected."},
		{`const x = {}; return await x.files.read({})`, undefined[:len(undefined)-2] + "\n"},
		{`return await tools.call("files__read", {})`, `failed internal_error bridge Error: There is no tool files__read. Find tools with tools.search(query), look at one with tools.describe, and use its exact id or name. Tools of MCP servers are not among them: find those with catalog.search(query)`},
	} {
		if got := brief(exec(t, with, test.code)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s\ngot  %s\nwant %s", test.code, got, test.want)
		}
	}
	hidden := newHost(t, newTools(), Options{})
	if got, want := brief(exec(t, hidden, `return MCP.files`)), noServer+"There are no MCP servers here."; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A tool of a server is one handle with one description, whether a search finds it before or after the cell names it.
func TestASearchDescribesWhatWasNamedBefore(t *testing.T) {
	c := newTools()
	tool := catalog.Func("files__read_text", "Read a file.", func(context.Context, struct{}) (int, error) { return 1, nil })
	tool.Source, tool.MCP = catalog.SourceMCP, &catalog.MCPTool{Server: "files", Tool: "read_text"}
	if problems := c.Add(tool); problems != nil {
		t.Fatal(problems)
	}
	h := newHost(t, c, Options{})
	const found = `const [hit] = await catalog.search("read a file");
return [hit === MCP.files.readText, hit.callableName, hit.toolName, Object.keys(hit).includes("description"), (await hit.describe()).scope]`
	const want = `completed [true,"MCP.files.readText","read_text",true,"tool"]`
	for _, first := range []string{"", "MCP.files.readText; ", "MCP.files.readText.callableName; ", "await MCP.files.readText({}); ", "MCP.files.readText; await new Promise((done) => setTimeout(done, 40)); "} {
		if got := brief(exec(t, h, first+found)); !strings.HasPrefix(got, want) {
			t.Errorf("%sgot  %s\nwant %s", first, got, want)
		}
	}
}
