package host

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// OpenTelemetry: spans for each exec, wait and nested call, and metrics of them, where Options names providers. What
// goes out are names, codes, counts and times; no source, input, output or error text.

// scopeName is the instrumentation scope.
const scopeName = "codemode/host"

// instruments are nil where nothing is observed.
type instruments struct {
	tracer   trace.Tracer
	cells    metric.Int64Counter
	calls    metric.Int64Counter
	cellTime metric.Float64Histogram
	callTime metric.Float64Histogram
	snapshot metric.Int64Histogram
}

func newInstruments(tracers trace.TracerProvider, meters metric.MeterProvider) (*instruments, error) {
	if tracers == nil && meters == nil {
		return nil, nil
	}
	in := &instruments{}
	if tracers != nil {
		in.tracer = tracers.Tracer(scopeName)
	}
	if meters == nil {
		return in, nil
	}
	m := meters.Meter(scopeName)
	var err error
	counter := func(name, what string) metric.Int64Counter {
		c, e := m.Int64Counter(name, metric.WithDescription(what))
		if err == nil {
			err = e
		}
		return c
	}
	seconds := func(name, what string) metric.Float64Histogram {
		h, e := m.Float64Histogram(name, metric.WithDescription(what), metric.WithUnit("s"))
		if err == nil {
			err = e
		}
		return h
	}
	in.cells = counter("codemode.results", "Results of exec and wait")
	in.calls = counter("codemode.calls", "Nested tool calls that ended")
	in.cellTime = seconds("codemode.result.duration", "Time of an exec or a wait")
	in.callTime = seconds("codemode.call.duration", "Time of a nested tool call")
	var e error
	in.snapshot, e = m.Int64Histogram("codemode.snapshot.size", metric.WithDescription("Encoded snapshots of suspended cells"), metric.WithUnit("By"))
	if err == nil {
		err = e
	}
	return in, err
}

// result observes an exec or a wait, named by what; the returned function is given its result.
func (in *instruments) result(ctx context.Context, what string) (context.Context, func(*Result)) {
	if in == nil {
		return ctx, func(*Result) {}
	}
	start := time.Now()
	var span trace.Span
	if in.tracer != nil {
		ctx, span = in.tracer.Start(ctx, "codemode."+what)
	}
	return ctx, func(r *Result) {
		attributes := []attribute.KeyValue{
			attribute.String("codemode.operation", what), attribute.String("codemode.status", string(r.Status)),
		}
		if r.Status == Failed {
			attributes = append(attributes, attribute.String("codemode.code", string(r.Code)), attribute.String("codemode.phase", string(r.FailurePhase)))
		}
		if r.Limit != "" {
			attributes = append(attributes, attribute.String("codemode.limit", r.Limit))
		}
		set := metric.WithAttributes(attributes...)
		if in.cells != nil {
			in.cells.Add(ctx, 1, set)
			in.cellTime.Record(ctx, time.Since(start).Seconds(), set)
			if r.Status == Waiting {
				in.snapshot.Record(ctx, int64(r.Telemetry.Cell.SnapshotBytes))
			}
		}
		if span != nil {
			span.SetAttributes(attributes...)
			span.SetAttributes(attribute.String("codemode.language", string(r.Language)), attribute.Int64("codemode.vm_micros", r.Telemetry.Cell.VMMicros))
			if r.RunID != "" {
				span.SetAttributes(attribute.String("codemode.run", r.RunID))
			}
			if r.Status == Failed {
				span.SetStatus(codes.Error, string(r.Code))
			}
			span.End()
		}
	}
}

// call observes a nested call; the returned function is told how it ended.
func (in *instruments) call(ctx context.Context) (context.Context, func(tool, code string)) {
	if in == nil {
		return ctx, func(string, string) {}
	}
	start := time.Now()
	var span trace.Span
	if in.tracer != nil {
		ctx, span = in.tracer.Start(ctx, "codemode.call")
	}
	return ctx, func(tool, code string) {
		attributes := []attribute.KeyValue{attribute.String("codemode.tool", tool)}
		if code != "" {
			attributes = append(attributes, attribute.String("codemode.code", code))
		}
		set := metric.WithAttributes(attributes...)
		if in.calls != nil {
			in.calls.Add(ctx, 1, set)
			in.callTime.Record(ctx, time.Since(start).Seconds(), set)
		}
		if span != nil {
			span.SetAttributes(attributes...)
			if code != "" {
				span.SetStatus(codes.Error, code)
			}
			span.End()
		}
	}
}
