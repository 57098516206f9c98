package value

import (
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Spans returns the spans of a query: one per salt that it reads, or one per field in a
// table with a row for each. series has a value for each of Layout.Series; only
// those that the query specifies are used.
func Spans(l *layout.Layout, q *layout.Query, series []any) ([]codec.Span, error) {
	var keys []Key
	switch {
	case q.Path.Salts > 1:
		for salt := range q.Path.Salts {
			keys = append(keys, Key{Series: series, Salt: salt})
		}
	case q.Table.Metrics():
		for _, c := range q.Table.AllColumns() {
			keys = append(keys, Key{Series: series, Salt: OwnSalt, Metric: c.Qualifier})
		}
	default:
		keys = []Key{{Series: series, Salt: OwnSalt}}
	}
	var out []codec.Span
	for i := range keys {
		span, err := span(l, q, &keys[i])
		if err != nil {
			return nil, err
		}
		out = append(out, span)
	}
	return out, nil
}

// span returns the rows whose keys have what k and a query have in common.
func span(l *layout.Layout, q *layout.Query, k *Key) (codec.Span, error) {
	before, after := q.Table.KeyWriter(), q.Table.KeyWriter()
	WriteSegments(l, q.Table, &before, q.Path.Before, k)
	if part := q.Path.Partial; part != nil {
		f := &l.Series[part.Series]
		if prefix, ok := k.Series[part.Series].(string); ok && len(q.Prefix) > 0 {
			before.StringPrefix(f.Name, part.Form, prefix)
		} else {
			WriteSeries(&before, f, part.Form, k.Series[part.Series])
		}
	}
	write := before.Prefix
	if q.Ends() {
		write = before.Key
	}
	prefix, err := write()
	if err != nil {
		return codec.Span{}, err
	}
	var suffix []byte
	if len(q.Path.After) > 0 {
		WriteSegments(l, q.Table, &after, q.Path.After, k)
		if q.Path.Whole {
			suffix, err = after.Key()
		} else {
			suffix, err = after.Prefix()
		}
	}
	return codec.Span{
		Prefix: string(prefix), Delimiter: q.Table.TimeDelimiter(), Suffix: string(suffix), Whole: q.Path.Whole, MaxBytes: codec.MaxRowSet, Rest: q.Rest(l), Exact: q.Path.Timed && q.Table.Endless(),
	}, err
}

// KeyPattern returns the pattern for the keys of a query whose spans contain others too.
func KeyPattern(l *layout.Layout, q *layout.Query, series []any) (*codec.KeyPattern, error) {
	p := codec.NewKeyPattern(q.Table.Delimiter)
	if q.AnyWidth() {
		p.AnyWidth()
	}
	for _, g := range q.Table.Segments {
		if g.Joined {
			p.Join()
		}
		switch q.PatternPart(l, g) {
		case layout.TimePart:
			p.Time()
		case layout.KnownPart:
			p.Known(func(w *codec.KeyWriter) {
				WriteSegments(l, q.Table, w, []codec.Segment{g}, &Key{Series: series, Salt: OwnSalt})
			})
		case layout.BytesPart:
			p.Bytes(q.Table.Width(&g))
		case layout.TerminatedPart:
			p.Terminated()
		case layout.AnyPart:
			p.Any()
		}
	}
	return p.Pattern()
}
