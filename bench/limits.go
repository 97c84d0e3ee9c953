package bench

import (
	"context"
	"fmt"
	"runtime/debug"

	"codemode/limits"
	"codemode/quickjs"
)

// measureLimits is what single limits and settings cost a cell, for the tuning guide: everything else is at its default.
func measureLimits(ctx context.Context, r *runner) error {
	for _, measure := range []func(context.Context, *runner) error{measureMetering, measureBounds, measurePools, measureParking} {
		if err := measure(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// addStation adds a case that runs one cell under some limits, on the suite's engine.
func (g *group) addStation(ctx context.Context, id, title, code string, l limits.Limits) (*station, error) {
	engine, err := g.runner.engine(ctx)
	if err != nil {
		return nil, err
	}
	s, err := newStation(engine, 20, l)
	if err != nil {
		return nil, err
	}
	g.add(id, title, func(n int) (float64, error) {
		return timed(n, func() error { _, err := s.exec(ctx, code); return err })
	})
	return s, nil
}

// sweep measures one cell under several limits.
func sweep(ctx context.Context, g *group, code string, trials []struct {
	id, title string
	l         limits.Limits
}) error {
	for _, t := range trials {
		s, err := g.addStation(ctx, "limits/"+t.id, t.title, code, t.l)
		if err != nil {
			return err
		}
		defer s.Close()
	}
	for _, t := range trials[1:] {
		g.compare("limits/"+t.id+"/"+trials[0].id, "limits/"+t.id, "limits/"+trials[0].id)
	}
	return g.run(ctx)
}

// measureMetering is what fuel costs beside the epoch, for a cell that computes and for one that hardly does.
func measureMetering(ctx context.Context, r *runner) error {
	for _, cell := range []struct{ name, title, code string }{
		{"small", "return 1+2", cellSmall},
		{"loop", "a loop of 20,000 steps", "let n = 0;\nfor (let i = 0; i < 20000; i++) n = (n * 31 + i) % 65521;\nreturn n;"},
	} {
		g := r.group("limits/metering-"+cell.name, "Fuel beside the epoch: "+cell.title)
		g.share = 0.15
		err := sweep(ctx, g, cell.code, []struct {
			id, title string
			l         limits.Limits
		}{
			{"metering-" + cell.name + "/epoch", "epoch (the default)", limits.Limits{}},
			{"metering-" + cell.name + "/fuel", "epoch and fuel", limits.Limits{Fuel: 1 << 50}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureBounds is what the size of a limit costs a cell that stays far below it: nothing, or it would be a defect.
func measureBounds(ctx context.Context, r *runner) error {
	g := r.group("limits/bounds", "The size of a limit that a cell does not come near")
	g.share = 0.25
	return sweep(ctx, g, cellSmall, []struct {
		id, title string
		l         limits.Limits
	}{
		{"bounds/default", "defaults", limits.Limits{}},
		{"bounds/memory-1MiB", "linear memory 1 MiB", limits.Limits{MemoryLimitBytes: 1 << 20}},
		{"bounds/memory-1GiB", "linear memory 1 GiB", limits.Limits{MemoryLimitBytes: 1 << 30}},
		{"bounds/stack-64KiB", "JavaScript stack 64 KiB", limits.Limits{MaxStackBytes: 64 << 10}},
		{"bounds/output-10MiB", "output 10 MiB", limits.Limits{MaxOutputBytes: 10 << 20}},
		{"bounds/timeout-60s", "timeout 60 s", limits.Limits{TimeoutMs: 60_000}},
		{"bounds/calls-128", "128 calls at once", limits.Limits{MaxPendingToolCalls: 128}},
	})
}

// poolSizes are numbers of instances that an engine may have.
var poolSizes = []int{4, 64, 512}

// measurePools is what an engine's number of instances costs: a cell, and memory once as many were in use.
func measurePools(ctx context.Context, r *runner) error {
	g := r.group("limits/pool", "How many instances an engine may have")
	g.share = 0.15
	for _, n := range poolSizes {
		if r.options.tiny && n > 4 {
			continue
		}
		debug.FreeOSMemory()
		before := resident()
		engine, err := quickjs.NewEngine(&quickjs.EngineOptions{Instances: n})
		if err != nil {
			return err
		}
		defer engine.Close()
		if err := engine.Warm(limits.Default()); err != nil {
			return err
		}
		vms := make([]*quickjs.VM, 0, n)
		for range n {
			vm, err := engine.NewVM(ctx, &bareBridge{}, quickjs.Options{})
			if err != nil {
				return err
			}
			vms = append(vms, vm)
			if _, err := vm.Run(cellSmall); err != nil {
				return err
			}
		}
		for _, vm := range vms {
			vm.Close()
		}
		debug.FreeOSMemory()
		r.size(fmt.Sprintf("limits/pool/%d/resident", n), fmt.Sprintf("resident memory of an engine with %d idle instances, its code with it", n), max(0, resident()-before))
		g.add(fmt.Sprintf("limits/pool/%d", n), fmt.Sprintf("%d instances", n), func(n int) (float64, error) {
			return timed(n, func() error { return runBare(ctx, engine, cellSmall) })
		})
	}
	return g.run(ctx)
}

// parkTimes are how long a waiting cell keeps its instance, in milliseconds.
var parkTimes = []int64{1, 20, 60_000}

// measureParking is what it costs a cell to give its instance up while a tool runs for a few milliseconds.
func measureParking(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	g := r.group("limits/park", "A cell that waits 5 ms for a timer, by how long it keeps its instance")
	g.share = 0.2
	for _, ms := range parkTimes {
		s, err := newStation(engine, 20, limits.Limits{ParkAfterMs: ms})
		if err != nil {
			return err
		}
		defer s.Close()
		g.addEach(fmt.Sprintf("limits/park/%d", ms), fmt.Sprintf("parked after %d ms", ms), func(n int) ([]float64, error) {
			return each(n, func() error {
				_, err := s.exec(ctx, "await new Promise((done) => setTimeout(done, 5));\nreturn 1;")
				return err
			})
		})
	}
	for _, ms := range parkTimes[:2] {
		g.compare(fmt.Sprintf("limits/park/%d/60000", ms), fmt.Sprintf("limits/park/%d", ms), "limits/park/60000")
	}
	return g.run(ctx)
}
