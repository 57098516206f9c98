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

// machine is an event with a series of two values.
type machine struct {
	Series machineSeries
	Time   time.Time
	Level  int64
}

type machineSeries struct {
	Site string
	Unit uint64
}

type machineColumns struct {
	Series []machineSeries
	Time   []time.Time
	Level  []int64
}

// machines returns a mapping of machines.
func machines(table string, pattern codec.Pattern, key codec.Key) *mappingOf[machine] {
	columns := columnsByName[machine, machineColumns](
		SeriesPart(0, func(s *machineSeries, to []any) []any { return append(to, &s.Site, &s.Unit) }), TimePart(1), RequiredColumn(2, "level", codec.Binary.Int64),
	)
	key.Delimiter = "#"
	return newMappingOf(columns, mappingOf[machine]{
		Table: Table{ID: table, Families: []Family{{Name: "f"}}}, Pattern: pattern, Key: key, Precision: time.Millisecond,
		Check: func(*machine) error { return nil },
	})
}

// TestStateUntilNow reads the newest events of ranges that end about now: as callers take the time before they read, the table
// of states answers, but for series with an event after the range, and the operation names it.
func TestStateUntilNow(t *testing.T) {
	t.Parallel()
	segments := []codec.Segment{{Name: "site", Type: codec.StringSegment, Form: codec.KeyForm{Escape: true}}, {Name: "unit", Type: codec.Uint64Segment, Form: codec.KeyForm{Pad: 6}, Series: 1}}
	events := machines("events", codec.BucketNewCells, codec.Key{Segments: append(slices.Clone(segments), codec.Segment{Kind: codec.BucketSegment}), Bucket: bucketOf(24*time.Hour, "2006-01-02")})
	now := machines("now", codec.Latest, codec.Key{Segments: segments, Bucket: codec.EndlessBucket})
	with := *events
	with.State = now
	bt := serve(t, events, now)
	var all []machine
	for unit := range uint64(5) {
		all = append(all, machine{machineSeries{"a", unit}, at(3000), 1}, machine{machineSeries{"a", unit}, at(3400), 2})
	}
	all = append(all, machine{machineSeries{"a", 3}, at(3599), 3}, machine{machineSeries{"a", 4}, at(3700), 4})
	w, every := newWriterOf(bt.Client, []*mappingOf[machine]{&with, now}, writeAt(3600)), (&Query{Name: "All"}).Bind(&machine{})
	must(t, w.WriteAll(t.Context(), all))
	dry, err := w.DeleteRange(t.Context(), every, at(3400).Add(1), at(3599).Add(1), DeleteOptions{DryRun: true})
	if must(t, err); dry.Tables[0].Events != 1 || dry.Tables[1].Events != 1 {
		t.Errorf("the range has the event of unit 3: %+v", dry)
	}
	newest := func(l *mappingOf[machine], to time.Time) (found []string, tables []string) {
		o := clockAt(3600)
		o.Hooks = Hooks{End: func(_ context.Context, op Operation, _ error) { tables = append(tables, fmt.Sprint(op.Rows, op.Table)) }}
		for e, err := range newReaderOf(bt.Client, l, o).Read(t.Context(), every, at(0), to, ReadOptions{LatestOnly: true}) {
			found = append(found, fmt.Sprint(e.Series, e.Time.Unix(), e.Level, err))
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
