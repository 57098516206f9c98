// Package dynamictest checks that package dynamic and generated code are the same: that
// they store the same cells, refuse the same events, and read the same events.
package dynamictest

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Resolve returns the layout of a schema. It fails the test if the schema has errors.
func Resolve(t testing.TB, yaml []byte) *layout.Layout {
	t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: yaml}})
	if err := r.Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	return r.Layouts[0]
}

// prefixes counts the prefixes of tables.
var prefixes atomic.Int64

// Writer is what generated writers have in common.
type Writer[E any] interface {
	Write(ctx context.Context, event E, opts ...store.WriteOptions) error
	WriteAll(ctx context.Context, events []E, opts ...store.WriteOptions) error
}

// Reader is what generated readers have in common.
type Reader[S, E, C any] interface {
	Read(ctx context.Context, series S, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[E, error]
	ReadColumns(ctx context.Context, series S, from, to time.Time, columns *C, opts ...store.ReadOptions) error
	Latest(ctx context.Context, series S) (E, error)
}

// Same checks random events of a schema in generated code, which the constructors are of,
// and in package dynamic.
func Same[S, E, C any, W Writer[E], R Reader[S, E, C]](
	t *testing.T, b *storetest.Bigtable, l *layout.Layout,
	newWriter func(client store.Client, opts ...store.WriterOptions) W, newReader func(client store.Client, opts ...store.ReaderOptions) R,
) {
	t.Helper()
	traffic, ok := NewTraffic(l)
	if !ok {
		t.Fatal("no events")
	}
	traffic.Refused = 20
	s := dynamic.New(l)
	testlong.Checks(t, testlong.Pick(2, 50))
	rapid.Check(t, func(rt *rapid.T) {
		theirs, ours := fmt.Sprintf("g%d_", prefixes.Add(1)), fmt.Sprintf("d%d_", prefixes.Add(1))
		for _, prefix := range []string{theirs, ours} {
			if _, err := setup.Setup(t.Context(), b.Admin, b.Client, s.Tables(), setup.Options{TablePrefix: prefix}); err != nil {
				rt.Fatal(err)
			}
		}
		now := func() time.Time { return traffic.Now }
		writing := store.WriterOptions{TablePrefix: theirs, Now: now}
		c := &comparison[S, E, C]{
			T: rt, ctx: t.Context(), client: b.Client, traffic: traffic, layout: l, structs: structs{l},
			theirs: newWriter(b.Client, writing), ours: s.NewWriter(b.Client, store.WriterOptions{TablePrefix: ours, Now: now}),
		}
		for range rapid.IntRange(1, 2).Draw(rt, "writes") {
			c.writeEarlier(theirs, ours)
			c.write(theirs, ours)
		}
		for range 3 {
			// Each reads what the other wrote.
			c.read(newReader(b.Client, store.ReaderOptions{TablePrefix: ours, Now: now}), s.NewReader(b.Client, store.ReaderOptions{TablePrefix: theirs, Now: now}))
		}
	})
}

// comparison is one case.
type comparison[S, E, C any] struct {
	*rapid.T
	structs
	ctx     context.Context
	client  *bigtable.Client
	traffic *Traffic
	layout  *layout.Layout
	theirs  Writer[E]
	ours    *dynamic.Writer
}

// write writes events with both writers, and compares the errors and the cells.
func (c *comparison[S, E, C]) write(theirs, ours string) {
	events := c.traffic.Events(c.T, 6)
	converted := make([]E, len(events))
	for i := range events {
		c.event(reflect.ValueOf(&converted[i]).Elem(), &events[i])
	}
	o := store.WriteOptions{LastWins: rapid.Bool().Draw(c.T, "last wins")}
	want, got := c.theirs.WriteAll(c.ctx, converted, o), c.ours.WriteAll(c.ctx, events, o)
	if a, b := text(want, theirs), text(got, ours); a != b {
		c.Fatalf("generated code says\n%s\npackage dynamic says\n%s", a, b)
	}
	for _, t := range c.layout.Tables {
		if diff := cmp.Diff(EventRows(c.ctx, c.client, theirs, t), EventRows(c.ctx, c.client, ours, t)); diff != "" {
			c.Fatalf("table %s: (-generated code +package dynamic)\n%s", t.ID, diff)
		}
	}
}

// writeEarlier writes events of an earlier version of the schema, if fields have older columns.
func (c *comparison[S, E, C]) writeEarlier(theirs, ours string) {
	if !slices.ContainsFunc(c.layout.Fields, func(f layout.Field) bool { return len(f.Was) > 0 }) {
		return
	}
	earlier := Earlier(c.layout, func(f *layout.Field) int { return rapid.IntRange(-1, len(f.Was)-1).Draw(c.T, "version of "+f.Name) })
	traffic := c.traffic.At(earlier)
	traffic.Refused = 0
	events := traffic.Events(c.T, 6)
	for _, prefix := range []string{theirs, ours} {
		w := dynamic.New(earlier).NewWriter(c.client, store.WriterOptions{TablePrefix: prefix, Now: func() time.Time { return c.traffic.Now }})
		if err := w.WriteAll(c.ctx, events, store.WriteOptions{LastWins: true}); err != nil {
			c.Fatal(err)
		}
	}
}

// text returns the text of an error without the prefix of tables.
func text(err error, prefix string) string {
	if err == nil {
		return "ok"
	}
	return strings.ReplaceAll(err.Error(), prefix, "")
}

// Rows returns the cells of a table by row, each with its family, qualifier, timestamp and
// value, or the error of reading them.
func Rows(ctx context.Context, client *bigtable.Client, table string) map[string][]string {
	out := map[string][]string{}
	err := client.Open(table).ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, items := range row {
			for _, i := range items {
				out[row.Key()] = append(out[row.Key()], fmt.Sprintf("%q %d %q", i.Column, i.Timestamp, i.Value))
			}
		}
		slices.Sort(out[row.Key()])
		return true
	})
	if err != nil {
		out["error"] = []string{err.Error()}
	}
	return out
}

// EventRows returns the rows of a table, which has a prefix, without the cells of its rollup: the names of marks are random.
func EventRows(ctx context.Context, client *bigtable.Client, prefix string, t *layout.Table) map[string][]string {
	rows := Rows(ctx, client, prefix+t.ID)
	if t.Rollup == nil {
		return rows
	}
	for key, cells := range rows {
		rows[key] = slices.DeleteFunc(cells, func(cell string) bool { return strings.HasPrefix(cell, `"`+t.Rollup.Family+":") })
		if len(rows[key]) == 0 {
			delete(rows, key)
		}
	}
	return rows
}

// read compares reads of what one of them wrote.
func (c *comparison[S, E, C]) read(theirs Reader[S, E, C], ours *dynamic.Reader) {
	series := rapid.SampledFrom(c.traffic.Series()).Draw(c.T, "series")
	var s S
	c.series(reflect.ValueOf(&s).Elem(), series)
	edges := c.traffic.Edges()
	from, to := edges[0], edges[len(edges)-1] // few buckets, of which some queries list each
	if rapid.Bool().Draw(c.T, "range") {
		from, to = rapid.SampledFrom(edges).Draw(c.T, "from"), rapid.SampledFrom(edges).Draw(c.T, "to")
	}
	o := c.options()
	c.same("Read", o, theirs.Read(c.ctx, s, from, to, o), ours.Read(c.ctx, dynamic.Series(series), from, to, o))

	var columns C
	var dynamicColumns dynamic.Columns
	wantErr, gotErr := theirs.ReadColumns(c.ctx, s, from, to, &columns, o), ours.ReadColumns(c.ctx, dynamic.Series(series), from, to, &dynamicColumns, o)
	if n := reflect.ValueOf(columns).FieldByName("Time").Len(); len(dynamicColumns.Time) != n || shown(wantErr) != shown(gotErr) {
		c.Fatalf("ReadColumns: %d events, %v; want %d, %v", len(dynamicColumns.Time), gotErr, n, wantErr)
	}
	if o.Fields == nil {
		for i, got := range dynamicColumns.Events() {
			c.equal("ReadColumns", o, c.fromColumns(reflect.ValueOf(columns), i), got)
		}
	}

	want, wantErr := theirs.Latest(c.ctx, s)
	got, gotErr := ours.Latest(c.ctx, series)
	if shown(wantErr) != shown(gotErr) {
		c.Fatalf("Latest: %v, want %v", gotErr, wantErr)
	}
	if gotErr == nil {
		c.equal("Latest", store.ReadOptions{}, c.dynamic(reflect.ValueOf(want)), got)
	}
	for i := range c.layout.Queries {
		q := &c.layout.Queries[i]
		if len(q.Inputs) > len(q.By) {
			continue
		}
		values := ValuesOf(q, series)
		args := []reflect.Value{reflect.ValueOf(c.ctx)}
		for _, in := range q.Inputs {
			value := reflect.ValueOf(s).Field(in.Index)
			if in.Many {
				value = reflect.Append(reflect.MakeSlice(reflect.SliceOf(value.Type()), 0, 1), value)
			}
			args = append(args, value)
		}
		args = append(args, reflect.ValueOf(from), reflect.ValueOf(to), reflect.ValueOf(o))
		events := reflect.ValueOf(theirs).MethodByName(q.Name).Call(args)[0].Interface().(iter.Seq2[E, error])
		c.same(q.Name, o, events, ours.Read(c.ctx, dynamic.Query(q.Name, values), from, to, o))
		width, wo := c.windowOptions()
		args[len(args)-1] = reflect.ValueOf(width)
		windows := reflect.ValueOf(theirs).MethodByName(q.Name + "Windows").Call(append(args, reflect.ValueOf(wo)))[0]
		c.windows(q.Name+"Windows", width, wo, windows, ours.Windows(c.ctx, dynamic.Query(q.Name, values), from, to, width, wo))
	}
	width, wo := c.windowOptions()
	windows := reflect.ValueOf(theirs).MethodByName("Windows").Call([]reflect.Value{reflect.ValueOf(c.ctx), reflect.ValueOf(s), reflect.ValueOf(from), reflect.ValueOf(to), reflect.ValueOf(width), reflect.ValueOf(wo)})[0]
	c.windows("Windows", width, wo, windows, ours.Windows(c.ctx, dynamic.Series(series), from, to, width, wo))
}

// ValuesOf returns the values of a query that takes whole values: those of a series.
func ValuesOf(q *layout.Query, series []any) dynamic.Values {
	out := dynamic.Values{}
	for _, in := range q.Inputs {
		v := series[in.Index]
		if in.Many {
			v = []any{v}
		}
		out = append(out, v)
	}
	return out
}

// fromColumns converts the i-th event of generated columns, which have a slice for each part of
// an event.
func (c *comparison[S, E, C]) fromColumns(columns reflect.Value, i int) dynamic.Event {
	event := reflect.New(reflect.TypeFor[E]()).Elem()
	for n := range columns.NumField() {
		event.Field(n).Set(columns.Field(n).Index(i))
	}
	return c.dynamic(event)
}

// options draws how events are read.
func (c *comparison[S, E, C]) options() store.ReadOptions {
	o := store.ReadOptions{
		NewestFirst: rapid.Bool().Draw(c.T, "newest first"), Limit: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(c.T, "limit"),
		TimeOrder: rapid.IntRange(0, 4).Draw(c.T, "time order") == 0, LatestOnly: rapid.IntRange(0, 4).Draw(c.T, "latest only") == 0,
	}
	if columns := c.layout.Read.Pickable(); len(columns) > 0 && rapid.IntRange(0, 3).Draw(c.T, "fields") == 0 {
		o.Fields = []store.Field{}
		for _, i := range columns {
			if rapid.Bool().Draw(c.T, "fetch") {
				o.Fields = append(o.Fields, store.Field(c.layout.Read.Columns[i].Qualifier))
			}
		}
	}
	return o
}

// same compares two reads.
func (c *comparison[S, E, C]) same(name string, o store.ReadOptions, theirs iter.Seq2[E, error], ours iter.Seq2[dynamic.Event, error]) {
	next, stop := iter.Pull2(ours)
	defer stop()
	for want, wantErr := range theirs {
		got, gotErr, ok := next()
		if !ok || shown(wantErr) != shown(gotErr) {
			c.Fatalf("%s, %+v: %v, want %v and %+v", name, o, gotErr, wantErr, want)
		}
		if gotErr == nil {
			c.equal(name, o, c.dynamic(reflect.ValueOf(want)), got)
		}
	}
	if got, err, ok := next(); ok {
		c.Fatalf("%s, %+v: an event too many: %+v, %v", name, o, got, err)
	}
}

// shown returns the text of an error of a read, without the prefix of its table.
func shown(err error) string {
	if err == nil {
		return ""
	}
	_, after, found := strings.Cut(err.Error(), "_")
	if !found {
		return err.Error()
	}
	return after
}

// equal compares two events. Fields that were not asked for are zero in generated events,
// and missing in others.
func (c *comparison[S, E, C]) equal(name string, o store.ReadOptions, want, got dynamic.Event) {
	if o.Fields != nil {
		for _, i := range c.layout.Read.Pickable() {
			column := c.layout.Read.Columns[i]
			if !slices.Contains(o.Fields, store.Field(column.Qualifier)) {
				want.Values[column.Field], got.Values[column.Field] = nil, nil
			}
		}
		if len(o.Fields) == 0 {
			want.Values, got.Values = nil, nil
		}
	}
	if !Equal(&want, &got) {
		c.Fatalf("%s, %+v: generated code reads\n%+v\npackage dynamic reads\n%+v", name, o, want, got)
	}
}

// Equal reports whether two events are the same.
func Equal(a, b *dynamic.Event) bool {
	return slices.EqualFunc(a.Series, b.Series, value.Equal) && slices.EqualFunc(a.Values, b.Values, value.Equal) &&
		a.Time.Equal(b.Time) && a.Sequence == b.Sequence && a.Class == b.Class && a.TTL == b.TTL && a.ExpiresAt.Equal(b.ExpiresAt) && a.WrittenAt.Equal(b.WrittenAt)
}
