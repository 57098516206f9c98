// Package wire decodes the responses of ReadRows straight from the wire, and encodes
// the requests of MutateRows straight to it, inside the official client. A stream
// interceptor takes the rows of a response aside and hands the client a placeholder
// of one cell instead, and puts entries that are encoded already in the place of
// a placeholder that the client sends. So the client goes on doing retries,
// resumption, limits, headers, metrics and tracing, and is spared a message for
// each cell and an item for each cell of its own [bigtable.Row]. Where it has no
// limit of rows to keep to, one placeholder is enough for all rows of a response.
//
// It knows the protocol and nothing of layouts or events. Where the interceptor is
// not installed, or not asked, ordinary rows arrive, and [Sink.Rows] takes them too;
// [Intercepted] says whether an [Outbox] can be sent, and [AddTo] makes of
// mutations what the client takes otherwise.
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

// ClientOptions returns the options that install the interceptor in a client. They
// do nothing to a client that is given a connection, see [DialOption].
func ClientOptions() []option.ClientOption {
	return []option.ClientOption{option.WithGRPCDialOption(DialOption())}
}

// DialOption returns what installs the interceptor in a connection that is to be
// given to a client.
func DialOption() grpc.DialOption { return grpc.WithChainStreamInterceptor(intercept) }

// The methods that are intercepted. Clients up to 1.37 have no constants for them.
const (
	methodReadRows   = "/google.bigtable.v2.Bigtable/ReadRows"
	methodMutateRows = "/google.bigtable.v2.Bigtable/MutateRows"
)

// intercept is a [grpc.StreamClientInterceptor] that touches nothing but ReadRows
// calls whose context has a sink, and MutateRows calls whose context has an outbox
// or asks whether it is there.
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

// opener opens the stream of an attempt, with more options.
type opener func(ctx context.Context, more ...grpc.CallOption) (grpc.ClientStream, error)

// readRows opens a stream whose rows go to a sink.
func readRows(ctx context.Context, sink *Sink, open opener) (grpc.ClientStream, error) {
	d := decoders.Get().(*decoder)
	d.sink = sink
	inner, err := open(ctx, d.option)
	if err != nil {
		return nil, err
	}
	sink.intercepted = true
	return &stream{ClientStream: inner, decoder: d}, nil
}

// stream is one attempt of a ReadRows call. A row that it breaks off in is gone
// with it: the client asks for it again.
type stream struct {
	grpc.ClientStream
	decoder *decoder // nil when the stream is over
}

// SendMsg looks into the request for the order of the rows, and whether the client
// counts them.
func (s *stream) SendMsg(m any) error {
	if request, ok := m.(*bigtablepb.ReadRowsRequest); ok && s.decoder != nil {
		s.decoder.reversed, s.decoder.single = request.Reversed, request.RowsLimit > 0
	}
	return s.ClientStream.SendMsg(m)
}

// RecvMsg lets the client see that the stream has ended within a row.
func (s *stream) RecvMsg(m any) error {
	if s.decoder == nil {
		return s.ClientStream.RecvMsg(m)
	}
	s.decoder.used = false
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.decoder.sink.bypassed = s.decoder.sink.bypassed || !s.decoder.used
		return nil
	}
	if response, ok := m.(*bigtablepb.ReadRowsResponse); ok && err == io.EOF && s.decoder.state != newRow {
		s.decoder.unfinished(response)
		return nil
	}
	s.decoder.release()
	s.decoder = nil
	return err
}
