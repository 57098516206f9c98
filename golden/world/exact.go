package world

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// bucket is a bucket of a table with a rollup.
type bucket struct {
	period *layout.Table
	series string
	start  int64
}

// bucketOf returns the bucket of an event in a table; false if the layout at its time has no rollup that readers use.
func bucketOf(t *layout.Table, e *dynamic.Event) (bucket, bool) {
	o := periodOf(t, e.Time)
	if o.Rollup == nil || o.Rollup.Idle {
		return bucket{}, false
	}
	return bucket{o, text(e.Series...), o.Bucket.Start(e.Time).UnixNano()}, true
}

// span returns the times of a bucket.
func (b bucket) span() (start, end time.Time) {
	start = time.Unix(0, b.start).UTC()
	return start, b.period.Bucket.End(start)
}

// gone returns when the first of the events of a bucket may have expired; false if they never do.
func (b bucket) gone() (at time.Time, ok bool) {
	ttl := b.period.Age()
	start, _ := b.span()
	return start.Add(ttl - codec.Skew), ttl > 0
}

// whole reports whether no event of a bucket may have expired.
func (b bucket) whole(now time.Time) bool {
	gone, expires := b.gone()
	return !expires || now.Before(gone)
}

// lasts reports whether the summary of a bucket cannot have expired.
func (b bucket) lasts(now time.Time) bool {
	_, end := b.span()
	age := b.period.Rollup.GC.MaxAge
	return age == 0 || now.Add(codec.Skew).Before(end.Add(age))
}

// grace is the wait between the two passes that summarize a bucket.
func (b bucket) grace() time.Duration { return b.period.Rollup.Grace(b.period.Bucket) }

// moments are the times at which something changes for a bucket: it may be summarized; it is too late to summarize
// its events; they may have expired; they have; and the same for its summary.
func (b bucket) moments() (out []time.Time) {
	_, end := b.span()
	out = append(out, end.Add(b.period.Rollup.After))
	if at, ok := b.gone(); ok {
		out = append(out, at.Add(-2*b.grace()), at.Add(-b.grace()), at, at.Add(codec.Skew))
	}
	if age := b.period.Rollup.GC.MaxAge; age > 0 {
		out = append(out, end.Add(age-codec.Skew), end.Add(age), end.Add(age+end.Sub(time.Unix(0, b.start))))
	}
	return out
}

// changed notes that events may have changed in all tables.
func (p *play) changed(events ...dynamic.Event) {
	for _, e := range events {
		e = p.truth.truncated(e)
		for _, t := range p.layout.Tables {
			if b, ok := bucketOf(t, &e); ok {
				delete(p.summarized, b)
			}
		}
	}
}

// changedAll notes that the events of some places may have changed.
func (p *play) changedAll(some func(e *dynamic.Event) bool) {
	for i := range p.known {
		if some(&p.known[i]) {
			p.changed(p.known[i])
		}
	}
}

// summaries notes which buckets a call has summarized with all their events.
func (p *play) summaries() {
	for i := range p.known {
		for _, t := range p.layout.Tables {
			b, ok := bucketOf(t, &p.known[i])
			if !ok {
				continue
			}
			_, end := b.span()
			gone, expires := b.gone()
			if !p.now.Before(end.Add(b.period.Rollup.After)) && (!expires || p.now.Before(gone.Add(-2*b.grace()))) {
				p.summarized[b] = true
			}
		}
	}
}

// exact reports whether a window must be exact: of all buckets in it and before it, which its increases may count
// from, the events are there, or they are summarized since they last changed, in windows of which it consists.
func (p *play) exact(s selection, w *summary, from, to time.Time, width window.Width, o store.WindowOptions) bool {
	first, last := from.Add(-o.Before), w.End
	if o.Fill != window.FillNone {
		last = to
	}
	for _, t := range s.table.Periods() { // summaries may have expired
		if t.Rollup != nil && t.Rollup.GC.MaxAge > 0 && w.Start.Add(t.Rollup.GC.MaxAge).Before(p.now.Add(codec.Skew)) {
			return false
		}
	}
	if p.gone(s.table, w.Start, w.End) {
		return false
	}
	for i := range p.known {
		k := &p.known[i]
		if !s.matches(k) || !p.grouped(k.Series, w.series, o.By) {
			continue
		}
		b, ok := bucketOf(s.table, k)
		if !k.Time.Before(first) && k.Time.Before(last) && p.gone(s.table, width.Back(k.Time.Add(1), from, 1), k.Time.Add(1)) {
			return false
		}
		if !ok || b.whole(p.now) {
			continue
		}
		start, end := b.span()
		if !end.After(first) || !start.Before(last) {
			continue
		}
		if !p.summarized[b] || !consists(width, from, to, b) || o.Before > 0 {
			return false
		}
	}
	return true
}

// gone reports whether there are times in a range whose events may have expired, and that no run has. Readers cannot know
// whether there were any.
func (p *play) gone(t *layout.Table, from, to time.Time) bool {
	return slices.ContainsFunc(t.Periods(), func(o *layout.Table) bool {
		at, age := codec.Later(from, o.Since), o.Age()
		return (o.Rollup == nil || o.Rollup.Idle) && age > 0 && at.Before(to) && periodOf(t, at) == o && at.Add(age-codec.Skew).Before(p.now)
	})
}

// lost reports whether an event has expired, and may have with its summary.
func (p *play) lost(t *layout.Table, l living) bool {
	b, ok := bucketOf(t, &l.Event)
	if !ok {
		return l.has == nil
	}
	return l.has == nil && !b.lasts(p.now)
}

// consists reports whether the windows of a read consist of whole windows of the rollup of a bucket.
func consists(width window.Width, from, to time.Time, b bucket) bool {
	every := b.period.Rollup.Every
	start, end := b.span()
	for _, edge := range []time.Time{from, to} {
		if edge.After(start) && edge.Before(end) && !window.OnGrid(every, edge) {
			return false
		}
	}
	for at := end; at.After(start) && at.After(from); {
		if at = width.Back(at, from, 1); at.After(start) && !window.OnGrid(every, at) {
			return false
		}
	}
	return b.period.Rollup.Fields == nil
}
