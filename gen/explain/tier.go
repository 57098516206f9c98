package explain

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// tierWords explains the infrequent access tier of a table; empty if it has none.
func tierWords(t *layout.Table) string {
	after, moves := t.Tier.After()
	if !moves {
		return ""
	}
	return "Bigtable moves cells from SSD to the infrequent access tier when their timestamps are " + schema.FormatDuration(after) +
		" old. It is cheaper, but a node reads at most 100 rows a second from it."
}

// readTiers says which storage tiers a read of a query, or the search for the latest event, touches; empty unless its
// table has two.
func readTiers(l *layout.Layout, q *layout.Query, latest bool) string {
	after, moves := q.Table.Tier.After()
	if !moves {
		return ""
	}
	method := q.Name
	if latest {
		method = schema.LatestMethod
	}
	age := schema.FormatDuration(after)
	text := "SSD for the last " + age +
		": timestamps from the start of the time range on; both tiers for a range that begins earlier"
	switch {
	case !q.Table.EventTimed():
		text = "both: timestamps are those of writes, which do not tell which events are recent"
	case latest:
		text = "SSD: timestamps of the last " + age + "; if the series has no event there, all, in both tiers"
	}
	i := slices.IndexFunc(l.Expect.Reads, func(r schema.ExpectedRead) bool { return r.Method.V == method })
	if i < 0 {
		return text
	}
	switch declared := capacity.ReadOf(l, l.Expect.Reads[i]); {
	case declared.Cold == nil && declared.Range != "":
		text += "; calls of " + declared.Range + " touch only SSD"
	case declared.Cold != nil && !declared.Cold.Unfiltered:
		text += "; calls of " + declared.Range + " touch both, for events older than " + age
	}
	return text
}

// coldWords says how much of some data is in the infrequent access tier; empty if no table has one.
func coldWords(s *capacity.Stored) string {
	switch {
	case s.Cold == nil:
		return ""
	case s.Cold.Upper == 0:
		return "; all on SSD"
	}
	return "; " + s.Cold.String() + " of it in the infrequent access tier"
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
	return []string{`With an infrequent access tier, a node stores up to 32 TiB in all, and 64 TiB in the Enterprise Plus
		edition, whose nodes cost more, of which up to 5 TiB are on SSD. It reads at most 100 rows a second, or 36 MB/s, from
		the tier. Reads of both tiers seek their rows in both. The tier requires SSD storage, and is in preview. The row SSD
		is for the same data without the tier.`}
}
