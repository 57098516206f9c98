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

// keyType declares the row key of a table, with a picture of it, and its methods.
func (s *schemaFile) keyType(t *layout.Table) jen.Code {
	n, example := s.names.Table(t), ""
	if key := sample.Key(s.layout, t); key != "" {
		example = "for example\n\n\t" + sample.ShowKey(key) + "\n"
	}
	members := each(t.Segments, func(_ int, g *codec.Segment) jen.Code {
		switch g.Kind {
		case codec.SeriesSegment:
			f := &s.layout.Series[g.Series]
			return s.code("$1 $2", s.names.Field(f).Name, s.goType(f))
		case codec.MetricSegment:
			return s.code("Metric string // the column name of a field")
		case codec.BucketSegment:
			return s.code("Bucket time.Time // any time in the bucket; its start when parsed")
		case codec.TimeSegment:
			return s.code("Time time.Time")
		case codec.SequenceSegment:
			return s.code("Sequence uint32")
		}
		return (*jen.Statement)(nil)
	})
	var text, prefix *jen.Statement
	if !slices.ContainsFunc(s.layout.Series, func(f layout.Field) bool { return s.names.Field(&f).Name == "String" }) {
		text = s.code(`
			// String returns the key, quoted if it is not printable, or its error.
			func (k $1) String() string { return codec.KeyString(k.Append(nil)) }`, n.Key)
	}
	if !t.Endless() { // where Append returns the only key of a series
		prefix = s.code(`
			// Prefix returns what precedes the time in the keys of the series.
			func (k $1) Prefix() ([]byte, error) { return $2.Prefix(k.values()) }`, n.Key, n.KeyVar)
	}
	return s.code(`
		// $1 is a row key of table $2, of the form
		//
		// $3
		//
		// $4
		// $5
		type $1 struct {
			$6
		}

		// Append appends the key to dst; its errors are those of codec.Key.Append.
		func (k $1) Append(dst []byte) ([]byte, error) { return $7.Append(dst, k.values()) }

		$8

		$9

		// $10 parses a row key. Errors are of type *codec.FieldError.
		func $10(row string) (k $1, err error) {
			err = $7.Parse(row, k.values())
			return k, err
		}

		// values points to the content of the key.
		func (k *$1) values() *codec.KeyValues { return &codec.KeyValues$11 }`,
		n.Key, t.ID+ofEvents(t), "\t"+sample.KeyNames(t), example, keyNotes(s.layout, t), members, n.KeyVar,
		text, prefix, n.ParseKey, s.keyValues(t))
}

// keyNotes describes the segments, and what a row and its cells contain.
func keyNotes(l *layout.Layout, t *layout.Table) string {
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
	return strings.Join(out, " ")
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
func upperFirst(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// keyVar declares the facts of the row keys of a table.
func (s *schemaFile) keyVar(t *layout.Table) jen.Code {
	segments := s.code("[]codec.Segment$1", lines(each(t.Key.Segments, s.segment)...))
	fields := s.fields(reflect.ValueOf(t.Key), map[string]*jen.Statement{"Segments": segments})
	return s.code(`
		// $1 describes the row keys of table $2.
		var $1 = codec.Key$3`, s.names.Table(t).KeyVar, t.ID+ofEvents(t), lines(fields...))
}

// segment renders a segment. The names of an enum are those of its type.
func (s *schemaFile) segment(_ int, g *codec.Segment) jen.Code {
	other := map[string]*jen.Statement{}
	if g.Kind == codec.SeriesSegment {
		f := &s.layout.Series[g.Series]
		other["Type"], other["Enum"] = s.codec(suffix(f.Type)+"Segment"), jen.Id(s.names.Field(f).EnumNames)
	}
	return jen.Values(s.fields(reflect.ValueOf(*g), other)...)
}

// keyValues renders pointers to the content of a key, k.
func (s *schemaFile) keyValues(t *layout.Table) *jen.Statement {
	fields := []jen.Code{setIf(len(s.layout.Series) > 0, "Series", s.code("[]any{$1}", s.seriesPointers("k")))}
	for _, segment := range t.Segments {
		name := map[codec.SegmentKind][2]string{
			codec.MetricSegment: {"Metric", "Metric"}, codec.BucketSegment: {"At", "Bucket"}, codec.TimeSegment: {"At", "Time"}, codec.SequenceSegment: {"Sequence", "Sequence"},
		}[segment.Kind]
		if name[0] != "" {
			fields = append(fields, set(name[0], s.code("&k.$1", name[1])))
		}
	}
	return jen.Values(fields...)
}

// seriesPointers renders pointers to the series values of a variable, as codec.KeyValues has them.
func (s *schemaFile) seriesPointers(of string) *jen.Statement {
	return jen.List(each(s.layout.Series, func(_ int, f *layout.Field) jen.Code {
		if f.Type == schema.Enum {
			return s.code("(*int64)(&$1.$2)", of, s.names.Field(f).Name)
		}
		return s.code("&$1.$2", of, s.names.Field(f).Name)
	})...)
}
