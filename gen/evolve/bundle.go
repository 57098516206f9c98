package evolve

import (
	"cmp"
	"math"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Tiers and schema bundles are not data, so that btgen.lock does not have them: two versions of the schemas are compared.

// tier adds the change of the tier of a table.
func (c *Comparison) tier(old, new *layout.Table) {
	pos := firstPos(new.TierPos, new.Pos)
	switch was, is := movesAfter(old.Tier), movesAfter(new.Tier); {
	case is > was && new.Tier == 0:
		c.plain(pos, new.ID, "tier-left", new.ID, tierText(old.Tier))
	case is < was:
		c.plain(pos, new.ID, "tier-earlier", new.ID, tierText(old.Tier), tierText(new.Tier))
	case is > was:
		c.plain(pos, new.ID, "tier-later", new.ID, tierText(old.Tier), tierText(new.Tier))
	}
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

// bundle adds the changes of the schema bundle of a table.
func (c *Comparison) bundle(was, t *layout.Table) {
	old, new := was.Bundle, t.Bundle
	pos, had := firstPos(new.Pos, t.Pos), old.ID != "" && !old.Drop
	if had && new.Drop && old.ID != new.ID {
		c.plain(pos, t.ID, "bundle-other", t.ID, old.ID, new.ID)
	}
	switch {
	case old.Same(new):
	case new.Drop:
		c.plain(pos, t.ID, "bundle-deleted", new.ID, t.ID)
	case had && new.ID != "":
		c.plain(pos, t.ID, "bundle-renamed", t.ID, old.ID, new.ID)
	case had:
		c.plain(pos, t.ID, "bundle-left", t.ID, old.ID)
	case new.ID != "":
		c.plain(pos, t.ID, "bundle-added", t.ID, new.ID)
	}
}
