package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// rollupLife is the life of a table with a rollup: events are written late and again, deleted and collected, and
// summarized by sealers that are killed, while replies are lost and clocks differ.
type rollupLife struct {
	t      *testing.T
	random *rand.Rand
	bt     *storetest.Bigtable
	l      *Mapping[sample]
	into   *Columns[sample, sampleColumns]
	now    time.Time                       // by the clock of Bigtable
	events map[string]map[time.Time]uint64 // by series: all that were written and not deleted

	exact, inexact, runs int
}

// Lifetimes of events and of the rollup.
const (
	lifeTTL       = 10 * 24 * time.Hour
	rollupLifeTTL = 30 * 24 * time.Hour
)

// clock returns the clock of a process, which differs from that of Bigtable by up to half an hour.
func (p *rollupLife) clock() func() time.Time {
	skew := time.Duration(p.random.Int64N(int64(time.Hour))) - 30*time.Minute
	return func() time.Time { return p.now.Add(skew) }
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
	for range 1 + p.random.IntN(6) {
		ago := time.Duration(p.random.Int64N(int64(lifeTTL - 2*time.Hour)))
		if p.random.IntN(2) == 0 {
			ago /= 10
		}
		events = append(events, sample{Series: fmt.Sprint("s", p.random.IntN(3)), Time: p.now.Add(-ago).Truncate(20 * time.Minute), Value: uint64(p.random.IntN(1000))})
	}
	w := NewWriter(p.flaky(nil), []*Mapping[sample]{p.l}, WriterOptions{Now: p.clock()})
	p.until(func() error { return w.WriteAll(p.t.Context(), events, WriteOptions{LastWins: true}) })
	for _, e := range events {
		if p.events[e.Series] == nil {
			p.events[e.Series] = map[time.Time]uint64{}
		}
		p.events[e.Series][e.Time] = e.Value
	}
}

// delete deletes a range of times, or some events, which may have expired.
func (p *rollupLife) delete() {
	series := fmt.Sprint("s", p.random.IntN(3))
	w := NewWriter(p.flaky(nil), []*Mapping[sample]{p.l}, WriterOptions{Now: p.clock()})
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
	from := p.now.Add(-time.Duration(p.random.IntN(24*20)) * time.Hour).Truncate(30 * time.Minute)
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

// seal summarizes buckets. Others may change while a sealer has read them, and it may be killed.
func (p *rollupLife) seal() {
	ctx, kill := context.WithCancelCause(p.t.Context())
	defer kill(nil)
	left, busy := p.random.IntN(12), false
	client := p.flaky(func() {
		if left--; left == 0 {
			kill(errKilled)
		}
		if !busy && p.random.IntN(5) == 0 {
			busy = true
			[]func(){p.write, p.delete, p.seal}[p.random.IntN(3)]()
			busy = false
		}
	})
	o := RollupOptions{Now: p.clock(), Workers: -1, All: p.random.IntN(4) == 0, Sleep: noSleep, test: &rollupTest{random: randomID, chunk: 1 + p.random.IntN(20), queue: 1 + p.random.IntN(3)}}
	_, err := Rollup(ctx, client, []*Mapping[sample]{p.l}, p.into, sampleWindows, o)
	if err != nil && !errors.Is(err, errKilled) && status.Code(errors.Unwrap(err)) != codes.Unavailable {
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
		for _, name := range []string{"v.1", "note"} {
			m.DeleteTimestampRange("f.1", name, 0, bigtable.Timestamp(codec.Micros(p.now.Add(-lifeTTL))))
		}
		if p.random.IntN(2) == 0 {
			must(p.t, table.Apply(p.t.Context(), key, m))
		}
	}
}

// check compares the windows of all series with the events.
func (p *rollupLife) check() {
	width := []time.Duration{time.Hour, 24 * time.Hour}[p.random.IntN(2)]
	from, to := day0, p.now.Add(24*time.Hour).Truncate(24*time.Hour)
	got := map[string]sampleWindow{}
	o := ReaderOptions{Now: p.clock(), Hooks: Hooks{End: func(_ context.Context, op Operation, _ error) { p.runs += op.Runs }}}
	for w, err := range Windows(p.t.Context(), NewReader(p.bt.Client, p.l, o), p.into, sampleWindows, (&Query[sample]{Name: "All"}).Bind(sample{}), from, to, window.Every(width)) {
		must(p.t, err)
		got[w.Series+" "+w.Start.Format(time.RFC3339)] = w
	}
	for series, events := range p.events {
		for start := from; start.Before(to); start = start.Add(width) {
			var in []sample
			for at, v := range events {
				if !at.Before(start) && at.Before(start.Add(width)) {
					in = append(in, sample{Series: series, Time: at, Value: v})
				}
			}
			slices.SortFunc(in, func(a, b sample) int { return a.Time.Compare(b.Time) })
			w, has := got[series+" "+start.Format(time.RFC3339)]
			bucket := start.Truncate(24 * time.Hour)
			switch {
			case !bucket.Add(24*time.Hour + rollupLifeTTL).After(p.now.Add(2 * time.Hour)):
				continue // the rollup has expired
			case w.Inexact:
				if p.inexact++; bucket.Add(lifeTTL).After(p.now.Add(5 * time.Hour)) {
					p.t.Fatalf("at %v: window %v of %s is inexact, although no event has expired", p.now, start, series)
				}
				continue
			case !has && len(in) == 0:
				continue
			}
			p.exact++
			var want string
			if len(in) > 0 {
				want = windowsOf(in, width)[0]
			}
			if text := windowText(w); text != want {
				p.t.Fatalf("at %v: want %s, got %s", p.now, want, text)
			}
		}
	}
}

// TestRollupLife checks windows at every moment of the life of a table.
func TestRollupLife(t *testing.T) {
	var exact, inexact, runs int
	for seed := range uint64(testlong.Pick(2, 6)) {
		l := rolled(days(), lifeTTL)
		l.Rollup.GC.MaxAge = rollupLifeTTL
		p := &rollupLife{t: t, random: rand.New(rand.NewPCG(30, seed)), l: l, into: intoColumns(l.untyped()), now: day0.Add(9 * time.Hour), events: map[string]map[time.Time]uint64{}}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p.t, p.bt = t, newBigtable(t, l)
			for range testlong.Pick(150, 400) {
				p.now = p.now.Add(time.Duration(p.random.IntN(16*60)) * time.Minute)
				steps := []func(){p.write, p.write, p.delete, p.seal, p.seal, p.collect}
				steps[p.random.IntN(len(steps))]()
				p.check()
			}
		})
		exact, inexact, runs = exact+p.exact, inexact+p.inexact, runs+p.runs
	}
	t.Logf("%d exact windows, %d inexact ones, %d buckets from runs", exact, inexact, runs)
	if exact == 0 || inexact == 0 || runs == 0 {
		t.Error("not all kinds of windows were read")
	}
}
