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

// awaitUsing looks past `await using` for a name on the same line.
func (p *parser) awaitUsing() bool {
	m := p.mark()
	p.next()
	p.next()
	ok := p.is(kindIdent) && !p.tok.newline
	p.rewind(m)
	return ok
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
				p.wanted("= after a destructuring pattern")
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
		p.fail(int(name.start), "The constant %q needs a value: write = after its name", p.text(name))
		return
	}
	if p.tok.newline {
		p.fail(int(name.start), "The constant %q needs a value: write = after its name", p.text(name))
		return
	}
	p.wanted("= after the name of a constant")
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
	p.declare(name, declLexical)
	p.pushScope(scopeBlock)
	p.classRest()
	p.popScope()
}
