package codec_test

import (
	"math"
	"testing"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// numbers returns the decoder of the fields of an event that are numbers.
func numbers(t interface{ Fatal(...any) }) *codec.ProtoNumbers {
	p := new(codec.ProtoNumbers)
	added := codec.AddProtoNumber[bool](p, 3) && codec.AddProtoNumber[int32](p, 4) && codec.AddProtoNumber[int64](p, 5) &&
		codec.AddProtoNumber[uint32](p, 6) && codec.AddProtoNumber[uint64](p, 7) &&
		codec.AddProtoNumber[float32](p, 8) && codec.AddProtoNumber[float64](p, 9)
	if !added || p.Len() != 7 {
		t.Fatal("a field was not added")
	}
	return p
}

// decodeNumbers decodes several messages.
func decodeNumbers(p *codec.ProtoNumbers, messages [][]byte) (out []event, ok bool) {
	n := len(messages)
	values := make([]uint64, n*p.Len())
	for i := range values {
		values[i] = math.MaxUint64 // of other messages
	}
	for i, m := range messages {
		if !p.Parse(m, values, i, n) {
			return nil, false
		}
	}
	f := codec.AppendProtoNumbers[bool](nil, values[:n])
	i32 := codec.AppendProtoNumbers[int32](nil, values[n:2*n])
	i64 := codec.AppendProtoNumbers[int64](nil, values[2*n:3*n])
	u32 := codec.AppendProtoNumbers[uint32](nil, values[3*n:4*n])
	u64 := codec.AppendProtoNumbers[uint64](nil, values[4*n:5*n])
	f32 := codec.AppendProtoNumbers[float32](nil, values[5*n:6*n])
	f64 := codec.AppendProtoNumbers[float64](nil, values[6*n:])
	for i := range n {
		out = append(out, event{F: f[i], I32: i32[i], I64: i64[i], U32: u32[i], U64: u64[i], F32: f32[i], F64: f64[i]})
	}
	return out, true
}

// onlyNumbers returns an event whose other fields are not written.
func onlyNumbers(e event) event {
	return event{F: e.F, I32: e.I32, I64: e.I64, U32: e.U32, U64: e.U64, F32: e.F32, F64: e.F64}
}

func TestProtoNumbers(t *testing.T) {
	check(t, "written messages", func(t *rapid.T) {
		var want []event
		var messages [][]byte
		for _, e := range rapid.SliceOfN(rapid.OneOf(events(), rapid.Just(event{}), rapid.Just(event{I64: 1, F64: 2})), 1, 5).Draw(t, "events") {
			want = append(want, onlyNumbers(e))
			messages = append(messages, e.encodeNumbers(nil, codec.Presence(rapid.Bool().Draw(t, "presence"))))
		}
		got, ok := decodeNumbers(numbers(t), messages)
		if d := cmp.Diff(want, got, equateEvents); !ok || d != "" {
			t.Fatal(ok, d)
		}
	})
	check(t, "other messages", func(t *rapid.T) {
		field := rapid.Custom(func(t *rapid.T) []byte {
			number := rapid.IntRange(1, 16).Draw(t, "number")
			return rapid.OneOf(
				rapid.Map(rapid.Uint64(), func(v uint64) []byte { return wire{}.varint(number, v) }),
				rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), func(v []byte) []byte { return wire{}.bytes(number, v) }),
				rapid.Map(rapid.Float32(), func(v float32) []byte { return codec.AppendProtoFloat32(nil, number, codec.Explicit, v) }),
				rapid.Map(rapid.Float64(), func(v float64) []byte { return codec.AppendProtoFloat64(nil, number, codec.Explicit, v) }),
				rapid.SliceOfN(rapid.Byte(), 0, 12),
			).Draw(t, "field")
		})
		message := rapid.Custom(func(t *rapid.T) (b []byte) {
			for _, f := range rapid.SliceOfN(field, 0, 5).Draw(t, "fields") {
				b = append(b, f...)
			}
			return b[:rapid.IntRange(0, len(b)).Draw(t, "length")]
		}).Draw(t, "message")
		got, ok := decodeNumbers(numbers(t), [][]byte{message})
		if !ok {
			return // left to a ProtoReader
		}
		want, err := decode(message)
		if d := cmp.Diff(want, got[0], equateEvents); err != nil || d != "" {
			t.Fatalf("%x: %v %s", message, err, d)
		}
	})
}

func TestAddProtoNumberRefuses(t *testing.T) {
	p := new(codec.ProtoNumbers)
	for number, want := range map[int]bool{-1: false, 0: false, 1: true, 15: true, 16: false, 1 << 28: false} {
		if got := codec.AddProtoNumber[int64](p, number); got != want {
			t.Errorf("%d: %v", number, got)
		}
	}
	if codec.AddProtoNumber[bool](p, 15) {
		t.Error("one number for two fields")
	}
}
