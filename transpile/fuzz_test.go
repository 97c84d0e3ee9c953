package transpile

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// FuzzPrepare: nothing panics; what is accepted is one function's body, as esbuild reads it too; positions lead into the
// text; an error is one sentence about the text.
func FuzzPrepare(f *testing.F) {
	for _, s := range []string{
		"", "a", "const x = await f(`a${b}`);\nx", "async ({tools}) => tools.x()", "let a: Map<string, number[]> = b as any;\na!", "enum A { B, C = 'x' }", "enum A { B = 1 << 2 }\nnamespace N { export const x = A.B }",
		"```ts\nlet a: b\n```", "#!x\n1", "}); evil(); (async()=>{", "} evil(); {", "import('x')", "r\\u0065quire('x')", "a ? (b) : c => d", "(a, {b = 1} = {}) => {}", "export default async () => 1", "a\r\n/* \u2028 */ b\u2029`\r`", "<!-- a\n--> b",
		"class A<T> extends B<C> implements D { private x?: T; constructor(public y: Z) {} @d m(): void {} static { } #p = #p in a }", "for await (using x of y) ;", "({a: [b = 1], ...c} = d)", "x = /[/]/g / 2", "ls -la", "SELECT * FROM a", "{\"a\": 1}", "label: for (;;) break label", "a as B\n(c)", "f<A>(b)<C>d",
	} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, source string, bits uint8) {
		opts := Options{Language: []Language{"", JavaScript, TypeScript, ""}[bits&3], KeepLast: bits&4 != 0, MaxSourceBytes: 1 << 14}
		cell, err := Prepare(source, opts)
		if err != nil {
			e := err.(*Error)
			if e.Message == "" || strings.ContainsAny(e.Message[:1], "\n") || !utf8.ValidString(e.Error()) {
				t.Errorf("Prepare(%q): error %q", source, e)
			}
			if e.Location != nil {
				e.Location.Caret()
			}
			return
		}
		checkBody(t, source, cell)
		checkPositions(t, source, cell)
	})
}

// Rules of the language that esbuild checks and this package leaves to the engine.
var leftToTheEngine = []string{
	"in regular expression", "strict mode", "strict-mode", "already been declared", "must be initialized", "Invalid regular", "reserved", "cannot be used here", "Cannot use", "Duplicate", "duplicate", "argument", "Invalid flag", "Invalid regexp", "private name", "Private name", "escape", "Octal", "octal",
	"Legacy", "legacy", "\"super\"", "\"new.target\"", "must be", "must have", "Expected identifier but found", "Multiple", "cannot be", "cannot have", "Unexpected \"super\"", "\"__proto__\"", "Invalid number", "Syntax error", "Template literals", "template", "Class", "Only", "Unexpected \"await\"", "BigInt", "Invalid", "for-of loops", "for-in loops",
}

func checkBody(t *testing.T, source string, cell *Cell) {
	t.Helper()
	for _, wrap := range [][2]string{{"(async () => {\n", "\n})"}, {"async function f() {\n", "\n}"}} {
		r := api.Transform(wrap[0]+cell.Body+wrap[1], api.TransformOptions{Loader: api.LoaderJS, LogLevel: api.LogLevelSilent})
		if len(r.Errors) == 0 {
			continue
		}
		message := r.Errors[0].Text
		for _, rule := range leftToTheEngine {
			if strings.Contains(message, rule) {
				return
			}
		}
		t.Errorf("Prepare(%q) as %s: esbuild says %q of\n%s", source, cell.Language, message, cell.Body)
	}
}

func checkPositions(t *testing.T, source string, cell *Cell) {
	t.Helper()
	lines := strings.Split(cell.Body, "\n")
	total := len(lineStarts(source))
	last := 0
	for i, line := range lines {
		for column := 1; column <= len(line)+2; column++ {
			p, ok := cell.Position(i+1, column)
			if !ok {
				continue
			}
			if p.Line < 1 || p.Line > total || p.Column < 1 {
				t.Fatalf("Prepare(%q): %d:%d leads to %v\n%s", source, i+1, column, p, cell.Body)
			}
			if l := cell.Locate(p); l.Column != p.Column || l.Line != p.Line {
				t.Fatalf("Prepare(%q): %v is located at %d:%d", source, p, l.Line, l.Column)
			}
			if cell.Language == JavaScript && len(cell.layers) <= 1 {
				at := p.Line<<20 | p.Column
				if at < last {
					t.Fatalf("Prepare(%q): positions go back at %d:%d", source, i+1, column)
				}
				last = at
			}
		}
	}
}
