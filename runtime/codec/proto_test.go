package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// event has a field of every type, with the numbers of the messages in protoSource.
type event struct {
	S   string
	B   []byte
	F   bool
	I32 int32
	I64 int64
	U32 uint32
	U64 uint64
	F32 float32
	F64 float64
	T   time.Time
	D   time.Duration
	ID  codec.UUID
	E   int64
	J   json.RawMessage
}

const protoSource = `
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
enum Phase { UNSPECIFIED = 0; ASCENT = 1; FLOAT = 2; LOST = -7; }
message Implicit {
  string s = 1; bytes b = 2; bool f = 3; int32 i32 = 4; int64 i64 = 5;
  uint32 u32 = 6; uint64 u64 = 7; float f32 = 8; double f64 = 9;
  google.protobuf.Timestamp t = 10; google.protobuf.Duration d = 11;
  bytes id = 12; Phase e = 13; string j = 2000;
}
message Explicit {
  optional string s = 1; optional bytes b = 2; optional bool f = 3; optional int32 i32 = 4;
  optional int64 i64 = 5; optional uint32 u32 = 6; optional uint64 u64 = 7;
  optional float f32 = 8; optional double f64 = 9;
  google.protobuf.Timestamp t = 10; google.protobuf.Duration d = 11;
  optional bytes id = 12; optional Phase e = 13; optional string j = 2000;
}`

func (e event) encode(p codec.Presence) []byte {
	b := codec.AppendProtoString(nil, 1, p, e.S)
	b = codec.AppendProtoBytes(b, 2, p, e.B)
	b = e.encodeNumbers(b, p)
	b = codec.AppendProtoTimestamp(b, 10, p, e.T)
	b = codec.AppendProtoDuration(b, 11, p, e.D)
	b = codec.AppendProtoUUID(b, 12, p, e.ID)
	b = codec.AppendProtoInteger(b, 13, p, e.E)
	return codec.AppendProtoBytes(b, 2000, p, e.J)
}

// encodeNumbers appends the fields that are numbers.
func (e event) encodeNumbers(b []byte, p codec.Presence) []byte {
	b = codec.AppendProtoBool(b, 3, p, e.F)
	b = codec.AppendProtoInteger(b, 4, p, e.I32)
	b = codec.AppendProtoInteger(b, 5, p, e.I64)
	b = codec.AppendProtoInteger(b, 6, p, e.U32)
	b = codec.AppendProtoInteger(b, 7, p, e.U64)
	b = codec.AppendProtoFloat32(b, 8, p, e.F32)
	return codec.AppendProtoFloat64(b, 9, p, e.F64)
}

func decode(b []byte) (event, error) {
	var e event
	r := codec.NewProtoReader(b)
	for r.Next() {
		switch r.Number() {
		case 1:
			e.S = r.Text()
		case 2:
			e.B = r.Bytes()
		case 3:
			e.F = r.Bool()
		case 4:
			e.I32 = r.Int32()
		case 5:
			e.I64 = r.Int64()
		case 6:
			e.U32 = r.Uint32()
		case 7:
			e.U64 = r.Uint64()
		case 8:
			e.F32 = r.Float32()
		case 9:
			e.F64 = r.Float64()
		case 10:
			e.T = r.Timestamp()
		case 11:
			e.D = r.Duration()
		case 12:
			e.ID = r.UUID()
		case 13:
			e.E = r.Enum(phases)
		case 2000:
			e.J = r.JSON()
		}
	}
	return e, r.Err()
}

// message returns e as a dynamic protobuf message. With implicit presence, it omits
// zero values of the two message types, like the codec.
func (e event) message(d protoreflect.MessageDescriptor, p codec.Presence) proto.Message {
	m := dynamicpb.NewMessage(d)
	set := func(number int, v any) { m.Set(d.Fields().ByNumber(protowire.Number(number)), protoreflect.ValueOf(v)) }
	set(1, e.S)
	set(2, e.B)
	set(3, e.F)
	set(4, e.I32)
	set(5, e.I64)
	set(6, e.U32)
	set(7, e.U64)
	set(8, e.F32)
	set(9, e.F64)
	if p == codec.Explicit || !e.T.IsZero() {
		set(10, timestamppb.New(e.T).ProtoReflect())
	}
	if p == codec.Explicit || e.D != 0 {
		set(11, durationpb.New(e.D).ProtoReflect())
	}
	if p == codec.Explicit || e.ID != (codec.UUID{}) {
		set(12, e.ID[:])
	}
	set(13, protoreflect.EnumNumber(e.E))
	set(2000, string(e.J))
	return m
}

func events() *rapid.Generator[event] {
	return rapid.Custom(func(t *rapid.T) event {
		return event{
			S:   rapid.String().Draw(t, "S"),
			B:   rapid.SliceOf(rapid.Byte()).Draw(t, "B"),
			F:   rapid.Bool().Draw(t, "F"),
			I32: rapid.Int32().Draw(t, "I32"),
			I64: rapid.Int64().Draw(t, "I64"),
			U32: rapid.Uint32().Draw(t, "U32"),
			U64: rapid.Uint64().Draw(t, "U64"),
			F32: rapid.Float32().Draw(t, "F32"),
			F64: rapid.Float64().Draw(t, "F64"),
			T:   times(1, 9999).Draw(t, "T"),
			D:   durations().Draw(t, "D"),
			ID:  uuids().Draw(t, "ID"),
			E:   rapid.SampledFrom([]int64{1, 2, -7}).Draw(t, "E"),
			J:   jsons().Draw(t, "J"),
		}
	})
}

var equateEvents = cmp.Options{
	cmp.Transformer("bits", math.Float64bits),
	cmp.Transformer("bits32", math.Float32bits),
	cmp.Transformer("text", func(b []byte) string { return string(b) }),
}

// descriptors compiles protoSource, which has the form of a generated .proto file.
func descriptors(t *testing.T) map[codec.Presence]protoreflect.MessageDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"event.proto": protoSource}),
	})}
	files, err := compiler.Compile(t.Context(), "event.proto")
	must(t, err)
	return map[codec.Presence]protoreflect.MessageDescriptor{
		codec.Implicit: files[0].Messages().ByName("Implicit"),
		codec.Explicit: files[0].Messages().ByName("Explicit"),
	}
}

func TestProtoMatchesProtobuf(t *testing.T) {
	types := descriptors(t)
	check(t, "the bytes of the protobuf library, which are read", func(t *rapid.T) {
		p := codec.Presence(rapid.Bool().Draw(t, "presence"))
		e := rapid.OneOf(events(), rapid.Just(event{}), rapid.Just(event{T: time.Unix(0, 0).UTC(), F64: math.Copysign(0, -1), F32: float32(math.Copysign(0, -1))})).Draw(t, "event")
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(e.message(types[p], p))
		must(t, err)
		b := e.encode(p)
		if !bytes.Equal(b, want) {
			t.Fatalf("presence %v:\n got %x\nwant %x", p, b, want)
		}
		if e.E == 0 {
			return // no value of the enum
		}
		got, err := decode(b)
		copy(b, bytes.Repeat([]byte{'?'}, len(b))) // which the caller reuses
		if d := cmp.Diff(e, got, equateEvents); err != nil || d != "" || !e.T.IsZero() && got.T.Location() != time.UTC {
			t.Fatal(d, err, got.T.Location())
		}
	})
}

// wire builds messages that the encoder never writes.
type wire []byte

func (w wire) varint(number int, v uint64) wire {
	return protowire.AppendVarint(protowire.AppendTag(w, protowire.Number(number), protowire.VarintType), v)
}

func (w wire) bytes(number int, v []byte) wire {
	return protowire.AppendBytes(protowire.AppendTag(w, protowire.Number(number), protowire.BytesType), v)
}

func TestProtoReader(t *testing.T) {
	group := protowire.AppendTag(nil, 77, protowire.StartGroupType)
	group = wire(group).varint(1, 5)
	group = protowire.AppendTag(group, 77, protowire.EndGroupType)
	for _, tt := range []struct {
		name string
		b    wire
		want event
	}{
		{"empty", nil, event{}},
		{"last one wins", wire{}.varint(5, 1).varint(5, 2), event{I64: 2}},
		{"unknown fields are skipped", wire(group).varint(78, 1).bytes(79, []byte("x")).varint(5, 2), event{I64: 2}},
		{"low 32 bits", wire{}.varint(4, 1<<32+5).varint(6, 1<<32+6), event{I32: 5, U32: 6}},
		{"negative enum in five bytes", wire{}.varint(13, math.MaxUint32-6), event{E: -7}},
		{"any bool but 0", wire{}.varint(3, 2), event{F: true}},
		{"empty timestamp is 1970", wire{}.bytes(10, nil), event{T: time.Unix(0, 0).UTC()}},
		{"empty bytes are nil", wire{}.bytes(2, nil), event{}},
	} {
		got, err := decode(tt.b)
		if d := cmp.Diff(tt.want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", tt.name, err, d)
		}
	}
}

func TestProtoReaderRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    wire
		want error
	}{
		{"cut off tag", wire{0x80}, nil},
		{"field number 0", wire{0x00, 0x01}, nil},
		{"end of no group", wire{0x0c}, nil},
		{"cut off value", wire{}.bytes(1, []byte("abc"))[:3], nil},
		{"cut off unknown value", wire{}.bytes(99, []byte("abc"))[:4], nil},
		{"varint of 11 bytes", append(wire{0x28}, bytes.Repeat([]byte{0xff}, 11)...), nil},
		{"wrong wire type", wire{}.varint(1, 1), nil},
		{"wrong wire type of a number", wire{}.bytes(9, make([]byte, 8)), nil},
		{"bad UTF-8", wire{}.bytes(1, []byte{0xff}), codec.ErrUTF8},
		{"UUID of 15 bytes", wire{}.bytes(12, make([]byte, 15)), nil},
		{"unspecified enum", wire{}.varint(13, 0), codec.ErrEnum},
		{"unknown enum", wire{}.varint(13, 3), codec.ErrEnum},
		{"bad JSON", wire{}.bytes(2000, []byte("{")), codec.ErrJSON},
		{"year 10000", wire{}.bytes(10, wire{}.varint(1, 253402300800)), nil},
		{"too many nanoseconds", wire{}.bytes(10, wire{}.varint(2, 1e9)), nil},
		{"timestamp that is no message", wire{}.bytes(10, []byte{0x80}), nil},
		{"300 years", wire{}.bytes(11, wire{}.varint(1, 300*366*86400)), nil},
		{"mixed signs", wire{}.bytes(11, wire{}.varint(1, 1).varint(2, math.MaxUint64)), nil},
		{"overflow by a nanosecond", wire{}.bytes(11, wire{}.varint(1, 9223372036).varint(2, 854775808)), nil},
	} {
		if _, err := decode(tt.b); !errors.Is(err, codec.ErrValue) || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got error %v", tt.name, err)
		}
	}
}

func FuzzProtoReader(f *testing.F) {
	f.Add(event{S: "a", F64: 9.5, T: date("2021-03-05"), D: -1, E: 1, J: json.RawMessage("1")}.encode(codec.Explicit))
	f.Add([]byte(wire{}.varint(5, 1).varint(5, 2).varint(99, 3)))
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := decode(b)
		if err != nil {
			assert.Is(t, codec.ErrValue, err)
			return
		}
		twice, err := decode(once.encode(codec.Implicit))
		must(t, err)
		if d := cmp.Diff(once, twice, equateEvents); d != "" {
			t.Error(d)
		}
	})
}

// After an error, every accessor returns the zero value.
func TestProtoReaderIsSticky(t *testing.T) {
	twice := codec.NewProtoReader(wire{}.varint(1, 1).varint(2, 2))
	twice.Next()
	twice.Int64()
	if v := twice.Int64(); v != 0 || twice.Err() == nil || twice.Next() {
		t.Errorf("a value was read twice: %d, %v", v, twice.Err())
	}
	r := codec.NewProtoReader(wire{}.varint(1, 1).varint(2, 2))
	r.Next()
	first := r.Text() // the field is a varint
	if first != "" || !errors.Is(r.Err(), codec.ErrValue) {
		t.Fatalf("a varint was read as %q, %v", first, r.Err())
	}
	before := r.Err()
	if r.Next() || r.Text() != "" || r.Bytes() != nil || r.Bool() || r.Int64() != 0 || r.Float32() != 0 || r.Float64() != 0 ||
		!r.Timestamp().IsZero() || r.Duration() != 0 || r.UUID() != (codec.UUID{}) || r.Enum(phases) != 0 || r.JSON() != nil {
		t.Error("a value was read after an error")
	}
	if r.Err() != before {
		t.Errorf("the first error was replaced by %v", r.Err())
	}
}

// An enum may contain the number 0. It is written like every other value, so that a
// message that lacks the field differs.
func TestProtoEnumOfZero(t *testing.T) {
	without := codec.AppendProtoInteger[int64](nil, 200, codec.Explicit, 5)
	with := append(codec.AppendProtoInteger[int64](nil, 13, codec.Explicit, 0), without...)
	if !codec.HasProto(with, 13) || codec.HasProto(without, 13) || !codec.HasProto(without, 200) || codec.HasProto(nil, 13) {
		t.Errorf("%x, %x", with, without)
	}
	r := codec.NewProtoReader(with)
	if r.Next(); r.Enum(codec.Enum{{7, "seven"}, {0, "zero"}}) != 0 || r.Err() != nil {
		t.Error(r.Err())
	}
}

var must = assert.Must
