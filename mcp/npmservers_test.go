package mcp

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/limits"
)

// TestRealServers joins data of servers that nobody here wrote in one cell.
func TestRealServers(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "people.json"), []byte(`[{"name":"Ada","born":1815},{"name":"Alan","born":1912}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, ServerOptions{}, limits.Limits{TimeoutMs: 30000},
		npmConfig(t, "everything", "mcp-server-everything"), npmConfig(t, "file system", "mcp-server-filesystem", folder),
		memoryConfig(t), npmConfig(t, "thinking", "mcp-server-sequential-thinking"))
	session := r.pipes(t, newClient(nil))
	joined := runCell(t, session, `
const [file, _] = await Promise.all([
  MCP.fileSystem.readTextFile({path: `+string(mustMarshal(filepath.Join(folder, "people.json")))+`}),
  MCP.memory.createEntities({entities: [{name: "Ada", entityType: "person", observations: ["wrote the first program"]}]}),
]);
const people = JSON.parse(file.content[0].text);
const graph = (await MCP.memory.readGraph({})).structuredContent;
return people.map((p) => ({...p, known: graph.entities.find((e) => e.name === p.name)?.observations ?? []}));`)
	if want := `[{"born":1815,"known":["wrote the first program"],"name":"Ada"},{"born":1912,"known":[],"name":"Alan"}]`; string(joined.Value) != want { // the client sorts
		t.Errorf("value %s, error %s; want %s", joined.Value, joined.Error, want)
	}
	for _, status := range r.upstream.Status() {
		if status.State != StateReady || len(status.Problems) > 0 {
			t.Errorf("%s: %s %s %q", status.Name, status.State, status.Error, status.Problems)
		}
	}
	wantValue(t, session, `return (await MCP.everything.echo({message: "hi"})).content[0].text`, `"Echo: hi"`)
	wantValue(t, session, `return (await MCP.everything.getSum({a: 2, b: 3})).content[0].text.includes("5")`, `true`)
	wantValue(t, session, `return (await MCP.everything.resources.list()).resources.length > 0`, `true`)
	wantValue(t, session, `return (await MCP.everything.prompts.list()).prompts.length > 0`, `true`)
	wantValue(t, session, `const r = await MCP.fileSystem.readTextFile({path: "/etc/passwd"}); return r.isError`, `true`)
	wantValue(t, session, `try { await MCP.everything.getSum({a: 2}) } catch (e) { return e.message }`, `"MCP.everything.getSum needs the argument b."`)
	image := runCell(t, session, `const r = await MCP.everything.getTinyImage({}); return r.content.map((b) => b.type)`)
	if !strings.Contains(string(image.Value), "image") {
		t.Errorf("image: %s %s", image.Value, image.Error)
	}
	files := runCell(t, session, `return (await API.list("mcp")).files.map((f) => f.path)`)
	if want := `["mcp/index.d.ts","mcp/everything.d.ts","mcp/fileSystem.d.ts","mcp/memory.d.ts","mcp/thinking.d.ts"]`; string(files.Value) != want {
		t.Errorf("files %s; want %s", files.Value, want)
	}
	found := runCell(t, session, `return (await catalog.search("read the contents of a file")).map((h) => h.callableName)`)
	if !strings.Contains(string(found.Value), "MCP.fileSystem.read") {
		t.Errorf("search: %s", found.Value)
	}
}

func TestRealServerOverHTTP(t *testing.T) {
	for _, test := range []struct{ mode, path, used string }{{"streamableHttp", "/mcp", TransportHTTP}, {"sse", "/sse", TransportSSE}} {
		t.Run(test.mode, func(t *testing.T) {
			address := listening(t, "mcp-server-everything", test.mode)
			config := httpConfig("everything", "http://"+address+test.path)
			r := newRig(t, ServerOptions{}, limits.Limits{TimeoutMs: 30000}, config)
			session := r.pipes(t, newClient(nil))
			wantValue(t, session, `return (await MCP.everything.echo({message: "hi"})).content[0].text`, `"Echo: hi"`)
			if status := r.upstream.Status()[0]; status.Transport != test.used {
				t.Errorf("status %+v", status)
			}
		})
	}
}

// serveVariable makes the test binary serve code mode on stdio, in front of the servers of a configuration file.
const serveVariable = "CODEMODE_MCP_TEST_SERVE"

// seen is what client.mjs prints.
type seen struct {
	Server                string
	Tools                 []string
	Bytes, Progress       int
	Plain, Nested, Waited struct {
		Status, Error string
		Value         json.RawMessage
	}
	Slow struct {
		Status, Error string
		Value         json.RawMessage
	}
	Waiting, Cancelled string
	Unknown, Foreign   string
}

// TestReferenceClient puts the reference SDK for JavaScript in front, over both transports.
func TestReferenceClient(t *testing.T) {
	dir := npmServers(t)
	text, err := os.ReadFile(filepath.Join("testdata", "servers", "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "client.mjs")
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	memory := memoryConfig(t)
	check := func(t *testing.T, client *exec.Cmd) {
		t.Helper()
		client.Stderr = os.Stderr
		out, err := client.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var s seen
		if err := json.Unmarshal(out, &s); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if s.Server != "codemode" || strings.Join(s.Tools, " ") != "exec wait" {
			t.Errorf("server %s, tools %q", s.Server, s.Tools)
		}
		if string(s.Plain.Value) != "6" || string(s.Nested.Value) != `{"created":true,"names":["Ada"]}` || s.Waiting != "waiting" ||
			string(s.Waited.Value) != `"two"` || string(s.Slow.Value) != `"slept"` || s.Progress == 0 || s.Cancelled != "yes" ||
			s.Unknown != "invalid_input" || s.Foreign != "" && s.Foreign != "invalid_input" {
			t.Errorf("seen %s", out)
		}
	}
	t.Run("stdio", func(t *testing.T) {
		newRig(t, ServerOptions{}, limits.Limits{}) // skips where there is no guest
		config, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"memory": map[string]any{"command": memory.Command, "env": memory.Env}}})
		path := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(path, config, 0o600); err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		client := exec.Command("node", script, "stdio", self)
		client.Env = append(os.Environ(), serveVariable+"="+path)
		check(t, client)
	})
	memory = memoryConfig(t)
	t.Run("HTTP", func(t *testing.T) {
		r := newRig(t, ServerOptions{}, limits.Limits{}, memory)
		h := r.listen(t, &HTTPOptions{Token: "secret"})
		check(t, exec.Command("node", script, "http", h.URL(), "secret"))
	})
}

// TestListBytes prints what tools/list costs with the servers in the client, and with code mode in front of them.
func TestListBytes(t *testing.T) {
	folder := t.TempDir()
	servers := []ServerConfig{npmConfig(t, "everything", "mcp-server-everything"), npmConfig(t, "filesystem", "mcp-server-filesystem", folder), memoryConfig(t)}
	before, tools := 0, 0
	for _, s := range servers {
		direct := exec.Command(s.Command, s.Args...)
		direct.Env = programEnvironment(&s)
		session, err := newClient(nil).Connect(t.Context(), &sdk.CommandTransport{Command: direct, TerminateDuration: 200 * time.Millisecond}, nil)
		if err != nil {
			t.Fatal(err)
		}
		bytes, n := listBytes(t, session)
		t.Logf("%-12s %2d tools, %6d bytes of tools/list", s.Name, n, bytes)
		before, tools = before+bytes, tools+n
		session.Close()
	}
	r := newRig(t, ServerOptions{}, limits.Limits{}, servers...)
	session := r.pipes(t, newClient(nil))
	after, n := listBytes(t, session)
	t.Logf("%-12s %2d tools, %6d bytes of tools/list: %.1f times less", "code mode", n, after, float64(before)/float64(after))
	t.Logf("%-12s %2d tools, %6d bytes of tools/list", "directly", tools, before)
	if after*3 > before {
		t.Errorf("code mode takes %d bytes, the servers %d", after, before)
	}
}

func listBytes(t *testing.T, session *sdk.ClientSession) (bytes, tools int) {
	t.Helper()
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(listed.Tools)
	if err != nil {
		t.Fatal(err)
	}
	return len(text), len(listed.Tools)
}
