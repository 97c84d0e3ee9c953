package transpile

import (
	"fmt"
)

// ---- token help

func (p *parser) is(k kind) bool     { return p.tok.kind == k }
func (p *parser) isWord(w word) bool { return p.tok.word == w && !p.tok.escaped }

func (p *parser) eat(k kind) bool {
	if p.tok.kind != k {
		return false
	}
	p.next()
	return true
}

var spellings = map[kind]string{
	kindLBrace: "{", kindRBrace: "}", kindLParen: "(", kindRParen: ")", kindLBracket: "[", kindRBracket: "]",
	kindColon: ":", kindArrow: "=>", kindAssign: "=", kindWhile: "while", kindComma: ",", kindLess: "<", kindGreater: ">",
}

func (p *parser) expect(k kind) {
	if p.tok.kind != k {
		p.wanted(spellings[k])
		return
	}
	p.next()
}

// closing expects the bracket that closes the one at open.
func (p *parser) closing(k kind, open int32) {
	if p.tok.kind == k {
		p.next()
		return
	}
	if p.err != nil || p.quiet > 0 {
		p.failHint(int(p.tok.start), "", "")
		return
	}
	defer p.unsure()
	line, column := lineColumn(p.src, int(open))
	opener := p.src[open : open+1]
	if p.tok.kind == kindEOF {
		p.failHint(int(p.tok.start), fmt.Sprintf("The source ends before the %s of line %d, column %d is closed", opener, line, column),
			fmt.Sprintf("Add the missing %s; the text may have been cut off.", spellings[k]))
		return
	}
	p.fail(int(p.tok.start), "Expected %s to close the %s of line %d, column %d, but found %s",
		spellings[k], opener, line, column, p.describe(p.tok))
}

// peek is the token after the current one.
func (p *parser) peek() token {
	if p.err != nil {
		return p.tok
	}
	m := p.mark()
	p.next()
	t := p.tok
	p.rewind(m)
	return t
}

// A mark is a place to go back to.
type mark struct {
	pos                                      int
	tok                                      token
	prevEnd                                  int32
	refs, findings, edits, erasures, nspaces int
	coverInit, assignStart                   int32
	depth                                    int
	compiles                                 string
}

func (p *parser) mark() mark {
	return mark{
		pos: p.pos, tok: p.tok, prevEnd: p.prevEnd,
		refs: len(p.refs), findings: len(p.findings), edits: len(p.edits),
		erasures: len(p.ts.erasures), nspaces: len(p.ts.namespaces),
		coverInit: p.coverInit, assignStart: p.assignStart, depth: p.depth, compiles: p.ts.compiles,
	}
}

// rewind goes back to m and forgets everything noted since, a failure included. There must have been none before m.
func (p *parser) rewind(m mark) {
	p.pos, p.tok, p.prevEnd = m.pos, m.tok, m.prevEnd
	p.refs, p.findings, p.edits = p.refs[:m.refs], p.findings[:m.findings], p.edits[:m.edits]
	p.ts.erasures, p.ts.namespaces = p.ts.erasures[:m.erasures], p.ts.namespaces[:m.nspaces]
	p.coverInit, p.assignStart, p.depth = m.coverInit, m.assignStart, m.depth
	p.ts.compiles = m.compiles
	p.err = nil
}

// semicolon ends a statement, by the rules of automatic semicolon insertion.
func (p *parser) semicolon() {
	switch p.tok.kind {
	case kindSemicolon:
		p.next()
	case kindRBrace, kindEOF:
	default:
		if !p.tok.newline {
			p.unexpected()
		}
	}
}

// nest counts a level of nesting; every caller leaves it with p.depth--.
func (p *parser) nest() {
	p.depth++
	if p.depth > maxDepth && p.err == nil {
		p.fail(int(p.tok.start), "The source nests more than %d levels deep", maxDepth)
		p.err.final = true
	}
}

// text is the current token's identifier, escapes spelt out.
func (p *parser) text(t token) string {
	s := p.src[t.start:t.end]
	if t.escaped {
		return unescapeIdent(s)
	}
	return s
}
