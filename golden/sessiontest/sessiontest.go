// Package sessiontest adds the session protocol of the official client to servers for
// tests: virtual RPCs on long-lived streams, to which the client diverts reads and
// writes of single rows if Bigtable tells it to. The same server answers them with its
// ordinary methods. The package supports the protocol of the client in this module's
// go.mod and does not depend on tables or events; older clients have no sessions. Its tests are in package examples.
package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Sessions adds the session protocol to a server.
type Sessions struct {
	// Load is the share of the calls for single rows that clients divert, from 0 to 1.
	Load float64
	// Fail returns the error of a virtual RPC that the server does not execute; nil for
	// one that it executes. A nil Fail executes all.
	Fail func() error

	reads, writes atomic.Int64
}

// LoadVariable is the environment variable with the share of diverted calls for tests
// that do not know sessions.
const LoadVariable = "BTGEN_SESSION_LOAD"

// FromEnvironment returns Sessions with the load in LoadVariable.
func FromEnvironment() *Sessions {
	load, _ := strconv.ParseFloat(os.Getenv(LoadVariable), 64)
	return &Sessions{Load: load}
}

// Reads returns the number of rows requested in sessions.
func (s *Sessions) Reads() int64 { return s.reads.Load() }

// Writes returns the number of mutations sent in sessions.
func (s *Sessions) Writes() int64 { return s.writes.Load() }

// ServerOptions returns options for the gRPC server of a Bigtable.
func (s *Sessions) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(s.unary), grpc.ChainStreamInterceptor(s.stream)}
}

// unary instructs clients how many calls to divert.
func (s *Sessions) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if info.FullMethod != bigtablepb.Bigtable_GetClientConfiguration_FullMethodName {
		return handle(ctx, request)
	}
	return &bigtablepb.ClientConfiguration{SessionConfiguration: &bigtablepb.SessionClientConfiguration{
		SessionLoad:              float32(s.Load),
		SessionPoolConfiguration: &bigtablepb.SessionClientConfiguration_SessionPoolConfiguration{MinSessionCount: 1, MaxSessionCount: 8},
	}}, nil
}

// stream serves sessions.
func (s *Sessions) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod != bigtablepb.Bigtable_OpenTable_FullMethodName {
		return handle(server, stream)
	}
	c := session{
		Sessions: s, server: server.(bigtablepb.BigtableServer),
		stream: &grpc.GenericServerStream[bigtablepb.SessionRequest, bigtablepb.SessionResponse]{ServerStream: stream},
	}
	return c.serve()
}

// session is a stream of virtual RPCs to a table.
type session struct {
	*Sessions
	server bigtablepb.BigtableServer
	stream bigtablepb.Bigtable_OpenTableServer
	table  bigtablepb.OpenTableRequest
}

func (s *session) serve() error {
	for {
		request, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch p := request.Payload.(type) {
		case *bigtablepb.SessionRequest_OpenSession:
			if err := proto.Unmarshal(p.OpenSession.Payload, &s.table); err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
			open := &bigtablepb.SessionResponse_OpenSession{OpenSession: new(bigtablepb.OpenSessionResponse)}
			// A client on a busy machine must not take a late answer for a dead connection.
			patient := &bigtablepb.SessionResponse_SessionParameters{SessionParameters: &bigtablepb.SessionParametersResponse{KeepAlive: durationpb.New(5 * time.Second)}}
			for _, r := range []*bigtablepb.SessionResponse{{Payload: open}, {Payload: patient}} {
				if err := s.stream.Send(r); err != nil {
					return err
				}
			}
		case *bigtablepb.SessionRequest_CloseSession:
			return nil
		case *bigtablepb.SessionRequest_VirtualRpc:
			if err := s.stream.Send(s.answer(p.VirtualRpc)); err != nil {
				return err
			}
		}
	}
}

// answer executes a virtual RPC.
func (s *session) answer(r *bigtablepb.VirtualRpcRequest) *bigtablepb.SessionResponse {
	response, err := s.call(r)
	if err != nil {
		failed := &bigtablepb.ErrorResponse{RpcId: r.RpcId, Status: status.Convert(err).Proto()}
		return &bigtablepb.SessionResponse{Payload: &bigtablepb.SessionResponse_Error{Error: failed}}
	}
	payload, _ := proto.Marshal(response) // no error: the message was decoded before
	done := &bigtablepb.VirtualRpcResponse{RpcId: r.RpcId, Payload: payload}
	return &bigtablepb.SessionResponse{Payload: &bigtablepb.SessionResponse_VirtualRpc{VirtualRpc: done}}
}

func (s *session) call(r *bigtablepb.VirtualRpcRequest) (*bigtablepb.TableResponse, error) {
	var request bigtablepb.TableRequest
	if err := proto.Unmarshal(r.Payload, &request); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	switch p := request.Payload.(type) {
	case *bigtablepb.TableRequest_ReadRow:
		s.reads.Add(1)
		row, err := s.readRow(p.ReadRow)
		return &bigtablepb.TableResponse{Payload: &bigtablepb.TableResponse_ReadRow{ReadRow: &bigtablepb.SessionReadRowResponse{Row: row}}}, err
	case *bigtablepb.TableRequest_MutateRow:
		s.writes.Add(1)
		err := s.mutateRow(p.MutateRow)
		return &bigtablepb.TableResponse{Payload: &bigtablepb.TableResponse_MutateRow{MutateRow: new(bigtablepb.SessionMutateRowResponse)}}, err
	}
	return nil, status.Errorf(codes.Unimplemented, "virtual RPC %T", request.Payload)
}

func (s *session) mutateRow(r *bigtablepb.SessionMutateRowRequest) error {
	if err := s.fails(); err != nil {
		return err
	}
	_, err := s.server.MutateRow(s.stream.Context(), &bigtablepb.MutateRowRequest{TableName: s.table.TableName, RowKey: r.Key, Mutations: r.Mutations})
	return err
}

func (s *session) readRow(r *bigtablepb.SessionReadRowRequest) (*bigtablepb.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	rows := &rowStream{ctx: s.stream.Context()}
	err := s.server.ReadRows(&bigtablepb.ReadRowsRequest{
		TableName: s.table.TableName, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{r.Key}}, Filter: r.Filter,
	}, rows)
	return rows.row, err
}

func (s *session) fails() error {
	if s.Fail == nil {
		return nil
	}
	return s.Fail()
}

// rowStream collects the row that ReadRows sends. Its cells must not be split.
type rowStream struct {
	bigtablepb.Bigtable_ReadRowsServer
	ctx    context.Context
	row    *bigtablepb.Row
	family *bigtablepb.Family
	column *bigtablepb.Column
}

func (s *rowStream) Context() context.Context { return s.ctx }

func (s *rowStream) Send(r *bigtablepb.ReadRowsResponse) error {
	for _, c := range r.Chunks {
		if c.ValueSize > 0 || c.GetResetRow() {
			return status.Error(codes.Unimplemented, "a row in pieces")
		}
		s.take(c)
	}
	return nil
}

// take adds a cell.
func (s *rowStream) take(c *bigtablepb.ReadRowsResponse_CellChunk) {
	if s.row == nil {
		s.row = &bigtablepb.Row{Key: c.RowKey}
	}
	if c.FamilyName != nil && (s.family == nil || s.family.Name != c.FamilyName.Value) {
		s.family, s.column = &bigtablepb.Family{Name: c.FamilyName.Value}, nil
		s.row.Families = append(s.row.Families, s.family)
	}
	if c.Qualifier != nil && (s.column == nil || string(s.column.Qualifier) != string(c.Qualifier.Value)) {
		s.column = &bigtablepb.Column{Qualifier: c.Qualifier.Value}
		s.family.Columns = append(s.family.Columns, s.column)
	}
	s.column.Cells = append(s.column.Cells, &bigtablepb.Cell{TimestampMicros: c.TimestampMicros, Value: c.Value, Labels: c.Labels})
}

// Connect returns a client with sessions for the server at addr. The client opens its
// connections itself, because one that is given a connection has no sessions.
func Connect(ctx context.Context, addr, project, instance string, opts ...option.ClientOption) (*bigtable.Client, error) {
	w := watch{told: make(chan float32, 16)}
	opts = append([]option.ClientOption{
		option.WithEndpoint(addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(w.unary)),
		option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(w.stream)),
	}, opts...)
	config := bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}, DisableDirectAccess: true}
	client, err := bigtable.NewClientWithConfig(ctx, project, instance, config, opts...)
	if err != nil {
		return nil, err
	}
	if err := w.wait(ctx, client); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// watch observes the server's instructions to a client, and whether it opens sessions.
type watch struct {
	told   chan float32
	opened atomic.Bool
}

func (w *watch) unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, request, reply, conn, opts...)
	if c, ok := reply.(*bigtablepb.ClientConfiguration); ok {
		load := c.GetSessionConfiguration().GetSessionLoad()
		if err != nil { // the server has no sessions
			load = 0
		}
		select {
		case w.told <- load:
		default: // one is enough
		}
	}
	return err
}

func (w *watch) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if method == bigtablepb.Bigtable_OpenTable_FullMethodName {
		w.opened.Store(true)
	}
	if ctx.Value(probeKey{}) != nil { // the server and other interceptors need not see it
		return nil, status.Error(codes.NotFound, "a probe")
	}
	return open(ctx, desc, conn, method, opts...)
}

// probeTable is the table of calls that wait until the client diverts one.
const probeTable = "no-such-table"

// probeKey marks the context of these calls.
type probeKey struct{}

// probeTimeout limits each of these calls. The client may never answer one: if a session
// opens just before the call begins to wait for it, the call is not woken.
const probeTimeout = 100 * time.Millisecond

// probe makes one of these calls. Its result does not matter, because the table does not
// exist.
func probe(ctx context.Context, table bigtable.TableAPI) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, _ = table.ReadRow(ctx, "row")
}

// wait waits until the client follows the server's instructions.
func (w *watch) wait(ctx context.Context, client *bigtable.Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case load := <-w.told:
		if load == 0 {
			return nil
		}
	case <-ctx.Done():
		return fmt.Errorf("the client asks for no configuration: %w", context.Cause(ctx))
	}
	table, ctx := client.OpenTable(probeTable), context.WithValue(ctx, probeKey{}, true)
	for !w.opened.Load() {
		probe(ctx, table)
		if ctx.Err() != nil && !w.opened.Load() {
			return fmt.Errorf("the client opens no session: %w", context.Cause(ctx))
		}
	}
	return nil
}
