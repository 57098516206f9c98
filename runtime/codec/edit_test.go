package codec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Values that do not decode because the schema had another encoding say so.
func TestEditedEncoding(t *testing.T) {
	_, text := codec.BinaryInt64([]byte("-12.5"))
	_, binary := codec.TextInt64(codec.AppendBinaryInt64(nil, 5))
	_, float := codec.TextFloat64(codec.AppendBinaryFloat64(nil, 0.1))
	for want, err := range map[string]error{"stored as text": text, "stored as binary": binary} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if float == nil || !strings.Contains(float.Error(), "stored as binary") {
		t.Error(float)
	}
	for _, value := range []string{"\x00", "\xff\xff\xff"} { // neither
		if _, err := codec.BinaryInt64([]byte(value)); err == nil || strings.Contains(err.Error(), "stored as") {
			t.Error(err)
		}
	}
	if _, err := codec.TextInt64([]byte("12345678x")); err == nil || strings.Contains(err.Error(), "stored as") {
		t.Error(err)
	}
}

// Keys and values that do not decode name the edit of the schema that may have made them so.
func TestEditedSchema(t *testing.T) {
	kinds := codec.Enum{{Number: 1, Name: "push"}}
	day := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02"}}}
	key := func(row string, read func(r *codec.KeyReader)) error {
		r := codec.NewKeyReader(row, "#")
		read(&r)
		return r.Close()
	}
	offsets := func(r *codec.KeyReader) { r.String("host", codec.KeyForm{}); r.Bucket(day) }
	_, number := codec.BinaryEnum(codec.AppendBinaryInt64(nil, 2), kinds)
	_, name := codec.TextEnum([]byte("issue"), kinds)
	for _, tt := range []struct {
		edit string
		err  error
		want string
	}{
		{"bucket widened", key("a#2026-03-05T12", offsets), "another bucket width or label"},
		{"delimiter changed", key("a|2026-03-05", offsets), "other segments or another delimiter"},
		{"segment removed", key("a#2026-03-05#b", offsets), "other segments or another delimiter"},
		{"salt added", key("a#2026-03-05", func(r *codec.KeyReader) { r.Salt(4) }), "another salt or none"},
		{"time format changed", key("1772668800000", func(r *codec.KeyReader) { r.Time(codec.TimeFormat{Kind: codec.UnixSeconds}) }), "another time format"},
		{"enum of a key reordered", key("issue", func(r *codec.KeyReader) { r.Enum("kind", codec.KeyForm{}, kinds) }), "the enum may have had other values"},
		{"enum value removed", number, "the enum may have had other values"},
		{"enum name removed", name, "the enum may have had other values"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.edit, tt.err, tt.want)
		}
	}
}
