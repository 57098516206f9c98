package emit

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// parts lists the parts of an event after its series, which have a slice each of the columns type, in this order.
func (s *schemaFile) parts() []member { return append(s.members(), s.membersOf(s.layout.Fields)...) }

// columnsType declares the columnar form of events, and its methods.
func (s *schemaFile) columnsType() jen.Code {
	return s.code(`
		// $Columns holds events in slices of equal length.
		type $Columns struct {
			Series []$Series
			$1
		}

		// Reset empties the slices and keeps their memory.
		func (c *$Columns) Reset() { $2.Reset(c) }

		// Append adds an event.
		func (c *$Columns) Append(e *$Event) { $2.Append(c, e) }`,
		each(s.parts(), func(_ int, m *member) jen.Code { return s.code("$1 []$2", m.name, m.typ) }),
		s.names.Table(s.layout.Read).Columns)
}

// partsFunc declares where an event has its parts, by the indexes of their slices.
func (s *schemaFile) partsFunc() jen.Code {
	return s.code(`
		// $Part returns a pointer to what an event has for a slice of $Columns, by its index.
		func $Part(e any, n int) any {
			v := e.(*$Event)
			switch n {
				case 0:
				return &v.$1
				$2
			}
			return nil
		}`, s.names.Series, each(s.parts(), func(i int, m *member) jen.Code {
		at := s.code("&v.$1", m.name)
		if m.field == nil && m.named != nil {
			at = s.code("(*int)($1)", at)
		}
		return s.code("case $1:\nreturn $2", 1+i, at)
	}))
}

// columnsVar declares the parts of an event, each with its index and its column in a table.
func (s *schemaFile) columnsVar(t *layout.Table) jen.Code {
	parts := []jen.Code{s.seriesPart()}
	stored := slices.ContainsFunc(t.Columns, func(c layout.Column) bool { return c.Field == layout.WrittenAt })
	for i, m := range s.members() {
		typ := &jen.Statement{}
		if m.named != nil {
			typ.Types(m.named)
		}
		if m.name != "WrittenAt" || !stored {
			parts = append(parts, s.code("store.$1 $2($3),", m.name+"Part", typ, 1+i))
		}
	}
	for _, c := range t.Columns {
		parts = append(parts, s.code("$1,", s.columnPart(t, c)))
	}
	return s.code(`
		var $1 = store.NewColumns[$Event, $Columns](
			$Part,
			$2
		)`, s.names.Table(t).Columns, parts)
}

// fieldIndex returns the index of the slice of a field.
func (s *schemaFile) fieldIndex(field int) int { return 1 + len(s.members()) + field }

// seriesPart renders the series of an event, with pointers to its values. Go cannot compare slices.
func (s *schemaFile) seriesPart() jen.Code {
	part := "SeriesPart"
	if slices.ContainsFunc(s.layout.Series, func(f layout.Field) bool { return isSlice(&f) }) {
		part = "BytesSeriesPart"
	}
	of, values := "s", s.code("append(to, $1)", s.seriesPointers("s"))
	if len(s.layout.Series) == 0 {
		of, values = "_", jen.Id("to")
	}
	return s.code("store.$1(0, func($2 *$Series, to []any) []any { return $3 }),", part, of, values)
}

// columnPart renders a column of a table.
func (s *schemaFile) columnPart(t *layout.Table, c layout.Column) *jen.Statement {
	var part *jen.Statement
	switch c.Field {
	case layout.WholeEvent:
		part = s.eventColumn(t, c)
	case layout.WrittenAt:
		part = s.code("store.WrittenAtColumn($1, $2, codec.$3.Timestamp)", len(s.members()), jen.Lit(c.Qualifier), encoding(c.Values))
	default:
		f := &s.layout.Fields[c.Field]
		kind, args := "Required", []jen.Code{jen.Lit(s.fieldIndex(c.Field)), jen.Lit(c.Qualifier), s.coding(c, f)}
		switch {
		case f.Optional:
			kind = "Optional"
		case f.Default != nil && isSlice(f): // as a string
			kind, args = "Default", append(args, jen.Lit(fmt.Sprintf("%s", f.Default)))
		case f.Default != nil:
			kind, args = "Default", append(args, s.literal(f, f.Default))
		case isSlice(f):
			kind = ""
		}
		if isSlice(f) {
			kind += "Bytes"
		}
		for _, older := range c.Older {
			args = append(args, s.olderColumn(c, older))
		}
		part = s.code("store.$1($2)", kind+"Column", jen.List(args...))
	}
	if c.Family > 0 {
		part.Dot("In").Call(jen.Lit(c.Family))
	}
	return part
}

// coding renders the encoding of a field's values in a column.
func (s *schemaFile) coding(c layout.Column, f *layout.Field) *jen.Statement {
	if f.Type == schema.Enum {
		n := s.names.Field(f)
		return s.code("codec.EnumAs[$1](codec.$2, $3)", n.Enum, encoding(c.Values)+"Values", n.EnumNames)
	}
	return s.code("codec.$1.$2", encoding(c.Values), suffix(f.Type))
}

// eventColumn renders a column that stores all fields of an event.
func (s *schemaFile) eventColumn(t *layout.Table, c layout.Column) *jen.Statement {
	serialize, parse := s.names.AppendProto, s.names.ParseProto
	if t.Blob == layout.JSONText {
		serialize, parse = s.names.AppendJSON, s.names.ParseJSON
	}
	return s.code("store.EventColumn($1, $2, $3,\n$4\n)", jen.Lit(c.Qualifier), serialize, parse, each(s.layout.Fields, func(i int, f *layout.Field) jen.Code {
		kind := "Field"
		switch {
		case t.Blob == layout.Protobuf && isProtoNumber(f):
			return s.code("store.NumberPart[$1]($2, $3),", s.goType(f), s.fieldIndex(i), f.Number)
		case isSlice(f):
			kind = "Bytes"
		case f.Optional:
			kind = "Optional"
		}
		return s.code("store.$1[$2]($3),", kind+"Part", s.goType(f), s.fieldIndex(i))
	}))
}

// isProtoNumber reports whether every message, of older events, too, has the field as this
// number, or lacks it if it is zero.
func isProtoNumber(f *layout.Field) bool {
	number := f.Type == schema.Bool || f.Type.Traits().Number != schema.NoNumber
	return number && f.Required() && len(f.Older(layout.Protobuf)) == 0
}

// fieldConsts declares the fields for ReadOptions and WindowOptions.
func (s *schemaFile) fieldConsts() jen.Code {
	return s.code(`
		// The fields of $Event, for store.ReadOptions and store.WindowOptions.
		const (
			$1
		)`, each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		return s.code("$1 store.Field = $2", s.names.Field(f).Const, jen.Lit(s.layout.FieldName(f)))
	}))
}
