package catalog

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// doubling is a schema whose references multiply: n levels make 2^n visits.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$schema":"%s","type":"object","properties":{"x":{"$ref":"#/definitions/d0"}},"definitions":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

func TestHostileSchemasAreBounded(t *testing.T) {
	deepValue := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	crossed := `{"$schema":"%s","type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	for _, tc := range []struct{ name, schema, value string }{
		{"doubling references", doubling(40), `{"x":"s"}`},
		{"doubling by depth of the value", crossed, strings.Repeat(`{"a":`, 60) + `{}` + strings.Repeat(`}`, 60)},
		{"recursive schema, very deep value", `{"$schema":"%s","type":"object","properties":{"a":{"$ref":"#"}}}`, deepValue},
		{"reference to itself", `{"$schema":"%s","$ref":"#"}`, `{}`},
		{"circle of references", `{"$schema":"%s","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"anyOf":[{"$ref":"#/definitions/a"}]}},"allOf":[{"$ref":"#/definitions/a"}]}`, `{}`},
		{"long chain", chain(5000), `{}`},
		{"deep schema", `{"$schema":"%s","properties":` + strings.Repeat(`{"a":{"properties":`, 5000) + `{}` + strings.Repeat(`}}`, 5000) + `}`, `{}`},
		{"huge number in the schema", `{"$schema":"%s","properties":{"x":{"multipleOf":1e-999999999}}}`, `{"x":1}`},
		{"huge number in the value", `{"$schema":"%s","properties":{"x":{"type":"number","minimum":1}}}`, `{"x":1e999999999}`},
		{"heavy pattern", `{"$schema":"%s","properties":{"x":{"pattern":"(abcdefghijklmnopqrstuvwxyz){1000}$"}}}`, `{"x":"` + strings.Repeat("a", 100_000) + `"}`},
		{"backtracking pattern", `{"$schema":"%s","properties":{"x":{"pattern":"^(a+)+$"}}}`, `{"x":"` + strings.Repeat("a", 100_000) + `b"}`},
		{"pattern properties over many properties", `{"$schema":"%s","patternProperties":{"^([a-z]{1,50}[0-9]{1,50}){1,10}$":{"type":"string"}}}`, manyProperties(20_000)},
		{"a million wrong items", `{"$schema":"%s","properties":{"x":{"items":{"enum":["a"]}}}}`, `{"x":[` + strings.Repeat("1,", 300_000) + `1]}`},
		{"ten thousand alternatives", alternatives(10_000), `{"x":[` + strings.Repeat("1,", 3000) + `1]}`},
		{"patterns together", manyPatterns(200), `{}`},
	} {
		for name, draft := range drafts {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				if testing.Short() {
					t.Skip("takes seconds")
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := time.Now()
				v, err := newValidator([]byte(strings.Replace(tc.schema, "%s", draft, 1)), SourceHost)
				if err == nil {
					var issues []issue
					issues, err = v.check([]byte(tc.value))
					_ = issueText(issues, 8, nil, "the value", nil)
				}
				took := time.Since(start)
				runtime.ReadMemStats(&after)
				allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
				t.Logf("%v, %d MB, %v", took.Round(time.Millisecond), allocated, err)
				limit := 10 * time.Second // on a machine that has other things to do
				if raceEnabled {
					limit *= 10
				}
				if took > limit || allocated > 1500 {
					t.Errorf("took %v and %d MB", took, allocated)
				}
			})
		}
	}
}

func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$schema":"%s","definitions":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/definitions/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}},"allOf":[{"$ref":"#/definitions/d0"}]}`, n)
	return b.String()
}

func manyProperties(n int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		fmt.Fprintf(&b, `"p%d":1,`, i)
	}
	return b.String() + `"q":1}`
}

func alternatives(n int) string {
	var b strings.Builder
	b.WriteString(`{"$schema":"%s","properties":{"x":{"items":{"anyOf":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"const":"v%d"},`, i)
	}
	return b.String() + `{"const":"w"}]}}}}`
}

func manyPatterns(n int) string {
	var b strings.Builder
	b.WriteString(`{"$schema":"%s","properties":{`)
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{"pattern":"(abcde){1000}%d"},`, i, i)
	}
	return b.String() + `"q":{}}}`
}

// A large but honest schema must work: five megabytes of definitions, as an OpenAPI document has.
func TestLargeSchema(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d100"}},"$defs":{`)
	for i := range 12_000 {
		fmt.Fprintf(&b, `"d%d":{"type":"object","description":%q,"properties":{"id":{"type":"string"},"next":{"$ref":"#/$defs/d%d"}},"additionalProperties":false},`,
			i, strings.Repeat("words ", 50), (i+1)%12_000)
	}
	raw := json.RawMessage(b.String() + `"last":{}}}`)
	start := time.Now()
	e := entryOf(t, Tool{InputSchema: raw})
	added := time.Since(start)
	if err := e.CheckInput(json.RawMessage(`{"x":{"id":"a","next":{"id":"b"}}}`)); err != nil {
		t.Error(err)
	}
	t.Logf("%d bytes: added in %v, first check after %v", len(raw), added, time.Since(start))
	start = time.Now()
	if err := e.CheckInput(json.RawMessage(`{"x":{"id":"a","next":{"id":1}}}`)); err == nil {
		t.Error("a wrong value was taken")
	}
	t.Logf("second check %v; hint %q; declaration %d bytes", time.Since(start), e.InputHint(), len(e.declarationFile()))
}
