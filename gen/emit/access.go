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

// seqOf is the type of an iterator over values of a type and errors, and eventSeq one over events.
func (s *schemaFile) seqOf(typ jen.Code) *jen.Statement {
	return jen.Qual("iter", "Seq2").Types(typ, jen.Error())
}
func (s *schemaFile) eventSeq() *jen.Statement { return s.seqOf(jen.Id(s.names.Event)) }

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

// function is a function or a method whose body is one call.
type function struct {
	name, doc string
	see       string // what package store says about it, and about its errors; empty if doc is the whole comment
	params    []param
	results   []jen.Code
	call      jen.Code                           // what it calls with the arguments of its parameters
	result    func(call jen.Code) *jen.Statement // what it returns of the call; nil for all
	wide      bool                               // the body is on a line of its own
}

// param is a parameter, and what is passed on for it. Either may be missing.
type param struct{ declared, passed []jen.Code }

// given returns a parameter that is passed on.
func given(name string, typ jen.Code) param { return passing(jen.Id(name).Add(typ), jen.Id(name)) }

// passing returns a parameter, and what is passed on for it.
func passing(declared, passed jen.Code) param { return param{[]jen.Code{declared}, []jen.Code{passed}} }

// passed returns an argument that is no parameter.
func passed(name string) param { return param{passed: []jen.Code{jen.Id(name)}} }

// functions declares functions or, with a receiver, methods of a type.
func (s *schemaFile) functions(receiver, typ string, all ...function) jen.Code {
	out := jen.Null()
	for i, f := range all {
		if i > 0 {
			out.Line().Line()
		}
		var params, args []jen.Code
		for _, p := range f.params {
			params, args = append(params, p.declared...), append(args, p.passed...)
		}
		text := f.doc
		if f.see != "" {
			text = fmt.Sprintf("%s %s; see store.%s.", f.name, f.doc, f.see)
		}
		call := jen.Add(f.call).Call(args...)
		if f.result != nil {
			call = f.result(call)
		}
		body := oneLine(jen.Return(call))
		if f.wide {
			body = jen.Block(jen.Return(call))
		}
		out.Add(gocode.Doc(text)).Line().Func()
		if receiver != "" {
			out.Params(jen.Id(receiver).Op("*").Id(typ))
		}
		out.Id(f.name).Params(params...).Params(f.results...).Add(body)
	}
	return out
}

// ctx, client, opts, times, event, events and series return parameters of many functions.
func ctx() param { return given("ctx", jen.Qual("context", "Context")) }
func (s *schemaFile) client() param {
	return given("client", s.store("Client"))
}
func (s *schemaFile) opts(kind string) param { return optsOf(s.store(kind)) }
func optsOf(typ jen.Code) param {
	return passing(jen.Id("opts").Op("...").Add(typ), jen.Id("opts").Op("..."))
}
func times() param {
	names := []jen.Code{jen.Id("from"), jen.Id("to")}
	return param{[]jen.Code{jen.List(names...).Qual("time", "Time")}, names}
}
func (s *schemaFile) event(name string) param {
	return passing(jen.Id(name).Id(s.names.Event), jen.Op("&").Id(name))
}
func (s *schemaFile) events() param {
	return passing(jen.Id("events").Index().Id(s.names.Event), s.store("ListOf").Call(jen.Id("events")))
}
func (s *schemaFile) series() param {
	return s.oneSeries(s.store("SeriesOf").Call(jen.Id(s.names.Base).Call(jen.Id("series"))))
}

// oneSeries and several return the parameter for one and for several series. passed is what is passed on.
func (s *schemaFile) oneSeries(passed jen.Code) param {
	return passing(jen.Id("series").Id(s.names.Series), passed)
}
func (s *schemaFile) several(passed jen.Code) param {
	return passing(jen.Id("series").Index().Id(s.names.Series), passed)
}

// writerMethods declares the methods that every writer has.
func (s *schemaFile) writerMethods() jen.Code {
	writer := func(method string) jen.Code { return s.writer().Dot(method) }
	failed, deleted := []jen.Code{jen.Error()}, []jen.Code{s.store("Deletion"), jen.Error()}
	return s.functions("w", s.names.Writer,
		function{"Write", "stores one event; the error is a *store.WriteError", "Writer.WriteAll", []param{ctx(), s.event("event"), s.opts("WriteOptions")}, failed, writer("Write"), nil, false},
		function{"WriteAll", "stores events in any order; a *store.WriteError names each one that is not stored", "Writer.WriteAll", []param{ctx(), s.events(), s.opts("WriteOptions")}, failed, writer("WriteAll"), nil, false},
		function{"Delete", "deletes events from all tables, by their " + s.place(), "Writer.Delete", []param{ctx(), s.events(), s.opts("DeleteOptions")}, deleted, writer("Delete"), nil, false},
		function{"DeleteRange", "deletes the events of a series with from <= time < to from all tables", "Writer.DeleteRange", []param{ctx(), s.series(), times(), s.opts("DeleteOptions")}, deleted, writer("DeleteRange"), nil, false},
		function{"DeleteSeries", "deletes all events of a series from all tables", "Writer.DeleteAll", []param{ctx(), s.series(), s.opts("DeleteOptions")}, deleted, writer("DeleteAll"), nil, false},
		function{"Replace", "stores an event in place of another one", "Writer.Replace", []param{ctx(), s.event("old"), s.event("updated"), s.opts("WriteOptions")}, failed, writer("Replace"), nil, false},
	)
}

// newWriter declares the writer's constructor.
func (s *schemaFile) newWriter() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s returns a writer; client is usually a *bigtable.Client.", s.names.NewWriter)).Line().
		Func().Id(s.names.NewWriter).Params(append(s.client().declared, s.opts("WriterOptions").declared...)...).Op("*").Id(s.names.Writer).Block(
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
	return s.functions("b", s.names.Batcher,
		function{"Add", "queues a copy of an event, and blocks while the batcher is full", "Batcher.Add", []param{ctx(), s.event("event")}, failed, batcher("Add"), nil, false},
		function{"Flush", "sends the queued events and waits for them; the error is a *store.BatchError", "Batcher.Flush", []param{ctx()}, failed, batcher("Flush"), nil, false},
		function{"Close", "flushes, then rejects further events", "Batcher.Close", []param{ctx()}, failed, batcher("Close"), nil, false},
		function{"Stats", "returns the number and the age of the events that are not yet written", "Batcher.Stats", nil, []jen.Code{s.store("BatcherStats")}, batcher("Stats"), nil, false},
	)
}

// newBatcher declares the batcher's constructor.
func (s *schemaFile) newBatcher() jen.Code {
	return gocode.Doc(
		s.names.NewBatcher+" returns a batcher that writes through w; see store.NewBatcher.",
	).Line().
		Func().Id(s.names.NewBatcher).Params(
		jen.Id("w").Op("*").Id(s.names.Writer),
		jen.Id("failed").Func().Params(jen.Id("event").Id(s.names.Event), jen.Err().Error()),
		s.opts("BatcherOptions").declared[0],
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
		Type().Id(s.names.Reader).Struct(each(s.readTables(), func(_ int, t **layout.Table) jen.Code {
		return jen.Id(s.names.Table(*t).Reader).Op("*").Add(s.store("Reader"))
	})...)
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
		Func().Id(s.names.NewReader).Params(append(s.client().declared, s.opts("ReaderOptions").declared...)...).Op("*").Id(s.names.Reader).BlockFunc(func(g *jen.Group) {
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
	const windows = "Windows summarizes the events of a series with from <= time < to by windows of time, in order of time; see store.Reader.Windows."
	points := "Points returns the values of a number that a chart of n pixels shows, of the events of a series with from <= time < to; see store.Reader.Points."
	if s.layout.Read.Rolled() {
		points += " A rollup has no points: draw windows where events have expired."
	}
	reader := func(method string) jen.Code { return s.reader(s.layout.Read).Dot(method) }
	each := s.store("Each").Call(jen.Id("series"), jen.Id(s.names.Base))
	events := []jen.Code{s.eventSeq()}
	state := ""
	if s.layout.StateServes(nil) {
		state = ", from table " + s.layout.State.ID
	}
	return s.functions("r", s.names.Reader,
		function{"Read", "yields the events of a series with from <= time < to, in order of time", "Reader.Read", []param{ctx(), s.series(), times(), s.opts("ReadOptions")}, events, reader("Read"), s.resultEvents, false},
		function{"ReadMany", "yields the events of several series with from <= time < to, by series", "Query.Many", []param{ctx(), s.several(s.store("ManySeriesOf").Call(each)), times(), s.opts("ReadOptions")}, events, reader("Read"), s.resultEvents, false},
		function{"Latest", "returns the newest event of a series" + state + ", or store.ErrNotFound", "Reader.Latest", []param{ctx(), s.oneSeries(jen.Id(s.names.Base).Call(jen.Id("series")))}, []jen.Code{jen.Id(s.names.Event), jen.Error()}, reader("Latest"), s.resultEvent, false},
		function{"LatestMany", "yields the newest event of each of several series that has any" + state, "Reader.LatestMany", []param{ctx(), s.several(each)}, events, reader("LatestMany"), s.resultEvents, false},
		s.columnsOf("ReadColumns", "ReadColumns appends the events of Read to columns; see store.Reader.ReadColumns.", s.layout.Read, s.series()),
		s.windowsOf("Windows", withNote(windows, prose.Windows(s.layout.Read)), s.layout.Read, s.series()),
		s.pointsOf("Points", points, s.layout.Read, s.series(), "Points", nil, jen.Index().Add(s.window("Point")), jen.Error()),
	)
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

// setup declares the setup function, and those that copy data, if the schema needs them:
//
//	func SetupBalloon(ctx context.Context, admin setup.Admin, client store.Client, opts ...setup.Options) (setup.Plan, error)
//	func RollupBalloon(ctx context.Context, client store.Client, opts ...store.RollupOptions) (store.RollupReport, error)
//	func BackfillBalloon(ctx context.Context, client store.Client, opts ...store.BackfillOptions) (store.BackfillReport, error)
func (s *schemaFile) setup() jen.Code {
	tables := param{passed: []jen.Code{s.store("Tables").Call(jen.Id(s.names.Mappings))}}
	all := []function{{
		name: s.names.Setup, doc: fmt.Sprintf("%s reconciles %s with the schema; see setup.Setup.", s.names.Setup, tableList(s.layout.AllPeriods())), wide: true,
		params:  []param{ctx(), given("admin", s.runtimeSetup("Admin")), s.client(), tables, optsOf(s.runtimeSetup("Options"))},
		results: []jen.Code{s.runtimeSetup("Plan"), jen.Error()}, call: s.runtimeSetup("Setup"),
	}}
	if rollups := s.layout.Rollups(); s.names.Rollup != "" {
		all = append(all, function{
			name: s.names.Rollup, doc: fmt.Sprintf("summarizes the buckets of %s that have ended and have changed", tableList(rollups)), see: "Rollup", wide: true,
			params:  []param{ctx(), s.client(), passed(s.names.Mappings), passed(s.names.Table(rollups[0]).Columns), passed(s.names.Windows), s.opts("RollupOptions")},
			results: []jen.Code{s.store("RollupReport"), jen.Error()}, call: s.store("Rollup"),
		})
	}
	if s.names.Backfill != "" {
		all = append(all, function{
			name: s.names.Backfill, doc: "copies events from one table to another, by default to the one with serves: false, or compares them", see: "Backfill", wide: true,
			params:  []param{ctx(), s.client(), passed(s.names.Mappings), s.opts("BackfillOptions")},
			results: []jen.Code{s.store("BackfillReport"), jen.Error()}, call: s.store("Backfill"),
		})
	}
	return s.functions("", "", all...)
}

// mappings declares the list of the mappings to all tables.
func (s *schemaFile) mappings() jen.Code {
	return jen.Var().Id(s.names.Mappings).Op("=").Add(s.mappingsOf(s.layout.Tables))
}

// mappingsOf renders the mappings to tables.
func (s *schemaFile) mappingsOf(tables []*layout.Table) *jen.Statement {
	return jen.Index().Op("*").Add(s.store("Mapping")).Values(each(tables, func(_ int, t **layout.Table) jen.Code {
		return jen.Id(s.names.Table(*t).Mapping)
	})...)
}
