package setup

import (
	"context"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TierOf converts a configuration of tiered storage from the client's type.
func TierOf(c *bigtable.TieredStorageConfig) codec.Tier {
	if c == nil {
		return 0
	}
	rule, _ := c.InfrequentAccess.(*bigtable.TieredStorageIncludeIfOlderThan)
	if rule == nil {
		return 0 // the client knows no other rule
	}
	age, _ := rule.Duration.(time.Duration)
	return codec.Tier(age)
}

// tierConfig converts a tier to the client's type; nil for none.
func tierConfig(t codec.Tier) *bigtable.TieredStorageConfig {
	after, moves := t.After()
	if !moves {
		return nil
	}
	return &bigtable.TieredStorageConfig{InfrequentAccess: &bigtable.TieredStorageIncludeIfOlderThan{Duration: after}}
}

// compareTier returns the change of a table's infrequent access tier, if any. Cells move in either
// direction without being lost, but SSD must have room for those that come back.
func compareTier(t store.Table, live *liveTable) []Change {
	if t.Tier == 0 || t.Tier == live.tier || t.Tier == codec.SSDOnly && live.tier == 0 {
		return nil
	}
	c := Change{Kind: "tier", Sign: "~", Table: t.ID, Says: showTier(live.tier) + " → " + showTier(t.Tier), does: changeTier(t.Tier)}
	const back = "move back to SSD, whose nodes must have room for them: a cluster without it rejects writes"
	switch {
	case live.tier == 0:
		c.Sign, c.Says = "+", showTier(t.Tier)
	case t.Tier == codec.SSDOnly:
		c.hazard("drop_tier", "", "all cells "+back)
	case t.Tier > live.tier:
		c.because("", "younger cells "+back)
	}
	return []Change{c}
}

// showTier returns the age from which cells move to the infrequent access tier.
func showTier(t codec.Tier) string {
	after, moves := t.After()
	if !moves {
		return "none"
	}
	return "cells older than " + showAge(after)
}

// changeTier changes the infrequent access tier of a table, or removes it.
func changeTier(to codec.Tier) request {
	return func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error) {
		made, err = r.keepingProtection(ctx, c, func(ctx context.Context) error {
			if config := tierConfig(to); config != nil {
				return r.admin.UpdateTableWithTieredStorageConfig(ctx, c.Table, config)
			}
			return r.admin.UpdateTableRemoveTieredStorageConfig(ctx, c.Table)
		})
		return made, becauseOfEdition(err)
	}
}

// becauseOfEdition adds a possible reason to an error: the status code does not tell that an
// instance cannot have tiers.
func becauseOfEdition(err error) error {
	return because(err, "(tiered storage requires an instance with SSD storage)", codes.FailedPrecondition, codes.InvalidArgument, codes.Unimplemented)
}
