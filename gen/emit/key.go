package emit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// keyType declares the row key of a table, with a picture of it:
//
//	type BalloonCellsKey struct { Location string; BalloonID int64; Bucket time.Time }
func (s *schemaFile) keyType(t *layout.Table) jen.Code {
	text := []string{fmt.Sprintf("%s is a row key of table %s%s, of the form", s.names.Table(t).Key, t.ID, ofEvents(t)), "", "\t" + sample.ShowKey(t.Key.String()), ""}
	if example := sample.Key(s.layout, t); example != "" {
		text = append(text, "for example", "", "\t"+sample.ShowKey(example), "")
	}
	text = append(text, keyNotes(s.layout, t)...)
	return gocode.Doc(text...).Line().Type().Id(s.names.Table(t).Key).StructFunc(func(g *jen.Group) {
		for _, segment := range t.Segments {
			switch segment.Kind {
			case codec.SeriesSegment:
				f := &s.layout.Series[segment.Series]
				g.Id(s.names.Field(f).Name).Add(s.goType(f))
			case codec.MetricSegment:
				g.Id("Metric").String().Comment("// the column name of a field")
			case codec.BucketSegment:
				g.Id("Bucket").Qual("time", "Time").Comment("// any time in the bucket; its start when parsed")
			case codec.TimeSegment:
				g.Id("Time").Qual("time", "Time")
			case codec.SequenceSegment:
				g.Id("Sequence").Uint32()
			}
		}
	})
}

// keyNotes describes the segments, and what a row and its cells contain.
func keyNotes(l *layout.Layout, t *layout.Table) []string {
	var out []string
	if t.Doc != "" {
		out = append(out, gocode.Sentence(t.Doc))
	}
	for _, segment := range t.Segments {
		switch {
		case segment.Kind == codec.SeriesSegment && segment.Form != (codec.KeyForm{}):
			out = append(out, gocode.Sentence(upperFirst(prose.Describe(l, t, segment))))
		case segment.Kind == codec.BucketSegment, segment.Kind == codec.TimeSegment, segment.Kind == codec.SaltSegment, segment.Kind == codec.SequenceSegment:
			out = append(out, gocode.Sentence(upperFirst(strings.TrimPrefix(prose.Describe(l, t, segment), "the "))))
		}
	}
	out = append(out, prose.Holds(l, t))
	families := t.AllFamilies()
	for i := range families {
		f := &families[i]
		switch {
		case f.Class > 0:
			out = append(out, fmt.Sprintf("Events of class %s are in family %s.", l.Classes[f.Class-1], f.Name))
		case f.Sums:
			continue
		case i == len(t.Families):
			out = append(out, fmt.Sprintf("Family %s has the rollup: the windows of the bucket by %s, and marks of changes. The timestamp of a cell is the end of the bucket.", f.Name, schema.FormatDuration(t.Rollup.Every)))
		case len(families) > 1:
			out = append(out, fmt.Sprintf("Family %s:", f.Name))
		}
		out = append(out, garbage(f))
	}
	return []string{strings.Join(out, " ")}
}

// garbage describes which cells of a family are garbage-collected, and what their
// timestamps are.
func garbage(f *layout.Family) string {
	stamp := map[codec.TimestampSource]string{
		codec.TimestampWrite:   "The timestamp of a cell is the time of the write. ",
		codec.TimestampExpiry:  "The timestamp of a cell is the expiry of the event. ",
		codec.TimestampShifted: fmt.Sprintf("The timestamp of a cell is the expiry of the event minus %s. ", schema.FormatDuration(f.Life.Default)),
	}[f.Life.Timestamp]
	return stamp + "Garbage collection rule: " + f.GC.String() + "."
}

// upperFirst capitalizes the first letter.
func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// keyVar declares the facts of the row keys of a table:
//
//	var balloonCellsKey = codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "location"}, …}, …}
func (s *schemaFile) keyVar(t *layout.Table) jen.Code {
	key := t.Key
	fields := s.fields(reflect.ValueOf(key))
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == "Segments" })
	fields[i].value = jen.Index().Add(s.codec("Segment")).Custom(multi, each(key.Segments, func(_ int, g *codec.Segment) jen.Code {
		return inline(s.segment(*g)...)
	})...)
	return gocode.Doc(fmt.Sprintf("%s describes the row keys of table %s%s.", s.names.Table(t).KeyVar, t.ID, ofEvents(t))).Line().
		Var().Id(s.names.Table(t).KeyVar).Op("=").Add(s.codec("Key")).Add(lines(fields...))
}

// segment renders the fields of a segment. The names of an enum are those of its type.
func (s *schemaFile) segment(segment codec.Segment) []field {
	fields := s.fields(reflect.ValueOf(segment))
	for i := range fields {
		switch fields[i].name {
		case "Type":
			fields[i].value = s.codec(suffix(s.layout.Series[segment.Series].Type) + "Segment")
		case "Enum":
			fields[i].value = jen.Id(s.names.Field(&s.layout.Series[segment.Series]).EnumNames)
		}
	}
	return fields
}

// keyAppend declares the Append method of a key.
func (s *schemaFile) keyAppend(t *layout.Table) jen.Code {
	return gocode.Doc("Append appends the key to dst; its errors are those of codec.KeyWriter.Key.").Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("Append").Params(jen.Id("dst").Index().Byte()).
		Params(jen.Index().Byte(), jen.Error()).Add(oneLine(
		jen.Return(jen.Id(s.names.Table(t).KeyVar).Dot("Append").Call(jen.Id("dst"), jen.Id("k").Dot("values").Call()))))
}

// keyPrefix declares the Prefix method of a key.
func (s *schemaFile) keyPrefix(t *layout.Table) jen.Code {
	if t.Endless() {
		return nil // Append returns the only key of a series
	}
	return gocode.Doc("Prefix returns what precedes the time in the keys of the series.").Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("Prefix").Params().
		Params(jen.Index().Byte(), jen.Error()).Add(oneLine(
		jen.Return(jen.Id(s.names.Table(t).KeyVar).Dot("Prefix").Call(jen.Id("k").Dot("values").Call()))))
}

// keyString declares the String method of a key, unless a series value has its name.
func (s *schemaFile) keyString(t *layout.Table) jen.Code {
	if slices.ContainsFunc(s.layout.Series, func(f layout.Field) bool { return s.names.Field(&f).Name == "String" }) {
		return nil
	}
	return gocode.Doc("String returns the key, quoted if it is not printable, or its error.").Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("String").Params().String().Add(oneLine(
		jen.Return(s.codec("KeyString").Call(jen.Id("k").Dot("Append").Call(jen.Nil())))))
}

// keyParse declares the function that parses a key.
func (s *schemaFile) keyParse(t *layout.Table) jen.Code {
	return gocode.Doc(fmt.Sprintf("%s parses a row key. Errors are of type *codec.FieldError.", s.names.Table(t).ParseKey)).Line().
		Func().Id(s.names.Table(t).ParseKey).Params(jen.Id("row").String()).
		Params(jen.Id("k").Id(s.names.Table(t).Key), jen.Err().Error()).Block(
		jen.Err().Op("=").Id(s.names.Table(t).KeyVar).Dot("Parse").Call(jen.Id("row"), jen.Id("k").Dot("values").Call()),
		jen.Return(jen.Id("k"), jen.Err()),
	)
}

// keyValues declares the method that points to the content of a key:
//
//	func (k *BalloonCellsKey) values() *codec.KeyValues {
//		return &codec.KeyValues{Series: []any{&k.Location, &k.BalloonID}, At: &k.Bucket}
//	}
func (s *schemaFile) keyValues(t *layout.Table) jen.Code {
	var fields []field
	if len(s.layout.Series) > 0 {
		fields = append(fields, field{"Series", jen.Index().Any().Values(s.seriesPointers("k")...)})
	}
	for _, segment := range t.Segments {
		name := map[codec.SegmentKind][2]string{
			codec.MetricSegment: {"Metric", "Metric"}, codec.BucketSegment: {"At", "Bucket"}, codec.TimeSegment: {"At", "Time"}, codec.SequenceSegment: {"Sequence", "Sequence"},
		}[segment.Kind]
		if name[0] != "" {
			fields = append(fields, field{name[0], jen.Op("&").Id("k").Dot(name[1])})
		}
	}
	return gocode.Doc("values points to the content of the key.").Line().
		Func().Params(jen.Id("k").Op("*").Id(s.names.Table(t).Key)).Id("values").Params().Op("*").Add(s.codec("KeyValues")).Add(oneLine(
		jen.Return(jen.Op("&").Add(s.codec("KeyValues")).Add(inline(fields...)))))
}

// seriesPointers renders pointers to the series values of a variable, as codec.KeyValues has them.
func (s *schemaFile) seriesPointers(of string) []jen.Code {
	var out []jen.Code
	for i := range s.layout.Series {
		f := &s.layout.Series[i]
		pointer := jen.Op("&").Id(of).Dot(s.names.Field(f).Name)
		if f.Type == schema.Enum {
			pointer = jen.Parens(jen.Op("*").Int64()).Call(pointer)
		}
		out = append(out, pointer)
	}
	return out
}
