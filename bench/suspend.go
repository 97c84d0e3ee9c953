package bench

import (
	"context"
	"fmt"
	"time"

	"codemode/limits"
	"codemode/quickjs"
)

// measureSuspend is P2 and P3: giving a cell's instance up and going on with it.
func measureSuspend(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	s, err := newStation(engine, 20, limits.Limits{MaxSuspendedCells: 1 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	g := r.group("suspend", "A cell with one call pending")
	g.addEach("suspend/exec/host", "exec until waiting, a call pending", func(n int) ([]float64, error) {
		exec, _, err := s.cycles(ctx, n, cellWait)
		return exec, err
	})
	g.addEach("suspend/wait/host", "wait until completed, the answer is there", func(n int) ([]float64, error) {
		_, wait, err := s.cycles(ctx, n, cellWait)
		return wait, err
	})
	g.addEach("suspend/exec/host-yield", "exec until waiting, nothing pending", func(n int) ([]float64, error) {
		exec, _, err := s.cycles(ctx, n, cellYield)
		return exec, err
	})
	g.addEach("suspend/wait/host-yield", "wait until completed, nothing pending", func(n int) ([]float64, error) {
		_, wait, err := s.cycles(ctx, n, cellYield)
		return wait, err
	})
	if err := addVM(ctx, g, engine); err != nil {
		return err
	}
	for _, p := range r.peers.having(opSuspend) {
		exec := g.addEach("suspend/exec/"+p.name, p.title()+", exec until waiting", func(n int) ([]float64, error) {
			reply, err := p.do(ctx, request{Op: opSuspend, N: n, Tools: 20, Code: p.code(peerWait)})
			return reply.NS, err
		}).by(p.name, p.differs(opSuspend))
		wait := g.addEach("suspend/wait/"+p.name, p.title()+", resume until completed", func(n int) ([]float64, error) {
			reply, err := p.do(ctx, request{Op: opSuspend, N: n, Tools: 20, Code: p.code(peerWait)})
			return reply.Resume, err
		}).by(p.name, p.differs(opSuspend))
		g.compare("suspend/exec/"+p.name+"/codemode", exec.ID, "suspend/exec/host")
		g.compare("suspend/wait/"+p.name+"/codemode", wait.ID, "suspend/wait/host")
	}
	return g.run(ctx)
}

// peerWait is cellWait for peers that suspend at a tool call without being asked to.
const peerWait = "const r = await tool_0({q: 'a'});\nreturn r.n + 1;"

// addVM adds the same without a host: what of the time is quickjs's.
func addVM(ctx context.Context, g *group, engine *quickjs.Engine) error {
	encoded, _, err := suspended(ctx, engine, 20, cellYield)
	if err != nil {
		return err
	}
	s, err := quickjs.DecodeSnapshot(encoded)
	if err != nil {
		return err
	}
	g.add("suspend/exec/quickjs", "quickjs alone: restore and suspend again", func(n int) (float64, error) {
		return timed(n, func() error {
			vm, err := engine.Restore(ctx, s, &bareBridge{}, quickjs.Options{})
			if err != nil {
				return err
			}
			defer vm.Close()
			_, err = vm.Suspend(quickjs.CodecS2)
			return err
		})
	})
	return nil
}

// cycles suspends and resumes n cells and returns the times of both.
func (s *station) cycles(ctx context.Context, n int, code string) (exec, wait []float64, err error) {
	for range n {
		start := time.Now()
		r, err := s.suspend(ctx, code)
		exec = append(exec, float64(time.Since(start).Nanoseconds()))
		if err != nil {
			return nil, nil, err
		}
		s.answer()
		start = time.Now()
		r, err = s.resume(ctx, r.RunID)
		wait = append(wait, float64(time.Since(start).Nanoseconds()))
		if err != nil {
			return nil, nil, err
		}
		if string(r.Value) != "42" {
			return nil, nil, fmt.Errorf("bench: a resumed cell returned %s", r.Value)
		}
	}
	return exec, wait, nil
}

// peerSnapshot is the size of a peer's snapshot of a small cell.
func (r *runner) peerSnapshot(ctx context.Context, p *peer) error {
	for _, tools := range p.catalogs() {
		reply, err := p.do(ctx, request{Op: opSuspend, N: 1, Tools: tools, Code: p.code(peerWait)})
		id := fmt.Sprintf("snapshot/small-%d-tools/size/%s", tools, p.name)
		if err != nil {
			r.skip(id, err.Error())
			continue
		}
		if reply.Bytes > 0 {
			c := r.size(id, fmt.Sprintf("%s, %d tools", p.title(), tools), reply.Bytes)
			c.Subject, c.Differs = p.name, p.differs(opSuspend)
		}
	}
	return nil
}
