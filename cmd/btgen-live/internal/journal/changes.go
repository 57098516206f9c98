package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
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

// replay applies a record again, an administrative request as one of a client.
func (j *Journal) replay(ctx context.Context, client *grpc.ClientConn, record []byte) error {
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
		if err := client.Invoke(ctx, method, &request, &response); status.Code(err) != codes.Code(code) {
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
	if len(key) == 0 || j.tables[table] == nil {
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
	again, err := j.await(ctx)
	if err != nil {
		return nil, err
	}
	row, isRow := request.(rowRequest)
	switch {
	case again && j.server == nil: // the first request
		j.server, _ = info.Server.(server)
		return handler(ctx, request)
	case again:
		if r, is := request.(*adminpb.UpdateSchemaBundleRequest); is && r.GetSchemaBundle() != nil {
			r.SchemaBundle.Etag = "" // it was the right one, but compaction gives others
		}
		return j.administer(ctx, request, info.FullMethod, handler, func([]byte) error { return nil })
	case !isRow && !administers(info.FullMethod):
		response, err := handler(ctx, request)
		showRules(response)
		return response, err
	}
	end, err := j.begin()
	defer end()
	if err != nil {
		return nil, err
	}
	if !isRow {
		return j.administer(ctx, request, info.FullMethod, handler, j.save)
	}
	stamp(request)
	response, err := handler(ctx, request)
	mutations, exact := effects(request, response)
	entries := []*bigtablepb.MutateRowsRequest_Entry{{RowKey: row.GetRowKey(), Mutations: mutations}}
	if failed := j.saveRows(row.GetTableName(), entries, exact && err == nil); failed != nil {
		return nil, failed
	}
	return response, err
}

// administers reports whether a method may change something other than rows. Unknown ones are recorded, so that what
// servers get later is not forgotten.
func administers(method string) bool {
	name, is := strings.CutPrefix(method, adminService)
	reads := func(verb string) bool { return strings.HasPrefix(name, verb) }
	return is && !slices.ContainsFunc([]string{"Get", "List", "Check", "Generate", "Test"}, reads)
}

// administer passes an administrative request on, hides the rules of garbage collection from the server, and saves the
// request. A refused one has changed nothing, except for modifications of families that precede one that was refused.
func (j *Journal) administer(
	ctx context.Context, request any, method string, handler grpc.UnaryHandler, save func(record []byte) error,
) (any, error) {
	text, err := proto.Marshal(request.(proto.Message)) // before anything changes the request
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	hideRules(request)
	response, err := handler(ctx, request)
	showRules(response)
	_, partly := request.(*adminpb.ModifyColumnFamiliesRequest)
	code := status.Code(err)
	if code != codes.OK && (!partly || code == codes.NotFound) {
		return response, err
	}
	record := requestOf(method, code, text)
	name := tableOf(request)
	switch request.(type) {
	case *adminpb.CreateTableRequest:
		j.tables[name] = [][]byte{record}
	case *adminpb.DeleteTableRequest:
		delete(j.tables, name)
	case *adminpb.DropRowRangeRequest:
	default:
		if records, exists := j.tables[name]; exists {
			j.tables[name] = append(records, record)
		}
	}
	if failed := save(record); failed != nil {
		return nil, failed
	}
	return response, err
}

// tableOf returns the name of the table that an administrative request is about.
func tableOf(request any) string {
	var name string // of the table, or of something in it
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		name = r.GetParent() + "/tables/" + r.GetTableId()
	case *adminpb.UpdateTableRequest:
		name = r.GetTable().GetName()
	case *adminpb.UpdateSchemaBundleRequest:
		name = r.GetSchemaBundle().GetName()
	case interface{ GetName() string }:
		name = r.GetName()
	case interface{ GetParent() string }:
		name = r.GetParent()
	}
	instance, inside, _ := strings.Cut(name, "/tables/")
	id, _, _ := strings.Cut(inside, "/")
	return instance + "/tables/" + id
}

// mutations returns the lists of mutations of a request: that of a row, those of which a condition chooses one, or
// those of many rows.
func mutations(request any) (out [][]*bigtablepb.Mutation) {
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		out = append(out, r.GetMutations())
	case *bigtablepb.CheckAndMutateRowRequest:
		out = append(out, r.GetTrueMutations(), r.GetFalseMutations())
	case *bigtablepb.MutateRowsRequest:
		for _, entry := range r.GetEntries() {
			out = append(out, entry.GetMutations())
		}
	}
	return out
}

// effects returns mutations that have the effect of a request that changes one row and succeeded, and whether they
// have it exactly.
func effects(request, response any) (out []*bigtablepb.Mutation, exact bool) {
	switch answer := response.(type) {
	case *bigtablepb.MutateRowResponse:
		return mutations(request)[0], true
	case *bigtablepb.CheckAndMutateRowResponse:
		if answer.GetPredicateMatched() {
			return mutations(request)[0], true
		}
		return mutations(request)[1], true
	case *bigtablepb.ReadModifyWriteRowResponse:
		for _, f := range answer.GetRow().GetFamilies() {
			for _, c := range f.GetColumns() {
				for _, cell := range c.GetCells() { // only the last one
					out = append(out, storedCell{f.GetName(), c.GetQualifier(), cell.GetTimestampMicros(), cell.GetValue()}.set())
				}
			}
		}
		rules := request.(*bigtablepb.ReadModifyWriteRowRequest).GetRules()
		return out, len(out) == len(rules)
	}
	return nil, false
}

// serverTime is the timestamp for which the server inserts its time.
const serverTime = -1

// stamp assigns the times that the server would. It truncates them to the granularity of the table, like those
// that a client has generated.
func stamp(request any) {
	now := time.Now().UnixMicro()
	for _, list := range mutations(request) {
		for _, m := range list {
			if set := m.GetSetCell(); set != nil && set.TimestampMicros == serverTime {
				set.TimestampMicros, m.TimestampOrigin = now, bigtablepb.Mutation_CLIENT_AUTO_GENERATED
			}
		}
	}
}

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
	stamp(s.mutates)
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
