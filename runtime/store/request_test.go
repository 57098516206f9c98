package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// scripted is a server with answers from a test.
type scripted struct {
	warmServer
	requests atomic.Int64
	read     func(n int, r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error
	write    func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error
}

func (s *scripted) ReadRows(r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	return s.read(int(s.requests.Add(1)), r, stream)
}

func (s *scripted) MutateRows(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	return s.write(r, stream)
}

// scriptedReader returns a reader of days that is connected to a server.
func scriptedReader(t *testing.T, s *scripted) *readerOf[sample] {
	t.Helper()
	client := opened(t)(storetest.Connect(t.Context(), startServer(t, s)))
	return newReaderOf(client, days())
}

// A server scans the only row of a range and breaks off. The rejection of the request for the empty rest ends the
// read.
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
		for _, err = range scriptedReader(t, s).Read(t.Context(), seriesOf(sample{Series: "s"}), day0, at(1)) {
		}
		if requests := s.requests.Load(); stubborn != (status.Code(err) == codes.InvalidArgument) || requests > 3 {
			t.Errorf("%d requests: %v", requests, err)
		}
	}
}

// rowsOf requests rows, and returns the error.
func rowsOf(t *testing.T, r *readerOf[sample], rows ...codec.Rows) error {
	return firstError(r.reader.table.Rows(t.Context(), new(request.Operation), rows, bigtable.PassAllFilter(), 0))
}

// heartbeat is a message that a server has scanned the rows up to a key.
func heartbeat(key string) *bigtablepb.ReadRowsResponse {
	return &bigtablepb.ReadRowsResponse{LastScannedRowKey: []byte(key)}
}

// TestHeartbeats scans an empty range for longer than the timeout, which each sign of progress extends.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	const beats = 12
	for tries := 0; ; tries++ {
		timeout := time.Duration(1+tries) * 300 * time.Millisecond // a busy machine takes longer
		var stalled atomic.Bool
		s := &scripted{read: func(_ int, _ *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
			for i, last := 0, time.Now(); i < beats; i, last = i+1, time.Now() {
				if err := stream.Send(heartbeat(fmt.Sprintf("s#2021-03-%02d", i))); err != nil {
					return err
				}
				time.Sleep(timeout / 6) // the server scans
				if time.Since(last) > timeout/2 {
					stalled.Store(true)
				}
			}
			return nil
		}}
		client, err := storetest.Connect(t.Context(), startServer(t, s))
		must(t, err)
		scanner, err := newScannerOf(client, []*mappingOf[sample]{days()}, days().Table.ID, ReaderOptions{Timeout: timeout})
		must(t, err)
		for _, err = range scanner.Rows(t.Context(), KeyRange{}, day0, at(1)) {
		}
		_ = client.Close()
		if (stalled.Load() || err != nil) && tries < 9 {
			continue // the machine, not the server
		}
		if requests := s.requests.Load(); err != nil || requests != 1 {
			t.Errorf("%d requests: %v", requests, err)
		}
		return
	}
}

// TestPassingErrors lets requests fail with each code that passes: a scan continues, or fails if it gets nowhere.
func TestPassingErrors(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Unavailable, codes.Aborted, codes.Internal, codes.ResourceExhausted} {
		var starts []string
		s := &scripted{read: func(n int, r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
			in := r.GetRows().GetRowRanges()[0]
			starts = append(starts, string(in.GetStartKeyClosed())+string(in.GetStartKeyOpen()))
			if n == 2 {
				must(t, stream.Send(heartbeat("k")))
			}
			if n < 4 {
				return status.Error(code, "overloaded")
			}
			return nil
		}}
		r := scriptedReader(t, s)
		must(t, rowsOf(t, r, codec.Rows{Start: "a", End: "z"}), code)
		for i, start := range starts {
			starts[i] = strings.TrimSuffix(start, "\x00")
		}
		same(t, "a a k k", strings.Join(starts, " "))
	}
	for _, code := range []codes.Code{codes.Internal, codes.ResourceExhausted, codes.PermissionDenied} { // the client repeats the others
		s := &scripted{read: func(int, *bigtablepb.ReadRowsRequest, bigtablepb.Bigtable_ReadRowsServer) error {
			return status.Error(code, "defect")
		}}
		failed := rowsOf(t, scriptedReader(t, s), codec.Rows{Start: "a", End: "z"})
		want := int64(4)
		if code == codes.PermissionDenied {
			want = 1
		}
		if requests := s.requests.Load(); status.Code(failed) != code || requests != want {
			t.Errorf("%v: %d requests: %v", code, requests, failed)
		}
	}
}

// Requests for long and short keys stay within Bigtable's limit.
func TestRequestSizeLimit(t *testing.T) {
	t.Parallel()
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
		for rows := range codec.KeyLists(keys, false, codec.MaxRowSet) {
			assert.Contains(t, stop.Error(), rowsOf(t, r, rows))
		}
		for rows := range scan.Batches(ranges) {
			assert.Contains(t, stop.Error(), rowsOf(t, r, rows...))
		}
		if len(sizes) < 4 || slices.Max(sizes) > 512<<10 || slices.Max(sizes) < 256<<10 {
			t.Errorf("keys of %d bytes: requests of %d bytes", width, sizes)
		}
	}
}
