package world

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// aged reports whether events of a family expire by their age, rather than at a time that they name.
func aged(f *layout.Family) bool {
	return f.Life.Timestamp == codec.TimestampEvent || f.Life.Timestamp == codec.TimestampWrite
}

// floor and ceil round a time to whole milliseconds, in microseconds.
func floor(t time.Time) int64 { return t.UnixMilli() * 1000 }

func ceil(t time.Time) int64 { return floor(t.Add(time.Millisecond - 1)) }

// stamp returns the timestamp of the cells of an event in a family, or why the family does not store it.
func stamp(f *layout.Family, now time.Time, e *dynamic.Event) (int64, error) {
	switch f.Life.Timestamp {
	case codec.TimestampWrite:
		return floor(now), nil
	case codec.TimestampEvent:
		if micros := floor(e.Time); alive(f, now, micros, 1) {
			return micros, nil
		}
		return 0, codec.ErrExpired
	}
	end := e.ExpiresAt
	switch {
	case e.TTL < 0:
		return 0, codec.ErrExpired
	case e.TTL > 0:
		end = now.Add(e.TTL)
	case !end.IsZero():
	case f.Life.Timestamp == codec.TimestampExpiry:
		return 0, codec.ErrNoExpiry
	default:
		end = now.Add(f.GC.MaxAge)
	}
	micros := ceil(end)
	if f.Life.Timestamp == codec.TimestampShifted {
		micros -= f.GC.MaxAge.Microseconds()
	}
	if !alive(f, now, micros, 1) {
		return 0, codec.ErrExpired
	}
	return micros, nil
}

// alive reports whether readers return a cell with a timestamp. rank is 1 for the newest of its column.
func alive(f *layout.Family, now time.Time, micros int64, rank int) bool {
	at := time.UnixMicro(micros)
	switch f.Life.Timestamp {
	case codec.TimestampExpiry:
		return at.After(now)
	case codec.TimestampShifted:
		return at.Add(f.GC.MaxAge).After(now)
	}
	return !collects(f.GC, now.Sub(at), rank)
}

// expires returns when an event expires, as its cells say or, if they do not, as it was written.
func (v *version) expires() time.Time {
	if at, ok := v.cells[0].expires(v.period); ok {
		return at
	}
	return v.event.ExpiresAt
}

// expires returns when a cell expires; false if it does not say so.
func (c *cell) expires(t *layout.Table) (at time.Time, ok bool) {
	at = time.UnixMicro(c.micros)
	switch f := &t.Families[c.family]; f.Life.Timestamp {
	case codec.TimestampExpiry:
		return at, true
	case codec.TimestampShifted:
		return at.Add(f.GC.MaxAge), true
	}
	return at, false
}

// collects reports whether a rule removes a cell of an age and a rank.
func collects(r codec.GCRule, age time.Duration, rank int) bool {
	of := func(r codec.GCRule) bool { return collects(r, age, rank) }
	switch r.Kind {
	case codec.GCMaxAge:
		return age > r.MaxAge
	case codec.GCMaxVersions:
		return rank > r.MaxVersions
	case codec.GCUnion:
		return slices.ContainsFunc(r.Rules, of)
	case codec.GCIntersection:
		return !slices.ContainsFunc(r.Rules, func(r codec.GCRule) bool { return !of(r) })
	}
	return false
}
