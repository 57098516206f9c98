package store

import (
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// edge is the time at which a mapping begins in these tests.
var edge = time.Date(2021, 3, 8, 0, 0, 0, 0, time.UTC)

// bucketOf returns a bucket with a label in the schema language.
func bucketOf(every time.Duration, label string) codec.Bucket {
	return codec.Bucket{Every: every, Label: codec.Label{Format: codec.TimeFormat{Layout: label}}}
}

const day, week = 24 * time.Hour, 7 * 24 * time.Hour

// A query that cannot yield the events of one mapping in order fails before any request, unless it needs only others.
func TestOrderAcrossMappings(t *testing.T) {
	older, _ := poles(codec.BucketNewCells, poleKeys(codec.BucketNewCells)["adjacent"]...)
	newest, _ := poles(codec.SingleUnserialized, poleKeys(codec.SingleUnserialized)["adjacent"]...)
	newest.Since, newest.Older = edge, []*mappingOf[pole]{older}
	c := &counts{}
	r := newReaderOf(counted(serve(t, newest).Client, c), newest, ReaderOptions{Now: func() time.Time { return edge.Add(week) }})
	for _, from := range []time.Time{edge.Add(-week), edge} {
		for _, newestFirst := range []bool{false, true} {
			of := byRegion.Bind(&pole{Of: line{Region: "a"}}).resolve()
			q := r.reader.query(of)
			q.AllTimes, q.Contiguous = false, false // only the older one has all times
			var failed error
			*c = counts{}
			read := r.reader.beginSelected(t.Context(), of, q, from, edge.Add(week), []ReadOptions{{TimeOrder: true, NewestFirst: newestFirst}})
			read.run(func(_ event, err error) bool {
				failed = err
				return true
			})
			if early := from.Before(edge); errors.Is(failed, ErrOrder) != early || !early && failed != nil || (c.Requests == 0) != early {
				t.Errorf("from %v, newest first %v: %v after %+v", from, newestFirst, failed, *c)
			}
		}
	}
}

// A series whose values only some layouts can store, because of their delimiters, is read in these. One that none can store is an error.
func TestSeriesOfSomeLayouts(t *testing.T) {
	newest := days()
	older := withKey(days(), "days", codec.Key{Delimiter: "/", Segments: newest.Key.Segments, Bucket: bucketOf(day, "20060102")})
	newest.Since, newest.Older = edge, []*mappingOf[sample]{older}
	bt, clock := newBigtable(t, newest), func() time.Time { return edge.Add(week) }
	series := []string{"a#1", "a/1", "a1"}
	w := newWriterOf(bt.Client, []*mappingOf[sample]{newest}, WriterOptions{Now: clock})
	must(t, w.WriteAll(t.Context(), []sample{{Series: "a#1", Time: edge.Add(-day)}, {Series: "a/1", Time: edge}, {Series: "a1", Time: edge}}))
	r := newReaderOf(bt.Client, newest, ReaderOptions{Now: clock})
	for _, events := range []iter.Seq2[sample, error]{r.Read(t.Context(), manySeriesOf(named(series...)), time.Time{}, edge.Add(week)), r.LatestMany(t.Context(), named(series...))} {
		got := made(t, events, seriesText)
		slices.Sort(got)
		same(t, series, got)
	}
	none := sample{Series: "a#/1"}
	_, latest := r.Latest(t.Context(), none)
	_, read := collect(t.Context(), r, none.Series, time.Time{}, edge)
	_, deleted := w.DeleteAll(t.Context(), seriesOf(none))
	for i, err := range []error{latest, read, deleted} {
		assert.Is(t, codec.ErrDelimiter, asError[*codec.FieldError](t, err, i), i)
	}
}
