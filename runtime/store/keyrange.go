package store

import (
	"encoding/json"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// KeyRange is the range of row keys [Start, End). An empty Start is the beginning of a
// table, and an empty End its end. In JSON, the keys are base64.
type KeyRange struct{ Start, End string }

// After returns the part of the range after a row key; false if nothing is left.
func (r KeyRange) After(key string) (KeyRange, bool) {
	rows, some := codec.Rows{Start: r.Start, End: r.End}.Behind(key)
	return KeyRange{rows.Start, rows.End}, some
}

// of returns the range of row keys that consist of the prefix of a span and a key in r.
func (r KeyRange) of(span codec.Span) KeyRange {
	if r == (KeyRange{}) {
		return r
	}
	r.Start = span.Prefix + r.Start
	if r.End != "" {
		r.End = span.Prefix + r.End
	}
	return r
}

// Contains reports whether a row key is in the range.
func (r KeyRange) Contains(key string) bool { return key >= r.Start && (r.End == "" || key < r.End) }

// Done returns the share of the range that precedes a row key, from 0 to 1, as if row
// keys were spread evenly.
func (r KeyRange) Done(key string) float64 {
	switch {
	case key <= r.Start:
		return 0
	case r.End != "" && key >= r.End:
		return 1
	}
	common := 0
	for common < len(r.Start) && common < len(r.End) && r.Start[common] == r.End[common] {
		common++
	}
	start, end := fraction(r.Start, common), fraction(r.End, common)
	if r.End == "" {
		end = 1
	}
	if start >= end {
		return 0
	}
	return min(1, max(0, (fraction(key, common)-start)/(end-start)))
}

// fraction returns the bytes of a key from an index on as the digits of a number from 0
// to 1.
func fraction(key string, from int) float64 {
	sum, digit := 0.0, 1.0
	for i := from; i < len(key) && i < from+8; i++ {
		digit /= 256
		sum += digit * float64(key[i])
	}
	return sum
}

// keyRangeJSON is a KeyRange as JSON, which cannot represent all strings.
type keyRangeJSON struct {
	Start []byte `json:"start,omitempty"`
	End   []byte `json:"end,omitempty"`
}

// MarshalJSON returns the range with its keys in base64.
func (r KeyRange) MarshalJSON() ([]byte, error) {
	return json.Marshal(keyRangeJSON{[]byte(r.Start), []byte(r.End)})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *KeyRange) UnmarshalJSON(text []byte) error {
	var decoded keyRangeJSON
	if err := json.Unmarshal(text, &decoded); err != nil {
		return err
	}
	r.Start, r.End = string(decoded.Start), string(decoded.End)
	return nil
}

// rangesOf returns the ranges between sampled row keys, which are in order. They cover the
// whole table.
func rangesOf(sampled []string) []KeyRange {
	var out []KeyRange
	start := ""
	for _, key := range sampled {
		if key > start { // the last sample is empty: the end of the table
			out = append(out, KeyRange{start, key})
			start = key
		}
	}
	return append(out, KeyRange{Start: start})
}
