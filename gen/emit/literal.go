package emit

import (
	"reflect"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// constants are the names of the constants in package codec that literals contain.
var constants = map[any]string{
	codec.MetricSegment: "MetricSegment", codec.ConstSegment: "ConstSegment", codec.BucketSegment: "BucketSegment", codec.TimeSegment: "TimeSegment",
	codec.SaltSegment: "SaltSegment", codec.SequenceSegment: "SequenceSegment",

	codec.UnixSeconds: "UnixSeconds", codec.UnixMillis: "UnixMillis", codec.UnixMicros: "UnixMicros", codec.UnixNanos: "UnixNanos", codec.BinaryTime: "BinaryTime",
	codec.BinarySeconds: "BinarySeconds", codec.BinaryMillis: "BinaryMillis", codec.BinaryNanos: "BinaryNanos", codec.BinaryShortSeconds: "BinaryShortSeconds",

	codec.KeyText: "KeyText", codec.KeyDecimal: "KeyDecimal", codec.KeyHex: "KeyHex", codec.KeyBase64URL: "KeyBase64URL", codec.KeyBase32Hex: "KeyBase32Hex",
	codec.KeyRaw: "KeyRaw", codec.KeyBinary: "KeyBinary", codec.KeyBigEndian: "KeyBigEndian", codec.KeyLittleEndian: "KeyLittleEndian",

	codec.MaxInt32: "MaxInt32", codec.MaxUint32: "MaxUint32", codec.MaxInt64: "MaxInt64", codec.MaxUint64: "MaxUint64",

	codec.NumberLabel: "NumberLabel", codec.ISOWeekLabel: "ISOWeekLabel",

	codec.GCMaxAge: "GCMaxAge", codec.GCMaxVersions: "GCMaxVersions", codec.GCUnion: "GCUnion", codec.GCIntersection: "GCIntersection",

	codec.TimestampWrite: "TimestampWrite", codec.TimestampExpiry: "TimestampExpiry", codec.TimestampShifted: "TimestampShifted",

	codec.GivenPrefix: "GivenPrefix", codec.GivenRange: "GivenRange",
}

// lit renders a value of package codec, without the fields that are zero, on one line.
func (s *source) lit(v any) *jen.Statement { return s.litOf(reflect.ValueOf(v), true) }

// litOf renders a value. Without its type, it is an element of a slice.
func (s *source) litOf(v reflect.Value, typed bool) *jen.Statement {
	switch of := v.Interface().(type) {
	case time.Duration:
		return gocode.Duration(of)
	case time.Time:
		return gocode.Date(of)
	case codec.Bucket:
		if of.Endless() {
			return s.codec("EndlessBucket")
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		return s.typeIf(typed, v.Type()).Values(s.fields(v, nil)...)
	case reflect.Slice:
		return s.typeIf(typed, v.Type()).ValuesFunc(func(g *jen.Group) {
			for i := range v.Len() {
				g.Add(s.litOf(v.Index(i), false))
			}
		})
	case reflect.Int, reflect.Int64:
		if name, ok := constants[v.Interface()]; ok {
			return s.codec(name)
		}
		return gocode.Int(v.Int())
	}
	return jen.Lit(v.Interface())
}

// fields renders the fields of a struct other than zeros, some of them with other code.
func (s *source) fields(v reflect.Value, other map[string]*jen.Statement) []jen.Code {
	var out []jen.Code
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if code := other[name]; code != nil && !f.IsZero() {
			out = append(out, set(name, code))
		} else if !f.IsZero() {
			out = append(out, set(name, s.litOf(f, true)))
		}
	}
	return out
}

// typeIf renders a type of package codec, or a slice of such or of a basic type, if it is wanted.
func (s *source) typeIf(wanted bool, t reflect.Type) *jen.Statement {
	switch {
	case !wanted:
		return jen.Null()
	case t.PkgPath() != "":
		return s.codec(t.Name())
	case t.Kind() == reflect.Slice:
		return jen.Index().Add(s.typeIf(true, t.Elem()))
	}
	return jen.Id(t.Name())
}
