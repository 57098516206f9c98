// The tests of package otelstore are here, where a test program links the client anyway.

package weather_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/otelstore"
	"github.com/btgen-dev/btgen/runtime/store"
)

// collected returns the metrics of a reader by name.
func collected(t *testing.T, r *sdkmetric.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	assert.Must(t, r.Collect(t.Context(), &all))
	out := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			out[m.Name] = m
		}
	}
	return out
}

// providers returns options that record in memory.
func providers() (otelstore.Options, *tracetest.SpanRecorder, *sdkmetric.ManualReader) {
	spans, metrics := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	return otelstore.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics)),
	}, spans, metrics
}

// TestHooks checks the spans and metrics of writes and reads, of which one fails.
func TestHooks(t *testing.T) {
	bt := weathertest.New(t)
	o, spans, metrics := providers()
	hooks, err := otelstore.Hooks(otelstore.Options{}, o)
	assert.Must(t, err)
	w := weather.NewBalloonNewCellsWriter(bt.Client, store.WriterOptions{Hooks: hooks})
	now := time.Now()
	event := weather.BalloonNewCellsEvent{BalloonNewCellsSeries: weather.BalloonNewCellsSeries{Location: "us-west2", BalloonID: 3698}, Time: now}
	other := event
	other.Time = now.Add(-time.Hour)
	assert.Must(t, w.WriteAll(t.Context(), []weather.BalloonNewCellsEvent{event, other}))
	if _, err := weather.NewBalloonNewCellsReader(bt.Client, store.ReaderOptions{Hooks: hooks}).Latest(t.Context(), event.BalloonNewCellsSeries); err != nil {
		t.Fatal(err)
	}
	missing := weather.NewBalloonNewCellsReader(bt.Client, store.ReaderOptions{Hooks: hooks, TablePrefix: "no_"})
	if _, err := missing.Latest(t.Context(), event.BalloonNewCellsSeries); err == nil {
		t.Fatal("no error")
	}
	ended := spans.Ended()
	if len(ended) != 3 {
		t.Fatalf("%d spans", len(ended))
	}
	write, found, read := ended[0], ended[1], ended[2]
	if cells, bytes := valueOf(found.Attributes(), "btgen.cells").AsInt64(), valueOf(found.Attributes(), "btgen.bytes").AsInt64(); cells == 0 || bytes <= 8*cells {
		t.Errorf("%d cells, %d bytes", cells, bytes)
	}
	for key, want := range map[attribute.Key]attribute.Value{
		"db.system.name": attribute.StringValue("gcp.bigtable"), "db.collection.name": attribute.StringValue("balloon_new_cells"),
		"db.operation.name": attribute.StringValue("WriteAll"), "btgen.events": attribute.IntValue(2), "btgen.requests": attribute.IntValue(1),
	} {
		if got := valueOf(write.Attributes(), key); got != want {
			t.Errorf("%s: %v instead of %v", key, got, want)
		}
	}
	if write.Name() != "WriteAll balloon_new_cells" || write.SpanKind() != trace.SpanKindClient || write.Status().Code != codes.Unset {
		t.Errorf("write: %s %s %v", write.Name(), write.SpanKind(), write.Status())
	}
	if got := valueOf(read.Attributes(), "error.type").AsString(); read.Status().Code != codes.Error || got != "NotFound" {
		t.Errorf("read: %v, error.type %s", read.Status(), got)
	}
	all := collected(t, metrics)
	durations := all["db.client.operation.duration"].Data.(metricdata.Histogram[float64]).DataPoints
	events := all["btgen.events"].Data.(metricdata.Sum[int64]).DataPoints
	if len(durations) != 3 || len(events) != 3 {
		t.Fatalf("%d durations, %d counts of events", len(durations), len(events))
	}
	for _, d := range durations {
		if d.Count != 1 || d.Sum <= 0 || d.Sum > time.Since(now).Seconds() {
			t.Errorf("%d operations of %f s", d.Count, d.Sum)
		}
	}
	for _, e := range events {
		want := int64(1)
		if op, _ := e.Attributes.Value("db.operation.name"); op.AsString() == "WriteAll" {
			want = 2
		}
		if table, _ := e.Attributes.Value("db.collection.name"); strings.HasPrefix(table.AsString(), "no_") {
			want = 0
		}
		if e.Value != want {
			t.Errorf("%d events of %v", e.Value, e.Attributes.ToSlice())
		}
	}
}

// TestRollupSources checks that the buckets of windows are counted by their source.
func TestRollupSources(t *testing.T) {
	o, spans, metrics := providers()
	hooks, err := otelstore.Hooks(o)
	assert.Must(t, err)
	for _, op := range []store.Operation{
		{Name: "Windows", Table: "t", Runs: 365, Folded: 2, Inexact: 1}, {Name: "Windows", Table: "t", Folded: 3}, {Name: "Read", Table: "t", Events: 5},
	} {
		hooks.End(hooks.Start(t.Context(), op), op, nil)
	}
	for i, want := range []string{"365 2 1", "0 3 0", "<nil> <nil> <nil>"} {
		var got []string
		for _, key := range []attribute.Key{"btgen.rollup.runs", "btgen.rollup.events", "btgen.rollup.inexact"} {
			got = append(got, fmt.Sprint(valueOf(spans.Ended()[i].Attributes(), key).AsInterface()))
		}
		assert.Same(t, want, strings.Join(got, " "), i, got)
	}
	all, got := collected(t, metrics), map[string]int64{}
	for _, name := range []string{"btgen.rollup.buckets", "btgen.rollup.inexact"} {
		for _, p := range all[name].Data.(metricdata.Sum[int64]).DataPoints {
			source, _ := p.Attributes.Value("btgen.rollup.source")
			if op, _ := p.Attributes.Value("db.operation.name"); op.AsString() != "Windows" {
				t.Errorf("%s: %v", name, p.Attributes.ToSlice())
			}
			got[name+" "+source.AsString()] = p.Value
		}
	}
	if want := map[string]int64{"btgen.rollup.buckets run": 365, "btgen.rollup.buckets events": 5, "btgen.rollup.inexact ": 1}; !maps.Equal(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
}

// TestErrorTypes checks that the type of an error has few values.
func TestErrorTypes(t *testing.T) {
	for want, err := range map[string]error{
		"DeadlineExceeded": context.DeadlineExceeded, "Canceled": context.Canceled,
		"*store.RangeError": &store.RangeError{}, "*errors.errorString": errors.New("any"),
	} {
		o, spans, _ := providers()
		hooks, failed := otelstore.Hooks(o)
		assert.Must(t, failed)
		hooks.End(hooks.Start(t.Context(), store.Operation{Name: "Read", Table: "t"}), store.Operation{Name: "Read", Table: "t"}, err)
		assert.Same(t, want, valueOf(spans.Ended()[0].Attributes(), "error.type").AsString(), err)
	}
}

// TestObserve checks the gauges of a batcher.
func TestObserve(t *testing.T) {
	if _, err := otelstore.Observe(nil, "none"); !errors.Is(err, otelstore.ErrNoBatcher) {
		t.Error(err)
	}
	o, _, metrics := providers()
	stats := fixed{Events: 3, Batches: 2, Oldest: 1500 * time.Millisecond}
	registration, err := otelstore.Observe(stats, "ingest", o)
	assert.Must(t, err)
	all := collected(t, metrics)
	for name, want := range map[string]int64{"btgen.batcher.events": 3, "btgen.batcher.batches": 2} {
		p := all[name].Data.(metricdata.Gauge[int64]).DataPoints[0]
		if of, _ := p.Attributes.Value("btgen.batcher.name"); p.Value != want || of.AsString() != "ingest" {
			t.Errorf("%s: %d of %q", name, p.Value, of.AsString())
		}
	}
	if p := all["btgen.batcher.oldest"].Data.(metricdata.Gauge[float64]).DataPoints[0]; p.Value != 1.5 {
		t.Errorf("oldest: %f s", p.Value)
	}
	assert.Must(t, registration.Unregister())
	assert.Same(t, 0, len(collected(t, metrics)), "after Unregister")
}

// fixed is a batcher with fixed statistics.
type fixed store.BatcherStats

func (f fixed) Stats() store.BatcherStats { return store.BatcherStats(f) }

// valueOf returns the value of an attribute.
func valueOf(attributes []attribute.KeyValue, key attribute.Key) attribute.Value {
	set := attribute.NewSet(attributes...)
	v, _ := set.Value(key)
	return v
}

var _ otelstore.Statistics = (*weather.BalloonNewCellsBatcher)(nil)
