package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// faultyServer is a Bigtable that fails at random. It records the stored samples by value.
type faultyServer struct {
	warmServer
	seed   uint64
	mu     sync.Mutex
	random *rand.Rand
	stored map[uint64]bool
	faults map[string]int
}

// chance returns true with the given probability and counts how often.
func (s *faultyServer) chance(percent int, fault string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	hit := s.random.IntN(100) < percent
	if hit {
		s.faults[fault]++
	}
	return hit
}

// doomed reports whether the server rejects everything for a row.
func (s *faultyServer) doomed(row []byte) bool {
	h := fnv.New64a()
	_, _ = h.Write(row)
	return (h.Sum64()^s.seed*0x9e3779b97f4a7c15)>>20%13 == 0
}

// mutate stores an entry or not, and returns the matching status or a different one.
func (s *faultyServer) mutate(row []byte, mutations []*bigtablepb.Mutation) *spb.Status {
	if s.doomed(row) {
		return status.New(codes.InvalidArgument, "doomed").Proto()
	}
	if s.chance(3, "refused for now") {
		return status.New(codes.Unavailable, "not now").Proto()
	}
	s.mu.Lock()
	for _, m := range mutations {
		if set := m.GetSetCell(); string(set.GetColumnQualifier()) == "v.1" {
			s.stored[binary.BigEndian.Uint64(set.Value)] = true
		}
	}
	s.mu.Unlock()
	if s.chance(2, "stored and said to be late") {
		return status.New(codes.DeadlineExceeded, "late").Proto()
	}
	return new(spb.Status)
}

func (s *faultyServer) MutateRow(ctx context.Context, r *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	return new(bigtablepb.MutateRowResponse), status.FromProto(s.mutate(r.RowKey, r.Mutations)).Err()
}

func (s *faultyServer) MutateRows(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	if s.chance(5, "unavailable") {
		return status.Error(codes.Unavailable, "at the first try")
	}
	breaks, hangs := s.chance(5, "broken off"), s.chance(3, "no end")
	for i, e := range r.Entries {
		if i == len(r.Entries)/2 && breaks {
			return status.Error(codes.Unavailable, "broken off")
		}
		if i == len(r.Entries)/2 && hangs {
			return hang(stream.Context())
		}
		answer := &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: s.mutate(e.RowKey, e.Mutations)}
		if err := stream.Send(&bigtablepb.MutateRowsResponse{Entries: []*bigtablepb.MutateRowsResponse_Entry{answer}}); err != nil {
			return err
		}
	}
	return nil
}

// warmServer answers requests to prepare connections, and no others.
type warmServer struct {
	bigtablepb.UnimplementedBigtableServer
}

func (warmServer) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

// startServer serves until the end of the test.
func startServer(t testing.TB, s bigtablepb.BigtableServer) (addr string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	g := grpc.NewServer()
	bigtablepb.RegisterBigtableServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	return listener.Addr().String()
}

// outcomes records what a Batcher reports.
type outcomes struct {
	mu    sync.Mutex
	of    map[uint64]Outcome
	twice int
}

func (o *outcomes) failed(e sample, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var failed *WriteError
	if _, again := o.of[e.Value]; again || !errors.As(err, &failed) || len(failed.Failures) != 1 {
		o.twice++
		return
	}
	o.of[e.Value] = failed.Failures[0].Outcome
}

// TestNothingIsLost lets a server fail at random: each accepted event is stored or reported, exactly once.
func TestNothingIsLost(t *testing.T) {
	for path, n := range map[string]int{"wire": 10_000, "ordinary": 2_000} {
		for seed := range testlong.Pick(uint64(1), 2) {
			t.Run(fmt.Sprint(path, "/", seed), func(t *testing.T) {
				t.Parallel()
				s := &faultyServer{seed: seed, random: rand.New(rand.NewPCG(seed, 3)), stored: map[uint64]bool{}, faults: map[string]int{}}
				client := opened(t)(paths[path](t.Context(), startServer(t, s)))
				events := n * testlong.Pick(1, 10)
				if seed == 0 {
					events = testlong.Pick(events, 200_000)
				}
				checkNothingIsLost(t, s, client, events)
			})
		}
	}
}

func checkNothingIsLost(t *testing.T, s *faultyServer, client *bigtable.Client, events int) {
	w := newWriterOf(client, []*mappingOf[sample]{days()}, WriterOptions{Timeout: 400 * time.Millisecond})
	told := &outcomes{of: map[uint64]Outcome{}}
	b := newBatcherOf(w, told.failed, BatcherOptions{MaxEvents: events / 100, MaxConcurrentBatches: 8, MaxAge: 50 * time.Millisecond})
	const adders = 8
	var refused atomic.Int64
	var wg sync.WaitGroup
	for adder := range adders {
		wg.Go(func() {
			for i := adder; i < events; i += adders {
				e := sample{Series: fmt.Sprint("s", i%37), Time: at(i), Value: uint64(i)}
				if i%1000 == 999 {
					e.Series = "" // invalid
				}
				if err := b.Add(t.Context(), e); err != nil {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	closing := b.Close(t.Context())
	report := &BatchError{Events: events - int(refused.Load())} // as expected without failures
	if closing != nil && !errors.As(closing, &report) {
		t.Fatal(closing)
	}
	s.mu.Lock() // requests that were given up may still be in progress there
	defer s.mu.Unlock()
	for i := range events {
		outcome, reported := told.of[uint64(i)]
		has, invalid := s.stored[uint64(i)], i%1000 == 999
		if invalid && (has || reported) || !invalid && !has && !reported || has && reported && outcome == Failed {
			t.Fatalf("event %d: invalid %t, stored %t, reported %t as %s", i, invalid, has, reported, outcome)
		}
	}
	accepted := events - int(refused.Load())
	same(t, []int{events / 1000, 0}, []int{int(refused.Load()), told.twice})
	same(t, []int{accepted, len(told.of)}, []int{report.Events, report.Failed})
	if f := s.faults; f["unavailable"]+f["broken off"]+f["no end"] == 0 || f["refused for now"] == 0 || f["stored and said to be late"] == 0 {
		t.Errorf("the server has hardly failed: %v", f)
	}
}

// gate is a server whose answers wait for the test.
type gate struct {
	mu      sync.Mutex
	batches []int // number of entries of each request
	open    chan struct{}
	fails   atomic.Bool
}

// openedGate returns a gate that does not wait.
func openedGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// writer returns a writer that is connected to the gate.
func (g *gate) writer(opts ...WriterOptions) *writerOf[sample] {
	take := func(ctx context.Context, entries int) error {
		g.mu.Lock()
		g.batches = append(g.batches, entries)
		g.mu.Unlock()
		select {
		case <-g.open:
		case <-ctx.Done():
			return ctx.Err()
		}
		if g.fails.Load() {
			return status.Error(codes.PermissionDenied, "closed")
		}
		return nil
	}
	return newWriterOf(faked(tableFunc{
		apply: func(ctx context.Context, _ string, _ *bigtable.Mutation) error { return take(ctx, 1) },
		bulk: func(ctx context.Context, rows []string, _ []*bigtable.Mutation) ([]error, error) {
			return nil, take(ctx, len(rows))
		},
	}), []*mappingOf[sample]{days()}, opts...)
}

// requests returns the number of requests.
func (g *gate) requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.batches)
}

// rows returns the number of rows of all requests.
func (g *gate) rows() (sum int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.batches {
		sum += n
	}
	return sum
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

// nth returns an event with a separate row.
func nth(i int) sample { return sample{Series: fmt.Sprint("s", i), Time: at(i), Value: uint64(i)} }

func TestBatcherSendsByCountSizeAndAge(t *testing.T) {
	for _, opts := range []BatcherOptions{
		{MaxEvents: 10, MaxAge: time.Hour}, {MaxBytes: 1000, MaxAge: time.Hour}, {MaxAge: time.Millisecond},
	} {
		g := openedGate()
		b := newBatcherOf(g.writer(), nil, opts)
		for i := range 10 {
			e := nth(i)
			e.Note = make([]byte, 100)
			must(t, b.Add(t.Context(), e))
		}
		eventually(t, fmt.Sprintf("a request with %+v", opts), func() bool { return g.requests() > 0 })
		must(t, b.Close(t.Context()))
		same(t, 10, g.rows())
	}
}

// TestBatcherHoldsBack fills a Batcher whose writes do not end: Add blocks until its context ends.
func TestBatcherHoldsBack(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	b := newBatcherOf(g.writer(), nil, BatcherOptions{MaxEvents: 2, MaxConcurrentBatches: 3, MaxAge: time.Hour})
	const room = 2 * (3 + 1)
	for i := range room {
		must(t, b.Add(t.Context(), nth(i)))
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.Is(t, context.DeadlineExceeded, b.Add(short, nth(room)), "one event more")
	assert.Is(t, context.DeadlineExceeded, b.Flush(short))
	added := make(chan error)
	go func() { added <- b.Add(t.Context(), nth(room+1)) }()
	close(g.open)
	must(t, <-added)
	must(t, b.Close(t.Context()))
	same(t, room+1, g.rows())
}

// TestBatcherStats checks the counts of a Batcher whose writes do not end, while Add blocks, and afterward.
func TestBatcherStats(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	b := newBatcherOf(g.writer(), nil, BatcherOptions{MaxEvents: 2, MaxConcurrentBatches: 1, MaxAge: time.Hour})
	same(t, BatcherStats{}, b.Stats())
	begun := time.Now()
	assert.Is(t, codec.ErrDelimiter, b.Add(t.Context(), sample{Series: "a#b", Time: at(0)}))
	for i := range 4 {
		must(t, b.Add(t.Context(), nth(i)))
	}
	added := make(chan error)
	go func() { added <- b.Add(t.Context(), nth(5)) }()
	for held := false; !held; runtime.Gosched() { // until Add blocks, with the lock
		select {
		case b.Batcher.lock <- struct{}{}:
			<-b.Batcher.lock
		default:
			held = true
		}
	}
	if got := b.Stats(); got.Events != 4 || got.Batches != 1 || got.Oldest <= 0 || got.Oldest > time.Since(begun) {
		t.Errorf("full: %+v", got)
	}
	close(g.open)
	must(t, <-added)
	must(t, b.Close(t.Context()))
	same(t, BatcherStats{}, b.Stats())
}

// TestBatcherReports checks that failures are reported with their events, and once by Flush.
func TestBatcherReports(t *testing.T) {
	g := openedGate()
	g.fails.Store(true)
	var mu sync.Mutex
	var failed []uint64
	b := newBatcherOf(g.writer(), func(e sample, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, e.Value)
		assert.Contains(t, "closed", err, e.Value)
	})
	for i := range 5 {
		must(t, b.Add(t.Context(), nth(i)))
	}
	err := b.Add(t.Context(), sample{Time: at(1)})
	assert.Is(t, codec.ErrEmpty, err)
	same(t, Refused, outcomeAt(err, 0))
	report := asError[*BatchError](t, b.Flush(t.Context()))
	same(t, []int{5, 5, 5, 5}, []int{report.Events, report.Failed, len(failed), len(report.Failures)})
	same(t, `5 of 5 events not written; the first: table days, row "s0#2021-03-05" (failed): `+
		"rpc error: code = PermissionDenied desc = closed", report.Error())
	must(t, b.Flush(t.Context())) // already reported
}

// TestBatcherCloses closes twice: Add fails afterward, and no goroutine is left.
func TestBatcherCloses(t *testing.T) {
	before := runtime.NumGoroutine()
	g := &gate{open: make(chan struct{})}
	b := newBatcherOf(g.writer(), nil, BatcherOptions{MaxEvents: 3, MaxConcurrentBatches: 1})
	for i := range 5 {
		must(t, b.Add(t.Context(), nth(i)))
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.Is(t, context.DeadlineExceeded, b.Close(short))
	assert.Is(t, ErrClosed, b.Add(t.Context(), nth(9)))
	close(g.open)
	eventually(t, "what was added is sent although Close was given up", func() bool { return g.requests() == 2 })
	must(t, b.Close(t.Context()))
	must(t, b.Close(t.Context()))
	eventually(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
}

// TestFailedEventsCanBeAddedAgain adds events in the function that reports them, while other calls of Add block.
func TestFailedEventsCanBeAddedAgain(t *testing.T) {
	g := openedGate()
	g.fails.Store(true)
	var b *batcherOf[sample]
	var again atomic.Int64
	b = newBatcherOf(g.writer(), func(e sample, _ error) {
		if again.Add(1) == 50 {
			g.fails.Store(false)
		}
		assert.Is(t, nil, b.Add(t.Context(), e))
	}, BatcherOptions{MaxEvents: 1, MaxConcurrentBatches: 1})
	for i := range 100 {
		must(t, b.Add(t.Context(), nth(i)))
	}
	for again.Load() < 50 || b.Flush(t.Context()) != nil {
		runtime.Gosched()
	}
	must(t, b.Flush(t.Context()))
	same(t, 100+int(again.Load()), g.requests())
}

// TestBatcherCountsSkipped checks that operations count each event that a table skips, in batches of all sizes.
func TestBatcherCountsSkipped(t *testing.T) {
	short, long := days(), days()
	short.Table, long.Table = Table{ID: "short", Families: []Family{aged("f.1", time.Hour)}}, Table{ID: "long", Families: []Family{aged("f.1", 2*time.Hour)}}
	bt := newBigtable(t, short, long)
	const now = 86400 * 3
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		var mu sync.Mutex
		expired, events := map[string]int{}, map[string]int{}
		hooks := Hooks{End: func(_ context.Context, op Operation, err error) {
			mu.Lock()
			defer mu.Unlock()
			expired[op.Table] += op.Expired
			events[op.Table] += op.Events
		}}
		w := newWriterOf(bt.Client, []*mappingOf[sample]{short, long}, WriterOptions{Now: clockAt(now).Now, SkipExpired: true, Hooks: hooks})
		b := newBatcherOf(w, func(e sample, err error) { t.Errorf("%v: %v", e, err) }, BatcherOptions{MaxEvents: 1 + random.IntN(4), MaxAge: []time.Duration{NoTimeout, time.Millisecond}[round%2]})
		want := map[string]int{}
		added := 20
		for range added {
			age := []int{0, 90, 180, 180, 180}[random.IntN(5)] // in minutes
			if age > 60 {
				want["short"]++
			}
			if age > 120 {
				want["long"]++
			}
			must(t, b.Add(t.Context(), sample{Series: "s", Time: at(now - 60*age + random.IntN(60)), Value: 1}))
			if random.IntN(5) == 0 {
				must(t, b.Flush(t.Context()))
			}
		}
		must(t, b.Close(t.Context()))
		for _, table := range []string{"short", "long"} {
			assert.Same(t, []int{want[table], added}, []int{expired[table], events[table]}, "round", round, table)
		}
		same(t, BatcherStats{}, b.Stats())
	}
}
