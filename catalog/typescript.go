package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// tsStyle is how much of a schema a rendering shows. Counts are maxima.
type tsStyle struct {
	chars     int // of the whole text; more is refused by the caller
	depth     int // nested types
	props     int // properties of one object
	union     int // alternatives
	enum      int // literal alternatives
	enumChars int // characters of all literals together
	nodes     int // schemas visited
	// declaration writes a full type: keys in alphabetical order, open objects with an index signature, unknown for
	// what cannot be said. Without it the text is a hint: required keys first, "..." for what is left out.
	declaration bool
	bounds      bool // number ranges in comments
	defaults    bool // properties of the outermost object that have a default are optional: somebody fills them in
}

var (
	inputHintStyle   = tsStyle{chars: 300, depth: 4, props: 16, union: 5, enum: 8, enumChars: 96, nodes: 256, bounds: true}
	outputHintStyle  = tsStyle{chars: 800, depth: 6, props: 22, union: 5, enum: 8, enumChars: 96, nodes: 512}
	declarationStyle = tsStyle{chars: 32_768, depth: 12, props: 256, union: 64, enum: 256, enumChars: 16_384, nodes: 4096, declaration: true}
	mcpStyle         = tsStyle{chars: 16_384, depth: 8, props: 256, union: 8, enum: 16, enumChars: 2048, nodes: 2048, declaration: true, defaults: true}
)

const maxKeyBytes = 128

// typeWriter renders schemas as TypeScript. It always comes to an end: it visits a bounded number of nodes, follows a
// reference into itself only by name, and stops when the text is long enough.
type typeWriter struct {
	style   tsStyle
	nodes   int
	active  map[*schemaNode]bool
	aliases map[*schemaNode]string // recursive types that have a name
	found   map[*schemaNode]bool   // recursive types that need one
}

// typeText is a rendered type. whole says that it tells everything about the shape of a value.
type typeText struct {
	text  string
	whole bool
	union bool // needs parentheses in an intersection
}

var unknownType = typeText{text: "unknown"}

// shapeKeywords say something about the shape of a value.
var shapeKeywords = wordSet(`type properties required additionalProperties patternProperties items prefixItems
additionalItems enum const anyOf oneOf allOf $ref $dynamicRef $recursiveRef unevaluatedProperties unevaluatedItems
dependentSchemas dependentRequired dependencies if then else`)

// shapeOutside reports whether n has shape keywords other than those named.
func (n *schemaNode) shapeOutside(names ...string) bool {
	for k := range n.object {
		if shapeKeywords[k] && !slices.Contains(names, k) {
			return true
		}
	}
	return false
}

func (w *typeWriter) render(n *schemaNode, depth int) typeText {
	if w.nodes++; w.nodes > w.style.nodes || depth > w.style.depth {
		return unknownType
	}
	switch {
	case n.isFalse():
		return typeText{text: "never", whole: true}
	case n.isAny():
		return typeText{text: "unknown", whole: true}
	}
	t := w.renderShape(n, depth)
	if n.refOnly {
		return t
	}
	if nullable, _ := n.object["nullable"].(bool); nullable && t.text != "unknown" && n.object["type"] != nil {
		t = w.join([]typeText{t, {text: "null", whole: true}})
	}
	return t
}

func (w *typeWriter) renderShape(n *schemaNode, depth int) typeText {
	o := n.object
	if n.ref != nil && (n.refOnly || !n.shapeOutside("$ref")) {
		return w.renderRef(n.ref, depth)
	}
	if v, ok := o["const"]; ok {
		if text, ok := literal(v); ok && len(text) <= w.style.enumChars {
			return typeText{text: text, whole: true}
		}
		return w.renderTypes(n, depth)
	}
	if values, ok := o["enum"].([]any); ok {
		if t, ok := w.renderEnum(values); ok {
			return t
		}
		if t := w.renderTypes(n, depth); t.text != "unknown" {
			return t
		}
		return kindsOf(values)
	}
	alternatives, key := n.anyOf, "anyOf"
	if len(alternatives) == 0 {
		alternatives, key = n.oneOf, "oneOf"
	}
	if len(alternatives) > 0 && !n.shapeOutside(key, "type") {
		return w.renderUnion(n, alternatives, depth)
	}
	if shape, ok := w.objectShape(n, 0); ok {
		return w.renderObject(shape, depth)
	}
	if len(n.allOf) > 0 || n.ref != nil {
		return w.renderIntersection(n, depth)
	}
	return w.renderTypes(n, depth)
}

func (w *typeWriter) renderRef(target *schemaNode, depth int) typeText {
	if name, ok := w.aliases[target]; ok {
		return typeText{text: name, whole: true}
	}
	if w.active[target] {
		w.found[target] = true
		return unknownType
	}
	w.active[target] = true
	defer delete(w.active, target)
	return w.render(target, depth)
}

func (w *typeWriter) renderEnum(values []any) (typeText, bool) {
	var parts []typeText
	chars := 0
	seen := map[string]bool{}
	for _, v := range values {
		text, ok := literal(v)
		if !ok {
			return typeText{}, false
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		if chars += len(text); chars > w.style.enumChars || len(parts) == w.style.enum {
			return typeText{}, false
		}
		parts = append(parts, typeText{text: text, whole: true})
	}
	if len(parts) == 0 {
		return typeText{text: "never", whole: true}, true
	}
	return w.join(parts), true
}

// kindsOf is the union of the types of literals, for lists that are too long to spell out.
func kindsOf(values []any) typeText {
	kinds := map[string]bool{}
	for _, v := range values {
		text, ok := literal(v)
		switch {
		case !ok:
			return unknownType
		case text[0] == '"':
			kinds["string"] = true
		case text == "null":
			kinds["null"] = true
		case text == "true" || text == "false":
			kinds["boolean"] = true
		default:
			kinds["number"] = true
		}
	}
	names := sortedKeys(kinds)
	return typeText{text: strings.Join(names, " | "), whole: true, union: len(names) > 1}
}

func (w *typeWriter) renderUnion(n *schemaNode, alternatives []*schemaNode, depth int) typeText {
	if len(alternatives) > w.style.union {
		return unknownType
	}
	var parts []typeText
	for _, alt := range alternatives {
		part := w.render(alt, depth)
		if part.text == "unknown" && n.object["type"] != nil {
			part = w.renderTypes(n, depth) // an alternative that only narrows the type beside it
			part.whole = false
		}
		parts = append(parts, part)
	}
	return w.join(parts)
}

// join makes a union, each member once.
func (w *typeWriter) join(parts []typeText) typeText {
	out := typeText{whole: true}
	seen := map[string]bool{}
	var texts []string
	for _, p := range parts {
		out.whole = out.whole && p.whole
		members := []string{p.text}
		if p.union && !strings.ContainsAny(p.text, "{<[\"") {
			members = strings.Split(p.text, " | ")
		}
		for _, text := range members {
			if text == "unknown" {
				return typeText{text: "unknown", whole: out.whole}
			}
			if !seen[text] {
				seen[text] = true
				texts = append(texts, text)
			}
		}
	}
	if i := slices.Index(texts, "null"); i >= 0 {
		texts = append(slices.Delete(texts, i, i+1), "null") // last, where readers look for it
	}
	out.text, out.union = strings.Join(texts, " | "), len(texts) > 1
	return out
}

func (w *typeWriter) renderIntersection(n *schemaNode, depth int) typeText {
	var parts []typeText
	if n.shapeOutside("allOf", "$ref") {
		parts = append(parts, w.renderTypes(n, depth))
	}
	for _, part := range n.allOf {
		parts = append(parts, w.render(part, depth))
	}
	if n.ref != nil {
		parts = append(parts, w.renderRef(n.ref, depth))
	}
	return intersect(parts)
}

func intersect(parts []typeText) typeText {
	var kept []typeText
	seen := map[string]bool{}
	whole := true
	for _, p := range parts {
		whole = whole && p.whole
		if p.text != "unknown" && !seen[p.text] {
			seen[p.text] = true
			kept = append(kept, p)
		}
	}
	switch len(kept) {
	case 0:
		return typeText{text: "unknown", whole: whole}
	case 1:
		kept[0].whole = whole
		return kept[0]
	}
	var texts []string
	for _, p := range kept {
		if p.union {
			p.text = "(" + p.text + ")"
		}
		texts = append(texts, p.text)
	}
	return typeText{text: strings.Join(texts, " & "), whole: whole}
}

// renderTypes renders by the type keyword; without one, by what the other keywords are about.
func (w *typeWriter) renderTypes(n *schemaNode, depth int) typeText {
	switch t := n.object["type"].(type) {
	case string:
		return w.renderType(n, t, depth)
	case []any:
		var parts []typeText
		for _, name := range t {
			s, _ := name.(string)
			if s == "integer" && slices.Contains(t, any("number")) {
				continue
			}
			parts = append(parts, w.renderType(n, s, depth))
		}
		if len(parts) > w.style.union+1 {
			return unknownType
		}
		return w.join(parts)
	}
	if n.items != nil || len(n.prefix) > 0 {
		t := w.renderArray(n, depth)
		t.whole = false
		return t
	}
	return unknownType
}

func (w *typeWriter) renderType(n *schemaNode, name string, depth int) typeText {
	switch name {
	case "string", "boolean", "null":
		return typeText{text: name, whole: true}
	case "number", "integer":
		return typeText{text: "number" + w.boundsComment(n, name), whole: true}
	case "array":
		return w.renderArray(n, depth)
	case "object":
		shape := objectShape{properties: map[string][]*schemaNode{}, required: map[string]bool{}}
		shape.add(n)
		return w.renderObject(shape, depth)
	}
	return unknownType
}

func (w *typeWriter) boundsComment(n *schemaNode, name string) string {
	if !w.style.bounds {
		return ""
	}
	var parts []string
	if name == "integer" {
		parts = append(parts, "integer")
	}
	for _, b := range []struct{ key, sign string }{
		{"minimum", ">="}, {"maximum", "<="}, {"exclusiveMinimum", ">"}, {"exclusiveMaximum", "<"},
	} {
		if text, ok := literal(n.object[b.key]); ok && text != "null" && text[0] != '"' && text != "true" && text != "false" {
			if b.key == "minimum" && n.object["exclusiveMinimum"] == true {
				b.sign = ">"
			}
			if b.key == "maximum" && n.object["exclusiveMaximum"] == true {
				b.sign = "<"
			}
			parts = append(parts, b.sign+" "+text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " /* " + strings.Join(parts, ", ") + " */"
}

func (w *typeWriter) renderArray(n *schemaNode, depth int) typeText {
	if len(n.prefix) > 0 {
		return w.renderTuple(n, depth)
	}
	if n.items == nil {
		return typeText{text: "Array<unknown>"}
	}
	item := w.render(n.items, depth+1)
	return typeText{text: "Array<" + item.text + ">", whole: item.whole && n.unevalItems == nil}
}

// renderTuple writes [A, B?, ...Array<C>]: items beyond minItems are optional, and more may follow unless the schema
// says that none do.
func (w *typeWriter) renderTuple(n *schemaNode, depth int) typeText {
	if len(n.prefix) > w.style.props {
		return typeText{text: "Array<unknown>"}
	}
	sure := intOf(n.object["minItems"])
	out := typeText{whole: true}
	var parts []string
	for i, p := range n.prefix {
		item := w.render(p, depth+1)
		out.whole = out.whole && item.whole
		switch {
		case i < sure:
		case item.union || strings.Contains(item.text, " & "):
			item.text = "(" + item.text + ")?"
		default:
			item.text += "?"
		}
		parts = append(parts, item.text)
	}
	rest := n.items
	if rest == nil {
		rest = n.moreItems
	}
	most, limited := n.object["maxItems"]
	switch {
	case rest.isFalse() || n.unevalItems.isFalse() || limited && intOf(most) <= len(n.prefix):
	case rest == nil:
		out.whole = false
		parts = append(parts, "...Array<unknown>")
	default:
		item := w.render(rest, depth+1)
		out.whole = out.whole && item.whole
		parts = append(parts, "...Array<"+item.text+">")
	}
	out.text = "[" + strings.Join(parts, ", ") + "]"
	return out
}

func intOf(v any) int {
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil {
		return 0
	}
	return n
}
