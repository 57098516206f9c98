package chart

import (
	"iter"
	"math"
	"time"
)

// timeScale is the horizontal axis: from < to.
type timeScale struct {
	from, to time.Time
	zone     *time.Location
}

// cover sets the range: that of the chart, or that of its points.
func (s *timeScale) cover(c *Chart, fields []Field, series int) {
	s.from, s.to = within(c.From), within(c.To)
	if s.from.Before(s.to) {
		return
	}
	any := false
	for i := range fields {
		for _, line := range fields[i].Lines[:min(len(fields[i].Lines), series)] {
			for j := range line {
				p := &line[j]
				if !any || p.Start.Before(s.from) {
					s.from = p.Start
				}
				if !any || p.End.After(s.to) {
					s.to = p.End
				}
				any = true
			}
		}
	}
	if s.from, s.to = within(s.from), within(s.to); !s.from.Before(s.to) { // one time
		s.from, s.to = s.from.Add(-time.Second), s.from.Add(time.Second)
	}
}

// The range of charts: years of four digits.
var (
	firstTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

// within returns the time of a chart that is nearest to t.
func within(t time.Time) time.Time {
	switch {
	case t.Before(firstTime):
		return firstTime
	case t.After(lastTime):
		return lastTime
	}
	return t
}

// holds reports whether a part of a point is in the range.
func (s *timeScale) holds(p *Point) bool {
	if p.single() {
		return !p.Start.Before(s.from) && !p.Start.After(s.to)
	}
	return p.End.After(s.from) && p.Start.Before(s.to)
}

// elapsed returns the seconds between two times, which may be too far apart for a Duration.
func elapsed(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// seconds returns the length of the range.
func (s *timeScale) seconds() float64 { return elapsed(s.from, s.to) }

// at returns the place of a time, from 0 to 1.
func (s *timeScale) at(t time.Time) float64 {
	return max(0, min(elapsed(s.from, t)/s.seconds(), 1))
}

// timeTick is a labeled time. Its context, such as the date of an hour, is set where it differs from
// that of the tick before.
type timeTick struct {
	at             time.Time
	label, context string
}

// calendarStep is a distance of ticks: seconds of the clock, days, months, or years.
type calendarStep struct {
	seconds       float64 // about
	unit          byte    // s, d (days), m (months) or y (years)
	n             int64   // number of units
	form, context string  // how package time formats a tick
}

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
	month  = 30.44 * day
	year   = 365.25 * day
)

// steps are the distances of ticks from one second to half a year.
var steps = func() []calendarStep {
	var out []calendarStep
	add := func(seconds float64, unit byte, form, context string, numbers ...int64) {
		for _, n := range numbers {
			out = append(out, calendarStep{seconds * float64(n), unit, n, form, context})
		}
	}
	add(1, 's', "15:04:05", time.DateOnly, 1, 2, 5, 10, 15, 30)
	add(1, 's', "15:04", time.DateOnly, minute, 2*minute, 5*minute, 10*minute, 15*minute, 30*minute, hour, 2*hour, 3*hour, 6*hour, 12*hour)
	add(day, 'd', "Jan 2", "2006", 1, 2, 7, 14)
	add(month, 'm', "Jan", "2006", 1, 2, 3, 6)
	return out
}()

// ticks returns at most n ticks, at local hours, days, months or years.
func (s *timeScale) ticks(n int) []timeTick {
	least := s.seconds() / float64(max(n, 1))
	if least <= 0.5 {
		return s.fractions(least)
	}
	step := calendarStep{}
	for _, c := range steps {
		if c.seconds >= least {
			step = c
			break
		}
	}
	if step.n == 0 {
		years := max(roundUp(least/year), 1)
		step = calendarStep{years * year, 'y', int64(years), "2006", ""}
	}
	var out []timeTick
	for _, t := range s.boundaries(step) {
		out = append(out, timeTick{t, t.Format(step.form), t.Format(step.context)})
	}
	return distinct(out)
}

// distinct removes contexts that repeat that of the tick before.
func distinct(ticks []timeTick) []timeTick {
	last := ""
	for i := range ticks {
		if t := &ticks[i]; t.context == last {
			t.context = ""
		} else {
			last = t.context
		}
	}
	return ticks
}

// fractions returns ticks at fractions of a second.
func (s *timeScale) fractions(least float64) []timeTick {
	step := max(int64(math.Round(roundUp(least)*1e9)), 1)
	decimals := 0
	for unit := int64(1e9); unit > 1 && step%unit != 0; unit /= 10 {
		decimals++
	}
	form := "05." + "000000000"[:decimals]
	base := s.from.Truncate(time.Second)
	var out []timeTick
	for i := (s.from.Sub(base).Nanoseconds() + step - 1) / step; ; i++ {
		t := base.Add(time.Duration(i * step)).In(s.zone)
		if t.After(s.to) {
			return distinct(out)
		}
		out = append(out, timeTick{t, t.Format(form), t.Format("2006-01-02 15:04")})
	}
}

// periods yields the beginnings and the ends of the periods of the range with one offset from UTC. The last one may
// have no end.
func (s *timeScale) periods() iter.Seq2[time.Time, time.Time] {
	return func(yield func(at, end time.Time) bool) {
		for at := s.from.In(s.zone); !at.After(s.to); {
			_, end := at.ZoneBounds()
			if !end.IsZero() && !end.After(at) {
				end = at.Add(day * time.Second) // package time ends leap years that it computes a day early
			}
			if !yield(at, end) || end.IsZero() {
				return
			}
			at = end.In(s.zone)
		}
	}
}

// boundaries returns the first instants at which clocks show each multiple of a step: where they go
// forward over one, the instant at which they do; where they go back over one, only the first pass.
func (s *timeScale) boundaries(step calendarStep) []time.Time {
	var out []time.Time
	next := step.from(wall(s.from.In(s.zone)) - 1)
	for at, end := range s.periods() {
		_, offset := at.Zone()
		for {
			t := time.Unix(next-int64(offset), 0)
			if t.Before(at) {
				t = at
			}
			if t.After(s.to) {
				return out
			}
			if !end.IsZero() && !t.Before(end) {
				break
			}
			out = append(out, t.In(s.zone))
			next = step.from(max(next, wall(t.In(s.zone))))
		}
	}
	return out
}

// wall returns what a local clock shows, as seconds since 1970-01-01 00:00.
func wall(t time.Time) int64 {
	_, offset := t.Zone()
	return t.Unix() + int64(offset)
}

// from returns the first multiple of the step after what a clock shows.
func (c *calendarStep) from(after int64) int64 {
	switch c.unit {
	case 's':
		return multiple(after, c.n)
	case 'd':
		first := int64(0)
		if c.n%7 == 0 {
			first = 4 // weeks begin on Monday, and 1970-01-01 is a Thursday
		}
		return multiple(after-first*day, c.n*day) + first*day
	}
	t := time.Unix(after, 0).UTC()
	months := int64(t.Year())*12 + int64(t.Month()) - 1
	width := c.n
	if c.unit == 'y' {
		width *= 12
	}
	months = multiple(months, width)
	return time.Date(int(months/12), time.Month(months%12+1), 1, 0, 0, 0, 0, time.UTC).Unix()
}

// multiple returns the first multiple of a width that is greater than a number.
func multiple(than, width int64) int64 {
	q := than / width
	if than%width < 0 {
		q--
	}
	return (q + 1) * width
}

// offset is a period with one offset from UTC.
type offset struct {
	from    time.Time
	seconds int
	name    string
}

// offsets returns the periods of the time zone in the range.
func (s *timeScale) offsets() []offset {
	var out []offset
	for at := range s.periods() {
		name, seconds := at.Zone()
		if n := len(out); n == 0 || out[n-1].seconds != seconds || out[n-1].name != name {
			out = append(out, offset{at, seconds, name})
		}
	}
	return out
}
