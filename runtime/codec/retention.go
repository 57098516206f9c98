package codec

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Retention says which cells of a column are alive: those for which some term
// holds. It is the complement of the [GCRule] of the column's family, and decides
// what may be read while garbage collection, which takes up to a week, is still
// pending. A nil Retention keeps every cell for ever.
//
// Whatever is newer than a living cell is alive too. No term implies another,
// and the terms are sorted by rising MaxAge, with 0 last.
type Retention []Term

// Term is one reason for a cell to be alive: it is no older than MaxAge, and
// among the newest Versions cells of its column.
type Term struct {
	MaxAge   time.Duration // 0 for any age
	Versions int           // 0 for any rank
}

// Retention returns what the rule leaves alive. A column holds at most maxCells
// cells, 0 if that is not known: a limit of as many versions is none.
func (r GCRule) Retention(maxCells int64) Retention {
	terms := r.Normalize().alive(maxCells)
	if len(terms) == 1 && terms[0] == (Term{}) {
		return nil
	}
	return terms
}

// alive returns the terms of a normalised rule. A union collects what any rule
// collects, so a cell must be alive under all of them; an intersection collects
// what all collect, so one that keeps the cell is enough.
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

// and returns what both r and s keep alive.
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

// minimal drops the terms that another one implies, and sorts.
func (r Retention) minimal() Retention {
	slices.SortFunc(r, func(a, b Term) int { // the longest first
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

// compareLimits compares two limits of which 0 is none, and so the highest.
func compareLimits(a, b int64) int { return cmp.Compare(uint64(a)-1, uint64(b)-1) }

func tighter(a, b int64) int64 {
	if compareLimits(a, b) < 0 {
		return a
	}
	return b
}

// Window is a range of cell timestamps to ask for, From included and To not, in
// microseconds and multiples of 1000. A To of 0 is no bound.
type Window struct {
	From, To int64
	// Versions is the number of newest cells of a column that are alive, 0 for
	// all. It counts from the newest cell of the whole column, not of the
	// window: a filter limits the cells per column first, and the time then.
	Versions int
}

// Windows returns what a read of the cells in [from, to) must ask for so as to
// get all living cells and no others: windows that do not overlap, the newest
// first. Both ends are rounded up to the millisecond, as befits cell timestamps,
// which are whole milliseconds.
func (r Retention) Windows(now, from, to time.Time) []Window {
	start, ok := boundMicros(from)
	if !ok {
		return nil
	}
	end, bounded := boundMicros(to)
	if !bounded {
		end = math.MaxInt64
	}
	if r == nil {
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

// oldest returns the timestamp of the oldest cell that a term with a MaxAge
// keeps, regardless of rank.
func (t Term) oldest(now time.Time) int64 { return CeilMicros(now.Add(-t.MaxAge)) }

// boundMicros returns t as the end of a range of cell timestamps, none of which
// is negative; false if t is past all timestamps.
func boundMicros(t time.Time) (int64, bool) {
	switch {
	case t.Before(epoch):
		return 0, true
	case t.Unix() >= math.MaxInt64/1_000_000:
		return 0, false
	}
	return CeilMicros(t), true
}

// Alive reports whether the cell with the timestamp us, in microseconds, is alive
// if it is the rank-th newest of its column.
func (r Retention) Alive(now time.Time, us int64, rank int) bool {
	for _, t := range r {
		if (t.MaxAge == 0 || us >= t.oldest(now)) && (t.Versions == 0 || rank <= t.Versions) {
			return true
		}
	}
	return r == nil
}

// Horizon returns the timestamp, in microseconds, from which on the newest cell of a
// column is alive.
func (r Retention) Horizon(now time.Time) int64 {
	if len(r) == 0 && r != nil {
		return math.MaxInt64 // nothing is
	}
	if r == nil || r[len(r)-1].MaxAge == 0 {
		return math.MinInt64
	}
	return r[len(r)-1].oldest(now)
}

// Fresh returns until when the cell with the timestamp us is alive whatever its rank
// is, or if it is the newest of its column; the zero time if its rank decides.
func (r Retention) Fresh(us int64, newest bool) (until time.Time) {
	if r == nil {
		return Endless
	}
	for _, t := range r {
		switch {
		case t.Versions > 0 && !newest:
		case t.MaxAge == 0:
			return Endless
		default:
			until = Later(until, FromMicros(us).Add(t.MaxAge))
		}
	}
	return until
}

// Turns reports whether a cell in [from, to) that is alive for its age may within
// d be so for its rank alone, so that the number of newer cells decides.
func (r Retention) Turns(now, from, to time.Time, d time.Duration) bool {
	for _, t := range r[:max(0, len(r)-1)] {
		if oldest := now.Add(-t.MaxAge); oldest.Before(to) && from.Before(oldest.Add(d)) {
			return true
		}
	}
	return false
}

// LongRead is how long the ranks that a read has seen are good for.
const LongRead = time.Hour

// Rest returns until when the cells of buckets must be read for a range up to a time.
// What grows too old during the read is alive by its rank, if at all: where that may
// be within an hour for what is in the bucket that the range cuts, the cells after the
// range are read too, to be counted.
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

// Covers reports whether every cell that o keeps alive is kept by r too.
func (r Retention) Covers(o Retention) bool {
	if r == nil {
		return true
	}
	for _, t := range o {
		if !slices.ContainsFunc(r, func(b Term) bool { return b.covers(t) }) {
			return false
		}
	}
	return o != nil
}

// covers reports whether t keeps every cell that o keeps.
func (t Term) covers(o Term) bool {
	return compareLimits(int64(t.MaxAge), int64(o.MaxAge)) >= 0 && compareLimits(int64(t.Versions), int64(o.Versions)) >= 0
}

// Since returns the oldest cell timestamp that can be alive; false if there is
// no bound.
func (r Retention) Since(now time.Time) (time.Time, bool) {
	if len(r) == 0 || r[len(r)-1].MaxAge == 0 {
		return time.Time{}, false
	}
	return FromMicros(r[len(r)-1].oldest(now)), true
}
