package codec

import (
	"errors"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// allForms returns every combination of form fields. Most are invalid for any given
// type.
func allForms() []KeyForm {
	var forms []KeyForm
	for e := range KeyEncoding(len(KeyEncodings()) + 1) { // the last one does not exist
		for _, pad := range []int{-1, 0, 1, 3, 10, 16, 17, 18, 19, 20, 21} {
			for bits := range 4 {
				forms = append(forms, KeyForm{Encoding: e, Pad: pad, Reverse: bits&1 != 0, Escape: bits&2 != 0})
			}
		}
	}
	return forms
}

// Keys are built and parsed with exactly the forms that Validate accepts.
func TestKeyFormValidate(t *testing.T) {
	for _, delimiter := range append(delimiters, "a", "\xff") {
		for of, value := range someValues {
			k := Key{Delimiter: delimiter, Segments: []Segment{{Type: SegmentType(of), Enum: drawnEnum}}}
			v := KeyValues{Series: []any{value}}
			assert.Is(t, nil, (KeyForm{}).Validate(SegmentType(of), "#"), SegmentType(of))
			for _, f := range allForms() {
				k.Segments[0].Form = f
				err := f.Validate(SegmentType(of), delimiter)
				row, built := k.Append(nil, &v)
				parsed := k.Parse("x", &v)
				if (err != nil) != errors.Is(built, ErrForm) || err != nil && !errors.Is(err, ErrForm) || (err != nil) != errors.Is(parsed, ErrForm) {
					t.Errorf("%s %+v with %q: %v, built %v, parsed %v", SegmentType(of), f, delimiter, err, built, parsed)
				}
				if n := f.Fixed(SegmentType(of)); err == nil && built == nil && n > 0 && n != len(row) {
					t.Errorf("%s %+v has %d bytes, want %d", SegmentType(of), f, len(row), n)
				}
			}
		}
	}
}

func TestKeyFormValidateSaysWhatToWrite(t *testing.T) {
	for _, tt := range []struct {
		form        KeyForm
		t           SegmentType
		delim, want string
	}{
		{KeyForm{Encoding: KeyRaw}, BoolSegment, "#", "type bool cannot be encoded as raw: want text or binary"},
		{KeyForm{Encoding: KeyHex}, Int64Segment, "#", "want a pad of 1 to 16"},
		{KeyForm{Pad: 21}, Int64Segment, "#", "want a pad of 0 to 20"},
		{KeyForm{Encoding: KeyHex, Pad: 3}, StringSegment, "#", "string as hex cannot have a pad"},
		{KeyForm{Reverse: true}, Int64Segment, "#", "a reversed number needs a pad"},
		{KeyForm{Reverse: true}, EnumSegment, "#", "enum as text cannot be reversed"},
		{KeyForm{}, Int64Segment, "", "want binary, raw, or a pad"},
		{KeyForm{Escape: true}, Int64Segment, "#", "only text strings and raw bytes"},
		{KeyForm{Escape: true}, StringSegment, "", "needs no escaping"},
		{KeyForm{Escape: true}, StringSegment, "a", `the delimiter "a" starts with a hex digit`},
		{KeyForm{Encoding: 9}, StringSegment, "#", "KeyEncoding(9)"},
		{KeyForm{}, 99, "#", "SegmentType(99)"},
	} {
		assert.Contains(t, tt.want, tt.form.Validate(tt.t, tt.delim), tt.t, tt.form)
	}
}

func TestEscapeFits(t *testing.T) {
	for c := range 256 {
		d := string([]byte{byte(c)})
		want := !strings.Contains("0123456789abcdef\xff", d)
		for _, delim := range []string{d, d + d, d + "#"} {
			if err := EscapeFits(delim); (err == nil) != want || err != nil && !errors.Is(err, ErrForm) {
				t.Errorf("%q: %v", delim, err)
			}
		}
	}
}
