package setup_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// tierOf returns the tier of a live table.
func tierOf(t *testing.T, b *storetest.Bigtable, table string) codec.Tier {
	t.Helper()
	info, err := b.Admin.TableInfo(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return setup.TierOf(info.TieredStorageConfig)
}

// A tier is created with the table, changed, left alone by a schema without it, and removed by name.
func TestSetupTier(t *testing.T) {
	b := start(t)
	of := func(tier codec.Tier) store.Table {
		out := small
		out.Tier, out.DeletionProtection = tier, bigtable.Protected
		return out
	}
	for _, step := range []struct {
		what      string
		tier      codec.Tier
		allow     []string
		changes   []string
		refused   []string
		unmanaged []string
		live      codec.Tier
	}{
		{what: "new table", tier: codec.Tier(60 * day), changes: append(made(small), "+ infrequent access tier of table t: cells older than 60d", "+ deletion protection of table t"), live: codec.Tier(60 * day)},
		{what: "the same", tier: codec.Tier(60 * day), live: codec.Tier(60 * day)},
		{what: "earlier", tier: codec.Tier(30 * day), changes: []string{"~ infrequent access tier of table t: cells older than 60d → cells older than 30d"}, live: codec.Tier(30 * day)},
		{
			what: "later", tier: codec.Tier(90 * day), live: codec.Tier(90 * day),
			changes: []string{"~ infrequent access tier of table t: cells older than 30d → cells older than 90d (younger cells move back to SSD, whose nodes must have room for them: a cluster without it rejects writes)"},
		},
		{what: "not said", unmanaged: []string{"? infrequent access tier of table t, for cells older than 90d: not in the schemas, left alone"}, live: codec.Tier(90 * day)},
		{what: "removed", tier: codec.SSDOnly, refused: []string{"drop_tier:t"}, live: codec.Tier(90 * day)},
		{
			what: "removed by name", tier: codec.SSDOnly, allow: []string{"drop_tier:t"},
			changes: []string{"~ infrequent access tier of table t: cells older than 90d → none (all cells move back to SSD, whose nodes must have room for them: a cluster without it rejects writes)"},
		},
		{what: "removed before", tier: codec.SSDOnly},
		{what: "added", tier: codec.Tier(45 * day), changes: []string{"+ infrequent access tier of table t: cells older than 45d"}, live: codec.Tier(45 * day)},
	} {
		t.Run(step.what, func(t *testing.T) {
			plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{of(step.tier)}, setup.Options{Allow: step.allow})
			same(t, "refused", refused(err), step.refused)
			if step.refused == nil && err != nil {
				t.Fatal(err)
			}
			same(t, "changes", show(plan), step.changes)
			var unmanaged []string
			for _, u := range plan.Unmanaged {
				unmanaged = append(unmanaged, u.String())
			}
			same(t, "unmanaged", unmanaged, step.unmanaged)
			same(t, "live", tierOf(t, b, "t"), step.live)
			info, err := b.Admin.TableInfo(t.Context(), "t")
			if err != nil || info.DeletionProtection != bigtable.Protected {
				t.Errorf("protection is %v, error %v", info.DeletionProtection, err)
			}
		})
	}
}

// Schemas that share a table agree about its tier, or leave it to one of them.
func TestSetupSharedTier(t *testing.T) {
	b := start(t)
	with, without, other := small, small, small
	with.Tier, other.Tier = codec.Tier(60*day), codec.SSDOnly
	if _, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{without, with}); err != nil {
		t.Fatal(err)
	}
	same(t, "live", tierOf(t, b, "t"), codec.Tier(60*day))
	_, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{with, other})
	if _, is := errors.AsType[*setup.TableError](err); !is {
		t.Errorf("error %v", err)
	}
}

// An instance that cannot have tiers is named as the likely reason of an error, and nothing that is
// sent is lost in silence.
func TestSetupTierRejected(t *testing.T) {
	for _, live := range []map[string]map[string]bigtable.GCPolicy{nil, {"t": {"a": bigtable.MaxAgePolicy(day), "b": bigtable.MaxVersionsPolicy(1)}}} {
		f := &fake{tables: live}
		f.before = func(_ context.Context, call string) error {
			if call == "table t" || call == "tier t" {
				return status.Error(codes.InvalidArgument, "not for HDD")
			}
			return nil
		}
		table := small
		table.Tier = codec.Tier(60 * day)
		_, err := setup.Setup(t.Context(), f, nil, []store.Table{table})
		if err == nil || !strings.Contains(err.Error(), "not for HDD") || !strings.Contains(err.Error(), "requires an instance with SSD storage") {
			t.Errorf("error %v", err)
		}
	}
}

// A server that drops the tier, such as other emulators, is not an error. One that keeps another is.
func TestSetupTierNotStored(t *testing.T) {
	table := small
	table.Tier = codec.Tier(60 * day)
	f := &fake{}
	if _, err := setup.Setup(t.Context(), f, nil, []store.Table{table}); err != nil {
		t.Error(err)
	}
	b := start(t)
	table.Tier = codec.Tier(90 * day)
	if _, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{table}); err != nil {
		t.Fatal(err)
	}
	table.Tier = codec.Tier(60 * day)
	_, err := setup.Setup(t.Context(), deaf{b.Admin}, nil, []store.Table{table})
	same(t, "left", unsettled(err), []string{"tier:t"})
}

// deaf ignores changes of tiers.
type deaf struct{ *bigtable.AdminClient }

func (deaf) UpdateTableWithTieredStorageConfig(context.Context, string, *bigtable.TieredStorageConfig) error {
	return nil
}
