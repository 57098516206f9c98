package scan

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// MaxKeysFilter is the maximum size of the regular expressions for row keys in a request, in
// bytes. Bigtable accepts filters of up to 20 KiB; the rest is for the other filters.
const MaxKeysFilter = 12 << 10

// Lists reports whether a read of the spans of several values can request their rows in the order of row keys,
// whatever their number: if a row contains all data of its events, and rows of a series are in order of time. If the
// read sorts events by time, the buckets must also precede what distinguishes the spans.
func (t *Table) Lists(spans []codec.Span, sorts bool) bool {
	if t.Pattern.RowPerField() || !t.InOrder() {
		return false
	}
	return !sorts || !slices.ContainsFunc(spans, func(s codec.Span) bool { return !sameBeginning(s, spans[0]) })
}

// sameBeginning reports whether the rows of two spans begin with the same values: the same prefix
// and, if the spans are ranges, the same range, as several ranges can have a prefix in common.
func sameBeginning(a, b codec.Span) bool {
	return a.Prefix == b.Prefix && a.From == b.From && a.Until == b.Until
}

// KeysFilterSize returns how many bytes a span and a pattern for row keys, which may be nil, add
// to the regular expression for row keys of a read with [Read.Listed].
func (t *Table) KeysFilterSize(r *Read, span codec.Span, keys *codec.KeyPattern) int {
	if keys == nil {
		if form := t.suffixForm(r, span); form != nil {
			return len(form.Regexp()) + 1
		}
		return 0
	}
	if !r.AllTimes || t.ByTimestamp() {
		return len(keys.At(codec.AnyTime(t.keyTimes())).Regexp()) + 1
	}
	size := 0
	for _, p := range t.parts(&Read{}, r.From, r.To) {
		if times, some := t.keyTimes().Within(p.From, p.To); some {
			size += len(keys.At(times...).Regexp()) + 1
		}
	}
	return size
}

// suffixForm returns the pattern that selects the rows of a span in a range that contains rows
// of others; nil if no range of the read does.
func (t *Table) suffixForm(r *Read, span codec.Span) codec.KeyPieces {
	if span.Suffix == "" || r.AllTimes {
		return nil
	}
	if b := t.Offset.Bucket; t.Pattern.Bucketed() && b.Count(r.From, r.To) <= maxListed {
		return nil
	}
	return span.Pattern(codec.AnyTime(t.keyTimes()))
}

// Listed yields the requests of a part whose Route is [KeyOrder]: those for the rows of all spans in the order of row
// keys, in the reading direction. Rows that several spans have in common are requested once.
func (p *Part) Listed() iter.Seq[Request] {
	var forms []codec.KeyPieces
	spans := p.distinct()
	for _, s := range spans {
		if form := p.table.suffixForm(p.clipped(), s); form != nil {
			forms = append(forms, form)
		}
	}
	f := p.Filter
	if forms != nil {
		f = chain(Keys(forms), f)
	}
	return p.batches(p.listed(spans), f)
}

// clipped returns the read with the time range of the part.
func (p *Part) clipped() *Read {
	r := *p.read
	r.From, r.To = p.From, p.To
	return &r
}

// distinct returns the different spans in the order of row keys, in the reading direction.
func (p *Part) distinct() []codec.Span {
	spans := slices.Clone(p.read.Spans)
	slices.SortFunc(spans, func(a, b codec.Span) int {
		return cmp.Or(strings.Compare(a.Begin(), b.Begin()), strings.Compare(a.Until, b.Until), strings.Compare(a.Suffix, b.Suffix))
	})
	spans = slices.CompactFunc(spans, func(a, b codec.Span) bool { return sameBeginning(a, b) && a.Suffix == b.Suffix })
	if p.backward() {
		slices.Reverse(spans)
	}
	for i := range spans {
		spans[i].Newest = p.read.NewestFirst
	}
	return spans
}

// backward reports whether rows are read in descending order of keys.
func (p *Part) backward() bool { return p.read.NewestFirst != p.table.Descending() }

// listed yields the ranges of rows of distinct spans in reading order.
func (p *Part) listed(spans []codec.Span) iter.Seq[codec.Rows] {
	return func(yield func(codec.Rows) bool) {
		for len(spans) > 0 {
			n := 1 // spans with the same beginning
			for n < len(spans) && sameBeginning(spans[n], spans[0]) {
				n++
			}
			for rows := range p.alike(spans[:n]) {
				if !yield(rows) {
					return
				}
			}
			spans = spans[n:]
		}
	}
}

// alike yields the ranges of spans with the same beginning in reading order: one for all, or for
// each bucket one per span.
func (p *Part) alike(spans []codec.Span) iter.Seq[codec.Rows] {
	t, s := p.table, spans[0]
	one := func(rows codec.Rows, some bool) iter.Seq[codec.Rows] {
		return func(yield func(codec.Rows) bool) { _ = some && yield(rows) }
	}
	switch {
	case p.read.AllTimes:
		rows := s.All()
		rows.Reverse = p.backward()
		return one(rows, true)
	case !t.Pattern.Bucketed():
		return one(s.Times(t.TimeKey, p.From, p.To))
	case s.Suffix == "" || t.suffixForm(p.clipped(), s) != nil:
		s.Whole, s.Suffix = s.Whole && s.Suffix == "", ""
		return one(s.One(t.Offset.Bucket, p.From, p.To))
	}
	return func(yield func(codec.Rows) bool) {
		for _, start := range p.starts() {
			for _, s := range spans {
				rows, some := s.One(t.Offset.Bucket, start, t.Offset.Bucket.End(start))
				if some && !yield(asRange(rows)) {
					return
				}
			}
		}
	}
}

// starts returns the starts of the buckets of the part in reading order.
func (p *Part) starts() []time.Time {
	b := p.table.Offset.Bucket
	to := codec.Earlier(p.To, b.Max())
	var out []time.Time
	for start := b.Start(codec.Later(p.From, b.Min())); start.Before(to); start = b.End(start) {
		out = append(out, start)
	}
	if p.read.NewestFirst {
		slices.Reverse(out)
	}
	return out
}

// asRange returns rows as a range, even if they are a single key.
func asRange(rows codec.Rows) codec.Rows {
	if rows.Keys != nil {
		rows.Start, rows.End, rows.Keys = rows.Keys[0], rows.Keys[0]+"\x00", nil
	}
	return rows
}
