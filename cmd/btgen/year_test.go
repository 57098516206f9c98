package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestYear walks through a year of a schema, edit by edit, with one Bigtable: what was written
// at any time is read at the end.
func TestYear(t *testing.T) {
	testlong.Skip(t, "it runs the command many times")
	server := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	y := &year{server: server}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/year",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"stores": y.stores, "reads": y.reads, "backfills": y.backfills,
		},
	})
}

// year is a Bigtable and what was written to it. The n-th event has the number n in its first
// field.
type year struct {
	server *storetest.Bigtable
	events []written
}

// written is an event and the names of its fields.
type written struct {
	dynamic.Event
	fields []string
}

// code returns the code of a schema, and the options of writers and readers at a date.
func (y *year) code(ts *testscript.TestScript, file, date string) (*dynamic.Schema, time.Time) {
	text, err := os.ReadFile(ts.MkAbs(file))
	ts.Check(err)
	r := gen.Resolve([]gen.Input{{Name: file, Text: text}})
	ts.Check(r.Diagnostics.Err())
	now, err := time.Parse(time.DateOnly, date)
	ts.Check(err)
	return dynamic.New(r.Layouts[0]), now
}

// writer sets up the tables of a schema, and returns a writer.
func (y *year) writer(ts *testscript.TestScript, s *dynamic.Schema, now time.Time, allowed ...string) *dynamic.Writer {
	_, err := setup.Setup(context.Background(), y.server.Admin, y.server.Client, s.Tables(), setup.Options{Allow: allowed, Now: func() time.Time { return now }})
	ts.Check(err)
	return s.NewWriter(y.server.Client, store.WriterOptions{Now: func() time.Time { return now }})
}

// stores is "stores SCHEMA DATE NUMBER [ALLOWED]": setup, with a change that is allowed, and events of two series, the last one at the given date,
// and the others every two days before it.
func (y *year) stores(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: stores SCHEMA DATE NUMBER [ALLOWED]")
	}
	s, now := y.code(ts, args[0], args[1])
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	var names []string
	for i := range s.Layout().Fields {
		names = append(names, s.Layout().Fields[i].Name)
	}
	var events []dynamic.Event
	for i := range n {
		number := len(y.events)
		e := dynamic.Event{Series: []any{[]string{"home", "work"}[i%2], int64(7)}, Time: now.Add(-time.Duration(i) * 48 * time.Hour).Add(time.Duration(number) * time.Second)}
		for k := range s.Layout().Fields {
			f := &s.Layout().Fields[k]
			var v any = int64(number)
			switch {
			case f.Enum != nil:
				v = f.Enum[number%len(f.Enum)].Name
			case f.Optional && number%3 == 0:
				v = nil
			}
			e.Values = append(e.Values, v)
		}
		events = append(events, e)
		y.events = append(y.events, written{e, names})
	}
	ts.Check(y.writer(ts, s, now.Add(time.Hour), args[3:]...).WriteAll(context.Background(), events))
}

// backfills is "backfills SCHEMA DATE": the table that does not serve reads is filled from another
// one, and then agrees with it.
func (y *year) backfills(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: backfills SCHEMA DATE")
	}
	s, now := y.code(ts, args[0], args[1])
	o := store.BackfillOptions{Now: func() time.Time { return now }}
	report, err := store.Backfill(context.Background(), y.server.Client, s.Mappings(), o)
	ts.Check(err)
	if o.Verify = true; report.Events == 0 {
		ts.Fatalf("nothing is copied: %+v", report)
	}
	report, err = store.Backfill(context.Background(), y.server.Client, s.Mappings(), o)
	ts.Check(err)
	if report.Events == 0 || len(report.Differences) > 0 {
		ts.Fatalf("the tables differ: %+v", report)
	}
}

// reads is "reads SCHEMA DATE FIELD QUERY": all events that were stored are read, by Read, Latest
// and the query, in order of time, with their numbers in the field, and with the values of all
// other fields that have kept their names. It prints how many.
func (y *year) reads(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: reads SCHEMA DATE FIELD QUERY")
	}
	s, now := y.code(ts, args[0], args[1])
	r := s.NewReader(y.server.Client, store.ReaderOptions{Now: func() time.Time { return now }})
	seen, asked := map[int64]bool{}, 0
	for _, meter := range []string{"home", "work"} {
		last := dynamic.Event{}
		for e, err := range r.Read(context.Background(), dynamic.Series([]any{meter, int64(7)}), time.Time{}, now) {
			ts.Check(err)
			if e.Time.Before(last.Time) {
				ts.Fatalf("%v after %v", e, last)
			}
			last = e
			seen[y.same(ts, s, &e, args[2])] = true
		}
		latest, err := r.Latest(context.Background(), []any{meter, int64(7)})
		ts.Check(err)
		if !latest.Time.Equal(last.Time) {
			ts.Fatalf("the latest event is %v, and not %v", latest, last)
		}
		given := dynamic.Values{map[string]any{"BySite": meter, "ByMeter": int64(7)}[args[3]]}
		for e, err := range r.Read(context.Background(), dynamic.Query(args[3], given), time.Time{}, now) {
			ts.Check(err)
			y.same(ts, s, &e, args[2])
			asked++
		}
	}
	if len(seen) != len(y.events) || asked != len(seen)*2 && asked != len(seen) {
		ts.Fatalf("%d events are stored, %d are read, and %d by %s", len(y.events), len(seen), asked, args[3])
	}
	fmt.Fprintf(ts.Stdout(), "%d events\n", len(seen))
}

// same compares an event that was read with what was written, and returns its number.
func (y *year) same(ts *testscript.TestScript, s *dynamic.Schema, e *dynamic.Event, numbered string) int64 {
	l := s.Layout()
	number := int64(-1)
	for i := range l.Fields {
		if l.Fields[i].Name == numbered {
			number, _ = e.Values[i].(int64)
		}
	}
	if number < 0 || number >= int64(len(y.events)) {
		ts.Fatalf("%v has no number in %s", *e, numbered)
	}
	w := &y.events[number]
	if !w.Time.Equal(e.Time) || !value.Equal(w.Series[0], e.Series[0]) {
		ts.Fatalf("%v is read, and %v was written", *e, w.Event)
	}
	for i := range l.Fields {
		for k, name := range w.fields {
			if name == l.Fields[i].Name && !value.Equal(w.Values[k], e.Values[i]) {
				ts.Fatalf("%s of %v is read, and %v was written", name, *e, w.Event)
			}
		}
	}
	return number
}
