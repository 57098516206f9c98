package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// rolled returns a mapping with a rollup by hours, whose events live for some time; 0 for ever.
func rolled(l *mappingOf[sample], ttl time.Duration) *mappingOf[sample] {
	if ttl > 0 {
		l.Table.Families[0].GC = codec.GCRule{Kind: codec.GCMaxAge, MaxAge: ttl}
		l.Table.Families[0].Life = codec.Lifetime{}.Under(l.Table.Families[0].GC, 0)
	}
	l.Rollup = &codec.Rollup{Every: time.Hour, After: 30 * time.Minute, Family: "h", GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 1000 * 24 * time.Hour}}
	return l
}

// TestFamiliesWithRollup checks that setup knows all families of a rollup, whichever of the layouts has it.
func TestFamiliesWithRollup(t *testing.T) {
	for _, newest := range []bool{true, false} {
		older, newer := days(), days()
		if newest {
			newer = rolled(newer, 0)
		} else {
			older = rolled(older, 0)
		}
		newer.Older = []*mappingOf[sample]{older}
		older.Table.Families = append(older.Table.Families, Family{Name: "gone"})
		got := map[string]bool{}
		for _, f := range Tables(allGiven([]*mappingOf[sample]{newer}))[0].Families {
			got[f.Name] = f.Rollup
		}
		same(t, map[string]bool{newer.Table.Families[0].Name: true, "h": true, "gone": !newest}, got)
		same(t, false, newer.Table.Families[0].Rollup || older.Table.Families[0].Rollup) // the mappings have not changed
	}
}

// rollupNow returns options of a rollup at a time, which does not wait.
func rollupNow(seconds int) RollupOptions {
	return RollupOptions{Now: func() time.Time { return at(seconds) }, Sleep: noSleep}
}

// noSleep does not wait.
func noSleep(context.Context, time.Duration) error { return nil }

// roll summarizes events.
func roll(t *testing.T, bt *storetest.Bigtable, l *mappingOf[sample], o RollupOptions) RollupReport {
	t.Helper()
	report, err := runRollup(t.Context(), bt.Client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
	must(t, err)
	return report
}

// rolledMappings are mappings with a rollup: of all patterns and forms of keys that have one.
func rolledMappings() (all []*mappingOf[sample]) {
	for _, l := range partedMappings() {
		if l.Pattern == codec.BucketNewCells && !l.Table.hasClasses() {
			all = append(all, rolled(l, 40*24*time.Hour))
		}
	}
	fine := rolled(offsetBlobs(), 0)
	fine.Table.ID += "_kept"
	return append(all, rolled(blobs(days()), 40*24*time.Hour), rolled(offsetBlobs(), 40*24*time.Hour), fine, rolled(unsorted(days()), 40*24*time.Hour))
}

// inShort returns the windows of a read: the series, when each begins, in seconds, its events, and ! if it is inexact.
func inShort(t *testing.T, bt *storetest.Bigtable, l *mappingOf[sample], now int, series string, from, to int, width window.Width, opts ...WindowOptions) (text string, failed error) {
	t.Helper()
	of, op := everySample, Operation{}
	if series != "" {
		of = seriesOf(sample{Series: series})
	}
	for w, err := range readWindows(t.Context(), newReaderOf(bt.Client, l, tells(now, &op)), intoColumns(l.untyped()), sampleWindows, of, at(from), at(to), width, opts...) {
		if err != nil {
			failed = err // windows of others follow
			continue
		}
		text += fmt.Sprintf(" %s %d:%d", w.Series, int(w.Start.Sub(day0).Seconds()), w.Events)
		if w.Inexact {
			text += "!"
		}
	}
	if strings.Contains(text, "!") != (op.Inexact > 0) {
		t.Errorf("%s: %+v", text, op)
	}
	return strings.TrimSpace(text), failed
}

// summarized writes events, and summarizes them.
func summarized(t *testing.T, l *mappingOf[sample], events ...sample) *storetest.Bigtable {
	t.Helper()
	bt := holding(t, l, 86400*3, events)
	roll(t, bt, l, rollupNow(86400*4))
	return bt
}

// TestRollupDryDeletion checks that a dry run of a deletion counts what the deletion does, with marks of the rollup.
func TestRollupDryDeletion(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := summarized(t, l, sampleAt(60, 7), sampleAt(61, 7), sampleAt(86460, 8))
	w, of := newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400*3)), seriesOf(sampleAt(0, 0))
	dry, err := w.DeleteRange(t.Context(), of, at(0), at(86400*2), DeleteOptions{DryRun: true})
	must(t, err)
	deleted, err := w.DeleteRange(t.Context(), of, at(0), at(86400*2))
	must(t, err)
	same(t, []any{dry.String(), 2}, []any{deleted.String(), deleted.Tables[0].Rows})
}

// TestRollupExpired checks which windows are inexact once events have expired: those that runs do not fill, whose
// increase begins in one of these, or whose runs have expired in part. None are left out, in no kind of table.
func TestRollupExpired(t *testing.T) {
	narrow, whole, fields := rolled(days(), 40*24*time.Hour), rolled(days(), 40*24*time.Hour), rolled(unsorted(days()), 40*24*time.Hour)
	fields.Rollup.Fields = []string{"note"}
	before, since := rolled(days(), 40*24*time.Hour), rolled(days(), 40*24*time.Hour) // of two layouts, one has a rollup
	for l, rolls := range map[*mappingOf[sample]]bool{before: false, since: true} {
		other := *l
		if rolls {
			other.Rollup = nil
		} else {
			l.Rollup = nil
		}
		adjusted(&other, func(m *mapping) { m.columns = intoColumns(m).columns })
		l.Since, l.Older = at(86400), []*mappingOf[sample]{&other}
	}
	s := func(series string, n int) sample { return sample{Series: series, Time: at(n), Value: uint64(n)} }
	bts := map[*mappingOf[sample]]*storetest.Bigtable{
		narrow: summarized(t, narrow, s("s", 60), s("s", 3700), s("s", 7300)),
		whole:  summarized(t, whole, s("s", 60), s("s", 86400+60), s("s", 86400*2+60)),
		fields: summarized(t, fields, s("a", 60), s("b", 3700)),
		before: summarized(t, before, s("s", 60), s("s", 86400+60)),
		since:  summarized(t, since, s("s", 60), s("s", 86400+60)),
	}
	const day, late = 86400, 86400 * 100
	none := WindowOptions{Fields: []Field{}}
	for _, tt := range []struct {
		l        *mappingOf[sample]
		now      int
		series   string
		from, to int
		width    window.Width
		o        WindowOptions
		want     string
	}{
		{narrow, late, "s", 0, day, window.Every(time.Hour), none, "s 0:1 s 3600:1 s 7200:1"},
		{narrow, late, "s", 0, day, window.Every(30 * time.Minute), none, "s 0:0! s 1800:0! s 3600:0! s 5400:0! s 7200:0! s 9000:0!"},
		{narrow, late, "s", 0, day, window.Every(90 * time.Minute), none, "s 0:1! s 5400:1!"},
		{narrow, late, "s", 1800, 9000, window.Every(time.Hour), WindowOptions{}, "s 0:0! s 3600:1! s 7200:0!"},
		{narrow, late, "s", 0, day, window.Every(2 * time.Hour), WindowOptions{}, "s 0:2 s 7200:1"},
		{whole, day*1001 - 7200, "s", 0, day * 3, window.Whole(), WindowOptions{}, "s 0:3"},
		{whole, day * 1001, "s", 0, day * 3, window.Whole(), WindowOptions{}, "s 0:2!"},
		{whole, day * 1001, "s", day, day * 3, window.Whole(), WindowOptions{NewestFirst: true}, "s 86400:2"},
		{whole, day * 1002, "s", 0, day * 3, window.Whole(), WindowOptions{NewestFirst: true}, "s 0:1!"},
		{whole, day * 1003, "s", 0, day * 3, window.Whole(), WindowOptions{}, ""},
		{before, late, "s", 0, 2 * day, window.Whole(), WindowOptions{}, "s 0:1!"},
		{before, late, "s", 0, 2 * day, window.Every(day * time.Second), none, "s 0:1"},
		{since, day * 4, "s", 0, 2 * day, window.Whole(), none, "s 0:2"},
		{since, late, "s", 0, 2 * day, window.Whole(), none, "s 0:1!"},
		{since, late, "s", 3600, 2 * day, window.Months(1, time.UTC), none, "s -345600:1!"},
		{since, late, "s", 0, 2 * day, window.Every(day * time.Second), WindowOptions{NewestFirst: true}, "s 86400:1"},
		{fields, day * 4, "", 0, day, window.Every(time.Hour), WindowOptions{}, "a 0:1 b 3600:1"},
		{fields, day * 4, "", 0, day, window.Every(time.Hour), none, "a 0:1 b 3600:1"},
		{fields, late, "", 0, day, window.Every(time.Hour), none, "a 0:1 b 3600:1"},
		{fields, late, "b", 0, 3 * 3600, window.Every(time.Hour), WindowOptions{}, "b 0:0! b 3600:1! b 7200:0!"},
	} {
		got, err := inShort(t, bts[tt.l], tt.l, tt.now, tt.series, tt.from, tt.to, tt.width, tt.o)
		must(t, err)
		assert.Same(t, tt.want, got, tt.l.Table.ID, tt.now, tt.from, tt.to, tt.o)
	}
	_, err := inShort(t, bts[since], since, day*1003, "s", 0, 2*day, window.Every(0))
	assert.Is(t, window.ErrWidth, err)
}

// TestRollupRequests checks that windows of runs take no more requests than those of events, and fewer cells.
func TestRollupRequests(t *testing.T) {
	t.Parallel()
	l := rolled(days(), 40*24*time.Hour)
	const series, n, now = 3, 6, 86400*6 + 3600
	var events []sample
	for i := range series * n * 24 * 2 {
		events = append(events, sample{Series: fmt.Sprint("s", i%series), Time: at(i / series * 1800), Value: uint64(i)})
	}
	bt := holding(t, l, now, events)
	roll(t, bt, l, rollupNow(now))
	kolkata := time.FixedZone("Kolkata", 19800)
	for _, tt := range []struct {
		from, to int // in minutes
		width    window.Width
		runs     int // of each series
	}{
		{0, n * 1440, window.Every(time.Hour), n},
		{0, n * 1440, window.Whole(), n},
		{30, n * 1440, window.Every(time.Hour), n - 1},
		{0, n*1440 - 1, window.Every(24 * time.Hour), n - 1},
		{61, n*1440 - 61, window.Every(2 * time.Hour), n - 2},
		{61, n*1440 - 61, window.Whole(), n - 2},
		{60, n*1440 - 60, window.Every(2 * time.Hour), n},
		{100, 130, window.Every(2 * time.Hour), 0},
		{0, n * 1440, window.Every(20 * time.Minute), 0},
		{0, n * 1440, window.Every(90 * time.Minute), 0},
		{0, n * 1440, window.Days(1, kolkata), 0},
		{0, n * 1440, window.Days(2, time.FixedZone("", 7200)), n},
		{0, n * 1440, window.Every(6 * time.Hour).In(kolkata), 0},
		{0, n * 1440, window.Every(6 * time.Hour).In(time.FixedZone("", 7200)), n},
		{0, n * 1440, window.Days(1, time.FixedZone("", 7200)).From(6 * time.Hour), n},
	} {
		for _, descending := range testlong.Sample([]bool{true, false}, 2) {
			var op Operation
			read := func(l *mappingOf[sample]) []string {
				return made(t, readWindows(t.Context(), newReaderOf(bt.Client, l, tells(now, &op)), intoColumns(l.untyped()), sampleWindows, everySample, at(tt.from*60), at(tt.to*60), tt.width,
					WindowOptions{NewestFirst: descending}), wholeText)
			}
			got := read(l)
			used := op
			plain := *l
			plain.Rollup = nil
			cells := *l.Rollup
			cells.Idle, plain.Rollup = true, &cells
			want := read(&plain)
			if !slices.Equal(want, got) || used.Requests != op.Requests || used.Runs != series*tt.runs || used.Runs > 0 && used.Cells >= op.Cells {
				t.Errorf("%+v: %+v instead of %+v: %v", tt, used, op, cmp.Diff(want, got))
			}
		}
	}
}
