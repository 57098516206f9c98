package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// offsets returns days with one column per sample.
func offsets() *Mapping[sample] {
	l := days()
	l.Pattern, l.Table.ID, l.Columns = codec.BucketOffsets, "offsets", []Column{{Name: "v", Whole: true}}
	l.Put = putValue(l)
	return l
}

// everywhere returns a query of all series whose keys select the time.
func everywhere(l *Mapping[sample]) *testQuery[sample] {
	q := all("")
	q.Keys = func(*sample) (*codec.KeyPattern, error) {
		p := codec.NewKeyPattern("#")
		p.Any()
		p.Time()
		return p.Pattern()
	}
	return q
}

// TestForeignTimestamps reads cells that other programs wrote with timestamps that are
// not event times: the time of the write, 0, or past the year 9999. If keys or columns
// contain the event time, the read must return all of them that garbage collection
// keeps.
func TestForeignTimestamps(t *testing.T) {
	const times = 5
	month := 30 * 24 * time.Hour
	write := aged("f.1", month)
	write.Life.Timestamp = codec.TimestampWrite
	versions := codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: 2}
	many := Family{Name: "f.1", GC: versions, Life: codec.Lifetime{Retention: versions.Retention(0)}}
	now := bigtable.Timestamp(at(86400 * 20).UnixMicro())
	for name, c := range map[string]struct {
		mapping *Mapping[sample]
		family  Family
		stamps  []bigtable.Timestamp
	}{
		"rows, kept":            {singles(), Family{Name: "f.1"}, []bigtable.Timestamp{0, 1000, now, 300_000_000_000_000_000}},
		"rows, versions":        {singles(), many, []bigtable.Timestamp{0, 1000, now, 300_000_000_000_000_000}},
		"rows, for a month":     {singles(), aged("f.1", month), []bigtable.Timestamp{now, now - 86_400_000_000, 300_000_000_000_000_000}},
		"rows, from write":      {singles(), write, []bigtable.Timestamp{now, 300_000_000_000_000_000}},
		"columns, kept":         {offsets(), Family{Name: "f.1"}, []bigtable.Timestamp{0, 1000, now, 300_000_000_000_000_000}},
		"columns, versions":     {offsets(), many, []bigtable.Timestamp{0, 1000, now, 300_000_000_000_000_000}},
		"columns, from write":   {offsets(), write, []bigtable.Timestamp{now, 300_000_000_000_000_000}},
		"rows, of two families": {singles(), Family{Name: "f.1"}, []bigtable.Timestamp{now}},
	} {
		t.Run(name, func(t *testing.T) {
			l := c.mapping
			l.Table.Families = []Family{c.family}
			if name == "rows, of two families" {
				l.Table.Families = append(l.Table.Families, aged("g", time.Hour))
				l.Columns[1].Family = 1
			}
			bt := newBigtable(t, l)
			clock := clockAt(86400 * 20)
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(1)).WriteAll(t.Context(), spread(times)))
			table := bt.Client.Open(l.Table.ID)
			for _, stamp := range c.stamps {
				moved := map[string]*bigtable.Mutation{}
				must(t, table.ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
					m := bigtable.NewMutation()
					for _, item := range row["f.1"] {
						qualifier := item.Column[len("f.1:"):]
						m.DeleteCellsInColumn("f.1", qualifier)
						m.Set("f.1", qualifier, stamp, item.Value)
					}
					moved[row.Key()] = m
					return true
				}))
				for key, m := range moved {
					must(t, table.Apply(t.Context(), key, m))
				}
				r := NewReader(bt.Client, l, clock)
				for query, q := range map[string]*testQuery[sample]{"Read": wholeOf(r), "Query": everywhere(l)} {
					what := fmt.Sprintf("%s at %d", query, stamp)
					got := func(o ReadOptions) (values []uint64) {
						for e, err := range readOf(t.Context(), r, q, SeriesOf(sample{Series: "s"}), at(1*86400), at(4*86400), o) {
							must(t, err)
							values = append(values, e.Value)
						}
						return values
					}
					for o, want := range map[*ReadOptions][]uint64{
						{}:                            {1, 2, 3},
						{NewestFirst: true}:           {3, 2, 1},
						{NewestFirst: true, Limit: 1}: {3},
						{LatestOnly: true}:            {3},
					} {
						if fmt.Sprint(got(*o)) != fmt.Sprint(want) {
							t.Errorf("%s with %+v: %v, want %v", what, *o, got(*o), want)
						}
					}
				}
				latest, err := r.Latest(t.Context(), sample{Series: "s"})
				if err != nil || latest.Value != times-1 {
					t.Errorf("Latest at %d: %+v, %v", stamp, latest, err)
				}
			}
		})
	}
}

// spread returns samples of series s, one per day.
func spread(n int) []sample {
	samples := numbered(n)
	for i := range samples {
		samples[i].Series, samples[i].Time = "s", at(i*86400)
	}
	return samples
}

// The newest buckets may have no column of the mapping. Latest then continues with
// earlier ones, in order of time, even if labels do not sort.
func TestLatestSkipsForeignBuckets(t *testing.T) {
	for _, l := range []*Mapping[sample]{unsorted(days()), days(), singles()} {
		bt := newBigtable(t, l)
		samples := spread(12)
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(1)).WriteAll(t.Context(), samples[:8]))
		other := *l
		other.Columns = []Column{{Name: "unknown"}, {Name: "unknown too"}}
		must(t, NewWriter(bt.Client, []*Mapping[sample]{&other}, writeAt(1)).WriteAll(t.Context(), samples[8:]))
		latest, err := NewReader(bt.Client, l, clockAt(1)).Latest(t.Context(), sample{Series: "s"})
		if err != nil || latest.Value != 7 {
			t.Errorf("%s: %+v, %v", l.Table.ID, latest, err)
		}
	}
}

// In a bucket, the cell timestamp is the event time. A cell of another program whose
// timestamp is not in the bucket of its row is an error and not an event; the other
// events of the row are read.
func TestTimestampsOutsideTheBucket(t *testing.T) {
	for _, l := range []*Mapping[sample]{days(), metrics()} {
		bt := newBigtable(t, l)
		l.Columns = l.Columns[:1]
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(1)).WriteAll(t.Context(), spread(3)))
		table := bt.Client.Open(l.Table.ID)
		row, qualifier := "s#2021-03-06", "v.1"
		if l.Pattern == codec.BucketNewColumns {
			row, qualifier = "s#v.1#2021-03-06", "77"
		}
		for _, stray := range []time.Time{at(0), at(2 * 86400), at(90 * 86400)} {
			m := bigtable.NewMutation()
			m.Set("f.1", qualifier, bigtable.Time(stray), codec.AppendBinaryUint64(nil, 77))
			must(t, table.Apply(t.Context(), row, m))
			r := NewReader(bt.Client, l, clockAt(1))
			for _, o := range []ReadOptions{{}, {NewestFirst: true}} {
				var got []uint64
				var failed []error
				for e, err := range r.Read(t.Context(), SeriesOf(sample{Series: "s"}), at(0), at(100*86400), o) {
					if err != nil {
						failed = append(failed, err)
						continue
					}
					got = append(got, e.Value)
				}
				var decode *DecodeError
				if len(got) != 3 || len(failed) != 1 || !errors.As(failed[0], &decode) || !errors.Is(failed[0], codec.ErrTimeRange) || decode.Row != row || !decode.Time.Equal(stray) {
					t.Errorf("%s, %v, %+v: %v, %v", l.Table.ID, stray, o, got, failed)
				}
			}
			m = bigtable.NewMutation()
			m.DeleteTimestampRange("f.1", qualifier, bigtable.Time(stray), bigtable.Time(stray)+1000)
			must(t, table.Apply(t.Context(), row, m))
		}
		// A newer stray cell hides the newest event, and Latest reports it.
		m := bigtable.NewMutation()
		row = strings.Replace(row, "06", "07", 1)
		m.Set("f.1", qualifier, bigtable.Time(at(90*86400)), codec.AppendBinaryUint64(nil, 77))
		must(t, table.Apply(t.Context(), row, m))
		if e, err := NewReader(bt.Client, l, clockAt(1)).Latest(t.Context(), sample{Series: "s"}); !errors.Is(err, codec.ErrTimeRange) {
			t.Errorf("%s: %+v, %v", l.Table.ID, e, err)
		}
	}
}
