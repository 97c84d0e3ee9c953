package quickjs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codemode/guestabi"
)

// thrown runs a body that throws and gives what the guest says of it.
func thrown(t *testing.T, body string) (guestabi.Thrown, int) {
	t.Helper()
	vm := newVM(t, &recorder{}, Options{Deadline: time.Now().Add(5 * time.Second)})
	defer vm.Close()
	out, err := vm.Run(body)
	if err != nil || out.State != guestabi.Rejected {
		t.Fatalf("%.80s: %s %v", body, show(out), err)
	}
	var e guestabi.Thrown
	if err := json.Unmarshal(out.Payload, &e); err != nil {
		t.Fatalf("%.80s: %v in %.200s", body, err, out.Payload)
	}
	return e, len(out.Payload)
}

// brief is a Thrown in one line, without the stack.
func brief(e guestabi.Thrown) string {
	var b strings.Builder
	for _, part := range []string{e.Name, e.Message, e.Text, string(e.Value)} {
		if part != "" {
			fmt.Fprintf(&b, "%s|", part)
		}
	}
	if len(e.Fields) > 0 {
		fields, _ := json.Marshal(e.Fields)
		b.Write(fields)
	}
	if e.Cause != nil {
		b.WriteString(" <- " + brief(*e.Cause))
	}
	for _, inner := range e.Errors {
		b.WriteString(" + " + brief(inner))
	}
	return b.String()
}

func TestThrownValuesOfEveryKind(t *testing.T) {
	const boom = `throw new Error("ran")` // in a getter: must not run
	for _, test := range []struct{ body, want string }{
		{`throw new Error("m")`, `Error|m|`},
		{`throw new Error`, `Error|`},
		{`throw {code: 5, at: [1]}`, `{"code":5,"at":[1]}|`},
		{`throw {name: "Mine", message: "m", code: 1}`, `Mine|m|{"code":1}`},
		{`throw null`, `null|`},
		{`throw undefined`, `undefined|`},
		{`throw "text"`, `text|`},
		{`throw 5`, `5|`},
		{`throw 10n`, `"10"|`},
		{`throw Symbol("s")`, `Symbol(s)|`},
		{`throw function f() {}`, `a function: f|`},
		{`throw () => {}`, `a function|`},
		{`throw [1, "a"]`, `[1,"a"]|`},
		{`throw new Proxy({}, {get() { ` + boom + ` }, ownKeys() { ` + boom + ` }})`, `"[proxy]"|`},
		{`throw new Proxy(new Error("x"), {})`, `"[proxy]"|`},
		{`const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); throw proxy`, `"[proxy]"|`},
		{`throw Promise.resolve(1)`, `"[promise that was not awaited: use await or Promise.all]"|`},
		{`throw new Date(0)`, `"1970-01-01T00:00:00.000Z"|`},
		{`throw new Map([["a", new Set([1])]])`, `{"a":[1]}|`},
		{`throw /a+/g`, `"/a+/"|`},
		{`throw {get a() { ` + boom + ` }, toJSON() { ` + boom + ` }, toString() { ` + boom + ` }}`, `{"a":"[getter]","toJSON":"[function]","toString":"[function]"}|`},
		{`const o = {a: 1}; o.self = o; throw o`, `{"a":1,"self":"[circular]"}|`},
		{`throw Object.assign(new Error("m"), {code: "E1", status: 404, response: {body: "x"}, f() {}, s: Symbol()})`, `Error|m|{"code":"E1","response":{"body":"x"},"status":404}`},
		{`throw Object.assign(new Error("m"), {"a\u0000b": 1, "\ud800": 2})`, "Error|m|{\"a\\u0000b\":1,\"\ufffd\":2}"},
		{`throw new Error("outer", {cause: new TypeError("inner", {cause: "root"})})`, `Error|outer| <- TypeError|inner| <- root|`},
		{`throw new Error("outer", {cause: undefined})`, `Error|outer| <- undefined|`},
		{`const e = new Error("m"); e.cause = e; throw e`, `Error|m| <- Error|m| <- Error|m| <- Error|m| <- Error|m| <- Error|m| <- Error|m| <- Error|m| <- Error|m|`},
		{`throw new AggregateError([new Error("a"), "b", {c: 1}], "all")`, `AggregateError|all| + Error|a| + b| + {"c":1}|`},
		{`await Promise.any([Promise.reject(new Error("a")), Promise.reject(2)])`, `AggregateError| + Error|a| + 2|`},
		{`const e = new AggregateError([1]); Object.defineProperty(e.errors, 0, {get() { ` + boom + ` }}); throw e`, `AggregateError| + [getter]|`},
		{`{ using a = {[Symbol.dispose]() { throw new Error("a") }}; throw new TypeError("b") }`, `SuppressedError| + Error|a| + TypeError|b|`},
		{`throw new SuppressedError(1, new SuppressedError("a", null), "m")`, `SuppressedError|m| + 1| + SuppressedError| + a| + null|`},
		{`const e = new SuppressedError(1, 2); Object.defineProperty(e, "suppressed", {get() { ` + boom + ` }}); throw e`, `SuppressedError|`},
		{`throw Object.assign(new Error("m"), {error: 1, code: 2})`, `Error|m|{"code":2,"error":1}`},
		{`class HttpError extends Error {} throw new HttpError("m")`, `HttpError|m|`},
		{`class HttpError extends Error { name = "Other" } throw new HttpError("m")`, `Other|m|`},
		{`class HttpError extends Error { get name() { ` + boom + ` } get message() { ` + boom + ` } } throw new HttpError`, `HttpError|[getter]|`},
		{`class HttpError extends TypeError {} throw new HttpError("m")`, `TypeError|m|`},
		{`const e = new Error("m"); Object.defineProperty(e, "name", {get() { ` + boom + ` }}); throw e`, `Error|m|`},
		{`const e = new Error("m"); Object.defineProperty(e, "stack", {get() { ` + boom + ` }}); throw e`, `Error|m|`},
		{`const e = new Error("m"); Object.defineProperty(e, "extra", {enumerable: true, get() { ` + boom + ` }}); throw e`, `Error|m|`},
		{`const e = new Error; e.message = {deep: [1]}; throw e`, `Error|{"deep":[1]}|`},
		{`const e = new Error; e.message = 5; throw e`, `Error|5|`},
		{`const e = new Error("m"); Object.setPrototypeOf(e, null); throw e`, `m|`},
		{`const e = new Error("m"); Object.setPrototypeOf(e, new Proxy({}, {get() { ` + boom + ` }, getPrototypeOf() { ` + boom + ` }})); throw e`, `m|`},
		{`Object.defineProperty(Error.prototype, "name", {get() { ` + boom + ` }}); throw new Error("m")`, `Error|m|`},
		{`throw new DOMException("m", "DataError")`, `DataError|m|`},
		{`throw AbortSignal.abort().reason`, `AbortError|This operation was aborted|`},
		{`new URL("x")`, `TypeError|Invalid URL: it has no scheme and there is no base: x|{"code":"ERR_INVALID_URL"}`},
		{`Error.prepareStackTrace = () => { ` + boom + ` }; throw new Error("m")`, `Error|m|`},
		{`Error.stackTraceLimit = {valueOf() { ` + boom + ` }}; throw new Error("m")`, `Error|m|`},
		{`null.x`, `TypeError|cannot read property 'x' of null|`},
		{`throw tools`, `{"search":"[function]","describe":"[function]","call":"[function]","callValue":"[function]","echo":"[function]"}|`},
	} {
		e, _ := thrown(t, test.body)
		if got := brief(e); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.body, got, test.want)
		}
	}
}

func TestThrownValuesAreBounded(t *testing.T) {
	for name, body := range map[string]string{
		"message":     `throw new Error("x".repeat(5e6))`,
		"text":        `throw "é".repeat(5e6)`,
		"name":        `const e = new Error("m"); e.name = "n".repeat(5e6); throw e`,
		"field":       `throw Object.assign(new Error("m"), {body: "x".repeat(5e6)})`,
		"key":         `throw Object.assign(new Error("m"), {["k".repeat(1e6)]: 1})`,
		"fields":      `const e = new Error("m"); for (let i = 0; i < 1e5; i++) e["f" + i] = "x".repeat(100); throw e`,
		"object":      `const o = {}; for (let i = 0; i < 1e5; i++) o["f" + i] = i; throw o`,
		"deep":        `let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; throw o`,
		"graph":       `let o = [1]; for (let i = 0; i < 60; i++) o = [o, o]; throw o`,
		"causes":      `let e = new Error("x".repeat(1e4)); for (let i = 0; i < 1000; i++) e = new Error("y".repeat(1e4), {cause: e}); throw e`,
		"errors":      `throw new AggregateError(Array.from({length: 1e3}, (_, i) => new Error("x".repeat(1e4))))`,
		"errors loop": `const e = new AggregateError([]); for (let i = 0; i < 16; i++) e.errors.push(e); e.cause = e; throw e`,
		"suppressed":  `const e = new SuppressedError(1, 2); e.error = e.suppressed = e.cause = e; throw e`,
		"array":       `throw new Array(4294967295)`,
		"typed array": `throw new Float64Array(1e6)`,
		"symbol":      `throw Symbol("s".repeat(1e6))`,
		"function":    `throw Object.defineProperty(() => 1, "name", {value: "f".repeat(1e6)})`,
		"bigint":      `throw 10n ** 50000n`,
		"stack":       `const e = new Error("m"); e.stack = "s".repeat(5e6); throw e`,
	} {
		start := time.Now()
		_, size := thrown(t, body)
		if size > 400<<10 {
			t.Errorf("%s: %d bytes", name, size)
		}
		t.Logf("%-12s %7d bytes, %v", name, size, time.Since(start).Round(time.Millisecond))
	}
	e, _ := thrown(t, `throw new Error("x".repeat(5e6))`)
	if !strings.HasSuffix(e.Message, "x…[truncated]") {
		t.Errorf("a long message ends %q", e.Message[len(e.Message)-30:])
	}
}

func TestToolErrorsCarryWhatTheHostSays(t *testing.T) {
	vm := newVM(t, &recorder{}, Options{})
	if _, err := vm.Run("try {\n await echo({}) } catch (e) {\n return [e instanceof Error, e.name, e.message, e.code, e.tool, e.effectStatus, e.location, e.data, Object.keys(e), e.stack.includes('cell:2:8')] }"); err != nil {
		t.Fatal(err)
	}
	out, err := vm.Settle(1, false, []byte(`{"message":"not today","code":"tool_error","tool":"echo","effectStatus":"unknown","location":{"line":2},"data":{"retry":5},"host":"secret"}`))
	const want = `fulfilled [true,"Error","not today","tool_error","echo","unknown",{"line":2},{"retry":5},["code","tool","effectStatus","location","data"],true]`
	if err != nil || show(out) != want {
		t.Errorf("%v %v", show(out), err)
	}
	// What the host leaves out, the cell cannot put in by a prototype.
	vm = newVM(t, &recorder{}, Options{})
	vm.Run(`Object.prototype.code = "forged"; Object.defineProperty(Object.prototype, "tool", {get() { throw new Error("ran") }}); try { await echo() } catch (e) { return Object.keys(e) }`)
	if out, err = vm.Settle(1, false, []byte(`{"message":"m"}`)); err != nil || show(out) != `fulfilled []` {
		t.Errorf("%v %v", show(out), err)
	}
}

// What Promise.all and its like do is seen by a cell that watches the parts they are made of.
func TestPromiseCombinatorsAsTheyAreWatched(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`return [await Promise.all([1, Promise.resolve(2), {then(f) { f(3) }}]), await Promise.allSettled([1, Promise.reject(2)]).then((l) => l.map((x) => x.value ?? x.reason)), await Promise.any([Promise.reject(1), 2]), await Promise.race([3, 4])]`, `fulfilled [[1,2,3],[1,2],2,3]`},
		{`let n = 0; const then = Promise.prototype.then; Promise.prototype.then = function (...a) { n++; return then.apply(this, a) }; await Promise.all([1, 2]); Promise.prototype.then = then; return n`, `fulfilled 2`},
		{`let n = 0; const p = Promise.resolve(1); Object.defineProperty(p, "constructor", {get() { n++; return Promise }}); await Promise.all([p]); return n`, `fulfilled 2`},
		{`let made = 0; class P extends Promise { constructor(f) { super(f); made++ } } const p = P.resolve(1); made = 0; Promise.resolve = (x) => x; await Promise.all([p]); return made`, `fulfilled 1`},
		{`class P extends Promise {} const all = P.all([1, Promise.resolve(2)]); return [all instanceof P, await all]`, `fulfilled [true,[1,2]]`},
		{`const p = Promise.reject(1); await Promise.allSettled([p]); return (await Promise.any([p]).catch((e) => e.errors))`, `fulfilled [1]`},
		{`function C(f) { f(() => { throw new Error("resolve") }, () => {}) } C.resolve = (x) => Promise.resolve(x); Promise.all.call(C, [1]); await null; await null; await null; return 1`, `fulfilled 1 rejections=1`},
		{`const order = []; await Promise.all([Promise.all([1]).then(() => order.push("all")), Promise.resolve().then(() => order.push(1)).then(() => order.push(2)).then(() => order.push(3))]); return order`, `fulfilled [1,"all",2,3]`},
	} {
		out, err := newVM(t, &recorder{}, Options{Deadline: time.Now().Add(5 * time.Second)}).Run(test.body)
		if err != nil || show(out) != test.want {
			t.Errorf("%s\n got %s %v\nwant %s", test.body, show(out), err, test.want)
		}
	}
}

func TestRejectionsKeepTheirOrder(t *testing.T) {
	vm := newVM(t, &recorder{}, Options{})
	out, err := vm.Run(`
		const reject = (n) => Promise.reject(new Error(n));
		reject("1"); const handled = reject("2"); reject("3"); queueMicrotask(() => { throw new Error("4") });
		setTimeout(() => { throw new Error("5") }, 1);
		Promise.reject(6); await null; handled.catch(() => {}); return "done"`)
	if err != nil || show(out) != `fulfilled "done" rejections=4` {
		t.Fatal(show(out), err)
	}
	if _, err := vm.Settle(1, true, []byte("null")); err != nil {
		t.Fatal(err)
	}
	text, err := vm.Rejections()
	if err != nil {
		t.Fatal(err)
	}
	var list []guestabi.Thrown
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Message+string(e.Value))
	}
	if diff := cmp.Diff([]string{"1", "3", "6", "4", "5"}, got); diff != "" {
		t.Errorf("rejections (-want +got):\n%s", diff)
	}
}

func TestManyRejectionsAreBounded(t *testing.T) {
	vm := newVM(t, &recorder{}, Options{})
	if out, err := vm.Run(`const m = "x".repeat(1e5); for (let i = 0; i < 5000; i++) Promise.reject(new Error(m)); return 1`); err != nil || out.Rejections != 5000 {
		t.Fatal(show(out), err)
	}
	text, err := vm.Rejections()
	var list []guestabi.Thrown
	if err != nil || json.Unmarshal([]byte(text), &list) != nil || len(list) != 5000 || len(text) > 2<<20 {
		t.Errorf("%d rejections in %d bytes, %v", len(list), len(text), err)
	}
}
