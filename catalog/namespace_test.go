package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pluginCatalog(t *testing.T, scope func(Session) (map[string]any, error)) *Catalog {
	t.Helper()
	c := New(&Options{Reserved: engineGlobals})
	c.Add(Tool{Name: "issue_list", Owner: "tracker", Run: echo}, Tool{Name: "issue_get", Owner: "tracker", Run: echo}, Tool{Name: "other", Run: echo})
	err := c.RegisterNamespace(Namespace{
		ID: "tracker", Plugin: "tracker", Global: "Tracker", Description: "The issue\ntracker.", Requires: []string{" issue_list ", "issue_list"},
		Prompt: func(s Session) string { return "Session " + s.ID }, Scope: scope,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNamespace(t *testing.T) {
	made := 0
	shared := map[string]any{"x": 1}
	c := pluginCatalog(t, func(s Session) (map[string]any, error) {
		made++
		return map[string]any{
			"version": 2, "who": s.ID, "labels": []string{"a", "b"}, "nothing": nil, "data": map[string]any{"one": shared, "two": shared},
			"issues": map[string]any{
				"list": NamespaceTool("issue_list", func(args []json.RawMessage) (any, error) {
					if len(args) != 2 {
						return nil, errors.New("two arguments, please")
					}
					return map[string]any{"state": args[0], "limit": args[1]}, nil
				}),
				"plain":      NamespaceTool("issue_list", nil),
				"undeclared": NamespaceTool("issue_get", nil),
				"panics":     NamespaceTool("issue_list", func([]json.RawMessage) (any, error) { panic("no") }),
			},
			"steps": []any{"text", NamespaceTool("issue_list", nil)},
		}, nil
	})
	v := c.Snapshot().View(nil).WithSession(Session{ID: "s1"})
	if made != 0 {
		t.Error("the scope was made before anybody looked")
	}
	for path, want := range map[string][]string{
		"":                          {"Tracker"},
		"Tracker":                   {"data", "issues", "labels", "nothing", "steps", "version", "who"},
		"Tracker.issues":            {"list", "panics", "plain", "undeclared"},
		"Tracker.steps":             {"0", "1"},
		"Tracker.labels":            nil,
		"Tracker.nope":              nil,
		"namespaces.Tracker.issues": {"list", "panics", "plain", "undeclared"},
	} {
		if diff := cmp.Diff(want, v.Children(path)); diff != "" {
			t.Errorf("children of %q (-want +got):\n%s", path, diff)
		}
	}
	for path, want := range map[string]string{
		"Tracker.version": "4 2", "Tracker.who": `4 "s1"`, "Tracker.labels": `4 ["a","b"]`, "Tracker.nothing": "4 null",
		"Tracker.data": `4 {"one":{"x":1},"two":{"x":1}}`, "Tracker.steps.0": `4 "text"`, "Tracker.steps": "1 array", "Tracker.steps.1": "2 ",
		"Tracker.issues": "1 ", "Tracker.issues.list": "2 ", "Tracker.issues.undeclared": "3 ",
		"Tracker.data.one": "0 ", "Tracker.constructor": "0 ", "Tracker.__proto__": "0 ", "Tracker.issues.list.x": "0 ", "Tracker.": "0 ",
	} {
		n, _ := v.Resolve(path)
		got := fmt.Sprintf("%d %s", n.Kind, n.Value)
		if n.Array {
			got = fmt.Sprintf("%d array", n.Kind)
		}
		if got != want {
			t.Errorf("Resolve(%q) = %q, want %q", path, got, want)
		}
	}
	list, _ := v.Resolve("Tracker.issues.list")
	in, err := list.Input(raw(`"open"`, `5`))
	if err != nil || string(in) != `{"limit":5,"state":"open"}` || list.Entry.Name() != "issue_list" {
		t.Errorf("input %s, %v", in, err)
	}
	if _, err := list.Input(nil); codeAndMessage(err) != "tool_error: two arguments, please" {
		t.Errorf("mapping error: %v", err)
	}
	plain, _ := v.Resolve("Tracker.issues.plain")
	if in, err := plain.Input(nil); err != nil || string(in) != `{}` {
		t.Errorf("input %s, %v", in, err)
	}
	panics, _ := v.Resolve("Tracker.issues.panics")
	if _, err := panics.Input(nil); !errors.Is(err, &Error{Code: CodeToolError}) {
		t.Errorf("a panic in the mapping: %v", err)
	}
	undeclared, _ := v.Resolve("Tracker.issues.undeclared")
	if _, err := undeclared.Call(nil); codeAndMessage(err) != "invalid_input: Tracker.issues.undeclared calls the tool issue_get, which its namespace does not require." {
		t.Errorf("undeclared: %v", err)
	}
	if made != 1 {
		t.Errorf("the scope was made %d times for one view", made)
	}
	if want, got := "- Tracker: The issue tracker.\nSession s1\n", v.NamespacePrompt(); got != want {
		t.Errorf("prompt %q, want %q", got, want)
	}
	// A tool cannot take the namespace's name while it is visible.
	c.Add(Tool{Name: "Tracker", Run: echo})
	if _, ok := c.Snapshot().View(nil).Callable("Tracker"); ok {
		t.Error("a tool has the namespace's global")
	}
	c.RemoveOwner("tracker")
	v = c.Snapshot().View(nil)
	if _, ok := v.Callable("Tracker"); !ok {
		t.Error("the name is not free after the namespace's tools are gone")
	}
	if _, ok := v.Resolve("Tracker"); ok || v.NamespacePrompt() != "" {
		t.Error("a namespace without its tools is visible")
	}
	if c.ClearNamespaces("tracker") != 1 || c.RemoveNamespace("tracker") {
		t.Error("clearing by plugin")
	}
}

func TestNamespaceScopesThatCannotBe(t *testing.T) {
	cycle := map[string]any{}
	cycle["self"] = map[string]any{"again": cycle}
	for _, tc := range []struct {
		name  string
		scope any
		want  string
	}{
		{"function", map[string]any{"f": func() {}}, "the function at Tracker.f must be made with catalog.NamespaceTool"},
		{"cycle", cycle, "its scope contains itself at Tracker.self.again"},
		{"prototype", map[string]any{"a": map[string]any{"__proto__": 1}}, `"__proto__" cannot be a property's name at Tracker.a`},
		{"dot", map[string]any{"a.b": 1}, `"a.b" cannot be a property's name at Tracker`},
		{"empty name", map[string]any{"": 1}, `"" cannot be a property's name at Tracker`},
		{"NUL", map[string]any{"a\x00": 1}, `"a\x00" cannot be a property's name at Tracker`},
		{"tool without a name", map[string]any{"t": NamespaceTool(" ", nil)}, "the tool at Tracker.t has no name"},
		{"channel", map[string]any{"c": make(chan int)}, "the value at Tracker.c cannot be written as JSON"},
		{"nil", map[string]any(nil), "its scope is nil"},
		{"error", errors.New("not today"), "not today"},
		{"panic", "panic", "its scope panicked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := pluginCatalog(t, func(Session) (map[string]any, error) {
				switch s := tc.scope.(type) {
				case error:
					return nil, s
				case string:
					panic(s)
				}
				return tc.scope.(map[string]any), nil
			})
			v := c.Snapshot().View(nil)
			if err := v.NamespaceError("Tracker"); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "catalog: namespace tracker: ") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if _, ok := v.Resolve("Tracker"); ok || v.Children("") != nil {
				t.Error("it is visible")
			}
		})
	}
}

func TestNamespaceRegistration(t *testing.T) {
	good := Namespace{ID: "a", Plugin: "p", Global: "Alpha", Requires: []string{"t"}, Scope: func(Session) (map[string]any, error) { return map[string]any{}, nil }}
	for _, tc := range []struct {
		change func(*Namespace)
		want   string
	}{
		{func(n *Namespace) { n.ID = " " }, "has no ID"},
		{func(n *Namespace) { n.Plugin = "" }, "has no Plugin"},
		{func(n *Namespace) { n.Global = "not an identifier" }, "cannot be the name of a global"},
		{func(n *Namespace) { n.Global = "__x" }, "cannot be the name of a global"},
		{func(n *Namespace) { n.Global = "MCP" }, "is reserved"},
		{func(n *Namespace) { n.Global = "Promise" }, "is reserved"},
		{func(n *Namespace) { n.Global = "class" }, "is reserved"},
		{func(n *Namespace) { n.Scope = nil }, "has no Scope"},
		{func(n *Namespace) { n.Requires = nil }, "requires no tool"},
		{func(n *Namespace) { n.Requires = []string{"t", " "} }, "a tool without a name"},
		{func(n *Namespace) { n.ID = "taken" }, "already registered"},
		{func(n *Namespace) { n.Global = "Taken" }, "belongs to namespace taken"},
		{func(*Namespace) {}, ""},
	} {
		c := New(&Options{Reserved: engineGlobals})
		taken := good
		taken.ID, taken.Global = "taken", "Taken"
		if err := c.RegisterNamespace(taken); err != nil {
			t.Fatal(err)
		}
		n := good
		tc.change(&n)
		err := c.RegisterNamespace(n)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
	}
}
