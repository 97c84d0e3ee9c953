package bench

import (
	"context"
	"encoding/json"
	"fmt"

	"codemode/guestabi"
	"codemode/quickjs"
)

// bareBridge is the least that a cell can be given: no name is a tool, and what it asks is taken and forgotten. What
// package quickjs costs without package host is measured with it.
type bareBridge struct{}

func (*bareBridge) Call(guestabi.Call) error                              { return nil }
func (*bareBridge) Search(uint32, string, uint32, guestabi.Surface) error { return nil }
func (*bareBridge) Describe(uint32, guestabi.Binding, string) error       { return nil }
func (*bareBridge) Cancel(uint32) error                                   { return nil }
func (*bareBridge) Timer(uint32, uint32) error                            { return nil }
func (*bareBridge) Yield(uint32, *string) error                           { return nil }
func (*bareBridge) Text(string) error                                     { return nil }
func (*bareBridge) JSON(json.RawMessage) error                            { return nil }
func (*bareBridge) Names(string) string                                   { return "[]" }
func (*bareBridge) Entries(guestabi.Listing) string                       { return "[]" }
func (*bareBridge) Files(string) (string, bool)                           { return "[]", true }
func (*bareBridge) File(string) (string, bool)                            { return "", false }
func (*bareBridge) Save(uint32, json.RawMessage) error                    { return nil }
func (*bareBridge) Load(uint32, string) error                             { return nil }
func (*bareBridge) Drop(uint32, string) error                             { return nil }

// Resolve knows no names: a bare cell uses none.
func (*bareBridge) Resolve(string) (guestabi.Node, bool) { return guestabi.Node{}, false }

// runBare runs a body without a host: an instance, the evaluation, and the instance back.
func runBare(ctx context.Context, engine *quickjs.Engine, body string) error {
	vm, err := engine.NewVM(ctx, &bareBridge{}, quickjs.Options{})
	if err != nil {
		return err
	}
	defer vm.Close()
	out, err := vm.Run(body)
	if err != nil {
		return err
	}
	if out.State != guestabi.Fulfilled {
		return fmt.Errorf("bench: a bare cell is %s: %s", out.State, out.Payload)
	}
	return nil
}
