// Package examples has the parts of generated code that the tests call.
package examples

import (
	"context"
	"iter"
	"time"

	"github.com/btgen-dev/btgen/runtime/store"
)

const PositionsTableID = "positions"

type (
	PositionSeries struct{ Region string }

	PositionEvent struct {
		PositionSeries
		Time     time.Time
		Latitude float64
	}
	PositionWriter  struct{ writer *store.Writer }
	PositionReader  struct{ reader *store.Reader }
	PositionBatcher struct{ batcher *store.Batcher }
)

func NewPositionWriter(client store.Client, opts ...store.WriterOptions) *PositionWriter { return nil }

func (w *PositionWriter) Write(ctx context.Context, event PositionEvent, opts ...store.WriteOptions) error {
	return nil
}

func (w *PositionWriter) WriteAll(ctx context.Context, events []PositionEvent, opts ...store.WriteOptions) error {
	return nil
}

func (w *PositionWriter) DeleteSeries(ctx context.Context, series PositionSeries) (store.Deletion, error) {
	return store.Deletion{}, nil
}

func NewPositionReader(client store.Client) *PositionReader { return nil }

func (r *PositionReader) Read(ctx context.Context, series PositionSeries, from, to time.Time) iter.Seq2[PositionEvent, error] {
	return nil
}

func (r *PositionReader) Latest(ctx context.Context, series PositionSeries) (PositionEvent, error) {
	return PositionEvent{}, nil
}

func NewPositionBatcher(w *PositionWriter, failed func(event PositionEvent, err error), opts ...store.BatcherOptions) *PositionBatcher {
	return nil
}

func (b *PositionBatcher) Add(ctx context.Context, event PositionEvent) error { return nil }

func (b *PositionBatcher) Flush(ctx context.Context) error { return nil }

func (b *PositionBatcher) Close(ctx context.Context) error { return nil }
