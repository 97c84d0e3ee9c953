package host

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codemode/limits"
	"codemode/quickjs"
)

// How long TestHammer goes on; make hammer runs it for a minute under the race detector.
var hammerTime = flag.Duration("hammer", 2*time.Second, "time of TestHammer")

// Two hundred sessions at once run cells that suspend, fail, time out, are cancelled, expire and end in order. Every
// result must be the one that its cell must have, and nothing may be left.
func TestHammer(t *testing.T) {
	newHost(t, nil, Options{}) // skips without a guest
	goroutines := runtime.NumGoroutine()
	engine, err := quickjs.NewEngine(&quickjs.EngineOptions{Instances: 16})
	if err != nil {
		t.Fatal(err)
	}
	c := newTools()
	h, err := New(&Options{Engine: engine, Catalog: c.Catalog, Limits: limits.Limits{MaxSuspendedCells: 1000, TimeoutMs: 20_000, ParkAfterMs: 3}})
	if err != nil {
		t.Fatal(err)
	}
	var (
		wait  sync.WaitGroup
		cells atomic.Int64
		stop  = time.Now().Add(*hammerTime)
	)
	for i := range 200 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			scope := Scope{Session: fmt.Sprint(i)}
			for n := 0; time.Now().Before(stop); n++ {
				cells.Add(1)
				if err := hammerOne(t.Context(), h, scope, random, n); err != nil {
					t.Errorf("session %d, cell %d: %v", i, n, err)
					return
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d cells", cells.Load())
	if runs := h.Runs(Scope{}); len(runs) != 0 || h.reserved.Load() != 0 || len(h.store.(*memoryStore).records) != 0 {
		t.Errorf("%d runs, %d places, %d records are left", len(runs), h.reserved.Load(), len(h.store.(*memoryStore).records))
	}
	if s := engine.Stats(); s.VMs != 0 || s.Idle > 16 {
		t.Errorf("the engine holds %+v", s)
	}
	h.Close()
	engine.Close()
	if n := c.running.Load(); n != 0 {
		t.Errorf("%d tools still run", n)
	}
	for range 200 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
}

// hammerOne runs one cell of a kind that chance picks, and checks how it ends.
func hammerOne(ctx context.Context, h *Host, scope Scope, random *rand.Rand, n int) error {
	finish := func(r *Result) *Result {
		for r.Status == Waiting {
			r = h.Wait(ctx, scope, WaitInput{r.RunID})
		}
		return r
	}
	run := func(code string) *Result { return h.Exec(ctx, scope, ExecInput{Code: code}) }
	want := func(got *Result, want string) error {
		if line := brief(got); len(line) < len(want) || line[:len(want)] != want {
			return fmt.Errorf("%s, want %s", line, want)
		}
		return nil
	}
	switch random.IntN(8) {
	case 0:
		return want(finish(run(fmt.Sprintf(`await yield_control(); const a = await slow({ms: %d, v: %d}); await yield_control(); return a + (await echo({v: 1})).v`, random.IntN(8), n))), fmt.Sprintf("completed %d", n+1))
	case 1:
		return want(finish(run(`return (await Promise.allSettled(Array.from({length: 30}, (_, i) => i % 2 ? fail() : slow({ms: i % 5, v: i})))).filter(r => r.status === "fulfilled").length`)), "completed 15")
	case 2:
		return want(run(`await slow({ms: 1}); throw new TypeError("mine")`), "failed internal_error bridge TypeError: mine")
	case 3: // cancelled while it is suspended
		r := run(`const p = slow({ms: 5000}); await yield_control(); return await p`)
		if err := want(r, "waiting pending_tools"); err != nil {
			return err
		}
		if !h.Cancel(r.RunID) {
			return fmt.Errorf("the run could not be cancelled")
		}
		return want(h.Wait(ctx, scope, WaitInput{r.RunID}), "failed invalid_input input "+MessageUnavailable)
	case 4: // cancelled while it runs
		ctx, cancel := context.WithTimeout(ctx, time.Duration(1+random.IntN(10))*time.Millisecond)
		defer cancel()
		r := h.Exec(ctx, scope, ExecInput{Code: `for (;;) await slow({ms: 1})`})
		if err := want(r, "failed aborted"); err != nil {
			return err
		}
	case 5: // hostile
		r := h.ExecWith(ctx, scope, ExecInput{Code: []string{
			`for (;;) {}`, `const a = []; for (;;) a.push(new Array(1e4).fill(a.length))`, `/(a+)+$/.test("a".repeat(40) + "b")`,
		}[random.IntN(3)]}, CallOptions{Limits: limits.Limits{TimeoutMs: 100, MemoryLimitBytes: 4 << 20}})
		if r.Limit != "timeout" && r.Limit != "memory" {
			return fmt.Errorf("%s", brief(r))
		}
	case 6: // two waits at once: one gets it
		r := run(`await yield_control(); return await slow({ms: 2, v: 7})`)
		if err := want(r, "waiting yield"); err != nil {
			return err
		}
		results := make(chan *Result, 2)
		for range 2 {
			go func() { results <- h.Wait(ctx, scope, WaitInput{r.RunID}) }()
		}
		a, b := <-results, <-results
		if a.Status != Completed {
			a, b = b, a
		}
		if err := want(a, "completed 7"); err != nil {
			return err
		}
		if b.Status != Completed && b.Error != messageAlreadyWaited {
			return fmt.Errorf("the other wait: %s", brief(b))
		}
	default:
		return want(run(fmt.Sprintf(`text("x"); return %d + 1`, n)), fmt.Sprintf("completed %d", n+1))
	}
	return nil
}
