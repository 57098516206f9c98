package store

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// pole is an event of a series with three values: two strings and a number.
type pole struct {
	Of    line
	Time  time.Time
	Level int64
}

type line struct {
	Region, Line string
	Unit         int64
}

type poleColumns struct {
	Of    []line
	Time  []time.Time
	Level []int64
}

func (e *pole) String() string {
	return fmt.Sprintf("%s/%s/%d %d: %d", e.Of.Region, e.Of.Line, e.Of.Unit, e.Time.Unix(), e.Level)
}

// poles returns a mapping of poles and its columns.
func poles(pattern codec.Pattern, segments ...codec.Segment) (*mappingOf[pole], *columnsOf[pole, poleColumns]) {
	parts := []Part{
		SeriesPart(0, func(l *line, to []any) []any { return append(to, &l.Region, &l.Line, &l.Unit) }), TimePart(1),
	}
	if pattern == codec.SingleSerialized || pattern == codec.BucketSerialized {
		parts = append(parts, EventColumn("e", func(dst []byte, e *pole) []byte { return strconv.AppendInt(dst, e.Level, 10) },
			func(e *pole, datum []byte) (err error) {
				e.Level, err = strconv.ParseInt(string(datum), 10, 64)
				return err
			}, FieldPart[int64](2)))
	} else {
		parts = append(parts, RequiredColumn(2, "level", codec.Binary.Int64))
	}
	columns := columnsByName[pole, poleColumns](parts...)
	return newMappingOf(columns, mappingOf[pole]{
		Table: Table{ID: "poles", Families: []Family{aged("f", 400*24*time.Hour)}}, Pattern: pattern,
		Key:       codec.Key{Delimiter: "#", Segments: segments, Time: codec.TimeFormat{Kind: codec.UnixMillis}, Bucket: bucketOf(24*time.Hour, "2006-01-02")},
		Precision: time.Second, Check: func(*pole) error { return nil },
	}), columns
}

// poleKeys are keys in which the given values are adjacent, salted, or apart.
func poleKeys(pattern codec.Pattern) map[string][]codec.Segment {
	region, line := codec.Segment{Name: "region"}, codec.Segment{Name: "line", Series: 1, Form: codec.KeyForm{Escape: true}}
	unit := codec.Segment{Name: "unit", Series: 2, Type: codec.Int64Segment, Form: codec.KeyForm{Encoding: codec.KeyDecimal, Pad: 3}}
	at := codec.Segment{Kind: codec.TimeSegment}
	if pattern.Bucketed() {
		at.Kind = codec.BucketSegment
	}
	salt := codec.Segment{Kind: codec.SaltSegment, Buckets: 3, Salted: []int{0, 1}}
	out := map[string][]codec.Segment{"adjacent": {region, line, unit, at}, "salted": {salt, region, line, unit, at}, "apart": {region, at, line, unit}}
	if pattern == codec.BucketNewColumns {
		metric := codec.Segment{Kind: codec.MetricSegment}
		out = map[string][]codec.Segment{"adjacent": {metric, region, line, unit, at}}
	}
	return out
}

// poleCase is a table with poles, and two ways to read it.
type poleCase struct {
	mapping *mappingOf[pole]
	columns *columnsOf[pole, poleColumns]
	clients []*bigtable.Client
	stored  []pole
}

const poleNow = 86400 * 4

// newPoleCase writes poles of a few series to a table.
func newPoleCase(t *testing.T, pattern codec.Pattern, segments []codec.Segment) *poleCase {
	t.Helper()
	c := &poleCase{}
	c.mapping, c.columns = poles(pattern, segments...)
	bt := serve(t, c.mapping)
	plain := opened(t)(storetest.ConnectPlain(t.Context(), bt.Addr))
	c.clients = []*bigtable.Client{bt.Client, plain}
	random := rand.New(rand.NewPCG(3, uint64(pattern)))
	for _, region := range []string{"n", "ns", "s"} {
		for _, of := range []string{"a", "a#", "ab", "b"} {
			for unit := range 3 {
				for k := range 1 + random.IntN(3) {
					c.stored = append(c.stored, pole{line{region, of, int64(unit)}, at(86400*k + 3600*unit), int64(random.IntN(5))})
				}
			}
		}
	}
	must(t, c.writer(0).WriteAll(t.Context(), c.stored))
	return c
}

func (c *poleCase) writer(path int) *writerOf[pole] {
	return newWriterOf(c.clients[path], []*mappingOf[pole]{c.mapping}, writeAt(poleNow))
}

// polesOf returns the texts of events in a fixed order.
func polesOf(events iter.Seq2[pole, error]) (out []string, err error) {
	for e, err := range events {
		if err != nil {
			return out, err
		}
		out = append(out, e.String())
	}
	slices.Sort(out)
	return out, nil
}

// choice is a selection, and what it selects.
type choice struct {
	name    string
	of      Selection
	selects func(e *pole) bool
}

// byRegion selects the poles of regions.
var byRegion = &Query{Name: "ByRegion", Given: codec.Given{Series: []int{0}}}

// everyPole selects all poles.
var everyPole = byRegion.Many(pointersTo([]pole{{Of: line{Region: "n"}}, {Of: line{Region: "ns"}}, {Of: line{Region: "s"}}}))

// choices are selections of all forms that keys allow, with repeated values, nested prefixes and overlapping ranges.
func choices(key *codec.Key, conditions bool) (out []choice) {
	at := func(region, text string, unit int64) any { return &pole{Of: line{region, text, unit}} }
	query := func(last codec.GivenPart, series ...int) *Query {
		return &Query{Name: "Q", Given: codec.Given{Series: series, Last: last}}
	}
	add := func(name string, of Selection, selects func(e *pole) bool) {
		if given := of.Query.Given; given.Last == codec.GivenValue || key.Path(given).Partial { // else, there is no range of rows
			out = append(out, choice{name, of, selects})
		}
	}
	add("region", byRegion.Bind(at("n", "", 0)), func(e *pole) bool { return e.Of.Region == "n" })
	add("apart", query(codec.GivenValue, 0, 2).Many([]any{at("n", "", 1), at("s", "", 2), at("n", "", 1), at("none", "", 0)}),
		func(e *pole) bool {
			return e.Of.Region == "n" && e.Of.Unit == 1 || e.Of.Region == "s" && e.Of.Unit == 2
		})
	add("lines", query(codec.GivenValue, 0, 1).Many([]any{at("n", "a", 0), at("none", "ab", 0), at("s", "b", 0)}),
		func(e *pole) bool {
			return e.Of.Region == "n" && e.Of.Line == "a" || e.Of.Region == "s" && e.Of.Line == "b"
		})
	add("units", query(codec.GivenValue, 0, 1, 2).Many([]any{at("n", "a", 1), at("s", "b", 0), at("s", "a", 1)}),
		func(e *pole) bool {
			return e.Of.Unit == 1 && e.Of.Line == "a" && e.Of.Region != "ns" || e.Of.Unit == 0 && e.Of.Line == "b" && e.Of.Region == "s"
		})
	add("no values", query(codec.GivenValue, 0, 1).Many(nil), func(*pole) bool { return false })
	add("prefixes", query(codec.GivenPrefix, 0, 1).Many([]any{at("n", "a", 0), at("n", "a#", 0), at("s", "", 0)}),
		func(e *pole) bool { return e.Of.Region == "n" && e.Of.Line[0] == 'a' || e.Of.Region == "s" })
	add("prefix of regions", query(codec.GivenPrefix, 0).Bind(at("n", "", 0)), func(e *pole) bool { return e.Of.Region[0] == 'n' })
	add("ranges", query(codec.GivenRange, 0, 1).ManyRanges([]any{at("n", "a#", 0), at("n", "ab", 0)}, []any{at("n", "aa", 0), at("n", "ac", 0)}),
		func(e *pole) bool { return e.Of.Region == "n" && (e.Of.Line == "a#" || e.Of.Line == "ab") })
	add("overlapping ranges", query(codec.GivenRange, 0, 1).ManyRanges([]any{at("n", "a", 0), at("n", "ab", 0)}, []any{at("n", "b", 0), at("n", "c", 0)}),
		func(e *pole) bool { return e.Of.Region == "n" })
	add("range of units", query(codec.GivenRange, 0, 1, 2).Range(at("n", "ab", 1), at("n", "ab", 3)),
		func(e *pole) bool { return e.Of.Region == "n" && e.Of.Line == "ab" && e.Of.Unit > 0 })
	if conditions {
		q := query(codec.GivenValue, 0)
		q.Conditions = []codec.Condition{{Field: "level"}}
		add("levels", q.Bind(at("n", "", 0)).Where(&pole{Level: 1}, &pole{Level: 3}), func(e *pole) bool { return e.Of.Region == "n" && 1 <= e.Level && e.Level < 3 })
	}
	return out
}

// left checks that all events but those of a choice are stored, and writes these again.
func (c *poleCase) left(t *testing.T, chosen choice) {
	t.Helper()
	var want []string
	for _, e := range c.stored {
		if !chosen.selects(&e) {
			want = append(want, e.String())
		}
	}
	slices.Sort(want)
	got, err := polesOf(newReaderOf(c.clients[0], c.mapping, clockAt(poleNow)).Read(t.Context(), everyPole, time.Time{}, at(poleNow)))
	must(t, err)
	if !slices.Equal(want, got) {
		t.Fatalf("%s: %d are left, want %d", chosen.name, len(got), len(want))
	}
	must(t, c.writer(0).WriteAll(t.Context(), c.stored))
}

// TestSelections compares what selections of all forms read, list in pages, include and delete with what they select, in all patterns and on both paths.
func TestSelections(t *testing.T) {
	t.Parallel()
	for _, pattern := range slices.DeleteFunc(codec.Patterns(), codec.Pattern.NewestOnly) { // see TestState
		for name, segments := range poleKeys(pattern) {
			t.Run(fmt.Sprint(pattern, ", ", name), func(t *testing.T) {
				t.Parallel()
				c := newPoleCase(t, pattern, segments)
				for i, chosen := range choices(&c.mapping.Key, pattern == codec.SingleUnserialized || pattern == codec.BucketNewCells) {
					if testlong.Enabled() || (i+int(pattern)+len(name))%8 == 0 { // other tables have the others
						c.check(t, chosen, i%2)
					}
				}
			})
		}
	}
}

// check compares a selection with what it selects.
func (c *poleCase) check(t *testing.T, chosen choice, path int) {
	t.Helper()
	ranges, err := c.mapping.given().Rows(chosen.of)
	must(t, err)
	selects, err := c.mapping.given().Selects(chosen.of)
	must(t, err)
	var want, series []string
	for i := range c.stored {
		e := &c.stored[i]
		key, err := c.mapping.untyped().rowKey(event{e}, map[bool]string{true: "level"}[c.mapping.Pattern == codec.BucketNewColumns])
		must(t, err)
		is := chosen.selects(e)
		within := slices.ContainsFunc(ranges, func(r KeyRange) bool { return r.Start <= string(key) && (r.End == "" || string(key) < r.End) })
		if selects(e) != is || is && !within {
			t.Fatalf("%s: selects %s is %t, and row %q is in %q", chosen.name, e, !is, key, ranges)
		}
		if is {
			want, series = append(want, e.String()), append(series, fmt.Sprint(e.Of))
		}
	}
	slices.Sort(want)
	slices.Sort(series)
	r := newReaderOf(c.clients[path], c.mapping, clockAt(poleNow))
	got, err := polesOf(r.Read(t.Context(), chosen.of, at(0), at(poleNow)))
	if err != nil || !slices.Equal(want, got) {
		t.Fatalf("%s, path %d: %v\nwant %q\ngot  %q", chosen.name, path, err, want, got)
	}
	got = nil
	for page := (Page{Size: 1 + len(series)/6}); len(got) <= len(series); page.Token = page.Next {
		for of, err := range readSeries[line](t.Context(), r, chosen.of, at(0), at(poleNow), SeriesOptions{Page: &page}) {
			must(t, err)
			got = append(got, fmt.Sprint(of))
		}
		if page.Next == "" {
			break
		}
	}
	slices.Sort(got)
	if series = slices.Compact(series); !slices.Equal(series, got) {
		t.Fatalf("%s, path %d, series in pages:\nwant %q\ngot  %q", chosen.name, path, series, got)
	}
	w := c.writer(path)
	for i, o := range []DeleteOptions{{DryRun: true}, {}, {}} {
		d, err := w.DeleteRange(t.Context(), chosen.of, at(0), at(poleNow), o)
		if n := map[bool]int{true: len(want)}[i < 2]; err != nil || d.Events() != n {
			t.Fatalf("%s, path %d: deleted %v, want %d: %v", chosen.name, path, d, n, err)
		}
	}
	c.left(t, chosen)
	if d, err := w.DeleteAll(t.Context(), chosen.of); err != nil || d.Events() != len(want) {
		t.Fatalf("%s, path %d: deleted %v, want %d: %v", chosen.name, path, d, len(want), err)
	}
	c.left(t, chosen)
}

// TestMalformedSelections passes selections whose parts do not fit each other to every verb, and an inverted range.
func TestMalformedSelections(t *testing.T) {
	t.Parallel()
	c := newPoleCase(t, codec.BucketNewCells, poleKeys(codec.BucketNewCells)["adjacent"])
	q := &Query{Name: "ByLine", Given: codec.Given{Series: []int{0, 1}}, Conditions: []codec.Condition{{Field: "level"}}}
	two := pointersTo(c.stored[:2])
	r, w := newReaderOf(c.clients[0], c.mapping, clockAt(poleNow)), c.writer(0)
	for _, of := range []Selection{
		{}, {Low: two}, {Query: q}, {Query: q, Low: two, Bounds: two},
		{Query: q, Low: two, High: two[:1], Many: true}, {Query: q, Low: two[:1], High: two},
		{Query: q, Low: two[:1], Bounds: two[:1]}, {Query: q, Many: true, Bounds: []any{}},
	} {
		_, read := polesOf(r.Read(t.Context(), of, at(0), at(poleNow)))
		columns := readColumns(t.Context(), r, c.columns, new(poleColumns), of, at(0), at(poleNow))
		series := firstError(readSeries[line](t.Context(), r, of, at(0), at(poleNow)))
		_, rows := c.mapping.given().Rows(of)
		_, selects := c.mapping.given().Selects(of)
		_, within := w.DeleteRange(t.Context(), of, at(0), at(poleNow))
		_, all := w.DeleteAll(t.Context(), of)
		for verb, err := range map[string]error{"read": read, "columns": columns, "series": series, "rows": rows, "selects": selects, "delete": within, "delete all": all} {
			asError[*SelectionError](t, err, of, verb)
		}
	}
	ranges := &Query{Name: "ByRegions", Given: codec.Given{Series: []int{0}, Last: codec.GivenRange}}
	for high, want := range map[string]error{"n": nil, "a": ErrBounds} {
		count := &counts{}
		got, err := polesOf(newReaderOf(counted(c.clients[0], count), c.mapping).Read(t.Context(), ranges.Range(&pole{Of: line{Region: "n"}}, &pole{Of: line{Region: high}}), at(0), at(poleNow)))
		if len(got) > 0 || !errors.Is(err, want) || count.Requests > 0 {
			t.Errorf("from n to %s: %v, %v, %+v", high, got, err, *count)
		}
	}
	c.left(t, choice{"malformed", Selection{}, func(*pole) bool { return false }})
}

// TestConditionsOfOneTable deletes by a condition of one table from two, again if a request fails.
func TestConditionsOfOneTable(t *testing.T) {
	rows, _ := poles(codec.SingleUnserialized, poleKeys(codec.SingleUnserialized)["adjacent"]...)
	blobs, _ := poles(codec.BucketSerialized, poleKeys(codec.BucketSerialized)["apart"]...)
	blobs.Table.ID = "blobs"
	mappings := []*mappingOf[pole]{rows, blobs}
	bt := serve(t, mappings...)
	var all []pole
	for i := range 40 {
		all = append(all, pole{line{"n", "a", int64(i % 2)}, at(3600 * i), int64(i % 5)})
	}
	q := &Query{Name: "ByLevel", Table: "poles", Given: codec.Given{Series: []int{0}}, Conditions: []codec.Condition{{Field: "level"}}}
	of := q.Bind(&pole{Of: line{Region: "n"}}).Where(&pole{Level: 1}, &pole{Level: 3})
	for failing := range 4 {
		must(t, newWriterOf(bt.Client, mappings, writeAt(poleNow)).WriteAll(t.Context(), all))
		requests := 0
		client := through(bt.Client, func(a asked, send func() error) error {
			if a.rows != nil {
				requests++
			}
			if requests > failing {
				return status.Error(codes.PermissionDenied, "no")
			}
			return send()
		})
		d, err := newWriterOf(client, mappings, writeAt(poleNow)).DeleteAll(t.Context(), of)
		if failing < 2 == (err == nil) || len(d.Tables) != 2 || failing < 2 && d.Tables[0].Events > 0 {
			t.Fatalf("%d requests: %v, %v", failing, d, err)
		}
		d, err = newWriterOf(bt.Client, mappings, writeAt(poleNow)).DeleteAll(t.Context(), of)
		must(t, err)
		if want := map[bool]int{true: 16}[failing < 2]; d.Tables[0].Events != want {
			t.Errorf("%d requests: then %v, want %d events", failing, d, want)
		}
		for _, l := range mappings {
			left, err := polesOf(newReaderOf(bt.Client, l, clockAt(poleNow)).Read(t.Context(), everyPole, at(0), at(poleNow)))
			must(t, err)
			assert.Same(t, 24, len(left), failing, l.Table.ID)
		}
	}
	q.Table = "other"
	_, err := newWriterOf(bt.Client, mappings).DeleteAll(t.Context(), of)
	asError[*UnknownTableError](t, err)
}
