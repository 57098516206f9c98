package layout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Was is where and how older events have a field.
type Was struct {
	Pos    diag.Pos
	Column string // a column, or a member of events in JSON; empty if only protobuf has it
	Number int    // a protobuf field number; 0 if events in protobuf do not have it
	Type   schema.Type
	Enum   codec.Enum // the values of an enum

	family, values schema.Value[string]
}

// Before returns the field as older events have it.
func (f *Field) Before(w *Was) Field {
	out := *f
	out.Pos, out.Type, out.Enum, out.Number, out.Was, out.Default, out.Example = w.Pos, w.Type, w.Enum, w.Number, nil, nil, nil
	if w.Column != "" {
		out.Name = w.Column
	}
	return out
}

// Older returns the field as older serialized events have it, newest first: in JSON, under
// other names, and in protobuf, with other numbers.
func (f *Field) Older(format Format) []Field {
	var out []Field
	for i := range f.Was {
		w := &f.Was[i]
		if format == Protobuf && w.Number > 0 || format == JSONText && w.Column != "" && w.Column != f.Name {
			out = append(out, f.Before(w))
		}
	}
	return out
}

// Converts reports whether stored values of a type can be converted to another one.
func Converts(from, to schema.Type) bool {
	_, ok := from.ConversionTo(to)
	return ok
}

// OmitsZero reports whether protobuf omits a value of a required field that would not be the
// zero of the type that it is converted to.
func OmitsZero(from *Field, to schema.Type) bool {
	return to == schema.String && from.Type != schema.String && !from.Explicit()
}

// was resolves where older events have the fields.
func (r *resolver) was() {
	for i := range r.schema.Fields {
		in, f := &r.schema.Fields[i], &r.layout.Fields[i]
		for k := range in.Was {
			f.Was = append(f.Was, r.wasOf(in, f, &in.Was[k]))
		}
	}
}

// wasOf resolves one of them.
func (r *resolver) wasOf(in *schema.Field, f *Field, v *schema.Was) Was {
	w := Was{Pos: v.Pos, Column: v.Column.V, Number: v.Number.V, Type: f.Type, Enum: f.Enum, family: v.Family, values: v.Values}
	if !v.Type.IsSet() || v.Type.V == f.Type {
		if len(v.Of) > 0 {
			r.reject(v.Pos, "older-enum", f.Name)
		}
		return w
	}
	w.Type, w.Enum = v.Type.V, nil
	for _, value := range v.Of {
		w.Enum = append(w.Enum, codec.EnumName{Number: int64(value.Number.V), Name: value.Name.V})
	}
	if !Converts(w.Type, f.Type) {
		hint := "keep the type, and add a field for the new values"
		var names []string
		for _, t := range schema.Types() {
			if Converts(t, f.Type) {
				names = append(names, t.String())
			}
		}
		if len(names) > 0 {
			hint = fmt.Sprintf("to %s, btgen converts %s; or keep the type, and add a field for the new values", f.Type, FirstOf(names))
		}
		r.reject(v.Type.Pos, "not-convertible", f.Name, w.Type, f.Type, hint)
		w.Type, w.Enum = f.Type, f.Enum
	}
	return w
}

// older resolves the columns in which older events have the fields of a table that stores
// them one by one.
func (r *resolver) older(t *Table) {
	if t.Serialized() {
		r.checkMembers(t)
		return
	}
	type place struct {
		family int
		name   string
	}
	taken := map[place]string{}
	for _, c := range t.Columns {
		what := "written_at"
		if c.Field >= 0 {
			what = "field " + strconv.Quote(r.layout.Fields[c.Field].Name)
		}
		taken[place{c.Family, c.Qualifier}] = what
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Field < 0 {
			continue
		}
		f := &r.layout.Fields[c.Field]
		for k := range f.Was {
			w := &f.Was[k]
			if w.Column == "" && !w.family.IsSet() || r.unnamed(t, f, w, c.Values) {
				continue
			}
			family, known := r.olderFamily(t, c, w)
			if !known {
				continue
			}
			before := f.Before(w)
			older := Column{Pos: w.Pos, Qualifier: cmp.Or(w.Column, c.Qualifier), Field: c.Field, Family: family, Values: c.Values, Was: &before}
			if w.values.IsSet() {
				older.Values = valuesOf(w.values, w.Type)
			}
			if w.family.IsSet() && older.Family == c.Family && older.Qualifier == c.Qualifier {
				continue // the field has not moved in this table
			}
			at := place{older.Family, older.Qualifier}
			if other, twice := taken[at]; twice {
				r.reject(w.Pos, "same-older-column", older.Qualifier, other)
				continue
			}
			taken[at] = fmt.Sprintf("older events of field %q", f.Name)
			c.Older = append(c.Older, older)
		}
	}
}

// unnamed reports whether the columns of a table are named by times: a field that is
// renamed is then read as before, and one of another type cannot be told apart.
func (r *resolver) unnamed(t *Table, f *Field, w *Was, as codec.Values) bool {
	if t.Pattern.Naming() != codec.NamedByTime {
		return false
	}
	if w.Type != f.Type || w.values.IsSet() && valuesOf(w.values, w.Type) != as || w.family.IsSet() {
		r.reject(w.Pos, "older-times", t.Pattern, f.Name, t.ID)
	}
	return true
}

// olderFamily returns the family of an older column; false if it cannot be that one.
func (r *resolver) olderFamily(t *Table, c *Column, w *Was) (int, bool) {
	if !w.family.IsSet() {
		return c.Family, true
	}
	i := slices.IndexFunc(t.Families, func(f Family) bool { return f.Name == w.family.V })
	switch {
	case t.HasClasses():
		r.reject(w.family.Pos, "older-class", t.ID)
	case i < 0 && len(t.Families) == 1 && r.hasFamily(w.family.V): // in it, all fields are in its family
		return c.Family, true
	case i < 0:
		r.reject(w.family.Pos, "no-older-family", t.ID, w.family.V)
	case t.Families[i].GC.String() != t.Families[c.Family].GC.String() || t.Families[i].Strategy != t.Families[c.Family].Strategy:
		r.reject(w.family.Pos, "other-older-ttl", w.family.V, t.Families[c.Family].Name)
	default:
		return i, true
	}
	return 0, false
}

// hasFamily reports whether a table of the schema has a family.
func (r *resolver) hasFamily(name string) bool {
	return slices.ContainsFunc(r.schema.Tables, func(t schema.Table) bool {
		return t.Family.V == name || slices.ContainsFunc(t.Families, func(f schema.Family) bool { return f.Name.V == name })
	})
}

// checkMembers rejects older names or numbers that events in a table use for another field.
func (r *resolver) checkMembers(t *Table) {
	key := func(f *Field) string {
		if t.Blob == Protobuf {
			return "number " + strconv.Itoa(f.Number)
		}
		return "the name " + strconv.Quote(f.Name)
	}
	taken := map[string]string{}
	for i := range r.layout.Fields {
		f := &r.layout.Fields[i]
		taken[key(f)] = "field " + strconv.Quote(f.Name)
	}
	for i := range r.layout.Fields {
		f := &r.layout.Fields[i]
		for _, older := range f.Older(t.Blob) {
			name := key(&older)
			if other, twice := taken[name]; twice {
				r.reject(older.Pos, "same-older-name", name, other)
			}
			taken[name] = fmt.Sprintf("older events of field %q", f.Name)
			if t.Blob == Protobuf && OmitsZero(&older, f.Type) {
				r.reject(older.Pos, "older-zero", f.Name, t.ID)
			}
		}
	}
}

// checkWas rejects what no table uses.
func (r *resolver) checkWas() {
	all := r.layout.AllPeriods()
	has := func(fits func(t *Table) bool) bool { return slices.ContainsFunc(all, fits) }
	for i := range r.layout.Fields {
		f := &r.layout.Fields[i]
		for k := range f.Was {
			w := &f.Was[k]
			named := has(func(t *Table) bool {
				return t.Blob == JSONText || !t.Serialized() && t.Pattern.Naming() != codec.NamedByTime
			})
			switch {
			case w.Number > 0 && !r.layout.Stores(Protobuf):
				r.reject(w.Pos, "older-number", f.Name, diag.Code("was: [name]"))
			case w.Number == 0 && !named && r.layout.Stores(Protobuf):
				r.reject(w.Pos, "older-member", f.Name, diag.Code("was: [{number: 3, type: int64}]"))
			case w.Number == 0 && !named:
				r.reject(w.Pos, "older-name", f.Name)
			case w.family.IsSet() && !has(func(t *Table) bool { return !t.Serialized() }):
				r.reject(w.family.Pos, "older-family", f.Name)
			}
		}
	}
}
