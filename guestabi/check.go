package guestabi

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"codemode/internal/wasmbin"
	"codemode/wit"
)

// Row compares one function of the ABI in the three places where it stands. An empty signature says that it is missing.
type Row struct {
	Direction string // "import" or "export", as the guest sees it
	Name      string // with its interface: "codemode:host/bridge@1.0.0#call"
	WIT       string // the signature that the WIT lowers to
	Guest     string // what the module has
	Host      string // what the Go bindings have
}

// OK says whether the three agree.
func (r Row) OK() bool { return r.WIT != "" && r.WIT == r.Guest && r.WIT == r.Host }

// Report is the comparison of a guest module, the WIT and the Go bindings.
type Report struct{ Rows []Row }

// OK says whether every function agrees and none is left over.
func (r *Report) OK() bool {
	for _, row := range r.Rows {
		if !row.OK() {
			return false
		}
	}
	return true
}

// Differences lists the rows that do not agree.
func (r *Report) Differences() []Row {
	var out []Row
	for _, row := range r.Rows {
		if !row.OK() {
			out = append(out, row)
		}
	}
	return out
}

// String draws the report as a table.
func (r *Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tdirection\tfunction\tsignature")
	for _, row := range r.Rows {
		if row.OK() {
			fmt.Fprintf(w, "ok\t%s\t%s\t%s\n", row.Direction, row.Name, row.WIT)
			continue
		}
		fmt.Fprintf(w, "DIFFERS\t%s\t%s\tWIT %s; guest %s; host %s\n", row.Direction, row.Name,
			orMissing(row.WIT), orMissing(row.Guest), orMissing(row.Host))
	}
	w.Flush()
	return b.String()
}

func orMissing(s string) string {
	if s == "" {
		return "has none"
	}
	return s
}

// Exports lists the functions that this host calls in a guest, beside cabi_realloc, in the order of the WIT.
var Exports = []struct {
	Name      string
	Signature wasmbin.Signature
}{
	{"run", wasmbin.Signature{Params: []string{"i32", "i32", "i64", "i32", "i32"}, Results: []string{"i32"}}},
	{"settle", wasmbin.Signature{Params: []string{"i32", "i32", "i32", "i32"}, Results: []string{"i32"}}},
	{"reseed", wasmbin.Signature{Params: []string{"i64"}}},
	{"rejections", wasmbin.Signature{Results: []string{"i32"}}},
	{"position", wasmbin.Signature{Results: []string{"i32"}}},
}

// What the canonical ABI asks of a guest beside the WIT's functions.
const (
	realloc          = "cabi_realloc"
	reallocSignature = "(i32, i32, i32, i32) -> (i32)"
	memoryExport     = "memory memory"
)

// Check compares a guest module with the WIT and with the bindings of this package, name by name and signature by
// signature. The error says that module is not one that can be read; a difference is in the report.
func Check(module []byte) (*Report, error) {
	guest, err := wasmbin.Inspect(module)
	if err != nil {
		return nil, err
	}
	file, err := wit.Parse(wit.Source)
	if err != nil {
		return nil, err
	}
	t := table{index: map[string]int{}}
	for _, f := range file.Imports() {
		t.row("import", f.Interface.Module()+"#"+f.Name).WIT = f.LowerImport().String()
	}
	for _, f := range file.Exports() {
		t.row("export", f.Interface.Module()+"#"+f.Name).WIT = f.LowerExport().String()
	}
	t.row("export", realloc).WIT = reallocSignature
	t.row("export", memoryExport).WIT = "memory"

	for _, f := range guest.Imports {
		t.row("import", f.Module+"#"+f.Name).Guest = f.Signature.String()
	}
	for _, f := range guest.Exports {
		t.row("export", f.Name).Guest = f.Signature.String()
	}
	for _, other := range guest.Other {
		direction := "export"
		if name, ok := strings.CutPrefix(other, "import "); ok {
			direction, other = "import", name
		}
		kind, _, _ := strings.Cut(other, " ")
		t.row(direction, other).Guest = kind
	}

	for _, f := range imports {
		t.row("import", Module+"#"+f.Name).Host = f.Signature.String()
	}
	for _, f := range Exports {
		t.row("export", CellPrefix+f.Name).Host = f.Signature.String()
	}
	t.row("export", realloc).Host = reallocSignature
	t.row("export", memoryExport).Host = "memory"
	return &Report{t.rows}, nil
}

// table finds the row of a function or adds it.
type table struct {
	rows  []Row
	index map[string]int
}

func (t *table) row(direction, name string) *Row {
	key := direction + " " + name
	i, ok := t.index[key]
	if !ok {
		i = len(t.rows)
		t.index[key] = i
		t.rows = append(t.rows, Row{Direction: direction, Name: name})
	}
	return &t.rows[i]
}
