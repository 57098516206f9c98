package lock

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestJoinContradiction tests that a column to which both sides give another type is named.
func TestJoinContradiction(t *testing.T) {
	with := func(columns ...Column) *Lock {
		l := Layout{Number: 1, Pattern: codec.BucketNewCells, Precision: 1e9, Delimiter: "#", Families: []Family{{Name: "m"}}, Columns: columns}
		l.Segments = []Segment{{Kind: layout.MetricSegment}}
		l.Bucket = codec.Bucket{Months: codec.AllTime, Label: codec.Label{Kind: codec.NoLabel}}
		return &Lock{Tables: []Table{{Name: "t", Family: "m", Schema: "p.A", Layouts: []Layout{l}}}}
	}
	a := Column{Key: "a", Family: "m", Type: schema.Int64}
	x := Column{Key: "x", Family: "m", Type: schema.Int64}
	y := Column{Key: "x", Family: "m", Type: schema.String}
	_, err := Join(Name, with(a), with(a, x), with(a, y))
	if err == nil || !strings.Contains(err.Error(), `column \"x\" int64`) {
		t.Fatalf("got %v, want the column", err)
	}
	gone := x
	gone.Retired = true
	joined, err := Join(Name, with(a, x), with(a, gone), with(a, x))
	if err != nil {
		t.Fatal(err)
	}
	if c := joined.Tables[0].Layouts[0].Columns; len(c) != 2 || !c[1].Retired {
		t.Fatalf("got %v, want a retired column", c)
	}
}
