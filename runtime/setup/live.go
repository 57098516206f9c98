package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/store"
)

// liveTable describes a live table.
type liveTable struct {
	families  map[string]liveFamily                // by name
	keySchema *bigtable.StructType                 // nil if there is none
	protected bool                                 // against deletion
	tier      codec.Tier                           // 0 without an infrequent access tier
	unseen    wire.Unseen                          // as far as setup can tell; see [TableInfo]
	stream    time.Duration                        // the retention of its change stream; 0 without one
	backups   *bigtable.TableAutomatedBackupPolicy // of automated backups; nil for none
	bundles   liveBundles
}

// liveFamily describes a live column family.
type liveFamily struct {
	rule      codec.GCRule
	valueType string // empty for plain cells
}

// readTables returns the live tables that exist, by ID.
func readTables(ctx context.Context, admin retryAdmin, tables []store.Table) (map[string]*liveTable, error) {
	live := map[string]*liveTable{}
	for _, t := range tables {
		table, err := readTable(ctx, admin, t.ID)
		if table != nil {
			live[t.ID] = table
			table.bundles, err = readBundles(ctx, admin, t)
		}
		if err != nil {
			return nil, err
		}
	}
	return live, nil
}

// readTable returns the live table; nil if it does not exist.
func readTable(ctx context.Context, admin retryAdmin, table string) (*liveTable, error) {
	info, unseen, err := admin.tableInfo(ctx, table)
	switch {
	case status.Code(err) == codes.NotFound:
		return nil, nil
	case err != nil && table == HistoryTable:
		return nil, &HistoryError{Err: err}
	case err != nil:
		return nil, fmt.Errorf("reading table %s: %w", table, err)
	}
	live := &liveTable{
		families: map[string]liveFamily{}, keySchema: info.RowKeySchema, protected: info.DeletionProtection == bigtable.Protected,
		tier: TierOf(info.TieredStorageConfig), unseen: unseen,
	}
	live.stream, _ = info.ChangeStreamRetention.(time.Duration)
	own, _ := info.AutomatedBackupConfig.(*bigtable.TableAutomatedBackupPolicy)
	live.backups = cmp.Or(info.EffectiveAutomatedBackupPolicy, own)
	for _, f := range info.FamilyInfos {
		live.families[f.Name] = liveFamily{rule: RuleOf(f.FullGCPolicy), valueType: valueType(f.ValueType)}
	}
	return live, nil
}

// hasFamily reports whether a table exists and has a family; any if that is empty.
func (t *liveTable) hasFamily(name string) bool {
	if t == nil || name == "" {
		return t != nil
	}
	_, has := t.families[name]
	return has
}

// TableInfo returns what Bigtable says about a table, and whether it has the granularity MICROS, so that timestamps are
// in microseconds. The client does not say so: micros is false of any table unless the admin client was made
// with [store.ClientOptions].
func TableInfo(ctx context.Context, admin interface {
	TableInfo(ctx context.Context, table string) (*bigtable.TableInfo, error)
}, table string) (info *bigtable.TableInfo, micros bool, err error) {
	var unseen wire.Unseen
	info, err = admin.TableInfo(wire.WithUnseen(ctx, &unseen), table)
	return info, unseen.Micros, err
}

// InstanceError is the error for an instance that does not exist. Err is the error of
// the service.
type InstanceError struct{ Err error }

// Error quotes the service and says what to do.
func (e *InstanceError) Error() string {
	return fmt.Sprintf("the instance does not exist: %v: use another project or instance, or create it first", e.Err)
}

func (e *InstanceError) Unwrap() error { return e.Err }

// confirmInstance returns an *[InstanceError] if tables are missing because their
// instance does not exist; the service uses the same status code for both. It does not
// doubt other errors.
func confirmInstance(ctx context.Context, admin retryAdmin, tables []store.Table, live map[string]*liveTable) error {
	lister, ok := admin.admin.(Lister)
	if !ok || len(live) == len(tables) {
		return nil
	}
	limited, cancel := call.Within(ctx, admin.timeout)
	defer cancel()
	_, err := lister.Tables(limited)
	switch status.Code(err) {
	case codes.NotFound:
		return &InstanceError{err}
	case codes.PermissionDenied: // the message of the service may tell
		i := slices.IndexFunc(tables, func(t store.Table) bool { return live[t.ID] == nil })
		_, _, err := admin.tableInfo(ctx, tables[i].ID)
		if said := status.Convert(err).Message(); status.Code(err) == codes.NotFound && strings.Contains(said, "nstance") && !strings.Contains(said, "tables/"+tables[i].ID) {
			return &InstanceError{err}
		}
	}
	return nil
}

// noValueType is the client's representation of a family without a value type.
var noValueType = bigtable.ProtoToType(nil)

// Sums is the value type of a family of sums; see store.Family.
var Sums = bigtable.AggregateType{Input: bigtable.Int64Type{Encoding: bigtable.BigEndianBytesEncoding{}}, Aggregator: bigtable.SumAggregator{}}

// wantType returns what valueType must return for a family.
func wantType(f store.Family) string {
	if f.Sums {
		return valueType(Sums)
	}
	return ""
}

// familyConfig returns the configuration of a new family.
func familyConfig(f store.Family) bigtable.Family {
	if f.Sums {
		return bigtable.Family{GCPolicy: policy(f.GC), ValueType: Sums}
	}
	return bigtable.Family{GCPolicy: policy(f.GC)}
}

// valueType returns the client's name of a family's value type; empty for none.
func valueType(t bigtable.Type) string {
	var named any = t
	switch t := t.(type) {
	case nil, bigtable.TypeUnspecified:
		return ""
	case bigtable.AggregateType:
		named = t.Aggregator
	default:
		if t == noValueType {
			return ""
		}
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", named), "bigtable.")
}

// policy converts a rule to the client's type.
func policy(r codec.GCRule) bigtable.GCPolicy {
	sub := make([]bigtable.GCPolicy, len(r.Rules))
	for i, s := range r.Rules {
		sub[i] = policy(s)
	}
	switch r.Kind {
	case codec.GCMaxAge:
		return bigtable.MaxAgePolicy(r.MaxAge)
	case codec.GCMaxVersions:
		return bigtable.MaxVersionsPolicy(r.MaxVersions)
	case codec.GCUnion:
		return bigtable.UnionPolicy(sub...)
	case codec.GCIntersection:
		return bigtable.IntersectionPolicy(sub...)
	default:
		return bigtable.NoGcPolicy()
	}
}

// RuleOf converts a garbage collection rule from the client's type. The client drops fractions
// of a second.
func RuleOf(p bigtable.GCPolicy) codec.GCRule {
	all := func(policies []bigtable.GCPolicy) []codec.GCRule {
		rules := make([]codec.GCRule, len(policies))
		for i, p := range policies {
			rules[i] = RuleOf(p)
		}
		return rules
	}
	switch p := p.(type) {
	case bigtable.MaxAgeGCPolicy:
		return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Duration(p)}
	case bigtable.MaxVersionsGCPolicy:
		return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: int(p)}
	case bigtable.UnionGCPolicy:
		return codec.GCRule{Kind: codec.GCUnion, Rules: all(p.Children)}
	case bigtable.IntersectionGCPolicy:
		return codec.GCRule{Kind: codec.GCIntersection, Rules: all(p.Children)}
	default:
		return codec.GCRule{}
	}
}
