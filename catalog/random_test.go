package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	xeipuuv "github.com/xeipuuv/gojsonschema"
)

// schemaMaker makes random schemas out of all keywords, with names and strings that like to break out of whatever they
// stand in.
type schemaMaker struct {
	rng  *rand.Rand
	defs int
}

var nastyStrings = []string{"a", "b", "c", "*/", "/*", "\"", "\\", "\n", "\u2028", "\u202e", "`", "${x}", "a-b", "__proto__", "constructor", "//", "'", "</script>", "ÿ", "日本", ";}", "=>", "1"}

func (m *schemaMaker) pick(list []string) string { return list[m.rng.IntN(len(list))] }

func (m *schemaMaker) primitive() any {
	switch m.rng.IntN(6) {
	case 0:
		return nil
	case 1:
		return m.rng.IntN(2) == 0
	case 2:
		return m.rng.IntN(5)
	case 3:
		return 1.5
	}
	return m.pick(nastyStrings)
}

func (m *schemaMaker) list(n int, item func() any) []any {
	out := []any{}
	for range 1 + m.rng.IntN(n) {
		out = append(out, item())
	}
	return out
}

func (m *schemaMaker) schema(depth int) any {
	if depth <= 0 || m.rng.IntN(12) == 0 {
		return []any{true, map[string]any{}, false, map[string]any{"type": "string"}, map[string]any{"not": map[string]any{}}}[m.rng.IntN(5)]
	}
	sub := func() any { return m.schema(depth - 1) }
	s := map[string]any{}
	types := []string{"object", "object", "object", "array", "string", "number", "integer", "boolean", "null"}
	if m.rng.IntN(4) > 0 {
		s["type"] = m.pick(types)
	} else if m.rng.IntN(2) == 0 {
		a, b := m.pick(types), m.pick(types)
		if a != b {
			s["type"] = []any{a, b}
		}
	}
	for range m.rng.IntN(4) {
		switch m.rng.IntN(22) {
		case 0, 1, 2, 3:
			props := map[string]any{}
			for range m.rng.IntN(4) {
				props[m.pick(nastyStrings)] = sub()
			}
			s["properties"] = props
		case 4:
			s["required"] = []any{m.pick(nastyStrings)}
		case 5:
			s["additionalProperties"] = sub()
		case 6:
			s["items"] = sub()
		case 7:
			s["items"] = m.list(3, sub)
		case 8:
			s["enum"] = m.list(4, m.primitive)
		case 9:
			s["const"] = m.primitive()
		case 10:
			s["anyOf"] = m.list(3, sub)
		case 11:
			s["oneOf"] = m.list(3, sub)
		case 12:
			s["allOf"] = m.list(2, sub)
		case 13:
			s["not"] = sub()
		case 14:
			s["if"], s["then"] = sub(), sub()
		case 15:
			if m.defs > 0 {
				s = map[string]any{"$ref": fmt.Sprintf("#/definitions/d%d", m.rng.IntN(m.defs))}
			}
		case 16:
			s["minimum"] = m.rng.IntN(3)
		case 17:
			s["minLength"] = 1
			s["minItems"] = 1
		case 18:
			s["description"] = m.pick(nastyStrings) + m.pick(nastyStrings)
			s["default"] = m.primitive()
		case 19:
			s["patternProperties"] = map[string]any{"^[ab]": sub()}
		case 20:
			s["propertyNames"] = map[string]any{"maxLength": 2}
		case 21:
			s["maxProperties"], s["uniqueItems"] = 2, true
		}
	}
	return s
}

func (m *schemaMaker) value(depth int) any {
	switch m.rng.IntN(4) {
	case 0:
		if depth > 0 {
			object := map[string]any{}
			for range m.rng.IntN(4) {
				object[m.pick(nastyStrings[:6])] = m.value(depth - 1)
			}
			return object
		}
	case 1:
		if depth > 0 {
			return m.list(3, func() any { return m.value(depth - 1) })
		}
	}
	return m.primitive()
}

// TestRandomSchemas renders random schemas in every style and asks a TypeScript parser, and lets both validators judge
// random values: they must agree, because the size of a value decides which one is asked.
func TestRandomSchemas(t *testing.T) {
	n := 1500
	if testing.Short() || raceEnabled {
		n = 300
	}
	rng := rand.New(rand.NewPCG(3, 5))
	judged, fits := 0, 0
	for range n {
		m := &schemaMaker{rng: rng, defs: 3}
		root := map[string]any{"definitions": map[string]any{"d0": m.schema(2), "d1": m.schema(2), "d2": m.schema(1)}}
		root["allOf"] = []any{m.schema(3)}
		if o, ok := m.schema(3).(map[string]any); ok {
			for k, v := range o {
				root[k] = v
			}
		}
		schema := mustMarshal(root)
		if _, err := checkSchema(schema, SourceHost); err != nil {
			continue // references that go in circles
		}
		var types strings.Builder
		for j, style := range []tsStyle{inputHintStyle, outputHintStyle} {
			if got, ok := renderHint(schema, SourceHost, style); ok {
				fmt.Fprintf(&types, "type H%d = %s;\n", j, strings.NewReplacer("; ... }", " }", "{ ... }", "{}").Replace(got.text))
			}
		}
		for j, style := range []tsStyle{declarationStyle, mcpStyle} {
			got := declare(schema, SourceHost, style, map[string]bool{})
			fmt.Fprintf(&types, "namespace N%d { type T = %s;\n", j, got.text)
			for _, alias := range got.aliases {
				types.WriteString("type " + alias + ";\n")
			}
			types.WriteString("}\n")
			again := declare(schema, SourceHost, style, map[string]bool{})
			if again.text != got.text {
				t.Fatalf("two renderings differ:\n%s\n%s\n%s", schema, got.text, again.text)
			}
		}
		tool := Tool{Name: "t", Description: m.pick(nastyStrings) + "\n" + m.pick(nastyStrings), InputSchema: schema, OutputSchema: schema, Run: echo}
		e := entryOf(t, tool)
		types.WriteString(e.declarationFile())
		mcp := tool
		mcp.Source, mcp.MCP = SourceMCP, &MCPTool{Server: "s", ServerName: m.pick(nastyStrings[:6]), Tool: "t"}
		checkTypeScript(t, types.String())
		checkTypeScript(t, entryOf(t, mcp).node.server.declarations(nil))

		v, err := newValidator(schema, SourceHost)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		for range 6 {
			value := mustMarshal(m.value(3))
			decoded, _ := decodeJSON(value)
			first, err1 := v.check(value)
			compiled, err2 := v.santhosh()
			if err1 != nil || err2 != nil {
				t.Fatalf("%s: %v, %v", schema, err1, err2)
			}
			err := compiled.Validate(decoded)
			judged++
			if (first == nil) != (err == nil) {
				s, _ := v.xeipuuv()
				result, _ := s.Validate(xeipuuv.NewRawLoader(decoded))
				t.Fatalf("the validators disagree\nschema %s\nvalue  %s\ngojsonschema: %v\nsanthosh: %v", schema, value, result.Errors(), err)
			}
			if err == nil {
				fits++
			} else if issueText(first, 5, nil, "the value", nil) == "" {
				t.Fatalf("no words for %v", err)
			}
		}
	}
	t.Logf("%d values judged, %d fit", judged, fits)
	if fits < judged/50 || fits > judged*49/50 {
		t.Error("the values are all alike; the test tells nothing")
	}
}
