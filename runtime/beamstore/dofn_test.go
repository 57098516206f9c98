package beamstore

import (
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

// probe is an event, registered as generated code does it.
type probe struct{ N int }

var _ = Register(&Schema[probe]{Encode: func(probe) []byte { return nil }, Decode: func([]byte) (probe, error) { return probe{}, nil }})

// Beam calls ProcessElement for each event. It must find the functions that need no
// reflection for that, and its own checks of DoFns must accept them.
func TestEventsWithoutReflection(t *testing.T) {
	for name, c := range map[string]struct {
		fn   any
		fast func(reflectx.Func) bool
	}{
		"write":  {&writeFn[probe]{}, is[reflectx.Func3x1]},
		"series": {&seriesFn[probe]{}, is[reflectx.Func2x0]},
		"line":   {&lineFn[probe]{}, is[reflectx.Func2x0]},
	} {
		fn, err := graph.NewDoFn(c.fn)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !c.fast(fn.ProcessElementFn().Fn) {
			t.Errorf("%s: %T", name, fn.ProcessElementFn().Fn)
		}
	}
}

func is[F any](f reflectx.Func) bool { _, ok := f.(F); return ok }
