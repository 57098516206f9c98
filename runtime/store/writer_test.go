package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

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

// onBothPaths runs a test with a writer whose client has ClientOptions, and one whose client does not.
func onBothPaths(t *testing.T, s *scripted, opts WriterOptions, test func(t *testing.T, w *writerOf[sample])) {
	for name, connect := range paths {
		t.Run(name, func(t *testing.T) {
			client := opened(t)(connect(t.Context(), startServer(t, s)))
			test(t, newWriterOf(client, []*mappingOf[sample]{days()}, opts))
		})
	}
}

// TestBulkKeepsToLimits writes more mutations, to one row or many, than a request may have. The server accepts 4 MiB.
func TestBulkKeepsToLimits(t *testing.T) {
	t.Parallel()
	var cells, largest, requests atomic.Int64
	s := &scripted{write: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
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

// TestConcurrentRequestsAreBounded answers requests only after as many have arrived as may be concurrent.
func TestConcurrentRequestsAreBounded(t *testing.T) {
	const bound = 3
	var now, most atomic.Int64
	s := &scripted{write: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
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
		same(t, int64(bound), most.Load())
	})
}
