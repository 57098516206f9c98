package evolve_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// gone is the position at which tables that are in no schema are reported.
func gone(t *lock.Table) diag.Pos { return diag.Pos{File: lock.Name} }

// convert returns a value in the form of package value for a type. Types that can read each
// other's stored values have the same form; those of older columns are converted.
func convert(typ string, v any) any {
	switch v := v.(type) {
	case bool:
		if n := map[bool]int64{true: 1}[v]; typ != "bool" {
			return convert(typ, n)
		}
	case int64:
		switch typ {
		case "uint32", "uint64":
			return uint64(v)
		case "float32", "float64":
			return float64(v)
		case "string":
			return strconv.FormatInt(v, 10)
		}
	case uint64:
		switch typ {
		case "int32", "int64":
			return int64(v)
		case "float32", "float64":
			return float64(v)
		case "string":
			return strconv.FormatUint(v, 10)
		}
	case string:
		if typ == "bytes" {
			return []byte(v)
		}
	}
	return v
}

// inexact reports whether a value cannot be converted to a type.
func inexact(typ string, v any) bool {
	switch v := v.(type) {
	case int64:
		return typ == "float64" && (v > 1<<53 || v < -1<<53)
	case uint64:
		return typ == "float64" && v > 1<<53
	}
	return false
}

// inexact reports whether a field of an event that was requested cannot be converted, which is
// an error of the event.
func (v *version) inexact(e *stored, fields []store.Field) bool {
	for i := range v.fields {
		if f := &v.fields[i]; inexact(f.typ, e.values[f.id]) && (fields == nil || v.picked(i, fields)) {
			return true
		}
	}
	return false
}

// seriesValue draws a series value without a delimiter.
func (h *life) seriesValue(f *drawnField) any {
	switch f.typ {
	case "string", "bytes":
		return one(h.random, "a", "ab", "b", "7", "t0")
	case "bool":
		return h.chance(2)
	case "uuid":
		return one(h.random, "00000000-0000-0000-0000-000000000000", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6")
	case "enum":
		return one(h.random, f.of...).name
	}
	return one[int64](h.random, 0, 1, 12, 70000)
}

// value draws a value of a field.
func (h *life) value(f *drawnField) any {
	if f.typ == "enum" {
		return one(h.random, f.of...).name
	}
	return one(h.random, fieldValues[f.typ]...)
}

// fieldValues are values of the types, including zeros and the limits of their ranges.
var fieldValues = map[string][]any{
	"string": {"", "a", "#|", "Zürich\x00"}, "bytes": {[]byte{}, []byte("#\xff")}, "bool": {false, true},
	"int32": {int64(0), int64(-1), int64(1<<31 - 1)}, "int64": {int64(0), int64(-1 << 63), int64(5)},
	"uint32": {uint64(0), uint64(1<<32 - 1)}, "uint64": {uint64(0), uint64(1<<64 - 1)},
	"float32": {0.0, -1.5}, "float64": {0.0, 0.1, -1e300},
	"timestamp": {time.Unix(0, 0).UTC(), time.Date(2021, 3, 5, 12, 0, 0, 1, time.UTC)}, "duration": {time.Duration(0), 90 * time.Minute},
	"uuid": {"00000000-0000-0000-0000-000000000000", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"}, "json": {"null", `{"a":[1,"x"]}`},
}

// always is the range of all times.
var always = dynamictest.Range{To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

// wanted are the events that a read must return, in order, and those that it may return.
type wanted []*stored

// of returns the events of the series for which is is true, in order of time.
func (h *life) of(r dynamictest.Range, is func(who int) bool) wanted {
	var out wanted
	for _, e := range h.events {
		if !e.at.Before(r.From) && e.at.Before(r.To) && is(e.who) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *stored) int { return a.place().compare(b.place()) })
	return out
}

// may reports whether the code of a version may miss an event: one that has expired, also by the
// age of old code, or has none of the fields of the version.
func (h *life) may(v *version, e *stored) bool {
	return v.empty(e) || h.expired(v, e)
}

// expired reports whether an event, or a part of it, has expired, also by the age of old code.
func (h *life) expired(v *version, e *stored) bool {
	return e.dead || v != h.newest() && !v.alive(e.at, e.class, h.now)
}

// must reports whether the code of a version must return all of some events.
func (h *life) must(v *version, all wanted) bool {
	return !slices.ContainsFunc(all, func(e *stored) bool { return h.may(v, e) })
}

// check reads with the code of a version: all events, and some in another way. Reads must
// return what was written.
func (h *life) check(v *version) error {
	r := v.schema.NewReader(h.client, store.ReaderOptions{Now: h.clock})
	h.count.Read += len(h.events)
	if slices.ContainsFunc(v.tables, func(t drawnTable) bool { return len(t.layouts) > 1 }) {
		h.count.Layouts++
	}
	if slices.ContainsFunc(v.fields, func(f drawnField) bool { return len(f.was) > 0 }) {
		h.count.Moved++
	}
	if len(v.layout.Classes) > 0 {
		h.count.Classes++
	}
	checks := []func(v *version, r *dynamic.Reader) error{h.checkRead, h.checkRead, h.checkColumns, h.checkLatest, h.checkQuery, h.checkFields}
	if err := h.checkAll(v, r); err != nil {
		return err
	}
	if err := checks[h.IntN(len(checks))](v, r); err != nil {
		return err
	}
	return h.checkWindows(v)
}

// checkAll reads the events of all series.
func (h *life) checkAll(v *version, r *dynamic.Reader) error {
	if i := slices.Index(v.queries, drawnQuery{}); i >= 0 {
		events := r.Read(h.ctx, dynamic.Query(fmt.Sprint("Q", i), dynamic.Values{}), always.From, always.To)
		if err := h.same(v, "query of all series", h.of(always, func(int) bool { return true }), events, false, nil); err != nil || h.chance(2) {
			return err
		}
	}
	for who := range h.series {
		if err := h.readSeries(v, r, who, always, store.ReadOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// readSeries reads the events of a series, in order.
func (h *life) readSeries(v *version, r *dynamic.Reader, who int, within dynamictest.Range, o store.ReadOptions) error {
	want := h.of(within, only(who))
	if o.NewestFirst {
		slices.Reverse(want)
	}
	if o.Limit > 0 && (!h.must(v, want) || slices.ContainsFunc(want, func(e *stored) bool { return v.inexact(e, nil) })) {
		o.Limit = 0
	}
	if o.Limit > 0 && len(want) > o.Limit {
		want = want[:o.Limit]
	}
	what := fmt.Sprintf("Read of %v from %v to %v, %+v", h.series[who], within.From, within.To, o)
	return h.same(v, what, want, r.Read(h.ctx, dynamic.Series(v.given(h.series[who])), within.From, within.To, o), true, o.Fields)
}

func only(who int) func(int) bool { return func(other int) bool { return who == other } }

func (h *life) checkRead(v *version, r *dynamic.Reader) error {
	within := always
	if h.chance(2) {
		within = dynamictest.Range{From: h.time(v, ""), To: h.time(v, "").Add(one(h.random, 0, 1, time.Hour))}
		if within.To.Before(within.From) {
			within.From, within.To = within.To, within.From
		}
	}
	return h.readSeries(v, r, h.IntN(len(h.series)), within, store.ReadOptions{NewestFirst: h.chance(2), Limit: h.IntN(4)})
}

func (h *life) checkColumns(v *version, r *dynamic.Reader) error {
	who := h.IntN(len(h.series))
	want := h.of(always, only(who))
	if slices.ContainsFunc(want, func(e *stored) bool { return v.inexact(e, nil) }) {
		return nil
	}
	var columns dynamic.Columns
	err := r.ReadColumns(h.ctx, dynamic.Series(v.given(h.series[who])), always.From, always.To, &columns)
	return h.same(v, "ReadColumns", want, func(yield func(dynamic.Event, error) bool) {
		for _, e := range columns.Events() {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(dynamic.Event{}, err)
		}
	}, true, nil)
}

func (h *life) checkLatest(v *version, r *dynamic.Reader) error {
	who := h.IntN(len(h.series))
	want := h.of(always, only(who))
	if len(want) == 0 || !h.must(v, want) {
		return nil
	}
	return h.same(v, "Latest", want[len(want)-1:], func(yield func(dynamic.Event, error) bool) {
		yield(r.Latest(h.ctx, v.given(h.series[who])))
	}, true, nil)
}

func (h *life) checkQuery(v *version, r *dynamic.Reader) error {
	if len(v.queries) == 0 {
		return nil
	}
	i := h.IntN(len(v.queries))
	by := slices.IndexFunc(v.series, func(f drawnField) bool { return f.name == v.queries[i].by })
	series := one(h.random, h.series...)
	want := h.of(always, func(other int) bool { return by < 0 || h.series[other][by] == series[by] })
	values := dynamic.Values{}
	if by >= 0 {
		values = append(values, v.given(series)[by])
	}
	events := r.Read(h.ctx, dynamic.Query(fmt.Sprint("Q", i), values), always.From, always.To, store.ReadOptions{NewestFirst: h.chance(2)})
	return h.same(v, "query by "+v.queries[i].by, want, events, false, nil)
}

func (h *life) checkFields(v *version, r *dynamic.Reader) error {
	o := store.ReadOptions{Fields: []store.Field{}}
	for _, i := range v.layout.Read.Pickable() {
		if h.chance(2) {
			o.Fields = append(o.Fields, store.Field(v.layout.Read.Columns[i].Qualifier))
		}
	}
	if len(v.layout.Read.Pickable()) == 0 {
		o.Fields = nil
	}
	return h.readSeries(v, r, h.IntN(len(h.series)), always, o)
}

// same compares events with what was written. Expired events may be missing.
func (h *life) same(v *version, what string, want wanted, events iter.Seq2[dynamic.Event, error], ordered bool, fields []store.Field) error {
	left := map[place]*stored{}
	for _, e := range want {
		left[e.place()] = e
	}
	next := 0
	for got, err := range events {
		e := left[place{v.known(h, got.Series), got.Time.UnixNano()}]
		if refused := errors.Is(err, codec.ErrInexact) && e != nil && v.inexact(e, nil); err != nil && !refused {
			return fmt.Errorf("%s: %w", what, err)
		} else if refused {
			h.count.Inexact++
		} else if e != nil && v.inexact(e, fields) && !v.mayLack(e) && !(h.expired(v, e) && v.apart()) {
			return fmt.Errorf("%s: event %v with %v is read without an error", what, got, e.values)
		}
		if e == nil {
			return fmt.Errorf("%s: event %v was not written, or is returned twice", what, got)
		}
		delete(left, e.place())
		for ordered && want[next] != e {
			if next++; next == len(want) {
				return fmt.Errorf("%s: event %v is out of order", what, got)
			}
		}
		if _, json, protobuf := v.stores(); err != nil && (json || protobuf) {
			continue // the decoding of a serialized event stops at the error
		}
		if c := v.layout.Classes; e.class != "" && len(c) > 0 && !e.parted() && (ordered || got.Class > 0) && (got.Class == 0 || c[got.Class-1] != e.class) {
			return fmt.Errorf("%s: event %v is read from %s with class %d, and not with %s", what, got, v.layout.Read.ID, got.Class, e.class)
		}
		if err := v.event(e, &got, fields, h.expired(v, e)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	for _, e := range left {
		if !h.may(v, e) {
			return fmt.Errorf("%s: event %v at %v with %v is lost", what, h.series[e.who], e.at, e.values)
		}
	}
	return nil
}

// parted reports whether an event may have fields of when it was written earlier, perhaps with
// another class: those that were removed in the meantime.
func (e *stored) parted() bool { return slices.Contains(slices.Collect(maps.Values(e.loose)), true) }

// mayLack reports whether an event may lack a field that it had.
func (v *version) mayLack(e *stored) bool {
	return slices.ContainsFunc(v.fields, func(f drawnField) bool { return e.loose[f.id] })
}

// known returns the index of a series with the values of a version; -1 if there is none.
func (v *version) known(h *life, given []any) int {
	return slices.IndexFunc(h.series, func(series []any) bool {
		for i := range series {
			if !value.Equal(convert(v.series[i].typ, series[i]), given[i]) {
				return false
			}
		}
		return true
	})
}

// event compares an event that was read with what was written. If it has expired, it may lack parts.
func (v *version) event(want *stored, got *dynamic.Event, fields []store.Field, expired bool) error {
	for i := range v.fields {
		f := &v.fields[i]
		if fields != nil && !v.picked(i, fields) {
			continue
		}
		if inexact(f.typ, want.values[f.id]) {
			continue
		}
		stored := convert(f.typ, want.values[f.id])
		lacks := any(nil)
		if was, ok := want.lacks[f.id]; ok && !f.optional {
			lacks = convert(f.typ, was)
		} else if f.fallback != "" {
			lacks = v.layout.Fields[i].Default
		}
		if own := v.layout.Fields[i].Default; own != nil && reflect.TypeOf(lacks) != reflect.TypeOf(own) {
			lacks = own // a later version, whose type this one does not have, said what is read
		}
		if stored == nil {
			stored = lacks
		}
		if stored == nil && !f.optional {
			return fmt.Errorf("field %s is required, and %v is read without it", f.name, want)
		}
		if is := got.Values[i]; !value.Equal(is, stored) && !(expired && v.apart()) && !(want.loose[f.id] && value.Equal(is, lacks)) {
			return fmt.Errorf("field %s at %v is %v, and %v was written", f.name, want.at, is, stored)
		}
	}
	return nil
}

// apart reports whether parts of events may expire before others.
func (s *drawn) apart() bool {
	return slices.ContainsFunc(s.tables, func(t drawnTable) bool {
		return slices.ContainsFunc(t.layouts, func(l drawnLayout) bool { return len(l.families) > 1 })
	})
}

// picked reports whether a field was requested.
func (v *version) picked(i int, fields []store.Field) bool {
	return slices.ContainsFunc(v.layout.Read.Columns, func(c layout.Column) bool {
		return c.Field == i && slices.Contains(fields, store.Field(c.Qualifier))
	})
}
