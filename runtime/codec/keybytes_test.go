package codec_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

func dec(pad int) codec.KeyForm { return codec.KeyForm{Encoding: codec.KeyDecimal, Pad: pad} }
func hexa(pad int) codec.KeyForm {
	return codec.KeyForm{Encoding: codec.KeyHex, Pad: pad}
}
func reversed(f codec.KeyForm) codec.KeyForm { f.Reverse = true; return f }

var (
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
	tests := []struct {
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
			w.String("c", codec.KeyForm{}, "C3A9")
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
			w.String("b", codec.KeyForm{}, "z")
		}},
		{"", "us-west2\x00\x01\x00\x01a\x00\xff\x00\xffb\x00\x01\x00\x00\x0e\x72", func(w *codec.KeyWriter) {
			w.String("a", codec.KeyForm{}, "us-west2")
			w.String("b", codec.KeyForm{}, "")
			w.Bytes("c", inRaw, []byte("a\x00\x00b"))
			w.Sequence(3698)
		}},
		{"", "0369820210305phone2021-W09w00011614945839", func(w *codec.KeyWriter) {
			w.Int("a", dec(5), 3698, 64)
			w.Time(mustFormat("20060102"), at)
			w.Const("phone")
			w.Bucket(codec.Bucket{Every: week, Label: mustLabel("iso_week")}, at)
			w.Bucket(codec.Bucket{Every: week, Origin: date("2021-03-01"), Label: mustLabel("w%04d")}, at)
			w.Time(mustFormat("unix_s"), at)
		}},
		{"#", "cpu#0000003698", func(w *codec.KeyWriter) {
			w.Const("cpu")
			w.Sequence(3698)
		}},
		{"#", "15#cpu#host1", func(w *codec.KeyWriter) {
			w.BeginSalt(16)
			w.String("metric", codec.KeyForm{}, "cpu")
			w.String("host", codec.KeyForm{}, "host1")
			w.EndSalt()
			w.String("metric", codec.KeyForm{}, "cpu")
			w.String("host", codec.KeyForm{}, "host1")
		}},
		{"#", "0#05#471#00007", func(w *codec.KeyWriter) {
			w.SaltNumber(1, 0)
			w.SaltNumber(11, 5)
			w.SaltNumber(1000, 471)
			w.SaltNumber(65536, 7)
		}},
		{"", "\xff\x01\x00", func(w *codec.KeyWriter) {
			w.SaltNumber(256, 255)
			w.SaltNumber(257, 256)
		}},
	}
	for _, tt := range tests {
		w := codec.NewKeyWriter(nil, tt.delim)
		tt.write(&w)
		if key, err := w.Key(); err != nil || string(key) != tt.want {
			t.Errorf("Key() = %q, %v; want %q", key, err, tt.want)
		}
	}
}

func TestKeyFormRefuses(t *testing.T) {
	tests := []struct {
		name  string
		delim string
		field string
		want  error
		write func(w *codec.KeyWriter)
	}{
		{"negative", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", dec(5), -1, 64) }},
		{"negative in hex", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", hexa(16), -1, 64) }},
		{"too many digits", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", dec(5), 100000, 64) }},
		{"too many digits, unsigned", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Uint("s", hexa(2), 256, 64) }},
		{"over MaxInt64, reversed", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Uint("s", reversed(dec(19)), math.MaxInt64+1, 64) }},
		{"33 bits", "", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", inBinary, math.MaxInt32+1, 32) }},
		{"33 bits, unsigned", "", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Uint("s", inBinary, math.MaxUint32+1, 32) }},
		{"33 bits in decimal", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", dec(0), math.MinInt32-1, 32) }},
		{"negative duration", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Int("s", dec(19), int64(-1), 64) }},
		{"negative enum", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) { w.Enum("s", dec(3), phases, -7) }},
		{"enum over 32 bits", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) {
			w.Enum("s", inBinary, codec.Enum{{Number: 1 << 40, Name: "far"}}, 1<<40)
		}},
		{"unknown enum", "#", "s", codec.ErrEnum, func(w *codec.KeyWriter) { w.Enum("s", inBinary, phases, 3) }},
		{"raw bytes of another width", "#", "s", codec.ErrRange, func(w *codec.KeyWriter) {
			w.Bytes("s", codec.KeyForm{Encoding: codec.KeyRaw, Pad: 2}, []byte("abc"))
		}},
		{"raw delimiter", "#", "s", codec.ErrDelimiter, func(w *codec.KeyWriter) { w.Bytes("s", inRaw, []byte("a#")) }},
		{"empty, escaped", "#", "s", codec.ErrEmpty, func(w *codec.KeyWriter) { w.String("s", escaped, "") }},
		{"bad UTF-8, escaped", "#", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", escaped, "\xff") }},
		{"bad UTF-8, hex", "#", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", inHex, "\xff") }},
		{"bad UTF-8, binary key", "", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "\xff") }},
		{"before 1970", "", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", inBinary, time.Unix(0, -1)) }},
		{"after 2262", "", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", inBinary, date("2262-04-12")) }},
		{"empty binary key", "", "key", codec.ErrEmpty, func(w *codec.KeyWriter) {}},
		{"long binary key", "", "key", codec.ErrKeyTooLong, func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, strings.Repeat("x", codec.MaxKey-1)) }},
		{"salt of no buckets", "#", "salt", codec.ErrForm, func(w *codec.KeyWriter) { w.BeginSalt(0) }},
		{"salt of too many", "#", "salt", codec.ErrForm, func(w *codec.KeyWriter) { w.BeginSalt(codec.MaxSaltBuckets + 1) }},
		{"known salt of no buckets", "", "salt", codec.ErrForm, func(w *codec.KeyWriter) { w.SaltNumber(0, 0) }},
		{"salt out of range", "#", "salt", codec.ErrRange, func(w *codec.KeyWriter) { w.SaltNumber(16, 16) }},
		{"negative salt", "#", "salt", codec.ErrRange, func(w *codec.KeyWriter) { w.SaltNumber(16, -1) }},
		{"salt without an end", "#", "salt", codec.ErrForm, func(w *codec.KeyWriter) { w.BeginSalt(16); w.String("s", codec.KeyForm{}, "x") }},
		{"salt without a beginning", "#", "salt", codec.ErrForm, func(w *codec.KeyWriter) { w.EndSalt() }},
		{"error in a salt", "#", "s", codec.ErrEmpty, func(w *codec.KeyWriter) { w.BeginSalt(16); w.String("s", codec.KeyForm{}, ""); w.EndSalt() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := codec.NewKeyWriter(nil, tt.delim)
			tt.write(&w)
			_, err := w.Key()
			wantErr(t, err, tt.field, tt.want)
		})
	}
}

func TestKeyReaderRefusesForms(t *testing.T) {
	tests := []struct {
		name, delim, key, field string
		read                    func(r *codec.KeyReader)
	}{
		{"upper-case hex number", "#", "0A", "s", func(r *codec.KeyReader) { r.Int("s", hexa(2), 64) }},
		{"sign", "#", "+1", "s", func(r *codec.KeyReader) { r.Int("s", dec(2), 64) }},
		{"short", "#", "1", "s", func(r *codec.KeyReader) { r.Int("s", dec(2), 64) }},
		{"over 32 bits", "#", "4294967296", "s", func(r *codec.KeyReader) { r.Uint("s", dec(10), 32) }},
		{"over 63 bits", "#", "9223372036854775808", "s", func(r *codec.KeyReader) { r.Int("s", dec(19), 64) }},
		{"over MaxInt64, reversed", "#", "9223372036854775808", "s", func(r *codec.KeyReader) { r.Uint("s", reversed(dec(19)), 64) }},
		{"byte 2 for true", "", "\x02", "s", func(r *codec.KeyReader) { r.Bool("s", inBinary) }},
		{"too few bytes", "", "\x00\x00\x00", "s", func(r *codec.KeyReader) { r.Int("s", inBinary, 32) }},
		{"bytes and no delimiter", "#", "\x00\x00\x00\x00x", "s", func(r *codec.KeyReader) { r.Int("s", inBinary, 32) }},
		{"too many bytes", "", "\x00\x00\x00\x00x", "key", func(r *codec.KeyReader) { r.Int("s", inBinary, 32) }},
		{"a delimiter at the end", "#", "\x00\x00\x00\x00#", "key", func(r *codec.KeyReader) { r.Int("s", inBinary, 32) }},
		{"unknown number", "#", "3", "s", func(r *codec.KeyReader) { r.Enum("s", dec(0), phases) }},
		{"escape of what needs none", "#", "$61", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"upper-case escape", "#", "$0A", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"half an escape", "#", "$2", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"bare space before digits", "#", "a 20", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"bare space", "#", "a b", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"escaped bad UTF-8", "\x7f", "\x80ff", "s", func(r *codec.KeyReader) { r.String("s", escaped) }},
		{"no mark", "", "abc", "s", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}) }},
		{"half a mark", "", "abc\x00", "s", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}) }},
		{"another mark", "", "abc\x00\x02", "s", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}) }},
		{"padded base64", "#", "_w==", "s", func(r *codec.KeyReader) { r.Bytes("s", inBase64) }},
		{"base64 of other bits", "#", "_x", "s", func(r *codec.KeyReader) { r.Bytes("s", inBase64) }},
		{"upper-case hex text", "#", "C3A9", "s", func(r *codec.KeyReader) { r.String("s", inHex) }},
		{"hex of bad UTF-8", "#", "ff", "s", func(r *codec.KeyReader) { r.String("s", inHex) }},
		{"long UUID", "#", strings.Repeat("00", 17), "s", func(r *codec.KeyReader) { r.UUID("s", inHex) }},
		{"no fixed width", "", "1", "s", func(r *codec.KeyReader) { r.Int("s", codec.KeyForm{}, 64) }},
		{"label of no fixed width", "", "week1", "bucket", func(r *codec.KeyReader) { r.Bucket(weeks) }},
		{"negative binary time", "", "\x80\x00\x00\x00\x00\x00\x00\x00", "time", func(r *codec.KeyReader) { r.Time(mustFormat("binary")) }},
		{"year 10000", "", "\x7f\xff\xff\xff\xff\xff\xff\xff", "time", func(r *codec.KeyReader) { r.Time(mustFormat("binary")) }},
		{"salt out of range", "#", "16", "salt", func(r *codec.KeyReader) { r.Salt(16) }},
		{"short salt", "#", "1", "salt", func(r *codec.KeyReader) { r.Salt(16) }},
		{"binary salt out of range", "", "\x10", "salt", func(r *codec.KeyReader) { r.Salt(16) }},
		{"salt of no buckets", "", "\x10", "salt", func(r *codec.KeyReader) { r.Salt(0) }},
		{"another salt", "#", "01", "salt", func(r *codec.KeyReader) { r.VerifySalt(r.Salt(16), 2) }},
		{"first error wins", "", "", "a", func(r *codec.KeyReader) { r.Int("a", inBinary, 64); r.Bucket(weeks); r.Salt(0) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := codec.NewKeyReader(tt.key, tt.delim)
			tt.read(&r)
			wantErr(t, r.Close(), tt.field, codec.ErrKey)
		})
	}
}

// In every form, us-west1 does not match us-west10, and 369 does not match balloon
// 3698.
func TestPrefixesOfForms(t *testing.T) {
	for _, delim := range keyDelims {
		prefix := func(location string, id int64) string {
			w := codec.NewKeyWriter(nil, delim)
			form := inBinary
			if delim != "" && delim != "7" {
				w.String("location", escaped, location)
				form = codec.KeyForm{}
			} else {
				w.String("location", codec.KeyForm{}, location)
			}
			w.Int("balloon_id", form, id, 64)
			p, err := w.Prefix()
			if err != nil {
				t.Fatal(err)
			}
			return string(p)
		}
		for _, other := range []string{prefix("us-west10", 369), prefix("us-west1", 3698)} {
			if strings.HasPrefix(other+"week1", prefix("us-west1", 369)) {
				t.Errorf("%q matches %q", prefix("us-west1", 369), other)
			}
		}
	}
}

func TestSalt(t *testing.T) {
	tests := []struct {
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
	}
	for _, tt := range tests {
		if got := codec.Salt(tt.buckets, tt.parts...); got != tt.want {
			t.Errorf("Salt(%d, %q) = %d, want %d", tt.buckets, tt.parts, got, tt.want)
		}
	}
	for buckets, want := range map[int][2]int{1: {1, 1}, 10: {1, 1}, 11: {2, 1}, 256: {3, 1}, 257: {3, 2}, 65536: {5, 2}} {
		if text, bin := codec.SaltWidth(buckets, "#"), codec.SaltWidth(buckets, ""); text != want[0] || bin != want[1] {
			t.Errorf("SaltWidth(%d) = %d and %d, want %v", buckets, text, bin, want)
		}
	}
	check(t, "of the bytes in the key", func(t *rapid.T) {
		delim := rapid.SampledFrom([]string{"#", "::", ""}).Draw(t, "delimiter")
		buckets := rapid.IntRange(1, codec.MaxSaltBuckets).Draw(t, "buckets")
		name, id := nastyText().Draw(t, "name"), rapid.Int64().Draw(t, "id")
		form := codec.KeyForm{Encoding: codec.KeyBinary, Reverse: true}
		alone := func(write func(w *codec.KeyWriter)) string {
			w := codec.NewKeyWriter(nil, delim)
			write(&w)
			key, _ := w.Key()
			return string(key)
		}
		text := func(w *codec.KeyWriter) { w.String("name", codec.KeyForm{Escape: delim != ""}, name) }
		number := func(w *codec.KeyWriter) { w.Int("id", form, id, 64) }
		w := codec.NewKeyWriter([]byte("dst"), delim)
		w.Const("x")
		w.BeginSalt(buckets)
		number(&w)
		text(&w)
		w.Const("y")
		salt := w.EndSalt()
		text(&w)
		key, err := w.Key()
		if err != nil {
			if !refused(err) {
				t.Fatal(err)
			}
			return
		}
		if want := codec.Salt(buckets, alone(number), alone(text), "y"); salt != want {
			t.Fatalf("salt %d, want %d", salt, want)
		}
		r := codec.NewKeyReader(string(key[len("dst"):]), delim)
		r.Const("x")
		r.VerifySalt(r.Salt(buckets), salt)
		if got := r.String("name", codec.KeyForm{Escape: delim != ""}); r.Close() != nil || got != name {
			t.Fatalf("%q is read as %q, %v", key, got, r.Close())
		}
	})
}

func BenchmarkKeyForms(b *testing.B) {
	at := date("2021-03-05T12:03:00Z")
	var buf [64]byte
	b.ReportAllocs()
	for b.Loop() {
		w := codec.NewKeyWriter(buf[:0], "#")
		w.BeginSalt(16)
		w.String("location", codec.KeyForm{}, "us-west2")
		w.EndSalt()
		w.String("location", escaped, "us-west2")
		w.Int("balloon_id", dec(8), 3698, 64)
		w.Time(codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}, at)
		if _, err := w.Key(); err != nil {
			b.Fatal(err)
		}
	}
}
