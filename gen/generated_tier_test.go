package gen_test

import (
	"errors"
	"iter"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

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
// timestamps if tables have an infrequent access tier, so that they touch only SSD. So do reads of deletions. The world
// compares what they return.
func TestTierFilters(t *testing.T) {
	requests := 0
	for _, l := range testlong.Sample(resolved(t).Layouts, 4) {
		for _, of := range l.AllPeriods() {
			if of.Tier = 0; of.EventTimed() {
				of.Tier = codec.Tier(tierAge)
			}
			if of.EventTimed() == slices.Contains(untimed, of.ID) {
				t.Errorf("table %s: timestamps are event times: %v", of.ID, of.EventTimed())
			}
		}
		if !l.Read.EventTimed() {
			continue
		}
		t.Run(l.Package+"."+l.Name, func(t *testing.T) {
			for _, connect := range testlong.Sample([]dial{storetest.Connect, storetest.ConnectPlain}, 2) {
				c := &tiered{T: t, layout: l}
				_, _, now := sample.Day(l.Read)
				c.oldest = codec.CeilMicros(now.Add(-tierAge))
				c.calls(connect)
				requests += c.requests
			}
		})
	}
	if requests < testlong.Pick(50, 250) {
		t.Errorf("only %d requests", requests)
	}
}

// tiered checks the requests of a schema with a tier.
type tiered struct {
	*testing.T
	traffic
	layout   *layout.Layout
	oldest   int64 // the earliest timestamp on SSD
	requests int
}

// check checks the requests of a call.
func (c *tiered) check(of string, err error) {
	c.Helper()
	must(c, err, of)
	for _, r := range c.take() {
		switch id := path.Base(r.TableName); {
		case slices.Contains(untimed, id): // of deletions in all tables
		case c.layout.State != nil && id == c.layout.State.ID && strings.HasPrefix(of, "Delete"):
			// of the whole row of a series, which has few cells
		default:
			c.requests++
			if since, ok := stampedSince(r.Filter); !ok || since < c.oldest {
				c.Errorf("%s: filter %v", of, r.Filter)
			}
		}
	}
}

// failed reads to the end, and returns the errors.
func failed[E any](seq iter.Seq2[E, error]) (all error) {
	for _, err := range seq {
		all = errors.Join(all, err)
	}
	return all
}

// calls calls all reads and deletions of the schema for events of the last day.
func (c *tiered) calls(connect dial) {
	l, ctx := c.layout, c.Context()
	s, b := serverOf(c.T, l)
	from, to, now := sample.Day(l.Read)
	clock := func() time.Time { return now }
	class := 0 // that lives longest
	for _, f := range l.Read.Families {
		if f.Class > 0 && (class == 0 || f.GC.MaxAge > l.Read.Families[class-1].GC.MaxAge) {
			class = f.Class
		}
	}
	client := c.connect(c.T, b.Addr, connect)
	w, o := s.NewWriter(client, store.WriterOptions{Now: clock}), store.ReaderOptions{Now: clock}
	r := s.NewReader(client, o)
	var events []dynamic.Event
	for _, e := range sample.Events(l, l.Read, 3, 1) {
		if e.Time.Before(to) {
			e.Class = class
			events = append(events, eventOf(l, l.Read, &e))
		}
	}
	must(c, w.WriteAll(ctx, events))
	c.take()
	last, series := events[len(events)-1], events[0].Series
	one, two := dynamic.Series(series), [][]any{series, series}
	c.check("Read", failed(r.Read(ctx, one, from, to)))
	c.check("NewestFirst", failed(r.Read(ctx, one, from, to, store.ReadOptions{NewestFirst: true, Limit: 2})))
	c.check("ReadMany", failed(r.Read(ctx, dynamic.ManySeries(two), from, to)))
	page := &store.Page{Size: 1}
	for n := 0; n < 4 && (n == 0 || page.Next != ""); n++ {
		page.Token = page.Next
		c.check("Page", failed(r.Read(ctx, one, from, to, store.ReadOptions{Page: page})))
	}
	c.check("ReadColumns", r.ReadColumns(ctx, one, from, to, new(dynamic.Columns)))
	_, err := r.Latest(ctx, series)
	c.check("Latest", err)
	c.check("LatestMany", failed(r.LatestMany(ctx, two)))
	for _, of := range l.Tables {
		scanners, err := s.NewScanners(client, of.ID, o)
		must(c, err)
		for _, scanner := range scanners {
			c.check("Scanner "+of.ID, failed(scanner.Rows(ctx, store.KeyRange{}, from, to)))
		}
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		of := dynamic.Query(q.Name, valuesFrom(q, last))
		c.check(q.Name, failed(r.Read(ctx, of, from, to)))
		c.check(q.Name+" newest", failed(r.Read(ctx, of, from, to, store.ReadOptions{NewestFirst: true, LatestOnly: true})))
		if q.Series {
			c.check(q.Name+" series", failed(r.ReadSeries(ctx, of, from, to)))
		}
		if q.Deletes != nil && (q.Part() == nil || q.Part().Ends() == 1) {
			_, err := s.Delete(ctx, w, of, from, from.Add(time.Minute))
			c.check("Delete"+q.Name, err)
		}
	}
	_, err = w.Delete(ctx, events[:1])
	c.check("Delete", err)
	_, err = w.DeleteRange(ctx, store.SeriesOf(&last), from, to)
	c.check("DeleteRange", err)
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
