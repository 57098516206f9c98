package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/dynamic/format"
)

// timeColumn matches the likely names of columns with the time of an event.
var timeColumn = regexp.MustCompile(`(?i)^(time|timestamp|ts|datetime|date_time|event_time|.*_at|.*_time|.*_ts|at|date|day)$`)

// idColumn matches the likely names of columns with numbers that tell one series from another.
var idColumn = regexp.MustCompile(`(?i)(^|_)(id|no|nr|number|key|code)$|[a-z]Id$`)

// addCells decides which columns of CSV are the time and the series, and adds the records.
func (s *recordSample) addCells() error {
	if len(s.cells) == 0 {
		return nil
	}
	columns, order := map[string]*recordColumn{}, []string(nil)
	for _, values := range s.cells {
		for i := range values {
			var err error
			if order, err = s.column(columns, order, &values[i]); err != nil {
				return err
			}
		}
	}
	for _, name := range append(slices.Clone(s.Series), s.Time) {
		if name != "" && columns[name] == nil {
			return fmt.Errorf("%w: no record has a column %s", ErrNoSchema, show([]byte(name)))
		}
	}
	if s.Time == "" {
		if s.Time = s.timeOf(columns, order); s.Time == "" {
			return fmt.Errorf("%w: add --time-column COLUMN, and --time-unit if it is a number", ErrNoTime)
		}
	}
	if s.Series == nil {
		s.Series, s.guessed = s.seriesOf(columns, order), true
	}
	if len(s.Series) == 0 {
		return fmt.Errorf("%w: add --series COLUMN", ErrNoSeries)
	}
	for _, values := range s.cells {
		for i := range values {
			switch name := string(values[i].Name); {
			case name == s.Time:
				values[i].Part = format.TimePart
			case slices.Contains(s.Series, name):
				values[i].Part = format.TagPart
			}
		}
		slices.SortStableFunc(values, func(a, b format.Value) int { return s.rank(&a) - s.rank(&b) })
		if err := s.add(values); err != nil {
			return err
		}
	}
	return nil
}

// rank sorts the columns of the series in their order.
func (s *recordSample) rank(v *format.Value) int { return slices.Index(s.Series, string(v.Name)) }

// timeOf returns the column with the time: one with a likely name, or else the first one with times.
func (s *recordSample) timeOf(columns map[string]*recordColumn, order []string) string {
	unit, zone := s.Options.Unit, s.Options.Zone
	isTimes := func(name string) bool {
		for text := range columns[name].distinct {
			if _, ok := format.ParseTime([]byte(text), unit, zone); !ok {
				return false
			}
		}
		return true
	}
	for _, likely := range []func(string) bool{timeColumn.MatchString, func(name string) bool { return columns[name].cellType() == "timestamp" }} {
		for _, name := range order {
			if likely(name) && isTimes(name) {
				return name
			}
		}
	}
	return ""
}

// seriesOf returns the columns that seem to tell one series from another: texts and IDs that repeat.
func (s *recordSample) seriesOf(columns map[string]*recordColumn, order []string) []string {
	var out []string
	for _, name := range order {
		c := columns[name]
		typ := c.cellType()
		repeats := len(c.distinct)*2 <= c.n && len(c.distinct) < maxDistinct
		if name != s.Time && c.n == len(s.cells) && repeats && (typ == "string" || c.isID() || typ == "int64" && idColumn.MatchString(name)) {
			out = append(out, name)
		}
	}
	return out
}

// seriesQuestion asks which columns are the series.
func (s *recordSample) seriesQuestion() string {
	return fmt.Sprintf("Which columns tell one series from another? The values of %s repeat; --series names others.", strings.Join(s.Series, ", "))
}
