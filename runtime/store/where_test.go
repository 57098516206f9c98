package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

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
func gauges(pattern codec.Pattern, families ...Family) (*Mapping[gauge], *Columns[gauge, gaugeColumns]) {
	parts := []Part[gauge, gaugeColumns]{
		SeriesPart(func(e *gauge) *string { return &e.Series }, func(c *gaugeColumns) *[]string { return &c.Series }, stringSeries),
		TimePart(func(e *gauge) *time.Time { return &e.Time }, func(c *gaugeColumns) *[]time.Time { return &c.Time }),
	}
	score := len(families) - 1
	if families[0].Class > 0 {
		parts = append(parts, ClassPart(func(e *gauge) *int { return &e.Class }, func(c *gaugeColumns) *[]int { return &c.Class }))
		score = 0
	}
	level, levels := func(e *gauge) *int64 { return &e.Level }, func(c *gaugeColumns) *[]int64 { return &c.Level }
	if pattern.Bucketed() {
		parts = append(parts, RequiredColumn("level", codec.Binary.Int64, level, levels))
	} else {
		parts = append(parts, RequiredColumn("level", codec.Binary.Int64, level, levels, Was("old", codec.Binary.Int64)),
			OptionalColumn("score", codec.Binary.Float64, func(e *gauge) **float64 { return &e.Score }, func(c *gaugeColumns) *[]*float64 { return &c.Score }).In(score),
			DefaultColumn("kind", codec.Text.String, "none", func(e *gauge) *string { return &e.Kind }, func(c *gaugeColumns) *[]string { return &c.Kind }))
	}
	columns := NewColumns(parts...)
	key := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.TimeSegment}}, Time: codec.TimeFormat{Kind: codec.UnixMillis}}
	if pattern.Bucketed() {
		key = codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}}, Bucket: bucketOf(24*time.Hour, "2006-01-02")}
	}
	return NewMapping(columns, Mapping[gauge]{
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
func storeGauges(t *testing.T, l *Mapping[gauge]) *storetest.Bigtable {
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
	must(t, NewWriter(bt.Client, []*Mapping[gauge]{l}, writeAt(0)).WriteAll(t.Context(), events))
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
		m.Set(family, "level", stamp-1000, codec.AppendBinaryInt64(nil, int64(random.IntN(7)-3)))
		switch i % 4 {
		case 0:
			m.Set(family, "old", stamp, codec.AppendBinaryInt64(nil, int64(random.IntN(7)-3)))
		case 1:
			m.DeleteCellsInColumn(family, "level")
			m.Set(family, "old", stamp, codec.AppendBinaryInt64(nil, int64(random.IntN(7)-3)))
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
// ones have replaced, defaults, and all options; as events, columns and pages. The server returns no
// rows of other events, except for those that only newer cells decide.
func TestWhere(t *testing.T) {
	const now = 1800 * 60
	classes := []Family{aged("a", 400*24*time.Hour), aged("b", 400*24*time.Hour)}
	classes[0].Class, classes[1].Class = 1, 2
	for name, mapping := range map[string]func() (*Mapping[gauge], *Columns[gauge, gaugeColumns]){
		"rows": func() (*Mapping[gauge], *Columns[gauge, gaugeColumns]) {
			return gauges(codec.SingleUnserialized, Family{Name: "f"})
		},
		"two families": func() (*Mapping[gauge], *Columns[gauge, gaugeColumns]) {
			return gauges(codec.SingleUnserialized, aged("f", 400*24*time.Hour), aged("g", 10*time.Hour))
		},
		"one version": func() (*Mapping[gauge], *Columns[gauge, gaugeColumns]) {
			return gauges(codec.SingleUnserialized, oldAndMany("f", 1))
		},
		"classes": func() (*Mapping[gauge], *Columns[gauge, gaugeColumns]) {
			return gauges(codec.SingleUnserialized, classes...)
		},
		"cells": func() (*Mapping[gauge], *Columns[gauge, gaugeColumns]) {
			return gauges(codec.BucketNewCells, aged("f", 10*time.Hour))
		},
		"cells, classes": func() (*Mapping[gauge], *Columns[gauge, gaugeColumns]) {
			return gauges(codec.BucketNewCells, classes...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, columns := mapping()
			bt := storeGauges(t, l)
			plain, err := storetest.ConnectPlain(t.Context(), bt.Addr)
			must(t, err)
			defer func() { _ = plain.Close() }()
			for n, client := range []Client{bt.Client, plain} {
				if n > 0 && name != "rows" {
					continue // the paths differ in how they decode
				}
				counts := &counts{}
				r := NewReader(counted(client, counts), l, clockAt(now))
				for i, c := range whereCases() {
					if (i+len(name))%3 > 0 && !testlong.Enabled() {
						continue // other tables have it
					}
					if !l.Pattern.Bucketed() || c.single {
						checkWhere(t, r, columns, c, counts, n+i)
					}
				}
			}
		})
	}
}

// checkWhere checks the reads of a condition.
func checkWhere(t *testing.T, r *Reader[gauge], columns *Columns[gauge, gaugeColumns], c whereCase, counts *counts, n int) {
	t.Helper()
	series := &testQuery[gauge]{Name: "Series", Spans: wholeOf(r).Spans, Conditions: c.conditions}
	everything := &testQuery[gauge]{Name: "All", MultiSeries: true, AllTimes: true, Contiguous: true, Conditions: c.conditions, Spans: func(*gauge) ([]codec.Span, error) {
		return []codec.Span{{Prefix: "s", Delimiter: "#"}}, nil
	}}
	from, to := at(1800), at(1800*58)
	if r.reader.mapping.Pattern.Bucketed() {
		everything.AllTimes, everything.Spans = false, func(*gauge) ([]codec.Span, error) {
			return []codec.Span{{Prefix: "s0#", Delimiter: "#", Whole: true, MaxBytes: 1 << 20}}, nil
		}
	}
	base := gauge{Series: "s0"}
	options := []ReadOptions{{}, {NewestFirst: true}, {Limit: 2}, {Limit: 3, NewestFirst: true}, {LatestOnly: true}, {Fields: []Field{}}, {Fields: []Field{"level"}}}
	for i, q := range []*testQuery[gauge]{series, everything} {
		free, where := *q, q.Where(c.low, c.high)
		free.Conditions = nil
		var all []gauge
		for e, err := range readOf(t.Context(), r, &free, SeriesOf(base), from, to) {
			must(t, err)
			if c.meets(&e) {
				all = append(all, e)
			}
		}
		for k, o := range options {
			if k > 0 && (k+n+i)%3 > 0 && !testlong.Enabled() {
				continue // others have it
			}
			what := fmt.Sprintf("%s, %s, %+v", c.name, q.Name, o)
			want := wantGauges(all, o, c.conditions)
			*counts = countsOf()
			got, err := gaugesOf(t.Context(), r, where, base, from, to, o, c.conditions)
			must(t, err)
			if diff := cmp.Diff(want, sortedIf(o.LatestOnly, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
			if c.none && counts.Cells > 0 {
				t.Errorf("%s: received %d cells of other events", what, counts.Cells)
			}
			var into gaugeColumns
			must(t, columnsReadOf(t.Context(), r, columns, &into, where, SeriesOf(base), from, to, o))
			if len(into.Time) != len(want) || len(into.Level) != len(want) {
				t.Errorf("%s: %d events in columns, want %d", what, len(into.Time), len(want))
			}
		}
		if (n+i)%3 > 0 {
			continue
		}
		var paged []string
		for token := ""; ; {
			page := &Page{Size: 7, Token: token}
			got, err := gaugesOf(t.Context(), r, where, base, from, to, ReadOptions{Page: page}, c.conditions)
			must(t, err)
			if paged = append(paged, got...); page.Next == "" {
				break
			}
			token = page.Next
		}
		same(t, wantGauges(all, ReadOptions{}, c.conditions), paged)
	}
}

// wantGauges returns what a read of events, which are in ascending order of their rows, has to yield.
func wantGauges(all []gauge, o ReadOptions, conditions []codec.Condition) (want []string) {
	all = slices.Clone(all)
	if o.NewestFirst || o.LatestOnly {
		slices.Reverse(all)
	}
	seen := map[string]bool{}
	for _, e := range all {
		if o.Limit > 0 && len(want) == o.Limit || o.LatestOnly && seen[e.Series] {
			continue
		}
		seen[e.Series] = true
		want = append(want, shownWith(e, o, conditions))
	}
	return sortedIf(o.LatestOnly, want)
}

func countsOf() counts { return counts{} }

func sortedIf(sorts bool, texts []string) []string {
	if sorts {
		slices.Sort(texts)
	}
	return texts
}

// gaugesOf returns the texts of the events of a query.
func gaugesOf(ctx context.Context, r *Reader[gauge], q *testQuery[gauge], base gauge, from, to time.Time, o ReadOptions, conditions []codec.Condition) (out []string, err error) {
	for e, err := range readOf(ctx, r, q, SeriesOf(base), from, to, o) {
		if err != nil {
			return out, err
		}
		out = append(out, shownWith(e, o, conditions))
	}
	return out, nil
}

// shownWith returns the text of an event with the fields that a read requests, or that conditions
// need.
func shownWith(e gauge, o ReadOptions, conditions []codec.Condition) string {
	has := func(f Field) bool {
		return o.Fields == nil || slices.Contains(o.Fields, f) || slices.ContainsFunc(conditions, func(c codec.Condition) bool { return Field(c.Field) == f })
	}
	if !has("level") {
		e.Level = 0
	}
	if !has("score") {
		e.Score = nil
	}
	if !has("kind") {
		e.Kind = ""
	}
	return e.String()
}

// TestWhereIsRefused reads with bounds that no event can be compared to.
func TestWhereIsRefused(t *testing.T) {
	l, _ := gauges(codec.SingleUnserialized, Family{Name: "f"})
	r := NewReader(serve(t, l).Client, l, clockAt(100))
	nan, zero := math.NaN(), 0.0
	query := func(f Field) *testQuery[gauge] {
		return &testQuery[gauge]{Name: "Q", Spans: spansOf(l), Conditions: []codec.Condition{{Field: string(f)}}}
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
		_, err := gaugesOf(t.Context(), r, test.q, gauge{Series: "s"}, at(0), at(1), ReadOptions{}, nil)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestTokenOfOtherBounds continues a page with other values of conditions.
func TestTokenOfOtherBounds(t *testing.T) {
	l, _ := gauges(codec.SingleUnserialized, Family{Name: "f"})
	r := NewReader(storeGauges(t, l).Client, l, clockAt(200_000))
	q := &testQuery[gauge]{Name: "Q", Spans: spansOf(l), Conditions: []codec.Condition{{Field: "level"}}}
	page := &Page{Size: 1}
	read := func(high int64) error {
		_, err := gaugesOf(t.Context(), r, q.Where(gauge{Level: -3}, gauge{Level: high}), gauge{Series: "s0"}, at(0), at(200_000), ReadOptions{Page: page}, nil)
		page.Token = page.Next
		return err
	}
	must(t, read(5))
	must(t, read(5))
	var other *TokenError
	if err := read(4); !errors.As(err, &other) {
		t.Errorf("%v, want a *TokenError", err)
	}
}
