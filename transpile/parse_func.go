package transpile

import (
	"strings"
)

// enterFunction starts a function's own context and scope; leaveFunction goes back to what enterFunction returned.
func (p *parser) enterFunction(async, generator, plain bool) funcContext {
	outer := p.fn
	p.fn = funcContext{async: async, generator: generator, plain: plain, labelBase: len(p.labels)}
	p.pushScope(scopeFunction)
	return outer
}

func (p *parser) leaveFunction(outer funcContext) {
	p.popScope()
	p.fn = outer
}

// functionExpr reads what follows the keyword function in an expression.
func (p *parser) functionExpr(start int32, async bool) expr {
	p.nest()
	generator := p.eat(kindStar)
	outer := p.enterFunction(async, generator, !async)
	name := ""
	if p.is(kindIdent) {
		name = p.text(p.tok)
		p.declare(p.tok, declName)
		p.next()
	} else if p.tok.kind.reserved() {
		p.reservedName()
	}
	info := p.functionRest(outer.top)
	p.leaveFunction(outer)
	p.depth--
	info.start, info.end, info.name, info.generator = start, p.prevEnd, name, generator
	p.lastFunc = info
	return expr{kind: exprFunction, start: start, end: p.prevEnd}
}

// functionRest reads parameters and body. Parameters are only kept when they are wanted.
func (p *parser) functionRest(wanted bool) (info funcInfo) {
	p.typeParameters()
	info.params = p.parameters(wanted)
	p.returnType()
	p.functionBody()
	return info
}

func (p *parser) functionBody() {
	open := p.tok.start
	if !p.is(kindLBrace) {
		p.wanted("{")
		return
	}
	branch := p.ts.leaveBranch()
	p.next()
	for !p.is(kindRBrace) && !p.is(kindEOF) {
		p.statement(stmtInner)
	}
	p.ts.inTrueBranch = branch
	p.closing(kindRBrace, open)
}

// parameters reads a parameter list with its parentheses.
func (p *parser) parameters(wanted bool) (params []param) {
	open := p.tok.start
	branch := p.ts.leaveBranch()
	p.expect(kindLParen)
	for !p.is(kindRParen) && p.err == nil {
		if p.ts.on && p.thisParameter() {
			continue
		}
		p.parameterModifiers()
		rest := p.eat(kindEllipsis)
		name := p.tok
		p.bindingTarget(declParam)
		p.optionalMark()
		p.typeAnnotation()
		hasInit := p.is(kindAssign)
		if hasInit {
			p.next()
			p.assign(false)
			p.refuseCoverInit()
		}
		if wanted && p.err == nil {
			pa := param{rest: rest, hasInit: hasInit}
			if name.kind == kindIdent {
				pa.name = p.text(name)
			}
			params = append(params, pa)
		}
		if !p.is(kindComma) || rest {
			break
		}
		p.next()
	}
	p.ts.inTrueBranch = branch
	p.closing(kindRParen, open)
	return params
}

// bindingTarget reads a name or a destructuring pattern and declares what is in it.
func (p *parser) bindingTarget(k declKind) {
	switch p.tok.kind {
	case kindIdent:
		if p.tok.word == wordAwait && p.fn.async || p.tok.word == wordYield && p.fn.generator {
			p.fail(int(p.tok.start), "%s is a keyword here and cannot be a name", p.src[p.tok.start:p.tok.end])
			return
		}
		p.declare(p.tok, k)
		p.next()
	case kindLBracket:
		p.nest()
		open := p.tok.start
		p.next()
		for !p.is(kindRBracket) && p.err == nil {
			if p.eat(kindComma) {
				continue
			}
			rest := p.eat(kindEllipsis)
			p.bindingElement(k)
			if rest || !p.is(kindComma) {
				break
			}
			p.next()
		}
		p.closing(kindRBracket, open)
		p.depth--
	case kindLBrace:
		p.nest()
		open := p.tok.start
		p.next()
		for !p.is(kindRBrace) && p.err == nil {
			if p.eat(kindEllipsis) {
				p.bindingTarget(k)
				break
			}
			p.bindingProperty(k)
			if !p.is(kindComma) {
				break
			}
			p.next()
		}
		p.closing(kindRBrace, open)
		p.depth--
	default:
		if p.tok.kind.reserved() {
			p.reservedName()
			return
		}
		p.wanted("a name")
	}
}

func (p *parser) reservedName() {
	p.fail(int(p.tok.start), "%q is a reserved word and cannot be a name", p.src[p.tok.start:p.tok.end])
}

func (p *parser) bindingElement(k declKind) {
	p.bindingTarget(k)
	p.initializer()
}

func (p *parser) initializer() {
	if p.is(kindAssign) {
		p.next()
		p.assign(false)
		p.refuseCoverInit()
	}
}

func (p *parser) bindingProperty(k declKind) {
	name := p.tok
	p.propertyName()
	if p.eat(kindColon) {
		p.bindingElement(k)
		return
	}
	if name.kind != kindIdent {
		if name.kind.reserved() && p.err == nil {
			p.failSurely(int(name.start), "%q is a reserved word: write %s: name", p.src[name.start:name.end], p.src[name.start:name.end])
			return
		}
		p.wanted(":")
		return
	}
	p.declare(name, k)
	p.initializer()
}

// asyncFunction reads `async function`, `async x => ...`; false when the word async is something else here.
func (p *parser) asyncFunction() (expr, bool) {
	start := p.tok
	t := p.peek()
	if t.newline {
		return expr{}, false
	}
	switch {
	case t.kind == kindFunction:
		p.next()
		p.next()
		return p.functionExpr(start.start, true), true
	case t.kind == kindIdent && p.assignStart == start.start:
		m := p.mark()
		p.next()
		name := p.tok
		p.next()
		if p.is(kindArrow) && !p.tok.newline {
			return p.arrowOfName(name, start.start, true, false), true
		}
		p.rewind(m)
	case t.kind == kindLess && p.ts.on && p.assignStart == start.start:
		return p.genericAsyncArrow()
	}
	return expr{}, false
}

// arrowOfName reads the rest of `name => body`; the current token is the arrow.
func (p *parser) arrowOfName(name token, start int32, async, noIn bool) expr {
	p.nest()
	outer := p.enterFunction(async, false, !async)
	p.declare(name, declParam)
	info := funcInfo{arrow: true}
	if outer.top {
		info.params = []param{{name: p.text(name)}}
	}
	p.arrowBody(noIn)
	p.leaveFunction(outer)
	p.depth--
	info.start, info.end = start, p.prevEnd
	p.lastFunc = info
	return expr{kind: exprArrow, start: start, end: p.prevEnd}
}

// arrow reads an arrow function from its opening parenthesis (or, in TypeScript, its type parameters).
func (p *parser) arrow(start int32, async bool) expr {
	p.nest()
	outer := p.enterFunction(async, false, !async)
	p.typeParameters()
	info := funcInfo{arrow: true, params: p.parameters(outer.top)}
	typed := p.ts.on && p.arrowReturnType()
	if !p.is(kindArrow) {
		p.wanted("=>")
	} else if p.tok.newline {
		p.fail(int(p.tok.start), "The arrow => must be on the line where the parameters end")
	}
	p.arrowBody(false)
	p.leaveFunction(outer)
	p.depth--
	p.ts.arrowTyped = typed
	info.start, info.end = start, p.prevEnd
	p.lastFunc = info
	return expr{kind: exprArrow, start: start, end: p.prevEnd}
}

func (p *parser) arrowBody(noIn bool) {
	p.next() // =>
	if p.is(kindLBrace) {
		p.functionBody()
		return
	}
	p.assign(noIn)
	p.refuseCoverInit()
}

// paren reads a parenthesised expression or an arrow function. Which of them it is shows only after the closing
// parenthesis: simple parameter lists are recognised by a look ahead, others are read again as parameters.
func (p *parser) paren() expr {
	start := p.tok.start
	arrowAllowed := p.assignStart == start
	if arrowAllowed {
		known, seen := p.parens[start]
		switch {
		case seen && known, !seen && p.simpleParameters(int(start)+1):
			return p.arrow(start, false)
		case !seen && p.ts.on:
			if e, ok := p.tryArrow(start); ok {
				return e
			}
		}
	}
	m := p.mark()
	branch := p.ts.leaveBranch()
	p.next()
	e := expr{kind: exprOther}
	arrowOnly := int32(-1)
	count := 0
	for !p.is(kindRParen) && p.err == nil {
		if p.is(kindEllipsis) {
			arrowOnly = p.tok.start
			p.next()
			p.assign(false)
			break
		}
		e = p.assign(false)
		count++
		if !p.is(kindComma) {
			break
		}
		p.next()
		if p.is(kindRParen) {
			arrowOnly = p.prevEnd - 1
		}
	}
	if count == 0 && arrowOnly < 0 {
		arrowOnly = start + 1
	}
	p.ts.inTrueBranch = branch
	p.closing(kindRParen, start)
	if p.err != nil {
		return e
	}
	if p.is(kindArrow) && !p.tok.newline && arrowAllowed {
		p.knowParen(start, true)
		p.rewind(m)
		return p.arrow(start, false)
	}
	if arrowOnly >= 0 {
		if count == 0 && arrowOnly == start+1 {
			p.wanted("=> after ()")
		} else {
			p.fail(int(arrowOnly), "Unexpected %s in parentheses", p.src[arrowOnly:arrowOnly+1])
		}
		return e
	}
	if count > 1 || e.kind == exprArray || e.kind == exprObject || e.kind == exprAssign {
		e.flags &^= flagTarget
	}
	if count > 1 {
		e.kind = exprOther
	}
	return expr{kind: e.kind, flags: e.flags | flagParen, start: start, end: p.prevEnd}
}

func (p *parser) knowParen(at int32, arrow bool) {
	if p.parens == nil {
		p.parens = make(map[int32]bool, 8)
	}
	p.parens[at] = arrow
}

// simpleParameters looks from i over names, commas and blanks to `) =>`.
func (p *parser) simpleParameters(i int) bool {
	src := p.src
	for i < len(src) {
		c := src[i]
		switch {
		case isIdentPart(c) || c == ',' || c == ' ':
			i++
		case c == ')':
			return strings.HasPrefix(src[i+1:], " =>") || strings.HasPrefix(src[i+1:], "=>")
		default:
			return false
		}
	}
	return false
}

// asyncCall reads what follows the word async and a parenthesis: an async arrow function, or a call of a function of
// that name.
func (p *parser) asyncCall(callee expr) (e expr, arrow bool) {
	open := p.tok.start
	known, seen := p.parens[open]
	switch {
	case seen && known, !seen && p.simpleParameters(int(open)+1):
		return p.arrow(callee.start, true), true
	case !seen && p.ts.on:
		if e, ok := p.tryAsyncArrow(callee.start, open); ok {
			return e, true
		}
	}
	m := p.mark()
	p.arguments()
	if p.err == nil && p.is(kindArrow) && !p.tok.newline {
		p.knowParen(open, true)
		p.rewind(m)
		return p.arrow(callee.start, true), true
	}
	return expr{kind: exprOther, start: callee.start, end: p.prevEnd}, false
}

// method reads the parameters and body of a method, getter or setter whose name has been read.
func (p *parser) method(async, generator bool) {
	p.nest()
	outer := p.enterFunction(async, generator, !async)
	p.functionRest(false)
	p.leaveFunction(outer)
	p.depth--
}
