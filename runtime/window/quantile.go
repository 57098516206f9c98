package window

import (
	"encoding/binary"
	"math"
	"slices"
)

// Quantiles count the numbers of a window by size, so that quantiles of any windows that are added up are those of all
// of their events, whatever the order.
//
// A bucket has the numbers whose sign, exponent and first six bits of the fraction, in IEEE 754, are the same: 64
// buckets for each power of two. That is a DDSketch (Masson, Rim and Lee, "DDSketch: A Fast and Fully-Mergeable
// Quantile Sketch with Relative-Error Guarantees", VLDB 2019, arXiv 1908.10693) whose buckets are of equal width within
// a power of two, where those of the paper grow with the number. It has half again as many buckets for the same error, and takes no
// logarithm, which processors round differently: all machines count alike. Numbers within 2^-1022 of 0 count as 0.
//
// The quantiles of numbers in more than 16,384 buckets are unknown: it takes numbers of all sizes over 256 powers of two.
type Quantiles struct {
	buckets []bucket // in order of the numbers
	unknown bool     // they are too many, or a rollup has some of the numbers without their counts
	some    bool     // there are values, NaN among them
	whole   bool     // the numbers are integers
	low     float64  // the lowest number that is not NaN, if they are known
	high    float64
	ends    *[2]Quantiles // of a filled window: those that its quantiles are between
	share   float64       // and the share of the way
}

// bucket is the number of numbers in a bucket.
type bucket struct {
	at int32 // the first bits of the numbers, negative for negative ones; 0 for all that are nearly 0
	n  int64
}

const (
	maxBuckets  = 16384
	bucketShift = 46        // bits of a float64 that buckets ignore
	subnormal   = 1 << 6    // buckets below are taken for 0
	infinite    = 2047 << 6 // the bucket of +Inf
)

// Quantile returns the number below which a share q of the numbers of the window is: the median for 0.5, the lowest for
// 0, the highest for 1, as PERCENTILE_CONT of SQL does, which is between two numbers on a line. NaN is no number. The
// result is NaN without numbers, if q is not from 0 to 1, and if quantiles are unknown: of numbers in too many buckets,
// and if the rollup of the table has some of the window from before the field had quantiles, and their events have
// expired. Each of the two numbers is wrong by at most 1/129 of itself, which is 0.78 %, and none is below the lowest
// or above the highest one. In a filled window, it is the filled value.
func (s *Quantiles) Quantile(q float64) float64 {
	if s.ends != nil {
		return between(s.ends[0].Quantile(q), s.ends[1].Quantile(q), s.share)
	}
	n := int64(0)
	for _, b := range s.buckets {
		n += b.n
	}
	if n == 0 || s.unknown || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	rank, part := math.Modf(q * float64(n-1))
	low := s.ranked(int64(rank), n)
	if part == 0 {
		return low
	}
	return between(low, s.ranked(int64(rank)+1, n), part)
}

// ranked returns the number with a rank, from 0, of n in order of size.
func (s *Quantiles) ranked(rank, n int64) float64 {
	switch {
	case rank <= 0:
		return s.low
	case rank >= n-1:
		return s.high
	}
	for _, b := range s.buckets {
		if rank -= b.n; rank < 0 {
			return min(max(s.middle(b.at), s.low), s.high)
		}
	}
	return s.high
}

// middle returns the number whose relative error is least for all numbers in a bucket.
func (s *Quantiles) middle(at int32) float64 {
	if at < 0 {
		return -s.middle(-at)
	}
	low, high := edge(at), min(edge(at+1), math.MaxFloat64)
	if s.whole {
		low, high = math.Ceil(low), math.Ceil(high)-1
	}
	if at == 0 || low >= high {
		return low
	}
	return low * (2 / (1 + low/high)) // 2 low high / (low + high) does not overflow so
}

// edge returns the lowest number in a bucket of positive numbers.
func edge(at int32) float64 {
	return math.Float64frombits(uint64(min(at, infinite)) << bucketShift)
}

// add counts a number.
func (s *Quantiles) add(v float64, whole bool) {
	if s.some = true; v == v && !s.unknown {
		s.widen(v, v, whole)
		s.count(bucketOf(v), 1)
	}
}

// widen extends the extremes by those of other numbers. It takes -0 for 0, so that their order does not matter.
func (s *Quantiles) widen(low, high float64, whole bool) {
	first := len(s.buckets) == 0
	if s.whole = whole; first || low < s.low {
		s.low = low + 0
	}
	if first || high > s.high {
		s.high = high + 0
	}
}

// bucketOf returns the bucket of a number.
func bucketOf(v float64) int32 {
	at := int32(math.Float64bits(math.Abs(v)) >> bucketShift)
	switch {
	case at < subnormal:
		return 0
	case v < 0:
		return -at
	}
	return at
}

// count adds to a bucket.
func (s *Quantiles) count(at int32, n int64) {
	if s.unknown {
		return
	}
	i, end := 0, len(s.buckets)
	for i < end { // by hand: package slices would take most of the time of a fold
		if middle := (i + end) / 2; s.buckets[middle].at < at {
			i = middle + 1
		} else {
			end = middle
		}
	}
	switch {
	case i < len(s.buckets) && s.buckets[i].at == at:
		s.buckets[i].n += n
	case len(s.buckets) == maxBuckets:
		s.forget()
	default:
		s.buckets = slices.Insert(s.buckets, i, bucket{at, n})
	}
}

// forget makes quantiles unknown.
func (s *Quantiles) forget() { *s = Quantiles{some: true, unknown: true} }

// combine adds the counts of another window.
func (s *Quantiles) combine(o *Quantiles) {
	switch s.some = s.some || o.some; {
	case o.unknown:
		s.forget()
	case len(o.buckets) > 0 && !s.unknown:
		s.widen(o.low, o.high, o.whole)
	}
	for _, b := range o.buckets {
		s.count(b.at, b.n)
	}
}

// follow adds the counts of a later window of the same series.
func (s *Quantiles) follow(later *Quantiles) { s.combine(later) }

// quantilesVersion is the version of encoded counts.
const quantilesVersion = 0

// appendTo appends the encoded counts: the version and, for each bucket, the difference to the one before it and the
// number of numbers. Those that are unknown are empty.
func (s *Quantiles) appendTo(dst []byte) []byte {
	if s.unknown {
		return dst
	}
	dst = append(dst, quantilesVersion)
	before := int32(0)
	for _, b := range s.buckets {
		dst = binary.AppendUvarint(binary.AppendVarint(dst, int64(b.at-before)), uint64(b.n))
		before = b.at
	}
	return dst
}

// parse sets the counts to encoded ones. Those of a later version are unknown.
func (s *Quantiles) parse(encoded []byte, of numbers) bool {
	if len(encoded) == 0 || encoded[0] != quantilesVersion {
		s.forget()
		return true
	}
	*s = Quantiles{some: true}
	c, count := coding{bytes: encoded[1:], parses: true}, of.count
	if len(c.bytes) > 0 {
		s.widen(of.low, of.high, of.whole)
		s.buckets = make([]bucket, 0, min(len(c.bytes)/2, maxBuckets)) // which take 2 bytes each, or more
	}
	for at := int64(0); len(c.bytes) > 0; {
		step, n := int64(0), uint64(0)
		c.int(&step)
		n = c.uint()
		first := len(s.buckets) == 0
		at += step
		if c.failed || !first && step <= 0 || at < -infinite || at > infinite || n == 0 || n > uint64(count) || len(s.buckets) == maxBuckets {
			return false
		}
		count -= int64(n)
		s.buckets = append(s.buckets, bucket{int32(at), int64(n)})
	}
	return !c.failed
}

// between returns the quantiles of a filled window, at a share of the way to the next one with numbers.
func (s *Quantiles) between(next *Quantiles, at share) Quantiles {
	return Quantiles{ends: &[2]Quantiles{*s, *next}, share: at.near}
}

// previous returns the quantiles of a window after this one that is filled: a copy.
func (s *Quantiles) previous() Quantiles {
	out := *s
	out.buckets = slices.Clone(s.buckets)
	return out
}

// none reports whether there are no values. Those that are no numbers are values, too.
func (s *Quantiles) none() bool { return !s.some }

// run codes quantiles in a run.
func (s *Quantiles) run(c *runColumns) { c.sketch(quantiles, s) }

// code codes quantiles, of a filled window, too.
func (s *Quantiles) code(c *coding) {
	of, text, filled := *s, s.appendTo(nil), s.ends != nil
	c.code(&text, &of.some, &of.whole, &of.low, &of.high, &of.share, &filled)
	if c.parses {
		c.failed = !s.parse(text, numbers{math.MaxInt64, of.low, of.high, of.whole}) || c.failed
		if s.some, s.share = of.some, of.share; filled && !c.failed {
			s.ends = new([2]Quantiles)
		}
	}
	if s.ends != nil {
		s.ends[0].code(c)
		s.ends[1].code(c)
	}
}

// uint parses an integer.
func (c *coding) uint() uint64 {
	v, n := binary.Uvarint(c.bytes)
	c.failed = c.failed || n <= 0
	c.take(uint64(max(n, 0)))
	return v
}
