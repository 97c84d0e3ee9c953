package bench

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Plots are SVG written by hand. The report needs three kinds of plot and no script: that is less text than any plotting
// package would put into the page, and what it draws can be read, printed and copied without running anything.

// svg collects the elements of one plot.
type svg struct {
	strings.Builder
	width, height float64
}

func (s *svg) add(format string, args ...any) { fmt.Fprintf(s, format, args...) }

func (s *svg) text(x, y float64, anchor, class, text string) {
	s.add(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class, html.EscapeString(text))
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	s.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

// done closes the plot. title is what a reader who does not see it is told.
func (s *svg) done(title string) string {
	return fmt.Sprintf(`<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s"><title>%s</title>%s</svg>`,
		s.width, s.height, html.EscapeString(title), html.EscapeString(title), s.String())
}

// scale maps values to positions, in logarithms or straight.
type scale struct {
	low, high   float64 // values
	from, to    float64 // positions
	logarithmic bool
	binary      bool // of bytes: marked at powers of four
}

func (c scale) at(v float64) float64 {
	low, high := c.low, c.high
	if c.logarithmic {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(max(v, c.low))
	}
	if high == low {
		return c.from
	}
	return c.from + (v-low)/(high-low)*(c.to-c.from)
}

// logScale is a scale over values with a little room at both ends.
func logScale(values []float64, from, to float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if math.IsInf(low, 1) {
		low, high = 1, 10
	}
	low, high = low/1.25, high*1.25
	if high/low < 4 { // a narrow scale would make noise look like news
		middle := math.Sqrt(low * high)
		low, high = middle/2, middle*2
	}
	return scale{low: low, high: high, from: from, to: to, logarithmic: true}
}

// ticks are where the scale is marked: powers of ten, and 2 and 5 times those where there is room.
func (c scale) ticks() []float64 {
	if !c.logarithmic {
		step := math.Pow(10, math.Floor(math.Log10(max(c.high, 1e-9))))
		if c.high/step < 2.5 {
			step /= 4
		} else if c.high/step < 6 {
			step /= 2
		}
		var out []float64
		for v := 0.0; v <= c.high*1.0001; v += step {
			out = append(out, v)
		}
		return out
	}
	if c.binary {
		var out []float64
		for v := 1.0; v <= c.high; v *= 4 {
			if v >= c.low {
				out = append(out, v)
			}
		}
		for len(out) > 7 {
			for i := range (len(out) + 1) / 2 {
				out[i] = out[2*i]
			}
			out = out[:(len(out)+1)/2]
		}
		return out
	}
	steps := []float64{1}
	switch decades := math.Log10(c.high / c.low); {
	case decades < 1.2:
		steps = []float64{1, 1.5, 2, 3, 5, 7}
	case decades < 3.5:
		steps = []float64{1, 2, 5}
	}
	var out []float64
	for p := math.Floor(math.Log10(c.low)); p <= math.Ceil(math.Log10(c.high)); p++ {
		for _, s := range steps {
			if v := s * math.Pow(10, p); v >= c.low && v <= c.high {
				out = append(out, v)
			}
		}
	}
	return out
}

// series are the colours of the page, by name of subject; others take what is left.
var subjectClass = map[string]string{
	ours: "s0", "openclaw": "s1", "run": "s2", "quickjs-wasi": "s3", "quickjs-emscripten": "s4", "monty": "s5",
	"goja": "s6", "modernc-quickjs": "s7", "wazero-quickjs": "s8",
}

func classOf(subject string) string {
	if c, ok := subjectClass[subject]; ok {
		return c
	}
	return "s9"
}

const (
	plotWidth = 760
	rowHeight = 24
	labelRoom = 300
	valueRoom = 86
)

// dots draws a row for each case: the median as a dot, the middle 90 % of the samples as a line, on one logarithmic axis.
func dots(title string, cases []Case) string {
	s := &svg{width: plotWidth, height: float64(len(cases)*rowHeight + 34)}
	var values []float64
	for _, c := range cases {
		values = append(values, c.spread(0.05), c.P50, c.spread(0.95))
	}
	x := logScale(values, labelRoom, plotWidth-valueRoom)
	bottom := float64(len(cases) * rowHeight)
	for _, t := range x.ticks() {
		s.line(x.at(t), 4, x.at(t), bottom+4, "grid")
		s.text(x.at(t), bottom+20, "middle", "tick", value(t, cases[0].Unit))
	}
	for i, c := range cases {
		y := float64(i*rowHeight) + rowHeight/2 + 4
		s.text(labelRoom-10, y+4, "end", "label", shorten(c.Title, 52))
		s.add(`<g class="%s"><title>%s: %s (%s to %s)</title>`, classOf(c.Subject), html.EscapeString(c.Title), value(c.P50, c.Unit), value(c.Low, c.Unit), value(c.High, c.Unit))
		s.line(x.at(c.spread(0.05)), y, x.at(c.spread(0.95)), y, "bar")
		s.add(`<circle cx="%.1f" cy="%.1f" r="5" class="dot"/></g>`, x.at(c.P50), y)
		s.text(plotWidth-valueRoom+8, y+4, "start", "value", value(c.P50, c.Unit))
	}
	return s.done(title)
}

// spread is a quantile of the samples, from what a result keeps of them.
func (c Case) spread(q float64) float64 {
	if len(c.Quantiles) == 0 {
		return c.P50
	}
	return quantile(c.Quantiles, q)
}

// point is one point of a curve.
type point struct{ x, y, low, high float64 }

// curve is one line of a line plot.
type curve struct {
	name   string
	class  string
	points []point
}

// axes say what a line plot's numbers are.
type axes struct {
	x, y   func(float64) string
	xTitle string
	logX   bool
	logY   bool
}

// lines draws curves with a band for their intervals.
func lines(title string, a axes, curves []curve) string {
	const left, right, top, height = 70, 170, 10, 260
	s := &svg{width: plotWidth, height: top + height + 44}
	var xs, ys []float64
	for _, c := range curves {
		for _, p := range c.points {
			xs, ys = append(xs, p.x), append(ys, p.y, p.low, p.high)
		}
	}
	x := logScale(xs, left, plotWidth-right)
	x.low, x.high = minimum(xs), maximum(xs)
	x.logarithmic = a.logX
	y := logScale(ys, top+height, top)
	if !a.logY {
		y = scale{high: maximum(ys) * 1.1, from: top + height, to: top}
	}
	for _, t := range y.ticks() {
		s.line(left, y.at(t), plotWidth-right, y.at(t), "grid")
		s.text(left-8, y.at(t)+4, "end", "tick", a.y(t))
	}
	seen := map[float64]bool{}
	for _, v := range xs {
		if !seen[v] {
			seen[v] = true
			s.line(x.at(v), top, x.at(v), top+height, "grid")
			s.text(x.at(v), top+height+18, "middle", "tick", a.x(v))
		}
	}
	s.text((left+plotWidth-right)/2, top+height+38, "middle", "tick", a.xTitle)
	for i, c := range curves {
		var path, above, below strings.Builder
		for k, p := range c.points {
			command := "L"
			if k == 0 {
				command = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", command, x.at(p.x), y.at(p.y))
			fmt.Fprintf(&above, "%s%.1f %.1f", command, x.at(p.x), y.at(p.high))
			q := c.points[len(c.points)-1-k]
			fmt.Fprintf(&below, "L%.1f %.1f", x.at(q.x), y.at(q.low))
		}
		s.add(`<g class="%s"><path class="band" d="%s%sZ"/><path class="curve" d="%s"/>`, c.class, above.String(), below.String(), path.String())
		for _, p := range c.points {
			s.add(`<circle cx="%.1f" cy="%.1f" r="3.5" class="dot"><title>%s, %s: %s</title></circle>`, x.at(p.x), y.at(p.y), html.EscapeString(c.name), a.x(p.x), a.y(p.y))
		}
		s.add(`<rect x="%d" y="%d" width="12" height="12" class="dot"/></g>`, plotWidth-right+14, top+i*20)
		s.text(plotWidth-right+32, float64(top+i*20+11), "start", "label", c.name)
	}
	return s.done(title)
}

func minimum(values []float64) float64 {
	m := math.Inf(1)
	for _, v := range values {
		m = min(m, v)
	}
	return m
}

func maximum(values []float64) float64 {
	m := math.Inf(-1)
	for _, v := range values {
		m = max(m, v)
	}
	return m
}

// bars draws groups of bars from one logarithmic axis: for sizes, which have no spread.
func bars(title string, groups []barGroup, names []string, unit Unit) string {
	rows := 0
	var values []float64
	for _, g := range groups {
		rows += len(g.bars)
		for _, b := range g.bars {
			values = append(values, b.value)
		}
	}
	const bar, gap = 15, 10
	s := &svg{width: plotWidth, height: float64(rows*bar + len(groups)*gap + 60)}
	x := logScale(values, labelRoom-80, plotWidth-valueRoom)
	x.binary = unit == Bytes
	bottom := s.height - 56
	for _, t := range x.ticks() {
		s.line(x.at(t), 0, x.at(t), bottom, "grid")
		s.text(x.at(t), bottom+16, "middle", "tick", value(t, unit))
	}
	y := 4.0
	for _, g := range groups {
		s.text(labelRoom-90, y+float64(len(g.bars)*bar)/2+4, "end", "label", shorten(g.name, 36))
		for _, b := range g.bars {
			s.add(`<g class="%s"><title>%s, %s: %s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%d" class="fill"/></g>`,
				b.class, html.EscapeString(g.name), html.EscapeString(b.name), value(b.value, unit), x.from, y, max(1, x.at(b.value)-x.from), bar-2)
			s.text(x.at(b.value)+6, y+10, "start", "small", value(b.value, unit))
			y += bar
		}
		y += gap
	}
	at := float64(labelRoom - 80)
	for i, name := range names {
		s.add(`<g class="s%d"><rect x="%.1f" y="%.1f" width="12" height="12" class="fill"/></g>`, i, at, s.height-18)
		s.text(at+18, s.height-8, "start", "label", name)
		at += 34 + 7*float64(len(name))
	}
	return s.done(title)
}

type barGroup struct {
	name string
	bars []oneBar
}

type oneBar struct {
	name, class string
	value       float64
}

func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}
