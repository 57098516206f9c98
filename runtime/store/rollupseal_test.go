package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// unmarked writes events of some series and days as a program would that knows no rollup, and returns the windows.
func unmarked(t *testing.T, bt *storetest.Bigtable, l *mappingOf[sample], series, days int) (want []string) {
	t.Helper()
	plain := *l
	plain.Rollup = nil
	var events []sample
	for s := range series {
		for i := range days * 12 {
			events = append(events, sample{Series: fmt.Sprintf("s%02d", s), Time: at(i * 7200), Value: uint64(s*1000 + i)})
		}
	}
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{&plain}, writeAt(86400*days)).WriteAll(t.Context(), events))
	return allWindows(t, bt, &plain, 86400*days)
}

// allWindows returns the windows of all series.
func allWindows(t *testing.T, bt *storetest.Bigtable, l *mappingOf[sample], now int) []string {
	t.Helper()
	return made(t, readWindows(t.Context(), newReaderOf(bt.Client, l, clockAt(now)), intoColumns(l.untyped()), sampleWindows, everySample, day0, at(now), window.Every(time.Hour)), wholeText)
}

// hasRuns checks that each row with a cell of the rollup has one run.
func hasRuns(t *testing.T, bt *storetest.Bigtable, table string) {
	t.Helper()
	names, _ := rollupCells(t, bt, table)
	for row, cells := range names {
		runs := slices.DeleteFunc(cells, func(name string) bool { return name < rollup.FirstRun })
		assert.Same(t, 1, len(runs), "the runs of row", row)
	}
}

// TestRollupAll checks that buckets without marks are summarized at once, and which damaged runs are replaced.
func TestRollupAll(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	want := unmarked(t, bt, l, 3, 5)
	now := 86400*5 + 3600
	same(t, int64(0), roll(t, bt, l, rollupNow(now)).Noted) // buckets have no marks
	o := rollupNow(now)
	o.All, o.Sleep = true, func(context.Context, time.Duration) error { return errors.New("a wait") }
	for i, damage := range []func(value []byte) []byte{
		nil,
		func(v []byte) []byte { return append(v[:len(v)-1], v[len(v)-1]^1) },
		func([]byte) []byte { return nil },
		func([]byte) []byte { // it lacks a field
			run, err := sampleWindows.spec.Of(nil).AppendRun(nil, &window.Run{Start: day0, Every: time.Hour})
			must(t, err)
			return run
		},
	} {
		if damage != nil {
			damageRuns(t, bt, l, damage)
			assert.Same(t, int64(0), roll(t, bt, l, rollupNow(now)).Noted, i, "without All")
		}
		report := roll(t, bt, l, o)
		assert.Same(t, []int64{15, 15, 0}, []int64{report.Noted, report.Sealed, report.Inexact}, i)
		assert.Same(t, int64(0), roll(t, bt, l, o).Noted, i, "again")
		assert.Same(t, want, allWindows(t, bt, l, 86400*5), i)
		hasRuns(t, bt, l.Table.ID)
	}
	// Once events may have expired, a damaged run is all that is left: it stays, with and without a mark.
	damageRuns(t, bt, l, func([]byte) []byte { return []byte("damaged") })
	o.Now = func() time.Time { return at(86400 * 44) }
	same(t, int64(0), roll(t, bt, l, o).Noted)
	setCell(t, bt.Client, l.Table.ID, "s00#2021-03-05", "h", rollup.Mark(1), at(86400), nil)
	before, _ := rollupCells(t, bt, l.Table.ID)
	o = rollupNow(86400 * 44)
	report, err := runRollup(t.Context(), bt.Client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
	if !isDecodeError(err) || report.Noted != 1 || report.Undecodable != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	after, _ := rollupCells(t, bt, l.Table.ID)
	same(t, fmt.Sprint(before), fmt.Sprint(after))
}

// damageRuns changes the values of all runs.
func damageRuns(t *testing.T, bt *storetest.Bigtable, l *mappingOf[sample], damage func(value []byte) []byte) {
	t.Helper()
	runs := map[string]bigtable.ReadItem{}
	eachCell(t, bt.Client, l.Table.ID, func(cell bigtable.ReadItem) {
		if strings.HasPrefix(cell.Column, "h:") {
			runs[cell.Row] = cell
		}
	})
	for row, c := range runs {
		setCell(t, bt.Client, l.Table.ID, row, "h", strings.TrimPrefix(c.Column, "h:"), c.Timestamp.Time(), damage(c.Value))
	}
}

// splitClient returns a client whose tables are split at some keys.
func splitClient(bt *storetest.Bigtable, keys ...string) Client {
	return tableClient{bt.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI { return splitTable{api, keys} }}
}

// splitTable is a table with ranges between keys. The in-memory server samples row keys at random.
type splitTable struct {
	bigtable.TableAPI
	keys []string
}

func (t splitTable) SampleRowKeys(context.Context) ([]string, error) {
	return append(slices.Clone(t.keys), ""), nil
}

// TestRollupCheckpoint kills a call at each write of its checkpoint: another one continues it.
func TestRollupCheckpoint(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	for kill := range testlong.Pick(4, 24) {
		bt := newBigtable(t, l)
		want := unmarked(t, bt, l, 4, 4)
		o, saves := rollupNow(86400*4+3600), 0
		o.All, o.Checkpoint, o.Workers = true, filepath.Join(t.TempDir(), "checkpoint"), 1+kill%3
		client := splitClient(bt, "s01", "s02#2021-03-06", "s03")
		call := func(save func(write func(text []byte) error, text []byte) error) (RollupReport, error) {
			o.test = &rollupTest{random: randomID, most: 6, save: save}
			return runRollup(t.Context(), client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
		}
		first, err := call(func(write func(text []byte) error, text []byte) error {
			if saves++; saves <= kill/2 {
				return write(text)
			}
			if kill%2 == 1 {
				must(t, write(text))
			}
			return errKilled
		})
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		killed := err != nil
		second, err := call(nil)
		must(t, err)
		if done := first.Sealed == 16 && second.Noted == 0; killed && !done && second.Sealed < first.Sealed-int64(3*o.Workers) || second.Sealed > 16 {
			t.Fatalf("killed at %d: %+v, then %+v", kill, first, second)
		}
		third, err := call(nil)
		must(t, err)
		same(t, int64(0), third.Noted)
		same(t, want, allWindows(t, bt, l, 86400*4))
		hasRuns(t, bt, l.Table.ID)
	}
}

// TestRollupRefusesCheckpoints checks that a checkpoint of another call, or a damaged one, is refused.
func TestRollupRefusesCheckpoints(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	unmarked(t, bt, l, 2, 2)
	file := filepath.Join(t.TempDir(), "checkpoint")
	o := rollupNow(86400 * 3)
	o.All, o.Checkpoint = true, file
	roll(t, bt, l, o)
	refused := func(change func(o *RollupOptions)) {
		t.Helper()
		of := o
		change(&of)
		_, err := runRollup(t.Context(), bt.Client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, of)
		asError[*CheckpointError](t, err)
	}
	refused(func(o *RollupOptions) { o.All = false })
	refused(func(o *RollupOptions) { o.Instance = "projects/p/instances/i" })
	refused(func(o *RollupOptions) { o.TablePrefix = "x_" })
	refused(func(o *RollupOptions) { o.Checkpoint = t.TempDir() })
	text, err := os.ReadFile(file)
	must(t, err)
	text[20] ^= 1
	must(t, os.WriteFile(file, text, 0o600))
	refused(func(*RollupOptions) {})
}

// TestRollupOrder checks that buckets are summarized after the wait and the consistency, each once, and the progress.
func TestRollupOrder(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	var events []sample
	for i := range 40 {
		events = append(events, sample{Series: fmt.Sprintf("s%02d", i), Time: at(60)})
	}
	bt := holding(t, l, 86400, events)
	var mu sync.Mutex
	waits, consistent, applied := 0, 0, 0
	count := func(what *int) {
		mu.Lock()
		defer mu.Unlock()
		if *what++; consistent > waits || applied > 10*consistent {
			t.Errorf("%d waits, %d calls of Consistent, %d changes", waits, consistent, applied)
		}
	}
	client := tableClient{splitClient(bt, "s05", "s20", "s21"), func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
		return gatedTable{api, "", func(a asked, send func() error) error {
			if a.rows != nil {
				count(&applied)
			}
			return send()
		}}
	}}
	o := rollupNow(86400 * 2)
	o.test = &rollupTest{random: randomID, most: 7}
	o.Sleep = func(_ context.Context, d time.Duration) error {
		if grace := l.Rollup.Grace(l.Key.Bucket); d > grace || d < grace-time.Minute {
			t.Errorf("it waits %v", d)
		}
		count(&waits)
		return nil
	}
	o.Consistent = func(_ context.Context, table string) error {
		same(t, l.Table.ID, table)
		count(&consistent)
		return nil
	}
	var last RollupProgress
	waited := false
	o.Progress = func(p RollupProgress) {
		if p.Share < last.Share || p.Sealed < last.Sealed || p.Noted < p.Sealed {
			t.Errorf("%+v after %+v", p, last)
		}
		waited, last = waited || p.Waiting > 0, p
	}
	o.DryRun = true
	for _, sealed := range []int64{0, 40} {
		last, o.DryRun = RollupProgress{}, sealed == 0
		report, err := runRollup(t.Context(), client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
		must(t, err)
		same(t, []int64{40, sealed, sealed}, []int64{report.Noted, report.Sealed, int64(applied)})
		same(t, sealed > 0, waits+consistent > 0)
	}
	if !waited || last.Share != 1 || last.Sealed != 40 {
		t.Errorf("%+v", last)
	}
}

// TestRollupLeaves lets the service refuse one bucket of many, which is left for the next call, and each code that
// passes once. Class of faults: a job that ends with the first request that fails.
func TestRollupLeaves(t *testing.T) {
	t.Parallel()
	const refused = "s01#2021-03-06"
	lasts := func(rows bigtable.RowSet) bool { return strings.Contains(fmt.Sprint(rows), refused) }
	for name, c := range map[string]struct {
		code          codes.Code
		read, forever bool
		want          int64 // buckets that are left
		requests      int   // for the refused bucket; 0 for any
	}{
		"change refused": {codes.FailedPrecondition, false, true, 1, 1}, "change fails": {codes.Internal, false, true, 1, maxTries},
		"read refused": {codes.FailedPrecondition, true, true, 1, 0}, "read fails": {codes.ResourceExhausted, true, true, 1, 0},
		"change aborted once": {codes.Aborted, false, false, 0, 1}, "change fails once": {codes.Internal, false, false, 0, 1}, "change exhausted once": {codes.ResourceExhausted, false, false, 0, 1},
		"read fails once": {codes.Internal, true, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := rolled(days(), 40*24*time.Hour)
			bt := newBigtable(t, l)
			want := unmarked(t, bt, l, 3, 5)
			var mu sync.Mutex
			n, fails := 0, true
			client := through(bt.Client, func(a asked, send func() error) error {
				mu.Lock()
				if is := !c.read && slices.Contains(a.rows, refused) || c.read && lasts(a.reads); !is || !fails {
					mu.Unlock()
					return send()
				}
				defer mu.Unlock()
				n, fails = n+1, c.forever
				return status.Error(c.code, "not this bucket")
			})
			o := rollupNow(86400*5 + 3600)
			o.All = true
			report, err := runRollup(t.Context(), client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
			left, is := errors.AsType[*LeftError](err)
			if report.Failed != c.want || report.Sealed != 15-c.want || is != (c.want > 0) || is && (left.Buckets != c.want || !strings.Contains(left.Error(), refused)) || c.requests > 0 && n != c.requests {
				t.Errorf("%+v after %d requests: %v", report, n, err)
			}
			fails = false
			report, err = runRollup(t.Context(), client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
			must(t, err)
			same(t, c.want, report.Sealed)
			same(t, want, allWindows(t, bt, l, 86400*5))
		})
	}
}

// TestRollupEnds lets the service refuse all requests, or all changes: the call ends instead of trying each bucket.
func TestRollupEnds(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	unmarked(t, bt, l, 10, 5)
	for code, most := range map[codes.Code]int64{codes.PermissionDenied: 8, codes.FailedPrecondition: maxFailing + 8} {
		var n atomic.Int64
		client := tableClient{bt.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
			return tableFunc{TableAPI: api, apply: func(context.Context, string, *bigtable.Mutation) error {
				n.Add(1)
				return status.Error(code, "no changes")
			}}
		}}
		o := rollupNow(86400*5 + 3600)
		o.All, o.Workers = true, 2
		o.test = &rollupTest{random: randomID}
		report, err := runRollup(t.Context(), client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
		_, left := errors.AsType[*LeftError](err)
		if _, is := errors.AsType[*RollupError](err); !is || left || n.Load() > most || report.Sealed > 0 {
			t.Errorf("%v: %+v after %d requests: %v", code, report, n.Load(), err)
		}
	}
}

// TestRollupReplication lets clusters never catch up: the call says so. Class of faults: a wait without limit.
func TestRollupReplication(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400)).Write(t.Context(), sample{Series: "s", Time: at(60)}))
	o := rollupNow(86400*5 + 3600)
	o.test = &rollupTest{random: randomID, replication: 100 * time.Millisecond}
	told := make(chan string, 9)
	o.Consistent = func(ctx context.Context, table string) error {
		<-ctx.Done()
		same(t, table, <-told)
		return status.FromContextError(ctx.Err()).Err()
	}
	o.Progress = func(p RollupProgress) {
		if p.Replicating != "" {
			told <- p.Replicating
		}
	}
	report, err := runRollup(t.Context(), bt.Client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, o)
	asError[*ReplicationError](t, err)
	same(t, int64(0), report.Sealed)
}

var errKilled = errors.New("killed")
