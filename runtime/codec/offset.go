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

// OffsetsIn reads the qualifiers of one bucket.
type OffsetsIn struct {
	start     int64 // the first time of the bucket, in microseconds since 1970
	width     int
	end       int64 // how many steps the bucket has
	precision int64 // in microseconds
	sequence  bool
}

// In returns how to read the qualifiers of the bucket with the given start.
func (o Offset) In(start time.Time) OffsetsIn {
	slots := min(o.Slots(), int64((o.Bucket.End(start).Sub(start)+o.Precision-1)/o.Precision))
	return OffsetsIn{start: o.first(start).UnixMicro(), width: o.Width(), end: slots, precision: o.Precision.Microseconds(), sequence: o.Sequence}
}

// Parse returns the time, in microseconds since 1970, and the sequence number that
// [Offset.Append] wrote for an event of the bucket. The error wraps [ErrTimeRange].
func (o OffsetsIn) Parse(qualifier []byte) (micros int64, sequence uint32, err error) {
	want := o.width
	if o.sequence {
		want += sequenceBytes
	}
	if len(qualifier) != want {
		return 0, 0, fmt.Errorf("%w: %q is not the time within a bucket in %d bytes", ErrTimeRange, qualifier, want)
	}
	var steps int64
	for _, b := range qualifier[:o.width] {
		steps = steps<<8 | int64(b)
	}
	if o.sequence {
		sequence = binary.BigEndian.Uint32(qualifier[o.width:])
	}
	if steps < 0 || steps >= o.end {
		return 0, 0, fmt.Errorf("%w: %q is after the end of the bucket", ErrTimeRange, qualifier)
	}
	return o.start + steps*o.precision, sequence, nil
}

// Range returns the qualifiers of the events in [from, to) of the bucket with the
// given start: from begin up to but without end; an empty end has no bound. Whether
// the events of the whole bucket are in the range it says by all.
func (o Offset) Range(start, from, to time.Time) (begin, end string, all bool) {
	all = true
	first := o.first(start)
	if from.After(first) {
		begin, all = o.bound(steps(from.Sub(first), o.Precision)), false
	}
	if n := steps(to.Sub(first), o.Precision); to.Before(o.Bucket.End(start)) && n < o.Slots() {
		end, all = o.bound(n), false
	}
	return begin, end, all
}

// first returns the first time that an event of the bucket with the given start can
// have: times are multiples of the precision, and buckets may begin between them.
func (o Offset) first(start time.Time) time.Time { return Ceil(start, o.Precision) }

// bound returns the first qualifier of so many steps. Past the end of the bucket
// that is one after all others.
func (o Offset) bound(steps int64) string {
	if steps >= o.Slots() {
		return string(o.append(nil, o.Slots()-1)) + "\xff\xff\xff\xff\xff"
	}
	return string(o.append(nil, steps))
}

// steps counts steps of precision, rounded up.
func steps(d, precision time.Duration) int64 {
	return int64((d + precision - 1) / precision)
}
