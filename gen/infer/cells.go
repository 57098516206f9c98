package infer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

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
	given := slices.Clone(s.Series)
	if s.Time != "" {
		given = append(given, s.Time)
	}
	for _, name := range given {
		switch c := columns[name]; {
		case c == nil:
			return fmt.Errorf("%w: no record has a column %s", ErrNoSchema, show([]byte(name)))
		case c.bytes == 0:
			return fmt.Errorf("%w: all values of column %s are empty in the sample: choose another column", ErrNoSchema, show([]byte(name)))
		}
	}
	if s.Time == "" {
		if s.Time = s.timeOf(columns); s.Time == "" {
			return fmt.Errorf("%w: add --time-column COLUMN", ErrNoTime)
		}
	}
	if s.Series == nil {
		s.Series, s.guessed = s.seriesOf(columns), true
	}
	if len(s.Series) == 0 {
		return fmt.Errorf("%w: add --series COLUMN", ErrNoSeries)
	}
	for _, name := range s.columns {
		if name == s.Time || slices.Contains(s.Series, name) {
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
		slices.SortStableFunc(values, func(a, b format.Value) int { return s.rank(&a) - s.rank(&b) })
		if err := s.add(values); err != nil {
			return err
		}
		ids = append(ids, s.last)
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
		return name == "" || isLikelyTime(name) || isFloat64([]byte(name)) || slices.Contains(missing, name)
	}
	at := slices.IndexFunc(s.columns, isLikelyTime)
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

// timeOf returns the column with the time: one with a likely name, or else the first one with times. Columns whose times
// need another flag come last.
func (s *recordSample) timeOf(columns map[string]*recordColumn) string {
	isTimestamp := func(name string) bool {
		typ := columns[name].cellType()
		return typ == "timestamp" || typ == localTime
	}
	for _, is := range []func(string) bool{s.isTime, isLikelyTime} {
		for _, likely := range []func(string) bool{timeColumn.MatchString, isTimestamp} {
			for _, name := range s.columns {
				if columns[name].n > 0 && likely(name) && all(slices.Collect(maps.Keys(columns[name].distinct)), is) {
					return name
				}
			}
		}
	}
	return ""
}

// isTime reports whether a text is a time for readers.
func (s *recordSample) isTime(text string) bool {
	_, ok := format.ParseTime([]byte(text), s.Options.Unit, s.Options.Zone)
	return ok
}

// isLikelyTime reports whether a text is a time for readers with some unit and zone.
func isLikelyTime(text string) bool {
	_, ok := format.ParseTime([]byte(text), 0, time.UTC)
	return ok || slices.ContainsFunc(units[:], func(u unitFlag) bool {
		at, ok := format.ParseTime([]byte(text), u.unit, nil)
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
		if name != s.Time && c.n == len(s.cells) && !c.distinct[""] && repeats && (typ == "string" || c.isID() || typ == "int64" && idColumn.MatchString(name)) {
			out = append(out, name)
		}
	}
	return out
}

// seriesQuestion asks which columns are the series.
func (s *recordSample) seriesQuestion() string {
	return fmt.Sprintf("Which columns tell one series from another? The values of %s repeat; --series names others.", strings.Join(s.Series, ", "))
}
