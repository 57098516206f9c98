package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/window"
)

// TestRunsAreChecked checks that exactly the runs that differ from the events of their buckets are found, with their
// first wrong window, and that --all replaces exactly these, unless events may have expired.
func TestRunsAreChecked(t *testing.T) {
	for _, l := range rolledMappings() {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			bt := newBigtable(t, l)
			const n, now = 5, 86400*5 + 3600
			plain := *l
			plain.Rollup = nil
			write := func(l *mappingOf[sample], events ...sample) {
				t.Helper()
				must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(now)).WriteAll(t.Context(), events))
			}
			var events []sample
			for i := range n * 24 {
				events = append(events, sample{Series: "s", Time: at(i*3600 + 60), Value: uint64(i)})
			}
			write(l, events...)
			expect := func(what string, now, compared int, windows ...time.Time) []*RunError {
				t.Helper()
				p, err := newRollupPartsOf(bt.Client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, rollupNow(now))
				must(t, err)
				got, wrong, at := 0, []*RunError(nil), []time.Time(nil)
				for i := range p.First() {
					n, err := p.Compare(t.Context(), i, KeyRange{}, func(e *RunError) bool {
						wrong, at = append(wrong, e), append(at, e.Window)
						return true
					})
					must(t, err)
					got += n
				}
				slices.SortFunc(at, time.Time.Compare)
				if got != compared || !slices.EqualFunc(windows, at, time.Time.Equal) {
					t.Fatalf("%s: %d compared, %v", what, got, wrong)
				}
				return wrong
			}
			expect("no runs", now, 0)
			buckets := int(roll(t, bt, l, rollupNow(now)).Sealed)
			expect("runs", now, buckets)
			// Another value in the first bucket, and an event more in the last one, in a window of its own or not.
			write(&plain, sample{Series: "s", Time: at(7200 + 60), Value: 1000})
			e := expect("a value", now, buckets, at(7200))[0]
			if !errors.Is(e, ErrWrongRun) || !strings.Contains(e.Error(), "2021-03-05T02:00:00Z") || !strings.HasPrefix(e.Column, "h:r") || e.Row == "" || !strings.HasSuffix(l.Table.ID, e.Table) {
				t.Error(e)
			}
			w := newWriterOf(bt.Client, []*mappingOf[sample]{&plain}, writeAt(now))
			_, err := w.DeleteRange(t.Context(), seriesOf(sample{Series: "s"}), at(86400*n-3600), at(86400*n))
			must(t, err)
			if buckets > 1 {
				expect("an event less", now, buckets, at(7200), at(86400*n-3600))
			}
			// Only the wrong runs are replaced.
			wrong, o := int64(min(2, buckets)), rollupNow(now)
			before, _ := rollupCells(t, bt, l.Table.ID)
			o.All = true
			for _, o.DryRun = range []bool{true, false} {
				if report := roll(t, bt, l, o); report.Noted != wrong || !o.DryRun && report.Sealed != wrong {
					t.Errorf("%+v", report)
				}
			}
			same(t, allWindows(t, bt, &plain, now), allWindows(t, bt, l, now))
			after, _ := rollupCells(t, bt, l.Table.ID)
			maps.DeleteFunc(before, func(row string, names []string) bool { return slices.Equal(names, after[row]) })
			same(t, []int{buckets, int(wrong)}, []int{len(after), len(before)})
			// Reads of a row with a mark use its events.
			write(l, sample{Series: "s", Time: at(86400*n - 7200), Value: 5}, sample{Series: "s", Time: at(10800), Value: 5})
			expect("marks", now, max(0, buckets-2))
			roll(t, bt, l, rollupNow(now))
			expect("again", now, buckets)
			if l.Table.Families[0].GC.MaxAge > 0 { // events may have expired
				write(&plain, sample{Series: "s", Time: at(3600), Value: 9})
				o.Now = rollupNow(86400*40 - 3600).Now
				same(t, int64(0), roll(t, bt, l, o).Noted)
			}
			damageRuns(t, bt, l, func(v []byte) []byte { return v[:len(v)-1] })
			for _, e := range expect("damage", now, buckets, make([]time.Time, buckets)...) {
				if !errors.Is(e, window.ErrRun) || e.Reason() != e.Err.Error() {
					t.Error(e)
				}
			}
			if l.Table.Families[0].GC.MaxAge > 0 {
				expect("expired", 86400*100, 0)
			}
		})
	}
}

// TestChecksEnd checks that a check ends when its caller has enough.
func TestChecksEnd(t *testing.T) {
	l := rolled(days(), 0)
	bt := newBigtable(t, l)
	unmarked(t, bt, l, 3, 2)
	o := rollupNow(86400*2 + 3600)
	o.All = true
	roll(t, bt, l, o)
	damageRuns(t, bt, l, func([]byte) []byte { return nil })
	p, err := newRollupPartsOf(bt.Client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
	must(t, err)
	var found []string
	compared, err := p.Compare(t.Context(), 0, KeyRange{Start: "s01"}, func(e *RunError) bool {
		found = append(found, e.Row)
		return len(found) < 3
	})
	must(t, err)
	same(t, "3 [s01#2021-03-05 s01#2021-03-06 s02#2021-03-05]", fmt.Sprint(compared, " ", found))
}
