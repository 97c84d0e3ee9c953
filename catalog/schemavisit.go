package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// visit makes the node of a schema and of everything below it.
func (d *schemaDoc) visit(v any, pointer, base string) (*schemaNode, error) {
	if n, ok := d.byPointer[pointer]; ok {
		return n, nil
	}
	if len(d.nodes) >= maxSchemaNodes {
		return nil, fmt.Errorf("it has more than %d subschemas", maxSchemaNodes)
	}
	n := &schemaNode{pointer: pointer, base: base}
	d.byPointer[pointer] = n
	d.nodes = append(d.nodes, n)
	switch v := v.(type) {
	case bool:
		n.boolean = v
		return n, nil
	case map[string]any:
		n.object = v
	default:
		return nil, at(pointer, "a schema must be an object or a boolean")
	}
	if d.depth++; d.depth > 2*maxSchemaDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxSchemaDepth)
	}
	defer func() { d.depth-- }()
	d.identify(n)
	if err := n.checkKeywords(); err != nil {
		return nil, err
	}
	if pattern, ok := n.object["pattern"].(string); ok {
		var err error
		if n.patternSteps, err = d.addPattern(pattern); err != nil {
			return nil, at(n.pointer, "%v", err)
		}
	}
	return n, d.visitChildren(n)
}

// identify notes the names under which a node can be referred to.
func (d *schemaDoc) identify(n *schemaNode) {
	id, ok := n.object["$id"].(string)
	if !ok {
		if id, ok = n.object["id"].(string); ok && !strings.ContainsAny(id, ":/#") {
			ok = false // a property of that name in a schema that is really data
		}
	}
	if ok {
		if name, isAnchor := strings.CutPrefix(id, "#"); isAnchor {
			d.anchors[n.base+"#"+name] = n
		} else {
			n.base = strings.TrimSuffix(resolveURI(n.base, id), "#")
			if _, taken := d.resources[n.base]; !taken {
				d.resources[n.base] = n
			}
		}
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := n.object[keyword].(string); ok {
			d.anchors[n.base+"#"+name] = n
			if keyword == "$dynamicAnchor" {
				d.dynamic[name] = append(d.dynamic[name], n)
			}
		}
	}
	for key := range n.object {
		if newKeywords[key] != 0 {
			d.features[key] = true
		}
	}
	if _, isBool := n.object["exclusiveMinimum"].(bool); isBool {
		d.features["exclusive as a flag"] = true
	}
	if _, isBool := n.object["exclusiveMaximum"].(bool); isBool {
		d.features["exclusive as a flag"] = true
	}
	if _, isList := n.object["items"].([]any); isList {
		d.features["items as a list"] = true
	}
}

func (d *schemaDoc) visitChildren(n *schemaNode) error {
	one := func(key string, into **schemaNode) error {
		v, ok := n.object[key]
		if !ok {
			return nil
		}
		child, err := d.visit(v, pointerStep(n.pointer, key), n.base)
		if err == nil {
			*into = child
		}
		return err
	}
	list := func(key string, into *[]*schemaNode) error {
		v, ok := n.object[key].([]any)
		if !ok {
			return nil
		}
		for i, item := range v {
			child, err := d.visit(item, pointerStep(pointerStep(n.pointer, key), strconv.Itoa(i)), n.base)
			if err != nil {
				return err
			}
			*into = append(*into, child)
		}
		return nil
	}
	each := func(key string, use func(name string, child *schemaNode) error) error {
		v, ok := n.object[key].(map[string]any)
		if !ok {
			return nil
		}
		for _, name := range sortedKeys(v) {
			if _, isList := v[name].([]any); isList && key == "dependencies" {
				continue
			}
			child, err := d.visit(v[name], pointerStep(pointerStep(n.pointer, key), name), n.base)
			if err == nil {
				err = use(name, child)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	ignore := func(string, *schemaNode) error { return nil }
	inPlace := func(_ string, child *schemaNode) error { n.inPlace = append(n.inPlace, child); return nil }
	var not, cond, then, otherwise *schemaNode
	itemsInto := func() error { return one("items", &n.items) }
	if _, isList := n.object["items"].([]any); isList {
		itemsInto = func() error { return list("items", &n.prefix) }
	}
	for _, err := range []error{
		each("properties", func(name string, child *schemaNode) error {
			if n.properties == nil {
				n.properties = map[string]*schemaNode{}
			}
			n.properties[name] = child
			return nil
		}),
		each("patternProperties", func(name string, child *schemaNode) error {
			steps, err := d.addPattern(name)
			if err != nil {
				return at(child.pointer, "%v", err)
			}
			n.patterns = append(n.patterns, patternChild{name, max(steps, 1), child})
			return nil
		}),
		each("$defs", ignore), each("definitions", ignore),
		each("dependentSchemas", inPlace), each("dependencies", inPlace),
		one("additionalProperties", &n.additional), one("unevaluatedProperties", &n.unevaluated),
		one("propertyNames", &n.names), itemsInto(), list("prefixItems", &n.prefix),
		one("additionalItems", &n.moreItems), one("contains", &n.contains), one("unevaluatedItems", &n.unevalItems),
		list("allOf", &n.allOf), list("anyOf", &n.anyOf), list("oneOf", &n.oneOf),
		one("not", &not), one("if", &cond), one("then", &then), one("else", &otherwise),
	} {
		if err != nil {
			return err
		}
	}
	n.inPlace = slices.Concat(n.inPlace, n.allOf, n.anyOf, n.oneOf)
	for _, child := range []*schemaNode{not, cond, then, otherwise} {
		if child != nil {
			n.inPlace = append(n.inPlace, child)
		}
	}
	return nil
}

// addPattern checks a pattern and returns how many steps it has.
func (d *schemaDoc) addPattern(pattern string) (steps int, err error) {
	translated, steps, err := checkPattern(pattern)
	if err != nil {
		return 0, err
	}
	if translated == "" && pattern != "" {
		d.unchecked = printable(cutUTF16(pattern, 60))
	}
	if d.patterns += steps; d.patterns > maxPatternSum {
		return 0, fmt.Errorf("its patterns have more than %d steps together", maxPatternSum)
	}
	return max(steps, 1), nil
}

var schemaTypes = wordSet("array boolean integer null number object string")

// checkKeywords refuses values that make a keyword senseless. The validator's metaschema checks the rest when a
// contract is compiled.
func (n *schemaNode) checkKeywords() error {
	switch t := n.object["type"].(type) {
	case nil:
		if _, there := n.object["type"]; there {
			return at(n.pointer, "type is null")
		}
	case string:
		if !schemaTypes[t] {
			return at(n.pointer, "%s is not a type", printable(t))
		}
	case []any:
		for _, item := range t {
			if name, ok := item.(string); !ok || !schemaTypes[name] {
				return at(n.pointer, "type lists something that is not a type")
			}
		}
		if len(t) == 0 {
			return at(n.pointer, "type is an empty list")
		}
	default:
		return at(n.pointer, "type is neither a string nor a list of strings")
	}
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"} {
		if v, ok := n.object[key]; ok {
			if _, isObject := v.(map[string]any); !isObject {
				return at(n.pointer, "%s is not an object", key)
			}
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems", "enum", "required"} {
		v, ok := n.object[key]
		if !ok {
			continue
		}
		list, isList := v.([]any)
		if !isList {
			return at(n.pointer, "%s is not a list", key)
		}
		if len(list) == 0 && key != "required" && key != "prefixItems" && key != "enum" {
			return at(n.pointer, "%s is an empty list", key)
		}
		if key == "required" {
			for _, item := range list {
				if _, isString := item.(string); !isString {
					return at(n.pointer, "required lists something that is not a name")
				}
			}
		}
	}
	return nil
}
