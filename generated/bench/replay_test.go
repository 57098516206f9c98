package main

import (
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// newReplayed returns a client with the ClientOptions of generated code whose reads get the responses of
// a server from memory. Nothing but the client then uses the CPUs.
func newReplayed(t testing.TB, s *server) *bigtable.Client {
	t.Helper()
	return connected(t)(storetest.Connect(t.Context(), "127.0.0.1:1", grpc.WithChainStreamInterceptor(inmemory.Replay(s.replay))))
}

// replay returns the responses to a read, which it computes once.
func (s *server) replay(_ string, request []byte) (next func() ([]byte, error), err error) {
	responses, _ := s.known(string(request))
	if responses == nil {
		r := new(bigtablepb.ReadRowsRequest)
		if err := proto.Unmarshal(request, r); err != nil {
			return nil, err
		}
		if responses, err = s.responses(r); err != nil {
			return nil, err
		}
		s.keep(string(request), responses)
	}
	return inmemory.Responses(responses...), nil
}
