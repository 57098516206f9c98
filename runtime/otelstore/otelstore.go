// Package otelstore traces and measures the operations of readers, writers and batchers
// with OpenTelemetry. Pass its hooks in the options of package store:
//
//	hooks, err := otelstore.Hooks()
//	w := weather.NewBalloonWriter(client, store.WriterOptions{Hooks: hooks})
//
// Names follow the [semantic conventions] for database clients. Only programs that
// import this package link OpenTelemetry through it.
//
// [semantic conventions]: https://opentelemetry.io/docs/specs/semconv/database/
package otelstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/store"
)

// scope is the name of the instrumentation scope.
const scope = "github.com/btgen-dev/btgen/runtime/otelstore"

// system is the value of db.system.name. The conventions have none for Bigtable.
const system = "gcp.bigtable"

// Options configure where spans and metrics go. The zero value is valid. If several are
// passed, the last one replaces the others.
type Options struct {
	// TracerProvider provides the tracer; otel.GetTracerProvider() if nil.
	TracerProvider trace.TracerProvider
	// MeterProvider provides the meter; otel.GetMeterProvider() if nil.
	MeterProvider metric.MeterProvider
}

// defaults returns the last of some options with the defaults filled in.
func defaults(opts []Options) Options {
	var o Options
	if len(opts) > 0 {
		o = opts[len(opts)-1]
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	return o
}

// Hooks returns hooks that record, for each operation on a table,
//
//   - a client span named after the operation and the table, such as
//     "WriteAll balloon_buckets", with the attributes db.system.name,
//     db.collection.name, db.operation.name, and btgen.events, btgen.expired,
//     btgen.rows, btgen.cells, btgen.bytes and btgen.requests from [store.Operation], and with
//     btgen.rollup.runs, btgen.rollup.events and btgen.rollup.inexact if it is a read of
//     windows of a table with a rollup: its Runs, Folded and Inexact;
//   - its duration in seconds in the histogram db.client.operation.duration;
//   - the number of its events in the counter btgen.events;
//   - the number of buckets of a table with a rollup whose windows it has read in the counter
//     btgen.rollup.buckets, whose attribute btgen.rollup.source is "run" or "events", and
//     how many of them were inexact in the counter btgen.rollup.inexact.
//
// A failed operation has the attribute error.type and the status of its error. The
// error is that of creating the instruments.
func Hooks(opts ...Options) (store.Hooks, error) {
	o := defaults(opts)
	meter := o.MeterProvider.Meter(scope)
	duration, err := meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of operations on a table."),
		metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10))
	if err != nil {
		return store.Hooks{}, err
	}
	events, err := meter.Int64Counter("btgen.events", metric.WithUnit("{event}"), metric.WithDescription("Events that were written, deleted or read."))
	if err != nil {
		return store.Hooks{}, err
	}
	rollups, err := newRollupCounters(meter)
	if err != nil {
		return store.Hooks{}, err
	}
	tracer := o.TracerProvider.Tracer(scope)
	return store.Hooks{
		Start: func(ctx context.Context, op store.Operation) context.Context {
			ctx, _ = tracer.Start(ctx, op.Name+" "+op.Table, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes(op)...))
			return context.WithValue(ctx, startKey{}, time.Now())
		},
		End: func(ctx context.Context, op store.Operation, err error) {
			span, labels := trace.SpanFromContext(ctx), attributes(op)
			span.SetAttributes(attribute.Int("btgen.events", op.Events), attribute.Int("btgen.expired", op.Expired), attribute.Int("btgen.rows", op.Rows),
				attribute.Int("btgen.cells", op.Cells), attribute.Int("btgen.bytes", op.Bytes), attribute.Int("btgen.requests", op.Requests))
			if op.Runs+op.Folded > 0 {
				span.SetAttributes(attribute.Int("btgen.rollup.runs", op.Runs), attribute.Int("btgen.rollup.events", op.Folded), attribute.Int("btgen.rollup.inexact", op.Inexact))
			}
			if err != nil {
				kind := semconv.ErrorTypeKey.String(errorType(err))
				labels = append(labels, kind)
				span.SetAttributes(kind)
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
			set := metric.WithAttributeSet(attribute.NewSet(labels...))
			if start, ok := ctx.Value(startKey{}).(time.Time); ok {
				duration.Record(ctx, time.Since(start).Seconds(), set)
			}
			events.Add(ctx, int64(op.Events), set)
			rollups.add(ctx, op, labels)
		},
	}, nil
}

// rollupCounters count the buckets of tables with a rollup whose windows were read.
type rollupCounters struct{ buckets, inexact metric.Int64Counter }

func newRollupCounters(meter metric.Meter) (c rollupCounters, err error) {
	c.buckets, err = meter.Int64Counter("btgen.rollup.buckets", metric.WithUnit("{bucket}"), metric.WithDescription("Buckets of rollups whose windows were read, by their source: the rollup, or events."))
	if err != nil {
		return c, err
	}
	c.inexact, err = meter.Int64Counter("btgen.rollup.inexact", metric.WithUnit("{bucket}"), metric.WithDescription("Buckets of rollups whose windows were inexact."))
	return c, err
}

// add counts the buckets of an operation. Operations without any add nothing, so that they have no series of zeros.
func (c rollupCounters) add(ctx context.Context, op store.Operation, labels []attribute.KeyValue) {
	if op.Runs+op.Folded == 0 {
		return
	}
	for source, n := range map[string]int{"run": op.Runs, "events": op.Folded} {
		c.buckets.Add(ctx, int64(n), metric.WithAttributes(labels...), metric.WithAttributes(attribute.String("btgen.rollup.source", source)))
	}
	c.inexact.Add(ctx, int64(op.Inexact), metric.WithAttributes(labels...))
}

// startKey is the context key of the time at which an operation began.
type startKey struct{}

// attributes returns the attributes of all spans and metrics of an operation.
func attributes(op store.Operation) []attribute.KeyValue {
	return []attribute.KeyValue{semconv.DBSystemNameKey.String(system), semconv.DBCollectionName(op.Table), semconv.DBOperationName(op.Name)}
}

// errorType returns the status code of gRPC in an error or, if there is none, the type of
// the error. Both have few values.
func errorType(err error) string {
	var of interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &of):
		return of.GRPCStatus().Code().String()
	case errors.Is(err, context.DeadlineExceeded):
		return "DeadlineExceeded"
	case errors.Is(err, context.Canceled):
		return "Canceled"
	}
	return fmt.Sprintf("%T", err)
}

// ErrNoBatcher is the error of [Observe] for a nil batcher.
var ErrNoBatcher = errors.New("there is no batcher to observe: pass one of a generated constructor")

// Statistics is a batcher; every generated batcher implements it.
type Statistics interface{ Stats() store.BatcherStats }

// Observe reports the statistics of a batcher whenever metrics are collected: the
// gauges btgen.batcher.events, btgen.batcher.batches and, in seconds,
// btgen.batcher.oldest; see [store.BatcherStats]. name is the value of their attribute
// btgen.batcher.name. Unregister the result after the batcher is closed.
func Observe(b Statistics, name string, opts ...Options) (metric.Registration, error) {
	if b == nil {
		return nil, ErrNoBatcher
	}
	meter := defaults(opts).MeterProvider.Meter(scope)
	events, err1 := meter.Int64ObservableGauge("btgen.batcher.events", metric.WithUnit("{event}"), metric.WithDescription("Events that are accepted and not yet written."))
	batches, err2 := meter.Int64ObservableGauge("btgen.batcher.batches", metric.WithUnit("{batch}"), metric.WithDescription("Batches in progress."))
	oldest, err3 := meter.Float64ObservableGauge("btgen.batcher.oldest", metric.WithUnit("s"), metric.WithDescription("Age of the oldest event that is not yet written."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	set := metric.WithAttributes(attribute.String("btgen.batcher.name", name))
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := b.Stats()
		o.ObserveInt64(events, int64(s.Events), set)
		o.ObserveInt64(batches, int64(s.Batches), set)
		o.ObserveFloat64(oldest, s.Oldest.Seconds(), set)
		return nil
	}, events, batches, oldest)
}
