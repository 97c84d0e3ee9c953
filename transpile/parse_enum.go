package transpile

import (
	"strconv"
	"strings"
)

// enum reads an enum. One whose members have no values, whole numbers or strings becomes assignments, each on the line
// of its member; esbuild compiles the others.
func (p *parser) enum(start int32) {
	e := enumWriter{p: p, noted: len(p.ts.erasures), simple: p.ts.depth == 0}
	p.eat(kindConst)
	p.next()
	name := p.tok
	p.typeName()
	if p.err != nil {
		return
	}
	e.name = p.src[name.start:name.end]
	s := &p.scopes[p.nscopes-1]
	keyword := "var "
	if s.kind != scopeFunction {
		keyword = "let "
	}
	if s.find(p.text(name)) >= 0 { // it adds to another of its name
		e.simple = false
	}
	p.declareMerging(name)
	open := p.tok.start
	p.expect(kindLBrace)
	e.replace(start, open+1, keyword+e.name+"; { (("+e.name+") => {")
	for !p.is(kindRBrace) && p.err == nil {
		e.member()
		if !p.is(kindComma) {
			break
		}
		p.next()
	}
	e.replace(p.tok.start, p.tok.end, "})("+e.name+" ||= {}); }")
	p.closing(kindRBrace, open)
	if !e.simple {
		p.ts.erasures = p.ts.erasures[:e.noted]
		p.compile("enums")
	}
}

type enumWriter struct {
	p      *parser
	name   string
	noted  int // erasures before the enum's
	simple bool
	next   int64 // the value of a member without one
	text   bool  // the last member was a string: there is no next value
}

func (e *enumWriter) replace(at, end int32, text string) {
	if e.simple && e.p.err == nil {
		e.p.ts.erasures = append(e.p.ts.erasures, edit{at: at, end: end, text: text})
	}
}

// member reads `Name`, `Name = 1` or `Name = "text"`, with the comma after it.
func (e *enumWriter) member() {
	p := e.p
	start := p.tok
	key := ""
	switch start.kind {
	case kindString:
		key = p.src[start.start:start.end]
	case kindIdent:
		key = strconv.Quote(p.text(start))
	default:
		if start.kind.reserved() {
			key = strconv.Quote(p.src[start.start:start.end])
		}
	}
	p.propertyName()
	value := ""
	if p.is(kindAssign) {
		p.next()
		value = e.literal()
	} else if !e.text {
		value = strconv.FormatInt(e.next, 10)
		e.next++
	}
	if key == "" || value == "" || key == `"__proto__"` {
		e.simple = false
		return
	}
	end := p.prevEnd
	if p.is(kindComma) {
		end = p.tok.end
	}
	if e.text {
		e.replace(start.start, end, e.name+"["+key+"] = "+value+";")
		return
	}
	e.replace(start.start, end, e.name+"["+e.name+"["+key+"] = "+value+"] = "+key+";")
}

// literal reads a member's value, and returns its text if it is a whole number or a string.
func (e *enumWriter) literal() string {
	p := e.p
	start := p.tok
	sign := int64(1)
	m := p.mark()
	if p.is(kindMinus) {
		sign = -1
		p.next()
	}
	value := p.tok
	p.next()
	if p.is(kindComma) || p.is(kindRBrace) {
		text := p.src[value.start:value.end]
		switch {
		case value.kind == kindString && sign > 0:
			e.text = true
			return text
		case value.kind == kindNumber && !strings.HasPrefix(text, "0_"):
			if n, err := strconv.ParseInt(text, 0, 32); err == nil && (len(text) == 1 || text[0] != '0' || !isDigit(text[1])) {
				e.text, e.next = false, sign*n+1
				return p.src[start.start:value.end]
			}
		}
	}
	if p.err == nil {
		p.rewind(m)
	}
	e.simple = false
	p.assign(false)
	return ""
}
