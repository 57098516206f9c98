package infer

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// A part of the keys that is no time of the schema language may be a time nevertheless, or contain one, by rule K24.
// The timestamps of cells show most of these: a time is in their order, or each of its values has its own period.

// hiddenTime asks about a part of the keys that is not the time of the schema, but is one that
// the language does not have, or contains one; empty if it does not look like one.
func (k *key) hiddenTime(p *part) string {
	for _, ask := range []func(p *part) string{k.foreignTime, k.otherTime, k.calendar, k.within, k.following} {
		if q := ask(p); q != "" {
			return q
		}
	}
	return ""
}

// foreignTime asks about a part of the keys in a form of times that the language refuses.
func (k *key) foreignTime(p *part) string {
	ask := func(is string) string {
		return fmt.Sprintf("Is it a time? %s is %s, which is not a time that keys can have [K24].", show(p.values[0]), is)
	}
	if layouts := layoutsOf(dataOf(p.values)); len(layouts) > 0 && len(timeForms(p.values)) == 0 {
		return ask("a time in the form " + layouts[0])
	}
	for _, f := range []*timeForm{
		{format: "a UUID that contains a time", unit: time.Second, parse: uuidTime},
		{format: "a little-endian time", unit: time.Second, parse: littleTime},
	} {
		if !f.fits(p.values) || !differ(p.values) {
			continue
		}
		if l := lagOf(k.rows, p.values, f); l.n > 0 && l.class() <= 1 {
			return ask(f.format)
		}
	}
	return ""
}

// uuidTime returns the time of a UUID of version 7 or 1.
func uuidTime(s string) (time.Time, bool) {
	u, err := codec.ParseUUID(s)
	if len(s) == 16 {
		copy(u[:], s)
		err = nil
	}
	if err != nil {
		return time.Time{}, false
	}
	switch u[6] >> 4 {
	case 7:
		t := time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, u[:6]...))))
		return t, plausible(t)
	case 1:
		const gregorian = 122192928000000000 // from 1582 to 1970, in 100 ns
		n := int64(binary.BigEndian.Uint16(u[6:])&0xfff)<<48 | int64(binary.BigEndian.Uint16(u[4:]))<<32 | int64(binary.BigEndian.Uint32(u[:]))
		t := time.Unix(0, 0).Add(time.Duration((n-gregorian)/10) * time.Microsecond)
		return t, plausible(t)
	}
	return time.Time{}, false
}

// littleTime returns the time of a little-endian number of 4 or 8 bytes.
func littleTime(s string) (time.Time, bool) {
	n := int64(0)
	switch len(s) {
	case 4:
		n = int64(binary.LittleEndian.Uint32([]byte(s)))
	case 8:
		n = int64(binary.LittleEndian.Uint64([]byte(s)))
	}
	for _, t := range []time.Time{time.Unix(n, 0), time.UnixMilli(n), time.UnixMicro(n), time.Unix(0, n)} {
		if n > 0 && n < 1<<62 && plausible(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// otherTime asks about a part of the keys that is a time of the language, but not the one of the schema.
func (k *key) otherTime(p *part) string {
	for _, f := range timeForms(p.values) {
		l := lagOf(k.rows, p.values, f)
		if f.binary() == isBytes(p.values) && l.n > 0 && l.class() == 0 && l.agree*10 >= l.n*9 {
			return fmt.Sprintf("Is it a time, such as %s? Is it derived from the time of the event, or local?", f.name())
		}
	}
	return ""
}

// following asks about a part of the keys that follows the timestamps of cells: a time in a form that this package
// does not know, or a number that is derived from one. It is empty if the part does not.
func (k *key) following(p *part) string {
	found := k.observations(p)
	numbers := all(p.values, isDigits) && inOrder(found, compareNumbers)
	if !numbers && !inOrder(found, strings.Compare) && !inPeriods(found) {
		return ""
	}
	return "Its values follow the timestamps of cells. Is it a time, or does it contain one, in a form that keys cannot have [K24]?"
}

// observation is a value of a part of a key, and the times of the oldest and the newest cell of its row.
type observation struct {
	value          string
	oldest, newest int64
}

// maxPairs is the number of rows whose parts are compared in pairs.
const maxPairs = 300

// observations returns some values of a part, sorted by time; nil if a timestamp is no time.
func (k *key) observations(p *part) (found []observation) {
	for r := 0; r < len(p.values); r += max(1, len(p.values)/maxPairs) {
		oldest, newest := k.rows[r].bounds()
		if !plausible(codec.FromMicros(oldest)) {
			return nil
		}
		found = append(found, observation{p.values[r], oldest, newest})
	}
	slices.SortStableFunc(found, func(a, b observation) int { return cmp.Compare(a.oldest, b.oldest) })
	return found
}

// compareNumbers compares digits as numbers.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// inOrder reports whether all but a few pairs of many values are in the order of their times, or in the opposite
// order.
func inOrder(found []observation, compare func(a, b string) int) bool {
	distinct, up, down := map[string]bool{}, 0, 0
	for i, o := range found {
		distinct[o.value] = true
		for _, before := range found[:i] {
			if order := compare(o.value, before.value); before.oldest != o.oldest && order != 0 {
				up, down = up+(1+order)/2, down+(1-order)/2
			}
		}
	}
	return len(distinct) >= 10 && up+down > 0 && max(up, down)*100 >= (up+down)*98
}

// inPeriods reports whether values repeat, and each has a period that hardly overlaps with those of others.
func inPeriods(found []observation) bool {
	distinct, periods, overlaps := map[string]bool{}, 0, 0
	for i, o := range found {
		if distinct[o.value] = true; i > 0 && o.value == found[i-1].value {
			continue
		}
		if periods++; i > 0 && found[i-1].newest >= o.oldest {
			overlaps++
		}
	}
	n := len(distinct)
	return n >= 3 && len(found) >= 2*n && periods+overlaps <= n+n/10
}

// calendarFields are the parts of times that calendars count.
var calendarFields = []struct {
	name string
	of   func(t time.Time) int
}{
	{"the month", func(t time.Time) int { return int(t.Month()) }},
	{"the week of the year", func(t time.Time) int { _, w := t.ISOWeek(); return w }},
	{"the day of the year", time.Time.YearDay},
	{"the day of the month", time.Time.Day},
	{"the day of the week", func(t time.Time) int { return int(t.Weekday()) }},
	{"the hour of the day", time.Time.Hour},
	{"the minute of the hour", time.Time.Minute},
}

// calendar asks about a part of the keys that counts months, days or hours of the timestamps of
// cells, in some time zone; empty if it does not. It would be different series otherwise.
func (k *key) calendar(p *part) string {
	if p.binary || p.distinct < 2 || !all(p.values, func(v string) bool { return isDigits(v) && len(v) <= 3 }) {
		return ""
	}
	for _, f := range calendarFields {
		for zone := -12 * time.Hour; zone < zones; zone += time.Hour {
			differs := func(r int) bool {
				n, _ := strconv.Atoi(p.values[r])
				return slices.ContainsFunc(k.rows[r].cells, func(c cell) bool { return f.of(codec.FromMicros(c.at).UTC().Add(zone)) != n })
			}
			r := 0
			for r < len(k.rows) && !differs(r) {
				r++
			}
			if r == len(k.rows) {
				return fmt.Sprintf("Is it %s of timestamps of cells? Then it is part of a time, not of a series, and must be in one segment with the rest of it [K24].", f.name)
			}
		}
	}
	return ""
}

// within asks about times inside of the values of a part.
func (k *key) within(p *part) string {
	for _, size := range []int{14, 8, 10, 13, 16, 19, 12, 7, 6, 4} {
		for _, tail := range []bool{true, false} {
			for skip := 0; skip < 24; skip++ {
				values := make([]string, 0, len(p.values))
				for _, v := range p.values {
					begin := skip
					if tail {
						begin = len(v) - size - skip
					}
					if begin < 0 || begin+size > len(v) || len(v) == size {
						break
					}
					values = append(values, v[begin:begin+size])
				}
				if len(values) < len(p.values) {
					break
				}
				if len(values) < 3 || size < 6 && !isBytes(values) {
					continue
				}
				forms := timeForms(values)
				if size == 4 || size == 8 {
					forms = append(forms, &timeForm{format: "binary, little-endian", unit: time.Second, parse: littleTime})
				}
				for _, f := range forms {
					if !f.fits(values) {
						continue
					}
					l := lagOf(k.rows, values, f)
					if f.binary() == isBytes(values) && l.n > 0 && l.class() == 0 && l.agree == l.n && (differ(values) || strings.ContainsAny(values[0], "-/:.")) {
						return fmt.Sprintf("It contains %s, which looks like a time (%s). Is it one that keys can have? If not, see [K24].", show(values[0]), f.name())
					}
				}
			}
		}
	}
	return ""
}

// differ reports whether there are several values.
func differ(values []string) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}
