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

// overlay is a file for the -overlay flag of the go command, with which tests and benchmarks
// that do not know sessions use servers and clients that do. Its names are relative to the
// root of the module.
const overlay = "golden/sessiontest/testdata/overlay.json"

// The go command would silently add a file that is to replace one that does not exist.
func TestOverlayReplacesFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../..", overlay))
	check(t, err)
	var files struct{ Replace map[string]string }
	check(t, json.Unmarshal(text, &files))
	if len(files.Replace) == 0 {
		t.Error("no files")
	}
	for to, from := range files.Replace {
		for _, name := range []string{to, from} {
			_, err := os.Stat(filepath.Join("../..", name))
			check(t, err)
		}
	}
}

// watchers are tests that inspect each message of a client or count goroutines;
// sessions add others.
const watchers = "^(TestLeavingTheLoop|TestRewriteIsOneMutation|TestExpiredEventsAre(Refused|Skipped)|TestEventsWithoutExpiryAreRefused|TestTimestampsAreNeverTheServers)$"

// TestAllTestsWithSessions runs the tests of generated code and of the runtime with
// sessions.
func TestAllTestsWithSessions(t *testing.T) {
	testlong.Skip(t, "runs the tests of all generated code three times")
	for _, load := range []string{"0", "0.5", "1"} {
		t.Run(load, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", overlay, "-skip", watchers, "./generated/...", "./runtime/store", "./runtime/internal/wire")
			command.Dir = "../.."
			command.Env = append(os.Environ(), sessiontest.LoadVariable+"="+load, testlong.Variable+"=")
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
