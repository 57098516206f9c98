package examples_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// noon is the time of the first event in the tests, long before the writes.
var noon = time.Date(2100, 3, 5, 12, 0, 0, 0, time.UTC)

// clock is after all writes of the tests.
func clock() time.Time { return noon.Add(72 * time.Hour) }

// put writes a row as other programs do: with cells at the time of the write, or at another one.
func put(t *testing.T, bt *storetest.Bigtable, table, key, family string, cells map[string]string, at ...time.Time) {
	t.Helper()
	m := bigtable.NewMutation()
	for column, value := range cells {
		m.Set(family, column, bigtable.Time(append(at, noon.Add(48*time.Hour))[0]), []byte(value))
	}
	assert.Must(t, bt.Client.Open(table).Apply(t.Context(), key, m))
}

// reversed is Long.MAX_VALUE - millis.
func reversed(at time.Time) uint64 { return math.MaxInt64 - uint64(at.UnixMilli()) }

// javaKey is Bytes.add(Bytes.toBytes(device), Bytes.toBytes(Long.MAX_VALUE - millis)).
func javaKey(device string, at time.Time) string {
	return string(binary.BigEndian.AppendUint64([]byte(device), reversed(at)))
}

// Readings that a Java program wrote are read, replaced and deleted, although the keys of a device begin with the
// whole name of another one. A cell of another width is an error that names the row, not a missing event.
func TestReadingsOfJava(t *testing.T) {
	bt, ctx := examplestest.New(t), t.Context()
	r := examples.NewMeasurementReader(bt.Client, store.ReaderOptions{Now: clock})
	w := examples.NewMeasurementWriter(bt.Client, store.WriterOptions{Now: clock})
	want := map[string][]examples.MeasurementEvent{}
	for n, device := range []string{"pump-1", "pump-17", "p", "pump-1\x7f", "pump-1\x00"} {
		for k := range 3 {
			e := examples.MeasurementEvent{Time: noon.Add(time.Duration(k) * time.Hour), Celsius: float32(n) + 0.5, Status: int32(-k)}
			e.Device = device
			want[device] = append(want[device], e)
			put(t, bt, "readings", javaKey(device, e.Time), "d", map[string]string{ // Bytes.toBytes of a float and of an int
				"celsius": string(binary.BigEndian.AppendUint32(nil, math.Float32bits(e.Celsius))),
				"status":  string(binary.BigEndian.AppendUint32(nil, uint32(e.Status))),
			})
		}
	}
	for _, events := range want {
		storetest.Reads(t, r, events[0].MeasurementSeries, clock(), events, store.ReadOptions{NewestFirst: true, Limit: 1})
	}

	again := want["pump-1"][0]
	again.Celsius = 99
	assert.Must(t, w.Write(ctx, again))
	storetest.Same(t, "written again", r.Read(ctx, again.MeasurementSeries, noon, noon.Add(time.Minute)), again)
	_, err := w.DeleteSeries(ctx, again.MeasurementSeries)
	assert.Must(t, err)
	want["pump-1"] = nil
	for device, events := range want {
		storetest.Same(t, "left of "+device, r.Read(ctx, examples.MeasurementSeries{Device: device}, noon, clock()), events...)
	}

	put(t, bt, "readings", javaKey("pump-1", noon), "d", map[string]string{"celsius": "21.5", "status": "3"})
	_, err = r.Latest(ctx, again.MeasurementSeries)
	if decode, ok := errors.AsType[*store.DecodeError](err); !ok || decode.Row != javaKey("pump-1", noon) {
		t.Error(err)
	}
}

// Two schemas read and delete their own records of one table and family, also in scans of all users, and rows of a third
// kind concern neither. A row of the own kind that cannot be decoded is an error.
func TestKinds(t *testing.T) {
	bt, ctx := examplestest.New(t), t.Context()
	key := func(user uint64, kind string, at time.Time) string {
		return fmt.Sprintf("user#%d#%s#%d", user, kind, reversed(at))
	}
	var clicks []examples.ClickEvent
	var views []examples.ViewEvent
	for user := range uint64(3) {
		at := noon.Add(time.Duration(user) * time.Minute)
		click := examples.ClickEvent{ClickSeries: examples.ClickSeries{User: user}, Time: at, Target: fmt.Sprint("t", user)}
		view := examples.ViewEvent{ViewSeries: examples.ViewSeries{User: user}, Time: at, Page: fmt.Sprint("p", user), Duration: time.Second}
		clicks, views = append(clicks, click), append(views, view)
		second := string(binary.BigEndian.AppendUint64(nil, 1e9))
		put(t, bt, "activity", key(user, "click", at), "a", map[string]string{"target": click.Target})
		put(t, bt, "activity", key(user, "view", at), "a", map[string]string{"page": view.Page, "duration": second})
		put(t, bt, "activity", key(user, "like", at), "a", map[string]string{"other": "x"})
	}
	put(t, bt, "activity", "user#mallory#like#1", "a", map[string]string{"other": "x"})
	rc := examples.NewClickReader(bt.Client, store.ReaderOptions{Now: clock})
	rv := examples.NewViewReader(bt.Client, store.ReaderOptions{Now: clock})
	storetest.Same(t, "views of a user", rv.Read(ctx, views[1].ViewSeries, noon, clock()), views[1])
	storetest.SameInAnyOrder(t, "all clicks", rc.AllClicks(ctx, noon, clock()), clicks...)
	_, err := examples.NewClickWriter(bt.Client, store.WriterOptions{Now: clock}).DeleteSeries(ctx, clicks[1].ClickSeries)
	assert.Must(t, err)
	storetest.SameInAnyOrder(t, "clicks of others", rc.AllClicks(ctx, noon, clock()), clicks[0], clicks[2])
	storetest.SameInAnyOrder(t, "all views", rv.AllViews(ctx, noon, clock()), views...)

	put(t, bt, "activity", key(0, "click", noon.Add(time.Hour)), "a", map[string]string{"target": "\xff"})
	put(t, bt, "activity", fmt.Sprintf("user#7#click#%d", noon.UnixMilli()), "a", map[string]string{"target": "a time of 13 digits"})
	failed := map[string]bool{}
	for _, err := range rc.AllClicks(ctx, noon, clock()) {
		if decode, ok := errors.AsType[*store.DecodeError](err); ok {
			failed[decode.Row] = true
		}
	}
	if len(failed) != 2 {
		t.Error("a click that cannot be decoded was skipped: ", failed)
	}
}

// A row per device with cells at the times of events, as another program writes it, is read, replaced and deleted,
// although the key of a device begins with that of another one. Other devices and tenants stay.
func TestStates(t *testing.T) {
	bt, ctx := examplestest.New(t), t.Context()
	r := examples.NewStateReader(bt.Client, store.ReaderOptions{Now: clock})
	w := examples.NewStateWriter(bt.Client, store.WriterOptions{Now: clock})
	devices := []string{"p", "pump-1", "pump-1\x00", "pump-17", "valve"}
	want := map[string][]examples.StateEvent{}
	var last []examples.StateEvent
	for n, device := range devices {
		for k := range 4 {
			e := examples.StateEvent{Time: noon.Add(time.Duration(k) * time.Hour), Mode: fmt.Sprint(n, k)}
			e.Tenant, e.Device = "acme", device
			cells := map[string]string{"mode": e.Mode}
			if k%2 == 1 {
				e.Load = new(float64(k))
				cells["load"] = string(binary.BigEndian.AppendUint64(nil, math.Float64bits(*e.Load)))
			}
			put(t, bt, "states", "acme#"+device, "s", cells, e.Time)
			want[device] = append(want[device], e)
		}
		storetest.Reads(t, r, want[device][0].StateSeries, clock(), want[device], store.ReadOptions{NewestFirst: true, Limit: 1})
		last = append(last, want[device][3])
	}
	put(t, bt, "states", "acme2#pump-1", "s", map[string]string{"mode": "another tenant"})
	storetest.Same(t, "several devices", r.StatesOfSome(ctx, "acme", []string{"pump-17", "pump-1"}, last[0].Time, clock()), last[1], last[3])
	storetest.Same(t, "a prefix", r.StatesByPrefix(ctx, "acme", "pump-1", last[0].Time, clock()), last[1:4]...)

	pump := want["pump-1"] // an event that is written again replaces the stored one, whichever columns it had
	pump[1].Mode, pump[1].Load = "again", nil
	assert.Must(t, w.Write(ctx, pump[1]))
	storetest.Same(t, "written again", r.Read(ctx, pump[0].StateSeries, noon, clock()), pump...)
	storetest.Deletes(t, "DeleteRange", 2)(w.DeleteRange(ctx, pump[0].StateSeries, pump[1].Time, pump[3].Time))
	storetest.Same(t, "after DeleteRange", r.Read(ctx, pump[0].StateSeries, noon, clock()), pump[0], pump[3])
	storetest.Deletes(t, "DeleteSeries", 2)(w.DeleteSeries(ctx, pump[0].StateSeries))
	want["pump-1"] = nil
	for device, events := range want {
		storetest.Same(t, "left of "+device, r.Read(ctx, examples.StateSeries{Tenant: "acme", Device: device}, noon, clock()), events...)
	}
	storetest.Deletes(t, "DeleteStatesOf", 16)(w.DeleteStatesOf(ctx, "acme", noon, clock()))
	if row, err := bt.Client.Open("states").ReadRow(ctx, "acme2#pump-1"); err != nil || len(row) == 0 {
		t.Error("the state of another tenant is gone", err)
	}
}
