package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// ifAbsent writes only events that are absent.
var ifAbsent = WriteOptions{IfAbsent: true}

// failuresOf returns the outcomes in an error, by event and table.
func failuresOf(t *testing.T, err error) (out []string) {
	t.Helper()
	var failed *WriteError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if failed != nil {
		for _, f := range failed.Failures {
			out = append(out, f.Table+" "+f.Row+" "+f.Outcome.String())
			if (f.Outcome == Exists) != errors.Is(f.Err, ErrExists) {
				t.Error(f)
			}
		}
	}
	return out
}

// TestWriteIfAbsent writes events whose place is already taken: the stored events stay.
// Events in other places, in the same row or not, have no effect.
func TestWriteIfAbsent(t *testing.T) {
	for _, l := range []*Mapping[sample]{singles(), days(), offsets(), oneMetric()} {
		bt := newBigtable(t, l)
		w := NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*2))
		var events []sample
		n := 30
		if l.Pattern == codec.BucketOffsets {
			n = testlong.Pick(130, 300) // offsets with every character, or every byte
		}
		for i := range n {
			events = append(events, sample{Series: "s", Time: at(i), Value: uint64(i)})
		}
		must(t, w.WriteAll(t.Context(), events, ifAbsent))
		for _, other := range []sample{
			{Series: "s", Time: at(5).Add(time.Millisecond), Value: 1000}, {Series: "s", Time: at(5).Add(-time.Millisecond), Value: 1001},
			{Series: "s", Time: at(86400), Value: 1002}, {Series: "r", Time: at(5), Value: 1003},
		} {
			must(t, w.Write(t.Context(), other, ifAbsent))
		}
		for i := range events {
			events[i].Value += 5000
		}
		events = append(events, sample{Series: "s", Time: at(1000), Value: 6000})
		err := w.WriteAll(t.Context(), events, ifAbsent)
		same(t, n, len(failuresOf(t, err)))
		if !errors.Is(err, ErrExists) || outcomeAt(err, n) >= 0 || outcomeAt(err, 17) != Exists {
			t.Error(err)
		}
		var want []string
		for i := range n {
			want = append(want, sampleText(sample{Value: uint64(i)}))
		}
		want = slices.Insert(want, 6, "1000")
		want = slices.Insert(want, 5, "1001")
		same(t, append(want, "6000"), read(t, NewReader(bt.Client, l, clockAt(86400*2)), at(0), at(86400), ReadOptions{}))
	}
}

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

// TestExpiredEventsAreAbsent writes events in the places of events that have expired
// but are not garbage-collected: by their expiry, by the age of their class or write
// time, or by rank.
func TestExpiredEventsAreAbsent(t *testing.T) {
	expires := expiring()
	written := singles()
	rule := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Hour}
	written.Table.Families = []Family{{Name: "f.1", GC: rule, Life: codec.Lifetime{Timestamp: codec.TimestampWrite, Retention: rule.Retention(0)}}}
	ranked := days()
	ranked.Table.Families = []Family{oldAndMany("f.1", 2)}
	now := 0
	clock := func() time.Time { return at(now) }
	for _, tt := range []struct {
		mapping       *Mapping[sample]
		first, second sample
		dead          int // the first event has expired from here on
		newer         []sample
	}{
		{expires, sample{Value: 100}, sample{Value: 9000}, 101, nil},
		{written, sample{Value: 1}, sample{Value: 2}, 3602, nil},
		{ranked, sample{Value: 1}, sample{Value: 2}, 86000, []sample{{Series: "s", Time: at(80), Value: 8}, {Series: "s", Time: at(90), Value: 9}}},
	} {
		l := tt.mapping
		bt := newBigtable(t, l)
		w := NewWriter(bt.Client, []*Mapping[sample]{l}, WriterOptions{Now: clock})
		now = 1
		tt.first.Series, tt.first.Time, tt.second.Series, tt.second.Time = "s", at(1), "s", at(1)
		must(t, w.WriteAll(t.Context(), append(tt.newer, tt.first), ifAbsent))
		now = tt.dead - 2
		if tt.newer == nil {
			same(t, 1, len(failuresOf(t, w.Write(t.Context(), tt.second, ifAbsent))))
		}
		now = tt.dead
		must(t, w.Write(t.Context(), tt.second, ifAbsent))
		if tt.newer == nil { // else the rank is the same
			same(t, []string{sampleText(tt.second)}, read(t, NewReader(bt.Client, l, ReaderOptions{Now: clock}), at(0), at(60), ReadOptions{}))
		}
	}
}

// TestOtherClassesExist covers an event of another class, which has the same place
// while it is live, except in bucket_new_columns, where it is another event.
func TestOtherClassesExist(t *testing.T) {
	for _, base := range []*Mapping[sample]{singles(), days(), offsets(), oneMetric()} {
		base.Table.Families = classFamilies()
		l := mortals(base)
		bt := serve(t, l)
		now := at(0)
		w := NewWriter(bt.Client, []*Mapping[mortal]{l}, WriterOptions{Now: func() time.Time { return now }})
		event := func(class int) mortal {
			return mortal{sample: sample{Series: "s", Time: at(0), Value: 1}, Class: class}
		}
		must(t, w.Write(t.Context(), event(1), ifAbsent))
		same(t, 1, len(failuresOf(t, w.Write(t.Context(), event(1), ifAbsent))))
		if base.Pattern == codec.BucketNewColumns {
			must(t, w.Write(t.Context(), event(2), ifAbsent))
			continue
		}
		same(t, 1, len(failuresOf(t, w.Write(t.Context(), event(2), ifAbsent))))
		now = now.Add(2 * time.Hour) // the first has expired
		must(t, w.Write(t.Context(), event(2), ifAbsent))
		same(t, 1, len(failuresOf(t, w.Write(t.Context(), event(2), ifAbsent))))
	}
}

// TestEventsOfSeveralRows covers events that IfAbsent does not support: nothing is
// sent.
func TestEventsOfSeveralRows(t *testing.T) {
	l, other := metrics(), days()
	bt := newBigtable(t, l, other)
	err := NewWriter(bt.Client, []*Mapping[sample]{other, l}, writeAt(60)).WriteAll(t.Context(), []sample{nth(1), nth(2)}, ifAbsent)
	if !errors.Is(err, ErrSeveralRows) || !strings.Contains(err.Error(), "bucket_new_columns") || outcomeAt(err, 0) != Refused || outcomeAt(err, 1) != Refused {
		t.Error(err)
	}
	same(t, map[string]int{}, columnsOf(t, bt.Client, other.Table.ID))
}

// TestLostReplyIfAbsent loses the reply for a stored event: its outcome is Unknown, and
// the next attempt finds it.
func TestLostReplyIfAbsent(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	calls := 0
	lossy := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return conditional{api, func(apply func() error) error {
			calls++
			err := apply()
			if calls == 1 {
				return status.Error(codes.Unavailable, "lost")
			}
			return err
		}}
	}}
	w := NewWriter(lossy, []*Mapping[sample]{l}, writeAt(60))
	same(t, []string{"days s1#2021-03-05 unknown"}, failuresOf(t, w.Write(t.Context(), nth(1), ifAbsent)))
	same(t, []string{"days s1#2021-03-05 exists"}, failuresOf(t, w.Write(t.Context(), nth(1), ifAbsent)))
	same(t, 2, calls)
}

// conditional is a table with conditional writes that a test intercepts.
type conditional struct {
	bigtable.TableAPI
	through func(apply func() error) error
}

func (c conditional) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	return c.through(func() error { return c.TableAPI.Apply(ctx, row, m, opts...) })
}

// TestTablesAreCheckedSeparately covers an event in one of two tables, as after a crash
// of a writer between them: the other table gets it.
func TestTablesAreCheckedSeparately(t *testing.T) {
	one, other := days(), singles()
	bt := newBigtable(t, one, other)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{one}, writeAt(60)).Write(t.Context(), nth(1)))
	err := NewWriter(bt.Client, []*Mapping[sample]{one, other}, writeAt(60)).Write(t.Context(), nth(1), ifAbsent)
	same(t, []string{"days s1#2021-03-05 exists"}, failuresOf(t, err))
	for _, l := range []*Mapping[sample]{one, other} {
		got, err := collect(t.Context(), NewReader(bt.Client, l, clockAt(60)), "s1", at(0), at(60))
		must(t, err)
		same(t, []sample{nth(1)}, got)
	}
}

// TestOneWriterWins writes different events to the same place concurrently.
func TestOneWriterWins(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	w := NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(60))
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
	got, err := collect(t.Context(), NewReader(bt.Client, l, clockAt(60)), "s", at(0), at(60))
	must(t, err)
	same(t, []sample{{Series: "s", Time: at(1), Value: uint64(won.Load())}}, got)
}

// TestEqualEventsIfAbsent writes equal events in one call: they count as one event,
// which is stored or exists.
func TestEqualEventsIfAbsent(t *testing.T) {
	for _, l := range []*Mapping[sample]{singles(), days(), offsets(), oneMetric()} {
		bt := newBigtable(t, l)
		requests := 0
		o := writeAt(60)
		o.Hooks.End = func(_ context.Context, op Operation, _ error) { requests = op.Requests }
		w := NewWriter(bt.Client, []*Mapping[sample]{l}, o)
		events := []sample{nth(1), nth(2), nth(1), nth(1)}
		must(t, w.WriteAll(t.Context(), events, ifAbsent))
		same(t, 2, requests)
		err := w.WriteAll(t.Context(), append(events, nth(3)), ifAbsent)
		same(t, []Outcome{Exists, Exists, Exists, Exists, -1}, []Outcome{outcomeAt(err, 0), outcomeAt(err, 1), outcomeAt(err, 2), outcomeAt(err, 3), outcomeAt(err, 4)})
	}
}

// TestDifferingEventsIfAbsent writes two different events to a place: the second is
// refused.
func TestDifferingEventsIfAbsent(t *testing.T) {
	l := oneMetric()
	bt := newBigtable(t, l)
	events := []sample{{Series: "s", Time: at(1), Value: 1}, {Series: "s", Time: at(1), Value: 2}}
	wantDuplicate(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(60)).WriteAll(t.Context(), events, ifAbsent), 1, 0, events)
}

// TestIfAbsentInACall covers a call with different events: they are refused as without
// IfAbsent.
func TestIfAbsentInACall(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	events := []sample{nth(1), nth(1)}
	events[1].Value = 7
	wantDuplicate(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(60)).WriteAll(t.Context(), events, WriteOptions{IfAbsent: true, LastWins: true}), 1, 0, events)
	var missing *MissingTableError
	err := NewWriter(bt.Client, []*Mapping[sample]{l}, WriterOptions{Now: writeAt(60).Now, TablePrefix: "other_"}).Write(t.Context(), nth(1), ifAbsent)
	if !errors.As(err, &missing) || missing.Table != "other_days" {
		t.Error(err)
	}
}
