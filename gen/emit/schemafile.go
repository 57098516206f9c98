package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// schemaFile renders the Go file of one schema.
type schemaFile struct {
	*source
	names  *names.Schema
	layout *layout.Layout
}

// newSchemaFile returns the empty file of a schema.
func newSchemaFile(l *layout.Layout, n *names.Schema, paths paths) *schemaFile {
	return &schemaFile{
		source: newSource(paths.pkg(l.Package), l.Package, recordOf(l), paths),
		names:  n,
		layout: l,
	}
}

// own renders a name of the schema's package, in that package or in its tests.
func (s *schemaFile) own(name string) *jen.Statement {
	return jen.Qual(s.paths.pkg(s.layout.Package), name)
}

// declare adds all declarations, in the order of the output.
func (s *schemaFile) declare() {
	s.add(s.seriesType(), s.eventType())
	for _, f := range s.layout.Enums() {
		s.add(s.enumType(f), s.enumNames(f))
		s.add(s.textMethods(s.names.Field(f).Enum, s.names.Field(f).EnumNames)...)
	}
	if len(s.layout.Classes) > 0 {
		s.add(s.classType(), s.classNames())
		s.add(s.textMethods(s.names.Class, s.names.ClassNames)...)
	}
	s.add(s.writerType(), s.newWriter(), s.writerMethods())
	for i := range s.layout.Queries {
		s.add(s.deleteMethods(&s.layout.Queries[i]))
	}
	s.add(s.batcherType(), s.newBatcher(), s.batcherMethods())
	s.add(s.readerType(), s.newReader(), s.readerMethods())
	for i := range s.layout.Queries {
		s.add(s.queryMethods(&s.layout.Queries[i]))
	}
	s.add(s.fieldConsts(), s.columnsType(), s.columnsMethods(), s.windowType(), s.windowColumns(), s.seriesConsts())
	s.add(s.tableConsts(), s.setup())
	for _, t := range s.layout.AllPeriods() {
		s.add(s.keyType(t), s.keyAppend(t), s.keyString(t), s.keyPrefix(t), s.keyParse(t), s.keyValues(t))
	}
	s.add(s.mappings(), s.beamAccess(), s.beamSpec(), s.base(), s.partsFunc())
	for _, t := range s.layout.AllPeriods() {
		s.add(s.keyVar(t), s.columnsVar(t), s.mappingVar(t))
	}
	s.add(s.windowsVar())
	for i := range s.layout.Queries {
		q := &s.layout.Queries[i]
		s.add(s.querySelect(q))
	}
	s.add(s.check())
	if s.layout.Stores(layout.Protobuf) {
		s.add(s.appendProto(), s.parseProto())
	}
	if s.layout.Stores(layout.JSONText) {
		s.add(s.jsonStruct(), s.appendJSON(), s.parseJSON())
	}
}

// add adds declarations with a blank line between them.
func (s *schemaFile) add(decls ...jen.Code) {
	for _, d := range decls {
		if d != nil {
			s.Add(d)
			s.Line()
		}
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

// seriesType declares the type that identifies a series:
//
//	type BalloonSeries struct { Location string; … }
func (s *schemaFile) seriesType() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s identifies a series of %s events.", s.names.Series, s.layout.Name)).Line().
		Type().Id(s.names.Series).Struct(each(s.layout.Series, s.declareField)...)
}

// declareField declares a series value or a field.
func (s *schemaFile) declareField(_ int, f *layout.Field) jen.Code {
	return jen.Id(s.names.Field(f).Name).Add(s.fieldType(f)).Add(fieldComment(f))
}

// fieldComment renders the description of a field in the schema as a trailing comment.
func fieldComment(f *layout.Field) jen.Code {
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
	if len(parts) == 0 {
		return jen.Null()
	}
	return jen.Comment(gocode.Comment(strings.Join(parts, "; ")))
}

// eventType declares the event:
//
//	type BalloonEvent struct { BalloonSeries; Time time.Time; Pressure int64; … }
func (s *schemaFile) eventType() jen.Code {
	text := s.names.Event + " is one event."
	if s.layout.Doc != "" {
		text = s.names.Event + " is one event: " + gocode.Sentence(s.layout.Doc)
	}
	return gocode.Doc(text).Line().Type().Id(s.names.Event).StructFunc(func(g *jen.Group) {
		g.Id(s.names.Series)
		g.Id("Time").Qual("time", "Time").Comment(fmt.Sprintf("// truncated to %s by the writer; UTC when read", schema.FormatDuration(s.layout.Precision)))
		if s.layout.Sequence {
			g.Id("Sequence").Uint32().Comment("// distinguishes events with the same time")
		}
		s.declareTTLFields(g)
		for i := range s.layout.Fields {
			g.Add(s.declareField(i, &s.layout.Fields[i]))
		}
	})
}

// enumType declares an enum and its values:
//
//	type DailyWeather int64
//	const ( DailyWeatherDrizzle DailyWeather = 1; … )
func (s *schemaFile) enumType(f *layout.Field) jen.Code {
	name := s.names.Field(f).Enum
	zero := "invalid, and the writer rejects it"
	if value, has := f.Enum.Name(0); has {
		zero = s.names.Field(f).Value(value) + ", so an unset field has that value"
	}
	return gocode.Doc(fmt.Sprintf("%[1]s is a value of %[2]s. The zero %[1]s is %[3]s.", name, f.Name, zero)).Line().
		Type().Id(name).Int64().Line().Line().
		Add(gocode.Doc(fmt.Sprintf("The values of %s. Their numbers are stored.", name))).Line().
		Const().Defs(each(f.Enum, func(_ int, v *codec.EnumName) jen.Code {
		return jen.Id(s.names.Field(f).Value(v.Name)).Id(name).Op("=").Add(gocode.Int(v.Number))
	})...)
}

// enumNames declares the names of an enum's values:
//
//	var dailyWeatherNames = codec.Enum{{Number: 1, Name: "drizzle"}, …}
func (s *schemaFile) enumNames(f *layout.Field) jen.Code {
	return gocode.Doc(fmt.Sprintf("%s contains the names of the values of %s in the table.", s.names.Field(f).EnumNames, s.names.Field(f).Enum)).Line().
		Var().Id(s.names.Field(f).EnumNames).Op("=").Add(s.enumLiteral(multi, f.Enum))
}

// textMethods declare the methods with which a type with named values is text: an enum, or the TTL classes.
func (s *schemaFile) textMethods(name, values string) []jen.Code {
	text := func(of string) *jen.Statement {
		return oneLine(jen.Return(s.codec(of).Call(jen.Id(values), jen.Int64().Call(jen.Id("v")))))
	}
	method := func(doc, is string, results ...jen.Code) *jen.Statement {
		return gocode.Doc(doc).Line().Func().Params(jen.Id("v").Id(name)).Id(is).Params().Params(results...)
	}
	return []jen.Code{
		method("String returns the name of the value, or its number if it has none.", "String", jen.String()).Add(text("EnumString")),
		method("MarshalText returns the name of the value, for JSON and flags; an error if it has none.", "MarshalText", jen.Index().Byte(), jen.Error()).Add(text("MarshalEnum")),
		gocode.Doc("UnmarshalText sets the value to the one with the given name.").Line().
			Func().Params(jen.Id("v").Op("*").Id(name)).Id("UnmarshalText").Params(jen.Id("text").Index().Byte()).Error().Block(
			jen.List(jen.Id("n"), jen.Err()).Op(":=").Add(s.codec("TextEnum")).Call(jen.Id("text"), jen.Id(values)),
			jen.If(jen.Err().Op("==").Nil()).Block(jen.Op("*").Id("v").Op("=").Id(name).Call(jen.Id("n"))),
			jen.Return(jen.Err()),
		),
	}
}
