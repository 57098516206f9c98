package journal

import (
	"bytes"
	"context"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// serverTime is the timestamp for which the server inserts its time.
const serverTime = -1

// stamp assigns the times that the server would. It truncates them to the granularity of the table, like those
// that a client has generated.
func stamp(mutations []*bigtablepb.Mutation) {
	now := time.Now().UnixMicro()
	for _, m := range mutations {
		if set := m.GetSetCell(); set != nil && set.TimestampMicros == serverTime {
			set.TimestampMicros, m.TimestampOrigin = now, bigtablepb.Mutation_CLIENT_AUTO_GENERATED
		}
	}
}

// effects are mutations that change rows as requests have.
type effects struct {
	table   string
	entries []*bigtablepb.MutateRowsRequest_Entry
}

// add adds mutations of a row.
func (e *effects) add(key []byte, mutations []*bigtablepb.Mutation) {
	if len(mutations) > 0 {
		e.entries = append(e.entries, &bigtablepb.MutateRowsRequest_Entry{RowKey: key, Mutations: mutations})
	}
}

// addState adds mutations that replace a row by what it is now.
func (e *effects) addState(j *Journal, key []byte) error {
	if len(key) == 0 {
		return nil // no row
	}
	mutations := []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}}}
	err := j.readRow(e.table, key, func(cells []storedCell) error {
		for _, c := range cells {
			mutations = append(mutations, c.set())
		}
		return nil
	})
	if status.Code(err) == codes.NotFound { // the table
		return nil
	}
	e.add(key, mutations)
	return err
}

// record returns the record of effects.
func (e *effects) record() ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend([]byte{rowsRecord}, &bigtablepb.MutateRowsRequest{TableName: e.table, Entries: e.entries})
}

// saveEffects records effects. If that fails, the request fails.
func (j *Journal) saveEffects(e *effects) error {
	if len(e.entries) == 0 {
		return nil
	}
	record, err := e.record()
	if err != nil {
		j.failed = err
		return status.Errorf(codes.Internal, "the change is not stored: %v", err)
	}
	return j.save(record)
}

// saveEntries records the effects of a request that mutates many rows: the mutations of rows without a failure,
// in their order, and the other rows as they are now.
func (j *Journal) saveEntries(request *bigtablepb.MutateRowsRequest, response *bigtablepb.MutateRowsResponse) error {
	applied := make([]bool, len(request.GetEntries()))
	for _, r := range response.GetEntries() {
		if r.GetStatus().GetCode() == int32(codes.OK) && r.GetIndex() >= 0 && r.GetIndex() < int64(len(applied)) {
			applied[r.GetIndex()] = true
		}
	}
	failed := map[string]bool{}
	for i, entry := range request.GetEntries() {
		if !applied[i] {
			failed[string(entry.GetRowKey())] = true
		}
	}
	e := effects{table: request.GetTableName()}
	for _, entry := range request.GetEntries() {
		key := string(entry.GetRowKey())
		state, has := failed[key]
		switch {
		case !has:
			e.add(entry.GetRowKey(), entry.GetMutations())
		case state:
			failed[key] = false // added once
			if err := e.addState(j, entry.GetRowKey()); err != nil {
				return err
			}
		}
	}
	return j.saveEffects(&e)
}

// mutationsOf returns mutations that have the effect of a request that changes one row and succeeded. It returns false
// if the response does not tell.
func mutationsOf(request, response any) ([]*bigtablepb.Mutation, bool) {
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		return r.GetMutations(), true
	case *bigtablepb.CheckAndMutateRowRequest:
		answer, is := response.(*bigtablepb.CheckAndMutateRowResponse)
		if answer.GetPredicateMatched() {
			return r.GetTrueMutations(), is
		}
		return r.GetFalseMutations(), is
	case *bigtablepb.ReadModifyWriteRowRequest:
		answer, is := response.(*bigtablepb.ReadModifyWriteRowResponse)
		return written(answer.GetRow()), is && !repeats(r.GetRules())
	}
	return nil, false
}

// written returns mutations that write the cells of a row.
func written(row *bigtablepb.Row) []*bigtablepb.Mutation {
	var out []*bigtablepb.Mutation
	for _, f := range row.GetFamilies() {
		for _, c := range f.GetColumns() {
			for _, cell := range c.GetCells() {
				out = append(out, storedCell{f.GetName(), c.GetQualifier(), cell.GetTimestampMicros(), cell.GetValue()}.set())
			}
		}
	}
	return out
}

// repeats reports whether two rules change the same column: the response has only the last of its cells.
func repeats(rules []*bigtablepb.ReadModifyWriteRule) bool {
	for i, r := range rules {
		for _, o := range rules[:i] {
			if r.GetFamilyName() == o.GetFamilyName() && bytes.Equal(r.GetColumnQualifier(), o.GetColumnQualifier()) {
				return true
			}
		}
	}
	return false
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
func (j *Journal) readRow(table string, key []byte, use func(cells []storedCell) error) error {
	rows := &bigtablepb.RowSet{RowKeys: [][]byte{key}}
	return j.read(&bigtablepb.ReadRowsRequest{TableName: table, Rows: rows}, func(_ []byte, cells []storedCell) error { return use(cells) })
}

// read calls use with each row of a request, without the locks that requests of others take.
func (j *Journal) read(request *bigtablepb.ReadRowsRequest, use func(key []byte, cells []storedCell) error) error {
	return j.server.ReadRows(request, &rowsStream{use: use})
}

// rowsStream receives rows from the server in this process.
type rowsStream struct {
	grpc.ServerStream
	use       func(key []byte, cells []storedCell) error
	key       []byte
	family    string
	qualifier []byte
	cells     []storedCell
}

// Context returns the context of a request without metadata.
func (*rowsStream) Context() context.Context { return context.Background() }

// Send receives cells, of one or more rows.
func (s *rowsStream) Send(response *bigtablepb.ReadRowsResponse) error {
	for _, c := range response.GetChunks() {
		if len(c.GetRowKey()) > 0 {
			s.key = c.GetRowKey()
		}
		if c.GetFamilyName() != nil {
			s.family = c.GetFamilyName().GetValue()
		}
		if c.GetQualifier() != nil {
			s.qualifier = c.GetQualifier().GetValue()
		}
		if c.GetValueSize() > 0 || c.GetResetRow() {
			return status.Error(codes.Internal, "the server splits cells")
		}
		s.cells = append(s.cells, storedCell{s.family, s.qualifier, c.GetTimestampMicros(), c.GetValue()})
		if c.GetCommitRow() {
			cells := s.cells
			s.cells = nil
			if err := s.use(s.key, cells); err != nil {
				return err
			}
		}
	}
	return nil
}

// entriesStream receives the outcome of mutations from the server in this process.
type entriesStream struct {
	grpc.ServerStream
	failed error // the first failure
}

// Context returns the context of a request without metadata.
func (*entriesStream) Context() context.Context { return context.Background() }

// Send receives the outcome of entries.
func (s *entriesStream) Send(response *bigtablepb.MutateRowsResponse) error {
	for _, e := range response.GetEntries() {
		if s.failed == nil && e.GetStatus().GetCode() != int32(codes.OK) {
			s.failed = status.ErrorProto(e.GetStatus())
		}
	}
	return nil
}
