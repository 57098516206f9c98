package model

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/btgen-dev/btgen/runtime/store"
)

// converted returns a driver of the events of the model, so that only conversions are compiled
// for each type of events.
func converted[E any](s *Schema, d *Driver[E]) *Driver[Event] {
	c := conversion[E]{to: d.ToGo, from: d.FromGo}
	if c.to == nil {
		c.to = func(e Event) (out E) {
			toGo(e, reflect.ValueOf(&out).Elem())
			return out
		}
	}
	if c.from == nil {
		c.from = func(e E) Event { return fromGo(s, reflect.ValueOf(e)) }
	}
	return &Driver[Event]{
		Client: d.Client, Traffic: d.Traffic, Faults: d.Faults, Foreign: d.Foreign, Paths: d.Paths,
		Setup: d.Setup, Drop: d.Drop, Refusals: d.Refusals,
		Open: func(prefix string, now func() time.Time) Access[Event] { return c.access(d.Open(prefix, now)) },
	}
}

// conversion converts between events of the model and of generated code.
type conversion[E any] struct {
	to   func(Event) E
	from func(E) Event
}

// all converts several events.
func (c conversion[E]) all(events []Event) []E {
	out := make([]E, len(events))
	for i, e := range events {
		out[i] = c.to(e)
	}
	return out
}

// one converts an event that was read without an error.
func (c conversion[E]) one(e E, err error) (Event, error) {
	if err != nil {
		return Event{}, err
	}
	return c.from(e), nil
}

// read converts the events of a read.
func (c conversion[E]) read(events iter.Seq2[E, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		events(func(e E, err error) bool { return yield(c.one(e, err)) })
	}
}

// access converts what an Access takes and returns.
func (c conversion[E]) access(a Access[E]) Access[Event] {
	out := Access[Event]{
		Failures: a.Failures, Series: a.Series, NotFound: a.NotFound, DeleteQueries: a.DeleteQueries, DeleteAllQueries: a.DeleteAllQueries, Rollup: a.Rollup,
		Queries:  map[string]Ask[Event]{},
		WriteAll: func(ctx context.Context, events []Event) error { return a.WriteAll(ctx, c.all(events)) },
		Read: func(ctx context.Context, base Event, from, to time.Time) iter.Seq2[Event, error] {
			return c.read(a.Read(ctx, c.to(base), from, to))
		},
		Columns: func(ctx context.Context, base Event, from, to time.Time) (out []Event, err error) {
			events, err := a.Columns(ctx, c.to(base), from, to)
			for _, e := range events {
				out = append(out, c.from(e))
			}
			return out, err
		},
		Fields: func(ctx context.Context, base Event, from, to time.Time, fields []string) iter.Seq2[Event, error] {
			return c.read(a.Fields(ctx, c.to(base), from, to, fields))
		},
		Ordered: func(ctx context.Context, base Event, from, to time.Time, how Order) iter.Seq2[Event, error] {
			return c.read(a.Ordered(ctx, c.to(base), from, to, how))
		},
		Latest: func(ctx context.Context, base Event) (Event, error) { return c.one(a.Latest(ctx, c.to(base))) },
		ReadMany: func(ctx context.Context, series []Event, from, to time.Time, how Order) iter.Seq2[Event, error] {
			return c.read(a.ReadMany(ctx, c.all(series), from, to, how))
		},
		LatestMany: func(ctx context.Context, series []Event) iter.Seq2[Event, error] {
			return c.read(a.LatestMany(ctx, c.all(series)))
		},
		Delete: func(ctx context.Context, events []Event, o store.DeleteOptions) (store.Deletion, error) {
			return a.Delete(ctx, c.all(events), o)
		},
		DeleteRange: func(ctx context.Context, base Event, from, to time.Time, o store.DeleteOptions) (store.Deletion, error) {
			return a.DeleteRange(ctx, c.to(base), from, to, o)
		},
		DeleteSeries: func(ctx context.Context, base Event, o store.DeleteOptions) (store.Deletion, error) {
			return a.DeleteSeries(ctx, c.to(base), o)
		},
		Replace: func(ctx context.Context, old, updated Event) error { return a.Replace(ctx, c.to(old), c.to(updated)) },
	}
	if a.Windows != nil {
		out.Windows = func(ctx context.Context, base Event, from, to time.Time) ([]Window, error) {
			return a.Windows(ctx, c.to(base), from, to)
		}
	}
	for name, ask := range a.Queries {
		out.Queries[name] = func(ctx context.Context, v Values, from, to time.Time, how Order) iter.Seq2[Event, error] {
			return c.read(ask(ctx, v, from, to, how))
		}
	}
	return out
}

// Rows converts a struct of columns to events by the names of its fields.
func Rows[E any](columns any, series string) []E {
	v := reflect.ValueOf(columns)
	out := make([]E, v.FieldByName("Time").Len())
	for i := range out {
		e := reflect.ValueOf(&out[i]).Elem()
		for f := range v.NumField() {
			name := v.Type().Field(f).Name
			if name == "Series" {
				name = series
			}
			e.FieldByName(name).Set(v.Field(f).Index(i))
		}
	}
	return out
}

// toGo sets v, an event of generated code, to an event.
func toGo(e Event, v reflect.Value) {
	v.FieldByName("Host").SetString(e.Host)
	v.FieldByName("Shard").SetInt(e.Shard)
	set := func(name string, value any) {
		if f := v.FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value).Convert(f.Type()))
		}
	}
	set("Time", e.Time)
	set("Sequence", e.Sequence)
	set("Class", e.Class)
	set("TTL", e.TTL)
	set("ExpiresAt", e.ExpiresAt)
	for i, has := range e.Has {
		value := e.Values[i]
		switch f := v.FieldByName(fmt.Sprint("V", i)); {
		case f.Kind() != reflect.Pointer:
			f.SetInt(value)
		case has:
			f.Set(reflect.ValueOf(&value))
		}
	}
}

// fromGo returns the event that an event of generated code is.
func fromGo(s *Schema, v reflect.Value) Event {
	out := Event{Host: v.FieldByName("Host").String(), Shard: v.FieldByName("Shard").Int(), Values: make([]int64, len(s.Fields)), Has: make([]bool, len(s.Fields))}
	for name, to := range map[string]any{"Time": &out.Time, "Sequence": &out.Sequence, "TTL": &out.TTL, "ExpiresAt": &out.ExpiresAt, "WrittenAt": &out.WrittenAt} {
		if f := v.FieldByName(name); f.IsValid() {
			reflect.ValueOf(to).Elem().Set(f)
		}
	}
	if f := v.FieldByName("Class"); f.IsValid() {
		out.Class = int(f.Int())
	}
	for i := range s.Fields {
		f := v.FieldByName(fmt.Sprint("V", i))
		if out.Has[i] = f.Kind() != reflect.Pointer || !f.IsNil(); out.Has[i] {
			out.Values[i] = reflect.Indirect(f).Int()
		}
	}
	return out
}
