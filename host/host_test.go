package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codemode/catalog"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/transpile"
)

var sharedEngine = sync.OnceValues(func() (*quickjs.Engine, error) { return quickjs.NewEngine(nil) })

// tools is a catalog with tools that tests need, and counts what ran.
type tools struct {
	*catalog.Catalog
	ran     sync.Map // name -> *atomic.Int64
	running atomic.Int64
	most    atomic.Int64
	gate    chan struct{} // "gate" returns when this is closed
}

func (c *tools) count(name string) int64 {
	n, _ := c.ran.LoadOrStore(name, new(atomic.Int64))
	return n.(*atomic.Int64).Load()
}

func (c *tools) tool(name string, run func(ctx context.Context, in map[string]any) (any, error)) {
	t := catalog.Tool{Name: name, Description: "Test tool " + name, Run: func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
		n, _ := c.ran.LoadOrStore(name, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		now := c.running.Add(1)
		defer c.running.Add(-1)
		for {
			most := c.most.Load()
			if now <= most || c.most.CompareAndSwap(most, now) {
				break
			}
		}
		var in map[string]any
		json.Unmarshal(call.Input, &in)
		out, err := run(ctx, in)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(out)
		return &catalog.Result{Value: value}, err
	}}
	if p := c.Add(t); len(p) > 0 {
		panic(p[0].String())
	}
}

func newTools() *tools {
	c := &tools{Catalog: catalog.New(nil), gate: make(chan struct{})}
	c.tool("echo", func(_ context.Context, in map[string]any) (any, error) { return in, nil })
	c.tool("add", func(_ context.Context, in map[string]any) (any, error) {
		return in["a"].(float64) + in["b"].(float64), nil
	})
	c.tool("fail", func(context.Context, map[string]any) (any, error) { return nil, errors.New("no luck") })
	c.tool("boom", func(context.Context, map[string]any) (any, error) { panic("inside") })
	c.tool("slow", func(ctx context.Context, in map[string]any) (any, error) {
		ms, _ := in["ms"].(float64)
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
			return in["v"], nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	c.tool("gate", func(ctx context.Context, in map[string]any) (any, error) {
		select {
		case <-c.gate:
			return in, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return c
}

func newHost(t testing.TB, c *tools, o Options) *Host {
	t.Helper()
	engine, err := sharedEngine()
	if errors.Is(err, quickjs.ErrNoGuest) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Engine = engine
	if c != nil {
		o.Catalog = c.Catalog
	}
	h, err := New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// brief shows a result in one line.
func brief(r *Result) string {
	line := string(r.Status)
	switch r.Status {
	case Completed:
		line += " " + string(r.Value)
	case Waiting:
		line += " " + string(r.Reason)
		for _, p := range r.PendingToolCalls {
			line += " " + p.ID
		}
	case Failed:
		line += fmt.Sprintf(" %s %s", r.Code, r.FailurePhase)
		if r.Limit != "" {
			line += " limit=" + r.Limit
		}
		line += " " + r.Error
	}
	for _, o := range r.Output {
		line += " | " + string(o)
	}
	return line
}

func exec(t testing.TB, h *Host, code string) *Result {
	t.Helper()
	return h.Exec(t.Context(), Scope{}, ExecInput{Code: code})
}

func TestExec(t *testing.T) {
	h := newHost(t, newTools(), Options{})
	for _, test := range []struct{ code, want string }{
		{`return 1+2`, `completed 3`},
		{`1+2`, `completed 3`},
		{`let x: number = 3; return x`, `completed 3`},
		{`return await echo({a: 1})`, `completed {"a":1}`},
		{`return await tools.echo({a: 1})`, `completed {"a":1}`},
		{`return await tools.callValue("echo", {a: 1})`, `completed {"a":1}`},
		{`return Object.keys(await tools.call("echo", {a: 1}))`, `completed ["tool","result"]`},
		{`const [t] = await catalog.search("add two"); return typeof t`, `completed "function"`},
		{`return (await tools.search("echo")).map(t => t.id)`, `completed ["host:core:echo"`},
		{`return ALL_TOOLS.length`, `completed 6`},
		{`return (await tools.describe("add")).id`, `completed "host:core:add"`},
		{`return await fail().catch(e => [e.message, e.code, e.tool, e.effectStatus, e.location.line])`, `completed ["no luck","tool_error","fail","unknown",1]`},
		{`await fail()`, `failed internal_error bridge Error: no luck`},
		{`return await boom().catch(e => e.message)`, `completed "Tool \"boom\" broke off`},
		{`text("a"); json({b: 1}); console.warn("c", {d: 1}); return 1`,
			`completed 1 | {"type":"text","text":"a"} | {"type":"json","value":{"b":1}} | {"type":"text","text":"[warn] c {\"d\":1}"}`},
		{`text("kept"); throw new Error("x")`, "failed internal_error guest Error: x\n    at 1:"},
		{`await new Promise(() => {})`, `failed internal_error guest The cell can never finish`},
		{`text("kept"); while (true) {}`, `failed timeout guest limit=timeout The cell computed for longer`},
		{`const a = []; try { for (;;) a.push(new Array(1e5).fill(1)) } catch {}`, `failed internal_error guest limit=memory`},
		{`fail(); return "ok"`, `failed internal_error bridge A promise was rejected and nothing handled it: Error: no luck`},
		{`Promise.reject(new Error("a")); Promise.reject(new TypeError("b")); return 1`, "failed internal_error guest 2 promises were rejected and nothing handled them:\n1. Error: a"},
		{"const g = () => echo({n: 1n});\nawait g()", "failed internal_error guest TypeError: the input holds a BigInt, which JSON cannot carry; send Number(x) or String(x) {\"code\":\"invalid_input\",\"tool\":\"echo\"}\n    at g (1:17)"},
		{`return echo({n: 10n})`, "failed internal_error guest TypeError: the input holds a BigInt, which JSON cannot carry; send Number(x) or String(x) {\"code\":\"invalid_input\",\"tool\":\"echo\"}\n    at 1:8"},
		{"class Mine extends Error {}\nfunction f() { throw new Mine('x') }\nf()", "failed internal_error guest Mine: x\n    at f (2:22)\n"},
		{`serch("x")`, `failed internal_error guest ReferenceError: serch is not defined. Did you mean catalog.search?`},
		{`ecoh({})`, `failed internal_error guest ReferenceError: ecoh is not defined. Did you mean echo`},
		{`print(1)`, `failed internal_error guest ReferenceError: print is not defined. Use text(value).`},
		{`functions.search("x")`, `failed internal_error guest ReferenceError: functions is not defined. Tools are functions of their own`},
		{`settimeout(f, 1)`, `failed internal_error guest ReferenceError: settimeout is not defined. Did you mean setTimeout?`},
		{`const x = ;`, `failed invalid_input input`},
		{`import fs from "fs"`, `failed invalid_input input`},
		{``, `failed invalid_input input code is missing`},
		{`const r = []; for (let i = 0; i < 200; i++) r.push(await echo({i})); return r.length`, `completed 200`},
		{`return (await Promise.all(Array.from({length: 40}, (_, i) => slow({ms: 5, v: i})))).length`, `completed 40`},
		{`return await Promise.race([slow({ms: 400, v: "slow"}), slow({ms: 5, v: "fast"})])`, `completed "fast"`},
		{`let n = 0; setTimeout(() => n++, 1); await new Promise(r => setTimeout(r, 20)); return n`, `completed 1`},
		{`const id = setTimeout(() => text("never"), 5); clearTimeout(id); await new Promise(r => setTimeout(r, 20)); return 1`, `completed 1`},
		{`const ref = await results.save({a: [1]}); return [await results.load(ref.id), await results.delete(ref.id)]`, `completed [{"a":[1]},true]`},
		{`slow({ms: 30, v: 1}).then(() => text("drained")); return 7`, `completed 7 | {"type":"text","text":"drained"}`},
	} {
		t.Run(test.code, func(t *testing.T) {
			var options CallOptions
			if strings.Contains(test.want, "limit=timeout") {
				options.Limits.TimeoutMs = 500
			}
			if got := brief(h.ExecWith(t.Context(), Scope{}, ExecInput{Code: test.code}, options)); !strings.HasPrefix(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestTheCatalogDoesNotFit(t *testing.T) {
	c := NewCatalog(nil)
	for i := range 8000 {
		c.Add(catalog.Tool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("x", 100), Run: func(context.Context, *catalog.Call) (*catalog.Result, error) { return nil, nil }})
	}
	h := newHost(t, nil, Options{Catalog: c, Limits: limits.Limits{MemoryLimitBytes: 1 << 20}})
	for _, code := range []string{`return catalog.all().length`, `return ALL_TOOLS.length`} {
		if got := brief(exec(t, h, code)); !strings.HasPrefix(got, "failed internal_error guest limit=memory") {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func TestSuspendAndWait(t *testing.T) {
	c := newTools()
	h := newHost(t, c, Options{Limits: limits.Limits{TimeoutMs: 150}})
	r := exec(t, h, `text("one"); const [a, b] = await Promise.all([gate({n: 1}), gate({n: 2})]); text("two"); return a.n + b.n`)
	if got := brief(r); got != `waiting pending_tools bridge:callValue:1 bridge:callValue:2 | {"type":"text","text":"one"}` {
		t.Fatal(got)
	}
	if n := h.engine.Stats().VMs; n != 0 {
		t.Errorf("%d VMs while suspended", n)
	}
	again := h.Wait(t.Context(), Scope{}, WaitInput{r.RunID})
	if got := brief(again); got != `waiting pending_tools bridge:callValue:1 bridge:callValue:2` || again.RunID != r.RunID {
		t.Fatal(got)
	}
	close(c.gate)
	last := h.Wait(t.Context(), Scope{}, WaitInput{r.RunID})
	if got := brief(last); got != `completed 3 | {"type":"text","text":"two"}` {
		t.Fatal(got)
	}
	if n := c.count("gate"); n != 2 {
		t.Errorf("gate ran %d times", n)
	}
	// A caller that lost the answer can ask again.
	if got := brief(h.Wait(t.Context(), Scope{}, WaitInput{r.RunID})); got != brief(last) {
		t.Error(got)
	}
	if got := brief(h.Wait(t.Context(), Scope{Session: "other"}, WaitInput{r.RunID})); got != "failed invalid_input input code mode run is unavailable or expired." {
		t.Error(got)
	}
}

func TestYield(t *testing.T) {
	h := newHost(t, newTools(), Options{})
	r := exec(t, h, `text("a"); const y = await yield_control("because"); text("b"); return y`)
	if got := brief(r); got != `waiting yield bridge:yield:1 | {"type":"text","text":"a"}` {
		t.Fatal(got)
	}
	if got := brief(h.Wait(t.Context(), Scope{}, WaitInput{r.RunID})); got != `completed {"status":"yielded","reason":"because"} | {"type":"text","text":"b"}` {
		t.Fatal(got)
	}
	r = exec(t, h, `yield_control(); return 7`)
	if got := brief(r); got != `waiting yield bridge:yield:1` {
		t.Fatal(got)
	}
	if got := brief(h.Wait(t.Context(), Scope{}, WaitInput{r.RunID})); got != `completed 7` {
		t.Fatal(got)
	}
}

func TestWaitRefusals(t *testing.T) {
	h := newHost(t, newTools(), Options{})
	mine := Scope{Session: "s", AgentRun: "r"}
	r := h.Exec(t.Context(), mine, ExecInput{Code: `await yield_control()`})
	for _, test := range []struct {
		scope Scope
		id    string
		want  string
	}{
		{mine, "", messageNoRunID},
		{mine, "cm_nope", MessageUnavailable},
		{Scope{Session: "other", AgentRun: "r"}, r.RunID, messageOtherSession},
		{Scope{Session: "s", AgentRun: "other"}, r.RunID, messageOtherRun},
		{Scope{Session: "s"}, r.RunID, messageOtherRun},
	} {
		got := h.Wait(t.Context(), test.scope, WaitInput{test.id})
		if got.Status != Failed || got.Code != InvalidInput || got.Error != test.want {
			t.Errorf("%+v %q: %s", test.scope, test.id, brief(got))
		}
	}
	if got := h.Wait(t.Context(), mine, WaitInput{r.RunID}); got.Status != Completed {
		t.Error(brief(got))
	}
}

func TestOneWaitAtATime(t *testing.T) {
	c := newTools()
	h := newHost(t, c, Options{Limits: limits.Limits{TimeoutMs: 100}})
	r := exec(t, h, `return await gate({n: 1})`)
	first := make(chan *Result)
	go func() {
		first <- h.ExecWait(t, r.RunID)
	}()
	for {
		if runs := h.Runs(Scope{}); len(runs) == 1 && !runs[0].Suspended {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if got := h.Wait(t.Context(), Scope{}, WaitInput{r.RunID}); got.Error != messageAlreadyWaited {
		t.Error(brief(got))
	}
	close(c.gate)
	if got := <-first; got.Status != Completed {
		t.Error(brief(got))
	}
}

// ExecWait waits until the run has ended.
func (h *Host) ExecWait(t *testing.T, id string) *Result {
	for {
		r := h.Wait(t.Context(), Scope{}, WaitInput{id})
		if r.Status != Waiting {
			return r
		}
	}
}

func TestTooManyAtOnceRunsNothing(t *testing.T) {
	c := newTools()
	h := newHost(t, c, Options{})
	r := exec(t, h, `const p = Array.from({length: 145}, (_, i) => echo({i})); try { await Promise.all(p) } catch {} return "caught"`)
	if r.Status != Failed || r.Code != InvalidInput || r.Limit != "pendingCalls" || r.BridgeDispatchStarted || c.count("echo") != 0 {
		t.Errorf("%s; ran %d", brief(r), c.count("echo"))
	}
	r = exec(t, h, `return (await Promise.all(Array.from({length: 144}, (_, i) => echo({i})))).length`)
	if got := brief(r); got != "completed 144" || c.count("echo") != 144 {
		t.Errorf("%s; ran %d", got, c.count("echo"))
	}
	c.most.Store(0)
	if got := brief(exec(t, h, `return (await Promise.all(Array.from({length: 40}, (_, i) => slow({ms: 2, v: i})))).length`)); got != "completed 40" {
		t.Error(got)
	}
	if most := c.most.Load(); most > 16 {
		t.Errorf("%d calls ran at once", most)
	}
}

func TestCancellationAndItsLeftovers(t *testing.T) {
	c := newTools()
	h := newHost(t, c, Options{Limits: limits.Limits{TimeoutMs: 100}})
	r := exec(t, h, `return await gate({})`)
	if c.running.Load() != 1 {
		t.Fatalf("%d running", c.running.Load())
	}
	if !h.Cancel(r.RunID) || h.Cancel(r.RunID) {
		t.Error("Cancel of a suspended run, and again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	r = h.Exec(ctx, Scope{}, ExecInput{Code: `text("kept"); return await gate({})`})
	if r.Status != Failed || r.Code != Aborted || len(r.Output) != 1 || len(r.UnknownEffects) != 1 || r.UnknownEffects[0].Tool != "gate" {
		t.Error(brief(r))
	}
	h.active.Wait()
	if n := c.running.Load(); n != 0 {
		t.Errorf("%d tools still run", n)
	}
	if n := len(h.Runs(Scope{})); n != 0 || h.reserved.Load() != 0 || len(h.store.(*memoryStore).records) != 0 {
		t.Errorf("%d runs, %d reserved, %d records left", n, h.reserved.Load(), len(h.store.(*memoryStore).records))
	}
}

func TestSuspendedCellsAreLimitedBeforeTheyDispatch(t *testing.T) {
	c := newTools()
	h := newHost(t, c, Options{Limits: limits.Limits{MaxSuspendedCells: 2}})
	for range 2 {
		if r := exec(t, h, `await yield_control()`); r.Status != Waiting {
			t.Fatal(brief(r))
		}
	}
	r := exec(t, h, `return await echo({})`)
	if r.Status != Failed || r.Code != InvalidInput || r.Error != messageTooMany || r.Limit != "suspendedCells" || c.count("echo") != 0 {
		t.Error(brief(r))
	}
	if got := brief(exec(t, h, `return 1`)); got != "completed 1" {
		t.Errorf("a cell without host work: %s", got)
	}
}

func TestExpiry(t *testing.T) {
	h := newHost(t, newTools(), Options{Limits: limits.Limits{SnapshotTTLSeconds: 1}})
	r := exec(t, h, `await yield_control()`)
	time.Sleep(1100 * time.Millisecond)
	if got := h.Wait(t.Context(), Scope{}, WaitInput{r.RunID}); got.Error != MessageUnavailable {
		t.Error(brief(got))
	}
	if n := len(h.store.(*memoryStore).records); n != 0 || len(h.Runs(Scope{})) != 0 {
		t.Errorf("%d records left", n)
	}
}

func TestSnapshotLimit(t *testing.T) {
	h := newHost(t, newTools(), Options{Limits: limits.Limits{MaxSnapshotBytes: 1024}})
	if got := brief(exec(t, h, `return await slow({ms: 50, v: 1})`)); got != "completed 1" {
		t.Errorf("inline: %s", got)
	}
	if r := exec(t, h, `await yield_control()`); r.Code != SnapshotLimitExceeded || r.Limit != "snapshot" {
		t.Error(brief(r))
	}
}

func TestApprovalStopsTheClock(t *testing.T) {
	c := newTools()
	c.Add(catalog.Tool{Name: "ask", Run: func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
		if err := call.AwaitApproval(ctx, "May I?"); err != nil {
			return nil, err
		}
		return &catalog.Result{Value: json.RawMessage(`"yes"`)}, nil
	}})
	h := newHost(t, c, Options{Limits: limits.Limits{TimeoutMs: 100}, Approve: func(ctx context.Context, a Approval) error {
		if a.Question != "May I?" {
			return errors.New("wrong question")
		}
		time.Sleep(350 * time.Millisecond)
		return nil
	}})
	if got := brief(exec(t, h, `return await ask()`)); got != `completed "yes"` {
		t.Error(got)
	}
}

// Nobody waits for the answer to a call that was given up, whether the person is asked on or not.
func TestApprovalOfACallThatWasGivenUp(t *testing.T) {
	c := newTools()
	asked := make(chan struct{})
	c.Add(catalog.Tool{Name: "ask", Run: func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
		return nil, call.AwaitApproval(ctx, "May I?")
	}})
	answer := make(chan struct{})
	h := newHost(t, c, Options{Limits: limits.Limits{TimeoutMs: 100}, Approve: func(context.Context, Approval) error {
		close(asked)
		<-answer
		return nil
	}})
	c.tool("asked", func(context.Context, map[string]any) (any, error) { <-asked; return true, nil })
	r := exec(t, h, `const c = new AbortController();
const p = ask({}, {signal: c.signal}).catch(e => e.name);
await asked();
c.abort();
text(await p);
await gate()`)
	if got := brief(r); got != `waiting pending_tools bridge:callValue:3 | {"type":"text","text":"AbortError"}` {
		t.Error(got)
	}
	close(answer)
}

// A panic in what the host's owner put in ends one call or one exec, not the process.
func TestHooksThatPanic(t *testing.T) {
	broke := `completed ["tool_error","unknown"]`
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"before":     {Options{Hooks: []Hook{{Before: func(context.Context, *NestedCall) error { panic("hook") }}}}, broke},
		"after":      {Options{Hooks: []Hook{{After: func(context.Context, *NestedCall, *catalog.Result) error { panic("hook") }}}}, broke},
		"trajectory": {Options{Trajectory: func(Record) { panic("hook") }}, broke},
		"redact":     {Options{Trajectory: func(Record) {}, Redact: func(*Record) { panic("hook") }}, broke},
		"exec": {Options{ExecHooks: []func(context.Context, *ExecCall) error{func(context.Context, *ExecCall) error { panic("hook") }}},
			"failed invalid_input input exec was not run: a hook of the host broke off"},
		"a result that is not JSON": {Options{Hooks: []Hook{{After: func(_ context.Context, _ *NestedCall, r *catalog.Result) error {
			r.Value = json.RawMessage("{bad")
			return nil
		}}}}, broke},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, newTools(), test.options)
			for range 4 { // brief tools are run where the cell is driven
				if got := brief(exec(t, h, `try { return await echo({v: 1}) } catch (e) { return [e.code, e.effectStatus] }`)); got != test.want {
					t.Errorf("%s, want %s", got, test.want)
				}
			}
		})
	}
}

// Bytes that are not UTF-8 are valid in the JSON of Go, and not in that of the guest.
func TestAnswersThatAreNotText(t *testing.T) {
	c := newTools()
	c.Add(catalog.Tool{Name: "gives", Run: func(context.Context, *catalog.Call) (*catalog.Result, error) {
		return &catalog.Result{Value: json.RawMessage("{\"v\":\"caf\xe9\"}")}, nil
	}}, catalog.Tool{Name: "fails", Run: func(context.Context, *catalog.Call) (*catalog.Result, error) {
		return nil, &catalog.Error{Code: "c", Message: "caf\xe9", Data: json.RawMessage("\"caf\xe9\"")}
	}})
	h := newHost(t, c, Options{})
	got := brief(exec(t, h, `return [(await gives()).v, await fails().catch(e => [e.message, e.code, e.data])]`))
	if want := strings.ReplaceAll(`completed ["caf?",["caf?","c","caf?"]]`, "?", "\uFFFD"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestHooks(t *testing.T) {
	var seen []string
	h := newHost(t, newTools(), Options{Hooks: []Hook{
		{Before: func(_ context.Context, call *NestedCall) error {
			seen = append(seen, "1 before "+string(call.Input))
			if call.Entry.Name() == "fail" {
				return errors.New("not that one")
			}
			call.Input = json.RawMessage(`{"a":2}`)
			return nil
		}, After: func(_ context.Context, _ *NestedCall, r *catalog.Result) error {
			seen = append(seen, "1 after")
			return nil
		}},
		{Before: func(_ context.Context, call *NestedCall) error {
			seen = append(seen, "2 before "+string(call.Input))
			return nil
		}, After: func(_ context.Context, _ *NestedCall, r *catalog.Result) error {
			seen = append(seen, "2 after")
			r.Value = json.RawMessage(`{"changed":true}`)
			return nil
		}},
	}})
	if got := brief(exec(t, h, `return [await echo({a: 1}), await fail().catch(e => [e.code, e.message])]`)); got != `completed [{"changed":true},["blocked","Tool \"fail\" was not run: not that one"]]` {
		t.Error(got)
	}
	want := []string{`1 before {"a":1}`, `2 before {"a":2}`, "2 after", "1 after", "1 before {}"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

func TestExecHooks(t *testing.T) {
	var seen []string
	hook := func(_ context.Context, call *ExecCall) error {
		seen = append(seen, call.ToolKind+" "+call.ToolInputKind+" "+call.Scope.Session+" "+call.ParentID)
		switch {
		case strings.Contains(call.Input.Code, "secret"):
			return errors.New("the policy forbids it")
		case strings.Contains(call.Input.Code, "blank"):
			call.Input.Command = " "
		case strings.Contains(call.Input.Code, "change"):
			call.Input.Command = "return 'changed'"
		}
		return nil
	}
	h := newHost(t, newTools(), Options{ExecHooks: []func(context.Context, *ExecCall) error{hook}})
	for _, test := range []struct {
		in   ExecInput
		want string
	}{
		{ExecInput{Code: "return 1"}, "completed 1"},
		{ExecInput{Command: "return 'change'"}, `completed "changed"`},
		{ExecInput{Code: "return 'secret'"}, "failed invalid_input input exec was not run: the policy forbids it"},
		{ExecInput{Code: "return 'blank'"}, "failed invalid_input input code is missing"},
		{ExecInput{Code: "const x: number = 1; return x"}, "completed 1"},
	} {
		if got := brief(h.ExecWith(t.Context(), Scope{Session: "s"}, test.in, CallOptions{ParentID: "p"})); !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v: %s, want %s", test.in, got, test.want)
		}
	}
	if seen[0] != "code_mode_exec javascript s p" || seen[4] != "code_mode_exec typescript s p" {
		t.Errorf("%q", seen)
	}
}

func TestResultJSON(t *testing.T) {
	h := newHost(t, newTools(), Options{})
	got, err := json.Marshal(exec(t, h, `json({a: "<b>"}); return {x: 1}`))
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(got, &keys); err != nil {
		t.Fatal(err)
	}
	want := `{"status":"completed","language":"javascript","replaySafe":false,"telemetry":{`
	if !strings.HasPrefix(string(got), want) || !strings.HasSuffix(string(got), `,"value":{"x":1}}`) {
		t.Errorf("%s", got)
	}
}

func TestWithoutAGuestEveryExecSaysSo(t *testing.T) {
	h, err := New(&Options{EngineOptions: &quickjs.EngineOptions{Guest: []byte("\x00asm\x01\x00\x00\x00")}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if h.Available() == nil {
		t.Error("a module without the ABI is available")
	}
	r := exec(t, h, `return 1`)
	if r.Status != Failed || r.Code != RuntimeUnavailable || r.FailurePhase != PhaseHost || !strings.Contains(r.Error, "does not match the host ABI") {
		t.Error(brief(r))
	}
	if _, err := New(&Options{Languages: []transpile.Language{"cobol"}}); err == nil {
		t.Error("an unknown language was taken")
	}
}

func TestALargeValueIsKeptForLater(t *testing.T) {
	h := newHost(t, newTools(), Options{Limits: limits.Limits{MaxOutputBytes: 2048}})
	r := exec(t, h, `return Array.from({length: 500}, (_, i) => ({id: i, name: "item " + i}))`)
	var v struct {
		Truncated bool
		Reference struct {
			ID, Shape, Preview string
			Count, Bytes       int
		}
	}
	if err := json.Unmarshal(r.Value, &v); err != nil || !v.Truncated || v.Reference.Count != 500 || v.Reference.Shape != "[500: {id: number, name: string}]" || v.Reference.Preview == "" {
		t.Fatalf("%s", brief(r))
	}
	if got := brief(exec(t, h, fmt.Sprintf(`return (await results.load(%q))[499]`, v.Reference.ID))); got != `completed {"id":499,"name":"item 499"}` {
		t.Error(got)
	}
	other := h.Exec(t.Context(), Scope{Session: "other"}, ExecInput{Code: fmt.Sprintf(`return await results.load(%q)`, v.Reference.ID)})
	if other.Status != Failed {
		t.Errorf("another session: %s", brief(other))
	}
	if r := exec(t, h, `return "x".repeat(5000)`); strings.Contains(string(r.Value), "reference") || !strings.Contains(string(r.Value), `"omittedBytes"`) {
		t.Errorf("text: %s", brief(r))
	}
}

func TestTelemetry(t *testing.T) {
	h := newHost(t, newTools(), Options{Limits: limits.Limits{Fuel: 1 << 40}})
	r := exec(t, h, `await echo({}); await fail().catch(() => 0); await yield_control(); for (let i = 0; i < 1e5; i++); return new Array(1e6).fill(1).length`)
	if r.Telemetry.Cell.SnapshotBytes == 0 {
		t.Errorf("waiting: %+v", r.Telemetry.Cell)
	}
	r = h.Wait(t.Context(), Scope{}, WaitInput{r.RunID})
	c := r.Telemetry.Cell
	if c.VMMicros == 0 || c.MemoryBytes < 1<<20 || c.FuelUsed < 1e5 || c.Tools["echo"].Calls != 1 || c.Tools["fail"] != (ToolUsage{1, 1, c.Tools["fail"].Micros}) {
		t.Errorf("%+v", c)
	}
	if r.Telemetry.CallCount != 2 || r.Telemetry.CatalogSize != 6 || r.Telemetry.Sources["host"] != 6 {
		t.Errorf("%+v", r.Telemetry)
	}
}

func BenchmarkExec(b *testing.B) {
	h := newHost(b, newTools(), Options{})
	for b.Loop() {
		if r := exec(b, h, "return 1+2"); r.Status != Completed {
			b.Fatal(brief(r))
		}
	}
}

// However many runs end, the last result of the newest ones can be asked for again, of the same scope.
func TestLastResultsAreKept(t *testing.T) {
	h := newHost(t, nil, Options{})
	var ids []string
	for i := range maxEnded + 10 {
		id := fmt.Sprint("cm_", i)
		ids = append(ids, id)
		h.keepResult(&cell{id: id}, &Result{Status: Completed, Value: json.RawMessage(fmt.Sprint(i))})
	}
	for i, want := range map[int]string{0: "failed invalid_input input " + MessageUnavailable, 9: "failed invalid_input input " + MessageUnavailable, 10: "completed 10", maxEnded + 9: fmt.Sprint("completed ", maxEnded+9)} {
		if got := brief(h.Wait(t.Context(), Scope{}, WaitInput{RunID: ids[i]})); got != want {
			t.Errorf("run %d: %s, want %s", i, got, want)
		}
	}
	if got := brief(h.Wait(t.Context(), Scope{Session: "x"}, WaitInput{RunID: ids[20]})); got == "completed 20" {
		t.Error("a stranger got the result")
	}
	h.mu.Lock()
	for id, last := range h.ended.byRun {
		last.at = last.at.Add(-repeatFor)
		h.ended.byRun[id] = last
	}
	h.mu.Unlock()
	h.dropResults()
	if n := len(h.ended.byRun) + len(h.ended.order); n != 0 || h.ended.timer != nil {
		t.Errorf("%d results are kept for longer", n)
	}
}
