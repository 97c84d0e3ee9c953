package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// manyTools makes n plausible tools of 100 owners, the same for every run.
func manyTools(n int) []Tool {
	rng := rand.New(rand.NewPCG(1, 2))
	verbs := strings.Fields("get list create update delete search export import archive restore share send fetch sync run assign close merge validate schedule")
	nouns := strings.Fields("issue ticket invoice customer order message channel file folder report calendar event contact deal branch deployment server database record image video playlist project task comment review subscription refund shipment product")
	extras := strings.Fields("by id in bulk for a team with filters across workspaces and returns the matching entries sorted newest first including metadata history owners permissions links attachments status priority labels")
	tools := make([]Tool, n)
	for i := range tools {
		verb, noun := verbs[rng.IntN(len(verbs))], nouns[rng.IntN(len(nouns))]
		words := make([]string, 12)
		for j := range words {
			words[j] = extras[rng.IntN(len(extras))]
		}
		props := map[string]any{}
		for j := range 4 {
			props[fmt.Sprintf("%s_%s_%d", noun, extras[rng.IntN(len(extras))], j)] = map[string]any{
				"type": "string", "description": "The " + noun + " " + extras[rng.IntN(len(extras))] + " to " + verb,
			}
		}
		schema, _ := json.Marshal(map[string]any{"type": "object", "properties": props, "additionalProperties": false})
		tools[i] = Tool{
			Name: fmt.Sprintf("%s_%s_%d", verb, noun, i), Owner: fmt.Sprintf("plugin%02d", i%100),
			Description: verb + " a " + noun + " " + strings.Join(words, " "), InputSchema: schema, Run: echo,
		}
		if i%3 == 0 {
			tools[i].OutputSchema = json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"ok":{"type":"boolean"}},"required":["id"],"additionalProperties":false}`)
		}
	}
	return tools
}

var benchQueries = []string{"create an invoice for a customer", "delete old playlists", "find deployments by status", "get_issue_17",
	"share the report with the team", "who merged this branch", "refund the last order", "schedule a review", "server metadata", "everything about shipments"}

func BenchmarkAdd10000(b *testing.B) {
	tools := manyTools(10_000)
	for b.Loop() {
		New(nil).Add(tools...)
	}
}

func BenchmarkSnapshotTables10000(b *testing.B) {
	c := New(nil)
	tools := manyTools(10_000)
	c.Add(tools...)
	for b.Loop() {
		c.Add(tools[0])
		c.Snapshot().View(nil).Len()
	}
}

func BenchmarkIndex10000(b *testing.B) {
	c := New(nil)
	c.Add(manyTools(10_000)...)
	s := c.Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		new(lexicon).build(s.records)
	}
}

func BenchmarkSearch10000(b *testing.B) {
	c := New(nil)
	c.Add(manyTools(10_000)...)
	v := c.Snapshot().View(nil)
	v.Search("warm up", 0, SurfaceCatalog)
	var took []time.Duration
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		start := time.Now()
		v.Search(benchQueries[i%len(benchQueries)], 8, SurfaceCatalog)
		took = append(took, time.Since(start))
		i++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// A view must cost the same however many tools there are.
func BenchmarkView(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		c := New(nil)
		c.Add(manyTools(n)...)
		p := NewPolicy(nil, []string{"*:plugin01:*"})
		for _, policy := range []*Policy{nil, p} {
			b.Run(fmt.Sprintf("tools=%d/policy=%v", n, policy != nil), func(b *testing.B) {
				c.Snapshot().View(policy).Len()
				b.ReportAllocs()
				for b.Loop() {
					c.Snapshot().View(policy)
				}
			})
		}
	}
}

func BenchmarkCallable(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			c := New(nil)
			tools := manyTools(n)
			c.Add(tools...)
			v := c.Snapshot().View(nil)
			for b.Loop() {
				if _, ok := v.Callable(tools[7].Name); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkQuickIndex10000(b *testing.B) {
	c := New(nil)
	tools := manyTools(10_000)
	for b.Loop() {
		c.Add(tools...)
		_ = c.Snapshot().View(nil).QuickIndex()
	}
}

func BenchmarkContract(b *testing.B) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"type":"string"}}},"required":["path"],"additionalProperties":false}`)
	for _, draft := range []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"} {
		raw := json.RawMessage(strings.Replace(string(schema), "{", `{"$schema":"`+draft+`",`, 1))
		b.Run("check/"+draft[len(draft)-12:], func(b *testing.B) {
			c := New(nil)
			c.Add(Tool{Name: "t", InputSchema: raw, Run: echo})
			e, _ := c.Snapshot().View(nil).Callable("t")
			input := json.RawMessage(`{"path":"/tmp/x","offset":3,"tags":["a","b"]}`)
			b.ReportAllocs()
			for b.Loop() {
				if err := e.CheckInput(input); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("compile/"+draft[len(draft)-12:], func(b *testing.B) {
			for b.Loop() {
				if _, err := newValidator(raw, SourceHost); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNearest10000(b *testing.B) {
	c := New(nil)
	c.Add(manyTools(10_000)...)
	v := c.Snapshot().View(nil)
	for b.Loop() {
		v.Nearest("creat_invoice_77", 3)
	}
}
