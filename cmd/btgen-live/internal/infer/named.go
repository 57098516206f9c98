package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// digits matches the numbers in a name. Columns that are named after users, or after a metric and a time, differ only in them.
var digits = regexp.MustCompile(`[0-9]+`)

// named examines the names of columns, and returns the problem if they are not those of fields, but times, counts or IDs, which rule
// C08 refuses. It is certain if they hardly are fields.
func (k *key) named(cols []*column) (problem string, certain bool) {
	const many = 20 // columns with names like values that are hardly those of fields
	n, rare, example, shapes := 0, 0, "", map[string]int{}
	shape := func(c *column) string { return digits.ReplaceAllString(c.qualifier, "0") }
	for _, c := range cols {
		shapes[shape(c)]++
	}
	for _, c := range cols {
		like := likeValue(c.qualifier)
		if !like && shapes[shape(c)] < many {
			continue
		}
		if n++; n == 1 {
			example = c.qualifier
		}
		if like && (c.rows*5 < len(k.rows) || !isText(c.qualifier)) { // many sensors have names of one shape, too
			rare++
		}
	}
	if n < 3 || n*2 < len(cols) {
		return "", false
	}
	problem = fmt.Sprintf("%d columns have names like %s, and columns must be named by fields [C08]", n, show(example))
	return problem, n >= many && rare*2 > n || k.namesAreTimes()
}

// likeValue reports whether a column name looks like a number, a time, an ID, or bytes.
func likeValue(name string) bool {
	return name != "" && (isDigits(name) || !isText(name) || codingOf(data{[]byte(name)}, textIDs) != nil || timeText.reads([]byte(name)) ||
		slices.ContainsFunc(timeForms([]string{name}), func(f *timeForm) bool { return !f.binary() }))
}

// namesAreTimes reports whether the names of all columns are those of the timestamps of their
// cells: a time, or a count since the time in the key.
func (k *key) namesAreTimes() bool {
	for _, unit := range steps {
		if k.namesFit(func(start time.Time, c *cell) (time.Time, bool) {
			n, err := strconv.ParseInt(c.qualifier, 10, 64)
			if !isText(c.qualifier) || err != nil && len(c.qualifier) <= 8 {
				n, err = int64(bigEndian(c.qualifier)), nil
			}
			return start.Add(time.Duration(n) * unit), err == nil && n >= 0 && n <= int64(400*day/unit)
		}) {
			return true
		}
	}
	return k.namesAreInstants()
}

// namesAreInstants reports whether the names of all columns are times, near to the timestamps of
// their cells.
func (k *key) namesAreInstants() bool {
	return k.namesFit(func(_ time.Time, c *cell) (time.Time, bool) {
		return codec.FromMicros(c.at), c.qualifier != "" && slices.ContainsFunc(timeForms([]string{c.qualifier}), func(f *timeForm) bool {
			return magnitude(c.at-f.at[0].UnixMicro()) < day.Microseconds()
		})
	})
}

// namesFit reports whether a function of their names gives the timestamps of all cells.
func (k *key) namesFit(at func(start time.Time, c *cell) (time.Time, bool)) bool {
	const most = 5000 // cells
	n := 0
	for r := range k.rows {
		var start time.Time
		if k.time != nil {
			start = k.time.at[r]
		}
		for i := range k.rows[r].cells {
			c := &k.rows[r].cells[i]
			t, fits := at(start, c)
			if !fits || k.time != nil && magnitude(c.at-t.UnixMicro()) > 1_000_000 {
				return false
			}
			if n++; n == most {
				return true
			}
		}
	}
	return n > 2
}
