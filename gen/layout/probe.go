package layout

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// holds returns why row keys cannot contain a series value, given a pointer to it as in [codec.KeyValues]; nil if they
// can, unless other segments make the key too long.
func holds(k *codec.Key, series int, value any) error {
	i := k.SegmentOf(series)
	if i < 0 {
		return nil
	}
	_, err := k.AppendPart(nil, i, i+1, &codec.KeyValues{Series: append(make([]any, series), value)})
	return err
}

// segmentTypes has a value of each type of a series value.
var segmentTypes = [...]any{
	codec.StringSegment: "", codec.BytesSegment: []byte(nil), codec.BoolSegment: false, codec.Int32Segment: int32(0), codec.Int64Segment: int64(0),
	codec.Uint32Segment: uint32(0), codec.Uint64Segment: uint64(0), codec.DurationSegment: time.Duration(0), codec.TimestampSegment: time.Time{},
	codec.UUIDSegment: codec.UUID{}, codec.EnumSegment: int64(0),
}

// probes returns values of a series value, as pointers to them, that tell which values row keys can
// contain: if one of the given keys can contain a value that another cannot, so it is with one of these,
// provided that delimiters are no letters or digits.
func probes(series int, keys ...*codec.Key) []any {
	first := keys[0].SegmentOf(series)
	if first < 0 {
		return nil
	}
	s := &keys[0].Segments[first]
	of := reflect.TypeOf(segmentTypes[s.Type])
	var out []any
	add := func(v any) {
		p := reflect.New(of)
		p.Elem().Set(reflect.ValueOf(v).Convert(of))
		out = append(out, p.Interface())
	}
	switch s.Type {
	case codec.StringSegment, codec.BytesSegment:
		for _, text := range probeTexts(series, keys) {
			add(text)
		}
	case codec.BoolSegment:
		add(false)
		add(true)
	case codec.UUIDSegment:
		add(codec.UUID{})
	case codec.EnumSegment:
		for _, v := range s.Enum {
			add(v.Number)
		}
	case codec.TimestampSegment:
		for _, n := range probeNumbers() {
			add(time.Unix(0, int64(n)))
		}
	default:
		for _, n := range probeNumbers() {
			add(n) // of a type with fewer bits, another one of its numbers
		}
	}
	return out
}

// probeTexts returns texts with what keys treat in different ways: no bytes, those of a length that a segment has,
// and ones that contain a delimiter, a part of it, or a byte that sorts before it, as they are or encoded.
func probeTexts(series int, keys []*codec.Key) []string {
	special, widths := []string{"", "\x00", "a", "\xfb\xef\xbe", "\xff\xff\xff"}, []int{} // ---- and ____ in base64url
	for _, k := range keys {
		for n := range len(k.Delimiter) {
			special = append(special, k.Delimiter[:n+1])
		}
		if i := k.SegmentOf(series); i >= 0 {
			widths = append(widths, k.Segments[i].Form.Pad)
		}
	}
	var out []string
	for _, s := range special {
		out = append(out, s, s+"a", "a"+s)
		for _, width := range widths {
			if fill := width - len(s); fill > 0 {
				out = append(out, s+strings.Repeat("a", fill), strings.Repeat("a", fill)+s)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// probeNumbers returns the limits of all types of integers as 64 bits, −1, and numbers of each number of digits, in
// decimal and in hex.
func probeNumbers() []uint64 {
	out := []uint64{math.MaxUint64, 1<<63 - 1, 1 << 63, 1<<32 - 1, 1<<31 - 1, 1 << 31}
	for _, base := range []uint64{10, 16} {
		for n := uint64(1); n <= math.MaxUint64/base; n *= base {
			out = append(out, n-1, n)
		}
	}
	return out
}
