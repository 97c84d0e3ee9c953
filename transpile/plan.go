package transpile

import (
	"strings"
)

// Notes, one sentence for each liberty.
const (
	// NoteReturned is exported for hosts that show it only with a value.
	NoteReturned = "The value of the last expression is returned."
	noteCalled   = "The source is one function; it is called and its result returned."
	noteArgs     = "The source is one function; it is called with the globals that its parameters name, and its result returned."
	noteDefault  = "The default export is taken as the cell: it is returned, and called if it is a function."
	noteExport   = "The keyword export is ignored: a cell has no importers."
	noteFence    = "The Markdown fence around the code was removed."
	noteProse    = "Only the fenced block was run; the text around it was left out."
	noteHashbang = "The #! line was ignored."
)

// A plan is what is done to a text that has been read.
type plan struct {
	edits []edit
	notes []string
}

func insertion(at int32, text string) edit { return edit{at: at, end: at, text: text} }

// returning inserts a return before an expression.
func returning(at int32) edit { return edit{at: at, end: at, text: "return ", leads: true} }

// planBody decides what a parsed body returns. The failure is about an export that cannot be honoured.
func planBody(p *parser, keepLast bool) (plan, *parseError) {
	b := &p.body
	pl := plan{edits: p.edits}
	pl.edits = append(pl.edits, lineBreaks(p)...)
	p.edits = pl.edits[:0]
	if p.exports {
		pl.notes = append(pl.notes, noteExport)
	}
	last := b.last
	switch {
	case b.exported.found:
		x := b.exported
		if x.later {
			return plan{}, &parseError{at: int(x.at), msg: "export default is the result of the cell and must be its last statement"}
		}
		pl.edits = append(pl.edits, edit{at: x.at, end: x.value, blank: true})
		pl.returnValue(x.expr, x.fn)
		pl.notes = append(pl.notes, noteDefault)
	case b.returned && last.kind == stmtReturn:
		if callable(last.expr, b.lastFunc) {
			pl.edits = append(pl.edits, insertion(last.expr.start, "("), insertion(last.expr.end, ")("+arguments(b.lastFunc.params)+")"))
		}
		pl.notes = append(pl.notes, noteDefault)
	case b.statements == 1 && last.kind == stmtExpr && callable(last.expr, b.lastFunc) &&
		(!keepLast || p.src[last.expr.start] != '(' && last.expr.kind == exprFunction):
		pl.returnValue(last.expr, b.lastFunc)
		pl.notes = append(pl.notes, calledNote(b.lastFunc))
	case keepLast:
	case b.statements == 1 && b.functions == 1 && len(b.sole.params) == 0 && !b.sole.generator:
		pl.edits = append(pl.edits, insertion(b.sole.end, "; return "+b.sole.name+"();"))
		pl.notes = append(pl.notes, noteCalled)
	case last.kind == stmtExpr:
		pl.edits = append(pl.edits, returning(last.expr.start))
		pl.notes = append(pl.notes, NoteReturned)
	}
	return pl, nil
}

func callable(e expr, f funcInfo) bool {
	return (e.kind == exprArrow || e.kind == exprFunction) && f.end <= e.end && f.start >= e.start && !f.generator
}

func calledNote(f funcInfo) string {
	if len(f.params) > 0 {
		return noteArgs
	}
	return noteCalled
}

// returnValue inserts a return, and a call if the value is a function.
func (pl *plan) returnValue(e expr, f funcInfo) {
	if !callable(e, f) {
		pl.edits = append(pl.edits, returning(e.start))
		return
	}
	pl.edits = append(pl.edits, insertion(e.start, "return ("), insertion(e.end, ")("+arguments(f.params)+");"))
}

// arguments gives a function that expects something what it can only mean: the globals of the names of its parameters.
func arguments(params []param) string {
	var args []string
	for _, pa := range params {
		switch {
		case pa.rest || pa.hasInit:
			return strings.Join(args, ", ")
		case pa.name == "":
			args = append(args, "globalThis")
		default:
			args = append(args, "globalThis."+pa.name)
		}
	}
	return strings.Join(args, ", ")
}

func isUseStrict(s string) bool { return s == `"use strict"` || s == `'use strict'` }

// lineBreaks makes line feeds of the line terminators that the engine and the language count differently: a lone CR,
// U+2028 and U+2029 outside strings. In templates a CR means a line feed anyway.
func lineBreaks(p *parser) []edit {
	if len(p.oddBreaks) == 0 {
		return nil
	}
	var edits []edit
	seen := make(map[int32]bool, len(p.oddBreaks)) // the parser may have passed a place more than once
	for _, at := range p.oddBreaks {
		if seen[at] {
			continue
		}
		seen[at] = true
		n := int32(1)
		if p.src[at] != '\r' {
			n = 3
		}
		edits = append(edits, edit{at: at, end: at + n, text: "\n"})
	}
	return edits
}
