package rehearse

import (
	"slices"
	"strings"
	"time"
)

// This file is what programs see.

// What a read shows. Of a field, it is the ID of its value, with an apostrophe if the event was written again, and
// with a period and the name if it is an enum.
const (
	None    = ""               // nothing: no event, or no value
	Absent  = "absent"         // an event without the field
	Inexact = "inexact"        // a window that may lack events, and says so
	Present = "present"        // an event
	Unread  = "cannot be read" // begins why an event is not read
	// Fallback begins the value that events are read with that lack a field with a default.
	Fallback = "default "
)

// zero is what is shown of a field whose zero value is not stored, if that is not there.
const zero = Fallback + "0"

// without is between Unread and the ID of a field.
const without = " without "

// look is one thing that a read may show.
type look struct {
	read  string
	field string        // its ID; empty for the event itself, and for the number of events of a window
	width time.Duration // of windows; 0 for events
}

// view is what a program shows of an event: of each look, in their order.
type view []string

// found is the fields of an event that a program has found in a table, by ID: what is stored, and what is read.
type found struct {
	values map[string]string
	codes  map[string]string // the coding and the value
	failed string            // why the event cannot be read; empty if it can
}

// coded returns what statistics have of a field of an event: values of enums are numbers.
func (f *found) coded(l *Layout, id string) string {
	own := l.columns(id)
	if f == nil || f.codes[id] == "" || len(own) == 0 {
		return ""
	}
	_, value, _ := strings.Cut(f.codes[id], sep)
	for _, v := range own[0].Values {
		if v.stored(own[0].Named) == value {
			value = v.stored(false)
			break
		}
	}
	return own[0].Statistics + sep + value
}

// event returns what a program finds in a table of an event; nil if it finds none.
func (w *side) event(p *Schema, t *Table, e *state) *found {
	l := t.at(w.starts[e.period])
	if l == nil {
		return nil
	}
	seen := l.Form != ""
	if seen && !slices.ContainsFunc(l.Families, func(f Family) bool { _, has := w.get(e, l.form(f.Name)); return has }) {
		return nil
	}
	out := &found{values: map[string]string{}, codes: map[string]string{}}
	for i := range p.Fields {
		f := &p.Fields[i]
		if code, c := w.find(e, l, f.ID); c != nil {
			seen = true
			out.codes[f.ID], out.values[f.ID] = code, w.program.decode(f.ID, c, c.Coding, c.Named, code)
			continue
		}
		switch {
		case f.Default != "":
			out.values[f.ID] = Fallback + f.Default
			out.codes[f.ID] = sep + out.values[f.ID] // summaries count it, too
		case f.Optional:
			out.values[f.ID] = Absent
		case slices.ContainsFunc(l.columns(f.ID), func(c *Column) bool { return c.Omits }):
			out.values[f.ID], out.codes[f.ID] = zero, sep+zero
		case out.failed == "":
			out.failed = Unread + without + f.ID
		}
	}
	if !seen {
		return nil
	}
	return out
}

// find returns the stored value of a field, and the column that it is in; nil if no cell has it.
func (s *stage) find(e *state, l *Layout, field string) (string, *Column) {
	for _, c := range l.columns(field) {
		for _, family := range c.in(l) {
			if code, has := s.get(e, l.place(c, family)); has {
				return code, c
			}
		}
	}
	return "", nil
}

// column returns the column in which a program finds a field of an event, given its ID; nil if it finds none.
func (w *side) column(p *Schema, t *Table, id string, e *state) *Column {
	if t == nil || p.field(id) == nil || t.at(w.starts[e.period]) == nil {
		return nil
	}
	_, out := w.find(e, t.at(w.starts[e.period]), id)
	return out
}

// decode returns what a stored value of a field means to a program that reads it as one of a column, with a
// coding. named is whether values of enums are stored by name.
func (p *Program) decode(field string, as *Column, coding string, named bool, code string) string {
	stored, value, _ := strings.Cut(code, sep)
	if !p.readable(stored, coding) {
		return "other values, of " + stored
	}
	if len(as.Values) == 0 || strings.HasPrefix(value, Fallback) {
		return value
	}
	i := slices.IndexFunc(as.Values, func(v Value) bool { return v.stored(named) == value })
	if i < 0 {
		return "an unknown value"
	}
	return field + "." + as.Values[i].Name
}

// looksOf returns all that reads of a schema may show.
func (w *side) looksOf(p *Schema) []look {
	out, known := w.looks[p.Name]
	if known {
		return out
	}
	for _, r := range p.Reads {
		widths := []time.Duration{0}
		if !p.Tables[r.Table].Newest {
			widths = append(widths, w.widths...)
		}
		for _, width := range widths {
			out = append(out, look{r.Name, "", width})
			for i := range p.Fields {
				out = append(out, look{r.Name, p.Fields[i].ID, width})
			}
		}
	}
	w.looks[p.Name] = out
	return out
}

// see returns what a program shows of an event, of which the number is given.
func (w *side) see(p *Schema, n int) view {
	for len(w.seen) <= n {
		w.seen = append(w.seen, nil)
	}
	if w.seen[n] == nil {
		w.seen[n] = w.show(p, w.states[n])
	}
	return w.seen[n]
}

// show returns what a program shows of an event.
func (w *side) show(p *Schema, e *state) (out view) {
	for _, r := range p.Reads {
		out = w.showIn(p, &p.Tables[r.Table], e, out)
	}
	return out
}

// showIn adds what one read shows.
func (w *side) showIn(p *Schema, t *Table, e *state, out []string) []string {
	found, l := w.event(p, t, e), t.at(w.starts[e.period])
	if found == nil && t.Newest && l != nil && w.late(l, e) {
		found = w.event(p, &p.Tables[p.Reads[0].Table], e) // what is not there for its age is searched in the others
	}
	shown, values := None, map[string]string{}
	switch {
	case found == nil:
	case found.failed != "":
		shown = found.failed
	default:
		shown, values = Present, found.values
	}
	out = append(out, shown)
	for i := range p.Fields {
		out = append(out, values[p.Fields[i].ID])
	}
	if t.Newest {
		return out
	}
	for _, width := range w.widths {
		out = append(out, w.window(l, nil, e, found, width))
		for i := range p.Fields {
			out = append(out, w.window(l, &p.Fields[i], e, found, width))
		}
	}
	return out
}

// window returns what a window shows of a field, or, if that is nil, of the number of events.
func (w *side) window(l *Layout, f *Field, e *state, found *found, width time.Duration) string {
	value := None
	switch {
	case found == nil || found.failed != "":
	case f == nil:
		value = Present
	case found.values[f.ID] != Absent:
		value = found.values[f.ID]
	}
	if l == nil || l.Rollup == nil || l.Rollup.Idle {
		return value
	}
	unsure := found == nil && w.late(l, e)
	_, marked := w.get(e, l.rollup("mark"))
	text, sealed := w.get(e, l.rollup("run"))
	if marked || !sealed {
		if marked && unsure {
			return Inexact
		}
		return value
	}
	r := parseRun(text)
	if r.erased {
		return None
	}
	coded, known := r.has(countOfEvents)
	var own []*Column
	if f != nil {
		own = l.columns(f.ID)
		if coded, known = r.has(l.Rollup.summary(f.ID)); len(own) == 0 {
			known = false
		}
	}
	switch {
	case r.every > width || width%r.every != 0 || r.inexact || !known: // the events say it, as long as they are there
		if unsure {
			return Inexact
		}
		return value
	case coded == "":
		return None
	case f == nil:
		return Present
	}
	return w.program.decode(f.ID, own[0], own[0].Statistics, false, coded)
}
