package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/templates"
)

// TestBackfillOfTheManual executes the commands of the manual about a table that was added, with
// the schema of `btgen init` and that table.
func TestBackfillOfTheManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/evolution.md")
	must(t, err)
	_, section, found := strings.Cut(string(page), "## Backfilling a table")
	_, table, _ := strings.Cut(section, "```yaml\n")
	table, _, _ = strings.Cut(table, "```")
	_, commands, _ := strings.Cut(section, "<!-- backfill -->\n```\n")
	commands, _, _ = strings.Cut(commands, "```")
	starter, err := templates.Starter(templates.DefaultStarter)
	if err != nil || !found {
		t.Fatal(err, found)
	}
	schema := append(bytes.Replace(starter, []byte("draft: true"), []byte("draft: false"), 1), table...)
	s, server := inProject(t, "balloon.yaml", string(schema), setup.Options{})
	var events []dynamic.Event
	yesterday := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
	for i := range 1440 {
		events = append(events, dynamic.Event{
			Series: []any{"us-west2", int64(3698)}, Time: yesterday.Add(time.Duration(i) * time.Minute),
			Values: []any{int64(94558), 9.6, int64(61), nil},
		})
	}
	must(t, s.NewWriter(server.Client, store.WriterOptions{Tables: []string{"balloon_buckets"}}).WriteAll(t.Context(), events))
	want := executed(t, commands, 0)
	if want != commands || strings.Count(want, "$") < 3 {
		t.Errorf("the manual has\n%s\nbut the commands print\n%s", commands, want)
	}
}

// kills is the number of processes that TestKilledBackfill kills.
var kills = flag.Int("kills", testlong.Pick(1, 10), "number of backfills to kill")

// TestKilledBackfill kills processes that copy events at random moments, in a long run also while programs write, replace and
// delete events. Whenever a copy is complete and the programs have ended, the tables must agree, and a copy without programs
// counts what one call does; then the next one begins with an empty target.
func TestKilledBackfill(t *testing.T) {
	for _, programs := range testlong.Pick([]int{0}, []int{0, 3}) {
		t.Run(fmt.Sprint(programs, " programs"), func(t *testing.T) { killBackfills(t, programs) })
	}
}

// killBackfills kills backfills among a number of programs.
func killBackfills(t *testing.T, programs int) {
	events, rate := testlong.Pick(1_000, 25_000), "100000"
	if programs > 0 {
		rate = "5000"
	}
	s, server := inProject(t, "event.yaml", killedSchema, setup.Options{})
	copies := atInstance("backfill", "Event", "--checkpoint", "progress", "--workers", "2", "--rate", rate, "--timeout", "500ms")
	random, count := rand.New(rand.NewPCG(27, 2)), words.Count(float64(events), "event", "events")
	killed, rounds := 0, 0
	for ; killed < *kills; rounds++ {
		for _, table := range []string{"by_host", "by_day"} {
			must(t, server.Admin.DropAllRows(t.Context(), table))
		}
		var all []dynamic.Event
		for i := range events {
			all = append(all, killedEvent(i, int64(i)))
		}
		must(t, s.NewWriter(server.Client, store.WriterOptions{Tables: []string{"by_host"}}).WriteAll(t.Context(), all))
		stop := changing(t, s, server.Client, events, programs)
		var out, failed bytes.Buffer
		for tries := 1; ; tries++ { // a loaded machine may take longer over a request than the short timeout
			out.Reset()
			failed.Reset()
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if killed < *kills {
				ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(1400*(1+programs/3)))*time.Millisecond)
			}
			cmd := exec.CommandContext(ctx, "btgen-live", copies...)
			cmd.Stdout, cmd.Stderr = &out, &failed
			err := cmd.Run()
			ended := ctx.Err() != nil
			if cancel(); err == nil {
				break
			}
			if ended {
				killed++
			} else if t.Log(failed.String()); tries == 20+*kills {
				t.Fatal("the copy is never complete")
			}
		}
		stop()
		if want := fmt.Sprintf("%s in %s of table by_host copied to table by_day\n", count, words.Count(float64(events), "row", "rows")); programs == 0 && out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
		code, stdout, stderr := ranAt("backfill Event --verify")
		if code != 0 || programs == 0 && stdout != "tables by_host and by_day agree on "+count+"\n" {
			t.Fatalf("round %d, after %d kills: exit code %d: %s%s", rounds, killed, code, stdout, stderr)
		}
	}
	t.Logf("%d copies of %d events, %d kills", rounds, events, killed)
}

// killedEvent returns an event with a number and a value.
func killedEvent(i int, value int64) dynamic.Event {
	return dynamic.Event{Series: []any{fmt.Sprintf("h%06d", i*7919%1_000_000)}, Time: time.Unix(1_700_000_000, 0), Values: []any{value}}
}

// changing starts programs, each of which writes and deletes events of its own, until it is stopped.
func changing(t *testing.T, s *dynamic.Schema, client *bigtable.Client, events, n int) (stop func()) {
	ended := make(chan struct{})
	var programs sync.WaitGroup
	for i := range n {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		programs.Go(func() {
			w := s.NewWriter(client, store.WriterOptions{Timeout: store.NoTimeout}) // a request that is given up could arrive later
			for {
				select {
				case <-ended:
					return
				case <-time.After(time.Millisecond):
				}
				e := killedEvent(random.IntN(events/n)*n+i, int64(random.IntN(1e9)))
				var err error
				if random.IntN(5) < 2 {
					_, err = w.Delete(t.Context(), []dynamic.Event{e})
				} else {
					err = w.Write(t.Context(), e)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() { close(ended); programs.Wait() }
}

// killedSchema has a table for the events, and one to fill.
const killedSchema = `btgen: v1
package: events
name: Event
series: {host: string}
time: {precision: 1s}
fields:
  value: {type: int64, example: 5}
tables:
  by_host: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, family: m,
    ttl: {keep: forever},
    splits: [h100000, h200000, h300000, h400000, h500000, h600000, h700000, h800000, h900000]}
  by_day: {serves: false, pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]},
    bucket: 1d, family: m, ttl: {keep: forever}}
`
