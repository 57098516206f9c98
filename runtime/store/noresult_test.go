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
	client, err := storetest.ConnectPlain(t.Context(), b.Addr, grpc.WithChainStreamInterceptor(removes))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	w := NewWriter(client, []*Mapping[sample]{l})
	events := make([]sample, 30)
	for i := range events {
		events[i] = sample{Series: fmt.Sprint("s", i), Time: at(i)}
	}
	var failed *WriteError
	if err := w.WriteAll(t.Context(), events); !errors.As(err, &failed) || len(failed.Failures) != 10 || failed.Failures[0].Outcome != Unknown {
		t.Errorf("writing: %v", err)
	}
	failed = nil
	if err := NewWriter(b.Client, []*Mapping[sample]{l}).WriteAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	var kept *DeleteError
	if n, err := w.Delete(t.Context(), events); !errors.As(err, &kept) {
		t.Errorf("deleting: %v, %v", n, err)
	}
	kept = nil
	long := make([]sample, 3)
	for i := range long {
		long[i] = sample{Series: "s", Time: at(i * 86400)}
	}
	if err := NewWriter(b.Client, []*Mapping[sample]{l}).WriteAll(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if n, err := w.DeleteRange(t.Context(), SeriesOf(sample{Series: "s"}), day0, at(4*86400)); !errors.As(err, &kept) {
		t.Errorf("deleting a range: %v, %v", n, err)
	}
}
