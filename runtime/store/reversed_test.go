package store

import (
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// ascend makes a server ignore that rows are requested in reverse order.
func ascend(m any) {
	if request, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		request.Reversed = false
	}
}

// An emulator that ignores the order returns the oldest event as the newest. The first read notices.
func TestReversedIsIgnored(t *testing.T) {
	for name, connect := range paths {
		t.Run(name, func(t *testing.T) {
			l := days()
			b := newBigtable(t, l)
			t.Setenv(EmulatorVariable, b.Addr)
			client := opened(t)(connect(t.Context(), b.Addr, inside(hooked(readRows, ascend, ignored))))
			r := newReaderOf(client, l)
			w := newWriterOf(b.Client, []*mappingOf[sample]{l})
			must(t, w.Write(t.Context(), sample{Series: "s", Time: day0, Value: 1}))
			e, err := r.Latest(t.Context(), sample{Series: "s"})
			must(t, err)
			same(t, uint64(1), e.Value)
			must(t, w.Write(t.Context(), sample{Series: "s", Time: at(86400), Value: 2}))
			_, err = r.Latest(t.Context(), sample{Series: "s"})
			same(t, "days", asError[*ReversedError](t, err).Table)
			e, err = newReaderOf(b.Client, l).Latest(t.Context(), sample{Series: "s"}) // of an emulator that reverses
			must(t, err)
			same(t, uint64(2), e.Value)
		})
	}
}
