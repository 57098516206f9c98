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

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// stage is a setup after others.
type stage struct {
	tables []store.Table
	allow  string // names, with spaces
	plan   string // or "refused" and names
	live   string // what is live afterward, as the caller of walk shows it
}

// on are the clients of setups; client is nil without a history.
type on struct {
	admin  setup.Admin
	client store.Client
}

// walk sets tables up one after the other. A dry run says what is done, or refused; nothing is left to do.
func walk(t *testing.T, c on, o setup.Options, live func() string, stages ...stage) {
	t.Helper()
	for i, s := range stages {
		o.Allow = strings.Fields(s.allow)
		dry := o
		dry.DryRun = true
		planned, err := setup.Setup(t.Context(), c.admin, c.client, s.tables, dry)
		must(t, err, i)
		plan, err := setup.Setup(t.Context(), c.admin, c.client, s.tables, o)
		got := plan.String()
		if names := refused(err); names != nil {
			got = "refused " + strings.Join(names, " ")
			for k, c := range planned.Refused() {
				names[k] = strings.TrimPrefix(names[k], c.Name())
			}
			if strings.Join(names, "") != "" || !plan.Empty() {
				t.Errorf("stage %d: changed %v, and the dry run refuses %v", i, plan, planned.Refused())
			}
		} else if err != nil || planned.String() != got {
			t.Errorf("stage %d: %v, and the dry run says %s", i, err, planned)
		}
		same(t, fmt.Sprint("plan of stage ", i), got, s.plan)
		if again, err := setup.Setup(t.Context(), c.admin, c.client, s.tables, o); (err == nil) != (refused(err) == nil) || !again.Empty() {
			t.Errorf("stage %d again: %v, %v", i, again, err)
		}
		if live != nil {
			same(t, fmt.Sprint("live after stage ", i), live(), s.live)
		}
	}
}

// replicated returns what the plan says of a rule that keeps more.
func replicated(family string) string {
	return "rejected if the table is replicated: Bigtable then raises an age by at most 90 days at a time and does not drop a rule, unless ignore_warnings:" + family + " is allowed"
}

// planOf returns the text of changes.
func planOf(lines ...string) string { return strings.Join(append(lines, ""), "\n") }

// Setup creates tables and families, with their rules and splits, leaves others alone, and changes what
// must not be refused. Equivalent rules are equal.
func TestSetupStages(t *testing.T) {
	b := start(t)
	admin, sent := recorded(t, b)
	for id, sums := range map[string]bool{"old": false, "plain": true} {
		conf := &bigtable.TableConf{TableID: id, ColumnFamilies: map[string]bigtable.Family{"n": {GCPolicy: bigtable.MaxAgePolicy(7 * day)}}}
		if sums {
			conf.ColumnFamilies["n-versions"] = bigtable.Family{}
		}
		must(t, b.Admin.CreateTableFromConf(t.Context(), conf))
	}
	of := func(id string, families ...store.Family) []store.Table {
		return []store.Table{{ID: id, Families: families}}
	}
	rule := func(id string, r codec.GCRule) []store.Table { return of(id, store.Family{Name: "f", GC: r}) }
	sums := func(id string, r codec.GCRule) []store.Table {
		return of(id, store.Family{Name: "n", GC: r}, store.Family{Name: "n-versions", GC: r, Sums: true})
	}
	split := []store.Table{{ID: "split", Families: small.Families, Splits: []string{"b", "a", "b"}}, {ID: "split", Families: []store.Family{{Name: "c"}}, Splits: []string{"c", "a"}}}
	other := of("other", sample.Families[:1]...)[0]
	part := of("part", sample.Families[1:3]...)
	all := of("part", sample.Families...)
	expiring := of("expiring", store.Family{Name: "second", GC: age(time.Second), Life: codec.Lifetime{Timestamp: codec.TimestampExpiry}},
		store.Family{Name: "default", GC: age(2 * day), Life: codec.Lifetime{Timestamp: codec.TimestampShifted, Default: 2 * day}})
	walk(t, on{admin, nil}, setup.Options{}, nil,
		stage{tables: nil},
		stage{tables: []store.Table{sample, other}, plan: planOf(made(sample, other)...)},
		stage{tables: part, plan: planOf(made(part...)...)},
		stage{tables: all, plan: planOf(madeFamily(all[0], sample.Families[0]), madeFamily(all[0], sample.Families[3]), madeFamily(all[0], sample.Families[4]))},
		stage{tables: part, plan: planOf("? family both of table part: not in the schemas, left alone", "? family kept of table part: not in the schemas, left alone", "? family old of table part: not in the schemas, left alone")},
		stage{tables: split, plan: planOf("+ table split, split at 3 keys", "+ family a of table split: max_age 1d", "+ family b of table split: max_versions 1", "+ family c of table split: keep forever")},
		stage{tables: expiring, plan: planOf(made(expiring...)...)},
		stage{tables: rule("n", anyOf(anyOf(versions(3), age(day)), age(day))), plan: planOf("+ table n", "+ family f of table n: any_of(any_of(max_versions 3, max_age 1d), max_age 1d)")},
		stage{tables: rule("n", anyOf(age(day), versions(3)))},
		stage{tables: rule("n", allOf(age(day), versions(3))), plan: planOf("~ rule of family f of table n: any_of(max_age 1d, max_versions 3) → all_of(max_age 1d, max_versions 3) (" + replicated("n/f") + ") [T10]")},
		stage{tables: rule("r", anyOf(age(day), versions(1))), plan: planOf("+ table r", "+ family f of table r: any_of(max_age 1d, max_versions 1)")},
		stage{tables: rule("r", anyOf(age(7*day), versions(2))), plan: planOf("~ rule of family f of table r: any_of(max_age 1d, max_versions 1) → any_of(max_age 7d, max_versions 2)")},
		stage{tables: sums("sums", age(7*day)), plan: planOf("+ table sums", "+ family n of table sums: max_age 7d", "+ family n-versions of table sums: max_age 7d, sums of integers")},
		stage{tables: sums("old", age(7*day)), plan: planOf("+ family n-versions of table old: max_age 7d, sums of integers")},
		stage{tables: sums("plain", age(7*day)), allow: "value_type:plain/n-versions", plan: "refused value_type:plain/n-versions"},
		stage{tables: sums("old", age(day)), allow: "shorter_age:old/n", plan: planOf("~ rule of family n of table old: max_age 7d → 1d (deletes data older than 1d) [T09]", "~ rule of family n-versions of table old: max_age 7d → 1d")},
	)
	same(t, "splits sent", sent.splits, map[string][]string{"split": {"a", "b", "c"}})
	for _, id := range []string{"sums", "old"} {
		m := bigtable.NewMutation()
		m.AddIntToCell("n-versions", "sum", 1000, 1)
		assert.Is(t, nil, b.Client.Open(id).Apply(t.Context(), "row", m))
	}
	walk(t, on{admin, nil}, setup.Options{TablePrefix: "x_"}, nil,
		stage{tables: []store.Table{small}, plan: planOf(made(store.Table{ID: "x_t", Families: small.Families})...)},
		stage{tables: of("t", store.Family{Name: "a"}), plan: "refused drop_rule:x_t/a"})
}

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
	settle(t, b, table)
	table.Tier = codec.Tier(60 * day)
	_, err := setup.Setup(t.Context(), deaf{b.Admin}, nil, []store.Table{table})
	same(t, "left", unsettled(err), []string{"tier:t"})
}

// deaf ignores changes of tiers.
type deaf struct{ *bigtable.AdminClient }

func (deaf) UpdateTableWithTieredStorageConfig(context.Context, string, *bigtable.TieredStorageConfig) error {
	return nil
}
