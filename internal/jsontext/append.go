package jsontext

import (
	"math/bits"
	"unicode/utf8"
)

// AppendString appends a text as a JSON string, as encoding/json writes it without HTML escapes.
func AppendString(to []byte, text string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for start, i := 0, 0; ; start = i {
		i = asciiRun(text, start)
		to = append(to, text[start:i]...)
		if i == len(text) {
			return append(to, '"')
		}
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				to = append(to, `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				to = append(to, `\u202`...)
				to = append(to, hex[r&0xF])
			default:
				to = append(to, text[i:i+size]...)
			}
			i += size
			continue
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c == '\b':
			to = append(to, `\b`...)
		case c == '\f':
			to = append(to, `\f`...)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\r':
			to = append(to, `\r`...)
		case c == '\t':
			to = append(to, `\t`...)
		default:
			to = append(to, `\u00`...)
			to = append(to, hex[c>>4], hex[c&0xF])
		}
		i++
	}
}

// asciiRun is the index of the first byte from i on that is not ASCII or that a string has to escape, or the length of
// the text.
func asciiRun(text string, i int) int {
	for ; len(text)-i >= 8; i += 8 {
		w := word(text, i)
		if m := special(w) | w&highs; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(text) && text[i] >= 0x20 && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// word is eight bytes of a text. The compiler makes one load of it.
func word(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}
