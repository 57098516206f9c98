package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// assembler makes events of the cells of rows.
type assembler[E any] struct {
	layout   *Layout[E]
	table    string
	base     E // an event with its series alone
	from, to time.Time
	now      func() time.Time
}

// datum is one stored value of a column, and when it is from.
type datum struct {
	micros int64
	value  []byte
}

// fail says where something was read that cannot be decoded.
func (a *assembler[E]) fail(row, column string, at time.Time, err error) error {
	return &DecodeError{Table: a.table, Row: row, Column: column, Time: at, Err: err}
}

// wanted reports whether an event at t is in the range and still alive, by the
// clock as it is now: a long scan outlives what it reads.
func (a *assembler[E]) wanted(t time.Time) bool {
	return !t.Before(a.from) && t.Before(a.to) && a.layout.Retention.Alive(a.now(), codec.Micros(t), 1)
}

// bucketOf returns the start of the bucket that a row is of.
func (a *assembler[E]) bucketOf(row bigtable.Row, prefix string) (time.Time, error) {
	start, err := a.layout.Bucket.ParseLabel(strings.TrimPrefix(row.Key(), prefix))
	if err != nil {
		return start, a.fail(row.Key(), "", time.Time{}, err)
	}
	return start, nil
}

// single yields the event of a row of its own. Like the functions below it
// reports whether the caller wants more.
func (a *assembler[E]) single(row bigtable.Row, prefix string, yield func(E, error) bool) bool {
	at, err := a.layout.TimeKey.Parse(strings.TrimPrefix(row.Key(), prefix))
	if err != nil {
		return yield(a.base, a.fail(row.Key(), "", time.Time{}, err))
	}
	if !a.wanted(at) {
		return true
	}
	columns := a.split(row)
	rowOf := func(int) string { return row.Key() }
	return yield(a.event(at, rowOf, func(column int) ([]byte, bool) {
		if n := len(columns[column]); n > 0 {
			return columns[column][n-1].value, true
		}
		return nil, false
	}))
}

// cells yields the events of a bucket whose columns hold one cell per event.
func (a *assembler[E]) cells(row bigtable.Row, prefix string, yield func(E, error) bool) bool {
	if _, err := a.bucketOf(row, prefix); err != nil {
		return yield(a.base, err)
	}
	keys := make([]string, len(a.layout.Columns))
	for i := range keys {
		keys[i] = row.Key()
	}
	return a.merge(keys, a.split(row), yield)
}

// columns yields the events of a bucket that has a row for each metric, whose
// column qualifiers are the data.
func (a *assembler[E]) columns(rows []bigtable.Row, yield func(E, error) bool) bool {
	keys := make([]string, len(rows))
	columns := make([][]datum, len(rows))
	for i, row := range rows {
		keys[i] = row.Key()
		items := row[a.layout.Family]
		columns[i] = make([]datum, len(items))
		for j, item := range items {
			columns[i][j] = datum{int64(item.Timestamp), []byte(a.qualifier(item))}
		}
		// Cells come in the order of their columns: of the data, not of time.
		slices.SortStableFunc(columns[i], byTime)
	}
	return a.merge(keys, columns, yield)
}

// byTime orders data by their time.
func byTime(a, b datum) int {
	switch {
	case a.micros < b.micros:
		return -1
	case a.micros > b.micros:
		return 1
	}
	return 0
}

// qualifier returns the column qualifier of a cell, which the client gives
// with the family in front.
func (a *assembler[E]) qualifier(item bigtable.ReadItem) string {
	return item.Column[len(a.layout.Family)+1:]
}

// split sorts the cells of a row into the columns of the layout, each in the
// order of time. Columns that the layout does not know are left out.
func (a *assembler[E]) split(row bigtable.Row) [][]datum {
	columns := make([][]datum, len(a.layout.Columns))
	items := row[a.layout.Family]
	for begin := 0; begin < len(items); {
		end := begin + 1
		for end < len(items) && items[end].Column == items[begin].Column {
			end++
		}
		if i := slices.Index(a.layout.Columns, a.qualifier(items[begin])); i >= 0 {
			columns[i] = ascending(items[begin:end])
		}
		begin = end
	}
	return columns
}

// ascending returns the cells of one column in the order of time, one for each
// time; they come newest first.
func ascending(items []bigtable.ReadItem) []datum {
	out := make([]datum, 0, len(items))
	for i := len(items) - 1; i >= 0; i-- {
		out = append(out, datum{int64(items[i].Timestamp), items[i].Value})
	}
	if !slices.IsSortedFunc(out, byTime) {
		slices.SortStableFunc(out, byTime)
	}
	return slices.CompactFunc(out, func(a, b datum) bool { return a.micros == b.micros })
}

// merge brings the columns of a bucket, each in the order of time, together to
// events. Where columns have several data at one time there are as many events
// as the column with the most has, and the others repeat their last one.
func (a *assembler[E]) merge(keys []string, columns [][]datum, yield func(E, error) bool) bool {
	at := make([]int, len(columns))  // the next datum of each column
	end := make([]int, len(columns)) // past its data of the current time
	for {
		micros, ok := earliest(columns, at)
		if !ok {
			return true
		}
		most := 0
		for i, column := range columns {
			end[i] = at[i]
			for end[i] < len(column) && column[end[i]].micros == micros {
				end[i]++
			}
			most = max(most, end[i]-at[i])
		}
		if t := codec.FromMicros(micros); a.wanted(t) {
			rowOf := func(column int) string { return cmp.Or(keys[column], anyRow(keys, at, end)) }
			for n := range most {
				if !yield(a.event(t, rowOf, func(column int) ([]byte, bool) {
					if at[column] == end[column] {
						return nil, false
					}
					return columns[column][min(at[column]+n, end[column]-1)].value, true
				})) {
					return false
				}
			}
		}
		copy(at, end)
	}
}

// earliest returns the earliest time that any column is at.
func earliest(columns [][]datum, at []int) (int64, bool) {
	var micros int64
	found := false
	for i, column := range columns {
		if at[i] < len(column) && (!found || column[at[i]].micros < micros) {
			micros, found = column[at[i]].micros, true
		}
	}
	return micros, found
}

// anyRow returns the key of the first row that has a datum of the current time.
func anyRow(keys []string, at, end []int) string {
	for i, key := range keys {
		if at[i] < end[i] {
			return key
		}
	}
	return ""
}

// event makes an event of what get returns for each column. rowOf returns the
// row that has the column, or should have it.
func (a *assembler[E]) event(at time.Time, rowOf func(column int) string, get func(column int) ([]byte, bool)) (E, error) {
	event := a.base
	*a.layout.Time(&event) = at
	var failed error
	for i, name := range a.layout.Columns {
		value, ok := get(i)
		var err error
		if ok {
			err = a.layout.Set(&event, i, value)
		} else {
			err = a.layout.Missing(&event, i)
		}
		if err != nil && failed == nil {
			failed = a.fail(rowOf(i), name, at, err)
		}
	}
	return event, failed
}

// last returns the newest event of the rows of one bucket, or of one row.
func (a *assembler[E]) last(rows []bigtable.Row, prefixes []string) (E, error) {
	event, failed := a.base, error(ErrNotFound)
	keep := func(e E, err error) bool {
		event, failed = e, err
		return true
	}
	switch {
	case a.layout.Kind == BucketColumns:
		a.columns(rows, keep)
	case rows[0] == nil:
	case a.layout.Kind == BucketCells:
		a.cells(rows[0], prefixes[0], keep)
	default:
		a.single(rows[0], prefixes[0], keep)
	}
	return event, failed
}
