package world

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// server is what a world and its server share.
type server struct {
	breaks   atomic.Int64 // streams that break off
	changing atomic.Int64 // requests that change rows, and are being served
}

// options make the server answer reads in all forms that Bigtable may use: cells alone or together, values in parts,
// rows that begin again, and progress without rows, wherever none are. As many streams as breaks says break off once they
// told of progress.
func (s *server) options() []grpc.ServerOption {
	var streams atomic.Int64
	unary := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		s.changing.Add(1)
		defer s.changing.Add(-1)
		return handler(ctx, request)
	}
	stream := func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		n := streams.Add(1)
		switch {
		case info.FullMethod == bigtablepb.Bigtable_MutateRows_FullMethodName:
			s.changing.Add(1)
			defer s.changing.Add(-1)
			return handler(srv, stream)
		case info.FullMethod != bigtablepb.Bigtable_ReadRows_FullMethodName || n%3 == 0 && s.breaks.Load() <= 0:
			return handler(srv, stream)
		}
		chopped := &choppedStream{ServerStream: stream, breaks: &s.breaks, n: int(n)}
		if err := handler(srv, chopped); err != nil || chopped.request.GetRowsLimit() > 0 {
			return err
		}
		return chopped.beat("")
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(unary), grpc.StreamInterceptor(stream)}
}

// settle waits for the requests whose calls have ended before their answers came: nothing else knows when they are done.
func (s *server) settle() {
	for s.changing.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// choppedStream sends rows one by one, with values in parts. The client expects whole rows in a message.
type choppedStream struct {
	grpc.ServerStream
	breaks  *atomic.Int64
	n       int
	request *bigtablepb.ReadRowsRequest
	row     []*bigtablepb.ReadRowsResponse_CellChunk // so far
	last    string                                   // key of the last row, or of the last progress
}

// RecvMsg receives the request.
func (s *choppedStream) RecvMsg(m any) error {
	s.request, _ = m.(*bigtablepb.ReadRowsRequest)
	return s.ServerStream.RecvMsg(m)
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
		row, key := s.row, string(s.row[0].RowKey)
		s.row = nil
		if err := s.beat(key); err != nil {
			return err
		}
		if s.n%5 == 2 && len(row) > 1 {
			again := &bigtablepb.ReadRowsResponse_CellChunk{RowStatus: &bigtablepb.ReadRowsResponse_CellChunk_ResetRow{ResetRow: true}}
			row = append(append(slices.Clone(row[:len(row)-1]), again), row...)
		}
		sent := &bigtablepb.ReadRowsResponse{Chunks: row}
		if s.last = key; s.n%7 == 3 {
			sent.LastScannedRowKey = []byte(key)
		}
		if err := s.tell(sent); err != nil {
			return err
		}
	}
	return nil
}

// tell sends a message that tells of progress, after which the stream may break off.
func (s *choppedStream) tell(m *bigtablepb.ReadRowsResponse) error {
	if err := s.ServerStream.SendMsg(m); err != nil || s.breaks.Add(-1) < 0 {
		return err
	}
	return status.Error(codes.Internal, "the stream breaks off")
}

// beat sometimes tells that rows were scanned up to a key between the last row and the next one, which is empty if
// there is none.
func (s *choppedStream) beat(next string) error {
	if s.n++; s.n%3 != 1 && s.breaks.Load() <= 0 || s.request.GetRows() == nil {
		return nil
	}
	var keys []string
	for _, of := range []string{s.last, next} {
		if keys = append(keys, of, of+"\x00", of+"~"); of != "" {
			keys = append(keys, of[:len(of)-1])
		}
	}
	for _, r := range s.request.Rows.RowRanges {
		keys = append(keys, string(r.GetStartKeyClosed()), string(r.GetEndKeyOpen()))
	}
	reversed := s.request.Reversed
	between := func(key string) bool {
		from, to := s.last, next
		if reversed {
			from, to = to, from
		}
		in := func(r *bigtablepb.RowRange) bool {
			end := string(r.GetEndKeyOpen())
			return string(r.GetStartKeyClosed()) <= key && (end == "" || key < end)
		}
		return key != "" && (from == "" || from < key || !reversed && from == key) && (to == "" || key < to || reversed && key == to) &&
			slices.ContainsFunc(s.request.Rows.RowRanges, in)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return !between(key) })
	if len(keys) == 0 {
		return nil
	}
	s.last = keys[s.n%len(keys)]
	return s.tell(&bigtablepb.ReadRowsResponse{LastScannedRowKey: []byte(s.last)})
}
