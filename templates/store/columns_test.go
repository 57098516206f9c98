package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/templates/codec"
	"github.com/btgen-dev/btgen/templates/storetest"
)

// sampleColumns is samples as columns, as generated code has them.
type sampleColumns struct {
	Series []string
	Time   []time.Time
	Value  []uint64
	Note   [][]byte

	appended int // samples that came one by one
}

// intoColumns is how samples become columns.
var intoColumns = Columns[sample, sampleColumns]{
	Append: func(c *sampleColumns, e *sample) {
		c.Series, c.Time = append(c.Series, e.Series), append(c.Time, e.Time)
		c.Value, c.Note = append(c.Value, e.Value), append(c.Note, e.Note)
		c.appended++
	},
	Truncate: func(c *sampleColumns, n int) {
		c.Series, c.Time, c.Value, c.Note = c.Series[:n], c.Time[:n], c.Value[:n], c.Note[:n]
	},
	Extend: func(c *sampleColumns, e *sample, times Data) int {
		n := len(c.Time)
		c.Series = ExtendSeries(c.Series, times, e.Series)
		c.Time = ExtendTimes(c.Time, times)
		return n
	},
	Decode: func(c *sampleColumns, column int, data Data) (err error) {
		switch column {
		case 0:
			c.Value, err = Extend(c.Value, data, codec.BinaryUint64)
		case 1:
			c.Note, err = Extend(c.Note, data, codec.BinaryBytes)
		}
		return err
	},
}

// text is the samples, one by one.
func (c *sampleColumns) text() (out []string) {
	for i := range c.Time {
		out = append(out, rowText(&sample{c.Series[i], c.Time[i], c.Value[i], c.Note[i]}))
	}
	return out
}

func rowText(e *sample) string {
	return fmt.Sprintf("%s@%d=%d%q", e.Series, e.Time.UnixMicro(), e.Value, e.Note)
}

// sparse returns samples some of which have a note, none or all of a day.
func sparse(random *rand.Rand, days, each int) (samples []sample) {
	for day := range days {
		notes := random.IntN(3)
		for i := range each {
			e := sample{Series: fmt.Sprint("s", random.IntN(2)), Time: at(86400*day + 60*i), Value: random.Uint64()}
			if notes == 1 || notes == 2 && random.IntN(2) == 0 {
				e.Note = fmt.Append(nil, i)
			}
			samples = append(samples, e)
		}
	}
	return samples
}

// ReadColumns gives the events of Query, in its order, with any options and on both
// paths, whether the columns of a bucket agree or not, and those that do not decode.
func TestColumnsAreThoseOfEvents(t *testing.T) {
	const n = 6
	random := rand.New(rand.NewPCG(1, 2))
	for _, l := range []*Layout[sample]{days(), singles(), metrics()} {
		bt := newBigtable(t, l)
		now := clockAt(86400 * n)
		must(t, NewWriter(bt.Client, []*Layout[sample]{l}, now).WriteAll(t.Context(), sparse(random, n, 20)))
		if l.Kind == BucketCells { // one value that is none
			m := bigtable.NewMutation()
			m.Set(l.Table.Families[0].Name, l.Columns[0].Name, bigtable.Timestamp(at(86400*2+120).UnixMicro()), []byte("x"))
			must(t, bt.Client.Open(l.Table.ID).Apply(t.Context(), "s0#2021-03-07", m))
		}
		without, err := storetest.ConnectPlain(t.Context(), bt.Addr)
		must(t, err)
		defer func() { _ = without.Close() }()
		var straight int
		for i := range 60 {
			client := []*bigtable.Client{bt.Client, without}[i%2]
			r := NewReader(client, l, now)
			q, base := &r.whole, sample{Series: "s0"}
			if l.Kind != BucketColumns && random.IntN(3) == 0 {
				q, base = of("s0", "s1"), sample{}
			}
			o := ReadOptions{NewestFirst: random.IntN(2) == 0, Limit: random.IntN(2) * random.IntN(60), TimeOrder: random.IntN(2) == 0, LatestOnly: random.IntN(8) == 0}
			if random.IntN(4) == 0 {
				o.Fields = []Field{Field(l.Columns[random.IntN(2)].Name)}
			}
			from, to := at(random.IntN(86400*2)), at(86400*2+random.IntN(86400*n))
			straight += sameColumns(t, r, q, base, from, to, o)
		}
		if l.Kind == BucketCells && straight == 0 {
			t.Errorf("%s: no bucket was taken by the column", l.Table.ID)
		}
	}
}

// sameColumns compares ReadColumns with Query. It returns how many events came by
// the column.
func sameColumns(t *testing.T, r *Reader[sample], q *Query[sample], base sample, from, to time.Time, o ReadOptions) int {
	t.Helper()
	var want []string
	var failed error
	for e, err := range r.Query(t.Context(), q, base, from, to, o) {
		switch {
		case err == nil:
			want = append(want, rowText(&e))
		case failed == nil:
			failed = err
		}
	}
	columns := sampleColumns{Series: []string{"kept"}, Time: []time.Time{{}}, Value: []uint64{7}, Note: [][]byte{nil}}
	err := ReadColumns(t.Context(), r, intoColumns, &columns, q, base, from, to, o)
	if fmt.Sprint(err) != fmt.Sprint(failed) {
		t.Errorf("%s %+v: %v, want %v", r.id, o, err, failed)
	}
	if got := columns.text(); !slices.Equal(got[1:], want) || columns.Series[0] != "kept" {
		t.Errorf("%s %+v from %v to %v:\n%v\nwant\n%v", r.id, o, from, to, got, want)
	}
	return len(want) - columns.appended
}

// breaking is a server that passes reads on to another one, and what comes of them
// chunk by chunk. Its first answer breaks off after so many chunks.
type breaking struct {
	bigtablepb.UnimplementedBigtableServer
	to       bigtablepb.BigtableClient
	after    int
	attempts atomic.Int64
	whole    bool // rows are not split: the client itself takes none that are
}

func (b *breaking) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

func (b *breaking) ReadRows(request *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	first, sent := b.attempts.Add(1) == 1, 0
	from, err := b.to.ReadRows(stream.Context(), request)
	if err != nil {
		return err
	}
	var row []*bigtablepb.ReadRowsResponse_CellChunk
	var names bigtablepb.ReadRowsResponse_CellChunk // of the cell before
	for {
		response, err := from.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range response.Chunks {
			if first && sent == b.after {
				return status.Error(codes.Unavailable, "broken off")
			}
			sent++
			brief(c, &names)
			row = append(row, c)
			if b.whole && !c.GetCommitRow() {
				continue
			}
			if err := stream.Send(&bigtablepb.ReadRowsResponse{Chunks: row}); err != nil {
				return err
			}
			row = nil
		}
	}
}

// brief leaves out what a chunk has in common with the one before, as Bigtable does
// and the in-memory server does not.
func brief(c, names *bigtablepb.ReadRowsResponse_CellChunk) {
	if len(c.RowKey) > 0 && string(c.RowKey) != string(names.RowKey) {
		names.RowKey, names.FamilyName, names.Qualifier = c.RowKey, c.FamilyName, c.Qualifier
		return
	}
	c.RowKey = nil
	family, qualifier := c.FamilyName, c.Qualifier
	switch {
	case family.GetValue() != names.FamilyName.GetValue():
	case string(qualifier.GetValue()) != string(names.Qualifier.GetValue()):
		c.FamilyName = nil
	default:
		c.FamilyName, c.Qualifier = nil, nil
	}
	names.FamilyName, names.Qualifier = wrapperspb.String(family.GetValue()), wrapperspb.Bytes(qualifier.GetValue())
}

// serveBreaking starts a server that ends with the test.
func serveBreaking(t *testing.T, b *breaking) (addr string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	s := grpc.NewServer()
	bigtablepb.RegisterBigtableServer(s, b)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return listener.Addr().String()
}

// A stream that breaks off after any chunk gives the same events as one that does
// not, on both paths.
func TestReadsOfStreamsThatBreakOff(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, l := range []*Layout[sample]{days(), singles(), metrics()} {
		bt := newBigtable(t, l)
		samples := sparse(random, 3, 4)
		for i := range samples {
			samples[i].Series = "s0"
		}
		now := clockAt(86400 * 3)
		must(t, NewWriter(bt.Client, []*Layout[sample]{l}, now).WriteAll(t.Context(), samples))
		conn, err := grpc.NewClient(bt.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		want := values(t, NewReader(bt.Client, l, now), sample{Series: "s0"}, day0, at(86400*3), valueText)
		for i, connect := range []func(context.Context, string, ...grpc.DialOption) (*bigtable.Client, error){storetest.Connect, storetest.ConnectPlain} {
			for after := range 2*len(samples) + 1 {
				t.Run(fmt.Sprintf("%s/%d/%d", l.Table.ID, i, after), func(t *testing.T) {
					t.Parallel()
					b := &breaking{to: bigtablepb.NewBigtableClient(conn), after: after, whole: i == 1}
					client, err := connect(t.Context(), serveBreaking(t, b))
					must(t, err)
					defer func() { _ = client.Close() }()
					r := NewReader(client, l, now)
					same(t, want, values(t, r, sample{Series: "s0"}, day0, at(86400*3), valueText))
					b.attempts.Store(0)
					sameColumns(t, r, &r.whole, sample{Series: "s0"}, day0, at(86400*3), ReadOptions{})
				})
			}
		}
	}
}

func valueText(e sample) string { return rowText(&e) }
