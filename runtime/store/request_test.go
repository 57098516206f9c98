package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// A timer that expires while a row arrives may fire late. It must not cancel a request
// that has since reused its memory.
func TestTimerExpiresWhileRowArrives(t *testing.T) {
	row := bigtable.Row{"f": {{Row: "r", Column: "f:c"}}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range testlong.Pick(2_000, 20_000) {
				after := time.Duration(i%40) * time.Microsecond
				_, cancel := context.WithCancelCause(t.Context())
				q := &request{op: new(Operation), yield: func(wire.Row, error) bool { return true }, idle: startIdle(after, cancel)}
				for begin := time.Now(); time.Since(begin) < after; {
				}
				q.idle.after = time.Hour
				q.take(row)
				q.idle.end()
				cancel(nil)
			}
		})
	}
	wg.Wait()
}

// scripted is a server with answers from a test.
type scripted struct {
	bigtablepb.UnimplementedBigtableServer
	requests atomic.Int64
	read     func(n int, r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error
}

func (s *scripted) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

func (s *scripted) ReadRows(r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	return s.read(int(s.requests.Add(1)), r, stream)
}

// scriptedReader returns a reader of days that is connected to a server.
func scriptedReader(t *testing.T, s *scripted) *Reader[sample] {
	t.Helper()
	client, err := storetest.Connect(t.Context(), startServer(t, s))
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return NewReader(client, days())
}

// If a server has scanned the only row of a range and then breaks off, the client
// requests the empty rest. The read treats its rejection as the end of the range and
// does not repeat it.
func TestResumeAfterLastScannedRow(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		s := &scripted{read: func(n int, r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
			switch {
			case stubborn || n == 2:
				return cmp.Or(emptyRange(r.GetRows()), status.Error(codes.InvalidArgument, "start_key must be less than end_key"))
			case n > 2:
				return nil
			}
			must(t, stream.Send(&bigtablepb.ReadRowsResponse{LastScannedRowKey: []byte("s#2021-03-05")}))
			return status.Error(codes.Unavailable, "broken off")
		}}
		var err error
		for _, err = range scriptedReader(t, s).Read(t.Context(), SeriesOf(sample{Series: "s"}), day0, at(1)) {
		}
		if requests := s.requests.Load(); stubborn != (status.Code(err) == codes.InvalidArgument) || requests > 3 {
			t.Errorf("%d requests: %v", requests, err)
		}
	}
}

// Requests for long and short keys stay within Bigtable's limit.
func TestRequestSizeLimit(t *testing.T) {
	stop := errors.New("seen")
	for _, width := range []int{5, 30, 4000} {
		var sizes []int
		s := &scripted{read: func(_ int, r *bigtablepb.ReadRowsRequest, _ bigtablepb.Bigtable_ReadRowsServer) error {
			sizes = append(sizes, proto.Size(r))
			return stop
		}}
		r := scriptedReader(t, s)
		keys := func(yield func(string) bool) {
			for i := range 500_000 / width {
				if !yield(fmt.Sprintf("%0*d", width, i)) {
					return
				}
			}
		}
		ranges := func(yield func(codec.Rows) bool) {
			for key := range keys {
				if !yield(codec.Rows{Start: key, End: key + "x"}) {
					return
				}
			}
		}
		send := func(rows []codec.Rows) {
			for _, err := range r.reader.table.rows(t.Context(), new(Operation), rows, bigtable.PassAllFilter(), 0) {
				if err == nil {
					t.Error("a row")
				}
			}
		}
		for rows := range codec.KeyLists(keys, false, codec.MaxRowSet) {
			send([]codec.Rows{rows})
		}
		for rows := range scan.Batches(ranges) {
			send(rows)
		}
		if len(sizes) < 4 || slices.Max(sizes) > 512<<10 || slices.Max(sizes) < 256<<10 {
			t.Errorf("keys of %d bytes: requests of %d bytes", width, sizes)
		}
	}
}
