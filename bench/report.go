package bench

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed report.html.tmpl
var reportTemplate string

// WriteReport writes the report of a result into a folder: report.html, one page that needs nothing else; report.md, the tables
// for a README; and result.json.
func WriteReport(folder string, r *Result) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	page, err := HTML(r)
	if err != nil {
		return err
	}
	return errors.Join(
		write(filepath.Join(folder, "report.html"), page),
		write(filepath.Join(folder, "report.md"), Markdown(r)),
		r.Write(filepath.Join(folder, "result.json")),
	)
}

func write(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return nil
}

// chapter is a suite in the report.
type chapter struct {
	Suite
	Plots []plot
}

type plot struct {
	Title string
	Note  string
	SVG   template.HTML
}

// HTML is the report as one page: no script, no font, no image, no address from outside.
func HTML(r *Result) ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"value": value, "percent": func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) },
		"ratio": func(v float64) string { return fmt.Sprintf("%.3g×", v) }, "class": classOf,
		"verdict": func(v string) string { return strings.ReplaceAll(v, " ", "-") },
	}).Parse(reportTemplate)
	if err != nil {
		return nil, fmt.Errorf("bench: the report's template: %w", err)
	}
	page := struct {
		*Result
		Line     string
		Date     string
		Chapters []chapter
		Peers    []comparisonRow
		Differs  []Case
	}{Result: r, Line: machineLine(r), Date: r.Started.Format("2 January 2006"), Peers: sideBySide(r)}
	for _, s := range r.Suites {
		page.Chapters = append(page.Chapters, chapter{s, plotsOf(s)})
	}
	seen := map[string]bool{}
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			if c.Differs != "" && !seen[c.Subject+c.Differs] {
				seen[c.Subject+c.Differs] = true
				page.Differs = append(page.Differs, c)
			}
		}
	}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return nil, fmt.Errorf("bench: the report: %w", err)
	}
	return b.Bytes(), nil
}

// plotsOf draws a suite: a plot for each group of times, and lines where a group is a series.
func plotsOf(s Suite) []plot {
	var plots []plot
	add := func(title, note, drawing string) {
		plots = append(plots, plot{title, note, template.HTML(drawing)})
	}
	if s.Name == "snapshot" {
		if groups := snapshotBars(s); len(groups) > 0 {
			add("Size of a suspended cell", "The whole linear memory, and the delta against the image by codec.",
				bars("Size of a suspended cell by workload and codec", groups, snapshotNames, Bytes))
		}
		for _, what := range []struct{ kind, title, note string }{
			{"encode", "Taking a snapshot", "Find the delta, pack it, encode it; by what the cell keeps on its heap."},
			{"decode", "Going on with a snapshot", "Decode it, unpack it, restore an instance, give the instance back."},
		} {
			if curves := snapshotCurves(s, what.kind); curves != nil {
				add(what.title, what.note, lines(what.title, axes{bytesLabel, nsLabel, "live data in the cell", true, true}, curves))
			}
		}
		return plots
	}
	switch s.Name {
	case "bridge":
		if c := series(s, "codemode", "bridge/payload/", sizeOf); c != nil {
			add("A call by size of its payload", "A string there and back.", lines("Time of a call by size of its payload", axes{bytesLabel, nsLabel, "bytes each way", true, true}, []curve{*c}))
		}
		if c := series(s, "codemode", "bridge/batch/", strconv.Atoi); c != nil {
			add("A call by how many are made at once", "16 run at once by default; the rest wait their turn.", lines("Time of a call by how many are made at once", axes{plainLabel, nsLabel, "calls in one Promise.all", true, false}, []curve{*c}))
		}
	case "scale":
		var curves []curve
		for i, name := range []string{"cell", "call", "search"} {
			if c := series(s, name, "scale/"+name+"/", strconv.Atoi); c != nil {
				c.class = fmt.Sprintf("s%d", i)
				curves = append(curves, *c)
			}
		}
		if curves != nil {
			add("A cell by number of tools in the catalog", "", lines("Time of a cell by number of tools", axes{plainLabel, nsLabel, "tools", true, true}, curves))
		}
		return plots
	case "processors":
		var curves []curve
		for i, name := range []string{"cells", "calls", "quickjs", "spin"} {
			if c := series(s, name, "processors/"+name+"/", strconv.Atoi); c != nil {
				base := c.points[0].y
				for k := range c.points {
					p := &c.points[k]
					p.y, p.low, p.high = p.y/base, p.low/base, p.high/base
				}
				c.class = fmt.Sprintf("s%d", i)
				curves = append(curves, *c)
			}
		}
		if curves != nil {
			add("Throughput by number of goroutines", "Against one goroutine. The spinning loop shares nothing: no other work can gain more.",
				lines("Throughput by number of goroutines", axes{plainLabel, timesLabel, "goroutines", true, false}, curves))
		}
		return plots
	}
	for _, g := range groupsOf(s) {
		if len(g.cases) < 2 || strings.HasPrefix(g.name, "bridge/payload") || strings.HasPrefix(g.name, "bridge/batch") {
			continue
		}
		add(g.title, "", dots(g.title, g.cases))
	}
	return plots
}

type caseGroup struct {
	name, title string
	cases       []Case
}

// groupsOf collects a suite's timed cases by group. Suspend and wait are compared in one group and shown as two.
func groupsOf(s Suite) []caseGroup {
	titles := map[string]string{
		"start/cell": "A cell: return 1+2", "start/history": "A small cell by what ran in its engine before", "start/language": "The same 50 lines in both languages",
		"start/process": "From a process's start to its first result", "suspend/exec": "exec until waiting", "suspend/wait": "wait until completed",
		"bridge/calls": "Tool calls, each", "bridge/names": "A cell that names tools and calls none",
		"limits/metering-small": "Fuel beside the epoch: return 1+2", "limits/metering-loop": "Fuel beside the epoch: a loop of 20,000 steps",
		"limits/bounds": "The size of a limit that a cell does not come near", "limits/pool": "A cell by how many instances an engine may have",
		"limits/park": "A cell that waits 5 ms for a timer, by when it gives its instance up", "bridge/output": "What a cell emits, each", "compute": "JavaScript benchmark, all kernels", "compute/peers": "JavaScript benchmark beside the peers",
	}
	var groups []caseGroup
	index := map[string]int{}
	for _, c := range s.Cases {
		if c.Unit != Nanoseconds || len(c.Quantiles) == 0 {
			continue
		}
		name := c.Group
		if name == "suspend" {
			name = strings.Join(strings.Split(c.ID, "/")[:2], "/")
		}
		i, ok := index[name]
		if !ok {
			i = len(groups)
			index[name] = i
			title := titles[name]
			if title == "" {
				title = strings.NewReplacer("compute/", "Kernel ", "snapshot/", "Snapshot of ").Replace(name)
			}
			groups = append(groups, caseGroup{name: name, title: title})
		}
		groups[i].cases = append(groups[i].cases, c)
	}
	return groups
}

// series collects the cases whose ids are prefix and a number.
func series(s Suite, name, prefix string, number func(string) (int, error)) *curve {
	c := &curve{name: name, class: "s0"}
	for _, k := range s.Cases {
		rest, ok := strings.CutPrefix(k.ID, prefix)
		if !ok {
			continue
		}
		if n, err := number(rest); err == nil {
			c.points = append(c.points, point{float64(n), k.P50, k.Low, k.High})
		}
	}
	if len(c.points) < 2 {
		return nil
	}
	slices.SortFunc(c.points, func(a, b point) int { return int(a.x - b.x) })
	return c
}

// sizeOf is the number that bytesName shows.
func sizeOf(name string) (int, error) {
	for suffix, factor := range map[string]int{"MiB": 1 << 20, "KiB": 1 << 10} {
		if n, ok := strings.CutSuffix(name, suffix); ok {
			v, err := strconv.Atoi(n)
			return v * factor, err
		}
	}
	return strconv.Atoi(strings.TrimSuffix(name, "B"))
}

func bytesLabel(v float64) string { return bytesName(int(v)) }
func nsLabel(v float64) string    { return duration(v) }
func plainLabel(v float64) string { return strconv.Itoa(int(v)) }
func timesLabel(v float64) string { return fmt.Sprintf("%.2g×", v) }

var snapshotNames = []string{"delta, none", "delta, s2", "delta, zstd", "whole memory"}

func snapshotBars(s Suite) []barGroup {
	var groups []barGroup
	for _, w := range snapshotWorkloads {
		g := barGroup{name: w.name}
		for i, kind := range []string{"none", "s2", "zstd", "image"} {
			for _, c := range s.Cases {
				if c.ID == "snapshot/"+w.name+"/size/"+kind {
					g.bars = append(g.bars, oneBar{snapshotNames[i], fmt.Sprintf("s%d", i), c.P50})
				}
			}
		}
		if len(g.bars) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// snapshotCurves are the times of a codec by the size of the heap.
func snapshotCurves(s Suite, kind string) []curve {
	var curves []curve
	for i, codec := range codecs {
		c := curve{name: codec.name, class: fmt.Sprintf("s%d", i)}
		for _, w := range snapshotWorkloads {
			for _, k := range s.Cases {
				if w.tools == 20 && w.name != "empty" && k.ID == "snapshot/"+w.name+"/"+kind+"/"+codec.name {
					c.points = append(c.points, point{float64(max(w.heap, 4<<10)), k.P50, k.Low, k.High})
				}
			}
		}
		if len(c.points) > 1 {
			curves = append(curves, c)
		}
	}
	return curves
}

// comparisonRow is a peer beside codemode in one thing.
type comparisonRow struct {
	What, Peer, Theirs, Ours, Factor string
	PeerBetter                       bool
	Differs                          string
}

// times shows a ratio with two digits or three.
func times(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// sideBySide lists every ratio between a peer and codemode.
func sideBySide(r *Result) []comparisonRow {
	var rows []comparisonRow
	for _, s := range r.Suites {
		for _, ratio := range s.Ratios {
			peers, ok1 := r.find(ratio.Of)
			mine, ok2 := r.find(ratio.To)
			if !ok1 || !ok2 || peers.Subject == ours || mine.Subject != ours {
				continue
			}
			row := comparisonRow{
				What: mine.Title, Peer: peers.Title, Theirs: value(peers.P50, peers.Unit), Ours: value(mine.P50, mine.Unit),
				PeerBetter: ratio.P50 < 1, Differs: peers.Differs,
			}
			if ratio.P50 >= 1 {
				row.Factor = times(ratio.P50) + " times as long"
			} else {
				row.Factor = "better: " + times(ratio.P50) + " of the time"
			}
			rows = append(rows, row)
		}
	}
	return rows
}
