package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// answering is a Bigtable with answers from a test.
type answering struct {
	warmServer
	rows func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error
}

func (s *answering) MutateRows(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	return s.rows(r, stream)
}

// stores answers that an entry is stored.
func stores(stream bigtablepb.Bigtable_MutateRowsServer, entry int) error {
	answer := &bigtablepb.MutateRowsResponse_Entry{Index: int64(entry), Status: new(spb.Status)}
	return stream.Send(&bigtablepb.MutateRowsResponse{Entries: []*bigtablepb.MutateRowsResponse_Entry{answer}})
}

// hang waits for the end of a call and returns its cause.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// paths are clients with ClientOptions, and without.
var paths = map[string]func(context.Context, string, ...grpc.DialOption) (*bigtable.Client, error){"wire": storetest.Connect, "ordinary": storetest.ConnectPlain}

// onBothPaths runs a test with a writer whose client has ClientOptions, and one whose
// client does not.
func onBothPaths(t *testing.T, s *answering, opts WriterOptions, test func(t *testing.T, w *writerOf[sample])) {
	for name, connect := range paths {
		t.Run(name, func(t *testing.T) {
			client := opened(t)(connect(t.Context(), startServer(t, s)))
			test(t, newWriterOf(client, []*mappingOf[sample]{days()}, opts))
		})
	}
}

// TestBulkKeepsToLimits writes more mutations to one row, and to many rows, than one
// request may have. The server accepts 4 MiB.
func TestBulkKeepsToLimits(t *testing.T) {
	t.Parallel()
	var cells, largest, requests atomic.Int64
	s := &answering{rows: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
		sum := 0
		for i, e := range r.Entries {
			sum += len(e.Mutations)
			for _, m := range e.Mutations {
				if m.GetSetCell() != nil {
					cells.Add(1)
				}
			}
			if err := stores(stream, i); err != nil {
				return err
			}
		}
		requests.Add(1)
		for old := largest.Load(); int64(sum) > old && !largest.CompareAndSwap(old, int64(sum)); old = largest.Load() {
			continue
		}
		return nil
	}}
	onBothPaths(t, s, WriterOptions{}, func(t *testing.T, w *writerOf[sample]) {
		for name, event := range testlong.SampleMap(map[string]func(i int) sample{
			"one row":   func(i int) sample { return sample{Series: "s", Time: day0.Add(time.Duration(i) * time.Millisecond)} },
			"many rows": func(i int) sample { return sample{Series: fmt.Sprint(i / 5), Time: at(i % 5)} },
		}, 2) {
			cells.Store(0)
			requests.Store(0)
			const n = 60_000 // each sets one cell and deletes another
			events := make([]sample, n)
			for i := range events {
				events[i] = event(i)
			}
			must(t, w.WriteAll(t.Context(), events))
			if cells.Load() != n || largest.Load() > batch.MaxMutations || requests.Load() < 2 {
				t.Errorf("%s: %d cells, %d requests of up to %d mutations", name, cells.Load(), requests.Load(), largest.Load())
			}
		}
	})
}

// TestConcurrentRequestsAreBounded counts concurrent requests. The first ones are
// answered only after as many have arrived as may be concurrent.
func TestConcurrentRequestsAreBounded(t *testing.T) {
	const bound = 3
	var now, most atomic.Int64
	s := &answering{rows: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			continue
		}
		for begin := time.Now(); most.Load() < bound && time.Since(begin) < 10*time.Second; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // time for one more to arrive
		for i := range r.Entries {
			if err := stores(stream, i); err != nil {
				return err
			}
		}
		return nil
	}}
	onBothPaths(t, s, WriterOptions{Parallelism: bound}, func(t *testing.T, w *writerOf[sample]) {
		most.Store(0)
		var events []sample
		for i := range 3 * bound {
			events = append(events, sample{Series: fmt.Sprint(i), Time: at(i), Note: make([]byte, 2<<20)}, sample{Series: fmt.Sprint("small", i), Time: at(i)})
		}
		must(t, w.WriteAll(t.Context(), events))
		if most.Load() != bound {
			t.Errorf("%d requests at once", most.Load())
		}
	})
}

// TestUnansweredEntriesAreUnknown makes the server hang after half of the rows until
// the timeout. The ordinary client loses the answers to the others.
func TestUnansweredEntriesAreUnknown(t *testing.T) {
	t.Parallel() // it waits
	const rows = 20
	s := &answering{rows: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
		if len(r.Entries) == rows { // the rest may be sent again if the server gives up first
			for i := range rows / 2 {
				if err := stores(stream, i); err != nil {
					return err
				}
			}
		}
		return hang(stream.Context())
	}}
	onBothPaths(t, s, WriterOptions{Timeout: 2 * time.Second}, func(t *testing.T, w *writerOf[sample]) {
		t.Parallel()
		events := make([]sample, rows)
		for i := range events {
			events[i] = nth(i)
		}
		want := rows / 2
		if !w.Writer.tables[0].wire.usable() {
			want = rows
		}
		err := w.WriteAll(t.Context(), events)
		var failed *WriteError
		if !errors.As(err, &failed) || len(failed.Failures) != want || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("want %d failures: %v", want, err)
		}
		for i, f := range failed.Failures {
			if f.Index != rows-want+i || f.Outcome != Unknown {
				t.Errorf("%v", f)
			}
		}
	})
}

// TestClientsAreProbedOnce writes with a *bigtable.Client and with a wrapper, and
// counts the requests at the server.
func TestClientsAreProbedOnce(t *testing.T) {
	var requests atomic.Int64
	s := &answering{rows: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
		requests.Add(1)
		for i, e := range r.Entries {
			if len(e.Mutations) != 2 || e.Mutations[0].GetSetCell().GetFamilyName() != "f.1" {
				t.Errorf("%v", e)
			}
			if err := stores(stream, i); err != nil {
				return err
			}
		}
		return nil
	}}
	client := opened(t)(storetest.Connect(t.Context(), startServer(t, s)))
	bulks := 0
	wrapped := tableClient{client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
			bulks += len(rows)
			return api.ApplyBulk(ctx, rows, muts)
		}}
	}}
	for _, c := range []Client{client, wrapped} {
		w := newWriterOf(c, []*mappingOf[sample]{days()})
		for range 3 {
			must(t, w.WriteAll(t.Context(), []sample{nth(1), nth(2)}))
		}
	}
	if requests.Load() != 6 || bulks != 6 {
		t.Errorf("%d requests, %d rows by the wrapped client", requests.Load(), bulks)
	}
}

// TestServerRejectionsAreKept ends the call while the writer retries rows that were
// unavailable. The answers for the other rows are kept.
func TestServerRejectionsAreKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &answering{rows: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
		if len(r.Entries) < 6 { // the second attempt
			cancel()
			return hang(stream.Context())
		}
		for i, e := range r.Entries {
			c := []codes.Code{codes.OK, codes.InvalidArgument, codes.Unavailable}[(e.RowKey[1]-'0')%3]
			answer := &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: status.New(c, "so").Proto()}
			if err := stream.Send(&bigtablepb.MutateRowsResponse{Entries: []*bigtablepb.MutateRowsResponse_Entry{answer}}); err != nil {
				return err
			}
		}
		return nil
	}}
	client := opened(t)(storetest.Connect(t.Context(), startServer(t, s)))
	w := newWriterOf(client, []*mappingOf[sample]{days()})
	var failed *WriteError
	if err := w.WriteAll(ctx, []sample{nth(0), nth(1), nth(2), nth(3), nth(4), nth(5)}); !errors.As(err, &failed) {
		t.Fatal(err)
	}
	got := ""
	for _, f := range failed.Failures {
		got += fmt.Sprintf("%d %s; ", f.Index, f.Outcome)
	}
	if want := "1 failed; 2 unknown; 4 failed; 5 unknown; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An entry that was sent before and may be stored is not reported as Failed when it is
// rejected.
func TestRejectedRetryIsUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first codes.Code // status of each entry; the stream breaks off if it is OK
		call  bool       // then the whole call is rejected
		want  Outcome
	}{
		{codes.OK, false, Unknown}, {codes.OK, true, Unknown},
		{codes.DeadlineExceeded, false, Unknown}, {codes.DeadlineExceeded, true, Unknown},
		{codes.InvalidArgument, false, Failed},
	} {
		var called atomic.Bool
		s := &answering{rows: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
			code := codes.ResourceExhausted
			switch {
			case !called.Swap(true):
				if code = c.first; code == codes.OK {
					return status.Error(codes.Unavailable, "broken off")
				}
			case c.call:
				return status.Error(codes.PermissionDenied, "no more")
			}
			response := new(bigtablepb.MutateRowsResponse)
			for i := range r.Entries {
				response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: &spb.Status{Code: int32(code)}})
			}
			return stream.Send(response)
		}}
		client := opened(t)(storetest.Connect(t.Context(), startServer(t, s)))
		err := newWriterOf(client, []*mappingOf[sample]{days()}).WriteAll(t.Context(), []sample{nth(1), nth(2)})
		var failed *WriteError
		if !errors.As(err, &failed) || len(failed.Failures) != 2 || failed.Failures[0].Outcome != c.want || failed.Failures[1].Outcome != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
