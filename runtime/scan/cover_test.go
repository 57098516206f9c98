package scan_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// stored is a cell of a table and the event that it belongs to.
type stored struct {
	key, family, qualifier string
	micros                 int64
	stripped               bool

	series string
	time   time.Time
}

// id identifies a cell.
func (c stored) id() string {
	return fmt.Sprintf("%s %s:%x@%d of %s", c.key, c.family, c.qualifier, c.micros, c.time.Format(time.RFC3339Nano))
}

// table is a table with cells in Bigtable's order.
type table struct {
	scan.Table
	form  string // of its keys
	cells []stored
}

// The forms of keys: where the time is.
const (
	wholeForm  = "series#time"        // the series precedes the time
	suffixForm = "time#series"        // the series follows the time
	regionForm = "region#series#time" // a query specifies only the region
	saltedForm = "salt#series#time"   // a read covers all salts
)

// day is close to the time of all cells.
var day = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

// labels sort in ascending order of time, in descending order, and not at all.
var labels = []codec.Label{
	{Format: codec.TimeFormat{Layout: "2006-01-02T15:04"}},
	{Format: codec.TimeFormat{Kind: codec.UnixSeconds, Reverse: true}},
	{Kind: codec.NumberLabel, Prefix: "b"},
}

// lifetimes keep events for some hours.
var lifetimes = []codec.Lifetime{
	{},
	{Retention: codec.Retention{{MaxAge: 2 * time.Hour}}},
	{Retention: codec.Retention{{Versions: 2}}},
	{Retention: codec.Retention{{MaxAge: time.Hour}, {Versions: 3}}},
	{Retention: codec.Retention{{MaxAge: time.Hour}, {MaxAge: 5 * time.Hour, Versions: 2}}},
	{Timestamp: codec.TimestampWrite, Retention: codec.Retention{{MaxAge: 3 * time.Hour}}},
	{Timestamp: codec.TimestampExpiry},
	{Timestamp: codec.TimestampShifted, Default: time.Hour},
}

// drawTable draws a table without cells.
func drawTable(t *rapid.T) *table {
	tab := &table{form: rapid.SampledFrom([]string{wholeForm, suffixForm, regionForm, saltedForm}).Draw(t, "form")}
	tab.Pattern = rapid.SampledFrom(slices.DeleteFunc(codec.Patterns(), codec.Pattern.NewestOnly)).Draw(t, "pattern") // which has no buckets
	tab.Offset = codec.Offset{
		Bucket: codec.Bucket{
			Every: rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 6 * time.Hour}).Draw(t, "every"),
			Label: rapid.SampledFrom(labels).Draw(t, "label"),
		},
		Precision: time.Millisecond,
	}
	lives := lifetimes
	if b := &tab.Offset.Bucket; !b.Sorted() {
		b.Origin = day.Add(-999 * b.Every) // labels of three and of four digits
	}
	switch tab.Pattern {
	case codec.BucketNewCells, codec.BucketSerialized, codec.BucketNewColumns:
		lives = lifetimes[:5] // timestamps are event times
	case codec.BucketOffsets:
		if rapid.Bool().Draw(t, "fine") {
			tab.Offset.Precision = 250 * time.Microsecond
			lives = []codec.Lifetime{{Retention: codec.Retention{{MaxAge: 12 * time.Hour}}}, lifetimes[1], lifetimes[6]}
		}
	}
	tab.TimeKey = rapid.SampledFrom([]codec.TimeFormat{
		{Kind: codec.UnixMillis}, {Kind: codec.UnixMillis, Reverse: true}, {Layout: "2006-01-02T15:04:05.000"},
	}).Draw(t, "time key")
	tab.Families = []scan.Family{{Name: "a.b"}, {Name: "c"}}[:rapid.IntRange(1, 2).Draw(t, "families")]
	for i := range tab.Families {
		tab.Families[i].Life = rapid.SampledFrom(lives).Draw(t, "life")
	}
	tab.Columns = []scan.Column{{Name: "v"}, {Name: "w"}}
	return tab
}

// multiSeries reports whether reads return all series of a region.
func (tab *table) multiSeries() bool { return tab.form == regionForm }

// timeText formats a time as in keys.
func (tab *table) timeText(at time.Time) string {
	var text []byte
	if !tab.Pattern.Bucketed() {
		text, _ = tab.TimeKey.Append(nil, at)
	} else {
		text, _ = tab.Offset.Bucket.AppendLabel(nil, at)
	}
	return string(text)
}

// key returns the row key of an event.
func (tab *table) key(series, column string, at time.Time) string {
	if tab.Pattern == codec.BucketNewColumns {
		series += "#" + column
	}
	switch tab.form {
	case suffixForm:
		return tab.timeText(at) + "#" + series
	case regionForm:
		return "eu#" + series + "#" + tab.timeText(at)
	case saltedForm:
		return fmt.Sprintf("%d#%s#%s", at.Unix()%3, series, tab.timeText(at))
	}
	return series + "#" + tab.timeText(at)
}

// spans returns the spans of series s or, with a region, of region eu.
func (tab *table) spans() []codec.Span {
	of := []string{""}
	if tab.Pattern == codec.BucketNewColumns {
		of = []string{"#v", "#w"}
	}
	var out []codec.Span
	for _, column := range of {
		span := codec.Span{Prefix: "s" + column + "#", Delimiter: "#", Whole: true, MaxBytes: codec.MaxRowSet}
		switch tab.form {
		case suffixForm:
			span.Prefix, span.Suffix = "", "s"+column
		case regionForm:
			span.Prefix, span.Whole = "eu#", false
		case saltedForm:
			for salt := range 3 {
				salted := span
				salted.Prefix = fmt.Sprint(salt) + "#" + span.Prefix
				out = append(out, salted)
			}
			continue
		}
		out = append(out, span)
	}
	if tab.Pattern == codec.BucketNewColumns && tab.form == regionForm {
		return out[:1] // the prefix contains the rows of all columns
	}
	return out
}

// put adds the cells of an event, with the given write time.
func (tab *table) put(series string, at, written time.Time) {
	for i, column := range tab.Columns {
		family := &tab.Families[i%len(tab.Families)]
		c := stored{key: tab.key(series, column.Name, at), family: family.Name, qualifier: column.Name, series: series, time: at}
		switch tab.Pattern {
		case codec.BucketNewColumns:
			c.qualifier = fmt.Sprint(at.Unix() % 4) // the datum
		case codec.BucketOffsets:
			if i > 0 {
				return // the event is one cell
			}
			c.qualifier = string(tab.Offset.Append(nil, at, 0))
		}
		c.micros = codec.Micros(at)
		if tab.Pattern.EventTimed() {
			c.micros = at.UnixMicro() // that of another program may be finer than a millisecond
		}
		switch family.Life.Timestamp {
		case codec.TimestampWrite:
			c.micros = codec.Micros(written)
		case codec.TimestampExpiry, codec.TimestampShifted:
			c.micros = codec.CeilMicros(at.Add(2*time.Hour)) - family.Life.Default.Microseconds()
		}
		tab.cells = append(tab.cells, c)
	}
}

// sort sorts the cells in Bigtable's order and keeps the last of several in the same
// place.
func (tab *table) sort() {
	slices.SortFunc(tab.cells, func(a, b stored) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.family, b.family), cmp.Compare(a.qualifier, b.qualifier), cmp.Compare(b.micros, a.micros))
	})
	tab.cells = slices.CompactFunc(tab.cells, func(a, b stored) bool {
		return a.key == b.key && a.family == b.family && a.qualifier == b.qualifier && a.micros == b.micros
	})
}

// ranks returns the rank of each cell in its column; the newest has rank 1.
func ranks(cells []stored) []int {
	out := make([]int, len(cells))
	for i, c := range cells {
		out[i] = 1
		if i > 0 && cells[i-1].key == c.key && cells[i-1].family == c.family && cells[i-1].qualifier == c.qualifier {
			out[i] = out[i-1] + 1
		}
	}
	return out
}

// apply applies a filter to cells in Bigtable's order, as specified in Bigtable's
// documentation.
func apply(f scan.Filter, cells []stored) []stored {
	keep := func(pass func(i int, c stored) bool) []stored {
		var out []stored
		for i, c := range cells {
			if pass(i, c) {
				out = append(out, c)
			}
		}
		return out
	}
	switch f := f.(type) {
	case scan.Chain:
		for _, f := range f {
			cells = apply(f, cells)
		}
		return cells
	case scan.Interleave:
		var out []stored
		for _, f := range f {
			out = append(out, apply(f, cells)...)
		}
		slices.SortStableFunc(out, func(a, b stored) int { return cmp.Compare(a.key, b.key) })
		return out
	case scan.Keys:
		var forms []string
		for _, form := range f {
			forms = append(forms, strings.ReplaceAll(form.Regexp(), `\C`, "."))
		}
		pattern := regexp.MustCompile("(?s)^(?:" + strings.Join(forms, "|") + ")$")
		return keep(func(_ int, c stored) bool { return pattern.MatchString(c.key) })
	case scan.Columns:
		return keep(func(_ int, c stored) bool { return slices.Contains(f, c.qualifier) })
	case scan.ColumnRange:
		return keep(func(_ int, c stored) bool {
			return slices.Contains(f.Families, c.family) && c.qualifier >= f.Begin && (f.End == "" || c.qualifier < f.End)
		})
	case scan.Cells:
		cells = keep(func(_ int, c stored) bool { return slices.Contains(f.Families, c.family) })
		rank := ranks(cells)
		return keep(func(i int, c stored) bool {
			return f.Windows == nil || slices.ContainsFunc(f.Windows, func(w codec.Window) bool {
				return c.micros >= w.From && (w.To == 0 || c.micros < w.To) && (w.Versions == 0 || rank[i] <= w.Versions)
			})
		})
	case scan.CellsPerColumn:
		rank := ranks(cells)
		return keep(func(i int, _ stored) bool { return rank[i] <= int(f) })
	case scan.CellsPerRow:
		inRow := map[string]int{}
		return keep(func(_ int, c stored) bool { inRow[c.key]++; return inRow[c.key] <= int(f) })
	case scan.StripValues:
		out := slices.Clone(cells)
		for i := range out {
			out[i].stripped = true
		}
		return out
	}
	panic(fmt.Sprintf("unknown filter %T", f))
}

// send returns Bigtable's response to a request: its cells in row order.
func (tab *table) send(t *rapid.T, r scan.Request) []stored {
	t.Helper()
	if len(r.Rows) == 0 {
		t.Fatal("a request without rows")
	}
	in := func(key string) (n int) {
		for _, rows := range r.Rows {
			if rows.Keys == nil && key >= rows.Start && (rows.End == "" || key < rows.End) || slices.Contains(rows.Keys, key) {
				n++
			}
			if rows.Reverse != r.Rows[0].Reverse {
				t.Fatal("a request in two directions")
			}
		}
		return n
	}
	var cells []stored
	for _, c := range tab.cells {
		switch in(c.key) {
		case 0:
		case 1:
			cells = append(cells, c)
		default:
			t.Fatalf("row %s is requested twice", c.key)
		}
	}
	cells = apply(r.Filter, cells)
	if r.Rows[0].Reverse {
		slices.SortStableFunc(cells, func(a, b stored) int { return cmp.Compare(b.key, a.key) })
	}
	if r.Limit == 0 {
		return cells
	}
	rows := map[string]bool{}
	for i, c := range cells {
		if rows[c.key] = true; len(rows) > r.Limit {
			return cells[:i]
		}
	}
	return cells
}

// read returns the cells that the requests of a span return, one request after the other.
func (tab *table) read(t *rapid.T, p *scan.Part, span int) []stored {
	t.Helper()
	requests := p.Requests(span)
	if lookup, needed := p.Lookup(span); needed {
		var rows []scan.Stored
		for _, c := range tab.send(t, lookup) {
			if !lookup.KeysOnly || !c.stripped {
				t.Fatal("a lookup that returns values")
			}
			rows = append(rows, scan.Stored{Start: tab.Offset.Bucket.Start(c.time), Key: c.key})
		}
		slices.SortFunc(rows, func(a, b scan.Stored) int { return a.Start.Compare(b.Start) })
		found := slices.CompactFunc(slices.Clone(rows), func(a, b scan.Stored) bool { return a.Key == b.Key })
		if len(found) != len(rows) && !tab.Plan(&scan.Read{From: p.From, To: p.To}, p.To).Cut {
			t.Fatal("a lookup that returns several cells of a row")
		}
		rows = found
		requests = p.RequestsOf(rows)
	}
	var out []stored
	for r := range requests {
		out = append(out, tab.send(t, r)...)
	}
	return out
}

// ids returns the cells by ID and fails if there are duplicates.
func ids(t *rapid.T, cells []stored) map[string]stored {
	t.Helper()
	out := map[string]stored{}
	for _, c := range cells {
		if _, twice := out[c.id()]; twice {
			t.Fatalf("%s came twice", c.id())
		}
		out[c.id()] = c
	}
	return out
}

// wanted returns the cells that a read should return: those of the series, in the
// range, and live.
func (tab *table) wanted(r *scan.Read, now time.Time) map[string]stored {
	out := map[string]stored{}
	for i, rank := range ranks(tab.cells) {
		c := tab.cells[i]
		family := tab.Families[slices.IndexFunc(tab.Families, func(f scan.Family) bool { return f.Name == c.family })]
		if (c.series == "s" || tab.multiSeries()) && !c.time.Before(r.From) && c.time.Before(r.To) && family.Life.Alive(now, c.micros, rank) {
			out[c.id()] = c
		}
	}
	return out
}

// ranked reports whether a read may return a cell only to determine the rank of others:
// one after the range in the bucket that contains its end.
func (tab *table) ranked(r *scan.Read, c stored) bool {
	b := tab.Offset.Bucket
	return tab.Pattern.Versioned() && !c.time.Before(r.To) && b.Start(c.time).Equal(b.Start(r.To)) &&
		slices.ContainsFunc(tab.Families, func(f scan.Family) bool { return len(f.Life.Retention) > 1 })
}

// cut reports whether a cell is not in the range of a read, but in a millisecond that it cuts.
func cut(r *scan.Read, c stored) bool {
	return c.time.Before(r.From) && !c.time.Before(codec.Truncate(r.From, time.Millisecond)) ||
		!c.time.Before(r.To) && c.time.Before(codec.Ceil(r.To, time.Millisecond))
}

// TestLimitsOfCells reads only the newest cell of each column, or only cells that tell which rows have events.
// Whatever a range cuts, none of these is left out in favor of one that is not in the range.
func TestLimitsOfCells(t *testing.T) {
	cuts := 0
	check(t, func(t *rapid.T) {
		tab := drawTable(t)
		now, r := tab.drawCells(t), tab.drawRead(t)
		if !tab.ByTimestamp() || tab.Pattern == codec.BucketNewColumns && tab.multiSeries() {
			return
		}
		r.NewestFirst, r.LatestOnly = true, rapid.Bool().Draw(t, "newest")
		plan := tab.Plan(r, now)
		got := map[string]bool{} // columns or rows
		for i := range plan.Parts {
			p := &plan.Parts[i]
			for span := range r.Spans {
				cells := []stored{}
				if r.LatestOnly {
					cells = tab.read(t, p, span)
				} else {
					for q := range p.Found(span) {
						if !plan.Beyond { // else, readers look at all cells
							q.Filter = p.RowsOnly(q.Filter)
						}
						cells = append(cells, tab.send(t, q)...)
					}
				}
				for _, c := range cells {
					if !c.time.Before(r.From) && c.time.Before(r.To) {
						got[c.key], got[c.id()] = true, true
					}
				}
			}
		}
		newest := map[string]stored{}
		for _, c := range tab.wanted(r, now) {
			if !got[c.key] {
				t.Fatalf("row %s has %s, which nothing tells", c.key, c.id())
			}
			column := c.key + c.family + c.qualifier
			if known, some := newest[column]; !some || known.micros < c.micros {
				newest[column] = c
			}
		}
		for _, c := range newest {
			if r.LatestOnly && !got[c.id()] {
				t.Fatalf("%s is the newest of its column and did not come", c.id())
			}
		}
		if plan.Cut && len(newest) > 0 {
			cuts++
		}
	})
	if cuts == 0 {
		t.Error("no read cuts a millisecond")
	}
}

// drawCells draws events and the time at which they are read.
func (tab *table) drawCells(t *rapid.T) (now time.Time) {
	now = day.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "now")) * time.Minute)
	n := rapid.IntRange(0, 25).Draw(t, "events")
	for range n {
		at := day.Add(time.Duration(rapid.IntRange(-600, 300).Draw(t, "minute")) * time.Minute)
		if len(tab.cells) > 0 && rapid.Bool().Draw(t, "close") {
			at = tab.cells[len(tab.cells)-1].time
		}
		at = at.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "steps")) * tab.Offset.Precision)
		switch {
		case !tab.Pattern.Bucketed():
			at = codec.Truncate(at, time.Millisecond)
		case tab.Pattern.EventTimed():
			at = at.Add(rapid.SampledFrom([]time.Duration{0, 0, 124, 125, 999}).Draw(t, "microseconds") * time.Microsecond)
		}
		tab.put(rapid.SampledFrom([]string{"s", "ss", "r"}).Draw(t, "series"), at, at.Add(time.Minute))
	}
	tab.sort()
	return now
}

// drawRead draws a read of a table.
func (tab *table) drawRead(t *rapid.T) *scan.Read {
	edge := func(name string) time.Time {
		at := day.Add(time.Duration(rapid.IntRange(-600, 300).Draw(t, name)) * time.Minute)
		if len(tab.cells) > 0 && rapid.Bool().Draw(t, name+" at an event") {
			at = rapid.SampledFrom(tab.cells).Draw(t, name+" event").time
		}
		return at.Add(time.Duration(rapid.IntRange(-8, 8).Draw(t, name+" steps")) * 125 * time.Microsecond)
	}
	r := &scan.Read{Spans: tab.spans(), From: edge("from"), To: edge("to"), NewestFirst: rapid.Bool().Draw(t, "newest first")}
	if rapid.IntRange(0, 3).Draw(t, "wide") == 0 {
		r.From, r.To = day.AddDate(0, 0, -60), day.AddDate(0, 0, 1)
	}
	if tab.multiSeries() {
		r.MultiSeries, r.AllTimes, r.Contiguous = true, true, true
		if !tab.ByTimestamp() {
			r.Keys = &codec.KeyPattern{Before: codec.KeyPieces{{Text: "eu#"}, {Any: true}, {Text: "#"}}, Timed: true}
		}
	}
	return r
}

// check checks a property with many cases, each of which takes a fraction of a millisecond.
func check(t *testing.T, property func(t *rapid.T)) {
	t.Helper()
	for range 20 {
		rapid.Check(t, property)
	}
}

// TestCoverage executes plans on a simulated table, also with labels of several lengths in one read. The requests of the spans, and the
// one request for all of them, must return each wanted cell exactly once, and no
// others.
func TestCoverage(t *testing.T) {
	seen := map[string]int{}
	check(t, func(t *rapid.T) {
		tab := drawTable(t)
		if tab.multiSeries() && tab.Pattern == codec.BucketNewColumns {
			tab.form = wholeForm // no schema has such a query
		}
		now, r := tab.drawCells(t), tab.drawRead(t)
		plan := tab.Plan(r, now)
		var cells, gathered []stored
		for i := range plan.Parts {
			p := &plan.Parts[i]
			var ofPart []stored
			for span := range r.Spans {
				ofPart = append(ofPart, tab.read(t, p, span)...)
				if _, lookup := p.Lookup(span); lookup {
					seen["lookup"]++
				}
			}
			if all, ok := p.Gathered(); ok && all.Rows != nil {
				gathered = append(gathered, tab.send(t, all)...)
				seen["gathered"]++
			} else {
				gathered = append(gathered, ofPart...)
			}
			cells = append(cells, ofPart...)
		}
		if len(r.Spans) == 1 && !r.MultiSeries {
			ordered(t, tab, cells, r.NewestFirst)
		}
		want, got := tab.wanted(r, now), ids(t, cells)
		if !maps.Equal(got, ids(t, gathered)) {
			t.Fatalf("all spans at once return\n%v\nand one by one\n%v", gathered, cells)
		}
		for id := range want {
			if _, ok := got[id]; !ok {
				t.Fatalf("%s is wanted and did not come", id)
			}
		}
		for id, c := range got {
			if _, ok := want[id]; !ok && !tab.ranked(r, c) && !(plan.Cut && cut(r, c)) {
				t.Fatalf("%s came and is not wanted", id)
			}
		}
		seen["parts"] += max(0, len(plan.Parts)-1)
		seen["cells"] += len(got)
	})
	for _, what := range []string{"lookup", "gathered", "parts", "cells"} {
		if seen[what] == 0 {
			t.Error("no case has ", what)
		}
	}
}

// ordered fails unless the rows of each series are in ascending or descending order of
// time.
func ordered(t *rapid.T, tab *table, cells []stored, newestFirst bool) {
	t.Helper()
	start := func(c stored) time.Time {
		if !tab.Pattern.Bucketed() {
			return c.time
		}
		return tab.Offset.Bucket.Start(c.time)
	}
	for i := 1; i < len(cells); i++ {
		if order := start(cells[i-1]).Compare(start(cells[i])); order != 0 && (order > 0) != newestFirst {
			t.Fatalf("%s came before %s", cells[i-1].id(), cells[i].id())
		}
	}
}

// TestLatestCoverage executes searches for the newest event on a simulated table. One
// of the rows that they return must have it.
func TestLatestCoverage(t *testing.T) {
	seen := map[string]int{}
	check(t, func(t *rapid.T) {
		tab := drawTable(t)
		if tab.multiSeries() {
			tab.form = wholeForm // Latest reads one series
		}
		now := tab.drawCells(t)
		var newest stored
		for _, c := range tab.wanted(&scan.Read{To: scan.MaxTime}, now) {
			if c.time.After(newest.time) {
				newest = c
			}
		}
		var found, recent []stored
		s, alive := tab.Search(tab.spans(), now)
		for _, r := range s.Requests {
			cells := tab.send(t, r)
			if r.KeysOnly && len(cells) > 0 {
				last := slices.MaxFunc(cells, func(a, b stored) int { return a.time.Compare(b.time) })
				cells = tab.send(t, s.RequestOf(last.key))
				seen["lookup"]++
			}
			found = append(found, cells...)
		}
		if newest.key == "" {
			return
		}
		has := func(c stored) bool { return c.time.Equal(newest.time) && c.series == "s" }
		if !alive || !slices.ContainsFunc(found, has) {
			t.Fatalf("the newest event is at %v, and the search returned\n%v", newest.time, found)
		}
		if r, ok := tab.Recent(tab.spans(), now); ok {
			recent = tab.send(t, r)
			for _, c := range recent {
				if !tab.Offset.Bucket.End(c.time).After(now) {
					t.Fatalf("%s came, which is not recent", c.id())
				}
			}
			seen["recent"]++
			if inBucket := tab.Offset.Bucket.End(newest.time).After(now); inBucket && !slices.ContainsFunc(recent, has) {
				t.Fatalf("the newest event is at %v, and the request for recent rows returned\n%v", newest.time, recent)
			}
		}
	})
	if seen["lookup"] == 0 || seen["recent"] == 0 {
		t.Error(seen)
	}
}
