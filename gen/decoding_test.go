package gen_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/neighbor"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// extremes are values of each type whose encodings are easily decoded as another value.
var extremes = map[schema.Type][]any{
	schema.String:    {"", "text"},
	schema.Bytes:     {[]byte{0, 1, 0xff}},
	schema.Bool:      {true, false},
	schema.Int32:     {int64(math.MinInt32), int64(math.MaxInt32)},
	schema.Int64:     {int64(math.MinInt64), int64(math.MaxInt64)},
	schema.Uint32:    {uint64(math.MaxUint32)},
	schema.Uint64:    {uint64(math.MaxUint64), uint64(7)},
	schema.Float32:   {float64(float32(0.1)), float64(-math.MaxFloat32)},
	schema.Float64:   {0.1, -math.MaxFloat64, 1e-300},
	schema.Timestamp: {time.Unix(-1, 7).UTC(), time.Unix(1e9, 123456789).UTC()},
	schema.Duration:  {time.Duration(math.MinInt64), 90 * time.Minute},
	schema.UUID:      {"f81d4fae-7dec-41d0-a765-00a0c91e6bf6"},
	schema.Enum:      {"busy"},
	schema.JSON:      {`{"a": [1, null]}`},
}

// TestDecodings checks that what BigQuery documents to decode is what was stored, for all types
// and their extreme values.
func TestDecodings(t *testing.T) {
	for typ, values := range extremes {
		for _, text := range []bool{false, true} {
			f := &layout.Field{Name: "f", Type: typ, Enum: codec.Enum{{Number: 2, Name: "busy"}}}
			as := encodingOf(text)
			d := googlesql.DecodingOf(f, as)
			for _, v := range values {
				cell := value.Append(nil, f, as, v)
				got, ok := decode(d, cell)
				if !ok || !reflect.DeepEqual(got, decoded(d, f, text, v)) {
					t.Errorf("%s, text %v: %v is stored as %q, which %v decodes as %v", typ, text, v, cell, d, got)
				}
			}
			if _, known := decode(d, nil); d.Encoding == "BINARY" && known {
				t.Errorf("%s: %v decodes an empty cell", typ, d)
			}
		}
	}
	assert.Same(t, len(schema.Types()), len(extremes))
	// SQL and the columns of BigQuery know all types, too, which the example schemas have.
	on := schema.Value[bool]{V: true}
	bigQuery := &schema.BigQuery{Dataset: "p.d", Instance: "projects/p/instances/i"}
	if files, found := neighbor.Files(resolved(t).Layouts, &schema.Config{LogicalViews: on, BigQuery: bigQuery}); len(files) == 0 {
		t.Error(found)
	}
}

// encodingOf returns the encoding of values as text or binary.
func encodingOf(text bool) codec.Values {
	if text {
		return codec.TextValues
	}
	return codec.BinaryValues
}

// decode decodes a cell as BigQuery documents: BINARY is HBase's Bytes.toBytes, and TEXT is text.
func decode(d googlesql.Decoding, cell []byte) (any, bool) {
	switch d.Type + " " + d.Encoding {
	case "BYTES ":
		return cell, true
	case "STRING ":
		return string(cell), true
	case "INTEGER BINARY":
		if len(cell) != 8 {
			return nil, false
		}
		return int64(binary.BigEndian.Uint64(cell)), true
	case "FLOAT BINARY":
		if len(cell) != 8 {
			return nil, false
		}
		return math.Float64frombits(binary.BigEndian.Uint64(cell)), true
	case "INTEGER TEXT":
		v, err := strconv.ParseInt(string(cell), 10, 64)
		return v, err == nil
	case "FLOAT TEXT":
		v, err := strconv.ParseFloat(string(cell), 64)
		return v, err == nil
	case "BOOLEAN TEXT":
		return string(cell) == "true", string(cell) == "true" || string(cell) == "false"
	}
	return nil, false
}

// decoded is what a query should return for a value, as the remarks describe it.
func decoded(d googlesql.Decoding, f *layout.Field, text bool, v any) any {
	if d.Type == "BYTES" || d.Type == "STRING" { // the cell itself
		cell := value.Append(nil, f, encodingOf(text), v)
		if d.Type == "BYTES" {
			return cell
		}
		return string(cell)
	}
	switch v := v.(type) {
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case time.Time:
		return v.UnixNano()
	case time.Duration:
		return int64(v)
	case string: // of an enum
		return f.Enum[0].Number
	case float64:
		if f.Type == schema.Float32 {
			shown, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 32), 64)
			return shown
		}
	}
	return v
}
