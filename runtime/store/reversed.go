package store

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable"
)

// ReversedError reports that a server returns rows in ascending order if it is asked for the
// reverse, as some emulators do: the newest event could not be found.
type ReversedError struct{ Table string } // with its prefix

// Error says what to do.
func (e *ReversedError) Error() string {
	return fmt.Sprintf("the emulator at %s returns the rows of table %s in ascending order when they are requested in reverse order: reads would miss the newest events; use another emulator, such as btgen-live emulator", os.Getenv(EmulatorVariable), e.Table)
}

// reversing has the addresses of emulators that were seen to return rows in reverse order.
var reversing sync.Map

// checkReversed returns a *[ReversedError] if the server is an emulator, and returns rows of a
// table in ascending order if it is asked for the reverse. The first row alone does not tell,
// and with a limit of one there is no other, so that an emulator is asked for two rows of the
// table until it has returned them once.
func checkReversed(ctx context.Context, api bigtable.TableAPI, table string) error {
	addr := os.Getenv(EmulatorVariable)
	if _, known := reversing.Load(addr); known || addr == "" {
		return nil
	}
	var keys []string
	err := api.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		return true
	}, bigtable.ReverseScan(), bigtable.LimitRows(2), bigtable.RowFilter(bigtable.ChainFilters(bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())))
	switch {
	case len(keys) == 2 && keys[0] < keys[1], err != nil && strings.Contains(err.Error(), "out of order row key"): // as the client says
		return &ReversedError{table}
	case len(keys) == 2:
		reversing.Store(addr, true)
	}
	return nil // the read itself reports other errors
}
