package transpile

// ---- annotations

func (p *parser) typeAnnotation() {
	if !p.ts.on || !p.is(kindColon) {
		return
	}
	start := p.tok.start
	p.next()
	p.typ()
	p.erase(start, p.prevEnd, 0)
}

// fieldType erases a class field's type; a semicolon takes its place when nothing else ends the field.
func (p *parser) fieldType() {
	if !p.ts.on || !p.is(kindColon) {
		return
	}
	start := p.tok.start
	p.next()
	p.typ()
	lead := byte(';')
	if p.is(kindAssign) {
		lead = 0
	}
	p.erase(start, p.prevEnd, lead)
}

func (p *parser) returnType() { p.typeAnnotation() }

// arrowReturnType erases an arrow function's return type. A type of several lines would part the parenthesis from the
// arrow, so the parenthesis moves to its end.
func (p *parser) arrowReturnType() bool {
	if !p.is(kindColon) {
		return false
	}
	paren := p.prevEnd - 1
	start := p.tok.start
	p.next()
	p.typ()
	if p.err != nil {
		return true
	}
	if p.spansLines(paren, p.prevEnd) {
		p.ts.erasures = append(p.ts.erasures, edit{blank: true, at: paren, end: p.prevEnd, tail: ')'})
		return true
	}
	p.erase(start, p.prevEnd, 0)
	return true
}

func (p *parser) optionalMark() {
	if p.ts.on && p.is(kindQuestion) {
		p.erase(p.tok.start, p.tok.end, 0)
		p.next()
	}
}

func (p *parser) definiteMark() {
	if p.ts.on && p.is(kindNot) && !p.tok.newline {
		p.erase(p.tok.start, p.tok.end, 0)
		p.next()
	}
}

// memberMark erases the ? or ! after a class member's name.
func (p *parser) memberMark() {
	if p.ts.on && (p.is(kindQuestion) || p.is(kindNot)) {
		p.erase(p.tok.start, p.tok.end, 0)
		p.next()
	}
}

// nonNull erases the ! after an operand.
func (p *parser) nonNull() {
	p.erase(p.tok.start, p.tok.end, 0)
	p.next()
}

// thisParameter erases `this: T` at the head of a parameter list, with its comma.
func (p *parser) thisParameter() bool {
	if !p.is(kindThis) {
		return false
	}
	start := p.tok.start
	p.next()
	if p.is(kindColon) {
		p.next()
		p.typ()
	}
	p.eat(kindComma)
	p.erase(start, p.prevEnd, 0)
	return true
}

// parameterModifiers passes what makes a constructor's parameter a property.
func (p *parser) parameterModifiers() {
	if !p.ts.on {
		return
	}
	p.decorators()
	for p.is(kindIdent) {
		switch p.tok.word {
		case wordPublic, wordPrivate, wordProtected, wordReadonly, wordOverride:
		default:
			return
		}
		if t := p.peek(); t.kind != kindIdent && t.kind != kindLBrace && t.kind != kindLBracket {
			return
		}
		p.compile("parameter properties")
		p.next()
	}
}

// typeOperator reads `as T`, `as const` and `satisfies T` after an operand.
func (p *parser) typeOperator() bool {
	if p.tok.newline || p.tok.escaped || p.tok.word != wordAs && p.tok.word != wordSatisfies {
		return false
	}
	start := p.tok.start
	as := p.tok.word == wordAs
	p.next()
	if as && p.is(kindConst) {
		p.next()
	} else {
		p.typ()
	}
	lead := byte(0)
	if p.tok.newline && (p.is(kindLParen) || p.is(kindLBracket) || p.is(kindTemplate)) {
		lead = ';' // here the type ended the statement; the operand alone would go on
	}
	if int(p.tok.kind) < len(precedences) && precedences[p.tok.kind] > precRelational {
		p.compile("an operator after as") // it takes all that stands before, not just the last operand
	}
	p.erase(start, p.prevEnd, lead)
	return true
}

// typeAssertion reads `<T>operand`.
func (p *parser) typeAssertion() expr {
	start := p.tok.start
	p.next()
	if !p.eat(kindConst) {
		p.typ()
	}
	p.closeAngle()
	if p.spansLines(start, p.tok.start) {
		p.compile("a type assertion over several lines")
	}
	p.erase(start, p.prevEnd, 0)
	p.nest()
	p.unary()
	p.depth--
	return expr{kind: exprUnary, start: start, end: p.prevEnd}
}

// closeAngle takes one > off the current token, which may be >> or >=.
func (p *parser) closeAngle() {
	switch p.tok.kind {
	case kindGreater:
		p.next()
		return
	case kindShiftRight, kindGreaterEq, kindAssignOp:
		if p.src[p.tok.start] == '>' {
			p.tok.end = p.tok.start + 1
			p.pos = int(p.tok.end)
			p.next()
			return
		}
	}
	p.wanted(">")
}

// typeParameters erases `<T extends U = V>`.
func (p *parser) typeParameters() {
	if !p.ts.on || !p.is(kindLess) {
		return
	}
	start := p.tok.start
	p.next()
	for !p.is(kindGreater) && p.err == nil {
		for p.is(kindConst) || p.is(kindIn) || p.isWord(wordOut) && !endsTypeParameter(p.peek()) {
			p.next()
		}
		p.typeName()
		if p.eat(kindExtends) {
			p.typ()
		}
		if p.eat(kindAssign) {
			p.typ()
		}
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closeAngle()
	p.erase(start, p.prevEnd, 0)
}

func endsTypeParameter(t token) bool {
	return t.kind == kindComma || t.kind == kindGreater || t.kind == kindExtends || t.kind == kindAssign
}

func (p *parser) typeName() {
	if !p.is(kindIdent) {
		p.wanted("a name")
		return
	}
	p.next()
}

// typeArguments erases `<T, U>` after a type or an operand; false when that is not what it is.
func (p *parser) typeArguments() bool {
	start := p.tok.start
	switch p.tok.kind {
	case kindLess:
	case kindShiftLeft: // f<<T>(x: T) => T>(g)
		p.tok.kind, p.tok.end = kindLess, start+1
		p.pos = int(p.tok.end)
	default:
		return false
	}
	p.next()
	for p.err == nil {
		p.typ()
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closeAngle()
	p.erase(start, p.prevEnd, 0)
	return p.err == nil
}

// typeArgumentsInExpression reads `<T>` after an operand if it can only be type arguments.
func (p *parser) typeArgumentsInExpression() bool {
	return p.try(func() bool {
		if !p.typeArguments() {
			return false
		}
		switch p.tok.kind {
		case kindLParen, kindTemplate:
			return true
		case kindLess, kindShiftLeft, kindPlus, kindMinus:
			return false
		}
		if p.tok.kind != kindEOF && p.src[p.tok.start] == '>' {
			return false
		}
		return p.tok.newline || p.isWord(wordAs) || p.isWord(wordSatisfies) || int(p.tok.kind) < len(precedences) && precedences[p.tok.kind] != precNone || !startsOperand(p.tok)
	})
}

// startsOperand reports whether an expression may begin with the token.
func startsOperand(t token) bool {
	switch t.kind {
	case kindIdent, kindPrivate, kindNumber, kindString, kindTemplate, kindLBrace, kindLParen, kindLBracket, kindAt,
		kindNot, kindTilde, kindInc, kindDec, kindSlash, kindClass, kindDelete, kindFalse, kindFunction, kindImport,
		kindNew, kindNull, kindSuper, kindThis, kindTrue, kindTypeof, kindVoid:
		return true
	}
	return false
}
