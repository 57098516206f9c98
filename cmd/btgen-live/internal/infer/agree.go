package infer

import (
	"fmt"
	"slices"
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
