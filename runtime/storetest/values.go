package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// The functions below return the n-th example of a type. Examples are distinct, except
// for bool, and every encoding preserves them.

// String returns the n-th example string.
func String(n int) string { return fmt.Sprintf("%d: \"é#\\\"", n) }

// Bytes returns the n-th example bytes.
func Bytes(n int) []byte { return []byte{0xff, 0, byte(n)} }

// Bool returns true for even n.
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

// Timestamp returns the n-th example time, in UTC.
func Timestamp(n int) time.Time { return time.Date(2021, time.March, 5, 12, 0, 0, n+1, time.UTC) }

// Duration returns the n-th example duration.
func Duration(n int) time.Duration { return time.Duration(n+1)*time.Hour + 1 }

// UUID returns the n-th example UUID.
func UUID(n int) codec.UUID { return codec.UUID{0: 0xf8, 6: 0x40, 8: 0x80, 15: byte(n)} }

// JSON returns the n-th example JSON object.
func JSON(n int) json.RawMessage { return fmt.Appendf(nil, `{"n":%d}`, n) }

// Pick returns values[n], starting over after the last value.
func Pick[T any](n int, values ...T) T { return values[n%len(values)] }

// Present returns a pointer to value, for an optional field.
func Present[T any](value T) *T { return &value }

// Optional returns a pointer to value, or nil for every second n.
func Optional[T any](n int, value T) *T {
	if n%2 == 1 {
		return nil
	}
	return &value
}

// OptionalSlice returns value, or nil for every second n.
func OptionalSlice[S ~[]byte](n int, value S) S {
	if n%2 == 1 {
		return nil
	}
	return value
}
