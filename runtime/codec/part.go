package codec

import "time"

// Part is a part of a time range and the qualifier range [Begin, End) to read in it.
// Both are empty if all columns are to be read.
type Part struct {
	From, To   time.Time
	Begin, End string
}

// CutBuckets splits [from, to) so that buckets that are only partly in the range are
// separate parts, with the qualifiers that are in the range.
func (o Offset) CutBuckets(from, to time.Time) []Part {
	return o.cut(from, to, o.Bucket.Start, o.Bucket.End)
}

// CutMilliseconds splits [from, to) so that milliseconds that are only partly in the
// range are separate parts, with the qualifiers that are in the range. Cell
// timestamps are whole milliseconds and cannot make that distinction.
func (o Offset) CutMilliseconds(from, to time.Time) []Part {
	start := func(t time.Time) time.Time { return Truncate(t, time.Millisecond) }
	return o.cut(from, to, start, func(t time.Time) time.Time { return start(t).Add(time.Millisecond) })
}

// cut splits [from, to) before and after a first or last unit that is only partly in
// the range. start and end return the bounds of the unit that contains t.
func (o Offset) cut(from, to time.Time, start, end func(t time.Time) time.Time) []Part {
	b := o.Bucket
	from, to = Ceil(maxTime(from, b.Min()), o.Precision), Ceil(minTime(to, b.Max()), o.Precision)
	if !from.Before(to) {
		return nil
	}
	var parts []Part
	first, last := start(from), start(to.Add(-1))
	for _, unit := range []time.Time{first, last} {
		p := Part{From: maxTime(unit, from), To: minTime(end(unit), to)}
		if p.From.After(unit) || p.To.Before(end(unit)) {
			p.Begin, p.End, _ = o.Range(b.Start(unit), p.From, p.To)
			parts = append(parts, p)
		}
		if unit.Equal(last) {
			break
		}
	}
	return joinParts(parts, from, to)
}

// joinParts fills the gaps between the parts with parts of whole units.
func joinParts(parts []Part, from, to time.Time) []Part {
	var out []Part
	for _, p := range parts {
		if from.Before(p.From) {
			out = append(out, Part{From: from, To: p.From})
		}
		out, from = append(out, p), p.To
	}
	if from.Before(to) {
		out = append(out, Part{From: from, To: to})
	}
	return out
}
