package transpile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLastExpressionIsReturned(t *testing.T) {
	for _, source := range []string{
		"«1", "«a", "«a;", "«a // b", "«a;;", "«a; ; // b\n;", "a;\n«b", "a\n«b\n", "let a = 1\n«a", "«a, b", "«a = 1", "«await a", "«a ? b : c", "«(a)", "«[1, 2]", "«({a: 1})", "«`a`", "«'a'", "«/a/", "«-1", "«+a", "«!a",
		"«new A", "«a => a + b, 1", "«tools.x({a: 1})", "const a = await b();\n«a.map(c => c.d)", "if (a) return 1;\n«b", "«(async () => { await a })()", "«(function () {})()", "«a\n  .b()\n  .c()", "«async\n(a)", "«typeof a",
		"«a; function f() {}", "«main();\nasync function main() { return 1 }", "function f() {} «f()", "a(); «b(); function c() {} function d() {}", "'use strict'; «a", "'use strict'; «f(); function f() {}", "'a'; «'b'", "'a'; «'b'; function f() {} function g() {}", "'use\\x20strict'; «'b'", "('use strict'); «'use strict'", "«('use strict')", "«'hello'", "«import_()", "«let_", "«yield_",
		"label: for (;;) { break label }\n«a", "«a /* b */", "/* a */ «b", "«a\n/* b */", "«é", "'😀'; «b", "«class_", "async function f() {}\n«f\n", "{ a }\n«b", "«x = {}", "«delete a.b",
	} {
		expectReturned(t, source)
	}
	for _, source := range []string{
		"let a = 1", "return 1", "if (a) b", "for (;;) {}", "{ a }", "{ a: 1 }", "{a: b}", "a: b", "'use strict'", "\"use strict\";", "'use strict'; function f(a) {}", "'use strict'; 'use strict'; let a", "'use strict'; function f() {} function g() {}", "class A {}", "function f(a) {}", "function* f() {}", "throw a", "a; let b", "a; return", "try { a } finally {}", "a; class B {}", "switch (a) { case 1: b }", "var a = b", "while (a) b", "do a; while (b)", "using a = b", "debugger", "// a", "a; if (b) c",
	} {
		expectBody(t, source, source)
	}
}

func TestKeepLast(t *testing.T) {
	for _, source := range []string{"1", "a; b", "() => 1", "async () => { return 1 }", "(function () {})", "function main() {}", "a; // b"} {
		expectSame(t, source)
	}
	for _, c := range []struct{ source, want string }{ // not valid as it is: something has to be done
		{"async function () { return 1 }", "return (async function () { return 1 })();"},
		{"function () { return 1 }", "return (function () { return 1 })();"},
		{"export default 1", "               return 1"},
	} {
		cell := prepared(t, c.source, Options{KeepLast: true})
		if diff := cmp.Diff(c.want, cell.Body); diff != "" {
			t.Errorf("body of %q (-want +got):\n%s", c.source, diff)
		}
	}
}

func TestWholeFunctionIsCalled(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"async () => { return 1 }", "return (async () => { return 1 })();"},
		{"() => 1", "return (() => 1)();"},
		{"async () => { return 1 };", "return (async () => { return 1 })();;"},
		{"async () => {\n  return 1\n}\n", "return (async () => {\n  return 1\n})();\n"},
		{"// a\nasync () => { return 1 } // b", "// a\nreturn (async () => { return 1 })(); // b"},
		{"(async () => { return 1 })", "return ((async () => { return 1 }))();"},
		{"(function () { return 1 })", "return ((function () { return 1 }))();"},
		{"async function () { return 1 }", "return (async function () { return 1 })();"},
		{"function () { return 1 }", "return (function () { return 1 })();"},
		{"async function main() { return 1 }", "async function main() { return 1 }; return main();"},
		{"'use strict'\nfunction main() { return 1 }", "'use strict'\nfunction main() { return 1 }; return main();"},
		{"'use strict'; () => 1", "'use strict'; return (() => 1)();"},
		{"function main() { return 1 }\n", "function main() { return 1 }; return main();\n"},
		{"async ({tools, text}) => tools.x()", "return (async ({tools, text}) => tools.x())(globalThis);"},
		{"async (tools) => { return tools.x() }", "return (async (tools) => { return tools.x() })(globalThis.tools);"},
		{"tools => tools.x()", "return (tools => tools.x())(globalThis.tools);"},
		{"async (tools, {a}, b = 1, c) => 1", "return (async (tools, {a}, b = 1, c) => 1)(globalThis.tools, globalThis);"},
		{"(...args) => args", "return ((...args) => args)();"},
		{"export default async () => { return 1 }", "               return (async () => { return 1 })();"},
		{"export default async function main() { return 1 }", "               return (async function main() { return 1 })();"},
		{"export default function () { return 1 }", "               return (function () { return 1 })();"},
		{"export default async function ({tools}) { return 1 }", "               return (async function ({tools}) { return 1 })(globalThis);"},
		{"const a = 1;\nexport default () => a;", "const a = 1;\n               return (() => a)();;"},
		{"export default () => f(); function f() {}", "               return (() => f())();; function f() {}"},
		{"export default\n  foo", "              \n  return foo"},
		{"export default {a: 1}", "               return {a: 1}"},
		{"export const a = 1; a", "       const a = 1; return a"},
		{"export async function f() {}\nexport class A {}\nf()", "       async function f() {}\n       class A {}\nreturn f()"},
		{"const a = 1\nexport { a as b, a }\na", "const a = 1\n;                   \nreturn a"},
	} {
		expectBody(t, c.source, c.want)
	}
	for _, source := range []string{"function f(a, b) { return a + b }", "function* f() {}", "function f() {} function g() {}"} {
		expectBody(t, source, source)
	}
	for _, c := range []struct{ source, want string }{
		{"export default a; b()", "syntax 1:1 export default is the result of the cell and must be its last statement"},
		{"export default a; export default b", "syntax 1:19 There is an export default already"},
		{"{ export const a = 1 }", "syntax 1:3 Unexpected keyword \"export\""},
		{"if (a) import 'b'", "module_access 1:8"},
		{"(function* () {})\nfunction () {}", "syntax 2:1 A function statement needs a name"},
	} {
		expectRefused(t, c.source, c.want)
	}
}

func TestFence(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"```js\na\n```", "     \nreturn a\n   "},
		{"```\na\n```\n", "   \nreturn a\n   \n"},
		{"  ```javascript\nconst a = `b`;\na\n  ```  \n", "               \nconst a = `b`;\nreturn a\n       \n"},
		{"~~~js\na\n~~~", "     \nreturn a\n   "},
		{"````js\n`a` + `b`\n````", "      \nreturn `a` + `b`\n    "},
		{"\n\n```ts\nlet a: string = 'b'\n```", "\n\n     \nlet a         = 'b'\n   "},
		{"```js\nasync () => {\n  return 1\n}\n```", "     \nreturn (async () => {\n  return 1\n})();\n   "},
		{"```js\r\na\r\n```", "     \r\nreturn a\r\n   "},
		{"Here is the code:\n\n```js\na()\n```\nIt calls a.", "                 \n\n     \nreturn a()\n   \n           "},
		{"```js {1,2}\na\n```", "           \nreturn a\n   "},
	} {
		expectBody(t, c.source, c.want)
	}
	for _, c := range []struct{ source, want string }{
		{"```js\na(", "syntax 1:1 The Markdown fence is not closed"},
		{"```js\na b\n```", "syntax 2:3 Unexpected name"},
		{"```bash\nls -la\n```", "not_code 1:1 a shell command"},
		{"```python\nprint(1)\n```", "not_code 1:1 Python"},
		{"```json\n[1]\n```", "not_code 1:1 JSON"},
		{"First do this:\n```js\na\n```\nand then that:\n```js\nb\n```", "not_code prose with several blocks of code"},
	} {
		expectRefused(t, c.source, c.want)
	}
	expectSame(t, "`a`") // a template is no fence
}

func TestNotes(t *testing.T) {
	expectNotes(t, "let a = 1")
	expectNotes(t, "return 1")
	expectNotes(t, "let a: number = 1")
	expectNotes(t, "a", NoteReturned)
	expectNotes(t, "async () => 1", noteCalled)
	expectNotes(t, "({a}) => a", noteArgs)
	expectNotes(t, "function f() {}", noteCalled)
	expectNotes(t, "function () {}", noteCalled)
	expectNotes(t, "export default a", noteDefault)
	expectNotes(t, "export const a = 1", noteExport)
	expectNotes(t, "export const a: number = 1", noteExport)
	expectNotes(t, "export type A = 1; let a: A")
	expectNotes(t, "export enum A { B = 1 + 1 }", noteExport)
	expectNotes(t, "```js\nlet a\n```", noteFence)
	expectNotes(t, "```js\na\n```", noteFence, NoteReturned)
	expectNotes(t, "Here:\n```js\na\n```", noteProse, NoteReturned)
	expectNotes(t, "#!/usr/bin/env node\nlet a", noteHashbang)
	expectNotes(t, "export default async (): Promise<number> => 1", noteDefault)
	expectNotes(t, "enum A { B = 1 << 1 }\nexport default async () => A.B", noteDefault)
	expectNotes(t, "let a: number = 1; a", NoteReturned)
}
