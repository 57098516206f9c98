package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// nowRow returns a mapping to a table with the newest sample of each series, as in generated code.
func nowRow() *Mapping[sample] {
	l := days()
	l.Table = Table{ID: "now", Families: []Family{{Name: "f.1"}}}
	l.Pattern = codec.Latest
	l.Key = codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}}, Bucket: codec.EndlessBucket}
	l.Put = func(e *sample, c *Cells) {
		w := codec.NewKeyWriter(nil, "#")
		w.String("series", codec.KeyForm{}, e.Series)
		c.Row(w.Key())
		c.Set(0, codec.AppendBinaryUint64(nil, e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// living sets the time to live of a mapping.
func living(l *Mapping[sample], rule codec.GCRule) *Mapping[sample] {
	l.MaxCells = 1 << 40
	l.Table.Families[0].GC = rule
	l.Table.Families[0].Life = codec.Lifetime{}.Under(rule, l.MaxCells)
	return l
}

// nowCase is a table of samples, and one with the newest of each series.
type nowCase struct {
	*storetest.Bigtable
	t        *testing.T
	mappings []*Mapping[sample] // the first one has all samples
	now      time.Time
}

// newNowCase returns empty tables, in which events live for a while.
func newNowCase(t *testing.T, life time.Duration) *nowCase {
	t.Helper()
	age := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: life}
	newest := codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{age, {Kind: codec.GCMaxVersions, MaxVersions: 1}}}
	all, now := living(days(), age), living(nowRow(), newest)
	all.State = now
	c := &nowCase{t: t, mappings: []*Mapping[sample]{now, all}, now: at(1000)} // in any order
	c.Bigtable = newBigtable(t, c.mappings...)
	return c
}

func (c *nowCase) clock() time.Time { return c.now }

func (c *nowCase) writer(client Client) *Writer[sample] {
	return NewWriter(client, c.mappings, WriterOptions{Now: c.clock, Parallelism: -1})
}

func (c *nowCase) reader(client Client) *Reader[sample] {
	return NewReader(client, c.mappings[1], ReaderOptions{Now: c.clock})
}

// events is a writer to the table with all samples, without the other.
func (c *nowCase) events() *Writer[sample] {
	return NewWriter(c.Client, c.mappings, WriterOptions{Now: c.clock, Tables: []string{"days"}})
}

// truth is a reader that only searches.
func (c *nowCase) truth() *Reader[sample] {
	l := *c.mappings[1]
	l.State = nil
	return NewReader(c.Client, &l, ReaderOptions{Now: c.clock})
}

// same returns text that identifies a sample.
func (e sample) same() string {
	return fmt.Sprintf("%s %d %d %q", e.Series, e.Time.UnixMilli(), e.Value, e.Note)
}

// latestBy returns the newest samples of some series: by Latest, LatestMany, or a scan.
func latestBy(t *testing.T, how string, r *Reader[sample], series []string) map[string]sample {
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
		q := Query[sample]{Name: "All"}
		r.Read(t.Context(), q.Bind(sample{}), time.Time{}, at(1_000_000), ReadOptions{LatestOnly: true})(keep)
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
	if d.Tables[0].Table != "now" || d.Tables[0].Events != 1 || d.Tables[1].Events != 1 {
		t.Errorf("deleted: %+v", d)
	}
	same(t, []string{"f.1:note@701", "f.1:v.1@701"}, c.row("a")) // neither older versions nor the mark
	must(t, c.events().Write(t.Context(), s(960, "killed")))     // before the row was written
	if err := w.Write(t.Context(), s(960, "other"), ifAbsent); !errors.Is(err, ErrExists) {
		t.Errorf("written if absent, after a kill: %v", err)
	}
	c.agree("a", "b", "c")
	must(t, w.Write(t.Context(), s(970, "newer"))) // the mark no longer counts
	same(t, 1, c.requests())
	_, err = w.DeleteAll(t.Context(), SeriesOf(s(0, "")))
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
	report, err := Backfill(c.t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Verify: true, Now: c.clock})
	must(c.t, err)
	return len(report.Differences)
}

// TestRowsWithoutSums reads rows that a program has written which does not know the sums of versions: readers search
// until the row is repaired, or a newer event arrives.
func TestRowsWithoutSums(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	forget := func() {
		m := bigtable.NewMutation()
		m.DeleteCellsInFamily("f.1-versions")
		must(t, c.Client.Open("now").Apply(t.Context(), "a", m))
	}
	w := c.writer(c.Client)
	must(t, w.Write(t.Context(), sample{Series: "a", Time: at(700), Value: 1}))
	must(t, w.Write(t.Context(), sample{Series: "a", Time: at(710), Value: 2}))
	forget()
	c.agree("a")
	if n := c.requests(); n < 2 {
		t.Errorf("Latest takes %d requests without a sum", n)
	}
	same(t, 0, c.verified())
	report, err := Backfill(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Repair: true, Now: c.clock, Workers: -1})
	if must(t, err); report.Changed != 1 {
		t.Errorf("repaired: %+v", report.BackfillCounts)
	}
	if n := c.requests(); n != 1 {
		t.Errorf("Latest takes %d requests after a repair", n)
	}
	forget()
	must(t, w.Write(t.Context(), sample{Series: "a", Time: at(720), Value: 2}))
	if n := c.requests(); n != 1 {
		t.Errorf("Latest takes %d requests after a newer event", n)
	}
	c.agree("a")
}

// TestOneMarkOfNone delivers events that exist again, with IfAbsent: none needs a mark beside a newer event, and
// all of them one without. The class: marks that nobody removes. Each deletion and repair removes it.
func TestOneMarkOfNone(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	w := c.writer(c.Client)
	again := func(from, to int) {
		for n := from; n < to; n++ {
			e := sample{Series: "a", Time: at(n), Value: uint64(n)}
			if err := w.Write(t.Context(), e, WriteOptions{IfAbsent: true}); !errors.Is(err, ErrExists) {
				t.Fatal(err)
			}
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
	report, err := Backfill(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Repair: true, Now: c.clock, Workers: -1})
	if must(t, err); report.Changed != 1 || report.Events != 1 || report.Deleted != 0 {
		t.Errorf("repaired: %+v", report.BackfillCounts)
	}
	same(t, []string{"f.1:v.1@731"}, c.row("a"))
	m := bigtable.NewMutation() // of a call that was killed two days ago, and one that may be running
	c.mappings[0].untyped().mark(m, markPrefix+"killed", at(600).UnixMicro(), c.clock().Add(-2*maxMarkAge))
	c.mappings[0].untyped().mark(m, markPrefix+"running", at(600).UnixMicro(), c.clock())
	must(t, c.Client.Open("now").Apply(t.Context(), "a", m))
	for _, changed := range []int64{1, 0} {
		report, err = Backfill(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Repair: true, Now: c.clock, Workers: -1})
		if must(t, err); report.Changed != changed || report.Events != 1 {
			t.Errorf("repaired: %+v", report.BackfillCounts)
		}
		same(t, []string{"f.1:deleting running@600", "f.1:v.1@731"}, c.row("a"))
	}
	must(t, c.events().Write(t.Context(), sample{Series: "a", Time: at(740)}))
	again(740, 741)
	_, err = w.DeleteAll(t.Context(), SeriesOf(sample{Series: "a"}))
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

// TestStateExpiresEarlier checks that an event that has expired in the row alone is written to the other
// table without an error, and found.
func TestStateExpiresEarlier(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	living(c.mappings[0], codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 100 * time.Second})
	for _, skip := range []bool{false, true} {
		w := NewWriter(c.Client, c.mappings, WriterOptions{Now: c.clock, SkipExpired: skip})
		must(t, w.Write(t.Context(), sample{Series: "a", Time: at(700), Value: 1}))
		must(t, w.WriteAll(t.Context(), []sample{{Series: "b", Time: at(950), Value: 2}, {Series: "b", Time: at(800), Value: 3}}))
		c.agree("a", "b")
		if a, b := c.row("a"), c.row("b"); len(a) > 0 || len(b) != 1 {
			t.Errorf("the rows have %v and %v", a, b)
		}
		must(t, w.Replace(t.Context(), sample{Series: "b", Time: at(950)}, sample{Series: "b", Time: at(750), Value: 4}))
		c.agree("a", "b")
	}
}

// TestScanOfStates scans a row with what is left of an older event, in a range of times without the
// newest one.
func TestScanOfStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	must(t, c.writer(c.Client).Write(t.Context(), sample{Series: "a", Time: at(700), Value: 1}))
	row := bigtable.NewMutation()
	row.Set("f.1", "note", bigtable.Time(at(650)), []byte("late"))
	must(t, c.Client.Open("now").Apply(t.Context(), "a", row))
	scanner, err := NewScanner(c.Client, c.mappings, "now", ReaderOptions{Now: c.clock})
	must(t, err)
	for to, want := range map[int]int{700: 0, 701: 1} {
		found := 0
		for row, err := range scanner.Rows(t.Context(), KeyRange{}, at(600), at(to)) {
			must(t, err)
			found += len(row.Events)
		}
		if found != want {
			t.Errorf("to %d: %d events instead of %d", to, found, want)
		}
	}
}

// TestScanOfMarkedStates scans rows with marks: an event up to the last mark is not yielded.
func TestScanOfMarkedStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	must(t, c.writer(c.Client).WriteAll(t.Context(), []sample{{Series: "later", Time: at(701)}, {Series: "none", Time: at(700)}, {Series: "same", Time: at(700)}}))
	table := c.Client.Open("now")
	for _, series := range []string{"empty", "later", "same"} {
		m := bigtable.NewMutation()
		c.mappings[0].untyped().mark(m, newMark(), at(700).UnixMicro(), c.clock())
		must(t, table.Apply(t.Context(), series, m))
	}
	scanner, err := NewScanner(c.Client, c.mappings, "now", ReaderOptions{Now: c.clock})
	must(t, err)
	var got []string
	for row, err := range scanner.Rows(t.Context(), KeyRange{}, time.Time{}, at(2000)) {
		must(t, err)
		got = append(got, fmt.Sprint(row.Key, len(row.Events), row.Marked))
	}
	same(t, []string{"empty0 true", "later1 false", "none1 false", "same0 true"}, got)
}

// countedReads counts the reads of a client.
func countedReads(client Client, n *int) Client {
	return fakeClient{client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
			*n++
			return api.ReadRows(ctx, set, f, opts...)
		}}
	}}
}

// TestStateAfterEvents checks that an event that a table of events may lack is not written to the row.
func TestStateAfterEvents(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	rejected := errors.New("rejected")
	client := tableClient{c.Client, func(id string, api bigtable.TableAPI) bigtable.TableAPI {
		if id == "now" {
			return api
		}
		return tableFunc{TableAPI: api,
			apply: func(context.Context, string, *bigtable.Mutation) error { return rejected },
			bulk:  func(context.Context, []string, []*bigtable.Mutation) ([]error, error) { return nil, rejected },
		}
	}}
	err := c.writer(client).WriteAll(t.Context(), []sample{{Series: "a", Time: at(900)}, {Series: "a", Time: at(901)}})
	var failed *WriteError
	if !errors.As(err, &failed) || len(failed.Failures) != 4 || !errors.Is(err, ErrNotStored) {
		t.Errorf("got %v", err)
	}
	if got := c.row("a"); len(got) > 0 {
		t.Errorf("the row has %v", got)
	}
	c.agree("a")
}

// nowRun is a random run of several calls, each of whose requests waits until a scheduler lets it
// happen, loses its reply, or kills the process before or after it.
type nowRun struct {
	*nowCase
	random *rand.Rand
	steps  []*nowStep
	asked  chan *nowStep
	late   func() error // the request of a killed process, or a copy of one that was executed
	trace  []string

	versions bool // two of the calls write versions of an event
}

// nowStep is a call of a process.
type nowStep struct {
	nowCall
	how    int // of the ways to make the call
	begun  bool
	done   bool
	name   string // of its next request; empty if it has ended
	do     func() error
	answer chan error
	kills  int
	rows   int // after which the stream of the next read breaks; -1 for none
	err    error
}

var errNowKilled = errors.New("killed")

// The ways to make a call. A write of several samples also writes one of another series, and a
// deletion of several also deletes from it.
const (
	nowAlone = iota
	nowIfAbsent
	nowSeveral
	nowBatched
	nowHows
)

// writes reports whether the call has begun and not ended, and writes a series.
func (s *nowStep) writes(series string, at time.Time) bool {
	return !s.deletes() && s.begun && !s.done && s.at().Equal(at) && (series == "a" || s.how == nowSeveral)
}

// at is the time of the sample to write.
func (s *nowStep) at() time.Time { return at(900 + int(s.write.time)) }

// returned reports whether a call need not be repeated.
func (s *nowStep) returned() bool {
	failed, ok := errors.AsType[*WriteError](s.err)
	return s.err == nil || ok && !slices.ContainsFunc(failed.Failures, func(f Failure) bool { return f.Outcome != Exists })
}

// nowTable is a table whose requests wait for the scheduler.
type nowTable struct {
	bigtable.TableAPI
	step *nowStep
	gate func(name string, do func() error) error
}

func (t nowTable) ReadRows(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
	return t.gate("reads", func() error {
		broken := false
		err := t.TableAPI.ReadRows(ctx, set, func(row bigtable.Row) bool {
			if broken = t.step.rows == 0; broken {
				return false
			}
			t.step.rows--
			return f(row)
		}, opts...)
		if broken || t.step.rows >= 0 {
			return errNowKilled
		}
		return err
	})
}

func (t nowTable) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	ctx = context.WithoutCancel(ctx) // a late request arrives when its call has ended
	return t.gate("writes", func() error { return t.TableAPI.Apply(ctx, row, m, opts...) })
}

func (t nowTable) ApplyBulk(ctx context.Context, rows []string, muts []*bigtable.Mutation, opts ...bigtable.ApplyOption) (errs []error, err error) {
	ctx = context.WithoutCancel(ctx)
	failed := t.gate("writes", func() error {
		errs, err = t.TableAPI.ApplyBulk(ctx, rows, muts, opts...)
		return err
	})
	return errs, failed
}

// gated returns a client whose requests wait for the scheduler.
func (r *nowRun) gated(s *nowStep) Client {
	return tableClient{r.Client, func(id string, api bigtable.TableAPI) bigtable.TableAPI {
		return nowTable{wholeTable{api}, s, func(name string, do func() error) error {
			s.name, s.do = name+" "+id, do
			r.asked <- s
			return <-s.answer
		}}
	}}
}

// start starts the call of a process in its own goroutine, and waits for its first request.
func (r *nowRun) start(s *nowStep) {
	s.begun = true
	go func() {
		s.err = r.call(s, r.gated(s))
		s.name = ""
		r.asked <- s
	}()
	r.await(s)
}

// call makes the call of a process.
func (r *nowRun) call(s *nowStep, client Client) error {
	ctx, from, to, w := r.t.Context(), at(900+int(s.from)), at(900+int(s.to)), r.writer(client)
	e := sample{Series: "a", Time: s.at(), Value: uint64(s.write.data[0])}
	if s.write.data[1] != 0 {
		e.Note = []byte{s.write.data[1]}
	}
	other := e
	other.Series = "b"
	switch {
	case s.fills:
		_, err := Backfill(ctx, client, r.mappings, BackfillOptions{Target: "now", Repair: s.how != nowAlone, Now: r.clock, Workers: -1})
		return err
	case s.deletes() && s.how == nowSeveral:
		_, err := w.DeleteRange(ctx, (&Query[sample]{Name: "All"}).Bind(sample{}), from, to)
		return err
	case s.deletes() && s.to-s.from == 1:
		_, err := w.Delete(ctx, []sample{{Series: "a", Time: from, Note: []byte("not used")}})
		return err
	case s.deletes():
		_, err := w.DeleteRange(ctx, SeriesOf(sample{Series: "a"}), from, to)
		return err
	case s.how == nowIfAbsent:
		return w.Write(ctx, e, WriteOptions{IfAbsent: true})
	case s.how == nowSeveral:
		return w.WriteAll(ctx, []sample{other, e})
	case s.how == nowBatched:
		b := NewBatcher(w, nil)
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

// step lets a process continue.
func (r *nowRun) step(s *nowStep) {
	how, reads, lasts := r.random.IntN(12), strings.HasPrefix(s.name, "reads"), r.late == nil && s.name == "writes now"
	s.rows = -1
	switch {
	case s.name == "":
		r.start(s)
		return
	case how == 0 && s.kills > 0: // before the request
		s.kills--
		s.answer <- errNowKilled
		r.trace = append(r.trace, "killed")
	case how == 3 && s.kills > 0 && lasts && !s.nowCall.writes(): // before it arrives
		s.kills--
		r.late = s.do
		s.answer <- errNowKilled
		r.trace = append(r.trace, "in flight")
	case how == 4 && lasts && (!s.nowCall.writes() || r.versions && s.how != nowIfAbsent): // a copy of it arrives later
		r.late = s.do
		s.answer <- s.do()
		r.trace = append(r.trace, "copied")
	case how == 1 && s.kills > 0 && reads: // the stream breaks
		s.kills--
		s.rows = r.random.IntN(2)
		s.answer <- s.do()
		r.trace = append(r.trace, "broken")
	case how == 1 && s.kills > 0: // the reply is lost
		s.kills--
		_ = s.do()
		s.answer <- errNowKilled
		r.trace = append(r.trace, "lost")
	case how == 2 && !reads && (s.how != nowIfAbsent || !s.nowCall.writes()): // it is sent twice
		_ = s.do()
		s.answer <- s.do()
	default:
		s.answer <- s.do()
	}
	if r.late != nil && r.random.IntN(12) == 0 {
		r.arrive()
	}
	r.await(s)
}

// arrive lets the late request arrive.
func (r *nowRun) arrive() {
	must(r.t, r.late())
	r.late = nil
	r.trace = append(r.trace, "late")
}

// check compares what readers find with a search, as the model does.
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
		return slices.ContainsFunc(r.steps, func(s *nowStep) bool { return s.writes(series, of) })
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

// TestStateSteps runs the real steps of writers, deleters and back-fills in random orders, with lost replies, kills, and
// requests that arrive later: of killed processes, or copies. In half of the runs, nothing is deleted.
func TestStateSteps(t *testing.T) {
	runs, all := testlong.Pick(40, 1000), nowCalls()
	c := newNowCase(t, 97*time.Second)
	for n := range runs {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		r := &nowRun{nowCase: c, random: random, asked: make(chan *nowStep)}
		c.now = at(990)
		w := c.writer(c.Client)
		q := Query[sample]{Name: "All"}
		_, err := w.DeleteAll(t.Context(), q.Bind(sample{}))
		must(t, err)
		if got := slices.Concat(c.row("a"), c.row("b")); len(got) > 0 { // the marks of killed calls
			must(t, c.Admin.DropAllRows(t.Context(), "now"))
		}
		for _, first := range nowStarts()[random.IntN(3)] {
			e := sample{Series: "a", Time: at(900 + int(first.time)), Value: uint64(first.data[0])}
			if first.data[1] != 0 {
				e.Note = first.data[1:]
			}
			must(t, w.Write(t.Context(), e))
		}
		var calls []nowCall
		for len(calls) == 0 || conflict(calls) {
			calls = calls[:0]
			for range 2 + random.IntN(2) {
				call := all[random.IntN(len(all))]
				for n%2 == 0 && call.deletes() {
					call = all[random.IntN(len(all))]
				}
				calls = append(calls, call)
			}
		}
		r.versions = versions(calls)
		for _, call := range calls {
			r.steps = append(r.steps, &nowStep{nowCall: call, how: random.IntN(nowHows), answer: make(chan error), kills: 1})
		}
		r.run()
	}
}

// run runs all calls to their end: those that were killed are called again.
func (r *nowRun) run() {
	for {
		open := slices.DeleteFunc(slices.Clone(r.steps), func(s *nowStep) bool { return s.done })
		if len(open) == 0 && r.late == nil {
			break
		}
		if len(open) == 0 {
			r.arrive()
			r.check()
			continue
		}
		s := open[r.random.IntN(len(open))]
		r.trace = append(r.trace, fmt.Sprint(s.nowCall.name, s.how, " ", s.name))
		r.step(s)
		if r.random.IntN(20) == 0 && r.now.Before(at(1000)) {
			r.now = r.now.Add(time.Second)
			r.trace = append(r.trace, "clock")
		}
		r.check()
	}
	r.agree("a", "b")
}

// TestStateCallsFail lets each request of each call fail: the call returns the error, and repeated it does what it should.
func TestStateCallsFail(t *testing.T) {
	rejected := status.Error(codes.PermissionDenied, "no")
	calls := map[string]func(w *Writer[sample]) error{
		"write": func(w *Writer[sample]) error { return w.Write(t.Context(), sample{Series: "a", Time: at(900)}) },
		"if absent": func(w *Writer[sample]) error {
			return w.Write(t.Context(), sample{Series: "a", Time: at(900)}, ifAbsent)
		},
		"delete event": func(w *Writer[sample]) error {
			_, err := w.Delete(t.Context(), []sample{{Series: "a", Time: at(702)}})
			return err
		},
		"delete series": func(w *Writer[sample]) error {
			_, err := w.DeleteAll(t.Context(), SeriesOf(sample{Series: "a"}))
			return err
		},
		"delete range": func(w *Writer[sample]) error {
			_, err := w.DeleteRange(t.Context(), SeriesOf(sample{Series: "a"}), at(701), at(800))
			return err
		},
	}
	for name, call := range calls {
		for failing, failed := 0, true; failed; failing++ {
			c := newNowCase(t, 500*time.Second)
			must(t, c.writer(c.Client).WriteAll(t.Context(), []sample{{Series: "a", Time: at(700)}, {Series: "a", Time: at(702)}}))
			requests := 0
			fails := func(apply func() error) error {
				if requests++; requests-1 == failing {
					return rejected
				}
				return apply()
			}
			w := c.writer(fakeClient{c.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
				return tableFunc{TableAPI: api, apply: func(ctx context.Context, row string, m *bigtable.Mutation) error {
					return fails(func() error { return api.Apply(ctx, row, m) })
				}, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) (errs []error, err error) {
					return errs, fails(func() error { errs, err = api.ApplyBulk(ctx, rows, muts); return err })
				}, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
					return fails(func() error { return api.ReadRows(ctx, set, f, opts...) })
				}}
			}})
			err := call(w)
			if failed = requests > failing; failed != errors.Is(err, rejected) {
				t.Errorf("%s: request %d fails: %v", name, failing, err)
			}
			if !failed {
				break
			}
			if err := call(w); err != nil && !errors.Is(err, ErrExists) {
				t.Errorf("%s, again: %v", name, err)
			}
			c.agree("a")
		}
	}
}
