package bench

import (
	"context"
	"fmt"

	"codemode/limits"
)

// measureBridge is P6 and P7: what crosses between a cell and the host.
func measureBridge(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	s, err := newStation(engine, 20, limits.Limits{})
	if err != nil {
		return err
	}
	defer s.Close()
	wide, err := newStation(engine, 20, limits.Limits{MaxOutputBytes: 10 << 20, MaxSnapshotBytes: 64 << 20})
	if err != nil {
		return err
	}
	defer wide.Close()
	for _, measure := range []func() error{
		func() error { return measureCalls(ctx, r, s) },
		func() error { return measureNames(ctx, r, s) },
		func() error { return measureBatches(ctx, r, s) },
		func() error { return measurePayloads(ctx, r, wide) },
		func() error { return measureOutput(ctx, r, wide) },
	} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// perOperation measures a cell that does the same thing many times: nanoseconds for each, with the cell's start in it.
func (g *group) perOperation(id, title string, s *station, operations int, code string) *measured {
	return g.addEach(id, title, func(n int) ([]float64, error) {
		times, err := each(n, func() error { _, err := s.exec(context.Background(), code); return err })
		for i := range times {
			times[i] /= float64(operations)
		}
		return times, err
	})
}

func measureCalls(ctx context.Context, r *runner, s *station) error {
	calls := 1000
	if r.options.tiny {
		calls = 10
	}
	g := r.group("bridge/calls", "Awaited calls of an in-process tool, each")
	g.share = 0.3
	g.perOperation("bridge/calls/sequential", "1,000 calls in a loop", s, calls, fmt.Sprintf(cellCalls, calls))
	g.perOperation("bridge/calls/parallel", "64 calls in one Promise.all", s, 64, fmt.Sprintf(cellParallel, 64))
	g.perOperation("bridge/calls/search", "search in a loop", s, 100, "let n = 0;\nfor (let i = 0; i < 100; i++) n += (await tools.search('thing 7')).length;\nreturn n;")
	g.perOperation("bridge/calls/describe", "describe in a loop", s, 100, "for (let i = 0; i < 100; i++) await tools.describe('tool_0');\nreturn 1;")
	for _, p := range r.peers.having(opCalls) {
		for _, c := range []struct {
			name, title, code, value string
			calls                    int
		}{
			{"sequential", "100 calls in a loop", fmt.Sprintf(cellCalls, 100), "4100", 100},
			{"parallel", "16 calls in one Promise.all", fmt.Sprintf(cellParallel, 16), "16", 16},
		} {
			if r.options.tiny && c.name == "sequential" {
				continue
			}
			m := g.addEach("bridge/calls/"+c.name+"/"+p.name, p.title()+", "+c.title, func(n int) ([]float64, error) {
				reply, err := p.do(ctx, request{Op: opCalls, N: n, Tools: 20, Code: p.code(c.code), Value: c.value})
				for i := range reply.NS {
					reply.NS[i] /= float64(c.calls)
				}
				return reply.NS, err
			}).by(p.name, p.differs(opCalls))
			g.compare("bridge/calls/"+c.name+"/"+p.name+"/codemode", m.ID, "bridge/calls/"+c.name)
		}
	}
	return g.run(ctx)
}

// measureNames is what a cell pays for each tool that it names, before it calls any.
func measureNames(ctx context.Context, r *runner, s *station) error {
	g := r.group("bridge/names", "A cell that names tools and calls none")
	g.share = 0.1
	for n, code := range []string{"return 1;", "tool_0;\nreturn 1;", "tool_0;\ntool_1;\nreturn 1;", "tool_0;\ntool_1;\ntool_2;\ntool_3;\nreturn 1;"} {
		if n == 3 {
			n = 4
		}
		g.add(fmt.Sprintf("bridge/names/%d", n), fmt.Sprintf("%d tools named", n), func(times int) (float64, error) {
			return timed(times, func() error { _, err := s.exec(ctx, code); return err })
		})
	}
	return g.run(ctx)
}

// measureBatches is how the cost of a call falls with the number that are made at once.
func measureBatches(ctx context.Context, r *runner, s *station) error {
	g := r.group("bridge/batch", "Calls made at once, each")
	g.share = 0.2
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
		if r.options.Quick && n != 1 && n != 16 && n != 128 {
			continue
		}
		code := fmt.Sprintf("for (let i = 0; i < 4; i++) await Promise.all(Array.from({length: %d}, () => tool_0({q: 'a'})));\nreturn 1;", n)
		g.perOperation(fmt.Sprintf("bridge/batch/%d", n), fmt.Sprintf("%d at once", n), s, 4*n, code)
	}
	return g.run(ctx)
}

// payloadSizes are lengths of a string that a tool gets and gives back, in bytes.
var payloadSizes = []int{16, 256, 4 << 10, 64 << 10, 1 << 20}

func measurePayloads(ctx context.Context, r *runner, s *station) error {
	g := r.group("bridge/payload", "A call with a string there and back")
	g.share = 0.2
	for _, size := range payloadSizes {
		if (r.options.tiny || r.options.Quick) && size > 64<<10 {
			continue
		}
		calls := max(2, min(100, (256<<10)/size))
		code := fmt.Sprintf("const s = 'x'.repeat(%d);\nlet n = 0;\nfor (let i = 0; i < %d; i++) n += (await echo({text: s})).length;\nreturn n;", size, calls)
		g.perOperation("bridge/payload/"+bytesName(size), bytesName(size)+" there and back", s, calls, code)
	}
	return g.run(ctx)
}

func measureOutput(ctx context.Context, r *runner, s *station) error {
	g := r.group("bridge/output", "What a cell emits, each")
	g.share = 0.2
	for _, size := range payloadSizes {
		if r.options.tiny && size > 256 || r.options.Quick && size != 256 && size != 64<<10 {
			continue
		}
		n := max(1, min(500, (512<<10)/size))
		prepare := fmt.Sprintf("const s = 'x'.repeat(%d);\n", size)
		g.perOperation("bridge/output/text-"+bytesName(size), "text of "+bytesName(size), s, n, prepare+fmt.Sprintf("for (let i = 0; i < %d; i++) text(s);\nreturn 1;", n))
		g.perOperation("bridge/output/json-"+bytesName(size), "json of "+bytesName(size), s, n, prepare+fmt.Sprintf("for (let i = 0; i < %d; i++) json({i, s});\nreturn 1;", n))
	}
	return g.run(ctx)
}

// bytesName is a size for people.
func bytesName(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}
