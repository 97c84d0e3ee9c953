package transpile

import (
	"unicode/utf8"
)

// lineColumn is the 1-based line and column of a byte offset; columns count UTF-16 code units, as editors do.
func lineColumn(src string, offset int) (line, column int) {
	offset = min(offset, len(src))
	line = 1
	start := 0
	for i := 0; i < offset; {
		n := breakLen(src, i)
		if n == 0 {
			i++
			continue
		}
		if i+n > offset { // inside CRLF or a separator: still that line
			break
		}
		i += n
		line++
		start = i
	}
	return line, utf16Len(src[start:offset]) + 1
}

// breakLen is the length in bytes of the line terminator at i, or 0: LF, CR, CRLF, U+2028 and U+2029.
func breakLen(src string, i int) int {
	switch c := src[i]; {
	case c == '\n':
		return 1
	case c == '\r':
		if i+1 < len(src) && src[i+1] == '\n' {
			return 2
		}
		return 1
	case c == 0xE2 && isLineSeparator(src, i):
		return 3
	}
	return 0
}

func utf16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n++
		if r > 0xFFFF {
			n++
		}
		i += size
	}
	return n
}

func lineStarts(s string) []int32 {
	starts := append(make([]int32, 0, len(s)/24+1), 0)
	for i := 0; i < len(s); {
		n := breakLen(s, i)
		if n == 0 {
			i++
			continue
		}
		i += n
		starts = append(starts, int32(i))
	}
	return starts
}

// utf16Offset is the byte offset of the character that holds the n-th UTF-16 code unit, from 0; ok is false past the end.
func utf16Offset(s string, n int) (offset int, ok bool) {
	for i := 0; i < len(s); {
		if n <= 0 {
			return i, true
		}
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		n--
		if r > 0xFFFF {
			if n == 0 {
				return i, true
			}
			n--
		}
		i += size
	}
	return len(s), n <= 0
}

// breakBefore is the length of the line terminator that ends at i, or 0.
func breakBefore(s string, i int) int {
	switch {
	case s[i-1] == '\n':
		return 1
	case s[i-1] == '\r':
		if i < len(s) && s[i] == '\n' { // inside CRLF
			return 0
		}
		return 1
	case i >= 3 && isLineSeparator(s, i-3):
		return 3
	}
	return 0
}
