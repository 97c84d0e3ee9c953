package transpile

// A stmt says what the parser must remember of a statement it has passed.
type stmt struct {
	kind  stmtKind
	start int32
	end   int32
	expr  expr
}

type stmtKind uint8

const (
	stmtOther stmtKind = iota
	stmtEmpty
	stmtErased // leaves nothing that runs: types, module syntax that was taken out
	stmtExpr
	stmtFunction
	stmtExportDefault
	stmtReturn // with a value
)

// Where a statement stands.
type place uint8

const (
	stmtTop    place = iota // directly in the body
	stmtInner               // in a function or block: declarations are allowed
	stmtNested              // the body of if, for, while, with or a label
)

func (p *parser) statement(at place) stmt {
	p.nest()
	start := p.tok.start
	s := p.statementOf(at)
	s.start, s.end = start, p.prevEnd
	p.depth--
	return s
}

func (p *parser) statementOf(at place) stmt {
	start := p.tok.start
	switch p.tok.kind {
	case kindSemicolon:
		p.next()
		return stmt{kind: stmtEmpty}
	case kindLBrace:
		p.block()
	case kindVar:
		p.next()
		p.declarations(declVar, false, false)
		p.semicolon()
	case kindConst:
		if p.ts.on && p.peek().kind == kindEnum {
			p.enum(start)
			break
		}
		p.lexicalPlace(at)
		p.next()
		p.declarations(declLexical, true, false)
		p.semicolon()
	case kindFunction:
		p.next()
		return p.functionDeclaration(start, false, at)
	case kindClass, kindAt:
		p.lexicalPlace(at)
		p.classDeclaration(start)
	case kindIf:
		p.ifStatement()
	case kindFor:
		p.forStatement()
	case kindWhile:
		p.next()
		p.condition()
		p.loopBody()
	case kindDo:
		p.next()
		p.loopBody()
		p.expect(kindWhile)
		p.condition()
		p.eat(kindSemicolon)
	case kindBreak, kindContinue:
		p.jump()
	case kindReturn:
		p.next()
		if !p.is(kindSemicolon) && !p.is(kindRBrace) && !p.is(kindEOF) && !p.tok.newline {
			e := p.fullExpression()
			p.semicolon()
			return stmt{kind: stmtReturn, expr: e}
		}
		p.semicolon()
	case kindThrow:
		p.next()
		if p.tok.newline || p.is(kindSemicolon) || p.is(kindRBrace) {
			p.fail(int(start), "throw needs a value on the same line")
		}
		p.fullExpression()
		p.semicolon()
	case kindTry:
		p.tryStatement()
	case kindSwitch:
		p.switchStatement()
	case kindWith:
		p.next()
		p.condition()
		p.pushScope(scopeBlock).with = true
		p.statement(stmtNested)
		p.popScope()
	case kindDebugger:
		p.next()
		p.semicolon()
	case kindImport:
		if t := p.peek(); t.kind == kindLParen || t.kind == kindDot {
			return p.expressionStatement()
		}
		return p.importDeclaration(at)
	case kindExport:
		return p.exportDeclaration(at)
	case kindEnum:
		if !p.ts.on {
			p.unexpected()
			break
		}
		p.enum(start)
	case kindIdent:
		return p.identStatement(at)
	default:
		return p.expressionStatement()
	}
	return stmt{}
}

func (p *parser) lexicalPlace(at place) {
	if at == stmtNested {
		p.failHint(int(p.tok.start), "A declaration cannot be the whole body of if, for, while or a label", "Put it in braces.")
	}
}

func (p *parser) expressionStatement() stmt {
	e := p.fullExpression()
	p.semicolonAfter(e)
	return stmt{kind: stmtExpr, expr: e}
}

// semicolonAfter ends an expression statement; a name followed by another is the usual sign of something that is not
// JavaScript.
func (p *parser) semicolonAfter(e expr) {
	if e.kind == exprArrow && e.flags&flagParen == 0 && p.is(kindLParen) && !p.tok.newline {
		p.failHint(int(p.tok.start), "An arrow function cannot be called like this", "Put the function in parentheses: (() => ...)()")
		return
	}
	p.semicolon()
}

// identStatement reads a statement that begins with a name: a label, a declaration with a contextual keyword, or an
// expression.
func (p *parser) identStatement(at place) stmt {
	start := p.tok.start
	w := p.tok.word
	if p.tok.escaped {
		w = wordNone
	}
	if w == wordNone { // the usual case: only a label needs a look ahead
		if p.simpleLabel() {
			return p.labelled()
		}
		return p.expressionStatement()
	}
	t := p.peek()
	switch w {
	case wordAsync:
		if t.kind == kindFunction && !t.newline {
			p.next()
			p.next()
			return p.functionDeclaration(start, true, at)
		}
	case wordLet:
		if t.kind == kindIdent && !(at == stmtNested && t.newline) || t.kind == kindLBracket || t.kind == kindLBrace && !(at == stmtNested && t.newline) {
			p.lexicalPlace(at)
			p.next()
			p.declarations(declLexical, false, false)
			p.semicolon()
			return stmt{}
		}
		if t.kind.reserved() && t.kind != kindIn && t.kind != kindInstanceof && !t.newline {
			p.next()
			p.reservedName()
			return stmt{}
		}
	case wordUsing:
		if t.kind == kindIdent && !t.newline {
			p.lexicalPlace(at)
			p.next()
			p.declarations(declLexical, true, false)
			p.semicolon()
			return stmt{}
		}
	case wordAwait:
		if p.fn.async && t.word == wordUsing && !t.newline && p.awaitUsing() {
			p.lexicalPlace(at)
			p.next()
			p.next()
			p.declarations(declLexical, true, false)
			p.semicolon()
			return stmt{}
		}
	}
	if t.kind == kindColon && !(w == wordAwait && p.fn.async) {
		return p.labelled()
	}
	if p.ts.on {
		if s, ok := p.typeScriptStatement(t); ok {
			return s
		}
	}
	return p.expressionStatement()
}

func (p *parser) block() {
	open := p.tok.start
	if !p.is(kindLBrace) {
		p.wanted("{")
		return
	}
	p.next()
	p.pushScope(scopeBlock)
	p.blockRest(open)
	p.popScope()
}

func (p *parser) blockRest(open int32) {
	for !p.is(kindRBrace) && !p.is(kindEOF) {
		p.statement(stmtInner)
	}
	p.closing(kindRBrace, open)
}

// condition reads a parenthesised expression.
func (p *parser) condition() {
	open := p.tok.start
	p.expect(kindLParen)
	p.fullExpression()
	p.closing(kindRParen, open)
}
