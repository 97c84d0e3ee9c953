package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"codemode/guestabi"
	"codemode/internal/wasmbin"
)

// What the linked module exports for the build alone. The finished guest has none of these.
const (
	initialize = "_initialize"
	buildImage = "codemode-build-image"
)

const (
	wasmPage = 64 << 10
	// Runs of zeroes shorter than this are cheaper to store than a segment's header and the loader's work.
	segmentGap = 4096
)

// freeze starts the engine in the linked module, evaluates the prelude, and returns the module with the memory that
// results as its data. Clock and entropy are fixed, so the same input gives the same bytes.
func freeze(raw, prelude []byte) ([]byte, error) {
	engine := wasmtime.NewEngine()
	module, err := wasmtime.NewModule(engine, raw)
	if err != nil {
		return nil, err
	}
	linker := wasmtime.NewLinker(engine)
	for _, t := range module.Imports() {
		if t.Module() != guestabi.Module {
			return nil, fmt.Errorf("the linked module imports %s %s, which is not the host ABI", t.Module(), *t.Name())
		}
		f := t.Type().FuncType()
		if f == nil {
			return nil, fmt.Errorf("the linked module imports %s, which is not a function", *t.Name())
		}
		if err := linker.FuncNew(t.Module(), *t.Name(), f, fixedImport(*t.Name(), f)); err != nil {
			return nil, err
		}
	}
	store := wasmtime.NewStore(engine)
	defer store.Close()
	instance, err := linker.Instantiate(store, module)
	if err != nil {
		return nil, err
	}
	call := func(name string, args ...any) (any, error) {
		f := instance.GetFunc(store, name)
		if f == nil {
			return nil, fmt.Errorf("the linked module does not export %s", name)
		}
		result, err := f.Call(store, args...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return result, nil
	}
	if _, err := call(initialize); err != nil {
		return nil, err
	}
	pointer, err := call("cabi_realloc", 0, 0, 1, len(prelude)+1)
	if err != nil {
		return nil, err
	}
	memory := instance.GetExport(store, "memory").Memory()
	at := int(pointer.(int32))
	copy(memory.UnsafeData(store)[at:], append(bytes.Clone(prelude), 0))
	if _, err := call(buildImage, at, len(prelude)); err != nil {
		return nil, fmt.Errorf("the prelude does not start: %w", err)
	}
	return rewrite(raw, bytes.Clone(memory.UnsafeData(store)))
}

// fixedImport answers while the image is made: the clock stands still, and nothing may be asked of a catalog.
func fixedImport(name string, f *wasmtime.FuncType) func(*wasmtime.Caller, []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
	return func(_ *wasmtime.Caller, args []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
		switch name {
		case "now":
			return []wasmtime.Val{wasmtime.ValI64(1_700_000_000_000_000_000)}, nil
		case "interrupted":
			return []wasmtime.Val{wasmtime.ValI32(0)}, nil
		}
		return nil, wasmtime.NewTrap("the prelude asks the host for " + name + " while the image is made")
	}
}

// rewrite gives a module another memory: as large as the one given, with its contents as data. The stack, which lies
// first and which nothing uses between calls, is left out.
func rewrite(module, memory []byte) ([]byte, error) {
	sections, err := wasmbin.Sections(module)
	if err != nil {
		return nil, err
	}
	stackTop, err := stackPointer(sections)
	if err != nil {
		return nil, err
	}
	clear(memory[:stackTop])
	data, segments := dataSection(memory)
	var out []wasmbin.Section
	for _, s := range sections {
		switch s.ID {
		case wasmbin.SectionCustom:
			continue // names and producers: not needed, and not the same on every machine
		case wasmbin.SectionStart:
			return nil, errors.New("the linked module has a start function")
		case wasmbin.SectionMemory:
			if len(s.Body) < 2 || s.Body[0] != 1 || s.Body[1] != 0 {
				return nil, errors.New("the linked module does not have one memory without a maximum")
			}
			s.Body = wasmbin.AppendUint([]byte{1, 0}, uint64(len(memory)/wasmPage))
		case wasmbin.SectionExport:
			s.Body, err = wasmbin.KeepExports(s.Body, func(name string) bool {
				return name == "memory" || name == "cabi_realloc" || strings.HasPrefix(name, guestabi.CellPrefix)
			})
			if err != nil {
				return nil, err
			}
		case wasmbin.SectionDataCount:
			s.Body = wasmbin.AppendUint(nil, segments)
		case wasmbin.SectionData:
			s.Body = data
		}
		out = append(out, s)
	}
	return wasmbin.Join(out), nil
}

// stackPointer reads the initial value of the module's only global, which clang's linker makes for the stack pointer.
func stackPointer(sections []wasmbin.Section) (int, error) {
	for _, s := range sections {
		if s.ID != wasmbin.SectionGlobal {
			continue
		}
		const header = "\x01\x7f\x01\x41" // one global, i32, mutable, i32.const
		if !bytes.HasPrefix(s.Body, []byte(header)) {
			break
		}
		var value, shift int
		for _, c := range s.Body[len(header):] {
			value |= int(c&0x7f) << shift
			shift += 7
			if c&0x80 == 0 {
				return value, nil
			}
		}
	}
	return 0, errors.New("the linked module does not have the stack pointer as its only global")
}

// dataSection makes active segments of the parts of memory that are not zero.
func dataSection(memory []byte) (body []byte, segments uint64) {
	var content []byte
	for at := 0; at < len(memory); {
		if memory[at] == 0 {
			at++
			continue
		}
		end, zeroes := at, 0
		for i := at; i < len(memory) && zeroes < segmentGap; i++ {
			if memory[i] == 0 {
				zeroes++
			} else {
				zeroes, end = 0, i+1
			}
		}
		content = append(content, 0, 0x41) // active, in memory 0, at i32.const
		content = wasmbin.AppendInt(content, int64(int32(at)))
		content = append(content, 0x0b)
		content = wasmbin.AppendUint(content, uint64(end-at))
		content = append(content, memory[at:end]...)
		segments++
		at = end
	}
	return append(wasmbin.AppendUint(nil, segments), content...), segments
}
