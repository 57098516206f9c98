// Package wired implements the calls of the official client on top of the runtime's
// wire path. A conformance test proxy that calls this package instead of the client
// runs the conformance suite for Bigtable clients against the wire path; see
// ../README.md.
package wired

import (
	"context"
	"slices"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// DialOption returns an option that installs the wire path in a connection.
func DialOption() grpc.DialOption { return wire.DialOption() }

// ReadRows is like [bigtable.Table.ReadRows], but its rows have no labels.
func ReadRows(ctx context.Context, table bigtable.TableAPI, set bigtable.RowSet, yield func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
	var sink wire.Sink
	var lost error
	stopped := false
	err := table.ReadRows(wire.WithSink(ctx, &sink), set, func(arrived bigtable.Row) bool {
		var rows wire.Some
		if rows, lost = sink.Rows(arrived); lost != nil {
			return false
		}
		for i := range rows.Len() {
			if stopped = !yield(rowOf(rows.At(i))); stopped {
				return false
			}
		}
		return true
	}, opts...)
	switch {
	case lost != nil:
		return lost
	case err == nil && !stopped:
		return sink.Close()
	}
	return err
}

// rowOf converts a row to the client's type.
func rowOf(row wire.Row) bigtable.Row {
	out := bigtable.Row{}
	columns := row.Columns()
	for i := range columns {
		c := &columns[i]
		family := string(row.Bytes(c.Family))
		for _, cell := range row.Cells(c) {
			out[family] = append(out[family], bigtable.ReadItem{
				Row: row.Key(), Column: family + ":" + string(row.Bytes(c.Qualifier)),
				Timestamp: bigtable.Timestamp(cell.Micros), Value: slices.Clone(row.Bytes(cell.Value)),
			})
		}
	}
	return out
}

// fieldMutations is the field number of the mutations in an entry.
const fieldMutations = 2

// call remembers the error of a call as a whole. An outbox reports what happened to
// each entry even then, but the suite expects what the client reports.
type call struct {
	bigtable.TableAPI
	err error
}

func (c *call) ApplyBulk(ctx context.Context, keys []string, mutations []*bigtable.Mutation, opts ...bigtable.ApplyOption) (errs []error, err error) {
	errs, c.err = c.TableAPI.ApplyBulk(ctx, keys, mutations, opts...)
	return errs, c.err
}

// ApplyBulk is like [bigtable.Table.ApplyBulk].
func ApplyBulk(ctx context.Context, table bigtable.TableAPI, entries []*bigtablepb.MutateRowsRequest_Entry) ([]error, error) {
	encoded := make([][]byte, len(entries))
	size := 0
	for i, e := range entries {
		for _, m := range e.Mutations {
			text, err := proto.Marshal(m)
			if err != nil {
				return nil, err
			}
			encoded[i] = protowire.AppendTag(encoded[i], fieldMutations, protowire.BytesType)
			encoded[i] = protowire.AppendBytes(encoded[i], text)
		}
		size += wire.EntrySize(e.RowKey, len(encoded[i]))
	}
	box := wire.NewOutbox(len(entries), size)
	defer box.Release()
	for i, e := range entries {
		box.Entry(e.RowKey, len(encoded[i]))
		box.Add(encoded[i])
	}
	c := &call{TableAPI: table}
	if box.Send(ctx, c); c.err != nil {
		return nil, c.err
	}
	errs := make([]error, len(entries))
	failed := false
	for i := range errs {
		errs[i] = box.Err(i)
		failed = failed || errs[i] != nil
	}
	if !failed {
		return nil, nil
	}
	return errs, nil
}
