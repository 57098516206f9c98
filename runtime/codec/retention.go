package codec

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Retention defines which cells of a column are live: those that satisfy at least one term. It is the complement of
// the family's [GCRule]. Reads use it to exclude the cells that garbage collection, which may take up to a week, has
// not removed yet. A Retention without terms keeps every cell forever.
//
// If a cell is live, all newer cells of its column are, too. No term implies another,
// and the terms are sorted by ascending MaxAge, with 0 (any age) last.
type Retention []Term

// Term keeps a cell that is no older than MaxAge and among the newest Versions cells of its column.
type Term struct {
	MaxAge   time.Duration // 0 for any age
	Versions int           // 0 for any rank
}

// Retention returns the cells that the rule keeps. maxCells is the largest number of cells of a column, or 0 if
// unknown: a limit of at least that many versions has no effect.
func (r GCRule) Retention(maxCells int64) Retention {
	terms := r.Normalize().alive(maxCells)
	if len(terms) == 1 && terms[0] == (Term{}) {
		return nil
	}
	return terms
}

// alive returns the terms of a normalized rule. A union collects a cell if any of its rules does, so all of them must
// keep it; an intersection collects a cell only if all of its rules do, so it is enough if one keeps it.
func (r GCRule) alive(maxCells int64) Retention {
	switch r.Kind {
	case GCMaxAge:
		return Retention{{MaxAge: max(r.MaxAge, 1)}}
	case GCMaxVersions:
		if maxCells > 0 && int64(r.MaxVersions) >= maxCells {
			return Retention{{}}
		}
		return Retention{{Versions: max(r.MaxVersions, 1)}}
	case GCUnion:
		all := Retention{{}}
		for _, rule := range r.Rules {
			all = all.and(rule.alive(maxCells))
		}
		return all
	case GCIntersection:
		var some Retention
		for _, rule := range r.Rules {
			some = append(some, rule.alive(maxCells)...)
		}
		return some.minimal()
	}
	return Retention{{}}
}

// and returns the retention of cells that both r and s keep.
func (r Retention) and(s Retention) Retention {
	var both Retention
	for _, a := range r {
		for _, b := range s {
			both = append(both, Term{
				MaxAge:   time.Duration(tighter(int64(a.MaxAge), int64(b.MaxAge))),
				Versions: int(tighter(int64(a.Versions), int64(b.Versions))),
			})
		}
	}
	return both.minimal()
}

// minimal sorts r and removes the terms that another one implies.
func (r Retention) minimal() Retention {
	slices.SortFunc(r, func(a, b Term) int { // the least restrictive first
		return cmp.Or(
			-compareLimits(int64(a.MaxAge), int64(b.MaxAge)),
			-compareLimits(int64(a.Versions), int64(b.Versions)),
		)
	})
	kept := r[:0]
	for _, t := range r {
		n := len(kept)
		if n == 0 || compareLimits(int64(kept[n-1].Versions), int64(t.Versions)) < 0 {
			kept = append(kept, t)
		}
	}
	slices.Reverse(kept)
	return kept
}

// compareLimits compares two limits. 0 means unlimited and is the greatest.
func compareLimits(a, b int64) int { return cmp.Compare(uint64(a)-1, uint64(b)-1) }

func tighter(a, b int64) int64 {
	if compareLimits(a, b) < 0 {
		return a
	}
	return b
}

// Window is a half-open range [From, To) of cell timestamps in microseconds, both
// multiples of 1000. A To of 0 is unbounded.
type Window struct {
	From, To int64
	// Versions limits the live cells to the newest ones of a column; 0 means all. It
	// counts from the newest cell of the whole column, not of the window, because a
	// Bigtable filter must limit the cells per column before it selects timestamps.
	Versions int
}

// Windows returns the disjoint windows, newest first, that contain the live cells with timestamps in [from, to), and
// those in the rest of the milliseconds that from and to cut, of which there are some only in tables of other
// programs with the granularity MICROS: Go's client truncates bounds to milliseconds, and with the granularity
// MILLIS, Bigtable rejects others. So whoever reads the cells has to compare their timestamps with from and to.
func (r Retention) Windows(now, from, to time.Time) []Window {
	if !from.Before(to) {
		return nil
	}
	start, ok := boundMicros(Truncate(from, time.Millisecond))
	if !ok {
		return nil
	}
	end, bounded := boundMicros(to)
	if !bounded {
		end = math.MaxInt64
	}
	if len(r) == 0 {
		r = Retention{{}}
	}
	var windows []Window
	for _, t := range r {
		oldest := start
		if t.MaxAge > 0 {
			oldest = max(start, t.oldest(now))
		}
		if oldest < end {
			windows = append(windows, Window{From: oldest, To: end, Versions: t.Versions})
			end = oldest
		}
	}
	if !bounded && len(windows) > 0 {
		windows[0].To = 0
	}
	return windows
}

// oldest returns the timestamp of the oldest cell that t keeps, regardless of its rank. t must have a MaxAge.
func (t Term) oldest(now time.Time) int64 { return CeilMicros(now.Add(-t.MaxAge)) }

// boundMicros returns t as a bound of cell timestamps, which are not negative; false if t is after all timestamps.
func boundMicros(t time.Time) (int64, bool) {
	switch {
	case t.Before(epoch):
		return 0, true
	case t.Unix() >= math.MaxInt64/1_000_000:
		return 0, false
	}
	return CeilMicros(t), true
}

// Alive reports whether a cell is live at now. us is its timestamp in microseconds, and
// rank its rank among the cells of its column; the newest has rank 1.
func (r Retention) Alive(now time.Time, us int64, rank int) bool {
	for _, t := range r {
		if (t.MaxAge == 0 || us >= t.oldest(now)) && (t.Versions == 0 || rank <= t.Versions) {
			return true
		}
	}
	return len(r) == 0
}

// Horizon returns the lowest timestamp, in microseconds, at which the newest cell of a column is live.
func (r Retention) Horizon(now time.Time) int64 {
	if !r.ages() {
		return math.MinInt64
	}
	return r[len(r)-1].oldest(now)
}

// ages reports whether every cell becomes too old at some time.
func (r Retention) ages() bool { return len(r) > 0 && r[len(r)-1].MaxAge > 0 }

// Fresh returns the time until which the cell with timestamp us stays live regardless of its rank or, if newest is
// set, as the newest cell of its column. It returns the zero time if the rank decides.
func (r Retention) Fresh(us int64, newest bool) (until time.Time) {
	if len(r) == 0 {
		return Forever
	}
	for _, t := range r {
		switch {
		case t.Versions > 0 && !newest:
		case t.MaxAge == 0:
			return Forever
		default:
			until = Later(until, FromMicros(us).Add(t.MaxAge))
		}
	}
	return until
}

// Turns reports whether a cell in [from, to) that is live regardless of its rank may
// become one whose rank decides within d. If so, a read must count the newer cells.
func (r Retention) Turns(now, from, to time.Time, d time.Duration) bool {
	for _, t := range r[:max(0, len(r)-1)] {
		if oldest := now.Add(-t.MaxAge); oldest.Before(to) && from.Before(oldest.Add(d)) {
			return true
		}
	}
	return false
}

// LongRead is how long a read may rely on the ranks that it has seen.
const LongRead = time.Hour

// Rest returns the end of the range to read so that a read up to to can count ranks. Cells that become too old during
// the read are live only by rank. If that can happen within [LongRead] in the bucket that contains to, the read must
// extend to the end of that bucket to count the newer cells.
func (r Retention) Rest(b Bucket, now, from, to time.Time) time.Time {
	if len(r) < 2 {
		return to
	}
	start := b.Start(to)
	if start.Equal(to) || !r.Turns(now, Later(from, start), to, LongRead) {
		return to
	}
	return b.End(to)
}

// Covers reports whether r keeps every cell that o keeps.
func (r Retention) Covers(o Retention) bool {
	if len(r) == 0 {
		return true
	}
	for _, t := range o {
		if !slices.ContainsFunc(r, func(b Term) bool { return b.covers(t) }) {
			return false
		}
	}
	return len(o) > 0
}

// covers reports whether t keeps every cell that o keeps.
func (t Term) covers(o Term) bool {
	return compareLimits(int64(t.MaxAge), int64(o.MaxAge)) >= 0 && compareLimits(int64(t.Versions), int64(o.Versions)) >= 0
}

// Since returns the oldest timestamp at which a cell can be live; false if there is no bound.
func (r Retention) Since(now time.Time) (time.Time, bool) {
	if !r.ages() {
		return time.Time{}, false
	}
	return FromMicros(r.Horizon(now)), true
}
