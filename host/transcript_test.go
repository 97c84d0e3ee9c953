package host_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"codemode/limits"
	"codemode/quickjs"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata/cells")

// meteredFuel is more than any cell of the transcripts uses.
const meteredFuel = 1 << 46

// TestTranscripts plays testdata/cells/*.txtar, each with and without fuel metering. README.md there says what is in a
// file. One file: go test ./host -run 'Transcripts/name'.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/cells/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts: ", err)
	}
	engine, err := quickjs.NewEngine(nil)
	if errors.Is(err, quickjs.ErrNoGuest) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			playFile(t, engine, file)
		})
	}
}

func playFile(t *testing.T, engine *quickjs.Engine, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if why, ok := strings.CutPrefix(string(archive.Comment), "# pending: "); ok {
		why, _, _ = strings.Cut(why, "\n")
		if played := play(&quiet{TB: t}, engine, archive, limits.Limits{}); bytes.Equal(txtar.Format(played), txtar.Format(archive)) {
			t.Skip("this works now: take the line `# pending` out. It was: ", why)
		}
		t.Skip("pending: ", why)
	}
	if !bytes.HasPrefix(archive.Comment, []byte("# ")) {
		t.Error("the file does not start with a comment that says what it shows")
	}
	modes := []limits.Limits{{}, {Fuel: meteredFuel}}
	played := make([]*txtar.Archive, len(modes))
	var wait sync.WaitGroup
	for i, mode := range modes {
		wait.Go(func() { played[i] = play(t, engine, archive, mode) })
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	if *update {
		if text := txtar.Format(played[0]); !bytes.Equal(text, txtar.Format(archive)) {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		archive = played[0]
	}
	for i, got := range played {
		if diff := cmp.Diff(lines(txtar.Format(archive)), lines(txtar.Format(got))); diff != "" {
			t.Errorf("%s (fuel %d), -want +got:\n%s", file, modes[i].Fuel, diff)
		}
	}
}

// quiet takes no note of what is wrong with a file that is pending.
type quiet struct{ testing.TB }

func (*quiet) Error(...any)          {}
func (*quiet) Errorf(string, ...any) {}

func lines(text []byte) []string { return strings.Split(string(text), "\n") }
