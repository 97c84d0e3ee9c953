package catalog

import (
	"fmt"
	"strings"
)

// dialect is a draft of JSON Schema.
type dialect int

const (
	draft4 dialect = iota + 1
	draft6
	draft7
	draft2019
	draft2020
)

func (d dialect) String() string {
	return [...]string{"", "draft-04", "draft-06", "draft-07", "2019-09", "2020-12"}[d]
}

// newKeywords are the keywords that only the newer drafts know, with the first that does.
var newKeywords = map[string]dialect{
	"$defs": draft2019, "$anchor": draft2019, "$recursiveRef": draft2019, "$recursiveAnchor": draft2019,
	"dependentSchemas": draft2019, "dependentRequired": draft2019, "unevaluatedProperties": draft2019,
	"unevaluatedItems": draft2019, "minContains": draft2019, "maxContains": draft2019,
	"prefixItems": draft2020, "$dynamicRef": draft2020, "$dynamicAnchor": draft2020,
}

// chooseDialect decides which draft a schema is read as. What it declares counts; without a declaration, what it
// needs: keywords of 2019-09 or 2020-12 make it 2020-12 (2019-09 when it uses $recursiveRef or a list of items, which
// 2020-12 has dropped), exclusiveMinimum or exclusiveMaximum as a flag make it draft-04. Schemas that show nothing are
// 2020-12 when they come from MCP, which says so, and draft-07 otherwise.
func chooseDialect(declared string, features map[string]bool, source Source) (dialect, error) {
	if declared != "" {
		name := strings.TrimSuffix(strings.TrimSuffix(declared, "#"), "/")
		name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
		switch name {
		case "json-schema.org/draft-04/schema", "json-schema.org/draft-03/schema":
			return draft4, nil
		case "json-schema.org/draft-06/schema":
			return draft6, nil
		case "json-schema.org/draft-07/schema":
			return draft7, nil
		case "json-schema.org/draft/2019-09/schema":
			return draft2019, nil
		case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema", "spec.openapis.org/oas/3.1/dialect/base":
			return draft2020, nil
		}
		return 0, fmt.Errorf("it declares a dialect that is not known: %s", printable(cutUTF16(declared, 200)))
	}
	needs := dialect(0)
	for feature := range features {
		needs = max(needs, newKeywords[feature])
	}
	switch {
	case needs == draft2020:
		return draft2020, nil
	case features["exclusive as a flag"]:
		return draft4, nil
	case needs == draft2019 && (features["$recursiveRef"] || features["items as a list"]):
		return draft2019, nil
	case needs == draft2019:
		return draft2020, nil
	case features["items as a list"]:
		return draft7, nil
	case source == SourceMCP:
		return draft2020, nil
	}
	return draft7, nil
}

// engine is the library that validates.
type engine int

const (
	engineXeipuuv  engine = iota + 1 // github.com/xeipuuv/gojsonschema
	engineSanthosh                   // github.com/santhosh-tekuri/jsonschema/v6
)

const (
	// manyValues is the size of a value, in JSON values, from which one error per value becomes too dear:
	// gojsonschema renders a text for each.
	manyValues = 10_000
	// manySchemas is the size of a schema, in subschemas, from which santhosh-tekuri/jsonschema takes long: the time
	// it compiles grows with the square.
	manySchemas = 5_000
	// maxNewSchemas is how many subschemas a schema may have that only santhosh-tekuri/jsonschema can read.
	maxNewSchemas = 20_000
)

// chooseEngine decides which library validates a value of so many JSON values by a schema of so many subschemas:
// gojsonschema drafts 4, 6 and 7, santhosh-tekuri/jsonschema the newer ones, and large values of all of them unless the
// schema is large too.
func chooseEngine(d dialect, schemas, values int) engine {
	if d > draft7 || values >= manyValues && schemas <= manySchemas {
		return engineSanthosh
	}
	return engineXeipuuv
}

// settleLarge reads a large schema of a newer draft as draft-07 when that means the same: it uses the newer keywords
// for naming only, and no reference has rules beside it. Other schemas of newer drafts must not be that large.
func (d *schemaDoc) settleLarge() error {
	if d.dialect <= draft7 || len(d.nodes) <= manySchemas {
		return nil
	}
	same := true
	for feature := range d.features {
		same = same && (feature == "$defs" || feature == "$anchor")
	}
	for _, n := range d.nodes {
		if n.ref == nil || !same {
			continue
		}
		for keyword := range n.object {
			same = same && (keyword == "$ref" || annotations[keyword])
		}
	}
	switch {
	case same:
		d.dialect = draft7
	case len(d.nodes) > maxNewSchemas:
		return fmt.Errorf("it has more than %d subschemas, with rules of %v", maxNewSchemas, d.dialect)
	}
	return nil
}
