package evolve_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/runtime/store"
)

// version is a version of a schema, and the code of it.
type version struct {
	*drawn
	text   []byte
	layout *layout.Layout
	schema *dynamic.Schema
}

// stored is what somebody wrote: what must be read as long as it lives.
type stored struct {
	who    int // the index of its series
	at     time.Time
	class  string       // its TTL class; empty if it has none
	values map[int]any  // by the id of a field; nil for what the event lacks
	lacks  map[int]any  // what the fields that the event lacks were read as: the first default of each
	loose  map[int]bool // the fields that were removed before the event was written again, and may be gone
	until  time.Time    // how long the event must be read
	dead   bool         // it may be read, or not
}

// history is the life of the schemas of a project: edits, and events that are written between
// them.
type history struct {
	*random
	ctx    context.Context
	server *inmemory.Bigtable
	client *bigtable.Client
	now    time.Time
	lives  []*life
	lock   *lock.Lock
	past   []commit // the newest last
	story  []string // what was done
	count  counts
	kinds  map[string]int // how often each kind of edit was tried on data, or refused
}

// commit is what version control has of a project.
type commit struct {
	schemas []*drawn // of each life
	lock    *lock.Lock
}

// life is that of a schema. It is that of the programs that use its name.
type life struct {
	*history
	versions []version // the last one is the newest that was not refused
	removed  []drawnField
	series   [][]any // values of package value, but for unsigned numbers and bytes
	events   map[place]*stored
	used     map[[2]string]bool // tables and families
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
	Classes  int // reads of schemas with TTL classes
	Two      int // reads of a project with two schemas
	Copied   int // edits after which tables were backfilled
	Stale    int // edits with another lock than the one before: reverts, merges and regenerated ones
	Sealed   int // buckets that were summarized
	Runs     int // buckets of which windows were read from rollups
	Inexact  int // events with a value that cannot be converted, and an error
}

// cases returns the number of edits of which package evolve has decided what they do.
func (c *counts) cases() int { return c.Tried + c.Refused }

// add adds other counts.
func (c *counts) add(o counts) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(o)
	for i := range to.NumField() {
		to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
	}
}

// steps is how many edits a history tries on data.
const steps = 8

// live runs the history of a seed on a server that has no other. The error states what was lost, and after which edits.
func live(ctx context.Context, server *inmemory.Bigtable, client *bigtable.Client, seed uint64) (counts, map[string]int, error) {
	h := &history{
		random: &random{Rand: rand.New(rand.NewPCG(seed, 0))}, ctx: ctx, server: server, client: client,
		now: time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC), lock: &lock.Lock{}, kinds: map[string]int{},
	}
	server.Reset()
	err := h.run()
	if err != nil {
		err = fmt.Errorf("%w\n%sat %s", err, strings.Join(h.story, ""), h.now.Format(time.RFC3339))
	}
	return h.count, h.kinds, err
}

func (h *history) run() error {
	h.found()
	for _, l := range h.lives {
		for range 1 + h.IntN(3) {
			if err := l.write(l.newest(), h.IntN(8)); err != nil {
				return err
			}
		}
	}
	for h.count.Tried < steps && h.count.Refused < 5*steps {
		h.now = h.now.Add(one(h.random, time.Minute, time.Hour, 24*time.Hour, 8*24*time.Hour, 35*24*time.Hour, 100*24*time.Hour))
		h.age()
		for _, l := range h.lives {
			if err := l.write(l.newest(), h.IntN(4)); err != nil {
				return err
			}
			if h.chance(2) {
				if err := l.seal(l.newest(), h.chance(3)); err != nil {
					return err
				}
			}
		}
		if err := h.step(); err != nil {
			return err
		}
	}
	return nil
}

// newest returns the newest version.
func (h *life) newest() *version { return &h.versions[len(h.versions)-1] }

// found draws the first schemas, and the series of events.
func (h *history) found() {
	for {
		schemas := []*drawn{h.schema()}
		if h.chance(3) {
			schemas = append(schemas, h.second(schemas[0]))
		}
		versions, ok := h.resolve(schemas)
		if !ok {
			continue
		}
		h.lives = nil
		for _, v := range versions {
			l := &life{history: h, events: map[place]*stored{}, used: map[[2]string]bool{}}
			l.take(v)
			l.name()
			h.lives = append(h.lives, l)
		}
		h.tell("the first schemas", versions)
		h.lock = h.diff(h.lock, versions, h.now).Next(nil)
		h.commit()
		return
	}
}

// second draws a second schema of a project: often one whose tables are like those of the first.
func (r *random) second(first *drawn) *drawn {
	s := r.schema()
	if !r.chance(3) {
		s = first.clone()
		for _, fields := range [][]drawnField{s.series, s.fields} {
			for i := range fields {
				fields[i].id = r.fresh()
			}
		}
	}
	s.name = "Other"
	for i := range s.tables {
		for k := range s.tables[i].layouts {
			l := &s.tables[i].layouts[k]
			if l.families == nil && r.chance(2) { // a shared table
				l.family = map[string]string{"f": "g", "g": "h", "h": "f", "": "g"}[l.family]
			} else {
				l.table = "u" + l.table[1:]
			}
		}
	}
	return s
}

// name draws the series of events.
func (h *life) name() {
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

// resolve resolves the schemas of a project; false if they have errors.
func (h *history) resolve(schemas []*drawn) ([]version, bool) {
	var inputs []gen.Input
	out := make([]version, len(schemas))
	for i, s := range schemas {
		if !s.expressible() {
			return nil, false
		}
		out[i] = version{drawn: s, text: s.YAML()}
		inputs = append(inputs, gen.Input{Name: fmt.Sprintf("s%d.yaml", i), Text: out[i].text})
	}
	r := gen.Resolve(inputs)
	if r.Diagnostics.HasErrors() {
		return nil, false
	}
	for i := range out {
		out[i].layout = r.Layouts[i]
	}
	return out, true
}

// diff compares the versions of all schemas with a lock.
func (h *history) diff(old *lock.Lock, versions []version, now time.Time) *evolve.Comparison {
	var layouts []*layout.Layout
	for _, v := range versions {
		layouts = append(layouts, v.layout)
	}
	return evolve.Diff(evolve.Input{Old: old, Layouts: layouts, Whole: true, Now: now, Gone: gone})
}

// commit records the schemas and the lock.
func (h *history) commit() {
	c := commit{lock: h.lock}
	for _, l := range h.lives {
		c.schemas = append(c.schemas, l.newest().drawn)
	}
	h.past = append(h.past, c)
}

// tell adds an edit to the story.
func (h *history) tell(what string, versions []version) {
	text := "--- " + what + "\n"
	for _, v := range versions {
		text += string(v.text)
	}
	h.story = append(h.story, text)
}

// proposal is an edit before it is reviewed.
type proposal struct {
	name     string
	versions []version // of each life
	changed  []bool    // by life
	findings []evolve.Finding
	compared *evolve.Comparison
	next     *lock.Lock // the lock of the edit; nil if it is that of compared
	stale    bool       // the lock was not made from the one before
}

// has reports whether a finding of an edit is of a rule.
func (p *proposal) has(rule string) bool {
	return slices.ContainsFunc(p.findings, func(f evolve.Finding) bool { return f.Diagnostic.Rule == rule })
}

// worst returns the worst class of the findings.
func (p *proposal) worst() evolve.Class {
	worst := evolve.Safe
	for _, f := range p.findings {
		if f.Accepted == "" {
			worst = min(worst, f.Rule.Class)
		}
	}
	return worst
}

// copies returns the tables that people are told to backfill.
func (p *proposal) copies() (tables []string) {
	for _, f := range p.findings {
		if (f.Rule.Class == evolve.Rollout || f.Diagnostic.Rule == lacking) && strings.Contains(strings.ReplaceAll(f.Diagnostic.Message+f.Diagnostic.Hint, "-", ""), "backfill") {
			_, item, _ := strings.Cut(f.Name, ":")
			table, _, _ := strings.Cut(item, "/")
			tables = append(tables, table)
		}
	}
	return tables
}

// step draws an edit that is a schema. If package evolve does not refuse it, old and new code
// write, and the new code reads all there is.
func (h *history) step() error {
	p, ok := h.propose()
	if !ok {
		h.count.Invalid++
		return nil
	}
	for _, kind := range strings.Split(p.name, "; ") {
		h.kinds[kind]++
	}
	what := p.name
	for _, f := range p.findings {
		what += fmt.Sprintf("\n    %s %s: %s", f.Rule.Class, f.Name, f.Diagnostic.Message)
	}
	if p.stale {
		h.count.Stale++
	}
	if strings.HasPrefix(p.name, mergedBranches) && p.has(forgotten) {
		h.tell(what, p.versions)
		return errors.New("the locks of two branches are joined, and a fact of one is forgotten")
	}
	if p.worst() == evolve.Data {
		h.count.Refused++
		if p.name == inNewTable && h.unused(p) {
			h.tell(what, p.versions)
			return errors.New("a layout that begins in another table moves no events, and is refused")
		}
		if p.stale || !h.chance(map[bool]int{true: 2, false: 12}[onlyLacking(p.findings)]) {
			return nil
		}
		h.tell(what+"\n    accepted", p.versions)
		return h.accept(p)
	}
	h.count.Tried++
	h.tell(what, p.versions)
	if err := h.deploy(p); err != nil {
		return err
	}
	h.lock = p.lock()
	if !p.stale {
		if err := h.review(p); err != nil {
			return err
		}
	}
	if h.chance(8) {
		again, err := lock.Parse(lock.Name, h.lock.Text())
		if err != nil {
			return fmt.Errorf("the lock cannot be read: %w\n%s", err, h.lock.Text())
		}
		h.lock = again
	}
	h.commit()
	return nil
}

// review compares the lock of an edit with the one before it, as in CI. Of what generate made,
// nothing may be missing.
func (h *history) review(p *proposal) error {
	if !h.chance(4) {
		return nil
	}
	before := len(p.compared.Findings)
	p.compared.MarkAccepted(h.lock, h.diff(h.lock, p.versions, h.now))
	p.compared.AddForgotten(h.lock, gone, "git checkout main --")
	if n := len(p.compared.Findings); n > before {
		return fmt.Errorf("%d facts are missing in the lock that generate made: %v", n-before, p.compared.Refused(nil))
	}
	for _, f := range p.compared.Findings {
		if f.Rule.Class == evolve.Data && f.Accepted == "" {
			return fmt.Errorf("%s was accepted, but the lock does not say so", f.Name)
		}
	}
	return nil
}

// lock returns the lock of an edit.
func (p *proposal) lock() *lock.Lock {
	if p.next != nil {
		return p.next
	}
	return p.compared.Next(nil)
}

// take makes a version the newest, and remembers the fields that it no longer has.
func (h *life) take(v version) {
	v.schema = dynamic.New(v.layout)
	for _, place := range v.places() {
		h.used[place] = true
	}
	if h.versions == nil {
		h.versions = []version{v}
		return
	}
	before := h.newest()
	for _, f := range before.fields {
		if !slices.ContainsFunc(v.fields, func(o drawnField) bool { return o.id == f.id }) {
			// After an accepted change, it may have the place of another one, whose events are gone.
			h.removed = slices.DeleteFunc(h.removed, func(o drawnField) bool { return o.id != f.id && o.samePlace(&f) })
			h.removed = append(h.removed, f)
		}
	}
	for _, e := range h.events {
		v.promise(e)
		for i := range v.tables { // a table that is added keeps what its own age says, and may take over the reads
			t := &v.tables[i]
			known := slices.ContainsFunc(before.tables, func(o drawnTable) bool { return o.layouts[0].table == t.layouts[0].table })
			if end := t.end(e.at, e.class); !known && end.Before(e.until) {
				e.until = end
			}
		}
	}
	h.versions = append(h.versions, v)
}

// places returns the tables and families of all layouts.
func (s *drawn) places() (out [][2]string) {
	for _, t := range s.tables {
		for i := range t.layouts {
			out = append(out, t.layouts[i].places()...)
		}
	}
	return out
}

// places returns the table of a layout, with each of its families.
func (l *drawnLayout) places() (out [][2]string) {
	for _, r := range l.rules() {
		out = append(out, [2]string{l.table, r.family})
	}
	if l.rollup.family != "" {
		out = append(out, [2]string{l.table, l.rollup.family})
	}
	return out
}

// promise notes what an event is read with in place of the fields that it lacks. It stays so,
// even if the version no longer has the field.
func (v *version) promise(e *stored) {
	for i := range v.fields {
		f := &v.fields[i]
		if _, ok := e.lacks[f.id]; !ok && f.fallback != "" && (e.values[f.id] == nil || e.loose[f.id]) {
			e.lacks[f.id] = v.layout.Fields[i].Default
		}
	}
}

// unused reports whether no schema has ever had a place of a newest layout that is new in an edit:
// a family of a table that a schema had may have events of it, even if it is removed.
func (h *history) unused(p *proposal) bool {
	for i, v := range p.versions {
		known := h.lives[i].newest().places()
		for _, t := range v.tables {
			for _, place := range t.layouts[0].places() {
				was := func(l *life) bool { return l.used[place] }
				if !slices.Contains(known, place) && slices.ContainsFunc(h.lives, was) {
					return false
				}
			}
		}
	}
	return true
}

const (
	lacking    = "E21" // reads from a table that must be backfilled before
	forgotten  = "E23" // a lock that lacks facts of the one before
	serving    = "E25" // a rollup that serves reads, and that all programs must maintain before
	rollupIdle = "E46" // a rollup that is added, and serves no reads
)

// onlyLacking reports whether people can accept the changes without a loss: if they backfill.
func onlyLacking(findings []evolve.Finding) bool {
	return !slices.ContainsFunc(findings, func(f evolve.Finding) bool { return f.Rule.Class == evolve.Data && !lossless(&f) })
}

// lossless reports whether a change of class Data can be accepted without a loss: if a table was filled, or all programs
// maintain a rollup.
func lossless(f *evolve.Finding) bool {
	return f.Diagnostic.Rule == lacking || f.Diagnostic.Rule == serving && f.Old == "serves: false"
}

// accept accepts all changes: the stored events of the tables may be lost, and therefore are
// deleted. Tables that lack events are filled.
func (h *history) accept(p *proposal) error {
	var arguments []string
	lost := make([]bool, len(h.lives))
	for _, f := range p.findings {
		if f.Rule.Class != evolve.Data {
			continue
		}
		arguments = append(arguments, f.Name+"=nothing is stored")
		if lossless(&f) {
			continue
		}
		_, item, _ := strings.Cut(f.Name, ":")
		table, _, _ := strings.Cut(item, "/")
		for i, l := range h.lives {
			lost[i] = lost[i] || l.newest().stands(table) || p.versions[i].stands(table)
		}
	}
	if !slices.Contains(lost, true) && !onlyLacking(p.findings) { // a table that was removed before
		for i := range lost {
			lost[i] = true
		}
	}
	accepted, err := p.compared.Accept(arguments)
	if err != nil {
		return err
	}
	if refused := p.compared.Refused(accepted); len(refused) > 0 {
		return fmt.Errorf("%d changes are accepted, and still refused: %v", len(arguments), refused)
	}
	h.count.Accepted++
	if !slices.Contains(lost, false) {
		h.server.Reset()
	}
	for i, l := range h.lives {
		if !lost[i] {
			continue
		}
		if err := h.empty(l); err != nil {
			return err
		}
		clear(l.events)
		if p.changed[i] {
			l.take(p.versions[i])
			p.changed[i] = false
		}
		l.name() // enums may have other values
	}
	if err := h.deploy(p); err != nil { // what the others have must still be there
		return fmt.Errorf("after changes of other tables were accepted: %w", err)
	}
	h.lock = p.compared.Next(accepted)
	if err := h.review(p); err != nil {
		return err
	}
	h.commit()
	return nil
}

// stands reports whether a layout of a version is in a table.
func (s *drawn) stands(table string) bool {
	return slices.ContainsFunc(s.tables, func(t drawnTable) bool {
		return slices.ContainsFunc(t.layouts, func(l drawnLayout) bool { return l.table == table })
	})
}

// empty deletes what a life has stored, except from families of others.
func (h *history) empty(l *life) error {
	places := maps.Clone(l.used)
	for _, other := range h.lives {
		if other != l {
			for _, place := range other.newest().places() {
				delete(places, place)
			}
		}
	}
	return h.remove(slices.SortedFunc(maps.Keys(places), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }), 1<<60)
}

// remove deletes the cells of families that have earlier timestamps.
func (h *history) remove(places [][2]string, before bigtable.Timestamp) error {
	for _, place := range places {
		table, family := h.client.Open(place[0]), place[1]
		var keys []string
		var deletions []*bigtable.Mutation
		err := table.ReadRows(h.ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			m := bigtable.NewMutation()
			for _, item := range row[family] {
				if item.Timestamp < before {
					m.DeleteTimestampRange(family, strings.TrimPrefix(item.Column, family+":"), 0, before)
					keys, deletions = append(keys, row.Key()), append(deletions, m)
				}
			}
			return true
		})
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if _, err := table.ApplyBulk(h.ctx, keys, deletions); err != nil {
				return err
			}
		}
	}
	return nil
}

// deploy runs old and new code side by side, as the class of the edit allows, and checks what
// they read.
func (h *history) deploy(p *proposal) error {
	for i, l := range h.lives {
		if p.changed[i] {
			l.take(p.versions[i])
			if err := l.write(&l.versions[len(l.versions)-2], h.IntN(3)); err != nil { // not all programs run the new code yet
				return err
			}
		}
	}
	h.age()
	if told := p.copies(); told != nil || strings.Contains(p.name, "serves") && h.chance(2) { // tables that begin to serve, which careful people fill
		h.count.Copied++
		if h.chance(2) {
			told = nil
		}
		for i, l := range h.lives {
			if p.changed[i] {
				if err := l.backfill(&l.versions[len(l.versions)-2], l.newest(), told); err != nil {
					return err
				}
			}
		}
	}
	if p.has("E72") { // what has expired is deleted by now
		for i, l := range h.lives {
			if p.changed[i] {
				if err := l.collect(&l.versions[len(l.versions)-2]); err != nil {
					return err
				}
			}
		}
	}
	for i, l := range h.lives {
		if p.changed[i] {
			if err := l.write(l.newest(), h.IntN(3)); err != nil {
				return err
			}
			if h.chance(2) || p.has(rollupIdle) {
				if err := l.seal(l.newest(), true); err != nil {
					return err
				}
			}
		}
	}
	if len(h.lives) > 1 {
		h.count.Two++
	}
	for _, l := range h.lives {
		if err := l.check(l.newest()); err != nil {
			return fmt.Errorf("schema %s: %w", l.newest().drawn.name, err)
		}
	}
	if p.worst() != evolve.Safe {
		return nil
	}
	h.count.Safe++
	for i, l := range h.lives {
		if p.changed[i] {
			if err := l.check(&l.versions[len(l.versions)-2]); err != nil {
				return fmt.Errorf("programs with the old code of %s, after an edit of class SAFE: %w", l.newest().drawn.name, err)
			}
		}
	}
	return nil
}

// age marks the events that have outlived the longest age that any version promised them while
// they lived.
func (h *history) age() {
	for _, l := range h.lives {
		for _, e := range l.events {
			e.dead = e.dead || !e.until.After(h.now.Add(time.Second))
			if end := l.newest().end(e.at, e.class); end.After(e.until) && !e.dead {
				e.until = end
			}
		}
	}
}

// collect deletes cells as Bigtable does: a week after they expired, for sure.
func (h *life) collect(v *version) error {
	for _, t := range v.tables {
		for i := range t.layouts {
			for _, r := range t.layouts[i].rules() {
				if ages[r.ttl] == 0 {
					continue
				}
				if err := h.remove([][2]string{{t.layouts[i].table, r.family}}, bigtable.Time(h.now.Add(-ages[r.ttl]-7*24*time.Hour))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// alive reports whether no table lets an event of a time expire until now.
func (v *version) alive(at time.Time, class string, now time.Time) bool {
	return v.end(at, class).After(now.Add(time.Second))
}

// end returns when the first table lets an event of a time expire, or a part of it.
func (v *version) end(at time.Time, class string) time.Time {
	end := always.To
	for i := range v.tables {
		if own := v.tables[i].end(at, class); own.Before(end) {
			end = own
		}
	}
	return end
}

// end returns when an event of a time expires in a table, or a part of it.
func (t *drawnTable) end(at time.Time, class string) time.Time {
	end := always.To
	for _, r := range t.at(at).rules() {
		if age := ages[r.ttl]; age > 0 && (r.class == "" || r.class == class) && at.Add(age).Before(end) {
			end = at.Add(age)
		}
	}
	return end
}

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
func (h *life) write(v *version, n int) error {
	written := map[place]*stored{}
	for range n {
		class := v.class(h.random, "")
		at := h.time(v, class)
		until := v.end(at, class)
		if end := h.newest().end(at, class); end.Before(until) { // old code does not write to a table that is new
			until = end
		}
		e := &stored{who: h.IntN(len(h.series)), at: at, class: class, until: until, values: map[int]any{}, lacks: map[int]any{}, loose: map[int]bool{}}
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
	return h.store(v, written, nil)
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
func (h *life) time(v *version, class string) time.Time {
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
	if at.After(h.now) || !v.alive(at, class, h.now.Add(time.Hour)) {
		at = h.now.Truncate(v.precision)
	}
	return at
}

// store writes events with the code of a version, to some of its tables; nil for all.
func (h *life) store(v *version, written map[place]*stored, tables []string) error {
	var events []dynamic.Event
	for _, k := range places(written) {
		e := written[k]
		event := dynamic.Event{Time: e.at, Series: v.given(h.series[e.who]), Class: 1 + slices.Index(v.layout.Classes, e.class)}
		for i := range v.fields {
			event.Values = append(event.Values, convert(v.fields[i].typ, e.values[v.fields[i].id]))
		}
		events = append(events, event)
		h.events[k] = e
	}
	h.count.Events += len(events)
	mappings := slices.DeleteFunc(v.schema.Mappings(), func(m *store.Mapping) bool {
		return tables != nil && !slices.Contains(tables, m.Table.ID)
	})
	if err := store.NewWriter(h.client, mappings, store.WriterOptions{Now: h.clock}).WriteAll(h.ctx, store.ListOf(events)); err != nil {
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

// backfill reads all events with the old code, and writes them with the new one to some tables,
// or to all, as the manual says for a table that is added. What an event lacked, a default
// replaces in these tables only.
func (h *life) backfill(old, newest *version, tables []string) error {
	if tables != nil && !slices.ContainsFunc(newest.tables, func(t drawnTable) bool { return slices.Contains(tables, t.layouts[0].table) }) {
		return nil // those of another schema
	}
	written := map[place]*stored{}
	for _, k := range places(h.events) {
		e := h.events[k]
		class := newest.class(h.random, e.class)
		if e.dead || !newest.alive(e.at, class, h.now) || !e.at.Equal(e.at.Truncate(newest.precision)) {
			e.dead = true // too old, or of a time that can no longer be written
			continue
		}
		again := &stored{who: e.who, at: e.at, class: class, until: e.until, values: map[int]any{}, lacks: map[int]any{}, loose: map[int]bool{}}
		if end := newest.end(e.at, class); end.Before(e.until) {
			again.until = end
		}
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
			if some := tables != nil && (e.values[f.id] == nil || e.loose[f.id]); some {
				again.loose[f.id] = true // other tables still lack it
			} else {
				delete(again.loose, f.id)
			}
		}
		if tables != nil {
			again.lacks = maps.Clone(e.lacks)
			newest.promise(again)
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
		return fmt.Errorf("reading with the old code, to backfill: %w", err)
	}
	return h.store(newest, written, tables)
}
