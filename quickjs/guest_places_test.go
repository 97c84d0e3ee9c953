package quickjs

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"codemode/guestabi"
	"codemode/limits"
)

// What throws has its own line and column, and so has every call around it: those of what it is called by, of the
// operator, of the name of the property, or of the expression that is not what it has to be.
func TestWhereErrorsAreThrown(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		// Assignments to constants, and what is not initialized.
		{"const a = 1;\n\na = 2", "3:3"},
		{"const a = 1;\n\na += 2", "3:3"},
		{"const a = 1;\n\na++", "3:2"},
		{"const a = 1;\n\n--a", "3:1"},
		{"const a = 1;\n\n[a] = [2]", "3:2"},
		{"const a = 1;\n\n({a} = {})", "3:3"},
		{"const a = 1;\n\n({x: a} = {})", "3:6"},
		{"const a = 1;\n\nfor (a of [1]);", "3:6"},
		{"const a = 1;\n\nfor (a in {x: 1});", "3:6"},
		{"const a = 1;\nfunction f() {\n  a = 2\n}\nf()", "f 3:5 | 5:1"},
		{"const a = 1;\n\na ??= 2; a ||= 3; a &&= 4", "3:21"},
		{"const a = 1\na = 2\nconst b = 3\nreturn a + b", "2:3"},
		{"for (const i = 0; i < 2;\n i++) ;", "2:3"},
		{"class A {}\n{ class B { static m() {\n B = 1 } }\nB.m() }", "m 3:4 | 4:3"},
		{"const f = function g() {\n 'use strict';\n g = 1 };\nf()", "g 3:4 | 4:1"},
		{"\nx;\nlet x", "2:1"},
		{"\nx = 1;\nlet x", "2:3"},
		{"\ntypeof x;\nlet x", "2:8"},
		{"\n() => x;\n(() =>\n x)();\nlet x", "4:2 | 4:4"},
		{"\nconst y = x;\nlet x", "2:11"},
		{"\nnew X;\nclass X {}", "2:5"},
		{"\n`${x}`;\nlet x", "2:4"},

		// Calls, and properties of nothing.
		{"\nlet u;\nu()", "3:1"},
		{"\nconst o = {};\no.a()", "3:3"},
		{"\nconst o = {};\no.a\n .b\n .c", "4:3"},
		{"\nconst o = {};\no\n .a()", "4:3"},
		{"\nnull.x", "2:6"},
		{"\nnull[0]", "2:5"},
		{"\nlet n = null;\n\nn.x = 1", "4:5"},
		{"\nlet n = null;\n\nn[0] = 1", "4:6"},
		{"\nlet n;\n\ndelete n.x", "4:10"},

		// Destructuring.
		{"\nconst {a} = null", "2:8"},
		{"\nconst {\na\n} = null", "3:1"},
		{"\nconst {a: {b}} = {}", "2:12"},
		{"\nconst [a] = null", "2:7"},
		{"\nconst [\n a] = {}", "2:7"},
		{"function f({a}) {}\n\nf(null)", "f 1:13 | 3:1"},
		{"function f([a]) {}\n\nf(null)", "f 1:12 | 3:1"},
		{"\n(({a}) => 1)()", "2:4 | 2:13"},

		// new, in, instanceof, spread.
		{"\nnew 5", "2:1"},
		{"\nnew (() => 1)", "2:1"},
		{"\nconst o = {};\nnew o.x", "3:1"},
		{"\nconst o = {};\nnew o.x()", "3:1"},
		{"\n\nnew Math.max(1,\n2)", "3:1"},
		{"\n'a' in 'b'", "2:5"},
		{"\n({}) instanceof 5", "2:6"},
		{"\n({}) instanceof\n (() => 1)", "[Symbol.hasInstance] native | 2:6"},
		{"\n[...5]", "2:5"},
		{"\nMath.max(...5)", "2:13"},
		{"\nMath.max(1,\n...5)", "3:4"},
		{"\n[1,\n...null]", "3:4"},
		{"\nnew Map(5)", "Map native | 2:1"},
		{"\nnew Array(-1)", "Array native | 2:1"},
		{"\n({...{get a() { throw new Error }}})", "get a 2:23 | 2:6"},

		// Private fields, classes.
		{"class A { #p = 1; static g(o) {\n return o.#p } }\n\nA.g({})", "g 2:11 | 4:3"},
		{"class A { #p = 1; static g(o) {\n o.#p = 1 } }\n\nA.g({})", "g 2:7 | 4:3"},
		{"class A { #p() {}; static g(o) {\n o.#p() } }\n\nA.g({})", "g 2:4 | 4:3"},
		{"class A { #p; static g(o) {\n return #p in o } }\n\nA.g(5)", "g 2:15 | 4:3"},
		{"class A { get #p() { return 1 } m() {\n this.#p = 2 } }\n\nnew A().m()", "m 2:10 | 4:9"},
		{"\nclass A extends null {}\nnew A", "A 2:1 | 3:1"},
		{"\nclass A extends 5 {}", "2:17"},
		{"\nclass A extends (() => 1) {}", "2:17"},
		{"\nclass A extends undefined {\n m() {}\n}", "2:17"},
		{"class A extends Object { constructor() {\n } }\n\nnew A", "A 1:1 | 4:1"},
		{"class A extends Object { constructor() {\n this.x = 1; super() } }\n\nnew A", "A 2:2 | 4:1"},
		{"class A extends Object { constructor() {\n super(); super() } }\n\nnew A", "A 2:11 | 4:1"},
		{"\nclass A {}\n\nA()", "4:1"},
		{"\nclass A { static x =\n null.x }", "3:7 | 2:1"},
		{"\nclass A { x =\n null.x }\nnew A", "3:7 | A 2:1 | 4:1"},
		{"\nclass A { static {\n null.x } }", "3:7 | 2:18 | 2:1"},
		{"\nclass A { [null.x]() {} }", "2:17"},
		{"\nclass A { static ['proto' + 'type']() {} }", "2:27"},
		{"class A { constructor() { return 5 } }\nclass B extends A { constructor() { return 5 } }\n\nnew B", "B 2:37 | 4:1"},

		// What strict mode refuses.
		{"'use strict';\nconst o = Object.freeze({a: 1});\ndelete o.a", "3:10"},
		{"'use strict';\nconst o = Object.freeze({a: 1});\no.a = 2", "3:5"},
		{"'use strict';\nconst o = Object.freeze([1]);\no[0] = 2", "3:6"},
		{"'use strict';\nconst o = Object.freeze([1]);\no.push(2)", "push native | 3:3"},
		{"'use strict';\nconst o = {get a() { return 1 }};\n\no.a = 1", "4:5"},
		{"'use strict';\n\nundeclared = 1", "3:12"},
		{"'use strict';\n\n'text'.x = 1", "3:10"},
		{"'use strict';\n\nObject.freeze({}).x = 1", "3:21"},
		{"'use strict';\n\nObject.freeze({a:1}).a++", "3:23"},
		{"'use strict';\n\nObject.freeze({a:1}).a += 1", "3:24"},
		{"'use strict';\n\n[Object.freeze({a:1}).a] = [1]", "3:23"},
		{"'use strict';\n\n({x: Object.freeze({a:1}).a} = {x: 1})", "3:27"},
		{"'use strict';\nfor (\n Object.freeze({a:1}).a of [1]);", "3:23"},
		{"'use strict';\n\nNaN = 1", "3:5"},

		// Getters and setters, throw.
		{"const o = {get a() {\n throw new Error('x') }};\n\no.a", "get a 2:8 | 4:3"},
		{"const o = {get a() {\n null.x }};\n\no\n.a", "get a 2:7 | 5:2"},
		{"const o = {set a(v) {\n null.x }};\n\no.a =\n 1", "set a 2:7 | 4:5"},
		{"\nthrow new Error", "2:7"},
		{"function E() { return new Error }\n\nthrow E()", "E 1:23 | 3:7"},
		{"\nthrow Object.assign(\n new Error, {a: 1})", "3:2"},

		// Operators and conversions.
		{"\n1n + 1", "2:4"},
		{"\nlet a = 1n;\n\na += 1", "4:3"},
		{"\nlet a = 1n;\n+a", "3:1"},
		{"\nlet a = 1n;\na *\n 2", "3:3"},
		{"\n1n / 0n", "2:4"},
		{"\n2n ** -1n", "2:4"},
		{"\n1n >>> 0n", "2:4"},
		{"\nMath.max(1n)", "max native | 2:6"},
		{"\nBigInt(1.5)", "BigInt native | 2:1"},
		{"\n1n <\n Symbol()", "2:4"},

		// Promises, templates, generators, iteration.
		{"\nawait Promise.reject(new Error('x'))", "2:22"},
		{"async function f() {\n await 1; null.x }\n\nawait f()", "f 2:16"},
		{"\nawait {get then() { throw new Error }}", "get then 2:27"},
		{"\nawait {then() {\n throw new Error }}", "then 3:8"},
		{"\nawait (async () => {\n throw new Error })()", "3:8 | 3:20"},
		{"\n`${Symbol()}`", "concat native | 2:4"},
		{"\nlet s = Symbol();\n`a\n${1}\n${s}`", "concat native | 5:3"},
		{"\n'' + Symbol()", "2:4"},
		{"\n+Symbol()", "2:1"},
		{"\n-{valueOf() { null.x }}", "valueOf 2:20 | 2:1"},
		{"\n`${{toString() {\n null.x }}}`", "toString 3:7 | concat native | 2:4"},
		{"Math.abs(1);\n`${{toString() {\n null.x }}}`", "toString 3:7 | concat native | 2:4"},
		{"Math.abs(1);\n`${1}\n${{__proto__: null}}`", "concat native | 3:3"},
		{"\nString.raw(null)", "raw native | 2:8"},
		{"\nlet u;\nu`a`", "3:1"},
		{"\nlet o = {};\no.u`a\n${1}`", "3:3"},
		{"function* g() {\n yield* 5 }\n\n[...g()]", "g 2:9 | 4:5"},
		{"function* g() {\n yield* (function*() {\n throw new Error })() }\n\ng().next()", "3:8 | next native | g 2:9 | next native | 5:5"},
		{"function* g() {\n yield 1 }\nconst i = g();\ni.next()\ni.throw(new Error)", "5:9"},
		{"function* g() {\n yield* {[Symbol.iterator]() { return 5 }} }\n\ng().next()", "g 2:9 | next native | 4:5"},
		{"function* g() {\n yield* {[Symbol.iterator]() { return {next() { return 5 }} }} }\n\ng().next()", "g 2:9 | next native | 4:5"},
		{"\nfor (const x of 5) ;", "2:17"},
		{"\nfor (const x\n of null) ;", "3:5"},
		{"\nfor (const x of {[Symbol.iterator]() { return 5 }}) ;", "2:17"},
		{"\nfor (const {a} of [null]) ;", "2:13"},
		{"\nfor (const [a] of [null]) ;", "2:12"},
		{"\nfor await (const x of 5) ;", "2:23"},
		{"\nfor (const k in new Proxy({}, {ownKeys() {\n null.x }})) ;", "ownKeys 3:7 | 2:17"},
		{"\nfor (const x of {[Symbol.iterator]() { return {next() { return 5 }} }})\n ;", "2:17"},

		// Chains, and built-in functions.
		{"\n({}).x.y", "2:8"},
		{"\nlet o;\no?.a.b.c; o.b", "3:13"},
		{"\nlet o = {};\no.a?.(); o.a.b()", "3:14"},
		{"\nlet f = 5;\nf?.()", "3:1"},
		{"\n(void 0)()", "2:9"},
		{"\n(1, null)\n()", "3:1"},
		{"\nnew RegExp('(')", "RegExp native | 2:1"},
		{"\n[].reduce(() => 1)", "reduce native | 2:4"},
		{"\ndecodeURI('%')", "decodeURI native | 2:1"},
		{"\n'x'.repeat(-1)", "repeat native | 2:5"},
		{"\nnew Proxy({}, null)", "Proxy native | 2:1"},
		{"\nObject.defineProperty(1)", "defineProperty native | 2:8"},

		// Objects without a primitive.
		{"\nlet o = {[Symbol.toPrimitive]() { return {} }};\n\no + 1", "4:3"},
		{"\nlet o = Object.create(null);\n\n`${o}`", "concat native | 4:4"},
		{"\nlet o = Object.create(null);\n\no == 1", "4:3"},
		{"\nlet o = Object.create(null);\n\no < 1", "4:3"},
		{"\nlet o = Object.create(null);\n\n({[o]: 1})", "4:4"},
		{"\nlet o = Object.create(null);\n\n[][o]", "4:3"},
		{"\nlet o = Object.create(null);\n\no++", "4:2"},
		{"\nlet o = {a: Object.create(null)};\n\no.a++", "4:4"},
		{"\nlet o = Object.create(null);\n\no in {}", "4:3"},
		{"\nlet o = Object.create(null);\n\n~o", "4:1"},

		// Statements and defaults.
		{"\nusing x = 5", "2:11"},
		{"function f(a =\n null.x) {}\n\nf()", "f 2:7 | 4:1"},
		{"const {a =\n null.x} = {}", "2:7"},
		{"const [a =\n null.x] = []", "2:7"},
		{"\nundefinedName", "2:1"},
		{"\nif (\n undefinedName) ;", "3:2"},
		{"\nwhile (\n undefinedName) ;", "3:2"},
		{"\nreturn undefinedName", "2:8"},
		{"\nundefinedName.x = 1", "2:1"},
		{"\nlet a =\n undefinedName", "3:2"},
		{"\nf(1,\n undefinedName); function f() {}", "3:2"},
		{"\n[1,\n undefinedName]", "3:2"},
		{"\n({a: 1,\n b: undefinedName})", "3:5"},
		{"\nwith (null) x", "2:6"},
		{"\nswitch (undefinedName) {}", "2:9"},
		{"\nswitch (1) { case\n undefinedName: }", "3:2"},

		// Assignments to properties of nothing.
		{"\nlet a = {};\na.b.c = 1", "3:7"},
		{"\nlet a = {};\na.b[0] += 1", "3:4"},
		{"\nlet a = {};\na\n .b\n .c = 1", "5:5"},
		{"\nlet a = {};\na.b.c++", "3:5"},
		{"\nlet a = {};\n++a.b.c", "3:7"},
		{"\nlet a = null;\n\na.b ??= 1", "4:3"},
		{"\nlet a = null;\n\na[0] ||= 1", "4:2"},
		{"\n[null.x] = [1]", "2:7"},
		{"let a\n[\n a.b] = [1]", "3:4"},
		{"function* g() {\n 1\n\n yield*\n 5 }\n\n[...g()]", "g 5:2 | 7:5"},
		{"async function* g() {\n 1\n\n yield*\n 5 }\n\nawait g().next()", "g 5:2 | next native | 7:11"},
	} {
		e, _ := thrown(t, test.body)
		if at := frames(e.Stack); at != test.want {
			t.Errorf("%q was thrown at %q, want %q", test.body, at, test.want)
		}
	}
}

// A cell that computes on is stopped at the jumps of its loops, which have the place of the loop's keyword, and at calls.
func TestWhereACellWasStopped(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		// Loops of every kind, with nothing in them that has a place.
		{"while (true) {}", "1:1"},
		{"\n  while (true) ;", "2:3"},
		{"let n = 1\n\nwhile (n)\n  n++", "3:1"},
		{"let n = 1\ndo\n  n = 1\nwhile (n)", "2:1"},
		{"do {} while (true)", "1:1"},
		{"for (;;) {}", "1:1"},
		{"\nfor (let n = 0; ; ) n = 1", "2:1"},
		{"\n\nfor (let n = 0; n < 1; n--)\n  ;", "3:1"},
		{"let n = 0\nfor (const k in {a: 1, b: 2}) {\n  for (;;)\n    n = k\n}", "3:3"},

		// Places before and after the loop are not those of the loop.
		{"Math.abs(1);\n\nfor (;;) {}", "3:1"},
		{"while (true) {}\nMath.abs(1)", "1:1"},
		{"for (;;) {}\nfor (;;) {}", "1:1"},
		{"for (let n = 0; n < 9; n++) {}\nfor (;;) {}", "2:1"},

		// Labels, and loops in loops: the one that goes on for ever.
		{"a: while (true) {\n  continue a\n}", "2:3"},
		{"a:\nfor (;;) {\n  for (;;) {\n    continue a\n  }\n}", "4:5"},
		{"for (;;) {\n  for (;;) {\n    for (;;) {}\n  }\n}", "3:5"},
		{"for (;;) {\n  while (true) break\n}", "1:1"},
		{"let n = 1\nfor (;;) {\n  if (n) continue\n  n = 2\n}", "3:10"},

		// Functions around it, whoever calls them.
		{"function spin() {\n  for (;;) {}\n}\n\nspin()", "spin 2:3 | 5:1"},
		{"const f = () => {\n  function g() {\n    while (true) ;\n  }\n  g();\n};\nf()", "g 3:5 | f 5:3 | 7:1"},
		{"const o = {get a() { for (;;) {} }};\n\no.a", "get a 1:22 | 3:3"},
		{"class A {\n  static {\n    for (;;) {}\n  }\n  m() {}\n}", "3:5 | 2:10 | 1:1"},
		{"class A {\n  m() {\n    do ; while (true)\n  }\n}\nnew A().m()", "m 3:5 | 6:9"},
		{"[1].map(function spin() {\n  while (true) ;\n})", "spin 2:3 | map native | 1:5"},
		{"function* g() {\n  for (;;) {}\n}\nfor (const x of g()) ;", "g 2:3 | 4:17"},
		{"await null;\nconst f = async () => {\n  await null;\n  for (;;) {}\n}\nawait f()", "f 4:3"},
		{"await Promise.resolve().then(() => {\n  for (;;) {}\n})", "2:3"},

		// Loops that do more than to jump.
		{"const o = {n: 0};\n\nfor (;;) {\n  o.n++;\n}", "3:1"},
		{"let n = 0\nfor (const x of new Uint8Array(5e6))\n  n = x", "2:1"},
		{"for (;;) {\n  try { throw 1 } catch {} }", "2:15"},
		{"await null;\nfor (;;)\n  await null", "2:1"},

		// Promise jobs alone: the engine swallows the stop itself, and mostly there is no stack.
		{"const settled = Promise.resolve()\nfunction tick() {\n  return settled.then(tick)\n}\nawait tick()", "tick 3:18"},
		{"const endless = {\n  then(resolve) { resolve(endless) }\n}\nawait endless", "then 2:19"},
		{"const again = () =>\n  queueMicrotask(again)\nagain()", "again 2:3"},
		{"async function poll() {\n  await null\n  return poll()\n}\nawait poll()", "poll 3:10"},
	} {
		if at := stoppedAt(t, test.body, Options{Limits: limits.Limits{Fuel: 20_000_000}}, time.Time{}); at != test.want {
			t.Errorf("%q was stopped at %q, want %q", test.body, at, test.want)
		}
	}
	const spin = "function spin() {\n  for (;;) {}\n}\n\nspin()"
	if at := stoppedAt(t, spin, Options{}, time.Now().Add(100*time.Millisecond)); at != "spin 2:3 | 5:1" {
		t.Errorf("a deadline stopped the cell at %q", at)
	}
}

// stoppedAt runs a cell that does not end by itself and gives the frames in which it was stopped, in one line.
func stoppedAt(t *testing.T, body string, o Options, deadline time.Time) string {
	t.Helper()
	vm := newVM(t, &recorder{}, o)
	defer vm.Close()
	vm.SetDeadline(deadline)
	out, err := vm.Run(body)
	if !errors.Is(err, limits.ErrTimeout) && !errors.Is(err, limits.ErrFuel) {
		t.Fatalf("%q ended %v %v", body, show(out), err)
	}
	return frames(vm.Position())
}

var frame = regexp.MustCompile(`(?m)^    at (?:<anonymous> )?(.*?)\((?:cell:)?(.*)\)\n`)

// frames is a stack in one line.
func frames(stack string) string {
	return strings.TrimSuffix(frame.ReplaceAllString(stack, "$1$2 | "), " | ")
}

// Calls from the same place share the text of their stack, and nothing else.
func TestSitesOfManyCalls(t *testing.T) {
	const body = `const f = () => echo({}); const errors = [];
const failed = (call) => call.catch((e) => errors.push(e));
const first = Array.from({length: 20}, () => failed(f()));
await Promise.all([...first,
  failed(f()), failed(echo({}))]);
errors[0].mark = 1;
return [new Set(errors).size, "mark" in errors[1], errors.map((e) => e.stack.match(/cell:\d+:\d+/g).join(" "))]`
	r := &recorder{}
	vm := newVM(t, r, Options{})
	out, err := vm.Run(body)
	for _, c := range r.calls {
		if err == nil {
			out, err = vm.Settle(c.ID, false, []byte(`{"message":"no"}`))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	stacks := strings.Repeat(`"cell:1:17 cell:3:53 cell:3:21",`, 20) + `"cell:1:17 cell:5:10","cell:5:23"`
	if want := "fulfilled [22,false,[" + stacks + "]]"; show(out) != want {
		t.Errorf("got  %s\nwant %s", show(out), want)
	}
	for i, c := range r.calls {
		want := guestabi.Site{Line: 1, Column: 17}
		if i == 21 {
			want = guestabi.Site{Line: 5, Column: 23}
		}
		if c.Site != want {
			t.Errorf("call %d is from %+v, want %+v", i, c.Site, want)
		}
	}
}

func TestSitesOfCalls(t *testing.T) {
	for _, test := range []struct {
		body         string
		line, column uint32
	}{
		{"echo()", 1, 1},
		{"\n\n   tools.echo()", 3, 10},
		{"\ntools.call('x')", 2, 7},
		{"\n [1].map(() =>\n  echo())", 3, 3},
		{"const f = echo;\nf()", 2, 1},
		{"Error.stackTraceLimit = 50; Error.prepareStackTrace = () => 'forged';\necho()", 2, 1},
		{"function a() { return b() }\nfunction b() { return echo() }\na()", 2, 23},
		{"Object.defineProperty(Error.prototype, 'stack', {get() { return '(cell:99:99)' }});\necho()", 2, 1},
	} {
		r := &recorder{}
		if _, err := newVM(t, r, Options{}).Run(test.body); err != nil || len(r.calls) != 1 {
			t.Fatalf("%q: %v %v", test.body, r.calls, err)
		}
		if got := r.calls[0].Site; got != (guestabi.Site{Line: test.line, Column: test.column}) {
			t.Errorf("%q: %+v, want %d:%d", test.body, got, test.line, test.column)
		}
	}
}
