package codec

import (
	"slices"
	"strings"
)

// Holds returns why row keys cannot contain a series value, given a pointer to it as in [KeyValues]; nil if
// they can, unless other segments make the key too long. The error is a [*FieldError].
func (k *Key) Holds(series int, value any) error {
	i := k.SegmentOf(series)
	if i < 0 {
		return nil
	}
	s, w := &k.Segments[i], k.writer(nil)
	w.segment(s, s.Joined, &KeyValues{Series: append(make([]any, series), value)}, 0)
	if w.err == nil {
		return nil
	}
	return w.err
}

// probesOf returns pointers to values as keys have them.
func probesOf[V, T any](values []V, as func(v V) T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		to := as(v)
		out[i] = &to
	}
	return out
}

// probeTexts returns texts with what keys treat in different ways: no bytes, those of a length that a segment has,
// and ones that contain a delimiter, a part of it, or a byte that sorts before it, as they are or encoded.
func probeTexts(series int, keys []*Key) []string {
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

// probeInts returns the numbers at the limits of a type, and those of [probeUints] between them.
func probeInts(low, high int64) []int64 {
	out := []int64{max(low, -1)}
	for _, v := range probeUints(uint64(high)) {
		out = append(out, int64(v))
	}
	return append(out, low)
}

// probeUints returns numbers of each number of digits, in decimal and in hex, up to high.
func probeUints(high uint64) []uint64 {
	out := []uint64{0, high}
	for _, base := range []uint64{10, 16} {
		for n := uint64(1); n <= high/base; n *= base {
			out = append(out, n-1, n)
		}
	}
	return out
}
