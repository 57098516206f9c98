package codec

import (
	"encoding/binary"
	"math"
)

// Order is how the values of a [Coding] sort as bytes.
type Order int

const (
	Unordered     Order = iota // other than the values
	BytesOrder                 // like the values
	IntegerOrder               // big-endian two's complement: negative numbers follow the others
	FloatingOrder              // big-endian IEEE 754: negative numbers follow the others, in descending order
)

// ValueRange is a range of encoded values: from Start until before End. An empty End means that there is no end.
type ValueRange struct{ Start, End string }

// Contains reports whether a datum is in the range.
func (r ValueRange) Contains(datum []byte) bool {
	return string(datum) >= r.Start && (r.End == "" || string(datum) < r.End)
}

// OneValue returns the range of a single encoded value.
func OneValue(v []byte) ValueRange { return ValueRange{string(v), string(v) + "\x00"} }

// Between returns the ranges of the encoded values from low until before high, at most two. It
// returns false if high is less than low, or if one of them is NaN or the order is Unordered.
// For numbers, low and high must have the same width.
func (o Order) Between(low, high []byte) (ranges []ValueRange, ok bool) {
	switch o {
	case BytesOrder:
		switch {
		case string(high) < string(low):
			return nil, false
		case string(low) == string(high):
			return nil, true
		}
		return []ValueRange{{string(low), string(high)}}, true
	case IntegerOrder:
		return integersBetween(low, high)
	case FloatingOrder:
		return floatsBetween(low, high)
	}
	return nil, false
}

// integersBetween is Between for IntegerOrder.
func integersBetween(low, high []byte) (ranges []ValueRange, ok bool) {
	fromNegative, toNegative := low[0]>>7 == 1, high[0]>>7 == 1
	if fromNegative == toNegative {
		return BytesOrder.Between(low, high)
	}
	if toNegative {
		return nil, false
	}
	if zero := make([]byte, len(high)); string(high) != string(zero) {
		ranges = append(ranges, ValueRange{string(zero), string(high)})
	}
	return append(ranges, ValueRange{Start: string(low)}), true
}

// floatsBetween is Between for FloatingOrder. Zero and negative zero are equal. No NaN is in the ranges.
func floatsBetween(low, high []byte) (ranges []ValueRange, ok bool) {
	from, to := floatOf(low), floatOf(high)
	switch {
	case !(from <= to):
		return nil, false
	case from == to:
		return nil, true
	}
	width := len(low)
	negativeZero := make([]byte, width)
	negativeZero[0] = 0x80
	if to > 0 {
		start := low
		if from <= 0 {
			start = make([]byte, width)
		}
		ranges = append(ranges, ValueRange{string(start), string(high)})
	}
	if from > 0 {
		return ranges, true
	}
	start := negativeZero
	switch {
	case to == 0:
		start = nextNumber(negativeZero)
	case to < 0:
		start = nextNumber(high)
	}
	end := negativeZero
	if from < 0 {
		end = low
	}
	return append(ranges, ValueRange{string(start), string(nextNumber(end))}), true
}

// floatOf decodes a float of 4 or 8 bytes.
func floatOf(b []byte) float64 {
	if len(b) == 4 {
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// nextNumber returns the next number of the same width. There is one after each float.
func nextNumber(b []byte) []byte {
	out := append([]byte(nil), b...)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i]++; out[i] != 0 {
			break
		}
	}
	return out
}
