package catalog

import (
	"net/url"
	"slices"
	"strings"
)

// plain rewrites the document for the validators: references become JSON pointers into it, everything by which it
// could be addressed or could address something else goes, and so does what is not checked: formats other than uri, and
// patterns that Go's regular expressions cannot express. It changes the document's own value, once. What is left can
// make no library look outside.
func (d *schemaDoc) plain() any {
	keepNames := d.dialect >= draft2019 && (d.features["$dynamicRef"] || d.features["$recursiveRef"])
	for _, n := range d.nodes {
		if n.object == nil {
			continue
		}
		if n.ref != nil && !keepNames {
			n.object["$ref"] = "#" + fragment(n.ref.pointer)
		}
		if n.refOnly {
			d.dropSiblings(n)
		}
		for _, key := range []string{"$id", "id", "$anchor"} {
			if _, isString := n.object[key].(string); isString && !keepNames {
				delete(n.object, key)
			}
		}
		allowNull(n.object)
		delete(n.object, "$schema")
		delete(n.object, "$vocabulary")
		delete(n.object, "contentEncoding")
		delete(n.object, "contentMediaType")
		delete(n.object, "contentSchema")
		if n.object["format"] != "uri" {
			delete(n.object, "format")
		}
		// Metaschemas forbid what is harmless and often written: repeated list members and, in draft-04, an empty list.
		for _, key := range []string{"required", "enum", "type"} {
			if list, isList := n.object[key].([]any); isList {
				n.object[key] = eachOnce(list)
			}
		}
		if required, isList := n.object["required"].([]any); isList && len(required) == 0 {
			delete(n.object, "required")
		}
		if pattern, ok := n.object["pattern"].(string); ok {
			if translated, _, err := checkPattern(pattern); err == nil && translated != "" {
				n.object["pattern"] = translated
			} else {
				delete(n.object, "pattern")
			}
		}
		if byPattern, ok := n.object["patternProperties"].(map[string]any); ok {
			d.plainPatterns(n, byPattern)
		}
	}
	return d.value
}

// allowNull spells out OpenAPI's nullable, which no draft knows and many tools use.
func allowNull(schema map[string]any) {
	if schema["nullable"] != true {
		return
	}
	switch t := schema["type"].(type) {
	case string:
		schema["type"] = eachOnce([]any{t, "null"})
	case []any:
		schema["type"] = eachOnce(append(slices.Clone(t), "null"))
	default:
		return
	}
	if values, ok := schema["enum"].([]any); ok {
		schema["enum"] = eachOnce(append(slices.Clone(values), nil))
	}
}

// dropSiblings takes away what stands beside a reference and means nothing there, unless something refers into it:
// gojsonschema ignores it, santhosh-tekuri/jsonschema does not always.
func (d *schemaDoc) dropSiblings(n *schemaNode) {
	for keyword := range n.object {
		if keyword == "$ref" || annotations[keyword] {
			continue
		}
		if !d.pointedAt(pointerStep(n.pointer, keyword)) {
			delete(n.object, keyword)
		}
	}
}

// eachOnce drops repeated members of a list.
func eachOnce(list []any) []any {
	seen := make(map[string]bool, len(list))
	var out []any
	for _, v := range list {
		if text := string(mustMarshal(v)); !seen[text] {
			seen[text] = true
			out = append(out, v)
		}
	}
	if out == nil {
		return list
	}
	return out
}

// plainPatterns translates the keys of patternProperties. When one cannot be, nobody knows which properties it means,
// so the rule for the remaining properties goes too.
func (d *schemaDoc) plainPatterns(n *schemaNode, byPattern map[string]any) {
	for _, child := range n.patterns {
		translated, _, err := checkPattern(child.key)
		switch {
		case err != nil || translated == "" && child.key != "":
			delete(byPattern, child.key)
			delete(n.object, "additionalProperties")
			delete(n.object, "unevaluatedProperties")
		case translated != child.key && !d.pointedAt(child.node.pointer):
			schema := byPattern[child.key]
			delete(byPattern, child.key)
			byPattern[translated] = schema
		}
	}
}

// pointedAt reports whether a reference leads to that place or below it.
func (d *schemaDoc) pointedAt(pointer string) bool {
	for target := range d.targets {
		if target == pointer || strings.HasPrefix(target, pointer+"/") {
			return true
		}
	}
	return false
}

func fragment(pointer string) string {
	var b strings.Builder
	for token := range strings.SplitSeq(pointer, "/") {
		if b.Len() > 0 || token != "" {
			b.WriteByte('/')
			b.WriteString(url.PathEscape(token))
		}
	}
	return b.String()
}
