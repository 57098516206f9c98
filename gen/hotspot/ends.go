// Package hotspot predicts how the writes and reads of a table spread over its key space, before
// there is any data: in closed form, for rules, and by counting keys, for pictures. Both know a
// table only by its layout, and compute keys with the code that computes real ones.
package hotspot

import (
	"math"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Thresholds of [Hot]; our judgment.
const (
	HotShare  = 0.1   // share of the writes in one place from which a table has a hotspot
	FewWrites = 1_400 // rows written per second that are never a hotspot: a tenth of NodeWrites
)

// NodeWrites is how many 1 KB rows per second one node writes, according to
// https://cloud.google.com/bigtable/docs/performance.
const NodeWrites = 14_000

// Hot reports whether a table has a hotspot if one place takes a share of its writes, from 0
// to 1: if that is more than a node writes or, unless the declared load is small, a tenth of
// all writes.
func Hot(t *layout.Table, load layout.Load, share float64) bool {
	declared := !load.AssumedRate && !load.AssumedSeries
	switch writes := Total(t, load); {
	case declared && writes <= FewWrites:
		return false
	case declared && writes*share > NodeWrites:
		return true
	}
	return share >= HotShare
}

// Total returns how many rows per second all series write, one event at a time.
func Total(t *layout.Table, load layout.Load) float64 {
	return load.Rate * float64(load.Series) * float64(t.RowsPerEvent())
}

// Ends describes the ends at which a table grows: the distinct key prefixes before the time.
// Each grows at one end, in one tablet, so at most N nodes share the writes.
type Ends struct {
	N     float64  // lower bound; +Inf for one per series if the number of series is not declared
	Open  []string // series values whose cardinality is not declared
	Whole bool     // whether the prefix contains all series values
	// Busiest is the share of the busiest series in the writes, from 0 to 1, or of one of its
	// fields if those are rows. It is 0 for no skew.
	Busiest float64
}

// Share returns the share of the writes at the hottest end, from 0 to 1: the busiest series and,
// if it is not alone there, an equal part of the others.
func (e Ends) Share() float64 {
	if e.Whole {
		return max(e.Busiest, 1/e.N)
	}
	return e.Busiest + (1-e.Busiest)/e.N
}

// Hot reports whether the table has too few ends for the load. It is false if that depends on
// an undeclared cardinality, unless the declared load is too much for the known ends.
func (e Ends) Hot(t *layout.Table, load layout.Load) bool {
	if Hot(t, load, e.Busiest) {
		return true
	}
	if len(e.Open) > 0 && !(!load.AssumedRate && !load.AssumedSeries && Total(t, load)*e.Share() > NodeWrites) {
		return false
	}
	return Hot(t, load, e.Share())
}

// EndsOf counts the ends of a table: the combinations of series values, salt buckets, and
// fields before the time. Combinations of series values are capped at the number of series.
func EndsOf(l *layout.Layout, t *layout.Table) Ends {
	e := Ends{N: 1}
	load, before := l.Load(), beforeTimes(l, t)
	known, metrics := map[int]bool{}, 1.0
	for _, g := range before {
		switch g.Kind {
		case codec.SeriesSegment:
			known[g.Series] = true
			if n := cardinality(l, t, load.Series, g.Series); n > 0 {
				e.N *= float64(n)
			} else {
				e.Open = append(e.Open, l.Series[g.Series].Name)
			}
		case codec.MetricSegment:
			metrics = float64(len(t.Columns))
		}
	}
	for _, g := range before {
		if g.Kind == codec.SaltSegment {
			e.N *= saltValues(l, g, known)
		}
	}
	e.Whole = len(known) == len(l.Series)
	switch series := float64(l.Expect.Series); {
	case e.Whole && len(e.Open) > 0 && series == 0:
		e.N = math.Inf(1)
	case series > 0 && len(e.Open) > 0 && (e.Whole || Hot(t, load, 1/(series*metrics))):
		e.N, e.Open = series, nil // there are as many prefixes, or at most, which are too few
	case series > 0:
		e.N = min(e.N, series)
	}
	e.N *= metrics
	if load.Skew > 0 {
		e.Busiest = load.Busiest() / metrics
	}
	return e
}

// beforeTimes returns the segments before the time and before series values that are times.
func beforeTimes(l *layout.Layout, t *layout.Table) []codec.Segment {
	before := t.BeforeTime()
	if i := slices.IndexFunc(before, func(g codec.Segment) bool {
		return g.Kind == codec.SeriesSegment && l.Series[g.Series].Type == schema.Timestamp
	}); i >= 0 {
		return before[:i]
	}
	return before
}

// cardinality returns the number of values of a series value: as declared or, for fewer numbers
// than there are series, all that its form can hold. It returns 0 if that is not known.
func cardinality(l *layout.Layout, t *layout.Table, of int64, series int) int64 {
	f := &l.Series[series]
	if f.Cardinality == 0 && isInteger(f) {
		if n := numbers(f, t.FormOf(series)); n < float64(of) {
			return int64(n)
		}
	}
	return f.Cardinality
}

// saltValues returns how many salt buckets a fixed combination of the known series values
// can have.
func saltValues(l *layout.Layout, salt codec.Segment, known map[int]bool) float64 {
	n := 1.0
	for _, i := range salt.Salted {
		if known[i] {
			continue
		}
		values := l.Series[i].Cardinality
		if values == 0 {
			return float64(salt.Buckets)
		}
		n *= float64(values)
	}
	return min(n, float64(salt.Buckets))
}

// WithSegments returns a copy of a table with other key segments, for analysis only.
func WithSegments(t *layout.Table, segments []codec.Segment) *layout.Table {
	out := *t
	out.Segments = segments
	return &out
}

// BehindConst returns segments with first inserted after the leading constants.
func BehindConst(segments []codec.Segment, first codec.Segment) []codec.Segment {
	i := slices.IndexFunc(segments, func(g codec.Segment) bool { return g.Kind != codec.ConstSegment })
	return slices.Insert(slices.Clone(segments), max(0, i), first)
}

// Salted returns the table with a salt of some buckets at the beginning of its keys: its own
// salt, wherever that is, or one of the series values in the key.
func Salted(l *layout.Layout, t *layout.Table, buckets int) *layout.Table {
	salt := codec.Segment{Kind: codec.SaltSegment}
	rest := slices.Clone(t.Segments)
	if i := slices.IndexFunc(rest, isSalt); i >= 0 {
		salt = rest[i]
		rest = slices.Delete(rest, i, i+1)
	} else {
		for _, g := range rest {
			if g.Kind == codec.SeriesSegment {
				salt.Salted = append(salt.Salted, g.Series)
			}
		}
	}
	salt.Buckets = buckets
	return WithSegments(t, BehindConst(rest, salt))
}

// Spreads reports whether the key of a table spreads its writes: no hotspot, as rules K01 and K03 judge.
func Spreads(l *layout.Layout, t *layout.Table, load layout.Load) bool {
	return !InOnePlace(l, t) && !EndsOf(l, t).Hot(t, load)
}

// TimeFirst returns the table with its time or bucket at the beginning of its keys.
func TimeFirst(t *layout.Table) *layout.Table {
	rest := slices.Clone(t.Segments)
	i := slices.IndexFunc(rest, isTime)
	if i < 0 {
		return t
	}
	first := rest[i]
	return WithSegments(t, BehindConst(slices.Delete(rest, i, i+1), first))
}

// IsSalted reports whether the keys of a table contain a salt.
func IsSalted(t *layout.Table) bool { return slices.ContainsFunc(t.Segments, isSalt) }

func isSalt(g codec.Segment) bool { return g.Kind == codec.SaltSegment }

func isTime(g codec.Segment) bool {
	return g.Kind == codec.TimeSegment || g.Kind == codec.BucketSegment
}

// beginsWith reports whether the first segment that is not constant satisfies is.
func beginsWith(t *layout.Table, is func(g codec.Segment) bool) bool {
	i := slices.IndexFunc(t.Segments, func(g codec.Segment) bool { return g.Kind != codec.ConstSegment })
	return i >= 0 && is(t.Segments[i])
}

// InOnePlace reports whether the keys of a table begin with time, so that all writes go to
// one end of the table.
func InOnePlace(l *layout.Layout, t *layout.Table) bool {
	return beginsWith(t, func(g codec.Segment) bool {
		return isTime(g) || g.Kind == codec.SeriesSegment && l.Series[g.Series].Type == schema.Timestamp
	})
}

// NewShare returns the share of the writes in the hottest tablet, from 0 to 1, if all of them are
// of new series, numbered sequentially by the integer at the beginning of the keys. New series
// take the place of all others, so that the integers in use at a time are as many as the series:
// of fewer possible values, all are always in use. It returns 0 if keys begin with another value,
// or with an integer that several series share, according to its cardinality.
func NewShare(l *layout.Layout, t *layout.Table, load layout.Load) float64 {
	i := sequential(l, t, load)
	if i < 0 {
		return 0
	}
	of, series := numbers(&l.Series[i], t.FormOf(i)), float64(load.Series)
	return min(1, max(of/(series*float64(tablets(t, load))), 1/series))
}

// sequential returns the series value at the beginning of the keys if it is an integer of which
// each series may have another one, and -1 otherwise.
func sequential(l *layout.Layout, t *layout.Table, load layout.Load) int {
	i := slices.IndexFunc(t.Segments, func(g codec.Segment) bool { return g.Kind != codec.ConstSegment })
	if i < 0 || t.Segments[i].Kind != codec.SeriesSegment {
		return -1
	}
	i = t.Segments[i].Series
	if f := &l.Series[i]; !isInteger(f) || f.Cardinality > 0 && f.Cardinality < load.Series {
		return -1
	}
	return i
}

// numbers returns how many values an integer can have in a form, without negative ones.
func numbers(f *layout.Field, form codec.KeyForm) float64 {
	own, of := f.Type.Traits(), float64(1<<63)
	switch {
	case own.Number == schema.Signed && own.Bits == 32:
		of = math.MaxInt32
	case own.Number == schema.Unsigned:
		of = math.Pow(2, float64(own.Bits))
	}
	switch {
	case form.Pad <= 0:
		return of
	case form.Encoding == codec.KeyHex:
		return min(of, math.Pow(16, float64(form.Pad)))
	}
	return min(of, math.Pow(10, float64(form.Pad)))
}

// The tablets of a table, into which Bigtable splits it by size and load; our judgment:
// https://cloud.google.com/bigtable/docs/overview#load-balancing
const (
	fewTablets  = 20  // more if their even share is over half a node
	mostTablets = 400 // at the beginning
)

// tablets returns the number of tablets of a table, of equal size, under a load.
func tablets(t *layout.Table, load layout.Load) int {
	return int(min(mostTablets, max(fewTablets, 2*Total(t, load)/NodeWrites)))
}

// isInteger reports whether a series value is an integer, and may be a sequential ID.
func isInteger(f *layout.Field) bool { return f.Type.Traits().Integer() }
