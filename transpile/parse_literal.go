package transpile

// literal reads an array, an object or a class.
func (p *parser) literal() expr {
	switch p.tok.kind {
	case kindLBracket:
		return p.arrayLiteral()
	case kindLBrace:
		return p.objectLiteral()
	}
	return p.classExpr()
}

// template reads a template literal.
func (p *parser) template() {
	p.templateOf(func() {
		branch := p.ts.leaveBranch()
		p.expression(false)
		p.ts.inTrueBranch = branch
	})
}

// templateOf reads a template from its opening backtick; hole reads what stands in each ${}.
func (p *parser) templateOf(hole func()) {
	open := int(p.tok.start)
	i := open + 1
	for p.err == nil {
		end, last, ok := p.scanTemplatePart(i)
		if !ok {
			p.fail(open, "This template literal is not closed: add a backtick")
			return
		}
		p.pos = end
		if last {
			p.tok.end = int32(end)
			p.next()
			return
		}
		p.next()
		hole()
		if !p.is(kindRBrace) {
			p.closing(kindRBrace, int32(end-1))
			return
		}
		i = int(p.tok.end)
	}
}

func (p *parser) arrayLiteral() expr {
	start := p.tok.start
	target := uint8(flagTarget)
	p.next()
	for !p.is(kindRBracket) && p.err == nil {
		if p.is(kindComma) {
			p.next()
			continue
		}
		rest := p.eat(kindEllipsis)
		e := p.assign(false)
		if e.flags&flagTarget == 0 || rest && (e.kind == exprAssign || p.is(kindComma)) {
			target = 0
		}
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closing(kindRBracket, start)
	return expr{kind: exprArray, flags: target, start: start, end: p.prevEnd}
}

// objectLiteral reads an object, which may turn out to be a pattern.
func (p *parser) objectLiteral() expr {
	start := p.tok.start
	target := uint8(flagTarget)
	p.next()
	for !p.is(kindRBrace) && p.err == nil {
		if p.eat(kindEllipsis) {
			e := p.assign(false)
			if e.kind != exprIdent && e.kind != exprMember || e.flags&flagTarget == 0 || p.is(kindComma) {
				target = 0
			}
		} else if !p.property() {
			target = 0
		}
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closing(kindRBrace, start)
	return expr{kind: exprObject, flags: target, start: start, end: p.prevEnd}
}

// property reads one member of an object literal and reports whether a pattern could hold it.
func (p *parser) property() bool {
	async, generator := p.methodModifiers()
	if p.err != nil {
		return false
	}
	modified := async || generator || p.prevWordWasAccessor
	p.prevWordWasAccessor = false
	name := p.tok
	p.propertyName()
	switch {
	case p.is(kindLParen) || p.is(kindLess) && p.ts.on:
		p.method(async, generator)
		return false
	case modified:
		p.wanted("(")
		return false
	case p.is(kindColon):
		p.next()
		return p.assign(false).flags&flagTarget != 0
	case name.kind != kindIdent:
		p.wanted(":")
		return false
	}
	if name.word == wordAwait && p.fn.async {
		p.fail(int(name.start), "await is a keyword here and cannot be a name")
	}
	p.refer(name)
	if p.is(kindAssign) {
		if p.coverInit < 0 {
			p.coverInit = p.tok.start
		}
		cover := p.coverInit
		p.next()
		p.assign(false)
		p.coverInit = cover
	}
	return true
}

// methodModifiers reads async, get, set and * before a property name, unless they are the name.
func (p *parser) methodModifiers() (async, generator bool) {
	if p.is(kindIdent) && !p.tok.escaped {
		switch p.tok.word {
		case wordAsync, wordGet, wordSet:
			w := p.tok.word
			t := p.peek()
			if p.err == nil && startsName(t) && !(w == wordAsync && t.newline) || w == wordAsync && t.kind == kindStar && !t.newline {
				p.next()
				async = w == wordAsync
				p.prevWordWasAccessor = !async
			}
		}
	}
	if p.is(kindStar) && !p.prevWordWasAccessor {
		p.next()
		generator = true
	}
	return async, generator
}

// startsName reports whether a property name may begin with the token.
func startsName(t token) bool {
	switch t.kind {
	case kindIdent, kindString, kindNumber, kindLBracket, kindPrivate:
		return true
	}
	return t.kind.reserved()
}

func (p *parser) propertyName() {
	switch p.tok.kind {
	case kindIdent, kindString, kindNumber:
		p.next()
	case kindLBracket:
		open := p.tok.start
		p.next()
		p.assign(false)
		p.closing(kindRBracket, open)
	case kindPrivate:
		if p.classDepth == 0 {
			p.fail(int(p.tok.start), "The private name %s is outside a class", p.src[p.tok.start:p.tok.end])
			return
		}
		p.next()
	default:
		if p.tok.kind.reserved() {
			p.next()
			return
		}
		p.wanted("a property name")
	}
}
