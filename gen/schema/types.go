package schema

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Type is the type of a series value or a field.
type Type int

// The types of the language. Invalid stands for a type that could not be parsed.
const (
	Invalid Type = iota
	String
	Bytes
	Bool
	Int32
	Int64
	Uint32
	Uint64
	Float32
	Float64
	Timestamp
	Duration
	UUID
	Enum
	JSON
)

// NumberKind says which numbers the values of a type are.
type NumberKind int

// The kinds of numbers.
const (
	NoNumber NumberKind = iota
	Signed              // integers
	Unsigned            // integers from 0
	Floating
)

// GoType is a Go type of generated code. Package is its import path, or CodecPackage.
type GoType struct{ Package, Name string }

// CodecPackage stands for the import path of package codec, which depends on the project.
const CodecPackage = "codec"

// String returns the type as Go source, with the last element of the import path.
func (t GoType) String() string {
	if t.Package == "" {
		return t.Name
	}
	return path.Base(t.Package) + "." + t.Name
}

// Measures reports whether values of the type are numbers or durations, which have sums and [AllSketches].
func (t Type) Measures() bool { return t.Traits().Number != NoNumber || t == Duration }

// Widths are numbers of bytes. A Usual of 0 means that they depend on the values.
type Widths struct{ Least, Usual, Most float64 }

// Conversion is the conversion of stored values of a type to another one. None changes a
// value: one that has no exact equivalent is an error.
type Conversion struct {
	To   Type
	Func string // of package codec
	Of   TypeParameter
}

// TypeParameter is the type parameter of the function of a Conversion.
type TypeParameter int

// The type parameters of conversions.
const (
	OfNone TypeParameter = iota
	OfOld                // the type that is converted
	OfNew                // the type that it is converted to
)

// Traits are the facts about a type. They hold for all its values. What needs code for each
// type is in one table per package.
type Traits struct {
	Name  string // in the language
	Codec string // in the names of the functions and codings of package codec
	Go    GoType // without a name for an enum, which has a type of its own

	Number NumberKind
	Bits   int // of a number

	Nilable  bool // nil stands for an absent value: an optional one needs no pointer
	Variable bool // values have any length
	Usual    bool // the usual one among types with similar values
	Rare     bool // values rarely repeat
	NoZero   bool // the zero value in Go is no value, or is always stored

	// In row keys.
	NoKey    bool // a row key cannot contain values
	Segment  codec.SegmentType
	KeyTexts []string // together contain each character of the default encoding; empty for Words and if values determine them
	Words    []string // all values as text, if they are few

	// In cells.
	Width     int    // bytes in binary; 0 if it varies
	Sized     int    // bytes in big_endian and little_endian; 0 if these are the same as binary
	TextWidth Widths // as text
	OneText   bool   // equal values are the same text
	NotEqual  bool   // equal values may be different bytes in all encodings
	Unordered bool   // values have no order

	// In serialized events.
	Quoted     bool   // JSON has the text in quotes
	Proto      string // type in protobuf; empty for an enum
	ProtoFile  string // to import; empty if there is none
	ProtoZero  bool   // protobuf stores the zero value, too
	ProtoWidth Widths // without the tag

	Conversions []Conversion // of older values
	Widens      []Type       // types whose values have the same bytes, in cells and in text keys, and are more
}

// Values of KeyTexts.
var (
	digits       = strings.Split("0123456789", "")
	signedDigits = append(slices.Clone(digits), "-1")
	hexDigits    = strings.Split("0123456789abcdef", "")
)

// fixed returns the width of values of equal width.
func fixed(n float64) Widths { return Widths{n, n, n} }

// typeRow is what package schema knows of a type.
type typeRow struct {
	Traits
	def form[any] // of its values in default and example
}

// types lists the types. readTyped checks values of an enum further.
var types = [...]typeRow{
	Invalid: {Traits: Traits{Name: "invalid"}},
	String: {Traits{
		Name: "string", Codec: "String", Go: GoType{"", "string"},
		Variable: true, Rare: true, Segment: codec.StringSegment, OneText: true,
		Quoted: true, Proto: "string",
		Conversions: []Conversion{{Bytes, "StringToBytes", OfNone}},
	}, boxed(text("a string"))},
	Bytes: {Traits{
		Name: "bytes", Codec: "Bytes", Go: GoType{"", "[]byte"},
		Nilable: true, Variable: true, Rare: true, Segment: codec.BytesSegment, KeyTexts: hexDigits, OneText: true,
		Proto: "bytes",
	}, boxed(parsed("base64", "write base64", parseBase64).like(func(s *shape) { s.syntax = []string{base64Syntax} }))},
	Bool: {Traits{
		Name: "bool", Codec: "Bool", Go: GoType{"", "bool"},
		Usual: true, Segment: codec.BoolSegment, Words: []string{"true", "false"},
		Width: 1, TextWidth: Widths{4, 5, 5}, Unordered: true,
		Proto: "bool", ProtoWidth: fixed(1),
		Conversions: []Conversion{{Int32, "BoolToInteger", OfNew}, {Int64, "BoolToInteger", OfNew}, {Uint32, "BoolToInteger", OfNew}, {Uint64, "BoolToInteger", OfNew}},
	}, boxed(boolean)},
	Int32: {Traits{
		Name: "int32", Codec: "Int32", Go: GoType{"", "int32"},
		Number: Signed, Bits: 32, Segment: codec.Int32Segment, KeyTexts: signedDigits,
		Width: 8, Sized: 4, TextWidth: Widths{1, 0, 11},
		Proto:       "int32",
		Conversions: []Conversion{{Int64, "ToInt64", OfOld}, {Float64, "ToFloat64", OfOld}, {String, "IntegerToString", OfOld}},
		Widens:      []Type{Int64},
	}, boxed(integer[int64](math.MinInt32, math.MaxInt32))},
	Int64: {Traits{
		Name: "int64", Codec: "Int64", Go: GoType{"", "int64"},
		Number: Signed, Bits: 64, Usual: true, Segment: codec.Int64Segment, KeyTexts: signedDigits,
		Width: 8, Sized: 8, TextWidth: Widths{1, 0, 20},
		Proto:       "int64",
		Conversions: []Conversion{{Float64, "ExactFloat64", OfOld}, {String, "IntegerToString", OfOld}},
	}, boxed(integer[int64](math.MinInt64, math.MaxInt64))},
	Uint32: {Traits{
		Name: "uint32", Codec: "Uint32", Go: GoType{"", "uint32"},
		Number: Unsigned, Bits: 32, Segment: codec.Uint32Segment, KeyTexts: digits,
		Width: 8, Sized: 4, TextWidth: Widths{1, 0, 10},
		Proto:       "uint32",
		Conversions: []Conversion{{Int64, "ToInt64", OfOld}, {Uint64, "ToUint64", OfNone}, {Float64, "ToFloat64", OfOld}, {String, "IntegerToString", OfOld}},
		Widens:      []Type{Uint64, Int64},
	}, boxed(unsigned(32))},
	Uint64: {Traits{
		Name: "uint64", Codec: "Uint64", Go: GoType{"", "uint64"},
		Number: Unsigned, Bits: 64, Segment: codec.Uint64Segment, KeyTexts: digits,
		Width: 8, Sized: 8, TextWidth: Widths{1, 0, 20},
		Proto:       "uint64",
		Conversions: []Conversion{{Float64, "ExactFloat64", OfOld}, {String, "IntegerToString", OfOld}},
	}, boxed(unsigned(64))},
	Float32: {Traits{
		Name: "float32", Codec: "Float32", Go: GoType{"", "float32"},
		Number: Floating, Bits: 32, Rare: true, NoKey: true,
		Width: 4, Sized: 4, TextWidth: Widths{1, 0, 15},
		Proto: "float", ProtoWidth: fixed(4),
		Conversions: []Conversion{{Float64, "ToFloat64", OfOld}},
	}, boxed(float(32))},
	Float64: {Traits{
		Name: "float64", Codec: "Float64", Go: GoType{"", "float64"},
		Number: Floating, Bits: 64, Usual: true, Rare: true, NoKey: true,
		Width: 8, Sized: 8, TextWidth: Widths{1, 0, 24},
		Proto: "double", ProtoWidth: fixed(8),
	}, boxed(float(64))},
	Timestamp: {Traits{
		Name: "timestamp", Codec: "Timestamp", Go: GoType{"time", "Time"},
		Usual: true, Rare: true, NoZero: true, Segment: codec.TimestampSegment, KeyTexts: digits,
		Width: 8, Sized: 8, TextWidth: Widths{20, 20, 30}, // RFC 3339 with up to nanoseconds, in UTC
		Quoted: true, Proto: "google.protobuf.Timestamp", ProtoFile: "google/protobuf/timestamp.proto", ProtoZero: true,
		ProtoWidth: Widths{7, 9, 13}, // a message of seconds since 1970 and, if not 0, nanoseconds
	}, boxed(parsed("a time", "write it as in 2021-03-05T12:00:00Z", parseTime).like(func(s *shape) { s.json.Format = "date-time" }))},
	Duration: {Traits{
		Name: "duration", Codec: "Duration", Go: GoType{"time", "Duration"},
		Usual: true, Rare: true, Segment: codec.DurationSegment, KeyTexts: signedDigits,
		Width: 8, Sized: 8, TextWidth: Widths{2, 8, 24},
		Quoted: true, Proto: "google.protobuf.Duration", ProtoFile: "google/protobuf/duration.proto",
		ProtoWidth: Widths{3, 9, 13},
	}, boxed(parsed("a duration", "write it as in 1h30m", ParseDuration).like(func(s *shape) {
		s.syntax, s.json.MinLength, s.json.MaxLength = []string{durationSyntax}, 2, maxQuantity
	}))},
	UUID: {Traits{
		Name: "uuid", Codec: "UUID", Go: GoType{CodecPackage, "UUID"},
		Usual: true, Rare: true, Segment: codec.UUIDSegment, KeyTexts: []string{"01234567-89ab-4cde-8f01-23456789abcd"},
		Width: 16, TextWidth: fixed(36),
		Quoted: true, Proto: "bytes", ProtoZero: true, ProtoWidth: fixed(17),
		Conversions: []Conversion{{String, "UUIDToString", OfNone}},
	}, boxed(parsed("a UUID", uuidHint, parseUUID).like(func(s *shape) { s.syntax = []string{uuidSyntax} }))},
	Enum: {Traits{
		Name: "enum", Codec: "Enum",
		NoZero: true, Segment: codec.EnumSegment,
		Width: 8, Sized: 4, OneText: true, Unordered: true,
		Quoted: true, ProtoZero: true,
		Conversions: []Conversion{{String, "EnumMember", OfNone}},
	}, boxed(text("the name of an enum value"))},
	JSON: {Traits{
		Name: "json", Codec: "JSON", Go: GoType{"encoding/json", "RawMessage"},
		Nilable: true, Variable: true, Rare: true, NoZero: true, NoKey: true, NotEqual: true,
		Proto: "string",
	}, boxed(parsed("JSON in quotes", `write it in single quotes, as in '{"a": 1}'`, parseJSON))},
}

// Types returns the types of the language.
func Types() []Type {
	var out []Type
	for t := range types {
		if Type(t) != Invalid {
			out = append(out, Type(t))
		}
	}
	return out
}

// ParseType returns the type with the given name; Invalid if there is none.
func ParseType(name string) Type {
	for t := range types {
		if Type(t) != Invalid && types[t].Name == name {
			return Type(t)
		}
	}
	return Invalid
}

// Traits returns the facts about the type.
func (t Type) Traits() Traits { return types[t.index()].Traits }

// String returns the name of the type in the language.
func (t Type) String() string { return types[t.index()].Name }

// index returns the index of the type in types.
func (t Type) index() Type {
	if t < 0 || int(t) >= len(types) {
		return Invalid
	}
	return t
}

// form returns the form of the values of the type in default and example.
func (t Type) form() form[any] { return types[t.index()].def }

// Integer reports whether values of the type are integers.
func (t Traits) Integer() bool { return t.Number == Signed || t.Number == Unsigned }

// ConversionTo returns how stored values of the type are converted to another one; false if
// they cannot be.
func (t Type) ConversionTo(to Type) (Conversion, bool) {
	all := types[t.index()].Conversions
	i := slices.IndexFunc(all, func(c Conversion) bool { return c.To == to })
	if i < 0 {
		return Conversion{}, false
	}
	return all[i], true
}

// base64Syntax matches the syntax of parseBase64, except for the number of characters.
const base64Syntax = `^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$`

func parseBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, newProblem("bad-base64", quote(s), base64.StdEncoding.EncodeToString([]byte(s[:min(len(s), 8)])))
	}
	return b, nil
}

const (
	uuidSyntax = `^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`
	uuidHint   = "write it as in 123e4567-e89b-12d3-a456-426614174000"
)

var uuidText = regexp.MustCompile(uuidSyntax)

func parseUUID(s string) (string, error) {
	if !uuidText.MatchString(s) {
		return "", newProblem("bad-uuid", quote(s), uuidHint)
	}
	return strings.ToLower(s), nil
}

func parseJSON(s string) (string, error) {
	if !json.Valid([]byte(s)) {
		return "", newProblem("bad-json", quote(s), `{"a": 1}`)
	}
	return s, nil
}
