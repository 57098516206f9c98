package codec

import (
	"slices"
	"time"
)

// Stamp says what the timestamps of the cells of a column family stand for.
type Stamp int

const (
	// StampEvent is the time of the event, rounded down to the millisecond.
	StampEvent Stamp = iota
	// StampWrite is the time of the writing, by the writer's clock, rounded
	// down to the millisecond.
	StampWrite
	// StampExpiry is when the event expires, rounded up to the millisecond:
	// one-second expiration.
	StampExpiry
	// StampShifted is when the event expires, rounded up to the millisecond,
	// less Lifetime.Default: default expiration.
	StampShifted
)

// Lifetime says what the timestamps of the cells of a column family stand for,
// and which cells are alive by them, while garbage collection, which takes up
// to a week, is still pending. The zero Lifetime keeps events for ever, at their
// own time.
type Lifetime struct {
	Stamp Stamp
	// Retention is which cells are alive, for StampEvent and StampWrite.
	Retention Retention
	// Default is, for StampShifted, how long an event lives from its writing
	// that says nothing of it; in whole milliseconds.
	Default time.Duration
}

// Under returns the lifetime of the cells of a family that are collected by a rule: where
// their timestamps do not say when they expire, its Retention is what the rule leaves alive
// of at most maxCells cells of a column; see [GCRule.Retention].
func (l Lifetime) Under(rule GCRule, maxCells int64) Lifetime {
	if !l.expires() {
		l.Retention = rule.Retention(maxCells)
	}
	return l
}

// EventTimed reports whether the timestamps are the times of the events, so that
// a range of time is a range of timestamps, and an event that is written again
// has the same one.
func (l Lifetime) EventTimed() bool { return l.Stamp == StampEvent }

// Dated reports whether ages run from the times of events: garbage collection then
// depends on every cell having that timestamp, and a range of time may be asked for as
// one of timestamps. Where it does not, other programs may stamp cells as they like.
func (l Lifetime) Dated() bool {
	return l.EventTimed() && slices.ContainsFunc(l.Retention, func(t Term) bool { return t.MaxAge > 0 })
}

// Micros returns the timestamp of the cells of an event that is written now, in
// microseconds and a multiple of 1000. expiresAt and ttl are what the event says
// of its end, zero if nothing; ttl runs from now, and wins. The error is
// [ErrExpired] for an event that is past its time to live, [ErrNoExpiry] for one
// that must say when it expires and does not, or [ErrTimeRange] for one that expires
// after the year 9999.
func (l Lifetime) Micros(now, event, expiresAt time.Time, ttl time.Duration) (int64, error) {
	switch l.Stamp {
	case StampWrite:
		return Micros(now), nil
	case StampExpiry, StampShifted:
		end, err := l.end(now, expiresAt, ttl)
		if err != nil {
			return 0, err
		}
		return l.shifted(now, end)
	}
	us := Micros(event)
	if !l.Retention.Alive(now, us, 1) {
		return 0, &FieldError{Field: "time", Value: showTime(event), Err: ErrExpired}
	}
	return us, nil
}

// end returns when an event expires.
func (l Lifetime) end(now, expiresAt time.Time, ttl time.Duration) (time.Time, error) {
	switch {
	case ttl < 0:
		return now, &FieldError{Field: "ttl", Value: ttl.String(), Err: ErrExpired}
	case ttl > 0:
		return now.Add(ttl), nil
	case !expiresAt.IsZero():
		return expiresAt, nil
	case l.Stamp == StampShifted:
		return now.Add(l.Default), nil
	}
	return now, &FieldError{Field: "expires_at", Value: showTime(expiresAt), Err: ErrNoExpiry}
}

// shifted returns the timestamp of an event that expires at end.
func (l Lifetime) shifted(now, end time.Time) (int64, error) {
	if !end.Before(year10k) {
		return 0, &FieldError{Field: "expires_at", Value: showTime(end), Err: ErrTimeRange}
	}
	us := CeilMicros(end) - l.Default.Microseconds()
	if us < 0 || !l.Alive(now, us, 1) {
		return 0, &FieldError{Field: "expires_at", Value: showTime(end), Err: ErrExpired}
	}
	return us, nil
}

// Alive reports whether the cell with the timestamp us, in microseconds, is alive
// if it is the rank-th newest of its column.
func (l Lifetime) Alive(now time.Time, us int64, rank int) bool {
	if l.expires() {
		return us >= l.oldest(now)
	}
	return l.Retention.Alive(now, us, rank)
}

// Forever reports whether every cell is alive for ever.
func (l Lifetime) Forever() bool { return !l.expires() && l.Retention == nil }

// Fresh returns until when the cell with the timestamp us is alive whatever its rank
// is, or if it is the newest of its column; the zero time if its rank decides.
func (l Lifetime) Fresh(us int64, newest bool) (until time.Time) {
	if until, ok := l.Expiry(us); ok {
		return until
	}
	return l.Retention.Fresh(us, newest)
}

// Horizon returns the timestamp, in microseconds, from which on the newest cell of a
// column is alive.
func (l Lifetime) Horizon(now time.Time) int64 {
	if l.expires() {
		return l.oldest(now)
	}
	return l.Retention.Horizon(now)
}

// Expires returns how long after its timestamp a cell expires; false if that does not
// follow from the timestamp alone.
func (l Lifetime) Expires() (after time.Duration, ok bool) { return l.Default, l.expires() }

// Expiry returns when the cell with the timestamp us expires; false if that does
// not follow from the timestamp alone.
func (l Lifetime) Expiry(us int64) (time.Time, bool) {
	if !l.expires() {
		return time.Time{}, false
	}
	return FromMicros(us + l.Default.Microseconds()), true
}

// Windows returns what a read of the events in [from, to) must ask for so as to
// get all living cells and no others, as [Retention.Windows] does. Where the
// timestamps are not the times of events, a window cannot tell which of them are
// in the range: it holds all that are alive.
func (l Lifetime) Windows(now, from, to time.Time) []Window {
	switch {
	case l.EventTimed():
		return l.Retention.Windows(now, from, to)
	case !from.Before(to):
		return nil
	case l.expires():
		return []Window{{From: l.oldest(now)}}
	}
	return l.Retention.Windows(now, epoch, Endless)
}

// Since returns the time of the oldest event that can be alive; false if there is
// no bound.
func (l Lifetime) Since(now time.Time) (time.Time, bool) {
	if !l.EventTimed() {
		return time.Time{}, false
	}
	return l.Retention.Since(now)
}

// Outlives reports whether an event's cells under l live at least as long as its
// cells under o, whatever the event.
func (l Lifetime) Outlives(o Lifetime) bool {
	switch {
	case !l.expires() && l.Retention == nil:
		return true
	case l.expires() && o.expires(): // an event that says its end says it to both
		return l.Stamp == StampExpiry || o.Stamp == StampExpiry || l.Default >= o.Default
	}
	return l.Stamp == o.Stamp && l.Retention.Covers(o.Retention)
}

// expires reports whether the timestamps say when cells expire.
func (l Lifetime) expires() bool { return l.Stamp == StampExpiry || l.Stamp == StampShifted }

// oldest returns the oldest timestamp that is alive: the first whole millisecond
// after now, less Default. A cell is alive until the moment of its expiry.
func (l Lifetime) oldest(now time.Time) int64 {
	return max(0, Micros(now.Add(-l.Default))+1000)
}

// Oldest returns the time of the oldest event that can be alive in families with
// these lifetimes; false if there is no bound.
func Oldest[F any](now time.Time, families []F, life func(*F) Lifetime) (oldest time.Time, bounded bool) {
	for i := range families {
		since, ok := life(&families[i]).Since(now)
		if !ok {
			return time.Time{}, false
		}
		if i == 0 || since.Before(oldest) {
			oldest = since
		}
	}
	return oldest, len(families) > 0
}
