package store

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// While programs are replaced, some of them know fewer fields than others. Such a program repairs no row
// with an event of which it may not know all fields: its copy would lack them. The mark stays, and
// readers search.

// errPartly is the error for a serialized event that the program would serialize to other bytes.
var errPartly = errors.New("serialized with fields that are unknown, or in another way")

// knows reports whether the stored newest event of a series has nothing but what the program knows of it.
func (s *settler) knows(t *eraser, newest event) (bool, error) {
	op := request.Operation{}
	defer func() { t.counted(op) }()
	if s.strict != nil {
		base := t.mapping.clone(newest)
		spans, err := s.strict.whole.find(bound{low: base})
		if err != nil {
			return false, t.skipSeries(err)
		}
		switch _, err := s.strict.latestOrOlder(t.ctx, &op, base, spans); {
		case isDecodeError(err):
			return false, nil
		case err != nil && !errors.Is(err, ErrNotFound): // else, it was deleted: the search is repeated
			return false, err
		}
	}
	r := s.search
	at := *r.mapping.Time(newest)
	for i := 0; i < len(s.search.older) && at.Before(r.mapping.Since); i++ {
		r = s.search.older[i]
	}
	if !r.mapping.Pattern.FieldColumns() {
		return true, nil
	}
	key, err := r.mapping.rowKey(newest, "")
	if err != nil {
		return false, t.skipSeries(err)
	}
	filter := bigtable.ChainFilters(bigtable.LatestNFilter(1), bigtable.StripValueFilter())
	if r.mapping.Pattern.Bucketed() {
		ms := at.Truncate(time.Millisecond)
		filter = bigtable.ChainFilters(bigtable.TimestampRangeFilter(ms, ms.Add(time.Millisecond)), filter)
	}
	row, err := r.table.One(t.ctx, &op, codec.Rows{Keys: []string{string(key)}}, filter, 0)
	if err != nil || !row.Exists() {
		return err == nil, err
	}
	defer row.Release()
	a := r.rowAssembler()
	return !slices.ContainsFunc(row.Columns(), func(c wire.Column) bool {
		family, qualifier := row.Bytes(c.Family), row.Bytes(c.Qualifier)
		n := slices.IndexFunc(a.families, func(f Family) bool { return f.Name == string(family) })
		return n < 0 || a.column(n, a.families[n].Class, qualifier) < 0
	}), nil
}

// serializes reports whether the mapping, or an earlier one, stores an event as one value.
func (l *mapping) serializes() bool {
	return !l.Pattern.FieldColumns() || slices.ContainsFunc(l.Older, (*mapping).serializes)
}

// strict returns the mapping with an error for each serialized event that it would serialize to other
// bytes.
func (l *mapping) strict() *mapping {
	out := *l
	out.Set = func(e event, column int, datum []byte) error {
		err := l.Set(e, column, datum)
		if err == nil && l.Columns[column].Whole && !bytes.Equal(l.columns.datum(e, column), datum) {
			return errPartly
		}
		return err
	}
	out.Older = nil
	for _, o := range l.Older {
		out.Older = append(out.Older, o.strict())
	}
	return &out
}
