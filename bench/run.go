package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"codemode/limits"
	"codemode/quickjs"
)

// ours is the subject of what codemode does.
const ours = "codemode"

// Options configures Run. The zero value measures everything once, for about four minutes, beside the peers that are
// installed.
type Options struct {
	// Suites are the names of the suites to run; empty for all. Suites lists them.
	Suites []string
	// Quick keeps the whole run under a minute, with wider intervals.
	Quick bool
	// Budget is the time for all suites together; what must be done at least may take longer. Default 4 minutes without
	// peers, 8 with, and 40 seconds where Quick is set.
	Budget time.Duration
	// Peers measures the installed peers beside codemode.
	Peers bool
	// PeersDir is the folder of the peers. Default "bench/peers".
	PeersDir string
	// Command is a program that prints the result of the cell given as its last argument: for the time from a process's
	// start to its first result. Empty skips that.
	Command []string
	// Progress, where set, is told what is being measured. A terminal gets one line that is written over.
	Progress io.Writer

	// tiny runs everything once, to see that it works.
	tiny bool
}

// suite is a part of the bench that can be run alone.
type suite struct {
	name    string
	title   string
	share   float64 // of the budget
	measure func(context.Context, *runner) error
}

// suites in the order in which they run. Memory suites come last: they leave a large heap behind.
var suites = []suite{
	{"start", "Start: from a text to its result", 0.2, measureStart},
	{"suspend", "Suspend and resume", 0.14, measureSuspend},
	{"snapshot", "Snapshots: size, encode and decode", 0.12, measureSnapshots},
	{"bridge", "Bridge: tool calls and output", 0.16, measureBridge},
	{"scale", "Catalog scale", 0.08, measureScale},
	{"processors", "Processors", 0.08, measureProcessors},
	{"limits", "What limits and settings cost", 0.09, measureLimits},
	{"compute", "Compute: the JavaScript benchmark", 0.16, measureCompute},
	{"memory", "Memory of running cells", 0.03, measureMemory},
	{"suspended", "Memory of suspended cells", 0.03, measureSuspended},
}

// Suites lists the names of the suites, in the order in which they run.
func Suites() []string {
	var names []string
	for _, s := range suites {
		names = append(names, s.name)
	}
	return names
}

func checkSuites(names []string) error {
	for _, name := range names {
		if !slices.Contains(Suites(), name) {
			return fmt.Errorf("bench: there is no suite %q; there are %s", name, strings.Join(Suites(), ", "))
		}
	}
	return nil
}

// runner runs suites.
type runner struct {
	options  Options
	peers    *peerSet
	progress *progress
	result   *Result
	suite    *Suite // the current one
	budget   time.Duration
	shared   *quickjs.Engine
	kernels  map[string]map[string][]float64
}

// Run measures. A suite that fails is an error; a peer that fails is skipped with the reason.
func Run(ctx context.Context, options Options) (*Result, error) {
	if err := checkSuites(options.Suites); err != nil {
		return nil, err
	}
	if options.Budget <= 0 {
		switch {
		case options.Quick:
			options.Budget = 30 * time.Second
		case options.Peers:
			options.Budget = 8 * time.Minute
		default:
			options.Budget = 4 * time.Minute
		}
	}
	if options.PeersDir == "" {
		options.PeersDir = "bench/peers"
	}
	r := &runner{options: options, progress: newProgress(options.Progress), result: &Result{
		Format: Format, Started: time.Now().UTC().Truncate(time.Second), Quick: options.Quick, Suites: []Suite{},
	}}
	build, err := thisBuild()
	if err != nil {
		return nil, err
	}
	r.result.Build = build
	before := machineBefore()
	r.peers = newPeerSet(options)
	defer r.peers.close()
	start := time.Now()
	for _, s := range suites {
		if len(options.Suites) > 0 && !slices.Contains(options.Suites, s.name) {
			continue
		}
		if err := r.runSuite(ctx, s); err != nil {
			return nil, err
		}
	}
	r.progress.done()
	r.result.Seconds = significant(time.Since(start).Seconds())
	r.result.Machine = before.after()
	r.result.Targets = judge(r.result)
	return r.result, nil
}

func (r *runner) runSuite(ctx context.Context, s suite) error {
	r.suite = &Suite{Name: s.name, Title: s.title, Cases: []Case{}, Ratios: []Ratio{}, Skipped: []Skip{}}
	r.budget = time.Duration(float64(r.options.Budget) * s.share)
	for name, why := range r.peers.missing {
		r.skip(s.name+"/*/"+name, why)
	}
	slices.SortFunc(r.suite.Skipped, func(a, b Skip) int { return strings.Compare(a.What, b.What) })
	r.progress.suite(s.title)
	defer r.close()
	start := time.Now()
	if err := s.measure(ctx, r); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("suite %s: %w", s.name, err)
	}
	r.suite.Seconds = significant(time.Since(start).Seconds())
	r.result.Suites = append(r.result.Suites, *r.suite)
	return nil
}

// engine is the suite's engine; it is warm. Each suite has one of its own, because an engine keeps instances, and those
// remember what ran in them.
func (r *runner) engine(context.Context) (*quickjs.Engine, error) {
	if r.shared != nil {
		return r.shared, nil
	}
	engine, err := r.newEngine()
	r.shared = engine
	return engine, err
}

func (r *runner) newEngine() (*quickjs.Engine, error) {
	engine, err := quickjs.NewEngine(&quickjs.EngineOptions{Progress: r.progress.say})
	if err != nil {
		return nil, err
	}
	if err := engine.Warm(limits.Default()); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return engine, nil
}

func (r *runner) close() {
	if r.shared != nil {
		r.shared.Close()
		r.shared = nil
	}
}

// group starts a group of cases that are measured in turn. Times are in nanoseconds.
func (r *runner) group(name, title string) *group {
	return &group{runner: r, name: name, title: title, unit: Nanoseconds, share: 1}
}

// size adds a case that needs no repetition: a number of bytes.
func (r *runner) size(id, title string, bytes float64) *Case {
	return r.number(id, title, Bytes, bytes)
}

// number adds a case of one value.
func (r *runner) number(id, title string, unit Unit, v float64) *Case {
	c := summarize([]float64{v}, []float64{v})
	c.Quantiles = nil
	c.ID, c.Group, c.Title, c.Subject, c.Unit = id, id, title, ours, unit
	r.suite.Cases = append(r.suite.Cases, c)
	return &r.suite.Cases[len(r.suite.Cases)-1]
}

func (r *runner) skip(what, why string) {
	r.suite.Skipped = append(r.suite.Skipped, Skip{what, why})
}
