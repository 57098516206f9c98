package sample

import (
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Event is an example event of the example series.
type Event struct {
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
		if holds(l, t, &e) {
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
	if !t.Pattern.Bucketed() {
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

// holds reports whether the event has a valid key.
func holds(l *layout.Layout, t *layout.Table, e *Event) bool {
	k := keyValuesOf(t)
	k.at, k.sequence = e.Time, e.Sequence
	return keyParts(l, t, k) != nil
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
		e.Values[i] = exampleValue(&l.Fields[i], n, at)
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

// ShowValue formats a value of the field for display: as in a text cell, and bytes in
// hex.
func ShowValue(f *layout.Field, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return hex.EncodeToString(v)
	}
	return string(encode(f, true, v))
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

// encode returns the cell value, as text or binary.
func encode(f *layout.Field, text bool, v any) []byte {
	if text {
		return encodeText(f, v)
	}
	return encodeBinary(f, v)
}

// encodeText returns the cell value as text.
func encodeText(f *layout.Field, v any) []byte {
	switch v := v.(type) {
	case []byte:
		return codec.AppendTextBytes(nil, v)
	case bool:
		return codec.AppendTextBool(nil, v)
	case int64:
		return codec.AppendTextInt64(nil, v)
	case uint64:
		return codec.AppendTextUint64(nil, v)
	case float64:
		if f.Type == schema.Float32 {
			return codec.AppendTextFloat32(nil, float32(v))
		}
		return codec.AppendTextFloat64(nil, v)
	case time.Time:
		return codec.AppendTextTimestamp(nil, v)
	case time.Duration:
		return codec.AppendTextDuration(nil, v)
	case string:
		return encodeName(f, true, v)
	}
	return nil
}

// encodeBinary returns the cell value as binary.
func encodeBinary(f *layout.Field, v any) []byte {
	switch v := v.(type) {
	case []byte:
		return codec.AppendBinaryBytes(nil, v)
	case bool:
		return codec.AppendBinaryBool(nil, v)
	case int64:
		return codec.AppendBinaryInt64(nil, v)
	case uint64:
		return codec.AppendBinaryUint64(nil, v)
	case float64:
		if f.Type == schema.Float32 {
			return codec.AppendBinaryFloat32(nil, float32(v))
		}
		return codec.AppendBinaryFloat64(nil, v)
	case time.Time:
		return codec.AppendBinaryTimestamp(nil, v)
	case time.Duration:
		return codec.AppendBinaryDuration(nil, v)
	case string:
		return encodeName(f, false, v)
	}
	return nil
}

// encodeName is encode for types whose values schemas write as strings.
func encodeName(f *layout.Field, text bool, v string) []byte {
	switch {
	case f.Type == schema.Enum && text:
		return codec.AppendTextEnum(nil, f.Enum, enumNumber(f, v))
	case f.Type == schema.Enum:
		return codec.AppendBinaryEnum(nil, f.Enum, enumNumber(f, v))
	case f.Type == schema.UUID && text:
		return codec.AppendTextUUID(nil, parsedUUID(v))
	case f.Type == schema.UUID:
		return codec.AppendBinaryUUID(nil, parsedUUID(v))
	case text:
		return codec.AppendTextString(nil, v)
	}
	return codec.AppendBinaryString(nil, v)
}

// enumNumber returns the number of an enum's value.
func enumNumber(f *layout.Field, name string) int64 {
	n, _ := f.Enum.Number(name) // always found
	return n
}

// parsedUUID parses the UUID of an example.
func parsedUUID(s string) codec.UUID {
	id, _ := codec.ParseUUID(s) // always valid
	return id
}
