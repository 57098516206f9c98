package world

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// selection is what a read or a deletion selects.
type selection struct {
	name    string
	of      dynamic.Selection
	table   *layout.Table // that is read
	matches func(e *dynamic.Event) bool
	where   func(l *living) bool // nil for all
	deletes bool

	series [][]any // of a selection by series
	query  *layout.Query
	values dynamic.Values
}

// seriesOf selects series.
func (p *play) seriesOf(all ...[]any) *selection {
	s := &selection{name: fmt.Sprintf("series %q", all), table: p.layout.Read, deletes: len(all) == 1, series: all}
	if s.of = dynamic.ManySeries(all); len(all) == 1 {
		s.of = dynamic.Series(all[0])
	}
	s.matches = func(e *dynamic.Event) bool {
		return slices.ContainsFunc(all, func(s []any) bool { return sameSeries(e.Series, s) })
	}
	return s
}

// selection draws a selection.
func (p *play) selection() selection {
	l := p.layout
	known := p.someSeries()
	switch n := p.IntN(3 + 2*len(l.Queries)); {
	case n < 2:
		return *p.seriesOf(known)
	case n == 2:
		if other := p.someSeries(); !sameSeries(known, other) {
			return *p.seriesOf(known, other)
		}
		return *p.seriesOf(known)
	default:
		return p.query(&l.Queries[(n-3)/2], known)
	}
}

// sameSeries reports whether series values are equal.
func sameSeries(a, b []any) bool { return slices.EqualFunc(a, b, value.Equal) }

// someSeries draws a series.
func (p *play) someSeries() []any {
	if len(p.known) > 0 && !p.chance(6) {
		return anyOf(p, p.known).Series
	}
	return anyOf(p, p.events.Series())
}

// query draws the values of a query.
func (p *play) query(q *layout.Query, series []any) selection {
	var values dynamic.Values
	var conditions []func(l *living) bool
	holds := func(*dynamic.Event) bool { return true }
	for _, in := range q.Inputs {
		if in.Where {
			given, condition := p.condition(&in)
			values, conditions = append(values, given), append(conditions, condition)
			continue
		}
		var all []any
		several := 1
		if in.Many {
			several += p.IntN(3)
		}
		var alternatives []func(v any) bool
		for k := range several {
			of := series[in.Index]
			if k > 0 {
				of = p.someSeries()[in.Index]
			}
			given, matches := p.part(&in, of)
			if slices.ContainsFunc(all, func(v any) bool { return fmt.Sprintf("%#v", v) == fmt.Sprintf("%#v", given) }) {
				continue
			}
			all, alternatives = append(all, given), append(alternatives, matches)
		}
		if in.Many {
			values = append(values, all)
		} else {
			values = append(values, all[0])
		}
		before := holds
		holds = func(e *dynamic.Event) bool {
			return before(e) && slices.ContainsFunc(alternatives, func(of func(any) bool) bool { return of(e.Series[in.Index]) })
		}
	}
	s := selection{name: fmt.Sprintf("%s(%q)", q.Name, values), of: dynamic.Query(q.Name, values), table: q.Table, matches: holds, deletes: q.Deletes != nil, query: q, values: values}
	if conditions != nil {
		s.where = func(l *living) bool {
			return !slices.ContainsFunc(conditions, func(c func(*living) bool) bool { return !c(l) })
		}
	}
	return s
}

// part returns what callers give a query for a series value, and which values it selects.
func (p *play) part(in *layout.Input, of any) (given any, matches func(v any) bool) {
	switch in.Form {
	case codec.GivenPrefix:
		text, _ := of.(string)
		for len(text) > 1 && p.chance(3) {
			text = text[:len(text)-1]
		}
		text = strings.ToValidUTF8(text, "")
		return text, func(v any) bool { return strings.HasPrefix(v.(string), text) }
	case codec.GivenRange:
		end := p.someSeries()[in.Index]
		if compare(of, end) > 0 {
			of, end = end, of
		}
		return []any{of, end}, func(v any) bool { return compare(of, v) <= 0 && compare(v, end) < 0 }
	}
	return of, func(v any) bool { return value.Equal(v, of) }
}

// condition returns what callers give a query for a field, and which events it selects.
func (p *play) condition(in *layout.Input) (given any, selects func(l *living) bool) {
	pick := func() any {
		for range 20 {
			if v := p.event().Values[in.Index]; v != nil {
				return v
			}
		}
		return value.Zero(&p.layout.Fields[in.Index])
	}
	low, high := pick(), pick()
	if in.Form == codec.GivenValue {
		return low, func(l *living) bool { v := l.Values[in.Index]; return v != nil && value.Equal(v, low) }
	}
	if compare(low, high) > 0 {
		low, high = high, low
	}
	return []any{low, high}, func(l *living) bool {
		v := l.Values[in.Index]
		return v != nil && compare(low, v) <= 0 && compare(v, high) < 0
	}
}

// compare orders values of a type. Names of enums have no order of their own, and are equal.
func compare(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return cmp.Compare(a, b.(string))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case time.Time:
		return a.Compare(b.(time.Time))
	case time.Duration:
		return cmp.Compare(a, b.(time.Duration))
	}
	return 0
}

// end is a time after all events.
func (p *play) end() time.Time {
	end := p.now.Add(24 * time.Hour)
	for _, e := range p.known {
		if e.Time.After(end) {
			end = e.Time
		}
	}
	return end.Add(time.Hour)
}

// span draws a range of times.
func (p *play) span() (from, to time.Time) {
	if p.chance(3) {
		first := p.end()
		for _, e := range p.known {
			if e.Time.Before(first) {
				first = e.Time
			}
		}
		return first.Add(-time.Hour), p.end()
	}
	edge := func() time.Time {
		switch n := p.IntN(4); {
		case n < 2 && len(p.known) > 0:
			return anyOf(p, p.known).Time.Add(anyOf(p, []time.Duration{0, 0, 1, -1, p.layout.Precision}))
		case n == 2 && len(p.edges()) > 0:
			return anyOf(p, p.edges())
		}
		return p.now.Add(-p.duration())
	}
	if from, to = edge(), edge(); from.After(to) {
		from, to = to, from
	}
	if p.chance(4) {
		from, to = from.Truncate(24*time.Hour), to.Truncate(24*time.Hour).Add(24*time.Hour)
	}
	return from, to
}

// expected returns the events that a selection finds in a range of times, in order of time.
func (p *play) expected(s selection, from, to time.Time) (out []living) {
	for _, l := range p.truth.live(s.table, p.now) {
		if s.matches(&l.Event) && !l.Time.Before(from) && l.Time.Before(to) && (s.where == nil || s.where(&l)) {
			out = append(out, l)
		}
	}
	return out
}

// read compares a read with the truth.
func (p *play) read() error {
	s := p.selection()
	from, to := p.span()
	o := store.ReadOptions{NewestFirst: p.chance(3), TimeOrder: p.chance(5)}
	if p.chance(4) {
		o.Limit = 1 + p.IntN(3)
	}
	fields := p.fields(s.table, &o)
	p.note("%s from %v to %v %+v", s.name, from, to, o)
	want := p.expected(s, from, to)
	var got []dynamic.Event
	p.traffic.take()
	err := p.repeated(func() (err error) {
		if p.chance(4) {
			got, err = p.program().columns(p.ctx, &s, from, to, o)
			return err
		}
		got, err = collected(p.program().read(p.ctx, &s, from, to, o))
		return err
	})
	if o.TimeOrder && errors.Is(err, store.ErrOrder) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.fetched(s, from, to, o, fields); err != nil {
		return err
	}
	return p.same(want, got, o, fields)
}

// readOn reads while one stream after the other breaks off, each after some progress: no read fails.
func (p *play) readOn() error {
	p.breaks.Store(5 + p.Int64N(8))
	defer p.breaks.Store(0)
	p.struck = true // more requests are sent than without
	return anyOf(p, []func(*play) error{(*play).read, (*play).latest, (*play).windows, (*play).scan, (*play).series})(p)
}

// fields draws which fields a read fetches; nil for all.
func (p *play) fields(t *layout.Table, o *store.ReadOptions) map[int]bool {
	columns := t.Pickable()
	if len(columns) == 0 || len(t.Older) > 0 || !p.chance(5) {
		return nil
	}
	out := map[int]bool{}
	o.Fields = []store.Field{}
	for _, i := range columns {
		if p.chance(2) {
			o.Fields = append(o.Fields, store.Field(t.Columns[i].Qualifier))
			out[t.Columns[i].Field] = true
		}
	}
	return out
}

// same compares the events of a read with those that it should find.
func (p *play) same(want []living, got []dynamic.Event, o store.ReadOptions, fields map[int]bool) error {
	if err := ordered(got, o); err != nil {
		return err
	}
	wanted, found := map[string]living{}, map[string][]dynamic.Event{}
	for _, l := range want {
		wanted[place(&l.Event)] = l
	}
	for _, e := range got {
		at := place(&e)
		if _, ok := wanted[at]; !ok {
			return fmt.Errorf("found %s, which is not there", shown([]dynamic.Event{e}))
		}
		found[at] = append(found[at], e)
	}
	total := 0
	for at, l := range wanted {
		n := count(&l, fields)
		total += n
		if o.Limit == 0 && len(found[at]) != n {
			return fmt.Errorf("found %d of %d events at %s: %s", len(found[at]), n, at, shown([]dynamic.Event{l.Event}))
		}
		for _, e := range found[at] {
			if err := p.agrees(&l, &e, fields); err != nil {
				return err
			}
		}
	}
	if n := min(total, o.Limit); o.Limit > 0 && len(got) != n {
		return fmt.Errorf("found %d events, want %d", len(got), n)
	}
	return nil
}

// count returns how many events a reader finds in a place: more than one only where values are columns.
func count(l *living, fields map[int]bool) int {
	if !l.versions[0].period.Pattern.Appends() {
		return 1
	}
	n := map[int]map[int]int{} // by class and field
	for i, v := range l.versions {
		class := v.classOf()
		if n[class] == nil {
			n[class] = map[int]int{}
		}
		for _, c := range v.cells {
			if l.has[i][c.field] && (fields == nil || fields[c.field]) {
				n[class][c.field]++
			}
		}
	}
	total := 0
	for _, of := range n {
		total += max(1, slices.Max(append(slices.Collect(maps.Values(of)), 0)))
	}
	return total
}

// classOf returns the class of an event, as a table has it.
func (v *version) classOf() int {
	if v.period.HasClasses() {
		return v.event.Class
	}
	return 0
}

// agrees compares an event with what is known of its place.
func (p *play) agrees(l *living, e *dynamic.Event, fields map[int]bool) error {
	if appends := l.versions[0].period.Pattern.Appends(); !appends && fields == nil {
		if err := l.dated(e); err != nil {
			return err
		}
	}
	if period := l.versions[0].period; !period.Pattern.Appends() && period.HasClasses() && l.Class != e.Class {
		return fmt.Errorf("found class %d of %s", e.Class, shown([]dynamic.Event{l.Event}))
	}
	for i := range p.layout.Fields {
		v := e.Values[i]
		if fields != nil && !fields[i] {
			continue
		}
		alternatives := []any{l.Values[i]}
		if l.versions[0].period.Pattern.Appends() {
			alternatives = nil
			for k, of := range l.versions {
				if l.has[k][i] && of.classOf() == e.Class {
					alternatives = append(alternatives, of.event.Values[i])
				}
			}
			if alternatives == nil {
				alternatives = append(alternatives, nil)
			}
		}
		if !slices.ContainsFunc(alternatives, func(want any) bool { return value.Equal(want, v) }) {
			return fmt.Errorf("found %s = %v, want %v, in %s", p.layout.Fields[i].Name, v, alternatives, shown([]dynamic.Event{*e}))
		}
	}
	return nil
}

// dated returns an error unless an event that was read whole has the times of its expiry and its write that are
// stored.
func (l *living) dated(e *dynamic.Event) error {
	v := l.versions[0]
	expiries, written := []time.Time{}, time.Time{}
	for _, c := range v.cells {
		if !l.has[0][c.field] {
			continue
		}
		if at, ok := c.expires(v.period); ok {
			expiries = append(expiries, at)
		}
		if c.field == layout.WrittenAt {
			written = v.at
		}
	}
	switch {
	case e.TTL != 0:
		return fmt.Errorf("found the time to live %v in %s", e.TTL, shown([]dynamic.Event{*e}))
	case !slices.ContainsFunc(expiries, e.ExpiresAt.Equal) && (len(expiries) > 0 || !e.ExpiresAt.IsZero()):
		return fmt.Errorf("found the expiry %v of %s, want one of %v", e.ExpiresAt, shown([]dynamic.Event{l.Event}), expiries)
	case !e.WrittenAt.Equal(written):
		return fmt.Errorf("found that %s was written at %v, want %v", shown([]dynamic.Event{l.Event}), e.WrittenAt, written)
	}
	return nil
}

// ordered returns an error unless events are in the order that was asked for.
func ordered(got []dynamic.Event, o store.ReadOptions) error {
	last := map[string]dynamic.Event{}
	for _, e := range got {
		of := text(e.Series...)
		if o.TimeOrder {
			of = ""
		}
		before, ok := last[of]
		order := e.Time.Compare(before.Time)
		if !o.TimeOrder {
			order = cmp.Or(order, cmp.Compare(e.Sequence, before.Sequence))
		}
		if ok && (order < 0 && !o.NewestFirst || order > 0 && o.NewestFirst) {
			return fmt.Errorf("found %s after %s", shown([]dynamic.Event{e}), shown([]dynamic.Event{before}))
		}
		last[of] = e
	}
	return nil
}

// collected returns all values, or the first error.
func collected[T any](seq iter.Seq2[T, error]) (out []T, err error) {
	for v, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

// latest compares the newest events of series with the truth.
func (p *play) latest() error {
	if p.chance(3) {
		return p.newest()
	}
	return p.latestOf(p.someSeries(), p.someSeries())
}

// latestOf compares the newest events of one or two series with the truth.
func (p *play) latestOf(series ...[]any) error {
	p.note("%q", series)
	newest := func(s []any) *living {
		var out *living
		for _, l := range p.truth.live(p.layout.Read, p.now) {
			if sameSeries(l.Series, s) {
				out = &l
			}
		}
		return out
	}
	check := func(e dynamic.Event, want *living) error {
		if want == nil {
			return fmt.Errorf("found %s, which is not there", shown([]dynamic.Event{e}))
		}
		if place(&e) != place(&want.Event) {
			return fmt.Errorf("found %s, want %s", shown([]dynamic.Event{e}), shown([]dynamic.Event{want.Event}))
		}
		return p.agrees(want, &e, nil)
	}
	if p.chance(2) {
		var e dynamic.Event
		err := p.repeated(func() (err error) {
			if e, err = p.program().latest(p.ctx, series[0]); errors.Is(err, store.ErrNotFound) {
				e, err = dynamic.Event{}, nil
			}
			return err
		})
		want := newest(series[0])
		switch {
		case err != nil || want == nil && e.Series == nil:
			return err
		case e.Series == nil:
			return fmt.Errorf("found nothing, want %s", shown([]dynamic.Event{want.Event}))
		}
		return check(e, want)
	}
	if sameSeries(series[0], series[1]) {
		series = series[:1]
	}
	var got []dynamic.Event
	many := p.chance(2)
	err := p.repeated(func() (err error) {
		if many {
			got, err = collected(p.program().latestMany(p.ctx, series))
		} else {
			got, err = collected(p.program().read(p.ctx, p.seriesOf(series...), time.Time{}, p.end(), store.ReadOptions{LatestOnly: true}))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range series {
		want := newest(s)
		if want != nil && !many && !want.Time.Before(p.end()) {
			return nil
		}
		i := slices.IndexFunc(got, func(e dynamic.Event) bool { return sameSeries(e.Series, s) })
		if i < 0 && want != nil {
			return fmt.Errorf("many: %v: found nothing, want %s", many, shown([]dynamic.Event{want.Event}))
		}
		if i >= 0 {
			if err := check(got[i], want); err != nil {
				return fmt.Errorf("many: %v: %w", many, err)
			}
		}
	}
	return nil
}

// newest compares the newest events of the series of a selection with the truth.
func (p *play) newest() error {
	s := p.selection()
	from, to := p.span()
	if s.table.Pattern.Appends() {
		return nil // several events may be in a place
	}
	o := store.ReadOptions{LatestOnly: true}
	p.note("of %s from %v to %v", s.name, from, to)
	newest := map[string]living{}
	for _, l := range p.expected(s, from, to) {
		newest[text(l.Series...)] = l
	}
	var got []dynamic.Event
	if err := p.repeated(func() (err error) {
		got, err = collected(p.program().read(p.ctx, &s, from, to, o))
		return err
	}); err != nil {
		return err
	}
	return p.same(slices.Collect(maps.Values(newest)), got, o, nil)
}

// pages compares a read of pages with the truth.
func (p *play) pages() error {
	s := p.selection()
	from, to := p.span()
	o := store.ReadOptions{NewestFirst: p.chance(3), TimeOrder: p.chance(5)}
	size := 1 + p.IntN(3)
	p.note("of %d: %s from %v to %v %+v", size, s.name, from, to, o)
	var all []dynamic.Event
	token := ""
	for n := 0; n == 0 || token != ""; n++ {
		var got []dynamic.Event
		var page *store.Page
		err := p.repeated(func() (err error) {
			page = &store.Page{Size: size, Token: token}
			o.Page = page
			got, err = collected(p.program().read(p.ctx, &s, from, to, o))
			return err
		})
		if o.TimeOrder && (errors.Is(err, store.ErrOrder) || errors.Is(err, store.ErrPage)) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(got) > size || n > 300 {
			return fmt.Errorf("%d events in page %d", len(got), n)
		}
		all, token = append(all, got...), page.Next
	}
	o.Page = nil
	return p.same(p.expected(s, from, to), all, o, nil)
}

// readTicking compares a read during which time passes with the events that are alive before and after it.
func (p *play) readTicking() error {
	s := p.selection()
	if ranked(s.table) {
		if err := p.writeAll(p.draw(6)); err != nil {
			return err
		}
	}
	from, to := p.span()
	o := store.ReadOptions{NewestFirst: p.chance(3)}
	before := p.expected(s, from, to)
	p.tick = anyOf(p, []time.Duration{time.Millisecond, time.Second, p.duration()})
	if ranked(s.table) { // what is too old is only kept while few newer events are in its bucket
		p.tick = anyOf(p, []time.Duration{p.tick, 26 * time.Hour})
	}
	p.note("%s from %v to %v %+v", s.name, from, to, o)
	var got []dynamic.Event
	began, asked, err := p.now, p.now, error(nil)
	events := p.program().read(p.ctx, &s, from, to, o)
	if p.chance(3) {
		got, err = p.program().columns(p.ctx, &s, from, to, o)
		events = func(func(dynamic.Event, error) bool) {}
	}
	for e, failed := range events {
		if err = failed; err != nil {
			break
		}
		if !slices.ContainsFunc(p.truth.live(s.table, asked), func(l living) bool { return place(&l.Event) == place(&e) }) {
			err = fmt.Errorf("found %s, which had expired before", shown([]dynamic.Event{e}))
			break
		}
		got, asked = append(got, e), p.clock()
	}
	p.tick = 0
	if errors.Is(err, store.ErrLongRead) && p.now.Sub(began) > time.Hour {
		return nil
	}
	if err != nil {
		return err
	}
	return p.among([][]living{before, p.expected(s, from, to)}, got, o)
}

// among compares the events of a read with those that were there at several times: it finds each event that was
// there at all of them, and none that was never there.
func (p *play) among(times [][]living, got []dynamic.Event, o store.ReadOptions) error {
	ever, always := map[string]bool{}, map[string]int{}
	for _, all := range times {
		for _, l := range all {
			ever[place(&l.Event)] = true
			always[fmt.Sprint(place(&l.Event), l.versions, l.has)]++
		}
	}
	throughout := slices.DeleteFunc(slices.Clone(times[0]), func(l living) bool {
		return always[fmt.Sprint(place(&l.Event), l.versions, l.has)] < len(times)
	})
	var of []dynamic.Event
	for _, e := range got {
		if !ever[place(&e)] {
			return fmt.Errorf("found %s, which was never there", shown([]dynamic.Event{e}))
		}
		if slices.ContainsFunc(throughout, func(l living) bool { return place(&l.Event) == place(&e) }) {
			of = append(of, e)
		}
	}
	return p.same(throughout, of, o, nil)
}

// pagesAmong reads pages between which other programs change events.
func (p *play) pagesAmong() error {
	s := p.selection()
	from, to := p.span()
	o := store.ReadOptions{NewestFirst: p.chance(3)}
	times := [][]living{p.expected(s, from, to)}
	var all []dynamic.Event
	token, size := "", 1+p.IntN(3)
	p.note("of %d: %s from %v to %v %+v among", size, s.name, from, to, o)
	for n := 0; n == 0 || token != ""; n++ {
		page := &store.Page{Size: size, Token: token}
		o.Page = page
		got, err := collected(p.program().read(p.ctx, &s, from, to, o))
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		all, token = append(all, got...), page.Next
		change := anyOf(p, []func() error{p.write, p.write, p.deleteEvents, p.replace, func() error { return nil }})
		if err := change(); n < 20 && err != nil {
			return err
		}
		if times = append(times, p.expected(s, from, to)); n > 300 {
			return errors.New("pages do not end")
		}
	}
	o.Page = nil
	slices.SortStableFunc(all, func(a, b dynamic.Event) int { // changes may come at any place
		order := cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence))
		if o.NewestFirst {
			return -order
		}
		return order
	})
	return p.among(times, all, o)
}

// series compares a list of series with the truth.
func (p *play) series() error {
	s := p.selection()
	from, to := p.span()
	p.note("%s from %v to %v", s.name, from, to)
	var got [][]any
	paged := p.chance(3)
	for token, n := "", 0; n == 0 || token != ""; n++ {
		var o store.SeriesOptions
		var some [][]any
		err := p.repeated(func() (err error) {
			if paged {
				o.Page = &store.Page{Size: 1 + n%2, Token: token}
			}
			some, err = collected(p.program().series(p.ctx, &s, from, to, o))
			return err
		})
		if err != nil {
			return err
		}
		if got = append(got, some...); o.Page != nil {
			token = o.Page.Next
		}
	}
	want := map[string]bool{}
	for _, l := range p.expected(s, from, to) {
		want[text(l.Series...)] = true
	}
	for _, of := range got {
		if text := text(of...); !want[text] {
			return fmt.Errorf("found series %s, which has no events there, or twice", text)
		}
		delete(want, text(of...))
	}
	if len(want) > 0 {
		return fmt.Errorf("did not find series %v", slices.Sorted(maps.Keys(want)))
	}
	return nil
}

// scan compares a scan of a table with the truth.
func (p *play) scan() error {
	t := anyOf(p, p.layout.Tables)
	from, to := p.span()
	p.note("table %s from %v to %v", t.ID, from, to)
	return p.scanOf(t, from, to)
}

// scanOf compares a scan of a table and a range of times with the truth.
func (p *play) scanOf(t *layout.Table, from, to time.Time) error {
	if t.Pattern.NewestOnly() {
		return nil
	}
	scanners, err := p.schema.NewScanners(p.client(), t.ID, store.ReaderOptions{TablePrefix: p.prefix, Now: p.clock})
	if err != nil {
		return err
	}
	cut := fmt.Sprint(p.events.Series()[0][0])[:1]
	var got []dynamic.Event
	if err := p.repeated(func() error {
		got = nil
		for _, s := range scanners {
			for _, within := range []store.KeyRange{{End: cut}, {Start: cut}} {
				for row, err := range s.Rows(p.ctx, within, from, to) {
					if err != nil {
						return err
					}
					got = append(got, p.owned(row.Events)...)
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if t.Metrics() {
		return nil // the fields of an event come with their rows
	}
	all := selection{table: t, matches: func(*dynamic.Event) bool { return true }}
	slices.SortStableFunc(got, func(a, b dynamic.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence))
	})
	return p.same(p.expected(all, from, to), got, store.ReadOptions{}, nil)
}

// owned returns copies of the events of a row, with a value for each field.
func (p *play) owned(events []dynamic.Event) (out []dynamic.Event) {
	for _, e := range events {
		values := make([]any, len(p.layout.Fields))
		copy(values, e.Values)
		e.Series, e.Values = slices.Clone(e.Series), values
		out = append(out, e)
	}
	return out
}

// windows compares windows with the events in them.
func (p *play) windows() error {
	s := p.selection()
	from, to := p.span()
	if s.table.Rolled() && p.chance(2) { // summaries are of whole buckets
		from, to = from.Truncate(24*time.Hour), to.Truncate(24*time.Hour).Add(24*time.Hour)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return err
	}
	zone := time.FixedZone("east", 5*60*60+30*60)
	width := anyOf(p, []window.Width{window.Whole(), window.Every(time.Hour), window.Days(1, zone), window.Months(1, time.UTC),
		window.Every(6 * time.Hour).In(zone), window.Every(3 * time.Hour).In(berlin), window.Days(1, berlin).From(6 * time.Hour)})
	o := store.WindowOptions{NewestFirst: p.chance(3)}
	if p.chance(4) {
		o.Limit = 1 + p.IntN(3)
	}
	if p.chance(4) && to.Sub(from) < 60*24*time.Hour {
		o.Fill, o.Before = window.Fill(p.IntN(4)), anyOf(p, []time.Duration{0, time.Hour, 48 * time.Hour})
	}
	if p.chance(3) {
		o.By = []store.SeriesValue{}
		for i := range p.layout.Series {
			if p.chance(2) {
				o.By = append(o.By, store.SeriesValue(p.layout.Series[i].Name))
			}
		}
	}
	p.note("%v of %s from %v to %v %+v", width, s.name, from, to, o)
	if s.table.Metrics() && slices.ContainsFunc(p.expected(s, from, to), func(l living) bool { return len(l.versions) > 1 }) {
		return nil // an event may have several versions
	}
	var got []summary
	err = p.repeated(func() error {
		got = nil
		for w, err := range p.program().windows(p.ctx, &s, from, to, width, o) {
			if p.undecodable(err) {
				continue
			}
			if err != nil {
				return err
			}
			if len(got) < 1000 {
				got = append(got, w)
			}
		}
		return nil
	})
	if _, limited := errors.AsType[*store.OptionsError](err); err != nil && !limited {
		return err
	}
	if o.Limit > 0 && len(got) > o.Limit {
		return fmt.Errorf("%d windows", len(got))
	}
	alive := p.expected(s, from, to)
	all := alive
	rolled := s.where == nil && slices.ContainsFunc(s.table.Periods(), func(t *layout.Table) bool { return t.Rollup != nil && !t.Rollup.Idle })
	if rolled {
		all = p.ever(s, from, to, slices.Clone(alive))
	}
	covered := map[string]bool{}
	for _, w := range got {
		var in []living
		for _, l := range all {
			if p.grouped(l.Series, w.series, o.By) && !l.Time.Before(w.Start) && l.Time.Before(w.End) {
				in = append(in, l)
				covered[place(&l.Event)] = true
			}
		}
		switch {
		case w.Filled && !slices.ContainsFunc(in, func(l living) bool { return !p.lost(s.table, l) }):
			continue
		case w.Inexact && rolled && !p.exact(s, &w, from, to, width, o):
			p.Counts["inexact windows"]++
			continue
		case w.Inexact:
			return fmt.Errorf("window from %v to %v of %q is inexact", w.Start, w.End, w.series)
		}
		if slices.ContainsFunc(in, func(l living) bool { return l.has == nil }) {
			p.Counts["windows of expired events"]++
		}
		if err := p.summarizes(&w, in, o.By != nil); err != nil {
			return fmt.Errorf("window from %v to %v of %q: %w", w.Start, w.End, w.series, err)
		}
	}
	if o.Limit == 0 && o.Fill == window.FillNone && o.By == nil && o.Before == 0 && err == nil {
		lost := func(l living) bool { return !covered[place(&l.Event)] } // others have expired, and no run has them
		if err := p.increases(got, slices.DeleteFunc(slices.Clone(all), lost)); err != nil {
			return err
		}
	}
	for _, l := range alive {
		if !covered[place(&l.Event)] && o.Limit == 0 && len(got) < 1000 {
			return fmt.Errorf("no window has %s", shown([]dynamic.Event{l.Event}))
		}
	}
	return nil
}

// chart compares what charts of series show of a number with its values.
func (p *play) chart() error {
	s, spec := p.seriesOf(p.someSeries(), p.someSeries()), value.Windows(p.layout, 7)
	from, to := p.span()
	i, n := p.IntN(len(p.layout.Fields)), 1+p.IntN(4)
	f := &p.layout.Fields[i]
	if _, ok := dynamic.Mean.Type(f); !ok || s.table.Metrics() {
		return nil
	}
	p.note("of %d pixels: %s of %s from %v to %v", n, f.Name, s.name, from, to)
	m := p.schema.Mappings()[slices.Index(p.layout.Tables, s.table)]
	reader, columns := store.NewReader(p.client(), m, store.ReaderOptions{TablePrefix: p.prefix, Now: p.clock}), m.DataColumns()
	got := map[string][]window.Point{}
	if err := p.repeated(func() error {
		clear(got)
		for c, err := range store.ResultsOf[window.Chart[[]any]](reader.Charts(p.ctx, columns, spec, store.ManySeriesOf([]any{&dynamic.Event{Series: s.series[0]}, &dynamic.Event{Series: s.series[1]}}), from, to, store.Field(p.layout.FieldName(f)), n)) {
			if err != nil {
				return err
			}
			got[text(c.Series...)] = c.Points()
		}
		return nil
	}); err != nil {
		return err
	}
	want := map[string][]window.Point{}
	of := map[string]map[int][]window.Point{} // by series and pixel
	for _, l := range p.expected(*s, from, to) {
		series, pixel := text(l.Series...), min(n-1, int(float64(l.Time.Sub(from))/float64(to.Sub(from))*float64(n)))
		if of[series] == nil {
			of[series] = map[int][]window.Point{}
		}
		if l.Values[i] != nil {
			of[series][pixel] = append(of[series][pixel], window.Point{Time: l.Time, Value: number(l.Values[i])})
		}
	}
	for series, pixels := range of {
		want[series] = nil
		for _, all := range pixels {
			byValue := func(a, b window.Point) int { return cmp.Compare(a.Value, b.Value) }
			want[series] = append(want[series], all[0], slices.MinFunc(all, byValue), slices.MaxFunc(all, byValue), all[len(all)-1])
		}
	}
	for _, of := range []map[string][]window.Point{got, want} {
		for series, all := range of {
			slices.SortFunc(all, func(a, b window.Point) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Value, b.Value)) })
			of[series] = slices.Compact(all)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("found %v, want %v", got, want)
	}
	return nil
}

// increases compares the increases and rates of the windows of each series with its values, of numbers that begin
// again at 0 when they fall: they count from the last value before the window.
func (p *play) increases(got []summary, all []living) error {
	if slices.ContainsFunc(got, func(w summary) bool { return w.Inexact }) {
		return nil
	}
	for i := range p.layout.Fields {
		f := &p.layout.Fields[i]
		if _, ok := dynamic.Increase.Type(f); !ok {
			continue
		}
		for _, w := range got {
			increase, since, last := 0.0, time.Time{}, time.Time{}
			var before any
			for _, l := range all {
				v, in := l.Values[i], !l.Time.Before(w.Start)
				if v == nil || !sameSeries(l.Series, w.series) || !l.Time.Before(w.End) {
					continue
				}
				if before == nil || !in {
					since = l.Time
				} else if increase += number(v); compare(v, before) >= 0 {
					increase -= number(before)
				}
				if before = v; in {
					last = l.Time
				}
			}
			rate := increase / last.Sub(since).Seconds()
			if f.Type == schema.Duration {
				rate /= float64(time.Second)
			}
			for stat, want := range map[dynamic.Statistic]float64{dynamic.Increase: increase, dynamic.Rate: rate} {
				got, has := w.of(stat, i), !last.IsZero() && (stat == dynamic.Increase || since.Before(last))
				if (got != nil) != has || has && !near(number(got), want, 2048) {
					return fmt.Errorf("window from %v of series %q: %v of %s is %v, want %v from %v to %v", w.Start, w.series, stat, f.Name, got, want, since, last)
				}
			}
		}
	}
	return nil
}

// near reports whether numbers differ by rounding.
func near(a, b, most float64) bool { return a == b || math.Abs(a-b) <= 1e-9*math.Abs(b)+most }

// number returns a number, whatever its type is.
func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case *big.Int:
		n, _ := v.Float64()
		return n
	}
	if n := integer(v); n != nil {
		return number(n)
	}
	return math.NaN()
}

// integer returns an integer; nil for other values.
func integer(v any) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case uint64:
		return new(big.Int).SetUint64(v)
	case time.Duration:
		return big.NewInt(int64(v))
	}
	return nil
}

// sumOf returns the sum and the mean of numbers; nil for other values.
func sumOf(values []any) (sum, mean any) {
	exact, n := new(big.Int), int64(len(values))
	if _, ok := values[0].(float64); ok {
		sum := 0.0
		for _, v := range values {
			sum += v.(float64)
		}
		return sum, sum / float64(n)
	}
	for _, v := range values {
		if integer(v) == nil {
			return nil, nil
		}
		exact.Add(exact, integer(v))
	}
	if _, ok := values[0].(time.Duration); !ok {
		mean, _ := new(big.Rat).SetFrac(exact, big.NewInt(n)).Float64()
		return exact, mean
	}
	half := big.NewInt(n * int64(exact.Sign()))
	rounded := new(big.Int).Add(new(big.Int).Lsh(exact, 1), half) // half away from 0
	mean = time.Duration(rounded.Quo(rounded, big.NewInt(2*n)).Int64())
	if exact.IsInt64() {
		return time.Duration(exact.Int64()), mean
	}
	return exact, mean
}

// grouped reports whether a series is in the group of a window.
func (p *play) grouped(series, of []any, by []store.SeriesValue) bool {
	if by == nil {
		return sameSeries(series, of)
	}
	for i := range p.layout.Series {
		if slices.Contains(by, store.SeriesValue(p.layout.Series[i].Name)) && !value.Equal(series[i], of[i]) {
			return false
		}
	}
	return true
}

// ever returns the events of a selection that were written and not deleted, also those that have expired, which a
// rollup may have summarized.
func (p *play) ever(s selection, from, to time.Time, alive []living) []living {
	for at, versions := range p.truth.tables[s.table] {
		e := versions[0].event
		if s.matches(&e) && !e.Time.Before(from) && e.Time.Before(to) && !slices.ContainsFunc(alive, func(l living) bool { return place(&l.Event) == at }) {
			alive = append(alive, living{Event: e, versions: versions})
		}
	}
	slices.SortFunc(alive, func(a, b living) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence))
	})
	return alive
}

// summarizes compares a window with its events.
func (p *play) summarizes(w *summary, in []living, grouped bool) error {
	if int(w.Events) != len(in) {
		return fmt.Errorf("%d events, want %d", w.Events, len(in))
	}
	for i := range p.layout.Fields {
		f := &p.layout.Fields[i]
		var values []any
		var times []time.Time
		for _, l := range in {
			if l.Values[i] != nil {
				values, times = append(values, l.Values[i]), append(times, l.Time)
			}
		}
		if values == nil {
			continue
		}
		least, greatest := values[0], values[0]
		for _, v := range values {
			if compare(v, least) < 0 {
				least = v
			}
			if compare(v, greatest) > 0 {
				greatest = v
			}
		}
		sum, mean := sumOf(values)
		for stat, want := range map[dynamic.Statistic]any{
			dynamic.Count: int64(len(values)), dynamic.First: values[0], dynamic.Last: values[len(values)-1], dynamic.Min: least, dynamic.Max: greatest,
			dynamic.Sum: sum, dynamic.Mean: mean, dynamic.FirstTime: times[0], dynamic.LastTime: times[len(times)-1],
		} {
			if _, ok := stat.Type(f); !ok || grouped && (stat == dynamic.First || stat == dynamic.Last) {
				continue // of several at an instant, the least and the greatest
			}
			_, rounded := want.(float64)
			if got := w.of(stat, i); want != nil && fmt.Sprint(got) != fmt.Sprint(want) && !value.Equal(got, want) && !(rounded && near(number(got), number(want), 0)) {
				return fmt.Errorf("%v of %s is %v, want %v", stat, f.Name, got, want)
			}
		}
		for _, share := range []float64{0, 0.25, 0.5, 0.99, 1} {
			if err := isQuantile(w, f, i, share, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// isQuantile compares a quantile of a field, if it has quantiles, with the exact one, as near as is promised.
func isQuantile(w *summary, f *layout.Field, i int, share float64, values []any) error {
	stat, err := dynamic.ParseStatistic(fmt.Sprintf("p%v", 100*share))
	if _, ok := stat.Type(f); !ok {
		return err
	}
	got := w.of(stat, i)
	var all []float64
	for _, v := range values {
		if n := number(v); n == n {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		if got != nil {
			return fmt.Errorf("%v of %s is %v without numbers", stat, f.Name, got)
		}
		return nil
	}
	slices.Sort(all)
	rank, part := math.Modf(share * float64(len(all)-1))
	low := all[int(rank)]
	high := all[min(int(rank)+1, len(all)-1)]
	want, off := low, 0.01*math.Abs(low)
	if part > 0 {
		want, off = low*(1-part)+high*part, 0.01*max(math.Abs(low), math.Abs(high))
	}
	if math.IsInf(off, 0) || near(number(got), want, off+1) && f.Type == schema.Duration || near(number(got), want, off+0x1p-1022) {
		return nil
	}
	return fmt.Errorf("%v of %s is %v, want %v within %v", stat, f.Name, got, want, off)
}

// spot is a cell in a table.
type spot struct {
	table, row, family, column string
	bigtable.ReadItem
}

// spots returns the cells of some families.
func (p *play) spots(some func(t *layout.Table, family string) bool) (all []spot, err error) {
	for _, id := range p.tableIDs() {
		err = errors.Join(err, p.eachCell(id, func(row, family string, c bigtable.ReadItem, _ int) {
			if slices.ContainsFunc(p.layout.AllPeriods(), func(t *layout.Table) bool { return p.prefix+t.ID == id && some(t, family) }) {
				all = append(all, spot{id, row, family, strings.TrimPrefix(c.Column, family+":"), c})
			}
		}))
	}
	return all, err
}

// set changes the value of a cell.
func (p *play) set(s spot, value []byte) error {
	m := bigtable.NewMutation()
	m.Set(s.family, s.column, s.Timestamp, value)
	return p.bt.Client.OpenTable(s.table).Apply(p.ctx, s.row, m)
}

// undecodable reports whether an error is about the row with the cell that is damaged.
func (p *play) undecodable(err error) bool {
	d, ok := errors.AsType[*store.DecodeError](err)
	return ok && d.Table == p.spoilt.table && d.Row == p.spoilt.row && strings.Contains(err.Error(), d.Table)
}

// spoil changes a cell of an event, which most often cannot be decoded then. Readers return an error in place of the
// event, and all others. The cell is then restored.
func (p *play) spoil() error {
	all, err := p.spots(func(t *layout.Table, family string) bool {
		return slices.ContainsFunc(t.Families, func(f layout.Family) bool { return f.Name == family })
	})
	if err != nil || len(all) == 0 || p.layout.Read.Pattern.Appends() {
		return err
	}
	s := anyOf(p, all)
	bad := anyOf(p, [][]byte{append(slices.Clone(s.Value), 0xff), s.Value[:len(s.Value)/2], []byte("\xff\xff")})
	p.note("in %v", s)
	p.spoilt = s
	defer func() { p.spoilt = spot{} }()
	return errors.Join(p.set(s, bad), p.spoiled(), p.set(s, s.Value))
}

// spoiled compares reads with the truth but for one event, a cell of which is damaged.
func (p *play) spoiled() error {
	changed, failed := 0, 0
	for _, of := range p.allSeries() {
		s := p.seriesOf(of)
		want, found := p.expected(*s, time.Time{}, p.end()), map[string]dynamic.Event{}
		for e, err := range p.program().read(p.ctx, s, time.Time{}, p.end(), store.ReadOptions{}) {
			if err == nil {
				found[place(&e)] = e
			} else if failed++; !p.undecodable(err) {
				return err
			}
		}
		for _, l := range want {
			e, ok := found[place(&l.Event)]
			if !ok || p.agrees(&l, &e, nil) != nil {
				changed++
			}
			if delete(found, place(&l.Event)); !ok && failed == 0 {
				return fmt.Errorf("%s is not there, without an error", shown([]dynamic.Event{l.Event}))
			}
		}
		if len(found) > 0 || changed > 1 {
			return fmt.Errorf("%d events differ, and beside them: %v", changed, found)
		}
		if s.table.Rolled() || s.table.Metrics() {
			continue
		}
		events := 0
		for w, err := range p.program().windows(p.ctx, s, time.Time{}, p.end(), window.Every(time.Hour), store.WindowOptions{NewestFirst: p.chance(2)}) {
			if err == nil {
				events += int(w.Events + w.Undecodable)
			} else if !p.undecodable(err) {
				return err
			}
		}
		if events != len(want) {
			return fmt.Errorf("windows have %d events, want %d", events, len(want))
		}
	}
	return nil
}

// crowd compares the windows of many events of several series, which several goroutines read, with those that one of them
// reads.
func (p *play) crowd() error {
	series, cells := p.events.Series(), 0
	for _, t := range p.layout.Tables {
		cells += len(t.Columns)
	}
	if len(series) < 2 || len(p.known) == 0 || cells > 6 || p.layout.Read.Metrics() || !p.chance(6) {
		return nil
	}
	var events []dynamic.Event
	for i := range 20_000 {
		e := p.known[i%len(p.known)]
		e.Series, e.Time, e.ExpiresAt, e.TTL = series[i%len(series)], p.now.Add(-p.layout.Precision*time.Duration(i/len(series))), p.now.Add(time.Hour), 0
		if e.Time.After(time.Unix(1, 0)) {
			events = append(events, e)
		}
	}
	if _, failed := errors.AsType[*store.WriteError](p.programs[0].writeAll(p.ctx, events, store.WriteOptions{LastWins: true})); failed {
		p.Counts["some of a crowd"]++ // others are too old
	}
	p.Counts["crowds"]++
	var last string
	for _, n := range []int{-1, 3} {
		text := ""
		for w, err := range p.programs[0].windows(p.ctx, p.seriesOf(series...), time.Time{}, p.end(), window.Every(24*time.Hour), store.WindowOptions{Parallelism: n}) {
			if err != nil {
				return err
			}
			text += fmt.Sprintf("%q %v", w.series, w.Window)
			for i := range p.layout.Fields {
				text += fmt.Sprint(" ", w.of(dynamic.Count, i), w.of(dynamic.Mean, i), w.of(dynamic.Increase, i))
			}
		}
		if n > 0 && text != last {
			return fmt.Errorf("several goroutines found windows %s, and one %s", text, last)
		}
		last = text
	}
	return nil
}

// stored compares the number of the cells of events in each table with the truth: what was deleted or replaced is
// not just hidden. Cells that have expired are left to garbage collection.
func (p *play) stored() error {
	got, want, families := map[string]int{}, map[string]int{}, map[[2]string]*layout.Family{}
	for _, t := range p.layout.Tables {
		if t.Pattern.NewestOnly() {
			continue
		}
		for _, o := range t.Periods() {
			for i := range o.Families {
				families[[2]string{p.prefix + o.ID, o.Families[i].Name}] = &o.Families[i]
			}
		}
		for v := range p.truth.aliveCells(t, p.now) {
			want[p.prefix+v.period.ID]++
		}
	}
	for _, id := range p.tableIDs() {
		if err := p.eachCell(id, func(_, family string, c bigtable.ReadItem, rank int) {
			if f := families[[2]string{id, family}]; f != nil && alive(f, p.now, int64(c.Timestamp), rank) {
				got[id]++
			}
		}); err != nil {
			return err
		}
		if got[id] != want[id] {
			return fmt.Errorf("table %s has %d cells of events, want %d", id, got[id], want[id])
		}
	}
	return nil
}

// eachCell calls f for the cells of a table; rank is 1 for the newest one of its column.
func (p *play) eachCell(id string, f func(row, family string, c bigtable.ReadItem, rank int)) error {
	return p.bt.Client.OpenTable(id).ReadRows(p.ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for family, items := range row {
			rank := 0
			for i, item := range items {
				if rank++; i == 0 || items[i-1].Column != item.Column {
					rank = 1
				}
				f(row.Key(), family, item, rank)
			}
		}
		return true
	})
}

// collect removes what garbage collection removes.
func (p *play) collect() error {
	for _, id := range p.tableIDs() {
		if err := p.collectIn(id); err != nil {
			return err
		}
	}
	p.truth.collect(p.now)
	return nil
}

// collectIn removes the cells of a table that the rules of its families remove, or some of them unless others
// count them.
func (p *play) collectIn(id string) error {
	rules := map[string]codec.GCRule{}
	for _, t := range p.layout.AllPeriods() {
		if p.prefix+t.ID == id {
			for _, f := range t.Families {
				rules[f.Name] = f.GC
			}
			if sums := t.SumFamily(); sums != nil {
				rules[sums.Name] = sums.GC
			}
		}
	}
	some := p.chance(2) && !slices.ContainsFunc(p.layout.AllPeriods(), ranked)
	client := p.bt.Client.OpenTable(id)
	mutations := map[string]*bigtable.Mutation{}
	err := p.eachCell(id, func(row, family string, c bigtable.ReadItem, rank int) {
		rule, ok := rules[family]
		if !ok || !collects(rule, p.now.Sub(c.Timestamp.Time()), rank) || some && p.chance(2) {
			return
		}
		if mutations[row] == nil {
			mutations[row] = bigtable.NewMutation()
		}
		mutations[row].DeleteTimestampRange(family, strings.TrimPrefix(c.Column, family+":"), c.Timestamp, c.Timestamp+1000)
	})
	for key, m := range mutations {
		err = errors.Join(err, client.Apply(p.ctx, key, m))
	}
	return err
}
