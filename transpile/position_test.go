package transpile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// byteColumn is the place of a mark in a text as the engine reports places: line, and column in bytes, both from 1.
func byteColumn(t *testing.T, text, mark string) (line, column int) {
	t.Helper()
	i := strings.Index(text, mark)
	if i < 0 {
		t.Fatalf("no %q in %q", mark, text)
	}
	return strings.Count(text[:i], "\n") + 1, i - strings.LastIndexByte(text[:i], '\n')
}

// expectMapped: the mark, wherever it went, leads back to where it is in the source.
func expectMapped(t *testing.T, source, mark string) {
	t.Helper()
	cell := prepared(t, source, Options{})
	line, column := byteColumn(t, cell.Body, mark)
	got, ok := cell.Position(line, column)
	i := strings.Index(source, mark)
	wantLine, wantColumn := lineColumn(source, i)
	if want := (Position{wantLine, wantColumn}); !ok || got != want {
		t.Errorf("%q in %q, at %d:%d of\n%s\n got %v %v\nwant %v", mark, source, line, column, cell.Body, got, ok, want)
	}
}

func TestPositionsLeadBack(t *testing.T) {
	for _, c := range []struct{ source, mark string }{
		{"boom()", "boom"},
		{"let a = 1;\n  boom()", "boom"},
		{"let a = 1; boom(); b", "boom"},
		{"a(); boom(); function f() {}", "boom"},
		{"async () => {\n  await boom()\n}", "boom"},
		{"function main() { boom() }", "boom"},
		{"export default () => boom()", "boom"},
		{"```js\nboom()\n```", "boom"},
		{"#!x\nboom()", "boom"},
		{"'é'; boom()", "boom"},
		{"'😀'; x; boom()", "boom"},
		{"let 变量 = 1\n变量.boom()", "boom"},
		{"a\r\n  boom()\r\n", "boom"},
		{"a\rboom()", "boom"},
		{"a\u2028  boom()", "boom"},
		{"'\u2028'; boom()", "boom"},
		{"`\r`; boom()", "boom"},
		{"\ufeffboom()", "boom"},
		// types blanked
		{"let a: number = 1; boom(a)", "boom"},
		{"let é: Ünï<C> = 1; boom(a)", "boom"},
		{"type A = {\n  b: string\n}\nboom<A>(a)", "boom"},
		{"let a: {\u2028b: C\u2028}; boom()", "boom"},
		{"const f = (a: A): {\n b: C\n} => boom()", "boom"},
		{"enum A { B, C } boom()", "boom"},
		{"enum A {\n  B,\n  C\n}\nboom()", "boom"},
		// compiled
		{"enum A { B = 1 << 2 }\nconst x: number = 1;\n    boom(x)", "boom"},
		{"enum A { B = 1 << 2 }\nfunction f(a: A): void {\n\n\n  if (a) {  boom(); }\n}\nf(A.B)", "boom"},
		{"class A { constructor(private a: B) { boom(a) } }\nnew A(1)", "boom"},
		{"namespace N {\n  export const a = 1;\n  export function f() { boom() }\n}\nN.f()", "boom"},
		{"class N {}\nlet a = 1\nnamespace N {\n  export const b = boom() }", "boom"},
		{"let a;\nnamespace N { export const b = 1 }\nboom()", "boom"},
		{"function d(a: any) {}\n@d class A { m() { boom() } }\nnew A().m()", "boom"},
		{"enum A { B = 1 << 2 }\nexport default async () => { boom() }", "boom"},
		{"import type X from 'x'; enum A { B = 1 << 2 }\n boom()", "boom"},
		{"enum A { B = 1 << 2 } '😀'; let b; boom()", "boom"},
		{"@((x: any, c: any) => {}) class A { m() {\n\t boom() } }", "boom"},
	} {
		expectMapped(t, c.source, c.mark)
	}
}

// What was inserted is nobody's text, and neither is what lies outside.
func TestPositionsWithoutText(t *testing.T) {
	cell := prepared(t, "let a;\na", Options{})
	for _, c := range []struct {
		line, column int
		want         Position
		ok           bool
	}{
		{1, 1, Position{1, 1}, true}, {1, 0, Position{1, 1}, true}, {1, 7, Position{1, 7}, true}, {1, 99, Position{1, 7}, true},
		{2, 1, Position{2, 1}, true}, {2, 7, Position{2, 1}, true}, {2, 8, Position{2, 1}, true}, {2, 9, Position{2, 2}, true},
		{0, 1, Position{}, false}, {3, 1, Position{}, false}, {-1, -1, Position{}, false},
	} {
		got, ok := cell.Position(c.line, c.column)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("Position(%d, %d) = %v, %v, want %v, %v", c.line, c.column, got, ok, c.want, c.ok)
		}
	}
	cell = prepared(t, "() => 1", Options{})
	if got, ok := cell.Position(1, len(cell.Body)); ok {
		t.Errorf("the call that was appended leads to %v", got)
	}
}

func TestLocate(t *testing.T) {
	cell := prepared(t, "let a = 1;\r\n\tlet b = '😀'; b.c\u2028d", Options{KeepLast: true})
	for _, c := range []struct {
		at   Position
		want Location
	}{
		{Position{1, 5}, Location{Line: 1, Column: 5, LineText: "let a = 1;"}},
		{Position{2, 6}, Location{Line: 2, Column: 6, LineText: "\tlet b = '😀'; b.c"}},
		{Position{3, 1}, Location{Line: 3, Column: 1, LineText: "d"}},
		{Position{9, 9}, Location{Line: 3, Column: 2, LineText: "d"}},
		{Position{0, 0}, Location{Line: 1, Column: 1, LineText: "let a = 1;"}},
		{Position{1, 99}, Location{Line: 1, Column: 11, LineText: "let a = 1;"}},
	} {
		got := cell.Locate(c.at)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Location{}), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".caret" }, cmp.Ignore())); diff != "" {
			t.Errorf("Locate(%v) (-want +got):\n%s", c.at, diff)
		}
	}
	got, _ := json.Marshal(cell.Locate(Position{1, 5}))
	if want := `{"line":1,"column":5,"lineText":"let a = 1;"}`; string(got) != want {
		t.Errorf("as JSON: %s, want %s", got, want)
	}
}

func TestCaret(t *testing.T) {
	long := strings.Repeat("x", 300) + " = ;"
	for _, c := range []struct {
		source string
		at     Position
		want   string
	}{
		{"a\nb\nconst x = ;", Position{3, 11}, "  3 | const x = ;\n    |           ^"},
		{"\tx = ;", Position{1, 6}, "  1 | \tx = ;\n    | \t    ^"},
		{"'😀' ;", Position{1, 6}, "  1 | '😀' ;\n    |      ^"},
		{"'漢字' ;", Position{1, 6}, "  1 | '漢字' ;\n    |        ^"},
		{"a = ", Position{1, 5}, "  1 | a = \n    |     ^"},
		{long, Position{1, 304}, "  1 | …" + strings.Repeat("x", 156) + " = ;\n    | " + strings.Repeat(" ", 160) + "^"},
		{long, Position{1, 1}, "  1 | " + strings.Repeat("x", 160) + "…\n    | ^"},
		{long, Position{1, 150}, "  1 | …" + strings.Repeat("x", 160) + "…\n    | " + strings.Repeat(" ", 81) + "^"},
	} {
		cell := &Cell{source: c.source}
		if diff := cmp.Diff(c.want, cell.Locate(c.at).Caret()); diff != "" {
			t.Errorf("caret of %q at %v (-want +got):\n%s", c.source, c.at, diff)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"const x = ;", "SyntaxError at 1:11: Unexpected ;. No tools were called; correct the source and submit it again."},
		{"require('fs')", "At 1:1: Modules are not available here: require does not exist. Call the tools instead: they are globals and properties of tools, and search finds them. No tools were called; correct the source and submit it again."},
		{"", "SyntaxError: The source is empty. No tools were called; correct the source and submit it again."},
		{"git push origin", `exec runs JavaScript or TypeScript, and this is a shell command. Call a tool from JavaScript instead; await catalog.search("what you need") finds one. The same command will be refused again. No tools were called; correct the source and submit it again.`},
	} {
		_, err := Prepare(c.source, Options{})
		if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Errorf("error of %q (-want +got):\n%s", c.source, diff)
		}
	}
}
