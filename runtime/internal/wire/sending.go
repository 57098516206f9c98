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

// mutateRows opens a stream that sends an outbox. It disables retries by gRPC, which a
// service config may enable, because they would hide the outcome of the first attempt.
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

// errForced is the error of a stream that does not use the outbox's codec.
var errForced = status.Error(codes.FailedPrecondition, "another interceptor forces a different codec")

// SendMsg sends the client's request without its placeholder; the codec adds the
// entries. If another codec is in use, the server gets a request that changes nothing.
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

// RecvMsg adds a message with the answer to the placeholder to the end of the stream.
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

// withoutEntries returns a copy of a request without its entries.
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

// outboxCodec is the [encoding.CodecV2] of one stream. It extends gRPC's own codec: it
// adds the entries of the outbox to the request and takes the answers out of responses.
type outboxCodec struct{ outbox *Outbox }

// Marshal encodes the request with the entries of the outbox. Each call begins an
// attempt, even if an interceptor retries the request by itself.
func (c outboxCodec) Marshal(v any) (mem.BufferSlice, error) {
	out, err := encoding.GetCodecV2(protocodec.Name).Marshal(v)
	if _, ok := v.(*bigtablepb.MutateRowsRequest); !ok || err != nil {
		return out, err
	}
	c.outbox.begin()
	return append(out, c.outbox.unsent()), nil
}

// Unmarshal decodes a response. Only the outbox gets the answers in it.
func (c outboxCodec) Unmarshal(data mem.BufferSlice, v any) error {
	response, ok := v.(*bigtablepb.MutateRowsResponse)
	if !ok {
		return encoding.GetCodecV2(protocodec.Name).Unmarshal(data, v)
	}
	message := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer message.Free()
	most := 2*c.outbox.sent() + 100 // the client accepts several for an entry
	answers, rest, err := decodeAnswers(c.outbox.answers[:0], message.ReadOnlyData(), most)
	if err != nil {
		if message.Len() > maxCopied {
			return err
		}
		return cmp.Or(proto.Unmarshal(message.ReadOnlyData(), response), err) // return the client's own error
	}
	c.outbox.answers = answers
	c.outbox.take()
	proto.Reset(response)
	return proto.Unmarshal(rest, response)
}

// Name is empty, so the call has the same content type as without this codec.
func (outboxCodec) Name() string { return "" }
