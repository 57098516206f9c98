package layout

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// MarkPrefix begins the names of the columns in which deletions mark a row; see package store.
const MarkPrefix = "deleting "

// states resolves the table with the newest event of each series, and rejects what would make it
// differ from a search of the events.
func (r *resolver) states() {
	l := r.layout
	for _, t := range l.Tables {
		if !t.Pattern.NewestOnly() {
			continue
		}
		if l.State != nil {
			r.refuse(t.PatternPos, "K25", "two-states", l.State.ID, t.ID, t.Pattern)
			return
		}
		l.State = t
		r.checkState(t)
	}
}

// checkState rejects a table with the newest event of each series that would differ from a search.
func (r *resolver) checkState(t *Table) {
	l := r.layout
	unless := func(holds bool, pos diag.Pos, name string, args ...any) {
		if !holds {
			r.refuse(pos, "K25", name, args...)
		}
	}
	unless(len(l.serving()) > 0, t.PatternPos, "only-state", t.ID)
	unless(!l.Sequence, t.PatternPos, "state-sequence", t.Pattern)
	unless(l.Precision%time.Millisecond == 0, r.schema.Time.Precision.Pos, "state-precision", t.Pattern)
	for _, o := range l.serving() {
		if i := slices.IndexFunc(o.Periods(), func(p *Table) bool { return p.Pattern.Appends() }); i >= 0 {
			r.refuse(t.PatternPos, "K25", "state-events", o.ID, o.Periods()[i].Pattern, t.Pattern)
			break
		}
	}
	if len(t.Families) > 1 && !t.HasClasses() {
		r.refuse(t.Families[1].Pos, "K25", "state-families", t.Pattern)
	}
	unless(len(t.Older) == 0, t.SincePos, "state-since", t.Pattern)
	for _, c := range t.AllColumns() {
		if strings.HasPrefix(c.Qualifier, MarkPrefix) {
			r.refuse(c.Pos, "K25", "state-mark", MarkPrefix, t.Pattern)
		}
	}
	r.checkStateKey(t)
	r.checkStateLife(t)
}

// checkStateKey rejects a key that cannot contain a series of which all other tables can have events:
// reads of the newest events of several series would miss it.
func (r *resolver) checkStateKey(t *Table) {
	serving := r.layout.serving()
	if len(serving) == 0 {
		return // a separate error
	}
	keys := []*codec.Key{&t.Key}
	for _, o := range serving {
		for _, p := range o.Periods() {
			keys = append(keys, &p.Key)
		}
	}
	for i := range r.layout.Series {
		for _, v := range probes(i, keys...) {
			lacks := func(o *Table) bool {
				return !slices.ContainsFunc(o.Periods(), func(p *Table) bool { return holds(&p.Key, i, v) == nil })
			}
			err := holds(&t.Key, i, v)
			if err == nil || errors.Is(err, codec.ErrForm) || slices.ContainsFunc(serving, lacks) {
				continue // ErrForm is a separate error
			}
			r.refuse(t.KeyPos, "K25", "state-key", t.Pattern, err)
			return
		}
	}
}

// checkStateLife rejects lifetimes with which a row has another newest event than its series.
func (r *resolver) checkStateLife(t *Table) {
	l := r.layout
	if t.HasClasses() {
		v := Fits(t.Pattern, schema.Classes)
		r.refuse(t.Families[0].GCPos, v.Rule, "state-classes", schema.Classes, t.Pattern, v.Reason, v.Instead)
		return
	}
	if len(l.Classes) > 0 || l.MustExpire() || l.MayExpire() {
		r.refuse(t.PatternPos, "K25", "state-expiry", t.Pattern)
		return
	}
	if slices.ContainsFunc(t.Families, func(f Family) bool { return !f.HasGC }) {
		return // a separate error
	}
	for _, o := range l.serving() {
		for _, p := range o.Periods() {
			i := slices.IndexFunc(p.Families, func(f Family) bool {
				return f.HasGC && (!f.Life.EventTimed() || !f.Life.Outlives(t.Families[0].Life))
			})
			if i >= 0 {
				r.refuse(t.Families[0].GCPos, "K25", "state-longer", t.ID, p.Families[i].Name, p.ID)
				return
			}
		}
	}
}

// HasState reports whether a table has events of which the table with the newest ones has some: the
// newest layout of another table that serves reads.
func (l *Layout) HasState(t *Table) bool {
	return l.State != nil && slices.Contains(l.serving(), t)
}

// LatestQuery returns the read of the newest event of a single series: of its row, if a table has it.
func (l *Layout) LatestQuery() Query {
	q := l.ReadQuery()
	if l.StateServes(nil) {
		return *q.of(l, l.State)
	}
	return q
}
