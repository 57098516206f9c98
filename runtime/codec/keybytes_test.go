package codec_test

import (
	"math"
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
		write       func(w *codec.KeyWriter)
	}{
		{"#", "00042#00#7fffffffffffffff", func(w *codec.KeyWriter) {
			w.Int("a", dec(5), 42, 64)
			w.Uint("b", hexa(2), 0, 32)
			w.Uint("c", hexa(16), math.MaxInt64, 64)
		}},
		{"#", "99957#f5#9223372036854775765#18446744073709551573#ffffffffffffffd5", func(w *codec.KeyWriter) {
			w.Int("a", reversed(dec(5)), 42, 64)
			w.Int("b", reversed(hexa(2)), 10, 32)
			w.Int("c", reversed(dec(19)), 42, 64)
			w.Uint("d", reversed(dec(20)), 42, 64)
			w.Uint("e", reversed(hexa(16)), 42, 64)
		}},
		{"#", "9999999999999999999#0#ffffffffffffffff", func(w *codec.KeyWriter) {
			w.Uint("a", dec(19), 9999999999999999999, 64)
			w.Uint("b", codec.KeyForm{Encoding: codec.KeyDecimal}, 0, 64)
			w.Uint("c", hexa(16), math.MaxUint64, 64)
		}},
		{"#", "\x80\x00\x00\x2a#\x7f\xff\xff\xff\xff\xff\xff\xd6#\x00\x00\x00\x2a#\xff\xff\xff\xff\xff\xff\xff\xd5", func(w *codec.KeyWriter) {
			w.Int("a", inBinary, 42, 32)
			w.Int("b", inBinary, -42, 64)
			w.Uint("c", inBinary, 42, 32)
			w.Uint("d", reversed(inBinary), 42, 64)
		}},
		{"", "\xff\xff\xff\xfe\xfe\xff\xff\xff\x2a\x00\x00\x00\x00\x00\x00\x00", func(w *codec.KeyWriter) {
			w.Int("a", codec.KeyForm{Encoding: codec.KeyBigEndian}, -2, 32)
			w.Int("b", codec.KeyForm{Encoding: codec.KeyLittleEndian}, -2, 32)
			w.Uint("c", codec.KeyForm{Encoding: codec.KeyLittleEndian}, 42, 64)
		}},
		{"", "\x80\x00\x00\x01\x7f\xff\xff\xf9\x80\x00\x00\x00\x3b\x9a\xca\x00\x01\x00", func(w *codec.KeyWriter) {
			w.Enum("a", inBinary, phases, 1)
			w.Enum("b", inBinary, phases, -7)
			w.Int("c", inBinary, int64(time.Second), 64)
			w.Bool("d", inBinary, true)
			w.Bool("e", inBinary, false)
		}},
		{"#", "02#97#1", func(w *codec.KeyWriter) {
			w.Enum("a", dec(2), phases, 2)
			w.Enum("b", reversed(dec(2)), phases, 2)
			w.Enum("c", dec(0), phases, 1)
		}},
		{"#", "1614945839500000000#7608426197354775807#\x16\x69\x70\xaf\x46\xe4\x7b\x00", func(w *codec.KeyWriter) {
			w.Timestamp("a", dec(19), at)
			w.Timestamp("b", codec.KeyForm{Reverse: true}, at)
			w.Timestamp("c", inBinary, at)
		}},
		{"", "\xe9\x96\x8e\xcb\xec\x57\x48\xff", func(w *codec.KeyWriter) {
			w.Bytes("a", codec.KeyForm{Encoding: codec.KeyRaw, Pad: 8}, []byte("\xe9\x96\x8e\xcb\xec\x57\x48\xff"))
		}},
		{"#", "8385054160499999#7608426197354775807#\x7f\xfa\x43\x37\x1e\xe7\xb5\x1f", func(w *codec.KeyWriter) {
			w.Time(codec.TimeFormat{Kind: codec.UnixMicros, Reverse: true}, at)
			w.Time(codec.TimeFormat{Kind: codec.UnixNanos, Reverse: true}, at)
			w.Time(codec.TimeFormat{Kind: codec.BinaryTime, Reverse: true}, at)
		}},
		{"#", "0123456789abcdef0123456789abcdef#" + uuidBytes + "#" + uuidBytes, func(w *codec.KeyWriter) {
			w.UUID("a", inHex, someUUID)
			w.UUID("b", inRaw, someUUID)
			w.UUID("c", inBinary, someUUID)
		}},
		{"#", "00ff#_-8#C3A9#c3a9###", func(w *codec.KeyWriter) {
			w.Bytes("a", inHex, []byte{0, 0xff})
			w.Bytes("b", inBase64, []byte{0xff, 0xef})
			w.String("c", plain, "C3A9")
			w.String("d", inHex, "é")
			w.Bytes("e", codec.KeyForm{Encoding: codec.KeyRaw, Pad: 2}, []byte("##"))
		}},
		{"#", "a$20b$23c$24#$00%\xff", func(w *codec.KeyWriter) {
			w.String("a", escaped, "a b#c$")
			w.Bytes("b", escapedB, []byte("\x00%\xff"))
		}},
		{"::", "a;3a;3a;3b;39<::x", func(w *codec.KeyWriter) {
			w.String("a", escaped, "a::;9<")
			w.String("b", escaped, "x")
		}},
		{"\x00", "a\x0100b\x0101c\x02\x00z", func(w *codec.KeyWriter) {
			w.String("a", escaped, "a\x00b\x01c\x02")
			w.String("b", plain, "z")
		}},
		{"", "us-west2\x00\x01\x00\x01a\x00\xff\x00\xffb\x00\x01\x00\x00\x0e\x72", func(w *codec.KeyWriter) {
			w.String("a", plain, "us-west2")
			w.String("b", plain, "")
			w.Bytes("c", inRaw, []byte("a\x00\x00b"))
			w.Sequence(3698)
		}},
		{"", "0369820210305phone2021-W09w00011614945839", func(w *codec.KeyWriter) {
			w.Int("a", dec(5), 3698, 64)
			w.Time(mustFormat("20060102"), at)
			w.Const("phone")
			w.Bucket(&codec.Bucket{Every: week, Label: mustLabel("iso_week")}, at)
			w.Bucket(&codec.Bucket{Every: week, Origin: date("2021-03-01"), Label: mustLabel("w%04d")}, at)
			w.Time(mustFormat("unix_s"), at)
		}},
		{"#", "cpu#0000003698", func(w *codec.KeyWriter) {
			w.Const("cpu")
			w.Sequence(3698)
		}},
		{"#", "0#05#471#00007", func(w *codec.KeyWriter) {
			w.Salt(1, 0)
			w.Salt(11, 5)
			w.Salt(1000, 471)
			w.Salt(65536, 7)
		}},
		{"", "\xff\x01\x00", func(w *codec.KeyWriter) {
			w.Salt(256, 255)
			w.Salt(257, 256)
		}},
		{"#", "us-west2#3698#pressure#week1#2021-03-05-1203", func(w *codec.KeyWriter) {
			w.String("location", plain, "us-west2")
			w.Int("balloon_id", plain, 3698, 64)
			w.Const("pressure")
			w.Bucket(&weeks, at)
			w.Time(minutes, at)
		}},
		{"#", "true#-5#7#-1000000000#1614945839500000000#00ff", func(w *codec.KeyWriter) {
			w.Bool("flag", plain, true)
			w.Int("int", plain, -5, 64)
			w.Uint("uint", plain, 7, 64)
			w.Int("duration", plain, int64(-time.Second), 64)
			w.Timestamp("timestamp", plain, at)
			w.Bytes("bytes", plain, []byte{0, 255})
		}},
		{"#", "float#01234567-89ab-cdef-0123-456789abcdef", func(w *codec.KeyWriter) {
			w.Enum("phase", plain, phases, 2)
			w.UUID("id", plain, codec.UUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef})
		}},
		{"#", "0000000000000000000", func(w *codec.KeyWriter) { w.Timestamp("t", plain, time.Unix(0, 0)) }},
		{"::", ":a:::b", func(w *codec.KeyWriter) { w.String("a", plain, ":a"); w.String("b", plain, ":b") }},
		{"#", strings.Repeat("x", codec.MaxKey), func(w *codec.KeyWriter) { w.String("s", plain, strings.Repeat("x", codec.MaxKey)) }},
		{"#", "co#cpng#cpnmu#cpnmuog#cpnmuoj1#cpnmuoj1e8", func(w *codec.KeyWriter) { // as in RFC 4648
			for n := range 6 {
				w.String("s", codec.KeyForm{Encoding: codec.KeyBase32Hex}, "foobar"[:n+1])
			}
		}},
	} {
		w := codec.NewKeyWriter([]byte("dst:"), tt.delim)
		tt.write(&w)
		if key, err := w.Key(); err != nil || string(key) != "dst:"+tt.want {
			t.Errorf("Key() = %q, %v; want %q", key, err, tt.want)
		}
	}
}

func TestKeyWriterRefuses(t *testing.T) {
	at, far := date("2021-03-05"), codec.Enum{{Number: 1 << 40, Name: "far"}}
	long := strings.Repeat("x", codec.MaxKey+1)
	for _, tt := range []struct {
		delim, field string
		want         error
		write        func(w *codec.KeyWriter)
	}{
		{"#", "key", codec.ErrEmpty, func(w *codec.KeyWriter) {}},
		{"", "key", codec.ErrEmpty, func(w *codec.KeyWriter) {}},
		{"#", "s", codec.ErrEmpty, func(w *codec.KeyWriter) { w.String("s", plain, "") }},
		{"#", "s", codec.ErrEmpty, func(w *codec.KeyWriter) { w.String("s", escaped, "") }},
		{"#", "s", codec.ErrEmpty, func(w *codec.KeyWriter) { w.Bytes("s", plain, nil) }},
		{"#", "a", codec.ErrEmpty, func(w *codec.KeyWriter) { w.String("a", plain, ""); w.String("b", plain, "#") }},
		{"#", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", plain, "\xff") }},
		{"#", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", escaped, "\xff") }},
		{"#", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", inHex, "\xff") }},
		{"", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", plain, "\xff") }},
		{"#", "s", codec.ErrEnum, func(w *codec.KeyWriter) { w.Enum("s", plain, phases, 3) }},
		{"#", "s", codec.ErrEnum, func(w *codec.KeyWriter) { w.Enum("s", inBinary, phases, 3) }},
		{"#", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", plain, time.Unix(0, -1)) }},
		{"#", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", plain, time.Time{}) }},
		{"#", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", plain, date("2262-04-12")) }},
		{"", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", inBinary, time.Unix(0, -1)) }},
		{"", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", inBinary, date("2262-04-12")) }},
		{"#", "bucket", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Bucket(&weeks, date("2021-02-28")) }},
		{"#", "time", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Time(minutes, date("9999-12-31").AddDate(0, 0, 1)) }},
		{"#", "key", codec.ErrKeyTooLong, func(w *codec.KeyWriter) { w.String("s", plain, long) }},
		{"", "key", codec.ErrKeyTooLong, func(w *codec.KeyWriter) { w.String("s", plain, long[2:]) }},
		{"-", "s", codec.ErrDelimiter, func(w *codec.KeyWriter) { w.String("s", plain, "us-west2") }},
		{"-", "s", codec.ErrDelimiter, func(w *codec.KeyWriter) { w.Int("s", plain, -1, 64) }},
		{"-", "time", codec.ErrDelimiter, func(w *codec.KeyWriter) { w.Time(minutes, at) }},
		{"w", "bucket", codec.ErrDelimiter, func(w *codec.KeyWriter) { w.Bucket(&weeks, at) }},
		{"#", "s", codec.ErrDelimiter, func(w *codec.KeyWriter) { w.Bytes("s", inRaw, []byte("a#")) }},
		{"aba", "s", codec.ErrDelimiter, func(w *codec.KeyWriter) { w.String("s", plain, "xab") }}, // with the delimiter after it
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", dec(5), -1, 64) }},
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", hexa(16), -1, 64) }},
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", dec(5), 100000, 64) }},
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Uint("s", hexa(2), 256, 64) }},
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Uint("s", reversed(dec(19)), math.MaxInt64+1, 64) }},
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Enum("s", dec(3), phases, -7) }},
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Enum("s", inBinary, far, 1<<40) }},
		{"#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Bytes("s", codec.KeyForm{Encoding: codec.KeyRaw, Pad: 2}, []byte("abc")) }},
	} {
		w := codec.NewKeyWriter(nil, tt.delim)
		tt.write(&w)
		_, err := w.Key()
		wantErr(t, err, tt.field, tt.want)
	}
}

// Keys that no writer writes, other than by changes of one byte.
func TestKeyReaderRefuses(t *testing.T) {
	text := func(r *codec.KeyReader) { _ = r.String("s", plain) }
	texts := func(r *codec.KeyReader) { text(r); _ = r.String("t", plain) }
	number := func(r *codec.KeyReader) { r.Int("s", inBinary, 32) }
	at := func(r *codec.KeyReader) { r.Time(mustFormat("binary")) }
	salt := func(r *codec.KeyReader) { r.Salt(16) }
	for _, tt := range []struct {
		delim, key, field string
		read              func(r *codec.KeyReader)
	}{
		{"#", "2147483648", "s", func(r *codec.KeyReader) { r.Int("s", plain, 32) }},
		{"#", "4294967296", "s", func(r *codec.KeyReader) { r.Uint("s", plain, 32) }},
		{"#", "9223372036854775808", "s", func(r *codec.KeyReader) { r.Uint("s", reversed(dec(19)), 64) }},
		{"#", "9999999999999999999", "s", func(r *codec.KeyReader) { r.Timestamp("s", plain) }},
		{"#", "sunk", "s", func(r *codec.KeyReader) { r.Enum("s", plain, phases) }},
		{"#", "week0", "bucket", func(r *codec.KeyReader) { r.Bucket(&weeks) }},
		{"#", "pressures", "key", func(r *codec.KeyReader) { r.Const("pressure") }},
		{"#", "", "s", text}, {"#", "a", "t", texts}, {"#", "a#", "t", texts}, {"#", "a#b", "key", text}, {"::", "a:", "s", text},
		{"#", strings.Repeat("x", codec.MaxKey+1), "key", text},
		{"", "abc", "s", text}, {"", "abc\x00", "s", text}, {"", "abc\x00\x02", "s", text},
		{"", "\x00\x00\x00", "s", number}, {"#", "\x00\x00\x00\x00x", "s", number}, {"", "\x00\x00\x00\x00x", "key", number}, {"#", "\x00\x00\x00\x00#", "key", number},
		{"", "\x80\x00\x00\x00\x00\x00\x00\x00", "time", at}, {"", "\x7f\xff\xff\xff\xff\xff\xff\xff", "time", at},
		{"#", "$0A", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"\x7f", "\x80ff", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"#", strings.Repeat("00", 17), "s", func(r *codec.KeyReader) { r.UUID("s", inHex) }},
		{"", "1", "s", func(r *codec.KeyReader) { r.Int("s", plain, 64) }},
		{"", "week1", "bucket", func(r *codec.KeyReader) { r.Bucket(&weeks) }},
		{"#", "16", "salt", salt}, {"#", "1", "salt", salt}, {"", "\x10", "salt", salt},
		{"", "\x10", "salt", func(r *codec.KeyReader) { r.Salt(0) }},
		{"", "", "a", func(r *codec.KeyReader) { r.Int("a", inBinary, 64); r.Bucket(&weeks); r.Salt(0) }},
		{"#", "x#y", "a", func(r *codec.KeyReader) { r.Int("a", plain, 64); r.Int("b", plain, 64) }},
	} {
		r := codec.NewKeyReader(tt.key, tt.delim)
		tt.read(&r)
		wantErr(t, r.Close(), tt.field, codec.ErrKey)
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
