// Package batcher writes with batchers.
package batcher

import (
	"context"
	"log"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/runtime/store"
)

func logged(e examples.PositionEvent, err error) { log.Print(err) }

func open(ctx context.Context, w *examples.PositionWriter, e examples.PositionEvent) error {
	b := examples.NewPositionBatcher(w, logged)     // want `the batcher is never closed: when the program ends, events that were added last may not be written; call Close`
	other := examples.NewPositionBatcher(w, logged) // want `the batcher is never closed`
	go func() { other.Add(ctx, e) }()
	return b.Add(ctx, e)
}

func closed(ctx context.Context, w *examples.PositionWriter, e examples.PositionEvent) error {
	b := examples.NewPositionBatcher(w, logged)
	defer b.Close(ctx)
	flushed := examples.NewPositionBatcher(w, logged)
	flushed.Add(ctx, e)
	flushed.Flush(ctx)
	later := examples.NewPositionBatcher(w, logged)
	defer func() { log.Print(later.Close(ctx)) }()
	return b.Add(ctx, e)
}

type service struct{ batcher *examples.PositionBatcher }

// The batchers escape.
func escaping(w *examples.PositionWriter) (*examples.PositionBatcher, *service, func(context.Context) error) {
	b, kept, method := examples.NewPositionBatcher(w, logged), examples.NewPositionBatcher(w, logged), examples.NewPositionBatcher(w, logged)
	s := &service{examples.NewPositionBatcher(w, logged)}
	c := examples.NewPositionBatcher(w, logged)
	s.batcher = c
	_ = kept
	stop := method.Close
	return b, s, stop
}

func silent(ctx context.Context, c store.Client, e examples.PositionEvent, failed func(examples.PositionEvent, error)) {
	w := examples.NewPositionWriter(c)
	b := examples.NewPositionBatcher(w, nil)
	b.Add(ctx, e)
	b.Close(ctx) // want `nobody learns which events the batcher has not written: check the error of Close, or pass a function to NewPositionBatcher`

	empty := examples.NewPositionBatcher(examples.NewPositionWriter(c, store.WriterOptions{}), func(examples.PositionEvent, error) {})
	defer empty.Close(ctx) // want `nobody learns which events the batcher has not written`
	_ = empty.Flush(ctx)

	given := examples.NewPositionBatcher(w, failed)
	defer given.Close(ctx)
}

func heard(ctx context.Context, c store.Client, passed *examples.PositionWriter, o store.WriterOptions) error {
	hooked := examples.NewPositionBatcher(examples.NewPositionWriter(c, store.WriterOptions{Hooks: store.Hooks{}}), nil)
	defer hooked.Close(ctx)
	perhaps := examples.NewPositionBatcher(examples.NewPositionWriter(c, o), nil)
	defer perhaps.Close(ctx)
	unknown := examples.NewPositionBatcher(passed, nil)
	defer unknown.Close(ctx)
	w := examples.NewPositionWriter(c)
	checked := examples.NewPositionBatcher(w, nil)
	defer checked.Close(ctx)
	return checked.Flush(ctx)
}
