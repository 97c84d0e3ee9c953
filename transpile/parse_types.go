package transpile

import "strings"

// tsState is what the parser keeps while it reads TypeScript.
//
// Types are not translated, they are erased: every byte of them becomes a space, so that what is left stands where its
// author wrote it. What TypeScript adds that runs (enums, namespaces, parameter properties, decorators) is parsed and
// named in compiles; such a text goes to esbuild.
type tsState struct {
	on           bool
	erasures     []edit
	namespaces   []span // namespaces at the top of the body
	compiles     string // what makes erasing not enough, "" when it is
	inExtends    bool   // in the extends part of a conditional type
	inTrueBranch bool   // between the ? and the : of a conditional expression
	arrowTyped   bool   // the arrow function that ended last had a return type
	depth        int    // namespaces around
}

type span struct{ at, end int32 }

func (p *parser) erase(at, end int32, lead byte) {
	if p.err == nil && end > at {
		p.ts.erasures = append(p.ts.erasures, edit{blank: true, at: at, end: end, lead: lead})
	}
}

// compile notes that the text has something that erasing does not do.
func (p *parser) compile(what string) {
	if p.ts.compiles == "" {
		p.ts.compiles = what
	}
}

func (p *parser) spansLines(at, end int32) bool {
	return p.err == nil && at < end && strings.ContainsAny(p.src[at:end], "\n\r\u2028\u2029")
}

// try runs a piece of grammar that may not fit, and goes back if it does not.
func (p *parser) try(f func() bool) bool {
	if p.err != nil {
		return false
	}
	m := p.mark()
	p.quiet++
	ok := f() && p.err == nil
	p.quiet--
	if !ok {
		p.rewind(m)
	}
	return ok
}

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

// ---- arrow functions with types

// arrowHead passes type parameters, parameters and return type up to the arrow.
func (p *parser) arrowHead(async bool) bool {
	outer := p.enterFunction(async, false, !async)
	p.typeParameters()
	p.parameters(false)
	p.arrowReturnType()
	ok := p.err == nil && p.is(kindArrow) && !p.tok.newline
	p.leaveFunction(outer)
	return ok
}

// tryArrow reads an arrow function from its parenthesis if it is one.
func (p *parser) tryArrow(start int32) (expr, bool) {
	if t := p.peek(); t.kind != kindRParen && t.kind != kindIdent && t.kind != kindLBrace && t.kind != kindLBracket &&
		t.kind != kindEllipsis && t.kind != kindThis && t.kind != kindAt {
		return expr{}, false
	}
	m := p.mark()
	ok := p.try(func() bool { return p.arrowHead(false) })
	if ok {
		p.rewind(m)
		p.knowParen(start, true)
		if p.ts.inTrueBranch {
			// a ? (b) : c => d is a conditional; a ? (b): c => d : e has an arrow function in it.
			ok = p.try(func() bool {
				p.arrow(start, false)
				return !p.ts.arrowTyped || p.is(kindColon)
			})
			if ok {
				p.rewind(m)
			}
		}
	}
	if !ok {
		p.knowParen(start, false)
		return expr{}, false
	}
	return p.arrow(start, false), true
}

func (p *parser) tryAsyncArrow(start, open int32) (expr, bool) {
	m := p.mark()
	ok := p.try(func() bool { return p.arrowHead(true) })
	p.knowParen(open, ok)
	if !ok {
		return expr{}, false
	}
	p.rewind(m)
	return p.arrow(start, true), true
}

// genericArrow reads `<T>(x: T) => x` if that is what stands here.
func (p *parser) genericArrow() (expr, bool) {
	start := p.tok.start
	m := p.mark()
	if !p.try(func() bool { return p.arrowHead(false) }) {
		return expr{}, false
	}
	p.rewind(m)
	p.linesBeforeParameters()
	return p.arrow(start, false), true
}

// genericAsyncArrow reads `async <T>(x: T) => x` if that is what stands here.
func (p *parser) genericAsyncArrow() (expr, bool) {
	start := p.tok.start
	m := p.mark()
	if !p.try(func() bool { p.next(); return p.arrowHead(true) }) {
		return expr{}, false
	}
	p.rewind(m)
	p.next()
	p.linesBeforeParameters()
	return p.arrow(start, true), true
}

// linesBeforeParameters leaves type parameters of several lines to esbuild: blank lines there could end a statement.
func (p *parser) linesBeforeParameters() {
	m := p.mark()
	start := p.tok.start
	p.typeParameters()
	lines := p.spansLines(start, p.tok.start)
	if p.err == nil {
		p.rewind(m)
	}
	if lines {
		p.compile("type parameters over several lines")
	}
}

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
	if p.is(kindLess) || p.is(kindLParen) && p.try(func() bool { p.functionType(); return true }) {
		if p.is(kindLess) {
			p.functionType()
		}
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
						p.unionType()
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

func (p *parser) templateType() {
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
		p.typ()
		if !p.is(kindRBrace) {
			p.closing(kindRBrace, int32(end-1))
			return
		}
		i = int(p.tok.end)
	}
}

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
