package transpile

// An expr says what the parser must remember of an expression it has passed.
type expr struct {
	kind  exprKind
	flags uint8
	start int32
	end   int32
}

type exprKind uint8

const (
	exprOther exprKind = iota
	exprIdent
	exprMember
	exprArray
	exprObject
	exprAssign
	exprArrow
	exprFunction
	exprClass
	exprString
	exprTemplate
	exprUnary
	exprUpdate
	exprOr
	exprAnd
	exprCoalesce
)

const (
	flagParen    = 1 << iota // in parentheses
	flagTarget               // may stand to the left of =, or be an element of such a pattern
	flagOptional             // a member of an optional chain
)

// expression reads a comma expression. noIn is set in the head of a for statement.
func (p *parser) expression(noIn bool) expr {
	e := p.assign(noIn)
	for p.is(kindComma) {
		p.next()
		p.assign(noIn)
		e = expr{kind: exprOther, start: e.start, end: p.prevEnd}
	}
	return e
}

// fullExpression reads an expression that no pattern can follow.
func (p *parser) fullExpression() expr {
	e := p.expression(false)
	p.refuseCoverInit()
	return e
}

func (p *parser) refuseCoverInit() {
	if p.coverInit >= 0 {
		p.fail(int(p.coverInit), "A default value after = belongs in a destructuring pattern; in an object write a colon")
		p.coverInit = -1
	}
}

func (p *parser) assign(noIn bool) expr {
	p.nest()
	outer := p.assignStart
	e := p.assignExpr(noIn)
	p.assignStart = outer
	p.depth--
	return e
}

func (p *parser) assignExpr(noIn bool) expr {
	start := p.tok.start
	if p.tok.word == wordYield && p.fn.generator && !p.tok.escaped {
		return p.yieldExpr(noIn)
	}
	if p.is(kindLess) && p.ts.on {
		if e, ok := p.genericArrow(); ok {
			return e
		}
	}
	p.assignStart = start
	cover := p.coverInit
	p.coverInit = -1
	name := p.tok
	e := p.conditional(noIn)
	switch p.tok.kind {
	case kindArrow:
		if e.kind == exprIdent && e.flags&flagParen == 0 && e.start == start && !p.tok.newline && name.end == e.end {
			p.unrefer(start)
			p.coverInit = cover
			return p.arrowOfName(name, start, false, noIn)
		}
	case kindAssign:
		if e.flags&flagTarget == 0 || e.kind == exprAssign {
			p.badTarget(e)
			return e
		}
		if e.kind == exprIdent {
			p.referredAs(e.start, refAssigned)
		}
		if e.kind == exprArray || e.kind == exprObject {
			p.coverInit = -1
		}
		p.next()
		p.assign(noIn)
		e = expr{kind: exprAssign, flags: flagTarget, start: start, end: p.prevEnd}
	case kindAssignOp:
		if e.kind != exprIdent && e.kind != exprMember || e.flags&flagTarget == 0 {
			p.badTarget(e)
			return e
		}
		p.next()
		p.assign(noIn)
		e = expr{kind: exprOther, start: start, end: p.prevEnd}
	}
	if p.coverInit < 0 {
		p.coverInit = cover
	}
	return e
}

func (p *parser) badTarget(e expr) {
	if p.err != nil {
		return
	}
	if e.flags&flagOptional != 0 {
		p.fail(int(e.start), "An optional chain (?.) cannot be assigned to")
		return
	}
	p.fail(int(e.start), "This cannot be assigned to")
}

func (p *parser) yieldExpr(noIn bool) expr {
	start := p.tok.start
	p.next()
	if !p.tok.newline {
		switch p.tok.kind {
		case kindRParen, kindRBracket, kindRBrace, kindComma, kindSemicolon, kindColon, kindEOF, kindIn:
		case kindStar:
			p.next()
			p.assign(noIn)
		default:
			if !p.isWord(wordOf) {
				p.assign(noIn)
			}
		}
	}
	return expr{kind: exprOther, start: start, end: p.prevEnd}
}

func (p *parser) conditional(noIn bool) expr {
	e := p.binary(precNone, noIn)
	if !p.is(kindQuestion) || e.kind == exprArrow && e.flags&flagParen == 0 {
		return e
	}
	p.next()
	inTrue := p.ts.inTrueBranch
	p.ts.inTrueBranch = true
	p.assign(false)
	p.ts.inTrueBranch = inTrue
	p.expect(kindColon)
	p.assign(noIn)
	return expr{kind: exprOther, start: e.start, end: p.prevEnd}
}

func (p *parser) binary(min uint8, noIn bool) expr {
	var left expr
	if p.is(kindPrivate) {
		left = p.privateIn()
	} else {
		left = p.unary()
	}
	if left.kind == exprArrow && left.flags&flagParen == 0 {
		return left
	}
	for {
		if p.ts.on && p.is(kindIdent) && min < precRelational && p.typeOperator() {
			left.end = p.prevEnd
			if left.kind != exprIdent && left.kind != exprMember {
				left = expr{kind: exprOther, start: left.start, end: p.prevEnd}
			}
			continue
		}
		op := p.tok.kind
		if int(op) >= len(precedences) {
			return left
		}
		prec := precedences[op]
		if prec <= min || op == kindIn && noIn {
			return left
		}
		at := p.tok.start
		p.next()
		if op == kindPower { // groups to the right, and does not take a unary operand on its left
			if left.kind == exprUnary && left.flags&flagParen == 0 {
				p.fail(int(left.start), "Put the operand of ** in parentheses: (-x) ** y or -(x ** y)")
			}
			p.nest()
			p.binary(prec-1, noIn)
			p.depth--
			left = expr{kind: exprOther, start: left.start, end: p.prevEnd}
			continue
		}
		right := p.binary(prec, noIn)
		k := exprOther
		switch op {
		case kindOr:
			k = exprOr
		case kindAnd:
			k = exprAnd
		case kindCoalesce:
			k = exprCoalesce
		}
		if k != exprOther && (mixes(k, left) || mixes(k, right)) {
			p.fail(int(at), "?? cannot be mixed with || or && without parentheses")
		}
		left = expr{kind: k, start: left.start, end: p.prevEnd}
	}
}

// mixes reports whether an operand and a logical operator may not meet without parentheses.
func mixes(k exprKind, operand expr) bool {
	if operand.flags&flagParen != 0 {
		return false
	}
	if k == exprCoalesce {
		return operand.kind == exprOr || operand.kind == exprAnd
	}
	return operand.kind == exprCoalesce
}

// privateIn reads `#name in object`.
func (p *parser) privateIn() expr {
	t := p.tok
	if p.classDepth == 0 {
		p.fail(int(t.start), "The private name %s is outside a class", p.src[t.start:t.end])
	}
	p.next()
	if !p.is(kindIn) {
		p.wanted("in")
	}
	return expr{kind: exprOther, start: t.start, end: t.end}
}

func (p *parser) unary() expr {
	start := p.tok.start
	switch p.tok.kind {
	case kindNot, kindTilde, kindPlus, kindMinus, kindDelete, kindVoid, kindTypeof:
		typeof := p.is(kindTypeof)
		p.next()
		operand := p.tok.start
		p.nest()
		e := p.unary()
		p.depth--
		if typeof && e.kind == exprIdent {
			p.referredAs(operand, refTypeof)
		}
		return expr{kind: exprUnary, start: start, end: p.prevEnd}
	case kindInc, kindDec:
		p.next()
		p.nest()
		e := p.unary()
		p.depth--
		p.updateTarget(e)
		return expr{kind: exprUpdate, start: start, end: p.prevEnd}
	case kindIdent:
		if p.tok.word == wordAwait && !p.tok.escaped {
			if p.fn.async {
				p.next()
				p.nest()
				p.unary()
				p.depth--
				return expr{kind: exprUnary, start: start, end: p.prevEnd}
			}
			p.strayAwait()
		}
	case kindLess:
		if p.ts.on {
			return p.typeAssertion()
		}
	}
	e := p.leftHandSide()
	if (p.is(kindInc) || p.is(kindDec)) && !p.tok.newline && !(e.kind == exprArrow && e.flags&flagParen == 0) {
		p.updateTarget(e)
		p.next()
		return expr{kind: exprUpdate, start: start, end: p.prevEnd}
	}
	return e
}

func (p *parser) updateTarget(e expr) {
	if e.kind != exprIdent && e.kind != exprMember || e.flags&flagTarget == 0 {
		p.badTarget(e)
	}
}

// strayAwait refuses await in a function that is not async, where it is only a name, if what follows shows that a
// keyword was meant.
func (p *parser) strayAwait() {
	at := int(p.tok.start)
	t := p.peek()
	if t.newline || p.err != nil {
		return
	}
	switch t.kind {
	case kindIdent:
		if t.word == wordOf || t.word == wordAs || t.word == wordSatisfies {
			return
		}
	case kindString, kindNumber, kindNew, kindThis, kindFunction, kindLBrace, kindClass, kindSuper, kindTrue, kindFalse, kindNull:
	default:
		return
	}
	p.failHint(at, "await is used inside a function that is not async", "Write async before that function, or before the parameters of that arrow function.")
}
