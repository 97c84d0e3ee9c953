package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

func TestTuneRefusesACellThatFails(t *testing.T) {
	testEngine(t)
	if _, err := Tune(t.Context(), TuneOptions{Code: "throw new Error('no luck')", Budget: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("a cell that throws: %v", err)
	}
}
