package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// aged returns a family with a maximum age.
func aged(name string, age time.Duration) Family {
	rule := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: age}
	return Family{Name: name, GC: rule, Life: codec.Lifetime{Retention: rule.Retention(0)}}
}

// oldAndMany returns a family that loses cells that are older than an hour and have some newer ones in their columns.
func oldAndMany(name string, versions int) Family {
	rule := codec.GCRule{Kind: codec.GCIntersection, Rules: []codec.GCRule{
		{Kind: codec.GCMaxAge, MaxAge: time.Hour}, {Kind: codec.GCMaxVersions, MaxVersions: versions},
	}}
	return Family{Name: name, GC: rule, Life: codec.Lifetime{Retention: rule.Retention(0)}}
}

// singles returns days with one row per sample.
func singles() *mappingOf[sample] {
	l := days()
	key := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.TimeSegment}}, Time: codec.TimeFormat{Kind: codec.UnixMillis}}
	l.Table.ID, l.Pattern, l.Key = "singles", codec.SingleUnserialized, key
	l.Put = func(e *sample, c *eventCells) {
		c.Row(keyOf(&key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// metrics returns days with one row per column, whose qualifiers are the data.
func metrics() *mappingOf[sample] {
	l := days()
	l.Table.ID, l.Pattern = "metrics", codec.BucketNewColumns
	l.Key.Segments = []codec.Segment{{Name: "series"}, {Kind: codec.MetricSegment}, {Kind: codec.BucketSegment}}
	l.Put = func(e *sample, c *eventCells) {
		put := func(column int, datum []byte) {
			c.Row(l.Key.Append(nil, &codec.KeyValues{Series: []any{&e.Series}, Metric: &l.Columns[column].Name, At: &e.Time}))
			c.Set(column, datum)
		}
		put(0, strconv.AppendUint(nil, e.Value, 10))
		if e.Note != nil {
			put(1, e.Note)
		}
	}
	l.Set = func(e *sample, column int, datum []byte) (err error) {
		if column == 0 {
			e.Value, err = strconv.ParseUint(string(datum), 10, 64)
			return err
		}
		e.Note = bytes.Clone(datum)
		return nil
	}
	return l
}

// serve starts a server with the tables of mappings.
func serve[E any](t *testing.T, mappings ...*mappingOf[E]) *storetest.Bigtable {
	t.Helper()
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return SetUp(ctx, b, "", Tables(allGiven(mappings)))
	})
}

// clockAt returns options with a clock that always shows n seconds into day0.
func clockAt(n int) ReaderOptions { return ReaderOptions{Now: func() time.Time { return at(n) }} }

// writeAt is clockAt for writers.
func writeAt(n int) WriterOptions { return WriterOptions{Now: clockAt(n).Now} }

func sampleText(e sample) string { return fmt.Sprintf("%d%s", e.Value, e.Note) }

func seriesText(e sample) string { return e.Series }

// storedColumnsOf returns the number of cells in each column of a table, by family and qualifier.
func storedColumnsOf(t *testing.T, client *bigtable.Client, table string) map[string]int {
	t.Helper()
	out := map[string]int{}
	eachCell(t, client, table, func(cell bigtable.ReadItem) { out[cell.Column]++ })
	return out
}

var must = assert.Must

// asError returns the error of type E among those that an error wraps, and ends the test if there is none.
func asError[E error](t *testing.T, err error, context ...any) E {
	t.Helper()
	found, is := errors.AsType[E](err)
	if !is {
		t.Fatalf("%sgot error %v, want a %T", fmt.Sprintln(context...), err, found)
	}
	return found
}

// eachCell calls f for each cell of a table.
func eachCell(t *testing.T, client *bigtable.Client, table string, f func(cell bigtable.ReadItem)) {
	t.Helper()
	must(t, client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, cells := range row {
			for _, cell := range cells {
				f(cell)
			}
		}
		return true
	}))
}

// change changes a row of a table, as another program does.
func change(t *testing.T, client *bigtable.Client, table, row string, by func(m *bigtable.Mutation)) {
	t.Helper()
	m := bigtable.NewMutation()
	by(m)
	must(t, client.Open(table).Apply(t.Context(), row, m))
}

// setCell sets a cell, as another program does.
func setCell(t *testing.T, client *bigtable.Client, table, row, family, column string, at time.Time, value []byte) {
	t.Helper()
	change(t, client, table, row, func(m *bigtable.Mutation) { m.Set(family, column, bigtable.Time(at), value) })
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // much faster, for large values
		return
	}
	assert.Same(t, want, got)
}

// A row of a single event is replaced entirely in all classes, with other timestamps and unknown columns.
func TestRowOfClassIsReplacedEntirely(t *testing.T) {
	l := classed(singles())
	bt, row := newBigtable(t, l), fmt.Sprintf("s#%013d", day0.UnixMilli())
	for _, f := range l.Table.Families {
		setCell(t, bt.Client, l.Table.ID, row, f.Name, "v.1", at(60), binary.BigEndian.AppendUint64(nil, 8))
		setCell(t, bt.Client, l.Table.ID, row, f.Name, "of an older schema", at(0), nil)
	}
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(0))
	must(t, w.Write(t.Context(), sample{Series: "s", Time: at(0), Class: 1}))
	same(t, map[string]int{"z:v.1": 1}, storedColumnsOf(t, bt.Client, l.Table.ID))
}

// Two writes of an event keep their order even if the row continues in another request.
func TestClassesAcrossRequests(t *testing.T) {
	for _, l := range []*mappingOf[sample]{classed(days()), classed(singles())} {
		bt := newBigtable(t, l)
		large := make([]byte, 2<<20)
		var events []sample
		for i := range 5 {
			events = append(events, sample{Series: "s", Time: at(0), Value: uint64(i), Note: large, Class: 1 + i%2})
		}
		events = append(events, sample{Series: "s", Time: at(0), Value: 9, Class: 2})
		requests := 0
		o := writeAt(0)
		o.Hooks.End = func(_ context.Context, op Operation, _ error) { requests = op.Requests }
		must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, o).WriteAll(t.Context(), events, WriteOptions{LastWins: true}))
		assert.Same(t, true, requests > 2, "the row goes on in others")
		same(t, map[string]int{"y:v.1": 1}, storedColumnsOf(t, bt.Client, l.Table.ID))
	}
}

// A column is read from its own family only. Another family may contain an older version, from before the column was moved.
func TestColumnsOfOtherFamiliesAreNotRead(t *testing.T) {
	for _, l := range []*mappingOf[sample]{days(), singles(), metrics()} {
		l.Table.Families = []Family{{Name: "now"}, {Name: "before"}}
		l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 1}}
		bt, moved := newBigtable(t, l), *l
		moved.Columns = []Column{{Name: "v.1", Family: 1}, {Name: "note"}}
		for i, l := range []*mappingOf[sample]{l, &moved} {
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}).Write(t.Context(), sample{Series: "s", Time: at(0), Value: uint64(i), Note: []byte{'m' + byte(i)}}))
		}
		r := newReaderOf(bt.Client, l)
		latest, err := r.Latest(t.Context(), sample{Series: "s"})
		must(t, err)
		same(t, []string{"0m", "0m"}, append(read(t, r, day0, at(1), ReadOptions{}), sampleText(latest)))
	}
}

// The server accepts the filter of families with equal windows, which selects exactly their cells.
func TestFilterOfSeveralFamiliesPasses(t *testing.T) {
	l := days()
	l.Table.Families = []Family{aged("f.1", 48*time.Hour), aged("young", time.Minute), aged("g.1", 72*time.Hour)}
	l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 2}}
	other := *l
	other.Table.Families = append(slices.Clone(other.Table.Families), Family{Name: "fx1"}, Family{Name: "gx1"}, Family{Name: "g"}, Family{Name: "f.1-g.1"})
	bt := newBigtable(t, &other)
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(0)).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 7, Note: []byte("n")}))
	for _, family := range []string{"fx1", "gx1", "g", "f.1-g.1"} {
		setCell(t, bt.Client, "days", "s#2021-03-05", family, "v.1", at(1), binary.BigEndian.AppendUint64(nil, 8))
	}
	setCell(t, bt.Client, "days", "s#2021-03-05", "f.1", "vx1", at(2), []byte("not known"))
	crossed := map[string]bool{}
	r := newReaderOf(onRows(bt.Client, func(row bigtable.Row) error {
		for family := range row {
			crossed[family] = true
		}
		return nil
	}), l, clockAt(600))
	latest, err := r.Latest(t.Context(), sample{Series: "s"})
	must(t, err)
	same(t, []string{"7n", "7n"}, append(read(t, r, day0, at(86400), ReadOptions{}), sampleText(latest)))
	same(t, map[string]bool{"f.1": true, "g.1": true}, crossed)
}

// If no event in the range can be live, the read sends no request.
func TestNoRequestIfNothingIsLive(t *testing.T) {
	for _, l := range []*mappingOf[sample]{days(), singles(), metrics()} {
		l.Table.Families = []Family{aged("f.1", time.Hour), aged("g", 2*time.Hour)}
		l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 1}}
		r, c := stored(t, l, 0)
		ended := Operation{}
		r.reader.options.Now = clockAt(86400).Now
		r.reader.options.Hooks.End = func(_ context.Context, op Operation, err error) { ended = op; must(t, err) }
		for _, to := range []int{0, 3600, 86400 - 2*3600} {
			same(t, []string(nil), read(t, r, day0, at(to), ReadOptions{}))
			same(t, Operation{Name: "Read", Table: l.Table.ID}, ended)
			same(t, counts{}, *c)
		}
		read(t, r, day0, at(86400-2*3600).Add(time.Millisecond), ReadOptions{})
		assert.Same(t, true, c.Requests > 0, l.Table.ID, "one event may be alive")
	}
}

// The write time is not part of the event: it is not written without other columns, and a row that contains nothing else is not an event.
func TestWrittenAtAloneIsNoEvent(t *testing.T) {
	for _, base := range []*mappingOf[sample]{days(), singles()} {
		l := *base
		l.Columns = []Column{{Name: "v.1", WrittenAt: true}, {Name: "note"}}
		bt := newBigtable(t, &l)
		e := sample{Series: "s", Time: at(0), Value: 1}
		assert.Is(t, codec.ErrNoValue, newWriterOf(bt.Client, []*mappingOf[sample]{&l}).Write(t.Context(), e), l.Table.ID)
		same(t, 0, storedCells(t, bt, l.Table.ID))
		must(t, newWriterOf(bt.Client, []*mappingOf[sample]{base}).Write(t.Context(), e))
		r := newReaderOf(bt.Client, &l)
		same(t, []string(nil), read(t, r, day0, at(86400), ReadOptions{}))
		_, err := r.Latest(t.Context(), e)
		assert.Is(t, ErrNotFound, err, l.Table.ID)
	}
}

// An event is not replaced by one that no table would store, also if writes skip those.
func TestReplaceByExpired(t *testing.T) {
	for _, skipped := range []bool{false, true} {
		l := days()
		l.Table.Families = []Family{aged("f.1", time.Hour)}
		o := writeAt(7200)
		o.SkipExpired = skipped
		bt, old := newBigtable(t, l), sample{Series: "s", Time: at(7000), Value: 1}
		w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, o)
		must(t, w.Write(t.Context(), old))
		err := w.Replace(t.Context(), old, sample{Series: "s", Time: at(0), Value: 2})
		assert.Is(t, codec.ErrExpired, err, "skipped", skipped)
		same(t, []string{"1"}, read(t, newReaderOf(bt.Client, l, clockAt(7200)), day0, at(86400), ReadOptions{}))
	}
}

// expiring returns days with one column per sample, which expires Value seconds into day0.
func expiring() *mappingOf[sample] {
	l := days()
	l.Pattern, l.Table.ID = codec.BucketOffsets, "expiring"
	family := aged("f.1", time.Second)
	family.Life = codec.Lifetime{Timestamp: codec.TimestampExpiry}
	l.Table.Families, l.Columns = []Family{family}, []Column{{Name: "v", Whole: true}}
	l.TTLFields = func(e *sample) TTLFields {
		end := at(int(e.Value))
		return TTLFields{ExpiresAt: &end}
	}
	l.Put = putValue(l)
	return l
}

// Data that expires during a request does not hide an older event: Latest requests the same rows again.
func TestLatestOfExpiringEvents(t *testing.T) {
	l := expiring()
	bt := newBigtable(t, l)
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(3)).WriteAll(t.Context(), []sample{
		{Series: "s", Time: at(1), Value: 5000}, {Series: "s", Time: at(2), Value: 200},
	}))
	now := 0
	later := newReaderOf(bt.Client, l, ReaderOptions{Now: func() time.Time {
		defer func() { now += 200 }()
		return at(now)
	}})
	for _, o := range []ReadOptions{{}, {NewestFirst: true}, {LatestOnly: true}} {
		now = 100 // time of the request
		same(t, []string{"5000"}, read(t, later, at(0), at(1000), o))
	}
	now = 100
	e, err := later.Latest(t.Context(), sample{Series: "s"})
	must(t, err)
	same(t, uint64(5000), e.Value)

	l = metrics()
	l.Table.Families = []Family{aged("f.1", 48*time.Hour)}
	bt = newBigtable(t, l)
	setCell(t, bt.Client, l.Table.ID, "s#note#2021-03-05", "f.1", "note", at(60), nil) // the first column has no row
	var op Operation
	o := tells(0, &op)
	now = 2*86400 + 5
	o.Now = func() time.Time { now += 20; return at(now) }
	_, err = newReaderOf(bt.Client, l, o).Latest(t.Context(), sample{Series: "s"})
	assert.Is(t, ErrNotFound, err)
	same(t, 5, op.Requests)
}
