package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// What a schema may be, at most. Larger ones are refused before any validator sees them.
const (
	maxSchemaBytes = 8 << 20
	maxSchemaNodes = 200_000
	maxSchemaDepth = 256
	maxChain       = 256     // schemas applied to the same value through one another
	maxPatternSum  = 500_000 // steps of all patterns together
)

// schemaDoc is a decoded schema as a graph: every place where a schema may stand is a node, and every reference is an
// edge to the node that it means. References never leave the document.
type schemaDoc struct {
	root    *schemaNode
	dialect dialect
	nodes   []*schemaNode

	byPointer map[string]*schemaNode
	resources map[string]*schemaNode // embedded resources by absolute $id
	anchors   map[string]*schemaNode // by resource and anchor: "<resource>#<name>"
	dynamic   map[string][]*schemaNode
	features  map[string]bool // keywords that only some drafts have
	value     any             // the decoded document
	targets   map[string]bool // pointers that something refers to
	depth     int
	patterns  int // steps of all patterns
}

// schemaNode is one schema within a document: an object of keywords, or true or false.
type schemaNode struct {
	pointer string         // where it is, as a JSON pointer
	base    string         // the $id that references in it are relative to
	object  map[string]any // nil for true and false
	boolean bool

	ref     *schemaNode   // what $ref means
	refOnly bool          // what stands beside $ref means nothing: so it is up to draft-07
	inPlace []*schemaNode // what applies to the same value: $ref, allOf, anyOf, oneOf, not, if, then, else, dependent…

	properties   map[string]*schemaNode
	patterns     []patternChild
	additional   *schemaNode // additionalProperties
	unevaluated  *schemaNode // unevaluatedProperties
	names        *schemaNode // propertyNames
	items        *schemaNode
	prefix       []*schemaNode // prefixItems, or items as a list
	moreItems    *schemaNode   // additionalItems
	contains     *schemaNode
	unevalItems  *schemaNode
	allOf        []*schemaNode
	anyOf        []*schemaNode
	oneOf        []*schemaNode
	patternSteps int // how heavy its pattern is, 0 without one
	state        int // of the cycle search
	height       int // of the longest chain of inPlace edges below
}

type patternChild struct {
	key   string
	steps int
	node  *schemaNode
}

// checkSchema is what registration asks: nil for an empty schema and for one that can be used.
func checkSchema(raw json.RawMessage, source Source) error {
	if len(raw) == 0 {
		return nil
	}
	_, err := parseSchema(raw, source)
	return err
}

// parseSchema decodes and checks a schema. It bounds size, depth and number of subschemas, checks the keywords that a
// wrong value would make senseless, resolves every reference within the document, and refuses references that leave
// it, that lead nowhere, or that come back to themselves without going into the value.
func parseSchema(raw []byte, source Source) (*schemaDoc, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("it has %d bytes, %d are allowed", len(raw), maxSchemaBytes)
	}
	if jsonDepth(raw) > maxSchemaDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxSchemaDepth)
	}
	value, err := decodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if err := checkNumbers(value); err != nil {
		return nil, err
	}
	d := &schemaDoc{
		value: value, targets: map[string]bool{}, byPointer: map[string]*schemaNode{}, resources: map[string]*schemaNode{},
		anchors: map[string]*schemaNode{}, dynamic: map[string][]*schemaNode{}, features: map[string]bool{},
	}
	if d.root, err = d.visit(value, "", ""); err != nil {
		return nil, err
	}
	declared := ""
	if d.root.object != nil {
		declared, _ = d.root.object["$schema"].(string)
	}
	if d.dialect, err = chooseDialect(declared, d.features, source); err != nil {
		return nil, err
	}
	for i := 0; i < len(d.nodes); i++ { // grows while references reach into places that are no schema by themselves
		if err := d.link(d.nodes[i]); err != nil {
			return nil, err
		}
	}
	for _, n := range d.nodes {
		if err := n.findCycle(); err != nil {
			return nil, err
		}
	}
	if err := d.settleLarge(); err != nil {
		return nil, err
	}
	return d, nil
}

// jsonDepth is how deep brackets nest in a JSON text.
func jsonDepth(raw []byte) int {
	depth, deepest := 0, 0
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

// checkNumbers refuses numbers that would take long to calculate with: validators use exact fractions, and 1e999999999
// as a fraction fills the memory.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		if !reasonableNumber(string(v)) {
			return errors.New("a number in it is out of range")
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func reasonableNumber(s string) bool {
	if len(s) > 1100 {
		return false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.Atoi(s[i+1:])
		return err == nil && -1100 <= exp && exp <= 1100
	}
	return true
}

// at makes an error that names the place in the schema.
func at(pointer, format string, args ...any) error {
	if pointer == "" {
		pointer = "the root"
	}
	return fmt.Errorf("at %s: %s", printable(pointer), fmt.Sprintf(format, args...))
}

func pointerStep(pointer string, key string) string {
	return pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

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
	if err := d.addPattern(n.patternSteps); err != nil {
		return nil, err
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
			_, steps, err := checkPattern(name)
			if err == nil {
				err = d.addPattern(steps)
			}
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

func (d *schemaDoc) addPattern(steps int) error {
	if d.patterns += steps; d.patterns > maxPatternSum {
		return fmt.Errorf("its patterns have more than %d steps together", maxPatternSum)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
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
	if pattern, ok := n.object["pattern"].(string); ok {
		_, steps, err := checkPattern(pattern)
		if err != nil {
			return at(n.pointer, "%v", err)
		}
		n.patternSteps = max(steps, 1)
	}
	return nil
}

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

// isFalse reports whether a schema accepts nothing: false, or {"not": {}} as some generators write it.
func (n *schemaNode) isFalse() bool {
	if n == nil {
		return false
	}
	if n.object == nil {
		return !n.boolean
	}
	not, ok := n.object["not"]
	if !ok || len(n.object) != 1 {
		return false
	}
	object, isObject := not.(map[string]any)
	return isObject && len(object) == 0 || not == true
}

// isAny reports whether a schema accepts everything: true, {} or only annotations.
func (n *schemaNode) isAny() bool {
	if n.object == nil {
		return n.boolean
	}
	for key := range n.object {
		if !annotations[key] {
			return false
		}
	}
	return true
}

var annotations = wordSet(`title description default examples example deprecated readOnly writeOnly $comment $schema $id id
$anchor $defs definitions`)

var jsonNull = []byte("null")

func isJSONObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}
