package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"codemode/catalog"
)

// A tool of an MCP server is found under each of its names: server__tool is what --direct and --allow take.
func TestFind(t *testing.T) {
	c := catalog.New(nil)
	run := func(context.Context, *catalog.Call) (*catalog.Result, error) { return nil, nil }
	problems := c.Add(catalog.Tool{Name: "ping", Run: run},
		catalog.Tool{Name: "files__read_text", Source: catalog.SourceMCP, MCP: &catalog.MCPTool{Server: "files", Tool: "read_text"}, Run: run,
			InputSchema: json.RawMessage(`{"type":"object"}`)})
	if problems != nil {
		t.Fatal(problems)
	}
	view := c.Snapshot().View(nil)
	for name, want := range map[string]string{"ping": "ping", "host:core:ping": "ping", "files__read_text": "MCP.files.readText",
		"mcp:files:files__read_text": "MCP.files.readText", "MCP.files.readText": "MCP.files.readText"} {
		if e, err := find(view, name); err != nil || e.CallableName() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	var out strings.Builder
	if err := printEntries(streams{out: &out}, view.Entries(catalog.SurfaceCatalog), false); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"ping any", "MCP.files.readText (see describe)"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), row) {
			t.Errorf("the list lacks %q:\n%s", row, &out)
		}
	}
	for name, want := range map[string]string{"files__red_text": "there is no tool files__red_text; did you mean MCP.files.readText?",
		"qqqqq": "there is no tool qqqqq; codemode search finds tools"} {
		if _, err := find(view, name); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
}

// What a server calls its tools reaches the terminal of who looks at them: as text, in one row.
func TestDescriptionsDoNotSteerTheTerminal(t *testing.T) {
	c := catalog.New(nil)
	run := func(context.Context, *catalog.Call) (*catalog.Result, error) { return nil, nil }
	c.Add(catalog.Tool{Name: "ping", Run: run, Description: "a\x1b]0;title\a\u009b2Jb\rc\td\u202ee"})
	var out strings.Builder
	if err := printEntries(streams{out: &out}, c.Snapshot().View(nil).Entries(catalog.SurfaceCatalog), false); err != nil {
		t.Fatal(err)
	}
	const want = "ping  any    a ]0;title  2Jb c d e\n"
	if _, row, _ := strings.Cut(out.String(), "\n"); row != want {
		t.Errorf("%q, want %q", row, want)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A command whose output was lost did not succeed, whatever it prints.
func TestLostOutputIsAnError(t *testing.T) {
	needGuest(t)
	tools := filepath.Join("..", "..", "examples", "tools.json")
	for _, args := range [][]string{
		{"exec", "-e", "return 1", "--format", "text"}, {"exec", "-e", "text('x')", "--format", "text"}, {"exec", "-e", "return 1", "--format", "json"},
		{"tools", "--tools", tools}, {"describe", "get_weather", "--tools", tools}, {"types", "--tools", tools}, {"abi"}, {"limits"}, {"version"},
	} {
		var errs strings.Builder
		if code := run(t.Context(), args, streams{strings.NewReader(""), fullDisk{}, &errs}); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%q: exit code %d: %s", args, code, &errs)
		}
	}
}

type silent struct{ read chan struct{} }

func (s silent) Read([]byte) (int, error) {
	close(s.read)
	select {}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A cell may come from a terminal or a pipe: one that stays silent can be interrupted, and one without an end is refused.
func TestInputWithoutAnEnd(t *testing.T) {
	var out, errs strings.Builder
	in := silent{make(chan struct{})}
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-in.read
		interrupt()
	}()
	if code := run(ctx, []string{"exec", "-"}, streams{in, &out, &errs}); code != exitFailed || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("silent: exit code %d: %s", code, &errs)
	}
	errs.Reset()
	if code := run(t.Context(), []string{"exec", "-"}, streams{endless{}, &out, &errs}); code != exitUsage || !strings.Contains(errs.String(), "more than 16777216 bytes") {
		t.Errorf("endless: exit code %d: %s", code, &errs)
	}
}
