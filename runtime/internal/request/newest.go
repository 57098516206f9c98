package request

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// StartOf returns the time in the key of a row, or the start of its bucket; ErrForeign if the
// row belongs to another mapping.
type StartOf = func(row wire.Row) (time.Time, error)

// recent reports whether the bucket with the given start is the current one or a later one.
func (t *Table) recent(start, now time.Time) bool {
	return t.Shape.Offset.Bucket.End(start).After(now)
}

// RecentRows returns the newest rows of each span among the current bucket and later
// ones; nil if there are none.
func (t *Table) RecentRows(ctx context.Context, op *Operation, now time.Time, spans []codec.Span, q scan.Request, start StartOf) ([]wire.Row, error) {
	of := NewSeriesRows(spans)
	for row, err := range t.Rows(ctx, op, q.Rows, t.Filters.Of(q.Filter), q.Limit) {
		if err != nil {
			return nil, err
		}
		if at, err := start(row); err == nil && t.recent(at, now) {
			of.add(SpanOf(spans, row.Key()), row, at)
		}
	}
	if !of.Some() {
		return nil, nil
	}
	KeepNewest(of.Rows, of.Starts)
	return of.Rows, nil
}

// SeriesRows are the newest known rows of a series.
type SeriesRows struct {
	spans  []codec.Span
	Rows   []wire.Row  // one per span; zero if none is known
	Starts []time.Time // of their buckets
}

func NewSeriesRows(spans []codec.Span) SeriesRows {
	return SeriesRows{spans, make([]wire.Row, len(spans)), make([]time.Time, len(spans))}
}

// add adds a row of a span, unless a newer one is known.
func (s *SeriesRows) add(span int, row wire.Row, start time.Time) {
	if !s.Rows[span].Exists() || start.After(s.Starts[span]) {
		s.Rows[span], s.Starts[span] = row, start
	}
}

// Some reports whether any row is known.
func (s *SeriesRows) Some() bool { return slices.ContainsFunc(s.Rows, wire.Row.Exists) }

// RecentOf adds those rows to several series that are in the current bucket or later ones. It
// reports whether ranges describe these rows.
func (t *Table) RecentOf(ctx context.Context, op *Operation, some []*SeriesRows, now time.Time, start StartOf) (bool, error) {
	type place struct{ series, span int }
	var spans []codec.Span
	places := map[string]place{}
	var prefixes []string
	for i, series := range some {
		for k, span := range series.spans {
			spans = append(spans, span)
			prefixes = append(prefixes, span.Prefix)
			places[span.Prefix] = place{i, k}
		}
	}
	in := t.Shape
	if ssd, ok := in.OnSSD(now); ok { // the others are searched
		in = &ssd
	}
	requests, ok := in.RecentOf(spans, now)
	if !ok {
		return false, nil
	}
	slices.Sort(prefixes)
	for _, q := range requests {
		for row, err := range t.Rows(ctx, op, q.Rows, t.Filters.Of(q.Filter), 0) {
			if err != nil {
				return true, err
			}
			of := sort.SearchStrings(prefixes, row.Key()+"\x00") - 1
			if of < 0 {
				continue
			}
			at := places[prefixes[of]]
			if !some[at.series].spans[at.span].Has(row.Key()) {
				continue
			}
			if begin, err := start(row); err == nil && t.recent(begin, now) {
				some[at.series].add(at.span, row, begin)
			}
		}
	}
	return true, nil
}

// NewestRows returns the row of the newest bucket or event of each span, or of the
// first span in the remaining ranges.
func (t *Table) NewestRows(ctx context.Context, op *Operation, s *scan.Search, left []codec.Rows, start StartOf) ([]wire.Row, error) {
	rows := make([]wire.Row, len(s.Requests))
	for i, q := range s.Requests {
		in := q.Rows
		if i == 0 {
			in = left
		}
		row, err := t.newestOwnRow(ctx, op, s, q, in, start)
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	if !t.Shape.Pattern.RowPerField() {
		return rows, nil
	}
	starts := make([]time.Time, len(rows))
	for i, row := range rows {
		var err error
		if row.Exists() {
			starts[i], err = start(row)
		}
		if err != nil {
			return nil, err
		}
	}
	KeepNewest(rows, starts)
	return rows, nil
}

// newestOwnRow is newestRow without the rows of other mappings, which may lie between those of
// this one.
func (t *Table) newestOwnRow(ctx context.Context, op *Operation, s *scan.Search, q scan.Request, in []codec.Rows, start StartOf) (wire.Row, error) {
	for len(in) > 0 {
		row, err := t.newestRow(ctx, op, s, q, in)
		if err != nil || !row.Exists() || !t.Shared {
			return row, err
		}
		if _, err := start(row); err != ErrForeign {
			return row, nil
		}
		in = t.Before(in, row.Key())
	}
	return wire.Row{}, nil
}

// newestRow returns the row of the newest bucket or event that a request or lookup
// finds in the ranges; the zero Row if there is none.
func (t *Table) newestRow(ctx context.Context, op *Operation, s *scan.Search, q scan.Request, in []codec.Rows) (wire.Row, error) {
	if !q.KeysOnly {
		return t.Newest(ctx, op, in, t.Filters.Of(q.Filter), q.Limit)
	}
	stored, err := t.stored(ctx, op, q)
	if err != nil {
		return wire.Row{}, err
	}
	if last := in[0].Keys; last != nil { // a row without an event
		start, _, err := t.Keys()(last[0])
		if err != nil {
			return wire.Row{}, err
		}
		stored = slices.DeleteFunc(stored, func(s scan.Stored) bool { return !s.Start.Before(start) })
	}
	if len(stored) == 0 {
		return wire.Row{}, nil
	}
	found := s.RequestOf(stored[len(stored)-1].Key)
	return t.One(ctx, op, found.Rows[0], t.Filters.Of(found.Filter), found.Limit)
}

// stored returns the rows that a lookup finds, in order of time. It is for tables whose
// labels do not sort.
func (t *Table) stored(ctx context.Context, op *Operation, lookup scan.Request) ([]scan.Stored, error) {
	var out []scan.Stored
	parse := t.Keys()
	for row, err := range t.Rows(ctx, op, lookup.Rows, t.Filters.Of(lookup.Filter), lookup.Limit) {
		if err != nil {
			return nil, err
		}
		if start, covered, _ := parse(row.Key()); covered { // else not our row: skip
			out = append(out, scan.Stored{Start: start, Key: row.Key()})
		}
	}
	slices.SortFunc(out, func(a, b scan.Stored) int { return a.Start.Compare(b.Start) })
	return out, nil
}

// SpanOf returns the index of the span that has the key.
func SpanOf(spans []codec.Span, key string) int {
	return max(0, slices.IndexFunc(spans, func(s codec.Span) bool { return s.Has(key) }))
}
