package explain

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Tier says which cells of a table are in the infrequent access tier.
type Tier struct {
	After string `json:"infrequent_access_after"` // the age, such as 60d
	Means string `json:"means"`
}

// ReadTier says which storage tiers a read touches.
type ReadTier struct {
	// TimestampFilter reports whether all requests filter by timestamps, and Reaches is the earliest
	// of them, in the example; empty if there is none.
	TimestampFilter bool   `json:"timestamp_filter"`
	Reaches         string `json:"reaches,omitempty"`
	// SSDOnly reports whether the calls that the schema declares, or those of a day, touch only SSD.
	SSDOnly bool   `json:"ssd_only"`
	Means   string `json:"means"`
}

// tierOf explains the tier of a table; nil if it has none.
func tierOf(t *layout.Table) *Tier {
	after, moves := t.Tier.After()
	if !moves {
		return nil
	}
	age := schema.FormatDuration(after)
	return &Tier{age, "Bigtable moves cells from SSD to the infrequent access tier when their timestamps are " + age + " old. It is cheaper, but a node reads at most 100 rows a second from it."}
}

// readTier explains the tiers that a read of a query touches; nil if its table has one.
func readTier(l *layout.Layout, q *layout.Query, method string, requests []scan.Request) *ReadTier {
	after, moves := q.Table.Tier.After()
	if !moves {
		return nil
	}
	out := &ReadTier{TimestampFilter: len(requests) > 0, SSDOnly: true}
	for i, r := range requests {
		since, bounded := scan.Reaches(r.Filter)
		at := showTime(codec.FromMicros(since))
		switch {
		case !bounded:
			out.TimestampFilter = false
		case i == 0 || at < out.Reaches:
			out.Reaches = at
		}
	}
	age := schema.FormatDuration(after)
	declared := slices.IndexFunc(l.Expect.Reads, func(r layout.ExpectedRead) bool { return r.Method == method })
	switch {
	case !q.Table.EventTimed():
		out.SSDOnly, out.TimestampFilter, out.Reaches = false, false, ""
		out.Means = "both: timestamps are those of writes, which do not tell which events are recent"
	case method == schema.LatestMethod:
		out.Means = "SSD: timestamps of the last " + age + "; if the series has no event there, all, in both tiers"
	default:
		out.Means = "SSD for the last " + age + ": timestamps from the start of the time range on; both tiers for a range that begins earlier"
	}
	if declared >= 0 {
		out.declared(l, l.Expect.Reads[declared], after)
	}
	return out
}

// declared adds what a declared read touches.
func (r *ReadTier) declared(l *layout.Layout, read layout.ExpectedRead, after time.Duration) {
	of := capacity.ReadOf(l, read)
	switch {
	case of.Cold == nil:
		if of.Range != "" {
			r.Means += "; calls of " + of.Range + " touch only SSD"
		}
	case !of.Cold.Unfiltered:
		r.SSDOnly = false
		r.Means += "; calls of " + of.Range + " touch both, for events older than " + schema.FormatDuration(after)
	}
}

// coldWords says how much of some data is in the infrequent access tier; empty if no table has one.
func coldWords(s *capacity.Stored) string {
	switch {
	case s.Cold == nil:
		return ""
	case s.Cold.Upper == 0:
		return "; all on SSD"
	}
	return "; " + words.Sizes(s.Cold.Lower, s.Cold.Upper) + " of it in the infrequent access tier"
}

// savingWords compares a monthly cost with that of SSD alone; empty if that is unknown.
func savingWords(c *capacity.Cluster) string {
	switch {
	case c.MonthlySaving == nil:
		return ""
	case *c.MonthlySaving < 0:
		return " (" + words.Number(-*c.MonthlySaving) + " more than SSD)"
	}
	return " (" + words.Number(*c.MonthlySaving) + " less than SSD)"
}

// tierNotes say what the figures about tiers assume.
func tierNotes(p *capacity.Plan) []string {
	if !slices.ContainsFunc(p.Storage, func(s capacity.Stored) bool { return s.Cold != nil }) {
		return nil
	}
	return []string{"With an infrequent access tier, a node stores up to 32 TiB in all, and 64 TiB in the Enterprise Plus edition, whose nodes cost more, of which up to 5 TiB are on SSD. It reads at most 100 rows a second, or 36 MB/s, from the tier. Reads of both tiers seek their rows in both. The tier requires SSD storage, and is in preview. The row SSD is for the same data without the tier."}
}
