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
	if j.failed != nil || j.file.waiting != nil || j.file.size < j.compact {
		return nil
	}
	err := j.replaceFile(ctx)
	if err != nil {
		err = fmt.Errorf("compacting %s: %w", j.name(), err)
	}
	j.compact = max(minCompacted, 2*j.file.size) // also after a failure, perhaps of a full disk
	return err
}

// replaceFile replaces the file, if there is one, by one with the state of the server. j.changes is locked. If it
// fails, the file is the old one.
func (j *Journal) replaceFile(ctx context.Context) error {
	out, err := j.openFile(j.next(), os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	out.waiting = []byte(magic)
	if err := errors.Join(out.flush(), j.writeState(ctx, out), out.sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(j.next()))
	}
	if j.file != nil {
		err = j.file.Close() // not all systems rename open files, and to open ones
	}
	if err == nil {
		err = os.Rename(j.next(), j.name())
	}
	if dir, failed := os.Open(j.dir); failed == nil {
		_ = errors.Join(dir.Sync(), dir.Close()) // not supported by all systems
	}
	file, failed := j.openFile(j.name(), 0)
	if failed != nil {
		j.failed = failed
		return errors.Join(err, failed)
	}
	j.file = file
	return err
}

// writeState writes what the tables are, as it was requested, and their rows.
func (j *Journal) writeState(ctx context.Context, out *recordFile) error {
	for _, name := range slices.Sorted(maps.Keys(j.tables)) {
		for _, record := range j.tables[name] {
			if err := out.append(record); err != nil {
				return err
			}
		}
		if err := errors.Join(ctx.Err(), j.writeRows(out, name)); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes the rows of a table. A large row becomes several records.
func (j *Journal) writeRows(out *recordFile, table string) error {
	var entries []*bigtablepb.MutateRowsRequest_Entry
	size := 0
	flush := func() error {
		if size == 0 {
			return nil
		}
		record, err := rowsOf(table, entries)
		entries, size = nil, 0
		if err != nil {
			return err
		}
		return out.append(record)
	}
	err := j.read(&bigtablepb.ReadRowsRequest{TableName: table}, func(key []byte, cells []storedCell) error {
		for i, c := range cells {
			if i == 0 || size == 0 {
				entries = append(entries, &bigtablepb.MutateRowsRequest_Entry{RowKey: key})
			}
			last := entries[len(entries)-1]
			last.Mutations = append(last.Mutations, c.set())
			if size += len(key) + len(c.family) + len(c.qualifier) + len(c.value) + 40; size >= stateRecord {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return errors.Join(err, flush())
}

// storedCell is a cell of a row.
type storedCell struct {
	family    string
	qualifier []byte
	micros    int64
	value     []byte
}

// set returns the mutation that writes the cell.
func (c storedCell) set() *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
		FamilyName: c.family, ColumnQualifier: c.qualifier, TimestampMicros: c.micros, Value: c.value,
	}}}
}

// readRow calls use with the cells of a row, in the order of the server; not if there are none.
func (j *Journal) readRow(table string, key []byte, use func(cells []storedCell)) error {
	request := &bigtablepb.ReadRowsRequest{TableName: table, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{key}}}
	return j.read(request, func(_ []byte, cells []storedCell) error { use(cells); return nil })
}

// read calls use with each row of a request, without the locks that requests of others take.
func (j *Journal) read(request *bigtablepb.ReadRowsRequest, use func(key []byte, cells []storedCell) error) error {
	rows := rowsStream{use: use}
	return j.server.ReadRows(request, &inProcess[*bigtablepb.ReadRowsResponse]{send: rows.add})
}

// rowsStream receives rows.
type rowsStream struct {
	use   func(key []byte, cells []storedCell) error
	key   []byte
	cell  storedCell
	cells []storedCell
}

// add receives cells, of one or more rows.
func (s *rowsStream) add(response *bigtablepb.ReadRowsResponse) error {
	for _, c := range response.GetChunks() {
		if len(c.GetRowKey()) > 0 {
			s.key = c.GetRowKey()
		}
		if c.GetFamilyName() != nil {
			s.cell.family = c.GetFamilyName().GetValue()
		}
		if c.GetQualifier() != nil {
			s.cell.qualifier = c.GetQualifier().GetValue()
		}
		if c.GetValueSize() > 0 || c.GetResetRow() {
			return status.Error(codes.Internal, "the server splits cells")
		}
		s.cell.micros, s.cell.value = c.GetTimestampMicros(), c.GetValue()
		s.cells = append(s.cells, s.cell)
		if !c.GetCommitRow() {
			continue
		}
		cells := s.cells
		s.cells = nil
		if err := s.use(s.key, cells); err != nil {
			return err
		}
	}
	return nil
}
