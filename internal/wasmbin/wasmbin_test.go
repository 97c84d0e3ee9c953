package wasmbin

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInspectReadsImportsAndExports(t *testing.T) {
	module := Join([]Section{
		{SectionType, []byte{2, 0x60, 1, 0x7f, 1, 0x7e, 0x60, 0, 0}},
		{SectionImport, []byte{2, 1, 'm', 1, 'f', 0, 0, 1, 'm', 1, 'g', 3, 0x7f, 0}},
		{SectionFunction, []byte{1, 1}},
		{SectionExport, []byte{2, 1, 'e', 0, 1, 3, 'm', 'e', 'm', 2, 0}},
	})
	got, err := Inspect(module)
	if err != nil {
		t.Fatal(err)
	}
	want := &Interface{
		Imports: []Function{{Module: "m", Name: "f", Signature: Signature{[]string{"i32"}, []string{"i64"}}}},
		Exports: []Function{{Name: "e"}},
		Other:   []string{"import m g", "memory mem"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKeepExports(t *testing.T) {
	body, err := KeepExports([]byte{3, 1, 'a', 0, 0, 1, 'b', 0, 1, 1, 'c', 2, 0}, func(name string) bool { return name != "b" })
	if diff := cmp.Diff([]byte{2, 1, 'a', 0, 0, 1, 'c', 2, 0}, body); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAppendInt(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 20, -(1 << 31), 1<<31 - 1} {
		var got int64
		var shift uint
		for _, c := range AppendInt(nil, v) {
			got |= int64(c&0x7f) << shift
			shift += 7
			if c&0x80 == 0 && c&0x40 != 0 && shift < 64 {
				got |= -1 << shift
			}
		}
		if got != v {
			t.Errorf("%d comes back as %d", v, got)
		}
	}
	if got, n := binary.Uvarint(AppendUint(nil, 300)); got != 300 || n != 2 {
		t.Errorf("AppendUint: %d in %d bytes", got, n)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(Join([]Section{{SectionType, []byte{1, 0x60, 0, 0}}, {SectionExport, []byte{0}}}))
	f.Fuzz(func(t *testing.T, module []byte) {
		sections, err := Sections(module)
		if err != nil {
			return
		}
		Inspect(module)
		again, err := Sections(Join(sections))
		if err != nil || len(again) != len(sections) {
			t.Fatalf("%d sections come back as %d: %v", len(sections), len(again), err)
		}
		for i := range again {
			if again[i].ID != sections[i].ID || !bytes.Equal(again[i].Body, sections[i].Body) {
				t.Fatalf("section %d changed", i)
			}
		}
	})
}
