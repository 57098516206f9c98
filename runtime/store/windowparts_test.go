package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// withKey gives a mapping other row keys.
func withKey(l *Mapping[sample], id string, key codec.Key) *Mapping[sample] {
	l.Table.ID, l.Key = id, key
	keys := l.untyped()
	l.Put = func(e *sample, c *Cells) {
		c.Row(keys.rowKey(event{e}, ""))
		c.Set(0, codec.AppendBinaryUint64(nil, e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// partedMappings are mappings whose windows are read in parts: with plain, salted and reversed keys.
func partedMappings() []*Mapping[sample] {
	salt := codec.Segment{Kind: codec.SaltSegment, Buckets: 5, Salted: []int{0}}
	series, bucket, moment := codec.Segment{Name: "series"}, codec.Segment{Kind: codec.BucketSegment}, codec.Segment{Kind: codec.TimeSegment}
	falling := codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}
	day := days().Key.Bucket
	fallingDay := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: falling}}
	all := []*Mapping[sample]{
		days(), singles(), metrics(), classed(days()), unsorted(metrics()),
		withKey(days(), "salted", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, bucket}, Bucket: day}),
		withKey(singles(), "salted_singles", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, moment}, Time: falling}),
		withKey(days(), "falling", codec.Key{Delimiter: "#", Segments: []codec.Segment{series, bucket}, Bucket: fallingDay}),
		withKey(singles(), "falling_singles", codec.Key{Delimiter: "#", Segments: []codec.Segment{series, moment}, Time: falling}),
		withKey(days(), "falling_salted", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, bucket}, Bucket: fallingDay}),
		withKey(days(), "terminated", codec.Key{Segments: []codec.Segment{series, bucket}, Bucket: codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.BinaryTime}}}}),
	}
	for _, l := range all {
		l.seriesOf = func(e *sample) *string { return &e.Series }
	}
	return all
}

// partedSamples returns samples of 40 series, whose names have different lengths.
func partedSamples(random *rand.Rand, l *Mapping[sample]) (out []sample) {
	for i := range 25 {
		name := []string{fmt.Sprint(i * i), fmt.Sprintf("s%02d", i), fmt.Sprintf("%c", 'a'+i%26)}[random.IntN(3)]
		for range 1 + random.IntN(15) {
			e := sample{Series: name, Time: at(random.IntN(5*86400) / 60 * 60), Value: random.Uint64(), Note: []byte("x")}
			if l.Table.hasClasses() {
				e.Class = 1
			}
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b sample) int { return strings.Compare(a.Series+a.Time.String(), b.Series+b.Time.String()) })
	return slices.CompactFunc(out, func(a, b sample) bool { return a.Series == b.Series && a.Time.Equal(b.Time) })
}

// windowsIn returns the windows of a read, and its errors among them.
func windowsIn(ctx context.Context, r *Reader[sample], l *mapping, of Selection[sample], from, to time.Time, width time.Duration, o WindowOptions) (out []string) {
	for w, err := range Windows(ctx, r, intoColumns(l), sampleWindows, of, from, to, window.Every(width), o) {
		if err != nil {
			out = append(out, "error: "+err.Error())
			continue
		}
		out = append(out, fmt.Sprintf("%s undecodable %d", windowText(w), w.Undecodable))
	}
	return out
}

// TestWindowsInParts compares windows of several series that are read in parts with those of one
// read, in their order and with their errors, for keys of all kinds.
func TestWindowsInParts(t *testing.T) {
	const now = 86400 * 6
	for _, l := range partedMappings() {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(29, 3))
			bt := newBigtable(t, l)
			samples := partedSamples(random, l)
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(now)).WriteAll(t.Context(), samples))
			every := &Query[sample]{Name: "All"}
			parts := 0
			reads := testlong.Pick(6, 40)
			for i := range reads {
				switch i {
				case reads / 3:
					spoil(t, l, bt.Client)
				case reads / 2: // a key of no series, among the others
					m := bigtable.NewMutation()
					m.Set(l.Table.Families[0].Name, "v.1", bigtable.Time(at(60)), []byte("12345678"))
					must(t, bt.Client.Open(l.Table.ID).Apply(t.Context(), samples[len(samples)/2].Series+"#none", m))
				}
				of := every.Bind(sample{})
				if random.IntN(2) == 0 || l.Pattern == codec.BucketNewColumns {
					of = Selection[sample]{Many: true}
					for range 1 + random.IntN(30) {
						of.Low = append(of.Low, sample{Series: samples[random.IntN(len(samples))].Series})
					}
				}
				from, to := at(random.IntN(86400)), at(86400+random.IntN(86400*4))
				width := []time.Duration{time.Hour, 24 * time.Hour, 48 * time.Hour}[random.IntN(3)]
				o := WindowOptions{NewestFirst: random.IntN(3) == 0, Fill: window.Fill(random.IntN(4)), Limit: random.IntN(2) * random.IntN(100)}
				if random.IntN(4) == 0 {
					o.By = []SeriesValue{}
				}
				o.Parallelism = -1
				want := windowsIn(t.Context(), NewReader(bt.Client, l, clockAt(now)), l.untyped(), of, from, to, width, o)
				var sent atomic.Int64
				client := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
					return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
						sent.Add(1)
						return api.ReadRows(ctx, set, f, opts...)
					}}
				}}
				r := NewReader([]Client{bt.Client, client}[i%2], l, clockAt(now))
				r.reader.alone = 1 + random.IntN(20)
				o.Parallelism = 1 + random.IntN(4)
				got := windowsIn(t.Context(), r, l.untyped(), of, from, to, width, o)
				if !slices.Equal(got, want) {
					t.Fatalf("%v of %+v with %+v: %s", width, of.Low, o, cmp.Diff(want, got))
				}
				if sent.Load() > 1 {
					parts++
				}
			}
			if parts == 0 {
				t.Error("no read was split")
			}
		})
	}
}

// TestBrokenWindowsInParts checks that a read whose streams break after any number of rows yields
// the first windows and then the error, and that no request is in progress after it, or after a
// loop that stops.
func TestBrokenWindowsInParts(t *testing.T) {
	const now = 86400 * 6
	for _, l := range partedMappings() {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(29, 4))
			bt := newBigtable(t, l)
			samples := partedSamples(random, l)
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(now)).WriteAll(t.Context(), samples))
			of := (&Query[sample]{Name: "All"}).Bind(sample{})
			if l.Pattern == codec.BucketNewColumns {
				of = Selection[sample]{Many: true}
				for _, e := range samples {
					of.Low = append(of.Low, sample{Series: e.Series})
				}
			}
			read := func(ctx context.Context, client Client, limit int) []string {
				r := NewReader(client, l, clockAt(now))
				r.reader.alone = 5
				return windowsIn(ctx, r, l.untyped(), of, at(0), at(now), time.Hour, WindowOptions{Parallelism: 3, Limit: limit})
			}
			whole := read(t.Context(), bt.Client, 0)
			for range testlong.Pick(5, 50) {
				var rows, open atomic.Int64
				after := int64(random.IntN(40))
				client := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
					return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
						open.Add(1)
						defer open.Add(-1)
						broken := false
						err := api.ReadRows(ctx, set, func(row bigtable.Row) bool {
							broken = rows.Add(1) > after
							return !broken && f(row)
						}, opts...)
						if broken {
							err = errors.New("broken")
						}
						return err
					}}
				}}
				got := read(t.Context(), client, 0)
				if rows.Load() > after {
					last := len(got) - 1
					if last < 0 || got[last] != "error: broken" || last > len(whole) || !slices.Equal(got[:last], whole[:last]) {
						t.Fatalf("after %d rows: %s", after, cmp.Diff(whole, got))
					}
				} else if !slices.Equal(got, whole) {
					t.Fatalf("after %d rows: %s", after, cmp.Diff(whole, got))
				}
				if n := open.Load(); n != 0 {
					t.Fatalf("%d requests are in progress after an error", n)
				}
				after = 1 << 40
				if limit := 1 + random.IntN(len(whole)); !slices.Equal(read(t.Context(), client, limit), whole[:limit]) || open.Load() != 0 {
					t.Fatalf("%d windows: %d requests are in progress", limit, open.Load())
				}
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			var rows atomic.Int64
			cancels := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
				return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
					return api.ReadRows(ctx, set, func(row bigtable.Row) bool {
						if rows.Add(1) == 1 {
							cancel(errors.New("enough"))
						}
						return f(row)
					}, opts...)
				}}
			}}
			got := read(ctx, cancels, 0)
			if last := len(got) - 1; last < 0 || !strings.Contains(got[last], "enough") || last > len(whole) || !slices.Equal(got[:last], whole[:last]) {
				t.Fatalf("canceled: %s", cmp.Diff(whole, got))
			}
		})
	}
}

// TestKeyScale checks that keys between others are in order, in their range, and never in the middle
// of a series.
func TestKeyScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter, most := "", 4
		name := rapid.StringMatching(`[\x00-\xff]{4}`)
		if rapid.Bool().Draw(t, "delimiter") {
			delimiter, most = "#", 0
			name = rapid.StringMatching(`([0-9]{1,4}|[a-f0-9]{3}|[a-zA-Z_ -]{0,5})#([0-9]{1,4}|[a-f0-9]{3}|[a-zA-Z_ -]{0,5})#`)
		}
		names := rapid.SliceOfN(name, 2, 20).Draw(t, "series")
		slices.Sort(names)
		from, to := names[0], names[len(names)-1]
		if rapid.Bool().Draw(t, "backward") {
			from, to = to, from
		}
		s := newKeyScale(from, to, delimiter, most)
		last := ""
		for i := range 50 {
			at := s.at(float64(i+1) / 50)
			if i > 0 && at != last && (at < last) != (to < from) {
				t.Fatalf("%q comes after %q on the way from %q to %q", at, last, from, to)
			}
			last = at
			for _, n := range names {
				if len(at) > len(n) && strings.HasPrefix(at, n) {
					t.Fatalf("%q is in the series %q", at, n)
				}
			}
		}
	})
}
