// Package generated_test runs the queries of the example schemas and counts what they request
// and receive.
package generated_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon.Add(6 * time.Hour) }

// traffic records the requests of reads, and counts what they receive.
type traffic struct {
	t     *testing.T
	mu    sync.Mutex
	sent  []*bigtablepb.ReadRowsRequest
	cells int // decoded by the client, not by the wire path
}

// dial is storetest.Connect or storetest.ConnectPlain.
type dial func(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error)

// connect returns a client of the server whose reads are recorded.
func (c *traffic) connect(t *testing.T, addr string, connect dial) *bigtable.Client {
	t.Helper()
	c.t = t
	client, err := connect(t.Context(), addr, grpc.WithStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := streamer(ctx, desc, cc, method, opts...)
			return &watched{s, c}, err
		}))
	check(t, err)
	t.Cleanup(func() { check(t, client.Close()) })
	return client
}

// take returns the traffic since the last call.
func (c *traffic) take() (sent []*bigtablepb.ReadRowsRequest, cells int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, cells = c.sent, c.cells
	c.sent, c.cells = nil, 0
	return sent, cells
}

// watched is a stream of a client whose reads are recorded.
type watched struct {
	grpc.ClientStream
	traffic *traffic
}

func (s *watched) SendMsg(m any) error {
	if r, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		safeRows(s.traffic.t, r)
		s.traffic.mu.Lock()
		s.traffic.sent = append(s.traffic.sent, r)
		s.traffic.mu.Unlock()
	}
	return s.ClientStream.SendMsg(m)
}

// safeRows checks that a request reads ranges that include their start and exclude their end,
// or several keys, in forward order: the client may divert any other form of a single row to
// its session protocol, which bypasses the wire path, and loses rows of a list of keys that is
// read in reverse.
func safeRows(t *testing.T, r *bigtablepb.ReadRowsRequest) {
	for _, rows := range r.GetRows().GetRowRanges() {
		if len(rows.GetEndKeyClosed()) > 0 || len(rows.GetStartKeyOpen()) > 0 {
			t.Errorf("range %v", rows)
		}
	}
	keys, ranges := len(r.GetRows().GetRowKeys()), len(r.GetRows().GetRowRanges())
	if list := keys > 1 && ranges == 0 && !r.GetReversed(); !list && (keys > 0 || ranges == 0) {
		t.Errorf("rows %v", r.GetRows())
	}
}

func (s *watched) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if r, ok := m.(*bigtablepb.ReadRowsResponse); ok && err == nil {
		s.traffic.mu.Lock()
		s.traffic.cells += len(r.Chunks)
		s.traffic.mu.Unlock()
	}
	return err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all collects the events of a read.
func all[E any](t *testing.T, events iter.Seq2[E, error]) []E {
	t.Helper()
	var out []E
	for e, err := range events {
		check(t, err)
		out = append(out, e)
	}
	return out
}

// same compares events, and the rows requested and received.
func same[E any](t *testing.T, c *traffic, want, got []E, requests, cells int) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if sent, n := c.take(); len(sent) != requests || n != cells {
		t.Errorf("%d requests and %d cells, want %d and %d", len(sent), n, requests, cells)
	}
}

func vehicle(region, line string, number int64) examples.PositionSeries {
	return examples.PositionSeries{Region: region, Line: line, Vehicle: number}
}

// The hour precedes the vehicle: a line is one range, and a vehicle is one row per hour.
func TestBucketInTheMiddle(t *testing.T) {
	bt := examplestest.New(t)
	c := &traffic{}
	client := c.connect(t, bt.Addr, storetest.ConnectPlain)
	var events []examples.PositionEvent
	for hour := range 3 {
		for _, s := range []examples.PositionSeries{vehicle("nyc", "m86", 5824), vehicle("nyc", "m86", 58240), vehicle("nyc", "m8", 1), vehicle("sfo", "m86", 2)} {
			for minute := range 2 {
				at := noon.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*30*time.Minute)
				events = append(events, examples.PositionEvent{PositionSeries: s, Time: at, Latitude: float64(hour), Longitude: float64(minute)})
			}
		}
	}
	check(t, examples.NewPositionWriter(client, store.WriterOptions{Now: clock}).WriteAll(t.Context(), events))
	r := examples.NewPositionReader(client, store.ReaderOptions{Now: clock})
	of := func(from, to time.Duration, keep func(examples.PositionSeries) bool) []examples.PositionEvent {
		return slices.DeleteFunc(slices.Clone(events), func(e examples.PositionEvent) bool {
			return !keep(e.PositionSeries) || e.Time.Before(noon.Add(from)) || !e.Time.Before(noon.Add(to))
		})
	}
	line := func(s examples.PositionSeries) bool { return s.Region == "nyc" && s.Line == "m86" }
	one := func(s examples.PositionSeries) bool { return line(s) && s.Vehicle == 5824 }
	for _, span := range [][2]time.Duration{{0, 3 * time.Hour}, {30 * time.Minute, 2 * time.Hour}, {time.Hour, time.Hour + 1}, {-time.Hour, 0}} {
		from, to := noon.Add(span[0]), noon.Add(span[1])
		want := of(span[0], span[1], line)
		same(t, c, want, all(t, r.ByLine(t.Context(), "nyc", "m86", from, to)), 1, 2*len(want))
		want = of(span[0], span[1], one)
		same(t, c, want, all(t, r.Read(t.Context(), vehicle("nyc", "m86", 5824), from, to)), 1, 2*len(want))
	}
	// The line precedes the vehicle and is not given: rows of other vehicles are filtered out
	// by Bigtable.
	want := of(time.Hour, 2*time.Hour, one)
	same(t, c, want, all(t, r.ByVehicle(t.Context(), "nyc", 5824, noon.Add(time.Hour), noon.Add(2*time.Hour))), 1, 2*len(want))
	// An export is in the order of row keys.
	key := func(e examples.PositionEvent) string {
		key, err := examples.PositionsKey{Region: e.Region, Line: e.Line, Bucket: e.Time, Vehicle: e.Vehicle}.Append(nil)
		check(t, err)
		return string(key)
	}
	exported := of(time.Hour, 3*time.Hour, func(examples.PositionSeries) bool { return true })
	slices.SortStableFunc(exported, func(a, b examples.PositionEvent) int { return strings.Compare(key(a), key(b)) })
	same(t, c, exported, all(t, r.Export(t.Context(), noon.Add(time.Hour), noon.Add(3*time.Hour))), 1, 2*len(exported))
	byTime := of(0, 3*time.Hour, line)
	slices.SortStableFunc(byTime, func(a, b examples.PositionEvent) int { return a.Time.Compare(b.Time) })
	same(t, c, byTime, all(t, r.ByLine(t.Context(), "nyc", "m86", noon, noon.Add(3*time.Hour), store.ReadOptions{TimeOrder: true})), 1, 2*len(byTime))
	newest := of(0, 3*time.Hour, one)
	slices.Reverse(newest)
	// A row has two events of two cells, and the read requests no more rows than events.
	same(t, c, newest[:1], all(t, r.Read(t.Context(), vehicle("nyc", "m86", 5824), noon, noon.Add(3*time.Hour), store.ReadOptions{NewestFirst: true, Limit: 1})), 1, 4)
	three := all(t, r.Read(t.Context(), vehicle("nyc", "m86", 5824), noon, noon.Add(3*time.Hour), store.ReadOptions{NewestFirst: true, Limit: 3}))
	if _, cells := c.take(); !cmp.Equal(newest[:3], three) || cells < 8 { // the third row may be under way
		t.Errorf("%d cells for %+v", cells, three)
	}
	for i := range newest {
		newest[i].Longitude = 0
	}
	same(t, c, newest, all(t, r.Read(t.Context(), vehicle("nyc", "m86", 5824), noon, noon.Add(3*time.Hour),
		store.ReadOptions{NewestFirst: true, Fields: []store.Field{examples.PositionFieldLatitude}})), 1, len(newest))
	latest, err := r.Latest(t.Context(), vehicle("nyc", "m86", 5824))
	check(t, err)
	same(t, c, of(2*time.Hour+1, 3*time.Hour, one), []examples.PositionEvent{latest}, 1, 2)
	// The rows of a vehicle are not adjacent, and none is missed.
	seen := map[examples.PositionSeries]time.Time{}
	for _, e := range all(t, r.ByRegion(t.Context(), "nyc", noon, noon.Add(3*time.Hour), store.ReadOptions{LatestOnly: true})) {
		if _, twice := seen[e.PositionSeries]; twice {
			t.Errorf("%v twice", e.PositionSeries)
		}
		seen[e.PositionSeries] = e.Time
	}
	last := noon.Add(2*time.Hour + 30*time.Minute)
	if diff := cmp.Diff(map[examples.PositionSeries]time.Time{vehicle("nyc", "m86", 5824): last, vehicle("nyc", "m86", 58240): last, vehicle("nyc", "m8", 1): last}, seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The bucket, newest first, precedes the line: a line is a range per hour, and all of them are
// one request.
func TestRangePerBucket(t *testing.T) {
	bt := examplestest.New(t)
	c := &traffic{}
	client := c.connect(t, bt.Addr, storetest.ConnectPlain)
	var events []examples.DelayEvent
	for hour := range 3 {
		for _, line := range []string{"m8", "m86", "m86x"} {
			for number := range 2 {
				events = append(events, examples.DelayEvent{
					DelaySeries: examples.DelaySeries{Region: "nyc", Line: line, Vehicle: int64(number)},
					Time:        noon.Add(time.Duration(hour) * time.Hour), Late: time.Duration(hour) * time.Minute, Stop: "5 Av",
				})
			}
		}
	}
	check(t, examples.NewDelayWriter(client, store.WriterOptions{Now: clock}).WriteAll(t.Context(), events))
	r := examples.NewDelayReader(client, store.ReaderOptions{Now: clock})
	of := func(line string, hours int) []examples.DelayEvent {
		out := slices.DeleteFunc(slices.Clone(events), func(e examples.DelayEvent) bool {
			return line != "" && e.Line != line || !e.Time.Before(noon.Add(time.Duration(hours)*time.Hour))
		})
		// Rows are read from last to first, so series are in descending order.
		slices.SortStableFunc(out, func(a, b examples.DelayEvent) int {
			if n := a.Time.Compare(b.Time); n != 0 {
				return n
			}
			return -strings.Compare(fmt.Sprint(a.Line, "/", a.Vehicle), fmt.Sprint(b.Line, "/", b.Vehicle))
		})
		return out
	}
	for hours := range 4 {
		to := noon.Add(time.Duration(hours) * time.Hour)
		requests := min(1, hours)
		same(t, c, of("m86", hours), all(t, r.ByRegionAndLine(t.Context(), "nyc", "m86", noon, to)), requests, 2*hours)
		same(t, c, of("", hours), all(t, r.ByRegion(t.Context(), "nyc", noon, to)), requests, 6*hours)
	}
	// With this many hours, the read requests one range, in which the server skips the rows of
	// other lines.
	same(t, c, of("m86", 3), all(t, r.ByRegionAndLine(t.Context(), "nyc", "m86", noon.AddDate(-1, 0, 0), noon.AddDate(1, 0, 0))), 1, 6)
	newest := of("m86", 3)
	slices.Reverse(newest)
	same(t, c, newest, all(t, r.ByRegionAndLine(t.Context(), "nyc", "m86", noon, noon.Add(3*time.Hour), store.ReadOptions{NewestFirst: true})), 1, 6)
	latest := slices.Clone(newest[:2])
	same(t, c, latest, all(t, r.ByRegionAndLine(t.Context(), "nyc", "m86", noon, noon.Add(3*time.Hour), store.ReadOptions{LatestOnly: true})), 1, 6)
}

// Two tables, each for one of the queries, with the newest first in their keys.
func TestNewestFirstFeed(t *testing.T) {
	bt := examplestest.New(t)
	c := &traffic{}
	client := c.connect(t, bt.Addr, storetest.ConnectPlain)
	var events []examples.ActivityEvent
	for i := range 12 {
		events = append(events, examples.ActivityEvent{
			ActivitySeries: examples.ActivitySeries{Repository: []string{"btgen", "btgen2"}[i%2], Actor: []string{"ann", "bob", "eve"}[i%3], ID: codec.UUID{byte(i + 1)}},
			Time:           noon.Add(time.Duration(i/4) * time.Minute), Kind: examples.ActivityKindPush, Text: fmt.Sprint(i),
		})
	}
	check(t, examples.NewActivityWriter(client, store.WriterOptions{Now: clock}).WriteAll(t.Context(), events))
	r := examples.NewActivityReader(client, store.ReaderOptions{Now: clock})
	// Events of one instant are in descending order of their IDs, like the time in the keys.
	of := func(keep func(e examples.ActivityEvent) bool) []examples.ActivityEvent {
		out := slices.DeleteFunc(slices.Clone(events), func(e examples.ActivityEvent) bool { return !keep(e) })
		slices.SortFunc(out, func(a, b examples.ActivityEvent) int {
			if n := a.Time.Compare(b.Time); n != 0 {
				return n
			}
			return -slices.Compare(a.ID[:], b.ID[:])
		})
		return out
	}
	want := of(func(e examples.ActivityEvent) bool {
		return e.Repository == "btgen" && e.Time.Before(noon.Add(2*time.Minute))
	})
	same(t, c, want, all(t, r.ByRepository(t.Context(), "btgen", noon, noon.Add(2*time.Minute))), 1, len(want))
	want = of(func(e examples.ActivityEvent) bool { return e.Actor == "bob" })
	same(t, c, want, all(t, r.ByActor(t.Context(), "bob", noon, noon.Add(time.Hour))), 1, len(want))
	latest, err := r.Latest(t.Context(), events[11].ActivitySeries)
	check(t, err)
	same(t, c, events[11:], []examples.ActivityEvent{latest}, 1, 1)
}

// Several ticks within a microsecond all survive. The first table of the feed has a row key
// schema: it refuses keys that GoogleSQL cannot parse, and the other table stores them.
func TestRowKeySchema(t *testing.T) {
	b := examplestest.New(t)
	w := examples.NewActivityWriter(b.Client, store.WriterOptions{Now: clock})
	event := examples.ActivityEvent{ActivitySeries: examples.ActivitySeries{Repository: "b t", Actor: "ann", ID: codec.UUID{1}}, Time: noon, Kind: examples.ActivityKindPush}
	if err := w.Write(t.Context(), event); !errors.Is(err, codec.ErrKeySchema) || !strings.Contains(err.Error(), `repository`) {
		t.Errorf("a space in a key: %v, want %v", err, codec.ErrKeySchema)
	}
	event.Repository = "b-t"
	check(t, w.Write(t.Context(), event))
	var keys []string
	check(t, b.Client.Open("activities_by_repository").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		return true
	}))
	want := []string{"b-t#8227287999999#01000000-0000-0000-0000-000000000000#ann"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTicksWithinAMicrosecond(t *testing.T) {
	bt := examplestest.New(t)
	c := &traffic{}
	client := c.connect(t, bt.Addr, storetest.ConnectPlain)
	acme, other := examples.TickSeries{Exchange: "XNYS", Symbol: "ACME"}, examples.TickSeries{Exchange: "XNYS", Symbol: "ACMEX"}
	var events []examples.TickEvent
	for _, s := range []examples.TickSeries{acme, other} {
		for i := range 20 {
			at := noon.Add(59*time.Minute + 59*time.Second + 999_997*time.Microsecond + time.Duration(i/3)*time.Microsecond)
			events = append(events, examples.TickEvent{TickSeries: s, Time: at, Sequence: uint32(i % 3), Price: float64(i), Size: int64(i)})
		}
	}
	check(t, examples.NewTickWriter(client, store.WriterOptions{Now: clock}).WriteAll(t.Context(), events))
	r := examples.NewTickReader(client, store.ReaderOptions{Now: clock})
	same(t, c, events[:20], all(t, r.Read(t.Context(), acme, noon, noon.Add(2*time.Hour))), 1, 20)
	same(t, c, events, all(t, r.ByExchange(t.Context(), "XNYS", noon, noon.Add(2*time.Hour))), 1, 40)
	// The newest of each symbol: one row each, and the end.
	same(t, c, []examples.TickEvent{events[39], events[19]}, all(t, r.ByExchange(t.Context(), "XNYS", noon, noon.Add(2*time.Hour), store.ReadOptions{LatestOnly: true})), 3, 22) // of the newest bucket
	for _, err := range r.ByExchange(t.Context(), "XNYS", noon, noon.Add(time.Hour), store.ReadOptions{TimeOrder: true}) {
		if !errors.Is(err, store.ErrOrder) {
			t.Errorf("order of time of a query by series: %v", err)
		}
	}
	// Cell timestamps have a resolution of a millisecond; the columns contain the rest.
	from := noon.Add(59*time.Minute + 59*time.Second + 999_998*time.Microsecond)
	same(t, c, events[3:9], all(t, r.Read(t.Context(), acme, from, from.Add(2*time.Microsecond))), 1, 6)
	latest, err := r.Latest(t.Context(), acme)
	check(t, err)
	if diff := cmp.Diff(events[19], latest); diff != "" {
		t.Error(diff)
	}
}

// A metric of all hosts is read with every salt, and a series only with its salt.
func TestSaltedMetrics(t *testing.T) {
	bt := examplestest.New(t)
	c := &traffic{}
	client := c.connect(t, bt.Addr, storetest.ConnectPlain)
	var events []examples.SampleEvent
	for hour := range 3 {
		for host := range 30 {
			for n := range 2 {
				at := noon.Add(time.Duration(hour)*time.Hour + time.Duration(n)*time.Second)
				events = append(events, examples.SampleEvent{
					SampleSeries: examples.SampleSeries{Metric: "cpu.load", Host: fmt.Sprintf("web-%02d", host)}, Time: at, ExpiresAt: noon.AddDate(0, 0, 7), Value: float64(host),
				})
			}
		}
	}
	check(t, examples.NewSampleWriter(client, store.WriterOptions{Now: clock}).WriteAll(t.Context(), events))
	r := examples.NewSampleReader(client, store.ReaderOptions{Now: clock})
	// If there are few rows, the ranges of all salts are one request.
	same(t, c, events, all(t, r.ByMetric(t.Context(), "cpu.load", noon, noon.Add(3*time.Hour))), 1, len(events))
	series := examples.SampleSeries{Metric: "cpu.load", Host: "web-07"}
	one := slices.DeleteFunc(slices.Clone(events), func(e examples.SampleEvent) bool { return e.SampleSeries != series })
	same(t, c, one, all(t, r.BySeries(t.Context(), "cpu.load", "web-07", noon, noon.Add(3*time.Hour))), 1, len(one))
	same(t, c, one, all(t, r.Read(t.Context(), series, noon, noon.Add(3*time.Hour))), 1, len(one))
	// The columns of the first and the last hour are a range; the hour between is whole.
	same(t, c, one[1:5], all(t, r.Read(t.Context(), series, noon.Add(time.Second), noon.Add(2*time.Hour+time.Second))), 3, 4)
	same(t, c, nil, all(t, r.ByMetric(t.Context(), "cpu", noon, noon.Add(3*time.Hour))), 1, 0)
}

// Binary keys contain the number of the metric, the hour and the number of the host.
func TestBinaryKeys(t *testing.T) {
	bt := examplestest.New(t)
	c := &traffic{}
	client := c.connect(t, bt.Addr, storetest.ConnectPlain)
	var events []examples.PointEvent
	for hour := range 2 {
		for _, host := range []uint32{1, 255, 256, 1 << 31} {
			events = append(events, examples.PointEvent{
				PointSeries: examples.PointSeries{Metric: 1, Host: host}, Time: noon.Add(time.Duration(hour) * time.Hour).Add(time.Second), Value: float64(host),
			})
		}
	}
	w := examples.NewPointWriter(client, store.WriterOptions{Now: clock})
	check(t, w.WriteAll(t.Context(), events))
	check(t, w.Write(t.Context(), examples.PointEvent{PointSeries: examples.PointSeries{Metric: 256, Host: 1}, Time: noon}))
	r := examples.NewPointReader(client, store.ReaderOptions{Now: clock})
	same(t, c, events, all(t, r.ByMetric(t.Context(), 1, noon, noon.Add(3*time.Hour))), 1, len(events))
	same(t, c, []examples.PointEvent{events[2], events[6]}, all(t, r.Read(t.Context(), events[2].PointSeries, noon, noon.Add(3*time.Hour))), 1, 2)
	key, err := examples.PointsKey{Metric: 1, Bucket: noon, Host: 258}.Append(nil)
	check(t, err)
	if want := "\x00\x00\x00\x011772712000\x00\x00\x01\x02"; string(key) != want {
		t.Errorf("%q, want %q", key, want)
	}
}
