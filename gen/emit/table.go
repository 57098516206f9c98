package emit

import (
	"fmt"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// timeVar declares the encoding of times in the keys of a table:
//
//	var balloonCellsBucket = codec.Bucket{Every: 7 * 24 * time.Hour, …}
func (s *schemaFile) timeVar(t *layout.Table) jen.Code {
	if !t.Pattern.Bucketed() {
		return gocode.Doc(fmt.Sprintf("%s is the encoding of event times in the row keys of %s.", s.names.Table(t).Time, t.ID)).Line().
			Var().Id(s.names.Table(t).Time).Op("=").Add(s.codec("TimeFormat")).Add(s.timeFormat(t.Time))
	}
	b := t.Bucket
	if b.Endless() {
		return gocode.Doc(fmt.Sprintf("%s defines the rows of %s: one per series.", s.names.Table(t).Bucket, t.ID)).Line().
			Var().Id(s.names.Table(t).Bucket).Op("=").Add(s.codec("Bucket")).Add(inline(field{"Months", s.codec("AllTime")}, field{"Label", s.codec("Label").Add(inline(field{"Kind", s.codec("NoLabel")}))}))
	}
	fields := []field{{"Every", gocode.Duration(b.Every)}}
	if b.Months > 0 {
		fields = []field{{"Months", jen.Lit(b.Months)}}
	}
	if !b.Origin.IsZero() {
		fields = append(fields, field{"Origin", gocode.Date(b.Origin)})
	}
	fields = append(fields, field{"Label", s.codec("Label").Add(s.label(b.Label))})
	return gocode.Doc(fmt.Sprintf("%s defines the buckets of %s.", s.names.Table(t).Bucket, t.ID)).Line().
		Var().Id(s.names.Table(t).Bucket).Op("=").Add(s.codec("Bucket")).Add(lines(fields...))
}

// timeFormat renders the fields of a codec.TimeFormat.
func (s *schemaFile) timeFormat(f codec.TimeFormat) *jen.Statement {
	if f.Kind == codec.LayoutTime {
		return inline(field{"Layout", jen.Lit(f.Layout)})
	}
	kind := map[codec.TimeKind]string{
		codec.UnixSeconds: "UnixSeconds", codec.UnixMillis: "UnixMillis", codec.UnixMicros: "UnixMicros", codec.UnixNanos: "UnixNanos", codec.BinaryTime: "BinaryTime",
		codec.BinarySeconds: "BinarySeconds", codec.BinaryMillis: "BinaryMillis", codec.BinaryNanos: "BinaryNanos", codec.BinaryShortSeconds: "BinaryShortSeconds",
	}[f.Kind]
	fields := []field{{"Kind", s.codec(kind)}}
	if f.Reverse {
		fields = append(fields, field{"Reverse", jen.True()})
	}
	if f.From != codec.Largest {
		from := map[codec.Minuend]string{codec.MaxInt32: "MaxInt32", codec.MaxUint32: "MaxUint32", codec.MaxInt64: "MaxInt64", codec.MaxUint64: "MaxUint64"}[f.From]
		fields = append(fields, field{"From", s.codec(from)})
	}
	return inline(fields...)
}

// label renders the fields of a codec.Label.
func (s *schemaFile) label(l codec.Label) *jen.Statement {
	switch l.Kind {
	case codec.NumberLabel:
		fields := []field{{"Kind", s.codec("NumberLabel")}}
		if l.Prefix != "" {
			fields = append(fields, field{"Prefix", jen.Lit(l.Prefix)})
		}
		if l.Suffix != "" {
			fields = append(fields, field{"Suffix", jen.Lit(l.Suffix)})
		}
		if l.Pad > 0 {
			fields = append(fields, field{"Pad", jen.Lit(l.Pad)})
		}
		return inline(fields...)
	case codec.ISOWeekLabel:
		return inline(field{"Kind", s.codec("ISOWeekLabel")})
	}
	return inline(field{"Format", s.codec("TimeFormat").Add(s.timeFormat(l.Format))})
}

// gcRule renders the fields of a codec.GCRule.
func (s *schemaFile) gcRule(r codec.GCRule) *jen.Statement {
	switch r.Kind {
	case codec.GCMaxAge:
		return inline(field{"Kind", s.codec("GCMaxAge")}, field{"MaxAge", gocode.Duration(r.MaxAge)})
	case codec.GCMaxVersions:
		return inline(field{"Kind", s.codec("GCMaxVersions")}, field{"MaxVersions", jen.Lit(r.MaxVersions)})
	case codec.GCNone:
		return inline()
	}
	kind := "GCUnion"
	if r.Kind == codec.GCIntersection {
		kind = "GCIntersection"
	}
	return inline(field{"Kind", s.codec(kind)}, field{"Rules", jen.Index().Add(s.codec("GCRule")).ValuesFunc(func(g *jen.Group) {
		for _, sub := range r.Rules {
			g.Add(s.gcRule(sub))
		}
	})})
}

// family renders a column family. The rule determines its lifetime, except for the
// meaning of cell timestamps.
func (s *schemaFile) family(f *layout.Family) *jen.Statement {
	fields := []field{{"Name", jen.Lit(f.Name)}}
	if f.GC.Kind != codec.GCNone {
		fields = append(fields, field{"GC", s.codec("GCRule").Add(s.gcRule(f.GC))})
	}
	stamps := map[codec.TimestampSource]string{
		codec.TimestampWrite: "TimestampWrite", codec.TimestampExpiry: "TimestampExpiry", codec.TimestampShifted: "TimestampShifted",
	}
	if stamp, ok := stamps[f.Life.Timestamp]; ok {
		fields = append(fields, field{"Life", s.codec("Lifetime").Add(inline(field{"Timestamp", s.codec(stamp)}))})
	}
	if f.Class > 0 {
		fields = append(fields, field{"Class", jen.Lit(f.Class)})
	}
	return inline(fields...)
}

// tableLit renders what setup needs to know about a table.
func (s *schemaFile) tableLit(t *layout.Table) *jen.Statement {
	families := jen.Index().Add(s.store("Family")).CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, func(g *jen.Group) {
		for i := range t.Families {
			g.Add(s.family(&t.Families[i]))
		}
	})
	if len(t.Families) == 1 {
		families = jen.Index().Add(s.store("Family")).Values(s.family(&t.Families[0]))
	}
	fields := []field{{"ID", jen.Lit(t.ID)}, {"Families", families}}
	if len(t.Splits) > 0 {
		fields = append(fields, field{"Splits", jen.Index().String().ValuesFunc(func(g *jen.Group) {
			for _, split := range t.Splits {
				g.Lit(split)
			}
		})})
	}
	if t.KeyFields != nil {
		fields = append(fields, field{"KeySchema", s.keySchema(t)})
	}
	if t.Protected != nil {
		name := map[bool]string{true: "Protected", false: "Unprotected"}[*t.Protected]
		fields = append(fields, field{"DeletionProtection", jen.Qual(bigtablePath, name)})
	}
	if t.Draft {
		fields = append(fields, field{"Draft", jen.True()})
	}
	if t.Idle {
		fields = append(fields, field{"WriteOnly", jen.True()})
	}
	if facts := lock.Record(s.layout, t); facts != "" {
		fields = append(fields, field{"Layout", rawString(facts)})
	}
	return s.store("Table").Add(lines(fields...))
}

// rawString renders a text on one line, without escapes if possible.
func rawString(text string) *jen.Statement {
	if strconv.CanBackquote(text) {
		return jen.Op("`" + text + "`")
	}
	return jen.Lit(text)
}

// keySchema renders the row key schema of a table.
func (s *schemaFile) keySchema(t *layout.Table) *jen.Statement {
	fields := []field{{"Delimiter", jen.Lit(t.Delimiter)}}
	if t.Delimiter == "" {
		fields = nil
	}
	fields = append(fields, field{"Fields", jen.Index().Add(s.codec("KeyField")).ValuesFunc(func(g *jen.Group) {
		for _, f := range t.KeyFields {
			parts := []field{{"Name", jen.Lit(f.Name)}}
			if f.Bytes {
				parts = append(parts, field{"Bytes", jen.True()})
			}
			g.Add(inline(parts...))
		}
	})})
	return jen.Op("&").Add(s.store("KeySchema")).Add(inline(fields...))
}

// mappingVar declares everything that the store needs to know about a table:
//
//	var balloonCellsMapping = store.NewMapping(balloonCellsColumns, store.Keys[BalloonEvent]{…}, store.Mapping[BalloonEvent]{…})
func (s *schemaFile) mappingVar(t *layout.Table) jen.Code {
	event := func() *jen.Statement { return jen.Id(s.names.Event) }
	return gocode.Doc(fmt.Sprintf("%s maps events to table %s%s.", s.names.Table(t).Mapping, t.ID, ofEvents(t))).Line().
		Var().Id(s.names.Table(t).Mapping).Op("=").Add(s.store("NewMapping")).Call(
		jen.Id(s.names.Table(t).Columns),
		s.store("Keys").Types(event()).Add(lines(s.keys(t)...)),
		s.store("Mapping").Types(event()).Add(lines(s.mappingFields(t)...)),
	)
}

// ofEvents returns which events have a layout, for a table with several.
func ofEvents(t *layout.Table) string {
	if period := prose.Period(t); period != "" {
		return " for " + period
	}
	return ""
}

// mappingFields renders the fields of a mapping, except its columns and keys.
func (s *schemaFile) mappingFields(t *layout.Table) []field {
	fields := []field{{"Table", s.tableLit(t)}, {"Pattern", s.codec(names.Exported(t.Pattern.String()))}}
	if t.Pattern.Bucketed() {
		fields = append(fields, field{"Bucket", jen.Id(s.names.Table(t).Bucket)})
	} else {
		fields = append(fields, field{"TimeKey", jen.Id(s.names.Table(t).Time)})
		if ties := t.Ties(); ties > 0 {
			fields = append(fields, field{"Ties", jen.Lit(ties)})
		}
	}
	fields = append(fields, field{"Precision", gocode.Duration(s.layout.Precision)})
	if t.CountsCells() {
		fields = append(fields, field{"MaxCells", jen.Lit(int(t.MaxCells))})
	}
	if t.HasSequence() {
		fields = append(fields, field{"Sequence", jen.Func().Params(jen.Id("e").Op("*").Id(s.names.Event)).Op("*").Uint32().Block(
			jen.Return(jen.Op("&").Id("e").Dot("Sequence")))})
	}
	fields = append(fields, field{"Check", jen.Id(s.names.Check)})
	if !t.Since.IsZero() {
		fields = append(fields, field{"Since", gocode.Date(t.Since)})
	}
	if len(t.Older) > 0 {
		fields = append(fields, field{"Older", jen.Index().Op("*").Add(s.store("Mapping")).Types(jen.Id(s.names.Event)).ValuesFunc(func(g *jen.Group) {
			for _, older := range t.Older {
				g.Id(s.names.Table(older).Mapping)
			}
		})})
	}
	return fields
}

// keys renders how row keys are built from events and parsed.
func (s *schemaFile) keys(t *layout.Table) []field {
	event := func() *jen.Statement { return jen.Id("e").Op("*").Id(s.names.Event) }
	metric, more := jen.Id("_"), []field(nil)
	if t.Metrics() {
		metric, more = jen.Id("metric"), []field{{"Metric", jen.Id("metric")}}
	}
	metric.String()
	path := s.layout.SeriesPath(t)
	prefix := s.keyOf(t, false, more...).Dot("Prefix").Call()
	if t.Endless() {
		prefix = s.keyOf(t, false, more...).Dot("Append").Call(jen.Nil())
	}
	fields := []field{
		{"Append", jen.Func().Params(event(), metric.Clone(), jen.Id("dst").Index().Byte()).Params(jen.Index().Byte(), jen.Error()).Block(
			jen.Return(s.keyOf(t, true, more...).Dot("Append").Call(jen.Id("dst"))))},
		{"Prefix", jen.Func().Params(event(), metric.Clone()).Params(jen.Index().Byte(), jen.Error()).Block(
			jen.Return(prefix))},
	}
	if path.After > 0 {
		fields = append(fields, field{"Suffix", jen.Func().Params(event(), metric).Params(jen.Index().Byte(), jen.Error()).Block(
			jen.Return(s.keyOf(t, false, more...).Dot("suffix").Call()))})
	}
	fields = append(fields, field{"Parse", s.keyFunc(t)})
	if t.TimeDelimiter() != "" {
		fields = append(fields, field{"Delimiter", jen.Lit(t.TimeDelimiter())})
	}
	if rest := t.Rest(); rest > 0 {
		fields = append(fields, field{"Rest", jen.Lit(rest)})
	}
	if !path.Whole {
		fields = append(fields, field{"Open", jen.True()})
	}
	if t.Pattern.Bucketed() && !t.SharesRows() {
		fields = append(fields, field{"PerEvent", jen.True()})
	}
	return fields
}

// keyFunc renders the function that parses the row key of a stored event.
func (s *schemaFile) keyFunc(t *layout.Table) *jen.Statement {
	at := jen.Id("k").Dot("Time")
	switch {
	case t.Endless():
		at = jen.Id(s.names.Table(t).Bucket).Dot("Min").Call()
	case t.Pattern.Bucketed():
		at = jen.Id("k").Dot("Bucket")
	}
	return jen.Func().Params(jen.Id("row").String(), jen.Id("e").Op("*").Id(s.names.Event)).Params(jen.Qual("time", "Time"), jen.Error()).
		BlockFunc(func(g *jen.Group) {
			g.List(jen.Id("k"), jen.Err()).Op(":=").Id(s.names.Table(t).ParseKey).Call(jen.Id("row"))
			for _, segment := range t.Segments {
				switch segment.Kind {
				case codec.SeriesSegment:
					f := &s.layout.Series[segment.Series]
					e, k := jen.Id("e").Dot(s.names.Field(f).Name), jen.Id("k").Dot(s.names.Field(f).Name)
					if f.Type == schema.String { // usually, the next row has the same value
						k = s.codec("Keep").Call(jen.Id("e").Dot(s.names.Field(f).Name), k)
					}
					g.Add(e).Op("=").Add(k)
				case codec.SequenceSegment:
					g.Id("e").Dot("Sequence").Op("=").Id("k").Dot("Sequence")
				}
			}
			g.Return(at, jen.Err())
		})
}

// parser returns the name of the function that parses serialized events; empty if the
// table has none.
func (s *schemaFile) parser(t *layout.Table) string {
	return map[layout.Format]string{layout.Protobuf: s.names.ParseProto, layout.JSONText: s.names.ParseJSON}[t.Blob]
}

// setDefault renders the assignment of a field's default.
func (s *schemaFile) setDefault(f *layout.Field) *jen.Statement {
	return jen.Id("e").Dot(s.names.Field(f).Name).Op("=").Add(s.defaultValue(f))
}
