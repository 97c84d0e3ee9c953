package transpile

import (
	"slices"
	"strings"
)

// applyEdits rewrites text and returns the way back, or nil when every byte kept its place.
// Edits may come in any order; one that lies inside another is dropped.
func applyEdits(text string, edits []edit) (string, layer) {
	if len(edits) == 0 {
		return text, nil
	}
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.at != b.at {
			return int(a.at) - int(b.at)
		}
		if (a.at == a.end) != (b.at == b.end) { // insertions first
			if a.at == a.end {
				return -1
			}
			return 1
		}
		return int(b.end) - int(a.end) // then the longer
	})
	var b strings.Builder
	b.Grow(len(text) + 64)
	var anchors anchorLayer
	cursor := int32(0)
	for _, e := range edits {
		if e.at < cursor {
			continue
		}
		b.WriteString(text[cursor:e.at])
		cursor = e.end
		if e.blank {
			writeBlank(&b, text[e.at:e.end], e.lead, e.tail)
			continue
		}
		if len(e.text) == int(e.end-e.at) && e.via == nil {
			b.WriteString(e.text)
			continue
		}
		anchors = append(anchors, anchor{out: int32(b.Len()), in: e.at, inserted: e.via == nil && !e.leads, leads: e.leads, via: e.via})
		b.WriteString(e.text)
		anchors = append(anchors, anchor{out: int32(b.Len()), in: e.end})
	}
	b.WriteString(text[cursor:])
	if anchors == nil {
		return b.String(), nil
	}
	return b.String(), anchors
}

// writeBlank writes as many spaces as s has bytes. Line terminators stay, as line feeds where the engine would not count
// them.
func writeBlank(b *strings.Builder, s string, lead, tail byte) {
	for i := 0; i < len(s); i++ {
		c := byte(' ')
		switch {
		case i == 0 && lead != 0:
			c = lead
		case i == len(s)-1 && tail != 0:
			c = tail
		case s[i] == '\n' || s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n':
			c = s[i]
		case s[i] == '\r':
			c = '\n'
		case i >= 2 && isLineSeparator(s, i-2): // the last byte of U+2028
			c = '\n'
		}
		b.WriteByte(c)
	}
}

// blankText is s with every character blank.
func blankText(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	writeBlank(&b, s, 0, 0)
	return b.String()
}
