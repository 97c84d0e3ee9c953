package transpile

import (
	"strings"
	"unicode/utf8"
)

// Language is a language that a cell may be written in.
type Language string

const (
	JavaScript Language = "javascript"
	TypeScript Language = "typescript"
)

// DefaultMaxSourceBytes is the length limit when Options give none: 1 MiB.
const DefaultMaxSourceBytes = 1 << 20

// Options says how a text is to be taken. The zero value is the default.
type Options struct {
	// Language is what the text is written in. Empty means: JavaScript if it is that, otherwise TypeScript.
	Language Language
	// KeepLast leaves a trailing expression as it is: it is not returned, nor is a function that is the whole text
	// called, as far as the text is valid without that.
	KeepLast bool
	// MaxSourceBytes limits the length of the text in bytes of UTF-8. 0 means DefaultMaxSourceBytes.
	MaxSourceBytes int
}

func (o Options) maxBytes() int {
	if o.MaxSourceBytes <= 0 {
		return DefaultMaxSourceBytes
	}
	return o.MaxSourceBytes
}

// A Cell is a text made ready to run. It does not change; any goroutine may use it.
type Cell struct {
	// Body is the body of one async arrow function, to be evaluated as "(async () => {\n" + Body + "\n})" with line
	// numbers set so that Body begins at line 1, column 1.
	Body string
	// Language is what the text was taken for.
	Language Language
	// Notes has one sentence for each liberty that was taken with the text. It is shared: do not change it.
	Notes []string

	source string
	layers []layer // from Body inwards to source
	lines  lineIndex
	body   lineIndex
}

// Source is the submitted text.
func (c *Cell) Source() string { return c.source }

// Prepare makes a text ready to run. The error, if any, is an *Error: a sentence for whoever wrote the text.
func Prepare(source string, opts Options) (*Cell, error) {
	cell, err := prepare(source, opts)
	if err != nil {
		return nil, err
	}
	return cell, nil
}

// prepare checks what can be seen without reading the text, and takes off its wrapping.
func prepare(source string, opts Options) (*Cell, *Error) {
	switch opts.Language {
	case "", JavaScript, TypeScript:
	default:
		return nil, &Error{Kind: KindLanguage, Message: "The language " + quoteShort(string(opts.Language)) + " is not known: it is javascript or typescript"}
	}
	if limit := opts.maxBytes(); len(source) > limit {
		return nil, tooLarge(len(source), limit)
	}
	if !utf8.ValidString(source) {
		return nil, invalidUTF8(source)
	}
	if strings.TrimSpace(source) == "" {
		return nil, &Error{Kind: KindSyntax, Message: "The source is empty"}
	}
	w := unwrap(source)
	if w.err != nil {
		return nil, w.err
	}
	a := attempt{source: source, text: w.text, opts: opts, notes: w.notes}
	if opts.Language == "" {
		a.opts.Language = w.language
	}
	cell, err := a.run()
	if err == nil || err.Kind != KindSyntax || w.fenced {
		return cell, err
	}
	// Prose around one block of code: the block is what was meant.
	if inner, ok := onlyFence(source); ok {
		a.text, a.notes = inner.text, append(a.notes[:len(a.notes):len(a.notes)], inner.notes...)
		if opts.Language == "" {
			a.opts.Language = inner.language
		}
		if inner.err != nil {
			return nil, inner.err
		}
		if cell, innerErr := a.run(); innerErr == nil || innerErr.Kind != KindSyntax {
			return cell, innerErr
		}
		return nil, err
	}
	return nil, recognise(source, err)
}

// An attempt is one text on its way through the languages.
type attempt struct {
	source string // as submitted
	text   string // the same length in bytes, with the wrapping blanked
	opts   Options
	notes  []string
}

// run tries the languages in order: this package's parser first, esbuild where that fails.
func (a *attempt) run() (*Cell, *Error) {
	var best *Error // the failure that got furthest into the text
	final := false
	if a.opts.Language != TypeScript {
		cell, err, fin := a.javaScript(a.text, JavaScript, nil)
		if err == nil || err.Kind != KindSyntax {
			return cell, err
		}
		best, final = err, fin
	}
	if a.opts.Language != JavaScript && !final {
		cell, err, fin := a.typeScript()
		if err == nil || err.Kind != KindSyntax {
			return cell, err
		}
		best, final = further(best, err), fin
	}
	if final {
		return nil, best
	}
	return a.secondOpinion(best)
}

// javaScript reads text as JavaScript. layers lead from text to the submitted source and are nil when both have the same
// offsets. final reports that no other parser may be asked.
func (a *attempt) javaScript(text string, as Language, layers []layer) (cell *Cell, err *Error, final bool) {
	p := newParser(text, false)
	defer p.release()
	p.parseBody()
	if p.err != nil {
		return nil, a.syntaxError(p.err, layers), p.err.final
	}
	if p.fences && a.text == a.source {
		if _, ok := onlyFence(a.source); ok {
			return nil, &Error{Kind: KindSyntax, Message: "There is text around the fenced code"}, true
		}
	}
	if e := a.moduleError(p.findings, layers); e != nil {
		return nil, e, true
	}
	pl, e := planBody(p, a.opts.KeepLast)
	if e != nil {
		return nil, a.syntaxError(e, layers), true
	}
	return a.cell(p.src, as, pl, layers), nil, true
}

// cell applies a plan.
func (a *attempt) cell(text string, as Language, pl plan, layers []layer) *Cell {
	body, top := applyEdits(text, pl.edits)
	c := &Cell{Body: body, Language: as, source: a.source}
	if top != nil {
		c.layers = append(c.layers, top)
	}
	c.layers = append(c.layers, layers...)
	if len(a.notes)+len(pl.notes) > 0 {
		c.Notes = append(append(make([]string, 0, len(a.notes)+len(pl.notes)), a.notes...), pl.notes...)
	}
	return c
}

// typeScript reads the text as TypeScript and blanks its types, or has it compiled if blanking is not enough.
func (a *attempt) typeScript() (*Cell, *Error, bool) {
	p := newParser(a.text, true)
	defer p.release()
	p.parseBody()
	if p.err != nil {
		return nil, a.syntaxError(p.err, nil), p.err.final
	}
	if e := a.moduleError(p.findings, nil); e != nil {
		return nil, e, true
	}
	if p.ts.compiles == "" {
		edits := append(p.ts.erasures, p.edits...)
		text, top := applyEdits(a.text, edits)
		p.ts.erasures = edits[:0]
		if cell, err, _ := a.javaScript(text, TypeScript, appendLayer(top, nil)); err == nil || err.Kind != KindSyntax {
			if cell != nil && p.exports {
				cell.Notes = append(cell.Notes[:len(cell.Notes):len(cell.Notes)], noteExport)
			}
			return cell, err, true
		}
	}
	return a.compile(p)
}

// further is the failure of the reader that got further into the text; a wins a tie, or where it knows what is wrong.
func further(a, b *Error) *Error {
	switch {
	case a == nil:
		return b
	case b == nil || b.Location == nil || b.reached <= a.reached:
		return a
	case a.plain && !b.plain:
		return a
	}
	return b
}
