package infer

import (
	"errors"
	"fmt"
	"maps"
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

// addCells decides which columns of CSV are the time and the series, and adds the records.
func (s *recordSample) addCells() error {
	if len(s.cells) == 0 {
		return nil
	}
	if err := s.checkHeader(); err != nil {
		return err
	}
	columns := map[string]*recordColumn{}
	for _, name := range s.columns {
		if _, err := s.know(columns, nil, name); err != nil {
			return err
		}
	}
	for _, values := range s.cells {
		for i := range values {
			columns[string(values[i].Name)].add(&values[i])
		}
	}
	s.takeConstants()
	given := slices.Clone(s.Series)
	if s.Time != "" {
		given = append(given, s.Time)
	}
	for _, name := range given {
		switch c := columns[name]; {
		case c == nil:
			return fmt.Errorf("no record has a column %s: %w are %s", show([]byte(name)), ErrColumn, listed(s.columns))
		case c.bytes == 0:
			return fmt.Errorf("%w: all values of column %s are empty in the sample: choose another column", ErrNoSchema, show([]byte(name)))
		}
	}
	if s.Time == "" {
		var unread []string
		if s.Time, s.otherTimes, unread = s.timeOf(columns); s.Time == "" {
			return fmt.Errorf("%w: add --time-column COLUMN; %s", ErrNoTime, layoutHint(unread))
		}
	}
	if slices.Contains(s.Options.CSV.Joined, s.Time) {
		s.left = strings.SplitN(s.Time, "+", 2)
	} else if all(slices.Collect(maps.Keys(columns[s.Time].distinct)), s.isDate) {
		s.clock = s.clockOf(columns)
	}
	if s.Series == nil && s.constants == nil {
		s.Series, s.guessed = s.seriesOf(columns), true
	}
	for _, name := range s.columns {
		if name == s.Time || slices.Contains(s.Series, name) || slices.Contains(s.left, name) {
			continue
		}
		var err error
		if s.fieldOrder, err = s.know(s.fields, s.fieldOrder, name); err != nil {
			return err
		}
	}
	ids := make([]string, 0, len(s.cells))
	for _, values := range s.cells {
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
		if err := s.add(values); err != nil {
			return err
		}
		ids = append(ids, s.last)
	}
	if len(s.Series)+len(s.constants) == 0 {
		err := fmt.Errorf("%w: add --series COLUMN, or if all lines are of one series, its name and value, as in --series source=%s", ErrNoSeries, ShellQuoted(s.Name))
		return errors.Join(s.times.check(s.Options, s.unit()), err)
	}
	if s.replaced > 0 {
		s.separators = s.separatorsOf(ids)
	}
	return nil
}

// checkHeader returns an error if the names of the columns seem to be the first record: one is a time, or none is a name. A
// name that is given is one.
func (s *recordSample) checkHeader() error {
	if s.Options.CSV.Columns != nil || s.Time != "" && slices.Contains(s.columns, s.Time) {
		return nil
	}
	value := func(name string) bool {
		return name == "" || s.isLikelyTime(name) || isFloat64([]byte(name)) || slices.Contains(missing, name)
	}
	at := slices.IndexFunc(s.columns, s.isLikelyTime)
	if at < 0 && !all(s.columns, value) {
		return nil
	}
	names := make([]string, len(s.columns))
	for i := range names {
		if names[i] = fmt.Sprintf("column%d", i+1); i == at {
			names[i] = "time"
		}
	}
	return fmt.Errorf("%w: its cells are values, such as %s: add --columns with the names, as in --columns %s", ErrHeader, show([]byte(s.columns[max(at, 0)])), strings.Join(names, ","))
}

// clockOf returns the column with times of a day; empty if there is none.
func (s *recordSample) clockOf(columns map[string]*recordColumn) string {
	at := slices.IndexFunc(s.columns, func(name string) bool {
		return columns[name].n > 0 && all(slices.Collect(maps.Keys(columns[name].distinct)), func(text string) bool {
			_, err := time.Parse("15:04:05", text)
			_, short := time.Parse("15:04", text)
			return err == nil || short == nil
		})
	})
	if at < 0 {
		return ""
	}
	return s.columns[at]
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

// separatorsOf returns the columns of which no two records of one series and time, by ID, have the same value.
func (s *recordSample) separatorsOf(ids []string) (out []string) {
	seen, twice := map[string]bool{}, map[string]bool{}
	count := map[string]int{}
	for r, values := range s.cells {
		for _, v := range values {
			if v.Part != format.AnyPart {
				continue
			}
			id := string(v.Name) + "\x00" + ids[r] + "\x00" + string(v.Text)
			count[string(v.Name)]++
			twice[string(v.Name)] = twice[string(v.Name)] || seen[id]
			seen[id] = true
		}
	}
	for _, name := range s.fieldOrder {
		if count[name] == len(s.cells) && !twice[name] {
			out = append(out, name)
		}
	}
	return out
}

// rank sorts the columns of the series in their order.
func (s *recordSample) rank(v *format.Value) int { return slices.Index(s.Series, string(v.Name)) }

// timeOf returns the column with the time, and others with times: the one with the finest times, of which those that need no
// further flag and those with likely names come first. If there is none, it returns the texts of a column that has times in a layout.
func (s *recordSample) timeOf(columns map[string]*recordColumn) (name string, others, unread []string) {
	best := -1
	for _, of := range s.columns {
		c := columns[of]
		texts := slices.Sorted(maps.Keys(c.distinct))
		typ := c.cellType()
		timed, named := typ == "timestamp" || typ == localTime, timeColumn.MatchString(of)
		if c.n == 0 || !timed && !named || !all(texts, s.isTime) && !all(texts, s.isLikelyTime) {
			if typ == "string" && (unread == nil || named) && len(layoutsOf(texts)) > 0 {
				unread = texts
			}
			continue
		}
		others = append(others, of)
		rank := 0
		for i, has := range []bool{named, all(texts, s.isTime), !all(texts, s.isDate)} {
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
func (s *recordSample) isTime(text string) bool {
	_, ok := format.ParseTime([]byte(text), s.Options)
	return ok
}

// isDate reports whether a text is a time at midnight.
func (s *recordSample) isDate(text string) bool {
	at, ok := wallTime([]byte(text), s.Options.Layout)
	return ok && at.Truncate(day).Equal(at)
}

// isLikelyTime reports whether a text is a time for readers with some unit and zone.
func (s *recordSample) isLikelyTime(text string) bool {
	_, ok := wallTime([]byte(text), s.Options.Layout)
	return ok || s.Options.Layout == "" && slices.ContainsFunc(units[:], func(u unitFlag) bool {
		at, ok := format.ParseTime([]byte(text), format.ReaderOptions{Unit: u.unit})
		return ok && plausible(at)
	})
}

// seriesOf returns the columns that seem to tell one series from another: texts and IDs that repeat, and are not empty.
func (s *recordSample) seriesOf(columns map[string]*recordColumn) []string {
	var out []string
	for _, name := range s.columns {
		c := columns[name]
		typ := c.cellType()
		repeats := len(c.distinct)*2 <= c.n && len(c.distinct) < maxDistinct
		if name != s.Time && c.n == len(s.cells) && !c.distinct[""] && !slices.Contains(s.left, name) && repeats && (typ == "string" || c.isID() || typ == "int64" && idColumn.MatchString(name)) {
			out = append(out, name)
		}
	}
	return out
}

// seriesQuestion asks which columns are the series.
func (s *recordSample) seriesQuestion() string {
	return fmt.Sprintf("Which columns tell one series from another? The values of %s repeat; --series names others.", strings.Join(s.Series, ", "))
}
