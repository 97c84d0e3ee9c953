package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// batch runs an operation n times and returns the time of one in nanoseconds.
type batch func(n int) (float64, error)

// samples runs an operation n times and returns a value for each. What must be prepared for each is not in them.
type samples func(n int) ([]float64, error)

// timed runs f n times and returns the mean time of one in nanoseconds.
func timed(n int, f func() error) (float64, error) {
	start := time.Now()
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n), nil
}

// each runs f n times and returns every time in nanoseconds.
func each(n int, f func() error) ([]float64, error) {
	out := make([]float64, 0, n)
	for range n {
		start := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		out = append(out, float64(time.Since(start).Nanoseconds()))
	}
	return out, nil
}

// group is a set of cases that are measured in turn, and their ratios.
type group struct {
	runner *runner
	name   string
	title  string
	cases  []*measured
	ratios []Ratio
	unit   Unit
	share  float64 // of the suite's budget
	most   int     // rounds, 0 for as many as there is time for
}

// measured is one case while it is measured.
type measured struct {
	Case
	run     samples
	n       int // of one batch
	most    int // rounds, 0 for the group's number
	samples []float64
	rounds  []float64
}

// batchTime is how long one batch should take. Shorter ones are all clock, longer ones meet too much of what else runs.
const batchTime = 4 * time.Millisecond

// add adds a case whose operation is too short to time alone.
func (g *group) add(id, title string, run batch) *measured {
	const inner = 8 // batches in a round, each one sample
	return g.addEach(id, title, func(n int) ([]float64, error) {
		out := make([]float64, 0, inner)
		for range min(inner, max(1, n)) {
			v, err := run(max(1, n/inner))
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	})
}

// addEach adds a case of which every operation is a sample.
func (g *group) addEach(id, title string, run samples) *measured {
	m := &measured{Case: Case{ID: id, Group: g.name, Title: title, Subject: ours, Unit: g.unit}, run: run}
	g.cases = append(g.cases, m)
	return m
}

// by says whose case it is and what differs in it.
func (m *measured) by(subject, differs string) *measured {
	m.Subject, m.Differs = subject, differs
	return m
}

// times fixes how many operations one round has.
func (m *measured) times(n int) *measured {
	m.n = n
	return m
}

// compare adds the ratio of two cases of the group.
func (g *group) compare(id, of, to string) {
	g.ratios = append(g.ratios, Ratio{ID: id, Of: of, To: to})
}

// narrow is when a group has been measured well enough: the interval of every ratio, or of every median where there is
// no ratio, is within this part of the value.
const narrow = 0.02

// The fewest rounds that have a 95 % interval, and what is enough of them.
const (
	fewestRounds = 7
	mostRounds   = 60
)

// run measures the group and puts it into the suite. A case that fails is left out with a reason; where it is our own
// the group fails.
func (g *group) run(ctx context.Context) error {
	r := g.runner
	if err := g.warm(ctx); err != nil {
		return err
	}
	fewest, most := fewestRounds, mostRounds
	switch {
	case r.options.tiny:
		fewest, most = 1, 1
	case r.options.Quick:
		fewest = 3
	}
	if g.most > 0 {
		most = g.most
		fewest = min(fewest, most)
	}
	end := time.Now().Add(time.Duration(float64(r.budget) * g.share))
	for round := 0; round < most && len(g.cases) > 0; round++ {
		for i := range g.cases {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			m := g.cases[(i+round)%len(g.cases)]
			if m.most > 0 && round >= m.most {
				continue
			}
			values, err := m.run(m.n)
			if err != nil {
				return fmt.Errorf("bench: %s: %w", m.ID, err)
			}
			m.samples = append(m.samples, values...)
			m.rounds = append(m.rounds, median(values))
		}
		r.progress.round(g, round+1)
		if round+1 >= fewest && (time.Now().After(end) || g.narrow()) {
			break
		}
	}
	for _, m := range g.cases {
		c := summarize(m.samples, m.rounds)
		c.ID, c.Group, c.Title, c.Subject, c.Unit, c.Differs = m.ID, m.Group, m.Title, m.Subject, m.Unit, m.Differs
		r.suite.Cases = append(r.suite.Cases, c)
	}
	for _, ratio := range g.ratios {
		if rounds := g.pairs(ratio); rounds != nil {
			r.suite.Ratios = append(r.suite.Ratios, ratioOf(ratio, rounds))
		}
	}
	return nil
}

// warm runs every case until it is warm and sizes its batches.
func (g *group) warm(ctx context.Context) error {
	r := g.runner
	for i := 0; i < len(g.cases); i++ {
		m := g.cases[i]
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		r.progress.warming(g, m)
		n, fixed := 1, m.n > 0
		if fixed {
			n = m.n
		}
		begin := time.Now()
		for runs := 1; ; runs++ {
			start := time.Now()
			_, err := m.run(n)
			if err != nil && m.Subject != ours {
				r.skip(m.ID, err.Error())
				g.cases = slices.Delete(g.cases, i, i+1)
				i--
				break
			}
			if err != nil {
				return fmt.Errorf("bench: %s: %w", m.ID, err)
			}
			spent := time.Since(start)
			if !fixed && spent < batchTime/2 && n < 1<<20 {
				n *= 2
				if !r.options.tiny {
					continue
				}
			}
			// The first run may have compiled something, so its time says nothing, unless it says that there is none to lose.
			if r.options.tiny || time.Since(begin) >= r.warmTime() && (runs > 1 || fixed || spent > 5*time.Second) {
				m.n = n
				if !fixed && !r.options.tiny {
					m.n = max(1, int(float64(n)*float64(batchTime)/float64(spent)))
				}
				if m.Subject != ours && spent > time.Duration(float64(r.budget)*g.share)/20 {
					m.most = 3 // too slow for its share of the time
				}
				break
			}
		}
	}
	return nil
}

// warmTime is how long a case runs before it is measured: compilers and caches of a peer need it more than ours do.
func (r *runner) warmTime() time.Duration {
	if r.options.Quick {
		return 20 * time.Millisecond
	}
	return 150 * time.Millisecond
}

// narrow says whether everything is known well enough.
func (g *group) narrow() bool {
	tight := func(values []float64) bool {
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		low, high := interval(sorted)
		return high-low <= narrow*quantile(sorted, 0.5)
	}
	if len(g.cases) == 0 || len(g.cases[0].rounds) < 3*fewestRounds {
		return false
	}
	for _, ratio := range g.ratios {
		if rounds := g.pairs(ratio); rounds != nil && !tight(rounds) {
			return false
		}
	}
	if len(g.ratios) > 0 {
		return true
	}
	for _, m := range g.cases {
		if !tight(m.rounds) {
			return false
		}
	}
	return true
}

// pairs gives a ratio's value in every round; nil where one of the cases is not there.
func (g *group) pairs(ratio Ratio) []float64 {
	var of, to *measured
	for _, m := range g.cases {
		if m.ID == ratio.Of {
			of = m
		}
		if m.ID == ratio.To {
			to = m
		}
	}
	if of == nil || to == nil {
		return nil
	}
	var rounds []float64
	for i := range min(len(of.rounds), len(to.rounds)) {
		rounds = append(rounds, of.rounds[i]/to.rounds[i])
	}
	return rounds
}

func ratioOf(ratio Ratio, rounds []float64) Ratio {
	sorted := slices.Clone(rounds)
	slices.Sort(sorted)
	low, high := interval(sorted)
	ratio.P50, ratio.Low, ratio.High = significant(quantile(sorted, 0.5)), significant(low), significant(high)
	ratio.Rounds = rounded(rounds)
	return ratio
}
