package transpile

import (
	"strconv"
	"strings"
	"testing"
)

// The cells of the benchmarks: 50 lines of what models write, once in JavaScript and once in TypeScript.
var (
	benchJS = benchCell(false)
	benchTS = benchCell(true)
)

func benchCell(ts bool) string {
	pick := func(plain, typed string) string {
		if ts {
			return typed
		}
		return plain
	}
	var b strings.Builder
	b.WriteString(pick("// issues of the week\n", "type Issue = { id: number; title: string; labels?: string[] };\n"))
	b.WriteString(pick("const seen = new Map();\n", "const seen: Map<number, Issue> = new Map<number, Issue>();\n"))
	for i := range 6 {
		n := strconv.Itoa(i)
		b.WriteString(pick("async function load"+n+"(query, limit = 10) {\n", "async function load"+n+"(query: string, limit: number = 10): Promise<Issue[]> {\n"))
		b.WriteString(pick("  const found = await search(`repo:${query} page:"+n+"`, { limit });\n", "  const found: Issue[] = await search(`repo:${query} page:"+n+"`, { limit }) as Issue[];\n"))
		b.WriteString("  const fresh = found.filter((issue) => !seen.has(issue.id) && /bug|crash/i.test(issue.title));\n")
		b.WriteString("  for (const issue of fresh) {\n    seen.set(issue.id, issue);\n    if (issue.labels?.includes('wontfix')) continue;\n  }\n")
		b.WriteString(pick("  return fresh;\n}\n", "  return fresh satisfies Issue[];\n}\n"))
	}
	return b.String() + "const all = await Promise.all([load0('a'), load1('b'), load2('c')]);\nall.flat().map(({ id, title }) => ({ id, title }))\n"
}

func benchPrepare(b *testing.B, source string, opts Options) {
	b.Helper()
	if _, err := Prepare(source, opts); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Prepare(source, opts); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJavaScript50Lines(b *testing.B) { benchPrepare(b, benchJS, Options{}) }

// A text that is tried as JavaScript first.
func BenchmarkTypeScript50Lines(b *testing.B) { benchPrepare(b, benchTS, Options{}) }

func BenchmarkTypeScript50LinesNamed(b *testing.B) {
	benchPrepare(b, benchTS, Options{Language: TypeScript})
}

// A computed enum is compiled by esbuild.
func BenchmarkTypeScript50LinesCompiled(b *testing.B) {
	benchPrepare(b, "enum Kind { Bug = 1 << 0, Crash = 1 << 1 }\n"+benchTS, Options{})
}

// A plain enum is lowered in place.
func BenchmarkTypeScript50LinesEnum(b *testing.B) {
	benchPrepare(b, "enum Kind { Bug, Crash }\n"+benchTS, Options{})
}

func BenchmarkOneLine(b *testing.B) {
	benchPrepare(b, "return await tools.weather({ city: 'Oslo' })", Options{})
}

func BenchmarkMegabyte(b *testing.B) {
	benchPrepare(b, strings.Repeat(strings.ReplaceAll(benchJS, "const ", "var "), (1<<20)/len(benchJS)-20), Options{})
}

func BenchmarkRefused(b *testing.B) {
	for b.Loop() {
		if _, err := Prepare(benchJS+"const x = ;", Options{}); err == nil {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkCached(b *testing.B) {
	pr := NewPreparer(0, 0)
	for b.Loop() {
		if _, err := pr.Prepare(benchTS, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPosition(b *testing.B) {
	cell, err := Prepare("enum Kind { Bug, Crash }\n"+benchTS, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cell.Position(30, 5)
	}
}
