package weather_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// maxAge is the time to live of all the example tables.
const maxAge = 52 * 7 * 24 * time.Hour

// The server does not garbage-collect here: expired events exist, and are not returned.
func TestExpiredEventsAreNotRead(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		bt := weathertest.New(t)
		times := weeks(4)
		check(t, p.write(t.Context(), bt.Client, options, times...))
		for alive := range len(times) + 1 { // how many of them
			now := times[0].Add(maxAge - time.Millisecond)
			if alive < len(times) {
				now = times[len(times)-1-alive].Add(maxAge + time.Millisecond)
			}
			want := times[len(times)-alive:]
			compare(t, append([]time.Time(nil), want...), all(t, p.read(t.Context(), bt.Client, at(now), times[0], times[3].Add(1))))
			latest, err := p.latest(t.Context(), bt.Client, at(now))
			if alive == 0 {
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("Latest of what has expired: %v, %v", latest, err)
				}
				continue
			}
			check(t, err)
			compare(t, times[3], latest)
		}
	})
}

// The clock advances during a read, and is checked for every event.
func TestEventsThatExpireDuringARead(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		bt := weathertest.New(t)
		times := weeks(4)
		check(t, p.write(t.Context(), bt.Client, options, times...))
		var late atomic.Bool
		o := store.ReaderOptions{Now: func() time.Time {
			if late.Load() {
				return times[2].Add(maxAge)
			}
			return times[0].Add(maxAge)
		}}
		var got []time.Time
		for read, err := range p.read(t.Context(), bt.Client, o, times[0], times[3].Add(1)) {
			check(t, err)
			got = append(got, read)
			late.Store(true)
		}
		compare(t, []time.Time{times[0], times[2], times[3]}, got)
	})
}

func TestLateEventsAreRefused(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		bt := weathertest.New(t)
		times := weeks(3)
		err := p.write(t.Context(), bt.Client, at(times[1].Add(maxAge)), times...)
		failed := writeError(t, err)
		if !errors.Is(err, codec.ErrExpired) || len(failed.Failures) != 1 || failed.Failures[0].Index != 0 || failed.Failures[0].Outcome != store.Refused {
			t.Errorf("got %v, want event 0 refused with ErrExpired", err)
		}
		compare(t, times[1:], all(t, p.read(t.Context(), bt.Client, options, times[0], times[2].Add(1))))
	})
}

// writeError returns the WriteError that err wraps.
func writeError(t *testing.T, err error) *store.WriteError {
	t.Helper()
	var failed *store.WriteError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want a WriteError", err)
	}
	return failed
}

func TestRangesOfEveryPattern(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		bt := weathertest.New(t)
		read := func(from, to time.Time) []time.Time {
			return all(t, p.read(t.Context(), bt.Client, options, from, to))
		}
		compare(t, []time.Time(nil), read(noon, minute(10)))
		if _, err := p.latest(t.Context(), bt.Client, options); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Latest of an empty table: %v", err)
		}
		times := weeks(12) // to week 12: not in the order of the labels
		check(t, p.write(t.Context(), bt.Client, options, times...))
		for name, tt := range map[string]struct {
			from, to time.Time
			want     []time.Time
		}{
			"whole":          {times[0], times[11].Add(1), times},
			"without an end": {times[0], time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC), times},
			"half-open":      {times[8], times[10], times[8:10]},
			"just after":     {times[8].Add(1), times[10].Add(1), times[9:11]},
			"one event":      {times[9], times[9].Add(1), times[9:10]},
			"none between":   {times[3].Add(1), times[4], nil},
			"empty":          {times[3], times[3], nil},
			"before all":     {time.Unix(0, 0), times[0], nil},
			"after all":      {times[11].Add(1), times[11].AddDate(1, 0, 0), nil},
		} {
			if got := read(tt.from, tt.to); !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %v, want %v", name, got, tt.want)
			}
		}
		for _, to := range []time.Time{times[3], {}} { // before the beginning, and no end
			var failed error
			for _, err := range p.read(t.Context(), bt.Client, options, times[5], to) {
				failed = err
			}
			if !errors.Is(failed, codec.ErrRange) {
				t.Errorf("from %v to %v: %v", times[5], to, failed)
			}
		}
		latest, err := p.latest(t.Context(), bt.Client, options)
		check(t, err)
		compare(t, times[11], latest)
	})
}

// A read whose context ends yields no further event, and then the error, so that it
// does not look complete.
func TestCancellationInTheMiddleOfARead(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		bt := weathertest.New(t)
		times := weeks(40)
		check(t, p.write(t.Context(), bt.Client, options, times...))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got int
		var last error
		for _, err := range p.read(ctx, bt.Client, options, times[0], times[39].Add(1)) {
			if last = err; err == nil {
				got++
				cancel()
			}
		}
		if got != 1 || !errors.Is(last, context.Canceled) {
			t.Errorf("the read ended with %v after %d of %d events", last, got, len(times))
		}
	})
}

// Breaking out of the loop ends the requests that read ahead.
func TestBreakingOutOfTheLoop(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		bt := weathertest.New(t)
		times := weeks(20)
		check(t, p.write(t.Context(), bt.Client, options, times...))
		check(t, firstError(p, t.Context(), bt.Client, options)) // connections are open
		before := runtime.NumGoroutine()
		for range 10 {
			for read, err := range p.read(t.Context(), bt.Client, options, times[0], times[19].Add(1)) {
				check(t, err)
				compare(t, times[0], read)
				break
			}
		}
		for wait := time.Millisecond; runtime.NumGoroutine() > before+2; wait *= 2 {
			if wait > time.Second {
				t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
			}
			time.Sleep(wait)
		}
	})
}

// firstError returns the first error of a read.
func firstError(p pattern, ctx context.Context, client store.Client, o store.ReaderOptions) error {
	for _, err := range p.read(ctx, client, o, noon, noon.AddDate(0, 1, 0)) {
		if err != nil {
			return err
		}
	}
	return nil
}

// blocked is a table whose calls return when their context ends.
type blocked struct {
	bigtable.TableAPI
	called func(ctx context.Context)
}

func (b blocked) wait(ctx context.Context) error {
	b.called(ctx)
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err() // flattened, as the client does
}

func (b blocked) Apply(ctx context.Context, _ string, _ *bigtable.Mutation, _ ...bigtable.ApplyOption) error {
	return b.wait(ctx)
}

func (b blocked) ApplyBulk(ctx context.Context, _ []string, _ []*bigtable.Mutation, _ ...bigtable.ApplyOption) ([]error, error) {
	return nil, b.wait(ctx)
}

func (b blocked) ReadRows(ctx context.Context, _ bigtable.RowSet, _ func(bigtable.Row) bool, _ ...bigtable.ReadOption) error {
	return b.wait(ctx)
}

// blockedClient opens blocked tables.
func blockedClient(t *testing.T, called func(ctx context.Context)) store.Client {
	return wrapped{weathertest.New(t).Client, func(api bigtable.TableAPI) bigtable.TableAPI { return blocked{api, called} }}
}

func TestCallsThatHang(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		t.Parallel() // it waits
		client := blockedClient(t, func(context.Context) {})
		o := store.ReaderOptions{Now: clock, Timeout: 100 * time.Millisecond}
		err := p.write(t.Context(), client, o, noon)
		failed := writeError(t, err)
		if !errors.Is(err, context.DeadlineExceeded) || len(failed.Failures) != p.rows || failed.Failures[0].Outcome != store.Unknown {
			t.Errorf("write: got %v, want %d rows of an unknown fate", err, p.rows)
		}
		if err := firstError(p, t.Context(), client, o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		if _, err := p.latest(t.Context(), client, o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("latest: %v", err)
		}
	})
}

// A call has a deadline even if the caller sets none.
func TestDefaultDeadline(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		ctx, cancel := context.WithCancel(t.Context())
		client := blockedClient(t, func(ctx context.Context) {
			defer cancel()
			deadline, ok := ctx.Deadline()
			if left := time.Until(deadline); !ok || left < 50*time.Second || left > time.Minute {
				t.Errorf("%s left to write, deadline %v", left, ok)
			}
		})
		if err := p.write(ctx, client, options, noon); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestHooksReportOperations(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		bt := weathertest.New(t)
		type key struct{}
		var ops []store.Operation
		var errs []error
		o := store.ReaderOptions{Now: clock, Hooks: store.Hooks{
			Start: func(ctx context.Context, op store.Operation) context.Context {
				return context.WithValue(ctx, key{}, op.Name)
			},
			End: func(ctx context.Context, op store.Operation, err error) {
				if ctx.Value(key{}) != op.Name {
					t.Errorf("End of %s has the context of %v", op.Name, ctx.Value(key{}))
				}
				op.Requests = min(op.Requests, 1) // how many is for other tests
				if op.Bytes < 30*op.Cells || op.Bytes > 100*op.Cells {
					t.Errorf("%d cells of %d bytes", op.Cells, op.Bytes)
				}
				op.Bytes = 0
				ops, errs = append(ops, op), append(errs, err)
			},
		}}
		times := weeks(3)
		check(t, p.write(t.Context(), bt.Client, o, times...))
		all(t, p.read(t.Context(), bt.Client, o, times[0], times[1].Add(1)))
		_, err := p.latest(t.Context(), bt.Client, o)
		check(t, err)
		refused := p.write(t.Context(), bt.Client, o, time.Time{})

		latestRows := p.rows
		if p.table == "balloon_new_columns" || p.table == "balloon_new_cells" {
			latestRows = 3 * p.rows // the week of the clock, and those after it, have no order
		}
		cells := 1 // of a row
		if p.table == "balloon_new_cells" || p.table == "balloon_unserialized" {
			cells = 4
		}
		compare(t, []store.Operation{
			{Name: "WriteAll", Table: p.table, Events: 3, Rows: 3 * p.rows, Requests: 1},
			{Name: "Read", Table: p.table, Events: 2, Rows: 2 * p.rows, Cells: 2 * p.rows * cells, Requests: 1},
			{Name: "Latest", Table: p.table, Events: 1, Rows: latestRows, Cells: latestRows * cells, Requests: 1},
			{Name: "WriteAll", Table: p.table, Events: 1},
		}, ops)
		if errs[0] != nil || errs[1] != nil || errs[2] != nil || refused == nil || errs[3].Error() != refused.Error() {
			t.Errorf("End was given %v", errs)
		}
	})
}

// Valid events are durable regardless of the others, and the error states the outcome
// of each of the others.
func TestWriteErrorNamesEachEvent(t *testing.T) {
	bt := weathertest.New(t)
	client := wrapped{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return bulk{api, func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
			_, err := api.ApplyBulk(ctx, rows, muts)
			errs := make([]error, len(rows))
			errs[1] = status.Error(codes.PermissionDenied, "not yours")
			errs[2] = status.Error(codes.Unavailable, "who knows")
			return errs, err
		}}
	}}
	var events []weather.BalloonUnserializedEvent
	for i := range 6 {
		events = append(events, weather.BalloonUnserializedEvent{
			BalloonUnserializedSeries: weather.BalloonUnserializedSeries{Location: "us-west2", BalloonID: 3698}, Time: minute(i),
		})
	}
	events[1].Location = "us#west2"
	events[4].Time = time.Time{}
	err := weather.NewBalloonUnserializedWriter(client, writing(options)).WriteAll(t.Context(), events)
	failed := writeError(t, err)

	type failure struct {
		event   int
		row     string
		outcome store.Outcome
	}
	var got []failure
	for _, f := range failed.Failures {
		compare(t, "balloon_unserialized", f.Table)
		got = append(got, failure{f.Index, f.Row, f.Outcome})
	}
	want := []failure{
		{1, "", store.Refused},
		{2, "us-west2#3698#2021-03-05-1202", store.Failed},
		{3, "us-west2#3698#2021-03-05-1203", store.Unknown},
		{4, "", store.Refused},
	}
	if !slices.Equal(want, got) || failed.Events != 6 {
		t.Errorf("got %v of %d, want %v", got, failed.Events, want)
	}
	for _, reason := range []error{codec.ErrDelimiter, codec.ErrTimeRange} {
		if !errors.Is(err, reason) {
			t.Errorf("%v is not %v", err, reason)
		}
	}
	var field *codec.FieldError
	if !errors.As(err, &field) || field.Field != "location" {
		t.Errorf("field %+v", field)
	}
	if status.Code(failed.Failures[1].Err) != codes.PermissionDenied {
		t.Errorf("the reason of the server is lost: %v", failed.Failures[1].Err)
	}
	compare(t, `4 of 6 events not written; `+
		`event 1, table balloon_unserialized: location "us#west2": key segment contains the delimiter; `+
		`event 2, table balloon_unserialized, row "us-west2#3698#2021-03-05-1202" (failed): rpc error: code = PermissionDenied desc = not yours; `+
		`event 3, table balloon_unserialized, row "us-west2#3698#2021-03-05-1203" (unknown): rpc error: code = Unavailable desc = who knows; `+
		`and 1 more`, err.Error())
	r := weather.NewBalloonUnserializedReader(bt.Client, options)
	durable := all(t, r.Read(t.Context(), events[0].BalloonUnserializedSeries, noon, minute(9)))
	if len(durable) != 4 { // all that were sent: only the answers were bad
		t.Errorf("%d events are stored", len(durable))
	}
}

// NaN and infinities are refused if they would be column names, and are ordinary values otherwise.
func TestNaNAndInfinities(t *testing.T) {
	bt := weathertest.New(t)
	nan, inf := math.NaN(), math.Inf(-1)
	columns := weather.NewBalloonNewColumnsWriter(bt.Client, writing(options))
	if err := columns.Write(t.Context(), columnEvent(noon, 1, nan)); !errors.Is(err, codec.ErrNaN) {
		t.Errorf("NaN: got %v, want ErrNaN", err)
	}
	check(t, columns.Write(t.Context(), columnEvent(noon, 1, inf)))
	latest, err := weather.NewBalloonNewColumnsReader(bt.Client, options).Latest(t.Context(), columnSeries)
	check(t, err)
	compare(t, columnEvent(noon, 1, inf), latest)

	for _, number := range []float64{nan, inf} {
		event := cellEvent(cellSeries, noon, 1)
		event.Temperature = number
		check(t, weather.NewBalloonNewCellsWriter(bt.Client, writing(options)).Write(t.Context(), event))
		latest, err := weather.NewBalloonNewCellsReader(bt.Client, options).Latest(t.Context(), cellSeries)
		check(t, err)
		if math.Float64bits(latest.Temperature) != math.Float64bits(number) {
			t.Errorf("got %v, want %v", latest.Temperature, number)
		}
	}
}

// Goroutines share a writer and a reader. Concurrent reads return complete events, in order.
func TestConcurrentWritersAndReaders(t *testing.T) {
	forEachPattern(t, func(t *testing.T, p pattern) {
		const writers, each = 4, 10
		shared := p.open(weathertest.New(t).Client, options)
		from, to := noon, noon.AddDate(0, 0, 7*each)
		var wg sync.WaitGroup
		for n := range writers {
			wg.Go(func() {
				for _, at := range weeks(each) {
					if err := shared.write(t.Context(), at.Add(time.Duration(n)*time.Minute)); err != nil {
						t.Error(err)
					}
				}
			})
			if p.rows > 1 {
				continue // an event of several rows may be read in part
			}
			wg.Go(func() {
				var last time.Time
				for read, err := range shared.read(t.Context(), from, to) {
					if err != nil || !read.After(last) {
						t.Errorf("%v after %v, error %v", read, last, err)
					}
					last = read
				}
			})
		}
		wg.Wait()
		compare(t, writers*each, len(all(t, shared.read(t.Context(), from, to))))
	})
}

// Setup creates what is missing, and does not change a rule that differs, because another rule may
// delete data.
func TestSetupCompletesExistingTables(t *testing.T) {
	bt := weathertest.New(t)
	const table = "balloon_new_cells"
	check(t, bt.Admin.DeleteColumnFamily(t.Context(), table, "measurements"))
	plan, err := weather.SetupBalloonNewCells(t.Context(), bt.Admin, bt.Client)
	check(t, err)
	compare(t, "+ family measurements of table balloon_new_cells: max_age 364d\n", plan.String())

	check(t, bt.Admin.SetGCPolicy(t.Context(), table, "measurements", bigtable.MaxVersionsPolicy(1)))
	plan, err = weather.SetupBalloonNewCells(t.Context(), bt.Admin, bt.Client)
	var refused *setup.RefusedError
	if !errors.As(err, &refused) || len(refused.Changes) != 1 || !plan.Empty() {
		t.Fatalf("got %v and %v, want a RefusedError", plan, err)
	}
	compare(t, "shorter_age:balloon_new_cells/measurements", refused.Changes[0].Name())
	info, err := bt.Admin.TableInfo(t.Context(), table)
	check(t, err)
	compare(t, "versions() > 1", info.FamilyInfos[0].GCPolicy)
}
