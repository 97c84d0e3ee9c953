package quickjs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"codemode/guestabi"
	"codemode/limits"
	"codemode/quickjs/internal/native"
	"codemode/quickjs/internal/pages"
)

// EngineOptions configures an Engine. Nil, and the zero value of each field, is the default.
type EngineOptions struct {
	// Guest is the guest module; nil for the embedded one.
	Guest []byte
	// Instances is how many VMs may exist at once, suspended ones not counted. NewVM waits where there are more.
	// Default 64 and at least 4 for each processor.
	Instances int
	// CacheDir is where compiled modules are kept: a folder that only this user can write. Default "codemode" in the
	// user's cache folder; "none" keeps nothing.
	CacheDir string
	// Progress, where set, is told about work that takes a second or so: "compiling the guest".
	Progress func(what string)
}

// Engine makes VMs. It holds the compiled guest and a pool of instances.
type Engine struct {
	options EngineOptions
	guest   []byte
	hash    [sha256.Size]byte // of the guest, which is also the image's name
	scanner *pages.Scanner    // nil where the kernel cannot say which pages were written

	slots   chan struct{} // one for each VM that may exist
	running chan struct{} // one for each thread that may run WebAssembly

	mu       sync.Mutex
	closed   bool
	vms      map[*VM]struct{}
	metered  [2]*variant
	compiled int
}

// ErrClosed is returned by what is used after Close.
var ErrClosed = errors.New("quickjs: closed")

// NewEngine checks the guest against the host ABI and prepares to run it. The guest is compiled when the first VM is
// made (about a second), unless the cache has it.
func NewEngine(options *EngineOptions) (*Engine, error) {
	e := &Engine{vms: map[*VM]struct{}{}}
	if options != nil {
		e.options = *options
	}
	e.guest = e.options.Guest
	if e.guest == nil {
		g := loadGuest()
		if g.err != nil {
			return nil, g.err
		}
		e.guest, e.hash = g.module, g.hash
	} else {
		e.hash = sha256.Sum256(e.guest)
	}
	report, err := guestabi.Check(e.guest)
	if err != nil {
		return nil, fmt.Errorf("quickjs: the guest module: %w", err)
	}
	if !report.OK() {
		return nil, fmt.Errorf("quickjs: the guest module does not match the host ABI:\n%s", report)
	}
	processors := runtime.GOMAXPROCS(0)
	if e.options.Instances <= 0 {
		e.options.Instances = max(64, 4*processors)
	}
	e.slots = make(chan struct{}, e.options.Instances)
	e.running = make(chan struct{}, processors)
	if s, err := pages.Open(); err == nil {
		e.scanner = s
	}
	return e, nil
}

// Close ends the engine and every VM of it. Running VMs are stopped first. A second Close does nothing.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	vms := make([]*VM, 0, len(e.vms))
	for vm := range e.vms {
		vms = append(vms, vm)
	}
	e.mu.Unlock()
	for _, vm := range vms {
		vm.stop(ErrClosed)
		vm.Close()
	}
	for _, v := range e.metered {
		if v != nil {
			v.close()
		}
	}
	if e.scanner != nil {
		e.scanner.Close()
	}
	return nil
}

// Stats says what an engine holds now.
type Stats struct {
	VMs      int // made and not yet closed or suspended
	Idle     int // instances kept for the next VM
	Compiled int // how often the guest was compiled in this process, from source or from the cache
}

// Stats says what the engine holds now.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Stats{VMs: len(e.vms), Compiled: e.compiled}
	for _, v := range e.metered {
		if v != nil {
			s.Idle += v.idleCount()
		}
	}
	return s
}

// Warm compiles the guest for the metering mode that l asks for, so that no cell has to wait for it.
func (e *Engine) Warm(l limits.Limits) error {
	_, err := e.variant(l.Fuel > 0)
	return err
}

// The native stack a guest may use. The engine's own limit (limits.Stack) counts the stack in linear memory; parsing and
// JSON nesting use up to 32 times as much native stack as they use of that. A thread's stack must be well above this,
// or running out of it ends the process.
const (
	wantNativeStack = 4 << 20
	minNativeStack  = 512 << 10
)

func nativeStack() int {
	return max(minNativeStack, min(wantNativeStack, native.ThreadStack()*5/8))
}

// variant is the guest compiled for one metering mode, with the instances of it.
type variant struct {
	fuel     bool
	engine   *wasmtime.Engine
	module   *wasmtime.Module
	prepared *native.Prepared
	clock    *limits.Clock
	image    []byte // linear memory as it is in a new instance
	stack    int    // where the guest's own stack ends in it: dead between calls

	mu   sync.Mutex
	idle []*native.Instance // reset to the image
	// What each processor gave back last: what was written in it is still in that processor's caches. Instances that are
	// no longer idle may be in it.
	recent sync.Pool
}

// The exports that Prepare looks up, by index.
const (
	exportRealloc = iota
	exportRun
	exportSettle
	exportReseed
	exportRejections
	exportPosition
)

func exportNames() []string {
	names := []string{"cabi_realloc"}
	for _, f := range guestabi.Exports {
		names = append(names, guestabi.CellPrefix+f.Name)
	}
	return names
}

// variant gives the compiled guest for a metering mode, compiling it where it is the first to ask.
func (e *Engine) variant(fuel bool) (*variant, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	at := &e.metered[0]
	if fuel {
		at = &e.metered[1]
	}
	if *at != nil {
		return *at, nil
	}
	v, err := e.compile(fuel)
	if err != nil {
		return nil, err
	}
	e.compiled++
	*at = v
	return v, nil
}

func (e *Engine) compile(fuel bool) (*variant, error) {
	config := wasmtime.NewConfig()
	config.SetEpochInterruption(true)
	config.SetConsumeFuel(fuel)
	config.SetMaxWasmStack(nativeStack())
	config.SetCraneliftNanCanonicalization(true) // NaN bits must not differ between machines; costs nothing measurable
	config.SetMemoryInitCOWSet(true)
	config.SetWasmThreads(false)
	layout, err := imageLayout(e.guest)
	if err != nil {
		return nil, err
	}
	keep := uint64(0)
	if e.scanner == nil { // then instances go back to the pool, which resets them
		keep = uint64(len(layout.memory))
	}
	native.SetPool(config, native.Pool{
		Instances:     uint32(e.options.Instances),
		MaxMemory:     maxMemory(len(layout.memory)),
		KeepResident:  keep,
		TableElements: layout.tableElements,
	})
	v := &variant{fuel: fuel, image: layout.memory, stack: layout.stack}
	v.engine = wasmtime.NewEngineWithConfig(config)
	v.clock = limits.NewClock(v.engine.IncrementEpoch)
	v.module, err = e.loadModule(v.engine, fuel)
	if err == nil {
		v.prepared, err = native.Prepare(v.engine, v.module, guestabi.Imports(), exportNames())
	}
	if err != nil {
		v.close()
		return nil, fmt.Errorf("quickjs: preparing the guest: %w", err)
	}
	return v, nil
}

// maxMemory is how far any VM's memory may grow: the image and the largest limit.
func maxMemory(image int) uint64 {
	for _, row := range limits.Table() {
		if row.Name == limits.Memory {
			return uint64(image) + uint64(row.Max)
		}
	}
	panic("quickjs: no memory limit in the table")
}

// take gives a clean instance whose memory may grow by memory bytes.
func (v *variant) take(memory int64) (*native.Instance, error) {
	most := int64(len(v.image)) + memory
	near, _ := v.recent.Get().(*native.Instance)
	v.mu.Lock()
	if last := len(v.idle) - 1; last >= 0 {
		at := max(slices.Index(v.idle, near), 0)
		i := v.idle[at]
		v.idle[at] = v.idle[last]
		v.idle = v.idle[:last]
		v.mu.Unlock()
		i.LimitMemory(most)
		return i, nil
	}
	v.mu.Unlock()
	return v.prepared.New(most)
}

// Pages stay written once they were, so what a reset copies only grows. Above this many bytes the kernel is told to
// forget the copies instead: the next cell takes its page faults, and the one after it is fast again. A usual cell
// writes 160 KiB.
const keepWritten = 384 << 10

// give takes the instance of a VM that did not trap back: cleans it for the next VM, or drops it where that is cheaper or
// where the kernel does not say what to clean.
func (e *Engine) give(vm *VM) {
	v, i := vm.variant, vm.instance
	memory := i.Memory()
	if e.scanner == nil || len(memory) != len(v.image) {
		i.Close() // memory cannot shrink
		return
	}
	if err := vm.clean(memory); err != nil {
		i.Close()
		return
	}
	i.SetHost(nil)
	v.mu.Lock()
	v.idle = append(v.idle, i)
	v.mu.Unlock()
	v.recent.Put(i)
}

// clean makes an instance's memory the image again.
func (vm *VM) clean(memory []byte) error {
	image := vm.variant.image
	if vm.changes == nil || !vm.changes.known {
		if err := vm.scan(memory); err != nil {
			return err
		}
	}
	c := vm.changes
	written := 0
	for _, r := range c.runs {
		written += r.End - r.Start
	}
	if written > keepWritten {
		return pages.Forget(memory)
	}
	for _, r := range c.runs {
		if c.known { // the delta says what else differs
			r.End = min(r.End, vm.variant.stack)
		}
		if r.Start < r.End {
			copy(memory[r.Start:r.End], image[r.Start:r.End])
		}
	}
	if c.known {
		return applyDelta(memory, c.delta)
	}
	return nil
}

func (v *variant) idleCount() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.idle)
}

// close frees everything; no VM may be left.
func (v *variant) close() {
	for _, i := range v.idle {
		i.Close()
	}
	v.idle = nil
	v.clock.Wait()
	if v.prepared != nil {
		v.prepared.Close()
	}
	if v.module != nil {
		v.module.Close()
	}
	v.engine.Close()
}

// enter waits for a thread, and says how long.
func (e *Engine) enter(ctx context.Context, v *variant) (waited time.Duration, err error) {
	select {
	case e.running <- struct{}{}:
	default:
		asked := time.Now()
		select {
		case e.running <- struct{}{}:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		waited = time.Since(asked)
	}
	v.clock.Enter()
	return waited, nil
}

func (e *Engine) leave(v *variant) {
	v.clock.Leave()
	<-e.running
}
