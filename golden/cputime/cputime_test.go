package cputime_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/cputime"
)

// TestSpent uses CPU time until Spent increases.
func TestSpent(t *testing.T) {
	if cputime.Spent() == 0 {
		t.Skip("not known on ", runtime.GOOS)
	}
	begin := cputime.Spent()
	for cputime.Spent() < begin+20*time.Millisecond {
	}
}
