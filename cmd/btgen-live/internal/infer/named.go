package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// named is what the names of columns are, if they are not those of fields.
type named struct {
	example string
	n       int  // columns with such names
	certain bool // whether they are values; else they may be fields
}

// manyNames is the number of columns with names like values that are hardly those of fields.
const manyNames = 20

// maxNamed is the number of cells whose columns are examined as times.
const maxNamed = 5000

// digits matches the numbers in a name.
var digits = regexp.MustCompile(`[0-9]+`)

// shape returns a name with its numbers replaced: columns that are named after users, or after a
// metric and a time, have names of one shape.
func shape(name string) string { return digits.ReplaceAllString(name, "0") }

// named examines the names of columns. Names that are times, counts or IDs are those of columns
// that no field names, by rule C08.
func (k *key) named(cols []*column) named {
	var out named
	rare, shapes := 0, map[string]int{}
	for _, c := range cols {
		shapes[shape(c.qualifier)]++
	}
	for _, c := range cols {
		like := likeValue(c.qualifier)
		if !like && shapes[shape(c.qualifier)] < manyNames {
			continue
		}
		if out.n++; out.example == "" {
			out.example = c.qualifier
		}
		if !like {
			continue // many sensors have such names, too
		}
		if c.rows*5 < len(k.rows) || !isText(c.qualifier) {
			rare++
		}
	}
	if out.n < 3 || out.n*2 < len(cols) {
		return named{}
	}
	out.certain = out.n >= manyNames && rare*2 > out.n || k.namesAreTimes()
	return out
}

// likeValue reports whether a column name looks like a number, a time, an ID, or bytes.
func likeValue(name string) bool {
	return name != "" && (isDigits(name) || !isText(name) || codingOf(data{[]byte(name)}, textIDs) != nil || timeText.reads([]byte(name)) ||
		slices.ContainsFunc(timeForms([]string{name}), func(f *timeForm) bool { return !f.binary() }))
}

// namesAreTimes reports whether the names of all columns are those of the timestamps of their
// cells: a time, or a count since the time in the key.
func (k *key) namesAreTimes() bool {
	units := []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}
	for _, unit := range units {
		if k.namesFit(func(start time.Time, c *cell) (time.Time, bool) {
			n, err := strconv.ParseInt(c.qualifier, 10, 64)
			if !isText(c.qualifier) || err != nil && len(c.qualifier) <= 8 {
				n, err = int64(bigEndian(c.qualifier)), nil
			}
			if err != nil || n < 0 || n > int64(400*24*time.Hour/unit) {
				return start, false
			}
			return start.Add(time.Duration(n) * unit), true
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
		for _, f := range timeForms([]string{c.qualifier}) {
			at, ok := f.parse(c.qualifier)
			if d := c.at - at.UnixMicro(); ok && magnitude(d) < int64(24*time.Hour/time.Microsecond) {
				return codec.FromMicros(c.at), true
			}
		}
		return time.Time{}, false
	})
}

// namesFit reports whether a function of their names gives the timestamps of all cells.
func (k *key) namesFit(at func(start time.Time, c *cell) (time.Time, bool)) bool {
	n := 0
	for r := range k.rows {
		start, ok := k.start(r)
		for i := range k.rows[r].cells {
			c := &k.rows[r].cells[i]
			t, fits := at(start, c)
			d := c.at - t.UnixMicro()
			if !fits || ok && magnitude(d) > 1_000_000 {
				return false
			}
			if n++; n == maxNamed {
				return true
			}
		}
	}
	return n > 2
}

// question asks about the names; empty if they are those of fields.
func (n named) question() string {
	if n.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d columns have names like %s: are these times, counts or other values? Columns must be named by fields [C08].", n.n, show(n.example))
}
