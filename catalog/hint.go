package catalog

import (
	"sync"
)

// hintCache keeps the hints of a record. They are made when first asked for.
type hintCache struct {
	inputOnce, outputOnce sync.Once
	input, output         string
}

// InputHint returns a short TypeScript-like type of the argument, at most 300 characters, such as
// { path: string; offset?: number /* integer, >= 1 */ }. It is "unknown" when the type is longer, and for tools whose
// schemas are not trusted.
func (e *Entry) InputHint() string {
	r := e.rec
	r.hints.inputOnce.Do(func() {
		r.hints.input = "unknown"
		if !r.trusted() || len(r.tool.InputSchema) == 0 {
			return
		}
		if t, ok := renderHint(r.tool.InputSchema, r.tool.Source, inputHintStyle); ok {
			r.hints.input = t.text
		}
	})
	return r.hints.input
}

// OutputHint returns a short TypeScript-like type of the value, at most 800 characters. It is empty unless the output
// schema says everything about the value: every object in it is closed. For tools whose schemas are not trusted it is
// empty too.
func (e *Entry) OutputHint() string {
	r := e.rec
	r.hints.outputOnce.Do(func() {
		if !r.trusted() || len(r.tool.OutputSchema) == 0 {
			return
		}
		if t, ok := renderHint(r.tool.OutputSchema, r.tool.Source, outputHintStyle); ok && t.whole && t.text != "unknown" {
			r.hints.output = t.text
		}
	})
	return r.hints.output
}

// renderHint renders a schema in one style; false when it cannot be parsed or the text is too long.
func renderHint(raw []byte, source Source, style tsStyle) (typeText, bool) {
	doc, err := parseSchema(raw, source)
	if err != nil {
		return unknownType, false
	}
	w := &typeWriter{style: style, active: map[*schemaNode]bool{doc.root: true}, found: map[*schemaNode]bool{}}
	t := w.render(doc.root, 0)
	if len(t.text) > style.chars || w.nodes > style.nodes {
		return unknownType, false
	}
	return t, true
}
