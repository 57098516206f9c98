package codec_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestBytesAsText checks, for each encoding of bytes as text, that keys contain only its
// characters, that they are read back, and that they sort like the values if the form says so.
func TestBytesAsText(t *testing.T) {
	const delimiter = "#"
	for _, e := range codec.KeyEncodings() {
		if e.Alphabet() == "" {
			continue
		}
		form := codec.KeyForm{Encoding: e}
		key := func(v []byte) string {
			w := codec.NewKeyWriter(nil, delimiter)
			w.Bytes("v", form, v)
			w.String("rest", codec.KeyForm{}, "z")
			key, err := w.Key()
			if err != nil {
				t.Fatal(err)
			}
			return string(key)
		}
		rapid.Check(t, func(t *rapid.T) {
			a, b := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "a"), rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "b")
			text, _, _ := strings.Cut(key(a), delimiter)
			if strings.Trim(text, e.Alphabet()) != "" {
				t.Fatalf("%s: %q", e, text)
			}
			r := codec.NewKeyReader(key(a), delimiter)
			got := r.Bytes("v", form)
			r.String("rest", codec.KeyForm{})
			if err := r.Close(); !bytes.Equal(got, a) || err != nil {
				t.Fatalf("%s: %x is read as %x, %v", e, a, got, err)
			}
			if got, want := strings.Compare(key(a), key(b)), bytes.Compare(a, b); form.Sorts(codec.BytesSegment, delimiter) && got != want {
				t.Fatalf("%s: %x and %x are in order %d, want %d", e, a, b, got, want)
			}
		})
	}
	if form := (codec.KeyForm{Encoding: codec.KeyBase32Hex}); !form.Sorts(codec.BytesSegment, delimiter) || !form.Sorts(codec.StringSegment, delimiter) {
		t.Error("base32hex does not sort")
	}
}

// TestBase32Hex checks the encoding with the vectors of RFC 4648, and rejects what no writer
// writes: upper case, padding, line breaks, and nonzero trailing bits.
func TestBase32Hex(t *testing.T) {
	form := codec.KeyForm{Encoding: codec.KeyBase32Hex}
	for text, want := range map[string]string{"": "", "f": "co", "fo": "cpng", "foo": "cpnmu", "foob": "cpnmuog", "fooba": "cpnmuoj1", "foobar": "cpnmuoj1e8"} {
		w := codec.NewKeyWriter(nil, "#")
		w.String("s", form, text)
		key, err := w.Key()
		if text == "" && err != nil {
			continue // an empty key
		}
		if string(key) != want || err != nil {
			t.Errorf("%q is %q, %v", text, key, err)
		}
		r := codec.NewKeyReader(want, "#")
		got := r.String("s", form)
		if err := r.Close(); got != text || err != nil {
			t.Errorf("%q is read as %q, %v", want, got, err)
		}
	}
	for _, bad := range []string{"CO", "co======", "c", "co\n", "cp", "w0", "c\r\no"} {
		r := codec.NewKeyReader(bad, "#")
		got := r.String("s", form)
		if err := r.Close(); err == nil {
			t.Errorf("%q is read as %q", bad, got)
		}
	}
}
