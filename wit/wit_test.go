package wit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFileParses(t *testing.T) {
	f, err := Parse(Source)
	if err != nil {
		t.Fatal(err)
	}
	var imports, exports []string
	for _, fn := range f.Imports() {
		imports = append(imports, fn.Name)
		if fn.Doc == "" {
			t.Errorf("%s has no documentation", fn.Name)
		}
	}
	for _, fn := range f.Exports() {
		exports = append(exports, fn.Name)
		if fn.Doc == "" {
			t.Errorf("%s has no documentation", fn.Name)
		}
	}
	wantImports := strings.Fields("call search describe cancel timer yield text json resolve names entries files file save load drop now entropy interrupted out-of-memory")
	if diff := cmp.Diff(wantImports, imports); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"run", "settle", "reseed", "rejections", "position"}, exports); diff != "" {
		t.Errorf("exports (-want +got):\n%s", diff)
	}
	if got := f.Imports()[0].Interface.Module(); got != "codemode:host/bridge@1.0.0" {
		t.Errorf("module name %q", got)
	}
}

func TestLowering(t *testing.T) {
	const source = `package a:b@1.2.3;
interface i {
  enum e { one, two }
  record r { a: u64, b: string, c: option<u32> }
  plain: func(a: u32, b: e, c: bool) -> u64;
  text: func(a: string) -> string;
  maybe: func() -> option<string>;
  record-in: func(a: r);
  record-out: func() -> r;
  many: func(a: string, b: string, c: string, d: string, e: string, f: string, g: string, h: string, i: u32);
}
world w { import i; export i; }`
	f, err := Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, fn := range f.Imports() {
		got[fn.Name] = [2]string{fn.LowerImport().String(), fn.LowerExport().String()}
	}
	want := map[string][2]string{
		"plain":      {"(i32, i32, i32) -> (i64)", "(i32, i32, i32) -> (i64)"},
		"text":       {"(i32, i32, i32) -> ()", "(i32, i32) -> (i32)"},
		"maybe":      {"(i32) -> ()", "() -> (i32)"},
		"record-in":  {"(i64, i32, i32, i32, i32) -> ()", "(i64, i32, i32, i32, i32) -> ()"},
		"record-out": {"(i32) -> ()", "() -> (i32)"},
		"many":       {"(i32) -> ()", "(i32) -> ()"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lowered (-want +got):\n%s", diff)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for source, want := range map[string]string{
		"package a:b@1.0.0;\ninterface i {\n  f: func(a: list);\n}":   `line 3: type "list" is not known here`,
		"package a:b@1.0.0;\nresource x;":                             `line 2: "resource" is neither an interface nor a world`,
		"package a:b@1.0.0;\ninterface i {\n  f: func(a: u32)\n}":     `line 4: want ";"`,
		"package a:b@1.0.0;\ninterface i {\n  /// hi\n  f: func();\n": "does not end",
		"": `want "package"`,
	} {
		if _, err := Parse(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", source, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Source)
	f.Add("package a:b@1.0.0; interface i { f: func(a: option<string>) -> u64; }")
	f.Fuzz(func(t *testing.T, source string) {
		file, err := Parse(source)
		if err != nil {
			return
		}
		for _, fn := range file.Imports() {
			fn.LowerImport()
			_ = fn.String()
		}
	})
}
