package layout

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestProbes compares the values of a segment that two keys can contain: a drawn value that only one of
// them holds needs a probe that only this one holds.
func TestProbes(t *testing.T) {
	probed := rapid.StringOfN(rapid.SampledFrom([]rune("a#|-_ \x00é")), 0, 5, -1)
	draw := [...]func(t *rapid.T) any{
		codec.StringSegment: pointers(probed),
		codec.BytesSegment:  pointers(rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 5), rapid.Map(probed, func(v string) []byte { return []byte(v) }))),
		codec.BoolSegment:   pointers(rapid.Bool()),
		codec.Int32Segment:  pointers(rapid.Int32()), codec.Int64Segment: pointers(rapid.Int64()),
		codec.Uint32Segment: pointers(rapid.Uint32()), codec.Uint64Segment: pointers(rapid.Uint64()),
		codec.DurationSegment:  pointers(rapid.Map(rapid.Int64(), func(v int64) time.Duration { return time.Duration(v) })),
		codec.TimestampSegment: pointers(rapid.Map(rapid.Int64Min(0), func(v int64) time.Time { return time.Unix(0, v) })),
		codec.UUIDSegment:      pointers(rapid.Just(codec.UUID{1})),
		codec.EnumSegment:      pointers(rapid.SampledFrom([]int64{-1, 7, 1234})),
	}
	for n := uint64(1); n < 1e18; n *= 10 { // in more digits than one of the keys has
		for base, more := range map[int]codec.KeyForm{10: {Encoding: codec.KeyDecimal, Pad: 19}, 16: {Encoding: codec.KeyHex, Pad: 16}} {
			wide, narrow := &codec.Key{Segments: []codec.Segment{{Type: codec.Uint64Segment, Form: more}}}, &codec.Key{Segments: []codec.Segment{{Type: codec.Uint64Segment, Form: more}}}
			narrow.Segments[0].Form.Pad = len(strconv.FormatUint(n, base))
			only := func(v any) bool { return holds(wide, 0, v) == nil && holds(narrow, 0, v) != nil }
			if !slices.ContainsFunc(probes(0, wide, narrow), only) {
				t.Errorf("no probe has more than %d digits of %+v", narrow.Segments[0].Form.Pad, more)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		of := codec.SegmentType(rapid.IntRange(0, int(codec.EnumSegment)).Draw(t, "type"))
		var keys [2]*codec.Key
		for i := range keys {
			k := &codec.Key{Delimiter: rapid.SampledFrom([]string{"#", "|", "##", "-", "_", ""}).Draw(t, "delimiter"), Structured: rapid.Bool().Draw(t, "structured")}
			form := rapid.Custom(func(t *rapid.T) codec.KeyForm {
				return codec.KeyForm{
					Encoding: codec.KeyEncoding(rapid.IntRange(0, int(codec.KeyLittleEndian)).Draw(t, "encoding")),
					Pad:      rapid.SampledFrom([]int{0, 0, 0, 2, 3, 16, 19}).Draw(t, "pad"), Reverse: rapid.Bool().Draw(t, "reverse"), Escape: rapid.Bool().Draw(t, "escape"),
				}
			}).Filter(func(f codec.KeyForm) bool { return f.Validate(of, k.Delimiter) == nil }).Draw(t, "form")
			k.Segments = []codec.Segment{{Kind: codec.ConstSegment, Const: "c"}, {Type: of, Form: form, Joined: rapid.IntRange(0, 3).Draw(t, "joined") == 0, Enum: codec.Enum{{Number: -1, Name: "a-b"}, {Number: 7, Name: "a_b"}, {Number: 1234, Name: "c"}}}}
			keys[i] = k
		}
		only := func(v any) bool { return holds(keys[0], 0, v) == nil && holds(keys[1], 0, v) != nil }
		if v := draw[of](t); only(v) && !slices.ContainsFunc(probes(0, keys[:]...), only) {
			t.Errorf("no probe tells that one key holds what the other refuses: %v", holds(keys[1], 0, v))
		}
	})
}

func pointers[T any](of *rapid.Generator[T]) func(t *rapid.T) any {
	return func(t *rapid.T) any {
		v := of.Draw(t, "value")
		return &v
	}
}

// TestDivides checks which widths divide buckets.
func TestDivides(t *testing.T) {
	const hour = time.Hour
	begin := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		every  time.Duration
		bucket codec.Bucket
		want   bool
	}{
		{hour, codec.Bucket{Every: 24 * hour}, true},
		{hour, codec.Bucket{Every: 24 * hour, Origin: begin.Add(6 * hour)}, true},
		{hour, codec.Bucket{Every: 24 * hour, Origin: begin.Add(30 * time.Minute)}, false},
		{5 * hour, codec.Bucket{Every: 24 * hour}, false},
		{24 * hour, codec.Bucket{Every: 7 * 24 * hour}, true},
		{7 * 24 * hour, codec.Bucket{Every: 7 * 24 * hour}, true},
		{7 * 24 * hour, codec.Bucket{Every: 14 * 24 * hour, Origin: begin}, false},
		{hour, codec.Bucket{Months: 1}, true},
		{24 * hour, codec.Bucket{Months: 1}, true},
		{7 * 24 * hour, codec.Bucket{Months: 1}, false},
		{500 * time.Millisecond, codec.Bucket{Every: 24 * hour}, false},
		{hour, codec.EndlessBucket, false},
		{hour, codec.Bucket{}, true}, // has no width, which is a separate error
		{hour, codec.Bucket{Every: time.Millisecond}, false},
	} {
		assert.Same(t, tt.want, divides(tt.every, tt.bucket), tt.every, tt.bucket)
	}
}
