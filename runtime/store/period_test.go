package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

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
	l, err := codec.ParseLabel(label)
	if err != nil {
		panic(err)
	}
	b := codec.Bucket{Every: every, Label: l}
	if strings.Contains(label, "%") {
		b.Origin = time.Date(2021, 1, 4, 0, 0, 0, 0, time.UTC)
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
func (s shapeOf) mapping(since time.Time, older ...*Mapping[sample]) (*Mapping[sample], *Columns[sample, periodColumns]) {
	coding := codec.Binary.Uint64
	if s.text {
		coding = codec.Text.Uint64
	}
	columns := NewColumns(
		SeriesPart(func(e *sample) *string { return &e.Series }, func(c *periodColumns) *[]string { return &c.Series }, regionSeries),
		TimePart(func(e *sample) *time.Time { return &e.Time }, func(c *periodColumns) *[]time.Time { return &c.Time }),
		RequiredColumn("v", coding, func(e *sample) *uint64 { return &e.Value }, func(c *periodColumns) *[]uint64 { return &c.Value }),
	)
	key := codec.Key{Delimiter: s.delimiter(), Segments: []codec.Segment{{Name: "region"}, {Name: "series", Series: 1}}}
	if s.reversed {
		slices.Reverse(key.Segments)
	}
	if s.pattern.Bucketed() {
		key.Segments, key.Bucket = append(key.Segments, codec.Segment{Kind: codec.BucketSegment}), s.bucket
	} else {
		key.Segments, key.Time = append(key.Segments, codec.Segment{Kind: codec.TimeSegment}), s.timeKey
	}
	l := Mapping[sample]{
		Table:   Table{ID: "periods", Families: []Family{{Name: cmp.Or(s.family, "f"), GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 365 * day}}}},
		Pattern: s.pattern,
		Key:     key, Precision: time.Second, Since: since, Older: older,
		Check: func(e *sample) error {
			var c codec.Checker
			c.Time("time", e.Time)
			return c.Err()
		},
	}
	return NewMapping(columns, l), columns
}

// regionSeries points to the region of a series and to the series.
func regionSeries(s *string, to []any) []any {
	region := (*s)[:min(1, len(*s))]
	return append(to, &region, s)
}

// regionQuery queries all series of a region, including those in older mappings.
var regionQuery = Query[sample]{Name: "ByRegion", Given: codec.Given{Series: []int{0}}}

// periodsCase is a table with up to four mappings, and the samples that were written to it.
type periodsCase struct {
	shapes  []shapeOf // newest first
	mapping *Mapping[sample]
	columns *Columns[sample, periodColumns]
	now     time.Time
	written []sample
	// received is what Bigtable returned since the last read that was counted.
	received counts
}

// allSamples are the series of samples: each layout can store some of them.
var allSamples = []string{"a1", "a2", "b1", "a#1", "b/1", "a#2"}

// storing returns the mapping of the events at a time.
func (l *mapping) storing(at time.Time) *mapping {
	all := l.Periods()
	return all[slices.IndexFunc(all, func(l *mapping) bool { return l.covers(at) })]
}

// stores reports whether any layout can store a series.
func (c *periodsCase) stores(series string) bool {
	return slices.ContainsFunc(c.shapes, func(s shapeOf) bool { return !strings.Contains(series, s.delimiter()) })
}

// drawPeriods draws a table and samples around the edges of its mappings.
func drawPeriods(t *rapid.T) *periodsCase {
	n := rapid.IntRange(2, 4).Draw(t, "mappings")
	c := &periodsCase{shapes: rapid.Permutation(shapes).Draw(t, "shapes")[:n], now: edge.Add(60 * day)}
	var older []*Mapping[sample]
	var edges []time.Time
	for i := n - 1; i >= 0; i-- {
		var since time.Time
		if i < n-1 {
			since = edge.Add(time.Duration(2*(n-1-i)) * week)
			edges = append(edges, since)
		}
		c.mapping, c.columns = c.shapes[i].mapping(since, older...)
		older = append([]*Mapping[sample]{c.mapping}, older...)
		c.mapping.Older = older[1:]
	}
	written := map[string]sample{}
	for range rapid.IntRange(0, 40).Draw(t, "samples") {
		at := rapid.SampledFrom(edges).Draw(t, "edge").Add(time.Duration(rapid.IntRange(-400, 400).Draw(t, "hours")) * 30 * time.Minute)
		if rapid.Bool().Draw(t, "at the edge") {
			at = rapid.SampledFrom(edges).Draw(t, "edge").Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "seconds")) * time.Second)
		}
		e := sample{Series: rapid.SampledFrom(allSamples).Draw(t, "series"), Time: at, Value: rapid.Uint64Max(99).Draw(t, "value")}
		if c.mapping.untyped().storing(e.Time).seriesKey(event{&e}) != "" { // another delimiter
			written[e.Series+e.Time.String()] = e
		}
	}
	for _, e := range written {
		c.written = append(c.written, e)
	}
	c.sort(c.written)
	return c
}

// sort sorts samples by time and series.
func (c *periodsCase) sort(samples []sample) {
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Series, b.Series)) })
}

// wanted returns the samples in a time range for which is returns true.
func (c *periodsCase) wanted(from, to time.Time, is func(e sample) bool) (out []sample) {
	for _, e := range c.written {
		if !e.Time.Before(from) && e.Time.Before(to) && is(e) {
			out = append(out, e)
		}
	}
	return out
}

// A query that cannot yield the events of one mapping in order of time fails before a request
// for those of another is sent. If the range has only events of the others, it does not fail.
func TestOrderAcrossMappings(t *testing.T) {
	older, _ := shapes[0].mapping(time.Time{})
	newest, _ := shapes[8].mapping(edge, older)
	s := newBigtable(t, newest)
	var events []sample
	for _, at := range []time.Duration{-2 * day, -day, 0, day} {
		events = append(events, sample{Series: "a1", Time: edge.Add(at)}, sample{Series: "a2", Time: edge.Add(at)})
	}
	must(t, NewWriter(s.Client, []*Mapping[sample]{newest}, WriterOptions{Now: func() time.Time { return edge.Add(week) }}).WriteAll(t.Context(), events))
	c := &counts{}
	r := NewReader(counted(s.Client, c), newest, ReaderOptions{Now: func() time.Time { return edge.Add(week) }})
	read := func(from, to time.Time, o ReadOptions) iter.Seq2[sample, error] {
		of := regionQuery.Bind(sample{Series: "a"}).untyped()
		q := r.reader.query(of)
		q.AllTimes, q.Contiguous = false, false // only the older one has all times
		return typed[sample](func(yield yielder) {
			read := r.reader.beginSelected(t.Context(), of, q, from, to, []ReadOptions{o})
			read.run(yield)
		})
	}
	for _, newestFirst := range []bool{false, true} {
		for event, err := range read(edge.Add(-week), edge.Add(week), ReadOptions{TimeOrder: true, NewestFirst: newestFirst}) {
			if !errors.Is(err, ErrOrder) || c.Requests > 0 {
				t.Errorf("newest first %v: %v, %v after %+v", newestFirst, event, err, c)
			}
		}
	}
	for _, err := range read(edge, edge.Add(week), ReadOptions{TimeOrder: true}) {
		must(t, err)
	}
	if c.Requests == 0 {
		t.Error("nothing is requested")
	}
}

// TestPeriods writes samples to tables with several mappings, in one call and in any order,
// and reads them by series, as columns, by region, and the newest.
func TestPeriods(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawPeriods(rt)
		s := newBigtable(t, c.mapping)
		ctx, clock := context.Background(), func() time.Time { return c.now }
		w := NewWriter(s.Client, []*Mapping[sample]{c.mapping}, WriterOptions{Now: clock})
		if err := w.WriteAll(ctx, rapid.Permutation(c.written).Draw(rt, "order")); err != nil {
			rt.Fatal(err)
		}
		r := NewReader(counted(s.Client, &c.received), c.mapping, ReaderOptions{Now: clock})
		for range 4 {
			c.read(rt, r)
			c.change(rt, w)
			c.received = counts{}
		}
	})
}

// crossed compares the cells that Bigtable returned since the last call with the events that a
// read returned, each of which is one cell. Only two kinds of reads may receive more than they
// return, but never another cell than one of the range: those with a limit, of which the last
// row or bucket has been sent when the reader has enough events; and Latest, which may read a
// bucket as a whole, and again. In a query of series that have no common prefix, the pattern of the row
// keys is a filter, so that it receives no rows of other series, either.
func (c *periodsCase) crossed(t *rapid.T, what string, events, most int, from, to time.Time) {
	t.Helper()
	got := c.received
	c.received = counts{}
	if got.Cells < events || got.Cells > most {
		t.Fatalf("%s received %d cells for %d events, want at most %d", what, got.Cells, events, most)
	}
	// The ends of a range that cut a bucket of offsets are requests of their own, and so is the
	// rest of a bucket of which a limit was not reached.
	// Latest also sends one for each row of another mapping that it finds.
	if n := c.touched(from, to); !strings.HasPrefix(what, "Latest") && got.Requests > 3*n {
		t.Fatalf("%s of %d mappings sent %d requests", what, n, got.Requests)
	}
}

// touched returns how many mappings have events in a range of time.
func (c *periodsCase) touched(from, to time.Time) (n int) {
	for _, l := range c.mapping.untyped().Periods() {
		if l.Since.Before(to) && (l.until.IsZero() || from.Before(l.until)) && from.Before(to) {
			n++
		}
	}
	return n
}

// read draws a read, and compares what it returns with what was written.
func (c *periodsCase) read(t *rapid.T, r *Reader[sample]) {
	ctx := context.Background()
	draw := func(name string) time.Time {
		if len(c.written) > 0 && rapid.Bool().Draw(t, name+" at a sample") {
			return rapid.SampledFrom(c.written).Draw(t, name).Time
		}
		return edge.Add(time.Duration(rapid.IntRange(-14, 60).Draw(t, name)) * day)
	}
	from, to := draw("from"), draw("to")
	if to.Before(from) {
		from, to = to, from
	}
	if rapid.Bool().Draw(t, "all") {
		from, to = time.Time{}, c.now
	}
	o := ReadOptions{NewestFirst: rapid.Bool().Draw(t, "newest first"), Limit: rapid.IntRange(0, 5).Draw(t, "limit")}
	series := rapid.SampledFrom([]string{"a1", "b1", "a#1", "b/1"}).Draw(t, "series")
	if !c.stores(series) {
		c.refused(t, r, series)
		return
	}
	ofSeries := c.wanted(from, to, func(e sample) bool { return e.Series == series })
	c.ordered(ofSeries, o)
	want := atMost(ofSeries, o.Limit)
	c.compare(t, "Read", want, c.collected(t, r.Read(ctx, SeriesOf(sample{Series: series}), from, to, o)))
	c.crossed(t, "Read", len(want), ofRange(want, ofSeries, o), from, to)

	var columns periodColumns
	if err := ReadColumns(ctx, TableReader[sample](r), c.columns, &columns, SeriesOf(sample{Series: series}), from, to, o); err != nil {
		t.Fatal(err)
	}
	var fromColumns []sample
	for i := range columns.Time {
		fromColumns = append(fromColumns, sample{Series: columns.Series[i], Time: columns.Time[i], Value: columns.Value[i]})
	}
	c.compare(t, "ReadColumns", want, fromColumns)
	c.crossed(t, "ReadColumns", len(want), ofRange(want, ofSeries, o), from, to)

	region := c.wanted(from, to, func(e sample) bool { return e.Series[0] == series[0] })
	o.Limit = 0
	got := c.collect(t, r, regionQuery.Bind(sample{Series: series}), from, to, o)
	c.sort(got)
	c.compare(t, "ByRegion", region, got)
	c.crossed(t, "ByRegion", len(region), len(region), from, to)
	c.latest(t, r, series)
	c.several(t, r, from, to)
}

// refused fails unless reads of a series that no layout can store fail.
func (c *periodsCase) refused(t *rapid.T, r *Reader[sample], series string) {
	_, err := r.Latest(context.Background(), sample{Series: series})
	for _, failed := range r.Read(context.Background(), SeriesOf(sample{Series: series}), time.Time{}, c.now) {
		if _, refused := errors.AsType[*codec.FieldError](failed); !refused || !errors.Is(err, codec.ErrDelimiter) {
			t.Fatalf("%q: %v, %v", series, err, failed)
		}
		return
	}
	t.Fatalf("%q has no events", series)
}

// several compares reads of several series, their newest events, and the list of series.
func (c *periodsCase) several(t *rapid.T, r *Reader[sample], from, to time.Time) {
	ctx := context.Background()
	var bases []sample
	for _, series := range allSamples {
		if c.stores(series) {
			bases = append(bases, sample{Series: series})
		}
	}
	got := c.collected(t, r.Read(ctx, ManySeriesOf(bases), from, to))
	c.sort(got)
	c.compare(t, "ReadMany", c.wanted(from, to, func(sample) bool { return true }), got)
	var newest []sample
	for _, base := range bases {
		if all := c.wanted(time.Time{}, c.now, func(e sample) bool { return e.Series == base.Series }); len(all) > 0 {
			newest = append(newest, all[len(all)-1])
		}
	}
	c.compare(t, "LatestMany", newest, c.collected(t, r.LatestMany(ctx, bases)))
	for _, region := range []string{"a", "b"} {
		found := map[string]sample{}
		for _, e := range c.wanted(from, to, func(e sample) bool { return e.Series[:1] == region }) {
			found[e.Series] = e
		}
		want := slices.Collect(maps.Values(found))
		c.sort(want)
		latest := c.collect(t, r, regionQuery.Bind(sample{Series: region}), from, to, ReadOptions{LatestOnly: true})
		c.sort(latest)
		c.compare(t, "the newest of ByRegion", want, latest)
		names := slices.Sorted(maps.Keys(found))
		var listed []string
		for series, err := range ReadSeries[string](ctx, r, regionQuery.Bind(sample{Series: region}), from, to) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, series)
		}
		if paged, err := seriesInPages[string](ctx, r, regionQuery.Bind(sample{Series: region}), from, to, 2); err != nil || !slices.Equal(listed, paged) {
			t.Fatalf("series of ByRegion in pages: %q, want %q, %v", paged, listed, err)
		}
		if slices.Sort(listed); !slices.Equal(names, listed) {
			t.Fatalf("series of ByRegion: %q, want %q", listed, names)
		}
	}
	c.received = counts{}
}

// change deletes and replaces samples.
func (c *periodsCase) change(t *rapid.T, w *Writer[sample]) {
	ctx := context.Background()
	gone := func(is func(e sample) bool) { c.written = slices.DeleteFunc(c.written, is) }
	series := rapid.SampledFrom(allSamples).Draw(t, "deleted series")
	switch how := rapid.IntRange(0, 3).Draw(t, "change"); {
	case !c.stores(series):
		if _, err := w.DeleteAll(ctx, SeriesOf(sample{Series: series})); !errors.Is(err, codec.ErrDelimiter) {
			t.Fatalf("deleting %q: %v", series, err)
		}
	case how == 0:
		_, err := w.DeleteAll(ctx, SeriesOf(sample{Series: series}))
		if err != nil {
			t.Fatal(err)
		}
		gone(func(e sample) bool { return e.Series == series })
	case how == 1:
		_, err := w.DeleteRange(ctx, SeriesOf(sample{Series: series}), edge, c.now)
		if err != nil {
			t.Fatal(err)
		}
		gone(func(e sample) bool { return e.Series == series && !e.Time.Before(edge) })
	case len(c.written) > 0:
		old := rapid.SampledFrom(c.written).Draw(t, "old")
		updated := sample{Series: series, Time: old.Time, Value: 100}
		err := w.Replace(ctx, old, updated)
		if c.mapping.untyped().storing(old.Time).seriesKey(event{&updated}) == "" {
			if !errors.Is(err, codec.ErrDelimiter) {
				t.Fatalf("replacing %v with %v: %v", old, updated, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		gone(func(e sample) bool {
			return e.Time.Equal(old.Time) && (e.Series == old.Series || e.Series == updated.Series)
		})
		c.written = append(c.written, updated)
		c.sort(c.written)
	}
}

// ofRange returns how many cells a read of samples may receive: with a limit, those of all
// samples of the range.
func ofRange(read, all []sample, o ReadOptions) int {
	if o.Limit > 0 {
		return len(all)
	}
	return len(read)
}

// latest compares what Latest returns.
func (c *periodsCase) latest(t *rapid.T, r *Reader[sample], series string) {
	all := c.wanted(time.Time{}, c.now, func(e sample) bool { return e.Series == series })
	got, err := r.Latest(context.Background(), sample{Series: series})
	if len(all) == 0 {
		if !errors.Is(err, ErrNotFound) {
			t.Fatalf("Latest of an empty series: %v, %v", got, err)
		}
		c.crossed(t, "Latest of an empty series", 0, 0, time.Time{}, c.now)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, "Latest", all[len(all)-1:], []sample{got})
	c.crossed(t, "Latest", 1, 2*len(all), time.Time{}, c.now)
}

// ordered puts samples into the order of a read.
func (c *periodsCase) ordered(samples []sample, o ReadOptions) {
	if o.NewestFirst {
		slices.Reverse(samples)
	}
}

// atMost returns the first n of samples; all if n is 0.
func atMost(samples []sample, n int) []sample {
	if n == 0 || n > len(samples) {
		return samples
	}
	return samples[:n]
}

// collect returns the results of a query.
func (c *periodsCase) collect(t *rapid.T, r *Reader[sample], of Selection[sample], from, to time.Time, o ReadOptions) (out []sample) {
	return c.collected(t, r.Read(context.Background(), of, from, to, o))
}

// collected returns the results of a read.
func (c *periodsCase) collected(t *rapid.T, events iter.Seq2[sample, error]) (out []sample) {
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// compare compares samples.
func (c *periodsCase) compare(t *rapid.T, what string, want, got []sample) {
	t.Helper()
	show := func(samples []sample) string {
		var b strings.Builder
		for _, e := range samples {
			fmt.Fprintf(&b, "%s %s %d\n", e.Series, e.Time.Format(time.DateTime), e.Value)
		}
		return b.String()
	}
	if show(want) != show(got) {
		var names []string
		for _, s := range c.shapes {
			names = append(names, s.name)
		}
		t.Fatalf("%s of mappings %q: want\n%s\ngot\n%s", what, names, show(want), show(got))
	}
}

// A mapping that stores no sequence numbers refuses an event with one before anything is
// sent.
func TestEarlierLayoutWithoutSequence(t *testing.T) {
	sequence := func(e *sample) *uint32 { return &e.Sequence }
	older, _ := shapes[2].mapping(time.Time{})
	newest, _ := shapes[7].mapping(edge, older)
	newest.Sequence, newest.sequence, older.sequence = sequence, sequence, sequence
	s := newBigtable(t, newest)
	w := NewWriter(s.Client, []*Mapping[sample]{newest}, WriterOptions{Now: func() time.Time { return edge.Add(week) }})
	err := w.WriteAll(t.Context(), []sample{
		{Series: "a1", Time: edge.Add(-time.Hour), Sequence: 1}, {Series: "a1", Time: edge.Add(-time.Hour)}, {Series: "a1", Time: edge, Sequence: 1},
	})
	var failed *WriteError
	var field *codec.FieldError
	if !errors.As(err, &failed) || len(failed.Failures) != 1 || failed.Failures[0].Index != 0 || !errors.As(err, &field) || !errors.Is(err, ErrNoSequence) {
		t.Errorf("got %v", err)
	}
}
