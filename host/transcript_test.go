package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/transpile"
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

// settings are options.json.
type settings struct {
	Limits        limits.Limits        `json:"limits"`
	Languages     []transpile.Language `json:"languages"`
	KeepLast      bool                 `json:"keepLast"`
	StrictOutput  bool                 `json:"strictOutput"`
	Deterministic bool                 `json:"deterministic"`
	Scope         host.Scope           `json:"scope"`
	Exec          json.RawMessage      `json:"exec"`    // arguments of exec beside code
	Allow         []string             `json:"allow"`   // the policy; absent allows all
	Deny          []string             `json:"deny"`    //
	Hooks         []hook               `json:"hooks"`   //
	Approve       *approve             `json:"approve"` // absent: tools cannot ask
	Show          []string             `json:"show"`    // "keys", "telemetry": shown in every result
	Hide          []string             `json:"hide"`    // "place": where a cell was, where that is chance
	Durable       bool                 `json:"durable"` // suspended cells are stored in files, for `restart`
	AtOnce        []string             `json:"atOnce"`  // tools of which `ran` says how many ran at once
}

// hook is a hook on the calls of one tool.
type hook struct {
	Tool   string          `json:"tool"`
	Deny   string          `json:"deny"`   // the reason why it may not run
	Input  json.RawMessage `json:"input"`  // what it gets instead
	Output json.RawMessage `json:"output"` // what it gives instead
}

// approve is what a person answers.
type approve struct {
	No      string `json:"no"` // the reason; empty agrees
	AfterMs int    `json:"afterMs"`
}

// player plays one transcript.
type player struct {
	t      testing.TB
	s      settings
	engine *quickjs.Engine
	host   *host.Host
	store  host.Store
	tools  *toolbox
	exec   json.RawMessage // arguments of the next exec
	source string          // what they hold
	wait   json.RawMessage // arguments of the next wait, where they are not the plain run id
	runs   []string        // of each exec, where it has one
	begun  *begun
	waited bool // a result was waiting
	scopes []string
}

// begun is an exec or a wait that goes on while the next sections are played.
type begun struct {
	cancel context.CancelFunc
	result chan *host.Result
}

// play plays the sections in order and gives back the archive with the results that came.
func play(t testing.TB, engine *quickjs.Engine, archive *txtar.Archive, mode limits.Limits) *txtar.Archive {
	p := &player{t: t, engine: engine, tools: newToolbox()}
	played := &txtar.Archive{Comment: archive.Comment}
	started, ran := false, false
	for i, section := range archive.Files {
		words := strings.Fields(section.Name)
		if !started && !strings.Contains(section.Name, ".") {
			started = true
			p.s.Limits = mode.Merge(p.s.Limits)
			if p.host = p.newHost(); p.host == nil {
				return played
			}
			defer func() { p.host.Close() }()
		}
		got, err := p.section(words, section.Data)
		if err != nil {
			t.Errorf("section %d, %q: %v", i+1, section.Name, err)
			return played
		}
		ran = ran || section.Name == "ran"
		played.Files = append(played.Files, txtar.File{Name: section.Name, Data: got})
	}
	if p.begun != nil {
		t.Error("what was begun does not end: add a section `exec ends` or `wait ends`")
	}
	if p.waited && !ran {
		if *update {
			played.Files = append(played.Files, txtar.File{Name: "ran", Data: p.ran()})
		} else {
			t.Error("the cell suspends: add a section `ran` with how often each tool ran")
		}
	}
	return played
}

func (p *player) newHost() *host.Host {
	options := &host.Options{
		Catalog: p.tools.catalog, Limits: p.s.Limits, Engine: p.engine, Languages: p.s.Languages, KeepLast: p.s.KeepLast,
		StrictOutput: p.s.StrictOutput, Deterministic: p.s.Deterministic, Trajectory: p.tools.record,
	}
	if p.s.Durable {
		if p.store == nil {
			p.store = p.openStore()
		}
		options.Store = p.store
	}
	if p.s.Allow != nil || p.s.Deny != nil {
		options.Policy = catalog.NewPolicy(p.s.Allow, p.s.Deny)
	}
	for _, h := range p.s.Hooks {
		options.Hooks = append(options.Hooks, h.hook())
	}
	if a := p.s.Approve; a != nil {
		options.Approve = a.approve
	}
	h, err := host.New(options)
	if err != nil {
		p.t.Error(err)
		return nil
	}
	return h
}

func (p *player) openStore() host.Store {
	store, err := host.OpenFileStore(filepath.Join(p.t.TempDir(), "runs"))
	if err != nil {
		p.t.Error(err)
		return nil
	}
	return store
}

func (h hook) hook() host.Hook {
	return host.Hook{
		Before: func(_ context.Context, call *host.NestedCall) error {
			if call.Entry.Name() != h.Tool {
				return nil
			}
			if h.Deny != "" {
				return errors.New(h.Deny)
			}
			if h.Input != nil {
				call.Input = h.Input
			}
			return nil
		},
		After: func(_ context.Context, call *host.NestedCall, result *catalog.Result) error {
			if call.Entry.Name() == h.Tool && h.Output != nil {
				result.Value = h.Output
			}
			return nil
		},
	}
}

func (a *approve) approve(ctx context.Context, _ host.Approval) error {
	select {
	case <-time.After(time.Duration(a.AfterMs) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.No != "" {
		return errors.New(a.No)
	}
	return nil
}

// section plays one section and gives what belongs into it: what was there, or the result that came.
func (p *player) section(words []string, data []byte) ([]byte, error) {
	if len(words) == 0 {
		return nil, errors.New("no name")
	}
	verb, rest := words[0], words[1:]
	if base, ext, ok := strings.Cut(verb, "."); ok {
		return data, p.setUp(base, ext, data)
	}
	switch verb {
	case "exec", "wait":
		return p.call(verb, rest, data)
	case "ran":
		return p.ran(), nil
	case "release": // release GATE
		return data, p.tools.release(arg(rest, 0))
	case "until": // until TOOL N: until the tool was started so often
		n, _ := strconv.Atoi(arg(rest, 1))
		return data, p.tools.until(arg(rest, 0), max(n, 1))
	case "sleep": // sleep MS
		ms, err := strconv.Atoi(arg(rest, 0))
		time.Sleep(time.Duration(ms) * time.Millisecond)
		return data, err
	case "expire":
		time.Sleep(p.s.Limits.SnapshotTTL() + 50*time.Millisecond)
		return data, nil
	case "abort": // the caller of what was begun gives up
		if p.begun == nil {
			return nil, errors.New("nothing was begun")
		}
		p.begun.cancel()
		return data, nil
	case "cancel":
		id, err := p.runID(arg(rest, 0))
		return fmt.Appendln(nil, p.host.Cancel(id)), err
	case "end": // end session
		return fmt.Appendln(nil, p.host.EndSession(p.s.Scope)), nil
	case "remove": // remove ID...
		p.tools.catalog.Remove(rest...)
		return data, nil
	case "restart":
		p.host.Close()
		if p.host = p.newHost(); p.host == nil {
			return nil, errors.New("no second host")
		}
		return data, nil
	case "trajectory":
		return p.tools.trajectory(), nil
	case "runs":
		return p.listRuns(), nil
	}
	return nil, errors.New("there is no such section; see testdata/cells/README.md")
}

func arg(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}

// setUp takes a section that is an input.
func (p *player) setUp(base, ext string, data []byte) error {
	switch {
	case strings.HasPrefix(base, "options") && ext == "json":
		return decode(data, &p.s)
	case strings.HasPrefix(base, "tools") && ext == "json":
		return p.tools.add(data)
	case strings.HasPrefix(base, "namespaces") && ext == "json":
		return p.tools.addNamespaces(data)
	case strings.HasPrefix(base, "cell"):
		arguments := map[string]json.RawMessage{}
		if p.s.Exec != nil {
			if err := decode(p.s.Exec, &arguments); err != nil {
				return err
			}
		}
		code, err := json.Marshal(strings.TrimSuffix(string(data), "\n"))
		if err != nil {
			return err
		}
		arguments["code"] = code
		p.source = string(data)
		p.exec, err = json.Marshal(arguments)
		return err
	case strings.HasPrefix(base, "exec") && ext == "json":
		p.exec, p.source = data, ""
		return nil
	case strings.HasPrefix(base, "wait") && ext == "json":
		p.wait = data
		return nil
	}
	return errors.New("there is no such input; see testdata/cells/README.md")
}

func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// call makes an exec or a wait:
//
//	exec, wait               makes it and shows the result; a number after it is for the reader
//	exec begins, wait begins makes it and goes on with the next section
//	exec ends, wait ends     shows the result of what was begun
//
// Further words change a wait: run=N waits for the Nth exec's cell, run=ID for any, session=S and agentRun=R are who asks.
func (p *player) call(verb string, words []string, data []byte) ([]byte, error) {
	if arg(words, 0) == "ends" {
		b := p.begun
		if b == nil {
			return nil, errors.New("nothing was begun")
		}
		p.begun = nil
		defer b.cancel()
		return p.took(verb, <-b.result), nil
	}
	scope, which, begins := p.s.Scope, "", false
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch _, err := strconv.Atoi(word); {
		case err == nil: // counts them for the reader
		case name == "begins":
			begins = true
		case name == "session":
			scope.Session = value
		case name == "agentRun":
			scope.AgentRun = value
		case name == "run":
			which = value
		default:
			return nil, fmt.Errorf("there is no %q", word)
		}
	}
	do, err := p.prepare(verb, which, scope)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	if begins {
		if p.begun != nil {
			cancel()
			return nil, errors.New("something was begun before")
		}
		b := &begun{cancel, make(chan *host.Result, 1)}
		p.begun = b
		go func() { b.result <- do(ctx) }()
		if verb == "wait" {
			p.untilRunning()
		}
		return data, nil
	}
	defer cancel()
	return p.took(verb, do(ctx)), nil
}

// prepare makes the function that makes the call.
func (p *player) prepare(verb, which string, scope host.Scope) (func(context.Context) *host.Result, error) {
	h := p.host
	if verb == "exec" {
		var in host.ExecInput
		if p.exec == nil {
			return nil, errors.New("there is no cell yet")
		}
		if err := json.Unmarshal(p.exec, &in); err != nil {
			return nil, fmt.Errorf("ExecInput: %w", err)
		}
		return func(ctx context.Context) *host.Result { return h.Exec(ctx, scope, in) }, nil
	}
	var in host.WaitInput
	if p.wait != nil {
		id, _ := p.runID("")
		arguments := bytes.ReplaceAll(p.wait, []byte("RUN"), []byte(id))
		p.wait = nil
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, fmt.Errorf("WaitInput: %w", err)
		}
	} else {
		id, err := p.runID(which)
		if err != nil {
			return nil, err
		}
		in.RunID = id
	}
	return func(ctx context.Context) *host.Result { return h.Wait(ctx, scope, in) }, nil
}

// runID is the id of the nth exec's cell, of the last one, or the text itself.
func (p *player) runID(which string) (string, error) {
	n := len(p.runs)
	if which != "" {
		number, err := strconv.Atoi(which)
		if err != nil {
			return which, nil
		}
		n = number
	}
	if n < 1 || n > len(p.runs) || p.runs[n-1] == "" {
		return "", errors.New("no such exec has a run id")
	}
	return p.runs[n-1], nil
}

// took notes a result and shows it.
func (p *player) took(verb string, r *host.Result) []byte {
	p.check(r)
	if verb == "exec" {
		p.runs = append(p.runs, r.RunID)
	}
	p.waited = p.waited || r.Status == host.Waiting
	shown := *r
	shown.Telemetry.CounterScope = p.catalogNumber(r.Telemetry.CounterScope)
	return []byte(show(&shown, p.s.Show, p.s.Hide))
}

// catalogNumber is a name for a counter scope that is the same in every run.
func (p *player) catalogNumber(scope string) string {
	if !slices.Contains(p.scopes, scope) {
		p.scopes = append(p.scopes, scope)
	}
	return strconv.Itoa(slices.Index(p.scopes, scope) + 1)
}

// untilRunning waits until a cell is driven.
func (p *player) untilRunning() {
	for range 1000 {
		for _, run := range p.host.Runs(p.s.Scope) {
			if !run.Suspended {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
	p.t.Error("no cell runs")
}

func (p *player) listRuns() []byte {
	var b bytes.Buffer
	for _, run := range p.host.Runs(p.s.Scope) {
		state := "running"
		if run.Suspended {
			state = "suspended"
		}
		fmt.Fprintf(&b, "%s %q", state, run.Title)
		for _, call := range run.Pending {
			fmt.Fprintf(&b, " %s", strings.TrimSpace(call.ID+" "+call.Tool))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// ran says how often each tool was started.
func (p *player) ran() []byte { return p.tools.ran(p.s.AtOnce) }

var volatile = regexp.MustCompile(`\b(cm|result)_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
