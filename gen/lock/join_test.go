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

// layoutOf returns a layout with columns of integers. All but the first begin at a time.
func layoutOf(number int, columns ...string) Layout {
	l := Layout{Number: number, Pattern: codec.BucketNewCells, Precision: 1e9, Delimiter: "#", Families: []Family{{Name: "m"}}}
	l.Segments, l.Bucket = []Segment{{Kind: codec.MetricSegment}}, codec.EndlessBucket
	if number > 1 {
		l.Since = time.Date(2026+number, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for _, key := range columns {
		l.Columns = append(l.Columns, Column{Key: key, Family: "m", Type: schema.Int64})
	}
	return l
}

// with returns a lock of a table.
func with(layouts ...Layout) *Lock {
	return &Lock{Tables: []Table{{Name: "t", Family: "m", Schema: "p.A", Layouts: layouts}}}
}

// TestAcceptedTwice removes a table in which a change was accepted twice, for the same reason.
func TestAcceptedTwice(t *testing.T) {
	other, table := with(layoutOf(1)).Tables[0], with(layoutOf(1)).Tables[0]
	other.Name = "s"
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
	older := func(l Layout) Layout { l.Table = "t"; return l }
	accepted := func(l Layout, change string) Layout {
		l.Since, l.Accepted = time.Time{}, append(slices.Clip(l.Accepted), Acceptance{Change: change, Reason: "a test"})
		return l
	}
	retired := func(l Layout) Layout { l.Columns[len(l.Columns)-1].Retired = true; return l }
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
		{"one side no longer uses a column", with(layoutOf(1, "a", "b")), with(retired(layoutOf(1, "a", "b"))), with(layoutOf(1, "a", "b")), with(retired(layoutOf(1, "a", "b")))},
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
