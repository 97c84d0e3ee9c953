package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	patterns  int    // steps of all patterns
	unchecked string // a pattern that cannot be expressed, fit to print
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

// checkSchema is what registration asks. An empty schema is fine. note is what a usable schema will not do.
func checkSchema(raw json.RawMessage, source Source) (note string, err error) {
	if len(raw) == 0 {
		return "", nil
	}
	d, err := parseSchema(raw, source)
	if err == nil && d.unchecked != "" {
		note = "its pattern " + d.unchecked + " is not checked: look-around and back references take more than linear time"
	}
	return note, err
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
