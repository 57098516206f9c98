package usage_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/generated/usage"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

const (
	hour  = time.Hour
	day   = 24 * time.Hour
	milli = time.Millisecond
)

// noon is when most events happen and are written.
var noon = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

// at returns options with a fixed clock.
func at(now time.Time) store.ReaderOptions {
	return store.ReaderOptions{Now: func() time.Time { return now }}
}

// use is an event of any strategy.
type use struct {
	customer string
	at       time.Time
	requests int64
	life     time.Duration // from the event, and from its writing; 0 is two days; not known when read
}

// read returns u in the form in which it is read.
func (u use) read() use {
	u.life = 0
	return u
}

// strategy is one of the tables, each with a different TTL strategy. Common
// properties are tested for all of them.
type strategy struct {
	table string
	// byEvent reports whether the age counts from the time of the event, which
	// lives until it is older than one hour, two days or three days. Otherwise,
	// it expires at a given time.
	byEvent bool
	open    func(client store.Client, o store.ReaderOptions) opened
}

// opened writes and reads the events of a strategy.
type opened struct {
	write  func(ctx context.Context, uses ...use) error
	read   func(ctx context.Context, customer string, from, to time.Time) iter.Seq2[use, error]
	latest func(ctx context.Context, customer string) (use, error)
}

func (s strategy) write(ctx context.Context, client store.Client, o store.ReaderOptions, uses ...use) error {
	return s.open(client, o).write(ctx, uses...)
}

func (s strategy) read(ctx context.Context, client store.Client, o store.ReaderOptions, customer string, from, to time.Time) iter.Seq2[use, error] {
	return s.open(client, o).read(ctx, customer, from, to)
}

func (s strategy) latest(ctx context.Context, client store.Client, o store.ReaderOptions, customer string) (use, error) {
	return s.open(client, o).latest(ctx, customer)
}

// openedOf adapts a writer and a reader to uses.
func openedOf[S, E any](
	w interface {
		WriteAll(context.Context, []E, ...store.WriteOptions) error
	},
	r interface {
		Read(ctx context.Context, series S, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[E, error]
		Latest(ctx context.Context, series S) (E, error)
	},
	series func(string) S, event func(use) E, useOf func(E) use,
) opened {
	return opened{
		write: func(ctx context.Context, uses ...use) error {
			var events []E
			for _, u := range uses {
				events = append(events, event(u))
			}
			return w.WriteAll(ctx, events, store.WriteOptions{LastWins: true})
		},
		read: func(ctx context.Context, customer string, from, to time.Time) iter.Seq2[use, error] {
			return func(yield func(use, error) bool) {
				for e, err := range r.Read(ctx, series(customer), from, to) {
					if !yield(useOf(e), err) {
						return
					}
				}
			}
		},
		latest: func(ctx context.Context, customer string) (use, error) {
			e, err := r.Latest(ctx, series(customer))
			return useOf(e), err
		},
	}
}

var strategies = []strategy{
	{table: "usage_default", open: func(client store.Client, o store.ReaderOptions) opened {
		return openedOf(usage.NewUsageDefaultWriter(client, writing(o)), usage.NewUsageDefaultReader(client, o),
			func(customer string) usage.UsageDefaultSeries { return usage.UsageDefaultSeries{Customer: customer} },
			func(u use) usage.UsageDefaultEvent {
				return usage.UsageDefaultEvent{UsageDefaultSeries: usage.UsageDefaultSeries{Customer: u.customer}, Time: u.at, TTL: u.life, Requests: u.requests}
			},
			func(e usage.UsageDefaultEvent) use {
				return use{customer: e.Customer, at: e.Time, requests: e.Requests}
			})
	}},
	{table: "usage_one_second", open: func(client store.Client, o store.ReaderOptions) opened {
		return openedOf(usage.NewUsageOneSecondWriter(client, writing(o)), usage.NewUsageOneSecondReader(client, o),
			func(customer string) usage.UsageOneSecondSeries {
				return usage.UsageOneSecondSeries{Customer: customer}
			},
			func(u use) usage.UsageOneSecondEvent {
				e := usage.UsageOneSecondEvent{UsageOneSecondSeries: usage.UsageOneSecondSeries{Customer: u.customer}, Time: u.at, Requests: u.requests}
				if u.life == 0 {
					u.life = 2 * day
				}
				e.ExpiresAt = o.Now().Add(u.life)
				return e
			},
			func(e usage.UsageOneSecondEvent) use {
				return use{customer: e.Customer, at: e.Time, requests: e.Requests}
			})
	}},
	{table: "usage_classes", byEvent: true, open: func(client store.Client, o store.ReaderOptions) opened {
		return openedOf(usage.NewUsageClassesWriter(client, writing(o)), usage.NewUsageClassesReader(client, o),
			func(customer string) usage.UsageClassesSeries { return usage.UsageClassesSeries{Customer: customer} },
			func(u use) usage.UsageClassesEvent {
				class := map[time.Duration]usage.UsageClass{
					hour: usage.UsageClassShort, 0: usage.UsageClassStandard, 3 * day: usage.UsageClassLong,
				}[u.life]
				return usage.UsageClassesEvent{UsageClassesSeries: usage.UsageClassesSeries{Customer: u.customer}, Time: u.at, Class: class, Requests: u.requests}
			},
			func(e usage.UsageClassesEvent) use {
				return use{customer: e.Customer, at: e.Time, requests: e.Requests}
			})
	}},
}

// forEachStrategy runs a test for every strategy.
func forEachStrategy(t *testing.T, test func(t *testing.T, s strategy)) {
	for _, s := range strategies {
		t.Run(s.table, func(t *testing.T) { test(t, s) })
	}
}

// cell is a cell as stored on the server.
type cell struct {
	row, column string
	at          time.Time
	value       string
}

// cells returns every cell of a table, sorted by row, family and column.
func cells(t *testing.T, client *bigtable.Client, table string) []cell {
	t.Helper()
	var out []cell
	// A row is a map of families, which has no order.
	for _, family := range []string{"m", "short", "standard", "long"} {
		err := client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			for _, item := range row[family] {
				out = append(out, cell{item.Row, item.Column, item.Timestamp.Time().UTC(), string(item.Value)})
			}
			return true
		}, bigtable.RowFilter(bigtable.FamilyFilter(family)))
		check(t, err)
	}
	return out
}

// liveTable returns a table with its rules as stored on the server.
func liveTable(t *testing.T, bt *storetest.Bigtable, table string) *adminpb.Table {
	t.Helper()
	conn, err := grpc.NewClient(bt.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	defer func() { _ = conn.Close() }()
	live, err := adminpb.NewBigtableTableAdminClient(conn).GetTable(t.Context(), &adminpb.GetTableRequest{
		Name: fmt.Sprintf("projects/%s/instances/%s/tables/%s", storetest.Project, storetest.Instance, table),
		View: adminpb.Table_FULL,
	})
	check(t, err)
	return live
}

// collect immediately deletes everything that garbage collection may delete at a
// given time, by the ages on the server. The rules of all strategies are ages.
func collect(t *testing.T, bt *storetest.Bigtable, table string, now time.Time) {
	t.Helper()
	live := liveTable(t, bt, table)
	for _, c := range cells(t, bt.Client, table) {
		var family, qualifier string
		for name := range live.ColumnFamilies {
			if len(c.column) > len(name) && c.column[:len(name)+1] == name+":" {
				family, qualifier = name, c.column[len(name)+1:]
			}
		}
		age := live.ColumnFamilies[family].GetGcRule().GetMaxAge()
		if age == nil {
			t.Fatalf("family %s of %s has no maximum age", family, table)
		}
		if now.Sub(c.at) <= age.AsDuration() {
			continue
		}
		m := bigtable.NewMutation()
		ts := bigtable.Time(c.at)
		m.DeleteTimestampRange(family, qualifier, ts, ts+1000)
		check(t, bt.Client.Open(table).Apply(t.Context(), c.row, m))
	}
}

// recorder records the requests that a client sends.
type recorder struct {
	mu       sync.Mutex
	requests []proto.Message
}

// record returns a client of the server whose requests are recorded. It encodes
// them itself, so that they can be inspected.
func record(t *testing.T, bt *storetest.Bigtable) (*bigtable.Client, *recorder) {
	t.Helper()
	r := &recorder{}
	client, err := storetest.ConnectPlain(t.Context(), bt.Addr,
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			r.keep(req)
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			stream, err := streamer(ctx, desc, cc, method, opts...)
			return recordedStream{stream, r}, err
		}))
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client, r
}

// recordedStream is a stream whose requests are recorded.
type recordedStream struct {
	grpc.ClientStream
	recorder *recorder
}

func (s recordedStream) SendMsg(m any) error {
	s.recorder.keep(m)
	return s.ClientStream.SendMsg(m)
}

func (r *recorder) keep(m any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, proto.Clone(m.(proto.Message)))
}

// take returns the requests since the last call, except for those that only keep
// the connection warm.
func (r *recorder) take() []proto.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []proto.Message
	for _, m := range r.requests {
		if _, ok := m.(*btpb.PingAndWarmRequest); !ok {
			out = append(out, m)
		}
	}
	r.requests = nil
	return out
}

// reads returns the read requests since the last call.
func (r *recorder) reads() []*btpb.ReadRowsRequest {
	var out []*btpb.ReadRowsRequest
	for _, m := range r.take() {
		if req, ok := m.(*btpb.ReadRowsRequest); ok {
			out = append(out, req)
		}
	}
	return out
}

// parse reads a message in text form.
func parse[M proto.Message](t *testing.T, m M, text string) M {
	t.Helper()
	check(t, prototext.Unmarshal([]byte(text), m))
	return m
}

// check fails the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare fails the test if got is not want.
func compare(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform(), cmp.AllowUnexported(use{}, cell{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// all returns the events of a read without errors.
func all[E any](t *testing.T, events iter.Seq2[E, error]) []E {
	t.Helper()
	var out []E
	for e, err := range events {
		check(t, err)
		out = append(out, e)
	}
	return out
}

// writing returns the writer options that correspond to the given reader options.
func writing(o store.ReaderOptions) store.WriterOptions {
	return store.WriterOptions{TablePrefix: o.TablePrefix, Now: o.Now, Timeout: o.Timeout, Hooks: o.Hooks}
}
