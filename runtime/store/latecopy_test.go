package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/latecopy"
	"github.com/btgen-dev/btgen/runtime/window"
)

// lateCase is a table with a rollup, that with its newest events, and a copy that serves no reads.
type lateCase struct {
	nowCase
	rolled, copies *mappingOf[sample]
	sealed         bool      // the buckets were summarized before the call
	chunks         []JobNote // of the steps of a backfill
}

// newLateCase returns empty tables. It is two hours after the end of the first day.
func newLateCase(t *testing.T) *lateCase {
	age := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 40 * 24 * time.Hour}
	newest := codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{age, {Kind: codec.GCMaxVersions, MaxVersions: 1}}}
	c := &lateCase{rolled: living(rolled(days(), 0), age), copies: living(singles(), age)}
	c.rolled.State, c.copies.Table.WriteOnly = living(nowRow(), newest), true
	c.nowCase = nowCase{t: t, mappings: []*mappingOf[sample]{c.rolled.State, c.rolled, c.copies}, now: at(86400 + 7200)}
	c.Bigtable = newBigtable(t, c.mappings...)
	return c
}

// process is a client whose writers share no marks with others, as in a process of its own.
func (c *lateCase) process() Client {
	return tableClient{c.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI { return api }}
}

// seal summarizes the buckets of the first day.
func (c *lateCase) seal(client Client) error {
	_, err := runRollup(c.t.Context(), client, c.mappings, intoColumns(c.rolled.untyped()), sampleWindows, RollupOptions{Now: c.clock, Sleep: noSleep, Workers: -1})
	return err
}

// refill fills the table of copies or that of the newest events.
func (c *lateCase) refill(ctx context.Context, client Client, target string, repair bool) error {
	_, err := backfillOf(ctx, client, c.mappings, BackfillOptions{Target: target, Repair: repair, Now: c.clock, Workers: -1})
	return err
}

// lateReads are what readers find.
type lateReads struct {
	events  map[string]map[int]string // by table and time, in seconds of the first day
	windows string
}

// reads returns what readers find. Windows of the rollup are those of the events.
func (c *lateCase) reads() (r lateReads, wrong string) {
	r.events = map[string]map[int]string{"now": {}}
	second := func(e sample) int { return int(e.Time.Sub(day0) / time.Second) }
	for _, l := range []*mappingOf[sample]{c.rolled, c.copies} {
		found := map[int]string{}
		for e, err := range newReaderOf(c.Client, l, ReaderOptions{Now: c.clock}).Read(c.t.Context(), seriesOf(sample{Series: "a"}), time.Time{}, at(1_000_000)) {
			must(c.t, err)
			found[second(e)] = e.same()
		}
		r.events[l.Table.ID] = found
	}
	for _, e := range latestBy(c.t, "Latest", c.reader(c.Client), []string{"a"}) {
		r.events["now"][second(e)] = e.same()
	}
	plain := *c.rolled
	plain.Rollup = nil
	want, _ := c.windows(&plain)
	got, counted := c.windows(c.rolled)
	if r.windows = got; want != got || counted != len(r.events["days"]) {
		wrong = fmt.Sprintf("windows of the rollup:\n%sof the events:\n%sof %v\n", got, want, r.events["days"])
	}
	return r, wrong
}

// windows returns the windows of a mapping, and the number of events in them.
func (c *lateCase) windows(l *mappingOf[sample]) (text string, events int) {
	for w, err := range readWindows(c.t.Context(), newReaderOf(c.Client, l, ReaderOptions{Now: c.clock}), intoColumns(l.untyped()), sampleWindows, seriesOf(sample{Series: "a"}), day0, at(3*86400), window.Every(2*time.Hour)) {
		must(c.t, err)
		text, events = text+wholeText(w)+"\n", events+int(w.Events)
	}
	return text, events
}

// changes returns the times of the events of which readers find something else afterwards.
func (r lateReads) changes(after lateReads) (times []int) {
	for table := range r.events {
		for at, e := range after.events[table] {
			if r.events[table][at] != e {
				times = append(times, at)
			}
		}
		for at := range r.events[table] {
			if _, is := after.events[table][at]; !is && table != "now" { // which has one event
				times = append(times, at)
			}
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// lateDo does something to the tables of a case, and may be called again.
type lateDo = func(ctx context.Context, c *lateCase, client Client) error

// lateCall is a call of whose requests one is executed once more.
type lateCall struct {
	call lateDo
	// undoes are the times of the events that a copy may write or delete again, in seconds of the first day.
	undoes []int
	// settles makes the copies those of the other table, after the arrival of a copy; nil if the call has ended.
	settles lateDo
}

// sampleAt returns an event of the first day.
func sampleAt(n, value int) sample { return sample{Series: "a", Time: at(n), Value: uint64(value)} }

// writesLate writes events, one of them by Write.
func writesLate(o WriteOptions, events ...sample) lateDo {
	return func(ctx context.Context, c *lateCase, client Client) error {
		if len(events) == 1 {
			return c.writer(client).Write(ctx, events[0], o)
		}
		return c.writer(client).WriteAll(ctx, events, o)
	}
}

// deletesLate deletes the event at a second.
func deletesLate(second int) lateDo {
	return func(ctx context.Context, c *lateCase, client Client) error {
		_, err := c.writer(client).Delete(ctx, []sample{sampleAt(second, 0)})
		return err
	}
}

// deletesAll deletes the series.
func deletesAll(ctx context.Context, c *lateCase, client Client) error {
	_, err := c.writer(client).DeleteAll(ctx, seriesOf(sample{Series: "a"}))
	return err
}

// sealsLate summarizes the buckets of the first day.
func sealsLate(_ context.Context, c *lateCase, client Client) error { return c.seal(client) }

// inTurn does one thing after the other.
func inTurn(all ...lateDo) lateDo {
	return func(ctx context.Context, c *lateCase, client Client) (err error) {
		for _, do := range all {
			err = errors.Join(err, do(ctx, c, client))
		}
		return err
	}
}

// several are events that a call writes.
var several = []sample{sampleAt(915, 15), sampleAt(920, 20), sampleAt(940, 40)}

// lateCalls are all calls that change rows.
var lateCalls = map[string]lateCall{
	"Write":                    {call: writesLate(WriteOptions{}, sampleAt(920, 20)), undoes: []int{920}},
	"WriteAll":                 {call: writesLate(WriteOptions{}, append(several, sample{Series: "b", Time: at(920)})...), undoes: []int{915, 920, 940}},
	"IfAbsent":                 {call: writesLate(ifAbsent, sampleAt(930, 30)), undoes: []int{930}},
	"Merge":                    {call: writesLate(WriteOptions{Merge: true}, several...), undoes: []int{915, 920, 940}},
	"Delete":                   {call: deletesLate(920), undoes: []int{920}},
	"Delete of an older event": {call: deletesLate(900)},
	"DeleteRange": {call: func(ctx context.Context, c *lateCase, client Client) error {
		_, err := c.writer(client).DeleteRange(ctx, seriesOf(sample{Series: "a"}), at(915), at(950))
		return err
	}, undoes: []int{920, 940}}, // whenever they were written
	"DeleteAll": {call: deletesAll, undoes: []int{890, 910, 920, 940}},
	"Replace": {call: func(ctx context.Context, c *lateCase, client Client) error {
		return c.writer(client).Replace(ctx, sampleAt(920, 0), sampleAt(905, 5))
	}, undoes: []int{905, 920}},
	"Backfill": {call: func(ctx context.Context, c *lateCase, client Client) error {
		return c.refill(ctx, client, "singles", false)
	}, undoes: copied},
	"Backfill with Repair": {call: func(ctx context.Context, c *lateCase, client Client) error {
		c.differ(sampleAt(925, 99))
		return c.refill(ctx, client, "singles", true)
	}, undoes: append(copied, 925)},
	"steps of a backfill": {call: func(ctx context.Context, c *lateCase, client Client) error {
		c.differ()
		p := c.steps(client)
		return eachNote(ctx, p, JobTable{Table: "days"}, func(chunk JobNote) error {
			c.chunks = append(c.chunks, chunk)
			_, _, err := p.Do(ctx, chunk)
			return err
		})
	}, undoes: copied, settles: func(ctx context.Context, c *lateCase, client Client) error {
		p := c.steps(client)
		for _, chunk := range c.chunks {
			differs, err := p.Differs(ctx, chunk)
			if err == nil && differs {
				_, err = p.Settle(ctx, chunk)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}},
	"Backfill of the newest": {call: func(ctx context.Context, c *lateCase, client Client) error {
		setCell(c.t, c.Client, "now", "a", "f.1", "v.1", at(925), make([]byte, 8)) // which another program has deleted
		return c.refill(ctx, client, "now", true)
	}},
	"Rollup": {call: sealsLate},
	"steps of a rollup": {call: func(ctx context.Context, c *lateCase, client Client) error {
		p, err := newRollupPartsOf(client, c.mappings, intoColumns(c.rolled.untyped()), sampleWindows, RollupOptions{Now: c.clock})
		must(c.t, err)
		return eachNote(ctx, p, JobTable{}, func(chunk JobNote) error {
			_, err := p.Settle(ctx, chunk)
			return err
		})
	}},
}

// copied are the times of the events that a backfill copies.
var copied = []int{900, 910, 920}

// differ makes the copies differ from the other table: in an event, in others, and by one that is missing.
func (c *lateCase) differ(others ...sample) {
	w := newWriterOf(c.process(), c.mappings, WriterOptions{Now: c.clock, Tables: []string{"singles"}})
	must(c.t, w.WriteAll(c.t.Context(), append(others, sampleAt(920, 99))))
	_, err := w.Delete(c.t.Context(), []sample{sampleAt(910, 0)})
	must(c.t, err)
}

// steps returns the steps of a backfill of the copies.
func (c *lateCase) steps(client Client) *BackfillParts {
	p, err := newBackfillPartsOf(client, c.mappings, c.now, BackfillOptions{Target: "singles", Now: c.clock})
	must(c.t, err)
	p.b.clock.Sleep = noSleep
	return p
}

// eachNote calls f for each note that the first step finds in a table, once all are found.
func eachNote(ctx context.Context, p JobParts, of JobTable, f func(note JobNote) error) error {
	var notes []JobNote
	_, err := p.Find(ctx, of, KeyRange{}, allClaims{}, func(n JobNote) { notes = append(notes, n) })
	for _, n := range notes {
		if err == nil {
			err = f(n)
		}
	}
	return err
}

// lateThen are what happens between the end of a call and the arrival of a copy.
var lateThen = map[string]lateDo{
	"nothing":                         inTurn(),
	"a late event":                    writesLate(WriteOptions{}, sampleAt(890, 7)),
	"the newest event":                writesLate(WriteOptions{}, sampleAt(940, 7)),
	"the older event again":           writesLate(WriteOptions{}, sampleAt(910, 7)),
	"the event again":                 writesLate(WriteOptions{}, sampleAt(920, 7)),
	"its deletion":                    deletesLate(920),
	"the deletion of all":             deletesAll,
	"the deletion of all, and a seal": inTurn(deletesAll, sealsLate),
	"a seal":                          sealsLate,
	"the event again, and a seal":     inTurn(writesLate(WriteOptions{}, sampleAt(920, 7)), sealsLate),
}

// begin makes the tables as they are before a call.
func (c *lateCase) begin() {
	c.chunks = nil
	for _, l := range c.mappings {
		must(c.t, c.Admin.DropAllRows(c.t.Context(), l.Table.ID))
	}
	for i, n := range []int{900, 910, 920} {
		must(c.t, c.writer(c.process()).Write(c.t.Context(), sampleAt(n, i)))
	}
	if c.sealed {
		must(c.t, c.seal(c.process()))
		must(c.t, c.writer(c.process()).Write(c.t.Context(), sampleAt(910, 9)))
	}
}

// stale returns what readers of the newest event find that a search does not.
func (c *lateCase) stale() (wrong string) {
	want := latestBy(c.t, "Latest", c.truth(), []string{"a"})["a"]
	for _, how := range nowWays {
		if got := latestBy(c.t, how, c.reader(c.Client), []string{"a"})["a"]; got.same() != want.same() {
			wrong += fmt.Sprintf("%s finds %s instead of %s\n", how, got.same(), want.same())
		}
	}
	return wrong
}

// run repeats the n-th request of a call after something newer. It returns what is wrong, and if there is one.
func (c *lateCase) run(of lateCall, n int, then lateDo) (table, wrong string, is bool) {
	c.begin()
	late := &latecopy.Copy{N: n}
	must(c.t, of.call(c.t.Context(), c, tableClient{c.Client, late.Of}))
	if late.Again == nil {
		return "", "", false
	}
	must(c.t, then(c.t.Context(), c, c.process()))
	before, _ := c.reads()
	late.Again()
	after, wrong := c.reads()
	changed := before.changes(after)
	for _, at := range changed {
		if !slices.Contains(of.undoes, at) {
			wrong += fmt.Sprintf("the event at %d changes: %v\n%v\n", at, before.events, after.events)
		}
	}
	if len(changed) == 0 {
		wrong += c.stale()
		must(c.t, c.writer(c.process()).Write(c.t.Context(), sampleAt(895, 8)))
		wrong += c.stale()
		after, _ = c.reads()
	}
	if of.settles != nil {
		must(c.t, of.settles(c.t.Context(), c, c.process()))
		if after, _ = c.reads(); !maps.Equal(after.events["days"], after.events["singles"]) {
			wrong += fmt.Sprintf("the source has %v, the target %v\n", after.events["days"], after.events["singles"])
		}
	}
	must(c.t, c.seal(c.process()))
	sealed, more := c.reads()
	if wrong += more; after.changes(sealed) != nil || sealed.windows != after.windows {
		wrong += fmt.Sprintf("the next seal changes windows:\n%s%s", after.windows, sealed.windows)
	}
	return late.Table, wrong, true
}

// TestLateCopies repeats each request of each call after something newer: nothing changes but what copies of plain
// writes and deletions undo; see [writer.sendAll]. The class: unconditional mutations that arrive late.
func TestLateCopies(t *testing.T) {
	t.Parallel()
	type combination struct {
		call, then string
		sealed     bool
	}
	var all []combination
	for _, call := range slices.Sorted(maps.Keys(lateCalls)) {
		for _, then := range slices.Sorted(maps.Keys(lateThen)) {
			all = append(all, combination{call, then, false}, combination{call, then, true})
		}
	}
	c := newLateCase(t)
	for _, of := range testlong.Sample(all, 37) {
		c.sealed = of.sealed
		for n := 0; ; n++ {
			table, wrong, is := c.run(lateCalls[of.call], n, lateThen[of.then])
			if !is && n == 0 {
				t.Errorf("%s has no requests", of.call)
			}
			if !is {
				break
			}
			if wrong != "" {
				t.Errorf("%s, a copy of its request %d, to table %s, arrives after %s, sealed %v:\n%sthe row has %v", of.call, n, table, of.then, of.sealed, wrong, c.row("a"))
			}
		}
	}
}
