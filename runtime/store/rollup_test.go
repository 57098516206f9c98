package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// rolled returns a mapping with a rollup by hours, whose events live for some time; 0 for ever.
func rolled(l *Mapping[sample], ttl time.Duration) *Mapping[sample] {
	if ttl > 0 {
		l.Table.Families[0].GC = codec.GCRule{Kind: codec.GCMaxAge, MaxAge: ttl}
		l.Table.Families[0].Life = codec.Lifetime{}.Under(l.Table.Families[0].GC, 0)
	}
	l.seriesOf = func(e *sample) *string { return &e.Series }
	l.Rollup = &codec.Rollup{Every: time.Hour, After: 30 * time.Minute, Family: "h", GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 1000 * 24 * time.Hour}}
	return l
}

// TestFamiliesWithRollup checks that setup knows all families on whose completeness a rollup relies, whichever of
// the layouts by time of a table has it.
func TestFamiliesWithRollup(t *testing.T) {
	for _, newest := range []bool{true, false} {
		older, newer := days(), days()
		if newest {
			newer = rolled(newer, 0)
		} else {
			older = rolled(older, 0)
		}
		newer.Older = []*Mapping[sample]{older}
		older.Table.Families = append(older.Table.Families, Family{Name: "gone"})
		got := map[string]bool{}
		for _, f := range Tables([]*Mapping[sample]{newer})[0].Families {
			got[f.Name] = f.Rollup
		}
		if diff := cmp.Diff(map[string]bool{newer.Table.Families[0].Name: true, "h": true, "gone": !newest}, got); diff != "" {
			t.Errorf("newest %v: -want +got\n%s", newest, diff)
		}
		if newer.Table.Families[0].Rollup || older.Table.Families[0].Rollup {
			t.Error("the mapping has changed")
		}
	}
}

// rollupNow returns options of a rollup at a time, which does not wait.
func rollupNow(seconds int) RollupOptions {
	return RollupOptions{Now: func() time.Time { return at(seconds) }, Sleep: noSleep}
}

// noSleep does not wait.
func noSleep(context.Context, time.Duration) error { return nil }

// windowsAt returns the windows of a series.
func windowsAt(t *testing.T, bt *storetest.Bigtable, l *Mapping[sample], now int, series string, from, to time.Time, width window.Width) (out []string, op Operation) {
	t.Helper()
	o := clockAt(now)
	o.Hooks.End = func(_ context.Context, done Operation, _ error) { op = done }
	into := intoColumns(l.untyped())
	for w, err := range Windows(t.Context(), NewReader(bt.Client, l, o), into, sampleWindows, SeriesOf(sample{Series: series}), from, to, width) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s +%v", columnsText([]sampleWindow{w})[0], w.Inexact))
	}
	return out, op
}

// roll summarizes events.
func roll(t *testing.T, bt *storetest.Bigtable, l *Mapping[sample], o RollupOptions) RollupReport {
	t.Helper()
	report, err := Rollup(t.Context(), bt.Client, []*Mapping[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
	must(t, err)
	return report
}

// TestRollup checks that a year of windows comes from runs, and is that of the events.
func TestRollup(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	var events []sample
	const n = 20
	for i := range n * 24 * 4 {
		events = append(events, sample{Series: "s", Time: at(i * 900), Value: uint64(i)})
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*n)).WriteAll(t.Context(), events))
	plain, _ := windowsAt(t, bt, l, 86400*n, "s", day0, at(86400*n), window.Every(2*time.Hour))
	report := roll(t, bt, l, rollupNow(86400*n+3600))
	if report.Sealed != n || report.Windows != n*24 {
		t.Fatalf("%+v", report)
	}
	got, op := windowsAt(t, bt, l, 86400*n+3600, "s", day0, at(86400*n), window.Every(2*time.Hour))
	same(t, fmt.Sprint(plain), fmt.Sprint(got))
	if op.Runs != n || op.Events != 0 || op.Requests != 1 {
		t.Errorf("%+v", op)
	}
	if again := roll(t, bt, l, rollupNow(86400*n+3600)); again.Noted != 0 || again.Sealed != 0 {
		t.Errorf("again: %+v", again)
	}
	// The first and the last window are cut, so that their buckets are read from their events.
	half, op := windowsAt(t, bt, l, 86400*n+3600, "s", at(1800), at(86400*n-1800), window.Every(2*time.Hour))
	if op.Runs != n-2 || op.Folded != 2 || op.Events != 2*24*4-4 || len(half) != len(plain) || op.Requests != 1 {
		t.Errorf("%+v", op)
	}
	// Once the events have expired, only runs are left.
	const late = 86400 * 200
	gone, op := windowsAt(t, bt, l, late, "s", day0, at(86400*n), window.Every(2*time.Hour))
	same(t, fmt.Sprint(plain), fmt.Sprint(gone))
	if op.Runs != n || op.Inexact != 0 {
		t.Errorf("%+v", op)
	}
}

// rolledMappings are mappings with a rollup: of all patterns and forms of keys that have one.
func rolledMappings() (all []*Mapping[sample]) {
	for _, l := range partedMappings() {
		if l.Pattern == codec.BucketNewCells && !l.Table.hasClasses() {
			all = append(all, rolled(l, 40*24*time.Hour))
		}
	}
	fine := rolled(offsetBlobs(), 0)
	fine.Table.ID += "_kept"
	return append(all, rolled(blobs(days()), 40*24*time.Hour), rolled(offsetBlobs(), 40*24*time.Hour), fine, rolled(unsorted(days()), 40*24*time.Hour))
}

// TestRollupReads compares windows from runs and events with those from events alone, bit by bit: of all
// kinds of reads and tables, while some buckets are summarized, others are not, and others have changed since.
func TestRollupReads(t *testing.T) {
	const now = 86400 * 7
	for _, l := range rolledMappings() {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(30, 2))
			bt := newBigtable(t, l)
			samples := partedSamples(random, l)
			w := NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(now))
			events := *l
			idle := *l.Rollup
			idle.Idle, events.Rollup = true, &idle
			every, fromRuns, fromEvents := &Query[sample]{Name: "All"}, 0, 0
			for round := range testlong.Pick(2, 10) {
				var written, deleted []sample
				for i := range samples {
					switch random.IntN(5) {
					case 0, 1:
						samples[i].Value = random.Uint64()
						written = append(written, samples[i])
					case 2:
						deleted = append(deleted, samples[i])
					}
				}
				must(t, w.WriteAll(t.Context(), written))
				_, err := w.Delete(t.Context(), deleted)
				must(t, err)
				if round%2 == 1 {
					roll(t, bt, l, rollupNow(86400*3+random.IntN(86400*4)))
				}
				for range testlong.Pick(5, 10) {
					of := every.Bind(sample{})
					switch random.IntN(3) {
					case 0:
						of = Selection[sample]{Many: true}
						for range 1 + random.IntN(30) {
							of.Low = append(of.Low, sample{Series: samples[random.IntN(len(samples))].Series})
						}
					case 1:
						of = SeriesOf(sample{Series: samples[random.IntN(len(samples))].Series})
					}
					from, to := at(random.IntN(86400)), at(86400+random.IntN(86400*5))
					if random.IntN(2) == 0 {
						from, to = from.Truncate(time.Hour), to.Truncate(24*time.Hour)
					}
					width := []time.Duration{20 * time.Minute, time.Hour, 90 * time.Minute, 24 * time.Hour, 48 * time.Hour}[random.IntN(5)]
					o := WindowOptions{NewestFirst: random.IntN(3) == 0, Fill: window.Fill(random.IntN(4)), Limit: random.IntN(2) * random.IntN(100), Parallelism: random.IntN(4) - 1}
					if random.IntN(4) == 0 {
						o.By = []SeriesValue{}
					}
					if random.IntN(2) == 0 {
						o.Before = time.Duration(random.IntN(86400*3)) * time.Second
					}
					if random.IntN(4) == 0 {
						if o.Fields = []Field{}; l.Pattern == codec.BucketNewCells && l.Columns[0].Name == "v.1" && random.IntN(2) == 0 {
							o.Fields = []Field{"v.1"}
						}
					}
					read := func(l *Mapping[sample], add *int) (out []string) {
						ro := clockAt(now)
						ro.Hooks.End = func(_ context.Context, op Operation, _ error) { *add += op.Runs }
						r := NewReader(bt.Client, l, ro)
						r.reader.alone = 1 + random.IntN(1000)
						for w, err := range Windows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, of, from, to, window.Every(width), o) {
							must(t, err)
							out = append(out, fmt.Sprint(columnsText([]sampleWindow{w}), w.Inexact))
						}
						return out
					}
					want := read(&events, &fromEvents)
					got := read(l, &fromRuns)
					if !slices.Equal(want, got) {
						t.Fatalf("%v from %v to %v, every %v, %+v:\n%s", of, from, to, width, o, cmp.Diff(want, got))
					}
				}
			}
			if fromRuns == 0 || fromEvents != 0 {
				t.Errorf("%d buckets from runs, and %d without the rollup", fromRuns, fromEvents)
			}
		})
	}
}

// TestRollupDamaged checks that a damaged run is not used: readers use the events as long as all are there, and report
// it afterward, with all windows of its bucket.
func TestRollupDamaged(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400)).WriteAll(t.Context(), []sample{{Series: "s", Time: at(60), Value: 7}, {Series: "s", Time: at(3700), Value: 8}}))
	roll(t, bt, l, rollupNow(86400*2))
	table := bt.Client.Open(l.Table.ID)
	row, err := table.ReadRow(t.Context(), "s#2021-03-05", bigtable.RowFilter(bigtable.FamilyFilter("h")))
	must(t, err)
	if len(row["h"]) != 1 {
		t.Fatal(row)
	}
	run := row["h"][0]
	m := bigtable.NewMutation()
	m.Set("h", strings.TrimPrefix(run.Column, "h:"), run.Timestamp, append(slices.Clone(run.Value[:10]), 'x'))
	must(t, table.Apply(t.Context(), "s#2021-03-05", m))
	events := func(now int) (windows, inexact int, failed error) {
		for w, err := range Windows(t.Context(), NewReader(bt.Client, l, clockAt(now)), intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s"}), day0, at(86400), window.Every(time.Hour)) {
			if err != nil {
				failed = err
				continue
			}
			if windows++; w.Inexact {
				inexact++
			}
		}
		return windows, inexact, failed
	}
	if windows, inexact, err := events(86400 * 2); windows != 2 || inexact != 0 || err != nil {
		t.Error(windows, inexact, err)
	}
	windows, inexact, err := events(86400 * 100)
	if windows != 24 || inexact != 24 || !isDecodeError(err) || !errors.Is(err, window.ErrRun) {
		t.Error(windows, inexact, err)
	}
}

// TestRollupNarrower checks that windows that are narrower than those of the rollup, or cut by the range, are inexact
// once the events have expired, as those whose increase begins in one that is, and that none are left out.
func TestRollupNarrower(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400)).WriteAll(t.Context(), []sample{{Series: "s", Time: at(60), Value: 7}, {Series: "s", Time: at(3700), Value: 8}, {Series: "s", Time: at(7300), Value: 9}}))
	roll(t, bt, l, rollupNow(86400*2))
	for _, tt := range []struct {
		from, to int
		width    time.Duration
		want     string
	}{
		{0, 86400, time.Hour, "0 1 false; 3600 1 false; 7200 1 false"},
		{0, 86400, 30 * time.Minute, "0 0 true; 1800 0 true; 3600 0 true; 5400 0 true; 7200 0 true; 9000 0 true"},
		{0, 86400, 90 * time.Minute, "0 1 true; 5400 1 true"},
		{1800, 9000, time.Hour, "0 0 true; 3600 1 true; 7200 0 true"},
		{0, 86400, 2 * time.Hour, "0 2 false; 7200 1 false"},
	} {
		var got []string
		for w, err := range Windows(t.Context(), NewReader(bt.Client, l, clockAt(86400*100)), intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s"}), at(tt.from), at(tt.to), window.Every(tt.width)) {
			must(t, err)
			got = append(got, fmt.Sprint(int(w.Start.Sub(day0).Seconds()), w.Events, w.Inexact))
		}
		same(t, tt.want, strings.ReplaceAll(strings.Join(got, "; "), "  ", " "))
	}
}

// TestRollupLayouts checks windows over several layouts by time: without a rollup, by hours, and by quarters of an hour in
// narrower buckets.
func TestRollupLayouts(t *testing.T) {
	const ttl = 40 * 24 * time.Hour
	hours := codec.Bucket{Every: 6 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.UnixMillis}}}
	newest := rolled(withKey(days(), "layouts", codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}}, Bucket: hours}), ttl)
	newest.Rollup.Every = 15 * time.Minute
	middle, oldest := rolled(days(), ttl), rolled(days(), ttl)
	middle.Table.ID, oldest.Table.ID, oldest.Rollup = "layouts", "oldest", nil
	newest.Since, middle.Since = at(86400*4), at(86400*2)
	newest.Older = []*Mapping[sample]{middle, oldest}
	for _, m := range []*Mapping[sample]{newest, middle, oldest} {
		adjusted(m, func(m *mapping) { m.layout = &intoColumns(m).columns })
	}
	bt := newBigtable(t, newest)
	var events []sample
	for i := range 6 * 24 * 12 {
		events = append(events, sample{Series: "s", Time: at(i * 300), Value: uint64(i)})
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{newest}, writeAt(86400*6)).WriteAll(t.Context(), events))
	if report := roll(t, bt, newest, rollupNow(86400*7)); report.Sealed != 2+2*4 || report.Windows != 2*24+2*96 {
		t.Fatalf("%+v", report)
	}
	for _, width := range []time.Duration{time.Hour, 3 * time.Hour, 24 * time.Hour} {
		got, op := windowsAt(t, bt, newest, 86400*7, "s", day0, at(86400*6), window.Every(width))
		var all []sampleWindow
		fold, err := sampleWindows.Start(window.Every(width), day0, at(86400*6), window.Options{Steps: true, ID: func(any) string { return "" }, Clone: func(s any) any { return s }},
			func(w any) bool { all = append(all, *w.(*sampleWindow)); return true })
		must(t, err)
		of, c := "s", sampleColumns{}
		for i := range events {
			c.add(&events[i])
		}
		_, err = fold.Add(&of, &c)
		must(t, err)
		fold.End()
		var want []string
		for _, w := range all {
			want = append(want, columnsText([]sampleWindow{w})[0]+" +false")
		}
		same(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
		if op.Runs != 2+2*4 || op.Events != 2*24*12 {
			t.Errorf("%+v", op)
		}
	}
}

// TestRollupRequests checks that reads of windows of summarized buckets take no more requests than those of events, whatever the range
// and the windows are, and no events of buckets that they do not cut.
func TestRollupRequests(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	const series, n, now = 6, 10, 86400*10 + 3600
	var events []sample
	for i := range series * n * 24 * 2 {
		events = append(events, sample{Series: fmt.Sprint("s", i%series), Time: at(i / series * 1800), Value: uint64(i)})
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(now)).WriteAll(t.Context(), events))
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
	} {
		for _, descending := range []bool{false, true} {
			var op Operation
			o := clockAt(now)
			o.Hooks.End = func(_ context.Context, done Operation, _ error) { op = done }
			read := func(l *Mapping[sample]) (out []string) {
				for w, err := range Windows(t.Context(), NewReader(bt.Client, l, o), intoColumns(l.untyped()), sampleWindows, (&Query[sample]{Name: "All"}).Bind(sample{}), at(tt.from*60), at(tt.to*60), tt.width, WindowOptions{NewestFirst: descending}) {
					must(t, err)
					out = append(out, fmt.Sprint(columnsText([]sampleWindow{w}), w.Inexact))
				}
				return out
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

// TestRollupFields checks windows of fields that the rollup does not have: those of events as long as they are there, and inexact
// ones afterward. It also checks that series of which only runs are left are found, in a table whose labels do not sort.
func TestRollupFields(t *testing.T) {
	l := rolled(unsorted(days()), 40*24*time.Hour)
	l.Rollup.Fields = []string{"note"}
	bt := newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400)).WriteAll(t.Context(), []sample{{Series: "a", Time: at(60), Value: 7}, {Series: "b", Time: at(3700), Value: 8}}))
	roll(t, bt, l, rollupNow(86400*2))
	for _, tt := range []struct {
		now    int
		fields []Field
		want   string
	}{
		{86400 * 2, nil, "a 0 1 7 false; b 3600 1 8 false"},
		{86400 * 2, []Field{}, "a 0 1 0 false; b 3600 1 0 false"},
		{86400 * 100, []Field{}, "a 0 1 0 false; b 3600 1 0 false"},
	} {
		var got []string
		for w, err := range Windows(t.Context(), NewReader(bt.Client, l, clockAt(tt.now)), intoColumns(l.untyped()), sampleWindows, (&Query[sample]{Name: "All"}).Bind(sample{}), day0, at(86400), window.Every(time.Hour), WindowOptions{Fields: tt.fields}) {
			must(t, err)
			got = append(got, fmt.Sprint(w.Series, " ", int(w.Start.Sub(day0).Seconds()), " ", w.Events, " ", w.Value.Last, " ", w.Inexact))
		}
		same(t, tt.want, strings.Join(got, "; "))
	}
	windows, inexact := 0, 0
	for w, err := range Windows(t.Context(), NewReader(bt.Client, l, clockAt(86400*100)), intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "b"}), day0, at(86400), window.Every(time.Hour)) {
		must(t, err)
		if windows++; w.Inexact {
			inexact++
		}
		if w.Start.Equal(at(3600)) && w.Events != 1 {
			t.Error(w)
		}
	}
	if windows != 24 || inexact != 24 {
		t.Error(windows, inexact)
	}
}

// TestRollupExpires checks that a window is inexact if a part of it has expired, also in the rollup.
func TestRollupExpires(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	for day := range 3 {
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*3)).Write(t.Context(), sample{Series: "s", Time: at(86400*day + 60)}))
	}
	roll(t, bt, l, rollupNow(86400*4))
	for _, tt := range []struct {
		now, from int
		want      string
	}{
		{86400*1001 - 7200, 0, "3 false"},
		{86400 * 1001, 0, "2 true"},
		{86400 * 1001, 86400, "2 false"},
		{86400 * 1002, 0, "1 true"},
		{86400 * 1003, 0, ""},
	} {
		for _, descending := range []bool{false, true} {
			var op Operation
			o := clockAt(tt.now)
			o.Hooks.End = func(_ context.Context, done Operation, _ error) { op = done }
			got := ""
			for w, err := range Windows(t.Context(), NewReader(bt.Client, l, o), intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s"}), at(tt.from), at(86400*3), window.Whole(), WindowOptions{NewestFirst: descending}) {
				must(t, err)
				got += fmt.Sprint(w.Events, " ", w.Inexact)
			}
			same(t, tt.want, got)
			if inexact := strings.Contains(got, "true"); inexact != (op.Inexact > 0) {
				t.Errorf("%+v: %+v", tt, op)
			}
		}
	}
}

// TestRollupLateBeforeExpiry summarizes a bucket that changed when it was too late for exact windows: as long as its events
// are there, they answer; afterward, its windows are inexact, but have all of them.
func TestRollupLateBeforeExpiry(t *testing.T) {
	const day, expiry = 86400, 40 * 86400
	for _, summarized := range []bool{true, false} {
		l := rolled(days(), expiry*time.Second)
		bt := newBigtable(t, l)
		write := func(now int, events ...sample) {
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(now)).WriteAll(t.Context(), events))
		}
		write(day, sample{Series: "s", Time: at(60), Value: 1}, sample{Series: "s", Time: at(7200), Value: 2})
		if summarized {
			roll(t, bt, l, rollupNow(day+3600))
		}
		const late = expiry - 5400
		write(late, sample{Series: "s", Time: at(7300), Value: 3})
		windows := func(now int) string {
			got, _ := windowsAt(t, bt, l, now, "s", day0, at(day), window.Every(time.Hour))
			return strings.Join(got, "\n")
		}
		want := windows(late)
		if strings.Contains(want, "+true") {
			t.Errorf("inexact before: %s", want)
		}
		if report := roll(t, bt, l, rollupNow(late)); report.Sealed != 1 || report.Inexact != 1 {
			t.Errorf("%+v", report)
		}
		same(t, want, windows(late))
		got := windows(expiry + day)
		if !strings.Contains(got, "+true") {
			t.Errorf("exact after: %s", got)
		}
		for line := range strings.SplitSeq(want, "\n") { // those without events are inexact, too
			if !strings.Contains(got, strings.TrimSuffix(line, "false")+"true") {
				t.Errorf("want %s, got %s", line, got)
			}
		}
	}
}

// TestRollupWidths checks windows after the width of a rollup has changed: those of events as long as they are there,
// and then those of the runs that say them.
func TestRollupWidths(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	var events []sample
	for i := range 24 * 4 {
		events = append(events, sample{Series: "s", Time: at(i * 900), Value: uint64(i)})
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400)).WriteAll(t.Context(), events))
	roll(t, bt, l, rollupNow(86400*2))
	for _, every := range []time.Duration{15 * time.Minute, 2 * time.Hour} {
		other := *l
		r := *l.Rollup
		r.Every, other.Rollup = every, &r
		for _, width := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
			want, _ := windowsAt(t, bt, l, 86400*2, "s", day0, at(86400), window.Every(width))
			got, op := windowsAt(t, bt, &other, 86400*2, "s", day0, at(86400), window.Every(width))
			same(t, fmt.Sprint(want), fmt.Sprint(got))
			if op.Runs != 0 || op.Inexact != 0 {
				t.Errorf("%v by %v: %+v", every, width, op)
			}
			later, op := windowsAt(t, bt, &other, 86400*100, "s", day0, at(86400), window.Every(width))
			if exact := width >= time.Hour; op.Runs != 1 || exact != (op.Inexact == 0) || exact && fmt.Sprint(later) != fmt.Sprint(want) {
				t.Errorf("%v by %v: %+v\n%s\nwant %s", every, width, op, later, want)
			}
		}
	}
}
