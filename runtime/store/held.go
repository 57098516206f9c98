package store

import (
	"context"
	"iter"
	"time"
)

// Generated types hold a Writer, a Batcher and a Reader by the interfaces of this file,
// and the functions of generated code that call generic ones are not inlined. The compiler
// otherwise compiles all methods of a generic type again in each package that sees it,
// for instance as a field of what another package exports: a second for each schema in
// every package that uses generated code, and in the tests of it.

// WriterOf is a *Writer.
type WriterOf[E any] interface {
	Write(ctx context.Context, event E, opts ...WriteOptions) error
	WriteAll(ctx context.Context, events []E, opts ...WriteOptions) error
}

// BatcherOf is a *Batcher.
type BatcherOf[E any] interface {
	Add(ctx context.Context, event E) error
	Flush(ctx context.Context) error
	Close(ctx context.Context) error
}

// ReaderOf is a *Reader.
type ReaderOf[E any] interface {
	Read(ctx context.Context, base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]
	Query(ctx context.Context, q *Query[E], base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]
	Latest(ctx context.Context, base E) (E, error)
}
