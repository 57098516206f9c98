package gen_test

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// tierAge is the age from which cells are in the infrequent access tier in these tests.
const tierAge = codec.MinTier

// untimed are the tables whose cell timestamps are not event times, so that no read of them can
// filter by these: those of expiries cannot have a tier.
var untimed = []string{
	"activity", "alarms_by_kind", "readings", "samples", "tsdb", "usage_default", "usage_one_second",
}

// TestTierFilters checks that all reads of recent events, of every example schema, filter by
// timestamps if tables have an infrequent access tier, so that they touch only SSD, and that they
// return what they return without one. So do reads of deletions.
func TestTierFilters(t *testing.T) {
	requests, filtered := 0, 0
	for _, l := range testlong.Sample(resolved(t).Layouts, 4) {
		for _, of := range l.AllPeriods() {
			if of.EventTimed() == slices.Contains(untimed, of.ID) {
				t.Errorf("table %s: timestamps are event times: %v", of.ID, of.EventTimed())
			}
		}
		if !l.Read.EventTimed() {
			continue
		}
		t.Run(l.Package+"."+l.Name, func(t *testing.T) {
			for i, connect := range testlong.Sample([]dial{storetest.Connect, storetest.ConnectPlain}, 2) {
				with := runTiered(t, l, connect, true)
				requests += len(with.sent)
				for _, r := range with.sent {
					if since, ok := stampedSince(r.request.Filter); ok && since >= with.oldest {
						filtered++
					} else {
						t.Errorf("path %d, %s: filter %v", i, r.of, r.request.Filter)
					}
				}
				if without := runTiered(t, l, connect, false); !reflect.DeepEqual(with.found, without.found) {
					t.Errorf("path %d (-without +with):\n%s", i, gocmp.Diff(without.found, with.found))
				}
			}
		})
	}
	t.Logf("%d of %d requests filter by recent timestamps", filtered, requests)
	if requests < testlong.Pick(50, 500) {
		t.Errorf("only %d requests", requests)
	}
}

// tieredRun is what the reads of a schema have sent and found.
type tieredRun struct {
	sent []struct {
		of      string
		request *bigtablepb.ReadRowsRequest
	}
	found  []string
	oldest int64 // the earliest timestamp on SSD
}

// runTiered calls all reads and deletions of a schema for events of the last day.
func runTiered(t *testing.T, l *layout.Layout, connect dial, tier bool) *tieredRun {
	t.Helper()
	for _, of := range l.AllPeriods() {
		if of.Tier = 0; tier && of.EventTimed() {
			of.Tier = codec.Tier(tierAge)
		}
	}
	s, b := serverOf(t, l)
	from, to, now := sample.Day(l.Read)
	clock := func() time.Time { return now }
	class := 0 // that lives longest
	for _, f := range l.Read.Families {
		if f.Class > 0 && (class == 0 || f.GC.MaxAge > l.Read.Families[class-1].GC.MaxAge) {
			class = f.Class
		}
	}
	c := &traffic{}
	client := c.connect(t, b.Addr, connect)
	w := s.NewWriter(client, store.WriterOptions{Now: clock})
	r := s.NewReader(client, store.ReaderOptions{Now: clock})
	series := exampleSeries(l, l.Read)
	var events []dynamic.Event
	for _, e := range sample.Events(l, l.Read, 3, 1) {
		if e.Time.Before(to) {
			e.Class = class
			events = append(events, eventOf(l, l.Read, &e))
		}
	}
	must(t, w.WriteAll(t.Context(), events))
	c.take()

	run := &tieredRun{oldest: codec.CeilMicros(now.Add(-tierAge))}
	note := func(of string, found ...any) {
		sent := c.take()
		for _, request := range sent {
			if slices.Contains(untimed, path.Base(request.TableName)) {
				continue // of deletions in all tables
			}
			if l.State != nil && path.Base(request.TableName) == l.State.ID && strings.HasPrefix(of, "Delete") {
				continue // of the whole row of a series, which has few cells
			}
			run.sent = append(run.sent, struct {
				of      string
				request *bigtablepb.ReadRowsRequest
			}{of, request})
		}
		run.found = append(run.found, of+": "+fmt.Sprint(found...))
	}
	list := func(of string, events func(yield func(dynamic.Event, error) bool)) {
		var all []any
		for e, err := range events {
			must(t, err)
			all = append(all, e)
		}
		note(of, all...)
	}
	ctx := t.Context()
	list("Read", r.Read(ctx, dynamic.Series(series), from, to))
	list("NewestFirst", r.Read(ctx, dynamic.Series(series), from, to, store.ReadOptions{NewestFirst: true, Limit: 2}))
	list("ReadMany", r.Read(ctx, dynamic.ManySeries([][]any{series, series}), from, to))
	page := &store.Page{Size: 1}
	for range 4 {
		page.Token = page.Next
		list("Page", r.Read(ctx, dynamic.Series(series), from, to, store.ReadOptions{Page: page}))
		if page.Next == "" {
			break
		}
	}
	var columns dynamic.Columns
	must(t, r.ReadColumns(ctx, dynamic.Series(series), from, to, &columns))
	note("ReadColumns", columns)
	newest, err := r.Latest(ctx, series)
	must(t, err)
	note("Latest", newest)
	list("LatestMany", r.LatestMany(ctx, [][]any{series, series}))
	last := events[len(events)-1]
	for i := range l.Queries {
		q := &l.Queries[i]
		v := valuesFrom(q, last)
		list(q.Name, r.Read(ctx, dynamic.Query(q.Name, v), from, to))
		list(q.Name+" newest", r.Read(ctx, dynamic.Query(q.Name, v), from, to, store.ReadOptions{NewestFirst: true, LatestOnly: true}))
		if q.Series {
			var all []any
			for one, err := range r.ReadSeries(ctx, dynamic.Query(q.Name, v), from, to) {
				must(t, err)
				all = append(all, one)
			}
			note(q.Name+" series", all...)
		}
	}
	for _, of := range l.Tables {
		scanners, err := s.NewScanners(client, of.ID, store.ReaderOptions{Now: clock})
		must(t, err)
		for _, scanner := range scanners {
			var all []any
			for row, err := range scanner.Rows(ctx, store.KeyRange{}, from, to) {
				must(t, err)
				all = append(all, row.Events)
			}
			note("Scanner "+of.ID, all...)
		}
	}
	for i := range l.Queries {
		if q := &l.Queries[i]; q.Deletes != nil && (q.Part() == nil || q.Part().Ends() == 1) {
			d, err := s.Delete(ctx, w, dynamic.Query(q.Name, valuesFrom(q, last)), from, from.Add(time.Minute))
			must(t, err)
			note("Delete"+q.Name, d.Tables)
		}
	}
	d, err := w.Delete(ctx, events[:1])
	must(t, err)
	note("Delete", d.Tables)
	d, err = w.DeleteRange(ctx, store.SeriesOf(&last), from, to)
	must(t, err)
	note("DeleteRange", d.Tables)
	return run
}

// valuesFrom returns what callers give a query to select an event; the ends of ranges are equal.
func valuesFrom(q *layout.Query, e dynamic.Event) (out dynamic.Values) {
	for _, in := range q.Inputs {
		from := e.Series
		if in.Where {
			from = e.Values
		}
		given := from[in.Index]
		if in.Ends() == 2 {
			given = []any{given, given}
		}
		if in.Many {
			given = []any{given}
		}
		out = append(out, given)
	}
	return out
}

// stampedSince returns the earliest timestamp of the cells that a filter inspects; false if it
// inspects cells of any age. It is independent of package scan.
func stampedSince(f *bigtablepb.RowFilter) (since int64, bounded bool) {
	all := func(filters ...*bigtablepb.RowFilter) (int64, bool) {
		least := int64(-1)
		for _, f := range filters {
			if f == nil {
				continue
			}
			of, ok := stampedSince(f)
			if !ok {
				return 0, false
			}
			if least < 0 || of < least {
				least = of
			}
		}
		return least, true
	}
	switch f := f.GetFilter().(type) {
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		since = f.TimestampRangeFilter.GetStartTimestampMicros()
		return since, since > 0
	case *bigtablepb.RowFilter_Chain_:
		for _, f := range f.Chain.GetFilters() {
			if of, ok := stampedSince(f); ok {
				since, bounded = max(since, of), true
			}
		}
		return since, bounded
	case *bigtablepb.RowFilter_Interleave_:
		return all(f.Interleave.GetFilters()...)
	case *bigtablepb.RowFilter_Condition_:
		return all(f.Condition.GetPredicateFilter(), f.Condition.GetTrueFilter(), f.Condition.GetFalseFilter())
	}
	return 0, false
}
