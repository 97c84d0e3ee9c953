package catalog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func relevanceCatalog(t testing.TB) *Catalog {
	t.Helper()
	c := New(nil)
	for _, line := range textLines(t, "testdata/relevance-tools.txt") {
		f := strings.Split(line, "|")
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		props := map[string]any{}
		for p := range strings.SplitSeq(f[3], ",") {
			if p = strings.TrimSpace(p); p != "" {
				props[p] = map[string]any{"type": "string"}
			}
		}
		schema, _ := json.Marshal(map[string]any{"type": "object", "properties": props})
		tool := Tool{Owner: f[0], Name: f[1], Description: f[2], InputSchema: schema, Run: echo}
		if server, ok := strings.CutPrefix(f[0], "@"); ok {
			tool.Owner, tool.Name, tool.Source = server, server+"__"+f[1], SourceMCP
			tool.MCP = &MCPTool{Server: server, Tool: f[1]}
		}
		if p := c.Add(tool); p != nil {
			t.Fatal(p)
		}
	}
	return c
}

func textLines(t testing.TB, path string) (lines []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// substringSearch is the ranking of the first generation of the reference system: what BM25 has to beat.
func substringSearch(entries []*Entry, query string) []*Entry {
	type hit struct {
		e     *Entry
		score int
	}
	var hits []hit
	terms := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:-", r))
	})
	for _, e := range entries {
		name, id := strings.ToLower(e.Name()), strings.ToLower(e.ID())
		score := 0
		for _, term := range terms {
			if name == term || id == term {
				score += 20
			}
			for _, f := range []struct {
				text string
				n    int
			}{{name, 8}, {id, 6}, {strings.ToLower(e.Label()), 4}, {strings.ToLower(e.Description()), 2}} {
				if strings.Contains(f.text, term) {
					score += f.n
				}
			}
		}
		if score > 0 {
			hits = append(hits, hit{e, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score })
	var out []*Entry
	for _, h := range hits {
		out = append(out, h.e)
	}
	return out
}

// hitRates counts how often the right tool is first, and among the first five.
type hitRates struct{ first, five, all int }

func (h *hitRates) count(at int) {
	h.all++
	if at == 0 {
		h.first++
	}
	if at >= 0 && at < 5 {
		h.five++
	}
}

func (h hitRates) top1() float64 { return float64(h.first) / float64(h.all) }
func (h hitRates) top5() float64 { return float64(h.five) / float64(h.all) }

func (h hitRates) String() string {
	return fmt.Sprintf("top-1 %.0f %%, top-5 %.0f %%", 100*h.top1(), 100*h.top5())
}

func isTool(e *Entry, want string) bool {
	owner, name, both := strings.Cut(want, "/")
	if !both {
		owner, name = e.Owner(), want
	}
	got := e.Name()
	if m := e.rec.tool.MCP; m != nil {
		got = m.Tool
	}
	return e.Owner() == owner && got == name
}

func rankOf(hits []*Entry, want []string) int {
	return slices.IndexFunc(hits, func(e *Entry) bool {
		return slices.ContainsFunc(want, func(w string) bool { return isTool(e, w) })
	})
}

// TestRelevance asks for tools in the words of tasks. The word lists in intents.go were made while looking at the first
// file of queries; the held-out file was written afterwards.
func TestRelevance(t *testing.T) {
	c := relevanceCatalog(t)
	v := c.Snapshot().View(nil)
	if v.Len() < 300 {
		t.Fatalf("%d tools are too few to tell anything", v.Len())
	}
	entries := v.Entries(SurfaceCatalog)
	for _, set := range []struct {
		file                 string
		queries              int
		floorFirst, floorTop float64
	}{
		{"testdata/relevance-queries.txt", 60, 0.80, 0.93},
		{"testdata/relevance-heldout.txt", 40, 0.70, 0.88},
	} {
		t.Run(set.file, func(t *testing.T) {
			var ours, theirs hitRates
			for _, line := range textLines(t, set.file) {
				query, answer, _ := strings.Cut(line, "=>")
				query = strings.TrimSpace(query)
				var want []string
				for w := range strings.SplitSeq(answer, ",") {
					want = append(want, strings.TrimSpace(w))
				}
				if rankOf(entries, want) < 0 {
					t.Fatalf("%q expects %v, which is not in the catalog", query, want)
				}
				hits, err := v.Search(query, 8, SurfaceCatalog)
				if err != nil {
					t.Fatal(err)
				}
				at := rankOf(hits, want)
				ours.count(at)
				theirs.count(rankOf(substringSearch(entries, query), want))
				if at != 0 {
					var got []string
					for _, e := range hits[:min(5, len(hits))] {
						got = append(got, e.CallableName())
					}
					t.Logf("%-45q at %2d, wants %v, got %v", query, at+1, want, got)
				}
			}
			t.Logf("%d queries over %d tools", ours.all, v.Len())
			t.Logf("ours:      %v", ours)
			t.Logf("substring: %v", theirs)
			if ours.all < set.queries {
				t.Errorf("%d queries; at least %d are needed", ours.all, set.queries)
			}
			if ours.top1() < set.floorFirst || ours.top5() < set.floorTop {
				t.Errorf("%v; the floor is %.2f and %.2f", ours, set.floorFirst, set.floorTop)
			}
			if ours.first <= theirs.first || ours.five <= theirs.five {
				t.Error("substring scoring is as good")
			}
		})
	}
}
