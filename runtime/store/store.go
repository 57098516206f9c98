// Package store writes events to Bigtable and reads them back. Generated code
// says in a [Layout] how its events lie in a table; everything that is the same
// for every schema is here: one mutation a row, requests under Bigtable's
// limits, deadlines, errors that name each event, row ranges, the filter that
// mirrors garbage collection, and the assembly of events from cells.
//
// It rests on the official client alone, through [bigtable.TableAPI].
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Client opens tables. A *bigtable.Client is one; a test may wrap or fake it.
type Client interface {
	OpenTable(table string) bigtable.TableAPI
}

// ClientOptions returns options for [bigtable.NewClient] that make reads and writes
// cheaper: of what Bigtable sends to a reader, the client then decodes no more than
// it needs to know how far the read has come, and the reader decodes the cells from
// the wire; and of what a writer sends in bulk, the client encodes no more than the
// beginning, and the writer has encoded the rest. What is read and written is the
// same, and other calls of the client are as ever. They have no effect on a client
// that is given a connection, as it is by BIGTABLE_EMULATOR_HOST, nor where a reader
// or a writer has another [Client] than a [bigtable.Client] itself.
func ClientOptions() []option.ClientOption { return wire.ClientOptions() }

// Options say how a writer, a reader or the set-up works. The zero Options
// work; where several are given, the fields that are not zero in a later one win.
type Options struct {
	// TablePrefix stands before every table id, for instance "staging_".
	TablePrefix string
	// Now is the clock that time to live is measured with; time.Now if nil.
	Now func() time.Time
	// Timeout bounds each request of a writer or of the set-up, and how long a
	// reader waits for its next row. 0 means DefaultTimeout; a negative one
	// means none, and then a call whose context has no deadline may retry for ever.
	Timeout time.Duration
	// Parallelism is how many requests of one WriteAll may be under way at
	// once; 0 means DefaultParallelism.
	Parallelism int
	// SkipExpired makes a writer skip events that are past their time to live,
	// and count them in Operation.Expired, instead of refusing them.
	SkipExpired bool
	// DryRun makes the set-up return its plan and change nothing.
	DryRun bool
	// Allow names the changes that the set-up refuses unless they are allowed;
	// see Change.Name.
	Allow []string
	// Confirm is called by the set-up with its plan, also one without changes, before
	// it changes anything; nil means that nobody is asked. If it returns an error,
	// nothing is changed and the set-up returns that error.
	Confirm func(Plan) error
	// Hooks trace every operation.
	Hooks Hooks
}

// What Options mean where they say nothing.
const (
	DefaultTimeout     = time.Minute
	DefaultParallelism = 4
)

// Hooks are called around every operation, from the goroutine that runs it.
// Either may be nil.
type Hooks struct {
	// Start is called before the first request; what it returns is the context
	// of all that follows.
	Start func(ctx context.Context, op Operation) context.Context
	// End is called when the operation is over, with what it did and how it failed.
	End func(ctx context.Context, op Operation, err error)
}

// Operation is one call of a writer or a reader on one table.
type Operation struct {
	Name     string // "Write", "WriteAll", "Read", "Latest", or the name of a query
	Table    string // with its prefix
	Events   int    // events handed to a writer or yielded by a reader
	Expired  int    // events that a writer skipped, see Options.SkipExpired
	Rows     int    // rows written or received
	Requests int    // requests sent, without the client's own retries
	// OrdinaryRequests is how many of the requests were encoded, or their rows decoded,
	// by the client: all of them without the ClientOptions, and none with them unless
	// something is in the way.
	OrdinaryRequests int
}

// start calls the Start hook, if there is one.
func (h Hooks) start(ctx context.Context, op *Operation) context.Context {
	if h.Start == nil {
		return ctx
	}
	return h.Start(ctx, *op)
}

// end calls the End hook, if there is one.
func (h Hooks) end(ctx context.Context, op *Operation, err error) {
	if h.End != nil {
		h.End(ctx, *op, err)
	}
}

// merge returns the options with their defaults filled in.
func merge(opts []Options) Options {
	out := Options{Now: time.Now, Timeout: DefaultTimeout, Parallelism: DefaultParallelism}
	for _, o := range opts {
		if o.TablePrefix != "" {
			out.TablePrefix = o.TablePrefix
		}
		if o.Now != nil {
			out.Now = o.Now
		}
		if o.Timeout != 0 {
			out.Timeout = o.Timeout
		}
		if o.Parallelism > 0 {
			out.Parallelism = o.Parallelism
		}
		out.SkipExpired = out.SkipExpired || o.SkipExpired
		out.DryRun = out.DryRun || o.DryRun
		out.Allow = append(out.Allow, o.Allow...)
		if o.Confirm != nil {
			out.Confirm = o.Confirm
		}
		if o.Hooks.Start != nil {
			out.Hooks.Start = o.Hooks.Start
		}
		if o.Hooks.End != nil {
			out.Hooks.End = o.Hooks.End
		}
	}
	return out
}

// Layout says how events of type E lie in one table. It is what generated code
// knows and this package does not.
type Layout[E any] struct {
	Table Table
	// Pattern decides where the time and the data of an event are.
	Pattern codec.Pattern
	Bucket  codec.Bucket     // patterns with buckets
	TimeKey codec.TimeFormat // other patterns: how the time is written in row keys
	// Ties is, for rows of single events whose time stands reversed in the key and a tie-breaker
	// after it, how many bytes a key has from that on: the rows of an instant then sort
	// against those of others. Else it is 0.
	Ties int

	// Columns is where the data of an event are. The functions below know them
	// by their index.
	Columns []Column
	// Time returns the place of the event's time.
	Time func(e *E) *time.Time
	// Choice returns the places of what an event says of its time to live; nil
	// where events say nothing of it.
	Choice func(e *E) Choice
	// Check refuses an event that no table can hold, with a *codec.FieldError.
	Check func(e *E) error
	// Put sets the cells of an event, whose time is already truncated. It sets
	// none for what the event lacks.
	Put func(e *E, cells *Cells)
	// Same reports whether two events are of one series, so that those of one
	// bucket are in the same rows; nil where Put does not ask for it.
	Same func(a, b *E) bool
	// Own copies what an event shares with the one that it was copied from: what
	// pointers and slices refer to; nil if that is nothing.
	Own func(e *E)
	// Spans returns where the rows of the event's series are: one span for each
	// of Columns for new columns, and just one otherwise.
	Spans func(e *E) ([]codec.Span, error)
	// Key sets the series of an event from a row key, and its tie-breaker if it
	// has one there, and returns its time or the start of its bucket.
	Key func(row string, e *E) (time.Time, error)
	// Sequence returns the place of the tie-breaker that follows the time of an
	// event, for BucketOffsets in its column; nil if there is none.
	Sequence func(e *E) *uint32
	// Set takes the stored datum of a column into the event. It keeps no
	// reference to the datum.
	Set func(e *E, column int, datum []byte) error
	// set is Set for each column, to save a call for each cell; nil if there is only Set.
	set []func(e *E, datum []byte) error
	// Missing puts the default of a column that a stored event lacks; an error
	// if it must have one.
	Missing func(e *E, column int) error
	// Precision is what event times are truncated to.
	Precision time.Duration
	// MaxCells is the most cells that a column of a row can hold; 0 where that is not
	// known, or more than any rule of a family keeps.
	MaxCells int64
}

// Column is one column of a table.
type Column struct {
	// Name is the column qualifier, or the metric for new columns.
	Name string
	// Family is the index of its family. Where events have classes, each class
	// has a family with all columns, and this is 0.
	Family int
	// WrittenAt marks the column of the write time, which is no part of the event.
	WrittenAt bool
	// Whole marks the column of an event that is one value with all fields.
	Whole bool
}

// Field is a field of an event, by the name of its column.
type Field string

// Choice is where an event says how long it lives: places in the event, nil for
// what events of the schema do not say.
type Choice struct {
	ExpiresAt *time.Time
	TTL       *time.Duration
	Class     *int // counted from 1
	WrittenAt *time.Time
}

// shape returns the shape of the table, by which reads are planned.
func (l *Layout[E]) shape() scan.Table {
	t := scan.Table{Pattern: l.Pattern, Offset: l.offset(), TimeKey: l.TimeKey, Ties: l.Ties > 0}
	for _, f := range l.Table.Families {
		t.Families = append(t.Families, scan.Family{Name: f.Name, Life: f.Life, Class: f.Class})
	}
	var e E
	for i, c := range l.Columns {
		required := !c.WrittenAt && l.Missing(&e, i) != nil
		t.Columns = append(t.Columns, scan.Column{Name: c.Name, Required: required, WrittenAt: c.WrittenAt, Whole: c.Whole})
	}
	return t
}

// offset is how the times of events stand in qualifiers, for BucketOffsets.
func (l *Layout[E]) offset() codec.Offset {
	return codec.Offset{Bucket: l.Bucket, Precision: l.Precision, Sequence: l.Sequence != nil}
}

// choice returns the places of e, none if events say nothing.
func (l *Layout[E]) choice(e *E) Choice {
	if l.Choice == nil {
		return Choice{}
	}
	return l.Choice(e)
}

// hasClasses reports whether each family is that of a TTL class.
func (t *Table) hasClasses() bool { return len(t.Families) > 0 && t.Families[0].Class > 0 }

// ErrNotFound says that a series has no event that is still alive.
var ErrNotFound = errors.New("no event found")

// DecodeError says which stored cell could not be made part of an event. The
// reader that yields it goes on with the next event if it is asked to.
type DecodeError struct {
	Table  string
	Row    string
	Column string    // column qualifier; empty where the row key itself is at fault
	Time   time.Time // of the event; zero where the row key itself is at fault
	Err    error
}

// Error says where the cell is and what is wrong with it.
func (e *DecodeError) Error() string {
	s := fmt.Sprintf("table %s, row %q", e.Table, e.Row)
	if e.Column != "" {
		s += fmt.Sprintf(", column %q", e.Column)
	}
	if !e.Time.IsZero() {
		s += ", time " + e.Time.Format(time.RFC3339Nano)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns what is wrong with the cell.
func (e *DecodeError) Unwrap() error { return e.Err }

// errIdle is why a read is given up whose next row does not come.
var errIdle = fmt.Errorf("no row came within the time-out: %w", context.DeadlineExceeded)

// explain adds to an error of the client why its context ended, which the
// client flattens away: errors.Is(err, context.DeadlineExceeded) then holds.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// RangeError says that the range of time of a read ends before it begins, or that
// its end is the zero time. It is an [codec.ErrRange].
type RangeError struct{ From, To time.Time }

// Error says what is wrong with the range.
func (e *RangeError) Error() string {
	if e.To.IsZero() {
		return "the range of time has no end: to is the zero time; to read all events, pass time.Now()"
	}
	return fmt.Sprintf("the range of time ends at %s, before it begins at %s", e.To.Format(time.RFC3339Nano), e.From.Format(time.RFC3339Nano))
}

// Unwrap returns [codec.ErrRange].
func (e *RangeError) Unwrap() error { return codec.ErrRange }

// MissingTableError says that Bigtable does not find the table of a read or a write,
// or one of its column families: the status NotFound.
type MissingTableError struct {
	Table string // with its prefix
	Err   error  // what Bigtable said: status.Code(Err) is codes.NotFound
}

// Error says what to do, and what Bigtable said.
func (e *MissingTableError) Error() string {
	return fmt.Sprintf("table %s or its column families do not exist: run btgen-live setup, or check TablePrefix, project and instance: %v", e.Table, e.Err)
}

// Unwrap returns what Bigtable said.
func (e *MissingTableError) Unwrap() error { return e.Err }

// missing turns the error of a request into a *MissingTableError if it is one.
func missing(table string, err error) error {
	if status.Code(err) != codes.NotFound {
		return err
	}
	return &MissingTableError{Table: table, Err: err}
}

// within returns ctx with the time-out of the options, if there is one.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

// Required is the Missing of a layout all of whose columns every event has.
func Required[E any](*E, int) error { return codec.ErrMissing }

// Span returns the span of rows whose keys begin with prefix, followed by the time
// and, unless it is nil, by suffix; whole says that nothing follows.
func Span(prefix, suffix func() ([]byte, error), delimiter string, whole bool) (codec.Span, error) {
	span := codec.Span{Delimiter: delimiter, Whole: whole, MaxBytes: codec.MaxRowSet}
	text, err := prefix()
	span.Prefix = string(text)
	if err == nil && suffix != nil {
		text, err = suffix()
		span.Suffix = string(text)
	}
	return span, err
}
