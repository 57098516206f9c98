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
func (r *run) several(from, to time.Time) {
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
	r.listed(from, to)
	r.selection(from, to)
}

// selection compares a query of any form with the model.
func (r *run) selection(from, to time.Time) {
	all := r.schema.Queries()
	q := all[rapid.IntRange(0, len(all)-1).Draw(r.T, "query of any form")]
	v := r.values(q)
	r.selects = q.picks(v)
	defer func() { r.selects = nil }()
	r.many(fmt.Sprintf("%s of %+v", q.Name, v), func(s Series) bool { return q.finds(s, v) }, from, to, func(how Order) iter.Seq2[Event, error] {
		return r.access.Queries[q.Name](r.ctx, v, from, to, how)
	})
}

// single returns the values of a query that takes those of a series.
func single(s Series) Values { return Values{Given: s, Low: []Series{s}} }

// values draws the values of a query. Several may be listed twice, prefixes may begin with
// others, and ranges may overlap.
func (r *run) values(q Query) (v Values) {
	all := append([]Series{{"none", 1}, {"aa", 2}, {"b", 12}, {"b", 100}}, allSeries...)
	one := rapid.Custom(func(t *rapid.T) [2]Series {
		low, high := rapid.SampledFrom(all).Draw(t, "low"), rapid.SampledFrom(all).Draw(t, "high")
		if q.Range != "" {
			low.Host, high.Host = min(low.Host, high.Host), max(low.Host, high.Host)
			low.Shard, high.Shard = min(low.Shard, high.Shard), max(low.Shard, high.Shard)
		}
		if q.Prefix != "" {
			low.Host = low.Host[:rapid.IntRange(0, len(low.Host)).Draw(t, "of the host")]
		}
		return [2]Series{low, high}
	})
	given := one.Draw(r.T, "values")
	v.Given, v.End = given[0], given[1]
	several := [][2]Series{given}
	if q.Many != "" {
		several = rapid.SliceOfN(one, 0, 4).Draw(r.T, "several")
	}
	for _, s := range several {
		if q.Many != "Host" {
			s[0].Host, s[1].Host = v.Given.Host, v.End.Host
		}
		if q.Many != "Shard" {
			s[0].Shard, s[1].Shard = v.Given.Shard, v.End.Shard
		}
		v.Low, v.High = append(v.Low, s[0]), append(v.High, s[1])
	}
	numbers := rapid.SampledFrom([]int64{-1, 0, 1, 2, 3, 7, 8})
	v.From, v.Below = numbers.Draw(r.T, "from"), numbers.Draw(r.T, "below")
	v.From, v.Below = min(v.From, v.Below), max(v.From, v.Below)
	return v
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
func (r *run) listed(from, to time.Time) {
	all := r.schema.Queries()
	q := all[rapid.IntRange(0, len(all)-1).Draw(r.T, "query of series")]
	v := r.values(q)
	r.selects = q.picks(v)
	defer func() { r.selects = nil }()
	got := map[Series]bool{}
	for s, err := range r.access.Series[q.Name](r.ctx, v, from, to) {
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
		if q.finds(s, v) && len(r.selected(s, from, to)) > 0 {
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

// selected returns the events of a series that the model selects.
func (r *run) selected(s Series, from, to time.Time) []Event {
	events := r.table.Read(r.now, s, from, to)
	if r.selects == nil {
		return events
	}
	return slices.DeleteFunc(events, func(e Event) bool { return !r.selects(e) })
}
