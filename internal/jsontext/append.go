package jsontext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
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
	b := unsafe.Slice(unsafe.StringData(text), len(text))
	for len(b)-i >= 32 {
		p := (*[32]byte)(b[i:])
		u, v, w, x := load(p, 0), load(p, 8), load(p, 16), load(p, 24)
		if (special(u)|special(v)|special(w)|special(x)|u|v|w|x)&highs != 0 {
			break
		}
		i += 32
	}
	for ; len(b)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := (special(w) | w) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}
