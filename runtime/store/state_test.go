package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
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
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// nowRow returns a mapping to a table with the newest sample of each series, as in generated code.
func nowRow() *mappingOf[sample] {
	l := days()
	l.Table = Table{ID: "now", Families: []Family{{Name: "f.1"}}}
	l.Pattern = codec.Latest
	key := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}}, Bucket: codec.EndlessBucket}
	l.Key = key
	l.Put = func(e *sample, c *eventCells) {
		c.Row(keyOf(&key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// living sets the time to live of a mapping.
func living(l *mappingOf[sample], rule codec.GCRule) *mappingOf[sample] {
	l.MaxCells = 1 << 40
	l.Table.Families[0].GC = rule
	l.Table.Families[0].Life = codec.Lifetime{}.Under(rule, l.MaxCells)
	return l
}

// nowCase is a table of samples, and one with the newest of each series.
type nowCase struct {
	*storetest.Bigtable
	t        *testing.T
	mappings []*mappingOf[sample] // the first one has all samples
	now      time.Time
}

// newNowCase returns empty tables, in which events live for a while.
func newNowCase(t *testing.T, life time.Duration) *nowCase {
	t.Helper()
	age := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: life}
	newest := codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{age, {Kind: codec.GCMaxVersions, MaxVersions: 1}}}
	all, now := living(days(), age), living(nowRow(), newest)
	all.State = now
	c := &nowCase{t: t, mappings: []*mappingOf[sample]{now, all}, now: at(1000)} // in any order
	c.Bigtable = newBigtable(t, c.mappings...)
	return c
}

func (c *nowCase) clock() time.Time { return c.now }

func (c *nowCase) writer(client Client) *writerOf[sample] {
	return newWriterOf(client, c.mappings, WriterOptions{Now: c.clock, Parallelism: -1})
}

func (c *nowCase) reader(client Client) *readerOf[sample] {
	return newReaderOf(client, c.mappings[1], ReaderOptions{Now: c.clock})
}

// events is a writer to the table with all samples, without the other.
func (c *nowCase) events() *writerOf[sample] {
	return newWriterOf(c.Client, c.mappings, WriterOptions{Now: c.clock, Tables: []string{"days"}})
}

// truth is a reader that only searches.
func (c *nowCase) truth() *readerOf[sample] {
	l := *c.mappings[1]
	l.State = nil
	return newReaderOf(c.Client, &l, ReaderOptions{Now: c.clock})
}

// same returns text that identifies a sample.
func (e sample) same() string {
	return fmt.Sprintf("%s %d %d %q", e.Series, e.Time.UnixMilli(), e.Value, e.Note)
}

// latestBy returns the newest samples of some series: by Latest, LatestMany, or a scan.
func latestBy(t *testing.T, how string, r *readerOf[sample], series []string) map[string]sample {
	t.Helper()
	out := map[string]sample{}
	keep := func(e sample, err error) bool {
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", how, err)
		}
		if err == nil {
			out[e.Series] = e
		}
		return true
	}
	var bases []sample
	for _, s := range series {
		bases = append(bases, sample{Series: s})
	}
	switch how {
	case "Latest":
		for _, b := range bases {
			keep(r.Latest(t.Context(), b))
		}
	case "LatestMany":
		r.LatestMany(t.Context(), bases)(keep)
	default:
		r.Read(t.Context(), everySample, time.Time{}, at(1_000_000), ReadOptions{LatestOnly: true})(keep)
	}
	return out
}

// nowWays are the ways to read the newest samples.
var nowWays = []string{"Latest", "LatestMany", "LatestOnly"}

// agree checks that readers find what a search finds.
func (c *nowCase) agree(series ...string) {
	c.t.Helper()
	want := latestBy(c.t, "Latest", c.truth(), series)
	for _, how := range nowWays {
		got := latestBy(c.t, how, c.reader(c.Client), series)
		for _, s := range series {
			if want[s].same() != got[s].same() {
				c.t.Errorf("%s finds %s instead of %s", how, got[s].same(), want[s].same())
			}
		}
	}
}

// row returns the columns of the row of a series, without a sum beside others.
func (c *nowCase) row(series string) (columns []string) {
	row, err := c.Client.Open("now").ReadRow(c.t.Context(), series)
	must(c.t, err)
	if len(row) > 1 {
		delete(row, "f.1-versions")
	}
	for _, items := range row {
		for _, item := range items {
			columns = append(columns, fmt.Sprintf("%s@%d", item.Column, item.Timestamp.Time().Unix()-day0.Unix()))
		}
	}
	slices.Sort(columns)
	return columns
}

// TestState checks how many requests readers need, which tables their operations name, and what the rows contain.
func TestState(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	w := c.writer(c.Client)
	s := func(n int, note string) sample {
		return sample{Series: "a", Time: at(n), Value: uint64(n), Note: []byte(note)}
	}
	must(t, w.WriteAll(t.Context(), []sample{s(700, "x"), s(702, "z"), s(701, "y"), {Series: "b", Time: at(600), Value: 1}}))
	same(t, []string{"f.1:note@702", "f.1:v.1@702"}, c.row("a")) // only the newest of a call is written
	requests, tables := 0, []string(nil)
	r := c.reader(countedReads(c.Client, &requests))
	r.reader.options.Hooks.End = func(_ context.Context, op Operation, _ error) {
		tables = append(tables, fmt.Sprint(op.Events, op.Table))
	}
	latestBy(t, "Latest", r, []string{"a"})
	latestBy(t, "LatestOnly", r, nil)
	same(t, 2, requests)
	latestBy(t, "LatestMany", r, []string{"a", "b"})
	latestBy(t, "Latest", r, []string{"c"})
	same(t, "1now 2now 2now 0days", strings.Join(tables, " "))
	d, err := w.Delete(t.Context(), []sample{s(702, "")})
	must(t, err)
	same(t, []any{"now", 1, 1}, []any{d.Tables[0].Table, d.Tables[0].Events, d.Tables[1].Events})
	same(t, []string{"f.1:note@701", "f.1:v.1@701"}, c.row("a")) // neither older versions nor the mark
	must(t, c.events().Write(t.Context(), s(960, "killed")))     // before the row was written
	assert.Is(t, ErrExists, w.Write(t.Context(), s(960, "other"), ifAbsent))
	c.agree("a", "b", "c")
	must(t, w.Write(t.Context(), s(970, "newer"))) // the mark no longer counts
	same(t, 1, c.requests())
	_, err = w.DeleteAll(t.Context(), seriesOf(s(0, "")))
	must(t, err)
	same(t, 0, len(c.row("a")))
}

// requests returns how many requests Latest takes for series a.
func (c *nowCase) requests() (n int) {
	_, err := c.reader(countedReads(c.Client, &n)).Latest(c.t.Context(), sample{Series: "a"})
	must(c.t, err)
	return n
}

// verified returns the number of rows that differ.
func (c *nowCase) verified() int {
	report, err := backfillOf(c.t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Verify: true, Now: c.clock})
	must(c.t, err)
	return len(report.Differences)
}

// repair repairs the table of the newest events, and returns how many rows it has read, and changed.
func (c *nowCase) repair() (events, changed int64) {
	c.t.Helper()
	report, err := backfillOf(c.t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Repair: true, Now: c.clock, Workers: -1})
	if must(c.t, err); report.Deleted > 0 {
		c.t.Errorf("repaired: %+v", report.BackfillCounts)
	}
	return report.Events, report.Changed
}

// TestRowsWithoutSums reads rows of a program without sums: readers search until a repair, or a newer event.
func TestRowsWithoutSums(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	forget := func() {
		change(t, c.Client, "now", "a", func(m *bigtable.Mutation) { m.DeleteCellsInFamily("f.1-versions") })
	}
	w := c.writer(c.Client)
	must(t, w.Write(t.Context(), sample{Series: "a", Time: at(700), Value: 1}))
	must(t, w.Write(t.Context(), sample{Series: "a", Time: at(710), Value: 2}))
	forget()
	c.agree("a")
	same(t, true, c.requests() > 1)
	same(t, 0, c.verified())
	_, changed := c.repair()
	same(t, []int{1, 1}, []int{int(changed), c.requests()})
	forget()
	must(t, w.Write(t.Context(), sample{Series: "a", Time: at(720), Value: 2}))
	same(t, 1, c.requests()) // after a newer event
	c.agree("a")
}

// TestOneMarkOfNone delivers events again, with IfAbsent. The class: marks that nobody removes.
func TestOneMarkOfNone(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	w := c.writer(c.Client)
	again := func(from, to int) {
		for n := from; n < to; n++ {
			assert.Is(t, ErrExists, w.Write(t.Context(), sample{Series: "a", Time: at(n), Value: uint64(n)}, ifAbsent))
		}
		c.agree("a")
	}
	for n := 700; n < 720; n++ {
		must(t, w.Write(t.Context(), sample{Series: "a", Time: at(n), Value: uint64(n)}))
	}
	again(700, 720)
	same(t, []string{"f.1:v.1@719"}, newestOf(c.row("a")))
	must(t, c.events().Write(t.Context(), sample{Series: "a", Time: at(730), Value: 1})) // killed before the row was written
	must(t, c.events().Write(t.Context(), sample{Series: "a", Time: at(731), Value: 2}))
	again(730, 732)
	again(730, 732)
	same(t, []string{"f.1:" + markOfNone + "@731", "f.1:v.1@719"}, newestOf(c.row("a")))
	events, changed := c.repair()
	same(t, []int64{1, 1}, []int64{events, changed})
	same(t, []string{"f.1:v.1@731"}, c.row("a"))
	change(t, c.Client, "now", "a", func(m *bigtable.Mutation) { // of a call of two days ago, and one that may be running
		c.mappings[0].untyped().mark(m, markPrefix+"killed", at(600).UnixMicro(), c.clock().Add(-2*maxMarkAge))
		c.mappings[0].untyped().mark(m, markPrefix+"running", at(600).UnixMicro(), c.clock())
	})
	for _, want := range []int64{1, 0} {
		events, changed := c.repair()
		same(t, []int64{1, want}, []int64{events, changed})
		same(t, []string{"f.1:deleting running@600", "f.1:v.1@731"}, c.row("a"))
	}
	must(t, c.events().Write(t.Context(), sample{Series: "a", Time: at(740)}))
	again(740, 741)
	_, err := w.DeleteAll(t.Context(), seriesOf(sample{Series: "a"}))
	must(t, err)
	same(t, []string{"f.1:deleting running@600"}, c.row("a"))
}

// newestOf returns the newest cell of each column; see nowCase.row.
func newestOf(cells []string) (out []string) {
	for _, cell := range cells {
		column, _, _ := strings.Cut(cell, "@")
		if n := len(out) - 1; n >= 0 && strings.HasPrefix(out[n], column+"@") {
			out[n] = cell
			continue
		}
		out = append(out, cell)
	}
	return out
}

// TestScanOfStates scans rows with marks and remains: no event up to the last mark, or outside the range, is yielded.
func TestScanOfStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	must(t, c.writer(c.Client).WriteAll(t.Context(), []sample{{Series: "later", Time: at(701)}, {Series: "none", Time: at(700)}, {Series: "same", Time: at(700)}}))
	for _, series := range []string{"empty", "later", "same"} {
		change(t, c.Client, "now", series, func(m *bigtable.Mutation) {
			c.mappings[0].untyped().mark(m, newMark(), at(700).UnixMicro(), c.clock())
		})
	}
	setCell(t, c.Client, "now", "none", "f.1", "note", at(650), []byte("late"))
	scanner, err := newScannerOf(c.Client, c.mappings, "now", ReaderOptions{Now: c.clock})
	must(t, err)
	text := func(row ScannedRow[sample]) string { return fmt.Sprint(row.Key, len(row.Events), row.Marked) }
	for to, want := range map[int]string{
		2000: "later1 false none1 false", 701: "later0 true none1 false", 700: "later0 true none0 false",
	} {
		got := made(t, scanner.Rows(t.Context(), KeyRange{}, at(600), at(to)), text)
		same(t, "empty0 true "+want+" same0 true", strings.Join(got, " "))
	}
}

// countedReads counts the reads of a client.
func countedReads(client Client, n *int) Client {
	return during(client, func() func() { *n++; return func() {} })
}

// TestStateAfterEvents checks that an event that a table of events may lack is not written to the row.
func TestStateAfterEvents(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	rejected := errors.New("rejected")
	client := through(c.Client, func(a asked, send func() error) error {
		if a.table != "now" && a.rows != nil {
			return rejected
		}
		return send()
	})
	err := c.writer(client).WriteAll(t.Context(), []sample{{Series: "a", Time: at(900)}, {Series: "a", Time: at(901)}})
	same(t, 4, len(asError[*WriteError](t, err).Failures))
	assert.Is(t, ErrNotStored, err)
	same(t, 0, len(c.row("a")))
	c.agree("a")
}

// nowCall is a call of a process: a write, a deletion of a range of times, or a back-fill.
type nowCall struct {
	name     string
	how      int // of the ways to make the call
	write    sample
	from, to time.Time
	fills    bool
}

// The ways to make a call. A write of several samples also writes one of another series, a deletion of several also
// deletes from it, and a back-fill repairs unless it is alone.
const (
	nowAlone = iota
	nowIfAbsent
	nowSeveral
	nowBatched
	nowMerged
	nowHows
)

func (c *nowCall) deletes() bool { return !c.to.IsZero() }
func (c *nowCall) writes() bool  { return !c.deletes() && !c.fills }

// nowSample is a sample of the calls.
func nowSample(n int, value uint64, note string) sample {
	e := sample{Series: "a", Time: at(900 + n), Value: value}
	if note != "" {
		e.Note = []byte(note)
	}
	return e
}

// nowCalls are the calls that are combined.
func nowCalls() []nowCall {
	return []nowCall{
		{name: "new", write: nowSample(3, 'n', "n")},
		{name: "without note", write: nowSample(3, 'o', "")},
		{name: "late", write: nowSample(2, 'l', "l")},
		{name: "replace", write: nowSample(1, 'r', "")},
		{name: "absent", write: nowSample(2, 'i', ""), how: nowIfAbsent},
		{name: "merge", write: nowSample(2, 'm', ""), how: nowMerged},
		{name: "merge new", write: nowSample(3, 'k', ""), how: nowMerged},
		{name: "delete nothing", from: at(903), to: at(904)},
		{name: "delete newest", from: at(902), to: at(903)},
		{name: "delete oldest", from: at(901), to: at(902)},
		{name: "delete both", from: at(901), to: at(903)},
		{name: "fill", fills: true},
		{name: "repair", fills: true, how: nowSeveral},
	}
}

// nowStarts are the samples at the start.
func nowStarts() [][]sample {
	one, two := nowSample(1, 'a', "b"), nowSample(2, 'c', "")
	return [][]sample{nil, {one}, {one, two}}
}

// conflict reports whether an event is written and deleted at the same time.
func conflict(calls []nowCall) bool {
	return slices.ContainsFunc(calls, func(a nowCall) bool {
		return slices.ContainsFunc(calls, func(b nowCall) bool { return !b.write.Time.Before(a.from) && b.write.Time.Before(a.to) })
	})
}

// versions reports whether two calls write versions of an event.
func versions(calls []nowCall) bool {
	return slices.ContainsFunc(calls, func(a nowCall) bool {
		return slices.ContainsFunc(calls, func(b nowCall) bool {
			return a.writes() && b.writes() && a.write.Time.Equal(b.write.Time) && a.write.same() != b.write.same()
		})
	})
}

// nowRun is a run of calls, each of whose requests waits for a scheduler, and may get lost.
type nowRun struct {
	*nowCase
	steps []*nowStep
	asked chan *nowStep
	late  func() error // the request of a killed process, or a copy of one that was executed
	trace []string

	versions bool     // two of the calls write versions of an event
	faulty   bool     // there was a fault
	acted    *nowStep // last
	known    nowKnown
	lateOf   string // identifies the late request
}

// nowStep is a call of a process.
type nowStep struct {
	nowCall
	begun, done bool
	name        string // of its next request; empty if it has ended
	do          func() error
	answer      chan error
	kills       int
	rows        int // after which the stream of the next read breaks; less than 0 for none
	err         error
	last        string // its last request
	asked       int    // how many requests it has sent
}

// nowOption is what may happen next.
type nowOption struct {
	name  string
	fault bool
	do    func()
}

var errNowKilled = errors.New("killed")

// newNowRun starts a run of calls with some samples.
func (c *nowCase) newNowRun(first []sample, calls []nowCall, kills int) *nowRun {
	c.now = at(990)
	r := &nowRun{nowCase: c, asked: make(chan *nowStep), versions: versions(calls)}
	for _, table := range []string{"now", "days"} {
		must(c.t, c.Admin.DropAllRows(c.t.Context(), table))
	}
	for _, e := range first {
		must(c.t, c.writer(c.Client).Write(c.t.Context(), e))
	}
	for _, call := range calls {
		r.steps = append(r.steps, &nowStep{nowCall: call, answer: make(chan error), kills: kills})
	}
	return r
}

// writing reports whether the call has begun and not ended, and writes a series.
func (s *nowStep) writing(series string, at time.Time) bool {
	return s.writes() && s.begun && !s.done && s.write.Time.Equal(at) && (series == "a" || s.how == nowSeveral)
}

// returned reports whether a call need not be repeated.
func (s *nowStep) returned() bool {
	failed, ok := errors.AsType[*WriteError](s.err)
	return s.err == nil || ok && !slices.ContainsFunc(failed.Failures, func(f Failure) bool { return f.Outcome != Exists })
}

// gated returns a client whose requests wait for the scheduler.
func (r *nowRun) gated(s *nowStep) Client {
	breaking := onRows(r.Client, func(bigtable.Row) error {
		if s.rows--; s.rows == -1 {
			return errNowKilled
		}
		return nil
	})
	return through(breaking, func(a asked, send func() error) error {
		s.name, s.do = "writes "+a.table, send
		if a.reads != nil {
			s.name, s.do = "reads "+a.table, func() error {
				if err := send(); err != nil || s.rows < 0 {
					return err
				}
				return errNowKilled // it breaks after the last row
			}
		}
		r.asked <- s
		return <-s.answer
	})
}

// start starts the call of a process in its own goroutine, and waits for its first request.
func (r *nowRun) start(s *nowStep) {
	s.begun, s.asked, s.last, r.acted = true, 0, "", s
	go func() {
		s.err = r.call(s, r.gated(s))
		s.name = ""
		r.asked <- s
	}()
	r.await(s)
}

// call makes the call of a process.
func (r *nowRun) call(s *nowStep, client Client) error {
	ctx, from, to := r.t.Context(), s.from, s.to
	o := WriterOptions{Now: func() time.Time { return r.now.Add(time.Duration(slices.Index(r.steps, s)) * time.Microsecond) }, Parallelism: -1}
	w := newWriterOf(client, r.mappings, o) // whose marks tell its index
	e, other := s.write, s.write
	other.Series = "b"
	switch {
	case s.fills:
		_, err := backfillOf(ctx, client, r.mappings, BackfillOptions{Target: "now", Repair: s.how != nowAlone, Now: o.Now, Workers: -1})
		return err
	case s.deletes() && s.how == nowSeveral:
		_, err := w.DeleteRange(ctx, everySample, from, to)
		return err
	case s.deletes() && to.Sub(from) == time.Second:
		_, err := w.Delete(ctx, []sample{{Series: "a", Time: from, Note: []byte("not used")}})
		return err
	case s.deletes():
		_, err := w.DeleteRange(ctx, seriesOf(sample{Series: "a"}), from, to)
		return err
	case s.how == nowIfAbsent:
		return w.Write(ctx, e, WriteOptions{IfAbsent: true})
	case s.how == nowMerged:
		return w.Write(ctx, e, WriteOptions{Merge: true})
	case s.how == nowSeveral:
		return w.WriteAll(ctx, []sample{other, e})
	case s.how == nowBatched:
		b := newBatcherOf(w, nil)
		if err := b.Add(ctx, e); err != nil {
			return err
		}
		return b.Close(ctx)
	}
	return w.Write(ctx, e)
}

// await waits until a process sends its next request or ends.
func (r *nowRun) await(s *nowStep) {
	if <-r.asked; s.name == "" {
		s.done = s.returned() // or it may be repeated
	}
}

// options returns what may happen next to each request, and the arrival of a late one.
func (r *nowRun) options() (options []nowOption) {
	for _, s := range r.steps {
		add := func(fault string, do func() error) {
			options = append(options, nowOption{fmt.Sprint(s.nowCall.name, s.how, " ", s.name, fault), fault != "", func() {
				s.rows, s.last, r.acted, s.asked = -1, s.name, s, s.asked+1
				s.answer <- do()
				r.await(s)
			}})
		}
		killed := func() error {
			s.kills--
			return errNowKilled
		}
		reads, lasts := strings.HasPrefix(s.name, "reads"), r.late == nil && s.name == "writes now"
		switch {
		case s.done:
			continue
		case s.name == "":
			options = append(options, nowOption{s.nowCall.name, false, func() { r.start(s) }})
			continue
		}
		add("", s.do)
		if lasts && (!s.writes() || r.versions && s.how != nowIfAbsent) {
			add(" copied", func() error { r.keep(s); return s.do() })
		}
		if !reads && (s.how != nowIfAbsent || !s.writes()) {
			add(" twice", func() error { _ = s.do(); return s.do() })
		}
		if s.kills == 0 {
			continue
		}
		add(" killed", killed)
		if lasts && !s.writes() {
			add(" in flight", func() error { r.keep(s); return killed() })
		}
		if !reads {
			add(" lost", func() error { _ = s.do(); return killed() })
			continue
		}
		for rows := range 2 {
			add(" broken", func() error { s.rows = rows; _ = killed(); return s.do() })
		}
	}
	if r.late != nil {
		options = append(options, nowOption{"late", false, func() {
			must(r.t, r.late())
			r.late, r.lateOf = nil, ""
		}})
	}
	return options
}

// keep lets the request of a call arrive later.
func (r *nowRun) keep(s *nowStep) {
	i := slices.Index(r.steps, s)
	r.late, r.lateOf = s.do, fmt.Sprint(i, s.kills, s.asked, r.known.past[i])
}

// stop kills all calls.
func (r *nowRun) stop() {
	for _, s := range r.steps {
		for s.name != "" {
			s.answer <- errNowKilled
			<-r.asked
		}
	}
}

// check compares what readers find with a search.
func (r *nowRun) check() {
	series := []string{"a", "b"}
	truth := latestBy(r.t, "Latest", r.truth(), series)
	var stored []sample
	for _, s := range series {
		some, err := collect(r.t.Context(), r.truth(), s, time.Time{}, at(1_000_000))
		must(r.t, err)
		stored = append(stored, some...)
	}
	for _, how := range nowWays {
		got := latestBy(r.t, how, r.reader(r.Client), series)
		for _, s := range series {
			if why := r.allowed(got[s], truth[s], stored, s); why != "" {
				r.t.Fatalf("%s finds %s instead of %s: %s\nthe row has %v after %v", how, got[s].same(), truth[s].same(), why, r.row(s), r.trace)
			}
		}
	}
}

// allowed returns why a reader must not find a sample.
func (r *nowRun) allowed(e, truth sample, stored []sample, series string) string {
	if e.same() == truth.same() {
		return ""
	}
	writing := func(of time.Time) bool {
		return slices.ContainsFunc(r.steps, func(s *nowStep) bool { return s.writing(series, of) })
	}
	if e.Series != "" && e.Time.Equal(truth.Time) {
		if !writing(e.Time) {
			return "no writer is replacing it"
		}
		return ""
	}
	for _, newer := range stored {
		if newer.Series == series && newer.Time.After(e.Time) && !writing(newer.Time) {
			return "nobody is writing " + newer.same()
		}
	}
	if e.Series != "" && !slices.ContainsFunc(stored, func(s sample) bool { return s.same() == e.same() }) && !writing(e.Time) {
		return "it is not stored"
	}
	return ""
}

// TestStateSteps runs the steps of calls in random orders, with lost replies, kills and late requests.
func TestStateSteps(t *testing.T) {
	t.Parallel()
	runs, all := testlong.Pick(10, 1000), nowCalls()
	c := newNowCase(t, 97*time.Second)
	for n := range runs {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		first := nowStarts()[random.IntN(3)]
		var calls []nowCall
		for len(calls) == 0 || conflict(calls) {
			calls = calls[:0]
			for range 2 + random.IntN(2) {
				call := all[random.IntN(len(all))]
				for n%2 == 0 && call.deletes() {
					call = all[random.IntN(len(all))]
				}
				call.how = random.IntN(nowHows)
				calls = append(calls, call)
			}
		}
		r := c.newNowRun(first, calls, 1)
		r.run(func(options []nowOption) *nowOption {
			r.check()
			if random.IntN(20) == 0 && r.now.Before(at(1000)) {
				r.now = r.now.Add(time.Second)
				r.trace = append(r.trace, "clock")
			}
			for {
				o := &options[random.IntN(len(options))]
				if len(options) == 1 || !o.fault && o.name != "late" || random.IntN(12) == 0 {
					return o
				}
			}
		})
	}
}

// nowKnown is what the tables have, and what each call has read, or changed, last: all that it knows, nearly.
type nowKnown struct {
	tables map[string]string
	past   [3][2]string
}

// callMark matches the mark of a call, whose name is random.
var callMark = regexp.MustCompile(markPrefix + "[0-9a-f]{8,}$")

// look reads both tables, and notes what the call that has acted last may know of it.
func (r *nowRun) look() {
	before, now := r.known.tables, map[string]string{}
	for _, table := range []string{"days", "now"} {
		var cells []string
		eachCell(r.t, r.Client, table, func(c bigtable.ReadItem) {
			if c.Row[0] == 'a' {
				cells = append(cells, fmt.Sprint(callMark.ReplaceAllString(c.Column, "mark"), c.Timestamp, c.Value))
			}
		})
		slices.Sort(cells)
		now[table] = strings.Join(cells, "\n")
	}
	r.known.tables = now
	if r.acted == nil {
		return
	}
	what, table, _ := strings.Cut(r.acted.last, " ")
	known := fmt.Sprint(before[table] != now[table])
	if what == "reads" {
		known = now[table]
	}
	past := &r.known.past[slices.Index(r.steps, r.acted)]
	*past = [2]string{past[1], known}
}

// key identifies a state, in the eyes of all calls.
func (r *nowRun) key() [32]byte {
	key := fmt.Sprint(r.known, r.faulty, r.lateOf)
	for _, s := range r.steps {
		key += fmt.Sprint("|", s.name, s.done, s.kills, s.asked)
	}
	return sha256.Sum256([]byte(key))
}

// TestStateOrders runs the steps of two calls, and of writes of two versions beside another call, in all orders, with
// a late copy of one request, and checks each state once. At length, a run tries other calls than the one before.
func TestStateOrders(t *testing.T) {
	t.Parallel()
	c, all := newNowCase(t, 500*time.Second), nowCalls()
	var groups [][]nowCall
	for i, a := range all {
		for _, b := range all[i:] {
			groups = append(groups, []nowCall{a, b})
		}
		groups = append(groups, []nowCall{{name: "x", write: nowSample(2, 'x', "x")}, {name: "y", write: nowSample(2, 'y', "")}, a})
	}
	groups = testlong.Sample(slices.DeleteFunc(groups, conflict), 24)
	if testlong.Enabled() {
		rand.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		groups = groups[:5]
	}
	for _, calls := range groups {
		for _, first := range nowStarts()[testlong.Pick(2, 0):] {
			c.allOrders(first, calls)
		}
	}
}

// allOrders runs calls in all orders, or in many.
func (c *nowCase) allOrders(first []sample, calls []nowCall) {
	order, runs, seen := new(schedule), testlong.Pick(10, 2000), map[[32]byte]bool{}
	var known []nowKnown // at each step of a run
	for more := true; more && runs > 0; more = order.next() {
		runs--
		r := c.newNowRun(first, calls, 0)
		r.run(func(options []nowOption) *nowOption {
			if n := len(order.choices); order.left() > 0 {
				r.known = known[n]
			} else {
				r.look()
				known = append(known[:n], r.known)
				key := r.key()
				if seen[key] {
					return nil
				}
				seen[key] = true
				r.check()
			}
			options = slices.DeleteFunc(options, func(o nowOption) bool { return o.fault && (r.faulty || !strings.HasSuffix(o.name, "copied")) })
			return &options[order.choose(len(options))]
		})
	}
}

// run runs all calls to their end, as choose says: those that were killed are called again. It stops if choose returns nil.
func (r *nowRun) run(choose func(options []nowOption) *nowOption) {
	for options := r.options(); len(options) > 0; options = r.options() {
		o := choose(options)
		if o == nil {
			r.stop()
			return
		}
		r.trace = append(r.trace, o.name)
		o.do()
		r.faulty = r.faulty || o.fault
	}
	r.agree("a", "b")
}

// TestStateCallsFail lets each request of each call fail: the call returns the error, and repeated it does what it should.
func TestStateCallsFail(t *testing.T) {
	rejected := status.Error(codes.PermissionDenied, "no")
	for name, call := range testlong.SampleMap(map[string]lateDo{
		"write": writesLate(WriteOptions{}, sampleAt(940, 1)), "if absent": writesLate(ifAbsent, sampleAt(940, 1)),
		"merge": writesLate(WriteOptions{Merge: true}, sampleAt(920, 1)), "delete event": deletesLate(920),
		"delete series": deletesAll, "delete range": lateCalls["DeleteRange"].call,
	}, 2) {
		for failing, failed := 0, true; failed; failing++ {
			c := &lateCase{nowCase: *newNowCase(t, 500*time.Second)}
			must(t, c.writer(c.Client).WriteAll(t.Context(), []sample{sampleAt(900, 0), sampleAt(920, 0)}))
			requests := 0
			client := through(c.Client, func(_ asked, send func() error) error {
				if requests++; requests-1 == failing {
					return rejected
				}
				return send()
			})
			err := call(t.Context(), c, client)
			if failed = requests > failing; failed != errors.Is(err, rejected) {
				t.Errorf("%s: request %d fails: %v", name, failing, err)
			}
			if err := call(t.Context(), c, client); failed && !errors.Is(err, ErrExists) {
				must(t, err, name, "again")
			}
			c.agree("a")
		}
	}
}
