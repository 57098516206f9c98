package store

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Parallel tests wait for pauses of clients more than they compute, so more of them run at a time
// than there are processors.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set(parallel); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
