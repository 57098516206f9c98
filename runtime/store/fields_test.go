package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// lenient returns a mapping whose value has the default 7, as if it had been added to
// the schema later.
func lenient(l *Mapping[sample]) *Mapping[sample] {
	out := *l
	out.Missing = func(e *sample, column int) error {
		if column == 0 {
			e.Value = 7
		}
		return nil
	}
	return &out
}

// lacking marks an event without a value.
const lacking = 1 << 40

// storedAs writes samples and removes the value of those that are lacking.
func storedAs(t *testing.T, l *Mapping[sample], samples []sample) *storetest.Bigtable {
	t.Helper()
	bt := newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*9)).WriteAll(t.Context(), samples))
	table := bt.Client.Open(l.Table.ID)
	must(t, table.ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		m, deleted := bigtable.NewMutation(), false
		for family, items := range row {
			for _, item := range items {
				qualifier := item.Column[len(family)+1:]
				value, _ := codec.BinaryUint64(item.Value)
				if value == lacking || qualifier == fmt.Sprint(int64(lacking)) {
					m.DeleteTimestampRange(family, qualifier, item.Timestamp, item.Timestamp+1000)
					deleted = true
				}
			}
		}
		if deleted {
			must(t, table.Apply(t.Context(), row.Key(), m))
		}
		return true
	}))
	return bt
}

// TestFieldsDoNotSelectEvents reads some fields of events, some of which lack them. The
// read returns the same events as without Fields, with the requested values and their
// defaults.
func TestFieldsDoNotSelectEvents(t *testing.T) {
	t.Parallel()
	sparse := []sample{
		{Series: "s", Time: at(0), Value: 1, Note: []byte("a")},
		{Series: "s", Time: at(60), Value: 2},
		{Series: "s", Time: at(120), Value: lacking, Note: []byte("c")},
		{Series: "s", Time: at(86400), Value: lacking, Note: []byte("d")},
		{Series: "s", Time: at(86400 + 60), Value: 5},
		{Series: "other", Time: at(30), Value: 6},
	}
	required := []sample{
		{Series: "s", Time: at(0), Value: 1, Note: []byte("a")},
		{Series: "s", Time: at(60), Value: 2},
		{Series: "s", Time: at(86400), Value: 3},
	}
	for _, base := range testlong.Sample([]func() *Mapping[sample]{days, singles, metrics}, 3) {
		for _, tt := range []struct {
			mapping *Mapping[sample]
			samples []sample
			fields  string // v, n or both
			want    []string
		}{
			{mapping: lenient(base()), samples: sparse, fields: "vn", want: []string{"1a", "2", "7c", "7d", "5"}},
			{mapping: lenient(base()), samples: sparse, fields: "v", want: []string{"1", "2", "7", "7", "5"}},
			{mapping: lenient(base()), samples: sparse, fields: "n", want: []string{"0a", "0", "0c", "0d", "0"}},
			{mapping: lenient(base()), samples: sparse, fields: "", want: []string{"0", "0", "0", "0", "0"}},
			{mapping: base(), samples: required, fields: "v", want: []string{"1", "2", "3"}},
			{mapping: base(), samples: required, fields: "n", want: []string{"0a", "0", "0"}},
			{mapping: base(), samples: required, fields: "", want: []string{"0", "0", "0"}},
		} {
			fields := []Field{}
			for _, f := range tt.fields {
				fields = append(fields, Field(tt.mapping.Columns[map[rune]int{'v': 0, 'n': 1}[f]].Name))
			}
			bt := storedAs(t, tt.mapping, tt.samples)
			plain, err := storetest.ConnectPlain(t.Context(), bt.Addr)
			must(t, err)
			for _, client := range []*bigtable.Client{bt.Client, plain} {
				r := NewReader(client, tt.mapping, clockAt(86400*9))
				sameEvents(t, r, fields, tt.want)
			}
			must(t, plain.Close())
		}
	}
}

// sameEvents reads fields of series s with all options. The times must equal those of a
// full read, and the results must be want.
func sameEvents(t *testing.T, r *Reader[sample], fields []Field, want []string) {
	t.Helper()
	for _, o := range []ReadOptions{{}, {NewestFirst: true}, {Limit: 2}, {NewestFirst: true, Limit: 3}, {LatestOnly: true}, {TimeOrder: true}} {
		var all, some []time.Time
		var texts []string
		for e, err := range r.Read(t.Context(), SeriesOf(sample{Series: "s"}), at(0), at(86400*9), o) {
			must(t, err)
			all = append(all, e.Time)
		}
		o.Fields = fields
		for e, err := range r.Read(t.Context(), SeriesOf(sample{Series: "s"}), at(0), at(86400*9), o) {
			must(t, err)
			some, texts = append(some, e.Time), append(texts, sampleText(e))
		}
		same(t, all, some)
		if o.Limit == 0 && !o.NewestFirst && !o.LatestOnly {
			same(t, want, texts)
		}
		sameColumns(t, r, wholeOf(r), sample{Series: "s"}, nil, at(0), at(86400*9), o)
	}
}

// TestFieldsOfWholeValues reads fields of events that are stored as one value: the read
// returns all fields if any is requested, and only series and time if none is. The column is no field.
func TestFieldsOfWholeValues(t *testing.T) {
	whole := days()
	whole.Pattern, whole.Columns = codec.BucketSerialized, []Column{{Name: "event", Whole: true}}
	for _, l := range []*Mapping[sample]{whole, offsets()} {
		l.Put, l.Missing = putValue(l), Required[sample]
		l.Precision, l.Fields = time.Second, []Field{"value", "note"}
		bt := newBigtable(t, l)
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(600)).WriteAll(t.Context(), []sample{{Series: "s", Time: at(1), Value: 1}, {Series: "s", Time: at(2), Value: 2}}))
		c := &counts{}
		r := NewReader(counted(bt.Client, c), l, clockAt(600))
		same(t, []string{"1", "2"}, read(t, r, day0, at(60), ReadOptions{Fields: []Field{"note"}}))
		same(t, []string{"0", "0"}, read(t, r, day0, at(60), ReadOptions{Fields: []Field{}}))
		for _, unknown := range []Field{"anything", Field(l.Columns[0].Name)} {
			for _, err := range r.Read(t.Context(), SeriesOf(sample{Series: "s"}), day0, at(60), ReadOptions{Fields: []Field{"value", unknown}}) {
				if !errors.Is(err, ErrNoField) {
					t.Errorf("%s, field %q: %v", l.Table.ID, unknown, err)
				}
			}
		}
		same(t, counts{2, 4}, *c)
		var columns sampleColumns
		must(t, ReadColumns(t.Context(), r, intoColumns(l.untyped()), &columns, SeriesOf(sample{Series: "s"}), day0, at(60), ReadOptions{Fields: []Field{}}))
		same(t, []uint64{0, 0}, columns.Value)
		same(t, []time.Time{at(1), at(2)}, columns.Time)
	}
}

// TestUnknownField requests a field that the table does not have.
func TestUnknownField(t *testing.T) {
	r, c := stored(t, days(), 60, numbered(3)...)
	for _, err := range r.Read(t.Context(), SeriesOf(sample{Series: "s"}), at(0), at(60), ReadOptions{Fields: []Field{"v.1", "w"}}) {
		if !errors.Is(err, ErrNoField) {
			t.Error(err)
		}
	}
	same(t, counts{}, *c)
}

// TestCellsOfFields counts the cells that Bigtable sends for some fields: only theirs
// if one of them is required, otherwise one more per event.
func TestCellsOfFields(t *testing.T) {
	for _, l := range []*Mapping[sample]{singles(), days(), metrics()} {
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
			if c.Cells != tt.want {
				t.Errorf("%s: fields %q: %d cells, want %d", l.Table.ID, tt.fields, c.Cells, tt.want)
			}
		}
	}
}

// TestValuesOfOtherFieldsAreNotSent uses a large field to detect events. Bigtable must
// not send its values.
func TestValuesOfOtherFieldsAreNotSent(t *testing.T) {
	for _, l := range []*Mapping[sample]{singles(), days()} {
		bytes := 0
		bt := newBigtable(t, l)
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(600)).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 1}))
		r := NewReader(sized(bt.Client, &bytes), l, clockAt(600))
		same(t, []string{"0"}, read(t, r, day0, at(60), ReadOptions{Fields: []Field{"note"}}))
		if bytes != 0 {
			t.Errorf("%s: %d bytes of values", l.Table.ID, bytes)
		}
	}
}

// sized returns a client that counts the bytes of the values that it receives.
func sized(client Client, bytes *int) Client {
	return fakeClient{client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
			return api.ReadRows(ctx, set, func(row bigtable.Row) bool {
				for _, items := range row {
					for _, item := range items {
						*bytes += len(item.Value)
					}
				}
				return f(row)
			}, opts...)
		}}
	}}
}
