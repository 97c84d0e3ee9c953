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
	"codemode/quickjs"
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
	if got := first.Wait(t.Context(), scope, WaitInput{r.RunID}); got.Error != MessageUnavailable {
		t.Error(brief(got))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.run")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Hosts that take turns with a run each have an old cell of it. None may go on from that, nor write it or drop the newer
// record.
func TestHostsTakeTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	const code = `const p = unsafe().catch(e => e.code); for (let i = 1; i < 5; i++) { text(i); await yield_control() } return await p`
	wait := func(h *Host, id string) string { return brief(h.Wait(t.Context(), Scope{}, WaitInput{id})) }
	text := func(n string) string { return `bridge:yield:` + n + ` | {"type":"text","text":"` + n + `"}` }
	firstTools := durableTools()
	first := newHost(t, firstTools, Options{Store: fileStore(t, dir)})
	r := exec(t, first, code)
	if got := brief(r); got != "waiting pending_tools bridge:callValue:1 "+text("1") {
		t.Fatal(got)
	}
	second := newHost(t, durableTools(), Options{Store: fileStore(t, dir)})
	if got := wait(second, r.RunID); got != "waiting yield "+text("2") {
		t.Error(got)
	}
	rival := fileStore(t, dir)
	record, expires, ok, err := rival.Take(t.Context(), r.RunID)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if first.Cancel(r.RunID) || second.Cancel(r.RunID) {
		t.Error("what another process goes on with was cancelled")
	}
	rival.Put(t.Context(), r.RunID, record, expires)
	close(firstTools.gate) // the first host's call has an answer, which is nobody's any more
	first.Drain(t.Context())
	for i, h := range []*Host{first, second} {
		if got := wait(h, r.RunID); got != "waiting yield "+text([]string{"3", "4"}[i]) {
			t.Error(got)
		}
	}
	if got := wait(first, r.RunID); got != `completed "interrupted"` {
		t.Error(got)
	}
	if got := wait(second, r.RunID); got != "failed invalid_input input "+MessageUnavailable {
		t.Error(got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "cm_*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if n := first.reserved.Load() + second.reserved.Load(); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

// Runs that other hosts have ended take no places.
func TestRunsThatEndElsewhereTakeNoPlaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	first := newHost(t, newTools(), Options{Store: fileStore(t, dir), Limits: limits.Limits{MaxSuspendedCells: 2}})
	second := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	for i := range 5 {
		r := exec(t, first, `await yield_control(); return 1`)
		if r.Status != Waiting {
			t.Fatalf("run %d: %s", i, brief(r))
		}
		if got := brief(second.ExecWait(t, r.RunID)); got != "completed 1" {
			t.Fatal(got)
		}
	}
	exec(t, first, `await yield_control()`)
	exec(t, first, `await yield_control()`)
	if got := exec(t, first, `await yield_control()`); got.Error != messageTooMany {
		t.Error(brief(got))
	}
}

// An answer that comes in finds the record taken, while a wait of this host begins: that goes on with what is there.
func TestAWaitThatFindsItsCellTaken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	h := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	r := exec(t, h, `await yield_control(); await yield_control(); return 1`)
	other := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	if got := other.Wait(t.Context(), Scope{}, WaitInput{r.RunID}); got.Status != Waiting {
		t.Fatal(brief(got))
	}
	h.mu.Lock()
	c := h.cells[r.RunID]
	h.mu.Unlock()
	c.persisting.Lock() // as persist has it
	waited := make(chan *Result, 1)
	go func() { waited <- h.Wait(t.Context(), Scope{}, WaitInput{r.RunID}) }()
	for driving := false; !driving; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		driving = c.driving
		c.mu.Unlock()
	}
	c.abort(errTaken)
	c.persisting.Unlock()
	if got := brief(<-waited); got != "completed 1" {
		t.Error(got)
	}
}

func TestAnOldCellExpiresAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	first := newHost(t, newTools(), Options{Store: fileStore(t, dir), Limits: limits.Limits{SnapshotTTLSeconds: 1}})
	a := exec(t, first, `await yield_control(); await yield_control(); return "went on"`)
	b := exec(t, first, `await yield_control()`)
	record, _, _, err := first.store.Get(t.Context(), a.RunID)
	if err != nil {
		t.Fatal(err)
	}
	// Another process goes on with one of them.
	other := fileStore(t, dir)
	other.Take(t.Context(), a.RunID)
	if err := other.Put(t.Context(), a.RunID, record, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for left := 1; left > 0; time.Sleep(10 * time.Millisecond) {
		first.mu.Lock()
		left = len(first.cells)
		first.mu.Unlock()
	}
	second := newHost(t, newTools(), Options{Store: other})
	if got := brief(second.ExecWait(t, a.RunID)); got != `completed "went on"` {
		t.Error(got)
	}
	if got := second.ExecWait(t, b.RunID); got.Error != MessageUnavailable {
		t.Error(brief(got))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "cm_*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// A host that cannot go on with a run leaves it to one that can.
func TestAHostWithoutAnEngineLeavesRunsAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	r := exec(t, newHost(t, newTools(), Options{Store: fileStore(t, dir)}), `await yield_control(); return 1`)
	closed := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	closed.Close()
	without := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	without.engine, without.noEngine = nil, quickjs.ErrNoGuest
	for _, h := range []*Host{closed, without} {
		if got := h.ExecWait(t, r.RunID); got.Code != RuntimeUnavailable {
			t.Error(brief(got))
		}
	}
	able := newHost(t, newTools(), Options{Store: fileStore(t, dir)})
	if got := brief(able.ExecWait(t, r.RunID)); got != "completed 1" {
		t.Error(got)
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
	if got := second.Wait(t.Context(), Scope{}, WaitInput{b.RunID}); got.Error != MessageUnavailable {
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
	if ok, err := s.Replace(ctx, "cm_1", []byte("one"), []byte("two"), later); !ok || err != nil {
		t.Errorf("replace: %v %v", ok, err)
	}
	if ok, err := s.Replace(ctx, "cm_1", []byte("one"), []byte("three"), later); ok || err != nil {
		t.Errorf("replace what is there no more: %v %v", ok, err)
	}
	if ok, err := s.Replace(ctx, "cm_2", []byte("one"), []byte("two"), later); ok || err != nil {
		t.Errorf("replace what is not there: %v %v", ok, err)
	}
	if got, _, ok, err := s.Take(ctx, "cm_1"); string(got) != "two" || !ok || err != nil {
		t.Errorf("take: %q %v %v", got, ok, err)
	}
	if _, _, ok, err := s.Take(ctx, "cm_1"); ok || !errors.Is(err, ErrRunTaken) {
		t.Errorf("take again: %v %v", ok, err)
	}
	if err := fileStore(t, dir).Delete(ctx, "cm_1"); err != nil {
		t.Errorf("delete what another one has taken: %v", err)
	}
	s.Put(ctx, "cm_1", []byte("three"), later)
	if got, _, ok, err := s.Get(ctx, "cm_1"); string(got) != "three" || !ok || err != nil {
		t.Errorf("get what was put back: %q %v %v", got, ok, err)
	}
	s.Take(ctx, "cm_1")
	s.Delete(ctx, "cm_1")
	if _, _, ok, err := s.Take(ctx, "cm_1"); ok || err != nil {
		t.Errorf("take what was deleted: %v %v", ok, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "cm_*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, id := range []string{"", "../x", "a/b", "a\x00b", strings.Repeat("x", 200)} {
		if err := s.Put(ctx, id, nil, later); err == nil {
			t.Errorf("%q was kept", id)
		}
		if _, _, ok, _ := s.Take(ctx, id); ok {
			t.Errorf("%q was found", id)
		}
	}
	s.Put(ctx, "cm_3", []byte("x"), time.Now().Add(-time.Second))
	if _, _, ok, err := s.Take(ctx, "cm_3"); ok || err != nil {
		t.Errorf("expired: %v %v", ok, err)
	}
	os.WriteFile(filepath.Join(dir, "cm_4.run"), []byte("junk"), 0o600)
	if _, _, ok, err := s.Take(ctx, "cm_4"); ok || err == nil {
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

// die lets a store's locks go, as the system does when a process ends.
func die(s *FileStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, f := range s.taken {
		f.Close()
		delete(s.taken, id)
	}
}

func TestAProcessThatDiesWhileItGoesOnWithARun(t *testing.T) {
	scope := Scope{Session: "s"}
	for _, test := range []struct{ name, code, want string }{
		{"nothing was done that must not be done twice", `text("one"); await yield_control(); text("two"); return await safe()`,
			`completed "done" | {"type":"text","text":"two"}`},
		{"a call was begun", `await yield_control(); return await unsafe()`, "failed internal_error host " + messageInterrupted},
		{"a call was begun that had waited for a slot", `const all = Array.from({length: 3}, () => unsafe()); await yield_control(); return await Promise.allSettled(all)`,
			"failed internal_error host " + messageInterrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "runs")
			l := limits.Limits{MaxPendingToolCalls: 1}
			first := newHost(t, durableTools(), Options{Store: fileStore(t, dir), Limits: l})
			r := first.Exec(t.Context(), scope, ExecInput{Code: test.code})
			if r.Status != Waiting {
				t.Fatal(brief(r))
			}
			first.Close()
			store := fileStore(t, dir)
			tools := durableTools()
			second := newHost(t, tools, Options{Store: store, Limits: l})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			waited := make(chan *Result, 1)
			go func() { waited <- second.Wait(ctx, scope, WaitInput{r.RunID}) }()
			for {
				select {
				case got := <-waited:
					t.Fatal("the second process is done: ", brief(got))
				default:
				}
				if runs := second.Runs(scope); len(runs) == 1 && len(runs[0].Pending) > 0 && !runs[0].Suspended && !strings.Contains(runs[0].Pending[0].ID, "yield") {
					break
				}
				time.Sleep(time.Millisecond)
			}
			tools3 := durableTools()
			third := newHost(t, tools3, Options{Store: fileStore(t, dir), Limits: l})
			if got := third.Wait(t.Context(), scope, WaitInput{r.RunID}); got.Error != messageAlreadyWaited {
				t.Errorf("while it runs: %s", brief(got))
			}
			die(store)
			if runs := third.Runs(scope); len(runs) != 1 || runs[0].RunID != r.RunID {
				t.Errorf("runs: %+v", runs)
			}
			if got := third.Wait(t.Context(), Scope{Session: "x"}, WaitInput{r.RunID}); got.Error != messageOtherSession {
				t.Errorf("a stranger: %s", brief(got))
			}
			close(tools3.gate)
			if got := brief(third.Wait(t.Context(), scope, WaitInput{r.RunID})); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "cm_*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A stranger's wait must not take a run from its owner, nor give it more time.
func TestAStrangersWaitDisturbsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	owner := newHost(t, durableTools(), Options{Store: fileStore(t, dir)})
	r := owner.Exec(t.Context(), Scope{Session: "s"}, ExecInput{Code: `const all = []; for (let i = 0; i < 8; i++) all.push(slow({ms: 20 * i, v: i})); await yield_control(); return await Promise.all(all)`})
	stranger := newHost(t, durableTools(), Options{Store: fileStore(t, dir)})
	expires := func() time.Time {
		_, expires, ok, err := fileStore(t, dir).Get(t.Context(), r.RunID)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return expires
	}
	before := expires()
	for range 20 {
		if got := stranger.Wait(t.Context(), Scope{Session: "x"}, WaitInput{r.RunID}); got.Error != messageOtherSession {
			t.Fatal(brief(got))
		}
		time.Sleep(5 * time.Millisecond)
	}
	if after := expires(); !after.Equal(before) {
		t.Errorf("expires %v, then %v", before, after)
	}
	if got := brief(owner.Wait(t.Context(), Scope{Session: "s"}, WaitInput{r.RunID})); got != `completed [0,1,2,3,4,5,6,7]` {
		t.Error(got)
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
