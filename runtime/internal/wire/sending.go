package wire

import (
	"cmp"
	"context"
	"io"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// mutateRows opens a stream that sends an outbox. gRPC is not to try again by itself, as
// a service config may have it do: what came of the first attempt would not be known.
func mutateRows(ctx context.Context, outbox *Outbox, open opener) (grpc.ClientStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	inner, err := open(ctx, grpc.ForceCodecV2(outboxCodec{outbox}), grpc.MaxRetryRPCBufferSize(0))
	if err != nil {
		cancel()
		return nil, err
	}
	return &sending{ClientStream: inner, outbox: outbox, cancel: cancel}, nil
}

// sending is one attempt of a MutateRows call.
type sending struct {
	grpc.ClientStream
	outbox *Outbox
	cancel context.CancelFunc
	ended  bool
}

// errForced says that the codec of the stream is not used.
var errForced = status.Error(codes.FailedPrecondition, "another interceptor forces a codec of its own")

// SendMsg sends the client's request without its placeholder, to which the codec adds
// the entries. Where it does not, the server gets a request that changes nothing.
func (s *sending) SendMsg(m any) error {
	request, ok := m.(*bigtablepb.MutateRowsRequest)
	if !ok {
		return s.ClientStream.SendMsg(m)
	}
	before := s.outbox.attempts
	err := s.ClientStream.SendMsg(withoutEntries(request))
	if err == nil && s.outbox.attempts == before {
		s.cancel()
		return errForced
	}
	return err
}

// RecvMsg adds to what the server sends a message with the answer to the placeholder.
func (s *sending) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		return nil
	}
	if response, ok := m.(*bigtablepb.MutateRowsResponse); ok && err == io.EOF && !s.ended {
		s.ended = true
		response.Entries = []*bigtablepb.MutateRowsResponse_Entry{{Status: s.outbox.end().Proto()}}
		return nil
	}
	s.cancel()
	return err
}

// withoutEntries returns a request that says all that another does, but for its
// entries.
func withoutEntries(request *bigtablepb.MutateRowsRequest) *bigtablepb.MutateRowsRequest {
	out := new(bigtablepb.MutateRowsRequest)
	to := out.ProtoReflect()
	request.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Number() != fieldEntries {
			to.Set(f, v)
		}
		return true
	})
	to.SetUnknown(request.ProtoReflect().GetUnknown())
	return out
}

// outboxCodec is the [encoding.CodecV2] of one stream: gRPC's own, but for the
// request, to which it adds the entries of the outbox, and for the answers to them.
type outboxCodec struct{ outbox *Outbox }

// Marshal returns the request with the entries of the outbox. It begins an attempt:
// also one of an interceptor that sends the request once more.
func (c outboxCodec) Marshal(v any) (mem.BufferSlice, error) {
	out, err := encoding.GetCodecV2(protocodec.Name).Marshal(v)
	if _, ok := v.(*bigtablepb.MutateRowsRequest); !ok || err != nil {
		return out, err
	}
	c.outbox.begin()
	return append(out, c.outbox.unsent()), nil
}

// Unmarshal decodes a response. The answers in it go to the outbox alone.
func (c outboxCodec) Unmarshal(data mem.BufferSlice, v any) error {
	response, ok := v.(*bigtablepb.MutateRowsResponse)
	if !ok {
		return encoding.GetCodecV2(protocodec.Name).Unmarshal(data, v)
	}
	message := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer message.Free()
	answers, rest, err := decodeAnswers(c.outbox.answers[:0], message.ReadOnlyData())
	if err != nil {
		return cmp.Or(proto.Unmarshal(message.ReadOnlyData(), response), err) // in the words of the client
	}
	c.outbox.answers = answers
	c.outbox.take()
	proto.Reset(response)
	return proto.Unmarshal(rest, response)
}

// Name is empty, so that the call has the same content type as without the codec.
func (outboxCodec) Name() string { return "" }
