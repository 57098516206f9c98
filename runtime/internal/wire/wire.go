// Package wire decodes ReadRows responses directly from the wire format and encodes MutateRows requests directly to
// it, inside the official client. It saves the client's cost per cell: a message, and an item in a [bigtable.Row].
//
// A stream interceptor sets the rows of a response aside and gives the client a placeholder row of one cell instead.
// In requests, it replaces a placeholder that the client sends by encoded entries. The client therefore still does
// retries, resumption, limits, headers, metrics and tracing. Unless the read has a row limit, one placeholder stands
// for all rows of a response. Calls for single rows get their mutations in the same way, or only have their attempts counted; see
// [ApplyEncoded] and [Apply].
//
// The package knows the protocol but neither table layouts nor events. Without the interceptor, the client yields
// ordinary rows, which [Sink.Rows] accepts, too. [Intercepted] reports whether an [Outbox] can be sent; if not,
// a [Converter] converts mutations to the client's type.
package wire

import (
	"context"
	"io"
	"slices"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// ClientOptions returns the options that install the interceptors in a client. They have
// no effect on a client that is given a connection; for those, see [DialOptions].
func ClientOptions() (out []option.ClientOption) {
	for _, o := range DialOptions() {
		out = append(out, option.WithGRPCDialOption(o))
	}
	return out
}

// DialOptions returns the options that install the interceptors in a connection.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{DialOption(), grpc.WithChainUnaryInterceptor(interceptUnary)}
}

// DialOption returns the option that installs the interceptor of reads and bulk requests.
func DialOption() grpc.DialOption { return grpc.WithChainStreamInterceptor(intercept) }

// The intercepted methods.
const (
	methodReadRows   = bigtablepb.Bigtable_ReadRows_FullMethodName
	methodMutateRows = bigtablepb.Bigtable_MutateRows_FullMethodName
	methodMutateRow  = bigtablepb.Bigtable_MutateRow_FullMethodName
)

// intercept is a [grpc.StreamClientInterceptor]. It affects only ReadRows calls whose
// context has a sink and MutateRows calls whose context has an outbox or a probe.
func intercept(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	open := func(ctx context.Context, more ...grpc.CallOption) (grpc.ClientStream, error) {
		return streamer(ctx, desc, conn, method, append(slices.Clip(opts), more...)...)
	}
	switch method {
	case methodReadRows:
		if sink, ok := ctx.Value(sinkKey{}).(*Sink); ok {
			return readRows(ctx, sink, open)
		}
	case methodMutateRows:
		if outbox, ok := ctx.Value(outboxKey{}).(*Outbox); ok {
			return mutateRows(ctx, outbox, open)
		}
		if p, ok := ctx.Value(probeKey{}).(*probe); ok {
			p.seen = true
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return streamer(ctx, desc, conn, method, opts...)
}

// opener opens the stream of an attempt with additional options.
type opener func(ctx context.Context, more ...grpc.CallOption) (grpc.ClientStream, error)

// readRows opens a stream that decodes its rows to a sink.
func readRows(ctx context.Context, sink *Sink, open opener) (grpc.ClientStream, error) {
	d := decoders.Get().(*decoder)
	d.sink = sink
	inner, err := open(ctx, d.option)
	if err != nil {
		return nil, err
	}
	sink.intercepted = true
	sink.opened(1)
	return &stream{ClientStream: inner, decoder: d}, nil
}

// stream is one attempt of a ReadRows call. If it breaks off within a row, the row is
// discarded; the client requests it again.
type stream struct {
	grpc.ClientStream
	decoder *decoder // nil after the end of the stream
}

// SendMsg takes from the request whether rows are in reverse order and whether the client counts them.
func (s *stream) SendMsg(m any) error {
	if request, ok := m.(*bigtablepb.ReadRowsRequest); ok && s.decoder != nil {
		s.decoder.reversed, s.decoder.single = request.Reversed, request.RowsLimit > 0
	}
	return s.ClientStream.SendMsg(m)
}

// RecvMsg reports to the client that the stream ended within a row.
func (s *stream) RecvMsg(m any) error {
	if s.decoder == nil {
		return s.ClientStream.RecvMsg(m)
	}
	s.decoder.used = false
	s.decoder.sink.settle()
	err := s.ClientStream.RecvMsg(m)
	response, ok := m.(*bigtablepb.ReadRowsResponse)
	if err == nil {
		s.decoder.sink.bypassed = s.decoder.sink.bypassed || !s.decoder.used
		s.decoder.sink.arrived(response.GetLastScannedRowKey())
		return nil
	}
	if ok && err == io.EOF && s.decoder.state != newRow {
		s.decoder.unfinished(response)
		return nil
	}
	s.decoder.sink.opened(-1)
	s.decoder.release()
	s.decoder = nil
	return err
}
