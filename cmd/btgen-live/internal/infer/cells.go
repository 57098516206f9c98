package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
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
	for _, name := range s.columns {
		if _, err := s.know(format.AnyPart, name); err != nil {
			return err
		}
	}
	for _, values := range s.records {
		for i := range values {
			s.cell(string(values[i].Name)).add(&values[i])
		}
	}
	s.takeConstants()
	for _, name := range append(slices.Clone(s.Series), s.Time) {
		switch c := s.cell(name); {
		case name == "":
		case c == nil:
			return fmt.Errorf("no record has a column %s: %w are %s", show(name), ErrColumn, listed(s.columns))
		case c.isEmpty():
			return fmt.Errorf("%w: all values of column %s are empty in the sample: choose another column", ErrNoSchema, show(name))
		}
	}
	if s.Time == "" {
		var unread data
		if s.Time, s.otherTimes, unread = s.timeOf(); s.Time == "" {
			return fmt.Errorf("%w: add --time-column COLUMN; %s", ErrNoTime, layoutHint(unread))
		}
	}
	if slices.Contains(s.Options.CSV.Joined, s.Time) {
		s.left = strings.SplitN(s.Time, "+", 2)
	} else if s.cell(s.Time).values.all(s.isDate) {
		if i := slices.IndexFunc(s.all, func(c *recordColumn) bool { return c.values.all(isClock) }); i >= 0 {
			s.clock = s.all[i].name
		}
	}
	if s.Series == nil && s.constants == nil {
		s.Series, s.guessed = s.seriesOf(), true
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
	for _, values := range s.records {
		for i := range values {
			values[i].Part = s.cell(string(values[i].Name)).part
		}
	}
	return nil
}

// cell returns a column of CSV; nil if there is none.
func (s *recordSample) cell(name string) *recordColumn {
	return s.byName[columnName{format.AnyPart, name}]
}

// checkHeader returns an error if the names of the columns seem to be the first record: one is a time, or none is a
// name. A name that is given is one.
func (s *recordSample) checkHeader() error {
	if s.Options.CSV.Columns != nil || s.Time != "" && slices.Contains(s.columns, s.Time) {
		return nil
	}
	isTime := func(name string) bool { return s.isLikelyTime([]byte(name)) }
	value := func(name string) bool {
		return name == "" || isTime(name) || isFloat64([]byte(name)) || slices.Contains(missing, name)
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
	return fmt.Errorf("%w: its cells are values, such as %s: add --columns with the names, as in --columns %s", ErrHeader, show(s.columns[max(at, 0)]), strings.Join(names, ","))
}

// isClock reports whether a text is the time of a day.
func isClock(b []byte) bool {
	_, err := time.Parse("15:04:05", string(b))
	_, short := time.Parse("15:04", string(b))
	return err == nil || short == nil
}

// takeConstants moves values of the series that are no columns, such as source=nyc, to constants.
func (s *recordSample) takeConstants() {
	s.Series = slices.DeleteFunc(slices.Clone(s.Series), func(of string) bool {
		name, value, ok := strings.Cut(of, "=")
		if ok = ok && name != "" && value != "" && !slices.Contains(s.columns, of); ok {
			s.constants = append(s.constants, designValue{source: name, part: format.AnyPart, typ: "string", example: value, constant: true, bytes: len(value), escape: strings.Contains(value, "#")})
		}
		return ok
	})
	if len(s.Series) == 0 {
		s.Series = nil
	}
}

// separators returns the columns of CSV of which no two records of one point have the same value.
func (s *recordSample) separators() (out []string) {
	seen, twice := map[string]bool{}, map[string]bool{}
	for r, values := range s.records {
		for _, v := range values {
			id := string(v.Name) + "\x00" + s.lines[r] + "\x00" + string(v.Text)
			twice[string(v.Name)] = twice[string(v.Name)] || seen[id]
			seen[id] = true
		}
	}
	for _, c := range s.of(format.FieldPart) {
		if s.Format.Cells && len(c.values) == len(s.records) && !twice[c.name] {
			out = append(out, c.name)
		}
	}
	return out
}

// timeOf returns the column with the time, and others with times: the one with the finest times, of which those that
// need no further flag and those with likely names come first. If there is none, it returns the texts of a column that
// has times in a layout.
func (s *recordSample) timeOf() (name string, others []string, unread data) {
	best := -1
	for _, c := range s.all {
		of, texts := c.name, c.values
		typ, _ := c.cellType()
		timed, named := typ == "timestamp" || typ == localTime, timeColumn.MatchString(of)
		if !timed && !named || !texts.all(s.isTime) && !texts.all(s.isLikelyTime) {
			if typ == "string" && (unread == nil || named) && len(layoutsOf(texts)) > 0 {
				unread = texts
			}
			continue
		}
		others = append(others, of)
		rank := 0
		for i, has := range []bool{named, texts.all(s.isTime), !texts.all(s.isDate)} {
			if has {
				rank |= 1 << i
			}
		}
		if rank > best {
			best, name = rank, of
		}
	}
	return name, slices.DeleteFunc(others, func(of string) bool { return of == name }), unread
}

// isTime reports whether a text is a time for readers.
func (s *recordSample) isTime(text []byte) bool {
	_, ok := format.ParseTime(text, s.Options)
	return ok
}

// isDate reports whether a text is a time at midnight.
func (s *recordSample) isDate(text []byte) bool {
	at, ok := wallTime(text, s.Options.Layout)
	return ok && at.Truncate(day).Equal(at)
}

// isLikelyTime reports whether a text is a time for readers with some unit and zone.
func (s *recordSample) isLikelyTime(text []byte) bool {
	_, ok := wallTime(text, s.Options.Layout)
	return ok || s.Options.Layout == "" && slices.ContainsFunc(units, func(unit string) bool { return fits(text, unit) })
}

// seriesOf returns the columns that seem to tell one series from another: texts and IDs that repeat, and are not
// empty.
func (s *recordSample) seriesOf() (out []string) {
	for _, c := range s.all {
		distinct := c.values.distinct(maxDistinct)
		typ, _ := c.cellType()
		repeats := len(c.values) == len(s.records) && !distinct[""] && len(distinct)*2 <= len(c.values) && len(distinct) < maxDistinct
		if repeats && c.name != s.Time && !slices.Contains(s.left, c.name) && (typ == "string" || isID(typ) || typ == "int64" && idColumn.MatchString(c.name)) {
			out = append(out, c.name)
		}
	}
	return out
}
