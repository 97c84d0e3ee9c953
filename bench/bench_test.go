package bench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
)

// The benchmarks give what benchstat reads: go test -run '^$' -bench . -count 10 ./bench | tee new.txt

var sharedEngine = sync.OnceValues(func() (*quickjs.Engine, error) { return quickjs.NewEngine(nil) })

func testEngine(tb testing.TB) *quickjs.Engine {
	tb.Helper()
	engine, err := sharedEngine()
	if errors.Is(err, quickjs.ErrNoGuest) && os.Getenv("CI") == "" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return engine
}

func testStation(tb testing.TB, tools int, l limits.Limits) *station {
	tb.Helper()
	s, err := newStation(testEngine(tb), tools, l)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// must gives a result, or ends the benchmark.
func must(tb testing.TB) func(r *host.Result, err error) *host.Result {
	return func(r *host.Result, err error) *host.Result {
		if err != nil {
			tb.Fatal(err)
		}
		return r
	}
}

// P1: a cell from its text to its result.
func BenchmarkStart(b *testing.B) {
	s := testStation(b, 20, limits.Limits{})
	b.Run("through=host", func(b *testing.B) {
		for b.Loop() {
			must(b)(s.exec(b.Context(), cellSmall))
		}
	})
	b.Run("through=host/text=new", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			must(b)(s.exec(b.Context(), fmt.Sprintf("return %d+2", n)))
		}
	})
	b.Run("through=quickjs", func(b *testing.B) {
		for b.Loop() {
			if err := runBare(b.Context(), testEngine(b), cellSmall); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// P2 and P3: exec until the cell is suspended with a call pending, and wait until it has completed, with the answer
// there already. What is between the two is in ns/op alone.
func BenchmarkSuspend(b *testing.B) {
	s := testStation(b, 20, limits.Limits{MaxSuspendedCells: 1 << 20})
	var exec, wait []float64
	for b.Loop() {
		e, w, err := s.cycles(b.Context(), 1, cellWait)
		if err != nil {
			b.Fatal(err)
		}
		exec, wait = append(exec, e...), append(wait, w...)
	}
	b.ReportMetric(median(exec), "ns/exec")
	b.ReportMetric(median(wait), "ns/wait")
}

// P4: the encoded snapshot of a small cell with one pending call.
func BenchmarkSnapshot(b *testing.B) {
	for _, tools := range []int{20, 10_000} {
		for _, codec := range codecs {
			b.Run(fmt.Sprintf("tools=%d/codec=%s", tools, codec.name), func(b *testing.B) {
				vm, _, _, err := suspendable(b.Context(), testEngine(b), tools, cellWait)
				if err != nil {
					b.Fatal(err)
				}
				defer vm.Close()
				size := 0
				for b.Loop() {
					s, err := vm.Snapshot(codec.codec)
					if err != nil {
						b.Fatal(err)
					}
					size = len(s.Encode())
				}
				b.ReportMetric(float64(size), "B/snapshot")
			})
		}
	}
}

// P5: P1 by the size of the catalog.
func BenchmarkCatalog(b *testing.B) {
	for _, tools := range scaleSizes {
		s := testStation(b, tools, limits.Limits{})
		b.Run(fmt.Sprintf("tools=%d", tools), func(b *testing.B) {
			for b.Loop() {
				must(b)(s.exec(b.Context(), cellSmall))
			}
		})
	}
}

// P6 and P7: tool calls in one cell, one after the other and at once.
func BenchmarkCalls(b *testing.B) {
	s := testStation(b, 20, limits.Limits{})
	for _, c := range []struct {
		name, code string
		calls      int
	}{
		{"order=sequential/calls=1000", fmt.Sprintf(cellCalls, 1000), 1000},
		{"order=parallel/calls=64", fmt.Sprintf(cellParallel, 64), 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				must(b)(s.exec(b.Context(), c.code))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.calls), "ns/call")
		})
	}
}

// BenchmarkPayload is what a string costs: there and back through a tool, and as output.
func BenchmarkPayload(b *testing.B) {
	s := testStation(b, 20, limits.Limits{MaxOutputBytes: 10 << 20, MaxSnapshotBytes: 64 << 20})
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		n := max(2, (256<<10)/size)
		for _, c := range []struct{ what, code string }{
			{"echo", "n += (await echo({text: s})).length"},
			{"text", "text(s)"},
			{"json", "json({s})"},
		} {
			code := fmt.Sprintf("const s = 'x'.repeat(%d);\nlet n = 0;\nfor (let i = 0; i < %d; i++) %s;\nreturn n;", size, n, c.code)
			b.Run(fmt.Sprintf("%s/size=%s", c.what, bytesName(size)), func(b *testing.B) {
				for b.Loop() {
					must(b)(s.exec(b.Context(), code))
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/each")
			})
		}
	}
}

// P8: cells on all processors. Compare with the spin loop at the same -cpu: go test -bench 'Processors' -cpu 1,2.
func BenchmarkProcessors(b *testing.B) {
	s := testStation(b, 20, limits.Limits{})
	b.Run("work=cells", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.exec(b.Context(), cellSmall); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
	b.Run("work=spin", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				runtime.KeepAlive(spin(spinUnit))
			}
		})
	})
}

// P11 and P13: the JavaScript benchmark, in each metering mode.
func BenchmarkCompute(b *testing.B) {
	for _, mode := range []struct {
		name string
		l    limits.Limits
	}{{"epoch", limits.Limits{}}, {"epoch+fuel", limits.Limits{Fuel: 1 << 50}}} {
		for _, kernel := range computeKernels {
			b.Run("metering="+mode.name+"/kernel="+kernel, func(b *testing.B) {
				mode.l.TimeoutMs = 60_000
				s := testStation(b, 20, mode.l)
				code := computeCell(kernel)
				for b.Loop() {
					must(b)(s.exec(b.Context(), code))
				}
			})
		}
	}
}

// P12: the same 50 lines in both languages, never seen before and seen before.
func BenchmarkLanguages(b *testing.B) {
	s := testStation(b, 20, limits.Limits{})
	for _, l := range []struct {
		name string
		text func(int) string
	}{{"javascript", javascriptCell}, {"typescript", typescriptCell}} {
		b.Run("language="+l.name+"/text=new", func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				must(b)(s.exec(b.Context(), l.text(n)))
			}
		})
		b.Run("language="+l.name+"/text=seen", func(b *testing.B) {
			code := l.text(-1)
			for b.Loop() {
				must(b)(s.exec(b.Context(), code))
			}
		})
	}
}
