package sessiontest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/btgen-dev/btgen/golden/sessiontest"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// overlay writes a file for the -overlay flag of the go command, with which tests and
// benchmarks that do not know sessions use servers and clients that do.
func overlay(t *testing.T) (path string) {
	t.Helper()
	replace := map[string]string{}
	for to, from := range map[string]string{
		"../../runtime/storetest/connect.go":    "connect.go",
		"../../generated/bench/options_test.go": "options_test.go",
	} {
		there, err := filepath.Abs(to)
		check(t, err)
		if _, err := os.Stat(there); err != nil {
			t.Fatal(err)
		}
		here, err := filepath.Abs(filepath.Join("testdata/overlay", from))
		check(t, err)
		replace[there] = here
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	check(t, err)
	path = os.Getenv("BTGEN_SESSION_OVERLAY")
	if path == "" {
		path = filepath.Join(t.TempDir(), "overlay.json")
	}
	check(t, os.WriteFile(path, text, 0o666))
	return path
}

// watchers are tests that inspect each message of a client or count goroutines;
// sessions add others.
const watchers = "^(TestLeavingTheLoop|TestRewriteIsOneMutation|TestExpiredEventsAre(Refused|Skipped)|TestEventsWithoutExpiryAreRefused|TestTimestampsAreNeverTheServers)$"

// TestAllTestsWithSessions runs the tests of generated code and of the runtime with
// sessions. If BTGEN_SESSION_OVERLAY is set, it leaves the overlay there, for example
// for benchmarks.
func TestAllTestsWithSessions(t *testing.T) {
	path := overlay(t)
	testlong.Skip(t, "runs the tests of all generated code three times")
	for _, load := range []string{"0", "0.5", "1"} {
		t.Run(load, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", path, "-skip", watchers, "./generated/...", "./runtime/store", "./runtime/internal/wire")
			command.Dir = "../.."
			command.Env = append(os.Environ(), sessiontest.LoadVariable+"="+load, testlong.Variable+"=")
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
