package codec_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	// weeks is the balloon's bucket: 2021-03-05 is in week1.
	weeks = codec.Bucket{
		Every:  7 * 24 * time.Hour,
		Origin: date("2021-03-01"),
		Label:  mustLabel("week%d"),
	}
	minutes = codec.TimeFormat{Layout: "2006-01-02-1504"}
)

func mustLabel(s string) codec.Label {
	l, err := codec.ParseLabel(s)
	if err != nil {
		panic(err)
	}
	return l
}

func TestKeyWriter(t *testing.T) {
	at := date("2021-03-05T12:03:59.5Z")
	tests := []struct {
		want  string
		write func(w *codec.KeyWriter)
	}{
		{"us-west2#3698#pressure#week1", func(w *codec.KeyWriter) {
			w.String("location", codec.KeyForm{}, "us-west2")
			w.Int("balloon_id", codec.KeyForm{}, 3698, 64)
			w.Const("pressure")
			w.Bucket(weeks, at)
		}},
		{"us-west2#3698#2021-03-05-1203", func(w *codec.KeyWriter) {
			w.String("location", codec.KeyForm{}, "us-west2")
			w.Int("balloon_id", codec.KeyForm{}, 3698, 64)
			w.Time(minutes, at)
		}},
		{"true#-5#7#-1000000000#1614945839500000000#00ff", func(w *codec.KeyWriter) {
			w.Bool("flag", codec.KeyForm{}, true)
			w.Int("int", codec.KeyForm{}, -5, 64)
			w.Uint("uint", codec.KeyForm{}, 7, 64)
			w.Int("duration", codec.KeyForm{}, int64(-time.Second), 64)
			w.Timestamp("timestamp", codec.KeyForm{}, at)
			w.Bytes("bytes", codec.KeyForm{}, []byte{0, 255})
		}},
		{"float#01234567-89ab-cdef-0123-456789abcdef", func(w *codec.KeyWriter) {
			w.Enum("phase", codec.KeyForm{}, phases, 2)
			w.UUID("id", codec.KeyForm{}, codec.UUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef})
		}},
		{"0000000000000000000", func(w *codec.KeyWriter) { w.Timestamp("t", codec.KeyForm{}, time.Unix(0, 0)) }},
	}
	for _, tt := range tests {
		w := codec.NewKeyWriter([]byte("dst:"), "#")
		tt.write(&w)
		key, err := w.Key()
		if err != nil || string(key) != "dst:"+tt.want {
			t.Errorf("Key() = %q, %v; want dst:%s", key, err, tt.want)
		}
		prefix, err := w.Prefix()
		if err != nil || string(prefix) != "dst:"+tt.want+"#" {
			t.Errorf("Prefix() = %q, %v; want dst:%s#", prefix, err, tt.want)
		}
	}
}

func TestKeyWriterRefuses(t *testing.T) {
	tests := []struct {
		name  string
		delim string
		field string
		want  error
		write func(w *codec.KeyWriter)
	}{
		{"no segment", "#", "key", codec.ErrEmpty, func(w *codec.KeyWriter) {}},
		{"empty string", "#", "s", codec.ErrEmpty, func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "") }},
		{"empty bytes", "#", "s", codec.ErrEmpty, func(w *codec.KeyWriter) { w.Bytes("s", codec.KeyForm{}, nil) }},
		{"bad UTF-8", "#", "s", codec.ErrUTF8, func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "\xff") }},
		{"unknown enum", "#", "s", codec.ErrEnum, func(w *codec.KeyWriter) { w.Enum("s", codec.KeyForm{}, phases, 3) }},
		{"before 1970", "#", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", codec.KeyForm{}, time.Unix(0, -1)) }},
		{"zero time", "#", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", codec.KeyForm{}, time.Time{}) }},
		{"after 2262", "#", "s", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Timestamp("s", codec.KeyForm{}, date("2262-04-12")) }},
		{"before the origin", "#", "bucket", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Bucket(weeks, date("2021-02-28")) }},
		{"year 10000", "#", "time", codec.ErrTimeRange, func(w *codec.KeyWriter) { w.Time(minutes, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }},
		{"4097 bytes", "#", "key", codec.ErrKeyTooLong, func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, strings.Repeat("x", 4097)) }},
		{"binary key, no fixed width", "", "s", codec.ErrForm, func(w *codec.KeyWriter) { w.Int("s", codec.KeyForm{}, 1, 64) }},
		{"binary key, label of no fixed width", "", "bucket", codec.ErrForm, func(w *codec.KeyWriter) { w.Bucket(weeks, date("2021-03-05")) }},
		{"first error wins", "#", "a", codec.ErrEmpty, func(w *codec.KeyWriter) {
			w.String("a", codec.KeyForm{}, "")
			w.String("b", codec.KeyForm{}, "#")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := codec.NewKeyWriter(nil, tt.delim)
			tt.write(&w)
			_, err := w.Key()
			wantErr(t, err, tt.field, tt.want)
		})
	}
	w := codec.NewKeyWriter(make([]byte, 100), "#")
	w.String("s", codec.KeyForm{}, strings.Repeat("x", codec.MaxKey))
	if _, err := w.Key(); err != nil {
		t.Errorf("key of 4096 bytes: %v", err)
	}
}

// The writer rejects a delimiter in a value of any type, and a value that forms one
// together with the delimiter after it.
func TestDelimiterInSegments(t *testing.T) {
	tests := []struct {
		delim string
		write func(w *codec.KeyWriter)
	}{
		{"#", func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "us#west") }},
		{"-", func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "us-west2") }},
		{"-", func(w *codec.KeyWriter) { w.Int("s", codec.KeyForm{}, -1, 64) }},
		{"-", func(w *codec.KeyWriter) { w.Int("s", codec.KeyForm{}, int64(-1), 64) }},
		{"-", func(w *codec.KeyWriter) { w.UUID("s", codec.KeyForm{}, codec.UUID{}) }},
		{"-", func(w *codec.KeyWriter) { w.Time(minutes, date("2021-03-05")) }},
		{"e", func(w *codec.KeyWriter) { w.Bool("s", codec.KeyForm{}, true) }},
		{"a", func(w *codec.KeyWriter) { w.Bytes("s", codec.KeyForm{}, []byte{0xaa}) }},
		{"a", func(w *codec.KeyWriter) { w.Enum("s", codec.KeyForm{}, phases, 1) }},
		{"w", func(w *codec.KeyWriter) { w.Bucket(weeks, date("2021-03-05")) }},
		{"1", func(w *codec.KeyWriter) { w.Timestamp("s", codec.KeyForm{}, date("2021-03-05")) }},
		{"1", func(w *codec.KeyWriter) { w.Uint("s", codec.KeyForm{}, 314, 64) }},
		{"::", func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "a:") }},
		{"::", func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "a::b") }},
		{"aba", func(w *codec.KeyWriter) { w.String("s", codec.KeyForm{}, "xab") }},
	}
	for _, tt := range tests {
		w := codec.NewKeyWriter(nil, tt.delim)
		tt.write(&w)
		if _, err := w.Key(); !errors.Is(err, codec.ErrDelimiter) {
			t.Errorf("delimiter %q: got error %v", tt.delim, err)
		}
	}
	w := codec.NewKeyWriter(nil, "::")
	w.String("a", codec.KeyForm{}, ":a")
	w.String("b", codec.KeyForm{}, ":b")
	if key, err := w.Key(); err != nil || string(key) != ":a:::b" {
		t.Errorf("Key() = %q, %v", key, err)
	}
}

// A prefix ends with the delimiter: us-west1 does not match us-west10, and 369 does not
// match balloon 3698.
func TestPrefixOfAnotherKey(t *testing.T) {
	prefix := func(location string, id int64) string {
		w := codec.NewKeyWriter(nil, "#")
		w.String("location", codec.KeyForm{}, location)
		w.Int("balloon_id", codec.KeyForm{}, id, 64)
		p, err := w.Prefix()
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	for _, other := range []string{prefix("us-west10", 369), prefix("us-west1", 3698)} {
		if strings.HasPrefix(other+"week1", prefix("us-west1", 369)) {
			t.Errorf("%s matches %s", prefix("us-west1", 369), other)
		}
	}
}

// delimiters clash with the values that the tests draw.
var delimiters = rapid.SampledFrom([]string{"#", "-", "::", "aba", "/", "\x00", "7"})

func segmentTexts() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("ab:#-7")), 0, 6, -1))
}

func TestPrefixSafety(t *testing.T) {
	check(t, "no prefix of one series matches another", func(t *rapid.T) {
		delim := delimiters.Draw(t, "delimiter")
		series := func(label string) (prefix, key string, values [2]string, ok bool) {
			values = [2]string{segmentTexts().Draw(t, label+"0"), segmentTexts().Draw(t, label+"1")}
			w := codec.NewKeyWriter(nil, delim)
			w.String("a", codec.KeyForm{}, values[0])
			p, err1 := w.Prefix()
			prefix = string(p)
			w.String("b", codec.KeyForm{}, values[1])
			k, err2 := w.Key()
			return prefix, string(k), values, err1 == nil && err2 == nil
		}
		prefix, _, v, ok1 := series("x")
		_, key, u, ok2 := series("y")
		if ok1 && ok2 && strings.HasPrefix(key, prefix) != (v[0] == u[0]) {
			t.Fatalf("prefix %q of %q, key %q of %q", prefix, v, key, u)
		}
	})
}

// row is a key with one segment of each type.
type row struct {
	S  string
	B  []byte
	F  bool
	I  int64
	U  uint64
	D  time.Duration
	T  time.Time
	ID codec.UUID
	E  int64
	At time.Time // precision of a minute; both the bucket and the time
}

func (r row) write(delim string) ([]byte, error) {
	w := codec.NewKeyWriter(nil, delim)
	w.String("s", codec.KeyForm{}, r.S)
	w.Bytes("b", codec.KeyForm{}, r.B)
	w.Bool("f", codec.KeyForm{}, r.F)
	w.Int("i", codec.KeyForm{}, r.I, 64)
	w.Uint("u", codec.KeyForm{}, r.U, 64)
	w.Int("d", codec.KeyForm{}, int64(r.D), 64)
	w.Timestamp("t", codec.KeyForm{}, r.T)
	w.UUID("id", codec.KeyForm{}, r.ID)
	w.Enum("e", codec.KeyForm{}, phases, r.E)
	w.Const("metric")
	w.Bucket(weeks, r.At)
	w.Time(minutes, r.At)
	return w.Key()
}

func readRow(key, delim string) (row, time.Time, error) {
	r := codec.NewKeyReader(key, delim)
	v := row{S: r.String("s", codec.KeyForm{}), B: r.Bytes("b", codec.KeyForm{}), F: r.Bool("f", codec.KeyForm{}), I: r.Int("i", codec.KeyForm{}, 64), U: r.Uint("u", codec.KeyForm{}, 64),
		D: time.Duration(r.Int("d", codec.KeyForm{}, 64)), T: r.Timestamp("t", codec.KeyForm{}), ID: r.UUID("id", codec.KeyForm{}), E: r.Enum("e", codec.KeyForm{}, phases)}
	r.Const("metric")
	bucket := r.Bucket(weeks)
	v.At = r.Time(minutes)
	return v, bucket, r.Close()
}

func TestKeyRoundTrip(t *testing.T) {
	check(t, "every type", func(t *rapid.T) {
		delim := rapid.SampledFrom([]string{"#", "::", "/"}).Draw(t, "delimiter")
		want := row{
			S:  segmentTexts().Draw(t, "S"),
			B:  rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "B"),
			F:  rapid.Bool().Draw(t, "F"),
			I:  rapid.Int64().Draw(t, "I"),
			U:  rapid.Uint64().Draw(t, "U"),
			D:  durations().Draw(t, "D"),
			T:  times(1970, 2262).Draw(t, "T"),
			ID: uuids().Draw(t, "ID"),
			E:  rapid.SampledFrom([]int64{1, 2, -7}).Draw(t, "E"),
			At: codec.Truncate(times(2022, 9999).Draw(t, "At"), time.Minute),
		}
		key, err := want.write(delim)
		if err != nil {
			if !errors.Is(err, codec.ErrEmpty) && !errors.Is(err, codec.ErrDelimiter) {
				t.Fatal(err)
			}
			return
		}
		got, bucket, err := readRow(string(key), delim)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		if !bucket.Equal(weeks.Start(want.At)) {
			t.Fatalf("bucket %v, want %v", bucket, weeks.Start(want.At))
		}
	})
}

func TestKeyReaderRefuses(t *testing.T) {
	tests := []struct {
		name  string
		key   string
		field string
		read  func(r *codec.KeyReader)
	}{
		{"plus sign", "+5", "i", func(r *codec.KeyReader) { r.Int("i", codec.KeyForm{}, 64) }},
		{"leading zeros", "007", "i", func(r *codec.KeyReader) { r.Int("i", codec.KeyForm{}, 64) }},
		{"negative zero", "-0", "i", func(r *codec.KeyReader) { r.Int("i", codec.KeyForm{}, 64) }},
		{"too wide", "2147483648", "i", func(r *codec.KeyReader) { r.Int("i", codec.KeyForm{}, 32) }},
		{"too wide, unsigned", "4294967296", "u", func(r *codec.KeyReader) { r.Uint("u", codec.KeyForm{}, 32) }},
		{"negative, unsigned", "-1", "u", func(r *codec.KeyReader) { r.Uint("u", codec.KeyForm{}, 32) }},
		{"upper-case hex", "AB", "b", func(r *codec.KeyReader) { r.Bytes("b", codec.KeyForm{}) }},
		{"odd hex", "abc", "b", func(r *codec.KeyReader) { r.Bytes("b", codec.KeyForm{}) }},
		{"1 for true", "1", "f", func(r *codec.KeyReader) { r.Bool("f", codec.KeyForm{}) }},
		{"upper-case UUID", "01234567-89AB-cdef-0123-456789abcdef", "id", func(r *codec.KeyReader) { r.UUID("id", codec.KeyForm{}) }},
		{"short timestamp", "1614945839", "t", func(r *codec.KeyReader) { r.Timestamp("t", codec.KeyForm{}) }},
		{"long timestamp", "9999999999999999999", "t", func(r *codec.KeyReader) { r.Timestamp("t", codec.KeyForm{}) }},
		{"unknown name", "sunk", "e", func(r *codec.KeyReader) { r.Enum("e", codec.KeyForm{}, phases) }},
		{"padded week", "week01", "bucket", func(r *codec.KeyReader) { r.Bucket(weeks) }},
		{"week 0", "week0", "bucket", func(r *codec.KeyReader) { r.Bucket(weeks) }},
		{"another month", "2021-13-01-0000", "time", func(r *codec.KeyReader) { r.Time(minutes) }},
		{"another const", "pressures", "key", func(r *codec.KeyReader) { r.Const("pressure") }},
		{"bad UTF-8", "\xff", "s", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}) }},
		{"empty", "", "s", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}) }},
		{"too few", "a", "t", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}); _ = r.String("t", codec.KeyForm{}) }},
		{"empty at the end", "a#", "t", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}); _ = r.String("t", codec.KeyForm{}) }},
		{"too many", "a#b", "key", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}) }},
		{"too long", strings.Repeat("x", 4097), "key", func(r *codec.KeyReader) { _ = r.String("s", codec.KeyForm{}) }},
		{"first error wins", "x#y", "a", func(r *codec.KeyReader) { r.Int("a", codec.KeyForm{}, 64); r.Int("b", codec.KeyForm{}, 64) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := codec.NewKeyReader(tt.key, "#")
			tt.read(&r)
			wantErr(t, r.Close(), tt.field, codec.ErrKey)
		})
	}
	r := codec.NewKeyReader("a:", "::")
	_ = r.String("s", codec.KeyForm{})
	wantErr(t, r.Close(), "s", codec.ErrKey)
}

// A reader accepts only what the writer writes.
func FuzzKeyReader(f *testing.F) {
	f.Add("s#00#true#-5#7#9#1614945839500000000#01234567-89ab-cdef-0123-456789abcdef#lost#metric#week1#2021-03-05-1203", "#")
	f.Add("a:::b", "::")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, key, delim string) {
		v, bucket, err := readRow(key, delim)
		if err == nil && bucket.Equal(weeks.Start(v.At)) {
			if again, err := v.write(delim); err != nil || string(again) != key {
				t.Errorf("%q was read and written as %q, %v", key, again, err)
			}
		}
		r := codec.NewKeyReader(key, delim)
		a, b := r.String("a", codec.KeyForm{}), r.String("b", codec.KeyForm{})
		if r.Close() == nil {
			w := codec.NewKeyWriter(nil, delim)
			w.String("a", codec.KeyForm{}, a)
			w.String("b", codec.KeyForm{}, b)
			if again, err := w.Key(); err != nil || string(again) != key {
				t.Errorf("%q was read and written as %q, %v", key, again, err)
			}
		}
	})
}

func BenchmarkKeyBucket(b *testing.B) {
	at := date("2021-03-05T12:03:00Z")
	var buf [64]byte
	b.ReportAllocs()
	for b.Loop() {
		w := codec.NewKeyWriter(buf[:0], "#")
		w.String("location", codec.KeyForm{}, "us-west2")
		w.Int("balloon_id", codec.KeyForm{}, 3698, 64)
		w.Bucket(weeks, at)
		if _, err := w.Key(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKeyTime(b *testing.B) {
	at := date("2021-03-05T12:03:00Z")
	b.ReportAllocs()
	for b.Loop() {
		w := codec.NewKeyWriter(make([]byte, 0, 64), "#")
		w.String("location", codec.KeyForm{}, "us-west2")
		w.Int("balloon_id", codec.KeyForm{}, 3698, 64)
		w.Time(minutes, at)
		key, err := w.Key()
		if err != nil {
			b.Fatal(err)
		}
		sink = string(key)
	}
}

func BenchmarkKeyReadTime(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := codec.NewKeyReader("us-west2#3698#2021-03-05-1200", "#")
		sink = r.String("location", codec.KeyForm{})
		r.Int("balloon_id", codec.KeyForm{}, 64)
		r.Time(minutes)
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

var sink string

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
