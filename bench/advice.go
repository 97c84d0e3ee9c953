package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"codemode/limits"
)

// Advice is what Tune found.
type Advice struct {
	Used   Used
	Trials []Trial
	// Limits are the recommended ones; what the cell says nothing about is at its default.
	Limits limits.Limits
	// Why says for each limit that differs from its default why it does.
	Why []Reason
	// Instances is the recommended quickjs.EngineOptions.Instances.
	Instances int
	// Tuned is the cell's median time under the recommendation, in nanoseconds.
	Tuned float64
	Notes []string
}

// Used is what the cell took under the defaults. Times are in nanoseconds.
type Used struct {
	Runs          int
	P50, P99      float64
	VM            float64 // of one run, in the engine
	MemoryBytes   int64
	SnapshotBytes int64
	OutputBytes   int64
	Waits, Calls  int
}

// Trial is one setting that was tried.
type Trial struct{ Setting, Value, Found string }

// Reason is why a limit is recommended.
type Reason struct {
	Limit limits.Name
	Value int64
	Why   string
}

func (a *Advice) try(setting, value, found string) {
	a.Trials = append(a.Trials, Trial{setting, value, found})
}

// limit recommends a limit where it differs from the default.
func (a *Advice) limit(name limits.Name, at *int64, v int64, why string) {
	was := *at
	*at = v
	a.Limits = a.Limits.Clamp()
	switch {
	case *at < v:
		why = "the most that can be allowed"
	case *at > v:
		why = "the least that can be set"
	}
	if *at != was {
		a.Why = append(a.Why, Reason{name, *at, why})
	}
}

// WriteText writes the advice for people, and at the end as JSON and as Go to copy.
func (a *Advice) WriteText(w io.Writer) error {
	var b strings.Builder
	u := a.Used
	fmt.Fprintf(&b, "The cell takes %s (99 of 100 runs within %s), %s of it in the engine; it uses %s of memory, gives out %s, makes %d calls",
		duration(u.P50), duration(u.P99), duration(u.VM), value(float64(u.MemoryBytes), Bytes), value(float64(u.OutputBytes), Bytes), u.Calls)
	if u.SnapshotBytes > 0 {
		fmt.Fprintf(&b, ", and is suspended %d times, in %s", u.Waits, value(float64(u.SnapshotBytes), Bytes))
	}
	b.WriteString(".\n\nTried\n")
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, t := range a.Trials {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", t.Setting, t.Value, t.Found)
	}
	table.Flush()
	b.WriteString("\nRecommended\n")
	for _, r := range a.Why {
		fmt.Fprintf(table, "  %s\t%d\t%s\n", r.Limit, r.Value, r.Why)
	}
	fmt.Fprintf(table, "  instances\t%d\tthe fewest within 5 %% of the most cells a second\n", a.Instances)
	table.Flush()
	fmt.Fprintf(&b, "  With these the cell takes %s.\n", duration(a.Tuned))
	for _, note := range a.Notes {
		fmt.Fprintf(&b, "  Note: %s\n", note)
	}
	fmt.Fprintf(&b, "\nlimits, as JSON:\n  %s\nengine, in Go:\n  &quickjs.EngineOptions{Instances: %d}\n", a.Limits, a.Instances)
	_, err := io.WriteString(w, b.String())
	return err
}
