package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// of returns a query of the given series, whose names are like salts.
func of(series ...string) *testQuery[sample] {
	return &testQuery[sample]{Name: "Of", MultiSeries: true, Spans: func(*sample) ([]codec.Span, error) {
		spans := make([]codec.Span, len(series))
		for i, s := range series {
			spans[i] = codec.Span{Prefix: s + "#", Delimiter: "#", Whole: true, MaxBytes: codec.MaxRowSet}
		}
		return spans, nil
	}}
}

// all returns a query of all series with a prefix, at all times.
func all(prefix string) *testQuery[sample] {
	return &testQuery[sample]{Name: "All", MultiSeries: true, AllTimes: true, Contiguous: true, Spans: func(*sample) ([]codec.Span, error) {
		return []codec.Span{{Prefix: prefix, Delimiter: "#"}}, nil
	}}
}

// More spans than a connection has streams are paginated: all rows arrive in order, with a bounded number of requests.
func TestManySpansArePaginated(t *testing.T) {
	t.Parallel()
	for _, l := range testlong.Sample([]*mappingOf[sample]{singles(), days()}, 2) {
		series, each := testlong.Pick(scan.MaxStreams+10, 150), 2*scan.PageEvents+1
		var samples []sample
		var names []string
		for s := range series {
			names = append(names, fmt.Sprintf("s%03d", s))
			for i := range each {
				samples = append(samples, sample{Series: names[s], Time: at(10 * i), Value: uint64(i)})
			}
		}
		bt := holding(t, l, 86400, samples)
		var open, most atomic.Int64
		client := during(bt.Client, func() func() {
			n := open.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return func() { open.Add(-1) }
		})
		r := newReaderOf(client, l, clockAt(86400))
		n, last := 0, time.Time{}
		for e, err := range readOf(t.Context(), r, of(names...), seriesOf(sample{}), at(0), at(86400), ReadOptions{TimeOrder: true}) {
			must(t, err)
			if e.Time.Before(last) {
				t.Fatalf("%v after %v", e.Time, last)
			}
			n, last = n+1, e.Time
		}
		if n != series*each || most.Load() > scan.MaxStreams {
			t.Errorf("%s: %d events of %d, with %d requests at once, at most %d", l.Table.ID, n, series*each, most.Load(), scan.MaxStreams)
		}
	}
}

// A row whose prefix does not match its series, such as one with another salt, is skipped, and the read ends.
func TestLatestOnlyWithForeignPrefix(t *testing.T) {
	l := singles()
	l = adjusted(l, func(m *mapping) {
		parser := m.parser
		m.parser = func(of event) func(row string) (time.Time, error) {
			parse, e := parser(of), of.pointer.(*sample)
			return func(row string) (time.Time, error) {
				at, err := parse(row)
				e.Series = strings.Replace(e.Series, "wrong", "a", 1) // as if the key contained it
				return at, err
			}
		}
	})
	bt := newBigtable(t, l)
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400)).WriteAll(t.Context(), []sample{
		{Series: "a", Time: at(1), Value: 1}, {Series: "b", Time: at(2), Value: 2}, {Series: "wrong", Time: at(3), Value: 3}, {Series: "wrong", Time: at(4), Value: 4},
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the read may never end
	defer cancel()
	got := made(t, readOf(ctx, newReaderOf(bt.Client, l, clockAt(86400)), all(""), seriesOf(sample{}), at(0), at(86400), ReadOptions{LatestOnly: true}), sampleText)
	same(t, 2, len(got)) // the newest under "a", and "b"
}

// An error that ends a read is the last value, even if events are sorted: those before it come first.
func TestTimeOrderEndsWithAnError(t *testing.T) {
	q := of("")
	r := newReaderOf(noTables{}, days())
	of, _ := q.of(Selection{})
	read := r.reader.begin(t.Context(), of, event{&sample{}}, at(0), at(1), nil)
	var got []string
	read.sorted(func(yield yielder) {
		_ = yield(event{&sample{Series: "a", Time: at(2)}}, nil) && yield(event{&sample{Series: "b", Time: at(1)}}, nil) && yield(event{&sample{}}, &DecodeError{}) &&
			yield(event{&sample{}}, status.Error(codes.PermissionDenied, "no more")) && yield(event{&sample{Series: "c", Time: at(0)}}, nil)
	}, func(e event, err error) bool {
		if err != nil {
			got = append(got, fmt.Sprintf("%T", err))
		} else {
			got = append(got, e.pointer.(*sample).Series)
		}
		return true
	})
	same(t, "*store.DecodeError b a *status.Error", strings.Join(got, " "))
}

// Several goroutines may use the iterator of a read.
func TestIteratorIsReusable(t *testing.T) {
	r, _ := stored(t, singles(), 1, numbered(3)...)
	events := r.Read(t.Context(), seriesOf(sample{Series: "s"}), at(0), at(86400), ReadOptions{LatestOnly: true})
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for e, err := range events {
				if err != nil || e.Value != 2 {
					t.Error(e, err)
				}
			}
		})
	}
	done.Wait()
}

// Of many buckets whose labels do not sort, the read requests only existing ones.
func TestExistingUnsortedBuckets(t *testing.T) {
	l := days()
	l.Key.Bucket = codec.Bucket{Every: time.Minute, Origin: at(0), Label: codec.Label{Kind: codec.NumberLabel, Prefix: "m"}}
	l.Put = putValue(l)
	r, c := stored(t, l, 86400, numbered(40)...)
	for _, newest := range []bool{false, true} {
		*c = counts{}
		got := read(t, r, at(86400), at(39*86400), ReadOptions{NewestFirst: newest})
		first, last := got[0], got[len(got)-1]
		if newest {
			first, last = last, first
		}
		// One lookup of the buckets; then m1441, …, m8641 and m10081, … are lists.
		if len(got) != 38 || first != "1" || last != "38" || *c != (counts{3, 38 + 38}) {
			t.Errorf("%d events from %s to %s with %+v", len(got), first, last, *c)
		}
	}
}
