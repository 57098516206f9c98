package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// BenchmarkPlot draws a year of one series with four fields as a page, with an event every hour, five
// minutes or minute, from Google's in-memory Bigtable in the same process. It reports the CPU time of
// both.
func BenchmarkPlot(b *testing.B) {
	for _, every := range []time.Duration{time.Hour, 5 * time.Minute, time.Minute} {
		b.Run("every="+every.String(), func(b *testing.B) { benchmarkPlot(b, every) })
	}
}

func benchmarkPlot(b *testing.B, every time.Duration) {
	text := fmt.Appendf(nil, benchSchema, "bucket_serialized", "bucket", "bucket: 1d", "blob: {column: e, format: json}")
	r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: text}})
	if r.Diagnostics.HasErrors() {
		b.Fatal(r.Diagnostics.Err())
	}
	schema := dynamic.New(r.Layouts[0])
	server := storetest.New(b, func(ctx context.Context, s *storetest.Bigtable) error {
		_, err := setup.Setup(ctx, s.Admin, s.Client, schema.Tables(), setup.Options{NoHistory: true, AllowDrafts: true})
		return err
	})
	from, to := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var events []dynamic.Event
	for i, at := 0, from; at.Before(to); i, at = i+1, at.Add(every) {
		events = append(events, dynamic.Event{
			Series: []any{"us-west2", int64(3698)}, Time: at, Values: []any{int64(94000 + i%1000), 9.5 + float64(i%50)/10, int64(i % 100), int64(i)},
		})
	}
	must(b, schema.NewWriter(server.Client).WriteAll(b.Context(), events))
	dir := b.TempDir()
	must(b, os.WriteFile(filepath.Join(dir, "balloon.yaml"), text, 0o666))
	b.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
	args := []string{
		"plot", "Balloon", "location=us-west2", "balloon_id=3698", "--from", "2025-01-01", "--to", "2026-01-01", "--format", "html",
		"--schemas", dir, "--project", storetest.Project, "--instance", storetest.Instance,
	}
	b.ResetTimer()
	spent := cputime.Spent()
	for b.Loop() {
		var out, failed bytes.Buffer
		if code := run(args, &out, &failed); code != 0 || !bytes.Contains(out.Bytes(), []byte("each 12h")) {
			b.Fatal(code, failed.String())
		}
	}
	b.ReportMetric(float64((cputime.Spent()-spent).Nanoseconds())/1e6/float64(b.N), "cpu-ms/op")
}
