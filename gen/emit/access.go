package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
)

// ctxParam is the first parameter of every call that may wait.
func ctxParam() *jen.Statement { return jen.Id("ctx").Qual("context", "Context") }

// optsParam is the last parameter of every constructor.
func optsParam() *jen.Statement { return jen.Id("opts").Op("...").Id("Options") }

// writeOptsParam is the last parameter of every write.
func writeOptsParam() *jen.Statement { return jen.Id("opts").Op("...").Id("WriteOptions") }

// readOptsParam is the last parameter of every read.
func readOptsParam() *jen.Statement { return jen.Id("opts").Op("...").Id("ReadOptions") }

// eventSeq is iter.Seq2[Event, error].
func (s *schemaFile) eventSeq() *jen.Statement {
	return jen.Qual("iter", "Seq2").Types(jen.Id(s.names.event()), jen.Error())
}

// notInlined ends the comment of a function that calls generic ones: inlined, it would
// have them compiled again in each package that calls it.
func notInlined() *jen.Statement {
	return jen.Line().Comment("//").Line().Comment("//go:noinline").Line()
}

// writerType declares the writer:
//
//	type BalloonWriter struct { writer store.WriterOf[BalloonEvent] }
func (s *schemaFile) writerType() jen.Code {
	return doc(fmt.Sprintf("%s writes %s events to %s. It is safe for use by several goroutines.", s.names.writer(), s.layout.Name, s.tableList())).Line().
		Type().Id(s.names.writer()).Struct(
		jen.Id("writer").Add(s.store("WriterOf")).Types(jen.Id(s.names.event())),
	)
}

// newWriter declares the writer's constructor.
func (s *schemaFile) newWriter() jen.Code {
	return doc(fmt.Sprintf("%s returns a writer; client is a *bigtable.Client, or stands in for one.", s.names.newWriter())).Add(notInlined()).
		Func().Id(s.names.newWriter()).Params(jen.Id("client").Id("Client"), optsParam()).Op("*").Id(s.names.writer()).Block(
		jen.Return(jen.Op("&").Id(s.names.writer()).Values(
			s.store("NewWriter").Call(jen.Id("client"), jen.Id(s.names.layouts()), jen.Id("opts").Op("...")),
		)),
	)
}

// replaces says what writing an event again does.
func (s *schemaFile) replaces() string {
	var appendOnly []string
	for _, t := range s.layout.Tables {
		if t.Metrics() {
			appendOnly = append(appendOnly, t.ID)
		}
	}
	switch len(appendOnly) {
	case 0:
		return "Writing an event again replaces it whole, so that a failed call is safe to repeat."
	default:
		return "Writing the same event again changes nothing, so that a failed call is safe to repeat. " +
			"Table " + strings.Join(appendOnly, ", ") + " is append-only: an event of the same time with other values does not replace the first one; both are read back."
	}
}

// write declares the Write method.
func (s *schemaFile) write() jen.Code {
	return doc(
		"Write stores one event. Each row that it goes to is written atomically.",
		s.replaces(),
		s.ifAbsent(),
		"It returns nil or a *WriteError.",
	).Line().
		Func().Params(jen.Id("w").Op("*").Id(s.names.writer())).Id("Write").
		Params(ctxParam(), jen.Id("event").Id(s.names.event()), writeOptsParam()).Error().Block(
		jen.Return(jen.Id("w").Dot("writer").Dot("Write").Call(jen.Id("ctx"), jen.Id("event"), jen.Id("opts").Op("..."))),
	)
}

// writeAll declares the WriteAll method.
func (s *schemaFile) writeAll() jen.Code {
	return doc(
		"WriteAll stores events, in any order, those of one row in one mutation. It"+
			" returns nil when all are stored, and a *WriteError that names each event that"+
			" is not; all others are then durable. "+s.duplicates(),
	).Line().
		Func().Params(jen.Id("w").Op("*").Id(s.names.writer())).Id("WriteAll").
		Params(ctxParam(), jen.Id("events").Index().Id(s.names.event()), writeOptsParam()).Error().Block(
		jen.Return(jen.Id("w").Dot("writer").Dot("WriteAll").Call(jen.Id("ctx"), jen.Id("events"), jen.Id("opts").Op("..."))),
	)
}

// ifAbsent says whether an event can be written if it is absent.
func (s *schemaFile) ifAbsent() string {
	for _, t := range s.layout.Tables {
		if t.Metrics() && len(t.Columns) > 1 {
			return fmt.Sprintf("WriteOptions.IfAbsent is refused with ErrSeveralRows: in table %s, %s, an event is a row for each field, which Bigtable cannot check and write at once.", t.ID, t.Pattern)
		}
	}
	return "With WriteOptions.IfAbsent it stores the event only if there is none of its " + s.place() + "; else the Failure has the outcome Exists."
}

// duplicates says what becomes of events that are stored in one place.
func (s *schemaFile) duplicates() string {
	if slices.ContainsFunc(s.layout.Tables, func(t *layout.Table) bool { return !t.Metrics() || len(t.Columns) > 1 }) {
		return "An event that has the " + s.place() + " of an earlier one of the call, but other values, is refused with a *DuplicateError, unless WriteOptions.LastWins is set."
	}
	return "Events of one " + s.place() + " with different values are all stored."
}

// place is what tells the events of the schema apart.
func (s *schemaFile) place() string {
	if s.layout.Sequence {
		return "series, time and sequence"
	}
	return "series and time"
}

// batcherType declares the batcher:
//
//	type BalloonBatcher struct { batcher store.BatcherOf[BalloonEvent] }
func (s *schemaFile) batcherType() jen.Code {
	return doc(fmt.Sprintf("%s gathers %s events from any number of goroutines, and writes them together when there are enough of them or they have waited long enough. Its memory is bounded, but for failures that are being reported. Every event that it takes is written, or reported as one that is not.", s.names.batcher(), s.layout.Name)).Line().
		Type().Id(s.names.batcher()).Struct(
		jen.Id("batcher").Add(s.store("BatcherOf")).Types(jen.Id(s.names.event())),
	)
}

// newBatcher declares the batcher's constructor.
func (s *schemaFile) newBatcher() jen.Code {
	return doc(
		s.names.newBatcher()+" returns a batcher that writes through w. With each event that is not written failed is called, once, from a goroutine of the batcher, with the *WriteError that Write would return. It may add the event again, but not call Flush or Close, which wait for it, and should be quick: others are written meanwhile, and their failures wait in memory. It may be nil.",
	).Add(notInlined()).
		Func().Id(s.names.newBatcher()).Params(
		jen.Id("w").Op("*").Id(s.names.writer()),
		jen.Id("failed").Func().Params(jen.Id("event").Id(s.names.event()), jen.Err().Error()),
		jen.Id("opts").Op("...").Id("BatcherOptions"),
	).Op("*").Id(s.names.batcher()).Block(
		jen.Return(jen.Op("&").Id(s.names.batcher()).Values(
			s.store("NewBatcher").Call(jen.Id("w").Dot("writer"), jen.Id("failed"), jen.Id("opts").Op("...")),
		)),
	)
}

// batcherMethod begins a method of the batcher.
func (s *schemaFile) batcherMethod(name string, text ...string) *jen.Statement {
	return doc(text...).Line().Func().Params(jen.Id("b").Op("*").Id(s.names.batcher())).Id(name)
}

// batcherAdd declares the Add method of the batcher.
func (s *schemaFile) batcherAdd() jen.Code {
	return s.batcherMethod("Add",
		"Add takes a copy of an event, to be written soon, and waits while there is no room, until ctx ends. An event that is refused for what it is gives the *WriteError that Write would return, and after Close the error is ErrClosed. "+s.batchDuplicates(),
	).Params(ctxParam(), jen.Id("event").Id(s.names.event())).Error().Block(
		jen.Return(jen.Id("b").Dot("batcher").Dot("Add").Call(jen.Id("ctx"), jen.Id("event"))),
	)
}

// batchDuplicates says of which events a batcher finds out that they differ.
func (s *schemaFile) batchDuplicates() string {
	return "WriteAll's comparison of events of one " + s.place() + " is made within a batch; events of different batches replace each other."
}

// batcherWait declares the Flush or the Close method of the batcher.
func (s *schemaFile) batcherWait(name string) jen.Code {
	text := "Flush sends what was added, and waits until all of it is written or reported. It returns a *BatchError if there were failures since it was last called, or why ctx ended; what was added is then still on its way."
	if name == "Close" {
		text = "Close is Flush, and lets no events in any more. It may be called again."
	}
	return s.batcherMethod(name, text).Params(ctxParam()).Error().Block(
		jen.Return(jen.Id("b").Dot("batcher").Dot(name).Call(jen.Id("ctx"))),
	)
}

// readerType declares the reader.
func (s *schemaFile) readerType() jen.Code {
	return doc(fmt.Sprintf("%s reads %s events, those of a series from table %s. It never returns one that is past its time to live. It is safe for use by several goroutines.", s.names.reader(), s.layout.Name, s.layout.Read.ID)).Line().
		Type().Id(s.names.reader()).StructFunc(func(g *jen.Group) {
		reader := func() *jen.Statement { return s.store("ReaderOf").Types(jen.Id(s.names.event())) }
		g.Id("reader").Add(reader())
		for _, t := range s.queryTables() {
			g.Id(s.readerOf(t)).Add(reader())
		}
	})
}

// newReader declares the reader's constructor.
func (s *schemaFile) newReader() jen.Code {
	return doc(fmt.Sprintf("%s returns a reader; client is a *bigtable.Client, or stands in for one.", s.names.newReader())).Add(notInlined()).
		Func().Id(s.names.newReader()).Params(jen.Id("client").Id("Client"), optsParam()).Op("*").Id(s.names.reader()).Block(
		jen.Return(jen.Op("&").Id(s.names.reader()).Add(s.readers())),
	)
}

// readers are the fields of the reader.
func (s *schemaFile) readers() *jen.Statement {
	reader := func(t *layout.Table) *jen.Statement {
		return s.store("NewReader").Call(jen.Id("client"), jen.Id(s.names.layout(t)), jen.Id("opts").Op("..."))
	}
	tables := s.queryTables()
	if len(tables) == 0 {
		return jen.Values(reader(s.layout.Read))
	}
	fields := []field{{"reader", reader(s.layout.Read)}}
	for _, t := range tables {
		fields = append(fields, field{s.readerOf(t), reader(t)})
	}
	return lines(fields...)
}

// seriesEvent is an event with its series alone.
func (s *schemaFile) seriesEvent() *jen.Statement {
	return jen.Id(s.names.event()).Values(jen.Id(s.names.series()).Op(":").Id("series"))
}

// read declares the Read method.
func (s *schemaFile) read() jen.Code {
	text := []string{
		"Read yields the events of a series with from <= time < to, in the order of time, and holds " + holds(s.layout.Read) +
			" in memory at a time. A zero from is before all events; a from after to, or a zero to, is a *RangeError." +
			" An event that does not decode is yielded as far as it was understood, with a *DecodeError, and the loop may go on; any other error is the last thing yielded.",
	}
	if s.layout.Read.Metrics() {
		text = append(text, "", "The table is append-only: where a field has several values at one time, there",
			"are as many events of that time, in the order of their stored values.")
	}
	return doc(text...).Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.reader())).Id("Read").
		Params(ctxParam(), jen.Id("series").Id(s.names.series()), jen.List(jen.Id("from"), jen.Id("to")).Qual("time", "Time"), readOptsParam()).
		Add(s.eventSeq()).Block(
		jen.Return(jen.Id("r").Dot("reader").Dot("Read").Call(jen.Id("ctx"), s.seriesEvent(), jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("..."))),
	)
}

// holds says how much of a table a reader has in memory.
func holds(t *layout.Table) string {
	if t.Pattern.Bucketed() {
		return "one bucket"
	}
	return "one event"
}

// latest declares the Latest method.
func (s *schemaFile) latest() jen.Code {
	return doc("Latest returns the newest event of a series, or ErrNotFound.").Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.reader())).Id("Latest").
		Params(ctxParam(), jen.Id("series").Id(s.names.series())).
		Params(jen.Id(s.names.event()), jen.Error()).Block(
		jen.Return(jen.Id("r").Dot("reader").Dot("Latest").Call(jen.Id("ctx"), s.seriesEvent())),
	)
}

// setup declares the set-up function.
func (s *schemaFile) setup() jen.Code {
	return doc(
		fmt.Sprintf("%s makes %s what the schema says and returns what it did;", s.names.setup(), s.tableList()),
		"a second call changes nothing. A change that may delete data is refused with",
		"a *RefusedError, and nothing is changed, unless Options.Allow names it. With",
		"Options.DryRun it returns what it would do.",
	).Add(notInlined()).
		Func().Id(s.names.setup()).
		Params(ctxParam(), jen.Id("admin").Id("Admin"), optsParam()).
		Params(jen.Id("Plan"), jen.Error()).Block(
		jen.Return(s.store("Setup").Call(
			jen.Id("ctx"), jen.Id("admin"), s.store("Tables").Call(jen.Id(s.names.layouts())), jen.Id("opts").Op("..."),
		)),
	)
}

// layouts declares the list of all tables' layouts.
func (s *schemaFile) layouts() jen.Code {
	return doc(fmt.Sprintf("%s says how events lie in each table that they are written to.", s.names.layouts())).Line().
		Var().Id(s.names.layouts()).Op("=").Index().Op("*").Add(s.store("Layout")).Types(jen.Id(s.names.event())).
		ValuesFunc(func(g *jen.Group) {
			for _, t := range s.layout.Tables {
				g.Id(s.names.layout(t))
			}
		})
}
