//go:build unix

package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// The environment of a process that keeps tables: the folder, and the call of the file system at which it kills itself.
const (
	childDir  = "BTGEN_JOURNAL_DIR"
	childStep = "BTGEN_JOURNAL_STEP"
)

// TestChild is a server in a process of its own. For each line of its input, it compacts the file or collects garbage.
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
		if lines.Text() == "collect" {
			must(t, k.collectAll(t.Context()))
		} else {
			must(t, k.replace(t))
		}
		fmt.Println("done")
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

// child is a server in a process of its own.
type child struct {
	*kept
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
}

// startChild starts a server that kills itself at a step. The error says that it was killed before it had an address.
func startChild(t *testing.T, dir string, step int64) (*child, error) {
	t.Helper()
	c := &child{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")}
	c.cmd.Env = append(os.Environ(), childDir+"="+dir, childStep+"="+strconv.FormatInt(step, 10))
	c.cmd.Stderr = os.Stderr
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	must(t, err)
	stdout, err := c.cmd.StdoutPipe()
	must(t, err)
	must(t, c.cmd.Start())
	c.lines = bufio.NewReader(stdout)
	address, err := c.lines.ReadString('\n')
	if err == nil {
		c.kept = connected(t, strings.TrimPrefix(strings.TrimSpace(address), "address "))
	}
	return c, err
}

// ended waits until the server has ended, and reports whether it was killed.
func (c *child) ended(t *testing.T) bool {
	t.Helper()
	_ = c.stdin.Close()
	err := c.cmd.Wait()
	if state, is := c.cmd.ProcessState.Sys().(syscall.WaitStatus); err != nil && (!is || state.Signal() != syscall.SIGKILL) {
		t.Fatal(err)
	}
	return err != nil
}

// command lets the server compact its file or collect garbage.
func (c *child) command(name string) error {
	_, err := fmt.Fprintln(c.stdin, name)
	if err == nil {
		_, err = c.lines.ReadString('\n')
	}
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return nil
}

// keys returns the keys of the rows of a table.
func (c *child) keys(t *testing.T, table string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	stream, err := c.data.ReadRows(t.Context(), &bigtablepb.ReadRowsRequest{TableName: table})
	for err == nil {
		var response *bigtablepb.ReadRowsResponse
		if response, err = stream.Recv(); err == nil {
			out[string(response.GetChunks()[0].GetRowKey())] = true
		}
	}
	assert.Is(t, io.EOF, err)
	return out
}

// killedAt sends the requests to a server that kills itself at a step. It returns how many were answered, the tables
// after the last of them, and whether the server was killed.
func killedAt(t *testing.T, dir string, step int64) (answered int, last string, killed bool) {
	t.Helper()
	c, err := startChild(t, dir, step)
	defer func() { killed = c.ended(t) }()
	if err != nil {
		return 0, "", true
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, r := range requests {
		if err := r.do(ctx, c.kept); status.Code(err) != r.code {
			return i, last, true
		}
		last = c.dump(t)
		if slices.Contains(compactions, i+1) && c.command("compact") != nil {
			return i + 1, last, true
		}
	}
	return len(requests), last, false
}

// drawn returns a random change. The same one has the same effect and answer on the same tables.
func drawn(random *rand.Rand, n int) request {
	row, other := fmt.Sprint("row", random.IntN(4)), fmt.Sprint("row", random.IntN(4))
	family, qualifier := []string{"f", "g", "new", "unknown"}[random.IntN(4)], fmt.Sprint("q", random.IntN(3))
	micros, value := 1000*int64(random.IntN(5)), strings.Repeat(fmt.Sprint(n, " "), 1+random.IntN(9))
	last, rest := set(family, qualifier, micros, value), &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}
	messages := []proto.Message{
		mutate(one, row, set("f", qualifier, micros, value), last), mutate(one, row, set("f", fmt.Sprint(n), serverTime, value)),
		chosen(row, last, set("f", "b", micros, value)), change("count", increments("n", int64(n)), appends("text", "x")),
		mutate(one, row, last, &bigtablepb.Mutation{Mutation: rest}, last), mutate(one, row, cut(family, qualifier, micros, micros+2000)),
		several(entry(row, set("g", "many", micros, value), last), entry(other, set("f", "many", micros, value))),
		modify(one, creates("new"), drops("new"), creates("new")), modify(one, drops("new")), create("three", nil), remove(three), dropRows(one, row),
	}
	return request{message: messages[random.IntN(len(messages))]}
}

// TestKilledAnytime kills a server at any time, again and again, while a client changes its tables, another one adds rows,
// and it compacts its file and collects garbage. A server that is started again has the tables of a model, and all rows whose
// addition was answered.
func TestKilledAnytime(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	model, dir, ctx := started(t, t.TempDir()), t.TempDir(), t.Context()
	c := &child{}
	collect := request{name: "collect"}
	do := func(r *request, k *kept) error {
		switch {
		case r.name != collect.name:
			return r.do(ctx, k)
		case k == model:
			return k.collectAll(ctx)
		}
		return c.command("collect")
	}
	const load = parent + "/tables/load"
	first := []request{
		requests[0], requests[slices.IndexFunc(requests, func(r request) bool { return r.name == "another table" })],
		{message: create("load", map[string]*adminpb.ColumnFamily{"f": {}})},
		{message: mutate(one, "count", set("f", "n", 4e15, "12345678"), set("f", "text", 4e15, ""))}, // which increments replace
	}
	random := rand.New(rand.NewPCG(7, 7))
	changes, added := 0, 0
	var last *request
	for kill := range testlong.Pick(5, 300) {
		var err error
		c, err = startChild(t, dir, 0)
		must(t, err)
		for _, r := range first {
			must(t, errors.Join(r.do(ctx, c.kept), r.do(ctx, model)))
		}
		if first = nil; last != nil {
			if last.name == collect.name || mask(c.dump(t)) == mask(model.dump(t)) { // it was not made, or not completely
				_ = do(last, c.kept)
			}
			_ = do(last, model)
		}
		if got, want := mask(c.dump(t)), mask(model.dump(t)); got != want {
			t.Fatalf("after kill %d and %d changes: got %s\nwant %s", kill, changes, got, want)
		}
		rows := c.keys(t, load)
		for i := range added {
			if !rows[fmt.Sprint(i)] {
				t.Fatalf("after kill %d: row %d of %d is missing", kill, i, added)
			}
		}
		time.AfterFunc(time.Duration(random.IntN(60))*time.Millisecond, func() { _ = c.cmd.Process.Kill() })
		var adds sync.WaitGroup
		adds.Go(func() {
			for ; c.send(ctx, mutate(load, fmt.Sprint(added), set("f", "a", 1000, ""))) == nil; added++ {
			}
		})
		for killed := false; !killed; changes++ {
			last = new(drawn(random, changes))
			switch random.IntN(20) {
			case 0:
				last = &collect
			case 1:
				_ = c.command("compact")
			}
			err := do(last, c.kept)
			if killed = status.Code(err) == codes.Unavailable; killed {
				continue
			}
			if want := do(last, model); status.Code(err) != status.Code(want) {
				t.Fatalf("change %d: got %v, want %v", changes, err, want)
			}
		}
		adds.Wait()
		if !c.ended(t) {
			t.Fatal("not killed")
		}
		if kill%100 == 99 {
			t.Logf("%d kills, %d changes, %d rows", kill+1, changes, added)
		}
	}
}
