package transpile

import (
	"strings"
)

// tsState is what the parser keeps while it reads TypeScript.
//
// Types are not translated, they are erased: every byte of them becomes a space, so that what is left stands where its
// author wrote it. What TypeScript adds that runs (enums, namespaces, parameter properties, decorators) is parsed and
// named in compiles; such a text goes to esbuild.
type tsState struct {
	on           bool
	erasures     []edit
	namespaces   []namespace // at the top of the body
	compiles     string      // what makes erasing not enough, "" when it is
	inExtends    bool        // in the extends part of a conditional type
	inTrueBranch bool        // between the ? and the : of a conditional expression
	arrowTyped   bool        // the arrow function that ended last had a return type
	depth        int         // namespaces around
}

type namespace struct {
	at, end int32
	merges  bool // with a class, function, enum or namespace before it
}

func (p *parser) erase(at, end int32, lead byte) {
	if p.err == nil && end > at {
		p.ts.erasures = append(p.ts.erasures, edit{blank: true, at: at, end: end, lead: lead})
	}
}

// leaveBranch says that brackets of any kind have opened, and returns what inTrueBranch must be again after them.
func (ts *tsState) leaveBranch() (outer bool) {
	outer, ts.inTrueBranch = ts.inTrueBranch, false
	return outer
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
