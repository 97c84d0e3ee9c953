package catalog

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// link resolves the references of a node.
func (d *schemaDoc) link(n *schemaNode) error {
	if ref, ok := n.object["$ref"].(string); ok {
		target, err := d.resolve(n.base, ref)
		if err != nil {
			return at(n.pointer, "%v", err)
		}
		n.ref, n.refOnly = target, d.dialect <= draft7
		d.targets[target.pointer] = true
		n.inPlace = append(n.inPlace, target)
	}
	if ref, ok := n.object["$dynamicRef"].(string); ok {
		target, err := d.resolve(n.base, ref)
		if err != nil {
			return at(n.pointer, "%v", err)
		}
		n.inPlace = append(n.inPlace, target)
		if _, name, ok := strings.Cut(ref, "#"); ok {
			n.inPlace = append(n.inPlace, d.dynamic[name]...)
		}
	}
	if _, ok := n.object["$recursiveRef"]; ok {
		n.inPlace = append(n.inPlace, d.root)
	}
	return nil
}

// resolve finds what a reference means: the whole document, a JSON pointer, an anchor, or an embedded resource.
func (d *schemaDoc) resolve(base, ref string) (*schemaNode, error) {
	target, fragment, _ := strings.Cut(ref, "#")
	start, resource := d.root, d.root.base
	if target != "" || base != d.root.base {
		resource = base
		if target != "" {
			resource = resolveURI(base, target)
		}
		embedded, ok := d.resources[resource]
		switch {
		case ok:
			start = embedded
		case target == "":
		default:
			return nil, fmt.Errorf("it refers to %s, which is not part of it; nothing is ever fetched", printable(cutUTF16(ref, 200)))
		}
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment == "" {
		return start, nil
	}
	if !strings.HasPrefix(fragment, "/") {
		if n, ok := d.anchors[resource+"#"+fragment]; ok {
			return n, nil
		}
		return nil, fmt.Errorf("it refers to %s, which does not exist", printable(cutUTF16(ref, 200)))
	}
	var v any = start.object
	pointer := start.pointer
	for token := range strings.SplitSeq(fragment[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		var next any
		found := false
		switch v := v.(type) {
		case map[string]any:
			next, found = v[token]
		case []any:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) && strconv.Itoa(i) == token {
				next, found = v[i], true
			}
		}
		if !found {
			return nil, fmt.Errorf("it refers to %s, which does not exist", printable(cutUTF16(ref, 200)))
		}
		v, pointer = next, pointerStep(pointer, token)
	}
	return d.visit(v, pointer, start.base)
}

func resolveURI(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	r, err := url.Parse(ref)
	if err != nil {
		return ref
	}
	return b.ResolveReference(r).String()
}

// findCycle refuses a schema that applies itself to the same value, because no validator would come to an end, and one
// that takes more than maxChain steps before it goes into the value.
func (n *schemaNode) findCycle() error {
	const visiting, done = 1, 2
	type frame struct {
		node *schemaNode
		next int
	}
	if n.state == done {
		return nil
	}
	stack := []frame{{node: n}}
	n.state = visiting
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.node.inPlace) {
			for _, child := range top.node.inPlace {
				top.node.height = max(top.node.height, child.height+1)
			}
			if top.node.height > maxChain {
				return at(top.node.pointer, "it goes through more than %d schemas for one value", maxChain)
			}
			top.node.state = done
			stack = stack[:len(stack)-1]
			continue
		}
		child := top.node.inPlace[top.next]
		top.next++
		switch child.state {
		case visiting:
			return at(child.pointer, "it refers to itself without going any deeper into the value")
		case 0:
			child.state = visiting
			stack = append(stack, frame{node: child})
		}
	}
	return nil
}
