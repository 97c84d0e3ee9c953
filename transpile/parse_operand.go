package transpile

// leftHandSide reads a primary expression and the members, calls and templates that follow it.
func (p *parser) leftHandSide() expr {
	var e expr
	if p.is(kindNew) {
		e = p.newExpr()
	} else {
		e = p.primary()
	}
	if e.kind == exprArrow && e.flags&flagParen == 0 {
		return e
	}
	return p.suffixes(e, true)
}

func (p *parser) suffixes(e expr, calls bool) expr {
	start := e.start
	optional := uint8(0)
	for {
		switch p.tok.kind {
		case kindDot:
			p.next()
			p.memberName()
			e = expr{kind: exprMember, flags: flagTarget, start: start, end: p.prevEnd}
		case kindQuestionDot:
			if !calls {
				p.fail(int(p.tok.start), "new cannot be used in an optional chain")
				return e
			}
			optional = flagOptional
			p.next()
			switch p.tok.kind {
			case kindLParen:
				p.arguments()
			case kindLBracket:
				p.index()
			case kindTemplate:
				p.fail(int(p.tok.start), "A template cannot follow ?.")
			case kindLess:
				if !p.ts.on || !p.typeArguments() {
					p.unexpected()
				}
				p.arguments()
			default:
				p.memberName()
			}
			e = expr{kind: exprMember, start: start, end: p.prevEnd}
		case kindLBracket:
			p.index()
			e = expr{kind: exprMember, flags: flagTarget, start: start, end: p.prevEnd}
		case kindLParen:
			if !calls {
				return e
			}
			if e.kind == exprIdent && p.prevEnd == e.end && p.src[e.start:e.end] == "async" && !p.tok.newline && p.assignStart == e.start {
				var arrow bool
				if e, arrow = p.asyncCall(e); arrow {
					return e
				}
				continue
			}
			p.arguments()
			e = expr{kind: exprOther, start: start, end: p.prevEnd}
		case kindTemplate:
			p.fences = p.fences || e.kind == exprTemplate
			p.template()
			e = expr{kind: exprOther, start: start, end: p.prevEnd}
		case kindNot:
			if !p.ts.on || p.tok.newline {
				return e
			}
			p.nonNull()
			continue
		case kindLess, kindShiftLeft:
			if !p.ts.on || !p.typeArgumentsInExpression() {
				return e
			}
			if !p.is(kindLParen) && !p.is(kindTemplate) {
				e = expr{kind: exprOther, start: start, end: p.prevEnd}
			}
			continue
		default:
			return e
		}
		if optional != 0 {
			e.flags = e.flags&^flagTarget | flagOptional
		}
	}
}

func (p *parser) memberName() {
	switch {
	case p.is(kindIdent) || p.tok.kind.reserved():
	case p.is(kindPrivate):
		if p.classDepth == 0 {
			p.fail(int(p.tok.start), "The private name %s is outside a class", p.src[p.tok.start:p.tok.end])
		}
	default:
		p.wanted("a property name")
		return
	}
	p.next()
}

func (p *parser) index() {
	open := p.tok.start
	branch := p.ts.leaveBranch()
	p.next()
	p.expression(false)
	p.ts.inTrueBranch = branch
	p.closing(kindRBracket, open)
}

func (p *parser) arguments() {
	open := p.tok.start
	if !p.is(kindLParen) {
		p.wanted("(")
		return
	}
	branch := p.ts.leaveBranch()
	p.next()
	for !p.is(kindRParen) && p.err == nil {
		p.eat(kindEllipsis)
		p.assign(false)
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.ts.inTrueBranch = branch
	p.closing(kindRParen, open)
}

func (p *parser) newExpr() expr {
	start := p.tok.start
	p.next()
	if p.is(kindDot) {
		p.next()
		if !p.isWord(wordTarget) {
			p.wanted("target")
			return expr{}
		}
		p.next()
		return expr{kind: exprOther, start: start, end: p.prevEnd}
	}
	p.nest()
	p.assignStart = -1
	if p.is(kindNew) {
		p.suffixes(p.newExpr(), false)
	} else {
		if p.is(kindImport) {
			if t := p.peek(); t.kind == kindLParen {
				p.unexpected()
			}
		}
		p.suffixes(p.primary(), false)
	}
	p.depth--
	if p.is(kindLParen) {
		p.arguments()
	}
	return expr{kind: exprOther, start: start, end: p.prevEnd}
}

func (p *parser) primary() expr {
	t := p.tok
	switch t.kind {
	case kindIdent:
		if t.word == wordAsync && !t.escaped {
			if e, ok := p.asyncFunction(); ok {
				return e
			}
		}
		p.next()
		p.refer(t)
		return expr{kind: exprIdent, flags: flagTarget, start: t.start, end: t.end}
	case kindNumber, kindThis, kindNull, kindTrue, kindFalse:
		p.next()
		return expr{kind: exprOther, start: t.start, end: t.end}
	case kindString:
		p.next()
		return expr{kind: exprString, start: t.start, end: t.end}
	case kindTemplate:
		p.template()
		return expr{kind: exprTemplate, start: t.start, end: p.prevEnd}
	case kindSlash, kindAssignOp:
		if p.src[t.start] != '/' {
			break
		}
		p.rescanRegexp()
		if p.err == nil {
			p.next()
		}
		return expr{kind: exprOther, start: t.start, end: p.prevEnd}
	case kindLParen:
		return p.paren()
	case kindLBracket, kindLBrace, kindClass, kindAt:
		branch := p.ts.leaveBranch()
		e := p.literal()
		p.ts.inTrueBranch = branch
		return e
	case kindFunction:
		p.next()
		return p.functionExpr(t.start, false)
	case kindSuper:
		p.next()
		if !p.is(kindDot) && !p.is(kindLParen) && !p.is(kindLBracket) {
			p.wanted(". or (")
		}
		return expr{kind: exprOther, start: t.start, end: t.end}
	case kindImport:
		return p.importExpr()
	}
	p.unexpected()
	return expr{kind: exprOther, start: t.start, end: t.end}
}

// importExpr reads import(), import.meta and whatever else an expression makes of the keyword.
func (p *parser) importExpr() expr {
	start := p.tok.start
	p.next()
	switch p.tok.kind {
	case kindLParen:
		p.findings = append(p.findings, finding{start, useImportCall})
		p.arguments()
	case kindDot:
		p.next()
		if p.isWord(wordMeta) {
			p.findings = append(p.findings, finding{start, useImportMeta})
			p.next()
			break
		}
		p.findings = append(p.findings, finding{start, useImportCall}) // import.defer(), import.source()
		p.memberName()
		p.arguments()
	default:
		p.wanted("( or .meta after import")
	}
	return expr{kind: exprOther, start: start, end: p.prevEnd}
}
