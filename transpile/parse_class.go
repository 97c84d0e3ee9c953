package transpile

// classExpr reads a class in an expression, with its decorators.
func (p *parser) classExpr() expr {
	start := p.tok.start
	p.decorators()
	if !p.is(kindClass) {
		p.wanted("class")
		return expr{}
	}
	p.next()
	p.pushScope(scopeBlock)
	if p.is(kindIdent) && !p.atImplements() {
		p.declare(p.tok, declName)
		p.next()
	}
	p.classRest()
	p.popScope()
	return expr{kind: exprClass, start: start, end: p.prevEnd}
}

// classRest reads a class from after its name.
func (p *parser) classRest() {
	p.nest()
	p.classDepth++
	p.typeParameters()
	if p.eat(kindExtends) {
		p.assignStart = -1
		p.leftHandSide()
		p.heritageTypeArguments()
	}
	p.implements()
	open := p.tok.start
	if !p.is(kindLBrace) {
		p.wanted("{")
	} else {
		p.next()
		for !p.is(kindRBrace) && p.err == nil {
			if p.eat(kindSemicolon) {
				continue
			}
			p.classMember()
		}
		p.closing(kindRBrace, open)
	}
	p.classDepth--
	p.depth--
}

// classMember reads a method, accessor, field or static block.
func (p *parser) classMember() {
	start := p.tok.start
	p.decorators()
	erased := p.memberModifiers(start)
	if p.err != nil || p.indexSignature(start) {
		return
	}
	if p.is(kindIdent) && p.tok.word == wordStatic && !p.tok.escaped {
		t := p.peek()
		if t.kind == kindLBrace {
			p.next()
			p.staticBlock()
			return
		}
		if startsName(t) || t.kind == kindStar {
			p.next()
			erased = p.memberModifiers(start) || erased
			if p.indexSignature(start) {
				return
			}
		}
	}
	p.accessorField()
	async, generator := p.methodModifiers()
	accessor := p.prevWordWasAccessor
	p.prevWordWasAccessor = false
	if p.err != nil {
		return
	}
	p.propertyName()
	p.memberMark()
	if p.is(kindLParen) || p.is(kindLess) && p.ts.on {
		p.classMethod(start, async, generator, erased)
		return
	}
	if async || generator || accessor {
		p.wanted("(")
		return
	}
	p.fieldType()
	if p.is(kindAssign) {
		outer := p.enterFunction(false, false, true)
		p.next()
		p.assign(false)
		p.refuseCoverInit()
		p.leaveFunction(outer)
	}
	if !p.is(kindSemicolon) && !p.is(kindRBrace) && !p.tok.newline {
		p.wanted("; or a new line after a class field")
		return
	}
	p.eat(kindSemicolon)
	if erased {
		p.erase(start, p.prevEnd, ';')
	}
}

// classMethod reads a method from its parameters on. In TypeScript it may have no body: then it is erased.
func (p *parser) classMethod(start int32, async, generator, erased bool) {
	p.nest()
	outer := p.enterFunction(async, generator, !async)
	p.typeParameters()
	p.parameters(false)
	p.returnType()
	if p.ts.on && !p.is(kindLBrace) {
		p.semicolon()
		p.erase(start, p.prevEnd, ';')
	} else {
		p.functionBody()
		if erased {
			p.erase(start, p.prevEnd, ';')
		}
	}
	p.leaveFunction(outer)
	p.depth--
}

func (p *parser) staticBlock() {
	outer := p.enterFunction(false, false, true)
	p.functionBody()
	p.leaveFunction(outer)
}
