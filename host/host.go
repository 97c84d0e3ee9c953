package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"codemode/catalog"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/transpile"
)

// Options configures a Host. Nil, and the zero value of each field, is the default.
type Options struct {
	// Catalog has the tools that cells find. Default: none.
	Catalog *catalog.Catalog
	// Policy hides tools from every cell of the host. Default: none hidden.
	Policy *catalog.Policy
	// Limits bound each cell; fields that are zero take their default.
	Limits limits.Limits
	// Engine runs the cells. Default: one of the host's own, made with EngineOptions and closed with the host.
	Engine        *quickjs.Engine
	EngineOptions *quickjs.EngineOptions
	// Store keeps suspended cells. Default: in memory.
	Store Store
	// Languages are those that cells may be written in. Default: both.
	Languages []transpile.Language
	// KeepLast leaves a trailing expression alone, so that only `return` gives a value.
	KeepLast bool
	// StrictOutput makes a result that is too large fail with output_limit_exceeded, instead of completing with a marker.
	StrictOutput bool
	// Deterministic makes Math.random and the clock the same in every run: for tests and replays.
	Deterministic bool
	// Approve asks a person for a tool (catalog.Call.AwaitApproval). Nil: tools cannot ask.
	Approve func(ctx context.Context, request Approval) error
	// Hooks see and may change nested calls, in this order.
	Hooks []Hook
	// ExecHooks see and may change, or refuse, what exec was given, in this order, before any of it is looked at. An error
	// is the reason that the model sees.
	ExecHooks []func(ctx context.Context, call *ExecCall) error
	// Trajectory, where set, is given a record of every nested call that has ended. It is called from many goroutines.
	Trajectory func(Record)
	// Redact, where set, may blank what must not be in a record before Trajectory gets it.
	Redact func(*Record)
	// Tracers and Meters, where set, get OpenTelemetry spans and metrics.
	Tracers trace.TracerProvider
	Meters  metric.MeterProvider
	// VisibleTools are the names that telemetry lists as visible to the model. Default: exec and wait.
	VisibleTools []string
	// Logger gets what a person who runs the host wants to know. Default: nothing is logged.
	Logger *zerolog.Logger
}

// NewCatalog makes a catalog whose callable names keep clear of every global of the engine.
func NewCatalog(options *catalog.Options) *catalog.Catalog {
	var o catalog.Options
	if options != nil {
		o = *options
	}
	o.Reserved = append(append([]string(nil), o.Reserved...), quickjs.Globals()...)
	return catalog.New(&o)
}

// Scope says for whom a cell runs. A cell can be waited for only with the scope it was started with.
type Scope struct {
	Session  string `json:"session,omitempty"`
	AgentRun string `json:"agentRun,omitempty"`
}

// Host runs cells.
type Host struct {
	options   Options
	limits    limits.Limits
	engine    *quickjs.Engine
	ownEngine bool
	noEngine  error // why there is none: every exec fails with it
	preparer  *transpile.Preparer
	log       zerolog.Logger
	store     Store
	durable   bool // the store outlives this host: records hold everything
	counters  counters
	observe   *instruments
	results   savedResults

	reserved atomic.Int64 // cells that hold host work, suspended or not

	mu      sync.Mutex
	closed  bool
	cells   map[string]*cell // by run id: running, and suspended with live calls
	ended   lastResults
	active  sync.WaitGroup // nested calls
	workers *workers       // what runs them
}

// The transpiler's cache: prepared cells that are seen again cost nothing.
const (
	cacheEntries = 1024
	cacheBytes   = 16 << 20
)

// New makes a host. The error is a mistake in the options. Where the engine cannot run (this build has no guest, or one
// that does not match the ABI) every exec fails with runtime_unavailable and says why; see Available.
func New(options *Options) (*Host, error) {
	h := &Host{workers: newWorkers(), cells: map[string]*cell{}, log: zerolog.Nop(), preparer: transpile.NewPreparer(cacheEntries, cacheBytes)}
	if options != nil {
		h.options = *options
	}
	for _, l := range h.options.Languages {
		if l != transpile.JavaScript && l != transpile.TypeScript {
			return nil, fmt.Errorf("host: there is no language %q", l)
		}
	}
	var err error
	if h.observe, err = newInstruments(h.options.Tracers, h.options.Meters); err != nil {
		return nil, fmt.Errorf("host: metrics: %w", err)
	}
	h.limits = h.options.Limits.Clamp()
	if h.options.Logger != nil {
		h.log = *h.options.Logger
	}
	if h.options.Catalog == nil {
		h.options.Catalog = NewCatalog(nil)
	}
	if len(h.options.VisibleTools) == 0 {
		h.options.VisibleTools = []string{"exec", "wait"}
	}
	h.store, h.durable = h.options.Store, h.options.Store != nil
	if h.store == nil {
		h.store = newMemoryStore()
	}
	h.engine = h.options.Engine
	if h.engine == nil {
		h.engine, h.noEngine = quickjs.NewEngine(h.options.EngineOptions)
		h.ownEngine = h.noEngine == nil
	}
	return h, nil
}

// Available says whether cells can run: nil, or why not. A caller that hides its tools behind code mode asks first, and
// must not show them where this fails.
func (h *Host) Available() error { return h.noEngine }

// Drain waits until no nested call runs any more, or ctx ends. A caller that ends the process with cells suspended in a
// durable store drains the host first, so that no answer is lost.
func (h *Host) Drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		h.active.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close cancels every cell and waits until their calls have returned. Suspended cells in a store of Options.Store stay
// there, for another host. A second Close does nothing. A tool must not call it: it would wait for itself.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	cells := make([]*cell, 0, len(h.cells))
	for _, c := range h.cells {
		cells = append(cells, c)
	}
	if h.ended.timer != nil {
		h.ended.timer.Stop()
	}
	h.ended = lastResults{}
	h.mu.Unlock()
	for _, c := range cells {
		c.abort(errClosed)
	}
	h.active.Wait()
	h.workers.close()
	if h.ownEngine {
		return h.engine.Close()
	}
	return nil
}

var errClosed = errors.New("the host is closed")

// Run describes a cell that is running or suspended.
type Run struct {
	RunID     string        `json:"runId"`
	Scope     Scope         `json:"scope"`
	Title     string        `json:"title,omitempty"`
	Suspended bool          `json:"suspended"`
	Started   time.Time     `json:"started"`
	Expires   time.Time     `json:"expires,omitzero"` // zero while it runs
	Pending   []PendingCall `json:"pendingToolCalls"`
}

// Runs lists the cells of a scope; empty fields of scope match any. Cells that other processes have suspended in a
// durable store are among them.
func (h *Host) Runs(scope Scope) []Run {
	h.mu.Lock()
	cells := make([]*cell, 0, len(h.cells))
	known := map[string]bool{}
	for _, c := range h.cells {
		known[c.id] = true
		if scope.matches(c.scope) {
			cells = append(cells, c)
		}
	}
	h.mu.Unlock()
	runs := []Run{}
	for _, c := range cells {
		runs = append(runs, c.describe())
	}
	if h.durable {
		stored, err := StoredRuns(h.store)
		if err != nil {
			h.log.Error().Err(err).Msg("the store cannot be listed")
		}
		for _, run := range stored {
			if !known[run.RunID] && scope.matches(run.Scope) {
				runs = append(runs, run)
			}
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return a.Started.Compare(b.Started) })
	return runs
}

// StoredRuns lists the cells that a durable store has, oldest first.
func StoredRuns(store Store) ([]Run, error) {
	runs := []Run{}
	err := store.Each(context.Background(), func(id string, record []byte, expires time.Time) error {
		s, _, err := readRecord(record)
		if err != nil {
			return nil // not a run of ours: somebody else's business
		}
		run := Run{RunID: id, Scope: s.Scope, Title: s.Title, Started: s.Started, Suspended: true, Expires: expires, Pending: []PendingCall{}}
		for _, p := range s.Pending {
			if !p.Settled {
				r := &request{method: p.Method, number: p.Number}
				run.Pending = append(run.Pending, PendingCall{r.bridgeID(), p.Method, p.Tool, time.Since(p.Asked).Milliseconds()})
			}
		}
		runs = append(runs, run)
		return nil
	})
	slices.SortFunc(runs, func(a, b Run) int { return a.Started.Compare(b.Started) })
	return runs, err
}

func (s Scope) matches(other Scope) bool {
	return (s.Session == "" || s.Session == other.Session) && (s.AgentRun == "" || s.AgentRun == other.AgentRun)
}

// Cancel ends a cell: its calls are cancelled and its snapshot is dropped. It says whether there was such a cell.
func (h *Host) Cancel(runID string) bool {
	h.mu.Lock()
	c := h.cells[runID]
	h.mu.Unlock()
	if c == nil {
		if h.durable { // of another process
			ok, err := CancelStored(h.store, runID)
			return ok && err == nil
		}
		return false
	}
	if c.isElsewhere() {
		c.abort(errTaken)
		return false
	}
	c.abort(errCancelled)
	return true
}

// CancelStored ends a run in a store. It says whether there was one that no other process goes on with.
func CancelStored(store Store, runID string) (bool, error) {
	_, _, ok, err := store.Take(context.Background(), runID)
	if errors.Is(err, ErrRunInterrupted) { // and is gone with that
		return true, nil
	}
	if !ok || err != nil {
		return false, err
	}
	return true, store.Delete(context.Background(), runID)
}

// EndSession cancels every cell of a scope and drops the results that it saved. It returns how many cells there were.
func (h *Host) EndSession(scope Scope) int {
	runs := h.Runs(scope)
	n := 0
	for _, run := range runs {
		if h.Cancel(run.RunID) {
			n++
		}
	}
	h.results.drop(scope)
	return n
}

var (
	errCancelled = errors.New("the run was cancelled")
	errExpired   = errors.New("the run expired")
)

func newRunID() string { return "cm_" + uuid.NewString() }

// lastResults keeps the last results of cells that were suspended before, for callers who lost them. The host's mu guards
// it.
type lastResults struct {
	byRun map[string]lastResult
	order []string // oldest first
	timer *time.Timer
}

type lastResult struct {
	scope  Scope
	result *Result
	at     time.Time
}

// repeatFor is how long the last result of a run can be asked for again, and maxEnded of how many runs.
const (
	repeatFor = time.Minute
	maxEnded  = 256
)

func (h *Host) keepResult(c *cell, r *Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	l := &h.ended
	if l.byRun == nil {
		l.byRun = map[string]lastResult{}
	}
	l.byRun[c.id] = lastResult{c.scope, r, time.Now()}
	l.order = append(l.order, c.id)
	if len(l.order) > maxEnded {
		l.dropOldest()
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(repeatFor, h.dropResults)
	}
}

func (l *lastResults) dropOldest() {
	delete(l.byRun, l.order[0])
	l.order = l.order[1:]
}

// dropResults drops the results whose time is over.
func (h *Host) dropResults() {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &h.ended
	for len(l.order) > 0 && time.Since(l.byRun[l.order[0]].at) >= repeatFor {
		l.dropOldest()
	}
	l.timer = nil
	if len(l.order) > 0 && !h.closed {
		l.timer = time.AfterFunc(repeatFor-time.Since(l.byRun[l.order[0]].at), h.dropResults)
	}
}

// repeated is the last result of a run, for its scope. The caller holds mu.
func (h *Host) repeated(id string, scope Scope) *Result {
	if last, ok := h.ended.byRun[id]; ok && last.scope == scope {
		return last.result
	}
	return nil
}

// makeRoom drops the cells that other processes have gone on with or ended, where so many places are taken: nothing else
// tells this host before they expire.
func (h *Host) makeRoom(most int64) {
	if !h.durable || h.reserved.Load() < most {
		return
	}
	h.mu.Lock()
	cells := slices.Collect(maps.Values(h.cells))
	h.mu.Unlock()
	for _, c := range cells {
		if c.isElsewhere() {
			c.abort(errTaken)
		}
	}
}

func (h *Host) forget(c *cell) {
	h.mu.Lock()
	if h.cells[c.id] == c { // not another one, made of what another process came to
		delete(h.cells, c.id)
	}
	h.mu.Unlock()
}
