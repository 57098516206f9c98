package infer

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// timeColumn matches the likely names of columns with the time of an event.
var timeColumn = regexp.MustCompile(`(?i)^(time|timestamp|ts|datetime|date_time|event_time|.*_at|.*_time|.*_ts|ts_.*|at|date|day)$`)

// idColumn matches the likely names of columns with numbers that tell one series from another.
var idColumn = regexp.MustCompile(`(?i)(^|_)(id|no|nr|number|key|code)$|[a-z]Id$`)

// assign decides which columns of CSV are the time and the series, and makes their values those parts of the records.
func (s *recordSample) assign() error {
	if err := s.checkHeader(); err != nil {
		return err
	}
	for _, c := range s.all {
		c.typ, c.doubt = s.cellType(c.values)
	}
	s.takeConstants()
	for _, name := range append(slices.Clone(s.Series), s.Time) {
		switch c := s.byName[columnName{format.AnyPart, name}]; {
		case name == "":
		case c == nil:
			return fmt.Errorf("no record has a column %s: its columns are %s", show(name), listed(s.columns))
		case c.isEmpty():
			return fmt.Errorf("%w: all values of column %s are empty in the sample: choose another column", ErrNoSchema, show(name))
		}
	}
	if s.Time == "" {
		name, others, unread := s.timeOf()
		if s.Time = name; name == "" {
			return fmt.Errorf("no column seems to be the time: add --time-column COLUMN; %s", layoutHint(unread))
		}
		s.ask(len(others) > 0, "Is %s the time? Times also are in %s; --time-column names another.", name, listed(others))
	}
	if slices.Contains(s.Options.CSV.Joined, s.Time) {
		s.left = strings.SplitN(s.Time, "+", 2)
	} else if s.byName[columnName{format.AnyPart, s.Time}].values.all(s.isDate) {
		if i := slices.IndexFunc(s.all, func(c *recordColumn) bool { return c.values.all(isClock) }); i >= 0 {
			clock := s.all[i].name
			s.ask(true, "%s has dates, and %s times of days. Are they one time? Then repeat infer with --time-column %s.", s.Time, clock, words.Shell(s.Time+"+"+clock))
		}
	}
	if s.Series == nil && s.constants == nil {
		s.Series = s.seriesOf()
		s.ask(true, "Which columns tell one series from another? The values of %s repeat; --series names others.", strings.Join(s.Series, ", "))
	}
	for _, c := range s.all {
		switch {
		case slices.Contains(s.left, c.name): // no part
		case c.name == s.Time:
			c.part = format.TimePart
		case slices.Contains(s.Series, c.name):
			c.part = format.TagPart
		default:
			c.part = format.FieldPart
		}
	}
	return nil
}

// checkHeader returns an error if the names of the columns seem to be the first record: one is a time, or all are values.
func (s *recordSample) checkHeader() error {
	if s.Options.CSV.Columns != nil || s.Time != "" && slices.Contains(s.columns, s.Time) {
		return nil
	}
	isTime := func(name string) bool { return s.isLikelyTime([]byte(name)) }
	value := func(name string) bool {
		return name == "" || isTime(name) || isFloat([]byte(name)) || slices.Contains(missing, name)
	}
	at := slices.IndexFunc(s.columns, isTime)
	if at < 0 && !all(s.columns, value) {
		return nil
	}
	names := make([]string, len(s.columns))
	for i := range names {
		if names[i] = fmt.Sprintf("column%d", i+1); i == at {
			names[i] = "time"
		}
	}
	return fmt.Errorf("the first line seems to be no header: its cells are values, such as %s: add --columns with the names, as in --columns %s", show(s.columns[max(at, 0)]), strings.Join(names, ","))
}

// takeConstants moves values of the series that are no columns, such as source=nyc, to constants.
func (s *recordSample) takeConstants() {
	var series []string
	for _, of := range s.Series {
		name, value, ok := strings.Cut(of, "=")
		if !ok || name == "" || value == "" || slices.Contains(s.columns, of) {
			series = append(series, of)
			continue
		}
		s.constants = append(s.constants, designValue{source: name, part: format.AnyPart, typ: "string", example: value, constant: true, bytes: len(value), escape: strings.Contains(value, "#")})
	}
	s.Series = series
}

// separators returns the columns of CSV of which no two records of one point have the same value.
func (s *recordSample) separators() (out []string) {
	type cellOf struct {
		eventTime
		text string
	}
	for _, c := range s.of(format.FieldPart) {
		seen := map[cellOf]bool{}
		for k, r := range c.records {
			seen[cellOf{s.lines[r], string(c.values[k])}] = true
		}
		if s.Format.Cells && len(seen) == len(s.lines) {
			out = append(out, c.name)
		}
	}
	return out
}

// timeOf returns the column with the time, and others with times: the one with the finest times, of which those that
// need no further flag and those with likely names come first. If there is none, it returns the texts of a column that
// has times in a layout.
func (s *recordSample) timeOf() (name string, others []string, unread data) {
	var found []*recordColumn
	for _, c := range s.all {
		named, timed := timeColumn.MatchString(c.name), c.typ == "timestamp" || c.typ == localTime
		if (timed || named) && (c.values.all(s.isTime) || c.values.all(s.isLikelyTime)) {
			found, others = append(found, c), append(others, c.name)
		} else if c.typ == "string" && (unread == nil || named) && len(layoutsOf(c.values)) > 0 {
			unread = c.values
		}
	}
	if len(found) == 0 {
		return "", nil, unread
	}
	evidence := func(c *recordColumn) []int {
		return []int{oneIf(!c.values.all(s.isDate)), oneIf(c.values.all(s.isTime)), oneIf(timeColumn.MatchString(c.name))}
	}
	name = slices.MaxFunc(found, func(a, b *recordColumn) int { return slices.Compare(evidence(a), evidence(b)) }).name
	return name, slices.DeleteFunc(others, func(of string) bool { return of == name }), nil
}

// seriesOf returns the columns that seem to tell one series from another: texts and IDs that repeat.
func (s *recordSample) seriesOf() (out []string) {
	for _, c := range s.all {
		distinct := c.values.distinct(maxDistinct)
		repeats := len(c.values) == len(s.lines) && !slices.Contains(distinct, "") && len(distinct)*2 <= len(c.values) && len(distinct) < maxDistinct
		likely := c.typ == "string" || c.typ == idText.typ || c.typ == "int64" && idColumn.MatchString(c.name)
		if repeats && likely && c.name != s.Time && !slices.Contains(s.left, c.name) {
			out = append(out, c.name)
		}
	}
	return out
}

// localTime is the type of times without an offset, of which at least one lacks it: a timestamp with --zone.
const localTime = "local time"

// textCodings returns the hypotheses about cells of CSV, the most specific first. Integers print back as their texts,
// and other numbers have a usual notation: a text that only looks like a number would become another one.
func (s *recordSample) textCodings() []coding {
	isTime := func(b []byte) bool {
		_, ok := format.ParseTime(b, format.ReaderOptions{Layout: s.Options.Layout})
		return ok
	}
	return []coding{
		intText.but(), exact(schema.Uint64, codec.TextValues),
		{typ: "float64", reads: isFloat, certain: func(d data) bool { return !d.all(isSpecial) }, doubts: append([]doubt{
			{anyData, isRounded, "Some of its values have more digits than a float64, such as %s, which would be %f. Is it text?"},
		}, versions...)},
		{typ: "bool", reads: isBool, certain: areBools},
		{typ: "timestamp", reads: isTime},
		{typ: localTime, reads: s.isWall},
		jsonText, idText,
		{typ: "string", reads: anyValue, doubts: []doubt{
			{each(isWritten), not(isFloat), "All of its values may be numbers, but a number would not keep texts such as %s. Is it text?"},
			{each(isWritten), anyValue, "All of its values may be numbers, but a number would not keep texts such as %s. Is it text?"},
			{each(func(b []byte) bool { return isWritten(b) || decimalComma(b) }), decimalComma, "Its values are numbers with commas, such as %s. Are they numbers? Write them with a point, and without separators of thousands."},
			{each(isBool), anyValue, "Its only value is %s. Is it a bool?"},
		}},
	}
}

// usualNumber matches numbers as programs print them. Others may be codes, such as 007, +48123450000 and 13E2.
var usualNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)?(\.[0-9]*([eE][+-]?[0-9]+)?|[eE][+-][0-9]+)?$`)

// isSpecial matches floating-point values that are no numbers. Without numbers beside them, INF is a name.
var isSpecial = regexp.MustCompile(`(?i)^[+-]*(nan|inf|infinity)$`).Match

// isFloat reports whether a text is a floating-point value: one in a usual notation that readers accept.
func isFloat(text []byte) bool {
	if !usualNumber.Match(text) {
		return isSpecial(text)
	}
	_, err := format.ParseText(&layout.Field{Type: schema.Float64}, text)
	return err == nil
}

func isBool(text []byte) bool {
	_, err := strconv.ParseBool(string(text))
	return err == nil
}

// areBools reports whether booleans are hardly anything else: single letters are codes unless there are both.
func areBools(d data) bool {
	isTrue := func(b []byte) bool { v, _ := strconv.ParseBool(string(b)); return v }
	n := d.count(isTrue)
	return n > 0 && n < len(d) || d.all(func(b []byte) bool { return len(b) > 1 })
}

// isWritten reports whether a text is a number in any notation.
func isWritten(text []byte) bool {
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil && !bytes.ContainsAny(text, "_xX")
}

// decimalComma matches numbers with commas.
var decimalComma = regexp.MustCompile(`^-?[0-9.]+(,[0-9]+)+$`).Match

// missing are usual texts of missing values; another one is a cell without any.
var missing = strings.Fields(`NA N/A n/a #N/A na NULL null Null None none nil \N - -- --- ? . *`)

// cellType returns the type of the texts of a column of CSV, and a question if they may be values of another type. That of none is a
// string, and so is that of texts of which some may be missing values. Spaces around texts do not count, as for readers.
func (s *recordSample) cellType(values data) (typ, doubt string) {
	isMissing := func(b []byte) bool { return slices.Contains(missing, string(b)) }
	var all data
	for _, b := range values {
		all = append(all, bytes.TrimSpace(b))
	}
	nulls, texts := all.where(isMissing).distinct(len(missing)), all.where(func(b []byte) bool { return !isMissing(b) })
	is := "It has no others."
	if found, doubt := codingOf(texts, s.textCodings()); found != nil {
		if typ = found.typ; len(nulls) == 0 || typ == "string" {
			return typ, doubt
		}
		is = "All others are values of type " + strings.TrimPrefix(typ, "local ") + "."
	}
	flags := ""
	for _, null := range nulls {
		flags += " --null " + words.Shell(null)
	}
	if flags != "" {
		doubt = fmt.Sprintf("Some of its values are %s. %s Are these missing values? Then repeat infer with%s.", words.List(nulls, "and"), is, flags)
	}
	return "string", doubt
}

// isRounded reports whether a number has more digits than its float64.
func isRounded(text []byte) bool {
	const always = 15 // digits that a float64 has
	f, err := strconv.ParseFloat(string(text), 64)
	digits := significant(string(text))
	return err == nil && len(digits) > always && significant(strconv.FormatFloat(f, 'e', -1, 64)) != digits &&
		significant(strconv.FormatFloat(f, 'e', len(digits)-1, 64)) != digits
}
