package store

import (
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestFieldsOfWholeValues reads fields of events stored as one value: all if any is requested, else series and time.
func TestFieldsOfWholeValues(t *testing.T) {
	whole := days()
	whole.Pattern, whole.Columns = codec.BucketSerialized, []Column{{Name: "event", Whole: true}}
	for _, l := range []*mappingOf[sample]{whole, offsets()} {
		l.Put, l.Missing = putValue(l), Required[sample]
		l.Precision, l.Fields = time.Second, []Field{"value", "note"}
		r, c := stored(t, l, 1, numbered(2)...)
		same(t, []string{"0", "1"}, read(t, r, day0, at(60), ReadOptions{Fields: []Field{"note"}}))
		same(t, []string{"0", "0"}, read(t, r, day0, at(60), ReadOptions{Fields: []Field{}}))
		same(t, counts{2, 4}, *c)
		refusesFields(t, r, "value", "anything")
		refusesFields(t, r, "value", Field(l.Columns[0].Name))
		var columns sampleColumns
		must(t, readColumns(t.Context(), r, intoColumns(l.untyped()), &columns, seriesOf(sample{Series: "s"}), day0, at(60), ReadOptions{Fields: []Field{}}))
		same(t, []uint64{0, 0}, columns.Value)
		same(t, []time.Time{at(0), at(1)}, columns.Time)
	}
}

// refusesFields checks that a read of fields, not all of which the table has, fails.
func refusesFields(t *testing.T, r *readerOf[sample], fields ...Field) {
	t.Helper()
	err := firstError(r.Read(t.Context(), seriesOf(sample{Series: "s"}), day0, at(60), ReadOptions{Fields: fields}))
	assert.Is(t, ErrNoField, err, fields)
}

// TestCellsOfFields counts the cells sent for some fields: only theirs if one is required, else one more per event.
func TestCellsOfFields(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), metrics()} {
		samples := numbered(9)
		samples[3].Note = []byte("note")
		r, c := stored(t, l, 60, samples...)
		for _, tt := range []struct {
			fields []Field
			want   int
		}{
			{nil, 10}, {[]Field{"v.1"}, 9}, {[]Field{"note"}, 10}, {[]Field{"note", "v.1"}, 10}, {[]Field{}, 9},
		} {
			*c = counts{}
			same(t, 9, len(read(t, r, day0, at(600), ReadOptions{Fields: tt.fields})))
			assert.Same(t, tt.want, c.Cells, l.Table.ID, tt.fields)
		}
		refusesFields(t, r, "v.1", "w")
	}
}

// TestValuesOfOtherFieldsAreNotSent uses a large field to detect events, whose values are not sent.
func TestValuesOfOtherFieldsAreNotSent(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days()} {
		bt := newBigtable(t, l)
		must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(600)).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 1}))
		r := newReaderOf(onRows(bt.Client, func(row bigtable.Row) error {
			for _, item := range row["f.1"] {
				same(t, 0, len(item.Value))
			}
			return nil
		}), l, clockAt(600))
		same(t, []string{"0"}, read(t, r, day0, at(60), ReadOptions{Fields: []Field{"note"}}))
	}
}
