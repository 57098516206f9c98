package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// pointGauges returns a mapping of gauges to the columns of OpenTSDB.
func pointGauges() *Mapping[gauge] {
	hours := bucketOf(time.Hour, "2006-01-02T15")
	columns := NewColumns(
		SeriesPart(func(e *gauge) *string { return &e.Series }, func(c *gaugeColumns) *[]string { return &c.Series }, stringSeries),
		TimePart(func(e *gauge) *time.Time { return &e.Time }, func(c *gaugeColumns) *[]time.Time { return &c.Time }),
		RequiredColumn("level", codec.OpenTSDB.Int64, func(e *gauge) *int64 { return &e.Level }, func(c *gaugeColumns) *[]int64 { return &c.Level }),
	)
	family := Family{Name: "t", Life: codec.Lifetime{Timestamp: codec.TimestampWrite}}
	return NewMapping(columns, Mapping[gauge]{
		Table: Table{ID: "tsdb", Families: []Family{family}}, Pattern: codec.BucketOffsets, Key: codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}}, Bucket: hours}, Precision: time.Millisecond,
		Check: func(e *gauge) error { return nil },
	})
}

// In a row of data points, the first cell of a column counts. A server may repeat the name of the
// column or interleave families, and each column that is unknown is one error before the events.
func TestPointsOfUnusualRows(t *testing.T) {
	cells := []unusualCell{
		{"t", "\x00\x10", 9, "\x01"},
		{"t", "\x00\x10", 8, "\x63"}, // an older cell
		{"other", "\x00\x10", 9, "\x63"},
		{"t", "\x00\x10", 7, "\x63"},
		{"t", "\x00\x20\x00\x30", 9, "\x02\x03\x00"},
		{"other", "x", 9, "\x63"},
		{"t", "\x00\x20\x00\x30", 8, "\x63\x63\x00"},
		{"t", "\x07\x00\x00", 9, "bad"},
		{"t", "\x07\x00\x00", 8, "bad"},
		{"t", "\x01\x00\x02", 9, "an annotation"},
		{"t", "\xf0\x00\x04", 9, "bad"},
		{"t", "\xf0\x01\xf4\x00", 9, "\x05"}, // 2 s, as in the compacted cell, which is as new
	}
	l := pointGauges()
	key, err := l.untyped().rowKey(event{&gauge{Series: "s", Time: at(0)}}, "")
	must(t, err)
	checkUnusualRow(t, l, gauge{Series: "s"}, string(key), cells, []string{"\x07\x00\x00", "\xf0\x00\x04", "1=1", "2=5", "3=3"}, func(e *gauge) string {
		return fmt.Sprintf("%d=%d", int(e.Time.Sub(at(0)).Seconds()), e.Level)
	})
}
