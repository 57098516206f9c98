package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	pqformat "github.com/parquet-go/parquet-go/format"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
)

// fixed returns a node of FIXED_LEN_BYTE_ARRAY.
func fixed(size int) pq.Node { return pq.Leaf(pq.FixedLenByteArrayType(size)) }

// types are what types of schemas make of a value.
type types = map[string]string

// none are no options.
var none format.ReaderOptions

// conversionCases are values of types of files. to has, for types of schemas, the value that is read, or the error.
// The class of fault: a file says what a number means, and the loader takes the bare number.
var conversionCases = []struct {
	node    pq.Node
	value   pq.Value
	options format.ReaderOptions
	to      map[string]string
}{
	{pq.Timestamp(pq.Millisecond), pq.Int64Value(1772366400000), none, types{
		"timestamp": "2026-03-01T12:00:00Z",
		"int64":     "INT64 TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS) is no int64: want a field of type timestamp", "duration": "unit=MILLIS) is no duration", "string": "is no string"}},
	{pq.TimestampAdjusted(pq.Microsecond, false), pq.Int64Value(1772366400000000), none, types{
		"timestamp": "INT64 TIMESTAMP(isAdjustedToUTC=false,unit=MICROS) is no instant: add --zone", "int64": "is no int64"}},
	{pq.TimestampAdjusted(pq.Microsecond, false), pq.Int64Value(1772366400000000), format.ReaderOptions{Zone: berlin}, types{"timestamp": "2026-03-01T11:00:00Z"}},
	{pq.TimestampAdjusted(pq.Nanosecond, false), pq.Int64Value(1774751400000000000), format.ReaderOptions{Zone: berlin}, types{"timestamp": "clocks in Europe/Berlin skip 2026-03-29 02:30:00"}},
	{pq.Timestamp(pq.Millisecond), pq.Int64Value(1 << 62), none, types{"timestamp": "beyond the range of a timestamp"}},
	{pq.Date(), pq.Int32Value(20513), none, types{"timestamp": "INT32 DATE is no instant: add --zone", "int32": "INT32 DATE is no int32", "int64": "is no int64"}},
	{pq.Date(), pq.Int32Value(20513), format.ReaderOptions{Zone: time.UTC}, types{"timestamp": "2026-03-01T00:00:00Z"}},
	{pq.Leaf(pq.Int96Type), pq.Int96Value(deprecated.Int96{0xfdf28000, 43200000000000 >> 32, 2461101}), none, types{
		"timestamp": "INT96 is no instant: add --zone", "int64": "INT96 is no int64", "bytes": "INT96 is no bytes"}},
	{pq.Leaf(pq.Int96Type), pq.Int96Value(deprecated.Int96{uint32(43200000000000 & 0xffffffff), uint32(43200000000000 >> 32), 2461101}), format.ReaderOptions{Zone: time.UTC}, types{"timestamp": "2026-03-01T12:00:00Z"}},
	{pq.Leaf(pq.Int96Type), pq.Int96Value(deprecated.Int96{0, 1 << 31, 2461101}), format.ReaderOptions{Zone: time.UTC}, types{"timestamp": "beyond the range"}},
	{pq.Time(pq.Millisecond), pq.Int32Value(3_600_000), none, types{"duration": "1h0m0s", "int32": "INT32 TIME(isAdjustedToUTC=true,unit=MILLIS) is no int32", "timestamp": "unit=MILLIS) is no timestamp"}},
	{pq.Time(pq.Microsecond), pq.Int64Value(3_600_000_000), none, types{"duration": "1h0m0s", "int64": "unit=MICROS) is no int64"}},
	{pq.Time(pq.Nanosecond), pq.Int64Value(3_600_000_000_000), none, types{"duration": "1h0m0s"}},
	{pq.Decimal(2, 18, pq.Int64Type), pq.Int64Value(-12345), none, types{
		"float64": "-123.45", "string": "-123.45", "int64": "INT64 DECIMAL(18,2) is no int64: want a field of type string, float32 or float64", "timestamp": "is no timestamp"}},
	{pq.Decimal(3, 9, pq.Int32Type), pq.Int32Value(7), none, types{"string": "0.007", "float64": "0.007", "int32": "INT32 DECIMAL(9,3) is no int32"}},
	{pq.Decimal(0, 18, pq.Int64Type), pq.Int64Value(9007199254740993), none, types{
		"int64": "9007199254740993", "uint64": "9007199254740993", "float64": "would be stored as 9007199254740992", "int32": "not a valid int32"}},
	{pq.Decimal(2, 18, pq.ByteArrayType), pq.ByteArrayValue([]byte("12")), none, types{"float64": "125.94", "int64": "is no int64", "bytes": "BYTE_ARRAY DECIMAL(18,2) is no bytes"}},
	{pq.Decimal(2, 38, pq.FixedLenByteArrayType(16)), pq.FixedLenByteArrayValue(bytes.Repeat([]byte{0xff}, 16)), none, types{
		"string": "-0.01", "uuid": "FIXED_LEN_BYTE_ARRAY DECIMAL(38,2) is no uuid", "bytes": "is no bytes"}},
	{pq.Leaf(pq.Int64Type), pq.Int64Value(1772366400), none, types{
		"int64": "1772366400", "uint32": "1772366400", "float64": "1.7723664e+09", "int32": "1772366400", "float32": "would be stored as",
		"timestamp": "INT64 INT(64,true) has no unit: add --time-unit", "duration": "has no unit: add --time-unit", "string": "INT64 INT(64,true) is no string", "bool": "is no bool"}},
	{pq.Leaf(pq.Int64Type), pq.Int64Value(1772366400), format.ReaderOptions{Unit: time.Second}, types{"timestamp": "2026-03-01T12:00:00Z", "duration": "492324h0m0s"}},
	{pq.Leaf(pq.Int64Type), pq.Int64Value(math.MinInt64), format.ReaderOptions{Unit: time.Nanosecond}, types{"duration": "-2562047h47m16.854775808s"}},
	{pq.Int(64), pq.Int64Value(1 << 62), format.ReaderOptions{Unit: time.Second}, types{"timestamp": "beyond the range", "duration": "beyond the range of a duration"}},
	{pq.Uint(64), pq.Int64Value(-1), format.ReaderOptions{Unit: time.Nanosecond}, types{
		"uint64": "18446744073709551615", "int64": `"18446744073709551615" is not a valid int64`, "timestamp": "beyond the range", "duration": "beyond the range"}},
	{pq.Uint(32), pq.Int32Value(-1), none, types{"uint32": "4294967295", "int64": "4294967295", "int32": "not a valid int32"}},
	{pq.Int(8), pq.Int32Value(-5), none, types{"int32": "-5", "uint32": "not a valid uint32", "float32": "-5"}},
	{pq.Leaf(pq.FloatType), pq.FloatValue(1.5), none, types{"float32": "1.5", "float64": "1.5", "int64": "FLOAT is no int64", "timestamp": "FLOAT is no timestamp"}},
	{pq.Leaf(pq.DoubleType), pq.DoubleValue(1.5), none, types{"float64": "1.5", "float32": "DOUBLE is no float32: want a field of type float64"}},
	{pq.Leaf(pq.BooleanType), pq.BooleanValue(true), none, types{"bool": "true", "int32": "BOOLEAN is no int32"}},
	{pq.String(), pq.ByteArrayValue([]byte("2026-03-01 12:00:00")), format.ReaderOptions{Zone: berlin}, types{"timestamp": "2026-03-01T11:00:00Z", "string": "2026-03-01 12:00:00", "bool": "not a valid bool"}},
	{pq.JSON(), pq.ByteArrayValue([]byte("{}")), none, types{"json": "{}", "string": "{}", "bytes": "BYTE_ARRAY JSON is no bytes"}},
	{pq.BSON(), pq.ByteArrayValue([]byte("{}")), none, types{"json": "BYTE_ARRAY BSON is no json: write the column as JSON", "bytes": "is no bytes"}},
	{pq.Leaf(pq.ByteArrayType), pq.ByteArrayValue([]byte("12")), none, types{"bytes": "[49 50]", "string": "12", "int64": "BYTE_ARRAY is no int64"}},
	{pq.UUID(), pq.FixedLenByteArrayValue([]byte("0123456789abcdef")), none, types{
		"uuid": "30313233-3435-3637-3839-616263646566", "string": "30313233-3435-3637-3839-616263646566", "bytes": "is no bytes"}},
	{fixed(16), pq.FixedLenByteArrayValue([]byte("0123456789abcdef")), none, types{"uuid": "30313233-3435-3637-3839-616263646566", "bytes": "[48", "string": "FIXED_LEN_BYTE_ARRAY is no string"}},
	{fixed(3), pq.FixedLenByteArrayValue([]byte("012")), none, types{"uuid": "a UUID has 16 bytes, and not 3"}},
}

var berlin = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return zone
}()

// unitless is a type whose logical type has no unit, which a forged or damaged file may have.
type unitless struct {
	pq.Type
	logical pqformat.LogicalTypeValue
}

func (u unitless) LogicalType() *pqformat.LogicalType { return &pqformat.LogicalType{Value: u.logical} }

// TestConversions reads values of all types of files as values of types of schemas.
func TestConversions(t *testing.T) {
	for _, tt := range conversionCases {
		for to, want := range tt.to {
			got := converted(t, tt.node, tt.value, to, tt.options)
			if got != want && !(strings.Contains(want, " ") && strings.Contains(got, want)) && !strings.HasPrefix(got, want+" ") {
				t.Errorf("%s of %s as %s: %q, want %q", tt.value, tt.node, to, got, want)
			}
		}
	}
}

// TestNoUnit refuses times of files without a unit, whatever the options say.
func TestNoUnit(t *testing.T) {
	o := format.ReaderOptions{Unit: time.Second, Zone: time.UTC}
	for _, logical := range []pqformat.LogicalTypeValue{&pqformat.TimeType{}, &pqformat.TimestampType{}, &pqformat.TimestampType{IsAdjustedToUTC: true}} {
		for _, to := range schema.Types() {
			if to == schema.Enum {
				continue // the same as a string
			}
			got := converted(t, pq.Leaf(unitless{pq.Int64Type, logical}), pq.Int64Value(1), to.String(), o)
			assert.Contains(t, "unit=) is no", got, logical, to)
		}
	}
}

// fileOfRow returns a file of one event with a time and a text, whose types are those of nodes.
func fileOfRow(t *testing.T, text, time pq.Node, values ...pq.Value) io.Reader {
	t.Helper()
	var out bytes.Buffer
	w := pq.NewGenericWriter[any](&out, pq.NewSchema("Event", pq.Group{"host": pq.String(), "text": text, "time": time}))
	row := pq.Row{pq.ByteArrayValue([]byte("host")).Level(0, 0, 0)}
	for i, v := range values {
		row = append(row, v.Level(0, 0, i+1))
	}
	_, err := w.WriteRows([]pq.Row{row})
	assert.Must(t, errors.Join(err, w.Close()))
	return bytes.NewReader(out.Bytes())
}

// converted writes a file with a value, and returns the value that is read, or the error.
func converted(t *testing.T, node pq.Node, v pq.Value, to string, o format.ReaderOptions) string {
	t.Helper()
	l := dynamictest.Resolve(t, []byte(strings.Replace(schemaText, "text: {type: string", "text: {type: "+to, 1)))
	r, err := format.Find("parquet").Read(fileOfRow(t, node, pq.Timestamp(pq.Nanosecond), v, pq.Int64Value(0)), l, o)
	if err == nil {
		e, _, failed := r.Next()
		if err = failed; err == nil {
			if at, ok := e.Values[0].(time.Time); ok {
				return at.Format(time.RFC3339Nano)
			}
			return fmt.Sprint(e.Values[0])
		}
	}
	inHeader := strings.HasPrefix(err.Error(), "header: column text: ")
	if input, isInput := errors.AsType[*format.InputError](err); !inHeader && !(isInput && input.Name == "text") {
		t.Errorf("%s as %s: the error names no column: %v", node, to, err)
	}
	return err.Error()
}

// TestUnits reads event times whose types have units, which may be wrong, with and without --time-unit: no time is taken
// for another one without a word.
func TestUnits(t *testing.T) {
	units := map[time.Duration]pq.TimeUnit{time.Millisecond: pq.Millisecond, time.Microsecond: pq.Microsecond, time.Nanosecond: pq.Nanosecond}
	want := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := dynamictest.Resolve(t, []byte(schemaText))
	for typed, of := range units {
		for _, inUTC := range []bool{true, false} {
			for _, meant := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
				for _, flag := range []time.Duration{0, time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
					n := want.UnixNano() / int64(meant)
					file := fileOfRow(t, pq.String(), pq.TimestampAdjusted(of, inUTC), pq.ByteArrayValue([]byte("x")), pq.Int64Value(n))
					r, err := format.Find("parquet").Read(file, l, format.ReaderOptions{Zone: time.UTC, Unit: flag})
					if refused := err != nil && strings.Contains(err.Error(), "--time-unit"); refused != (flag != 0 && flag != typed) {
						t.Errorf("type of %v, flag %v: %v", typed, flag, err)
					}
					if err != nil {
						continue
					}
					e, _, err := r.Next()
					confirmed := flag == typed && e.Time.Equal(time.Unix(0, n*int64(typed)))
					if err == nil && !e.Time.Equal(want) && !confirmed && meant >= typed {
						t.Errorf("%d, %v in a type of %v, flag %v: %v", n, meant, typed, flag, e.Time)
					}
				}
			}
		}
	}
}
