package transpile

import "testing"

// What the engine takes stays as it is.
func TestJavaScriptStaysAsItIs(t *testing.T) {
	for _, source := range []string{
		// literals
		"1", "0", "0.5", ".5", "5.", "1e3", "1E-3", "1_000.5_0", "0x1F", "0b101", "0o17", "017", "08.5", "10n", "0xFFn",
		"'a'", `"a"`, `'\''`, `"\x41\u0041\u{1F600}"`, "'a\\\nb'", "'a\\\r\nb'", "'\u2028'", `"\0"`, "'\x00'",
		"``", "`a`", "`a${1}b`", "`${`${`x`}`}`", "`\\``", "`\\${a}`", "`$${1}$`", "`a\nb`", "`{}${{a: {}}.a}`", "tag`a${1}`", "a.b`c``d`",
		"/a/", "/a/gi", "/[/]/", "/[\\]/]/", "/\\//", "/(?<y>\\d{4})/u", "/[\\p{L}--[a-z]]/v", "/=/", "[/a/, /b/]", "(/a/.test(b))",
		"null", "true", "false", "this", "[]", "[1]", "[,]", "[,,1,]", "[...a]", "[...a, ...b,]", "({})", "({a})", "({a: 1, 'b': 2, 3: 4, [c]: 5})",
		"({a() {}, *b() {}, async c() {}, async *d() {}, get e() { return 1 }, set e(v) {}})", "({get: 1, set: 2, async: 3, static: 4})",
		"({get() {}, set() {}, async() {}, new() {}, if() {}})", "({get [a]() {}, async *[b]() {}})", "({...a, ...b()})", "({__proto__: null})",
		"({1n: 2, 0x10: 3, 'a-b': 4})", "({async, get, set, of, let: 1})", "({async *a() {}, async\n: 1})",

		// operators
		"a + b - c * d / e % f ** g", "2 ** 3 ** 2", "2 ** -1", "(-2) ** 2", "a << b >> c >>> d", "a & b | c ^ d", "a && b || c", "a ?? b", "(a ?? b) || c",
		"a == b != c === d !== e", "a < b > c <= d >= e", "a in b", "a instanceof b", "!a", "~a", "+a", "-a", "- -a", "+ +a", "typeof a", "void 0", "delete a.b",
		"++a", "--a", "a++", "a--", "a\n++b", "a ? b : c", "a ? b : c ? d : e", "a ? (b, c) : (d, e)", "a, b, c", "a = b", "a = b = c", "a += b", "a -= b",
		"a *= 1; a /= 1; a %= 1; a **= 1; a <<= 1; a >>= 1; a >>>= 1; a &= 1; a |= 1; a ^= 1", "a &&= b; a ||= c; a ??= d",
		"a / b / c", "a /b/ c", "a++ / 2", "a[0] / 2 / b", "(a) / 2 / b", "if (a) /b/.test(c)", "x = {} / 2", "a = b\n/c/g.d", "return /a/", "typeof /a/",
		"a?.b", "a?.[b]", "a?.(b)", "a?.b.c[d](e)", "a?.b?.c?.()", "a ?.5 : 1", "a?.5:1", "a.if.class.new", "class A { #b; c(d) { return d.#b in c } }",
		"new A", "new A()", "new A.B.C(1)", "new (a())()", "new a[b]()", "new new A()()", "new A().b", "new class {}()", "new (foo().bar)()", "async", "async()", "async(a, ...b)", "async\n(a)",

		// assignment patterns
		"[a, b] = [b, a]", "[a = 1, [b], ...c] = d", "[, a, , b] = c", "({a, b: c, d = 1, e: f = 2, ...g} = h)", "({a: [b, {c}]} = d)", "[a.b, c[d], ...e.f] = g",
		"[(a), (b.c)] = d", "({a: (b)} = c)", "(a) = 1", "({[a]: b} = c)", "({a: {b = 1} = {}} = c)", "for ([a, b] of c) ;", "for ({a, b = 1} of c) ;", "for (a.b of c) ;", "for (a[b] in c) ;",

		// functions
		"(function () {})", "(function a() {})", "(function* () { yield; yield 1; yield* a; yield\n/a/ })", "(async function () { await a })", "(async function* () { yield await a; for await (const b of c) ; })",
		"(a => a)", "(() => {})", "(() => ({}))", "((a, b) => a + b)", "((a = 1, {b, c = 2}, [d], ...e) => 1)", "((...a) => a)", "((a,) => a)", "(async a => await a)", "(async (a, b) => {})",
		"(async ({a}, [b] = []) => 1)", "(async () => {})", "a => b => c => d", "x = a => ({b: a})", "x = (a, b) =>\n{}", "(a = (b = (c) => c) => b) => a", "a ? (b) => c : d => e",
		"((a) => { return a })(1)", "(async () => { await x })()", "(function () { return this })()", "!function () {}()", "f(async x => x, y => y)", "((a), b)", "(({a}) => a)({a: 1})", "async (x) => x, 1",
		"function f(a, b = 1, {c}, [d], ...e) {}", "function* g() {}", "async function h() {}", "async function* i() {}", "function yield_() { var yield = 1 }", "function f() { var await = 1; await\n(2) }",
		"function f(a, a) {}", "function f() { return\n1 }", "function f() { 'use strict' }", "function f() { new.target }",
		"var async = 1; async = 2", "var get, set, of, from, as, type, static_", "var let_ = 1", "async\nfunction f() {}", "var yield = 1", "var let = 1; let = 2", "yield = 1",

		// classes
		"class A {}", "class A extends B {}", "class A extends (B, C) {}", "class A extends f() {}", "(class {})", "(class A extends class {} {})", "class A { constructor() { super() } }",
		"class A { a; b = 1; static c; static d = 2; #e; #f = 3; static #g = 4; 'h' = 5; [i] = 6; 7 = 8 }", "class A { a\nb\n*c() {} }", "class A { static { this.x = 1 } static {} }",
		"class A { get a() { return 1 } set a(v) {} static get b() { return 1 } get #c() { return 1 } }", "class A { async a() {} *b() {} async *c() {} static async *d() {} #e() {} static #f() {} }",
		"class A { get; set; static; async; of; get = 1; static static; static async; static get }", "class A { get\na() {} }", "class A { static\na() {} }", "class A { async\na() {} }",
		"class A { #a; b(c) { return #a in c && c.#a?.b } }", "class A { 'constructor'() {} }", "class A { a = () => this; b = async () => await 1 }", "class A { ;;a() {}; }", "class A { static async = 1; get = 2; set = 3 }",
		"class A extends B { m() { super.m(); super['m'](); return super.x } }",

		// statements
		"", ";", "{}", "{ a }", "{ a; b }", "if (a) b", "if (a) b; else c", "if (a) {} else if (b) {} else {}", "if (a) function f() {}", "for (;;) break", "for (var i = 0; i < 1; i++) ;", "for (let i = 0, j = 1; i < j; ) break",
		"for (const a of b) ;", "for (var a in b) ;", "for (let [a, b] of c) {}", "for (let {a} of b) {}", "for (var a = 1 in b) ;", "for (a of b) ;", "for (a in b) ;", "for (let in a) ;", "for (let = 0; ; ) break", "for await (const a of b) ;", "for (async of => 1;;) break",
		"for (const a in {}) ;", "for (let i = 'a' in b ? 1 : 2; ; ) break" /* not JavaScript: see below */, "while (a) b", "do a; while (b)", "do a; while (b) c", "do { a } while (b)", "a: for (;;) { continue a }", "a: b: for (;;) continue a", "a: { break a }", "a: function f() {}",
		"switch (a) {}", "switch (a) { case 1: case 2: b; break; default: c }", "switch (a) { case 1: let b; { let b } }", "try { a } catch { b }", "try { a } catch (e) { b } finally { c }", "try { a } catch ({message, cause: [c]}) {}", "try {} finally {}",
		"throw a", "debugger", "with (a) b", "var a", "var a, b = 1", "let a", "let a = 1, b", "const a = 1", "let [a] = b", "const {a, b: [c], ...d} = e", "let\na", "var {a = 1} = b", "label: a", "yield: a",
		"var a; var a", "function a() {} var a", "function a() {} function a() {}", "{ function a() {} function a() {} }", "let a; { let a }", "let a; (a => { let b = a })", "try {} catch (a) { var a }", "function f(a) { var a }", "(function a() { let a })", "let a; function f() { var a }",
		"a\nb", "a\n;b", "var a = 1\nvar b = 2", "a = b\n(c)", "a\n[b]", "a = b + c\n;(d)", "return", "return 1", "return\n1", "if (a) return; b", "{ return }", "await a", "await await a", "a = await b + await c", "(await a).b", "await (a)", "await [a]", "[await a]", "`${await a}`",
		"using a = b", "await using a = b", "for (using a of b) ;", "for (await using a of b) ;", "using = 1", "using\na", "using[a]", "for (using of of) ;", "using (a)", "var using = 1",
		"'use strict'", "'use strict'; a", "'a'; 'b'", "\"use strict\"; let static_ = 1",

		// comments
		"// a", "/* a */", "/* a\nb */ c", "a // b", "a /* b */", "a // b\n", "<!-- a", "a <!-- b", "a\n--> b", "--> a", "a-->b", "a--\n>b", "/* a */ --> b", "/*\n*/ --> b", "//# sourceMappingURL=x",
		"// require('x') import 'y'", "/* import.meta */ a",

		// names and odd characters
		"é", "变量 = 1", "ℝ", "𠮷 = 1", "\\u0061bc = 1", "\\u{61}bc", "a\\u0062c", "a\u200db", "var ゛ = 1", "a\u00a0+\u3000b", "\ufeffa", "a\u2003b" /* two names: see below */, "$ + _ + $a1", "a.\\u{69}f", "({\\u0061: 1})", "class A { #é }",
	} {
		switch source {
		case "for (let i = 'a' in b ? 1 : 2; ; ) break", "a\u2003b":
			if _, err := Prepare(source, Options{}); err == nil {
				t.Errorf("Prepare(%q) was accepted", source)
			}
			continue
		case "", ";":
			continue // TestEmpty
		}
		expectSame(t, source)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"const x = ;", "syntax 1:11 Unexpected ;"},
		{"const x", `syntax 1:7 The constant "x" needs a value`},
		{"const x\nconst y = 1", `syntax 1:7 The constant "x" needs a value`},
		{"let a = 1; let a = 2", `syntax 1:16 The name "a" is declared twice: first at line 1, column 5`},
		{"let a\nvar a", `syntax 2:5 declared twice: first at line 1, column 5`},
		{"const a = 1; { var a }", "syntax 1:20 declared twice"},
		{"function f(a) { let a }", "syntax 1:21 declared twice"},
		{"class A {}\nlet A", "syntax 2:5 declared twice"},
		{"let f; function f() {}", "syntax 1:17 declared twice"},
		{"try {} catch (e) { let e }", "syntax 1:24 declared twice"},
		{"let [a, a] = b", "syntax 1:9 declared twice"},
		{"switch (a) { case 1: let b; case 2: let b }", "syntax 1:41 declared twice"},
		{"return 1 +", "syntax 1:11 The source ends too early"},
		{"foo(", "syntax 1:5 The source ends"},
		{"foo(1, 2", "syntax 1:9 The source ends before the ( of line 1, column 4 is closed"},
		{"if (a) {\n  b()\n", "syntax 2:6 The source ends before the { of line 1, column 8 is closed"},
		{"[1, 2", "syntax 1:6 The source ends before the [ of line 1, column 1 is closed"},
		{"foo(1 2)", "syntax 1:7 Expected ) to close the ( of line 1, column 4, but found number 2"},
		{"[1 2]", "syntax 1:4 Expected ] to close the ["},
		{"({a: 1 b: 2})", "syntax 1:8 Expected } to close the { of line 1, column 2, but found name \"b\""},
		{"foo(1, 2]", "syntax 1:9 Expected ) to close"},
		{"a)", "syntax 1:2 Unexpected )"},
		{"}", "syntax 1:1 Unexpected }: no { is open here"},
		{"}); evil(); (async()=>{", "syntax 1:1 Unexpected }: no { is open here"},
		{"} evil(); {", "syntax 1:1 Unexpected }: no { is open here"},
		{"a()\n}\nevil()\nasync () => {", "syntax 2:1 Unexpected }: no { is open here"},
		{"if (a) { b } }", "syntax 1:14 Unexpected }: no { is open here"},
		{"*/ evil() /*", "syntax 1:1 Unexpected *"},
		{"`a", "syntax 1:1 This template literal is not closed"},
		{"`a ${b", "syntax 1:7 "},
		{"'abc", "syntax 1:1 This string is not closed"},
		{"'abc\ndef'", "syntax 1:1 This string is not closed on its line"},
		{"x = \"abc\n", "syntax 1:5 This string is not closed on its line"},
		{"/abc", "syntax 1:1 This regular expression is not closed"},
		{"/a/gx", "syntax 1:5 A regular expression has no flag x here"},
		{"/a/gg", "syntax 1:5 A regular expression has no flag g here"},
		{"a\\u0020b", "syntax 1:1 This name has an escaped character that no name can have"},
		{"a /* b", "syntax 1:3 This comment is not closed"},
		{"items.map(x => await f(x))", "syntax 1:16 await is used inside a function that is not async"},
		{"function f() { await g() }", "syntax 1:16 await is used inside a function that is not async"},
		{"xs.forEach(function (x) { for await (const y of x) ; })", "syntax 1:31 for await is used inside a function that is not async"},
		{"xs.forEach(x => { if (x) break; })", "syntax 1:26 break is used outside a loop or switch"},
		{"continue", "syntax 1:1 continue is used outside a loop"},
		{"switch (a) { case 1: continue }", "syntax 1:22 continue is used outside a loop"},
		{"for (;;) { break a }", `syntax 1:18 There is no label "a"`},
		{"a: { continue a }", `syntax 1:15 There is no label "a"`},
		{"a: a: ;", `syntax 1:4 The label "a" is already used`},
		{"1 = 2", "syntax 1:1 This cannot be assigned to"},
		{"f() = 1", "syntax 1:1 This cannot be assigned to"},
		{"a?.b = 1", "syntax 1:1 An optional chain (?.) cannot be assigned to"},
		{"a + b = c", "syntax 1:1 This cannot be assigned to"},
		{"[a + 1] = b", "syntax 1:1 This cannot be assigned to"},
		{"({a}) = 1", "syntax 1:1 This cannot be assigned to"},
		{"1++", "syntax 1:1 This cannot be assigned to"},
		{"for (1 of a) ;", "syntax 1:6 This cannot be the variable of a for loop"},
		{"for (let a, b of c) ;", "syntax 1:6 declares one variable without a value"},
		{"({a = 1})", "syntax 1:5 A default value after = belongs in a destructuring pattern"},
		{"f({a = 1})", "syntax 1:6 A default value"},
		{"-a ** 2", "syntax 1:1 Put the operand of ** in parentheses"},
		{"a ?? b || c", "syntax 1:3 ?? cannot be mixed"},
		{"a || b ?? c", "syntax 1:8 ?? cannot be mixed"},
		{"()", "syntax 1:3 The source ends where => after () was expected"},
		{"(a, ...b)", "syntax 1:5 Unexpected . in parentheses"},
		{"(a\n=> b", "syntax 2:1 "},
		{"throw\na", "syntax 1:1 throw needs a value on the same line"},
		{"try { a }", "syntax 1:10 The source ends where catch or finally was expected"},
		{"try { a } b", "syntax 1:1 This try has neither catch nor finally"},
		{"if a { b }", "syntax 1:4 Expected ( but found name \"a\""},
		{"for (let i = 0; i < 3; i++", "syntax 1:27 The source ends before the ( of line 1, column 5"},
		{"for (const i = 0, i < 3, i++) ;", "syntax 1:19 declared twice"},
		{"while (a) let b = 1", "syntax 1:11 A declaration cannot be the whole body"},
		{"if (a) const b = 1", "syntax 1:8 A declaration cannot be the whole body"},
		{"var if = 1", `syntax 1:5 "if" is a reserved word and cannot be a name`},
		{"let class = 1", `syntax 1:5 "class" is a reserved word`},
		{"const {default} = a", `syntax 1:8 "default" is a reserved word: write default: name`},
		{"let let = 1", "syntax 1:5 let cannot be the name"},
		{"function () {}\na", "syntax 1:1 A function statement needs a name"},
		{"class { }", "syntax 1:7 Expected the name of the class"},
		{"() => {}()", "syntax 1:9 An arrow function cannot be called like this"},
		{"let x y", "syntax 1:7 Unexpected name \"y\""},
		{"a b", "syntax 1:3 Unexpected name \"b\""},
		{"foo bar baz", "syntax 1:5 Unexpected name \"bar\""},
		{"let 1a = 2", "syntax 1:6 A number is followed directly by a"},
		{"3in []", "syntax 1:2 A number is followed directly by i"},
		{"1.toString()", "syntax 1:3 A number is followed directly by t"},
		{"x = “a”", "syntax 1:5 Unexpected character “"},
		{"a # b", "syntax 1:3 Unexpected character #"},
		{"a \\ b", "syntax 1:3 Unexpected backslash outside a string"},
		{"a\x00b", "syntax 1:2 Unexpected character U+0000"},
		{"const a = 1,", "syntax 1:13 "},
		{"a.", "syntax 1:3 The source ends where a property name was expected"},
		{"a.#b", "syntax 1:3 The private name #b is outside a class"},
		{"var a = function", "syntax 1:17 "},
		{"({get a})", "syntax 1:8 "},
		{"new.foo", "syntax 1:5 Expected target"},
		{"import", "syntax 1:7 "},
		{"let [a]", "syntax 1:8 A destructuring pattern needs a value"},
		{"enum", "syntax 1:5 "},
		{"a => { b", "syntax 1:9 The source ends before the { of line 1, column 6 is closed"},
		{"async () => { await fetch(", "syntax 1:27 The source ends"},
		{"é = ;", "syntax 1:5 Unexpected ;"},
		{"'😀'; x = ;", "syntax 1:11 Unexpected ;"},
		{"\r\n\r\nx = ;", "syntax 3:5 Unexpected ;"},
		{"a\u2028b\u2029x = ;", "syntax 3:5 Unexpected ;"},
		{"a\rx = ;", "syntax 2:5 Unexpected ;"},
	} {
		expectRefused(t, c.source, c.want)
	}
}

// Names that clash in one reading of a parenthesis must not survive into the other.
func TestArrowParametersAreReadTwice(t *testing.T) {
	for _, source := range []string{
		"let a = 1; f((a, b = function () { let a }) => a)",
		"let r = (a = {b: (c) => { let d = c; return d }}) => { let d = a }",
		"async (a, b = () => { let c }) => { let c }",
		"((a, {b = (c, d = e => { let f }) => { let f }}) => { let f })",
		"const f = ({a = 1}) => a, g = ({a = 1} = {}) => a",
		"const f = (x, {a = 1, ...b}) => [a, b]",
	} {
		expectSame(t, source)
	}
}

func TestNamesOutsideASCII(t *testing.T) {
	for _, source := range []string{"ªb", "ℇ℘", "a\u0323", "a\u0966", "a\u30fb", "\u2160", "\U0001d4b3 = 1", "class A { #é; #变 = 1 }"} {
		expectSame(t, source)
	}
	for _, c := range []struct{ source, want string }{
		{"\u0323", "syntax 1:1"}, {"\u0966a", "syntax 1:1"}, {"\u200da", "syntax 1:1"}, {"\u30fba", "syntax 1:1"}, {"class A { #\u0323 }", "syntax 1:11"}, {"a\u2019b", "syntax 1:2"}, {"€", "syntax 1:1"}, {"→", "syntax 1:1"}, {"\U0001f600", "syntax 1:1"},
	} {
		expectRefused(t, c.source, c.want+" Unexpected character ")
	}
}
