package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// oneMetric returns metrics with one column, so that each event has one row.
func oneMetric() *mappingOf[sample] {
	l := metrics()
	l.Table.ID, l.Columns = "metric", l.Columns[:1]
	return l
}

// wantDuplicate checks that an error refuses one event because it differs from another.
func wantDuplicate(t *testing.T, err error, event, earlier int, events []sample) {
	t.Helper()
	assert.Is(t, ErrDuplicate, err)
	duplicate := asError[*DuplicateError](t, err)
	for _, f := range asError[*WriteError](t, err).Failures {
		same(t, []any{event, Refused}, []any{f.Index, f.Outcome})
	}
	same(t, earlier, duplicate.EarlierIndex)
	if earlier >= 0 {
		same(t, []any{events[earlier], events[event]}, []any{duplicate.Earlier, duplicate.Event})
		same(t, [2]time.Time{events[earlier].Time, events[event].Time}, duplicate.Times)
	}
}

// TestEventsInOnePlace writes two events of one place: the second is refused if it differs, unless LastWins is set.
func TestEventsInOnePlace(t *testing.T) {
	for _, base := range []func() *mappingOf[sample]{singles, days, offsets, metrics, oneMetric} {
		for second, differs := range map[*sample]bool{
			{Value: 1}: false, {Value: 2}: true, {Value: 1, Note: []byte("n")}: true,
		} {
			for _, rest := range []time.Duration{0, 999 * time.Microsecond, time.Millisecond} { // some of which is cut off its time
				l := base()
				single := len(l.Columns) == 1
				if single && second.Note != nil {
					continue // it has no note
				}
				second.Series, second.Time = "s", at(60).Add(rest)
				events := []sample{nth(7), {Series: "s", Time: at(60), Value: 1}, nth(8), *second, {Series: "r", Time: at(60), Value: 2}}
				bt := newBigtable(t, l)
				w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(600))
				want, err := []string{"1"}, w.WriteAll(t.Context(), events)
				switch {
				case rest == time.Millisecond || !differs:
					must(t, err)
				case l.Pattern == codec.BucketNewColumns && single: // nothing is replaced
					must(t, err)
					want = []string{"1", "2"}
				default:
					wantDuplicate(t, err, 3, 1, events)
				}
				r := newReaderOf(bt.Client, l, clockAt(600))
				same(t, want, read(t, r, at(60), at(60).Add(time.Millisecond), ReadOptions{}))
				must(t, w.WriteAll(t.Context(), events, WriteOptions{LastWins: true}))
				if rest < time.Millisecond && l.Pattern != codec.BucketNewColumns {
					same(t, []string{sampleText(*second)}, read(t, r, at(60), at(60).Add(time.Millisecond), ReadOptions{}))
				}
			}
		}
	}
}

// TestDuplicatesAmongMany has pairs among events in any order: all but the first of each place are refused.
func TestDuplicatesAmongMany(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, l := range []*mappingOf[sample]{singles(), days(), offsets(), metrics()} {
		w := newWriterOf(faked(tableFunc{
			apply: func(context.Context, string, *bigtable.Mutation) error { return nil },
			bulk:  func(context.Context, []string, []*bigtable.Mutation) ([]error, error) { return nil, nil },
		}), []*mappingOf[sample]{l})
		for range 30 {
			var events []sample
			first, want, got := map[string]sample{}, map[int]sample{}, map[int]sample{}
			for i := range 1 + random.IntN(300) {
				e := sample{Series: fmt.Sprint("s", random.IntN(3)), Time: at(60 * random.IntN(500)), Value: uint64(random.IntN(2))}
				events = append(events, e)
				place := fmt.Sprint(e.Series, e.Time)
				if earlier, taken := first[place]; !taken {
					first[place] = e
				} else if earlier.Value != e.Value {
					want[i] = earlier
				}
			}
			if failed, ok := errors.AsType[*WriteError](w.WriteAll(t.Context(), events)); ok {
				for _, f := range failed.Failures {
					if duplicate, ok := errors.AsType[*DuplicateError](f.Err); ok {
						got[f.Index] = events[duplicate.EarlierIndex]
					}
				}
			}
			same(t, want, got)
		}
	}
}

// TestDuplicateInTheNextRequest compares events of a row that continues in another request.
func TestDuplicateInTheNextRequest(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	var events []sample
	for i := range 5 {
		events = append(events, sample{Series: "s", Time: at(i), Note: make([]byte, 1<<20)})
	}
	events = append(events, sample{Series: "s", Time: at(0), Value: 1}, sample{Series: "s", Time: at(4), Value: 1})
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(600))
	failed := asError[*WriteError](t, w.WriteAll(t.Context(), events)).Failures
	for i, f := range failed {
		wantDuplicate(t, &WriteError{Failures: []Failure{f}}, 5+i, 4*i, events)
	}
	same(t, 2, len(failed))
}

// TestDuplicateInOneTable covers a table with a precision of a second: no table stores what it refuses.
func TestDuplicateInOneTable(t *testing.T) {
	coarse, fine := days(), singles()
	coarse.Precision = time.Second
	bt := newBigtable(t, coarse, fine)
	events := []sample{{Series: "s", Time: at(60), Value: 1}, {Series: "s", Time: at(60).Add(time.Millisecond), Value: 2}}
	mappings := []*mappingOf[sample]{fine, coarse}
	err := newWriterOf(bt.Client, mappings, writeAt(600)).WriteAll(t.Context(), events)
	wantDuplicate(t, err, 1, 0, events)
	for _, l := range mappings {
		same(t, []string{"1"}, read(t, newReaderOf(bt.Client, l, clockAt(600)), at(0), at(600), ReadOptions{}))
	}
}

// TestDuplicatesOfABatcher adds events in one place: Add refuses different ones, even if the clock advances.
func TestDuplicatesOfABatcher(t *testing.T) {
	written := singles()
	written.Table.Families = []Family{{Name: "f.1", Life: codec.Lifetime{Timestamp: codec.TimestampWrite}}}
	for _, l := range []*mappingOf[sample]{singles(), days(), written} {
		for _, lastWins := range []bool{false, true} {
			bt := newBigtable(t, l)
			now := at(600)
			w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, WriterOptions{Now: func() time.Time { now = now.Add(time.Second); return now }})
			b := newBatcherOf(w, func(e sample, err error) { t.Error(e, err) }, BatcherOptions{MaxAge: time.Hour, LastWins: lastWins})
			event := sample{Series: "s", Time: at(60), Value: 1}
			must(t, b.Add(t.Context(), event))
			must(t, b.Add(t.Context(), event))
			must(t, b.Add(t.Context(), nth(3)))
			event.Value = 2
			want := "1"
			switch err := b.Add(t.Context(), event); {
			case lastWins:
				must(t, err)
				want = "2"
			default:
				wantDuplicate(t, err, 0, -1, nil)
			}
			must(t, b.Add(t.Context(), nth(4)))
			must(t, b.Close(t.Context()))
			same(t, []string{want}, read(t, newReaderOf(bt.Client, l, ReaderOptions{Now: func() time.Time { return now }}), at(0), at(600), ReadOptions{}))
		}
	}
}

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

// TestEventsOfSeveralRows covers events that IfAbsent does not support: nothing is sent.
func TestEventsOfSeveralRows(t *testing.T) {
	l, other := metrics(), days()
	bt := newBigtable(t, l, other)
	err := newWriterOf(bt.Client, []*mappingOf[sample]{other, l}, writeAt(60)).WriteAll(t.Context(), []sample{nth(1), nth(2)}, ifAbsent)
	assert.Is(t, ErrSeveralRows, err)
	assert.Contains(t, "bucket_new_columns", err)
	same(t, []Outcome{Refused, Refused}, []Outcome{outcomeAt(err, 0), outcomeAt(err, 1)})
	same(t, map[string]int{}, storedColumnsOf(t, bt.Client, other.Table.ID))
}

// TestEqualEventsIfAbsent writes equal events in one call: they count as one, which is stored or exists.
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

// TestIfAbsentInACall covers a call with different events: they are refused as without IfAbsent.
func TestIfAbsentInACall(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	events := []sample{nth(1), nth(1)}
	events[1].Value = 7
	wantDuplicate(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(60)).WriteAll(t.Context(), events, WriteOptions{IfAbsent: true, LastWins: true}), 1, 0, events)
	o := WriterOptions{Now: writeAt(60).Now, TablePrefix: "other_"}
	err := newWriterOf(bt.Client, []*mappingOf[sample]{l}, o).Write(t.Context(), nth(1), ifAbsent)
	same(t, "other_days", asError[*MissingTableError](t, err).Table)
}

// TestAbsentOfClasses writes two classes of an absent event: they are one event unless classes append columns.
func TestAbsentOfClasses(t *testing.T) {
	for _, l := range []*mappingOf[sample]{classed(singles()), classed(days()), classed(offsets()), classed(oneMetric())} {
		w := newWriterOf(newBigtable(t, l).Client, []*mappingOf[sample]{l}, writeAt(0))
		for i, want := range []bool{false, true, l.Pattern != codec.BucketNewColumns} {
			err := w.Write(t.Context(), sample{Series: "s", Time: at(0), Value: 1, Class: 1 + i/2}, ifAbsent)
			if errors.Is(err, ErrExists) != want || !want && err != nil {
				t.Errorf("%s, write %d: %v", l.Table.ID, i, err)
			}
		}
	}
}
