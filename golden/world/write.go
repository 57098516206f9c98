package world

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// draw draws events, of which no two are the same.
func (p *play) draw(most int) (out []dynamic.Event) {
	seen := map[string]bool{}
	for range 1 + p.IntN(most) {
		e := p.event()
		at := p.truth.truncated(e)
		if !seen[place(&at)] {
			seen[place(&at)] = true
			out, p.known = append(out, e), append(p.known, at)
		}
	}
	return out
}

// write writes events with one of the methods that do.
func (p *play) write() error {
	if p.chance(4) {
		e, w := p.draw(1), p.program()
		p.note("%v", shown(e))
		return p.writes(e, func() error { return w.write(p.ctx, e[0]) }, nil)
	}
	return p.writeAll(p.draw(6))
}

// writeAll writes events at once, sometimes with later versions of some of them.
func (p *play) writeAll(events []dynamic.Event) error {
	w, o := p.program(), store.WriteOptions{LastWins: p.chance(5)}
	for _, e := range events {
		if v := p.event(); o.LastWins && p.chance(2) {
			v.Series, v.Time, v.Sequence = e.Series, e.Time, e.Sequence
			events = append(events, v)
		}
	}
	p.note("%v", shown(events))
	return p.writes(events, func() error { return w.writeAll(p.ctx, events, o) }, nil)
}

// writeSeries writes events of a series in several buckets, with gaps between some of them, and looks for the
// newest one later.
func (p *play) writeSeries() error {
	steps := []time.Duration{time.Hour, 26 * time.Hour}
	for _, t := range p.layout.AllPeriods() {
		if t.Pattern.Bucketed() && !t.Endless() {
			steps = append(steps, t.Bucket.Widest())
		}
	}
	of, step := p.someSeries(), anyOf(p, steps)
	at := p.now.Add(anyOf(p, []time.Duration{0, 0, step})) // clocks of writers may be ahead
	var events []dynamic.Event
	for range 2 + p.IntN(10) {
		e := p.event()
		e.Series, e.Time, e.Sequence = of, at, 0
		if at = at.Add(-step * anyOf(p, []time.Duration{1, 1, 1, 3})); at.Before(time.Unix(1, 0)) {
			break
		}
		known := p.truth.truncated(e)
		if n := len(events); n > 0 && p.truth.truncated(events[n-1]).Time.Equal(known.Time) {
			continue
		}
		events, p.known = append(events, e), append(p.known, known)
	}
	if len(events) == 0 {
		return nil
	}
	if err := p.writeAll(events); err != nil {
		return err
	}
	p.now = p.now.Add(anyOf(p, []time.Duration{0, step, 3 * step}))
	return errors.Join(p.latestOf(of, of), p.latestOf(of, p.someSeries()))
}

// merge writes events that keep what is stored of the fields that they lack, or are refused.
func (p *play) merge() error {
	var events []dynamic.Event
	for range 1 + p.IntN(3) {
		e := p.wanted()
		for range 1 + p.IntN(2) {
			e.Values = p.event().Values
			for i, f := range p.layout.Fields {
				if f.Optional && p.chance(2) {
					e.Values[i] = nil
				}
			}
			events, p.known = append(events, e), append(p.known, p.truth.truncated(e))
		}
	}
	p.note("%v", shown(events))
	w, o := p.program(), store.WriteOptions{Merge: true}
	if !mergeable(p.layout) {
		err := w.writeAll(p.ctx, events, o)
		if _, refused := errors.AsType[*store.MergeError](err); !refused {
			return fmt.Errorf("merged events are not refused: %w", err)
		}
		return nil
	}
	p.merging = true
	defer func() { p.merging = false }()
	return p.writes(events, func() error { return w.writeAll(p.ctx, events, o) }, nil)
}

// mergeable reports whether all tables of a schema keep the cells of a field while others are written.
func mergeable(l *layout.Layout) bool {
	return len(l.Classes) == 0 && !slices.ContainsFunc(l.AllPeriods(), func(t *layout.Table) bool {
		free := slices.ContainsFunc(t.Families, func(f layout.Family) bool { return !f.Life.EventTimed() })
		return t.Pattern.OneValue() || !t.Pattern.Bucketed() && free
	})
}

// writeWithout writes events with a program that does not have one of the tables yet.
func (p *play) writeWithout() error {
	if len(p.layout.Tables) < 2 || p.layout.State != nil {
		return nil
	}
	return p.writeLess(anyOf(p, p.layout.Tables))
}

// writeLess writes events to all tables but one, which may have older versions of them.
func (p *play) writeLess(without *layout.Table) error {
	less := *p.layout
	p.without = without
	defer func() { p.without = nil }()
	less.Tables = slices.DeleteFunc(slices.Clone(less.Tables), func(t *layout.Table) bool { return t == p.without })
	w := dynamic.New(&less).NewWriter(p.client(), store.WriterOptions{TablePrefix: p.prefix, Now: p.clock})
	events := p.draw(2)
	for range 3 {
		e := p.wanted() // of which the table has an older version
		if at := p.truth.truncated(e); !slices.ContainsFunc(events, func(o dynamic.Event) bool { o = p.truth.truncated(o); return place(&o) == place(&at) }) {
			events, p.known = append(events, e), append(p.known, at)
		}
	}
	p.note("%s %v", p.without.ID, shown(events))
	return p.writes(events, func() error { return w.WriteAll(p.ctx, events) }, nil)
}

// rewrite writes events as they were read.
func (p *play) rewrite() error {
	s := p.selection()
	events, err := collected(p.program().read(p.ctx, &s, time.Time{}, p.end(), store.ReadOptions{}))
	if err != nil || len(events) == 0 {
		return err
	}
	var once []dynamic.Event
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[place(&e)] {
			seen[place(&e)] = true
			once = append(once, e)
		}
	}
	return p.writeAll(once)
}

// writeBatches writes events with a batcher.
func (p *play) writeBatches() error {
	events, w := p.draw(8), p.program()
	p.note("%v", shown(events))
	return p.writes(events, func() error {
		var mu sync.Mutex
		all := &store.WriteError{}
		report := func(e dynamic.Event, err error) {
			mu.Lock()
			defer mu.Unlock()
			i := slices.IndexFunc(events, func(o dynamic.Event) bool { return place(&o) == place(&e) })
			for _, f := range failuresOf(err) {
				f.Index = i
				all.Failures = append(all.Failures, f)
			}
		}
		w.batch(p.ctx, events, report, store.BatcherOptions{MaxEvents: 1 + len(events)/2})
		if len(all.Failures) == 0 {
			return nil
		}
		return all
	}, nil)
}

// writeVersions writes two versions of the newest event, one of which comes last in the row of the newest events
// and not in the others.
func (p *play) writeVersions() error {
	if p.layout.State == nil {
		return nil
	}
	e, w := p.event(), p.program()
	e.Time = p.now
	p.known = append(p.known, p.truth.truncated(e))
	for _, skip := range []int{p.IntN(3), -1} {
		e.Values = p.event().Values
		events := []dynamic.Event{e}
		p.note("%v", shown(events))
		if err := p.writes(events, func() error {
			if skip >= 0 {
				p.faults.arm(late, "", skip, 0, codes.Unavailable)
				p.struck = true
				defer p.faults.disarm()
			}
			return w.writeAll(p.ctx, events, store.WriteOptions{})
		}, nil); err != nil {
			return err
		}
	}
	p.written()
	return errors.Join(p.latest(), p.latest(), p.latest())
}

// failuresOf returns the failures of a call that are about events.
func failuresOf(err error) []store.Failure {
	var out []store.Failure
	if w, ok := errors.AsType[*store.WriteError](err); ok {
		out = w.Failures
	} else if err != nil {
		out = append(out, store.Failure{Outcome: store.Refused, Err: err})
	}
	return out
}

// writeAbsent writes events that do not exist.
func (p *play) writeAbsent() error {
	if slices.ContainsFunc(p.layout.AllPeriods(), func(t *layout.Table) bool { return t.Metrics() }) {
		return nil
	}
	events, w := p.draw(3), p.program()
	if p.layout.State != nil && p.chance(2) {
		events, p.focused = events[:1], true
		events[0].Time = p.now
		p.known = append(p.known, p.truth.truncated(events[0]))
	}
	p.note("%v", shown(events))
	exists := func(t *layout.Table, e dynamic.Event) bool {
		e = p.truth.truncated(e)
		return slices.ContainsFunc(p.truth.live(t, p.now), func(l living) bool { return place(&l.Event) == place(&e) })
	}
	if err := p.writes(events, func() error { return w.writeAll(p.ctx, events, store.WriteOptions{IfAbsent: true}) }, exists); err != nil {
		return err
	}
	if p.layout.State != nil {
		return errors.Join(p.latestOf(events[0].Series, p.someSeries()), p.absent(events))
	}
	return p.absent(events)
}

// writeKnown writes known events as absent.
func (p *play) writeKnown() error {
	if len(p.known) == 0 {
		return nil
	}
	events := []dynamic.Event{anyOf(p, p.known), anyOf(p, p.known), anyOf(p, p.known)}
	p.note("%v", shown(events))
	return p.absent(events)
}

// absent writes those of some events that all tables have, unless they are absent. That changes nothing, but in
// rows that lack the newest event: once.
func (p *play) absent(of []dynamic.Event) error {
	var events []dynamic.Event
	for _, e := range of {
		known, has := p.truth.truncated(e), 0
		for _, t := range p.layout.Tables {
			for _, l := range p.truth.live(t, p.now) {
				if place(&l.Event) == place(&known) && !t.Metrics() {
					e, has = l.versions[0].event, has+1
				}
			}
		}
		if p.layout.State != nil {
			has++
		}
		refuses := func(t *layout.Table) bool { // what it has was written with another expiry
			_, err := p.truth.version(periodOf(t, e.Time), p.now, e)
			return !t.Pattern.NewestOnly() && err != nil
		}
		if has == len(p.layout.Tables) && !slices.ContainsFunc(p.layout.Tables, refuses) {
			events = append(events, e)
		}
	}
	for n := range 3 {
		before, err := p.dump(n == 0)
		if err != nil || len(events) == 0 {
			return err
		}
		err = p.program().writeAll(p.ctx, events, store.WriteOptions{IfAbsent: true})
		for _, f := range failuresOf(err) {
			if !errors.Is(f.Err, store.ErrExists) {
				return fmt.Errorf("%w, and all exist", err)
			}
		}
		after, failed := p.dump(n == 0)
		if failed != nil || before != after {
			return fmt.Errorf("write %d of events that exist changes %s to %s, %w", n, before, after, failed)
		}
	}
	return nil
}

// dump describes the cells of all tables, without that of the newest events if rows there may change.
func (p *play) dump(mayMark bool) (text string, err error) {
	var out []string
	for _, id := range p.tableIDs() {
		if mayMark && id == p.faults.latest {
			continue
		}
		err = errors.Join(err, p.eachCell(id, func(row, _ string, c bigtable.ReadItem, _ int) {
			out = append(out, fmt.Sprintf("%s %q %q %d %q", id, row, c.Column, c.Timestamp, c.Value))
		}))
	}
	slices.Sort(out)
	return strings.Join(out, "; "), err
}

// writes calls a method that writes events, and compares those that it refuses with the truth. exists reports whether
// an event is not written because a table has it; nil if all are written.
func (p *play) writes(events []dynamic.Event, call func() error, exists func(t *layout.Table, e dynamic.Event) bool) error {
	p.changed(events...)
	final, struck := p.faulty(call)
	if struck {
		final = call()
	}
	p.faults.arrive(func(c lateCopy) bool { return !c.latest })
	for _, f := range failuresOf(final) {
		if f.Outcome != store.Refused && f.Outcome != store.Exists {
			return final
		}
	}
	for i, e := range events {
		for _, t := range p.layout.Tables {
			if t.Pattern.NewestOnly() || t == p.without {
				continue
			}
			got := failureOf(final, i, p.prefix, t)
			if exists != nil && exists(t, e) {
				if got != nil && !errors.Is(got, store.ErrExists) && !errors.Is(got, codec.ErrExpired) {
					return fmt.Errorf("table %s: event %v: %w, and it exists", t.ID, e, got)
				}
				continue
			}
			want := p.refusal(e)
			if want == nil {
				write := p.truth.write
				if p.merging {
					write = p.truth.merge
				}
				want = write(t, p.now, e)
			}
			if exists != nil && errors.Is(got, store.ErrExists) {
				got = nil // the first call wrote it
			}
			if (want == nil) != (got == nil) || want != nil && !errors.Is(got, want) && !errors.Is(got, codec.ErrExpired) {
				return fmt.Errorf("table %s: event %v: %v, want %v", t.ID, e, got, want)
			}
		}
	}
	return nil
}

// refusal returns why no table stores an event: one of them cannot, for another reason than that it would expire
// there.
func (p *play) refusal(e dynamic.Event) error {
	e = p.truth.truncated(e)
	for _, t := range p.layout.Tables {
		if t.Pattern.NewestOnly() || t == p.without {
			continue
		}
		if _, err := p.truth.version(periodOf(t, e.Time), p.now, e); err != nil && err != codec.ErrExpired {
			return err
		}
	}
	return nil
}

// failureOf returns why a table did not store an event; nil if it did.
func failureOf(err error, i int, prefix string, t *layout.Table) error {
	for _, f := range failuresOf(err) {
		in := f.Table == "" || slices.ContainsFunc(t.Periods(), func(p *layout.Table) bool { return f.Table == prefix+p.ID })
		if f.Index == i && in {
			return f.Err
		}
	}
	return nil
}

// shown describes events.
func shown(events []dynamic.Event) string {
	text := ""
	for i := range events {
		e := &events[i]
		text += fmt.Sprintf("[%q %s #%d %v", e.Series, e.Time.UTC().Format(time.RFC3339Nano), e.Sequence, e.Values)
		if e.Class != 0 {
			text += fmt.Sprint(" class ", e.Class)
		}
		if e.TTL != 0 || !e.ExpiresAt.IsZero() {
			text += fmt.Sprint(" expires ", e.TTL, e.ExpiresAt)
		}
		text += "]"
	}
	return text
}

// wanted draws the place of an event, which mostly was written.
func (p *play) wanted() dynamic.Event {
	e := p.event()
	if len(p.known) > 0 && !p.chance(5) {
		k := anyOf(p, p.known)
		e.Series, e.Time, e.Sequence = k.Series, k.Time, k.Sequence
	}
	return e
}

// deletes calls a method that deletes events. It counts those that are alive, as a dry run before it does, and the
// next call deletes nothing.
func (p *play) deletes(call func(o store.DeleteOptions) (store.Deletion, error), gone func(e *dynamic.Event) bool) error {
	dry, got, dried, alive := store.Deletion{}, store.Deletion{}, p.chance(4), 0
	if dried {
		for _, t := range p.layout.Tables {
			if !t.Pattern.NewestOnly() {
				alive = max(alive, len(slices.DeleteFunc(p.truth.live(t, p.now), func(l living) bool { return !gone(&l.Event) })))
			}
		}
		var err error
		if dry, err = call(store.DeleteOptions{DryRun: true}); err != nil {
			return fmt.Errorf("a dry run: %w", err)
		}
	}
	p.written()
	p.faults.deletes = true
	err := p.repeated(func() (err error) { got, err = call(store.DeleteOptions{}); return err })
	p.faults.deletes = false
	p.changedAll(gone)
	p.truth.remove(gone)
	if err != nil || !dried {
		return err
	}
	for i, of := range got.Tables {
		if !p.struck && dry.Tables[i].Events != of.Events {
			return fmt.Errorf("%d events are deleted, %d by a dry run, of table %s", of.Events, dry.Tables[i].Events, of.Table)
		}
	}
	if !p.struck && got.Events() < alive {
		return fmt.Errorf("%d events are deleted, and %d are alive", got.Events(), alive)
	}
	if got, err = call(store.DeleteOptions{}); err == nil && got.Events() > 0 {
		return fmt.Errorf("%d events are deleted again", got.Events())
	}
	return err
}

// deleteEvents deletes single events.
func (p *play) deleteEvents() error {
	var events []dynamic.Event
	gone := map[string]bool{}
	for range 1 + p.IntN(3) {
		e := p.wanted()
		at := p.truth.truncated(e)
		events, gone[place(&at)] = append(events, e), true
		p.known = append(p.known, at) // a deletion that is killed may leave a mark of its series
	}
	p.note("%v", shown(events))
	w := p.program()
	return p.deletes(func(o store.DeleteOptions) (store.Deletion, error) { return w.remove(p.ctx, events, o) },
		func(e *dynamic.Event) bool { return gone[place(e)] })
}

// deleteSelection deletes the events of a selection in a range of times.
func (p *play) deleteSelection() error {
	s, w := p.selection(), p.program()
	from, to := p.span()
	if !s.deletes {
		return nil
	}
	p.note("%s from %v to %v", s.name, from, to)
	gone := s.matches
	if s.where != nil { // it deletes what the query returns
		found := map[string]bool{}
		for _, l := range p.truth.live(s.table, p.now) {
			if s.matches(&l.Event) && s.where(&l) {
				found[place(&l.Event)] = true
			}
		}
		gone = func(e *dynamic.Event) bool { return found[place(e)] }
	}
	return p.deletes(func(o store.DeleteOptions) (store.Deletion, error) { return w.removeRange(p.ctx, &s, from, to, o) },
		func(e *dynamic.Event) bool { return gone(e) && !e.Time.Before(from) && e.Time.Before(to) })
}

// deleteAll deletes everything of a selection.
func (p *play) deleteAll() error {
	s, w := p.selection(), p.program()
	if !s.deletes || s.where != nil {
		return nil
	}
	p.note("%s", s.name)
	return p.deletes(func(o store.DeleteOptions) (store.Deletion, error) { return w.removeAll(p.ctx, &s, o) }, s.matches)
}

// replace replaces an event by another one that all tables store.
func (p *play) replace() error {
	old, updated, w := p.wanted(), p.event(), p.program()
	o := newTruth(p.layout)
	for _, t := range p.layout.Tables {
		if o.write(t, p.now, updated) != nil {
			return nil
		}
	}
	p.note("%s by %s", shown([]dynamic.Event{old}), shown([]dynamic.Event{updated}))
	p.written()
	p.changed(old, updated)
	if err := p.repeated(func() error { return w.replace(p.ctx, old, updated) }); err != nil {
		return err
	}
	old = p.truth.truncated(old)
	p.truth.remove(func(e *dynamic.Event) bool { return place(e) == place(&old) })
	for _, t := range p.layout.Tables {
		if err := p.truth.write(t, p.now, updated); err != nil {
			return err
		}
	}
	p.known = append(p.known, p.truth.truncated(updated))
	return nil
}
