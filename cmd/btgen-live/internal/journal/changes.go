package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Methods begin with their service: of rows, or of table administration.
const (
	dataService  = "/google.bigtable.v2.Bigtable/"
	adminService = "/google.bigtable.admin.v2.BigtableTableAdmin/"
)

// The first byte of a record is its kind.
const (
	rowsRecord    = 'R' // a MutateRowsRequest, which succeeds
	requestRecord = 'A' // an administrative request: the code of its answer, the length of its method, method, request
)

// rowsOf returns the record of mutations of rows.
func rowsOf(table string, entries []*bigtablepb.MutateRowsRequest_Entry) ([]byte, error) {
	request := &bigtablepb.MutateRowsRequest{TableName: table, Entries: entries}
	return proto.MarshalOptions{}.MarshalAppend([]byte{rowsRecord}, request)
}

// requestOf returns the record of an administrative request.
func requestOf(method string, code codes.Code, request []byte) []byte {
	record := binary.AppendUvarint([]byte{requestRecord}, uint64(code))
	record = binary.AppendUvarint(record, uint64(len(method)))
	return append(append(record, method...), request...)
}

// replay applies a record.
func (j *Journal) replay(ctx context.Context, record []byte) error {
	switch kind, text := record[0], record[1:]; kind {
	case rowsRecord:
		var request bigtablepb.MutateRowsRequest
		if err := proto.Unmarshal(text, &request); err != nil {
			return err
		}
		return j.server.MutateRows(&request, &inProcess[*bigtablepb.MutateRowsResponse]{send: failure})
	case requestRecord:
		code, n := binary.Uvarint(text)
		length, m := binary.Uvarint(text[max(n, 0):])
		if n <= 0 || m <= 0 || length > uint64(len(text)-n-m) {
			return errors.New("not a request")
		}
		method, text := string(text[n+m:][:length]), text[n+m:][length:]
		var request, response emptypb.Empty // keep fields that they do not have
		if err := proto.Unmarshal(text, &request); err != nil {
			return err
		}
		if err := j.conn.Invoke(ctx, method, &request, &response); status.Code(err) != codes.Code(code) {
			return fmt.Errorf("%s was answered by %s, and now by %s: %w", method, codes.Code(code), status.Code(err), err)
		}
		return nil
	default:
		return fmt.Errorf("a record of the unknown kind %q", kind)
	}
}

// begin locks for a change. It returns an error if no change may happen; end is to be called in any case.
func (j *Journal) begin() (end func(), err error) {
	j.changes.Lock()
	j.rows.Lock()
	end = func() { j.rows.Unlock(); j.changes.Unlock() }
	if j.failed != nil {
		return end, status.Errorf(codes.FailedPrecondition, "the tables no longer change: %v", j.failed)
	}
	if err := j.file.flush(); err != nil {
		return end, status.Errorf(codes.ResourceExhausted,
			"the tables do not change until an earlier change is stored: %v", err)
	}
	return end, nil
}

// save records a change that was applied.
func (j *Journal) save(record []byte) error {
	if err := j.file.append(record); err != nil {
		return status.Errorf(codes.ResourceExhausted,
			"the change is not stored, but will be if the file can be written again: %v", err)
	}
	return nil
}

// saveRows records mutations that had the effect of a request. If the effect is not known exactly, the rows of
// the mutations are recorded as they are now.
func (j *Journal) saveRows(table string, entries []*bigtablepb.MutateRowsRequest_Entry, exact bool) error {
	var saved []*bigtablepb.MutateRowsRequest_Entry
	for _, e := range entries {
		mutations := e.GetMutations()
		if !exact {
			var err error
			if mutations, err = j.rowState(table, e.GetRowKey()); err != nil {
				return err
			}
		}
		if len(mutations) > 0 {
			saved = append(saved, &bigtablepb.MutateRowsRequest_Entry{RowKey: e.GetRowKey(), Mutations: mutations})
		}
	}
	if len(saved) == 0 {
		return nil
	}
	record, err := rowsOf(table, saved)
	if err != nil {
		j.failed = err
		return status.Errorf(codes.Internal, "the change is not stored: %v", err)
	}
	return j.save(record)
}

// rowState returns mutations that replace a row by what it is now; none if there can be no such row.
func (j *Journal) rowState(table string, key []byte) ([]*bigtablepb.Mutation, error) {
	if len(key) == 0 || !j.names[table] {
		return nil, nil
	}
	empty := &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}
	out := []*bigtablepb.Mutation{{Mutation: empty}}
	err := j.readRow(table, key, func(cells []storedCell) {
		for _, c := range cells {
			out = append(out, c.set())
		}
	})
	return out, err
}

// rowRequest is a request that changes one row.
type rowRequest interface {
	proto.Message
	GetTableName() string
	GetRowKey() []byte
}

// unary records the changes of requests with one answer.
func (j *Journal) unary(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	own, err := j.await(ctx)
	if err != nil {
		return nil, err
	}
	if own && j.server == nil { // the first request
		j.server, _ = info.Server.(bigtablepb.BigtableServer)
	}
	if own {
		return j.answer(ctx, request, handler)
	}
	row, isRow := request.(rowRequest)
	if !isRow && !administers(info.FullMethod) {
		return j.administer(ctx, request, handler)
	}
	end, err := j.begin()
	defer end()
	if err != nil {
		return nil, err
	}
	stampRequest(request)
	text, err := proto.Marshal(request.(proto.Message)) // before anything changes the request
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	response, err := j.administer(ctx, request, handler)
	saved := error(nil)
	if isRow {
		saved = j.saveRow(row, response, err)
	} else {
		saved = j.saveRequest(info.FullMethod, request, text, err)
	}
	if saved != nil {
		return nil, saved
	}
	return response, err
}

// answer answers a request of the journal itself.
func (j *Journal) answer(ctx context.Context, request any, handler grpc.UnaryHandler) (any, error) {
	if r, is := request.(*adminpb.UpdateSchemaBundleRequest); is && r.GetSchemaBundle() != nil {
		r.SchemaBundle.Etag = "" // it was the right one, but compaction gives others
	}
	return j.administer(ctx, request, handler)
}

// reading is how the names of administrative methods begin that change nothing. All others are recorded, so that one
// that servers get later is not forgotten.
var reading = []string{"Get", "List", "Check", "Generate", "Test"}

// administers reports whether a method may change something other than rows.
func administers(method string) bool {
	name, is := strings.CutPrefix(method, adminService)
	for _, r := range reading {
		is = is && !strings.HasPrefix(name, r)
	}
	return is
}

// saveRequest records an administrative request. A refused one has changed nothing, except for modifications of
// families that precede one that was refused.
func (j *Journal) saveRequest(method string, request any, text []byte, err error) error {
	_, partly := request.(*adminpb.ModifyColumnFamiliesRequest)
	if code := status.Code(err); code == codes.OK || partly && code != codes.NotFound {
		return j.save(requestOf(method, code, text))
	}
	return nil
}

// saveRow records the effects of a request that changes one row.
func (j *Journal) saveRow(request rowRequest, response any, err error) error {
	mutations, exact := effects(request, response)
	entries := []*bigtablepb.MutateRowsRequest_Entry{{RowKey: request.GetRowKey(), Mutations: mutations}}
	return j.saveRows(request.GetTableName(), entries, exact && err == nil)
}

// effects returns mutations that have the effect of a request that changes one row and succeeded, and whether they
// have it exactly.
func effects(request, response any) (out []*bigtablepb.Mutation, exact bool) {
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
		answer, _ := response.(*bigtablepb.ReadModifyWriteRowResponse)
		for _, f := range answer.GetRow().GetFamilies() {
			for _, c := range f.GetColumns() {
				for _, cell := range c.GetCells() {
					out = append(out, storedCell{f.GetName(), c.GetQualifier(), cell.GetTimestampMicros(), cell.GetValue()}.set())
				}
			}
		}
		return out, len(out) == len(r.GetRules()) // the answer has only the last cell of each column
	}
	return nil, false
}

// serverTime is the timestamp for which the server inserts its time.
const serverTime = -1

// stampRequest assigns the times of a request.
func stampRequest(request any) {
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		stamp(r.GetMutations())
	case *bigtablepb.CheckAndMutateRowRequest:
		stamp(r.GetTrueMutations())
		stamp(r.GetFalseMutations())
	case *bigtablepb.MutateRowsRequest:
		for _, entry := range r.GetEntries() {
			stamp(entry.GetMutations())
		}
	}
}

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

// administer passes a request on, hides the rules of garbage collection from the server, and notes which tables and
// views exist.
func (j *Journal) administer(ctx context.Context, request any, handler grpc.UnaryHandler) (any, error) {
	hideRules(request)
	response, err := handler(ctx, request)
	if err != nil {
		return response, err
	}
	if table, is := response.(*adminpb.Table); is {
		showRules(table)
	}
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		j.names[r.GetParent()+"/tables/"+r.GetTableId()] = true
	case *adminpb.CreateAuthorizedViewRequest:
		j.names[r.GetParent()+viewFolder+r.GetAuthorizedViewId()] = true
	case *adminpb.DeleteTableRequest:
		delete(j.names, r.GetName())
	case *adminpb.DeleteAuthorizedViewRequest:
		delete(j.names, r.GetName())
	}
	return response, nil
}

// viewFolder separates the names of a table and of its authorized view.
const viewFolder = "/authorizedViews/"

// stream records the changes of requests that mutate rows, and lets others read between changes.
func (j *Journal) stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) error {
	if strings.HasPrefix(info.FullMethod, dataService+"Open") { // sessions contain requests of their own
		return status.Error(codes.Unimplemented, "tables that are kept have no sessions")
	}
	if _, err := j.await(stream.Context()); err != nil {
		return err
	}
	s := &recordedStream{ServerStream: stream, j: j, unlock: func() {}}
	defer func() { s.unlock() }()
	return handler(srv, s)
}

// recordedStream is the stream of one request. It locks when the request is received; reads do not while they send.
type recordedStream struct {
	grpc.ServerStream
	j       *Journal
	mutates *bigtablepb.MutateRowsRequest // nil if the request reads
	unlock  func()                        // ends the locks
}

// RecvMsg receives the request.
func (s *recordedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err != nil {
		return err
	}
	if s.mutates, _ = m.(*bigtablepb.MutateRowsRequest); s.mutates == nil {
		s.j.rows.RLock()
		s.unlock = s.j.rows.RUnlock
		return nil
	}
	s.unlock, err = s.j.begin()
	stampRequest(s.mutates)
	return err
}

// SendMsg sends a response, after it has recorded what it says is changed.
func (s *recordedStream) SendMsg(m any) error {
	if s.mutates == nil {
		s.j.rows.RUnlock()
		defer s.j.rows.RLock()
		return s.ServerStream.SendMsg(m)
	}
	response, _ := m.(*bigtablepb.MutateRowsResponse)
	if err := s.j.saveRows(s.mutates.GetTableName(), s.mutates.GetEntries(), failure(response) == nil); err != nil {
		return err
	}
	s.unlock()
	s.mutates, s.unlock = &bigtablepb.MutateRowsRequest{}, func() {} // all is recorded
	return s.ServerStream.SendMsg(m)
}

// failure returns the first failure of mutations of many rows.
func failure(response *bigtablepb.MutateRowsResponse) error {
	for _, e := range response.GetEntries() {
		if e.GetStatus().GetCode() != int32(codes.OK) {
			return status.ErrorProto(e.GetStatus())
		}
	}
	return nil
}

// inProcess is the stream of a request to the server in this process.
type inProcess[T any] struct {
	grpc.ServerStream
	send func(response T) error
}

// Context returns the context of a request without metadata.
func (*inProcess[T]) Context() context.Context { return context.Background() }

// Send receives a response.
func (s *inProcess[T]) Send(response T) error { return s.send(response) }
