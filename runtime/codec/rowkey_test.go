package codec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// delimiters are those of drawn keys. Without one, keys are binary.
var delimiters = []string{"#", "#", "::", "/", "\x00", "|", "", ""}

// drawnEnum has the values of drawn enums.
var drawnEnum = Enum{{0, "zero"}, {7, "seven"}, {-7, "lost"}}

// drawnKey is a random key, with what its values are made from.
type drawnKey struct {
	Key
	draw []func(t *rapid.T) any // a pointer to a series value
}

// drawKey draws a valid key with any kinds of segments, forms and delimiters.
func drawKey(t *rapid.T) drawnKey {
	var k drawnKey
	k.Delimiter = rapid.SampledFrom(delimiters).Draw(t, "delimiter")
	for i := range rapid.IntRange(1, 4).Draw(t, "series") {
		k.series(t, i)
	}
	k.time(t)
	if rapid.Bool().Draw(t, "const") {
		k.insert(t, Segment{Kind: ConstSegment, Const: rapid.SampledFrom([]string{"v2", "#", "metric"}).Draw(t, "text"), Tells: rapid.Bool().Draw(t, "tells")})
	}
	if rapid.Bool().Draw(t, "salt") {
		salted := rapid.SliceOfNDistinct(rapid.IntRange(0, len(k.draw)-1), 1, -1, rapid.ID[int]).Draw(t, "salted")
		k.insert(t, Segment{Kind: SaltSegment, Buckets: rapid.SampledFrom([]int{1, 2, 16, 256, 257, 1000, 65536}).Draw(t, "buckets"), Salted: salted})
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

// series adds a series value.
func (k *drawnKey) series(t *rapid.T, i int) {
	s := Segment{Name: fmt.Sprintf("s%d", i), Series: i, Type: SegmentType(rapid.IntRange(0, int(EnumSegment)).Draw(t, "type")), Enum: drawnEnum}
	fitting := slices.DeleteFunc(allForms(), func(f KeyForm) bool { return f.Validate(s.Type, k.Delimiter) != nil })
	if s.Form = rapid.SampledFrom(fitting).Draw(t, "form"); rapid.Bool().Draw(t, "default") && (KeyForm{}).Validate(s.Type, k.Delimiter) == nil {
		s.Form = KeyForm{}
	}
	k.draw = append(k.draw, drawer(s.Type, s.Form))
	k.insert(t, s)
}

// drawer draws pointers to values of a type, most of which fit a form.
func drawer(of SegmentType, f KeyForm) func(t *rapid.T) any {
	small := rapid.IntRange(0, 99).Filter(func(n int) bool { return len(fmt.Sprint(n)) <= max(1, f.Pad) })
	switch {
	case f.Pad == 0 || of == TimestampSegment:
		return drawers[of]
	case of == StringSegment:
		return pointers(rapid.Map(rapid.SliceOfN(rapid.ByteRange(' ', '~'), f.Pad, f.Pad), func(b []byte) string { return string(b) }))
	case of == BytesSegment:
		return pointers(rapid.SliceOfN(rapid.Byte(), f.Pad, f.Pad))
	case of == Int64Segment:
		return pointers(rapid.OneOf(rapid.Map(small, func(n int) int64 { return int64(n) }), rapid.Int64()))
	case of == Uint64Segment:
		return pointers(rapid.OneOf(rapid.Map(small, func(n int) uint64 { return uint64(n) }), rapid.Uint64()))
	}
	return drawers[of]
}

// Bytes near the delimiters, escapes and terminators.
var (
	nasty     = rapid.OneOf(rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01\x02\"#$%./0123:;<678ab{|}~\xfe\xff")), 0, 5), rapid.SliceOfN(rapid.Byte(), 0, 9))
	nastyText = rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("\x00\x01\x02\"#$%./01:;<678ab{|}~")), 0, 5, -1), rapid.String())
	texts     = rapid.SampledFrom([]string{"a", "ab", "abc", "", "x#y", "#", "\x00", "é", "a\x00b", "$23"})
	seconds   = rapid.Int64Range(0, math.MaxInt64/int64(time.Second))
)

// drawers draw pointers to values of each type.
var drawers = [...]func(t *rapid.T) any{
	StringSegment:    pointers(rapid.OneOf(texts, texts, nastyText)),
	BytesSegment:     pointers(rapid.OneOf(rapid.SampledFrom([][]byte{{1}, {1, 2}, []byte("#a"), {0, 255}, {}}), nasty)),
	BoolSegment:      pointers(rapid.Bool()),
	Int32Segment:     pointers(rapid.OneOf(rapid.SampledFrom([]int32{0, 1, -1, 9, 10, 35, 999, 1 << 30, math.MaxInt32, math.MinInt32}), rapid.Int32())),
	Int64Segment:     pointers(rapid.OneOf(rapid.SampledFrom([]int64{0, 1, -1, 9, 10, 35, 999, 1 << 40, 999_999_999_999_999_999, math.MaxInt64, math.MinInt64}), rapid.Int64())),
	Uint32Segment:    pointers(rapid.OneOf(rapid.SampledFrom([]uint32{0, 9, 10, 35, 1 << 31, math.MaxUint32}), rapid.Uint32())),
	Uint64Segment:    pointers(rapid.OneOf(rapid.SampledFrom([]uint64{0, 9, 10, 35, 1 << 63, math.MaxInt64, math.MaxUint64, 9_999_999_999_999_999_999}), rapid.Uint64())),
	DurationSegment:  pointers(rapid.OneOf(rapid.SampledFrom([]time.Duration{0, time.Second, -1}), rapid.Map(rapid.Int64(), func(v int64) time.Duration { return time.Duration(v) }))),
	TimestampSegment: pointers(rapid.Map(seconds, func(s int64) time.Time { return time.Unix(s, s%1000).UTC() })),
	UUIDSegment:      pointers(rapid.OneOf(rapid.SampledFrom([]UUID{{1, 35}, {'#', '#'}}), rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) UUID { return UUID(b) }))),
	EnumSegment:      pointers(rapid.SampledFrom([]int64{0, 7, 8, -7})),
}

// someValues has a pointer to a value of each type.
var someValues = [...]any{Pointer("x"), &[]byte{'x'}, Pointer(true), Pointer[int32](1), Pointer[int64](1), Pointer[uint32](1), Pointer[uint64](1),
	Pointer(time.Second), Pointer(time.Unix(1, 35).UTC()), new(UUID), new(int64)}

// compareValues compares what two pointers to values of a type point to.
func compareValues(a, b any) int {
	switch x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(); {
	case x.Type() == reflect.TypeFor[time.Time]():
		return a.(*time.Time).Compare(*b.(*time.Time))
	case x.CanInt():
		return cmp.Compare(x.Int(), y.Int())
	case x.CanUint():
		return cmp.Compare(x.Uint(), y.Uint())
	case x.Kind() == reflect.Bool:
		return cmp.Compare(fmt.Sprint(x), fmt.Sprint(y))
	default:
		return cmp.Compare(fmt.Sprintf("%x", x), fmt.Sprintf("%x", y))
	}
}

func pointers[T any](of *rapid.Generator[T]) func(t *rapid.T) any {
	return func(t *rapid.T) any {
		v := of.Draw(t, "value")
		return &v
	}
}

// time adds the time or the bucket, or neither.
func (k *drawnKey) time(t *rapid.T) {
	format := TimeFormat{Kind: TimeKind(rapid.IntRange(int(LayoutTime), int(BinaryShortSeconds)).Draw(t, "format"))}
	if format.Kind == LayoutTime {
		format.Layout = rapid.SampledFrom([]string{"2006-01-02", "20060102", "2006-01-02T15:04:05.000000000", "2006-002"}).Draw(t, "layout")
	} else {
		format.Reverse = rapid.Bool().Draw(t, "reversed")
	}
	switch rapid.IntRange(0, 4).Draw(t, "time") {
	case 0:
		k.Bucket = EndlessBucket
	case 1:
		k.Time = format
		k.insert(t, Segment{Kind: TimeSegment})
	case 2:
		k.Bucket = Bucket{Every: 24 * time.Hour, Label: Label{Format: format}}
		k.insert(t, Segment{Kind: BucketSegment})
	case 3:
		k.Bucket = Bucket{Every: week, Label: Label{Kind: ISOWeekLabel}}
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
		varies := func(next Segment) bool { return k.Width(&next) == 0 }
		fits := k.Width(s) > 0 || i < k.TimeIndex() && !slices.ContainsFunc(k.Segments[i+1:], varies) && s.Kind == SeriesSegment && s.Form.Terminated(s.Type) && !s.Form.Escape
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
			v.Series[s.Series] = reflect.New(reflect.TypeOf(someValues[s.Type]).Elem()).Interface()
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

// compare compares two parsed rows, and reports whether rows sort like that.
func (k *drawnKey) compare(a, b *KeyValues) (order int, sorts bool) {
	sorts = true
	for i := range k.Segments {
		s := &k.Segments[i]
		by, falling := 0, false
		switch s.Kind {
		case SeriesSegment:
			sorts = sorts && k.Sorts(s) && (!s.Joined || k.Width(s) > 0)
			by, falling = compareValues(a.series(s.Series), b.series(s.Series)), s.Form.Reverse
		case MetricSegment:
			by = cmp.Compare(*a.Metric, *b.Metric)
		case SaltSegment:
			by = cmp.Compare(a.Salt, b.Salt)
		case SequenceSegment:
			by = cmp.Compare(*a.Sequence, *b.Sequence)
		case BucketSegment:
			sorts = sorts && k.Bucket.Sorted()
			by, falling = a.At.Compare(*b.At), k.Bucket.Descending()
		case TimeSegment:
			by, falling = a.At.Compare(*b.At), k.Time.Reverse
		}
		if falling {
			by = -by
		}
		order = cmp.Or(order, by)
	}
	return order, sorts
}

// checkOrder fails unless the keys of two drawn values sort like them.
func (k *drawnKey) checkOrder(t *rapid.T) {
	v := k.values(t)
	a, err := k.Append(nil, &v)
	for i, draw := range k.draw {
		if rapid.Bool().Draw(t, "other") {
			v.Series[i] = draw(t)
		}
	}
	b, failed := k.Append(nil, &v)
	x, y := k.empty(), k.empty()
	if err != nil || failed != nil || k.Parse(string(a), &x) != nil || k.Parse(string(b), &y) != nil {
		return
	}
	if want, sorts := k.compare(&x, &y); sorts && bytes.Compare(a, b) != want {
		t.Fatalf("%+v\n%q and %q do not sort like their values: want %d", k.Key, a, b, want)
	}
}

// Keys sort like the tuples of their values if all of their segments sort.
func TestKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawKey(t)
		k.checkOrder(t)
	})
	for _, delimiter := range append(slices.Compact(slices.Clone(delimiters)), "7") {
		for of := StringSegment; of <= EnumSegment; of++ { // drawn keys seldom have any one of three hundred forms
			forms := slices.DeleteFunc(allForms(), func(f KeyForm) bool { return f.Validate(of, delimiter) != nil })
			for _, f := range testlong.Sample(forms, 4) {
				k := drawnKey{draw: []func(*rapid.T) any{drawer(of, f)}}
				k.Key = Key{Delimiter: delimiter, Bucket: EndlessBucket, Segments: []Segment{{Type: of, Form: f, Enum: drawnEnum}, {Kind: SequenceSegment}}}
				t.Run(fmt.Sprintf("%q %s %+v", delimiter, of, f), rapid.MakeCheck(func(t *rapid.T) {
					k.checkOrder(t)
					if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
						k.checkBroken(t)
					}
				}))
			}
		}
	}
}

// Escaped strings and raw bytes sort with every delimiter that EscapeFits accepts.
func TestEscapeEveryDelimiter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter := string(rapid.SliceOfN(rapid.Byte(), 1, 2).Draw(t, "delimiter"))
		if EscapeFits(delimiter) != nil {
			return
		}
		near := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{delimiter[0] - 1, delimiter[0], delimiter[0] + 1, delimiter[0] + 2, '0', 'f'}))
		s := Segment{Type: BytesSegment, Form: KeyForm{Encoding: KeyRaw, Escape: true}}
		k := drawnKey{Key: Key{Delimiter: delimiter, Bucket: EndlessBucket, Segments: []Segment{s, s}}}
		k.Segments[1].Series = 1
		k.draw = slices.Repeat([]func(*rapid.T) any{pointers(rapid.SliceOfN(near, 1, 4))}, 2)
		k.checkOrder(t)
	})
}

// checkParse fails unless a row key is refused with an error about it, or is what is built from the values that are parsed.
func (k *drawnKey) checkParse(t *rapid.T, row string) {
	parsed := k.empty()
	if err := k.Verify(row, &parsed); err != nil {
		var fe *FieldError
		if !errors.Is(err, ErrKey) || !errors.As(err, &fe) {
			t.Fatalf("%+v\n%q: %v", k.Key, row, err)
		}
		return
	}
	if again, err := k.Append(nil, &parsed); string(again) != row {
		t.Fatalf("%+v\n%q was parsed, and built as %q, %v", k.Key, row, again, err)
	}
}

// checkBroken parses a key with every change of one byte to one of another kind, and without any of its bytes.
func (k *drawnKey) checkBroken(t *rapid.T) {
	v := k.values(t)
	key, err := k.Append(nil, &v)
	if err != nil {
		return
	}
	row := string(key)
	k.checkParse(t, row+k.Delimiter)
	only := rapid.IntRange(0, len(row)).Draw(t, "at")
	for i := range len(row) + 1 {
		if testlong.Enabled() && i != only { // which draws many keys
			continue
		}
		rest := row[min(i+1, len(row)):]
		k.checkParse(t, row[:i])
		k.checkParse(t, row[:i]+rest)
		for _, c := range []byte("\x00\x01\x02 #$+-/012789:;=ABFabfgvwz|~\x7f\x80\xff") {
			k.checkParse(t, row[:i]+string([]byte{c})+rest)
			k.checkParse(t, row[:i]+string([]byte{c})+row[i:])
		}
	}
}

// parseAny parses any bytes, and broken keys.
func parseAny(t *rapid.T) {
	k := drawKey(t)
	k.checkBroken(t)
	k.checkParse(t, string(nasty.Draw(t, "row")))
}

// Reading a key with other bytes ends with an error, or with values that have these bytes.
func TestParseBrokenKeys(t *testing.T) { rapid.Check(t, parseAny) }

func FuzzParse(f *testing.F) { f.Fuzz(rapid.MakeFuzz(parseAny)) }

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
