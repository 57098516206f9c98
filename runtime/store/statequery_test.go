package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// machine is an event with a series of two values.
type machine struct {
	Series machineSeries
	Time   time.Time
	Level  int64
}

type machineSeries struct {
	Site string
	Unit uint64
}

type machineColumns struct {
	Series []machineSeries
	Time   []time.Time
	Level  []int64
}

// machines returns a mapping of machines.
func machines(table string, pattern codec.Pattern, key codec.Key) *Mapping[machine] {
	columns := NewColumns(
		SeriesPart(func(e *machine) *machineSeries { return &e.Series }, func(c *machineColumns) *[]machineSeries { return &c.Series },
			func(s *machineSeries, to []any) []any { return append(to, &s.Site, &s.Unit) }),
		TimePart(func(e *machine) *time.Time { return &e.Time }, func(c *machineColumns) *[]time.Time { return &c.Time }),
		RequiredColumn("level", codec.Binary.Int64, func(e *machine) *int64 { return &e.Level }, func(c *machineColumns) *[]int64 { return &c.Level }),
	)
	key.Delimiter = "#"
	return NewMapping(columns, Mapping[machine]{
		Table: Table{ID: table, Families: []Family{{Name: "f"}}}, Pattern: pattern, Key: key, Precision: time.Millisecond,
		Check: func(*machine) error { return nil },
	})
}

// TestStateKeys reads the newest event of each series with every query that the events answer, while
// the table of states has keys of other forms and orders: what it cannot answer is searched.
func TestStateKeys(t *testing.T) {
	t.Parallel()
	site := func(f codec.KeyForm) codec.Segment {
		return codec.Segment{Name: "site", Type: codec.StringSegment, Form: f, Series: 0}
	}
	unit := func(f codec.KeyForm) codec.Segment {
		return codec.Segment{Name: "unit", Type: codec.Uint64Segment, Form: f, Series: 1}
	}
	escaped, padded := codec.KeyForm{Escape: true}, codec.KeyForm{Pad: 6}
	constant := codec.Segment{Kind: codec.ConstSegment, Const: "v1"}
	salt := codec.Segment{Kind: codec.SaltSegment, Buckets: 3, Salted: []int{0, 1}}
	keys := map[string][]codec.Segment{
		"same":            {site(escaped), unit(padded)},
		"reversed":        {site(escaped), unit(codec.KeyForm{Pad: 19, Reverse: true})},
		"reversed binary": {site(escaped), unit(codec.KeyForm{Encoding: codec.KeyBinary, Reverse: true})},
		"narrow":          {site(escaped), unit(codec.KeyForm{Pad: 2})},
		"no pad":          {site(escaped), unit(codec.KeyForm{})},
		"hex":             {site(codec.KeyForm{Encoding: codec.KeyHex}), unit(codec.KeyForm{Encoding: codec.KeyHex, Pad: 4})},
		"little endian":   {site(escaped), unit(codec.KeyForm{Encoding: codec.KeyLittleEndian})},
		"fixed":           {site(codec.KeyForm{Pad: 2}), unit(padded)},
		"not escaped":     {site(codec.KeyForm{}), unit(padded)},
		"turned":          {unit(padded), site(escaped)},
		"joined":          {func() codec.Segment { s := site(codec.KeyForm{}); s.Joined = true; return s }(), unit(padded)},
		"const":           {constant, site(escaped), unit(padded)},
		"salt":            {salt, site(escaped), unit(padded)},
		"salt between":    {site(escaped), salt, unit(padded)},
	}
	bucket := bucketOf(24*time.Hour, "2006-01-02")
	events := machines("events", codec.BucketNewCells, codec.Key{Segments: []codec.Segment{site(escaped), unit(padded), {Kind: codec.BucketSegment}}, Bucket: bucket})
	mappings := []*Mapping[machine]{events}
	var names []string
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		mappings = append(mappings, machines(fmt.Sprint("now", i), codec.Latest, codec.Key{Segments: keys[name], Bucket: codec.EndlessBucket}))
	}
	bt := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error { return SetUp(ctx, b, "", Tables(mappings)) })
	var all []machine
	for i, s := range []string{"aa", "ab", "ba"} {
		for n := range 12 {
			for level := range 2 {
				all = append(all, machine{Series: machineSeries{s, uint64(n)}, Time: at(60*n + level), Level: int64(100*i + n)})
			}
		}
	}
	of := func(site string, unit uint64) machine { return machine{Series: machineSeries{site, unit}} }
	wholeUnit := &Query[machine]{Name: "Unit", Given: codec.Given{Series: []int{0, 1}}}
	bySite := &Query[machine]{Name: "Site", Given: codec.Given{Series: []int{0}}}
	prefix := &Query[machine]{Name: "Prefix", Given: codec.Given{Series: []int{0}, Last: codec.GivenPrefix}}
	sites := &Query[machine]{Name: "Sites", Given: codec.Given{Series: []int{0}, Last: codec.GivenRange}}
	units := &Query[machine]{Name: "Units", Given: codec.Given{Series: []int{0, 1}, Last: codec.GivenRange}}
	selections := []Selection[machine]{
		(&Query[machine]{Name: "All"}).Bind(of("", 0)), SeriesOf(of("ab", 3)), SeriesOf(of("long", 1000)), wholeUnit.Bind(of("ab", 100_000)),
		bySite.Bind(of("ab", 0)), bySite.Bind(of("other", 0)), prefix.Bind(of("a", 0)), prefix.Bind(of("", 0)), prefix.Bind(of("ab", 0)), prefix.Bind(of("c#", 0)),
		sites.Range(of("aa", 0), of("b", 0)), sites.Range(of("ab", 0), of("ab", 0)), sites.Range(of("a", 0), of("zzz", 0)), sites.Range(of("b", 0), of("a", 0)),
		units.Range(of("ab", 0), of("ab", 9)), units.Range(of("ab", 2), of("ab", 11)), units.Range(of("ab", 5), of("ab", 100_000)),
		units.Range(of("ab", 9), of("ab", 9)), units.Range(of("ab", 9), of("ab", 2)),
	}
	for _, now := range mappings[1:] {
		with := *events
		with.State = now
		must(t, NewWriter(bt.Client, []*Mapping[machine]{&with, now}, writeAt(3600)).WriteAll(t.Context(), all))
	}
	newest := func(l *Mapping[machine], s Selection[machine]) (found []string) {
		r := NewReader(bt.Client, l, clockAt(3600))
		for e, err := range r.Read(t.Context(), s, at(0), at(7200), ReadOptions{LatestOnly: true}) {
			found = append(found, fmt.Sprint(e.Series, e.Time.Unix(), e.Level, err))
		}
		slices.Sort(found)
		return found
	}
	for i, s := range selections {
		want := newest(events, s)
		for k, name := range names {
			with := *events
			with.State = mappings[k+1]
			if got := newest(&with, s); !slices.Equal(got, want) {
				t.Errorf("selection %d, key %s: %v, want %v", i, name, got, want)
			}
		}
	}
}

// TestStateUntilNow reads the newest events of ranges that end about now: as callers take the time before they read, the table
// of states answers, but for series with an event after the range, and the operation names it.
func TestStateUntilNow(t *testing.T) {
	t.Parallel()
	segments := []codec.Segment{{Name: "site", Type: codec.StringSegment, Form: codec.KeyForm{Escape: true}}, {Name: "unit", Type: codec.Uint64Segment, Form: codec.KeyForm{Pad: 6}, Series: 1}}
	events := machines("events", codec.BucketNewCells, codec.Key{Segments: append(slices.Clone(segments), codec.Segment{Kind: codec.BucketSegment}), Bucket: bucketOf(24*time.Hour, "2006-01-02")})
	now := machines("now", codec.Latest, codec.Key{Segments: segments, Bucket: codec.EndlessBucket})
	with := *events
	with.State = now
	bt := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return SetUp(ctx, b, "", Tables([]*Mapping[machine]{events, now}))
	})
	var all []machine
	for unit := range uint64(5) {
		all = append(all, machine{machineSeries{"a", unit}, at(3000), 1}, machine{machineSeries{"a", unit}, at(3400), 2})
	}
	all = append(all, machine{machineSeries{"a", 3}, at(3599), 3}, machine{machineSeries{"a", 4}, at(3700), 4})
	must(t, NewWriter(bt.Client, []*Mapping[machine]{&with, now}, writeAt(3600)).WriteAll(t.Context(), all))
	newest := func(l *Mapping[machine], to time.Time) (found []string, tables []string) {
		o := clockAt(3600)
		o.Hooks = Hooks{End: func(_ context.Context, op Operation, _ error) { tables = append(tables, fmt.Sprint(op.Rows, op.Table)) }}
		for e, err := range NewReader(bt.Client, l, o).Read(t.Context(), (&Query[machine]{Name: "All"}).Bind(machine{}), at(0), to, ReadOptions{LatestOnly: true}) {
			found = append(found, fmt.Sprint(e.Series, e.Time.Unix(), e.Level, err))
		}
		slices.Sort(found)
		return found, tables
	}
	for seconds, rows := range map[int]string{3800: "5now", 3600: "6now", 3599: "7now", 3541: "7now", 3540: "7now", 3539: "5events", 3200: "5events"} {
		want, _ := newest(events, at(seconds))
		got, read := newest(&with, at(seconds))
		if !slices.Equal(want, got) || len(got) != 5 || strings.ReplaceAll(strings.Join(read, ","), " ", "") != rows {
			t.Errorf("until %d: %v of %v rows, want %v of %s", seconds, got, read, want, rows)
		}
	}
}
