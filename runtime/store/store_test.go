package store

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// sample is the event of the tests: a series, a time and a number.
type sample struct {
	Series string
	Time   time.Time
	Value  uint64
	Note   []byte // optional and of any size

	// Fields of samples in some mappings; see strategies.
	Class                int
	TTL                  time.Duration
	ExpiresAt, WrittenAt time.Time
	Sequence             uint32
}

// day0 is the day of most samples.
var day0 = time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)

// at returns the time n seconds into day0.
func at(n int) time.Time { return day0.Add(time.Duration(n) * time.Second) }

// keyOf returns the key of the row of a sample.
func keyOf(k *codec.Key, e *sample) ([]byte, error) {
	return k.Append(nil, &codec.KeyValues{Series: []any{&e.Series}, At: &e.Time})
}

// putValue returns the Put of a mapping that stores only the value, in the row of the bucket.
func putValue(l *mappingOf[sample]) func(e *sample, c *eventCells) {
	return func(e *sample, c *eventCells) {
		c.Row(keyOf(&l.Key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
	}
}

// ofSample points to the series of a sample.
var ofSample = seriesValues[sample]{of: func(e *sample, to []any) []any { return append(to, &e.Series) }, ptr: func(e *sample) any { return &e.Series }}

// ofSequence points to the sequence number of a sample.
func ofSequence(e event) *uint32 { return &e.pointer.(*sample).Sequence }

// Required is the Missing function of a mapping whose columns are all required.
func Required[E any](*E, int) error { return codec.ErrMissing }

// stringSeries points to the only value of a series.
func stringSeries(s *string, to []any) []any { return append(to, s) }

// days returns a mapping as in generated code: one row per day, and one cell in columns "v.1" and "note" per sample.
func days() *mappingOf[sample] {
	bucket := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02"}}}
	key := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}}, Bucket: bucket}
	return &mappingOf[sample]{
		Table:     Table{ID: "days", Families: []Family{{Name: "f.1"}}},
		Pattern:   codec.BucketNewCells,
		Key:       key,
		series:    ofSample,
		Columns:   []Column{{Name: "v.1"}, {Name: "note"}},
		Time:      func(e *sample) *time.Time { return &e.Time },
		Precision: time.Millisecond,
		Check: func(e *sample) error {
			var c codec.Checker
			c.Time("time", e.Time)
			return c.Err()
		},
		Put: func(e *sample, c *eventCells) {
			c.Row(keyOf(&key, e))
			c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
			if e.Note != nil {
				c.Set(1, e.Note)
			}
		},
		Set: func(e *sample, column int, datum []byte) (err error) {
			if column == 0 {
				e.Value, err = codec.Binary.Uint64.Decode(datum)
				return err
			}
			e.Note, err = codec.Binary.Bytes.Decode(datum)
			return err
		},
		Missing: func(_ *sample, column int) error {
			if column == 0 {
				return codec.ErrMissing
			}
			return nil
		},
	}
}

// maxRunning is how many servers may run at a time: each takes nine file descriptors, and 20,000 is a usual limit.
const maxRunning = 200

var running atomic.Int64

// newBigtable starts a server with the tables of mappings, which stops at the end of the test.
func newBigtable(t *testing.T, mappings ...*mappingOf[sample]) *storetest.Bigtable {
	t.Helper()
	t.Cleanup(func() { running.Add(-1) })
	if n := running.Add(1); n > maxRunning {
		t.Fatalf("%d servers run: stop that of each case, by tests of their own", n)
	}
	return serve(t, mappings...)
}

// SetUp creates tables with a prefix. It is setup.Setup, whose package imports this one.
var SetUp func(ctx context.Context, b *storetest.Bigtable, prefix string, tables []Table) error

// tableClient opens tables that a test wraps by their ID.
type tableClient struct {
	Client
	wrap func(id string, api bigtable.TableAPI) bigtable.TableAPI
}

func (c tableClient) OpenTable(id string) bigtable.TableAPI {
	return c.wrap(id, c.Client.OpenTable(id))
}

// tableFunc is a table with some methods replaced.
type tableFunc struct {
	bigtable.TableAPI
	apply    func(ctx context.Context, row string, m *bigtable.Mutation) error
	bulk     func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error)
	readRows func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error
}

func (t tableFunc) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	if t.apply != nil {
		return t.apply(ctx, row, m)
	}
	return t.TableAPI.Apply(ctx, row, m, opts...)
}

func (t tableFunc) ApplyBulk(ctx context.Context, rows []string, muts []*bigtable.Mutation, opts ...bigtable.ApplyOption) ([]error, error) {
	if t.bulk != nil {
		return t.bulk(ctx, rows, muts)
	}
	return t.TableAPI.ApplyBulk(ctx, rows, muts, opts...)
}

func (t tableFunc) ReadRows(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
	if t.readRows != nil {
		return t.readRows(ctx, set, f, opts...)
	}
	return t.TableAPI.ReadRows(ctx, set, f, opts...)
}

// opened returns a function that returns a client, which it closes at the end of a test.
func opened(t testing.TB) func(*bigtable.Client, error) *bigtable.Client {
	return func(client *bigtable.Client, err error) *bigtable.Client {
		t.Helper()
		must(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
}

// asked is a request: a read, or changes of rows.
type asked struct {
	ctx   context.Context
	table string
	reads bigtable.RowSet
	rows  []string
}

// gatedTable is a table whose requests pass a gate, which may send them at once, later, several times, or not at all.
type gatedTable struct {
	bigtable.TableAPI
	id   string
	gate func(a asked, send func() error) error
}

func (t gatedTable) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	late := context.WithoutCancel(ctx) // its call may have ended
	return t.gate(asked{ctx, t.id, nil, []string{row}}, func() error { return t.TableAPI.Apply(late, row, m, opts...) })
}

func (t gatedTable) ApplyBulk(ctx context.Context, rows []string, muts []*bigtable.Mutation, opts ...bigtable.ApplyOption) (errs []error, err error) {
	late := context.WithoutCancel(ctx)
	failed := t.gate(asked{ctx, t.id, nil, rows}, func() error {
		errs, err = t.TableAPI.ApplyBulk(late, rows, muts, opts...)
		return err
	})
	return errs, failed
}

func (t gatedTable) ReadRows(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
	return t.gate(asked{ctx, t.id, set, nil}, func() error { return t.TableAPI.ReadRows(ctx, set, f, opts...) })
}

// through returns a client whose requests pass a gate, to tables with one range.
func through(client Client, gate func(a asked, send func() error) error) Client {
	return tableClient{client, func(id string, api bigtable.TableAPI) bigtable.TableAPI {
		return gatedTable{splitTable{api, nil}, id, gate}
	}}
}

// onRows returns a client that calls f with each row before the reader gets it. An error of f is that of the request.
func onRows(client Client, f func(row bigtable.Row) error) Client {
	return tableClient{client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, next func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
			var failed error
			err := api.ReadRows(ctx, set, func(row bigtable.Row) bool {
				failed = f(row)
				return failed == nil && next(row)
			}, opts...)
			return cmp.Or(failed, err)
		}}
	}}
}

// during returns a client that calls begin before each read, and what it returns after the read.
func during(client Client, begin func() (end func())) Client {
	return through(client, func(_ asked, send func() error) error {
		defer begin()()
		return send()
	})
}

// breaksAfter returns a client whose requests fail after some rows of all of them, and the number of rows so far.
func breaksAfter(client Client, after int, failure error) (Client, *atomic.Int64) {
	rows := new(atomic.Int64)
	return onRows(client, func(bigtable.Row) error {
		if rows.Add(1) > int64(after) {
			return failure
		}
		return nil
	}), rows
}

// noTables is a client with all methods replaced.
type noTables struct{}

func (noTables) OpenTable(string) bigtable.TableAPI { return nil }

// faked returns a client whose only table is f.
func faked(f tableFunc) Client {
	return tableClient{noTables{}, func(string, bigtable.TableAPI) bigtable.TableAPI { return f }}
}

// collect reads all samples of a series in a range, up to the first error.
func collect(ctx context.Context, r *readerOf[sample], series string, from, to time.Time) ([]sample, error) {
	var out []sample
	for e, err := range r.Read(ctx, seriesOf(sample{Series: series}), from, to) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

// made returns what a function makes of each result of a read, which does not fail.
func made[T, S any](t testing.TB, results iter.Seq2[T, error], of func(T) S) (out []S) {
	t.Helper()
	for v, err := range results {
		must(t, err)
		out = append(out, of(v))
	}
	return out
}

// TestBulkErrorsAreReported covers the errors that ApplyBulk returns besides its own.
func TestBulkErrorsAreReported(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	client := tableClient{bt.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
			errs := make([]error, len(rows))
			for i, row := range rows {
				switch {
				case strings.HasPrefix(row, "bad"):
					errs[i] = status.Error(codes.InvalidArgument, "refused")
				case strings.HasPrefix(row, "lost"):
					errs[i] = status.Error(codes.Unavailable, "gone")
				default:
					errs[i] = api.Apply(ctx, row, muts[i])
				}
			}
			return errs, nil
		}}
	}}
	w := newWriterOf(client, []*mappingOf[sample]{l})
	err := w.WriteAll(t.Context(), []sample{
		{Series: "good", Time: at(0)}, {Series: "bad", Time: at(1)}, {Series: "lost", Time: at(2)},
		{Series: "bad", Time: at(3)}, {Series: "", Time: at(4)}, {Series: "good"},
	})
	var got []string
	for _, f := range asError[*WriteError](t, err).Failures {
		got = append(got, fmt.Sprint(f.Index, f.Row, " ", f.Outcome))
	}
	want := []string{"1bad#2021-03-05 failed", "2lost#2021-03-05 unknown", "3bad#2021-03-05 failed", "4 refused", "5 refused"}
	same(t, want, got)
	assert.Is(t, codec.ErrEmpty, err)
	assert.Is(t, codec.ErrTimeRange, err)
	assert.Contains(t, "5 of 6 events not written; event 1, table days, row", err)
	good, err := collect(t.Context(), newReaderOf(bt.Client, l), "good", day0, at(9))
	must(t, err)
	same(t, 1, len(good))
}

// TestDefaultDeadline checks that a call whose context has no deadline does not hang.
func TestDefaultDeadline(t *testing.T) {
	t.Parallel() // it waits
	l := days()
	client := faked(tableFunc{
		apply: func(ctx context.Context, _ string, _ *bigtable.Mutation) error { return hang(ctx) },
		bulk: func(ctx context.Context, _ []string, _ []*bigtable.Mutation) ([]error, error) {
			return nil, hang(ctx)
		},
		readRows: func(ctx context.Context, _ bigtable.RowSet, _ func(bigtable.Row) bool, _ ...bigtable.ReadOption) error {
			return hang(ctx)
		},
	})
	const timeout = 200 * time.Millisecond
	w := newWriterOf(client, []*mappingOf[sample]{l}, WriterOptions{Timeout: timeout})
	r := newReaderOf(client, l, ReaderOptions{Timeout: timeout})
	_, latest := r.Latest(t.Context(), sample{Series: "s"})
	_, read := collect(t.Context(), r, "s", day0, at(1))
	for name, err := range map[string]error{
		"Write":    w.Write(t.Context(), sample{Series: "s", Time: at(0)}),
		"WriteAll": w.WriteAll(t.Context(), []sample{{Series: "s", Time: at(0)}, {Series: "u", Time: at(0)}}),
		"Latest":   latest,
		"Read":     read,
	} {
		assert.Is(t, context.DeadlineExceeded, err, name)
	}
	same(t, Unknown, outcomeAt(w.Write(t.Context(), sample{Series: "s", Time: at(0)}), 0))
}

// TestIdleTimeoutExcludesCaller checks that the timeout does not include the time that a caller takes.
func TestIdleTimeoutExcludesCaller(t *testing.T) {
	t.Parallel() // it waits
	l := days()
	bt := newBigtable(t, l)
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l})
	const rows = 2
	for i := range rows {
		must(t, w.Write(t.Context(), sample{Series: "s", Time: at(i * 86400)}))
	}
	n := 0
	const timeout = time.Second
	for _, err := range newReaderOf(bt.Client, l, ReaderOptions{Timeout: timeout}).Read(t.Context(), seriesOf(sample{Series: "s"}), day0, at(10*86400)) {
		must(t, err)
		n++
		time.Sleep(timeout + timeout/10)
	}
	same(t, rows, n)
}

// wholeOf returns the query of Read.
func wholeOf[E any](r *readerOf[E]) *testQuery[E] {
	return &testQuery[E]{Name: r.reader.whole.Name, Spans: func(e *E) ([]codec.Span, error) { return r.reader.whole.Spans(event{e}) }}
}

// testQuery is a query in the form that readers derive from a [Query], so that tests can have any.
type testQuery[E any] struct {
	Name                              string
	Spans                             func(e *E) ([]codec.Span, error)
	AllTimes, MultiSeries, Contiguous bool
	Keys                              func(given *E) (*codec.KeyPattern, error)
	Conditions                        []codec.Condition
	bounds                            []E // of the conditions
}

// Where returns the query with the values of its conditions.
func (q *testQuery[E]) Where(low, high E) *testQuery[E] {
	out := *q
	out.bounds = []E{low, high}
	return &out
}

// of returns the query, and the selection of some values.
func (q *testQuery[E]) of(s Selection) (*query, *selection) {
	out := &query{
		Name: q.Name, Spans: func(e event) ([]codec.Span, error) { return q.Spans(e.pointer.(*E)) },
		AllTimes: q.AllTimes, MultiSeries: q.MultiSeries, Contiguous: q.Contiguous, Conditions: q.Conditions,
	}
	if q.Keys != nil {
		out.Keys = func(given event) (*codec.KeyPattern, error) { return q.Keys(given.pointer.(*E)) }
	}
	s.Bounds = pointersTo(q.bounds)
	return out, s.resolve()
}

// readOf yields the events that a query selects with some values.
func readOf[E any](ctx context.Context, r *readerOf[E], q *testQuery[E], s Selection, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	of, values := q.of(s)
	return ResultsOf[E](Results{func(yield yielder) {
		read := r.reader.beginSelected(ctx, values, of, from, to, opts)
		read.run(yield)
	}})
}

// columnsReadOf is readOf in columnar form.
func columnsReadOf[E, C any](ctx context.Context, r *readerOf[E], into *columnsOf[E, C], columns *C, q *testQuery[E], s Selection, from, to time.Time, opts ...ReadOptions) error {
	if q == nil {
		return readColumns(ctx, r, into, columns, s, from, to, opts...)
	}
	of, values := q.of(s)
	read := columnsReading{reading: r.reader.beginSelected(ctx, values, of, from, to, opts), into: into.columns, columns: into.columns.slices(columns)}
	return read.all()
}

// seriesReadOf yields the series of the events that readOf would yield.
func seriesReadOf(ctx context.Context, r *readerOf[sample], q *testQuery[sample], s Selection, from, to time.Time, opts ...SeriesOptions) iter.Seq2[string, error] {
	of, values := q.of(s)
	return func(yield func(string, error) bool) {
		r.reader.series(ctx, values, of, from, to, scan.NoRuns, call.Last(opts).Page)(func(e event, err error) bool { return yield(e.pointer.(*sample).Series, err) })
	}
}

// spansOf returns the Spans of a mapping.
func spansOf[E any](l *mappingOf[E]) func(e *E) ([]codec.Span, error) {
	return func(e *E) ([]codec.Span, error) { return l.untyped().Spans(event{e}) }
}

// adjusted returns a mapping that adjust changes.
func adjusted[E any](l *mappingOf[E], adjust func(m *mapping)) *mappingOf[E] {
	before := l.adjust
	l.adjust = func(m *mapping) {
		if before != nil {
			before(m)
		}
		adjust(m)
	}
	return l
}

// TestReadStops ends the loop of a read, and its context.
func TestReadStops(t *testing.T) {
	r, _ := stored(t, days(), 86400, numbered(5)...)
	var ended Operation
	var failed error
	r.reader.options.Hooks = Hooks{End: func(_ context.Context, op Operation, err error) { ended, failed = op, err }}
	for range r.Read(t.Context(), seriesOf(sample{Series: "s"}), day0, at(10*86400)) {
		break
	}
	if want := (Operation{Name: "Read", Table: "days", Events: 1, Rows: 1, Requests: 1, OrdinaryRequests: 1, Cells: 1, Bytes: ended.Bytes}); ended != want || ended.Bytes < 8 || failed != nil {
		t.Errorf("%+v, %v", ended, failed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := collect(ctx, r, "s", day0, at(10*86400)); !errors.Is(err, context.Canceled) || failed == nil {
		t.Errorf("%v, and the hook was told %v", err, failed)
	}
}

// Parallel tests wait more than they compute, so more of them run at a time than there are processors.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set(parallel); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
