package emit

import (
	"fmt"
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

// writer and reader render what writes and what reads a table.
func (s *schemaFile) writer() *jen.Statement { return jen.Id("w").Dot("writer") }
func (s *schemaFile) reader(t *layout.Table) *jen.Statement {
	return jen.Id("r").Dot(s.names.Table(t).Reader)
}

// results renders the results of a call that reads, with their type.
func (s *schemaFile) results(typ *jen.Statement) func(call jen.Code) *jen.Statement {
	return func(call jen.Code) *jen.Statement { return s.store("ResultsOf").Types(typ).Call(call) }
}

// base declares the function that returns an event of a series, without any fields, as package store takes it:
//
//	func balloonBase(series BalloonSeries) any { return &BalloonEvent{BalloonSeries: series} }
func (s *schemaFile) base() jen.Code {
	return jen.Func().Id(s.names.Base).Params(jen.Id("series").Id(s.names.Series)).Any().Add(oneLine(
		jen.Return(jen.Op("&").Id(s.names.Event).Add(inline(field{s.names.Series, jen.Id("series")})))))
}

// baseOf renders an event of a series, the variable.
func (s *schemaFile) baseOf(series string) *jen.Statement {
	return jen.Id(s.names.Base).Call(jen.Id(series))
}

// resultEvents and resultEvent are results of events.
func (s *schemaFile) resultEvents(call jen.Code) *jen.Statement {
	return s.results(jen.Id(s.names.Event))(call)
}
func (s *schemaFile) resultEvent(call jen.Code) *jen.Statement {
	return s.store("ResultOf").Types(jen.Id(s.names.Event)).Call(call)
}

// writerType declares the writer:
//
//	type BalloonWriter struct { writer *store.Writer }
func (s *schemaFile) writerType() jen.Code {
	text := []string{fmt.Sprintf("%s writes %s events to %s. %s", s.names.Writer, s.layout.Name, s.destinations(), s.replaces())}
	if note := s.notIfAbsent(); note != "" {
		text = append(text, note)
	}
	return gocode.Doc(text...).Line().
		Type().Id(s.names.Writer).Struct(jen.Id("writer").Op("*").Add(s.store("Writer")))
}

// method is a method of every writer or reader.
type method struct {
	name, doc string
	see       string // what package store says about it, and about its errors
	params    []param
	results   []jen.Code
	call      jen.Code                           // what it calls with the values of its parameters
	result    func(call jen.Code) *jen.Statement // what it returns of the call; nil for all
}

// param is a parameter.
type param struct {
	name     string
	typ      *jen.Statement
	value    jen.Code // what is passed on; nil for the parameter
	variadic bool
}

// methods declares methods of a type, whose receiver is named.
func (s *schemaFile) methods(receiver, typ string, all []method) jen.Code {
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
			if p.value != nil {
				arg = jen.Add(p.value)
			}
			params, args = append(params, param.Add(p.typ)), append(args, arg)
		}
		out.Add(gocode.Doc(fmt.Sprintf("%s %s; see store.%s.", m.name, m.doc, m.see))).Line().
			Func().Params(jen.Id(receiver).Op("*").Id(typ)).Id(m.name).Params(params...).Params(m.results...).
			Add(oneLine(jen.Return(m.returns(jen.Add(m.call).Call(args...)))))
	}
	return out
}

// returns renders what the method returns of a call.
func (m *method) returns(call *jen.Statement) *jen.Statement {
	if m.result == nil {
		return call
	}
	return m.result(call)
}

// ctx, opts, times, event, events and series return parameters of many methods.
func ctx() param { return param{name: "ctx", typ: jen.Qual("context", "Context")} }
func (s *schemaFile) opts(kind string) param {
	return param{name: "opts", typ: s.store(kind), variadic: true}
}
func times() param { return param{name: "from, to", typ: jen.Qual("time", "Time")} }
func (s *schemaFile) event(name string) param {
	return param{name: name, typ: jen.Id(s.names.Event), value: jen.Op("&").Id(name)}
}
func (s *schemaFile) events() param {
	return param{name: "events", typ: jen.Index().Id(s.names.Event), value: s.store("ListOf").Call(jen.Id("events"))}
}
func (s *schemaFile) series() param {
	return param{name: "series", typ: jen.Id(s.names.Series), value: s.oneSeries()}
}

// several returns the parameter for several series. value is what is passed on.
func (s *schemaFile) several(value jen.Code) param {
	return param{name: "series", typ: jen.Index().Id(s.names.Series), value: value}
}

// writerMethods declares the methods that every writer has.
func (s *schemaFile) writerMethods() jen.Code {
	writer := func(method string) jen.Code { return s.writer().Dot(method) }
	failed, deleted := []jen.Code{jen.Error()}, []jen.Code{s.store("Deletion"), jen.Error()}
	return s.methods("w", s.names.Writer, []method{
		{"Write", "stores one event; the error is a *store.WriteError", "Writer.WriteAll", []param{ctx(), s.event("event"), s.opts("WriteOptions")}, failed, writer("Write"), nil},
		{"WriteAll", "stores events in any order; a *store.WriteError names each one that is not stored", "Writer.WriteAll", []param{ctx(), s.events(), s.opts("WriteOptions")}, failed, writer("WriteAll"), nil},
		{"Delete", "deletes events from all tables, by their " + s.place(), "Writer.Delete", []param{ctx(), s.events(), s.opts("DeleteOptions")}, deleted, writer("Delete"), nil},
		{"DeleteRange", "deletes the events of a series with from <= time < to from all tables", "Writer.DeleteRange", []param{ctx(), s.series(), times(), s.opts("DeleteOptions")}, deleted, writer("DeleteRange"), nil},
		{"DeleteSeries", "deletes all events of a series from all tables", "Writer.DeleteAll", []param{ctx(), s.series(), s.opts("DeleteOptions")}, deleted, writer("DeleteAll"), nil},
		{"Replace", "stores an event in place of another one", "Writer.Replace", []param{ctx(), s.event("old"), s.event("updated"), s.opts("WriteOptions")}, failed, writer("Replace"), nil},
	})
}

// newWriter declares the writer's constructor.
func (s *schemaFile) newWriter() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s returns a writer; client is usually a *bigtable.Client.", s.names.NewWriter)).Line().
		Func().Id(s.names.NewWriter).Params(s.clientParam(), s.optsParam("WriterOptions")).Op("*").Id(s.names.Writer).Block(
		jen.Return(jen.Op("&").Id(s.names.Writer).Values(
			s.store("NewWriter").Call(jen.Id("client"), jen.Id(s.names.Mappings), jen.Id("opts").Op("...")),
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
	}
	return ""
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
//	type BalloonBatcher struct { batcher *store.Batcher }
func (s *schemaFile) batcherType() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s gathers %s events from any number of goroutines and writes them in batches; see store.Batcher.", s.names.Batcher, s.layout.Name)).Line().
		Type().Id(s.names.Batcher).Struct(jen.Id("batcher").Op("*").Add(s.store("Batcher")))
}

// batcherMethods declares the methods that every batcher has.
func (s *schemaFile) batcherMethods() jen.Code {
	batcher := func(method string) jen.Code { return jen.Id("b").Dot("batcher").Dot(method) }
	failed := []jen.Code{jen.Error()}
	return s.methods("b", s.names.Batcher, []method{
		{"Add", "queues a copy of an event, and blocks while the batcher is full", "Batcher.Add", []param{ctx(), s.event("event")}, failed, batcher("Add"), nil},
		{"Flush", "sends the queued events and waits for them; the error is a *store.BatchError", "Batcher.Flush", []param{ctx()}, failed, batcher("Flush"), nil},
		{"Close", "flushes, then rejects further events", "Batcher.Close", []param{ctx()}, failed, batcher("Close"), nil},
		{"Stats", "returns the number and the age of the events that are not yet written", "Batcher.Stats", nil, []jen.Code{s.store("BatcherStats")}, batcher("Stats"), nil},
	})
}

// newBatcher declares the batcher's constructor.
func (s *schemaFile) newBatcher() jen.Code {
	return gocode.Doc(
		s.names.NewBatcher+" returns a batcher that writes through w; see store.NewBatcher.",
	).Line().
		Func().Id(s.names.NewBatcher).Params(
		jen.Id("w").Op("*").Id(s.names.Writer),
		jen.Id("failed").Func().Params(jen.Id("event").Id(s.names.Event), jen.Err().Error()),
		s.optsParam("BatcherOptions"),
	).Op("*").Id(s.names.Batcher).Block(
		jen.If(jen.Id("w").Op("==").Nil()).Block(jen.Id("w").Op("=").New(jen.Id(s.names.Writer))),
		jen.Return(jen.Op("&").Id(s.names.Batcher).Values(
			s.store("NewBatcher").Call(s.writer(), s.store("FailedOf").Call(jen.Id("failed")), jen.Id("opts").Op("...")),
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
//	type BalloonReader struct { reader *store.Reader }
func (s *schemaFile) readerType() jen.Code {
	text := fmt.Sprintf("%s reads %s events from table %s%s. Read holds %s in memory at a time.", s.names.Reader, s.layout.Name, s.layout.Read.ID, olderTables(s.layout.Read, "from"), holds(s.layout.Read))
	if s.layout.Read.Metrics() {
		text += " The table is append-only: if a field has several values at the same time, Read yields that many events, ordered by their stored values."
	}
	return gocode.Doc(text).Line().
		Type().Id(s.names.Reader).StructFunc(func(g *jen.Group) {
		for _, t := range s.readTables() {
			g.Id(s.names.Table(t).Reader).Op("*").Add(s.store("Reader"))
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
	return gocode.Doc(fmt.Sprintf("%s returns a reader; client is usually a *bigtable.Client.", s.names.NewReader)).Line().
		Func().Id(s.names.NewReader).Params(s.clientParam(), s.optsParam("ReaderOptions")).Op("*").Id(s.names.Reader).BlockFunc(func(g *jen.Group) {
		var fields []field
		for _, t := range s.readTables() {
			fields = append(fields, field{s.names.Table(t).Reader, s.store("NewReader").Call(jen.Id("client"), jen.Id(s.names.Table(t).Mapping), jen.Id("opts").Op("..."))})
		}
		if len(fields) == 1 {
			g.Return(jen.Op("&").Id(s.names.Reader).Values(fields[0].value))
			return
		}
		g.Return(jen.Op("&").Id(s.names.Reader).Add(lines(fields...)))
	})
}

// readerMethods declares the methods that every reader has.
func (s *schemaFile) readerMethods() jen.Code {
	reader := func(method string) jen.Code { return s.reader(s.layout.Read).Dot(method) }
	each := s.store("Each").Call(jen.Id("series"), jen.Id(s.names.Base))
	events := []jen.Code{s.eventSeq()}
	state := ""
	if s.layout.StateServes(nil) {
		state = ", from table " + s.layout.State.ID
	}
	return s.methods("r", s.names.Reader, []method{
		{"Read", "yields the events of a series with from <= time < to, in order of time", "Reader.Read", []param{ctx(), s.series(), times(), s.opts("ReadOptions")}, events, reader("Read"), s.resultEvents},
		{"ReadMany", "yields the events of several series with from <= time < to, by series", "Query.Many", []param{ctx(), s.several(s.store("ManySeriesOf").Call(each)), times(), s.opts("ReadOptions")}, events, reader("Read"), s.resultEvents},
		{"Latest", "returns the newest event of a series" + state + ", or store.ErrNotFound", "Reader.Latest", []param{ctx(), {name: "series", typ: jen.Id(s.names.Series), value: s.baseOf("series")}}, []jen.Code{jen.Id(s.names.Event), jen.Error()}, reader("Latest"), s.resultEvent},
		{"LatestMany", "yields the newest event of each of several series that has any" + state, "Reader.LatestMany", []param{ctx(), s.several(each)}, events, reader("LatestMany"), s.resultEvents},
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
		fmt.Sprintf("%s reconciles %s with the schema; see setup.Setup.", s.names.Setup, tableList(s.layout.AllPeriods())),
	).Line().
		Func().Id(s.names.Setup).
		Params(ctxParam(), jen.Id("admin").Add(s.runtimeSetup("Admin")), s.clientParam(), jen.Id("opts").Op("...").Add(s.runtimeSetup("Options"))).
		Params(s.runtimeSetup("Plan"), jen.Error()).Block(
		jen.Return(s.runtimeSetup("Setup").Call(
			jen.Id("ctx"), jen.Id("admin"), jen.Id("client"), s.store("Tables").Call(jen.Id(s.names.Mappings)), jen.Id("opts").Op("..."),
		)),
	)
}

// rollup declares the function that summarizes buckets:
//
//	func RollupBalloon(ctx context.Context, client store.Client, opts ...store.RollupOptions) (store.RollupReport, error)
func (s *schemaFile) rollup() jen.Code {
	rollups := s.layout.Rollups()
	return gocode.Doc(fmt.Sprintf("%s summarizes the buckets of %s that have ended and have changed; see store.Rollup.", s.names.Rollup, tableList(rollups))).Line().
		Func().Id(s.names.Rollup).
		Params(ctxParam(), s.clientParam(), s.optsParam("RollupOptions")).
		Params(s.store("RollupReport"), jen.Error()).Block(
		jen.Return(s.store("Rollup").Call(
			jen.Id("ctx"), jen.Id("client"), jen.Id(s.names.Mappings), jen.Id(s.names.Table(rollups[0]).Columns), jen.Id(s.names.Windows), jen.Id("opts").Op("..."),
		)),
	)
}

// backfill declares the function that copies events between tables:
//
//	func BackfillBalloon(ctx context.Context, client store.Client, opts ...store.BackfillOptions) (store.BackfillReport, error)
func (s *schemaFile) backfill() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s copies events from one table to another, by default to the one with serves: false, or compares them; see store.Backfill.", s.names.Backfill)).Line().
		Func().Id(s.names.Backfill).
		Params(ctxParam(), s.clientParam(), s.optsParam("BackfillOptions")).
		Params(s.store("BackfillReport"), jen.Error()).Block(
		jen.Return(s.store("Backfill").Call(jen.Id("ctx"), jen.Id("client"), jen.Id(s.names.Mappings), jen.Id("opts").Op("..."))),
	)
}

// mappings declares the list of the mappings to all tables.
func (s *schemaFile) mappings() jen.Code {
	return jen.Var().Id(s.names.Mappings).Op("=").Index().Op("*").Add(s.store("Mapping")).
		ValuesFunc(func(g *jen.Group) {
			for _, t := range s.layout.Tables {
				g.Id(s.names.Table(t).Mapping)
			}
		})
}
