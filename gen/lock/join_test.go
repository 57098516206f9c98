package lock

import (
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// merge returns the lock of a file that has the lines of both sides, which follow one epoch.
func merge(base, ours, theirs *Lock) (*Lock, error) {
	first := new(Lock).Next(base.Tables)
	return Parse(Name, append(first.Next(ours.Tables).Text(), first.Next(theirs.Tables).Text()...))
}

// TestJoinColumns tests that a column to which both sides give another type has that of one of them, and that one which a side
// no longer uses is retired.
func TestJoinColumns(t *testing.T) {
	with := func(columns ...Column) *Lock {
		l := Layout{Number: 1, Pattern: codec.BucketNewCells, Precision: 1e9, Delimiter: "#", Families: []Family{{Name: "m"}}, Columns: columns}
		l.Segments = []Segment{{Kind: codec.MetricSegment}}
		l.Bucket = codec.EndlessBucket
		return &Lock{Tables: []Table{{Name: "t", Family: "m", Schema: "p.A", Layouts: []Layout{l}}}}
	}
	a := Column{Key: "a", Family: "m", Type: schema.Int64}
	x := Column{Key: "x", Family: "m", Type: schema.Int64}
	y := Column{Key: "x", Family: "m", Type: schema.String}
	gone := x
	gone.Retired = true
	for _, tt := range []struct {
		base, ours, theirs *Lock
		want               []Column
	}{
		{with(a), with(a, x), with(a, y), []Column{x, y}},
		{with(a, x), with(a, gone), with(a, x), []Column{gone}},
	} {
		joined, err := merge(tt.base, tt.ours, tt.theirs)
		assert.Must(t, err)
		c := joined.Tables[0].Layouts[0].Columns
		if len(c) != 2 || !slices.ContainsFunc(tt.want, func(w Column) bool { return w.Type == c[1].Type && w.Retired == c[1].Retired }) {
			t.Errorf("got %v, want one of %v", c, tt.want)
		}
	}
}

// TestAcceptedTwice removes a table in which a change was accepted twice, for the same reason.
func TestAcceptedTwice(t *testing.T) {
	l := Layout{Number: 1, Pattern: codec.BucketNewCells, Precision: 1e9, Delimiter: "#", Families: []Family{{Name: "m"}}}
	l.Segments, l.Bucket = []Segment{{Kind: codec.MetricSegment}}, codec.EndlessBucket
	other, table := Table{Name: "s", Family: "m", Schema: "p.A", Layouts: []Layout{l}}, Table{Name: "t", Family: "m", Schema: "p.A", Layouts: []Layout{l}}
	at := new(Lock).Next([]Table{other, table})
	for range 2 {
		table.Accepted = append(slices.Clip(table.Accepted), Acceptance{Change: "E22:t", Reason: "a test"})
		at = at.Next([]Table{other, table})
	}
	for n, at := range []*Lock{at, at.Next([]Table{other})} {
		got, err := Parse(Name, at.Text())
		assert.Must(t, err)
		if len(got.Tables) != 2-n || n == 0 && len(got.Tables[1].Accepted) != 2 {
			t.Errorf("got %v", got.Tables)
		}
	}
}

// TestJoinLayouts tests that layouts which one side has added or removed are joined as a whole, also if the other side has
// changed the table, too.
func TestJoinLayouts(t *testing.T) {
	layoutOf := func(number int, columns ...string) Layout {
		l := Layout{Number: number, Pattern: codec.BucketNewCells, Precision: 1e9, Delimiter: "#", Families: []Family{{Name: "m"}}}
		l.Segments = []Segment{{Kind: codec.MetricSegment}}
		l.Bucket = codec.EndlessBucket
		if number > 1 {
			l.Since = time.Date(2026+number, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		for _, key := range columns {
			l.Columns = append(l.Columns, Column{Key: key, Family: "m", Type: schema.Int64})
		}
		return l
	}
	older := func(l Layout) Layout { l.Table = "t"; return l }
	accepted := func(l Layout, change string) Layout {
		l.Since, l.Accepted = time.Time{}, append(slices.Clip(l.Accepted), Acceptance{Change: change, Reason: "a test"})
		return l
	}
	with := func(layouts ...Layout) *Lock {
		return &Lock{Tables: []Table{{Name: "t", Family: "m", Schema: "p.A", Layouts: layouts}}}
	}
	one := with(layoutOf(1, "a"))
	two := with(layoutOf(2, "a"), older(layoutOf(1, "a")))
	for _, tt := range []struct {
		name                     string
		base, ours, theirs, want *Lock
	}{
		{"one side adds a layout", one, two, one, two},
		{"one side adds a layout, the other a column", one, two, with(layoutOf(1, "a", "b")), with(layoutOf(2, "a"), older(layoutOf(1, "a", "b")))},
		{"both add the same layout with different columns", one, with(layoutOf(2, "a", "b"), older(layoutOf(1, "a", "b"))), with(layoutOf(2, "a", "c"), older(layoutOf(1, "a", "c"))),
			with(layoutOf(2, "a", "b", "c"), older(layoutOf(1, "a", "b", "c")))},
		{"one side removes a layout", two, with(layoutOf(2, "a")), two, with(layoutOf(2, "a"))},
		{"one side removes a layout, the other adds a column", two, with(layoutOf(2, "a")), with(layoutOf(2, "a", "b"), older(layoutOf(1, "a", "b"))), with(layoutOf(2, "a", "b"))},
		{"one side accepts a change, the other adds a column", one, with(accepted(layoutOf(2, "a"), "E15:t/m"), layoutOf(1, "a")), with(layoutOf(1, "a", "b")),
			with(accepted(layoutOf(2, "a"), "E15:t/m"), layoutOf(1, "a", "b"))},
	} {
		for _, sides := range [][2]*Lock{{tt.ours, tt.theirs}, {tt.theirs, tt.ours}} {
			got, err := merge(tt.base, sides[0], sides[1])
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			} else if string((&Lock{Tables: got.Tables}).Text()) != string(tt.want.Text()) {
				t.Errorf("%s: got\n%s\nwant\n%s", tt.name, (&Lock{Tables: got.Tables}).Text(), tt.want.Text())
			}
		}
	}
}
