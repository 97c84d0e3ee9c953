package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	xeipuuv "github.com/xeipuuv/gojsonschema"
)

// soundly checks a value with the fastCheck and, where that takes it, with both libraries and the limits around them.
func soundly(t *testing.T, v *validator, schema, value []byte) (fast bool) {
	t.Helper()
	if !v.fast.fits(value) {
		return false
	}
	decoded, err := decodeJSON(value)
	if err != nil {
		t.Fatalf("the fastCheck takes %q, which is no JSON: %v", value, err)
	}
	if issues, err := v.checkValue(decoded, len(value)); len(issues) > 0 || err != nil {
		t.Fatalf("the fastCheck takes too much\nschema %s\nvalue  %s\nissues %v %v", schema, value, issues, err)
	}
	if s, err := v.santhosh(); err == nil {
		if err := s.Validate(decoded); err != nil {
			t.Fatalf("santhosh-tekuri/jsonschema refuses what the fastCheck takes\nschema %s\nvalue  %s\n%v", schema, value, err)
		}
	}
	if s, err := v.xeipuuv(); err == nil && v.doc.dialect <= draft7 {
		if result, err := s.Validate(xeipuuv.NewRawLoader(decoded)); err != nil || !result.Valid() {
			t.Fatalf("gojsonschema refuses what the fastCheck takes\nschema %s\nvalue  %s\n%v %v", schema, value, result.Errors(), err)
		}
	}
	return true
}

func TestFastCheck(t *testing.T) {
	const object = `{"type":"object","properties":{"q":{"type":"string","minLength":1,"maxLength":3},"n":{"type":"integer","minimum":1,"maximum":10}},"required":["q"],"additionalProperties":false}`
	for _, c := range []struct {
		schema string
		takes  []string // are judged by the fastCheck
		leaves []string // are not, whether they fit or not
	}{
		{object, []string{`{"q":"a"}`, ` { "n" : 10 , "q" : "日本語" } `, `{"q":"\n"}`, `{"q":"a","n":1}`},
			[]string{`{}`, `{"q":""}`, `{"q":"abcd"}`, `{"q":"\u0061bcd"}`, `{"q":"a","n":1.0}`, `{"q":"a","n":0}`, `{"q":"a","n":11}`, `{"q":"a","n":1e0}`,
				`{"q":"a","q":"b"}`, `{"\u0071":"a"}`, `{"q":"a","x":1}`, `{"q":"a"} x`, `{"q":"a",}`, `{"q":1}`, `[]`, `"q"`, ``, "{\"q\":\"\xff\"}"}},
		{`{}`, []string{`1`, `[{"a":"\ud800"}]`}, []string{`1 2`, `1e999`, strings.Repeat("[", 300) + strings.Repeat("]", 300)}},
		{`true`, []string{`1`}, nil},
		{`{"type":"object","properties":{"a":false}}`, []string{`{"b":1}`}, []string{`{"a":1}`}},
		{`{"type":"object","properties":{"a":{"pattern":"x"}}}`, []string{`{"b":1}`}, []string{`{"a":"x"}`}},
		{`{"type":"object","required":["a"],"additionalProperties":false}`, nil, []string{`{}`, `{"a":1}`}},
		{`{"type":"object","additionalProperties":{"type":"number"}}`, []string{`{}`, `{"a":1,"b":1.5}`, `{"a":1,"a":2}`}, []string{`{"a":"1"}`}},
		{`{"type":"object","required":["a"],"additionalProperties":{"type":"number"}}`, []string{`{"a":1}`}, []string{`{}`, `{"a":""}`}},
		{`{"type":["array","null"],"items":{"type":"boolean"},"minItems":1,"maxItems":2}`, []string{`null`, `[true]`, `[true, false]`}, []string{`[]`, `[1]`, `[true,true,true]`, `[true`}},
		{`{"enum":["a","\u00e9",1,null,true,[1]]}`, []string{`"a"`, `"é"`, `1`, `null`, `true`}, []string{`"b"`, `"\u0061"`, `1.0`, `[1]`, `false`}},
		{`{"const":"a"}`, []string{`"a"`}, []string{`"b"`}},
		{`{"minimum":1,"maximum":2}`, []string{`1`, `2`, `1.5`, `"text"`}, []string{`0.99999999999999999999999`, `1.00`, `2.00000000000000000000001`, `0`, `3`}},
		{`{"exclusiveMinimum":1,"exclusiveMaximum":2}`, []string{`1.5`}, []string{`1`, `2`, `1.00000000000000000000001`}},
		{`{"minimum":9007199254740993}`, []string{`9007199254740996`}, []string{`9007199254740992`, `9007199254740993`}},
		{`{"type":"string","nullable":true}`, []string{`null`, `"a"`}, nil},
		{`{"type":"string","format":"date-time","description":"formats but uri are not checked"}`, []string{`"a"`}, nil},
		{`{"type":"string","format":"uri"}`, nil, []string{`"a"`}},
		{`{"properties":{"a":{}},"additionalProperties":{"type":"string"}}`, nil, []string{`{"a":1}`}},
		{`{"anyOf":[{"type":"string"}]}`, nil, []string{`"a"`}},
	} {
		v, err := newValidator([]byte(c.schema), SourceHost)
		if err != nil {
			t.Fatalf("%s: %v", c.schema, err)
		}
		for _, value := range c.takes {
			if !soundly(t, v, []byte(c.schema), []byte(value)) {
				t.Errorf("%s does not take %s", c.schema, value)
			}
		}
		for _, value := range c.leaves {
			if v.fast.fits([]byte(value)) {
				t.Errorf("%s takes %s", c.schema, value)
			}
		}
	}
}

// A schema with something that the library for large values cannot read: it judges large values all the same.
func TestFastCheckAsksWhoWouldJudge(t *testing.T) {
	v, err := newValidator([]byte(`{"type":"array","items":{"type":"integer"}}`), SourceHost)
	if err != nil {
		t.Fatal(err)
	}
	long := []byte("[" + strings.Repeat("1,", manyValues) + "1]")
	if issues, err := v.check(long); len(issues) > 0 || err != nil {
		t.Fatal(issues, err)
	}
	broken := fmt.Errorf("cannot be read")
	v.santhosh = func() (*santhosh.Schema, error) { return nil, broken }
	if _, err := v.check(long); err != broken {
		t.Errorf("a large value was judged by nobody: %v", err)
	}
	if issues, err := v.check([]byte("[1]")); len(issues) > 0 || err != nil {
		t.Error(issues, err)
	}
}

// plainSchema makes schemas of the keywords that fastChecks know, and now and then of one that they do not.
func (m *schemaMaker) plainSchema(depth int) any {
	s := map[string]any{}
	sub := func() any { return m.plainSchema(depth - 1) }
	if depth <= 0 && m.rng.IntN(4) == 0 {
		return []any{true, false, map[string]any{}}[m.rng.IntN(3)]
	}
	kind := m.pick([]string{"object", "object", "array", "string", "number", "integer", "boolean", "null"})
	if depth <= 0 && (kind == "object" || kind == "array") {
		kind = "string"
	}
	switch m.rng.IntN(6) {
	case 0: // any type
	case 1:
		s["type"] = []any{kind, m.pick([]string{"null", "string", "number"})}
		if s["type"].([]any)[1] == kind {
			s["type"] = kind
		}
	default:
		s["type"] = kind
	}
	if m.rng.IntN(8) == 0 {
		s["enum"] = m.list(4, m.primitive)
	}
	if m.rng.IntN(12) == 0 {
		s["const"] = m.primitive()
	}
	if m.rng.IntN(8) == 0 {
		s["description"], s["title"], s["default"] = m.pick(nastyStrings), "a title", m.primitive()
	}
	maybe := func(key string, v any) {
		if m.rng.IntN(3) == 0 {
			s[key] = v
		}
	}
	switch kind {
	case "object":
		props := map[string]any{}
		for range m.rng.IntN(4) {
			props[m.pick(nastyStrings[:6])] = sub()
		}
		maybe("required", []any{m.pick(nastyStrings[:4])})
		switch m.rng.IntN(4) {
		case 0:
			s["additionalProperties"] = false
		case 1:
			s["additionalProperties"] = sub()
			props = map[string]any{}
		case 2:
			s["additionalProperties"] = true
		}
		if len(props) > 0 {
			s["properties"] = props
		}
	case "array":
		s["items"] = sub()
		maybe("minItems", m.rng.IntN(3))
		maybe("maxItems", m.rng.IntN(4))
	case "string":
		maybe("minLength", m.rng.IntN(3))
		maybe("maxLength", m.rng.IntN(8))
	default:
		maybe("minimum", []any{0, 1.5, -1, 3}[m.rng.IntN(4)])
		maybe("maximum", []any{2, 1.5, 3.25, 1e3}[m.rng.IntN(4)])
		maybe("exclusiveMinimum", []any{0, 1, 0.1}[m.rng.IntN(3)])
	}
	if m.rng.IntN(30) == 0 {
		s["multipleOf"] = 1
	}
	return s
}

// likely makes a value that a schema of plainSchema may take, as text that is written in many ways.
func (m *schemaMaker) likely(schema any, depth int) string {
	s, _ := schema.(map[string]any)
	if s == nil || depth <= 0 || m.rng.IntN(20) == 0 {
		return m.scalar("")
	}
	if list, ok := s["enum"].([]any); ok && m.rng.IntN(4) > 0 {
		return string(mustMarshal(list[m.rng.IntN(len(list))]))
	}
	if v, ok := s["const"]; ok && m.rng.IntN(4) > 0 {
		return string(mustMarshal(v))
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		kind = list[m.rng.IntN(2)].(string)
	}
	space := func() string { return m.pick([]string{"", "", "", " ", "\n\t"}) }
	switch {
	case kind == "object" || kind == "" && s["properties"] != nil:
		var members []string
		add := func(name string, value string) {
			members = append(members, space()+string(mustMarshal(name))+space()+":"+space()+value+space())
		}
		props, _ := s["properties"].(map[string]any)
		for _, name := range sortedKeys(props) {
			if m.rng.IntN(5) > 0 {
				add(name, m.likely(props[name], depth-1))
			}
		}
		if required, ok := s["required"].([]any); ok && m.rng.IntN(3) > 0 && props[required[0].(string)] == nil {
			add(required[0].(string), m.likely(s["additionalProperties"], depth-1))
		}
		if m.rng.IntN(4) == 0 {
			add(m.pick(nastyStrings), m.likely(s["additionalProperties"], depth-1))
		}
		return "{" + strings.Join(members, ",") + "}"
	case kind == "array":
		var members []string
		for range m.rng.IntN(4) {
			members = append(members, space()+m.likely(s["items"], depth-1)+space())
		}
		return "[" + strings.Join(members, ",") + "]"
	}
	return m.scalar(kind)
}

func (m *schemaMaker) scalar(kind string) string {
	switch kind {
	case "string":
		return m.pick([]string{`""`, `"a"`, `"abc"`, `"日本"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud800"`, `"a\nb"`, `"*/"`, `"\u0061"`, `"😀😀"`, `"abcdefgh"`})
	case "number", "integer":
		return m.pick([]string{"0", "-0", "1", "2", "3", "4", "-1", "1.0", "1.5", "15e-1", "1e2", "0.1", "0.10000000000000000000001", "3.25", "1000", "1e3", "123456789012345678901234567890", "2.0000000000000000000000001"})
	case "boolean":
		return m.pick([]string{"true", "false"})
	case "null":
		return "null"
	}
	return m.scalar(m.pick([]string{"string", "number", "boolean", "null", "string"}))
}

func (m *schemaMaker) dialected(schema any) any {
	o, ok := schema.(map[string]any)
	if !ok || m.rng.IntN(2) == 0 {
		return schema
	}
	o["$schema"] = m.pick([]string{"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"})
	return o
}

// disagreements makes schemas and values from a seed and checks each soundly. It counts those that a library took, and
// those of them that the fastCheck took.
func disagreements(t *testing.T, seed uint64) (fast, fit int) {
	m := &schemaMaker{rng: rand.New(rand.NewPCG(seed, 7))}
	plain := m.dialected(m.plainSchema(3))
	schema := mustMarshal(plain)
	v, err := newValidator(schema, SourceHost)
	if err != nil {
		return 0, 0 // draft-04 has no booleans for schemas, and more
	}
	for range 8 {
		value := []byte(m.likely(plain, 5))
		if m.rng.IntN(6) == 0 && len(value) > 0 { // something is wrong with it
			value[m.rng.IntN(len(value))] = `{}[],:"\ 0123ae-.tn`[m.rng.IntN(19)]
		}
		if soundly(t, v, schema, value) {
			fast++
		}
		if decoded, err := decodeJSON(value); err == nil {
			if issues, err := v.checkValue(decoded, len(value)); err == nil && len(issues) == 0 {
				fit++
			}
		}
	}
	return fast, fit
}

func TestFastCheckIsSound(t *testing.T) {
	fast, fit := 0, 0
	n := uint64(3000)
	if testing.Short() || raceEnabled {
		n = 300
	}
	for seed := range n {
		a, b := disagreements(t, seed)
		fast, fit = fast+a, fit+b
	}
	t.Logf("of %d values that fit, the fastCheck took %d", fit, fast)
	if fast < fit/2 || fit < int(n) {
		t.Error("the test tells little")
	}
}

// FuzzFastCheck lets the fuzzer write schema and value itself, and seeds the makers above.
func FuzzFastCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"q":{"type":"string","maxLength":3}},"required":["q"],"additionalProperties":false}`, `{"q":"a"}`, uint64(1))
	f.Add(`{"type":["integer","null"],"minimum":1,"exclusiveMaximum":2.5,"enum":[1,null]}`, `1`, uint64(2))
	f.Add(`{"items":{"type":"array","items":{"const":"x"},"minItems":1}}`, `[["x"],["x","x"]]`, uint64(3))
	f.Fuzz(func(t *testing.T, schema, value string, seed uint64) {
		disagreements(t, seed)
		if len(schema) > 1000 || len(value) > 1000 {
			return
		}
		if v, err := newValidator([]byte(schema), SourceHost); err == nil {
			soundly(t, v, []byte(schema), []byte(value))
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct{ name, schema, value string }{
		{"query", `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}`, `{"q":"a"}`},
		{"file", `{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"type":"string"}}},"required":["path"],"additionalProperties":false}`, `{"path":"/tmp/x","offset":3,"tags":["a","b"]}`},
		{"text=1MiB", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`, `{"text":"` + strings.Repeat("x", 1<<20) + `"}`},
		{"numbers=100k", `{"type":"array","items":{"type":"number"}}`, "[" + strings.Repeat("1234.5,", 100_000) + "1]"},
	} {
		v, err := newValidator([]byte(c.schema), SourceHost)
		if err != nil {
			b.Fatal(err)
		}
		value := []byte(c.value)
		b.Run(c.name+"/by=fastCheck", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if issues, err := v.check(value); len(issues) > 0 || err != nil {
					b.Fatal(issues, err)
				}
			}
		})
		slow := *v
		slow.fast = &fastCheck{unsure: true}
		b.Run(c.name+"/by=library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if issues, err := slow.check(value); len(issues) > 0 || err != nil {
					b.Fatal(issues, err)
				}
			}
		})
	}
}
