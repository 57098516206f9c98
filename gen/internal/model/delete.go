package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/store"
)

// What is stored after a deletion is what would be stored if the deleted events had never
// been written. A run therefore logs what happens to the cells; to know what a deletion must
// leave, it repeats that in new tables, without the deleted events.

// logged is something that happened to the cells of the tables: events were written, or
// mutations applied, which remove garbage or write cells of another program.
type logged struct {
	now       time.Time
	events    []Event
	mutations map[place]*bigtable.Mutation
}

// place is a row of a table.
type place struct{ table, row string } // without the prefix of the table

// at returns the mutation of a row.
func (l *logged) at(table, row string) *bigtable.Mutation {
	p := place{table, row}
	if l.mutations[p] == nil {
		l.mutations[p] = bigtable.NewMutation()
	}
	return l.mutations[p]
}

// apply applies mutations to the tables with a prefix.
func (r *run) apply(prefix string, l logged) {
	for p, m := range l.mutations {
		if err := r.driver.Client.Open(prefix+p.table).Apply(r.ctx, p.row, m); err != nil {
			r.Fatal(err)
		}
	}
}

// eachRow calls f with the rows of a table.
func (r *run) eachRow(table string, f func(row bigtable.Row)) {
	r.eachStored(r.prefix+table, f)
}

// eachStored is eachRow for a table with its prefix.
func (r *run) eachStored(table string, f func(row bigtable.Row)) {
	err := r.driver.Client.Open(table).ReadRows(r.ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		f(row)
		return true
	})
	if err != nil {
		r.Fatal(err)
	}
}

// raw identifies a cell in a table.
type raw struct {
	place
	column string // with the family
	micros bigtable.Timestamp
}

// raws returns the cells of all tables with a prefix.
func (r *run) raws(prefix string) map[raw]string {
	out := map[raw]string{}
	for _, table := range r.schema.Tables() {
		r.eachStored(prefix+table, func(row bigtable.Row) {
			for _, items := range row {
				for _, item := range items {
					out[raw{place{table, row.Key()}, item.Column, item.Timestamp}] = string(item.Value)
				}
			}
		})
	}
	return out
}

// foreign writes a cell of another program to a row.
func (r *run) foreign() {
	cells := r.raws(r.prefix)
	if r.driver.Foreign == "" || len(cells) == 0 {
		return
	}
	all := slices.SortedFunc(maps.Keys(cells), compareRaws)
	where := rapid.SampledFrom(all).Draw(r.T, "cell")
	l := logged{mutations: map[place]*bigtable.Mutation{}}
	l.at(where.table, where.row).Set(r.driver.Foreign, "column", where.micros, []byte("foreign"))
	r.apply(r.prefix, l)
	r.log = append(r.log, l)
}

// compareRaws orders cells.
func compareRaws(a, b raw) int {
	return slices.Compare([]string{a.table, a.row, a.column, fmt.Sprint(a.micros)}, []string{b.table, b.row, b.column, fmt.Sprint(b.micros)})
}

// replayed returns the cells that a log leads to.
func (r *run) replayed(log []logged) map[raw]string {
	prefix := fmt.Sprintf("c%d_", cases.Add(1))
	if err := r.driver.Setup(prefix); err != nil {
		r.Fatal(err)
	}
	defer r.driver.Drop(prefix)
	var now time.Time
	access := r.driver.Open(prefix, func() time.Time { return now })
	for _, l := range log {
		if now = l.now; len(l.events) > 0 {
			_ = access.WriteAll(r.ctx, l.events) // refuses what it refused before
		}
		r.apply(prefix, l)
	}
	return r.raws(prefix)
}

// without returns a log without some events.
func without(log []logged, deleted func(e *Event) bool) []logged {
	out := slices.Clone(log)
	for i := range out {
		out[i].events = slices.DeleteFunc(slices.Clone(out[i].events), func(e Event) bool { return deleted(&e) })
	}
	return out
}

// same reports whether two events have the same series, time and sequence number.
func (s *Schema) same(a, b *Event) bool {
	return a.Host == b.Host && a.Shard == b.Shard && a.Sequence == b.Sequence && a.Time.Truncate(s.Precision).Equal(b.Time.Truncate(s.Precision))
}

// deletion is a call that deletes events.
type deletion struct {
	what    string
	deleted func(e *Event) bool // what it promises to delete
	call    func(o store.DeleteOptions) (store.Deletion, error)
	// covers reports whether the call deletes all events of a series from start to end, so that
	// it may delete whole families of such a row.
	covers func(start, end time.Time) bool
	single bool // it deletes events one by one
}

// drawDeletion draws a call that deletes events.
func (r *run) drawDeletion() deletion {
	series := r.host()
	base := Event{Host: series.Host, Shard: series.Shard}
	of := func(e *Event) bool { return e.Host == series.Host && e.Shard == series.Shard }
	switch rapid.SampledFrom([]string{"range", "range", "series", "events", "query"}).Draw(r.T, "delete") {
	case "query":
		if all := r.schema.Queries(); len(all) > 0 {
			return r.queryDeletion(rapid.SampledFrom(all).Draw(r.T, "query"))
		}
		fallthrough
	case "series":
		return deletion{what: fmt.Sprint("DeleteSeries ", series), deleted: of, covers: func(_, _ time.Time) bool { return true },
			call: func(o store.DeleteOptions) (store.Deletion, error) { return r.access.DeleteSeries(r.ctx, base, o) }}
	case "range":
		from, to := r.span()
		return r.rangeDeletion(fmt.Sprint("DeleteRange ", series), of, from, to, func(o store.DeleteOptions) (store.Deletion, error) {
			return r.access.DeleteRange(r.ctx, base, from, to, o)
		})
	}
	var chosen []Event
	for range rapid.IntRange(0, 3).Draw(r.T, "chosen") {
		chosen = append(chosen, r.drawKnown())
	}
	return deletion{what: fmt.Sprintf("Delete %+v", chosen), single: true, deleted: func(e *Event) bool {
		return slices.ContainsFunc(chosen, func(c Event) bool { return r.schema.same(&c, e) })
	}, covers: func(_, _ time.Time) bool { return false },
		call: func(o store.DeleteOptions) (store.Deletion, error) { return r.access.Delete(r.ctx, chosen, o) }}
}

// rangeDeletion returns a call that deletes the events of some series in a time range.
func (r *run) rangeDeletion(what string, of func(e *Event) bool, from, to time.Time, call func(o store.DeleteOptions) (store.Deletion, error)) deletion {
	return deletion{what: fmt.Sprint(what, " from ", from, " to ", to), deleted: func(e *Event) bool {
		at := e.Time.Truncate(r.schema.Precision)
		return of(e) && !at.Before(from) && at.Before(to)
	}, covers: func(start, end time.Time) bool { return !start.Before(from) && !end.After(to) }, call: call}
}

// queryDeletion returns a call that deletes by a query.
func (r *run) queryDeletion(q Query) deletion {
	v := r.values(q)
	if q.Where {
		return r.whereDeletion(q, v)
	}
	found := func(e *Event) bool { return q.finds(Series{e.Host, e.Shard}, v) }
	if rapid.IntRange(0, 2).Draw(r.T, "all times") == 0 {
		return deletion{what: fmt.Sprintf("DeleteAll%s %+v", q.Name, v), deleted: found, covers: func(_, _ time.Time) bool { return true },
			call: func(o store.DeleteOptions) (store.Deletion, error) {
				return r.access.DeleteAllQueries[q.Name](r.ctx, v, o)
			}}
	}
	from, to := r.span()
	return r.rangeDeletion(fmt.Sprintf("Delete%s %+v", q.Name, v), found, from, to, func(o store.DeleteOptions) (store.Deletion, error) {
		return r.access.DeleteQueries[q.Name](r.ctx, v, from, to, o)
	})
}

// whereDeletion returns a call that deletes the events that a query with a condition returns.
func (r *run) whereDeletion(q Query, v Values) deletion {
	from, to := r.span()
	picks := q.picks(v)
	var found []Event
	for _, s := range allSeries {
		for _, e := range r.table.Read(r.now, s, from, to) {
			if q.finds(s, v) && picks(e) {
				found = append(found, e)
			}
		}
	}
	return deletion{what: fmt.Sprintf("Delete%s %+v from %v to %v", q.Name, v, from, to), single: true, deleted: func(e *Event) bool {
		return slices.ContainsFunc(found, func(f Event) bool { return r.schema.same(&f, e) })
	}, covers: func(_, _ time.Time) bool { return false }, call: func(o store.DeleteOptions) (store.Deletion, error) {
		return r.access.DeleteQueries[q.Name](r.ctx, v, from, to, o)
	}}
}

// drawKnown draws an event that was written, with other values, or another one.
func (r *run) drawKnown() Event {
	e := r.event()
	var all []Event
	for _, l := range r.log {
		all = append(all, l.events...)
	}
	if len(all) > 0 && rapid.IntRange(0, 4).Draw(r.T, "known") > 0 {
		known := rapid.SampledFrom(all).Draw(r.T, "event")
		e.Host, e.Shard, e.Sequence, e.Time = known.Host, known.Shard, known.Sequence, known.Time
		if r.schema.Sequence && rapid.IntRange(0, 4).Draw(r.T, "renumbered") == 0 {
			e.Sequence = uint32(rapid.IntRange(0, 2).Draw(r.T, "sequence"))
		}
		if rapid.Bool().Draw(r.T, "inexact") {
			e.Time = e.Time.Truncate(r.schema.Precision).Add(1) // is truncated
		}
	}
	return e
}

// delete deletes events and compares all cells with those that remain by the model. Requests
// may fail; the call is then repeated.
func (r *run) delete() { r.deleteOf(r.drawDeletion()) }

// deleteOf is delete with a given call.
func (r *run) deleteOf(d deletion) {
	before, left := r.raws(r.prefix), without(r.log, d.deleted)
	want := r.replayed(left)
	least := r.least(&d)
	if rapid.IntRange(0, 3).Draw(r.T, "dry run first") == 0 {
		got, err := d.call(store.DeleteOptions{DryRun: true})
		if err != nil {
			r.Fatalf("%s: a dry run: %v", d.what, err)
		}
		r.stored(d.what+": a dry run", before)
		r.counted(&d, got, least, before, want)
	}
	got, err := r.faulty(func() (store.Deletion, error) { return d.call(store.DeleteOptions{}) })
	if err != nil {
		rest := r.partly(&d, got, before, want)
		if got, err = d.call(store.DeleteOptions{}); err == nil {
			r.countedRows(&d, got, rest, want)
		}
	} else if !r.driver.Faults.struckOnce() {
		r.counted(&d, got, least, before, want)
	}
	if err != nil {
		r.Fatalf("%s: %v", d.what, err)
	}
	r.stored(d.what, want)
	r.table.Delete(d.deleted)
	r.log = left
	r.deletions++
}

// faulty calls f, in which a request may fail.
func (r *run) faulty(f func() (store.Deletion, error)) (store.Deletion, error) {
	r.driver.Faults.struckOnce()
	if rapid.IntRange(0, 2).Draw(r.T, "faulty") == 0 {
		r.driver.Faults.arm(rapid.SampledFrom([]Fault{Unsent, Lost, BrokenRead}).Draw(r.T, "fault"), rapid.IntRange(0, 2).Draw(r.T, "request"), rapid.IntRange(0, 3).Draw(r.T, "message"),
			rapid.SampledFrom([]codes.Code{codes.PermissionDenied, codes.PermissionDenied, codes.Internal, codes.Unavailable}).Draw(r.T, "code"))
	}
	defer r.driver.Faults.disarm()
	return f()
}

// stored fails unless the tables have the given cells.
func (r *run) stored(what string, want map[raw]string) {
	got := r.raws(r.prefix)
	for c, value := range want {
		if v, ok := got[c]; !ok || v != value {
			r.Fatalf("%s at %v: the cell %+v is lost\nschema\n%s", what, r.now, c, r.schema.YAML())
		}
	}
	for c := range got {
		if _, ok := want[c]; !ok {
			r.Fatalf("%s at %v: the cell %+v is left\nschema\n%s", what, r.now, c, r.schema.YAML())
		}
	}
}

// partly checks what is stored after a call that failed: all of the events that it is not
// about. It cannot have counted more rows than have lost cells. It returns all cells.
func (r *run) partly(d *deletion, got store.Deletion, before, want map[raw]string) map[raw]string {
	now := r.raws(r.prefix)
	for c := range want {
		if _, ok := now[c]; !ok {
			r.Fatalf("%s at %v failed, and the cell %+v is lost\nschema\n%s", d.what, r.now, c, r.schema.YAML())
		}
	}
	for c := range now {
		if _, ok := before[c]; !ok {
			r.Fatalf("%s at %v failed, and wrote the cell %+v\nschema\n%s", d.what, r.now, c, r.schema.YAML())
		}
	}
	if rows, changed := sumOf(got, func(t store.TableDeletion) int { return t.Rows }), r.changed(before, now); rows > changed {
		r.Fatalf("%s at %v failed: %v counted, in %d rows\nschema\n%s", d.what, r.now, got, changed, r.schema.YAML())
	}
	return now
}

// sumOf returns the sum of a number over all tables.
func sumOf(d store.Deletion, of func(t store.TableDeletion) int) int {
	n := 0
	for _, t := range d.Tables {
		n += of(t)
	}
	return n
}

// changed returns the number of rows of layouts that lost cells.
func (r *run) changed(before, after map[raw]string) int {
	type layoutRow struct {
		place
		layout int
	}
	rows := map[layoutRow]bool{}
	for c := range before {
		if _, ok := after[c]; !ok {
			rows[layoutRow{c.place, r.layoutOf(c)}] = true
		}
	}
	return len(rows)
}

// layoutOf returns the first layout to which a cell can belong. Layouts that share a family
// share no rows.
func (r *run) layoutOf(c raw) int {
	return slices.IndexFunc(r.schema.layouts(), func(l *Schema) bool {
		return r.schema.Name+l.Table == c.table && slices.ContainsFunc(l.Families, func(f Family) bool {
			return len(c.column) > len(f.Name) && c.column[:len(f.Name)] == f.Name && (c.column[len(f.Name)] == ':' || l.Classes != nil && c.column[len(f.Name)] == '_')
		})
	})
}

// counted compares the counts of a call with the cells that it deleted, and the mutations with
// the fewest that are possible.
func (r *run) counted(d *deletion, got store.Deletion, least counts, before, after map[raw]string) {
	r.countedRows(d, got, before, after)
	if r.cleaned {
		return // the model does not know what is left
	}
	main := slices.IndexFunc(got.Tables, func(t store.TableDeletion) bool { return t.Table == r.prefix+r.schema.Name })
	if c := (counts{got.Tables[main].Events, got.Tables[main].Mutations}); c != least {
		r.Fatalf("%s at %v: %+v counted, instead of %+v\nschema\n%s", d.what, r.now, c, least, r.schema.YAML())
	}
}

// countedRows compares the number of rows that a call counted with those that lost cells.
func (r *run) countedRows(d *deletion, got store.Deletion, before, after map[raw]string) {
	if rows, changed := sumOf(got, func(t store.TableDeletion) int { return t.Rows }), r.changed(before, after); rows != changed {
		r.Fatalf("%s at %v: %+v counted, instead of %d rows\nschema\n%s", d.what, r.now, got, changed, r.schema.YAML())
	}
}

// counts are the numbers of events and mutations of a deletion in the main table.
type counts struct{ events, mutations int }

// least returns the counts of a deletion, if no garbage was collected, and with as few
// mutations as possible: one per family, if the range contains the whole row, and otherwise one
// per column, or per event if events are deleted one by one.
func (r *run) least(d *deletion) counts {
	var out counts
	for _, p := range r.table.periods() {
		c := p.least(d)
		out.events, out.mutations = out.events+c.events, out.mutations+c.mutations
	}
	return out
}

// least is run.least for one layout.
func (m *period) least(d *deletion) counts {
	mutations := map[string]bool{}
	values := map[string]map[string]int{} // the number of values of each field at each time
	for c, cells := range m.cells {
		for _, stored := range cells {
			e := &stored.event
			if !d.deleted(e) {
				continue
			}
			row := m.rowOf(c)
			mutation := fmt.Sprint(row, c)
			switch {
			case !m.schema.bucketed() || d.covers(row.start, m.schema.bucketEnd(row.start)):
				mutation = fmt.Sprint(row, c.class, m.familyOf(c.field).Name)
			case d.single:
				mutation += fmt.Sprint(stored.micros)
			}
			mutations[mutation] = true
			if c.field <= writtenAt {
				continue
			}
			at := fmt.Sprint(c.host, c.shard, e.Time.UnixNano(), c.sequence, c.class)
			if values[at] == nil {
				values[at] = map[string]int{}
			}
			values[at][fmt.Sprint(c.field)]++
		}
	}
	events := 0
	for _, of := range values {
		events += slices.Max(slices.Collect(maps.Values(of)))
	}
	return counts{events, len(mutations)}
}

// replace replaces an event. Requests may fail; the call is then repeated.
func (r *run) replace() {
	old, updated := r.drawKnown(), r.event()
	if rapid.IntRange(0, 3).Draw(r.T, "in place") == 0 {
		updated.Host, updated.Shard, updated.Time, updated.Sequence = old.Host, old.Shard, old.Time, old.Sequence
	}
	isOld := func(e *Event) bool { return r.schema.same(e, &old) }
	isUpdated := func(e *Event) bool { return r.schema.same(e, &updated) }
	added := logged{now: r.now, events: []Event{updated}}
	before := r.raws(r.prefix)
	refused := r.refuses(updated)
	same := r.schema.same(&old, &updated)
	left := append(slices.Clone(r.log), added)
	appends := slices.ContainsFunc(r.schema.layouts(), (*Schema).newColumns)
	if !same || appends {
		left = append(without(r.log, isOld), added)
	}
	want := r.replayed(left)
	call := func() (store.Deletion, error) {
		return store.Deletion{}, r.access.Replace(r.ctx, old, updated)
	}
	what := fmt.Sprintf("Replace %+v, %+v", old, updated)
	if refused {
		if _, err := call(); err == nil {
			r.Fatalf("%s at %v is not refused\nschema\n%s", what, r.now, r.schema.YAML())
		}
		if same && appends {
			r.stored(what, before)
			return
		}
		r.log = append(r.log, added) // other tables may have stored it
		r.table.Write(r.now, updated)
		r.stored(what, r.replayed(r.log))
		return
	}
	if _, err := r.faulty(call); err != nil {
		r.replacedPartly(what, before, r.replayed(without(r.log, func(e *Event) bool { return isOld(e) || isUpdated(e) })), want, same)
		if _, err = call(); err != nil {
			r.Fatalf("%s: %v", what, err)
		}
	}
	r.stored(what, want)
	r.table.Delete(isOld)
	r.table.Write(r.now, updated)
	r.log = left
	r.deletions++
}

// refuses reports whether a table refuses to store an event.
func (r *run) refuses(e Event) bool {
	return NewTable(r.schema).Write(r.now, e) != Stored || r.schema.Short && !e.Time.Truncate(r.schema.Precision).After(r.now.Add(-time.Second).Add(-1))
}

// replacedPartly checks what is stored after a Replace that failed: all other events, and the
// old event if the updated one is not there.
func (r *run) replacedPartly(what string, before, others, want map[raw]string, same bool) {
	now := r.raws(r.prefix)
	has := func(cells map[raw]string) error {
		for c := range cells {
			if _, ok := now[c]; !ok {
				return fmt.Errorf("the cell %+v is lost", c)
			}
		}
		return nil
	}
	if err := has(others); err != nil {
		r.Fatalf("%s at %v failed, and %v\nschema\n%s", what, r.now, err, r.schema.YAML())
	}
	if old, updated := has(before), has(want); !same && old != nil && updated != nil {
		r.Fatalf("%s at %v failed, and neither event is there: %v\nschema\n%s", what, r.now, errors.Join(old, updated), r.schema.YAML())
	}
}

// deleteAll deletes all series. Then only cells of other programs are left.
func (r *run) deleteAll() {
	for _, s := range allSeries {
		base := Event{Host: s.Host, Shard: s.Shard}
		r.deleteOf(deletion{what: fmt.Sprint("DeleteSeries ", s), deleted: func(e *Event) bool { return e.Host == s.Host && e.Shard == s.Shard },
			covers: func(_, _ time.Time) bool { return true },
			call:   func(o store.DeleteOptions) (store.Deletion, error) { return r.access.DeleteSeries(r.ctx, base, o) }})
	}
	for c := range r.raws(r.prefix) {
		if !r.isForeign(c) {
			r.Fatalf("the cell %+v is left of all series\nschema\n%s", c, r.schema.YAML())
		}
	}
}

// forget deletes everything of the series that a query finds, or of one series: also events of
// the future, and columns of fields that the schema no longer has, whose events nobody can
// count. No cell of these series may be left in any table, and none of another series or program
// may be lost, also if requests fail and the call is repeated.
func (r *run) forget() {
	of := r.written()
	r.strays(of)
	before := r.raws(r.prefix)
	given := r.host()
	what, found := fmt.Sprint("DeleteSeries ", given), func(s Series) bool { return s == given }
	call := func(o store.DeleteOptions) (store.Deletion, error) {
		return r.access.DeleteSeries(r.ctx, Event{Host: given.Host, Shard: given.Shard}, o)
	}
	all := slices.DeleteFunc(r.schema.Queries(), func(q Query) bool { return q.Where })
	if rapid.IntRange(0, 3).Draw(r.T, "forget by a query") > 0 {
		q := rapid.SampledFrom(all).Draw(r.T, "query")
		v := r.values(q)
		what, found = fmt.Sprintf("DeleteAll%s %+v", q.Name, v), func(s Series) bool { return q.finds(s, v) }
		call = func(o store.DeleteOptions) (store.Deletion, error) {
			return r.access.DeleteAllQueries[q.Name](r.ctx, v, o)
		}
	}
	dry, err := call(store.DeleteOptions{DryRun: true})
	if err != nil {
		r.Fatalf("%s: a dry run: %v", what, err)
	}
	r.stored(what+": a dry run", before)
	got, err := r.faulty(func() (store.Deletion, error) { return call(store.DeleteOptions{}) })
	struck := r.driver.Faults.struckOnce()
	if err != nil {
		if _, err = call(store.DeleteOptions{}); err != nil {
			r.Fatalf("%s: %v", what, err)
		}
	} else if !struck && got.String() != dry.String() {
		r.Fatalf("%s deleted %v, but a dry run counted %v\nschema\n%s", what, got, dry, r.schema.YAML())
	}
	r.stored(what, r.kept(before, of, found))
	again, err := call(store.DeleteOptions{})
	if rows := sumOf(again, func(t store.TableDeletion) int { return t.Rows }); err != nil || rows > 0 {
		r.Fatalf("%s again: %v, %v\nschema\n%s", what, again, err, r.schema.YAML())
	}
	r.deletions++
}

// kept returns the cells that are left if everything of some series is deleted.
func (r *run) kept(cells map[raw]string, of map[place]Series, deleted func(s Series) bool) map[raw]string {
	out := maps.Clone(cells)
	maps.DeleteFunc(out, func(c raw, _ string) bool {
		s, known := of[c.place]
		return known && deleted(s) && !r.isForeign(c)
	})
	return out
}

// isForeign reports whether a cell is of another program.
func (r *run) isForeign(c raw) bool {
	return r.driver.Foreign != "" && c.column == r.driver.Foreign+":column"
}

// written writes events of all series, some of them in the future, and returns the series of
// the rows.
func (r *run) written() map[place]Series {
	of := map[place]Series{}
	for _, s := range allSeries {
		var events []Event
		for range rapid.IntRange(1, 3).Draw(r.T, "events of "+s.Host) {
			e := r.event()
			e.Host, e.Shard = s.Host, s.Shard
			if ahead := rapid.SampledFrom([]time.Duration{0, time.Minute, 30 * time.Hour, 2 * 365 * 24 * time.Hour}).Draw(r.T, "fast by"); ahead > 0 {
				e.Time = r.now.Add(ahead)
			}
			events = append(events, e)
		}
		_ = r.access.WriteAll(r.ctx, events) // it refuses some
		for c := range r.raws(r.prefix) {
			if _, known := of[c.place]; !known && !r.isForeign(c) {
				of[c.place] = s
			}
		}
	}
	return of
}

// strays writes cells to some rows: of another program, and in columns that the schema does not
// have. Some rows have only the latter.
func (r *run) strays(of map[place]Series) {
	l := logged{mutations: map[place]*bigtable.Mutation{}}
	for _, c := range slices.SortedFunc(maps.Keys(r.raws(r.prefix)), compareRaws) {
		family, qualifier, _ := strings.Cut(c.column, ":")
		if i := r.layoutOf(c); i < 0 || r.schema.layouts()[i].points() {
			continue // its other columns belong to OpenTSDB, and stay
		}
		if _, known := of[c.place]; !known || rapid.IntRange(0, 2).Draw(r.T, "stray") > 0 {
			continue
		}
		m := l.at(c.table, c.row)
		m.Set(family, "removed", c.micros, []byte("removed"))
		if rapid.Bool().Draw(r.T, "only strays") {
			m.DeleteCellsInColumn(family, qualifier)
		}
		if r.driver.Foreign != "" && rapid.Bool().Draw(r.T, "foreign") {
			m.Set(r.driver.Foreign, "column", c.micros, []byte("foreign"))
		}
	}
	r.apply(r.prefix, l)
}
