package evolve_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// bench is a Bigtable with the tables that any history may use. It serves one history at a
// time.
type bench struct {
	client *bigtable.Client
	reset  func(ctx context.Context) error // deletes all rows
}

// inMemory returns a bench without a network.
func inMemory(ctx context.Context) (*bench, error) {
	m := &memory{}
	client, err := m.connect(ctx)
	return &bench{client, func(context.Context) error {
		clear(m.tables)
		clear(m.regexp) // the next history has other keys
		return nil
	}}, err
}

// onServer returns a bench with Google's in-memory server.
func onServer(ctx context.Context, server *storetest.Bigtable) (*bench, error) {
	conf := &bigtable.TableConf{ColumnFamilies: map[string]bigtable.Family{}}
	for _, f := range families {
		conf.ColumnFamilies[f] = bigtable.Family{}
	}
	tables := []string{"t0", "t1", "t2", "t3"}
	for _, conf.TableID = range tables {
		if err := server.Admin.CreateTableFromConf(ctx, conf); err != nil {
			return nil, err
		}
	}
	return &bench{server.Client, func(ctx context.Context) error {
		for _, id := range tables {
			if err := server.Admin.DropAllRows(ctx, id); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// version is a version of a schema, and the code of it.
type version struct {
	*drawn
	text    []byte
	layout  *layout.Layout
	schema  *dynamic.Schema
	comment string // what the edit was, and what was found
}

// stored is what somebody wrote: what must be read as long as it lives.
type stored struct {
	who    int // the index of its series
	at     time.Time
	values map[int]any  // by the id of a field; nil for what the event lacks
	lacks  map[int]any  // what the fields that the event lacks were read as: the first default of each
	loose  map[int]bool // the fields that were removed before the event was written again, and may be gone
	until  time.Time    // how long the event must be read
	dead   bool         // it may be read, or not
}

// history is the life of a schema: edits, and events that are written between them.
type history struct {
	*random
	ctx      context.Context
	bench    *bench
	now      time.Time
	versions []version // the last one is the newest that was not refused
	lock     *lock.Lock
	removed  []drawnField
	series   [][]any // values of package value, but for unsigned numbers and bytes
	events   map[place]*stored
	count    counts
}

// counts counts the outcomes of edits.
type counts struct {
	Tried    int // edits that were not refused, and tried on data
	Safe     int // of these, edits after which old code read what new code wrote
	Refused  int // edits that delete, hide or change data, says package evolve
	Accepted int // of these, edits that were accepted, in an empty table
	Invalid  int // edits that are no schema
	Events   int // events that were written
	Read     int // events that were read
	Layouts  int // reads of tables with several layouts by time
	Moved    int // reads of schemas with fields that older events have elsewhere
	Inexact  int // events with a value that cannot be converted, and an error
}

// cases returns the number of edits of which package evolve has decided what they do.
func (c *counts) cases() int { return c.Tried + c.Refused }

// add adds other counts.
func (c *counts) add(o counts) {
	c.Tried, c.Safe, c.Refused, c.Accepted = c.Tried+o.Tried, c.Safe+o.Safe, c.Refused+o.Refused, c.Accepted+o.Accepted
	c.Invalid, c.Events, c.Read, c.Layouts = c.Invalid+o.Invalid, c.Events+o.Events, c.Read+o.Read, c.Layouts+o.Layouts
	c.Moved, c.Inexact = c.Moved+o.Moved, c.Inexact+o.Inexact
}

// steps is how many edits a history tries on data.
const steps = 8

// live runs the history of a seed. The error states what was lost, and after which edits.
func live(ctx context.Context, b *bench, seed uint64) (counts, error) {
	if err := b.reset(ctx); err != nil {
		return counts{}, err
	}
	h := &history{
		random: &random{Rand: rand.New(rand.NewPCG(seed, 0))}, ctx: ctx, bench: b,
		now: time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC), events: map[place]*stored{}, lock: &lock.Lock{},
	}
	if err := h.run(); err != nil {
		var story strings.Builder
		for _, v := range h.versions {
			fmt.Fprintf(&story, "--- %s\n%s", v.comment, v.YAML())
		}
		return h.count, fmt.Errorf("%w\n%sat %s", err, &story, h.now.Format(time.RFC3339))
	}
	return h.count, nil
}

func (h *history) run() error {
	h.found()
	for range 1 + h.IntN(3) {
		if err := h.write(h.newest(), h.IntN(8)); err != nil {
			return err
		}
	}
	for h.count.Tried < steps && h.count.Refused < 5*steps {
		h.now = h.now.Add(one(h.random, time.Minute, time.Hour, 24*time.Hour, 8*24*time.Hour, 35*24*time.Hour, 100*24*time.Hour))
		h.age()
		if err := h.write(h.newest(), h.IntN(4)); err != nil {
			return err
		}
		if err := h.step(); err != nil {
			return err
		}
	}
	return nil
}

// newest returns the newest version.
func (h *history) newest() *version { return &h.versions[len(h.versions)-1] }

// found draws the first schema, and the series of events.
func (h *history) found() {
	for {
		if v, ok := h.version(h.schema(), nil); ok {
			v.comment, v.schema = "the first schema", dynamic.New(v.layout)
			h.versions = []version{v}
			h.lock = h.diff(v.layout).Next(nil)
			break
		}
	}
	h.name()
}

// name draws the series of events.
func (h *history) name() {
	h.series = nil
	for range 3 {
		var series []any
		for i := range h.newest().series {
			series = append(series, h.seriesValue(&h.newest().series[i]))
		}
		if !slices.ContainsFunc(h.series, func(other []any) bool { return slices.Equal(series, other) }) {
			h.series = append(h.series, series)
		}
	}
}

// version resolves a schema, if it has no errors and another text than the one before it.
func (h *history) version(s *drawn, before []byte) (version, bool) {
	text := s.YAML()
	if bytes.Equal(text, before) {
		return version{}, false
	}
	r := gen.Resolve([]gen.Input{{Name: "s.yaml", Text: text}})
	if r.Diagnostics.HasErrors() {
		return version{}, false
	}
	return version{drawn: s, text: text, layout: r.Layouts[0]}, true
}

// diff compares a version with the lock.
func (h *history) diff(l *layout.Layout) *evolve.Comparison {
	return evolve.Diff(evolve.Input{Old: h.lock, Layouts: []*layout.Layout{l}, Whole: true, Now: h.now, Gone: gone})
}

// step draws an edit that is a schema. If package evolve does not refuse it, old and new code
// write, and the new code reads all there is.
func (h *history) step() error {
	old := h.newest()
	next := old.clone()
	name := h.edit(next)
	related := h.related(old.drawn, next)
	v, ok := h.version(next, old.text)
	if !ok || !related {
		h.count.Invalid++
		return nil
	}
	c := h.diff(v.layout)
	v.comment = name
	worst := evolve.Safe
	for _, f := range c.Findings {
		worst = min(worst, f.Class)
		v.comment += fmt.Sprintf("\n    %s %s: %s", f.Class, f.Name, f.Diagnostic.Message)
	}
	if worst == evolve.Data {
		h.count.Refused++
		if !h.chance(12) {
			return nil
		}
		return h.accept(v, c)
	}
	h.count.Tried++
	h.take(v)
	old, newest := &h.versions[len(h.versions)-2], h.newest()
	if err := h.deploy(old, newest, c, worst); err != nil {
		return err
	}
	h.lock = c.Next(nil)
	if h.chance(8) {
		again, err := lock.Parse(lock.Name, h.lock.Text())
		if err != nil {
			return fmt.Errorf("the lock cannot be read: %w\n%s", err, h.lock.Text())
		}
		h.lock = again
	}
	return nil
}

// take makes a version the newest, and remembers the fields that it no longer has.
func (h *history) take(v version) {
	for _, f := range h.newest().fields {
		if !slices.ContainsFunc(v.fields, func(o drawnField) bool { return o.id == f.id }) {
			h.removed = append(h.removed, f)
		}
	}
	v.schema = dynamic.New(v.layout)
	before := h.newest()
	for _, e := range h.events {
		v.promise(e)
		for i := range v.tables { // a table that is added keeps what its own age says, and may take over the reads
			t := &v.tables[i]
			known := slices.ContainsFunc(before.tables, func(o drawnTable) bool { return o.layouts[0].table == t.layouts[0].table })
			if end := t.end(e.at); !known && end.Before(e.until) {
				e.until = end
			}
		}
	}
	h.versions = append(h.versions, v)
}

// promise notes what an event is read with in place of the fields that it lacks. It is so as
// long as the version has the fields.
func (v *version) promise(e *stored) {
	lacks := map[int]any{}
	for i := range v.fields {
		f := &v.fields[i]
		if was, ok := e.lacks[f.id]; ok {
			lacks[f.id] = was
		} else if f.fallback != "" && (e.values[f.id] == nil || e.loose[f.id]) {
			lacks[f.id] = v.layout.Fields[i].Default
		}
	}
	e.lacks = lacks
}

// accept accepts all changes: the stored events may be lost, and therefore are deleted.
func (h *history) accept(v version, c *evolve.Comparison) error {
	var arguments []string
	for _, f := range c.Findings {
		if f.Class == evolve.Data {
			arguments = append(arguments, f.Name+"=nothing is stored")
		}
	}
	accepted, err := c.Accept(arguments)
	if err != nil {
		return err
	}
	h.count.Accepted++
	v.comment += "\n    accepted"
	h.take(v)
	h.lock = c.Next(accepted)
	clear(h.events)
	h.name() // enums may have other values
	return h.bench.reset(h.ctx)
}

// deploy runs old and new code side by side, as the class of the edit allows, and checks what
// they read.
func (h *history) deploy(old, newest *version, c *evolve.Comparison, worst evolve.Class) error {
	if err := h.write(old, h.IntN(3)); err != nil { // not all programs run the new code yet
		return err
	}
	h.age()
	found := func(rule string) bool {
		return slices.ContainsFunc(c.Findings, func(f evolve.Finding) bool { return f.Diagnostic.Rule == rule })
	}
	if found("E30") {
		if err := h.backfill(old, newest); err != nil {
			return err
		}
	}
	if found("E72") { // what has expired is deleted by now
		if err := h.collect(old); err != nil {
			return err
		}
	}
	if err := h.write(newest, h.IntN(3)); err != nil {
		return err
	}
	if err := h.check(newest); err != nil {
		return err
	}
	if worst == evolve.Safe {
		h.count.Safe++
		if err := h.check(old); err != nil {
			return fmt.Errorf("programs with the old code, after an edit of class SAFE: %w", err)
		}
	}
	return nil
}

// age marks the events that have outlived the longest age that any version promised them while
// they lived.
func (h *history) age() {
	for _, e := range h.events {
		e.dead = e.dead || !e.until.After(h.now.Add(time.Second))
		if end := h.newest().end(e.at); end.After(e.until) && !e.dead {
			e.until = end
		}
	}
}

// collect deletes cells as Bigtable does: a week after they expired, for sure.
func (h *history) collect(v *version) error {
	for _, t := range v.tables {
		for _, l := range t.layouts {
			if l.ttl == "{keep: forever}" {
				continue
			}
			before := bigtable.Time(h.now.Add(-ages[l.ttl] - 7*24*time.Hour))
			table := h.bench.client.Open(l.table)
			var keys []string
			var deletions []*bigtable.Mutation
			err := table.ReadRows(h.ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
				m := bigtable.NewMutation()
				for _, item := range row[l.family] {
					if item.Timestamp < before {
						m.DeleteTimestampRange(l.family, strings.TrimPrefix(item.Column, l.family+":"), 0, before)
						keys, deletions = append(keys, row.Key()), append(deletions, m)
					}
				}
				return true
			})
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				continue
			}
			if _, err := table.ApplyBulk(h.ctx, keys, deletions); err != nil {
				return err
			}
		}
	}
	return nil
}

// alive reports whether no table lets an event of a time expire until now.
func (v *version) alive(at, now time.Time) bool { return v.end(at).After(now.Add(time.Second)) }

// end returns when the first table lets an event of a time expire.
func (v *version) end(at time.Time) time.Time {
	end := always.To
	for i := range v.tables {
		if own := v.tables[i].end(at); own.Before(end) {
			end = own
		}
	}
	return end
}

// end returns when an event of a time expires in a table.
func (t *drawnTable) end(at time.Time) time.Time {
	if ttl := t.at(at).ttl; ttl != "{keep: forever}" {
		return at.Add(ages[ttl])
	}
	return always.To
}

// ages are the ages of ttls.
var ages = map[string]time.Duration{"{max_age: 30d}": 30 * 24 * time.Hour, "{max_age: 60d}": 60 * 24 * time.Hour, "{max_age: 400d}": 400 * 24 * time.Hour, "{max_age: 800d}": 800 * 24 * time.Hour}

// at returns the layout of the events of a time: the newest that has begun.
func (t *drawnTable) at(at time.Time) *drawnLayout {
	i := slices.IndexFunc(t.layouts, func(l drawnLayout) bool { return !at.Before(l.since) })
	return &t.layouts[i]
}

// place identifies an event: the index of the series, and the time in nanoseconds.
type place struct {
	who   int
	nanos int64
}

func (e *stored) place() place { return place{e.who, e.at.UnixNano()} }

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.nanos, o.nanos), cmp.Compare(p.who, o.who))
}

// places returns the places of events in one order for a seed.
func places(events map[place]*stored) []place {
	return slices.SortedFunc(maps.Keys(events), place.compare)
}

// write writes some events with the code of a version, and perhaps writes one again.
func (h *history) write(v *version, n int) error {
	written := map[place]*stored{}
	for range n {
		at := h.time(v)
		until := v.end(at)
		if end := h.newest().end(at); end.Before(until) { // old code does not write to a table that is new
			until = end
		}
		e := &stored{who: h.IntN(len(h.series)), at: at, until: until, values: map[int]any{}, lacks: map[int]any{}, loose: map[int]bool{}}
		k := e.place()
		if was := h.events[k]; was != nil && (was.dead || v.appends(e.at)) {
			continue
		} else if was != nil {
			e.lose(was)
		}
		for i := range v.fields {
			f := &v.fields[i]
			if !f.optional || !h.chance(3) {
				e.values[f.id] = h.value(f)
			} else {
				e.values[f.id] = nil
			}
			delete(e.loose, f.id)
		}
		if f := &v.fields[h.IntN(len(v.fields))]; v.empty(e) {
			e.values[f.id] = h.value(f) // an event has a value
		}
		written[k] = e
	}
	return h.store(v, written)
}

// empty reports whether an event has none of the fields of a version for sure.
func (v *version) empty(e *stored) bool {
	return !slices.ContainsFunc(v.fields, func(f drawnField) bool { return e.values[f.id] != nil && !e.loose[f.id] })
}

// lose takes over the fields of an event that the code which writes it again does not know.
func (e *stored) lose(was *stored) {
	for id, v := range was.values {
		e.values[id], e.loose[id] = v, true
	}
}

// appends reports whether an event that is written again keeps the values that it no longer
// has.
func (v *version) appends(at time.Time) bool {
	return slices.ContainsFunc(v.tables, func(t drawnTable) bool { return t.at(at).metrics() })
}

// time draws the time of an event, as a version stores it: before now, and often at the edge
// of a layout or that of an earlier event.
func (h *history) time(v *version) time.Time {
	at := h.now.Add(-one(h.random, 0, time.Second, time.Minute, 61*time.Minute, 25*time.Hour, 9*24*time.Hour, 40*24*time.Hour))
	var edges []time.Time
	for _, t := range v.tables {
		for _, l := range t.layouts {
			if !l.since.IsZero() {
				edges = append(edges, l.since)
			}
		}
	}
	switch {
	case len(edges) > 0 && h.chance(2):
		at = one(h.random, edges...).Add(one(h.random, 0, 0, -1, v.precision, -v.precision, -time.Hour, 24*time.Hour))
	case len(h.events) > 0 && h.chance(6):
		for _, k := range places(h.events) {
			if h.chance(3) {
				at = h.events[k].at
			}
		}
	}
	at = at.Truncate(v.precision)
	if at.After(h.now) || !v.alive(at, h.now.Add(time.Hour)) {
		at = h.now.Truncate(v.precision)
	}
	return at
}

// store writes events with the code of a version.
func (h *history) store(v *version, written map[place]*stored) error {
	var events []dynamic.Event
	for _, k := range places(written) {
		e := written[k]
		event := dynamic.Event{Time: e.at, Series: v.given(h.series[e.who])}
		for i := range v.fields {
			event.Values = append(event.Values, convert(v.fields[i].typ, e.values[v.fields[i].id]))
		}
		events = append(events, event)
		h.events[k] = e
	}
	h.count.Events += len(events)
	if err := v.schema.NewWriter(h.bench.client, store.WriterOptions{Now: h.clock}).WriteAll(h.ctx, events); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

func (h *history) clock() time.Time { return h.now }

// given returns the series values of a version.
func (v *version) given(series []any) []any {
	out := make([]any, len(series))
	for i := range series {
		out[i] = convert(v.series[i].typ, series[i])
	}
	return out
}

// backfill reads all events with the old code, and writes them with the new one, as the
// manual says for a table that is added.
func (h *history) backfill(old, newest *version) error {
	written := map[place]*stored{}
	for k, e := range h.events {
		if e.dead || !newest.alive(e.at, h.now) || !e.at.Equal(e.at.Truncate(newest.precision)) {
			e.dead = true // too old, or of a time that can no longer be written
			continue
		}
		again := &stored{who: e.who, at: e.at, until: e.until, values: map[int]any{}, lacks: map[int]any{}, loose: map[int]bool{}}
		again.lose(e)
		for i := range newest.fields {
			f := &newest.fields[i]
			v, ok := e.values[f.id]
			if was := slices.IndexFunc(old.fields, func(o drawnField) bool { return o.id == f.id }); ok && v == nil && was >= 0 && old.fields[was].fallback != "" {
				v = old.layout.Fields[was].Default // what the old code reads
			}
			if v == nil && !f.optional {
				v = newest.layout.Fields[i].Default
			}
			if v == nil && !f.optional {
				return fmt.Errorf("field %s is required, and event %v lacks it", f.name, e)
			}
			again.values[f.id] = v
			delete(again.loose, f.id)
		}
		if newest.inexact(again, nil) {
			e.dead = true // somebody must decide what to write
			continue
		}
		if newest.empty(again) {
			e.dead = true // all its fields are removed
			continue
		}
		written[k] = again
	}
	if err := h.check(old); err != nil { // what a program that copies events reads
		return fmt.Errorf("reading with the old code, to back-fill: %w", err)
	}
	return h.store(newest, written)
}
