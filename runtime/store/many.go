package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// many is the state of a read of several values.
type many struct {
	all       []bound // all values, as given
	some      []bound // those that are being read together
	listed    bool    // their rows are read in the order of row keys
	malformed error   // of the selection
}

// fails returns the events of a read that fails.
func (r *Reader) fails(err error) func(yielder) {
	return func(yield yielder) { yield(r.mapping.new(), err) }
}

// value returns the values of a read that does not have several.
func (r *reading) value() bound { return bound{r.given, r.high} }

// spans returns the different spans of the values that are being read.
func (r *reading) spans() ([]codec.Span, error) {
	if r.many == nil {
		return r.q.find(r.value())
	}
	var all []codec.Span
	known := map[codec.Span]bool{}
	for _, v := range r.many.some {
		spans, err := r.q.spansOf(v)
		if err != nil {
			return nil, err
		}
		for _, s := range spans {
			if known[s] {
				continue
			}
			known[s] = true
			all = append(all, s)
		}
	}
	return all, nil
}

// matcher returns the function that reports whether a series has the values that are being read.
func (r *reading) matcher() func(e event) bool {
	if r.many == nil {
		return r.q.matcher(r.given)
	}
	var any []func(e event) bool
	for _, v := range r.many.some {
		any = append(any, r.q.matcher(v.low))
	}
	return func(e event) bool {
		return slices.ContainsFunc(any, func(matches func(e event) bool) bool { return matches(e) })
	}
}

// keys returns the pattern for the row keys of the values that are being read.
func (r *reading) keys() (*codec.KeyPattern, error) {
	if r.many == nil {
		return r.q.Keys(r.given)
	}
	var patterns []*codec.KeyPattern
	last := ""
	for _, v := range r.many.some {
		p, err := r.q.Keys(v.low)
		if err != nil {
			return nil, err
		}
		if filter := textOf(p); patterns == nil || filter != last { // those of prefixes and ranges do not differ
			patterns, last = append(patterns, p), filter
		}
	}
	return codec.AnyPattern(patterns), nil
}

// textOf returns text that differs from that of other patterns.
func textOf(p *codec.KeyPattern) string { return p.At(codec.KeyPiece{Any: true}).Regexp() }

// ofMany yields the events of several values, group by group.
func (r *reading) ofMany(yield yielder) {
	groups, err := r.groups()
	if err != nil {
		r.reader.fails(err)(yield)
		return
	}
	a := &r.assembler
	from, to := a.from, a.to
	for i, group := range groups {
		r.many.some, a.from, a.to = group, from, to
		r.given, r.high = group[0].low, group[0].high
		r.reader.mapping.assign(a.base, r.given)
		if r.enterGroup(i) {
			continue
		}
		newestOne := r.left() == 1 && r.options.LatestOnly
		more := true
		r.planned(func(e event, err error) bool {
			more = yield(e, err) && (err == nil || isDecodeError(err))
			return more && !(newestOne && err == nil)
		})
		// Columns take events without yield, and so end the group but not the read.
		if limit := r.options.Limit; !more || r.ended || limit > 0 && r.op.Events >= limit {
			return
		}
	}
}

// groups returns the groups of different values that are read one after the other, in the
// order of their row keys.
func (r *reading) groups() (groups [][]bound, err error) {
	values, err := r.distinct()
	if err != nil || len(values) == 0 {
		return nil, err
	}
	var spans []codec.Span
	for _, v := range values {
		spans = append(spans, v.spans...)
	}
	sorts := r.sorts()
	r.many.listed = !r.options.LatestOnly && r.reader.shape.Lists(spans, sorts)
	if !r.many.listed && !sorts {
		for _, v := range values {
			groups = append(groups, []bound{v.value})
		}
		return groups, nil
	}
	asked := scan.Read{AllTimes: r.q.AllTimes, From: r.assembler.from, To: r.assembler.to}
	size, last := 0, "" // of the filter of the last group
	for i, v := range values {
		more := 0
		for _, s := range v.spans {
			if i == 0 || v.filter != last {
				more += r.reader.shape.KeysFilterSize(&asked, s, v.keys)
			}
		}
		last = v.filter
		if size += more; groups == nil || more > 0 && size > scan.MaxKeysFilter {
			groups, size = append(groups, nil), more
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], v.value)
	}
	switch {
	case sorts && len(groups) > 1:
		return nil, ErrOrder
	case sorts && !r.many.listed && r.page != nil:
		return nil, fmt.Errorf("%w with TimeOrder of several values whose rows are not in order of time: read each value by itself", ErrPage)
	}
	return groups, nil
}

// wanted is one of several values.
type wanted struct {
	value  bound
	spans  []codec.Span
	keys   *codec.KeyPattern // nil if its row keys are not filtered
	filter string            // textOf(keys)
	id     string            // differs from those of values with other series
}

// rows returns the rows of the first span.
func (w *wanted) rows() codec.Rows { return w.spans[0].All() }

// values returns the values of a read, each once, in the order of their row keys.
func (r *reading) values() ([]bound, error) {
	if r.many == nil {
		return []bound{r.value()}, nil
	}
	all, err := r.distinct()
	var out []bound
	for i := range all {
		out = append(out, all[i].value)
	}
	return out, err
}

// distinct returns the different values in the order of their row keys. Prefixes and ranges that
// overlap are united.
func (r *reading) distinct() ([]wanted, error) {
	if r.many.malformed != nil {
		return nil, r.many.malformed
	}
	var all []wanted
	for _, value := range r.many.all {
		w, err := r.q.want(value)
		switch {
		case err != nil && r.q.lacks(value, err):
			continue
		case err != nil:
			return nil, err
		}
		if len(w.spans) > 0 { // else the range is empty
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b wanted) int {
		return cmp.Or(cmp.Compare(a.spans[0].Begin(), b.spans[0].Begin()), cmp.Compare(a.id, b.id))
	})
	var out []wanted
	for _, w := range all {
		if n := len(out) - 1; n < 0 || !r.q.unite(&out[n], &w) {
			out = append(out, w)
		}
	}
	if r.options.NewestFirst != r.reader.shape.Descending() {
		slices.Reverse(out)
	}
	return out, nil
}

// want returns one of several values.
func (q *query) want(value bound) (w wanted, err error) {
	w.value = value
	if err := q.stores(value); err != nil {
		return w, err
	}
	if w.spans, err = q.spansOf(value); err != nil {
		return w, err
	}
	for _, s := range w.spans {
		w.id += s.Prefix + "\x00" + s.Suffix + "\x00" + s.From + "\x00" + s.Until + "\x00"
	}
	if q.Keys != nil {
		if w.keys, err = q.Keys(value.low); err != nil {
			return w, err
		}
		w.filter = textOf(w.keys)
		w.id += w.filter
	}
	return w, nil
}

// unite adds what next selects to w, whose rows do not begin after those of next. It reports false if
// these are other values, or if no rows are those of both.
func (q *query) unite(w, next *wanted) bool {
	switch {
	case w.id == next.id:
		return true
	case !q.partial, w.filter != next.filter, w.rows().End != "" && w.rows().End <= next.rows().Start:
		return false
	case next.value.high.exists() && w.rows().End < next.rows().End:
		w.value.high = next.value.high
		w.spans, _ = q.spansOf(w.value) // both are valid
	}
	return true
}
