package store

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// AuthorizedViews returns a Client that opens tables through authorized views, for programs
// that may access only some rows or columns. view returns the ID of the view of a table, which
// it gets with its prefix, or "" to open the table itself. It is called once for each table of a
// reader or writer, and must be safe for concurrent use.
//
// Reads return what the view contains, and ReadOptions.Fields can leave out columns that it
// lacks. Bigtable rejects writes to other rows, families or columns: with the code
// PermissionDenied, in a *WriteError or *DeleteError. Events are deleted by families, so
// deletions require views that contain all columns of the families of a schema.
func AuthorizedViews(client *bigtable.Client, view func(table string) string) Client {
	return viewClient{client, view}
}

// viewClient is the Client of AuthorizedViews.
type viewClient struct {
	client *bigtable.Client
	view   func(table string) string
}

// OpenTable opens a table or its view.
func (c viewClient) OpenTable(table string) bigtable.TableAPI {
	if view := c.view(table); view != "" {
		return c.client.OpenAuthorizedView(table, view)
	}
	return c.client.OpenTable(table)
}

// isOfficial reports whether tables are those of the official client, which sends requests
// itself and retries them.
func isOfficial(client Client) bool {
	switch client.(type) {
	case *bigtable.Client, viewClient:
		return true
	}
	return false
}

// NoClientError is the error of every call of a reader, a writer, a batcher, a scanner, or the steps of a backfill or a rollup, without
// a client: it was not made by its constructor, or its client, or the writer of a batcher, is nil. A nil pointer to a generated reader
// or writer has no fields, and its methods panic.
type NoClientError struct {
	Table string // with its prefix; empty if it is unknown, because a reader or a writer is nil
}

// Error says what to do.
func (e *NoClientError) Error() string {
	const missing = "there is no client, so nothing was sent: use the generated constructors, and pass them a *bigtable.Client, or the writer of a batcher"
	if e.Table == "" {
		return missing
	}
	return fmt.Sprintf("table %s: %s", e.Table, missing)
}

// OpenTable opens a table. If the client is nil, all requests to the table fail with a *[NoClientError].
func OpenTable(client Client, table string) bigtable.TableAPI {
	if noClient(client) {
		return noTable{&NoClientError{table}}
	}
	return client.OpenTable(table)
}

// noClient reports whether a client is nil, or one that no constructor made.
func noClient(client Client) bool {
	switch c := client.(type) {
	case nil:
		return true
	case *bigtable.Client:
		return c == nil || reflect.ValueOf(c).Elem().IsZero() // its requests would panic
	case viewClient:
		return noClient(c.client)
	}
	return false
}

// missingClient returns the *[NoClientError] of a table; nil if it has a client.
func missingClient(api bigtable.TableAPI) error {
	t, _ := api.(noTable)
	return t.err
}

// missingClient returns a *[NoClientError] if NewReader did not make the reader, or made it without a client.
func (r *Reader) missingClient() error {
	if r == nil || r.table == nil {
		return &NoClientError{}
	}
	return missingClient(r.table.API)
}

// made returns the writer or, if NewWriter did not make it, one that refuses all events.
func (w *Writer) made() *Writer {
	if w != nil && w.stages.New != nil {
		return w
	}
	missing := &NoClientError{}
	return &Writer{unknown: missing, unwritable: missing}
}

// noTable is a table without a client.
type noTable struct{ err error }

func (t noTable) ReadRows(context.Context, bigtable.RowSet, func(bigtable.Row) bool, ...bigtable.ReadOption) error {
	return t.err
}

func (t noTable) ReadRow(context.Context, string, ...bigtable.ReadOption) (bigtable.Row, error) {
	return nil, t.err
}

func (t noTable) SampleRowKeys(context.Context) ([]string, error) { return nil, t.err }

func (t noTable) Apply(context.Context, string, *bigtable.Mutation, ...bigtable.ApplyOption) error {
	return t.err
}

func (t noTable) ApplyBulk(context.Context, []string, []*bigtable.Mutation, ...bigtable.ApplyOption) ([]error, error) {
	return nil, t.err
}

func (t noTable) ApplyReadModifyWrite(context.Context, string, *bigtable.ReadModifyWrite) (bigtable.Row, error) {
	return nil, t.err
}

// EmulatorVariable is the environment variable with the address of an emulator, to which
// clients of Bigtable connect instead of the service.
const EmulatorVariable = call.EmulatorVariable

// ReversedError reports that a server returns rows in ascending order if it is asked for the
// reverse, as some emulators do: the newest event could not be found.
type ReversedError struct{ Table string } // with its prefix

// Error says what to do.
func (e *ReversedError) Error() string {
	return fmt.Sprintf("the emulator at %s returns the rows of table %s in ascending order when they are requested in reverse order: reads would miss the newest events; use another emulator, such as btgen-live emulator", os.Getenv(EmulatorVariable), e.Table)
}

// IsAtLeastVersion1 asserts at compile time that the runtime supports generated code of
// version 1. Generated code refers to the constant of the version that it requires, so
// it does not compile with an older runtime, and the compiler's message names the
// version. In that case, update the runtime: go get github.com/btgen-dev/btgen@latest.
const IsAtLeastVersion1 = true

// disableVariable is the environment variable that disables the effect of ClientOptions
// if it is 1 or true when a reader or writer is created.
const disableVariable = "BTGEN_DISABLE_WIRE"

// wireAllowed reports whether this package may encode the requests and decode the
// responses of a client. It may only for the official client itself, because a wrapper
// may inspect them.
func wireAllowed(client Client) bool {
	disabled, _ := strconv.ParseBool(os.Getenv(disableVariable))
	return isOfficial(client) && !disabled
}

// askAgain is the time after which wirePath probes a client again that did not accept
// encoded entries: it may have had no connection, or an interceptor may have
// interfered.
const askAgain = 10 * time.Second

// wirePath caches whether a table's client accepts encoded entries.
type wirePath struct {
	allowed bool
	api     bigtable.TableAPI
	open    atomic.Bool
	closed  atomic.Pointer[time.Time] // time of the last negative probe
	rows    atomic.Pointer[time.Time] // time of the last call for a single row that bypassed the interceptor

	converters sync.Pool // of *wire.Converter, for the requests that the client encodes
}

// newWirePath returns a path of which nothing is known.
func newWirePath(client Client, api bigtable.TableAPI) *wirePath {
	return &wirePath{allowed: wireAllowed(client), api: api, converters: sync.Pool{New: func() any { return new(wire.Converter) }}}
}

// usable reports whether entries may be sent encoded. It probes the client unless a
// recent result is known.
func (p *wirePath) usable() bool {
	if !p.allowed || p.open.Load() {
		return p.allowed
	}
	if recent(&p.closed) {
		return false
	}
	if !wire.Intercepted(context.Background(), p.api) {
		p.close()
		return false
	}
	p.open.Store(true)
	return true
}

// usableForRow reports whether a call for a single row may be sent encoded.
func (p *wirePath) usableForRow() bool { return p.usable() && !recent(&p.rows) }

// recent reports whether a time is no longer ago than askAgain.
func recent(at *atomic.Pointer[time.Time]) bool {
	last := at.Load()
	return last != nil && time.Since(*last) < askAgain
}

// close disables the wire path for some time.
func (p *wirePath) close() {
	now := time.Now()
	p.closed.Store(&now)
	p.open.Store(false)
}

// closeRows disables the wire path of single rows for some time.
func (p *wirePath) closeRows() {
	now := time.Now()
	p.rows.Store(&now)
}
