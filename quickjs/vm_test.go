package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codemode/guestabi"
	"codemode/limits"
)

// One engine for all tests: the compile takes about a second.
var sharedEngine = sync.OnceValues(func() (*Engine, error) { return NewEngine(nil) })

func engine(t testing.TB) *Engine {
	t.Helper()
	e, err := sharedEngine()
	if errors.Is(err, ErrNoGuest) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// recorder is a bridge that writes down what the cell asks.
type recorder struct {
	calls    []guestabi.Call
	searches []string
	timers   map[uint32]uint32
	yields   []uint32
	canceled []uint32
	output   []string
	resolved []string
	nodes    map[string]guestabi.Node
	panics   bool
}

func (r *recorder) Call(c guestabi.Call) error {
	if r.panics {
		panic("as the test wants")
	}
	r.calls = append(r.calls, c)
	return nil
}
func (r *recorder) Search(id uint32, query string, limit uint32, s guestabi.Surface) error {
	r.searches = append(r.searches, fmt.Sprintf("%d %q %d %d", id, query, limit, s))
	return nil
}
func (r *recorder) Describe(id uint32, b guestabi.Binding, tool string) error { return nil }
func (r *recorder) Cancel(id uint32) error                                    { r.canceled = append(r.canceled, id); return nil }
func (r *recorder) Timer(id uint32, ms uint32) error {
	if r.timers == nil {
		r.timers = map[uint32]uint32{}
	}
	r.timers[id] = ms
	return nil
}
func (r *recorder) Yield(id uint32, reason *string) error {
	r.yields = append(r.yields, id)
	return nil
}
func (r *recorder) Text(v string) error { r.output = append(r.output, "text "+v); return nil }
func (r *recorder) JSON(v json.RawMessage) error {
	r.output = append(r.output, "json "+string(v))
	return nil
}
func (r *recorder) Resolve(path string) (guestabi.Node, bool) {
	r.resolved = append(r.resolved, path)
	if node, ok := r.nodes[path]; ok {
		return node, true
	}
	if name, ok := strings.CutPrefix(path, "tools."); ok {
		path = name
	}
	if path == "echo" || strings.HasPrefix(path, "tool_") {
		return toolNode(path), true
	}
	return guestabi.Node{}, false
}

func toolNode(name string) guestabi.Node {
	return guestabi.Node{Binding: guestabi.ByCallable, Name: name, Data: fmt.Sprintf(`{"callableName":%q,"source":"host"}`, name)}
}
func (r *recorder) Names(path string) string { return `["echo"]` }
func (r *recorder) Entries(l guestabi.Listing) string {
	return `[{"callableName":"echo","source":"host"}]`
}
func (r *recorder) Files(prefix string) (string, bool)      { return `[]`, true }
func (r *recorder) File(path string) (string, bool)         { return "", false }
func (r *recorder) Save(id uint32, v json.RawMessage) error { return nil }
func (r *recorder) Load(id uint32, reference string) error  { return nil }
func (r *recorder) Drop(id uint32, reference string) error  { return nil }

func newVM(t testing.TB, r *recorder, o Options) *VM {
	t.Helper()
	vm, err := engine(t).NewVM(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vm.Close() })
	return vm
}

// run runs a body that needs no answers and shows its outcome as one line.
func run(t testing.TB, body string, o Options) (string, *recorder) {
	t.Helper()
	r := &recorder{}
	vm := newVM(t, r, o)
	out, err := vm.Run(body)
	if err != nil {
		return "error " + err.Error(), r
	}
	return show(out), r
}

func show(out guestabi.Outcome) string {
	line := out.State.String()
	if out.State == guestabi.Rejected {
		var thrown guestabi.Thrown
		if err := json.Unmarshal(out.Payload, &thrown); err != nil {
			return "bad error: " + string(out.Payload)
		}
		if thrown.Name != "" || thrown.Message != "" {
			line += " " + thrown.Name + ": " + thrown.Message
		} else {
			line += " " + thrown.Text + string(thrown.Value)
		}
	} else if len(out.Payload) > 0 {
		line += " " + string(out.Payload)
	}
	if out.Truncated {
		line += " (truncated)"
	}
	if out.Rejections > 0 {
		line += fmt.Sprintf(" rejections=%d", out.Rejections)
	}
	return line
}

func TestRun(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`return 1+2`, `fulfilled 3`},
		{`return await 1`, `fulfilled 1`},
		{``, `fulfilled null`},
		{`// only a comment`, `fulfilled null`},
		{`await new Promise(() => {})`, `pending`},
		{`throw new TypeError("no")`, `rejected TypeError: no`},
		{`throw "text"`, `rejected text`},
		{`throw {code: 5}`, `rejected {"code":5}`},
		{`throw null`, `rejected null`},
		{`throw undefined`, `rejected undefined`},
		{`throw Symbol("s")`, `rejected Symbol(s)`},
		{`return {a: [1, "x", null, undefined, () => 1], b: undefined}`, `fulfilled {"a":[1,"x",null,null,null]}`},
		{`return new Map([["a", 1]])`, `fulfilled {"a":1}`},
		{`return new Map([[1, 2]])`, `fulfilled [[1,2]]`},
		{`return new Set([1, 2])`, `fulfilled [1,2]`},
		{`return new Date(0)`, `fulfilled "1970-01-01T00:00:00.000Z"`},
		{`return 10n ** 20n`, `fulfilled "100000000000000000000"`},
		{`return new Uint8Array([1, 2])`, `fulfilled [1,2]`},
		{`return /a+/g`, `fulfilled "/a+/g"`},
		{`return new RangeError("r")`, `fulfilled {"name":"RangeError","message":"r"}`},
		{`const a = {}; a.a = a; return a`, `fulfilled {"a":"[circular]"}`},
		{`return [Promise.resolve(1)]`, `fulfilled ["[promise that was not awaited: use await or Promise.all]"]`},
		{`return "\ud800"`, `fulfilled "\ud800"`},
		{`return [NaN, Infinity, -0, 1.5, 1e21, 1e-7]`, `fulfilled [null,null,0,1.5,1e+21,1e-7]`},
		{`return Object(1)`, `fulfilled 1`},
		{`return {toJSON() { return {x: 1} }}`, `fulfilled {"x":1}`},
		{`return {get a() { throw new Error("getter") }}`, `rejected Error: getter`},
		{`Promise.reject(new Error("nobody")); return 1`, `fulfilled 1 rejections=1`},
		{`const p = Promise.reject(1); await 0; p.catch(() => {}); return 1`, `fulfilled 1`},
		{`return this === globalThis`, `fulfilled true`},
		{`return typeof nope`, `fulfilled "undefined"`},
		{`nope()`, `rejected ReferenceError: nope is not defined`},
		{`return [typeof require, typeof process, typeof fetch, typeof std, typeof os, typeof print, typeof WebAssembly]`,
			`fulfilled ["undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`},
		{`return typeof echo`, `fulfilled "function"`},
		{`return typeof tools.echo`, `fulfilled "function"`},
		{`return tools.echo === echo && catalog.all()[0] === echo`, `fulfilled true`},
		{`return Object.keys(tools)`, `fulfilled ["search","describe","call","callValue","echo"]`},
		{`echo = 1; return typeof echo`, `fulfilled "function"`},
		{`"use strict"; echo = 1`, `rejected TypeError: 'echo' is read-only`},
		{`const echo = 5; return echo`, `fulfilled 5`},
		{`delete globalThis.echo; delete tools.echo; return typeof echo`, `fulfilled "function"`},
		{`tools = 1; tools.call = 1; return typeof tools.call`, `fulfilled "function"`},
		{`return echo`, `fulfilled {"callableName":"echo","source":"host"}`},
		{`return await import("fs").catch(e => e.name)`, `fulfilled "ReferenceError"`},
		{`return await (0, eval)('import("fs")').catch(e => e.name)`, `fulfilled "ReferenceError"`},
	} {
		t.Run(test.body, func(t *testing.T) {
			got, _ := run(t, test.body, Options{})
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestPositionsAreTheBodys(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`throw new Error("x")`, "(cell:1:7)"},
		{"\n\n  null.x", "(cell:3:8)"},
		{"function f() {\n  throw new Error('x')\n}\nf()", "f (cell:2:9)"},
		{"const a = 1;\nconst a = 2", "cell:2:"},
	} {
		r := &recorder{}
		out, err := newVM(t, r, Options{}).Run(test.body)
		if err != nil {
			t.Fatal(err)
		}
		var thrown guestabi.Thrown
		json.Unmarshal(out.Payload, &thrown)
		if !strings.Contains(thrown.Stack, test.want) {
			t.Errorf("%q: stack %q, want %q in it", test.body, thrown.Stack, test.want)
		}
	}
}

func TestCallsAndSettle(t *testing.T) {
	r := &recorder{}
	vm := newVM(t, r, Options{})
	out, err := vm.Run("text('before');\nconst [a, b] = await Promise.all([echo({n: 1}), tools.call('x:y:z', {n: 2})]);\njson({a}); return [a, b]")
	if err != nil {
		t.Fatal(err)
	}
	if out.State != guestabi.Pending {
		t.Fatalf("state %v", out.State)
	}
	want := []guestabi.Call{
		{ID: 1, Binding: guestabi.ByCallable, Tool: "echo", Input: json.RawMessage(`{"n":1}`), Shape: guestabi.Value, Site: guestabi.Site{Line: 2, Column: 35}},
		{ID: 2, Binding: guestabi.ByReference, Tool: "x:y:z", Input: json.RawMessage(`{"n":2}`), Shape: guestabi.Envelope, Site: guestabi.Site{Line: 2, Column: 55}},
	}
	if diff := cmp.Diff(want, r.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if out, err = vm.Settle(2, true, []byte(`"two"`)); err != nil || out.State != guestabi.Pending {
		t.Fatalf("%v %v", out, err)
	}
	if out, err = vm.Settle(7, true, []byte(`"unknown"`)); err != nil || out.State != guestabi.Pending {
		t.Fatalf("%v %v", out, err)
	}
	if out, err = vm.Settle(1, true, []byte(`{"deep":["one"]}`)); err != nil || show(out) != `fulfilled [{"deep":["one"]},"two"]` {
		t.Fatalf("%v %v", show(out), err)
	}
	if diff := cmp.Diff([]string{"text before", `json {"a":{"deep":["one"]}}`}, r.output); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestAFailedCallIsAnErrorOfTheCallSite(t *testing.T) {
	r := &recorder{}
	vm := newVM(t, r, Options{})
	if _, err := vm.Run("try { await echo() } catch (e) {\n return [e instanceof Error, e.message, e.code, e.stack.includes('cell:1:')] }"); err != nil {
		t.Fatal(err)
	}
	out, err := vm.Settle(1, false, []byte(`{"message":"not today","code":"tool_error"}`))
	if err != nil || show(out) != `fulfilled [true,"not today","tool_error",true]` {
		t.Fatalf("%v %v", show(out), err)
	}
}

func TestBadArgumentsReject(t *testing.T) {
	for body, want := range map[string]string{
		`return await echo({a: 1n}).catch(e => e.message)`:                               `BigInt`,
		`const a = {}; a.a = a; return await echo(a).catch(e => e.message)`:              `circular`,
		`return await echo({a: [echo()]}).catch(e => e.message)`:                         `await it first`,
		`return await tools.search(5).catch(e => [e.code, e.message])`:                   `invalid_input`,
		`return await tools.search("x", {limit: 0}).catch(e => [e.code, e.message])`:     `invalid_input`,
		`return await tools.call(5).catch(e => [e.code, e.message])`:                     `invalid_input`,
		`return await echo({get a() { throw new Error("mine") }}).catch(e => e.message)`: `mine`,
	} {
		if got, _ := run(t, body, Options{}); !strings.HasPrefix(got, "fulfilled") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// What a cell does to the language's own objects must not reach the guest API.
func TestPoisonedPrimordials(t *testing.T) {
	const poison = `
		globalThis.JSON = {parse() { return "forged" }, stringify() { return '"forged"' }};
		Promise.prototype.then = function () { throw new Error("then") };
		globalThis.Promise = class { constructor() { throw new Error("Promise") } };
		Map.prototype.get = Map.prototype.set = () => "forged";
		for (const k of ["keys", "freeze", "defineProperty", "create"]) Object[k] = () => "forged";
		for (const k of ["map", "push", "join", "slice", Symbol.iterator]) Array.prototype[k] = () => "forged";
		Reflect.apply = Reflect.ownKeys = () => "forged";
		Function.prototype.call = Function.prototype.apply = () => "forged";
		String.prototype.slice = () => "forged";
		Object.prototype.toJSON = undefined;
		globalThis.Object = globalThis.Array = globalThis.Reflect = globalThis.String = globalThis.Error = undefined;
	`
	r := &recorder{}
	vm := newVM(t, r, Options{})
	out, err := vm.Run(poison + `
		const v = await echo({a: [1, {b: "c"}]});
		json(v); text("plain"); console.log({v});
		const hits = await catalog.search("q");
		return {v, n: hits.length, name: hits[0].callableName, timer: typeof setTimeout(() => text("fired"), 5)};`)
	if err != nil || out.State != guestabi.Pending {
		t.Fatalf("%v %v", show(out), err)
	}
	if got := string(r.calls[0].Input); got != `{"a":[1,{"b":"c"}]}` {
		t.Errorf("the host saw input %s", got)
	}
	if out, err = vm.Settle(1, true, []byte(`{"real":[1,2]}`)); err != nil || out.State != guestabi.Pending {
		t.Fatalf("%v %v", show(out), err)
	}
	if out, err = vm.Settle(2, true, []byte(`[{"callableName":"echo","source":"host"}]`)); err != nil {
		t.Fatal(err)
	}
	if got := show(out); got != `fulfilled {"v":{"real":[1,2]},"n":1,"name":"echo","timer":"number"}` {
		t.Errorf("outcome %s", got)
	}
	if _, err := vm.Settle(3, true, []byte(`null`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`json {"real":[1,2]}`, "text plain", `text {"v":{"real":[1,2]}}`, "text fired"}, r.output); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestLimitsEndTheCell(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, test := range []struct {
		name, body string
		want       error
	}{
		{"loop", `while (true) {}`, limits.ErrTimeout},
		{"caught", `for (;;) try { for (;;) {} } catch {} finally { for (;;) {} }`, limits.ErrTimeout},
		{"microtasks", `for (;;) await null`, limits.ErrTimeout},
		{"promise job", `Promise.resolve().then(() => { for (;;); }); await new Promise(() => {})`, limits.ErrTimeout},
		{"getter", `const o = {get a() { for (;;); }}; return o`, limits.ErrTimeout},
		{"toJSON", `return {toJSON() { for (;;); }}`, limits.ErrTimeout},
		{"proxy trap", `new Proxy({}, {get() { for (;;); }}).x`, limits.ErrTimeout},
		{"regular expression", `/(a+)+$/.test("a".repeat(40) + "b")`, limits.ErrTimeout},
		{"BigInt", `(2n ** 1000000n).toString()`, limits.ErrTimeout},
		{"array join", `new Array(1e9) + ""`, limits.ErrTimeout},
		{"sort", `for (;;) Array.from({length: 1e5}, Math.random).sort()`, limits.ErrTimeout},
		{"memory", `const a = []; for (;;) a.push(new Array(1e5).fill(1))`, limits.ErrMemory},
		{"caught memory", `const a = []; for (;;) try { for (;;) a.push(new Array(1e5).fill(1)) } catch {}`, limits.ErrMemory},
		{"strings", `const a = []; for (let i = 0; ; i++) a.push("x".repeat(1000) + i)`, limits.ErrMemory},
		{"buffers", `const a = []; for (;;) a.push(new ArrayBuffer(1e6))`, limits.ErrMemory},
		{"one large buffer", `new Uint8Array(1e9)`, limits.ErrMemory},
		{"split", `"x".repeat(5e7).split("")`, nil}, // memory or time, whichever is first
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{}
			start := time.Now()
			deadline := start.Add(500 * time.Millisecond)
			if errors.Is(test.want, limits.ErrMemory) {
				deadline = start.Add(time.Minute) // memory is what ends it, however slow the machine is
			}
			vm := newVM(t, r, Options{Deadline: deadline})
			out, err := vm.Run(`text("before"); ` + test.body)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("got %v, %v", show(out), err)
			}
			if errors.Is(err, limits.ErrTimeout) && time.Since(start) < 500*time.Millisecond {
				t.Errorf("stopped early, after %v", time.Since(start))
			}
			t.Logf("%v after %v; at %q", err, time.Since(start), vm.Position())
			if diff := cmp.Diff([]string{"text before"}, r.output); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if _, err := vm.Run(`return 1`); err == nil {
				t.Error("a dead VM ran again")
			}
			if _, err := vm.Suspend(CodecS2); err == nil {
				t.Error("a dead VM was snapshotted")
			}
		})
	}
}

func TestDeepRecursionAndNesting(t *testing.T) {
	got, _ := run(t, `let n = 0; function f() { n++; f() } try { f() } catch (e) { return [e.name, n >= 2500] }`, Options{})
	if got != `fulfilled ["RangeError",true]` && got != `fulfilled ["InternalError",true]` {
		t.Errorf("recursion: %s", got)
	}
	for name, body := range map[string]string{
		"JSON 20k":     `try { JSON.parse("[".repeat(20000)) } catch (e) { return e.name }`,
		"JSON 5M":      `try { JSON.parse("[".repeat(5e6)) } catch (e) { return e.name }`,
		"eval parens":  `try { eval("(".repeat(20000)) } catch (e) { return e.name }`,
		"eval arrays":  `try { eval("[".repeat(200000)) } catch (e) { return e.name }`,
		"template":     "try { eval('`${'.repeat(20000)) } catch (e) { return e.name }",
		"regexp":       `try { new RegExp("(".repeat(50000)) } catch (e) { return e.name }`,
		"destructure":  `try { eval("let " + "[".repeat(20000) + "a" + "]".repeat(20000) + "=1") } catch (e) { return e.name }`,
		"stringify":    `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; try { JSON.stringify(a) } catch (e) { return e.name }`,
		"return":       `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a`,
		"toString":     `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; try { String(a) } catch (e) { return e.name }`,
		"proxy chain":  `let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); try { p.x } catch (e) { return e.name }`,
		"bind chain":   `let f = () => 1; for (let i = 0; i < 2e4; i++) f = f.bind(null); try { f() } catch (e) { return e.name }`,
		"getter chain": `const o = {get a() { return this.a }}; try { o.a } catch (e) { return e.name }`,
		"sort":         `function f() { [2, 1].sort(f) } try { f() } catch (e) { return e.name }`,
		"replace":      `function f() { return "a".replace(/a/, f) } try { f() } catch (e) { return e.name }`,
	} {
		r := &recorder{}
		vm := newVM(t, r, Options{Deadline: time.Now().Add(5 * time.Second)})
		out, err := vm.Run(body)
		if err != nil && !errors.Is(err, limits.ErrStack) && !(name == "bind chain" && errors.Is(err, limits.ErrMemory)) {
			t.Errorf("%s: %v", name, err)
		}
		line := show(out)
		t.Logf("%-13s %.60s %v", name, line, err)
	}
	if got, _ := run(t, `return 1`, Options{}); got != "fulfilled 1" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestSuspendAndRestore(t *testing.T) {
	r := &recorder{}
	e := engine(t)
	before := e.Stats().VMs
	vm := newVM(t, r, Options{})
	if _, err := vm.Run(`let n = 40; const f = async () => { n++; return n + (await echo({})) }; const p = f(); const q = await p; return [q, n, Math.random()]`); err != nil {
		t.Fatal(err)
	}
	for _, codec := range []Codec{CodecNone, CodecS2, CodecZstd} {
		s, err := vm.Snapshot(codec)
		if err != nil {
			t.Fatal(err)
		}
		encoded := s.Encode()
		if len(encoded) != s.Size() {
			t.Errorf("codec %d: size %d, encoded %d", codec, s.Size(), len(encoded))
		}
		t.Logf("codec %d: %d bytes", codec, len(encoded))
	}
	s, err := vm.Suspend(CodecS2)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Stats().VMs; got != before {
		t.Errorf("%d VMs after suspend, %d before", got, before)
	}
	decoded, err := DecodeSnapshot(s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]bool{}
	for range 2 {
		vm, err := e.Restore(t.Context(), decoded, r, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := vm.Settle(1, true, []byte(`1`))
		if err != nil || !strings.HasPrefix(show(out), `fulfilled [42,41,0.`) {
			t.Fatalf("%s %v", show(out), err)
		}
		results[show(out)] = true
		vm.Close()
	}
	if len(results) != 2 {
		t.Error("two restored VMs gave the same Math.random")
	}
}

func TestDeterministicVMsRepeat(t *testing.T) {
	const body = `return [Math.random(), Date.now(), performance.now()]`
	a, _ := run(t, body, Options{Deterministic: true})
	b, _ := run(t, body, Options{Deterministic: true})
	if a != b {
		t.Errorf("%s and %s", a, b)
	}
	c, _ := run(t, `return Math.random()`, Options{})
	d, _ := run(t, `return Math.random()`, Options{})
	if c == d {
		t.Errorf("two VMs gave the same Math.random: %s", c)
	}
}

func TestSnapshotsAreRefusedWithTheReason(t *testing.T) {
	vm := newVM(t, &recorder{}, Options{})
	if _, err := vm.Run(`await echo()`); err != nil {
		t.Fatal(err)
	}
	s, err := vm.Suspend(CodecS2)
	if err != nil {
		t.Fatal(err)
	}
	good := s.Encode()
	for n := range len(good) {
		if _, err := DecodeSnapshot(good[:n]); err == nil {
			t.Fatalf("%d of %d bytes were taken for a snapshot", n, len(good))
		}
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x40
		d, err := DecodeSnapshot(bad)
		if err == nil {
			t.Fatalf("byte %d damaged: %+v", i, d)
		}
	}
	if _, err := DecodeSnapshot(good[:len(good)-1]); !errors.Is(err, ErrSnapshotTruncated) {
		t.Errorf("cut short: %v", err)
	}
	if _, err := DecodeSnapshot([]byte("hello, world, this is no snapshot")); !errors.Is(err, ErrNotSnapshot) {
		t.Errorf("not a snapshot: %v", err)
	}
	s.image[0] ^= 1
	if _, err := engine(t).Restore(t.Context(), s, &recorder{}, Options{}); !errors.Is(err, ErrSnapshotForeign) {
		t.Errorf("foreign: %v", err)
	}
}

func TestNothingIsLeftOfThePreviousCell(t *testing.T) {
	e := engine(t)
	for range 3 {
		vm := newVM(t, &recorder{}, Options{})
		if _, err := vm.Run(`globalThis.secret = "swordfish"; Object.prototype.poison = 1; Array.prototype.map = null; function deep(n) { return n ? deep(n - 1) : 0 } deep(500); return 1`); err != nil {
			t.Fatal(err)
		}
		vm.Close()
		if got, _ := run(t, `return [typeof secret, typeof {}.poison, typeof [].map]`, Options{}); got != `fulfilled ["undefined","undefined","function"]` {
			t.Fatal(got)
		}
	}
	v, err := e.variant(false)
	if err != nil {
		t.Fatal(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, i := range v.idle {
		if string(i.Memory()) != string(v.image) {
			t.Error("an idle instance's memory is not the image")
		}
	}
}

func TestFuel(t *testing.T) {
	o := Options{Limits: limits.Limits{Fuel: 20_000_000}}
	if got, _ := run(t, `return 1`, o); got != "fulfilled 1" {
		t.Fatal(got)
	}
	vm := newVM(t, &recorder{}, o)
	if _, err := vm.Run(`try { for (;;); } catch {}`); !errors.Is(err, limits.ErrFuel) {
		t.Errorf("loop: %v", err)
	}
	vm = newVM(t, &recorder{}, o)
	if _, err := vm.Run(`"x".repeat(1e7).split("")`); !errors.Is(err, limits.ErrFuel) {
		t.Errorf("built-in: %v", err)
	}
	// A step that is over before the engine asks whether to go on.
	for _, fuel := range []int64{1, 10_000, 200_000} {
		vm = newVM(t, &recorder{}, Options{Limits: limits.Limits{Fuel: fuel}})
		if out, err := vm.Run(`let n = 0; for (let i = 0; i < 2000; i++) n += i; return n`); !errors.Is(err, limits.ErrFuel) {
			t.Errorf("with %d: %s %v", fuel, show(out), err)
		}
		if left := vm.FuelLeft(); left != 0 {
			t.Errorf("with %d there is %d left", fuel, left)
		}
	}
	// Fuel is for the cell's life, not for each call.
	vm = newVM(t, &recorder{}, o)
	if _, err := vm.Run(`for (let i = 0; ; i++) { for (let k = 0; k < 20000; k++); await echo({i}) }`); err != nil {
		t.Fatal(err)
	}
	var err error
	rounds := uint32(1)
	for ; rounds < 1000 && err == nil; rounds++ {
		if rounds == 2 {
			s, suspendErr := vm.Suspend(CodecS2)
			if suspendErr != nil {
				t.Fatal(suspendErr)
			}
			if vm, err = engine(t).Restore(t.Context(), s, &recorder{}, o); err != nil {
				t.Fatal(err)
			}
			defer vm.Close()
		}
		_, err = vm.Settle(rounds, true, []byte("null"))
	}
	if !errors.Is(err, limits.ErrFuel) {
		t.Errorf("after %d rounds: %v", rounds, err)
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the test says so")
	for _, body := range []string{`for (;;);`, `/(a+)+$/.test("a".repeat(40) + "b")`} {
		vm, err := engine(t).NewVM(ctx, &recorder{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer vm.Close()
		time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
		if _, err := vm.Run(body); !errors.Is(err, why) {
			t.Errorf("%s: %v", body, err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
	}
	cancel(nil)
}

func TestABridgeThatPanicsEndsOnlyTheCell(t *testing.T) {
	vm := newVM(t, &recorder{panics: true}, Options{})
	if _, err := vm.Run(`try { echo() } catch {}`); err == nil || !strings.Contains(err.Error(), "as the test wants") {
		t.Errorf("got %v", err)
	}
}

func TestManyGoroutines(t *testing.T) {
	e, err := NewEngine(&EngineOptions{Instances: 8})
	if errors.Is(err, ErrNoGuest) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			vm, err := e.NewVM(t.Context(), &recorder{}, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer vm.Close()
			if out, err := vm.Run(fmt.Sprintf("return %d * 2", i)); err != nil || show(out) != fmt.Sprintf("fulfilled %d", i*2) {
				t.Errorf("%d: %s %v", i, show(out), err)
			}
		})
	}
	wait.Wait()
	if s := e.Stats(); s.VMs != 0 || s.Compiled != 1 || s.Idle > 8 {
		t.Errorf("%+v", s)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.NewVM(t.Context(), &recorder{}, Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A word is written with those of its bytes that are not zero, and read again, whichever those are.
func TestWordsOfADelta(t *testing.T) {
	for mask := range 256 {
		var word uint64
		want := []byte{byte(mask)}
		for i := range 8 {
			if mask>>i&1 != 0 {
				word |= uint64(i+0x70) << (8 * i)
				want = append(want, byte(i+0x70))
			}
		}
		var out [9]byte
		n := putWord(&out, word)
		if !bytes.Equal(out[:n], want) {
			t.Errorf("%016x is written as % x, want % x", word, out[:n], want)
		}
		copy(out[n:], "\xff\xff\xff\xff\xff\xff\xff\xff") // what follows in a delta
		if got := openWord(out[0], binary.LittleEndian.Uint64(out[1:])); got != word {
			t.Errorf("%016x is read as %016x", word, got)
		}
	}
}

// A suspended cell's instance is cleaned by what its snapshot says; nothing of the cell may be left in it.
func TestSuspendCleansTheInstance(t *testing.T) {
	engine(t)                // there is a guest
	e, err := NewEngine(nil) // of its own: nobody else takes the instance
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.scanner == nil {
		t.Skip("this kernel does not say which pages were written: instances are not used again")
	}
	for _, body := range []string{
		"await yield_control()",
		"globalThis.left = new Array(500).fill('x'.repeat(50)); const deep = (n) => n && 1 + deep(n - 1); deep(2000); await echo({left})",
	} {
		vm, err := e.NewVM(t.Context(), &recorder{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := vm.Run(body); err != nil {
			t.Fatal(err)
		}
		instance := vm.instance
		if _, err := vm.Suspend(CodecS2); err != nil {
			t.Fatal(err)
		}
		if idle := vm.variant.idle; len(idle) == 0 || idle[len(idle)-1] != instance {
			t.Fatalf("after %q the instance is not used again", body)
		}
		if !bytes.Equal(instance.Memory(), vm.variant.image) {
			t.Errorf("after %q memory is not the image", body)
		}
	}
}
