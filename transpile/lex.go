package transpile

import (
	"strings"
	"unicode/utf8"
)

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
		r, _ := utf8.DecodeRuneInString(src[i+1:])
		if c1 == '\\' || isIdentStart(c1) || c1 >= utf8.RuneSelf && identStartRune(r) {
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
		if r, _ := utf8.DecodeRuneInString(src[i:]); c >= utf8.RuneSelf && identStartRune(r) {
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
