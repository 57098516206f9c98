package layout_test

import (
	"fmt"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// TestTellApart compares tables whose keys begin with an id in some form, followed by the text
// that distinguishes kinds of records: it does only if readers of both find it at the same place.
func TestTellApart(t *testing.T) {
	const (
		text   = "id"                                               // digits up to the delimiter
		padded = "{name: id, pad: 6}"                               // likewise
		four   = "{name: host, encoding: text, pad: 4}"             // bytes
		eight  = "{name: host, encoding: text, pad: 8}"             // bytes
		fixed  = "{name: id, encoding: hex, pad: 16, joined: true}" // no delimiter follows
		nine   = "{name: id, encoding: hex, pad: 9, joined: true}"  // likewise
		binary = "{name: id, encoding: binary}"                     // in a binary key: 8 bytes
		word   = "host"                                             // in a binary key: ends with 00 01
	)
	kind := func(text string) string { return fmt.Sprintf("{const: %s, kind: true}", text) }
	joined := func(text string) string { return fmt.Sprintf("{const: %s, kind: true, joined: true}", text) }
	for _, test := range []struct {
		delimiter    string
		a, b         string // the segment before the text
		kindA, kindB string
		want         bool
		delimiterB   string // that of both if it is empty
	}{
		{"#", text, text, kind("click"), kind("view"), true, ""},
		{"#", text, padded, kind("click"), kind("view"), true, ""},
		{"#", text, text, kind("click"), kind("click"), false, ""},
		{"#", text, text, kind("click"), kind("clicks"), true, ""},
		{"#", text, text, joined("click"), joined("clicks"), false, ""},
		{"#", text, text, joined("click"), joined("view"), true, ""},
		{"#", text, text, joined("click"), kind("clicks"), false, ""},
		{"#", text, text, kind("click"), kind("view"), false, "##"},
		{"#", four, four, kind("click"), kind("view"), true, ""},
		{"#", four, eight, kind("click"), kind("view"), false, ""},
		{"#", four, text, kind("click"), kind("view"), false, ""},
		{"#", fixed, fixed, kind("click"), kind("view"), true, ""},
		{"#", fixed, nine, kind("click"), kind("view"), false, ""},
		{"#", fixed, text, kind("click"), kind("view"), false, ""},
		{"", binary, binary, kind("click"), kind("view"), true, ""},
		{"", word, word, kind("click"), kind("view"), true, ""},
		{"", binary, four, kind("click"), kind("view"), false, ""},
		{"", binary, eight, kind("click"), kind("view"), true, ""},
		{"", word, binary, kind("click"), kind("view"), false, ""},
		{"", word, eight, kind("click"), kind("view"), false, ""},
	} {
		table := func(delimiter, segment, kind string) *layout.Layout {
			if delimiter != "" {
				delimiter = fmt.Sprintf("delimiter: %q, ", delimiter)
			}
			return testschema.Tables(t, "1s", fmt.Sprintf(`  rows: {pattern: single_unserialized, key: {%ssegments: [{const: x}, %s, %s, %s, time]}, family: m, ttl: {max_age: 1d}}
`, delimiter, segment, kind, map[bool]string{true: "id", false: "host"}[segment == word || segment == four || segment == eight]))
		}
		delimiterB := test.delimiterB
		if delimiterB == "" {
			delimiterB = test.delimiter
		}
		a, b := table(test.delimiter, test.a, test.kindA), table(delimiterB, test.b, test.kindB)
		for range 2 {
			compare(t, test.want, layout.TellApart(a.Tables[0], b.Tables[0]), test)
			a, b = b, a
		}
	}
}
