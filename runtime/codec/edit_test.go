package codec_test

import (
	"strings"
	"testing"

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
