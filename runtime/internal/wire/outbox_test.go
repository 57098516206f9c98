package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

type (
	mutateRequest = bigtablepb.MutateRowsRequest
	answer        = bigtablepb.MutateRowsResponse_Entry
	mutateStream  = bigtablepb.Bigtable_MutateRowsServer
	answers       = func(s *mutateServer, attempt int, request *mutateRequest, stream mutateStream) error
)

// mutateServer is a Bigtable that records requests, headers and stored rows, and
// answers as a test specifies.
type mutateServer struct {
	warm
	answer answers

	mu       sync.Mutex
	requests []*mutateRequest
	headers  []metadata.MD
	stored   map[string]int // how often each row was stored
}

func (s *mutateServer) MutateRows(request *mutateRequest, stream mutateStream) error {
	s.mu.Lock()
	attempt := len(s.requests)
	s.requests = append(s.requests, request)
	header, _ := metadata.FromIncomingContext(stream.Context())
	s.headers = append(s.headers, header)
	s.mu.Unlock()
	return s.answer(s, attempt, request, stream)
}

// ok stores an entry.
func (s *mutateServer) ok(request *mutateRequest, i int) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[string(request.Entries[i].RowKey)]++
	return &answer{Index: int64(i), Status: new(status.Status)}
}

// no rejects an entry.
func no(i int, c codes.Code) *answer {
	return &answer{Index: int64(i), Status: &status.Status{Code: int32(c), Message: c.String()}}
}

// start starts the server and stops it at the end of the test.
func (s *mutateServer) start(t testing.TB) (addr string) {
	t.Helper()
	s.stored = map[string]int{}
	return listen(t, s, grpc.MaxRecvMsgSize(64<<20))
}

// mutations returns the mutations of the i-th entry: one of every kind, and a value
// whose length takes more than one byte.
func mutations(i int) []byte {
	family := wire.AppendFamily(nil, "f")
	column := wire.AppendQualifier(slices.Clip(family), []byte("q"))
	m := wire.AppendDeleteFamily(nil, family)
	m = wire.AppendSetCell(m, column, int64(1000*i), bytes.Repeat([]byte("v"), 100*i))
	m = wire.AppendDeleteCells(m, column, int64(1000*i), int64(1000*i+1000))
	m = wire.AppendDeleteColumn(m, wire.AppendQualifier(slices.Clip(family), nil))
	m = wire.AppendAddToCell(m, "f", "sum", int64(1000*i), 1<<43|int64(i))
	setter := wire.NewSetter(column)
	begin := len(m)
	var at wire.Timestamp
	at.Set(1614945600000000)
	m = setter.Begin(m, &at)
	value := len(m)
	if m = append(m, "short"...); !wire.EndCell(m, begin, value) {
		panic("a short cell")
	}
	return m
}

func rowKey(i int) string { return fmt.Sprint("row-", i) }

// sendAll writes entries and returns the error of each.
func (p path) sendAll(ctx context.Context, table bigtable.TableAPI, n int) []error {
	out := make([]error, n)
	if p.name == "ordinary" {
		keys, muts := make([]string, n), make([]*bigtable.Mutation, n)
		for i := range n {
			keys[i], muts[i] = rowKey(i), bigtable.NewMutation()
			new(wire.Converter).AddTo(muts[i], mutations(i))
		}
		errs, err := table.ApplyBulk(ctx, keys, muts)
		for i := range out {
			if out[i] = err; err == nil && len(errs) > 0 {
				out[i] = errs[i]
			}
		}
		return out
	}
	size := 0
	for i := range n {
		size += wire.EntrySize([]byte(rowKey(i)), len(mutations(i)))
	}
	box := wire.NewOutbox(n, size)
	defer box.Release()
	for i := range n {
		box.Entry([]byte(rowKey(i)), len(mutations(i)))
		box.Add(mutations(i))
	}
	box.Send(ctx, table)
	for i := range out {
		out[i] = box.Err(i)
	}
	return out
}

// written is the outcome of a write.
type written struct {
	Errors   []string
	Requests []*mutateRequest
	Headers  []metadata.MD
	Stored   map[string]int
}

// write writes ten entries to a server with the given answers.
func (p path) write(t *testing.T, answer answers) written {
	t.Helper()
	s := &mutateServer{answer: answer}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := opened(t)(p.connect(ctx, s.start(t)))
	var out written
	for _, err := range p.sendAll(metadata.AppendToOutgoingContext(ctx, "x-user", "header"), client.OpenTable("t"), 10) {
		out.Errors = append(out.Errors, errorText(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.headers {
		maps.DeleteFunc(h, func(key string, _ []string) bool {
			return key == ":authority" || strings.Contains(key, "usec") || strings.Contains(key, "timeout")
		})
	}
	out.Requests, out.Headers, out.Stored = s.requests, s.headers, s.stored
	return out
}

// step answers the i-th entry of a request.
type step func(s *mutateServer, request *mutateRequest, i int) *answer

// steps answers the entries one by one. Each attempt uses the next step, and the last
// step repeats; err ends the stream after the given number of entries.
func steps(each ...step) answers {
	return func(s *mutateServer, attempt int, request *mutateRequest, stream mutateStream) error {
		for i := range request.Entries {
			a := each[min(attempt, len(each)-1)](s, request, i)
			if a == broken0 {
				return grpcstatus.Error(codes.Unavailable, "broken off")
			}
			if a == nil {
				continue
			}
			if err := stream.Send(&bigtablepb.MutateRowsResponse{Entries: []*answer{a}}); err != nil {
				return err
			}
		}
		return nil
	}
}

// broken0 is an answer that breaks the stream off.
var broken0 = new(answer)

func stores(s *mutateServer, r *mutateRequest, i int) *answer { return s.ok(r, i) }

// sometimes answers every n-th entry with some and the others with rest.
func sometimes(n int, some, rest step) step {
	return func(s *mutateServer, r *mutateRequest, i int) *answer {
		var row int
		_, _ = fmt.Sscanf(string(r.Entries[i].RowKey), "row-%d", &row)
		if row%n == n-1 {
			return some(s, r, i)
		}
		return rest(s, r, i)
	}
}

func refuses(c codes.Code) step {
	return func(_ *mutateServer, _ *mutateRequest, i int) *answer { return no(i, c) }
}

func breaks(*mutateServer, *mutateRequest, int) *answer { return broken0 }

// TestBothPathsWriteTheSame compares requests, headers, errors and stored rows.
func TestBothPathsWriteTheSame(t *testing.T) {
	for name, given := range map[string]answers{
		"all is well":                  steps(stores),
		"unavailable at the first try": steps(breaks, stores),
		"broken halfway":               steps(sometimes(5, breaks, stores), stores),
		"permanent errors":             steps(sometimes(3, refuses(codes.InvalidArgument), stores)),
		"all refused":                  steps(refuses(codes.PermissionDenied)),
		"passing errors":               steps(sometimes(2, refuses(codes.Unavailable), stores), sometimes(4, refuses(codes.Aborted), stores), stores),
		"of all kinds": steps(
			sometimes(3, refuses(codes.InvalidArgument), sometimes(8, breaks, stores)),
			sometimes(3, refuses(codes.InvalidArgument), sometimes(4, refuses(codes.DeadlineExceeded), stores)),
			sometimes(8, breaks, stores),
			stores,
		),
		"no answer":                        steps(sometimes(3, func(*mutateServer, *mutateRequest, int) *answer { return nil }, stores)),
		"no status":                        steps(sometimes(3, func(_ *mutateServer, _ *mutateRequest, i int) *answer { return &answer{Index: int64(i)} }, stores)),
		"answers to no one":                steps(sometimes(3, func(*mutateServer, *mutateRequest, int) *answer { return no(10, codes.NotFound) }, stores)),
		"an error that is not tried again": steps(sometimes(3, func(*mutateServer, *mutateRequest, int) *answer { return no(-1, codes.OK) }, refuses(codes.Unimplemented))),
		"the call is refused": func(*mutateServer, int, *mutateRequest, mutateStream) error {
			return grpcstatus.Error(codes.PermissionDenied, "not yours")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := ordinaryPath.write(t, given), wirePath.write(t, given)
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-ordinary +wire)\n%s", diff)
			}
			if want := []string{"projects/project/instances/instance/tables/t"}; len(got.Requests) == 0 || got.Requests[0].TableName != want[0] || len(got.Requests[0].Entries) != 10 {
				t.Errorf("%v", got.Requests)
			}
			if h := got.Headers[0]; len(h.Get("x-goog-request-params")) != 1 || len(h.Get("x-user")) != 1 {
				t.Errorf("headers %v", h)
			}
		})
	}
}

// TestAcknowledgedEntriesAreKept ends the context while the client retries. Answers
// from the server must not be lost, and nothing is known about the other entries.
func TestAcknowledgedEntriesAreKept(t *testing.T) {
	for name, first := range map[string]step{
		"broken off":  sometimes(5, breaks, sometimes(2, refuses(codes.InvalidArgument), stores)),
		"to be tried": sometimes(5, refuses(codes.Unavailable), sometimes(2, refuses(codes.InvalidArgument), stores)),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := &mutateServer{answer: func(s *mutateServer, attempt int, request *mutateRequest, stream mutateStream) error {
				if attempt == 0 {
					return steps(first)(s, attempt, request, stream)
				}
				cancel()
				<-stream.Context().Done()
				return nil
			}}
			client := opened(t)(wirePath.connect(t.Context(), s.start(t)))
			errs := wirePath.sendAll(ctx, client.OpenTable("t"), 10)
			s.mu.Lock()
			defer s.mu.Unlock()
			for i, err := range errs {
				stored := s.stored[rowKey(i)] > 0
				var unsure *wire.UnsureError
				if i == 1 && errors.As(err, &unsure) != (name == "broken off") { // sent more than once
					t.Errorf("entry %d: %T", i, err)
				}
				switch code := grpcstatus.Code(err); {
				case stored != (err == nil):
					t.Errorf("entry %d is stored: %v, error %v", i, stored, err)
				case err != nil && code != codes.InvalidArgument && code != codes.Canceled:
					t.Errorf("entry %d: %v", i, err)
				case i == 1 && code != codes.InvalidArgument, i == 4 && code != codes.Canceled:
					t.Errorf("entry %d: %v", i, err)
				}
			}
		})
	}
}

// TestStoredEntriesStayStored covers an entry that is sent again together with those of
// a broken request, and is then rejected.
func TestStoredEntriesStayStored(t *testing.T) {
	got := wirePath.write(t, steps(sometimes(10, breaks, stores), sometimes(10, stores, refuses(codes.FailedPrecondition))))
	assert.Same(t, slices.Repeat([]string{"<nil>"}, 10), got.Errors)
}

// TestWithoutTheInterceptor probes clients: the probe sends nothing. Sending without
// the interceptor changes nothing.
func TestWithoutTheInterceptor(t *testing.T) {
	s := &mutateServer{answer: steps(func(_ *mutateServer, request *mutateRequest, i int) *answer {
		assert.Contains(t, " ", request.Entries[i].Mutations[0].GetSetCell().GetFamilyName())
		return no(i, codes.NotFound)
	})}
	addr := s.start(t)
	for _, p := range []path{ordinaryPath, wirePath} {
		client := opened(t)(p.connect(t.Context(), addr))
		for range 3 {
			if got := wire.Intercepted(t.Context(), client.OpenTable("t")); got != (p.name == "wire") {
				t.Errorf("%s: intercepted %v", p.name, got)
			}
		}
		if s.mu.Lock(); len(s.requests) > 0 {
			t.Errorf("%s: %d requests", p.name, len(s.requests))
		}
		s.mu.Unlock()
	}
	plain := opened(t)(storetest.ConnectPlain(t.Context(), addr))
	for i, err := range wirePath.sendAll(t.Context(), plain.OpenTable("t"), 3) {
		if err == nil {
			t.Errorf("entry %d is said to be stored", i)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Same(t, 1, len(s.requests), "requests")
}

// TestMemoryIsNotReusedTooEarly sends large requests concurrently, cancels many of them
// at once, and looks for bytes of one request in another.
func TestMemoryIsNotReusedTooEarly(t *testing.T) {
	var mixed sync.Map
	s := &mutateServer{answer: steps(func(s *mutateServer, request *mutateRequest, i int) *answer {
		e := request.Entries[i]
		value := e.Mutations[0].GetSetCell().GetValue()
		if want := bytes.Repeat(e.RowKey[:1], len(value)); len(value) == 0 || !bytes.Equal(want, value) {
			mixed.Store(string(e.RowKey), true)
		}
		return s.ok(request, i)
	})}
	client := opened(t)(wirePath.connect(t.Context(), s.start(t)))
	table := client.OpenTable("t")
	column := wire.AppendQualifier(wire.AppendFamily(nil, "f"), []byte("q"))
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for i := range 25 {
				key := []byte{byte('a' + random.IntN(26))}
				m := wire.AppendSetCell(nil, column, 1000, bytes.Repeat(key, 100_000+random.IntN(200_000)))
				box := wire.NewOutbox(1, wire.EntrySize(key, len(m)))
				box.Entry(key, len(m))
				box.Add(m)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(20))*time.Millisecond)
				if i%5 == 4 { // a slow machine may store none of the others
					ctx = t.Context()
				}
				box.Send(ctx, table)
				cancel()
				box.Release()
			}
		})
	}
	wg.Wait()
	mixed.Range(func(key, _ any) bool {
		t.Errorf("the value of row %q is not its own", key)
		return true
	})
	s.mu.Lock() // a canceled request may still be answered
	defer s.mu.Unlock()
	if len(s.stored) == 0 {
		t.Error("nothing was stored")
	}
}

var must = assert.Must

// rowServer records the requests for single rows. It is unavailable for the first ones, and rejects those without mutations.
type rowServer struct {
	warm
	unavailable int

	mu       sync.Mutex
	requests []*bigtablepb.MutateRowRequest
}

func (s *rowServer) MutateRow(_ context.Context, r *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	switch {
	case len(s.requests) <= s.unavailable:
		return nil, grpcstatus.Error(codes.Unavailable, "later")
	case len(r.Mutations) == 0 || strings.Contains(r.Mutations[0].GetSetCell().GetFamilyName(), " "):
		return nil, grpcstatus.Error(codes.InvalidArgument, "no mutations, or of a family that no table has")
	}
	return new(bigtablepb.MutateRowResponse), nil
}

// TestApplyEncoded checks that the server gets the same requests from both calls, also after errors that pass, and that a call
// which another interceptor encodes has sent nothing.
func TestApplyEncoded(t *testing.T) {
	plain := grpc.ForceCodecV2(encoding.GetCodecV2(protocodec.Name))
	forced := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoker(ctx, method, request, reply, conn, append(opts, plain)...)
	}
	for name, c := range map[string]struct {
		unavailable, sent int
		options           []grpc.DialOption
		code              codes.Code
	}{
		"at once":       {0, 1, wire.DialOptions(), codes.OK},
		"at the third":  {2, 3, wire.DialOptions(), codes.OK},
		"another codec": {0, 0, append(wire.DialOptions(), grpc.WithChainUnaryInterceptor(forced)), codes.InvalidArgument},
		"not installed": {0, 0, nil, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			s := &rowServer{unavailable: c.unavailable}
			addr := listen(t, s)
			table := opened(t)(storetest.ConnectPlain(t.Context(), addr, c.options...)).OpenTable("t")
			sent, err := wire.ApplyEncoded(t.Context(), table, "row", mutations(3))
			if sent != c.sent || grpcstatus.Code(err) != c.code {
				t.Fatalf("%d attempts and %v, want %d and %v", sent, err, c.sent, c.code)
			}
			if sent == 0 {
				return
			}
			m := bigtable.NewMutation()
			new(wire.Converter).AddTo(m, mutations(3))
			before := len(s.requests)
			must(t, table.Apply(t.Context(), "row", m))
			for _, r := range s.requests[:before] {
				if diff := cmp.Diff(s.requests[before], r, protocmp.Transform()); diff != "" {
					t.Errorf("(-ordinary +encoded):\n%s", diff)
				}
			}
		})
	}
}
