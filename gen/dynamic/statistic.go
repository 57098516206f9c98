package dynamic

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Statistic is one of the statistics of the values of a field in a window; see package window.
type Statistic int

const (
	Count Statistic = iota
	First
	Last
	FirstTime
	LastTime
	Min
	Max
	Sum
	Mean
	Increase
	Rate

	// sketched begins those of sketches: ofSketch for each of these.
	sketched
)

const ofSketch = 1 << 24

// Sketch returns the sketch that has the statistic, which only fields with its key have; nil if all numbers have it.
func (s Statistic) Sketch() *schema.Sketch {
	i := int(s-sketched) / ofSketch
	if s < sketched || i >= len(schema.AllSketches) {
		return nil
	}
	return &schema.AllSketches[i]
}

// inSketch returns which statistic of its sketch it is.
func (s Statistic) inSketch() int { return int(s-sketched) % ofSketch }

// exact returns the statistic of all numbers that one of integers or durations is, which a float64 may round; else s.
func (s Statistic) exact(f *layout.Field) Statistic {
	x := s.Sketch()
	if x == nil || !slices.Contains(f.Sketches.All(), x) || f.Type.Traits().Number == schema.Floating {
		return s
	}
	if i := slices.Index(statisticNames, x.Exact[s.inSketch()]); i >= 0 {
		return Statistic(i)
	}
	return s
}

// statisticNames are the names of the statistics.
var statisticNames = []string{"count", "first", "last", "first_time", "last_time", "min", "max", "sum", "mean", "increase", "rate"}

// ErrStatistic is the error of [ParseStatistic].
var ErrStatistic = errors.New("not a statistic: write one of " + words.List(StatisticNames(), "or"))

// StatisticNames lists the names of the statistics, and how those of sketches are written.
func StatisticNames() []string {
	out := slices.Clone(statisticNames)
	for i := range schema.AllSketches {
		out = append(out, schema.AllSketches[i].Written)
	}
	return out
}

// ParseStatistic parses the name of a statistic, such as first_time or p99.9.
func ParseStatistic(text string) (Statistic, error) {
	if i := slices.Index(statisticNames, text); i >= 0 {
		return Statistic(i), nil
	}
	for i := range schema.AllSketches {
		if n, is := schema.AllSketches[i].Parse(text); is {
			return sketched + Statistic(i*ofSketch+n), nil
		}
	}
	return 0, ErrStatistic
}

// String returns the name that [ParseStatistic] parses.
func (s Statistic) String() string {
	switch x := s.Sketch(); {
	case x != nil:
		return x.Name(s.inSketch())
	case s < 0 || int(s) >= len(statisticNames):
		return "unknown"
	}
	return statisticNames[s]
}

// Type returns the type of the statistic of a field. It returns false if the field has none, since it
// is neither a number nor a duration, or lacks the sketch.
func (s Statistic) Type(f *layout.Field) (schema.Type, bool) {
	number := f.Type.Traits().Number
	switch s {
	case Count:
		return schema.Int64, true
	case First, Last:
		return f.Type, true
	case FirstTime, LastTime:
		return schema.Timestamp, true
	}
	if !f.Type.Measures() {
		return schema.Int64, false
	}
	if x := s.Sketch(); x != nil && !slices.Contains(f.Sketches.All(), x) {
		return schema.Int64, false
	}
	switch s = s.exact(f); {
	case s == Min || s == Max:
		return f.Type, true
	case s == Rate || number == schema.Floating:
		return schema.Float64, true
	case f.Type == schema.Duration:
		return schema.Duration, true
	case s == Sum:
		return schema.Int64, true
	}
	return schema.Float64, true
}

// Of returns the statistic of a field, given its index in Layout.Fields, with the Go types of package
// value; nil if there is none: the window has neither events with the field nor filled values, or too
// few values determine it, of which filled ones are none. A sum of integers, or an increase of durations, that its type cannot
// represent is a *big.Int, of nanoseconds for durations. Means of durations are exact and rounded to nanoseconds, half away from
// zero, and their rates are the increase of seconds per second.
func (s Statistic) Of(w *Window, f *layout.Field, field int) any {
	of := []any{nil}
	if field < len(w.Fields) && w.Fields[field] != nil {
		of = w.Fields[field]
	}
	s = s.exact(f)
	if x := s.Sketch(); x != nil {
		if i := slices.Index(f.Sketches.All(), x); i >= 0 && i+1 < len(of) {
			return measured(x.Value(of[i+1], s.inSketch()), f)
		}
		return nil
	}
	switch of := of[0].(type) {
	case *window.Int[int64]:
		return ofInt(s, of)
	case *window.Int[uint64]:
		return ofInt(s, of)
	case *window.Int[time.Duration]:
		return ofDuration(s, of)
	case *window.Float64[float64]:
		if s == Sum && of.Count > 0 {
			return of.Sum()
		}
		v := ofNumber(s, of, &of.Values, of.Min, of.Max)
		if filled, ok := v.(float64); ok && f.Type == schema.Float32 && s <= Max {
			return float64(float32(filled))
		}
		return v
	case *window.Values[any]:
		return ofValues(s, of)
	}
	return ofValues(s, new(window.Values[any]))
}

// measured returns a number of the size of the values of a field; nil for NaN.
func measured(v float64, f *layout.Field) any {
	switch {
	case v != v:
		return nil
	case f.Type == schema.Duration && v >= math.MaxInt64:
		return time.Duration(math.MaxInt64)
	case f.Type == schema.Duration:
		return time.Duration(math.Round(v))
	default:
		return v
	}
}

// ofValues returns a statistic that all fields have; nil if there is none.
func ofValues[T any](s Statistic, of *window.Values[T]) any {
	switch {
	case s == Count:
		return of.Count
	case of.LastTime.IsZero():
		return nil
	case s == First:
		return of.First
	case s == Last:
		return of.Last
	case s == FirstTime:
		return of.FirstTime
	case s == LastTime:
		return of.LastTime
	}
	return nil
}

// ofNumber returns a statistic of numbers other than their sum; nil if too few values determine it.
func ofNumber[T any](s Statistic, of interface {
	Mean() float64
	Increase() float64
	Rate() float64
	Since() time.Time
}, values *window.Values[T], least, greatest T) any {
	switch {
	case s < Min || values.LastTime.IsZero():
		return ofValues(s, values)
	case s == Min:
		return least
	case s == Max:
		return greatest
	case s == Mean:
		return of.Mean()
	case s == Increase && values.Count > 0:
		return of.Increase()
	case s == Rate && of.Since().Before(values.LastTime) && values.Count > 0:
		return of.Rate()
	}
	return nil
}

// ofInt returns a statistic of integers.
func ofInt[T window.Integer](s Statistic, of *window.Int[T]) any {
	if s != Sum || of.Count == 0 {
		return ofNumber(s, of, &of.Values, of.Min, of.Max)
	}
	if sum, err := of.Sum(); err == nil {
		return sum
	}
	return of.BigSum()
}

// ofDuration returns a statistic of durations.
func ofDuration(s Statistic, of *window.Int[time.Duration]) any {
	v := ofInt(s, of)
	switch {
	case v == nil:
		return nil
	case s == Sum:
		return duration(of.BigSum())
	case s == Mean:
		return of.RoundedMean()
	case s == Increase:
		return duration(of.BigIncrease())
	case s == Rate:
		return of.Rate() / float64(time.Second)
	}
	return v
}

// duration returns a number of nanoseconds as a time.Duration, if that can represent it.
func duration(nanos *big.Int) any {
	if nanos.IsInt64() {
		return time.Duration(nanos.Int64())
	}
	return nanos
}
