package lint

import (
	"fmt"
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// tierOfExpiries is T18: timestamps do not tell the age of cells.
func tierOfExpiries(_ *layout.Layout, t *layout.Table, report reporter) {
	if _, moves := t.Tier.After(); !moves {
		return
	}
	const hint = "write `tier: ssd`, or use a ttl whose timestamps are event times, such as `ttl: {max_age: 365d}`"
	for _, f := range t.Families {
		switch after, expires := f.Life.Expires(); {
		case !expires:
		case after == 0:
			report.at(t.TierPos, hint, "cells of family %q have the time at which they expire: they are deleted before they are old enough for the infrequent access tier", f.Name)
		default:
			report.at(t.TierPos, hint, "cells of family %q have their expiry minus %s as timestamps: they would move to the infrequent access tier by expiry, not by age", f.Name, schema.FormatDuration(after))
		}
	}
}

// youngTier is T19: Bigtable's limit.
func youngTier(_ *layout.Layout, t *layout.Table, report reporter) {
	if after, moves := t.Tier.After(); moves && after < codec.MinTier && t.Until.IsZero() {
		report.at(t.TierPos, "write `after: 30d`, or more", "cells cannot move to the infrequent access tier after %s: Bigtable requires at least %s", schema.FormatDuration(after), schema.FormatDuration(codec.MinTier))
	}
}

// emptyTier is T20: everything expires before it moves.
func emptyTier(_ *layout.Layout, t *layout.Table, report reporter) {
	after, moves := t.Tier.After()
	_, longest := t.Ages()
	if !moves || longest == 0 || after < longest || t.ExpiryTimed() || !t.Until.IsZero() {
		return
	}
	hint := "write `tier: ssd`"
	if longest > codec.MinTier {
		hint += ", or use a lower age, as in `tier: {infrequent_access: {after: 30d}}`"
	}
	report.at(t.TierPos, hint, "the infrequent access tier stays empty: cells move there after %s, but are deleted after %s", schema.FormatDuration(after), schema.FormatDuration(longest))
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
		if l.TableOf(r.Method) != t {
			continue
		}
		read := capacity.ReadOf(l, r)
		if read.Cold == nil {
			continue
		}
		rows := r.Rate * read.Cold.Seeks
		nodes := words.Count(max(1, math.Ceil(rows/slow.Reads)), "node", "nodes")
		limit := fmt.Sprintf("%s there take %s at %s", words.Count(rows, "row", "rows")+"/s", nodes, words.Count(slow.Reads, "row", "rows")+"/s each")
		hint := "allow it, if it is planned: " + allow("T21", "the nodes are planned")
		switch {
		case read.Cold.Unfiltered:
			report.at(t.TierPos, hint, "%s touches the infrequent access tier, because write times do not tell recent events: %s", r.Method, limit)
		default:
			if later := atLeast(r.Range); longest == 0 || later < longest {
				hint = "move cells later: " + code("tier: {infrequent_access: {after: %s}}", schema.FormatDuration(later)) + "; or " + hint
			}
			report.at(t.TierPos, hint, "%s reads %s, of which the infrequent access tier has what is older than %s: %s", r.Method, schema.FormatDuration(r.Range), schema.FormatDuration(after), limit)
		}
	}
}

// atLeast returns a time range, rounded up to days.
func atLeast(d time.Duration) time.Duration {
	const day = 24 * time.Hour
	return (d + day - 1) / day * day
}

// sameTiers reports tiers that differ from that of an earlier schema.
func sameTiers(tables []*layout.Table, found *diag.List) {
	var first *layout.Table
	for _, t := range tables {
		switch {
		case t.Tier == 0:
		case first != nil && first.Tier != t.Tier:
			found.Errorf(t.TierPos, "the tier of table %q differs from that at %s", t.ID, first.TierPos).Hint = "use the same value in both, or remove one"
		default:
			first = t
		}
	}
}
