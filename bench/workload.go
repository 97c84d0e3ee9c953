package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
)

// The cells that are measured. Peers run the same ones, but for the names of their APIs.
const (
	cellSmall = "return 1+2"
	// cellWait asks for one tool and gives its instance up while the tool runs. A tool call alone does not suspend a
	// cell before its deadline, so the cell yields, as a model does that wants to look at what there is so far.
	cellWait = "const call = pending({q: 'a'});\nawait yield_control();\nconst r = await call;\nreturn r.n + 1;"
	// cellYield is suspended with nothing under way.
	cellYield = "await yield_control();\nreturn 42;"
	// cellCalls awaits %d calls one after the other.
	cellCalls = "let n = 0;\nfor (let i = 0; i < %d; i++) n += (await tool_0({q: 'a'})).n;\nreturn n;"
	// cellParallel makes %d calls at once.
	cellParallel = "const all = await Promise.all(Array.from({length: %d}, () => tool_0({q: 'a'})));\nreturn all.length;"
)

// computeSource defines the kernels of the JavaScript benchmark; see its first lines.
//
//go:embed compute.js
var computeSource string

// computeKernels are the kernels in computeSource, in the order in which they run.
var computeKernels = []string{"calls", "json", "strings", "sort", "objects", "floats", "regexp"}

// computeCell runs one kernel and returns its checksum.
func computeCell(kernel string) string {
	return computeSource + "\nreturn kernels." + kernel + "();"
}

// typescriptCell and javascriptCell are the same 50 lines with and without types. The comment makes them new to a cache.
func typescriptCell(n int) string { return fmt.Sprintf("// %d\n%s", n, fiftyLines(true)) }
func javascriptCell(n int) string { return fmt.Sprintf("// %d\n%s", n, fiftyLines(false)) }

func fiftyLines(types bool) string {
	var b strings.Builder
	typed := func(s string) string {
		if types {
			return s
		}
		return ""
	}
	b.WriteString(typed("interface Row { id: number; name: string; tags: string[]; parent?: Row }"))
	b.WriteString("\nconst rows" + typed(": Map<number, Row>") + " = new Map();\n")
	for i := range 9 {
		fmt.Fprintf(&b, "function step%d(row%s, depth%s = 0)%s {\n", i, typed(": Row"), typed(": number"), typed(": string"))
		fmt.Fprintf(&b, "  const label%s = row.name + ' ' + depth;\n", typed(": string"))
		fmt.Fprintf(&b, "  rows.set(row.id + %d, {...row, name: label}%s);\n", i, typed(" as Row"))
		b.WriteString("  return label.toUpperCase();\n}\n")
	}
	fmt.Fprintf(&b, "const first%s = {id: 1, name: 'one', tags: ['a']};\n", typed(": Row"))
	b.WriteString("let text = '';\nfor (const f of [step0, step1, step2]) text += f(first, 1);\nreturn text.length;")
	return b.String()
}

// bigCell holds about so many bytes of live heap and is then suspended.
func bigCell(bytes int) string {
	return fmt.Sprintf(`const kept = [];
let x = 1;
for (let size = 0; size < %d; size += 4096) {
  const page = new Uint8Array(4096);
  for (let i = 0; i < 4096; i += 8) { x = (x * 48271) %% 2147483647; page[i] = x; page[i + 3] = x >> 8; }
  kept.push(page);
}
await yield_control();
return kept.length;`, bytes)
}

// gate is a tool that does not answer before it is opened.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release lets all through that wait, and none that come later.
func (g *gate) release() {
	g.mu.Lock()
	close(g.open)
	g.open = make(chan struct{})
	g.mu.Unlock()
}

type query struct {
	Q string `json:"q"`
}

type answer struct {
	N int `json:"n"`
}

// newCatalog makes a catalog of n small tools tool_0…, and "pending", which g holds back.
func newCatalog(n int, g *gate) *catalog.Catalog {
	tools := []catalog.Tool{
		catalog.Func("tool_0", "Does thing 0", func(context.Context, query) (answer, error) { return answer{41}, nil }),
		catalog.Func("echo", "Says what it was told", func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return in.Text, nil
		}),
		catalog.Func("pending", "Answers when the bench says so", func(ctx context.Context, _ query) (answer, error) {
			return answer{41}, g.wait(ctx)
		}),
	}
	for i := 1; i < n; i++ {
		tools = append(tools, catalog.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: fmt.Sprintf("Does thing %d", i),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`),
			Run: func(context.Context, *catalog.Call) (*catalog.Result, error) {
				return &catalog.Result{Value: json.RawMessage(`{"n":41}`)}, nil
			},
		})
	}
	c := host.NewCatalog(nil)
	if problems := c.Add(tools...); len(problems) > 0 {
		panic("bench: " + problems[0].String())
	}
	return c
}

// station is a host with a catalog, and the scope that its cells run in.
type station struct {
	*host.Host
	gate  *gate
	scope host.Scope
	texts int // how many cells had a text that no cache knew
}

// newStation makes a host of n tools on an engine.
func newStation(engine *quickjs.Engine, n int, l limits.Limits) (*station, error) {
	g := newGate()
	h, err := host.New(&host.Options{Catalog: newCatalog(n, g), Engine: engine, Limits: l})
	if err != nil {
		return nil, err
	}
	return &station{Host: h, gate: g, scope: host.Scope{Session: "bench"}}, nil
}

// exec runs a cell that must complete.
func (s *station) exec(ctx context.Context, code string) (*host.Result, error) {
	return completed(s.Exec(ctx, s.scope, host.ExecInput{Code: code}))
}

// suspend runs a cell that must wait.
func (s *station) suspend(ctx context.Context, code string) (*host.Result, error) {
	r := s.Exec(ctx, s.scope, host.ExecInput{Code: code})
	if r.Status != host.Waiting {
		return nil, unexpected(r, host.Waiting)
	}
	return r, nil
}

// answer lets the tool of a suspended cell answer, and returns when the answer is kept for it.
func (s *station) answer() {
	for {
		s.gate.release() // again and again: the tool's goroutine may not have come to the gate yet
		waits := false
		for _, run := range s.Runs(s.scope) {
			for _, p := range run.Pending {
				waits = waits || p.Tool == "pending"
			}
		}
		if !waits {
			return
		}
		time.Sleep(2 * time.Microsecond)
	}
}

// resume waits for a cell that must complete.
func (s *station) resume(ctx context.Context, runID string) (*host.Result, error) {
	return completed(s.Wait(ctx, s.scope, host.WaitInput{RunID: runID}))
}

func completed(r *host.Result) (*host.Result, error) {
	if r.Status != host.Completed {
		return nil, unexpected(r, host.Completed)
	}
	return r, nil
}

func unexpected(r *host.Result, want host.Status) error {
	return fmt.Errorf("bench: a cell ended as %s, not %s: %s %s", r.Status, want, r.Code, r.Error)
}
