package codec

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestProbeSeries compares the values of a segment that two keys can contain: a drawn value that only one of
// them holds needs a probe that only this one holds.
func TestProbeSeries(t *testing.T) {
	probed := rapid.StringOfN(rapid.SampledFrom([]rune("a#|-_ \x00é")), 0, 5, -1)
	draw := [...]func(t *rapid.T) any{
		StringSegment: pointers(probed),
		BytesSegment:  pointers(rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 5), rapid.Map(probed, func(v string) []byte { return []byte(v) }))),
		BoolSegment:   pointers(rapid.Bool()),
		Int32Segment:  pointers(rapid.Int32()), Int64Segment: pointers(rapid.Int64()),
		Uint32Segment: pointers(rapid.Uint32()), Uint64Segment: pointers(rapid.Uint64()),
		DurationSegment:  pointers(rapid.Map(rapid.Int64(), func(v int64) time.Duration { return time.Duration(v) })),
		TimestampSegment: pointers(rapid.Map(rapid.Int64Min(0), func(v int64) time.Time { return time.Unix(0, v) })),
		UUIDSegment:      pointers(rapid.Just(UUID{1})),
		EnumSegment:      pointers(rapid.SampledFrom([]int64{-1, 7, 1234})),
	}
	for n := uint64(1); n < 1e18; n *= 10 { // in more digits than one of the keys has
		for _, more := range []KeyForm{{Encoding: KeyDecimal, Pad: 19}, {Encoding: KeyHex, Pad: 16}} {
			wide, narrow := &Key{Segments: []Segment{{Type: Uint64Segment, Form: more}}}, &Key{Segments: []Segment{{Type: Uint64Segment, Form: more}}}
			narrow.Segments[0].Form.Pad = len(strconv.FormatUint(n, map[KeyEncoding]int{KeyDecimal: 10, KeyHex: 16}[more.Encoding]))
			only := func(v any) bool { return wide.Holds(0, v) == nil && narrow.Holds(0, v) != nil }
			if !slices.ContainsFunc(ProbeSeries(0, wide, narrow), only) {
				t.Errorf("no probe has more than %d digits of %+v", narrow.Segments[0].Form.Pad, more)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		of := SegmentType(rapid.IntRange(0, int(EnumSegment)).Draw(t, "type"))
		var keys [2]*Key
		for i := range keys {
			k := &Key{Delimiter: rapid.SampledFrom([]string{"#", "|", "##", "-", "_", ""}).Draw(t, "delimiter"), Structured: rapid.Bool().Draw(t, "structured")}
			fitting := slices.DeleteFunc(allForms(), func(f KeyForm) bool { return f.Validate(of, k.Delimiter) != nil })
			form := rapid.SampledFrom(fitting).Draw(t, "form")
			k.Segments = []Segment{{Kind: ConstSegment, Const: "c"}, {Type: of, Form: form, Joined: rapid.IntRange(0, 3).Draw(t, "joined") == 0, Enum: Enum{{-1, "a-b"}, {7, "a_b"}, {1234, "c"}}}}
			keys[i] = k
		}
		only := func(v any) bool { return keys[0].Holds(0, v) == nil && keys[1].Holds(0, v) != nil }
		if v := draw[of](t); only(v) && !slices.ContainsFunc(ProbeSeries(0, keys[:]...), only) {
			t.Errorf("no probe tells that one key holds what the other refuses: %v", keys[1].Holds(0, v))
		}
	})
}
