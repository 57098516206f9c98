package capacity_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// tib is how Google counts the storage of nodes.
const tib = 1 << 40

// layoutOf resolves a schema of one table with a field of 8 bytes and entries after it.
func layoutOf(t *testing.T, entries string) *layout.Layout {
	t.Helper()
	return testschema.Layout(t, `btgen: v1
package: p
name: P
series:
  region: {type: enum, of: {north: 1, south: 2}}
  id: {type: uuid}
time: {precision: 1s}
fields:
  value: int64
tables:
  p:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [region, id, {time: unix_s}]}
    family: m
    ttl: {max_age: 30d}
queries:
  ByRegion: {by: [region]}
`+entries)
}

// cellBytes is what an event of that table takes: the row key north#uuid#seconds, the family,
// the qualifier, the timestamp and the value.
const cellBytes = (5 + 1 + 36 + 1 + 10) + 1 + 5 + 8 + 8

// TestPlan compares a plan with figures computed by hand.
func TestPlan(t *testing.T) {
	p := capacity.Of(layoutOf(t, `expect: {series: 28000, rate: 1/s, reads: {Latest: 17000/s, ByRegion: {rate: 2/s, range: 10s}}, clusters: 2}`))
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"rows written", p.Writes.Rows, 28_000},
		{"bytes written", p.Writes.Bytes, 28_000 * cellBytes},
		{"writes a day", p.WritesADay, 28_000 * 86_400},
		{"reads a day", p.ReadsADay, 17_002 * 86_400},
		{"series of a region", p.Reads[1].Series, 14_000},
		{"seeks of a region", p.Reads[1].Seeks, 1},
		{"bytes of a region, at all times", p.Reads[1].Bytes, 14_000 * 37 * 86_400 * cellBytes},
		{"bytes of the latest event", p.Reads[0].Bytes, cellBytes},
		{"writing nodes", p.Nodes[0].Limits[0].Nodes, 28_000.0 / 14_000 / 0.6},
		{"reading nodes", p.Nodes[0].Limits[1].Nodes, 17_002.0 / 17_000 / 0.6},
		{"stored after a day", p.Storage[0].Bytes.Lower, 28_000 * 86_400 * cellBytes},
		{"steady lower bound", p.Storage[2].Bytes.Lower, 28_000 * 86_400 * 30 * cellBytes},
		{"steady upper bound", p.Storage[2].Bytes.Upper, 28_000 * 86_400 * 37 * cellBytes},
		{"storing nodes", p.Nodes[0].Limits[3].Nodes, 28_000 * 86_400 * 37 * cellBytes / (2.5 * tib)},
		{"reading nodes, HDD", p.Nodes[1].Limits[1].Nodes, 17_002.0 / 500 / 0.6},
		{"clusters", float64(p.Clusters), 2},
	} {
		if math.Abs(c.got-c.want) > 1e-9*c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if !p.Storage[2].Steady || len(p.Storage) != 3 || p.Storage[2].After != schema.FormatDuration(37*24*time.Hour) {
		t.Errorf("storage: %+v", p.Storage)
	}
	assert.Same(t, "scans", p.Nodes[0].Binds)
	p = capacity.Of(layoutOf(t, `expect: {series: 28000, rate: 1/s, reads: {Latest: 17000/s}}`))
	if p.Nodes[0].Binds != "writes" || p.Nodes[1].Binds != "reads" {
		t.Errorf("bound by %s and %s", p.Nodes[0].Binds, p.Nodes[1].Binds)
	}
}

// TestSharedCPU checks that a cluster whose nodes write and read has nodes for both: Google's
// figures are for nodes that do nothing else.
func TestSharedCPU(t *testing.T) {
	p := capacity.Of(layoutOf(t, `expect: {series: 8400, rate: 1/s, reads: {Latest: 10200/s}}`))
	scans := p.Nodes[0].Limits[2].Nodes
	if want := int64(math.Ceil(1 + 1 + scans)); p.Nodes[0].LowLatency != want || scans <= 0 {
		t.Errorf("%d nodes, want %d", p.Nodes[0].LowLatency, want)
	}
}

// TestPeak checks that nodes are for the peak, and totals of a day for the average.
func TestPeak(t *testing.T) {
	for arrival, peak := range map[string]float64{"steady": 1, "bursts": 6, "daily": 2} {
		p := capacity.Of(layoutOf(t, "expect: {series: 1000, rate: 1/s, arrival: "+arrival+"}"))
		if p.Writes.Rows != 1000*peak || p.WritesADay != 86_400_000 {
			t.Errorf("%s: %v rows per second, %v a day", arrival, p.Writes.Rows, p.WritesADay)
		}
	}
}

// TestForever checks that a table that keeps data forever has no steady state.
func TestForever(t *testing.T) {
	l := layoutOf(t, "expect: {series: 1000, rate: 1/s}")
	l.Tables[0].Families[0].Life.Retention = nil
	p := capacity.Of(l)
	for _, s := range p.Storage {
		if s.Steady || s.Bytes.Lower != s.Bytes.Upper {
			t.Errorf("%+v", s)
		}
	}
	if n := len(p.Storage); n != 3 || p.Storage[2].After != "365d" {
		t.Errorf("%+v", p.Storage)
	}
}

// TestLastStates checks that limits of versions bound the row of a series: its storage, and what
// reads return, are those of the versions, and of a week until garbage collection.
func TestLastStates(t *testing.T) {
	const series, cells = 10_000, 3
	for rule, versions := range map[string]float64{
		"{max_versions: 1}":                             1,
		"{any_of: [{max_age: 30d}, {max_versions: 5}]}": 5,
		// The newest three are kept even if they are older, and of younger ones all of an hour.
		"{all_of: [{max_age: 1h}, {max_versions: 3}]}": 3600,
	} {
		l := testschema.Layout(t, fmt.Sprintf(`
btgen: v1
package: fleet
name: State
series: {vehicle: {type: string, example: v1234}}
fields: {speed: float64, heading: int64, odometer: int64}
expect: {series: %d, rate: 1/s, value_bytes: 5, reads: {Latest: 10/s, Read: 5/s}}
tables:
  now: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [vehicle]}, bucket: none, family: n, ttl: %s}
`, series, rule))
		e := estimate.Of(l, l.Tables[0])
		p := capacity.Of(l)
		if e.LivePerRow != versions || e.EventsPerRow != versions+7*86_400 || e.CellsPerRow != cells*e.EventsPerRow {
			t.Errorf("%s: %v live of %v events, %v cells", rule, e.LivePerRow, e.EventsPerRow, e.CellsPerRow)
		}
		steady := p.Storage[len(p.Storage)-1]
		if want := e.Event.Lower * versions * series; !steady.Steady || math.Abs(steady.Bytes.Lower-want) > want/1e3 {
			t.Errorf("%s: %+v is stored, want %v", rule, steady, want)
		}
		if want := e.Event.Upper * (versions + 7*86_400) * series; math.Abs(steady.Bytes.Upper-want) > want/1e3 {
			t.Errorf("%s: %+v is stored, want %v", rule, steady, want)
		}
		if e.Table != steady.Bytes {
			t.Errorf("%s: explain prints %v, capacity %v", rule, e.Table, steady.Bytes)
		}
		for _, r := range p.Reads {
			want := e.Event.Upper
			if r.Method == "Read" {
				want *= versions
			}
			if math.Abs(r.Bytes-want) > 1 {
				t.Errorf("%s: a call of %s takes %v bytes, want %v", rule, r.Method, r.Bytes, want)
			}
		}
	}
}

// TestPrice checks the monthly cost, and that unknown prices leave it out.
func TestPrice(t *testing.T) {
	p := capacity.Of(layoutOf(t, "expect: {series: 28000, rate: 1/s, clusters: 3}"))
	p.Price(capacity.Prices{"node_hour": 2, "ssd_gib_month": 0.5})
	stored := p.Storage[2].Bytes.Upper / (1 << 30)
	want := 3 * (float64(p.Nodes[0].LowLatency)*2*730 + stored*0.5)
	if got := p.Nodes[0].MonthlyCost; got == nil || math.Abs(*got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	if p.Nodes[1].MonthlyCost != nil || p.Nodes[2].MonthlyCost != nil {
		t.Error("costs without a price")
	}
	if err := (capacity.Prices{"ssd": 1}).Check(); err == nil {
		t.Error("an unknown price is accepted")
	}
}
