package quickjs

import (
	"encoding/binary"
	"errors"

	"codemode/internal/wasmbin"
)

// layout is what a guest module says about its memory.
type layout struct {
	memory        []byte // linear memory as a new instance has it
	stack         int    // the guest's own stack is memory[:stack]
	tableElements uint32
}

var errLayout = errors.New("quickjs: the guest module is not an image that `make guest` makes")

// imageLayout reads memory, its data and the stack pointer out of a module that the guest's build has frozen: one
// memory, one global (the stack pointer), one table, active data segments only.
func imageLayout(module []byte) (*layout, error) {
	sections, err := wasmbin.Sections(module)
	if err != nil {
		return nil, err
	}
	l := &layout{}
	for _, s := range sections {
		b := s.Body
		number := func() uint64 {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				b = nil
				return 0
			}
			b = b[n:]
			return v
		}
		constant := func() int { // i32.const n, end
			if len(b) < 3 || b[0] != 0x41 {
				return -1
			}
			b = b[1:]
			v := int(int32(number())) // offsets are positive and below 2 GiB, so the sign bit of LEB128 does not matter
			if len(b) == 0 || b[0] != 0x0b {
				return -1
			}
			b = b[1:]
			return v
		}
		switch s.ID {
		case wasmbin.SectionTable:
			if number() != 1 || len(b) < 2 {
				return nil, errLayout
			}
			b = b[1:] // reference type
			flags := b[0]
			b = b[1:]
			l.tableElements = uint32(number())
			if flags&1 != 0 {
				l.tableElements = max(l.tableElements, uint32(number()))
			}
		case wasmbin.SectionMemory:
			if number() != 1 || len(b) < 2 {
				return nil, errLayout
			}
			b = b[1:] // no maximum
			l.memory = make([]byte, number()*wasmPage)
		case wasmbin.SectionGlobal:
			if number() != 1 || len(b) < 2 {
				return nil, errLayout
			}
			b = b[2:] // i32, mutable
			l.stack = constant()
		case wasmbin.SectionData:
			for range number() {
				if number() != 0 {
					return nil, errLayout
				}
				at := constant()
				size := int(number())
				if at < 0 || size > len(b) || at+size > len(l.memory) {
					return nil, errLayout
				}
				copy(l.memory[at:], b[:size])
				b = b[size:]
			}
		}
	}
	if len(l.memory) == 0 || l.stack <= 0 || l.stack > len(l.memory) {
		return nil, errLayout
	}
	return l, nil
}

const wasmPage = 64 << 10
