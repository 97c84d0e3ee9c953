package transpile

import (
	"strings"
	"testing"
)

// Types are blanked in place; what is left stands where it stood.
func TestTypesAreErased(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		// annotations
		{"let a: number = 1", "let a = 1"}, {"const a: string | null = b, c: D = e", "const a = b, c = e"}, {"let a: string", "let a"}, {"var a!: number", "var a"},
		{"let {a, b}: {a: number; b: string} = c", "let {a, b} = c"}, {"const [a]: [number] = b", "const [a] = b"}, {"for (const a of b as C[]) d", "for (const a of b ) d"}, {"for (let i: number = 0; ; ) break", "for (let i = 0; ; ) break"},
		{"try {} catch (e: unknown) {}", "try {} catch (e ) {}"}, {"try {} catch ({message}: any) {}", "try {} catch ({message} ) {}"},

		// functions
		{"function f(a: number, b?: string, ...c: any[]): void {}", "function f(a , b , ...c ) {}"}, {"function f<T, U extends keyof T = keyof T>(a: T): U {}", "function f (a ) {}"}, {"function f(this: Foo, a: number) {}", "function f( a ) {}"},
		{"function f(a: number): a is 1 { return 1 }", "function f(a ) { return 1 }"}, {"function f(a: unknown): asserts a is B {}", "function f(a ) {}"}, {"function f(a): asserts a {}", "function f(a) {}"},
		{"async function f(): Promise<Map<string, number[]>> {}", "async function f() {}"}, {"function* f(): Generator<number> {}", "function* f() {}"}, {"function f(a: string): void; function f(a: number): void; function f(a: any) {}", "; ; function f(a ) {}"},
		{"(function (a: B): C {})", "(function (a ) {})"}, {"function f({a, b}: {a: 1; b: 2}, [c]: number[] = []) {}", "function f({a, b} , [c] = []) {}"}, {"function f(a: () => void = () => {}) {}", "function f(a = () => {}) {}"}, {"function f(a?: number) {}", "function f(a ) {}"},

		// arrow functions
		{"(a: number) => a", "(a ) => a"}, {"(a: number): number => a", "(a ) => a"}, {"(a?: number) => a", "(a ) => a"}, {"(): void => {}", "() => {}"}, {"<T>(a: T) => a", "(a ) => a"}, {"<T,>(a: T): T => a", "(a ) => a"}, {"async <T>(a: T): Promise<T> => a", "async (a ) => a"},
		{"async (a: number) => a", "async (a ) => a"}, {"async (): Promise<void> => {}", "async () => {}"}, {"({a}: {a: number}) => a", "({a} ) => a"}, {"(a: number, b = (c: string): string => c) => b", "(a , b = (c ) => c) => b"}, {"f((a: number) => a, (b): b is C => b)", "f((a ) => a, (b) => b)"},
		{"(a: (b: number) => string) => a", "(a ) => a"}, {"a ? (b: number): c => d : e", "a ? (b ) => d : e"}, {"a ? (b) : (c: D) => e", "a ? (b) : (c ) => e"}, {"a ? b : (c): d => e", "a ? b : (c) => e"}, {"a ? ((b): c => d) : e", "a ? ((b) => d) : e"},
		{"let a: any; a ? (b) : c => d", "let a ; a ? (b) : c => d"}, {"let f = (a: A) => (b: B): C => d", "let f = (a ) => (b ) => d"}, {"(a = 1 as number) => a", "(a = 1 ) => a"}, {"([a, b]: [number, string]) => a", "([a, b] ) => a"},
		{"(): {\n  a: string\n} => ({a: ''})", "( \n \n ) => ({a: ''})"}, {"(a): Promise<{\n  b: C\n}> => {\n}", "(a \n \n ) => {\n}"},

		// types of every shape
		{"let a: A.B.C<D>", "let a"}, {"let a: A[][]", "let a"}, {"let a: A['b'][number]", "let a"}, {"let a: [b: string, c?: number, ...d: E[]]", "let a"}, {"let a: {b: C; readonly d?: E, [f: string]: G; h(): I; new (j: K): L; (m: N): O; get p(): Q; set p(r: S)}", "let a"},
		{"let a: {[K in keyof T as `x${K}`]-?: T[K]}", "let a"}, {"let a: {-readonly [K in T]+?: U}", "let a"}, {"let a: (b: C) => D", "let a"}, {"let a: new (...b: C[]) => D", "let a"}, {"let a: abstract new () => B", "let a"}, {"let a: <T>(b: T) => T", "let a"}, {"let a: ((b: C) => D)[]", "let a"},
		{"let a: typeof b.c", "let a"}, {"let a: keyof typeof b", "let a"}, {"let a: unique symbol", "let a"}, {"let a: readonly string[]", "let a"}, {"let a: 'b' | \"c\" | 1 | -1 | 1n | true | null | undefined | void | never | this", "let a"}, {"let a: | B | C", "let a"}, {"let a: & B & C", "let a"}, {"let a: `b${string}c`", "let a"},
		{"let a: T extends (infer U)[] ? U : never", "let a"}, {"let a: T extends {b: infer U extends string} ? U : V", "let a"}, {"let a: A extends B ? C extends D ? 1 : 2 : 3", "let a"}, {"let a: import('b').C<D>", "let a"}, {"let a: typeof import('b')", "let a"}, {"let a: asserts", "let a"}, {"let a: Array<Array<Array<number>>> = b", "let a = b"},
		{"let a: A<B<C>>= d", "let a = d"}, {"let a: {b: {c: {d: 1}}} = e", "let a = e"}, {"let a: (B | C) & D = e", "let a = e"}, {"let a: string\n[b] = c", "let a \n[b] = c"}, {"let a: {new: B, if: C, type: D}", "let a"},

		// expressions
		{"a as B", "a"}, {"a as const", "a"}, {"a satisfies B", "a"}, {"a as unknown as B", "a"}, {"(a as B).c", "(a ).c"}, {"a!", "a"}, {"a!.b!.c", "a .b .c"}, {"a![0]", "a [0]"}, {"a!()", "a ()"}, {"a! + b!", "a + b"}, {"(a as any) = 1", "(a ) = 1"}, {"a! = 1", "a = 1"}, {"a!++", "a ++"},
		{"f<A>(b)", "f (b)"}, {"f<A, B<C>>(d)", "f (d)"}, {"new Map<string, number>()", "new Map ()"}, {"new Map<string, Set<number>>", "new Map"}, {"a.b<C>()", "a.b ()"}, {"a?.<B>(c)", "a?. (c)"}, {"a?.b<C>(d)", "a?.b (d)"}, {"f<A>`b`", "f `b`"}, {"const g = f<number>; g", "const g = f ; g"}, {"f<<T>(a: T) => T>(b)", "f (b)"},
		{"<A>b", "b"}, {"<const>['a']", "['a']"}, {"(<any>a).b", "( a).b"}, {"let a: any = b < c", "let a = b < c"}, {"let a = b as number < d", "let a = b < d"}, {"`${a as B}`", "`${a }`"}, {"[a as B, c!]", "[a , c ]"}, {"({a: b as C, d: e!})", "({a: b , d: e })"}, {"a as B ? c : d", "a ? c : d"}, {"a ? b as C : d", "a ? b : d"}, {"f(a as B, c)", "f(a , c)"}, {"if (a as B) c", "if (a ) c"}, {"await (a as B)", "await (a )"}, {"a = b as C\n(d)", "a = b ; \n(d)"}, {"a = b as C\n[d] = e", "a = b ; \n[d] = e"}, {"a as B || c", "a || c"}, {"a + b as C", "a + b"}, {"return a as B", "return a"}, {"x! && y", "x && y"}, {"a as any as {b: C}[]", "a"}, {"a as B;\nlet c", "a ;\nlet c"},

		// declarations
		{"type A = B", ";"}, {"type A<T> = T[]; a", "; a"}, {"type A = B\na", "; \na"}, {"type A = {\n  b: C\n}\nlet d", "; \n \n \nlet d"}, {"interface A {}", ";"}, {"interface A<T> extends B, C<T> { d: E; f(): G }\nlet h: A", "; \nlet h"}, {"declare const a: B", ";"}, {"declare let a: B, c: D; e", "; e"}, {"declare function f(a: B): C", ";"}, {"declare class A { b: C }", ";"}, {"declare abstract class A {}", ";"}, {"declare module 'a' { export const b: C }", ";"}, {"declare global { interface A {} }", ";"}, {"declare namespace A { const b: C }", ";"}, {"declare enum A { B }", ";"}, {"declare type A = B", ";"}, {"declare interface A {}", ";"},
		{"import type A from 'a'; a", "; a"}, {"import type {A, B as C} from 'a'", ";"}, {"import type * as A from 'a'", ";"}, {"import {type A, type B} from 'a'", ";"}, {"import type A = require('a')", ";"}, {"export type {A} from 'a'", ";"}, {"export type {A}; type A = 1", "; ;"}, {"export type A = B", "; "}, {"export interface A {}", "; "}, {"export type * from 'a'", ";"}, {"export declare const a: B", "; "}, {"export default interface A {}\nlet a", "; \nlet a"},
		{"a = b\ntype C = D\n(e)", "a = b\n; \n(e)"}, {"a = b\ninterface C {}\n(e)", "a = b\n; \n(e)"},
		{"type = 1; let a: B", "type = 1; let a"}, {"let type: string, of: number, declare: B", "let type , of , declare"}, {"type\nA = B; let c: D", "type\nA = B; let c"}, {"var a: B; type(c); interface_; declare(d)", "var a ; type(c); interface_; declare(d)"}, {"namespace.a; let b: C", "namespace.a; let b"}, {"abstract\nclass A {} let b: C", "abstract\nclass A {} let b"}, {"let as: A = as as as", "let as = as"},

		// classes
		{"class A { a: number = 1; b?: string; c!: D; readonly e: F; private g = 1; public static h: I; declare j: K; protected l() {} }", "class A { a = 1; b ;; c ;; ; e ;; ; g = 1; ; static h ;; ; ; l() {} }"},
		{"class A<T> extends B<T> implements C, D<T> {}", "class A extends B {}"}, {"class A implements B {}", "class A {}"}, {"class A extends B<C>.d {}", "class A extends B .d {}"}, {"abstract class A { abstract a: B; abstract c(): D; e() {} }", "class A { ; ; e() {} }"},
		{"class A { a(b: C): D {} }", "class A { a(b ) {} }"}, {"class A { a(): void; a(b?: C) {} }", "class A { ; a(b ) {} }"}, {"class A { constructor(a: B) {} }", "class A { constructor(a ) {} }"}, {"class A { [a: string]: B }", "class A { ; }"}, {"class A { static readonly [a: string]: B; c = 1 }", "class A { ; c = 1 }"}, {"class A { readonly [a] = 1 }", "class A { ; [a] = 1 }"}, {"class A { get a(): B { return 1 } set a(b: C) {} }", "class A { get a() { return 1 } set a(b ) {} }"}, {"class A { #a: B = 1; static #c?: D }", "class A { #a = 1; static #c ; }"},
		{"class A { a?(): B {} }", "class A { a () {} }"}, {"class A { override a() {} }", "class A { ; a() {} }"}, {"class A { private async *a<T>(): B {} }", "class A { ; async *a () {} }"}, {"class A { get: B\na() {} }", "class A { get; \na() {} }"}, {"class A { static: B\na: C }", "class A { static; \na; }"}, {"class A { a: B\n['b']: C }", "class A { a; \n['b']; }"}, {"class A { a = 1\nprivate ['b'] = 2 }", "class A { a = 1\n; ['b'] = 2 }"}, {"class A { public: B; private = 1; readonly() {} }", "class A { public; ; private = 1; readonly() {} }"}, {"class A { declare() {} abstract() {} a: B }", "class A { declare() {} abstract() {} a; }"}, {"(class<T> { a: T })", "(class { a; })"}, {"(class A<T> implements B {})", "(class A {})"}, {"class A { a = <T>(b: T) => b }", "class A { a = (b ) => b }"}, {"({a<T>(b: T): T {}, async c(): Promise<D> {}, get e(): F { return 1 }})", "({a (b ) {}, async c() {}, get e() { return 1 }})"},
	} {
		cell, err := Prepare(c.source, Options{Language: TypeScript, KeepLast: true})
		if err != nil {
			t.Errorf("Prepare(%q): %v", c.source, err)
			continue
		}
		if got := tidy(cell.Body); got != tidy(c.want) || cell.Language != TypeScript || len(cell.Body) != len(c.source) {
			t.Errorf("Prepare(%q) as %s\n got %q\nwant %q", c.source, cell.Language, cell.Body, c.want)
		}
	}
}

// tidy takes the spaces out that erasing leaves.
func tidy(s string) string {
	s = squeeze(s)
	for _, p := range []string{"(", ")", "{", "}", "[", "]", ";", ",", ".", "=", "`", "?", "+", "!", ":"} {
		s = strings.ReplaceAll(strings.ReplaceAll(s, " "+p, p), p+" ", p)
	}
	return s
}

// What is valid in both is read as JavaScript, unless the caller says otherwise.
func TestLanguageIsChosen(t *testing.T) {
	for _, c := range []struct {
		source string
		opts   Options
		want   Language
	}{
		{"1", Options{}, JavaScript},
		{"1", Options{Language: TypeScript}, TypeScript},
		{"let a: B", Options{}, TypeScript},
		{"let a: B", Options{Language: TypeScript}, TypeScript},
		{"f<a>(b)", Options{}, JavaScript}, // two comparisons
		{"f<a>(b)", Options{Language: TypeScript}, TypeScript},
		{"type\nA = 1", Options{}, JavaScript},
		{"a < b > (c)", Options{}, JavaScript},
		{"@a class B {}", Options{}, TypeScript},
		{"enum A { B }", Options{}, TypeScript},
		{"```ts\n1\n```", Options{}, TypeScript},
		{"```ts\nlet a\n```", Options{Language: JavaScript}, JavaScript},
	} {
		if cell := prepared(t, c.source, c.opts); cell.Language != c.want {
			t.Errorf("Prepare(%q, %+v): language %s, want %s", c.source, c.opts, cell.Language, c.want)
		}
	}
	expectRefusedAs(t, "let a: B", Options{Language: JavaScript}, "syntax 1:6 Unexpected :")
	_, err := Prepare("let a: B", Options{Language: JavaScript})
	if want := "This is TypeScript: set language to typescript, or leave it out."; err.(*Error).Hint != want {
		t.Errorf("hint %q, want %q", err.(*Error).Hint, want)
	}
	expectRefusedAs(t, "1", Options{Language: "python"}, `language The language "python" is not known`)
	expectBody(t, "f<a>(b)", "return f<a>(b)")
}

// What runs is lowered: plain enums in place, the rest by esbuild.
func TestTypeScriptThatRuns(t *testing.T) {
	expectBody(t, "enum A { B, C = 5, D }\nA.D", "var A; { ((A) => { A[A[\"B\"] = 0] = \"B\"; A[A[\"C\"] = 5] = \"C\"; A[A[\"D\"] = 6] = \"D\"; })(A ||= {}); }\nreturn A.D")
	expectBody(t, "const enum A {\n  B = 'b',\n  'c-d' = \"e\"\n}", "var A; { ((A) => {\n  A[\"B\"] = 'b';\n  A['c-d'] = \"e\";\n})(A ||= {}); }")
	expectBody(t, "if (a) { enum A { B = -1, C } }", "if (a) { let A; { ((A) => { A[A[\"B\"] = -1] = \"B\"; A[A[\"C\"] = 0] = \"C\"; })(A ||= {}); } }")
	for _, c := range []struct {
		source string
		pieces []string
	}{
		{"enum A { B = 1 << 2, C = B | 1 }", []string{"let A;", `A2[A2["B"] = 4] = "B"`, `A2[A2["C"] = 5] = "C"`}},
		{"enum A { B = 'x'.length }", []string{`A2[A2["B"] = `}},
		{"enum A { B } enum A { C = 1 }", []string{`A2[A2["C"] = 1] = "C"`}},
		{"namespace A { export const b = 1; const c = 2 }\nawait A.b; return 1", []string{"var A;", "A2.b = 1", "const c = 2", "await A.b;", "return 1"}},
		{"class A {}\nlet a = 1\nnamespace A { export const b = 1 }\nreturn A.b", []string{"class A{}", ";      ", "A2.b = 1", "return A.b"}},
		{"enum A { B = 1 << 1 }\nnamespace A { export const c = A.B }\nreturn A.c", []string{"=>{", ";      ", "A2.c = ", "return A.c"}},
		{"namespace A.B { export function c(): number { return 1 } }", []string{"(A2=>", "B2.c = c"}},
		{"module A { export let b = 1 }", []string{"A2.b = 1"}},
		{"class A { constructor(private a: B, readonly c = 1) {} }", []string{"this.a = a;", "this.c = c"}},
		{"function dec(a: any, b: any) {}\n@dec class A { @dec b() {} }", []string{"__decorat", "A"}},
		{"class A { accessor b = 1 }", []string{"get b()", "set b("}},
		{"import A = B.C; A.d", []string{"const A = B.C; A.d"}},
		{"import type B from 'b'; enum A { C = 1 + 1 }", []string{`"C"`}},
		{"export enum A { B = 1 + 1 } export default A", []string{"return A"}},
		{"a as number * 2", []string{"a * 2"}},
		{"a + b as number * 2", []string{"(a + b) * 2"}},
		{"return <\n  T\n>(a: T) => a", []string{"return a => a"}},
	} {
		expectCompiled(t, c.source, c.pieces...)
	}
	expectRefused(t, "enum A { B = 1 + 1 } }", "syntax 1:22 Unexpected }: no { is open here")
	expectRefused(t, "const A = 1; namespace A { export const b = 1 }", "syntax 1:24 ")
	expectRefused(t, "namespace A { let b = ; }", "syntax 1:23 Unexpected ;")
	expectRefused(t, "let a: number = 1; } evil(); {", "syntax 1:20 Unexpected }")
	expectRefused(t, "enum A { B = 1 + 1 } evil(); } async function f() {", "syntax 1:30 Unexpected }")
}

func TestTypeScriptErrors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"const a: number = ;", "syntax 1:19 Unexpected ;"},
		{"let a: = 1", "syntax 1:8 Expected a type but found ="},
		{"type A = ;", "syntax 1:10 Expected a type but found ;"},
		{"interface A { b: }", "syntax 1:18 Expected a type but found }"},
		{"function f(a: number { }", "syntax 1:22 Expected ) to close the ( of line 1, column 11, but found {"},
		{"let a: number = 1;\nlet b: string = 'x;", "syntax 2:17 This string is not closed"},
		{"const f = (a: number): string => { return a", "syntax 1:44 The source ends before the { of line 1, column 34 is closed"},
		{"let a: Array<number = 1", "syntax 1:21 Expected > but found ="},
		{"declare const x: =", "syntax 1:18 "},
		{"const x: number", `syntax 1:7 The constant "x" needs a value`},
		{"let a: A; let a: B", `syntax 1:15 The name "a" is declared twice`},
		{"const App = () => <div>hi</div>", "language 1:19 JSX is not supported"},
		{"return <Foo a={1} />", "language 1:8 JSX is not supported"},
		{"const a: number = <b>hi</b>", "language 1:19 JSX is not supported"},
	} {
		expectRefused(t, c.source, c.want)
	}
}
