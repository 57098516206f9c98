package infer

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// localTime is the type of times without an offset, of which at least one lacks it: a timestamp with --zone.
const localTime = "local time"

// textCodings returns the hypotheses about cells of CSV, the most specific first. layout is that of times; empty for
// the usual forms. Integers print back as their texts, and other numbers have a usual notation: a text that only looks
// like a number would become another one.
func textCodings(layout string) []coding {
	return append([]coding{
		intText, exact(schema.Uint64, codec.TextValues),
		{typ: "float64", reads: isFloat, certain: func(d data) bool { return !d.all(isSpecial) }},
		{typ: "bool", reads: isBool, certain: areBools},
		{typ: "timestamp", reads: func(b []byte) bool {
			_, ok := format.ParseTime(b, format.ReaderOptions{Layout: layout})
			return ok
		}},
		{typ: localTime, reads: func(b []byte) bool { _, ok := wallTime(b, layout); return ok }},
		jsonText,
	}, textIDs...)
}

// wallTime parses a time without an offset as one in UTC, and others.
func wallTime(text []byte, layout string) (time.Time, bool) {
	return format.ParseTime(text, format.ReaderOptions{Zone: time.UTC, Layout: layout})
}

// usualNumber matches numbers as programs print them. Others may be codes, such as 007, +48123450000 and 13E2.
var usualNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)?(\.[0-9]*([eE][+-]?[0-9]+)?|[eE][+-][0-9]+)?$`)

// isFloat64 reports whether a text is a number in a usual notation that a float64 can have.
func isFloat64(text []byte) bool {
	if !usualNumber.Match(text) {
		return false
	}
	_, err := format.ParseText(&layout.Field{Type: schema.Float64}, text)
	return err == nil
}

// isSpecial reports whether a text is a floating-point value that is no number. Names such as INF are those of numbers
// only beside numbers.
func isSpecial(text []byte) bool {
	word := strings.ToLower(strings.TrimLeft(string(text), "+-"))
	return word == "nan" || word == "inf" || word == "infinity"
}

// isFloat reports whether a text is a floating-point value.
func isFloat(text []byte) bool { return isFloat64(text) || isSpecial(text) }

func isBool(text []byte) bool {
	_, err := strconv.ParseBool(string(text))
	return err == nil
}

// areBools reports whether texts that could be booleans are hardly anything else: letters are codes unless there are
// both.
func areBools(d data) bool {
	isTrue := func(b []byte) bool { v, _ := strconv.ParseBool(string(b)); return v }
	isWord := func(b []byte) bool { return len(b) > 1 && strings.Contains("true false", strings.ToLower(string(b))) }
	n := d.count(isTrue)
	return n > 0 && n < len(d) || d.all(isWord)
}

// isWritten reports whether a text is a number in any notation.
func isWritten(text []byte) bool {
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil && !bytes.ContainsAny(text, "_xX")
}

// decimalComma matches numbers with commas.
var decimalComma = regexp.MustCompile(`^-?[0-9.]+(,[0-9]+)+$`)

// missing are usual texts of missing values; another one is a cell without any.
var missing = strings.Fields(`NA N/A n/a #N/A na NULL null Null None none nil \N - -- --- ? . *`)

// cellType returns the type of the texts of a column of CSV, and a question if they may be values of another type. That of none is a
// string, and so is that of texts of which some may be missing values. Spaces around texts do not count, as for readers.
func (c *recordColumn) cellType() (typ, doubt string) {
	var texts data
	var nulls, flags []string
	for _, b := range c.values {
		b = bytes.TrimSpace(b)
		if s := string(b); !slices.Contains(missing, s) {
			texts = append(texts, b)
		} else if !slices.Contains(nulls, s) {
			nulls, flags = append(nulls, s), append(flags, "--null "+words.Shell(s))
		}
	}
	typ = "string"
	if found := codingOf(texts, textCodings(c.layout)); found != nil {
		typ = found.typ
	}
	if nulls != nil {
		is := "All others are values of type " + strings.TrimPrefix(typ, "local ") + "."
		if len(texts) == 0 {
			is = "It has no others."
		}
		if typ == "string" && len(texts) > 0 {
			return typ, c.textDoubt(texts)
		}
		return "string", fmt.Sprintf("Some of its values are %s. %s Are these missing values? Then repeat infer with %s.", words.List(nulls, "and"), is, strings.Join(flags, " "))
	}
	if rounded := string(texts.first(isRounded)); typ == "float64" && rounded != "" {
		f, _ := strconv.ParseFloat(rounded, 64)
		return typ, fmt.Sprintf("Some of its values have more digits than a float64, such as %s, which would be %s. Is it text?", rounded, strconv.FormatFloat(f, 'g', -1, 64))
	}
	if typ == "string" {
		doubt = c.textDoubt(texts)
	}
	return typ, doubt
}

// isRounded reports whether a number has more digits than its float64.
func isRounded(text []byte) bool {
	f, err := strconv.ParseFloat(string(text), 64)
	digits := func(s []byte) string {
		mantissa, _, _ := bytes.Cut(bytes.ToLower(s), []byte("e"))
		return strings.Trim(strings.ReplaceAll(string(mantissa), ".", ""), "-0")
	}
	const always = 15 // digits that a float64 has
	want := digits(text)
	return err == nil && isFloat64(text) && len(want) > always && digits(strconv.AppendFloat(nil, f, 'e', -1, 64)) != want &&
		digits(strconv.AppendFloat(nil, f, 'e', len(want)-1, 64)) != want
}

// textDoubt asks about texts that may be values of another type; empty if they hardly are.
func (c *recordColumn) textDoubt(texts data) string {
	unusual := func(b []byte) bool { return !isFloat(b) }
	switch {
	case c.isEmpty():
		return ""
	case texts.all(isWritten):
		return fmt.Sprintf("All of its values may be numbers, but a number would not keep texts such as %s. Is it text?", show(cmp.Or(string(texts.first(unusual)), c.example())))
	case texts.all(func(b []byte) bool { return isWritten(b) || decimalComma.Match(b) }):
		return fmt.Sprintf("Its values are numbers with commas, such as %s. Are they numbers? Write them with a point, and without separators of thousands.", show(texts.first(decimalComma.Match)))
	case texts.all(isBool):
		return fmt.Sprintf("Its only value is %s. Is it a bool?", show(c.example()))
	}
	return ""
}
