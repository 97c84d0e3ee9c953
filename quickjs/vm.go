package quickjs

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"codemode/guestabi"
	"codemode/limits"
	"codemode/quickjs/internal/native"
)

// Options says how a VM runs its cell.
type Options struct {
	// Limits bounds the cell; the zero value is the defaults. Timeout is not looked at: see Deadline.
	Limits limits.Limits
	// Deadline ends a cell that computes past it; the zero value does not. SetDeadline moves it.
	Deadline time.Time
	// Deterministic makes Math.random and the clock the same in every run.
	Deterministic bool
}

// VM is one cell in one instance of the guest. Its methods lock: two calls at once wait for each other.
type VM struct {
	engine  *Engine
	variant *variant
	ctx     context.Context
	bridge  guestabi.Bridge
	options Options

	mu       sync.Mutex
	instance *native.Instance // nil before the first call, and when closed
	released bool
	dead     error         // why nothing may run any more
	fuelLeft uint64        // of the cell's life, where fuel is metered
	spent    time.Duration // in WebAssembly
	changes  *changes      // nil before anybody has looked

	// While the guest runs; read from the tick as well, which is on the same thread.
	broken   error         // what an import refused
	reason   error         // why the cell must stop
	softened time.Time     // when it was first told to
	queued   time.Duration // how long this call waited for a thread, which is not the cell's fault

	deadline atomic.Int64 // Unix nanoseconds, 0 for none
	stopped  atomic.Pointer[error]
}

// hardStop is how much later than the deadline code is stopped that does not poll: long built-in functions.
const hardStop = 8 * time.Millisecond

// fuelReserve is what a cell that has used up its fuel may still spend on being stopped in an orderly way. It is more
// than the engine uses between two polls.
const fuelReserve = 5_000_000

// NewVM takes a clean instance for one cell. It waits while the engine has no room, and compiles the guest where it is
// the first; ctx ends the wait, and later the cell.
func (e *Engine) NewVM(ctx context.Context, bridge guestabi.Bridge, options Options) (*VM, error) {
	options.Limits = options.Limits.Clamp()
	return e.newVM(ctx, bridge, options, uint64(options.Limits.Fuel))
}

func (e *Engine) newVM(ctx context.Context, bridge guestabi.Bridge, options Options, fuel uint64) (*VM, error) {
	v, err := e.variant(options.Limits.Fuel > 0)
	if err != nil {
		return nil, err
	}
	select {
	case e.slots <- struct{}{}:
	default:
		select {
		case e.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	vm := &VM{engine: e, variant: v, ctx: ctx, bridge: bridge, options: options, fuelLeft: fuel}
	vm.SetDeadline(options.Deadline)
	e.mu.Lock()
	closed := e.closed
	if !closed {
		e.vms[vm] = struct{}{}
	}
	e.mu.Unlock()
	if closed {
		<-e.slots
		return nil, ErrClosed
	}
	return vm, nil
}

// begin takes the instance, when the VM first has a thread: cells that wait for a thread hold none, so that those that
// run use the same few, which are in the processor's caches.
func (vm *VM) begin() error {
	if vm.instance != nil {
		return nil
	}
	instance, err := vm.variant.take(vm.options.Limits.MemoryLimitBytes)
	if err != nil {
		return fmt.Errorf("quickjs: no instance: %w", err)
	}
	instance.SetHost(vm)
	vm.instance = instance
	return nil
}

// SetContext replaces the context that ends the cell. It may not be called while the VM runs.
func (vm *VM) SetContext(ctx context.Context) {
	vm.mu.Lock()
	vm.ctx = ctx
	vm.mu.Unlock()
}

// SetDeadline moves the time at which a computing cell is stopped; the zero time removes it. It may be called while the
// VM runs.
func (vm *VM) SetDeadline(t time.Time) {
	if t.IsZero() {
		vm.deadline.Store(0)
	} else {
		vm.deadline.Store(t.UnixNano())
	}
}

// stop makes a running cell end with err.
func (vm *VM) stop(err error) { vm.stopped.CompareAndSwap(nil, &err) }

// Run runs a body: the statements of one async function. It is called once.
func (vm *VM) Run(body string) (guestabi.Outcome, error) {
	return vm.outcome(func() (uint64, error) {
		return vm.callText(exportRun, []byte(body), 0, 0, 0, vm.seed(), uint64(vm.options.Limits.MaxStackBytes), uint64(vm.valueLimit()))
	})
}

// Settle answers a request of the cell: payload is a JSON value, or where ok is false an error as a JSON object.
func (vm *VM) Settle(id uint32, ok bool, payload []byte) (guestabi.Outcome, error) {
	return vm.outcome(func() (uint64, error) {
		var flag uint64
		if ok {
			flag = 1
		}
		return vm.callText(exportSettle, payload, 2, uint64(id), flag, 0, 0)
	})
}

// Rejections describes the promises that are rejected with nobody to handle it, oldest first, as a JSON array of
// guestabi.Thrown.
func (vm *VM) Rejections() (string, error) {
	var text string
	err := vm.use(func() error {
		at, err := vm.call(exportRejections)
		if err != nil {
			return err
		}
		text, err = guestabi.Memory(vm.instance.Memory()).Result(uint32(at))
		return err
	})
	return text, err
}

// positionTime bounds what Position may run.
const positionTime = 20 * time.Millisecond

// Position says where a stopped cell was, as the text of a JavaScript stack; empty where that cannot be told. It is the
// only thing, beside Close, that may be asked of a VM after an error.
func (vm *VM) Position() string {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.instance == nil || vm.dead == nil {
		return ""
	}
	if _, err := vm.engine.enter(context.Background(), vm.variant); err != nil {
		return ""
	}
	defer vm.engine.leave(vm.variant)
	at, err := vm.position()
	if err != nil { // the heap was left in a state that is no good; what was noted before is
		at, err = vm.position()
	}
	if err != nil {
		return ""
	}
	text, err := guestabi.Memory(vm.instance.Memory()).Result(uint32(at))
	if err != nil {
		return ""
	}
	return text
}

func (vm *VM) position() (uint64, error) {
	vm.ctx, vm.broken, vm.reason, vm.softened = context.Background(), nil, nil, time.Time{}
	vm.stopped.Store(nil)
	vm.fuelLeft, vm.queued = fuelReserve, 0
	vm.SetDeadline(time.Now().Add(positionTime))
	return vm.call(exportPosition)
}

// Spent is how long the guest has run in this VM, with the bridge's answers in it.
func (vm *VM) Spent() time.Duration {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	return vm.spent
}

// FuelLeft is what is left of the cell's fuel; 0 where fuel is not metered.
func (vm *VM) FuelLeft() uint64 {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	return vm.fuelLeft
}

// MemoryBytes is the size of the cell's linear memory above the image's; 0 after Close.
func (vm *VM) MemoryBytes() int {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.instance == nil {
		return 0
	}
	return len(vm.instance.Memory()) - len(vm.variant.image)
}

// Close ends the VM and gives its instance back. A second Close does nothing.
func (vm *VM) Close() error {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	vm.release()
	return nil
}

// release gives the instance back: for the next VM where nothing is wrong with it.
func (vm *VM) release() {
	if vm.released {
		return
	}
	vm.released = true
	if vm.instance == nil {
		// it was never used
	} else if vm.dead != nil {
		vm.instance.Close() // a trapped or stopped instance is never used again
	} else {
		vm.engine.give(vm)
	}
	vm.forgetChanges()
	vm.instance = nil
	if vm.dead == nil {
		vm.dead = ErrClosed
	}
	vm.engine.mu.Lock()
	delete(vm.engine.vms, vm)
	vm.engine.mu.Unlock()
	<-vm.engine.slots
}

// use runs f with a thread, and ends the VM where f fails.
func (vm *VM) use(f func() error) error {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.dead != nil {
		return vm.dead
	}
	start := time.Now()
	waited, err := vm.engine.enter(vm.ctx, vm.variant)
	if err != nil {
		return err
	}
	defer vm.engine.leave(vm.variant)
	if vm.changes != nil {
		vm.changes.known = false
	}
	vm.broken, vm.reason, vm.softened = nil, nil, time.Time{}
	vm.queued = waited
	start = start.Add(waited)
	err = vm.begin()
	if err == nil {
		err = f()
	}
	vm.spent += time.Since(start)
	if err != nil {
		vm.dead = vm.explain(err)
		return vm.dead
	}
	return nil
}

func (vm *VM) outcome(f func() (uint64, error)) (guestabi.Outcome, error) {
	var out guestabi.Outcome
	err := vm.use(func() error {
		at, err := f()
		if err != nil {
			return err
		}
		out, err = guestabi.Memory(vm.instance.Memory()).Outcome(uint32(at))
		switch {
		case err != nil:
		case out.State == guestabi.Stopped:
			err = errStopped
		case vm.variant.fuel && vm.fuelLeft == 0: // the step was shorter than the engine goes between two polls
			vm.reason, err = vm.outOfFuel(), errStopped
		}
		return err
	})
	return out, err
}

// errStopped stands for the reason that the cell was told to stop for.
var errStopped = errors.New("quickjs: stopped")

// explain turns how WebAssembly ended into why.
func (vm *VM) explain(err error) error {
	switch {
	case vm.broken != nil:
		return vm.broken
	case vm.reason != nil:
		return vm.reason
	}
	var trap *native.Trap
	if errors.As(err, &trap) {
		switch trap.Code {
		case native.TrapStackOverflow:
			return &limits.Error{Limit: limits.BreachStack, Detail: "calls or values are nested too deep"}
		case native.TrapOutOfFuel:
			return vm.outOfFuel()
		}
	}
	return fmt.Errorf("quickjs: the cell's engine crashed: %w", err)
}

// call runs an export with the fuel that is left.
func (vm *VM) call(export int, args ...uint64) (uint64, error) {
	vm.fuel()
	defer vm.countFuel()
	return vm.instance.Call(export, args...)
}

// callText is call with text, whose pointer and length become the arguments at and at+1.
func (vm *VM) callText(export int, text []byte, at int, args ...uint64) (uint64, error) {
	vm.fuel()
	defer vm.countFuel()
	return vm.instance.CallText(export, exportRealloc, text, at, args...)
}

func (vm *VM) fuel() {
	if vm.variant.fuel {
		vm.instance.SetFuel(vm.fuelLeft + fuelReserve)
	}
}

func (vm *VM) countFuel() {
	if vm.variant.fuel {
		vm.fuelLeft = max(vm.instance.Fuel(), fuelReserve) - fuelReserve
	}
}

func (vm *VM) outOfFuel() error {
	return &limits.Error{Limit: limits.BreachFuel, Allowed: vm.options.Limits.Fuel}
}

func (vm *VM) seed() uint64 {
	if vm.options.Deterministic {
		return 0x636f6465_6d6f6465
	}
	return rand.Uint64()
}

// valueLimit is how much of a cell's value is carried out of the guest: what the output may hold, or what results.save
// could keep, whichever is more.
func (vm *VM) valueLimit() int64 {
	l := vm.options.Limits
	return max(l.MaxOutputBytes, min(l.MemoryLimitBytes, l.MaxSnapshotBytes))
}

// --- what the guest asks while it runs ---

// Import runs one of guestabi.Imports. It belongs to the instance and is not for callers.
func (vm *VM) Import(index int, slots []guestabi.Slot) (ok bool) {
	defer func() {
		if p := recover(); p != nil { // a panic must not unwind through WebAssembly
			vm.broken = fmt.Errorf("quickjs: the bridge panicked: %v", p)
			ok = false
		}
	}()
	if err := guestabi.Imports()[index].Call(vm, vm.bridge, slots); err != nil {
		if vm.broken == nil { // a call of the guest inside the import may have said why already
			vm.broken = err
		}
		return false
	}
	return true
}

// Tick says whether code that does not poll may go on. It belongs to the instance and is not for callers.
func (vm *VM) Tick() bool {
	if vm.softened.IsZero() {
		if !vm.Interrupted() {
			return true
		}
		if deadline := vm.deadline.Load(); deadline != 0 && errors.Is(vm.reason, limits.ErrTimeout) {
			// Some of it remains where this thread was not run at the deadline: code that polls is to end in order.
			vm.softened = vm.softened.Add(-hardStop / 2)
			if due := time.Unix(0, deadline).Add(vm.queued); due.After(vm.softened) {
				vm.softened = due
			}
		}
	}
	return time.Since(vm.softened) < hardStop
}

// Interrupted says whether the cell must stop, and notes why.
func (vm *VM) Interrupted() bool {
	if vm.reason != nil {
		return true
	}
	if err := vm.stopped.Load(); err != nil {
		vm.reason = *err
	} else if vm.ctx.Err() != nil {
		vm.reason = context.Cause(vm.ctx)
	} else if deadline := vm.deadline.Load(); deadline != 0 && time.Now().UnixNano() >= deadline+int64(vm.queued) {
		vm.reason = &limits.Error{Limit: limits.BreachTimeout}
	} else if vm.variant.fuel && vm.instance.Fuel() <= fuelReserve {
		vm.reason = vm.outOfFuel()
	}
	if vm.reason != nil && vm.softened.IsZero() {
		vm.softened = time.Now()
	}
	return vm.reason != nil
}

// OutOfMemory is the error of a cell to which memory was refused.
func (vm *VM) OutOfMemory() error {
	return &limits.Error{Limit: limits.BreachMemory, Allowed: vm.options.Limits.MemoryLimitBytes}
}

// fixedTime is the time in a deterministic VM: 2026-01-01.
const fixedTime = 1_767_225_600_000_000_000

// Now is the time that the cell sees.
func (vm *VM) Now() uint64 {
	if vm.options.Deterministic {
		return fixedTime
	}
	return uint64(time.Now().UnixNano())
}

// Entropy is what the cell's crypto is made of: from the system, and always the same in a deterministic VM.
func (vm *VM) Entropy() uint64 {
	if vm.options.Deterministic {
		return vm.seed()
	}
	var b [8]byte
	cryptorand.Read(b[:]) // ends the process where the system has none
	return binary.LittleEndian.Uint64(b[:])
}

// Memory is the guest's memory now.
func (vm *VM) Memory() guestabi.Memory { return vm.instance.Memory() }

// Alloc calls the guest's allocator inside an import, on the budgets of the call that is under way.
func (vm *VM) Alloc(n uint32) (uint32, error) {
	at, err := vm.instance.CallInside(exportRealloc, 0, 0, 1, uint64(n))
	return uint32(at), err
}
