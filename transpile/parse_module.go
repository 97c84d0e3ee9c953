package transpile

// A moduleUse is one way to reach for a module.
type moduleUse uint8

const (
	useImportDeclaration moduleUse = iota
	useImportCall
	useImportMeta
	useRequire
	useModule
	useExportFrom
)

func (p *parser) find(at int32, use moduleUse) {
	if p.err == nil {
		p.findings = append(p.findings, finding{at, use})
	}
}

// blank takes a span out of the text, whichever way the text goes on.
func (p *parser) blank(at, end int32, lead byte) {
	if p.err == nil && end > at {
		p.edits = append(p.edits, edit{at: at, end: end, lead: lead, blank: true})
	}
}

// importDeclaration reads an import declaration. One that only brings types (TypeScript) is taken out of the text; any
// other is a finding.
func (p *parser) importDeclaration(at place) stmt {
	start := p.tok.start
	p.next()
	if p.is(kindString) {
		p.next()
		p.importAttributes()
		p.semicolon()
		p.find(start, useImportDeclaration)
		return stmt{}
	}
	typeOnly := false
	if p.ts.on && p.isWord(wordType) {
		// `import type X`, but `import type from "x"` imports a value called type
		t := p.peek()
		if t.kind == kindLBrace || t.kind == kindStar || t.kind == kindIdent && !(t.word == wordFrom && p.fromString()) {
			typeOnly = true
			p.next()
		}
	}
	if p.is(kindIdent) {
		name := p.tok
		p.next()
		if p.ts.on && p.is(kindAssign) {
			return p.importAlias(start, name, typeOnly)
		}
		if !typeOnly {
			p.declareMerging(name)
		}
		if !p.eat(kindComma) {
			if !p.isWord(wordFrom) {
				p.wanted(`from "..."`)
				return stmt{}
			}
		} else if !p.is(kindLBrace) && !p.is(kindStar) {
			p.wanted("{ or *")
		}
	}
	specifiers := 0
	onlyTypes := p.ts.on
	switch p.tok.kind {
	case kindStar:
		onlyTypes = false
		p.next()
		if !p.isWord(wordAs) {
			p.wanted("as")
			break
		}
		p.next()
		if !typeOnly {
			p.declareMerging(p.tok)
		}
		p.typeName()
	case kindLBrace:
		specifiers, onlyTypes = p.specifiers(!typeOnly)
	default:
		onlyTypes = false
	}
	if !p.isWord(wordFrom) {
		p.wanted(`from "..."`)
		return stmt{}
	}
	p.next()
	if !p.is(kindString) {
		p.wanted("the name of a module in quotes")
		return stmt{}
	}
	p.next()
	p.importAttributes()
	p.semicolon()
	if typeOnly || onlyTypes && specifiers > 0 {
		p.blank(start, p.prevEnd, ';')
		return stmt{kind: stmtErased}
	}
	p.find(start, useImportDeclaration)
	return stmt{}
}

// fromString looks past `from` for a string.
func (p *parser) fromString() bool {
	m := p.mark()
	p.next()
	p.next()
	is := p.is(kindString)
	p.rewind(m)
	return is
}

// importAlias reads `import x = require("y")` or `import x = A.B` from the equals sign on.
func (p *parser) importAlias(start int32, name token, typeOnly bool) stmt {
	p.next()
	if p.is(kindIdent) && p.tok.word == wordRequire && p.peek().kind == kindLParen {
		p.next()
		p.arguments()
		p.semicolon()
		if !typeOnly {
			p.find(start, useImportDeclaration)
			return stmt{}
		}
	} else {
		p.typeName()
		for p.eat(kindDot) {
			p.typeName()
		}
		p.semicolon()
		if !typeOnly && p.err == nil {
			p.declareMerging(name)
			p.edits = append(p.edits, edit{at: start, end: start + int32(len("import")), text: "const "})
			return stmt{}
		}
	}
	p.blank(start, p.prevEnd, ';')
	return stmt{kind: stmtErased}
}

// specifiers reads `{a, b as c, type D}` and reports how many there are and whether all are types.
func (p *parser) specifiers(declare bool) (n int, onlyTypes bool) {
	open := p.tok.start
	p.next()
	onlyTypes = p.ts.on
	for !p.is(kindRBrace) && p.err == nil {
		n++
		isType := false
		if p.ts.on && p.isWord(wordType) {
			if t := p.peek(); t.kind == kindIdent && t.word != wordAs || t.kind.reserved() || t.kind == kindString {
				isType = true
				p.next()
			}
		}
		name := p.tok
		p.specifierName()
		if p.isWord(wordAs) {
			p.next()
			name = p.tok
			p.specifierName()
		}
		if !isType {
			onlyTypes = false
			if declare && name.kind == kindIdent {
				p.declareMerging(name)
			}
		}
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	p.closing(kindRBrace, open)
	return n, onlyTypes
}

func (p *parser) specifierName() {
	if !p.is(kindIdent) && !p.is(kindString) && !p.tok.kind.reserved() {
		p.wanted("a name")
		return
	}
	p.next()
}

// importAttributes reads `with {type: "json"}`.
func (p *parser) importAttributes() {
	if p.is(kindWith) {
		p.next()
		p.objectLiteral()
	}
}

// exportDeclaration reads an export. A cell has no importers, so the keyword means nothing: it is taken out.
func (p *parser) exportDeclaration(at place) stmt {
	start := p.tok.start
	if at != stmtTop && p.ts.depth == 0 {
		p.unexpected()
		return stmt{}
	}
	p.next()
	if p.ts.depth > 0 { // in a namespace: esbuild's business
		return p.statement(at)
	}
	keyword := p.prevEnd
	switch p.tok.kind {
	case kindDefault:
		return p.exportDefault(start)
	case kindStar:
		p.next()
		if p.isWord(wordAs) {
			p.next()
			p.specifierName()
		}
		return p.exportFrom(start, false)
	case kindLBrace:
		_, onlyTypes := p.specifiers(false)
		if p.isWord(wordFrom) {
			return p.exportFrom(start, onlyTypes)
		}
		p.semicolon()
		p.blank(start, p.prevEnd, ';')
		p.exports = p.exports || !onlyTypes
		return stmt{kind: stmtErased}
	case kindAssign:
		if p.ts.on {
			p.find(start, useExportFrom)
			p.next()
			p.fullExpression()
			p.semicolon()
			return stmt{}
		}
	case kindImport:
		if p.ts.on {
			p.blank(start, keyword, 0)
			return p.importDeclaration(at)
		}
	case kindVar, kindConst, kindFunction, kindClass, kindAt, kindEnum:
		return p.exported(start, keyword, at)
	case kindIdent:
		t := p.peek()
		switch {
		case p.isWord(wordLet), p.isWord(wordAsync) && t.kind == kindFunction,
			p.ts.on && (p.isWord(wordInterface) || p.isWord(wordDeclare) || p.isWord(wordAbstract) || p.isWord(wordNamespace) ||
				p.isWord(wordModule) || p.isWord(wordType) && t.kind == kindIdent):
			return p.exported(start, keyword, at)
		case p.ts.on && p.isWord(wordType) && (t.kind == kindLBrace || t.kind == kindStar):
			p.next()
			if p.is(kindStar) {
				p.next()
				if p.isWord(wordAs) {
					p.next()
					p.specifierName()
				}
				return p.exportFrom(start, true)
			}
			p.specifiers(false)
			if p.isWord(wordFrom) {
				return p.exportFrom(start, true)
			}
			p.semicolon()
			p.blank(start, p.prevEnd, ';')
			return stmt{kind: stmtErased}
		}
	}
	p.unexpected()
	return stmt{}
}

// exported reads the declaration after the keyword export.
func (p *parser) exported(start, keyword int32, at place) stmt {
	p.blank(start, keyword, 0)
	s := p.statement(at)
	p.exports = p.exports || s.kind != stmtErased
	return s
}

func (p *parser) exportFrom(start int32, typeOnly bool) stmt {
	if !p.isWord(wordFrom) {
		p.wanted("from")
		return stmt{}
	}
	p.next()
	if !p.is(kindString) {
		p.wanted("the name of a module in quotes")
		return stmt{}
	}
	p.next()
	p.importAttributes()
	p.semicolon()
	if typeOnly {
		p.blank(start, p.prevEnd, ';')
		return stmt{kind: stmtErased}
	}
	p.find(start, useExportFrom)
	return stmt{}
}

// exportDefault reads `export default ...` as the value that the cell is for: see plan.
func (p *parser) exportDefault(start int32) stmt {
	if p.body.exported.found {
		p.fail(int(start), "There is an export default already")
		return stmt{}
	}
	p.next()
	if p.ts.on && p.isWord(wordInterface) {
		p.interfaceDeclaration()
		p.blank(start, p.prevEnd, ';')
		return stmt{kind: stmtErased}
	}
	value := p.tok.start
	p.abstractKeyword()
	e := p.assign(false)
	p.refuseCoverInit()
	switch e.kind {
	case exprFunction, exprClass:
		p.eat(kindSemicolon)
	default:
		p.semicolon()
	}
	p.body.exported.value = value
	return stmt{kind: stmtExportDefault, expr: e}
}
