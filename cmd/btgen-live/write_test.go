package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
)

// TestInterruptedWrite interrupts a process that writes: it says which lines are written, and
// the next one continues there. Then it kills a process: another one that begins again
// changes nothing, and completes the rest.
func TestInterruptedWrite(t *testing.T) {
	const lines, first = 9_000, 7_000
	_, b := inProject(t, "event.yaml", killedSchema, setup.Options{})
	var text []string
	for i := range lines {
		text = append(text, fmt.Sprintf("{\"host\":\"h%06d\",\"time\":\"2026-01-02T03:04:05Z\",\"value\":%d}\n", i, i))
	}
	stored := func() int {
		n := 0
		if err := b.Client.Open("by_host").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(bigtable.Row) bool { n++; return true }, bigtable.RowFilter(bigtable.StripValueFilter())); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, signal := range testlong.Sample([]os.Signal{syscall.SIGINT, syscall.SIGKILL}, 2) {
		cmd := exec.Command("btgen-live", atInstance("write", "Event")...)
		in, err := cmd.StdinPipe()
		must(t, err)
		var failed bytes.Buffer
		cmd.Stderr = &failed
		must(t, cmd.Start())
		if _, err := io.WriteString(in, strings.Join(text[:first], "")); err != nil { // and no end
			t.Fatal(err)
		}
		for stored() < first {
			time.Sleep(20 * time.Millisecond) // reading all of them takes about as long
		}
		must(t, cmd.Process.Signal(signal))
		_ = cmd.Wait()
		want := "btgen-live: interrupted: all lines up to 7000 are written or reported, 7,000 events in total; to continue, repeat the command with --from-line 7001\n"
		if signal == syscall.SIGINT && (cmd.ProcessState.ExitCode() != 2 || !strings.HasSuffix(failed.String(), want)) {
			t.Fatalf("exit code %d: %s", cmd.ProcessState.ExitCode(), failed.String())
		}
		must(t, os.WriteFile("all.ndjson", []byte(strings.Join(text, "")), 0o666))
		command, rest := "write Event all.ndjson", "9,000 events written\n"
		if signal == syscall.SIGINT {
			command, rest = command+" --from-line 7001", "2,000 events written from line 7001 on\n"
		}
		if code, stdout, stderr := ranAt(command); code != 0 || stdout != rest || stored() != lines {
			t.Fatalf("exit code %d, %d events: %s%s", code, stored(), stdout, stderr)
		}
	}
}
