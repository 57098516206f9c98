package dynamictest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Lab tries edits of schemas on one in-memory server: code of the old schema writes, and
// code of the new one reads. It is safe for concurrent use.
type Lab struct {
	server *storetest.Bigtable
	cases  atomic.Int64
}

// NewLab returns a lab that closes at the end of the test.
func NewLab(t testing.TB) *Lab {
	t.Helper()
	return &Lab{server: storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })}
}

// Start starts an in-memory server with the tables of a schema, and stops it at the end of the test.
func Start(t testing.TB, s *dynamic.Schema) *storetest.Bigtable {
	t.Helper()
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := setup.Setup(ctx, b.Admin, b.Client, s.Tables())
		return err
	})
}

// Edit is an edit of a schema.
type Edit struct {
	Old, New *dynamic.Schema
	// Renamed has the new names of fields and series values by their old ones, if the edit
	// renames them. A field that is in none of the schemas by its name was removed or added.
	Renamed map[string]string
	// Now is the clock of writers and readers.
	Now time.Time
}

// Range is the time range of a read, From included and To not.
type Range struct{ From, To time.Time }

// Outcome is the effect of an edit on stored events. Each finding states which read found it: the
// old code is what decides which events there are.
type Outcome struct {
	Events  int      // events that the old code read, counted once for each read
	Lost    []string // events that the new code does not return, without an error
	Changed []string // events with another value, or with one that was not written
	Hidden  []string // events that come without a value that they have
	Errors  []string // reads and events of which the new code returns an error
}

// Safe reports whether the new code reads all that the old code does.
func (o *Outcome) Safe() bool {
	return len(o.Lost)+len(o.Changed)+len(o.Hidden)+len(o.Errors) == 0
}

// Compare writes events with the old code and reads them with the old and the new code: the
// series of all events, and the queries of both schemas, in the given ranges. Events that the
// old code refuses do not count. Tables and families of the new schema are created first;
// rules of garbage collection are not, because reads skip what they would remove.
func (l *Lab) Compare(ctx context.Context, e Edit, events []dynamic.Event, ranges ...Range) (Outcome, error) {
	prefix := fmt.Sprintf("e%d_", l.cases.Add(1))
	tables, err := l.create(ctx, prefix, e)
	defer func() {
		for id := range tables {
			_ = l.server.Admin.DeleteTable(context.WithoutCancel(ctx), id)
		}
	}()
	if err != nil {
		return Outcome{}, err
	}
	now := func() time.Time { return e.Now }
	o := store.ReaderOptions{TablePrefix: prefix, Now: now}
	err = e.Old.NewWriter(l.server.Client, store.WriterOptions{TablePrefix: prefix, Now: now}).WriteAll(ctx, events, store.WriteOptions{LastWins: true})
	if failed, ok := errors.AsType[*store.WriteError](err); err != nil && (!ok || slices.ContainsFunc(failed.Failures, func(f store.Failure) bool { return f.Outcome != store.Refused })) {
		return Outcome{}, err
	}
	c := &edited{ctx: ctx, Edit: e, old: e.Old.NewReader(l.server.Client, o), new: e.New.NewReader(l.server.Client, o)}
	c.match()
	var seen []dynamic.Event
	for _, event := range events {
		if slices.ContainsFunc(seen, func(other dynamic.Event) bool { return slices.EqualFunc(other.Series, event.Series, value.Equal) }) {
			continue
		}
		seen = append(seen, event)
		for _, r := range ranges {
			c.series(event.Series, r)
		}
	}
	return c.outcome, c.failed
}

// create creates the tables of both schemas with all families, and returns their IDs.
func (l *Lab) create(ctx context.Context, prefix string, e Edit) (map[string]map[string]bigtable.Family, error) {
	tables := map[string]map[string]bigtable.Family{}
	for _, t := range slices.Concat(e.Old.Tables(), e.New.Tables()) {
		id := prefix + t.ID
		if tables[id] == nil {
			tables[id] = map[string]bigtable.Family{}
		}
		for _, f := range t.Families {
			tables[id][f.Name] = bigtable.Family{}
			if f.Sums {
				tables[id][f.Name] = bigtable.Family{ValueType: setup.Sums}
			}
		}
	}
	for id, families := range tables {
		if err := l.server.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: id, ColumnFamilies: families}); err != nil {
			return tables, err
		}
	}
	return tables, nil
}

// edited compares what the codes of an edit read.
type edited struct {
	Edit
	ctx      context.Context
	old, new *dynamic.Reader
	outcome  Outcome
	failed   error // of the old code
	fields   []int // by new field, the old one; -1 if it was added
	given    []int // by new series value, the old one; -1 if it was added
}

// match finds the old fields and series values of the new ones.
func (c *edited) match() {
	find := func(old, new []layout.Field) []int {
		out := make([]int, len(new))
		for i := range new {
			out[i] = slices.IndexFunc(old, func(f layout.Field) bool {
				name := f.Name
				if renamed, ok := c.Renamed[name]; ok {
					name = renamed
				}
				return name == new[i].Name
			})
		}
		return out
	}
	was, is := c.Old.Layout(), c.New.Layout()
	c.fields, c.given = find(was.Fields, is.Fields), find(was.Series, is.Series)
}

// series compares the reads of a series in a range.
func (c *edited) series(series []any, r Range) {
	given := make([]any, len(c.given))
	for i, old := range c.given {
		if old < 0 { // events had no such value
			c.outcome.Errors = append(c.outcome.Errors, fmt.Sprintf("a series has no %s", c.New.Layout().Series[i].Name))
			return
		}
		given[i] = converted(&c.New.Layout().Series[i], series[old])
	}
	c.compare("Read", c.old.Read(c.ctx, dynamic.Series(series), r.From, r.To), c.new.Read(c.ctx, dynamic.Series(given), r.From, r.To))
	for _, q := range c.Old.Layout().Queries {
		i := slices.IndexFunc(c.New.Layout().Queries, func(other layout.Query) bool { return other.Name == q.Name })
		if i < 0 {
			continue
		}
		was, is := dynamic.Query(q.Name, ValuesOf(&q, series)), dynamic.Query(q.Name, ValuesOf(&c.New.Layout().Queries[i], given))
		c.compare(q.Name, c.old.Read(c.ctx, was, r.From, r.To), c.new.Read(c.ctx, is, r.From, r.To))
		if slices.ContainsFunc([]*layout.Layout{c.Old.Layout(), c.New.Layout()}, func(l *layout.Layout) bool { return l.State != nil }) {
			newest := store.ReadOptions{LatestOnly: true}
			c.compare(q.Name+", the newest", c.old.Read(c.ctx, was, r.From, scan.MaxTime, newest), c.new.Read(c.ctx, is, r.From, scan.MaxTime, newest))
		}
	}
}

// converted returns a value of an old type as one of another type, if it fits.
func converted(f *layout.Field, v any) any {
	if value.Check(f, v, layout.AllFloats) == nil {
		return v
	}
	for i := range f.Was {
		before := f.Before(&f.Was[i])
		if out, err := value.Convert(f, &before, v); err == nil && value.Check(&before, v, layout.AllFloats) == nil && value.Check(f, out, layout.AllFloats) == nil {
			return out
		}
	}
	for _, other := range []any{number[int64](v), number[uint64](v), number[float64](v), fmt.Sprint(v)} {
		if other != nil && value.Check(f, other, layout.AllFloats) == nil {
			return other
		}
	}
	return v
}

// number converts a number; nil if it does not fit.
func number[T int64 | uint64 | float64](v any) any {
	switch v := v.(type) {
	case int64:
		if out := T(v); int64(out) == v && (v < 0) == (out < 0) {
			return out
		}
	case uint64:
		if out := T(v); uint64(out) == v && out >= 0 {
			return out
		}
	}
	return nil
}

// place identifies an event of a schema, except for events that new columns store twice.
type place struct {
	series   string
	micros   int64
	sequence uint32
	class    int
}

// placeOf returns the place of an event with the series values of the old schema.
func placeOf(e *dynamic.Event, series []any) place {
	return place{fmt.Sprint(series...), e.Time.UnixMicro(), e.Sequence, e.Class}
}

// compare compares a read by the old code and by the new one.
func (c *edited) compare(name string, old, new iter.Seq2[dynamic.Event, error]) {
	got := map[place][]dynamic.Event{}
	for e, err := range new {
		if err != nil {
			c.outcome.Errors = append(c.outcome.Errors, fmt.Sprintf("%s: %v", name, err))
			if decoding, ok := errors.AsType[*store.DecodeError](err); !ok || decoding.Time.IsZero() {
				continue
			}
		}
		series := make([]any, len(c.Old.Layout().Series))
		for i, was := range c.given {
			if was >= 0 {
				series[was] = e.Series[i]
			}
		}
		if err != nil {
			e.Values = nil // known to be undecodable
		}
		at := placeOf(&e, series)
		got[at] = append(got[at], e)
	}
	for e, err := range old {
		if err != nil {
			c.failed = fmt.Errorf("%s, by the old code: %w", name, err)
			return
		}
		c.outcome.Events++
		at := placeOf(&e, e.Series)
		if len(got[at]) == 0 {
			c.outcome.Lost = append(c.outcome.Lost, fmt.Sprintf("%s: %v", name, e))
			continue
		}
		c.event(name, &e, &got[at][0])
		got[at] = got[at][1:]
	}
	for _, rest := range got {
		for _, e := range rest {
			c.outcome.Changed = append(c.outcome.Changed, fmt.Sprintf("%s: an event that was not written: %v", name, e))
		}
	}
}

// event compares an event by the old code and by the new one.
func (c *edited) event(name string, old, new *dynamic.Event) {
	for i := range new.Values {
		f := &c.New.Layout().Fields[i]
		var want any
		if was := c.fields[i]; was >= 0 && old.Values[was] != nil {
			want = converted(f, old.Values[was])
		}
		finding := fmt.Sprintf("%s: %s is %v, and was %v, in %v", name, f.Name, new.Values[i], want, *old)
		switch got := new.Values[i]; {
		case want == nil && absent(f, got), value.Equal(want, got):
		case got == nil, want != nil && absent(f, got):
			c.outcome.Hidden = append(c.outcome.Hidden, finding)
		default:
			c.outcome.Changed = append(c.outcome.Changed, finding)
		}
	}
	if !old.ExpiresAt.Equal(new.ExpiresAt) {
		c.outcome.Changed = append(c.outcome.Changed, fmt.Sprintf("%s: expires at %v, and not at %v: %v", name, new.ExpiresAt, old.ExpiresAt, *old))
	}
}

// absent reports whether a value is what a stored event without the field is read with.
func absent(f *layout.Field, v any) bool {
	switch {
	case f.Optional:
		return v == nil
	case f.Default != nil:
		return value.Equal(v, f.Default)
	}
	return value.Equal(v, value.Zero(f)) // in protobuf
}
