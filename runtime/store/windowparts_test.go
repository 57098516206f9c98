package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// withKey gives a mapping other row keys.
func withKey(l *mappingOf[sample], id string, key codec.Key) *mappingOf[sample] {
	l.Table.ID, l.Key = id, key
	keys := l.untyped()
	l.Put = func(e *sample, c *eventCells) {
		c.Row(keys.rowKey(event{e}, ""))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// partedMappings are mappings whose windows are read in parts: with plain, salted and reversed keys.
func partedMappings() []*mappingOf[sample] {
	salt := codec.Segment{Kind: codec.SaltSegment, Buckets: 5, Salted: []int{0}}
	series, bucket, moment := codec.Segment{Name: "series"}, codec.Segment{Kind: codec.BucketSegment}, codec.Segment{Kind: codec.TimeSegment}
	falling := codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}
	day := days().Key.Bucket
	fallingDay := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: falling}}
	return []*mappingOf[sample]{
		days(), singles(), metrics(), classed(days()), unsorted(metrics()),
		withKey(days(), "salted", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, bucket}, Bucket: day}),
		withKey(singles(), "salted_singles", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, moment}, Time: falling}),
		withKey(days(), "falling", codec.Key{Delimiter: "#", Segments: []codec.Segment{series, bucket}, Bucket: fallingDay}),
		withKey(singles(), "falling_singles", codec.Key{Delimiter: "#", Segments: []codec.Segment{series, moment}, Time: falling}),
		withKey(days(), "falling_salted", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, bucket}, Bucket: fallingDay}),
		withKey(days(), "terminated", codec.Key{Segments: []codec.Segment{series, bucket}, Bucket: codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.BinaryTime}}}}),
	}
}

// windowsIn returns the windows of a read, and its errors among them.
func windowsIn(ctx context.Context, r *readerOf[sample], l *mapping, of Selection, from, to time.Time, width time.Duration, o WindowOptions) (out []string) {
	for w, err := range readWindows(ctx, r, intoColumns(l), sampleWindows, of, from, to, window.Every(width), o) {
		if err != nil {
			out = append(out, "error: "+err.Error())
			continue
		}
		out = append(out, fmt.Sprintf("%s undecodable %d", windowText(w), w.Undecodable))
	}
	return out
}

// TestKeyScale checks that keys between others are in order, in their range, and never in the middle
// of a series.
func TestKeyScale(t *testing.T) {
	same(t, "a5#", newKeyScale("a1#", "a9#", "#", 0).at(0.5))
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
