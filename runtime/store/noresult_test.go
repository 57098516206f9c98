package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// withoutResults removes every third result of MutateRows, in a stream that ends well.
type withoutResults struct{ grpc.ClientStream }

func (s withoutResults) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if answer, ok := m.(*bigtablepb.MutateRowsResponse); ok && err == nil {
		answer.Entries = slices.DeleteFunc(answer.Entries, func(e *bigtablepb.MutateRowsResponse_Entry) bool { return e.Index%3 == 1 })
	}
	return err
}

// An entry without a result counts neither as stored nor as deleted, whatever sends it.
func TestEntriesWithoutResult(t *testing.T) {
	l := days()
	b := newBigtable(t, l)
	removes := func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := next(ctx, desc, conn, method, opts...)
		return withoutResults{s}, err
	}
	client := opened(t)(storetest.ConnectPlain(t.Context(), b.Addr, grpc.WithChainStreamInterceptor(removes)))
	w := newWriterOf(client, []*mappingOf[sample]{l})
	events := make([]sample, 30)
	for i := range events {
		events[i] = sample{Series: fmt.Sprint("s", i), Time: at(i)}
	}
	var failed *WriteError
	if err := w.WriteAll(t.Context(), events); !errors.As(err, &failed) || len(failed.Failures) != 10 || failed.Failures[0].Outcome != Unknown {
		t.Errorf("writing: %v", err)
	}
	long := []sample{{Series: "s", Time: at(0)}, {Series: "s", Time: at(86400)}, {Series: "s", Time: at(2 * 86400)}}
	must(t, newWriterOf(b.Client, []*mappingOf[sample]{l}).WriteAll(t.Context(), append(long, events...)))
	var kept *DeleteError
	if n, err := w.Delete(t.Context(), events); !errors.As(err, &kept) {
		t.Errorf("deleting: %v, %v", n, err)
	}
	if n, err := w.DeleteRange(t.Context(), seriesOf(sample{Series: "s"}), day0, at(4*86400)); !errors.As(err, &kept) {
		t.Errorf("deleting a range: %v, %v", n, err)
	}
}

// Class: outcomes that claim less than is known. If the context ends before a request is sent, its events
// are not stored, whatever the way in which they are written.
func TestWritesWithEndedContext(t *testing.T) {
	bt := newBigtable(t, days())
	w := newWriterOf(bt.Client, []*mappingOf[sample]{days()})
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the request was abandoned")
	cancel(why)
	one, two := sample{Series: "a", Time: at(1)}, sample{Series: "b", Time: at(2)}
	for name, err := range map[string]error{
		"Write":    w.Write(ended, one),
		"WriteAll": w.WriteAll(ended, []sample{one, two}),
		"IfAbsent": w.WriteAll(ended, []sample{one, two}, WriteOptions{IfAbsent: true}),
		"Replace":  w.Replace(ended, one, two),
	} {
		var failed *WriteError
		if !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, f := range failed.Failures {
			if f.Outcome != Failed || !errors.Is(f.Err, why) {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
	same(t, 0, storedCells(t, bt, days().Table.ID))
}
