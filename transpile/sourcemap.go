package transpile

import (
	"encoding/json"
	"sort"
	"sync"
)

// A sourceMap is the way back through esbuild. It is decoded when the first position is asked for, which for most cells
// is never.
type sourceMap struct {
	json                 []byte
	output               string // what esbuild wrote; offsets count from outputFrom
	outputFrom, outputTo int
	input                string // what it was given; offsets count from inputFrom
	inputFrom, inputTo   int

	once   sync.Once
	points []point
}

// A point pairs a byte offset of the output with one of the input.
type point struct{ out, in int32 }

// back leads to the nearest point at or before the offset on its line, or the first one after it.
func (m *sourceMap) back(offset int) (int, bool) {
	m.once.Do(m.decode)
	offset += m.outputFrom
	if offset > m.outputTo {
		return 0, false
	}
	n := sort.Search(len(m.points), func(i int) bool { return int(m.points[i].out) > offset })
	var in int
	switch {
	case n > 0 && m.sameLine(int(m.points[n-1].out), offset):
		in = int(m.points[n-1].in)
		// Within a token that was copied the offset goes on counting.
		if d := offset - int(m.points[n-1].out); d > 0 && in+d <= len(m.input) && int(m.points[n-1].out)+d <= len(m.output) &&
			m.input[in:in+d] == m.output[int(m.points[n-1].out):int(m.points[n-1].out)+d] {
			in += d
		}
	case n < len(m.points) && m.sameLine(offset, int(m.points[n].out)):
		in = int(m.points[n].in)
	default:
		return 0, false
	}
	if in < m.inputFrom || in > m.inputTo {
		return 0, false
	}
	return in - m.inputFrom, true
}

func (m *sourceMap) sameLine(a, b int) bool {
	for i := a; i < b; i++ {
		if m.output[i] == '\n' {
			return false
		}
	}
	return true
}

// decode reads the mappings: groups of base-64 numbers, relative to the group before; see
// https://tc39.es/ecma426/. Columns there count UTF-16 code units.
func (m *sourceMap) decode() {
	var file struct {
		Mappings string `json:"mappings"`
	}
	if json.Unmarshal(m.json, &file) != nil {
		return
	}
	m.json = nil
	out := columnCursor{text: m.output, starts: feedStarts(m.output)}
	in := columnCursor{text: m.input, starts: lineStarts(m.input)}
	line, column := 0, 0
	sourceLine, sourceColumn := 0, 0
	s := file.Mappings
	for i := 0; i < len(s); {
		switch s[i] {
		case ';':
			line++
			column = 0
			i++
			continue
		case ',':
			i++
			continue
		}
		var fields [5]int
		n := 0
		for i < len(s) && s[i] != ',' && s[i] != ';' && n < len(fields) {
			v, next, ok := vlq(s, i)
			if !ok {
				return
			}
			fields[n] = v
			n++
			i = next
		}
		column += fields[0]
		if n < 4 {
			continue
		}
		sourceLine += fields[2]
		sourceColumn += fields[3]
		from, ok1 := out.offset(line, column)
		to, ok2 := in.offset(sourceLine, sourceColumn)
		if !ok1 || !ok2 {
			return
		}
		m.points = append(m.points, point{from, to})
	}
}

// A columnCursor finds byte offsets of lines and UTF-16 columns, fast when asked in order.
type columnCursor struct {
	text   string
	starts []int32
	line   int
	column int
	at     int32
}

func (c *columnCursor) offset(line, column int) (int32, bool) {
	if line < 0 || line >= len(c.starts) {
		return 0, false
	}
	if line != c.line || column < c.column || c.at < c.starts[line] {
		c.line, c.column, c.at = line, 0, c.starts[line]
	}
	n, _ := utf16Offset(c.text[c.at:], column-c.column)
	c.column, c.at = column, c.at+int32(n)
	return c.at, true
}

// feedStarts has the start of every line that a line feed ends.
func feedStarts(s string) []int32 {
	starts := []int32{0}
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' {
			starts = append(starts, int32(i+1))
		}
	}
	return starts
}

// vlq reads one number at i.
func vlq(s string, i int) (value, next int, ok bool) {
	shift := 0
	for i < len(s) && shift < 31 {
		d := base64Digit(s[i])
		if d < 0 {
			return 0, i, false
		}
		i++
		value |= (d & 31) << shift
		if d&32 == 0 {
			if value&1 != 0 {
				return -(value >> 1), i, true
			}
			return value >> 1, i, true
		}
		shift += 5
	}
	return 0, i, false
}

func base64Digit(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}
