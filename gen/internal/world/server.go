package world

import (
	"sync/atomic"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// serverOptions make a server answer reads in all forms that Bigtable may use: cells alone or together, values in
// parts, and progress without rows.
func serverOptions() []grpc.ServerOption {
	var streams atomic.Int64
	return []grpc.ServerOption{grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if info.FullMethod == bigtablepb.Bigtable_ReadRows_FullMethodName {
			if n := streams.Add(1); n%3 > 0 {
				stream = &choppedStream{ServerStream: stream, n: int(n)}
			}
		}
		return handler(srv, stream)
	})}
}

// choppedStream sends rows one by one, with values in parts. The client expects whole rows in a message.
type choppedStream struct {
	grpc.ServerStream
	n   int
	row []*bigtablepb.ReadRowsResponse_CellChunk // so far
}

// SendMsg sends the rows of a message.
func (s *choppedStream) SendMsg(m any) error {
	r, ok := m.(*bigtablepb.ReadRowsResponse)
	if !ok {
		return s.ServerStream.SendMsg(m)
	}
	for _, c := range r.Chunks {
		if s.n++; len(c.Value) > 1 && s.n%2 == 0 {
			part := proto.CloneOf(c)
			part.Value, part.RowStatus, part.ValueSize = c.Value[:1], nil, int32(len(c.Value))
			s.row = append(s.row, part)
			c = &bigtablepb.ReadRowsResponse_CellChunk{Value: c.Value[1:], RowStatus: c.RowStatus}
		}
		if s.row = append(s.row, c); !c.GetCommitRow() {
			continue
		}
		row, key := s.row, s.row[0].RowKey
		s.row = nil
		if err := s.ServerStream.SendMsg(&bigtablepb.ReadRowsResponse{Chunks: row}); err != nil {
			return err
		}
		if s.n%4 == 1 {
			if err := s.ServerStream.SendMsg(&bigtablepb.ReadRowsResponse{LastScannedRowKey: key}); err != nil {
				return err
			}
		}
	}
	return nil
}
