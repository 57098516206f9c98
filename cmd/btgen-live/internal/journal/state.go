package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	minCompacted = 16 << 20 // the size in bytes below which a file is not compacted
	stateRecord  = 1 << 20  // the size in bytes at which a record of rows ends
)

// compactLarge compacts the file if it is twice as large as after the last time, so that all compactions together
// write at most about as much as all changes.
func (j *Journal) compactLarge(ctx context.Context) error {
	j.changes.Lock()
	defer j.changes.Unlock()
	if j.failed != nil || j.file.size < j.compact {
		return nil
	}
	err := j.replaceFile(ctx)
	j.compact = max(minCompacted, 2*j.file.size) // also after a failure, perhaps of a full disk
	if err != nil {
		return fmt.Errorf("compacting %s: %w", j.name(), err)
	}
	return nil
}

// replaceFile replaces the file, if there is one, by one with the state of the server. changes is locked, or nobody
// changes anything yet. If it fails, the file is the old one.
func (j *Journal) replaceFile(ctx context.Context) error {
	out, err := j.openFile(j.next(), os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = out.writeAt([]byte(magic), 0)
	out.size = int64(len(magic))
	if err := errors.Join(err, j.writeState(ctx, out), out.sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(j.next()))
	}
	kept := j.file
	if kept != nil {
		err = kept.Close() // not all systems rename open files, and to open ones
	}
	if err == nil {
		err = os.Rename(j.next(), j.name())
	}
	if err == nil {
		kept, j.refused = out, nil
	}
	if dir, failed := os.Open(j.dir); failed == nil {
		_ = errors.Join(dir.Sync(), dir.Close()) // not supported by all systems
	}
	file, failed := j.openFile(j.name(), 0)
	if failed != nil {
		j.failed = failed
		return errors.Join(err, failed)
	}
	file.size, file.sum, file.torn = kept.size, kept.sum, kept.torn
	j.file = file
	return err
}

// writeState writes what the tables are, as it was requested, and their rows.
func (j *Journal) writeState(ctx context.Context, out *recordFile) error {
	for _, name := range slices.Sorted(maps.Keys(j.tables)) {
		if err := errors.Join(ctx.Err(), out.append(j.tables[name]...), j.writeRows(out, name)); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes the rows of a table.
func (j *Journal) writeRows(out *recordFile, table string) error {
	rows, size := &bigtablepb.MutateRowsRequest{TableName: table}, 0
	flush := func() error {
		record, err := recordOf(rowsMethod, rows)
		if rows.Entries, size = nil, 0; err != nil {
			return err
		}
		return out.append(record)
	}
	err := j.read(&bigtablepb.ReadRowsRequest{TableName: table}, func(row *row) error {
		rows.Entries = append(rows.Entries, row)
		if size += proto.Size(row); size < stateRecord {
			return nil
		}
		return flush()
	})
	if err != nil || size == 0 {
		return err
	}
	return flush()
}

// row is a row as mutations that set its cells. The cells of a column are together, the newest first.
type row = bigtablepb.MutateRowsRequest_Entry

// sets returns the mutation that sets a cell.
func sets(family string, qualifier []byte, micros int64, value []byte) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
		FamilyName: family, ColumnQualifier: qualifier, TimestampMicros: micros, Value: value,
	}}}
}

// read calls use with the rows of a request. changes is locked.
func (j *Journal) read(request *bigtablepb.ReadRowsRequest, use func(row *row) error) error {
	send := func(response *bigtablepb.ReadRowsResponse) error {
		row, err := rowOf(response)
		if err != nil || len(row.GetMutations()) == 0 {
			return err
		}
		return use(row)
	}
	return j.server.ReadRows(request, &inProcess[*bigtablepb.ReadRowsResponse]{send: send})
}

// rowOf returns the row in a response of the server.
func rowOf(response *bigtablepb.ReadRowsResponse) (*row, error) {
	out := &row{}
	for i, c := range response.GetChunks() {
		if c.GetCommitRow() != (i == len(response.GetChunks())-1) || c.GetFamilyName() == nil || c.GetQualifier() == nil {
			return nil, status.Error(codes.Internal, "the server does not send one complete row at a time")
		}
		cell := sets(c.GetFamilyName().GetValue(), c.GetQualifier().GetValue(), c.GetTimestampMicros(), c.GetValue())
		out.RowKey, out.Mutations = c.GetRowKey(), append(out.Mutations, cell)
	}
	return out, nil
}
