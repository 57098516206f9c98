package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// A part of the keys that is no time of the schema language may be a time nevertheless, or contain one, by rule K24.
// The timestamps of cells show most of these: a time is in their order, or each of its values has its own period.

// hiddenTime asks about a part of the keys that is not the time of the schema, but a time or a part of one; empty if it does not
// look like one.
func (k *key) hiddenTime(p *part) string {
	if is := k.foreignTime(p); is != "" {
		return fmt.Sprintf("Is it a time? %s is a time in the form %s, which keys cannot have [K24].", show(p.values[0]), is)
	}
	for _, f := range timeForms(p.values) {
		if l := lagOf(k.rows, f); f.binary() == isBytes(p.values) && l.n > 0 && l.class() == 0 && l.agree*10 >= l.n*9 {
			return fmt.Sprintf("Is it a time, such as %s? Is it derived from the time of the event, or local?", f.name())
		}
	}
	if field := k.calendar(p); field != "" {
		return fmt.Sprintf("Is it %s of timestamps of cells? Then it is part of a time, not of a series, and must be in one segment with the rest of it [K24].", field)
	}
	if k.follows(p) {
		return "Its values follow the timestamps of cells. Is it a time, or does it contain one, in a form that keys cannot have [K24]?"
	}
	return ""
}

// foreignTime returns the form of a part of the keys that is a time in a form which the language refuses; empty if it is none.
func (k *key) foreignTime(p *part) string {
	if layouts := layoutsOf(dataOf(p.values)); len(layouts) > 0 && len(timeForms(p.values)) == 0 {
		return layouts[0]
	}
	reversed := make([]string, len(p.values))
	for i, v := range p.values {
		reversed[i] = backward(v)
	}
	for _, f := range timeForms(reversed) {
		if l := lagOf(k.rows, f); f.binary() && f.reverse == "" && p.distinct > 1 && l.n > 0 && l.class() <= 1 {
			return "little-endian"
		}
	}
	return ""
}

// backward returns the bytes in the opposite order.
func backward(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// observation is a value of a part of a key, and the times of the oldest and the newest cell of its row.
type observation struct {
	value          string
	oldest, newest int64
}

// follows reports whether a part of the keys follows the timestamps of cells: its values, their ends or the numbers that they are
// have their order or the opposite one, or each of them has its own period.
func (k *key) follows(p *part) bool {
	const most = 300 // rows
	var found []observation
	for r := 0; r < len(p.values); r += max(1, len(p.values)/most) {
		oldest, newest := k.rows[r].bounds()
		if !plausible(codec.FromMicros(oldest)) {
			return false
		}
		found = append(found, observation{p.values[r], oldest, newest})
	}
	slices.SortStableFunc(found, func(a, b observation) int { return cmp.Compare(a.oldest, b.oldest) })
	const shortest, longest = 4, 24 // bytes of ends
	ways := slices.Clone(readings)
	for n := min(longest, p.width()-1); n >= shortest; n-- {
		ways = append(ways, func(v string) string { return v[len(v)-n:] })
	}
	if all(p.values, isDigits) {
		ways = append(ways, func(v string) string {
			v = strings.TrimLeft(v, "0")
			return fmt.Sprintf("%9d%s", len(v), v)
		})
	}
	return inPeriods(found) || slices.ContainsFunc(ways, func(read func(v string) string) bool { return inOrder(found, read) })
}

// readings return texts that have the order of values: themselves, the numbers that are little-endian, and the times of
// UUIDs of version 1.
var readings = []func(v string) string{
	func(v string) string { return v },
	backward,
	func(v string) string {
		if len(v) != len("f81d4fae-7dec-11d0-a765-00a0c91e6bf6") {
			return ""
		}
		return v[14:18] + v[9:13] + v[:8]
	},
}

// inOrder reports whether all but a few pairs of many values, as they are read, are in the order of their times, or in the opposite
// order. Times that are near do not count: writes may follow their events by different times.
func inOrder(found []observation, read func(v string) string) bool {
	distinct, up, down := map[string]bool{}, 0, 0
	texts := make([]string, len(found))
	near := (found[len(found)-1].oldest - found[0].oldest) / 4
	for i, o := range found {
		distinct[o.value], texts[i] = true, read(o.value)
		for j, before := range found[:i] {
			if order := strings.Compare(texts[i], texts[j]); o.oldest-before.oldest > near && order != 0 {
				up, down = up+(1+order)/2, down+(1-order)/2
			}
		}
	}
	return len(distinct) >= 10 && up+down > len(found) && max(up, down)*100 >= (up+down)*98
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

// calendar returns the name of the field of timestamps of cells, in some time zone, that a part of the keys counts; empty if it
// counts none. It would be different series otherwise.
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
				return f.name
			}
		}
	}
	return ""
}
