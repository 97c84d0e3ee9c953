package native

/*
#include <stdlib.h>
#include "native.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/cgo"
	"sync/atomic"
	"unsafe"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"codemode/guestabi"
	"codemode/internal/wasmbin"
)

// pointer reads the C pointer out of a wasmtime-go object, which keeps it in its only unexported field; layout_test.go
// fails when that changes.
func pointer(object any) unsafe.Pointer {
	return reflect.ValueOf(object).Elem().FieldByName("_ptr").UnsafePointer()
}

// Pool describes the pooling allocator.
type Pool struct {
	Instances     uint32 // how many may exist at once
	MaxMemory     uint64 // bytes of linear memory each may grow to
	KeepResident  uint64 // bytes of linear memory that stay mapped between two instances of a slot
	TableElements uint32
}

// SetPool makes a configuration's engines allocate instances from a pool.
func SetPool(config *wasmtime.Config, p Pool) {
	C.codemode_pool((*C.wasm_config_t)(pointer(config)), C.uint32_t(p.Instances), C.size_t(p.MaxMemory),
		C.size_t(p.KeepResident), C.uint32_t(p.TableElements))
	runtime.KeepAlive(config)
}

// ThreadStack is the stack size, in bytes, of threads on which wasm may run.
func ThreadStack() int { return int(C.codemode_thread_stack()) }

// Trap says how WebAssembly code ended itself. The codes are wasmtime's.
type Trap struct {
	Code    int // of wasmtime_trap_code_enum, -1 for none
	Message string
}

// The trap codes that have a meaning for a cell.
const (
	TrapStackOverflow = 0
	TrapOutOfBounds   = 1
	TrapUnreachable   = 9
	TrapInterrupt     = 10
	TrapOutOfFuel     = 12
)

func (t *Trap) Error() string { return "wasmtime: " + t.Message }

func failure(f *C.codemode_failure) error {
	message := C.GoString(&f.message[0])
	if f.kind == C.CODEMODE_TRAP {
		return &Trap{int(f.trap_code), message}
	}
	return errors.New("wasmtime: " + message)
}

// Prepared is a module with its imports bound: instances of it are made without looking anything up.
type Prepared struct {
	engine  *wasmtime.Engine
	module  *wasmtime.Module
	linker  *C.wasmtime_linker_t
	pre     *C.wasmtime_instance_pre_t
	names   **C.char
	exports int
}

// Prepare binds imports to a module. exports are the functions that Call takes by their index.
func Prepare(engine *wasmtime.Engine, module *wasmtime.Module, imports []guestabi.Import, exports []string) (*Prepared, error) {
	if len(exports) > C.CODEMODE_MAX_EXPORTS {
		panic(fmt.Sprintf("native: %d exports, room for %d", len(exports), C.CODEMODE_MAX_EXPORTS))
	}
	p := &Prepared{engine: engine, module: module, exports: len(exports)}
	p.linker = C.wasmtime_linker_new((*C.wasm_engine_t)(pointer(engine)))
	p.names = (**C.char)(C.calloc(C.CODEMODE_MAX_EXPORTS, C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	for i, name := range exports {
		unsafe.Slice(p.names, C.CODEMODE_MAX_EXPORTS)[i] = C.CString(name)
	}
	var f C.codemode_failure
	moduleName := C.CString(guestabi.Module)
	defer C.free(unsafe.Pointer(moduleName))
	for i, imp := range imports {
		params, results := kinds(imp.Signature)
		name := C.CString(imp.Name)
		status := C.codemode_define(p.linker, moduleName, name, C.int(i), first(params), C.size_t(len(params)),
			first(results), C.size_t(len(results)), &f)
		C.free(unsafe.Pointer(name))
		if status != C.CODEMODE_OK {
			p.Close()
			return nil, failure(&f)
		}
	}
	if C.codemode_prepare(p.linker, (*C.wasmtime_module_t)(pointer(module)), &p.pre, &f) != C.CODEMODE_OK {
		p.Close()
		return nil, failure(&f)
	}
	return p, nil
}

func kinds(s wasmbin.Signature) (params, results []C.uint8_t) {
	kind := func(name string) C.uint8_t {
		if name == "i64" {
			return C.WASM_I64
		}
		return C.WASM_I32
	}
	for _, t := range s.Params {
		params = append(params, kind(t))
	}
	for _, t := range s.Results {
		results = append(results, kind(t))
	}
	return params, results
}

func first(b []C.uint8_t) *C.uint8_t {
	if len(b) == 0 {
		return nil
	}
	return &b[0]
}

// Close frees what Prepare made; the engine and the module are their owner's. No instance may be left.
func (p *Prepared) Close() {
	if p.pre != nil {
		C.wasmtime_instance_pre_delete(p.pre)
		p.pre = nil
	}
	if p.linker != nil {
		C.wasmtime_linker_delete(p.linker)
		p.linker = nil
	}
	if p.names != nil {
		for _, name := range unsafe.Slice(p.names, C.CODEMODE_MAX_EXPORTS) {
			C.free(unsafe.Pointer(name))
		}
		C.free(unsafe.Pointer(p.names))
		p.names = nil
	}
}

// Host is what an instance calls into while it runs, on the goroutine of the Call.
type Host interface {
	// Import runs the import with this index: arguments in slots, the result in slots[0]. False ends the call.
	Import(index int, slots []guestabi.Slot) bool
	// Tick is asked at every tick of the engine's epoch; false ends the call.
	Tick() bool
}

// Instance is one instance with its store.
type Instance struct {
	c         *C.codemode_instance
	handle    cgo.Handle
	host      Host
	maxMemory int64 // how far linear memory may grow
	slots     [guestabi.MaxSlots]guestabi.Slot
	fail      C.codemode_failure
}

var live atomic.Int64

// Live is how many instances exist in this process, for tests of leaks.
func Live() int64 { return live.Load() }

// New makes an instance whose linear memory may grow to maxMemory bytes.
func (p *Prepared) New(maxMemory int64) (*Instance, error) {
	i := &Instance{maxMemory: maxMemory}
	i.handle = cgo.NewHandle(i)
	i.c = C.codemode_instantiate((*C.wasm_engine_t)(pointer(p.engine)), p.pre, C.uintptr_t(i.handle), C.int64_t(maxMemory),
		p.names, C.size_t(p.exports), &i.fail)
	if i.c == nil {
		i.handle.Delete()
		return nil, failure(&i.fail)
	}
	live.Add(1)
	return i, nil
}

// Close ends the instance. A second Close does nothing.
func (i *Instance) Close() {
	if i.c == nil {
		return
	}
	C.codemode_delete(i.c)
	i.c = nil
	i.handle.Delete()
	live.Add(-1)
}

// SetHost says who answers the instance's imports from now on.
func (i *Instance) SetHost(h Host) { i.host = h }

// Memory is linear memory as it is now; valid until the next call.
func (i *Instance) Memory() []byte { return unsafe.Slice((*byte)(i.c.base), i.c.size) }

// GrowMemory adds pages of 64 KiB to linear memory.
func (i *Instance) GrowMemory(pages uint64) error {
	if pages == 0 {
		return nil
	}
	if C.codemode_grow(i.c, C.uint64_t(pages), &i.fail) != C.CODEMODE_OK {
		return failure(&i.fail)
	}
	return nil
}

// LimitMemory sets how far linear memory may grow from now on, in bytes.
func (i *Instance) LimitMemory(maxMemory int64) {
	if i.maxMemory != maxMemory {
		i.maxMemory = maxMemory
		C.codemode_limit_memory(i.c, C.int64_t(maxMemory))
	}
}

// SetFuel gives the instance this much fuel.
func (i *Instance) SetFuel(fuel uint64) { C.codemode_set_fuel(i.c, C.uint64_t(fuel)) }

// Fuel is what is left of it.
func (i *Instance) Fuel() uint64 { return uint64(C.codemode_get_fuel(i.c)) }

// CallInside is Call inside an import: budgets and ticks go on as they do for the call around it.
func (i *Instance) CallInside(export int, args ...uint64) (uint64, error) {
	var slots [guestabi.MaxSlots]guestabi.Slot
	for k, a := range args {
		slots[k] = guestabi.Slot{a}
	}
	status := C.codemode_call_inside(i.c, C.int(export), (*C.wasmtime_val_raw_t)(unsafe.Pointer(&slots)), C.size_t(len(slots)), &i.fail)
	if status != C.CODEMODE_OK {
		return 0, failure(&i.fail)
	}
	return slots[0][0], nil
}

// CallText is Call with text: it is copied into new memory of the guest, allocated with the export realloc, and its
// pointer and length become the arguments at and at+1.
func (i *Instance) CallText(export, realloc int, text []byte, at int, args ...uint64) (uint64, error) {
	for k, a := range args {
		i.slots[k] = guestabi.Slot{a}
	}
	status := C.codemode_call_text(i.c, C.int(export), C.int(realloc), unsafe.Pointer(unsafe.SliceData(text)), C.size_t(len(text)), C.int(at),
		(*C.wasmtime_val_raw_t)(unsafe.Pointer(&i.slots)), C.size_t(len(i.slots)), &i.fail)
	if status != C.CODEMODE_OK {
		return 0, failure(&i.fail)
	}
	return i.slots[0][0], nil
}

// Call runs an export by its index in Prepare's list, and returns what is in the first slot then. The host is asked at
// every tick of the engine's epoch. A trap is a *Trap.
func (i *Instance) Call(export int, args ...uint64) (uint64, error) {
	for k, a := range args {
		i.slots[k] = guestabi.Slot{a}
	}
	status := C.codemode_call(i.c, C.int(export), (*C.wasmtime_val_raw_t)(unsafe.Pointer(&i.slots)), C.size_t(len(i.slots)), &i.fail)
	if status != C.CODEMODE_OK {
		return 0, failure(&i.fail)
	}
	return i.slots[0][0], nil
}

//export codemodeImport
func codemodeImport(handle C.uintptr_t, index C.int, slots *C.wasmtime_val_raw_t, n C.size_t) C.int {
	i := cgo.Handle(handle).Value().(*Instance)
	if i.host.Import(int(index), unsafe.Slice((*guestabi.Slot)(unsafe.Pointer(slots)), int(n))) {
		return 0
	}
	return 1
}

//export codemodeTick
func codemodeTick(handle C.uintptr_t) C.int {
	i := cgo.Handle(handle).Value().(*Instance)
	if i.host.Tick() {
		return 0
	}
	return 1
}
