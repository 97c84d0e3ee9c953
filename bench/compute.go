package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"codemode/limits"
)

// measureCompute is P11 and P13: the JavaScript benchmark in each metering mode, beside the other engines.
func measureCompute(ctx context.Context, r *runner) error {
	guest, err := guestModule()
	if err != nil {
		return err
	}
	var guests []*compiledPlain
	for _, m := range meterings {
		c, err := compilePlain(guest, m)
		if err != nil {
			return err
		}
		guests = append(guests, c)
	}
	var wasi *compiledPlain
	if path, ok := r.peers.file("npm/node_modules/quickjs-wasi/quickjs.wasm"); ok {
		module, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if wasi, err = compilePlain(module, metering{"epoch", true, false}); err != nil {
			return err
		}
	} else {
		r.skip("compute/*/quickjs-wasi-wasmtime", "quickjs-wasi is not installed under bench/peers")
	}
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	s, err := newStation(engine, 20, limits.Limits{TimeoutMs: 60_000})
	if err != nil {
		return err
	}
	defer s.Close()
	// The kernels are one group, so that their sum can be compared round by round as well.
	g := r.group("compute", "JavaScript benchmark")
	kernels := computeKernels
	if r.options.tiny {
		kernels = kernels[:1]
	}
	total := map[string]samples{}
	order := []string{}
	add := func(name string, run samples) {
		order = append(order, name)
		total[name] = run
	}
	for i, m := range meterings {
		add("codemode-"+m.name, func(int) ([]float64, error) {
			return sumOf(kernels, func(kernel string) (float64, error) {
				value, spent, err := guests[i].runGuest(computeCell(kernel))
				if err != nil {
					return 0, err
				}
				return float64(spent.Nanoseconds()), checksum(kernel, value)
			}, r.kernelTimes("codemode-"+m.name))
		})
	}
	add("codemode-host", func(int) ([]float64, error) {
		return sumOf(kernels, func(kernel string) (float64, error) {
			code := computeCell(kernel)
			start := time.Now()
			result, err := s.exec(ctx, code)
			spent := time.Since(start)
			if err != nil {
				return 0, err
			}
			return float64(spent.Nanoseconds()), checksum(kernel, string(result.Value))
		}, r.kernelTimes("codemode-host"))
	})
	if wasi != nil {
		add("quickjs-wasi-wasmtime", func(int) ([]float64, error) {
			return sumOf(kernels, func(kernel string) (float64, error) {
				value, spent, err := wasi.runWASI(computeCell(kernel))
				if err != nil {
					return 0, err
				}
				return float64(spent.Nanoseconds()), checksum(kernel, strconv.FormatFloat(value, 'f', -1, 64))
			}, r.kernelTimes("quickjs-wasi-wasmtime"))
		})
	}
	titles := map[string]string{
		"codemode-none": "Our guest, no metering", "codemode-epoch": "Our guest, epoch (the default)", "codemode-fuel": "Our guest, fuel",
		"codemode-epoch+fuel": "Our guest, epoch and fuel", "codemode-host": "A cell through the host, defaults",
		"quickjs-wasi-wasmtime": "quickjs-wasi's binary, epoch, same wasmtime settings",
	}
	for _, name := range order {
		m := g.addEach("compute/"+name, titles[name], total[name]).times(1)
		if name == "quickjs-wasi-wasmtime" {
			m.by("quickjs-wasi", "its wasm binary under the same wasmtime settings as ours, without a host")
		}
	}
	if wasi != nil {
		g.compare("compute/codemode-epoch/quickjs-wasi-wasmtime", "compute/codemode-epoch", "compute/quickjs-wasi-wasmtime")
	}
	for _, m := range meterings[1:] {
		g.compare("compute/"+m.name+"/none", "compute/codemode-"+m.name, "compute/codemode-none")
	}
	g.compare("compute/host/none", "compute/codemode-host", "compute/codemode-none")
	g.share = 0.6
	if r.options.Quick {
		g.most = 2
	}
	if err := g.run(ctx); err != nil {
		return err
	}
	for _, m := range g.cases {
		r.addKernels(m)
	}
	return computePeers(ctx, r, kernels, total["codemode-host"])
}

// computePeers runs the kernels in the peers, in turn with a host of ours. They are a group of their own because some take
// a hundred times as long.
func computePeers(ctx context.Context, r *runner, kernels []string, ours samples) error {
	g := r.group("compute/peers", "JavaScript benchmark beside the peers")
	g.share = 0.4
	peers := r.peers.having(opCompute)
	if len(peers) == 0 {
		return nil
	}
	g.addEach("compute/beside-peers", "A cell through the host, defaults", ours).times(1)
	for _, p := range peers {
		m := g.addEach("compute/"+p.name, p.title()+", all kernels", func(int) ([]float64, error) {
			return sumOf(kernels, func(kernel string) (float64, error) {
				reply, err := p.do(ctx, request{Op: opCompute, N: 1, Code: computeSource, Kernel: kernel})
				if err != nil {
					return 0, err
				}
				return reply.NS[0], checksum(kernel, reply.Value)
			}, r.kernelTimes(p.name))
		}).by(p.name, p.differs(opCompute))
		m.times(1)
		g.compare("compute/"+p.name+"/codemode", m.ID, "compute/beside-peers")
	}
	if err := g.run(ctx); err != nil {
		return err
	}
	for _, m := range g.cases[1:] {
		r.addKernels(m)
	}
	return nil
}

// checksums are what the kernels return in every engine.
var checksums = map[string]string{
	"calls": "744", "json": "1902620", "strings": "1588170", "sort": "3490971", "objects": "378098", "floats": "2715", "regexp": "268800",
}

func checksum(kernel, got string) error {
	if got != checksums[kernel] {
		return fmt.Errorf("bench: kernel %s returned %s, not %s", kernel, got, checksums[kernel])
	}
	return nil
}

// sumOf runs every kernel and returns the sum of their times; each time also goes to keep.
func sumOf(kernels []string, run func(kernel string) (float64, error), keep func(kernel string, ns float64)) ([]float64, error) {
	sum := 0.0
	for _, kernel := range kernels {
		ns, err := run(kernel)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", kernel, err)
		}
		keep(kernel, ns)
		sum += ns
	}
	return []float64{sum}, nil
}

// kernelTimes keeps the times of single kernels of one subject.
func (r *runner) kernelTimes(subject string) func(kernel string, ns float64) {
	return func(kernel string, ns float64) {
		if r.kernels == nil {
			r.kernels = map[string]map[string][]float64{}
		}
		if r.kernels[subject] == nil {
			r.kernels[subject] = map[string][]float64{}
		}
		r.kernels[subject][kernel] = append(r.kernels[subject][kernel], ns)
	}
}

// addKernels adds a case for each kernel of a measured sum.
func (r *runner) addKernels(m *measured) {
	name := m.ID[len("compute/"):]
	for _, kernel := range computeKernels {
		times := r.kernels[name][kernel]
		if len(times) < 2 {
			continue
		}
		times = times[1:] // the first was the warm-up
		c := summarize(times, times)
		c.ID, c.Group, c.Title, c.Subject, c.Unit, c.Differs = m.ID+"/"+kernel, "compute/"+kernel, m.Title, m.Subject, Nanoseconds, m.Differs
		r.suite.Cases = append(r.suite.Cases, c)
	}
}
