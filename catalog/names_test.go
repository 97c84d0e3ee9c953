package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// engineGlobals stands for what a host asks its engine.
var engineGlobals = []string{"Promise", "Array", "JSON", "Map", "Iterator", "performance", "queueMicrotask", "structuredClone", "btoa"}

func callableOf(t testing.TB, tools ...Tool) map[string]string {
	t.Helper()
	c := New(&Options{Reserved: engineGlobals})
	for i := range tools {
		tools[i].Run = echo
	}
	if problems := c.Add(tools...); problems != nil {
		t.Fatal(problems)
	}
	names := map[string]string{}
	for _, e := range c.Snapshot().View(nil).Callables() {
		names[e.ID()] = e.CallableName()
	}
	return names
}

func TestCallableNames(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tools []Tool
		want  map[string]string
	}{
		{"literal", []Tool{{Name: "web_search"}, {Name: "$x1"}}, map[string]string{"host:core:web_search": "web_search", "host:core:$x1": "$x1"}},
		{"the reference's example", []Tool{{Name: "llm-task"}, {Name: "llm_task"}}, map[string]string{
			"host:core:llm-task": "llm_task_29a1151e", "host:core:llm_task": "llm_task",
		}},
		{"normalised", []Tool{{Name: "llm-task"}, {Name: "a b"}, {Name: "1st"}, {Name: "weather.get"}}, map[string]string{
			"host:core:llm-task": "llm_task", "host:core:a b": "a_b", "host:core:1st": "tool_1st", "host:core:weather.get": "weather_get",
		}},
		{"exact spelling wins", []Tool{{Name: "llm-task"}, {Name: "llm_task", Owner: "zzz"}}, map[string]string{
			"host:core:llm-task": "llm_task_29a1151e", "host:zzz:llm_task": "llm_task",
		}},
		{"two normalise alike", []Tool{{Name: "weather-get"}, {Name: "weather.get"}}, map[string]string{
			"host:core:weather-get": "weather_get", "host:core:weather.get": "weather_get_bb1396a9",
		}},
		{"reserved", []Tool{{Name: "for"}, {Name: "then"}, {Name: "constructor"}, {Name: "Promise"}, {Name: "catalog"}, {Name: "let"}}, map[string]string{
			"host:core:for": "for_c99d91dd", "host:core:then": "then_9ad10e48", "host:core:constructor": "constructor_d09a01ab",
			"host:core:Promise": "Promise_d59eccd7", "host:core:catalog": "catalog_80e3570d", "host:core:let": "let_41536935",
		}},
		{"engine's spelling", []Tool{{Name: "__proto__"}, {Name: "__x"}}, map[string]string{
			"host:core:__proto__": "tool___proto__", "host:core:__x": "tool___x",
		}},
		{"nothing left to say", []Tool{{Name: "日本"}, {Name: "中国"}, {Name: "---"}}, map[string]string{
			"host:core:日本": "tool_88487480", "host:core:中国": "tool_ce6662d7", "host:core:---": "tool_1c639e8d",
		}},
		{"same name, lowest id wins", []Tool{{Name: "read", Owner: "b"}, {Name: "read", Owner: "a"}}, map[string]string{
			"host:a:read": "read", "host:b:read": "read_8b662b50",
		}},
		{"client wins", []Tool{{Name: "read"}, {Name: "read", Source: SourceClient}}, map[string]string{
			"client:client:read": "read", "host:core:read": "read_fda3d716",
		}},
		{"control tools by another owner", []Tool{{Name: "exec"}, {Name: "wait"}, {Name: "search"}, {Name: "class"}}, map[string]string{
			"host:core:exec": "exec", "host:core:wait": "wait", "host:core:search": "search", "host:core:class": "class_0b23dd7a",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, callableOf(t, tc.tools...)); diff != "" {
				t.Errorf("callable names by id (-want +got):\n%s", diff)
			}
		})
	}
}

// The hash is that of the reference system, whose label is openclaw: llm_task_a3685c99 was observed there.
func TestCallableNamesAsObserved(t *testing.T) {
	c := New(&Options{HostLabel: "openclaw"})
	c.Add(Tool{Name: "llm-task", Run: echo}, Tool{Name: "llm_task", Run: echo})
	if e, ok := c.Snapshot().View(nil).Callable("llm_task_a3685c99"); !ok || e.ID() != "openclaw:core:llm-task" {
		t.Errorf("llm_task_a3685c99 is %v", e)
	}
}

// randomTools are tools whose names like to collide.
func randomTools(rng *rand.Rand) []Tool {
	pieces := []string{"read", "Read", "re-ad", "re_ad", "re.ad", "for", "then", "constructor", "__proto__", "toString", "a b", "日本", "é", "1", "$", "_", "__", "JSON", "Promise", "Iterator", "tools", "text", "x", "-", "read_", "😀"}
	tools := make([]Tool, 0, 12)
	seen := map[string]bool{}
	for range 2 + rng.IntN(10) {
		name := pieces[rng.IntN(len(pieces))]
		if rng.IntN(2) == 0 {
			name += pieces[rng.IntN(len(pieces))]
		}
		tool := Tool{Name: name, Owner: []string{"", "p", "q"}[rng.IntN(3)], Run: echo}
		if rng.IntN(5) == 0 {
			tool.Source, tool.Owner = SourceClient, ""
		}
		if k := fmt.Sprint(tool.Source, tool.Owner, tool.Name); !seen[k] {
			seen[k] = true
			tools = append(tools, tool)
		}
	}
	return tools
}

// namesOf gives names to tools as a view does, without the rest of a catalog.
func namesOf(tools []Tool) map[string]string {
	c := New(&Options{Reserved: engineGlobals})
	var records []*record
	for _, tool := range tools {
		r := &record{tool: tool, catalog: c}
		r.tool.Owner = ownerOf(&tool)
		if tool.Source == "" {
			r.tool.Source = SourceHost
		}
		r.id = r.sourceLabel() + ":" + r.tool.Owner + ":" + tool.Name
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *record) int { return strings.Compare(a.id, b.id) })
	names := map[string]string{}
	for i, name := range callableNames(records, c.reservedName) {
		names[records[i].id] = name
	}
	return names
}

// TestCallableNamesProperties takes many random sets of tools: names are identifiers, different, never reserved, the
// same in any order of registration, and spelled exactly where that is possible.
func TestCallableNamesProperties(t *testing.T) {
	sets := 100_000
	if testing.Short() || raceEnabled {
		sets = 5_000
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for set := range sets {
		tools := randomTools(rng)
		names := namesOf(tools)
		if len(names) != len(tools) {
			t.Fatalf("set %d: %d tools have %d names", set, len(tools), len(names))
		}
		used := map[string]bool{}
		for id, name := range names {
			switch {
			case !isIdentifier(name):
				t.Fatalf("set %d: %s is called %q, not an identifier", set, id, name)
			case used[name]:
				t.Fatalf("set %d: %q is given twice: %v", set, name, names)
			case fixedReserved(name), slices.Contains(engineGlobals, name), strings.HasPrefix(name, "__"):
				t.Fatalf("set %d: %s takes the reserved name %q", set, id, name)
			}
			used[name] = true
		}
		for _, tool := range tools {
			ordinary := isIdentifier(tool.Name) && strings.Trim(tool.Name, "_$") != "" && !strings.HasPrefix(tool.Name, "__") &&
				!fixedReserved(tool.Name) && !slices.Contains(engineGlobals, tool.Name)
			if ordinary && !used[tool.Name] {
				t.Fatalf("set %d: nobody is called %q: %v", set, tool.Name, names)
			}
		}
		rng.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		again := namesOf(tools)
		if set%100 == 0 {
			again = callableOf(t, tools...) // the whole way through a catalog
		}
		if !maps.Equal(names, again) {
			t.Fatalf("set %d: the order of registration matters (-first +shuffled):\n%s", set, cmp.Diff(names, again))
		}
	}
}

func TestAdmission(t *testing.T) {
	c := New(nil)
	ok := Tool{Name: "good", Run: echo}
	bad := []Tool{
		{Name: "", Run: echo},
		{Name: "a\nb", Run: echo},
		{Name: " padded", Run: echo},
		{Name: "hidden\u202ename", Run: echo},
		{Name: strings.Repeat("x", 257), Run: echo},
		{Name: "bytes\xff", Run: echo},
		{Name: "x", Description: "\xff", Run: echo},
		{Name: "x", Description: strings.Repeat("x", 64<<10+1), Run: echo},
		{Name: "x", Owner: "a:b", Run: echo},
		{Name: "x"},
		{Name: "x", Source: "elsewhere", Run: echo},
		{Name: "x", Source: SourceMCP, Run: echo},
		{Name: "x", MCP: &MCPTool{}, Run: echo},
		{Name: "x", Source: SourceMCP, MCP: &MCPTool{Operation: "drop"}, Run: echo},
		{Name: "x", InputSchema: json.RawMessage(`{`), Run: echo},
		{Name: "x", InputSchema: json.RawMessage(`[]`), Run: echo},
		{Name: "x", InputSchema: json.RawMessage(`{"type":"strin"}`), Run: echo},
		{Name: "x", OutputSchema: json.RawMessage(`{"$ref":"#/nowhere"}`), Run: echo},
		{Name: "x", OutputSchema: json.RawMessage(`{"$ref":"http://127.0.0.1:1/x"}`), Run: echo},
		Func("x", "channels have no schema", func(context.Context, struct{}) (chan int, error) { return nil, nil }),
		Func("x", "not an object", func(context.Context, string) (any, error) { return nil, nil }),
	}
	problems := c.Add(append(slices.Clone(bad), ok)...)
	var left []int
	for _, p := range problems {
		if p.Kept || p.Reason == "" || strings.ContainsAny(p.String(), "\n\u202e\xff") {
			t.Errorf("problem %+v", p)
		}
		left = append(left, p.Index)
	}
	want := make([]int, len(bad))
	for i := range want {
		want[i] = i
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("indexes of the tools left out (-want +got):\n%s", diff)
	}
	if got := c.Snapshot().Len(); got != 1 {
		t.Errorf("%d tools were registered, want the good one", got)
	}

	// A schema from outside that is wrong costs the tool its schema, not its place.
	problems = c.Add(Tool{Name: "m", Source: SourceMCP, MCP: &MCPTool{Server: "s"}, InputSchema: json.RawMessage(`{"type":3}`), Run: echo})
	if len(problems) != 1 || !problems[0].Kept {
		t.Errorf("problems = %v, want one that keeps the tool", problems)
	}
	if got := c.Snapshot().Len(); got != 2 {
		t.Errorf("%d tools, want 2", got)
	}
	problems = c.Add(Tool{Name: "twice", Description: "1", Run: echo}, Tool{Name: "twice", Description: "2", Run: echo})
	e, _ := c.Snapshot().View(nil).Callable("twice")
	if len(problems) != 1 || e.Description() != "2" {
		t.Errorf("the same id twice: problems %v, description %q; want one problem, and the last", problems, e.Description())
	}
}

func FuzzCallableNames(f *testing.F) {
	for _, s := range []string{"a", "日本", "__proto__", "for", "\x00", "a\xffb", "re-ad", strings.Repeat("é", 200)} {
		f.Add(s, s+"_")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		c := New(&Options{Reserved: engineGlobals})
		c.Add(Tool{Name: a, Run: echo}, Tool{Name: b, Run: echo}, Tool{Name: a, Owner: b, Run: echo})
		v := c.Snapshot().View(nil)
		used := map[string]bool{}
		for _, e := range v.Callables() {
			name := e.CallableName()
			if !isIdentifier(name) || used[name] || fixedReserved(name) {
				t.Fatalf("%q is called %q", e.Name(), name)
			}
			used[name] = true
			if got, ok := v.Callable(name); !ok || got != e {
				t.Fatalf("%q does not lead back", name)
			}
			if !json.Valid(e.Compact()) || !json.Valid(e.Handle()) || !json.Valid(e.Describe(true)) {
				t.Fatalf("metadata of %q is not JSON", e.Name())
			}
		}
	})
}
