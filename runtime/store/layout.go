package store

import (
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Keys says how the row keys of a table are made from events, and taken apart. A metric is
// the name of a column, for new columns, and is empty otherwise.
type Keys[E any] struct {
	// Append appends the key of the event's row to dst.
	Append func(e *E, metric string, dst []byte) ([]byte, error)
	// Prefix returns what the keys of the event's series begin with, up to the time.
	Prefix func(e *E, metric string) ([]byte, error)
	// Suffix returns what the keys of the event's series have after the time; nil if
	// that is nothing, or not known.
	Suffix func(e *E, metric string) ([]byte, error)
	// Parse sets the series of an event from a key, and its tie-breaker if it has one
	// there, and returns its time or the start of its bucket.
	Parse func(row string, e *E) (time.Time, error)
	// Delimiter separates the segments; empty for binary keys.
	Delimiter string
	// Open says that more follows than Prefix, the time and Suffix.
	Open bool
	// PerEvent says that each event of a bucket has a row of its own.
	PerEvent bool
}

// NewLayout returns the layout l of a table with what follows from its keys and columns:
// how events are put into cells and taken from them, and which rows have them. The lifetime
// of each family follows from its rule.
func NewLayout[E, C any](columns *Columns[E, C], keys Keys[E], l Layout[E]) *Layout[E] {
	d := &l
	for i := range columns.parts {
		if tell := columns.parts[i].layout; tell != nil {
			tell(d)
		}
	}
	for i := range columns.stored {
		d.Columns = append(d.Columns, columns.stored[i].column)
		d.set = append(d.set, columns.stored[i].set)
	}
	if !d.Pattern.Bucketed() || keys.PerEvent {
		d.Same = nil
	}
	for i := range d.Table.Families {
		f := &d.Table.Families[i]
		f.Life = f.Life.Under(f.GC, d.MaxCells)
	}
	d.Own = columns.own()
	d.Key = keys.Parse
	d.Spans = func(e *E) ([]codec.Span, error) { return keys.spans(d, e) }
	d.Put = func(e *E, cells *Cells) { columns.put(d, &keys, e, cells) }
	d.Set = func(e *E, column int, datum []byte) error { return columns.stored[column].set(e, datum) }
	d.Missing = func(e *E, column int) error { return columns.stored[column].missing(e) }
	return d
}

// put puts an event into the cells of its row, or of a row for each column.
func (cs *Columns[E, C]) put(l *Layout[E], keys *Keys[E], e *E, cells *Cells) {
	if l.Pattern != codec.BucketNewColumns {
		keys.begin(l, e, cells, 0, "")
	}
	for i, has := range cs.has {
		if has != nil && !has(e) {
			continue
		}
		if l.Pattern == codec.BucketNewColumns {
			keys.begin(l, e, cells, i, cs.stored[i].column.Name)
		}
		cells.Set(i, cs.encode[i](cells.Cell(i), e))
	}
}

// begin begins the n-th row of an event.
func (k *Keys[E]) begin(l *Layout[E], e *E, cells *Cells, n int, metric string) {
	if l.Same == nil || !cells.SameRow(n) {
		cells.Row(k.Append(e, metric, cells.Buffer()))
	}
}

// spans returns where the rows of the event's series are.
func (k *Keys[E]) spans(l *Layout[E], e *E) ([]codec.Span, error) {
	if l.Pattern != codec.BucketNewColumns {
		span, err := k.span(e, "")
		return []codec.Span{span}, err
	}
	var spans []codec.Span
	for i := range l.Columns {
		span, err := k.span(e, l.Columns[i].Name)
		if err != nil {
			return nil, err
		}
		spans = append(spans, span)
	}
	return spans, nil
}

// span returns where the rows of the event's series, or of one metric of it, are.
func (k *Keys[E]) span(e *E, metric string) (codec.Span, error) {
	var suffix func() ([]byte, error)
	if k.Suffix != nil {
		suffix = func() ([]byte, error) { return k.Suffix(e, metric) }
	}
	return Span(func() ([]byte, error) { return k.Prefix(e, metric) }, suffix, k.Delimiter, !k.Open)
}
