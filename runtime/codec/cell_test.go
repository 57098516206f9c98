package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

// encoding is one way to encode and decode a T.
type encoding[T any] struct {
	name   string
	append func([]byte, T) []byte
	parse  func([]byte) (T, error)
}

// roundTrip checks that values are unchanged, that encoders append, and that decoded
// values do not alias the cell.
func roundTrip[T any](t *testing.T, values *rapid.Generator[T], same func(a, b T) bool, encodings ...encoding[T]) {
	t.Helper()
	for _, e := range encodings {
		check(t, e.name, func(t *rapid.T) {
			want := values.Draw(t, "value")
			cell := e.append([]byte("dst"), want)
			if !bytes.HasPrefix(cell, []byte("dst")) {
				t.Fatalf("encoder does not append: %q", cell)
			}
			cell = cell[3:]
			got, err := e.parse(cell)
			for i := range cell {
				cell[i] = '?'
			}
			if err != nil || !same(want, got) {
				t.Fatalf("%v was written as %q and read as %v, %v", want, e.append(nil, want), got, err)
			}
		})
	}
}

func TestCellRoundTrip(t *testing.T) {
	roundTrip(t, rapid.String(), same[string],
		encoding[string]{"binary string", codec.AppendBinaryString, codec.BinaryString},
		encoding[string]{"text string", codec.AppendTextString, codec.TextString})
	roundTrip(t, rapid.SliceOf(rapid.Byte()), sameBytes,
		encoding[[]byte]{"binary bytes", codec.AppendBinaryBytes, codec.BinaryBytes},
		encoding[[]byte]{"text bytes", codec.AppendTextBytes, codec.TextBytes})
	roundTrip(t, rapid.Bool(), same[bool],
		encoding[bool]{"binary bool", codec.AppendBinaryBool, codec.BinaryBool},
		encoding[bool]{"text bool", codec.AppendTextBool, codec.TextBool})
	roundTrip(t, rapid.Int32(), same[int32],
		encoding[int32]{"binary int32", codec.AppendBinaryInt32, codec.BinaryInt32},
		encoding[int32]{"text int32", codec.AppendTextInt32, codec.TextInt32})
	roundTrip(t, rapid.Int64(), same[int64],
		encoding[int64]{"binary int64", codec.AppendBinaryInt64, codec.BinaryInt64},
		encoding[int64]{"text int64", codec.AppendTextInt64, codec.TextInt64})
	roundTrip(t, rapid.Uint32(), same[uint32],
		encoding[uint32]{"binary uint32", codec.AppendBinaryUint32, codec.BinaryUint32},
		encoding[uint32]{"text uint32", codec.AppendTextUint32, codec.TextUint32})
	roundTrip(t, rapid.Uint64(), same[uint64],
		encoding[uint64]{"binary uint64", codec.AppendBinaryUint64, codec.BinaryUint64},
		encoding[uint64]{"text uint64", codec.AppendTextUint64, codec.TextUint64})
	roundTrip(t, rapid.Float32(), sameFloat32,
		encoding[float32]{"binary float32", codec.AppendBinaryFloat32, codec.BinaryFloat32},
		encoding[float32]{"text float32", codec.AppendTextFloat32, codec.TextFloat32})
	roundTrip(t, rapid.Float64(), sameFloat64,
		encoding[float64]{"binary float64", codec.AppendBinaryFloat64, codec.BinaryFloat64},
		encoding[float64]{"text float64", codec.AppendTextFloat64, codec.TextFloat64})
}

func TestCellRoundTripComposite(t *testing.T) {
	roundTrip(t, nanoTimes(), sameTime,
		encoding[time.Time]{"binary timestamp", codec.AppendBinaryTimestamp, codec.BinaryTimestamp},
		encoding[time.Time]{"text timestamp", codec.AppendTextTimestamp, codec.TextTimestamp})
	roundTrip(t, durations(), same[time.Duration],
		encoding[time.Duration]{"binary duration", codec.AppendBinaryDuration, codec.BinaryDuration},
		encoding[time.Duration]{"text duration", codec.AppendTextDuration, codec.TextDuration})
	roundTrip(t, uuids(), same[codec.UUID],
		encoding[codec.UUID]{"binary UUID", codec.AppendBinaryUUID, codec.BinaryUUID},
		encoding[codec.UUID]{"text UUID", codec.AppendTextUUID, codec.TextUUID})
	roundTrip(t, jsons(), sameJSON,
		encoding[json.RawMessage]{"binary JSON", codec.AppendBinaryJSON, codec.BinaryJSON},
		encoding[json.RawMessage]{"text JSON", codec.AppendTextJSON, codec.TextJSON})
	roundTrip(t, rapid.SampledFrom([]int64{1, 2, -7}), same[int64],
		encoding[int64]{"binary enum",
			func(b []byte, v int64) []byte { return codec.AppendBinaryEnum(b, phases, v) },
			func(b []byte) (int64, error) { return codec.BinaryEnum(b, phases) }},
		encoding[int64]{"text enum",
			func(b []byte, v int64) []byte { return codec.AppendTextEnum(b, phases, v) },
			func(b []byte) (int64, error) { return codec.TextEnum(b, phases) }})
}

func TestBinaryForm(t *testing.T) {
	tests := []struct {
		got  []byte
		want string
	}{
		{codec.AppendBinaryInt64(nil, 94587), "\x00\x00\x00\x00\x00\x01\x71\x7b"},
		{codec.AppendBinaryInt32(nil, -1), "\xff\xff\xff\xff\xff\xff\xff\xff"},
		{codec.AppendBinaryUint32(nil, math.MaxUint32), "\x00\x00\x00\x00\xff\xff\xff\xff"},
		{codec.AppendBinaryFloat64(nil, 9.5), "\x40\x23\x00\x00\x00\x00\x00\x00"},
		{codec.AppendBinaryFloat32(nil, 9.5), "\x41\x18\x00\x00"},
		{codec.AppendBinaryBool(nil, true), "\x01"},
		{codec.AppendBinaryTimestamp(nil, time.Unix(0, 258)), "\x00\x00\x00\x00\x00\x00\x01\x02"},
		{codec.AppendBinaryDuration(nil, 258), "\x00\x00\x00\x00\x00\x00\x01\x02"},
		{codec.AppendBinaryEnum(nil, phases, 2), "\x00\x00\x00\x00\x00\x00\x00\x02"},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("got %x, want %x", tt.got, tt.want)
		}
	}
}

func TestBinaryRefuses(t *testing.T) {
	seven, nine := make([]byte, 7), make([]byte, 9)
	big := codec.AppendBinaryInt64(nil, 1<<32)
	parsers := map[string]func(b []byte) error{
		"bool":      func(b []byte) error { _, err := codec.BinaryBool(b); return err },
		"int32":     func(b []byte) error { _, err := codec.BinaryInt32(b); return err },
		"int64":     func(b []byte) error { _, err := codec.BinaryInt64(b); return err },
		"uint32":    func(b []byte) error { _, err := codec.BinaryUint32(b); return err },
		"uint64":    func(b []byte) error { _, err := codec.BinaryUint64(b); return err },
		"float32":   func(b []byte) error { _, err := codec.BinaryFloat32(b); return err },
		"float64":   func(b []byte) error { _, err := codec.BinaryFloat64(b); return err },
		"timestamp": func(b []byte) error { _, err := codec.BinaryTimestamp(b); return err },
		"duration":  func(b []byte) error { _, err := codec.BinaryDuration(b); return err },
		"UUID":      func(b []byte) error { _, err := codec.BinaryUUID(b); return err },
		"JSON":      func(b []byte) error { _, err := codec.BinaryJSON(b); return err },
		"enum":      func(b []byte) error { _, err := codec.BinaryEnum(b, phases); return err },
	}
	for name, parse := range parsers {
		for _, b := range [][]byte{nil, seven, nine} {
			if err := parse(b); !errors.Is(err, codec.ErrValue) {
				t.Errorf("%s of %d bytes: %v", name, len(b), err)
			}
		}
	}
	for _, name := range []string{"int32", "uint32"} {
		if err := parsers[name](big); !errors.Is(err, codec.ErrValue) {
			t.Errorf("%s of 1<<32: %v", name, err)
		}
	}
	if err := parsers["bool"]([]byte{2}); !errors.Is(err, codec.ErrValue) {
		t.Errorf("bool of 2: %v", err)
	}
	if err := parsers["enum"](make([]byte, 8)); !errors.Is(err, codec.ErrValue) || !errors.Is(err, codec.ErrEnum) {
		t.Errorf("enum of 0: %v", err)
	}
	if _, err := codec.BinaryString([]byte{0xff}); !errors.Is(err, codec.ErrValue) || !errors.Is(err, codec.ErrUTF8) {
		t.Errorf("string: %v", err)
	}
}

func TestEmptyBytesAreNil(t *testing.T) {
	for _, parse := range []func([]byte) ([]byte, error){codec.BinaryBytes, codec.TextBytes} {
		if v, err := parse([]byte{}); v != nil || err != nil {
			t.Errorf("got %#v, %v", v, err)
		}
	}
}
