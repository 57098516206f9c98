package world

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// rollup summarizes events.
func (p *play) rollup() error {
	if !slices.ContainsFunc(p.layout.Tables, (*layout.Table).Rolled) {
		return nil
	}
	return p.rollupOf(p.chance(3))
}

// rollupOf summarizes events: only those of buckets that have changed, or all. Afterwards, all summaries are right.
func (p *play) rollupOf(all bool) error {
	client, o := p.client(), store.RollupOptions{TablePrefix: p.prefix, Now: p.clock, All: all, Sleep: noSleep, Checkpoint: p.checkpoint()}
	share := 0.0
	if o.Progress = func(r store.RollupProgress) { share = r.Share }; p.chance(2) {
		o.Rate, o.Consistent = 1e9, p.bt.Admin.WaitForReplication
	}
	p.faults.arrive(func(lateCopy) bool { return true })
	if p.chance(3) {
		if err := p.rollupParts(client, o); err != nil {
			return err
		}
	}
	var r store.RollupReport
	if err := p.repeated(func() (err error) {
		r, err = p.schema.Rollup(p.ctx, client, o)
		return err
	}); err != nil {
		return err
	}
	if share != 1 {
		return fmt.Errorf("%v of all is summarized at the end", share)
	}
	p.summaries()
	o.Checkpoint, o.DryRun, o.All = "", true, false
	if again, err := p.schema.Rollup(p.ctx, client, o); err != nil || again.Noted > 0 {
		return fmt.Errorf("%d buckets are left of %+v, %w", again.Noted, r, err)
	}
	return p.summarizedRight()
}

// rollupParts summarizes events in the steps of a pipeline. Some are written between the steps.
func (p *play) rollupParts(client store.Client, o store.RollupOptions) error {
	p.note("in steps")
	steps, err := p.schema.RollupParts(client, o)
	if err != nil {
		return err
	}
	return p.inSteps(steps)
}

// inSteps executes the steps of a pipeline. Events are written between the steps of a rollup.
func (p *play) inSteps(steps store.JobParts) error {
	first, err := p.notes(steps, steps.First())
	if err != nil {
		return err
	}
	if _, rollup := steps.(*store.RollupParts); rollup && p.chance(2) {
		if err := p.writeAll(p.draw(2)); err != nil {
			return err
		}
	}
	var oldest time.Time
	if err := each(p, first, func(n store.JobNote) error {
		at, _, err := steps.Do(p.ctx, n)
		if oldest.IsZero() || !at.IsZero() && at.Before(oldest) {
			oldest = at
		}
		return err
	}); err != nil {
		return err
	}
	var wrong []store.JobNote
	for _, n := range first {
		differs := false
		if err := p.repeated(func() (err error) {
			differs, err = steps.Differs(p.ctx, n)
			return err
		}); err != nil {
			return err
		}
		if differs {
			wrong = append(wrong, n)
		}
	}
	left, err := p.notes(steps, steps.Left(oldest))
	if err != nil {
		return err
	}
	return each(p, append(wrong, left...), func(n store.JobNote) error {
		_, err := steps.Settle(p.ctx, n)
		return err
	})
}

// notes returns what is found in tables.
func (p *play) notes(steps store.JobParts, tables []store.JobTable) (all []store.JobNote, err error) {
	for _, t := range tables {
		var ranges []store.KeyRange
		if err := p.repeated(func() (err error) {
			ranges, err = steps.Splits(p.ctx, t)
			return err
		}); err != nil {
			return nil, err
		}
		for _, within := range ranges {
			found, err := emitted(p, within, func(within store.KeyRange, c *claims, emit func(store.JobNote)) error {
				_, err := steps.Find(p.ctx, t, within, c, emit)
				return err
			})
			if all = append(all, found...); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// each takes a step for each of several notes.
func each(p *play, notes []store.JobNote, step func(n store.JobNote) error) error {
	for _, c := range notes {
		if err := p.repeated(func() error { return step(c) }); err != nil {
			return err
		}
	}
	return nil
}

// summarizedRight checks the summaries of all buckets whose events are there.
func (p *play) summarizedRight() error {
	steps, err := p.schema.RollupParts(p.client(), store.RollupOptions{TablePrefix: p.prefix, Now: p.clock})
	if err != nil {
		return err
	}
	checked := 0
	for i := range steps.First() {
		n, err := steps.Compare(p.ctx, i, store.KeyRange{}, func(wrong *store.RunError) bool {
			err = wrong
			return false
		})
		if checked += n; err != nil {
			return err
		}
	}
	whole := map[bucket]bool{}
	for _, t := range p.layout.Tables {
		for _, l := range p.truth.live(t, p.now) {
			if b, ok := bucketOf(t, &l.Event); ok && p.summarized[b] && b.whole(p.now) && b.lasts(p.now) {
				whole[b] = true
			}
		}
	}
	if checked < len(whole) {
		return fmt.Errorf("%d summaries were checked, and %d buckets are summarized", checked, len(whole))
	}
	return nil
}

// claims are the rows of a range that a worker gets, before others take the rest.
type claims struct {
	left int
	rest string // the first row of others; empty if there is none
}

// Contains reports whether a row belongs to the worker.
func (c *claims) Contains(key string) bool { return c.rest == "" || key < c.rest }

// Claim claims the next row.
func (c *claims) Claim(key string) bool {
	if c.left--; c.left < 0 && c.rest == "" {
		c.rest = key
	}
	return c.Contains(key)
}

// emitted returns what a step emits for the rows of a range, which several workers claim. What a failed attempt has
// emitted is lost.
func emitted(p *play, within store.KeyRange, step func(within store.KeyRange, c *claims, emit func(store.JobNote)) error) (all []store.JobNote, err error) {
	for {
		var c claims
		var some []store.JobNote
		most := 1 + p.IntN(5)
		if err := p.repeated(func() error {
			c, some = claims{left: most}, nil
			return step(within, &c, func(n store.JobNote) { some = append(some, n) })
		}); err != nil {
			return nil, err
		}
		if all, within.Start = append(all, some...), c.rest; c.rest == "" {
			return all, nil
		}
	}
}

// damage changes a stored summary, as another program could. Readers tell, and take its windows from the events, until all
// is summarized again. If events have expired, that does not help, and the summary is restored.
func (p *play) damage() error {
	all, err := p.spots(func(t *layout.Table, family string) bool { return t.Rollup != nil && t.Rollup.Family == family })
	all = slices.DeleteFunc(all, func(s spot) bool { return len(s.Value) == 0 })
	if err != nil || len(all) == 0 {
		return err
	}
	s := anyOf(p, all)
	bad := slices.Clone(s.Value)
	bad[p.IntN(len(bad))] ^= 1 << p.IntN(8)
	p.note("in %v", s)
	clear(p.summarized)
	p.spoilt = s
	defer func() { p.spoilt = spot{} }()
	if err := errors.Join(p.set(s, bad), p.windows()); err != nil {
		return err
	}
	if err := p.rollupOf(true); err != nil && !p.undecodable(err) {
		return err
	}
	left, err := p.spots(func(t *layout.Table, family string) bool { return family == s.family })
	if slices.ContainsFunc(left, func(o spot) bool { return o.row == s.row && o.Column == s.Column && bytes.Equal(o.Value, bad) }) {
		err = errors.Join(err, p.set(s, s.Value))
	} else {
		p.Counts["damaged summaries"]++
	}
	p.spoilt = spot{}
	return errors.Join(err, p.windows())
}

// age lives through the moments at which something changes for the bucket of an event.
func (p *play) age() error {
	if !slices.ContainsFunc(p.layout.Tables, (*layout.Table).Rolled) {
		return nil
	}
	if err := p.writeAll(p.draw(6)); err != nil {
		return err
	}
	k := anyOf(p, p.known)
	b, ok := bucketOf(anyOf(p, p.layout.Tables), &k)
	if !ok {
		return nil
	}
	among := func() error { // also an event that the bucket does not have
		e := p.event()
		start, end := b.span()
		e.Series, e.Time = k.Series, start.Add(time.Duration(p.Int64N(int64(end.Sub(start)))))
		p.known = append(p.known, p.truth.truncated(e))
		return p.writeAll([]dynamic.Event{e})
	}
	for _, at := range b.moments() {
		if at.Before(p.now) || p.chance(4) {
			continue
		}
		p.now = at.Add(anyOf(p, []time.Duration{-1, 0, time.Millisecond, time.Minute}))
		p.note("at %v", p.now)
		for _, do := range [][]func() error{{among, among, p.deleteEvents, p.writeKnown}, {p.rollup, p.rollup, p.windows}, {p.windows}} {
			if err := anyOf(p, do)(); err != nil {
				return err
			}
		}
	}
	return p.windows()
}

// backfill fills a table from another one, half of the time after it was emptied, as if it were new. Events are
// often written before it. Events that only the source has lost remain.
func (p *play) backfill() error {
	t := anyOf(p, p.layout.Tables)
	if len(p.layout.Tables) < 2 || p.layout.State != nil && t == p.layout.Read || slices.ContainsFunc(t.Periods(), func(o *layout.Table) bool { return o.ID != t.ID }) {
		return nil
	}
	p.note("%s", t.ID)
	o := store.BackfillOptions{TablePrefix: p.prefix, Source: p.anySource(t), Target: t.ID, Now: p.clock, RenewAges: p.chance(2), Repair: p.chance(3), Sleep: noSleep}
	source, err := p.source(o)
	if source == nil || err != nil {
		return err
	}
	for at := range p.truth.tables[t] { // it may be deleted, as if it was deleted from the source
		if o.Repair = o.Repair && p.truth.tables[source][at] != nil; p.truth.tables[source][at] == nil && t.WriteOnly {
			return nil
		}
	}
	p.note("from %s", source.ID)
	keep := p.chance(2)
	if keep {
		if err := p.outlive(); err != nil {
			return err
		}
	}
	if !keep {
		if err := p.bt.Admin.DropAllRows(p.ctx, p.prefix+t.ID); err != nil {
			return err
		}
		clear(p.truth.tables[t])
		clear(p.summarized)
		maps.DeleteFunc(p.foreign, func(at [2]string, _ bool) bool { return at[0] == p.prefix+t.ID })
	}
	if t != p.layout.State && p.chance(2) {
		if err := p.writeAll(p.draw(4)); err != nil {
			return err
		}
	}
	if p.layout.State == nil && p.chance(2) {
		if err := p.writeLess(t); err != nil {
			return err
		}
	}
	p.written()
	p.Counts["back-fill done"]++
	clear(p.summarized)
	fill, share := anyOf(p, []func(source *layout.Table, o store.BackfillOptions) error{p.fill, p.fillStopped, p.fillParts}), 1.0
	if t == p.layout.State {
		fill = p.fill
	} else if o.Progress = func(r store.BackfillProgress) { share = r.Share }; p.chance(2) {
		o.Rate = 1e9
	}
	idle := func(t *layout.Table) bool { return t.WriteOnly }
	if i := slices.IndexFunc(p.layout.Tables, idle); t.WriteOnly && !slices.ContainsFunc(p.layout.Tables[i+1:], idle) {
		o.Target = "" // the only one
	}
	if err := fill(source, o); err != nil || share != 1 {
		return fmt.Errorf("%v of all is copied at the end: %w", share, err)
	}
	if err := p.copied(source, t, o.Repair); err != nil {
		return err
	}
	return p.scanOf(t, time.Time{}, p.end()) // few reads are of a table that no query needs
}

// fill fills a table.
func (p *play) fill(_ *layout.Table, o store.BackfillOptions) error {
	client := p.client()
	return p.repeated(func() error {
		_, err := store.Backfill(p.ctx, client, p.schema.Mappings(), o)
		return err
	})
}

// fillStopped fills a table by a call that may be stopped, and then continued. Meanwhile, an event is deleted of which the
// source tells that it was not lost, and what the call has sent arrives.
func (p *play) fillStopped(source *layout.Table, o store.BackfillOptions) error {
	o.Checkpoint = p.file()
	client := p.client()
	call := func() error {
		_, err := store.Backfill(p.ctx, client, p.schema.Mappings(), o)
		return err
	}
	err, struck := p.fails(call, anyOf(p, []fault{killed, stopped}), "", p.IntN(10), 0, codes.PermissionDenied, p.chance(2))
	if err == nil || !struck {
		return err
	}
	p.Counts["back-fill stopped"]++
	sent := p.faults.copies
	p.faults.copies = nil
	tells := !ranked(source) && !slices.ContainsFunc(source.Periods(), func(o *layout.Table) bool {
		return slices.ContainsFunc(o.Families, func(f layout.Family) bool { return f.Life.Timestamp != codec.TimestampEvent || f.Class != 0 })
	})
	if all := p.truth.live(source, p.now.Add(2*time.Minute)); tells && len(all) > 0 {
		gone := anyOf(p, all[min(1, len(all)-1):]).versions[0].event // what is older than all others, a call without a checkpoint leaves
		if err := p.deletes(func(o store.DeleteOptions) (store.Deletion, error) {
			return p.program().remove(p.ctx, []dynamic.Event{gone}, o)
		}, func(e *dynamic.Event) bool { return place(e) == place(&gone) }); err != nil {
			return err
		}
	}
	p.faults.copies = append(sent, p.faults.copies...)
	p.faults.arrive(func(lateCopy) bool { return true })
	if target := slices.IndexFunc(p.layout.Tables, func(t *layout.Table) bool { return t.ID == o.Target || o.Target == "" && t.WriteOnly }); tells && p.layout.Tables[target].WriteOnly && slices.Index(p.layout.Tables, source) < target && p.chance(2) {
		o.Checkpoint = "" // the call finds by itself what the other one has left
	}
	return call()
}

// fillParts fills a table in the steps of a pipeline.
func (p *play) fillParts(_ *layout.Table, o store.BackfillOptions) error {
	p.note("in steps")
	steps, err := store.NewBackfillParts(p.client(), p.schema.Mappings(), p.now, o)
	if err != nil {
		return err
	}
	return p.inSteps(steps)
}

// copied is what a back-fill of a table promises. What only the source has lost of an event remains.
func (p *play) copied(source, t *layout.Table, repair bool) error {
	has := map[string]living{}
	for _, l := range p.truth.live(t, p.now) {
		has[place(&l.Event)] = l
	}
	for _, l := range p.truth.live(source, p.now) {
		events, at, class := []dynamic.Event{l.Event}, place(&l.Event), l.Class
		if len(l.versions) > 1 {
			var err error
			if events, err = p.valuesOf(source, &l); err != nil {
				return err
			}
			if l.Event = events[len(events)-1]; !t.Pattern.Appends() {
				events = events[len(events)-1:]
			}
		}
		if source.Pattern.Appends() && t.Pattern.Appends() {
			delete(p.truth.tables[t], at) // what the source lacks
		}
		for _, e := range events {
			if p.merged(source, &l, &e, has[at].Values) && repair && !t.Pattern.Appends() {
				continue
			}
			e.Class, e.TTL, e.ExpiresAt = class, 0, l.versions[0].expires() // whatever it was written with, and the source does not tell
			if err := p.truth.write(t, p.now, e); err != nil && !errors.Is(err, codec.ErrExpired) {
				return fmt.Errorf("the copy of %v is refused: %w", e, err)
			}
		}
	}
	return nil
}

// merged adds to an event of the source what that has lost and the target has, and reports whether both are then
// the same. others is nil if the target has no such event.
func (p *play) merged(source *layout.Table, l *living, e *dynamic.Event, others []any) bool {
	parts := !l.versions[0].period.HasClasses() && slices.ContainsFunc(source.Periods(), losesParts)
	e.Values = slices.Clone(e.Values)
	for i := range e.Values {
		if parts && others != nil && others[i] != nil && p.mayLack(l, i) {
			e.Values[i] = others[i]
		}
	}
	return text(e.Values...) == text(others...)
}

// losesParts reports whether families of a table expire at different times.
func losesParts(t *layout.Table) bool {
	first := t.Families[0].Life
	return !t.HasClasses() && slices.ContainsFunc(t.Families, func(f layout.Family) bool { return !first.Outlives(f.Life) || !f.Life.Outlives(first) })
}

// valuesOf returns the events that readers of a table find in a place with several versions, in their order: that
// of the columns of each field, and not that of the writes.
func (p *play) valuesOf(t *layout.Table, l *living) (out []dynamic.Event, err error) {
	only := *p.layout
	only.Tables, only.Read, only.Queries = []*layout.Table{t}, t, nil
	r := dynamic.New(&only).NewReader(p.client(), store.ReaderOptions{TablePrefix: p.prefix, Now: p.clock})
	if out, err = collected(r.Read(p.ctx, dynamic.Series(l.Series), l.Time, l.Time.Add(1))); err != nil {
		return nil, err
	}
	return out, p.same([]living{*l}, out, store.ReadOptions{}, nil)
}

// mayLack reports whether a field of an event is as if it had expired, or expired within a minute, in a family
// that does not tell that it has not, and so are all others of the family whose cells expire together.
func (p *play) mayLack(l *living, field int) bool {
	t := l.versions[0].period
	familyOf := func(i int) int {
		for _, c := range t.Columns {
			if c.Field == i {
				return c.Family
			}
		}
		return -1
	}
	lost := func(i int) bool {
		none, v := defaultOf(&p.layout.Fields[i]), l.Values[i]
		return v == nil || none != nil && value.Equal(v, none)
	}
	at := familyOf(field)
	if at < 0 || !lost(field) {
		return false
	}
	if f := &t.Families[at]; f.Life.EventTimed() {
		return slices.ContainsFunc(f.Life.Retention, func(term codec.Term) bool { return term.Versions > 0 }) || !alive(f, p.now.Add(time.Minute), floor(l.Time), 1)
	}
	for i := range p.layout.Fields {
		if familyOf(i) == at && !lost(i) {
			return false
		}
	}
	return true
}

// anySource draws the table from which one is filled; empty for that which is best.
func (p *play) anySource(target *layout.Table) string {
	if s := anyOf(p, p.layout.Tables); s != target && !p.chance(4) {
		return s.ID
	}
	return ""
}

// checkpoint returns a new file for the progress of a call, or none.
func (p *play) checkpoint() string {
	if p.chance(2) {
		return ""
	}
	return p.file()
}

// file returns the path of a new file.
func (p *play) file() string {
	p.files++
	return filepath.Join(p.dir, fmt.Sprintf("%s%d", p.prefix, p.files))
}

// outlive writes events, some of which expire in one table and not in another one.
func (p *play) outlive() error {
	if err := p.writeAll(p.draw(6)); err != nil {
		return err
	}
	return p.wait()
}

// verify compares two tables with each other.
func (p *play) verify() error {
	t := anyOf(p, p.layout.Tables)
	if len(p.layout.Tables) < 2 {
		return nil
	}
	o := store.BackfillOptions{TablePrefix: p.prefix, Source: p.anySource(t), Target: t.ID, Now: p.clock, RenewAges: true}
	if t == p.layout.State {
		o.Source, o.Verify = "", true
		return p.repeated(func() error {
			r, err := store.Backfill(p.ctx, p.client(), p.schema.Mappings(), o)
			if err == nil && len(r.Differences) > 0 {
				err = fmt.Errorf("the newest events differ: %v", r.Differences)
			}
			return err
		})
	}
	source, err := p.source(o)
	if source == nil || err != nil {
		return err
	}
	p.note("%s with %s", t.ID, source.ID)
	if p.chance(2) {
		if err := p.outlive(); err != nil {
			return err
		}
	}
	lacking, certain := p.lacking(source, t)
	if source.Pattern.Appends() || t.Pattern.Appends() {
		return nil
	}
	var r store.BackfillReport
	client := p.client()
	o.Verify, o.To = true, p.end()
	err = p.repeated(func() (err error) {
		r, err = store.Backfill(p.ctx, client, p.schema.Mappings(), o)
		return err
	})
	p.Counts["verify done"]++
	real := slices.DeleteFunc(slices.Clone(r.Differences), func(d store.Difference) bool { return d.MayHaveExpired })
	if err == nil && (certain == 0 && len(real) > 0 || len(lacking) > 0 && len(r.Differences) == 0) {
		return fmt.Errorf("differences %v, want some at %v, of which %d are certain", r.Differences, lacking, certain)
	}
	return err
}

// lacking returns the places of events of which one of two tables has a field, or another value of it, that the
// other one lacks, and that neither loses within an hour. certain counts those that the other one has not just
// lost by its own rules.
func (p *play) lacking(a, b *layout.Table) (out []string, certain int) {
	for _, t := range [][2]*layout.Table{{a, b}, {b, a}} {
		others := map[string]living{}
		for _, l := range p.truth.live(t[1], p.now) {
			others[place(&l.Event)] = l
		}
		for _, l := range p.truth.live(t[0], p.now.Add(time.Hour)) {
			o, at := newTruth(p.layout), place(&l.Event)
			if o.write(t[1], p.now, l.Event) != nil {
				continue
			}
			kept, stored := o.live(t[1], p.now.Add(time.Hour)), p.truth.tables[t[1]][at]
			for i := range p.layout.Fields {
				if len(kept) == 0 || !l.keeps(i) || !kept[0].keeps(i) {
					continue
				}
				if other, ok := others[at]; ok && text(other.Values[i]) == text(l.Values[i]) {
					continue
				}
				out = append(out, at)
				if len(stored) == 0 || text(stored[0].event.Values[i]) != text(l.Values[i]) {
					certain++
				}
			}
		}
	}
	return out, certain
}

// keeps reports whether a field of an event is alive.
func (l *living) keeps(field int) bool {
	return slices.ContainsFunc(l.has, func(has map[int]bool) bool { return has[layout.WholeEvent] || has[field] })
}

// source returns the table from which a back-fill would copy; nil if it is refused.
func (p *play) source(o store.BackfillOptions) (*layout.Table, error) {
	o.DryRun, o.Repair, o.Checkpoint = true, false, ""
	r, err := store.Backfill(p.ctx, p.client(), p.schema.Mappings(), o)
	if refused, ok := errors.AsType[*store.BackfillError](err); ok {
		p.note("(refused: %v)", refused)
		return nil, nil
	}
	i := slices.IndexFunc(p.layout.Tables, func(s *layout.Table) bool { return p.prefix+s.ID == r.Source })
	if err != nil || i < 0 {
		return nil, fmt.Errorf("source %q: %w", r.Source, err)
	}
	return p.layout.Tables[i], nil
}

// foreignFamily is a family of another program in the tables.
const foreignFamily = "zz_foreign"

// writeForeign writes cells of another program, to rows of events and to others.
func (p *play) writeForeign() error {
	id := anyOf(p, p.tableIDs())
	table := p.bt.Client.OpenTable(id)
	keys := []string{"~foreign" + fmt.Sprint(p.IntN(100))}
	if err := table.ReadRows(p.ctx, bigtable.InfiniteRange(""), func(r bigtable.Row) bool {
		keys = append(keys, r.Key())
		return true
	}, bigtable.RowFilter(bigtable.StripValueFilter())); err != nil {
		return err
	}
	key := anyOf(p, keys)
	m := bigtable.NewMutation()
	m.Set(foreignFamily, "column", bigtable.Time(p.now).TruncateToMilliseconds(), []byte("foreign"))
	p.note("%s %q", id, key)
	p.foreign[[2]string{id, key}] = true
	return table.Apply(p.ctx, key, m)
}

// restamp gives cells other timestamps, like another program that uses the time of the server or none, unless they
// tell the time or the expiry of an event. Readers find the same. In a table with a second tier, no cell is older
// than its event.
func (p *play) restamp() error {
	for _, t := range p.layout.Tables {
		if t.Pattern.EventTimed() || t.HasClasses() || len(t.Older) > 0 {
			continue
		}
		free := map[string]bool{}
		for _, f := range t.Families {
			free[f.Name] = f.Life.EventTimed() && !f.Life.Dated()
		}
		others := []bigtable.Timestamp{300_000_000_000_000_000}
		if _, tiered := t.Tier.After(); !tiered {
			others = append(others, 0, 1000, bigtable.Time(p.now).TruncateToMilliseconds())
		}
		client, moved := p.bt.Client.OpenTable(p.prefix+t.ID), map[string]*bigtable.Mutation{}
		err := p.eachCell(p.prefix+t.ID, func(row, family string, c bigtable.ReadItem, rank int) {
			if !free[family] || rank > 1 {
				return
			}
			if moved[row] == nil {
				moved[row] = bigtable.NewMutation()
			}
			column := strings.TrimPrefix(c.Column, family+":")
			moved[row].DeleteCellsInColumn(family, column)
			moved[row].Set(family, column, anyOf(p, append(others, c.Timestamp)), c.Value)
		})
		for row, m := range moved {
			err = errors.Join(err, client.Apply(p.ctx, row, m))
		}
		if err != nil {
			return err
		}
	}
	p.log = append(p.log, "(cells have other timestamps)")
	for range 5 {
		if err := p.step(reads); err != nil {
			return err
		}
	}
	return nil
}

// foreignLeft checks that what another program has written is there.
func (p *play) foreignLeft() error {
	for at := range p.foreign {
		row, err := p.bt.Client.OpenTable(at[0]).ReadRow(p.ctx, at[1])
		if err != nil {
			return err
		}
		if len(row[foreignFamily]) == 0 {
			return fmt.Errorf("a cell of another program is gone from table %s, row %q", at[0], at[1])
		}
	}
	return nil
}

// forget deletes all series: nothing of them is left in any table.
func (p *play) forget() error {
	if p.layout.State != nil {
		p.now = p.now.Add(25 * time.Hour) // marks of calls that were killed stay for a day
	}
	for _, of := range p.allSeries() {
		if _, err := p.program().removeAll(p.ctx, p.seriesOf(of), store.DeleteOptions{}); err != nil {
			return fmt.Errorf("forget %q: %w", of, err)
		}
	}
	if slices.ContainsFunc(p.layout.Tables, (*layout.Table).Rolled) {
		p.now = p.end()
		for _, t := range p.layout.AllPeriods() {
			if t.Rollup != nil { // when a bucket is summarized
				p.now = p.now.Add(t.Bucket.Widest() + t.Rollup.Least(t.Bucket))
			}
		}
		o := store.RollupOptions{TablePrefix: p.prefix, Now: p.clock, Sleep: noSleep}
		if _, err := p.schema.Rollup(p.ctx, p.clients[0], o); err != nil {
			return err
		}
	}
	for _, id := range p.tableIDs() {
		left := ""
		if err := p.bt.Client.OpenTable(id).ReadRows(p.ctx, bigtable.InfiniteRange(""), func(r bigtable.Row) bool {
			for family, items := range r {
				if family != foreignFamily && !p.expiredRuns(family, items) {
					left = fmt.Sprint(r)
				}
			}
			return left == ""
		}); err != nil {
			return err
		}
		if left != "" {
			return fmt.Errorf("forgotten, and left in table %s: %s", id, left)
		}
	}
	return nil
}

// expiredRuns reports whether cells are of rollups, or of versions of newest events, that have expired, and are left to
// garbage collection.
func (p *play) expiredRuns(family string, items []bigtable.ReadItem) bool {
	expired := func(rule codec.GCRule) bool {
		return !slices.ContainsFunc(items, func(i bigtable.ReadItem) bool { return !collects(rule, p.now.Sub(i.Timestamp.Time()), 1) })
	}
	return slices.ContainsFunc(p.layout.AllPeriods(), func(t *layout.Table) bool {
		return t.Rollup != nil && t.Rollup.Family == family && expired(t.Rollup.GC) ||
			t.Pattern.NewestOnly() && codec.VersionsFamily(t.Families[0].Name) == family && expired(t.Families[0].GC)
	})
}
