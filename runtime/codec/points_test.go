package codec_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// pointsHour is the start of the hour in the examples of OpenTSDB.
var pointsHour = time.Unix(1356998400, 0).UTC()

// pointOffset returns the offset of tables with data points.
func pointOffset(points codec.Points) codec.Offset {
	return codec.Offset{Bucket: codec.Bucket{Every: time.Hour}, Precision: time.Millisecond, Points: points}
}

// unhex decodes hexadecimal digits, ignoring spaces.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// The bytes are those that TSDs store, as the documentation of OpenTSDB and its tests have
// them.
func TestPointsAsOpenTSDBStoresThem(t *testing.T) {
	const ints, floats = codec.IntegerPoints, codec.FloatPoints
	tests := []struct {
		name             string
		points           codec.Points
		qualifier, value string
		want             string // the seconds and values of the points
	}{
		{"a long in 8 bytes", ints, "0037", "0000000000000004", "3=4"},
		{"a long in 1 byte", ints, "0030", "ff", "3=-1"},
		{"a long in 2 bytes at the end of the hour", ints, "e0f1", "8000", "3599=-32768"},
		{"a long in 4 bytes", ints, "0033", "00010000", "3=65536"},
		{"a float in 4 bytes", floats, "003b", "3fc00000", "3=1.5"},
		{"a double", floats, "003f", "3fb999999999999a", "3=0.1"},
		{"an integer among floats", floats, "0030", "2a", "3=42"},
		{"milliseconds", ints, "f0000207", "0000000000000008", "0.008=8"},
		{"the last millisecond", ints, "fdbb9fc0", "07", "3599.999=7"},
		{"a float with milliseconds", floats, "f000020b", "3fc00000", "0.008=1.5"},
		{"flags of another length", ints, "0033", "0005", "3=5"},
		{"a float on 8 bytes, with flags of 4", floats, "003b", "00000000 3fc00000", "3=1.5"},
		{"compacted", ints, "0007 0027", "0000000000000004 0000000000000005 00", "0=4 2=5"},
		{"compacted milliseconds", ints, "f0000007 f0000207", "0000000000000004 0000000000000005 00", "0=4 0.008=5"},
		{"compacted, seconds and milliseconds", floats, "0000 f000020b 0020", "01 3fc00000 02 01", "0=1 0.008=1.5 2=2"},
		{"compacted, qualifiers of 4 bytes in all", floats, "000b 0020", "3fc00000 02 00", "0=1.5 2=2"},
		{"appended, out of order and twice", ints, "050000", "0020 05 0000 04 0020 06", "2=5 0=4 2=6"},
		{"appended with milliseconds", floats, "050000", "f000020b 3fc00000 0020 02", "0.008=1.5 2=2"},
		{"appended at another offset", ints, "052a2a", "0020 05", "2=5"},
		{"nothing appended", ints, "050000", "", ""},
	}
	for _, tt := range tests {
		in := pointOffset(tt.points).PointsIn(pointsHour)
		points, err := in.Append(nil, unhex(tt.qualifier), unhex(tt.value))
		if got := showPoints(points, tt.points); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
		if !in.HasPoints(unhex(tt.qualifier)) {
			t.Errorf("%s: no data point", tt.name)
		}
	}
}

// showPoints shows the seconds since the start of the hour and the values.
func showPoints(points []codec.Point, as codec.Points) string {
	var out []string
	for _, p := range points {
		value := fmt.Sprint(int64(p.Bits))
		if as == codec.FloatPoints {
			value = fmt.Sprint(math.Float64frombits(p.Bits))
		}
		if p.Err != nil {
			value = "error"
		}
		out = append(out, fmt.Sprintf("%g=%s", float64(p.Micros-pointsHour.UnixMicro())/1e6, value))
	}
	return strings.Join(out, " ")
}

// A cell that cannot be split has no points, and a point that cannot be decoded does not affect
// the others of its cell.
func TestPointsThatCannotBeDecoded(t *testing.T) {
	const ints, floats = codec.IntegerPoints, codec.FloatPoints
	tests := []struct {
		name             string
		points           codec.Points
		qualifier, value string
		want             string // the points, if the cell can be split
		err              error
	}{
		{"an empty qualifier", ints, "", "04", "", codec.ErrValue},
		{"an unknown prefix", ints, "070000", "04", "", codec.ErrValue},
		{"an odd length", ints, "0000000000", "04", "", codec.ErrValue},
		{"no value", ints, "0030", "", "", codec.ErrValue},
		{"a long value", ints, "0030", "000000000000000000", "", codec.ErrValue},
		{"a float on 8 bytes without zeros", floats, "003b", "000000013fc00000", "", codec.ErrValue},
		{"a value shorter than its flags", floats, "f000020f", "3fc00000", "", codec.ErrValue},
		{"compacted without the last byte", ints, "0000 0020", "0102", "", codec.ErrValue},
		{"compacted with a byte too many", ints, "0000 0020", "01020000", "", codec.ErrValue},
		{"compacted with another last byte", ints, "0000 0020", "010202", "", codec.ErrValue},
		{"compacted with missing values", ints, "0000 0027", "010200", "", codec.ErrValue},
		{"half a qualifier", ints, "0000 0010 f000", "01020300", "", codec.ErrValue},
		{"appended without its value", ints, "050000", "0020", "", codec.ErrValue},
		{"appended half a qualifier", ints, "050000", "002005 f000", "", codec.ErrValue},
		{"appended one byte", ints, "050000", "002005 00", "", codec.ErrValue},
		{"an integer of 3 bytes", ints, "0002 0020", "010203 04 00", "0=error 2=4", codec.ErrValue},
		{"a float of 2 bytes", floats, "0009 0020", "0102 04 00", "0=error 2=4", codec.ErrValue},
		{"a float among integers", ints, "000b 0020", "3fc00000 04 00", "0=error 2=4", codec.ErrInexact},
		{"an integer beyond 2^53", floats, "0007 0020", "0020000000000001 04 00", "0=error 2=4", codec.ErrInexact},
		{"after the hour", ints, "e100", "04", "3600=error", codec.ErrTimeRange},
		{"after the hour, in milliseconds", ints, "fdbba000", "04", "3600=error", codec.ErrTimeRange},
	}
	for _, tt := range tests {
		in := pointOffset(tt.points).PointsIn(pointsHour)
		points, err := in.Append(nil, unhex(tt.qualifier), unhex(tt.value))
		if got := showPoints(points, tt.points); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
		for _, p := range points {
			if p.Err != nil {
				err = p.Err
			}
		}
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v is not %v", tt.name, err, tt.err)
		}
	}
}

// Annotations and histograms are in the rows of data points.
func TestColumnsWithoutPoints(t *testing.T) {
	in := pointOffset(codec.IntegerPoints).PointsIn(pointsHour)
	for qualifier, none := range map[string]bool{
		"010000": true, "0100000001": true, "060010": true, "0600000001": true,
		"050000": false, "0107": false, "01000000": false, "07": false, "070000": false, "": false, "01": false,
	} {
		if in.HasPoints(unhex(qualifier)) == none {
			t.Errorf("%s: has points: %t", qualifier, none)
		}
	}
}

func TestPointsAreWrittenLikeOpenTSDB(t *testing.T) {
	float := func(f float64) uint64 { return math.Float64bits(f) }
	tests := []struct {
		points    codec.Points
		at        time.Duration
		bits      uint64
		qualifier string
		value     string
	}{
		{codec.IntegerPoints, 3 * time.Second, 127, "0030", "7f"},
		{codec.IntegerPoints, 3 * time.Second, 128, "0031", "0080"},
		{codec.IntegerPoints, 3 * time.Second, math.MaxUint64 - 128, "0031", "ff7f"}, // -129
		{codec.IntegerPoints, 3599 * time.Second, 32768, "e0f3", "00008000"},
		{codec.IntegerPoints, 3599 * time.Second, 1 << 31, "e0f7", "0000000080000000"},
		{codec.IntegerPoints, 8 * time.Millisecond, 1, "f0000200", "01"},
		{codec.FloatPoints, 3 * time.Second, float(1.5), "003b", "3fc00000"},
		{codec.FloatPoints, 3 * time.Second, float(42), "003b", "42280000"},
		{codec.FloatPoints, 3 * time.Second, float(0.1), "003f", "3fb999999999999a"},
		{codec.FloatPoints, 3599999 * time.Millisecond, float(math.Copysign(0, -1)), "fdbb9fcb", "80000000"},
	}
	for _, tt := range tests {
		o := pointOffset(tt.points)
		q, v := o.AppendPoint(nil, nil, pointsHour.Add(tt.at), binary.BigEndian.AppendUint64(nil, tt.bits))
		if !bytes.Equal(q, unhex(tt.qualifier)) || !bytes.Equal(v, unhex(tt.value)) {
			t.Errorf("%v: %x = %x, want %s = %s", tt.at, q, v, tt.qualifier, tt.value)
		}
	}
}

func TestPoints(t *testing.T) {
	check(t, "points of any mixture of cells are read as they were written", func(t *rapid.T) {
		o := pointOffset(rapid.SampledFrom([]codec.Points{codec.IntegerPoints, codec.FloatPoints}).Draw(t, "points"))
		in := o.PointsIn(pointsHour)
		var want []codec.Point
		var qualifiers, values, appended []byte
		for range rapid.IntRange(2, 20).Draw(t, "n") {
			millis := rapid.Int64Range(0, 3599999).Draw(t, "at")
			if rapid.Bool().Draw(t, "whole") {
				millis -= millis % 1000
			}
			at, bits := pointsHour.Add(time.Duration(millis)*time.Millisecond), rapid.Uint64().Draw(t, "bits")
			if o.Points == codec.FloatPoints {
				bits = math.Float64bits(rapid.Float64().Draw(t, "value"))
			} else if rapid.Bool().Draw(t, "small") {
				bits = uint64(rapid.Int64Range(-1<<17, 1<<17).Draw(t, "value"))
			}
			point := codec.Point{Micros: at.UnixMicro(), Bits: bits}
			want = append(want, point)
			q, v := o.AppendPoint(nil, nil, at, binary.BigEndian.AppendUint64(nil, bits))
			if got, err := in.Append(nil, q, v); err != nil || len(got) != 1 || got[0] != point {
				t.Fatalf("%x = %x: %v, %v", q, v, got, err)
			}
			known := false
			for form := range codec.PointForms {
				known = known || bytes.Equal(o.AppendPointForm(nil, at, form), q)
			}
			if !known {
				t.Fatalf("%x is not one of the forms", q)
			}
			qualifiers, values = append(qualifiers, q...), append(values, v...)
			appended = append(append(appended, q...), v...)
		}
		same := func(qualifier, value []byte) {
			if got, err := in.Append(want[:1:1], qualifier, value); err != nil || fmt.Sprint(got[1:]) != fmt.Sprint(want) {
				t.Fatalf("%x = %x: %v, %v, want %v", qualifier, value, got, err, want)
			}
		}
		same(qualifiers, append(values, byte(rapid.IntRange(0, 1).Draw(t, "mixed"))))
		same([]byte{5, 0, 0}, appended)
	})
}

func FuzzPoints(f *testing.F) {
	f.Add(unhex("0007 0027"), unhex("0000000000000004 0000000000000005 00"), false)
	f.Add(unhex("f000020b"), unhex("3fc00000"), true)
	f.Add(unhex("050000"), unhex("f000020b 3fc00000 0020 02"), true)
	f.Fuzz(func(t *testing.T, qualifier, value []byte, float bool) {
		o := pointOffset(codec.IntegerPoints)
		if float {
			o = pointOffset(codec.FloatPoints)
		}
		in := o.PointsIn(pointsHour)
		points, err := in.Append(nil, qualifier, value)
		if err != nil && (points != nil || !errors.Is(err, codec.ErrValue)) {
			t.Fatalf("%v, %v", points, err)
		}
		for _, p := range points {
			if p.Err == nil && (p.Micros < pointsHour.UnixMicro() || p.Micros >= pointsHour.Add(time.Hour).UnixMicro()) {
				t.Fatalf("a point at %d", p.Micros)
			}
		}
	})
}
