package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
)

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
