package window

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"
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
	whole   bool     // the numbers are integers
	low     float64  // the lowest number that is not NaN
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
func (s *Quantiles) add(v float64) {
	if v == v {
		s.count(bucketOf(v), 1)
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
	i, found := slices.BinarySearchFunc(s.buckets, at, func(b bucket, at int32) int { return cmp.Compare(b.at, at) })
	switch {
	case found:
		s.buckets[i].n += n
	case len(s.buckets) == maxBuckets:
		s.buckets, s.unknown = nil, true
	default:
		s.buckets = slices.Insert(s.buckets, i, bucket{at, n})
	}
}

// merge adds the counts of another window.
func (s *Quantiles) merge(o *Quantiles) {
	if o.unknown {
		s.buckets, s.unknown = nil, true
	}
	for _, b := range o.buckets {
		s.count(b.at, b.n)
	}
}

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

// parse sets the counts to encoded ones, of at most count numbers. Those of a later version are unknown.
func (s *Quantiles) parse(encoded []byte, count int64) bool {
	if *s = (Quantiles{unknown: len(encoded) == 0 || encoded[0] != quantilesVersion}); s.unknown {
		return true
	}
	c := coding{bytes: encoded[1:], parses: true}
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

// IntQuantiles summarizes the values of an integer field in a window, with their quantiles.
type IntQuantiles[T Integer] struct {
	Int[T]
	Quantiles
}

// Float64Quantiles summarizes the values of a floating-point field in a window, with their quantiles.
type Float64Quantiles[T Float] struct {
	Float64[T]
	Quantiles
}

// quantiled are the statistics of a field with quantiles.
type quantiled interface {
	split() (number any, counts *Quantiles)
	bound()
}

func (s *IntQuantiles[T]) split() (number any, counts *Quantiles) { return &s.Int, &s.Quantiles }

// bound tells the counts the extremes of the numbers.
func (s *IntQuantiles[T]) bound() { s.whole, s.low, s.high = true, float64(s.Min), float64(s.Max) }

func (s *Float64Quantiles[T]) split() (number any, counts *Quantiles) {
	return &s.Float64, &s.Quantiles
}

func (s *Float64Quantiles[T]) bound() { s.low, s.high = float64(s.Min), float64(s.Max) }

// WithQuantiles returns the part of a number whose statistics are an [IntQuantiles] or a [Float64Quantiles].
func WithQuantiles(of Part) Part {
	p := of
	change := func(s any, change func(number any, counts *Quantiles)) {
		change(s.(quantiled).split())
		s.(quantiled).bound()
	}
	join := func(numbers func(s, other any)) func(s, other any) {
		return func(s, other any) {
			others, theirs := other.(quantiled).split()
			change(s, func(number any, counts *Quantiles) {
				numbers(number, others)
				counts.merge(theirs)
			})
		}
	}
	set := func(numbers func(to, from any)) func(to, from any) {
		return func(to, from any) {
			number, counts := to.(quantiled).split()
			other, theirs := from.(quantiled).split()
			numbers(number, other)
			*counts = *theirs
			counts.buckets = slices.Clone(counts.buckets)
		}
	}
	p.combine, p.follow, p.copy, p.previous = join(of.combine), join(of.follow), set(of.copy), set(of.previous)
	p.add = func(s any, times []time.Time, values any, begin, end int) {
		change(s, func(number any, counts *Quantiles) {
			of.add(number, times, values, begin, end)
			of.numbers(times, values, begin, end, func(_ time.Time, v float64) { counts.add(v) })
		})
	}
	p.run = func(s any, c *runColumns) {
		number, counts := s.(quantiled).split()
		at := c.at
		if of.run(number, c); c.at > at {
			c.quantiles(at, counts)
		}
		if c.parses {
			s.(quantiled).bound()
		}
	}
	p.code = func(s any, c *coding) {
		number, counts := s.(quantiled).split()
		of.code(number, c)
		if c.quantiles(counts); c.parses {
			s.(quantiled).bound()
		}
	}
	p.between = func(to, from, next any, at share) {
		before, low := from.(quantiled).split()
		after, high := next.(quantiled).split()
		change(to, func(number any, counts *Quantiles) {
			if of.between(number, before, after, at); of.has(before) && of.has(after) {
				counts.ends, counts.share = &[2]Quantiles{*low, *high}, at.near
			}
		})
	}
	p.step = func(to, before, first any) {
		number, _ := to.(quantiled).split()
		last, _ := before.(quantiled).split()
		next, _ := first.(quantiled).split()
		of.step(number, last, next)
	}
	p.has = func(s any) bool {
		number, _ := s.(quantiled).split()
		return of.has(number)
	}
	return p
}

// quantiles codes the counts of the window with an index, of those with values.
func (c *runColumns) quantiles(at int, counts *Quantiles) {
	const column = len(c.texts) - 1
	var text []byte
	switch texts := c.texts[column]; {
	case !c.parses:
		c.texts[column] = append(texts, counts.appendTo(nil))
		return
	case at < len(texts):
		text = texts[at]
	default:
		c.lacks = true
	}
	if !counts.parse(text, int64(c.words[columnCount][c.counted-1])) {
		c.fail(ErrRun)
	}
}

// quantiles encodes counts, or parses them.
func (c *coding) quantiles(counts *Quantiles) {
	text, filled := counts.appendTo(nil), counts.ends != nil
	c.code(&text, &filled)
	if c.parses {
		c.failed = !counts.parse(text, math.MaxInt64) || c.failed
		if filled && !c.failed {
			counts.ends = new([2]Quantiles)
		}
	}
	if counts.ends == nil {
		return
	}
	c.code(&counts.share)
	for i := range counts.ends {
		end := &counts.ends[i]
		whole, low, high := end.whole, end.low, end.high
		c.code(&whole, &low, &high)
		c.quantiles(end)
		end.whole, end.low, end.high = whole, low, high
	}
}

// uint parses an integer.
func (c *coding) uint() uint64 {
	v, n := binary.Uvarint(c.bytes)
	c.failed = c.failed || n <= 0
	c.take(uint64(max(n, 0)))
	return v
}
