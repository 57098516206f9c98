package wire

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// codec is the [encoding.CodecV2] of one stream. It decodes responses and leaves requests to gRPC's own codec.
type codec struct{ decoder *decoder }

// Marshal encodes the request like gRPC.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

// Unmarshal decodes a response.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	response, ok := v.(*bigtablepb.ReadRowsResponse)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
	}
	c.decoder.used = true
	return c.decoder.decode(data, response)
}

// Name is empty, so the call has the same content type as without this codec.
func (codec) Name() string { return "" }
