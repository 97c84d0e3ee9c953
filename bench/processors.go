package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/limits"
)

// measureProcessors is P8: cells per second as goroutines are added, beside a loop that shares nothing.
func measureProcessors(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	s, err := newStation(engine, 20, limits.Limits{MaxSuspendedCells: 1 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	window := 60 * time.Millisecond
	switch {
	case r.options.tiny:
		window = time.Millisecond
	case r.options.Quick:
		window = 30 * time.Millisecond
	}
	works := []struct {
		name, title string
		run         func() error
	}{
		{"cells", "cells (return 1+2)", func() error { _, err := s.exec(ctx, cellSmall); return err }},
		{"calls", "cells with 16 tool calls", func() error { _, err := s.exec(ctx, fmt.Sprintf(cellParallel, 16)); return err }},
		{"quickjs", "quickjs alone", func() error { return runBare(ctx, engine, cellSmall) }},
		{"spin", "a loop that shares nothing", func() error { runtime.KeepAlive(spin(spinUnit)); return nil }},
	}
	g := r.group("processors", "Operations per second by number of goroutines")
	g.unit = PerSecond
	for _, w := range works {
		for _, n := range goroutineCounts() {
			g.addEach(processorsID(w.name, n), fmt.Sprintf("%s, %d goroutines", w.title, n), func(int) ([]float64, error) {
				rate, err := rate(n, window, w.run)
				return []float64{rate}, err
			}).times(1)
			if n > 1 {
				g.compare(fmt.Sprintf("processors/%s/%d/1", w.name, n), processorsID(w.name, n), processorsID(w.name, 1))
			}
		}
	}
	if err := g.run(ctx); err != nil {
		return err
	}
	// The gain of cells against the gain of the loop, round by round.
	all := runtime.GOMAXPROCS(0)
	for _, w := range works[:3] {
		cells, spin := g.gain(w.name, all), g.gain("spin", all)
		var rounds []float64
		for i := range cells {
			rounds = append(rounds, cells[i]/spin[i])
		}
		if all > 1 {
			r.suite.Ratios = append(r.suite.Ratios, ratioOf(Ratio{
				ID: "processors/gain/" + w.name, Of: processorsID(w.name, all), To: processorsID("spin", all)}, rounds))
		}
	}
	return nil
}

func processorsID(work string, goroutines int) string {
	return fmt.Sprintf("processors/%s/%d", work, goroutines)
}

// goroutineCounts are 1, the processors, and beyond.
func goroutineCounts() []int {
	p := runtime.GOMAXPROCS(0)
	counts := []int{1, p, 2 * p, 8 * p, 32 * p}
	slices.Sort(counts)
	return slices.Compact(counts)
}

// gain is what n goroutines did of one's work, in every round.
func (g *group) gain(work string, n int) []float64 {
	return g.pairs(Ratio{Of: processorsID(work, n), To: processorsID(work, 1)})
}

// rate is how often n goroutines run f in a second.
func rate(n int, window time.Duration, f func() error) (float64, error) {
	var (
		group sync.WaitGroup
		done  atomic.Int64
		once  sync.Once
		fault error
	)
	start := time.Now()
	end := start.Add(window)
	for range n {
		group.Go(func() {
			count := int64(0)
			for time.Now().Before(end) {
				if err := f(); err != nil {
					once.Do(func() { fault = err })
					break
				}
				count++
			}
			done.Add(count)
		})
	}
	group.Wait()
	return float64(done.Load()) / time.Since(start).Seconds(), fault
}
