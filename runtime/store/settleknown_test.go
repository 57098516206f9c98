package store

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// meter is an event to which a field was added.
type meter struct {
	Series string
	Time   time.Time
	Level  int64
	Added  *int64
}

type meterColumns struct {
	Series []string
	Time   []time.Time
	Level  []int64
	Added  []*int64
}

// meterTables returns the mappings of programs that know the added field, or not, which may have a family apart.
func meterTables(pattern codec.Pattern, knows, apart bool) []*mappingOf[meter] {
	table := func(id string, pattern codec.Pattern, apart bool) *mappingOf[meter] {
		families := []Family{{Name: "f"}}
		parts := []Part{SeriesPart(0, stringSeries), TimePart(1)}
		if pattern.OneValue() {
			serialize := func(dst []byte, e *meter) []byte {
				if dst = strconv.AppendInt(dst, e.Level, 10); e.Added != nil && knows {
					dst = fmt.Appendf(dst, " %d", *e.Added)
				}
				return dst
			}
			parse := func(e *meter, datum []byte) (err error) {
				first, rest, has := bytes.Cut(datum, []byte(" "))
				if e.Level, err = strconv.ParseInt(string(first), 10, 64); err == nil && has && knows {
					e.Added = new(int64)
					*e.Added, err = strconv.ParseInt(string(rest), 10, 64)
				}
				return err
			}
			parts = append(parts, EventColumn("e", serialize, parse, FieldPart[int64](2), OptionalPart[int64](3)))
		} else if parts = append(parts, RequiredColumn(2, "level", codec.Binary.Int64)); knows {
			family := 0
			if apart {
				family, families = 1, append(families, Family{Name: "g"})
			}
			parts = append(parts, OptionalColumn(3, "added", codec.Binary.Int64).In(family))
		}
		key := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}}, Bucket: codec.EndlessBucket}
		switch {
		case !pattern.Bucketed():
			key.Bucket, key.Time = codec.Bucket{}, codec.TimeFormat{Kind: codec.UnixMillis}
			key.Segments = append(key.Segments, codec.Segment{Kind: codec.TimeSegment})
		case !pattern.NewestOnly():
			key.Bucket = bucketOf(24*time.Hour, "2006-01-02")
			key.Segments = append(key.Segments, codec.Segment{Kind: codec.BucketSegment})
		}
		return newMappingOf(columnsByName[meter, meterColumns](parts...), mappingOf[meter]{
			Table: Table{ID: id, Families: families}, Pattern: pattern, Key: key, Precision: time.Millisecond,
			Check: func(*meter) error { return nil },
		})
	}
	all, now := table("all", pattern, apart), table("now", codec.Latest, false)
	all.State = now
	return []*mappingOf[meter]{all, now}
}

// TestOlderProgramsRepairNothingUnknown deletes the newest event with a program that lacks a field of the event
// before: it is found by programs that know the field. If the event lacks it, the row is repaired.
func TestOlderProgramsRepairNothingUnknown(t *testing.T) {
	t.Parallel()
	for _, pattern := range testlong.Sample([]codec.Pattern{codec.BucketNewCells, codec.SingleUnserialized, codec.SingleSerialized, codec.BucketSerialized, codec.BucketOffsets}, 3) {
		for _, apart := range []bool{false, true} {
			if apart && pattern.OneValue() {
				continue
			}
			v1, v2 := meterTables(pattern, false, apart), meterTables(pattern, true, apart)
			bt := serve(t, v2...)
			older, newer := newWriterOf(bt.Client, v1, writeAt(3600)), newWriterOf(bt.Client, v2, writeAt(3600))
			for name, remove := range map[string]func(e meter) error{
				"Delete": func(e meter) error { _, err := older.Delete(t.Context(), []meter{e}); return err },
				"DeleteRange": func(e meter) error {
					_, err := older.DeleteRange(t.Context(), seriesOf(e), e.Time, e.Time.Add(time.Second))
					return err
				},
				"Replace": func(e meter) error {
					return older.Replace(t.Context(), e, meter{Series: "moved", Time: e.Time, Level: 3})
				},
				"backfill": func(e meter) error {
					if _, err := older.Delete(t.Context(), []meter{e}); err != nil {
						return err
					}
					change(t, bt.Client, "now", e.Series, (*bigtable.Mutation).DeleteRow)
					_, err := backfillOf(t.Context(), bt.Client, v1, BackfillOptions{Source: "all", Target: "now", Now: clockAt(3600).Now})
					return err
				},
			} {
				for _, has := range []bool{false, true} {
					series := fmt.Sprint(name, has)
					first, second := meter{Series: series, Time: at(60), Level: 1}, meter{Series: series, Time: at(120), Level: 2}
					if has {
						first.Added = new(int64)
						*first.Added = 11
					}
					must(t, newer.Write(t.Context(), first))
					must(t, newer.Write(t.Context(), second))
					must(t, remove(second))
					want := fmt.Sprint(1, has)
					for how, got := range meterReads(t, bt, v2[0], series) {
						assert.Same(t, want, got, pattern, apart, name, how)
					}
					row, err := bt.Client.Open("now").ReadRow(t.Context(), series)
					must(t, err)
					is := func(c bigtable.ReadItem) bool { return strings.Contains(c.Column, markPrefix) }
					marked := slices.ContainsFunc(row["f"], is)
					assert.Same(t, has, marked, pattern, apart, name, "the row is marked if the event has the field")
				}
			}
		}
	}
}

// meterReads returns the newest event of a series, by ways to read it.
func meterReads(t *testing.T, bt *storetest.Bigtable, l *mappingOf[meter], series string) map[string]string {
	r := newReaderOf(bt.Client, l, clockAt(3600))
	text := func(e meter) string { return fmt.Sprint(e.Level, e.Added != nil) }
	newest, err := r.Latest(t.Context(), meter{Series: series})
	must(t, err)
	out := map[string]string{"Latest": text(newest)}
	for _, of := range made(t, r.LatestMany(t.Context(), []meter{{Series: series}}), text) {
		out["LatestMany"] = of
	}
	q := Query{Name: "All"}
	for e, err := range r.Read(t.Context(), q.Bind(&meter{}), at(0), at(7200), ReadOptions{LatestOnly: true}) {
		must(t, err)
		if e.Series == series {
			out["LatestOnly"] = text(e)
		}
	}
	return out
}
