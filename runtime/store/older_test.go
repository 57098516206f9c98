package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// version is one version of the fields of samples: their value and an optional note.
type version int

const (
	first  version = iota // columns v and n, v is a uint32
	second                // columns value, which was v, and note, which was n
	third                 // column total, which was value and v, and note, which was n
)

// versionColumns are samples in columnar form.
type versionColumns struct {
	Series []string
	Time   []time.Time
	Class  []int
	Value  []uint64
	Note   [][]byte
}

// versionTable is a table whose fields have versions.
type versionTable struct {
	name     string
	pattern  codec.Pattern
	families []Family
	moved    bool // the older columns of the note are in the second family
}

// versionTables cover all patterns that address the cells of an event by column.
var versionTables = []versionTable{
	{name: "cells", pattern: codec.BucketNewCells, families: []Family{{Name: "f"}}},
	{name: "cells of two families", pattern: codec.BucketNewCells, families: []Family{{Name: "f"}, {Name: "g"}}, moved: true},
	{name: "cells with classes", pattern: codec.BucketNewCells, families: []Family{{Name: "f", Class: 1}, {Name: "g", Class: 2}}},
	{name: "cells with an age", pattern: codec.BucketNewCells, families: []Family{{Name: "f", GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 400 * day}}}},
	{name: "columns", pattern: codec.BucketNewColumns, families: []Family{{Name: "f"}}},
	{name: "rows", pattern: codec.SingleUnserialized, families: []Family{{Name: "f"}}},
	{name: "rows of two families", pattern: codec.SingleUnserialized, families: []Family{{Name: "f"}, {Name: "g"}}, moved: true},
	{name: "rows with the time of the write", pattern: codec.SingleUnserialized, families: []Family{{Name: "f", GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 400 * day}, Life: codec.Lifetime{Timestamp: codec.TimestampWrite}}}},
	{name: "rows with classes", pattern: codec.SingleUnserialized, families: []Family{{Name: "f", Class: 1}, {Name: "g", Class: 2}}},
}

func (v versionTable) classes() bool { return v.families[0].Class > 0 }

// of returns the mapping and the columns of a version.
func (v versionTable) of(of version) (*Mapping[sample], *Columns[sample, versionColumns]) {
	value, values := func(e *sample) *uint64 { return &e.Value }, func(c *versionColumns) *[]uint64 { return &c.Value }
	note, notes := func(e *sample) *[]byte { return &e.Note }, func(c *versionColumns) *[][]byte { return &c.Note }
	older := Was("n", codec.Text.Bytes)
	family := 0
	if v.moved {
		older, family = older.In(1), 1
	}
	v1, v2 := Was("v", codec.Converted(codec.Binary.Uint32, codec.ToUint64)), Was("value", codec.Text.Uint64)
	fields := map[version][]Part[sample, versionColumns]{
		first: {
			RequiredColumn("v", codec.Converted(codec.Binary.Uint32, codec.ToUint64), value, values),
			OptionalBytesColumn("n", codec.Text.Bytes, note, notes).In(family),
		},
		second: {
			RequiredColumn("value", codec.Text.Uint64, value, values, v1),
			OptionalBytesColumn("note", codec.Binary.Bytes, note, notes, older),
		},
		third: {
			RequiredColumn("total", codec.Binary.Uint64, value, values, v2, v1),
			OptionalBytesColumn("note", codec.Binary.Bytes, note, notes, older),
		},
	}[of]
	fields[0].encode = map[version]func(dst []byte, e event) []byte{
		first: func(dst []byte, e event) []byte {
			return codec.AppendBinaryUint32(dst, uint32(e.pointer.(*sample).Value))
		},
		second: func(dst []byte, e event) []byte { return codec.AppendTextUint64(dst, e.pointer.(*sample).Value) },
		third:  func(dst []byte, e event) []byte { return codec.AppendBinaryUint64(dst, e.pointer.(*sample).Value) },
	}[of]
	parts := []Part[sample, versionColumns]{
		SeriesPart(func(e *sample) *string { return &e.Series }, func(c *versionColumns) *[]string { return &c.Series }, stringSeries),
		TimePart(func(e *sample) *time.Time { return &e.Time }, func(c *versionColumns) *[]time.Time { return &c.Time }),
	}
	if v.classes() {
		parts = append(parts, ClassPart(func(e *sample) *int { return &e.Class }, func(c *versionColumns) *[]int { return &c.Class }))
	}
	columns := NewColumns(append(parts, fields...)...)
	return NewMapping(columns, Mapping[sample]{
		Table: Table{ID: "versions", Families: slices.Clone(v.families)}, Pattern: v.pattern,
		Key: v.key(), Precision: time.Second,
		Check: func(e *sample) error { return nil },
	}), columns
}

// key is the same in all versions.
func (v versionTable) key() codec.Key {
	k := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}}}
	if v.pattern == codec.BucketNewColumns {
		k.Segments = append(k.Segments, codec.Segment{Kind: codec.MetricSegment})
	}
	if v.pattern.Bucketed() {
		k.Segments, k.Bucket = append(k.Segments, codec.Segment{Kind: codec.BucketSegment}), bucketOf(day, "2006-01-02")
	} else {
		k.Segments, k.Time = append(k.Segments, codec.Segment{Kind: codec.TimeSegment}), codec.TimeFormat{Kind: codec.UnixMillis}
	}
	return k
}

// versionSamples returns samples of two series in two days.
func versionSamples(random *rand.Rand, v versionTable) (out []sample) {
	for i := range 60 {
		e := sample{Series: fmt.Sprint("s", i%2), Time: at(i/30*86400 + 60*(i%30)), Value: uint64(random.Uint32())}
		if random.IntN(2) == 0 {
			e.Note = fmt.Append([]byte{}, "n", i)
		}
		if v.classes() {
			e.Class = 1 + random.IntN(2)
		}
		out = append(out, e)
	}
	return out
}

// readAll reads the samples of the first series with options, one by one.
func readAll(t *testing.T, client Client, l *Mapping[sample], o ReadOptions) []string {
	t.Helper()
	var out []string
	for e, err := range NewReader(client, l, clockAt(86400*9)).Read(t.Context(), SeriesOf(sample{Series: "s0"}), at(0), at(86400*9), o) {
		if err != nil {
			t.Fatalf("options %+v: %v", o, err)
		}
		out = append(out, rowText(&e))
	}
	return out
}

// readIntoColumns reads them in columnar form.
func readIntoColumns(t *testing.T, client Client, l *Mapping[sample], into *Columns[sample, versionColumns], o ReadOptions) []string {
	t.Helper()
	var c versionColumns
	if err := ReadColumns(t.Context(), NewReader(client, l, clockAt(86400*9)), into, &c, SeriesOf(sample{Series: "s0"}), at(0), at(86400*9), o); err != nil {
		t.Fatalf("options %+v: %v", o, err)
	}
	var out []string
	for i := range c.Time {
		e := sample{Series: c.Series[i], Time: c.Time[i], Value: c.Value[i], Note: c.Note[i]}
		if c.Class != nil {
			e.Class = c.Class[i]
		}
		out = append(out, rowText(&e))
	}
	return out
}

// fieldsOf names the same fields in all versions.
func fieldsOf(l *Mapping[sample], o ReadOptions) ReadOptions {
	if o.Fields == nil {
		return o
	}
	fields := []Field{}
	for _, f := range o.Fields {
		fields = append(fields, Field(l.Columns[slices.Index([]Field{"0", "1"}, f)].Name))
	}
	o.Fields = fields
	return o
}

// TestOlderColumns writes samples with two versions of a schema, in turn. The third one reads
// what each of them wrote, with all options, one by one and in columns.
func TestOlderColumns(t *testing.T) {
	t.Parallel() // it waits
	for _, v := range testlong.Sample(versionTables, 4) {
		t.Run(v.name, func(t *testing.T) {
			oldest, intoOldest := v.of(first)
			newer, intoNewer := v.of(second)
			newest, intoNewest := v.of(third)
			for n, writers := range [][]*Mapping[sample]{{oldest}, {newer}, {oldest, newer}, {oldest, newer, newest}} {
				random := rand.New(rand.NewPCG(1, uint64(len(writers))))
				bt, same := newBigtable(t, newest), newBigtable(t, oldest)
				plain, err := storetest.ConnectPlain(t.Context(), bt.Addr)
				must(t, err)
				samples := versionSamples(random, v)
				must(t, NewWriter(same.Client, []*Mapping[sample]{oldest}, writeAt(86400*9)).WriteAll(t.Context(), samples))
				for i, e := range samples {
					by := writers[random.IntN(len(writers))]
					if len(writers) == 3 && i < 30 {
						by = writers[0] // the first day is that of the oldest program
					}
					must(t, NewWriter(bt.Client, []*Mapping[sample]{by}, writeAt(86400*9)).Write(t.Context(), e))
				}
				options := []ReadOptions{
					{}, {NewestFirst: true}, {Limit: 7}, {NewestFirst: true, Limit: 3}, {LatestOnly: true},
					{Fields: []Field{"0"}}, {Fields: []Field{"1"}}, {Fields: []Field{}}, {Fields: []Field{"1"}, LatestOnly: true},
				}
				for _, o := range testlong.Sample(slices.Concat(options[n:], options[:n]), 6) { // other writers have the others
					want := readAll(t, same.Client, oldest, fieldsOf(oldest, o))
					for _, read := range []struct {
						of   *Mapping[sample]
						into *Columns[sample, versionColumns]
					}{{newest, intoNewest}, {newer, intoNewer}, {oldest, intoOldest}} {
						if slices.ContainsFunc(writers, func(w *Mapping[sample]) bool {
							return w == newest && read.of != newest || w == newer && read.of == oldest
						}) {
							continue // an older program does not know the columns of a newer one
						}
						for _, client := range []Client{bt.Client, plain} {
							got := readAll(t, client, read.of, fieldsOf(read.of, o))
							if !slices.Equal(got, want) {
								t.Fatalf("%d writers, options %+v: read\n%s\nwant\n%s", len(writers), o, strings.Join(got, "\n"), strings.Join(want, "\n"))
							}
							if got = readIntoColumns(t, client, read.of, read.into, fieldsOf(read.of, o)); !slices.Equal(got, want) {
								t.Fatalf("%d writers, options %+v: columns\n%s\nwant\n%s", len(writers), o, strings.Join(got, "\n"), strings.Join(want, "\n"))
							}
						}
					}
				}
				e, err := NewReader(bt.Client, newest, clockAt(86400*9)).Latest(t.Context(), sample{Series: "s0"})
				must(t, err)
				if want := readAll(t, same.Client, oldest, ReadOptions{LatestOnly: true}); rowText(&e) != want[0] {
					t.Errorf("Latest is %s, want %s", rowText(&e), want[0])
				}
				must(t, plain.Close())
			}
		})
	}
}

// qualifiers returns the family, column and timestamp of all cells of a table.
func qualifiers(t *testing.T, client *bigtable.Client) (out []string) {
	t.Helper()
	must(t, client.Open("versions").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, items := range row {
			for _, item := range items {
				out = append(out, item.Column)
			}
		}
		return true
	}))
	slices.Sort(out)
	return out
}

// TestRewriteDeletesOlder rewrites an event of an older version. Its older cells are deleted,
// in the same mutation, also where the new event lacks the field. Then the older program
// writes the event once more: what the table has under the newest name is read.
func TestRewriteDeletesOlder(t *testing.T) {
	for _, v := range versionTables {
		t.Run(v.name, func(t *testing.T) {
			oldest, _ := v.of(first)
			newest, into := v.of(third)
			bt := newBigtable(t, newest)
			write := func(l *Mapping[sample], e sample, opts ...WriteOptions) error {
				return NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*9)).Write(t.Context(), e, opts...)
			}
			e := sample{Series: "s0", Time: at(60), Value: 1, Note: []byte("old")}
			other := sample{Series: "s0", Time: at(120), Value: 7, Note: []byte("other")}
			if v.classes() {
				e.Class, other.Class = 1, 1
			}
			must(t, write(oldest, e))
			must(t, write(oldest, other))
			e.Value, e.Note = 2, nil
			if v.classes() {
				e.Class = 2
			}
			if err := write(newest, e, WriteOptions{IfAbsent: true}); v.pattern == codec.BucketNewColumns && !errors.Is(err, ErrSeveralRows) ||
				v.pattern != codec.BucketNewColumns && !errors.Is(err, ErrExists) {
				t.Errorf("IfAbsent of an event with older columns: %v", err)
			}
			must(t, write(newest, e))
			note := []byte(nil)
			if v.pattern == codec.BucketNewColumns { // which is append-only
				note = []byte("old")
			} else if cells := qualifiers(t, bt.Client); len(cells) != 3 {
				t.Errorf("after the event is rewritten, there are the cells %q", cells)
			}
			check := func(what string, value uint64, note []byte) {
				t.Helper()
				want := []string{rowText(&sample{Series: "s0", Time: e.Time, Value: value, Note: note, Class: e.Class}), rowText(&other)}
				if got := readAll(t, bt.Client, newest, ReadOptions{}); !slices.Equal(got, want) {
					t.Errorf("%s: read %q, want %q", what, got, want)
				}
				if got := readIntoColumns(t, bt.Client, newest, into, ReadOptions{}); !slices.Equal(got, want) {
					t.Errorf("%s: columns %q, want %q", what, got, want)
				}
			}
			check("rewritten", 2, note)
			e.Value, e.Note = 3, []byte("late")
			must(t, write(oldest, e))
			switch {
			case v.pattern == codec.BucketNewColumns:
				// The values under the older name are those of two events, and count for none.
				want := []string{rowText(&sample{Series: "s0", Time: e.Time, Value: 2}), rowText(&sample{Series: "s0", Time: other.Time, Value: 7})}
				if got := readAll(t, bt.Client, newest, ReadOptions{Fields: []Field{"total"}}); !slices.Equal(got, want) {
					t.Errorf("written by the older program: read %q, want %q", got, want)
				}
			case len(v.families) == 1 && v.families[0].Life.Timestamp == codec.TimestampWrite, v.pattern == codec.SingleUnserialized && v.classes():
				check("written by the older program", 3, []byte("late")) // which replaces the whole row
			default:
				check("written by the older program", 2, []byte("late"))
			}
		})
	}
}

// TestCompleteColumns asks which columns have the data of all events of a frame.
func TestCompleteColumns(t *testing.T) {
	mapping, _ := versionTables[5].of(third) // total, note, value, v, n
	for _, tt := range []struct {
		total, value, v string // an x for each event that has the column
		from            int
		ok              bool
	}{
		{total: "xx", value: "--", v: "--", from: 0, ok: true},
		{total: "xx", value: "x-", v: "xx", from: 0, ok: true},
		{total: "--", value: "xx", v: "--", from: 2, ok: true},
		{total: "--", value: "xx", v: "xx", from: 2, ok: true},
		{total: "--", value: "--", v: "xx", from: 3, ok: true},
		{total: "x-", value: "xx", v: "--"},
		{total: "x-", value: "-x", v: "--"},
		{total: "x-", value: "--", v: "xx"},
		{total: "--", value: "x-", v: "xx"},
		{total: "--", value: "--", v: "--"},
	} {
		mapping := mapping.untyped()
		shape := mapping.shape()
		a := mapping.rowAssembler("", &shape, nil)
		a.memory = mapping.newMemory()
		for k := range tt.total {
			a.frame.begin(wire.Row{}, at(k), 0, -1, nil)
			for column, has := range map[int]string{0: tt.total, 2: tt.value, 3: tt.v} {
				if has[k] == 'x' {
					a.frame.put(column, &wire.Cell{Micros: 1})
				}
			}
		}
		if from, ok := a.complete(0); from != tt.from || ok != tt.ok {
			t.Errorf("%+v: column %d, %t", tt, from, ok)
		}
	}
}

// TestOlderValueTooLarge reads an older value that the new type cannot represent.
func TestOlderValueTooLarge(t *testing.T) {
	coding := codec.Converted(codec.Binary.Int64, codec.ExactFloat64[int64])
	for v, want := range map[int64]float64{0: 0, -5: -5, 1 << 53: 1 << 53, -1 << 53: -1 << 53} {
		if got, err := coding.Decode(codec.AppendBinaryInt64(nil, v)); err != nil || got != want {
			t.Errorf("%d: %v, %v", v, got, err)
		}
	}
	for _, v := range []int64{1<<53 + 1, -1<<53 - 1, 1 << 62, -1 << 63} {
		if got, err := coding.Decode(codec.AppendBinaryInt64(nil, v)); !errors.Is(err, codec.ErrInexact) || !errors.Is(err, codec.ErrValue) || !strings.Contains(err.Error(), fmt.Sprint(v)) {
			t.Errorf("%d: %v, %v", v, got, err)
		}
	}
}

// TestOlderProgramReadsNewer shows why readers are deployed first: a program that does not
// know a column does not see an event that has nothing else.
func TestOlderProgramReadsNewer(t *testing.T) {
	oldest, _ := versionTables[0].of(first)
	newer, _ := versionTables[0].of(second)
	bt := newBigtable(t, newer)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{newer}, writeAt(86400)).Write(t.Context(), sample{Series: "s0", Time: at(0), Value: 1}))
	if _, err := NewReader(bt.Client, oldest, clockAt(86400)).Latest(t.Context(), sample{Series: "s0"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an event without any column that the program knows: %v", err)
	}
	if _, err := NewReader(bt.Client, newer, clockAt(86400)).reader.project([]Field{"v"}); !errors.Is(err, ErrNoField) {
		t.Errorf("an older name is a field: %v", err)
	}
}

// TestDeleteOlder deletes events of older versions: none of their cells remains.
func TestDeleteOlder(t *testing.T) {
	for _, v := range versionTables {
		t.Run(v.name, func(t *testing.T) {
			oldest, _ := v.of(first)
			newest, _ := v.of(third)
			bt := newBigtable(t, newest)
			events := versionSamples(rand.New(rand.NewPCG(1, 2)), v)
			for i, e := range events {
				by := []*Mapping[sample]{oldest, newest}[i/3%2]
				must(t, NewWriter(bt.Client, []*Mapping[sample]{by}, writeAt(86400*9)).Write(t.Context(), e))
			}
			w := NewWriter(bt.Client, []*Mapping[sample]{newest}, writeAt(86400*9))
			if _, err := w.Delete(t.Context(), events[:3]); err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, bt.Client, newest, ReadOptions{}); len(got) != 28 {
				t.Errorf("%d events after two of the first series are deleted", len(got))
			}
			for _, series := range []string{"s0", "s1"} {
				if _, err := w.DeleteAll(t.Context(), SeriesOf(sample{Series: series})); err != nil {
					t.Fatal(err)
				}
			}
			if cells := qualifiers(t, bt.Client); len(cells) > 0 {
				t.Errorf("after all events are deleted, there are the cells %q", cells)
			}
		})
	}
}
