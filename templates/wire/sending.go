package wire

import (
	"cmp"
	"io"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// mutateRows opens a stream that sends an outbox.
func mutateRows(outbox *Outbox, open opener) (grpc.ClientStream, error) {
	outbox.begin()
	inner, err := open(grpc.ForceCodecV2(outboxCodec{outbox}))
	if err != nil {
		return nil, err
	}
	outbox.opened = true
	return &sending{ClientStream: inner, outbox: outbox}, nil
}

// sending is one attempt of a MutateRows call.
type sending struct {
	grpc.ClientStream
	outbox *Outbox
	ended  bool
}

// RecvMsg adds to what the server sends a message with the answer to the placeholder.
func (s *sending) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if response, ok := m.(*bigtablepb.MutateRowsResponse); ok && err == io.EOF && !s.ended {
		s.ended = true
		response.Entries = []*bigtablepb.MutateRowsResponse_Entry{{Status: s.outbox.end().Proto()}}
		return nil
	}
	return err
}

// outboxCodec is the [encoding.CodecV2] of one stream: gRPC's own, but for the
// request, whose entries are those of the outbox, and for the answers to them.
type outboxCodec struct{ outbox *Outbox }

// Marshal returns the request: what the client says but for its entries, and then
// those of the outbox.
func (c outboxCodec) Marshal(v any) (mem.BufferSlice, error) {
	request, ok := v.(*bigtablepb.MutateRowsRequest)
	if !ok {
		return encoding.GetCodecV2(protocodec.Name).Marshal(v)
	}
	out, err := encoding.GetCodecV2(protocodec.Name).Marshal(withoutEntries(request))
	if err != nil {
		return nil, err
	}
	return append(out, c.outbox.unsent()), nil
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
