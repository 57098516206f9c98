package evolve_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// inNewTable is an edit that the manual allows.
const inNewTable = "since in a new table"

// edits are the edits that histories draw. Each changes a schema as a user might, whether or not
// it is harmless. An edit that does not apply changes nothing. Add the edits of new language
// features here: the ID of a field determines what its stored values become, and package evolve
// gives the verdict.
var edits = []struct {
	name   string
	weight int
	edit   func(h *life, s *drawn)
}{
	{"doc", 1, func(h *life, s *drawn) { s.doc++ }},
	{"query", 2, func(h *life, s *drawn) {
		if h.chance(3) && len(s.queries) > 0 {
			s.queries = s.queries[:len(s.queries)-1]
		} else {
			s.queries = append(s.queries, drawnQuery{by: one(h.random, "", "site", s.series[len(s.series)-1].name)})
		}
	}},

	// Fields.
	{"add field", 6, func(h *life, s *drawn) { s.fields = slices.Insert(s.fields, h.IntN(len(s.fields)+1), h.field()) }},
	{"restore field with another default", 2, ofGone(func(h *life, s *drawn, f drawnField) {
		f.fallback, f.optional = h.fallback(&f), false
		s.fields = append(s.fields, f)
	})},
	{"remove field", 5, func(h *life, s *drawn) {
		if i := h.IntN(len(s.fields)); len(s.fields) > 1 {
			s.fields = slices.Delete(s.fields, i, i+1)
		}
	}},
	{"restore field", 3, ofGone(func(h *life, s *drawn, f drawnField) { s.fields = append(s.fields, f) })},
	{"take up field again", 2, ofGone(func(h *life, s *drawn, f drawnField) {
		again := h.field()
		again.id, again.name, again.column, again.number, again.was = f.id, f.name, f.column, f.number, f.was // its stored values are read
		if h.chance(2) {
			again.typ, again.of, again.fallback, again.optional, again.text = f.typ, f.of, "", true, f.text
		}
		s.fields = append(s.fields, again)
	})},
	{"rename field", 3, func(h *life, s *drawn) { h.anyField(s).name = fmt.Sprint("w", h.fresh()) }},
	{"rename field, column kept", 3, func(h *life, s *drawn) {
		f := h.anyField(s)
		if f.column == "" {
			f.column = f.name
		}
		f.name = fmt.Sprint("w", h.fresh())
	}},
	{"replace field", 2, func(h *life, s *drawn) { *h.anyField(s) = h.field() }},
	{"swap numbers", 1, ofTwo(func(_ *life, a, b *drawnField) { a.number, b.number = b.number, a.number })},
	{"swap columns", 3, ofTwo(func(_ *life, a, b *drawnField) { a.column, b.column = b.stored(), a.stored() })},
	{"column of another field", 2, ofTwo(func(h *life, a, b *drawnField) { b.column, a.column = a.stored(), fmt.Sprint("c", h.fresh()) })},
	{"column of a removed field", 1, ofGone(func(h *life, s *drawn, f drawnField) { h.anyField(s).column = f.stored() })},
	{"number of a removed field", 1, ofGone(func(h *life, s *drawn, f drawnField) { h.anyField(s).number = f.number })},
	{"was of a removed field", 2, ofGone(func(h *life, s *drawn, f drawnField) { h.list(s, h.anyField(s), &f) })},
	{"restore field elsewhere, with was", 2, ofGone(func(h *life, s *drawn, f drawnField) {
		h.move(s, &f)
		s.fields = append(s.fields, f)
	})},
	{"join fields", 1, func(h *life, s *drawn) {
		i, k := h.IntN(len(s.fields)), h.IntN(len(s.fields))
		if i == k {
			return
		}
		h.move(s, &s.fields[i])
		h.list(s, &s.fields[i], &s.fields[k])
		s.fields = slices.Delete(s.fields, k, k+1)
	}},
	{"forget a part of was", 1, func(h *life, s *drawn) {
		if f := h.movedField(s); f != nil {
			w := one(h.random, &f.was[0], &f.was[len(f.was)-1])
			if h.chance(2) {
				w.column = ""
			} else {
				w.number = 0
			}
		}
	}},
	{"rename field, with was", 8, func(h *life, s *drawn) { h.move(s, h.anyField(s)) }},
	{"convert field", 8, func(h *life, s *drawn) {
		f := h.anyField(s)
		to := converts[f.typ]
		if to == nil {
			return
		}
		h.move(s, f)
		f.typ, f.of = one(h.random, to...), nil
		if f.typ == "string" && f.fallback != "" && !strings.HasPrefix(f.fallback, `"`) {
			f.fallback = strconv.Quote(f.fallback)
		}
	}},
	{"values of field, with was", 2, func(h *life, s *drawn) {
		f := h.anyField(s)
		h.move(s, f)
		for i := range f.was {
			if f.was[i].values == "" {
				f.was[i].values = map[bool]string{true: "text", false: "binary"}[f.text]
			}
		}
		f.text = !f.text
	}},
	{"rename field back", 3, func(h *life, s *drawn) {
		if f := h.movedField(s); f != nil {
			to := f.was[0]
			f.was = f.was[1:]
			h.move(s, f)
			if to.column != "" {
				f.name = to.column
			}
			if to.number > 0 {
				f.number = to.number
			}
		}
	}},
	{"forget was", 3, func(h *life, s *drawn) {
		if f := h.movedField(s); f != nil {
			i := h.IntN(len(f.was))
			f.was = slices.Delete(f.was, i, i+1)
		}
	}},
	{"was of another field", 1, func(h *life, s *drawn) {
		a, b := h.anyField(s), h.anyField(s)
		if a.id != b.id {
			a.was = append(a.was, drawnWas{column: b.stored(), typ: b.typ, of: b.of})
		}
	}},
	{"exchange was", 1, ofTwo(func(_ *life, a, b *drawnField) { a.was, b.was = b.was, a.was })},
	{"order of fields", 1, func(h *life, s *drawn) {
		h.Shuffle(len(s.fields), func(i, j int) { s.fields[i], s.fields[j] = s.fields[j], s.fields[i] })
	}},
	{"column", 1, func(h *life, s *drawn) { h.anyField(s).column = fmt.Sprint("c", h.fresh()) }},
	{"number", 1, func(h *life, s *drawn) { h.anyField(s).number = h.fresh() }},
	{"wider type", 3, func(h *life, s *drawn) {
		f := h.anyField(s)
		if to := wider[f.typ]; to != nil {
			f.typ = one(h.random, to...)
		}
	}},
	{"type", 2, func(h *life, s *drawn) {
		f := h.anyField(s)
		f.typ, f.of, f.fallback = one(h.random, types...), nil, ""
		if f.typ == "enum" {
			f.of = h.enum()
		}
	}},
	{"presence", 4, func(h *life, s *drawn) {
		f := h.anyField(s)
		f.optional, f.fallback = false, ""
		switch h.IntN(3) {
		case 0:
			f.optional = true
		case 1:
			f.fallback = h.fallback(f)
		}
	}},
	{"values of field", 1, func(h *life, s *drawn) { f := h.anyField(s); f.text = !f.text }},
	{"enum", 5, func(h *life, s *drawn) {
		if f := h.enumOf(s); f != nil {
			h.changeEnum(f)
		}
	}},

	// Series.
	{"rename series value", 1, func(h *life, s *drawn) { s.series[len(s.series)-1].name = fmt.Sprint("s", h.fresh()) }},
	{"type of series value", 2, func(h *life, s *drawn) {
		f := &s.series[h.IntN(len(s.series))]
		if to := map[string][]string{"int32": {"int64"}, "uint32": {"uint64", "int64"}, "string": {"bytes"}, "int64": {"int32", "uint64"}}[f.typ]; to != nil {
			f.typ = one(h.random, to...)
		}
	}},
	{"precision", 2, func(h *life, s *drawn) { s.precision = one(h.random, time.Millisecond, time.Second, time.Minute) }},

	// Tables.
	{"add table", 3, func(h *life, s *drawn) {
		if len(s.tables) < 3 {
			s.tables = slices.Insert(s.tables, h.IntN(len(s.tables)+1), drawnTable{idle: h.chance(2), layouts: []drawnLayout{h.layout(s)}})
		}
	}},
	{"remove table", 2, func(h *life, s *drawn) {
		if i := h.IntN(len(s.tables)); len(s.tables) > 1 {
			s.tables = slices.Delete(s.tables, i, i+1)
		}
	}},
	{"table that takes over reads", 3, func(h *life, s *drawn) {
		if len(s.tables) < 3 {
			t := drawnTable{layouts: []drawnLayout{h.like(s)}}
			s.tables = slices.Insert(s.tables, h.IntN(len(s.tables)+1), t)
		}
	}},
	{"serves", 5, func(h *life, s *drawn) { t := h.anyTable(s); t.idle = !t.idle }},
	{"order of tables", 3, func(h *life, s *drawn) {
		h.Shuffle(len(s.tables), func(i, j int) { s.tables[i], s.tables[j] = s.tables[j], s.tables[i] })
	}},
	{"table of query", 4, func(h *life, s *drawn) {
		if len(s.queries) == 0 {
			return
		}
		q := &s.queries[h.IntN(len(s.queries))]
		if q.table != "" {
			q.table = ""
		} else {
			q.table = h.anyTable(s).layouts[0].table
		}
	}},

	// Families.
	{"ttl", 8, func(h *life, s *drawn) { h.keep(s, one(h.random, ttls...)) }},
	{"classes", 4, func(h *life, s *drawn) { h.keep(s, one(h.random, classTTLs...)) }},
	{"families", 3, func(h *life, s *drawn) {
		l := &h.anyTable(s).layouts[0]
		switch {
		case l.families == nil && classes[l.ttl] == nil:
			l.families = []drawnFamily{{"f", l.ttl}, {"g", one(h.random, l.ttl, one(h.random, ttls...))}}
			h.Shuffle(2, func(i, j int) { l.families[i], l.families[j] = l.families[j], l.families[i] })
			h.anyField(s).family = l.families[1].name
		case l.families != nil && h.chance(2):
			l.families = l.families[:1]
		case l.families != nil:
			l.family, l.ttl, l.families = l.families[0].name, l.families[0].ttl, nil
		}
	}},
	{"family of field", 2, func(h *life, s *drawn) {
		f := h.anyField(s)
		f.family = map[string]string{"f": "g", "g": "f", "": "g"}[f.family]
	}},
	{"rollup", 10, func(h *life, s *drawn) { h.changeRollup(s, h.anyTable(s)) }},
	{"layout", 8, func(h *life, s *drawn) { h.changeLayout(s, &h.anyTable(s).layouts[0]) }},

	// Layouts by time.
	{"since", 14, func(h *life, s *drawn) { h.begin(s, h.anyTable(s)) }},
	{inNewTable, 5, func(h *life, s *drawn) {
		t := h.anyTable(s)
		if len(t.layouts) >= 4 {
			return
		}
		l := t.layouts[0]
		l.segments = slices.Clone(l.segments)
		l.since = h.monday().AddDate(0, 0, 7)
		l.table = one(h.random, allTables...)
		if l.table == t.layouts[0].table {
			return
		}
		if h.chance(3) {
			l.family = one(h.random, families...)
		}
		for i := range s.queries {
			if s.queries[i].table == t.layouts[0].table {
				s.queries[i].table = l.table
			}
		}
		t.layouts = slices.Insert(t.layouts, 0, l)
	}},
	{"move since", 3, func(h *life, s *drawn) {
		t := h.olderTable(s)
		if n := len(t.layouts); n > 1 {
			t.layouts[h.IntN(n-1)].since = h.edge()
		}
	}},
	{"change earlier layout", 4, func(h *life, s *drawn) {
		t := h.olderTable(s)
		h.changeLayout(s, &t.layouts[len(t.layouts)-1])
	}},
	{"remove earlier layout", 4, func(h *life, s *drawn) {
		t := h.olderTable(s)
		if n := len(t.layouts); n > 1 {
			t.layouts = t.layouts[:n-1]
			t.layouts[n-2].since = time.Time{}
		}
	}},
	{"remove newest layout", 1, func(h *life, s *drawn) {
		if t := h.olderTable(s); len(t.layouts) > 1 {
			t.layouts = t.layouts[1:]
		}
	}},
	{"merge layouts", 1, func(h *life, s *drawn) {
		if t := h.olderTable(s); len(t.layouts) > 2 {
			t.layouts[0].since = t.layouts[1].since
			t.layouts = slices.Delete(t.layouts, 1, 2)
		}
	}},
}

// ofGone is an edit with a removed field, if there is one.
func ofGone(edit func(h *life, s *drawn, f drawnField)) func(h *life, s *drawn) {
	return func(h *life, s *drawn) {
		if f, ok := h.gone(s); ok {
			edit(h, s, f)
		}
	}
}

// ofTwo is an edit of two fields, which may be the same.
func ofTwo(edit func(h *life, a, b *drawnField)) func(h *life, s *drawn) {
	return func(h *life, s *drawn) { edit(h, h.anyField(s), h.anyField(s)) }
}

// weights is the sum of the weights of all edits.
var weights = func() (sum int) {
	for _, e := range edits {
		sum += e.weight
	}
	return sum
}()

// edit changes a schema by one edit, or two, and returns their names.
func (h *life) edit(s *drawn) string {
	n := h.IntN(weights)
	for _, e := range edits {
		if n -= e.weight; n < 0 {
			e.edit(h, s)
			if h.chance(8) {
				return e.name + "; " + h.edit(s)
			}
			return e.name
		}
	}
	return ""
}

// related treats fields as new if an edit has both moved them to another place and given them a
// type that cannot read the old one, because this cannot be distinguished from a different
// field. Conversely, a field that is added, or keeps no place of its own, and lists the place of
// one that is gone continues that. It is false for edits that restore a field in another place
// without was.
func (h *life) related(old, s *drawn) bool {
	columns, _, protobuf := old.stores()
	names := !columns && !protobuf // fields are stored under their names alone
	for i := range s.fields {
		f := &s.fields[i]
		same := func(o drawnField) bool { return o.id == f.id }
		if k := slices.IndexFunc(old.fields, same); k >= 0 {
			was := &old.fields[k]
			if id := h.continues(old, f); id > 0 && !f.lists(was) && !f.keeps(was, old) && !slices.ContainsFunc(s.fields, func(o drawnField) bool { return o.id == id }) {
				f.id = id
				continue
			}
			if !was.samePlace(f) && !f.lists(was) && was.typ != f.typ && !slices.Contains(wider[was.typ], f.typ) {
				f.id = h.fresh()
			}
		} else if k := slices.IndexFunc(old.fields, func(o drawnField) bool {
			return o.name == f.name && (names || o.stored() == f.stored()) && !slices.ContainsFunc(s.fields, func(n drawnField) bool { return n.id == o.id })
		}); k >= 0 { // it replaces one in the same place
			f.id = old.fields[k].id
		} else if slices.ContainsFunc(h.removed, same) {
			if !slices.ContainsFunc(h.removed, func(o drawnField) bool { return same(o) && (o.samePlace(f) || f.listsAll(&o, old)) }) {
				return false
			}
		} else if id := h.continues(old, f); id > 0 && !slices.ContainsFunc(s.fields, func(o drawnField) bool { return o.id == id }) {
			f.id = id
		}
	}
	return true
}

// continues returns the ID of the only field that an added one lists, of those that the old
// version has, or that were removed; 0 if it lists none or several.
func (h *life) continues(old *drawn, f *drawnField) int {
	id := 0
	add := func(o *drawnField, lists bool) {
		switch {
		case !lists || o.id == id:
		case id == 0:
			id = o.id
		default:
			id = -1
		}
	}
	for i := range old.fields {
		add(&old.fields[i], f.lists(&old.fields[i]))
	}
	for i := range h.removed {
		o := &h.removed[i]
		add(o, f.listsAll(o, old) && !slices.ContainsFunc(old.fields, func(l drawnField) bool { return l.id == o.id }))
	}
	return max(id, 0)
}

// keeps reports whether a field is still stored where a version has it.
func (f *drawnField) keeps(was *drawnField, v *drawn) bool {
	columns, json, protobuf := v.stores()
	return columns && f.stored() == was.stored() || json && f.name == was.name || protobuf && f.number == was.number
}

// listsAll reports whether a field names the place of an older version of it in all forms in
// which a version stores fields.
func (f *drawnField) listsAll(o *drawnField, v *drawn) bool {
	columns, json, protobuf := v.stores()
	has := func(fits func(w drawnWas) bool) bool { return slices.ContainsFunc(f.was, fits) }
	return (columns || json || protobuf) &&
		(!columns || has(func(w drawnWas) bool { return w.column == o.stored() })) &&
		(!json || f.name == o.name || has(func(w drawnWas) bool { return w.column == o.name })) &&
		(!protobuf || f.number == o.number || has(func(w drawnWas) bool { return w.number == o.number }))
}

// samePlace reports whether a field is stored under the same name, column and number.
func (f *drawnField) samePlace(o *drawnField) bool {
	return f.name == o.name && f.column == o.column && f.number == o.number
}

// lists reports whether a field names the place of an older version of it.
func (f *drawnField) lists(old *drawnField) bool {
	return slices.ContainsFunc(f.was, func(w drawnWas) bool {
		return w.column != "" && (w.column == old.stored() || w.column == old.name) || w.number > 0 && w.number == old.number
	})
}

// move gives a field a new name, column and number, and lists the older ones.
func (h *life) move(s *drawn, f *drawnField) {
	columns, json, protobuf := s.stores()
	w := drawnWas{typ: f.typ, of: slices.Clone(f.of)}
	switch {
	case columns:
		w.column = f.stored()
	case json:
		w.column = f.name
	}
	if protobuf {
		w.number, f.number = f.number, h.fresh()
	}
	if columns && json && f.stored() != f.name {
		f.was = slices.Insert(f.was, 0, drawnWas{column: f.name, typ: w.typ, of: w.of})
	}
	if w.column != "" || w.number > 0 {
		f.was = slices.Insert(f.was, 0, w)
	}
	f.name, f.column = fmt.Sprint("w", h.fresh()), ""
}

// list lists the place of another field as an older one of a field. It may leave out how some
// tables store that.
func (h *life) list(s *drawn, f, of *drawnField) {
	columns, json, protobuf := s.stores()
	w := drawnWas{typ: of.typ, of: of.of}
	if columns || json {
		w.column = one(h.random, of.stored(), of.stored(), of.name, "")
	}
	if protobuf && (w.column == "" || !h.chance(4)) {
		w.number = of.number
	}
	if w.column != "" || w.number > 0 {
		f.was = append(f.was, w)
	}
}

// movedField returns a field with older columns; nil if there is none.
func (h *life) movedField(s *drawn) *drawnField {
	return h.someOf(func(f *drawnField) bool { return len(f.was) > 0 }, s.fields)
}

// converts lists the types to which stored values of a type can be converted.
var converts = map[string][]string{
	"bool": {"int32", "int64", "uint32", "uint64"}, "int32": {"int64", "float64", "string"}, "uint32": {"int64", "uint64", "float64", "string"},
	"int64": {"float64", "float64", "string"}, "uint64": {"float64", "float64", "string"}, "float32": {"float64"}, "enum": {"string"}, "uuid": {"string"}, "string": {"bytes"},
}

// wider lists the types that can read the stored values of another type.
var wider = map[string][]string{"int32": {"int64"}, "uint32": {"uint64", "int64"}, "string": {"bytes"}}

func (h *life) anyField(s *drawn) *drawnField { return &s.fields[h.IntN(len(s.fields))] }

func (h *life) anyTable(s *drawn) *drawnTable { return &s.tables[h.IntN(len(s.tables))] }

// olderTable returns a table with earlier layouts, if there is one.
func (h *life) olderTable(s *drawn) *drawnTable {
	t := h.anyTable(s)
	for i := range s.tables {
		if len(s.tables[i].layouts) > len(t.layouts) {
			t = &s.tables[i]
		}
	}
	return t
}

// gone returns a removed field unchanged.
func (h *life) gone(s *drawn) (drawnField, bool) {
	if len(h.removed) == 0 {
		return drawnField{}, false
	}
	f := h.removed[h.IntN(len(h.removed))]
	f.of, f.was = slices.Clone(f.of), slices.Clone(f.was)
	return f, !slices.ContainsFunc(s.fields, func(o drawnField) bool { return o.id == f.id })
}

// enumOf returns an enum of the schema; nil if it has none.
func (h *life) enumOf(s *drawn) *drawnField {
	return h.someOf(func(f *drawnField) bool { return f.of != nil }, s.series, s.fields)
}

// someOf returns one of the fields that are wanted; nil if there is none.
func (h *life) someOf(wanted func(f *drawnField) bool, of ...[]drawnField) *drawnField {
	var all []*drawnField
	for _, fields := range of {
		for i := range fields {
			if wanted(&fields[i]) {
				all = append(all, &fields[i])
			}
		}
	}
	if all == nil {
		return nil
	}
	return one(h.random, all...)
}

// changeEnum changes the values of an enum.
func (h *life) changeEnum(f *drawnField) {
	i := h.IntN(len(f.of))
	switch h.IntN(6) {
	case 0, 1: // a value is added
		n := h.fresh()
		f.of = slices.Insert(f.of, i, drawnValue{fmt.Sprint("e", n), 100 + n})
	case 2: // a removed value is reused with a different meaning
		f.of = append(f.of, drawnValue{one(h.random, "low", "mid", "high", "top", "back"), h.IntN(9)})
	case 3:
		f.of[i].name = fmt.Sprint("e", h.fresh())
	case 4:
		if len(f.of) > 1 {
			f.of = slices.Delete(f.of, i, i+1)
		}
	case 5:
		k := h.IntN(len(f.of))
		f.of[i].number, f.of[k].number = f.of[k].number, f.of[i].number
	}
}

// changeLayout changes how a layout stores events.
func (h *life) changeLayout(s *drawn, l *drawnLayout) {
	switch h.IntN(14) {
	case 0, 1:
		l.bucket = one(h.random, buckets...)
	case 2:
		l.timeKey = one(h.random, timeKeys...)
	case 3:
		l.delimiter = one(h.random, delimiters...)
	case 4:
		l.timeFirst = h.chance(4)
		h.Shuffle(len(l.segments), func(i, j int) { l.segments[i], l.segments[j] = l.segments[j], l.segments[i] })
	case 5:
		for i := range l.segments {
			if g := &l.segments[i]; g.constant == "" && g.salt == 0 {
				g.form = one(h.random, forms(s.series[g.series].typ)...)
			}
		}
	case 6:
		h.changeFirst(l)
	case 7:
		l.pattern = one(h.random, patterns...)
	case 8:
		l.text = !l.text
	case 9:
		l.format = one(h.random, "protobuf", "json")
	case 10:
		l.family = one(h.random, families...)
	case 11:
		l.table = one(h.random, tableIDs...)
	case 12:
		l.ttl = one(h.random, ttls...)
	case 13:
		l.column = one(h.random, "e", "e2")
	}
}

// changeFirst adds, changes or removes a constant or a salt at the beginning of keys.
func (h *life) changeFirst(l *drawnLayout) {
	first := one(h.random, drawnSegment{constant: one(h.random, constants...)}, drawnSegment{salt: one(h.random, 4, 16)})
	has := l.segments[0].constant != "" || l.segments[0].salt > 0
	switch {
	case !has:
		l.segments = slices.Insert(l.segments, 0, first)
	case h.chance(3):
		l.segments = l.segments[1:]
	default:
		l.segments[0] = first
	}
}

// begin adds a layout that begins at a time.
func (h *life) begin(s *drawn, t *drawnTable) {
	if len(t.layouts) >= 4 {
		return
	}
	l := t.layouts[0]
	l.segments = slices.Clone(l.segments)
	l.since = h.edge()
	for range 1 + h.IntN(2) {
		h.changeLayout(s, &l)
	}
	if h.chance(2) { // keys that certainly differ
		switch h.IntN(3) {
		case 0:
			l.family = one(h.random, families...)
		case 1:
			l.table = one(h.random, tableIDs...)
		case 2:
			h.changeFirst(&l)
		}
	}
	for i := range t.layouts { // the newest layout uses the table's name
		if t.layouts[i].table == "" {
			t.layouts[i].table = l.table
		}
	}
	t.layouts = slices.Insert(t.layouts, 0, l)
}

// edge returns a time at which a layout may begin: the start of a week, a month or a day, and
// rarely one that is not a bucket boundary, or is in the past.
func (h *life) edge() time.Time {
	day := h.now.Truncate(24 * time.Hour)
	switch h.IntN(10) {
	case 0:
		return h.now.Add(25 * time.Minute).Truncate(time.Millisecond * 500)
	case 1:
		return day.AddDate(0, 0, -h.IntN(20))
	case 2, 3:
		return time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	case 4:
		return day.AddDate(0, 0, 1)
	}
	return h.monday()
}

// monday returns the next Monday.
func (h *history) monday() time.Time {
	day := h.now.Truncate(24 * time.Hour)
	return day.AddDate(0, 0, (8-int(day.Weekday()))%7).AddDate(0, 0, map[bool]int{true: 7}[day.Weekday() == time.Monday])
}

// like returns a layout of a new table that may serve the reads of another one: with the same
// facts, but for its time to live, or its key.
func (h *life) like(s *drawn) drawnLayout {
	l := h.anyTable(s).layouts[0]
	l.segments, l.families, l.since = slices.Clone(l.segments), slices.Clone(l.families), time.Time{}
	l.table = one(h.random, allTables...)
	switch h.IntN(3) {
	case 0:
		h.changeLayout(s, &l)
	case 1:
		h.Shuffle(len(l.segments), func(i, j int) { l.segments[i], l.segments[j] = l.segments[j], l.segments[i] })
	}
	if classes[l.ttl] == nil && h.chance(2) {
		l.ttl = one(h.random, ttls...)
	}
	return l
}

// keep gives a table another time to live, in all its layouts with that of the newest, or gives
// it to all tables.
func (h *life) keep(s *drawn, ttl string) {
	all, table := h.chance(3), h.IntN(len(s.tables))
	bare := classes[ttl] != nil && h.chance(3)
	for i := range s.tables {
		was := s.tables[i].layouts[0].ttl
		for k := range s.tables[i].layouts {
			l := &s.tables[i].layouts[k]
			switch {
			case i != table && !all, l.ttl != was:
				continue
			case l.families != nil && classes[ttl] == nil:
				l.families[h.IntN(len(l.families))].ttl = ttl
				continue
			}
			l.ttl, l.families = ttl, nil
			if bare {
				l.family = ""
			} else if l.family == "" && (classes[ttl] == nil || h.chance(3)) {
				l.family = "f"
			}
		}
	}
}
