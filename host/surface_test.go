package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"codemode/catalog"
	"codemode/limits"
	"codemode/transpile"
)

func TestSurface(t *testing.T) {
	c := newTools()
	c.Add(catalog.Tool{Name: "view_image", DirectOnly: true, Run: noRun}, catalog.Tool{Name: "secret", Run: noRun})
	h := newHost(t, c, Options{Policy: catalog.NewPolicy(nil, []string{"secret"}), Limits: limits.Limits{TimeoutMs: 2500}})
	s := h.Surface(SurfaceOptions{Unavailable: []string{"github"}})
	if diff := cmp.Diff([]string{"exec", "wait", "view_image"}, s.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, want := range []string{"add ", "Limits: 3 s, 64 KiB", "Not available now: github."} {
		if !strings.Contains(s.Exec.Description, want) {
			t.Errorf("the description lacks %q:\n%s", want, s.Exec.Description)
		}
	}
	for _, absent := range []string{"secret", "view_image", "MCP"} {
		if strings.Contains(s.Exec.Description, absent) {
			t.Errorf("the description has %q", absent)
		}
	}
	for _, d := range []Definition{s.Exec, s.Wait} {
		var schema struct {
			Type       string
			Properties map[string]map[string]any
		}
		if err := json.Unmarshal(d.InputSchema, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 || !json.Valid(d.OutputSchema) {
			t.Errorf("%s: %v", d.Name, err)
		}
		for name, p := range schema.Properties {
			if p["anyOf"] != nil || p["oneOf"] != nil {
				t.Errorf("%s.%s is not flat", d.Name, name)
			}
		}
	}
	if err := s.Check([]string{"wait", "view_image", "exec"}); err != nil {
		t.Error(err)
	}
	for _, payload := range [][]string{nil, {"exec"}, {"exec", "wait"}, {"exec", "wait", "view_image", "add"}, {"exec", "exec", "wait", "view_image"}} {
		if err := s.Check(payload); err == nil {
			t.Errorf("%v was taken", payload)
		}
	}
}

var noRun catalog.RunFunc = func(context.Context, *catalog.Call) (*catalog.Result, error) { return nil, nil }

func TestTheDescriptionStaysSmall(t *testing.T) {
	c := newTools()
	for i := range 2000 {
		c.Add(catalog.Tool{Name: fmt.Sprintf("tool_number_%d", i), Description: strings.Repeat("d", 500), Run: noRun})
	}
	h := newHost(t, c, Options{})
	if n := len(h.Surface(SurfaceOptions{}).Exec.Description); n > 10_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestConfig(t *testing.T) {
	yes, no := true, false
	for text, want := range map[string]any{
		`true`:                          Config{Enabled: true},
		`false`:                         Config{},
		`null`:                          Config{},
		`{}`:                            Config{},
		`{"timeoutMs": 5}`:              Config{Limits: limits.Limits{TimeoutMs: 5}},
		`{"enabled": true, "fuel": 9}`:  Config{Enabled: true, Limits: limits.Limits{Fuel: 9}},
		`{"languages": ["typescript"]}`: Config{Languages: []transpile.Language{"typescript"}},
		`{"languages": ["typescript", "javascript"]}`: Config{Languages: []transpile.Language{"typescript", "javascript"}},
		`{"keepLast": true, "strictOutput": false}`:   Config{KeepLast: &yes, StrictOutput: &no},
		`"auto"`:                   "true, false or an object",
		`{"timeoutMs": "5"}`:       "whole number",
		`{"timeoutMs": 1.5}`:       "whole number",
		`{"timeoutMs": -1}`:        "whole number",
		`{"enabled": "yes"}`:       "enabled must be true or false",
		`{"strictOutput": null}`:   "strictOutput must be true or false",
		`{"languages": ["cobol"]}`: `no language "cobol"`,
		`{"nope": 1}`:              `no limit "nope"`,
	} {
		var got Config
		err := json.Unmarshal([]byte(text), &got)
		if message, ok := want.(string); ok {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s: %v, want %q", text, err, message)
			}
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func parseConfig(t *testing.T, text string) Config {
	t.Helper()
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfigMerges(t *testing.T) {
	global := parseConfig(t, `{"enabled": true, "timeoutMs": 1000, "maxOutputBytes": 2048, "languages": ["javascript"]}`)
	var o Options
	global.Merge(parseConfig(t, `{"timeoutMs": 3000}`)).Apply(&o)
	if o.Limits.TimeoutMs != 3000 || o.Limits.MaxOutputBytes != 2048 || len(o.Languages) != 1 {
		t.Errorf("%+v", o)
	}
	if active, _ := global.Merge(parseConfig(t, `{"timeoutMs": 3000}`)).Active(AgentRun{}); !active {
		t.Error("an agent's limit turned code mode off")
	}
	if active, _ := global.Merge(parseConfig(t, `false`)).Active(AgentRun{}); active {
		t.Error("an agent could not turn code mode off")
	}
}

func TestActive(t *testing.T) {
	on := parseConfig(t, `true`)
	if active, why := on.Active(AgentRun{}); !active || why != "" {
		t.Error(why)
	}
	reasons := map[string]bool{}
	for _, test := range []struct {
		config Config
		run    AgentRun
	}{
		{Config{}, AgentRun{}},
		{parseConfig(t, `{"timeoutMs": 1}`), AgentRun{}},
		{parseConfig(t, `false`), AgentRun{}},
		{on, AgentRun{Raw: true}},
		{on, AgentRun{DisableTools: true}},
		{on, AgentRun{AllowEmpty: true}},
		{on, AgentRun{MessageOnly: true}},
		{on, AgentRun{ToolSearch: true}},
	} {
		active, why := test.config.Active(test.run)
		if active || why == "" {
			t.Errorf("%+v %+v: active %t, %q", test.config, test.run, active, why)
		}
		reasons[why] = true
	}
	if len(reasons) != 7 {
		t.Errorf("reasons: %v", reasons)
	}
}
