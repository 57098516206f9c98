package capacity_test

import (
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestTier compares the plan of a table with an infrequent access tier with figures computed by hand.
func TestTier(t *testing.T) {
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
	for _, c := range []struct {
		what      string
		got, want float64
	}{
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
	} {
		if math.Abs(c.got-c.want) > 1e-9*math.Abs(c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
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
