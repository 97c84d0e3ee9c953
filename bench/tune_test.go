package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codemode/limits"
)

func TestTune(t *testing.T) {
	testEngine(t) // skips where there is no guest
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte(`[{"name": "slow", "description": "Answers after a while.", "reply": 41, "delayMs": 5}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	advice, err := Tune(t.Context(), TuneOptions{
		Code:  "const call = slow({}); await yield_control(); text('x'.repeat(100)); return 1 + await call;",
		Tools: tools, Budget: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if advice.Used.Calls != 1 || advice.Used.Waits != 1 || advice.Used.SnapshotBytes == 0 || advice.Used.OutputBytes < 100 {
		t.Errorf("what the cell used: %+v", advice.Used)
	}
	tried := map[string]int{}
	for _, trial := range advice.Trials {
		tried[trial.Setting]++
	}
	if tried["metering"] != 2 || tried["park after"] != 5 || tried["codec"] != 3 || tried["instances"] < 3 {
		t.Errorf("tried %v", tried)
	}
	if advice.Instances == 0 || advice.Tuned == 0 || advice.Limits.MemoryLimitBytes == 0 {
		t.Errorf("advice: %+v", advice)
	}
	var b strings.Builder
	if err := advice.WriteText(&b); err != nil || !strings.Contains(b.String(), `"timeoutMs"`) {
		t.Errorf("the advice as text (%v):\n%s", err, b.String())
	}
}

// A reason is not false where the least decided.
func TestReasons(t *testing.T) {
	for _, test := range []struct {
		used, times, least int64
		value              int64
		why                string
	}{
		{107, 4, 16 << 10, 16 << 10, "the least that is recommended; what it gave out is 107 B"},
		{4 << 10, 4, 16 << 10, 16 << 10, "at least 4 times what it gave out, 4096 B"},
		{5 << 10, 4, 16 << 10, 32 << 10, "at least 4 times what it gave out, 5120 B"},
	} {
		v := above(test.used, test.times, test.least)
		if why := because(test.used, test.times, v, test.least, "what it gave out"); v != test.value || why != test.why {
			t.Errorf("%d used: %d, %q, want %d, %q", test.used, v, why, test.value, test.why)
		}
	}
	a := Advice{Limits: limits.Default()}
	a.limit(limits.Memory, &a.Limits.MemoryLimitBytes, 4<<30, "at least four times")
	if len(a.Why) != 1 || a.Why[0].Why != "the most that can be allowed" {
		t.Errorf("over the range: %+v", a.Why)
	}
}

// What cannot be run is refused before anything is measured, with a sentence on what is wrong.
func TestCommandRefuses(t *testing.T) {
	dir := t.TempDir()
	cell := filepath.Join(dir, "cell.js")
	if err := os.WriteFile(cell, []byte("return 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(dir, "none", "x")
	for _, test := range []struct{ args, want string }{
		{"compare", "bench compare takes two result files, as `codemode bench -o FILE` writes them: OLD NEW; 0 were given"},
		{"compare a", "1 were given"},
		{"compare " + nowhere + " " + nowhere, "no such file"},
		{"compare " + cell + " " + cell, "is not a result file"},
		{"report x", "takes a result file and the folder"},
		{"tune", "bench tune takes one file with a cell: CELL; 0 were given"},
		{"tune " + nowhere, "no such file"},
		{"tune " + cell + " --tools " + nowhere, "no such file"},
		{"foo", `there is no command "foo" of bench; there are compare, report, schema, tune`},
		{"tun", `did you mean "tune"?`},
		{"--suites foo", `there is no suite "foo"; there are start, suspend`},
		{"-o " + nowhere, "no such file"},
		{"--report " + filepath.Join(cell, "x"), "not a directory"},
	} {
		c := Command(nil)
		c.SetArgs(strings.Fields(test.args))
		c.SetOut(io.Discard)
		c.SetErr(io.Discard)
		err := c.ExecuteContext(t.Context())
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("bench %s: error %v, want one of usage with %q", test.args, err, test.want)
		}
	}
	if err := canWrite(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("asking whether a file can be written has made it")
	}
}

func TestTuneRefusesACellThatFails(t *testing.T) {
	testEngine(t)
	if _, err := Tune(t.Context(), TuneOptions{Code: "throw new Error('no luck')", Budget: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("a cell that throws: %v", err)
	}
}
