package rehearse

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// This file is what programs do to cells.

// act is something that happens: a number from 0 on is that of the life that ends.
type act int

const (
	touch   act = -1 - iota // another event of the bucket is written
	seal                    // the bucket is summarized
	erase                   // the event is deleted, with its series
	rewrite                 // the event is written again, with other values
)

// describe returns an act in words.
func (s *stage) describe(a act) string {
	switch a {
	case touch:
		return "another event of its bucket is written"
	case seal:
		return "its bucket is summarized"
	case erase:
		return "its series is deleted"
	case rewrite:
		return "it is written again"
	}
	if end, known := age(s.lives[a]); known {
		return "it gets older than " + days(end)
	}
	return "it expires in some families"
}

// days returns a duration in days, if it is one.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return d.String()
}

// rules are the garbage collection rules of families, as the last setup left them.
type rules map[[2]string]Rule

// setup returns the rules after the setup of a program.
func (r rules) setup(p *Program) rules {
	out := maps.Clone(r)
	for l := range p.layouts() {
		for _, f := range l.Families {
			out[[2]string{l.Place, f.Name}] = f.Rule
		}
		if l.Rollup != nil {
			out[[2]string{l.Place, l.Rollup.Family}] = l.Rollup.Rule
		}
	}
	return out
}

// side is a world in which one program runs. It remembers what was done and seen.
type side struct {
	*stage
	program *Program
	rules   rules
	done    [][]int // by the number of a state, and the act: 1 + the number of the next state, or -1
	seen    []view  // by the number of a state
	looks   map[string][]look
	lifes   map[[2]int32]int // by the place and the stamp of a cell
}

// side returns a world.
func (s *stage) side(p *Program, r rules) *side {
	return &side{stage: s, program: p, rules: r, looks: map[string][]look{}, lifes: map[[2]int32]int{}}
}

// do returns the number of a state after an act, of which the index is given; -1 if that changes nothing, or
// cannot be.
func (w *side) do(state, i int) int {
	for len(w.done) <= state {
		w.done = append(w.done, nil)
	}
	if w.done[state] == nil {
		w.done[state] = make([]int, len(w.acts))
	}
	known := w.done[state][i]
	if known == 0 {
		known = -1
		if out := w.happens(w.states[state], i); out != nil {
			w.expire(out)
			known = 1 + w.add(out)
		}
		w.done[state][i] = known
	}
	return max(known-1, -1)
}

// happens returns a state after an act, of which the index is given, before anything is collected.
func (w *side) happens(e *state, i int) *state {
	p, a := w.program.schema(e.schema), w.acts[i]
	if a >= 0 {
		later, may := w.end(e.age, int(a))
		if !may {
			return nil
		}
		out := e.next(w.said[i])
		out.age = later
		return out
	}
	if p == nil || a == erase && e.deleted || a == rewrite && e.again && !e.deleted {
		return nil
	}
	out := e.next(w.said[i])
	switch a {
	case touch:
		w.mark(p, out)
	case seal:
		w.seal(p, out)
	case erase:
		out.deleted = true
		w.erase(p, out)
	case rewrite:
		out.deleted, out.again, out.age = false, true, w.written(out.age)
		w.write(p, out)
	}
	return out
}

// expire deletes the cells whose time to live has ended.
func (w *side) expire(e *state) {
	if e.age == 0 {
		return
	}
	e.drop(func(c cell) bool {
		life := w.lifeOf(c)
		return life >= 0 && e.age&(1<<life) != 0
	})
}

// lifeOf returns the index of the life of a cell under the rules of a world; -1 if it has no end.
func (w *side) lifeOf(c cell) int {
	key := [2]int32{c.key, c.stamp}
	out, known := w.lifes[key]
	if !known {
		out = -1
		p := &w.places.all[c.key]
		if rule, has := w.rules[[2]string{p.table, p.family}]; has {
			out = w.life(rule.of(w.stamps[c.stamp]))
		}
		w.lifes[key] = out
	}
	return out
}

// stored returns what a column has of a field of an event; false if the event lacks it.
func (e *state) stored(f *Field, c *Column) (string, bool) {
	switch {
	case e.lacks(f.ID) && (f.Optional || c.Omits):
		return "", false
	case e.lacks(f.ID) && f.Zero:
		return zero, true
	case len(c.Values) > 0:
		i := slices.IndexFunc(c.Values, func(v Value) bool { return v.Name == e.label })
		return c.Values[max(0, i)].stored(c.Named), true
	case e.again:
		return f.ID + "'", true
	}
	return f.ID, true
}

// tables are the tables of a schema that may have an event, each with its layout.
func (s *stage) tables(p *Schema, e *state) iter.Seq2[*Table, *Layout] {
	return func(yield func(*Table, *Layout) bool) {
		for i := range p.Tables {
			t := &p.Tables[i]
			if l := t.at(s.starts[e.period]); l != nil && !yield(t, l) {
				return
			}
		}
	}
}

// write stores an event in all tables.
func (s *stage) write(p *Schema, e *state) {
	for _, l := range s.tables(p, e) {
		s.writeTo(p, l, e)
	}
}

// writeTo stores an event in a table.
func (s *stage) writeTo(p *Schema, l *Layout, e *state) {
	family := &l.Families[max(0, slices.IndexFunc(l.Families, func(f Family) bool { return f.Class == e.class }))]
	if l.Form != "" { // it is one value
		e.drop(func(c cell) bool {
			o := &s.places.all[c.key]
			return o.table == l.Place && o.rows == l.Rows && o.family == family.Name && strings.HasPrefix(o.column, whole)
		})
		s.put(e, l.form(family.Name), "", family.Life)
	}
	for k := range p.Fields {
		for n, c := range l.columns(p.Fields[k].ID) {
			at := l.place(c, family.Name)
			value, has := e.stored(&p.Fields[k], c)
			if !has || n > 0 {
				e.drop(func(o cell) bool { return s.places.all[o.key] == at })
				continue
			}
			s.put(e, at, c.Coding+sep+value, l.life(at.family))
		}
	}
	if l.Rollup != nil {
		s.put(e, l.rollup("mark"), "", codec.Lifetime{})
	}
}

// whole begins the columns of serialized events, and of their fields.
const whole = "!"

// form returns where a layout has a whole event, given its family.
func (l *Layout) form(family string) place { return place{l.Place, l.Rows, family, whole + l.Form} }

// rollup returns where a layout has the windows of its rollup, or the mark of a change.
func (l *Layout) rollup(what string) place { return place{l.Place, l.Rows, l.Rollup.Family, what} }

// place returns where a layout has a column, given the family of the event.
func (l *Layout) place(c *Column, family string) place {
	switch {
	case l.Form != "":
		return place{l.Place, l.Rows, family, whole + l.Form + sep + c.Key}
	case c.Family != "":
		family = c.Family
	}
	return place{l.Place, l.Rows, family, c.Key}
}

// life returns the lifetime of the cells of a family.
func (l *Layout) life(family string) codec.Lifetime {
	if i := slices.IndexFunc(l.Families, func(f Family) bool { return f.Name == family }); i >= 0 {
		return l.Families[i].Life
	}
	return codec.Lifetime{}
}

// mark sets the marks of changes of the bucket of an event.
func (s *stage) mark(p *Schema, e *state) {
	for _, l := range s.tables(p, e) {
		if l.Rollup != nil {
			s.put(e, l.rollup("mark"), "", codec.Lifetime{})
		}
	}
}

// erase deletes the series of an event in all tables.
func (s *stage) erase(p *Schema, e *state) {
	for _, l := range s.tables(p, e) {
		s.eraseIn(l, e)
	}
}

// eraseIn deletes the series of an event in a table: what a program knows to be in its rows. A rollup keeps a cell
// that says so.
func (s *stage) eraseIn(l *Layout, e *state) {
	e.drop(func(c cell) bool {
		o := &s.places.all[c.key]
		return o.table == l.Place && o.rows == l.Rows && l.knows(o.family)
	})
	if l.Rollup != nil {
		s.put(e, l.rollup("run"), run{every: l.Rollup.Every, erased: true}.String(), codec.Lifetime{})
	}
}

// knows reports whether a layout has a family.
func (l *Layout) knows(family string) bool {
	return l.Rollup != nil && l.Rollup.Family == family ||
		slices.ContainsFunc(l.Families, func(f Family) bool { return f.Name == family }) ||
		slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Family == family })
}

// seal summarizes the bucket of an event in all tables with a rollup, if it is marked.
func (w *side) seal(p *Schema, e *state) {
	for t, l := range w.tables(p, e) {
		if l.Rollup == nil {
			continue
		}
		if _, marked := w.get(e, l.rollup("mark")); !marked {
			continue
		}
		found := w.event(p, t, e)
		e.drop(func(c cell) bool {
			o := &w.places.all[c.key]
			return o.table == l.Place && o.rows == l.Rows && o.family == l.Rollup.Family
		})
		r := run{every: l.Rollup.Every, inexact: w.late(l, e)}
		if found != nil {
			r.add(countOfEvents, one)
		}
		for _, f := range l.Rollup.Fields {
			r.add(f.Name, found.coded(l, f.Field))
		}
		w.put(e, l.rollup("run"), r.String(), codec.Lifetime{})
	}
}

// late reports whether events of the bucket of an event may have expired, as far as a program knows.
func (s *stage) late(l *Layout, e *state) bool {
	return slices.ContainsFunc(l.Families, func(f Family) bool {
		return (f.Class == "" || f.Class == e.class) && s.ended(f.Life, e.age)
	})
}

// run is the windows of a bucket.
type run struct {
	every           time.Duration
	erased, inexact bool
	fields          []string // name, sep, coding, sep, value; without the latter two if no event has it
}

// countOfEvents is the name under which a run has the number of events, and one is the statistics of one.
const (
	countOfEvents = "#"
	one           = "number" + sep + "one"
)

// add adds the statistics of a field; those of none are empty.
func (r *run) add(name, coded string) { r.fields = append(r.fields, name+sep+coded) }

// String returns the value of a cell; parseRun is its inverse.
func (r run) String() string {
	out := []string{r.every.String(), "", ""}
	if r.erased {
		out[1] = "erased"
	}
	if r.inexact {
		out[2] = "inexact"
	}
	return strings.Join(append(out, r.fields...), "\n")
}

func parseRun(text string) run {
	parts := strings.Split(text, "\n")
	every, _ := time.ParseDuration(parts[0])
	return run{every, parts[1] != "", parts[2] != "", parts[3:]}
}

// has returns the statistics of a field; false if the run does not know it.
func (r *run) has(name string) (coded string, known bool) {
	for _, f := range r.fields {
		if n, coded, _ := strings.Cut(f, sep); n == name {
			return coded, true
		}
	}
	return "", false
}
