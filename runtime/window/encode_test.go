package window

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type kind int32

// everything has statistics of all kinds of values.
type everything struct {
	Window
	Series string
	Int    Int[int32]
	Uint   Int[uint64]
	Took   Int[time.Duration]
	Real   Float64[float32]
	Text   Values[string]
	Is     Values[bool]
	Kind   Values[kind]
	At     Values[time.Time]
	Raw    Values[[]byte]
	ID     Values[[16]byte]
}

type everythingColumns struct {
	times []time.Time
	ints  []int32
	uints []uint64
	took  []time.Duration
	reals []float32
	texts []string
	is    []bool
	kinds []kind
	ats   []time.Time
	raws  [][]byte
	ids   [][16]byte
}

var everythingSpec = NewSpec(
	func(w *everything) *Window { return &w.Window },
	func(w *everything) *string { return &w.Series },
	func(c *everythingColumns) []time.Time { return c.times },
	IntPart("int", func(w *everything) *Int[int32] { return &w.Int }, func(c *everythingColumns) []int32 { return c.ints }),
	IntPart("uint", func(w *everything) *Int[uint64] { return &w.Uint }, func(c *everythingColumns) []uint64 { return c.uints }),
	IntPart("took", func(w *everything) *Int[time.Duration] { return &w.Took }, func(c *everythingColumns) []time.Duration { return c.took }),
	FloatPart("real", func(w *everything) *Float64[float32] { return &w.Real }, func(c *everythingColumns) []float32 { return c.reals }),
	ValuesPart("text", func(w *everything) *Values[string] { return &w.Text }, func(c *everythingColumns) []string { return c.texts }),
	ValuesPart("is", func(w *everything) *Values[bool] { return &w.Is }, func(c *everythingColumns) []bool { return c.is }),
	ValuesPart("kind", func(w *everything) *Values[kind] { return &w.Kind }, func(c *everythingColumns) []kind { return c.kinds }),
	ValuesPart("at", func(w *everything) *Values[time.Time] { return &w.At }, func(c *everythingColumns) []time.Time { return c.ats }),
	ValuesPart("raw", func(w *everything) *Values[[]byte] { return &w.Raw }, func(c *everythingColumns) [][]byte { return c.raws }),
	ValuesPart("id", func(w *everything) *Values[[16]byte] { return &w.ID }, func(c *everythingColumns) [][16]byte { return c.ids }),
)

// TestEncoding checks that windows are the same after encoding and parsing, and that parts of an
// encoding are none.
func TestEncoding(t *testing.T) {
	at := time.Date(2026, 3, 5, 12, 0, 0, 5, time.UTC)
	c := &everythingColumns{
		[]time.Time{at, at.Add(time.Minute)}, []int32{math.MinInt32, 7}, []uint64{math.MaxUint64, math.MaxUint64}, []time.Duration{-time.Hour, 1},
		[]float32{float32(math.Inf(-1)), 0.1}, []string{"", "é\xff"}, []bool{true, false}, []kind{3, -1}, []time.Time{{}, at}, [][]byte{nil, {}}, [][16]byte{{1, 255}, {}},
	}
	from, to := at.Add(-time.Hour), at.Add(5*time.Hour)
	f, err := everythingSpec.Start(Every(time.Hour), from, to, Options{
		Fill: FillPrevious, ID: func(any) string { return "" }, Clone: func(series any) any { return series },
	}, func(w any) bool {
		encoded := everythingSpec.Append([]byte("x"), w.(*everything))[1:]
		got := everything{Series: w.(*everything).Series}
		if err := everythingSpec.Parse(&got, encoded); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*w.(*everything), got, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
		for n := range encoded {
			var part everything
			if err := everythingSpec.Parse(&part, encoded[:n]); !errors.Is(err, ErrEncoding) {
				t.Fatalf("%d of %d bytes: %v", n, len(encoded), err)
			}
		}
		if err := everythingSpec.Parse(&got, append(encoded, 0)); !errors.Is(err, ErrEncoding) {
			t.Error(err)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	of := "s"
	if _, err := f.Add(&of, c); err != nil {
		t.Fatal(err)
	}
	f.End()
}

// FuzzParse checks that no bytes make Parse panic, or use memory beyond their size.
func FuzzParse(f *testing.F) {
	f.Add(everythingSpec.Append(nil, new(everything)))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var w everything
		if err := everythingSpec.Parse(&w, encoded); err != nil && !errors.Is(err, ErrEncoding) {
			t.Error(err)
		}
	})
}
