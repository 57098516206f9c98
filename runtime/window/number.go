package window

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"reflect"
	"time"
)

// ErrOverflow is the error of a sum of integers that int64 cannot represent.
var ErrOverflow = errors.New("the sum exceeds int64")

// Integer lists the integers that fields have. Durations are counted in nanoseconds.
type Integer interface {
	~int32 | ~int64 | ~uint32 | ~uint64
}

// Float lists the floating-point numbers that fields have.
type Float interface{ ~float32 | ~float64 }

// Values summarizes the values of a field in a window, which need not be numbers.
type Values[T any] struct {
	Count               int64 // number of events that have the field
	First, Last         T     // in order of time
	FirstTime, LastTime time.Time
}

// Int summarizes the values of an integer field in a window. Without values, all of it is zero.
type Int[T Integer] struct {
	Values[T]
	Min, Max T

	sum      int128
	increase int128 // of a counter
	entry    entry

	// Of a filled window: its mean, and the mean rounded to an integer.
	mean    float64
	rounded T
}

// Float64 summarizes the values of a floating-point field in a window. Without values, all of it is
// zero. NaN counts as a value: First, Last, Sum and Mean can be NaN, Min and Max only if all values
// are. Sums of infinities and of -0 are those of IEEE 754.
type Float64[T Float] struct {
	Values[T]
	Min, Max T

	sum      float64
	increase float64
	entry    entry
	mean     float64 // of a filled window
}

// entry is where the increase of a window begins: with the last value before it, if that is known.
type entry struct {
	from  time.Time // of that value
	known bool
}

// since returns the time from which an increase counts, given that of the first value in the window.
func (e entry) since(first time.Time) time.Time {
	if e.known {
		return e.from
	}
	return first
}

// combine returns the entry of the windows of two series with values, given the times of their first ones.
func (e entry) combine(first time.Time, o entry, oFirst time.Time) entry {
	if !e.known && !o.known {
		return entry{}
	}
	return entry{earlier(e.since(first), o.since(oFirst)), true}
}

// Sum returns the sum of the values; [ErrOverflow] if int64 cannot represent it. See [Int.BigSum].
func (s *Int[T]) Sum() (int64, error) { return s.sum.int64() }

// BigSum returns the exact sum of the values.
func (s *Int[T]) BigSum() *big.Int { return s.sum.big() }

// Mean returns the arithmetic mean of the values, rounded once; NaN without values. In a filled
// window, it is the filled value.
func (s *Int[T]) Mean() float64 {
	if s.Count == 0 {
		return meanOf(0, 0, s.mean, s.filled())
	}
	const exact = 1 << 53 // float64 represents all integers up to this
	if sum, err := s.sum.int64(); err == nil && -exact <= sum && sum <= exact && s.Count <= exact {
		return float64(sum) / float64(s.Count)
	}
	mean, _ := s.exactMean().Float64()
	return mean
}

// RoundedMean returns the exact mean of the values, rounded to an integer, half away from zero; 0
// without values. In a filled window, it is the filled value.
func (s *Int[T]) RoundedMean() T {
	if s.Count == 0 {
		return s.rounded
	}
	return rounded[T](s.exactMean())
}

// exactMean returns the mean of the values, of which there are some.
func (s *Int[T]) exactMean() *big.Rat {
	return new(big.Rat).SetFrac(s.sum.big(), big.NewInt(s.Count))
}

// Increase returns by how much a counter has increased since the last value before the window that the
// read has found or, if there is none, since the first one in it, up to the last value, rounded once. A
// value that is smaller than the one before it is a counter that was reset to 0, also if that one is in
// an earlier window. So the increases of adjacent windows add up to that of all of them. See [Int.BigIncrease].
func (s *Int[T]) Increase() float64 { return s.increase.float64() }

// BigIncrease returns the exact increase.
func (s *Int[T]) BigIncrease() *big.Int { return s.increase.big() }

// Since returns the time from which Increase counts: that of the last value before the window that the
// read has found or, if there is none, FirstTime.
func (s *Int[T]) Since() time.Time { return s.entry.since(s.FirstTime) }

// Rate returns the increase per second from Since to LastTime; NaN if these are equal, as with one event
// and none before it.
func (s *Int[T]) Rate() float64 { return rate(s.Increase(), s.Since(), s.LastTime) }

// Sum returns the sum of the values, added in order of time, and rounded each time: by cell, if the fold
// has [Options].Cells, as tables with a rollup do.
func (s *Float64[T]) Sum() float64 { return s.sum }

// Mean returns the arithmetic mean of the values; NaN without values. In a filled window, it is the filled value.
func (s *Float64[T]) Mean() float64 { return meanOf(s.sum, s.Count, s.mean, s.filled()) }

// Increase is like [Int.Increase], but rounded as [Float64.Sum] is. It is NaN if any value is. Equal values, such as
// two of +Inf, increase by 0; other increases from and to infinities are infinite, and their sum is that of IEEE 754.
func (s *Float64[T]) Increase() float64 { return s.increase }

// Since is like [Int.Since].
func (s *Float64[T]) Since() time.Time { return s.entry.since(s.FirstTime) }

// Rate is like [Int.Rate].
func (s *Float64[T]) Rate() float64 { return rate(s.increase, s.Since(), s.LastTime) }

// filled reports whether the values are filled ones.
func (s *Values[T]) filled() bool { return s.Count == 0 && !s.LastTime.IsZero() }

func meanOf(sum float64, n int64, filled float64, isFilled bool) float64 {
	switch {
	case n > 0:
		return sum / float64(n)
	case isFilled:
		return filled
	}
	return math.NaN()
}

// rate returns the increase per second. It does not use time.Duration, which holds at most 292 years.
func rate(increase float64, first, last time.Time) float64 {
	seconds, nanos := last.Unix()-first.Unix(), last.Nanosecond()-first.Nanosecond()
	if nanos < 0 {
		seconds, nanos = seconds-1, nanos+1e9
	}
	if all := float64(seconds) + float64(nanos)/1e9; all > 0 {
		return increase / all
	}
	return math.NaN()
}

// add folds values, in order of time, that follow those before. times and values have the same, positive length.
func (s *Values[T]) add(times []time.Time, values []T) {
	if s.Count == 0 {
		s.First, s.FirstTime = values[0], times[0]
	}
	n := len(values)
	s.Last, s.LastTime = values[n-1], times[n-1]
	s.Count += int64(n)
}

// add is written out, because it is called for each value of each event.
func (s *Int[T]) add(times []time.Time, values []T) {
	if s.Count == 0 {
		s.Min, s.Max, s.Last = values[0], values[0], values[0]
	}
	lowest, highest, last, sum, increase := s.Min, s.Max, s.Last, s.sum, s.increase
	for _, v := range values {
		value, sign := uint64(v), int64(0)
		if v < 0 {
			sign = -1
		}
		var carry uint64
		sum.lo, carry = bits.Add64(sum.lo, value, 0)
		sum.hi += sign + int64(carry)
		if v >= last {
			value, sign = value-uint64(last), 0
		}
		increase.lo, carry = bits.Add64(increase.lo, value, 0)
		increase.hi += sign + int64(carry)
		lowest, highest, last = min(lowest, v), max(highest, v), v
	}
	s.Min, s.Max, s.sum, s.increase = lowest, highest, sum, increase
	s.Values.add(times, values)
}

func (s *Float64[T]) add(times []time.Time, values []T) {
	if s.Count == 0 {
		s.Min, s.Max, s.Last = values[0], values[0], values[0]
		s.sum = math.Copysign(0, -1) // the sum of nothing, to which -0 adds -0
	}
	lowest, highest, last, sum, increase := s.Min, s.Max, s.Last, s.sum, s.increase
	for _, v := range values {
		sum += float64(v)
		switch {
		case v > last:
			increase += float64(v) - float64(last)
		case v != last:
			increase += float64(v)
		}
		if v < lowest || lowest != lowest {
			lowest = v
		}
		if v > highest || highest != highest {
			highest = v
		}
		last = v
	}
	s.Min, s.Max, s.sum, s.increase = lowest, highest, sum, increase
	s.Values.add(times, values)
}

// none reports whether there are no values.
func (s *Values[T]) none() bool { return s.Count == 0 }

// between returns the values of a filled window, since only numbers have values on a line.
func (s *Values[T]) between(*Values[T], share) Values[T] { return s.previous() }

// combine adds the values of another series in the same window.
func (s *Values[T]) combine(o *Values[T]) {
	s.combineBy(o, func(a, b T) int { return compare(reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()) })
}

// combineBy is combine, given how values compare. Of values at the same instant, the least is the first
// and the greatest the last, so that the result does not depend on the order in which series come.
func (s *Values[T]) combineBy(o *Values[T], compare func(a, b T) int) {
	switch {
	case o.Count == 0:
		return
	case s.Count == 0:
		*s = *o
		return
	}
	if at := o.FirstTime.Compare(s.FirstTime); at < 0 || at == 0 && compare(o.First, s.First) < 0 {
		s.First, s.FirstTime = o.First, o.FirstTime
	}
	if at := o.LastTime.Compare(s.LastTime); at > 0 || at == 0 && compare(o.Last, s.Last) > 0 {
		s.Last, s.LastTime = o.Last, o.LastTime
	}
	s.Count += o.Count
}

// compare compares two values of one type: numbers and times by size, texts and bytes by their bytes,
// and false before true. Other types, which fields do not have, are all equal.
func compare(a, b reflect.Value) int {
	switch a.Kind() {
	case reflect.Bool:
		return compareBool(a.Bool(), b.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return cmp.Compare(a.Int(), b.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Slice:
		if a.Type().Elem().Kind() == reflect.Uint8 {
			return bytes.Compare(a.Bytes(), b.Bytes())
		}
	case reflect.Array: // which may have no address
		for i := range a.Len() {
			if order := compare(a.Index(i), b.Index(i)); order != 0 {
				return order
			}
		}
	case reflect.Struct:
		if a, ok := a.Interface().(time.Time); ok {
			return a.Compare(b.Interface().(time.Time))
		}
	}
	return 0
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareFloats compares numbers, -0 before 0, and NaN before all others.
func compareFloats[T Float](a, b T) int {
	if a == 0 && b == 0 {
		return compareBool(!math.Signbit(float64(a)), !math.Signbit(float64(b)))
	}
	return cmp.Compare(a, b)
}

func (s *Int[T]) combine(o *Int[T]) {
	if o.Count == 0 {
		return
	}
	if s.Count == 0 {
		s.Min, s.Max = o.Min, o.Max
	}
	s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max)
	s.sum.add(o.sum)
	s.increase.add(o.increase)
	if s.Count == 0 {
		s.entry = o.entry
	} else {
		s.entry = s.entry.combine(s.FirstTime, o.entry, o.FirstTime)
	}
	s.combineBy(&o.Values, cmp.Compare[T])
}

func (s *Float64[T]) combine(o *Float64[T]) {
	if o.Count == 0 {
		return
	}
	if s.Count == 0 {
		*s = *o
		return
	}
	switch {
	case o.Min != o.Min: // all of its values are NaN
	case s.Min != s.Min:
		s.Min, s.Max = o.Min, o.Max
	default:
		s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max) // -0 is less than 0
	}
	s.sum += o.sum
	s.increase += o.increase
	s.entry = s.entry.combine(s.FirstTime, o.entry, o.FirstTime)
	s.combineBy(&o.Values, compareFloats[T])
}

// follow adds the values of a later window of the same series.
func (s *Values[T]) follow(later *Values[T]) {
	switch {
	case later.Count == 0:
	case s.Count == 0:
		*s = *later
	default:
		s.Count += later.Count
		s.Last, s.LastTime = later.Last, later.LastTime
	}
}

func (s *Int[T]) follow(later *Int[T]) {
	switch {
	case later.Count == 0:
		return
	case s.Count == 0:
		*s = *later
		return
	}
	s.Min, s.Max = min(s.Min, later.Min), max(s.Max, later.Max)
	s.sum.add(later.sum)
	s.increase.add(step(s.Last, later.First))
	s.increase.add(later.increase)
	s.Values.follow(&later.Values)
}

// enter adds the increase from the last value of an earlier window of a series to the first one of another.
func (s *Int[T]) enter(before, first *Int[T]) {
	s.increase.add(step(before.Last, first.First))
	s.entry = entry{earlier(s.Since(), before.LastTime), true}
}

// earlier returns the earlier one of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// step returns the increase of a counter from one value to the next.
func step[T Integer](from, to T) int128 {
	if to >= from {
		return int128{lo: uint64(to) - uint64(from)}
	}
	if to < 0 {
		return int128{hi: -1, lo: uint64(to)}
	}
	return int128{lo: uint64(to)}
}

func (s *Float64[T]) follow(later *Float64[T]) {
	switch {
	case later.Count == 0:
		return
	case s.Count == 0:
		*s = *later
		return
	}
	if later.Min < s.Min || s.Min != s.Min {
		s.Min = later.Min
	}
	if later.Max > s.Max || s.Max != s.Max {
		s.Max = later.Max
	}
	s.sum += later.sum
	s.increase += floatStep(s.Last, later.First)
	s.increase += later.increase
	s.Values.follow(&later.Values)
}

// floatStep is [step] for floating-point numbers.
func floatStep[T Float](from, to T) float64 {
	switch {
	case to > from:
		return float64(to) - float64(from)
	case to != from:
		return float64(to)
	}
	return 0
}

// enter is like [Int.enter].
func (s *Float64[T]) enter(before, first *Float64[T]) {
	s.increase += floatStep(before.Last, first.First)
	s.entry = entry{earlier(s.Since(), before.LastTime), true}
}

// previous returns the values of a window after this one that is filled.
func (s *Values[T]) previous() Values[T] {
	return Values[T]{First: s.Last, Last: s.Last, FirstTime: s.LastTime, LastTime: s.LastTime}
}

func (s *Int[T]) previous() Int[T] {
	if s.LastTime.IsZero() {
		return Int[T]{}
	}
	return Int[T]{Values: s.Values.previous(), Min: s.Min, Max: s.Max, mean: s.Mean(), rounded: s.RoundedMean()}
}

func (s *Float64[T]) previous() Float64[T] {
	if s.LastTime.IsZero() {
		return Float64[T]{}
	}
	return Float64[T]{Values: s.Values.previous(), Min: s.Min, Max: s.Max, mean: s.Mean()}
}

// share is a part of the way from one window to another, from 0 to 1.
type share struct {
	exact *big.Rat
	near  float64
}

// shareOf returns the share of the way from begin to end at which a time is. It computes with big
// numbers, since a time.Duration holds at most 292 years.
func shareOf(begin, at, end time.Time) share {
	exact := new(big.Rat).SetFrac(nanosBetween(begin, at), nanosBetween(begin, end))
	near, _ := exact.Float64()
	return share{exact, near}
}

func nanosBetween(begin, end time.Time) *big.Int {
	n := big.NewInt(end.Unix() - begin.Unix())
	return n.Mul(n, big.NewInt(int64(time.Second))).Add(n, big.NewInt(int64(end.Nanosecond()-begin.Nanosecond())))
}

// between returns the values of a filled window at a share of the way to the next one with values.
// They are computed exactly and rounded once, so that they are not outside those of the two windows.
func (s *Int[T]) between(next *Int[T], at share) Int[T] {
	if s.Count == 0 || next.Count == 0 {
		return Int[T]{}
	}
	line := func(a, b T) T { return rounded[T](at.between(rational(a), rational(b))) }
	mean := at.between(s.exactMean(), next.exactMean())
	v := Int[T]{Min: line(s.Min, next.Min), Max: line(s.Max, next.Max), rounded: rounded[T](mean)}
	v.mean, _ = mean.Float64()
	v.First = line(s.Last, next.First)
	v.Last, v.FirstTime, v.LastTime = v.First, s.LastTime, s.LastTime
	return v
}

func (s *Float64[T]) between(next *Float64[T], at share) Float64[T] {
	if s.Count == 0 || next.Count == 0 {
		return Float64[T]{}
	}
	line := func(a, b T) T { return T(between(float64(a), float64(b), at.near)) }
	v := Float64[T]{Min: line(s.Min, next.Min), Max: line(s.Max, next.Max), mean: between(s.Mean(), next.Mean(), at.near)}
	v.First = line(s.Last, next.First)
	v.Last, v.FirstTime, v.LastTime = v.First, s.LastTime, s.LastTime
	return v
}

// between returns the number at the share of the way from a to b.
func (s share) between(a, b *big.Rat) *big.Rat {
	v := new(big.Rat).Sub(b, a)
	return v.Mul(v, s.exact).Add(v, a)
}

// between returns the number at a share of the way from a to b, and none outside them.
func between(a, b, share float64) float64 {
	if a == b {
		return a // infinities, too
	}
	v := a + (b-a)*share
	if math.IsInf(b-a, 0) {
		v = a*(1-share) + b*share // no overflow
	}
	return min(max(v, min(a, b)), max(a, b))
}

func rational[T Integer](v T) *big.Rat {
	if v < 0 {
		return new(big.Rat).SetInt64(int64(v))
	}
	return new(big.Rat).SetUint64(uint64(v))
}

// rounded returns the nearest integer, half away from zero, of a number between two of type T.
func rounded[T Integer](v *big.Rat) T {
	// |v| + 1/2, rounded down: a big.Int has no other division.
	twice := new(big.Int).Lsh(v.Denom(), 1)
	n := new(big.Int).Abs(v.Num())
	n.Lsh(n, 1).Add(n, v.Denom()).Quo(n, twice)
	if v.Sign() < 0 {
		return T(n.Neg(n).Int64())
	}
	return T(n.Uint64())
}

// int128 is a signed integer of 128 bits, in two's complement: sums of any number of events that a
// table can hold do not overflow it.
type int128 struct {
	hi int64
	lo uint64
}

func (a *int128) add(b int128) {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	a.lo, a.hi = lo, a.hi+b.hi+int64(carry)
}

func (a int128) int64() (int64, error) {
	if v := int64(a.lo); a.hi == v>>63 {
		return v, nil
	}
	return 0, ErrOverflow
}

func (a int128) big() *big.Int {
	v := new(big.Int).SetInt64(a.hi)
	return v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(a.lo))
}

// float64 returns the nearest float64.
func (a int128) float64() float64 {
	if v, err := a.int64(); err == nil {
		return float64(v)
	}
	f, _ := new(big.Float).SetInt(a.big()).Float64()
	return f
}
