package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	xeipuuv "github.com/xeipuuv/gojsonschema"
)

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

// plainNumbers is a decoded schema with small whole numbers as they are usually written. To gojsonschema 1.0 is no
// integer, although draft 6 says so, and -0 does not equal 0.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		const exact = 17 // characters at most, of which a double loses nothing that would make it whole
		if f, err := v.Float64(); err == nil && len(v) <= exact && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plainNumbers(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = plainNumbers(item)
		}
		return object
	}
	return v
}

func compileXeipuuv(schema any, d dialect) (_ *xeipuuv.Schema, err error) {
	defer catch(&err)
	schema = plainNumbers(schema)
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
