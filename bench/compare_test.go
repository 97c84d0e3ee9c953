package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func resultOf(cases ...Case) *Result {
	return &Result{Format: Format, Machine: Machine{SpinNs: 1, PageFaultNs: 1, Processors: 2}, Suites: []Suite{{Name: "x", Cases: cases}}}
}

// timedCase has rounds around a median, and a best time.
func timedCase(id string, unit Unit, p50, best float64) Case {
	rounds := []float64{p50 * 0.98, p50 * 0.99, p50, p50 * 1.01, p50 * 1.02, p50, p50}
	samples := append(slices.Clone(rounds), best)
	c := summarize(samples, rounds)
	c.ID, c.Unit, c.P50 = id, unit, p50
	return c
}

func TestCompare(t *testing.T) {
	old := resultOf(
		timedCase("x/slower", Nanoseconds, 100, 90), timedCase("x/faster", Nanoseconds, 100, 90), timedCase("x/same", Nanoseconds, 100, 90),
		timedCase("x/loaded", Nanoseconds, 100, 90), timedCase("x/rate", PerSecond, 100, 90), timedCase("x/gone", Nanoseconds, 1, 1),
		Case{ID: "x/size", Unit: Bytes, N: 1, P50: 1000},
	)
	new := resultOf(
		timedCase("x/slower", Nanoseconds, 150, 130), timedCase("x/faster", Nanoseconds, 50, 45), timedCase("x/same", Nanoseconds, 101, 90),
		timedCase("x/loaded", Nanoseconds, 150, 90.5), timedCase("x/rate", PerSecond, 150, 140), timedCase("x/new", Nanoseconds, 1, 1),
		Case{ID: "x/size", Unit: Bytes, N: 1, P50: 2000},
	)
	c := Compare(old, new)
	want := []Change{
		{ID: "x/slower", Unit: Nanoseconds, Old: 100, New: 150, Factor: 1.5, Real: true},
		{ID: "x/faster", Unit: Nanoseconds, Old: 100, New: 50, Factor: 0.5, Real: true, Better: true},
		{ID: "x/same", Unit: Nanoseconds, Old: 100, New: 101, Factor: 1.01},
		{ID: "x/loaded", Unit: Nanoseconds, Old: 100, New: 150, Factor: 1.5}, // the best time did not move: that was the machine
		{ID: "x/rate", Unit: PerSecond, Old: 100, New: 150, Factor: 1.5, Real: true, Better: true},
		{ID: "x/size", Unit: Bytes, Old: 1000, New: 2000, Factor: 2, Real: true},
	}
	if diff := cmp.Diff(want, c.Changes, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x/gone"}, c.Gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x/new"}, c.Added); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	if c.Worse() != 2 {
		t.Errorf("%d are worse, want 2", c.Worse())
	}
	var b strings.Builder
	if err := c.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(b.String(), "\n")
	if fields := strings.Fields(first); len(fields) < 2 || fields[1] != "x/faster" && fields[1] != "x/size" {
		t.Errorf("the largest change is not first:\n%s", b.String())
	}
}

func TestCompareWarnsOfAnotherMachine(t *testing.T) {
	old, new := resultOf(), resultOf()
	new.Machine.CPU, new.Machine.SpinNs, new.Machine.LoadBefore, new.Build.Image = "another", 1.5, 4, "other"
	if got := len(Compare(old, new).Warnings); got != 4 {
		t.Errorf("%d warnings, want 4: %q", got, Compare(old, new).Warnings)
	}
	old.Build = Build{Engine: "QuickJS-NG 1", Image: "0123456789abcdef"}
	new = resultOf()
	new.Build = Build{Engine: "QuickJS-NG 1", Image: "fedcba9876543210"}
	if diff := cmp.Diff([]string{"the guests differ: QuickJS-NG 1 image 0123456789ab, QuickJS-NG 1 image fedcba987654"}, Compare(old, new).Warnings); diff != "" {
		t.Errorf("warnings for two images of one engine (-want +got):\n%s", diff)
	}
	if got := Compare(old, old).Warnings; got != nil {
		t.Errorf("warnings for the same machine: %q", got)
	}
}

func TestInterval(t *testing.T) {
	// Ranks of the 95 % interval of a median, from tables of the binomial distribution.
	for _, test := range []struct{ n, low, high int }{{1, 1, 1}, {5, 1, 5}, {6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {20, 6, 15}, {50, 18, 33}, {100, 40, 61}} {
		var values []float64
		for i := range test.n {
			values = append(values, float64(i+1))
		}
		low, high := interval(values)
		if low != float64(test.low) || high != float64(test.high) {
			t.Errorf("of %d values: ranks %v to %v, want %d to %d", test.n, low, high, test.low, test.high)
		}
	}
	many := make([]float64, 5000)
	for i := range many {
		many[i] = float64(i + 1)
	}
	if low, high := interval(many); low < 2425 || low > 2435 || high < 2565 || high > 2575 {
		t.Errorf("of 5000 values: %v to %v", low, high)
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{10, 20, 30, 40}
	for q, want := range map[float64]float64{0: 10, 1: 40, 0.5: 25, 1.0 / 3: 20} {
		if got := quantile(values, q); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("quantile %v = %v, want %v", q, got, want)
		}
	}
	if got := significant(123456.7); got != 123460 {
		t.Errorf("significant = %v", got)
	}
}

func TestJudge(t *testing.T) {
	r := resultOf(Case{ID: "bridge/calls/sequential", Unit: Nanoseconds, P50: 12_000}, Case{ID: "bridge/calls/parallel", Unit: Nanoseconds, P50: 3_000})
	got := map[string]string{}
	for _, target := range judge(r) {
		got[target.ID] = target.Verdict
	}
	if got["P6"] != Missed || got["P7"] != Met || got["P11"] != NotMeasured {
		t.Errorf("verdicts: %v", got)
	}
	if len(got) != 13 {
		t.Errorf("%d targets, want 13", len(got))
	}
}
