package infer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
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
	maxDistinct = 1000     // values of a column
	maxBytes    = 64 << 20 // of the cells of CSV
)

// ProposeRecords returns a schema for a new table for the events of another system. The result depends
// on the records alone. Report is nil.
func ProposeRecords(r Records) (*Proposal, error) {
	s := &recordSample{Records: r, metrics: map[string]int{}, tags: map[string]*recordColumn{}, fields: map[string]*recordColumn{}, points: map[string]recordPoint{}}
	p, err := s.propose()
	return p, format.Uncommented(s.columns, err)
}

// propose returns the proposal.
func (s *recordSample) propose() (*Proposal, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	if s.Format.Cells {
		if err := s.addCells(); err != nil {
			return nil, err
		}
	}
	if len(s.points) == 0 {
		if len(s.errors) == 0 {
			return nil, ErrNoRecords
		}
		return nil, fmt.Errorf("%w: %s", ErrNoRecords, strings.Join(s.errors, "; "))
	}
	d, err := s.design()
	if err != nil {
		return nil, err
	}
	return d.propose()
}

// recordSample is what is known of the records.
type recordSample struct {
	Records
	lines, failed int
	errors        []string // the first
	metrics       map[string]int
	metricOrder   []string
	tags, fields  map[string]*recordColumn
	tagOrder      []string
	fieldOrder    []string
	points        map[string]recordPoint // by series and time
	scattered     bool                   // whether lines of a point do not follow each other
	last          string                 // point
	untimed       int                    // lines without a time
	times         timeTexts              // of the others
	replaced      int                    // lines with the series and the time of an earlier one, which are not parts of one point
	replacedOne   string                 // the first of them
	cells         [][]format.Value       // of CSV, until it is known what they are
	columns       []string               // of CSV
	otherTimes    []string               // columns of CSV with times, if Time is a guess
	left          []string               // columns of CSV that are joined as the time
	clock         string                 // the column of CSV with the times of days, if that of the time has dates
	constants     []designValue          // values of the series that lines lack
	notText       int                    // records that are not in UTF-8
	guessed       bool                   // whether Series are a guess
	separators    []string               // columns of CSV that tell lines of one series and time apart
}

// recordPoint is an event.
type recordPoint struct {
	eventTime
	timed bool
}

// recordColumn is what is known of a tag, a field or a column.
type recordColumn struct {
	n, bytes int
	kinds    [format.StringKind + 1]int
	example  string // the first value that is not empty
	hash     bool   // whether a value contains the delimiter of keys
	distinct map[string]bool
	not      [len(cellTypes)]bool
	id       string // the type of IDs that all texts are; empty if there is none

	layout    string   // of times
	nulls     []string // usual texts of missing values among the texts
	nulled    int      // texts that are in nulls
	notNumber bool     // whether a text is no number in any notation
	notComma  bool     // whether a text is neither a number nor one with commas
	odd       string   // the first number in an unusual notation
	comma     string   // the first number with commas
	rounded   string   // the first number with more digits than a float64 has
}

// add examines a value.
func (c *recordColumn) add(v *format.Value) {
	c.n++
	c.bytes += len(v.Text)
	c.kinds[v.Kind]++
	const longest = 64
	if text := string(v.Text); c.example == "" && len(text) <= longest {
		c.example = text
	}
	c.hash = c.hash || bytes.IndexByte(v.Text, '#') >= 0
	if c.distinct == nil {
		c.distinct = map[string]bool{}
	}
	if len(c.distinct) < maxDistinct {
		c.distinct[string(v.Text[:min(len(v.Text), longest)])] = true
	}
	if id := identifier(v.Text); c.n == 1 || id != c.id {
		c.id = id
		if c.n > 1 {
			c.id = ""
		}
	}
	if v.Kind == format.TextKind {
		c.addText(v.Text)
	}
}

// read reads the records.
func (s *recordSample) read() error {
	var r format.Record
	for total := 0; s.lines+len(s.cells) < s.Limit && total < maxBytes; {
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
		case s.Format.Cells:
			var values []format.Value
			for _, v := range r.Values {
				v.Name, v.Text = bytes.Clone(v.Name), bytes.Clone(v.Text)
				values = append(values, v)
				total += len(v.Name) + len(v.Text)
			}
			s.cells = append(s.cells, values)
		default:
			if err := s.add(r.Values); err != nil {
				return err
			}
		}
	}
	return nil
}

// add examines a record.
func (s *recordSample) add(values []format.Value) error {
	var point recordPoint
	var series strings.Builder
	has := false // a time
	for i := range values {
		switch v := &values[i]; v.Part {
		case format.MetricPart:
			name := string(v.Text)
			if s.Options.Metric != "" && name != s.Options.Metric {
				return nil
			}
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
			s.times.add(v.Text, at, ok, s.Options.Layout)
		}
	}
	if slices.ContainsFunc(values, func(v format.Value) bool { return !utf8.Valid(v.Text) || !utf8.Valid(v.Name) }) {
		s.notText++
	}
	if s.lines++; !has {
		s.untimed++
	}
	point.series = series.String()
	id := fmt.Sprintf("%s\x00%d", point.series, point.at)
	_, known := s.points[id]
	follows := s.Format.Points && s.last == id
	s.scattered = s.scattered || known && !follows && s.Format.Points
	if known && point.timed && !s.Format.Points {
		if s.replaced++; s.replacedOne == "" {
			s.replacedOne = shownPoint(values)
		}
	}
	s.points[id], s.last = point, id
	for i := range values {
		var err error
		switch v := &values[i]; v.Part {
		case format.MetricPart, format.TimePart:
		case format.TagPart:
			if !known || !s.Format.Points {
				s.tagOrder, err = s.column(s.tags, s.tagOrder, v)
			}
		default:
			s.fieldOrder, err = s.column(s.fields, s.fieldOrder, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseTime parses a time as readers do.
func (s *recordSample) parseTime(text []byte) (time.Time, bool) {
	o := s.Options
	o.Unit = s.unit()
	return format.ParseTime(text, o)
}

// unit returns the unit of times that are numbers; 0 if it is unknown.
func (s *recordSample) unit() time.Duration { return cmp.Or(s.Options.Unit, s.Format.Unit) }

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

// column examines a value of a tag or a field.
func (s *recordSample) column(in map[string]*recordColumn, order []string, v *format.Value) ([]string, error) {
	order, err := s.know(in, order, string(v.Name))
	if err == nil {
		in[string(v.Name)].add(v)
	}
	return order, err
}

// know adds a tag or a field, unless it is known.
func (s *recordSample) know(in map[string]*recordColumn, order []string, name string) ([]string, error) {
	if in[name] != nil {
		return order, nil
	}
	if len(in) == maxNames {
		return order, fmt.Errorf("%w: there are over %d tags or fields: columns must be named by fields [C08]", ErrNoSchema, maxNames)
	}
	in[name] = &recordColumn{layout: s.Options.Layout}
	return append(order, name), nil
}

// events returns the number of events: lines, or points if lines are parts of them.
func (s *recordSample) events() int {
	if s.Format.Points {
		return len(s.points)
	}
	return s.lines
}

// design derives the design.
func (s *recordSample) design() (*design, error) {
	narrow := len(s.metrics) > 1
	if narrow && s.Format.Points {
		return nil, fmt.Errorf("%w: %s: choose one with --metric", ErrMetrics, listed(s.metricOrder))
	}
	if err := s.times.check(s.Options, s.unit()); err != nil {
		return nil, err
	}
	if s.notText > 0 && s.notText == s.lines {
		return nil, s.notTextError()
	}
	d := &design{table: s.Name, partition: -1, words: []string{s.Format.Metric, s.Format.Rest}, ttl: "{keep: forever}", ttlAsk: "How long are events kept? To delete them after a year, write {max_age: 365d}."}
	if len(s.metrics) == 1 {
		d.table = s.metricOrder[0]
	}
	d.about = []string{fmt.Sprintf("Proposed by btgen-live infer from %s, %s: %s, %s.", s.Title, s.Format.Title, words.Count(float64(s.lines), "line", "lines"), words.Count(float64(s.events()), "event", "events"))}
	for _, e := range s.errors {
		d.about = append(d.about, "Not read: "+e)
	}
	d.loading = append([]string{"--format " + s.Format.Name}, s.Flags...)
	if d.file = ShellQuoted(s.File); s.File == "" || oneLine(s.File) != s.File || strings.HasPrefix(s.File, "-") {
		d.file = ""
	}
	if narrow {
		d.series = append(d.series, designValue{source: s.Format.Metric, part: format.MetricPart, typ: "string", example: s.metricOrder[0], bytes: averageLength(s.metricOrder)})
	}
	if len(s.metrics) == 1 && s.Options.Metric != "" {
		d.loading = append(d.loading, "--metric "+ShellQuoted(s.Options.Metric))
	}
	if s.Format.Cells {
		d.timeName = s.Time
	}
	if s.guessed {
		d.asks = append(d.asks, s.seriesQuestion())
	}
	if len(s.otherTimes) > 0 {
		d.asks = append(d.asks, fmt.Sprintf("Is %s the time? Times also are in %s; --time-column names another.", s.Time, listed(s.otherTimes)))
	}
	if d.left = s.left; s.clock != "" {
		d.asks = append(d.asks, fmt.Sprintf("%s has dates, and %s times of days. Are they one time? Then repeat infer with --time-column %s.", s.Time, s.clock, ShellQuoted(s.Time+"+"+s.clock)))
	}
	if s.notText > 0 {
		d.asks = append(d.asks, s.notTextError().Error()+". Can they be converted?")
	}
	d.series = append(d.series, s.constants...)
	s.addTags(d)
	for _, name := range s.fieldOrder {
		d.fields = append(d.fields, s.field(name))
	}
	if len(d.series) == 0 && s.Format.Metric != "" {
		d.series = append(d.series, designValue{source: s.Format.Metric, part: format.MetricPart, typ: "string", example: d.table, bytes: len(d.table)})
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

// averageLength returns the average length of texts.
func averageLength(texts []string) int {
	total := 0
	for _, t := range texts {
		total += len(t)
	}
	return total / max(1, len(texts))
}

// addTags adds the tags of all events to the series, and a string for the others.
func (s *recordSample) addTags(d *design) {
	others := 0
	if !s.Format.Cells {
		slices.Sort(s.tagOrder)
	}
	for _, name := range s.tagOrder {
		c := s.tags[name]
		if c.n < s.events() && !s.Format.Cells {
			others++
			continue
		}
		v := designValue{source: name, part: s.part(format.TagPart), typ: "string", escape: c.hash, example: c.example, bytes: max(1, c.bytes/c.n)}
		if t := c.cellType(); s.Format.Cells && (t == "int64" || c.isID()) {
			v.typ, v.escape = t, false
		}
		if c.n < s.events() {
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
func (s *recordSample) field(name string) designValue {
	c := s.fields[name]
	v := designValue{source: name, part: s.part(format.FieldPart), optional: c.n < s.events()}
	integers := c.kinds[format.IntKind] + c.kinds[format.UintKind]
	switch text := c.kinds[format.TextKind] + c.kinds[format.StringKind]; {
	case c.n == 0 || c.bytes == 0 && s.Format.Cells:
		v.typ = "string"
		v.asks = append(v.asks, "All values in the sample are empty. Which type is it?")
	case s.Format.Cells:
		v.asks = append(v.asks, c.doubts()...)
		if v.typ = c.cellType(); v.typ == localTime && s.Options.Zone != nil && all(slices.Collect(maps.Keys(c.distinct)), s.isTime) {
			v.typ = "timestamp"
		} else if v.typ == localTime {
			v.typ = "string"
			v.asks = append(v.asks, fmt.Sprintf("It has times without a time zone, such as %s. Are they instants? With --zone, such as --zone UTC, it is a timestamp.", show([]byte(c.example))))
		}
	case c.kinds[format.BoolKind] == c.n:
		v.typ = "bool"
	case text == c.n:
		v.typ = "string"
	case s.Format.Typed && c.kinds[format.UintKind] == c.n:
		v.typ = "uint64"
	case s.Format.Typed && c.kinds[format.IntKind] == c.n:
		v.typ = "int64"
	case integers+c.kinds[format.FloatKind] == c.n:
		v.typ = "float64"
	default:
		v.typ = "string"
		v.asks = append(v.asks, "Its values have several types, and those of other types than this one are refused. Which type is it?")
	}
	switch {
	case v.typ == "float64" && integers > 0 && s.Format.Typed:
		v.asks = append(v.asks, "Some of its values are integers, and others are not. Is it a floating-point number?")
	case v.typ == "string" || v.typ == "json":
		v.bytes = max(1, c.bytes/max(1, c.n))
	}
	return v
}

// time sets the precision, the load and the bucket.
func (s *recordSample) time(d *design) {
	var times draftTimes
	for _, p := range s.points {
		if p.timed {
			times = append(times, p.eventTime)
		}
	}
	var finer time.Duration
	if d.precision, finer, d.step, d.count = times.measure(); finer > 0 {
		d.precisionAsk = fmt.Sprintf("Times have digits to %s, and write drops what is below a millisecond. Are these digits needed? No series has two events in a millisecond; "+
			"with a precision of %s, each event is a row (%s).", schema.FormatDuration(finer), schema.FormatDuration(finer), unserialized(true))
	}
	if s.untimed > 0 {
		d.asks = append(d.asks, fmt.Sprintf("%s no time. Which one is it? Add it with --time.", words.Count(float64(s.untimed), "line has", "lines have")))
	}
	d.asks = append(d.asks, s.times.questions()...)
	if s.replaced > 0 {
		d.asks = append(d.asks, s.replacedQuestion())
	}
	if s.scattered && s.Format.Points {
		d.asks = append(d.asks, "Lines of a point do not follow each other, and --merge joins them if fewer than 100,000 are between them. If not, can they be sorted by series and time?")
		d.loading = append(d.loading, "--merge")
	}
	if d.bucket = bucketFor(d.step, len(d.fields)); d.bucket == "1w" && slices.ContainsFunc(times, func(e eventTime) bool { return e.at < firstWeek.UnixNano() }) {
		d.bucket = "1d" // the first week with days before 1970 has no label
	}
	if d.step == 0 {
		d.bucketAsk = "How many events has a series a day? A row should have less than 20,000 cells."
	}
}

// firstWeek is the first Monday of 1970.
var firstWeek = time.Date(1970, 1, 5, 0, 0, 0, 0, time.UTC)

// replacedQuestion asks about lines that would replace others.
func (s *recordSample) replacedQuestion() string {
	q := fmt.Sprintf("%d of %d lines have the series and the time of an earlier one, such as %s, and would replace it. ", s.replaced, s.lines, s.replacedOne)
	switch {
	case len(s.separators) > 0:
		return q + fmt.Sprintf("Columns that tell all lines apart: %s. Is one of them a part of the series, to be added to --series?", listed(s.separators))
	case s.Format.Cells:
		return q + "Are they copies, or do several columns tell them apart, to be added to --series?"
	}
	return q + "Are they copies, or does something that the lines lack tell them apart?"
}

// draftTimes are the times of a sample.
type draftTimes []eventTime

// measure returns the precision of times, the usual time between the events of a series, and the number
// of series. The precision is a second at most: later times may have seconds. Precisions below a millisecond are those of events that are as close: finer is then the precision that
// the times have; else, it is 0.
func (t draftTimes) measure() (precision, finer, step time.Duration, series int) {
	d := draft{}
	d.count(t)
	if d.precision >= time.Millisecond {
		return min(d.precision, time.Second), 0, d.step, d.series
	}
	seen := map[eventTime]bool{}
	for _, e := range t {
		of := eventTime{e.series, e.at / int64(time.Millisecond)}
		if seen[of] {
			return d.precision, 0, d.step, d.series
		}
		seen[of] = true
	}
	return time.Millisecond, d.precision, d.step, d.series
}
