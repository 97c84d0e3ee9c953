package transpile

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// ---- failures

func (p *parser) fail(at int, format string, args ...any) {
	if p.err != nil || p.quiet > 0 {
		p.failHint(at, format, "")
		return
	}
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	p.failHint(at, msg, "")
}

func (p *parser) failHint(at int, msg, hint string) {
	if p.err == nil {
		p.err = &parseError{at: at, reached: max(at, int(p.tok.start)), msg: msg, hint: hint, plain: true}
	}
	end := int32(len(p.src))
	p.tok = token{kind: kindEOF, start: end, end: end}
	p.pos = len(p.src)
}

// failSurely is fail where esbuild is known to let through what the engine does not.
func (p *parser) failSurely(at int, format string, args ...any) {
	first := p.err == nil
	p.fail(at, format, args...)
	p.err.sure = p.err.sure || first
}

// unexpected fails at the current token.
func (p *parser) unexpected() {
	if p.err != nil {
		return
	}
	defer p.unsure()
	at := int(p.tok.start)
	if p.tok.kind == kindEOF {
		p.failHint(at, "The source ends too early", "Something is not finished; the text may have been cut off.")
		return
	}
	hint := ""
	if p.is(kindRParen) || p.is(kindRBracket) || p.is(kindRBrace) {
		hint = "Something before it is missing, or a bracket of another kind is still open."
	}
	p.failHint(at, "Unexpected "+p.describe(p.tok), hint)
}

// unsure says of the failure that another parser may explain it better.
func (p *parser) unsure() { p.err.plain = false }

// wanted fails at the current token and says what should stand there.
func (p *parser) wanted(what string) {
	if p.err != nil {
		return
	}
	defer p.unsure()
	if p.tok.kind == kindEOF {
		p.fail(int(p.tok.start), "The source ends where %s was expected", what)
		return
	}
	p.fail(int(p.tok.start), "Expected %s but found %s", what, p.describe(p.tok))
}

// failChar fails at a character that no token begins with.
func (p *parser) failChar(i int) {
	r, _ := utf8.DecodeRuneInString(p.src[i:])
	hint := ""
	switch r {
	case '\u2018', '\u2019', '\u201c', '\u201d', '\u00ab', '\u00bb':
		hint = "Use straight quotes: ' or \"."
	case '\u2026':
		hint = "Write the elided code in full."
	}
	p.failHint(i, "Unexpected character "+quoteChar(r), hint)
}

func quoteChar(r rune) string {
	if r < 0x20 || r >= 0x7f && !unicode.IsPrint(r) {
		return fmt.Sprintf("U+%04X", r)
	}
	return string(r)
}

// describe names a token in a message: the token itself, shortened.
func (p *parser) describe(t token) string {
	text := p.src[t.start:t.end]
	if len(text) > 40 {
		cut := 37
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	switch t.kind {
	case kindEOF:
		return "the end of the source"
	case kindString:
		return "string " + text
	case kindTemplate:
		return "template literal"
	case kindNumber:
		return "number " + text
	case kindIdent, kindPrivate:
		return "name " + strconv.Quote(text)
	}
	if t.kind.reserved() {
		return "keyword " + strconv.Quote(text)
	}
	return text
}
