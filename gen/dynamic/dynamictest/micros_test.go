package dynamictest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// TestMicros reads tables with the granularity MICROS, in which another program has stored several events in
// a millisecond. Whatever the schema, and however events are read, the time range is exact to the microsecond.
func TestMicros(t *testing.T) {
	fewChecks(t, testlong.Pick(3, 8))
	layouts := schemas(t, testlong.Pick(60, 100))
	maps.DeleteFunc(layouts, func(_ string, l *layout.Layout) bool {
		_, ok := dynamictest.NewTraffic(l)
		return !ok || !onlyTimestamps(l)
	})
	tried := 0
	for _, name := range testlong.Sample(slices.Sorted(maps.Keys(layouts)), 20) {
		l := layouts[name]
		traffic, _ := dynamictest.NewTraffic(l)
		tried++
		t.Run(name, func(t *testing.T) {
			w := newMicros(t, l, traffic)
			rapid.Check(t, w.check)
		})
	}
	if tried == 0 {
		t.Error("no schema was tried")
	}
}

// onlyTimestamps reports whether a schema stores the times of events in the timestamps of cells alone.
func onlyTimestamps(l *layout.Layout) bool {
	return len(l.AllPeriods()) == len(l.Tables) && !slices.ContainsFunc(l.Tables, func(t *layout.Table) bool {
		return !t.Pattern.EventTimed() || t.Pattern.NewestOnly() || t.Rollup != nil
	})
}

// micros is a schema whose tables are stored twice: with the prefix ms_, as its writer does, and with us_, as
// another program would, which has stored the same events in a few milliseconds.
type micros struct {
	schema  *dynamic.Schema
	layout  *layout.Layout
	traffic *dynamictest.Traffic
	server  *storetest.Bigtable
	conn    *grpc.ClientConn
	of      map[int64]int64 // timestamps in us_, by those in ms_
}

func newMicros(t *testing.T, l *layout.Layout, traffic *dynamictest.Traffic) *micros {
	w := &micros{schema: dynamic.New(l), layout: l, traffic: traffic}
	w.server = storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	var err error
	if w.conn, err = grpc.NewClient(w.server.Addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.conn.Close() })
	return w
}

// store stores drawn events, and copies them.
func (w *micros) store(ctx context.Context, t *rapid.T) {
	o := setup.Options{TablePrefix: "ms_", AllowDrafts: true, NoHistory: true}
	if _, err := setup.Setup(ctx, w.server.Admin, nil, w.schema.Tables(), o); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return w.traffic.Now }
	writer := w.schema.NewWriter(w.server.Client, store.WriterOptions{TablePrefix: "ms_", Now: now})
	for _, e := range w.traffic.Events(t, 15) {
		if err := writer.Write(ctx, e); err != nil && !errors.Is(err, codec.ErrExpired) {
			t.Fatal(err)
		}
	}
	steps := rapid.SliceOfN(rapid.SampledFrom([]int64{1, 123, 333, 543, 1, 1000}), 64, 64).Draw(t, "microseconds between events")
	w.of = map[int64]int64{}
	for _, table := range w.layout.Tables {
		w.rename(table, w.cells(ctx, t, table), steps)
	}
	for _, table := range w.layout.Tables {
		w.copy(ctx, t, table)
	}
}

// cells returns the rows of a table in ms_.
func (w *micros) cells(ctx context.Context, t *rapid.T, table *layout.Table) (out []bigtable.Row) {
	err := w.server.Client.Open("ms_"+table.ID).ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		out = append(out, row)
		return true
	})
	must(t, err)
	return out
}

// rename chooses the timestamps in us_ of those in ms_: in the same bucket of each table, and in the same order.
func (w *micros) rename(table *layout.Table, rows []bigtable.Row, steps []int64) {
	stamps := map[int64]bool{}
	for _, row := range rows {
		for _, items := range row {
			for _, item := range items {
				stamps[int64(item.Timestamp)] = true
			}
		}
	}
	bucket, at := time.Time{}, int64(0)
	for i, us := range slices.Sorted(maps.Keys(stamps)) {
		start := table.Bucket.Start(codec.FromMicros(us))
		if last := table.Bucket.End(start).UnixMicro() - 64_000; !start.Equal(bucket) || at < us-64_000 {
			bucket, at = start, min(us, last)
		}
		if at += steps[i%len(steps)]; w.of[us] == 0 {
			w.of[us] = at
		}
	}
}

// copy copies the rows of a table.
func (w *micros) copy(ctx context.Context, t *rapid.T, table *layout.Table) {
	admin, data := adminpb.NewBigtableTableAdminClient(w.conn), bigtablepb.NewBigtableClient(w.conn)
	parent := "projects/" + storetest.Project + "/instances/" + storetest.Instance
	live, err := admin.GetTable(ctx, &adminpb.GetTableRequest{Name: parent + "/tables/ms_" + table.ID})
	must(t, err)
	made := &adminpb.Table{ColumnFamilies: live.GetColumnFamilies(), Granularity: adminpb.Table_MICROS}
	if _, err := admin.CreateTable(ctx, &adminpb.CreateTableRequest{Parent: parent, TableId: "us_" + table.ID, Table: made}); err != nil {
		t.Fatal(err)
	}
	for _, row := range w.cells(ctx, t, table) {
		r := &bigtablepb.MutateRowRequest{TableName: parent + "/tables/us_" + table.ID, RowKey: []byte(row.Key())}
		for family, items := range row {
			for _, item := range items {
				r.Mutations = append(r.Mutations, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
					FamilyName: family, ColumnQualifier: []byte(strings.TrimPrefix(item.Column, family+":")),
					TimestampMicros: w.of[int64(item.Timestamp)], Value: item.Value,
				}}})
			}
		}
		if _, err := data.MutateRow(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
}

// drop removes all tables.
func (w *micros) drop(ctx context.Context) {
	for _, table := range w.layout.Tables {
		_, _ = w.server.Admin.DeleteTable(ctx, "ms_"+table.ID), w.server.Admin.DeleteTable(ctx, "us_"+table.ID)
	}
}

func (w *micros) check(t *rapid.T) {
	ctx := context.Background()
	defer w.drop(ctx)
	w.store(ctx, t)
	c := microReads{T: t, micros: w, ctx: ctx, client: w.server.Client}
	if rapid.Bool().Draw(t, "plain client") {
		plain, err := storetest.ConnectPlain(ctx, w.server.Addr)
		must(t, err)
		defer func() { _ = plain.Close() }()
		c.client = plain
	}
	c.reader = w.schema.NewReader(c.client, store.ReaderOptions{TablePrefix: "us_", Now: func() time.Time { return w.traffic.Now }})
	for range 6 {
		c.read()
	}
	c.newest()
	c.scan()
	c.delete()
}

// microReads reads the tables in us_.
type microReads struct {
	*rapid.T
	*micros
	ctx    context.Context
	client *bigtable.Client
	reader *dynamic.Reader
}

// always returns a time range with all events, which cuts no millisecond.
func (c *microReads) always() (from, to time.Time) {
	edges := c.traffic.Edges()
	return codec.Truncate(edges[0], time.Second).AddDate(-1, -1, 0), codec.Truncate(edges[len(edges)-1], time.Second).AddDate(1, 1, 0)
}

// all returns the events of a read, and its first error.
func all[T any](events iter.Seq2[T, error]) (out []T, failed error) {
	for e, err := range events {
		if err != nil && failed == nil {
			failed = err
		}
		if err == nil {
			out = append(out, e)
		}
	}
	return out, failed
}

// id identifies an event.
func id(e dynamic.Event) string {
	return fmt.Sprintf("%v %s %d %v", e.Series, e.Time.Format(time.RFC3339Nano), e.Class, e.Values)
}

// ids identifies events.
func ids(events []dynamic.Event) string {
	out := ""
	for _, e := range events {
		out += id(e) + "\n"
	}
	return out
}

// inOrder returns events in an order that does not depend on how they were read.
func inOrder(events []dynamic.Event) []dynamic.Event {
	return slices.SortedFunc(slices.Values(events), func(a, b dynamic.Event) int { return strings.Compare(id(a), id(b)) })
}

// edge draws an end of a time range.
func (c *microReads) edge(name string) time.Time {
	at := rapid.SampledFrom(c.traffic.Edges()).Draw(c.T, name)
	if us, known := c.of[codec.Micros(at)]; known {
		at = codec.FromMicros(us)
	}
	if len(c.of) > 0 && rapid.IntRange(0, 3).Draw(c.T, name+" at an event") > 0 {
		at = codec.FromMicros(rapid.SampledFrom(slices.Sorted(maps.Values(c.of))).Draw(c.T, name+" event"))
	}
	return at.Add(rapid.SampledFrom([]time.Duration{0, 0, 1, -1, time.Microsecond, -time.Microsecond, 100 * time.Microsecond, -time.Millisecond}).Draw(c.T, name+" off"))
}

// selection draws what to read.
func (c *microReads) selection() dynamic.Selection {
	all := c.traffic.Series()
	series := rapid.SampledFrom(all).Draw(c.T, "series")
	switch n := rapid.IntRange(-2, len(c.layout.Queries)-1).Draw(c.T, "selection"); {
	case n == -2:
		return dynamic.ManySeries(all)
	case n == -1 || len(c.layout.Queries[n].Inputs) > len(c.layout.Queries[n].By):
		return dynamic.Series(series)
	default:
		q := &c.layout.Queries[n]
		values := dynamic.Values{}
		for _, in := range q.Inputs {
			v := series[in.Index]
			if in.Many {
				v = []any{v}
			}
			values = append(values, v)
		}
		return dynamic.Query(q.Name, values)
	}
}

// read compares reads of a drawn range with a read of everything.
func (c *microReads) read() {
	of, from, to := c.selection(), c.edge("from"), c.edge("to")
	if to.Before(from) {
		from, to = to, from
	}
	o := store.ReadOptions{
		NewestFirst: rapid.Bool().Draw(c.T, "newest first"), TimeOrder: rapid.IntRange(0, 4).Draw(c.T, "time order") == 0,
		LatestOnly: rapid.IntRange(0, 3).Draw(c.T, "latest only") == 0,
	}
	whole := o
	whole.LatestOnly = false
	first, last := c.always()
	truth, err := all(c.reader.Read(c.ctx, of, first, last, whole))
	if err != nil {
		return // the schema cannot order events
	}
	want := slices.DeleteFunc(truth, func(e dynamic.Event) bool { return e.Time.Before(from) || !e.Time.Before(to) })
	where := fmt.Sprintf("%s to %s, %+v", from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano), o)
	same := func(name string, want, got []dynamic.Event, err error) {
		if ids(want) != ids(got) || err != nil {
			c.Fatalf("%s, %s: %v, got\n%swant\n%s", name, where, err, ids(got), ids(want))
		}
	}
	c.series(where, of, from, to, want)
	c.windows(where, of, from, to, len(want))
	if o.LatestOnly {
		newest := map[string]dynamic.Event{}
		for _, e := range want {
			if s := fmt.Sprint(e.Series); newest[s].Time.Before(e.Time) || newest[s].Time.IsZero() {
				newest[s] = e
			}
		}
		got, err := all(c.reader.Read(c.ctx, of, from, to, o))
		if err != nil || len(got) != len(newest) {
			c.Fatalf("LatestOnly, %s: %v, got\n%swant %v", where, err, ids(got), newest)
		}
		for _, e := range got {
			if !newest[fmt.Sprint(e.Series)].Time.Equal(e.Time) {
				c.Fatalf("LatestOnly, %s: got %s, want %v", where, id(e), newest)
			}
		}
		return
	}
	got, err := all(c.reader.Read(c.ctx, of, from, to, o))
	same("Read", inOrder(want), inOrder(got), err)
	want = got // the order of the series in a bucket depends on the range
	var columns dynamic.Columns
	err = c.reader.ReadColumns(c.ctx, of, from, to, &columns, o)
	same("ReadColumns", want, columns.Events(), err)
	var paged []dynamic.Event
	page := store.Page{Size: rapid.IntRange(1, 3).Draw(c.T, "page")}
	for n := 0; n <= len(want)+1; n++ {
		o.Page = &page
		some, err := all(c.reader.Read(c.ctx, of, from, to, o))
		if errors.Is(err, store.ErrPage) {
			paged = want
			break
		}
		if paged = append(paged, some...); err != nil || page.Next == "" {
			break
		}
		page.Token = page.Next
	}
	same("pages", want, paged, nil)
	o.Page, o.Limit = nil, rapid.IntRange(1, 3).Draw(c.T, "limit")
	got, err = all(c.reader.Read(c.ctx, of, from, to, o))
	same("Limit", want[:min(o.Limit, len(want))], got, err)
}

// series compares the series of events.
func (c *microReads) series(where string, of dynamic.Selection, from, to time.Time, events []dynamic.Event) {
	want := map[string]bool{}
	for _, e := range events {
		want[fmt.Sprint(e.Series)] = true
	}
	got, err := all(c.reader.ReadSeries(c.ctx, of, from, to))
	for _, s := range got {
		if !want[fmt.Sprint(s)] {
			c.Fatalf("ReadSeries, %s: %v, got %v, want %v", where, err, got, want)
		}
	}
	if err != nil || len(got) != len(want) {
		c.Fatalf("ReadSeries, %s: %v, got %v, want %v", where, err, got, want)
	}
}

// windows compares the number of events in windows.
func (c *microReads) windows(where string, of dynamic.Selection, from, to time.Time, want int) {
	n := 0
	o := store.WindowOptions{NewestFirst: rapid.Bool().Draw(c.T, "newest window first"), Fields: []store.Field{}}
	width := rapid.SampledFrom([]window.Width{window.Whole(), window.Every(time.Second)}).Draw(c.T, "width")
	for w, err := range c.reader.Windows(c.ctx, of, from, to, width, o) {
		if err != nil {
			c.Fatalf("Windows, %s: %v", where, err)
		}
		n += int(w.Events)
	}
	if n != want && c.layout.Tables[0].Pattern != codec.BucketNewColumns { // whose events depend on the fields
		c.Fatalf("Windows, %s: %d events, want %d", where, n, want)
	}
}

// truth returns the events of all series, but those of a range if the ends are given.
func (c *microReads) truth(within ...time.Time) []dynamic.Event {
	from, to := c.always()
	out, err := all(c.reader.Read(c.ctx, dynamic.ManySeries(c.traffic.Series()), from, to))
	if err != nil {
		c.Fatal(err)
	}
	return slices.DeleteFunc(out, func(e dynamic.Event) bool {
		return within != nil && (e.Time.Before(within[0]) || !e.Time.Before(within[1]))
	})
}

// newest compares the newest events of all series.
func (c *microReads) newest() {
	want := map[string]time.Time{}
	for _, e := range c.truth() {
		if s := fmt.Sprint(e.Series); want[s].Before(e.Time) {
			want[s] = e.Time
		}
	}
	got := map[string]time.Time{}
	for _, series := range c.traffic.Series() {
		e, err := c.reader.Latest(c.ctx, series)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if got[fmt.Sprint(e.Series)] = e.Time; err != nil {
			c.Fatal(err)
		}
	}
	many, err := all(c.reader.LatestMany(c.ctx, c.traffic.Series()))
	if err != nil {
		c.Fatal(err)
	}
	ofMany := map[string]time.Time{}
	for _, e := range many {
		ofMany[fmt.Sprint(e.Series)] = e.Time
	}
	if !maps.EqualFunc(want, got, time.Time.Equal) || !maps.EqualFunc(want, ofMany, time.Time.Equal) {
		c.Fatalf("Latest: %v, LatestMany: %v, want %v", got, ofMany, want)
	}
}

// scan compares scans of all series in a range, of each table with all events.
func (c *microReads) scan() {
	from, to := c.edge("scanned from"), c.edge("scanned to")
	if to.Before(from) {
		from, to = to, from
	}
	want := strings.Split(ids(c.truth(from, to)), "\n")
	slices.Sort(want)
	scanners, err := c.schema.NewScanners(c.client, c.layout.Read.ID, store.ReaderOptions{TablePrefix: "us_", Now: func() time.Time { return c.traffic.Now }})
	if err != nil {
		c.Fatal(err)
	}
	var events []dynamic.Event
	for row, err := range scanners[0].Rows(c.ctx, store.KeyRange{}, from, to) {
		if err != nil {
			c.Fatal(err)
		}
		for _, e := range row.Events {
			e.Series, e.Values = slices.Clone(e.Series), slices.Clone(e.Values)
			events = append(events, e)
		}
	}
	got := strings.Split(ids(events), "\n")
	if slices.Sort(got); !slices.Equal(want, got) {
		c.Fatalf("scan from %v to %v: got\n%s\nwant\n%s", from, to, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// delete deletes events of a series: exactly those of the range, or some of them with an error that says so.
func (c *microReads) delete() {
	series := rapid.SampledFrom(c.traffic.Series()).Draw(c.T, "deleted series")
	of, from, to := dynamic.Series(series), c.edge("first"), c.edge("last")
	if to.Before(from) {
		from, to = to, from
	}
	if rapid.Bool().Draw(c.T, "whole milliseconds") {
		from, to = codec.Truncate(from, time.Millisecond), codec.Ceil(to, time.Millisecond)
	}
	before := c.truth()
	writer := c.schema.NewWriter(c.client, store.WriterOptions{TablePrefix: "us_", Now: func() time.Time { return c.traffic.Now }})
	deleted := func(e dynamic.Event) bool {
		return fmt.Sprint(e.Series) == fmt.Sprint(series) && !e.Time.Before(from) && e.Time.Before(to)
	}
	var err error
	if len(before) > 0 && rapid.Bool().Draw(c.T, "one event") {
		event := rapid.SampledFrom(before).Draw(c.T, "event")
		deleted = func(e dynamic.Event) bool {
			return fmt.Sprint(e.Series) == fmt.Sprint(event.Series) && e.Time.Equal(event.Time)
		}
		from, to = event.Time, event.Time
		_, err = writer.Delete(c.ctx, []dynamic.Event{event})
	} else {
		_, err = c.schema.Delete(c.ctx, writer, of, from, to)
	}
	var refused *store.MicrosError
	if cut := !codec.Truncate(from, time.Millisecond).Equal(from) || !codec.Truncate(to, time.Millisecond).Equal(to) || from.Equal(to); err != nil && (!errors.As(err, &refused) || !cut) {
		c.Fatalf("deleting from %v to %v: %v", from, to, err)
	}
	left := ids(c.truth())
	for _, e := range before {
		switch stays := strings.Contains(left, id(e)+"\n"); {
		case !deleted(e) && !stays:
			c.Fatalf("deleting from %v to %v has deleted %s, too: %v", from, to, id(e), err)
		case deleted(e) && stays && err == nil:
			c.Fatalf("deleting from %v to %v has left %s", from, to, id(e))
		}
	}
}
