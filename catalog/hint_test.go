package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hints(t *testing.T, schema string) (input, output string) {
	t.Helper()
	if in, ok := renderHint([]byte(schema), SourceHost, inputHintStyle); ok {
		input = in.text
	}
	if out, ok := renderHint([]byte(schema), SourceHost, outputHintStyle); ok && out.whole {
		output = out.text
	}
	return input, output
}

func TestHints(t *testing.T) {
	for _, tc := range []struct{ name, schema, input, output string }{
		{"primitive", `{"type":"string"}`, `string`, `string`},
		{"integer bounds", `{"type":"integer","minimum":1,"maximum":9}`, `number /* integer, >= 1, <= 9 */`, `number`},
		{"exclusive", `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`, `number /* > 0, < 1 */`, `number`},
		{"exclusive as a flag", `{"type":"number","minimum":0,"exclusiveMinimum":true}`, `number /* > 0 */`, `number`},
		{"required first", `{"type":"object","properties":{"a":{"type":"string"},"z":{"type":"number"},"b":{"type":"boolean"}},"required":["z"],"additionalProperties":false}`,
			`{ z: number; a?: string; b?: boolean }`, `{ z: number; a?: string; b?: boolean }`},
		{"open object", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{ a?: string }`, ``},
		{"said to be open", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, `{ a?: string; ... }`, ``},
		{"map", `{"type":"object","additionalProperties":{"type":"number"}}`, `Record<string, number>`, `Record<string, number>`},
		{"empty closed", `{"type":"object","additionalProperties":false}`, `{}`, `{}`},
		{"array", `{"type":"array","items":{"type":"string"}}`, `Array<string>`, `Array<string>`},
		{"array of anything", `{"type":"array"}`, `Array<unknown>`, ``},
		{"const", `{"const":"x"}`, `"x"`, `"x"`},
		{"enum", `{"enum":["a","b","a",1,null,true]}`, `"a" | "b" | 1 | true | null`, `"a" | "b" | 1 | true | null`},
		{"enum too long", `{"type":"string","enum":["1","2","3","4","5","6","7","8","9"]}`, `string`, `string`},
		{"enum of long strings", `{"enum":["` + long(90) + `","` + long(89) + `"]}`, `string`, `string`},
		{"nullable", `{"type":"string","nullable":true}`, `string | null`, `string | null`},
		{"type list", `{"type":["string","null"]}`, `string | null`, `string | null`},
		{"anyOf", `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `string | Array<string>`, `string | Array<string>`},
		{"oneOf with a type beside", `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object","additionalProperties":false},{"properties":{"b":{"type":"string"}},"type":"object","additionalProperties":false}]}`,
			`{ a: string } | { b?: string }`, `{ a: string } | { b?: string }`},
		{"too many alternatives", `{"anyOf":[{"const":1},{"const":2},{"const":3},{"const":4},{"const":5},{"const":6}]}`, `unknown`, ``},
		{"any", `{}`, `unknown`, `unknown`},
		{"quoted key", `{"type":"object","properties":{"a-b":{"type":"string"}},"additionalProperties":false}`, `{ "a-b"?: string }`, `{ "a-b"?: string }`},
		{"local ref", `{"type":"object","properties":{"p":{"$ref":"#/$defs/point"}},"$defs":{"point":{"type":"array","items":{"type":"number"}}},"additionalProperties":false}`,
			`{ p?: Array<number> }`, `{ p?: Array<number> }`},
		{"definitions", `{"$ref":"#/definitions/s","definitions":{"s":{"type":"string"}}}`, `string`, `string`},
		{"anchor", `{"items":{"$ref":"#it"},"type":"array","$defs":{"x":{"$anchor":"it","type":"boolean"}}}`, `Array<boolean>`, `Array<boolean>`},
		{"recursive", `{"type":"object","properties":{"v":{"type":"number"},"next":{"$ref":"#"}},"additionalProperties":false}`,
			`{ next?: unknown; v?: number }`, ``},
		{"allOf of objects", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"number"}}}]}`,
			`{ a: string; b?: number }`, ``},
		{"allOf closed", `{"type":"object","allOf":[{"type":"object","properties":{"a":{"type":"string"}}}],"properties":{"b":{"type":"number"}},"unevaluatedProperties":false}`,
			`{ a?: string; b?: number }`, `{ a?: string; b?: number }`},
		{"allOf that narrows", `{"allOf":[{"type":"string"},{"minLength":3}]}`, `string`, ``},
		{"same property twice", `{"allOf":[{"type":"object","properties":{"a":{"type":["string","null"]}}},{"type":"object","properties":{"a":{"type":["string","number"]}}}]}`,
			`{ a?: (string | null) & (string | number) }`, ``},
		{"tuple", `{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false,"minItems":1}`, `[string, number?]`, `[string, number?]`},
		{"tuple open", `{"type":"array","items":[{"type":"string"}],"minItems":1}`, `[string, ...Array<unknown>]`, ``},
		{"tuple rest", `{"type":"array","prefixItems":[{"type":["string","null"]}],"items":{"type":"number"}}`, `[(string | null)?, ...Array<number>]`, `[(string | null)?, ...Array<number>]`},
		{"if then", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"if":{"required":["a"]},"then":{}}`, `{ a?: string }`, ``},
		{"required but not declared", `{"type":"object","required":["x"],"additionalProperties":false}`, `{ x: unknown }`, ``},
		{"not false as generators write it", `{"type":"object","properties":{},"additionalProperties":{"not":{}}}`, `{}`, `{}`},
		{"forbidden property", `{"type":"object","properties":{"a":false},"additionalProperties":false}`, `{}`, `{}`},
		{"no type", `{"properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{ a?: string }`, ``},
		{"string that would end a comment", `{"const":"*/ alert(1) /*\n\u2028\u202e"}`, `"*\/ alert(1) /*\n\u2028\u202E"`, `"*\/ alert(1) /*\n\u2028\u202E"`},
		{"key that would end a comment", `{"type":"object","properties":{"*/;x":{"type":"string"}},"additionalProperties":false}`, `{ "*\/;x"?: string }`, `{ "*\/;x"?: string }`},
		{"too long", `{"type":"object","properties":{"` + long(120) + `":{"type":"string"},"a` + long(120) + `":{"type":"string"},"b` + long(120) + `":{"type":"string"}}}`, ``, ``},
		{"too deep", `{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}}`,
			`Array<Array<Array<Array<Array<unknown>>>>>`, `Array<Array<Array<Array<Array<string>>>>>`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			input, output := hints(t, tc.schema)
			if diff := cmp.Diff(tc.input, input); diff != "" {
				t.Errorf("input hint (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.output, output); diff != "" {
				t.Errorf("output hint (-want +got):\n%s", diff)
			}
		})
	}
}

func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}
