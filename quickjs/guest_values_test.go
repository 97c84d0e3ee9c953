package quickjs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"codemode/guestabi"
	"codemode/limits"
)

// The table of json.c, by each way in which a value leaves the cell.
func TestValues(t *testing.T) {
	const refused = "refused: "
	for _, test := range []struct{ value, returned, input string }{ // input "" is: as returned
		{`undefined`, `null`, `{}`},
		{`null`, `null`, ``},
		{`true`, `true`, ``},
		{`"text"`, `"text"`, ``},
		{`"\u0000\b\n\t\"\\é😀\u2028"`, `"\u0000\u0008\n\t\"\\é😀` + "\u2028" + `"`, ``},
		{`"\ud800x\udc00"`, `"\ud800x\udc00"`, ``},
		{`({"\ud800": 1})`, `{"\ud800":1}`, ``},
		{`[NaN, Infinity, -Infinity, -0, 1.5, 1e21, 1e-7, 5e-324, 2 ** 53]`, `[null,null,null,0,1.5,1e+21,1e-7,5e-324,9007199254740992]`, ``},
		{`() => 1`, `null`, `null`},
		{`Symbol("s")`, `null`, `null`},
		{`[undefined, () => 1, Symbol()]`, `[null,null,null]`, ``},
		{`({a: undefined, f() {}, s: Symbol(), [Symbol()]: 1, b: 1})`, `{"b":1}`, ``},
		{`10n ** 20n`, `"100000000000000000000"`, refused + `BigInt`},
		{`({deep: [1n]})`, `{"deep":["1"]}`, refused + `BigInt`},
		{`new Date(0)`, `"1970-01-01T00:00:00.000Z"`, ``},
		{`new Date(NaN)`, `null`, ``},
		{`/a+/gi`, `"/a+/gi"`, ``},
		{`new Map([["a", 1], ["b", new Map([[1, 2]])]])`, `{"a":1,"b":[[1,2]]}`, ``},
		{`new Map`, `{}`, ``},
		{`new Map([["__proto__", 1]])`, `{"__proto__":1}`, ``},
		{`new Map([[{k: 1}, "v"]])`, `[[{"k":1},"v"]]`, ``},
		{`new Set([1, "a", new Set([2])])`, `[1,"a",[2]]`, ``},
		{`new Uint8Array([1, 255])`, `[1,255]`, ``},
		{`new Float32Array([1.5, NaN])`, `[1.5,null]`, ``},
		{`new BigInt64Array([5n])`, `["5"]`, refused + `BigInt`},
		{`new Uint16Array([1, 2, 3]).subarray(1)`, `[2,3]`, ``},
		{`new Uint8Array([1, 2]).buffer`, `[1,2]`, ``},
		{`new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)`, `[2,3]`, ``},
		{`(() => { const b = new ArrayBuffer(4), u = new Uint8Array(b), d = new DataView(b); b.transfer(); return [b, u, d] })()`, `[[],[],[]]`, ``},
		{`(() => { const b = new ArrayBuffer(4, {maxByteLength: 8}), u = new Uint8Array(b), v = new Uint8Array(b, 2, 2); b.resize(3); return [u, v, b] })()`, `[[0,0,0],[],[0,0,0]]`, ``},
		{`new SharedArrayBuffer(2)`, `[0,0]`, ``},
		{`[Object(1), Object("s"), Object(false), Object(Symbol())]`, `[1,"s",false,{}]`, ``},
		{`Object(5n)`, `"5"`, refused + `BigInt`},
		{`new RangeError("r")`, `{"name":"RangeError","message":"r"}`, ``},
		{`Object.assign(new Error("m", {cause: new Error("c")}), {code: 5, name: "Mine"})`, `{"name":"Mine","message":"m","code":5,"cause":{"name":"Error","message":"c"}}`, ``},
		{`new AggregateError([1, new Error("e")], "m")`, `{"name":"AggregateError","message":"m","errors":[1,{"name":"Error","message":"e"}]}`, ``},
		{`new DOMException("m", "DataError")`, `{"name":"DataError","message":"m"}`, ``},
		{`({toJSON() { return {x: 1} }})`, `{"x":1}`, ``},
		{`({toJSON() { return this }, a: 1})`, `{"a":1}`, ``},
		{`({a: {toJSON() { return undefined }}, b: [{toJSON() { return undefined }}]})`, `{"a":null,"b":[null]}`, ``},
		{`Object.assign(new Error("m"), {toJSON() { return "mine" }})`, `"mine"`, ``},
		{`[Promise.resolve(1)]`, `["[promise that was not awaited: use await or Promise.all]"]`, refused + `await it first`},
		{`({toJSON: async () => 1})`, `"[promise that was not awaited: use await or Promise.all]"`, refused + `await it first`},
		{`(() => { const a = {n: 1}; a.a = a; return a })()`, `{"n":1,"a":"[circular]"}`, refused + `circular`},
		{`(() => { const m = new Map; m.set("m", m); return m })()`, `{"m":"[circular]"}`, refused + `circular`},
		{`(() => { const s = {x: 1}; return [s, s, {s}] })()`, `[{"x":1},{"x":1},{"s":{"x":1}}]`, ``},
		{`[1, , 3]`, `[1,null,3]`, ``},
		{`Object.assign([1], {extra: 2})`, `[1]`, ``},
		{`JSON.parse('{"__proto__": {"x": 1}, "constructor": 2, "toString": 3}')`, `{"__proto__":{"x":1},"constructor":2,"toString":3}`, ``},
		{`({"then": 1, "": 2, 5: 3})`, `{"5":3,"then":1,"":2}`, ``},
		{`new (class P { #s = 1; x = 2; get y() { return 3 } static z = 4 })`, `{"x":2}`, ``},
		{`Object.create({inherited: 1}, {own: {value: 1, enumerable: true}, hidden: {value: 2}})`, `{"own":1}`, ``},
		{`({get a() { return [1] }})`, `{"a":[1]}`, ``},
		{`(() => { const o = {a: 1, b: "x", c: null, d: true, e: 0.5, f: undefined}; delete o.a; o.g = 2; return o })()`, `{"b":"x","c":null,"d":true,"e":0.5,"g":2}`, ``},
		{`Object.defineProperties({a: 1}, {hidden: {value: 2}, shown: {value: 3, enumerable: true}})`, `{"a":1,"shown":3}`, ``},
		{`({b: 1, 10: 2, 9: 3, "01": 4, [Symbol()]: 5})`, `{"9":3,"10":2,"b":1,"01":4}`, ``},
		{`({"naïve": 1, "k\"ey": "a\nb", "\u{1f600}": 2})`, `{"naïve":1,"k\"ey":"a\nb","😀":2}`, ``},
		{`({a: "x".repeat(3) + "é", b: "long".repeat(40).slice(3, 9), c: ["x", {d: 1}]})`, `{"a":"xxxé","b":"glongl","c":["x",{"d":1}]}`, ``},
		{`(() => { Object.prototype.toJSON = function () { return [this.a] }; try { return [{a: 1}].map((o) => o.toJSON()) } finally { delete Object.prototype.toJSON } })()`, `[[1]]`, ``},
		{`JSON.parse('{"a":1,"b":[1,"x",[]],"a":2,"10":3,"9":4,"":5,"k\\u0041":6,"é":7}')`, `{"9":4,"10":3,"a":2,"b":[1,"x",[]],"":5,"kA":6,"é":7}`, ``},
		{`new Proxy([1, 2], {})`, `[1,2]`, ``},
		{`new Proxy({a: 1}, {get: () => 5})`, `{"a":5}`, ``},
		{`new Proxy(new Proxy([1], {}), {})`, `[1]`, ``},
		{`[new WeakMap, new WeakSet, [1].values(), (function* () {})()]`, `[{},{},{},{}]`, ``},
		{`globalThis.Math`, `{}`, ``},
		{`echo`, `{"callableName":"echo","source":"host"}`, ``},
		{`[echo, {echo}]`, `[{"callableName":"echo","source":"host"},{"echo":{"callableName":"echo","source":"host"}}]`, ``},
		{`new URL("http://h")`, `"http://h/"`, ``},
		{`(function () { return arguments })(1, 2)`, `{"0":1,"1":2}`, ``},
	} {
		t.Run("", func(t *testing.T) {
			r := &recorder{}
			vm := newVM(t, r, Options{})
			out, err := vm.Run(`const made = () => (` + test.value + `);
				const emitted = [json(made()), text(made())];
				let refusal; echo(made()).catch((e) => refusal = "` + refused + `" + e.message);
				await tools.search("the value"); return {value: made(), refusal, emitted: emitted.every((e) => e === undefined)}`)
			if err != nil || out.State != guestabi.Pending {
				t.Errorf("%s: %s %v", test.value, show(out), err)
				return
			}
			id := uint32(len(r.calls) + 1)
			if out, err = vm.Settle(id, true, []byte("null")); err != nil || out.State != guestabi.Fulfilled {
				t.Errorf("%s: %s %v", test.value, show(out), err)
				return
			}
			var got struct {
				Value   json.RawMessage
				Refusal string
				Emitted bool
			}
			json.Unmarshal(out.Payload, &got)
			returned := string(got.Value)
			if returned == "" {
				returned = "null" // a field that JSON leaves out
			}
			if returned != test.returned {
				t.Errorf("return %s\n got %s\nwant %s", test.value, returned, test.returned)
			}
			if !got.Emitted {
				t.Errorf("%s: json or text returned something", test.value)
			}
			if len(r.output) != 2 || r.output[0] != "json "+test.returned {
				t.Errorf("json(%s)\n got %s\nwant %s", test.value, r.output, test.returned)
			}
			var quoted string
			if json.Unmarshal([]byte(test.returned), &quoted) != nil || strings.HasPrefix(test.value, "10n") || !strings.HasPrefix(test.value, `"`) {
				quoted = test.returned // text() writes a string as it is, and of all else the JSON
			}
			if len(r.output) == 2 && r.output[1] != "text "+quoted {
				t.Errorf("text(%s)\n got %s\nwant %s", test.value, r.output[1], quoted)
			}
			want := test.input
			if want == "" {
				want = test.returned
			}
			input := got.Refusal
			if len(r.calls) == 1 {
				input = string(r.calls[0].Input)
			}
			if input != want && !(strings.HasPrefix(want, refused) && strings.HasPrefix(input, refused) && strings.Contains(input, want[len(refused):])) {
				t.Errorf("echo(%s)\n got %s\nwant %s", test.value, input, want)
			}
		})
	}
}

func TestValuesThatThrow(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`return {get a() { throw new Error("getter") }}`, `rejected Error: getter`},
		{`return {toJSON() { throw new TypeError("toJSON") }}`, `rejected TypeError: toJSON`},
		{`return new Proxy({}, {ownKeys() { throw new Error("trap") }})`, `rejected Error: trap`},
		{`const {proxy, revoke} = Proxy.revocable([], {}); revoke(); return proxy`, `rejected TypeError: revoked proxy`},
		{`try { json({get a() { throw new Error("x") }}) } catch (e) { return e.message }`, `fulfilled "x"`},
		{`try { text({toJSON() { throw 5 }}) } catch (e) { return e }`, `fulfilled 5`},
		{`return await results.save({get a() { throw new Error("x") }}).catch((e) => e.message)`, `fulfilled "x"`},
		{`return {get a() { throw null }}`, `rejected null`},
	} {
		if got, r := run(t, test.body, Options{}); got != test.want || len(r.output) > 0 {
			t.Errorf("%s: %s %v, want %s", test.body, got, r.output, test.want)
		}
	}
}

// What is large ends at its limit, soon, and says so.
func TestLargeValues(t *testing.T) {
	o := Options{Limits: limits.Limits{MaxOutputBytes: 64 << 10, MaxSnapshotBytes: 256 << 10}, Deadline: time.Now().Add(time.Minute)}
	const most = 256 << 10
	for name, value := range map[string]string{
		"graph":    `(() => { let o = {x: 1}; for (let i = 0; i < 40; i++) o = [o, o]; return o })()`,
		"maps":     `(() => { let o = 1; for (let i = 0; i < 40; i++) o = new Map([["a", o], ["b", o]]); return o })()`,
		"array":    `new Array(4294967295)`,
		"string":   `"x".repeat(1e7)`,
		"escapes":  `"\u0001".repeat(1e6)`,
		"bytes":    `new Uint8Array(5e6)`,
		"buffer":   `new ArrayBuffer(5e6)`,
		"wide":     `Object.fromEntries(Array.from({length: 1e5}, (_, i) => ["field" + i, i]))`,
		"set":      `new Set(Array.from({length: 1e5}, (_, i) => i))`,
		"getters":  `(() => { const o = {get a() { return [o, o] }, get b() { return {o} }, toJSON() { return {a: [1, {...this}]} }}; return Array(1e5).fill(o) })()`,
		"proxy":    `new Proxy([], {get: (t, k) => k === "length" ? 2 ** 53 - 1 : 1})`,
		"endless":  `(() => { const make = () => ({get next() { return [make(), make()] }}); return make() })()`,
		"iterated": `new Map(Array.from({length: 1e5}, (_, i) => [i, i]))`,
	} {
		start := time.Now()
		out, err := newVM(t, &recorder{}, o).Run(`return ` + value)
		if err != nil || out.State != guestabi.Fulfilled || !out.Truncated || len(out.Payload) > most || len(out.Payload) < most-8 {
			t.Errorf("%s: %v, truncated %v, %d bytes, %v", name, out.State, out.Truncated, len(out.Payload), err)
		}
		t.Logf("%-8s %v", name, time.Since(start).Round(time.Millisecond))
		if name == "wide" || name == "getters" || name == "endless" {
			continue
		}
		got, r := run(t, `const value = `+value+`; const errors = [];
			for (const f of [json, (v) => echo(v), results.save]) try { await f(value) } catch (e) { errors.push(e.name) }
			return errors`, o)
		if got != `fulfilled ["RangeError","RangeError","RangeError"]` || len(r.output)+len(r.calls) > 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestDeepValues(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`let a = []; for (let i = 0; i < 999; i++) a = [a]; return a`, `fulfilled ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000)},
		{`let a = []; for (let i = 0; i < 1000; i++) a = [a]; return a`, `fulfilled ` + strings.Repeat("[", 1000) + `"[nested too deep]"` + strings.Repeat("]", 1000)},
		{`let a = []; for (let i = 0; i < 1e5; i++) a = {a}; return await echo(a).catch((e) => e.message)`, `fulfilled "the input is nested more than 1000 levels deep"`},
		{`const deep = (n) => ({toJSON: () => n ? {x: deep(n - 1)} : "end"}); return JSON.stringify(await new Promise((r) => r(deep(900)))).length`, `fulfilled 5405`},
		{`const deep = (n) => ({get x() { return n ? deep(n - 1) : "end" }}); return deep(900)`, `fulfilled ` + strings.Repeat(`{"x":`, 901) + `"end"` + strings.Repeat(`}`, 901)},
	} {
		if got, _ := run(t, test.body, Options{}); got != test.want {
			t.Errorf("%s\n got %.200s\nwant %.200s", test.body, got, test.want)
		}
	}
	// Code of the cell that recurses from deep inside of the writer gets a RangeError, or the cell ends of its stack.
	got, _ := run(t, `const f = () => f(); let o = {get x() { return f() }}; for (let i = 0; i < 900; i++) o = {toJSON() { return {o: this.o} }, o}; return o`, Options{})
	if got != "rejected RangeError: Maximum call stack size exceeded" && !strings.Contains(got, "stack") {
		t.Error(got)
	}
	if got, _ := run(t, `return 1`, Options{}); got != "fulfilled 1" {
		t.Error(got)
	}
}

// Every string survives the way out and back.
func TestStringsSurvive(t *testing.T) {
	r := &recorder{}
	vm := newVM(t, r, Options{})
	if _, err := vm.Run(`globalThis.all = ""; for (let i = 0; i < 0x10000; i += 7) all += String.fromCharCode(i) + (i % 3 ? "" : "\ud83d\ude00");
		const back = await echo({all}); return [back.all === all, back.all.length]`); err != nil {
		t.Fatal(err)
	}
	out, err := vm.Settle(1, true, r.calls[0].Input)
	if err != nil || !strings.HasPrefix(show(out), "fulfilled [true,") {
		t.Error(show(out), err)
	}
	if got := fmt.Sprint(len(r.calls[0].Input) > 0x2000); got != "true" {
		t.Error(len(r.calls[0].Input))
	}
}

// Strings are read and written in runs of eight bytes: what ends a run must do so wherever it stands.
func TestStringsCrossAsTheyAre(t *testing.T) {
	r := &recorder{}
	vm := newVM(t, r, Options{})
	const code = `for (;;) {
  const s = await echo({});
  text(s);
  json(s);
  json([JSON.parse(JSON.stringify(s)) === s, s.padStart(s.length + 20, s.at(-1)).slice(20) === s, new TextDecoder().decode(new TextEncoder().encode(s)) === s, s.repeat(2).slice(s.length) === s]);
}`
	if _, err := vm.Run(code); err != nil {
		t.Fatal(err)
	}
	id := uint32(0)
	for _, piece := range []string{"x", "\"", "\\", "\n", "\x01", "\x1f", "\x7f", "\u0080", "é", "ÿ", "Ā", "日", "퟿", "\ue000", "\uffff", "😀", "힣\"", "é\\", "日\n", "!\"#", "[\\]", "\u2028"} {
		for at := range 40 {
			s := strings.Repeat("a", at) + piece + strings.Repeat("b", 39-at)
			quoted, _ := json.Marshal(s)
			id++
			r.output = nil
			if _, err := vm.Settle(id, true, quoted); err != nil {
				t.Fatal(err)
			}
			var back string
			if err := json.Unmarshal([]byte(strings.TrimPrefix(r.output[1], "json ")), &back); err != nil || back != s || r.output[0] != "text "+s || r.output[2] != "json [true,true,true,true]" {
				t.Fatalf("%q came back as %q (%v)", s, r.output, err)
			}
		}
	}
}

func TestLoneSurrogatesWhereverTheyStand(t *testing.T) {
	r := &recorder{}
	vm := newVM(t, r, Options{})
	if _, err := vm.Run(`for (let i = 0; i < 40; i++) for (const c of ['\ud800', '\udfff', '힣\ud800', '\ud800힣']) { const s = 'a'.repeat(i) + c + 'b'.repeat(39 - i); text(s); json(s); }`); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		for k, c := range []struct{ text, json string }{{"\ufffd", `\ud800`}, {"\ufffd", `\udfff`}, {"힣\ufffd", `힣\ud800`}, {"\ufffd힣", `\ud800힣`}} {
			before, after := strings.Repeat("a", i), strings.Repeat("b", 39-i)
			got := r.output[2*(4*i+k):][:2]
			if got[0] != "text "+before+c.text+after || got[1] != `json "`+before+c.json+after+`"` {
				t.Fatalf("%d, %d: %q", i, k, got)
			}
		}
	}
}
