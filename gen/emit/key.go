package emit

import (
	"fmt"
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
	for i := range t.Families {
		f := &t.Families[i]
		switch {
		case f.Class > 0:
			out = append(out, fmt.Sprintf("Events of class %s are in family %s.", l.Classes[f.Class-1], f.Name))
		case len(t.Families) > 1:
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

// newKeyWriter renders the creation of a writer for the table's keys, or for their
// prefixes and suffixes.
func (s *schemaFile) newKeyWriter(g *jen.Group, t *layout.Table, name string, dst jen.Code) {
	g.Id(name).Op(":=").Add(s.codec("NewKeyWriter")).Call(dst, jen.Lit(t.Delimiter))
	if t.KeyFields != nil {
		g.Id(name).Dot("Structured").Call()
	}
}

// keyAppend declares the Append method of a key.
func (s *schemaFile) keyAppend(t *layout.Table) jen.Code {
	text := []string{
		"Append appends the key to dst. It returns a *codec.FieldError if a segment is empty or",
		"contains the delimiter, if the table cannot represent the time, or if the key",
		"exceeds 4 KiB.",
	}
	if t.Endless() {
		text[1] = "contains the delimiter, or if the key"
	}
	return gocode.Doc(text...).Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("Append").Params(jen.Id("dst").Index().Byte()).
		Params(jen.Index().Byte(), jen.Error()).BlockFunc(func(g *jen.Group) {
		s.newKeyWriter(g, t, "w", jen.Id("dst"))
		if t.Endless() {
			s.writeSegments(g, t, t.Segments, ofKey())
			g.Return(jen.Id("w").Dot("Key").Call())
			return
		}
		if len(t.BeforeTime()) > 0 {
			g.Id("k").Dot("write").Call(jen.Op("&").Id("w"))
		}
		if t.Segments[len(t.BeforeTime())].Joined {
			g.Id("w").Dot("Join").Call()
		}
		if t.Pattern.Bucketed() {
			g.Id("w").Dot("Bucket").Call(jen.Id(s.names.Table(t).Bucket), jen.Id("k").Dot("Bucket"))
		} else {
			g.Id("w").Dot("Time").Call(jen.Id(s.names.Table(t).Time), jen.Id("k").Dot("Time"))
		}
		s.writeSegments(g, t, t.AfterTime(), ofKey())
		g.Return(jen.Id("w").Dot("Key").Call())
	})
}

// keyPrefix declares the Prefix method of a key.
func (s *schemaFile) keyPrefix(t *layout.Table) jen.Code {
	if t.Endless() {
		return nil // Append returns the only key of a series
	}
	text := []string{"Prefix returns the prefix of the keys of the series, up to and including the", "delimiter before the time."}
	if t.Delimiter == "" {
		text = []string{"Prefix returns the prefix of the keys of the series, up to the time."}
	}
	return gocode.Doc(text...).Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("Prefix").Params().
		Params(jen.Index().Byte(), jen.Error()).BlockFunc(func(g *jen.Group) {
		s.newKeyWriter(g, t, "w", jen.Nil())
		if len(t.BeforeTime()) > 0 {
			g.Id("k").Dot("write").Call(jen.Op("&").Id("w"))
		}
		g.Return(jen.Id("w").Dot("Prefix").Call())
	})
}

// keyString declares the String method of a key, unless a series value has its name.
func (s *schemaFile) keyString(t *layout.Table) jen.Code {
	if slices.ContainsFunc(s.layout.Series, func(f layout.Field) bool { return s.names.Field(&f).Name == "String" }) {
		return nil
	}
	return gocode.Doc("String returns the key, quoted if it is not printable, or the error if it is invalid.").Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("String").Params().String().Add(oneLine(
		jen.Return(s.codec("KeyString").Call(jen.Id("k").Dot("Append").Call(jen.Nil())))))
}

// keyWrite declares the method that writes the segments before the time.
func (s *schemaFile) keyWrite(t *layout.Table) jen.Code {
	if len(t.BeforeTime()) == 0 || t.Endless() {
		return nil
	}
	return gocode.Doc("write writes the segments before the time.").Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("write").Params(jen.Id("w").Op("*").Add(s.codec("KeyWriter"))).
		BlockFunc(func(g *jen.Group) { s.writeSegments(g, t, t.BeforeTime(), ofKey()) })
}

// keySuffix declares the method that returns the segments after the time.
func (s *schemaFile) keySuffix(t *layout.Table) jen.Code {
	path := s.layout.SeriesPath(t)
	if path.After == 0 {
		return nil
	}
	end := "Prefix"
	if path.Whole {
		end = "Key"
	}
	return gocode.Doc("suffix returns the segments after the time in the keys of the series.").Line().
		Func().Params(jen.Id("k").Id(s.names.Table(t).Key)).Id("suffix").Params().
		Params(jen.Index().Byte(), jen.Error()).BlockFunc(func(g *jen.Group) {
		s.newKeyWriter(g, t, "w", jen.Nil())
		s.writeSegments(g, t, t.AfterTime()[:path.After], ofKey())
		g.Return(jen.Id("w").Dot(end).Call())
	})
}

// keyCode names the variables in code that writes a key.
type keyCode struct {
	to     string // the codec.KeyWriter
	from   string // the struct with the series values
	metric *jen.Statement
	salt   *jen.Statement // nil if it is computed from the series values
}

// ofKey returns the variables in methods of a key.
func ofKey() keyCode { return keyCode{to: "w", from: "k", metric: jen.Id("k").Dot("Metric")} }

// writeSegments renders the segments other than the time.
func (s *schemaFile) writeSegments(g *jen.Group, t *layout.Table, segments []codec.Segment, c keyCode) {
	for _, segment := range segments {
		if segment.Joined {
			g.Id(c.to).Dot("Join").Call()
		}
		switch segment.Kind {
		case codec.SeriesSegment:
			g.Add(s.writeSegment(c, &s.layout.Series[segment.Series], segment.Form))
		case codec.MetricSegment:
			g.Id(c.to).Dot("String").Call(jen.Lit("metric"), jen.Add(c.metric))
		case codec.ConstSegment:
			g.Id(c.to).Dot("Const").Call(jen.Lit(segment.Const))
		case codec.SequenceSegment:
			g.Id(c.to).Dot("Sequence").Call(jen.Id(c.from).Dot("Sequence"))
		case codec.SaltSegment:
			if c.salt != nil {
				g.Id(c.to).Dot("SaltNumber").Call(jen.Lit(segment.Buckets), jen.Add(c.salt))
				continue
			}
			g.Id(c.to).Dot("BeginSalt").Call(jen.Lit(segment.Buckets))
			for _, i := range segment.Salted {
				g.Add(s.writeSegment(c, &s.layout.Series[i], t.FormOf(i)))
			}
			g.Id(c.to).Dot("EndSalt").Call()
		}
	}
}

// keyForm renders the form of a value in a key; nil for the default of its type.
func (s *schemaFile) keyForm(f codec.KeyForm) *jen.Statement {
	if f == (codec.KeyForm{}) {
		return nil
	}
	var fields []field
	if f.Encoding != codec.KeyText {
		fields = append(fields, field{"Encoding", s.codec(f.Encoding.Constant())})
	}
	if f.Pad > 0 {
		fields = append(fields, field{"Pad", jen.Lit(f.Pad)})
	}
	if f.Reverse {
		fields = append(fields, field{"Reverse", jen.True()})
	}
	if f.Escape {
		fields = append(fields, field{"Escape", jen.True()})
	}
	return s.codec("KeyForm").Add(inline(fields...))
}

// segmentMethod returns the method of the key codec for a type, the type of its
// parameter if it differs from the Go type, and the size of a number in bits.
func segmentMethod(t schema.Type) (method, wide string, bits int) {
	switch t {
	case schema.Int32:
		return "Int", "int64", 32
	case schema.Int64:
		return "Int", "", 64
	case schema.Uint32:
		return "Uint", "uint64", 32
	case schema.Uint64:
		return "Uint", "", 64
	}
	return suffix(t), "", 0
}

// writeSegment renders the code that writes one series value.
func (s *schemaFile) writeSegment(c keyCode, f *layout.Field, form codec.KeyForm) jen.Code {
	method, wide, bits := segmentMethod(f.Type)
	value := jen.Id(c.from).Dot(s.names.Field(f).Name)
	args := []jen.Code{jen.Lit(f.Name)}
	as := s.keyForm(form)
	if as != nil {
		method += "As"
		args = append(args, as)
	}
	switch {
	case f.Type == schema.Enum:
		args = append(args, jen.Id(s.names.Field(f).EnumNames), jen.Int64().Call(value))
	case wide != "":
		args = append(args, jen.Id(wide).Call(value))
	default:
		args = append(args, value)
	}
	if as != nil && bits > 0 {
		args = append(args, jen.Lit(bits))
	}
	return jen.Id(c.to).Dot(method).Call(args...)
}

// keyParse declares the function that parses a key.
func (s *schemaFile) keyParse(t *layout.Table) jen.Code {
	return gocode.Doc(fmt.Sprintf("%s parses a row key. Errors are of type *codec.FieldError.", s.names.Table(t).ParseKey)).Line().
		Func().Id(s.names.Table(t).ParseKey).Params(jen.Id("row").String()).
		Params(jen.Id(s.names.Table(t).Key), jen.Error()).BlockFunc(func(g *jen.Group) {
		g.Var().Id("k").Id(s.names.Table(t).Key)
		g.Id("r").Op(":=").Add(s.codec("NewKeyReader")).Call(jen.Id("row"), jen.Lit(t.Delimiter))
		for i, segment := range t.Segments {
			if segment.Joined {
				g.Id("r").Dot("Join").Call(jen.Lit(t.Tail(i)))
			}
			g.Add(s.parseSegment(t, segment))
		}
		g.Return(jen.Id("k"), jen.Id("r").Dot("Close").Call())
	})
}

// parseSegment renders the code that parses one segment.
func (s *schemaFile) parseSegment(t *layout.Table, segment codec.Segment) jen.Code {
	r := func(method string, args ...jen.Code) *jen.Statement { return jen.Id("r").Dot(method).Call(args...) }
	switch segment.Kind {
	case codec.ConstSegment:
		if segment.Tells {
			return r("Kind", jen.Lit(segment.Const))
		}
		return r("Const", jen.Lit(segment.Const))
	case codec.SaltSegment:
		return r("Salt", jen.Lit(segment.Buckets))
	case codec.SequenceSegment:
		return jen.Id("k").Dot("Sequence").Op("=").Add(r("Sequence"))
	case codec.MetricSegment:
		return jen.Id("k").Dot("Metric").Op("=").Add(r("String", jen.Lit("metric")))
	case codec.BucketSegment:
		return jen.Id("k").Dot("Bucket").Op("=").Add(r("Bucket", jen.Id(s.names.Table(t).Bucket)))
	case codec.TimeSegment:
		return jen.Id("k").Dot("Time").Op("=").Add(r("Time", jen.Id(s.names.Table(t).Time)))
	}
	f := &s.layout.Series[segment.Series]
	method, wide, bits := segmentMethod(f.Type)
	args := []jen.Code{jen.Lit(f.Name)}
	if as := s.keyForm(segment.Form); as != nil {
		method += "As"
		args = append(args, as)
	}
	if bits > 0 {
		args = append(args, jen.Lit(bits))
	}
	if f.Type == schema.Enum {
		args = append(args, jen.Id(s.names.Field(f).EnumNames))
	}
	value := r(method, args...)
	if wide != "" || f.Type == schema.Enum {
		value = s.goType(f).Call(value)
	}
	return jen.Id("k").Dot(s.names.Field(f).Name).Op("=").Add(value)
}

// keyOf renders the key of an event e: BalloonCellsKey{Location: e.Location, …}.
func (s *schemaFile) keyOf(t *layout.Table, withTime bool, more ...field) *jen.Statement {
	var fields []field
	for _, segment := range t.Segments {
		switch segment.Kind {
		case codec.SeriesSegment:
			name := s.names.Field(&s.layout.Series[segment.Series]).Name
			fields = append(fields, field{name, jen.Id("e").Dot(name)})
		case codec.BucketSegment:
			if withTime {
				fields = append(fields, field{"Bucket", jen.Id("e").Dot("Time")})
			}
		case codec.TimeSegment:
			if withTime {
				fields = append(fields, field{"Time", jen.Id("e").Dot("Time")})
			}
		case codec.SequenceSegment:
			if withTime {
				fields = append(fields, field{"Sequence", jen.Id("e").Dot("Sequence")})
			}
		}
	}
	return jen.Id(s.names.Table(t).Key).Add(inline(append(fields, more...)...))
}
