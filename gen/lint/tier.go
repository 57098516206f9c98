package lint

import (
	"fmt"
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// tierOfExpiries is T18: timestamps do not tell the age of cells.
func tierOfExpiries(_ *layout.Layout, t *layout.Table, report reporter) {
	if _, moves := t.Tier.After(); !moves {
		return
	}
	for _, f := range t.Families {
		switch after, expires := f.Life.Expires(); {
		case !expires:
		case after == 0:
			report.at(t.TierPos, "expiry", f.Name)
		default:
			report.at(t.TierPos, "offset", f.Name, after)
		}
	}
}

// youngTier is T19: Bigtable's limit.
func youngTier(_ *layout.Layout, t *layout.Table, report reporter) {
	if after, moves := t.Tier.After(); moves && after < codec.MinTier && t.Until.IsZero() {
		report.at(t.TierPos, "young", after, codec.MinTier)
	}
}

// emptyTier is T20: everything expires before it moves.
func emptyTier(_ *layout.Layout, t *layout.Table, report reporter) {
	after, moves := t.Tier.After()
	_, longest := t.Ages()
	if !moves || longest == 0 || after < longest || t.ExpiryTimed() || !t.Until.IsZero() {
		return
	}
	when := "empty"
	if longest > codec.MinTier {
		when = "late"
	}
	report.at(t.TierPos, when, after, longest)
}

// coldReads is T21: reads that are limited by the throughput of the infrequent access tier.
func coldReads(l *layout.Layout, t *layout.Table, report reporter) {
	after, moves := t.Tier.After()
	_, longest := t.Ages()
	if !moves || t.ExpiryTimed() { // T18 refuses the tier
		return
	}
	slow := capacity.Types[len(capacity.Types)-1]
	for _, r := range l.Expect.Reads {
		if l.ReadTable(r.Method) != t {
			continue
		}
		read := capacity.ReadOf(l, r)
		if read.Cold == nil {
			continue
		}
		rows := r.Rate * read.Cold.Seeks
		nodes := words.Count(max(1, math.Ceil(rows/slow.Reads)), "node", "nodes")
		limit := fmt.Sprintf("%s there take %s at %s", words.Count(rows, "row", "rows")+"/s", nodes, words.Count(slow.Reads, "row", "rows")+"/s each")
		switch later := atLeast(r.Range); {
		case read.Cold.Unfiltered:
			report.at(t.TierPos, "any", r.Method, limit)
		case longest > 0 && later >= longest:
			report.at(t.TierPos, "all", r.Method, r.Range, after, limit)
		default:
			report.at(t.TierPos, "later", r.Method, r.Range, after, limit, later)
		}
	}
}

// atLeast returns a time range, rounded up to days.
func atLeast(d time.Duration) time.Duration {
	const day = 24 * time.Hour
	return (d + day - 1) / day * day
}
