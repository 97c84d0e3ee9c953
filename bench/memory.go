package bench

import (
	"context"
	"fmt"
	"runtime/debug"

	"codemode/guestabi"
	"codemode/limits"
	"codemode/quickjs"
)

// measureMemory is the memory of the process: with nothing running, and for each cell that holds an instance.
func measureMemory(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	s, err := newStation(engine, 20, limits.Limits{})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.exec(ctx, cellSmall); err != nil {
		return err
	}
	debug.FreeOSMemory()
	r.size("memory/process", "resident memory of this process, a host and an idle engine in it", resident())

	count := 40
	if r.options.tiny {
		count = 2
	}
	for _, w := range []struct {
		name, title, code string
		heap              int
	}{
		{"small", "resident memory of one running small cell", "const kept = 1;\nawait yield_control();\nreturn kept;", 0},
		{"1MiB", "resident memory of one running cell with 1 MiB of data", bigCell(1 << 20), 1 << 20},
	} {
		debug.FreeOSMemory()
		before := resident()
		var vms []*quickjs.VM
		for range count {
			vm, err := engine.NewVM(ctx, &bareBridge{}, quickjs.Options{})
			if err != nil {
				return err
			}
			defer vm.Close()
			vms = append(vms, vm)
			out, err := vm.Run(w.code)
			if err != nil {
				return err
			}
			if out.State != guestabi.Pending {
				return fmt.Errorf("bench: a cell that yields is %s", out.State)
			}
		}
		r.size("memory/running/"+w.name, w.title, (resident()-before)/float64(count)).N = count
		linear := 0
		for _, vm := range vms {
			linear += vm.MemoryBytes()
			vm.Close()
		}
		r.size("memory/linear/"+w.name, "linear memory beyond the image's, same cell", float64(linear)/float64(count)).N = count
	}

	// What a burst of cells leaves behind.
	for range count * 10 {
		if _, err := s.exec(ctx, cellSmall); err != nil {
			return err
		}
	}
	r.size("memory/after", "resident memory of this process after a burst of cells", resident())
	return nil
}
