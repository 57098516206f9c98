package world

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// truth is what the tables of a schema were given, and so what their readers were promised: the events of each
// table, with the cells that garbage collection counts. It knows what a schema says about keys, buckets, families and
// times to live, and nothing of how rows are written or read.
type truth struct {
	layout *layout.Layout
	tables map[*layout.Table]map[string][]*version // by the place of the event, in order of the writes
}

// version is an event as it was written, of which several are stored in a place only where values are columns.
type version struct {
	event  dynamic.Event
	period *layout.Table
	cells  []cell
	at     time.Time // when it was written
}

// cell is a cell of an event.
type cell struct {
	column string // its row and column, and its event unless cells of several events are versions of a column
	family int    // in layout.Table.Families
	field  int    // as in layout.Column
	micros int64  // its timestamp
}

// newTruth returns empty tables.
func newTruth(l *layout.Layout) *truth {
	out := &truth{l, map[*layout.Table]map[string][]*version{}}
	for _, t := range l.Tables {
		out.tables[t] = map[string][]*version{}
	}
	return out
}

// place identifies an event.
func place(e *dynamic.Event) string {
	return fmt.Sprintf("%s %d %d", text(e.Series...), e.Time.UnixNano(), e.Sequence)
}

// text returns a text that other values do not have. The verb %q writes all negative numbers alike.
func text(values ...any) string {
	var out []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			v = strconv.Quote(s)
		}
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, " ")
}

// truncated returns an event at the time at which it is stored.
func (o *truth) truncated(e dynamic.Event) dynamic.Event {
	e.Time = codec.Truncate(e.Time, o.layout.Precision)
	return e
}

// periodOf returns the layout of a table at a time.
func periodOf(t *layout.Table, at time.Time) *layout.Table {
	for _, p := range t.Periods() {
		if !at.Before(p.Since) {
			return p
		}
	}
	return t
}

// write stores an event in a table at a time, or returns why the table does not.
func (o *truth) write(t *layout.Table, now time.Time, e dynamic.Event) error {
	e = o.truncated(e)
	v, err := o.version(periodOf(t, e.Time), now, e)
	if err != nil {
		return err
	}
	at, all := place(&e), o.tables[t]
	var kept []*version
	for _, old := range all[at] {
		if !v.period.Pattern.Appends() {
			continue // replaced
		}
		old.cells = slices.DeleteFunc(old.cells, func(c cell) bool {
			return slices.ContainsFunc(v.cells, func(n cell) bool { return n.column == c.column && n.micros == c.micros })
		})
		if len(old.cells) > 0 {
			kept = append(kept, old)
		}
	}
	all[at] = append(kept, v)
	return nil
}

// merge is write for an event that keeps what is stored of the fields that it lacks.
func (o *truth) merge(t *layout.Table, now time.Time, e dynamic.Event) error {
	e = o.truncated(e)
	stored := slices.Clone(o.tables[t][place(&e)])
	if err := o.write(t, now, e); err != nil || len(stored) == 0 || stored[0].period.Pattern.Appends() {
		return err
	}
	all := o.tables[t][place(&e)]
	merged, old := all[len(all)-1], stored[len(stored)-1]
	merged.event.Values = slices.Clone(e.Values)
	for _, c := range old.cells {
		if c.field >= 0 && e.Values[c.field] == nil {
			merged.event.Values[c.field] = old.event.Values[c.field]
			merged.cells = append(merged.cells, c)
		}
	}
	return nil
}

// version returns an event with its cells, or why a layout does not store it.
func (o *truth) version(p *layout.Table, now time.Time, e dynamic.Event) (*version, error) {
	if e.Sequence != 0 && !p.HasSequence() {
		return nil, store.ErrNoSequence
	}
	if b := p.Bucket; p.Pattern.Bucketed() && (e.Time.Before(b.Min()) || !e.Time.Before(b.Max())) {
		return nil, codec.ErrTimeRange
	}
	if n := len(o.layout.Classes); n > 0 && (e.Class < 1 || e.Class > n) {
		return nil, codec.ErrClass
	}
	stamps := map[int]int64{}
	for i := range p.Families {
		f := &p.Families[i]
		if f.Class != 0 && f.Class != e.Class {
			continue
		}
		micros, err := stamp(f, now, &e)
		switch {
		case err == nil:
			stamps[i] = micros
		case err != codec.ErrExpired || !aged(f):
			return nil, err
		}
	}
	if len(stamps) == 0 {
		return nil, codec.ErrExpired
	}
	v := &version{event: e, period: p, at: now}
	fields := 0
	for _, c := range p.Columns {
		if c.Field == layout.WrittenAt || c.Field >= 0 && e.Values[c.Field] == nil {
			continue
		}
		fields++
		v.add(c, stamps)
	}
	switch {
	case fields == 0:
		return nil, codec.ErrNoValue
	case len(v.cells) == 0:
		return nil, codec.ErrExpired
	}
	for _, c := range p.Columns {
		if c.Field == layout.WrittenAt && slices.ContainsFunc(v.cells, func(other cell) bool { return len(o.layout.Classes) > 0 || other.family == c.Family }) {
			v.add(c, stamps)
		}
	}
	return v, nil
}

// add adds the cell of a column, unless the family has refused the event.
func (v *version) add(c layout.Column, stamps map[int]int64) {
	family := c.Family
	if v.event.Class > 0 && len(v.period.Families) > 0 && v.period.Families[0].Class > 0 {
		family = slices.IndexFunc(v.period.Families, func(f layout.Family) bool { return f.Class == v.event.Class })
	}
	micros, ok := stamps[family]
	if !ok {
		return
	}
	e := &v.event
	column := fmt.Sprintf("%s %d %d", text(e.Series...), family, c.Field)
	switch p := v.period; {
	case p.Pattern.Appends():
		column += fmt.Sprintf(" %v %#v", p.Bucket.Start(e.Time), e.Values[c.Field])
	case p.Pattern.Bucketed() && p.Pattern.EventTimed():
		column += fmt.Sprint(" ", p.Bucket.Start(e.Time))
	default:
		column += fmt.Sprintf(" %d %d", e.Time.UnixNano(), e.Sequence)
	}
	v.cells = append(v.cells, cell{column, family, c.Field, micros})
}

// ranks returns the rank of each cell of a table in its column: 1 for the newest.
func (o *truth) ranks(t *layout.Table) func(c cell) int {
	out := map[string][]int64{}
	for _, versions := range o.tables[t] {
		for _, v := range versions {
			for _, c := range v.cells {
				out[c.column] = append(out[c.column], c.micros)
			}
		}
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	}
	return func(c cell) int { return 1 + slices.Index(out[c.column], c.micros) }
}

// aliveCells returns the cells of a table that are alive, with the events of which they are.
func (o *truth) aliveCells(t *layout.Table, now time.Time) iter.Seq2[*version, cell] {
	return func(yield func(*version, cell) bool) {
		rank := o.ranks(t)
		for _, versions := range o.tables[t] {
			for _, v := range versions {
				for _, c := range v.cells {
					if alive(&v.period.Families[c.family], now, c.micros, rank(c)) && !yield(v, c) {
						return
					}
				}
			}
		}
	}
}

// living are the events of a place that a reader finds.
type living struct {
	dynamic.Event
	versions []*version
	// has has the fields of each version whose cells are alive; nil for all of a serialized event.
	has []map[int]bool
}

// live returns the events of a table that are alive, in order of time. More than one version in a place
// is one event for each value.
func (o *truth) live(t *layout.Table, now time.Time) []living {
	has := map[*version]map[int]bool{}
	for v, c := range o.aliveCells(t, now) {
		if has[v] == nil {
			has[v] = map[int]bool{}
		}
		has[v][c.field] = true
	}
	var out []living
	for _, versions := range o.tables[t] {
		l := living{}
		for _, v := range versions {
			if has[v] != nil {
				l.Event, l.versions, l.has = v.event, append(l.versions, v), append(l.has, has[v])
			}
		}
		if len(l.versions) > 0 {
			l.Event.Values = o.values(&l)
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b living) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(place(&a.Event), place(&b.Event)))
	})
	return out
}

// values returns the values of an event that a reader finds, if there is one version: what has expired is absent, or has
// its default.
func (o *truth) values(l *living) []any {
	out := slices.Clone(l.versions[0].event.Values)
	if l.versions[0].period.Pattern.OneValue() {
		return out
	}
	for i := range out {
		if !l.has[0][i] {
			out[i] = defaultOf(&o.layout.Fields[i])
		}
	}
	return out
}

// remove removes the events with some places from all tables.
func (o *truth) remove(gone func(e *dynamic.Event) bool) {
	for _, all := range o.tables {
		for at, versions := range all {
			if gone(&versions[0].event) {
				delete(all, at)
			}
		}
	}
}

// collect removes the cells that garbage collection removes.
func (o *truth) collect(now time.Time) {
	for _, t := range o.layout.Tables {
		rank := o.ranks(t)
		for _, versions := range o.tables[t] { // of which rollups know, also when they are gone
			for _, v := range versions {
				v.cells = slices.DeleteFunc(v.cells, func(c cell) bool {
					return collects(v.period.Families[c.family].GC, now.Sub(time.UnixMicro(c.micros)), rank(c))
				})
			}
		}
	}
}
