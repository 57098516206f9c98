package layout

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// tier resolves the storage tiers of a table.
func tier(t *Table, s *schema.Table) {
	switch {
	case !s.Tier.Pos.IsValid():
	case s.Tier.SSD:
		t.Tier, t.TierPos = codec.SSDOnly, s.Tier.Pos
	default:
		t.Tier, t.TierPos = codec.Tier(s.Tier.After.V), s.Tier.After.Pos
	}
}

// EventTimed reports whether all cell timestamps are event times, so that reads of recent events can
// leave out the infrequent access tier.
func (t *Table) EventTimed() bool {
	return !slices.ContainsFunc(t.Families, func(f Family) bool { return !f.Life.EventTimed() })
}

// ExpiryTimed reports whether the cell timestamps of a family are expiries, which do not tell the age of cells.
func (t *Table) ExpiryTimed() bool {
	return slices.ContainsFunc(t.Families, func(f Family) bool { _, expires := f.Life.Expires(); return expires })
}
