package beamstore

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// AppendJSONFloat64 appends a member of a JSON object with a number. JSON has no numbers that
// are not finite: they become the strings that the JSON form of protobuf uses.
func AppendJSONFloat64(dst []byte, name string, v float64) []byte {
	if text, ok := notFinite(v); ok {
		return codec.AppendJSONString(dst, name, text)
	}
	return codec.AppendJSONFloat64(dst, name, v)
}

// AppendJSONFloat32 is AppendJSONFloat64 for a float32.
func AppendJSONFloat32(dst []byte, name string, v float32) []byte {
	if text, ok := notFinite(float64(v)); ok {
		return codec.AppendJSONString(dst, name, text)
	}
	return codec.AppendJSONFloat32(dst, name, v)
}

// notFinite returns the text for a number that is not finite.
func notFinite(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return "NaN", true
	case math.IsInf(v, 1):
		return "Infinity", true
	case math.IsInf(v, -1):
		return "-Infinity", true
	}
	return "", false
}

// AppendJSONJSON appends a member with a JSON value, on one line.
func AppendJSONJSON(dst []byte, name string, v json.RawMessage) []byte {
	var line bytes.Buffer
	if err := json.Compact(&line, v); err != nil { // readers and writers reject such values
		return codec.AppendJSONString(dst, name, string(v))
	}
	return codec.AppendJSONJSON(dst, name, line.Bytes())
}
