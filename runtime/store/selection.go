package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Query defines which events a read or a deletion selects: those of all series with given values. It
// is the same for all tables, whose keys determine which rows have these events. Its methods give
// the values:
//
//	byLine.Bind(&PositionEvent{…})                         the events with the values of one event
//	byLine.Many([]any{&PositionEvent{…}, …})               those of several
//	bySensor.Range(&low, &high).Where(&weakest, &strongest)  those of a range that meet conditions
//
// Events are pointers to the type of the mapping.
type Query codec.Query

// Selection is what a query selects with given values, or the events of some series. [Reader.Read],
// [Reader.ReadColumns] and [Reader.ReadSeries] read it, and [Writer.DeleteRange] and [Writer.DeleteAll] delete it.
// It is plain data, which the functions below make; if its parts do not fit each other, their error is a
// *[SelectionError].
type Selection struct {
	Query  *Query // nil for the events of series
	Low    []any  // the series values: those of one event or, with Many, of several
	High   []any  // the ends of ranges that begin with those of Low; nil if there are none
	Many   bool
	Bounds []any // the lowest and the highest values of the conditions; nil if there are none
}

// SeriesOf returns the selection of all events of the series of base.
func SeriesOf(base any) Selection { return Selection{Low: []any{base}} }

// ManySeriesOf returns the selection of all events of several series; see [Query.Many].
func ManySeriesOf(bases []any) Selection { return Selection{Low: bases, Many: true} }

// Bind selects the events with the series values of base that the query specifies.
func (q *Query) Bind(base any) Selection { return Selection{Query: q, Low: []any{base}} }

// Many selects the events with the series values of any of several events. Their order and
// duplicates do not matter: if a row contains all data of its events, and bucket labels sort, one
// request reads the rows of all values in the order of row keys, or several if their ranges exceed
// codec.MaxRowSet or their filters exceed scan.MaxKeysFilter. Otherwise, and with
// ReadOptions.LatestOnly, reads take the values one after the other. Without values, nothing is
// selected. Prefixes may begin with others, and ranges may overlap: each event is selected once.
//
// With ReadOptions.TimeOrder, the error is also ErrOrder in codec.BucketNewColumns, and if the
// values must be filtered and do not fit into one filter.
func (q *Query) Many(values []any) Selection {
	return Selection{Query: q, Low: values, Many: true}
}

// Range selects the events with any value from that of low until before that of high, for
// [codec.GivenRange]. Besides this one, both must have the same values.
func (q *Query) Range(low, high any) Selection {
	return Selection{Query: q, Low: []any{low}, High: []any{high}}
}

// ManyRanges selects the events of any of several ranges; see [Query.Range] and [Query.Many]. Both
// slices must have the same length.
func (q *Query) ManyRanges(low, high []any) Selection {
	return Selection{Query: q, Low: low, High: high, Many: true}
}

// selection is a Selection as reads take it.
type selection struct {
	name       string
	table      string       // see Query.Table
	given      *codec.Given // nil for the events of series
	conditions []codec.Condition
	values     []bound
	many       bool
	where      *bounds
	malformed  error // the parts of the Selection do not fit each other, and values is empty
}

// bound has the values of a selection, or those of one of many.
type bound struct {
	low  event
	high event // the end of a range; else nil
}

// bounds are the values of conditions.
type bounds struct{ low, high event }

// resolve returns what reads take of a selection.
func (s Selection) resolve() *selection {
	out := &selection{many: s.Many}
	if q := s.Query; q != nil {
		out.name, out.table, out.given, out.conditions = q.Name, q.Table, &q.Given, q.Conditions
	}
	if out.malformed = s.check(); out.malformed != nil {
		out.many = true
		return out
	}
	for i := range s.Low {
		v := bound{low: event{s.Low[i]}}
		if i < len(s.High) {
			v.high = event{s.High[i]}
		}
		out.values = append(out.values, v)
	}
	if s.Bounds != nil {
		out.where = &bounds{event{s.Bounds[0]}, event{s.Bounds[1]}}
	}
	return out
}

// check returns a *SelectionError if the parts of a selection do not fit each other.
func (s *Selection) check() error {
	switch {
	case !s.Many && len(s.Low) != 1:
		return &SelectionError{fmt.Sprintf("Low has %d events, and Many is not set", len(s.Low))}
	case s.High != nil && len(s.High) != len(s.Low):
		return &SelectionError{fmt.Sprintf("Low has %d events, and High has %d", len(s.Low), len(s.High))}
	case s.Bounds != nil && len(s.Bounds) != 2:
		return &SelectionError{fmt.Sprintf("Bounds has %d events instead of 2", len(s.Bounds))}
	}
	return nil
}

// SelectionError reports a [Selection] whose parts do not fit each other. No request was sent.
type SelectionError struct {
	Reason string // which parts
}

// Error names the parts, and says how to make a selection.
func (e *SelectionError) Error() string {
	return "the selection is malformed: " + e.Reason + "; make it with SeriesOf, ManySeriesOf or the methods of a Query"
}

// query is how one mapping answers a query.
type query struct {
	Name string
	// Spans returns the spans with the rows of the event's series, as far as the query
	// specifies it: for codec.BucketNewColumns one per column; else one, or one per
	// salt.
	Spans func(e event) ([]codec.Span, error)
	// AllTimes, MultiSeries and Contiguous are the fields of [scan.Read].
	AllTimes, MultiSeries, Contiguous bool
	// Keys returns a pattern for row keys with the specified values. It is nil unless the spans
	// contain other rows or the keys determine which times are in the range.
	Keys func(given event) (*codec.KeyPattern, error)
	// matcher returns the function that reports whether the series of a row has the specified
	// values. It decides rows that the pattern of Keys only approximates. It is nil if all rows
	// of the spans match. The function is not safe for concurrent use.
	matcher func(given event) func(row event) bool
	// partial is set if the query specifies a prefix or a range of a value: the rows of several
	// values may overlap.
	partial bool
	// apart is set if the rows of the fields of an event are not at the same place in the spans; see
	// [ErrFieldRows].
	apart bool
	// refused is why the rows of the given prefix or range are not adjacent; see [codec.Selection.Refused].
	refused    string
	Conditions []codec.Condition
	Older      []*query // for each of the earlier mappings
	others     []*query // for the other layouts of the events
}

// wholeQuery returns the query of all events of a series.
func (l *mapping) wholeQuery(name string) query { return query{Name: name, Spans: l.Spans} }

// query returns how the mapping answers a query with the given name.
func (l *mapping) query(name string, given codec.Given, conditions []codec.Condition) *query {
	rows := l.Key.Select(given)
	q := &query{
		Name: name, AllTimes: !rows.Timed, MultiSeries: rows.MultiSeries(), Contiguous: rows.Contiguous(), partial: rows.Partial, Conditions: conditions,
		apart: l.Pattern.RowPerField() && !rows.Joins(), refused: rows.Refused(),
		Spans: func(e event) ([]codec.Span, error) { return rows.Spans(l.fill(new(keyContent), e), l.metrics) },
	}
	if q.apart && rows.Salts > 1 { // a span per salt has no metric
		q.Spans = func(event) ([]codec.Span, error) { return nil, ErrFieldRows }
	}
	if rows.Filters(l.byTimestamp) {
		q.Keys = func(e event) (*codec.KeyPattern, error) { return rows.Pattern(l.fill(new(keyContent), e)) }
	}
	if len(rows.Filtered) > 0 {
		q.matcher = func(e event) func(row event) bool {
			wanted, has := l.fill(new(keyContent), e), new(keyContent)
			return func(row event) bool { return rows.Match(l.fill(has, row), wanted) }
		}
	}
	return q
}

// queryOf returns how the mapping answers the query of a selection.
func (l *mapping) queryOf(s *selection) *query {
	if s.given == nil {
		q := l.wholeQuery("Read")
		return &q
	}
	return l.query(s.name, *s.given, s.conditions)
}

// query returns how the reader answers the query of a selection.
func (r *Reader) query(s *selection) *query {
	if s.given == nil {
		return &r.whole
	}
	q := r.mapping.queryOf(s)
	for _, older := range r.older {
		q.Older = append(q.Older, older.mapping.queryOf(s))
	}
	joinLayouts(append([]*query{q}, q.Older...))
	return q
}

// ErrFieldRows is the error for a query whose rows are those of fields that cannot be joined to events:
// in the row keys of codec.BucketNewColumns, the metric follows a series value that the query does not
// give. Read the events of each series by itself; [Reader.ReadSeries] lists them unless a salt hashes such a
// value, too.
var ErrFieldRows = errors.New("the rows of the fields of an event are apart: the metric follows a series value that is not given; read each series by itself")

// joins reports whether the rows of the fields of an event are read together, in all layouts.
func (q *query) joins() bool {
	return !q.apart && !slices.ContainsFunc(q.Older, func(o *query) bool { return o.apart })
}

// spansOf returns the spans with given values; none for an empty range.
func (q *query) spansOf(v bound) ([]codec.Span, error) {
	first, err := q.Spans(v.low)
	if err != nil || !v.high.exists() {
		return first, err
	}
	last, err := q.Spans(v.high)
	if err != nil {
		return nil, err
	}
	var out []codec.Span
	for i := range first {
		span, some := codec.Between(first[i], last[i])
		switch {
		case some:
			out = append(out, span)
		case span.From > span.Until:
			return nil, fmt.Errorf("query %s: %w", q.Name, ErrBounds)
		}
	}
	return out, nil
}

// ErrBounds is the error for a range of values that ends before it begins.
var ErrBounds = errors.New("the range of values ends before it begins")

// stores returns the error for given values that no row key of the layout can contain.
func (q *query) stores(v bound) error {
	_, err := q.spansOf(v)
	if err == nil && q.Keys != nil {
		_, err = q.Keys(v.low)
	}
	return err
}

// lacks reports whether there are no events with given values because of an error: if the layout
// cannot store the values, but another layout of the events can. It is an error if none can.
func (q *query) lacks(v bound, err error) bool {
	_, refused := errors.AsType[*codec.FieldError](err)
	return refused && slices.ContainsFunc(q.others, func(other *query) bool { return other.stores(v) == nil })
}

// find returns the spans with given values; none if there are no such events, see lacks.
func (q *query) find(v bound) ([]codec.Span, error) {
	spans, err := q.spansOf(v)
	if err != nil && q.lacks(v, err) {
		return nil, nil
	}
	return spans, err
}

// joinLayouts links the queries for all layouts of the same events.
func joinLayouts(all []*query) {
	for i, q := range all {
		q.others = slices.Delete(slices.Clone(all), i, i+1)
	}
}

// older returns the query of the i-th older reader.
func (q *query) older(reader *Reader, i int) *query {
	if len(q.Older) == 0 {
		return &reader.whole
	}
	return q.Older[i]
}

// Rows returns ranges of row keys that contain all rows of a selection with this mapping, without
// those of earlier ones. They may contain other rows, too.
func (l *Mapping) Rows(of Selection) ([]KeyRange, error) {
	m, s := l.alone(), of.resolve()
	if s.malformed != nil {
		return nil, s.malformed
	}
	q := m.queryOf(s)
	var out []KeyRange
	for _, v := range s.values {
		spans, err := q.spansOf(v)
		if err != nil {
			return nil, err
		}
		for _, span := range spans {
			rows := span.All()
			out = append(out, KeyRange{rows.Start, rows.End})
		}
	}
	return out, nil
}

// Selects returns the function that reports whether a selection includes an event that was read. It
// is not safe for concurrent use.
func (l *Mapping) Selects(of Selection) (func(e any) bool, error) {
	selects, err := l.alone().selects(of.resolve())
	return func(e any) bool { return selects(event{e}) }, err
}

// selects is [Mapping.Selects] of a complete mapping.
func (l *mapping) selects(s *selection) (func(e event) bool, error) {
	if s.malformed != nil {
		return nil, s.malformed
	}
	given := l.Key.Every()
	if s.given != nil {
		given = *s.given
	}
	conditions, err := l.conditions(s.name, s.conditions, s.where)
	if err != nil {
		return nil, err
	}
	var any []func(e event) bool
	for _, v := range s.values {
		includes, err := l.includes(given, v)
		if err != nil {
			return nil, err
		}
		any = append(any, includes)
	}
	return func(e event) bool {
		for _, w := range conditions {
			if datum, _, err := l.bound(e, w.Column); err != nil || !w.Contains(datum) {
				return false
			}
		}
		for _, includes := range any {
			if includes(e) {
				return true
			}
		}
		return false
	}, nil
}

// includes returns the function that reports whether an event has given series values.
func (l *mapping) includes(given codec.Given, v bound) (func(e event) bool, error) {
	wanted, has := l.fill(new(keyContent), v.low).Series, new(keyContent)
	part := func(event) bool { return true }
	if last := len(given.Series) - 1; given.Last == codec.GivenPrefix {
		n := given.Series[last]
		prefix, ok := wanted[n].(*string)
		if !ok {
			return nil, fmt.Errorf("a prefix of series value %d: %w", n, codec.ErrForm)
		}
		part = func(event) bool { return strings.HasPrefix(*has.values.Series[n].(*string), *prefix) }
		given.Series = given.Series[:last]
	} else if given.Last == codec.GivenRange {
		q := l.query("", given, nil)
		first, err := q.Spans(v.low)
		if err != nil {
			return nil, err
		}
		end, err := q.Spans(v.high)
		if err != nil {
			return nil, err
		}
		low, high := first[0].Prefix, end[0].Prefix
		part = func(e event) bool {
			spans, err := q.Spans(e)
			return err == nil && low <= spans[0].Prefix && spans[0].Prefix < high
		}
		given.Series = given.Series[:last]
	}
	return func(e event) bool {
		l.fill(has, e)
		for _, n := range given.Series {
			if !codec.SameSeriesValue(has.values.Series[n], wanted[n]) {
				return false
			}
		}
		return part(e)
	}, nil
}
