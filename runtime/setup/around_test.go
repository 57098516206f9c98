package setup_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// startWith starts a server whose answers about tables a function changes.
func startWith(t *testing.T, change func(*adminpb.Table)) *storetest.Bigtable {
	t.Helper()
	return serve(t, func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		out, err := next(ctx, r)
		if table, ok := out.(*adminpb.Table); ok && err == nil {
			change(table)
		}
		return out, err
	})
}

// automated returns the policy of automated backups that are kept for some days.
func automated(days int) *adminpb.Table_AutomatedBackupPolicy {
	return &adminpb.Table_AutomatedBackupPolicy{RetentionPeriod: durationpb.New(time.Duration(days) * day)}
}

// TestPlanAroundTables plans for tables that others have given a change stream or automated backups, or have restored: the plan
// names each, says what it means for events, and changes nothing.
func TestPlanAroundTables(t *testing.T) {
	backup := &adminpb.BackupInfo{
		Backup:  "projects/p/instances/i/clusters/c/backups/nightly",
		EndTime: timestamppb.New(time.Date(2026, 11, 1, 2, 30, 0, 0, time.UTC)),
	}
	const latest = `pattern: latest; delimiter: "#"; key: string text; names: host; family m: events; column "cpu": float64 in m`
	const stream = "? change stream of table t, kept for 7d, left alone: its readers see each deletion by a garbage collection rule, but no change of a rule or family\n"
	const backups = ", left alone: they have deleted and expired events until they expire, too\n"
	const restored = "? table t: restored from backup nightly of 2026-11-01T02:30:00Z, left alone: " +
		"events that were deleted since are back, and later ones are missing; delete these again, set up the rules, and run btgen-live "
	rollup := laidOut(daily + rolled)
	rollup.Families[1].Rollup = true
	for _, tt := range []struct {
		name   string
		table  store.Table
		change func(*adminpb.Table)
		want   string
	}{
		{"change stream", laidOut(daily), func(t *adminpb.Table) {
			t.ChangeStreamConfig = &adminpb.ChangeStreamConfig{RetentionPeriod: durationpb.New(7 * day)}
		}, stream},
		{"own backups", laidOut(daily), func(t *adminpb.Table) {
			t.AutomatedBackupConfig = &adminpb.Table_AutomatedBackupPolicy_{AutomatedBackupPolicy: automated(3)}
		}, "? automated backups of table t, kept for 3d" + backups},
		{"backups of the service", laidOut(daily), func(t *adminpb.Table) { t.EffectiveAutomatedBackupPolicy = automated(7) },
			"? automated backups of table t, kept for 7d" + backups},
		{"backups of an unknown age", laidOut(daily), func(t *adminpb.Table) {
			t.EffectiveAutomatedBackupPolicy = &adminpb.Table_AutomatedBackupPolicy{}
		}, "? automated backups of table t" + backups},
		{"backups that are off", laidOut(daily), func(t *adminpb.Table) {
			t.AutomatedBackupConfig = &adminpb.Table_AutomatedBackupPolicy_{AutomatedBackupPolicy: &adminpb.Table_AutomatedBackupPolicy{Disabled: true}}
		}, ""},
		{"restored", laidOut(daily), func(t *adminpb.Table) { t.RestoreInfo = from(backup) }, restored + "verify\n"},
		{"restored, with a rollup", rollup, func(t *adminpb.Table) { t.RestoreInfo = from(backup) }, restored + "rollup --all, and verify\n"},
		{"restored, of the newest events", laidOut(latest), func(t *adminpb.Table) { t.RestoreInfo = from(backup) }, restored + "backfill, verify\n"},
		{"a restored history", laidOut(daily), func(t *adminpb.Table) { t.RestoreInfo = from(backup) }, "? table btgen_layouts: restored from backup nightly of 2026-11-01T02:30:00Z, " +
			"left alone: layouts that were recorded since are missing: run setup with the newest schemas before any older program does\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := "/t"
			if tt.name == "a restored history" {
				id = "/" + setup.HistoryTable
			}
			b := startWith(t, func(table *adminpb.Table) {
				if strings.HasSuffix(table.GetName(), id) {
					tt.change(table)
				}
			})
			settle(t, b, tt.table)
			same(t, "plan", settle(t, b, tt.table).String(), tt.want)
		})
	}
}

// from returns what a table says that was restored.
func from(backup *adminpb.BackupInfo) *adminpb.RestoreInfo {
	return &adminpb.RestoreInfo{SourceType: adminpb.RestoreSourceType_BACKUP, SourceInfo: &adminpb.RestoreInfo_BackupInfo{BackupInfo: backup}}
}

// TestSetupOfMicros adopts tables of all patterns and of both granularities. A plan names the granularity
// MICROS; it is refused once, if only timestamps contain the times of events.
func TestSetupOfMicros(t *testing.T) {
	b := start(t)
	conn, err := grpc.NewClient(b.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer func() { _ = conn.Close() }()
	for _, pattern := range codec.Patterns() {
		for _, granularity := range []adminpb.Table_TimestampGranularity{adminpb.Table_MILLIS, adminpb.Table_MICROS} {
			table := laidOut(strings.Replace(daily, codec.BucketNewCells.String(), pattern.String(), 1))
			table.ID = pattern.String() + granularity.String()
			micros := granularity == adminpb.Table_MICROS
			_, err := adminpb.NewBigtableTableAdminClient(conn).CreateTable(t.Context(), &adminpb.CreateTableRequest{
				Parent: "projects/" + storetest.Project + "/instances/" + storetest.Instance, TableId: table.ID,
				Table: &adminpb.Table{Granularity: granularity},
			})
			must(t, err)
			run := func(o setup.Options) (setup.Plan, error) {
				return setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o)
			}
			_, err = run(setup.Options{})
			names, refuses := refused(err), micros && pattern.EventTimed()
			if want := []string{"micros:" + table.ID + "/m"}; refuses && !slices.Equal(names, want) || !refuses && err != nil {
				t.Fatalf("%s is refused: %v", table.ID, err)
			}
			if refuses && !strings.Contains(err.Error(), "MICROS") {
				t.Error("the error does not name the granularity:", err)
			}
			_, err = run(setup.Options{Allow: names})
			must(t, err)
			plan, err := run(setup.Options{DryRun: true})
			if err != nil || !plan.Empty() || strings.Contains(plan.String(), "granularity of table "+table.ID+": MICROS") != micros {
				t.Errorf("the plan of %s is %s%v", table.ID, plan, err)
			}
		}
	}
}

// queries are the views of an instance that are queries, by ID, or an error.
type queries struct {
	logical, materialized map[string]string
	err                   error
}

func (q queries) LogicalViews(context.Context, string) ([]bigtable.LogicalViewInfo, error) {
	var out []bigtable.LogicalViewInfo
	for id, text := range q.logical {
		out = append(out, bigtable.LogicalViewInfo{LogicalViewID: id, Query: text})
	}
	return out, q.err
}

func (q queries) MaterializedViews(context.Context, string) ([]bigtable.MaterializedViewInfo, error) {
	var out []bigtable.MaterializedViewInfo
	for id, text := range q.materialized {
		out = append(out, bigtable.MaterializedViewInfo{MaterializedViewID: id, Query: text})
	}
	return out, q.err
}

// Texts that views have in common.
const (
	breaks = ", which the schemas do not have: new events are not there, and the view breaks if they are deleted"
	reads  = "? logical view v of table x_t, left alone: it reads the table"
	sees   = "programs that use it see only its rows and columns"
	lacks  = "events that are read through it lack "
)

// described returns the lines of a plan for views.
func described(all []setup.Unmanaged) string {
	s := ""
	for _, u := range all {
		s += strings.TrimPrefix(u.String(), "? authorized view v of table x_t, left alone: ") + "\n"
	}
	return strings.TrimSuffix(s, "\n")
}

// TestAuthorizedViews describes authorized views of a table with columns of fields, and of one whose columns are values.
func TestAuthorizedViews(t *testing.T) {
	all := bigtable.FamilySubset{QualifierPrefixes: [][]byte{{}}}
	only := func(names ...string) (s bigtable.FamilySubset) {
		for _, name := range names {
			s.Qualifiers = append(s.Qualifiers, []byte(name))
		}
		return s
	}
	two, classes := laidOut(daily+mem), laidOut(`pattern: bucket_new_cells; family m: class; family n: class; column "cpu": float64`)
	renamed := laidOut(daily + `; column "cpu" in n: float64 in n; family n: events` + "\n" + until(newYear, daily))
	values := laidOut(strings.Replace(daily, "bucket_new_cells", "bucket_new_columns", 1))
	for _, tt := range []struct {
		name  string
		table store.Table
		of    map[string]bigtable.FamilySubset
		want  string
	}{
		{"everything", two, map[string]bigtable.FamilySubset{"m": all}, sees},
		{"a prefix", two, map[string]bigtable.FamilySubset{"m": {QualifierPrefixes: [][]byte{[]byte("c")}}}, lacks + "m:mem, and writes of these fail"},
		{"all columns", two, map[string]bigtable.FamilySubset{"m": only("cpu", "mem")}, sees},
		{"a new field", two, map[string]bigtable.FamilySubset{"m": only("cpu")}, lacks + "m:mem, and writes of these fail"},
		{
			"a renamed field", two, map[string]bigtable.FamilySubset{"m": only("cpu", "memory", "swap")},
			lacks + "m:mem, and writes of these fail; it names m:memory, m:swap" + breaks,
		},
		{"another family", two, map[string]bigtable.FamilySubset{"m": all, "n": only("cpu")}, sees + "; it names family n" + breaks},
		{"no family", two, nil, lacks + "m:cpu, m:mem, and writes of these fail"},
		{"classes", classes, map[string]bigtable.FamilySubset{"m": only("cpu")}, lacks + "n:cpu, and writes of these fail"},
		{"older columns and layouts", renamed, map[string]bigtable.FamilySubset{"n": only("cpu")}, lacks + "m:cpu, and writes of these fail"},
		{"values", values, map[string]bigtable.FamilySubset{"m": only("5")}, sees},
	} {
		b := start(t)
		o := setup.Options{TablePrefix: "x_"}
		settle(t, b, tt.table, o)
		conf := &bigtable.SubsetViewConf{FamilySubsets: tt.of, RowPrefixes: [][]byte{{}}}
		must(t, b.Admin.CreateAuthorizedView(t.Context(), &bigtable.AuthorizedViewConf{TableID: "x_t", AuthorizedViewID: "v", AuthorizedView: conf}))
		found, err := setup.Views(t.Context(), b.Admin, nil, "", []store.Table{tt.table, {ID: "none"}}, o)
		must(t, err)
		same(t, tt.name, described(found), tt.want)
	}
}

// TestQueryViews describes views that are queries.
func TestQueryViews(t *testing.T) {
	b := start(t)
	for query, want := range map[string]string{
		"SELECT * FROM x_t":                                      reads,
		"SELECT _key, m['cpu'] FROM `x_t`":                       reads,
		"SELECT m[\"mem\"] FROM `p.i.x_t`":                       reads + "; it names m:mem" + breaks,
		"SELECT `m` [ 'old' ], n['cpu'], m['cpu'] FROM x_t AS a": reads + "; it names family n, m:old" + breaks,
		"SELECT m['mem'] FROM x_tt":                              "",
		"SELECT n['a'] FROM x_t JOIN other ON true":              reads,
		"SELECT 1": "",
		"SELECT m['cpu'] FROM other WHERE s = 'x_t is in a string'": reads, // rather one too many
	} {
		found, err := setup.Views(t.Context(), b.Admin, queries{logical: map[string]string{"v": query}}, "i", []store.Table{laidOut(daily)}, setup.Options{TablePrefix: "x_"})
		must(t, err)
		same(t, query, described(found), want)
	}
	all := queries{map[string]string{"b": "SELECT 1 FROM t", "a": "SELECT 2 FROM t"}, map[string]string{"hours": "SELECT n['a'] FROM t"}, nil}
	found, err := setup.Views(t.Context(), b.Admin, all, "i", []store.Table{laidOut(daily)})
	must(t, err)
	same(t, "all", described(found), "? logical view a of table t, left alone: it reads the table\n? logical view b of table t, left alone: it reads the table\n"+
		"? materialized view hours of table t, left alone: Bigtable does not delete the table before it; it names family n"+breaks)
}

// TestUnlistedViews lists views without permission, and when the service fails.
func TestUnlistedViews(t *testing.T) {
	b := start(t)
	for code, fails := range map[codes.Code]bool{codes.PermissionDenied: false, codes.Unimplemented: false, codes.NotFound: false, codes.Internal: true} {
		found, err := setup.Views(t.Context(), b.Admin, queries{err: status.Error(code, "no")}, "i", []store.Table{laidOut(daily)})
		if found != nil || (err != nil) != fails {
			t.Errorf("%s: %v, %v", code, found, err)
		}
		if fails && !strings.Contains(fmt.Sprint(err), "listing the views: ") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
