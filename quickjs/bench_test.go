package quickjs

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkRun(b *testing.B) {
	r := &recorder{}
	e := engine(b)
	for b.Loop() {
		vm, err := e.NewVM(b.Context(), r, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := vm.Run("return 1+2"); err != nil {
			b.Fatal(err)
		}
		vm.Close()
	}
}

func BenchmarkSuspend(b *testing.B) {
	r := &recorder{}
	e := engine(b)
	size := 0
	for b.Loop() {
		r.calls, r.resolved = r.calls[:0], r.resolved[:0]
		vm, err := e.NewVM(b.Context(), r, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := vm.Run("const r = await echo({q:'a'}); return r.n+1;"); err != nil {
			b.Fatal(err)
		}
		s, err := vm.Suspend(CodecS2)
		if err != nil {
			b.Fatal(err)
		}
		size = s.Size()
	}
	b.ReportMetric(float64(size), "B/snapshot")
}

func BenchmarkRestore(b *testing.B) {
	r := &recorder{}
	e := engine(b)
	vm := newVM(b, r, Options{})
	if _, err := vm.Run("const r = await echo({q:'a'}); return r.n+1;"); err != nil {
		b.Fatal(err)
	}
	s, err := vm.Suspend(CodecS2)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		vm, err := e.Restore(b.Context(), s, r, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if out, err := vm.Settle(1, true, []byte(`{"n":41}`)); err != nil || show(out) != "fulfilled 42" {
			b.Fatal(show(out), err)
		}
		vm.Close()
	}
}

func BenchmarkSettle(b *testing.B) {
	r := &recorder{}
	vm := newVM(b, r, Options{})
	if _, err := vm.Run("for (;;) await echo({i: 1})"); err != nil {
		b.Fatal(err)
	}
	id := uint32(0)
	for b.Loop() {
		id++
		r.calls = r.calls[:0]
		if _, err := vm.Settle(id, true, []byte(`{"n":41}`)); err != nil {
			b.Fatal(err)
		}
	}
}

// What a step costs without a tool call in it.
func BenchmarkSettleTimer(b *testing.B) {
	r := &recorder{}
	vm := newVM(b, r, Options{})
	if _, err := vm.Run("for (;;) await new Promise(r => setTimeout(r, 0))"); err != nil {
		b.Fatal(err)
	}
	id := uint32(0)
	for b.Loop() {
		id++
		if _, err := vm.Settle(id, true, []byte(`null`)); err != nil {
			b.Fatal(err)
		}
	}
}

// What a megabyte costs on its way out of the guest and into it.
func BenchmarkPayload(b *testing.B) {
	const size = 1 << 20
	e := engine(b)
	for _, c := range []struct{ what, code string }{
		{"none", ""}, {"text", "text(s)"}, {"json", "json(s)"}, {"call", "echo({s})"}, {"return", "return s"},
	} {
		b.Run(c.what, func(b *testing.B) {
			for b.Loop() {
				r := &recorder{}
				vm, err := e.NewVM(b.Context(), r, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := vm.Run(fmt.Sprintf("const s = 'x'.repeat(%d);\nfor (let i = 0; i < 10; i++) %s;", size, c.code)); err != nil {
					b.Fatal(err)
				}
				vm.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*10), "µs/each")
		})
	}
	for _, c := range []struct{ what, answer string }{
		{"settle-string", `"` + strings.Repeat("x", size) + `"`},
		{"settle-object", `{"text":"` + strings.Repeat("x", size) + `"}`},
		{"settle-escapes", `"` + strings.Repeat(`abcdefghi\n`, size/11) + `"`},
		{"settle-numbers", "[" + strings.Repeat("1234567,", size/8) + "1]"},
	} {
		b.Run(c.what, func(b *testing.B) {
			vm := newVM(b, &recorder{}, Options{})
			if _, err := vm.Run("for (;;) await echo({i: 1})"); err != nil {
				b.Fatal(err)
			}
			id := uint32(0)
			for b.Loop() {
				id++
				if _, err := vm.Settle(id, true, []byte(c.answer)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
