package explain_test

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
	"github.com/btgen-dev/btgen/runtime/codec"
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
fields: {value: int64}
tables:
  p:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [region, id, {time: unix_s}]}
    family: m
    ttl: {max_age: 30d}
queries: {ByRegion: {by: [region]}}
`+entries)
}

// cellBytes is what an event of that table takes: the row key north#uuid#seconds, the family,
// the qualifier, the timestamp and the value.
const cellBytes = (5 + 1 + 36 + 1 + 10) + 1 + 5 + 8 + 8

// figure is a figure of a plan, and what it is when computed by hand.
type figure struct {
	what      string
	got, want float64
}

func compareFigures(t *testing.T, all []figure) {
	t.Helper()
	for _, f := range all {
		if math.Abs(f.got-f.want) > 1e-6*math.Abs(f.want) {
			t.Errorf("%s: %v, want %v", f.what, f.got, f.want)
		}
	}
}

// TestPlan compares a plan with figures computed by hand.
func TestPlan(t *testing.T) {
	p := capacity.Of(layoutOf(t, `expect: {series: 28000, rate: 1/s, reads: {Latest: 17000/s, ByRegion: {rate: 2/s, range: 10s}}, clusters: 2}`))
	compareFigures(t, []figure{
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
	})
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

// rolledUp resolves a schema with a table of buckets of a day, an event each hour, and a rollup or none.
func rolledUp(t *testing.T, rollup string) *layout.Layout {
	t.Helper()
	return testschema.Layout(t, `btgen: v1
package: p
name: P
series: {id: {type: uuid}}
time: {precision: 1s}
fields: {value: int64}
tables:
  p:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [id, {bucket: unix_s}]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
`+rollup+`
expect: {series: 1000, rate: 1/h}
`)
}

// TestRollupCapacity compares what a rollup takes with figures computed by hand.
func TestRollupCapacity(t *testing.T) {
	const rollup = "    rollup: {every: 1h, family: h, ttl: {max_age: 52w}}"
	if p := capacity.Of(rolledUp(t, "")); p.Summaries != nil {
		t.Errorf("%+v", p.Summaries)
	}
	l := rolledUp(t, rollup)
	p, e := capacity.Of(l), estimate.Of(l, l.Tables[0])
	const (
		key   = 36 + 1 + 10
		mark  = key + 1 + 12 + 8
		grace = 0.5 // hours: a 48th of a day
		event = key + 1 + 5 + 8 + 8
	)
	run := e.Rollup.Run.Bytes().Upper
	compareFigures(t, []figure{
		{"bytes of a mark", e.Rollup.Mark.Bytes().Upper, mark},
		{"marks of a series", e.Rollup.Marks.Typical, 24 * ((24+0.5+2*grace)/24 - 0.5)}, // each event has its own
		{"marks of a series, summarized once a day", e.Rollup.Marks.Upper, 24 * (24 + 0.5 + 2*grace + 24) / 24},
		{"rows summarized", p.Summaries.Rows, 1000.0 / 86400},
		{"bytes that a search walks over", p.Summaries.Walked, 1000 * (37*24*event + 365*run + e.Rollup.Marks.Upper*mark)},
		{"stored marks at first", e.StoredAfter(time.Hour).Upper, 1000 * (event + run/24 + mark)},
	})
	for walked, want := range map[float64]time.Duration{220e6 * 60: time.Minute, 1e30: 30 * 365 * 24 * time.Hour, math.Inf(1): 30 * 365 * 24 * time.Hour} {
		assert.Same(t, want, (&capacity.Summaries{Walked: walked}).Search(), walked)
	}
}

// TestTierCapacity compares the plan of a table with an infrequent access tier with figures computed by hand.
func TestTierCapacity(t *testing.T) {
	const day, events = 86_400, 28_000
	l := layoutOf(t, `expect: {series: 28000, rate: 1/s, reads: {Latest: 17000/s, Read: {rate: 50/s, range: 25d}, ByRegion: {rate: 2/s, range: 10s}}, clusters: 2}`)
	without := capacity.Of(l)
	l.Tables[0].Tier = codec.Tier(20 * 24 * time.Hour)
	p := capacity.Of(l)
	p.Price(capacity.Prices{"node_hour": 2, "ssd_gib_month": 0.5, "infrequent_access_gib_month": 0.1})
	steady := p.Storage[len(p.Storage)-1]
	tiered, plus, ssd := p.Nodes[0], p.Nodes[1], p.Nodes[2]
	scan := without.Nodes[0].Limits[2].Needed
	cold := p.Reads[1].Cold
	warm, slow := events*day*20*cellBytes/float64(1<<30), events*day*17*cellBytes/float64(1<<30)
	compareFigures(t, []figure{
		{"storage", steady.Bytes.Upper, events * day * 37 * cellBytes},
		{"cold, at least", steady.Cold.Lower, events * day * 10 * cellBytes},
		{"cold, at most", steady.Cold.Upper, events * day * 17 * cellBytes},
		{"cold after a day", p.Storage[0].Cold.Upper, 0},
		{"cold seeks", cold.Seeks, 1},
		{"cold bytes", cold.Bytes, p.Reads[1].Bytes / 5},
		{"writing nodes", tiered.Limits[0].Nodes, events / 14_000.0 / 0.6},
		{"reading nodes", tiered.Limits[1].Nodes, (17_052.0/17_000 + 50.0/100) / 0.6},
		{"scanning nodes", tiered.Limits[2].Nodes, ((scan-50*cold.Bytes)/220e6 + 50*cold.Bytes/36e6) / 0.6},
		{"storing nodes", tiered.Limits[3].Nodes, events * day * 20 * cellBytes / (2.5 * tib)},
		{"the same in Enterprise Plus", plus.Limits[3].Nodes, tiered.Limits[3].Nodes},
		{"storing nodes with SSD", ssd.Limits[3].Nodes, events * day * 37 * cellBytes / (2.5 * tib)},
		{"cost", *tiered.MonthlyCost, 2 * (float64(tiered.LowLatency)*2*730 + warm*0.5 + slow*0.1)},
		{"saving", *tiered.MonthlySaving, *ssd.MonthlyCost - *tiered.MonthlyCost},
	})
	// Nodes of another edition have another price. The class of fault: a cost is computed with the price of something else.
	if plus.MonthlyCost != nil {
		t.Errorf("nodes in Enterprise Plus without their price cost %v", *plus.MonthlyCost)
	}
	p.Price(capacity.Prices{"node_hour": 2, "enterprise_plus_node_hour": 3, "ssd_gib_month": 0.5, "infrequent_access_gib_month": 0.1})
	if got, want := *p.Nodes[1].MonthlyCost, 2*(float64(plus.LowLatency)*3*730+warm*0.5+slow*0.1); math.Abs(got-want) > 1e-9*want {
		t.Errorf("nodes in Enterprise Plus cost %v, want %v", got, want)
	}
	if p.Reads[0].Cold != nil || p.Reads[2].Cold != nil || len(p.Nodes) != 3 || ssd.MonthlySaving != nil {
		t.Errorf("%+v", p)
	}
	// With less on SSD, all of the data decides, by edition.
	l.Tables[0].Tier = codec.Tier(24 * time.Hour)
	p = capacity.Of(l)
	for i, perNode := range []float64{32 * tib, 64 * tib} {
		all := events * day * 37 * cellBytes / perNode / 0.5
		if onSSD := events * day * cellBytes / (2.5 * tib); p.Nodes[i].Limits[3].Nodes != max(all, onSSD) {
			t.Errorf("%s: %v nodes, want %v", p.Nodes[i].Type, p.Nodes[i].Limits[3].Nodes, max(all, onSSD))
		}
	}
	// Without a price of the tier, its clusters have no cost.
	p.Price(capacity.Prices{"node_hour": 2, "ssd_gib_month": 0.5})
	if p.Nodes[0].MonthlyCost != nil || p.Nodes[2].MonthlyCost == nil {
		t.Error("costs without a price")
	}
	// Reads by write times touch the tier whatever their range.
	l.Tables[0].Families[0].Life.Timestamp = codec.TimestampWrite
	for _, r := range capacity.Of(l).Reads {
		if r.Cold == nil || !r.Cold.Unfiltered || r.Cold.Seeks != r.Seeks {
			t.Errorf("%+v", r)
		}
	}
}
