package codec

import "time"

// Part is a range of time within which the same columns are asked for: from Begin up
// to but without End, empty for all of them.
type Part struct {
	From, To   time.Time
	Begin, End string
}

// CutBuckets cuts a range at the buckets that are not whole in it: the first and the
// last bucket come by themselves, with the columns that are in the range.
func (o Offset) CutBuckets(from, to time.Time) []Part {
	return o.cut(from, to, o.Bucket.Start, o.Bucket.End)
}

// CutMilliseconds cuts a range at the milliseconds that are not whole in it: the
// timestamps of cells are whole ones, and columns say what they do not.
func (o Offset) CutMilliseconds(from, to time.Time) []Part {
	start := func(t time.Time) time.Time { return Truncate(t, time.Millisecond) }
	return o.cut(from, to, start, func(t time.Time) time.Time { return start(t).Add(time.Millisecond) })
}

// cut cuts a range at the first and the last unit of time, each from its start to
// its end, that are not whole in it: they come with the columns in the range.
func (o Offset) cut(from, to time.Time, start, end func(t time.Time) time.Time) []Part {
	b := o.Bucket
	from, to = Ceil(Later(from, b.Min()), o.Precision), Ceil(earlier(to, b.Max()), o.Precision)
	if !from.Before(to) {
		return nil
	}
	var parts []Part
	first, last := start(from), start(to.Add(-1))
	for _, unit := range []time.Time{first, last} {
		p := Part{From: Later(unit, from), To: earlier(end(unit), to)}
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

// joinParts puts what lies between the parts, whole units, among them.
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
