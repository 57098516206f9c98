package store

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// maxFound is the number of events that a deletion with conditions deletes together.
const maxFound = 1000

// finding is a deletion with conditions: of the events that a read of one table yields.
type finding struct {
	*Writer
	ctx       context.Context
	name      string
	how       DeleteOptions
	table     int  // number of the table that is read
	found     list // and not deleted yet
	total     Deletion
	undeleted error // the first error of isUndeleted
}

// deleteFound deletes the events of a selection with conditions from all tables. Each table could only
// compare values that it stores separately and has not lost to a time to live; so one decides for
// all, and comes last: as long as it has an event, repeating the call finds the event.
func (w *Writer) deleteFound(ctx context.Context, name string, s *selection, from, to time.Time, o DeleteOptions) (Deletion, error) {
	if w.unknown != nil {
		return Deletion{}, w.unknown
	}
	f := &finding{Writer: w, ctx: ctx, name: name, how: o, total: w.nothing(), table: w.tables[0].number}
	if s.table != "" {
		i := slices.IndexFunc(w.tables, func(t writerTable) bool { return t.newest && t.mapping.Table.ID == s.table })
		if i < 0 {
			_, err := selected(untables(w.tables), []string{s.table})
			return Deletion{}, err
		}
		f.table = w.tables[i].number
	}
	queries := w.queries(s)
	for i := range w.tables {
		if w.tables[i].number != f.table {
			continue
		}
		if err := f.in(i, s, queries[i], from, to); err != nil {
			return f.total, err
		}
	}
	return f.total, f.undeleted
}

// untables returns the mappings of tables.
func untables(tables []writerTable) (out []*mapping) {
	for i := range tables {
		out = append(out, tables[i].mapping)
	}
	return out
}

// in finds and deletes the events with one mapping.
func (f *finding) in(i int, s *selection, q *query, from, to time.Time) (failed error) {
	t := &f.tables[i]
	r := f.reader(i, t.shape, f.name)
	r.options.Hooks = f.options.Hooks
	f.found = t.mapping.list(0)
	read := r.beginSelected(f.ctx, s, q, from, to, []ReadOptions{{Fields: []Field{}}})
	read.run(func(e event, err error) bool {
		switch {
		case err != nil:
			failed = f.leaves(err)
			return failed == nil
		case t.mapping.Own != nil:
			e = t.mapping.clone(e)
			t.mapping.Own(e)
		}
		if f.found.add(e); f.found.len() == maxFound {
			failed = f.flush()
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return f.flush()
}

// flush deletes the events that were found.
func (f *finding) flush() error {
	o, before := f.how, f.total
	if o.Progress != nil {
		o.Progress = func(d Deletion) { f.how.Progress(before.plus(d)) }
	}
	d, err := f.deleteAt(f.ctx, f.name, f.found, func(int) bool { return true }, o, f.table)
	f.found.truncate(0)
	f.total = before.plus(d)
	return f.leaves(err)
}

// leaves records an error about an event that stays. It returns any other error.
func (f *finding) leaves(err error) error {
	if err == nil || !isUndeleted(err) {
		return err
	}
	f.undeleted = cmp.Or(f.undeleted, err)
	return nil
}

// plus returns the sum of the counts of the same tables.
func (d Deletion) plus(more Deletion) Deletion {
	out := Deletion{slices.Clone(d.Tables)}
	for i, t := range more.Tables {
		sum := &out.Tables[i]
		sum.Events, sum.Rows, sum.Mutations = sum.Events+t.Events, sum.Rows+t.Rows, sum.Mutations+t.Mutations
	}
	return out
}
