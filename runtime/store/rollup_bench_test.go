package store

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// BenchmarkMarks stages 10,000 events of rows of some length, with and without marks, up to the request in wire form.
func BenchmarkMarks(b *testing.B) {
	for _, perRow := range []int{1, 10, 100} {
		for _, marks := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%v", perRow, marks), func(b *testing.B) {
				l := days()
				if marks {
					l = rolled(l, 0)
				}
				w := NewWriter(noTables{}, []*Mapping[sample]{l})
				var events []sample
				for i := range 10_000 {
					events = append(events, sample{Series: fmt.Sprintf("series-%06d", i/perRow), Time: at(i % perRow * 60), Value: uint64(i), Note: []byte("12345678")})
				}
				b.ResetTimer()
				for range b.N {
					s := w.writer.stages.Get().(*stage)
					s.all = &listOf[sample]{events}
					s.at(time.Now())
					for i := range events {
						s.add(event{&events[i]})
					}
					t := &s.tables[0]
					for _, wave := range t.batch.waves {
						for _, req := range t.batch.requests(wave) {
							_ = t.outbox(req)
						}
					}
					s.release()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
			})
		}
	}
}

// BenchmarkMarkBytes reports the share of marks in the bytes of rows of a day that are not summarized: keys, names, timestamps
// and values of cells, as Bigtable counts them. Events are written at once, or at equal distances of time, one by one.
func BenchmarkMarkBytes(b *testing.B) {
	for _, perRow := range []int{1, 4, 10, 60, 1440} {
		for _, steady := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/steady=%v", perRow, steady), func(b *testing.B) {
				for b.Loop() {
					l := rolled(days(), 0)
					bt := storetest.New(b, func(ctx context.Context, bt *storetest.Bigtable) error {
						return SetUp(ctx, bt, "", Tables([]*Mapping[sample]{l}))
					})
					w := NewWriter(bt.Client, []*Mapping[sample]{l})
					var now time.Time
					w.writer.tables[0].marker.alone()
					w.writer.tables[0].marker.clock = func() time.Time { return now }
					var events []sample
					for i := range perRow {
						events = append(events, sample{Series: "us-west2/3698", Time: at(i * 86400 / perRow), Value: uint64(i), Note: []byte("12345678")})
					}
					if steady {
						for i := range events {
							now = events[i].Time
							must(b, w.Write(b.Context(), events[i]))
						}
					} else {
						must(b, w.WriteAll(b.Context(), events))
					}
					size := map[string]int{}
					must(b, bt.Client.Open(l.Table.ID).ReadRows(b.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
						for family, cells := range row {
							for _, c := range cells {
								size[family] += len(row.Key()) + len(c.Column) - 1 + 8 + len(c.Value)
							}
						}
						return true
					}))
					b.ReportMetric(100*float64(size["h"])/float64(size["f.1"]), "%marks")
				}
			})
		}
	}
}

// BenchmarkParseRun parses a run of a day by hours, and adds it to windows of a day.
func BenchmarkParseRun(b *testing.B) {
	var windows []any
	for h := range 24 {
		w := &sampleWindow{Window: window.Window{Start: at(h * 3600), End: at(h*3600 + 3600), Events: 60}}
		w.Value.Count, w.Value.FirstTime, w.Value.LastTime = 60, at(h*3600), at(h*3600+3540)
		windows = append(windows, w)
	}
	run, err := sampleWindows.AppendRun(nil, &window.Run{Start: day0, Every: time.Hour, Windows: windows})
	if err != nil {
		b.Fatal(err)
	}
	var r window.Run
	series := "s"
	fold, err := sampleWindows.Start(window.Every(24*time.Hour), day0, at(86400), window.Options{
		Cells: time.Hour, ID: func(any) string { return "" }, Clone: func(s any) any { return s },
	}, func(any) bool { return true })
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := sampleWindows.ParseRun(&r, run); err != nil {
			b.Fatal(err)
		}
		for _, w := range r.Windows {
			if _, err := fold.AddCell(&series, w); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/24, "ns/window")
	b.ReportMetric(float64(len(run)), "bytes")
}

// replay answers reads with the responses that a server has given to the same requests before, so that nothing but the client uses
// the CPUs.
type replay struct {
	server bigtablepb.BigtableClient
	known  map[string][][]byte
}

// newReplay returns a client whose reads are replayed.
func newReplay(b *testing.B, addr string) Client {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28)))
	must(b, err)
	r := &replay{bigtablepb.NewBigtableClient(conn), map[string][][]byte{}}
	client, err := storetest.Connect(b.Context(), "127.0.0.1:1", grpc.WithChainStreamInterceptor(
		func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s := &replayed{ctx: ctx, of: r, codec: encoding.GetCodecV2("proto")}
			for _, o := range opts {
				if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
					s.codec = forced.CodecV2
				}
			}
			return s, nil
		}))
	must(b, err)
	b.Cleanup(func() { _, _ = client.Close(), conn.Close() })
	return client
}

// replayed is a stream whose responses are in memory.
type replayed struct {
	ctx       context.Context
	of        *replay
	codec     encoding.CodecV2
	responses [][]byte
}

func (s *replayed) Header() (metadata.MD, error) { return metadata.MD{}, nil }
func (s *replayed) Trailer() metadata.MD         { return metadata.MD{} }
func (s *replayed) CloseSend() error             { return nil }
func (s *replayed) Context() context.Context     { return s.ctx }

func (s *replayed) SendMsg(m any) error {
	request := m.(*bigtablepb.ReadRowsRequest)
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	responses, known := s.of.known[string(key)]
	if !known {
		stream, err := s.of.server.ReadRows(s.ctx, request)
		if err != nil {
			return err
		}
		for {
			response, err := stream.Recv()
			if err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			encoded, err := proto.Marshal(response)
			if err != nil {
				return err
			}
			responses = append(responses, encoded)
		}
		s.of.known[string(key)] = responses
	}
	s.responses = responses
	return nil
}

func (s *replayed) RecvMsg(m any) error {
	if len(s.responses) == 0 {
		return io.EOF
	}
	response := s.responses[0]
	s.responses = s.responses[1:]
	return s.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(response)}, m)
}

// BenchmarkRollupReads compares reads of a month by hours from runs with reads from the events, alternately.
func BenchmarkRollupReads(b *testing.B) {
	const nDays = 30
	for _, perHour := range []int{4, 60} {
		b.Run(fmt.Sprintf("%d", perHour), func(b *testing.B) {
			l := rolled(days(), 0)
			bt := storetest.New(b, func(ctx context.Context, bt *storetest.Bigtable) error {
				return SetUp(ctx, bt, "", Tables([]*Mapping[sample]{l}))
			})
			var events []sample
			for i := range nDays * 24 * perHour {
				events = append(events, sample{Series: "s", Time: at(i * 3600 / perHour), Value: uint64(i)})
			}
			must(b, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*nDays)).WriteAll(b.Context(), events))
			_, err := Rollup(b.Context(), bt.Client, []*Mapping[sample]{l}, intoColumns(l.untyped()), sampleWindows, rollupNow(86400*nDays+3600))
			must(b, err)
			plain := *l
			plain.Rollup = nil
			client := newReplay(b, bt.Addr)
			read := func(l *Mapping[sample]) (cpu time.Duration, cells int) {
				o := ReaderOptions{Now: func() time.Time { return at(86400*nDays + 3600) }, Timeout: NoTimeout, Hooks: Hooks{End: func(_ context.Context, op Operation, _ error) { cells += op.Cells }}}
				r, n := NewReader(client, l, o), 0
				begun := cputime.Spent()
				for _, err := range Windows(b.Context(), r, intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s"}), day0, at(86400*nDays), window.Every(time.Hour)) {
					must(b, err)
					n++
				}
				cpu = cputime.Spent() - begun
				if n != nDays*24 {
					b.Fatalf("%d windows", n)
				}
				return cpu, cells
			}
			var fromRuns, fromEvents time.Duration
			var runCells, eventCells int
			read(l)
			read(&plain)
			for b.Loop() {
				cpu, cells := read(&plain)
				fromEvents, eventCells = fromEvents+cpu, cells
				for range 10 {
					cpu, cells = read(l)
					fromRuns, runCells = fromRuns+cpu/10, cells
				}
			}
			b.ReportMetric(float64(fromEvents)/float64(fromRuns), "×CPU")
			b.ReportMetric(float64(eventCells)/float64(runCells), "×cells")
			b.ReportMetric(float64(fromRuns.Nanoseconds())/float64(b.N)/(nDays*24), "ns/window")
			b.ReportMetric(float64(fromEvents.Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
		})
	}
}
