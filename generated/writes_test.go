package generated_test

import (
	"context"
	"encoding"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	protobuf "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/generated/alltypes"
	"github.com/btgen-dev/btgen/generated/device"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/meter"
	"github.com/btgen-dev/btgen/generated/noaa"
	"github.com/btgen-dev/btgen/generated/usage"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// writesServer records the writes that it receives.
type writesServer struct {
	bigtablepb.UnimplementedBigtableServer
	mu       sync.Mutex
	requests []protobuf.Message
}

func (s *writesServer) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

func (s *writesServer) keep(request protobuf.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request)
}

// take returns the writes since the last call.
func (s *writesServer) take() []protobuf.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

func (s *writesServer) MutateRow(_ context.Context, request *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	s.keep(request)
	return new(bigtablepb.MutateRowResponse), nil
}

func (s *writesServer) MutateRows(request *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	s.keep(request)
	response := new(bigtablepb.MutateRowsResponse)
	for i := range request.Entries {
		response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: new(status.Status)})
	}
	return stream.Send(response)
}

// startWrites starts a server and clients of it, with and without ClientOptions.
func startWrites(t *testing.T) (s *writesServer, wired, plain *bigtable.Client) {
	t.Helper()
	s = new(writesServer)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	bigtablepb.RegisterBigtableServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	wired, err = storetest.Connect(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wired.Close() })
	plain, err = storetest.ConnectPlain(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	return s, wired, plain
}

// mutationsByRow returns the mutations of requests by table and row, in order.
func mutationsByRow(requests []protobuf.Message) map[string][]*bigtablepb.Mutation {
	out := map[string][]*bigtablepb.Mutation{}
	for _, r := range requests {
		switch r := r.(type) {
		case *bigtablepb.MutateRowRequest:
			row := r.TableName + "/" + string(r.RowKey)
			out[row] = append(out[row], r.Mutations...)
		case *bigtablepb.MutateRowsRequest:
			for _, e := range r.Entries {
				row := r.TableName + "/" + string(e.RowKey)
				out[row] = append(out[row], e.Mutations...)
			}
		}
	}
	return out
}

// anyEvents returns random events of a few series and buckets: some in order, some
// twice, and some that are refused.
func anyEvents[E any](random *rand.Rand) []E {
	var events []E
	series := make([]reflect.Value, 3)
	for i := range series {
		var e E
		series[i] = reflect.ValueOf(&e).Elem().Field(0)
		fillAny(random, series[i])
	}
	at := noon
	for range 40 {
		if len(events) > 0 && random.IntN(10) == 0 {
			events = append(events, events[random.IntN(len(events))])
			continue
		}
		var e E
		value := reflect.ValueOf(&e).Elem()
		fillAny(random, value)
		value.Field(0).Set(series[max(0, random.IntN(6)-3)])
		switch random.IntN(10) {
		case 0:
			at = noon.Add(-time.Duration(random.IntN(500)) * time.Hour)
		default:
			at = at.Add(time.Duration(random.IntN(20)) * time.Minute)
		}
		value.FieldByName("Time").Set(reflect.ValueOf(at.Add(time.Duration(random.IntN(1e9)))))
		events = append(events, e)
	}
	return events
}

// fillAny sets a value to a random one of its type, sometimes small or empty, and
// sometimes one that a writer refuses.
func fillAny(random *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(noon.Add(time.Duration(random.IntN(72)) * time.Hour)))
		return
	case time.Duration:
		v.SetInt(random.Int64N(int64(time.Hour)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAny(random, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fillAny(random, v.Index(i))
		}
	case reflect.Pointer:
		if random.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillAny(random, v.Elem())
		}
	case reflect.Slice:
		v.SetBytes([]byte([]string{"", "1", `"json"`, fmt.Sprintf(`{"n": %0*d1}`, random.IntN(300), 0)}[random.IntN(4)]))
	case reflect.String:
		v.SetString([]string{"a", "us-west2", "a long name", "1"}[random.IntN(4)])
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(random.IntN(1000)) / 8)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(random.Uint64N(100))
	default:
		v.SetInt(1 + random.Int64N(3))
		for random.IntN(100) > 0 && !isNamed(v) {
			v.SetInt(random.Int64N(3))
		}
	}
}

// isNamed reports whether a number has a name, if its type is an enum.
func isNamed(v reflect.Value) bool {
	enum, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return true
	}
	_, err := enum.MarshalText()
	return err == nil
}

// eventWriter is the writer of a schema.
type eventWriter[E any] interface {
	Write(ctx context.Context, event E, opts ...store.WriteOptions) error
	WriteAll(ctx context.Context, events []E, opts ...store.WriteOptions) error
}

// lastWins is for events of which several may have the same time.
var lastWins = store.WriteOptions{LastWins: true}

// samePaths writes events with both clients: they must send and refuse the same,
// whether all events are written in one call or one by one.
func samePaths[E any, W eventWriter[E]](t *testing.T, newWriter func(client store.Client, opts ...store.WriterOptions) W) {
	name := reflect.TypeFor[E]().String()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		s, wired, plain := startWrites(t)
		opts := store.WriterOptions{Now: clock, Parallelism: 1}
		onWire, ordinary := newWriter(wired, opts), newWriter(plain, opts)
		stored := 0
		const most = 5
		for seed := uint64(0); seed < testlong.Pick(uint64(1), most) || stored == 0 && seed < most; seed++ {
			events := anyEvents[E](rand.New(rand.NewPCG(seed, 7)))
			wantErr := fmt.Sprint(ordinary.WriteAll(t.Context(), events, lastWins))
			want := s.take()
			gotErr := fmt.Sprint(onWire.WriteAll(t.Context(), events, lastWins))
			got := s.take()
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || wantErr != gotErr {
				t.Fatalf("seed %d: error %s, want %s; requests (-ordinary +wire)\n%s", seed, gotErr, wantErr, diff)
			}
			for _, e := range events {
				_ = onWire.Write(t.Context(), e) // it may be refused, as above
			}
			if diff := cmp.Diff(mutationsByRow(s.take()), mutationsByRow(got), protocmp.Transform()); diff != "" {
				t.Fatalf("seed %d: (-one by one +all at once)\n%s", seed, diff)
			}
			stored += len(got)
		}
		if stored == 0 {
			t.Error("nothing was sent")
		}
	})
}

func TestBothPathsSendTheSame(t *testing.T) {
	samePaths[alltypes.SampleEvent](t, alltypes.NewSampleWriter)
	samePaths[alltypes.SparseEvent](t, alltypes.NewSparseWriter)
	samePaths[device.AlarmEvent](t, device.NewAlarmWriter)
	samePaths[device.ReadingEvent](t, device.NewReadingWriter)
	samePaths[examples.ActivityEvent](t, examples.NewActivityWriter)
	samePaths[examples.TickEvent](t, examples.NewTickWriter)
	samePaths[meter.ReadingEvent](t, meter.NewReadingWriter)
	samePaths[examples.PointEvent](t, examples.NewPointWriter)
	samePaths[examples.SampleEvent](t, examples.NewSampleWriter)
	samePaths[noaa.DailyEvent](t, noaa.NewDailyWriter)
	samePaths[noaa.NormalEvent](t, noaa.NewNormalWriter)
	samePaths[examples.PositionEvent](t, examples.NewPositionWriter)
	samePaths[examples.DelayEvent](t, examples.NewDelayWriter)
	samePaths[usage.UsageOneSecondEvent](t, usage.NewUsageOneSecondWriter)
	samePaths[usage.UsageDefaultEvent](t, usage.NewUsageDefaultWriter)
	samePaths[usage.UsageClassesEvent](t, usage.NewUsageClassesWriter)
	samePaths[weather.BalloonUnserializedEvent](t, weather.NewBalloonUnserializedWriter)
	samePaths[weather.BalloonCombinedEvent](t, weather.NewBalloonCombinedWriter)
	samePaths[weather.BalloonSerializedEvent](t, weather.NewBalloonSerializedWriter)
	samePaths[weather.BalloonNewCellsEvent](t, weather.NewBalloonNewCellsWriter)
	samePaths[weather.BalloonNewColumnsEvent](t, weather.NewBalloonNewColumnsWriter)
}
