package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/trial"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// stalling lets a server answer some requests for rows, and leave off in the middle of the next ones.
type stalling struct {
	left   atomic.Int32  // requests to answer
	stalls chan struct{} // has an element when the server leaves off
}

// option returns the option of the server.
func (s *stalling) option() grpc.ServerOption {
	return grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if strings.HasSuffix(info.FullMethod, "/ReadRows") && s.left.Add(-1) < 0 {
			stream = &stalled{stream, s}
		}
		return next(server, stream)
	})
}

// stalled is a stream that leaves off after a response.
type stalled struct {
	grpc.ServerStream
	*stalling
}

func (s *stalled) SendMsg(response any) error {
	err := s.ServerStream.SendMsg(response)
	select {
	case s.stalls <- struct{}{}:
	default: // nobody waits for a second one
	}
	<-s.Context().Done()
	return errors.Join(err, s.Context().Err())
}

// TestInterruptedRead interrupts processes that summarize and draw in the middle of a read: they print
// only what is complete, say so, and leave no file.
func TestInterruptedRead(t *testing.T) {
	server := &stalling{}
	server.left.Store(math.MaxInt32)
	inProject(t, "event.yaml", killedSchema, setup.Options{}, server.option())
	var text strings.Builder
	for minute := range 10 * 60 {
		fmt.Fprintf(&text, "{\"host\":\"a\",\"time\":\"2026-01-02T%02d:%02d:00Z\",\"value\":%d}\n", minute/60, minute%60, minute)
	}
	must(t, os.WriteFile("events.ndjson", []byte(text.String()), 0o666))
	if code, _, stderr := ranAt("write Event events.ndjson"); code != 0 {
		t.Fatal(code, stderr)
	}
	// Windows from the newest one take a request for one, for two, and for four, and wait for the value before them.
	windows := []string{"windows", "Event", "host=a", "--every", "1h", "--newest-first", "--from", "2026-01-02T00:00:00Z", "--to", "2026-01-02T10:00:00Z", "--statistics", "count,min"}
	const csv = "host,start,end,events,undecodable,value_count,value_min\n" +
		"a,2026-01-02T09:00:00Z,2026-01-02T10:00:00Z,60,0,60,540\n" +
		"a,2026-01-02T08:00:00Z,2026-01-02T09:00:00Z,60,0,60,480\n"
	for _, c := range []struct {
		answered     int32
		args         []string
		stdout, says string
	}{
		{2, append(windows, "--format", "csv"), csv, "interrupted after 2 windows"},
		{0, append(windows, "--format", "csv"), "", "interrupted after 0 windows"},
		{2, append(windows, "--output", "windows.parquet"), "", "interrupted after 2 windows"},
		{1, []string{"plot", "Event", "host=a"}, "", "interrupted: nothing is drawn"},
		{1, []string{"plot", "Event", "host=a", "--output", "chart.html"}, "", "interrupted: nothing is drawn"},
		{0, []string{"verify"}, "", "table by_host: interrupted"},
		{0, []string{"stats", "Event"}, "", "interrupted"},
	} {
		server.stalls = make(chan struct{}, 1)
		server.left.Store(c.answered)
		cmd := exec.Command("btgen-live", atInstance(c.args...)...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-server.stalls:
		case err := <-ended:
			t.Fatalf("%s ends before it is interrupted: %v, %s", c.args, err, stderr.String())
		}
		must(t, cmd.Process.Signal(os.Interrupt))
		<-ended
		if code := cmd.ProcessState.ExitCode(); code != 2 || stdout.String() != c.stdout || stderr.String() != "btgen-live: "+c.says+"\n" {
			t.Errorf("%s: exit code %d, printed %q and %q", c.args, code, stdout.String(), stderr.String())
		}
	}
	if names, err := filepath.Glob("*"); err != nil || len(names) != 2 {
		t.Errorf("files are left: %v, %v", names, err)
	}
}

// TestTimedOut lets commands time out: they say so, and do not say that they were interrupted, although the end of a timeout cancels
// requests.
func TestTimedOut(t *testing.T) {
	server := &stalling{}
	server.left.Store(math.MaxInt32)
	s, b := inProject(t, "event.yaml", killedSchema, setup.Options{}, server.option())
	event := dynamic.Event{Series: []any{"a"}, Time: time.Unix(1_772_366_400, 0), Values: []any{int64(1)}}
	must(t, s.NewWriter(b.Client, store.WriterOptions{}).Write(t.Context(), event))
	server.left.Store(0)
	for _, args := range []string{
		"read Event", "read Event host=a", "windows Event --every 1h", "plot Event", "count Event", "count Event host=a", "stats Event", "stats Event --sample 10",
		"verify", "delete Event host=a --all --yes", "backfill Event", "backfill Event --verify", "backfill Event --checkpoint progress",
	} {
		code, _, text := ranAt(args + " --timeout 100ms")
		if code != 2 || !strings.Contains(text, "timed out") || strings.Contains(text, "interrupted") || strings.Contains(text, "context") {
			t.Errorf("%s: exit code %d, %q", args, code, text)
		}
	}
}

// TestWindowsProgress checks that a read that yields few windows shows how many events it has read.
func TestWindowsProgress(t *testing.T) {
	s, _ := inProject(t, "event.yaml", killedSchema, setup.Options{})
	synctest.Test(t, func(t *testing.T) {
		cmd := &cobra.Command{Use: "btgen-live"}
		var out, progress strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&progress)
		r := newRequest("windows", cmd)
		r.schema, r.format, r.every, r.by, r.fields, r.fill, r.zone = s, "csv", "1d", list{}, list{}, "none", time.UTC
		a, err := r.windowAnswer(func(context.Context, window.Width, store.WindowOptions) iter.Seq2[dynamic.Window, error] {
			return func(yield func(dynamic.Window, error) bool) {
				for range 3 {
					time.Sleep(11 * time.Second) // the clock of the test goes on by itself
					if w := (dynamic.Window{Window: window.Window{Events: 86_400}}); !yield(w, nil) {
						return
					}
				}
			}
		})
		must(t, err)
		must(t, r.print(t.Context(), a))
		const want = "btgen-live: 86,400 events, 7,855/s\nbtgen-live: 172,800 events, 7,855/s\nbtgen-live: 259,200 events, 7,855/s\n"
		assert.Same(t, want, progress.String())
	})
}

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

// TestTrialKilled checks that the tables of a killed trial are removed by their names, an hour later.
func TestTrialKilled(t *testing.T) {
	started := make(chan *os.Process, 1)
	made := 0
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		response, err := next(ctx, request)
		if _, creates := request.(*adminpb.CreateTableRequest); creates {
			if made++; made == 3 {
				assert.Is(t, nil, (<-started).Kill())
			}
		}
		return response, err
	}))
	must(t, err)
	defer b.Close()
	t.Setenv(store.EmulatorVariable, b.Addr)
	cmd := exec.Command("btgen-live", atInstance("trial", "order-rows", "sums-add", "protection")...)
	cmd.Env = append(os.Environ(), store.EmulatorVariable+"="+b.Addr)
	must(t, cmd.Start())
	started <- cmd.Process
	if err := cmd.Wait(); err == nil {
		t.Fatal("the trial ended")
	}
	left, err := b.Admin.Tables(t.Context())
	must(t, err)
	assert.Same(t, 3, len(left))
	c := &trial.Clients{Project: storetest.Project, Instance: storetest.Instance, Client: b.Client, Admin: b.Admin}
	removed, _, err := trial.Clean(t.Context(), c, time.Now())
	must(t, err)
	assert.Same(t, 0, len(removed))
	removed, _, err = trial.Clean(t.Context(), c, time.Now().Add(2*time.Hour))
	must(t, err)
	assert.Same(t, len(left), len(removed))
}
