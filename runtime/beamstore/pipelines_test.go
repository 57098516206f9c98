package beamstore_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/runtime/beamstore"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/plantbeam"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/planttest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Backfill, export and deletion do to exactly the selected events what they say, and doing
// it again changes nothing.
func TestPipelines(t *testing.T) {
	inThisProcess()
	bt := planttest.New(t)
	conn := connection(bt.Addr)
	const n = 3000
	from, to := timeOf(500), timeOf(2500)
	inRange := func(i int) bool { return i >= 500 && i < 2500 }
	fill(t, bt, "samples", n)

	for range 2 {
		counters := must(t, func(s beam.Scope) error {
			return plantbeam.Sample.Backfill(s, conn, beamstore.BackfillOptions{From: from, To: to, Timeout: brief})
		})
		if counters["events_read"] > 2000 || counters["events_written"] > 2000 || counters["events_expired"] != 0 {
			t.Errorf("counters of the backfill: %v", counters)
		}
		contains(t, bt, "samples_salted", n, inRange)
		contains(t, bt, "samples", n, all)
	}
	for name, query := range queries {
		exported(t, conn, n, name, query)
	}

	remaining := func(i int) bool { return !inRange(i) || event(i).Area != "south" }
	for round := range 2 {
		counters := must(t, func(s beam.Scope) error {
			return plantbeam.Sample.Delete(s, conn, beamstore.DeleteOptions{From: from, To: to, Query: plantbeam.SampleByArea("south")})
		})
		if round == 0 && (counters["series_deleted"] > sensors/2 || counters["events_deleted"] > 1000) {
			t.Errorf("counters of the deletion: %v", counters)
		}
		contains(t, bt, "samples", n, remaining)
		contains(t, bt, "samples_salted", n, func(i int) bool { return inRange(i) && remaining(i) })
	}
	high := queries["where"]
	high.Query = plantbeam.SampleHighByArea("north", 700, 1900)
	low := func(i int) bool { e := event(i); return e.Area != "north" || e.Value < 700 || e.Value >= 1900 }
	must(t, func(s beam.Scope) error {
		return plantbeam.Sample.Delete(s, conn, beamstore.DeleteOptions{From: from, To: to, Query: high.Query})
	})
	contains(t, bt, "samples", n, func(i int) bool { return remaining(i) && (!inRange(i) || low(i)) })
}

// formQuery is a query of some form, and what it selects.
type formQuery struct {
	beamstore.Query
	selects func(e plant.SampleEvent) bool
}

// queries has a query of each form.
var queries = map[string]formQuery{
	"value":  {plantbeam.SampleByArea("north"), func(e plant.SampleEvent) bool { return e.Area == "north" }},
	"many":   {plantbeam.SampleByAreas([]string{"north", "none", "south"}), func(plant.SampleEvent) bool { return true }},
	"prefix": {plantbeam.SampleByAreaPrefix("so"), func(e plant.SampleEvent) bool { return e.Area == "south" }},
	"range":  {plantbeam.SampleBySensors("north", 1, 5), func(e plant.SampleEvent) bool { return e.Area == "north" && e.Sensor >= 1 && e.Sensor < 5 }},
	"where":  {plantbeam.SampleHighByArea("south", 700, 1900), func(e plant.SampleEvent) bool { return e.Area == "south" && e.Value >= 700 && e.Value < 1900 }},
}

// exported exports the events of a query to files and compares them with the model.
func exported(t *testing.T, conn beamstore.Connection, n int, name string, query formQuery) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "samples")
	must(t, func(s beam.Scope) error {
		return plantbeam.Sample.Export(s, conn, beamstore.ExportOptions{
			ReadOptions: beamstore.ReadOptions{To: begin.AddDate(1, 0, 0), Query: query.Query}, Path: path, Files: 3,
		})
	})
	found := map[string]int{}
	for _, name := range []string{"-00000-of-00003.ndjson", "-00001-of-00003.ndjson", "-00002-of-00003.ndjson"} {
		text, err := os.ReadFile(path + name)
		check(t, err)
		for line := range strings.Lines(string(text)) {
			found[strings.TrimSuffix(line, "\n")]++
		}
	}
	want := map[string]int{}
	for i := range n {
		if e := event(i); query.selects(e) {
			line, err := json.Marshal(struct {
				Area   string    `json:"area"`
				Sensor int64     `json:"sensor"`
				Time   time.Time `json:"time"`
				Value  int64     `json:"value"`
			}{e.Area, e.Sensor, e.Time, e.Value})
			check(t, err)
			want[string(line)]++
		}
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("%s: exported lines (-want +got)\n%s", name, diff)
	}
	if len(want) == 0 {
		t.Errorf("%s selects nothing", name)
	}
}

// Events that are written in any order, and again, are in a table of pattern latest if they are the newest of
// their series, also after others are deleted.
func TestNewestEvents(t *testing.T) {
	inThisProcess()
	bt := planttest.New(t)
	conn := connection(bt.Addr)
	const n = 3000
	var events []plant.SampleEvent
	for i := range n {
		events = append(events, event((i*7)%n))
	}
	newest := func(i int) bool { return i >= n-sensors }
	for range 2 {
		must(t, func(s beam.Scope) error {
			return plantbeam.Sample.Write(s, conn, beam.CreateList(s, events), beamstore.WriteOptions{})
		})
		contains(t, bt, "samples", n, all)
		contains(t, bt, "samples_now", n, newest)
	}
	for range 2 {
		must(t, func(s beam.Scope) error {
			return plantbeam.Sample.Delete(s, conn, beamstore.DeleteOptions{From: timeOf(2500), To: begin.AddDate(1, 0, 0), Query: plantbeam.SampleByArea("south")})
		})
		contains(t, bt, "samples_now", n, func(i int) bool {
			if event(i).Area == "south" {
				return i >= 2500-sensors && i < 2500
			}
			return newest(i)
		})
	}
}

// slowFn delays some events, so that the runner splits the read that they come from.
type slowFn struct{}

var slowBundles, slowEvents atomic.Int64

func (*slowFn) StartBundle(func(plant.SampleEvent)) { slowBundles.Add(1) }

// ProcessElement delays the first events by more than two of Prism's intervals.
func (*slowFn) ProcessElement(e plant.SampleEvent, emit func(plant.SampleEvent)) {
	if slowEvents.Add(1) <= 8 {
		time.Sleep(250 * time.Millisecond)
	}
	emit(e)
}

func init() { beam.RegisterType(reflect.TypeFor[slowFn]()) }

// A read that the runner splits while it runs yields each event once.
func TestDynamicSplits(t *testing.T) {
	inThisProcess()
	bt := planttest.New(t)
	const n = 20_000
	fill(t, bt, "samples", n)
	slowBundles.Store(0)
	slowEvents.Store(0)
	counters := must(t, func(s beam.Scope) error {
		events, err := plantbeam.Sample.Read(s, connection(bt.Addr), beamstore.ReadOptions{To: begin.AddDate(1, 0, 0)})
		if err != nil {
			return err
		}
		return plantbeam.Sample.Write(s, connection(bt.Addr), beam.ParDo(s, &slowFn{}, events), beamstore.WriteOptions{Tables: []string{"samples_salted"}})
	})
	if slowBundles.Load() < 2 {
		t.Errorf("%d bundles: the runner did not split", slowBundles.Load())
	}
	if counters["events_read"] > n || counters["events_written"] > n || slowEvents.Load() != n {
		t.Errorf("%v, and %d events", counters, slowEvents.Load())
	}
	contains(t, bt, "samples_salted", n, all)
}

// An event that a table cannot store fails the pipeline, with the reason.
func TestRefusedEvent(t *testing.T) {
	inThisProcess()
	bt := planttest.New(t)
	bad := event(1)
	bad.Area = "a#b"
	_, err := run(t, func(s beam.Scope) error {
		return plantbeam.Sample.Write(s, connection(bt.Addr), beam.CreateList(s, []plant.SampleEvent{event(0), bad}), beamstore.WriteOptions{})
	})
	if err == nil || !strings.Contains(err.Error(), `"a#b"`) {
		t.Errorf("error %v", err)
	}
	old := event(2)
	old.Time = begin.AddDate(-20, 0, 0)
	counters := must(t, func(s beam.Scope) error {
		return plantbeam.Sample.Write(s, connection(bt.Addr), beam.CreateList(s, []plant.SampleEvent{event(0), old}), beamstore.WriteOptions{SkipExpired: true})
	})
	if counters["events_expired"] == 0 {
		t.Errorf("counters %v", counters)
	}
}

// What cannot be is refused before anything runs.
func TestInvalidOptions(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	conn := connection("localhost:1")
	_, unknownQuery := plantbeam.Sample.Read(s, conn, beamstore.ReadOptions{Query: beamstore.Query{Name: "Nope"}})
	_, unknownTable := plantbeam.Sample.Read(s, conn, beamstore.ReadOptions{Table: "nope"})
	for name, c := range map[string]struct {
		err  error
		want any
	}{
		"a query":      {unknownQuery, new(*beamstore.QueryError)},
		"a table":      {unknownTable, new(*store.UnknownTableError)},
		"a target":     {plantbeam.Sample.Write(s, conn, beam.PCollection{}, beamstore.WriteOptions{Tables: []string{"nope"}}), new(*store.UnknownTableError)},
		"a copy":       {plantbeam.Sample.Backfill(s, conn, beamstore.BackfillOptions{Targets: []string{"nope"}}), new(*store.UnknownTableError)},
		"a state":      {plantbeam.Sample.Backfill(s, conn, beamstore.BackfillOptions{Targets: []string{"samples_now"}}), new(*store.BackfillError)},
		"events past":  {plantbeam.Sample.Backfill(s, conn, beamstore.BackfillOptions{From: begin, To: begin.Add(-time.Hour)}), new(*store.RangeError)},
		"itself":       {plantbeam.Sample.Backfill(s, conn, beamstore.BackfillOptions{Targets: []string{"samples"}}), new(*store.BackfillError)},
		"no end":       {plantbeam.Sample.Delete(s, conn, beamstore.DeleteOptions{}), new(*store.RangeError)},
		"the past":     {plantbeam.Sample.Delete(s, conn, beamstore.DeleteOptions{From: begin, To: begin.Add(-1)}), new(*store.RangeError)},
		"no files":     {plantbeam.Sample.Export(s, conn, beamstore.ExportOptions{Files: -1}), new(*store.OptionsError)},
		"export query": {plantbeam.Sample.Export(s, conn, beamstore.ExportOptions{ReadOptions: beamstore.ReadOptions{Query: beamstore.Query{Name: "Nope"}}}), new(*beamstore.QueryError)},
	} {
		if !errors.As(c.err, c.want) {
			t.Errorf("%s: error %v, want %T", name, c.err, c.want)
		}
	}
}
