package transpile

// ---- types

// typ passes a type.
func (p *parser) typ() { p.typIn(false) }

// typIn passes a type; in the extends part of a conditional type another conditional type needs parentheses.
func (p *parser) typIn(extends bool) {
	p.nest()
	outer := p.ts.inExtends
	p.ts.inExtends = extends
	p.typeOf()
	p.ts.inExtends = outer
	p.depth--
}

func (p *parser) typeOf() {
	if p.is(kindIdent) && !p.tok.escaped {
		switch p.tok.word {
		case wordAsserts:
			if t := p.peek(); !t.newline && (t.kind == kindIdent || t.kind == kindThis) {
				p.next()
				p.next()
				if p.isWord(wordIs) && !p.tok.newline {
					p.next()
					p.typ()
				}
				return
			}
		case wordAbstract:
			if p.peek().kind == kindNew {
				p.next()
			}
		}
	}
	if p.is(kindNew) {
		p.next()
		p.functionType()
		return
	}
	if p.is(kindLess) {
		p.functionType()
		return
	}
	if p.is(kindLParen) && p.try(func() bool { p.functionType(); return true }) {
		return
	}
	p.unionType()
	if p.isWord(wordIs) && !p.tok.newline {
		p.next()
		p.typ()
		return
	}
	if p.is(kindExtends) && !p.tok.newline && !p.ts.inExtends {
		p.next()
		p.typIn(true)
		if !p.is(kindQuestion) {
			p.wanted("?")
			return
		}
		p.next()
		p.typ()
		p.expect(kindColon)
		p.typ()
	}
}

// functionType passes `<T>(x: T) => U` from its type parameters or parenthesis on.
func (p *parser) functionType() {
	outer := p.enterFunction(false, false, false)
	p.typeParameters()
	p.parameters(false)
	p.leaveFunction(outer)
	p.expect(kindArrow)
	p.typ()
}

func (p *parser) unionType() {
	if p.is(kindBitOr) || p.is(kindBitAnd) {
		p.next()
	}
	for {
		p.operandType()
		if !p.is(kindBitOr) && !p.is(kindBitAnd) {
			return
		}
		p.next()
		if p.is(kindBitAnd) || p.is(kindBitOr) {
			p.next()
		}
		if p.is(kindLess) || p.is(kindNew) {
			p.typ()
			return
		}
	}
}

// operandType passes one member of a union or intersection.
func (p *parser) operandType() {
	if p.is(kindIdent) && !p.tok.escaped {
		switch p.tok.word {
		case wordKeyof, wordUnique, wordReadonly:
			if startsType(p.peek()) {
				p.next()
				p.nest()
				p.operandType()
				p.depth--
				return
			}
		case wordInfer:
			if p.peek().kind == kindIdent {
				p.next()
				p.next()
				if p.is(kindExtends) {
					// infer T extends U, unless a ? makes it the condition of an outer conditional type
					p.try(func() bool {
						p.next()
						p.typIn(true)
						return p.ts.inExtends || !p.is(kindQuestion)
					})
				}
				return
			}
		}
	}
	p.primaryType()
	for p.err == nil && !p.tok.newline && p.is(kindLBracket) {
		open := p.tok.start
		p.next()
		if !p.is(kindRBracket) {
			p.typ()
		}
		p.closing(kindRBracket, open)
	}
}

func startsType(t token) bool {
	switch t.kind {
	case kindIdent, kindString, kindNumber, kindTemplate, kindLBrace, kindLParen, kindLBracket, kindTypeof, kindThis,
		kindVoid, kindNull, kindTrue, kindFalse, kindImport, kindMinus, kindNew, kindLess:
		return true
	}
	return false
}

func (p *parser) primaryType() {
	switch p.tok.kind {
	case kindIdent:
		name := p.src[p.tok.start:p.tok.end]
		p.next()
		if p.is(kindLess) && keywordType(name) { // x as number < 1
			return
		}
		p.typeReferenceRest()
	case kindString, kindNumber, kindVoid, kindNull, kindTrue, kindFalse, kindThis:
		p.next()
	case kindMinus:
		p.next()
		if !p.is(kindNumber) {
			p.wanted("a number")
			return
		}
		p.next()
	case kindTemplate:
		p.templateType()
	case kindTypeof:
		p.next()
		if p.is(kindImport) {
			p.importType()
			return
		}
		if !p.is(kindIdent) && !p.is(kindThis) {
			p.wanted("a name")
			return
		}
		p.next()
		p.typeReferenceRest()
	case kindImport:
		p.importType()
	case kindLBrace:
		p.objectType()
	case kindLBracket:
		p.tupleType()
	case kindLParen:
		open := p.tok.start
		p.next()
		p.typ()
		p.closing(kindRParen, open)
	default:
		p.wanted("a type")
	}
}

func keywordType(name string) bool {
	switch name {
	case "any", "unknown", "never", "string", "number", "boolean", "symbol", "object", "bigint", "undefined":
		return true
	}
	return false
}

func (p *parser) typeReferenceRest() {
	for p.is(kindDot) {
		p.next()
		if !p.is(kindIdent) && !p.tok.kind.reserved() && !p.is(kindPrivate) {
			p.wanted("a name")
			return
		}
		p.next()
	}
	if (p.is(kindLess) || p.is(kindShiftLeft)) && !p.tok.newline {
		p.typeArguments()
	}
}

// importType passes `import("x").Y<Z>`, which names a type and loads nothing.
func (p *parser) importType() {
	p.next()
	open := p.tok.start
	p.expect(kindLParen)
	p.typ()
	if p.eat(kindComma) && p.is(kindLBrace) {
		p.objectLiteral()
	}
	p.closing(kindRParen, open)
	p.typeReferenceRest()
}

func (p *parser) templateType() { p.templateOf(p.typ) }

func (p *parser) tupleType() {
	open := p.tok.start
	p.next()
	for !p.is(kindRBracket) && p.err == nil {
		p.eat(kindEllipsis)
		if p.is(kindIdent) || p.tok.kind.reserved() { // a name before the element's type
			p.try(func() bool {
				p.next()
				p.eat(kindQuestion)
				return p.eat(kindColon)
			})
		}
		p.typ()
		p.eat(kindQuestion)
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closing(kindRBracket, open)
}

// objectType passes the braces of an object type, a mapped type or an interface.
func (p *parser) objectType() {
	open := p.tok.start
	if !p.is(kindLBrace) {
		p.wanted("{")
		return
	}
	p.nest()
	p.next()
	for !p.is(kindRBrace) && p.err == nil {
		if p.eat(kindSemicolon) || p.eat(kindComma) {
			continue
		}
		p.typeMember()
		if !p.is(kindSemicolon) && !p.is(kindComma) && !p.is(kindRBrace) && !p.tok.newline {
			p.wanted("; or , after a member of a type")
		}
	}
	p.closing(kindRBrace, open)
	p.depth--
}

func (p *parser) typeMember() {
	if p.is(kindPlus) || p.is(kindMinus) { // of a mapped type: +readonly, -readonly
		p.next()
	}
	for p.is(kindIdent) && (p.tok.word == wordReadonly || p.tok.word == wordGet || p.tok.word == wordSet) && startsName(p.peek()) {
		p.next()
	}
	switch {
	case p.is(kindLParen) || p.is(kindLess):
		p.signature()
		return
	case p.is(kindNew):
		if t := p.peek(); t.kind == kindLParen || t.kind == kindLess {
			p.next()
			p.signature()
			return
		}
	case p.is(kindLBracket):
		p.typeIndex()
		p.mappedMark()
		if p.is(kindLParen) || p.is(kindLess) {
			p.signature()
			return
		}
		p.memberType()
		return
	}
	p.propertyName()
	p.mappedMark()
	if p.is(kindLParen) || p.is(kindLess) {
		p.signature()
		return
	}
	p.memberType()
}

func (p *parser) mappedMark() {
	if (p.is(kindPlus) || p.is(kindMinus)) && p.peek().kind == kindQuestion {
		p.next()
	}
	p.eat(kindQuestion)
}

func (p *parser) memberType() {
	if p.eat(kindColon) {
		p.typ()
	}
}

// typeIndex passes `[key: string]`, `[K in Keys as X]` or `[Symbol.iterator]`.
func (p *parser) typeIndex() {
	open := p.tok.start
	p.next()
	if !p.try(func() bool {
		if !p.is(kindIdent) {
			return false
		}
		p.next()
		switch {
		case p.eat(kindColon):
			p.typ()
		case p.eat(kindIn):
			p.typ()
			if p.isWord(wordAs) {
				p.next()
				p.typ()
			}
		default:
			return false
		}
		return p.is(kindRBracket)
	}) {
		p.assign(false)
	}
	p.closing(kindRBracket, open)
}

// signature passes the parameters and return type of a method or call signature.
func (p *parser) signature() {
	outer := p.enterFunction(false, false, false)
	p.typeParameters()
	p.parameters(false)
	p.leaveFunction(outer)
	p.memberType()
}
