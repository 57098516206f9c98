package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Whether the times in row keys are what they look like: timestamps of cells are the only other
// evidence. They are the times of events, or those of writes a little later, or have nothing to
// do with either. Times that disagree with them may still be right, for example if rows were
// imported, but never without a question.

const (
	day  = 24 * time.Hour
	year = 366 * day
)

// Limits of what agrees.
const (
	early = 5 * time.Minute  // by which the clock of a writer may be ahead
	late  = day              // by which a write may follow its event
	soon  = 15 * time.Minute // within which some writes follow their events
	zones = 15 * time.Hour   // by which local times differ from UTC, at most
)

// lag is by how much timestamps of cells follow times of events.
type lag struct {
	width    time.Duration   // of the period that a time stands for
	all      []time.Duration // those of plausible timestamps; sorted after done
	agree    int
	unlikely int // timestamps that are no times, such as 0
}

// add compares a cell with the time of its event.
func (l *lag) add(cell int64, event time.Time) {
	at := codec.FromMicros(cell)
	if !plausible(at) {
		l.unlikely++
		return
	}
	d := at.Sub(event)
	if l.all = append(l.all, d); l.classOf(d) == 0 {
		l.agree++
	}
}

// lagOf compares some rows with the times of a form in their keys.
func lagOf(rows []row, f *timeForm) *lag {
	const most = 400 // rows
	l := &lag{width: f.width()}
	for r := 0; r < len(rows); r += max(1, len(rows)/most) {
		for i, c := range rows[r].cells {
			if i == 0 || i == len(rows[r].cells)-1 {
				l.add(c.at, f.at[r])
			}
		}
	}
	slices.Sort(l.all)
	return l
}

// classOf returns how badly a timestamp disagrees, from 0.
func (l *lag) classOf(d time.Duration) int {
	for i, of := range [][2]time.Duration{{early, late}, {zones, 45 * day}, {year, 3 * year}} {
		if d >= -of[0] && d < l.width+of[1] {
			return i
		}
	}
	return 3
}

// class returns how badly the median of the timestamps disagrees.
func (l *lag) class() int {
	if len(l.all) == 0 {
		return 0
	}
	return l.classOf(l.all[len(l.all)/2])
}

// within reports whether all timestamps follow the times by at least one duration, and at most another one.
func (l *lag) within(least, most time.Duration) bool {
	return len(l.all) > 0 && l.all[0] >= least && l.all[len(l.all)-1] <= most
}

// same reports whether all timestamps are the times so many units later, in whole milliseconds.
func (l *lag) same(units time.Duration) bool {
	return l.within(units*l.width-time.Millisecond+1, units*l.width)
}

// local reports whether timestamps disagree as local times do: some are earlier, or all later, also in whole local days.
func (l *lag) local() bool {
	return l.within(-zones, l.width+zones) && (l.all[0] < -early || l.all[0] >= soon && l.all[len(l.all)-1] >= l.width+soon)
}

// shifted reports whether all timestamps differ by about the same, as UTC does from local times with daylight saving time.
func (l *lag) shifted() bool {
	return l.local() && l.all[len(l.all)-1]-l.all[0] <= 75*time.Minute && (l.all[len(l.all)-1] < -early || l.all[0] >= l.width+soon)
}

// offByOne reports whether all timestamps are the times one unit earlier or later, or differ
// from them by exactly the same little time: a time that is subtracted from another maximum
// looks like it.
func (l *lag) offByOne() bool {
	if len(l.all) < 2 || l.same(0) {
		return false
	}
	return l.within(l.all[0], l.all[0]) && l.within(-time.Second+1, time.Second-1) || l.same(-1) || l.same(1)
}

// question asks about times that disagree; empty if none does.
func (l *lag) question() string {
	n := len(l.all)
	share := fmt.Sprintf("Timestamps of %d of %d cells disagree with the times in the keys, by up to %s.", n-l.agree, n, gap(l.farthest()))
	switch {
	case n == 0 && l.unlikely > 0:
		return "Timestamps of cells are not times. Is the time in the keys that of the event?"
	case l.offByOne():
		return fmt.Sprintf("Timestamps of all cells differ by %s from the times in the keys. Is the time subtracted from another number? Keys cannot have it then [K24].", gap(l.farthest()))
	case l.local():
		return fmt.Sprintf("Timestamps of cells differ by up to %s from the times in the keys, which stand for %s. Are these local times? Times in keys must be in UTC [K24].", gap(l.farthest()), l.width)
	case l.agree < n && l.class() > 1:
		return share + " Were the cells written later, or is it an ID or another number instead of a time?"
	case l.agree < n:
		return share + " Were the cells written later, or is the time another one?"
	case l.width >= time.Second && l.within(0, l.width-1) && l.farthest() > 0:
		return fmt.Sprintf("Timestamps of cells are up to %s later than the times in the keys, which stand for %s. Are timestamps the times of events, in buckets of %s, or those of writes?", gap(l.farthest()), l.width, l.width)
	}
	return ""
}

func (l *lag) farthest() time.Duration {
	if len(l.all) == 0 {
		return 0
	}
	return max(l.all[0].Abs(), l.all[len(l.all)-1].Abs())
}

func gap(d time.Duration) string {
	switch {
	case d >= 2*year:
		return fmt.Sprintf("%d years", d/(365*day))
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= time.Second:
		return d.Round(time.Second).String()
	}
	return d.String()
}

// untimed asks about cells whose timestamps are no times, such as 0, beside others; empty if there are none.
func (t *table) untimed() string {
	n, example := 0, ""
	for _, r := range t.rows {
		for _, c := range r.cells {
			if at := codec.FromMicros(c.at); !plausible(at) {
				if n++; n == 1 {
					example = fmt.Sprintf("column %s of row %s, at %s", show(c.family+":"+c.qualifier), show(r.key), at.UTC().Format(time.RFC3339))
				}
			}
		}
	}
	if n == 0 || n == t.cells {
		return ""
	}
	return fmt.Sprintf("Timestamps of %d of %d cells are not times, such as %s. Are these cells parts of events?", n, t.cells, example)
}

// A part of the keys that is no time of the schema language may be a time nevertheless, or contain one, by rule K24.
// The timestamps of cells show most of these: a time is in their order, or each of its values has its own period.

// hiddenTime asks about a part of the keys that looks like another time, or a part of one; empty if it does not.
func (k *key) hiddenTime(p *part) string {
	if is := k.foreignTime(p); is != "" {
		return fmt.Sprintf("Is it a time? %s is a time in the form %s, which keys cannot have [K24].", show(p.values[0]), is)
	}
	for _, f := range p.forms {
		if l := lagOf(k.rows, f); f.binary() != p.text && l.class() == 0 && l.agree > 0 && l.agree*10 >= len(l.all)*9 {
			return fmt.Sprintf("Is it a time, such as %s? Is it derived from the time of the event, or local?", f.Label)
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
	if layouts := layoutsOf(dataOf(p.values)); len(layouts) > 0 && len(p.forms) == 0 {
		return layouts[0]
	}
	reversed := make([]string, len(p.values))
	for i, v := range p.values {
		reversed[i] = backward(v)
	}
	for _, f := range timeForms(reversed) {
		if l := lagOf(k.rows, f); f.binary() && !f.Format.Reverse && p.distinct > 1 && len(l.all) > 0 && l.class() <= 1 {
			return "little-endian"
		}
	}
	return ""
}

func backward(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// follows reports whether a part of the keys follows the timestamps of cells: its values, their ends or the numbers that they are
// have their order or the opposite one, or each of them has its own period.
func (k *key) follows(p *part) bool {
	const most = 300
	var rows []int // some, in the order of their cells
	for r := 0; r < len(p.values); r += max(1, len(p.values)/most) {
		if rows = append(rows, r); !plausible(codec.FromMicros(k.rows[r].oldest)) {
			return false
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(k.rows[a].oldest, k.rows[b].oldest) })
	const shortest, longest = 4, 24 // bytes of ends
	ways := slices.Clone(readings)
	for n := min(longest, p.width-1); n >= shortest; n-- {
		ways = append(ways, func(v string) string { return v[len(v)-n:] })
	}
	if p.digits {
		ways = append(ways, func(v string) string {
			v = strings.TrimLeft(v, "0")
			return fmt.Sprintf("%9d%s", len(v), v)
		})
	}
	return k.inPeriods(p, rows) || slices.ContainsFunc(ways, func(read func(v string) string) bool { return k.inOrder(p, rows, read) })
}

// readings return what has the order of values: themselves, little-endian numbers, and the times of UUIDs of version 1.
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

// inOrder reports whether all but a few pairs of many values, as they are read, are in the order of their times or in the
// opposite one. Times that are near do not count: writes may follow their events by different times.
func (k *key) inOrder(p *part, rows []int, read func(v string) string) bool {
	distinct, up, down := map[string]bool{}, 0, 0
	texts := make([]string, len(rows))
	near := (k.rows[rows[len(rows)-1]].oldest - k.rows[rows[0]].oldest) / 4
	for i, r := range rows {
		distinct[p.values[r]], texts[i] = true, read(p.values[r])
		for j, before := range rows[:i] {
			if order := strings.Compare(texts[i], texts[j]); k.rows[r].oldest-k.rows[before].oldest > near && order != 0 {
				up, down = up+(1+order)/2, down+(1-order)/2
			}
		}
	}
	return len(distinct) >= 10 && up+down > len(rows) && max(up, down)*100 >= (up+down)*98
}

// inPeriods reports whether values repeat, and each has a period that hardly overlaps with those of others.
func (k *key) inPeriods(p *part, rows []int) bool {
	distinct, periods, overlaps := map[string]bool{}, 0, 0
	for i, r := range rows {
		if distinct[p.values[r]] = true; i > 0 && p.values[r] == p.values[rows[i-1]] {
			continue
		}
		if periods++; i > 0 && k.rows[rows[i-1]].newest >= k.rows[r].oldest {
			overlaps++
		}
	}
	n := len(distinct)
	return n >= 3 && len(rows) >= 2*n && periods+overlaps <= n+n/10
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

// calendar returns the name of the field of timestamps, in some time zone, that a part of the keys counts; empty for none.
func (k *key) calendar(p *part) string {
	if p.binary || p.distinct < 2 || !p.digits || slices.ContainsFunc(p.values, func(v string) bool { return len(v) > 3 }) {
		return ""
	}
	for _, f := range calendarFields {
		for zone := -12 * time.Hour; zone < zones; zone += time.Hour {
			fits := true
			for r := 0; fits && r < len(k.rows); r++ {
				n, _ := strconv.Atoi(p.values[r])
				fits = !slices.ContainsFunc(k.rows[r].cells, func(c cell) bool { return f.of(codec.FromMicros(c.at).Add(zone)) != n })
			}
			if fits {
				return f.name
			}
		}
	}
	return ""
}

// digits matches the numbers in a name. Columns that are named after users, or after a metric and a time, differ only in them.
var digits = regexp.MustCompile(`[0-9]+`)

// named examines the names of columns, and returns the problem if they are not those of fields, but times, counts or IDs, which rule
// C08 refuses. It is certain if they hardly are fields.
func (k *key) named(cols []*column) (problem string, certain bool) {
	const many = 20 // columns with names like values that are hardly those of fields
	shapes := map[string]int{}
	shape := func(c *column) string { return digits.ReplaceAllString(c.qualifier, "0") }
	for _, c := range cols {
		shapes[shape(c)]++
	}
	odd := slices.DeleteFunc(slices.Clone(cols), func(c *column) bool { return !likeValue(c.qualifier) && shapes[shape(c)] < many })
	rare := slices.DeleteFunc(slices.Clone(odd), func(c *column) bool { // many sensors have names of one shape, too
		return !likeValue(c.qualifier) || c.rows*5 >= len(k.rows) && isText(c.qualifier)
	})
	if len(odd) < 3 || len(odd)*2 < len(cols) {
		return "", false
	}
	problem = fmt.Sprintf("%d columns have names like %s, and columns must be named by fields [C08]", len(odd), show(odd[0].qualifier))
	return problem, len(odd) >= many && len(rare)*2 > len(odd) || k.namesAreInstants()
}

// likeValue reports whether a column name looks like a number, a time, an ID, or bytes.
func likeValue(name string) bool {
	return name != "" && (isDigits(name) || !isText(name) || idText.reads([]byte(name)) || timeText.reads([]byte(name)) ||
		slices.ContainsFunc(timeForms([]string{name}), func(f *timeForm) bool { return !f.binary() }))
}

// namesAreInstants reports whether the names of all columns are times, near to the timestamps of their cells.
func (k *key) namesAreInstants() bool {
	const most = 5000 // cells
	n := 0
	for r := range k.rows {
		for _, c := range k.rows[r].cells {
			near := func(f *timeForm) bool { return codec.FromMicros(c.at).Sub(f.at[0]).Abs() < day }
			if n++; n > most {
				return true
			}
			if c.qualifier == "" || !slices.ContainsFunc(timeForms([]string{c.qualifier}), near) {
				return false
			}
		}
	}
	return n > 2
}
