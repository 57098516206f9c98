package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// hasty is the command with short pauses. Programs that use each mark once need no longer ones.
func hasty() {
	delay = func(ctx context.Context, _ time.Duration) error { return wait(ctx, 10*time.Millisecond) }
	main()
}

// summedSchema has a table with a rollup.
const summedSchema = `btgen: v1
package: events
name: Event
series: {host: string}
time: {precision: 1s}
fields:
  value: {type: int64, example: 5}
tables:
  events:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    family: m
    ttl: {keep: forever}
    rollup: {every: 1h, family: h, ttl: {keep: forever}}
`

// summed is a table whose events are summarized by processes, and what its windows must be.
type summed struct {
	*testing.T
	server *storetest.Bigtable
	schema *dynamic.Schema
	random *rand.Rand
	values map[string]map[time.Time]int64 // of the events of each series
	from   map[string]int                 // how many buckets of reads had each source
}

// summedHosts are the series, and summedDays how many days have events.
var summedHosts, summedDays = []string{"a", "b", "c"}, 3

// summedBegin is the start of the first bucket.
var summedBegin = time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)

// TestKilledRollup kills processes that summarize, at random moments, while a program writes and deletes events: two
// processes at a time with --watch. Before and after each change, all windows of the series that it is about must be those of
// its events; at the end, all series are summarized, and have one run for each bucket.
func TestKilledRollup(t *testing.T) {
	p := &summed{T: t, random: rand.New(rand.NewPCG(30, 4)), values: map[string]map[time.Time]int64{}, from: map[string]int{}}
	p.schema, p.server = inProject(t, "event.yaml", summedSchema, setup.Options{})
	for _, host := range summedHosts {
		p.values[host] = map[time.Time]int64{}
	}
	processes := []*watching{p.watch(), p.watch()}
	for killed := range *kills {
		w := &processes[killed%2]
		if killed%3 != 2 { // sometimes, it has hardly begun
			p.until(*w)
		}
		for range p.random.IntN(50) {
			p.change()
		}
		(*w).kill()
		*w = p.watch()
	}
	for _, w := range processes {
		p.until(w)
		w.kill()
	}
	p.complete()
}

// watching is a process that summarizes.
type watching struct {
	cmd    *exec.Cmd
	passes chan struct{} // closed when it has completed a search
	ended  chan struct{}
	failed bytes.Buffer
}

// watch starts a process that summarizes until it is killed.
func (p *summed) watch() *watching {
	p.Helper()
	w := &watching{passes: make(chan struct{}), ended: make(chan struct{})}
	w.cmd = exec.Command("btgen-live-hasty", "rollup", "Event", "--watch", "--project", storetest.Project, "--instance", storetest.Instance)
	w.cmd.Stderr = &w.failed
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	must(p, err)
	p.Cleanup(w.kill)
	go func() {
		defer close(w.ended)
		if lines := bufio.NewScanner(out); lines.Scan() {
			close(w.passes)
		}
		_, _ = io.Copy(io.Discard, out) // which ends with the process
		_ = w.cmd.Wait()
	}()
	return w
}

// kill ends a process.
func (w *watching) kill() {
	_ = w.cmd.Process.Kill()
	<-w.ended
}

// until changes events until a process has completed a search.
func (p *summed) until(w *watching) {
	p.Helper()
	for {
		select {
		case <-w.passes:
			return
		case <-w.ended:
			p.Fatalf("a process has ended: %s", w.failed.String())
		default:
			p.change()
		}
	}
}

// change writes or deletes some events of a series. Each change has a writer of its own, which uses no mark of another
// one.
func (p *summed) change() {
	p.Helper()
	host := summedHosts[p.random.IntN(len(summedHosts))]
	values := p.values[host]
	w := p.schema.NewWriter(struct{ store.Client }{p.server.Client}, store.WriterOptions{}) // such clients share no marks
	at := func() time.Time {
		return summedBegin.Add(time.Duration(p.random.IntN(summedDays*24*4)) * 15 * time.Minute)
	}
	p.check(host)
	if from := at(); p.random.IntN(4) == 0 {
		to := from.Add(time.Duration(1+p.random.IntN(8)) * 30 * time.Minute)
		if _, err := p.schema.Delete(p.Context(), w, dynamic.Series([]any{host}), from, to); err != nil {
			p.Fatal(err)
		}
		for at := range values {
			if !at.Before(from) && at.Before(to) {
				delete(values, at)
			}
		}
	} else {
		var events []dynamic.Event
		for range 1 + p.random.IntN(5) {
			at, value := at(), int64(p.random.IntN(1000))
			values[at] = value
			events = append(events, dynamic.Event{Series: []any{host}, Time: at, Values: []any{value}})
		}
		must(p, w.WriteAll(p.Context(), events, store.WriteOptions{LastWins: true}))
	}
	p.check(host)
}

// check compares the windows of a series with its events.
func (p *summed) check(host string) (op store.Operation) {
	p.Helper()
	type sum struct{ events, sum int64 }
	want, got := map[int64]sum{}, map[int64]sum{} // by the start of the window
	for at, value := range p.values[host] {
		start := at.Truncate(time.Hour).Unix()
		want[start] = sum{want[start].events + 1, want[start].sum + value}
	}
	r := p.schema.NewReader(p.server.Client, store.ReaderOptions{Hooks: store.Hooks{End: func(_ context.Context, done store.Operation, _ error) { op = done }}})
	value := &p.schema.Layout().Fields[0]
	for w, err := range r.Windows(p.Context(), dynamic.Series([]any{host}), summedBegin, summedBegin.AddDate(0, 0, summedDays), window.Every(time.Hour)) {
		must(p, err)
		if w.Inexact {
			p.Fatalf("%s: the window from %v is inexact", host, w.Start)
		}
		total, _ := dynamic.Sum.Of(&w, value, 0).(int64)
		got[w.Start.Unix()] = sum{w.Events, total}
	}
	if !maps.Equal(want, got) {
		p.Fatalf("%s: want %v\ngot %v", host, want, got)
	}
	p.from["runs"], p.from["events"] = p.from["runs"]+op.Runs, p.from["events"]+op.Folded
	return op
}

// complete summarizes what is left, and checks that nothing but one run for each bucket is there.
func (p *summed) complete() {
	p.Helper()
	cmd := exec.Command("btgen-live-hasty", "rollup", "Event", "--project", storetest.Project, "--instance", storetest.Instance)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
	rows := 0
	err := p.server.Client.Open("events").ReadRows(p.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		if rows++; len(row["h"]) != 1 || !strings.HasPrefix(row["h"][0].Column, "h:r") {
			p.Errorf("row %s has %v", row.Key(), row["h"])
		}
		return true
	})
	must(p, err)
	for _, host := range summedHosts {
		if op := p.check(host); op.Folded != 0 {
			p.Errorf("%s: %+v", host, op)
		}
	}
	p.Logf("%d kills, %d rows; buckets of reads: %v", *kills, rows, p.from)
	if p.from["runs"] == 0 || p.from["events"] == 0 {
		p.Errorf("buckets of reads have one source: %v", p.from)
	}
}
