// Package value encodes and decodes field values in cells, serialized events and row
// keys, like generated code, but based on a layout alone. It does not import the Bigtable
// client.
//
// Values have the Go types that package schema uses for defaults and examples:
//
//	string                  string
//	bytes                   []byte
//	bool                    bool
//	int32, int64            int64
//	uint32, uint64          uint64
//	float32, float64        float64
//	timestamp               time.Time
//	duration                time.Duration
//	uuid                    string, in lower case
//	enum                    string, the name of the value
//	json                    string
//
// nil is the value of a field that an event lacks.
package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// kind defines how the values of one type are stored. All functions except check require
// values of the type.
type kind struct {
	codings    [codec.LittleEndianValues + 1]codec.Coding[any]                   // by encoding
	zero       any                                                               // omitted by protobuf
	proto      func(dst []byte, f *layout.Field, p codec.Presence, v any) []byte // appends a field
	fromProto  func(r *codec.ProtoReader, f *layout.Field) any                   // reads the current one
	json       func(dst []byte, f *layout.Field, v any) []byte                   // appends a member
	member     reflect.Type                                                      // of a member, when it is parsed
	fromMember func(f *layout.Field, member any) (any, error)                    // a member that is present
	pointer    func(f *layout.Field, v any) any                                  // to the value in a key, which is zero if v is of another type
	pointedTo  func(f *layout.Field, p any) any                                  // the value to which such a pointer points
	check      func(f *layout.Field, v any) error                                // rejects other Go types, and values that no cell can store
}

// typed is the kind of a type whose values the codec has as T and this package as V.
type typed[T, V any] struct {
	to        func(v V) T
	from      func(v T) V
	codings   func(c *codec.Codings) codec.Coding[T]
	proto     func(dst []byte, number int, p codec.Presence, v T) []byte
	fromProto func(r *codec.ProtoReader) T
	json      func(dst []byte, name string, v T) []byte
	fits      func(v V) bool // nil if all values do
}

// kind converts values between T and V.
func (t typed[T, V]) kind() kind {
	var zero T
	k := kind{
		zero: t.from(zero), member: reflect.TypeFor[T](),
		proto: func(dst []byte, f *layout.Field, p codec.Presence, v any) []byte {
			return t.proto(dst, f.Number, p, t.to(v.(V)))
		},
		json: func(dst []byte, f *layout.Field, v any) []byte { return t.json(dst, f.Name, t.to(v.(V))) },
		check: func(f *layout.Field, v any) error {
			if as, ok := v.(V); !ok || t.fits != nil && !t.fits(as) {
				return notOfType(f, v)
			}
			return nil
		},
	}
	for v := range k.codings {
		k.codings[v] = coding(t.codings(codec.Values(v).Codings()), t.to, t.from)
	}
	k.fromProto = func(r *codec.ProtoReader, _ *layout.Field) any { return t.from(t.fromProto(r)) }
	k.fromMember = func(_ *layout.Field, member any) (any, error) { return t.from(member.(T)), nil }
	k.pointer = func(_ *layout.Field, v any) any {
		p := new(T)
		if v, ok := v.(V); ok {
			*p = t.to(v)
		}
		return p
	}
	k.pointedTo = func(_ *layout.Field, p any) any { return t.from(*p.(*T)) }
	return k
}

// coding converts the values of a coding.
func coding[T, V any](c codec.Coding[T], to func(V) T, from func(T) V) codec.Coding[any] {
	return codec.Coding[any]{
		Order:  c.Order,
		Append: func(dst []byte, v any) []byte { return c.Append(dst, to(v.(V))) },
		Decode: func(datum []byte) (any, error) {
			v, err := c.Decode(datum)
			if err != nil {
				return nil, err
			}
			return from(v), nil
		},
	}
}

func same[T any](v T) T { return v }

// uuid parses a UUID that was checked.
func uuid(s string) codec.UUID {
	id, _ := codec.ParseUUID(s)
	return id
}

func isUUID(s string) bool {
	id, err := codec.ParseUUID(s)
	return err == nil && id.String() == s
}

// of returns the kind of a field.
func of(f *layout.Field) kind {
	if f.Type == schema.Enum {
		return enums
	}
	return kinds[f.Type]
}

// kinds are the kinds of the types other than enums.
var kinds = map[schema.Type]kind{
	schema.String: typed[string, string]{
		same[string], same[string], func(c *codec.Codings) codec.Coding[string] { return c.String },
		codec.AppendProtoString, (*codec.ProtoReader).Text, codec.AppendJSONString,
		nil,
	}.kind(),
	schema.Bytes: typed[[]byte, []byte]{
		same[[]byte], present, func(c *codec.Codings) codec.Coding[[]byte] { return c.Bytes },
		codec.AppendProtoBytes, (*codec.ProtoReader).Bytes, codec.AppendJSONBytes,
		func(v []byte) bool { return v != nil },
	}.kind(),
	schema.Bool: typed[bool, bool]{
		same[bool], same[bool], func(c *codec.Codings) codec.Coding[bool] { return c.Bool },
		codec.AppendProtoBool, (*codec.ProtoReader).Bool, codec.AppendJSONBool,
		nil,
	}.kind(),
	schema.Int32: typed[int32, int64]{
		func(v int64) int32 { return int32(v) }, func(v int32) int64 { return int64(v) }, func(c *codec.Codings) codec.Coding[int32] { return c.Int32 },
		codec.AppendProtoInteger[int32], (*codec.ProtoReader).Int32, codec.AppendJSONInt[int32],
		func(v int64) bool { return v == int64(int32(v)) },
	}.kind(),
	schema.Int64: typed[int64, int64]{
		same[int64], same[int64], func(c *codec.Codings) codec.Coding[int64] { return c.Int64 },
		codec.AppendProtoInteger[int64], (*codec.ProtoReader).Int64, codec.AppendJSONInt[int64],
		nil,
	}.kind(),
	schema.Uint32: typed[uint32, uint64]{
		func(v uint64) uint32 { return uint32(v) }, func(v uint32) uint64 { return uint64(v) }, func(c *codec.Codings) codec.Coding[uint32] { return c.Uint32 },
		codec.AppendProtoInteger[uint32], (*codec.ProtoReader).Uint32, codec.AppendJSONUint[uint32],
		func(v uint64) bool { return v <= math.MaxUint32 },
	}.kind(),
	schema.Uint64: typed[uint64, uint64]{
		same[uint64], same[uint64], func(c *codec.Codings) codec.Coding[uint64] { return c.Uint64 },
		codec.AppendProtoInteger[uint64], (*codec.ProtoReader).Uint64, codec.AppendJSONUint[uint64],
		nil,
	}.kind(),
	schema.Float32: typed[float32, float64]{
		func(v float64) float32 { return float32(v) }, func(v float32) float64 { return float64(v) }, func(c *codec.Codings) codec.Coding[float32] { return c.Float32 },
		codec.AppendProtoFloat32, (*codec.ProtoReader).Float32, codec.AppendJSONFloat32,
		nil,
	}.kind(),
	schema.Float64: typed[float64, float64]{
		same[float64], same[float64], func(c *codec.Codings) codec.Coding[float64] { return c.Float64 },
		codec.AppendProtoFloat64, (*codec.ProtoReader).Float64, codec.AppendJSONFloat64,
		nil,
	}.kind(),
	schema.Timestamp: typed[time.Time, time.Time]{
		same[time.Time], time.Time.UTC, func(c *codec.Codings) codec.Coding[time.Time] { return c.Timestamp },
		codec.AppendProtoTimestamp, (*codec.ProtoReader).Timestamp, codec.AppendJSONTimestamp,
		nil,
	}.kind(),
	schema.Duration: durationKind(),
	schema.UUID: typed[codec.UUID, string]{
		uuid, codec.UUID.String, func(c *codec.Codings) codec.Coding[codec.UUID] { return c.UUID },
		codec.AppendProtoUUID, (*codec.ProtoReader).UUID, codec.AppendJSONUUID,
		isUUID,
	}.kind(),
	schema.JSON: typed[json.RawMessage, string]{
		func(v string) json.RawMessage { return json.RawMessage(v) }, func(v json.RawMessage) string { return string(v) }, func(c *codec.Codings) codec.Coding[json.RawMessage] { return c.JSON },
		appendProtoJSON, (*codec.ProtoReader).JSON, codec.AppendJSONJSON,
		nil,
	}.kind(),
}

func appendProtoJSON(dst []byte, number int, p codec.Presence, v json.RawMessage) []byte {
	return codec.AppendProtoBytes(dst, number, p, v)
}

// present returns bytes that are not nil, because nil is the value of a missing field.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// durationKind is the kind of durations, which JSON contains in Go's format.
func durationKind() kind {
	k := typed[time.Duration, time.Duration]{
		same[time.Duration], same[time.Duration], func(c *codec.Codings) codec.Coding[time.Duration] { return c.Duration },
		codec.AppendProtoDuration, (*codec.ProtoReader).Duration, codec.AppendJSONDuration,
		nil,
	}.kind()
	k.member = reflect.TypeFor[codec.JSONDuration]()
	k.fromMember = func(_ *layout.Field, member any) (any, error) {
		return time.Duration(member.(codec.JSONDuration)), nil
	}
	return k
}

// enums is the kind of enums, whose values are stored as numbers and are names in this
// package. What depends on the names alone, and not on the field, is made on demand: the
// codings and the zero value.
var enums = kind{
	proto: func(dst []byte, f *layout.Field, p codec.Presence, v any) []byte {
		return codec.AppendProtoInteger(dst, f.Number, p, numberOf(f.Enum, v))
	},
	fromProto: func(r *codec.ProtoReader, f *layout.Field) any { return nameOf(f.Enum, r.Enum(f.Enum)) },
	json: func(dst []byte, f *layout.Field, v any) []byte {
		return codec.AppendJSONEnum(dst, f.Name, f.Enum, numberOf(f.Enum, v))
	},
	member: reflect.TypeFor[string](),
	fromMember: func(f *layout.Field, member any) (any, error) {
		n, err := codec.TextEnum([]byte(member.(string)), f.Enum)
		if err != nil {
			return nil, err
		}
		return nameOf(f.Enum, n), nil
	},
	pointer: func(f *layout.Field, v any) any {
		p := new(int64)
		if _, ok := v.(string); ok {
			*p = numberOf(f.Enum, v)
		}
		return p
	},
	pointedTo: func(f *layout.Field, p any) any { return nameOf(f.Enum, *p.(*int64)) },
	check: func(f *layout.Field, v any) error {
		name, ok := v.(string)
		if ok {
			_, ok = f.Enum.Number(name)
		}
		if !ok {
			return notOfType(f, v)
		}
		return nil
	},
}

// numberOf returns the number of an enum value; 0 if there is none.
func numberOf(names codec.Enum, name any) int64 {
	n, _ := names.Number(name.(string))
	return n
}

// nameOf returns the name of an enum value; empty if it has none.
func nameOf(names codec.Enum, n int64) string {
	name, _ := names.Name(n)
	return name
}

// notOfType rejects a value that a field cannot have.
func notOfType(f *layout.Field, v any) error {
	return &codec.FieldError{Field: f.Name, Err: fmt.Errorf("%w: %v (%T) is no %s", codec.ErrValue, v, v, f.Type)}
}

// enumCoding returns the coding of the names of an enum.
func enumCoding(names codec.Enum, as codec.Coding[int64]) codec.Coding[any] {
	return coding(as, func(name string) int64 { return numberOf(names, name) }, func(n int64) string { return nameOf(names, n) })
}

// Coding returns how the values of a field are stored in cells.
func Coding(f *layout.Field, as codec.Values) codec.Coding[any] {
	if f.Type == schema.Enum {
		return enumCoding(f.Enum, codec.EnumAs[int64](as, f.Enum))
	}
	return kinds[f.Type].codings[as]
}

// Append appends a value to dst as a cell contains it.
func Append(dst []byte, f *layout.Field, as codec.Values, v any) []byte {
	return Coding(f, as).Append(dst, v)
}

// Zero returns the value of a field that protobuf omits.
func Zero(f *layout.Field) any {
	if f.Type == schema.Enum {
		return nameOf(f.Enum, 0)
	}
	return kinds[f.Type].zero
}

// Check rejects a value that no cell can store, with the same errors of package codec as
// generated code. The error wraps [codec.ErrValue] if the value is nil, does not have the
// Go type of the field, is out of its range, or is not a value of its enum. floats
// specifies the floating-point numbers that can be stored.
func Check(f *layout.Field, v any, floats layout.Floats) error {
	if err := of(f).check(f, v); err != nil {
		return err
	}
	var c codec.Checker
	switch v := v.(type) {
	case string:
		if f.Type == schema.JSON {
			c.JSON(f.Name, []byte(v))
		} else {
			c.String(f.Name, v)
		}
	case time.Time:
		c.Timestamp(f.Name, v)
	case float64:
		switch floats {
		case layout.FiniteFloats:
			c.Finite(f.Name, v)
		case layout.NoNaNs:
			c.NotNaN(f.Name, v)
		}
	}
	return c.Err()
}

// Equal reports whether two values are the same. NaN equals NaN.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	}
	return a == b
}

// stored returns how rollups store the values of a field that is no number: as those of generated code.
func stored(f *layout.Field) window.AnyForm {
	same := window.AnyForm{Zero: of(f).zero, To: func(v any) any { return v }, From: func(v any) (any, error) { return v, nil }}
	switch f.Type {
	case schema.UUID:
		return window.AnyForm{
			Zero: codec.UUID{},
			To: func(v any) any {
				id, err := codec.ParseUUID(v.(string))
				if err != nil {
					return nil
				}
				return id
			},
			From: func(v any) (any, error) { return v.(codec.UUID).String(), nil },
		}
	case schema.Enum:
		return window.AnyForm{
			Zero: int64(0),
			To: func(v any) any {
				n, ok := f.Enum.Number(v.(string))
				if !ok {
					return nil
				}
				return n
			},
			From: func(v any) (any, error) {
				name, ok := f.Enum.Name(v.(int64))
				if !ok {
					return nil, codec.ErrEnum
				}
				return name, nil
			},
		}
	case schema.JSON:
		return window.AnyForm{Zero: []byte(nil), To: func(v any) any { return []byte(v.(string)) }, From: func(v any) (any, error) { return string(v.([]byte)), nil }}
	}
	return same
}
