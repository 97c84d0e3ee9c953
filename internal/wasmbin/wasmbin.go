// Package wasmbin reads the sections of a WebAssembly core module and writes them anew: as much of the binary format
// as auditing imports and exports and freezing an image need, and no more.
//
// Source of the rules: WebAssembly Core Specification 2.0, chapter 5 (binary format).
package wasmbin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// SectionID is the number of a section in the binary format.
type SectionID byte

// The sections that this package looks into.
const (
	SectionCustom    SectionID = 0
	SectionType      SectionID = 1
	SectionImport    SectionID = 2
	SectionFunction  SectionID = 3
	SectionTable     SectionID = 4
	SectionMemory    SectionID = 5
	SectionGlobal    SectionID = 6
	SectionExport    SectionID = 7
	SectionStart     SectionID = 8
	SectionData      SectionID = 11
	SectionDataCount SectionID = 12
)

// Section is one section with its contents as they stand in the binary.
type Section struct {
	ID   SectionID
	Body []byte
}

// Signature is a function type, with the names of the text format: i32, i64, f32, f64.
type Signature struct{ Params, Results []string }

// String writes the signature as "(i32, i64) -> (i32)".
func (s Signature) String() string {
	return "(" + strings.Join(s.Params, ", ") + ") -> (" + strings.Join(s.Results, ", ") + ")"
}

// Function is an imported or exported function. Module is empty for an export.
type Function struct {
	Module, Name string
	Signature    Signature
}

// Interface is what a module asks of its host and offers to it.
type Interface struct {
	Imports []Function
	Exports []Function
	// Other names the imports and exports that are not functions, as "memory memory".
	Other []string
}

var magic = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// Sections splits a module. The bodies share memory with module.
func Sections(module []byte) ([]Section, error) {
	if !bytes.HasPrefix(module, magic) {
		return nil, errors.New("wasmbin: not a WebAssembly core module")
	}
	r := &reader{data: module[len(magic):]}
	var sections []Section
	for r.more() {
		id := SectionID(r.byte())
		body := r.take(int(r.uint()))
		if r.err != nil {
			return nil, r.err
		}
		sections = append(sections, Section{id, body})
	}
	return sections, nil
}

// Join makes a module of sections.
func Join(sections []Section) []byte {
	out := bytes.Clone(magic)
	for _, s := range sections {
		out = append(out, byte(s.ID))
		out = AppendUint(out, uint64(len(s.Body)))
		out = append(out, s.Body...)
	}
	return out
}

// AppendUint appends an unsigned LEB128 number.
func AppendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendInt appends a signed LEB128 number.
func AppendInt(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Inspect reads a module's imports and exports.
func Inspect(module []byte) (*Interface, error) {
	sections, err := Sections(module)
	if err != nil {
		return nil, err
	}
	var (
		found     Interface
		types     []Signature
		functions []uint64 // type index of each function, imports first
	)
	for _, s := range sections {
		r := &reader{data: s.Body}
		switch s.ID {
		case SectionType:
			for range r.count() {
				if form := r.byte(); form != 0x60 && r.err == nil {
					return nil, fmt.Errorf("wasmbin: type form %#x is not a function", form)
				}
				types = append(types, Signature{r.types(), r.types()})
			}
		case SectionImport:
			for range r.count() {
				module, name := r.string(), r.string()
				kind := r.byte()
				if kind == kindFunction {
					index := r.uint()
					functions = append(functions, index)
					if r.err == nil && index >= uint64(len(types)) {
						return nil, errors.New("wasmbin: an import's type is out of range")
					}
					if r.err == nil {
						found.Imports = append(found.Imports, Function{module, name, types[index]})
					}
					continue
				}
				found.Other = append(found.Other, "import "+module+" "+name)
				r.skipImport(kind)
			}
		case SectionFunction:
			for range r.count() {
				functions = append(functions, r.uint())
			}
		case SectionExport:
			for range r.count() {
				name, kind, index := r.string(), r.byte(), r.uint()
				if r.err != nil {
					break
				}
				if kind != kindFunction {
					found.Other = append(found.Other, kindName(kind)+" "+name)
					continue
				}
				if index >= uint64(len(functions)) || functions[index] >= uint64(len(types)) {
					return nil, fmt.Errorf("wasmbin: export %q is out of range", name)
				}
				found.Exports = append(found.Exports, Function{Name: name, Signature: types[functions[index]]})
			}
		}
		if r.err != nil {
			return nil, fmt.Errorf("wasmbin: section %d: %w", s.ID, r.err)
		}
	}
	return &found, nil
}

// KeepExports rewrites an export section so that only the exports for which keep says true are left.
func KeepExports(body []byte, keep func(name string) bool) ([]byte, error) {
	r := &reader{data: body}
	var kept []byte
	var n uint64
	for range r.count() {
		start := r.at
		name := r.string()
		r.byte()
		r.uint()
		if r.err == nil && keep(name) {
			kept = append(kept, body[start:r.at]...)
			n++
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return append(AppendUint(nil, n), kept...), nil
}

const kindFunction = 0

func kindName(kind byte) string {
	return [...]string{"function", "table", "memory", "global", "tag"}[min(int(kind), 4)]
}

// reader walks a section; the first error stays.
type reader struct {
	data []byte
	at   int
	err  error
}

var errShort = errors.New("wasmbin: the module ends too early")

func (r *reader) more() bool { return r.err == nil && r.at < len(r.data) }

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.data)-r.at {
		if r.err == nil {
			r.err = errShort
		}
		return nil
	}
	b := r.data[r.at : r.at+n]
	r.at += n
	return b
}

func (r *reader) uint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 || v > 1<<32-1 {
		r.err = errShort
		return 0
	}
	r.at += n
	return v
}

// count reads the length of a vector, which cannot have more items than bytes are left.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.data)-r.at) {
		r.err = errShort
		return 0
	}
	return int(n)
}

func (r *reader) string() string { return string(r.take(int(r.uint()))) }

func (r *reader) types() []string {
	var out []string
	for range r.count() {
		out = append(out, typeName(r.byte()))
	}
	return out
}

func (r *reader) skipImport(kind byte) {
	switch kind {
	case 1: // table: reference type, limits
		r.byte()
		r.limits()
	case 2:
		r.limits()
	case 3: // global: type, mutability
		r.take(2)
	case 4: // tag: attribute, type
		r.byte()
		r.uint()
	default:
		r.err = fmt.Errorf("wasmbin: import kind %d", kind)
	}
}

func (r *reader) limits() {
	flags := r.byte()
	r.uint()
	if flags&1 != 0 {
		r.uint()
	}
}

func typeName(code byte) string {
	switch code {
	case 0x7f:
		return "i32"
	case 0x7e:
		return "i64"
	case 0x7d:
		return "f32"
	case 0x7c:
		return "f64"
	case 0x7b:
		return "v128"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	}
	return fmt.Sprintf("type %#x", code)
}
