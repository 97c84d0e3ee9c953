package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/quickjs"
)

// inspector is the MCP Inspector of testdata/inspector: a client that nobody here wrote. Its command line opens a session
// for every command, so that a cell that waits is gone with it; mcpdo, its other program, keeps a session between commands.
type inspector struct {
	node, cli, mcpdo string
	env              []string
}

func newInspector(t *testing.T) *inspector {
	t.Helper()
	modules := filepath.Join(npmPackages(t, "the MCP Inspector", inspectorInstalled), "node_modules")
	nodes, _ := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node"))
	if len(nodes) == 0 {
		t.Skip("the MCP Inspector needs Node 22 or later, and npm has its binary for Linux on x64 and arm64 only")
	}
	home := t.TempDir() // it keeps a catalog and secrets there
	// Not in the test's own folder: the name of a socket must not be long.
	daemon, err := os.MkdirTemp("", "mcpdo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(daemon) })
	clients := filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients")
	return &inspector{node: nodes[0], cli: filepath.Join(clients, "launcher", "build", "index.js"),
		mcpdo: filepath.Join(clients, "mcpdo", "build", "mcp-bin.js"),
		env: append(os.Environ(), "HOME="+home, "MCP_INSPECTOR_SECRET_STORE=file",
			"MCP_INSPECTOR_DAEMON_DIR="+daemon, "MCP_INSPECTOR_DAEMON_TOKEN="+NewToken())}
}

// run gives what a command printed, and its exit code.
func (i *inspector) run(t *testing.T, script string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), i.node, append([]string{script}, args...)...)
	var out, log bytes.Buffer
	command.Env, command.Stdout, command.Stderr = i.env, &out, &log
	command.WaitDelay = 5 * time.Second // the daemon that the first mcpdo starts may hold its output open
	if err := command.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return out.String(), log.String(), code
}

// inspected is a result as the Inspector prints it.
type inspected struct {
	Tools []struct{ Name string }

	IsError           bool
	StructuredContent struct {
		Status, RunID, Code, Error string
		Value                      json.RawMessage
		Output                     []struct{ Text string }
	}
	Content []struct{ Type, Text string }
}

// once runs a command in a session of its own.
func (i *inspector) once(t *testing.T, target []string, args ...string) *inspected {
	t.Helper()
	out, log, _ := i.run(t, i.cli, slices.Concat([]string{"--cli"}, target, []string{"--format", "json", "--quiet", "--method"}, args)...)
	var envelope struct{ Result *inspected }
	if err := json.Unmarshal([]byte(out), &envelope); err != nil || envelope.Result == nil {
		t.Fatalf("%q printed %s and %s", args, out, log)
	}
	return envelope.Result
}

// call calls a tool in the session that was opened as "kept".
func (i *inspector) call(t *testing.T, tool string, args any) *inspected {
	t.Helper()
	out, log, _ := i.run(t, i.mcpdo, "--format", "json", "@kept", "tools/call", tool, "--tool-args-json", string(mustMarshal(args)))
	var result inspected
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%s printed %s and %s", tool, out, log)
	}
	return &result
}

// buildCommand builds the real command.
func buildCommand(t *testing.T) string {
	t.Helper()
	if _, _, err := quickjs.Guest(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("this test runs cells, and there is no guest: %v", err)
	}
	program := filepath.Join(t.TempDir(), "codemode")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "codemode/cmd/codemode").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// runServe runs the command as an HTTP server until the test ends.
func runServe(t *testing.T, program, config, token string) (url string) {
	t.Helper()
	serve := exec.Command(program, "serve", "--config", config, "--http", "127.0.0.1:0")
	serve.Env = append(os.Environ(), "CODEMODE_TOKEN="+token)
	log, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(15*time.Second, func() { serve.Process.Kill() })
		defer kill.Stop()
		if err := serve.Wait(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, after, found := strings.Cut(lines.Text(), "serving MCP at "); found {
			go func() { // so that it never blocks on what it logs
				for lines.Scan() {
				}
			}()
			return strings.TrimSpace(after)
		}
	}
	t.Fatal("serve does not say where it listens")
	return ""
}

// TestInspector puts the MCP Inspector in front of the real command, with two real servers behind it.
func TestInspector(t *testing.T) {
	i := newInspector(t)
	program := buildCommand(t)
	folder := t.TempDir()
	files, memory := npmConfig(t, "file system", "mcp-server-filesystem", folder), memoryConfig(t)
	write := func(name string, value any) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, mustMarshal(value), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	people := write("people.json", []map[string]any{{"name": "Ada", "born": 1815}, {"name": "Alan", "born": 1912}})
	config := write("mcp.json", map[string]any{"mcpServers": map[string]any{
		"file system": map[string]any{"command": files.Command, "args": files.Args},
		"memory":      map[string]any{"command": memory.Command, "env": memory.Env},
	}})
	cache, err := os.UserCacheDir() // the Inspector passes HOME on, which is its own here; the compiled guest is in the cache
	if err != nil {
		t.Fatal(err)
	}
	client := write("client.json", map[string]any{"mcpServers": map[string]any{"codemode": map[string]any{
		"command": program, "args": []string{"serve", "--config", config}, "env": map[string]any{"XDG_CACHE_HOME": cache}}}})
	join := `
const [file] = await Promise.all([
  MCP.fileSystem.readTextFile({path: ` + string(mustMarshal(people)) + `}),
  MCP.memory.createEntities({entities: [{name: "Ada", entityType: "person", observations: ["wrote the first program"]}]}),
]);
const known = (await MCP.memory.readGraph({})).structuredContent.entities;
return JSON.parse(file.content[0].text).map((p) => [p.name, p.born, ...known.find((e) => e.name === p.name)?.observations ?? []]);`
	joined := `[["Ada",1815,"wrote the first program"],["Alan",1912]]`

	check := func(t *testing.T, target []string, connect ...string) {
		t.Helper()
		var names []string
		// auto asks for the protocol without sessions first, and is told which ones there are.
		for _, tool := range i.once(t, target, "tools/list", "--protocol-era", "auto").Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, []string{"exec", "wait"}) {
			t.Errorf("tools %q", names)
		}
		arguments := string(mustMarshal(map[string]any{"code": join}))
		result := i.once(t, target, "tools/call", "--tool-name", "exec", "--tool-args-json", arguments)
		if got := result.StructuredContent; result.IsError || got.Status != "completed" || string(got.Value) != joined {
			t.Errorf("joined: %+v, value %s; want %s", got, got.Value, joined)
		}
		if text := result.Content[0].Text; !strings.Contains(text, "EXTERNAL_UNTRUSTED_CONTENT") {
			t.Errorf("what servers sent is not marked: %s", text)
		}

		connect = slices.Concat([]string{"connect", "--connection", "kept", "--format", "json"}, connect)
		if out, log, code := i.run(t, i.mcpdo, connect...); code != 0 {
			t.Fatalf("%q: exit code %d, %s and %s", connect, code, out, log)
		}
		defer i.run(t, i.mcpdo, "daemon", "stop")
		waiting := i.call(t, "exec", map[string]any{"code": `
await MCP.memory.createEntities({entities: [{name: "Grace", entityType: "person", observations: []}]});
text("half"); await yield_control();
return (await MCP.memory.readGraph({})).structuredContent.entities.some((e) => e.name === "Grace")`}).StructuredContent
		if waiting.Status != "waiting" || waiting.RunID == "" || len(waiting.Output) != 1 || waiting.Output[0].Text != "half" {
			t.Fatalf("a cell that yields: %+v", waiting)
		}
		run := map[string]any{"runId": waiting.RunID}
		// Over HTTP it is the same process that answers, and still knows nothing of the run of another session.
		foreign := i.once(t, target, "tools/call", "--tool-name", "wait", "--tool-args-json", string(mustMarshal(run)))
		if !foreign.IsError || foreign.StructuredContent.Code != "invalid_input" {
			t.Errorf("wait in another session: %+v", foreign)
		}
		if ended := i.call(t, "wait", run).StructuredContent; ended.Status != "completed" || string(ended.Value) != "true" {
			t.Errorf("wait: %+v, value %s", ended, ended.Value)
		}
	}
	t.Run("stdio", func(t *testing.T) {
		check(t, []string{"--config", client, "--server", "codemode"}, "--config", client, "codemode")
	})
	t.Run("HTTP", func(t *testing.T) {
		token := NewToken()
		url := runServe(t, program, config, token)
		target := []string{"--transport", "http", "--server-url", url}
		header := []string{"--header", "Authorization: Bearer " + token}
		check(t, slices.Concat(target, header), slices.Concat(target, header)...)
		refused := slices.Concat([]string{"--cli"}, target, []string{"--stored-auth-only", "--quiet", "--method", "tools/list"})
		if out, log, code := i.run(t, i.cli, refused...); code == 0 || !strings.Contains(log, "auth_required") {
			t.Errorf("without a token: exit code %d, %s and %s", code, out, log)
		}
	})
}

// What a server reports while a cell's call is under way is in the command's trajectory, beside the call.
func TestTrajectoryHasWhatServersReport(t *testing.T) {
	everything := npmConfig(t, "everything", "mcp-server-everything", "stdio")
	folder := t.TempDir()
	config, trajectory := filepath.Join(folder, "mcp.json"), filepath.Join(folder, "calls.jsonl")
	if err := os.WriteFile(config, mustMarshal(map[string]any{"mcpServers": map[string]any{
		"everything": map[string]any{"command": everything.Command, "args": everything.Args}}}), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), buildCommand(t), "exec", "--config", config, "--trajectory", trajectory,
		"-e", `return await MCP.everything.triggerLongRunningOperation({duration: 1, steps: 2})`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines, err := os.ReadFile(trajectory)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"server":"everything","event":"progress","toolCallId":"`, `"progress":1,"total":2}`, `"toolName":"MCP.everything.triggerLongRunningOperation"`} {
		if !strings.Contains(string(lines), want) {
			t.Errorf("the trajectory has no %s:\n%s", want, lines)
		}
	}
}
