package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"codemode/guestabi"
	"codemode/quickjs"
)

// metering is how a WebAssembly engine watches what runs.
type metering struct {
	name        string
	epoch, fuel bool
}

// meterings are the modes that P13 is about. The package quickjs has no mode without an epoch; it is here to know what the
// others cost. The first is what they are compared with.
var meterings = []metering{{"none", false, false}, {"epoch", true, false}, {"fuel", false, true}, {"epoch+fuel", true, true}}

// plain is a module in one wasmtime instance made with the public wasmtime-go API alone: no pool, no image, no host. Two
// modules are compared on computing with it, with all settings of wasmtime the same.
type plain struct {
	store    *wasmtime.Store
	engine   *wasmtime.Engine
	instance *wasmtime.Instance
	memory   *wasmtime.Memory
	stopTick chan struct{}
	bridge   bareBridge
}

// compiledPlain is a module compiled for one metering.
type compiledPlain struct {
	metering
	engine *wasmtime.Engine
	module *wasmtime.Module
}

func compilePlain(wasm []byte, m metering) (*compiledPlain, error) {
	config := wasmtime.NewConfig()
	config.SetEpochInterruption(m.epoch)
	config.SetConsumeFuel(m.fuel)
	config.SetMaxWasmStack(4 << 20)
	config.SetCraneliftNanCanonicalization(true)
	config.SetWasmThreads(false)
	engine := wasmtime.NewEngineWithConfig(config)
	module, err := wasmtime.NewModule(engine, wasm)
	if err != nil {
		return nil, fmt.Errorf("bench: compiling a module: %w", err)
	}
	return &compiledPlain{m, engine, module}, nil
}

// instantiate makes an instance whose imports are given by link.
func (c *compiledPlain) instantiate(link func(*wasmtime.Linker, *plain) error) (*plain, error) {
	p := &plain{store: wasmtime.NewStore(c.engine), engine: c.engine, stopTick: make(chan struct{})}
	linker := wasmtime.NewLinker(c.engine)
	if err := link(linker, p); err != nil {
		return nil, err
	}
	if c.fuel {
		if err := p.store.SetFuel(1 << 62); err != nil {
			return nil, err
		}
	}
	if c.epoch {
		p.store.SetEpochDeadline(1 << 40)
		go func() { // as often as package limits does
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					c.engine.IncrementEpoch()
				case <-p.stopTick:
					return
				}
			}
		}()
	}
	instance, err := linker.Instantiate(p.store, c.module)
	if err != nil {
		close(p.stopTick)
		return nil, fmt.Errorf("bench: instantiating a module: %w", err)
	}
	p.instance = instance
	p.memory = instance.GetExport(p.store, "memory").Memory()
	return p, nil
}

func (p *plain) close() {
	close(p.stopTick)
	p.store.Close()
}

func (p *plain) call(export string, args ...any) (int32, error) {
	f := p.instance.GetFunc(p.store, export)
	if f == nil {
		return 0, fmt.Errorf("bench: the module has no %s", export)
	}
	result, err := f.Call(p.store, args...)
	if err != nil {
		return 0, err
	}
	n, _ := result.(int32)
	return n, nil
}

// write puts text at an address that alloc gave.
func (p *plain) write(at int32, text string) error {
	m := p.memory.UnsafeData(p.store)
	if at <= 0 || int(at)+len(text) > len(m) {
		return errors.New("bench: the module's allocator failed")
	}
	copy(m[at:], text)
	return nil
}

// Memory, Alloc, Now, Entropy, Interrupted and OutOfMemory make it a guestabi.Guest.

func (p *plain) Memory() guestabi.Memory { return p.memory.UnsafeData(p.store) }
func (p *plain) Now() uint64             { return uint64(time.Now().UnixNano()) }
func (p *plain) Entropy() uint64         { return 43 }
func (p *plain) Interrupted() bool       { return false }
func (p *plain) OutOfMemory() error      { return errors.New("bench: out of memory") }
func (p *plain) Alloc(n uint32) (uint32, error) {
	at, err := p.call("cabi_realloc", int32(0), int32(0), int32(1), int32(n))
	return uint32(at), err
}

var valueKinds = map[string]wasmtime.ValKind{"i32": wasmtime.KindI32, "i64": wasmtime.KindI64, "f32": wasmtime.KindF32, "f64": wasmtime.KindF64}

// linkGuest gives our guest its bridge.
func linkGuest(linker *wasmtime.Linker, p *plain) error {
	types := func(names []string) (out []*wasmtime.ValType) {
		for _, n := range names {
			out = append(out, wasmtime.NewValType(valueKinds[n]))
		}
		return out
	}
	for _, f := range guestabi.Imports() {
		kind := wasmtime.NewFuncType(types(f.Signature.Params), types(f.Signature.Results))
		err := linker.FuncNew(guestabi.Module, f.Name, kind, func(_ *wasmtime.Caller, args []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
			var slots [guestabi.MaxSlots]guestabi.Slot
			for i, a := range args {
				if a.Kind() == wasmtime.KindI64 {
					slots[i][0] = uint64(a.I64())
				} else {
					slots[i][0] = uint64(uint32(a.I32()))
				}
			}
			if err := f.Call(p, &p.bridge, slots[:]); err != nil {
				return nil, wasmtime.NewTrap(err.Error())
			}
			var out []wasmtime.Val
			for i, name := range f.Signature.Results {
				if name == "i64" {
					out = append(out, wasmtime.ValI64(int64(slots[i][0])))
				} else {
					out = append(out, wasmtime.ValI32(int32(slots[i][0])))
				}
			}
			return out, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runGuest runs a body in a new instance of our guest and returns its value and how long run took.
func (c *compiledPlain) runGuest(body string) (string, time.Duration, error) {
	p, err := c.instantiate(linkGuest)
	if err != nil {
		return "", 0, err
	}
	defer p.close()
	at, err := p.Alloc(uint32(len(body)))
	if err == nil {
		err = p.write(int32(at), body)
	}
	if err != nil {
		return "", 0, err
	}
	start := time.Now()
	out, err := p.call(guestabi.CellPrefix+"run", int32(at), int32(len(body)), int64(1), int32(1<<20), int32(1<<20))
	spent := time.Since(start)
	if err != nil {
		return "", 0, err
	}
	o, err := p.Memory().Outcome(uint32(out))
	if err == nil && o.State != guestabi.Fulfilled {
		err = fmt.Errorf("bench: the guest's cell is %s: %s", o.State, o.Payload)
	}
	return string(o.Payload), spent, err
}

// linkWASI gives the binary of npm quickjs-wasi what it needs to compute: a clock, zeroes for entropy and a
// time zone. Its other imports trap.
func linkWASI(linker *wasmtime.Linker, p *plain, module *wasmtime.Module) error {
	for _, i := range module.Imports() {
		kind := i.Type().FuncType()
		if kind == nil {
			return fmt.Errorf("bench: quickjs-wasi imports %s, which is no function", *i.Name())
		}
		name := *i.Name()
		err := linker.FuncNew(i.Module(), name, kind, func(_ *wasmtime.Caller, args []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
			switch name {
			case "host_get_timezone_offset", "host_interrupt":
				return []wasmtime.Val{wasmtime.ValI32(0)}, nil
			case "random_get":
				clear(p.memory.UnsafeData(p.store)[uint32(args[0].I32()):][:uint32(args[1].I32())])
				return []wasmtime.Val{wasmtime.ValI32(0)}, nil
			case "clock_time_get":
				m, at := p.memory.UnsafeData(p.store), int(args[2].I32())
				if at < 0 || at+8 > len(m) {
					break
				}
				binary.LittleEndian.PutUint64(m[at:], uint64(time.Now().UnixNano()))
				return []wasmtime.Val{wasmtime.ValI32(0)}, nil
			}
			return nil, wasmtime.NewTrap("bench: quickjs-wasi called " + name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runWASI runs a function body in a new instance of quickjs-wasi's binary.
func (c *compiledPlain) runWASI(body string) (value float64, spent time.Duration, err error) {
	p, err := c.instantiate(func(linker *wasmtime.Linker, p *plain) error { return linkWASI(linker, p, c.module) })
	if err != nil {
		return 0, 0, err
	}
	defer p.close()
	for _, step := range []string{"_initialize", "qjs_init"} {
		if _, err := p.call(step); err != nil {
			return 0, 0, err
		}
	}
	if _, err := p.call("qjs_set_interrupt_handler", int32(1)); err != nil {
		return 0, 0, err
	}
	code := "(() => {" + body + "\n})()"
	at, err := p.call("wasm_malloc", int32(len(code)+1))
	if err != nil {
		return 0, 0, err
	}
	name, err := p.call("wasm_malloc", int32(8))
	if err != nil {
		return 0, 0, err
	}
	if err := errors.Join(p.write(at, code+"\x00"), p.write(name, "cell.js\x00")); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	result, err := p.call("qjs_eval", at, int32(len(code)), name, int32(0))
	spent = time.Since(start)
	if err != nil {
		return 0, 0, err
	}
	f := p.instance.GetFunc(p.store, "qjs_get_float64")
	if bad, err := p.call("qjs_is_exception", result); err != nil || bad != 0 || f == nil {
		return 0, 0, fmt.Errorf("bench: quickjs-wasi's cell threw (%v)", err)
	}
	number, err := f.Call(p.store, result)
	if err != nil {
		return 0, 0, err
	}
	value, ok := number.(float64)
	if !ok || math.IsNaN(value) {
		return 0, 0, errors.New("bench: quickjs-wasi's cell gave no number")
	}
	return value, spent, nil
}

// guestModule is the embedded guest.
func guestModule() ([]byte, error) {
	module, _, err := quickjs.Guest()
	return module, err
}
