package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// declare adds all declarations, in the order of the output.
func (s *schemaFile) declare() {
	s.add(s.seriesType(), s.eventType())
	for _, f := range s.layout.Enums() {
		s.add(s.enumType(f), s.textMethods(s.names.Field(f).Enum, s.names.Field(f).EnumNames))
	}
	if len(s.layout.Classes) > 0 {
		s.add(s.classType(), s.textMethods(s.names.Class, s.names.ClassNames))
	}
	s.add(s.writer())
	s.add(each(s.layout.Queries, s.deleteMethods)...)
	s.add(s.batcher(), s.reader())
	s.add(each(s.layout.Queries, s.queryMethods)...)
	s.add(s.fieldConsts(), s.columnsType(), s.windowType(), s.seriesConsts(), s.tableConsts(), s.setup())
	for _, t := range s.layout.AllPeriods() {
		s.add(s.keyType(t))
	}
	s.add(s.mappings(), s.beamAccess(), s.base(), s.partsFunc())
	for _, t := range s.layout.AllPeriods() {
		s.add(s.keyVar(t), s.columnsVar(t), s.mappingVar(t))
	}
	s.add(s.windowsVar())
	s.add(each(s.layout.Queries, s.querySelect)...)
	s.add(s.check())
	if s.layout.Stores(layout.Protobuf) {
		s.add(s.appendProto(), s.parseProto())
	}
	if s.layout.Stores(layout.JSONText) {
		s.add(s.appendJSON(), s.parseJSON())
	}
}

// tableList lists the tables of layouts for a comment.
func tableList(layouts []*layout.Table) string {
	var ids []string
	for _, t := range layouts {
		if !slices.Contains(ids, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return words.Plural(len(ids), "table ", "tables ") + words.List(ids, "and")
}

// seriesType declares the type that identifies a series.
func (s *schemaFile) seriesType() jen.Code {
	return s.code(`
		// $Series identifies a series of $Name events.
		type $Series struct {
			$1
		}`, s.declared(s.membersOf(s.layout.Series)))
}

// fieldComment returns the description of a field in the schema.
func fieldComment(f *layout.Field) string {
	var parts []string
	if f.Unit != "" {
		parts = append(parts, f.Unit)
	}
	if f.Doc != "" {
		parts = append(parts, strings.Join(strings.Fields(f.Doc), " "))
	}
	if f.Optional {
		parts = append(parts, "nil if absent")
	}
	if f.Default != nil {
		parts = append(parts, fmt.Sprintf("%v if a stored event lacks it", gocode.Default(f.Default)))
	}
	return strings.Join(parts, "; ")
}

// eventType declares the event.
func (s *schemaFile) eventType() jen.Code {
	doc := "."
	if s.layout.Doc != "" {
		doc = ": " + gocode.Sentence(s.layout.Doc)
	}
	return s.code(`
		// $Event is one event$1
		type $Event struct {
			$Series
			$2
		}`, doc, s.declared(s.parts()))
}

// enumType declares an enum, its values, and their names.
func (s *schemaFile) enumType(f *layout.Field) jen.Code {
	n, zero := s.names.Field(f), "invalid, and the writer rejects it"
	if value, has := f.Enum.Name(0); has {
		zero = n.Value(value) + ", so an unset field has that value"
	}
	values := each(f.Enum, func(_ int, v *codec.EnumName) jen.Code {
		return s.code("$1 $2 = $3", n.Value(v.Name), n.Enum, gocode.Int(v.Number))
	})
	return s.code(`
		// $1 is a value of $2. The zero $1 is $3.
		type $1 int64

		// The values of $1. Their numbers are stored.
		const (
			$4
		)

		// $5 contains the names of the values of $1 in the table.
		var $5 = $6`, n.Enum, f.Name, zero, values, n.EnumNames, s.enumLiteral(multi, f.Enum))
}

// textMethods declares the methods with which a type with named values is text: an enum, or the TTL classes.
func (s *schemaFile) textMethods(name, values string) jen.Code {
	return s.code(`
		// String returns the name of the value, or its number if it has none.
		func (v $1) String() string { return codec.EnumString($2, int64(v)) }

		// MarshalText returns the name of the value, for JSON and flags; an error if it has none.
		func (v $1) MarshalText() ([]byte, error) { return codec.MarshalEnum($2, int64(v)) }

		// UnmarshalText sets the value to the one with the given name.
		func (v *$1) UnmarshalText(text []byte) error {
			n, err := codec.TextEnum(text, $2)
			if err == nil {
				*v = $1(n)
			}
			return err
		}`, name, values)
}
