package setup_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// startWith starts a server whose answers about tables a function changes.
func startWith(t *testing.T, change func(*adminpb.Table)) *storetest.Bigtable {
	t.Helper()
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", grpc.ChainUnaryInterceptor(
		func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			out, err := next(ctx, r)
			if table, ok := out.(*adminpb.Table); ok && err == nil {
				change(table)
			}
			return out, err
		}))
	must(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
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
			_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{tt.table})
			must(t, err)
			plan, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{tt.table})
			must(t, err)
			same(t, "plan", plan.String(), tt.want)
		})
	}
}

// from returns what a table says that was restored.
func from(backup *adminpb.BackupInfo) *adminpb.RestoreInfo {
	return &adminpb.RestoreInfo{SourceType: adminpb.RestoreSourceType_BACKUP, SourceInfo: &adminpb.RestoreInfo_BackupInfo{BackupInfo: backup}}
}
