package transpile

import (
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
)

// laidOut compiles a text and lays it out as the source is.
func laidOut(t *testing.T, text string) (before, after string, ok bool) {
	t.Helper()
	input := "async function f() {\n" + text + "\n}\n"
	r := api.Transform(input, transformOptions(api.LoaderTS, text))
	if len(r.Errors) > 0 {
		return "", "", false
	}
	m := &sourceMap{json: r.Map, output: string(r.Code), outputTo: len(r.Code), input: input, inputTo: len(input)}
	return string(r.Code), m.keepLayout(0), true
}

// Nothing but space is added: both texts are the same for esbuild.
func checkLayout(t *testing.T, text string) {
	t.Helper()
	before, after, ok := laidOut(t, text)
	if !ok {
		return
	}
	options := api.TransformOptions{MinifyWhitespace: true, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent}
	want, got := api.Transform(before, options), api.Transform(after, options)
	if string(want.Code) != string(got.Code) || len(got.Errors) > len(want.Errors) {
		t.Errorf("the layout of %q changes it (-before +after):\n%s", text, cmp.Diff(string(want.Code), string(got.Code)))
	}
	if n, most := strings.Count(after, "\n"), strings.Count(text, "\n")+strings.Count(text, "\r")+strings.Count(text, "\u2028")+strings.Count(text, "\u2029")+3; n > most {
		t.Errorf("the layout of %q has %d lines more", text, n-most)
	}
}

func TestLayoutChangesNothing(t *testing.T) {
	for _, s := range Snippets(t) {
		checkLayout(t, s.Source)
	}
	for _, text := range []string{
		"return `a\n  ${b +\n c} d\n\n${e}\n`", "x = a\n++\nb", "let a = 1\n\n;[1]\n  .map(f)", "return (\n a\n)", "throw (\n a)",
		"async\n(x)", "a = async (\nx) => {\n}", "a = b\n/c/d", "if (a)\n b\nelse\n c", "do\n a\nwhile (b)", "for (;;)\n  a", "label:\n for (;;) {\n continue\n label }",
		"class A {\n static\n a\n  get\n b() {}\n async\n c() {} }", "a\n?.b\n?.[c]\n?.(d)", "function*g() { yield\n*a; yield*\nb }", "a = -\n-b", "a = +\n+b", "a - -b", "a+ +b", "a = b\n- -c",
		"a = `\n`\n`\n${b}\n`", "a = /\\n/\n.test(b)", "x\r\n=\r\ny", "é = 'é'\n+ ü", "enum A {\n B = 1 << 2,\n C = `a`.length\n}\nf(A)", "@a\n@b(\nc)\nclass D {\n @e\n f = `\n`\n}",
	} {
		checkLayout(t, text)
	}
}

func TestLayoutKeepsLines(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"\n\nenum A { B = 1 << 1 }\n\nf(\n  A.B,\n)", "let  A"},
		{"namespace A {\n\n  export const b = 1\n  f()\n}\n\nf(A.b)", "var"},
	} {
		cell, err := Prepare(test.text, Options{KeepLast: true})
		if err != nil {
			t.Fatal(err)
		}
		source, body := strings.Split(test.text, "\n"), strings.Split(cell.Body, "\n")
		for i, line := range source {
			if at := strings.Index(line, "f("); at >= 0 && (i >= len(body) || strings.Index(body[i], "f(") != at) {
				t.Errorf("line %d of %q is elsewhere:\n%s", i+1, test.text, cell.Body)
			}
		}
		if !strings.Contains(cell.Body, test.want) {
			t.Errorf("%q was not compiled:\n%s", test.text, cell.Body)
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add("return `a\n  ${b +\n c} d\n\n${e}\n`")
	f.Add("enum A { B = 1 << 2 }\nclass C<T> { constructor(public d: T) {} @e f = /[/]/g }")
	f.Fuzz(func(t *testing.T, text string) {
		if fitForOpinion(text) && len(text) < 1<<12 {
			checkLayout(t, text)
		}
	})
}
