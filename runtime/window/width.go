package window

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// ErrWidth is the error for a width that [Width.Check] refuses, or that [Parse] does not know.
var ErrWidth = errors.New("not a width of windows")

// Width is the width of windows: a duration, a number of days or months of a calendar, or all of a time range.
// It divides time into windows that do not depend on the range that is read:
//
//	window.Every(6*time.Hour)                    // from 0:00, 6:00, 12:00 and 18:00 UTC
//	window.Every(6*time.Hour).In(berlin)         // from 0:00, 6:00, 12:00 and 18:00 in Berlin
//	window.Days(1, berlin)                       // from midnight in Berlin
//	window.Days(1, berlin).From(6*time.Hour)     // from 6:00, as in the gas trade
//	window.Weeks(1, berlin).From(6*24*time.Hour) // from Sunday
//
// The largest widths are 100,000 days, also as a duration, and 100,000 months; see [Width.Check]. The zero Width is
// invalid.
type Width struct {
	every  time.Duration
	days   int
	months int
	whole  bool
	from   time.Duration
	in     *time.Location
}

// Every returns windows of a fixed duration, aligned with the buckets of tables: with 1970-01-01 UTC or, if d is a
// whole number of weeks, with a Monday. For windows that begin at local times, see [Width.In].
func Every(d time.Duration) Width { return Width{every: d} }

// In returns windows in a time zone. A duration must then divide 24 hours, and its windows begin at midnight and at
// multiples of it after midnight, as local clocks show them: at the first instant at which they show that time or a
// later one.
//
// Where clocks change, one window is shorter or longer: in Berlin, one of 6 hours has 5 hours in March and 7 in
// October, and one of 2 hours has 1 and 3. There is no window of which clocks skip all. If they go back by a multiple
// of the duration, the windows of that time come twice instead, so that windows of an hour always have one in Berlin.
func (w Width) In(zone *time.Location) Width {
	if w.in = zone; w.whole || w.every > 0 && zone == time.UTC {
		w.in = nil
	}
	return w
}

// From returns windows that begin later by an offset, as local clocks show it: days from 6:00, or weeks from Sunday.
// The offset is at least 0, and less than the width or, of months and years, than 28 days. A duration must then divide
// 24 hours.
func (w Width) From(offset time.Duration) Width {
	w.from = offset
	return w
}

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

const day = 24 * time.Hour

// units are the units of [Parse]: those of a calendar, and durations in descending order.
var units = []struct {
	name   string
	length time.Duration
	of     func(n int, in *time.Location) Width
}{
	{"mo", 0, Months}, {"d", 0, Days}, {"w", 0, Weeks}, {"y", 0, Years},
	{"h", time.Hour, nil}, {"m", time.Minute, nil}, {"s", time.Second, nil},
	{"ms", time.Millisecond, nil}, {"µs", time.Microsecond, nil}, {"ns", 1, nil},
}

// The largest widths. They are far from those whose windows cannot be computed.
const (
	maxDays   = 100_000
	maxMonths = 100_000
	maxEvery  = maxDays * day
)

// product returns n*m; n if it is not positive or too large for a width without that.
func product(n, m int) int {
	if n <= 0 || n > max(maxDays, maxMonths) {
		return n
	}
	return n * m
}

// Parse parses a width: a whole number of ns, µs, ms, s, m, h, d, w, mo or y, such as 15m, 1d or 3mo, or all. Windows are
// in the time zone, as of [Width.In], except for durations that do not divide 24 hours, such as 7h or 48h, which are
// those of [Every]. The text may name another time zone, and an offset for [Width.From]: "1d in Europe/Berlin from 6h".
// The error wraps [ErrWidth].
func Parse(text string, in *time.Location) (Width, error) {
	if text == "all" {
		return Whole(), nil
	}
	number, offset, shifted := strings.Cut(text, " from ")
	number, zone, named := strings.Cut(number, " in ")
	if named {
		var err error
		if in, err = time.LoadLocation(zone); err != nil {
			return Width{}, fmt.Errorf("%w: %q: no such time zone: write a name such as Europe/Berlin or UTC", ErrWidth, text)
		}
	}
	w, ok := parseNumber(number, in)
	if ok && (named || w.dividesDay()) {
		w = w.In(in)
	}
	if ok && shifted {
		var err error
		w.from, err = time.ParseDuration(offset)
		ok = err == nil
	}
	if !ok {
		return Width{}, fmt.Errorf("%w: %q; write a number with s, m, h, d, w, mo or y, such as 15m, 1d or 3mo, or all", ErrWidth, text)
	}
	if fault := w.fault(); fault != "" {
		return Width{}, fmt.Errorf("%w: %q %s", ErrWidth, text, fault)
	}
	return w, nil
}

// parseNumber parses a positive number with a unit. A width that is too large stays so.
func parseNumber(text string, in *time.Location) (Width, bool) {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(number)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange) || n <= 0:
		case u.of != nil:
			return u.of(n, in), true
		default:
			return Every(time.Duration(min(int64(n), int64(maxEvery/u.length)+1)) * u.length), true
		}
	}
	return Width{}, false
}

// dividesDay reports whether the width is a duration that divides 24 hours.
func (w Width) dividesDay() bool { return w.every > 0 && day%w.every == 0 }

// fault says what is wrong with the width, after its name; nothing if it is valid.
func (w Width) fault() string {
	least := w.every // of all windows
	if w.days > 0 {
		least = time.Duration(min(w.days, maxDays)) * day
	} else if w.months > 0 {
		least = 28 * day
	}
	switch {
	case w.every > maxEvery || w.days > maxDays || w.months > maxMonths:
		return fmt.Sprintf("is too wide; the maximum is %dd, or %dmo in months and years", maxDays, maxMonths)
	case !w.whole && (least <= 0 || w.every == 0 && w.in == nil):
		return "must be positive, and days and months need a time zone"
	case w.every > 0 && w.local() && !w.dividesDay():
		return "does not divide 24 hours, as durations with a time zone or an offset must; write such as 6h or 8h, or days"
	case w.from != 0 && (w.from < 0 || w.from >= least):
		return fmt.Sprintf("has an offset of %s; write one from 0 to less than the width, or than 28 days for months",
			inUnits(w.from))
	}
	return ""
}

// Check returns an error that wraps [ErrWidth] if the width is not positive or too wide, is in a time zone but does not
// divide 24 hours, or begins at an offset that is not within it.
func (w Width) Check() error {
	if fault := w.fault(); fault != "" {
		return fmt.Errorf("%w: it %s", ErrWidth, fault)
	}
	return nil
}

// String returns the width as [Parse] reads it, with the time zone if it has one.
func (w Width) String() string {
	text := inUnits(w.every)
	switch {
	case w.whole:
		return "all"
	case w.days > 0 && w.days%7 == 0:
		text = fmt.Sprintf("%dw", w.days/7)
	case w.days > 0:
		text = fmt.Sprintf("%dd", w.days)
	case w.months > 0 && w.months%12 == 0:
		text = fmt.Sprintf("%dy", w.months/12)
	case w.months > 0:
		text = fmt.Sprintf("%dmo", w.months)
	}
	if w.in != nil || w.dividesDay() {
		text += " in " + w.Location().String()
	}
	if w.from != 0 {
		text += " from " + inUnits(w.from)
	}
	return text
}

// inUnits returns a duration as a number of its largest unit.
func inUnits(d time.Duration) string {
	for _, u := range units {
		if u.length > 0 && d%u.length == 0 {
			return strconv.FormatInt(int64(d/u.length), 10) + u.name
		}
	}
	return ""
}

// Location returns the time zone of the width; UTC if it has none.
func (w Width) Location() *time.Location {
	if w.in == nil {
		return time.UTC
	}
	return w.in
}

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
	case w.days > 0 || w.months > 0:
		y, m, d := t.In(w.in).Date()
		units := codec.Bucket{Every: time.Duration(w.days) * day, Months: w.months}
		if w.months > 0 {
			units.Origin = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return w.calendar(t, units.Start(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)))
	case w.local():
		return w.clock(t)
	}
	start := w.fixed(t)
	return span{start, start.Add(w.every)}
}

// local reports whether windows begin when clocks show certain times.
func (w Width) local() bool { return w.in != nil || w.from != 0 }

// clock returns the window of a duration in a time zone that holds a time.
func (w Width) clock(t time.Time) span {
	local := t.In(w.Location())
	first, offset := w.shown(local)
	begin, end := local.ZoneBounds()
	start := first.Add(w.from - offset).In(w.Location())
	if (begin.IsZero() || start.Sub(begin) >= widest) && (end.IsZero() || end.After(start.Add(w.every))) {
		return span{start, start.Add(w.every)} // clocks do not change nearby
	}
	if !begin.IsZero() { // clocks may have gone back then
		if before, _ := w.shown(begin.Add(-1).In(w.Location())); before.After(first) {
			first = before
		}
	}
	s := w.calendar(t, first)
	if s.end.Sub(s.start)%w.every == 0 {
		s.start = s.start.Add(t.Sub(s.start) / w.every * w.every)
		s.end = s.start.Add(w.every)
	}
	return s
}

// shown returns the start of the window that clocks show at a local time, as a time in UTC and without the offset of
// windows, and the offset of the time from UTC.
func (w Width) shown(local time.Time) (start time.Time, offset time.Duration) {
	_, seconds := local.Zone()
	offset = time.Duration(seconds) * time.Second
	return local.UTC().Add(offset - w.from).Truncate(w.every), offset
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

// fixed returns the start of the window of fixed width that holds a time.
func (w Width) fixed(t time.Time) time.Time {
	origin := time.Duration(0)
	if w.every%(7*day) == 0 {
		origin = 4 * day // a Monday
	}
	return codec.Truncate(t.Add(-origin), w.every).Add(origin)
}

// calendar returns the window with a time, given what clocks show at the start of one nearby, as a time in UTC and
// without the offset of windows. Where clocks go back over the start of a window, the second pass belongs to the window
// that has begun, and one that a time zone skips does not exist.
func (w Width) calendar(t, shown time.Time) span {
	step := func(n int) time.Time {
		shown = shown.AddDate(0, n*w.months, n*w.days).Add(time.Duration(n) * w.every)
		return firstInstant(shown.Add(w.from), w.Location())
	}
	from := step(0)
	for from.After(t) {
		from = step(-1)
	}
	for {
		to := step(1)
		if to.After(t) {
			return span{from, to}
		}
		from = to
	}
}

// widest is more than the difference between two offsets of a time zone.
const widest = 26 * time.Hour

// firstInstant returns the first instant at which clocks in a time zone show at least the given date
// and time, which is in UTC. Midnight may not exist, or come twice, so it tries the offsets of each
// period of the time zone around it.
func firstInstant(wall time.Time, in *time.Location) time.Time {
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
