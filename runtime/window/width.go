package window

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrWidth is the error for a width that is not positive or too wide, or that [Parse] does not know.
var ErrWidth = errors.New("not a width of windows")

// Width is the width of windows: a fixed duration, a number of days or months of a calendar, or all of a time range.
// It divides time into windows that do not depend on the range that is read. The largest widths are 100,000 days,
// also of a fixed duration, and 100,000 months; see [Width.Check]. The zero Width is invalid.
type Width struct {
	every  time.Duration
	days   int
	months int
	whole  bool
	in     *time.Location
}

// Every returns windows of a fixed duration, aligned with the buckets of tables: with 1970-01-01 UTC or, if d is a
// whole number of weeks, with a Monday. For days that begin at a local midnight, use [Days].
func Every(d time.Duration) Width { return Width{every: d} }

// Days returns windows of n days in a time zone. A day begins at the first instant of its date, and
// has 23 or 25 hours where clocks change. Days are counted from 1970-01-01, so that windows of
// several days do not depend on the range that is read; whole weeks begin on Monday.
func Days(n int, in *time.Location) Width { return Width{days: n, in: in} }

// Weeks returns windows of n weeks in a time zone. Weeks begin on Monday.
func Weeks(n int, in *time.Location) Width { return Width{days: product(n, 7), in: in} }

// Months returns windows of n months in a time zone, counted from January of the year 0: windows of
// 3 months are quarters.
func Months(n int, in *time.Location) Width { return Width{months: n, in: in} }

// Years returns windows of n years in a time zone.
func Years(n int, in *time.Location) Width { return Width{months: product(n, 12), in: in} }

// Whole returns one window: all of the range that is read.
func Whole() Width { return Width{whole: true} }

// units are the units of [Parse].
var units = []struct {
	name string
	of   func(n int, in *time.Location) Width
}{
	{"mo", Months},
	{"d", Days},
	{"w", Weeks},
	{"y", Years},
	{"h", func(n int, _ *time.Location) Width { return fixedUnits(n, time.Hour) }},
	{"m", func(n int, _ *time.Location) Width { return fixedUnits(n, time.Minute) }},
	{"s", func(n int, _ *time.Location) Width { return fixedUnits(n, time.Second) }},
}

// The largest widths. They are far from those whose windows cannot be computed.
const (
	maxDays   = 100_000
	maxMonths = 100_000
	maxEvery  = maxDays * 24 * time.Hour
)

// product returns n*m; n if it is not positive or too large for a width without that.
func product(n, m int) int {
	if n <= 0 || n > max(maxDays, maxMonths) {
		return n
	}
	return n * m
}

// fixedUnits returns n units; a width that is too large if their duration is.
func fixedUnits(n int, unit time.Duration) Width {
	return Every(time.Duration(min(int64(n), int64(maxEvery/unit)+1)) * unit)
}

// Parse parses a width: a whole number of s, m, h, d, w, mo or y, such as 15m, 1d or 3mo, or all.
// Days and longer units are those of the calendar in a time zone. The error wraps [ErrWidth].
func Parse(text string, in *time.Location) (Width, error) {
	if text == "all" {
		return Whole(), nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(number); (err == nil || errors.Is(err, strconv.ErrRange)) && n > 0 {
			w := u.of(n, in)
			if w.tooWide() {
				return Width{}, fmt.Errorf("%w: %q is too wide; %s", ErrWidth, text, widest)
			}
			return w, nil
		}
	}
	return Width{}, fmt.Errorf("%w: %q; write a number with s, m, h, d, w, mo or y, such as 15m, 1d or 3mo, or all", ErrWidth, text)
}

// widest says what the largest widths are.
var widest = fmt.Sprintf("the maximum is %dd, or %dmo in months and years", maxDays, maxMonths)

func (w Width) tooWide() bool {
	return w.every > maxEvery || w.days > maxDays || w.months > maxMonths
}

// Check returns an error that wraps [ErrWidth] if the width is not positive or too wide.
func (w Width) Check() error {
	switch {
	case w.tooWide():
		return fmt.Errorf("%w: it is too wide; %s", ErrWidth, widest)
	case w.whole || w.every > 0 || (w.days > 0 || w.months > 0) && w.in != nil:
		return nil
	}
	return fmt.Errorf("%w: it must be positive, and days and months need a time zone", ErrWidth)
}

// String returns the width as [Parse] reads it, with the time zone if it has one.
func (w Width) String() string {
	switch {
	case w.whole:
		return "all"
	case w.days > 0 && w.days%7 == 0:
		return fmt.Sprintf("%dw in %s", w.days/7, w.in)
	case w.days > 0:
		return fmt.Sprintf("%dd in %s", w.days, w.in)
	case w.months > 0 && w.months%12 == 0:
		return fmt.Sprintf("%dy in %s", w.months/12, w.in)
	case w.months > 0:
		return fmt.Sprintf("%dmo in %s", w.months, w.in)
	}
	return w.every.String()
}

// Location returns the time zone of the width; UTC if it has none.
func (w Width) Location() *time.Location {
	if w.in == nil {
		return time.UTC
	}
	return w.in
}

// monday is the first Monday, in days since 1970-01-01.
const monday = 4

// span is a window: start <= time < end.
type span struct{ start, end time.Time }

// none reports whether it is no window.
func (s span) none() bool { return !s.start.Before(s.end) }

// holds reports whether a time is in the window.
func (s span) holds(t time.Time) bool { return !t.Before(s.start) && t.Before(s.end) }

// at returns the window that holds a time. bounds is the range that is read, for [Whole].
func (w Width) at(t time.Time, bounds span) span {
	switch {
	case w.whole:
		return bounds
	case w.days > 0:
		first := int64(0)
		if w.days%7 == 0 {
			first = monday
		}
		return w.calendar(t, floorDiv(dayOf(t.In(w.in))-first, int64(w.days)), func(n int64) time.Time {
			return startOfDay(first+n*int64(w.days), w.in)
		})
	case w.months > 0:
		return w.calendar(t, floorDiv(monthOf(t.In(w.in)), int64(w.months)), func(n int64) time.Time {
			return startOfMonth(n*int64(w.months), w.in)
		})
	}
	start := w.fixed(t)
	return span{start, start.Add(w.every)}
}

// Back returns the start of a window so that about n windows begin between it and a time, which
// must not precede from; from, if they would begin before it.
func (w Width) Back(to, from time.Time, n int64) time.Time {
	last := w.at(to.Add(-1), span{from, to}).start
	one, all := max(to.Sub(last), 1), to.Sub(from) // one that is cut off is longer in fact
	if n > int64(all/one) {
		return from
	}
	if last = w.at(last.Add(-time.Duration(n-1)*one), span{from, to}).start; last.Before(from) {
		return from
	}
	return last
}

// fixed returns the start of the window of fixed width that holds a time. It computes with two
// numbers, since nanoseconds since 1970 overflow in 2262.
func (w Width) fixed(t time.Time) time.Time {
	const week = 7 * 24 * time.Hour
	origin := time.Unix(0, 0)
	if w.every%week == 0 {
		origin = time.Unix(monday*24*60*60, 0)
	}
	seconds, nanos := t.Unix()-origin.Unix(), int64(t.Nanosecond())
	if w.every%time.Second == 0 {
		return time.Unix(origin.Unix()+floorDiv(seconds, int64(w.every/time.Second))*int64(w.every/time.Second), 0).UTC()
	}
	// The rest of seconds*1e9+nanos after division by the width, whose square may not overflow.
	width := int64(w.every)
	rest, more := mulMod(seconds, int64(time.Second), width), nanos%width
	if rest >= width-more {
		rest -= width
	}
	return t.Add(-time.Duration(rest + more)).UTC()
}

// calendar returns the window with a time, given the number of the one that contains its date, and
// the start of each. Where clocks go back over midnight, the second pass belongs to the day that
// has begun, and a date that a time zone skips has no window.
func (w Width) calendar(t time.Time, n int64, start func(n int64) time.Time) span {
	from := start(n)
	for from.After(t) {
		n--
		from = start(n)
	}
	for {
		n++
		to := start(n)
		if to.After(t) {
			return span{from, to}
		}
		from = to
	}
}

// dayOf returns the number of days from 1970-01-01 to the date of a time.
func dayOf(t time.Time) int64 {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
}

// monthOf returns the number of months from January of the year 0 to the month of a time.
func monthOf(t time.Time) int64 {
	y, m, _ := t.Date()
	return int64(y)*12 + int64(m) - 1
}

// startOfDay returns the first instant of a date, given as days since 1970-01-01.
func startOfDay(day int64, in *time.Location) time.Time {
	return firstInstant(time.Unix(day*24*60*60, 0).UTC(), in)
}

// startOfMonth returns the first instant of a month, given as months since the year 0.
func startOfMonth(month int64, in *time.Location) time.Time {
	y := floorDiv(month, 12)
	return firstInstant(time.Date(int(y), time.Month(month-12*y+1), 1, 0, 0, 0, 0, time.UTC), in)
}

// firstInstant returns the first instant at which clocks in a time zone show at least the given date
// and time, which is in UTC. Midnight may not exist, or come twice, so it tries the offsets of each
// period of the time zone around it.
func firstInstant(wall time.Time, in *time.Location) time.Time {
	const widest = 26 * time.Hour // offsets are less than a day
	for at := wall.Add(-widest); ; {
		local := at.In(in)
		_, offset := local.Zone()
		begin, end := local.ZoneBounds()
		candidate := wall.Add(-time.Duration(offset) * time.Second)
		if !begin.IsZero() && candidate.Before(begin) {
			candidate = begin
		}
		if !end.IsZero() && !end.After(at) {
			end = at.Add(24 * time.Hour) // package time ends leap years that it computes a day early
		}
		if end.IsZero() || candidate.Before(end) {
			return candidate.In(in)
		}
		at = end
	}
}

// floorDiv returns a/b, rounded down. b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
