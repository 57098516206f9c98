package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// oneMetric returns metrics with one column, so that each event has one row.
func oneMetric() *Mapping[sample] {
	l := metrics()
	l.Table.ID, l.Columns = "metric", l.Columns[:1]
	return l
}

// wantDuplicate checks that an error refuses one event because it differs from another.
func wantDuplicate(t *testing.T, err error, event, earlier int, events []sample) {
	t.Helper()
	var failed *WriteError
	var duplicate *DuplicateError
	if !errors.As(err, &failed) || !errors.Is(err, ErrDuplicate) || !errors.As(err, &duplicate) {
		t.Errorf("got %v", err)
		return
	}
	for _, f := range failed.Failures {
		if f.Index != event || f.Outcome != Refused {
			t.Errorf("%v", f)
		}
	}
	same(t, earlier, duplicate.EarlierIndex)
	if earlier >= 0 {
		same(t, []any{events[earlier], events[event]}, []any{duplicate.Earlier, duplicate.Event})
		same(t, [2]time.Time{events[earlier].Time, events[event].Time}, duplicate.Times)
	}
}

// TestEventsInOnePlace writes events of the same series and time in one call. The
// second is refused if it differs from the first, unless LastWins is set. Equal events
// count as one.
func TestEventsInOnePlace(t *testing.T) {
	for _, base := range []func() *Mapping[sample]{singles, days, offsets, metrics, oneMetric} {
		for _, tt := range []struct {
			name    string
			second  sample
			differs bool
		}{
			{"equal", sample{Series: "s", Time: at(60), Value: 1}, false},
			{"equal but for what is cut off its time", sample{Series: "s", Time: at(60).Add(999 * time.Microsecond), Value: 1}, false},
			{"another value", sample{Series: "s", Time: at(60).Add(time.Microsecond), Value: 2}, true},
			{"a note more", sample{Series: "s", Time: at(60), Value: 1, Note: []byte("n")}, true},
			{"another time", sample{Series: "s", Time: at(60).Add(time.Millisecond), Value: 2}, false},
			{"another series", sample{Series: "r", Time: at(60), Value: 2}, false},
		} {
			l := base()
			single := len(l.Columns) == 1
			if single && tt.second.Note != nil {
				continue // it has no note
			}
			first := sample{Series: "s", Time: at(60), Value: 1}
			events := []sample{nth(7), first, nth(8), tt.second}
			bt := newBigtable(t, l)
			w := NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(600))
			err := w.WriteAll(t.Context(), events)
			got := read(t, NewReader(bt.Client, l, clockAt(600)), at(60), at(60).Add(time.Millisecond), ReadOptions{})
			switch {
			case tt.differs && l.Pattern == codec.BucketNewColumns && single: // nothing is replaced
				must(t, err)
				same(t, []string{"1", "2"}, got)
			case tt.differs:
				wantDuplicate(t, err, 3, 1, events)
				same(t, []string{"1"}, got)
			default:
				must(t, err)
				same(t, []string{"1"}, got)
			}
			must(t, w.WriteAll(t.Context(), events, WriteOptions{LastWins: true}))
			if got := read(t, NewReader(bt.Client, l, clockAt(600)), at(60), at(60).Add(time.Millisecond), ReadOptions{}); tt.differs && l.Pattern != codec.BucketNewColumns {
				same(t, []string{sampleText(tt.second)}, got)
			}
		}
	}
}

// TestDuplicatesAmongMany has pairs among events in any order and in rows of any size.
// All but the first of each place are refused.
func TestDuplicatesAmongMany(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, l := range []*Mapping[sample]{singles(), days(), offsets(), metrics()} {
		for range 30 {
			var events []sample
			first := map[string]int{}
			want := map[int]int{}
			for i := range 1 + random.IntN(300) {
				e := sample{Series: fmt.Sprint("s", random.IntN(3)), Time: at(60 * random.IntN(500)), Value: uint64(random.IntN(2))}
				events = append(events, e)
				place := fmt.Sprint(e.Series, e.Time)
				earlier, taken := first[place]
				switch {
				case !taken:
					first[place] = i
				case events[earlier].Value != e.Value:
					want[i] = earlier
				}
			}
			client := faked(tableFunc{
				apply: func(context.Context, string, *bigtable.Mutation) error { return nil },
				bulk:  func(context.Context, []string, []*bigtable.Mutation) ([]error, error) { return nil, nil },
			})
			got := map[int]int{}
			var failed *WriteError
			if err := NewWriter(client, []*Mapping[sample]{l}).WriteAll(t.Context(), events); errors.As(err, &failed) {
				for _, f := range failed.Failures {
					var duplicate *DuplicateError
					if errors.As(f.Err, &duplicate) {
						got[f.Index] = duplicate.EarlierIndex
					}
				}
			}
			same(t, len(want), len(got))
			for event, earlier := range want {
				if n, found := got[event]; !found || !events[n].Time.Equal(events[earlier].Time) || events[n].Value != events[earlier].Value {
					t.Fatalf("%s: event %d differs from event %d, and got %d, %v", l.Table.ID, event, earlier, n, found)
				}
			}
		}
	}
}

// TestDuplicateInTheNextRequest writes so many events to a row that it continues in
// another request. They must still be compared.
func TestDuplicateInTheNextRequest(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	var events []sample
	for i := range 5 {
		events = append(events, sample{Series: "s", Time: at(i), Note: make([]byte, 1<<20)})
	}
	events = append(events, sample{Series: "s", Time: at(0), Value: 1}, sample{Series: "s", Time: at(4), Value: 1})
	var failed *WriteError
	if err := NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(600)).WriteAll(t.Context(), events); !errors.As(err, &failed) || len(failed.Failures) != 2 {
		t.Fatalf("%v", err)
	}
	for i, f := range failed.Failures {
		wantDuplicate(t, &WriteError{Failures: []Failure{f}}, 5+i, 4*i, events)
	}
}

// TestDuplicateInOneTable covers a table with a precision of a second: no table stores
// what it refuses.
func TestDuplicateInOneTable(t *testing.T) {
	coarse, fine := days(), singles()
	coarse.Precision = time.Second
	bt := newBigtable(t, coarse, fine)
	events := []sample{{Series: "s", Time: at(60), Value: 1}, {Series: "s", Time: at(60).Add(time.Millisecond), Value: 2}}
	mappings := []*Mapping[sample]{fine, coarse}
	err := NewWriter(bt.Client, mappings, writeAt(600)).WriteAll(t.Context(), events)
	wantDuplicate(t, err, 1, 0, events)
	for _, l := range mappings {
		same(t, []string{"1"}, read(t, NewReader(bt.Client, l, clockAt(600)), at(0), at(600), ReadOptions{}))
	}
}

// TestDuplicatesOfABatcher adds events in the same place: Add refuses different ones,
// even if the clock advances, and the first is written.
func TestDuplicatesOfABatcher(t *testing.T) {
	written := singles()
	written.Table.Families = []Family{{Name: "f.1", Life: codec.Lifetime{Timestamp: codec.TimestampWrite}}}
	for _, l := range []*Mapping[sample]{singles(), days(), written} {
		for _, lastWins := range []bool{false, true} {
			bt := newBigtable(t, l)
			now := at(600)
			w := NewWriter(bt.Client, []*Mapping[sample]{l}, WriterOptions{Now: func() time.Time { now = now.Add(time.Second); return now }})
			b := NewBatcher(w, func(e sample, err error) { t.Error(e, err) }, BatcherOptions{MaxAge: time.Hour, LastWins: lastWins})
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
			same(t, []string{want}, read(t, NewReader(bt.Client, l, ReaderOptions{Now: func() time.Time { return now }}), at(0), at(600), ReadOptions{}))
		}
	}
}

// TestRetryOfABatch repeats a failed call with equal events and one that was refused.
// Events that are already stored do not count as others of the same call.
func TestRetryOfABatch(t *testing.T) {
	for _, l := range []*Mapping[sample]{singles(), days(), offsets(), metrics()} {
		bt := newBigtable(t, l)
		broken := true
		flaky := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
			return tableFunc{TableAPI: api, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
				errs, err := api.ApplyBulk(ctx, rows, muts)
				if broken {
					return nil, errors.New("the reply was lost")
				}
				return errs, err
			}}
		}}
		w := NewWriter(flaky, []*Mapping[sample]{l}, writeAt(600))
		other := nth(1)
		other.Value = 77
		events := []sample{nth(0), nth(1), nth(1), other, nth(2), nth(30), nth(31), nth(32)}
		var failed *WriteError
		if err := w.WriteAll(t.Context(), events); !errors.As(err, &failed) || len(failed.Failures) < len(events) {
			t.Fatal(err)
		}
		broken = false
		for range 2 {
			wantDuplicate(t, w.WriteAll(t.Context(), events), 3, 1, events)
		}
		got, err := collect(t.Context(), NewReader(bt.Client, l, clockAt(600)), nth(1).Series, nth(1).Time, nth(1).Time.Add(time.Millisecond))
		must(t, err)
		same(t, []sample{nth(1)}, got)
	}
}

// TestWriteInALoop replaces an event in each call, which is not a duplicate.
func TestWriteInALoop(t *testing.T) {
	for _, l := range []*Mapping[sample]{singles(), days(), offsets()} {
		bt := newBigtable(t, l)
		w := NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(600))
		for i := range 3 {
			must(t, w.Write(t.Context(), sample{Series: "s", Time: at(60), Value: uint64(i)}))
		}
		same(t, []string{"2"}, read(t, NewReader(bt.Client, l, clockAt(600)), at(0), at(600), ReadOptions{}))
	}
}
