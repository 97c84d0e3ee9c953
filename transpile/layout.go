package transpile

import (
	"sort"
	"strings"
)

// keepLayout gives esbuild's output, which has no line breaks of its own, the lines of the input, and the columns where it
// is not behind them already: a cell that reads the stack of an error reads the engine's numbers, which nothing leads back.
// column is what the input's first column is in the text that the output becomes a part of. The map is that of the result
// afterwards; the result is returned.
func (m *sourceMap) keepLayout(column int) string {
	m.once.Do(m.decode)
	starts := lineStarts(m.input)
	lineOf := func(offset int) int {
		return sort.Search(len(starts), func(i int) bool { return int(starts[i]) > offset }) - 1
	}
	first := lineOf(m.inputFrom)
	from := m.inputFrom - column // of the first line

	var b strings.Builder
	line, lineStart := first, -column
	goTo := func(offset int, mayBreak bool) {
		to := lineOf(offset)
		if to > line && mayBreak {
			b.WriteString(strings.Repeat("\n", to-line))
			line, lineStart = to, b.Len()
		}
		start := int(starts[to])
		if to == first {
			start = from
		}
		if to == line {
			b.WriteString(strings.Repeat(" ", max(0, offset-start-(b.Len()-lineStart))))
		}
	}
	text := strings.TrimRight(m.output[m.outputFrom:m.outputTo], "\n")
	points := m.points[:0]
	done := 0
	for _, p := range m.points {
		at := int(p.out) - m.outputFrom
		if at < done || at >= len(text) || int(p.in) < m.inputFrom || int(p.in) > m.inputTo {
			continue
		}
		for _, c := range []byte(text[done:at]) {
			b.WriteByte(c)
			if c == '\n' { // of a template
				line, lineStart = line+1, b.Len()
			}
		}
		done = at
		if at == 0 || text[at-1] != '\n' { // within a template each line has a point as well
			goTo(int(p.in), breakable(text, at))
		}
		points = append(points, point{int32(b.Len()), p.in})
	}
	b.WriteString(text[done:])
	line += strings.Count(text[done:], "\n")
	if n := strings.LastIndexByte(text[done:], '\n'); n >= 0 {
		lineStart = b.Len() - (len(text) - done - n - 1)
	}
	goTo(m.inputTo, true)
	m.points, m.output, m.outputFrom, m.outputTo = points, b.String(), 0, b.Len()
	return m.output
}

// breakable reports whether a line may break before the token at an offset of esbuild's output: nothing ends there that a
// break would end as a statement, or whose operand it would cut off.
func breakable(text string, at int) bool {
	if at == 0 {
		return true
	}
	switch c := text[at-1]; c {
	case ';', '{', '}', '(', '[', ',', ':', '?', '=', '&', '|', '.':
		return true
	case '>':
		return at > 1 && text[at-2] == '='
	case ')':
		return text[at] == '{' || isIdentStart(text[at])
	}
	return false
}
