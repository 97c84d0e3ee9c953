package transpile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Character classes of ASCII, for the lexer's inner loops.
const (
	charIdentStart = 1 << iota // a-z A-Z $ _
	charDigit
	charLower // a-z
	charHex
)

var charClass = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= charIdentStart | charLower
		t[c-'a'+'A'] |= charIdentStart
	}
	t['$'] |= charIdentStart
	t['_'] |= charIdentStart
	for c := '0'; c <= '9'; c++ {
		t[c] |= charDigit | charHex
	}
	for c := 'a'; c <= 'f'; c++ {
		t[c] |= charHex
		t[c-'a'+'A'] |= charHex
	}
	return t
}()

func isDigit(c byte) bool      { return charClass[c]&charDigit != 0 }
func isHex(c byte) bool        { return charClass[c]&charHex != 0 }
func isIdentStart(c byte) bool { return charClass[c]&charIdentStart != 0 }
func isIdentPart(c byte) bool  { return charClass[c]&(charIdentStart|charDigit) != 0 }

// identRune reports whether a character outside ASCII may be part of an identifier. Code points that this build's
// Unicode tables do not know are let through: the engine's tables may be newer, and it has the last word.
func identRune(r rune) bool {
	if r == '\u200c' || r == '\u200d' || r == '\u30fb' || r == '\uff65' { // joiners; ID_Continue since Unicode 15.1
		return true
	}
	if unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc,
		unicode.Other_ID_Start, unicode.Other_ID_Continue) {
		return true
	}
	return !unicode.In(r, unicode.C, unicode.P, unicode.S, unicode.Z, unicode.No, unicode.Me)
}

func spaceRune(r rune) bool { return r == 0xFEFF || unicode.Is(unicode.Zs, r) }

// isLineSeparator reports whether U+2028 or U+2029 stands at offset i.
func isLineSeparator(s string, i int) bool {
	return s[i] == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xA8
}

// byteAt is the byte at offset i, or 0 past the end.
func (p *parser) byteAt(i int) byte {
	if i < len(p.src) {
		return p.src[i]
	}
	return 0
}

// skipSpace moves over white space and comments and reports whether there was a line terminator.
func (p *parser) skipSpace(i int) (int, bool) {
	src := p.src
	newline := i == 0
	for i < len(src) {
		switch c := src[i]; c {
		case ' ', '\t', '\v', '\f':
			i++
		case '\n':
			newline = true
			i++
		case '\r':
			newline = true
			if p.byteAt(i+1) != '\n' {
				p.oddBreaks = append(p.oddBreaks, int32(i))
			}
			i++
		case '/':
			switch p.byteAt(i + 1) {
			case '/':
				i = p.skipLine(i + 2)
			case '*':
				end, nl := p.skipBlockComment(i)
				if end < 0 {
					p.fail(i, "This comment is not closed: add */")
					return len(src), newline
				}
				i, newline = end, newline || nl
			default:
				return i, newline
			}
		case '<': // <!-- opens a line comment in a script
			if !strings.HasPrefix(src[i:], "<!--") {
				return i, newline
			}
			i = p.skipLine(i + 4)
		case '-': // --> at the start of a line does too
			if !newline || !strings.HasPrefix(src[i:], "-->") {
				return i, newline
			}
			i = p.skipLine(i + 3)
		default:
			if c < utf8.RuneSelf {
				return i, newline
			}
			if isLineSeparator(src, i) {
				newline = true
				p.oddBreaks = append(p.oddBreaks, int32(i))
				i += 3
				continue
			}
			r, n := utf8.DecodeRuneInString(src[i:])
			if !spaceRune(r) {
				return i, newline
			}
			i += n
		}
	}
	return i, newline
}

// skipLine moves to the line terminator that ends a line comment.
func (p *parser) skipLine(i int) int {
	src := p.src
	for i < len(src) && src[i] != '\n' && src[i] != '\r' && !(src[i] == 0xE2 && isLineSeparator(src, i)) {
		i++
	}
	return i
}

// skipBlockComment moves past the comment that opens at i; the end is negative when it is not closed.
func (p *parser) skipBlockComment(i int) (end int, newline bool) {
	n := strings.Index(p.src[i+2:], "*/")
	if n < 0 {
		return -1, false
	}
	end = i + 2 + n + 2
	for ; i < end; i++ {
		switch c := p.src[i]; {
		case c == '\n':
			newline = true
		case c == '\r':
			newline = true
			if p.src[i+1] != '\n' {
				p.oddBreaks = append(p.oddBreaks, int32(i))
			}
		case c == 0xE2 && isLineSeparator(p.src, i):
			newline = true
			p.oddBreaks = append(p.oddBreaks, int32(i))
		}
	}
	return end, newline
}

// next reads the next token into p.tok. A slash is always division here; the parser calls rescanRegexp where an
// expression may begin.
func (p *parser) next() {
	p.prevEnd = p.tok.end
	if p.err != nil {
		return
	}
	if p.steps++; p.steps > stepsPerByte*len(p.src)+stepsFloor {
		p.fail(int(p.tok.start), "The source is too ambiguous to read: simplify it from here")
		p.err.final = true
		return
	}
	src := p.src
	i, newline := p.skipSpace(p.pos)
	if p.err != nil {
		return
	}
	t := &p.tok
	t.word, t.escaped, t.newline, t.start = wordNone, false, newline, int32(i)
	if i >= len(src) {
		t.kind, t.end = kindEOF, int32(len(src))
		p.pos = len(src)
		return
	}
	c := src[i]
	if isIdentStart(c) {
		lower := charClass[c]
		j := i + 1
		for j < len(src) && isIdentPart(src[j]) {
			lower &= charClass[src[j]]
			j++
		}
		if j < len(src) && (src[j] == '\\' || src[j] >= utf8.RuneSelf) {
			p.scanIdent(i, j)
			return
		}
		t.kind = kindIdent
		if lower&charLower != 0 && j-i >= 2 && j-i <= 11 {
			t.kind, t.word = classify(src[i:j])
		}
		t.end, p.pos = int32(j), j
		return
	}
	k, n := kindEOF, 1
	c1 := p.byteAt(i + 1)
	switch c {
	case '{':
		k = kindLBrace
	case '}':
		k = kindRBrace
	case '(':
		k = kindLParen
	case ')':
		k = kindRParen
	case '[':
		k = kindLBracket
	case ']':
		k = kindRBracket
	case ';':
		k = kindSemicolon
	case ',':
		k = kindComma
	case ':':
		k = kindColon
	case '~':
		k = kindTilde
	case '@':
		k = kindAt
	case '`':
		k = kindTemplate
	case '"', '\'':
		p.scanString(i, c)
		return
	case '.':
		switch {
		case isDigit(c1):
			p.scanNumber(i)
			return
		case c1 == '.' && p.byteAt(i+2) == '.':
			k, n = kindEllipsis, 3
		default:
			k = kindDot
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.scanNumber(i)
		return
	case '=':
		switch {
		case c1 == '>':
			k, n = kindArrow, 2
		case c1 == '=' && p.byteAt(i+2) == '=':
			k, n = kindEq, 3
		case c1 == '=':
			k, n = kindEq, 2
		default:
			k = kindAssign
		}
	case '!':
		switch {
		case c1 == '=' && p.byteAt(i+2) == '=':
			k, n = kindEq, 3
		case c1 == '=':
			k, n = kindEq, 2
		default:
			k = kindNot
		}
	case '+':
		k, n = operator(c1, '+', kindPlus, kindInc)
	case '-':
		k, n = operator(c1, '-', kindMinus, kindDec)
	case '%':
		k, n = operator(c1, 0, kindPercent, 0)
	case '/':
		k, n = operator(c1, 0, kindSlash, 0)
	case '^':
		k, n = operator(c1, 0, kindBitXor, 0)
	case '*':
		k, n = operator(c1, '*', kindStar, kindPower)
	case '&':
		k, n = operator(c1, '&', kindBitAnd, kindAnd)
	case '|':
		k, n = operator(c1, '|', kindBitOr, kindOr)
	case '?':
		switch {
		case c1 == '?':
			k, n = kindCoalesce, 2
		case c1 == '.' && !isDigit(p.byteAt(i+2)):
			k, n = kindQuestionDot, 2
		default:
			k = kindQuestion
		}
	case '<':
		switch {
		case c1 == '<':
			k, n = kindShiftLeft, 2
		case c1 == '=':
			k, n = kindLessEq, 2
		default:
			k = kindLess
		}
	case '>':
		switch {
		case c1 == '>' && p.byteAt(i+2) == '>':
			k, n = kindShiftRight, 3
		case c1 == '>':
			k, n = kindShiftRight, 2
		case c1 == '=':
			k, n = kindGreaterEq, 2
		default:
			k = kindGreater
		}
	case '#':
		if c1 == '\\' || isIdentStart(c1) || c1 >= utf8.RuneSelf {
			p.scanIdent(i, i+1)
			if p.err == nil {
				t.kind = kindPrivate
			}
			return
		}
		p.failChar(i)
		return
	default:
		if c == '\\' {
			p.scanIdent(i, i)
			return
		}
		if r, _ := utf8.DecodeRuneInString(src[i:]); c >= utf8.RuneSelf && identRune(r) {
			p.scanIdent(i, i)
			return
		}
		p.failChar(i)
		return
	}
	// Two-character operators followed by = are assignments: **= &&= ||= ??= <<= >>= >>>=
	switch k {
	case kindPower, kindAnd, kindOr, kindCoalesce, kindShiftLeft, kindShiftRight:
		if p.byteAt(i+n) == '=' {
			k, n = kindAssignOp, n+1
		}
	}
	t.kind, t.end, p.pos = k, int32(i+n), i+n
}

// operator picks among x, xx and x= from the character after x.
func operator(c1, double byte, single, doubled kind) (kind, int) {
	switch {
	case c1 == '=':
		return kindAssignOp, 2
	case double != 0 && c1 == double:
		return doubled, 2
	}
	return single, 1
}

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
	if escaped {
		// The word is what it spells, but it is never a keyword: r\u0065quire is require, \u0069f is no if.
		if k, w := classify(unescapeIdent(src[start:j])); k == kindIdent {
			p.tok.word = w
		}
	}
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
			for i < len(src) && isIdentPart(src[i]) {
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
