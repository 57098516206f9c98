package codec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Values that do not decode because the schema had another encoding say so.
func TestEditedEncoding(t *testing.T) {
	_, text := codec.Binary.Int64.Decode([]byte("-12.5"))
	_, binary := codec.Text.Int64.Decode(codec.Binary.Int64.Append(nil, 5))
	_, float := codec.Text.Float64.Decode(codec.Binary.Float64.Append(nil, 0.1))
	for want, err := range map[string]error{"stored as text": text, "stored as binary": binary} {
		assert.Contains(t, want, err)
	}
	assert.Contains(t, "stored as binary", float)
	for _, value := range []string{"\x00", "\xff\xff\xff"} { // neither
		if _, err := codec.Binary.Int64.Decode([]byte(value)); err == nil || strings.Contains(err.Error(), "stored as") {
			t.Error(err)
		}
	}
	if _, err := codec.Text.Int64.Decode([]byte("12345678x")); err == nil || strings.Contains(err.Error(), "stored as") {
		t.Error(err)
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
