package main

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/runtime/store"
)

// read reads a time range. take, unless it is nil, is called with each event, after
// the read or, if the reader yields events, during it.
type read[E any] func(ctx context.Context, from, to time.Time, take func(E)) error

// reader returns how a client reads.
type reader[E any] func(client *bigtable.Client) read[E]

// named is a reader with a name.
type named[E any] struct {
	name   string
	reader reader[E]
}

// readCase is a read to measure.
type readCase[E comparable] struct {
	name         string
	span         time.Duration // that is read by benchmarks, up to the end
	cells        int           // of an event
	want         func(from, to time.Time) []E
	common, best reader[E]
	generated    []named[E]
}

// benchmark is a case to measure and test.
type benchmark interface {
	title() string
	measure(b *testing.B, on *bed)
	test(t *testing.T, on *bed)
}

func (c readCase[E]) title() string { return c.name }

// path is one implementation of a case.
type path[E any] struct {
	name string
	read read[E]
}

// paths returns all implementations of the read.
func (c readCase[E]) paths(on *bed) []path[E] {
	out := []path[E]{{"common", c.common(on.ordinary)}, {"best", c.best(on.ordinary)}}
	for _, g := range c.generated {
		out = append(out, path[E]{"ordinary" + g.name, g.reader(on.ordinary)}, path[E]{"wire" + g.name, g.reader(on.wire)})
	}
	return out
}

// measure measures all implementations of the read, and the transport of the same bytes.
func (c readCase[E]) measure(b *testing.B, on *bed) {
	from := end.Add(-c.span)
	n := len(c.want(from, end))
	s := size{events: n, cells: n * c.cells}
	for _, p := range c.paths(on) {
		b.Run("path="+p.name, func(b *testing.B) {
			got := 0
			if err := p.read(b.Context(), from, end, func(E) { got++ }); err != nil || got != n {
				b.Fatalf("%d events of %d: %v", got, n, err)
			}
			measure(b, on, s, func(ctx context.Context) error { return p.read(ctx, from, end, nil) })
		})
	}
	b.Run("path=transport", func(b *testing.B) {
		measure(b, on, s, on.transport(b, func(client *bigtable.Client) error {
			return c.best(client)(b.Context(), from, end, nil)
		}))
	})
}

// test checks that all implementations return the stored events. The time range is
// short, and cuts two rows if the case reads whole ones.
func (c readCase[E]) test(t *testing.T, on *bed) {
	edge := end.Add(-c.span)
	from, to := edge.Add(-20*time.Minute), edge.Add(15*time.Minute)
	want := c.want(from, to)
	for _, p := range c.paths(on) {
		t.Run(p.name, func(t *testing.T) {
			for range 2 { // the second time with memory that was used
				var got []E
				if err := p.read(t.Context(), from, to, func(e E) { got = append(got, e) }); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(want, got) {
					t.Fatal("(-stored +read)\n", cmp.Diff(want, got, cmp.AllowUnexported(reading{}, sample{})))
				}
			}
		})
	}
}

// calls are the two ways in which a generated reader returns the events of a time range:
// one by one, or as columns.
type calls[G, C any] struct {
	events  func(ctx context.Context, from, to time.Time) iter.Seq2[G, error]
	columns func(ctx context.Context, from, to time.Time, columns *C) error
}

// generated returns the implementations of generated code. Columns are reused.
func generated[E, G, C any, P interface {
	*C
	Reset()
}](open func(client *bigtable.Client) calls[G, C], of func(fields) E) []named[E] {
	columns := func(client *bigtable.Client) read[E] {
		calls, columns := open(client), new(C)
		return func(ctx context.Context, from, to time.Time, take func(E)) error {
			P(columns).Reset()
			err := calls.columns(ctx, from, to, columns)
			if take != nil {
				v := reflect.ValueOf(columns).Elem()
				for i := range v.FieldByName("Time").Len() {
					take(of(columnFields(v, i)))
				}
			}
			return err
		}
	}
	events := func(client *bigtable.Client) read[E] {
		calls := open(client)
		return func(ctx context.Context, from, to time.Time, take func(E)) error {
			for event, err := range calls.events(ctx, from, to) {
				if err != nil {
					return err
				}
				if take != nil {
					take(of(reflect.ValueOf(event).FieldByName))
				}
			}
			return nil
		}
	}
	return []named[E]{{"-columns", columns}, {"-events", events}}
}

// fields returns a field of a generated event.
type fields func(name string) reflect.Value

// columnFields returns the fields of the i-th event of generated columns.
func columnFields(columns reflect.Value, i int) fields {
	return func(name string) reflect.Value {
		if column := columns.FieldByName(name); column.IsValid() {
			return column.Index(i)
		}
		return columns.FieldByName("Series").Index(i).FieldByName(name)
	}
}

// readingOf converts a generated event to a reading.
func readingOf(field fields) reading {
	return reading{
		time:        field("Time").Interface().(time.Time),
		pressure:    field("Pressure").Int(),
		temperature: field("Temperature").Float(),
		humidity:    field("Humidity").Int(),
		altitude:    field("Altitude").Int(),
	}
}

// sampleOf converts a generated event to a sample. Its host is a name or a number.
func sampleOf(field fields) sample {
	host := field("Host")
	s := sample{time: field("Time").Interface().(time.Time), value: field("Value").Float()}
	if host.CanUint() {
		s.host = int(host.Uint())
	} else if _, err := fmt.Sscanf(host.String(), "web-%d", &s.host); err != nil {
		s.host = -1
	}
	return s
}

// rangeReader is a generated reader of the events of a series.
type rangeReader[S, G, C any] interface {
	Read(ctx context.Context, series S, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[G, error]
	ReadColumns(ctx context.Context, series S, from, to time.Time, columns *C, opts ...store.ReadOptions) error
}

// seriesOf returns the calls of a generated reader for a series.
func seriesOf[S, G, C any, R rangeReader[S, G, C]](open func(client store.Client, opts ...store.ReaderOptions) R, series S) func(client *bigtable.Client) calls[G, C] {
	return func(client *bigtable.Client) calls[G, C] {
		r := open(client, options)
		return calls[G, C]{
			events: func(ctx context.Context, from, to time.Time) iter.Seq2[G, error] {
				return r.Read(ctx, series, from, to)
			},
			columns: func(ctx context.Context, from, to time.Time, columns *C) error {
				return r.ReadColumns(ctx, series, from, to, columns)
			},
		}
	}
}

// options set a fixed clock, so that requests repeat.
var options = store.ReaderOptions{Now: func() time.Time { return now }}

// writing are the options of writers.
var writing = store.WriterOptions{Now: options.Now}
