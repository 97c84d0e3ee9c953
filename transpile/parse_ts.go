package transpile

// typeScriptStatement reads a statement that only TypeScript has and that begins with a name; next is the token after
// that name.
func (p *parser) typeScriptStatement(next token) (stmt, bool) {
	start := p.tok.start
	switch p.tok.word {
	case wordType:
		if next.kind != kindIdent || next.newline {
			return stmt{}, false
		}
		p.typeAlias()
	case wordInterface:
		if next.kind != kindIdent || next.newline {
			return stmt{}, false
		}
		p.interfaceDeclaration()
	case wordDeclare:
		if next.newline || !p.try(p.declareStatement) {
			return stmt{}, false
		}
	case wordAbstract:
		if next.kind != kindClass || next.newline {
			return stmt{}, false
		}
		p.classDeclaration(start)
		return stmt{}, true
	case wordNamespace, wordModule:
		if next.kind != kindIdent || next.newline {
			return stmt{}, false
		}
		p.namespace(start)
		return stmt{}, true
	default:
		return stmt{}, false
	}
	p.erase(start, p.prevEnd, ';')
	return stmt{kind: stmtErased}, true
}

// typeAlias passes `type X<T> = U;`.
func (p *parser) typeAlias() {
	p.next()
	p.typeName()
	p.typeParameters()
	p.expect(kindAssign)
	p.typ()
	p.semicolon()
}

// interfaceDeclaration passes `interface X<T> extends Y { ... }`.
func (p *parser) interfaceDeclaration() {
	p.next()
	p.typeName()
	p.typeParameters()
	if p.eat(kindExtends) {
		p.typeList()
	}
	p.objectType()
}

func (p *parser) typeList() {
	for p.err == nil {
		p.typ()
		if !p.is(kindComma) {
			return
		}
		p.next()
	}
}

// declareStatement passes `declare ...`, none of which runs.
func (p *parser) declareStatement() bool {
	p.next()
	switch p.tok.kind {
	case kindVar, kindConst:
		p.ambientVariables()
	case kindFunction:
		p.next()
		p.typeName()
		p.signature()
		p.semicolon()
	case kindClass, kindEnum:
		p.skipToBraces()
	case kindIdent:
		t := p.peek()
		switch p.tok.word {
		case wordLet:
			p.ambientVariables()
		case wordType:
			p.typeAlias()
		case wordInterface:
			p.interfaceDeclaration()
		case wordAbstract:
			if t.kind != kindClass {
				return false
			}
			p.skipToBraces()
		case wordGlobal:
			if t.kind != kindLBrace {
				return false
			}
			p.skipToBraces()
		case wordNamespace, wordModule:
			if t.kind != kindIdent && t.kind != kindString || t.newline {
				return false
			}
			p.next()
			if p.is(kindString) {
				p.next()
				if !p.is(kindLBrace) {
					p.semicolon()
					return true
				}
			}
			p.skipToBraces()
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// ambientVariables passes `const x: T, y: U;`.
func (p *parser) ambientVariables() {
	p.next()
	if p.is(kindEnum) {
		p.skipToBraces()
		return
	}
	for p.err == nil {
		p.typeName()
		p.memberType()
		if p.eat(kindAssign) {
			p.assign(false)
		}
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.semicolon()
}

// skipToBraces passes tokens up to the next pair of braces, and what is in them. It is for declarations that do not run.
func (p *parser) skipToBraces() {
	for !p.is(kindLBrace) && !p.is(kindSemicolon) && !p.is(kindEOF) {
		p.skipToken()
	}
	open := p.tok.start
	if !p.is(kindLBrace) {
		p.wanted("{")
		return
	}
	depth := 0
	for p.err == nil {
		switch p.tok.kind {
		case kindLBrace:
			depth++
		case kindRBrace:
			depth--
			if depth == 0 {
				p.next()
				return
			}
		case kindEOF:
			p.closing(kindRBrace, open)
			return
		}
		p.skipToken()
	}
}

func (p *parser) skipToken() {
	if p.is(kindTemplate) {
		p.templateType()
		return
	}
	p.next()
}

// declareMerging declares a name that other declarations of the same name may extend.
func (p *parser) declareMerging(t token) {
	if p.err != nil {
		return
	}
	s := &p.scopes[p.nscopes-1]
	if name := p.text(t); s.find(name) < 0 {
		s.add(decl{name, t.start, declVar})
	}
}

// namespace passes `namespace X.Y { ... }`, which may run.
func (p *parser) namespace(start int32) {
	p.compile("namespaces")
	p.next()
	name := p.tok
	p.typeName()
	for p.eat(kindDot) {
		p.typeName()
	}
	s := &p.scopes[p.nscopes-1]
	i := s.find(p.text(name))
	merges := i >= 0 && s.decls[i].kind != declLexical
	p.declareMerging(name)
	outer := p.enterFunction(false, false, true)
	p.ts.depth++
	p.functionBody()
	p.ts.depth--
	p.leaveFunction(outer)
	if p.err == nil && outer.top && p.nscopes == 1 {
		p.ts.namespaces = append(p.ts.namespaces, namespace{start, p.prevEnd, merges})
	}
}

// ---- classes

// decorators passes @x before a class, a member or a parameter. They run.
func (p *parser) decorators() {
	for p.is(kindAt) {
		if !p.ts.on {
			p.unexpected()
			return
		}
		p.compile("decorators")
		p.next()
		p.assignStart = -1
		p.leftHandSide()
	}
}

func (p *parser) abstractKeyword() {
	if p.ts.on && p.isWord(wordAbstract) && p.peek().kind == kindClass {
		p.erase(p.tok.start, p.tok.end, 0)
		p.next()
	}
}

func (p *parser) atImplements() bool {
	return p.ts.on && p.is(kindIdent) && p.src[p.tok.start:p.tok.end] == "implements"
}

func (p *parser) implements() {
	if !p.atImplements() {
		return
	}
	start := p.tok.start
	p.next()
	p.typeList()
	p.erase(start, p.prevEnd, 0)
}

// heritageTypeArguments erases the type arguments of a base class.
func (p *parser) heritageTypeArguments() {
	if p.ts.on && (p.is(kindLess) || p.is(kindShiftLeft)) {
		p.typeArguments()
	}
}

// memberModifiers erases public, readonly and their like before a class member, and reports whether the member is
// only declared (abstract or declare): then all of it goes.
func (p *parser) memberModifiers(start int32) (declared bool) {
	for p.ts.on && p.is(kindIdent) && !p.tok.escaped && p.err == nil {
		w := p.tok.word
		switch w {
		case wordPublic, wordPrivate, wordProtected, wordReadonly, wordOverride, wordAbstract, wordDeclare:
		default:
			return declared
		}
		if t := p.peek(); t.newline || !startsName(t) && t.kind != kindStar {
			return declared // the word is the member's name
		}
		declared = declared || w == wordAbstract || w == wordDeclare
		lead := byte(0)
		if p.tok.start == start {
			lead = ';'
		}
		p.erase(p.tok.start, p.tok.end, lead)
		p.next()
	}
	return declared
}

// indexSignature erases `[key: string]: T` in a class.
func (p *parser) indexSignature(start int32) bool {
	if !p.ts.on || !p.is(kindLBracket) {
		return false
	}
	if !p.try(func() bool {
		p.next()
		if !p.is(kindIdent) {
			return false
		}
		p.next()
		if !p.eat(kindColon) {
			return false
		}
		p.typ()
		if !p.eat(kindRBracket) {
			return false
		}
		p.memberType()
		return true
	}) {
		return false
	}
	p.semicolon()
	p.erase(start, p.prevEnd, ';')
	return true
}

// accessorField passes the keyword of `accessor x = 1`, which esbuild lowers.
func (p *parser) accessorField() {
	if !p.ts.on || !p.isWord(wordAccessor) {
		return
	}
	if t := p.peek(); !t.newline && startsName(t) {
		p.compile("accessor fields")
		p.next()
	}
}
