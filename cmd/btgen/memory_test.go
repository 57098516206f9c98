package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestMemory checks that explaining a schema with 33 simulations holds on 40 processors at most
// half again as much at a time as on four. It counts what is live after each collection, and not
// the memory of the process, which depends on how late a loaded machine collects.
func TestMemory(t *testing.T) {
	testlong.Skip(t, "33 simulations, twice")
	btgen := filepath.Join(t.TempDir(), "btgen")
	if out, err := exec.Command("go", "build", "-o", btgen, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	peak := func(processors int) (megabytes int) {
		explain := exec.Command(btgen, "explain", "../../schemas/all_types.yaml")
		explain.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=20", "GOMEMLIMIT=", "GOMAXPROCS="+strconv.Itoa(processors))
		var trace bytes.Buffer
		explain.Stderr = &trace
		if err := explain.Run(); err != nil {
			t.Fatalf("%v: %.1000s", err, trace.Bytes())
		}
		collections := regexp.MustCompile(`\d+->\d+->(\d+) MB`).FindAllStringSubmatch(trace.String(), -1)
		if len(collections) < 10 {
			t.Fatalf("%d collections", len(collections))
		}
		for _, c := range collections {
			live, _ := strconv.Atoi(c[1])
			megabytes = max(megabytes, live)
		}
		return megabytes
	}
	if few, many := peak(4), peak(40); 2*many > 3*few {
		t.Errorf("%d MB are live with 40 processors, and %d with 4", many, few)
	}
}
