// Package world plays scripts of random operations on the tables of any schema, and compares all reads with what
// was promised to whoever wrote the events. So features meet without anybody having to think of their meeting: an
// operation is written once, and runs over all schemas; a setting is drawn as soon as one schema of the corpus has
// it.
//
// Requests fail in between, replies get lost, streams break off and processes are killed; the operation is then
// repeated, and the tables must be as if nothing had happened. Two programs write in turn, one of them without the
// client options of the project.
//
// The package is only for tests.
package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// World is a server with clients of several programs.
type World struct {
	server
	bt      *storetest.Bigtable
	clients []*bigtable.Client
	faults  *faults
	traffic *traffic
	scripts int
	files   int
	dir     string // for files of progress
	// Counts are the numbers of operations that were played, by name.
	Counts map[string]int
}

// Start starts a server, and a world on it, which end with the test.
func Start(t testing.TB) *World {
	t.Helper()
	w := &World{faults: new(faults), traffic: new(traffic), Counts: map[string]int{}, dir: t.TempDir()}
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", w.options()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	w.bt = b
	for _, connect := range []func(context.Context, string, ...grpc.DialOption) (*bigtable.Client, error){storetest.Connect, storetest.ConnectPlain} {
		c, err := connect(t.Context(), b.Addr, grpc.WithChainUnaryInterceptor(w.faults.unary), grpc.WithChainStreamInterceptor(w.faults.stream, w.traffic.stream))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		w.clients = append(w.clients, c)
	}
	return w
}

// Check plays a script that a seed draws, of a schema and its code, which may be nil; see CheckScript.
func (w *World) Check(t testing.TB, text []byte, code *Code, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	s := Script{Layout: corpus.Layout(text), Code: code}
	for range 20 + random.IntN(60) {
		s.Steps = append(s.Steps, random.Uint64())
	}
	w.CheckScript(t, s, text)
}

// CheckScript plays a script of a schema. If it fails, a shorter one that fails, too, is reported.
func (w *World) CheckScript(t testing.TB, s Script, text []byte) {
	t.Helper()
	if err := w.play(t.Context(), s); err != nil {
		t.Errorf("%v\n%s", w.shortest(t.Context(), s, err), text)
	}
}

// Script is a sequence of operations on a schema: each number draws one.
type Script struct {
	Layout *layout.Layout
	Code   *Code // also written and read with; may be nil
	Steps  []uint64
}

// play plays a script, and returns what was not as promised. Scripts of schemas without events that all tables
// store do nothing.
func (w *World) play(ctx context.Context, s Script) error {
	p, err := w.begin(ctx, s)
	if err != nil || p == nil {
		return err
	}
	defer p.drop()
	for _, seed := range s.Steps {
		p.Rand = rand.New(rand.NewPCG(seed, 0))
		if err := p.step(operations); err != nil {
			return p.told(err)
		}
	}
	p.faults.arrive(func(lateCopy) bool { return true })
	for _, last := range []func() error{p.restamp, p.finer, p.forget, p.foreignLeft, p.crowd} {
		if err := last(); err != nil {
			return p.told(err)
		}
	}
	return nil
}

// begin makes the tables of a script; nil if no event fits all of them.
func (w *World) begin(ctx context.Context, s Script) (*play, error) {
	events, ok := dynamictest.NewTraffic(s.Layout)
	if !ok {
		return nil, nil
	}
	w.scripts++
	p := &play{
		World: w, Rand: rand.New(rand.NewPCG(0, 0)), ctx: ctx, layout: s.Layout, code: s.Code, schema: dynamic.New(s.Layout), truth: newTruth(s.Layout), events: events,
		prefix: fmt.Sprintf("w%d_", w.scripts), now: events.Now, foreign: map[[2]string]bool{}, summarized: map[bucket]bool{},
	}
	if begins := p.begins(); begins.Year() > 2050 {
		p.now = begins.Add(50 * time.Hour)
		p.shift = p.now.Sub(events.Now)
	}
	w.faults.copies, w.faults.latest = nil, ""
	if s.Layout.State != nil {
		w.faults.latest = p.prefix + s.Layout.State.ID
	}
	if err := p.setup(p.schema); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	for _, id := range p.tableIDs() {
		if err := w.bt.Admin.CreateColumnFamily(ctx, id, foreignFamily); err != nil {
			return nil, err
		}
	}
	for _, c := range w.clients {
		writing, reading := store.WriterOptions{TablePrefix: p.prefix, Now: p.clock}, store.ReaderOptions{TablePrefix: p.prefix, Now: p.clock}
		own := interpreter{p.schema, p.schema.NewWriter(c, writing), p.schema.NewReader(c, reading)}
		if p.programs = append(p.programs, &own); s.Code != nil {
			p.programs = append(p.programs, s.Code.program(own, c, writing, reading))
		}
	}
	return p, nil
}

// setup sets up the tables of a schema.
func (p *play) setup(s *dynamic.Schema) error {
	tables := s.Tables()
	for i := range tables {
		tables[i].Tier = 0 // ages may be shorter than the service accepts
		tables[i].Families = slices.Clone(tables[i].Families)
		for k := range tables[i].Families { // the server collects garbage by the clock of the machine, and at any time
			tables[i].Families[k].GC = codec.GCRule{}
		}
	}
	_, err := setup.Setup(p.ctx, p.bt.Admin, p.bt.Client, tables, setup.Options{TablePrefix: p.prefix, NoHistory: true, AllowDrafts: true})
	return err
}

// drop deletes the tables.
func (p *play) drop() {
	for _, id := range p.tableIDs() {
		_ = p.bt.Admin.DeleteTable(context.WithoutCancel(p.ctx), id)
	}
}

// told adds what was done to an error.
func (p *play) told(err error) error {
	return fmt.Errorf("%w\nat %v, after: %s", err, p.now.UTC(), strings.Join(p.log, "; "))
}

// shortest returns the error of a part of a script that fails, too.
func (w *World) shortest(ctx context.Context, s Script, err error) error {
	for size := len(s.Steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(s.Steps); {
			less := Script{s.Layout, s.Code, slices.Delete(slices.Clone(s.Steps), from, from+size)}
			if failure := w.play(ctx, less); failure != nil {
				s, err = less, failure
				continue
			}
			from += size
		}
	}
	return err
}

// play is a script that is being played.
type play struct {
	*World
	*rand.Rand // of the step, or of the last one
	ctx        context.Context
	layout     *layout.Layout
	code       *Code // may be nil
	schema     *dynamic.Schema
	truth      *truth
	events     *dynamictest.Traffic
	prefix     string
	mu         sync.Mutex
	now        time.Time
	shift      time.Duration // of the times of events, which are close to those of the newest layout if there are several
	tick       time.Duration // by how much the clock advances whenever it is read
	struck     bool          // a request of the step failed
	without    *layout.Table // the program that writes does not have it
	merging    bool          // events keep what is stored of fields that they lack
	focused    bool          // the next request that fails is about the newest events
	spoilt     spot          // the cell that is damaged
	programs   []program
	known      []dynamic.Event    // places of events that were written or deleted
	foreign    map[[2]string]bool // cells of another program, by table and row
	summarized map[bucket]bool    // buckets that were summarized with all events, and have not changed since
	log        []string
}

// clock returns the time for writers and readers, and lets time pass if it passes while they run.
func (p *play) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now
	p.now = now.Add(p.tick)
	return now
}

// operation is a kind of step.
type operation struct {
	name   string
	weight int
	do     func(p *play) error
}

// operations are all kinds of steps. An operation that does not fit the schema does nothing.
var operations = slices.Concat(changes, reads, observations)

// withoutTable is the name of the step of a program of which a lock of the schema says nothing.
const withoutTable = "write without a table"

// changes are the steps that change what is stored.
var changes = []operation{
	{"write", 30, (*play).write},
	{"write again", 5, (*play).rewrite},
	{"write absent", 8, (*play).writeAbsent},
	{"write known as absent", 6, (*play).writeKnown},
	{"write a series", 6, (*play).writeSeries},
	{withoutTable, 6, (*play).writeWithout},
	{"write in batches", 6, (*play).writeBatches},
	{"write versions", 6, (*play).writeVersions},
	{"merge", 8, (*play).merge},
	{"delete events", 8, (*play).deleteEvents},
	{"delete a selection", 10, (*play).deleteSelection},
	{"delete everything of a selection", 4, (*play).deleteAll},
	{"replace", 8, (*play).replace},
	{"wait", 8, (*play).wait},
	{"collect garbage", 5, (*play).collect},
	{"roll up", 8, (*play).rollup},
	{"summarize and expire", 14, (*play).age},
	{"damage a summary", 5, (*play).damage},
	{"back-fill", 12, (*play).backfill},
	{"write cells of another program", 3, (*play).writeForeign},
}

// reads are the steps that compare what readers return with the truth, whatever the timestamps of cells.
var reads = []operation{
	{"read", 40, (*play).read},
	{"latest", 10, (*play).latest},
	{"pages", 8, (*play).pages},
	{"windows", 14, (*play).windows},
	{"chart", 5, (*play).chart},
	{"scan", 5, (*play).scan},
	{"read on through breaks", 4, (*play).readOn},
}

// observations are the other steps that compare what is stored with the truth.
var observations = []operation{
	{"read while time passes", 5, (*play).readTicking},
	{"pages among changes", 6, (*play).pagesAmong},
	{"series", 6, (*play).series},
	{"count cells", 5, (*play).stored},
	{"verify", 8, (*play).verify},
	{"damage an event", 5, (*play).spoil},
	{"keys", 3, (*play).keys},
}

// step plays one of some operations.
func (p *play) step(some []operation) error {
	total := 0
	for _, o := range some {
		total += o.weight
	}
	n := p.IntN(total)
	for _, o := range some {
		if n -= o.weight; n >= 0 {
			continue
		}
		p.log = append(p.log, o.name)
		p.Counts[o.name]++
		p.struck = false
		err := o.do(p)
		p.faults.arrive(func(lateCopy) bool { return p.chance(3) })
		if _, _, wrong := p.traffic.take(); err == nil && !p.struck { // otherwise, the client repeats requests in its own way
			err = wrong
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		return nil
	}
	return nil
}

// note adds to the description of the step.
func (p *play) note(format string, args ...any) {
	p.log[len(p.log)-1] += fmt.Sprintf(" "+format, args...)
}

// chance is true once in n times.
func (p *play) chance(n int) bool { return p.IntN(n) == 0 }

// anyOf returns one of several values.
func anyOf[T any](p *play, all []T) T { return all[p.IntN(len(all))] }

// faulty calls f, in which a request may fail, and reports whether one did.
func (p *play) faulty(f func() error) (err error, struck bool) {
	if p.breaks.Load() > 0 || !p.focused && !p.chance(3) {
		return f(), false
	}
	how, skip, after := fault(p.IntN(6)), p.IntN(5), p.IntN(4)
	code := anyOf(p, []codes.Code{codes.PermissionDenied, codes.Internal, codes.Unavailable, codes.Unavailable})
	only := ""
	if p.layout.State != nil { // most protocols are about rows of the newest events
		switch p.IntN(4) {
		case 0, 1:
			how, skip = late, p.IntN(8)
		case 2:
			only, skip = p.faults.latest, p.IntN(3)
		}
	}
	if p.focused {
		how, only, skip, p.focused = anyOf(p, []fault{unsent, lost, killed}), p.faults.latest, p.IntN(2), false
	}
	switch how {
	case killed, stopped:
		code = codes.PermissionDenied // others are repeated until the deadline
	case late:
		code = codes.Unavailable
	}
	return p.fails(f, how, only, skip, after, code, p.chance(2))
}

// fails calls f, in which a request fails as said, and reports whether it did. If it is killed, f may end at once.
func (p *play) fails(f func() error, how fault, only string, skip, after int, code codes.Code, ends bool) (err error, struck bool) {
	p.faults.arm(how, only, skip, after, code)
	if before := p.ctx; ends {
		p.ctx, p.faults.cancel = context.WithCancel(before)
		defer func() {
			p.faults.cancel()
			p.ctx, p.faults.cancel = before, nil
		}()
	}
	err = f()
	p.settle()
	if struck = p.faults.disarm(); struck {
		p.struck = true
		p.note("(fault %d of request %d, %v)", how, skip, code)
	}
	return err, struck
}

// repeated calls f, in which a request may fail. If f fails then, it is called once more.
func (p *play) repeated(f func() error) error {
	err, struck := p.faulty(f)
	if struck && err != nil {
		err = f()
	}
	p.faults.arrive(func(c lateCopy) bool { return !c.latest })
	return err
}

// written lets the requests of all writes arrive: after the event was deleted, or after its row was repaired, they
// would change the row of the newest event.
func (p *play) written() { p.faults.arrive(func(c lateCopy) bool { return !c.deletes }) }

// client returns the client of one of the programs. Only one with the options of the project is told of progress without rows.
func (p *play) client() *bigtable.Client {
	if p.breaks.Load() > 0 {
		return p.clients[0]
	}
	return anyOf(p, p.clients)
}

// allSeries returns all series of known events, by their text.
func (p *play) allSeries() map[string][]any {
	out := map[string][]any{}
	for _, e := range p.known {
		out[text(e.Series...)] = e.Series
	}
	return out
}

// program returns one of the programs, as client does.
func (p *play) program() program {
	if p.breaks.Load() > 0 {
		return p.programs[0]
	}
	return anyOf(p, p.programs)
}

// tableIDs returns the IDs of the tables of all layouts, each once.
func (p *play) tableIDs() (out []string) {
	for _, t := range p.layout.AllPeriods() {
		if id := p.prefix + t.ID; !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// event draws an event: at the time of another one, close to one, or at any time that tables distinguish.
func (p *play) event() dynamic.Event {
	e := rapid.Custom(func(t *rapid.T) []dynamic.Event { return p.events.Events(t, 1) }).Example(int(p.Int32()))[0]
	if e.Time = e.Time.Add(p.shift); !e.ExpiresAt.IsZero() {
		e.ExpiresAt = e.ExpiresAt.Add(p.shift)
	}
	for i := range p.layout.Fields {
		if v := defaultOf(&p.layout.Fields[i]); v != nil && p.chance(3) {
			e.Values[i] = v
		}
	}
	switch p.IntN(8) {
	case 0, 1:
		if len(p.known) > 0 {
			k := anyOf(p, p.known)
			e.Series, e.Time, e.Sequence = k.Series, k.Time, k.Sequence
		}
	case 2, 3:
		e.Time = e.Time.Add(p.layout.Precision * time.Duration(p.IntN(5)))
	case 4:
		e.Time = p.now
	case 5:
		e.Time = p.now.Add(-p.duration())
	case 6, 7:
		if edges := p.edges(); len(edges) > 0 {
			e.Time = anyOf(p, edges).Add(p.layout.Precision * time.Duration(p.IntN(3)-1))
		}
	}
	if e.Time.Before(time.Unix(1, 0)) {
		e.Time = p.now
	}
	if p.chance(8) {
		e.Time = e.Time.Add(1)
	}
	if e.Sequence != 0 && (len(p.layout.Tables) > 1 || !p.chance(10)) && slices.ContainsFunc(p.layout.Tables, func(t *layout.Table) bool { return !periodOf(t, e.Time).HasSequence() && !t.Pattern.NewestOnly() }) {
		e.Sequence = 0
	}
	return e
}

// defaultOf returns the default of a field as it is stored; nil if there is none.
func defaultOf(f *layout.Field) any {
	if v, ok := f.Default.(float64); ok && f.Type == schema.Float32 {
		return float64(float32(v))
	}
	return f.Default
}

// edges returns the times at which layouts begin, and those at which the buckets of now begin and end.
func (p *play) edges() (out []time.Time) {
	for _, t := range p.layout.AllPeriods() {
		if !t.Since.IsZero() {
			out = append(out, t.Since)
		}
		if t.Pattern.Bucketed() && !t.Endless() {
			out = append(out, t.Bucket.Start(p.now), t.Bucket.End(p.now))
		}
	}
	return out
}

// begins returns the time at which the newest layout begins; zero if there is only one of each table.
func (p *play) begins() (out time.Time) {
	for _, t := range p.layout.Tables {
		if t.Since.After(out) {
			out = t.Since
		}
	}
	return out
}

// ages returns the ages of all families, and those at which buckets are summarized.
func (p *play) ages() (out []time.Duration) {
	var visit func(r codec.GCRule)
	visit = func(r codec.GCRule) {
		if r.MaxAge > 0 && r.MaxAge < 30*365*24*time.Hour {
			out = append(out, r.MaxAge)
		}
		for _, below := range r.Rules {
			visit(below)
		}
	}
	for _, t := range p.layout.AllPeriods() {
		for _, f := range t.Families {
			visit(f.GC)
		}
		if t.Rollup != nil {
			visit(t.Rollup.GC)
			out = append(out, t.Bucket.Widest()+t.Rollup.After+2*t.Rollup.Grace(t.Bucket)) // when a bucket is summarized
		}
	}
	return out
}

// duration draws a duration that is close to one that matters.
func (p *play) duration() time.Duration {
	d := anyOf(p, append([]time.Duration{0, time.Minute, time.Hour, 26 * time.Hour}, p.ages()...))
	return max(0, d+anyOf(p, []time.Duration{0, 0, 1, -1, time.Millisecond, -time.Millisecond, time.Second, 400 * time.Millisecond}))
}

// wait lets time pass.
func (p *play) wait() error {
	d := p.duration()
	p.note("%v", d)
	if p.now.Add(d).Year() < 9000 {
		p.now = p.now.Add(d)
	}
	return nil
}

// noSleep does not wait: nothing is written meanwhile.
func noSleep(context.Context, time.Duration) error { return nil }
