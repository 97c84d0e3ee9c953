package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"codemode/catalog"
	"codemode/limits"
)

func TestDirectTools(t *testing.T) {
	r := newRig(t, ServerOptions{Direct: []string{"ping", "MCP.raw.image", "raw__case-7", "raw__refuse", "raw__hologram", "gone"}}, limits.Limits{}, rawConfig(t, "raw", ""))
	r.catalog.Add(catalog.Tool{Name: "only", Description: "Direct only.", DirectOnly: true, Run: func(context.Context, *catalog.Call) (*catalog.Result, error) {
		return &catalog.Result{Value: json.RawMessage(`{"a":1}`)}, nil
	}})
	r.server.Refresh()
	session := r.pipes(t, newClient(nil))
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "exec only ping raw__case-7 raw__hologram raw__image raw__refuse wait" {
		t.Errorf("tools %q", got)
	}
	direct := func(name string, arguments map[string]any) *sdk.CallToolResult {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return result
	}
	if image, ok := direct("raw__image", map[string]any{"bytes": 20000}).Content[0].(*sdk.ImageContent); !ok || len(image.Data) != 20000 {
		t.Error("a direct image does not come as it is")
	}
	if got := direct("raw__case-7", nil); !got.IsError || got.StructuredContent == nil || len(got.Content) != 1 {
		t.Errorf("case 7: %+v", got)
	}
	if got := direct("ping", nil).Content[0].(*sdk.TextContent).Text; got != `"pong"` {
		t.Errorf("ping: %s", got)
	}
	if got := direct("ping", map[string]any{"x": 1}); !got.IsError {
		t.Error("ping takes what its schema does not")
	}
	if got := direct("raw__refuse", nil); !got.IsError || !strings.Contains(got.Content[0].(*sdk.TextContent).Text, "I do not like it") {
		t.Errorf("refuse: %+v", got)
	}
	if got := direct("raw__hologram", nil); len(got.Content) != 2 {
		t.Errorf("hologram: %+v", got)
	}
	r.catalog.Remove("host:core:only")
	r.server.Refresh()
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "only"}); err == nil {
		t.Error("a tool that was removed can be called")
	}
}

// Schemas and descriptions of a hostile server do not keep the direct tools beside them from being there.
func TestHostileDirectTools(t *testing.T) {
	r := newRig(t, ServerOptions{Direct: []string{"evil__bad-header", "evil__bad-schema", "evil__then", "ping"}}, limits.Limits{}, rawConfig(t, "evil", "hostile"))
	session := r.pipes(t, newClient(nil))
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(listed.Tools) != 6 {
		t.Errorf("%d tools, want 6", len(listed.Tools))
	}
	for _, tool := range listed.Tools {
		if (tool.Name == "exec" || tool.Name == "wait") && strings.Contains(tool.Description, "pwned") {
			t.Errorf("the description of %s has text of the server", tool.Name)
		}
	}
	for _, code := range []string{`return (await MCP.evil) === MCP.evil`, `return typeof MCP.evil.then`, `return Object.keys(MCP.evil).length > 10`} {
		if a := runCell(t, session, code); a.Status != "completed" {
			t.Errorf("%s: %s %s", code, a.Status, a.Error)
		}
	}
	a := runCell(t, session, `return (await API.read("mcp/evil.d.ts")).content`)
	if a.Status != "completed" || strings.Contains(a.text, "<|im_start|>") || strings.Count(a.text, markerWord) != 2 {
		t.Errorf("the declarations of a hostile server: %s %s", a.Status, a.text)
	}
}

// logged is a log that is read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// What matches nothing is said once the servers are there: until then it may only wait for one.
func TestTheCatalogIsChecked(t *testing.T) {
	var log logged
	logger := zerolog.New(&log)
	r := newRig(t, ServerOptions{Direct: []string{"raw__image", "raw__imge"}, Policy: catalog.NewPolicy([]string{"raw__*", "rwa__*"}, nil), Logger: &logger},
		limits.Limits{}, rawConfig(t, "raw", ""))
	r.pipes(t, newClient(nil))
	want := []string{`{"level":"warn","pattern":"rwa__*"`, `{"level":"warn","direct":"raw__imge"`}
	for range 500 {
		if strings.Contains(log.String(), want[1]) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, line := range want {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log lacks %s", line)
		}
	}
	if got := strings.Count(log.String(), `"level":"warn"`); got != 2 {
		t.Errorf("%d warnings, want 2:\n%s", got, log.String())
	}
}

func TestACatalogWithoutToolsIsSaid(t *testing.T) {
	var log logged
	logger := zerolog.New(&log)
	r := newRig(t, ServerOptions{Logger: &logger}, limits.Limits{}, ServerConfig{Name: "off", Disabled: true})
	r.catalog.RemoveOwner("core")
	r.pipes(t, newClient(nil))
	for range 500 {
		if strings.Contains(log.String(), "there are no tools") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the log says\n%s", log.String())
}
