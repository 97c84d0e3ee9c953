package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// entryOf registers one tool and returns it.
func entryOf(t testing.TB, tool Tool) *Entry {
	t.Helper()
	if tool.Name == "" {
		tool.Name = "t"
	}
	if tool.Run == nil {
		tool.Run = echo
	}
	c := New(nil)
	if problems := c.Add(tool); problems != nil {
		t.Fatal(problems)
	}
	return c.Snapshot().View(nil).Entries(SurfaceCatalog)[0]
}

func codeAndMessage(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code + ": " + e.Message
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// drafts are declarations under which the same schema must mean the same, whichever library validates it.
var drafts = map[string]string{"draft-07": "http://json-schema.org/draft-07/schema#", "2020-12": "https://json-schema.org/draft/2020-12/schema"}

func declaredAs(draft, schema string) json.RawMessage {
	return json.RawMessage(`{"$schema":"` + draft + `",` + strings.TrimPrefix(schema, "{"))
}

func TestCheckInput(t *testing.T) {
	const file = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"offset":{"type":"integer","minimum":1,"maximum":100},
		"mode":{"enum":["r","w"]},"tags":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true},
		"deep":{"type":"object","properties":{"colour":{"type":"string","pattern":"^#"}},"additionalProperties":false},
		"kind":{"const":"k"},"step":{"multipleOf":0.5,"type":"number","exclusiveMinimum":0}},"required":["path"],"additionalProperties":false}`
	for _, tc := range []struct{ name, input, want string }{
		{"fits", `{"path":"x","offset":3,"mode":"r","tags":["a"],"deep":{"colour":"#f"},"kind":"k","step":1.5}`, ``},
		{"missing", `{}`, `path is required`},
		{"misspelled", `{"pth":"x"}`, `the argument has no property "pth" (did you mean "path"?); path is required`},
		{"misspelled below", `{"path":"x","deep":{"color":"#f"}}`, `deep has no property "color" (did you mean "colour"?)`},
		{"type", `{"path":3}`, `path must be string, not *`},
		{"bound", `{"path":"x","offset":0}`, `offset must be >= 1`},
		{"upper bound", `{"path":"x","offset":101}`, `offset must be <= 100`},
		{"integer", `{"path":"x","offset":1.5}`, `offset must be integer, not *`},
		{"enum", `{"path":"x","mode":"rw"}`, `mode must be one of "r", "w"`},
		{"const", `{"path":"x","kind":"q"}`, `kind must be "k"`},
		{"items", `{"path":"x","tags":["a",1]}`, `tags[1] must be string, not *`},
		{"too many", `{"path":"x","tags":["a","b","c"]}`, `tags must have at most 2 items`},
		{"equal", `{"path":"x","tags":["a","a"]}`, `tags must not have equal items`},
		{"pattern", `{"path":"x","deep":{"colour":"f"}}`, `deep.colour must match ^#`},
		{"length", `{"path":""}`, `path must have at least 1 characters`},
		{"multiple", `{"path":"x","step":0.7}`, `step must be a multiple of 0.5`},
		{"exclusive", `{"path":"x","step":0}`, `step must be > 0`},
		{"not an object", `"x"`, `The argument of "t" must be one object`},
	} {
		for name, draft := range drafts {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				e := entryOf(t, Tool{InputSchema: declaredAs(draft, file)})
				got := codeAndMessage(e.CheckInput(json.RawMessage(tc.input)))
				if tc.want == "" {
					if got != "" {
						t.Errorf("got %s", got)
					}
					return
				}
				got, coded := strings.CutPrefix(got, CodeInputContract+": ")
				got, expected, _ := strings.Cut(got, ". Expected input: ")
				if !coded || expected != e.InputHint()+"." {
					t.Errorf("code %v, expected input %q", coded, expected)
				}
				got = strings.TrimPrefix(got, `The argument of "t" does not fit: `)
				// The libraries differ in whether 3 is a number or an integer.
				got = strings.NewReplacer("not number", "not *", "not integer", "not *").Replace(got)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestCheckInputAlternatives(t *testing.T) {
	const schema = `{"type":"object","properties":{"to":{"anyOf":[{"type":"string"},{"type":"object","properties":{"id":{"type":"number"}},"required":["id"]}]}}}`
	for name, draft := range drafts {
		t.Run(name, func(t *testing.T) {
			e := entryOf(t, Tool{InputSchema: declaredAs(draft, schema)})
			got := codeAndMessage(e.CheckInput(json.RawMessage(`{"to":{"idd":1}}`)))
			if !strings.Contains(got, "to fits none of its alternatives") || !strings.Contains(got, "to.id is required") {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestCheckInputWithoutSchema(t *testing.T) {
	e := entryOf(t, Tool{})
	if err := e.CheckInput(json.RawMessage(`{"any":1}`)); err != nil {
		t.Error(err)
	}
	if err := e.CheckInput(json.RawMessage(`[1]`)); !errors.Is(err, &Error{Code: CodeInputContract}) {
		t.Errorf("an array was taken: %v", err)
	}
	e = entryOf(t, Tool{InputSchema: json.RawMessage(`{"type":["string","object"]}`)})
	if err := e.CheckInput(json.RawMessage(`"x"`)); err != nil {
		t.Errorf("a schema that asks for strings: %v", err)
	}
	// What servers and clients declare, they check themselves.
	m := entryOf(t, Tool{Source: SourceClient, InputSchema: json.RawMessage(`{"required":["x"]}`)})
	if err := m.CheckInput(json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
}

func TestCheckOutput(t *testing.T) {
	const schema = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"kind":{"enum":["a","b"]}},"required":["id"],"additionalProperties":false}}},"additionalProperties":{"type":"number"}}`
	const secret = "hunter2"
	for name, draft := range drafts {
		t.Run(name, func(t *testing.T) {
			e := entryOf(t, Tool{OutputSchema: declaredAs(draft, schema)})
			if err := e.CompileOutput(); err != nil {
				t.Fatal(err)
			}
			if err := e.CheckOutput(json.RawMessage(`{"items":[{"id":1,"kind":"a"}],"n":2}`)); err != nil {
				t.Error(err)
			}
			err := e.CheckOutput(json.RawMessage(`{"items":[{"kind":"hunter2","hunter2":true},{"id":"hunter2"}],"hunter2":"hunter2"}`))
			got := codeAndMessage(err)
			for _, part := range []string{CodeOutputContract, "did run", "items[0].id is required", `items[0].kind must be one of "a", "b"`,
				"items[0] has a property that is not declared", "items[1].id must be integer, not string", "* must be number, not string"} {
				if !strings.Contains(got, part) {
					t.Errorf("the message lacks %q: %s", part, got)
				}
			}
			if strings.Contains(got, secret) {
				t.Errorf("the message shows the value: %s", got)
			}
			if err := e.CheckOutput(nil); !errors.Is(err, &Error{Code: CodeOutputContract}) {
				t.Errorf("no value: %v", err)
			}
			many := strings.Repeat(`{"id":"x"},`, 20)
			got = codeAndMessage(e.CheckOutput(json.RawMessage(`{"items":[` + strings.TrimSuffix(many, ",") + `]}`)))
			if !strings.Contains(got, "; and 15 more") {
				t.Errorf("twenty issues: %s", got)
			}
		})
	}
}

func TestInvalidContract(t *testing.T) {
	// What registration lets pass, the metaschema refuses when the contract is compiled.
	for _, schema := range []string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","minProperties":"many"}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","minProperties":"many"}`,
		`{"anyOf":[{"type":"object"}],"x-codemode-input-discriminator":{"version":2}}`,
		`{"anyOf":[{"type":"object"}],"x-openclaw-input-discriminator":{"version":1,"inputProperty":"a","mapping":{}}}`,
		`{"anyOf":[{"type":"object"}],"x-openclaw-input-discriminator":{"version":1,"inputProperty":"a","mapping":{"x":1}}}`,
	} {
		e := entryOf(t, Tool{OutputSchema: json.RawMessage(schema)})
		got := codeAndMessage(e.CompileOutput())
		if !strings.HasPrefix(got, CodeInvalidContract) || !strings.Contains(got, "did not run") {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

func TestDiscriminatedOutput(t *testing.T) {
	e := entryOf(t, Tool{Name: "box", OutputSchema: json.RawMessage(`{
		"anyOf":[
			{"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/$defs/item"}}},"required":["items"],"additionalProperties":false},
			{"type":"object","properties":{"status":{"type":"string"}},"required":["status"],"additionalProperties":false}],
		"$defs":{"item":{"type":"string"}},
		"x-codemode-input-discriminator":{"version":1,"inputProperty":"action","mapping":{"list":0,"status":1,"1":1}}}`)})
	for _, tc := range []struct {
		name, output string
		inputs       []string
		ok           bool
	}{
		{"list", `{"items":["a"]}`, []string{`{"action":"list"}`}, true},
		{"list with the other's value", `{"status":"up"}`, []string{`{"action":"list"}`}, false},
		{"status", `{"status":"up"}`, []string{`{"action":"status"}`}, true},
		{"number", `{"status":"up"}`, []string{`{"action":1}`}, true},
		{"reference below", `{"items":[1]}`, []string{`{"action":"list"}`}, false},
		{"unmapped input leaves the union", `{"status":"up"}`, []string{`{"action":"?"}`}, true},
		{"no input leaves the union", `{"items":[]}`, nil, true},
		{"hooks changed the action: both must fit", `{"items":[]}`, []string{`{"action":"list"}`, `{"action":"status"}`}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var inputs []json.RawMessage
			for _, in := range tc.inputs {
				inputs = append(inputs, json.RawMessage(in))
			}
			if err := e.CheckOutput(json.RawMessage(tc.output), inputs...); (err == nil) != tc.ok {
				t.Errorf("error %v", err)
			}
		})
	}
	want := `declare function box(input: Record<string, unknown> & { action: "list"; }): Promise<{ items: Array<string>; }>;
declare function box(input: Record<string, unknown> & { action: "1" | "status"; }): Promise<{ status: string; }>;
declare function box(input?: Record<string, unknown>): Promise<{ items: Array<string>; } | { status: string; }>;
`
	if got := e.declarationFile(); !strings.HasSuffix(got, want) {
		t.Errorf("declaration (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func TestReferencesAreNeverFetched(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer server.Close()
	local := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(local, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{server.URL + "/s.json", "file://" + local, local, server.URL + "/s.json#/definitions/a"} {
		for _, draft := range []string{"", `"$schema":"http://json-schema.org/draft-04/schema#",`, `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"https://json-schema.org/draft/2020-12/schema",`} {
			for _, schema := range []string{
				`{"$ref":%q}`, `{"properties":{"a":{"$ref":%q}}}`, `{"$id":"` + server.URL + `/root.json","properties":{"a":{"$ref":%q}}}`,
				`{"id":"` + server.URL + `/root.json","properties":{"a":{"$ref":"s.json"}},"x":%q}`, `{"$dynamicRef":%q}`,
			} {
				raw := []byte("{" + draft + strings.TrimPrefix(fmt.Sprintf(schema, target), "{"))
				v, err := newValidator(raw, SourceHost)
				if err == nil && strings.Contains(schema, `{"$ref"`) {
					t.Errorf("%s was taken", raw)
				}
				if err == nil {
					_, _ = v.check([]byte(`{"a":1}`))
				}
			}
		}
		if _, err := checkSchema([]byte(`{"$schema":`+string(mustMarshal(target))+`}`), SourceHost); err == nil {
			t.Errorf("the dialect %s was taken", target)
		}
	}
	// An id is only a name, and references through it stay inside.
	v, err := newValidator([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"`+server.URL+`/root.json","properties":{"a":{"$ref":"root.json#/definitions/s"},"b":{"$ref":"part.json"}},
		"definitions":{"s":{"type":"string"},"p":{"$id":"part.json","type":"number"}}}`), SourceHost)
	if err != nil {
		t.Fatal(err)
	}
	if issues, err := v.check([]byte(`{"a":"x","b":1}`)); err != nil || issues != nil {
		t.Error(issues, err)
	}
	if issues, err := v.check([]byte(`{"a":1,"b":"x"}`)); err != nil || len(issues) != 2 {
		t.Error(issues, err)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestPatternsThatGoCannotExpress(t *testing.T) {
	c := New(nil)
	problems := c.Add(Tool{Name: "t", Run: echo, InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","pattern":"^(?!bad)"},"y":{"type":"string","pattern":"^\\u0041\\/$"}},
		"patternProperties":{"^(?=z)":{"type":"number"}},"additionalProperties":false}`)})
	if len(problems) != 1 || !problems[0].Kept || !strings.Contains(problems[0].Reason, "is not checked") {
		t.Errorf("problems = %v, want one that keeps the tool", problems)
	}
	e, _ := c.Snapshot().View(nil).Callable("t")
	if err := e.CheckInput(json.RawMessage(`{"x":"bad","y":"A/","zz":"s"}`)); err != nil {
		t.Errorf("look-ahead is not checked, but: %v", err)
	}
	if err := e.CheckInput(json.RawMessage(`{"y":"B/"}`)); err == nil {
		t.Error("a Unicode escape was not checked")
	}
}

func TestNullable(t *testing.T) {
	for name, draft := range drafts {
		e := entryOf(t, Tool{InputSchema: declaredAs(draft, `{"type":"object","properties":{"a":{"type":"string","nullable":true,"enum":["x"]},"b":{"type":"string","nullable":false}}}`)})
		if err := e.CheckInput(json.RawMessage(`{"a":null}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := e.CheckInput(json.RawMessage(`{"b":null}`)); err == nil {
			t.Errorf("%s: null was taken", name)
		}
	}
}

// A guest may send any number of wrong names; looking for what each may have meant is work for the host.
func TestManyWrongNames(t *testing.T) {
	for name, draft := range drafts {
		e := entryOf(t, Tool{InputSchema: declaredAs(draft, `{"type":"object","properties":{"abcdefgh":{}},"additionalProperties":false}`)})
		start := time.Now()
		got := codeAndMessage(e.CheckInput(json.RawMessage(manyProperties(9000))))
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		if !strings.Contains(got, " more. Expected input") || len(got) > 1000 {
			t.Errorf("%s: %d bytes: %.300s", name, len(got), got)
		}
	}
}

func TestFormats(t *testing.T) {
	for name, draft := range drafts {
		e := entryOf(t, Tool{InputSchema: declaredAs(draft, `{"type":"object","properties":{"mail":{"format":"email"},"at":{"format":"date-time"},"to":{"type":"string","format":"uri"}}}`)})
		if err := e.CheckInput(json.RawMessage(`{"mail":"no","at":"never","to":"https://example.com/"}`)); err != nil {
			t.Errorf("%s: formats are annotations: %v", name, err)
		}
		if err := e.CheckInput(json.RawMessage(`{"to":"not a uri"}`)); err == nil {
			t.Errorf("%s: a uri is checked", name)
		}
	}
}

func TestContractsAreSharedByContent(t *testing.T) {
	c := New(nil)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	for i := range 50 {
		c.Add(Tool{Name: fmt.Sprint("t", i), InputSchema: schema, Run: echo})
	}
	for _, e := range c.Snapshot().View(nil).Callables() {
		if err := e.CheckInput(json.RawMessage(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.contracts.byKey); n != 1 {
		t.Errorf("%d compiled schemas for one content", n)
	}
	for i := range maxContracts + 10 {
		if _, err := c.contracts.get([]byte(fmt.Sprintf(`{"maxLength":%d}`, i)), SourceHost); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.contracts.byKey); n != maxContracts {
		t.Errorf("%d compiled schemas are kept, want %d", n, maxContracts)
	}
}

func FuzzSchema(f *testing.F) {
	for _, s := range []string{`{}`, `true`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, doubling(3), `{"enum":[{"a":1},[2],null]}`,
		`{"allOf":[{"properties":{"a":{"const":"*/"}}},{"$ref":"#/$defs/x"}],"$defs":{"x":{"required":["a"]}}}`,
		`{"prefixItems":[{"type":"string"}],"items":false,"minItems":1}`, `{"patternProperties":{"(?=x)":false},"additionalProperties":{"not":{}}}`,
		`{"$dynamicAnchor":"n","properties":{"c":{"items":{"$dynamicRef":"#n"}}}}`} {
		f.Add(s, `{"a":{"a":[1,"x",null]}}`)
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		if len(schema) > 1<<16 || len(value) > 1<<16 {
			return
		}
		for _, source := range []Source{SourceHost, SourceMCP} {
			for _, style := range []tsStyle{inputHintStyle, outputHintStyle} {
				if got, ok := renderHint([]byte(schema), source, style); ok {
					checkTypeText(t, got.text, !style.declaration)
				}
			}
			used := map[string]bool{}
			got := declare([]byte(schema), source, declarationStyle, used)
			checkTypeText(t, got.text, false)
			for _, alias := range got.aliases {
				checkTypeText(t, alias[strings.Index(alias, " = ")+3:], false)
			}
			v, err := newValidator([]byte(schema), source)
			if err != nil || !json.Valid([]byte(value)) {
				continue
			}
			issues, err := v.check([]byte(value))
			if err == nil {
				_ = issueText(issues, 5, v.doc.declaredNames(), "the value", func(path []string, name string) string {
					return nearestOf(name, v.doc.propertiesAt(path))
				})
			}
		}
	})
}
