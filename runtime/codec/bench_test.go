package codec_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// measure measures calls of a function, by name.
func measure(b *testing.B, name string, f func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	})
}

// benchCoding measures a coding.
func benchCoding[T any](b *testing.B, name string, c codec.Coding[T], v T) {
	datum, dst, err := c.Append(nil, v), make([]byte, 0, 64), error(nil)
	measure(b, name+"/append", func() { dst = c.Append(dst[:0], v) })
	measure(b, name+"/decode", func() { _, err = c.Decode(datum) })
	must(b, err)
}

func BenchmarkCodings(b *testing.B) {
	at := time.Unix(1614945839, 5e8).UTC()
	for _, as := range []codec.Values{codec.BinaryValues, codec.TextValues, codec.LittleEndianValues} {
		b.Run(as.String(), func(b *testing.B) {
			c := as.Codings()
			benchCoding(b, "string", c.String, "us-west2")
			benchCoding(b, "bytes", c.Bytes, []byte("us-west2"))
			benchCoding(b, "bool", c.Bool, true)
			benchCoding(b, "int32", c.Int32, -94587)
			benchCoding(b, "int64", c.Int64, 94587)
			benchCoding(b, "uint32", c.Uint32, 94587)
			benchCoding(b, "uint64", c.Uint64, 94587)
			benchCoding(b, "float32", c.Float32, 9.5)
			benchCoding(b, "float64", c.Float64, 9.5)
			benchCoding(b, "timestamp", c.Timestamp, at)
			benchCoding(b, "duration", c.Duration, time.Minute)
			benchCoding(b, "uuid", c.UUID, someUUID)
			benchCoding(b, "json", c.JSON, json.RawMessage(`{"a":1}`))
			benchCoding(b, "enum", codec.EnumAs[int64](as, phases), 2)
		})
	}
}

func benchKey(delimiter string) (codec.Key, *codec.KeyValues) {
	s, y, o, i, l, u, v, d, at, id, e := "us-west2", []byte("ab"), true, int32(-7), int64(3698), uint32(7), uint64(94587), time.Minute, time.Unix(1614945839, 0).UTC(), someUUID, int64(2)
	form := codec.KeyForm{Encoding: codec.KeyBinary}
	if delimiter != "" {
		form = codec.KeyForm{}
	}
	k := codec.Key{Delimiter: delimiter, Bucket: codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02"}}}, Segments: []codec.Segment{
		{Kind: codec.SaltSegment, Buckets: 16, Salted: []int{0, 4}},
		{Name: "s", Type: codec.StringSegment},
		{Kind: codec.ConstSegment, Const: "k"},
		{Kind: codec.BucketSegment},
		{Name: "y", Type: codec.BytesSegment, Series: 1, Form: codec.KeyForm{Encoding: codec.KeyRaw}},
		{Name: "o", Type: codec.BoolSegment, Series: 2, Form: form},
		{Name: "i", Type: codec.Int32Segment, Series: 3, Form: form},
		{Name: "l", Type: codec.Int64Segment, Series: 4, Form: codec.KeyForm{Encoding: codec.KeyDecimal, Pad: 8}},
		{Name: "u", Type: codec.Uint32Segment, Series: 5, Form: form},
		{Name: "v", Type: codec.Uint64Segment, Series: 6, Form: form},
		{Name: "d", Type: codec.DurationSegment, Series: 7, Form: form},
		{Name: "at", Type: codec.TimestampSegment, Series: 8, Form: form},
		{Name: "id", Type: codec.UUIDSegment, Series: 9, Form: form},
		{Name: "e", Type: codec.EnumSegment, Series: 10, Form: form, Enum: phases},
	}}
	return k, &codec.KeyValues{Series: []any{&s, &y, &o, &i, &l, &u, &v, &d, &at, &id, &e}, At: &at}
}

func BenchmarkKey(b *testing.B) {
	for name, delimiter := range map[string]string{"text": "#", "binary": ""} {
		k, v := benchKey(delimiter)
		row, err := k.Append(nil, v)
		must(b, err)
		measure(b, name+"/append", func() { row, err = k.Append(row[:0], v) })
		text := string(row)
		measure(b, name+"/parse", func() { err = k.Parse(text, v) })
		must(b, err)
		short := k
		short.Segments = k.Segments[1:4]
		row, _ = short.Append(nil, v)
		measure(b, name+"/append3", func() { row, err = short.Append(row[:0], v) })
		text3 := string(row)
		measure(b, name+"/parse3", func() { err = short.Parse(text3, v) })
		must(b, err)
		s := k.Select(codec.Given{Series: []int{4, 6}})
		measure(b, name+"/match", func() { _ = s.Match(v, v) })
		measure(b, name+"/select", func() { _, err = s.Spans(v, nil) })
		measure(b, name+"/pattern", func() {
			p, _ := s.Pattern(v)
			_ = p.All(codec.AnyTime(k.Bucket))[0].Regexp()
		})
		must(b, err)
	}
}

func BenchmarkTimes(b *testing.B) {
	at := time.Unix(1614945839, 5e8).UTC()
	for _, format := range []string{"2006-01-02-150405.000", "unix_ms", "binary"} {
		f, _ := codec.ParseTimeFormat(format)
		dst, _ := f.Append(nil, at)
		measure(b, format+"/append", func() { dst, _ = f.Append(dst[:0], at) })
		text := string(dst)
		measure(b, format+"/parse", func() { _, _ = f.Parse(text) })
		r := codec.NewTimeReader(f)
		measure(b, format+"/reader", func() { _, _ = r.Parse(dst) })
	}
	for _, label := range []string{"2006-01-02", "w%d", "iso_week"} {
		k := codec.Bucket{Every: 7 * 24 * time.Hour, Label: mustLabel(label)}
		dst, _ := k.AppendLabel(nil, at)
		measure(b, label+"/append", func() { dst, _ = k.AppendLabel(dst[:0], at) })
		text := string(dst)
		measure(b, label+"/parse", func() { _, _ = k.ParseLabel(text) })
		s := codec.Span{Prefix: "us-west2#3698#", Whole: true, MaxBytes: codec.MaxRowSet, Delimiter: "#"}
		measure(b, label+"/spans", func() {
			for range s.Buckets(k, at.AddDate(-1, 0, 0), at) {
			}
		})
	}
	o := codec.Offset{Bucket: weeks, Precision: time.Millisecond, Sequence: true}
	start := weeks.Start(at)
	in := o.In(start)
	q := o.Append(nil, at, 7)
	measure(b, "offset/append", func() { q = o.Append(q[:0], at, 7) })
	measure(b, "offset/parse", func() { _, _, _ = in.Parse(q) })
	rule := codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{{Kind: codec.GCMaxAge, MaxAge: time.Hour}, {Kind: codec.GCMaxVersions, MaxVersions: 3}}}
	for name, l := range map[string]codec.Lifetime{"event": {Retention: rule.Retention(0)}, "expiry": {Timestamp: codec.TimestampShifted, Default: time.Hour}} {
		us := at.UnixMicro()
		measure(b, name+"/alive", func() { _ = l.Alive(at, us, 2) })
		measure(b, name+"/micros", func() { _, _ = l.Micros(at, at, time.Time{}, 0) })
	}
}

func BenchmarkProto(b *testing.B) {
	at := time.Unix(1614945839, 5e8).UTC()
	build := func(dst []byte) []byte {
		dst = codec.AppendProtoString(dst, 1, codec.Implicit, "us-west2")
		dst = codec.AppendProtoBytes(dst, 2, codec.Implicit, []byte("ab"))
		dst = codec.AppendProtoBool(dst, 3, codec.Implicit, true)
		dst = codec.AppendProtoFloat32(dst, 8, codec.Implicit, 9.5)
		dst = codec.AppendProtoFloat64(dst, 9, codec.Implicit, 9.5)
		dst = codec.AppendProtoTimestamp(dst, 10, codec.Implicit, at)
		dst = codec.AppendProtoDuration(dst, 11, codec.Implicit, time.Minute)
		return codec.AppendProtoUUID(dst, 12, codec.Implicit, someUUID)
	}
	numbers := func(dst []byte) []byte {
		dst = codec.AppendProtoInt32(dst, 4, codec.Implicit, -7)
		dst = codec.AppendProtoInt64(dst, 5, codec.Implicit, 94587)
		dst = codec.AppendProtoUint32(dst, 6, codec.Implicit, 94587)
		dst = codec.AppendProtoUint64(dst, 7, codec.Implicit, 94587)
		return codec.AppendProtoEnum(dst, 13, codec.Implicit, 2)
	}
	dst := numbers(build(nil))
	measure(b, "append", func() { dst = build(dst[:0]) })
	measure(b, "numbers", func() { dst = numbers(dst[:0]) })
	dst = numbers(build(nil))
	measure(b, "parse", func() {
		r := codec.NewProtoReader(dst)
		for r.Next() {
			switch r.Number() {
			case 1:
				r.Text()
			case 2:
				r.Bytes()
			case 3:
				r.Bool()
			case 4:
				r.Int32()
			case 5:
				r.Int64()
			case 6:
				r.Uint32()
			case 7:
				r.Uint64()
			case 8:
				r.Float32()
			case 9:
				r.Float64()
			case 10:
				r.Timestamp()
			case 11:
				r.Duration()
			case 12:
				r.UUID()
			case 13:
				r.Enum(phases)
			}
		}
		if r.Err() != nil {
			b.Fatal(r.Err())
		}
	})
	measure(b, "json", func() {
		dst = codec.AppendJSONString(dst[:0], "a", "us-west2")
		dst = codec.AppendJSONInt64(dst, "b", 94587)
		dst = codec.AppendJSONFloat64(dst, "c", 9.5)
		dst = codec.AppendJSONTimestamp(dst, "d", at)
		dst = codec.AppendJSONUUID(dst, "e", someUUID)
	})
}
