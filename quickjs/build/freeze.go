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
	buildStart = "codemode-build-start"
	buildEnd   = "codemode-build-end"
)

// trial is a cell that is run before the memory is frozen, so that what the engine sets up when it is first used is in
// the image and not in every cell's snapshot: shapes, atoms, the pages of its allocator.
const trial = `
const value = await trial({q: "a"});
const [a, b] = await Promise.all([tools.trial({n: 1, list: [1, "two"]}), tools.call("trial", {})]);
try { null.x } catch (e) { console.log(e.message, {a}) }
text(JSON.stringify(Object.getOwnPropertyNames(globalThis).filter((n) => typeof n === "string").sort())); json({b});
const m = new Map([["k", 1]]), s = new Set([1]);
for (const x of [3, 1, 2].sort().map((n) => n + 1).filter(Boolean)) m.set(x, ` + "`${x}`" + `);
return {n: value.n + 1, m, s, list: [1.5, true, null, ...s]}`

const (
	wasmPage = 64 << 10
	// Runs of zeroes shorter than this are cheaper to store than a segment's header and the loader's work.
	segmentGap = 4096
)

// freeze starts the engine in the linked module, evaluates the prelude, runs a trial cell, and returns the module with
// the memory that results as its data, and the names of the engine's globals, which no tool may take. Clock and entropy are fixed, so the same input gives the same bytes.
func freeze(raw, prelude []byte) (image []byte, globals []string, err error) {
	engine := wasmtime.NewEngine()
	module, err := wasmtime.NewModule(engine, raw)
	if err != nil {
		return nil, nil, err
	}
	store := wasmtime.NewStore(engine)
	defer store.Close()
	g := &guest{store: store}
	linker := wasmtime.NewLinker(engine)
	bound := map[string]guestabi.Import{}
	for _, i := range guestabi.Imports() {
		bound[i.Name] = i
	}
	for _, t := range module.Imports() {
		i, ok := bound[*t.Name()]
		if !ok || t.Module() != guestabi.Module || t.Type().FuncType() == nil {
			return nil, nil, fmt.Errorf("the linked module imports %s %s, which is not in the host ABI", t.Module(), *t.Name())
		}
		if err := linker.FuncNew(t.Module(), i.Name, t.Type().FuncType(), g.binding(i)); err != nil {
			return nil, nil, err
		}
	}
	if g.instance, err = linker.Instantiate(store, module); err != nil {
		return nil, nil, err
	}
	if _, err := g.call(initialize); err != nil {
		return nil, nil, err
	}
	at, err := g.write(prelude)
	if err != nil {
		return nil, nil, err
	}
	if _, err := g.call(buildStart, at, int32(len(prelude))); err != nil {
		return nil, nil, fmt.Errorf("the prelude does not start: %w", err)
	}
	if err := g.trial(); err != nil {
		return nil, nil, fmt.Errorf("the trial cell: %w", err)
	}
	if _, err := g.call(buildEnd); err != nil {
		return nil, nil, err
	}
	if len(g.globals) == 0 {
		return nil, nil, errors.New("the trial cell did not name the engine's globals")
	}
	image, err = rewrite(raw, bytes.Clone(g.Memory()))
	return image, g.globals, err
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
