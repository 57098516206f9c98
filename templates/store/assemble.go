package store

import (
	"cmp"
	"math"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// assembler makes events of the cells of rows.
type assembler[E any] struct {
	layout *Layout[E]
	table  string
	base   E // an event with the series of the row alone
	// newestFirst turns the order of events round.
	newestFirst bool
	latestOnly  bool            // one event of each series is enough
	fetch       []bool          // the columns to fetch; nil for all
	match       func(e *E) bool // whether a row's series is asked for; nil if all are
	from, to    time.Time
	now         func() time.Time
	ranksEnd    time.Time // until then the rank of what was read is known where it matters
	expired     bool      // something was left out that had expired since it was asked for
}

// datum is one stored value of a column.
type datum struct {
	at       int64 // the time of its event in microseconds since 1970
	micros   int64 // its cell's timestamp
	value    []byte
	sequence uint32
}

// group is the data of a bucket or a row whose events are of one class, or of
// all of it where events have no class.
type group struct {
	class   int
	columns [][]datum // in the order of time
	at, end []int     // of each column: the data of the current time
}

// fail says where something was read that cannot be decoded.
func (a *assembler[E]) fail(row, column string, at time.Time, err error) error {
	return &DecodeError{Table: a.table, Row: row, Column: column, Time: at, Err: err}
}

// wanted reports whether an event at t is in the range.
func (a *assembler[E]) wanted(t time.Time) bool { return !t.Before(a.from) && t.Before(a.to) }

// alive reports whether a datum is alive. newer is how many newer ones of its
// column were read.
func (a *assembler[E]) alive(now time.Time, g *group, column int, d datum, newer int) bool {
	family := a.layout.Columns[column].Family
	if g.class > 0 {
		family = g.class - 1
	}
	switch {
	case a.layout.Kind != BucketCells:
		newer = 0 // they are of other columns, or there are none
	case now.After(a.ranksEnd) && a.layout.Bucket.End(codec.FromMicros(d.at)).After(a.to):
		newer = math.MaxInt32 // what the range left out of the bucket may be newer
	}
	return a.layout.Table.Families[family].Life.Alive(now, d.micros, newer+1)
}

// timeOf takes the key of a row apart: it sets the series, and returns the time or
// the start of the bucket.
func (a *assembler[E]) timeOf(row bigtable.Row) (time.Time, error) {
	at, err := a.layout.Key(row.Key(), &a.base)
	if err != nil {
		return at, a.fail(row.Key(), "", time.Time{}, err)
	}
	return at, nil
}

// position returns where a row of a span stands among those of others.
func (a *assembler[E]) position(q *Query[E], span codec.Span, row bigtable.Row) (position, error) {
	start, err := a.timeOf(row)
	if err != nil || !q.Several {
		return position{start: start, falling: a.newestFirst}, err
	}
	return position{rest: row.Key()[len(span.Prefix):], falling: a.newestFirst != a.layout.descending()}, nil
}

// row yields the events of a row.
func (a *assembler[E]) row(row bigtable.Row, yield func(E, error) bool) bool {
	return a.ordered(yield, func(yield func(E, error) bool) bool {
		switch a.layout.Kind {
		case SingleRows:
			return a.single(row, yield)
		case BucketOffsets:
			return a.offsets(row, yield)
		default:
			return a.cells(row, yield)
		}
	})
}

// rows yields the events of rows that stand at one position.
func (a *assembler[E]) rows(rows []bigtable.Row, yield func(E, error) bool) bool {
	for _, row := range rows {
		switch {
		case row == nil:
		case a.layout.Kind != BucketColumns:
			if !a.row(row, yield) {
				return false
			}
		default:
			if _, err := a.timeOf(row); err != nil { // for the series
				return yield(a.base, err)
			}
			return a.ordered(yield, func(yield func(E, error) bool) bool { return a.columns(rows, yield) })
		}
	}
	return true
}

// ordered yields what events yields, turned round if the newest come first.
func (a *assembler[E]) ordered(yield func(E, error) bool, events func(yield func(E, error) bool) bool) bool {
	if !a.newestFirst {
		return events(yield)
	}
	type result struct {
		event E
		err   error
	}
	var results []result
	events(func(e E, err error) bool {
		results = append(results, result{e, err})
		return true
	})
	for _, r := range slices.Backward(results) {
		if !yield(r.event, r.err) {
			return false
		}
		if a.latestOnly {
			break // what is older is asked for in part, and not wanted
		}
	}
	return true
}

// single yields the event of a row of its own. Like the functions below it
// reports whether the caller wants more.
func (a *assembler[E]) single(row bigtable.Row, yield func(E, error) bool) bool {
	at, err := a.timeOf(row)
	if err != nil {
		return yield(a.base, err)
	}
	if !a.wanted(at) {
		return true
	}
	groups := a.newGroups()
	a.split(groups, row)
	for _, g := range groups {
		for i, column := range g.columns {
			g.at[i], g.end[i] = max(0, len(column)-1), len(column) // the newest cell counts
		}
		if !a.yield(at, a.keys(row.Key()), g, 0, yield) {
			return false
		}
	}
	return true
}

// keys returns the row key for each column.
func (a *assembler[E]) keys(key string) []string {
	keys := make([]string, len(a.layout.Columns))
	for i := range keys {
		keys[i] = key
	}
	return keys
}

// cells yields the events of a bucket whose columns hold one cell per event.
func (a *assembler[E]) cells(row bigtable.Row, yield func(E, error) bool) bool {
	if _, err := a.timeOf(row); err != nil {
		return yield(a.base, err)
	}
	groups := a.newGroups()
	a.split(groups, row)
	return a.merge(a.keys(row.Key()), groups, yield)
}

// columns yields the events of a bucket that has a row for each metric, whose
// column qualifiers are the data.
func (a *assembler[E]) columns(rows []bigtable.Row, yield func(E, error) bool) bool {
	keys := make([]string, len(rows))
	groups := a.newGroups()
	for i, row := range rows {
		keys[i] = row.Key()
		for j := range a.layout.Table.Families {
			g := a.groupOf(groups, j)
			if g.class == 0 && a.layout.Columns[i].Family != j {
				continue
			}
			for _, item := range row[a.layout.Table.Families[j].Name] {
				us := int64(item.Timestamp)
				g.columns[i] = append(g.columns[i], datum{at: us, micros: us, value: []byte(a.qualifier(j, item))})
			}
		}
		for _, g := range groups {
			// Cells come in the order of their columns: of the data, not of time.
			slices.SortStableFunc(g.columns[i], byTime)
		}
	}
	return a.merge(keys, groups, yield)
}

// offsets yields the events of a bucket that has a column for each of them.
func (a *assembler[E]) offsets(row bigtable.Row, yield func(E, error) bool) bool {
	start, err := a.timeOf(row)
	if err != nil {
		return yield(a.base, err)
	}
	offset := a.layout.offset()
	groups := a.newGroups()
	for j := range a.layout.Table.Families {
		g := a.groupOf(groups, j)
		items := row[a.layout.Table.Families[j].Name]
		for i, item := range items {
			if i > 0 && item.Column == items[i-1].Column {
				continue // an older cell of the same event
			}
			at, sequence, err := offset.Parse(start, a.qualifier(j, item))
			if err != nil {
				if !yield(a.base, a.fail(row.Key(), a.qualifier(j, item), time.Time{}, err)) {
					return false
				}
				continue
			}
			g.columns[0] = append(g.columns[0], datum{at.UnixMicro(), int64(item.Timestamp), item.Value, sequence})
		}
	}
	return a.merge(a.keys(row.Key()), groups, yield)
}

// byTime orders data by the times of their events.
func byTime(a, b datum) int { return cmp.Compare(a.at, b.at) }

// newGroups returns an empty group for each class, or just one.
func (a *assembler[E]) newGroups() []*group {
	n := 1
	if a.layout.Table.hasClasses() {
		n = len(a.layout.Table.Families)
	}
	groups := make([]*group, n)
	for i := range groups {
		columns := len(a.layout.Columns)
		groups[i] = &group{class: a.layout.Table.Families[i].Class, columns: make([][]datum, columns), at: make([]int, columns), end: make([]int, columns)}
	}
	return groups
}

// groupOf returns the group that the cells of a family are in.
func (a *assembler[E]) groupOf(groups []*group, family int) *group {
	if len(groups) == 1 {
		return groups[0]
	}
	return groups[family]
}

// qualifier returns the column qualifier of a cell, which the client gives
// with the family in front.
func (a *assembler[E]) qualifier(family int, item bigtable.ReadItem) string {
	return item.Column[len(a.layout.Table.Families[family].Name)+1:]
}

// split sorts the cells of a row into the columns of the groups. Columns that the
// layout does not know are left out.
func (a *assembler[E]) split(groups []*group, row bigtable.Row) {
	for j := range a.layout.Table.Families {
		g := a.groupOf(groups, j)
		items := row[a.layout.Table.Families[j].Name]
		for begin := 0; begin < len(items); {
			end := begin + 1
			for end < len(items) && items[end].Column == items[begin].Column {
				end++
			}
			if i := a.column(j, g.class, a.qualifier(j, items[begin])); i >= 0 {
				g.columns[i] = ascending(items[begin:end])
			}
			begin = end
		}
	}
}

// column returns the index of a column; -1 if the layout does not know it.
func (a *assembler[E]) column(family, class int, qualifier string) int {
	return slices.IndexFunc(a.layout.Columns, func(c Column) bool {
		return c.Name == qualifier && (class > 0 || c.Family == family)
	})
}

// ascending returns the cells of one column in the order of time, one for each
// time; they come newest first.
func ascending(items []bigtable.ReadItem) []datum {
	out := make([]datum, 0, len(items))
	for i := len(items) - 1; i >= 0; i-- {
		us := int64(items[i].Timestamp)
		out = append(out, datum{at: us, micros: us, value: items[i].Value})
	}
	if !slices.IsSortedFunc(out, byTime) {
		slices.SortStableFunc(out, byTime)
	}
	return slices.CompactFunc(out, func(a, b datum) bool { return a.at == b.at })
}

// merge brings the columns of a bucket together to events, in the order of time.
func (a *assembler[E]) merge(keys []string, groups []*group, yield func(E, error) bool) bool {
	for {
		var next *group
		var at int64
		for _, g := range groups {
			if us, ok := g.earliest(); ok && (next == nil || us < at) {
				next, at = g, us
			}
		}
		if next == nil {
			return true
		}
		if !a.mergeTime(keys, next, at, yield) {
			return false
		}
	}
}

// mergeTime yields the events of a group at one time. Where columns have several
// data at that time there are as many events as the column with the most has,
// and the others repeat their last one.
func (a *assembler[E]) mergeTime(keys []string, g *group, at int64, yield func(E, error) bool) bool {
	most := g.take(at)
	if t := codec.FromMicros(at); a.wanted(t) {
		for n := range most {
			if !a.yield(t, keys, g, n, yield) {
				return false
			}
		}
	}
	copy(g.at, g.end)
	return true
}

// earliest returns the earliest time that any column is at, in microseconds.
func (g *group) earliest() (at int64, found bool) {
	for i, column := range g.columns {
		if g.at[i] < len(column) && (!found || column[g.at[i]].at < at) {
			at, found = column[g.at[i]].at, true
		}
	}
	return at, found
}

// take sets the ends of the data of a time, and returns the most that a column has.
func (g *group) take(at int64) int {
	most := 0
	for i, column := range g.columns {
		g.end[i] = g.at[i]
		for g.end[i] < len(column) && column[g.end[i]].at == at {
			g.end[i]++
		}
		most = max(most, g.end[i]-g.at[i])
	}
	return most
}

// rowOf returns the key of the row that has the column, or should have it.
func (g *group) rowOf(keys []string, column int) string {
	if keys[column] != "" {
		return keys[column]
	}
	for i, key := range keys {
		if g.at[i] < g.end[i] {
			return key
		}
	}
	return ""
}

// yield makes an event of the n-th data that the columns have at the current
// time, or their last ones, and yields it unless nothing of it is alive by the
// clock as it is now: a long scan outlives what it reads.
func (a *assembler[E]) yield(at time.Time, keys []string, g *group, n int, yield func(E, error) bool) bool {
	event := a.base
	if a.match != nil && !a.match(&event) {
		return true
	}
	*a.layout.Time(&event) = at
	choice := a.layout.choice(&event)
	if choice.Class != nil {
		*choice.Class = g.class
	}
	var failed error
	found := false
	now := a.now()
	for i, column := range a.layout.Columns {
		if a.skips(i) {
			continue
		}
		d, ok := a.datum(now, g, i, n)
		var err error
		switch {
		case ok:
			found = found || !column.WrittenAt
			if a.layout.Sequence != nil {
				*a.layout.Sequence(&event) = d.sequence
			}
			a.expires(choice, column, d)
			err = a.layout.Set(&event, i, d.value)
		case !column.WrittenAt:
			err = a.layout.Missing(&event, i)
		}
		if err != nil && failed == nil {
			failed = a.fail(g.rowOf(keys, i), column.Name, at, err)
		}
	}
	return !found || yield(event, failed)
}

// skips reports whether a column is not to be fetched.
func (a *assembler[E]) skips(column int) bool { return a.fetch != nil && !a.fetch[column] }

// datum returns the n-th datum of a column at the current time, or its last one;
// false if it has none that is alive.
func (a *assembler[E]) datum(now time.Time, g *group, column, n int) (datum, bool) {
	if g.at[column] == g.end[column] {
		return datum{}, false
	}
	i := min(g.at[column]+n, g.end[column]-1)
	d := g.columns[column][i]
	if !a.alive(now, g, column, d, len(g.columns[column])-1-i) {
		a.expired = true
		return datum{}, false
	}
	return d, true
}

// expires tells the event when it expires, where its cells say so.
func (a *assembler[E]) expires(choice Choice, column Column, d datum) {
	if choice.ExpiresAt == nil {
		return
	}
	if expiry, ok := a.layout.Table.Families[column.Family].Life.Expiry(d.micros); ok {
		*choice.ExpiresAt = expiry
	}
}

// last returns the newest event of the rows of one bucket, or of one row.
func (a *assembler[E]) last(rows []bigtable.Row) (E, error) {
	event, failed := a.base, error(ErrNotFound)
	keep := func(e E, err error) bool {
		event, failed = e, err
		return true
	}
	a.rows(rows, keep)
	return event, failed
}
