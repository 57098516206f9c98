package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Points says whether the columns of a table are those of OpenTSDB, and the type of their
// values.
//
// The qualifier of a data point has the time since the start of the hour, a bit for
// floating-point values, and the length of the value. OpenTSDB later replaces the cells of
// an hour by one, whose qualifier and value are those of all points, followed by a byte; or
// it appends pairs of qualifiers and values to one cell.
type Points byte

// The types of the values of data points. In codings and cells of events, a value has the
// 8 bytes of [Binary].
const (
	NoPoints      Points = iota // the columns are not those of OpenTSDB
	IntegerPoints               // int64
	FloatPoints                 // float64; integers beyond 2^53 are errors
)

// PointBucket is the width of the buckets of data points.
const PointBucket = time.Hour

// The flags in the last 4 bits of a qualifier: a bit for floating-point values, and the
// length of the value minus 1.
const (
	floatFlag  = 0x8
	lengthMask = 0x7
	flagsMask  = floatFlag | lengthMask
)

// pointFlags are all valid flags.
var pointFlags = [...]byte{0, 1, 3, 7, floatFlag | 3, floatFlag | 7}

// PointForms is the number of qualifiers that a data point may have, one for each type and
// length of its value.
const PointForms = len(pointFlags)

// The first bytes of qualifiers of odd length.
const (
	annotationPrefix = 1
	appendPrefix     = 5
	histogramPrefix  = 6
)

// millisecondFlag is set in the first byte of qualifiers with milliseconds, which have 4
// bytes; others have 2 bytes, and seconds.
const millisecondFlag = 0xf0

// AppendPoint appends the qualifier and the value of the cell in which OpenTSDB stores a
// data point: its time in seconds if they are whole, or else in milliseconds, and an integer
// in the fewest bytes, or a floating-point number in 4 bytes if they hold it exactly, or
// else in 8. The datum is that of [Binary].
func (o Offset) AppendPoint(qualifier, value []byte, t time.Time, datum []byte) (q, v []byte) {
	bits := binary.BigEndian.Uint64(datum)
	flags := byte(7)
	switch n := int64(bits); {
	case o.Points == FloatPoints:
		f := math.Float64frombits(bits)
		if flags |= floatFlag; float64(float32(f)) == f {
			flags, bits = floatFlag|3, uint64(math.Float32bits(float32(f)))
		}
	case n == int64(int8(n)):
		flags = 0
	case n == int64(int16(n)):
		flags = 1
	case n == int64(int32(n)):
		flags = 3
	}
	for shift := 8 * int(flags&lengthMask); shift >= 0; shift -= 8 {
		value = append(value, byte(bits>>shift))
	}
	return o.appendPoint(qualifier, t, flags), value
}

// AppendPointForm appends one of the [PointForms] qualifiers that a data point may have.
func (o Offset) AppendPointForm(qualifier []byte, t time.Time, form int) []byte {
	return o.appendPoint(qualifier, t, pointFlags[form])
}

// appendPoint appends the qualifier of a data point.
func (o Offset) appendPoint(qualifier []byte, t time.Time, flags byte) []byte {
	since := t.Sub(o.Bucket.Start(t))
	if since%time.Second == 0 {
		return binary.BigEndian.AppendUint16(qualifier, uint16(since/time.Second)<<4|uint16(flags))
	}
	return binary.BigEndian.AppendUint32(qualifier, millisecondFlag<<24|uint32(since/time.Millisecond)<<6|uint32(flags))
}

// Point is a data point of a cell.
type Point struct {
	Micros int64  // its time in microseconds since the Unix epoch
	Bits   uint64 // its value, as the datum in big-endian
	Err    error  // why it cannot be decoded; nil if it can. It wraps [ErrValue] or [ErrTimeRange]
}

// PointsIn decodes the cells of one bucket.
type PointsIn struct {
	start  int64 // in microseconds since the Unix epoch
	points Points
}

// PointsIn returns a decoder for the cells of the bucket with the given start.
func (o Offset) PointsIn(start time.Time) PointsIn {
	return PointsIn{start: start.UnixMicro(), points: o.Points}
}

// HasPoints reports whether a column has data points; false for annotations and histograms.
// For columns that are none of these, it returns true, and Append an error.
func (in *PointsIn) HasPoints(qualifier []byte) bool {
	n := len(qualifier)
	return n != 3 && n != 5 || qualifier[0] != annotationPrefix && qualifier[0] != histogramPrefix
}

// Append appends the data points of a cell, in the order in which the cell has them. Those of
// an equal time replace earlier ones. For a cell that it cannot split, Append returns dst and
// an error that wraps [ErrValue].
func (in *PointsIn) Append(dst []Point, qualifier, value []byte) ([]Point, error) {
	switch n := len(qualifier); {
	case n == 2:
		return in.single(dst, qualifier, value)
	case n == 3 && qualifier[0] == appendPrefix:
		return in.appended(dst, value)
	case n == 0 || n%2 != 0:
		return dst, fmt.Errorf("%w: %q is not a column of OpenTSDB", ErrValue, qualifier)
	case n == pointQualifier(qualifier):
		if len(value) != pointLength(qualifier) {
			return dst, errPointLength(qualifier, value)
		}
		return append(dst, in.point(qualifier, value)), nil
	}
	return in.compacted(dst, qualifier, value)
}

// single appends the data point of a cell with 2 bytes in its qualifier. As in OpenTSDB, the
// length of the value counts, since old versions stored another one in the flags, and four
// zeros before floating-point numbers of 4 bytes.
func (in *PointsIn) single(dst []Point, qualifier, value []byte) ([]Point, error) {
	flags := qualifier[1] & flagsMask
	if flags == floatFlag|3 && len(value) == 8 {
		if binary.BigEndian.Uint32(value) != 0 {
			return dst, errPointLength(qualifier, value)
		}
		value = value[4:]
	}
	if len(value) == 0 || len(value) > 8 {
		return dst, errPointLength(qualifier, value)
	}
	fixed := [2]byte{qualifier[0], qualifier[1]&^lengthMask | byte(len(value)-1)}
	return append(dst, in.point(fixed[:], value)), nil
}

// compacted appends the data points of a cell with several.
func (in *PointsIn) compacted(dst []Point, qualifiers, values []byte) ([]Point, error) {
	all, rest := dst, values
	for q := qualifiers; len(q) > 0; {
		n := pointQualifier(q)
		if n > len(q) || pointLength(q) > len(rest) {
			return dst, errCompacted(qualifiers, values)
		}
		all = append(all, in.point(q[:n], rest[:pointLength(q)]))
		q, rest = q[n:], rest[pointLength(q):]
	}
	if len(rest) != 1 || rest[0] > 1 { // 1 if it has both seconds and milliseconds
		return dst, errCompacted(qualifiers, values)
	}
	return all, nil
}

// appended appends the data points of a cell that consists of qualifiers and values.
func (in *PointsIn) appended(dst []Point, pairs []byte) ([]Point, error) {
	all := dst
	for rest := pairs; len(rest) > 0; {
		n := pointQualifier(rest)
		if n > len(rest) || n+pointLength(rest) > len(rest) {
			return dst, fmt.Errorf("%w: the %d bytes of a column of appended points end within a point", ErrValue, len(pairs))
		}
		end := n + pointLength(rest)
		all = append(all, in.point(rest[:n], rest[n:end]))
		rest = rest[end:]
	}
	return all, nil
}

// pointQualifier returns the length of the first qualifier.
func pointQualifier(qualifiers []byte) int {
	if qualifiers[0]&millisecondFlag == millisecondFlag {
		return 4
	}
	return 2
}

// pointLength returns the length of the value of the first qualifier; 0 if that is not
// complete.
func pointLength(qualifiers []byte) int {
	n := pointQualifier(qualifiers)
	if n > len(qualifiers) {
		return 0
	}
	return int(qualifiers[n-1]&lengthMask) + 1
}

// point decodes a data point, given its own qualifier and value.
func (in *PointsIn) point(qualifier, value []byte) (p Point) {
	var micros int64
	if len(qualifier) == 2 {
		micros = int64(binary.BigEndian.Uint16(qualifier)>>4) * time.Second.Microseconds()
	} else {
		micros = int64(binary.BigEndian.Uint32(qualifier)<<4>>10) * time.Millisecond.Microseconds()
	}
	p.Micros = in.start + micros
	switch {
	case micros >= PointBucket.Microseconds():
		p.Err = fmt.Errorf("%w: a data point is after the end of the hour of its row", ErrTimeRange)
	default:
		p.Bits, p.Err = in.value(qualifier[len(qualifier)-1]&floatFlag != 0, value)
	}
	return p
}

// value decodes a value.
func (in *PointsIn) value(float bool, value []byte) (bits uint64, err error) {
	var n int64
	switch len(value) {
	case 1:
		n = int64(int8(value[0]))
	case 2:
		n = int64(int16(binary.BigEndian.Uint16(value)))
	case 4:
		n = int64(int32(binary.BigEndian.Uint32(value)))
	case 8:
		n = int64(binary.BigEndian.Uint64(value))
	}
	switch {
	case len(value) != 8 && len(value) != 4 && (float || len(value) != 2 && len(value) != 1):
		return 0, fmt.Errorf("%w: a data point has a value of %d bytes", ErrValue, len(value))
	case in.points == IntegerPoints && float:
		return 0, fmt.Errorf("%w: %w: a data point is a floating-point number, and the field an int64", ErrValue, ErrInexact)
	case in.points == IntegerPoints:
		return uint64(n), nil
	case !float:
		f, err := ExactFloat64(n)
		return math.Float64bits(f), err
	case len(value) == 4:
		return math.Float64bits(float64(math.Float32frombits(uint32(n)))), nil
	}
	return uint64(n), nil
}

// errPointLength is the error for a value that has another length than its qualifier says.
func errPointLength(qualifier, value []byte) error {
	return fmt.Errorf("%w: the column %q of a data point has a value of %d bytes", ErrValue, qualifier, len(value))
}

// errCompacted is the error for a cell with several data points that cannot be split.
func errCompacted(qualifiers, values []byte) error {
	return fmt.Errorf("%w: the %d bytes of a value are not those of the points that the %d bytes of its column name", ErrValue, len(values), len(qualifiers))
}
