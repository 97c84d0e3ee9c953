package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codemode/catalog"
	"codemode/limits"
)

func fileStore(t *testing.T, dir string) *FileStore {
	t.Helper()
	s, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// durableTools are those of newTools, and two slow ones of which one may be called again.
func durableTools() *tools {
	c := newTools()
	slow := func(ctx context.Context, _ *catalog.Call) (*catalog.Result, error) {
		select {
		case <-c.gate:
			return &catalog.Result{Value: json.RawMessage(`"done"`)}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c.Add(catalog.Tool{Name: "safe", ReplaySafe: true, Run: slow}, catalog.Tool{Name: "unsafe", Run: slow})
	return c
}

func TestAnotherHostGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	scope := Scope{Session: "s", AgentRun: "r"}
	first := newHost(t, durableTools(), Options{Store: fileStore(t, dir), Limits: limits.Limits{TimeoutMs: 100}})
	r := first.Exec(t.Context(), scope, ExecInput{Title: "a run", Code: `const n: number = 40;
text("before");
const a = await echo({v: 1});
await yield_control();
const b = await echo({v: 1});
text("after"); return n + a.v + b.v + new Error().stack.length * 0`})
	if got := brief(r); got != `waiting yield bridge:yield:1 | {"type":"text","text":"before"}` {
		t.Fatal(got)
	}
	// The first host is gone without a word.
	second := newHost(t, durableTools(), Options{Store: fileStore(t, dir)})
	runs := second.Runs(Scope{Session: "s"})
	if len(runs) != 1 || runs[0].RunID != r.RunID || runs[0].Title != "a run" || !runs[0].Suspended || len(runs[0].Pending) != 1 {
		t.Fatalf("%+v", runs)
	}
	if got := second.Wait(t.Context(), Scope{Session: "x", AgentRun: "r"}, WaitInput{r.RunID}); got.Error != messageOtherSession {
		t.Fatal(brief(got))
	}
	last := second.Wait(t.Context(), scope, WaitInput{r.RunID})
	if got := brief(last); got != `completed 42 | {"type":"text","text":"after"}` || last.Language != "typescript" {
		t.Fatal(got)
	}
	// The first one is alive after all: the run is not its own any more.
	if got := first.Wait(t.Context(), scope, WaitInput{r.RunID}); got.Error != messageUnavailable {
		t.Error(brief(got))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.run")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestPositionsAfterARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	first := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	r := exec(t, first, "await yield_control();\nenum E { A = 1 }\nfunction broken() {\n  null.x\n}\nbroken()")
	second := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	last := second.Wait(t.Context(), Scope{}, WaitInput{r.RunID})
	if last.Status != Failed || last.Location == nil || last.Location.Line != 4 || !strings.Contains(last.Location.LineText, "null.x") {
		t.Errorf("%s %+v", brief(last), last.Location)
	}
}

func TestCallsUnderWayWhenTheProcessEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	before := durableTools()
	first := newHost(t, before, Options{Store: fileStore(t, dir), Limits: limits.Limits{TimeoutMs: 100, MaxPendingToolCalls: 2}})
	const code = `
const quick = await echo({v: "kept"});
const all = await Promise.allSettled([echo({v: "answered"}), safe(), unsafe(), gate({v: "queued"})]);
return [quick.v, ...all.map(r => r.status === "fulfilled" ? (r.value.v ?? r.value) : [r.reason.code, r.reason.tool, r.reason.effectStatus])]`
	r := exec(t, first, code)
	if r.Status != Waiting {
		t.Fatal(brief(r))
	}
	first.Close() // as a process that ends: the calls end, the stored run stays
	after := durableTools()
	close(after.gate)
	second := newHost(t, after, Options{Store: fileStore(t, dir)})
	got := brief(second.ExecWait(t, r.RunID))
	if got != `completed ["kept","answered","done",["interrupted","unsafe","unknown"],"queued"]` {
		t.Error(got)
	}
	if before.count("echo") != 2 || after.count("echo") != 0 {
		t.Errorf("echo ran %d times before and %d after", before.count("echo"), after.count("echo"))
	}
}

func TestAnAnswerThatComesWhileSuspendedIsStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	c := durableTools()
	first := newHost(t, c, Options{Store: fileStore(t, dir), Limits: limits.Limits{TimeoutMs: 100}})
	r := exec(t, first, `return await unsafe()`)
	if r.Status != Waiting {
		t.Fatal(brief(r))
	}
	close(c.gate)
	if err := first.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := newHost(t, durableTools(), Options{Store: fileStore(t, dir)})
	if got := brief(second.Wait(t.Context(), Scope{}, WaitInput{r.RunID})); got != `completed "done"` {
		t.Error(got)
	}
}

func TestCancelAndExpiryInAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	first := newHost(t, newTools(), Options{Store: fileStore(t, dir), Limits: limits.Limits{SnapshotTTLSeconds: 1}})
	a := exec(t, first, `await yield_control()`)
	b := exec(t, first, `await yield_control()`)
	second := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	if !second.Cancel(a.RunID) || second.Cancel(a.RunID) || second.Cancel("../../etc/passwd") {
		t.Error("cancel, and again, and what is no id")
	}
	time.Sleep(1100 * time.Millisecond)
	if got := second.Wait(t.Context(), Scope{}, WaitInput{b.RunID}); got.Error != messageUnavailable {
		t.Error(brief(got))
	}
	fileStore(t, dir) // sweeps
	if left, _ := filepath.Glob(filepath.Join(dir, "*.run")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFileStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	s := fileStore(t, dir)
	ctx, later := t.Context(), time.Now().Add(time.Hour)
	if err := s.Put(ctx, "cm_1", []byte("one"), later); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "cm_1.run")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if ok, err := s.Replace(ctx, "cm_1", []byte("two"), later); !ok || err != nil {
		t.Errorf("replace: %v %v", ok, err)
	}
	if ok, err := s.Replace(ctx, "cm_2", []byte("two"), later); ok || err != nil {
		t.Errorf("replace what is not there: %v %v", ok, err)
	}
	if got, ok, err := s.Take(ctx, "cm_1"); string(got) != "two" || !ok || err != nil {
		t.Errorf("take: %q %v %v", got, ok, err)
	}
	if _, ok, err := s.Take(ctx, "cm_1"); ok || err != nil {
		t.Errorf("take again: %v %v", ok, err)
	}
	for _, id := range []string{"", "../x", "a/b", "a\x00b", strings.Repeat("x", 200)} {
		if err := s.Put(ctx, id, nil, later); err == nil {
			t.Errorf("%q was kept", id)
		}
		if _, ok, _ := s.Take(ctx, id); ok {
			t.Errorf("%q was found", id)
		}
	}
	s.Put(ctx, "cm_3", []byte("x"), time.Now().Add(-time.Second))
	if _, ok, err := s.Take(ctx, "cm_3"); ok || err != nil {
		t.Errorf("expired: %v %v", ok, err)
	}
	os.WriteFile(filepath.Join(dir, "cm_4.run"), []byte("junk"), 0o600)
	if _, ok, err := s.Take(ctx, "cm_4"); ok || err == nil {
		t.Errorf("junk: %v %v", ok, err)
	}
	os.Chmod(dir, 0o755)
	if _, err := OpenFileStore(dir); err == nil {
		t.Error("a folder that others can read was taken")
	}
	if _, err := OpenFileStore(filepath.Join(dir, "cm_4.run")); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(recordMagic + "\x02{}"))
	f.Fuzz(func(t *testing.T, record []byte) {
		s, _, err := readRecord(record)
		if err != nil && !errors.Is(err, errNotRecord) || err == nil && s == nil {
			t.Error(err)
		}
	})
}
