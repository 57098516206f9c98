package main_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/store"
)

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
