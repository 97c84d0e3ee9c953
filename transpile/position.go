package transpile

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Position is a place in the submitted text. Line and Column count from 1. Lines end with LF, CR, CRLF, U+2028 or
// U+2029. Columns count UTF-16 code units, as editors and other JavaScript engines do.
type Position struct{ Line, Column int }

// A Location is a position with the line it is on, for whoever reads the message.
type Location struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	// LineText is the line without its terminator. Of a long line it is the part around the column, about 160 code
	// units, with … where something was left out.
	LineText string `json:"lineText"`

	caret int // the column within LineText, from 1
}

const maxLineText = 160

// Caret shows the line with a mark under the column, in two lines:
//
//	3 | const x = ;
//	  |           ^
func (l Location) Caret() string {
	number := fmt.Sprintf("%3d", l.Line)
	column := l.LineColumn()
	var pad strings.Builder
	n := 1
	for _, r := range l.LineText {
		if n >= column {
			break
		}
		switch {
		case r == '\t':
			pad.WriteByte('\t')
		case wideRune(r):
			pad.WriteString("  ")
		default:
			pad.WriteByte(' ')
		}
		n++
		if r > 0xFFFF {
			n++
		}
	}
	for ; n < column && n <= maxLineText; n++ {
		pad.WriteByte(' ')
	}
	return number + " | " + printable(l.LineText) + "\n" + strings.Repeat(" ", len(number)) + " | " + pad.String() + "^"
}

// LineColumn is the column within LineText, which is Column where nothing was left out.
func (l Location) LineColumn() int {
	if l.caret == 0 {
		return l.Column
	}
	return l.caret
}

// wideRune reports whether a terminal shows a character two columns wide, near enough.
func wideRune(r rune) bool {
	return r >= 0x1100 && r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0x1F300 && r <= 0x1FAFF
}

// printable replaces control characters, which would move a terminal's cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' || r == 0x7f {
			return '\ufffd'
		}
		return r
	}, s)
}

// A lineIndex finds lines by offset and offsets by line, once it is asked.
type lineIndex struct {
	once   sync.Once
	starts []int32
}

// sourceLines has the start of every line of the submitted text.
func (c *Cell) sourceLines() []int32 {
	c.lines.once.Do(func() { c.lines.starts = lineStarts(c.source) })
	return c.lines.starts
}

// bodyLines has the start of every line of Body as the engine counts lines: each ends with a line feed. See lineBreaks
// for how Body is made so that this is right.
func (c *Cell) bodyLines() []int32 {
	c.body.once.Do(func() {
		c.body.starts = append(c.body.starts, 0)
		for i := 0; i < len(c.Body); i++ {
			if c.Body[i] == '\n' {
				c.body.starts = append(c.body.starts, int32(i+1))
			}
		}
	})
	return c.body.starts
}

// Position leads from a position in Body to one in the submitted text. Both count from 1. column counts bytes of UTF-8,
// as QuickJS reports it; the result's column counts UTF-16 code units. ok is false where Body has no text of the user's:
// outside it, or in what was inserted. An inserted `return` leads to the expression that it returns.
func (c *Cell) Position(line, column int) (pos Position, ok bool) {
	starts := c.bodyLines()
	if line < 1 || line > len(starts) {
		return Position{}, false
	}
	offset := int(starts[line-1]) + max(column, 1) - 1
	end := len(c.Body)
	if line < len(starts) {
		end = int(starts[line]) - 1
	}
	offset = min(offset, end)
	for _, l := range c.layers {
		if offset, ok = l.back(offset); !ok {
			return Position{}, false
		}
	}
	return c.at(offset), true
}

// at is the position of a byte offset in the submitted text.
func (c *Cell) at(offset int) Position {
	starts := c.sourceLines()
	offset = max(0, min(offset, len(c.source)))
	n := sort.Search(len(starts), func(i int) bool { return int(starts[i]) > offset })
	for offset > 0 && offset < len(c.source) && !utf8.RuneStart(c.source[offset]) {
		offset--
	}
	if offset > 0 && offset < len(c.source) && c.source[offset-1] == '\r' && c.source[offset] == '\n' {
		offset-- // the line ends before its terminator
	}
	return Position{Line: n, Column: utf16Len(c.source[starts[n-1]:offset]) + 1}
}

// Locate adds the source line to a position. A position outside the text is moved to the nearest one in it.
func (c *Cell) Locate(p Position) Location {
	starts := c.sourceLines()
	line := max(1, min(p.Line, len(starts)))
	return locate(c.source[starts[line-1]:], Position{Line: line, Column: p.Column})
}

// locate makes a Location from a text that begins with the position's line.
func locate(rest string, p Position) Location {
	end := 0
	for end < len(rest) && breakLen(rest, end) == 0 {
		end++
	}
	text := rest[:end]
	width := utf16Len(text)
	p.Column = max(1, min(p.Column, width+1))
	l := Location{Line: p.Line, Column: p.Column, LineText: text, caret: p.Column}
	if width <= maxLineText {
		return l
	}
	from := max(0, p.Column-1-maxLineText/2)
	to := min(width, from+maxLineText)
	from = max(0, to-maxLineText)
	start, _ := utf16Offset(text, from)
	stop, _ := utf16Offset(text, to)
	l.LineText = text[start:stop]
	l.caret = utf16Len(text[start:]) - utf16Len(text) + p.Column
	if start > 0 {
		l.LineText = "…" + l.LineText
		l.caret++
	}
	if stop < len(text) {
		l.LineText += "…"
	}
	return l
}

// locationAt is the Location of a byte offset in a text.
func locationAt(source string, offset int) *Location {
	offset = max(0, min(offset, len(source)))
	line, column := lineColumn(source, offset)
	start := offset
	for start > 0 {
		if n := breakBefore(source, start); n > 0 {
			break
		}
		start--
	}
	l := locate(source[start:], Position{line, column})
	return &l
}

// A layer leads from offsets in one form of the text to offsets in the form before it.
type layer interface {
	// back is ok where the offset is in text that the form before had too.
	back(offset int) (before int, ok bool)
}

func appendLayer(l layer, rest []layer) []layer {
	if l == nil {
		return rest
	}
	return append([]layer{l}, rest...)
}

// An anchorLayer is the way back through edits that moved text. Between two anchors offsets differ by a constant.
type anchorLayer []anchor

type anchor struct {
	out, in  int32
	inserted bool  // from out to the next anchor nothing is of the form before
	leads    bool  // from out to the next anchor everything is at in
	via      layer // from out to the next anchor the text was made from what stands at in
}

func (l anchorLayer) back(offset int) (int, bool) {
	n := sort.Search(len(l), func(i int) bool { return int(l[i].out) > offset })
	if n == 0 {
		return offset, true
	}
	a := l[n-1]
	switch {
	case a.via != nil:
		before, ok := a.via.back(offset - int(a.out))
		return int(a.in) + before, ok
	case a.inserted:
		return int(a.in), false
	case a.leads:
		return int(a.in), true
	}
	return int(a.in) + offset - int(a.out), true
}
