package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/words"
)

// ctxParam is the first parameter of calls that may block.
func ctxParam() *jen.Statement { return jen.Id("ctx").Qual("context", "Context") }

// optsParam is the last parameter of every call that has options: those of the type.
func (s *schemaFile) optsParam(kind string) *jen.Statement {
	return jen.Id("opts").Op("...").Add(s.store(kind))
}

// clientParam is the first parameter of every reader and writer.
func (s *schemaFile) clientParam() *jen.Statement { return jen.Id("client").Add(s.store("Client")) }

// eventSeq is the type iter.Seq2[Event, error].
func (s *schemaFile) eventSeq() *jen.Statement {
	return jen.Qual("iter", "Seq2").Types(jen.Id(s.names.Event), jen.Error())
}

// notInlined ends the comment of a function that calls generic ones. If it were
// inlined, every package that calls it would compile them again.
func notInlined() *jen.Statement {
	return jen.Line().Comment("//").Line().Comment("//go:noinline").Line()
}

// writerType declares the writer:
//
//	type BalloonWriter struct { events store.EventWriter[BalloonSeries, BalloonEvent] }
func (s *schemaFile) writerType() jen.Code {
	text := []string{fmt.Sprintf("%s writes %s events to %s. %s", s.names.Writer, s.layout.Name, s.destinations(), s.replaces())}
	if note := s.notIfAbsent(); note != "" {
		text = append(text, note)
	}
	return gocode.Doc(text...).Line().
		Type().Id(s.names.Writer).Struct(jen.Id(held).Add(s.store("EventWriter").Types(jen.Id(s.names.Series), jen.Id(s.names.Event))))
}

// held is the field of generated writers and readers that does their work.
const held = "events"

// method is a method of every writer or reader, which calls that of the field held.
type method struct {
	name, doc string
	params    []param
	results   []jen.Code
}

// param is a parameter; it is passed on as it is.
type param struct {
	name     string
	typ      *jen.Statement
	variadic bool
}

// methods declares methods of a type, whose receiver is named. They are those of an interface of
// package store, whose comments have their errors.
func (s *schemaFile) methods(receiver, typ, of string, all []method) jen.Code {
	out := jen.Null()
	for i, m := range all {
		if i > 0 {
			out.Line().Line()
		}
		var params, args []jen.Code
		for _, p := range m.params {
			param, arg := jen.Id(p.name), jen.Id(p.name)
			if p.variadic {
				param.Op("...")
				arg.Op("...")
			}
			params, args = append(params, param.Add(p.typ)), append(args, arg)
		}
		out.Add(gocode.Doc(fmt.Sprintf("%s %s; see store.%s.%s.", m.name, m.doc, of, m.name))).Line().
			Func().Params(jen.Id(receiver).Op("*").Id(typ)).Id(m.name).Params(params...).Params(m.results...).
			Add(oneLine(jen.Return(jen.Id(receiver).Dot(held).Dot(m.name).Call(args...))))
	}
	return out
}

// ctx, opts and ofTime return parameters of many methods.
func ctx() param                             { return param{"ctx", jen.Qual("context", "Context"), false} }
func (s *schemaFile) opts(kind string) param { return param{"opts", s.store(kind), true} }
func ofTime(name string) param               { return param{name, jen.Qual("time", "Time"), false} }

// writerMethods declares the methods that every writer has.
func (s *schemaFile) writerMethods() jen.Code {
	event, series := jen.Id(s.names.Event), jen.Id(s.names.Series)
	failed := []jen.Code{jen.Error()}
	deleted := []jen.Code{s.store("Deletion"), jen.Error()}
	return s.methods("w", s.names.Writer, "EventWriter", []method{
		{"Write", "stores one event; the error is a *store.WriteError", []param{ctx(), {"event", event, false}, s.opts("WriteOptions")}, failed},
		{"WriteAll", "stores events in any order; a *store.WriteError names each one that is not stored", []param{ctx(), {"events", jen.Index().Add(event), false}, s.opts("WriteOptions")}, failed},
		{"Delete", "deletes events from all tables, by their " + s.place(), []param{ctx(), {"events", jen.Index().Add(event), false}, s.opts("DeleteOptions")}, deleted},
		{"DeleteRange", "deletes the events of a series with from <= time < to from all tables", []param{ctx(), {"series", series, false}, ofTime("from"), ofTime("to"), s.opts("DeleteOptions")}, deleted},
		{"DeleteSeries", "deletes all events of a series from all tables", []param{ctx(), {"series", series, false}, s.opts("DeleteOptions")}, deleted},
		{"Replace", "stores an event in place of another one", []param{ctx(), {"old", event, false}, {"updated", event, false}, s.opts("WriteOptions")}, failed},
	})
}

// newWriter declares the writer's constructor.
func (s *schemaFile) newWriter() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s returns a writer; client is usually a *bigtable.Client.", s.names.NewWriter)).Add(notInlined()).
		Func().Id(s.names.NewWriter).Params(s.clientParam(), s.optsParam("WriterOptions")).Op("*").Id(s.names.Writer).Block(
		jen.Return(jen.Op("&").Id(s.names.Writer).Values(
			s.store("NewEventWriter").Types(jen.Id(s.names.Series)).Call(
				s.store("NewWriter").Call(jen.Id("client"), jen.Id(s.names.Mappings), jen.Id("opts").Op("...")),
			),
		)),
	)
}

// replaces describes the effect of writing an event again.
func (s *schemaFile) replaces() string {
	var appendOnly []string
	for _, t := range s.layout.AllPeriods() {
		if t.Metrics() {
			appendOnly = append(appendOnly, t.ID)
		}
	}
	if appendOnly == nil {
		return "Writing an event again replaces it, so a failed call is safe to repeat."
	}
	return "Writing the same event again changes nothing, so a failed call is safe to repeat. " +
		"Table " + strings.Join(appendOnly, ", ") + " is append-only: an event with the same " + s.place() + " but other values does not replace the first one; reads return both."
}

// notIfAbsent returns why WriteOptions.IfAbsent does not work; empty if it does.
func (s *schemaFile) notIfAbsent() string {
	for _, t := range s.layout.AllPeriods() {
		if t.RowsPerEvent() > 1 {
			return fmt.Sprintf("WriteOptions.IfAbsent is refused with store.ErrSeveralRows: in table %s, %s, an event has one row per field, and Bigtable cannot check and write several rows atomically.", t.ID, t.Pattern)
		}
		if t.HasPoints() {
			return fmt.Sprintf("WriteOptions.IfAbsent is refused with store.ErrSharedCells: in table %s, OpenTSDB may have stored an event in one cell with others, where Bigtable cannot find it.", t.ID)
		}
	}
	return ""
}

// hasPoints reports whether a table has the columns of OpenTSDB.
func (s *schemaFile) hasPoints() bool {
	return slices.ContainsFunc(s.layout.AllPeriods(), (*layout.Table).HasPoints)
}

// place describes what identifies an event of the schema.
func (s *schemaFile) place() string {
	if s.layout.Sequence {
		return "series, time and sequence"
	}
	return "series and time"
}

// batcherType declares the batcher:
//
//	type BalloonBatcher struct { store.EventBatcher[BalloonEvent] }
func (s *schemaFile) batcherType() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s gathers %s events from any number of goroutines and writes them in batches; see store.Batcher.", s.names.Batcher, s.layout.Name)).Line().
		Type().Id(s.names.Batcher).Struct(s.store("EventBatcher").Types(jen.Id(s.names.Event)))
}

// newBatcher declares the batcher's constructor.
func (s *schemaFile) newBatcher() jen.Code {
	return gocode.Doc(
		s.names.NewBatcher+" returns a batcher that writes through w; see store.NewBatcher.",
	).Add(notInlined()).
		Func().Id(s.names.NewBatcher).Params(
		jen.Id("w").Op("*").Id(s.names.Writer),
		jen.Id("failed").Func().Params(jen.Id("event").Id(s.names.Event), jen.Err().Error()),
		s.optsParam("BatcherOptions"),
	).Op("*").Id(s.names.Batcher).Block(
		jen.Return(jen.Op("&").Id(s.names.Batcher).Values(
			s.store("NewBatcher").Call(jen.Id("w").Dot(held), jen.Id("failed"), jen.Id("opts").Op("...")),
		)),
	)
}

// destinations lists the tables that events are written to.
func (s *schemaFile) destinations() string {
	var ids []string
	older := ""
	for _, t := range s.layout.Tables {
		ids = append(ids, t.ID)
		older += olderTables(t, "to")
	}
	if len(ids) == 1 {
		return "table " + ids[0] + older
	}
	return "tables " + words.List(ids, "and") + older
}

// olderTables describes the other tables with events of earlier layouts, which are written
// to them or read from them.
func olderTables(t *layout.Table, preposition string) string {
	text := ""
	for _, older := range t.Older {
		if older.ID != t.ID {
			text += fmt.Sprintf(", and %s %s table %s", prose.Period(older), preposition, older.ID)
		}
	}
	return text
}

// readerType declares the reader:
//
//	type BalloonReader struct { events store.EventReader[BalloonSeries, BalloonEvent, BalloonColumns]; reader store.TableReader[BalloonEvent] }
func (s *schemaFile) readerType() jen.Code {
	text := fmt.Sprintf("%s reads %s events from table %s%s. Read holds %s in memory at a time.", s.names.Reader, s.layout.Name, s.layout.Read.ID, olderTables(s.layout.Read, "from"), holds(s.layout.Read))
	if s.layout.Read.Metrics() {
		text += " The table is append-only: if a field has several values at the same time, Read yields that many events, ordered by their stored values."
	}
	return gocode.Doc(text).Line().
		Type().Id(s.names.Reader).StructFunc(func(g *jen.Group) {
		g.Id(held).Add(s.store("EventReader").Types(jen.Id(s.names.Series), jen.Id(s.names.Event), jen.Id(s.names.Columns)))
		for _, t := range s.readTables() {
			g.Id(s.names.Table(t).Reader).Add(s.store("TableReader").Types(jen.Id(s.names.Event)))
		}
	})
}

// readTables returns the tables that readers read: that of Read first, then those of queries.
func (s *schemaFile) readTables() []*layout.Table {
	out := []*layout.Table{s.layout.Read}
	for _, t := range s.layout.QueriedTables() {
		if t != s.layout.Read {
			out = append(out, t)
		}
	}
	return out
}

// newReader declares the reader's constructor.
func (s *schemaFile) newReader() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s returns a reader; client is usually a *bigtable.Client.", s.names.NewReader)).Add(notInlined()).
		Func().Id(s.names.NewReader).Params(s.clientParam(), s.optsParam("ReaderOptions")).Op("*").Id(s.names.Reader).BlockFunc(func(g *jen.Group) {
		read := func(t *layout.Table) *jen.Statement {
			return s.store("NewReader").Call(jen.Id("client"), jen.Id(s.names.Table(t).Mapping), jen.Id("opts").Op("..."))
		}
		tables := s.readTables()
		g.Id("reader").Op(":=").Add(read(tables[0]))
		fields := []field{
			{held, s.store("NewEventReader").Types(jen.Id(s.names.Series)).Call(jen.Id("reader"), jen.Id(s.names.Table(tables[0]).Columns))},
			{s.names.Table(tables[0]).Reader, jen.Id("reader")},
		}
		for _, t := range tables[1:] {
			fields = append(fields, field{s.names.Table(t).Reader, read(t)})
		}
		g.Return(jen.Op("&").Id(s.names.Reader).Add(lines(fields...)))
	})
}

// readerMethods declares the methods that every reader has.
func (s *schemaFile) readerMethods() jen.Code {
	series, several := jen.Id(s.names.Series), jen.Index().Id(s.names.Series)
	seq := []jen.Code{s.eventSeq()}
	return s.methods("r", s.names.Reader, "EventReader", []method{
		{"Read", "yields the events of a series with from <= time < to, in order of time", []param{ctx(), {"series", series, false}, ofTime("from"), ofTime("to"), s.opts("ReadOptions")}, seq},
		{"ReadColumns", "appends the events of Read to columns", []param{ctx(), {"series", series, false}, ofTime("from"), ofTime("to"), {"columns", jen.Op("*").Id(s.names.Columns), false}, s.opts("ReadOptions")}, []jen.Code{jen.Error()}},
		{"ReadMany", "yields the events of several series with from <= time < to, by series", []param{ctx(), {"series", several, false}, ofTime("from"), ofTime("to"), s.opts("ReadOptions")}, seq},
		{"Latest", "returns the newest event of a series, or store.ErrNotFound", []param{ctx(), {"series", series, false}}, []jen.Code{jen.Id(s.names.Event), jen.Error()}},
		{"LatestMany", "yields the newest event of each of several series that has any", []param{ctx(), {"series", several, false}}, seq},
	})
}

// holds describes how much of a table a reader has in memory.
func holds(t *layout.Table) string {
	if t.Endless() {
		return "one row"
	}
	if t.Pattern.Bucketed() {
		return "one bucket"
	}
	return "one event"
}

// setup declares the setup function.
func (s *schemaFile) setup() jen.Code {
	return gocode.Doc(
		fmt.Sprintf("%s reconciles %s with the schema; see setup.Setup.", s.names.Setup, s.tableList()),
	).Add(notInlined()).
		Func().Id(s.names.Setup).
		Params(ctxParam(), jen.Id("admin").Add(s.runtimeSetup("Admin")), s.clientParam(), jen.Id("opts").Op("...").Add(s.runtimeSetup("Options"))).
		Params(s.runtimeSetup("Plan"), jen.Error()).Block(
		jen.Return(s.runtimeSetup("Setup").Call(
			jen.Id("ctx"), jen.Id("admin"), jen.Id("client"), s.store("Tables").Call(jen.Id(s.names.Mappings)), jen.Id("opts").Op("..."),
		)),
	)
}

// backfill declares the function that copies events between tables:
//
//	func BackfillBalloon(ctx context.Context, client store.Client, opts ...store.BackfillOptions) (store.BackfillReport, error)
func (s *schemaFile) backfill() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s copies events from one table to another, by default to the one with serves: false, or compares them; see store.Backfill.", s.names.Backfill)).Add(notInlined()).
		Func().Id(s.names.Backfill).
		Params(ctxParam(), s.clientParam(), s.optsParam("BackfillOptions")).
		Params(s.store("BackfillReport"), jen.Error()).Block(
		jen.Return(s.store("Backfill").Call(jen.Id("ctx"), jen.Id("client"), jen.Id(s.names.Mappings), jen.Id("opts").Op("..."))),
	)
}

// mappings declares the list of the mappings to all tables.
func (s *schemaFile) mappings() jen.Code {
	return jen.Var().Id(s.names.Mappings).Op("=").Index().Op("*").Add(s.store("Mapping")).Types(jen.Id(s.names.Event)).
		ValuesFunc(func(g *jen.Group) {
			for _, t := range s.layout.Tables {
				g.Id(s.names.Table(t).Mapping)
			}
		})
}
