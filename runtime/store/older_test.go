package store

import (
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
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
func (v versionTable) of(of version) (*mappingOf[sample], *columnsOf[sample, versionColumns]) {
	older := Was("n", codec.Text.Bytes)
	family := 0
	if v.moved {
		older, family = older.In(1), 1
	}
	v1, v2 := Was("v", codec.Converted(codec.Binary.Uint32, codec.ToUint64)), Was("value", codec.Text.Uint64)
	fields := map[version][]Part{
		first: {
			RequiredColumn(3, "v", codec.Converted(codec.Binary.Uint32, codec.ToUint64)),
			OptionalBytesColumn(4, "n", codec.Text.Bytes).In(family),
		},
		second: {
			RequiredColumn(3, "value", codec.Text.Uint64, v1),
			OptionalBytesColumn(4, "note", codec.Binary.Bytes, older),
		},
		third: {
			RequiredColumn(3, "total", codec.Binary.Uint64, v2, v1),
			OptionalBytesColumn(4, "note", codec.Binary.Bytes, older),
		},
	}[of]
	fields[0].encode = map[version]func(dst []byte, v any) []byte{
		first:  func(dst []byte, v any) []byte { return codec.Binary.Uint32.Append(dst, uint32(*v.(*uint64))) },
		second: func(dst []byte, v any) []byte { return codec.Text.Uint64.Append(dst, *v.(*uint64)) },
		third:  func(dst []byte, v any) []byte { return codec.Binary.Uint64.Append(dst, *v.(*uint64)) },
	}[of]
	parts := []Part{
		SeriesPart(0, stringSeries), TimePart(1),
	}
	if v.classes() {
		parts = append(parts, ClassPart[int](2))
	}
	columns := columnsByName[sample, versionColumns](append(parts, fields...)...)
	return newMappingOf(columns, mappingOf[sample]{
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

// TestRewriteDeletesOlder rewrites an event of an older version, whose cells are deleted. Then the older program
// writes it again: what has the newest name is read. Deletions leave nothing of either program.
func TestRewriteDeletesOlder(t *testing.T) {
	for _, v := range versionTables {
		t.Run(v.name, func(t *testing.T) {
			oldest, _ := v.of(first)
			newest, into := v.of(third)
			bt := newBigtable(t, newest)
			write := func(l *mappingOf[sample], e sample, opts ...WriteOptions) error {
				return newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400*9)).Write(t.Context(), e, opts...)
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
			metrics := v.pattern == codec.BucketNewColumns // which is append-only
			assert.Is(t, map[bool]error{true: ErrSeveralRows, false: ErrExists}[metrics], write(newest, e, ifAbsent))
			must(t, write(newest, e))
			r := newReaderOf(bt.Client, newest, clockAt(86400*9))
			check := func(what string, value uint64, note []byte, o ReadOptions) {
				t.Helper()
				e.Value, e.Note = value, note
				want := []string{rowText(e), rowText(other)}
				got := made(t, r.Read(t.Context(), seriesOf(sample{Series: "s0"}), at(0), at(86400*9), o), rowText)
				var c versionColumns
				must(t, readColumns(t.Context(), r, into, &c, seriesOf(sample{Series: "s0"}), at(0), at(86400*9), o))
				if !slices.Equal(got, want) || !slices.Equal(c.Value, []uint64{value, other.Value}) || string(c.Note[0]) != string(note) {
					t.Errorf("%s: read %q and %+v, want %q", what, got, c, want)
				}
			}
			if metrics {
				check("rewritten", 2, []byte("old"), ReadOptions{})
			} else if check("rewritten", 2, nil, ReadOptions{}); storedCells(t, bt, "versions") != 3 {
				t.Errorf("after the event is rewritten, there are %d cells", storedCells(t, bt, "versions"))
			}
			e.Value, e.Note = 3, []byte("late")
			must(t, write(oldest, e))
			switch {
			case metrics: // the values under the older name are those of two events, and count for none
				other.Note = nil
				check("written by the older program", 2, nil, ReadOptions{Fields: []Field{"total"}})
			case len(v.families) == 1 && v.families[0].Life.Timestamp == codec.TimestampWrite, v.pattern == codec.SingleUnserialized && v.classes():
				check("written by the older program", 3, []byte("late"), ReadOptions{}) // which replaces the whole row
			default:
				check("written by the older program", 2, []byte("late"), ReadOptions{})
			}
			w := newWriterOf(bt.Client, []*mappingOf[sample]{newest}, writeAt(86400*9))
			if _, err := w.Delete(t.Context(), []sample{e}); err != nil || storedCells(t, bt, "versions") != 2 {
				t.Errorf("%d cells are left: %v", storedCells(t, bt, "versions"), err)
			}
			if _, err := w.DeleteAll(t.Context(), seriesOf(other)); err != nil || storedCells(t, bt, "versions") > 0 {
				t.Errorf("%d cells are left: %v", storedCells(t, bt, "versions"), err)
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
			a.frame.Begin(wire.Row{}, at(k), 0, -1, nil)
			for column, has := range map[int]string{0: tt.total, 2: tt.value, 3: tt.v} {
				if has[k] == 'x' {
					a.frame.Put(column, &wire.Cell{Micros: 1})
				}
			}
		}
		if from, ok := a.complete(0); from != tt.from || ok != tt.ok {
			t.Errorf("%+v: column %d, %t", tt, from, ok)
		}
	}
}
