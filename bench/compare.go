package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Change is a case that two results have.
type Change struct {
	ID       string
	Unit     Unit
	Old, New float64 // medians
	// Factor is New/Old of the medians.
	Factor float64
	// Real says that the change is beyond noise: the 95 % intervals of the medians are apart, the smallest values moved
	// the same way, and by at least 3 %.
	Real bool
	// Better says that a real change is for the good.
	Better bool
}

// Comparison is what differs between two results.
type Comparison struct {
	Changes []Change // in the order of the newer result
	Gone    []string // cases that only the older one has
	Added   []string // cases that only the newer one has
	// Warnings say why the two may not be comparable.
	Warnings []string
}

// smallest is the least relative change that counts.
const smallest = 0.03

// Compare says what changed from one result to another.
func Compare(old, new *Result) *Comparison {
	c := &Comparison{}
	c.warn(old, new)
	seen := map[string]bool{}
	for _, s := range new.Suites {
		for _, n := range s.Cases {
			seen[n.ID] = true
			o, ok := old.find(n.ID)
			if !ok {
				c.Added = append(c.Added, n.ID)
				continue
			}
			c.Changes = append(c.Changes, change(o, &n))
		}
	}
	for _, s := range old.Suites {
		for _, o := range s.Cases {
			if !seen[o.ID] {
				c.Gone = append(c.Gone, o.ID)
			}
		}
	}
	return c
}

func change(o, n *Case) Change {
	c := Change{ID: n.ID, Unit: n.Unit, Old: o.P50, New: n.P50, Factor: n.P50 / o.P50}
	if o.P50 == n.P50 {
		c.Factor = 1
	}
	if o.N == 1 && n.N == 1 || o.Unit == Bytes { // a size has no noise of its own
		c.Real = math.Abs(c.Factor-1) >= smallest
	} else {
		apart := n.Low > o.High || n.High < o.Low
		// What else the machine does moves medians more than the best times: both must say the same.
		best := n.Min / o.Min
		if n.Unit == PerSecond {
			best = n.Max / o.Max
		}
		c.Real = apart && math.Abs(c.Factor-1) >= smallest && math.Abs(best-1) >= smallest && (best > 1) == (c.Factor > 1)
	}
	c.Better = c.Real && (c.Factor < 1) == (n.Unit != PerSecond)
	return c
}

func (c *Comparison) warn(old, new *Result) {
	a, b := old.Machine, new.Machine
	if a.CPU != b.CPU || a.Processors != b.Processors || a.Kernel != b.Kernel {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the machines differ: %s, %d processors, %s; %s, %d processors, %s", a.CPU, a.Processors, a.Kernel, b.CPU, b.Processors, b.Kernel))
	}
	if f := b.SpinNs / a.SpinNs; math.Abs(f-1) > smallest {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the machine computes %.2f times as long for the same loop: times changed by about that are no news", f))
	}
	if f := b.PageFaultNs / a.PageFaultNs; math.Abs(f-1) > 0.25 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the first touch of a page takes %.2f times as long", f))
	}
	for _, r := range []struct {
		name string
		m    Machine
	}{{"older", a}, {"newer", b}} {
		if r.m.LoadBefore > float64(r.m.Processors)/2 || r.m.Stolen > 0.02 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("the machine was not idle for the %s: load %.1f before it, %.1f %% stolen", r.name, r.m.LoadBefore, 100*r.m.Stolen))
		}
	}
	if old.Build.Image != new.Build.Image {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the guests differ: %s image %.12s, %s image %.12s", old.Build.Engine, old.Build.Image, new.Build.Engine, new.Build.Image))
	}
}

// Worse is how many real changes are for the bad.
func (c *Comparison) Worse() int {
	n := 0
	for _, change := range c.Changes {
		if change.Real && !change.Better {
			n++
		}
	}
	return n
}

// WriteText writes the comparison for people: what changed beyond noise, largest first, and how much did not.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "note: %s\n", warning)
	}
	var changed []Change
	for _, change := range c.Changes {
		if change.Real {
			changed = append(changed, change)
		}
	}
	slices.SortStableFunc(changed, func(a, b Change) int {
		return -int(math.Copysign(1, math.Abs(math.Log(a.Factor))-math.Abs(math.Log(b.Factor))))
	})
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, change := range changed {
		word := "worse"
		if change.Better {
			word = "better"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t→ %s\t%+.1f %%\n", word, change.ID, value(change.Old, change.Unit), value(change.New, change.Unit), 100*(change.Factor-1))
	}
	table.Flush()
	fmt.Fprintf(&b, "%d of %d cases changed beyond noise", len(changed), len(c.Changes))
	if len(c.Added)+len(c.Gone) > 0 {
		fmt.Fprintf(&b, "; %d are new, %d are gone", len(c.Added), len(c.Gone))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
