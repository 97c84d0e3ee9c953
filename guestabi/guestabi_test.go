package guestabi

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codemode/internal/wasmbin"
	"codemode/wit"
)

// The bindings are those of the WIT, in its order.
func TestTheBindingsAreTheWITs(t *testing.T) {
	file, err := wit.Parse(wit.Source)
	if err != nil {
		t.Fatal(err)
	}
	var want, got [][2]string
	for _, f := range file.Imports() {
		if f.Interface.Module() != Module {
			t.Errorf("%s is in %s", f.Name, f.Interface.Module())
		}
		want = append(want, [2]string{f.Name, f.LowerImport().String()})
	}
	for _, i := range Imports() {
		got = append(got, [2]string{i.Name, i.Signature.String()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("imports (-WIT +bindings):\n%s", diff)
	}
	want, got = nil, nil
	for _, f := range file.Exports() {
		want = append(want, [2]string{f.Interface.Module() + "#" + f.Name, f.LowerExport().String()})
	}
	for _, e := range Exports {
		got = append(got, [2]string{CellPrefix + e.Name, e.Signature.String()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exports (-WIT +bindings):\n%s", diff)
	}
}

// fakeGuest is a guest of nothing but memory.
type fakeGuest struct {
	memory []byte
	next   uint32 // what Alloc gives
	oom    bool
}

func (g *fakeGuest) Memory() Memory { return g.memory }
func (g *fakeGuest) Alloc(n uint32) (uint32, error) {
	at := g.next
	g.next += n
	return at, nil
}
func (g *fakeGuest) Now() uint64       { return 42 }
func (g *fakeGuest) Entropy() uint64   { return 43 }
func (g *fakeGuest) Interrupted() bool { return true }
func (g *fakeGuest) OutOfMemory() error {
	g.oom = true
	return errors.New("out of memory")
}

// log is a bridge that writes down what reaches it.
type log []string

func (l *log) add(v ...any) error {
	text, err := json.Marshal(v)
	*l = append(*l, string(text))
	return err
}
func (l *log) Call(c Call) error {
	return l.add("call", c.ID, c.Binding, c.Tool, c.Input, c.Shape, c.Site)
}
func (l *log) Search(id uint32, query string, limit uint32, s Surface) error {
	return l.add("search", id, query, limit, s)
}
func (l *log) Describe(id uint32, b Binding, tool string) error {
	return l.add("describe", id, b, tool)
}
func (l *log) Cancel(id uint32) error                { return l.add("cancel", id) }
func (l *log) Timer(id, ms uint32) error             { return l.add("timer", id, ms) }
func (l *log) Yield(id uint32, reason *string) error { return l.add("yield", id, reason) }
func (l *log) Text(v string) error                   { return l.add("text", v) }
func (l *log) JSON(v json.RawMessage) error          { return l.add("json", v) }
func (l *log) Resolve(path string) (Node, bool) {
	l.add("resolve", path)
	return Node{StandingValue, ByPath, "yes", "{}"}, path == "yes"
}
func (l *log) Names(path string) string                { l.add("names", path); return "[]" }
func (l *log) Entries(i Listing) string                { l.add("entries", i); return "" }
func (l *log) Files(p string) (string, bool)           { l.add("files", p); return "[]", true }
func (l *log) File(p string) (string, bool)            { l.add("file", p); return "", false }
func (l *log) Save(id uint32, v json.RawMessage) error { return l.add("save", id, v) }
func (l *log) Load(id uint32, r string) error          { return l.add("load", id, r) }
func (l *log) Drop(id uint32, r string) error          { return l.add("drop", id, r) }

func call(name string, g *fakeGuest, b Bridge, args ...uint32) ([]Slot, error) {
	for _, i := range Imports() {
		if i.Name == name {
			slots := make([]Slot, max(len(i.Signature.Params), 1))
			for k, a := range args {
				slots[k] = Slot{uint64(a)}
			}
			return slots, i.Call(g, b, slots)
		}
	}
	panic("no import " + name)
}

func TestImports(t *testing.T) {
	memory := func() []byte {
		m := make([]byte, 4096)
		copy(m[100:], "tool")
		copy(m[200:], `{"a":1}`)
		copy(m[300:], "\xff\xfe")
		copy(m[400:], "yes")
		return m
	}
	for _, test := range []struct {
		name string
		args []uint32
		want string // the call that arrives, or part of the error
	}{
		{"call", []uint32{1, 0, 100, 4, 200, 7, 1, 3, 9}, `["call",1,0,"tool",{"a":1},1,{"Line":3,"Column":9}]`},
		{"call", []uint32{1, 3, 100, 4, 200, 7, 1, 3, 9}, "binding 3"},
		{"call", []uint32{1, 0, 100, 4, 200, 7, 2, 3, 9}, "shape 2"},
		{"call", []uint32{1, 0, 100, 4, 100, 4, 1, 3, 9}, "not JSON"},
		{"call", []uint32{1, 0, 300, 2, 200, 7, 1, 3, 9}, "not UTF-8"},
		{"call", []uint32{1, 0, 4095, 2, 200, 7, 1, 3, 9}, "outside its memory"},
		{"call", []uint32{1, 0, 0xffffffff, 0xffffffff, 200, 7, 1, 3, 9}, "outside its memory"},
		{"search", []uint32{1, 100, 4, 5, 1}, `["search",1,"tool",5,1]`},
		{"search", []uint32{1, 100, 4, 5, 2}, "surface 2"},
		{"describe", []uint32{1, 2, 100, 4}, `["describe",1,2,"tool"]`},
		{"describe", []uint32{1, 7, 100, 4}, "binding 7"},
		{"cancel", []uint32{9}, `["cancel",9]`},
		{"timer", []uint32{9, 10}, `["timer",9,10]`},
		{"yield", []uint32{1, 0, 0, 0}, `["yield",1,null]`},
		{"yield", []uint32{1, 1, 100, 4}, `["yield",1,"tool"]`},
		{"yield", []uint32{1, 2, 100, 4}, "option 2"},
		{"text", []uint32{100, 4}, `["text","tool"]`},
		{"text", []uint32{0, 0}, `["text",""]`},
		{"text", []uint32{4096, 0}, `["text",""]`},
		{"text", []uint32{4096, 1}, "outside its memory"},
		{"json", []uint32{200, 7}, `["json",{"a":1}]`},
		{"json", []uint32{200, 6}, "not JSON"},
		{"json", []uint32{0, 0}, "not JSON"},
		{"resolve", []uint32{400, 3, 1000}, `["resolve","yes"]`},
		{"resolve", []uint32{400, 3, 4090}, "outside its memory"},
		{"entries", []uint32{2, 1000}, "listing 2"},
		{"entries", []uint32{1, 1000}, `["entries",1]`},
		{"save", []uint32{1, 200, 7}, `["save",1,{"a":1}]`},
		{"load", []uint32{1, 100, 4}, `["load",1,"tool"]`},
		{"drop", []uint32{1, 100, 4}, `["drop",1,"tool"]`},
	} {
		var got log
		_, err := call(test.name, &fakeGuest{memory: memory(), next: 2048}, &got, test.args...)
		line := strings.Join(got, " ")
		if err != nil {
			line = err.Error()
			if !errors.Is(err, ErrGuest) {
				t.Errorf("%s %v: %v does not wrap ErrGuest", test.name, test.args, err)
			}
		}
		if !strings.Contains(line, test.want) {
			t.Errorf("%s %v: %s, want %s", test.name, test.args, line, test.want)
		}
	}
}

func TestAnswersAreWrittenToTheGuest(t *testing.T) {
	g := &fakeGuest{memory: make([]byte, 4096), next: 2048}
	copy(g.memory[400:], "yes")
	var b log
	if _, err := call("resolve", g, &b, 400, 3, 1000); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]byte{1, 0, 0, 0, 2, 2, 0, 0, 0, 8, 0, 0, 3, 0, 0, 0, 3, 8, 0, 0, 2, 0, 0, 0}, g.memory[1000:1024]); diff != "" {
		t.Errorf("option<node> (-want +got):\n%s", diff)
	}
	if got := string(g.memory[2048:2053]); got != "yes{}" {
		t.Errorf("the node's text: %q", got)
	}
	if _, err := call("resolve", g, &b, 400, 2, 1000); err != nil || g.memory[1000] != 0 {
		t.Errorf("none: % x %v", g.memory[1000:1012], err)
	}
	// An allocator that gives a pointer outside memory must not be believed.
	g.next = 5000
	if _, err := call("resolve", g, &b, 400, 3, 1000); !errors.Is(err, ErrGuest) {
		t.Errorf("a wild pointer: %v", err)
	}
	if slots, err := call("now", g, &b); err != nil || slots[0][0] != 42 {
		t.Errorf("now: %v %v", slots, err)
	}
	if slots, err := call("entropy", g, &b); err != nil || slots[0][0] != 43 {
		t.Errorf("entropy: %v %v", slots, err)
	}
	if slots, err := call("interrupted", g, &b); err != nil || slots[0][0] != 1 {
		t.Errorf("interrupted: %v %v", slots, err)
	}
	if _, err := call("out-of-memory", g, &b); err == nil || !g.oom {
		t.Errorf("out-of-memory: %v", err)
	}
}

func TestOutcome(t *testing.T) {
	memory := func(state, truncated byte, pointer, length uint32) Memory {
		m := make([]byte, 256)
		m[16], m[17] = state, truncated
		binary.LittleEndian.PutUint32(m[20:], 3)
		binary.LittleEndian.PutUint32(m[24:], pointer)
		binary.LittleEndian.PutUint32(m[28:], length)
		copy(m[100:], `{"a":1}`)
		return m
	}
	got, err := memory(1, 0, 100, 7).Outcome(16)
	if diff := cmp.Diff(Outcome{State: Fulfilled, Payload: []byte(`{"a":1}`), Rejections: 3}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, m := range map[string]Memory{
		"state":     memory(4, 0, 100, 7),
		"truncated": memory(1, 2, 100, 7),
		"pointer":   memory(1, 0, 250, 7),
		"not JSON":  memory(1, 0, 100, 6),
		"short":     make(Memory, 20),
	} {
		if _, err := m.Outcome(16); !errors.Is(err, ErrGuest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := memory(1, 1, 100, 6).Outcome(16); err != nil || !got.Truncated {
		t.Errorf("a prefix need not be JSON: %v %v", got, err)
	}
}

// Whatever a guest passes, the host neither panics nor reads outside the guest's memory.
func FuzzImports(f *testing.F) {
	f.Add(uint8(0), uint32(1), uint32(0), uint32(100), uint32(4), uint32(200), uint32(7), uint32(1), []byte(`tool{"a":1}`))
	f.Add(uint8(8), uint32(0xffffffff), uint32(0xffffffff), uint32(0xffffffff), uint32(0), uint32(0), uint32(0), uint32(0), []byte{0xff})
	f.Fuzz(func(t *testing.T, which uint8, a, b, c, d, e, g, h uint32, content []byte) {
		list := Imports()
		i := list[int(which)%len(list)]
		slots := make([]Slot, max(len(i.Signature.Params), 1))
		for k, v := range []uint32{a, b, c, d, e, g, h} {
			if k < len(slots) {
				slots[k] = Slot{uint64(v)}
			}
		}
		guest := &fakeGuest{memory: append(content, make([]byte, 64)...), next: d}
		var bridge log
		if err := i.Call(guest, &bridge, slots); err != nil && !errors.Is(err, ErrGuest) && !guest.oom {
			t.Errorf("%s: %v", i.Name, err)
		}
		guest.Memory().Outcome(a)
		guest.Memory().Result(b)
	})
}

func TestCheckSeesEveryDifference(t *testing.T) {
	good := module(t, func(imports, exports []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function) {
		return imports, exports
	})
	report, err := Check(good)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK() {
		t.Fatalf("the ABI differs from itself:\n%s", report)
	}
	for name, change := range map[string]func(imports, exports []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function){
		"an import fewer": func(i, e []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function) { return i[1:], e },
		"an import more": func(i, e []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function) {
			return append(i, wasmbin.Function{Module: "wasi_snapshot_preview1", Name: "fd_write"}), e
		},
		"an export fewer": func(i, e []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function) { return i, e[1:] },
		"an export more": func(i, e []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function) {
			return i, append(e, wasmbin.Function{Name: "_initialize"})
		},
		"another signature": func(i, e []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function) {
			i[0].Signature.Results = []string{"i32"}
			return i, e
		},
		"another name": func(i, e []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function) {
			i[0].Module = "codemode:host/bridge@2.0.0"
			return i, e
		},
	} {
		report, err := Check(module(t, change))
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() || !strings.Contains(report.String(), "DIFFERS") {
			t.Errorf("%s is not seen:\n%s", name, report)
		}
	}
	if _, err := Check([]byte("not wasm")); err == nil {
		t.Error("text was taken for a module")
	}
}

// module makes a module of no code with the ABI's imports and exports, changed.
func module(t *testing.T, change func(imports, exports []wasmbin.Function) ([]wasmbin.Function, []wasmbin.Function)) []byte {
	t.Helper()
	file, err := wit.Parse(wit.Source)
	if err != nil {
		t.Fatal(err)
	}
	var imports, exports []wasmbin.Function
	for _, f := range file.Imports() {
		imports = append(imports, wasmbin.Function{Module: f.Interface.Module(), Name: f.Name, Signature: f.LowerImport()})
	}
	for _, f := range file.Exports() {
		exports = append(exports, wasmbin.Function{Name: f.Interface.Module() + "#" + f.Name, Signature: f.LowerExport()})
	}
	exports = append(exports, wasmbin.Function{Name: "cabi_realloc", Signature: wasmbin.Signature{Params: []string{"i32", "i32", "i32", "i32"}, Results: []string{"i32"}}})
	imports, exports = change(imports, exports)

	text := func(b []byte, s string) []byte { return append(wasmbin.AppendUint(b, uint64(len(s))), s...) }
	codes := map[string]byte{"i32": 0x7f, "i64": 0x7e}
	types, importBody, functionBody, exportBody := []byte{}, []byte{}, []byte{}, []byte{}
	n := 0
	addType := func(s wasmbin.Signature) uint64 {
		types = append(types, 0x60)
		for _, list := range [][]string{s.Params, s.Results} {
			types = wasmbin.AppendUint(types, uint64(len(list)))
			for _, name := range list {
				types = append(types, codes[name])
			}
		}
		n++
		return uint64(n - 1)
	}
	for _, f := range imports {
		importBody = append(text(text(importBody, f.Module), f.Name), 0)
		importBody = wasmbin.AppendUint(importBody, addType(f.Signature))
	}
	for k, f := range exports {
		functionBody = wasmbin.AppendUint(functionBody, addType(f.Signature))
		exportBody = append(text(exportBody, f.Name), 0)
		exportBody = wasmbin.AppendUint(exportBody, uint64(len(imports)+k))
	}
	exportBody = append(text(exportBody, "memory"), 2, 0)
	vector := func(count int, body []byte) []byte { return append(wasmbin.AppendUint(nil, uint64(count)), body...) }
	return wasmbin.Join([]wasmbin.Section{
		{ID: wasmbin.SectionType, Body: vector(n, types)},
		{ID: wasmbin.SectionImport, Body: vector(len(imports), importBody)},
		{ID: wasmbin.SectionFunction, Body: vector(len(exports), functionBody)},
		{ID: wasmbin.SectionMemory, Body: []byte{1, 0, 1}},
		{ID: wasmbin.SectionExport, Body: vector(len(exports)+1, exportBody)},
	})
}
