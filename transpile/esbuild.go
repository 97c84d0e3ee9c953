package transpile

import (
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"codemode/internal/lazyregexp"
)

// esbuild is the second opinion on what this package's parser refuses, and the compiler for what TypeScript adds that
// runs. It reads by recursion without a bound, and a Go program cannot survive its stack's end, so it is only given texts
// that cannot nest dangerously deep: those that this package's parser has read to their end, and small ones.
const (
	opinionMaxBytes   = 128 << 10
	opinionMaxOpeners = 4000 // characters that can begin a level of nesting
)

// fitForOpinion reports whether a text of unknown structure may be given to esbuild.
func fitForOpinion(text string) bool {
	if len(text) > opinionMaxBytes {
		return false
	}
	n := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{', '<', '`', '!', '~', '-', '+', '?', ':', '=':
			n++
		}
	}
	return n <= opinionMaxOpeners
}

// A compiled is what esbuild made of the inside of a function.
type compiled struct {
	text    string // the inside, still to be planned
	helpers string // esbuild's own functions, which belong before it
	strict  bool   // the inside begins with "use strict"
	back    layer  // from text to the text that was given
	// returned says that the text's last return came from an export default: it is called if it is a function.
	returned bool
	// keepLast says that the text that was given has no last expression, whatever this one ends in.
	keepLast bool
}

// secondOpinion asks esbuild about a text that this package's parser refused with best.
func (a *attempt) secondOpinion(best *Error) (*Cell, *Error) {
	if best.sure || !fitForOpinion(a.text) {
		return nil, best
	}
	if a.opts.Language != TypeScript {
		out, err := a.transform(a.text, api.LoaderJS, nil)
		if err == nil {
			return a.settle(out, JavaScript, best)
		}
		best = further(best, err)
	}
	out, err := a.transform(a.text, api.LoaderTS, nil)
	switch {
	case err == nil && a.opts.Language != JavaScript:
		return a.settle(out, TypeScript, best)
	case err == nil:
		best.Hint = "This is TypeScript: set language to typescript, or leave it out."
		return nil, best
	case a.opts.Language != JavaScript:
		best = further(best, err)
	}
	if strings.Contains(a.text, "</") || strings.Contains(a.text, "/>") {
		if _, err := a.transform(a.text, api.LoaderTSX, nil); err == nil {
			return nil, &Error{
				Kind: KindLanguage, Message: "JSX is not supported", Location: a.firstTag(),
				Hint: "Build strings or plain objects instead of elements.",
			}
		}
	}
	return nil, best
}

var jsxTag = lazyregexp.New(`(?:^|[\s(=>,?:&|\[{}])(<(?:>|[A-Za-z][\w.]*[\s/>]))`)

// firstTag is where JSX begins.
func (a *attempt) firstTag() *Location {
	if m := jsxTag().FindStringSubmatchIndex(a.text); m != nil {
		return locationAt(a.source, m[2])
	}
	return nil
}

// settle finishes what esbuild accepted. If it turns out not to be one function's body, refused stands.
func (a *attempt) settle(out *compiled, as Language, refused *Error) (*Cell, *Error) {
	cell, err := a.finish(out, as, nil)
	if err != nil && err.Kind == KindSyntax {
		return nil, refused
	}
	return cell, err
}

// compile sends a text that p has read as TypeScript to esbuild.
func (a *attempt) compile(p *parser) (*Cell, *Error, bool) {
	edits := append([]edit(nil), p.edits...)
	for _, ns := range p.ts.namespaces {
		// esbuild takes namespaces only at the top of a file: each is compiled on its own and put in its place.
		code, back, err := a.transformNamespace(ns)
		if err != nil {
			return nil, err, true
		}
		edits = append(edits, edit{at: ns.at, end: ns.end, text: code, via: back})
	}
	x := p.body.exported
	if x.found { // a function must not see export: plan the return here, the call later
		edits = append(edits, edit{at: x.at, end: x.value, blank: true}, insertion(x.value, "return "))
	}
	text, top := applyEdits(a.text, edits)
	layers := appendLayer(top, nil)
	out, err := a.transform(text, api.LoaderTS, layers)
	if err != nil {
		return nil, err, true
	}
	if p.exports {
		a.notes = append(a.notes[:len(a.notes):len(a.notes)], noteExport)
	}
	out.returned = x.found
	out.keepLast = p.body.last.kind != stmtExpr && p.body.functions < p.body.statements
	cell, err := a.finish(out, TypeScript, layers)
	return cell, err, true
}

// finish plans what esbuild made and leads its positions back.
func (a *attempt) finish(out *compiled, as Language, layers []layer) (*Cell, *Error) {
	layers = append([]layer{out.back}, layers...)
	p := newParser(out.text, false)
	defer p.release()
	p.parseBody()
	pl := plan{}
	if p.err == nil {
		if e := a.moduleError(p.findings, layers); e != nil {
			return nil, e
		}
		var e *parseError
		if out.returned {
			p.body.returned = true
		}
		if pl, e = planBody(p, a.opts.KeepLast || out.keepLast); e != nil {
			return nil, a.syntaxError(e, layers)
		}
	} else if err := a.contained(out.text); err != nil {
		return nil, err
	}
	if out.helpers != "" {
		head := strings.ReplaceAll(out.helpers, "\n", " ")
		if out.strict {
			head = `"use strict"; ` + head
		}
		pl.edits = append([]edit{insertion(0, head)}, pl.edits...)
	}
	return a.cell(out.text, as, pl, layers), nil
}

// contained refuses a text that closes the function around it and opens another. It is for a text that this package's
// parser cannot read: one that stands as the body of a function statement and as that of a function in parentheses does
// neither, because nothing can follow the end of both.
func (a *attempt) contained(text string) *Error {
	r := api.Transform("(async () => {\n"+text+"\n})", transformOptions(api.LoaderJS, text))
	if len(r.Errors) > 0 {
		return &Error{Kind: KindSyntax, Message: "The text must be the body of one function, complete in itself"}
	}
	return nil
}

func transformOptions(loader api.Loader, text string) api.TransformOptions {
	return api.TransformOptions{
		Loader:         loader,
		Target:         api.ESNext,
		Supported:      map[string]bool{"decorators": false},
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Charset:        api.CharsetUTF8,
		LegalComments:  api.LegalCommentsNone,
		// keepLayout breaks lines where the source does.
		MinifyWhitespace: true,
		Platform:         api.PlatformNeutral,
		LogLevel:         api.LogLevelSilent,
		KeepNames:        strings.Contains(text, "@"), // lowering decorators may rename a class
	}
}

// transform compiles text as the inside of an async function. layers lead from text to the submitted source.
func (a *attempt) transform(text string, loader api.Loader, layers []layer) (*compiled, *Error) {
	name := "__cell"
	for strings.Contains(text, name) {
		name += "_"
	}
	head := "async function " + name + "() {"
	input, inputFrom := head+"\n"+text+"\n}\n", len(head)+1
	r := api.Transform(input, transformOptions(loader, text))
	if len(r.Errors) > 0 {
		return nil, a.esbuildError(r.Errors[0], text, 1, layers)
	}
	code := string(r.Code)
	head = "async function " + name + "(){"
	start := strings.Index(code, head)
	end := strings.LastIndexByte(code, '}')
	if start < 0 || end < start {
		return nil, &Error{Kind: KindSyntax, Message: "The text must be the body of one function, complete in itself"}
	}
	back := &sourceMap{
		json: r.Map, output: code, outputFrom: start + len(head), outputTo: end,
		input: input, inputFrom: inputFrom, inputTo: inputFrom + len(text),
	}
	inner := back.keepLayout(0)
	return &compiled{
		text: inner, helpers: code[:start], back: back,
		strict: strings.HasPrefix(strings.TrimSpace(inner), `"use strict"`),
	}, nil
}

// transformNamespace compiles one namespace.
func (a *attempt) transformNamespace(ns namespace) (string, layer, *Error) {
	text := a.text[ns.at:ns.end]
	r := api.Transform(text, transformOptions(api.LoaderTS, text))
	if len(r.Errors) > 0 {
		shift := anchorLayer{{out: 0, in: ns.at}}
		return "", nil, a.esbuildError(r.Errors[0], text, 0, []layer{shift})
	}
	code := string(r.Code)
	if end := strings.IndexByte(code, ';'); ns.merges && strings.HasPrefix(code, "var ") && end > 0 {
		code = ";" + strings.Repeat(" ", end) + code[end+1:] // a class, say, cannot be declared again
	}
	back := &sourceMap{json: r.Map, output: code, outputTo: len(code), input: text, inputTo: len(text)}
	return back.keepLayout(int(ns.at) - lastLineStart(a.text[:ns.at])), back, nil
}

// esbuildError turns esbuild's message into an Error. text began skip lines into what esbuild was given.
func (a *attempt) esbuildError(m api.Message, text string, skip int, layers []layer) *Error {
	e := &Error{Kind: KindSyntax, Message: plainMessage(m.Text)}
	if m.Location == nil {
		return e
	}
	offset := len(text)
	if line := m.Location.Line - skip; line >= 1 {
		if starts := lineStarts(text); line <= len(starts) {
			offset = min(int(starts[line-1])+m.Location.Column, len(text))
		}
	} else {
		offset = 0
	}
	if offset >= len(strings.TrimRight(text, " \t\r\n")) && strings.HasPrefix(e.Message, "Unexpected") {
		e.Message = "The source ends too early"
		e.Hint = "Something is not finished; the text may have been cut off."
	}
	e.Location, e.reached = a.locate(offset, layers), offset
	return e
}

// plainMessage shortens a message of esbuild and takes off its full stop.
func plainMessage(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ".:")
	if len(s) > 240 {
		s = strings.ToValidUTF8(s[:240], "") + "..."
	}
	if s == "" {
		return "The source cannot be read"
	}
	return s
}

// lastLineStart is where the last line of a text begins.
func lastLineStart(text string) int {
	starts := lineStarts(text)
	return int(starts[len(starts)-1])
}
