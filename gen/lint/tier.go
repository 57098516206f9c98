package lint

import (
	"fmt"
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// tierChecks are about storage tiers.
var tierChecks = checks{
	"T18": func(r reporter) { // timestamps do not tell the age of cells
		if _, moves := r.t.Tier.After(); !moves {
			return
		}
		for _, f := range r.t.Families {
			switch after, expires := f.Life.Expires(); {
			case !expires:
			case after == 0:
				r.at(r.t.TierPos, "expiry", f.Name)
			default:
				r.at(r.t.TierPos, "offset", f.Name, after)
			}
		}
	},
	"T19": func(r reporter) { // Bigtable's limit
		if after, moves := r.t.Tier.After(); moves && after < codec.MinTier && r.t.Until.IsZero() {
			r.at(r.t.TierPos, "young", after, codec.MinTier)
		}
	},
	"T20": func(r reporter) { // everything expires before it moves
		after, moves := r.t.Tier.After()
		_, longest := r.t.Ages()
		if !moves || longest == 0 || after < longest || r.t.ExpiryTimed() || !r.t.Until.IsZero() {
			return
		}
		when := "empty"
		if longest > codec.MinTier {
			when = "late"
		}
		r.at(r.t.TierPos, when, after, longest)
	},
	"T21": func(r reporter) { // reads that are limited by the throughput of the infrequent access tier
		after, moves := r.t.Tier.After()
		_, longest := r.t.Ages()
		if !moves || r.t.ExpiryTimed() { // T18 refuses the tier
			return
		}
		slow := capacity.Types[len(capacity.Types)-1]
		for _, of := range r.l.Expect.Reads {
			read := capacity.ReadOf(r.l, of)
			if r.l.ReadTable(of.Method.V) != r.t || read.Cold == nil {
				continue
			}
			rows := of.Rate * read.Cold.Seeks
			nodes := words.Count(max(1, math.Ceil(rows/slow.Reads)), "node", "nodes")
			limit := fmt.Sprintf("%s there take %s at %s", words.Count(rows, "row", "rows")+"/s", nodes, words.Count(slow.Reads, "row", "rows")+"/s each")
			switch later := wholeDays(of.Range); {
			case read.Cold.Unfiltered:
				r.at(r.t.TierPos, "any", of.Method.V, limit)
			case longest > 0 && later >= longest:
				r.at(r.t.TierPos, "all", of.Method.V, of.Range, after, limit)
			default:
				r.at(r.t.TierPos, "later", of.Method.V, of.Range, after, limit, later)
			}
		}
	},
}

// wholeDays returns a duration, rounded up to days.
func wholeDays(d time.Duration) time.Duration {
	const day = 24 * time.Hour
	return (d + day - 1) / day * day
}
