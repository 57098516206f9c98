package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// counts contains the numbers of requests and of cells that Bigtable returns.
type counts struct{ Requests, Cells int }

// counted returns a client that counts. It receives the whole response before the reader gets the first row.
func counted(client Client, c *counts) Client {
	var mu sync.Mutex
	return tableClient{client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
			var rows []bigtable.Row
			err := api.ReadRows(ctx, set, func(row bigtable.Row) bool {
				rows = append(rows, row)
				return true
			}, opts...)
			mu.Lock()
			c.Requests++
			for _, row := range rows {
				for _, items := range row {
					c.Cells += len(items)
				}
			}
			mu.Unlock()
			for _, row := range rows {
				if !f(row) {
					break
				}
			}
			return err
		}}
	}}
}

// holding starts a server with a table of samples, which are written n seconds into day0.
func holding(t *testing.T, l *mappingOf[sample], n int, samples []sample) *storetest.Bigtable {
	t.Helper()
	bt := newBigtable(t, l)
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(n)).WriteAll(t.Context(), samples))
	return bt
}

// tells returns options of a reader whose clock shows n seconds into day0, and that tells what it has done last.
func tells(n int, op *Operation) ReaderOptions {
	o := clockAt(n)
	o.Hooks.End = func(_ context.Context, done Operation, _ error) { *op = done }
	return o
}

// stored writes samples of series s at intervals from day0 on, and returns a reader that counts.
func stored(t *testing.T, l *mappingOf[sample], seconds int, samples ...sample) (*readerOf[sample], *counts) {
	t.Helper()
	for i := range samples {
		samples[i].Series, samples[i].Time = "s", at(i*seconds)
	}
	bt := holding(t, l, seconds*len(samples), samples)
	c := &counts{}
	return newReaderOf(counted(bt.Client, c), l, clockAt(seconds*len(samples))), c
}

// numbered returns samples with the values 0 to n−1.
func numbered(n int) []sample {
	samples := make([]sample, n)
	for i := range samples {
		samples[i].Value = uint64(i)
	}
	return samples
}

// read returns the values of series s.
func read(t *testing.T, r *readerOf[sample], from, to time.Time, o ReadOptions) []string {
	t.Helper()
	return made(t, r.Read(t.Context(), seriesOf(sample{Series: "s"}), from, to, o), sampleText)
}

// A limit of events limits rows, too. If those have no events, the read requests the rest.
func TestLimitRows(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), metrics()} {
		l.Columns[0].Name = "v"
		r, c := stored(t, l, 86400, numbered(9)...)
		same(t, []string{"0", "1", "2"}, read(t, r, day0, at(9*86400), ReadOptions{Limit: 3}))
		streams := 1
		if l.Pattern == codec.BucketNewColumns {
			streams = 2
		}
		same(t, counts{streams, 3}, *c)
		*c = counts{}
		same(t, []string{"8", "7"}, read(t, r, day0, at(9*86400), ReadOptions{Limit: 2, NewestFirst: true}))
		same(t, counts{streams, 2}, *c)
		*c = counts{}
		same(t, []string{"8"}, read(t, r, day0, at(9*86400), ReadOptions{LatestOnly: true}))
		same(t, counts{streams, 1}, *c)
		if l.Pattern == codec.BucketNewColumns { // every column is a value
			r, c := stored(t, metrics(), 60, sample{Value: 1}, sample{Value: 2}, sample{Value: 1}, sample{Value: 1}, sample{Value: 2}, sample{Value: 1})
			event, err := r.Latest(t.Context(), sample{Series: "s"})
			must(t, err)
			same(t, sample{Series: "s", Time: at(5 * 60), Value: 1}, event)
			same(t, counts{1, 2}, *c)
			continue
		}
		other := *l
		other.Columns = []Column{{Name: "other"}, {Name: "note"}} // which no row has
		*c = counts{}
		other.Missing = Required[sample]
		r.reader.mapping = other.untyped()
		same(t, []string(nil), read(t, r, day0, at(9*86400), ReadOptions{Limit: 2, NewestFirst: true}))
		same(t, counts{2, 9}, *c)
	}
}

// Streams of several spans request more rows only when the consumer needs another row.
func TestLimitOfStreams(t *testing.T) {
	l := metrics()
	l.Columns = []Column{{Name: "v"}, {Name: "note"}}
	set := l.Set
	l.Set = func(e *sample, column int, datum []byte) error {
		if string(datum) < "3" {
			return codec.ErrMissing // undecodable, so it does not count
		}
		return set(e, column, datum)
	}
	r, c := stored(t, l, 86400, numbered(9)...)
	var out []string
	for e, err := range r.Read(t.Context(), seriesOf(sample{Series: "s"}), day0, at(9*86400), ReadOptions{Limit: 2}) {
		if err == nil {
			out = append(out, sampleText(e))
		}
	}
	same(t, []string{"3", "4"}, out)
	same(t, counts{3, 9}, *c)
}

// A read includes the rest of a bucket that is about to exceed its age, for the ranks, but no later bucket.
func TestRestOfExpiringBucket(t *testing.T) {
	l := days()
	l.Table.Families = []Family{oldAndMany("f.1", 2)} // an hour, or the newest two
	l.Columns = []Column{{Name: "v"}, {Name: "note"}}
	r, c := stored(t, l, 600, numbered(3*144)...) // three days, one cell every ten minutes
	for _, tt := range []struct {
		now, from, to int // in cells
		want          int // in cells
	}{
		{432, 426, 430, 6},     // live by age for less than an hour: with the last two
		{432, 0, 429, 4 + 6},   // the newest two of the first days, and those of the last hour
		{432, 0, 432, 4 + 6},   // the rest is the whole bucket
		{296, 140, 150, 2 + 0}, // all of the partial bucket is old
		{150, 140, 144, 2},     // no partial bucket
		{150, 145, 147, 143},   // the rest of the second bucket, not of the third
	} {
		r.reader.options = readerOptions([]ReaderOptions{clockAt(tt.now * 600)})
		*c = counts{}
		read(t, r, at(tt.from*600), at(tt.to*600), ReadOptions{})
		assert.Same(t, tt.want, c.Cells, tt)
	}
}

// In a binary key, "ba" ends with "a", but is another series.
func TestSeriesWithSuffixOfAnother(t *testing.T) {
	l := singles()
	l.Key = codec.Key{Segments: []codec.Segment{{Kind: codec.TimeSegment}, {Name: "series"}}, Time: codec.TimeFormat{Kind: codec.BinaryTime}}
	l.Put = func(e *sample, c *eventCells) {
		c.Row(keyOf(&l.Key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
	}
	event := sample{Series: "a", Time: at(1), Value: 1}
	bt := holding(t, l, 0, []sample{event, {Series: "ba", Time: at(2), Value: 2}})
	c := &counts{}
	r := newReaderOf(counted(bt.Client, c), l)
	got, err := collect(t.Context(), r, "a", day0, at(60))
	must(t, err)
	same(t, []sample{event}, got)
	same(t, counts{1, 1}, *c)
	latest, err := r.Latest(t.Context(), sample{Series: "a"})
	must(t, err)
	same(t, event, latest)
}

// Latest takes one request if the current bucket or a later one has the newest event, whatever the labels.
func TestLatestOfAnyLabels(t *testing.T) {
	for _, mapping := range []func() *mappingOf[sample]{
		days, metrics, offsets, func() *mappingOf[sample] { return unsorted(days()) }, func() *mappingOf[sample] { return unsorted(metrics()) },
	} {
		for _, c := range []struct {
			days     []int // days with events
			now      int
			requests int // if labels do not sort
		}{
			{[]int{1, 2, 3}, 3, 1}, {[]int{0, 1, 2, 3, 4, 5}, 2, 1}, {[]int{0, 2, 92, 93}, 2, 1}, {[]int{0, 1, 2}, 1, 1}, {[]int{2}, 2, 1},
			{[]int{0, 1}, 3, 3}, {[]int{1, 2, 91}, 95, 3}, {nil, 3, 2},
		} {
			l := mapping()
			samples := []sample{{Series: "s1", Time: at(86400 * 200), Value: 1}, {Series: "r", Time: at(86400 * 200), Value: 1}}
			for _, day := range c.days {
				samples = append(samples, sample{Series: "s", Time: at(86400*day + 60), Value: uint64(day)}, sample{Series: "s", Time: at(86400*day + 120), Value: uint64(day + 1000)})
			}
			if l.Pattern != codec.BucketOffsets {
				for i := range samples {
					samples[i].Note = []byte("n")
				}
			}
			bt := holding(t, l, 0, samples)
			var op Operation
			e, err := newReaderOf(bt.Client, l, tells(86400*c.now+300, &op)).Latest(t.Context(), sample{Series: "s"})
			if c.days == nil {
				assert.Is(t, ErrNotFound, err, l.Table.ID, c, e)
			} else if last := c.days[len(c.days)-1]; err != nil || e.Value != uint64(last+1000) {
				t.Errorf("%s %+v: %v, %v", l.Table.ID, c, e, err)
			}
			want, shape := c.requests, l.untyped().shape()
			switch {
			case shape.InOrder() && l.Pattern != codec.BucketNewColumns:
				want = 1
			case l.Pattern == codec.BucketNewColumns && shape.InOrder() && want > 1:
				want = 3 // one row per field
			case l.Pattern == codec.BucketNewColumns && want > 1:
				want = 2*want - 1
			}
			assert.Same(t, want, op.Requests, l.Table.ID, c)
		}
	}
}
