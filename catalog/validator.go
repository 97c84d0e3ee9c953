package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	xeipuuv "github.com/xeipuuv/gojsonschema"
)

// validator is a schema that can judge values. Each library's form is compiled when it is first needed.
type validator struct {
	doc      *schemaDoc
	xeipuuv  func() (*xeipuuv.Schema, error)
	santhosh func() (*santhosh.Schema, error)
}

// newValidator compiles a schema with the library that its dialect asks for.
func newValidator(raw []byte, source Source) (*validator, error) {
	doc, err := parseSchema(raw, source)
	if err != nil {
		return nil, err
	}
	plain := doc.plain()
	v := &validator{
		doc:      doc,
		xeipuuv:  sync.OnceValues(func() (*xeipuuv.Schema, error) { return compileXeipuuv(plain, doc.dialect) }),
		santhosh: sync.OnceValues(func() (*santhosh.Schema, error) { return compileSanthosh(plain, doc.dialect) }),
	}
	if chooseEngine(doc.dialect, len(doc.nodes), 0) == engineXeipuuv {
		_, err = v.xeipuuv()
	} else {
		_, err = v.santhosh()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

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

var errRemote = errors.New("references outside the schema are never fetched")

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errRemote }

// localLoader hands a decoded document to gojsonschema, and nothing else.
type localLoader struct{ xeipuuv.JSONLoader }

func (l localLoader) LoaderFactory() xeipuuv.JSONLoaderFactory { return noFactory{} }

type noFactory struct{}

func (noFactory) New(string) xeipuuv.JSONLoader { return failingLoader{xeipuuv.NewRawLoader(nil)} }

type failingLoader struct{ xeipuuv.JSONLoader }

func (failingLoader) LoadJSON() (any, error)                   { return nil, errRemote }
func (failingLoader) LoaderFactory() xeipuuv.JSONLoaderFactory { return noFactory{} }

// metaSchemas are the schemas of schemas of the drafts that gojsonschema has, compiled when first asked for.
var metaSchemas = map[dialect]func() (*xeipuuv.Schema, error){
	draft4: metaSchema("http://json-schema.org/draft-04/schema"),
	draft6: metaSchema("http://json-schema.org/draft-06/schema"),
	draft7: metaSchema("http://json-schema.org/draft-07/schema"),
}

// metaSchema compiles one of the documents that gojsonschema carries with it; the URL is only their name.
func metaSchema(name string) func() (*xeipuuv.Schema, error) {
	return sync.OnceValues(func() (*xeipuuv.Schema, error) {
		return xeipuuv.NewSchemaLoader().Compile(xeipuuv.NewReferenceLoader(name))
	})
}

var xeipuuvDrafts = map[dialect]xeipuuv.Draft{draft4: xeipuuv.Draft4, draft6: xeipuuv.Draft6, draft7: xeipuuv.Draft7}

func compileXeipuuv(schema any, d dialect) (_ *xeipuuv.Schema, err error) {
	defer catch(&err)
	meta, err := metaSchemas[d]()
	if err != nil {
		return nil, fmt.Errorf("the %v metaschema cannot be compiled: %w", d, err)
	}
	result, err := meta.Validate(xeipuuv.NewRawLoader(schema))
	if err != nil {
		return nil, err
	}
	if issues := xeipuuvIssues(result); len(issues) > 0 {
		return nil, fmt.Errorf("it is not a %v schema: %s", d, issueText(issues, 3, nil, "the schema", nil))
	}
	loader := xeipuuv.NewSchemaLoader()
	loader.AutoDetect, loader.Draft = false, xeipuuvDrafts[d]
	compiled, err := loader.Compile(localLoader{xeipuuv.NewRawLoader(schema)})
	if err != nil {
		return nil, fmt.Errorf("it is not a %v schema: %w", d, err)
	}
	return compiled, nil
}

var santhoshDrafts = map[dialect]*santhosh.Draft{
	draft4: santhosh.Draft4, draft6: santhosh.Draft6, draft7: santhosh.Draft7,
	draft2019: santhosh.Draft2019, draft2020: santhosh.Draft2020,
}

// schemaName is how the document is called inside santhosh-tekuri/jsonschema. It is an opaque name, never opened.
const schemaName = "codemode:///schema"

func compileSanthosh(schema any, d dialect) (_ *santhosh.Schema, err error) {
	defer catch(&err)
	c := santhosh.NewCompiler()
	c.DefaultDraft(santhoshDrafts[d])
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaName, schema); err != nil {
		return nil, fmt.Errorf("it is not a %v schema: %w", d, err)
	}
	compiled, err := c.Compile(schemaName)
	var invalid *santhosh.SchemaValidationError
	var mismatch *santhosh.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &mismatch) {
		return nil, fmt.Errorf("it is not a %v schema: %s", d, issueText(santhoshIssues(mismatch), 3, nil, "the schema", nil))
	}
	if err != nil {
		return nil, fmt.Errorf("it is not a %v schema: %w", d, err)
	}
	return compiled, nil
}

// errTooDear is for a value that a schema would look at far more often than the value is long.
var errTooDear = errors.New("checking it would take too many steps")

// check judges a value. Nil issues mean that it fits; an error means that nobody can say.
func (v *validator) check(raw []byte) (issues []issue, err error) {
	if jsonDepth(raw) > maxValueDepth {
		return []issue{{kind: "depth", text: fmt.Sprintf("is nested more than %d levels deep", maxValueDepth)}}, nil
	}
	value, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	return v.checkValue(value, len(raw))
}

// maxValueDepth is how deep a value may nest. Validators note the path of every value they visit, which takes depth
// times depth memory.
const maxValueDepth = 2000

func (v *validator) checkValue(value any, size int) (issues []issue, err error) {
	if err := checkNumbers(value); err != nil {
		return []issue{{kind: "number", text: "has a number that is out of range"}}, nil
	}
	nodes := countNodes(value)
	if !v.doc.affordable(value, nodes, size) {
		return nil, errTooDear
	}
	defer catch(&err)
	if chooseEngine(v.doc.dialect, len(v.doc.nodes), nodes) == engineXeipuuv {
		if nodes > 10*manyValues {
			return nil, errTooDear
		}
		schema, err := v.xeipuuv()
		if err != nil {
			return nil, err
		}
		result, err := schema.Validate(xeipuuv.NewRawLoader(value))
		if err != nil {
			return nil, err
		}
		return xeipuuvIssues(result), nil
	}
	schema, err := v.santhosh()
	if err != nil {
		return nil, err
	}
	err = schema.Validate(value)
	var mismatch *santhosh.ValidationError
	if errors.As(err, &mismatch) {
		return santhoshIssues(mismatch), nil
	}
	return nil, err
}

// catch turns a panic of a validation library into an error, because no schema may end the process.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the validator gave up: %v", r)
	}
}

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
