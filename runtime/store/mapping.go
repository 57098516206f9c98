package store

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Keys defines how row keys are built from events and parsed. The metric is the name of
// a column for codec.BucketNewColumns, else empty.
type Keys[E any] struct {
	// Append appends the key of the event's row to dst.
	Append func(e *E, metric string, dst []byte) ([]byte, error)
	// Prefix returns the part of the keys of the event's series before the time, or its only key
	// if the bucket is endless.
	Prefix func(e *E, metric string) ([]byte, error)
	// Suffix returns the part of the keys of the event's series right after the time.
	// It is nil if there is none or it is unknown.
	Suffix func(e *E, metric string) ([]byte, error)
	// Parse sets the event's series and, if the key contains it, its sequence number.
	// It returns the time of the event or the start of its bucket.
	Parse func(row string, e *E) (time.Time, error)
	// Delimiter separates the segments; it is empty for binary keys.
	Delimiter string
	// Rest is the number of bytes after Prefix in all keys of a series, if the keys of other
	// series can have the same prefix; else 0. See codec.Span.
	Rest int
	// Open is set if more segments follow Suffix.
	Open bool
	// PerEvent is set if each event of a bucket has a separate row.
	PerEvent bool

	exact bool // each series has one row
}

// NewMapping completes the mapping l of a table from its keys and columns: how events
// are converted to cells and back, and which rows contain them. It derives the lifetime
// of each family from its rule.
func NewMapping[E, C any](columns *Columns[E, C], keys Keys[E], l Mapping[E]) *Mapping[E] {
	d := &l
	keys.exact = l.Bucket.Endless()
	for _, tell := range columns.mapping {
		tell(d)
	}
	for i := range columns.stored {
		d.Columns = append(d.Columns, columns.stored[i].column)
		d.set = append(d.set, columns.stored[i].set)
	}
	for i := range columns.stored {
		for _, o := range columns.stored[i].older {
			d.Columns = addOlder(d.Columns, i, o.column, o.moved)
			d.set = append(d.set, o.set)
		}
	}
	if !d.Pattern.Bucketed() || keys.PerEvent {
		d.Same = nil
	}
	d.Table.Families = slices.Clone(d.Table.Families) // the caller may use them for another table
	for i := range d.Table.Families {
		f := &d.Table.Families[i]
		f.Life = f.Life.Under(f.GC, d.MaxCells)
	}
	d.columns = &columns.columns
	if own := columns.own(); own != nil {
		d.Own = func(e *E) { own(event{e}) }
	}
	d.Key, d.rowKey = keys.Parse, func(e *E, metric string) ([]byte, error) { return keys.Append(e, metric, nil) }
	d.Spans = func(e *E) ([]codec.Span, error) { return keys.spans(d, e) }
	add := func(e event, metric string, dst []byte) ([]byte, error) {
		return keys.Append(e.pointer.(*E), metric, dst)
	}
	d.Put = func(e *E, cells *Cells) { columns.put(d.Pattern, d.Same != nil, add, event{e}, cells) }
	d.Set = func(e *E, column int, datum []byte) error { return d.set[column](event{e}, datum) }
	d.Missing = func(e *E, column int) error { return columns.stored[column].missing(event{e}) }
	d.bound = func(e *E, column int) ([]byte, codec.Order, error) {
		p := &columns.stored[column]
		of := event{e}
		if p.has != nil && !p.has(of) || p.bound == nil {
			return nil, p.order, ErrBounds
		}
		return p.encode([]byte{}, of), p.order, p.bound(of)
	}
	return d
}

// put sets the cells of an event in its row, or in one row per column. key appends the key of a row.
// again says that events of one series follow each other.
func (cs *columns) put(pattern codec.Pattern, again bool, key func(e event, metric string, dst []byte) ([]byte, error), e event, cells *Cells) {
	begin := func(n int, metric string) {
		if !again || !cells.SameRow(n) {
			cells.Row(key(e, metric, cells.Buffer()))
		}
	}
	if pattern != codec.BucketNewColumns {
		begin(0, "")
	}
	for i, has := range cs.has {
		if has != nil && !has(e) {
			continue
		}
		if pattern == codec.BucketNewColumns {
			begin(i, cs.stored[i].column.Name)
		}
		cells.Set(i, cs.encode[i](cells.Cell(i), e))
	}
}

// spans returns the spans of the event's series.
func (k *Keys[E]) spans(l *Mapping[E], e *E) ([]codec.Span, error) {
	if l.Pattern != codec.BucketNewColumns {
		span, err := k.span(e, "")
		return []codec.Span{span}, err
	}
	var spans []codec.Span
	for i := range l.Columns { // with the older ones
		span, err := k.span(e, l.Columns[i].Name)
		if err != nil {
			return nil, err
		}
		spans = append(spans, span)
	}
	return spans, nil
}

// span returns the span of the event's series, or of one of its metrics.
func (k *Keys[E]) span(e *E, metric string) (codec.Span, error) {
	var suffix func() ([]byte, error)
	if k.Suffix != nil {
		suffix = func() ([]byte, error) { return k.Suffix(e, metric) }
	}
	span, err := Span(func() ([]byte, error) { return k.Prefix(e, metric) }, suffix, k.Delimiter, !k.Open)
	span.Rest, span.Exact = k.Rest, k.exact
	return span, err
}
