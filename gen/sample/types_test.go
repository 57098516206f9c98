package sample

import (
	"reflect"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestSamples checks that each type has all samples, that these are values of the type, and that blobs keep them.
func TestSamples(t *testing.T) {
	for _, typ := range schema.Types() {
		f := &layout.Field{Name: "field", Number: 1, Type: typ, Enum: codec.Enum{{Number: 1, Name: "a"}, {Number: 2, Name: "b"}}}
		own := samples[typ]
		if own.field == nil || own.vary == nil {
			t.Errorf("samples lacks type %s", typ)
			continue
		}
		first := own.field(f, SeriesTime)
		all := []any{first, own.vary(f, first, 1)}
		if reflect.DeepEqual(first, all[1]) {
			t.Errorf("%s: %v does not vary", typ, first)
		}
		if !typ.Traits().NoKey {
			if own.key == nil || own.first == nil || own.other == nil || own.numbered == nil {
				t.Errorf("samples of type %s lack those of keys", typ)
				continue
			}
			n := Numbered{Index: 1, Fitting: 2, Random: [2]uint64{3 << 40, 4}}
			all = append(append(append(all, own.key(f, codec.KeyForm{})), own.first(f)...), own.numbered(f, codec.KeyForm{}, n))
			all = append(all, own.other(f, own.key(f, codec.KeyForm{}))...)
		}
		for _, v := range all {
			assert.Is(t, nil, value.Check(f, v, layout.FiniteFloats), typ)
			for _, format := range []layout.Format{layout.Protobuf, layout.JSONText} {
				got, blob := []any{nil}, value.NewBlob([]layout.Field{*f}, format)
				if err := blob.Parse(got, blob.Append(nil, []any{v})); err != nil || !value.Equal(v, got[0]) {
					t.Errorf("%s in format %v: %v is read as %v, %v", typ, format, v, got[0], err)
				}
			}
		}
	}
	if got, want := NumberedValue(&layout.Field{Type: schema.Duration}, codec.KeyForm{}, Numbered{Fitting: 3}), time.Duration(3); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
