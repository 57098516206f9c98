package infer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Whether the times in row keys are what they look like: timestamps of cells are the only other
// evidence. They are the times of events, or those of writes a little later, or have nothing to
// do with either. Times that disagree with them may still be right, for example if rows were
// imported, but never without a question.

// Limits of what agrees.
const (
	early = 5 * time.Minute  // by which the clock of a writer may be ahead
	late  = 24 * time.Hour   // by which a write may follow its event
	soon  = 15 * time.Minute // within which some writes follow their events
	zones = 15 * time.Hour   // by which local times differ from UTC, at most
)

// lag collects by how much timestamps of cells follow times of events, in microseconds.
type lag struct {
	width    time.Duration // of the period that a time stands for
	n        int           // plausible timestamps
	agree    int
	least    int64
	most     int64
	all      []int64
	first    string // row key
	example  string // row key of the first that disagrees
	unlikely int    // timestamps that are no times, such as 0
	exact    [3]int // timestamps that are the times one unit earlier, the times, and the times one unit later
}

// newLag returns a lag of times that stand for a period.
func newLag(width time.Duration) *lag {
	return &lag{width: width, least: math.MaxInt64, most: math.MinInt64}
}

// add compares a cell with the time of its event.
func (l *lag) add(row string, cell int64, event time.Time) {
	if !plausible(codec.FromMicros(cell)) {
		l.unlikely++
		return
	}
	d := cell - event.UnixMicro()
	l.n, l.first, l.all = l.n+1, cmp.Or(l.first, row), append(l.all, d)
	l.least, l.most = min(l.least, d), max(l.most, d)
	for i := range l.exact {
		at := event.Add(time.Duration(i-1) * l.width)
		if cell == codec.Micros(at) || cell == codec.Micros(at.Truncate(time.Millisecond)) {
			l.exact[i]++
		}
	}
	if d >= -early.Microseconds() && d < (l.width+late).Microseconds() {
		l.agree++
	} else {
		l.example = cmp.Or(l.example, row)
	}
}

// class returns how badly the median of the times disagrees, from 0.
func (l *lag) class() int {
	if l.n == 0 {
		return 0
	}
	all := slices.Sorted(slices.Values(l.all))
	switch d := time.Duration(all[l.n/2]) * time.Microsecond; {
	case d >= -early && d <= l.width+late:
		return 0
	case d >= -zones && d < l.width+45*24*time.Hour:
		return 1
	case d > -366*24*time.Hour && d < l.width+3*366*24*time.Hour:
		return 2
	}
	return 3
}

// local reports whether timestamps disagree, but none by more than local times do: some are earlier, or all later. So are those in
// periods that begin later, such as local days west of Greenwich.
func (l *lag) local() bool {
	return l.n > 0 && l.least >= -zones.Microseconds() && l.most <= (l.width+zones).Microseconds() &&
		(l.least < -early.Microseconds() || l.least >= soon.Microseconds() && l.most >= (l.width+soon).Microseconds())
}

// shifted reports whether all timestamps differ from the times by about the same, as UTC does from local times with and without
// daylight saving time.
func (l *lag) shifted() bool {
	return l.local() && l.most-l.least <= (75*time.Minute).Microseconds() && (l.most < -early.Microseconds() || l.least >= (l.width+soon).Microseconds())
}

// offByOne reports whether all timestamps are the times one unit earlier or later, or differ
// from them by exactly the same little time: a time that is subtracted from another maximum
// looks like it.
func (l *lag) offByOne() bool {
	constant := l.least == l.most && magnitude(l.least) < time.Second.Microseconds()
	return l.n > 1 && l.exact[1] < l.n && (constant || l.exact[0] == l.n || l.exact[2] == l.n)
}

// report adds the times to a report: they do not all agree if there is a question about them.
func (l *lag) report(r *verify.Report) {
	if l == nil || l.n == 0 {
		return
	}
	r.Times = verify.Share{Readable: l.agree, Total: l.n}
	if l.agree == l.n && (l.local() || l.offByOne()) {
		r.Times.Readable = 0
	}
	if r.Times.Readable < l.n {
		example := cmp.Or(l.example, l.first)
		r.Findings = append(r.Findings, verify.Finding{Count: l.n - r.Times.Readable, Row: example, Problem: "the time in the row key disagrees with timestamps of cells", Guess: l.question()})
	}
}

// question asks about times that disagree; empty if none does.
func (l *lag) question() string {
	if l == nil {
		return ""
	}
	share := fmt.Sprintf("Timestamps of %d of %d cells disagree with the times in the keys, by up to %s.", l.n-l.agree, l.n, gap(l.farthest()))
	switch {
	case l.n == 0 && l.unlikely > 0:
		return "Timestamps of cells are not times. Is the time in the keys that of the event?"
	case l.offByOne():
		return fmt.Sprintf("Timestamps of all cells differ by %s from the times in the keys. Is the time subtracted from another number? Keys cannot have it then [K24].", gap(l.farthest()))
	case l.local():
		return fmt.Sprintf("Timestamps of cells differ by up to %s from the times in the keys, which stand for %s. Are these local times? Times in keys must be in UTC [K24].", gap(l.farthest()), l.width)
	case l.agree == l.n && l.width >= time.Second && l.least >= 0 && l.most > 0 && l.most < l.width.Microseconds():
		return fmt.Sprintf("Timestamps of cells are up to %s later than the times in the keys, which stand for %s. Are timestamps the times of events, in buckets of %s, or those of writes?", gap(l.most), l.width, l.width)
	case l.agree < l.n && l.class() > 1:
		return share + " Were the cells written later, or is it an ID or another number instead of a time?"
	case l.agree < l.n:
		return share + " Were the cells written later, or is the time another one?"
	}
	return ""
}

// untimed asks about cells whose timestamps are no times, such as 0, beside others; empty if there
// are none.
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

func (l *lag) farthest() int64 { return max(magnitude(l.least), magnitude(l.most)) }

func magnitude(n int64) int64 { return max(n, -n) }

// gap formats microseconds.
func gap(micros int64) string {
	d := time.Duration(min(micros, math.MaxInt64/1000)) * time.Microsecond
	switch {
	case d >= 2*366*24*time.Hour:
		return fmt.Sprintf("%d years", d/(365*24*time.Hour))
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Second:
		return d.Round(time.Second).String()
	}
	return d.String()
}

// lagOf compares some rows with the times of a form in their keys.
func lagOf(rows []row, f *timeForm) *lag {
	const most = 400 // rows
	l := newLag(f.width())
	for r := 0; r < len(rows); r += max(1, len(rows)/most) {
		for i, c := range rows[r].cells {
			if i == 0 || i == len(rows[r].cells)-1 {
				l.add(rows[r].key, c.at, f.at[r])
			}
		}
	}
	return l
}
