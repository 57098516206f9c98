package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestMemory checks that a schema with 33 simulations is explained in 100 MiB of memory.
func TestMemory(t *testing.T) {
	testlong.Skip(t, "33 simulations")
	btgen := filepath.Join(t.TempDir(), "btgen")
	if out, err := exec.Command("go", "build", "-o", btgen, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	explain := exec.Command(btgen, "explain", "../../schemas/all_types.yaml")
	explain.Env = append(os.Environ(), "GOGC=", "GOMEMLIMIT=") // whatever they are for the tests
	if out, err := explain.CombinedOutput(); err != nil {
		t.Fatalf("%v: %.1000s", err, out)
	}
	if peak := explain.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1024; peak > 100 { // 52 to 80, depending on the number of processors
		t.Errorf("%d MiB", peak)
	}
}
