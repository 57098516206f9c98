package parquet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"time"

	pq "github.com/parquet-go/parquet-go"
	pqformat "github.com/parquet-go/parquet-go/format"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// conversion is how a file may have values of types of schemas.
type conversion struct {
	from string        // an expression for the physical type, followed by the logical type if there is one
	to   []schema.Type // of columns of events
	need need
	read func(s *source, v pq.Value) (any, error) // a format.Value, or one of the type of the column
}

// need is an option without which values are ambiguous.
type need int

const (
	nothing need = iota
	unit         // --time-unit
	zone         // --zone
)

// Types of schemas.
var (
	floats  = []schema.Type{schema.Float32, schema.Float64}
	numbers = append([]schema.Type{schema.Int32, schema.Int64, schema.Uint32, schema.Uint64}, floats...)
	times   = []schema.Type{schema.Timestamp}
)

// typeName returns the name of the type of a leaf. The library knows most logical types,
// and the older converted types in their place.
func typeName(leaf pq.Type, stored *pqformat.SchemaElement) string {
	name := stored.Type.V.String()
	logical := leaf.LogicalType()
	switch {
	case logical != nil && logical.Value != nil:
		return name + " " + logical.String()
	case stored.LogicalType.Value != nil:
		return name + " " + stored.LogicalType.String()
	case stored.ConvertedType.Valid: // the only one that is no logical type
		return name + " INTERVAL"
	}
	return name
}

// instead says what to write instead of types that no column of an event has.
var instead = map[string]string{
	"FIXED_LEN_BYTE_ARRAY FLOAT16": "FLOAT", "FIXED_LEN_BYTE_ARRAY INTERVAL": "INT64 TIME", "BYTE_ARRAY BSON": "JSON",
}

// find returns the conversion from a type of a file to one of a schema.
func find(from string, to schema.Type, o *format.ReaderOptions) (conversion, error) {
	var others []string
	for _, c := range conversions {
		switch {
		case !regexp.MustCompile("^(" + c.from + ")$").MatchString(from):
		case !slices.Contains(c.to, to):
			for _, t := range c.to {
				others = append(others, t.String())
			}
		case c.need == unit && o.Unit == 0:
			return c, fmt.Errorf("%s has no unit: add --time-unit, such as --time-unit ms", from)
		case c.need == zone && o.Zone == nil:
			return c, fmt.Errorf("%s is no instant: add --zone, such as --zone UTC", from)
		default:
			return c, nil
		}
	}
	want := "write the file with another type, such as STRING"
	if other := instead[from]; other != "" {
		want = "write the column as " + other
	} else if others != nil {
		want = "want a field of type " + words.List(others, "or")
	}
	return conversion{}, fmt.Errorf("%s is no %s: %s", from, to, want)
}

func boolean(_ *source, v pq.Value) (any, error) { return v.Boolean(), nil }

func float(_ *source, v pq.Value) (any, error) { return float64(v.Float()), nil }

func double(_ *source, v pq.Value) (any, error) { return v.Double(), nil }

func raw(_ *source, v pq.Value) (any, error) { return append([]byte{}, v.ByteArray()...), nil }

// text returns a value as that of a file of text.
func (s *source) text(v pq.Value) (any, error) { return format.Value{Text: v.ByteArray()}, nil }

// number converts an integer to any number that has its value.
func (s *source) number(v pq.Value) (any, error) {
	n, unsigned := s.integer(v)
	if unsigned {
		return format.Value{Text: strconv.AppendUint(nil, uint64(n), 10), Kind: format.IntKind}, nil
	}
	return format.Value{Text: strconv.AppendInt(nil, n, 10), Kind: format.IntKind}, nil
}

// integer returns an integer, and whether it has the bits of an unsigned one.
func (s *source) integer(v pq.Value) (n int64, unsigned bool) {
	logical, ok := s.logical.(*pqformat.IntType)
	unsigned = ok && !logical.IsSigned
	switch {
	case v.Kind() == pq.Int64:
		return v.Int64(), unsigned
	case unsigned:
		return int64(uint32(v.Int32())), false // it fits
	}
	return int64(v.Int32()), false
}

// unit returns the unit of a number of a time or a duration: that of its logical type, or else that of the options.
func (s *source) unit() time.Duration { return cmp.Or(s.ownUnit(), s.options.Unit) }

// ownUnit returns the unit of the logical type; 0 if it has none.
func (s *source) ownUnit() time.Duration {
	switch logical := s.logical.(type) {
	case *pqformat.TimestampType:
		return logical.Unit.Value.Duration()
	case *pqformat.TimeType:
		return logical.Unit.Value.Duration()
	case *pqformat.DateType:
		return 24 * time.Hour
	}
	return 0
}

// sinceEpoch converts a number of units since 1970.
func (s *source) sinceEpoch(v pq.Value) (any, error) { return s.instant(v) }

// instant returns the time that is a number of units after 1970.
func (s *source) instant(v pq.Value) (time.Time, error) {
	n, unsigned := s.integer(v)
	at, ok := format.Since1970(n, s.unit())
	if !ok || unsigned && n < 0 {
		return at, s.beyond(v)
	}
	return at, s.early(at)
}

// duration converts a number of units.
func (s *source) duration(v pq.Value) (any, error) {
	n, unsigned := s.integer(v)
	unit := int64(s.unit())
	if n > math.MaxInt64/unit || n < math.MinInt64/unit || unsigned && n < 0 {
		return nil, s.beyond(v)
	}
	return time.Duration(n) * s.unit(), nil
}

// local converts what clocks show, as a number of units since 1970.
func (s *source) local(v pq.Value) (any, error) {
	wall, err := s.instant(v)
	if err != nil {
		return nil, err
	}
	return format.InZone(wall, s.options.Zone)
}

// int96 converts what clocks show, as a number of nanoseconds and a Julian day. Some programs write times in UTC
// in this way, and some local times.
func (s *source) int96(v pq.Value) (any, error) {
	const epoch = 2440588 // Julian day of 1970-01-01
	n := v.Int96()
	nanos := int64(n[1])<<32 | int64(n[0])
	day, ok := format.Since1970(int64(int32(n[2]))-epoch, 24*time.Hour)
	if !ok || nanos < 0 || nanos >= int64(24*time.Hour) {
		return nil, s.beyond(v)
	}
	return format.InZone(day.Add(time.Duration(nanos)), s.options.Zone)
}

// beyond returns the error of a time or a duration that is out of range.
func (s *source) beyond(v pq.Value) error {
	return fmt.Errorf("%w: %v is beyond the range of a %s", format.ErrValue, v, s.column.Type)
}

// maxDigits is the maximum number of digits of a decimal, and of its scale.
const maxDigits = 76

var errDigits = errors.New("a decimal has more than 76 digits")

// decimal converts a decimal as the text of the number.
func (s *source) decimal(v pq.Value) (any, error) {
	n := new(big.Int)
	switch v.Kind() {
	case pq.Int32, pq.Int64:
		whole, _ := s.integer(v)
		n.SetInt64(whole)
	default: // in two's complement
		b := v.ByteArray()
		if len(b) > maxDigits/2 {
			return nil, errDigits
		}
		if n.SetBytes(b); len(b) > 0 && b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	scale := 0
	if logical, ok := s.logical.(*pqformat.DecimalType); ok {
		scale = int(logical.Scale)
	}
	switch {
	case scale < 0 || scale > maxDigits:
		return nil, errDigits
	case scale == 0:
		return format.Value{Text: n.Append(nil, 10), Kind: format.IntKind}, nil
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return format.Value{Text: []byte(new(big.Rat).SetFrac(n, ten).FloatString(scale))}, nil
}
