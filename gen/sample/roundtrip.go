package sample

import (
	"bytes"
	"reflect"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// RoundTrip is what a test of the generated code writes and reads. The values are
// chosen so that reading returns what was written.
type RoundTrip struct {
	// Series are different series, each with its values, typed like Field.Example. Each of the others differs from the first
	// one in one value.
	Series [][]any
	// Times are multiples of the precision: the first two are in one bucket, unless the
	// table keeps fewer versions or a bucket has room for only one, and the third is in
	// another.
	Times []time.Time
	// Far reports that the times are far in the future. The in-memory server
	// garbage-collects by the system clock after a family was added to a table, and
	// keeps cells in the future.
	Far bool
	// Now is the clock of writers and readers: just after the events, unless the first
	// would have expired by then.
	Now    time.Time
	Always []bool // the optional fields that every event has, so that it stores some value
	// Sequence reports that all tables that are read store the sequence.
	Sequence bool
	// Stored are events of the first series whose cells a test compares, before and after the end of a bucket and,
	// if there are TTL classes, of several. Their fields differ, and the last one lacks its optional fields, except for
	// those of Always. Those that specify an expiry expire an hour after Now.
	Stored []Event
}

// Given returns the value that a query of the events has for an input, or both ends of its range, which
// contains the value of the first event. A prefix is the whole value.
func (r *RoundTrip) Given(in *layout.Input) (low, high any) {
	low = in.From(r.Series[0], r.Stored[0].Values)
	return low, above(low)
}

// Meets reports whether a query with the values of [RoundTrip.Given] returns the n-th event of Stored.
func (r *RoundTrip) Meets(n int, q *layout.Query) bool {
	return !slices.ContainsFunc(q.Inputs, func(in layout.Input) bool {
		low, high := r.Given(&in)
		switch at := in.From(r.Series[0], r.Stored[n].Values); {
		case at == nil:
			return true
		case in.Ends() == 2:
			return less(at, low) || !less(at, high)
		default:
			return !reflect.DeepEqual(at, low)
		}
	})
}

// above returns a greater value or, for types without any, the same, so that a range with both ends is empty.
func above(v any) any {
	switch v := v.(type) {
	case string:
		if _, err := codec.ParseUUID(v); err == nil {
			return "ffffffff-ffff-ffff-ffff-ffffffffffff"
		}
		return v + "0"
	case []byte:
		return append(slices.Clone(v), '0')
	case int64:
		return v + 1
	case uint64:
		return v + 1
	case float64:
		return v + 1
	case time.Time:
		return v.Add(time.Second)
	case time.Duration:
		return v + time.Second
	default:
		return v
	}
}

// less reports whether a value precedes another one.
func less(a, b any) bool {
	switch a := a.(type) {
	case string:
		return a < b.(string)
	case []byte:
		return bytes.Compare(a, b.([]byte)) < 0
	case int64:
		return a < b.(int64)
	case uint64:
		return a < b.(uint64)
	case float64:
		return a < b.(float64)
	case time.Time:
		return a.Before(b.(time.Time))
	case time.Duration:
		return a < b.(time.Duration)
	}
	return false
}

// NewRoundTrip returns what a test writes; false if no event fits all tables.
func NewRoundTrip(l *layout.Layout) (*RoundTrip, bool) {
	r := &RoundTrip{Series: roundTripSeries(l), Always: always(l), Sequence: readsSequence(l)}
	ok := roundTripTimes(l, r) && r.Series != nil
	if ok {
		for n := range r.Times {
			if n != 1 || len(l.Classes) > n {
				r.Stored = append(r.Stored, r.stored(l, n))
			}
		}
		last := &r.Stored[len(r.Stored)-1]
		for i := range l.Fields {
			if l.Fields[i].Optional && !r.Always[i] {
				last.Values[i] = nil
			}
		}
	}
	return r, ok
}

// expiry is the time after the clock at which events expire that specify it.
const expiry = time.Hour

// stored returns the n-th event whose cells are compared.
func (r *RoundTrip) stored(l *layout.Layout, n int) Event {
	e := Event{Series: r.Series[0], Time: r.Times[n], WrittenAt: r.Now, Values: make([]any, len(l.Fields))}
	for i := range l.Fields {
		for try := range 20 {
			if e.Values[i] = Value(&l.Fields[i], n+try, e.Time); !slices.ContainsFunc(e.Values[:i], func(v any) bool { return reflect.DeepEqual(v, e.Values[i]) }) {
				break // of a bool, and of an enum of few values, some are equal
			}
		}
	}
	if len(l.Classes) > 0 {
		e.Class = 1 + n%len(l.Classes)
	}
	if r.Sequence {
		e.Sequence = 7
	}
	if l.MustExpire() || l.MayExpire() {
		e.ExpiresAt = r.Now.Add(expiry)
	}
	return e
}

// roundTripSeries returns a series, and for each of its values another series that
// differs in it; nil if the tables cannot store any.
func roundTripSeries(l *layout.Layout) [][]any {
	values := make([]any, len(l.Series))
	own := *l
	own.Series = slices.Clone(l.Series)
	// fit selects the first value that all tables accept; false if there is none.
	fit := func(i int, candidates []any) bool {
		return slices.ContainsFunc(candidates, func(v any) bool {
			own.Series[i].Example = v
			return allTablesTake(&own, i)
		})
	}
	for i := range l.Series {
		if !fit(i, firstValues(&l.Series[i], l.Tables, i)) {
			return nil
		}
		values[i] = own.Series[i].Example
	}
	if slices.ContainsFunc(l.Tables, func(t *layout.Table) bool { return Key(&own, t) == "" }) {
		return nil
	}
	out := [][]any{values}
	for i := range l.Series {
		same := func(v any) bool { return reflect.DeepEqual(v, values[i]) }
		if fit(i, slices.DeleteFunc(slices.Clone(samplesOf(l.Series[i].Type).other(&l.Series[i], values[i])), same)) {
			other := slices.Clone(values)
			other[i] = own.Series[i].Example
			out = append(out, other)
		}
		own.Series[i].Example = values[i]
	}
	return out
}

// allTablesTake reports whether the keys of all tables accept the example of a series
// value.
func allTablesTake(l *layout.Layout, series int) bool {
	return !slices.ContainsFunc(l.Tables, func(t *layout.Table) bool {
		i := t.SegmentOf(series)
		if i < 0 {
			return false
		}
		_, err := t.AppendPart(nil, i, i+1, exampleValues(l, t))
		return err != nil
	})
}

// firstValues returns candidates for a series value, best first.
func firstValues(f *layout.Field, tables []*layout.Table, series int) []any {
	var out []any
	if f.Example != nil {
		out = append(out, f.Example)
	}
	for _, t := range tables {
		out = append(out, samplesOf(f.Type).key(f, t.FormOf(series)))
	}
	return append(out, samplesOf(f.Type).first(f)...)
}

// roundTripTimes sets the times of the events of a series and the clock; false if the
// tables cannot keep any.
func roundTripTimes(l *layout.Layout, r *RoundTrip) bool {
	starts := []time.Time{time.Date(2100, 3, 5, 12, 0, 0, 0, time.UTC)}
	for _, t := range l.Tables {
		starts = append(starts, Time(t)) // if a label cannot represent the other
	}
	for i, start := range starts {
		for _, times := range [][]time.Time{timesTogether(l, start), timesApart(l, start)} {
			after := codec.Truncate(times[2], time.Second).Add(time.Second)
			for _, now := range []time.Time{after, codec.Truncate(times[0], time.Millisecond)} {
				if keeps(l, times, now) {
					r.Times, r.Now, r.Far = times, now, i == 0
					return true
				}
			}
		}
	}
	return false
}

// widest returns the widest buckets of all tables; false if there are none.
func widest(l *layout.Layout) (widest codec.Bucket, found bool) {
	for _, t := range l.Tables {
		if t.Pattern.Bucketed() && !t.Endless() && (!found || t.Bucket.Widest() > widest.Widest()) {
			widest, found = t.Bucket, true
		}
	}
	return widest, found
}

// timesTogether returns times before and after the end of a bucket.
func timesTogether(l *layout.Layout, start time.Time) []time.Time {
	second := codec.Truncate(start, l.Precision).Add(l.Precision)
	if b, ok := widest(l); ok {
		second = codec.Truncate(b.End(second).Add(-1), l.Precision)
	}
	return []time.Time{second.Add(-l.Precision), second, second.Add(l.Precision)}
}

// timesApart returns times in different buckets.
func timesApart(l *layout.Layout, start time.Time) []time.Time {
	b, ok := widest(l)
	if !ok {
		return timesTogether(l, start)
	}
	times := []time.Time{codec.Truncate(start, l.Precision)}
	for range 2 {
		end := b.End(b.End(times[len(times)-1])) // the buckets of other tables may end elsewhere
		times = append(times, codec.Ceil(end, l.Precision))
	}
	return times
}

// keeps reports whether all tables accept events of these times, and keep them until
// now.
func keeps(l *layout.Layout, times []time.Time, now time.Time) bool {
	for _, t := range l.Tables {
		if slices.ContainsFunc(times, func(at time.Time) bool { return !canHold(t, at) }) {
			return false
		}
		rank := 1
		if t.Pattern.EventTimed() && t.Bucket.Start(times[0]).Equal(t.Bucket.Start(times[1])) {
			rank = 2 // the events may be versions of one column
		}
		switch {
		case t.Pattern.NewestOnly(): // older events are in other tables
			rank = 1
		case t.Endless():
			rank = len(times)
		}
		for _, f := range t.Families {
			if f.Life.EventTimed() && !f.Life.Alive(now, codec.Micros(times[0]), rank) {
				return false
			}
		}
	}
	return true
}

// canHold reports whether the row keys of a table can represent a time.
func canHold(t *layout.Table, at time.Time) bool {
	if t.Endless() {
		return !at.Before(t.Bucket.Min()) && at.Before(t.Bucket.Max())
	}
	i := t.TimeIndex()
	if i < 0 {
		return false
	}
	_, err := t.AppendPart(nil, i, i+1, &codec.KeyValues{At: &at})
	return err == nil
}

// always returns which optional fields every event must have, so that it stores some
// value: the first one if no field is required. If families determine the expiry or
// write time of an event, each of them needs a value.
func always(l *layout.Layout) []bool {
	tell := l.MustExpire() || l.MayExpire() || l.KeepsWrittenAt()
	out := make([]bool, len(l.Fields))
	for _, t := range l.Tables {
		for family := range t.Families {
			in := slices.DeleteFunc(slices.Clone(t.Columns), func(c layout.Column) bool { return c.Field < 0 || tell && c.Family != family })
			if len(in) > 0 && !slices.ContainsFunc(in, func(c layout.Column) bool { return !l.Fields[c.Field].Optional }) {
				out[in[0].Field] = true
			}
		}
	}
	return out
}

// readsSequence reports whether all tables that are read store the sequence.
func readsSequence(l *layout.Layout) bool {
	for _, t := range l.ReadTables() {
		if !t.HasSequence() {
			return false
		}
	}
	return l.Sequence
}
