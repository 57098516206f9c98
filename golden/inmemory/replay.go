package inmemory

import (
	"context"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// Replay answers the streams of a client in place of a connection. answer takes the name of a method and a request, and
// returns a function that returns the responses to it one by one, and nil at the end. Both are in wire format.
func Replay(answer func(method string, request []byte) (next func() ([]byte, error), err error)) grpc.StreamClientInterceptor {
	return func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s := &stream{ctx: ctx, codec: encoding.GetCodecV2(proto.Name), next: Responses()}
		s.answer = func(request []byte) (func() ([]byte, error), error) {
			return answer(method[strings.LastIndex(method, "/")+1:], request)
		}
		for _, o := range opts {
			if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
				s.codec = forced.CodecV2
			}
		}
		return s, nil
	}
}

// Responses returns a function that returns responses one by one, as [Replay] needs it.
func Responses(all ...[]byte) (next func() ([]byte, error)) {
	return func() (response []byte, err error) {
		if len(all) > 0 {
			response, all = all[0], all[1:]
		}
		return response, nil
	}
}

// stream is the stream of one request.
type stream struct {
	ctx    context.Context
	codec  encoding.CodecV2
	answer func(request []byte) (next func() ([]byte, error), err error)
	next   func() ([]byte, error) // see Replay
}

func (s *stream) Header() (metadata.MD, error) { return nil, nil }
func (s *stream) Trailer() metadata.MD         { return nil }
func (s *stream) CloseSend() error             { return nil }
func (s *stream) Context() context.Context     { return s.ctx }

// SendMsg answers the request.
func (s *stream) SendMsg(m any) error {
	data, err := s.codec.Marshal(m)
	if err != nil {
		return err
	}
	next, err := s.answer(data.Materialize())
	if err == nil {
		s.next = next
	} else {
		s.next = func() ([]byte, error) { return nil, err }
	}
	return nil
}

// RecvMsg returns the next response.
func (s *stream) RecvMsg(m any) error {
	if err := s.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	response, err := s.next()
	switch {
	case err != nil:
		return status.Convert(err).Err()
	case response == nil:
		return io.EOF
	}
	return s.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(response)}, m)
}

// Field numbers of google.bigtable.v2.ReadRowsResponse, its chunks, and of wrapped values.
const (
	chunksField    = 1
	keyField       = 1
	familyField    = 2
	qualifierField = 3
	timestampField = 4
	valueField     = 6
	commitField    = 9
	wrappedField   = 1
)

// AppendRow appends a row to the response to a read in wire format, in the form that Bigtable sends: with names only where
// they change. A row without cells is none.
func AppendRow(response []byte, key string, cells []Cell) []byte {
	var chunk, wrapped []byte
	wrap := func(field protowire.Number, name string) {
		wrapped = protowire.AppendString(protowire.AppendTag(wrapped[:0], wrappedField, protowire.BytesType), name)
		chunk = protowire.AppendBytes(protowire.AppendTag(chunk, field, protowire.BytesType), wrapped)
	}
	for i, c := range cells {
		if chunk = chunk[:0]; i == 0 {
			chunk = protowire.AppendString(protowire.AppendTag(chunk, keyField, protowire.BytesType), key)
		}
		named := i > 0 && c.Family == cells[i-1].Family
		if !named {
			wrap(familyField, c.Family)
		}
		if !named || c.Qualifier != cells[i-1].Qualifier {
			wrap(qualifierField, c.Qualifier)
		}
		chunk = protowire.AppendVarint(protowire.AppendTag(chunk, timestampField, protowire.VarintType), uint64(c.Micros))
		if len(c.Value) > 0 {
			chunk = protowire.AppendBytes(protowire.AppendTag(chunk, valueField, protowire.BytesType), c.Value)
		}
		if i == len(cells)-1 {
			chunk = protowire.AppendVarint(protowire.AppendTag(chunk, commitField, protowire.VarintType), 1)
		}
		response = protowire.AppendBytes(protowire.AppendTag(response, chunksField, protowire.BytesType), chunk)
	}
	return response
}
