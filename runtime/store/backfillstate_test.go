package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// refillOf is newRefill for other tables.
func refillOf(t *testing.T, source, target *mappingOf[sample], samples ...sample) *refill {
	t.Helper()
	if target.Table.WriteOnly = true; target.Table.ID == source.Table.ID {
		target.Table.ID = "target_" + target.Table.ID
	}
	r := &refill{mappings: []*mappingOf[sample]{source, target}, samples: samples}
	r.options = BackfillOptions{Workers: -1, Now: func() time.Time { return at(100_000) }, test: &backfillTest{clock: new(fakeClock).clock()}}
	r.Bigtable = newBigtable(t, r.mappings...)
	must(t, r.only(source.Table.ID).WriteAll(t.Context(), samples, WriteOptions{LastWins: true}))
	return r
}

func (r *refill) source() *mapping { return r.mappings[0].untyped() }
func (r *refill) target() *mapping { return r.mappings[1].untyped() }

// samplesOf returns n samples of three series.
func samplesOf(n int) (samples []sample) {
	for i := range n {
		samples = append(samples, sample{Series: fmt.Sprint("s", i%3), Time: at(i), Value: uint64(i), Class: 1 + i%2, ExpiresAt: at(200_000 + i)})
	}
	return samples
}

// meddle deletes some events of both tables, the source first, and writes some of them, as draw changes them. A target that keeps all
// values of an event has more of them than a source that keeps the last, so nothing is written again in this case.
func (r *refill) meddle(t *testing.T, random *rand.Rand, draw func(e *sample)) {
	w := r.only(r.mappings[0].Table.ID, r.mappings[1].Table.ID)
	for range random.IntN(4) {
		e := r.samples[random.IntN(len(r.samples))]
		if r.source().appends() || r.target().appends() || random.IntN(2) == 0 {
			_, err := w.Delete(t.Context(), []sample{e})
			must(t, err)
		}
		if random.IntN(2) == 0 && (!r.target().appends() || r.source().appends()) {
			draw(&e)
			must(t, w.Write(t.Context(), e))
		}
	}
}

// TestBackfillAmongPrograms copies between tables of different patterns while a program writes, rewrites and deletes, and others copy,
// before each request that changes the target: in the end, the tables agree. What is written again may have another class or expiry.
func TestBackfillAmongPrograms(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 27))
	test := func(t *testing.T, source, target *mappingOf[sample]) {
		r := refillOf(t, source, target, samplesOf(30)...)
		client := r.meddling(r.mappings[1].Table.ID, func(n int) {
			if n == 3 && random.IntN(2) == 0 {
				r.fill(t, r.Client)
			}
			if n <= 5 {
				r.meddle(t, random, func(e *sample) {
					e.Value, e.Class, e.ExpiresAt = uint64(1000+random.IntN(1000)), 1+random.IntN(2), at(200_000+random.IntN(10))
				})
			}
		})
		got := r.fill(t, client)
		if differences := r.differences(t); got.Unsettled > 0 || len(differences) > 0 {
			t.Fatalf("%+v: %v", got, differences)
		}
	}
	eachPair(t, patterns, test, testlong.Pick(1, 8))
	for _, tables := range []kinds{
		{"singles": classes(singles), "days": classes(days), "metric": func() *mappingOf[sample] { return classed(oneMetric()) }},
		{"singles": func() *mappingOf[sample] { return expires(singles()) }, "blobs": func() *mappingOf[sample] { return expires(blobs(singles())) }},
		{"singles": func() *mappingOf[sample] { return shifted(singles()) }, "blobs": func() *mappingOf[sample] { return shifted(blobs(singles())) }},
	} {
		eachPair(t, tables, test, testlong.Pick(1, 4))
	}
}

// kinds are tables to copy between.
type kinds map[string]func() *mappingOf[sample]

// patterns are tables of each pattern.
var patterns = kinds{
	"singles": func() *mappingOf[sample] { return singles() }, "days": func() *mappingOf[sample] { return days() },
	"offsets": func() *mappingOf[sample] { return offsets() }, "metrics": metrics, "metric": oneMetric,
}

// classes returns tables with TTL classes.
func classes(of func() *mappingOf[sample]) func() *mappingOf[sample] {
	return func() *mappingOf[sample] { return classed(of()) }
}

// eachPair runs a test for each table to each, several times; in a normal run, for every other pair.
func eachPair(t *testing.T, tables kinds, test func(t *testing.T, source, target *mappingOf[sample]), times int) {
	var pairs [][2]string
	for _, from := range slices.Sorted(maps.Keys(tables)) {
		for _, to := range slices.Sorted(maps.Keys(tables)) {
			pairs = append(pairs, [2]string{from, to})
		}
	}
	for range times {
		for _, of := range testlong.Sample(pairs, 2) {
			t.Run(of[0]+" to "+of[1], func(t *testing.T) { test(t, tables[of[0]](), tables[of[1]]()) })
		}
	}
}

// differences returns how the tables differ.
func (r *refill) differences(t *testing.T) []Difference {
	t.Helper()
	o := r.options
	o.Verify = true
	got, err := backfillOf(t.Context(), r.Client, r.mappings, o)
	must(t, err)
	return got.Differences
}

// TestBackfillEndsWhatOthersBegan lets a worker fail before another one compares, which settles what was deleted.
func TestBackfillEndsWhatOthersBegan(t *testing.T) {
	r := newRefill(t, 20)
	r.options.Workers = 2
	failed := make(chan struct{})
	client := tableClient{r.Client, func(id string, api bigtable.TableAPI) bigtable.TableAPI {
		if id == "singles" {
			return splitTable{api, []string{"s0010", "s0020", "s0030"}}
		}
		return tableFunc{TableAPI: api, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
			if rows[0] >= "s0010" {
				defer close(failed)
				return nil, status.Error(codes.PermissionDenied, "no")
			}
			<-failed
			time.Sleep(20 * time.Millisecond) // so that the other worker ends
			_, err := r.only("singles", "days").Delete(t.Context(), r.samples[:1])
			must(t, err)
			return api.ApplyBulk(ctx, rows, muts)
		}}
	}}
	_, err := backfillOf(t.Context(), client, r.mappings, r.options)
	same(t, codes.PermissionDenied, status.Code(err))
	if got := r.values(t, 1); len(got) != 9 || strings.HasPrefix(got[0], "s0000") {
		t.Error(got)
	}
}

// TestBackfillSweeps deletes what a stopped run may have left in a table without reads; else, only a repair deletes.
func TestBackfillSweeps(t *testing.T) {
	left := sample{Series: "s0003", Time: at(3), Value: 3}
	early := sample{Series: "s0003", Time: at(-1000), Value: 3} // before all events of the source
	for _, tt := range []struct {
		name           string
		serves, repair bool
		deleted, only  int64
	}{
		{"a stopped run", false, false, 1, 1},
		{"it serves reads", true, false, 0, 0},
		{"a repair", false, true, 2, 0},
		{"a repair of a table that serves reads", true, true, 2, 0},
	} {
		r := newRefill(t, 11)
		_, err := r.only("singles").Delete(t.Context(), []sample{left})
		must(t, err)
		r.mappings[1].Table.WriteOnly, r.options.Target, r.options.Repair = !tt.serves, "days", tt.repair
		must(t, r.only("days").WriteAll(t.Context(), []sample{left, early}))
		got := r.fill(t, r.Client)
		want := []int64{tt.deleted, tt.only, 12 - tt.deleted, 10}
		assert.Same(t, want, []int64{got.Deleted, got.OnlyTarget, int64(len(r.values(t, 1))), got.Events}, tt.name)
	}
}

// TestBackfillSweepsBesideOthers keeps an event that the source lacks if another table that serves reads has it.
func TestBackfillSweepsBesideOthers(t *testing.T) {
	r := newRefill(t, 5)
	other := offsets()
	r.mappings = append(r.mappings, other)
	r.Bigtable = newBigtable(t, r.mappings...)
	must(t, r.only("singles").WriteAll(t.Context(), r.samples))
	kept, gone := sample{Series: "s", Time: at(3), Value: 3}, sample{Series: "s", Time: at(4), Value: 4}
	must(t, r.only("days").WriteAll(t.Context(), []sample{kept, gone}))
	must(t, r.only(other.Table.ID).Write(t.Context(), kept))
	r.options.Source = "singles"
	got := r.fill(t, r.Client)
	same(t, []int{1, 1, 6}, []int{int(got.Deleted), int(got.OnlyTarget), len(r.values(t, 1))})
}

// TestBackfillKeepsWhatTheSourceCannotHave deletes no events that have expired in the source, or that it cannot store.
func TestBackfillKeepsWhatTheSourceCannotHave(t *testing.T) {
	for _, repair := range []bool{false, true} {
		for name, change := range map[string]func(*mappingOf[sample]){
			"expired":            func(l *mappingOf[sample]) { l.Table.Families = []Family{aged("f.1", 99_990*time.Second)} },
			"expires in a while": func(l *mappingOf[sample]) { l.Table.Families = []Family{aged("f.1", 100_027*time.Second)} },
			"no layout":          func(l *mappingOf[sample]) { l.Since = at(100) },
			"newest only":        func(l *mappingOf[sample]) { l.Table.Families[0].Life.Retention = codec.Retention{{Versions: 100}} },
		} {
			source, target := singles(), days()
			change(source)
			r := refillOf(t, source, target)
			r.options.Repair = repair
			must(t, r.only(r.mappings[1].Table.ID).Write(t.Context(), sample{Series: "s", Time: at(3), Value: 3}))
			must(t, r.only("singles").WriteAll(t.Context(), []sample{{Series: "a", Time: at(200)}, {Series: "s", Time: at(99_000), Value: 3}}))
			assert.Same(t, int64(0), r.fill(t, r.Client).Deleted, name, repair)
		}
	}
}

// TestBackfillBeginsAgain repeats a call whose checkpoint is complete: it copies to a table that was emptied.
func TestBackfillBeginsAgain(t *testing.T) {
	r := newRefill(t, 5)
	r.options.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	for range 2 {
		same(t, int64(5), r.fill(t, r.Client).Events)
		r.agree(t)
		_, err := r.only("days").Delete(t.Context(), r.samples)
		must(t, err)
	}
}

// parseCheckpoint parses a checkpoint of Backfill.
func parseCheckpoint(t *testing.T, text []byte) (call checkpoint.Call, p progress) {
	t.Helper()
	call, body, err := checkpoint.Parse(text)
	must(t, err)
	must(t, json.Unmarshal(body, &p))
	return call, p
}

// TestCheckpointWithoutRanges refuses checkpoints that have no ranges, or not all of a table.
func TestCheckpointWithoutRanges(t *testing.T) {
	r := newRefill(t, 5)
	file := filepath.Join(t.TempDir(), "checkpoint")
	r.options.Checkpoint = file
	r.fill(t, r.Client)
	text, err := os.ReadFile(file)
	must(t, err)
	call, c := parseCheckpoint(t, text)
	whole := c.Ranges[0]
	part := func(start, end string) jobRange {
		p := whole
		p.Range = KeyRange{start, end}
		return p
	}
	for _, ranges := range [][]jobRange{{}, {part("", "b")}, {part("b", "")}, {part("", "b"), part("c", "")}, {part("", ""), part("", "")}} {
		c.Ranges = ranges
		text, err := checkpoint.Text(call, c)
		must(t, err)
		must(t, os.WriteFile(file, text, 0o600))
		assert.Contains(t, "damaged", asError[*CheckpointError](t, r.fails(t), ranges))
	}
}

// TestCheckpointKeepsLongestWait stops calls with other timeouts: the checkpoint has the longest wait of all.
func TestCheckpointKeepsLongestWait(t *testing.T) {
	r := refillOf(t, days(), singles(), samplesOf(6)...)
	r.options.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	for _, c := range []struct{ timeout, wait time.Duration }{{time.Minute, 2 * time.Minute}, {time.Second, 2 * time.Minute}, {time.Hour, 2 * time.Hour}} {
		ctx, stop := context.WithCancel(t.Context())
		r.options.Timeout, r.options.Sleep = c.timeout, func(context.Context, time.Duration) error { stop(); return ctx.Err() }
		if _, err := backfillOf(ctx, r.meddling(r.mappings[1].Table.ID, func(int) { stop() }), r.mappings, r.options); err == nil {
			t.Error(c.timeout, "is not stopped")
		}
		text, err := os.ReadFile(r.options.Checkpoint)
		must(t, err)
		_, saved := parseCheckpoint(t, text)
		same(t, c.wait, saved.Wait)
	}
}

// TestBackfillRate checks that a rate is never exceeded, from the first event on, also by rows with more events.
func TestBackfillRate(t *testing.T) {
	for _, rate := range testlong.Sample([]float64{0.5, 3, 100, 1e5}, 3) {
		for _, workers := range []int{1, 4} {
			source, target := days(), singles()
			r := refillOf(t, source, target, samplesOf(400)...)
			clock := new(fakeClock)
			began := clock.now
			r.options.Rate, r.options.Workers, r.options.test = rate, workers, &backfillTest{clock: clock.clock()}
			written := 0
			now := clock.clock().Now
			client := through(r.Client, func(a asked, send func() error) error {
				clock.mu.Lock()
				written += len(a.rows)
				sum := written
				clock.mu.Unlock()
				if allowed := rate*now().Sub(began).Seconds() + 1e-6; float64(sum) > allowed && workers == 1 {
					t.Errorf("rate %g: %d events after %v", rate, sum, now().Sub(began))
				}
				return send()
			})
			events := r.fill(t, client).Events
			assert.Same(t, []int{400, 400}, []int{int(events), written}, "rate", rate)
			if took := now().Sub(began).Seconds(); took < 400/rate-1e-6 {
				t.Errorf("rate %g, %d workers: 400 events took %gs", rate, workers, took)
			}
		}
	}
}

// TestBackfillStatesInRanges checks that a series with events in ranges of several workers counts, and differs, once.
func TestBackfillStatesInRanges(t *testing.T) {
	c := newNowCase(t, 100*24*time.Hour)
	const series, days = 5, 4
	var samples []sample
	var keys []string
	for i := range series {
		for day := range days {
			e := sample{Series: fmt.Sprintf("s%d", i), Time: at(86_400 * day)}
			samples, keys = append(samples, e), append(keys, e.Series+"#"+e.Time.Format(time.DateOnly))
		}
	}
	c.now = at(86_400 * days)
	must(t, c.events().WriteAll(t.Context(), samples))
	client := splitClient(c.Bigtable, keys...)
	for _, tt := range []struct {
		name                string
		options             BackfillOptions
		events, differences int
	}{
		{"dry run", BackfillOptions{DryRun: true}, series, 0},
		{"empty", BackfillOptions{Verify: true}, series, series},
		{"fill", BackfillOptions{}, series, 0},
		{"fill again", BackfillOptions{}, 0, 0},
		{"filled", BackfillOptions{Verify: true}, series, 0},
		{"repair", BackfillOptions{Repair: true}, series, 0},
		{"repaired", BackfillOptions{Verify: true}, series, 0},
	} {
		tt.options.Target, tt.options.Now, tt.options.Workers = "now", c.clock, 4
		report, err := backfillOf(t.Context(), client, c.mappings, tt.options)
		must(t, err)
		want := []int{tt.events, series * days, tt.differences}
		assert.Same(t, want, []int{int(report.Events), int(report.Rows), len(report.Differences)}, tt.name)
	}
	c.agree("s0", "s4")
}

// TestBackfillUndecodableStates checks that undecodable rows of any age differ, and are repaired.
func TestBackfillUndecodableStates(t *testing.T) {
	for _, repair := range []bool{false, true} {
		c := newNowCase(t, 500*time.Second)
		w := c.writer(c.Client)
		for _, s := range []string{"newer", "same", "older", "whole"} {
			must(t, w.Write(t.Context(), sample{Series: s, Time: at(900), Value: 1, Note: []byte("n")}))
		}
		damage := func(series string, second int) {
			change(t, c.Client, "now", series, (*bigtable.Mutation).DeleteRow)
			note := wire.AppendQualifier(wire.AppendFamily(nil, "f.1"), []byte("note"))
			cell := wire.AppendSetCell(nil, note, at(second).UnixMicro(), []byte("x"))
			change(t, c.Client, "now", series, func(m *bigtable.Mutation) {
				new(wire.Converter).AddTo(m, c.mappings[0].untyped().appendVersion(cell, cell))
			})
		}
		damage("newer", 950)
		damage("same", 900)
		damage("older", 850)
		damage("without events", 900)
		all := []string{"newer", "same", "older", "whole", "without events"}
		c.agree(all...)
		same(t, 4, c.verified())
		report, err := backfillOf(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Repair: repair, Now: c.clock})
		must(t, err)
		c.agree(all...)
		want := 1 // a back-fill looks only at series with events
		if repair {
			want = 0
		}
		assert.Same(t, []int{want, 1 - want}, []int{c.verified(), int(report.Deleted)}, "repair", repair)
	}
}

// TestBackfillRefusedStates checks that a series that the keys of the table cannot have is an error.
func TestBackfillRefusedStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	now := c.mappings[0]
	now.Key.Delimiter = ";"
	now.Key.Segments = append(now.Key.Segments, codec.Segment{Kind: codec.ConstSegment, Const: "now"})
	now.Put = func(e *sample, c *eventCells) {
		c.Row(keyOf(&now.Key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
	}
	must(t, c.events().WriteAll(t.Context(), []sample{{Series: "a", Time: at(900)}, {Series: "b;c", Time: at(900)}}))
	for _, verify := range []bool{false, true} {
		_, err := backfillOf(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Verify: verify, Now: c.clock})
		assert.Is(t, codec.ErrDelimiter, err, verify)
	}
}

// TestBackfillBesideStates checks that a table with all samples is filled from another one, never from the newest.
func TestBackfillBesideStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	copies := living(days(), c.mappings[1].Table.Families[0].GC)
	copies.Table.ID, copies.Table.WriteOnly = "copies", true
	c.mappings = append(c.mappings, copies)
	must(t, c.Admin.CreateTableFromConf(t.Context(), &bigtable.TableConf{TableID: "copies", Families: map[string]bigtable.GCPolicy{"f.1": bigtable.NoGcPolicy()}}))
	samples := []sample{{Series: "a", Time: at(900)}, {Series: "a", Time: at(901)}, {Series: "b", Time: at(902)}}
	w := newWriterOf(c.Client, c.mappings, WriterOptions{Now: c.clock, Tables: []string{"days", "now"}})
	must(t, w.WriteAll(t.Context(), samples))
	report, err := backfillOf(t.Context(), c.Client, c.mappings, BackfillOptions{Now: c.clock})
	must(t, err)
	same(t, []any{"days", int64(3)}, []any{report.Source, report.Events})
	c.agree("a", "b")
	for reason, o := range map[string]BackfillOptions{
		"table now has only the newest event of each series":                {Source: "now"},
		"needs no checkpoint":                                               {Target: "now", Checkpoint: "x"},
		"leave out the range of time":                                       {Target: "now", From: at(900)},
		"the newest event of each series, whatever its time: leave out the": {Target: "now", To: at(900)},
	} {
		_, err := backfillOf(t.Context(), c.Client, c.mappings, o)
		assert.Contains(t, reason, err)
	}
	_, err = newBackfillPartsOf(c.Client, c.mappings, time.Time{}, BackfillOptions{Target: "now"})
	assert.Contains(t, "a pipeline cannot fill", err)
}

// TestStatesAlone checks that only deletions may leave out the table with all samples.
func TestStatesAlone(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	must(t, c.writer(c.Client).Write(t.Context(), sample{Series: "a", Time: at(900)}))
	w := newWriterOf(c.Client, c.mappings, WriterOptions{Now: c.clock, Tables: []string{"now"}})
	e := sample{Series: "a", Time: at(901)}
	assert.Is(t, ErrStatesAlone, w.Write(t.Context(), e))
	b := newBatcherOf(w, nil)
	assert.Is(t, ErrStatesAlone, b.Add(t.Context(), e))
	must(t, b.Close(context.Background()))
	_, err := w.DeleteAll(t.Context(), seriesOf(e))
	must(t, err)
	c.agree("a")
}
