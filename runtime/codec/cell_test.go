package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

// cell is a type in an encoding.
type cell struct {
	roundTrip func(t *rapid.T)
	recode    func(b []byte) ([]byte, error) // decodes, and encodes the result
}

// cellOf returns the cell of a coding. Values are unchanged, encoders append, and decoded
// values do not alias the cell.
func cellOf[T any](c codec.Coding[T], values *rapid.Generator[T], same func(a, b T) bool) cell {
	return cell{
		func(t *rapid.T) {
			want := values.Draw(t, "value")
			cell, ok := bytes.CutPrefix(c.Append([]byte("dst"), want), []byte("dst"))
			got, err := c.Decode(cell)
			for i := range cell {
				cell[i] = '?'
			}
			if !ok || err != nil || !same(want, got) {
				t.Fatalf("%v was written as %q and read as %v, %v", want, c.Append(nil, want), got, err)
			}
		},
		func(b []byte) ([]byte, error) {
			v, err := c.Decode(b)
			return c.Append(nil, v), err
		},
	}
}

// cells returns the types in an encoding.
func cells(in codec.Values) map[string]cell {
	c := in.Codings()
	return map[string]cell{
		"string":    cellOf(c.String, rapid.String(), same[string]),
		"bytes":     cellOf(c.Bytes, rapid.SliceOf(rapid.Byte()), sameBytes),
		"bool":      cellOf(c.Bool, rapid.Bool(), same[bool]),
		"int32":     cellOf(c.Int32, rapid.Int32(), same[int32]),
		"int64":     cellOf(c.Int64, rapid.Int64(), same[int64]),
		"uint32":    cellOf(c.Uint32, rapid.Uint32(), same[uint32]),
		"uint64":    cellOf(c.Uint64, rapid.Uint64(), same[uint64]),
		"float32":   cellOf(c.Float32, rapid.Float32(), sameFloat32),
		"float64":   cellOf(c.Float64, rapid.Float64(), sameFloat64),
		"timestamp": cellOf(c.Timestamp, nanoTimes(), sameTime),
		"duration":  cellOf(c.Duration, durations(), same[time.Duration]),
		"UUID":      cellOf(c.UUID, uuids(), same[codec.UUID]),
		"JSON":      cellOf(c.JSON, jsons(), sameJSON),
		"enum":      cellOf(codec.EnumAs[int64](in, phases), rapid.SampledFrom([]int64{1, 2, -7}), same[int64]),
	}
}

// The encodings; that of OpenTSDB is in its own tests.
var encodings = []codec.Values{codec.BinaryValues, codec.TextValues, codec.BigEndianValues, codec.LittleEndianValues}

func TestCellRoundTrip(t *testing.T) {
	for _, in := range encodings {
		for name, c := range cells(in) {
			check(t, fmt.Sprint(in, " ", name), c.roundTrip)
		}
	}
	for _, parse := range []func([]byte) ([]byte, error){codec.Binary.Bytes.Decode, codec.Text.Bytes.Decode} {
		if v, err := parse([]byte{}); v != nil || err != nil {
			t.Errorf("empty bytes are not nil: %#v, %v", v, err)
		}
	}
}

// The exact bytes of cells, and that every value has one canonical text: 9.5, never 9.50.
func TestCellBytes(t *testing.T) {
	big, little := codec.BigEndian, codec.LittleEndian
	for _, tt := range []struct {
		got  []byte
		want string
	}{
		{codec.Binary.Int64.Append(nil, 94587), "\x00\x00\x00\x00\x00\x01\x71\x7b"},
		{codec.Binary.Int32.Append(nil, -1), "\xff\xff\xff\xff\xff\xff\xff\xff"},
		{codec.Binary.Uint32.Append(nil, math.MaxUint32), "\x00\x00\x00\x00\xff\xff\xff\xff"},
		{codec.Binary.Float64.Append(nil, 9.5), "\x40\x23\x00\x00\x00\x00\x00\x00"},
		{codec.Binary.Float32.Append(nil, 9.5), "\x41\x18\x00\x00"},
		{codec.Binary.Bool.Append(nil, true), "\x01"},
		{codec.Binary.Timestamp.Append(nil, time.Unix(0, 258)), "\x00\x00\x00\x00\x00\x00\x01\x02"},
		{codec.Binary.Duration.Append(nil, 258), "\x00\x00\x00\x00\x00\x00\x01\x02"},
		{codec.EnumAs[int64](codec.BinaryValues, phases).Append(nil, 2), "\x00\x00\x00\x00\x00\x00\x00\x02"},
		{big.Int32.Append(nil, -2), "\xff\xff\xff\xfe"}, {little.Int32.Append(nil, -2), "\xfe\xff\xff\xff"},
		{little.Float64.Append(nil, 9.5), "\x00\x00\x00\x00\x00\x00\x23\x40"},
		{codec.Text.Int64.Append(nil, -94587), "-94587"},
		{codec.Text.Uint64.Append(nil, math.MaxUint64), "18446744073709551615"},
		{codec.Text.Bool.Append(nil, false), "false"},
		{codec.Text.Bytes.Append(nil, []byte{0xfb, 0xff}), "-_8"},
		{codec.Text.Timestamp.Append(nil, date("2021-03-05T13:00:00.5+01:00")), "2021-03-05T12:00:00.5Z"},
		{codec.Text.Duration.Append(nil, 3723*time.Second), "1h2m3s"},
		{codec.EnumAs[int64](codec.TextValues, phases).Append(nil, 2), "float"},
		{codec.EnumAs[int64](codec.TextValues, phases).Append(nil, 3), "3"},
		{codec.Text.UUID.Append(nil, codec.UUID{15: 1}), "00000000-0000-0000-0000-000000000001"},
		{codec.Text.Float32.Append(nil, 0.1), "0.1"},
	} {
		if string(tt.got) != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	for want, v := range map[string]float64{
		"9.5": 9.50, "94587": 94587, "-0.25": -0.25, "0": 0, "-0": math.Copysign(0, -1), "1000000": 1e6, "100000000000000000000": 1e20,
		"1e+21": 1e21, "1e+30": 1e30, "0.000001": 1e-6, "1e-07": 1e-7, "0.30000000000000004": 0.30000000000000004,
		"1.7976931348623157e+308": math.MaxFloat64, "+Inf": math.Inf(1), "-Inf": math.Inf(-1), "NaN": math.NaN(),
	} {
		if got := string(codec.Text.Float64.Append(nil, v)); got != want {
			t.Errorf("text of %v is %s, want %s", v, got, want)
		}
	}
	check(t, "every notation of a number gives the same text", func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		want := string(codec.Text.Float64.Append(nil, v))
		for _, format := range "efgG" {
			other := strconv.FormatFloat(v, byte(format), -1, 64)
			if got, err := cells(codec.TextValues)["float64"].recode([]byte(other)); err != nil || string(got) != want {
				t.Fatalf("%s becomes %s, %v; want %s", other, got, err, want)
			}
		}
	})
}

// Other tools may have written the cells.
func TestTextLenient(t *testing.T) {
	for _, tt := range [][3]string{
		{"int64", "+0065", "65"}, {"float64", "9.50", "9.5"}, {"bool", "1", "true"}, {"timestamp", "2021-03-05T13:00:00+01:00", "2021-03-05T12:00:00Z"},
		{"UUID", "FFFFFFFF-0000-0000-0000-000000000001", "ffffffff-0000-0000-0000-000000000001"},
	} {
		if got, err := cells(codec.TextValues)[tt[0]].recode([]byte(tt[1])); string(got) != tt[2] || err != nil {
			t.Errorf("%s: %s, %v", tt, got, err)
		}
	}
}

func TestCellRefuses(t *testing.T) {
	refuses := func(in codec.Values, name, datum string, want ...error) {
		t.Helper()
		_, err := cells(in)[name].recode([]byte(datum))
		for _, want := range append(want, codec.ErrValue) {
			assert.Is(t, want, err, in, name, datum)
		}
	}
	for name, texts := range map[string][]string{
		"string":    {"\xff"},
		"bytes":     {"YQ==", "YR", "Y", "Y\nQ", "a+b/"},
		"bool":      {"", "yes"},
		"int32":     {"", " 1", "2147483648", "1_000", "0x10"},
		"int64":     {"", "1.0", "9223372036854775808"},
		"uint32":    {"", "-1", "+1", "4294967296"},
		"uint64":    {"", "-1", "18446744073709551616"},
		"float32":   {"", "1e39", "1,5"},
		"float64":   {"", "1e309", "9.5°C"},
		"timestamp": {"", "2021-03-05", "2021-03-05 12:00:00Z", "9999-12-31T23:59:59-01:00"},
		"duration":  {"", "1", "1w"},
		"UUID":      {"", "00000000-0000-0000-0000-0000000000-0", "{00000000-0000-0000-0000-000000000001}", "0000000000000000000000000000000000001", "g0000000-0000-0000-0000-000000000001"},
		"JSON":      {"", "{", "nan"},
		"enum":      {"", "1", "Float"},
	} {
		for _, text := range texts {
			refuses(codec.TextValues, name, text)
		}
	}
	for _, in := range []codec.Values{codec.BinaryValues, codec.BigEndianValues, codec.LittleEndianValues} {
		for name := range cells(in) {
			for _, length := range []int{0, 3, 5, 7, 9} {
				if name != "string" && name != "bytes" {
					refuses(in, name, string(make([]byte, length)))
				}
			}
		}
		refuses(in, "bool", "\x02")
		refuses(in, "string", "\xff", codec.ErrUTF8)
	}
	for _, name := range []string{"int32", "uint32"} {
		refuses(codec.BinaryValues, name, string(codec.Binary.Int64.Append(nil, 1<<32)))
	}
	refuses(codec.BinaryValues, "enum", string(make([]byte, 8)), codec.ErrEnum)
	refuses(codec.BigEndianValues, "enum", string(make([]byte, 4)), codec.ErrEnum)
}

// Decoding and encoding again reaches a fixed point.
func FuzzCells(f *testing.F) {
	for _, s := range []string{"9.50", "+5", "true", "2021-03-05T12:00:00Z", "1.5h", "YQ", `{"a": 1}`, "float", "-0", "0x1p-2", "FFFFFFFF-0000-0000-0000-000000000001"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range encodings {
			for name, c := range cells(in) {
				once, err := c.recode(b)
				if err != nil {
					assert.Is(t, codec.ErrValue, err, in, name, b)
					continue
				}
				if twice, err := c.recode(once); err != nil || string(twice) != string(once) {
					t.Errorf("%s %s %q: first %q, then %q, %v", in, name, b, once, twice, err)
				}
			}
		}
	})
}

func TestUUIDText(t *testing.T) {
	check(t, "UUID", func(t *rapid.T) {
		want := uuids().Draw(t, "u")
		b, _ := want.MarshalText()
		var got codec.UUID
		if err := got.UnmarshalText(b); err != nil || got != want || string(b) != want.String() {
			t.Fatal(string(b), got, err)
		}
	})
	u := codec.UUID{1}
	if err := u.UnmarshalText([]byte("x")); !errors.Is(err, codec.ErrValue) || u != (codec.UUID{1}) {
		t.Error(u, err)
	}
}
