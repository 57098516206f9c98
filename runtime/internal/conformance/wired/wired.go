// Package wired reads and writes as a client does, over the wire path of the runtime. A
// test proxy of the official client that calls it instead of the client has the
// conformance suite of Bigtable clients test that path; see ../README.md.
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

// DialOption installs the wire path in a connection.
func DialOption() grpc.DialOption { return wire.DialOption() }

// ReadRows is [bigtable.Table.ReadRows]. Rows have no labels.
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

// rowOf returns a row as the client has it.
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

// fieldMutations is the number of the mutations in an entry.
const fieldMutations = 2

// call is a table that keeps the error of a call as a whole: an outbox knows better what
// became of its entries then, and the suite asks for no more than the client does.
type call struct {
	bigtable.TableAPI
	err error
}

func (c *call) ApplyBulk(ctx context.Context, keys []string, mutations []*bigtable.Mutation, opts ...bigtable.ApplyOption) (errs []error, err error) {
	errs, c.err = c.TableAPI.ApplyBulk(ctx, keys, mutations, opts...)
	return errs, c.err
}

// ApplyBulk is [bigtable.Table.ApplyBulk].
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
