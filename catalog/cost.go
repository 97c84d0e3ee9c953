package catalog

import (
	"encoding/json"
)

func countNodes(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += countNodes(item)
		}
	case map[string]any:
		for _, item := range v {
			n += countNodes(item)
		}
	}
	return n
}

// affordable walks schema and value together as a validator would that never stops early, and reports whether that
// takes at most a million steps, eight for each JSON value and one for each byte. Schemas whose references multiply
// (a → [b, b], b → [c, c], …) would otherwise take exponential time. It also bounds how deep a validator recurses.
func (d *schemaDoc) affordable(value any, nodes, size int) bool {
	w := walk{left: 1_000_000 + 8*nodes + size}
	return w.visit(d.root, value, 0)
}

type walk struct{ left int }

const maxWalkDepth = 40_000

func (w *walk) visit(n *schemaNode, v any, depth int) bool {
	if w.left--; w.left < 0 || depth > maxWalkDepth {
		return false
	}
	for _, child := range n.inPlace {
		if !w.visit(child, v, depth+1) {
			return false
		}
	}
	switch v := v.(type) {
	case string:
		return w.pattern(n.patternSteps, len(v))
	case json.Number:
		return w.pattern(n.patternSteps, len(v))
	case map[string]any:
		for name, item := range v {
			if child, ok := n.properties[name]; ok && !w.visit(child, item, depth+1) {
				return false
			}
			for _, p := range n.patterns {
				// gojsonschema compiles these for every property.
				if !w.pattern(p.steps, len(name)+50) || !w.visit(p.node, item, depth+1) {
					return false
				}
			}
			for _, child := range []*schemaNode{n.additional, n.unevaluated} {
				if child != nil && !w.visit(child, item, depth+1) {
					return false
				}
			}
			if n.names != nil && !w.visit(n.names, name, depth+1) {
				return false
			}
		}
	case []any:
		for i, item := range v {
			child := n.items
			switch {
			case i < len(n.prefix):
				child = n.prefix[i]
			case n.moreItems != nil:
				child = n.moreItems
			}
			for _, child := range []*schemaNode{child, n.contains, n.unevalItems} {
				if child != nil && !w.visit(child, item, depth+1) {
					return false
				}
			}
		}
	}
	return true
}

// pattern charges for matching a text of so many bytes: about fifty instructions cost as much as a step.
func (w *walk) pattern(steps, length int) bool {
	if steps > 0 {
		w.left -= 1 + steps*length/50
	}
	return w.left >= 0
}
