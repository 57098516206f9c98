package dynamictest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
	"github.com/btgen-dev/btgen/gen/internal/corpus"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// TestDrawnSchemas draws schemas in which settings meet that nobody has written side by side. What their writers were given,
// all their reads return, each event once, and nothing else. Class of faults: two features that are right alone.
func TestDrawnSchemas(t *testing.T) {
	folders := []string{"../../../schemas", "../../../golden/code", "../../../golden/rules", "../../../golden/breaking"}
	c, err := corpus.Load(folders[:testlong.Pick(1, len(folders))]...)
	if err != nil {
		t.Fatal(err)
	}
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	drawn := map[string]bool{}
	written, n := 0, testlong.Pick(8, 400)
	for i := range n {
		d := c.Draw(rand.New(rand.NewPCG(1, uint64(i))), 1+i%6)
		for _, key := range d.Keys {
			drawn[key] = true
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := &drawnSchema{T: t, bt: b, layout: d.Layout, schema: dynamic.New(d.Layout), prefix: fmt.Sprintf("w%d_", i)}
			written += w.run(uint64(i))
			if t.Failed() {
				t.Logf("\n%s", d.Text)
			}
		})
	}
	if written < n {
		t.Errorf("%d events of %d schemas", written, n)
	}
	for _, key := range c.Keys() {
		if !drawn[key] && testlong.Enabled() {
			t.Logf("never drawn: %s", key)
		}
	}
}

// TestLeftOut leaves out each part of each example, one at a time. Class of faults: rules that ask for what a schema with errors lacks, and panic.
func TestLeftOut(t *testing.T) {
	c, err := corpus.Load("../../../schemas")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../../../schemas/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := c.Without(text)
		for _, less := range testlong.Sample(all[min(i%8, len(all)):], 8) {
			if corpus.Layout(less) == nil {
				refused++
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d have errors", refused)
	}
}

// drawnSchema is a schema whose events are written and read.
type drawnSchema struct {
	*testing.T
	bt      *storetest.Bigtable
	layout  *layout.Layout
	schema  *dynamic.Schema
	prefix  string
	traffic *dynamictest.Traffic
	events  []dynamic.Event
}

// run writes events, reads them in all ways, deletes some, and reads again. It returns how many were written.
func (w *drawnSchema) run(seed uint64) int {
	traffic, ok := dynamictest.NewTraffic(w.layout)
	if !ok {
		return 0
	}
	w.traffic = traffic
	tables := w.schema.Tables()
	for i := range tables {
		tables[i].Tier = 0 // ages may be shorter than the service accepts
	}
	if _, err := setup.Setup(w.Context(), w.bt.Admin, w.bt.Client, tables, setup.Options{TablePrefix: w.prefix, NoHistory: true, AllowDrafts: true}); err != nil {
		w.Fatal(err)
	}
	defer func() {
		for _, table := range tables {
			_ = w.bt.Admin.DeleteTable(context.Background(), w.prefix+table.ID)
		}
	}()
	now := func() time.Time { return traffic.Now }
	writer := w.schema.NewWriter(w.bt.Client, store.WriterOptions{TablePrefix: w.prefix, Now: now})
	all := rapid.Custom(func(t *rapid.T) []dynamic.Event { return traffic.Events(t, 12) }).Example(int(seed))
	for _, e := range all {
		if !slices.ContainsFunc(w.events, func(other dynamic.Event) bool { return samePlace(&e, &other) }) {
			w.events = append(w.events, e)
		}
	}
	if err := writer.WriteAll(w.Context(), w.events); err != nil {
		w.Errorf("write: %v", err)
		return 0
	}
	r := w.schema.NewReader(w.bt.Client, store.ReaderOptions{TablePrefix: w.prefix, Now: now})
	w.reads("written", r)
	n := len(w.events)
	if gone := w.events[:len(w.events)/2]; len(gone) > 0 {
		if _, err := writer.Delete(w.Context(), gone); err != nil {
			w.Errorf("delete: %v", err)
		}
		w.events = w.events[len(gone):]
		w.reads("deleted", r)
	}
	return n
}

// samePlace reports whether two events are the same one, maybe with other values.
func samePlace(a, b *dynamic.Event) bool {
	return slices.EqualFunc(a.Series, b.Series, value.Equal) && a.Time.Equal(b.Time) && a.Sequence == b.Sequence
}

// reads compares all reads with the events.
func (w *drawnSchema) reads(when string, r *dynamic.Reader) {
	edges := w.traffic.Edges()
	from, to := edges[0], edges[len(edges)-1].Add(time.Hour)
	for _, series := range w.traffic.Series() {
		given := dynamic.Series(series)
		of := func(e *dynamic.Event) bool { return slices.EqualFunc(e.Series, series, value.Equal) }
		name := fmt.Sprintf("%s, series %v", when, series)
		w.read(name, r, given, from, to, of)
		w.latest(name, r, series, of)
		for i := range w.layout.Queries {
			q := &w.layout.Queries[i]
			if slices.ContainsFunc(q.Inputs, func(in layout.Input) bool { return in.Where || in.Ends() == 2 }) {
				continue
			}
			w.read(when+", "+q.Name, r, dynamic.Query(q.Name, dynamictest.ValuesOf(q, series)), from, to, func(e *dynamic.Event) bool {
				return !slices.ContainsFunc(q.By, func(n int) bool { return !value.Equal(e.Series[n], series[n]) }) && w.begins(q, e, series)
			})
		}
	}
}

// begins reports whether an event has the beginning that a query asks for.
func (w *drawnSchema) begins(q *layout.Query, e *dynamic.Event, series []any) bool {
	part := q.Part()
	if part == nil {
		return true
	}
	text, _ := series[part.Index].(string)
	of, _ := e.Series[part.Index].(string)
	return strings.HasPrefix(of, text)
}

// read compares a read in several orders, its windows and its series with the events that it selects.
func (w *drawnSchema) read(name string, r *dynamic.Reader, of dynamic.Selection, from, to time.Time, selects func(e *dynamic.Event) bool) {
	var want []dynamic.Event
	for _, e := range w.events {
		if selects(&e) && !e.Time.Before(from) && e.Time.Before(to) {
			want = append(want, e)
		}
	}
	for _, o := range []store.ReadOptions{{}, {NewestFirst: true}, {TimeOrder: true}, {Limit: 2}} {
		got, err := collect(r.Read(w.Context(), of, from, to, o))
		if o.TimeOrder && errors.Is(err, store.ErrOrder) {
			continue
		}
		if err != nil {
			w.Errorf("%s, %+v: %v", name, o, err)
			continue
		}
		if o.Limit > 0 {
			if len(got) != min(o.Limit, len(want)) {
				w.Errorf("%s, %+v: %d events, want %d", name, o, len(got), min(o.Limit, len(want)))
			}
			continue
		}
		w.same(fmt.Sprintf("%s, %+v", name, o), want, got)
	}
	var columns dynamic.Columns
	if err := r.ReadColumns(w.Context(), of, from, to, &columns); err != nil {
		w.Errorf("%s, columns: %v", name, err)
	} else {
		w.same(name+", columns", want, columns.Events())
	}
	events := int64(0)
	for v, err := range r.Windows(w.Context(), of, from, to, window.Whole()) {
		if err != nil {
			w.Errorf("%s, windows: %v", name, err)
			return
		}
		events += int64(v.Events)
	}
	if events != int64(len(want)) {
		w.Errorf("%s: windows of %d events, want %d", name, events, len(want))
	}
	series, err := collect(r.ReadSeries(w.Context(), of, from, to))
	distinct := slices.CompactFunc(sorted(want), func(a, b dynamic.Event) bool { return slices.EqualFunc(a.Series, b.Series, value.Equal) })
	if err != nil || len(series) != len(distinct) {
		w.Errorf("%s: %d series, %v, want %d", name, len(series), err, len(distinct))
	}
}

// latest compares the newest event of a series.
func (w *drawnSchema) latest(name string, r *dynamic.Reader, series []any, of func(e *dynamic.Event) bool) {
	var want time.Time
	for _, e := range w.events {
		if of(&e) && e.Time.After(want) {
			want = e.Time
		}
	}
	got, err := r.Latest(w.Context(), series)
	if want.IsZero() && !errors.Is(err, store.ErrNotFound) || !want.IsZero() && (err != nil || !got.Time.Equal(want)) {
		w.Errorf("%s: the latest is %v, %v, want one at %v", name, got, err, want)
	}
	newest, err := collect(r.Read(w.Context(), dynamic.Series(series), time.Time{}, scan.MaxTime, store.ReadOptions{LatestOnly: true}))
	if err != nil || len(newest) > 1 || (len(newest) == 0) != want.IsZero() || len(newest) == 1 && !newest[0].Time.Equal(want) {
		w.Errorf("%s: the latest only is %v, %v, want one at %v", name, newest, err, want)
	}
}

// same compares events in any order.
func (w *drawnSchema) same(name string, want, got []dynamic.Event) {
	want, got = sorted(want), sorted(got)
	if len(want) != len(got) {
		w.Errorf("%s: %d events, want %d\ngot  %v\nwant %v", name, len(got), len(want), got, want)
		return
	}
	for i := range want {
		if !samePlace(&want[i], &got[i]) || want[i].Class != got[i].Class {
			w.Errorf("%s: event %v, want %v", name, got[i], want[i])
			continue
		}
		for k := range w.layout.Fields {
			if f := &w.layout.Fields[k]; !value.Equal(want[i].Values[k], got[i].Values[k]) && !(want[i].Values[k] == nil && !f.Optional) {
				w.Errorf("%s: %s is %v, want %v, in %v", name, f.Name, got[i].Values[k], want[i].Values[k], got[i])
			}
		}
	}
}

// sorted returns events in ascending order of series, time and sequence.
func sorted(events []dynamic.Event) []dynamic.Event {
	return slices.SortedFunc(slices.Values(events), func(a, b dynamic.Event) int {
		return cmp.Or(cmp.Compare(fmt.Sprint(a.Series...), fmt.Sprint(b.Series...)), a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence))
	})
}

// collect returns all values, or the first error.
func collect[T any](seq iter.Seq2[T, error]) (out []T, err error) {
	for v, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}
