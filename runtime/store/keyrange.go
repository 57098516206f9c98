package store

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
)

// KeyRange is the range of row keys [Start, End). An empty Start is the beginning of a
// table, and an empty End its end. In JSON, the keys are base64.
type KeyRange struct{ Start, End string }

// After returns the part of the range after a row key; false if nothing is left.
func (r KeyRange) After(key string) (KeyRange, bool) {
	rows, some := codec.Rows{Start: r.Start, End: r.End}.Behind(key)
	return KeyRange{rows.Start, rows.End}, some
}

// Contains reports whether a row key is in the range.
func (r KeyRange) Contains(key string) bool { return request.Range(r).Contains(key) }

// Done returns the share of the range that precedes a row key, from 0 to 1, as if row
// keys were spread evenly.
func (r KeyRange) Done(key string) float64 {
	switch {
	case key <= r.Start:
		return 0
	case r.End != "" && key >= r.End:
		return 1
	}
	prefix, low, high := r.scale()
	if high <= low {
		return 0
	}
	at := digits(key[min(len(prefix), len(key)):])
	return min(1, float64(max(at, low)-low)/float64(high-low))
}

// At returns the row key that is preceded by a share of the range, from 0 to 1, as if row keys were spread evenly.
func (r KeyRange) At(share float64) string {
	prefix, low, high := r.scale()
	if high <= low {
		return r.Start
	}
	at := high
	if share < 1 {
		at = low + uint64(share*float64(high-low))
	}
	return strings.TrimRight(string(binary.BigEndian.AppendUint64([]byte(prefix), at)), "\x00")
}

// scale returns what both ends begin with, and the next bytes of them as numbers.
func (r KeyRange) scale() (prefix string, low, high uint64) {
	n := 0
	for n < len(r.Start) && n < len(r.End) && r.Start[n] == r.End[n] {
		n++
	}
	if high = digits(r.End[n:]); r.End == "" {
		high = math.MaxUint64
	}
	return r.Start[:n], digits(r.Start[n:]), high
}

// digits returns the first bytes of a key as a number, with zeros for missing ones.
func digits(key string) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
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
