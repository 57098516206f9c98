package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
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

// event has values by the numbers of fields in protoFields; without one, a field is zero.
type event map[int]any

// protoField is a field of a type: what draws, writes and reads it, and its value for the protobuf library.
type protoField struct {
	number int
	of     string // in .proto files
	zero   any
	draw   *rapid.Generator[any]
	append func(b []byte, p codec.Presence, v any) []byte
	read   func(r *codec.ProtoReader) any
	proto  func(v any) any
}

func fieldOf[T any](
	number int, of string, draw *rapid.Generator[T], write func(b []byte, number int, p codec.Presence, v T) []byte,
	read func(*codec.ProtoReader) T, proto func(v T) any,
) protoField {
	f := protoField{number: number, of: of, zero: *new(T), draw: draw.AsAny()}
	f.append = func(b []byte, p codec.Presence, v any) []byte { return write(b, number, p, v.(T)) }
	f.read = func(r *codec.ProtoReader) any { return read(r) }
	if f.proto = func(v any) any { return v }; proto != nil {
		f.proto = func(v any) any { return proto(v.(T)) }
	}
	return f
}

// protoFields has fields of all types in order of their numbers.
var protoFields = []protoField{
	fieldOf(1, "string", rapid.String(), codec.AppendProtoString, (*codec.ProtoReader).Text, nil),
	fieldOf(2, "bytes", rapid.SliceOf(rapid.Byte()), codec.AppendProtoBytes, (*codec.ProtoReader).Bytes, nil),
	fieldOf(3, "bool", rapid.Bool(), codec.AppendProtoBool, (*codec.ProtoReader).Bool, nil),
	fieldOf(4, "int32", rapid.Int32(), codec.AppendProtoInteger[int32], (*codec.ProtoReader).Int32, nil),
	fieldOf(5, "int64", rapid.Int64(), codec.AppendProtoInteger[int64], (*codec.ProtoReader).Int64, nil),
	fieldOf(6, "uint32", rapid.Uint32(), codec.AppendProtoInteger[uint32], (*codec.ProtoReader).Uint32, nil),
	fieldOf(7, "uint64", rapid.Uint64(), codec.AppendProtoInteger[uint64], (*codec.ProtoReader).Uint64, nil),
	fieldOf(8, "float", rapid.Float32(), codec.AppendProtoFloat32, (*codec.ProtoReader).Float32, nil),
	fieldOf(9, "double", rapid.Float64(), codec.AppendProtoFloat64, (*codec.ProtoReader).Float64, nil),
	fieldOf(10, "google.protobuf.Timestamp", times(1, 9999), codec.AppendProtoTimestamp, (*codec.ProtoReader).Timestamp,
		func(t time.Time) any { return timestamppb.New(t).ProtoReflect() }),
	fieldOf(11, "google.protobuf.Duration", durations(), codec.AppendProtoDuration, (*codec.ProtoReader).Duration,
		func(d time.Duration) any { return durationpb.New(d).ProtoReflect() }),
	fieldOf(12, "bytes", uuids(), codec.AppendProtoUUID, (*codec.ProtoReader).UUID, func(u codec.UUID) any { return u[:] }),
	fieldOf(13, "Phase", rapid.SampledFrom([]int64{1, 2, -7}), codec.AppendProtoInteger[int64],
		func(r *codec.ProtoReader) int64 { return r.Enum(phases) }, func(v int64) any { return protoreflect.EnumNumber(v) }),
	fieldOf(2000, "string", jsons(), func(b []byte, number int, p codec.Presence, v json.RawMessage) []byte {
		return codec.AppendProtoBytes(b, number, p, v)
	}, (*codec.ProtoReader).JSON, func(v json.RawMessage) any { return string(v) }),
}

// protoNumbers are the fields that are numbers.
var protoNumbers = protoFields[2:9]

// full returns an event with the zero values that it lacks.
func (e event) full() event {
	out := event{}
	for _, f := range protoFields {
		if out[f.number] = f.zero; e[f.number] != nil {
			out[f.number] = e[f.number]
		}
	}
	return out
}

func (e event) encode(p codec.Presence, fields ...protoField) (b []byte) {
	all := e.full()
	for _, f := range fields {
		b = f.append(b, p, all[f.number])
	}
	return b
}

func decode(b []byte) (event, error) {
	e, r := event{}, codec.NewProtoReader(b)
	for r.Next() {
		for _, f := range protoFields {
			if f.number == r.Number() {
				e[f.number] = f.read(&r)
			}
		}
	}
	return e, r.Err()
}

func events() *rapid.Generator[event] {
	return rapid.Custom(func(t *rapid.T) event {
		e := event{}
		for _, f := range protoFields {
			e[f.number] = f.draw.Draw(t, f.of)
		}
		return e
	})
}

var equateEvents = cmp.Options{
	cmp.Transformer("bits", math.Float64bits),
	cmp.Transformer("bits32", math.Float32bits),
	cmp.Transformer("text", func(b []byte) string { return string(b) }),
}

// descriptors compiles a message with all fields for each presence, in the form of a generated .proto file.
func descriptors(t *testing.T) map[codec.Presence]protoreflect.MessageDescriptor {
	t.Helper()
	source := `syntax = "proto3";
		import "google/protobuf/timestamp.proto";
		import "google/protobuf/duration.proto";
		enum Phase { UNSPECIFIED = 0; ASCENT = 1; FLOAT = 2; LOST = -7; }`
	for name, label := range map[string]string{"Implicit": "", "Explicit": "optional"} {
		source += "message " + name + " {"
		for _, f := range protoFields {
			source += fmt.Sprintf("%s %s f%d = %d;", label, f.of, f.number, f.number)
		}
		source += "}"
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"event.proto": source}),
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
	negative := event{10: time.Unix(0, 0).UTC(), 8: float32(math.Copysign(0, -1)), 9: math.Copysign(0, -1)}
	check(t, "the bytes of the protobuf library, which are read", func(t *rapid.T) {
		p := codec.Presence(rapid.Bool().Draw(t, "presence"))
		e := rapid.OneOf(events(), rapid.Just(event{}), rapid.Just(negative)).Draw(t, "event")
		m := dynamicpb.NewMessage(types[p])
		for number, v := range e.full() {
			i := slices.IndexFunc(protoFields, func(f protoField) bool { return f.number == number })
			if p == codec.Explicit || !reflect.ValueOf(v).IsZero() || fmt.Sprint(v) == "-0" { // which protobuf writes
				m.Set(types[p].Fields().ByNumber(protowire.Number(number)), protoreflect.ValueOf(protoFields[i].proto(v)))
			}
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		must(t, err)
		b := e.encode(p, protoFields...)
		if !bytes.Equal(b, want) {
			t.Fatalf("presence %v:\n got %x\nwant %x", p, b, want)
		}
		if p == codec.Explicit && e[13] == nil {
			return // 0 is no value of the enum
		}
		got, err := decode(b)
		clear(b) // which the caller reuses
		if d := cmp.Diff(e.full(), got.full(), equateEvents); err != nil || d != "" {
			t.Fatal(d, err)
		}
		if at, ok := got[10].(time.Time); ok && at.Location() != time.UTC {
			t.Fatal("timestamp is not UTC")
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
		{"empty", nil, nil},
		{"last one wins", wire{}.varint(5, 1).varint(5, 2), event{5: int64(2)}},
		{"unknown fields are skipped", wire(group).varint(78, 1).bytes(79, []byte("x")).varint(5, 2), event{5: int64(2)}},
		{"low 32 bits", wire{}.varint(4, 1<<32+5).varint(6, 1<<32+6), event{4: int32(5), 6: uint32(6)}},
		{"negative enum in five bytes", wire{}.varint(13, math.MaxUint32-6), event{13: int64(-7)}},
		{"any bool but 0", wire{}.varint(3, 2), event{3: true}},
		{"empty timestamp is 1970", wire{}.bytes(10, nil), event{10: time.Unix(0, 0).UTC()}},
		{"empty bytes are nil", wire{}.bytes(2, nil), nil},
	} {
		got, err := decode(tt.b)
		if d := cmp.Diff(tt.want.full(), got.full()); err != nil || d != "" {
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
	some := event{1: "a", 9: 9.5, 10: date("2021-03-05"), 11: time.Duration(-1), 13: int64(1), 2000: json.RawMessage("1")}
	f.Add(some.encode(codec.Explicit, protoFields...))
	f.Add([]byte(wire{}.varint(5, 1).varint(5, 2).varint(99, 3)))
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := decode(b)
		if err != nil {
			assert.Is(t, codec.ErrValue, err)
			return
		}
		twice, err := decode(once.encode(codec.Implicit, protoFields...))
		must(t, err)
		if d := cmp.Diff(once.full(), twice.full(), equateEvents); d != "" {
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
	for _, f := range protoFields {
		if v := f.read(&r); r.Next() || !cmp.Equal(v, f.zero) || r.Err() != before {
			t.Errorf("%v of field %d was read after an error, which is now %v", v, f.number, r.Err())
		}
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
