package examples_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
// sessions add others. The server that speaks sessions has no authorized views, and clients of
// emulators have no sessions. Some expect to know that a single event was refused, or that the client did
// not encode it, which sessions do not tell.
const watchers = "^(TestMissingTable|TestWireDisabled|TestClaim.*|TestReversedIsIgnored|TestAuthorizedView.*|TestMissingAuthorizedView|TestForcedCodecOfRows)$"

// own are tests of sessions.
const own = "^(TestAllTestsWithSessions|TestConnectWithoutAnswer|TestClientDiverts|TestReadersAndWritersWithSessions|TestEventWithoutSession|TestEventSurvivesTenUnavailable)$"

// canned are tests of answers that no server sends, of models, of protocols and orders of requests, which a test
// chooses whatever carries them, of windows and tiers, whose rows are never requested one by one, and of edits and compiled
// code in the world. Each takes long, and sessions make no difference to them.
const canned = "^(TestTooLargeRow|TestAnySplit|TestBackfillSte.*|TestBackfillStates|TestBackfill.*AmongPrograms|TestState.*|Test.*Windows.*|TestTier|TestRollupProtocol|TestUndecodable|TestManySpansArePaginated|TestBulkKeepsToLimits|TestUnfinishedLayout|TestWorldOf.*)$"

// loads are the shares of the calls for single rows that clients divert. TestReadersAndWritersWithSessions also
// has clients with sessions that divert none.
var loads = []string{mixed, "1"}

// mixed is the load with which clients divert some calls.
const mixed = "0.5"

// mixedAtLength are the programs that run with it, at length. Others would prove little more by it, and take longer
// than all of these: without sessions, the same tests divert no call, and with the other load all.
var mixedAtLength = []string{"wire.test", "examples.test", "weather.test"}

// TestAllTestsWithSessions runs the tests of the runtime and of generated code of every pattern, and scripts of the world, with
// sessions. The packages that it leaves out send the same requests.
func TestAllTestsWithSessions(t *testing.T) {
	testlong.Skip(t, "runs the tests of generated code twice")
	self, err := os.Executable()
	check(t, err)
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-exec", self, "-timeout=20m", "-overlay", overlay, "-skip", watchers+"|"+canned+"|"+own,
		"./runtime/store", "./runtime/setup", "./runtime/internal/wire", "./golden/world", "./generated/examples", "./generated/weather")
	command.Dir = "../.."
	command.Env = append(os.Environ(), forEachLoad+"=1", testlong.Variable+"=")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr // shown also if this test runs out of time
	if err := command.Run(); err != nil {
		t.Error(err)
	}
}

// forEachLoad is the environment variable that makes this program run another test
// program.
const forEachLoad = "BTGEN_SESSION_FOR_EACH_LOAD"

// TestMain runs the test program in its arguments for each load, if the go command
// starts it for its -exec flag. This way the tests are linked only once.
func TestMain(m *testing.M) {
	if os.Getenv(forEachLoad) == "" {
		os.Exit(m.Run())
	}
	for _, load := range loads {
		if load == mixed && !slices.Contains(mixedAtLength, filepath.Base(os.Args[1])) {
			continue
		}
		command := exec.Command(os.Args[1], os.Args[2:]...)
		command.Env = append(os.Environ(), sessiontest.LoadVariable+"="+load, forEachLoad+"=")
		if load == mixed {
			command.Env = append(command.Env, testlong.Variable+"=1")
		}
		command.Stdout, command.Stderr = os.Stdout, os.Stderr // shown also if the go command kills this program
		fmt.Printf("session load %s\n", load)
		if err := command.Run(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}
