package transpile

// ---- arrow functions with types

// arrowHead passes type parameters, parameters and return type up to the arrow.
func (p *parser) arrowHead(async bool) bool {
	outer := p.enterFunction(async, false, !async)
	p.typeParameters()
	p.parameters(false)
	p.arrowReturnType()
	ok := p.err == nil && p.is(kindArrow) && !p.tok.newline
	p.leaveFunction(outer)
	return ok
}

// tryArrow reads an arrow function from its parenthesis if it is one.
func (p *parser) tryArrow(start int32) (expr, bool) {
	if t := p.peek(); t.kind != kindRParen && t.kind != kindIdent && t.kind != kindLBrace && t.kind != kindLBracket &&
		t.kind != kindEllipsis && t.kind != kindThis && t.kind != kindAt {
		return expr{}, false
	}
	m := p.mark()
	ok := p.try(func() bool { return p.arrowHead(false) })
	if ok {
		p.rewind(m)
		p.knowParen(start, true)
		if p.ts.inTrueBranch {
			// a ? (b) : c => d is a conditional; a ? (b): c => d : e has an arrow function in it.
			ok = p.try(func() bool {
				p.arrow(start, false)
				return !p.ts.arrowTyped || p.is(kindColon)
			})
			if ok {
				p.rewind(m)
			}
		}
	}
	if !ok {
		p.knowParen(start, false)
		return expr{}, false
	}
	return p.arrow(start, false), true
}

func (p *parser) tryAsyncArrow(start, open int32) (expr, bool) {
	m := p.mark()
	ok := p.try(func() bool { return p.arrowHead(true) })
	p.knowParen(open, ok)
	if !ok {
		return expr{}, false
	}
	p.rewind(m)
	return p.arrow(start, true), true
}

// genericArrow reads `<T>(x: T) => x` if that is what stands here.
func (p *parser) genericArrow() (expr, bool) {
	start := p.tok.start
	m := p.mark()
	if !p.try(func() bool { return p.arrowHead(false) }) {
		return expr{}, false
	}
	p.rewind(m)
	p.linesBeforeParameters()
	return p.arrow(start, false), true
}

// genericAsyncArrow reads `async <T>(x: T) => x` if that is what stands here.
func (p *parser) genericAsyncArrow() (expr, bool) {
	start := p.tok.start
	m := p.mark()
	if !p.try(func() bool { p.next(); return p.arrowHead(true) }) {
		return expr{}, false
	}
	p.rewind(m)
	p.next()
	p.linesBeforeParameters()
	return p.arrow(start, true), true
}

// linesBeforeParameters leaves type parameters of several lines to esbuild: blank lines there could end a statement.
func (p *parser) linesBeforeParameters() {
	m := p.mark()
	start := p.tok.start
	p.typeParameters()
	lines := p.spansLines(start, p.tok.start)
	if p.err == nil {
		p.rewind(m)
	}
	if lines {
		p.compile("type parameters over several lines")
	}
}
