package journal

import (
	"context"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Methods begin with their service: of rows, or of table administration.
const (
	dataService  = "/google.bigtable.v2.Bigtable/"
	adminService = "/google.bigtable.admin.v2.BigtableTableAdmin/"
)

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

// unary records the changes of requests with one answer.
func (j *Journal) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	own, err := j.await(ctx)
	if err != nil {
		return nil, err
	}
	if own {
		if j.server == nil { // the first request
			j.server, _ = info.Server.(bigtablepb.BigtableServer)
		}
		return j.administer(ctx, request, handler)
	}
	if administers(info.FullMethod) {
		return j.recordAdmin(ctx, request, info.FullMethod, handler)
	}
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest, *bigtablepb.CheckAndMutateRowRequest, *bigtablepb.ReadModifyWriteRowRequest:
		return j.recordRow(ctx, r, handler)
	}
	return j.administer(ctx, request, handler)
}

// begin locks for a change. It returns an error if no change may happen; end is to be called in any case.
func (j *Journal) begin() (end func(), err error) {
	j.changes.Lock()
	j.rows.Lock()
	return func() { j.rows.Unlock(); j.changes.Unlock() }, j.ready()
}

// recordRow applies a request that changes one row, and records its effects.
func (j *Journal) recordRow(ctx context.Context, request any, handler grpc.UnaryHandler) (any, error) {
	end, err := j.begin()
	defer end()
	if err != nil {
		return nil, err
	}
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		stamp(r.GetMutations())
	case *bigtablepb.CheckAndMutateRowRequest:
		stamp(r.GetTrueMutations())
		stamp(r.GetFalseMutations())
	}
	response, err := handler(ctx, request)
	e := effects{table: request.(interface{ GetTableName() string }).GetTableName()}
	key := request.(interface{ GetRowKey() []byte }).GetRowKey()
	mutations, exact := mutationsOf(request, response)
	if err == nil && exact {
		e.add(key, mutations)
	} else if readErr := e.addState(j, key); readErr != nil {
		return nil, readErr
	}
	if saveErr := j.saveEffects(&e); saveErr != nil {
		return nil, saveErr
	}
	return response, err
}

// recordAdmin applies an administrative request, and records it. A refused request has changed nothing, except for
// modifications of families that precede one that was refused.
func (j *Journal) recordAdmin(ctx context.Context, request any, method string, handler grpc.UnaryHandler) (any, error) {
	end, err := j.begin()
	defer end()
	if err != nil {
		return nil, err
	}
	message, is := request.(proto.Message)
	if !is {
		return nil, status.Errorf(codes.Internal, "a request of type %T", request)
	}
	text, err := proto.Marshal(message) // before anything changes the request
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	response, err := j.administer(ctx, request, handler)
	if _, partly := request.(*adminpb.ModifyColumnFamiliesRequest); err == nil || partly && status.Code(err) != codes.NotFound {
		if saveErr := j.save(adminRecord(method, status.Code(err), text)); saveErr != nil {
			return nil, saveErr
		}
	}
	return response, err
}

// administer passes a request on, hides the rules of garbage collection from the server, and notes which tables and views
// exist.
func (j *Journal) administer(ctx context.Context, request any, handler grpc.UnaryHandler) (any, error) {
	hideRules(request)
	response, err := handler(ctx, request)
	if table, is := response.(*adminpb.Table); is && err == nil {
		showRules(table)
	}
	if err != nil {
		return response, err
	}
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		j.tables[r.GetParent()+"/tables/"+r.GetTableId()] = true
	case *adminpb.DeleteTableRequest:
		delete(j.tables, r.GetName())
	case *adminpb.CreateAuthorizedViewRequest:
		j.views[r.GetParent()+viewFolder+r.GetAuthorizedViewId()] = true
	case *adminpb.DeleteAuthorizedViewRequest:
		delete(j.views, r.GetName())
	}
	return response, err
}

// viewFolder separates the names of a table and of its authorized view.
const viewFolder = "/authorizedViews/"

// stream records the changes of requests that mutate rows, and lets others read between changes.
func (j *Journal) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if strings.HasPrefix(info.FullMethod, dataService+"Open") { // sessions contain requests of their own
		return status.Error(codes.Unimplemented, "tables that are kept have no sessions")
	}
	if own, err := j.await(stream.Context()); own || err != nil {
		if err == nil {
			err = handler(srv, stream)
		}
		return err
	}
	s := &recordedStream{ServerStream: stream, j: j}
	defer s.unlock()
	return handler(srv, s)
}

// recordedStream is the stream of one request. It locks when the request is received; reads do not while they send.
type recordedStream struct {
	grpc.ServerStream
	j       *Journal
	reads   sync.Locker                   // locked; nil if the request does not read
	mutates *bigtablepb.MutateRowsRequest // nil if it does not mutate, or is recorded
	end     func()                        // unlocks; nil if not locked
}

// unlock ends the request.
func (s *recordedStream) unlock() {
	if s.reads != nil {
		s.reads.Unlock()
	}
	if s.end != nil {
		s.end()
	}
	s.reads, s.end = nil, nil
}

// RecvMsg receives a request.
func (s *recordedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil || s.reads != nil || s.end != nil {
		return err
	}
	r, mutates := m.(*bigtablepb.MutateRowsRequest)
	if !mutates {
		s.reads = s.j.rows.RLocker()
		s.reads.Lock()
		return nil
	}
	end, err := s.j.begin()
	s.mutates, s.end = r, end
	for _, entry := range r.GetEntries() {
		stamp(entry.GetMutations())
	}
	return err
}

// SendMsg sends a response, after it has recorded what it says is changed.
func (s *recordedStream) SendMsg(m any) error {
	if r, is := m.(*bigtablepb.MutateRowsResponse); is && s.mutates != nil {
		if err := s.j.saveEntries(s.mutates, r); err != nil {
			return err
		}
		s.mutates = nil
		s.unlock()
	}
	if s.reads == nil {
		return s.ServerStream.SendMsg(m)
	}
	s.reads.Unlock()
	defer s.reads.Lock()
	return s.ServerStream.SendMsg(m)
}
