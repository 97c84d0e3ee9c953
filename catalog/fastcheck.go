package catalog

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"codemode/internal/jsontext"
)

// A validator library decodes a value into maps first, which takes longer than most tools do. So a schema of common
// keywords is also kept as a fastCheck, which walks the text. It says that a value fits, or that it cannot tell: then the
// library judges, whose words the caller gets to read too. It must never take what a library would refuse.

// fastCheck is what a value has to be at one place. Nil takes any value.
type fastCheck struct {
	unsure bool // a keyword here is one that fastChecks do not know
	types  typeSet
	enum   []string // the texts of the scalars that it may be; nil where any

	low, high          bound
	shortest, longest  int // strings, in code points
	fewest, most       int // items
	items              *fastCheck
	names              []string // declared or required
	values             []*fastCheck
	required, declared uint64 // bits of names
	closed             bool   // no other names
	others             *fastCheck
}

type typeSet uint8

const (
	typeObject typeSet = 1 << iota
	typeArray
	typeString
	typeNumber
	typeInteger
	typeBoolean
	typeNull
	anyType = typeSet(math.MaxUint8)
)

var typeBits = map[string]typeSet{"object": typeObject, "array": typeArray, "string": typeString, "number": typeNumber,
	"integer": typeInteger, "boolean": typeBoolean, "null": typeNull}

// bound is one end of a range of numbers.
type bound struct {
	set, strict bool
	value       float64
	exact       bool // value is the number itself, not the next one that a float64 can be
}

const (
	// maxFastSchemas keeps a fastCheck small, and far from manySchemas, where what a value costs decides.
	maxFastSchemas = 1000
	// maxFastNames is how many names one object may have.
	maxFastNames = 64
	// maxFastDepth is how deep a value is followed.
	maxFastDepth = 64
)

// fast makes the fastCheck of a document that is [schemaDoc.plain] already.
func (d *schemaDoc) fast() *fastCheck {
	if len(d.nodes) > maxFastSchemas {
		return &fastCheck{unsure: true}
	}
	return fastOf(d.root)
}

func fastOf(n *schemaNode) *fastCheck {
	if n == nil || n.isAny() {
		return nil
	}
	f := &fastCheck{types: anyType, longest: math.MaxInt, most: math.MaxInt}
	if n.object == nil || !f.objects(n) {
		return &fastCheck{unsure: true}
	}
	for key, v := range n.object {
		if !f.keyword(n, key, v) {
			return &fastCheck{unsure: true}
		}
	}
	return f
}

// keyword takes one keyword in, and says whether it can.
func (f *fastCheck) keyword(n *schemaNode, key string, v any) (ok bool) {
	ok = true
	switch key {
	case "title", "description", "$comment", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
		"nullable", "$defs", "definitions": // say nothing, or nothing any more
	case "properties", "required", "additionalProperties": // objects has seen to them
	case "type":
		f.types = 0
		names, isList := v.([]any)
		if !isList {
			names = []any{v}
		}
		for _, name := range names {
			name, _ := name.(string)
			f.types |= typeBits[name]
		}
	case "items":
		_, isList := v.([]any)
		f.items, ok = fastOf(n.items), !isList
	case "const":
		_, both := n.object["enum"]
		f.enum, ok = scalarTexts([]any{v}), !both
	case "enum":
		list, isList := v.([]any)
		f.enum, ok = scalarTexts(list), isList
	case "minimum", "exclusiveMinimum":
		_, both := n.object["exclusiveMinimum"]
		f.low, ok = boundOf(v, key == "exclusiveMinimum")
		ok = ok && (f.low.strict || !both)
	case "maximum", "exclusiveMaximum":
		_, both := n.object["exclusiveMaximum"]
		f.high, ok = boundOf(v, key == "exclusiveMaximum")
		ok = ok && (f.high.strict || !both)
	case "minLength":
		f.shortest, ok = countOf(v)
	case "maxLength":
		f.longest, ok = countOf(v)
	case "minItems":
		f.fewest, ok = countOf(v)
	case "maxItems":
		f.most, ok = countOf(v)
	default:
		ok = false
	}
	return ok
}

// objects takes in what a schema says of properties.
func (f *fastCheck) objects(n *schemaNode) bool {
	f.closed = n.additional != nil && n.additional.object == nil && !n.additional.boolean
	if !f.closed {
		f.others = fastOf(n.additional)
	}
	// The libraries, and what they may cost, look at a declared property by this schema too: schemaDoc.affordable.
	if f.others != nil && len(n.properties) > 0 {
		return false
	}
	required, _ := n.object["required"].([]any)
	if len(n.properties)+len(required) > maxFastNames {
		return false
	}
	for name, child := range n.properties {
		f.declared |= 1 << len(f.names)
		f.names = append(f.names, name)
		f.values = append(f.values, fastOf(child))
	}
	for _, name := range required {
		name, _ := name.(string)
		at := f.name([]byte(name))
		if at < 0 {
			at = len(f.names)
			f.names = append(f.names, name)
			f.values = append(f.values, f.others)
		}
		f.required |= 1 << at
	}
	return true
}

func scalarTexts(list []any) []string {
	texts := []string{}
	for _, v := range list {
		switch v := v.(type) {
		case string:
			texts = append(texts, string(jsontext.AppendString(nil, v)))
		case json.Number, bool, nil:
			texts = append(texts, string(mustMarshal(v)))
		}
	}
	return texts
}

func countOf(v any) (int, bool) {
	number, _ := v.(json.Number)
	n, err := strconv.Atoi(string(number))
	return n, err == nil && n >= 0
}

// exactFloat is the size of number below which float64 has every whole one.
const exactFloat = 1 << 53

func boundOf(v any, strict bool) (bound, bool) {
	number, _ := v.(json.Number)
	value, err := number.Float64()
	_, inexact := number.Int64()
	return bound{true, strict, value, inexact == nil && math.Abs(value) < exactFloat}, err == nil
}

// below says whether the bound is certainly below a value, which may itself be rounded.
func (b bound) below(value float64, exact bool) bool {
	return !b.set || b.value < value || b.value == value && b.exact && exact && !b.strict
}

func (b bound) above(value float64, exact bool) bool {
	b.value = -b.value
	return b.below(-value, exact)
}

// fits says that a value fits for sure.
func (f *fastCheck) fits(raw []byte) bool {
	end := f.read(raw, jsontext.Space(raw, 0), maxFastDepth)
	return end >= 0 && jsontext.Space(raw, end) == len(raw) && utf8.Valid(raw)
}

// read reads a value that begins at raw[i] and gives the index behind it, or -1 where it may not fit.
func (f *fastCheck) read(raw []byte, i, depth int) int {
	if f == nil {
		return jsontext.Value(raw, i)
	}
	if f.unsure || depth == 0 || i >= len(raw) {
		return -1
	}
	var is typeSet
	end := -1
	switch raw[i] {
	case '{':
		is, end = typeObject, f.readObject(raw, i, depth-1)
	case '[':
		is, end = typeArray, f.readArray(raw, i, depth-1)
	case '"':
		is, end = typeString, f.readString(raw, i)
	case 't':
		is, end = typeBoolean, jsontext.Word(raw, i, "true")
	case 'f':
		is, end = typeBoolean, jsontext.Word(raw, i, "false")
	case 'n':
		is, end = typeNull, jsontext.Word(raw, i, "null")
	default:
		is, end = f.readNumber(raw, i)
	}
	if end < 0 || f.types&is == 0 || f.enum != nil && !f.listed(raw[i:end]) {
		return -1
	}
	return end
}

func (f *fastCheck) readObject(raw []byte, i, depth int) int {
	seen := uint64(0)
	i, more := jsontext.Open(raw, i, '}')
	for ; more; i, more = jsontext.More(raw, i, '}') {
		at, name := jsontext.Name(raw, i)
		if name == nil {
			return -1
		}
		value := f.others
		k := f.name(name)
		if k >= 0 {
			if seen&(1<<k) != 0 {
				return -1
			}
			seen |= 1 << k
			value = f.values[k]
		}
		if f.closed && (k < 0 || f.declared&(1<<k) == 0) {
			return -1
		}
		if i = value.read(raw, at, depth); i < 0 {
			return -1
		}
	}
	if seen&f.required != f.required {
		return -1
	}
	return i
}

func (f *fastCheck) readArray(raw []byte, i, depth int) int {
	n := 0
	i, more := jsontext.Open(raw, i, ']')
	for ; more; i, more = jsontext.More(raw, i, ']') {
		if i = f.items.read(raw, i, depth); i < 0 {
			return -1
		}
		n++
	}
	if n < f.fewest || n > f.most {
		return -1
	}
	return i
}

func (f *fastCheck) readString(raw []byte, i int) int {
	end, plain := jsontext.String(raw, i)
	if end < 0 || f.shortest == 0 && f.longest == math.MaxInt {
		return end
	}
	most := utf8.RuneCount(raw[i+1 : end-1])
	least := most
	if !plain {
		const longestEscape = len(`\ud83d\ude00`)
		least = (most + longestEscape - 1) / longestEscape
	}
	if least < f.shortest || most > f.longest {
		return -1
	}
	return end
}

func (f *fastCheck) readNumber(raw []byte, i int) (typeSet, int) {
	end, whole := jsontext.Number(raw, i)
	if end < 0 {
		return 0, -1
	}
	if f.low.set || f.high.set {
		value, err := strconv.ParseFloat(string(raw[i:end]), 64)
		exact := whole && math.Abs(value) < exactFloat
		if err != nil || !f.low.below(value, exact) || !f.high.above(value, exact) {
			return 0, -1
		}
	}
	if whole {
		return typeInteger | typeNumber, end
	}
	return typeNumber, end
}

// name is the place of a name among those that the schema speaks of, or -1.
func (f *fastCheck) name(name []byte) int {
	for i, known := range f.names {
		if string(name) == known {
			return i
		}
	}
	return -1
}

func (f *fastCheck) listed(text []byte) bool {
	for _, known := range f.enum {
		if string(text) == known {
			return true
		}
	}
	return false
}
