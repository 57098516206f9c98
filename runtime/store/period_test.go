package store

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// periodColumns holds samples column by column.
type periodColumns struct {
	Series []string
	Time   []time.Time
	Value  []uint64
}

// edge is the time at which a mapping may begin in these tests: the start of a week.
var edge = time.Date(2021, 3, 8, 0, 0, 0, 0, time.UTC)

// shapeOf describes how the mappings of these tests differ.
type shapeOf struct {
	name     string
	pattern  codec.Pattern
	bucket   codec.Bucket
	timeKey  codec.TimeFormat
	reversed bool // the series is before the region in the keys
	text     bool
	family   string
	slashes  bool // the delimiter is "/" instead of "#", and not in any series
}

// delimiter returns the delimiter of the keys, which no series can contain.
func (s shapeOf) delimiter() string {
	if s.slashes {
		return "/"
	}
	return "#"
}

// bucketOf returns a bucket with a label in the schema language.
func bucketOf(every time.Duration, label string) codec.Bucket {
	b := codec.Bucket{Every: every, Label: codec.Label{Format: codec.TimeFormat{Layout: label}}}
	if prefix, verb, counted := strings.Cut(label, "%"); counted {
		b.Label, b.Origin = codec.Label{Kind: codec.NumberLabel, Prefix: prefix}, time.Date(2021, 1, 4, 0, 0, 0, 0, time.UTC)
		if verb == "04d" {
			b.Label.Pad = 4
		}
	}
	return b
}

const day, week = 24 * time.Hour, 7 * 24 * time.Hour

// shapes are mappings without common keys. Those with a different order of segments have a
// separate family.
var shapes = []shapeOf{
	{name: "hours", pattern: codec.BucketNewCells, bucket: bucketOf(time.Hour, "2006-01-02T15")},
	{name: "six hours of the same label", pattern: codec.BucketNewCells, bucket: bucketOf(6*time.Hour, "2006-01-02T15")},
	{name: "days", pattern: codec.BucketNewCells, bucket: bucketOf(day, "2006-01-02")},
	{name: "days of another label", pattern: codec.BucketNewCells, bucket: bucketOf(day, "20060102"), text: true, slashes: true},
	{name: "weeks by number", pattern: codec.BucketNewCells, bucket: bucketOf(week, "week%d")},
	{name: "weeks, padded", pattern: codec.BucketNewCells, bucket: bucketOf(week, "w%04d"), slashes: true},
	{name: "days, newest first", pattern: codec.BucketNewCells, bucket: codec.Bucket{Every: day, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}}}},
	{name: "offsets", pattern: codec.BucketOffsets, bucket: bucketOf(day, "o%04d")},
	{name: "rows", pattern: codec.SingleUnserialized, timeKey: codec.TimeFormat{Kind: codec.UnixSeconds}},
	{name: "rows, newest first", pattern: codec.SingleUnserialized, timeKey: codec.TimeFormat{Kind: codec.UnixMicros, Reverse: true}, slashes: true},
	{name: "another order", pattern: codec.BucketNewCells, bucket: bucketOf(day, "2006-01-02"), reversed: true, family: "g"},
}

// mapping returns a mapping of this shape, and the columns.
func (s shapeOf) mapping(since time.Time, older ...*mappingOf[sample]) (*mappingOf[sample], *columnsOf[sample, periodColumns]) {
	coding := codec.Binary.Uint64
	if s.text {
		coding = codec.Text.Uint64
	}
	columns := columnsByName[sample, periodColumns](SeriesPart(0, regionSeries), TimePart(1), RequiredColumn(2, "v", coding))
	key := codec.Key{Delimiter: s.delimiter(), Segments: []codec.Segment{{Name: "region"}, {Name: "series", Series: 1}}}
	if s.reversed {
		slices.Reverse(key.Segments)
	}
	if s.pattern.Bucketed() {
		key.Segments, key.Bucket = append(key.Segments, codec.Segment{Kind: codec.BucketSegment}), s.bucket
	} else {
		key.Segments, key.Time = append(key.Segments, codec.Segment{Kind: codec.TimeSegment}), s.timeKey
	}
	l := mappingOf[sample]{
		Table:   Table{ID: "periods", Families: []Family{{Name: cmp.Or(s.family, "f"), GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 365 * day}}}},
		Pattern: s.pattern,
		Key:     key, Precision: time.Second, Since: since, Older: older,
		Check: func(e *sample) error {
			var c codec.Checker
			c.Time("time", e.Time)
			return c.Err()
		},
	}
	return newMappingOf(columns, l), columns
}

// regionSeries points to the region of a series and to the series.
func regionSeries(s *string, to []any) []any {
	region := (*s)[:min(1, len(*s))]
	return append(to, &region, s)
}

// A query that cannot yield the events of one mapping in order of time fails before a request
// for those of another is sent. If the range has only events of the others, it does not fail.
func TestOrderAcrossMappings(t *testing.T) {
	older, _ := shapes[0].mapping(time.Time{})
	newest, _ := shapes[8].mapping(edge, older)
	c := &counts{}
	r := newReaderOf(counted(newBigtable(t, newest).Client, c), newest, ReaderOptions{Now: func() time.Time { return edge.Add(week) }})
	for _, from := range []time.Time{edge.Add(-week), edge} {
		for _, newestFirst := range []bool{false, true} {
			of := (&Query{Name: "ByRegion", Given: codec.Given{Series: []int{0}}}).Bind(&sample{Series: "a"}).resolve()
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

// A mapping that stores no sequence numbers refuses an event with one before anything is
// sent.
func TestEarlierLayoutWithoutSequence(t *testing.T) {
	older, _ := shapes[2].mapping(time.Time{})
	newest, _ := shapes[7].mapping(edge, older)
	adjusted(older, func(m *mapping) { m.sequence = ofSequence })
	adjusted(newest, func(m *mapping) { m.sequence, m.Sequence = ofSequence, ofSequence })
	s := newBigtable(t, newest)
	w := newWriterOf(s.Client, []*mappingOf[sample]{newest}, WriterOptions{Now: func() time.Time { return edge.Add(week) }})
	err := w.WriteAll(t.Context(), []sample{
		{Series: "a1", Time: edge.Add(-time.Hour), Sequence: 1}, {Series: "a1", Time: edge.Add(-time.Hour)}, {Series: "a1", Time: edge, Sequence: 1},
	})
	var failed *WriteError
	var field *codec.FieldError
	if !errors.As(err, &failed) || len(failed.Failures) != 1 || failed.Failures[0].Index != 0 || !errors.As(err, &field) || !errors.Is(err, ErrNoSequence) {
		t.Errorf("got %v", err)
	}
}

// A series whose values only some layouts can store, because of their delimiters, is read in these. One that none can store is an error.
func TestSeriesOfSomeLayouts(t *testing.T) {
	older, _ := shapes[3].mapping(time.Time{}) // with slashes
	newest, _ := shapes[2].mapping(edge, older)
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
		if field, ok := errors.AsType[*codec.FieldError](err); !ok || !errors.Is(field, codec.ErrDelimiter) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
