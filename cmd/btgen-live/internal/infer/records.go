package infer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Records are a sample of the events that another system exports.
type Records struct {
	Name    string         // of the table, unless all records have one metric
	Title   string         // of the file, for the first comment
	Format  *format.Format // of the file
	Scanner format.Scanner // of Format, with Options
	Options format.ReaderOptions
	Time    string   // the column of CSV with the time; empty to find it
	Series  []string // the columns of CSV that tell one series from another; nil to find them
	Limit   int      // maximum number of records
	File    string   // the path to load; empty if it is unknown
	Flags   []string // those of the command that loads the events which Options stand for
}

// Errors of [ProposeRecords].
var (
	ErrNoRecords = errors.New("the sample has no events")
	// ErrMetrics is the error of events of several measurements that have different fields.
	ErrMetrics = errors.New("the sample has several measurements")
	// ErrColumn is the error of columns that the file does not have.
	ErrColumn = errors.New("its columns")
	// ErrText is the error of text in another encoding than UTF-8.
	ErrText = errors.New("text that is not UTF-8")
	// ErrHeader is the error of CSV whose first line is no header.
	ErrHeader = errors.New("the first line seems to be no header")
	// ErrNoTime is the error of records without a time.
	ErrNoTime = errors.New("no column seems to be the time")
	// ErrNoSeries is the error of records of which nothing tells one series from another.
	ErrNoSeries = errors.New("no tag or column seems to tell one series from another")
)

// Limits of a sample in memory.
const (
	maxMetrics  = 10_000
	maxNames    = 1000     // of tags and fields
	maxDistinct = 1000     // values of a series
	maxBytes    = 64 << 20 // of names and values
)

// ProposeRecords returns a schema for a new table for the events of another system. The result depends
// on the records alone. Report is nil.
func ProposeRecords(r Records) (*Proposal, error) {
	s := &recordSample{Records: r, metrics: map[string]int{}, byName: map[columnName]*recordColumn{}, points: map[string]recordPoint{}}
	p, err := s.propose()
	return p, format.Uncommented(s.columns, err)
}

// propose returns the proposal.
func (s *recordSample) propose() (*Proposal, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	if s.Format.Cells && len(s.records) > 0 {
		if err := s.assign(); err != nil {
			return nil, err
		}
	}
	for _, values := range s.records {
		if err := s.add(values); err != nil {
			return nil, err
		}
	}
	if len(s.points) == 0 {
		if len(s.errors) == 0 {
			return nil, ErrNoRecords
		}
		return nil, fmt.Errorf("%w: %s", ErrNoRecords, strings.Join(s.errors, "; "))
	}
	times := s.timeTexts()
	if err := times.check(); s.Format.Cells && len(s.Series)+len(s.constants) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%w: add --series COLUMN, or if all lines are of one series, its name and value, as in --series source=%s", ErrNoSeries, words.Shell(s.Name)))
	} else if err != nil {
		return nil, err
	}
	d, err := s.design()
	if err != nil {
		return nil, err
	}
	d.asks = append(d.asks, times.questions()...)
	if s.replaced > 0 {
		d.asks = append(d.asks, s.replacedQuestion())
	}
	return d.propose()
}

// recordSample is what is known of the records.
type recordSample struct {
	Records
	records     [][]format.Value
	failed      int
	errors      []string // the first
	metrics     map[string]int
	metricOrder []string
	all         []*recordColumn // tags, fields and columns, in the order in which they appear
	byName      map[columnName]*recordColumn
	points      map[string]recordPoint // by series and time
	scattered   bool                   // whether lines of a point do not follow each other
	lines       []string               // the points of lines
	untimed     int                    // lines without a time
	times       data                   // of the others
	replaced    int                    // lines with the series and the time of an earlier one, which are not parts of one point
	replacedOne string                 // the first of them
	columns     []string               // of CSV
	otherTimes  []string               // columns of CSV with times, if Time is a guess
	left        []string               // columns of CSV that are joined as the time
	clock       string                 // the column of CSV with the times of days, if that of the time has dates
	constants   []designValue          // values of the series that lines lack
	notText     int                    // records that are not in UTF-8
	guessed     bool                   // whether Series are a guess
}

// recordPoint is an event.
type recordPoint struct {
	eventTime
	timed bool
}

// columnName tells columns apart: tags and fields may have one name.
type columnName struct {
	part format.Part
	name string
}

// recordColumn is what is known of a tag, a field or a column.
type recordColumn struct {
	columnName
	values data
	kinds  [format.StringKind + 1]int
	layout string // of times
}

// know returns a column.
func (s *recordSample) know(part format.Part, name string) (*recordColumn, error) {
	of := columnName{part, name}
	if s.byName[of] == nil {
		if len(s.all) == maxNames {
			return nil, fmt.Errorf("%w: there are over %d tags or fields: columns must be named by fields [C08]", ErrNoSchema, maxNames)
		}
		s.byName[of] = &recordColumn{columnName: of, layout: s.Options.Layout}
		s.all = append(s.all, s.byName[of])
	}
	return s.byName[of], nil
}

// of returns the columns of a part of records.
func (s *recordSample) of(part format.Part) []*recordColumn {
	return slices.DeleteFunc(slices.Clone(s.all), func(c *recordColumn) bool { return c.part != part })
}

// add adds a value.
func (c *recordColumn) add(v *format.Value) {
	c.values = append(c.values, v.Text)
	c.kinds[v.Kind]++
}

// isEmpty reports whether there is no value that is not empty.
func (c *recordColumn) isEmpty() bool {
	return c.values.first(func(b []byte) bool { return len(b) > 0 }) == nil
}

// example returns the first short value that is not empty.
func (c *recordColumn) example() string {
	const longest = 64
	return string(c.values.first(func(b []byte) bool { return len(b) > 0 && len(b) <= longest }))
}

// read reads the records.
func (s *recordSample) read() error {
	var r format.Record
	for total := 0; len(s.records) < s.Limit && total < maxBytes; {
		err := s.Scanner.Scan(&r)
		s.columns = r.Columns
		_, refused := errors.AsType[*format.InputError](err)
		switch {
		case err == io.EOF:
			return nil
		case refused:
			if s.failed++; len(s.errors) < 3 {
				s.errors = append(s.errors, err.Error())
			}
			if s.failed > s.Limit {
				return nil
			}
		case err != nil:
			return err
		case s.isChosen(r.Values):
			values := slices.Clone(r.Values)
			for i := range values {
				v := &values[i]
				v.Name, v.Text = bytes.Clone(v.Name), bytes.Clone(v.Text)
				total += len(v.Name) + len(v.Text)
			}
			s.records = append(s.records, values)
		}
	}
	return nil
}

// isChosen reports whether a record is of the metric that is read, if only one is.
func (s *recordSample) isChosen(values []format.Value) bool {
	return s.Options.Metric == "" || !slices.ContainsFunc(values, func(v format.Value) bool {
		return v.Part == format.MetricPart && string(v.Text) != s.Options.Metric
	})
}

// add examines a record, and returns the ID of its point.
func (s *recordSample) add(values []format.Value) error {
	var point recordPoint
	var series strings.Builder
	has := false // a time
	for i := range values {
		switch v := &values[i]; v.Part {
		case format.MetricPart:
			name := string(v.Text)
			if len(s.metrics) == maxMetrics {
				return fmt.Errorf("%w: over %d", ErrMetrics, maxMetrics)
			}
			if s.metrics[name]++; s.metrics[name] == 1 {
				s.metricOrder = append(s.metricOrder, name)
			}
			series.WriteString(name)
		case format.TagPart:
			series.WriteString("\x00" + string(v.Name) + "\x00" + string(v.Text))
		case format.TimePart:
			at, ok := s.parseTime(v.Text)
			point.at, point.timed, has = at.UnixNano(), ok, true
			s.times = append(s.times, v.Text)
		}
	}
	if slices.ContainsFunc(values, func(v format.Value) bool { return !utf8.Valid(v.Text) || !utf8.Valid(v.Name) }) {
		s.notText++
	}
	if !has {
		s.untimed++
	}
	point.series = series.String()
	id := fmt.Sprintf("%s\x00%d", point.series, point.at)
	_, known := s.points[id]
	follows := len(s.lines) > 0 && s.lines[len(s.lines)-1] == id
	switch {
	case known && s.Format.Points && !follows:
		s.scattered = true
	case known && !s.Format.Points && point.timed:
		if s.replaced++; s.replacedOne == "" {
			s.replacedOne = shownPoint(values)
		}
	}
	s.points[id] = point
	s.lines = append(s.lines, id)
	for i := range values {
		v := &values[i]
		if s.Format.Cells || v.Part != format.FieldPart && (v.Part != format.TagPart || known && s.Format.Points) {
			continue // of a column that is known, or of a point whose tags are
		}
		column, err := s.know(v.Part, string(v.Name))
		if err != nil {
			return err
		}
		column.add(v)
	}
	return nil
}

// readerOptions returns the options of readers of the file.
func (s *recordSample) readerOptions() format.ReaderOptions {
	o := s.Options
	o.Unit = cmp.Or(o.Unit, s.Format.Unit)
	return o
}

// parseTime parses a time as readers do.
func (s *recordSample) parseTime(text []byte) (time.Time, bool) {
	return format.ParseTime(text, s.readerOptions())
}

// shownPoint returns the series and the time of a record for a question.
func shownPoint(values []format.Value) string {
	var out []string
	for _, v := range values {
		switch v.Part {
		case format.MetricPart, format.TimePart:
			out = append(out, show(v.Text))
		case format.TagPart:
			out = append(out, show(v.Name)+"="+show(v.Text))
		}
	}
	return strings.Join(out[:min(len(out), 4)], " ")
}

// events returns the number of events: lines, or points if lines are parts of them.
func (s *recordSample) events() int {
	if s.Format.Points {
		return len(s.points)
	}
	return len(s.lines)
}

// design derives the design.
func (s *recordSample) design() (*design, error) {
	narrow := len(s.metrics) > 1
	switch {
	case narrow && s.Format.Points:
		return nil, fmt.Errorf("%w: %s: choose one with --metric", ErrMetrics, listed(s.metricOrder))
	case s.notText == len(s.lines):
		return nil, s.notTextError()
	}
	d := &design{
		table: s.Name, partition: -1, words: []string{s.Format.Metric, s.Format.Rest}, left: s.left,
		ttl: "{keep: forever}", ttlAsk: "How long are events kept? To delete them after a year, write {max_age: 365d}.",
		about: []string{fmt.Sprintf("Proposed by btgen-live infer from %s, %s: %s, %s.", s.Title, s.Format.Title,
			words.Count(float64(len(s.lines)), "line", "lines"), words.Count(float64(s.events()), "event", "events"))},
		loading: append([]string{"--format " + s.Format.Name}, s.Flags...), partial: len(s.errors) > 0,
	}
	for _, e := range s.errors {
		d.about = append(d.about, "Not read: "+e)
	}
	if s.File != "" && oneLine(s.File) == s.File && !strings.HasPrefix(s.File, "-") {
		d.file = words.Shell(s.File)
	}
	if len(s.metrics) == 1 {
		if d.table = s.metricOrder[0]; s.Options.Metric != "" {
			d.loading = append(d.loading, "--metric "+words.Shell(s.Options.Metric))
		}
	}
	if s.Format.Cells {
		d.timeName = s.Time
	}
	ask := func(when bool, format string, args ...any) {
		if when {
			d.asks = append(d.asks, fmt.Sprintf(format, args...))
		}
	}
	ask(s.guessed, "Which columns tell one series from another? The values of %s repeat; --series names others.", strings.Join(s.Series, ", "))
	ask(len(s.otherTimes) > 0, "Is %s the time? Times also are in %s; --time-column names another.", s.Time, listed(s.otherTimes))
	ask(s.clock != "", "%s has dates, and %s times of days. Are they one time? Then repeat infer with --time-column %s.", s.Time, s.clock, words.Shell(s.Time+"+"+s.clock))
	ask(s.notText > 0, "%v. Can they be converted?", s.notTextError())
	ask(s.untimed > 0, "%s no time. Which one is it? Add it with --time.", words.Count(float64(s.untimed), "line has", "lines have"))
	metric := designValue{source: s.Format.Metric, part: format.MetricPart, typ: "string", example: d.table, bytes: len(d.table)}
	if narrow {
		metric.example, metric.bytes = s.metricOrder[0], dataOf(s.metricOrder).bytes()
		d.series = append(d.series, metric)
	}
	d.series = append(d.series, s.constants...)
	s.addTags(d)
	for _, c := range s.of(format.FieldPart) {
		d.fields = append(d.fields, s.field(c))
	}
	if len(d.series) == 0 && s.Format.Metric != "" {
		d.series = append(d.series, metric)
	}
	if len(d.fields) == 0 {
		return nil, fmt.Errorf("%w: no column is a field", ErrNoSchema)
	}
	s.time(d)
	return d, nil
}

// part returns the part of a record that values are in the file: cells of CSV have none.
func (s *recordSample) part(of format.Part) format.Part {
	if s.Format.Cells {
		return format.AnyPart
	}
	return of
}

// notTextError returns the error of records that are not in UTF-8.
func (s *recordSample) notTextError() error {
	return fmt.Errorf("%s %w, and write refuses them: convert the file, as in iconv -f ISO-8859-1 -t UTF-8, if that is its encoding", words.Count(float64(s.notText), "line has", "lines have"), ErrText)
}

// addTags adds the tags of all events to the series, and a string for the others.
func (s *recordSample) addTags(d *design) {
	others, tags := 0, s.of(format.TagPart)
	slices.SortFunc(tags, func(a, b *recordColumn) int {
		return cmp.Or(slices.Index(s.Series, a.name)-slices.Index(s.Series, b.name), strings.Compare(a.name, b.name))
	})
	for _, c := range tags {
		lacking := len(c.values) < s.events()
		if lacking && !s.Format.Cells {
			others++
			continue
		}
		v := designValue{source: c.name, part: s.part(format.TagPart), typ: "string", example: c.example(), bytes: max(1, c.values.bytes())}
		v.escape = c.values.first(func(b []byte) bool { return bytes.IndexByte(b, '#') >= 0 }) != nil
		if t, _ := c.cellType(); s.Format.Cells && (t == "int64" || isID(t)) {
			v.typ, v.escape = t, false
		}
		if lacking {
			v.asks = append(v.asks, "Some events lack it, and are refused. What is it for them?")
		}
		d.series = append(d.series, v)
	}
	if others > 0 {
		const bytes = 16
		d.series = append(d.series, designValue{source: s.Format.Rest, part: format.MetricPart, typ: "string", escape: true, bytes: others * bytes, asks: []string{
			fmt.Sprintf("It has the tags that some events lack, as in a=1,b=2, or - for none. The sample has %d of them. Do they tell one series from another?", others),
		}})
	}
}

// field derives a field.
func (s *recordSample) field(c *recordColumn) designValue {
	n := len(c.values)
	v := designValue{source: c.name, part: s.part(format.FieldPart), optional: n < s.events()}
	integers := c.kinds[format.IntKind] + c.kinds[format.UintKind]
	switch text := c.kinds[format.TextKind] + c.kinds[format.StringKind]; {
	case n == 0 || s.Format.Cells && c.isEmpty():
		v.typ = "string"
		v.asks = append(v.asks, "All values in the sample are empty. Which type is it?")
	case s.Format.Cells:
		typ, doubt := c.cellType()
		v.asks = append(v.asks, doubt)
		if v.typ = typ; v.typ == localTime && s.Options.Zone != nil && c.values.all(s.isTime) {
			v.typ = "timestamp"
		} else if v.typ == localTime {
			v.typ = "string"
			v.asks = append(v.asks, fmt.Sprintf("It has times without a time zone, such as %s. Are they instants? With --zone, such as --zone UTC, it is a timestamp.", show(c.example())))
		}
	case c.kinds[format.BoolKind] == n:
		v.typ = "bool"
	case text == n:
		v.typ = "string"
	case s.Format.Typed && c.kinds[format.UintKind] == n:
		v.typ = "uint64"
	case s.Format.Typed && c.kinds[format.IntKind] == n:
		v.typ = "int64"
	case integers+c.kinds[format.FloatKind] == n:
		v.typ = "float64"
	default:
		v.typ = "string"
		v.asks = append(v.asks, "Its values have several types, and those of other types than this one are refused. Which type is it?")
	}
	switch {
	case v.typ == "float64" && integers > 0 && s.Format.Typed:
		v.asks = append(v.asks, "Some of its values are integers, and others are not. Is it a floating-point number?")
	case v.typ == "string" || v.typ == "json":
		v.bytes = max(1, c.values.bytes())
	}
	return v
}

// time sets the precision, the load and the bucket.
func (s *recordSample) time(d *design) {
	var times []eventTime
	for _, p := range s.points {
		if p.timed {
			times = append(times, p.eventTime)
		}
	}
	load, finer := recordLoad(times)
	if d.precision, d.step, d.count = load.precision, load.step, load.series; finer > 0 {
		d.precisionAsk = fmt.Sprintf("Times have digits to %s, and write drops what is below a millisecond. Are these digits needed? No series has two events in a millisecond; "+
			"with a precision of %s, each event is a row (%s).", schema.FormatDuration(finer), schema.FormatDuration(finer), unserialized(true))
	}
	if s.scattered && s.Format.Points {
		d.asks = append(d.asks, "Lines of a point do not follow each other, and --merge joins them if fewer than 100,000 are between them. If not, can they be sorted by series and time?")
		d.loading = append(d.loading, "--merge")
	}
	if d.bucket = bucketFor(d.step, len(d.fields)); d.bucket == "1w" && slices.ContainsFunc(times, func(e eventTime) bool { return e.at < firstWeek.UnixNano() }) {
		d.bucket = "1d" // the first week with days before 1970 has no label
	}
	if d.step == 0 {
		d.bucketAsk = bucketQuestion
	}
}

// firstWeek is the first Monday of 1970.
var firstWeek = time.Date(1970, 1, 5, 0, 0, 0, 0, time.UTC)

// replacedQuestion asks about lines that would replace others.
func (s *recordSample) replacedQuestion() string {
	q := fmt.Sprintf("%d of %d lines have the series and the time of an earlier one, such as %s, and would replace it. ", s.replaced, len(s.lines), s.replacedOne)
	switch separators := s.separators(); {
	case len(separators) > 0:
		return q + fmt.Sprintf("Columns that tell all lines apart: %s. Is one of them a part of the series, to be added to --series?", listed(separators))
	case s.Format.Cells:
		return q + "Are they copies, or do several columns tell them apart, to be added to --series?"
	}
	return q + "Are they copies, or does something that the lines lack tell them apart?"
}

// recordLoad returns what the times of records tell. The precision is a second at most: later times may have seconds.
// Precisions below a millisecond are those of events that are as close: finer is then the precision that the times
// have; else, it is 0.
func recordLoad(times []eventTime) (out load, finer time.Duration) {
	out = loadOf(times, time.Nanosecond)
	if out.precision >= time.Millisecond {
		out.precision = min(out.precision, time.Second)
		return out, 0
	}
	seen := map[eventTime]bool{}
	for _, e := range times {
		of := eventTime{e.series, e.at / int64(time.Millisecond)}
		if seen[of] {
			return out, 0
		}
		seen[of] = true
	}
	finer, out.precision = out.precision, time.Millisecond
	return out, finer
}
