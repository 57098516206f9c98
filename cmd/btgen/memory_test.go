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

// TestMemory checks that explaining a schema with 33 simulations holds at most 50 MB at a time,
// however many processors there are. It counts what is live after each collection, and not the
// memory of the process, which depends on how late a loaded machine collects.
func TestMemory(t *testing.T) {
	testlong.Skip(t, "33 simulations")
	btgen := filepath.Join(t.TempDir(), "btgen")
	if out, err := exec.Command("go", "build", "-o", btgen, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	explain := exec.Command(btgen, "explain", "../../schemas/all_types.yaml")
	explain.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=20", "GOMEMLIMIT=", "GOMAXPROCS=40")
	var trace bytes.Buffer
	explain.Stderr = &trace
	if err := explain.Run(); err != nil {
		t.Fatalf("%v: %.1000s", err, trace.Bytes())
	}
	collections := regexp.MustCompile(`\d+->\d+->(\d+) MB`).FindAllStringSubmatch(trace.String(), -1)
	peak := 0
	for _, c := range collections {
		live, _ := strconv.Atoi(c[1])
		peak = max(peak, live)
	}
	if len(collections) < 10 || peak > 50 { // 32 to 36; 65 and more if all simulations ran at once
		t.Errorf("%d MB are live in the largest of %d collections", peak, len(collections))
	}
}
