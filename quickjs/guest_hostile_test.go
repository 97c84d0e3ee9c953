package quickjs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codemode/guestabi"
	"codemode/limits"
)

// walk reaches every object that a cell can: through properties, accessors' functions, prototypes and what a few
// syntaxes make. It captures what it needs first, since what follows destroys it.
const walk = `
	const own = Reflect.ownKeys, describe = Object.getOwnPropertyDescriptor, protoOf = Object.getPrototypeOf;
	const has = Set.prototype.has, add = Set.prototype.add, apply = Reflect.apply;
	const seen = new Set(), all = [];
	let count = 0;
	const visit = (v) => {
		if ((typeof v !== "object" && typeof v !== "function") || v === null || apply(has, seen, [v])) return;
		apply(add, seen, [v]);
		all[count++] = v;
	};
	apply(add, seen, [Promise.prototype]); // its then and constructor are how await itself works
	visit(globalThis);
	visit(protoOf(globalThis));
	for (const v of [async () => {}, function* () {}, async function* () {}, (function* () {})(), (async function* () {})(), [].values(), "".matchAll(/a/g), new Map().entries(),
		new Set().values(), [].values().map((x) => x), Promise.resolve(), new Proxy({}, {}), new AbortController(), AbortSignal.abort(), new URL("http://h/?a=1").searchParams,
		new URLSearchParams().entries(), new TextDecoder(), new TextEncoder(), crypto, performance, new DOMException(), new WeakRef({}), new Uint8Array(4), new DataView(new ArrayBuffer(2)),
		class { static { visit(this) } }, (() => { try { null.x } catch (e) { return e } })(), (function () { return arguments })(1), echo, tools, catalog.all()]) visit(v);
	for (let i = 0; i < count; i++) {
		const object = all[i];
		visit(protoOf(object));
		const keys = own(object);
		for (let k = 0; k < keys.length; k++) {
			const d = describe(object, keys[k]);
			if (!d) continue;
			visit(d.value); visit(d.get); visit(d.set);
		}
	}
`

// What a cell must still be able to do, whatever was done before: a call and a search as specified.
const stillWorks = `
	const answer = await still.echo({n: [1, {deep: "x"}]});
	const hits = await still.search("q", {limit: 2});
	still.json({answer, hits: hits.length, first: hits[0] === still.echo});
	still.text("end");
`

func TestACellThatCallsEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	// Every function that can be reached, with arguments that none expects, as a call, as a constructor, and as a getter
	// on strange objects. What never ends or fills memory by design is bounded by small arguments.
	const calls = walk + `
		const odd = [undefined, null, -1, 3, "x", {}, [], Symbol.iterator, () => 1, 1n, new Proxy({}, {}), echo, tools, globalThis, new Uint8Array(2), Promise.resolve(1)];
		const construct = Reflect.construct, random = (n) => (state = (state * 48271) % 2147483647) % n;
		let state = SEED, done = 0, threw = 0;
		const skip = new Set([visit, setTimeout, setInterval, yield_control, text, json]);
		for (let i = 0; i < count; i++) {
			const f = all[i];
			if (typeof f !== "function" || apply(has, skip, [f])) continue;
			for (let round = 0; round < 6; round++) {
				const args = [];
				for (let n = random(4); n > 0; n--) args[args.length] = odd[random(odd.length)];
				try {
					const r = round === 5 ? construct(f, args) : apply(f, odd[random(odd.length)], args);
					if (r instanceof Promise) r.catch(() => {});
					if (r && typeof r === "object" && typeof r.next === "function") r.next();
					done++;
				} catch { threw++ }
			}
		}
		return [count > 700, done > 1000, threw > 1000]`
	for seed := range 4 {
		r := &recorder{}
		vm := newVM(t, r, Options{Deadline: time.Now().Add(5 * time.Second), Limits: limits.Limits{MemoryLimitBytes: 64 << 20}})
		out, err := vm.Run(strings.Replace(calls, "SEED", fmt.Sprint(seed+1), 1))
		if err != nil {
			// A limit may end it; nothing else may.
			var breach *limits.Error
			if !errors.As(err, &breach) {
				t.Errorf("seed %d: %v", seed, err)
			}
			t.Logf("seed %d: %v at %q", seed, err, vm.Position())
			continue
		}
		if got := show(out); !strings.HasPrefix(got, "fulfilled [true,true,true]") && out.State != guestabi.Rejected {
			t.Errorf("seed %d: %s", seed, got)
		}
		for _, c := range r.calls {
			if !json.Valid(c.Input) {
				t.Errorf("seed %d: input %s", seed, c.Input)
			}
		}
		t.Logf("seed %d: %s, %d calls, %d outputs", seed, show(out), len(r.calls), len(r.output))
	}
}

func TestACellThatDestroysEverything(t *testing.T) {
	for name, destroy := range map[string]string{
		"overwrites": `for (let i = 0; i < count; i++) { const o = all[i], keys = own(o); for (let k = 0; k < keys.length; k++) try { o[keys[k]] = "forged" } catch {} }`,
		"deletes":    `for (let i = 0; i < count; i++) { const o = all[i], keys = own(o); for (let k = 0; k < keys.length; k++) try { delete o[keys[k]] } catch {} }`,
		"getters": `const define = Object.defineProperty; for (let i = 0; i < count; i++) { const o = all[i], keys = own(o); for (let k = 0; k < keys.length; k++)
			try { define(o, keys[k], {__proto__: null, get: () => "forged", set() {}, configurable: true}) } catch {} }`,
		"functions that lie": `const define = Object.defineProperty; for (let i = 0; i < count; i++) { const o = all[i], keys = own(o); for (let k = 0; k < keys.length; k++)
			if (keys[k] !== "then") try { define(o, keys[k], {__proto__: null, value: () => "forged", writable: true, configurable: true}) } catch {} }`,
		"prototypes":  `const set = Object.setPrototypeOf; for (let i = 0; i < count; i++) try { set(all[i], null) } catch {}`,
		"proxied":     `const set = Object.setPrototypeOf, evil = new Proxy({}, {get: (t, k) => k === "toJSON" || k === "then" ? undefined : () => "forged", has: () => true}); for (let i = 0; i < count; i++) try { if (all[i] !== Object.prototype) set(all[i], evil) } catch {}`,
		"freezes":     `const {freeze} = Object; for (let i = 0; i < count; i++) try { freeze(all[i]) } catch {}`,
		"indexes":     `for (let i = 0; i < 40; i++) Object.defineProperty(Object.prototype, i, {__proto__: null, get: () => "forged", set() {}, configurable: true})`,
		"descriptors": `for (const n of ["value", "get", "set", "writable", "enumerable", "configurable", "kind", "binding", "name", "description", "callableName", "limit", "source", "signal", "length", "done"]) Object.defineProperty(Object.prototype, n, {__proto__: null, get: () => "forged", configurable: true})`,
	} {
		r := &recorder{}
		vm := newVM(t, r, Options{Deadline: time.Now().Add(20 * time.Second)})
		// Names are taken before; the objects behind them are what is attacked.
		out, err := vm.Run(`const still = {echo, search: catalog.search, json, text};` + walk + destroy + stillWorks + `return 1`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out.State == guestabi.Rejected {
			t.Errorf("%s: %s", name, show(out))
			continue
		}
		if len(r.calls) != 1 || string(r.calls[0].Input) != `{"n":[1,{"deep":"x"}]}` || r.calls[0].Tool != "echo" {
			t.Errorf("%s: the host saw %+v", name, r.calls)
			continue
		}
		if _, err := vm.Settle(1, true, []byte(`{"real":[1,2]}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.searches) != 1 || r.searches[0] != `2 "q" 2 1` {
			t.Errorf("%s: searches %q", name, r.searches)
			continue
		}
		if _, err := vm.Settle(2, true, []byte(`[{"callableName":"echo","source":"host"}]`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string{`json {"answer":{"real":[1,2]},"hits":1,"first":true}`, "text end"}, r.output); diff != "" {
			t.Errorf("%s: output (-want +got):\n%s", name, diff)
		}
	}
}

func TestForging(t *testing.T) {
	values(t, []valueTest{
		{`Object.setPrototypeOf(globalThis, {echo: () => "forged"}); return [typeof tools.echo, tools.echo !== globalThis.echo]`, `["function",true]`},
		{`try { Object.setPrototypeOf(tools, {x: 1}) } catch (e) { return e.name }`, `"TypeError"`},
		{`try { Object.setPrototypeOf(Object.getPrototypeOf(globalThis), {x: 1}) } catch (e) { return e.name }`, `"TypeError"`},
		{`const p = Object.getPrototypeOf(globalThis); p.mine = 1; return [typeof mine, typeof echo, delete p.echo, typeof echo]`, `["undefined","function",false,"function"]`},
		{`try { Object.defineProperty(tools, "mine", {value: 1}) } catch (e) { return [e.name, typeof tools.mine] }`, `["TypeError","undefined"]`},
		{`Reflect.set(echo, "callableName", "other"); return echo.callableName`, `"echo"`},
		{`const p = new Proxy(echo, {get: () => "other"}); try { return p.callableName } catch (e) { return e.name }`, `"TypeError"`},
		{`const f = echo.bind(null, {bound: 1}); return typeof f`, `"function"`},
		{`[typeof tools.__proto__, typeof tools.constructor, typeof tools.toString, typeof tools.then, "then" in tools]`, `["undefined","undefined","undefined","undefined",false]`},
		{`await tools === tools`, `true`},
		{`try { new echo() } catch (e) { return e.name }`, `"TypeError"`},
		{`try { echo.call } catch (e) { return e.name }; return typeof echo.call`, `"function"`},
		{`clearTimeout(1); clearTimeout(2); const p = echo(); clearTimeout(1); clearInterval(1); return 1`, `1`},
		{`Promise.prototype.constructor = class { static get [Symbol.species]() { throw new Error("species") } }; const p = echo(); return Object.getPrototypeOf(p) === Promise.prototype`, `true`},
	})
	r := &recorder{}
	if _, err := newVM(t, r, Options{}).Run(`clearTimeout(1); const p = echo(); clearTimeout(1); clearInterval(1); return 1`); err != nil || r.canceled != nil {
		t.Errorf("a call was cleared as a timer: %v %v", r.canceled, err)
	}
	// A handle behind a proxy, bound, or passed on is the same request.
	r = &recorder{}
	if _, err := newVM(t, r, Options{}).Run(`new Proxy(echo, {})({a: 1}); echo.bind({}, {a: 2})(); echo.call(null, {a: 3}); Reflect.apply(echo, 5, [{a: 4}]); [{a: 5}].map(echo);
		tools.call(echo, {a: 6}); tools.call({id: "x:y:z"}, {a: 7}); return 1`); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.calls {
		got = append(got, c.Tool+string(c.Input))
	}
	want := []string{`echo{"a":1}`, `echo{"a":2}`, `echo{"a":3}`, `echo{"a":4}`, `echo{"a":5}`, `echo{"a":6}`, `x:y:z{"a":7}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Tools may have any name; a scope must not become a promise, or rewrite itself, by one.
func TestToolNamesThatMeanSomething(t *testing.T) {
	namespace := guestabi.Node{Standing: guestabi.StandingNamespace}
	nodes := map[string]guestabi.Node{"MCP": namespace, "MCP.server": namespace}
	for _, name := range []string{"then", "toJSON", "__proto__", "constructor", "toString", "valueOf", "prototype", "length", "name", "a-b", "日本", "hasOwnProperty"} {
		nodes["tools."+name], nodes["MCP.server."+name] = toolNode(name), toolNode(name)
	}
	for _, test := range []struct{ body, want string }{
		{`return [await tools === tools, await MCP.server === MCP.server]`, `fulfilled [true,true]`},
		{`return (await Promise.all([MCP.server, tools])).length`, `fulfilled 2`},
		{`return typeof JSON.stringify({t: MCP.server})`, `fulfilled "string"`},
		{`return [typeof tools.then, typeof tools.toJSON, typeof tools.__proto__, typeof tools.constructor, typeof tools["a-b"], typeof tools.日本]`, `fulfilled ["undefined","undefined","function","function","function","function"]`},
		{`tools.__proto__({a: 1}); MCP.server.constructor({b: 1}); tools.hasOwnProperty({c: 1}); return 1`, `fulfilled 1`},
		{`return [typeof tools[Symbol.iterator], typeof tools[Symbol.toPrimitive], typeof tools[0]]`, `fulfilled ["undefined","undefined","undefined"]`},
		{"return typeof tools['x\\u0000y'] + typeof tools['\\ud800'] + typeof tools['' ]", `fulfilled "undefinedundefinedundefined"`},
		{`return typeof tools["n".repeat(1e6)]`, `fulfilled "undefined"`},
		{`try { String(tools) } catch (e) { return e.name }`, `fulfilled "TypeError"`},
	} {
		r := &recorder{nodes: nodes}
		out, err := newVM(t, r, Options{}).Run(test.body)
		if err != nil || show(out) != test.want {
			t.Errorf("%s: %s %v, want %s", test.body, show(out), err, test.want)
		}
	}
}

// Code of the cell that runs while a value is written does its worst to that value.
func TestReentrancyWhileWriting(t *testing.T) {
	for name, body := range map[string]string{
		"array shortened":     `const a = [{get x() { a.length = 0; return 1 }}, 2, 3]; V(a)`,
		"array lengthened":    `const a = [{get x() { for (let i = 0; i < 1e4; i++) a.push(i); return 1 }}, 2]; V(a)`,
		"array becomes typed": `const a = [1, {get x() { Object.defineProperty(a, 2, {get() { a.length = 0; return 5 }}); return 1 }}, 3, 4]; V(a)`,
		"object emptied":      `const o = {get a() { delete o.b; delete o.c; o.d = 1; return 1 }, b: {x: 1}, c: [1]}; V(o)`,
		"object replaced":     `const o = {get a() { for (const k of Object.keys(o)) delete o[k]; for (let i = 0; i < 1e4; i++) o["n" + i] = i; return 1 }, b: 1}; V(o)`,
		"buffer detached":     `const b = new ArrayBuffer(64), u = new Uint8Array(b); V([{get x() { b.transfer(); return 1 }}, u, b, new Uint8Array(2)])`,
		"detached in between": `const b = new ArrayBuffer(64), u = new Uint8Array(b); Object.defineProperty(Uint8Array.prototype, "toJSON", {configurable: true, get() { b.detached || b.transfer() }}); V([u, b])`,
		"buffer resized":      `const b = new ArrayBuffer(64, {maxByteLength: 1e6}), u = new Uint8Array(b); V([{get x() { b.resize(0); return 1 }}, u, {get x() { b.resize(1e6); return 1 }}, [...u].length])`,
		"view detached":       `const b = new ArrayBuffer(64), d = new DataView(b, 8); V([{get x() { structuredClone(b, {transfer: [b]}); return 1 }}, d])`,
		"typed length lies":   `const u = new Uint8Array(4); Object.defineProperty(u, "length", {get() { return 1e9 }}); V(u)`,
		"map changed":         `const m = new Map([["a", {get x() { m.clear(); for (let i = 0; i < 1e4; i++) m.set("k" + i, i); return 1 }}], ["b", 2]]); V(m)`,
		"set changed":         `const s = new Set([{get x() { s.clear(); return 1 }}, 2, 3]); V(s)`,
		"keys of a proxy":     `let n = 0; const p = new Proxy({a: 1, b: 2}, {ownKeys() { n++; return ["a", "b", "c" + n] }, getOwnPropertyDescriptor: () => ({enumerable: true, configurable: true, value: 1}), get(t, k) { gc(); return k }}); V(p)`,
		"proxy array":         `const p = new Proxy([1, 2], {get(t, k, r) { if (k === "length") return 5; t.length = 0; return Reflect.get(t, k, r) }}); V(p)`,
		"itself written":      `let depth = 0; const o = {get a() { if (depth++ < 5) { json(o); text(o); echo(o) } return 1 }, b: 2}; V(o)`,
		"toJSON of another":   `const o = {a: {toJSON() { o.a = null; o.b = null; gc(); return [o] }}, b: {c: 1}}; V(o)`,
		"released while seen": `let o = {a: {b: {get c() { o.a = null; o = null; gc(); return {d: 1} }}}}; V(o)`,
		"getter of an error":  `const e = new Error("m"); Object.defineProperty(e, "message", {get() { e.cause = null; gc(); return "x".repeat(1e4) }}); e.cause = {get z() { delete e.cause; return 1 }}; V(e)`,
		"regexp's flags":      `const r = /a/; Object.defineProperty(r, "flags", {get() { gc(); return "x" }}); V([r])`,
		"timers in a getter":  `const id = setInterval(() => {}, 5); V({get a() { clearInterval(id); setTimeout(() => {}, 1); return 1 }})`,
		"abort in a getter":   `const c = new AbortController(); echo({}, {signal: c.signal}).catch(() => {}); V({get a() { c.abort(); return 1 }})`,
		"abort in the input":  `const c = new AbortController(); const p = echo({get a() { c.abort(); return 1 }}, {signal: c.signal}); p.catch(() => {}); V(1)`,
		"many requests":       `V({get a() { for (let i = 0; i < 500; i++) echo({i}); return 1 }})`,
		"signal in a getter":  `const c = new AbortController(); echo({}, {get signal() { for (let i = 0; i < 200; i++) echo({i}); return c.signal }}).catch(() => {}); c.abort(); V(1)`,
		"thenable":            `V({a: {then(r) { r("x") }, toJSON() { return Promise.resolve(1) }}})`,
	} {
		for _, use := range []string{"return v", "json(v); return 1", "text(v); return 1", "echo(v).catch(() => {}); return 1", "results.save(v).catch(() => {}); return 1", "throw v", "console.log(v); return 1", "structuredClone(v); return 1"} {
			source := `const gc = () => { for (let i = 0; i < 2000; i++) new Array(20).fill({i}) };` + strings.Replace(body, "V(", "const v = (", 1) + "; " + use
			r := &recorder{}
			vm := newVM(t, r, Options{Deadline: time.Now().Add(2 * time.Second)})
			out, err := vm.Run(source)
			for id := uint32(1); err == nil && id < 20; id++ { // whatever there is to settle
				_, err = vm.Settle(id, id%3 > 0, []byte(`{"message":"m"}`))
			}
			vm.Close()
			if err != nil {
				t.Errorf("%s, %s: %v", name, use, err)
				continue
			}
			for _, line := range r.output {
				if value, ok := strings.CutPrefix(line, "json "); ok && !json.Valid([]byte(value)) {
					t.Errorf("%s, %s: %s", name, use, value)
				}
			}
			if out.State == guestabi.Pending {
				t.Errorf("%s, %s: %s", name, use, show(out))
			}
		}
	}
	for _, test := range []valueTest{
		{`const b = new ArrayBuffer(4), u = new Uint8Array(b); return [{get x() { b.transfer(); return 1 }}, u, b]`, `[{"x":1},[],[]]`},
		{`const a = [{get x() { a.length = 1; return 1 }}, 2, 3]; return a`, `[{"x":1},null,null]`},
		{`const o = {get a() { delete o.b; return 1 }, b: 2, c: 3}; return o`, `{"a":1,"c":3}`},
		{`const m = new Map([["a", {get x() { m.clear(); return 1 }}], ["b", 2]]); return m`, `{"a":{"x":1},"b":2}`},
		{`const u = new Uint8Array(2); Object.defineProperty(u, "length", {value: 1e9}); return u`, `[0,0]`},
	} {
		if got := value(t, test.body, Options{}); got != test.want {
			t.Errorf("%s: %s, want %s", test.body, got, test.want)
		}
	}
}

// Promise hooks, finalizers and stack traces are where an engine runs code at odd moments.
func TestCodeAtOddMoments(t *testing.T) {
	for name, body := range map[string]string{
		"prepareStackTrace":    `Error.prepareStackTrace = () => { for (let i = 0; i < 100; i++) echo({i}); return "x" }; await Promise.all([echo(), echo()])`,
		"stackTraceLimit":      `Error.stackTraceLimit = {valueOf() { for (let i = 0; i < 100; i++) echo({i}); return 5 }}; await Promise.all([echo(), echo()])`,
		"captureStackTrace":    `const o = {}; Error.captureStackTrace(o, echo); await Promise.all([echo(), echo()]); `,
		"finalizers":           `const f = new FinalizationRegistry(() => echo()); for (let i = 0; i < 1e4; i++) f.register({}, i); await Promise.all([echo(), echo()])`,
		"then of all objects":  `Object.defineProperty(Object.prototype, "then", {get() { echo({}) ; return undefined }, configurable: true}); await Promise.all([echo(), echo()])`,
		"then that settles":    `Object.prototype.then = function (r) { delete Object.prototype.then; r("forged") }; await Promise.all([echo(), echo()])`,
		"settle during toJSON": `let done; const p = new Promise((r) => done = r); echo({toJSON() { done(1); queueMicrotask(() => echo({n: 2})); return {} }}); await p; await Promise.all([echo(), echo()])`,
		"timers clear others":  `const ids = Array.from({length: 50}, (_, i) => setTimeout(() => ids.forEach(clearTimeout), i)); await Promise.all([echo(), echo()])`,
		"interval clears":      `const id = setInterval(() => { clearInterval(id); clearInterval(id); clearTimeout(id) }, 1); await Promise.all([echo(), echo()])`,
		"abort everything":     `const c = new AbortController(); for (let i = 0; i < 100; i++) echo({}, {signal: c.signal}).catch(() => c.abort(i)); c.signal.onabort = () => echo({}, {signal: c.signal}).catch(() => {}); c.abort(); await Promise.all([echo(), echo()])`,
	} {
		r := &recorder{}
		vm := newVM(t, r, Options{Deadline: time.Now().Add(10 * time.Second)})
		out, err := vm.Run(body + "; return 1")
		for id := uint32(1); err == nil && id < 2500; id++ {
			if id == 7 { // and across a suspension
				s, e := vm.Suspend(CodecS2)
				if e != nil {
					t.Fatal(e)
				}
				if vm, err = engine(t).Restore(t.Context(), s, r, Options{}); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { vm.Close() })
			}
			if next, e := vm.Settle(id, true, []byte(`{"n":1}`)); e != nil {
				err = e
			} else if len(next.Payload) > 0 {
				out = next
			}
		}
		if err != nil || out.State != guestabi.Fulfilled {
			t.Errorf("%s: %s %v", name, show(out), err)
		}
	}
}
