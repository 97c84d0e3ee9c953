package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mcpTools makes the tools of a server as package mcp registers them.
func mcpTools(server, original string, names ...string) []Tool {
	var tools []Tool
	for _, name := range names {
		tools = append(tools, Tool{Name: server + "__" + name, Source: SourceMCP, Owner: server, Run: echo,
			MCP: &MCPTool{Server: server, ServerName: original, Tool: name}})
	}
	return tools
}

func TestMCPIdentifiers(t *testing.T) {
	for _, tc := range []struct{ server, tool, want string }{
		{"git-hub", "create_issue", "MCP.gitHub.createIssue"},
		{"github", "CreateIssue", "MCP.github.createIssue"},
		{"123", "123", "MCP.server.tool"},
		{"s", "delete", "MCP.s.delete2"},
		{"s", "then", "MCP.s.then2"},
		{"s", "toJSON", "MCP.s.toJSON2"},
		{"s", "constructor", "MCP.s.constructor2"},
		{"s", "__proto__", "MCP.s.proto"},
		{"s", "resources", "MCP.s.resources2"},
		{"s", "prompts", "MCP.s.prompts2"},
		{"s", "$api", "MCP.s.api"},
		{"Object", "x", "MCP.object.x"},
		{"json", "x", "MCP.json2.x"},
		{"tools", "x", "MCP.tools2.x"},
		{"日本", "検索", "MCP.server.tool"},
		{"a.b.c", "d/e", "MCP.aBC.dE"},
	} {
		v := New(nil)
		v.Add(mcpTools(tc.server, "", tc.tool)...)
		if got := v.Snapshot().View(nil).Entries(SurfaceCatalog)[0].CallableName(); got != tc.want {
			t.Errorf("%s, %s is %s, want %s", tc.server, tc.tool, got, tc.want)
		}
	}
	c := New(nil)
	c.Add(mcpTools("x", "", "create-issue", "create_issue", "createIssue")...)
	c.Add(mcpTools("git-hub", "", "a")...)
	c.Add(mcpTools("git_hub", "", "a")...)
	got := map[string]string{}
	for _, e := range c.Snapshot().View(nil).Entries(SurfaceCatalog) {
		got[e.ID()] = e.CallableName()
	}
	want := map[string]string{
		"mcp:x:x__create-issue": "MCP.x.createIssue", "mcp:x:x__createIssue": "MCP.x.createIssue2", "mcp:x:x__create_issue": "MCP.x.createIssue3",
		"mcp:git-hub:git-hub__a": "MCP.gitHub.a", "mcp:git_hub:git_hub__a": "MCP.gitHub2.a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identifiers (-want +got):\n%s", diff)
	}
}

func mcpView(t *testing.T) *View {
	t.Helper()
	c := New(nil)
	tools := mcpTools("git-hub", `Git "Hub" */`, "create_issue", "get_tree")
	tools[0].Description = "Open an issue.\n\nSee */ alert(1) /* \u202e the docs.\r\nThird line."
	tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{
		"title":{"type":"string","description":"what it is about */ x"},
		"labels":{"type":"array","items":{"type":"string"},"default":["bug"]},
		"state":{"enum":["open","clo\"sed*/"],"default":"open","description":"its state"},
		"a-b":{"type":["integer","null"]}},"required":["title","state"]}`)
	tools[0].OutputSchema = json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"],"additionalProperties":false}`)
	tools[1].InputSchema = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	tools[1].OutputSchema = json.RawMessage(`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`)
	for _, op := range []Operation{OpResourcesList, OpResourcesRead, OpPromptsList, OpPromptsGet} {
		tool := Tool{Name: "git-hub__" + string(op), Source: SourceMCP, Owner: "git-hub", Run: echo,
			MCP: &MCPTool{Server: "git-hub", ServerName: `Git "Hub" */`, Tool: string(op), Operation: op}}
		if op == OpResourcesRead {
			tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`)
		}
		tools = append(tools, tool)
	}
	if problems := c.Add(append(tools, mcpTools("memory", "", "recall")...)...); problems != nil {
		t.Fatal(problems)
	}
	return c.Snapshot().View(nil)
}

func TestMCPTree(t *testing.T) {
	v := mcpView(t)
	for path, want := range map[string][]string{
		"":                       {"MCP"},
		"namespaces":             {"MCP"},
		"MCP":                    {"$api", "gitHub", "memory"},
		"namespaces.MCP":         {"$api", "gitHub", "memory"},
		"MCP.gitHub":             {"$api", "$serverName", "createIssue", "getTree", "prompts", "resources"},
		"MCP.gitHub.resources":   {"list", "read"},
		"MCP.gitHub.prompts":     {"get", "list"},
		"MCP.memory":             {"$api", "$serverName", "recall"},
		"MCP.gitHub.createIssue": nil,
		"MCP.nope":               nil,
		"MCP.memory.resources":   nil,
	} {
		if diff := cmp.Diff(want, v.Children(path)); diff != "" {
			t.Errorf("children of %q (-want +got):\n%s", path, diff)
		}
	}
	for path, kind := range map[string]NodeKind{
		"MCP": NodeNamespace, "MCP.$api": NodeLocal, "MCP.gitHub": NodeNamespace, "MCP.gitHub.$api": NodeLocal,
		"MCP.gitHub.$serverName": NodeValue, "MCP.gitHub.createIssue": NodeTool, "MCP.gitHub.resources": NodeNamespace,
		"MCP.gitHub.resources.read": NodeTool, "MCP.gitHub.prompts.get": NodeTool, "namespaces.MCP.gitHub.getTree": NodeTool,
		"MCP.": 0, "MCP.gitHub.": 0, "MCP.gitHub.then": 0, "MCP.gitHub.createIssue.x": 0, "MCP.gitHub.__proto__": 0, "MCP.then": 0, "mcp": 0, "MCPx": 0,
	} {
		n, ok := v.Resolve(path)
		if ok != (kind != 0) || n.Kind != kind {
			t.Errorf("Resolve(%q) = kind %d, %v; want %d", path, n.Kind, ok, kind)
		}
		if kind == NodeTool && (n.Entry == nil || !n.Untrusted) {
			t.Errorf("Resolve(%q) = %+v", path, n)
		}
	}
	if n, _ := v.Resolve("MCP.gitHub.$serverName"); string(n.Value) != `"Git \"Hub\" */"` {
		t.Errorf("$serverName is %s", n.Value)
	}
	if _, ok := New(nil).Snapshot().View(nil).Resolve("MCP"); ok {
		t.Error("MCP is there without a server")
	}
}

func raw(args ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, a := range args {
		out = append(out, json.RawMessage(a))
	}
	return out
}

func TestMCPArguments(t *testing.T) {
	v := mcpView(t)
	for _, tc := range []struct {
		path string
		args []json.RawMessage
		want string
	}{
		{"MCP.gitHub.createIssue", raw(`{"title":"t"}`), `{"labels":["bug"],"state":"open","title":"t"}`},
		{"MCP.gitHub.createIssue", raw(`{"title":"t","labels":null,"state":"x"}`), `{"title":"t","labels":null,"state":"x"}`},
		{"MCP.gitHub.createIssue", nil, `tool_error: MCP.gitHub.createIssue needs the argument title.`},
		{"MCP.gitHub.resources.read", raw(`{}`), `tool_error: MCP.gitHub.resources.read needs the argument uri.`},
		{"MCP.gitHub.getTree", nil, `{}`},
		{"MCP.gitHub.getTree", raw(`{"extra":1}`), `{"extra":1}`},
		{"MCP.gitHub.getTree", raw(`{}`, `{}`), `tool_error: MCP.gitHub.getTree takes one object, not 2 arguments.`},
		{"MCP.gitHub.getTree", raw(`[]`), `tool_error: MCP.gitHub.getTree takes one object with named arguments.`},
		{"MCP.gitHub.getTree", raw(`null`), `tool_error: MCP.gitHub.getTree takes one object with named arguments.`},
		{"MCP.gitHub.getTree", raw(`"x"`), `tool_error: MCP.gitHub.getTree takes one object with named arguments.`},
	} {
		n, _ := v.Resolve(tc.path)
		out, err := n.Input(tc.args)
		got := string(out) + codeAndMessage(err)
		if got != tc.want {
			t.Errorf("%s%s: got %s\nwant %s", tc.path, tc.args, got, tc.want)
		}
		handle, err := n.Entry.Input(tc.args)
		if got := string(handle) + codeAndMessage(err); got != tc.want {
			t.Errorf("the handle does it differently: %s", got)
		}
	}
}

func TestMCPAPI(t *testing.T) {
	v := mcpView(t)
	for _, tc := range []struct {
		path  string
		args  []json.RawMessage
		scope string
		tools []string
		also  string
	}{
		{"MCP.$api", raw(`"ignored"`), "root", nil, `"servers":[{"identifier":"gitHub","serverName":"Git \"Hub\" */","tools":6,"file":"mcp/gitHub.d.ts"}`},
		{"MCP.gitHub.$api", nil, "server", []string{"createIssue", "getTree", "prompts.get", "prompts.list", "resources.list", "resources.read"}, ""},
		{"MCP.gitHub.$api", raw(`"createIssue"`), "tool", []string{"createIssue"}, ""},
		{"MCP.gitHub.$api", raw(`"create_issue"`, `{"schema":true}`), "tool", []string{"createIssue"}, `"schemas":{"createIssue":{"input":{`},
		{"MCP.gitHub.$api", raw(`{"schema":true}`), "server", []string{"createIssue", "getTree", "prompts.get", "prompts.list", "resources.list", "resources.read"}, `"getTree":{"input":{"type":"object","additionalProperties":false},"output":`},
		{"MCP.gitHub.$api", raw(`"createIsue"`), "server", nil, `Did you mean createIssue?`},
		{"MCP.gitHub.$api", raw(`null`), "server", []string{"createIssue", "getTree", "prompts.get", "prompts.list", "resources.list", "resources.read"}, ""},
	} {
		n, _ := v.Resolve(tc.path)
		out, err := n.Call(tc.args)
		if err != nil {
			t.Errorf("%s%s: %v", tc.path, tc.args, err)
			continue
		}
		var got struct {
			Kind, Scope string
			Tools       []struct{ Method, Path string }
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		var methods []string
		for _, tool := range got.Tools {
			methods = append(methods, tool.Method)
		}
		if got.Kind != "mcp_api" || got.Scope != tc.scope || cmp.Diff(tc.tools, methods) != "" || !strings.Contains(string(out), tc.also) {
			t.Errorf("%s%s:\n%s\nwant scope %s, tools %v, %s", tc.path, tc.args, out, tc.scope, tc.tools, tc.also)
		}
	}
	n, _ := v.Resolve("MCP.gitHub.$api")
	if _, err := n.Call(raw(`3`)); err == nil {
		t.Error("a number was taken for a selector")
	}
}

// golden compares with a file in testdata; UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestMCPFiles(t *testing.T) {
	v := mcpView(t)
	server := v.proj.tables().mcp.byName["gitHub"]
	files, err := v.Files("mcp")
	if err != nil || server.file != "" {
		t.Fatalf("listing rendered a file, or failed: %v", err)
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"mcp/index.d.ts", "mcp/gitHub.d.ts", "mcp/memory.d.ts"}, paths); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, path := range paths {
		f, err := v.ReadFile(" /" + path)
		if err != nil || f.Path != path || f.Bytes != len(f.Content) || !f.Untrusted {
			t.Fatalf("%s: %+v, %v", path, f, err)
		}
		checkTypeScript(t, f.Content)
		golden(t, strings.ReplaceAll(path, "/", "-"), f.Content)
	}
	// A server called index is declared in the index file.
	c := New(nil)
	c.Add(mcpTools("index", "", "go")...)
	v = c.Snapshot().View(nil)
	files, _ = v.Files("")
	f, err := v.ReadFile("mcp/index.d.ts")
	if err != nil || len(files) != 1 || !strings.Contains(f.Content, "declare namespace MCP.index {") {
		t.Errorf("%v\n%s", err, f.Content)
	}
	checkTypeScript(t, f.Content)
}

func TestFilePaths(t *testing.T) {
	c := New(nil)
	c.Add(Tool{Name: "a", Run: echo}, Tool{Name: "b", Source: SourceClient, InputSchema: json.RawMessage(`{"type":"object","required":["x"]}`), Run: echo})
	c.Add(mcpTools("git", "", "x")...)
	c.Add(mcpTools("git-hub", "", "x")...)
	v := c.Snapshot().View(nil)
	for prefix, want := range map[string]string{
		"":                 "[mcp/index.d.ts mcp/git.d.ts mcp/gitHub.d.ts tools/a.d.ts tools/b.d.ts]",
		" /tools/ ":        "[tools/a.d.ts tools/b.d.ts]",
		"mcp/git":          "[]",
		"mcp/git.d.ts":     "[mcp/git.d.ts]",
		"nope":             "[]",
		"..":               "error",
		"tools/../mcp":     "error",
		"tools//a.d.ts":    "error",
		"./tools":          "error",
		"tools/a.d.ts\x00": "error",
	} {
		files, err := v.Files(prefix)
		paths := []string{}
		for _, f := range files {
			paths = append(paths, f.Path)
		}
		got := fmt.Sprint(paths)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("Files(%q) = %s, %v; want %s", prefix, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"":              "invalid_input: \"\" is not a path of an API file. Paths look like tools/name.d.ts.",
		"../etc/passwd": "invalid_input: ../etc/passwd is not a path of an API file. Paths look like tools/name.d.ts.",
		"tools/aa.d.ts": "invalid_input: There is no API file tools/aa.d.ts. Did you mean tools/a.d.ts?",
		"tools/a":       "invalid_input: There is no API file tools/a. Did you mean tools/a.d.ts?",
		"mcp/gitHub":    "invalid_input: There is no API file mcp/gitHub. Did you mean mcp/gitHub.d.ts?",
		"other":         "invalid_input: There is no API file other. API.list() shows those there are.",
	} {
		if _, err := v.ReadFile(path); codeAndMessage(err) != want {
			t.Errorf("ReadFile(%q): %s\nwant %s", path, codeAndMessage(err), want)
		}
	}
	f, err := v.ReadFile("tools/b.d.ts")
	if err != nil || !f.Untrusted || !f.Describes || !strings.Contains(f.Content, "declare function b(input: {") {
		t.Errorf("%+v, %v", f, err)
	}
	checkTypeScript(t, f.Content)
}

// Declarations of all kinds of schemas are TypeScript, and one file has no two types of the same name.
func TestDeclarationFiles(t *testing.T) {
	c := New(nil)
	c.Add(
		Tool{Name: "kinds", Description: "Every kind of schema.", Run: echo, InputSchema: json.RawMessage(`{"type":"object","properties":{
			"any":{},"never":false,"s":{"type":"string"},"n":{"type":"integer","minimum":1},"nothing":{"type":"null"},
			"list":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}},
			"tuple":{"type":"array","prefixItems":[{"type":"string"},{"type":["string","null"]}],"items":false,"minItems":1},
			"map":{"type":"object","additionalProperties":{"type":"boolean"}},"closed":{"type":"object","additionalProperties":false},
			"open":{"type":"object"},"mixed":{"type":"object","properties":{"a":{"const":1}},"additionalProperties":{"type":"string"}},
			"both":{"allOf":[{"$ref":"#/$defs/tree-node"},{"type":"object","properties":{"extra":{"const":"*/"}}}]},
			"tree":{"$ref":"#/$defs/tree-node"},"we ird\n*/":{"enum":["a\u2028b",null,1.5e3]}},
			"required":["s","tree"],
			"$defs":{"tree-node":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree-node"},"other":{"$ref":"#/$defs/Leaf"}}},
				"Leaf":{"type":"object","properties":{"back":{"$ref":"#/$defs/Leaf"},"up":{"$ref":"#/$defs/tree-node"}}}}}`),
			OutputSchema: json.RawMessage(`{"$ref":"#/$defs/Leaf","$defs":{"Leaf":{"type":"array","items":{"$ref":"#/$defs/Leaf"}}}}`)},
		Tool{Name: "none", Run: echo},
	)
	v := c.Snapshot().View(nil)
	for _, name := range []string{"kinds", "none"} {
		f, err := v.ReadFile("tools/" + name + ".d.ts")
		if err != nil {
			t.Fatal(err)
		}
		checkTypeScript(t, f.Content)
		golden(t, "tools-"+name+".d.ts", f.Content)
	}
}
