package store

import (
	"fmt"
	"os"

	"github.com/btgen-dev/btgen/runtime/internal/call"
)

// EmulatorVariable is the environment variable with the address of an emulator, to which
// clients of Bigtable connect instead of the service.
const EmulatorVariable = call.EmulatorVariable

// ReversedError reports that a server returns rows in ascending order if it is asked for the
// reverse, as some emulators do: the newest event could not be found.
type ReversedError struct{ Table string } // with its prefix

// Error says what to do.
func (e *ReversedError) Error() string {
	return fmt.Sprintf("the emulator at %s returns the rows of table %s in ascending order when they are requested in reverse order: reads would miss the newest events; use another emulator, such as btgen-live emulator", os.Getenv(EmulatorVariable), e.Table)
}
