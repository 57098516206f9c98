package store

import (
	"errors"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
)

// ascending is a stream to a server that ignores that rows are requested in reverse order.
type ascending struct{ grpc.ClientStream }

func (s ascending) SendMsg(m any) error {
	if request, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		request.Reversed = false
	}
	return s.ClientStream.SendMsg(m)
}

// An emulator that ignores the order returns the oldest event as the newest. The first read notices.
func TestReversedIsIgnored(t *testing.T) {
	for name, connect := range paths {
		t.Run(name, func(t *testing.T) {
			l := days()
			b := newBigtable(t, l)
			t.Setenv(EmulatorVariable, b.Addr)
			client := opened(t)(connect(t.Context(), b.Addr, inside(onStreams(bigtablepb.Bigtable_ReadRows_FullMethodName,
				func(open func(...grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
					stream, err := open()
					return ascending{stream}, err
				}))))
			r := newReaderOf(client, l)
			w := newWriterOf(b.Client, []*mappingOf[sample]{l})
			must(t, w.Write(t.Context(), sample{Series: "s", Time: day0, Value: 1}))
			if e, err := r.Latest(t.Context(), sample{Series: "s"}); err != nil || e.Value != 1 {
				t.Errorf("the only event: %v, %v", e, err)
			}
			must(t, w.Write(t.Context(), sample{Series: "s", Time: at(86400), Value: 2}))
			var reversed *ReversedError
			if e, err := r.Latest(t.Context(), sample{Series: "s"}); !errors.As(err, &reversed) || reversed.Table != "days" {
				t.Errorf("the newest event: %v, %v", e, err)
			}
			if e, err := newReaderOf(b.Client, l).Latest(t.Context(), sample{Series: "s"}); err != nil || e.Value != 2 {
				t.Errorf("an emulator that reverses: %v, %v", e, err)
			}
		})
	}
}
