package infer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/words"
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
	var columns recordColumns
	for _, name := range s.columns {
		if _, err := columns.know(name, s.Options.Layout); err != nil {
			return err
		}
	}
	for _, values := range s.records {
		for i := range values {
			columns.byName[string(values[i].Name)].add(&values[i])
		}
	}
	s.takeConstants()
	if err := s.checkGiven(columns.byName); err != nil {
		return err
	}
	if s.Time == "" {
		var unread data
		if s.Time, s.otherTimes, unread = s.timeOf(columns.byName); s.Time == "" {
			return fmt.Errorf("%w: add --time-column COLUMN; %s", ErrNoTime, layoutHint(unread))
		}
	}
	if slices.Contains(s.Options.CSV.Joined, s.Time) {
		s.left = strings.SplitN(s.Time, "+", 2)
	} else if columns.byName[s.Time].values.all(s.isDate) {
		s.clock = s.clockOf(columns.byName)
	}
	if s.Series == nil && s.constants == nil {
		s.Series, s.guessed = s.seriesOf(columns.byName), true
	}
	for _, name := range s.columns {
		if name == s.Time || slices.Contains(s.Series, name) || slices.Contains(s.left, name) {
			continue
		}
		if _, err := s.fields.know(name, s.Options.Layout); err != nil {
			return err
		}
	}
	for r, values := range s.records {
		for i := range values {
			switch name := string(values[i].Name); {
			case name == s.Time:
				values[i].Part = format.TimePart
			case slices.Contains(s.Series, name):
				values[i].Part = format.TagPart
			}
		}
		values = slices.DeleteFunc(values, func(v format.Value) bool { return slices.Contains(s.left, string(v.Name)) })
		slices.SortStableFunc(values, func(a, b format.Value) int { return s.rank(&a) - s.rank(&b) })
		s.records[r] = values
	}
	return nil
}

// checkGiven returns an error if flags name columns that the file does not have, or that have no values.
func (s *recordSample) checkGiven(columns map[string]*recordColumn) error {
	given := slices.Clone(s.Series)
	if s.Time != "" {
		given = append(given, s.Time)
	}
	for _, name := range given {
		switch c := columns[name]; {
		case c == nil:
			return fmt.Errorf("no record has a column %s: %w are %s", show(name), ErrColumn, listed(s.columns))
		case c.isEmpty():
			return fmt.Errorf("%w: all values of column %s are empty in the sample: choose another column", ErrNoSchema, show(name))
		}
	}
	return nil
}

// checkSeries returns an error if nothing tells one series of CSV from another. It finds the columns that could, if
// lines of one series have the same time.
func (s *recordSample) checkSeries() error {
	if s.Format.Cells && len(s.records) > 0 && len(s.Series)+len(s.constants) == 0 {
		err := fmt.Errorf("%w: add --series COLUMN, or if all lines are of one series, its name and value, as in --series source=%s", ErrNoSeries, words.Shell(s.Name))
		times := s.timeTexts()
		return errors.Join(times.check(), err)
	}
	if s.Format.Cells && s.replaced > 0 {
		s.separators = s.separatorsOf()
	}
	return nil
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

// clockOf returns the column with times of a day; empty if there is none.
func (s *recordSample) clockOf(columns map[string]*recordColumn) string {
	for _, name := range s.columns {
		if columns[name].values.all(isClock) {
			return name
		}
	}
	return ""
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

// separatorsOf returns the columns of which no two records of one point have the same value.
func (s *recordSample) separatorsOf() (out []string) {
	seen, twice := map[string]bool{}, map[string]bool{}
	for r, values := range s.records {
		for _, v := range values {
			id := string(v.Name) + "\x00" + s.lines[r] + "\x00" + string(v.Text)
			twice[string(v.Name)] = twice[string(v.Name)] || seen[id]
			seen[id] = true
		}
	}
	for _, name := range s.fields.order {
		if len(s.fields.byName[name].values) == len(s.records) && !twice[name] {
			out = append(out, name)
		}
	}
	return out
}

// rank sorts the columns of the series in their order.
func (s *recordSample) rank(v *format.Value) int { return slices.Index(s.Series, string(v.Name)) }

// timeOf returns the column with the time, and others with times: the one with the finest times, of which those that
// need no further flag and those with likely names come first. If there is none, it returns the texts of a column that
// has times in a layout.
func (s *recordSample) timeOf(columns map[string]*recordColumn) (name string, others []string, unread data) {
	best := -1
	for _, of := range s.columns {
		texts := columns[of].values
		typ := columns[of].cellType()
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
	return ok || s.Options.Layout == "" && slices.ContainsFunc(units, func(u unitFlag) bool { return u.fits(text) })
}

// seriesOf returns the columns that seem to tell one series from another: texts and IDs that repeat, and are not
// empty.
func (s *recordSample) seriesOf(columns map[string]*recordColumn) []string {
	var out []string
	for _, name := range s.columns {
		values := columns[name].values
		distinct := values.distinct(maxDistinct)
		if name == s.Time || len(values) < len(s.records) || distinct[""] || slices.Contains(s.left, name) ||
			len(distinct)*2 > len(values) || len(distinct) == maxDistinct {
			continue
		}
		typ := columns[name].cellType()
		if typ == "string" || isID(typ) || typ == "int64" && idColumn.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}

// seriesQuestion asks which columns are the series.
func (s *recordSample) seriesQuestion() string {
	return fmt.Sprintf("Which columns tell one series from another? The values of %s repeat; --series names others.", strings.Join(s.Series, ", "))
}
