package store

import (
	"context"
	"fmt"
	"testing"
	"time"

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

// rollupNow returns options of a rollup at a time, which does not wait.
func rollupNow(seconds int) RollupOptions {
	return RollupOptions{Now: func() time.Time { return at(seconds) }, test: &rollupTest{
		random: randomID, sleep: func(context.Context, time.Duration) error { return nil },
	}}
}

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
	if op.Runs != n-2 || op.Events != 2*24*4-4 || len(half) != len(plain) {
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
