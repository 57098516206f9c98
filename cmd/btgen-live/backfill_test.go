package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/templates"
)

// TestBackfillOfTheManual executes the commands of the manual about a table that was added, with
// the schema of `btgen init` and that table.
func TestBackfillOfTheManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/evolution.md")
	if err != nil {
		t.Fatal(err)
	}
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
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("schemas", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("schemas", "balloon.yaml"), schema, 0o666); err != nil {
		t.Fatal(err)
	}
	fillDay(t, schema)
	want := ""
	for line := range strings.Lines(commands) {
		command, is := strings.CutPrefix(line, "$ btgen-live ")
		if !is {
			continue
		}
		var out, failed bytes.Buffer
		command = strings.NewReplacer("project P", "project "+storetest.Project, "instance I", "instance "+storetest.Instance).Replace(command)
		if code := run(strings.Fields(command), &out, &failed); code != 0 {
			t.Fatalf("%s: exit code %d: %s", command, code, failed.String())
		}
		want += line + out.String()
	}
	if want != commands || strings.Count(want, "$") < 3 {
		t.Errorf("the manual has\n%s\nbut the commands print\n%s", commands, want)
	}
}

// fillDay starts a server that the environment names, with the tables of a schema and the events of
// a day in the first one.
func fillDay(t *testing.T, schema []byte) {
	t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "balloon.yaml", Text: schema}})
	if err := r.Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	s := dynamic.New(r.Layouts[0])
	server := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		if _, err := setup.Setup(ctx, b.Admin, b.Client, s.Tables()); err != nil {
			return err
		}
		var events []dynamic.Event
		yesterday := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
		for i := range 1440 {
			events = append(events, dynamic.Event{
				Series: []any{"us-west2", int64(3698)}, Time: yesterday.Add(time.Duration(i) * time.Minute),
				Values: []any{int64(94558), 9.6, int64(61), nil},
			})
		}
		return s.NewWriter(b.Client, store.WriterOptions{Tables: []string{"balloon_buckets"}}).WriteAll(ctx, events)
	})
	t.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
}

// kills is the number of processes that TestKilledBackfill kills.
var kills = flag.Int("kills", testlong.Pick(2, 10), "number of backfills to kill")

// TestKilledBackfill kills processes that copy events at random moments. Then the copy is completed
// with the same checkpoint: the tables agree, and the counts are those of one call.
func TestKilledBackfill(t *testing.T) {
	events := testlong.Pick(2_000, 30_000)
	schema := []byte(killedSchema)
	r := gen.Resolve([]gen.Input{{Name: "event.yaml", Text: schema}})
	if err := r.Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	s := dynamic.New(r.Layouts[0])
	server := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		if _, err := setup.Setup(ctx, b.Admin, b.Client, s.Tables()); err != nil {
			return err
		}
		var all []dynamic.Event
		for i := range events {
			all = append(all, dynamic.Event{Series: []any{fmt.Sprintf("h%06d", i*7919%1_000_000)}, Time: time.Unix(1_700_000_000, 0), Values: []any{int64(i)}})
		}
		return s.NewWriter(b.Client, store.WriterOptions{Tables: []string{"by_host"}}).WriteAll(ctx, all)
	})
	t.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
	t.Chdir(t.TempDir())
	if err := os.Mkdir("schemas", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("schemas/event.yaml", schema, 0o666); err != nil {
		t.Fatal(err)
	}
	where := []string{"--project", storetest.Project, "--instance", storetest.Instance}
	copies := append([]string{"backfill", "Event", "--checkpoint", "progress", "--workers", "2", "--rate", "100000", "--timeout", "500ms"}, where...)
	const seed = 14
	random, partly := rand.New(rand.NewPCG(seed, seed)), 0
	for killed := 0; killed < *kills; {
		cmd := exec.Command("btgen-live", copies...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(1400)) * time.Millisecond)
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
			if text, err := os.ReadFile("progress"); err == nil && bytes.Contains(text, []byte(`"done":true`)) {
				partly++
			}
			continue
		}
		// It was faster: the next one begins again, over what is already there.
		if err := os.Remove("progress"); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d processes are killed, of which %d had recorded progress", *kills, partly)
	var out, failed bytes.Buffer
	for tries := 1; ; tries++ { // a loaded machine may take longer over a request than the short timeout
		code := run(copies, &out, &failed)
		if code == 0 {
			break
		}
		if t.Logf("exit code %d: %s", code, failed.String()); tries == 20 {
			t.Fatal("the copy is never complete")
		}
		out.Reset()
		failed.Reset()
	}
	count := words.Count(float64(events), "event", "events")
	if want := fmt.Sprintf("%s in %s of table by_host copied to table by_day\n", count, words.Count(float64(events), "row", "rows")); out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	if code := run(append([]string{"backfill", "Event", "--verify"}, where...), &out, &failed); code != 0 || out.String() != "tables by_host and by_day agree on "+count+"\n" {
		t.Errorf("exit code %d: %s%s", code, out.String(), failed.String())
	}
}

// TestKilledBackfillAmongPrograms kills processes that copy events at random moments, while
// programs write, replace and delete events. Whenever a copy is complete and the programs have
// ended, the tables must agree; then the next one begins with an empty target.
func TestKilledBackfillAmongPrograms(t *testing.T) {
	testlong.Skip(t, "programs are killed, and write meanwhile")
	events := testlong.Pick(6_000, 25_000)
	r := gen.Resolve([]gen.Input{{Name: "event.yaml", Text: []byte(killedSchema)}})
	if err := r.Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	s := dynamic.New(r.Layouts[0])
	event := func(i int, value int64) dynamic.Event {
		return dynamic.Event{Series: []any{fmt.Sprintf("h%06d", i*7919%1_000_000)}, Time: time.Unix(1_700_000_000, 0), Values: []any{value}}
	}
	server := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := setup.Setup(ctx, b.Admin, b.Client, s.Tables())
		return err
	})
	t.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
	t.Chdir(t.TempDir())
	if err := os.Mkdir("schemas", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("schemas/event.yaml", []byte(killedSchema), 0o666); err != nil {
		t.Fatal(err)
	}
	where := []string{"--project", storetest.Project, "--instance", storetest.Instance}
	copies := append([]string{"backfill", "Event", "--checkpoint", "progress", "--workers", "2", "--rate", "5000", "--timeout", "500ms"}, where...)
	random := rand.New(rand.NewPCG(27, 2))
	killed, rounds, failures := 0, 0, 0
	var changes atomic.Int64
	for ; killed < *kills; rounds++ {
		for _, table := range []string{"by_host", "by_day"} {
			if err := server.Admin.DropAllRows(t.Context(), table); err != nil {
				t.Fatal(err)
			}
		}
		var all []dynamic.Event
		for i := range events {
			all = append(all, event(i, int64(i)))
		}
		if err := s.NewWriter(server.Client, store.WriterOptions{Tables: []string{"by_host"}}).WriteAll(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		var programs sync.WaitGroup
		for n := range 3 { // each has its own events
			random := rand.New(rand.NewPCG(uint64(rounds), uint64(n)))
			programs.Go(func() {
				w := s.NewWriter(server.Client, store.WriterOptions{Timeout: store.NoTimeout}) // a request that is given up could arrive later
				for {
					select {
					case <-stop:
						return
					default:
					}
					e := event(random.IntN(events/3)*3+n, int64(random.IntN(1e9)))
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
					changes.Add(1)
					time.Sleep(time.Millisecond)
				}
			})
		}
		for complete := false; !complete; {
			cmd := exec.Command("btgen-live", copies...)
			var failed bytes.Buffer
			cmd.Stderr = &failed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wait := make(chan error, 1)
			go func() { wait <- cmd.Wait() }()
			limit := time.Hour
			if killed < *kills {
				limit = time.Duration(random.IntN(2500)) * time.Millisecond
			}
			select {
			case err := <-wait:
				if complete = err == nil; !complete {
					failures++ // a request took too long, for example
					t.Log(failed.String())
				}
			case <-time.After(limit):
				_ = cmd.Process.Kill()
				<-wait
				killed++
			}
		}
		close(stop)
		programs.Wait()
		var out, failed bytes.Buffer
		if code := run(append([]string{"backfill", "Event", "--verify"}, where...), &out, &failed); code != 0 {
			t.Fatalf("round %d, after %d kills: exit code %d: %s%s", rounds, killed, code, out.String(), failed.String())
		}
	}
	t.Logf("%d copies of %d events, %d kills, %d failures, %d changes by programs", rounds, events, killed, failures, changes.Load())
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
  by_host:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [host, time]}
    family: m
    ttl: {keep: forever}
    splits: [h100000, h200000, h300000, h400000, h500000, h600000, h700000, h800000, h900000]
  by_day:
    serves: false
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    family: m
    ttl: {keep: forever}
`
