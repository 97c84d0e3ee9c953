package host

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codemode/catalog"
	"codemode/limits"
)

// fickle tools have answered at once so far, so that the host runs their calls on the goroutine that drives the cell.
func fickle(t *testing.T, run map[string]func(context.Context) error) *catalog.Catalog {
	t.Helper()
	c := NewCatalog(nil)
	for name, f := range run {
		c.Add(catalog.Tool{Name: name, Run: func(ctx context.Context, _ *catalog.Call) (*catalog.Result, error) {
			return &catalog.Result{Value: []byte(`"` + name + `"`)}, f(ctx)
		}})
	}
	for _, e := range c.Snapshot().View(nil).Callables() {
		for range 3 {
			e.Took(time.Microsecond)
		}
		if !e.Brief() {
			t.Fatalf("%s is not taken for a brief tool", e.Name())
		}
	}
	return c
}

func TestACallTakenForABriefOneHoldsUpNothing(t *testing.T) {
	asked := make(chan struct{})
	c := fickle(t, map[string]func(context.Context) error{
		"slow":  func(context.Context) error { <-asked; return nil }, // ends only once quick has run beside it
		"quick": func(context.Context) error { close(asked); return nil },
	})
	h := newHost(t, nil, Options{Catalog: c})
	r := exec(t, h, `return [...await Promise.all([slow(), quick()]), await tools.search("quick").then(hits => hits.length)]`)
	if got := brief(r); got != `completed ["slow","quick",1]` {
		t.Error(got)
	}
	if r.Telemetry.Cell.Tools["slow"].Calls != 1 || r.Telemetry.Cell.Tools["quick"].Calls != 1 {
		t.Errorf("each tool runs once: %+v", r.Telemetry.Cell.Tools)
	}
}

func TestTheDeadlineOfACallTakenForABriefOne(t *testing.T) {
	gate := make(chan struct{})
	var ran atomic.Int32
	c := fickle(t, map[string]func(context.Context) error{"slow": func(context.Context) error { ran.Add(1); <-gate; return nil }})
	h := newHost(t, nil, Options{Catalog: c, Limits: limits.Limits{TimeoutMs: 150}})
	r := exec(t, h, `text("before"); const v = await slow(); text("after"); return v`)
	if got := brief(r); got != `waiting pending_tools bridge:callValue:1 | {"type":"text","text":"before"}` {
		t.Fatal(got)
	}
	close(gate)
	r = h.Wait(t.Context(), Scope{}, WaitInput{RunID: r.RunID})
	if got := brief(r); got != `completed "slow" | {"type":"text","text":"after"}` || ran.Load() != 1 {
		t.Errorf("%s, run %d times", got, ran.Load())
	}
}

func TestACallTakenForABriefOneIsCancelled(t *testing.T) {
	for name, end := range map[string]func(h *Host, cancel func()){
		"by the caller":   func(_ *Host, cancel func()) { cancel() },
		"by Host.Cancel":  func(h *Host, _ func()) { h.Cancel(h.Runs(Scope{})[0].RunID) },
		"by Host.Close":   func(h *Host, _ func()) { h.Close() },
		"by EndSession":   func(h *Host, _ func()) { h.EndSession(Scope{}) },
		"before it began": nil,
	} {
		t.Run(name, func(t *testing.T) {
			started, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
			c := fickle(t, map[string]func(context.Context) error{"slow": func(ctx context.Context) error {
				started <- struct{}{}
				<-ctx.Done()
				cancelled <- struct{}{}
				return ctx.Err()
			}})
			h := newHost(t, nil, Options{Catalog: c})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if end == nil {
				cancel()
			} else {
				go func() {
					<-started
					end(h, cancel)
				}()
			}
			r := h.Exec(ctx, Scope{}, ExecInput{Code: `await slow()`})
			if r.Status != Failed {
				t.Fatal(brief(r))
			}
			if end != nil {
				select {
				case <-cancelled:
				case <-time.After(10 * time.Second):
					t.Error("the tool was not told")
				}
			}
		})
	}
}

func TestAToolThatEndsItsGoroutine(t *testing.T) {
	for name, c := range map[string]*catalog.Catalog{
		"on the driver's": fickle(t, map[string]func(context.Context) error{"exits": func(context.Context) error { runtime.Goexit(); return nil }}),
		"on its own":      NewCatalog(nil),
	} {
		t.Run(name, func(t *testing.T) {
			c.Add(catalog.Tool{Name: "leaves", Run: func(context.Context, *catalog.Call) (*catalog.Result, error) { runtime.Goexit(); return nil, nil }})
			h := newHost(t, nil, Options{Catalog: c})
			r := exec(t, h, `const told = []; for (const f of [globalThis.exits ?? leaves, leaves]) await f().catch(e => told.push(e.message, e.effectStatus)); return told`)
			if got := brief(r); strings.Count(got, "broke off unexpectedly") != 2 || strings.Count(got, `"unknown"`) != 2 {
				t.Error(got)
			}
		})
	}
}
