package evolve

import (
	"cmp"
	"math"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The rules that this file applies. A tier is not data, so that btgen.lock does not have it: they
// compare two versions of the schemas.
var (
	tierEarlier = rollout(Rule{ID: "E41"})
	tierLater   = safe(Rule{ID: "E74"})
)

// tiers adds the changes of tiers between two versions of a schema.
func (c *Comparison) tiers(a, b *layout.Layout) {
	for _, t := range b.Tables {
		before := tableOf(a, t.ID)
		if before == nil || before.Draft {
			continue
		}
		old, new := before.Tier, t.Tier
		pos := t.TierPos
		if !pos.IsValid() {
			pos = t.Pos
		}
		switch was, is := movesAfter(old), movesAfter(new); {
		case is > was && new == 0:
			c.plain(tierEarlier, pos, t.ID, "table %q no longer has its infrequent access tier (%s), which setup leaves alone: reads of recent events may touch it; first write `tier: ssd` and run setup", t.ID, tierText(old))
		case is < was:
			c.tier(tierEarlier, pos, t.ID, "the infrequent access tier of table %q changes from %s to %s: deploy the programs that read it, then run setup", t.ID, old, new)
		case is > was:
			c.tier(tierLater, pos, t.ID, "the infrequent access tier of table %q changes from %s to %s: cells move back to SSD", t.ID, old, new)
		}
	}
}

// tier adds a change of the tier of a table.
func (c *Comparison) tier(rule *Rule, pos diag.Pos, table, format, id string, old, new codec.Tier) {
	c.plain(rule, pos, table, format, id, tierText(old), tierText(new))
}

// movesAfter returns the age from which cells move; the longest if they do not.
func movesAfter(t codec.Tier) int64 {
	after, _ := t.After()
	return cmp.Or(int64(max(0, after)), math.MaxInt64)
}

// tierText says which cells are in a tier.
func tierText(t codec.Tier) string {
	if after, moves := t.After(); moves {
		return "cells older than " + schema.FormatDuration(after)
	}
	return "none"
}
