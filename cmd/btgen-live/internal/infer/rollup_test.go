package infer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/store"
)

const rollupSchema = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1m}
fields: {value: int64, note: string}
tables:
  events: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1d, family: m,
    ttl: {max_age: 30d}, rollup: {every: 1h, family: h, ttl: {max_age: 52w}}}
`

// TestRollup checks that windows and marks in a table are not taken for events when the table is verified, and that a proposal
// has the rollup, or asks about it: a program without it would change events without marks.
func TestRollup(t *testing.T) {
	result := gen.Resolve([]gen.Input{{Name: "event.yaml", Text: []byte(rollupSchema)}})
	must(t, result.Diagnostics.Err())
	l := result.Layouts[0]
	s := dynamic.New(l)
	b := dynamictest.Start(t, s)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -5)
	w := s.NewWriter(b.Client, store.WriterOptions{})
	write := func(minutes ...int) {
		var events []dynamic.Event
		for _, m := range minutes {
			for _, host := range []string{"alpha", "beta", "gamma"} {
				events = append(events, dynamic.Event{Series: []any{host}, Time: day.Add(time.Duration(m) * time.Minute), Values: []any{int64(m), "a note"}})
			}
		}
		must(t, w.WriteAll(t.Context(), events))
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
	day30, week := 30*24*time.Hour, 7*24*time.Hour
	sample := infer.Sample{Table: "events", Families: map[string]codec.GCRule{
		"m": {Kind: codec.GCMaxAge, MaxAge: day30}, "h": {Kind: codec.GCMaxAge, MaxAge: 52 * week}, "later": {},
	}}
	err = b.Client.Open("events").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		sample.Rows = append(sample.Rows, row)
		return true
	})
	must(t, err)
	// without keeps the cells of the sample that a function does not drop.
	without := func(drop func(family, name string) bool) infer.Sample {
		out := sample
		out.Rows = nil
		for _, row := range sample.Rows {
			kept := bigtable.Row{}
			for family, items := range row {
				items = slices.DeleteFunc(slices.Clone(items), func(item bigtable.ReadItem) bool {
					return drop(family, strings.TrimPrefix(item.Column, family+":"))
				})
				if len(items) > 0 {
					kept[family] = items
				}
			}
			if len(kept) > 0 {
				out.Rows = append(out.Rows, kept)
			}
		}
		return out
	}
	propose := func(s infer.Sample) (*infer.Proposal, *codec.Rollup, string) {
		t.Helper()
		p, err := infer.Propose(s)
		must(t, err)
		r := gen.Resolve([]gen.Input{{Name: "proposed.yaml", Text: p.Schema}})
		must(t, r.Diagnostics.Err())
		return p, r.Layouts[0].Tables[0].Rollup, strings.Join(p.Questions, "\n")
	}
	p, of, asked := propose(sample)
	if !reflect.DeepEqual(of, l.Tables[0].Rollup) || len(p.Report.Findings) > 0 || p.Report.Rows.Readable != len(sample.Rows) {
		t.Errorf("%+v %+v\n%s", of, p.Report, p.Schema)
	}
	if !strings.Contains(asked, `family "later", of which the sample has 0 cells`) || strings.Contains(asked, `"h"`) {
		t.Error(asked)
	}
	p, of, asked = propose(without(func(family, name string) bool { return family == "h" && name > rollup.FirstRun }))
	if of != nil || len(p.Report.Findings) == 0 || !strings.Contains(p.Report.Findings[0].Guess, "rollup") ||
		!strings.Contains(asked, `Family "h" has cells of a rollup`) || !strings.Contains(asked, "rollup: {every: WIDTH, family: h, ttl: {max_age: 52w}}") {
		t.Errorf("%+v %+v\n%s", of, p.Report, p.Schema)
	}
	if _, of, asked = propose(without(func(_, name string) bool { return name == "note" })); of == nil || of.Fields != nil || !strings.Contains(asked, "the schema does not have: note") {
		t.Errorf("%+v\n%s", of, asked)
	}
	worn := sample // events expire when others are written
	worn.Families = map[string]codec.GCRule{"m": {Kind: codec.GCMaxVersions, MaxVersions: 100}, "h": {}}
	if _, of, asked = propose(worn); of != nil || !strings.Contains(asked, "max_versions lets events") || !strings.Contains(asked, "rollup: {every: 1h, family: h, ttl: {keep: forever}}") || strings.Contains(asked, ".yaml") {
		t.Errorf("%+v\n%s", of, asked)
	}
	if _, err := infer.Propose(without(func(family, _ string) bool { return family == "m" })); !errors.Is(err, infer.ErrEmpty) || !strings.Contains(err.Error(), "rollup in family h") {
		t.Error(err)
	}
}

// TestColumnsLikeMarks checks that a column with a name like that of a mark is one of events.
func TestColumnsLikeMarks(t *testing.T) {
	cells := map[string][]bigtable.ReadItem{}
	for i := range 30 {
		day := time.Date(2026, 1, 1+i/3, 0, 0, 0, 0, time.UTC)
		cells[fmt.Sprintf("host%d#%s", i%3, day.Format(time.DateOnly))] = []bigtable.ReadItem{at(day.Add(time.Hour), fmt.Sprint(i))}
	}
	sample := infer.Sample{Table: "events", Families: map[string]codec.GCRule{"m": {}}, Rows: rows("m", "measurements", cells)}
	p, err := infer.Propose(sample)
	if err != nil || !strings.Contains(string(p.Schema), "  measurements: ") || strings.Contains(string(p.Schema), "rollup") {
		t.Fatalf("%v %+v", err, p)
	}
}

var must = assert.Must
