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
		out = append(out, event{3: f[i], 4: i32[i], 5: i64[i], 6: u32[i], 7: u64[i], 8: f32[i], 9: f64[i]})
	}
	return out, true
}

func TestProtoNumbers(t *testing.T) {
	check(t, "written messages", func(t *rapid.T) {
		some := rapid.OneOf(events(), rapid.Just(event{}), rapid.Just(event{5: int64(1), 9: 2.0}))
		all := rapid.SliceOfN(some, 1, 5).Draw(t, "events")
		var messages [][]byte
		for _, e := range all {
			messages = append(messages, e.encode(codec.Presence(rapid.Bool().Draw(t, "presence")), protoNumbers...))
		}
		got, ok := decodeNumbers(numbers(t), messages)
		for i, e := range all {
			for _, f := range protoNumbers {
				if !ok || !cmp.Equal(e.full()[f.number], got[i][f.number], equateEvents) {
					t.Fatalf("event %d has %v, want %v", i, got[i], e)
				}
			}
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
		if d := cmp.Diff(want.full(), got[0].full(), equateEvents); err != nil || d != "" {
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
