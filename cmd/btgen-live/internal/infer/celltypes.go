package infer

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// localTime is the type of times without an offset, of which at least one lacks it: a timestamp with --zone.
const localTime = "local time"

// textType is a type of texts.
type textType struct {
	typ string
	is  func(text []byte, layout string) bool // layout is that of times; empty for the usual forms
}

// cellTypes are the types of texts, in the order in which they are tried, apart from strings. Integers print back as their
// texts, and other numbers have a usual notation: a text that only looks like a number would become another one.
var cellTypes = [...]textType{
	{"int64", func(text []byte, _ string) bool {
		n, err := strconv.ParseInt(string(text), 10, 64)
		return err == nil && strconv.FormatInt(n, 10) == string(text)
	}},
	{"uint64", func(text []byte, _ string) bool {
		n, err := strconv.ParseUint(string(text), 10, 64)
		return err == nil && strconv.FormatUint(n, 10) == string(text)
	}},
	{"float64", func(text []byte, _ string) bool { return isFloat64(text) || isSpecial(text) }},
	{"bool", func(text []byte, _ string) bool { _, err := strconv.ParseBool(string(text)); return err == nil }},
	{"timestamp", func(text []byte, layout string) bool {
		_, ok := format.ParseTime(text, format.ReaderOptions{Layout: layout})
		return ok
	}},
	{localTime, func(text []byte, layout string) bool { _, ok := wallTime(text, layout); return ok }},
	{"json", func(text []byte, _ string) bool { return len(text) > 0 && is(isJSON, text) }},
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

// isSpecial reports whether a text is a floating-point value that is no number.
func isSpecial(text []byte) bool {
	word := strings.ToLower(strings.TrimLeft(string(text), "+-"))
	return word == "nan" || word == "inf" || word == "infinity"
}

// certain reports whether texts that all are values of a type are hardly anything else: letters that are booleans are
// codes unless there are both, and names such as INF are those of numbers only beside numbers.
func (c *recordColumn) certain(typ string) bool {
	texts := slices.Collect(maps.Keys(c.distinct))
	switch typ {
	case "float64":
		return !all(texts, func(s string) bool { return isSpecial([]byte(s)) })
	case "bool":
		const words = "true false"
		are := map[bool]bool{}
		for _, s := range texts {
			is, _ := strconv.ParseBool(s)
			are[is] = true
		}
		return len(are) == 2 || all(texts, func(s string) bool { return strings.Contains(words, strings.ToLower(s)) && len(s) > 1 })
	}
	return true
}

// cellType returns the type of texts; that of none is a string.
func (c *recordColumn) cellType() string {
	if len(c.nulls) > 0 {
		return "string"
	}
	return c.typeBesidesNulls()
}

// typeBesidesNulls returns the type of the texts that are not in nulls.
func (c *recordColumn) typeBesidesNulls() string {
	for i := range cellTypes {
		if !c.not[i] && c.n > c.nulled && c.certain(cellTypes[i].typ) {
			return cellTypes[i].typ
		}
	}
	return cmp.Or(c.id, "string")
}

// isID reports whether texts are IDs of a type.
func (c *recordColumn) isID() bool { return c.cellType() == c.id }

// missing are usual texts of missing values; another one is a cell without any.
var missing = strings.Fields(`NA N/A n/a #N/A na NULL null Null None none nil \N - -- --- ? . *`)

// isDecimalComma matches numbers with commas.
var decimalComma = regexp.MustCompile(`^-?[0-9.]+(,[0-9]+)+$`)

// addText examines a text. Readers ignore spaces around numbers, times and booleans.
func (c *recordColumn) addText(text []byte) {
	text = bytes.TrimSpace(text)
	if slices.Contains(missing, string(text)) {
		c.nulled++
		if !slices.Contains(c.nulls, string(text)) {
			c.nulls = append(c.nulls, string(text))
		}
		return
	}
	for i := range cellTypes {
		c.not[i] = c.not[i] || !cellTypes[i].is(text, c.layout)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	number := err == nil && !bytes.ContainsAny(text, "_xX")
	c.notNumber = c.notNumber || !number
	comma := !number && decimalComma.Match(text)
	if c.notComma = c.notComma || !number && !comma; comma && c.comma == "" {
		c.comma = string(text)
	}
	if c.odd == "" && number && !isFloat64(text) && !isSpecial(text) {
		c.odd = string(text)
	}
	if c.rounded == "" && number && isFloat64(text) && !printsBack(text, f) {
		c.rounded = string(text)
	}
}

// printsBack reports whether a number prints as its text, apart from the notation and zeros.
func printsBack(text []byte, f float64) bool {
	digits := func(s []byte) string {
		mantissa, _, _ := bytes.Cut(bytes.ToLower(s), []byte("e"))
		return strings.Trim(strings.ReplaceAll(string(mantissa), ".", ""), "-0")
	}
	const always = 15 // digits that a float64 has
	want := digits(text)
	return len(want) <= always || digits(strconv.AppendFloat(nil, f, 'e', -1, 64)) == want || digits(strconv.AppendFloat(nil, f, 'e', len(want)-1, 64)) == want
}

// doubts asks about texts that may be values of another type than theirs.
func (c *recordColumn) doubts() []string {
	typ, other := c.cellType(), c.typeBesidesNulls()
	switch {
	case typ == "float64" && c.rounded != "":
		f, _ := strconv.ParseFloat(c.rounded, 64)
		return []string{fmt.Sprintf("Some of its values have more digits than a float64, such as %s, which would be %s. Is it text?", c.rounded, strconv.FormatFloat(f, 'g', -1, 64))}
	case typ != "string":
		return nil
	case len(c.nulls) > 0 && (other != "string" || c.n == c.nulled):
		var flags []string
		for _, s := range c.nulls {
			flags = append(flags, "--null "+ShellQuoted(s))
		}
		is := "All others are values of type " + strings.TrimPrefix(other, "local ") + "."
		if c.n == c.nulled {
			is = "It has no others."
		}
		return []string{fmt.Sprintf("Some of its values are %s. %s Are these missing values? Then repeat infer with %s.", words.List(c.nulls, "and"), is, strings.Join(flags, " "))}
	case c.n == 0 || c.bytes == 0:
		return nil
	case !c.notNumber && c.n > c.nulled:
		return []string{fmt.Sprintf("All of its values may be numbers, but a number would not keep texts such as %s. Is it text?", show([]byte(cmp.Or(c.odd, c.example))))}
	case !c.notComma && c.comma != "":
		return []string{fmt.Sprintf("Its values are numbers with commas, such as %s. Are they numbers? Write them with a point, and without separators of thousands.", show([]byte(c.comma)))}
	case !c.not[slices.IndexFunc(cellTypes[:], func(t textType) bool { return t.typ == "bool" })]:
		return []string{fmt.Sprintf("Its only value is %s. Is it a bool?", show([]byte(c.example)))}
	}
	return nil
}
