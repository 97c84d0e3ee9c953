package transpile

// awaitUsing looks past `await using` for a name on the same line.
func (p *parser) awaitUsing() bool {
	m := p.mark()
	p.next()
	p.next()
	ok := p.is(kindIdent) && !p.tok.newline
	p.rewind(m)
	return ok
}

// declarations reads the declarators of var, let, const and using. In the head of a for statement they need no
// initial value here: forHead checks.
func (p *parser) declarations(k declKind, needsInit, inFor bool) (n int, hasInit bool) {
	for {
		n++
		name := p.tok
		if name.kind == kindIdent && name.word == wordLet && k == declLexical {
			p.fail(int(name.start), "let cannot be the name of a let or const")
			return n, false
		}
		p.bindingTarget(k)
		p.definiteMark()
		p.typeAnnotation()
		hasInit = p.is(kindAssign)
		if hasInit {
			p.next()
			p.assign(inFor)
			p.refuseCoverInit()
		} else if !inFor && p.err == nil && (needsInit || name.kind != kindIdent) {
			if name.kind != kindIdent {
				p.failSurely(int(p.tok.start), "A destructuring pattern needs a value: write = after it")
			} else {
				p.missingInit(name)
			}
			return n, false
		}
		if !p.is(kindComma) {
			return n, hasInit
		}
		p.next()
	}
}

func (p *parser) missingInit(name token) {
	switch p.tok.kind {
	case kindSemicolon, kindComma, kindRBrace, kindEOF:
		p.failSurely(int(name.start), "The constant %q needs a value: write = after its name", p.text(name))
		return
	}
	if p.tok.newline {
		p.failSurely(int(name.start), "The constant %q needs a value: write = after its name", p.text(name))
		return
	}
	p.wanted("= after the name of a constant")
}

// functionDeclaration reads a function statement from after the keyword function.
func (p *parser) functionDeclaration(start int32, async bool, at place) stmt {
	generator := p.is(kindStar)
	if at == stmtNested {
		p.failHint(int(start), "A declaration cannot be the whole body of if, for, while or a label", "Put it in braces.")
	}
	if generator {
		p.next()
	}
	name := p.tok
	if !p.is(kindIdent) {
		return p.anonymousFunction(start, async, generator, at)
	}
	p.next()
	outer := p.enterFunction(async, generator, !async)
	p.typeParameters()
	info := funcInfo{params: p.parameters(outer.top)}
	p.returnType()
	overload := p.ts.on && !p.is(kindLBrace)
	if overload {
		p.semicolon()
	} else {
		p.functionBody()
	}
	p.leaveFunction(outer)
	if overload {
		p.erase(start, p.prevEnd, ';')
		return stmt{kind: stmtErased}
	}
	p.declareFunction(name, !async && !generator)
	info.start, info.end, info.name, info.generator = start, p.prevEnd, p.text(name), generator
	p.lastFunc = info
	return stmt{kind: stmtFunction}
}

// anonymousFunction reads a function without a name where a statement begins: no JavaScript, but as the whole cell
// its meaning is plain.
func (p *parser) anonymousFunction(start int32, async, generator bool, at place) stmt {
	if at != stmtTop || !p.is(kindLParen) {
		if p.tok.kind.reserved() {
			p.reservedName()
		} else {
			p.wanted("the name of the function")
		}
		return stmt{}
	}
	outer := p.enterFunction(async, generator, !async)
	info := p.functionRest(true)
	p.leaveFunction(outer)
	info.start, info.end, info.generator = start, p.prevEnd, generator
	p.lastFunc = info
	e := expr{kind: exprFunction, start: start, end: p.prevEnd}
	e = p.suffixes(e, true)
	p.eat(kindSemicolon)
	if !p.is(kindEOF) || p.body.statements > 0 || e.kind != exprFunction {
		p.failHint(int(start), "A function statement needs a name", "Name the function, or make it the whole cell: then it is called.")
	}
	return stmt{kind: stmtExpr, expr: e}
}

// classDeclaration reads a class statement, decorators first.
func (p *parser) classDeclaration(start int32) {
	p.decorators()
	if p.is(kindExport) {
		p.exportDeclaration(stmtTop)
		return
	}
	p.abstractKeyword()
	if !p.is(kindClass) {
		p.wanted("class")
		return
	}
	p.next()
	name := p.tok
	if !p.is(kindIdent) {
		p.wanted("the name of the class")
		return
	}
	p.next()
	p.declare(name, declClass)
	p.pushScope(scopeBlock)
	p.classRest()
	p.popScope()
}
