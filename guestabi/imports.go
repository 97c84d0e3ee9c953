package guestabi

import (
	"encoding/binary"
	"fmt"

	"codemode/internal/wasmbin"
)

// Slot is one argument or result of a core function, as the engine passes it: the number is in the low bytes.
type Slot [2]uint64

// MaxSlots is room for the arguments of any function of the ABI: 16 flat ones, by the canonical ABI.
const MaxSlots = 16

func (s Slot) u32() uint32 { return uint32(s[0]) }

// Guest is the running guest that calls an import, and what its runtime answers without asking a Bridge.
type Guest interface {
	// Memory is its linear memory now; it may move when the guest allocates.
	Memory() Memory
	// Alloc calls the guest's cabi_realloc for n new bytes.
	Alloc(n uint32) (uint32, error)
	// Now is the time in nanoseconds since the Unix epoch.
	Now() uint64
	// Entropy is eight bytes that a cell cannot guess.
	Entropy() uint64
	// Interrupted says whether the cell must stop.
	Interrupted() bool
	// OutOfMemory is the error that ends a cell to which memory was refused.
	OutOfMemory() error
}

// Import binds one function of the WIT's bridge interface to a Bridge.
type Import struct {
	Name      string
	Signature wasmbin.Signature
	// Call runs the import: arguments in slots, the result in slots[0].
	Call func(g Guest, b Bridge, slots []Slot) error
}

// Module is the name under which a guest imports the bridge.
const Module = "codemode:host/bridge@1.0.0"

// CellPrefix begins the names of the functions that a guest exports.
const CellPrefix = "codemode:host/cell@1.0.0#"

// Imports lists the bindings in the order of the WIT. Package guestabi compares them with it in its own tests and in
// Check.
func Imports() []Import { return imports[:] }

var imports = [...]Import{
	{"call", signature(9), func(g Guest, b Bridge, v []Slot) error {
		m := g.Memory()
		tool, err := m.Text(v[2].u32(), v[3].u32())
		if err != nil {
			return err
		}
		input, err := m.JSON(v[4].u32(), v[5].u32())
		if err != nil {
			return err
		}
		binding, shape := Binding(v[1].u32()), Shape(v[6].u32())
		if binding >= bindings || shape >= shapes {
			return fmt.Errorf("%w: call with binding %d, shape %d", ErrGuest, binding, shape)
		}
		return b.Call(Call{v[0].u32(), binding, tool, input, shape, Site{v[7].u32(), v[8].u32()}})
	}},
	{"search", signature(5), func(g Guest, b Bridge, v []Slot) error {
		query, err := g.Memory().Text(v[1].u32(), v[2].u32())
		if err != nil {
			return err
		}
		surface := Surface(v[4].u32())
		if surface >= surfaces {
			return fmt.Errorf("%w: search on surface %d", ErrGuest, surface)
		}
		return b.Search(v[0].u32(), query, v[3].u32(), surface)
	}},
	{"describe", signature(4), func(g Guest, b Bridge, v []Slot) error {
		tool, err := g.Memory().Text(v[2].u32(), v[3].u32())
		if err != nil {
			return err
		}
		binding := Binding(v[1].u32())
		if binding >= bindings {
			return fmt.Errorf("%w: describe with binding %d", ErrGuest, binding)
		}
		return b.Describe(v[0].u32(), binding, tool)
	}},
	{"cancel", signature(1), func(g Guest, b Bridge, v []Slot) error { return b.Cancel(v[0].u32()) }},
	{"timer", signature(2), func(g Guest, b Bridge, v []Slot) error { return b.Timer(v[0].u32(), v[1].u32()) }},
	{"yield", signature(4), func(g Guest, b Bridge, v []Slot) error {
		switch v[1].u32() {
		case 0:
			return b.Yield(v[0].u32(), nil)
		case 1:
			reason, err := g.Memory().Text(v[2].u32(), v[3].u32())
			if err != nil {
				return err
			}
			return b.Yield(v[0].u32(), &reason)
		}
		return fmt.Errorf("%w: yield with option %d", ErrGuest, v[1].u32())
	}},
	{"text", signature(2), func(g Guest, b Bridge, v []Slot) error {
		text, err := g.Memory().Text(v[0].u32(), v[1].u32())
		if err != nil {
			return err
		}
		return b.Text(text)
	}},
	{"json", signature(2), func(g Guest, b Bridge, v []Slot) error {
		value, err := g.Memory().JSON(v[0].u32(), v[1].u32())
		if err != nil {
			return err
		}
		return b.JSON(value)
	}},
	{"resolve", signature(3), func(g Guest, b Bridge, v []Slot) error {
		path, err := g.Memory().Text(v[0].u32(), v[1].u32())
		if err != nil {
			return err
		}
		node, ok := b.Resolve(path)
		return giveNode(g, v[2].u32(), node, ok)
	}},
	{"names", signature(3), func(g Guest, b Bridge, v []Slot) error {
		path, err := g.Memory().Text(v[0].u32(), v[1].u32())
		if err != nil {
			return err
		}
		return giveString(g, v[2].u32(), b.Names(path))
	}},
	{"entries", signature(2), func(g Guest, b Bridge, v []Slot) error {
		listing := Listing(v[0].u32())
		if listing >= listings {
			return fmt.Errorf("%w: listing %d", ErrGuest, listing)
		}
		return giveString(g, v[1].u32(), b.Entries(listing))
	}},
	{"files", signature(3), func(g Guest, b Bridge, v []Slot) error {
		prefix, err := g.Memory().Text(v[0].u32(), v[1].u32())
		if err != nil {
			return err
		}
		list, ok := b.Files(prefix)
		return giveOption(g, v[2].u32(), list, ok)
	}},
	{"file", signature(3), func(g Guest, b Bridge, v []Slot) error {
		path, err := g.Memory().Text(v[0].u32(), v[1].u32())
		if err != nil {
			return err
		}
		file, ok := b.File(path)
		return giveOption(g, v[2].u32(), file, ok)
	}},
	{"save", signature(3), func(g Guest, b Bridge, v []Slot) error {
		value, err := g.Memory().JSON(v[1].u32(), v[2].u32())
		if err != nil {
			return err
		}
		return b.Save(v[0].u32(), value)
	}},
	{"load", signature(3), func(g Guest, b Bridge, v []Slot) error {
		reference, err := g.Memory().Text(v[1].u32(), v[2].u32())
		if err != nil {
			return err
		}
		return b.Load(v[0].u32(), reference)
	}},
	{"drop", signature(3), func(g Guest, b Bridge, v []Slot) error {
		reference, err := g.Memory().Text(v[1].u32(), v[2].u32())
		if err != nil {
			return err
		}
		return b.Drop(v[0].u32(), reference)
	}},
	{"now", signature(0, "i64"), func(g Guest, b Bridge, v []Slot) error {
		v[0] = Slot{g.Now()}
		return nil
	}},
	{"entropy", signature(0, "i64"), func(g Guest, b Bridge, v []Slot) error {
		v[0] = Slot{g.Entropy()}
		return nil
	}},
	{"interrupted", signature(0, "i32"), func(g Guest, b Bridge, v []Slot) error {
		v[0] = Slot{}
		if g.Interrupted() {
			v[0] = Slot{1}
		}
		return nil
	}},
	{"out-of-memory", signature(0), func(g Guest, b Bridge, v []Slot) error { return g.OutOfMemory() }},
}

// signature is params numbers of type i32 in, results out: no import takes anything else.
func signature(params int, results ...string) wasmbin.Signature {
	s := wasmbin.Signature{Results: results}
	for range params {
		s.Params = append(s.Params, "i32")
	}
	return s
}

// give copies text into new memory of the guest.
func give(g Guest, text string) (pointer, length uint32, err error) {
	if text == "" {
		return 1, 0, nil // the canonical ABI wants an aligned pointer, and any will do
	}
	pointer, err = g.Alloc(uint32(len(text)))
	if err != nil {
		return 0, 0, err
	}
	b, err := g.Memory().Bytes(pointer, uint32(len(text)))
	if err != nil {
		return 0, 0, err
	}
	copy(b, text)
	return pointer, uint32(len(text)), nil
}

func giveString(g Guest, at uint32, text string) error {
	pointer, length, err := give(g, text)
	if err != nil {
		return err
	}
	b, err := g.Memory().Bytes(at, 8)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b, pointer)
	binary.LittleEndian.PutUint32(b[4:], length)
	return nil
}

// giveNode writes an option<node>: whether there is one, the two enums, and the two strings.
func giveNode(g Guest, at uint32, n Node, some bool) error {
	if some {
		if err := giveString(g, at+8, n.Name); err != nil {
			return err
		}
		if err := giveString(g, at+16, n.Data); err != nil {
			return err
		}
	}
	b, err := g.Memory().Bytes(at, 24)
	if err != nil {
		return err
	}
	b[0] = 0
	if some {
		b[0], b[4], b[5] = 1, byte(n.Standing), byte(n.Binding)
	}
	return nil
}

func giveOption(g Guest, at uint32, text string, some bool) error {
	if some {
		if err := giveString(g, at+4, text); err != nil {
			return err
		}
	}
	b, err := g.Memory().Bytes(at, 12)
	if err != nil {
		return err
	}
	b[0] = 0
	if some {
		b[0] = 1
	}
	return nil
}
