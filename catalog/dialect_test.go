package catalog

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func TestChooseDialect(t *testing.T) {
	for _, tc := range []struct {
		name   string
		schema string
		source Source
		want   dialect
	}{
		{"declared 04", `{"$schema":"http://json-schema.org/draft-04/schema#"}`, SourceHost, draft4},
		{"declared 06", `{"$schema":"http://json-schema.org/draft-06/schema#"}`, SourceHost, draft6},
		{"declared 07", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, SourceHost, draft7},
		{"declared 07 over https, without the hash", `{"$schema":"https://json-schema.org/draft-07/schema"}`, SourceHost, draft7},
		{"declared 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, SourceHost, draft2019},
		{"declared 2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, SourceHost, draft2020},
		{"declared for MCP", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, SourceMCP, draft7},
		{"declaration beats keywords", `{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{}}`, SourceHost, draft7},
		{"OpenAPI 3.1", `{"$schema":"https://spec.openapis.org/oas/3.1/dialect/base"}`, SourceHost, draft2020},
		{"nothing", `{"type":"object"}`, SourceHost, draft7},
		{"nothing, from a client", `{"type":"object"}`, SourceClient, draft7},
		{"nothing, from MCP", `{"type":"object"}`, SourceMCP, draft2020},
		{"prefixItems", `{"prefixItems":[true]}`, SourceHost, draft2020},
		{"$defs", `{"$defs":{}}`, SourceHost, draft2020},
		{"deep unevaluatedProperties", `{"properties":{"a":{"unevaluatedProperties":false}}}`, SourceHost, draft2020},
		{"a property called prefixItems", `{"properties":{"prefixItems":{}}}`, SourceHost, draft7},
		{"recursiveRef", `{"$recursiveRef":"#","$recursiveAnchor":true,"properties":{}}`, SourceHost, 0}, // refused: it never gets anywhere
		{"recursiveRef in a property", `{"$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}}}`, SourceHost, draft2019},
		{"dependentRequired with a list of items", `{"items":[true],"dependentRequired":{}}`, SourceHost, draft2019},
		{"list of items", `{"items":[true]}`, SourceMCP, draft7},
		{"exclusiveMinimum as a flag", `{"minimum":1,"exclusiveMinimum":true}`, SourceMCP, draft4},
		{"unknown dialect", `{"$schema":"https://example.com/mine"}`, SourceHost, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc, err := parseSchema([]byte(tc.schema), tc.source)
			if (err != nil) != (tc.want == 0) {
				t.Fatalf("error %v", err)
			}
			if err == nil && doc.dialect != tc.want {
				t.Errorf("dialect %v, want %v", doc.dialect, tc.want)
			}
		})
	}
}

func TestChooseEngine(t *testing.T) {
	for _, tc := range []struct {
		dialect         dialect
		schemas, values int
		want            engine
	}{
		{draft4, 1, 1, engineXeipuuv}, {draft6, 1, 1, engineXeipuuv}, {draft7, 1, 1, engineXeipuuv}, {draft7, 1, 9_999, engineXeipuuv},
		{draft7, 1, 10_000, engineSanthosh}, {draft7, 5_001, 10_000, engineXeipuuv},
		{draft2019, 1, 1, engineSanthosh}, {draft2020, 1, 1, engineSanthosh}, {draft2020, 6_000, 1, engineSanthosh},
	} {
		if got := chooseEngine(tc.dialect, tc.schemas, tc.values); got != tc.want {
			t.Errorf("chooseEngine(%v, %d, %d) = %d, want %d", tc.dialect, tc.schemas, tc.values, got, tc.want)
		}
	}
}

func TestGoPattern(t *testing.T) {
	for _, tc := range []struct{ js, want string }{
		{`^a\/b$`, `^a/b$`}, {`\u0041\u{1F600}`, `\x{0041}\x{1F600}`}, {`\\u0041`, `\\u0041`}, {`\d+\\`, `\d+\\`},
		{`(?=x)`, ``}, {`(a)\1`, ``}, {`[`, ``}, {`\`, ``},
	} {
		got, _, err := checkPattern(tc.js)
		if err != nil || got != tc.want {
			t.Errorf("checkPattern(%q) = %q, %v; want %q", tc.js, got, err, tc.want)
		}
	}
	for _, heavy := range []string{`(((a{100}){100}){100})`, `(a{1000}){1000}`, strings.Repeat("a", 9<<10)} {
		if got, steps, err := checkPattern(heavy); err == nil && got != "" {
			t.Errorf("a pattern of %d steps was taken", steps)
		}
	}
}

// How a number is written in a schema does not matter, in any draft from 6 on.
func TestNumbersHoweverTheyAreWritten(t *testing.T) {
	for _, dialect := range []string{"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"} {
		c := New(nil)
		problems := c.Add(Tool{Name: "x", Run: func(context.Context, *Call) (*Result, error) { return nil, nil }, InputSchema: json.RawMessage(
			`{"$schema":"` + dialect + `","properties":{"s":{"minLength":2.0,"maxLength":1e1},"n":{"enum":[-0, 1.0, 2e0, 1.50]},"z":{"const":-0.0}}}`)})
		e, ok := c.Snapshot().View(nil).Callable("x")
		if !ok || problems != nil {
			t.Fatal(dialect, problems)
		}
		for input, fits := range map[string]bool{`{"s":"ab","n":0,"z":0}`: true, `{"n":1}`: true, `{"n":2}`: true, `{"n":1.5}`: true, `{"s":"a"}`: false, `{"n":3}`: false, `{"z":1}`: false} {
			if err := e.CheckInput(json.RawMessage(input)); (err == nil) != fits {
				t.Errorf("%s: %s: %v", dialect, input, err)
			}
		}
	}
}
