package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"codemode/limits"
	"codemode/quickjs"
)

// measureStart is P1, P10 and P12: cells, processes, languages.
func measureStart(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	s, err := newStation(engine, 20, limits.Limits{})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, measure := range []func(context.Context, *runner, *station) error{measureCells, measureAfterLarge, measureLanguages, measureProcesses} {
		if err := measure(ctx, r, s); err != nil {
			return err
		}
	}
	return nil
}

// unseen makes texts that no cache has seen.
func (s *station) unseen(text func(n int) string) string {
	s.texts++
	return text(s.texts)
}

func measureCells(ctx context.Context, r *runner, s *station) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	g := r.group("start/cell", "A cell: return 1+2")
	g.share = 0.45
	g.add("start/cell/host", "host.Exec, every default limit on", func(n int) (float64, error) {
		return timed(n, func() error { _, err := s.exec(ctx, cellSmall); return err })
	})
	g.add("start/cell/host-new-text", "host.Exec of a text never seen before", func(n int) (float64, error) {
		return timed(n, func() error {
			_, err := s.exec(ctx, s.unseen(func(n int) string { return fmt.Sprintf("return %d+2", n) }))
			return err
		})
	})
	g.add("start/cell/quickjs", "quickjs alone: instance, evaluation, instance back", func(n int) (float64, error) {
		return timed(n, func() error { return runBare(ctx, engine, cellSmall) })
	})
	g.compare("start/host/quickjs", "start/cell/host", "start/cell/quickjs")
	for _, p := range r.peers.having(opStart) {
		for _, tools := range p.catalogs() {
			id := "start/cell/" + p.name
			if tools != 20 {
				id = fmt.Sprintf("start/cell/%s-%d-tools", p.name, tools)
			}
			m := g.addEach(id, fmt.Sprintf("%s, %d tools", p.title(), tools), func(n int) ([]float64, error) {
				reply, err := p.do(ctx, request{Op: opStart, N: n, Tools: tools, Code: p.code(cellSmall)})
				return reply.NS, err
			}).by(p.name, p.differs(opStart))
			g.compare("start/"+strings.TrimPrefix(id, "start/cell/")+"/codemode", m.ID, "start/cell/host")
		}
	}
	return g.run(ctx)
}

// measureAfterLarge is whether a cell that wrote much of its memory makes those slower that get its instance later.
func measureAfterLarge(ctx context.Context, r *runner, _ *station) error {
	g := r.group("start/history", "A small cell by what ran before in the same engine")
	g.share = 0.1
	for _, before := range []struct{ name, title, code string }{
		{"small", "after small cells", cellSmall},
		{"calls", "after a cell with 64 parallel calls", fmt.Sprintf(cellParallel, 64)},
		{"1MiB", "after a cell with 1 MiB of data", strings.Replace(bigCell(1<<20), "await yield_control();", "", 1)},
	} {
		engine, err := r.newEngine()
		if err != nil {
			return err
		}
		defer engine.Close()
		s, err := newStation(engine, 20, limits.Limits{})
		if err != nil {
			return err
		}
		defer s.Close()
		if _, err := s.exec(ctx, before.code); err != nil {
			return err
		}
		g.add("start/history/"+before.name, before.title, func(n int) (float64, error) {
			return timed(n, func() error { _, err := s.exec(ctx, cellSmall); return err })
		})
	}
	g.compare("start/history/calls/small", "start/history/calls", "start/history/small")
	g.compare("start/history/1MiB/small", "start/history/1MiB", "start/history/small")
	return g.run(ctx)
}

func measureLanguages(ctx context.Context, r *runner, s *station) error {
	g := r.group("start/language", "50 lines in TypeScript and in JavaScript")
	g.share = 0.25
	for _, l := range []struct {
		name, title string
		text        func(int) string
	}{{"javascript", "JavaScript", javascriptCell}, {"typescript", "TypeScript", typescriptCell}} {
		g.add("start/language/"+l.name+"-new", l.title+", never seen before", func(n int) (float64, error) {
			return timed(n, func() error { _, err := s.exec(ctx, s.unseen(l.text)); return err })
		})
		seen := l.text(-1)
		g.add("start/language/"+l.name+"-seen", l.title+", seen before", func(n int) (float64, error) {
			return timed(n, func() error { _, err := s.exec(ctx, seen); return err })
		})
	}
	g.compare("start/typescript/javascript/new", "start/language/typescript-new", "start/language/javascript-new")
	g.compare("start/typescript/javascript/seen", "start/language/typescript-seen", "start/language/javascript-seen")
	return g.run(ctx)
}

// measureProcesses is the time from a process's start to its first result: with a warm compile cache, without one, and
// the peers'.
func measureProcesses(ctx context.Context, r *runner, _ *station) error {
	g := r.group("start/process", "A process, from its start to its first result")
	g.share = 0.3
	warm, err := os.MkdirTemp("", "codemode-bench-")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(warm)
	if len(r.options.Command) == 0 {
		r.skip("start/process/*", "no command to start was given")
	} else {
		g.addEach("start/process/warm", "codemode exec, warm compile cache", func(n int) ([]float64, error) {
			return each(n, func() error { return r.process(ctx, warm) })
		}).times(1)
		for _, p := range r.peers.having(opFirst) {
			m := g.addEach("start/process/"+p.name, p.title()+", a new process", func(n int) ([]float64, error) {
				return each(n, func() error { return p.first(ctx) })
			}).by(p.name, p.differs(opFirst)).times(1)
			g.compare("start/process/"+p.name+"/codemode", m.ID, "start/process/warm")
		}
		if err := g.run(ctx); err != nil {
			return err
		}
		cold := r.group("start/process-cold", "A process without a compile cache")
		cold.share, cold.most = 0.1, 5
		if r.options.Quick {
			cold.most = 2
		}
		cold.addEach("start/process/cold", "codemode exec, no compile cache", func(n int) ([]float64, error) {
			return each(n, func() error {
				dir, err := os.MkdirTemp("", "codemode-bench-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				return r.process(ctx, dir)
			})
		}).times(1)
		if err := cold.run(ctx); err != nil {
			return err
		}
	}
	return measureEngine(ctx, r)
}

// process runs the command once, with its compile cache below a folder.
func (r *runner) process(ctx context.Context, cache string) error {
	c := exec.CommandContext(ctx, r.options.Command[0], append(r.options.Command[1:len(r.options.Command):len(r.options.Command)], cellSmall)...)
	c.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "HOME="+cache)
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "3") {
		return fmt.Errorf("bench: %s: %v: %.200s", r.options.Command[0], err, out)
	}
	return nil
}

// measureEngine is a new engine in a process that runs already, from the compile cache.
func measureEngine(ctx context.Context, r *runner) error {
	dir, err := os.MkdirTemp("", "codemode-bench-")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir)
	g := r.group("start/engine", "A new engine")
	g.share, g.most = 0.05, 9
	g.addEach("start/engine/warm", "NewEngine and the first cell, warm compile cache", func(n int) ([]float64, error) {
		return each(n, func() error {
			engine, err := quickjs.NewEngine(&quickjs.EngineOptions{CacheDir: dir})
			if err != nil {
				return err
			}
			defer engine.Close()
			return runBare(ctx, engine, cellSmall)
		})
	}).times(1)
	return g.run(ctx)
}
