package transpile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite testdata/snippets/outcomes.txt")

// A snippet is a cell from testdata/snippets: one txtar a category, one file a cell. They call no tools, so that any
// engine can run them; testdata/node pins the Node to compare with.
type snippet struct {
	Name   string // category/number.js
	Source string
}

func snippets(t testing.TB) []snippet {
	t.Helper()
	files, err := filepath.Glob("testdata/snippets/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no snippets: %v", err)
	}
	var all []snippet
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		category := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, f := range archive.Files {
			all = append(all, snippet{category + "/" + f.Name, strings.TrimSuffix(string(f.Data), "\n")})
		}
	}
	return all
}

// TestSnippets compares what becomes of each cell with testdata/snippets/outcomes.txt: the language it is taken for, or
// the kind, place and words of its refusal.
func TestSnippets(t *testing.T) {
	var b strings.Builder
	cells := snippets(t)
	if len(cells) < 300 {
		t.Errorf("%d snippets, want 300", len(cells))
	}
	for _, s := range cells {
		cell, err := Prepare(s.Source, Options{})
		if err != nil {
			e := err.(*Error)
			at := ""
			if e.Location != nil {
				at = fmt.Sprintf(" %d:%d", e.Location.Line, e.Location.Column)
			}
			fmt.Fprintf(&b, "%s: %s%s %s\n", s.Name, e.Kind, at, e.Message)
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", s.Name, cell.Language)
		checkBody(t, s.Source, cell)
		checkPositions(t, s.Source, cell)
	}
	const golden = "testdata/snippets/outcomes.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("outcomes (-want +got); run with -update after checking:\n%s", diff)
	}
}
