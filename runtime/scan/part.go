package scan

import (
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// timePart is a part of a time range and the qualifier range [Begin, End) to read in it.
// Both are empty if all columns are to be read.
type timePart struct {
	From, To   time.Time
	Begin, End string
}

// cutBuckets splits [from, to) so that buckets that are only partly in the range are
// separate parts, with the qualifiers that are in the range.
func cutBuckets(o codec.Offset, from, to time.Time) []timePart {
	return cut(o, from, to, o.Bucket.Start, o.Bucket.End)
}

// cutMilliseconds splits [from, to) so that milliseconds that are only partly in the range are separate parts, with
// the qualifiers that are in the range. Cell timestamps are whole milliseconds and cannot make that distinction.
func cutMilliseconds(o codec.Offset, from, to time.Time) []timePart {
	start := func(t time.Time) time.Time { return codec.Truncate(t, time.Millisecond) }
	return cut(o, from, to, start, func(t time.Time) time.Time { return start(t).Add(time.Millisecond) })
}

// cut splits [from, to) before and after a first or last unit that is only partly in
// the range. start and end return the bounds of the unit that contains t.
func cut(o codec.Offset, from, to time.Time, start, end func(t time.Time) time.Time) []timePart {
	b := o.Bucket
	from, to = codec.Ceil(codec.Later(from, b.Min()), o.Precision), codec.Ceil(codec.Earlier(to, b.Max()), o.Precision)
	if !from.Before(to) {
		return nil
	}
	var parts []timePart
	done, last := from, start(to.Add(-1))
	for unit := start(from); ; unit = last {
		p := timePart{From: codec.Later(unit, from), To: codec.Earlier(end(unit), to)}
		if p.From.After(unit) || p.To.Before(end(unit)) {
			if done.Before(p.From) { // whole units
				parts = append(parts, timePart{From: done, To: p.From})
			}
			p.Begin, p.End, _ = o.Range(b.Start(unit), p.From, p.To)
			parts, done = append(parts, p), p.To
		}
		if unit.Equal(last) {
			break
		}
	}
	if done.Before(to) {
		parts = append(parts, timePart{From: done, To: to})
	}
	return parts
}
