package googlesql

import (
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// valueType is how GoogleSQL and BigQuery decode the values of a type. A value that they would change
// stays as it is stored.
type valueType struct {
	binary       func(v sqlValue, f *layout.Field) sqlValue // a cell, in GoogleSQL
	text         func(v sqlValue) sqlValue                  // a cell with text, which is a STRING
	message      func(v sqlValue, f *layout.Field) sqlValue // the field of a protobuf message
	columnBinary func(f *layout.Field) Decoding             // a cell, in BigQuery
	column       Decoding                                   // a cell with text, in BigQuery
}

const unsignedRemark = "an unsigned number, of which INT64 has only half the range."

const base64Remark = "base64url without padding."

// valueTypes are the decodings of each type. BINARY of BigQuery is HBase's Bytes.toBytes: 8 bytes
// for an integer or a float64, but other bytes than btgen's for a boolean.
var valueTypes = map[schema.Type]valueType{
	schema.String: {castTo("STRING"), unchanged, typed("STRING"), always(asString), asString},
	schema.JSON:   {castTo("STRING"), unchanged, typed("STRING"), always(asString), asString},
	schema.Bytes: {
		func(v sqlValue, _ *layout.Field) sqlValue { return v },
		func(v sqlValue) sqlValue { return v.with(base64Remark) },
		typed("BYTES"),
		always(AsBytes), asString.With(base64Remark),
	},
	schema.Bool: {
		func(v sqlValue, _ *layout.Field) sqlValue {
			return sqlValue{"(" + v.expr + ` = b'\x01')`, "BOOL", v.about}
		},
		func(v sqlValue) sqlValue { return v.cast("BOOL") },
		typed("BOOL"),
		always(AsBytes.With("0x01 is true, and 0x00 is false.")), Decoding{Type: "BOOLEAN", Encoding: "TEXT"},
	},
	schema.Int32:  integerType,
	schema.Int64:  integerType,
	schema.Uint32: integerType,
	schema.Uint64: {
		func(v sqlValue, _ *layout.Field) sqlValue {
			return v.with("an unsigned number of 8 bytes, of which INT64 has only half the range.")
		},
		func(v sqlValue) sqlValue {
			return v.with(unsignedRemark)
		},
		func(v sqlValue, _ *layout.Field) sqlValue { return v.with(unsignedRemark) },
		always(AsBytes.With("an unsigned number of 8 bytes, of which INTEGER has only half the range.")),
		asString.With("an unsigned number, of which INTEGER has only half the range."),
	},
	schema.Float32: {
		callOf("TO_FLOAT32", "FLOAT32"), textFloat, typed("FLOAT32"),
		always(AsBytes.With("a float of 4 bytes, big-endian.")), Decoding{Type: "FLOAT", Encoding: "TEXT"},
	},
	schema.Float64: {callOf("TO_FLOAT64", "FLOAT64"), textFloat, typed("FLOAT64"), always(asFloat), Decoding{Type: "FLOAT", Encoding: "TEXT"}},
	schema.Timestamp: {
		func(v sqlValue, _ *layout.Field) sqlValue { return v.call("TO_INT64", "INT64").micros() }, unchanged,
		func(v sqlValue, _ *layout.Field) sqlValue {
			return sqlValue{"TIMESTAMP_MICROS(" + v.expr + ".seconds * 1000000 + DIV(" + v.expr + ".nanos, 1000))", "TIMESTAMP", ""}.with("without nanoseconds.")
		},
		always(asInteger.With("nanoseconds since 1970-01-01T00:00:00Z.")), asString,
	},
	schema.Duration: {
		func(v sqlValue, _ *layout.Field) sqlValue { return v.call("TO_INT64", "INT64").with("nanoseconds.") }, unchanged,
		func(v sqlValue, _ *layout.Field) sqlValue {
			return sqlValue{"(" + v.expr + ".seconds * 1000000000 + " + v.expr + ".nanos)", "INT64", ""}.with("nanoseconds.")
		},
		always(asInteger.With("nanoseconds.")), asString,
	},
	schema.UUID: {callOf("TO_HEX", "STRING"), unchanged, callOf("TO_HEX", "STRING"), always(AsBytes.With("the 16 bytes of a UUID.")), asString},
	schema.Enum: {
		func(v sqlValue, f *layout.Field) sqlValue { return v.call("TO_INT64", "INT64").enum(f) }, unchanged,
		func(v sqlValue, f *layout.Field) sqlValue { return v.cast("INT64").enum(f) },
		func(f *layout.Field) Decoding { return asInteger.With("%s.", EnumValues(f)) }, asString,
	},
}

// integerType is how integers are decoded that are INT64.
var integerType = valueType{
	callOf("TO_INT64", "INT64"), func(v sqlValue) sqlValue { return v.cast("INT64") }, typed("INT64"),
	always(asInteger), Decoding{Type: "INTEGER", Encoding: "TEXT"},
}

func typed(typ string) func(v sqlValue, f *layout.Field) sqlValue {
	return func(v sqlValue, _ *layout.Field) sqlValue { return sqlValue{v.expr, typ, v.about} }
}

func unchanged(v sqlValue) sqlValue { return v }

func textFloat(v sqlValue) sqlValue { return v.cast("FLOAT64") }

func castTo(typ string) func(v sqlValue, f *layout.Field) sqlValue {
	return func(v sqlValue, _ *layout.Field) sqlValue { return v.cast(typ) }
}

func callOf(function, typ string) func(v sqlValue, f *layout.Field) sqlValue {
	return func(v sqlValue, _ *layout.Field) sqlValue { return v.call(function, typ) }
}

func always(d Decoding) func(*layout.Field) Decoding {
	return func(*layout.Field) Decoding { return d }
}
