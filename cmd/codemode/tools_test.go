package main

import (
	"context"
	"encoding/json"
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
