package window

import (
	"reflect"
	"slices"
	"time"
)

// Events and windows have types of each schema, and folds are compiled once for all of them: a fold knows events as
// a list of slices, and a window as a list of statistics. Where these are in the types of a schema, reflection finds
// once for a list, so that no code of a schema has to say it.

// Slices are events in columnar form: a pointer to each of their slices, in the order of [SlicesOf]. The second one
// is a *[]time.Time.
type Slices []any

// timeSlice is the index of the times of events.
const timeSlice = 1

func (s Slices) times() []time.Time { return *s[timeSlice].(*[]time.Time) }

// SlicesOf returns pointers to the fields of a struct of slices, in their order, given a pointer to it.
func SlicesOf(columns any) Slices {
	v := reflect.ValueOf(columns).Elem()
	return appendFields(make(Slices, 0, v.NumField()), v)
}

// appendFields appends pointers to the fields of a struct.
func appendFields(dst []any, of reflect.Value) []any {
	for i := range of.NumField() {
		dst = append(dst, of.Field(i).Addr().Interface())
	}
	return dst
}

// Summary is a window of any schema: a pointer to it, and to what it consists of.
type Summary struct {
	Window any // *W of the [Spec]
	common *Window
	series any   // *S
	fields []any // the statistics of each part
}

// NewSummary refers to a window: to what all windows have, to its series, and to the statistics of each part of its
// [Spec], which are followed by the sketches of that part.
func NewSummary(window any, common *Window, series any, fields []any) *Summary {
	return &Summary{window, common, series, fields}
}

// Common returns what all windows have.
func (w *Summary) Common() *Window { return w.common }

// Series returns a pointer to the series of the window.
func (w *Summary) Series() any { return w.series }

// Part describes one part of windows: the statistics of a field, whose values are in a slice of events.
type Part struct {
	field    string
	sketches []Part // of the same field; see [With]
	slice    int    // index of the values of events in [Slices]
	at       int    // index of the statistics in a window
	// The statistics of all functions are pointers, and values is a pointer to a slice.
	add      func(s any, times []time.Time, values any, begin, end int)
	combine  func(s, other any)
	follow   func(s, later any)         // adds the statistics of a later window of the same series
	run      func(s any, c *runColumns) // nil if runs cannot have the part
	previous func(to, from any)
	between  func(to, from, next any, at share)
	code     func(s any, c *coding)
	// step adds to a window the step from the last value of an earlier window of a series to the first one of
	// another; nil if the field is no number.
	step func(to, before, first any)
	has  func(s any) bool   // reports whether a window has values
	copy func(to, from any) // sets the statistics of a window to those of another one
	new  func() any         // returns those without values
	// numbers calls add with the values of a number, in order of time; nil if the field is none.
	numbers func(times []time.Time, values any, begin, end int, add func(at time.Time, value float64))
	whole   bool // the numbers are integers
}

// folded are what parts need of statistics and of sketches.
type folded[S any] interface {
	*S
	none() bool
	combine(other *S)
	follow(later *S)
	run(c *runColumns)
	previous() S
	between(next *S, at share) S
	code(c *coding)
}

// statistics are what parts need of the statistics of a field.
type statistics[S, T any] interface {
	folded[S]
	adder[T]
}

// passing passes on the values that events have, in order of time, of those in a slice.
type passing[T any] func(values any, times []time.Time, begin, end int, to adder[T])

// adder gets values in order of time.
type adder[T any] interface {
	add(times []time.Time, values []T)
}

// adderOf is an adder that calls a function. Statistics are one without a function, which would be allocated for each window.
type adderOf[T any] func(times []time.Time, values []T)

func (f adderOf[T]) add(times []time.Time, values []T) { f(times, values) }

// newPart returns the part of a field.
func newPart[S, T any, P statistics[S, T]](field string, slice int, each passing[T]) Part {
	p := foldedPart[S, P](field, slice)
	p.add = func(s any, times []time.Time, values any, begin, end int) { each(values, times, begin, end, s.(P)) }
	return p
}

// foldedPart returns the part of a field, without what adds values.
func foldedPart[S any, P folded[S]](field string, slice int) Part {
	return Part{
		field:    field,
		slice:    slice,
		combine:  func(s, other any) { s.(P).combine(other.(*S)) },
		follow:   func(s, later any) { s.(P).follow(later.(*S)) },
		run:      func(s any, c *runColumns) { s.(P).run(c) },
		previous: func(to, from any) { *to.(*S) = from.(P).previous() },
		code:     func(s any, c *coding) { s.(P).code(c) },
		between:  func(to, from, next any, at share) { *to.(*S) = from.(P).between(next.(*S), at) },
		has:      func(s any) bool { return !s.(P).none() },
		copy:     func(to, from any) { *to.(*S) = *from.(*S) },
		new:      func() any { return new(S) },
	}
}

// counter is what parts need of the statistics of a number.
type counter[S, T any] interface {
	statistics[S, T]
	enter(before, first *S)
}

// numberPart is newPart for a number.
func numberPart[S any, T Integer | Float, P counter[S, T]](field string, slice int, each passing[T]) Part {
	p := newPart[S, T, P](field, slice, each)
	p.step = func(to, before, first any) { to.(P).enter(before.(*S), first.(*S)) }
	p.whole = T(1)/2 == 0
	p.numbers = func(times []time.Time, values any, begin, end int, add func(at time.Time, value float64)) {
		each(values, times, begin, end, adderOf[T](func(times []time.Time, values []T) {
			for i, v := range values {
				add(times[i], float64(v))
			}
		}))
	}
	return p
}

// sketch is a summary of the numbers of a field beside their statistics. A zero one is that of no numbers.
type sketch[S any] interface {
	folded[S]
	add(v float64, whole bool) // a number, which is whole if all of the field are
}

// With returns a part of a number whose statistics in a window are followed by a sketch of its values, in a struct of
// both.
func With[S any, P sketch[S]](of Part) Part {
	p := foldedPart[S, P](of.field, of.slice)
	p.add = func(s any, times []time.Time, values any, begin, end int) {
		x, whole := s.(P), of.whole
		of.numbers(times, values, begin, end, func(_ time.Time, v float64) { x.add(v, whole) })
	}
	p.copy, p.numbers = p.previous, of.numbers
	of.sketches = append(slices.Clip(of.sketches), p)
	return of
}

// New returns statistics without values: pointers to those of the field, and to its sketches.
func (p Part) New() []any {
	all := []any{p.new()}
	for _, x := range p.sketches {
		all = append(all, x.new())
	}
	return all
}

// IntPart returns the part for an integer field, given the name of its column and the index of its values in
// [Slices], a *[]T.
func IntPart[T Integer](field string, slice int) Part {
	return numberPart[Int[T]](field, slice, all[T])
}

// OptionalIntPart is [IntPart] for a field that events may lack: its values are a *[]*T.
func OptionalIntPart[T Integer](field string, slice int) Part {
	return numberPart[Int[T]](field, slice, present[T])
}

// FloatPart is [IntPart] for a floating-point field.
func FloatPart[T Float](field string, slice int) Part {
	return numberPart[Float64[T]](field, slice, all[T])
}

// OptionalFloatPart is [FloatPart] for a field that events may lack.
func OptionalFloatPart[T Float](field string, slice int) Part {
	return numberPart[Float64[T]](field, slice, present[T])
}

// ValuesPart is [IntPart] for a field that is no number.
func ValuesPart[T any](field string, slice int) Part {
	return newPart[Values[T]](field, slice, all[T])
}

// OptionalValuesPart is [ValuesPart] for a field that events may lack.
func OptionalValuesPart[T any](field string, slice int) Part {
	return newPart[Values[T]](field, slice, present[T])
}

// OptionalBytesPart is [OptionalValuesPart] for a field whose Go type is a slice: events that lack it have nil.
func OptionalBytesPart[T ~[]byte](field string, slice int) Part {
	return newPart[Values[T]](field, slice, func(values any, times []time.Time, begin, end int, to adder[T]) {
		for i, v := range (*values.(*[]T))[begin:end] {
			if v != nil {
				to.add(times[i:i+1], []T{v})
			}
		}
	})
}

// AnyIntPart is [OptionalIntPart] for values of any types, a *[]any: those that are not a T are ignored.
func AnyIntPart[T Integer](field string, slice int) Part {
	return numberPart[Int[T]](field, slice, ofType[T])
}

// AnyFloatPart is like [AnyIntPart] for a floating-point field.
func AnyFloatPart[T Float](field string, slice int) Part {
	return numberPart[Float64[T]](field, slice, ofType[T])
}

// AnyForm is how runs store values of any type, and how these compare: as those of generated code, which
// has other types.
type AnyForm struct {
	Zero any                      // of the type of generated code
	To   func(v any) any          // converts a value to that type
	From func(v any) (any, error) // converts it back
}

// AnyValuesPart is like [AnyIntPart] for a field that is no number. It ignores nil.
func AnyValuesPart(field string, slice int, form AnyForm) Part {
	p := newPart[Values[any]](field, slice, ofType[any])
	run := p.run
	p.run = func(s any, c *runColumns) {
		c.form = &form
		run(s, c)
	}
	p.combine = func(s, other any) {
		s.(*Values[any]).combineBy(other.(*Values[any]), func(a, b any) int {
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
func all[T any](values any, times []time.Time, begin, end int, to adder[T]) {
	to.add(times, (*values.(*[]T))[begin:end])
}

// ofType passes on the values of type T.
func ofType[T any](values any, times []time.Time, begin, end int, to adder[T]) {
	typed, at := make([]T, 0, end-begin), make([]time.Time, 0, end-begin)
	for i, v := range (*values.(*[]any))[begin:end] {
		if v, ok := v.(T); ok {
			typed, at = append(typed, v), append(at, times[i])
		}
	}
	if len(typed) > 0 {
		to.add(at, typed)
	}
}

// present passes on the values that are not nil.
func present[T any](values any, times []time.Time, begin, end int, to adder[T]) {
	var one [1]T
	for i, v := range (*values.(*[]*T))[begin:end] {
		if v != nil {
			one[0] = *v
			to.add(times[i:i+1], one[:])
		}
	}
}

// Spec describes the windows of a schema.
type Spec struct {
	new   func() *Summary
	chart func() *Summary // of a new Chart
	refer func(w any) *Summary
	name  func(to, series any) // sets the series
	parts []Part               // each is followed by its sketches
}

// NewSpec returns the description of windows. W is a struct of a [Window], a series S, and the statistics of each part.
func NewSpec[S, W any](parts ...Part) *Spec {
	parts = slices.Clone(parts)
	return NewSpecOf[S, W](func(w any) *Summary {
		v := reflect.ValueOf(w).Elem()
		fields := make([]any, 0, v.NumField())
		for i := range parts {
			if of := v.Field(2 + i); parts[i].sketches == nil {
				fields = append(fields, of.Addr().Interface())
			} else {
				fields = appendFields(fields, of)
			}
		}
		return &Summary{w, v.Field(0).Addr().Interface().(*Window), v.Field(1).Addr().Interface(), fields}
	}, parts...)
}

// NewSpecOf is [NewSpec] for windows that are no such structs, given a function that refers to one, a *W.
func NewSpecOf[S, W any](refer func(w any) *Summary, parts ...Part) *Spec {
	var all []Part
	for i := range parts {
		all = append(append(all, parts[i]), parts[i].sketches...)
	}
	for i := range all {
		all[i].at = i
	}
	return &Spec{
		new: func() *Summary { return refer(new(W)) },
		chart: func() *Summary {
			c := new(Chart[S])
			return &Summary{c, &c.Window, &c.Series, []any{&c.points}}
		},
		refer: refer,
		name:  func(to, series any) { *to.(*S) = *series.(*S) },
		parts: all,
	}
}

// fields yields the parts of each field, with the index of the first.
func (s *Spec) fields(yield func(i int, of []Part) bool) {
	for i, next := 0, 0; i < len(s.parts); i = next {
		if next = i + 1 + len(s.parts[i].sketches); !yield(i, s.parts[i:next]) {
			return
		}
	}
}

// Refer returns a reference to a window, given a pointer to it.
func (s *Spec) Refer(w any) *Summary { return s.refer(w) }

// Of returns the description of windows with the statistics of some fields, given the names of their columns.
func (s *Spec) Of(fields []string) *Spec {
	out := *s
	out.parts = slices.DeleteFunc(slices.Clone(s.parts), func(p Part) bool { return !slices.Contains(fields, p.field) })
	return &out
}

// Clone returns a copy of a window that shares nothing with it.
func (s *Spec) Clone(w *Summary) *Summary {
	c := s.new()
	s.assign(c, w)
	return c
}

// assign sets a window to another one.
func (s *Spec) assign(to, from *Summary) {
	*to.common = *from.common
	s.name(to.series, from.series)
	for i := range s.parts {
		p := &s.parts[i]
		p.copy(to.fields[p.at], from.fields[p.at])
	}
}

// SetSeries sets a series to another one, given pointers.
func (s *Spec) SetSeries(to, series any) { s.name(to, series) }

// Counted adds to the fields that are known those that have values in a window; w may be nil. Fields that are no
// numbers are known. It reports whether all are.
func (s *Spec) Counted(w *Summary, known []bool) (now []bool, all bool) {
	if known == nil {
		known = make([]bool, len(s.parts))
	}
	all = true
	for i := range s.parts {
		p := &s.parts[i]
		known[i] = known[i] || p.step == nil || w != nil && p.has(w.fields[p.at])
		all = all && known[i]
	}
	return known, all
}

// Unknown returns the first of some fields, given the names of their columns, that windows do not
// summarize; empty if there is none.
func (s *Spec) Unknown(fields []string) string {
	for _, f := range fields {
		if !slices.ContainsFunc(s.parts, func(p Part) bool { return p.field == f }) {
			return f
		}
	}
	return ""
}
