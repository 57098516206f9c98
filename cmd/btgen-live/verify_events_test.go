package main_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/store"
)

// kept is the schema with a salt, whose events do not expire.
var kept = strings.NewReplacer("[site, sensor, bucket]", "[{hash: [site, sensor], buckets: 8}, site, {name: sensor, pad: 4}, TIME]",
	`bucket: {every: 1d, label: "2006-01-02"}`, "BUCKET", "{max_age: 30d}", "{keep: forever}").Replace(readings)

// TestEventsAsReadersFindThem damages rows in ways that no cell shows. Every event that readers of its
// series do not return, or return with an error, is not complete, whatever the pattern.
func TestEventsAsReadersFindThem(t *testing.T) {
	patterns := map[string]string{"bucket_new_cells": "bucket", "bucket_offsets": "bucket", "bucket_serialized": "bucket", "single_unserialized": "{time: unix_s}", "single_serialized": "{time: unix_s}"}
	move := func(edit func(key string) string) func(t *testing.T, table *bigtable.Table, row bigtable.Row) {
		return func(t *testing.T, table *bigtable.Table, row bigtable.Row) {
			m := bigtable.NewMutation()
			for _, item := range row["m"] {
				m.Set("m", strings.TrimPrefix(item.Column, "m:"), item.Timestamp, item.Value)
			}
			gone := bigtable.NewMutation()
			gone.DeleteRow()
			for key, m := range map[string]*bigtable.Mutation{row.Key(): gone, edit(row.Key()): m} {
				must(t, table.Apply(t.Context(), key, m))
			}
		}
	}
	damages := map[string]func(t *testing.T, table *bigtable.Table, row bigtable.Row){
		"nothing":                        func(*testing.T, *bigtable.Table, bigtable.Row) {},
		"another salt":                   move(func(key string) string { return string('0'+(key[0]-'0'+1)%8) + key[1:] }),
		"a number without leading zeros": move(func(key string) string { return strings.Replace(key, "#000", "#", 1) }),
		"a required field is gone": func(t *testing.T, table *bigtable.Table, row bigtable.Row) {
			m := bigtable.NewMutation()
			m.DeleteCellsInColumn("m", "pressure")
			must(t, table.Apply(t.Context(), row.Key(), m))
		},
	}
	for pattern, timed := range patterns {
		for name, damage := range damages {
			t.Run(pattern+" "+name, func(t *testing.T) {
				bucket := ""
				if timed == "bucket" {
					bucket = "bucket: 1d"
				}
				yaml := strings.NewReplacer("PATTERN", pattern, "TIME", timed, "BUCKET", bucket).Replace(kept)
				b := written(t, yaml)
				s := schemaOf(t, yaml)
				table := b.Client.Open("readings")
				damaged, err := table.ReadRow(t.Context(), firstKey(t, table))
				must(t, err)
				damage(t, table, damaged)
				events := readable(t, b.Client, s)
				got, err := verify.Table(t.Context(), b.Client, []verify.Schema{s}, usual)
				must(t, err)
				assert.Same(t, events, got.Events.Readable, got.Events)
				assert.Same(t, len(got.Findings) == 0, events == 20, events, got.Findings)
			})
		}
	}
}

// readable returns how many of the events that [written] writes the reader returns without an error.
func readable(t *testing.T, client *bigtable.Client, s verify.Schema) (n int) {
	r := dynamic.New(s.Layout).NewReader(client)
	for sensor := range 10 {
		for _, err := range r.Read(t.Context(), dynamic.Series([]any{"oslo", int64(sensor)}), time.Time{}, at.AddDate(1, 0, 0)) {
			if err == nil {
				n++
			}
		}
	}
	return n
}

// firstKey returns the key of the first row of a table.
func firstKey(t *testing.T, table *bigtable.Table) (key string) {
	t.Helper()
	err := table.ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		key = row.Key()
		return false
	})
	if err != nil || key == "" {
		t.Fatal(key, err)
	}
	return key
}

// A sample says of how many rows it has only some cells.
func TestCutRows(t *testing.T) {
	b := written(t, cells)
	for _, c := range []struct {
		cells int
		want  string
	}{{0, "all 10 rows"}, {6, "all 10 rows"}, {5, "all 10 rows; of 10 rows, only the first 5 cells"}} {
		most := 0
		got, err := verify.Sample(t.Context(), b.Client.OpenTable("readings"), verify.Sampling{Rows: 100, RowCells: c.cells, Timeout: time.Minute}, func(row bigtable.Row) bool {
			most = max(most, len(row["m"]))
			return true
		})
		if err != nil || got.String() != c.want || c.cells > 0 && most > c.cells {
			t.Errorf("%d cells: %s with up to %d cells, %v", c.cells, got, most, err)
		}
	}
}

// Windows of a rollup that differ from the events of their bucket are findings, with the row and the window. So are
// damaged ones.
func TestWindows(t *testing.T) {
	yaml := strings.NewReplacer("PATTERN", "bucket_new_cells", "TIME", "bucket", "BUCKET", "bucket: 1d\n    rollup: {every: 1h, family: h, ttl: {keep: forever}}").Replace(kept)
	b, schema := written(t, yaml), schemaOf(t, yaml)
	verified := func(want string, findings ...string) {
		t.Helper()
		got, err := verify.Table(t.Context(), b.Client, []verify.Schema{schema}, usual)
		must(t, err)
		if got.Windows.String() != want || len(got.Findings) != len(findings) {
			t.Fatalf("%s, %+v", got.Windows, got.Findings)
		}
		for i, problem := range findings {
			if f := got.Findings[i]; !strings.Contains(f.Problem, problem) || f.Guess == "" || f.Row == "" || !strings.HasPrefix(f.Column, "h:r") {
				t.Errorf("%+v", f)
			}
		}
	}
	verified("0 of 0")
	s := dynamic.New(schema.Layout)
	now := func() time.Time { return at.AddDate(0, 0, 2) }
	roll := func() {
		t.Helper()
		pause := func(context.Context, time.Duration) error { return nil }
		_, err := s.Rollup(t.Context(), b.Client, store.RollupOptions{All: true, Now: now, Sleep: pause})
		must(t, err)
	}
	roll()
	verified("100% of 10")
	// A program without the rollup writes an event.
	older := dynamic.New(schemaOf(t, strings.NewReplacer("PATTERN", "bucket_new_cells", "TIME", "bucket", "BUCKET", "bucket: 1d").Replace(kept)).Layout)
	event := dynamic.Event{Series: []any{"oslo", int64(3)}, Time: at.Add(3 * time.Hour), Values: []any{int64(5), "critical", "n"}}
	must(t, older.NewWriter(b.Client, store.WriterOptions{Now: now}).Write(t.Context(), event))
	verified("90% of 10", "2026-03-05T15:00:00Z")
	key := firstKey(t, b.Client.Open("readings"))
	row, err := b.Client.Open("readings").ReadRow(t.Context(), key)
	must(t, err)
	m := bigtable.NewMutation()
	for _, run := range row["h"] {
		m.Set("h", strings.TrimPrefix(run.Column, "h:"), run.Timestamp, run.Value[1:])
	}
	must(t, b.Client.Open("readings").Apply(t.Context(), key, m))
	verified("80% of 10", "", "")
	roll() // replaces both
	verified("100% of 10")
}
