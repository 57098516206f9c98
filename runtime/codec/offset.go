package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"
)

// Offset encodes the time of an event relative to the start of its bucket: big-endian, in the fewest bytes that fit
// every instant of a bucket, so that bytes sort in order of time. A sequence number of 4 bytes may follow to
// distinguish events of the same time.
type Offset struct {
	Bucket    Bucket
	Precision time.Duration // the unit of offsets; at least a microsecond
	Sequence  bool          // whether a sequence number follows the offset
}

// sequenceBytes is the length of a sequence number in binary.
const sequenceBytes = 4

// Slots returns the number of distinct times in the widest bucket.
func (o Offset) Slots() int64 { return int64(o.Bucket.Widest() / o.Precision) }

// Width returns the number of bytes of an offset, without the sequence number.
func (o Offset) Width() int { return max(1, (bits.Len64(uint64(o.Slots()-1))+7)/8) }

// Append appends the offset of t, rounded down to the precision, and the sequence number if o.Sequence is set.
func (o Offset) Append(dst []byte, t time.Time, sequence uint32) []byte {
	dst = o.append(dst, int64(t.Sub(o.Bucket.Start(t))/o.Precision))
	if o.Sequence {
		dst = binary.BigEndian.AppendUint32(dst, sequence)
	}
	return dst
}

// append appends an offset of the given number of steps.
func (o Offset) append(dst []byte, steps int64) []byte {
	return appendBig(dst, uint64(steps), o.Width())
}

// OffsetsIn parses the qualifiers of one bucket.
type OffsetsIn struct {
	start     int64 // the first time of the bucket, in microseconds since the Unix epoch
	width     int
	end       int64 // the number of steps in the bucket
	precision int64 // in microseconds
	sequence  bool
}

// In returns a parser for the qualifiers of the bucket with the given start.
func (o Offset) In(start time.Time) OffsetsIn {
	slots := min(o.Slots(), int64((o.Bucket.End(start).Sub(start)+o.Precision-1)/o.Precision))
	return OffsetsIn{start: o.first(start).UnixMicro(), width: o.Width(), end: slots, precision: o.Precision.Microseconds(), sequence: o.Sequence}
}

// Parse returns the time, in microseconds since the Unix epoch, and the sequence number of a qualifier that
// [Offset.Append] wrote for an event of this bucket. It returns false for every other qualifier.
func (o *OffsetsIn) Parse(qualifier []byte) (micros int64, sequence uint32, ok bool) {
	offset := qualifier
	if o.sequence {
		if len(qualifier) != o.width+sequenceBytes {
			return 0, 0, false
		}
		offset, sequence = qualifier[:o.width], binary.BigEndian.Uint32(qualifier[o.width:])
	}
	if len(offset) != o.width {
		return 0, 0, false
	}
	steps := parseBig(offset)
	return o.start + int64(steps)*o.precision, sequence, steps < uint64(o.end)
}

// Refuse returns the error for a qualifier that Parse rejects. It wraps [ErrTimeRange].
func (o *OffsetsIn) Refuse(qualifier []byte) error {
	want := o.width
	if o.sequence {
		want += sequenceBytes
	}
	if len(qualifier) != want {
		return fmt.Errorf("%w: %q is not an offset of %d bytes%s", ErrTimeRange, qualifier, want, editedOffset)
	}
	return fmt.Errorf("%w: %q is after the end of the bucket", ErrTimeRange, qualifier)
}

// Range returns the half-open qualifier range [begin, end) of the events in [from, to), for the bucket with the given
// start. An empty end is unbounded. all reports whether the range contains every event of the bucket.
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

// first returns the earliest event time in the bucket with the given start. Times are
// multiples of the precision; a bucket may start between two of them.
func (o Offset) first(start time.Time) time.Time { return Ceil(start, o.Precision) }

// bound returns the first qualifier at the given number of steps, or one after all
// others if that is past the end of the bucket.
func (o Offset) bound(steps int64) string {
	if steps >= o.Slots() {
		return string(o.append(nil, o.Slots()-1)) + "\xff\xff\xff\xff\xff"
	}
	return string(o.append(nil, steps))
}

// steps returns d in units of precision, rounded up.
func steps(d, precision time.Duration) int64 {
	return int64((d + precision - 1) / precision)
}
