package codec

import (
	"slices"
	"time"
)

// TimestampSource defines the meaning of the cell timestamps of a column family.
type TimestampSource int

const (
	// TimestampEvent is the event time, rounded down to the millisecond.
	TimestampEvent TimestampSource = iota
	// TimestampWrite is the time of the write by the writer's clock, rounded down to the millisecond.
	TimestampWrite
	// TimestampExpiry is the time at which the event expires, rounded up to the
	// millisecond. The family's rule has a maximum age of one second.
	TimestampExpiry
	// TimestampShifted is the time at which the event expires minus Lifetime.Default,
	// rounded up to the millisecond. The family's rule has Default as its maximum age.
	TimestampShifted
)

// Lifetime defines the meaning of the cell timestamps of a column family and which cells are live. Garbage collection
// may take up to a week to remove the others, so reads must exclude them. The zero Lifetime keeps events forever,
// with cells at the event time.
type Lifetime struct {
	Timestamp TimestampSource
	// Retention selects the live cells, for TimestampEvent and TimestampWrite.
	Retention Retention
	// Default is, for TimestampShifted, the lifetime of an event that does not specify one,
	// counted from the write, in whole milliseconds.
	Default time.Duration
}

// Under returns the lifetime of cells in a family with the given rule. If the timestamps do not determine when cells
// expire, its Retention is what the rule keeps, given that a column has at most maxCells cells; see
// [GCRule.Retention]. For TimestampShifted, its Default is the maximum age of the rule.
func (l Lifetime) Under(rule GCRule, maxCells int64) Lifetime {
	switch {
	case !l.expires():
		l.Retention = rule.Retention(maxCells)
	case l.Timestamp == TimestampShifted:
		l.Default = rule.MaxAge
	}
	return l
}

// EventTimed reports whether cell timestamps are event times. If so, a time range is a
// timestamp range, and writing an event again replaces its cells.
func (l Lifetime) EventTimed() bool { return l.Timestamp == TimestampEvent }

// Dated reports whether the maximum age counts from event times. If so, every cell must have the timestamp of its
// event, and a read may filter by timestamp. If not, programs may write the cells with other timestamps.
func (l Lifetime) Dated() bool {
	return l.EventTimed() && slices.ContainsFunc(l.Retention, func(t Term) bool { return t.MaxAge > 0 })
}

// Micros returns the cell timestamp of an event written at now, in microseconds and a multiple of 1000. expiresAt and
// ttl are the expiry that the event specifies, or zero; ttl counts from now and takes precedence. Micros returns
// [ErrExpired] for an event that has already expired, [ErrNoExpiry] for one that must specify an expiry and does not,
// and [ErrTimeRange] for one that expires after the year 9999.
func (l Lifetime) Micros(now, event, expiresAt time.Time, ttl time.Duration) (int64, error) {
	switch l.Timestamp {
	case TimestampWrite:
		return Micros(now), nil
	case TimestampExpiry, TimestampShifted:
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

// end returns the time at which an event expires.
func (l Lifetime) end(now, expiresAt time.Time, ttl time.Duration) (time.Time, error) {
	switch {
	case ttl < 0:
		return now, &FieldError{Field: "ttl", Value: ttl.String(), Err: ErrExpired}
	case ttl > 0:
		return now.Add(ttl), nil
	case !expiresAt.IsZero():
		return expiresAt, nil
	case l.Timestamp == TimestampShifted:
		return now.Add(l.Default), nil
	}
	return now, &FieldError{Field: "expires_at", Value: showTime(expiresAt), Err: ErrNoExpiry}
}

// shifted returns the cell timestamp of an event that expires at end.
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

// Alive reports whether a cell is live at now. us is its timestamp in microseconds, and
// rank its rank among the cells of its column; the newest has rank 1.
func (l Lifetime) Alive(now time.Time, us int64, rank int) bool {
	if l.expires() {
		return us >= l.oldest(now)
	}
	return l.Retention.Alive(now, us, rank)
}

// Forever reports whether every cell stays live forever.
func (l Lifetime) Forever() bool { return !l.expires() && len(l.Retention) == 0 }

// Fresh returns the time until which the cell with timestamp us stays live regardless of its rank or, if newest is
// set, as the newest cell of its column. It returns the zero time if the rank decides.
func (l Lifetime) Fresh(us int64, newest bool) (until time.Time) {
	if until, ok := l.Expiry(us); ok {
		return until
	}
	return l.Retention.Fresh(us, newest)
}

// Horizon returns the lowest timestamp, in microseconds, at which the newest cell of a column is live.
func (l Lifetime) Horizon(now time.Time) int64 {
	if l.expires() {
		return l.oldest(now)
	}
	return l.Retention.Horizon(now)
}

// Expires returns how long after its timestamp a cell expires; false if the timestamp alone does not determine that.
func (l Lifetime) Expires() (after time.Duration, ok bool) { return l.Default, l.expires() }

// Expiry returns when the cell with timestamp us expires; false if the timestamp alone does not determine that.
func (l Lifetime) Expiry(us int64) (time.Time, bool) {
	if !l.expires() {
		return time.Time{}, false
	}
	return FromMicros(us + l.Default.Microseconds()), true
}

// Windows returns the timestamp ranges that contain exactly the live cells of the
// events in [from, to), like [Retention.Windows]. If timestamps are not event times,
// they cannot select events by time, and the ranges contain all live cells.
func (l Lifetime) Windows(now, from, to time.Time) []Window {
	switch {
	case l.EventTimed():
		return l.Retention.Windows(now, from, to)
	case !from.Before(to):
		return nil
	case l.expires():
		return []Window{{From: l.oldest(now)}}
	}
	return l.Retention.Windows(now, epoch, Forever)
}

// Since returns the time of the oldest event that can be live; false if there is no bound.
func (l Lifetime) Since(now time.Time) (time.Time, bool) {
	if !l.EventTimed() {
		return time.Time{}, false
	}
	return l.Retention.Since(now)
}

// Outlives reports whether, for every event, the cells under l live at least as long as those under o.
func (l Lifetime) Outlives(o Lifetime) bool {
	switch {
	case !l.expires() && len(l.Retention) == 0:
		return true
	case l.expires() && o.expires(): // an event that specifies an expiry specifies it for both
		return l.Timestamp == TimestampExpiry || o.Timestamp == TimestampExpiry || l.Default >= o.Default
	}
	return l.Timestamp == o.Timestamp && l.Retention.Covers(o.Retention)
}

// expires reports whether the timestamp alone determines when a cell expires.
func (l Lifetime) expires() bool {
	return l.Timestamp == TimestampExpiry || l.Timestamp == TimestampShifted
}

// oldest returns the oldest live timestamp: the first whole millisecond after now,
// minus Default. A cell is live until the moment it expires.
func (l Lifetime) oldest(now time.Time) int64 {
	return max(0, Micros(now.Add(-l.Default))+1000)
}

// Oldest returns the time of the oldest event that can be live in any of the families; false if there is no bound.
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
