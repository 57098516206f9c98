package setup

import (
	"context"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"

	"github.com/btgen-dev/btgen/runtime/codec"
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

// tier compares the infrequent access tier. Cells move in either direction without being lost, but SSD must have room for
// those that come back.
func (c *comparison) tier() {
	want, have := c.Tier, c.live.tier
	const back = "move back to SSD, whose nodes must have room for them: a cluster without it rejects writes"
	change := Change{Kind: "tier", Sign: "~", Says: showTier(have) + " → " + showTier(want), does: changeTier(want)}
	switch {
	case want == 0 && have != 0:
		c.leave("infrequent access tier", ", for "+showTier(have)+unknown, "a node reads at most 100 rows a second from it")
		return
	case want == have, want == codec.SSDOnly && have == 0:
		return
	case have == 0:
		change.Sign, change.Says = "+", showTier(want)
	case want == codec.SSDOnly:
		change.hazard("drop_tier", "", "all cells "+back)
	case want > have:
		change.because("", "younger cells "+back)
	}
	c.add(change)
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
