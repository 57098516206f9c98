package window

import (
	"reflect"
	"slices"
	"time"
)

// Part describes one part of windows of type W: the statistics of a field, whose values are in a
// slice of events in columnar form, of type C.
type Part[C, W any] struct{ part }

// part is a Part without its type parameters, so that folds are compiled once: w and others are of
// type *W, and c is a *C.
type part struct {
	field    string
	add      func(w any, times []time.Time, c any, begin, end int)
	combine  func(w, other any)
	follow   func(w, later any)         // adds the statistics of a later window of the same series
	run      func(w any, c *runColumns) // nil if runs cannot have the part
	previous func(to, from any)
	between  func(to, from, next any, at share)
	code     func(w any, c *coding)
	// step adds to a window the step from the last value of an earlier window of a series to the first one of
	// another; nil if the field is no number.
	step func(to, before, first any)
	has  func(w any) bool   // reports whether a window has values
	copy func(to, from any) // sets the statistics of a window to those of another one
	// numbers calls add with the values of a number, in order of time; nil if the field is none.
	numbers func(times []time.Time, c any, begin, end int, add func(at time.Time, value float64))
}

// statistics are what parts need of the statistics of a field.
type statistics[S, T any] interface {
	*S
	add(times []time.Time, values []T)
	none() bool
	combine(other *S)
	follow(later *S)
	run(c *runColumns)
	previous() S
	between(next *S, at share) S
	code(c *coding)
}

// newPart returns the part of a field. of returns its statistics in a window, and each passes on the
// values that events have, in order of time.
func newPart[C, W, S, T any, P statistics[S, T]](field string, of func(w *W) *S, each func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T))) Part[C, W] {
	at := func(w any) P { return P(of(w.(*W))) }
	return Part[C, W]{part{
		field:    field,
		add:      func(w any, times []time.Time, c any, begin, end int) { each(c.(*C), times, begin, end, at(w).add) },
		combine:  func(w, other any) { at(w).combine(of(other.(*W))) },
		follow:   func(w, later any) { at(w).follow(of(later.(*W))) },
		run:      func(w any, c *runColumns) { at(w).run(c) },
		previous: func(to, from any) { *at(to) = at(from).previous() },
		code:     func(w any, c *coding) { at(w).code(c) },
		between:  func(to, from, next any, s share) { *at(to) = at(from).between(of(next.(*W)), s) },
		has:      func(w any) bool { return !at(w).none() },
		copy:     func(to, from any) { *at(to) = *at(from) },
	}}
}

// counter is what parts need of the statistics of a number.
type counter[S, T any] interface {
	statistics[S, T]
	enter(before, first *S)
}

// numberPart is newPart for a number.
func numberPart[C, W, S any, T Integer | Float, P counter[S, T]](field string, of func(w *W) *S, each func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T))) Part[C, W] {
	p := newPart[C, W, S, T, P](field, of, each)
	p.step = func(to, before, first any) { P(of(to.(*W))).enter(of(before.(*W)), of(first.(*W))) }
	p.numbers = func(times []time.Time, c any, begin, end int, add func(at time.Time, value float64)) {
		each(c.(*C), times, begin, end, func(times []time.Time, values []T) {
			for i, v := range values {
				add(times[i], float64(v))
			}
		})
	}
	return p
}

// IntPart returns the part for an integer field, given the name of its column.
func IntPart[C, W any, T Integer](field string, of func(w *W) *Int[T], in func(c *C) []T) Part[C, W] {
	return numberPart(field, of, all(in))
}

// OptionalIntPart is [IntPart] for a field that events may lack.
func OptionalIntPart[C, W any, T Integer](field string, of func(w *W) *Int[T], in func(c *C) []*T) Part[C, W] {
	return numberPart(field, of, present(in))
}

// FloatPart returns the part for a floating-point field.
func FloatPart[C, W any, T Float](field string, of func(w *W) *Float64[T], in func(c *C) []T) Part[C, W] {
	return numberPart(field, of, all(in))
}

// OptionalFloatPart is [FloatPart] for a field that events may lack.
func OptionalFloatPart[C, W any, T Float](field string, of func(w *W) *Float64[T], in func(c *C) []*T) Part[C, W] {
	return numberPart(field, of, present(in))
}

// ValuesPart returns the part for a field that is no number.
func ValuesPart[C, W, T any](field string, of func(w *W) *Values[T], in func(c *C) []T) Part[C, W] {
	return newPart(field, of, all(in))
}

// OptionalValuesPart is [ValuesPart] for a field that events may lack.
func OptionalValuesPart[C, W, T any](field string, of func(w *W) *Values[T], in func(c *C) []*T) Part[C, W] {
	return newPart(field, of, present(in))
}

// OptionalBytesPart is [OptionalValuesPart] for a field whose Go type is a slice: events that lack
// it have nil.
func OptionalBytesPart[C, W any, T ~[]byte](field string, of func(w *W) *Values[T], in func(c *C) []T) Part[C, W] {
	return newPart(field, of, func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T)) {
		for i, v := range in(c)[begin:end] {
			if v != nil {
				add(times[i:i+1], []T{v})
			}
		}
	})
}

// AnyIntPart is [OptionalIntPart] for values of any types: those that are not a T are ignored.
func AnyIntPart[C, W any, T Integer](field string, of func(w *W) *Int[T], in func(c *C) []any) Part[C, W] {
	return numberPart(field, of, ofType[C, T](in))
}

// AnyFloatPart is like [AnyIntPart] for a floating-point field.
func AnyFloatPart[C, W any, T Float](field string, of func(w *W) *Float64[T], in func(c *C) []any) Part[C, W] {
	return numberPart(field, of, ofType[C, T](in))
}

// AnyForm is how runs store values of any type, and how these compare: as those of generated code, which
// has other types.
type AnyForm struct {
	Zero any                      // of the type of generated code
	To   func(v any) any          // converts a value to that type
	From func(v any) (any, error) // converts it back
}

// AnyValuesPart is like [AnyIntPart] for a field that is no number. It ignores nil.
func AnyValuesPart[C, W any](field string, of func(w *W) *Values[any], in func(c *C) []any, form AnyForm) Part[C, W] {
	p := newPart(field, of, ofType[C, any](in))
	run := p.run
	p.run = func(w any, c *runColumns) {
		c.form = &form
		run(w, c)
	}
	p.combine = func(w, other any) {
		of(w.(*W)).combineBy(of(other.(*W)), func(a, b any) int {
			to, from := reflect.ValueOf(form.To(a)), reflect.ValueOf(form.To(b))
			if !to.IsValid() || !from.IsValid() || to.Type() != from.Type() {
				return 0
			}
			return compare(to, from)
		})
	}
	return p
}

// all passes on all values.
func all[C, T any](in func(c *C) []T) func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T)) {
	return func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T)) {
		add(times, in(c)[begin:end])
	}
}

// ofType passes on the values of type T.
func ofType[C, T any](in func(c *C) []any) func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T)) {
	return func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T)) {
		typed, at := make([]T, 0, end-begin), make([]time.Time, 0, end-begin)
		for i, v := range in(c)[begin:end] {
			if v, ok := v.(T); ok {
				typed, at = append(typed, v), append(at, times[i])
			}
		}
		if len(typed) > 0 {
			add(at, typed)
		}
	}
}

// present passes on the values that are not nil.
func present[C, T any](in func(c *C) []*T) func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T)) {
	return func(c *C, times []time.Time, begin, end int, add func(times []time.Time, values []T)) {
		var one [1]T
		for i, v := range in(c)[begin:end] {
			if v != nil {
				one[0] = *v
				add(times[i:i+1], one[:])
			}
		}
	}
}

// Spec describes the windows of a schema: W is a window, S the series that identifies it, and C
// holds events in columnar form.
type Spec[S, C, W any] struct{ spec }

// spec is a Spec without its type parameters.
type spec struct {
	new    func() any
	assign func(to, from any)
	common func(w any) *Window
	name   func(w, series any) // sets the series
	series func(w any) any     // pointer to it
	times  func(c any) []time.Time
	parts  []part
}

// NewSpec returns the description of windows. common returns what all windows have, series the
// series of a window, and times the times of events. If copies of a window share statistics, *W has
// a method Own, which clones them.
func NewSpec[S, C, W any](common func(w *W) *Window, series func(w *W) *S, times func(c *C) []time.Time, parts ...Part[C, W]) *Spec[S, C, W] {
	s := &Spec[S, C, W]{spec{
		new: func() any { return new(W) },
		assign: func(to, from any) {
			*to.(*W) = *from.(*W)
			if shared, ok := to.(interface{ Own() }); ok {
				shared.Own()
			}
		},
		common: func(w any) *Window { return common(w.(*W)) },
		name:   func(w, of any) { *series(w.(*W)) = *of.(*S) },
		series: func(w any) any { return series(w.(*W)) },
		times:  func(c any) []time.Time { return times(c.(*C)) },
	}}
	for _, p := range parts {
		s.parts = append(s.parts, p.part)
	}
	return s
}

// Clone returns a copy of a window, a *W, that shares nothing with it.
func (s *Spec[S, C, W]) Clone(w any) any {
	c := s.new()
	s.assign(c, w)
	return c
}

// Combine adds a window of another series, with the same start. The result does not depend on the order in
// which the windows of a group are combined, except in the last bits of sums of floating-point numbers.
func (s *Spec[S, C, W]) Combine(to, other *W) { s.combine(to, other) }

// CommonOf is [Spec.Common].
func (s *spec) CommonOf(w any) *Window { return s.common(w) }

// Common returns what all windows have.
func (s *Spec[S, C, W]) Common(w *W) *Window { return s.common(w) }

// Series returns the series of a window.
func (s *Spec[S, C, W]) Series(w *W) *S { return s.series(w).(*S) }

// Counted adds to the fields that are known those that have values in a window; w may be nil. Fields that are no
// numbers are known. It reports whether all are.
func (s *spec) Counted(w any, known []bool) (now []bool, all bool) {
	if known == nil {
		known = make([]bool, len(s.parts))
	}
	all = true
	for i := range s.parts {
		p := &s.parts[i]
		known[i] = known[i] || p.step == nil || w != nil && p.has(w)
		all = all && known[i]
	}
	return known, all
}

// Unknown returns the first of some fields, given the names of their columns, that windows do not
// summarize; empty if there is none.
func (s *Spec[S, C, W]) Unknown(fields []string) string {
	for _, f := range fields {
		if !slices.ContainsFunc(s.parts, func(p part) bool { return p.field == f }) {
			return f
		}
	}
	return ""
}

// Of returns the description of windows with the statistics of some fields, given the names of
// their columns.
func (s *Spec[S, C, W]) Of(fields []string) *Spec[S, C, W] {
	out := *s
	out.parts = nil
	for _, p := range s.parts {
		for _, f := range fields {
			if f == p.field {
				out.parts = append(out.parts, p)
				break
			}
		}
	}
	return &out
}
