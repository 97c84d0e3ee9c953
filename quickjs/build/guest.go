package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"codemode/guestabi"
)

// guest is the linked module while its image is made. It answers the imports as the ABI wants, with a clock that stands
// still and a catalog of one tool.
type guest struct {
	store    *wasmtime.Store
	instance *wasmtime.Instance
	pending  []uint32 // ids of requests to answer
	globals  []string // what the trial cell says they are
}

// binding makes a wasmtime-go function of a binding of the ABI. Speed does not matter here.
func (g *guest) binding(i guestabi.Import) func(*wasmtime.Caller, []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
	return func(_ *wasmtime.Caller, args []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
		slots := make([]guestabi.Slot, guestabi.MaxSlots)
		for k, a := range args {
			if a.Kind() == wasmtime.KindI64 {
				slots[k][0] = uint64(a.I64())
			} else {
				slots[k][0] = uint64(uint32(a.I32()))
			}
		}
		if err := i.Call(g, catalog{g}, slots); err != nil {
			return nil, wasmtime.NewTrap(err.Error())
		}
		if len(i.Signature.Results) == 0 {
			return nil, nil
		}
		if i.Signature.Results[0] == "i64" {
			return []wasmtime.Val{wasmtime.ValI64(int64(slots[0][0]))}, nil
		}
		return []wasmtime.Val{wasmtime.ValI32(int32(slots[0][0]))}, nil
	}
}

func (g *guest) call(name string, args ...any) (int32, error) {
	f := g.instance.GetFunc(g.store, name)
	if f == nil {
		return 0, fmt.Errorf("the linked module does not export %s", name)
	}
	result, err := f.Call(g.store, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	n, _ := result.(int32)
	return n, nil
}

func (g *guest) write(b []byte) (int32, error) {
	at, err := g.Alloc(uint32(len(b)))
	if err != nil {
		return 0, err
	}
	copy(g.Memory()[at:], b)
	return int32(at), nil
}

// trial runs the trial cell and answers what it asks until it has ended.
func (g *guest) trial() error {
	at, err := g.write([]byte(trial))
	if err != nil {
		return err
	}
	const stack, value = 1 << 20, 1 << 20
	result, err := g.call(guestabi.CellPrefix+"run", at, int32(len(trial)), int64(1), int32(stack), int32(value))
	for err == nil {
		var o guestabi.Outcome
		if o, err = g.Memory().Outcome(uint32(result)); err != nil {
			break
		}
		if o.State != guestabi.Pending {
			if o.State != guestabi.Fulfilled || o.Rejections > 0 {
				return fmt.Errorf("it ended %s: %s", o.State, o.Payload)
			}
			return nil
		}
		if len(g.pending) == 0 {
			return errors.New("it waits for nothing")
		}
		id := g.pending[0]
		g.pending = g.pending[1:]
		const reply = `{"n":41,"items":[{"id":1,"name":"one"}]}`
		if at, err = g.write([]byte(reply)); err == nil {
			result, err = g.call(guestabi.CellPrefix+"settle", int32(id), int32(1), at, int32(len(reply)))
		}
	}
	return err
}

// What guestabi.Guest asks for.

func (g *guest) Memory() guestabi.Memory {
	return g.instance.GetExport(g.store, "memory").Memory().UnsafeData(g.store)
}

func (g *guest) Alloc(n uint32) (uint32, error) {
	at, err := g.call("cabi_realloc", int32(0), int32(0), int32(1), int32(n))
	return uint32(at), err
}

func (g *guest) Now() uint64        { return 1_700_000_000_000_000_000 }
func (g *guest) Entropy() uint64    { return 1 }
func (g *guest) Interrupted() bool  { return false }
func (g *guest) OutOfMemory() error { return errors.New("out of memory") }

// catalog is the bridge of the trial cell.
type catalog struct{ g *guest }

func (c catalog) wait(id uint32) error {
	c.g.pending = append(c.g.pending, id)
	return nil
}

func (c catalog) Call(call guestabi.Call) error                                  { return c.wait(call.ID) }
func (c catalog) Search(id uint32, _ string, _ uint32, _ guestabi.Surface) error { return c.wait(id) }
func (c catalog) Describe(id uint32, _ guestabi.Binding, _ string) error         { return c.wait(id) }
func (c catalog) Timer(id, _ uint32) error                                       { return c.wait(id) }
func (c catalog) Yield(id uint32, _ *string) error                               { return c.wait(id) }
func (c catalog) Save(id uint32, _ json.RawMessage) error                        { return c.wait(id) }
func (c catalog) Load(id uint32, _ string) error                                 { return c.wait(id) }
func (c catalog) Drop(id uint32, _ string) error                                 { return c.wait(id) }
func (c catalog) Cancel(uint32) error                                            { return nil }
func (c catalog) JSON(json.RawMessage) error                                     { return nil }
func (c catalog) Text(text string) error {
	if len(c.g.globals) > 0 || text == "" || text[0] != '[' {
		return nil // what console.log writes
	}
	return json.Unmarshal([]byte(text), &c.g.globals)
}
func (c catalog) Resolve(path string) (guestabi.Node, bool) {
	const data = `{"callableName":"trial","toolName":"trial","label":"Trial","description":"A trial","source":"host",` +
		`"input":"{ q: string }","output":"{ n: number }"}`
	return guestabi.Node{Binding: guestabi.ByCallable, Name: "trial", Data: data}, path == "trial" || path == "tools.trial"
}
func (c catalog) Names(string) string             { return "[]" }
func (c catalog) Entries(guestabi.Listing) string { return "[]" }
func (c catalog) Files(string) (string, bool)     { return "", false }
func (c catalog) File(string) (string, bool)      { return "", false }
