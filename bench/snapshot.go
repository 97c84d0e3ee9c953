package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
)

var codecs = []struct {
	name  string
	codec quickjs.Codec
}{{"none", quickjs.CodecNone}, {"s2", quickjs.CodecS2}, {"zstd", quickjs.CodecZstd}}

// snapshotWorkloads are suspended cells from an empty one up. Heap is the live data in bytes that the cell made.
var snapshotWorkloads = []struct {
	name  string
	tools int
	heap  int
	code  string
}{
	{"empty", 20, 0, cellYield},
	{"small", 20, 0, cellWait},
	{"small-10000-tools", 10_000, 0, cellWait},
	{"64KiB", 20, 64 << 10, bigCell(64 << 10)},
	{"1MiB", 20, 1 << 20, bigCell(1 << 20)},
	{"8MiB", 20, 8 << 20, bigCell(8 << 20)},
	{"32MiB", 20, 32 << 20, bigCell(32 << 20)},
}

// snapshotLimits let the largest workload be suspended.
func snapshotLimits() limits.Limits {
	return limits.Limits{MaxSnapshotBytes: 256 << 20, TimeoutMs: 60_000}
}

// keeper is a host.Store that keeps the last record for the bench to look at.
type keeper struct {
	host.Store
	last []byte
}

func (k *keeper) Put(_ context.Context, _ string, record []byte, _ time.Time) error {
	k.last = slices.Clone(record)
	return nil
}

func (k *keeper) Replace(context.Context, string, []byte, []byte, time.Time) (bool, error) {
	return false, nil
}

func (k *keeper) Each(context.Context, func(string, []byte, time.Time) error) error { return nil }

func (k *keeper) Take(context.Context, string) ([]byte, time.Time, bool, error) {
	return nil, time.Time{}, false, nil
}
func (k *keeper) Get(context.Context, string) ([]byte, time.Time, bool, error) {
	return nil, time.Time{}, false, nil
}
func (k *keeper) Begin(context.Context, string) error  { return nil }
func (k *keeper) Delete(context.Context, string) error { return nil }

// suspended gives the encoded snapshot of a cell that a host has suspended, and the length of the whole record that a
// store outside the process gets, which has the cell's text and requests in it as well.
func suspended(ctx context.Context, engine *quickjs.Engine, tools int, code string) (snapshot []byte, record int, err error) {
	store, g := &keeper{}, newGate()
	h, err := host.New(&host.Options{Catalog: newCatalog(tools, g), Engine: engine, Store: store, Limits: snapshotLimits()})
	if err != nil {
		return nil, 0, err
	}
	defer h.Close()
	if r := h.Exec(ctx, host.Scope{}, host.ExecInput{Code: code}); r.Status != host.Waiting {
		return nil, 0, unexpected(r, host.Waiting)
	}
	encoded, ok := snapshotOf(store.last)
	if !ok {
		return nil, 0, errors.New("bench: the host's record has no snapshot in it")
	}
	return encoded, len(store.last), nil
}

// snapshotOf finds the encoded snapshot in a host's record, which ends with it.
func snapshotOf(record []byte) ([]byte, bool) {
	at := bytes.Index(record, []byte("CMSNAP\x00"))
	if at < 0 {
		return nil, false
	}
	return record[at:], true
}

// suspendable is a VM with a cell in it that a host has suspended, to be snapshotted as often as wanted.
func suspendable(ctx context.Context, engine *quickjs.Engine, tools int, code string) (vm *quickjs.VM, snapshot, record int, err error) {
	encoded, record, err := suspended(ctx, engine, tools, code)
	if err != nil {
		return nil, 0, 0, err
	}
	s, err := quickjs.DecodeSnapshot(encoded)
	if err != nil {
		return nil, 0, 0, err
	}
	vm, err = engine.Restore(ctx, s, &bareBridge{}, quickjs.Options{Limits: snapshotLimits()})
	return vm, len(encoded), record, err
}

// measureSnapshots is P4 and what codecs cost.
func measureSnapshots(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	for _, w := range snapshotWorkloads {
		if r.options.tiny && w.heap > 64<<10 || r.options.Quick && w.heap > 8<<20 {
			continue
		}
		vm, size, record, err := suspendable(ctx, engine, w.tools, w.code)
		if err != nil {
			return fmt.Errorf("bench: workload %s: %w", w.name, err)
		}
		r.size("snapshot/"+w.name+"/size/host", "As a host suspends it: delta, codec s2, encoded", float64(size))
		r.size("snapshot/"+w.name+"/size/record", "What a store outside the process gets, codec s2", float64(record))
		err = measureCodecs(ctx, r, vm, w.name)
		vm.Close()
		if err != nil {
			return err
		}
	}
	for _, p := range r.peers.having(opSuspend) {
		if err := r.peerSnapshot(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func measureCodecs(ctx context.Context, r *runner, vm *quickjs.VM, workload string) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	group := r.group("snapshot/"+workload, "Snapshot of the workload "+workload)
	group.share = 1 / float64(len(snapshotWorkloads))
	for _, c := range codecs {
		s, err := vm.Snapshot(c.codec)
		if err != nil {
			return err
		}
		encoded := s.Encode()
		r.size("snapshot/"+workload+"/size/"+c.name, "Encoded delta, codec "+c.name, float64(len(encoded)))
		if c.codec == quickjs.CodecNone {
			r.size("snapshot/"+workload+"/size/image", "The whole linear memory", float64(s.MemoryBytes()))
		}
		group.add("snapshot/"+workload+"/encode/"+c.name, "Find, pack and encode the delta, "+c.name, func(n int) (float64, error) {
			return timed(n, func() error {
				s, err := vm.Snapshot(c.codec)
				if err == nil {
					s.Encode()
				}
				return err
			})
		})
		group.add("snapshot/"+workload+"/decode/"+c.name, "Decode, restore and close, "+c.name, func(n int) (float64, error) {
			return timed(n, func() error {
				s, err := quickjs.DecodeSnapshot(encoded)
				if err != nil {
					return err
				}
				back, err := engine.Restore(ctx, s, &bareBridge{}, quickjs.Options{Limits: snapshotLimits()})
				if err != nil {
					return err
				}
				return back.Close()
			})
		})
	}
	return group.run(ctx)
}
