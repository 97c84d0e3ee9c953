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
	"time"

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
			// runid FILE sets RUN to the run id of a result
			"runid": func(ts *testscript.TestScript, neg bool, args []string) {
				var result struct {
					RunID string `json:"runId"`
				}
				if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &result); err != nil || result.RunID == "" {
					ts.Fatalf("no run id in %s: %v", args[0], err)
				}
				ts.Setenv("RUN", result.RunID)
			},
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

// A process that is killed between exec and wait loses nothing.
func TestKilledBetweenExecAndWait(t *testing.T) {
	needGuest(t)
	binary := filepath.Join(t.TempDir(), "codemode")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Join(t.TempDir(), "runs")
	tools := filepath.Join(t.TempDir(), "tools.json")
	marks := filepath.Join(t.TempDir(), "marks")
	definition := fmt.Sprintf(`[{"name": "mark", "run": {"argv": ["sh", "-c", "echo x >> %s; echo 1"]}},
		{"name": "hang", "delayMs": 60000, "reply": 1}, {"name": "again", "delayMs": 300, "reply": 2, "replaySafe": true},
		{"name": "read", "run": {"argv": ["sh", "-c", "echo x >> %s; sleep 1; echo 5"]}, "replaySafe": true}]`, marks, marks+".read")
	if err := os.WriteFile(tools, []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	const code = `const a = await mark({}); await yield_control();
		const rest = await Promise.allSettled([hang({}), again({})]); const b = await mark({});
		return [a, b, ...rest.map(r => r.value ?? r.reason.effectStatus)]`
	start := func(args ...string) (cmd *exec.Cmd, output func() string) {
		cmd = exec.Command(binary, append(args, "--tools", tools, "--state", dir)...)
		f, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.Stdout = f
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, func() string {
			text, _ := os.ReadFile(f.Name())
			return string(text)
		}
	}
	suspended := func(args ...string) (runID string) {
		t.Helper()
		cmd, out := start(append(args, "--no-wait")...)
		cmd.Wait()
		var result struct{ Status, RunID string }
		if err := json.Unmarshal([]byte(out()), &result); err != nil || result.Status != "waiting" {
			t.Fatalf("%v: %s", err, out())
		}
		return result.RunID
	}
	killWhen := func(cmd *exec.Cmd, there func() bool) {
		for i := 0; i < 3000 && !there(); i++ {
			time.Sleep(10 * time.Millisecond)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	run := suspended("exec", "-e", code, "--timeout", "1s")
	// The second process waits once, is left with two calls under way, and is killed.
	second, out := start("wait", run, "--no-wait", "--format", "json")
	killWhen(second, func() bool { return strings.Contains(out(), "\n") })
	third, out := start("wait", run, "--format", "json")
	third.Wait()
	if !strings.Contains(out(), `"value":[1,1,"unknown",2]`) {
		t.Errorf("%s", out())
	}
	if text, _ := os.ReadFile(marks); string(text) != "x\nx\n" {
		t.Errorf("mark ran %d times", strings.Count(string(text), "x"))
	}

	// A process that is killed while the cell runs loses nothing where only what may be repeated was called.
	run = suspended("exec", "-e", `await yield_control(); return await read({})`)
	fifth, _ := start("wait", run)
	killWhen(fifth, func() bool {
		text, _ := os.ReadFile(marks + ".read")
		return len(text) > 0
	})
	sixth, out := start("wait", run, "--format", "json")
	sixth.Wait()
	if !strings.Contains(out(), `"value":5`) {
		t.Errorf("%s", out())
	}
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
