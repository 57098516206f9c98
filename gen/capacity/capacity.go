// Package capacity computes what a schema needs under its declared load: writes and reads
// per second, storage over time, and the nodes that each of them takes. Google's published
// figures are in figures.go, and nowhere else. There are no prices: [Prices] come from the
// user.
package capacity

import (
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Plan is what a schema needs in each cluster. Rates are at the peak of the load, unless
// noted otherwise.
type Plan struct {
	Clusters int64   `json:"clusters"`
	Peak     float64 `json:"peak"` // the highest rate of events, as a multiple of the average
	// BusiestSeries is the share of the busiest series in all events, from 0 to 1.
	BusiestSeries float64 `json:"busiest_series"`
	Writes        Flow    `json:"writes"`
	Reads         []Read  `json:"reads"` // declared ones
	// Summaries are what rollups take; nil if there are none.
	Summaries *Summaries `json:"summaries,omitempty"`
	// RequestsADay are mutations of rows and read requests, on average.
	WritesADay float64   `json:"writes_a_day"`
	ReadsADay  float64   `json:"reads_a_day"`
	Storage    []Stored  `json:"storage"`
	Nodes      []Cluster `json:"nodes"` // of each storage type
	// LacksPrices are the names of prices that the cost of the first of Nodes takes and that are
	// unknown; nil if all are.
	LacksPrices []string `json:"lacks_prices,omitempty"`
}

// Flow is a stream of rows.
type Flow struct {
	Rows  float64 `json:"rows_per_second"`
	Bytes float64 `json:"bytes_per_second"` // upper bound, before compression
}

// Summaries are what it takes to summarize buckets.
type Summaries struct {
	Flow // rows that are read and written once, when their buckets have ended
	// Walked is what each search for changed rows walks over after a year, in bytes: an upper bound, before compression.
	Walked float64 `json:"walked_bytes"`
}

// Search returns how long an SSD node is busy with a search that walks over all rows, and with nothing else: 30 years at most.
func (s *Summaries) Search() time.Duration {
	const most = 30 * 365 * 24 * time.Hour
	return time.Duration(min(s.Walked/Types[0].Scan*float64(time.Second), float64(most)))
}

// Read is a declared read.
type Read struct {
	Method string  `json:"method"`
	Rate   float64 `json:"calls_per_second"`
	Range  string  `json:"range,omitempty"` // of time; empty for the newest event
	// RangeAssumed reports whether the schema does not declare the range.
	RangeAssumed bool    `json:"range_assumed,omitempty"`
	Series       float64 `json:"series"` // that a call finds
	// SeriesAssumed reports whether the number of series depends on an undeclared
	// cardinality.
	SeriesAssumed bool    `json:"series_assumed,omitempty"`
	Seeks         float64 `json:"seeks_per_call"` // row ranges and row keys
	Bytes         float64 `json:"bytes_per_call"` // that the server reads; an upper bound
	// Cold is the part of them in the infrequent access tier; nil if there is none.
	Cold *Cold `json:"infrequent_access,omitempty"`
}

// Stored is the data at a time after the first write, before compression.
type Stored struct {
	After string          `json:"after"`
	Bytes estimate.Bounds `json:"bytes"`
	// Cold are those of them in the infrequent access tier; nil without one.
	Cold *estimate.Bounds `json:"infrequent_access,omitempty"`
	// Steady reports whether garbage collection keeps pace with writes from then on.
	Steady bool `json:"steady,omitempty"`
}

// Cluster is the nodes of a cluster of a storage type.
type Cluster struct {
	Type   string  `json:"type"`
	Limits []Limit `json:"limits"`
	// LowLatency and Throughput are the numbers of nodes for the two targets.
	LowLatency int64 `json:"low_latency"`
	Throughput int64 `json:"throughput"`
	// Binds is the limit that takes the most nodes, for low latency.
	Binds string `json:"binds"`
	// MonthlyCost is of all clusters with the nodes for low latency; nil without prices.
	MonthlyCost *float64 `json:"monthly_cost,omitempty"`
	// MonthlySaving is how much less that is than with SSD alone; nil without prices or without
	// an infrequent access tier.
	MonthlySaving *float64 `json:"monthly_saving,omitempty"`

	tiered    bool   // some data is in the infrequent access tier
	nodePrice string // the name of the price of a node
}

// Limit is what a cluster needs of one kind.
type Limit struct {
	Name    string  `json:"name"`
	Needed  float64 `json:"needed"`
	PerNode float64 `json:"per_node"`
	Nodes   float64 `json:"nodes"` // for low latency, not rounded
}

// AssumedRange is the time range of reads whose range is not declared.
const AssumedRange = 24 * time.Hour

// assumedMatch is the number of series that a query finds if cardinalities are undeclared:
// the square root of their number, halfway between one and all in orders of magnitude.
func assumedMatch(series float64) float64 { return math.Sqrt(series) }

// Of returns what a schema without errors needs.
func Of(l *layout.Layout) Plan {
	load := l.Load()
	events := load.Rate * float64(load.Series)
	p := Plan{Clusters: max(1, l.Expect.Clusters), Peak: load.Peak(), BusiestSeries: load.Busiest(), Reads: []Read{}}
	var all, cold demand
	for _, t := range l.Tables {
		e := estimate.Of(l, t)
		rows := events * float64(t.RowsPerEvent())
		bytes := events * e.Event.Upper
		if e.Rollup != nil {
			bytes += rows * e.Rollup.Mark.Bytes().Upper
		}
		p.Writes.Rows += rows * p.Peak
		p.Writes.Bytes += bytes * p.Peak
		p.WritesADay += rows * (24 * time.Hour).Seconds()
		all.writes += max(rows, bytes/rowBytes) * p.Peak
		p.summarize(&e, &all)
	}
	for _, r := range l.Expect.Reads {
		read := ReadOf(l, r)
		p.Reads = append(p.Reads, read)
		all.seeks += read.Rate * read.Seeks
		all.scanned += read.Rate * read.Bytes
		if read.Cold != nil {
			cold.seeks += read.Rate * read.Cold.Seeks
			cold.scanned += read.Rate * read.Cold.Bytes
		}
		p.ReadsADay += read.Rate * (24 * time.Hour).Seconds()
	}
	p.Storage = storedOver(l)
	all.stored, cold.stored = p.largest()
	types := Types
	if tiered(l) {
		for _, e := range Editions {
			p.Nodes = append(p.Nodes, tieredCluster(e, all, cold))
		}
		types = types[:1] // no other storage can have tiers
	}
	for _, s := range types {
		p.Nodes = append(p.Nodes, clusterOf(s, all))
	}
	return p
}

// summarize adds what it takes to summarize the buckets of a table: each row is read and written once, when its bucket has ended.
func (p *Plan) summarize(e *estimate.Estimate, all *demand) {
	if e.Rollup == nil {
		return
	}
	if p.Summaries == nil {
		p.Summaries = &Summaries{}
	}
	p.Summaries.Walked += e.StoredAfter(ages[len(ages)-1]).Upper
	rows := e.Rollup.Buckets * float64(e.Load.Series)
	p.Summaries.Rows += rows
	p.Summaries.Bytes += rows * e.Row.Upper
	p.WritesADay += rows * (24 * time.Hour).Seconds()
	all.seeks += rows
	all.scanned += rows * e.Row.Upper
	all.writes += rows * max(1, e.Rollup.Run.Bytes().Upper/rowBytes)
}

// largest returns the most data within the first year or in the steady state, and how much of it
// is in the infrequent access tier.
func (p *Plan) largest() (all, cold float64) {
	for _, s := range p.Storage {
		if s.Bytes.Upper > all {
			all, cold = s.Bytes.Upper, 0
			if s.Cold != nil {
				cold = s.Cold.Upper
			}
		}
	}
	return all, cold
}

// clusterOf returns the nodes of a storage type.
func clusterOf(s Storage, d demand) Cluster {
	return clusterWith(s.Name, []Limit{
		{"writes", d.writes, s.Writes, d.writes / s.Writes},
		{"reads", d.seeks, s.Reads, d.seeks / s.Reads},
		{"scans", d.scanned, s.Scan, d.scanned / s.Scan},
		{"storage", d.stored, s.Bytes, d.stored / s.Bytes},
	})
}

// clusterWith returns the nodes of a cluster, given those that each kind of need takes alone if
// they are used fully. Writes, reads and scans share the CPU of a node, so their nodes add up.
func clusterWith(name string, limits []Limit) Cluster {
	c := Cluster{Type: name, Limits: limits, nodePrice: nodePrice}
	busy := limits[0].Nodes + limits[1].Nodes + limits[2].Nodes
	stored := limits[3].Nodes
	nodes := func(t Target) int64 {
		return int64(max(1, math.Ceil(busy/t.CPU), math.Ceil(stored/t.Storage)))
	}
	c.LowLatency, c.Throughput = nodes(Targets[0]), nodes(Targets[1])
	binds := &c.Limits[0]
	for i := range c.Limits {
		limit := &c.Limits[i]
		target := Targets[0].CPU
		if limit.Name == "storage" {
			target = Targets[0].Storage
		}
		if limit.Nodes /= target; limit.Nodes > binds.Nodes {
			binds = limit
		}
	}
	if c.Binds = binds.Name; c.LowLatency == 1 {
		c.Binds = "" // a cluster has a node anyway
	}
	return c
}

// ReadOf returns what a declared read takes.
func ReadOf(l *layout.Layout, r schema.ExpectedRead) Read {
	out := Read{Method: r.Method.V, Rate: r.Rate, Series: 1}
	q := l.ReadQuery()
	if r.Method.V == schema.LatestMethod {
		q = l.LatestQuery()
	}
	if i := slices.IndexFunc(l.Queries, func(q layout.Query) bool { return q.Name == r.Method.V }); i >= 0 {
		q = l.Queries[i]
		out.Series, out.SeriesAssumed = Matches(l, &q)
	}
	e := estimate.Of(l, q.Table)
	from, _, _ := sample.Day(q.Table)
	var w estimate.Work
	span := r.Range
	if r.Method.V == schema.LatestMethod {
		_, _, now := sample.Day(q.Table)
		w, out.Seeks = estimate.LatestWork(l, now), seeksOf(sample.LatestRequests(l, now))
	} else {
		if span == 0 {
			span, out.RangeAssumed = AssumedRange, true
		}
		out.Range = schema.FormatDuration(span)
		w = estimate.WorkOf(l, &q, from.Add(span), from, from.Add(span), nil)
		out.Seeks = seeksOf(sample.Requests(l, &q, from.Add(span), from, from.Add(span), nil))
	}
	out.Bytes = out.Series * scannedBytes(&e, &w, q.Table)
	out.Cold = coldPart(q.Table, &out, span)
	return out
}

// scannedBytes returns what the server reads at most for the given work: the returned cells and the skipped rows. Where values are column names, it reads all cells
// of the rows, since their times are not in the order of the cells.
func scannedBytes(e *estimate.Estimate, w *estimate.Work, t *layout.Table) float64 {
	event := e.Event.Upper
	row := event / float64(e.RowsPerEvent) * e.EventsPerRow
	if t.Pattern.Naming() == codec.NamedByValue {
		return (w.Rows + w.Walked) * row
	}
	return w.Cells/float64(e.CellsPerEvent)*event + w.Walked*row
}

// Matches returns how many series a query finds, and whether that is based on an undeclared
// cardinality.
func Matches(l *layout.Layout, q *layout.Query) (series float64, assumed bool) {
	all := float64(l.Load().Series)
	series = all
	for _, i := range q.By {
		n := l.Series[i].Cardinality
		if n == 0 && len(q.By) < len(l.Series) {
			return assumedMatch(all), true
		}
		series /= max(1, float64(n))
	}
	if len(q.By) == len(l.Series) {
		return 1, false
	}
	return max(1, series), l.Load().AssumedSeries
}
