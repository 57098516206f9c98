package setup_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// A tier is created with a table, about which another schema says nothing, changed, left alone by a schema without it, and removed by name.
func TestSetupTier(t *testing.T) {
	b := start(t)
	of := func(tier codec.Tier) store.Table {
		out := small
		out.Tier, out.DeletionProtection = tier, bigtable.Protected
		return out
	}
	live := func() string {
		info, err := b.Admin.TableInfo(t.Context(), "t")
		must(t, err)
		return fmt.Sprint(setup.TierOf(info.TieredStorageConfig), " ", info.DeletionProtection == bigtable.Protected)
	}
	const ssd = " (%s move back to SSD, whose nodes must have room for them: a cluster without it rejects writes)\n"
	younger, all := fmt.Sprintf(ssd, "younger cells"), fmt.Sprintf(ssd, "all cells")
	is := func(days int) string { return fmt.Sprint(codec.Tier(time.Duration(days)*day), " true") }
	stageOf := func(tier codec.Tier, allow, plan, live string) stage {
		return stage{[]store.Table{of(tier)}, allow, plan, live}
	}
	walk(t, on{b.Admin, nil}, setup.Options{}, live,
		stage{[]store.Table{small, of(codec.Tier(60 * day))}, "", planOf(append(made(small), "+ infrequent access tier of table t: cells older than 60d", "+ deletion protection of table t")...), is(60)},
		stageOf(codec.Tier(60*day), "", "", is(60)),
		stageOf(codec.Tier(30*day), "", "~ infrequent access tier of table t: cells older than 60d → cells older than 30d\n", is(30)),
		stageOf(codec.Tier(90*day), "", "~ infrequent access tier of table t: cells older than 30d → cells older than 90d"+younger, is(90)),
		stageOf(0, "", "? infrequent access tier of table t, for cells older than 90d: not in the schemas, left alone: a node reads at most 100 rows a second from it\n", is(90)),
		stageOf(codec.SSDOnly, "", "refused drop_tier:t", is(90)),
		stageOf(codec.SSDOnly, "drop_tier:t", "~ infrequent access tier of table t: cells older than 90d → none"+all, is(0)),
		stageOf(codec.SSDOnly, "", "", is(0)),
		stageOf(codec.Tier(45*day), "", "+ infrequent access tier of table t: cells older than 45d\n", is(45)))
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
