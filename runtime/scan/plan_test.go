package scan_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// hours returns a table with hourly buckets or with one row per event.
func hours(pattern codec.Pattern, lives ...codec.Lifetime) *scan.Table {
	t := &scan.Table{
		Pattern: pattern,
		Offset:  codec.Offset{Bucket: codec.Bucket{Every: time.Hour, Label: labels[0]}, Precision: time.Second},
		TimeKey: codec.TimeFormat{Kind: codec.UnixSeconds},
	}
	for i, life := range lives {
		t.Families = append(t.Families, scan.Family{Name: string(rune('a' + i)), Life: life})
	}
	return t
}

// one is the span of one series.
var one = []codec.Span{{Prefix: "s#", Delimiter: "#", Whole: true, MaxBytes: codec.MaxRowSet}}

// suffixed is the span of a series whose value follows the time.
var suffixed = []codec.Span{{Delimiter: "#", Suffix: "s", Whole: true, MaxBytes: codec.MaxRowSet}}

// maxAge returns a lifetime with the given maximum age.
func maxAge(age time.Duration) codec.Lifetime {
	return codec.Lifetime{Retention: codec.Retention{{MaxAge: age}}}
}

// The filter selects the cells of each family that garbage collection would keep.
// Families with equal windows share a branch, and the limit to the newest cells comes
// last.
func TestFilterOfLifetimes(t *testing.T) {
	from, to := day, day.Add(12*time.Hour)
	window := func(from, to time.Time) []codec.Window {
		return []codec.Window{{From: codec.Micros(from), To: codec.Micros(to)}}
	}
	long, short := maxAge(48*time.Hour), maxAge(time.Hour)
	ranked := codec.Lifetime{Retention: codec.Retention{{MaxAge: time.Hour}, {Versions: 2}}}
	for _, tt := range []struct {
		name   string
		lives  []codec.Lifetime
		now    time.Time
		latest bool
		want   scan.Filter
	}{
		{"one family", []codec.Lifetime{long}, to, false, scan.Cells{[]string{"a"}, window(from, to)}},
		{"equal windows", []codec.Lifetime{long, short, maxAge(72 * time.Hour), maxAge(time.Minute)}, to, false, scan.Interleave{
			scan.Cells{[]string{"a", "c"}, window(from, to)}, scan.Cells{[]string{"b"}, window(to.Add(-time.Hour), to)},
			scan.Cells{[]string{"d"}, window(to.Add(-time.Minute), to)},
		}},
		{"the newest", []codec.Lifetime{long}, to, true, scan.Chain{scan.Cells{[]string{"a"}, window(from, to)}, scan.CellsPerColumn(1)}},
		{"one has expired", []codec.Lifetime{short, long}, to.Add(2 * time.Hour), false, scan.Cells{[]string{"b"}, window(from, to)}},
		{"all have expired", []codec.Lifetime{short}, to.Add(2 * time.Hour), false, nil},
		{"by rank", []codec.Lifetime{ranked}, to, false, scan.Cells{[]string{"a"}, []codec.Window{
			{From: codec.Micros(to.Add(-time.Hour)), To: codec.Micros(to)},
			{From: codec.Micros(from), To: codec.Micros(to.Add(-time.Hour)), Versions: 2},
		}}},
		{"by expiry", []codec.Lifetime{{Timestamp: codec.TimestampExpiry}}, to, false, scan.Cells{[]string{"a"}, []codec.Window{{From: codec.Micros(to) + 1000}}}},
	} {
		plan := hours(codec.BucketNewCells, tt.lives...).Plan(&scan.Read{Spans: one, From: from, To: to, NewestFirst: tt.latest, LatestOnly: tt.latest}, tt.now)
		var got scan.Filter
		if len(plan.Parts) > 0 {
			got = plan.Parts[0].Filter
		}
		assert.Same(t, tt.want, got, tt.name)
	}
}

// If cells in the bucket that contains the end of the range are about to exceed their
// age, the read includes the rest of the bucket, which determines the ranks by which
// they then live.
func TestRestOfBucket(t *testing.T) {
	ranked := codec.Lifetime{Retention: codec.Retention{{MaxAge: 2 * time.Hour}, {Versions: 10}}}
	for _, tt := range []struct {
		name          string
		pattern       codec.Pattern
		from, to, end time.Time
		valid         bool // the ranks stay valid forever, not just for a while
		want          bool // a read of the latest event reads only the newest cells
	}{
		{"passes its age", codec.BucketNewCells, day, day.Add(90 * time.Minute), day.Add(2 * time.Hour), true, false},
		{"is too young", codec.BucketNewCells, day.Add(3 * time.Hour), day.Add(210 * time.Minute), day.Add(210 * time.Minute), false, true},
		{"ends with the range", codec.BucketNewCells, day, day.Add(time.Hour), day.Add(time.Hour), false, true},
		{"has a column for each event", codec.BucketNewColumns, day, day.Add(90 * time.Minute), day.Add(90 * time.Minute), false, true},
	} {
		now := day.Add(3 * time.Hour)
		for _, latest := range []bool{false, true} {
			plan := hours(tt.pattern, ranked).Plan(&scan.Read{Spans: one, From: tt.from, To: tt.to, NewestFirst: latest, LatestOnly: latest}, now)
			filter, limited := plan.Parts[0].Filter.(scan.Chain)
			if !limited {
				filter = scan.Chain{plan.Parts[0].Filter}
			}
			assert.Same(t, codec.Micros(tt.end), filter[0].(scan.Cells).Windows[0].To, tt.name)
			assert.Same(t, latest && tt.want, limited, tt.name)
			assert.Same(t, tt.valid, plan.RanksEnd.Equal(scan.MaxTime), tt.name)
		}
	}
}

// The row range excludes expired rows.
func TestRangeOfLiveRows(t *testing.T) {
	plan := hours(codec.SingleUnserialized, maxAge(time.Hour)).Plan(&scan.Read{Spans: one, From: day, To: day.Add(4 * time.Hour)}, day.Add(3*time.Hour))
	assert.Same(t, fmt.Sprintf("s#%d", day.Add(2*time.Hour).Unix()), plan.Requests()[0].Rows[0].Start, "start")
	assert.Same(t, day.Add(2*time.Hour), plan.From, "from")
}

// A read of all times starts at the end that the order of events requires.
func TestDirectionOfAllTimes(t *testing.T) {
	for _, newestFirst := range []bool{false, true} {
		for _, reverse := range []bool{false, true} {
			table := hours(codec.SingleUnserialized, codec.Lifetime{})
			table.TimeKey.Reverse = reverse
			for _, listed := range []bool{false, true} {
				plan := table.Plan(&scan.Read{Spans: one, AllTimes: true, MultiSeries: true, Listed: listed, From: day, To: day.Add(time.Hour), NewestFirst: newestFirst}, day)
				assert.Same(t, []codec.Rows{{Start: "s#", End: "s$", Reverse: newestFirst != reverse}}, plan.Requests()[0].Rows, fmt.Sprint(newestFirst, reverse, listed))
			}
		}
	}
}

// Without bounds, the filter only selects families. Rows of single events have their
// time in the key.
func TestFilterOfRows(t *testing.T) {
	requests := func(r *scan.Read) []scan.Request {
		plan := hours(codec.SingleUnserialized, codec.Lifetime{}).Plan(r, day)
		return plan.Requests()
	}
	from, to := day, day.Add(time.Second)
	key := func(prefix string, at time.Time) string { return fmt.Sprintf("%s%010d", prefix, at.Unix()) }
	cells := scan.Cells{Families: []string{"a"}}
	assert.Same(t, []scan.Request{{
		Rows: []codec.Rows{{Start: key("s#", from), End: key("s#", to)}}, Filter: cells,
	}}, requests(&scan.Read{Spans: one, From: from, To: to}), "a prefix")
	keys := codec.KeyPattern{Before: codec.KeyPieces{{Text: "s#"}}, Timed: true}
	assert.Same(t, scan.Filter(scan.Chain{scan.Keys{codec.KeyPieces{{Text: "s#"}, {Any: true, Width: 10}}}, cells}), requests(&scan.Read{Spans: one, Keys: &keys, From: from, To: to})[0].Filter, "keys")
	assert.Same(t, []scan.Request{{
		Rows: []codec.Rows{{Start: key("", from), End: key("", to), Reverse: true}}, Limit: 7,
		Filter: scan.Chain{scan.Keys{{{Any: true, Width: 10}, {Text: "#s"}}}, cells},
	}}, requests(&scan.Read{Spans: suffixed, From: from, To: to, NewestFirst: true, Limit: 7}), "a suffix")
}

// Projected fields are read with their values. The presence of another column shows
// which events exist.
func TestProjection(t *testing.T) {
	table := hours(codec.BucketNewCells, codec.Lifetime{})
	table.Columns = []scan.Column{{Name: "a"}, {Name: "b"}, {Name: "c", Required: true}, {Name: "at", WrittenAt: true}}
	none, presence, values := scan.Nothing, scan.Presence, scan.Values
	whole, optional := *table, *table
	whole.Pattern, whole.Columns = codec.BucketSerialized, []scan.Column{{Name: "all", Required: true}}
	optional.Columns = append(slices.Clone(table.Columns[:2]), scan.Column{Name: "a"})
	for _, tt := range []struct {
		name    string
		table   *scan.Table
		columns []int
		want    scan.Projection
		filter  scan.Filter // precedes the filter of cells
	}{
		{"all", table, nil, nil, nil},
		{"an optional one", table, []int{0}, scan.Projection{values, none, presence, none},
			scan.Interleave{scan.Columns{"a"}, scan.Chain{scan.Columns{"c"}, scan.StripValues{}}}},
		{"a required one", table, []int{1, 2}, scan.Projection{none, values, values, none}, scan.Columns{"b", "c"}},
		{"none", table, []int{}, scan.Projection{none, none, presence, none}, scan.Chain{scan.Columns{"c"}, scan.StripValues{}}},
		{"of one name", &optional, []int{0}, scan.Projection{values, presence, presence},
			scan.Interleave{scan.Columns{"a"}, scan.Chain{scan.Columns{"b"}, scan.StripValues{}}}},
		{"of one value", &whole, []int{0}, nil, nil},
		{"none of one value", &whole, []int{}, scan.Projection{presence}, scan.Chain{scan.Columns{"all"}, scan.StripValues{}}},
	} {
		p := tt.table.Project(tt.columns)
		assert.Same(t, tt.want, p, tt.name)
		plan := tt.table.Plan(&scan.Read{Spans: one, From: day, To: day.Add(time.Hour), Projection: p}, day)
		want := scan.Chain{}
		switch filter := tt.filter.(type) {
		case nil:
		case scan.Chain:
			want = append(want, filter...)
		default:
			want = append(want, filter)
		}
		got, ok := plan.Parts[0].Filter.(scan.Chain)
		if !ok {
			got = scan.Chain{plan.Parts[0].Filter}
		}
		assert.Same(t, want, got[:len(got)-1], tt.name)
	}
	if p := table.Project([]int{0}); !p.HasValues(0) || p.HasValues(2) || p.Omits(2) || !p.Omits(3) {
		t.Error(p)
	}
}

// Several spans are one request if possible, and paginated if there are more than can
// be read concurrently. A limit of events becomes a limit of rows if each row has one event. If rows of the
// same time sort in the opposite order, one more row tells whether that instant is complete.
func TestSeveralSpans(t *testing.T) {
	spans := func(n int) (out []codec.Span) {
		for i := range n {
			out = append(out, codec.Span{Prefix: fmt.Sprintf("%03d#", i), Whole: true, MaxBytes: codec.MaxRowSet})
		}
		return out
	}
	for _, tt := range []struct {
		name     string
		pattern  codec.Pattern
		read     scan.Read
		ties     bool
		requests int
		route    scan.Route
		limit    int
	}{
		{"gathered", codec.BucketNewCells, scan.Read{Spans: spans(64)}, false, 1, scan.Merged, 0},
		{"too many", codec.BucketNewCells, scan.Read{Spans: spans(65)}, false, 65, scan.Merged, scan.PageRows},
		{"too many rows", codec.SingleUnserialized, scan.Read{Spans: spans(65)}, false, 65, scan.Merged, scan.PageEvents},
		{"limited", codec.BucketNewCells, scan.Read{Spans: spans(2), Limit: 5}, false, 2, scan.Merged, 5},
		{"ties", codec.SingleUnserialized, scan.Read{Spans: spans(2)}, true, 2, scan.Merged, 0},
		{"not apart", codec.BucketNewCells, scan.Read{Spans: append(spans(1), spans(1)...)}, false, 2, scan.Merged, 0},
		{"two parts", codec.BucketOffsets, scan.Read{Spans: spans(2), To: day.Add(90 * time.Minute)}, false, 2, scan.Merged, 0},
		{"one", codec.BucketNewCells, scan.Read{Spans: spans(1)}, false, 1, scan.OneSpan, 0},
		{"one with a suffix in many buckets", codec.BucketNewCells, scan.Read{Spans: suffixed, To: day.AddDate(60, 0, 0)}, false, 1, scan.OneSpan, 0},
		{"the row of a column", codec.BucketNewColumns, scan.Read{Spans: spans(1)}, false, 1, scan.Merged, 0},
		{"limited rows", codec.SingleUnserialized, scan.Read{Spans: one, Limit: 3}, false, 1, scan.OneSpan, 3},
		{"limited buckets", codec.BucketNewCells, scan.Read{Spans: one, Limit: 3}, false, 1, scan.OneSpan, 3},
		{"limited ties", codec.SingleUnserialized, scan.Read{Spans: one, Limit: 3}, true, 1, scan.OneSpan, 4},
		{"no limit of ties", codec.SingleUnserialized, scan.Read{Spans: one}, true, 1, scan.OneSpan, 0},
		{"the newest of one series", codec.BucketNewCells, scan.Read{Spans: one, Limit: 1, NewestFirst: true, LatestOnly: true}, false, 1, scan.OneSpan, 1},
		{"some of the newest", codec.BucketNewCells, scan.Read{Spans: one, Limit: 3, NewestFirst: true, LatestOnly: true, MultiSeries: true}, false, 1, scan.OneSpan, 0},
		{"sorted buckets", codec.BucketNewCells, scan.Read{Spans: one, Limit: 3, TimeOrder: true, MultiSeries: true}, false, 1, scan.OneSpan, 0},
		{"sorted rows", codec.SingleUnserialized, scan.Read{Spans: one, Limit: 3, TimeOrder: true, MultiSeries: true}, false, 1, scan.OneSpan, 3},
		{"the newest of each series", codec.BucketNewCells, scan.Read{Spans: spans(2), AllTimes: true, Contiguous: true, MultiSeries: true, NewestFirst: true, LatestOnly: true}, false, 2, scan.Skipping, 0},
	} {
		table := hours(tt.pattern, codec.Lifetime{})
		table.Ties = tt.ties
		tt.read.From, tt.read.To = day, cmp.Or(tt.read.To, day.Add(time.Hour))
		plan := table.Plan(&tt.read, day)
		requests := plan.Requests()
		if len(requests) != tt.requests || plan.Parts[0].Route != tt.route {
			t.Errorf("%s: %d requests by route %d", tt.name, len(requests), plan.Parts[0].Route)
			continue
		}
		for _, r := range requests {
			if r.Limit != tt.limit || r.Paginated != (tt.requests > 64) {
				t.Errorf("%s: %+v", tt.name, r)
			}
		}
	}
}

// If there are many buckets whose labels do not sort, the read looks up the rows of
// each span first.
func TestLookup(t *testing.T) {
	table := hours(codec.BucketNewCells, codec.Lifetime{})
	table.Offset.Bucket.Label = labels[2]
	two := []codec.Span{{Prefix: "0#", Whole: true, MaxBytes: codec.MaxRowSet}, {Prefix: "1#", Whole: true, MaxBytes: codec.MaxRowSet}}
	plan := table.Plan(&scan.Read{Spans: two, From: day.AddDate(0, -3, 0), To: day}, day)
	p := &plan.Parts[0]
	if _, gathered := p.Gathered(); gathered {
		t.Error("the rows of both are read without a lookup")
	}
	for i, prefix := range []string{"0", "1"} {
		lookup, needed := p.Lookup(i)
		assert.Same(t, scan.Request{
			Rows: []codec.Rows{{Start: prefix + "#", End: prefix + "$"}}, KeysOnly: true,
			Filter: scan.Chain{p.Filter, scan.CellsPerRow(1), scan.StripValues{}},
		}, lookup, "lookup")
		found := []scan.Stored{{day.AddDate(-1, 0, 0), "old"}, {day.Add(-2 * time.Hour), "b2"}, {day.Add(-time.Hour), "b3"}, {day, "new"}}
		assert.Same(t, []scan.Request{{Rows: []codec.Rows{{Keys: []string{"b2", "b3"}}}, Filter: p.Filter}}, slices.Collect(p.RequestsOf(found)), "found")
		if !needed || !slices.ContainsFunc(plan.Requests(), func(r scan.Request) bool { return r.KeysOnly && r.Rows[0].Start == prefix+"#" }) {
			t.Error(prefix)
		}
	}
}

// An event exists if any of its cells is live, in any of its columns.
func TestEventCells(t *testing.T) {
	at := []codec.Window{{From: codec.Micros(day), To: codec.Micros(day) + 1000}}
	columns := []scan.Column{{Name: "v"}, {Name: "w"}, {Name: "at", WrittenAt: true}}
	for _, tt := range []struct {
		pattern  codec.Pattern
		life     codec.Lifetime
		sequence uint32
		want     scan.Filter
	}{
		{codec.BucketNewCells, maxAge(time.Hour), 0, scan.Chain{scan.Columns{"v", "w"}, scan.Cells{[]string{"a"}, at}}},
		{codec.SingleUnserialized, codec.Lifetime{}, 0, scan.Chain{scan.Columns{"v", "w"}, scan.Cells{Families: []string{"a"}}}},
		{codec.BucketOffsets, codec.Lifetime{}, 0, scan.Chain{scan.Columns{"\x00\x00"}, scan.Cells{Families: []string{"a"}}}},
		{codec.BucketNewColumns, codec.Lifetime{}, 0, scan.Cells{[]string{"a"}, at}},
		{codec.BucketNewColumns, codec.Lifetime{}, 1, nil}, // belongs to another class
		{codec.BucketNewCells, maxAge(time.Minute), 0, nil},
	} {
		table := hours(tt.pattern, tt.life)
		table.Columns = columns
		assert.Same(t, tt.want, table.EventCells(day.Add(30*time.Minute), day, tt.sequence), fmt.Sprint(tt.pattern, tt.sequence))
	}
}

// TestNothingRecent asks for recent rows at a time at which no event can be live: there is no request.
func TestNothingRecent(t *testing.T) {
	tab := hours(codec.BucketNewCells, maxAge(time.Hour))
	spans := []codec.Span{one[0], {Prefix: "t#", Delimiter: "#", Whole: true, MaxBytes: codec.MaxRowSet}}
	for _, at := range []struct {
		now  time.Time
		some bool
	}{{time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC), true}, {scan.MaxTime.AddDate(1, 0, 0), false}} {
		if q, ok := tab.Recent(spans, at.now); ok != at.some {
			t.Errorf("at %v: %+v", at.now, q)
		}
		if all, ok := tab.RecentOf(spans, at.now); ok != at.some {
			t.Errorf("at %v: %+v", at.now, all)
		}
	}
}
