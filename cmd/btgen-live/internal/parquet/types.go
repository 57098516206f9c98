package parquet

import (
	"fmt"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// nodes are how files have the values of each type.
var nodes = map[schema.Type]func() pq.Node{
	schema.String: pq.String, schema.JSON: pq.JSON, schema.UUID: pq.UUID,
	schema.Enum:  func() pq.Node { return pq.Encoded(pq.String(), &pq.RLEDictionary) },
	schema.Bytes: func() pq.Node { return pq.Leaf(pq.ByteArrayType) },
	schema.Bool:  func() pq.Node { return pq.Leaf(pq.BooleanType) },
	schema.Int32: func() pq.Node { return pq.Int(32) }, schema.Int64: func() pq.Node { return pq.Int(64) },
	schema.Uint32: func() pq.Node { return pq.Uint(32) }, schema.Uint64: func() pq.Node { return pq.Uint(64) },
	schema.Float32: func() pq.Node { return pq.Leaf(pq.FloatType) }, schema.Float64: func() pq.Node { return pq.Leaf(pq.DoubleType) },
	schema.Duration:  func() pq.Node { return pq.Int(64) },
	schema.Timestamp: func() pq.Node { return pq.Timestamp(pq.Nanosecond) },
}

// value converts a value of an event, or nil.
func (c *column) value(v any) (pq.Value, error) {
	switch v := v.(type) {
	case nil:
		return pq.NullValue(), nil
	case bool:
		return pq.BooleanValue(v), nil
	case int64:
		if c.Type == schema.Int32 {
			return pq.Int32Value(int32(v)), nil
		}
		return pq.Int64Value(v), nil
	case uint64:
		if c.Type == schema.Uint32 {
			return pq.Int32Value(int32(uint32(v))), nil
		}
		return pq.Int64Value(int64(v)), nil
	case float64:
		if c.Type == schema.Float32 {
			return pq.FloatValue(float32(v)), nil
		}
		return pq.DoubleValue(v), nil
	case time.Duration:
		return pq.Int64Value(int64(v)), nil
	case time.Time:
		return c.timestamp(v)
	case []byte:
		return pq.ByteArrayValue(v), nil
	case string:
		if c.Type != schema.UUID {
			return pq.ByteArrayValue([]byte(v)), nil
		}
		id, err := codec.ParseUUID(v)
		return pq.FixedLenByteArrayValue(id[:]), err
	}
	return pq.Value{}, fmt.Errorf("%w: %v", format.ErrValue, v)
}

// timestamp converts a time.
func (c *column) timestamp(at time.Time) (pq.Value, error) {
	if c.unit == time.Microsecond {
		return pq.Int64Value(at.UnixMicro()), nil
	}
	nanos := at.UnixNano()
	if !time.Unix(0, nanos).Equal(at) {
		return pq.Value{}, fmt.Errorf("%w: %s is beyond the range of timestamps in nanoseconds", codec.ErrTimeRange, at.Format(time.RFC3339Nano))
	}
	return pq.Int64Value(nanos), nil
}

// conversions are all combinations of types that are read. A column with any other is refused. The meanings are
// from the specification of Apache Parquet ("Logical Types").
var conversions = []conversion{
	{`BOOLEAN`, []schema.Type{schema.Bool}, nothing, boolean},
	{`FLOAT`, floats, nothing, float},
	{`DOUBLE`, []schema.Type{schema.Float64}, nothing, double},
	{integers, numbers, nothing, (*source).number},
	{integers, times, unit, (*source).sinceEpoch},
	{integers, []schema.Type{schema.Duration}, unit, (*source).duration},
	{`(INT32|INT64) TIME\(.*unit=.+\)`, []schema.Type{schema.Duration}, nothing, (*source).duration},
	{`INT64 TIMESTAMP\(isAdjustedToUTC=true,unit=.+\)`, times, nothing, (*source).sinceEpoch},
	{`INT64 TIMESTAMP\(isAdjustedToUTC=false,unit=.+\)`, times, zone, (*source).local},
	{`INT32 DATE`, times, zone, (*source).local},
	{`INT96`, times, zone, (*source).int96},
	{decimals + `[^0].*\)`, append([]schema.Type{schema.String}, floats...), nothing, (*source).decimal},
	{decimals + `0\)`, append([]schema.Type{schema.String}, numbers...), nothing, (*source).decimal},
	{`BYTE_ARRAY (STRING|ENUM)`, schema.Types(), nothing, (*source).text},
	{`BYTE_ARRAY JSON`, []schema.Type{schema.JSON, schema.String}, nothing, (*source).text},
	{`BYTE_ARRAY`, []schema.Type{schema.String, schema.JSON, schema.Enum}, nothing, (*source).text},
	{`(FIXED_LEN_)?BYTE_ARRAY`, []schema.Type{schema.Bytes}, nothing, raw},
	{`FIXED_LEN_BYTE_ARRAY UUID`, []schema.Type{schema.UUID, schema.String}, nothing, (*source).uuid},
	{`FIXED_LEN_BYTE_ARRAY`, []schema.Type{schema.UUID}, nothing, (*source).uuid},
}

// Types of integers, and of decimals before their scale.
const (
	integers = `(INT32|INT64)( INT\(.*\))?`
	decimals = `(INT32|INT64|(FIXED_LEN_)?BYTE_ARRAY) DECIMAL\(.*,`
)

// uuid converts 16 bytes.
func (s *source) uuid(v pq.Value) (any, error) {
	if len(v.ByteArray()) != len(codec.UUID{}) {
		return nil, fmt.Errorf("%w: a UUID has 16 bytes, and not %d", format.ErrValue, len(v.ByteArray()))
	}
	return codec.UUID(v.ByteArray()).String(), nil
}
