package codec_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

// keyDelims are the delimiters that the tests of forms use. The empty one makes keys
// binary.
var keyDelims = []string{"#", "::", "/", "\x00", "|", "7", ""}

// segment is a key segment of one type and form.
type segment struct {
	name     string
	sorts    bool // keys sort in order of values
	reverse  bool // the order is descending
	draw     func(t *rapid.T) any
	write    func(w *codec.KeyWriter, v any)
	read     func(r *codec.KeyReader) any
	compare  func(a, b any) int
	alphabet string // of the encoding, if it has one
}

// kind is a segment type with all its forms.
type kind struct {
	t       codec.SegmentType
	draw    func(t *rapid.T) any
	write   func(w *codec.KeyWriter, f codec.KeyForm, v any)
	read    func(r *codec.KeyReader, f codec.KeyForm) any
	compare func(a, b any) int
}

func ordered[T cmp.Ordered](a, b any) int { return cmp.Compare(a.(T), b.(T)) }

// nasty draws bytes near the delimiters, escapes and terminators.
func nasty() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01\x02\"#$%./0123:;<678ab{|}~\xfe\xff")), 0, 5),
		rapid.SliceOfN(rapid.Byte(), 0, 9),
	)
}

func nastyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01\x02\"#$%./01:;<678ab{|}~")), 0, 5),
		func(b []byte) string { return string(b) }), rapid.String())
}

func boundary[T int64 | uint64](of *rapid.Generator[T], more ...T) *rapid.Generator[T] {
	return rapid.OneOf(of, rapid.SampledFrom(more))
}

func drawn[T any](g *rapid.Generator[T]) func(t *rapid.T) any {
	return func(t *rapid.T) any { return g.Draw(t, "v") }
}

var kinds = []kind{
	{codec.StringSegment, drawn(nastyText()),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.String("s", f, v.(string)) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.String("s", f) }, ordered[string]},
	{codec.BytesSegment, func(t *rapid.T) any { return string(nasty().Draw(t, "v")) },
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Bytes("s", f, []byte(v.(string))) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return string(r.Bytes("s", f)) }, ordered[string]},
	{codec.BoolSegment, drawn(rapid.Bool()),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Bool("s", f, v.(bool)) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.Bool("s", f) },
		func(a, b any) int {
			if a == b {
				return 0
			} else if a == true {
				return 1
			}
			return -1
		}},
	{codec.Int32Segment, drawn(boundary(rapid.Int64Range(math.MinInt32, math.MaxInt32), -1, 0, 9, 10, math.MaxInt32)),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Int("s", f, v.(int64), 32) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.Int("s", f, 32) }, ordered[int64]},
	{codec.Int64Segment, drawn(boundary(rapid.Int64(), -1, 0, 9, 10, math.MaxInt32, math.MaxInt64, math.MinInt64, 999_999_999_999_999_999)),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Int("s", f, v.(int64), 64) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.Int("s", f, 64) }, ordered[int64]},
	{codec.Uint32Segment, drawn(boundary(rapid.Uint64Range(0, math.MaxUint32), 9, 10, math.MaxUint32)),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Uint("s", f, v.(uint64), 32) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.Uint("s", f, 32) }, ordered[uint64]},
	{codec.Uint64Segment, drawn(boundary(rapid.Uint64(), 9, 10, math.MaxUint64, math.MaxInt64, math.MaxInt64+1, 9_999_999_999_999_999_999)),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Uint("s", f, v.(uint64), 64) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.Uint("s", f, 64) }, ordered[uint64]},
	{codec.DurationSegment, drawn(durations()),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Int("s", f, int64(v.(time.Duration)), 64) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return time.Duration(r.Int("s", f, 64)) }, ordered[time.Duration]},
	{codec.TimestampSegment, drawn(times(1970, 2262)),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Timestamp("s", f, v.(time.Time)) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.Timestamp("s", f) }, compareTimes},
	{codec.UUIDSegment, drawn(uuids()),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.UUID("s", f, v.(codec.UUID)) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.UUID("s", f) },
		func(a, b any) int { x, y := a.(codec.UUID), b.(codec.UUID); return bytes.Compare(x[:], y[:]) }},
	{codec.EnumSegment, drawn(rapid.SampledFrom([]int64{1, 2, -7})),
		func(w *codec.KeyWriter, f codec.KeyForm, v any) { w.Enum("s", f, phases, v.(int64)) },
		func(r *codec.KeyReader, f codec.KeyForm) any { return r.Enum("s", f, phases) }, ordered[int64]},
}

func compareTimes(a, b any) int { return a.(time.Time).Compare(b.(time.Time)) }

// allForms returns every combination of form fields. Most are invalid for any given
// type.
func allForms() []codec.KeyForm {
	var forms []codec.KeyForm
	for e := range codec.KeyEncoding(len(codec.KeyEncodings()) + 1) { // the last one does not exist
		for _, pad := range []int{-1, 0, 1, 3, 10, 16, 17, 18, 19, 20, 21} {
			for bits := range 4 {
				forms = append(forms, codec.KeyForm{Encoding: e, Pad: pad, Reverse: bits&1 != 0, Escape: bits&2 != 0})
			}
		}
	}
	return forms
}

// segmentOf returns a segment of a type and form.
func segmentOf(k kind, f codec.KeyForm, delim string) segment {
	draw := k.draw
	switch {
	case f.Pad > 0 && k.t == codec.StringSegment:
		draw = drawn(rapid.Map(rapid.SliceOfN(rapid.ByteRange(' ', '~'), f.Pad, f.Pad), func(b []byte) string { return string(b) }))
	case f.Pad > 0 && k.t == codec.BytesSegment:
		draw = drawn(rapid.Map(rapid.SliceOfN(rapid.Byte(), f.Pad, f.Pad), func(b []byte) string { return string(b) }))
	case f.Pad > 0 && (k.t == codec.Int64Segment || k.t == codec.Int32Segment):
		fitting := rapid.Int64Range(0, int64(math.Pow10(min(f.Pad, 9)))-1)
		draw = drawn(rapid.OneOf(fitting, fitting, rapid.Int64Range(math.MinInt32, math.MaxInt32)))
	}
	return segment{fmt.Sprintf("%s %+v", k.t, f), f.Sorts(k.t, delim), f.Reverse, draw,
		func(w *codec.KeyWriter, v any) { k.write(w, f, v) },
		func(r *codec.KeyReader) any { return k.read(r, f) }, k.compare, f.Encoding.Alphabet()}
}

// segmentsOf returns every valid segment of a key with the given delimiter.
func segmentsOf(delim string) []segment {
	var all []segment
	for _, k := range kinds {
		for _, f := range allForms() {
			if f.Validate(k.t, delim) != nil {
				continue
			}
			all = append(all, segmentOf(k, f, delim))
		}
	}
	for _, s := range append(unixFormats, "2006-01-02T15:04:05.000000000", "20060102", "2006-01") {
		for _, f := range reversals(mustFormat(s)) {
			all = append(all, segment{"time " + f.String(), true, f.Reverse,
				func(t *rapid.T) any { return asInKey(f, inRange(f, times(1970, 2262).Draw(t, "v"))) },
				func(w *codec.KeyWriter, v any) { w.Time(f, v.(time.Time)) },
				func(r *codec.KeyReader) any { return r.Time(f) }, compareTimes, ""})
		}
	}
	for _, s := range append(unixFormats, "2006-01-02", "iso_week", "week%d", "w%06d") {
		label := mustLabel(s)
		formats := []codec.TimeFormat{label.Format}
		if label.Kind == codec.TimeLabel {
			formats = reversals(label.Format)
		}
		for _, format := range formats {
			label.Format = format
			b := codec.Bucket{Every: week, Label: label}
			if delim == "" && b.Width() == 0 {
				continue
			}
			all = append(all, bucketSegment(b))
		}
	}
	for _, buckets := range []int{1, 16, 256, 257, 1000, 65536} {
		all = append(all, segment{fmt.Sprintf("salt of %d", buckets), true, false,
			func(t *rapid.T) any { return rapid.IntRange(0, buckets-1).Draw(t, "v") },
			func(w *codec.KeyWriter, v any) { w.Salt(buckets, v.(int)) },
			func(r *codec.KeyReader) any { return r.Salt(buckets) }, ordered[int], ""})
	}
	return append(all, segment{"const", true, false, func(*rapid.T) any { return "metric" },
		func(w *codec.KeyWriter, v any) { w.Const("metric") },
		func(r *codec.KeyReader) any { r.Const("metric"); return "metric" }, ordered[string], ""},
		segment{"sequence", true, false, drawn(rapid.Uint32()),
			func(w *codec.KeyWriter, v any) { w.Sequence(v.(uint32)) },
			func(r *codec.KeyReader) any { return r.Sequence() }, ordered[uint32], ""})
}

// bucketSegment returns the segment of a bucket.
func bucketSegment(b codec.Bucket) segment {
	return segment{"bucket " + b.Label.String(), b.Sorted(), b.Descending(), func(t *rapid.T) any { return b.Start(within(t, b, "v")) },
		func(w *codec.KeyWriter, v any) { w.Bucket(&b, v.(time.Time)) },
		func(r *codec.KeyReader) any { return r.Bucket(&b) }, compareTimes, ""}
}

// asInKey returns t with the resolution and range of f.
func asInKey(f codec.TimeFormat, t time.Time) time.Time {
	s, err := f.Append(nil, t)
	if err != nil {
		panic(err)
	}
	got, err := f.Parse(string(s))
	if err != nil {
		panic(err)
	}
	return got
}

// keyLayout is a key's delimiter and segments.
type keyLayout struct {
	delim    string
	segments []segment
}

// segmentTable holds the segments of each delimiter.
var segmentTable = func() map[string][]segment {
	m := map[string][]segment{}
	for _, d := range keyDelims {
		m[d] = segmentsOf(d)
	}
	return m
}()

// keyLayouts draws layouts, half of them with segments that sort.
func keyLayouts() *rapid.Generator[keyLayout] {
	return rapid.Custom(func(t *rapid.T) keyLayout {
		l := keyLayout{delim: rapid.SampledFrom(keyDelims).Draw(t, "delimiter")}
		all := segmentTable[l.delim]
		if rapid.Bool().Draw(t, "sorted") {
			all = slices.DeleteFunc(slices.Clone(all), func(s segment) bool { return !s.sorts })
		}
		l.segments = rapid.SliceOfN(rapid.SampledFrom(all), 1, 3).Draw(t, "segments")
		return l
	})
}

func (l keyLayout) String() string {
	names := []string{fmt.Sprintf("%q", l.delim)}
	for _, s := range l.segments {
		names = append(names, s.name)
	}
	return strings.Join(names, "; ")
}

func (l keyLayout) write(values []any) (key, prefix string, err error) {
	w := codec.NewKeyWriter([]byte("dst"), l.delim)
	for i, v := range values {
		l.segments[i].write(&w, v)
	}
	p, _ := w.Prefix()
	k, err := w.Key()
	return strings.TrimPrefix(string(k), "dst"), strings.TrimPrefix(string(p), "dst"), err
}

func (l keyLayout) read(key string) ([]any, error) {
	r := codec.NewKeyReader(key, l.delim)
	values := make([]any, len(l.segments))
	for i, s := range l.segments {
		values[i] = s.read(&r)
	}
	return values, r.Close()
}

// draw draws values, some of which equal those of like, or begin with them.
func (l keyLayout) draw(t *rapid.T, like []any) []any {
	values := make([]any, len(l.segments))
	for i, s := range l.segments {
		values[i] = s.draw(t)
		if like == nil {
			continue
		}
		switch rapid.IntRange(0, 2).Draw(t, "like") {
		case 0:
			values[i] = like[i]
		case 1:
			if text, ok := like[i].(string); ok && s.name != "const" {
				values[i] = text + values[i].(string)
			}
		}
	}
	return values
}

// compare compares the first n values in the order in which keys should sort.
func (l keyLayout) compare(a, b []any, n int) int {
	for i, s := range l.segments[:n] {
		if c := s.compare(a[i], b[i]); c != 0 {
			if s.reverse {
				return -c
			}
			return c
		}
	}
	return 0
}

// refusals are the possible errors for a value of the right type.
var refusals = []error{codec.ErrEmpty, codec.ErrDelimiter, codec.ErrRange}

// check draws the values of two keys: what is written is read, keys sort like the tuples of their
// values, and a prefix of one series matches no key of another. It returns whether a key was written.
func (l keyLayout) check(t *rapid.T) bool {
	x := l.draw(t, nil)
	y := l.draw(t, x)
	a, prefix, err1 := l.write(x)
	b, other, err2 := l.write(y)
	for _, err := range []error{err1, err2} {
		if err != nil && !slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) }) {
			t.Fatalf("%s: %v", l, err)
		}
	}
	if err1 != nil {
		return false
	}
	got, err := l.read(a)
	if err != nil || l.compare(got, x, len(x)) != 0 || prefix != a+l.delim {
		t.Fatalf("%s: %q of %v, with the prefix %q, is read as %v, %v", l, a, x, prefix, got, err)
	}
	if c := l.segments[0].alphabet; c != "" && len(x) == 1 && strings.Trim(a, c) != "" {
		t.Fatalf("%s: %q", l, a)
	}
	if err2 != nil {
		return true
	}
	sorts := !slices.ContainsFunc(l.segments, func(s segment) bool { return !s.sorts })
	if got, want := strings.Compare(a, b), cmp.Compare(l.compare(x, y, len(x)), 0); sorts && got != want {
		t.Fatalf("%s: %q of %v and %q of %v compare %d, want %d", l, a, x, b, y, got, want)
	}
	n := rapid.IntRange(1, len(x)).Draw(t, "n")
	if _, prefix, _ = l.write(x[:n]); n == len(x) {
		b = other
	}
	if strings.HasPrefix(b, prefix) != (l.compare(x, y, n) == 0) {
		t.Fatalf("%s: prefix %q of %v, key %q of %v", l, prefix, x[:n], b, y)
	}
	return true
}

func TestKeyForms(t *testing.T) {
	check(t, "tuples", func(t *rapid.T) { keyLayouts().Draw(t, "layout").check(t) })
	for delim, all := range segmentTable { // tuples seldom have any one of three hundred
		next := all[len(all)-1] // a sequence, which sorts
		for _, s := range testlong.Sample(all, 4) {
			alone, pair := keyLayout{delim, []segment{s}}, keyLayout{delim, []segment{s, next}}
			written := false
			t.Run(alone.String(), rapid.MakeCheck(func(t *rapid.T) { written = alone.check(t) || written; pair.check(t) }))
			if !written && delim != "7" && testlong.Enabled() { // few cases may all be refused
				t.Errorf("%s: every value was refused", alone)
			}
		}
	}
}

// Escaped strings and raw bytes sort with every delimiter that EscapeFits accepts.
func TestEscapeEveryDelimiter(t *testing.T) {
	check(t, "tuples", func(t *rapid.T) {
		delim := string(rapid.SliceOfN(rapid.Byte(), 1, 2).Draw(t, "delimiter"))
		if codec.EscapeFits(delim) != nil {
			return
		}
		s := segmentOf(kinds[1], escapedB, delim)
		near := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{delim[0] - 1, delim[0], delim[0] + 1, delim[0] + 2, '0', 'f'}))
		s.draw = drawn(rapid.Map(rapid.SliceOfN(near, 1, 4), func(b []byte) string { return string(b) }))
		keyLayout{delim, []segment{s, s}}.check(t)
	})
}

// checkRead fails unless the reader rejects the key with a typed error or a writer
// writes exactly this key.
func checkRead(t interface {
	Fatalf(format string, args ...any)
}, l keyLayout, key string) {
	values, err := l.read(key)
	if err != nil {
		var fe *codec.FieldError
		if !errors.As(err, &fe) || !errors.Is(err, codec.ErrKey) {
			t.Fatalf("%s: %q: %v", l, key, err)
		}
		return
	}
	if again, _, err := l.write(values); err != nil || again != key {
		t.Fatalf("%s: %q is read as %v and written as %q, %v", l, key, values, again, err)
	}
}

// checkChanges reads a key with every change of one byte to one of another kind, and without any of its bytes; in a
// long run, which draws many keys, only at one place.
func checkChanges(t *rapid.T, l keyLayout) {
	key, _, err := l.write(l.draw(t, nil))
	if err != nil {
		return
	}
	checkRead(t, l, key+l.delim)
	only := rapid.IntRange(0, len(key)).Draw(t, "at")
	for i := range len(key) + 1 {
		if testlong.Enabled() && i != only {
			continue
		}
		rest := key[min(i+1, len(key)):]
		checkRead(t, l, key[:i])
		checkRead(t, l, key[:i]+rest)
		for _, c := range "\x00\x01\x02 #$+-/012789:;=ABFabfgvwz|~\x7f\u0080\u00ff" { // as bytes
			checkRead(t, l, string([]byte{byte(c)}))
			checkRead(t, l, key[:i]+string([]byte{byte(c)})+rest)
			checkRead(t, l, key[:i]+string([]byte{byte(c)})+key[i:])
		}
	}
}

func TestKeyFormReadsOnlyWriterOutput(t *testing.T) {
	check(t, "tuples", func(t *rapid.T) { checkChanges(t, keyLayouts().Draw(t, "layout")) })
	check(t, "any bytes", func(t *rapid.T) { checkRead(t, keyLayouts().Draw(t, "layout"), string(nasty().Draw(t, "key"))) })
	for delim, all := range segmentTable {
		for _, s := range testlong.Sample(all, 42) {
			t.Run(s.name, rapid.MakeCheck(func(t *rapid.T) { checkChanges(t, keyLayout{delim, []segment{s}}) }))
		}
	}
}

// Every layout either rejects arbitrary bytes with a typed error or reads what a writer
// writes.
func FuzzKeyForms(f *testing.F) {
	f.Add(byte(0), []byte{0, 1, 0, 0}, "#$23")
	f.Fuzz(func(t *testing.T, delim byte, names []byte, key string) {
		l := keyLayout{delim: keyDelims[int(delim)%len(keyDelims)]}
		all := segmentTable[l.delim]
		for ; len(names) >= 2 && len(l.segments) < 8; names = names[2:] {
			l.segments = append(l.segments, all[(int(names[0])<<8|int(names[1]))%len(all)])
		}
		checkRead(t, l, key)
	})
}

// Writers and readers reject exactly the forms that Validate rejects.
func TestKeyFormValidate(t *testing.T) {
	values := map[codec.SegmentType]any{
		codec.StringSegment: "x", codec.BytesSegment: "x", codec.BoolSegment: true, codec.Int32Segment: int64(1),
		codec.Int64Segment: int64(1), codec.Uint32Segment: uint64(1), codec.Uint64Segment: uint64(1),
		codec.DurationSegment: time.Second, codec.TimestampSegment: date("2021-03-05"), codec.UUIDSegment: codec.UUID{},
		codec.EnumSegment: int64(1),
	}
	for _, delim := range append(keyDelims, "a", "\xff") {
		for _, k := range kinds {
			assert.Is(t, nil, (codec.KeyForm{}).Validate(k.t, "#"), k.t)
			for _, f := range allForms() {
				err := f.Validate(k.t, delim)
				w := codec.NewKeyWriter(nil, delim)
				k.write(&w, f, values[k.t])
				key, werr := w.Key()
				r := codec.NewKeyReader("x", delim)
				k.read(&r, f)
				rerr := r.Close()
				if (err != nil) != errors.Is(werr, codec.ErrForm) || err != nil && !errors.Is(err, codec.ErrForm) ||
					(err != nil) != errors.Is(rerr, codec.ErrForm) {
					t.Errorf("%s %+v with %q: %v, writer %v, reader %v", k.t, f, delim, err, werr, rerr)
				}
				if n := f.Fixed(k.t); err == nil && werr == nil && n > 0 && n != len(key) {
					t.Errorf("%s %+v has %d bytes, want %d", k.t, f, len(key), n)
				}
			}
		}
	}
}

func TestKeyFormValidateSaysWhatToWrite(t *testing.T) {
	for _, tt := range []struct {
		form        codec.KeyForm
		t           codec.SegmentType
		delim, want string
	}{
		{inRaw, codec.BoolSegment, "#", "type bool cannot be encoded as raw: want text or binary"},
		{inHex, codec.Int64Segment, "#", "want a pad of 1 to 16"},
		{codec.KeyForm{Pad: 21}, codec.Int64Segment, "#", "want a pad of 0 to 20"},
		{hexa(3), codec.StringSegment, "#", "string as hex cannot have a pad"},
		{reversed(plain), codec.Int64Segment, "#", "a reversed number needs a pad"},
		{reversed(plain), codec.EnumSegment, "#", "enum as text cannot be reversed"},
		{plain, codec.Int64Segment, "", "want binary, raw, or a pad"},
		{escaped, codec.Int64Segment, "#", "only text strings and raw bytes"},
		{escaped, codec.StringSegment, "", "needs no escaping"},
		{escaped, codec.StringSegment, "a", `the delimiter "a" starts with a hex digit`},
		{codec.KeyForm{Encoding: 9}, codec.StringSegment, "#", "KeyEncoding(9)"},
		{plain, 99, "#", "SegmentType(99)"},
	} {
		assert.Contains(t, tt.want, tt.form.Validate(tt.t, tt.delim), tt.t, tt.form)
	}
}

func TestParseKeyEncoding(t *testing.T) {
	for _, e := range codec.KeyEncodings() {
		if got, err := codec.ParseKeyEncoding(e.String()); err != nil || got != e {
			t.Errorf("%s is parsed as %s, %v", e, got, err)
		}
	}
	if _, err := codec.ParseKeyEncoding("base64"); err == nil || !strings.Contains(err.Error(), "base64url") {
		t.Errorf("base64: %v", err)
	}
}

func TestEscapeFits(t *testing.T) {
	for c := range 256 {
		d := string([]byte{byte(c)})
		want := !strings.Contains("0123456789abcdef\xff", d)
		for _, delim := range []string{d, d + d, d + "#"} {
			if err := codec.EscapeFits(delim); (err == nil) != want || err != nil && !errors.Is(err, codec.ErrForm) {
				t.Errorf("%q: %v", delim, err)
			}
		}
	}
}
