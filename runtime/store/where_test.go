package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// gauge is an event with a field of each kind of condition.
type gauge struct {
	Series string
	Time   time.Time
	Class  int
	Level  int64
	Score  *float64
	Kind   string // "none" if an event lacks it
}

type gaugeColumns struct {
	Series []string
	Time   []time.Time
	Class  []int
	Level  []int64
	Score  []*float64
	Kind   []string
}

func (e *gauge) String() string {
	score := "-"
	if e.Score != nil {
		score = fmt.Sprint(*e.Score)
	}
	return fmt.Sprintf("%s %d: %d %s %s", e.Series, e.Time.Unix(), e.Level, score, e.Kind)
}

// gauges returns a mapping of gauges. Level was in column old, score is in the last family.
func gauges(pattern codec.Pattern, families ...Family) (*mappingOf[gauge], *columnsOf[gauge, gaugeColumns]) {
	parts := []Part{SeriesPart(0, stringSeries), TimePart(1)}
	score := len(families) - 1
	if families[0].Class > 0 {
		parts = append(parts, ClassPart[int](2))
		score = 0
	}
	if pattern.Bucketed() {
		parts = append(parts, RequiredColumn(3, "level", codec.Binary.Int64))
	} else {
		parts = append(parts, RequiredColumn(3, "level", codec.Binary.Int64, Was("old", codec.Binary.Int64)),
			OptionalColumn(4, "score", codec.Binary.Float64).In(score),
			DefaultColumn(5, "kind", codec.Text.String, "none"))
	}
	columns := columnsByName[gauge, gaugeColumns](parts...)
	key := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.TimeSegment}}, Time: codec.TimeFormat{Kind: codec.UnixMillis}}
	if pattern.Bucketed() {
		key = codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}}, Bucket: bucketOf(24*time.Hour, "2006-01-02")}
	}
	return newMappingOf(columns, mappingOf[gauge]{
		Table: Table{ID: "gauges", Families: families}, Pattern: pattern, Key: key, Precision: time.Millisecond,
		Check: func(e *gauge) error { return nil },
	}), columns
}

// whereCase is a condition and what it says of an event.
type whereCase struct {
	name       string
	conditions []codec.Condition
	low, high  gauge
	meets      func(e *gauge) bool
	single     bool // also of tables with a single column
	none       bool // no stored value meets it
}

func whereCases() []whereCase {
	zero, minus := 0.0, -1.5
	level := func(low, high int64) whereCase {
		return whereCase{fmt.Sprintf("level [%d, %d)", low, high), []codec.Condition{{Field: "level"}}, gauge{Level: low}, gauge{Level: high},
			func(e *gauge) bool { return low <= e.Level && e.Level < high }, true, low > 3 || low == high}
	}
	return []whereCase{
		level(-2, 2), level(0, 2), level(-3, 0), level(math.MinInt64, math.MaxInt64), level(1, 1), level(100, 200),
		{"level = 1", []codec.Condition{{Field: "level", Equal: true}}, gauge{Level: 1}, gauge{}, func(e *gauge) bool { return e.Level == 1 }, true, false},
		{"score [-1.5, 0)", []codec.Condition{{Field: "score"}}, gauge{Score: &minus}, gauge{Score: &zero},
			func(e *gauge) bool { return e.Score != nil && minus <= *e.Score && *e.Score < 0 }, false, false},
		{"kind = none", []codec.Condition{{Field: "kind", Equal: true}}, gauge{Kind: "none"}, gauge{}, func(e *gauge) bool { return e.Kind == "none" }, false, false},
		{"kind = a", []codec.Condition{{Field: "kind", Equal: true}}, gauge{Kind: "a"}, gauge{}, func(e *gauge) bool { return e.Kind == "a" }, false, false},
		{"kind [b, o), level [0, 3)", []codec.Condition{{Field: "kind"}, {Field: "level"}}, gauge{Kind: "b"}, gauge{Kind: "o", Level: 3},
			func(e *gauge) bool { return "b" <= e.Kind && e.Kind < "o" && 0 <= e.Level && e.Level < 3 }, false, false},
	}
}

// storeGauges writes random gauges and what other programs may have written beside them: older values of
// columns, levels in the old column, beside newer ones or alone, and rows without the kind.
func storeGauges(t *testing.T, l *mappingOf[gauge]) *storetest.Bigtable {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	bt := serve(t, l)
	var events []gauge
	for i := range 60 {
		e := gauge{Series: fmt.Sprint("s", i%2), Time: at(1800 * i), Level: int64(random.IntN(7) - 3), Kind: []string{"a", "b", "none"}[random.IntN(3)], Class: 1 + i%len(l.Table.Families)}
		if s := float64(random.IntN(7)-3) / 2; s != 1 {
			e.Score = &s
		}
		events = append(events, e)
	}
	must(t, newWriterOf(bt.Client, []*mappingOf[gauge]{l}, writeAt(0)).WriteAll(t.Context(), events))
	if l.Pattern.Bucketed() {
		return bt
	}
	table := bt.Client.Open(l.Table.ID)
	for i := range events {
		key, err := l.untyped().rowKey(event{&events[i]}, "")
		must(t, err)
		family := l.Table.Families[0].Name
		if l.Table.Families[0].Class > 0 {
			family = l.Table.Families[events[i].Class-1].Name
		}
		stamp := bigtable.Timestamp(events[i].Time.UnixMicro())
		m := bigtable.NewMutation()
		m.Set(family, "level", stamp-1000, codec.Binary.Int64.Append(nil, int64(random.IntN(7)-3)))
		switch i % 4 {
		case 0:
			m.Set(family, "old", stamp, codec.Binary.Int64.Append(nil, int64(random.IntN(7)-3)))
		case 1:
			m.DeleteCellsInColumn(family, "level")
			m.Set(family, "old", stamp, codec.Binary.Int64.Append(nil, int64(random.IntN(7)-3)))
		case 2:
			if l.Table.Families[0].Class == 0 {
				m.DeleteCellsInColumn(family, "kind")
			}
		}
		must(t, table.Apply(t.Context(), string(key), m))
	}
	return bt
}

// TestWhere compares reads with conditions to reads without, of which it takes the events that meet
// the conditions: in all patterns that allow conditions, with families of different and several
// ages, part of whose cells have expired, with columns that older events have, values that newer
// ones have replaced, and defaults. The server returns no rows of other events, except for those that only newer cells decide.
func TestWhere(t *testing.T) {
	classes := []Family{aged("a", 400*24*time.Hour), aged("b", 400*24*time.Hour)}
	classes[0].Class, classes[1].Class = 1, 2
	for i, families := range [][]Family{
		{{Name: "f"}}, {aged("f", 400*24*time.Hour), aged("g", 10*time.Hour)}, {oldAndMany("f", 1)}, classes, // of rows
		{aged("f", 10*time.Hour)}, classes, // of cells
	} {
		pattern := codec.SingleUnserialized
		if i > 3 {
			pattern = codec.BucketNewCells
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			l, columns := gauges(pattern, families...)
			bt := storeGauges(t, l)
			plain := opened(t)(storetest.ConnectPlain(t.Context(), bt.Addr))
			counts := &counts{}
			for k, c := range whereCases() {
				if (!l.Pattern.Bucketed() || c.single) && (k%4 == i%4 || testlong.Enabled()) { // other tables have the rest
					client := []Client{bt.Client, plain}[k%2] // which differ in how they decode
					checkWhere(t, newReaderOf(counted(client, counts), l, clockAt(1800*60)), columns, c, counts)
				}
			}
		})
	}
}

// checkWhere checks the reads of a condition.
func checkWhere(t *testing.T, r *readerOf[gauge], columns *columnsOf[gauge, gaugeColumns], c whereCase, counts *counts) {
	t.Helper()
	span := codec.Span{Prefix: "s", Delimiter: "#"}
	bucketed := r.reader.mapping.Pattern.Bucketed()
	if bucketed {
		span = codec.Span{Prefix: "s0#", Delimiter: "#", Whole: true, MaxBytes: 1 << 20}
	}
	for _, q := range []*testQuery[gauge]{
		{Name: "Series", Spans: wholeOf(r).Spans},
		{Name: "All", MultiSeries: true, AllTimes: !bucketed, Contiguous: true, Spans: func(*gauge) ([]codec.Span, error) { return []codec.Span{span}, nil }},
	} {
		read := func(q *testQuery[gauge], o ReadOptions) (out []string) {
			for e, err := range readOf(t.Context(), r, q, seriesOf(gauge{Series: "s0"}), at(1800), at(1800*58), o) {
				must(t, err)
				if q.Conditions != nil || c.meets(&e) {
					out = append(out, e.String())
				}
			}
			return out
		}
		want := read(q, ReadOptions{})
		q.Conditions = c.conditions
		where := q.Where(c.low, c.high)
		counts.Cells = 0
		got := read(where, ReadOptions{})
		if c.none && counts.Cells > 0 || !slices.Equal(want, got) {
			t.Errorf("%s, %s, %+v: got\n%v\nwant\n%v", c.name, q.Name, *counts, got, want)
		}
		var into gaugeColumns
		must(t, columnsReadOf(t.Context(), r, columns, &into, where, seriesOf(gauge{Series: "s0"}), at(1800), at(1800*58)))
		if some := read(where, ReadOptions{Fields: []Field{}}); len(some) != len(want) || len(into.Time) != len(want) || len(into.Level) != len(want) {
			t.Errorf("%s, %s: %d events in columns, %d without fields, want %d", c.name, q.Name, len(into.Time), len(some), len(want))
		}
		slices.Reverse(want)
		if got := read(where, ReadOptions{NewestFirst: true, Limit: 2}); !slices.Equal(want[:min(2, len(want))], got) {
			t.Errorf("%s, %s: the newest are %v of %v", c.name, q.Name, got, want)
		}
	}
}

// TestWhereIsRefused reads with bounds that no event can be compared to, and continues a page with other ones.
func TestWhereIsRefused(t *testing.T) {
	l, _ := gauges(codec.SingleUnserialized, Family{Name: "f"})
	r := newReaderOf(storeGauges(t, l).Client, l, clockAt(200_000))
	nan, zero := math.NaN(), 0.0
	query := func(f Field) *testQuery[gauge] {
		return &testQuery[gauge]{Name: "Q", Spans: spansOf(l), Conditions: []codec.Condition{{Field: string(f)}}}
	}
	read := func(q *testQuery[gauge], o ReadOptions) error {
		for _, err := range readOf(t.Context(), r, q, seriesOf(gauge{Series: "s0"}), at(0), at(200_000), o) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, test := range map[string]struct {
		q    *testQuery[gauge]
		want error
	}{
		"no values":     {query("level"), ErrBounds},
		"inverted":      {query("level").Where(gauge{Level: 2}, gauge{Level: 1}), ErrBounds},
		"NaN":           {query("score").Where(gauge{Score: &nan}, gauge{Score: &zero}), ErrBounds},
		"to NaN":        {query("score").Where(gauge{Score: &zero}, gauge{Score: &nan}), ErrBounds},
		"no end":        {query("score").Where(gauge{Score: &zero}, gauge{}), ErrBounds},
		"unknown field": {query("levels").Where(gauge{}, gauge{}), ErrNoField},
	} {
		assert.Is(t, test.want, read(test.q, ReadOptions{}), name)
	}
	page := &Page{Size: 1}
	for _, high := range []int64{5, 5, 4} {
		err := read(query("level").Where(gauge{Level: -3}, gauge{Level: high}), ReadOptions{Page: page})
		if _, other := errors.AsType[*TokenError](err); other != (high == 4) || !other && err != nil {
			t.Errorf("below %d: %v", high, err)
		}
		page.Token = page.Next
	}
}
