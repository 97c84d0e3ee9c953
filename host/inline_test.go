package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
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

// Of several waits at once one goes on with the cell, and the others disturb nothing: also where the cell is suspended by
// what its brief calls asked.
func TestWaitsAtOnce(t *testing.T) {
	c := fickle(t, map[string]func(context.Context) error{"quick": func(context.Context) error { return nil }})
	h := newHost(t, nil, Options{Catalog: c})
	for range 5 {
		const steps = 20
		r := exec(t, h, fmt.Sprintf(`for (let i = 0; i < %d; i++) { await Promise.all([quick(), quick(), quick()]); text("o" + i); await yield_control() } return "end"`, steps))
		if r.Status != Waiting {
			t.Fatal(brief(r))
		}
		var (
			mu       sync.Mutex
			outputs  = len(r.Output)
			ended    atomic.Bool
			wait     sync.WaitGroup
			deadline = time.Now().Add(20 * time.Second)
		)
		for range 4 {
			wait.Go(func() {
				for !ended.Load() && time.Now().Before(deadline) {
					got := h.Wait(t.Context(), Scope{}, WaitInput{RunID: r.RunID})
					switch {
					case got.Status == Waiting:
						mu.Lock()
						outputs += len(got.Output)
						mu.Unlock()
					case got.Status == Completed && string(got.Value) == `"end"`:
						ended.Store(true)
					case got.Error != messageAlreadyWaited:
						ended.Store(true)
						t.Error(brief(got))
					}
				}
			})
		}
		wait.Wait()
		if !ended.Load() || outputs != steps {
			t.Fatalf("ended: %v, %d outputs of %d", ended.Load(), outputs, steps)
		}
	}
}

// A cell that only asks what is answered from memory stops at its deadline like any other.
func TestTheDeadlineOfLoopsOfAnswersFromMemory(t *testing.T) {
	c := fickle(t, map[string]func(context.Context) error{"quick": func(context.Context) error { return nil }})
	h := newHost(t, nil, Options{Catalog: c, Limits: limits.Limits{TimeoutMs: 100}})
	for _, code := range []string{
		`for (;;) await tools.describe("quick")`, `for (;;) await results.load("x").catch(() => 0)`, `for (;;) await quick()`,
		`for (;;) await catalog.search("quick")`, `for (;;) await new Promise(r => setTimeout(r, 0))`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r := h.Exec(ctx, Scope{}, ExecInput{Code: code})
		cancel()
		if r.Status != Waiting || r.Reason != PendingTools || len(r.PendingToolCalls) == 0 {
			t.Errorf("%s: %s", code, brief(r))
		}
		h.Cancel(r.RunID)
	}
}

// Calls that were never begun have no effect that could be unknown.
func TestEffectsOfCallsThatDidNotBegin(t *testing.T) {
	var ran atomic.Int32
	c := fickle(t, map[string]func(context.Context) error{
		"bad": func(context.Context) error { return errors.New("no") }, "write": func(context.Context) error { ran.Add(1); return nil },
	})
	r := exec(t, newHost(t, nil, Options{Catalog: c}), `await Promise.all([bad(), write(), write()])`)
	if r.Status != Failed || int(ran.Load())+len(r.UnknownEffects) > 2 || ran.Load() == 0 && len(r.UnknownEffects) > 0 {
		t.Errorf("ran %d times, unknown: %+v: %s", ran.Load(), r.UnknownEffects, brief(r))
	}
}

// The clock stands still while a person is asked, and no longer.
func TestTheClockAndApprovals(t *testing.T) {
	const asking = 1500 * time.Millisecond
	c := NewCatalog(nil)
	c.Add(catalog.Tool{Name: "ask", Run: func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
		return nil, call.AwaitApproval(ctx, "may I?")
	}})
	h := newHost(t, nil, Options{Catalog: c, Limits: limits.Limits{TimeoutMs: 500}, Approve: func(context.Context, Approval) error {
		time.Sleep(asking)
		return nil
	}})
	r := exec(t, h, `const a = ask(); await new Promise(r => setTimeout(r, 900)); const t = Date.now(); while (Date.now() - t < 300); await a; return "beside"`)
	if got := brief(r); got != `completed "beside"` {
		t.Errorf("computing beside an approval: %s", got)
	}
	r = exec(t, h, `await ask(); await yield_control(); while (true) {}`)
	start := time.Now()
	r = h.Wait(t.Context(), Scope{}, WaitInput{RunID: r.RunID})
	if took := time.Since(start); r.Limit != "timeout" || took > asking {
		t.Errorf("a wait after an approval of %v took %v: %s", asking, took, brief(r))
	}
}
