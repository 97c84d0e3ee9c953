package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"codemode/limits"
)

// measureSuspended is P9: the memory of a suspended cell, over many of them.
func measureSuspended(ctx context.Context, r *runner) error {
	cells := 100_000
	switch {
	case r.options.tiny:
		cells = 20
	case r.options.Quick:
		cells = 5_000
	}
	for _, w := range []struct {
		name, title, code string
	}{
		{"yield", "resident memory of one suspended cell", cellYield},
		{"call", "resident memory of one suspended cell with a tool call under way in a goroutine", cellWait},
	} {
		if err := r.suspendMany(ctx, w.name, w.title, w.code, cells); err != nil {
			return err
		}
	}
	return nil
}

// suspendMany suspends cells and measures what they take in memory, and what the first and the last of them took in time.
func (r *runner) suspendMany(ctx context.Context, name, title, code string, cells int) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	s, err := newStation(engine, 20, limits.Limits{MaxSuspendedCells: 1 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	for range 10 { // what the first cells allocate once is not theirs
		result, err := s.suspend(ctx, code)
		if err != nil {
			return err
		}
		s.Cancel(result.RunID)
	}
	r.progress.say(fmt.Sprintf("suspending %d cells (%s)", cells, name))
	debug.FreeOSMemory()
	before, heapBefore := resident(), heapInUse()
	ids := make([]string, 0, cells)
	for range cells {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		result, err := s.suspend(ctx, code)
		if err != nil {
			return err
		}
		ids = append(ids, result.RunID)
	}
	debug.FreeOSMemory()
	after, heapAfter := resident(), heapInUse()
	c := r.size("suspended/"+name+"/resident", title, (after-before)/float64(cells))
	c.N = cells
	c = r.size("suspended/"+name+"/heap", "of which on the Go heap", (heapAfter-heapBefore)/float64(cells))
	c.N = cells
	// All of them are still there: a sample goes on.
	s.gate.release()
	time.Sleep(10 * time.Millisecond)
	s.gate.release() // for those that had not come to it
	for i := 0; i < cells; i += max(1, cells/100) {
		if _, err := s.resume(ctx, ids[i]); err != nil {
			return err
		}
	}
	return nil
}

func heapInUse() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
