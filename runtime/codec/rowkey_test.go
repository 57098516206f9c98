package codec

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

// drawnKey is a random key, with what its values are made from.
type drawnKey struct {
	Key
	draw []func(t *rapid.T) any // a pointer to a series value
}

// drawKey draws a valid key with any kinds of segments, forms and delimiters.
func drawKey(t *rapid.T) drawnKey {
	var k drawnKey
	k.Delimiter = rapid.SampledFrom([]string{"#", "#", "::", "\x00", ""}).Draw(t, "delimiter")
	for i := range rapid.IntRange(1, 4).Draw(t, "series") {
		k.series(t, i)
	}
	k.time(t)
	if rapid.Bool().Draw(t, "const") {
		k.insert(t, Segment{Kind: ConstSegment, Const: rapid.SampledFrom([]string{"v2", "#", "metric"}).Draw(t, "text"), Tells: rapid.Bool().Draw(t, "tells")})
	}
	if rapid.Bool().Draw(t, "salt") {
		salted := rapid.SliceOfNDistinct(rapid.IntRange(0, len(k.draw)-1), 1, -1, rapid.ID[int]).Draw(t, "salted")
		k.insert(t, Segment{Kind: SaltSegment, Buckets: rapid.SampledFrom([]int{1, 2, 16, 300}).Draw(t, "buckets"), Salted: salted})
	}
	if k.Delimiter != "" && rapid.Bool().Draw(t, "metric") {
		k.insert(t, Segment{Kind: MetricSegment})
	}
	if rapid.Bool().Draw(t, "sequence") {
		k.Segments = append(k.Segments, Segment{Kind: SequenceSegment})
	}
	k.join(t)
	return k
}

// forms are forms for each type of a segment; not all fit every delimiter.
var drawnForms = []KeyForm{
	{}, {}, {Escape: true}, {Pad: 3}, {Encoding: KeyHex}, {Encoding: KeyRaw}, {Encoding: KeyRaw, Pad: 2}, {Encoding: KeyBase64URL}, {Encoding: KeyBase32Hex}, {Encoding: KeyBinary},
	{Encoding: KeyBinary, Reverse: true}, {Encoding: KeyDecimal, Pad: 19}, {Encoding: KeyDecimal, Pad: 19, Reverse: true}, {Encoding: KeyHex, Pad: 16},
	{Encoding: KeyBigEndian}, {Encoding: KeyLittleEndian},
}

// series adds a series value.
func (k *drawnKey) series(t *rapid.T, i int) {
	s := Segment{Name: fmt.Sprintf("s%d", i), Series: i, Type: SegmentType(rapid.IntRange(0, int(EnumSegment)).Draw(t, "type"))}
	fitting := slices.DeleteFunc(slices.Clone(drawnForms), func(f KeyForm) bool { return f.Validate(s.Type, k.Delimiter) != nil })
	s.Form = rapid.SampledFrom(fitting).Draw(t, "form")
	k.draw = append(k.draw, drawers[s.Type])
	if s.Type == EnumSegment {
		s.Enum = Enum{{0, "zero"}, {7, "seven"}}
	}
	k.insert(t, s)
}

// drawers draw pointers to values of each type.
var drawers = [...]func(t *rapid.T) any{
	StringSegment: pointers(rapid.SampledFrom([]string{"a", "ab", "abc", "", "x#y", "#", "\x00", "é", "a\x00b", "$23"})),
	BytesSegment:  pointers(rapid.SampledFrom([][]byte{{1}, {1, 2}, []byte("#a"), {0, 255}, {}})),
	BoolSegment:   pointers(rapid.Bool()),
	Int32Segment:  pointers(rapid.SampledFrom([]int32{0, 1, -1, 35, 999, 1 << 30})),
	Int64Segment:  pointers(rapid.SampledFrom([]int64{0, 1, -1, 35, 999, 1 << 40})), Uint32Segment: pointers(rapid.SampledFrom([]uint32{0, 35, 1 << 31})),
	Uint64Segment: pointers(rapid.SampledFrom([]uint64{0, 35, 1 << 63})), DurationSegment: pointers(rapid.SampledFrom([]time.Duration{0, time.Second, -1})),
	TimestampSegment: pointers(rapid.SampledFrom([]time.Time{time.Unix(1, 35).UTC(), time.Unix(1<<31, 0).UTC()})),
	UUIDSegment:      pointers(rapid.SampledFrom([]UUID{{1, 35}, {'#', '#'}})),
	EnumSegment:      pointers(rapid.SampledFrom([]int64{0, 7, 8})),
}

func pointers[T any](of *rapid.Generator[T]) func(t *rapid.T) any {
	return func(t *rapid.T) any {
		v := of.Draw(t, "value")
		return &v
	}
}

// time adds the time or the bucket, or neither.
func (k *drawnKey) time(t *rapid.T) {
	switch format := rapid.SampledFrom([]TimeFormat{{Kind: UnixMillis}, {Kind: UnixMillis, Reverse: true}, {Kind: BinaryMillis}, {Layout: "2006-01-02"}}).Draw(t, "format"); rapid.IntRange(0, 3).Draw(t, "time") {
	case 0:
		k.Bucket = EndlessBucket
	case 1:
		k.Time = format
		k.insert(t, Segment{Kind: TimeSegment})
	case 2:
		k.Bucket = Bucket{Every: 24 * time.Hour, Label: Label{Format: format}}
		k.insert(t, Segment{Kind: BucketSegment})
	default:
		k.Bucket = Bucket{Every: week, Label: Label{Kind: NumberLabel, Prefix: "week", Pad: 4}}
		if k.Delimiter != "" && rapid.Bool().Draw(t, "unpadded") {
			k.Bucket.Label.Pad = 0
		}
		k.insert(t, Segment{Kind: BucketSegment})
	}
}

// insert adds a segment at any place.
func (k *drawnKey) insert(t *rapid.T, s Segment) {
	k.Segments = slices.Insert(k.Segments, rapid.IntRange(0, len(k.Segments)).Draw(t, "place"), s)
}

// join joins some segments of which a reader can find the end.
func (k *drawnKey) join(t *rapid.T) {
	for i := range k.Segments[1:] {
		s := &k.Segments[i]
		fits := k.Width(s) > 0 || i < k.TimeIndex() && k.FixedAfter(i) && s.Kind == SeriesSegment && s.Form.Terminated(s.Type) && !s.Form.Escape
		s.Joined = fits && s.Kind != SaltSegment && rapid.IntRange(0, 3).Draw(t, "joined") == 0
	}
}

// values draws the content of a row key.
func (k *drawnKey) values(t *rapid.T) KeyValues {
	v := k.empty()
	for i, draw := range k.draw {
		v.Series[i] = draw(t)
	}
	*v.Metric = rapid.SampledFrom([]string{"cpu", "mem"}).Draw(t, "metric")
	*v.At = time.Unix(int64(rapid.IntRange(0, 20).Draw(t, "day"))*86400, 0).UTC()
	*v.Sequence = rapid.SampledFrom([]uint32{0, 35, 1 << 31}).Draw(t, "sequence")
	return v
}

// empty returns values of the right types.
func (k *drawnKey) empty() KeyValues {
	v := KeyValues{Series: make([]any, len(k.draw)), Metric: new(string), At: new(time.Time), Sequence: new(uint32)}
	for _, s := range k.Segments {
		if s.Kind == SeriesSegment {
			v.Series[s.Series] = [...]any{new(string), new([]byte), new(bool), new(int32), new(int64), new(uint32), new(uint64), new(time.Duration), new(time.Time), new(UUID), new(int64)}[s.Type]
		}
	}
	return v
}

// The exact bytes of keys with segments of all kinds.
func TestKeyBytes(t *testing.T) {
	name, id, metric, at, sequence := "eu", int64(3), "cpu", time.Unix(1614945839, 0), uint32(7)
	v := KeyValues{Series: []any{&name, &id}, Metric: &metric, At: &at, Sequence: &sequence}
	day := Bucket{Every: 24 * time.Hour, Label: Label{Format: TimeFormat{Layout: "2006-01-02"}}}
	series := []Segment{{Name: "name", Series: 0}, {Name: "id", Type: Int64Segment, Form: KeyForm{Encoding: KeyBinary}, Series: 1}}
	salt, sequences := Segment{Kind: SaltSegment, Buckets: 300, Salted: []int{1, 0}}, Segment{Kind: SequenceSegment}
	joined := Segment{Kind: ConstSegment, Const: "v2", Joined: true}
	for want, k := range map[string]Key{
		"177#eu#\x80\x00\x00\x00\x00\x00\x00\x03#v2cpu#2021-03-05#0000000007":                                  {Delimiter: "#", Bucket: day, Segments: append(append([]Segment{salt}, series...), joined, Segment{Kind: MetricSegment}, Segment{Kind: BucketSegment}, sequences)},
		"v2\x01\x04eu\x00\x01\x80\x00\x00\x00\x00\x00\x00\x03\x00\x00\x01\x78\x02\x45\xe7\x98\x00\x00\x00\x07": {Time: TimeFormat{Kind: BinaryMillis}, Segments: append(append([]Segment{joined, salt}, series...), Segment{Kind: TimeSegment}, sequences)},
		"\x80\x00\x00\x00\x00\x00\x00\x03#eu":                                                                  {Delimiter: "#", Bucket: EndlessBucket, Segments: []Segment{series[1], series[0]}},
	} {
		if got, err := k.Append(nil, &v); string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// A key is parsed as it was built, its parts are those of its segments, and its salt is that of the salted values.
func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawKey(t)
		k.Structured = rapid.IntRange(0, 9).Draw(t, "structured") == 0
		v := k.values(t)
		got, err := k.Append([]byte("dst"), &v)
		if err != nil {
			refusals := []error{ErrEmpty, ErrDelimiter, ErrRange, ErrEnum, ErrKeySchema, ErrTimeRange}
			if !slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) }) {
				t.Fatalf("%+v\n%v", k.Key, err)
			}
			return
		}
		row := strings.TrimPrefix(string(got), "dst")
		parsed := k.empty()
		must(t, k.Verify(row, &parsed), k.Key, row)
		if again, err := k.Append(nil, &parsed); string(again) != row {
			t.Fatalf("%+v\n%q was parsed and built as %q, %v", k.Key, row, again, err)
		}
		for i := range parsed.Series {
			if !SameSeriesValue(parsed.Series[i], v.Series[i]) {
				t.Fatalf("%+v\n%q: series value %d is %v, not %v", k.Key, row, i, reflect.ValueOf(parsed.Series[i]).Elem(), reflect.ValueOf(v.Series[i]).Elem())
			}
		}
		parts := ""
		for i, s := range k.Segments {
			part, err := k.AppendPart(nil, i, i+1, &v)
			if err != nil && !errors.Is(err, ErrEmpty) {
				t.Fatal(err)
			}
			if width := k.Width(&s); width > 0 && width != len(part) {
				t.Fatalf("%+v\nsegment %d of %q has %d bytes, not %d", k.Key, i, row, len(part), width)
			}
			parts += string(part) + k.DelimiterAfter(i)
			var salted []string
			for _, of := range s.Salted {
				alone := Key{Delimiter: k.Delimiter, Segments: []Segment{k.Segments[k.SegmentOf(of)]}}
				alone.Segments[0].Joined = false
				text, _ := alone.Append(nil, &v) // nothing if it is empty
				salted = append(salted, string(text))
			}
			if s.Kind == SaltSegment && parsed.Salt != Salt(s.Buckets, salted...) {
				t.Fatalf("%+v\n%q has the salt %d, want that of %q", k.Key, row, parsed.Salt, salted)
			}
		}
		if parts != row {
			t.Fatalf("%+v\nthe parts of %q are %q", k.Key, row, parts)
		}
	})
}

// Reading a key with other bytes ends with an error, or with values that have these bytes.
func TestParseBrokenKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawKey(t)
		v := k.values(t)
		row, err := k.Append(nil, &v)
		if err != nil {
			return
		}
		row[rapid.IntRange(0, len(row)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("#a1:\x00\xff")).Draw(t, "byte")
		row = row[:rapid.IntRange(0, len(row)).Draw(t, "length")]
		parsed := k.empty()
		if err := k.Verify(string(row), &parsed); err != nil {
			if !errors.Is(err, ErrKey) {
				t.Fatalf("%q: %v does not wrap ErrKey", row, err)
			}
			return
		}
		if again, err := k.Append(nil, &parsed); string(again) != string(row) {
			t.Fatalf("%+v\n%q was parsed, and built as %q, %v", k.Key, row, again, err)
		}
	})
}

// A value that is missing, or of another type, is an error.
func TestKeyWithoutValues(t *testing.T) {
	k := Key{Delimiter: "#", Segments: []Segment{{Name: "region", Series: 0}, {Name: "device", Type: Int64Segment, Series: 1}, {Kind: BucketSegment}}}
	text, number := "eu", int64(3)
	for _, v := range []KeyValues{{}, {Series: []any{&text}}, {Series: []any{&text, &text}}, {Series: []any{number, &number}}, {Series: []any{&text, &number}}} {
		_, err := k.Append(nil, &v)
		assert.Is(t, ErrForm, err, v.Series)
		if len(v.Series) > 1 && v.Series[1] == any(&number) && v.Series[0] == any(&text) {
			continue // only the bucket lacks a width
		}
		assert.Is(t, ErrForm, k.Parse("eu#3#x", &v), v.Series)
	}
	low := "a b"
	k = Key{Delimiter: "#", Structured: true, Bucket: EndlessBucket, Segments: []Segment{{Name: "region", Series: 0}}}
	_, err := k.Append(nil, &KeyValues{Series: []any{&low}})
	assert.Is(t, ErrKeySchema, err)
}

// The spans of given series values, with the pattern and the comparison for rows that they contain
// besides, are exactly the rows with these values.
func TestSelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawKey(t)
		if k.Has(SequenceSegment) {
			k.Segments = slices.DeleteFunc(k.Segments, func(s Segment) bool { return s.Kind == SequenceSegment })
			k.Segments[len(k.Segments)-1].Joined = false
		}
		given := k.values(t)
		g := Given{Series: rapid.SliceOfDistinct(rapid.IntRange(0, len(k.draw)-1), rapid.ID[int]).Draw(t, "given")}
		s := k.Select(g)
		metrics := []string(nil)
		if k.Has(MetricSegment) {
			if p := s.Path; !slices.ContainsFunc(k.Segments[:p.Before], func(s Segment) bool { return s.Kind == MetricSegment }) &&
				!slices.ContainsFunc(k.Segments[k.after():k.after()+p.After], func(s Segment) bool { return s.Kind == MetricSegment }) || p.Salts > 1 {
				return // no table can answer such a query
			}
			metrics = []string{"cpu", "mem"}
		}
		spans, err := s.Spans(&given, metrics)
		if err != nil {
			return
		}
		distinct := map[string]bool{}
		for _, span := range spans {
			distinct[span.Prefix+"\x00"+span.Suffix] = true
		}
		if len(distinct) != len(spans) {
			t.Fatalf("%+v\nspans are not distinct: %+v", k.Key, spans)
		}
		for range 20 {
			row := k.values(t)
			for i := range row.Series {
				if rapid.Bool().Draw(t, "same") {
					row.Series[i] = given.Series[i]
				}
			}
			key, err := k.Append(nil, &row)
			if err != nil {
				continue
			}
			wanted := !slices.ContainsFunc(g.Series, func(i int) bool { return !SameSeriesValue(row.Series[i], given.Series[i]) })
			got := k.selects(s, spans, string(key), &row, &given)
			if got != wanted {
				t.Fatalf("%+v\ngiven %v: row %q is selected: %v, want %v, by %+v", k.Key, g.Series, key, got, wanted, spans)
			}
		}
	})
}

// selects reports whether a selection contains a row.
func (k *drawnKey) selects(s *Selection, spans []Span, key string, row, given *KeyValues) bool {
	any := KeyPiece{Any: true} // as AnyTime
	if i := k.TimeIndex(); i < len(k.Segments) {
		any.Width = k.Width(&k.Segments[i])
		if any.Width == 0 { // reads name such buckets
			label, _ := k.Bucket.AppendLabel(nil, *row.At)
			any = KeyPiece{Text: string(label)}
		}
	}
	in := slices.ContainsFunc(spans, func(span Span) bool {
		return span.Has(key) && (!s.Timed || span.Suffix == "" && span.Rest == 0 || matches(span.Pattern(any), key))
	})
	if !in {
		return false
	}
	if s.Filters(true) {
		p, err := s.Pattern(given)
		if err != nil || !matches(p.At(any), key) { // no row has a value that is an error
			return false
		}
	}
	return s.Match(row, given)
}

// matches reports whether a key matches a pattern. Go's regular expressions have no bytes.
func matches(p KeyPieces, key string) bool {
	text := strings.ReplaceAll(p.Regexp(), `\C`, `(?s:.)`)
	var latin []rune
	for i := range len(key) {
		latin = append(latin, rune(key[i]))
	}
	return regexp.MustCompile(`^(?:` + text + `)$`).MatchString(string(latin))
}
