package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// otherTypes maps hints to the types of other languages and databases, in lower case, that
// they replace, and that no type of this language is the equivalent of.
var otherTypes = map[string][]string{
	"write `timestamp`, for its midnight in UTC, or `string`, as in 2021-03-05":                       {"date", "day", "calendar_date"},
	"write `int64` for whole numbers, or `float64`":                                                   {"number", "num"},
	"write `int64` in the smallest unit, as in price_cents; floats are inexact: 0.1 + 0.2 is not 0.3": {"decimal", "numeric", "money", "smallmoney", "currency", "bigdecimal", "bignumeric", "dec", "fixed", "price", "amount", "decimal128", "decimal64"},
	"write two fields of type `float64`: latitude and longitude":                                      {"point", "geopoint", "geo_point", "geography", "geometry", "location", "latlng", "latlong", "coordinates"},
	"write its values: `{type: enum, of: [drizzle, rain]}`":                                           {"enumeration", "choice", "category", "categorical", "oneof"},
	"write the type of the value, as in `{type: int64, optional: true}`":                              {"nullable", "null", "optional", "nil", "none"},
}

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
func otherType(name string) string {
	for _, t := range Types() {
		if slices.Contains(types[t].foreign, name) {
			return "write " + diag.Code(t.String())
		}
	}
	for hint, names := range otherTypes {
		if slices.Contains(names, name) {
			return hint
		}
	}
	return ""
}

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
func typeNames() []string {
	var names []string
	for _, t := range Types() {
		names = append(names, t.String())
	}
	return names
}
