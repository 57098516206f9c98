package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// typeHint returns the hint for an unknown type, or "" if there is none.
func typeHint(text string) string {
	name := strings.ToLower(strings.TrimSpace(text))
	if hint := otherType(name); hint != "" {
		return hint
	}
	if inner, optional := optionalType(name); optional {
		return "write " + diag.Code(fmt.Sprintf("{type: %s, optional: true}", inner))
	}
	if strings.HasPrefix(name, "[]") || strings.HasSuffix(name, "[]") || strings.HasPrefix(name, "repeated ") {
		return "write `json`, or one field for each value"
	}
	before, cut := name, false
	if i := strings.IndexAny(name, "(<["); i >= 0 {
		before, cut = name[:i], true
	}
	switch before = strings.TrimSpace(before); {
	case !cut:
		return ""
	case before == "enum":
		return enumHint(text)
	case slices.Contains(typeNames(), before):
		return fmt.Sprintf("write %s: types have no parameters", diag.Code(before))
	}
	return otherType(before)
}

// enumHint returns the hint for an enum in the syntax of another language, such as
// enum(buy, sell).
func enumHint(text string) string {
	var values []string
	for _, v := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("()<>[],|'\" ", r) })[1:] {
		if !hyphenName.MatchString(v) {
			return otherType("enumeration")
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return otherType("enumeration")
	}
	return "write its values: " + diag.Code("{type: enum, of: ["+strings.Join(values, ", ")+"]}")
}

// otherType is typeHint for a type of another language without parameters.
func otherType(name string) string { return wordHint("a type", name).hint }

// optionalType parses an optional type in the syntax of another language, such as int64?
// or optional<int64>.
func optionalType(name string) (inner string, optional bool) {
	for _, form := range []struct{ before, after string }{
		{"*", ""}, {"", "?"}, {"optional ", ""}, {"optional<", ">"}, {"optional[", "]"}, {"nullable(", ")"}, {"nullable<", ">"}, {"", "|null"}, {"", " | null"}, {"", " null"},
	} {
		after, begins := strings.CutPrefix(name, form.before)
		inner, ends := strings.CutSuffix(after, form.after)
		if begins && ends && slices.Contains(typeNames(), inner) {
			return inner, true
		}
	}
	return "", false
}

// typeNames lists the types of the language.
func typeNames() []string { return wordsOf(Types()) }
