package schema

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOtherTypes checks that the proposal for each type of other languages is a type of this language.
func TestOtherTypes(t *testing.T) {
	for name, e := range guideOf("a type").elsewhere {
		words := regexp.MustCompile("[a-z0-9]+").FindAllString(strings.Join(regexp.MustCompile("`[^`]+`").FindAllString(e.hint, -1), " "), -1)
		if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(typeNames(), w) }) {
			t.Errorf("no type in %q", e.hint)
		}
		if slices.Contains(typeNames(), name) || name != strings.ToLower(name) {
			t.Errorf("%s is a type of the language, or not in small letters", name)
		}
	}
}

// TestTypeHint checks that the proposal for a type of another language can hold its
// values.
func TestTypeHint(t *testing.T) {
	for _, test := range []struct{ types, want string }{
		{"decimal DECIMAL money numeric decimal(10,2) NUMERIC(18,4)", "`int64` in the smallest unit"},
		{"int integer long bigint INT INTEGER", "`int64`"},
		{"float double real Double", "`float64`"},
		{"number", "`int64` for whole numbers, or `float64`"},
		{"date", "`timestamp`, for its midnight in UTC, or `string`"},
		{"datetime time timestamptz time.Time", "`timestamp`"},
		{"text varchar varchar(255) str", "`string`"},
		{"blob bytea binary(16)", "`bytes`"},
		{"int64? *int64 optional<int64> int64|null Optional[int64]", "`{type: int64, optional: true}`"},
		{"[]string string[] list<string> array", "`json`"},
		{"string(64) String<64>", "`string`"},
		{"Enumeration", "`{type: enum, of: [drizzle, rain]}`"},
		{"enum(a,b) enum[a,b] enum<a|b>", "`{type: enum, of: [a, b]}`"},
		{"strng complex128 x", ""},
	} {
		for name := range strings.FieldsSeq(test.types) {
			if got := typeHint(name); !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
		}
	}
}
