package codec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Values that do not decode because the schema had another encoding say so.
func TestEditedEncoding(t *testing.T) {
	for _, tt := range []struct {
		in          codec.Values
		name, datum string
		want        string // nothing if it is empty
	}{
		{codec.BinaryValues, "int64", "-12.5", "stored as text"},
		{codec.TextValues, "int64", string(codec.Binary.Int64.Append(nil, 5)), "stored as binary"},
		{codec.TextValues, "float64", string(codec.Binary.Float64.Append(nil, 0.1)), "stored as binary"},
		{codec.BinaryValues, "int64", "\x00", ""},
		{codec.BinaryValues, "int64", "\xff\xff\xff", ""},
		{codec.TextValues, "int64", "12345678x", ""},
	} {
		_, err := cells(tt.in)[tt.name].recode([]byte(tt.datum))
		if text := fmt.Sprint(err); err == nil || !strings.Contains(text, tt.want) || tt.want == "" && strings.Contains(text, "stored as") {
			t.Errorf("%q as %s: %v, want %s", tt.datum, tt.name, err, tt.want)
		}
	}
}

// Keys and values that do not decode name the edit of the schema that may have made them so.
func TestEditedSchema(t *testing.T) {
	kinds := codec.Enum{{Number: 1, Name: "push"}}
	day := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02"}}}
	offsets := parts{value("host", plain, ""), bucket(day, time.Time{})}
	salted, timed := parts{other(codec.Segment{Kind: codec.SaltSegment, Buckets: 4})}, parts{timed(codec.TimeFormat{Kind: codec.UnixSeconds}, time.Time{})}
	_, number := codec.EnumAs[int64](codec.BinaryValues, kinds).Decode(codec.Binary.Int64.Append(nil, 2))
	_, name := codec.TextEnum([]byte("issue"), kinds)
	for _, tt := range []struct {
		edit string
		err  error
		want string
	}{
		{"bucket widened", offsets.parse("a#2026-03-05T12", "#"), "another bucket width or label"},
		{"delimiter changed", offsets.parse("a|2026-03-05", "#"), "other segments or another delimiter"},
		{"segment removed", offsets.parse("a#2026-03-05#b", "#"), "other segments or another delimiter"},
		{"salt added", salted.parse("a#2026-03-05", "#"), "another salt or none"},
		{"time format changed", timed.parse("1772668800000", "#"), "another time format"},
		{"enum of a key reordered", parts{enum("kind", plain, kinds, 0)}.parse("issue", "#"), "the enum may have had other values"},
		{"enum value removed", number, "the enum may have had other values"},
		{"enum name removed", name, "the enum may have had other values"},
	} {
		assert.Contains(t, tt.want, tt.err, tt.edit)
	}
}
