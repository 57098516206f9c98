package setup_test

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

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
