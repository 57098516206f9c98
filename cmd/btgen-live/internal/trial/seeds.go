package trial

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"golang.org/x/sync/errgroup"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
	"github.com/btgen-dev/btgen/schemas"
)

// Figures are measurements of the events of a seed, beside what btgen explain says.
type Figures struct {
	Seed           string  `json:"seed"`
	Events         int     `json:"events"`
	WriteRequests  int     `json:"write_requests"`
	ReadRequests   int     `json:"read_requests"`
	Planned        int     `json:"planned_read_requests"` // by explain
	Bytes          float64 `json:"bytes_per_event"`       // of the table that is read
	EstimatedBytes float64 `json:"estimated_bytes_per_event"`
	WriteMicros    float64 `json:"write_cpu_micros_per_event"` // of the client, for all tables
	ReadMicros     float64 `json:"read_cpu_micros_per_event"`
}

// seeds returns an assumption for each schema of the project.
func seeds() (out []Assumption) {
	for n, name := range slices.Sorted(maps.Keys(schemas.All())) {
		out = append(out, Assumption{
			"seed-" + strings.ReplaceAll(name, "_", "-"), "What programs of schemas/" + name + ".yaml write, all methods read, replace and delete.",
			docs + "schema-design-time-series", seedCheck(n, name),
		})
	}
	return out
}

// seedCheck returns the check of a schema: an error of the schema is one of the check.
func seedCheck(n int, name string) check {
	return func(ctx context.Context, p place) (string, error) {
		parsed, found := schema.Parse(name+".yaml", []byte(schemas.All()[name]))
		l, more := layout.Resolve(parsed)
		if err := append(found, more...).Err(); err != nil {
			return "", err
		}
		trip, ok := sample.NewRoundTrip(l)
		if !ok {
			return "", untried("no example events fit all of its tables")
		}
		rename(l, n)
		s := &seed{run: p.run, layout: l, schema: dynamic.New(l), trip: trip, now: trip.Now}
		return s.all(ctx, name)
	}
}

// rename gives the tables of the n-th seed short IDs.
func rename(l *layout.Layout, n int) {
	ids := map[string]string{}
	of := func(t *layout.Table) {
		if ids[t.ID] == "" {
			ids[t.ID] = fmt.Sprintf("s%dt%d", n, len(ids))
		}
		t.ID = ids[t.ID]
	}
	for _, t := range l.Tables {
		of(t)
		for _, older := range t.Older {
			of(older)
		}
	}
}

// seed is a schema whose tables exist.
type seed struct {
	*run
	layout *layout.Layout
	schema *dynamic.Schema
	trip   *sample.RoundTrip
	now    time.Time // of readers and writers
	writer *dynamic.Writer
	reader *dynamic.Reader
	did    []string // methods
	ended  store.Operation
}

// all creates the tables, tries all methods, measures, and removes the tables.
func (s *seed) all(ctx context.Context, name string) (string, error) {
	tables := s.tablesToTry()
	if err := s.createAll(ctx, tables); err != nil {
		return "", err
	}
	hooks := store.Hooks{End: func(_ context.Context, op store.Operation, _ error) {
		s.ended.Requests += op.Requests
		if op.Name == "WriteAll" || op.Name == "Read" { // a write of one event may use a session
			s.wired.requests += op.Requests
			s.wired.ordinary += op.OrdinaryRequests
		}
	}}
	now := func() time.Time { return s.now }
	s.writer = s.schema.NewWriter(s.Client, store.WriterOptions{TablePrefix: s.prefix, Now: now, Hooks: hooks})
	s.reader = s.schema.NewReader(s.Client, store.ReaderOptions{TablePrefix: s.prefix, Now: now, Hooks: hooks})
	err := s.methods(ctx)
	if err == nil {
		err = s.measure(ctx, name)
	}
	for _, t := range tables {
		err = errors.Join(err, s.removeTable(ctx, s.prefix+t.ID))
	}
	return strings.Join(s.did, ", "), err
}

// tablesToTry returns the tables, in which nothing is collected: the examples are years old, and readers filter by their clock.
func (s *seed) tablesToTry() []store.Table {
	tables := s.schema.Tables()
	for i := range tables {
		t := &tables[i]
		t.KeySchema, t.Bundle, t.Tier, t.DeletionProtection, t.Splits = nil, nil, 0, bigtable.None, nil
		for k := range t.Families {
			t.Families[k].GC = codec.GCRule{}
		}
	}
	return tables
}

// createAll creates tables concurrently.
func (s *seed) createAll(ctx context.Context, tables []store.Table) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range tables {
		group.Go(func() error {
			if _, err := s.setUp(ctx, false, nil, t); err != nil {
				return err
			}
			return s.visible(ctx, s.prefix+t.ID)
		})
	}
	return group.Wait()
}

// events returns the example events of the first series, and one of another series.
func (s *seed) events() (all []dynamic.Event, other dynamic.Event) {
	for i := range s.trip.Stored {
		all = append(all, dynamicEvent(&s.trip.Stored[i]))
	}
	other = all[0]
	other.Series = s.trip.Series[len(s.trip.Series)-1]
	return all, other
}

// dynamicEvent converts an example event.
func dynamicEvent(e *sample.Event) dynamic.Event {
	return dynamic.Event{Series: e.Series, Time: e.Time, Sequence: e.Sequence, Values: slices.Clone(e.Values), Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt}
}

// methods tries all methods.
func (s *seed) methods(ctx context.Context) error {
	all, other := s.events()
	several := !slices.EqualFunc(all[0].Series, other.Series, value.Equal)
	want := all
	if s.layout.Read.Pattern.NewestOnly() {
		want = all[len(all)-1:]
	}
	newest := want[len(want)-1:]
	first, last, series := all[0].Time, all[len(all)-1].Time, all[0].Series
	end := last.Add(s.layout.Precision)
	read := func(of dynamic.Selection, o ...store.ReadOptions) iter.Seq2[dynamic.Event, error] {
		return s.reader.Read(ctx, of, first, end, o...)
	}
	own := dynamic.Series(series)
	steps := []step{
		{"WriteAll", func() error { return s.writer.WriteAll(ctx, all) }},
		{"Write", func() error { return s.writer.Write(ctx, all[0]) }},
		{"Write another series", func() error { return s.writer.Write(ctx, other) }},
		{"Read", func() error { return s.same(want, read(own)) }},
		{"Read newest first", func() error { return s.same(reversed(want), read(own, store.ReadOptions{NewestFirst: true})) }},
		{"Read with a limit", func() error { return s.same(want[:1], read(own, store.ReadOptions{Limit: 1})) }},
		{"Latest", func() error { return s.same(newest, one(s.reader.Latest(ctx, series))) }},
		{"LatestMany", func() error { return s.same(newest, s.reader.LatestMany(ctx, [][]any{series})) }},
		{"Windows", func() error {
			windows := s.reader.Windows(ctx, own, first, end, window.Whole(), store.WindowOptions{Fields: []store.Field{}})
			return counted(len(want), windows, func(w *dynamic.Window) int { return int(w.Events) })
		}},
		{"queries", func() error { return s.queries(want, read) }},
		{"Scanner", func() error { return s.scan(ctx, first, end) }},
		{"Replace", func() error { return s.replace(ctx, all[len(all)-1]) }},
		{"Delete", func() error { _, err := s.writer.Delete(ctx, all[len(all)-1:]); return err }},
		{"Read after Delete", func() error { return s.same(want[:len(want)-1], read(own)) }},
		{"DeleteAll", func() error { _, err := s.schema.DeleteAll(ctx, s.writer, own); return err }},
		{"Read after DeleteAll", func() error { return s.same(nil, read(own)) }},
	}
	if several {
		ofOther := dynamic.Series(other.Series)
		steps = append(steps, step{"Read the other series", func() error { return s.same([]dynamic.Event{other}, read(ofOther)) }},
			step{"DeleteAll of the other series", func() error { _, err := s.schema.DeleteAll(ctx, s.writer, ofOther); return err }})
		two := step{"Read two series", func() error {
			return counted(len(want)+1, read(dynamic.ManySeries([][]any{series, other.Series})), func(*dynamic.Event) int { return 1 })
		}}
		steps = slices.Insert(steps, 6, two)
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	s.did = append(s.did, fmt.Sprintf("%d steps agree", len(steps)))
	return nil
}

// step is a call, and the comparison of its result.
type step struct {
	name string
	do   func() error
}

// reversed returns the events in reverse order.
func reversed(events []dynamic.Event) []dynamic.Event {
	out := slices.Clone(events)
	slices.Reverse(out)
	return out
}

// one yields an event, or an error.
func one(e dynamic.Event, err error) iter.Seq2[dynamic.Event, error] {
	return func(yield func(dynamic.Event, error) bool) { yield(e, err) }
}

// counted returns a contradiction unless a read yields things that count as n.
func counted[T any](n int, got iter.Seq2[T, error], of func(*T) int) error {
	found := 0
	for v, err := range got {
		if err != nil {
			return err
		}
		found += of(&v)
	}
	if found != n {
		return differs("read %d of %d events", found, n)
	}
	return nil
}

// same returns a contradiction unless a read yields events.
func (s *seed) same(want []dynamic.Event, got iter.Seq2[dynamic.Event, error]) error {
	n := 0
	for e, err := range got {
		if err != nil {
			return err
		}
		if n >= len(want) {
			return differs("read more than %d events", len(want))
		}
		if what := s.differs(&e, &want[n]); what != "" {
			return differs("event %d of %d differs in %s", n, len(want), what)
		}
		n++
	}
	if n < len(want) {
		return differs("read %d of %d events", n, len(want))
	}
	return nil
}

// differs returns what differs between an event that was read and one that was written; empty for nothing.
func (s *seed) differs(got, want *dynamic.Event) string {
	switch {
	case !got.Time.Equal(want.Time):
		return "its time"
	case got.Sequence != want.Sequence:
		return "its sequence number"
	case !slices.EqualFunc(got.Series, want.Series, value.Equal):
		return "its series"
	}
	for i := range s.layout.Fields {
		f := &s.layout.Fields[i]
		v := want.Values[i]
		if v == nil {
			v = f.Default
		}
		if !value.Equal(got.Values[i], v) {
			return fmt.Sprintf("field %s: %v, not %v", f.Name, got.Values[i], v)
		}
	}
	return ""
}

// queries reads with each query those events that meet it. Tables other than the one that series are read from may have other events.
func (s *seed) queries(want []dynamic.Event, read func(dynamic.Selection, ...store.ReadOptions) iter.Seq2[dynamic.Event, error]) error {
	for i := range s.layout.Queries {
		q := &s.layout.Queries[i]
		if q.Table != s.layout.Read {
			continue
		}
		var v dynamic.Values
		for k := range q.Inputs {
			low, high := s.trip.Given(&q.Inputs[k])
			switch in := q.Inputs[k]; {
			case in.Ends() == 2:
				v = append(v, []any{low, high})
			case in.Many:
				v = append(v, []any{low})
			default:
				v = append(v, low)
			}
		}
		meets := 0
		for n := len(s.trip.Stored) - len(want); n < len(s.trip.Stored); n++ {
			if s.trip.Meets(n, q) {
				meets++
			}
		}
		own := func(e *dynamic.Event) int {
			if slices.EqualFunc(e.Series, want[0].Series, value.Equal) {
				return 1
			}
			return 0
		}
		if err := counted(meets, read(dynamic.Query(q.Name, v)), own); err != nil {
			return fmt.Errorf("query %s: %w", q.Name, err)
		}
	}
	return nil
}

// scan reads all rows of the table that is read.
func (s *seed) scan(ctx context.Context, from, to time.Time) error {
	scanners, err := s.schema.NewScanners(s.Client, s.layout.Read.ID, store.ReaderOptions{TablePrefix: s.prefix, Now: func() time.Time { return s.now }})
	if err != nil {
		return err
	}
	rows := 0
	for _, scanner := range scanners {
		for _, err := range scanner.Rows(ctx, store.KeyRange{}, from, to) {
			if err != nil {
				return err
			}
			rows++
		}
	}
	if rows == 0 {
		return differs("read no rows")
	}
	return nil
}

// replace replaces an event, which is the newest one, by one with other values, and the other way round.
func (s *seed) replace(ctx context.Context, e dynamic.Event) error {
	updated := e
	updated.Values = slices.Clone(e.Values)
	for i := range s.layout.Fields {
		if updated.Values[i] != nil {
			updated.Values[i] = sample.Value(&s.layout.Fields[i], 7, e.Time)
		}
	}
	for _, pair := range [][2]dynamic.Event{{e, updated}, {updated, e}} {
		if err := s.writer.Replace(ctx, pair[0], pair[1]); err != nil {
			return err
		}
		if err := s.same(pair[1:], one(s.reader.Latest(ctx, e.Series))); err != nil {
			return err
		}
	}
	return nil
}

// measured is the number of events that are measured.
const measured = 100

// measure writes and reads events, and compares requests and bytes with the plan and the estimate.
func (s *seed) measure(ctx context.Context, name string) error {
	t := s.layout.Read
	var events []dynamic.Event
	for _, e := range sample.Events(s.layout, t, measured, 0) {
		if e.Series == nil {
			e.Series = s.trip.Series[0]
		}
		events = append(events, dynamicEvent(&e))
	}
	if len(events) == 0 {
		return nil
	}
	from, to := events[0].Time, events[len(events)-1].Time.Add(s.layout.Precision)
	s.now = to.Add(time.Second)
	for i := range events {
		if !events[i].ExpiresAt.IsZero() {
			events[i].ExpiresAt = s.now.Add(time.Hour)
		}
	}
	f := Figures{Seed: name, Events: len(events)}
	var err error
	f.WriteMicros = s.spent(len(events), func() { err = s.writer.WriteAll(ctx, events) })
	if err != nil {
		return nil // the table that is read takes these events, but not all tables do
	}
	f.WriteRequests = s.ended.Requests
	read := 0
	f.ReadMicros = s.spent(len(events), func() {
		for _, failed := range s.reader.Read(ctx, dynamic.Series(events[0].Series), from, to) {
			err = errors.Join(err, failed)
			read++
		}
	})
	if err != nil || read == 0 {
		return err
	}
	f.Events, f.ReadRequests = read, s.ended.Requests
	size, err := s.stored(ctx, t)
	if err != nil {
		return err
	}
	f.Bytes = math.Round(float64(size) / float64(read))
	q := s.layout.ReadQuery()
	f.Planned = len(sample.Requests(s.layout, &q, s.now, from, to, nil))
	e := estimate.Of(s.layout, t)
	f.EstimatedBytes = math.Round(e.Event.Typical)
	s.figures = append(s.figures, f)
	return nil
}

// stored returns the size of the cells of events in a table, as btgen explain counts it.
func (s *seed) stored(ctx context.Context, t *layout.Table) (bytes int, err error) {
	cells, err := s.read(ctx, &bigtablepb.ReadRowsRequest{TableName: s.table(s.prefix + t.ID)})
	for _, c := range cells {
		if slices.ContainsFunc(t.Families, func(f layout.Family) bool { return f.Name == c.family }) {
			const timestamp = 8
			bytes += len(c.row) + len(c.family) + len(c.qualifier) + timestamp + len(c.value)
		}
	}
	return bytes, err
}

// spent returns the CPU time of this process during a call, in microseconds for each of n events. It counts requests from 0.
func (s *seed) spent(n int, f func()) float64 {
	s.ended = store.Operation{}
	begin := cputime.Spent()
	f()
	return math.Round(float64((cputime.Spent()-begin).Nanoseconds())/float64(n)/100) / 10
}

// clientWire asks the runtime whether the requests of seeds bypassed the encoding of the client.
func clientWire(ctx context.Context, p place) (string, error) {
	if p.emulated() {
		return "", untried("a client of an emulator takes no such options")
	}
	if p.wired.requests == 0 {
		if _, err := seedCheck(0, "balloon_new_cells")(ctx, p); err != nil {
			return "", err
		}
	}
	if p.wired.ordinary > 0 {
		return "", differs("%d of %d requests went through the encoding of the client", p.wired.ordinary, p.wired.requests)
	}
	return fmt.Sprintf("all of %d requests did", p.wired.requests), nil
}
