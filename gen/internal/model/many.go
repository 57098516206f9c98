package model

import (
	gocmp "cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/store"
)

// several compares reads of several series, and of several values of a query, with the model.
// Series may be listed twice, and may have no events.
func (r *run) several(given Series, from, to time.Time) {
	some := rapid.SliceOfN(rapid.SampledFrom(append([]Series{{"none", 1}, {"b", 12}}, allSeries...)), 0, 5).Draw(r.T, "several")
	listed := func(s Series) bool { return slices.Contains(some, s) }
	var bases []Event
	for _, s := range some {
		bases = append(bases, Event{Host: s.Host, Shard: s.Shard})
	}
	r.many("ReadMany", listed, from, to, func(how Order) iter.Seq2[Event, error] {
		return r.access.ReadMany(r.ctx, bases, from, to, how)
	})
	r.latestOfEach(some, bases)
	r.listed(given, from, to)
	r.parts(from, to)
	r.where(given, from, to)
	all := r.schema.ManyQueries()
	if len(all) == 0 {
		return
	}
	q := all[rapid.IntRange(0, len(all)-1).Draw(r.T, "query of several values")]
	wanted := func(s Series) bool {
		return slices.ContainsFunc(some, func(one Series) bool {
			of := given
			if q.Many == "Host" {
				of.Host = one.Host
			} else {
				of.Shard = one.Shard
			}
			return q.finds(s, of)
		})
	}
	r.many(q.Name, wanted, from, to, func(how Order) iter.Seq2[Event, error] {
		return r.access.Many[q.Name](r.ctx, given, some, from, to, how)
	})
}

// many compares a read of several values, in all orders, with the model.
func (r *run) many(name string, wanted func(Series) bool, from, to time.Time, ask func(how Order) iter.Seq2[Event, error]) {
	all := r.collected(ask(Order{}))
	r.found(name, wanted, all, from, to)
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	r.same(name+", the newest first", reversed, r.collected(ask(Order{NewestFirst: true})))
	if limit := rapid.IntRange(1, 4).Draw(r.T, "limit"); len(all) > 0 {
		r.same(name+" with a limit", all[:min(limit, len(all))], r.collected(ask(Order{Limit: limit})))
	}
	r.manyInOrder(name, all, ask)
	r.pages(name, all, ask)
	newest := r.collected(ask(Order{LatestOnly: true}))
	var want []Event
	for _, s := range allSeries {
		if events := r.selected(s, from, to); wanted(s) && len(events) > 0 {
			want = append(want, events[len(events)-1])
		}
	}
	bySeries := func(a, b Event) int { return gocmp.Or(gocmp.Compare(a.Host, b.Host), gocmp.Compare(a.Shard, b.Shard)) }
	slices.SortFunc(newest, bySeries)
	slices.SortFunc(want, bySeries)
	r.same(name+", the newest of each", want, newest)
	if _, err := r.driver.Traffic.Take(); err != nil {
		r.Fatalf("%s: a stream failed: %v", name, err)
	}
}

// pages compares the pages of a read with all of its events. A page may end early.
func (r *run) pages(name string, all []Event, ask func(how Order) iter.Seq2[Event, error]) {
	how := Order{NewestFirst: rapid.Bool().Draw(r.T, "newest first")}
	want := slices.Clone(all)
	if how.NewestFirst {
		slices.Reverse(want)
	}
	var got []Event
	for token, more := "", true; more; {
		size := rapid.IntRange(1, 4).Draw(r.T, "size")
		stop := rapid.IntRange(1, 6).Draw(r.T, "stop")
		page := &store.Page{Size: size, Token: token}
		how.Page = page
		n := 0
		for e, err := range ask(how) {
			if err != nil {
				r.Fatalf("a page of %s: %v", name, err)
			}
			got = append(got, e)
			if n++; n == stop {
				break
			}
		}
		if len(got) > len(want) || page.Next != "" && n < min(size, stop) {
			r.Fatalf("pages of %s: %+v, want %+v\nschema\n%s", name, got, want, r.schema.YAML())
		}
		token, more = page.Next, page.Next != ""
	}
	r.same(fmt.Sprintf("pages of %s, newest first %v", name, how.NewestFirst), want, got)
	if _, err := r.driver.Traffic.Take(); err != nil {
		r.Fatalf("pages of %s: a stream failed: %v", name, err)
	}
}

// manyInOrder compares a read in order of time with all events, unless it is impossible.
func (r *run) manyInOrder(name string, all []Event, ask func(how Order) iter.Seq2[Event, error]) {
	var got []Event
	for e, err := range ask(Order{TimeOrder: true}) {
		if errors.Is(err, store.ErrOrder) && got == nil {
			return
		}
		if err != nil {
			r.Fatalf("%s in order of time: %v", name, err)
		}
		got = append(got, e)
	}
	byTime := func(a, b Event) int { return gocmp.Or(a.Time.Compare(b.Time), gocmp.Compare(a.Sequence, b.Sequence)) }
	if !slices.IsSortedFunc(got, byTime) {
		r.Fatalf("%s in order of time: %+v\nschema\n%s", name, got, r.schema.YAML())
	}
	whole := func(a, b Event) int {
		return gocmp.Or(byTime(a, b), gocmp.Compare(a.Host, b.Host), gocmp.Compare(a.Shard, b.Shard), a.Class-b.Class)
	}
	want := slices.SortedStableFunc(slices.Values(all), whole)
	slices.SortStableFunc(got, whole)
	r.same(name+" in order of time", want, got)
}

// latestOfEach compares the newest events of several series, in their order, with the model.
func (r *run) latestOfEach(some []Series, bases []Event) {
	var want []Event
	for i, s := range some {
		events := r.table.Read(r.now, s, time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
		if !slices.Contains(some[:i], s) && len(events) > 0 {
			want = append(want, events[len(events)-1])
		}
	}
	got := r.collected(r.access.LatestMany(r.ctx, bases))
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("the newest of %v at %v (-want +got)\n%s\nschema\n%s", some, r.now, diff, r.schema.YAML())
	}
	if _, err := r.driver.Traffic.Take(); err != nil {
		r.Fatalf("the newest of several: a stream failed: %v", err)
	}
}

// listed compares the series that a query lists with the model. No row is received for a series
// without events.
func (r *run) listed(given Series, from, to time.Time) {
	all := r.schema.Queries()
	q := all[rapid.IntRange(0, len(all)-1).Draw(r.T, "query of series")]
	got := map[Series]bool{}
	for s, err := range r.access.Series[q.Name](r.ctx, given, from, to) {
		if err != nil {
			r.Fatalf("the series of %s: %v", q.Name, err)
		}
		if got[s] {
			r.Fatalf("%s listed series %v twice", q.Name, s)
		}
		got[s] = true
	}
	want := map[Series]bool{}
	for _, s := range allSeries {
		if q.finds(s, given) && len(r.table.Read(r.now, s, from, to)) > 0 {
			want[s] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("the series of %s from %v to %v at %v (-want +got)\n%s\nschema\n%s", q.Name, from, to, r.now, diff, r.schema.YAML())
	}
	if _, err := r.driver.Traffic.Take(); err != nil {
		r.Fatalf("the series of %s: a stream failed: %v", q.Name, err)
	}
}

// parts compares a query of a prefix or a range with the model.
func (r *run) parts(from, to time.Time) {
	all := r.schema.PartQueries()
	if len(all) == 0 {
		return
	}
	q := all[rapid.IntRange(0, len(all)-1).Draw(r.T, "query of a part")]
	ends := append([]Series{{"aa", 2}, {"b", 100}}, allSeries...)
	low, high := rapid.SampledFrom(ends).Draw(r.T, "low"), rapid.SampledFrom(ends).Draw(r.T, "high")
	if low.Host > high.Host {
		low.Host, high.Host = high.Host, low.Host
	}
	if low.Shard > high.Shard {
		low.Shard, high.Shard = high.Shard, low.Shard
	}
	if q.Prefix != "" && rapid.Bool().Draw(r.T, "all hosts") {
		low.Host = ""
	}
	wanted := func(s Series) bool { return q.holds(s, low, high) }
	r.many(fmt.Sprintf("%s from %v to %v", q.Name, low, high), wanted, from, to, func(how Order) iter.Seq2[Event, error] {
		return r.access.Parts[q.Name](r.ctx, low, high, from, to, how)
	})
}

// selected returns the events of a series that the model selects.
func (r *run) selected(s Series, from, to time.Time) []Event {
	events := r.table.Read(r.now, s, from, to)
	if r.selects == nil {
		return events
	}
	return slices.DeleteFunc(events, func(e Event) bool { return !r.selects(e) })
}

// where compares a query with a condition with the model: it returns the events that have the
// field, or its default, with a value that is at least low and less than high or, for a query of
// a single value, equal to low.
func (r *run) where(given Series, from, to time.Time) {
	all := r.schema.WhereQueries()
	if len(all) == 0 {
		return
	}
	q := all[rapid.IntRange(0, len(all)-1).Draw(r.T, "query with a condition")]
	values := rapid.SampledFrom([]int64{-1, 0, 1, 2, 3, 7, 8})
	low, high := values.Draw(r.T, "low"), values.Draw(r.T, "high")
	if low > high {
		low, high = high, low
	}
	r.selects = func(e Event) bool {
		v := e.Values[0]
		return e.Has[0] && low <= v && (v < high || q.Equal && v == low) && (!q.Equal || v == low)
	}
	defer func() { r.selects = nil }()
	r.many(fmt.Sprintf("%s from %d to %d", q.Name, low, high), func(s Series) bool { return q.finds(s, given) }, from, to, func(how Order) iter.Seq2[Event, error] {
		return r.access.Where[q.Name](r.ctx, given, low, high, from, to, how)
	})
}
