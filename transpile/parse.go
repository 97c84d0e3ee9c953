package transpile

import (
	"sort"
	"sync"
)

// maxDepth bounds how deep the text may nest. The engine's own parser gives up earlier.
const maxDepth = 3000

// Reading goes back and forth where the grammar is ambiguous. A text may cost so many tokens, and no more.
const (
	stepsPerByte = 12
	stepsFloor   = 10_000
)

// A parser reads one function body in a single pass, without building a tree: what this package needs of the text
// (the spans of its outermost statements, free names, module syntax, what TypeScript adds) is noted while passing.
// It is exact about structure, which is where one token or construct ends and the next begins, and lenient about rules
// that do not bear on it: what it lets through the engine still refuses before the cell's first step.
//
// After the first failure every token is the end of the text, so each loop ends and the stack unwinds by itself.
type parser struct {
	src     string
	pos     int // where the next token is looked for
	tok     token
	prevEnd int32 // end of the token before tok
	depth   int
	steps   int // tokens read, again and again included
	err     *parseError
	quiet   int // above 0 while something is only tried: failures need no words

	fn                  funcContext
	scopes              []scope
	nscopes             int
	labels              []label
	classDepth          int
	assignStart         int32 // where the innermost assignment expression began: only there an arrow function may
	coverInit           int32 // a {a = 1} that only a pattern may hold, or -1
	prevWordWasAccessor bool  // get or set stood before the property name being read
	lastFunc            funcInfo
	parens              map[int32]bool // ( known to open (true) or not to open (false) the parameters of an arrow function

	body      bodyInfo
	refs      []reference // to require and module, not resolved yet
	findings  []finding   // module syntax
	oddBreaks []int32     // line terminators that the engine counts otherwise than the language does
	edits     []edit      // how module syntax is taken out of the text
	fences    bool        // a template is called as a function, as where Markdown fences are read as templates
	exports   bool        // an export keyword or list was among it

	ts tsState
}

// A parseError is the first thing the parser could not accept.
type parseError struct {
	at      int
	reached int // how far the text had been read
	msg     string
	hint    string
	plain   bool // it says what is wrong; another parser's message is no better
	sure    bool // the engine refuses it too, whatever esbuild says
	final   bool // not to be tried on another parser
}

// A funcContext is what the innermost function allows.
type funcContext struct {
	async, generator bool
	plain            bool // inside a function that is not async: an await here is a mistake worth a sentence
	loops, breakable int
	labelBase        int
	top              bool // the body itself, not a function in it
}

type label struct {
	name string
	loop bool
}

// A funcInfo describes the function expression or declaration that ended last.
type funcInfo struct {
	start, end int32
	name       string
	generator  bool
	arrow      bool
	params     []param // of the outermost functions only
}

// A param is one parameter of a function that might be called.
type param struct {
	name    string // "" for a pattern
	rest    bool
	hasInit bool
}

// A bodyInfo is what the top level of the body looks like.
type bodyInfo struct {
	statements int  // those that do something: not empty, not erased, not "use strict"
	functions  int  // function declarations among them
	last       stmt // the last of them that is no function declaration
	lastFunc   funcInfo
	sole       funcInfo // the first function declaration
	directives bool     // every statement so far was a directive
	exported   exported // export default
	returned   bool     // the last return, at the top, stands for an export default
}

// An exported is the `export default` of the body.
type exported struct {
	found bool
	at    int32 // of the keyword export
	value int32 // where the exported expression begins
	expr  expr
	fn    funcInfo
	later bool // a statement that runs follows it
}

// A finding is use of modules, in the order of the text.
type finding struct {
	at   int32
	what moduleUse
}

// An edit replaces src[at:end] by text, or, when blank is set, by spaces byte for byte; lead and tail, when not 0, are
// then its first and last byte.
type edit struct {
	at, end    int32
	text       string
	blank      bool
	lead, tail byte
	leads      bool  // an inserted text that is about what follows it: its positions are that
	via        layer // of a text that was made from src[at:end]: the way back into that
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

func newParser(src string, ts bool) *parser {
	p := parsers.Get().(*parser)
	p.reset(src, ts)
	return p
}

func (p *parser) reset(src string, ts bool) {
	*p = parser{
		src: src, coverInit: -1, assignStart: -1,
		scopes: p.scopes, labels: p.labels[:0], refs: p.refs[:0], findings: p.findings[:0],
		oddBreaks: p.oddBreaks[:0], edits: p.edits[:0],
		ts: tsState{on: ts, erasures: p.ts.erasures[:0], namespaces: p.ts.namespaces[:0]},
	}
}

// release gives the parser's memory back, unless the text was so large that keeping it would be waste.
func (p *parser) release() {
	if cap(p.scopes) > 256 || cap(p.ts.erasures) > 4096 || cap(p.oddBreaks) > 4096 {
		return
	}
	for i := range p.scopes {
		if cap(p.scopes[i].decls) > 1024 {
			return
		}
	}
	p.reset("", false)
	parsers.Put(p)
}

// parseBody reads the whole text.
func (p *parser) parseBody() {
	p.fn = funcContext{async: true, top: true}
	p.body.directives = true
	p.pushScope(scopeFunction)
	p.next()
	for p.tok.kind != kindEOF {
		if p.tok.kind == kindRBrace {
			p.failHint(int(p.tok.start), "Unexpected }: no { is open here",
				"The text runs as the body of one async function and must be complete in itself.")
			break
		}
		p.noteTop(p.statement(stmtTop))
	}
	p.popScope()
	if p.err == nil {
		p.freeReferences()
	}
}

// noteTop records a statement of the body itself.
func (p *parser) noteTop(s stmt) {
	b := &p.body
	switch s.kind {
	case stmtEmpty, stmtErased:
		return
	case stmtExpr:
		if s.expr.kind != exprString || s.expr.flags&flagParen != 0 {
			b.directives = false
		} else if b.directives && isUseStrict(p.src[s.expr.start:s.expr.end]) {
			return
		}
	default:
		b.directives = false
	}
	b.statements++
	if s.kind == stmtFunction {
		b.functions++
		if b.functions == 1 {
			b.sole = p.lastFunc
		}
		return
	}
	if b.exported.found {
		b.exported.later = true
	}
	if s.kind == stmtExportDefault {
		b.exported.found, b.exported.at, b.exported.expr, b.exported.fn = true, s.start, s.expr, p.lastFunc
	}
	b.last = s
	b.lastFunc = p.lastFunc
}

// freeReferences turns the references that no scope has taken into findings.
func (p *parser) freeReferences() {
	for _, r := range p.refs {
		switch {
		case r.kind == refTypeof || r.inWith:
		case p.assigned(r.word):
		case r.word == wordRequire:
			p.findings = append(p.findings, finding{r.at, useRequire})
		default:
			p.findings = append(p.findings, finding{r.at, useModule})
		}
	}
	sort.SliceStable(p.findings, func(i, j int) bool { return p.findings[i].at < p.findings[j].at })
}

// assigned reports whether the text itself makes a global of that name by assigning to it.
func (p *parser) assigned(w word) bool {
	for _, r := range p.refs {
		if r.word == w && r.kind == refAssigned {
			return true
		}
	}
	return false
}
