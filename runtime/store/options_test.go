package store

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestLastOptionsReplaceOthers passes options and then the zero value, which resets all of them.
func TestLastOptionsReplaceOthers(t *testing.T) {
	l := days()
	l.Table.Families = []Family{aged("f.1", time.Hour)}
	bt := newBigtable(t, l)
	calls := 0
	hooks := Hooks{End: func(context.Context, Operation, error) { calls++ }}
	long := func() time.Time { return at(86400) }
	now := time.Now().Truncate(time.Minute)
	first := sample{Series: "s", Time: now.Add(-2 * time.Minute), Value: 1}
	second := sample{Series: "s", Time: now.Add(-time.Minute), Value: 2}

	w := newWriterOf(bt.Client, []*mappingOf[sample]{l},
		WriterOptions{TablePrefix: "other_", Now: long, Timeout: time.Nanosecond, SkipExpired: true, Hooks: hooks}, WriterOptions{})
	must(t, w.WriteAll(t.Context(), []sample{first, second}))
	changed := first
	changed.Value = 3
	twice := []sample{first, changed}
	wantDuplicate(t, w.WriteAll(t.Context(), twice, WriteOptions{LastWins: true}, WriteOptions{}), 1, 0, twice)
	must(t, w.Write(t.Context(), first, WriteOptions{IfAbsent: true}, WriteOptions{}))
	same(t, Refused, outcomeAt(w.Write(t.Context(), sample{Series: "s", Time: at(0)}), 0)) // it has expired

	r := newReaderOf(bt.Client, l, ReaderOptions{TablePrefix: "other_", Now: long, Timeout: time.Nanosecond, Hooks: hooks}, ReaderOptions{})
	everything := ReadOptions{NewestFirst: true, Limit: 1, TimeOrder: true, LatestOnly: true, Fields: []Field{}}
	same(t, []string{"1", "2"}, made(t, r.Read(t.Context(), seriesOf(sample{Series: "s"}), time.Time{}, now, everything, ReadOptions{}), sampleText))
	same(t, 0, calls)

	b := newBatcherOf(w, nil, BatcherOptions{MaxEvents: 1, MaxBytes: 1, MaxAge: time.Hour, MaxConcurrentBatches: 1, LastWins: true}, BatcherOptions{})
	same(t, BatcherOptions{MaxEvents: DefaultMaxEvents, MaxBytes: DefaultMaxBytes, MaxAge: DefaultMaxAge, MaxConcurrentBatches: DefaultMaxConcurrentBatches}, b.Batcher.options)
}

// TestNegativeOptions checks which values disable a limit, and that meaningless values do no harm.
func TestNegativeOptions(t *testing.T) {
	off := batcherOptions([]BatcherOptions{{MaxEvents: NoMaxEvents, MaxBytes: 100, MaxAge: NoTimeout}})
	same(t, BatcherOptions{MaxEvents: 100, MaxBytes: 100, MaxAge: NoTimeout, MaxConcurrentBatches: DefaultMaxConcurrentBatches}, off)
	odd := batcherOptions([]BatcherOptions{{MaxBytes: -5, MaxConcurrentBatches: -5}})
	same(t, BatcherOptions{MaxEvents: DefaultMaxEvents, MaxBytes: 1, MaxAge: DefaultMaxAge, MaxConcurrentBatches: 1}, odd)
	if o := writerOptions([]WriterOptions{{Timeout: NoTimeout, Parallelism: -5}}); o.Timeout >= 0 || o.Parallelism != 1 {
		t.Errorf("%+v", o)
	}
	if o := readerOptions([]ReaderOptions{{Timeout: NoTimeout}}); o.Timeout >= 0 {
		t.Errorf("%+v", o)
	}
}

// TestNegativeLimit: every read refuses a negative limit, and sends no request.
func TestNegativeLimit(t *testing.T) {
	l, q, base := days(), everywhere(days()), sample{Series: "s"}
	from, to, columns := time.Time{}, at(86400), sampleColumns{}
	r := newReaderOf(noTables{}, l)
	for _, o := range []ReadOptions{
		{}, {NewestFirst: true}, {LatestOnly: true}, {TimeOrder: true}, {Fields: []Field{}}, {Page: &Page{Size: 1}},
	} {
		o.Limit = -1
		for name, events := range map[string]iter.Seq2[sample, error]{
			"of a series":    r.Read(t.Context(), seriesOf(base), from, to, o),
			"of several":     r.Read(t.Context(), manySeriesOf([]sample{base}), from, to, o),
			"of a query":     readOf(t.Context(), r, q, seriesOf(base), from, to, o),
			"of a range":     readOf(t.Context(), r, q, Selection{Low: []any{&base}, High: []any{&base}}, from, to, o),
			"of some values": readOf(t.Context(), r, q, manySeriesOf([]sample{base}), from, to, o),
			"of columns": func(yield func(sample, error) bool) {
				yield(sample{}, readColumns(t.Context(), r, intoColumns(l.untyped()), &columns, seriesOf(base), from, to, o))
			},
		} {
			n := 0
			for _, err := range events {
				n++
				asError[*OptionsError](t, err, name)
			}
			same(t, 1, n)
		}
	}
}

// TestUnknownFieldOfNothing: a read refuses a field that the table does not have, also if no values are given.
func TestUnknownFieldOfNothing(t *testing.T) {
	r, o := newReaderOf(noTables{}, days()), ReadOptions{Fields: []Field{"none"}}
	for _, of := range []Selection{seriesOf(sample{Series: "s"}), manySeriesOf([]sample{})} {
		assert.Is(t, ErrNoField, firstError(r.Read(t.Context(), of, at(0), at(1), o)))
	}
}

// TestBatcherWithoutLimits adds events to a batcher that sends on Flush alone. Its memory is bounded by MaxBytes.
func TestBatcherWithoutLimits(t *testing.T) {
	g := openedGate()
	b := newBatcherOf(g.writer(), nil, BatcherOptions{MaxEvents: NoMaxEvents, MaxAge: NoTimeout})
	for i := range DefaultMaxEvents + 1 {
		must(t, b.Add(t.Context(), nth(i)))
	}
	same(t, 0, g.requests())
	must(t, b.Close(t.Context()))
	same(t, true, g.requests() > 0)
	b = newBatcherOf(g.writer(), nil, BatcherOptions{MaxEvents: NoMaxEvents, MaxBytes: 1000, MaxAge: NoTimeout})
	for range 5000 {
		must(t, b.Add(t.Context(), nth(1))) // equal events take no more bytes
		must(t, b.Batcher.acquire(t.Context()))
		if b.Batcher.open != nil && b.Batcher.open.events.len() > 1000 {
			t.Fatalf("%d events are held", b.Batcher.open.events.len())
		}
		b.Batcher.release()
	}
	must(t, b.Close(t.Context()))
}
