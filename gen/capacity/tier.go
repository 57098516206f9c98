package capacity

import (
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Cold is the part of a declared read that is in the infrequent access tier.
type Cold struct {
	Seeks float64 `json:"seeks_per_call"`
	Bytes float64 `json:"bytes_per_call"` // an upper bound
	// Unfiltered reports whether the read touches the tier whatever its range, because timestamps
	// do not tell which events are recent.
	Unfiltered bool `json:"unfiltered,omitempty"`
}

// coldPart returns the part of a declared read of a table in the infrequent access tier; nil if
// there is none. span is the time range of a call.
func coldPart(t *layout.Table, r *Read, span time.Duration) *Cold {
	after, moves := t.Tier.After()
	if !moves {
		return nil
	}
	if _, longest := t.Ages(); longest > 0 {
		span = min(span, longest)
	}
	share := 0.0
	if r.Method != schema.LatestMethod && span > after {
		share = (span - after).Seconds() / span.Seconds()
	}
	switch {
	case !t.EventTimed():
		return &Cold{Seeks: r.Seeks, Bytes: r.Bytes * share, Unfiltered: true}
	case share == 0:
		return nil
	}
	return &Cold{Seeks: max(1, math.Ceil(r.Seeks*share)), Bytes: r.Bytes * share}
}

// tiered reports whether a table has an infrequent access tier.
func tiered(l *layout.Layout) bool {
	for _, t := range l.Tables {
		if _, moves := t.Tier.After(); moves {
			return true
		}
	}
	return false
}

// coldAfter returns the data of all tables that are in the infrequent access tier at some time
// after the first write.
func coldAfter(l *layout.Layout, age time.Duration) estimate.Bounds {
	var out estimate.Bounds
	for _, t := range l.Tables {
		after, moves := t.Tier.After()
		if !moves || age <= after {
			continue
		}
		e := estimate.Of(l, t)
		out = out.Plus(e.StoredAfter(age).Minus(e.StoredAfter(after)))
	}
	return out
}

// demand is what a cluster has to do: rows of 1 KB written, rows sought and bytes scanned per
// second, and bytes stored.
type demand struct{ writes, seeks, scanned, stored float64 }

// tieredCluster returns the nodes of a cluster whose tables have an infrequent access tier. cold is
// the part of the demand in that tier. A read that touches both tiers seeks its rows in both.
func tieredCluster(e Edition, all, cold demand) Cluster {
	ssd, slow := Types[0], Types[len(Types)-1]
	c := clusterWith("SSD and infrequent access, "+e.Name, []Limit{
		alone("writes", all.writes, all.writes/ssd.Writes),
		alone("reads", all.seeks+cold.seeks, all.seeks/ssd.Reads+cold.seeks/slow.Reads),
		alone("scans", all.scanned, (all.scanned-cold.scanned)/ssd.Scan+cold.scanned/slow.Scan),
		alone("storage", all.stored, max((all.stored-cold.stored)/ssd.Bytes, all.stored/e.Bytes)),
	})
	c.tiered, c.nodePrice = true, e.NodePrice
	return c
}

// alone returns a limit that takes some fully used nodes.
func alone(name string, needed, nodes float64) Limit {
	l := Limit{Name: name, Needed: needed, Nodes: nodes}
	if nodes > 0 {
		l.PerNode = needed / nodes
	}
	return l
}

// save sets how much less each cluster with tiers costs than one with SSD alone, if both are priced.
func (p *Plan) save() {
	var ssd *float64
	for i := range p.Nodes {
		if c := &p.Nodes[i]; c.Type == Types[0].Name {
			ssd = c.MonthlyCost
		}
	}
	for i := range p.Nodes {
		if c := &p.Nodes[i]; c.tiered && ssd != nil && c.MonthlyCost != nil {
			saving := *ssd - *c.MonthlyCost
			c.MonthlySaving = &saving
		}
	}
}
