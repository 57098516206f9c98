package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"
)

// Offset writes when an event is as the time since the start of its bucket, in
// the fewest bytes that hold every instant of a bucket, big-endian, so that byte
// order is the order of time. A sequence number of 4 bytes may follow, for events
// of one time.
type Offset struct {
	Bucket    Bucket
	Precision time.Duration // what offsets are counted in; at least a microsecond
	Sequence  bool          // whether a sequence number follows
}

// sequenceBytes is the length of a sequence number in binary.
const sequenceBytes = 4

// Slots returns how many instants the widest bucket has.
func (o Offset) Slots() int64 { return int64(o.Bucket.Widest() / o.Precision) }

// Width returns the bytes of an offset, without a sequence number.
func (o Offset) Width() int { return max(1, (bits.Len64(uint64(o.Slots()-1))+7)/8) }

// Append appends the offset of t, rounded down to the precision, and the sequence
// number if there is one.
func (o Offset) Append(dst []byte, t time.Time, sequence uint32) []byte {
	dst = o.append(dst, int64(t.Sub(o.Bucket.Start(t))/o.Precision))
	if o.Sequence {
		dst = binary.BigEndian.AppendUint32(dst, sequence)
	}
	return dst
}

// append appends a number of steps.
func (o Offset) append(dst []byte, steps int64) []byte {
	for shift := 8 * (o.Width() - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(steps>>shift))
	}
	return dst
}

// Parse returns the time and the sequence number that [Offset.Append] wrote for
// an event of the bucket with the given start. The error wraps [ErrTime].
func (o Offset) Parse(start time.Time, qualifier string) (t time.Time, sequence uint32, err error) {
	width := o.Width()
	want := width
	if o.Sequence {
		want += sequenceBytes
	}
	if len(qualifier) != want {
		return time.Time{}, 0, fmt.Errorf("%w: %q is not the time within a bucket in %d bytes", ErrTime, qualifier, want)
	}
	var steps int64
	for i := range width {
		steps = steps<<8 | int64(qualifier[i])
	}
	if o.Sequence {
		sequence = binary.BigEndian.Uint32([]byte(qualifier[width:]))
	}
	if steps < o.Slots() {
		t = start.Add(time.Duration(steps) * o.Precision)
	}
	if t.IsZero() || !t.Before(o.Bucket.End(start)) {
		return time.Time{}, 0, fmt.Errorf("%w: %q is after the end of the bucket", ErrTime, qualifier)
	}
	return t, sequence, nil
}

// Range returns the qualifiers of the events in [from, to) of the bucket with the
// given start: from begin up to but without end; an empty end has no bound. Whether
// the events of the whole bucket are in the range it says by all.
func (o Offset) Range(start, from, to time.Time) (begin, end string, all bool) {
	all = true
	if from.After(start) {
		begin, all = string(o.append(nil, steps(from.Sub(start), o.Precision))), false
	}
	if to.Before(o.Bucket.End(start)) {
		end, all = string(o.append(nil, steps(to.Sub(start), o.Precision))), false
	}
	return begin, end, all
}

// steps counts steps of precision, rounded up.
func steps(d, precision time.Duration) int64 {
	return int64((d + precision - 1) / precision)
}
