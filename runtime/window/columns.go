package window

import (
	"reflect"
	"time"
)

// Reset empties all slices of generated columns of windows, given a pointer to them, and keeps their memory.
func Reset(columns any) { reset(reflect.ValueOf(columns).Elem()) }

func reset(columns reflect.Value) {
	for i := range columns.NumField() {
		if f := columns.Field(i); f.Kind() == reflect.Slice {
			f.SetLen(0)
		} else {
			reset(f)
		}
	}
}

// WindowColumns hold what windows of all schemas have in common, in slices of equal length. Generated
// columns of windows embed it, with the statistics of each field in slices of the same length.
type WindowColumns[S any] struct {
	Series      []S
	Start, End  []time.Time
	Events      []int64
	Filled      []bool
	Undecodable []int64
	Inexact     []bool
}

// Append adds a window of a series.
func (c *WindowColumns[S]) Append(w *Window, series S) {
	c.Series, c.Start, c.End = append(c.Series, series), append(c.Start, w.Start), append(c.End, w.End)
	c.Events, c.Filled, c.Undecodable = append(c.Events, w.Events), append(c.Filled, w.Filled), append(c.Undecodable, w.Undecodable)
	c.Inexact = append(c.Inexact, w.Inexact)
}

// ValuesColumns hold the statistics of a field, of one window after the other; see [Values].
type ValuesColumns[T any] struct {
	Count               []int64
	First, Last         []T
	FirstTime, LastTime []time.Time
}

// Append adds the statistics of a window. It is not inlined into the code of each schema.
//
//go:noinline
func (c *ValuesColumns[T]) Append(s *Values[T]) {
	c.Count, c.First, c.Last = append(c.Count, s.Count), append(c.First, s.First), append(c.Last, s.Last)
	c.FirstTime, c.LastTime = append(c.FirstTime, s.FirstTime), append(c.LastTime, s.LastTime)
}

// NumberColumns hold the statistics of a field that is a number, of one window after the other; see
// [Int] and [Float64]. Sums of integers are rounded once, as increases are: [Int.Sum] is exact.
type NumberColumns[T Integer | Float] struct {
	ValuesColumns[T]
	Min, Max                  []T
	Sum, Mean, Increase, Rate []float64
}

// Number is implemented by the statistics of a field that is a number: [Int] and [Float64].
type Number[T any] interface {
	Mean() float64
	Increase() float64
	Rate() float64
	total() (v *Values[T], low, high T, sum float64)
}

func (s *Int[T]) total() (v *Values[T], low, high T, sum float64) {
	return &s.Values, s.Min, s.Max, s.sum.float64()
}

func (s *Float64[T]) total() (v *Values[T], low, high T, sum float64) {
	return &s.Values, s.Min, s.Max, s.sum
}

// Append adds the statistics of a window. It is not inlined into the code of each schema.
//
//go:noinline
func (c *NumberColumns[T]) Append(s Number[T]) {
	values, low, high, sum := s.total()
	c.ValuesColumns.Append(values)
	c.Min, c.Max, c.Sum = append(c.Min, low), append(c.Max, high), append(c.Sum, sum)
	c.Mean, c.Increase, c.Rate = append(c.Mean, s.Mean()), append(c.Increase, s.Increase()), append(c.Rate, s.Rate())
}
