package infer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Records are a sample of the events that another system exports.
type Records struct {
	Name    string         // of the table, unless all records have one metric
	Title   string         // of the file, for the first comment
	Format  *format.Format // of the file
	Input   io.Reader
	Options format.ReaderOptions
	Time    string   // the column of CSV with the time; empty to find it
	Series  []string // the columns of CSV that tell one series from another; nil to find them
	Limit   int      // maximum number of records
	File    string   // the path to load; empty if it is unknown
	Flags   []string // those of the command that loads the events which Options stand for
}

// Limits of a sample in memory.
const (
	maxNames    = 1000     // of tags and fields
	maxDistinct = 1000     // values of a series
	maxBytes    = 64 << 20 // of names and values
)

// ProposeRecords returns a schema for a new table for the events of another system. The result depends
// on the records alone. Report is nil.
func ProposeRecords(r Records) (*Proposal, error) {
	s := &recordSample{Records: r, byName: map[columnName]*recordColumn{}, points: map[eventTime]bool{}}
	scanner, err := r.Format.Scan(io.TeeReader(r.Input, &s.text), r.Options)
	if err != nil {
		return nil, err
	}
	p, err := s.propose(scanner)
	return p, format.Uncommented(s.columns, err)
}

func (s *recordSample) propose(scanner format.Scanner) (*Proposal, error) {
	if err := s.read(scanner); err != nil {
		return nil, err
	}
	if len(s.lines) == 0 {
		return nil, errors.New(strings.TrimSuffix("the sample has no events: "+strings.Join(s.errors, "; "), ": "))
	}
	if s.Format.Cells {
		if err := s.assign(); err != nil {
			return nil, err
		}
	}
	s.findPoints()
	err := s.checkTimes()
	if s.Format.Cells && len(s.Series)+len(s.constants) == 0 {
		err = errors.Join(err, fmt.Errorf("no tag or column seems to tell one series from another: add --series COLUMN, or if all lines are of one series, its name and value, as in --series source=%s", words.Shell(s.Name)))
	}
	if err != nil {
		return nil, err
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
	text      head            // of the input
	last      int             // line of the last record
	errors    []string        // the first
	all       []*recordColumn // in the order in which they appear
	byName    map[columnName]*recordColumn
	lines     []eventTime        // of each record, its point
	points    map[eventTime]bool // of the lines
	columns   []string           // of CSV
	left      []string           // columns of CSV that are joined as the time
	constants []designValue      // values of the series that lines lack
	notText   int                // records that are not in UTF-8
	questions
	merge bool // whether lines of a point do not follow each other
}

// head keeps the beginning of what is written to it: about maxBytes.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if h.Len() < maxBytes {
		return h.Buffer.Write(p)
	}
	return len(p), nil
}

// columnName tells columns apart: tags and fields may have one name. Metrics and times have none.
type columnName struct {
	part format.Part
	name string
}

// recordColumn is what is known of the values of a part of the records.
type recordColumn struct {
	columnName
	values     data
	records    []int // of values: indexes, in ascending order
	kinds      [format.StringKind + 1]int
	typ, doubt string // of a column of CSV
}

func (s *recordSample) know(part format.Part, name string) (*recordColumn, error) {
	of := columnName{part, name}
	if s.byName[of] == nil {
		if len(s.all) == maxNames {
			return nil, fmt.Errorf("%w: there are over %d tags or fields: columns must be named by fields [C08]", ErrNoSchema, maxNames)
		}
		s.byName[of] = &recordColumn{columnName: of}
		s.all = append(s.all, s.byName[of])
	}
	return s.byName[of], nil
}

func (s *recordSample) of(part format.Part) []*recordColumn {
	return slices.DeleteFunc(slices.Clone(s.all), func(c *recordColumn) bool { return c.part != part })
}

func (s *recordSample) values(part format.Part) (out data) {
	for _, c := range s.of(part) {
		out = append(out, c.values...)
	}
	return out
}

// isEmpty reports whether there is no value that is not empty.
func (c *recordColumn) isEmpty() bool { return c.values.first(isFull) == nil }

func (s *recordSample) read(scanner format.Scanner) error {
	var r format.Record
	for failed, total := 0, 0; len(s.lines) < s.Limit && failed <= s.Limit && total < maxBytes; {
		err := scanner.Scan(&r)
		s.columns, s.last = r.Columns, r.Line
		_, refused := errors.AsType[*format.InputError](err)
		switch {
		case err == io.EOF:
			return nil
		case refused:
			if failed++; failed <= 3 {
				s.errors = append(s.errors, err.Error())
			}
		case err != nil:
			return err
		case s.isChosen(r.Values):
			size, err := s.add(r.Values)
			if err != nil {
				return err
			}
			total += size
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

// add adds a record, and returns the size of its texts.
func (s *recordSample) add(values []format.Value) (size int, err error) {
	for _, name := range s.columns {
		if _, err := s.know(format.AnyPart, name); err != nil {
			return 0, err
		}
	}
	valid := true
	for _, v := range values {
		c, err := s.know(v.Part, string(v.Name))
		if err != nil {
			return 0, err
		}
		c.values, c.records = append(c.values, bytes.Clone(v.Text)), append(c.records, len(s.lines))
		c.kinds[v.Kind]++
		size += len(v.Name) + len(v.Text)
		valid = valid && utf8.Valid(v.Text) && utf8.Valid(v.Name)
	}
	if s.lines = append(s.lines, eventTime{at: noTime}); !valid {
		s.notText++
	}
	return size, nil
}

// findPoints finds the points of the records.
func (s *recordSample) findPoints() {
	for _, c := range s.all {
		for k, r := range c.records {
			switch c.part {
			case format.MetricPart, format.TagPart:
				s.lines[r].series += c.name + "\x00" + string(c.values[k]) + "\x00"
			case format.TimePart:
				if at, ok := format.ParseTime(c.values[k], s.readerOptions()); ok {
					s.lines[r].at = at.UnixNano()
				}
			}
		}
	}
	replaced, example := 0, ""
	for i, point := range s.lines {
		switch known := s.points[point]; {
		case known && s.Format.Points:
			s.merge = s.merge || s.lines[i-1] != point
		case known && point.at != noTime:
			replaced, example = replaced+1, cmp.Or(example, s.shownPoint(i))
		}
		s.points[point] = true
	}
	if replaced > 0 {
		apart := "Are they copies, or does something that the lines lack tell them apart?"
		if separators := s.separators(); len(separators) > 0 {
			apart = fmt.Sprintf("Columns that tell all lines apart: %s. Is one of them a part of the series, to be added to --series?", listed(separators))
		} else if s.Format.Cells {
			apart = "Are they copies, or do several columns tell them apart, to be added to --series?"
		}
		s.ask(true, "%d of %d lines have the series and the time of an earlier one, such as %s, and would replace it. %s", replaced, len(s.lines), example, apart)
	}
	s.ask(s.merge, "Lines of a point do not follow each other, and --merge joins them if fewer than 100,000 are between them. If not, can they be sorted by series and time?")
	untimed := len(s.lines) - len(s.values(format.TimePart))
	s.ask(untimed > 0, "%s no time. Which one is it? Add it with --time.", words.Count(float64(untimed), "line has", "lines have"))
}

// noTime is the time of events without one.
const noTime = math.MinInt64

// readerOptions returns the options of readers of the file.
func (s *recordSample) readerOptions() format.ReaderOptions {
	o := s.Options
	o.Unit = cmp.Or(o.Unit, s.Format.Unit)
	return o
}

// shownPoint returns the series and the time of a record for a question.
func (s *recordSample) shownPoint(record int) string {
	var out []string
	for _, c := range s.all {
		k, has := slices.BinarySearch(c.records, record)
		switch {
		case !has:
		case c.part == format.MetricPart || c.part == format.TimePart:
			out = append(out, show(c.values[k]))
		case c.part == format.TagPart:
			out = append(out, show(c.name)+"="+show(c.values[k]))
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

func (s *recordSample) design() (*design, error) {
	metrics := s.values(format.MetricPart).distinct(len(s.lines))
	notText := fmt.Sprintf("%s text that is not UTF-8, and write refuses them: convert the file, as in iconv -f ISO-8859-1 -t UTF-8, if that is its encoding", words.Count(float64(s.notText), "line has", "lines have"))
	switch {
	case len(metrics) > 1 && s.Format.Points:
		return nil, fmt.Errorf("the sample has several measurements: %s: choose one with --metric", listed(metrics))
	case s.notText == len(s.lines):
		return nil, errors.New(notText)
	}
	s.ask(s.notText > 0, "%s. Can they be converted?", notText)
	d := &design{
		table: s.Name, words: []string{s.Format.Metric, s.Format.Rest}, left: s.left, questions: s.questions,
		ttlAsk: "How long are events kept? To delete them after a year, write {max_age: 365d}.",
		about: []string{fmt.Sprintf("Proposed by btgen-live infer from %s, %s: %s, %s.", s.Title, s.Format.Title,
			words.Count(float64(len(s.lines)), "line", "lines"), words.Count(float64(s.events()), "event", "events"))},
		loading: append([]string{"--format " + s.Format.Name}, s.Flags...), unread: s.unread,
	}
	if s.File != "" && oneLine(s.File) == s.File && !strings.HasPrefix(s.File, "-") {
		d.file = words.Shell(s.File)
	}
	if len(metrics) == 1 {
		d.table = metrics[0]
	}
	if s.Options.Metric != "" {
		d.loading = append(d.loading, "--metric "+words.Shell(s.Options.Metric))
	}
	if s.merge {
		d.loading = append(d.loading, "--merge")
	}
	if s.Format.Cells {
		d.timeName = s.Time
	}
	s.addSeries(d, metrics)
	d.partition = len(d.series)
	for _, c := range s.of(format.FieldPart) {
		d.fields = append(d.fields, s.field(c))
	}
	if len(d.fields) == 0 {
		return nil, fmt.Errorf("%w: no column is a field", ErrNoSchema)
	}
	s.time(d)
	return d, nil
}

// unread returns the errors of the lines of the sample that the command which loads the file would report.
func (s *recordSample) unread(l *layout.Layout, names format.ReaderOptions) (out []error) {
	o, last := s.Options, s.last
	o.Names, o.Series, o.Partial = names.Names, names.Series, s.merge
	if s.text.Len() >= maxBytes { // the line at its end may be cut
		last = min(last, bytes.Count(s.text.Bytes(), []byte("\n")))
	}
	reader, err := s.Format.Read(&s.text, l, o)
	if err == nil && s.merge {
		reader, err = format.NewJoiner(reader, l, o, false)
	}
	for err == nil {
		e, line, failed := reader.Next()
		refused, is := errors.AsType[*format.InputError](failed)
		if is {
			line = refused.Line
		}
		switch {
		case failed == io.EOF || line > last:
			return out
		case failed != nil && !is:
			err = failed
		case is:
			out = append(out, failed)
		case !slices.ContainsFunc(e.Values, func(v any) bool { return v != nil }):
			out = append(out, fmt.Errorf("%d:1: event has no value", line))
		}
	}
	return append(out, err)
}

// part returns the part of a record that values are in the file: cells of CSV have none.
func (s *recordSample) part(of format.Part) format.Part {
	if s.Format.Cells {
		return format.AnyPart
	}
	return of
}

// addSeries adds the metric if there are several, the tags of all events, and a string for the others.
func (s *recordSample) addSeries(d *design, metrics []string) {
	metric := designValue{source: s.Format.Metric, part: format.MetricPart, typ: "string", example: slices.Concat(metrics, []string{d.table})[0], bytes: dataOf(metrics).bytes()}
	if len(metrics) > 1 {
		d.series = append(d.series, metric)
	}
	d.series = append(d.series, s.constants...)
	others, tags := 0, s.of(format.TagPart)
	slices.SortFunc(tags, func(a, b *recordColumn) int {
		return cmp.Or(slices.Index(s.Series, a.name)-slices.Index(s.Series, b.name), strings.Compare(a.name, b.name))
	})
	for _, c := range tags {
		lacking := len(c.values) < len(s.lines)
		if lacking && !s.Format.Cells {
			others++
			continue
		}
		v := designValue{source: c.name, part: s.part(format.TagPart), typ: "string", example: c.values.example(), bytes: max(1, c.values.bytes())}
		v.escape = c.values.first(func(b []byte) bool { return bytes.IndexByte(b, '#') >= 0 }) != nil
		if c.typ == "int64" || c.typ == idText.typ {
			v.typ, v.escape = c.typ, false
		}
		v.ask(lacking, "Some events lack it, and are refused. What is it for them?")
		d.series = append(d.series, v)
	}
	if others > 0 {
		const bytes = 16
		d.series = append(d.series, designValue{source: s.Format.Rest, part: format.MetricPart, typ: "string", escape: true, bytes: others * bytes, questions: questions{
			fmt.Sprintf("It has the tags that some events lack, as in a=1,b=2, or - for none. The sample has %d of them. Do they tell one series from another?", others),
		}})
	}
	if len(d.series) == 0 && s.Format.Metric != "" {
		d.series = append(d.series, metric)
	}
}

func (s *recordSample) field(c *recordColumn) designValue {
	n := len(c.values)
	v := designValue{source: c.name, part: s.part(format.FieldPart), optional: n < s.events()}
	integers := c.kinds[format.IntKind] + c.kinds[format.UintKind]
	switch text := c.kinds[format.TextKind] + c.kinds[format.StringKind]; {
	case n == 0 || s.Format.Cells && c.isEmpty():
		v.typ = "string"
		v.ask(true, "All values in the sample are empty. Which type is it?")
	case s.Format.Cells:
		v.questions = append(v.questions, c.doubt)
		if v.typ = c.typ; v.typ == localTime && s.Options.Zone != nil && c.values.all(s.isTime) {
			v.typ = "timestamp"
		} else if v.typ == localTime {
			v.typ = "string"
			v.ask(true, "It has times without a time zone, such as %s. Are they instants? With --zone, such as --zone UTC, it is a timestamp.", show(c.values.example()))
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
		v.ask(true, "Its values have several types, and those of other types than this one are refused. Which type is it?")
	}
	switch {
	case v.typ == "float64" && integers > 0 && s.Format.Typed:
		v.ask(true, "Some of its values are integers, and others are not. Is it a floating-point number?")
	case v.typ == "string" || v.typ == "json":
		v.bytes = max(1, c.values.bytes())
	}
	return v
}

// time sets the precision, the load and the bucket. The precision is a second at most: later times may have seconds. It is below a
// millisecond only if events are as close.
func (s *recordSample) time(d *design) {
	var times []eventTime
	millis := map[eventTime]bool{}
	for p := range s.points {
		if p.at != noTime {
			times = append(times, p)
			millis[eventTime{p.series, p.at / int64(time.Millisecond)}] = true
		}
	}
	switch d.load = loadOf(times, time.Nanosecond); {
	case d.precision >= time.Millisecond:
		d.precision = min(d.precision, time.Second)
	case len(millis) == len(times):
		d.precisionAsk = fmt.Sprintf("Times have digits to %s, and write drops what is below a millisecond. Are these digits needed? No series has two events in a millisecond; "+
			"with a precision of %[1]s, each event is a row (%s).", schema.FormatDuration(d.precision), codec.SingleUnserialized)
		d.precision = time.Millisecond
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
