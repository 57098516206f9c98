package examples_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// noon is the time of the first event in the tests, long before the writes.
var noon = time.Date(2100, 3, 5, 12, 0, 0, 0, time.UTC)

// put writes a row as other programs do: with cells at the time of the write.
func put(t *testing.T, bt *storetest.Bigtable, table, key, family string, cells map[string]string) {
	t.Helper()
	m := bigtable.NewMutation()
	for column, value := range cells {
		m.Set(family, column, bigtable.Time(noon.Add(48*time.Hour)), []byte(value))
	}
	if err := bt.Client.Open(table).Apply(t.Context(), key, m); err != nil {
		t.Fatal(err)
	}
}

// reversed is Long.MAX_VALUE - millis.
func reversed(at time.Time) uint64 { return math.MaxInt64 - uint64(at.UnixMilli()) }

// javaKey is Bytes.add(Bytes.toBytes(device), Bytes.toBytes(Long.MAX_VALUE - millis)).
func javaKey(device string, at time.Time) string {
	return string(binary.BigEndian.AppendUint64([]byte(device), reversed(at)))
}

// javaCells are the cells of a reading: Bytes.toBytes of a float and of an int.
func javaCells(e examples.MeasurementEvent) map[string]string {
	return map[string]string{
		"celsius": string(binary.BigEndian.AppendUint32(nil, math.Float32bits(e.Celsius))),
		"status":  string(binary.BigEndian.AppendUint32(nil, uint32(e.Status))),
	}
}

// clock is after all writes of the tests.
func clock() time.Time { return noon.Add(72 * time.Hour) }

// Readings that a Java program wrote are read in every way, although the keys of a device
// begin with the whole name of another one.
func TestReadingsOfJava(t *testing.T) {
	bt := examplestest.New(t)
	devices := []string{"pump-1", "pump-17", "p", "pump-1\x7f", "pump-1\x00"}
	want := map[string][]examples.MeasurementEvent{}
	for n, device := range devices {
		for k := range 3 {
			e := examples.MeasurementEvent{
				MeasurementSeries: examples.MeasurementSeries{Device: device},
				Time:              noon.Add(time.Duration(k) * time.Hour), Celsius: float32(n) + 0.5, Status: int32(-k),
			}
			want[device] = append(want[device], e)
			put(t, bt, "readings", javaKey(device, e.Time), "d", javaCells(e))
		}
	}
	r := examples.NewMeasurementReader(bt.Client, store.ReaderOptions{Now: clock})
	w := examples.NewMeasurementWriter(bt.Client, store.WriterOptions{Now: clock})
	for device, events := range want {
		series := events[0].MeasurementSeries
		storetest.Same(t, "Read "+device, r.Read(t.Context(), series, noon, noon.Add(24*time.Hour)), events...)
		storetest.Same(t, "one hour of "+device, r.Read(t.Context(), series, noon.Add(time.Hour), noon.Add(2*time.Hour)), events[1])
		storetest.Same(t, "newest of "+device, r.Read(t.Context(), series, noon, clock(), store.ReadOptions{NewestFirst: true, Limit: 1}), events[2])
		latest, err := r.Latest(t.Context(), series)
		if err != nil || latest != events[2] {
			t.Errorf("Latest of %q: %+v, %v", device, latest, err)
		}
	}

	// Writing an event again replaces what the other program wrote, although that is newer
	// than the event.
	again := want["pump-1"][0]
	again.Celsius = 99
	if err := w.Write(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "written again", r.Read(t.Context(), again.MeasurementSeries, noon, noon.Add(time.Minute)), again)

	// Deleting a device leaves those with longer names.
	if _, err := w.DeleteSeries(t.Context(), again.MeasurementSeries); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "deleted", r.Read(t.Context(), again.MeasurementSeries, noon, clock()))
	for _, device := range devices[1:] {
		storetest.Same(t, "left", r.Read(t.Context(), want[device][0].MeasurementSeries, noon, clock()), want[device]...)
	}
}

// A cell of another width is an error that names the row, not a missing event.
func TestReadingOfAnotherProgram(t *testing.T) {
	bt := examplestest.New(t)
	put(t, bt, "readings", javaKey("pump-1", noon), "d", map[string]string{"celsius": "21.5", "status": "3"})
	r := examples.NewMeasurementReader(bt.Client, store.ReaderOptions{Now: clock})
	var decode *store.DecodeError
	for _, err := range r.Read(t.Context(), examples.MeasurementSeries{Device: "pump-1"}, noon, clock()) {
		if !errors.As(err, &decode) || decode.Row != javaKey("pump-1", noon) {
			t.Errorf("%v", err)
		}
	}
	if decode == nil {
		t.Error("the row was skipped")
	}
}

// activityKey is the key of a row of the shared table.
func activityKey(user uint64, kind string, at time.Time) string {
	return fmt.Sprintf("user#%d#%s#%d", user, kind, reversed(at))
}

// Two schemas read their own records of one table and family, also in scans of all users,
// and rows of a third kind concern neither. A row of the own kind that cannot be decoded is
// an error.
func TestKinds(t *testing.T) {
	bt := examplestest.New(t)
	var clicks []examples.ClickEvent
	var views []examples.ViewEvent
	for user := range uint64(3) {
		for k := range 2 {
			at := noon.Add(time.Duration(2*int(user)+k) * time.Minute)
			click := examples.ClickEvent{ClickSeries: examples.ClickSeries{User: user}, Time: at, Target: fmt.Sprint("t", user, k)}
			view := examples.ViewEvent{ViewSeries: examples.ViewSeries{User: user}, Time: at, Page: fmt.Sprint("p", user, k), Duration: time.Second}
			clicks, views = append(clicks, click), append(views, view)
			put(t, bt, "activity", activityKey(user, "click", at), "a", map[string]string{"target": click.Target})
			put(t, bt, "activity", activityKey(user, "view", at), "a", map[string]string{"page": view.Page, "duration": string(binary.BigEndian.AppendUint64(nil, 1e9))})
			put(t, bt, "activity", activityKey(user, "like", at), "a", map[string]string{"other": "x"})
		}
	}
	put(t, bt, "activity", "user#mallory#like#1", "a", map[string]string{"other": "x"})
	ctx := t.Context()
	rc := examples.NewClickReader(bt.Client, store.ReaderOptions{Now: clock})
	rv := examples.NewViewReader(bt.Client, store.ReaderOptions{Now: clock})
	storetest.Same(t, "clicks of a user", rc.Read(ctx, clicks[2].ClickSeries, noon, clock()), clicks[2:4]...)
	storetest.Same(t, "views of a user", rv.Read(ctx, views[2].ViewSeries, noon, clock()), views[2:4]...)
	storetest.SameInAnyOrder(t, "all clicks", rc.AllClicks(ctx, noon, clock()), clicks...)
	storetest.SameInAnyOrder(t, "all views", rv.AllViews(ctx, noon, clock()), views...)

	wc := examples.NewClickWriter(bt.Client, store.WriterOptions{Now: clock})
	if _, err := wc.DeleteSeries(ctx, clicks[2].ClickSeries); err != nil {
		t.Fatal(err)
	}
	storetest.SameInAnyOrder(t, "clicks of others", rc.AllClicks(ctx, noon, clock()), append(clicks[:2:2], clicks[4:]...)...)
	storetest.SameInAnyOrder(t, "all views are left", rv.AllViews(ctx, noon, clock()), views...)

	put(t, bt, "activity", activityKey(0, "click", noon.Add(time.Hour)), "a", map[string]string{"target": "\xff"})
	put(t, bt, "activity", fmt.Sprintf("user#7#click#%d", noon.UnixMilli()), "a", map[string]string{"target": "a time of 13 digits"})
	failed := map[string]bool{}
	for _, err := range rc.AllClicks(ctx, noon, clock()) {
		var decode *store.DecodeError
		if errors.As(err, &decode) {
			failed[decode.Row] = true
		}
	}
	if len(failed) != 2 {
		t.Error("a click that cannot be decoded was skipped: ", failed)
	}
}

// A row per device with cells at the times of events, as another program writes it, is read in
// every way, although the key of a device begins with that of another one. Whatever is deleted,
// the other events of the row and the other devices stay.
func TestStates(t *testing.T) {
	bt, ctx := examplestest.New(t), t.Context()
	devices := []string{"pump-1", "pump-17", "pump-1\x00", "p", "valve"} // not in the order of keys
	want := map[string][]examples.StateEvent{}
	for n, device := range devices {
		m := bigtable.NewMutation()
		for k := range 4 {
			e := examples.StateEvent{StateSeries: examples.StateSeries{Tenant: "acme", Device: device}, Time: noon.Add(time.Duration(k) * time.Hour), Mode: fmt.Sprint(n, k)}
			m.Set("s", "mode", bigtable.Time(e.Time), []byte(e.Mode))
			if k%2 == 1 {
				load := float64(k)
				e.Load = &load
				m.Set("s", "load", bigtable.Time(e.Time), binary.BigEndian.AppendUint64(nil, math.Float64bits(load)))
			}
			want[device] = append(want[device], e)
		}
		if err := bt.Client.Open("states").Apply(ctx, "acme#"+device, m); err != nil {
			t.Fatal(err)
		}
	}
	put(t, bt, "states", "acme2#pump-1", "s", map[string]string{"mode": "another tenant"})
	r := examples.NewStateReader(bt.Client, store.ReaderOptions{Now: clock})
	w := examples.NewStateWriter(bt.Client, store.WriterOptions{Now: clock})
	var series []examples.StateSeries
	for _, device := range devices {
		events := want[device]
		series = append(series, events[0].StateSeries)
		storetest.Same(t, "all of "+device, r.Read(ctx, series[len(series)-1], noon, clock()), events...)
		storetest.Same(t, "two hours of "+device, r.Read(ctx, series[len(series)-1], noon.Add(time.Hour), noon.Add(3*time.Hour)), events[1:3]...)
		storetest.Same(t, "newest of "+device, r.Read(ctx, series[len(series)-1], noon, clock(), store.ReadOptions{NewestFirst: true, Limit: 2}), events[3], events[2])
		latest, err := r.Latest(ctx, series[len(series)-1])
		if err != nil || latest.Mode != events[3].Mode {
			t.Errorf("Latest of %q: %+v, %v", device, latest, err)
		}
	}
	last := func(devices ...string) (out []examples.StateEvent) {
		for _, device := range devices {
			out = append(out, want[device][3])
		}
		return out
	}
	storetest.Same(t, "newest of a list", r.LatestMany(ctx, series), last(devices...)...)
	sorted := []string{"p", "pump-1", "pump-1\x00", "pump-17", "valve"}
	storetest.Same(t, "newest of each", r.StatesOf(ctx, "acme", noon, clock(), store.ReadOptions{NewestFirst: true, LatestOnly: true}), last("valve", "pump-17", "pump-1\x00", "pump-1", "p")...)
	storetest.Same(t, "several devices", r.StatesOfSome(ctx, "acme", []string{"pump-17", "pump-1"}, noon.Add(3*time.Hour), clock()), last("pump-1", "pump-17")...)
	storetest.Same(t, "a prefix", r.StatesByPrefix(ctx, "acme", "pump-1", noon.Add(3*time.Hour), clock()), last(sorted[1:4]...)...)
	var listed []string
	for s, err := range r.StatesOfSeries(ctx, "acme", noon, clock()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, s.Device)
	}
	if !slices.Equal(listed, sorted) {
		t.Errorf("listed %q", listed)
	}

	// An event that is written again replaces the stored one, whichever columns it had.
	again := want["pump-1"][1]
	again.Mode, again.Load = "again", nil
	want["pump-1"][1] = again
	if err := w.Write(ctx, again); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "written again", r.Read(ctx, series[0], noon, clock()), want["pump-1"]...)

	if d, err := w.DeleteRange(ctx, series[0], noon.Add(time.Hour), noon.Add(3*time.Hour)); err != nil || d.Events() != 2 {
		t.Fatal(d, err)
	}
	storetest.Same(t, "after DeleteRange", r.Read(ctx, series[0], noon, clock()), want["pump-1"][0], want["pump-1"][3])
	if d, err := w.DeleteSeries(ctx, series[0]); err != nil || d.Events() != 2 {
		t.Fatal(d, err)
	}
	storetest.Same(t, "after DeleteSeries", r.Read(ctx, series[0], noon, clock()))
	for _, s := range series[1:] {
		storetest.Same(t, "left of "+s.Device, r.Read(ctx, s, noon, clock()), want[s.Device]...)
	}
	if _, err := w.DeleteStatesOf(ctx, "acme", noon, clock()); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "after DeleteStatesOf", r.StatesOf(ctx, "acme", noon, clock()))
	if row, err := bt.Client.Open("states").ReadRow(ctx, "acme2#pump-1"); err != nil || len(row) == 0 {
		t.Error("the state of another tenant is gone", err)
	}
}
