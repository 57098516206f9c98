package store

import (
	"context"
	"fmt"
	"reflect"

	"cloud.google.com/go/bigtable"
)

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
