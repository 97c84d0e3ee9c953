package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// value shows a number in its unit.
func value(v float64, unit Unit) string {
	switch unit {
	case Nanoseconds:
		return duration(v)
	case Bytes:
		switch {
		case v >= 10<<20:
			return fmt.Sprintf("%.1f MiB", v/(1<<20))
		case v >= 10<<10:
			return fmt.Sprintf("%.1f KiB", v/(1<<10))
		}
		return fmt.Sprintf("%.0f B", v)
	case PerSecond:
		return fmt.Sprintf("%.0f/s", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// WriteText writes a result for people at a terminal.
func WriteText(w io.Writer, r *Result) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, s := range r.Suites {
		fmt.Fprintf(table, "\n%s\n", s.Title)
		fmt.Fprintln(table, "  case\tmedian\t95 % interval\tbest\tp99\t")
		for _, c := range s.Cases {
			if c.N == 1 || c.Unit == Bytes {
				fmt.Fprintf(table, "  %s\t%s\t\t\t\t\n", c.ID, value(c.P50, c.Unit))
				continue
			}
			best := c.Min
			if c.Unit == PerSecond {
				best = c.Max
			}
			fmt.Fprintf(table, "  %s\t%s\t%s to %s\t%s\t%s\t\n", c.ID, value(c.P50, c.Unit), value(c.Low, c.Unit), value(c.High, c.Unit), value(best, c.Unit), value(c.P99, c.Unit))
		}
		for _, ratio := range s.Ratios {
			fmt.Fprintf(table, "  %s\t%.3gx\t%.3g to %.3g\t\t\t\n", ratio.ID, ratio.P50, ratio.Low, ratio.High)
		}
		for _, skip := range s.Skipped {
			fmt.Fprintf(table, "  %s\tskipped: %s\t\t\t\t\n", skip.What, skip.Why)
		}
	}
	table.Flush()
	b.WriteString("\nTargets\n")
	table = tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, t := range r.Targets {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", t.ID, t.Verdict, t.What, t.Measured)
	}
	table.Flush()
	fmt.Fprintf(&b, "\n%s\n", machineLine(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// machineLine says in one sentence where and when it was measured.
func machineLine(r *Result) string {
	m := r.Machine
	return fmt.Sprintf("%s, %s, %d processors, %s %s, %s, wasmtime-go %s, %s; load %.1f before and %.1f after, %.1f %% stolen, %.0f s of measuring.",
		r.Started.Format("2006-01-02"), m.CPU, m.Processors, m.OS, m.Kernel, r.Build.Go, r.Build.Wasmtime, r.Build.Engine,
		m.LoadBefore, m.LoadAfter, 100*m.Stolen, r.Seconds)
}
