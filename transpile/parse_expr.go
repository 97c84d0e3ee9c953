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

// leftHandSide reads a primary expression and the members, calls and templates that follow it.
func (p *parser) leftHandSide() expr {
	var e expr
	if p.is(kindNew) {
		e = p.newExpr()
	} else {
		e = p.primary()
	}
	if e.kind == exprArrow && e.flags&flagParen == 0 {
		return e
	}
	return p.suffixes(e, true)
}

func (p *parser) suffixes(e expr, calls bool) expr {
	start := e.start
	optional := uint8(0)
	for {
		switch p.tok.kind {
		case kindDot:
			p.next()
			p.memberName()
			e = expr{kind: exprMember, flags: flagTarget, start: start, end: p.prevEnd}
		case kindQuestionDot:
			if !calls {
				p.fail(int(p.tok.start), "new cannot be used in an optional chain")
				return e
			}
			optional = flagOptional
			p.next()
			switch p.tok.kind {
			case kindLParen:
				p.arguments()
			case kindLBracket:
				p.index()
			case kindTemplate:
				p.fail(int(p.tok.start), "A template cannot follow ?.")
			case kindLess:
				if !p.ts.on || !p.typeArguments() {
					p.unexpected()
				}
				p.arguments()
			default:
				p.memberName()
			}
			e = expr{kind: exprMember, start: start, end: p.prevEnd}
		case kindLBracket:
			p.index()
			e = expr{kind: exprMember, flags: flagTarget, start: start, end: p.prevEnd}
		case kindLParen:
			if !calls {
				return e
			}
			if e.kind == exprIdent && p.prevEnd == e.end && p.src[e.start:e.end] == "async" && !p.tok.newline && p.assignStart == e.start {
				var arrow bool
				if e, arrow = p.asyncCall(e); arrow {
					return e
				}
				continue
			}
			p.arguments()
			e = expr{kind: exprOther, start: start, end: p.prevEnd}
		case kindTemplate:
			p.template()
			e = expr{kind: exprOther, start: start, end: p.prevEnd}
		case kindNot:
			if !p.ts.on || p.tok.newline {
				return e
			}
			p.nonNull()
			continue
		case kindLess, kindShiftLeft:
			if !p.ts.on || !p.typeArgumentsInExpression() {
				return e
			}
			if !p.is(kindLParen) && !p.is(kindTemplate) {
				e = expr{kind: exprOther, start: start, end: p.prevEnd}
			}
			continue
		default:
			return e
		}
		if optional != 0 {
			e.flags = e.flags&^flagTarget | flagOptional
		}
	}
}

func (p *parser) memberName() {
	switch {
	case p.is(kindIdent) || p.tok.kind.reserved():
	case p.is(kindPrivate):
		if p.classDepth == 0 {
			p.fail(int(p.tok.start), "The private name %s is outside a class", p.src[p.tok.start:p.tok.end])
		}
	default:
		p.wanted("a property name")
		return
	}
	p.next()
}

func (p *parser) index() {
	open := p.tok.start
	p.next()
	p.expression(false)
	p.closing(kindRBracket, open)
}

func (p *parser) arguments() {
	open := p.tok.start
	if !p.is(kindLParen) {
		p.wanted("(")
		return
	}
	p.next()
	for !p.is(kindRParen) && p.err == nil {
		p.eat(kindEllipsis)
		p.assign(false)
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closing(kindRParen, open)
}

func (p *parser) newExpr() expr {
	start := p.tok.start
	p.next()
	if p.is(kindDot) {
		p.next()
		if !p.isWord(wordTarget) {
			p.wanted("target")
			return expr{}
		}
		p.next()
		return expr{kind: exprOther, start: start, end: p.prevEnd}
	}
	p.nest()
	p.assignStart = -1
	if p.is(kindNew) {
		p.suffixes(p.newExpr(), false)
	} else {
		if p.is(kindImport) {
			if t := p.peek(); t.kind == kindLParen {
				p.unexpected()
			}
		}
		p.suffixes(p.primary(), false)
	}
	p.depth--
	if p.is(kindLParen) {
		p.arguments()
	}
	return expr{kind: exprOther, start: start, end: p.prevEnd}
}

func (p *parser) primary() expr {
	t := p.tok
	switch t.kind {
	case kindIdent:
		if t.word == wordAsync && !t.escaped {
			if e, ok := p.asyncFunction(); ok {
				return e
			}
		}
		p.next()
		p.refer(t)
		return expr{kind: exprIdent, flags: flagTarget, start: t.start, end: t.end}
	case kindNumber, kindThis, kindNull, kindTrue, kindFalse:
		p.next()
		return expr{kind: exprOther, start: t.start, end: t.end}
	case kindString:
		p.next()
		return expr{kind: exprString, start: t.start, end: t.end}
	case kindTemplate:
		p.template()
		return expr{kind: exprOther, start: t.start, end: p.prevEnd}
	case kindSlash, kindAssignOp:
		if p.src[t.start] != '/' {
			break
		}
		p.rescanRegexp()
		if p.err == nil {
			p.next()
		}
		return expr{kind: exprOther, start: t.start, end: p.prevEnd}
	case kindLParen:
		return p.paren()
	case kindLBracket:
		return p.arrayLiteral()
	case kindLBrace:
		return p.objectLiteral()
	case kindFunction:
		p.next()
		return p.functionExpr(t.start, false)
	case kindClass, kindAt:
		return p.classExpr()
	case kindSuper:
		p.next()
		if !p.is(kindDot) && !p.is(kindLParen) && !p.is(kindLBracket) {
			p.wanted(". or (")
		}
		return expr{kind: exprOther, start: t.start, end: t.end}
	case kindImport:
		return p.importExpr()
	}
	p.unexpected()
	return expr{kind: exprOther, start: t.start, end: t.end}
}

// template reads a template literal from its opening backtick.
func (p *parser) template() {
	open := int(p.tok.start)
	i := open + 1
	for p.err == nil {
		end, last, ok := p.scanTemplatePart(i)
		if !ok {
			p.fail(open, "This template literal is not closed: add a backtick")
			return
		}
		p.pos = end
		if last {
			p.tok.end = int32(end)
			p.next()
			return
		}
		p.next()
		p.expression(false)
		if !p.is(kindRBrace) {
			p.closing(kindRBrace, int32(end-1))
			return
		}
		i = int(p.tok.end)
	}
}

// importExpr reads import(), import.meta and whatever else an expression makes of the keyword.
func (p *parser) importExpr() expr {
	start := p.tok.start
	p.next()
	switch p.tok.kind {
	case kindLParen:
		p.findings = append(p.findings, finding{start, useImportCall})
		p.arguments()
	case kindDot:
		p.next()
		if p.isWord(wordMeta) {
			p.findings = append(p.findings, finding{start, useImportMeta})
			p.next()
			break
		}
		p.findings = append(p.findings, finding{start, useImportCall}) // import.defer(), import.source()
		p.memberName()
		p.arguments()
	default:
		p.wanted("( or .meta after import")
	}
	return expr{kind: exprOther, start: start, end: p.prevEnd}
}

func (p *parser) arrayLiteral() expr {
	start := p.tok.start
	target := uint8(flagTarget)
	p.next()
	for !p.is(kindRBracket) && p.err == nil {
		if p.is(kindComma) {
			p.next()
			continue
		}
		rest := p.eat(kindEllipsis)
		e := p.assign(false)
		if e.flags&flagTarget == 0 || rest && (e.kind == exprAssign || p.is(kindComma)) {
			target = 0
		}
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closing(kindRBracket, start)
	return expr{kind: exprArray, flags: target, start: start, end: p.prevEnd}
}

// objectLiteral reads an object, which may turn out to be a pattern.
func (p *parser) objectLiteral() expr {
	start := p.tok.start
	target := uint8(flagTarget)
	p.next()
	for !p.is(kindRBrace) && p.err == nil {
		if p.eat(kindEllipsis) {
			e := p.assign(false)
			if e.kind != exprIdent && e.kind != exprMember || e.flags&flagTarget == 0 || p.is(kindComma) {
				target = 0
			}
		} else if !p.property() {
			target = 0
		}
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closing(kindRBrace, start)
	return expr{kind: exprObject, flags: target, start: start, end: p.prevEnd}
}

// property reads one member of an object literal and reports whether a pattern could hold it.
func (p *parser) property() bool {
	async, generator := p.methodModifiers()
	if p.err != nil {
		return false
	}
	modified := async || generator || p.prevWordWasAccessor
	p.prevWordWasAccessor = false
	name := p.tok
	p.propertyName()
	switch {
	case p.is(kindLParen) || p.is(kindLess) && p.ts.on:
		p.method(async, generator)
		return false
	case modified:
		p.wanted("(")
		return false
	case p.is(kindColon):
		p.next()
		return p.assign(false).flags&flagTarget != 0
	case name.kind != kindIdent:
		p.wanted(":")
		return false
	}
	if name.word == wordAwait && p.fn.async {
		p.fail(int(name.start), "await is a keyword here and cannot be a name")
	}
	p.refer(name)
	if p.is(kindAssign) {
		if p.coverInit < 0 {
			p.coverInit = p.tok.start
		}
		cover := p.coverInit
		p.next()
		p.assign(false)
		p.coverInit = cover
	}
	return true
}

// methodModifiers reads async, get, set and * before a property name, unless they are the name.
func (p *parser) methodModifiers() (async, generator bool) {
	if p.is(kindIdent) && !p.tok.escaped {
		switch p.tok.word {
		case wordAsync, wordGet, wordSet:
			w := p.tok.word
			t := p.peek()
			if p.err == nil && startsName(t) && !(w == wordAsync && t.newline) || w == wordAsync && t.kind == kindStar && !t.newline {
				p.next()
				async = w == wordAsync
				p.prevWordWasAccessor = !async
			}
		}
	}
	if p.is(kindStar) && !p.prevWordWasAccessor {
		p.next()
		generator = true
	}
	return async, generator
}

// startsName reports whether a property name may begin with the token.
func startsName(t token) bool {
	switch t.kind {
	case kindIdent, kindString, kindNumber, kindLBracket, kindPrivate:
		return true
	}
	return t.kind.reserved()
}

func (p *parser) propertyName() {
	switch p.tok.kind {
	case kindIdent, kindString, kindNumber:
		p.next()
	case kindLBracket:
		open := p.tok.start
		p.next()
		p.assign(false)
		p.closing(kindRBracket, open)
	case kindPrivate:
		if p.classDepth == 0 {
			p.fail(int(p.tok.start), "The private name %s is outside a class", p.src[p.tok.start:p.tok.end])
			return
		}
		p.next()
	default:
		if p.tok.kind.reserved() {
			p.next()
			return
		}
		p.wanted("a property name")
	}
}
