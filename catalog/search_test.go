package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func termsOf(text string) []string {
	terms := []string{}
	w := &termWriter{emit: func(term []byte) { terms = append(terms, string(term)) }}
	w.text(text)
	return terms
}

func TestTerms(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"create_issue", []string{"creat", "issu", "createissu"}},
		{"createIssue", []string{"creat", "issu", "createissu"}},
		{"HTTPServer2 URLs", []string{"http", "server", "2", "httpserver2", "url"}},
		{"getURLsFrom", []string{"get", "url", "geturlsfrom"}},
		{"the Scheduling of schedules", []string{"schedul", "schedul"}},
		{"queries query", []string{"queri", "queri"}},
		{"movies movie", []string{"movi", "movi"}},
		{"running run", []string{"run", "run"}},
		{"news status glass", []string{"news", "status", "glass"}},
		{"send an e-mail; to-do", []string{"send", "mail", "email", "todo"}},
		{"Café naïve", []string{"caf", "naiv"}},
		{"ﬁle", []string{"fil"}},
		{"日本語", []string{"日本", "本語"}},
		{"検", []string{"検"}},
		{"API検索tool", []string{"検索", "api", "tool"}},
		{"서울 날씨", []string{"서울", "날씨"}},
		{"погода", []string{"погода"}},
		{"हिन्दी", []string{"हिन्दी"}},
		{"", []string{}},
		{"!!! --- ", []string{}},
	} {
		got := termsOf(tc.text)
		a, b := slices.Sorted(slices.Values(tc.want)), slices.Sorted(slices.Values(got))
		if tc.text == "send an e-mail; to-do" {
			b = slices.DeleteFunc(b, func(s string) bool { return s == "e" })
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("terms of %q (-want +got):\n%s", tc.text, diff)
		}
	}
}

// searchable registers tools written as "name: description", in an owner each.
func searchable(t testing.TB, lines ...string) *View {
	t.Helper()
	c := New(nil)
	for _, line := range lines {
		name, description, _ := strings.Cut(line, ": ")
		tool := Tool{Name: name, Description: description, Run: echo}
		if server, rest, ok := strings.Cut(name, "/"); ok {
			tool.Name, tool.Source = server+"__"+rest, SourceMCP
			tool.MCP = &MCPTool{Server: server, Tool: rest}
		}
		if p := c.Add(tool); p != nil {
			t.Fatal(p)
		}
	}
	return c.Snapshot().View(nil)
}

func found(t testing.TB, v *View, query string, limit int, surface Surface) []string {
	t.Helper()
	hits, err := v.Search(query, limit, surface)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range hits {
		names = append(names, e.CallableName())
	}
	return names
}

func TestSearch(t *testing.T) {
	v := searchable(t,
		"create_event: Put a meeting into the calendar.",
		"delete_event: Take a meeting out of the calendar.",
		"web_search: Find pages on the internet.",
		"Search: Another thing.",
		"schedule_job: Run something later.",
		"github/create_issue: Open an issue on GitHub.",
		"天気予報: 東京の天気を調べる",
		"sync_core: host core mcp things",
	)
	for _, tc := range []struct {
		name, query string
		surface     Surface
		want        []string
	}{
		{"name first", "delete_event", SurfaceCatalog, []string{"delete_event", "create_event"}},
		{"exact spelling in another case", "WEB_SEARCH", SurfaceCatalog, []string{"web_search", "Search"}},
		{"exact case before other case", "Search", SurfaceCatalog, []string{"Search", "web_search"}},
		{"camel case finds snake case", "deleteEvent", SurfaceCatalog, []string{"delete_event", "create_event"}},
		{"stemming", "scheduling", SurfaceCatalog, []string{"schedule_job"}},
		{"intent below literal", "weather", SurfaceCatalog, []string{"web_search", "Search"}},
		{"qualified path", "MCP.github.createIssue", SurfaceCatalog, []string{"MCP.github.createIssue", "create_event", "sync_core"}},
		{"MCP tool's own name", "create_issue", SurfaceCatalog, []string{"MCP.github.createIssue", "create_event"}},
		{"no MCP on tools", "issue", SurfaceTools, []string{}},
		{"CJK", "天気", SurfaceCatalog, []string{"tool_" + hashOf("host:core:天気予報")}},
		{"one character", "東", SurfaceCatalog, []string{"tool_" + hashOf("host:core:天気予報")}},
		{"exact id on tools", "host:core:delete_event", SurfaceTools, []string{"delete_event", "sync_core", "create_event"}},
		{"ids are not searched: only the tool that says host", "host", SurfaceCatalog, []string{"sync_core"}},
		{"stop-words only", "what is the", SurfaceCatalog, []string{}},
		{"empty", "  ", SurfaceCatalog, []string{}},
		{"nothing", "zzz", SurfaceCatalog, []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, found(t, v, tc.query, 0, tc.surface)); diff != "" {
				t.Errorf("hits for %q (-want +got):\n%s", tc.query, diff)
			}
		})
	}
	if got := found(t, v, "", 3, SurfaceTools); len(got) != 3 {
		t.Errorf("an empty query on tools lists %v, want three", got)
	}
}

func hashOf(id string) string {
	name := hashedName("x", id, func(string) bool { return true })
	return strings.TrimPrefix(name, "x_")
}

func TestSearchLimits(t *testing.T) {
	var lines []string
	for i := range 80 {
		lines = append(lines, fmt.Sprintf("tool%d: same words", i))
	}
	v := searchable(t, lines...)
	for _, tc := range []struct{ limit, want int }{{0, 8}, {1, 1}, {50, 50}, {51, 50}, {1 << 40, 50}} {
		if got := len(found(t, v, "same words", tc.limit, SurfaceCatalog)); got != tc.want {
			t.Errorf("limit %d gives %d hits, want %d", tc.limit, got, tc.want)
		}
	}
	if _, err := v.Search("x", -1, SurfaceCatalog); codeAndMessage(err) != "invalid_input: limit must be a positive integer." {
		t.Errorf("limit -1: %v", err)
	}
	c := New(&Options{SearchLimit: 3, MaxSearchLimit: 5})
	c.Add(manyTools(20)...)
	v = c.Snapshot().View(nil)
	if a, b := len(found(t, v, "ticket file order in for", 0, SurfaceCatalog)), len(found(t, v, "in for a team with filters", 99, SurfaceCatalog)); a != 3 || b != 5 {
		t.Errorf("%d and %d hits, want the options' 3 and 5", a, b)
	}
}

func TestParametersAreSearchedOnlyWhenTrusted(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"zebra":{"type":"string","description":"a \"giraffe\""},
		"list":{"items":{"properties":{"okapi":{}}}},"enum":{"enum":["tapir"]}},"x":{"description":"lemur"}}`)
	c := New(nil)
	c.Add(Tool{Name: "mine", InputSchema: schema, Run: echo},
		Tool{Name: "theirs", Source: SourceClient, InputSchema: schema, Run: echo},
		Tool{Name: "served", Source: SourceMCP, MCP: &MCPTool{Server: "s"}, InputSchema: schema, Run: echo})
	v := c.Snapshot().View(nil)
	for query, want := range map[string][]string{"zebra": {"mine"}, "giraffe": {"mine"}, "okapi": {"mine"}, "lemur": {}, "tapir": {}, "theirs": {"theirs"}} {
		if diff := cmp.Diff(want, found(t, v, query, 0, SurfaceCatalog)); diff != "" {
			t.Errorf("hits for %q (-want +got):\n%s", query, diff)
		}
	}
}

// A hidden tool must not change the order of the visible ones: it would tell that it is there.
func TestStatisticsAreOfTheVisibleTools(t *testing.T) {
	base := []Tool{
		{Name: "a_thing", Description: "alpha common", Run: echo},
		{Name: "b_thing", Description: "beta common words words words", Run: echo},
		{Name: "c_thing", Description: "alpha beta", Run: echo},
	}
	plain, crowded := New(nil), New(nil)
	plain.Add(base...)
	crowded.Add(base...)
	for i := range 50 {
		crowded.Add(Tool{Name: fmt.Sprint("hidden", i), Owner: "secret", Description: "alpha alpha alpha", Run: echo})
	}
	hide := NewPolicy(nil, []string{"*:secret:*"})
	live := (*Policy)(nil).WithCheck(func(e *Entry) bool { return e.Owner() != "secret" })
	want := plain.Snapshot().View(nil)
	for _, p := range []*Policy{hide, live} {
		got := crowded.Snapshot().View(p)
		for _, query := range []string{"alpha beta", "beta common", "alpha", "hidden1", "words alpha"} {
			if diff := cmp.Diff(found(t, want, query, 0, SurfaceCatalog), found(t, got, query, 0, SurfaceCatalog)); diff != "" {
				t.Errorf("%q with hidden tools (-without +with):\n%s", query, diff)
			}
		}
	}
	if diff := cmp.Diff([]string{"a_thing", "c_thing"}, found(t, crowded.Snapshot().View(hide), "alpha", 0, SurfaceCatalog)); diff != "" {
		t.Error(diff)
	}
}

func TestIndexIsBuiltOncePerSnapshot(t *testing.T) {
	c := New(nil)
	c.Add(manyTools(200)...)
	s := c.Snapshot()
	if s.lexicon.terms != nil {
		t.Error("the index is there before anyone searched")
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			v := s.View(NewPolicy(nil, []string{fmt.Sprintf("*:plugin%02d:*", i)}))
			for _, q := range benchQueries {
				if _, err := v.Search(q, 0, Surface(i%2)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	x := s.index()
	if c.Snapshot().index() != x {
		t.Error("the same catalog has another index")
	}
	c.Add(Tool{Name: "new", Run: echo})
	if c.Snapshot().index() == x {
		t.Error("a changed catalog has the old index")
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"create_issue", "HTTPServer", "日本語abc", "e-mail", "\xff\xfe", "a_b_c__", "ßİ", "é́", "👩‍👩‍👧"} {
		f.Add(s, `{"properties":{"`+s+`":{"description":"`+s+`"}}}`)
	}
	v := searchable(f, "create_event: Put a meeting into the calendar.", "日本: 天気", "s/x: y")
	f.Fuzz(func(t *testing.T, text, schema string) {
		w := &termWriter{both: true, emit: func(term []byte) {
			if len(term) == 0 || utf8.ValidString(text) && !utf8.Valid(term) {
				t.Fatalf("%q has the term %q", text, term)
			}
		}}
		w.text(text)
		schemaText([]byte(schema), func(s string) { w.text(strings.ToValidUTF8(s, "")) })
		for _, surface := range []Surface{SurfaceTools, SurfaceCatalog} {
			if _, err := v.Search(text, 5, surface); err != nil {
				t.Fatal(err)
			}
		}
		_ = v.Nearest(text, 3)
		_, _ = v.Lookup(text)
		_, _ = v.Resolve(text)
		_ = v.Children(text)
		_, _ = v.ReadFile(text)
		_, _ = v.Files(text)
	})
}
