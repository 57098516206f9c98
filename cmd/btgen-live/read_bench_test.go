package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// repeating answers each read with the same messages, as they are on the wire.
type repeating struct {
	bigtablepb.UnimplementedBigtableServer
	messages [][]byte
}

func (s *repeating) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

func (s *repeating) ReadRows(_ *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	for _, message := range s.messages {
		if err := stream.SendMsg(message); err != nil {
			return err
		}
	}
	return nil
}

// rawCodec sends bytes unchanged.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// serveRepeating starts a server that answers each read with the rows of a table.
func serveRepeating(b *testing.B, client *bigtable.Client, table string) string {
	b.Helper()
	s := &repeating{}
	var response bigtablepb.ReadRowsResponse
	flush := func() {
		message, err := proto.Marshal(&response)
		must(b, err)
		s.messages = append(s.messages, message)
		response.Chunks = nil
	}
	err := client.Open(table).ReadRows(b.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		first := len(response.Chunks)
		for family, items := range row {
			for i, item := range items {
				chunk := &bigtablepb.ReadRowsResponse_CellChunk{TimestampMicros: int64(item.Timestamp), Value: item.Value}
				if i == 0 || item.Column != items[i-1].Column {
					chunk.Qualifier = wrapperspb.Bytes([]byte(item.Column[len(family)+1:]))
				}
				if i == 0 {
					chunk.FamilyName = wrapperspb.String(family)
				}
				response.Chunks = append(response.Chunks, chunk)
			}
		}
		response.Chunks[first].RowKey = []byte(row.Key())
		response.Chunks[len(response.Chunks)-1].RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
		if len(response.Chunks) > 5000 {
			flush()
		}
		return true
	})
	must(b, err)
	if len(response.Chunks) > 0 {
		flush()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2(grpcproto.Name)}), grpc.InitialWindowSize(4<<20), grpc.InitialConnWindowSize(4<<20))
	bigtablepb.RegisterBigtableServer(server, s)
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(server.Stop)
	return listener.Addr().String()
}

// benchSchema is a schema whose tables have four numbers and a time.
const benchSchema = `
btgen: v1
package: weather
name: Balloon
series:
  location:   string
  balloon_id: int64
time: {precision: 1s}
fields:
  pressure:    int64
  temperature: float64
  humidity:    int64
  altitude:    {type: int64, optional: true}
tables:
  balloons:
    pattern: %s
    key: {delimiter: "#", segments: [location, balloon_id, %s]}
    %s
    family: m
    %s
    ttl: {keep: forever}
`

// BenchmarkRead reads a table of 100,000 events to NDJSON and CSV, from a server that repeats its
// answers. It reports the events per second of wall time, and the CPU time per event, with
// that of the server in the same process.
func BenchmarkRead(b *testing.B) {
	for _, pattern := range []struct{ name, key, more, values string }{
		{"bucket_new_cells", "bucket", "bucket: 1d", "values: binary"},
		{"bucket_new_cells", "bucket", "bucket: 1d", "values: text"},
		{"bucket_serialized", "bucket", "bucket: 1d", "blob: {column: e, format: json}"},
		{"single_unserialized", "{time: unix_ms}", "", "values: binary"},
	} {
		schema := dynamic.New(testschema.Layout(b, fmt.Sprintf(benchSchema, pattern.name, pattern.key, pattern.more, pattern.values)))
		addr := serveEvents(b, schema, 10)
		for _, to := range []string{"ndjson", "csv"} {
			b.Run(pattern.name+"/"+strings.ReplaceAll(pattern.values, " ", "")+"/to="+to, func(b *testing.B) { benchmarkRead(b, schema, addr, to) })
		}
	}
}

// BenchmarkWindows summarizes 100,000 events of a series by hours, like [BenchmarkRead].
func BenchmarkWindows(b *testing.B) {
	schema := dynamic.New(testschema.Layout(b, fmt.Sprintf(benchSchema, "bucket_new_cells", "bucket", "bucket: 1d", "values: binary")))
	client, err := storetest.Connect(b.Context(), serveEvents(b, schema, 1))
	must(b, err)
	defer client.Close()
	r := &request{schema: schema, selected: selected{of: dynamic.Series([]any{"us-west2", int64(3000)})}, to: scan.MaxTime, client: client}
	begun, spent := time.Now(), cputime.Spent()
	for b.Loop() {
		n := int64(0)
		for w, err := range r.windowsOf(b.Context(), window.Every(time.Hour), store.WindowOptions{}) {
			must(b, err)
			n += w.Events
		}
		if n != benchEvents {
			b.Fatal(n)
		}
	}
	all := float64(b.N) * benchEvents
	b.ReportMetric(all/time.Since(begun).Seconds(), "events/s")
	b.ReportMetric(float64((cputime.Spent()-spent).Nanoseconds())/all, "cpu-ns/event")
}

// benchEvents is the number of events of a read.
const benchEvents = 100_000

// serveEvents starts a server that answers each read with the events of a schema, which are those of
// some series.
func serveEvents(b *testing.B, schema *dynamic.Schema, series int) (addr string) {
	in := dynamictest.Start(b, schema)
	var events []dynamic.Event
	each := benchEvents / series
	for i := range benchEvents {
		events = append(events, dynamic.Event{
			Series: []any{"us-west2", int64(3000 + i/each)}, Time: time.Date(2026, 1, 1, 0, 0, 30*(i%each), 0, time.UTC),
			Values: []any{int64(94000 + i%1000), 9.5 + float64(i%50)/10, int64(i % 100), int64(i)},
		})
	}
	must(b, schema.NewWriter(in.Client).WriteAll(b.Context(), events))
	return serveRepeating(b, in.Client, "balloons")
}

func benchmarkRead(b *testing.B, schema *dynamic.Schema, addr, to string) {
	client, err := storetest.Connect(b.Context(), addr)
	must(b, err)
	defer client.Close()
	r := newRequest("read", &cobra.Command{})
	r.cmd.SetErr(io.Discard)
	r.schema, r.format, r.client = schema, to, client
	must(b, r.times())
	must(b, r.choose())
	a, err := r.eventAnswer(nil)
	must(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	begun, spent, size := time.Now(), cputime.Spent(), 0
	for b.Loop() {
		var lines counter
		r.cmd.SetOut(&lines)
		must(b, r.print(b.Context(), a))
		if lines.lines != benchEvents+map[string]int{"csv": 1}[to] { // its header
			b.Fatal(lines.lines)
		}
		size = lines.bytes
	}
	all := float64(b.N) * benchEvents
	b.ReportMetric(all/time.Since(begun).Seconds(), "events/s")
	b.ReportMetric(float64((cputime.Spent()-spent).Nanoseconds())/all, "cpu-ns/event")
	b.ReportMetric(float64(size)/benchEvents, "B/event")
}

// counter counts the lines of events.
type counter struct{ lines, bytes int }

func (c *counter) Write(text []byte) (int, error) {
	c.lines += bytes.Count(text, []byte("\n"))
	c.bytes += len(text)
	return len(text), nil
}
