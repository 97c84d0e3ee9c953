package transpile

// simpleLabel looks past the current name for a colon without lexing.
func (p *parser) simpleLabel() bool {
	i := p.pos
	for i < len(p.src) && (p.src[i] == ' ' || p.src[i] == '\t') {
		i++
	}
	if c := p.byteAt(i); c != '/' && c != '\n' && c != '\r' && c < 0x80 {
		return c == ':'
	}
	return p.peek().kind == kindColon
}

func (p *parser) labelled() stmt {
	name := p.text(p.tok)
	for _, l := range p.labels[p.fn.labelBase:] {
		if l.name == name {
			p.fail(int(p.tok.start), "The label %q is already used around this statement", name)
		}
	}
	p.next()
	p.next()
	p.labels = append(p.labels, label{name: name, loop: p.labelsLoop()})
	if p.is(kindFunction) {
		start := p.tok.start
		p.next()
		p.functionDeclaration(start, false, stmtInner)
	} else {
		p.statement(stmtNested)
	}
	if len(p.labels) > 0 {
		p.labels = p.labels[:len(p.labels)-1]
	}
	return stmt{}
}

// labelsLoop reports whether the statement at the current token is a loop, through further labels.
func (p *parser) labelsLoop() bool {
	switch p.tok.kind {
	case kindFor, kindWhile, kindDo:
		return true
	case kindIdent:
		m := p.mark()
		defer p.rewind(m)
		for p.is(kindIdent) {
			p.next()
			if !p.is(kindColon) {
				return false
			}
			p.next()
		}
		return p.is(kindFor) || p.is(kindWhile) || p.is(kindDo)
	}
	return false
}

// jump reads break and continue.
func (p *parser) jump() {
	t := p.tok
	word := p.src[t.start:t.end]
	p.next()
	if p.is(kindIdent) && !p.tok.newline {
		name := p.text(p.tok)
		found := false
		for _, l := range p.labels[p.fn.labelBase:] {
			if l.name == name && (t.kind == kindBreak || l.loop) {
				found = true
			}
		}
		if !found {
			p.fail(int(p.tok.start), "There is no label %q around this %s", name, word)
			return
		}
		p.next()
	} else if t.kind == kindBreak && p.fn.breakable == 0 || t.kind == kindContinue && p.fn.loops == 0 {
		hint := ""
		if p.fn.plain || p.fn.async && !p.fn.top {
			hint = "A callback is its own function: use return in it, or a for loop instead."
		}
		where := "a loop or switch"
		if t.kind == kindContinue {
			where = "a loop"
		}
		p.failHint(int(t.start), word+" is used outside "+where, hint)
		return
	}
	p.semicolon()
}

func (p *parser) loopBody() {
	p.fn.loops++
	p.fn.breakable++
	p.statement(stmtNested)
	p.fn.loops--
	p.fn.breakable--
}

func (p *parser) ifStatement() {
	p.next()
	p.condition()
	p.branch()
	if p.eat(kindElse) {
		p.branch()
	}
}

// branch reads a branch of if, where sloppy code may declare a function.
func (p *parser) branch() {
	if !p.is(kindFunction) {
		p.statement(stmtNested)
		return
	}
	start := p.tok.start
	p.pushScope(scopeBlock)
	p.next()
	p.functionDeclaration(start, false, stmtInner)
	p.popScope()
}

func (p *parser) forStatement() {
	p.next()
	await := false
	if p.is(kindIdent) && p.tok.word == wordAwait && !p.tok.escaped {
		if !p.fn.async {
			p.failHint(int(p.tok.start), "for await is used inside a function that is not async", "Write async before that function.")
			return
		}
		await = true
		p.next()
	}
	open := p.tok.start
	p.expect(kindLParen)
	p.pushScope(scopeBlock)
	p.forHead(await)
	p.closing(kindRParen, open)
	p.loopBody()
	p.popScope()
}

func (p *parser) forHead(await bool) {
	declared := 0 // declarators read
	hasInit := false
	var target expr
	start := p.tok.start
	needsInit := false
	switch k := p.forDeclaration(); {
	case p.is(kindSemicolon):
	case k == forVar:
		p.next()
		declared, hasInit = p.declarations(declVar, false, true)
	case k == forLexical:
		needsInit = p.is(kindConst)
		p.next()
		declared, hasInit = p.declarations(declLexical, false, true)
	case k == forAwaitUsing:
		p.next()
		p.next()
		declared, hasInit = p.declarations(declLexical, false, true)
	default:
		cover := p.coverInit
		p.coverInit = -1
		target = p.expression(true)
		if (p.isWord(wordOf) || p.is(kindIn)) && (target.kind == exprArray || target.kind == exprObject) && target.flags&flagTarget != 0 {
			p.coverInit = cover
		} else {
			p.refuseCoverInit()
			p.coverInit = cover
		}
	}
	switch {
	case p.is(kindIn) && !await, p.isWord(wordOf):
		if declared == 0 && (target.flags&flagTarget == 0 || target.kind == exprAssign) {
			p.fail(int(start), "This cannot be the variable of a for loop")
			return
		}
		if declared > 1 || declared == 1 && hasInit && p.isWord(wordOf) {
			p.fail(int(start), "A for...of or for...in loop declares one variable without a value")
			return
		}
		if p.is(kindIn) {
			p.next()
			p.fullExpression()
			return
		}
		p.next()
		p.assign(false)
		p.refuseCoverInit()
		return
	case await:
		p.wanted("of")
		return
	}
	if needsInit && !hasInit && p.err == nil {
		p.wanted("of, in or =")
		return
	}
	if !p.is(kindSemicolon) {
		p.wanted("; or of")
		return
	}
	p.next()
	if !p.is(kindSemicolon) {
		p.fullExpression()
	}
	if !p.is(kindSemicolon) {
		p.wanted(";")
		return
	}
	p.next()
	if !p.is(kindRParen) {
		p.fullExpression()
	}
}

type forKind uint8

const (
	forExpr forKind = iota
	forVar
	forLexical
	forAwaitUsing
)

// forDeclaration tells what the head of a for statement begins with.
func (p *parser) forDeclaration() forKind {
	switch {
	case p.is(kindVar):
		return forVar
	case p.is(kindConst):
		return forLexical
	case p.isWord(wordLet):
		t := p.peek()
		if t.kind == kindIdent && !(t.word == wordOf && p.peekTwo() == kindIdent) || t.kind == kindLBracket || t.kind == kindLBrace {
			return forLexical
		}
	case p.isWord(wordUsing):
		t := p.peek()
		if t.kind == kindIdent && !t.newline && !(t.word == wordOf && p.peekTwo() != kindAssign) {
			return forLexical
		}
	case p.isWord(wordAwait) && p.fn.async:
		if t := p.peek(); t.word == wordUsing && !t.newline && p.awaitUsing() {
			return forAwaitUsing
		}
	}
	return forExpr
}

// peekTwo is the kind of the token after the next.
func (p *parser) peekTwo() kind {
	m := p.mark()
	p.next()
	p.next()
	k := p.tok.kind
	p.rewind(m)
	return k
}

func (p *parser) tryStatement() {
	start := p.tok.start
	p.next()
	p.block()
	handled := false
	if p.eat(kindCatch) {
		handled = true
		p.pushScope(scopeCatch)
		if p.is(kindLParen) {
			open := p.tok.start
			p.next()
			k := declLexical
			if p.is(kindIdent) {
				k = declCatch
			}
			p.bindingTarget(k)
			p.typeAnnotation()
			p.closing(kindRParen, open)
		}
		open := p.tok.start
		if !p.is(kindLBrace) {
			p.wanted("{")
		} else {
			p.next()
			p.blockRest(open)
		}
		p.popScope()
	}
	if p.eat(kindFinally) {
		handled = true
		p.block()
	}
	if !handled {
		if p.is(kindEOF) {
			p.wanted("catch or finally")
			return
		}
		p.fail(int(start), "This try has neither catch nor finally")
	}
}

func (p *parser) switchStatement() {
	p.next()
	p.condition()
	open := p.tok.start
	p.expect(kindLBrace)
	p.pushScope(scopeBlock)
	p.fn.breakable++
	hasDefault := false
	for !p.is(kindRBrace) && p.err == nil {
		at := p.tok.start
		switch {
		case p.eat(kindCase):
			p.fullExpression()
		case p.is(kindDefault):
			if hasDefault {
				p.fail(int(at), "This switch has a default already")
			}
			hasDefault = true
			p.next()
		default:
			if p.is(kindEOF) {
				p.closing(kindRBrace, open)
				break
			}
			p.wanted("case or default")
		}
		p.expect(kindColon)
		for !p.is(kindCase) && !p.is(kindDefault) && !p.is(kindRBrace) && !p.is(kindEOF) {
			p.statement(stmtInner)
		}
	}
	p.fn.breakable--
	p.popScope()
	p.closing(kindRBrace, open)
}
