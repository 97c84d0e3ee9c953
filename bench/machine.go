package bench

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"codemode/quickjs"
)

// Machine is what the run ran on, and what else the machine did meanwhile. Fields that the system does not tell are
// empty.
type Machine struct {
	OS          string  `json:"os"`
	Arch        string  `json:"arch"`
	Kernel      string  `json:"kernel"`
	CPU         string  `json:"cpu"`
	Processors  int     `json:"processors"` // that Go may use
	MemoryBytes float64 `json:"memoryBytes"`
	LoadBefore  float64 `json:"loadBefore"` // average of one minute
	LoadAfter   float64 `json:"loadAfter"`
	// Stolen is the part of the processors' time that the machine's owner gave to others during the run, 0 to 1.
	Stolen float64 `json:"stolen"`
	// Busy is the part of the processors' time that was used during the run, by the bench and by everything else.
	Busy float64 `json:"busy"`
	// PageFaultNs is what the first touch of a page of memory costs; it explains much of what differs between machines.
	PageFaultNs float64 `json:"pageFaultNs"`
	// SpinNs is how long a fixed loop of arithmetic takes at best: machines are compared with it.
	SpinNs float64 `json:"spinNs"`
}

// Build is what was measured.
type Build struct {
	Go        string `json:"go"`
	Wasmtime  string `json:"wasmtime"`
	Engine    string `json:"engine"`
	Image     string `json:"image"`     // hash of the guest's image
	GuestSize int    `json:"guestSize"` // bytes of the guest module
	Revision  string `json:"revision"`
}

func thisBuild() (Build, error) {
	module, manifest, err := quickjs.Guest()
	if err != nil {
		return Build{}, err
	}
	b := Build{Go: runtime.Version(), GuestSize: len(module)}
	if manifest != nil {
		b.Engine, b.Image = manifest.Engine, manifest.ImageSHA256
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if strings.HasPrefix(d.Path, "github.com/bytecodealliance/wasmtime-go") {
				b.Wasmtime = d.Version
			}
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b, nil
}

// ticks are the processors' times since the machine's start.
type ticks struct{ total, idle, stolen float64 }

type machineState struct {
	machine Machine
	ticks   ticks
}

func machineBefore() machineState {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Processors: runtime.GOMAXPROCS(0), LoadBefore: load()}
	m.Kernel = firstLine("/proc/sys/kernel/osrelease")
	m.CPU = field("/proc/cpuinfo", "model name")
	if kb, ok := strings.CutSuffix(field("/proc/meminfo", "MemTotal"), " kB"); ok {
		n, _ := strconv.ParseFloat(kb, 64)
		m.MemoryBytes = n * 1024
	}
	m.PageFaultNs, m.SpinNs = significant(pageFault()), significant(spinTime())
	return machineState{m, readTicks()}
}

func (s machineState) after() Machine {
	m, now := s.machine, readTicks()
	m.LoadAfter = load()
	if spent := now.total - s.ticks.total; spent > 0 {
		m.Stolen = significant((now.stolen - s.ticks.stolen) / spent)
		m.Busy = significant(1 - (now.idle-s.ticks.idle)/spent)
	}
	return m
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// field reads "name : value".
func field(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func load() float64 {
	first, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	v, _ := strconv.ParseFloat(first, 64)
	return v
}

func readTicks() ticks {
	var t ticks
	for i, f := range strings.Fields(firstLine("/proc/stat")) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || i > 8 { // guest time is in user time already
			continue
		}
		t.total += v
		switch i {
		case 4, 5: // idle, waiting for a disk
			t.idle += v
		case 8:
			t.stolen += v
		}
	}
	return t
}

// pageFault is the time that the first touch of a page takes, in nanoseconds.
func pageFault() float64 {
	const size = 16 << 20
	best := math.Inf(1)
	for range 3 {
		debug.FreeOSMemory()
		b := make([]byte, size)
		start := time.Now()
		for i := 0; i < size; i += os.Getpagesize() {
			b[i] = 1
		}
		best = min(best, float64(time.Since(start).Nanoseconds())/float64(size/os.Getpagesize()))
		runtime.KeepAlive(b)
	}
	return best
}

// spinUnit is how many steps of spin are one operation: about as long as a small cell.
const spinUnit = 20_000

// spin computes without memory, calls or a clock: what processors can gain is measured with it.
func spin(steps int) uint64 {
	x := uint64(88172645463325252)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

func spinTime() float64 {
	best := math.Inf(1)
	for range 20 {
		start := time.Now()
		runtime.KeepAlive(spin(spinUnit))
		best = min(best, float64(time.Since(start).Nanoseconds()))
	}
	return best
}

// resident is the memory of this process that is in RAM, in bytes; 0 where the system does not tell.
func resident() float64 {
	kb, ok := strings.CutSuffix(field("/proc/self/status", "VmRSS"), " kB")
	if !ok {
		return 0
	}
	n, _ := strconv.ParseFloat(kb, 64)
	return n * 1024
}
