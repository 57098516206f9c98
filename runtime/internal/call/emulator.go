package call

import (
	"context"
	"os"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable"
)

// BundlesProbe is the ID of a table for which an in-memory server that has schema bundles reports
// FailedPrecondition instead of NotFound. Google's emulator panics at any request about them.
const BundlesProbe = "btgen.schema_bundles"

// EmulatorVariable is the environment variable with the address of an emulator, to which
// clients of Bigtable connect instead of the service.
const EmulatorVariable = "BIGTABLE_EMULATOR_HOST"

// reversing has the addresses of emulators that were seen to return rows in reverse order.
var reversing sync.Map

// Ascending reports whether the server is an emulator that returns rows of a table in ascending
// order if it is asked for the reverse. The first row alone does not tell, and with a limit of one
// there is no other, so that an emulator is asked for two rows of the table until it has returned
// them once. Errors of the request are left to the read itself.
func Ascending(ctx context.Context, api bigtable.TableAPI) bool {
	addr := os.Getenv(EmulatorVariable)
	if _, known := reversing.Load(addr); known || addr == "" {
		return false
	}
	var keys []string
	err := api.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		return true
	}, bigtable.ReverseScan(), bigtable.LimitRows(2), bigtable.RowFilter(bigtable.ChainFilters(bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())))
	if err != nil && strings.Contains(err.Error(), "out of order row key") { // as the client says
		return true
	}
	if len(keys) < 2 {
		return false
	}
	if keys[0] > keys[1] {
		reversing.Store(addr, true)
		return false
	}
	return true
}
