package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestStateUntilNow reads the newest events of ranges that end about now: the table of states answers what it can.
func TestStateUntilNow(t *testing.T) {
	t.Parallel()
	segments := poleKeys(codec.BucketNewCells)["adjacent"]
	events, _ := poles(codec.BucketNewCells, segments...)
	now, _ := poles(codec.Latest, segments[:len(segments)-1]...)
	events.Table.ID, now.Table.ID, now.Key.Bucket = "events", "now", codec.EndlessBucket
	with := *events
	with.State = now
	bt := serve(t, events, now)
	var all []pole
	for unit := range int64(5) {
		all = append(all, pole{line{"a", "b", unit}, at(3000), 1}, pole{line{"a", "b", unit}, at(3400), 2})
	}
	all = append(all, pole{line{"a", "b", 3}, at(3599), 3}, pole{line{"a", "b", 4}, at(3700), 4})
	w, every := newWriterOf(bt.Client, []*mappingOf[pole]{&with, now}, writeAt(3600)), (&Query{Name: "All"}).Bind(&pole{})
	must(t, w.WriteAll(t.Context(), all))
	dry, err := w.DeleteRange(t.Context(), every, at(3400).Add(1), at(3599).Add(1), DeleteOptions{DryRun: true})
	must(t, err)
	same(t, []int{1, 1}, []int{dry.Tables[0].Events, dry.Tables[1].Events}) // that of unit 3
	newest := func(l *mappingOf[pole], to time.Time) (found []string, tables []string) {
		o := clockAt(3600)
		o.Hooks = Hooks{End: func(_ context.Context, op Operation, _ error) { tables = append(tables, fmt.Sprint(op.Rows, op.Table)) }}
		for e, err := range newReaderOf(bt.Client, l, o).Read(t.Context(), every, at(0), to, ReadOptions{LatestOnly: true}) {
			found = append(found, fmt.Sprint(e.String(), err))
		}
		slices.Sort(found)
		return found, tables
	}
	for seconds, rows := range map[int]string{3800: "5now", 3600: "6now", 3599: "7now", 3541: "7now", 3540: "7now", 3539: "5events", 3200: "5events"} {
		want, _ := newest(events, at(seconds))
		got, read := newest(&with, at(seconds))
		if !slices.Equal(want, got) || len(got) != 5 || strings.ReplaceAll(strings.Join(read, ","), " ", "") != rows {
			t.Errorf("until %d: %v of %v rows, want %v of %s", seconds, got, read, want, rows)
		}
	}
}
