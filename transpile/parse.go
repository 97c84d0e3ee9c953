package transpile

import (
	"fmt"
	"sort"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"
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
	exports   bool        // an export keyword or list was among it

	ts tsState
}

// A parseError is the first thing the parser could not accept.
type parseError struct {
	at    int
	msg   string
	hint  string
	plain bool // no other parser says it better
	final bool // not to be tried on another parser
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
	statements int  // those that do something: not empty, not erased
	functions  int  // function declarations among them
	last       stmt // the last that is neither empty nor a function declaration
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
			p.err.plain = true
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

// ---- failures

func (p *parser) fail(at int, format string, args ...any) {
	if p.err != nil || p.quiet > 0 {
		p.failHint(at, format, "")
		return
	}
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	p.failHint(at, msg, "")
}

func (p *parser) failHint(at int, msg, hint string) {
	if p.err == nil {
		p.err = &parseError{at: at, msg: msg, hint: hint}
	}
	end := int32(len(p.src))
	p.tok = token{kind: kindEOF, start: end, end: end}
	p.pos = len(p.src)
}

// unexpected fails at the current token.
func (p *parser) unexpected() {
	if p.err != nil {
		return
	}
	at := int(p.tok.start)
	if p.tok.kind == kindEOF {
		p.failHint(at, "The source ends too early", "Something is not finished; the text may have been cut off.")
		return
	}
	p.fail(at, "Unexpected %s", p.describe(p.tok))
}

// wanted fails at the current token and says what should stand there.
func (p *parser) wanted(what string) {
	if p.err != nil {
		return
	}
	if p.tok.kind == kindEOF {
		p.fail(int(p.tok.start), "The source ends where %s was expected", what)
		return
	}
	p.fail(int(p.tok.start), "Expected %s but found %s", what, p.describe(p.tok))
}

// failChar fails at a character that no token begins with.
func (p *parser) failChar(i int) {
	r, _ := utf8.DecodeRuneInString(p.src[i:])
	hint := ""
	switch r {
	case '\u2018', '\u2019', '\u201c', '\u201d', '\u00ab', '\u00bb':
		hint = "Use straight quotes: ' or \"."
	case '\u2026':
		hint = "Write the elided code in full."
	}
	p.failHint(i, "Unexpected character "+quoteChar(r), hint)
}

func quoteChar(r rune) string {
	if r < 0x20 || r >= 0x7f && !unicode.IsPrint(r) {
		return fmt.Sprintf("U+%04X", r)
	}
	return string(r)
}

// describe names a token in a message: the token itself, shortened.
func (p *parser) describe(t token) string {
	text := p.src[t.start:t.end]
	if len(text) > 40 {
		cut := 37
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	switch t.kind {
	case kindEOF:
		return "the end of the source"
	case kindString:
		return "string " + text
	case kindTemplate:
		return "template literal"
	case kindNumber:
		return "number " + text
	case kindIdent, kindPrivate:
		return "name " + strconv.Quote(text)
	}
	if t.kind.reserved() {
		return "keyword " + strconv.Quote(text)
	}
	return text
}

// ---- token help

func (p *parser) is(k kind) bool     { return p.tok.kind == k }
func (p *parser) isWord(w word) bool { return p.tok.word == w && !p.tok.escaped }

func (p *parser) eat(k kind) bool {
	if p.tok.kind != k {
		return false
	}
	p.next()
	return true
}

var spellings = map[kind]string{
	kindLBrace: "{", kindRBrace: "}", kindLParen: "(", kindRParen: ")", kindLBracket: "[", kindRBracket: "]",
	kindColon: ":", kindArrow: "=>", kindAssign: "=", kindWhile: "while", kindComma: ",", kindLess: "<", kindGreater: ">",
}

func (p *parser) expect(k kind) {
	if p.tok.kind != k {
		p.wanted(spellings[k])
		return
	}
	p.next()
}

// closing expects the bracket that closes the one at open.
func (p *parser) closing(k kind, open int32) {
	if p.tok.kind == k {
		p.next()
		return
	}
	if p.err != nil || p.quiet > 0 {
		p.failHint(int(p.tok.start), "", "")
		return
	}
	line, column := lineColumn(p.src, int(open))
	opener := p.src[open : open+1]
	if p.tok.kind == kindEOF {
		p.failHint(int(p.tok.start), fmt.Sprintf("The source ends before the %s of line %d, column %d is closed", opener, line, column),
			fmt.Sprintf("Add the missing %s; the text may have been cut off.", spellings[k]))
		return
	}
	p.fail(int(p.tok.start), "Expected %s to close the %s of line %d, column %d, but found %s",
		spellings[k], opener, line, column, p.describe(p.tok))
}

// peek is the token after the current one.
func (p *parser) peek() token {
	if p.err != nil {
		return p.tok
	}
	m := p.mark()
	p.next()
	t := p.tok
	p.rewind(m)
	return t
}

// A mark is a place to go back to.
type mark struct {
	pos                                      int
	tok                                      token
	prevEnd                                  int32
	refs, findings, edits, erasures, nspaces int
	coverInit, assignStart                   int32
	depth                                    int
	compiles                                 string
}

func (p *parser) mark() mark {
	return mark{
		pos: p.pos, tok: p.tok, prevEnd: p.prevEnd,
		refs: len(p.refs), findings: len(p.findings), edits: len(p.edits),
		erasures: len(p.ts.erasures), nspaces: len(p.ts.namespaces),
		coverInit: p.coverInit, assignStart: p.assignStart, depth: p.depth, compiles: p.ts.compiles,
	}
}

// rewind goes back to m and forgets everything noted since, a failure included. There must have been none before m.
func (p *parser) rewind(m mark) {
	p.pos, p.tok, p.prevEnd = m.pos, m.tok, m.prevEnd
	p.refs, p.findings, p.edits = p.refs[:m.refs], p.findings[:m.findings], p.edits[:m.edits]
	p.ts.erasures, p.ts.namespaces = p.ts.erasures[:m.erasures], p.ts.namespaces[:m.nspaces]
	p.coverInit, p.assignStart, p.depth = m.coverInit, m.assignStart, m.depth
	p.ts.compiles = m.compiles
	p.err = nil
}

// semicolon ends a statement, by the rules of automatic semicolon insertion.
func (p *parser) semicolon() {
	switch p.tok.kind {
	case kindSemicolon:
		p.next()
	case kindRBrace, kindEOF:
	default:
		if !p.tok.newline {
			p.unexpected()
		}
	}
}

// nest counts a level of nesting; every caller leaves it with p.depth--.
func (p *parser) nest() {
	p.depth++
	if p.depth > maxDepth && p.err == nil {
		p.fail(int(p.tok.start), "The source nests more than %d levels deep", maxDepth)
		p.err.final = true
	}
}

// text is the current token's identifier, escapes spelt out.
func (p *parser) text(t token) string {
	s := p.src[t.start:t.end]
	if t.escaped {
		return unescapeIdent(s)
	}
	return s
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

// lineColumn is the 1-based line and column of a byte offset; columns count UTF-16 code units, as editors do.
func lineColumn(src string, offset int) (line, column int) {
	offset = min(offset, len(src))
	line = 1
	start := 0
	for i := 0; i < offset; {
		n := breakLen(src, i)
		if n == 0 {
			i++
			continue
		}
		if i+n > offset { // inside CRLF or a separator: still that line
			break
		}
		i += n
		line++
		start = i
	}
	return line, utf16Len(src[start:offset]) + 1
}

// breakLen is the length in bytes of the line terminator at i, or 0: LF, CR, CRLF, U+2028 and U+2029.
func breakLen(src string, i int) int {
	switch c := src[i]; {
	case c == '\n':
		return 1
	case c == '\r':
		if i+1 < len(src) && src[i+1] == '\n' {
			return 2
		}
		return 1
	case c == 0xE2 && isLineSeparator(src, i):
		return 3
	}
	return 0
}

func utf16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n++
		if r > 0xFFFF {
			n++
		}
		i += size
	}
	return n
}
