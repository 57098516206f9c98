package gen_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// resolved returns the layouts of the example schemas.
func resolved(t *testing.T) gen.Result {
	t.Helper()
	result := gen.Resolve(corpus.Inputs(t, "../schemas/*.yaml"))
	must(t, result.Diagnostics.Err())
	return result
}

// serverOf starts a server with the tables of a layout, drafts among them.
func serverOf(t *testing.T, l *layout.Layout) (*dynamic.Schema, *storetest.Bigtable) {
	t.Helper()
	s := dynamic.New(l)
	return s, storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := setup.Setup(ctx, b.Admin, b.Client, s.Tables(), setup.Options{AllowDrafts: true})
		return err
	})
}

// requests returns the parts of the requests since the last call that a plan determines, sorted by their rows, because
// concurrent requests have no order.
func (c *traffic) requests() []*bigtablepb.ReadRowsRequest {
	var out []*bigtablepb.ReadRowsRequest
	for _, r := range c.take() {
		out = append(out, &bigtablepb.ReadRowsRequest{Rows: r.Rows, Filter: r.Filter, RowsLimit: r.RowsLimit, Reversed: r.Reversed})
	}
	slices.SortStableFunc(out, func(a, b *bigtablepb.ReadRowsRequest) int {
		return cmp.Compare(fmt.Sprint(a.Rows), fmt.Sprint(b.Rows))
	})
	return out
}

// send sends planned requests by the client, independently of package store, which has filters of its own.
func send(t *testing.T, table *bigtable.Table, planned []scan.Request) {
	t.Helper()
	for _, r := range planned {
		var options []bigtable.ReadOption
		if r.Filter != nil {
			options = append(options, bigtable.RowFilter(filterOf(r.Filter)))
		}
		if r.Limit > 0 {
			options = append(options, bigtable.LimitRows(int64(r.Limit)))
		}
		if r.Rows[0].Reverse {
			options = append(options, bigtable.ReverseScan())
		}
		must(t, table.ReadRows(t.Context(), rowsOf(r.Rows), func(bigtable.Row) bool { return true }, options...))
	}
}

// rowsOf returns planned rows: ranges, unless they are a list of keys.
func rowsOf(all []codec.Rows) bigtable.RowSet {
	if len(all) == 1 && len(all[0].Keys) > 1 && !all[0].Reverse {
		return bigtable.RowList(all[0].Keys)
	}
	var out bigtable.RowRangeList
	for _, rows := range all {
		if rows.Keys == nil {
			out = append(out, bigtable.NewRange(rows.Start, rows.End))
		}
		for _, key := range rows.Keys {
			out = append(out, bigtable.NewRange(key, key+"\x00"))
		}
	}
	return out
}

// filterOf returns the filter of the client for a planned one.
func filterOf(f scan.Filter) bigtable.Filter {
	switch f := f.(type) {
	case scan.Chain:
		var filters []bigtable.Filter
		for _, inner := range f {
			if cells, ok := inner.(scan.Cells); ok && cells.Windows != nil { // not a chain within a chain
				filters = append(filters, filterOf(scan.Cells{Families: cells.Families}), inWindows(cells.Windows))
			} else {
				filters = append(filters, filterOf(inner))
			}
		}
		return unlessOne(bigtable.ChainFilters, filters)
	case scan.Interleave:
		return unlessOne(bigtable.InterleaveFilters, each(f, filterOf))
	case scan.Keys:
		return bigtable.RowKeyFilter(strings.Join(each(f, codec.KeyPieces.Regexp), "|"))
	case scan.Columns:
		return bigtable.ColumnFilter(strings.Join(each(f, codec.QuoteRegexp), "|"))
	case scan.ColumnRange:
		return unlessOne(bigtable.InterleaveFilters, each(f.Families, func(family string) bigtable.Filter {
			return bigtable.ColumnRangeFilter(family, f.Begin, f.End)
		}))
	case scan.Cells:
		families := bigtable.FamilyFilter(strings.ReplaceAll(strings.Join(f.Families, "|"), ".", `\.`))
		if f.Windows == nil {
			return families
		}
		return bigtable.ChainFilters(families, inWindows(f.Windows))
	case scan.CellsPerColumn:
		return bigtable.LatestNFilter(int(f))
	case scan.CellsPerRow:
		return bigtable.CellsPerRowLimitFilter(int(f))
	case scan.ValueRanges:
		return unlessOne(bigtable.InterleaveFilters, each(f, func(r codec.ValueRange) bigtable.Filter {
			if r.End == "" {
				return bigtable.ValueRangeFilter([]byte(r.Start), nil)
			}
			return bigtable.ValueRangeFilter([]byte(r.Start), []byte(r.End))
		}))
	case scan.Condition:
		return bigtable.ConditionFilter(filterOf(f.If), filterOf(f.Then), filterOf(f.Else))
	case scan.StripValues:
		return bigtable.StripValueFilter()
	}
	return nil
}

// inWindows selects the newest cells of each column, and among those the ones in a time range, by each window.
func inWindows(windows []codec.Window) bigtable.Filter {
	return unlessOne(bigtable.InterleaveFilters, each(windows, func(w codec.Window) bigtable.Filter {
		var parts []bigtable.Filter
		if w.Versions > 0 {
			parts = append(parts, bigtable.LatestNFilter(w.Versions))
		}
		if w.From > 0 || w.To > 0 {
			parts = append(parts, bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(w.From), bigtable.Timestamp(w.To)))
		}
		return unlessOne(bigtable.ChainFilters, parts)
	}))
}

// unlessOne combines filters. Bigtable rejects a combination of a single one.
func unlessOne(combine func(...bigtable.Filter) bigtable.Filter, filters []bigtable.Filter) bigtable.Filter {
	if len(filters) == 1 {
		return filters[0]
	}
	return combine(filters...)
}

// each returns the result of f for each element.
func each[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

// exampleSeries returns the series of the examples of a table.
func exampleSeries(l *layout.Layout, table *layout.Table) (out []any) {
	for i := range l.Series {
		out = append(out, sample.SeriesValue(l, table, i))
	}
	return out
}

// eventOf returns an example as an event.
func eventOf(l *layout.Layout, table *layout.Table, e *sample.Event) dynamic.Event {
	return dynamic.Event{
		Series: exampleSeries(l, table), Time: e.Time, Sequence: e.Sequence, Values: e.Values,
		Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt,
	}
}

// TestExplainedRequests checks that the requests in the plans that explain prints are the requests that readers send.
func TestExplainedRequests(t *testing.T) {
	result := resolved(t)
	doc, err := explain.New(result.Schemas, result.Layouts, explain.Options{})
	must(t, err)
	for _, l := range testlong.Sample(result.Layouts, 4) {
		t.Run(l.Package+"."+l.Name, func(t *testing.T) {
			_, _, now := sample.Day(l.Read)
			s, b := serverOf(t, l)
			sent, planned := &traffic{}, &traffic{}
			o := store.ReaderOptions{Now: func() time.Time { return now }}
			r := s.NewReader(sent.connect(t, b.Addr, storetest.Connect), o)
			table := planned.connect(t, b.Addr, storetest.ConnectPlain).Open(l.Read.ID)
			same := func(what string, requests []scan.Request) {
				t.Helper()
				send(t, table, requests)
				want, got := planned.requests(), sent.requests()
				if slices.EqualFunc(want, got, func(a, b *bigtablepb.ReadRowsRequest) bool { return proto.Equal(a, b) }) {
					return // a diff of large requests takes seconds
				}
				t.Errorf("%s: (-planned +sent)\n%s", what, gocmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateEmpty()))
			}
			for _, q := range append([]layout.Query{l.ReadQuery()}, l.Queries...) {
				if slices.ContainsFunc(q.Inputs, func(in layout.Input) bool { return in.Ends() == 2 }) {
					continue // the examples are single values
				}
				from, to, _ := sample.Day(q.Table)
				of := dynamic.Series(exampleSeries(l, q.Table))
				if q.Name != "Read" {
					of = dynamic.Query(q.Name, valuesFrom(&q, eventOf(l, q.Table, &sample.Events(l, q.Table, 1, 0)[0])))
				}
				for _, span := range spansOf(&q, from, to) {
					_ = failed(r.Read(t.Context(), of, span[0], span[1]))
					same(q.Name, sample.Requests(l, &q, now, span[0], span[1], nil))
				}
				if n := expectedOf(doc, l.Package+"."+l.Name, q.Name); n != len(sample.Requests(l, &q, now, from, to, nil)) {
					t.Errorf("%s: explained as %d requests", q.Name, n)
				}
				if columns := q.Table.Pickable(); q.Name == "Read" && len(columns) > 0 {
					field := store.Field(q.Table.Columns[columns[0]].Qualifier)
					_ = failed(r.Read(t.Context(), of, from, to, store.ReadOptions{Fields: []store.Field{field}}))
					same("fields", sample.Requests(l, &q, now, from, to, columns[:1]))
				}
			}
			if _, err := r.Latest(t.Context(), exampleSeries(l, l.Read)); !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
			search := sample.LatestSearch(l, now)
			var want []scan.Request
			if fmt.Sprint(sample.LatestRequests(l, now)) != fmt.Sprint(search) {
				want = sample.LatestRequests(l, now) // another look comes first
			}
			for i, r := range search {
				if i == 0 || !search[i-1].KeysOnly { // it finds nothing
					want = append(want, r)
				}
			}
			same("Latest", want)
		})
	}
}

// spansOf returns time ranges to read: a day, part of a bucket, part of a millisecond and,
// if rows are in time order, more buckets than fit in a request or are listed.
func spansOf(q *layout.Query, from, to time.Time) [][2]time.Time {
	const second, fine = time.Second, 1500 * time.Microsecond
	spans := [][2]time.Time{
		{from, to}, {to, from},
		{from.Add(time.Hour + second), from.Add(4*time.Hour + second)},
		{from.Add(time.Minute), from.Add(2 * time.Minute)},
		{from.Add(fine), from.Add(time.Hour + fine)}, {from.Add(fine), from.Add(fine + 2*time.Microsecond)},
	}
	if !q.Table.Pattern.Bucketed() || q.Table.Bucket.Sorted() {
		spans = append(spans, [2]time.Time{from.AddDate(-1, 0, 0), to.AddDate(1, 0, 0)}, [2]time.Time{from.AddDate(-10, 0, 0), to})
	}
	return spans
}

// expectedOf returns the number of requests of a read according to a document.
func expectedOf(doc *explain.Explanation, schema, read string) int {
	for _, s := range doc.Sections {
		if s.ID != schema {
			continue
		}
		for _, r := range s.Sections[len(s.Sections)-2].Sections {
			if r.Name != read && !strings.HasPrefix(r.Name, read+", ") {
				continue
			}
			for _, row := range r.Parts[len(r.Parts)-1].Table.Rows {
				if work, ok := row.Data.(estimate.Work); ok {
					return work.Requests
				}
			}
		}
	}
	return -1
}

// rowOf returns a stored row.
func rowOf(table *layout.Table, row bigtable.Row) sample.Row {
	out := sample.Row{Key: row.Key()}
	for i, f := range table.Families {
		for _, item := range row[f.Name] {
			out.Cells = append(out.Cells, sample.Cell{
				Family: i, Qualifier: strings.TrimPrefix(item.Column, f.Name+":"), Micros: int64(item.Timestamp), Value: item.Value,
			})
		}
	}
	return byCell(out)
}

// bare omits everything that is not stored.
func bare(rows []sample.Row) []sample.Row {
	for i := range rows {
		rows[i].Parts = nil
		for j := range rows[i].Cells {
			rows[i].Cells[j].Event, rows[i].Cells[j].Column = 0, 0
		}
		byCell(rows[i])
	}
	return rows
}

// byCell sorts the cells of a row.
func byCell(row sample.Row) sample.Row {
	slices.SortFunc(row.Cells, func(a, b sample.Cell) int {
		return cmp.Or(a.Family-b.Family, cmp.Compare(a.Qualifier, b.Qualifier), cmp.Compare(a.Micros, b.Micros))
	})
	return row
}

// TestExplainedRows compares the example rows of explanations with those that writers store for the same events.
func TestExplainedRows(t *testing.T) {
	for _, l := range testlong.Sample(resolved(t).Layouts, 4) {
		for _, table := range l.AllPeriods() {
			s, b := serverOf(t, l)
			events := sample.Events(l, table, 3, 1)
			if len(events) < 3 {
				t.Fatalf("table %s: %d examples", table.ID, len(events))
			}
			for i := range events {
				w := s.NewWriter(b.Client, store.WriterOptions{Now: func() time.Time { return events[i].WrittenAt }})
				must(t, w.Write(t.Context(), eventOf(l, table, &events[i])))
			}
			var got []sample.Row
			must(t, b.Client.Open(table.ID).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
				got = append(got, rowOf(table, row))
				return true
			}))
			if diff := gocmp.Diff(bare(sample.Rows(l, table, events)), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("table %s: (-explained +stored)\n%s", table.ID, diff)
			}
		}
	}
}

// TestExplainedRun compares the example cells of a rollup with those that are stored once the first week of the example events has
// been summarized.
func TestExplainedRun(t *testing.T) {
	l := gen.Resolve(corpus.Inputs(t, "../schemas/grid_meters.yaml")).Layouts[0]
	s, table := dynamic.New(l), l.Read
	events := sample.Events(l, table, 3, 1)
	// Without rules of garbage collection: the server has its own clock.
	b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: table.ID, ColumnFamilies: map[string]bigtable.Family{"m": {}, "h": {}}})
	})
	now := events[3].WrittenAt
	clock := func() time.Time { return now }
	w := s.NewWriter(b.Client, store.WriterOptions{Now: clock})
	for i := range events {
		must(t, w.Write(t.Context(), eventOf(l, table, &events[i])))
	}
	now = now.Add(time.Hour)
	report, err := s.Rollup(t.Context(), b.Client, store.RollupOptions{Now: clock, Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil || report.Sealed != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, want := range []sample.Cell{sample.Run(l, table, events[:3]), sample.Mark(table, events[3].Time)} {
		row, err := b.Client.Open(table.ID).ReadRow(t.Context(), sample.Rows(l, table, events)[i].Key, bigtable.RowFilter(bigtable.FamilyFilter("h")))
		must(t, err)
		if len(row["h"]) != 1 {
			t.Fatal(row)
		}
		got := row["h"][0]
		name := strings.TrimPrefix(got.Column, "h:")
		random := len(want.Qualifier) - len(rollup.Mark(0)) + 1
		if len(name) != len(want.Qualifier) || name[:random] != want.Qualifier[:random] || int64(got.Timestamp) != want.Micros || !slices.Equal(got.Value, want.Value) {
			t.Errorf("row %d: want %+v, got %+v", i, want, got)
		}
	}
}
