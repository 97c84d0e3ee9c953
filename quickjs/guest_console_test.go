package quickjs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// logged runs a body and gives what console wrote, one entry a line.
func logged(t *testing.T, body string) []string {
	t.Helper()
	got, r := run(t, body, Options{})
	if got != "fulfilled null" {
		t.Fatalf("%.100s: %s", body, got)
	}
	var entries []string
	for _, entry := range r.output {
		entries = append(entries, strings.TrimPrefix(entry, "text "))
	}
	return entries
}

func TestConsoleShows(t *testing.T) {
	const boom = `throw new Error("ran")` // code of the cell, which must not run
	for _, test := range []struct{ args, want string }{
		{``, ``},
		{`"a", "b"`, `a b`},
		{`"%s", 1`, `%s 1`},
		{`1, -0, NaN, 1e21, true, null, undefined, 10n`, `1 -0 NaN 1e+21 true null undefined 10n`},
		{`Symbol("s"), Symbol()`, `Symbol(s) Symbol()`},
		{`["a", {b: "c"}]`, `["a",{"b":"c"}]`},
		{`{}, []`, `{} []`},
		{`[1, , 3]`, `[1,3]`},
		{`{a: undefined, f() {}, g: class X {}, h: () => 1}`, `{"a":undefined,"f":[Function f],"g":[Function X],"h":[Function h]}`},
		{`(() => () => 1)()`, `[Function]`},
		{`new Date(0), new Date(NaN)`, `1970-01-01T00:00:00.000Z [Invalid Date]`},
		{`new Map([["a", 1], [{}, [2]]])`, `Map {"a" => 1, {} => [2]}`},
		{`new Set([1, "b"])`, `Set {1, "b"}`},
		{`/a+/`, `/a+/`},
		{`new Error("m")`, `Error: m`},
		{`new TypeError`, `TypeError`},
		{`Object.assign(new Error("m"), {code: 5})`, `Error: m {"code":5}`},
		{`new (class HttpError extends Error { get name() { ` + boom + ` } })("m")`, `Error: m`},
		{`new DOMException("m", "DataError")`, `DataError: m`},
		{`new Uint8Array([1, 2]), new BigInt64Array(1), new ArrayBuffer(3)`, `Uint8Array [1,2] BigInt64Array [0n] ArrayBuffer(3)`},
		{`Object(1), Object("s"), Object(Symbol("x"))`, `1 "s" Symbol(x)`},
		{`Promise.resolve(1), [Promise.resolve(1)]`, `[promise that was not awaited] [[promise that was not awaited]]`},
		{`new Proxy({}, {get() { ` + boom + ` }, ownKeys() { ` + boom + ` }, getPrototypeOf() { ` + boom + ` }}), new Proxy(() => 1, {})`, `[Proxy] [Proxy]`},
		{`{get a() { ` + boom + ` }, set b(v) {}, toJSON() { ` + boom + ` }}`, `{"a":[Accessor],"b":[Accessor],"toJSON":[Function toJSON]}`},
		{`{toString() { ` + boom + ` }, [Symbol.toPrimitive]() { ` + boom + ` }}`, `{"toString":[Function toString]}`},
		{`(() => { const o = {}; o.self = o; o.list = [o]; return o })()`, `{"self":[Circular],"list":[[Circular]]}`},
		{`(() => { const o = {}; return [o, o] })()`, `[{},{}]`},
		{`{a: {b: {c: {d: {}, e: [], f: 1}}}}`, `{"a":{"b":{"c":{"d":[Object],"e":[Array],"f":1}}}}`},
		{`Object.create({inherited: 1})`, `{}`},
		{`Object.create(null, {x: {value: 1, enumerable: true}, hidden: {value: 2}})`, `{"x":1}`},
		{`new (class P { constructor() { this.x = 1 } #secret = 2 })`, `{"x":1}`},
		{`JSON.parse('{"__proto__": 1}')`, `{"__proto__":1}`},
		{`new URL("http://h/a"), new URLSearchParams("a=1"), new AbortController().signal`, `http://h/a a=1 [AbortSignal]`},
		{`echo`, `{"callableName":"echo","source":"host","describe":[Function]}`},
		{`new WeakMap(), [1].values()`, `{} {}`},
		{`"\ud800"`, "\ufffd"},
	} {
		got := logged(t, `console.log(`+test.args+`)`)
		if diff := cmp.Diff([]string{test.want}, got); diff != "" {
			t.Errorf("console.log(%s) (-want +got):\n%s", test.args, diff)
		}
	}
}

func TestConsoleRunsNoCode(t *testing.T) {
	got := logged(t, `
		const ran = (what) => text("ran " + what);
		const map = new Map([["k", 1]]), set = new Set([1]);
		Object.defineProperty(Promise, Symbol.hasInstance, {__proto__: null, value() { ran("hasInstance") }});
		for (const name of ["value", "get", "set", "enumerable", "writable"])
			Object.defineProperty(Object.prototype, name, {__proto__: null, get() { ran(name) }, set() { ran("set " + name) }, configurable: true});
		Object.defineProperty(Array.prototype, "0", {__proto__: null, get() { ran("0") }, set() { ran("set 0") }, configurable: true});
		Map.prototype.entries = Map.prototype.forEach = Set.prototype.values = RegExp.prototype.exec = () => ran("method");
		Date.prototype.toISOString = Date.prototype.toJSON = Error.prototype.toString = () => ran("method");
		Object.defineProperty(RegExp.prototype, "source", {__proto__: null, get() { ran("source") }});
		Array.prototype[Symbol.iterator] = String.prototype[Symbol.iterator] = () => ran("iterator");
		console.log([1, {a: 2}], map, set, /x/, new Date(0), new Error("m"), {get a() { ran("a") }});
		console.table([{a: 1, get b() { ran("b") }}]);
		console.count({toString() { ran("label") }}); console.assert(false, {toString() { ran("assert") }});`)
	want := []string{
		`[1,{"a":2}] Map {"k" => 1} Set {1} /x/ 1970-01-01T00:00:00.000Z Error: m {"a":[Accessor]}`,
		"(index)\ta\tb\n0\t1\t[Accessor]",
		`{"toString":[Function toString]}: 1`,
		`[assert] {"toString":[Function toString]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConsoleMethods(t *testing.T) {
	for _, test := range []struct {
		body string
		want []string
	}{
		{`console.log(1); console.info(1); console.warn(1); console.error(1); console.debug(1); console.trace(1)`,
			[]string{"1", "[info] 1", "[warn] 1", "[error] 1", "[debug] 1", "[trace] 1"}},
		{`if (console.log(1) !== undefined || console.table([]) !== undefined) throw 1`, []string{"1", "(index)"}},
		{`console.dir({a: 1}, {depth: 0})`, []string{`{"a":1}`}},
		{`console.assert(true, "no"); console.assert(false); console.assert(0, "why", {a: 1}); console.assert()`,
			[]string{"[assert] assertion failed", `[assert] why {"a":1}`, "[assert] assertion failed"}},
		{`console.count(); console.count("x"); console.count(); console.countReset(); console.count(); console.count("__proto__"); console.count("constructor")`,
			[]string{"default: 1", "x: 1", "default: 2", "default: 1", "__proto__: 1", "constructor: 1"}},
		{`console.group("G"); console.log("in"); console.groupCollapsed(); console.log("deeper"); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log("out")`,
			[]string{"G", "  in", "    deeper", "out"}},
		{`console.timeEnd("none"); console.timeLog("none")`, []string{`[warn] no timer "none"`, `[warn] no timer "none"`}},
		{`console.table([{a: 1, b: "x"}, {a: 2, c: [3]}])`, []string{"(index)\ta\tb\tc\n0\t1\t\"x\"\t\n1\t2\t\t[3]"}},
		{`console.table({row: [1, 2], other: 5})`, []string{"(index)\t0\t1\nrow\t1\t2\nother\t5"}},
		{`console.table("text"); console.table(null); console.table(new Map([[1, 2]])); console.table(new Proxy([], {ownKeys() { throw 1 }}))`,
			[]string{"text", "null", "Map {1 => 2}", "[Proxy]"}},
		{`const {log} = console; log("free"); console.log.call(null, "called")`, []string{"free", "called"}},
		{`"use strict"; try { console.log = 1 } catch (e) { console.log(e.name, Object.isFrozen(console)) }`, []string{"TypeError true"}},
	} {
		if diff := cmp.Diff(test.want, logged(t, test.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.body, diff)
		}
	}
	if got := logged(t, `console.time("t"); console.timeLog("t", 5); console.timeEnd("t"); console.timeEnd("t")`); len(got) != 3 ||
		!strings.HasPrefix(got[0], "t: ") || !strings.HasSuffix(got[0], " ms 5") || !strings.HasSuffix(got[1], " ms") || got[2] != `[warn] no timer "t"` {
		t.Errorf("timers: %q", got)
	}
}

func TestConsoleLimits(t *testing.T) {
	const cut = "…[truncated]"
	for _, test := range []struct{ name, body, want string }{
		{"a string of an object", `console.log(["x".repeat(600)])`, `["` + strings.Repeat("x", 512) + cut + `"]`},
		{"a string of the limit", `console.log(["x".repeat(512)])`, `["` + strings.Repeat("x", 512) + `"]`},
		{"a key", `console.log({["k".repeat(600)]: 1})`, `{"` + strings.Repeat("k", 512) + cut + `":1}`},
		{"a message", `console.log("x".repeat(5000))`, strings.Repeat("x", 4096) + cut},
		{"a message of the limit", `console.log("x".repeat(4096))`, strings.Repeat("x", 4096)},
		{"a message of many", `console.log(...Array(90).fill("x".repeat(100)))`, (strings.Repeat(strings.Repeat("x", 100)+" ", 41))[:4096] + cut},
		{"elements", `console.log(Array.from({length: 60}, (_, i) => i))`, "[" + numbers(50) + ",…]"},
		{"fields", `console.log(Object.fromEntries(Array.from({length: 51}, (_, i) => ["f" + i, 1])))`, "{" + fields(50) + ",…}"},
		{"values", `console.log(Array.from({length: 20}, () => Array.from({length: 10}, () => 1)))`,
			// The list is one value, each list in it one and ten: nine whole ones make 100.
			"[" + strings.Repeat("[1,1,1,1,1,1,1,1,1,1],", 9) + strings.Repeat("[truncated],", 10) + "[truncated]]"},
		{"map", `console.log(new Map(Array.from({length: 60}, (_, i) => [i, 0])))`, ""},
		{"typed array", `console.log(new Uint8Array(1e6))`, "Uint8Array [" + strings.Repeat("0,", 50) + "…]"},
		{"a big integer", `console.log(10n ** 1000n)`, "1" + strings.Repeat("0", 511) + cut},
		{"a function's name", `console.log(Object.defineProperty(() => 1, "name", {value: "f".repeat(600)}))`, "[Function " + strings.Repeat("f", 512) + cut + "]"},
		{"an error's message", `console.log(new Error("m".repeat(600)))`, "Error: " + strings.Repeat("m", 505) + cut},
		{"a deep object", `let o = {}; for (let i = 0; i < 1e4; i++) o = {o}; console.log(o)`, `{"o":{"o":{"o":{"o":[Object]}}}}`},
		{"a graph", `let o = [1]; for (let i = 0; i < 60; i++) o = [o, o]; console.log(o)`, "[[[[[Array],[Array]],[[Array],[Array]]],[[[Array],[Array]],[[Array],[Array]]]],[[[[Array],[Array]],[[Array],[Array]]],[[[Array],[Array]],[[Array],[Array]]]]]"},
	} {
		got := logged(t, test.body)
		if len(got) != 1 || test.want != "" && got[0] != test.want {
			t.Errorf("%s\n got %.300q\nwant %.300q", test.name, got, test.want)
		}
	}
}

func numbers(n int) string {
	var list []string
	for i := range n {
		list = append(list, itoa(i))
	}
	return strings.Join(list, ",")
}

func fields(n int) string {
	var list []string
	for i := range n {
		list = append(list, `"f`+itoa(i)+`":1`)
	}
	return strings.Join(list, ",")
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}

// All of a cell's entries share one budget, across waits; text() has none of it.
func TestConsoleBudgetIsForTheCellsLife(t *testing.T) {
	r := &recorder{}
	vm := newVM(t, r, Options{})
	if _, err := vm.Run(`const line = "x".repeat(4000); console.log(line); console.log(line); await echo(); for (let i = 0; i < 10; i++) console.log(line); console.log("late"); text("emitted")`); err != nil {
		t.Fatal(err)
	}
	s, err := vm.Suspend(CodecS2)
	if err != nil {
		t.Fatal(err)
	}
	if vm, err = engine(t).Restore(t.Context(), s, r, Options{}); err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	if _, err := vm.Settle(1, true, []byte("1")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range r.output {
		got = append(got, strings.ReplaceAll(entry, strings.Repeat("x", 4000), "<line>"))
	}
	if diff := cmp.Diff([]string{"text <line>", "text <line>", "text <line>", "text <line>", "text [console output truncated]", "text emitted"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
