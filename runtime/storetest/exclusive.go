package storetest

import (
	"context"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
)

// exclusive lets the in-memory server change rows only while no request reads one: its reads
// use parts of rows that mutations change in place, also those of reads that a client ended
// early. A read that waits for its client does not stop mutations.
type exclusive struct{ rows sync.RWMutex }

// unary handles mutations of one row.
func (x *exclusive) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	switch request.(type) {
	case *bigtablepb.MutateRowRequest, *bigtablepb.CheckAndMutateRowRequest, *bigtablepb.ReadModifyWriteRowRequest:
		x.rows.Lock()
		defer x.rows.Unlock()
	}
	return handler(ctx, request)
}

// stream handles reads, and mutations of many rows.
func (x *exclusive) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	s := &exclusiveStream{ServerStream: stream, rows: &x.rows}
	defer func() {
		if s.held != nil {
			s.held.Unlock()
		}
	}()
	return handler(srv, s)
}

// exclusiveStream is a stream whose handler holds a lock from its request on, except while it
// sends.
type exclusiveStream struct {
	grpc.ServerStream
	rows *sync.RWMutex
	held sync.Locker // nil before the request
}

// RecvMsg receives a request.
func (s *exclusiveStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil || s.held != nil {
		return err
	}
	switch request := m.(type) {
	case *bigtablepb.ReadRowsRequest:
		s.held = s.rows.RLocker()
		request.Filter = withoutPatterns(request.GetFilter())
	case *bigtablepb.MutateRowsRequest:
		s.held = s.rows
	default:
		return nil
	}
	s.held.Lock()
	return nil
}

// SendMsg sends a response, which may wait for the client.
func (s *exclusiveStream) SendMsg(m any) error {
	if s.held != nil {
		s.held.Unlock()
		defer s.held.Lock()
	}
	return s.ServerStream.SendMsg(m)
}
