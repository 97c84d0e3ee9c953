package catalog

import (
	"slices"
	"strings"
)

// objectShape is what a schema and everything it is combined with (allOf, $ref) say about an object.
type objectShape struct {
	properties map[string][]*schemaNode
	required   map[string]bool
	closed     bool        // no other properties
	additional *schemaNode // what other properties are, when that is one schema
	explicit   bool        // other properties are allowed in so many words
	partial    bool        // something in it is not shown
	parts      int         // schemas that declare properties
}

// add takes in what one schema says by itself.
func (s *objectShape) add(n *schemaNode) {
	for name, child := range n.properties {
		s.properties[name] = append(s.properties[name], child)
	}
	if required, ok := n.object["required"].([]any); ok {
		for _, name := range required {
			if text, ok := name.(string); ok {
				s.required[text] = true
			}
		}
	}
	if len(n.properties) > 0 {
		s.parts++
	}
	switch {
	case n.additional.isFalse(), n.unevaluated.isFalse():
		s.closed = true
	case n.additional != nil && n.additional.isAny():
		s.explicit = true
	case n.additional != nil:
		s.additional = n.additional
	}
	for _, k := range []string{"patternProperties", "dependentSchemas", "dependentRequired", "dependencies", "if", "$dynamicRef", "$recursiveRef"} {
		if _, ok := n.object[k]; ok {
			s.partial = true
		}
	}
	if n.unevaluated != nil && !n.unevaluated.isFalse() {
		s.partial = true
	}
}

// hasDefault reports whether a schema of that property has a default.
func (s *objectShape) hasDefault(name string) bool {
	for _, n := range s.properties[name] {
		if _, ok := n.object["default"]; ok {
			return true
		}
	}
	return false
}

// objectShape collects the shape of an object schema; false when n, or a part of it, is something else.
func (w *typeWriter) objectShape(n *schemaNode, level int) (objectShape, bool) {
	shape := objectShape{properties: map[string][]*schemaNode{}, required: map[string]bool{}}
	seen := map[*schemaNode]bool{}
	return shape, w.collect(&shape, n, seen, level)
}

func (w *typeWriter) collect(shape *objectShape, n *schemaNode, seen map[*schemaNode]bool, level int) bool {
	if w.nodes++; w.nodes > w.style.nodes || level > 32 || seen[n] {
		return false
	}
	seen[n] = true
	defer delete(seen, n)
	if n.object == nil {
		return n.boolean
	}
	if n.refOnly {
		if _, named := w.aliases[n.ref]; named || w.active[n.ref] {
			return false
		}
		return w.collect(shape, n.ref, seen, level+1)
	}
	t := n.object["type"]
	if list, isList := t.([]any); isList && len(list) == 1 {
		t = list[0]
	}
	says := t == "object" || len(n.properties) > 0 || n.object["required"] != nil || n.additional != nil || n.patterns != nil
	if t != nil && t != "object" || n.object["enum"] != nil || n.object["const"] != nil {
		return false
	}
	combined := len(n.allOf) > 0 || n.ref != nil
	if !says && !combined && !n.isAny() {
		return false
	}
	if n.ref != nil {
		if _, named := w.aliases[n.ref]; named || w.active[n.ref] {
			return false // by name, in an intersection
		}
	}
	if t == nil && !combined {
		shape.partial = true // it may be something else than an object
	}
	shape.add(n)
	for _, alternatives := range [][]*schemaNode{n.anyOf, n.oneOf} {
		for _, alt := range alternatives {
			if alt.shapeOutside("required", "type") {
				shape.partial = true
			}
		}
	}
	for _, part := range n.allOf {
		if !w.collect(shape, part, seen, level+1) {
			return false
		}
	}
	return n.ref == nil || w.collect(shape, n.ref, seen, level+1)
}

func (w *typeWriter) renderObject(s objectShape, depth int) typeText {
	out := typeText{whole: s.closed && !s.partial || s.additional != nil && len(s.properties) == 0 && !s.partial}
	names := map[string]bool{}
	for name := range s.properties {
		names[name] = true
	}
	for name := range s.required {
		if !names[name] {
			names[name] = true
			out.whole = false
		}
	}
	order := sortedKeys(names)
	if !w.style.declaration {
		slices.SortStableFunc(order, func(a, b string) int {
			switch {
			case s.required[a] == s.required[b]:
				return 0
			case s.required[a]:
				return -1
			}
			return 1
		})
	}
	var members []string
	left := false
	for _, name := range order {
		if len(name) > maxKeyBytes || len(members) == w.style.props || w.nodes > w.style.nodes {
			left = true
			continue
		}
		var parts []typeText
		for _, child := range s.properties[name] {
			parts = append(parts, w.render(child, depth+1))
		}
		t := intersect(parts)
		if len(parts) == 0 {
			t = unknownType
		}
		if t.text == "never" && !s.required[name] {
			continue // a property that must not be there
		}
		out.whole = out.whole && t.whole
		mark := "?: "
		if s.required[name] && !(w.style.defaults && depth == 0 && s.hasDefault(name)) {
			mark = ": "
		}
		members = append(members, key(name)+mark+t.text)
	}
	if left {
		out.whole = false
	}
	out.text = w.objectText(&out, s, members, left, depth)
	return out
}

func (w *typeWriter) objectText(out *typeText, s objectShape, members []string, left bool, depth int) string {
	value := typeText{text: "unknown", whole: true}
	if s.additional != nil {
		value = w.render(s.additional, depth+1)
		out.whole = out.whole && value.whole
	}
	open := !s.closed && (s.explicit || s.additional != nil || w.style.declaration)
	if w.style.declaration {
		open = open || left || s.partial
	}
	if len(members) == 0 {
		switch {
		case left && !w.style.declaration:
			return "{ ... }"
		case open:
			return "Record<string, " + value.text + ">"
		case w.style.declaration:
			return "Record<string, never>"
		}
		return "{}"
	}
	switch {
	case w.style.declaration && open:
		members = append(members, "[key: string]: unknown")
	case !w.style.declaration && (left || open):
		members = append(members, "...")
	}
	if w.style.declaration {
		return "{ " + strings.Join(members, "; ") + "; }"
	}
	return "{ " + strings.Join(members, "; ") + " }"
}
