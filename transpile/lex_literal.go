package transpile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanIdent finishes an identifier that has characters outside ASCII or escapes; ASCII up to j is already checked.
func (p *parser) scanIdent(start, j int) {
	src := p.src
	escaped := false
	for j < len(src) {
		c := src[j]
		if isIdentPart(c) {
			j++
			continue
		}
		if c == '\\' {
			end := escapeEnd(src, j)
			if end < 0 {
				p.fail(j, "Unexpected backslash outside a string")
				return
			}
			escaped = true
			j = end
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(src[j:])
		if spaceRune(r) || isLineSeparator(src, j) || !identRune(r) {
			break
		}
		j += n
	}
	p.tok.kind, p.tok.escaped, p.tok.end = kindIdent, escaped, int32(j)
	p.pos = j
	if escaped && !spellsIdent(strings.TrimPrefix(unescapeIdent(src[start:j]), "#")) {
		p.fail(start, "This name has an escaped character that no name can have")
		return
	}
	// An escaped word is what it spells, but it is never a keyword: r\u0065quire is require, \u0069f is no if.
	if k, w := classify(unescapeIdent(src[start:j])); !escaped {
		p.tok.kind, p.tok.word = k, w
	} else if k == kindIdent {
		p.tok.word = w
	}
}

// spellsIdent reports whether s is an identifier.
func spellsIdent(s string) bool {
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if !isIdentPart(byte(r)) || i == 0 && !isIdentStart(byte(r)) {
				return false
			}
		case i == 0 && !identStartRune(r), !identRune(r):
			return false
		}
	}
	return s != ""
}

// escapeEnd is the offset after the \uXXXX or \u{X...} at i, or -1.
func escapeEnd(src string, i int) int {
	if i+2 >= len(src) || src[i+1] != 'u' {
		return -1
	}
	if src[i+2] == '{' {
		j := i + 3
		for j < len(src) && isHex(src[j]) {
			j++
		}
		if j == i+3 || j >= len(src) || src[j] != '}' {
			return -1
		}
		return j + 1
	}
	if i+6 > len(src) {
		return -1
	}
	for _, c := range []byte(src[i+2 : i+6]) {
		if !isHex(c) {
			return -1
		}
	}
	return i + 6
}

// unescapeIdent spells out the \u escapes of an identifier.
func unescapeIdent(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		end := escapeEnd(s, i)
		if end < 0 {
			return s
		}
		r := rune(0)
		for _, c := range strings.Trim(s[i+2:end], "{}") {
			d := c - '0'
			if c > '9' {
				d = (c | 0x20 - 'a') + 10
			}
			if r = r<<4 | d; r > unicode.MaxRune {
				r = unicode.ReplacementChar
			}
		}
		b.WriteRune(r)
		i = end
	}
	return b.String()
}

func (p *parser) scanString(start int, quote byte) {
	src := p.src
	for i := start + 1; i < len(src); i++ {
		switch c := src[i]; c {
		case quote:
			p.tok.kind, p.tok.end, p.pos = kindString, int32(i+1), i+1
			return
		case '\\':
			i++
			if i+1 < len(src) && src[i] == '\r' && src[i+1] == '\n' {
				i++
			}
		case '\n', '\r':
			p.failHint(start, "This string is not closed on its line: add "+string(quote),
				"A string that spans lines is written between backticks.")
			return
		}
	}
	p.failHint(start, "This string is not closed: add "+string(quote), "")
}

func (p *parser) scanNumber(start int) {
	src := p.src
	i := start
	digits := func(ok func(byte) bool) {
		for i < len(src) && (ok(src[i]) || src[i] == '_' && i > start) {
			i++
		}
	}
	switch c1 := p.byteAt(i+1) | 0x20; {
	case src[i] == '0' && (c1 == 'x' || c1 == 'o' || c1 == 'b'):
		i += 2
		digits(isHex)
	default:
		digits(isDigit)
		legacyOctal := i-start > 1 && src[start] == '0'
		if !legacyOctal && p.byteAt(i) == '.' || legacyOctal && p.byteAt(i) == '.' && strings.ContainsAny(src[start:i], "89") {
			i++
			digits(isDigit)
		}
		if e := p.byteAt(i) | 0x20; e == 'e' {
			j := i + 1
			if s := p.byteAt(j); s == '+' || s == '-' {
				j++
			}
			if !isDigit(p.byteAt(j)) {
				p.fail(start, "This number has no digits after its exponent")
				return
			}
			i = j
			digits(isDigit)
		}
	}
	if p.byteAt(i) == 'n' {
		i++
	}
	if c := p.byteAt(i); isIdentPart(c) || c == '\\' {
		p.failHint(i, "A number is followed directly by "+quoteChar(rune(c)), "")
		return
	}
	p.tok.kind, p.tok.end, p.pos = kindNumber, int32(i), i
}

// rescanRegexp reads the regular expression that the current slash opens. The pattern itself is the engine's to judge.
func (p *parser) rescanRegexp() {
	src := p.src
	start := int(p.tok.start)
	inClass := false
	for i := start + 1; i < len(src); i++ {
		switch c := src[i]; c {
		case '\n', '\r':
			p.fail(start, "This regular expression is not closed on its line: add /")
			return
		case '\\':
			i++
			if i < len(src) && (src[i] == '\n' || src[i] == '\r') {
				i--
			}
		case '[':
			inClass = true
		case ']':
			inClass = false
		case '/':
			if inClass {
				continue
			}
			i++
			flags := i
			for i < len(src) && isIdentPart(src[i]) {
				if strings.IndexByte("dgimsuvy", src[i]) < 0 || strings.IndexByte(src[flags:i], src[i]) >= 0 {
					p.fail(i, "A regular expression has no flag %c here: the flags are d g i m s u v y, each once", src[i])
					return
				}
				i++
			}
			p.tok.end, p.pos = int32(i), i
			return
		case 0xE2:
			if isLineSeparator(src, i) {
				p.fail(start, "This regular expression is not closed on its line: add /")
				return
			}
		}
	}
	p.fail(start, "This regular expression is not closed: add /")
}

// scanTemplatePart reads template characters from i to the end of the part. It returns the offset after the closing
// backtick (last) or after the ${ of a substitution.
func (p *parser) scanTemplatePart(i int) (end int, last, ok bool) {
	src := p.src
	for ; i < len(src); i++ {
		switch src[i] {
		case '`':
			return i + 1, true, true
		case '\\':
			i++
			if i < len(src) && src[i] == '\r' {
				i--
			}
		case '$':
			if p.byteAt(i+1) == '{' {
				return i + 2, false, true
			}
		case '\r':
			if p.byteAt(i+1) != '\n' {
				p.oddBreaks = append(p.oddBreaks, int32(i))
			}
		}
	}
	return i, true, false
}
