// Package store writes events to Bigtable and reads them; package setup creates their tables.
// Generated code describes in a [Mapping] how its events are stored; everything that is
// the same for all schemas is in this package: one mutation per row, requests within
// Bigtable's limits, deadlines, errors that name each event, row ranges, filters that
// mirror garbage collection, and the assembly of events from cells.
//
//   - [Writer.Write] and [Writer.WriteAll] store events; a [Batcher] gathers them first.
//   - [Reader.Read] and [Reader.Latest] return events.
//
// Generated packages wrap these in schema-specific types. The package uses only the
// official client, through [bigtable.TableAPI].
//
// An application uses the options ([ReaderOptions], [WriterOptions], [BatcherOptions],
// [ReadOptions], [WriteOptions], [DeleteOptions], [ClientOptions]), [Hooks],
// [AppendWindows], and the errors. The following names are for generated code, which declares the
// layout of a schema with them, and change with the generator:
//
//   - the layout: [Mapping], [NewMapping], [Query], [Selection], [TTLFields]
//   - its columns: [Columns], [NewColumns], [Column], [Field], [Older], [Was], [Required],
//     [Part] and the functions that return one
//   - what it wraps: [NewReader], [NewWriter], [NewBatcher] and what they return, [Tables]; events go in as pointers, and as
//     a [List], and come out as [Results], so that the compiler sees a type of events in a few functions only
//
// # Layers
//
// The files form layers, which TestLayers lists and checks. From the top, each calls only itself
// and those below it:
//
//   - moving: backfills with checkpoints, rollups, and digests of events
//   - deleting: deletions, and what generated readers and writers call
//   - reading: readers, pages, and scanners of whole tables
//   - writing: writers and batchers
//   - rows: mappings, and events as the cells of rows
//   - clients: options, hooks and errors
//
// Below are packages: request sends the requests of reads, frame groups the cells of rows and aligns them as events, batch divides
// mutations among requests, job runs long calls, and checkpoint keeps their progress.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Client opens tables. *bigtable.Client implements it, [AuthorizedViews] returns one that uses
// authorized views, and a test may use a wrapper or a fake.
type Client interface {
	OpenTable(table string) bigtable.TableAPI
}

// NewClient makes a client for an instance, with [ClientOptions], which can only be given when a client is made. Its errors
// are those of [bigtable.NewClientWithConfig].
func NewClient(ctx context.Context, project, instance string, config bigtable.ClientConfig, opts ...option.ClientOption) (*bigtable.Client, error) {
	return bigtable.NewClientWithConfig(ctx, project, instance, config, append(ClientOptions(), opts...)...)
}

// ClientOptions returns options for [bigtable.NewClient] that make reads and writes
// cheaper: the Reader decodes cells, and the Writer encodes bulk requests, directly in
// wire format, and the client processes only what it needs for retries. The results are
// the same, and other calls of the client are not affected. The options have no effect
// on a client that is given a connection, for example by BIGTABLE_EMULATOR_HOST, or if
// the [Client] of a Reader or Writer is not a *bigtable.Client. With them, a [bigtable.AdminClient]
// tells package setup whether the granularity of a table is MICROS.
func ClientOptions() []option.ClientOption { return wire.ClientOptions() }

// Hooks are called at the start and the end of every operation, by the goroutine that
// executes it. Either may be nil.
type Hooks struct {
	// Start is called before the first request. The context that it returns is used for
	// the rest of the operation.
	Start func(ctx context.Context, op Operation) context.Context
	// End is called at the end of the operation with its statistics and error.
	End func(ctx context.Context, op Operation, err error)
}

// Operation is one call of a writer or a reader on one table.
type Operation struct {
	Name     string // the method, such as "WriteAll", or the name of a query
	Table    string // with its prefix; once a row of a table of codec.Latest has answered, or an earlier layout for Latest, that table
	Events   int    // events passed to a writer, deleted by it, or yielded by a reader
	Expired  int    // events that a writer skipped; see WriterOptions.SkipExpired
	Rows     int    // rows written or received
	Requests int    // requests sent, not counting the client's own retries
	Cells    int    // cells of the rows that a reader received
	Bytes    int    // what these rows took on the wire: keys, column names, timestamps and values, approximately
	// OrdinaryRequests is the number of requests that the client encoded, or whose rows
	// it decoded: without ClientOptions all of them, and with ClientOptions none unless
	// an interceptor prevents it, or the client diverts a single event to a session.
	OrdinaryRequests int
	// Runs is the number of buckets whose windows come from a rollup, without their events, Folded that of other buckets
	// of tables with a rollup, whose windows come from events, and Inexact that of those of both whose windows are
	// inexact; see window.Window.
	Runs, Folded, Inexact int
}

// start calls the Start hook, if any.
func (h Hooks) start(ctx context.Context, op *request.Operation) context.Context {
	if h.Start == nil {
		return ctx
	}
	return h.Start(ctx, Operation(*op))
}

// end calls the End hook, if any.
func (h Hooks) end(ctx context.Context, op *request.Operation, err error) {
	if h.End != nil {
		h.End(ctx, Operation(*op), err)
	}
}

// Mapping describes how events are stored in one table. Generated code
// provides it. Functions take events of its type as pointers that are not nil, or as a [List]; generated methods pass no others,
// with which they panic.
type Mapping struct {
	Table Table
	// Pattern determines where the time and the data of an event are stored.
	Pattern codec.Pattern
	// Key describes the row keys: all rows of a series, those that queries select, and the series
	// and the time of a row follow from it.
	Key codec.Key

	// Columns are the columns with the data of events. [NewMapping] sets them.
	Columns []Column
	// Fields are the fields that reads may request if events are stored as one value, whose column
	// names none of them; nil if each field has a column.
	Fields []Field
	// SequenceInColumns says that columns of codec.BucketOffsets have the sequence number of an event after its time. Keys
	// say themselves whether they have one.
	SequenceInColumns bool
	// Check rejects an event that no table can store, with a *codec.FieldError, given a pointer to it.
	Check func(e any) error

	// Precision is the duration to which event times are truncated.
	Precision time.Duration
	// MaxCells is the maximum number of cells in a column of a row; 0 if it is unknown
	// or larger than any family's rule keeps.
	MaxCells int64
	// Since is the time of the first event with this mapping; zero in the oldest mapping.
	// It is a bucket boundary of both this mapping and the one before it.
	Since time.Time
	// Older are the earlier mappings, newest first. The time of an event determines the
	// mapping that it is written to and read from.
	Older []*Mapping
	// State is the mapping of the same events to a table of codec.Latest, whose rows say which event
	// of a series is the newest; nil if there is none. Readers search this table where it does not.
	State *Mapping
	// Rollup describes the rollup of the table; nil if it has none.
	Rollup *codec.Rollup

	columns *Columns         // of NewMapping
	replace func(m *mapping) // replaces what follows from the parts of events, in tests
	adjust  func(m *mapping) // changes what follows from the key, in tests
}

// Column is one column of a table.
type Column struct {
	// Name is the column qualifier or, for codec.BucketNewColumns, the metric.
	Name string
	// Family is the index of its family. If events have classes, each class has a
	// family with all columns, and Family is 0.
	Family int
	// WrittenAt marks the column of the write time, which is not part of the event.
	WrittenAt bool
	// Whole marks the column of a value that contains all fields of an event.
	Whole bool

	older    []int // indexes of the columns in which older events have the field, newest first
	replaced bool  // only older events have the column
}

// Field is a field of an event, identified by the name of its column or, if no table has a column for
// it, by its name. Generated code has constants.
type Field string

// TTLFields points to the fields with which an event specifies its time to live; nil for
// fields that the schema does not have.
type TTLFields struct {
	ExpiresAt *time.Time
	TTL       *time.Duration
	Class     *int // counting from 1
	WrittenAt *time.Time
}

// shape returns what the planner of reads needs to know.
func (l *mapping) shape() scan.Table {
	t := scan.Table{Pattern: l.Pattern, Offset: l.offset(), TimeKey: l.Key.Time, Ties: l.Key.Ties() > 0, Begin: l.Since, End: l.until, Tier: l.Table.Tier}
	t.Families = l.scanFamilies()
	if l.Rollup != nil {
		t.Rollup = &scan.Family{Name: l.Rollup.Family, Life: codec.Lifetime{}.Under(l.Rollup.GC, 0)}
	}
	if l.Pattern.NewestOnly() {
		t.Sums = l.sumFamily()
	}
	e := l.new()
	for i, c := range l.Columns {
		required := !c.WrittenAt && !c.replaced && l.Missing(e, i) != nil
		t.Columns = append(t.Columns, scan.Column{Name: c.Name, Family: c.Family, Required: required, WrittenAt: c.WrittenAt, Older: c.older})
	}
	return t
}

// sumFamily returns the family of the sums of versions in a table of states.
func (l *mapping) sumFamily() string { return codec.VersionsFamily(l.Table.Families[0].Name) }

// scanFamilies returns the families for the planner of reads.
func (l *mapping) scanFamilies() []scan.Family {
	var out []scan.Family
	for _, f := range l.Table.Families {
		out = append(out, scan.Family{Name: f.Name, Life: f.Life, Class: f.Class})
	}
	return out
}

// offset returns the encoding of times in qualifiers, for patterns that name columns after times.
func (l *mapping) offset() codec.Offset {
	return codec.Offset{Bucket: l.Key.Bucket, Precision: l.Precision, Sequence: l.Sequence != nil}
}

// choice returns the TTLFields of e, or the zero TTLFields.
func (l *mapping) ttlFields(e event) TTLFields {
	if l.TTLFields == nil {
		return TTLFields{}
	}
	return l.TTLFields(e)
}

// ErrNotFound is the error for a series without live events.
var ErrNotFound = errors.New("no event found")

// DecodeError reports a stored cell or row key that cannot be decoded. The reader that
// yields it can continue with the next event.
type DecodeError struct {
	Table  string
	Row    string
	Column string    // column qualifier; empty for an invalid row key
	Time   time.Time // of the event; zero for an invalid row key
	Err    error

	bucket time.Time // where the bucket of the row begins, for a cell outside of it; else zero
}

// place returns the time at which a read from a time meets the event: its own or, for a cell outside the bucket of its row, that
// at which the read meets the row.
func (e *DecodeError) place(from time.Time) time.Time {
	switch {
	case e.bucket.IsZero():
		return e.Time
	case e.bucket.Before(from):
		return from
	}
	return e.bucket
}

// Error describes the place of the cell and what is wrong with it.
func (e *DecodeError) Error() string {
	s := fmt.Sprintf("table %s, row %q", e.Table, e.Row)
	if e.Column != "" {
		s += fmt.Sprintf(", column %q", e.Column)
	}
	if !e.Time.IsZero() {
		s += ", time " + e.Time.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s: %v", s, e.Err)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// RangeError reports a time range that ends before it begins or ends at the zero time, or one of a
// chart that begins at the zero time.
// It wraps [codec.ErrRange].
type RangeError struct {
	From, To time.Time

	all   string // the method that deletes the events of all times; empty for a read
	chart bool   // the range is that of a chart, which has no beginning
}

// Error describes the range and what is wrong with it.
func (e *RangeError) Error() string {
	switch {
	case e.To.IsZero() && e.all != "":
		return "the time range has no end: to is the zero time, and nothing is deleted; to delete the events of all times, call " + e.all
	case e.To.IsZero():
		return "the time range has no end: to is the zero time; pass time.Now(), or a later time to read events of clocks that are ahead, too"
	case e.chart:
		return "the time range has no beginning: from is the zero time, and a chart needs a from"
	}
	return fmt.Sprintf("the time range ends at %s, before it begins at %s", e.To.Format(time.RFC3339Nano), e.From.Format(time.RFC3339Nano))
}

func (e *RangeError) Unwrap() error { return codec.ErrRange }

// MissingTableError reports that Bigtable did not find the table of a read or write, its
// authorized view, or one of its column families.
type MissingTableError struct {
	Table string // with its prefix
	Err   error  // the error of Bigtable, with the status code codes.NotFound; the in-memory server has another one for families
}

// Error says what to do and quotes Bigtable's error.
func (e *MissingTableError) Error() string {
	if strings.Contains(fmt.Sprint(e.Err), "/authorizedViews/") {
		return fmt.Sprintf("the authorized view of table %s does not exist: create it, or check its ID, TablePrefix (--prefix of commands), project and instance: %v", e.Table, e.Err)
	}
	return fmt.Sprintf("table %s or its column families do not exist: run btgen-live setup, or check TablePrefix (--prefix of commands), project and instance: %v", e.Table, e.Err)
}

func (e *MissingTableError) Unwrap() error { return e.Err }

// isDecodeError reports whether a read can continue after err.
func isDecodeError(err error) bool {
	var decode *DecodeError
	return errors.As(err, &decode)
}

// readError converts the error of a read of a table to what applications see.
func readError(table string) func(err error) error {
	return func(err error) error {
		if refused, is := errors.AsType[*wire.TooLargeError](err); is {
			return &TooLargeError{table, refused}
		}
		if err == request.ErrReversed {
			return &ReversedError{table}
		}
		return missing(table, err)
	}
}

// ofTable adds the table to an error of a request of a job, which may read several, unless the error names it or is an interruption.
func ofTable(table string, err error) error {
	if status.Code(err) == codes.Canceled || strings.Contains(err.Error(), "table "+table) {
		return err
	}
	return fmt.Errorf("table %s: %w", table, err)
}

// missing converts the error of a request to a *MissingTableError if the table or a family of it is
// missing. The in-memory server has no status of its own for a family.
func missing(table string, err error) error {
	if status.Code(err) != codes.NotFound && (err == nil || !strings.Contains(err.Error(), "unknown family ")) {
		return err
	}
	return &MissingTableError{Table: table, Err: err}
}

// TooLargeError reports an answer that is larger than any of Bigtable. It was not decoded.
type TooLargeError struct {
	Table string // with its prefix
	Err   error
}

// Error says what to check.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("reading table %s: %v, which Bigtable does not send: check which server answers", e.Table, e.Err)
}

func (e *TooLargeError) Unwrap() error { return e.Err }
