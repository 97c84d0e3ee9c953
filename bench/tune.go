package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"runtime/debug"
	"time"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/transpile"
)

// TuneOptions configures Tune.
type TuneOptions struct {
	// Code is the cell. It is run some hundred times, with the tools that it calls.
	Code string
	// Language is what the cell is written in; empty lets the host tell.
	Language transpile.Language
	// Tools is a tools file (catalog.LoadFile) with what the cell calls. Empty: none.
	Tools string
	// Budget is the time for all trials together. Default 20 s.
	Budget time.Duration
	// Progress, where set, is told what is tried.
	Progress io.Writer
}

// tuner tries settings with one cell.
type tuner struct {
	TuneOptions
	tools    *catalog.Catalog
	progress *progress
	advice   *Advice
}

// Tune runs a cell under many settings on this machine and recommends some. The error is that the cell fails under the
// defaults, or that the tools cannot be read.
func Tune(ctx context.Context, o TuneOptions) (*Advice, error) {
	if o.Budget <= 0 {
		o.Budget = 20 * time.Second
	}
	t := &tuner{TuneOptions: o, tools: host.NewCatalog(nil), progress: newProgress(o.Progress), advice: &Advice{Limits: limits.Default()}}
	if o.Tools != "" {
		tools, problems, err := catalog.LoadFile(o.Tools)
		if err != nil {
			return nil, err
		}
		problems = append(problems, t.tools.Add(tools...)...)
		for _, p := range problems {
			t.advice.Notes = append(t.advice.Notes, p.String())
		}
	}
	defer t.progress.done()
	for _, step := range []struct {
		what string
		try  func(context.Context) error
	}{
		{"the cell under the defaults", t.tryDefaults},
		{"metering", t.tryMetering},
		{"park time", t.tryParking},
		{"codec", t.tryCodecs},
		{"number of instances", t.tryInstances},
		{"the recommended limits together", t.tryAdvice},
	} {
		t.progress.suite("trying " + step.what)
		if err := step.try(ctx); err != nil {
			return nil, err
		}
	}
	return t.advice, nil
}

// trial is a host with one set of settings.
type trial struct {
	*host.Host
	code     string
	language transpile.Language
	scope    host.Scope
}

func (t *tuner) host(engine *quickjs.Engine, l limits.Limits, store host.Store) (*trial, error) {
	h, err := host.New(&host.Options{Catalog: t.tools, Engine: engine, Limits: l, Store: store})
	if err != nil {
		return nil, err
	}
	return &trial{h, t.Code, t.Language, host.Scope{Session: "tune"}}, nil
}

// run runs the cell to its end, with all its waits.
func (t *trial) run(ctx context.Context) (last *host.Result, waits int, err error) {
	r := t.Exec(ctx, t.scope, host.ExecInput{Code: t.code, Language: t.language})
	for r.Status == host.Waiting {
		waits++
		r = t.Wait(ctx, t.scope, host.WaitInput{RunID: r.RunID})
	}
	last, err = completed(r)
	return last, waits, err
}

// times runs the cell again and again for a time, at least three times.
func (t *trial) times(ctx context.Context, budget time.Duration) ([]float64, error) {
	var out []float64
	for end := time.Now().Add(budget); len(out) < 3 || time.Now().Before(end); {
		start := time.Now()
		if _, _, err := t.run(ctx); err != nil {
			return nil, err
		}
		out = append(out, float64(time.Since(start).Nanoseconds()))
	}
	return out, nil
}

// withEngine runs f with an engine of its own.
func withEngine(o *quickjs.EngineOptions, f func(*quickjs.Engine) error) error {
	engine, err := quickjs.NewEngine(o)
	if err != nil {
		return err
	}
	return errors.Join(f(engine), engine.Close())
}

// part is a share of the budget.
func (t *tuner) part(share float64) time.Duration {
	return time.Duration(share * float64(t.Budget))
}

// tryDefaults runs the cell as it is, and sets the limits that follow from what it used.
func (t *tuner) tryDefaults(ctx context.Context) error {
	return withEngine(nil, func(engine *quickjs.Engine) error {
		h, err := t.host(engine, limits.Limits{}, nil)
		if err != nil {
			return err
		}
		defer h.Close()
		times, err := h.times(ctx, t.part(0.15))
		if err != nil {
			return err
		}
		result, waits, err := h.run(ctx) // last: the first cell of an engine meets pages that nobody has touched
		if err != nil {
			return err
		}
		a, cell := t.advice, result.Telemetry.Cell
		c := summarize(times, times)
		output := len(result.Value)
		for _, entry := range result.Output {
			output += len(entry)
		}
		a.Used = Used{
			Runs: len(times), P50: c.P50, P99: c.P99, VM: float64(cell.VMMicros) * 1e3, MemoryBytes: int64(cell.MemoryBytes),
			SnapshotBytes: int64(cell.SnapshotBytes), OutputBytes: int64(output), Waits: waits, Calls: calls(result),
		}
		roomy := func(name limits.Name, at *int64, used, times, least int64, what string) {
			v := above(used, times, least)
			a.limit(name, at, v, because(used, times, v, least, what))
		}
		roomy(limits.Memory, &a.Limits.MemoryLimitBytes, a.Used.MemoryBytes, 4, 4<<20, "what it used")
		roomy(limits.OutputBytes, &a.Limits.MaxOutputBytes, a.Used.OutputBytes, 4, 16<<10, "what it gave out")
		if a.Used.SnapshotBytes > 0 {
			roomy(limits.Snapshot, &a.Limits.MaxSnapshotBytes, a.Used.SnapshotBytes, 8, 64<<10, "its snapshot")
		}
		if waits == 0 && a.Used.Calls == 0 {
			v, why := int64(20*c.P99/1e6), "twenty times its slowest runs; it waits for nothing"
			if v < leastTimeout {
				v, why = leastTimeout, fmt.Sprintf("the least that is recommended; its slowest runs take %s, and it waits for nothing", duration(c.P99))
			}
			a.limit(limits.Timeout, &a.Limits.TimeoutMs, v, why)
		}
		return nil
	})
}

// leastTimeout is the shortest timeout that is recommended, in milliseconds.
const leastTimeout = 250

// because says why a limit is what above gave.
func because(used, times, v, least int64, what string) string {
	if v == least && used*times < least {
		return fmt.Sprintf("the least that is recommended; %s is %s", what, value(float64(used), Bytes))
	}
	return fmt.Sprintf("at least %d times %s, %s", times, what, value(float64(used), Bytes))
}

func calls(r *host.Result) int {
	n := 0
	for _, tool := range r.Telemetry.Cell.Tools {
		n += tool.Calls
	}
	return n
}

// above is a power of two that is at least so many times a value, and at least a least.
func above(v, times, least int64) int64 {
	return max(least, 1<<bits.Len64(uint64(max(1, v*times)-1)))
}

// tryMetering is what fuel costs the cell, and how much of it it needs.
func (t *tuner) tryMetering(ctx context.Context) error {
	return withEngine(nil, func(engine *quickjs.Engine) error {
		plain, err := t.host(engine, limits.Limits{}, nil)
		if err != nil {
			return err
		}
		defer plain.Close()
		fueled, err := t.host(engine, limits.Limits{Fuel: 1 << 50}, nil)
		if err != nil {
			return err
		}
		defer fueled.Close()
		result, _, err := fueled.run(ctx)
		if err != nil {
			return err
		}
		if _, _, err := plain.run(ctx); err != nil {
			return err
		}
		used := result.Telemetry.Cell.FuelUsed
		var ratios []float64
		for end := time.Now().Add(t.part(0.2)); len(ratios) < 3 || time.Now().Before(end); {
			a, err := plain.times(ctx, 0)
			if err != nil {
				return err
			}
			b, err := fueled.times(ctx, 0)
			if err != nil {
				return err
			}
			ratios = append(ratios, median(b)/median(a))
		}
		a, cost := t.advice, median(ratios)
		a.try("metering", "epoch", "1.00×")
		a.try("metering", "epoch and fuel", fmt.Sprintf("%.2f×, %d instructions used", cost, used))
		if cost <= 1.1 {
			a.limit(limits.Fuel, &a.Limits.Fuel, above(used, 8, 10_000_000), "fuel costs this cell little and bounds it whatever the machine does")
		} else {
			a.Notes = append(a.Notes, fmt.Sprintf("fuel would cost this cell %.0f %%; without it the deadline bounds it. To have fuel all the same, set fuel=%d.", 100*(cost-1), above(used, 8, 10_000_000)))
		}
		return nil
	})
}

// tryParking is how long a cell that waits should keep its instance.
func (t *tuner) tryParking(ctx context.Context) error {
	a := t.advice
	if a.Used.P50-a.Used.VM < 2e6 {
		a.Notes = append(a.Notes, "the cell waits less than 2 ms in all, so that the park time does not matter to it")
		return nil
	}
	bestTime, bestMS := 0.0, int64(0)
	for _, ms := range []int64{60_000, 100, 20, 5, 1} {
		err := withEngine(nil, func(engine *quickjs.Engine) error {
			h, err := t.host(engine, limits.Limits{ParkAfterMs: ms}, nil)
			if err != nil {
				return err
			}
			defer h.Close()
			stop := make(chan struct{})
			held := sampleVMs(engine, stop)
			times, err := h.times(ctx, t.part(0.06))
			close(stop)
			instances := <-held
			if err != nil {
				return err
			}
			p50 := median(times)
			a.try("park after", fmt.Sprintf("%d ms", ms), fmt.Sprintf("%s, an instance held %.0f %% of the time", duration(p50), 100*instances))
			if bestMS == 0 {
				bestTime, bestMS = p50, ms
			} else if p50 <= bestTime*1.05 { // shorter is better for others as long as it costs this cell nothing
				bestMS = ms
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	a.limit(limits.ParkAfter, &a.Limits.ParkAfterMs, bestMS, "the shortest that costs the cell no more than 5 %")
	return nil
}

// sampleVMs gives the mean number of VMs that an engine had until stop is closed.
func sampleVMs(engine *quickjs.Engine, stop <-chan struct{}) <-chan float64 {
	out := make(chan float64, 1)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		sum, n := 0, 0
		for {
			select {
			case <-tick.C:
				sum += engine.Stats().VMs
				n++
			case <-stop:
				out <- float64(sum) / float64(max(1, n))
				return
			}
		}
	}()
	return out
}

// tryCodecs packs the cell's snapshot in every way, where it has one.
func (t *tuner) tryCodecs(ctx context.Context) error {
	if t.advice.Used.SnapshotBytes == 0 {
		return nil
	}
	return withEngine(nil, func(engine *quickjs.Engine) error {
		store := &keeper{}
		h, err := t.host(engine, limits.Limits{}, store)
		if err != nil {
			return err
		}
		defer h.Close()
		h.Exec(ctx, h.scope, host.ExecInput{Code: h.code, Language: h.language})
		encoded, ok := snapshotOf(store.last)
		if !ok {
			return nil
		}
		s, err := quickjs.DecodeSnapshot(encoded)
		if err != nil {
			return err
		}
		vm, err := engine.Restore(ctx, s, &bareBridge{}, quickjs.Options{Limits: snapshotLimits()})
		if err != nil {
			return err
		}
		defer vm.Close()
		for _, c := range codecs {
			var times []float64
			size := 0
			for end := time.Now().Add(t.part(0.03)); len(times) < 3 || time.Now().Before(end); {
				start := time.Now()
				packed, err := vm.Snapshot(c.codec)
				if err != nil {
					return err
				}
				size = len(packed.Encode())
				times = append(times, float64(time.Since(start).Nanoseconds()))
			}
			t.advice.try("codec", c.name, fmt.Sprintf("%s, %s", value(float64(size), Bytes), duration(median(times))))
		}
		t.advice.Notes = append(t.advice.Notes, "a host packs with s2; zstd is for a store of your own that keeps snapshots for long")
		return nil
	})
}

// tryInstances is how many instances an engine needs for the most cells per second, with many goroutines at it.
func (t *tuner) tryInstances(ctx context.Context) error {
	processors := runtime.GOMAXPROCS(0)
	best, bestRate := 0, 0.0
	rates := map[int]float64{}
	counts := []int{processors, 2 * processors, 4 * processors, max(64, 4*processors)}
	for _, n := range counts {
		err := withEngine(&quickjs.EngineOptions{Instances: n}, func(engine *quickjs.Engine) error {
			h, err := t.host(engine, limits.Limits{MaxSuspendedCells: 1 << 20, ParkAfterMs: t.advice.Limits.ParkAfterMs}, nil)
			if err != nil {
				return err
			}
			defer h.Close()
			if _, _, err := h.run(ctx); err != nil {
				return err
			}
			debug.FreeOSMemory()
			before := resident()
			rate, err := rate(8*processors, t.part(0.05), func() error { _, _, err := h.run(ctx); return err })
			if err != nil {
				return err
			}
			rates[n] = rate
			t.advice.try("instances", fmt.Sprint(n), fmt.Sprintf("%.0f cells a second with %d goroutines, %s more resident", rate, 8*processors, value(max(0, resident()-before), Bytes)))
			bestRate = max(bestRate, rate)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, n := range counts {
		if rates[n] >= 0.95*bestRate {
			best = n
			break
		}
	}
	t.advice.Instances = best
	return nil
}

// tryAdvice runs the cell under what is recommended: advice that breaks the cell would be none.
func (t *tuner) tryAdvice(ctx context.Context) error {
	return withEngine(&quickjs.EngineOptions{Instances: t.advice.Instances}, func(engine *quickjs.Engine) error {
		h, err := t.host(engine, t.advice.Limits, nil)
		if err != nil {
			return err
		}
		defer h.Close()
		times, err := h.times(ctx, t.part(0.1))
		if err != nil {
			return fmt.Errorf("bench: the cell fails under the recommended limits: %w", err)
		}
		t.advice.Tuned = significant(median(times))
		return nil
	})
}
