package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// rollupLife is the life of a table with a rollup in two layouts by time: events are written late and again, deleted and
// collected, and summarized by sealers that are killed and continued, while replies are lost and clocks differ by up to an hour.
type rollupLife struct {
	t           *testing.T
	random      *rand.Rand
	bt          *storetest.Bigtable
	l           *Mapping[sample]
	into        *Columns[sample, sampleColumns]
	time        atomic.Int64                    // by the clock of Bigtable
	events      map[string]map[time.Time]uint64 // by series: all that were written and not deleted
	writers     []*Writer[sample]               // which use their marks again
	perWrite    int
	checkpoints string     // folder
	acting      sync.Mutex // of who changes rows, beside a sealer

	written, exact, inexact, runs int
}

// Lifetimes of events and of the rollup.
const (
	lifeTTL       = 10 * 24 * time.Hour
	rollupLifeTTL = 30 * 24 * time.Hour
)

// lockedSource makes a source of random numbers safe for concurrent use.
type lockedSource struct {
	sync.Mutex
	rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.Lock()
	defer s.Unlock()
	return s.Source.Uint64()
}

// newRollupLife returns a table whose layout changes after about half of its events.
func newRollupLife(t *testing.T, seed uint64, events, perWrite int) *rollupLife {
	p := &rollupLife{t: t, random: rand.New(&lockedSource{Source: rand.NewPCG(30, seed)}), events: map[string]map[time.Time]uint64{}, perWrite: perWrite, checkpoints: t.TempDir()}
	hours := codec.Bucket{Every: 6 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.UnixMillis}}}
	p.l = rolled(withKey(days(), "life", codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}}, Bucket: hours}), lifeTTL)
	older := rolled(days(), lifeTTL)
	older.Table.ID = "life"
	p.l.Rollup.Every = 15 * time.Minute
	steps := 3 * events / perWrite * 2
	p.l.Since = day0.Add(time.Duration(steps) * 4 * time.Hour).Truncate(24 * time.Hour)
	p.l.Older = []*Mapping[sample]{older}
	for _, m := range []*Mapping[sample]{p.l, older} {
		m.Rollup.GC.MaxAge = rollupLifeTTL
		adjusted(m, func(m *mapping) { m.layout = &intoColumns(m).columns })
	}
	p.into, p.bt = intoColumns(p.l.untyped()), newBigtable(t, p.l)
	p.time.Store(day0.Add(9 * time.Hour).UnixNano())
	for range 3 {
		p.writers = append(p.writers, p.writer())
	}
	return p
}

// writer returns a writer, whose requests get lost.
func (p *rollupLife) writer() *Writer[sample] {
	w := NewWriter(p.flaky(nil), []*Mapping[sample]{p.l}, WriterOptions{Now: p.clock()})
	for i := range w.writer.tables {
		w.writer.tables[i].marker.alone()
		w.writer.tables[i].marker.clock = p.now
	}
	return w
}

// anyWriter returns a new writer, or one that has written before.
func (p *rollupLife) anyWriter() *Writer[sample] {
	i := p.random.IntN(len(p.writers))
	if p.random.IntN(10) == 0 {
		p.writers[i] = p.writer()
	}
	return p.writers[i]
}

// now returns the time by the clock of Bigtable.
func (p *rollupLife) now() time.Time { return time.Unix(0, p.time.Load()).UTC() }

// clock returns the clock of a process, which differs from that of Bigtable by up to half an hour.
func (p *rollupLife) clock() func() time.Time {
	skew := time.Duration(p.random.Int64N(int64(time.Hour))) - 30*time.Minute
	return func() time.Time { return p.now().Add(skew) }
}

// flaky returns a client whose requests fail, some of them after they were applied. before is called before conditional
// changes, which sealers send.
func (p *rollupLife) flaky(before func()) Client {
	lost := func(apply func() error) error {
		switch p.random.IntN(8) {
		case 0:
			return status.Error(codes.Unavailable, "the request is lost")
		case 1:
			_ = apply()
			return status.Error(codes.Unavailable, "the reply is lost")
		}
		return apply()
	}
	return fakeClient{p.bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return sealedTable{tableFunc{
			TableAPI: api,
			bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) (errs []error, err error) {
				failed := lost(func() error { errs, err = api.ApplyBulk(ctx, rows, muts); return err })
				return errs, failed
			},
		}, func(apply func() error) error {
			if before != nil {
				before()
			}
			return lost(apply)
		}}
	}}
}

// sealedTable is a table whose conditional changes are passed to a function.
type sealedTable struct {
	tableFunc
	change func(apply func() error) error
}

func (t sealedTable) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	return t.change(func() error { return t.TableAPI.Apply(ctx, row, m, opts...) })
}

// until repeats a call until it succeeds.
func (p *rollupLife) until(call func() error) {
	for range 100 {
		if call() == nil {
			return
		}
	}
	p.t.Fatal("100 calls failed")
}

// write writes some events, most of which are recent.
func (p *rollupLife) write() {
	var events []sample
	for range 1 + p.random.IntN(p.perWrite) {
		ago := time.Duration(p.random.Int64N(int64(lifeTTL - 2*time.Hour)))
		if p.random.IntN(2) == 0 {
			ago /= 10
		}
		events = append(events, sample{Series: fmt.Sprint("s", p.random.IntN(3)), Time: p.now().Add(-ago).Truncate(20 * time.Minute), Value: uint64(p.random.IntN(1000))})
	}
	w := p.anyWriter()
	p.until(func() error { return w.WriteAll(p.t.Context(), events, WriteOptions{LastWins: true}) })
	for _, e := range events {
		if p.events[e.Series] == nil {
			p.events[e.Series] = map[time.Time]uint64{}
		}
		p.events[e.Series][e.Time] = e.Value
	}
	p.written += len(events)
}

// delete deletes a range of times, or some events, which may have expired.
func (p *rollupLife) delete() {
	series := fmt.Sprint("s", p.random.IntN(3))
	w := p.anyWriter()
	if p.random.IntN(2) == 0 {
		var some []sample
		for at := range p.events[series] {
			if some = append(some, sample{Series: series, Time: at}); len(some) == 3 {
				break
			}
		}
		p.until(func() error { _, err := w.Delete(p.t.Context(), some); return err })
		for _, e := range some {
			delete(p.events[series], e.Time)
		}
		return
	}
	from := p.now().Add(-time.Duration(p.random.IntN(24*20)) * time.Hour).Truncate(30 * time.Minute)
	to := from.Add(time.Duration(1+p.random.IntN(60)) * 30 * time.Minute)
	p.until(func() error {
		_, err := w.DeleteRange(p.t.Context(), SeriesOf(sample{Series: series}), from, to)
		return err
	})
	for at := range p.events[series] {
		if !at.Before(from) && at.Before(to) {
			delete(p.events[series], at)
		}
	}
}

// seal summarizes buckets. Others change rows while a sealer waits and when it has read them, and it may be killed at each of
// these moments, and continued by the next one.
func (p *rollupLife) seal() {
	ctx, kill := context.WithCancelCause(p.t.Context())
	defer kill(nil)
	var left atomic.Int64
	left.Store(p.random.Int64N(60))
	moment := func(others ...func()) {
		if left.Add(-1) == 0 {
			kill(errKilled)
		}
		if p.random.IntN(5) == 0 && p.acting.TryLock() {
			defer p.acting.Unlock()
			others[p.random.IntN(len(others))]()
		}
	}
	o := RollupOptions{All: p.random.IntN(4) == 0, Sleep: func(ctx context.Context, d time.Duration) error {
		p.time.Add(int64(d))
		moment(p.write, p.delete, p.write)
		return context.Cause(ctx)
	}}
	if p.random.IntN(2) == 0 {
		o.Checkpoint = filepath.Join(p.checkpoints, fmt.Sprint(o.All))
	}
	p.sealWith(ctx, o, func() { moment(p.write, p.delete, p.sealBetween) })
}

// sealBetween summarizes buckets at one moment, between the steps of another sealer.
func (p *rollupLife) sealBetween() { p.sealWith(p.t.Context(), RollupOptions{Sleep: noSleep}, nil) }

// sealWith summarizes buckets. before is called before each change.
func (p *rollupLife) sealWith(ctx context.Context, o RollupOptions, before func()) {
	o.Now, o.Workers = p.clock(), -1
	o.test = &rollupTest{random: randomID, chunk: 1 + p.random.IntN(20), queue: 1 + p.random.IntN(3)}
	_, err := Rollup(ctx, p.flaky(before), []*Mapping[sample]{p.l}, p.into, sampleWindows, o)
	if _, lost := errors.AsType[*RollupError](err); err != nil && !lost && !errors.Is(err, errKilled) {
		p.t.Fatal(err)
	}
}

var errKilled = errors.New("killed")

// collect deletes cells that have expired, of some rows.
func (p *rollupLife) collect() {
	table := p.bt.Client.Open(p.l.Table.ID)
	var keys []string
	must(p.t, table.ReadRows(p.t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		return true
	}))
	for _, key := range keys {
		m := bigtable.NewMutation()
		if at, err := p.startOf(key); err != nil || at.Add(24*time.Hour+rollupLifeTTL).Before(p.now()) {
			m.DeleteRow()
		} else {
			for _, name := range []string{"v.1", "note"} {
				m.DeleteTimestampRange("f.1", name, 0, bigtable.Timestamp(codec.Micros(p.now().Add(-lifeTTL))))
			}
		}
		if p.random.IntN(2) == 0 {
			must(p.t, table.Apply(p.t.Context(), key, m))
		}
	}
}

// startOf returns the time in a row key.
func (p *rollupLife) startOf(key string) (time.Time, error) {
	_, label, _ := strings.Cut(key, "#")
	if millis, err := strconv.ParseInt(label, 10, 64); err == nil {
		return time.UnixMilli(millis).UTC(), nil
	}
	return time.Parse(time.DateOnly, label)
}

// check compares the windows of all series with the events.
func (p *rollupLife) check() {
	now := p.now()
	width := []time.Duration{time.Hour, 24 * time.Hour}[p.random.IntN(2)]
	from, to := now.Add(-rollupLifeTTL).Truncate(24*time.Hour), now.Add(24*time.Hour).Truncate(24*time.Hour)
	got := map[string]sampleWindow{}
	o := ReaderOptions{Now: p.clock(), Hooks: Hooks{End: func(_ context.Context, op Operation, _ error) { p.runs += op.Runs }}}
	for w, err := range Windows(p.t.Context(), NewReader(p.bt.Client, p.l, o), p.into, sampleWindows, (&Query[sample]{Name: "All"}).Bind(sample{}), from, to, window.Every(width)) {
		must(p.t, err)
		got[w.Series+" "+w.Start.Format(time.RFC3339)] = w
	}
	for series, events := range p.events {
		var all []sample
		for at, v := range events {
			if at.Before(from.Add(-rollupLifeTTL)) {
				delete(events, at)
				continue
			}
			all = append(all, sample{Series: series, Time: at, Value: v})
		}
		in := map[time.Time][]stepped{}
		for _, e := range steppedIn(all, from) {
			start := e.Time.Truncate(width)
			in[start] = append(in[start], e)
		}
		there := func(start time.Time) bool { // else, the rollup has expired
			return start.Truncate(6 * time.Hour).Add(6*time.Hour + rollupLifeTTL).After(now.Add(2 * time.Hour))
		}
		doubt := false // about the last value before a window
		for start := from; start.Before(to); start = start.Add(width) {
			w, has := got[series+" "+start.Format(time.RFC3339)]
			if events := in[start]; there(start) && (len(events) == 0 || events[0].before == nil || there(events[0].before.Time.Truncate(width))) {
				p.compare(start, width, events, w, has, doubt)
			}
			if has {
				doubt = w.Inexact
			}
		}
	}
}

// compare compares a window with its events. There may be doubt about the value before it.
func (p *rollupLife) compare(start time.Time, width time.Duration, in []stepped, w sampleWindow, has, doubt bool) {
	if w.Inexact {
		if p.inexact++; !doubt && start.Truncate(24*time.Hour).Add(lifeTTL).After(p.now().Add(5*time.Hour)) {
			p.t.Fatalf("at %v: window %v of %s is inexact, although no event has expired", p.now(), start, w.Series)
		}
		return
	}
	if !has && len(in) == 0 {
		return
	}
	p.exact++
	var want string
	if len(in) > 0 {
		var events []sample
		for _, e := range in {
			events = append(events, e.sample)
		}
		want = windowsOf(events, width)[0] + modelRise(in)
	}
	if text := windowText(w) + risen(w.Value.BigIncrease(), w.Value.Since(), w.Value.Rate()); text != want {
		p.t.Fatalf("at %v: want %s, got %s", p.now(), want, text)
	}
}

// TestRollupLife checks windows at every moment of the life of a table. For more events, or other moments:
//
//	BTGEN_ROLLUP_EVENTS=100000 BTGEN_ROLLUP_SEED=7 go test ./runtime/store -run TestRollupLife -v -timeout 0
func TestRollupLife(t *testing.T) {
	events, seeds, first := testlong.Pick(100, 300), testlong.Pick(1, 3), uint64(0)
	perWrite := 6
	if text := os.Getenv("BTGEN_ROLLUP_EVENTS"); text != "" {
		var err error
		events, err = strconv.Atoi(text)
		must(t, err)
		seeds, perWrite = 1, max(6, events/1500)
	}
	if text := os.Getenv("BTGEN_ROLLUP_SEED"); text != "" {
		var err error
		first, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	var exact, inexact, runs int
	for seed := first; seed < first+uint64(seeds); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := newRollupLife(t, seed, events, perWrite)
			steps := []func(){p.write, p.write, p.delete, p.seal, p.seal, p.collect}
			n := 0
			for ; p.written < events; n++ {
				p.time.Add(int64(time.Duration(p.random.IntN(16*60)) * time.Minute))
				steps[p.random.IntN(len(steps))]()
				p.check()
			}
			t.Logf("%d events in %d steps and %v days, the last half of them in another layout: %v", p.written, n, int(p.now().Sub(day0)/(24*time.Hour)), p.now().After(p.l.Since))
			exact, inexact, runs = exact+p.exact, inexact+p.inexact, runs+p.runs
		})
	}
	t.Logf("%d exact windows, %d inexact ones, %d buckets from runs", exact, inexact, runs)
	if exact == 0 || inexact == 0 || runs == 0 {
		t.Error("not all kinds of windows were read")
	}
}
