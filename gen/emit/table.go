package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// timeVar declares how the time stands in the keys of a table:
//
//	var balloonCellsBucket = codec.Bucket{Every: 7 * 24 * time.Hour, …}
func (s *schemaFile) timeVar(t *layout.Table) jen.Code {
	if !t.Pattern.Bucketed() {
		return doc(fmt.Sprintf("%s is how an event's time stands in the row keys of %s.", s.names.timeKey(t), t.ID)).Line().
			Var().Id(s.names.timeKey(t)).Op("=").Add(s.codec("TimeFormat")).Add(s.timeFormat(t.TimeKey))
	}
	b := t.Bucket
	fields := []field{{"Every", duration(b.Every)}}
	if b.Months > 0 {
		fields = []field{{"Months", jen.Lit(b.Months)}}
	}
	if !b.Origin.IsZero() {
		fields = append(fields, field{"Origin", date(b.Origin)})
	}
	fields = append(fields, field{"Label", s.codec("Label").Add(s.label(b.Label))})
	return doc(fmt.Sprintf("%s is the buckets of %s.", s.names.bucket(t), t.ID)).Line().
		Var().Id(s.names.bucket(t)).Op("=").Add(s.codec("Bucket")).Add(lines(fields...))
}

// timeFormat renders the fields of a codec.TimeFormat.
func (s *schemaFile) timeFormat(f codec.TimeFormat) *jen.Statement {
	if f.Kind == codec.LayoutTime {
		return inline(field{"Layout", jen.Lit(f.Layout)})
	}
	kind := map[codec.TimeKind]string{
		codec.UnixSeconds: "UnixSeconds", codec.UnixMillis: "UnixMillis", codec.UnixMicros: "UnixMicros", codec.UnixNanos: "UnixNanos", codec.BinaryTime: "BinaryTime",
	}[f.Kind]
	fields := []field{{"Kind", s.codec(kind)}}
	if f.Reverse {
		fields = append(fields, field{"Reverse", jen.True()})
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
		return inline(field{"Kind", s.codec("GCMaxAge")}, field{"MaxAge", duration(r.MaxAge)})
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

// retention renders what garbage collection leaves alive.
func (s *schemaFile) retention(r codec.Retention) *jen.Statement {
	return s.codec("Retention").ValuesFunc(func(g *jen.Group) {
		for _, term := range r {
			var fields []field
			if term.MaxAge > 0 {
				fields = append(fields, field{"MaxAge", duration(term.MaxAge)})
			}
			if term.Versions > 0 {
				fields = append(fields, field{"Versions", jen.Lit(term.Versions)})
			}
			g.Add(inline(fields...))
		}
	})
}

// lifetime renders what the timestamps of a family's cells are.
func (s *schemaFile) lifetime(l codec.Lifetime) *jen.Statement {
	stamps := map[codec.Stamp]string{
		codec.StampWrite: "StampWrite", codec.StampExpiry: "StampExpiry", codec.StampShifted: "StampShifted",
	}
	var fields []field
	if stamp, ok := stamps[l.Stamp]; ok {
		fields = append(fields, field{"Stamp", s.codec(stamp)})
	}
	if len(l.Retention) > 0 {
		fields = append(fields, field{"Retention", s.retention(l.Retention)})
	}
	if l.Default > 0 {
		fields = append(fields, field{"Default", duration(l.Default)})
	}
	if fields == nil {
		return nil
	}
	return s.codec("Lifetime").Add(inline(fields...))
}

// family renders a column family.
func (s *schemaFile) family(f *layout.Family) *jen.Statement {
	fields := []field{{"Name", jen.Lit(f.Name)}, {"GC", s.codec("GCRule").Add(s.gcRule(f.GC))}}
	if life := s.lifetime(f.Life); life != nil {
		fields = append(fields, field{"Life", life})
	}
	if f.Class > 0 {
		fields = append(fields, field{"Class", jen.Lit(f.Class)})
	}
	return lines(fields...)
}

// tableLit renders what set-up knows of a table, and the lifetimes.
func (s *schemaFile) tableLit(t *layout.Table) *jen.Statement {
	families := jen.Index().Add(s.store("Family")).CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, func(g *jen.Group) {
		for i := range t.Families {
			g.Add(s.family(&t.Families[i]))
		}
	})
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
	return s.store("Table").Add(lines(fields...))
}

// keySchema renders how GoogleSQL reads the row keys of a table.
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

// column renders a column.
func (s *schemaFile) column(c layout.Column) *jen.Statement {
	fields := []field{{"Name", jen.Lit(c.Qualifier)}}
	if c.Family > 0 {
		fields = append(fields, field{"Family", jen.Lit(c.Family)})
	}
	if c.Field == layout.WrittenAt {
		fields = append(fields, field{"WrittenAt", jen.True()})
	}
	if c.Field == layout.WholeEvent {
		fields = append(fields, field{"Whole", jen.True()})
	}
	return inline(fields...)
}

// layoutVar declares all that the store knows of a table.
func (s *schemaFile) layoutVar(t *layout.Table) jen.Code {
	fields := []field{
		{"Table", s.tableLit(t)},
		{"Kind", s.store(t.Pattern.Kind().String())},
	}
	if t.Pattern.Bucketed() {
		fields = append(fields, field{"Bucket", jen.Id(s.names.bucket(t))})
	} else {
		fields = append(fields, field{"TimeKey", jen.Id(s.names.timeKey(t))})
		if ties := t.Ties(s.layout); ties > 0 {
			fields = append(fields, field{"Ties", jen.Lit(ties)})
		}
	}
	fields = append(fields,
		field{"Precision", duration(s.layout.Precision)},
		field{"Columns", jen.Index().Add(s.store("Column")).ValuesFunc(func(g *jen.Group) {
			for _, c := range t.Columns {
				g.Add(s.column(c))
			}
		})},
		field{"Time", jen.Func().Params(jen.Id("e").Op("*").Id(s.names.event())).Op("*").Qual("time", "Time").Block(
			jen.Return(jen.Op("&").Id("e").Dot("Time")))},
	)
	if t.HasSequence() {
		fields = append(fields, field{"Sequence", jen.Func().Params(jen.Id("e").Op("*").Id(s.names.event())).Op("*").Uint32().Block(
			jen.Return(jen.Op("&").Id("e").Dot("Sequence")))})
	}
	if s.hasChoice() {
		fields = append(fields, field{"Choice", jen.Id(s.names.choice())})
	}
	fields = append(fields,
		field{"Check", jen.Id(s.names.check())},
		field{"Put", jen.Id(s.names.put(t))},
	)
	if sharesRows(t) {
		fields = append(fields, field{"Same", jen.Id(s.names.same())})
	}
	if s.shares() {
		fields = append(fields, field{"Own", jen.Id(s.names.own())})
	}
	fields = append(fields,
		field{"Spans", jen.Id(s.names.spans(t))},
		field{"Key", jen.Id(s.names.keyFunc(t))},
		field{"Set", s.setFunc(t)},
		field{"Missing", s.missingFunc(t)},
	)
	return doc(fmt.Sprintf("%s is how events lie in %s.", s.names.layout(t), t.ID)).Line().
		Var().Id(s.names.layout(t)).Op("=").Op("&").Add(s.store("Layout")).Types(jen.Id(s.names.event())).Add(lines(fields...))
}

// put declares the function that lays out an event as cells.
func (s *schemaFile) put(t *layout.Table) jen.Code {
	body := s.putColumns
	switch {
	case t.Metrics():
		body = s.putMetrics
	case t.Serialized():
		body = s.putBlob
	}
	return doc(fmt.Sprintf("%s lays out an event as cells of %s.", s.names.put(t), t.ID)).Line().
		Func().Id(s.names.put(t)).Params(jen.Id("e").Op("*").Id(s.names.event()), jen.Id("c").Op("*").Add(s.store("Cells"))).
		BlockFunc(func(g *jen.Group) { body(g, t) })
}

// buffer is c.Buffer(), which a key is appended to, and cell c.Cell(column), which
// the datum of the column is.
func buffer() *jen.Statement         { return jen.Id("c").Dot("Buffer").Call() }
func cell(column int) *jen.Statement { return jen.Id("c").Dot("Cell").Call(jen.Lit(column)) }

// row begins the n-th row of the event:
//
//	if !c.SameRow(0) {
//		c.Row(key.Append(c.Buffer()))
//	}
func row(t *layout.Table, n int, key ...jen.Code) jen.Code {
	last := len(key) - 1
	begin := append(slices.Clone(key[:last]), jen.Id("c").Dot("Row").Call(jen.Add(key[last]).Dot("Append").Call(buffer())))
	if !sharesRows(t) {
		return jen.Add(begin...)
	}
	return jen.If(jen.Op("!").Id("c").Dot("SameRow").Call(jen.Lit(n))).Block(begin...)
}

// sharesRows reports whether the events of a series and a bucket are in the same rows.
func sharesRows(t *layout.Table) bool {
	return t.Pattern.Bucketed() && !slices.ContainsFunc(t.Segments, func(g layout.Segment) bool { return g.Kind == layout.SequenceSegment })
}

// same declares the function that reports whether two events are of one series; nil
// if no table has rows of several events.
func (s *schemaFile) same() jen.Code {
	if !slices.ContainsFunc(s.layout.Tables, sharesRows) {
		return nil
	}
	equal := jen.True()
	for i := range s.layout.Series {
		f := &s.layout.Series[i]
		if i == 0 {
			equal = s.equal(f)
		} else {
			equal.Op("&&").Add(s.equal(f))
		}
	}
	return doc(s.names.same() + " reports whether two events are of one series.").Line().
		Func().Id(s.names.same()).Params(jen.List(jen.Id("a"), jen.Id("b")).Op("*").Id(s.names.event())).Bool().Block(jen.Return(equal))
}

// equal is the condition that a series value is the same in a and b.
func (s *schemaFile) equal(f *layout.Field) *jen.Statement {
	a, b := s.value("a", f), s.value("b", f)
	switch f.Type {
	case schema.Bytes, schema.JSON:
		return jen.Qual("bytes", "Equal").Call(a, b)
	case schema.Timestamp:
		return a.Dot("Equal").Call(b)
	}
	return a.Op("==").Add(b)
}

// setCell sets the cell of a column, with a comment that names it.
func setCell(t *layout.Table, column int, datum jen.Code) *jen.Statement {
	set := jen.Id("c").Dot("Set").Call(jen.Lit(column), datum)
	if t.Serialized() && t.Columns[column].Field != layout.WrittenAt {
		return set
	}
	return set.Comment(comment(t.Columns[column].Qualifier))
}

// putColumns sets a cell for each field.
func (s *schemaFile) putColumns(g *jen.Group, t *layout.Table) {
	g.Add(row(t, 0, s.keyOf(t, true)))
	for i, c := range t.Columns {
		if c.Field >= 0 {
			f := &s.layout.Fields[c.Field]
			g.Add(s.ifSet("e", f, setCell(t, i, s.encode(cell(i), "e", f, c.Text))))
		}
	}
	s.putWrittenAt(g, t)
}

// putWrittenAt sets the cells with the write time.
func (s *schemaFile) putWrittenAt(g *jen.Group, t *layout.Table) {
	for i, c := range t.Columns {
		if c.Field == layout.WrittenAt {
			g.Add(setCell(t, i, s.codec("Append"+encoding(c.Text)+"Timestamp").Call(cell(i), jen.Id("e").Dot("WrittenAt"))))
		}
	}
}

// putMetrics sets a cell in a row of its own for each field, whose column is
// the datum.
func (s *schemaFile) putMetrics(g *jen.Group, t *layout.Table) {
	g.Id("key").Op(":=").Add(s.keyOf(t, true))
	for i, c := range t.Columns {
		if c.Field < 0 {
			continue
		}
		f := &s.layout.Fields[c.Field]
		g.Add(s.ifSet("e", f,
			row(t, i, jen.Id("key").Dot("Metric").Op("=").Lit(c.Qualifier), jen.Id("key")),
			jen.Id("c").Dot("Set").Call(jen.Lit(i), s.encode(cell(i), "e", f, c.Text)),
		))
	}
}

// putBlob sets one cell with the whole event.
func (s *schemaFile) putBlob(g *jen.Group, t *layout.Table) {
	g.Add(row(t, 0, s.keyOf(t, true)))
	serialize := s.names.appendProto()
	if t.Blob == layout.JSONText {
		serialize = s.names.appendJSON()
	}
	g.Add(setCell(t, 0, jen.Id(serialize).Call(cell(0), jen.Id("e"))))
	s.putWrittenAt(g, t)
}

// spans declares the function that returns which rows hold an event's series.
func (s *schemaFile) spans(t *layout.Table) jen.Code {
	f := doc(fmt.Sprintf("%s returns where the rows of an event's series are in %s.", s.names.spans(t), t.ID)).Line().
		Func().Id(s.names.spans(t)).Params(jen.Id("e").Op("*").Id(s.names.event())).
		Params(jen.Index().Add(s.codec("Span")), jen.Error())
	if !t.Metrics() {
		return f.BlockFunc(func(g *jen.Group) { s.oneSpan(g, t) })
	}
	return f.BlockFunc(func(g *jen.Group) {
		g.Var().Id("spans").Index().Add(s.codec("Span"))
		g.For(jen.List(jen.Id("_"), jen.Id("metric")).Op(":=").Range().Index().String().ValuesFunc(func(g *jen.Group) {
			for _, c := range t.Columns {
				g.Lit(c.Qualifier)
			}
		})).BlockFunc(func(g *jen.Group) {
			s.spanOf(g, t, field{"Metric", jen.Id("metric")})
			g.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err()))
			g.Id("spans").Op("=").Append(jen.Id("spans"), jen.Id("span"))
		})
		g.Return(jen.Id("spans"), jen.Nil())
	})
}

// oneSpan returns the span of a series whose keys all begin alike.
func (s *schemaFile) oneSpan(g *jen.Group, t *layout.Table) {
	s.spanOf(g, t)
	g.Return(jen.Index().Add(s.codec("Span")).Values(jen.Id("span")), jen.Err())
}

// spanOf makes span, and err.
func (s *schemaFile) spanOf(g *jen.Group, t *layout.Table, more ...field) {
	plan := s.layout.SeriesPlan(t)
	suffix := jen.Nil()
	if len(plan.After) > 0 {
		suffix = jen.Id("key").Dot("suffix")
	}
	g.Id("key").Op(":=").Add(s.keyOf(t, false, more...))
	g.List(jen.Id("span"), jen.Err()).Op(":=").Add(s.store("Span")).Call(jen.Id("key").Dot("Prefix"), suffix, jen.Lit(t.Delimiter), jen.Lit(plan.Whole))
}

// keyFunc declares the function that takes the row key of a stored event apart.
func (s *schemaFile) keyFunc(t *layout.Table) jen.Code {
	at := "Time"
	if t.Pattern.Bucketed() {
		at = "Bucket"
	}
	return doc(fmt.Sprintf("%s sets the series of an event from a row key of %s, and returns its %s.", s.names.keyFunc(t), t.ID, strings.ToLower(at))).Line().
		Func().Id(s.names.keyFunc(t)).Params(jen.Id("row").String(), jen.Id("e").Op("*").Id(s.names.event())).Params(jen.Qual("time", "Time"), jen.Error()).
		BlockFunc(func(g *jen.Group) {
			g.List(jen.Id("k"), jen.Err()).Op(":=").Id(s.names.parseKey(t)).Call(jen.Id("row"))
			for _, segment := range t.Segments {
				switch segment.Kind {
				case layout.SeriesSegment:
					f := &s.layout.Series[segment.Series]
					e, k := jen.Id("e").Dot(s.names.field(f)), jen.Id("k").Dot(s.names.field(f))
					if f.Type == schema.String { // the next row has the same one as a rule
						k = s.codec("Keep").Call(jen.Id("e").Dot(s.names.field(f)), k)
					}
					g.Add(e).Op("=").Add(k)
				case layout.SequenceSegment:
					g.Id("e").Dot("Sequence").Op("=").Id("k").Dot("Sequence")
				}
			}
			g.Return(jen.Id("k").Dot(at), jen.Err())
		})
}

// parser is the function that takes a serialized event apart; empty if the
// table has none.
func (s *schemaFile) parser(t *layout.Table) string {
	return map[layout.Format]string{layout.Protobuf: s.names.parseProto(), layout.JSONText: s.names.parseJSON()}[t.Blob]
}

// setFunc is the function that takes a stored datum into an event.
func (s *schemaFile) setFunc(t *layout.Table) jen.Code {
	if !t.Serialized() || len(t.Columns) > 1 {
		return jen.Id(s.names.set(t))
	}
	return jen.Func().Params(jen.Id("e").Op("*").Id(s.names.event()), jen.Id("_").Int(), jen.Id("blob").Index().Byte()).Error().Block(
		jen.Return(jen.Id(s.parser(t)).Call(jen.Id("e"), jen.Id("blob"))))
}

// set declares the function that takes a stored datum into an event.
func (s *schemaFile) set(t *layout.Table) jen.Code {
	if t.Serialized() && len(t.Columns) == 1 {
		return nil
	}
	return doc(fmt.Sprintf("%s takes the datum of a column of %s into an event.", s.names.set(t), t.ID)).Line().
		Func().Id(s.names.set(t)).Params(jen.Id("e").Op("*").Id(s.names.event()), jen.Id("column").Int(), jen.Id("datum").Index().Byte()).
		Params(jen.Err().Error()).Block(
		jen.Switch(jen.Id("column")).BlockFunc(func(g *jen.Group) {
			for i, c := range t.Columns {
				g.Case(jen.Lit(i)).Comment(comment(c.Qualifier)).Line().Add(s.setColumn(t, c))
			}
		}),
		jen.Return(jen.Err()),
	)
}

// setColumn takes a datum into the field that a column is of.
func (s *schemaFile) setColumn(t *layout.Table, c layout.Column) *jen.Statement {
	switch c.Field {
	case layout.WholeEvent:
		return jen.Err().Op("=").Id(s.parser(t)).Call(jen.Id("e"), jen.Id("datum"))
	case layout.WrittenAt:
		return jen.List(jen.Id("e").Dot("WrittenAt"), jen.Err()).Op("=").Add(s.codec(encoding(c.Text) + "Timestamp")).Call(jen.Id("datum"))
	}
	f := &s.layout.Fields[c.Field]
	args := []jen.Code{jen.Id("datum")}
	if f.Type == schema.Enum {
		args = append(args, jen.Id(s.names.enumNames(f)))
	}
	return statements(s.assign("e", f, s.codec(encoding(c.Text)+suffix(f.Type)).Call(args...)))
}

// statements puts statements on lines of their own.
func statements(code []jen.Code) *jen.Statement {
	out := jen.Null()
	for i, c := range code {
		if i > 0 {
			out.Line()
		}
		out.Add(c)
	}
	return out
}

// hasAbsent reports whether a stored event may lack a field.
func (s *schemaFile) hasAbsent() bool {
	for _, f := range s.layout.Fields {
		if f.Optional || f.Default != nil {
			return true
		}
	}
	return false
}

// missingFunc is the function that fills in what a stored event lacks. A
// serialized event is there or not.
func (s *schemaFile) missingFunc(t *layout.Table) jen.Code {
	if t.Serialized() || !s.hasAbsent() {
		return s.store("Required").Types(jen.Id(s.names.event()))
	}
	return jen.Id(s.names.missing())
}

// missing declares the function that fills in the defaults of fields.
func (s *schemaFile) missing() jen.Code {
	fieldwise := slices.ContainsFunc(s.layout.Tables, func(t *layout.Table) bool { return !t.Serialized() })
	if !fieldwise || !s.hasAbsent() {
		return nil
	}
	var optional []jen.Code
	for i, f := range s.layout.Fields {
		if f.Optional {
			optional = append(optional, jen.Lit(i))
		}
	}
	return doc(fmt.Sprintf("%s puts the default of a field that a stored event lacks; an error if it has none.", s.names.missing())).Line().
		Func().Id(s.names.missing()).Params(jen.Id("e").Op("*").Id(s.names.event()), jen.Id("field").Int()).Error().Block(
		jen.Switch(jen.Id("field")).BlockFunc(func(g *jen.Group) {
			if len(optional) > 0 {
				g.Case(optional...).Comment("// optional")
			}
			for i := range s.layout.Fields {
				if f := &s.layout.Fields[i]; f.Default != nil {
					g.Case(jen.Lit(i)).Comment("// " + f.Name).Line().Add(s.setDefault(f))
				}
			}
			g.Default().Block(jen.Return(s.codec("ErrMissing")))
		}),
		jen.Return(jen.Nil()),
	)
}

// setDefault puts the default of a field into e.
func (s *schemaFile) setDefault(f *layout.Field) *jen.Statement {
	return jen.Id("e").Dot(s.names.field(f)).Op("=").Add(s.defaultValue(f))
}
