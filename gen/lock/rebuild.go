package lock

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Rebuild returns a layout with one table that stores events according to the newest facts, to
// show example rows: without rollups, and without what only older events have. It copies the examples and units of series
// values and fields with the same names from the layout like.
func (t *Table) Rebuild(like *layout.Layout) (*layout.Layout, *layout.Table) {
	facts := t.Newest()
	l := &layout.Layout{Precision: facts.Precision, Expect: like.Expect}
	out := &layout.Table{
		ID: t.Name, Pattern: facts.Pattern, Key: codec.Key{Delimiter: facts.Delimiter, Bucket: facts.Bucket, Time: facts.TimeKey},
		Sequence: facts.Sequence, Blob: facts.Blob, MaxCells: 1, Slots: 1, Since: facts.Since,
	}
	if out.Pattern.Bucketed() && facts.Precision > 0 {
		out.Slots = int64(out.Bucket.Widest() / facts.Precision)
		if out.Pattern.EventTimed() {
			out.MaxCells = out.Slots
		}
	}
	rebuildKey(l, out, facts, like)
	rebuildFamilies(l, out, facts)
	rebuildColumns(l, out, facts, like)
	l.Tables, l.Read = []*layout.Table{out}, out
	return l, out
}

// exampleOf gives a field the example and the unit of the field of the same name, if both
// have the same type.
func exampleOf(f layout.Field, like []layout.Field) layout.Field {
	i := slices.IndexFunc(like, func(o layout.Field) bool { return o.Name == f.Name && o.Type == f.Type })
	if i < 0 {
		return f
	}
	f.Unit, f.Example = like[i].Unit, like[i].Example
	if f.Type != schema.Enum {
		return f
	}
	name, said := f.Example.(string)
	if !said && len(like[i].Enum) > 0 {
		name = like[i].Enum[0].Name
	}
	f.Example = nil
	if _, known := f.Enum.Number(name); known {
		f.Example = name
	}
	return f
}

// codecEnum returns the values of an enum that are in use.
func codecEnum(values []EnumValue) codec.Enum {
	var out codec.Enum
	for _, v := range values {
		if !v.Retired {
			out = append(out, codec.EnumName{Number: v.Number, Name: v.Name})
		}
	}
	return out
}

func rebuildKey(l *layout.Layout, t *layout.Table, facts *Layout, like *layout.Layout) {
	for _, g := range facts.Segments {
		if g.Kind == codec.SeriesSegment {
			l.Series = append(l.Series, exampleOf(layout.Field{Name: g.Name, Type: g.Type, Enum: codecEnum(g.Enum)}, like.Series))
		}
	}
	index := func(name string) int {
		return slices.IndexFunc(l.Series, func(f layout.Field) bool { return f.Name == name })
	}
	for _, g := range facts.Segments {
		s := codec.Segment{Kind: g.Kind, Form: g.Form, Const: g.Const, Tells: g.Tells, Joined: g.Joined, Buckets: g.Buckets}
		switch g.Kind {
		case codec.SeriesSegment:
			s.Series = index(g.Name)
			l.Series[s.Series].InKey(&s)
		case codec.SequenceSegment:
			l.Sequence = true
		case codec.SaltSegment:
			for _, name := range g.Salted {
				if i := index(name); i >= 0 {
					s.Salted = append(s.Salted, i)
				}
			}
		}
		t.Segments = append(t.Segments, s)
	}
	l.Sequence = l.Sequence || facts.Sequence
}

func rebuildFamilies(l *layout.Layout, t *layout.Table, facts *Layout) {
	for _, f := range facts.Families {
		family := layout.Family{Name: f.Name, GC: f.GC, HasGC: true, Life: codec.Lifetime{Timestamp: f.Timestamp, Default: f.Default}.Under(f.GC, t.MaxCells)}
		if f.Class {
			l.Classes = append(l.Classes, f.Name)
			family.Class = len(l.Classes)
		}
		t.Families = append(t.Families, family)
	}
}

func rebuildColumns(l *layout.Layout, t *layout.Table, facts *Layout, like *layout.Layout) {
	if facts.Blob != "" {
		t.Columns = []layout.Column{{Qualifier: facts.BlobColumn, Field: layout.WholeEvent}}
	}
	for _, c := range facts.Live() {
		family := slices.IndexFunc(t.Families, func(f layout.Family) bool { return f.Name == c.Family })
		column := layout.Column{Qualifier: c.Key, Field: len(l.Fields), Values: c.Values, Family: max(0, family)}
		if c.Written {
			column.Field = layout.WrittenAt
		} else {
			l.Fields = append(l.Fields, exampleOf(rebuildField(facts, c), like.Fields))
		}
		if facts.Blob == "" || c.Written {
			t.Columns = append(t.Columns, column)
		}
	}
}

// rebuildField returns the field of a column. In JSON, its key is its name.
func rebuildField(facts *Layout, c Column) layout.Field {
	f := layout.Field{Name: cmp.Or(c.Field, c.Key), Type: c.Type, Options: schema.Options{Optional: c.Optional}, Enum: codecEnum(c.Enum)}
	if c.Default != nil {
		f.Default = *c.Default
	}
	switch facts.Blob {
	case layout.JSONText:
		f.Name = c.Key
	case layout.Protobuf:
		f.Number, _ = strconv.Atoi(c.Key)
	}
	return f
}
