package model

import (
	gocmp "cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/store"
)

// Driver runs the generated code of a schema.
type Driver[E any] struct {
	Client *bigtable.Client
	// Traffic counts the requests and responses of the readers that Open opens.
	Traffic *Traffic
	// Faults lets requests that delete and replace events fail.
	Faults *Faults
	// Foreign is a family of another program, which Setup creates in the tables; empty if
	// it does not.
	Foreign string
	// Paths describe how the layout answers Read and the queries, by name.
	Paths map[string]AccessPath
	// Setup creates the tables with a prefix, and Drop deletes them.
	Setup func(prefix string) error
	Drop  func(prefix string)
	// Open opens the table with a prefix and a clock.
	Open func(prefix string, now func() time.Time) Access[E]
	// Refusals are the errors of the generated package.
	Refusals map[Refusal]error
	// ToGo and FromGo convert events, if they are no structs of generated code.
	ToGo   func(e Event) E
	FromGo func(e E) Event
}

// Access is a writer and a reader of generated code.
type Access[E any] struct {
	WriteAll func(ctx context.Context, events []E) error
	// Failures returns the errors of single events in the error of WriteAll, and
	// whether it contains others for the second table.
	Failures func(err error) (failures map[int]error, short bool)
	Read     func(ctx context.Context, base E, from, to time.Time) iter.Seq2[E, error]
	Columns  func(ctx context.Context, base E, from, to time.Time) ([]E, error)      // in columnar form, converted to events
	Windows  func(ctx context.Context, base E, from, to time.Time) ([]Window, error) // of an hour; may be nil
	Rollup   func(ctx context.Context) error                                         // summarizes events; may be nil
	Fields   func(ctx context.Context, base E, from, to time.Time, fields []string) iter.Seq2[E, error]
	Ordered  func(ctx context.Context, base E, from, to time.Time, how Order) iter.Seq2[E, error] // Read with options
	Latest   func(ctx context.Context, base E) (E, error)
	Queries  map[string]Ask[E] // by name
	// ReadMany and LatestMany read several series.
	ReadMany   func(ctx context.Context, series []E, from, to time.Time, how Order) iter.Seq2[E, error]
	LatestMany func(ctx context.Context, series []E) iter.Seq2[E, error]
	// Series lists the series of the queries, by name.
	Series   map[string]func(ctx context.Context, v Values, from, to time.Time) iter.Seq2[Series, error]
	NotFound error

	// Delete, DeleteRange, DeleteSeries, DeleteQueries and Replace are those of the writer. Their requests
	// go through Driver.Faults.
	Delete       func(ctx context.Context, events []E, o store.DeleteOptions) (store.Deletion, error)
	DeleteRange  func(ctx context.Context, base E, from, to time.Time, o store.DeleteOptions) (store.Deletion, error)
	DeleteSeries func(ctx context.Context, base E, o store.DeleteOptions) (store.Deletion, error)
	Replace      func(ctx context.Context, old, updated E) error
	// DeleteQueries delete by the queries, by name.
	DeleteQueries map[string]func(ctx context.Context, v Values, from, to time.Time, o store.DeleteOptions) (store.Deletion, error)
	// DeleteAllQueries do so for events of all times.
	DeleteAllQueries map[string]func(ctx context.Context, v Values, o store.DeleteOptions) (store.Deletion, error)
}

// Ask runs a query.
type Ask[E any] func(ctx context.Context, v Values, from, to time.Time, how Order) iter.Seq2[E, error]

// Order contains the options of a read: newest first, order of time, newest event per
// series, a limit, some of the fields, or a page.
type Order struct {
	NewestFirst, TimeOrder, LatestOnly bool
	Limit                              int
	Fields                             []store.Field
	Page                               *store.Page
}

// Options returns the order as options of a read.
func (o Order) Options() store.ReadOptions {
	return store.ReadOptions{NewestFirst: o.NewestFirst, TimeOrder: o.TimeOrder, LatestOnly: o.LatestOnly, Limit: o.Limit, Fields: o.Fields, Page: o.Page}
}

// cases counts the tables, so that each has a unique prefix.
var cases atomic.Int64

// run is one case: a table, its model and a clock.
type run struct {
	*rapid.T
	ctx    context.Context
	schema *Schema
	driver *Driver[Event]
	access Access[Event]
	table  *Table
	prefix string
	now    time.Time
	tick   time.Duration // by how much the clock advances at each reading
	times  []time.Time   // times of the events so far

	log       []logged // what happened to the cells so far, except for deletions
	cleaned   bool     // garbage was collected
	halved    bool     // some cells of hidden events were: newer ones must not be deleted
	deletions int      // number of deletions

	selects func(e Event) bool // the events that a query with a condition returns; nil for all
}

// Check runs one case: random events, clocks, garbage collection, reads and deletions.
func Check[E any](t *rapid.T, ctx context.Context, s *Schema, d *Driver[E]) {
	r := begin(t, ctx, s, converted(s, d))
	defer d.Drop(r.prefix)
	for range rapid.IntRange(3, 12).Draw(t, "steps") {
		r.step("write", "write", "rewrite", "wait", "collect", "read", "read while time passes", "pages", "delete")
	}
	r.read()
	r.restamp()
	r.read()
}

// CheckDeletes is like [Check] with more deletions and fewer reads. It returns the number of
// deletions.
func CheckDeletes[E any](t *rapid.T, ctx context.Context, s *Schema, d *Driver[E]) int {
	r := begin(t, ctx, s, converted(s, d))
	defer d.Drop(r.prefix)
	r.write()
	for range rapid.IntRange(4, 16).Draw(t, "steps") {
		r.step("write", "write", "write", "wait", "collect", "foreign", "read events", "delete", "delete", "delete", "replace")
	}
	r.deleteAll()
	r.forget()
	return r.deletions
}

// begin begins a case.
func begin(t *rapid.T, ctx context.Context, s *Schema, d *Driver[Event]) *run {
	r := &run{T: t, ctx: ctx, schema: s, driver: d, table: NewTable(s), prefix: fmt.Sprintf("c%d_", cases.Add(1))}
	noon := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	if s.Earlier != nil {
		noon = s.Since
	}
	r.now = noon.Add(time.Duration(rapid.Int64Range(0, int64(4*time.Second)).Draw(t, "now")) - 2*time.Second)
	if err := d.Setup(r.prefix); err != nil {
		t.Fatal(err)
	}
	r.access = d.Open(r.prefix, r.clock)
	if _, err := d.Traffic.Take(); err != nil { // the traffic so far is that of other cases
		t.Fatalf("a stream failed: %v", err)
	}
	return r
}

// step runs one of the named steps.
func (r *run) step(steps ...string) {
	switch step := rapid.SampledFrom(steps).Draw(r.T, "step"); step {
	case "write":
		r.write()
	case "rewrite":
		r.rewrite()
	case "wait":
		r.now = r.now.Add(r.duration("wait"))
	case "collect":
		r.collect(rapid.SampledFrom([]int{1, 2}).Draw(r.T, "of"))
	case "read":
		r.read()
	case "read events":
		series := r.host()
		from, to := r.span()
		r.same("events", r.table.Read(r.now, series, from, to), r.events(series, from, to))
	case "foreign":
		r.foreign()
	case "pages":
		r.dense()
		r.pagesAmong()
	case "delete", "replace":
		switch {
		case r.halved:
		case step == "delete":
			r.delete()
		default:
			r.replace()
		}
	default:
		r.readTicking()
	}
}

// clock returns the time for writers and readers. Deletions, during which it stands still,
// call it concurrently.
func (r *run) clock() time.Time {
	now := r.now
	if r.tick > 0 {
		r.now = now.Add(r.tick)
	}
	return now
}

// duration draws a duration that is close to a relevant one.
func (r *run) duration(label string) time.Duration {
	d := rapid.SampledFrom(append([]time.Duration{0, 5 * time.Minute, 72 * time.Hour}, ages...)).Draw(r.T, label)
	near := rapid.SampledFrom([]time.Duration{0, 0, 1, -1, time.Microsecond, time.Millisecond, -time.Millisecond, 400 * time.Millisecond}).Draw(r.T, label+" off")
	return max(0, d+near)
}

// host draws a series. The name of one is a prefix of another.
func (r *run) host() Series {
	return rapid.SampledFrom(append([]Series{{"a", 1}, {"a", 1}}, allSeries...)).Draw(r.T, "series")
}

// allSeries are the series of all events.
var allSeries = []Series{{"a", 1}, {"ab", 1}, {"ba", 1}, {"a", 12}}

// write writes some events.
func (r *run) write() {
	var events []Event
	for range rapid.IntRange(1, 6).Draw(r.T, "events") {
		e := r.event()
		events, r.times = append(events, e), append(r.times, e.Time)
	}
	r.writeAll(events)
}

// writeAll writes events and compares the refused ones with the model.
func (r *run) writeAll(events []Event) {
	var want []Refusal
	for _, e := range events {
		want = append(want, r.table.Write(r.now, e))
	}
	r.log = append(r.log, logged{now: r.now, events: events})
	err := r.access.WriteAll(r.ctx, events)
	failures, short := r.access.Failures(err)
	for i := range events {
		if got := failures[i]; !errors.Is(got, r.driver.Refusals[want[i]]) || (got == nil) != (want[i] == Stored) {
			r.Fatalf("event %d at %v: got %v, want %q\n%+v", i, r.now, got, want[i], events[i])
		}
	}
	if err != nil && len(failures) == 0 && !short {
		r.Fatal(err)
	}
}

// rewrite writes events again as they were read: they keep their expiry. An event is
// refused only if it must specify its expiry and has lost the part that contains it.
func (r *run) rewrite() {
	series := r.host()
	from, to := r.span()
	events := r.events(series, from, to)
	r.writeAll(events)
	r.same("events written again", r.table.Read(r.now, series, from, to), r.events(series, from, to))
	if len(r.schema.Families) == 1 && !slices.ContainsFunc(r.schema.layouts(), (*Schema).newColumns) {
		for i := range events {
			events[i].WrittenAt = time.Time{}
		}
		again := r.events(series, from, to)
		for i := range again {
			again[i].WrittenAt = time.Time{}
		}
		r.same("events that were written again", events, again)
	}
}

// event draws an event.
func (r *run) event() Event {
	series := r.host()
	e := Event{Host: series.Host, Shard: series.Shard, Time: r.now}
	if r.schema.Sequence {
		e.Sequence = uint32(rapid.IntRange(0, 2).Draw(r.T, "sequence"))
	}
	switch how := rapid.IntRange(0, 3).Draw(r.T, "time"); {
	case how < 2 && len(r.times) > 0: // the same time again
		e.Time = r.times[max(0, len(r.times)-1-rapid.IntRange(0, 3).Draw(r.T, "back"))]
	case how == 3:
		e.Time = r.now.Add(-r.duration("age"))
	case how == 2 && len(r.schema.Earlier) > 0:
		since := rapid.SampledFrom(r.schema.layouts()[:len(r.schema.Earlier)]).Draw(r.T, "layout").Since
		e.Time = since.Add(rapid.SampledFrom([]time.Duration{0, -1, -time.Minute, time.Second}).Draw(r.T, "from since"))
	}
	return r.filled(e)
}

// filled draws the values of an event and its time to live.
func (r *run) filled(e Event) Event {
	if r.schema.Sequence && !r.table.at(e.Time.Truncate(r.schema.Precision)).schema.Sequence && rapid.IntRange(0, 9).Draw(r.T, "numbered") > 0 {
		e.Sequence = 0
	}
	for _, f := range r.schema.Fields {
		has := f.Presence != Optional || rapid.Bool().Draw(r.T, "has")
		value := 0
		if has {
			value = rapid.IntRange(0, 2).Draw(r.T, "value")
		}
		e.Has, e.Values = append(e.Has, has), append(e.Values, int64(value))
	}
	if n := len(r.schema.Classes); n > 0 {
		e.Class = rapid.SampledFrom([]int{0, 1, 1, 2, 2, n, n, n + 1}).Draw(r.T, "class")
	}
	if r.schema.has("default_expiration") && rapid.Bool().Draw(r.T, "has ttl") {
		e.TTL = r.duration("ttl") - rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(r.T, "less")
	}
	if (r.schema.has("one_second") || r.schema.has("default_expiration")) && rapid.IntRange(0, 4).Draw(r.T, "has expiry") > 0 {
		e.ExpiresAt = r.now.Add(r.duration("expiry") - rapid.SampledFrom([]time.Duration{0, 2 * time.Millisecond}).Draw(r.T, "earlier"))
	}
	return e
}

// span draws the time range of a read.
func (r *run) span() (from, to time.Time) {
	switch n := rapid.IntRange(0, 15).Draw(r.T, "range"); {
	case n < 7: // all events of most cases, in few buckets: keys of the buckets of all times take a second
		return r.now.AddDate(0, 0, -40), r.now.AddDate(0, 0, 40)
	case n == 7:
		return time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	edge := func(label string) time.Time {
		if len(r.times) > 0 && rapid.Bool().Draw(r.T, label+" at an event") {
			return rapid.SampledFrom(r.times).Draw(r.T, label).Add(rapid.SampledFrom([]time.Duration{0, 1, -1, time.Millisecond}).Draw(r.T, label+" off"))
		}
		return r.now.Add(-r.duration(label))
	}
	from, to = edge("from"), edge("to")
	if from.After(to) {
		return to, from
	}
	return from, to
}

// read compares a read of a time range, and the newest event, with the model.
func (r *run) read() {
	series := r.host()
	from, to := r.span()
	r.same("events", r.table.Read(r.now, series, from, to), r.events(series, from, to))
	r.columns(series, r.table.Read(r.now, series, from, to), from, to)
	r.windows(series, r.table.Read(r.now, series, from, to), from, to)
	r.fields(series, from, to)
	r.newest(series, from, to)
	r.queries(series, from, to)
	r.latest(series)
	r.several(from, to)
}

// latest compares the newest event of a series with the model.
func (r *run) latest(series Series) {
	all := r.table.Read(r.now, series, time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	latest, err := r.access.Latest(r.ctx, Event{Host: series.Host, Shard: series.Shard})
	r.crossedLatest(series)
	switch {
	case len(all) == 0:
		if !errors.Is(err, r.access.NotFound) {
			r.Fatalf("latest of nothing: %+v, %v", latest, err)
		}
	case err != nil:
		r.Fatalf("latest: %v, want %+v", err, all[len(all)-1])
	default:
		r.same("latest", all[len(all)-1:], []Event{latest})
	}
}

// columns compares a read in columnar form with the model.
func (r *run) columns(series Series, want []Event, from, to time.Time) {
	events, err := r.access.Columns(r.ctx, Event{Host: series.Host, Shard: series.Shard}, from, to)
	r.crossed("columns", r.driver.Paths["Read"], only(series), from, to, nil)
	if err != nil {
		r.Fatalf("columns: %v", err)
	}
	r.same("columns", want, events)
}

// windows compares a read of windows with the model.
func (r *run) windows(series Series, want []Event, from, to time.Time) {
	if r.access.Windows == nil {
		return
	}
	got, err := r.access.Windows(r.ctx, Event{Host: series.Host, Shard: series.Shard}, from, to)
	r.crossed("windows", r.driver.Paths["Read"], only(series), from, to, nil)
	if diff := cmp.Diff(windowsOf(want), got); err != nil || diff != "" {
		r.Fatalf("windows at %v: %v (-want +got)\n%s\nschema\n%s", r.now, err, diff, r.schema.YAML())
	}
}

// fields compares a read of some fields with the model.
func (r *run) fields(series Series, from, to time.Time) {
	fields, names := []int{}, []string{}
	for i := range r.schema.Fields {
		if rapid.Bool().Draw(r.T, "fetch") {
			fields, names = append(fields, i), append(names, fmt.Sprint("v", i))
		}
	}
	got := r.collected(r.access.Fields(r.ctx, Event{Host: series.Host, Shard: series.Shard}, from, to, names))
	r.crossed(fmt.Sprint("fields ", names), r.driver.Paths["Read"], only(series), from, to, fields)
	r.same(fmt.Sprint("fields ", names), r.table.ReadFields(r.now, series, from, to, fields), got)
	// Fields do not select events.
	if whole := r.events(series, from, to); !slices.Equal(timesOf(whole), timesOf(got)) {
		r.Fatalf("fields %v at %v: %+v, of the events %+v\nschema\n%s", names, r.now, got, whole, r.schema.YAML())
	}
}

// timesOf returns the distinct times of events.
func timesOf(events []Event) []time.Time {
	var times []time.Time
	for _, e := range events {
		times = append(times, e.Time)
	}
	return slices.Compact(times)
}

// newest compares reads in reverse order with those in order of time.
func (r *run) newest(series Series, from, to time.Time) {
	want := r.events(series, from, to)
	slices.Reverse(want)
	limit := rapid.IntRange(0, 3).Draw(r.T, "limit")
	if limit > 0 {
		want = want[:min(limit, len(want))]
	}
	got := r.collected(r.access.Ordered(r.ctx, Event{Host: series.Host, Shard: series.Shard}, from, to, Order{NewestFirst: true, Limit: limit}))
	r.crossedNewest(series, from, to, limit)
	r.same("the newest first", want, got)
}

// each compares the newest event of each series of a query with the model.
func (r *run) each(q Query, v Values, from, to time.Time) {
	got := map[Series]Event{}
	for _, e := range r.collected(r.access.Queries[q.Name](r.ctx, v, from, to, Order{LatestOnly: true})) {
		s := Series{e.Host, e.Shard}
		if _, twice := got[s]; twice {
			r.Fatalf("the newest event of %v came twice", s)
		}
		got[s] = e
	}
	r.crossedEach(r.driver.Paths[q.Name], func(s Series) bool { return q.finds(s, v) }, from, to)
	for _, s := range allSeries {
		events := r.table.Read(r.now, s, from, to)
		e, found := got[s]
		if !q.finds(s, v) || len(events) == 0 {
			if found {
				r.Fatalf("%v has no event, and %+v is its newest", s, e)
			}
			continue
		}
		if last := events[len(events)-1]; !found || !cmp.Equal(e, last) {
			r.Fatalf("the newest event of %v is %+v, want %+v\nschema\n%s", s, e, last, r.schema.YAML())
		}
	}
}

// collected reads all events.
func (r *run) collected(events iter.Seq2[Event, error]) []Event {
	var out []Event
	for e, err := range events {
		if err != nil {
			r.Fatalf("reading: %v", err)
		}
		out = append(out, e)
	}
	return out
}

// queries compares reads of queries with the model. The events of a series must be in
// order; the order of series is arbitrary.
func (r *run) queries(given Series, from, to time.Time) {
	all := r.schema.PlainQueries()
	q := all[rapid.IntRange(0, len(all)-1).Draw(r.T, "query")]
	v, ask, path := single(given), r.access.Queries[q.Name], r.driver.Paths[q.Name]
	wanted := func(s Series) bool { return q.finds(s, v) }
	want := r.collected(ask(r.ctx, v, from, to, Order{}))
	r.crossed(q.Name, path, wanted, from, to, nil)
	r.found(q.Name, wanted, want, from, to)
	slices.Reverse(want)
	got := r.collected(ask(r.ctx, v, from, to, Order{NewestFirst: true}))
	r.crossed(q.Name+", the newest first", path, wanted, from, to, nil)
	r.same(q.Name+", the newest first", want, got)
	r.ordered(q, v, want, from, to)
	r.each(q, v, from, to)
	slices.Reverse(want)
	r.pages(q.Name, want, func(how Order) iter.Seq2[Event, error] { return ask(r.ctx, v, from, to, how) })
}

// ordered compares a query with a limit, and one in order of time, with the full query,
// newest first.
func (r *run) ordered(q Query, v Values, all []Event, from, to time.Time) {
	ask, path := r.access.Queries[q.Name], r.driver.Paths[q.Name]
	how := Order{NewestFirst: rapid.Bool().Draw(r.T, "newest first"), Limit: rapid.IntRange(0, 3).Draw(r.T, "limit")}
	want := slices.Clone(all)
	if !how.NewestFirst {
		slices.Reverse(want)
	}
	if how.TimeOrder = path.timed() && rapid.Bool().Draw(r.T, "time order"); how.TimeOrder {
		slices.SortStableFunc(want, func(a, b Event) int {
			order := gocmp.Or(a.Time.Compare(b.Time), gocmp.Compare(a.Sequence, b.Sequence))
			if how.NewestFirst {
				return -order
			}
			return order
		})
	}
	if how.Limit > 0 {
		want = want[:min(how.Limit, len(want))]
	}
	got := r.collected(ask(r.ctx, v, from, to, how))
	if _, err := r.driver.Traffic.Take(); err != nil {
		r.Fatalf("%s, %+v: a stream failed: %v", q.Name, how, err)
	}
	r.same(fmt.Sprintf("%s, %+v", q.Name, how), want, got)
}

// found compares the result of a query with the model.
func (r *run) found(name string, wanted func(Series) bool, events []Event, from, to time.Time) {
	got := map[Series][]Event{}
	for _, e := range events {
		s := Series{e.Host, e.Shard}
		got[s] = append(got[s], e)
	}
	want := map[Series][]Event{}
	for _, s := range allSeries {
		if events := r.selected(s, from, to); wanted(s) && len(events) > 0 {
			want[s] = events
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("%s at %v (-want +got)\n%s\nschema\n%s", name, r.now, diff, r.schema.YAML())
	}
}

// readTicking reads while the clock advances: the result must contain what is live at
// the end, and nothing that was not live when it was yielded.
func (r *run) readTicking() {
	if len(r.schema.Families) > 1 {
		return // parts of events may expire
	}
	series := r.host()
	from, to := r.span()
	before := r.table.Read(r.now, series, from, to)
	most := r.expected(r.driver.Paths["Read"], only(series), from, to, nil)
	most.least = Counts{}
	r.tick = rapid.SampledFrom([]time.Duration{time.Microsecond, 300 * time.Microsecond, time.Second}).Draw(r.T, "tick")
	var got []Event
	for e, err := range r.access.Read(r.ctx, Event{Host: series.Host, Shard: series.Shard}, from, to) {
		if err != nil {
			r.Fatalf("reading: %v", err)
		}
		got = append(got, e)
		looked := r.now.Add(-r.tick)
		if !contains(before, e) || !contains(r.table.Read(looked, series, from, to), e) {
			r.Fatalf("%+v was yielded at %v, and was not alive", e, looked)
		}
	}
	r.tick = 0
	r.within("read while time passes", most)
	after := r.table.Read(r.now, series, from, to)
	for _, e := range after {
		if !contains(got, e) {
			r.Fatalf("%+v was not read, and is alive", e)
		}
	}
}

// contains reports whether events contains e.
func contains(events []Event, e Event) bool {
	return slices.ContainsFunc(events, func(other Event) bool { return cmp.Equal(e, other) })
}

// same fails unless the events are equal.
func (r *run) same(what string, want, got []Event) {
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("%s at %v (-want +got)\n%s\nschema\n%s", what, r.now, diff, r.schema.YAML())
	}
}

// events reads a time range.
func (r *run) events(series Series, from, to time.Time) []Event {
	out := r.collected(r.access.Read(r.ctx, Event{Host: series.Host, Shard: series.Shard}, from, to))
	r.crossed("read", r.driver.Paths["Read"], only(series), from, to, nil)
	return out
}

// collect garbage-collects the tables on the server: everything, or each cell with a
// probability of 1/oneIn. If a rule counts versions, an event that it hides returns when newer
// ones are deleted, unless it was collected: not even the model knows what is left of it if
// only some cells were.
func (r *run) collect(oneIn int) {
	if r.schema.countsVersions() && oneIn > 1 {
		r.halved = true
	} else if r.schema.countsVersions() {
		defer r.table.Collect(r.now)
	}
	garbage := logged{mutations: map[place]*bigtable.Mutation{}}
	for id, rules := range r.rules() {
		r.eachRow(id, func(row bigtable.Row) {
			for family, items := range row {
				rank := 0
				for i, item := range items {
					rank++
					if i == 0 || items[i-1].Column != item.Column {
						rank = 1
					}
					age := r.now.Sub(item.Timestamp.Time())
					if !rules[family].collects(age, rank) || rapid.IntRange(1, oneIn).Draw(r.T, "collects") != 1 {
						continue
					}
					qualifier := strings.TrimPrefix(item.Column, family+":")
					garbage.at(id, row.Key()).DeleteTimestampRange(family, qualifier, item.Timestamp, item.Timestamp+1000)
				}
			}
		})
	}
	r.cleaned = r.cleaned || len(garbage.mutations) > 0
	r.apply(r.prefix, garbage)
	r.log = append(r.log, garbage)
}

// restamp gives cells other timestamps, like programs that use the server's time or
// none, unless the timestamps contain the time or expiry of an event. Reads must return
// the same as before. It must be last, because a writer changes the timestamps of what
// it replaces.
func (r *run) restamp() {
	if r.schema.eventTimed() || r.schema.Classes != nil || r.schema.Earlier != nil {
		return
	}
	moved := logged{mutations: map[place]*bigtable.Mutation{}}
	rules := r.rules()[r.schema.Name]
	r.eachRow(r.schema.Name, func(row bigtable.Row) {
		for family, items := range row {
			if ttl := rules[family]; ttl.Kind != "keep" && ttl.Kind != "max_versions" || ttl.FromWrite {
				continue
			}
			for i, item := range items {
				if i > 0 && items[i-1].Column == item.Column {
					continue // an older version
				}
				at := rapid.SampledFrom([]bigtable.Timestamp{item.Timestamp, 0, 1000, bigtable.Time(r.now), 300_000_000_000_000_000}).Draw(r.T, "timestamp")
				qualifier := strings.TrimPrefix(item.Column, family+":")
				moved.at(r.schema.Name, row.Key()).DeleteCellsInColumn(family, qualifier)
				moved.at(r.schema.Name, row.Key()).Set(family, qualifier, at, item.Value)
			}
		}
	})
	r.apply(r.prefix, moved)
}

// rules returns the times to live of the families of all tables on the server, by the IDs
// of the tables.
func (r *run) rules() map[string]map[string]TTL {
	out := map[string]map[string]TTL{}
	for _, id := range r.schema.Tables() {
		out[id] = map[string]TTL{}
	}
	for _, l := range r.schema.layouts() {
		of := out[r.schema.Name+l.Table]
		for i, age := range l.Classes {
			of[fmt.Sprintf("%s_c%d", l.Families[0].Name, i+1)] = TTL{Kind: "max_age", Age: age}
		}
		for _, f := range l.Families {
			if l.Classes == nil {
				of[f.Name] = f.TTL
			}
		}
	}
	if r.schema.Short {
		out[r.schema.Name+ShortTable]["m"] = TTL{Kind: "max_age", Age: time.Second}
	}
	return out
}
