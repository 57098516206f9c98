package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// The n-th example of each type: no two are equal but of bool, and what is read
// of them is equal to what was written, whatever the form that they are stored in.

// String returns the n-th example text.
func String(n int) string { return fmt.Sprintf("%d: \"é#\\\"", n) }

// Bytes returns the n-th example bytes.
func Bytes(n int) []byte { return []byte{0xff, 0, byte(n)} }

// Bool returns true and false by turns.
func Bool(n int) bool { return n%2 == 0 }

// Int32 returns the n-th example number.
func Int32(n int) int32 { return int32(1-2*(n%2)) * int32(n+1) * 1000 }

// Int64 returns the n-th example number.
func Int64(n int) int64 { return int64(1-2*(n%2)) * int64(n+1) << 33 }

// Uint32 returns the n-th example number.
func Uint32(n int) uint32 { return 1<<32 - 1 - uint32(n) }

// Uint64 returns the n-th example number.
func Uint64(n int) uint64 { return 1<<64 - 1 - uint64(n) }

// Float32 returns the n-th example number.
func Float32(n int) float32 { return float32(n+1) / 10 }

// Float64 returns the n-th example number.
func Float64(n int) float64 { return -float64(n+1) / 10 }

// Timestamp returns the n-th example time.
func Timestamp(n int) time.Time { return time.Date(2021, time.March, 5, 12, 0, 0, n+1, time.UTC) }

// Duration returns the n-th example duration.
func Duration(n int) time.Duration { return time.Duration(n+1)*time.Hour + 1 }

// UUID returns the n-th example identifier.
func UUID(n int) codec.UUID { return codec.UUID{0: 0xf8, 6: 0x40, 8: 0x80, 15: byte(n)} }

// JSON returns the n-th example object.
func JSON(n int) json.RawMessage { return fmt.Appendf(nil, `{"n":%d}`, n) }

// Pick returns the n-th of the values, from the first again after the last.
func Pick[T any](n int, values ...T) T { return values[n%len(values)] }

// Present returns a place with the value, for an optional field.
func Present[T any](value T) *T { return &value }

// Optional returns a place with the value, or nil in every second example.
func Optional[T any](n int, value T) *T {
	if n%2 == 1 {
		return nil
	}
	return &value
}

// OptionalSlice returns the value, or nil in every second example.
func OptionalSlice[S ~[]byte](n int, value S) S {
	if n%2 == 1 {
		return nil
	}
	return value
}
