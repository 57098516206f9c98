package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
)

// Schema is a schema and one of its tables.
type Schema struct {
	Layout *layout.Layout
	Table  *layout.Table
	blob   *value.Blob // nil unless events are serialized
}

// prepared returns the schema with its blob.
func (s Schema) prepared() Schema {
	if s.blob == nil && s.Table.Serialized() {
		s.blob = value.NewBlob(s.Layout.Fields, s.Table.Blob)
	}
	return s
}

// Key is the key of a row as a schema reads it.
type Key struct {
	Schema
	At     time.Time // of the event, or the start of the bucket
	Metric string    // empty unless rows have single fields
}

// Key parses a row key of the table. If the table has several layouts, the key must have a
// time of its layout.
func (s Schema) Key(row string) (Key, error) {
	k := Key{Schema: s.prepared()}
	err := s.Table.Verify(row, &codec.KeyValues{Series: value.Pointers(s.Layout, nil, nil), At: &k.At, Metric: &k.Metric})
	if err == nil && (k.At.Before(s.Table.Since) || !s.Table.Until.IsZero() && !k.At.Before(s.Table.Until)) {
		err = fmt.Errorf("%w: reads expect events of %s in another layout of the table", codec.ErrTimeRange, k.At.Format(time.RFC3339))
	}
	return k, err
}

// internal reports whether a cell has no value of an event: a mark, because a deletion is in progress or was killed, a sum of versions,
// or a cell of a rollup.
func (k *Key) internal(family, qualifier string) bool {
	sums, of := k.Table.SumFamily(), k.Table.Rollup
	return sums != nil && (strings.HasPrefix(qualifier, layout.MarkPrefix) || family == sums.Name) ||
		of != nil && of.Family == family && rollup.Known(qualifier)
}

// Cell is a cell as a schema reads it.
type Cell struct {
	Key
	Column    *layout.Column
	Datum     []byte
	Time      time.Time // of the event, if the column is named after it
	Values    []any     // of the fields in the cell
	WrittenAt time.Time // if that is in the cell
	Err       error     // why it cannot be read
}

// Cell reads a cell of the row. It returns false if the table has no such column.
func (k *Key) Cell(family string, item bigtable.ReadItem) (Cell, bool) {
	columns, naming, qualifier := k.Table.AllColumns(), k.Table.Pattern.Naming(), strings.TrimPrefix(item.Column, family+":")
	i := slices.IndexFunc(columns, func(c layout.Column) bool {
		return k.inFamily(c, family) && (naming == codec.NamedByTime || k.Table.Metrics() && c.Qualifier == k.Metric ||
			naming == codec.NamedByField && c.Qualifier == qualifier)
	})
	if i < 0 {
		return Cell{}, false
	}
	c := Cell{Key: *k, Column: &columns[i], Datum: item.Value}
	switch naming {
	case codec.NamedByTime:
		in := k.Table.Offset(k.Layout).In(k.At)
		micros, _, ok := in.Parse([]byte(qualifier))
		if !ok {
			c.Err = in.Refuse([]byte(qualifier))
			return c, true
		}
		c.Time = codec.FromMicros(micros)
	case codec.NamedByValue:
		c.Datum = []byte(qualifier)
	}
	c.decode()
	return c, true
}

// inFamily reports whether a column is in a family: in any, if events have classes.
func (k *Key) inFamily(c layout.Column, family string) bool {
	if k.Table.HasClasses() {
		return slices.ContainsFunc(k.Table.Families, func(f layout.Family) bool { return f.Name == family })
	}
	return k.Table.Families[c.Family].Name == family
}

// decode decodes the datum.
func (c *Cell) decode() {
	c.Values = make([]any, len(c.Layout.Fields))
	of := c.Column
	switch {
	case of.Field == layout.WholeEvent:
		c.Err = c.blob.Parse(c.Values, c.Datum)
	case of.Field == layout.WrittenAt && of.Values.Text():
		c.WrittenAt, c.Err = codec.Text.Timestamp.Decode(c.Datum)
	case of.Field == layout.WrittenAt:
		c.WrittenAt, c.Err = codec.Binary.Timestamp.Decode(c.Datum)
	case of.Was != nil:
		c.Values[of.Field], c.Err = value.OlderCoding(&c.Layout.Fields[of.Field], of.Was, of.Values).Decode(c.Datum)
	default:
		c.Values[of.Field], c.Err = value.Coding(&c.Layout.Fields[of.Field], of.Values).Decode(c.Datum)
	}
}
