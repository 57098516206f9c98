package codec_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

func dec(pad int) codec.KeyForm              { return codec.KeyForm{Encoding: codec.KeyDecimal, Pad: pad} }
func hexa(pad int) codec.KeyForm             { return codec.KeyForm{Encoding: codec.KeyHex, Pad: pad} }
func reversed(f codec.KeyForm) codec.KeyForm { f.Reverse = true; return f }

var (
	plain     = codec.KeyForm{}
	inBinary  = codec.KeyForm{Encoding: codec.KeyBinary}
	inHex     = codec.KeyForm{Encoding: codec.KeyHex}
	inRaw     = codec.KeyForm{Encoding: codec.KeyRaw}
	inBase32  = codec.KeyForm{Encoding: codec.KeyBase32Hex}
	inBase64  = codec.KeyForm{Encoding: codec.KeyBase64URL}
	escaped   = codec.KeyForm{Escape: true}
	escapedB  = codec.KeyForm{Encoding: codec.KeyRaw, Escape: true}
	someUUID  = codec.UUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	uuidBytes = "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"
)

// The exact bytes of every form, for implementations in other languages.
func TestKeyFormBytes(t *testing.T) {
	at := time.Unix(0, 1614945839500000000)
	for _, tt := range []struct {
		delim, want string
		parts       parts
	}{
		{"#", "00042#00#7fffffffffffffff", parts{
			value("a", dec(5), int64(42)), value("b", hexa(2), uint32(0)), value("c", hexa(16), uint64(math.MaxInt64)),
		}},
		{"#", "99957#f5#9223372036854775765#18446744073709551573#ffffffffffffffd5", parts{
			value("a", reversed(dec(5)), int64(42)), value("b", reversed(hexa(2)), int32(10)),
			value("c", reversed(dec(19)), int64(42)), value("d", reversed(dec(20)), uint64(42)),
			value("e", reversed(hexa(16)), uint64(42)),
		}},
		{"#", "9999999999999999999#0#ffffffffffffffff", parts{
			value("a", dec(19), uint64(9999999999999999999)),
			value("b", codec.KeyForm{Encoding: codec.KeyDecimal}, uint64(0)),
			value("c", hexa(16), uint64(math.MaxUint64)),
		}},
		{"#", "\x80\x00\x00\x2a#\x7f\xff\xff\xff\xff\xff\xff\xd6#\x00\x00\x00\x2a#\xff\xff\xff\xff\xff\xff\xff\xd5", parts{
			value("a", inBinary, int32(42)), value("b", inBinary, int64(-42)), value("c", inBinary, uint32(42)),
			value("d", reversed(inBinary), uint64(42)),
		}},
		{"", "\xff\xff\xff\xfe\xfe\xff\xff\xff\x2a\x00\x00\x00\x00\x00\x00\x00", parts{
			value("a", codec.KeyForm{Encoding: codec.KeyBigEndian}, int32(-2)),
			value("b", codec.KeyForm{Encoding: codec.KeyLittleEndian}, int32(-2)),
			value("c", codec.KeyForm{Encoding: codec.KeyLittleEndian}, uint64(42)),
		}},
		{"", "\x80\x00\x00\x01\x7f\xff\xff\xf9\x80\x00\x00\x00\x3b\x9a\xca\x00\x01\x00", parts{
			enum("a", inBinary, phases, 1), enum("b", inBinary, phases, -7), value("c", inBinary, int64(time.Second)),
			value("d", inBinary, true), value("e", inBinary, false),
		}},
		{"#", "02#97#1", parts{
			enum("a", dec(2), phases, 2), enum("b", reversed(dec(2)), phases, 2), enum("c", dec(0), phases, 1),
		}},
		{"#", "1614945839500000000#7608426197354775807#\x16\x69\x70\xaf\x46\xe4\x7b\x00", parts{
			value("a", dec(19), at), value("b", codec.KeyForm{Reverse: true}, at), value("c", inBinary, at),
		}},
		{"", "\xe9\x96\x8e\xcb\xec\x57\x48\xff", parts{
			value("a", codec.KeyForm{Encoding: codec.KeyRaw, Pad: 8}, []byte("\xe9\x96\x8e\xcb\xec\x57\x48\xff")),
		}},
		{"#", "8385054160499999", parts{timed(codec.TimeFormat{Kind: codec.UnixMicros, Reverse: true}, at)}},
		{"#", "7608426197354775807", parts{timed(codec.TimeFormat{Kind: codec.UnixNanos, Reverse: true}, at)}},
		{"#", "\x7f\xfa\x43\x37\x1e\xe7\xb5\x1f", parts{timed(codec.TimeFormat{Kind: codec.BinaryTime, Reverse: true}, at)}},
		{"#", "0123456789abcdef0123456789abcdef#" + uuidBytes + "#" + uuidBytes, parts{
			value("a", inHex, someUUID), value("b", inRaw, someUUID), value("c", inBinary, someUUID),
		}},
		{"#", "00ff#_-8#C3A9#c3a9###", parts{
			value("a", inHex, []byte{0, 0xff}), value("b", inBase64, []byte{0xff, 0xef}), value("c", plain, "C3A9"),
			value("d", inHex, "é"), value("e", codec.KeyForm{Encoding: codec.KeyRaw, Pad: 2}, []byte("##")),
		}},
		{"#", "a$20b$23c$24#$00%\xff", parts{
			value("a", escaped, "a b#c$"), value("b", escapedB, []byte("\x00%\xff")),
		}},
		{"::", "a;3a;3a;3b;39<::x", parts{value("a", escaped, "a::;9<"), value("b", escaped, "x")}},
		{"\x00", "a\x0100b\x0101c\x02\x00z", parts{value("a", escaped, "a\x00b\x01c\x02"), value("b", plain, "z")}},
		{"", "us-west2\x00\x01\x00\x01a\x00\xff\x00\xffb\x00\x01\x00\x00\x0e\x72", parts{
			value("a", plain, "us-west2"), value("b", plain, ""), value("c", inRaw, []byte("a\x00\x00b")),
			sequence(3698),
		}},
		{"", "0369820210305phone2021-W09", parts{
			value("a", dec(5), int64(3698)), timed(mustFormat("20060102"), at), constant("phone"),
			bucket(codec.Bucket{Every: week, Label: mustLabel("iso_week")}, at),
		}},
		{"", "w00011614945839", parts{
			bucket(codec.Bucket{Every: week, Origin: date("2021-03-01"), Label: mustLabel("w%04d")}, at),
			timed(mustFormat("unix_s"), at),
		}},
		{"#", "cpu#0000003698", parts{constant("cpu"), sequence(3698)}},
		{"#", "us-west2#3698#pressure#week1#2021-03-05-1203", parts{
			value("location", plain, "us-west2"), value("balloon_id", plain, int64(3698)), constant("pressure"),
			bucket(weeks, at), timed(minutes, at),
		}},
		{"#", "true#-5#7#-1000000000#1614945839500000000#00ff", parts{
			value("flag", plain, true), value("int", plain, int64(-5)), value("uint", plain, uint64(7)),
			value("duration", plain, int64(-time.Second)), value("timestamp", plain, at),
			value("bytes", plain, []byte{0, 255}),
		}},
		{"#", "float#01234567-89ab-cdef-0123-456789abcdef", parts{
			enum("phase", plain, phases, 2), value("id", plain, someUUID),
		}},
		{"#", "0000000000000000000", parts{value("t", plain, time.Unix(0, 0))}},
		{"::", ":a:::b", parts{value("a", plain, ":a"), value("b", plain, ":b")}},
		{"#", strings.Repeat("x", codec.MaxKey), parts{value("s", plain, strings.Repeat("x", codec.MaxKey))}},
		{"#", "co#cpng#cpnmu#cpnmuog#cpnmuoj1#cpnmuoj1e8", parts{ // as in RFC 4648
			value("a", inBase32, "f"), value("b", inBase32, "fo"), value("c", inBase32, "foo"),
			value("d", inBase32, "foob"), value("e", inBase32, "fooba"), value("f", inBase32, "foobar"),
		}},
	} {
		if key, err := tt.parts.append([]byte("dst:"), tt.delim); err != nil || string(key) != "dst:"+tt.want {
			t.Errorf("got %q, %v; want %q", key, err, tt.want)
		}
	}
	for want, k := range map[string]codec.Key{
		"\x31#":    {Delimiter: "#", Segments: []codec.Segment{{Kind: codec.SaltSegment, Buckets: 2}}},
		"05#":      {Delimiter: "#", Segments: []codec.Segment{{Kind: codec.SaltSegment, Buckets: 11}}},
		"00099#":   {Delimiter: "#", Segments: []codec.Segment{{Kind: codec.SaltSegment, Buckets: 10_001}}},
		"\x05":     {Segments: []codec.Segment{{Kind: codec.SaltSegment, Buckets: 256}}},
		"\x00\x05": {Segments: []codec.Segment{{Kind: codec.SaltSegment, Buckets: 257}}},
	} {
		if !slices.Contains(k.Splits(), want) {
			t.Errorf("%q, without %q", k.Splits(), want)
		}
	}
}

func TestKeyRefuses(t *testing.T) {
	at, far := date("2021-03-05"), codec.Enum{{Number: 1 << 40, Name: "far"}}
	long := strings.Repeat("x", codec.MaxKey+1)
	for _, tt := range []struct {
		delim, field string
		want         error
		parts        parts
	}{
		{"#", "key", codec.ErrEmpty, nil},
		{"", "key", codec.ErrEmpty, nil},
		{"#", "s", codec.ErrEmpty, parts{value("s", plain, "")}},
		{"#", "s", codec.ErrEmpty, parts{value("s", escaped, "")}},
		{"#", "s", codec.ErrEmpty, parts{value("s", plain, []byte(nil))}},
		{"#", "a", codec.ErrEmpty, parts{value("a", plain, ""), value("b", plain, "#")}},
		{"#", "s", codec.ErrUTF8, parts{value("s", plain, "\xff")}},
		{"#", "s", codec.ErrUTF8, parts{value("s", escaped, "\xff")}},
		{"#", "s", codec.ErrUTF8, parts{value("s", inHex, "\xff")}},
		{"", "s", codec.ErrUTF8, parts{value("s", plain, "\xff")}},
		{"#", "s", codec.ErrEnum, parts{enum("s", plain, phases, 3)}},
		{"#", "s", codec.ErrEnum, parts{enum("s", inBinary, phases, 3)}},
		{"#", "s", codec.ErrTimeRange, parts{value("s", plain, time.Unix(0, -1))}},
		{"#", "s", codec.ErrTimeRange, parts{value("s", plain, time.Time{})}},
		{"#", "s", codec.ErrTimeRange, parts{value("s", plain, date("2262-04-12"))}},
		{"", "s", codec.ErrTimeRange, parts{value("s", inBinary, time.Unix(0, -1))}},
		{"", "s", codec.ErrTimeRange, parts{value("s", inBinary, date("2262-04-12"))}},
		{"#", "bucket", codec.ErrTimeRange, parts{bucket(weeks, date("2021-02-28"))}},
		{"#", "time", codec.ErrTimeRange, parts{timed(minutes, date("9999-12-31").AddDate(0, 0, 1))}},
		{"#", "key", codec.ErrKeyTooLong, parts{value("s", plain, long)}},
		{"", "key", codec.ErrKeyTooLong, parts{value("s", plain, long[2:])}},
		{"-", "s", codec.ErrDelimiter, parts{value("s", plain, "us-west2")}},
		{"-", "s", codec.ErrDelimiter, parts{value("s", plain, int64(-1))}},
		{"-", "time", codec.ErrDelimiter, parts{timed(minutes, at)}},
		{"w", "bucket", codec.ErrDelimiter, parts{bucket(weeks, at)}},
		{"#", "s", codec.ErrDelimiter, parts{value("s", inRaw, []byte("a#"))}},
		{"aba", "s", codec.ErrDelimiter, parts{value("s", plain, "xab")}}, // with the delimiter after it
		{"#", "s", codec.ErrRange, parts{value("s", dec(5), int64(-1))}},
		{"#", "s", codec.ErrRange, parts{value("s", hexa(16), int64(-1))}},
		{"#", "s", codec.ErrRange, parts{value("s", dec(5), int64(100000))}},
		{"#", "s", codec.ErrRange, parts{value("s", hexa(2), uint64(256))}},
		{"#", "s", codec.ErrRange, parts{value("s", reversed(dec(19)), uint64(math.MaxInt64+1))}},
		{"#", "s", codec.ErrRange, parts{enum("s", dec(3), phases, -7)}},
		{"#", "s", codec.ErrRange, parts{enum("s", inBinary, far, 1<<40)}},
		{"#", "s", codec.ErrRange, parts{value("s", codec.KeyForm{Encoding: codec.KeyRaw, Pad: 2}, []byte("abc"))}},
	} {
		_, err := tt.parts.append(nil, tt.delim)
		wantErr(t, err, tt.field, tt.want)
	}
}

// Keys that are never built, other than by changes of one byte.
func TestParseRefuses(t *testing.T) {
	text := parts{value("s", plain, "")}
	texts := append(text, value("t", plain, ""))
	number := parts{value("s", inBinary, int32(0))}
	at := parts{timed(mustFormat("binary"), time.Time{})}
	salt := func(buckets int) parts { return parts{other(codec.Segment{Kind: codec.SaltSegment, Buckets: buckets})} }
	for _, tt := range []struct {
		delim, key, field string
		parts             parts
	}{
		{"#", "2147483648", "s", parts{value("s", plain, int32(0))}},
		{"#", "4294967296", "s", parts{value("s", plain, uint32(0))}},
		{"#", "9223372036854775808", "s", parts{value("s", reversed(dec(19)), uint64(0))}},
		{"#", "9999999999999999999", "s", parts{value("s", plain, time.Time{})}},
		{"#", "sunk", "s", parts{enum("s", plain, phases, 0)}},
		{"#", "week0", "bucket", parts{bucket(weeks, time.Time{})}},
		{"#", "pressures", "key", parts{constant("pressure")}},
		{"#", "", "s", text}, {"#", "a", "t", texts}, {"#", "a#", "t", texts}, {"#", "a#b", "key", text}, {"::", "a:", "s", text},
		{"#", strings.Repeat("x", codec.MaxKey+1), "key", text},
		{"", "abc", "s", text}, {"", "abc\x00", "s", text}, {"", "abc\x00\x02", "s", text},
		{"", "\x00\x00\x00", "s", number}, {"#", "\x00\x00\x00\x00x", "s", number}, {"", "\x00\x00\x00\x00x", "key", number}, {"#", "\x00\x00\x00\x00#", "key", number},
		{"", "\x80\x00\x00\x00\x00\x00\x00\x00", "time", at}, {"", "\x7f\xff\xff\xff\xff\xff\xff\xff", "time", at},
		{"#", "$0A", "s", parts{value("s", escaped, "")}},
		{"\x7f", "\x80ff", "s", parts{value("s", escaped, "")}},
		{"#", strings.Repeat("00", 17), "s", parts{value("s", inHex, codec.UUID{})}},
		{"", "1", "s", parts{value("s", plain, int64(0))}},
		{"", "week1", "bucket", parts{bucket(weeks, time.Time{})}},
		{"#", "16", "salt", salt(16)}, {"#", "1", "salt", salt(16)}, {"", "\x10", "salt", salt(16)}, {"", "\x10", "salt", salt(0)},
		{"", "", "a", parts{value("a", inBinary, int64(0)), bucket(weeks, time.Time{})}},
		{"#", "x#y", "a", parts{value("a", plain, int64(0)), value("b", plain, int64(0))}},
	} {
		wantErr(t, tt.parts.parse(tt.key, tt.delim), tt.field, codec.ErrKey)
	}
}

func TestSalt(t *testing.T) {
	for _, tt := range []struct {
		buckets int
		parts   []string
		want    int
	}{
		{16, nil, 1},
		{16, []string{"cpu"}, 11},
		{16, []string{"cp", "u"}, 2},
		{16, []string{"cpu", "host1"}, 15},
		{1000, []string{"cpu", "host1"}, 471},
		{300, []string{"us-west2", "3698"}, 187},
		{65536, []string{""}, 2707},
		{1, []string{"cpu"}, 0},
		{0, []string{"cpu"}, 0},
	} {
		if got := codec.Salt(tt.buckets, tt.parts...); got != tt.want {
			t.Errorf("Salt(%d, %q) = %d, want %d", tt.buckets, tt.parts, got, tt.want)
		}
	}
	for buckets, want := range map[int][2]int{1: {1, 1}, 10: {1, 1}, 11: {2, 1}, 256: {3, 1}, 257: {3, 2}, 65536: {5, 2}} {
		if text, bin := codec.SaltWidth(buckets, "#"), codec.SaltWidth(buckets, ""); text != want[0] || bin != want[1] {
			t.Errorf("SaltWidth(%d) = %d and %d, want %v", buckets, text, bin, want)
		}
	}
}

func TestKeyString(t *testing.T) {
	for _, c := range []struct {
		key  string
		err  error
		want string
	}{
		{"us-west2#3698#week1", nil, "us-west2#3698#week1"},
		{"a\x00\x01", nil, `"a\x00\x01"`},
		{"", codec.ErrEmpty, "no row key: " + codec.ErrEmpty.Error()},
	} {
		if got := codec.KeyString([]byte(c.key), c.err); got != c.want {
			t.Errorf("KeyString(%q, %v) = %s, want %s", c.key, c.err, got, c.want)
		}
	}
}
