package sample

import (
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Event is an example event of the example series, or of one that it names.
type Event struct {
	Series   []any // one for each of Layout.Series, as package value lists; nil for the example series
	Time     time.Time
	Sequence uint32
	// Values are those of Layout.Fields, typed like Field.Default; nil for absent ones.
	Values []any
	// WrittenAt is the write time.
	WrittenAt time.Time
	// Class, TTL and ExpiresAt are the time to live that the event specifies, if the
	// schema allows it.
	Class     int
	TTL       time.Duration
	ExpiresAt time.Time
}

// writeDelay is the time from an example event to its write.
const writeDelay = 250 * time.Millisecond

// exampleLife is the time to live of example events that must specify one.
const exampleLife = 7 * 24 * time.Hour

// Events returns example events of one series that the table can store: n at
// consecutive times and, if those are all in one bucket, more in the next one. One of
// them lacks its optional fields. If events have a sequence, the first two have the
// same time.
func Events(l *layout.Layout, t *layout.Table, n, more int) []Event {
	first := codec.Truncate(Time(t), l.Precision)
	if first.Before(Time(t)) && t.Pattern.Bucketed() && first.Before(t.Bucket.Min()) {
		first = first.Add(l.Precision)
	}
	step := step(l)
	var out []Event
	add := func(at time.Time, sequence uint32) {
		e := eventAt(l, len(out), at)
		e.Sequence = sequence
		if hasKey(l, t, &e) {
			out = append(out, e)
		}
	}
	at := first
	for i := range n {
		if l.Sequence && i == 1 {
			add(first, 1)
			continue
		}
		add(at, 0)
		at = at.Add(step)
	}
	if !t.Pattern.Bucketed() || t.Endless() {
		for range more {
			add(at, 0)
			at = at.Add(step)
		}
		return out
	}
	if next := t.Bucket.End(first); !at.Add(-step).After(next) {
		next = codec.Ceil(next, l.Precision)
		for i := range more {
			add(next.Add(time.Duration(i)*step), 0)
		}
	}
	return out
}

// hasKey reports whether the event has a valid key.
func hasKey(l *layout.Layout, t *layout.Table, e *Event) bool {
	k := exampleKey(l, t)
	k.At, k.Sequence = &e.Time, &e.Sequence
	_, err := t.Append(nil, k)
	return err == nil
}

// step returns the time between two events: that of the load, as a multiple of the
// precision.
func step(l *layout.Layout) time.Duration {
	interval := min(1/l.Load().Rate, (365 * 24 * time.Hour).Seconds())
	steps := math.Round(interval * float64(time.Second) / float64(l.Precision))
	return time.Duration(max(1, steps)) * l.Precision
}

// eventAt returns the n-th example.
func eventAt(l *layout.Layout, n int, at time.Time) Event {
	e := Event{Time: at, WrittenAt: at.Add(writeDelay), Values: make([]any, len(l.Fields))}
	for i := range l.Fields {
		e.Values[i] = Value(&l.Fields[i], n, at)
	}
	if n == 1 {
		leaveOut(l, &e)
	}
	if len(l.Classes) > 0 {
		e.Class = 1 + n%len(l.Classes)
	}
	switch {
	case l.MayExpire():
		e.TTL = ttlOf(l, n)
	case l.MustExpire():
		e.ExpiresAt = e.WrittenAt.Add(exampleLife)
	}
	return e
}

// leaveOut removes the optional values of an event, except for one if there are no
// others.
func leaveOut(l *layout.Layout, e *Event) {
	all := !slices.ContainsFunc(l.Fields, func(f layout.Field) bool { return !f.Optional })
	for i, f := range l.Fields {
		if f.Optional && !(all && i == 0) {
			e.Values[i] = nil
		}
	}
}

// ttlOf returns the time to live that the n-th event specifies: none for the first, if
// allowed, and less or more than the default for the others.
func ttlOf(l *layout.Layout, n int) time.Duration {
	var usual time.Duration
	l.AnyFamily(func(f *layout.Family) bool {
		usual = max(usual, f.Life.Default)
		return false
	})
	switch {
	case n%3 == 1:
		return max(time.Second, usual/2)
	case n%3 == 2:
		return min(2*usual, layout.MaxDefault)
	case l.MustExpire():
		return usual
	}
	return 0
}

// ShowValue formats a value of the field for display on one line: as in a text cell, with Go
// escapes for what is not printable, and bytes in hex.
func ShowValue(f *layout.Field, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return hex.EncodeToString(v)
	}
	return words.Printable(string(value.Append(nil, f, codec.TextValues, v)))
}

// ShowEvent formats the values of an event for display.
func ShowEvent(l *layout.Layout, e *Event) string {
	var parts []string
	for i, v := range e.Values {
		if v != nil {
			parts = append(parts, l.Fields[i].Name+" "+ShowValue(&l.Fields[i], v))
		}
	}
	return strings.Join(parts, ", ")
}
