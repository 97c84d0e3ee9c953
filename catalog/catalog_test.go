package catalog

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func echo(_ context.Context, c *Call) (*Result, error) { return &Result{Value: c.Input}, nil }

func TestLoadFileAndRun(t *testing.T) {
	tools, problems, err := LoadFile("testdata/tools.json")
	if err != nil || problems != nil {
		t.Fatal(err, problems)
	}
	c := New(nil)
	if p := c.Add(tools...); p != nil {
		t.Fatal(p)
	}
	v := c.Snapshot().View(nil)
	e, err := v.Lookup("host:core:shout")
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), &Call{Input: json.RawMessage(`{"text":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"TEXT":"X"}`, string(r.Value)); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}
