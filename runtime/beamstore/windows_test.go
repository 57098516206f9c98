package beamstore_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/btgen-dev/btgen/runtime/beamstore"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/plantbeam"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/planttest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// collectFn keeps the windows of a pipeline in this process.
type collectFn struct{}

var collected struct {
	sync.Mutex
	windows []plant.SampleWindow
}

func (*collectFn) ProcessElement(w plant.SampleWindow) {
	collected.Lock()
	defer collected.Unlock()
	collected.windows = append(collected.windows, w)
}

func init() { beam.RegisterType(reflect.TypeFor[collectFn]()) }

// piped returns the windows of a pipeline, in order of series and time.
func piped(t *testing.T, conn beamstore.Connection, o beamstore.WindowOptions) ([]plant.SampleWindow, map[string]int64, error) {
	t.Helper()
	collected.windows = nil
	counters, err := run(t, func(s beam.Scope) error {
		windows, err := plantbeam.SampleWindows.Read(s, conn, o)
		if err == nil {
			beam.ParDo0(s, &collectFn{}, windows)
		}
		return err
	})
	return sorted(collected.windows), counters, err
}

func sorted(windows []plant.SampleWindow) []plant.SampleWindow {
	slices.SortFunc(windows, func(a, b plant.SampleWindow) int {
		return cmp.Or(strings.Compare(a.Area, b.Area), cmp.Compare(a.Sensor, b.Sensor), a.Start.Compare(b.Start))
	})
	return windows
}

// seq yields the windows of a reader.
type seq = iter.Seq2[plant.SampleWindow, error]

// Windows of a pipeline are those of readers, bit by bit, for all forms of queries.
func TestWindows(t *testing.T) {
	inThisProcess()
	bt := planttest.New(t)
	conn := connection(bt.Addr)
	const n = 6000 // 36 minutes
	fill(t, bt, "samples", n)
	r := plant.NewSampleReader(bt.Client)
	from, to := timeOf(500), timeOf(n-500)
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	for name, c := range map[string]struct {
		query beamstore.Query
		o     beamstore.WindowOptions
		width window.Width
		want  func(width window.Width, o store.WindowOptions) seq
	}{
		"all": {beamstore.Query{}, beamstore.WindowOptions{Every: "10m"}, window.Every(10 * time.Minute), func(width window.Width, o store.WindowOptions) seq {
			return r.ByAreasWindows(t.Context(), []string{"north", "south"}, from, to, width, o)
		}},
		"value": {plantbeam.SampleByArea("north"), beamstore.WindowOptions{Every: "1d", Zone: "Europe/Berlin", Fill: window.FillNull}, window.Days(1, berlin), func(width window.Width, o store.WindowOptions) seq {
			return r.ByAreaWindows(t.Context(), "north", from, to, width, o)
		}},
		"prefix": {plantbeam.SampleByAreaPrefix("so"), beamstore.WindowOptions{Every: "1m", Fill: window.FillLinear}, window.Every(time.Minute), func(width window.Width, o store.WindowOptions) seq {
			return r.ByAreaPrefixWindows(t.Context(), "so", from, to, width, o)
		}},
		"range": {plantbeam.SampleBySensors("north", 1, 5), beamstore.WindowOptions{Every: "all", Fields: []store.Field{}}, window.Whole(), func(width window.Width, o store.WindowOptions) seq {
			return r.BySensorsWindows(t.Context(), "north", 1, 5, from, to, width, o)
		}},
		"where": {plantbeam.SampleHighByArea("south", 7000, 19000), beamstore.WindowOptions{Every: "1h"}, window.Every(time.Hour), func(width window.Width, o store.WindowOptions) seq {
			return r.HighByAreaWindows(t.Context(), "south", 7000, 19000, from, to, width, o)
		}},
		"grouped": {beamstore.Query{}, beamstore.WindowOptions{Every: "10m", By: []store.SeriesValue{plant.SampleSeriesArea}, Fill: window.FillPrevious}, window.Every(10 * time.Minute), func(width window.Width, o store.WindowOptions) seq {
			return r.ByAreasWindows(t.Context(), []string{"north", "south"}, from, to, width, o)
		}},
		"together": {plantbeam.SampleHighByArea("south", 7000, 19000), beamstore.WindowOptions{Every: "10s", By: []store.SeriesValue{}, Fill: window.FillNull}, window.Every(10 * time.Second), func(width window.Width, o store.WindowOptions) seq {
			return r.HighByAreaWindows(t.Context(), "south", 7000, 19000, from, to, width, o)
		}},
	} {
		c.o.ReadOptions = beamstore.ReadOptions{From: from, To: to, Query: c.query}
		got, counters, err := piped(t, conn, c.o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var want []plant.SampleWindow
		for w, err := range c.want(c.width, store.WindowOptions{Fields: c.o.Fields, Fill: c.o.Fill, By: c.o.By}) {
			check(t, err)
			w.Start, w.End = w.Start.UTC(), w.End.UTC()
			want = append(want, w)
		}
		if diff := gocmp.Diff(sorted(want), got, gocmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateNaNs()); diff != "" || len(want) == 0 {
			t.Errorf("%s: %d windows (-reader +pipeline)\n%.2000s", name, len(want), diff)
		}
		if counters["windows_read"] != int64(len(want)) || counters["series_read"] == 0 {
			t.Errorf("%s: counters %v", name, counters)
		}
	}
}

// An event that cannot be decoded fails the pipeline, or is counted by its window.
func TestUndecodableWindows(t *testing.T) {
	inThisProcess()
	bt := planttest.New(t)
	fill(t, bt, "samples", 300)
	row := ""
	if err := bt.Client.Open("samples").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(r bigtable.Row) bool {
		row = r.Key()
		m := bigtable.NewMutation()
		for family, items := range r {
			m.Set(family, items[0].Column[len(family)+1:], items[0].Timestamp, []byte("wrong"))
		}
		if err := bt.Client.Open("samples").Apply(t.Context(), row, m); err != nil {
			t.Error(err)
		}
		return false
	}); err != nil {
		t.Fatal(err)
	}
	o := beamstore.WindowOptions{Every: "1h", ReadOptions: beamstore.ReadOptions{To: begin.AddDate(1, 0, 0)}}
	if _, _, err := piped(t, connection(bt.Addr), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", row)) {
		t.Errorf("error %v", err)
	}
	o.SkipUndecodable = true
	windows, counters, err := piped(t, connection(bt.Addr), o)
	check(t, err)
	events, flagged := int64(0), int64(0)
	for _, w := range windows {
		events, flagged = events+w.Events, flagged+w.Undecodable
	}
	if len(windows) != sensors || events != 299 || flagged != 1 || counters["undecodable"] != 1 {
		t.Errorf("%d windows of %d events, %d undecodable; counters %v", len(windows), events, flagged, counters)
	}
}

// What cannot be summarized is refused before anything runs.
func TestInvalidWindows(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	for name, o := range map[string]beamstore.WindowOptions{
		"width": {Every: "hour"}, "zone": {Every: "1d", Zone: "Berlin"},
		"query": {Every: "1d", ReadOptions: beamstore.ReadOptions{Query: beamstore.Query{Name: "Nope"}}},
		"table": {Every: "1d", ReadOptions: beamstore.ReadOptions{Table: "samples_salted"}},
		"range": {Every: "1d", ReadOptions: beamstore.ReadOptions{From: begin, To: begin.Add(-1)}},
		"field": {Every: "1d", Fields: []store.Field{"nope"}}, "series value": {Every: "1d", By: []store.SeriesValue{"nope"}},
		"fill": {Every: "1d", Fill: -1}, "filled groups": {Every: "1d", Fill: 77, By: []store.SeriesValue{}},
	} {
		_, err := plantbeam.SampleWindows.Read(s, connection("localhost:1"), o)
		var table *store.UnknownTableError
		var query *beamstore.QueryError
		var times *beamstore.RangeError
		if !map[string]bool{
			"width": errors.Is(err, window.ErrWidth), "zone": err != nil, "query": errors.As(err, &query), "table": errors.As(err, &table), "range": errors.As(err, &times),
			"field": errors.Is(err, store.ErrNoField), "series value": errors.Is(err, store.ErrNoSeriesValue), "fill": errors.Is(err, window.ErrFill), "filled groups": errors.Is(err, window.ErrFill),
		}[name] {
			t.Errorf("%s: %v", name, err)
		}
	}
}
