package model

import (
	gocmp "cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/store"
)

// CheckPages is one case of a test of pages: many events at few times are read page by page, and in
// between events are written, rewritten, with another class too, and deleted. It returns the number
// of pages.
func CheckPages[E any](t *rapid.T, ctx context.Context, s *Schema, d *Driver[E]) int {
	r := begin(t, ctx, s, converted(s, d))
	defer d.Drop(r.prefix)
	pages := 0
	for range rapid.IntRange(1, 5).Draw(t, "reads") {
		r.dense()
		pages += r.pagesAmong()
	}
	return pages
}

// dense writes events of all series at few times.
func (r *run) dense() {
	var events []Event
	for range rapid.IntRange(1, 14).Draw(r.T, "dense events") {
		e := r.atOneOfFew()
		events, r.times = append(events, e), append(r.times, e.Time)
	}
	r.writeAll(events)
}

// atOneOfFew draws an event at one of few times, some of them in neighboring buckets and layouts.
func (r *run) atOneOfFew() Event {
	series := rapid.SampledFrom(allSeries).Draw(r.T, "series")
	e := Event{Host: series.Host, Shard: series.Shard, Time: r.now}
	if r.schema.Sequence {
		e.Sequence = uint32(rapid.IntRange(0, 2).Draw(r.T, "sequence"))
	}
	p, b := r.schema.Precision, max(r.schema.Bucket, time.Second)
	e.Time = e.Time.Add(rapid.SampledFrom([]time.Duration{0, 0, -p, p, b, -b, 3 * b}).Draw(r.T, "step"))
	if len(r.schema.Earlier) > 0 && rapid.Bool().Draw(r.T, "at a layout") {
		since := rapid.SampledFrom(r.schema.layouts()[:len(r.schema.Earlier)]).Draw(r.T, "layout").Since
		e.Time = since.Add(rapid.SampledFrom([]time.Duration{0, -p, p}).Draw(r.T, "from since"))
	}
	return r.filled(e)
}

// paged is a read whose pages are compared with the model.
type paged struct {
	name   string
	wanted func(Series) bool
	ask    func(how Order) iter.Seq2[Event, error]
	one    bool               // it reads one series
	picks  func(e Event) bool // the events that it selects; nil for all
}

// drawPaged draws a read.
func (r *run) drawPaged(from, to time.Time) paged {
	given := rapid.SampledFrom(allSeries).Draw(r.T, "series")
	some := rapid.SliceOfN(rapid.SampledFrom(append([]Series{{"none", 1}}, allSeries...)), 1, 5).Draw(r.T, "several")
	all := []paged{{name: "Read", wanted: only(given), one: true, ask: func(how Order) iter.Seq2[Event, error] {
		return r.access.Ordered(r.ctx, Event{Host: given.Host, Shard: given.Shard}, from, to, how)
	}}, {name: "ReadMany", wanted: func(s Series) bool { return slices.Contains(some, s) }, ask: func(how Order) iter.Seq2[Event, error] {
		var bases []Event
		for _, s := range some {
			bases = append(bases, Event{Host: s.Host, Shard: s.Shard})
		}
		return r.access.ReadMany(r.ctx, bases, from, to, how)
	}}}
	queries := r.schema.Queries()
	q := queries[rapid.IntRange(0, len(queries)-1).Draw(r.T, "query")]
	v := r.values(q)
	one := len(q.By) == 2 && q.Many+q.Prefix+q.Range == ""
	all = append(all, paged{name: q.Name, wanted: func(s Series) bool { return q.finds(s, v) }, one: one, picks: q.picks(v), ask: func(how Order) iter.Seq2[Event, error] {
		return r.access.Queries[q.Name](r.ctx, v, from, to, how)
	}})
	return all[min(len(all)-1, rapid.IntRange(0, 7).Draw(r.T, "read"))]
}

// truth is what the model says that a read returns, by the identities of events.
type truth map[string]Event

// identity returns what tells an event from others: in new columns all of it, because nothing is
// replaced there, and otherwise its series, its time and its sequence number.
func (r *run) identity(e Event) string {
	id := fmt.Sprint(e.Host, " ", e.Shard, " ", e.Time.UnixNano(), " ", e.Sequence)
	if r.table.at(e.Time).schema.newColumns() {
		id += fmt.Sprint(" ", e.Class, e.Values, e.Has)
	}
	return id
}

// truth returns the events that a read must return now.
func (r *run) truth(p *paged, from, to time.Time, fields []int) truth {
	out := truth{}
	for _, s := range allSeries {
		if !p.wanted(s) {
			continue
		}
		for _, e := range r.table.ReadFields(r.now, s, from, to, fields) {
			if p.picks == nil || p.picks(e) {
				out[r.identity(e)] = e
			}
		}
	}
	return out
}

// pagesAmong reads the pages of one read, between which events change or not. Events that are
// stored throughout must come exactly once, others at most once, and all in the promised order;
// without changes, the pages are what one read returns. It returns the number of pages.
func (r *run) pagesAmong() int {
	from, to := r.now.AddDate(0, 0, -40), r.now.AddDate(0, 0, 40)
	if rapid.IntRange(0, 3).Draw(r.T, "part of the time") == 0 {
		from, to = r.span()
	}
	p := r.drawPaged(from, to)
	how := Order{NewestFirst: rapid.Bool().Draw(r.T, "newest first"), TimeOrder: rapid.Bool().Draw(r.T, "time order")}
	var fields []int
	if p.picks == nil && rapid.IntRange(0, 4).Draw(r.T, "some fields") == 0 {
		fields, how.Fields = []int{}, []store.Field{}
		for i := range r.schema.Fields {
			if rapid.Bool().Draw(r.T, "fetch") {
				fields, how.Fields = append(fields, i), append(how.Fields, store.Field(fmt.Sprint("v", i)))
			}
		}
	}
	changes := rapid.Bool().Draw(r.T, "changes") && !r.halved
	defer func() {
		if _, err := r.driver.Traffic.Take(); err != nil {
			r.Fatalf("pages of %s: a stream failed: %v", p.name, err)
		}
	}()
	whole, ok := r.unpaged(&p, how)
	if !ok {
		return 0
	}
	what := fmt.Sprintf("pages of %s from %v to %v, %+v", p.name, from, to, how)
	lasting := r.truth(&p, from, to, fields)
	came := map[string]int{}
	var got []Event
	pages := 0
	for token, more := "", true; more; pages++ {
		if pages > 0 && changes && pages < 12 {
			r.change()
		}
		now := r.truth(&p, from, to, fields)
		for id := range lasting {
			if _, still := now[id]; !still {
				delete(lasting, id)
			}
		}
		events, page := r.page(what, &p, how, token)
		for _, e := range events {
			id := r.identity(e)
			if came[id]++; came[id] > 1 {
				r.Fatalf("%s: %s came twice\nschema\n%s", what, id, r.schema.YAML())
			}
			if !cmp.Equal(now[id], e) {
				r.Fatalf("%s: %+v, want %+v\nschema\n%s", what, e, now[id], r.schema.YAML())
			}
		}
		got = append(got, events...)
		token, more = page.Next, page.Next != ""
	}
	for id := range lasting {
		if came[id] != 1 {
			r.Fatalf("%s: %s was stored throughout and came %d times; these came: %+v\nschema\n%s", what, id, came[id], got, r.schema.YAML())
		}
	}
	r.promisedOrder(what, how, p.one || how.TimeOrder, got)
	if !changes {
		r.same(what, whole, got)
	}
	return pages
}

// unpaged returns the events of a read; false if it cannot have the order, or pages.
func (r *run) unpaged(p *paged, how Order) (out []Event, ok bool) {
	for e, err := range p.ask(how) {
		if errors.Is(err, store.ErrOrder) && out == nil {
			return nil, false
		}
		if err != nil {
			r.Fatalf("%s, %+v: %v", p.name, how, err)
		}
		out = append(out, e)
	}
	how.Page = &store.Page{Size: 1}
	for _, err := range p.ask(how) {
		if how.TimeOrder && errors.Is(err, store.ErrPage) {
			return nil, false
		}
	}
	return out, true
}

// page reads one page, or the beginning of it.
func (r *run) page(what string, p *paged, how Order, token string) (events []Event, page *store.Page) {
	size := rapid.SampledFrom([]int{1, 1, 2, 3, 5}).Draw(r.T, "size")
	stop := rapid.SampledFrom([]int{1, 3, 100, 100, 100}).Draw(r.T, "stop")
	page = &store.Page{Size: size, Token: token}
	how.Page = page
	if rapid.IntRange(0, 4).Draw(r.T, "limited") == 0 {
		how.Limit = rapid.IntRange(1, 4).Draw(r.T, "limit")
		size = min(size, how.Limit)
	}
	for e, err := range p.ask(how) {
		if err != nil {
			r.Fatalf("%s: %v\nschema\n%s", what, err, r.schema.YAML())
		}
		if events = append(events, e); len(events) == stop {
			break
		}
	}
	if len(events) > size || page.Next != "" && len(events) < min(size, stop) {
		r.Fatalf("%s: a page of %d events, want %d\nschema\n%s", what, len(events), size, r.schema.YAML())
	}
	return events, page
}

// change writes, rewrites or deletes events, or lets time pass.
func (r *run) change() {
	switch rapid.IntRange(0, 9).Draw(r.T, "change") {
	case 0, 1, 2:
		r.dense()
	case 3, 4, 5:
		e := r.drawKnown()
		r.writeAll([]Event{e})
	case 6, 7:
		known := r.drawKnown()
		deleted := func(e *Event) bool { return r.schema.same(&known, e) }
		if _, err := r.access.Delete(r.ctx, []Event{known}, store.DeleteOptions{}); err != nil {
			r.Fatalf("deleting %+v: %v", known, err)
		}
		r.table.Delete(deleted)
		r.log = without(r.log, deleted)
	case 8:
		r.now = r.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second}).Draw(r.T, "wait"))
	}
}

// promisedOrder fails unless the events of each series are in order of time, or all of them.
func (r *run) promisedOrder(what string, how Order, all bool, events []Event) {
	last := map[Series]*Event{}
	for i := range events {
		e, of := &events[i], Series{}
		if !all {
			of = Series{e.Host, e.Shard}
		}
		if before := last[of]; before != nil {
			order := gocmp.Or(before.Time.Compare(e.Time), gocmp.Compare(before.Sequence, e.Sequence))
			if order > 0 && !how.NewestFirst || order < 0 && how.NewestFirst {
				r.Fatalf("%s: %+v came after %+v\nschema\n%s", what, *e, *before, r.schema.YAML())
			}
		}
		last[of] = e
	}
}
