package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

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
func poles(pattern codec.Pattern, segments ...codec.Segment) (*Mapping[pole], *Columns[pole, poleColumns]) {
	level, levels := func(e *pole) *int64 { return &e.Level }, func(c *poleColumns) *[]int64 { return &c.Level }
	parts := []Part[pole, poleColumns]{
		SeriesPart(func(e *pole) *line { return &e.Of }, func(c *poleColumns) *[]line { return &c.Of }, func(l *line, to []any) []any { return append(to, &l.Region, &l.Line, &l.Unit) }),
		TimePart(func(e *pole) *time.Time { return &e.Time }, func(c *poleColumns) *[]time.Time { return &c.Time }),
	}
	if pattern == codec.SingleSerialized || pattern == codec.BucketSerialized {
		parts = append(parts, EventColumn("e", func(dst []byte, e *pole) []byte { return strconv.AppendInt(dst, e.Level, 10) },
			func(e *pole, datum []byte) (err error) {
				e.Level, err = strconv.ParseInt(string(datum), 10, 64)
				return err
			}, FieldPart(level, levels)))
	} else {
		parts = append(parts, RequiredColumn("level", codec.Binary.Int64, level, levels))
	}
	columns := NewColumns(parts...)
	return NewMapping(columns, Mapping[pole]{
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

// choice is a selection, and what it selects.
type choice struct {
	name    string
	of      Selection[pole]
	selects func(e *pole) bool
}

// drawChoice draws a selection of any form. Values may be listed several times, prefixes may begin with
// others, and ranges may overlap.
func drawChoice(random *rand.Rand, key *codec.Key, conditions bool) (c choice, ok bool) {
	some := func(of ...string) string { return of[random.IntN(len(of))] }
	draw := func() pole {
		return pole{Of: line{some("n", "s", "none"), some("a", "a#", "ab", "b"), int64(random.IntN(4))}}
	}
	given := [][]int{{0}, {0, 1}, {0, 1, 2}, {0, 2}}[random.IntN(4)]
	q := &Query[pole]{Name: "Drawn", Given: codec.Given{Series: given}}
	last := given[len(given)-1]
	switch form := random.IntN(3); {
	case form == 1 && last < 2:
		q.Given.Last = codec.GivenPrefix
	case form == 2:
		q.Given.Last = codec.GivenRange
	}
	if q.Given.Last != codec.GivenValue && !key.Path(q.Given).Partial {
		return c, false // no range of rows
	}
	value := func(e *pole) func(i int) string { // sorts like the values
		return func(i int) string { return []string{e.Of.Region, e.Of.Line, fmt.Sprintf("%03d", e.Of.Unit)}[i] }
	}
	has := func(e, low, high *pole) bool {
		of, from, to := value(e), value(low), value(high)
		for _, i := range given[:len(given)-1] {
			if of(i) != from(i) {
				return false
			}
		}
		switch q.Given.Last {
		case codec.GivenPrefix:
			return strings.HasPrefix(of(last), from(last))
		case codec.GivenRange:
			return from(last) <= of(last) && of(last) < to(last)
		}
		return of(last) == from(last)
	}
	n := 1
	c.of = Selection[pole]{Query: q, Many: random.IntN(2) == 0}
	if c.of.Many {
		n = random.IntN(5)
	}
	for range n {
		low := draw()
		if q.Given.Last == codec.GivenPrefix {
			low.Of.Region, low.Of.Line = some(low.Of.Region, low.Of.Region, ""), some("", low.Of.Line)
			if last == 1 && low.Of.Region == "" {
				low.Of.Region = "n"
			}
		}
		c.of.Low = append(c.of.Low, low)
		if high := draw(); q.Given.Last == codec.GivenRange {
			if high = (pole{Of: high.Of}); value(&high)(last) < value(&low)(last) {
				c.of.Low[len(c.of.Low)-1], high = high, low
			}
			for _, i := range given[:len(given)-1] {
				switch from := c.of.Low[len(c.of.Low)-1].Of; i {
				case 0:
					high.Of.Region = from.Region
				case 1:
					high.Of.Line = from.Line
				}
			}
			c.of.High = append(c.of.High, high)
		}
	}
	least, most := int64(0), int64(100)
	if conditions && random.IntN(2) == 0 {
		q.Conditions = []codec.Condition{{Field: "level"}}
		least, most = int64(random.IntN(4)), int64(random.IntN(4)+2)
		least = min(least, most)
		c.of = c.of.Where(pole{Level: least}, pole{Level: most})
	}
	c.name = fmt.Sprintf("%+v of %+v to %+v, many %t, levels %d to %d", q.Given, c.of.Low, c.of.High, c.of.Many, least, most)
	c.selects = func(e *pole) bool {
		for i := range c.of.Low {
			high := &c.of.Low[i]
			if c.of.High != nil {
				high = &c.of.High[i]
			}
			if has(e, &c.of.Low[i], high) {
				return least <= e.Level && e.Level < most
			}
		}
		return false
	}
	return c, true
}

// poleCase is a table with poles, and two ways to read it.
type poleCase struct {
	mapping *Mapping[pole]
	columns *Columns[pole, poleColumns]
	clients []*bigtable.Client
	stored  []pole
	addr    string
}

const poleNow = 86400 * 4

// newPoleCase writes poles of a few series to a table.
func newPoleCase(t *testing.T, pattern codec.Pattern, segments []codec.Segment) *poleCase {
	t.Helper()
	c := &poleCase{}
	c.mapping, c.columns = poles(pattern, segments...)
	bt := serve(t, c.mapping)
	plain, err := storetest.ConnectPlain(t.Context(), bt.Addr)
	must(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	c.clients, c.addr = []*bigtable.Client{bt.Client, plain}, bt.Addr
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

func (c *poleCase) writer(path int) *Writer[pole] {
	return NewWriter(c.clients[path], []*Mapping[pole]{c.mapping}, writeAt(poleNow))
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

// TestSelections compares all verbs on selections of all forms with what they select, in all patterns
// and on both paths.
func TestSelections(t *testing.T) {
	t.Parallel()
	for _, pattern := range slices.DeleteFunc(codec.Patterns(), codec.Pattern.NewestOnly) { // see TestState
		for name, segments := range poleKeys(pattern) {
			t.Run(fmt.Sprint(pattern, ", ", name), func(t *testing.T) {
				t.Parallel()
				c := newPoleCase(t, pattern, segments)
				random := rand.New(rand.NewPCG(5, uint64(pattern)))
				conditions := pattern == codec.SingleUnserialized || pattern == codec.BucketNewCells
				for n := 0; n < testlong.Pick(3, 60); {
					if drawn, ok := drawChoice(random, &c.mapping.Key, conditions); ok {
						c.check(t, drawn, n%2, at(86400), at(86400*2+3601))
						n++
					}
				}
			})
		}
	}
}

// check compares all verbs on a selection with what it selects.
func (c *poleCase) check(t *testing.T, chosen choice, path int, from, to time.Time) {
	t.Helper()
	var want, series []string
	whole := 0 // at all times
	for _, e := range c.stored {
		if !chosen.selects(&e) {
			continue
		}
		whole++
		if of := fmt.Sprint(e.Of); !e.Time.Before(from) && e.Time.Before(to) {
			if want = append(want, e.String()); !slices.Contains(series, of) {
				series = append(series, of)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(series)
	is := func(verb string, want, got []string, err error) {
		t.Helper()
		if err != nil || !slices.Equal(want, got) {
			t.Fatalf("%s, path %d, %s: %v\nwant %q\ngot  %q", chosen.name, path, verb, err, want, got)
		}
	}
	r := NewReader(c.clients[path], c.mapping, clockAt(poleNow))
	for _, o := range []ReadOptions{{}, {NewestFirst: true}} {
		got, err := polesOf(r.Read(t.Context(), chosen.of, from, to, o))
		is(fmt.Sprintf("read %+v", o), want, got, err)
	}
	var columns poleColumns
	err := ReadColumns(t.Context(), r, c.columns, &columns, chosen.of, from, to)
	got, _ := polesOf(func(yield func(pole, error) bool) {
		for i := range columns.Time {
			yield(pole{columns.Of[i], columns.Time[i], columns.Level[i]}, nil)
		}
	})
	is("columns", want, got, err)
	got = nil
	for s, err := range ReadSeries[line](t.Context(), r, chosen.of, from, to) {
		must(t, err)
		got = append(got, fmt.Sprint(s))
	}
	lines, err := seriesInPages[line](t.Context(), r, chosen.of, from, to, 1+len(series)/3)
	var paged []string
	for _, s := range lines {
		paged = append(paged, fmt.Sprint(s))
	}
	is("series in pages", got, paged, err)
	slices.Sort(got)
	is("series", series, got, nil)
	c.checkRows(t, chosen)
	c.checkDelete(t, chosen, path, len(want), whole, from, to)
}

// checkRows checks which events a selection includes, and that the ranges of rows contain them.
func (c *poleCase) checkRows(t *testing.T, chosen choice) {
	t.Helper()
	ranges, err := c.mapping.Rows(chosen.of)
	must(t, err)
	selects, err := c.mapping.Selects(chosen.of)
	must(t, err)
	for i := range c.stored {
		e := &c.stored[i]
		if is := chosen.selects(e); selects(e) != is {
			t.Fatalf("%s: selects %s is %t", chosen.name, e, !is)
		}
		metric := ""
		if c.mapping.Pattern == codec.BucketNewColumns {
			metric = "level"
		}
		key, err := c.mapping.untyped().rowKey(event{e}, metric)
		must(t, err)
		if chosen.selects(e) && !slices.ContainsFunc(ranges, func(r KeyRange) bool {
			return r.Start <= string(key) && (r.End == "" || string(key) < r.End)
		}) {
			t.Fatalf("%s: row %q is in none of %q", chosen.name, key, ranges)
		}
	}
}

// left checks that all events but the deleted ones are stored, and writes these again.
func (c *poleCase) left(t *testing.T, chosen choice, deleted func(e *pole) bool) {
	t.Helper()
	var want []string
	for _, e := range c.stored {
		if !deleted(&e) {
			want = append(want, e.String())
		}
	}
	slices.Sort(want)
	r := NewReader(c.clients[0], c.mapping, clockAt(poleNow))
	q := &Query[pole]{Name: "All", Given: codec.Given{Series: []int{0}}}
	got, err := polesOf(r.Read(t.Context(), q.Many([]pole{{Of: line{Region: "n"}}, {Of: line{Region: "ns"}}, {Of: line{Region: "s"}}}), time.Time{}, at(poleNow)))
	must(t, err)
	if !slices.Equal(want, got) {
		t.Fatalf("%s: %d are left, want %d", chosen.name, len(got), len(want))
	}
	must(t, c.writer(0).WriteAll(t.Context(), c.stored))
}

// checkDelete deletes what a selection selects, and writes it again.
func (c *poleCase) checkDelete(t *testing.T, chosen choice, path, within, whole int, from, to time.Time) {
	t.Helper()
	w := c.writer(path)
	count := func(n int, d Deletion, err error) {
		t.Helper()
		if err != nil || d.Events() != n {
			t.Fatalf("%s, path %d: deleted %v, want %d: %v", chosen.name, path, d, n, err)
		}
	}
	d, err := w.DeleteRange(t.Context(), chosen.of, from, to, DeleteOptions{DryRun: true})
	count(within, d, err)
	d, err = w.DeleteRange(t.Context(), chosen.of, from, to)
	count(within, d, err)
	again, err := w.DeleteRange(t.Context(), chosen.of, from, to)
	count(0, again, err)
	c.left(t, chosen, func(e *pole) bool { return chosen.selects(e) && !e.Time.Before(from) && e.Time.Before(to) })
	d, err = w.DeleteAll(t.Context(), chosen.of)
	count(whole, d, err)
	c.left(t, chosen, chosen.selects)
}

// TestRangesWithCommonPrefix reads two ranges, the ends of each of which begin with the same letter.
func TestRangesWithCommonPrefix(t *testing.T) {
	t.Parallel()
	c := newPoleCase(t, codec.BucketNewCells, poleKeys(codec.BucketNewCells)["adjacent"])
	q := &Query[pole]{Name: "ByLines", Given: codec.Given{Series: []int{0, 1}, Last: codec.GivenRange}}
	of := func(text string) pole { return pole{Of: line{Region: "n", Line: text}} }
	selects := func(e *pole) bool { return e.Of.Region == "n" && (e.Of.Line == "a#" || e.Of.Line == "ab") }
	ranges := q.ManyRanges([]pole{of("a#"), of("ab")}, []pole{of("aa"), of("ac")})
	for path := range c.clients {
		c.check(t, choice{name: "ranges", of: ranges, selects: selects}, path, at(0), at(86400*3))
	}
}

// TestMalformedSelections passes selections whose parts do not fit each other to every verb.
func TestMalformedSelections(t *testing.T) {
	t.Parallel()
	c := newPoleCase(t, codec.BucketNewCells, poleKeys(codec.BucketNewCells)["adjacent"])
	q := &Query[pole]{Name: "ByLine", Given: codec.Given{Series: []int{0, 1}}, Conditions: []codec.Condition{{Field: "level"}}}
	low, two := c.stored[0], c.stored[:2]
	for _, of := range []Selection[pole]{
		{}, {Low: two}, {Query: q}, {Query: q, Low: two, Bounds: two},
		{Query: q, Low: two, High: two[:1], Many: true}, {Query: q, Low: two[:1], High: two},
		{Query: q, Low: []pole{low}, Bounds: two[:1]}, {Query: q, Many: true, Bounds: []pole{}},
	} {
		r, w := NewReader(c.clients[0], c.mapping, clockAt(poleNow)), c.writer(0)
		_, read := polesOf(r.Read(t.Context(), of, at(0), at(poleNow)))
		columns := ReadColumns(t.Context(), r, c.columns, new(poleColumns), of, at(0), at(poleNow))
		var series error
		for _, err := range ReadSeries[line](t.Context(), r, of, at(0), at(poleNow)) {
			series = err
		}
		_, rows := c.mapping.Rows(of)
		_, selects := c.mapping.Selects(of)
		_, within := w.DeleteRange(t.Context(), of, at(0), at(poleNow))
		_, all := w.DeleteAll(t.Context(), of)
		for verb, err := range map[string]error{"read": read, "columns": columns, "series": series, "rows": rows, "selects": selects, "delete": within, "delete all": all} {
			if _, ok := errors.AsType[*SelectionError](err); !ok {
				t.Errorf("%+v: %s: %v", of, verb, err)
			}
		}
	}
	c.left(t, choice{name: "malformed"}, func(*pole) bool { return false })
}

// TestBrokenSelections lets the streams of reads of selections break off, also those of dry runs of
// deletions: the results are the same.
func TestBrokenSelections(t *testing.T) {
	t.Parallel()
	limit := make(chan struct{}, 64)
	for n, pattern := range []codec.Pattern{codec.SingleUnserialized, codec.BucketNewCells, codec.BucketSerialized} {
		c := newPoleCase(t, pattern, poleKeys(pattern)[[]string{"adjacent", "salted", "apart"}[n]])
		conn, err := grpc.NewClient(c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		for path, connect := range []func(context.Context, string, ...grpc.DialOption) (*bigtable.Client, error){storetest.Connect, storetest.ConnectPlain} {
			b := &breaking{to: bigtablepb.NewBigtableClient(conn), whole: path == 1, reads: map[string]*brokenRead{}}
			client, err := connect(t.Context(), startServer(t, b))
			must(t, err)
			defer func() { _ = client.Close() }()
			random := rand.New(rand.NewPCG(7, uint64(2*n+path)))
			reads := map[string]func(ctx context.Context, r *Reader[pole]) ([]string, error){}
			for len(reads) < testlong.Pick(3, 10) {
				drawn, ok := drawChoice(random, &c.mapping.Key, pattern != codec.BucketSerialized)
				if !ok || !slices.ContainsFunc(c.stored, func(e pole) bool { return drawn.selects(&e) && e.Time.Before(at(86400)) }) {
					continue
				}
				reads["read "+drawn.name] = func(ctx context.Context, r *Reader[pole]) ([]string, error) {
					return polesOf(r.Read(ctx, drawn.of, at(0), at(86400)))
				}
				reads["series "+drawn.name] = func(ctx context.Context, r *Reader[pole]) (out []string, err error) {
					for s, err := range ReadSeries[line](ctx, r, drawn.of, at(0), at(86400)) {
						if err != nil {
							return out, err
						}
						out = append(out, fmt.Sprint(s))
					}
					return out, nil
				}
				reads["delete "+drawn.name] = func(ctx context.Context, _ *Reader[pole]) ([]string, error) {
					w := NewWriter(client, []*Mapping[pole]{c.mapping}, WriterOptions{Now: clockAt(poleNow).Now, Parallelism: 1})
					d, err := w.DeleteRange(ctx, drawn.of, at(0), at(86400), DeleteOptions{DryRun: true})
					return []string{d.String()}, err
				}
			}
			breakOff(t, b, fmt.Sprintf("%s, path %d", pattern, path), NewReader(client, c.mapping, clockAt(poleNow)), reads, limit)
		}
	}
}

// TestFailedSelectedDeletes lets a read of a deletion fail for good after some rows: other events stay, the
// counts are of what is deleted, and the second call deletes the rest.
func TestFailedSelectedDeletes(t *testing.T) {
	t.Parallel()
	denied := status.Error(codes.PermissionDenied, "no")
	for _, pattern := range []codec.Pattern{codec.SingleUnserialized, codec.BucketNewCells} {
		c := newPoleCase(t, pattern, poleKeys(pattern)["adjacent"])
		random := rand.New(rand.NewPCG(9, uint64(pattern)))
		for failing := 0; failing < testlong.Pick(8, 60); {
			drawn, ok := drawChoice(random, &c.mapping.Key, true)
			if !ok {
				continue
			}
			failing++
			rows := 0
			client := fakeClient{c.clients[1], func(api bigtable.TableAPI) bigtable.TableAPI {
				return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
					failed := false
					err := api.ReadRows(ctx, set, func(row bigtable.Row) bool {
						rows++
						failed = rows > failing
						return !failed && f(row)
					}, opts...)
					if failed {
						return denied
					}
					return err
				}}
			}}
			w := NewWriter(client, []*Mapping[pole]{c.mapping}, WriterOptions{Now: clockAt(poleNow).Now, Parallelism: 1})
			selected := 0
			for _, e := range c.stored {
				if drawn.selects(&e) {
					selected++
				}
			}
			first, err := w.DeleteAll(t.Context(), drawn.of)
			if err != nil && !errors.Is(err, denied) || err == nil && first.Events() != selected {
				t.Fatalf("%s: %v, %v", drawn.name, first, err)
			}
			second, err := c.writer(0).DeleteAll(t.Context(), drawn.of)
			must(t, err)
			if first.Events()+second.Events() != selected {
				t.Fatalf("%s: %v and %v, want %d", drawn.name, first, second, selected)
			}
			c.left(t, drawn, drawn.selects)
		}
	}
}

// TestExpiredConditions deletes by a field that has expired, but is still stored, before and after the other
// fields of the event: the event is deleted if a read would return it.
func TestExpiredConditions(t *testing.T) {
	l, _ := gauges(codec.SingleUnserialized, aged("f", 400*24*time.Hour), aged("g", 10*time.Hour))
	bt := serve(t, l)
	score, zero := -1.0, 0.0
	e := gauge{Series: "s", Time: at(0), Level: 1, Score: &score}
	must(t, NewWriter(bt.Client, []*Mapping[gauge]{l}, writeAt(0)).Write(t.Context(), e))
	by := func(field Field, low, high gauge) Selection[gauge] {
		q := &Query[gauge]{Name: "By", Given: codec.Given{Series: []int{0}}, Conditions: []codec.Condition{{Field: string(field)}}}
		return q.Bind(gauge{Series: "s"}).Where(low, high)
	}
	lowest := -2.0
	scored, leveled := by("score", gauge{Score: &lowest}, gauge{Score: &zero}), by("level", gauge{Level: 1}, gauge{Level: 2})
	for _, c := range []struct {
		hour   int
		of     Selection[gauge]
		events int
		cells  int // that are left
	}{
		{20, scored, 0, 3}, {500 * 24, leveled, 0, 3}, {20, leveled, 1, 0},
	} {
		d, err := NewWriter(bt.Client, []*Mapping[gauge]{l}, writeAt(3600*c.hour)).DeleteAll(t.Context(), c.of)
		if n := storedCells(t, bt, l.Table.ID); err != nil || d.Events() != c.events || n != c.cells {
			t.Errorf("after %d hours: %v, %v, %d cells are left, want %+v", c.hour, d, err, n, c)
		}
	}
}

// TestConditionsOfOneTable deletes by a condition from two tables, of which only one can select by it. While
// any request fails, the table that finds the events keeps them, so that another call deletes the rest.
func TestConditionsOfOneTable(t *testing.T) {
	rows, _ := poles(codec.SingleUnserialized, poleKeys(codec.SingleUnserialized)["adjacent"]...)
	blobs, _ := poles(codec.BucketSerialized, poleKeys(codec.BucketSerialized)["apart"]...)
	blobs.Table.ID = "blobs"
	bt := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return SetUp(ctx, b, "", []Table{rows.Table, blobs.Table})
	})
	mappings := []*Mapping[pole]{rows, blobs}
	var all []pole
	for i := range 40 {
		all = append(all, pole{line{"n", "a", int64(i % 2)}, at(3600 * i), int64(i % 5)})
	}
	q := &Query[pole]{Name: "ByLevel", Table: "poles", Given: codec.Given{Series: []int{0}}, Conditions: []codec.Condition{{Field: "level"}}}
	of := q.Bind(pole{Of: line{Region: "n"}}).Where(pole{Level: 1}, pole{Level: 3})
	denied := status.Error(codes.PermissionDenied, "no")
	for failing := range 4 {
		must(t, NewWriter(bt.Client, mappings, writeAt(poleNow)).WriteAll(t.Context(), all))
		requests := 0
		client := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
			return tableFunc{TableAPI: api, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
				if requests++; requests > failing {
					return nil, denied
				}
				return api.ApplyBulk(ctx, rows, muts)
			}}
		}}
		d, err := NewWriter(client, mappings, writeAt(poleNow)).DeleteAll(t.Context(), of)
		if failing < 2 == (err == nil) || len(d.Tables) != 2 || failing < 2 && d.Tables[0].Events > 0 {
			t.Fatalf("%d requests: %v, %v", failing, d, err)
		}
		d, err = NewWriter(bt.Client, mappings, writeAt(poleNow)).DeleteAll(t.Context(), of)
		must(t, err)
		if want := map[bool]int{true: 16}[failing < 2]; d.Tables[0].Events != want {
			t.Errorf("%d requests: then %v, want %d events", failing, d, want)
		}
		for _, l := range mappings {
			left, err := polesOf(NewReader(bt.Client, l, clockAt(poleNow)).Read(t.Context(), (&Query[pole]{Name: "All", Given: codec.Given{Series: []int{0}}}).Bind(pole{Of: line{Region: "n"}}), at(0), at(poleNow)))
			if must(t, err); len(left) != 24 {
				t.Errorf("%d requests: %d events are left in %s", failing, len(left), l.Table.ID)
			}
		}
	}
	q.Table = "other"
	var unknown *UnknownTableError
	if _, err := NewWriter(bt.Client, mappings).DeleteAll(t.Context(), of); !errors.As(err, &unknown) {
		t.Errorf("%v, want an *UnknownTableError", err)
	}
}
