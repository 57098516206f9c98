//go:build unix

package journal

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// The environment of a process that keeps tables: the folder, and the call of the file system at which it kills itself.
const (
	childDir  = "BTGEN_JOURNAL_DIR"
	childStep = "BTGEN_JOURNAL_STEP"
)

// TestChild is a server in a process of its own. It compacts the file for each line of its input.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("TestKilled runs it")
	}
	step, err := strconv.ParseInt(os.Getenv(childStep), 10, 64)
	must(t, err)
	k, _, err := start(t, dir, killing(step))
	must(t, err)
	fmt.Println("address", k.addr)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		must(t, k.replace(t))
		fmt.Println("compacted")
	}
}

// killing returns a function that lets files kill the process before the n-th call that opens, writes or synchronizes
// one, or after a part of it.
func killing(n int64) func(*recordFile) {
	var calls atomic.Int64
	at := func(part func()) {
		if calls.Add(1) == n {
			part()
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	nothing := func() {}
	return func(f *recordFile) {
		at(nothing)
		f.writeAt = func(b []byte, offset int64) (int, error) {
			at(nothing)
			at(func() { _, _ = f.WriteAt(b[:len(b)/2], offset) })
			at(func() { _, _ = f.WriteAt(b, offset) })
			return f.WriteAt(b, offset)
		}
		f.sync = func() error {
			at(nothing)
			at(func() { _ = f.Sync() })
			return f.Sync()
		}
	}
}

// TestKilled kills a server at each of its calls of the operating system, while it receives all kinds of changes and compacts its
// file. A server that is started again has the tables as after the last change that was answered, or the one that
// was not.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	reference := references(t)
	stride := testlong.Pick[int64](37, 1)
	for step := int64(1); ; step += stride {
		dir := t.TempDir()
		answered, last, killed := killedAt(t, dir, step)
		k := started(t, dir)
		got := k.dump(t)
		must(t, k.end())
		if !killed {
			if got != last || answered != len(requests) {
				t.Errorf("not killed after %d answers: got %s\nwant %s", answered, got, last)
			}
			if step < 60 {
				t.Errorf("only %d calls", step)
			}
			return
		}
		if got == last {
			continue
		}
		if masked := mask(got); answered == len(requests) || !slices.Contains(reference[answered:answered+2], masked) {
			t.Fatalf("killed at call %d, after %d answers: got %s\nwant %s", step, answered, masked, strings.Join(reference[answered:min(answered+2, len(reference))], "\nor\n"))
		}
	}
}

// now is a timestamp that a server has assigned.
var now = regexp.MustCompile(`@1[0-9]{15}\b`)

// mask replaces timestamps that servers have assigned.
func mask(dump string) string { return now.ReplaceAllString(dump, "@now") }

// references returns the tables before each request, and after the last one.
func references(t *testing.T) []string {
	k := started(t, t.TempDir())
	out := []string{k.dump(t)}
	for _, r := range requests {
		_ = r.do(t.Context(), k)
		out = append(out, mask(k.dump(t)))
	}
	return out
}

// compactions are the numbers of requests after which the file is compacted.
var compactions = []int{1, 8, len(requests)}

// killedAt sends the requests to a server that kills itself at a step. It returns how many were answered, the tables
// after the last of them, and whether the server was killed.
func killedAt(t *testing.T, dir string, step int64) (answered int, last string, killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childStep+"="+strconv.FormatInt(step, 10))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		_ = stdin.Close()
		err := cmd.Wait()
		killed = err != nil
		if state, is := cmd.ProcessState.Sys().(syscall.WaitStatus); killed && (!is || state.Signal() != syscall.SIGKILL) {
			t.Fatalf("step %d: %v", step, err)
		}
	}()
	lines := bufio.NewReader(stdout)
	address, err := lines.ReadString('\n')
	if err != nil {
		return 0, "", true
	}
	k := connected(t, strings.TrimPrefix(strings.TrimSpace(address), "address "))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, r := range requests {
		if err := r.do(ctx, k); status.Code(err) != r.code {
			return i, last, true
		}
		last = k.dump(t)
		if slices.Contains(compactions, i+1) {
			if _, err := fmt.Fprintln(stdin); err != nil {
				return i + 1, last, true
			}
			if _, err := lines.ReadString('\n'); err != nil {
				return i + 1, last, true
			}
		}
	}
	return len(requests), last, false
}
