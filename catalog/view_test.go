package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func ids(entries []*Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.ID())
	}
	return out
}

func TestSnapshotsAreImmutable(t *testing.T) {
	c := New(nil)
	c.Add(Tool{Name: "a", Owner: "p", Run: echo}, Tool{Name: "b", Run: echo})
	before := c.Snapshot()
	if c.Snapshot() != before {
		t.Error("an unchanged catalog has a new snapshot")
	}
	old := before.View(nil)
	scope := before.Scope()
	c.Add(Tool{Name: "c", Run: echo})
	if got := c.Snapshot().Scope(); got != scope {
		t.Error("adding a tool changed the scope of counters")
	}
	entry, _ := old.Callable("a")
	if !c.Holds(entry) {
		t.Error("the catalog does not hold what it has")
	}
	if problems := c.Replace("p", Tool{Name: "a2", Run: echo}, Tool{Name: "x", Owner: "q", Run: echo}); len(problems) != 1 || problems[0].Index != 1 {
		t.Errorf("problems = %v, want one about the other owner's tool", problems)
	}
	if got := c.Snapshot().Scope(); got == scope {
		t.Error("replacing tools kept the scope of counters")
	}
	if c.Holds(entry) {
		t.Error("the catalog holds a tool that was replaced")
	}
	if diff := cmp.Diff([]string{"host:core:b", "host:p:a"}, ids(old.Entries(SurfaceCatalog))); diff != "" {
		t.Errorf("the old view changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"host:core:b", "host:core:c", "host:p:a2"}, ids(c.Snapshot().View(nil).Entries(SurfaceCatalog))); diff != "" {
		t.Errorf("new view (-want +got):\n%s", diff)
	}
	if got := c.Remove("host:core:b", "host:core:nope"); got != 1 {
		t.Errorf("Remove took %d", got)
	}
	if got := c.RemoveOwner("p"); got != 1 || c.Snapshot().Len() != 1 {
		t.Errorf("RemoveOwner took %d and left %d", got, c.Snapshot().Len())
	}
	if r, err := entry.Run(t.Context(), nil); err != nil || string(r.Value) != "{}" {
		t.Errorf("a removed tool in an old view: %v, %v", r, err)
	}
}

func TestPolicyPatterns(t *testing.T) {
	c := New(&Options{HostLabel: "openclaw"})
	c.Add(Tool{Name: "read", Run: echo}, Tool{Name: "read_all", Owner: "p", Run: echo}, Tool{Name: "write", Run: echo},
		Tool{Name: "s__read", Source: SourceMCP, MCP: &MCPTool{Server: "s", Tool: "read"}, Run: echo})
	for _, tc := range []struct {
		allow, deny []string
		want        []string
	}{
		{nil, nil, []string{"mcp:s:s__read", "openclaw:core:read", "openclaw:core:write", "openclaw:p:read_all"}},
		{[]string{"read*"}, nil, []string{"openclaw:core:read", "openclaw:p:read_all"}},
		{[]string{"*"}, []string{"write", "mcp:*"}, []string{"openclaw:core:read", "openclaw:p:read_all"}},
		{[]string{"openclaw:p:*", "write"}, nil, []string{"openclaw:core:write", "openclaw:p:read_all"}},
		{[]string{"read"}, []string{"read"}, []string{}},
		{[]string{}, nil, []string{}},
		{nil, []string{"*a*"}, []string{"openclaw:core:write"}},
		{nil, []string{"MCP.s.*"}, []string{"openclaw:core:read", "openclaw:core:write", "openclaw:p:read_all"}},
		{[]string{"MCP.*"}, nil, []string{"mcp:s:s__read"}},
	} {
		if diff := cmp.Diff(tc.want, ids(c.Snapshot().View(NewPolicy(tc.allow, tc.deny)).Entries(SurfaceCatalog))); diff != "" {
			t.Errorf("allow %q deny %q (-want +got):\n%s", tc.allow, tc.deny, diff)
		}
	}
	got := c.Snapshot().Unmatched(NewPolicy([]string{"read", "nowhere", "mcp:t:*"}, []string{"MCP.s.*", "MCP.t.*"}))
	if diff := cmp.Diff([]string{"MCP.t.*", "mcp:t:*", "nowhere"}, got); diff != "" {
		t.Errorf("unmatched (-want +got):\n%s", diff)
	}
	if e, _ := c.Snapshot().View(nil).Callable("read"); e.ID() != "openclaw:core:read" || !strings.Contains(string(e.Compact()), `"source":"openclaw"`) {
		t.Errorf("the source label is not used: %s", e.Compact())
	}
}

// A denied tool must be gone from everything that a view shows, by whatever means it was denied.
func TestDeniedToolsAreNowhere(t *testing.T) {
	c := New(nil)
	schema := json.RawMessage(`{"type":"object","properties":{"forbiddenparam":{"type":"string"}}}`)
	c.Add(
		Tool{Name: "ok", Description: "fine", Run: echo},
		Tool{Name: "forbidden", Description: "forbidden", Owner: "plug", InputSchema: schema, Run: echo},
		Tool{Name: "bad__forbidden", Description: "forbidden", Source: SourceMCP, MCP: &MCPTool{Server: "bad", Tool: "forbidden"}, Run: echo},
	)
	if err := c.RegisterNamespace(Namespace{ID: "n", Plugin: "plug", Global: "Forbidden", Requires: []string{"forbidden"}, Prompt: func(Session) string { return "forbidden" },
		Scope: func(Session) (map[string]any, error) {
			return map[string]any{"f": NamespaceTool("forbidden", nil)}, nil
		}}); err != nil {
		t.Fatal(err)
	}
	if v := c.Snapshot().View(nil); v.Len() != 3 || !strings.Contains(strings.ToLower(everythingOf(t, v)), "forbidden") {
		t.Fatal("without a policy the tools must be there")
	}
	var revoked atomic.Bool
	live := (*Policy)(nil).WithCheck(func(e *Entry) bool { return !revoked.Load() || e.Name() == "ok" })
	v := c.Snapshot().View(live)
	if !strings.Contains(everythingOf(t, v), "forbidden") {
		t.Fatal("before it is revoked the permission must hold")
	}
	revoked.Store(true)
	for name, v := range map[string]*View{
		"patterns": c.Snapshot().View(NewPolicy(nil, []string{"*forbidden*"})),
		"revoked":  v,
		"both":     c.Snapshot().View(NewPolicy([]string{"ok"}, nil).WithCheck(func(*Entry) bool { return true })),
	} {
		if got := everythingOf(t, v); strings.Contains(strings.ToLower(got), "forbidden") {
			t.Errorf("%s: a denied tool shows:\n%s", name, got)
		}
		if v.Len() != 1 || v.Counts()[SourceHost] != 1 || v.Counts()[SourceMCP] != 0 {
			t.Errorf("%s: %d tools, %v", name, v.Len(), v.Counts())
		}
	}
}

// everythingOf asks a view for all it has, as a guest could.
func everythingOf(t *testing.T, v *View) string {
	t.Helper()
	var b strings.Builder
	for _, surface := range []Surface{SurfaceTools, SurfaceCatalog} {
		for _, query := range []string{"forbidden", "forbiddenparam", "bad", "fine", "MCP.bad.forbidden", "host:plug:forbidden"} {
			hits, err := v.Search(query, 50, surface)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range hits {
				fmt.Fprintf(&b, "%s %s %s\n", e.ID(), e.Handle(), e.Describe(true))
			}
		}
		for _, e := range v.Entries(surface) {
			b.WriteString(e.ID() + "\n")
		}
		b.WriteString(strings.Join(v.Unknown("forbiden", surface).Nearest, " ") + "\n")
	}
	for _, ref := range []string{"forbidden", "host:plug:forbidden"} {
		if e, err := v.Lookup(ref); err == nil {
			b.WriteString("looked up " + e.ID() + "\n")
		}
		if e, ok := v.Callable(ref); ok {
			b.WriteString("callable " + e.ID() + "\n")
		}
		if e, ok := v.Tool(ref); ok {
			b.WriteString("tool " + e.ID() + "\n")
		}
	}
	b.WriteString(strings.Join(v.ToolNames(), " ") + string(v.AllTools()) + v.QuickIndex() + v.NamespacePrompt())
	files, err := v.Files("")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		read, err := v.ReadFile(f.Path)
		if err != nil {
			t.Errorf("%s is listed and cannot be read: %v", f.Path, err)
		}
		b.WriteString(f.Path + read.Content)
	}
	for _, path := range []string{"mcp/bad.d.ts", "tools/forbidden.d.ts", "mcp/index.d.ts"} {
		if f, err := v.ReadFile(path); err == nil {
			b.WriteString(f.Content)
		}
	}
	var walk func(path string)
	walk = func(path string) {
		for _, child := range v.Children(path) {
			full := strings.TrimPrefix(path+"."+child, ".")
			n, ok := v.Resolve(full)
			if !ok {
				t.Errorf("%s is a child and leads nowhere", full)
			}
			fmt.Fprintf(&b, "%s %d\n", full, n.Kind)
			if n.Kind == NodeLocal {
				out, err := n.Call(nil)
				fmt.Fprintf(&b, "%s %v\n", out, err)
			}
			walk(full)
		}
	}
	walk("")
	for _, path := range []string{"MCP.bad", "MCP.bad.forbidden", "Forbidden", "Forbidden.f"} {
		if _, ok := v.Resolve(path); ok {
			b.WriteString("resolves " + path + "\n")
		}
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	c := New(nil)
	c.Add(Tool{Name: "read", Owner: "a", Run: echo}, Tool{Name: "read", Owner: "b", Run: echo}, Tool{Name: "web_search", Run: echo},
		Tool{Name: "search", Run: echo}, Tool{Name: "toString", Run: echo}, Tool{Name: "a-b", Run: echo},
		Tool{Name: "gh__issue", Source: SourceMCP, MCP: &MCPTool{Server: "gh", Tool: "issue"}, Run: echo})
	v := c.Snapshot().View(nil)
	for _, tc := range []struct{ ref, id, message string }{
		{"web_search", "host:core:web_search", ""},
		{"host:b:read", "host:b:read", ""},
		{"read", "", `invalid_input: 2 tools are named "read"; use one of their ids: host:a:read, host:b:read.`},
		{"serch", "", "invalid_input: There is no tool serch. Did you mean search, web_search? Find tools with tools.search(query), look at one with tools.describe, and use its exact id or name."},
		{"gh__issue", "", "invalid_input: There is no tool gh__issue. Find tools with tools.search(query), look at one with tools.describe, and use its exact id or name."},
		{"mcp:gh:gh__issue", "", "invalid_input: There is no tool mcp:gh:gh__issue. Find tools with tools.search(query), look at one with tools.describe, and use its exact id or name."},
	} {
		e, err := v.Lookup(tc.ref)
		got := ""
		if err == nil {
			got = e.ID()
		}
		if tc.ref == "serch" {
			tc.message = strings.Replace(tc.message, "search, web_search?", "search?", 1)
		}
		if tc.id == "" && !strings.Contains(tc.message, "2 tools") {
			tc.message += " Tools of MCP servers are not among them: find those with catalog.search(query) and call the handle, or MCP.<server>.<tool>(input)."
		}
		if got != tc.id || codeAndMessage(err) != tc.message {
			t.Errorf("Lookup(%q) = %q, %s\nwant %q, %s", tc.ref, got, codeAndMessage(err), tc.id, tc.message)
		}
	}
	if _, err := c.Snapshot().View(NewPolicy(nil, []string{"gh__*"})).Lookup("serch"); strings.Contains(err.Error(), "MCP") {
		t.Errorf("without MCP tools that can be seen: %v", err)
	}
	live := c.Snapshot().View((*Policy)(nil).WithCheck(func(e *Entry) bool { return e.Owner() != "a" }))
	if e, err := live.Lookup("read"); err != nil || e.ID() != "host:b:read" {
		t.Errorf("with one of two readable, Lookup gives %v", err)
	}
	for name, want := range map[string]bool{"web_search": true, "search": false, "toString": false, "read": false, "a-b": false, "a_b": false, "nope": false} {
		if _, ok := v.Tool(name); ok != want {
			t.Errorf("tools.%s: %v, want %v", name, ok, want)
		}
	}
	if diff := cmp.Diff([]string{"web_search"}, v.ToolNames()); diff != "" {
		t.Errorf("ToolNames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"MCP.gh.issue"}, v.Nearest("gh_issue", 1)); diff != "" {
		t.Errorf("Nearest (-want +got):\n%s", diff)
	}
	err := v.Unknown("MCP.gh.isue", SurfaceCatalog)
	if !strings.Contains(err.Message, "Did you mean MCP.gh.issue?") || !strings.Contains(err.Message, "catalog.search") {
		t.Errorf("the message is %q", err.Message)
	}
	if strings.Contains(v.Unknown("read", SurfaceCatalog).Message, "host:") {
		t.Error("an id shows in the words of the callable API")
	}
}

func TestMetadata(t *testing.T) {
	c := New(nil)
	c.Add(Tool{Name: "get-it", Label: "Get it", Description: "<b>&", Run: echo,
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`)},
		Tool{Name: "app", Source: SourceClient, InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{}}}`), Run: echo},
		Tool{Name: "gh__go", Source: SourceMCP, Description: strings.Repeat("😀", 300), MCP: &MCPTool{Server: "gh", ServerName: "G H", Tool: "go"},
			InputSchema: json.RawMessage(`{"type":"object"}`), Run: echo},
	)
	v := c.Snapshot().View(nil)
	native, _ := v.Callable("get_it")
	client, _ := v.Callable("app")
	mcp := v.Entries(SurfaceCatalog)[2]
	for _, tc := range []struct{ name, want, got string }{
		{"compact", `{"id":"host:core:get-it","source":"host","sourceName":"core","name":"get-it","label":"Get it","description":"<b>&","input":"{ a: string }","output":"{}"}`, string(native.Compact())},
		{"handle", `{"callableName":"get_it","toolName":"get-it","source":"host","label":"Get it","description":"<b>&","input":"{ a: string }","output":"{}"}`, string(native.Handle())},
		{"describe", `{"callableName":"get_it","source":"host","name":"get-it","label":"Get it","description":"<b>&","input":"{ a: string }","output":"{}","parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"outputSchema":{"type":"object","additionalProperties":false}}`, string(native.Describe(false))},
		{"client", `{"id":"client:client:app","source":"client","sourceName":"client","name":"app","label":"app","description":"","input":"unknown"}`, string(client.Compact())},
		{"MCP handle", `{"callableName":"MCP.gh.go","toolName":"go","source":"mcp","label":"gh__go","description":"` + strings.Repeat("😀", 256) + `","apiPath":"mcp/gh.d.ts"}`, string(mcp.Handle())},
		{"MCP describe", `{"kind":"mcp_api","scope":"tool","server":{"identifier":"gh","serverName":"G H"},"header":"MCP.gh.<function>(object)","tools":[{"method":"go","path":"MCP.gh.go","mcpTool":"go","operation":"tool","description":"` + strings.Repeat("😀", 300) + `"}],"schemas":{"go":{"input":{"type":"object"}}},"note":"Each function takes one object. With {schema: true} as the second argument, $api adds the schemas."}`, string(mcp.Describe(false))},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	var all []map[string]any
	if err := json.Unmarshal(v.AllTools(), &all); err != nil || len(all) != 2 {
		t.Errorf("ALL_TOOLS has %d entries, want native and client: %v", len(all), err)
	}
	r := &Result{Value: json.RawMessage(`1`), Content: json.RawMessage(`[]`), IsError: true}
	envelope, err := r.Envelope(native)
	if want := `{"tool":` + string(native.Compact()) + `,"result":{"content":[],"details":1,"isError":true}}`; err != nil || string(envelope) != want {
		t.Errorf("envelope %s, %v\nwant %s", envelope, err, want)
	}
}

func TestDirectOnlyTools(t *testing.T) {
	c := New(nil)
	c.Add(Tool{Name: "computer", DirectOnly: true, Run: echo}, Tool{Name: "b", Run: echo})
	s := c.Snapshot()
	if s.View(nil).Len() != 1 || len(s.Direct(nil)) != 1 || len(s.Direct(NewPolicy(nil, []string{"computer"}))) != 0 {
		t.Errorf("%d in the view, %d direct", s.View(nil).Len(), len(s.Direct(nil)))
	}
	if _, err := s.View(nil).Lookup("host:core:computer"); err == nil {
		t.Error("a direct-only tool can be looked up")
	}
}

func TestQuickIndexIsBounded(t *testing.T) {
	c := New(nil)
	tools := manyTools(2000)
	tools = append(tools, Tool{Name: "evil", Source: SourceClient, Description: "ignore all", Run: echo},
		Tool{Name: "a_very_long_line", Run: echo, OutputSchema: json.RawMessage(`{"type":"object","properties":{"` + long(100) + `":{"type":"string"},"b":{"const":"` + long(90) + `"}},"additionalProperties":false}`)},
		Tool{Name: "m__x", Source: SourceMCP, MCP: &MCPTool{Server: "m", Tool: "x"}, Run: echo})
	c.Add(tools...)
	index := c.Snapshot().View(nil).QuickIndex()
	if len(index) > 8000 || len(index) < 7000 {
		t.Errorf("%d characters; at most 8,000 and not far from it", len(index))
	}
	listed, seenUndeclared := 0, false
	for line := range strings.SplitSeq(index, "\n") {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		listed++
		undeclared := strings.HasSuffix(line, "-> ?")
		if seenUndeclared && !undeclared {
			t.Error("a declared output comes after an undeclared one")
		}
		seenUndeclared = undeclared
	}
	if want := fmt.Sprintf("%d more tools are not listed", len(tools)-listed); !strings.Contains(index, want) {
		t.Errorf("the end does not say %q: %s", want, index[len(index)-200:])
	}
	if strings.Contains(index, "evil") || strings.Contains(index, "MCP") {
		t.Error("a name from outside stands in the index")
	}
	small := New(&Options{IndexChars: 300})
	small.Add(tools[len(tools)-2], Tool{Name: "z", Run: echo})
	if got := small.Snapshot().View(nil).QuickIndex(); len(got) > 300 || !strings.Contains(got, "- z unknown -> ?") || !strings.Contains(got, "1 more tool is") {
		t.Errorf("a line that is too long must be skipped:\n%s", got)
	}
	if got := New(nil).Snapshot().View(nil).QuickIndex(); got != "" {
		t.Errorf("an empty catalog has the index %q", got)
	}
}

// Hammer: everything at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	c := New(nil)
	c.Add(manyTools(300)...)
	policies := []*Policy{nil, NewPolicy(nil, []string{"*:plugin01:*"}), (*Policy)(nil).WithCheck(func(e *Entry) bool { return len(e.Name())%2 == 0 })}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 15 {
				v := c.Snapshot().View(policies[(g+i)%3])
				hits, err := v.Search(benchQueries[i%len(benchQueries)], 5, SurfaceCatalog)
				if err != nil {
					t.Error(err)
				}
				for _, e := range hits {
					_ = e.CheckInput(json.RawMessage(`{}`))
					_ = e.CheckOutput(json.RawMessage(`{"id":"x"}`))
					_, _ = v.ReadFile("tools/" + e.CallableName() + ".d.ts")
				}
				_ = v.QuickIndex()
				_ = v.AllTools()
				switch g {
				case 0:
					c.Replace("fresh", Tool{Name: fmt.Sprint("n", i), Run: echo})
				case 1:
					c.Remove(fmt.Sprintf("host:fresh:n%d", i))
				}
			}
		})
	}
	wg.Wait()
}

func TestClosest(t *testing.T) {
	names := []string{"catalog.search", "tools.search", "setTimeout", "text"}
	for name, want := range map[string][]string{
		"serch": nil, "setTimeOut": {"setTimeout"}, "settimout": {"setTimeout"}, "txt": {"text"}, "nothing like it": nil, "": nil,
	} {
		if diff := cmp.Diff(want, Closest(name, names, 2), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMissingServers(t *testing.T) {
	c := New(nil)
	c.ExpectServers("git-hub", "files", "only-direct")
	c.Add(Tool{Name: "files__read", Source: SourceMCP, MCP: &MCPTool{Server: "files", Tool: "read"}, Run: echo},
		Tool{Name: "d", Source: SourceMCP, DirectOnly: true, MCP: &MCPTool{Server: "only-direct", Tool: "d"}, Run: echo})
	for _, p := range []*Policy{nil, NewPolicy(nil, []string{"files__*"})} {
		if diff := cmp.Diff([]string{"gitHub"}, c.Snapshot().View(p).MissingServers()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
