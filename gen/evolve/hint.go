package evolve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// examples returns how the same event is stored before and after a change: the first pair
// of row keys, or of rows and columns, that differs.
func examples(p *pair, change *Change) (old, new string) {
	like := p.layout
	if like == nil {
		like = &layout.Layout{}
	}
	l, t := p.old.Rebuild(like)
	if p.facts == nil {
		return sample.ShowKey(sample.Key(l, t)), ""
	}
	if change.place == atPattern {
		return firstCell(l, t), firstCell(p.layout, p.table)
	}
	at := sample.Time(p.table)
	const day = 24 * time.Hour
	for _, step := range []time.Duration{0, 90 * time.Minute, 27 * time.Hour, 5 * day, 40 * day, 400 * day} {
		old, new = sample.KeyAt(l, t, at.Add(step)), sample.KeyAt(p.layout, p.table, at.Add(step))
		if differ(old, new) {
			return sample.ShowKey(old), sample.ShowKey(new)
		}
	}
	// The change affects only some values: those that the new type of a series value lacks, and those with
	// characters that are escaped.
	rare := []any{uint64(math.MaxUint64), int64(1 << 40), uint64(math.MaxUint32), int64(-1)}
	if t.Delimiter != "" {
		rare = append(rare, "a"+string(rune(t.Delimiter[0]+1))+"b")
	}
	for i := range l.Series {
		k := slices.IndexFunc(p.layout.Series, func(f layout.Field) bool { return f.Name == l.Series[i].Name })
		if k < 0 {
			continue
		}
		from, to := l.Series[i].Type, p.layout.Series[k].Type
		for _, v := range rare {
			_, text := v.(string)
			was, has := valueAs(from, v)
			is, fits := valueAs(to, v)
			if !has || text && !fits {
				continue
			}
			a := sample.KeyAt(withExample(l, i, was), t, at)
			if !fits {
				return sample.ShowKey(a), fmt.Sprintf("none: %v is no %s", v, to)
			}
			if b := sample.KeyAt(withExample(p.layout, k, is), p.table, at); differ(a, b) {
				return sample.ShowKey(a), sample.ShowKey(b)
			}
		}
	}
	return sample.ShowKey(old), sample.ShowKey(new)
}

// differ reports whether two row keys, which are empty if there is none, are different ones.
func differ(a, b string) bool { return a != b && a != "" && b != "" }

// valueAs returns an integer or a string in the form of a type, and whether that has it.
func valueAs(t schema.Type, v any) (any, bool) {
	bits := 64
	switch _, text := v.(string); {
	case text:
		return v, t == schema.String
	case t == schema.Int32, t == schema.Uint32:
		bits = 32
	case t != schema.Int64 && t != schema.Uint64:
		return v, false
	}
	if t == schema.Int32 || t == schema.Int64 {
		n, err := strconv.ParseInt(fmt.Sprint(v), 10, bits)
		return n, err == nil
	}
	n, err := strconv.ParseUint(fmt.Sprint(v), 10, bits)
	return n, err == nil
}

// withExample returns a layout whose i-th series value has an example.
func withExample(l *layout.Layout, i int, v any) *layout.Layout {
	out := *l
	out.Series = slices.Clone(l.Series)
	out.Series[i].Example = v
	return &out
}

// cells returns the examples of a change of a column, with the cells of an example event.
func cells(p *pair, change *Change) (old, new string) {
	old, new = change.Old, change.New
	if p.old == nil || p.facts == nil || change.way.column == nil || change.Rule == fieldReplaced && change.column == "" {
		return old, new
	}
	l, t := p.old.Rebuild(p.layout)
	return old + cellOf(l, t, change.way.column.Key), new + cellOf(p.layout, p.table, change.column)
}

// cellOf shows the value of a column in an example event; empty if fields are not stored as
// the values of columns.
func cellOf(l *layout.Layout, t *layout.Table, column string) string {
	events := sample.Events(l, t, 1, 0)
	if len(events) == 0 || t.Pattern.Naming() == codec.NamedByValue || t.Serialized() {
		return ""
	}
	for _, row := range sample.Rows(l, t, events) {
		for _, cell := range row.Cells {
			if c := t.Columns[cell.Column]; c.Qualifier == column && c.Field >= 0 {
				if sample.Readable(l, t, cell.Column) {
					return ", such as " + strconv.Quote(string(cell.Value))
				}
				return fmt.Sprintf(", such as 0x%x for %s", cell.Value, sample.ShowValue(&l.Fields[c.Field], events[cell.Event].Values[c.Field]))
			}
		}
	}
	return ""
}

// firstCell shows the row and the column of an example event.
func firstCell(l *layout.Layout, t *layout.Table) string {
	events := sample.Events(l, t, 1, 0)
	if len(events) == 0 {
		return ""
	}
	rows := sample.Rows(l, t, events)
	if len(rows) == 0 || len(rows[0].Cells) == 0 {
		return ""
	}
	cell := rows[0].Cells[0]
	return sample.ShowKey(rows[0].Key) + "  " + t.Families[cell.Family].Name + ":" + sample.ShowKey(cell.Qualifier)
}

// hinting is a change of stored data for which a way out is sought, with what it is about in the
// schema, as far as that exists.
type hinting struct {
	*Change
	comparison *Comparison
	pair       *pair
	schema     *schema.Schema
	table      *schema.Table
	field      *schema.Field
}

// hint returns what to do about a change of stored data, with schema text to paste.
func (c *Comparison) hint(p *pair, change *Change) string {
	h := &hinting{Change: change, comparison: c, pair: p}
	h.schema, h.table, h.field = c.sources(p, change)
	if text := mixedHint(h); text != "" {
		return text
	}
	if change.way.text != "" {
		return change.way.text
	}
	if way := ways[change.Rule.ID]; way != nil {
		if text := way(h); text != "" {
			return text
		}
	}
	switch w := &change.way; {
	case w.restore != "" && p.replaceable() && change.Rule.shows != "":
		return "restore " + diag.Code(w.restore) + "; or give the table another ID and " + diag.Code("serves: false") + ", and backfill it: other tables have its events"
	case w.beside && h.table != nil:
		return c.besideHint(p, h.schema, h.table)
	case w.restore != "":
		return "restore " + diag.Code(w.restore)
	}
	return "undo the change"
}

// replaceable reports whether another table with the newest event of each series can take the place of that
// of a pair.
func (p *pair) replaceable() bool {
	return p.old != nil && p.old.Newest().Pattern.NewestOnly() && p.table != nil && p.table.Pattern.NewestOnly()
}

// valueHint returns how to store a field with another type or encoding.
func valueHint(h *hinting) string {
	w, keep := &h.way, "keep "+diag.Code(h.way.restore)
	switch {
	case w.restore == "":
	case h.field != nil && w.column != nil && mayMove(h.pair, h.field, w.column):
		return keep + ", or write to a new place and read older events, too: " + diag.Code(h.movedField(w.column))
	case h.pair.table.Pattern.Naming() == codec.NamedByTime && h.pair.table.Blob == "": // events with a second field are serialized
		return keep + ", and store the new values in a separate table"
	case h.field != nil:
		return keep + ", and add a field for the new values: " + diag.Code(newField(h.schema, h.field))
	}
	return ""
}

// mixedHint returns what to do about a column that has values of two types, because both sides of a merge have added
// it; empty if the change is about no such column.
func mixedHint(h *hinting) string {
	of := cmp.Or(h.way.column, h.way.read)
	if of == nil || h.pair.old == nil || h.Rule != valueChanged && h.Rule != fieldElsewhere {
		return ""
	}
	types := h.comparison.mixed(h.pair, of)
	if types == "" {
		return ""
	}
	at := (&comparer{new: h.pair.facts.Newest()}).place(*of)
	why := ": " + at + " has " + types + " values, of both sides of a merge"
	then := ", and accept the change that is left then, by its own name" + why // another rule
	switch {
	case h.Rule == fieldElsewhere:
		return "accept the change" + why
	case h.column != of.Key:
		return "leave " + at + " out of was" + then
	case h.field == nil:
		return ""
	}
	f, _ := h.elsewhere(of)
	return "write to a new place, " + diag.Code(f.Name.V+": "+f.String()) + then
}

// requiredHint returns how to add a field that stored events lack.
func requiredHint(h *hinting) string {
	if h.field == nil {
		return ""
	}
	f := *h.field
	f.Optional = true
	return "make it optional, or give it a default: " + diag.Code(f.Name.V+": "+f.String())
}

// reuseHint returns where to store a field, or which number to give to an enum value.
func reuseHint(h *hinting) string {
	switch {
	case h.way.number > 0:
		return fmt.Sprintf("use a number that was never used: %s", diag.Code(fmt.Sprintf("number: %d", h.way.number)))
	case h.way.values != nil:
		return enumHint(h)
	case h.field == nil:
		return ""
	case removedAs(h.pair, h.field.Name.V):
		return "give it another name and column: " + diag.Code(newField(h.schema, h.field))
	}
	return "store it elsewhere: " + diag.Code("column: "+schema.Quoted(h.column+"_2"))
}

// enumHint returns an enum with all stored values.
func enumHint(h *hinting) string {
	return "keep the stored values, and add new ones with new numbers: " + diag.Code("of: "+enumText(h.way.values))
}

// replacedHint returns what to do if a place gets another field.
func replacedHint(h *hinting) string {
	if h.column == "" {
		return "keep the name; if it is only renamed, accept the change; if it is another field, store it in a separate table"
	}
	return "keep the name, or give the field a new number; if it is only renamed, accept the change"
}

// removedAs reports whether a removed field had a name, under which its values would be missed.
func removedAs(p *pair, name string) bool {
	return slices.ContainsFunc(p.old.Newest().Columns, func(c lock.Column) bool { return c.Retired && c.Was == "" && item(c) == name })
}

// renameHint returns how to read the stored values of a field that is renamed.
func renameHint(h *hinting) string {
	p, field, w := h.pair, h.field, &h.way
	if field == nil || w.column == nil {
		return ""
	}
	rename, otherwise := "if it is a rename, ", "; otherwise, run btgen generate between removing one field and adding the other"
	if item(*w.column) == h.Item { // only its column or number changes
		rename, otherwise = "", ""
	}
	if strings.HasPrefix(w.restore, "number: ") {
		accept := ""
		if rename != "" {
			accept = " and accept " + fieldReplaced.ID + ", because the name changes"
		}
		return rename + "keep the " + diag.Code(w.restore) + accept + otherwise
	}
	keep := "keep the name " + diag.Code(w.column.Key)
	if w.restore != "" {
		keep = "keep the column: " + diag.Code(w.restore)
	}
	switch may, stays := mayMove(p, field, w.column), mayStay(p, h.Change, field, w.column); {
	case may && stays:
		keep = "; or " + keep
	case may:
		keep = ""
	case stays:
		return rename + keep + otherwise
	default:
		return rename + "undo the change" + otherwise
	}
	f := *field
	if w.column.Optional && f.Default == nil {
		f.Optional = true
		if keep != "" && !field.Optional {
			keep += " and " + diag.Code("optional: true")
		}
	}
	f.Was = withWas(f.Was, olderWas(p, h.Change, field, w.column))
	return rename + "read older events, too: " + diag.Code(f.Name.V+": "+f.String()) + keep + otherwise
}

// mayStay reports whether a field may be written where another one was stored, under its name.
func mayStay(p *pair, change *Change, field *schema.Field, old *lock.Column) bool {
	facts := p.facts.Newest()
	i := find(facts.Columns, change.column, false)
	if i < 0 || slices.ContainsFunc(field.Was, func(was schema.Was) bool { return was.Column.V == old.Key }) {
		return false
	}
	kept := facts.Columns[i]
	kept.Key, kept.Family = old.Key, old.Family
	probe := comparer{old: p.old.Newest(), new: facts}
	probe.column(*old, kept, nil, true)
	return !harms(probe.changes)
}

// mayMove reports whether a field may be written to a new place, and read from its old one.
func mayMove(p *pair, field *schema.Field, old *lock.Column) bool {
	from := layout.Field{Type: old.Type, Options: schema.Options{Optional: field.Optional}}
	switch {
	case p.table.Pattern.Naming() == codec.NamedByTime && p.table.Blob == "", old.Written:
		return false
	case p.table.Blob == layout.Protobuf && layout.OmitsZero(&from, field.Type.V):
		return false
	}
	return old.Type == field.Type.V || layout.Converts(old.Type, field.Type.V)
}

// olderWas returns how was names the place of a field in stored events.
func olderWas(p *pair, change *Change, field *schema.Field, old *lock.Column) schema.Was {
	c := &comparer{new: p.facts.Newest()}
	of := lock.Column{Type: field.Type.V, Values: old.Values, Family: old.Family}
	if i := find(c.new.Columns, change.column, false); i >= 0 {
		of.Values = c.new.Columns[i].Values
	}
	return c.was(*old, &of)
}

// withWas returns where older events have a field, with one more place before the others, or the same one once.
func withWas(all []schema.Was, first schema.Was) []schema.Was {
	same := func(w schema.Was) bool {
		return w.Column.V == first.Column.V && w.Number.V == first.Number.V && w.Family.V == first.Family.V
	}
	return slices.Insert(slices.DeleteFunc(slices.Clone(all), same), 0, first)
}

// movedField returns a field that is written to a new place, and read from its old one, too.
func (h *hinting) movedField(old *lock.Column) string {
	f, was := h.elsewhere(old)
	f.Was = withWas(f.Was, was)
	return f.Name.V + ": " + f.String()
}

// elsewhere returns a field that is written to a new column, number or name, and where it was, in each form in which the
// tables of its schema store it.
func (h *hinting) elsewhere(old *lock.Column) (f schema.Field, was schema.Was) {
	f = *h.field
	was = olderWas(h.pair, h.Change, h.field, old)
	for i := range h.comparison.pairs {
		q := &h.comparison.pairs[i]
		if q.layout != h.pair.layout || q.old == nil || q.facts == nil {
			continue
		}
		k := slices.IndexFunc(q.old.Newest().Live(), func(col lock.Column) bool { return !col.Written && item(col) == item(*old) })
		if k < 0 {
			continue
		}
		stored := q.old.Newest().Live()[k]
		switch q.table.Blob {
		case layout.Protobuf:
			was.Number.V, _ = strconv.Atoi(stored.Key)
			was.Number.Pos = lockPos
			for _, o := range h.schema.Fields {
				f.Number.V = max(f.Number.V, o.Number.V+1)
			}
		case layout.JSONText:
			was.Column = set(stored.Key)
			f.Name.V = stored.Key + "_2"
			f.Column = schema.Value[string]{}
		default:
			was.Column = set(stored.Key)
			if f.Name.V == h.field.Name.V {
				f.Column = set(stored.Key + "_2")
			}
		}
	}
	return f, was
}

// newField returns an additional field for values of a new type.
func newField(s *schema.Schema, field *schema.Field) string {
	f := *field
	f.Optional = true
	f.Column = schema.Value[string]{}
	if f.Number.IsSet() {
		for _, o := range s.Fields {
			f.Number.V = max(f.Number.V, o.Number.V+1)
		}
	}
	return f.Name.V + "_2: " + f.String()
}

// enumText returns the values of an enum in the schema language.
func enumText(values []lock.EnumValue) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf("%s: %d", schema.Quoted(v.Name), v.Number))
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// sources returns the schema, the table and the field of a change, as far as they exist.
func (c *Comparison) sources(p *pair, change *Change) (*schema.Schema, *schema.Table, *schema.Field) {
	if p.layout == nil || c.in.Schema == nil {
		return nil, nil, nil
	}
	s := c.in.Schema(p.layout.File)
	if s == nil {
		return nil, nil, nil
	}
	var table *schema.Table
	if i := slices.IndexFunc(s.Tables, func(t schema.Table) bool { return t.Name.V == p.table.ID }); i >= 0 {
		table = &s.Tables[i]
	}
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Name.V == change.Item || change.column != "" && f.Name.V == fieldName(p, change.column) {
			return s, table, f
		}
	}
	return s, table, nil
}
