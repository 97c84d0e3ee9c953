package host

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestSpansAndMetrics(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tracers := trace.NewTracerProvider(trace.WithSyncer(spans))
	reader := metric.NewManualReader()
	h := newHost(t, newTools(), Options{Tracers: tracers, Meters: metric.NewMeterProvider(metric.WithReader(reader))})
	r := exec(t, h, `await echo({secret: "hunter2"}); await fail().catch(() => 0); await yield_control(); return 1`)
	h.Wait(t.Context(), Scope{}, WaitInput{r.RunID})
	exec(t, h, `throw new Error("hunter2")`)
	var got []string
	root := map[string]string{}
	for _, s := range spans.GetSpans() {
		line := s.Name
		for _, a := range s.Attributes {
			switch a.Key {
			case "codemode.status", "codemode.code", "codemode.tool":
				line += " " + a.Value.Emit()
			}
			if strings.Contains(a.Value.Emit(), "hunter2") {
				t.Errorf("%s carries what the cell handled: %v", s.Name, a)
			}
		}
		got = append(got, line)
		root[line] = s.SpanContext.TraceID().String()
	}
	slices.Sort(got)
	want := []string{"codemode.call echo", "codemode.call fail tool_error", "codemode.exec failed internal_error", "codemode.exec waiting", "codemode.wait completed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if root["codemode.call echo"] != root["codemode.exec waiting"] {
		t.Error("a call's span is not in the trace of its exec")
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range data.ScopeMetrics[0].Metrics {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"codemode.call.duration", "codemode.calls", "codemode.result.duration", "codemode.results", "codemode.snapshot.size"}, names); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestTrajectory(t *testing.T) {
	var out bytes.Buffer
	h := newHost(t, newTools(), Options{
		Trajectory: WriteTrajectory(&out, nil),
		Redact: func(r *Record) {
			if r.Tool == "add" {
				r.Input, r.Result = nil, json.RawMessage(`"[redacted]"`)
			}
		},
	})
	h.ExecWith(t.Context(), Scope{Session: "s"}, ExecInput{Code: "await echo({v: 1});\nawait add({a: 1, b: 2});\nawait fail().catch(() => 0); await echo({big: 'x'.repeat(10000)})"}, CallOptions{ParentID: "call_1"})
	var got []string
	for line := range strings.Lines(out.String()) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.ParentID != "call_1" || r.Scope.Session != "s" || r.CallID == "" || r.Location == nil || r.EndedAt.Before(r.StartedAt) {
			t.Errorf("%+v", r)
		}
		got = append(got, strings.Join([]string{r.Tool, string(r.Input), string(r.Result), r.Error}, "|"))
	}
	want := []string{`echo|{"v":1}|{"v":1}|`, `add||"[redacted]"|`, `fail|{}||no luck`, `echo|` + string(omitted) + `|{"big":"` + strings.Repeat("x", 10000) + `"}|`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
