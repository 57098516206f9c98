package store

import (
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// keyContent is the content of a row key. It may be used again for another key.
type keyContent struct {
	values codec.KeyValues
	metric string
}

// setKeys sets the functions of the mapping that follow from its key.
func (l *mapping) setKeys() {
	whole := l.Key.Select(l.Key.Every())
	hasSequence := l.Key.Has(codec.SequenceSegment)
	l.ties = l.Key.Ties()
	l.byTimestamp = (&scan.Table{Pattern: l.Pattern, Families: l.scanFamilies()}).ByTimestamp()
	if l.Pattern.RowPerField() {
		for i := range l.Columns { // with the older ones
			l.metrics = append(l.metrics, l.Columns[i].Name)
		}
	}
	l.fill = func(c *keyContent, e event) *codec.KeyValues {
		c.values.Series, c.values.Metric, c.values.At = l.values(e, c.values.Series[:0]), &c.metric, l.Time(e)
		switch {
		case !hasSequence:
		case l.Sequence != nil:
			c.values.Sequence = l.Sequence(e)
		case l.sequence != nil:
			c.values.Sequence = l.sequence(e)
		}
		return &c.values
	}
	l.Spans = func(e event) ([]codec.Span, error) { return whole.Spans(l.fill(new(keyContent), e), l.metrics) }
	l.appendKey = func(dst []byte, e event, metric string, c *keyContent) ([]byte, error) {
		c.metric = metric
		return l.Key.Append(dst, l.fill(c, e))
	}
	l.parser = func(e event) func(row string) (time.Time, error) {
		var at time.Time
		v := *l.fill(new(keyContent), e)
		v.At, v.Own = &at, true
		return func(row string) (time.Time, error) {
			err := l.Key.Parse(row, &v)
			if l.assignSeries != nil {
				l.assignSeries(e, v.Series)
			}
			return at, err
		}
	}
}

// rowKey returns the key of the row of an event, or that of one of its columns.
func (l *mapping) rowKey(e event, metric string) ([]byte, error) {
	return l.appendKey(nil, e, metric, new(keyContent))
}

// ofKey returns an event with the series values of a row key, and nothing else.
func (l *mapping) ofKey(key string) (event, error) {
	e := l.new()
	_, err := l.parser(e)(key)
	return e, err
}

// rowNames returns the metric in the key of each row of an event: the names of the columns if
// each has its own row, and otherwise nothing in the key of the only row.
func (l *mapping) rowNames() []string {
	if l.metrics == nil {
		return []string{""}
	}
	return l.metrics
}

// firstKey returns the key of the first row of an event.
func (l *mapping) firstKey(e event) ([]byte, error) { return l.rowKey(e, l.rowNames()[0]) }

// parse sets the series of an event and, if the key contains it, its sequence number. It returns the
// time of the event or the start of its bucket.
func (l *mapping) parse(row string, e event) (time.Time, error) { return l.parser(e)(row) }

// timeFits reports whether the time of an event is a multiple of the precision, so that Write
// stores the event at that time.
func (l *mapping) timeFits(e event) bool {
	at := *l.Time(e)
	return codec.Truncate(at, l.Precision).Equal(at)
}

// samePlace reports whether two events have the same series, time and sequence number.
func (l *mapping) samePlace(a, b event) bool {
	at := func(e event) time.Time { return codec.Truncate(*l.Time(e), l.Precision) }
	return at(a).Equal(at(b)) && l.sequenceOf(a) == l.sequenceOf(b) && l.seriesID(a) == l.seriesID(b)
}

// seriesKey returns text that identifies the series of an event in the table; empty if the
// series is invalid.
func (l *mapping) seriesKey(e event) string {
	spans, err := l.Spans(e)
	if err != nil {
		return ""
	}
	return spans[0].Prefix + "\x00" + spans[0].Suffix
}

// sequenceOf returns the sequence number of an event; 0 if the schema has none.
func (l *mapping) sequenceOf(e event) uint32 {
	switch {
	case l.Sequence != nil:
		return *l.Sequence(e)
	case l.sequence != nil:
		return *l.sequence(e)
	}
	return 0
}
