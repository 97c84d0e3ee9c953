package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"codemode/limits"
	"codemode/quickjs"
)

// The transcripts in testdata/*.txtar run the command as a person would.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"codemode": func() {
			os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
		},
	})
}

func TestTranscripts(t *testing.T) {
	needGuest(t)
	cache := t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", cache) // one compile for all
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				return err
			}
			e.Setenv("EXAMPLES", examples)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// status CODE COMMAND... runs a command that must end with that exit code
			"status": func(ts *testscript.TestScript, neg bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				code := 0
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if got := fmt.Sprint(code); got != args[0] {
					ts.Fatalf("exit code %s, want %s", got, args[0])
				}
			},
		},
	})
}

func needGuest(t *testing.T) {
	t.Helper()
	if _, _, err := quickjs.Guest(); errors.Is(err, quickjs.ErrNoGuest) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheReadmesProgramIsTheExample(t *testing.T) {
	program, err := os.ReadFile("../../examples/embed/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(readme(t), "```go\n"+string(program)+"```") {
		t.Error("README.md does not show examples/embed/main.go as it is")
	}
	needGuest(t)
	out, err := exec.Command("go", "run", "../../examples/embed").CombinedOutput()
	if err != nil || string(out) != "completed 3 \n" {
		t.Errorf("%q %v", out, err)
	}
}

func TestTheReadmesTableOfLimits(t *testing.T) {
	text := readme(t)
	for _, r := range limits.Table() {
		row := fmt.Sprintf("| `%s` | %s | %s to %s | %s | %s | %s |", r.Name, number(r.Default), number(r.Min), number(r.Max), r.Unit, r.Meaning, r.Breach)
		if !strings.Contains(text, row) {
			t.Errorf("README.md lacks the row\n%s", row)
		}
	}
}

// number groups digits, for reading.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func TestParseBytes(t *testing.T) {
	got := map[string]any{}
	for _, text := range []string{"1", "64MiB", "64m", "64 MB", "2g", "512KiB", "", "x", "-1", "1.5m", "9999999999999g", "5t"} {
		n, err := parseBytes(text)
		if err != nil {
			got[text] = "error"
		} else {
			got[text] = n
		}
	}
	want := map[string]any{"1": int64(1), "64MiB": int64(64 << 20), "64m": int64(64 << 20), "64 MB": int64(64 << 20),
		"2g": int64(2 << 30), "512KiB": int64(512 << 10), "": "error", "x": "error", "-1": "error", "1.5m": "error",
		"9999999999999g": "error", "5t": "error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResultIsOneJSONLine(t *testing.T) {
	needGuest(t)
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"exec", "-e", `text("a\nb"); return {x: "<&>"}`, "--format", "json"}, streams{strings.NewReader(""), &out, &errs})
	if code != 0 || strings.Count(out.String(), "\n") != 1 || !json.Valid(out.Bytes()) || !strings.Contains(out.String(), `"value":{"x":"<&>"}`) {
		t.Errorf("exit %d: %s%s", code, &out, &errs)
	}
}
