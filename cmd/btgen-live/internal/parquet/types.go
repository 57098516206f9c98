package parquet

import (
	"fmt"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// columnType is how a file has the values of a type.
type columnType struct {
	node  func() pq.Node
	value func(c *column, v any) (pq.Value, error) // of a value, or nil
}

// columnTypes are the column types of each type.
var columnTypes = map[schema.Type]columnType{
	schema.String:    {node: pq.String, value: as(text)},
	schema.Enum:      {node: func() pq.Node { return pq.Encoded(pq.String(), &pq.RLEDictionary) }, value: as(text)},
	schema.JSON:      {node: pq.JSON, value: as(text)},
	schema.Bytes:     {node: func() pq.Node { return pq.Leaf(pq.ByteArrayType) }, value: as(pq.ByteArrayValue)},
	schema.Bool:      {node: func() pq.Node { return pq.Leaf(pq.BooleanType) }, value: as(pq.BooleanValue)},
	schema.Int32:     {node: func() pq.Node { return pq.Int(32) }, value: as(func(v int64) pq.Value { return pq.Int32Value(int32(v)) })},
	schema.Int64:     {node: func() pq.Node { return pq.Int(64) }, value: as(pq.Int64Value)},
	schema.Uint32:    {node: func() pq.Node { return pq.Uint(32) }, value: as(func(v uint64) pq.Value { return pq.Int32Value(int32(uint32(v))) })},
	schema.Uint64:    {node: func() pq.Node { return pq.Uint(64) }, value: as(func(v uint64) pq.Value { return pq.Int64Value(int64(v)) })},
	schema.Float32:   {node: func() pq.Node { return pq.Leaf(pq.FloatType) }, value: as(func(v float64) pq.Value { return pq.FloatValue(float32(v)) })},
	schema.Float64:   {node: func() pq.Node { return pq.Leaf(pq.DoubleType) }, value: as(pq.DoubleValue)},
	schema.Duration:  {node: func() pq.Node { return pq.Int(64) }, value: as(func(v time.Duration) pq.Value { return pq.Int64Value(int64(v)) })},
	schema.Timestamp: {node: func() pq.Node { return pq.Timestamp(pq.Nanosecond) }, value: (*column).timestamp},
	schema.UUID:      {node: pq.UUID, value: uuid},
}

// conversions are all combinations of types that are read. A column with any other is refused. The meanings are
// from the specification of Apache Parquet ("Logical Types").
var conversions = []conversion{
	{[]string{"BOOLEAN"}, []schema.Type{schema.Bool}, nothing, boolean},
	{[]string{"FLOAT"}, floats, nothing, float},
	{[]string{"DOUBLE"}, []schema.Type{schema.Float64}, nothing, double},
	{integers, numbers, nothing, (*source).number},
	{integers, times, unit, (*source).sinceEpoch},
	{integers, []schema.Type{schema.Duration}, unit, (*source).duration},
	{[]string{"INT32 TIME", "INT64 TIME"}, []schema.Type{schema.Duration}, nothing, (*source).duration},
	{[]string{"INT64 TIMESTAMP"}, times, nothing, (*source).sinceEpoch},
	{[]string{"INT64 TIMESTAMP without time zone"}, times, zone, (*source).local},
	{[]string{"INT32 DATE"}, times, zone, (*source).local},
	{[]string{"INT96"}, times, zone, (*source).int96},
	{decimals(" DECIMAL"), append([]schema.Type{schema.String}, floats...), nothing, (*source).decimal},
	{decimals(" DECIMAL of scale 0"), append([]schema.Type{schema.String}, numbers...), nothing, (*source).decimal},
	{[]string{"BYTE_ARRAY STRING", "BYTE_ARRAY ENUM"}, schema.Types(), nothing, (*source).text},
	{[]string{"BYTE_ARRAY JSON"}, []schema.Type{schema.JSON, schema.String}, nothing, (*source).text},
	{[]string{"BYTE_ARRAY"}, []schema.Type{schema.String, schema.JSON, schema.Enum}, nothing, (*source).text},
	{[]string{"BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}, []schema.Type{schema.Bytes}, nothing, raw},
	{[]string{"FIXED_LEN_BYTE_ARRAY UUID"}, []schema.Type{schema.UUID, schema.String}, nothing, (*source).uuid},
	{[]string{"FIXED_LEN_BYTE_ARRAY"}, []schema.Type{schema.UUID}, nothing, (*source).uuid},
}

// as returns a function that converts values of a Go type, and nil to null.
func as[T any](convert func(T) pq.Value) func(c *column, v any) (pq.Value, error) {
	return func(_ *column, v any) (pq.Value, error) {
		typed, ok := v.(T)
		switch {
		case ok:
			return convert(typed), nil
		case v != nil:
			return pq.Value{}, fmt.Errorf("%w: %v", format.ErrValue, v)
		}
		return pq.NullValue(), nil
	}
}

func text(v string) pq.Value { return pq.ByteArrayValue([]byte(v)) }

func uuid(_ *column, v any) (pq.Value, error) {
	s, ok := v.(string)
	if !ok {
		return pq.NullValue(), nil
	}
	id, err := codec.ParseUUID(s)
	return pq.FixedLenByteArrayValue(id[:]), err
}

// uuid converts 16 bytes.
func (s *source) uuid(v pq.Value) (any, error) {
	if len(v.ByteArray()) != len(codec.UUID{}) {
		return nil, fmt.Errorf("%w: a UUID has 16 bytes, and not %d", format.ErrValue, len(v.ByteArray()))
	}
	return codec.UUID(v.ByteArray()).String(), nil
}

// timestamp converts a time.
func (c *column) timestamp(v any) (pq.Value, error) {
	at, ok := v.(time.Time)
	switch {
	case !ok:
		return pq.NullValue(), nil
	case c.unit == time.Microsecond:
		return pq.Int64Value(at.UnixMicro()), nil
	}
	nanos := at.UnixNano()
	if !time.Unix(0, nanos).Equal(at) {
		return pq.Value{}, fmt.Errorf("%w: %s is beyond the range of timestamps in nanoseconds", codec.ErrTimeRange, at.Format(time.RFC3339Nano))
	}
	return pq.Int64Value(nanos), nil
}
