package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// ifAbsent writes only events that are absent.
var ifAbsent = WriteOptions{IfAbsent: true}

// outcomeAt returns the outcome of an event; -1 if it has not failed.
func outcomeAt(err error, event int) Outcome {
	var failed *WriteError
	if errors.As(err, &failed) {
		for _, f := range failed.Failures {
			if f.Index == event {
				return f.Outcome
			}
		}
	}
	return -1
}

// TestEventsOfSeveralRows covers events that IfAbsent does not support: nothing is
// sent.
func TestEventsOfSeveralRows(t *testing.T) {
	l, other := metrics(), days()
	bt := newBigtable(t, l, other)
	err := newWriterOf(bt.Client, []*mappingOf[sample]{other, l}, writeAt(60)).WriteAll(t.Context(), []sample{nth(1), nth(2)}, ifAbsent)
	if !errors.Is(err, ErrSeveralRows) || !strings.Contains(err.Error(), "bucket_new_columns") || outcomeAt(err, 0) != Refused || outcomeAt(err, 1) != Refused {
		t.Error(err)
	}
	same(t, map[string]int{}, storedColumnsOf(t, bt.Client, other.Table.ID))
}

// TestOneWriterWins writes different events to the same place concurrently.
func TestOneWriterWins(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(60))
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			err := w.Write(t.Context(), sample{Series: "s", Time: at(1), Value: uint64(100 + i)}, ifAbsent)
			switch {
			case err == nil:
				won.Add(int64(100 + i))
			case !errors.Is(err, ErrExists):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := collect(t.Context(), newReaderOf(bt.Client, l, clockAt(60)), "s", at(0), at(60))
	must(t, err)
	same(t, []sample{{Series: "s", Time: at(1), Value: uint64(won.Load())}}, got)
}

// TestEqualEventsIfAbsent writes equal events in one call: they count as one event,
// which is stored or exists.
func TestEqualEventsIfAbsent(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), offsets(), oneMetric()} {
		bt := newBigtable(t, l)
		requests := 0
		o := writeAt(60)
		o.Hooks.End = func(_ context.Context, op Operation, _ error) { requests = op.Requests }
		w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, o)
		events := []sample{nth(1), nth(2), nth(1), nth(1)}
		must(t, w.WriteAll(t.Context(), events, ifAbsent))
		same(t, 2, requests)
		err := w.WriteAll(t.Context(), append(events, nth(3)), ifAbsent)
		same(t, []Outcome{Exists, Exists, Exists, Exists, -1}, []Outcome{outcomeAt(err, 0), outcomeAt(err, 1), outcomeAt(err, 2), outcomeAt(err, 3), outcomeAt(err, 4)})
	}
}

// TestIfAbsentInACall covers a call with different events: they are refused as without
// IfAbsent.
func TestIfAbsentInACall(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	events := []sample{nth(1), nth(1)}
	events[1].Value = 7
	wantDuplicate(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(60)).WriteAll(t.Context(), events, WriteOptions{IfAbsent: true, LastWins: true}), 1, 0, events)
	var missing *MissingTableError
	err := newWriterOf(bt.Client, []*mappingOf[sample]{l}, WriterOptions{Now: writeAt(60).Now, TablePrefix: "other_"}).Write(t.Context(), nth(1), ifAbsent)
	if !errors.As(err, &missing) || missing.Table != "other_days" {
		t.Error(err)
	}
}

// TestAbsentOfClasses writes two classes of an event if it is absent: they are the same event, but where each class appends its own
// columns.
func TestAbsentOfClasses(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), offsets(), oneMetric()} {
		l.Table.Families = classFamilies()
		of := mortals(l)
		w := newWriterOf(serve(t, of).Client, []*mappingOf[mortal]{of}, WriterOptions{Now: func() time.Time { return at(0) }})
		for i, want := range []bool{false, true, l.Pattern != codec.BucketNewColumns} {
			err := w.Write(t.Context(), mortal{sample: sample{Series: "s", Time: at(0), Value: 1}, Class: 1 + i/2}, ifAbsent)
			if errors.Is(err, ErrExists) != want || !want && err != nil {
				t.Errorf("%s, write %d: %v", l.Table.ID, i, err)
			}
		}
	}
}
