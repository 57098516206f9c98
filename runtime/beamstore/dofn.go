package beamstore

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

// registerDoFn makes the DoFns of type *F known to Beam, with a function that returns the
// ProcessElement of one. Beam calls the other methods with reflection, since it calls them
// once for each bundle.
//
// The functions of Beam's package register handle all methods with all possible parameters.
// For each DoFn of each event type, they would add 60 KB of machine code, and take four
// seconds to compile.
func registerDoFn[F any](process func(fn *F) reflectx.Func) {
	t := reflect.TypeFor[F]()
	beam.RegisterType(t)
	reflectx.RegisterStructWrapper(t, func(fn any) map[string]reflectx.Func {
		return map[string]reflectx.Func{"ProcessElement": process(fn.(*F))}
	})
}

// end applies the last DoFn of a pipeline, which emits nothing. It has an output nevertheless, since Prism keeps a processor
// busy while it waits for a bundle without one: work that waits for a server took 25 times as long.
func end(scope beam.Scope, fn any, in beam.PCollection, opts ...beam.Option) {
	beam.Reshuffle(scope, beam.ParDo(scope, fn, in, opts...))
}

// The types below are functions that Beam calls without reflection. They are named like the
// interfaces of package reflectx that they implement, by their numbers of parameters and
// results.
type (
	func2x0 struct {
		reflectx.Func
		call func(a, b any)
	}
	func3x1 struct {
		reflectx.Func
		call func(a, b, c any) any
	}
)

func (f func2x0) Call2x0(a, b any)        { f.call(a, b) }
func (f func3x1) Call3x1(a, b, c any) any { return f.call(a, b, c) }

var (
	_ reflectx.Func2x0 = func2x0{}
	_ reflectx.Func3x1 = func3x1{}
)

// process2x0 and the functions below return a ProcessElement as Beam calls it.
func process2x0[A, B any](f func(A, B)) reflectx.Func {
	return func2x0{reflectx.MakeFunc(f), func(a, b any) { f(a.(A), b.(B)) }}
}

func process3x1[A, B, C any](f func(A, B, C) error) reflectx.Func {
	return func3x1{reflectx.MakeFunc(f), func(a, b, c any) any { return f(a.(A), b.(B), c.(C)) }}
}
