package infer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/infer"
	"github.com/btgen-dev/btgen/gen/verify"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

const rollupSchema = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1m}
fields: {value: int64, note: string}
tables:
  events:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
    rollup: {every: 1h, family: h, ttl: {max_age: 52w}}
`

// TestRollup checks that windows and marks in a table are not taken for events: neither by a proposal, nor when
// the table is verified.
func TestRollup(t *testing.T) {
	result := gen.Resolve([]gen.Input{{Name: "event.yaml", Text: []byte(rollupSchema)}})
	if err := result.Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	l := result.Layouts[0]
	s := dynamic.New(l)
	b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := setup.Setup(ctx, b.Admin, b.Client, s.Tables())
		return err
	})
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -5)
	w := s.NewWriter(b.Client, store.WriterOptions{})
	write := func(minutes ...int) {
		var events []dynamic.Event
		for _, m := range minutes {
			for _, host := range []string{"alpha", "beta", "gamma"} {
				events = append(events, dynamic.Event{Series: []any{host}, Time: day.Add(time.Duration(m) * time.Minute), Values: []any{int64(m), "a note"}})
			}
		}
		if err := w.WriteAll(t.Context(), events); err != nil {
			t.Fatal(err)
		}
	}
	write(7, 90, 450, 24*60+5, 24*60+700, 2*24*60+11)
	if report, err := s.Rollup(t.Context(), b.Client, store.RollupOptions{Sleep: func(context.Context, time.Duration) error { return nil }}); err != nil || report.Sealed != 9 {
		t.Fatal(report, err)
	}
	write(91)
	report, err := verify.Table(t.Context(), b.Client, []verify.Schema{{Layout: l, Table: l.Tables[0]}}, verify.Options{Rows: 100, Timeout: time.Minute})
	if err != nil || len(report.Findings) > 0 || report.Columns.Total != report.Columns.Readable || report.Columns.Total == 0 {
		t.Errorf("%+v %v", report, err)
	}
	sample := infer.Sample{Table: "events", Families: map[string]codec.GCRule{"m": {}, "h": {}}}
	err = b.Client.Open("events").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		sample.Rows = append(sample.Rows, row)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := infer.Propose(sample)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(p.Schema); !strings.Contains(text, "pattern: bucket_new_cells") || strings.Contains(text, "family: h") || strings.Contains(text, "h:\n") {
		t.Errorf("%s", text)
	}
	if p.Report.Columns.Readable != p.Report.Columns.Total || len(p.Report.Findings) > 0 {
		t.Errorf("the proposal does not read the cells of events: %+v", p.Report)
	}
}
