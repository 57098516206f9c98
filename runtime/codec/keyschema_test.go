package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// delimitedBytes splits a key as specified by DelimitedBytes in sorted mode:
// Type.Struct.Encoding of google.bigtable.admin.v2.
func delimitedBytes(key []byte, delimiter string) ([][]byte, error) {
	fields := bytes.Split(key, []byte(delimiter))
	for _, f := range fields {
		if len(f) > 0 && slices.Min(f) <= delimiter[0] {
			return nil, fmt.Errorf("field %q of %q does not sort above the delimiter", f, key)
		}
	}
	return fields, nil
}

// orderedCode splits a key as specified by OrderedCodeBytes.
func orderedCode(key []byte) ([][]byte, error) {
	fields := [][]byte{nil}
	last := &fields[0]
	for i := 0; i < len(key); i++ {
		if key[i] != 0 {
			*last = append(*last, key[i])
			continue
		}
		i++
		switch {
		case i == len(key):
			return nil, fmt.Errorf("%q ends with half a pair", key)
		case key[i] == 0xff:
			*last = append(*last, 0)
		case key[i] == 1 && len(*last) > 0:
			fields = append(fields, nil)
			last = &fields[len(fields)-1]
		default:
			return nil, fmt.Errorf("%q has an empty field, or 0x%02x after a zero", key, key[i])
		}
	}
	return fields, nil
}

// GoogleSQL splits a key that the writer accepts for a row key schema into its values,
// in order.
func TestStructuredKeys(t *testing.T) {
	week := codec.Bucket{Every: 7 * 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02"}}}
	label, err := week.AppendLabel(nil, time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC))
	must(t, err)
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{"", "#", "/", "::", "\x01", "|"}).Draw(t, "delimiter")
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[a-z]{0,3}"), rapid.SampledFrom([]string{"a b", "a\x00", "\x00", "a#b", "é", "a/"})).Draw(t, "text")
		raw := []byte(rapid.OneOf(rapid.StringMatching("[a-z]{0,3}"), rapid.SampledFrom([]string{"\xff", "\x00\x01", "{~}"})).Draw(t, "bytes"))
		k, v := parts{value("text", plain, text), value("bytes", inRaw, raw), bucket(week, time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC))}.key(delimiter)
		k.Structured = true
		key, err := k.Append(nil, &v)
		if err != nil {
			refusals := []error{codec.ErrKeySchema, codec.ErrEmpty, codec.ErrDelimiter, codec.ErrUTF8}
			if !slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }) {
				t.Fatal(err)
			}
			return
		}
		var fields [][]byte
		if delimiter == "" {
			fields, err = orderedCode(key)
		} else {
			fields, err = delimitedBytes(key, delimiter)
		}
		must(t, err)
		if want := [][]byte{[]byte(text), raw, label}; !slices.EqualFunc(fields, want, bytes.Equal) {
			t.Fatalf("%q is read as %q, want %q", key, fields, want)
		}
	})
}

// With a row key schema the writer rejects values that could not be split; without one
// it accepts them.
func TestStructuredRefuses(t *testing.T) {
	for _, c := range []struct {
		delimiter, text string
		want            error
	}{
		{"#", "a b", codec.ErrKeySchema}, {"#", `"`, codec.ErrKeySchema}, {"#", "a!", codec.ErrKeySchema}, {"#", "a$", nil},
		{"/", "us-west1", codec.ErrKeySchema}, {"::", "a:b", codec.ErrKeySchema}, {"::", "a;b", nil},
		{"", "", codec.ErrKeySchema}, {"", "\x00 #", nil}, {"#", strings.Repeat("z", 4000), nil},
	} {
		k, v := parts{value("host", plain, c.text), constant("x")}.key(c.delimiter)
		if _, err := k.Append(nil, &v); err != nil {
			t.Errorf("%q with %q, without a schema: %v", c.text, c.delimiter, err)
		}
		k.Structured = true
		if _, err := k.Append(nil, &v); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%q with %q: %v, want %v", c.text, c.delimiter, err, c.want)
		}
	}
}
