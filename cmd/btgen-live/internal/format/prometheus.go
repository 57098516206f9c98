package format

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"time"
)

// prometheus is the text-based format of Prometheus. By its documentation ("Exposition formats",
// version 0.0.4, and the UTF-8 names of version 1.0.0):
//
//		metric_name[{label_name="label value",...}] value [timestamp]
//		{"metric name",label_name="label value",...} value [timestamp]
//
//	  - Tokens are separated by any number of blanks and tabs, and a comma may follow the last label.
//	  - Values of labels have the escapes \\, \" and \n. A label that is empty is the same as none.
//	  - Values are floats as strconv.ParseFloat of Go accepts them, with NaN, +Inf and -Inf. Hexadecimal
//	    ones and _ between digits, which it accepts, too, are refused: nothing writes them.
//	  - Timestamps are integers, in milliseconds since 1970.
//	  - Lines that begin with # are comments, among them HELP and TYPE.
//	  - promtool tsdb dump prints the name of the metric as a label __name__.
//	  - Histograms and summaries are samples of name_bucket with a label le, of name with a label
//	    quantile, of name_sum and of name_count.
var prometheus = Format{
	Name: "prometheus", Title: "text-based format of Prometheus", Extensions: []string{".prom"},
	Unit: time.Millisecond, Metric: "metric", Rest: "labels",
	scan: func(in io.Reader, _ ReaderOptions) (Scanner, error) { return &sampleScanner{lines: newLines(in)}, nil },
}

// openMetrics is the text format of OpenMetrics. By its specification (OpenMetrics 1.0, section "ABNF"),
// it differs from that of Prometheus as follows:
//
//   - Tokens are separated by one space, there are no empty lines, and no comma follows the last label.
//   - Timestamps are numbers of seconds since 1970, with a fraction or an exponent.
//   - Exemplars may follow: # {label="value",...} value [timestamp].
//   - The only comments are TYPE, HELP, UNIT and the last line, # EOF, without which a file is cut off.
//
// It accepts several spaces, and the comma.
var openMetrics = Format{
	Name: "openmetrics", Title: "text format of OpenMetrics",
	Unit: time.Second, Metric: "metric", Rest: "labels",
	scan: func(in io.Reader, _ ReaderOptions) (Scanner, error) {
		return &sampleScanner{lines: newLines(in), open: true}, nil
	},
}

const blank = " \t"

// Names of the fields of samples.
const (
	sampleValue    = "value"
	exemplarValue  = "exemplar_value"
	exemplarTime   = "exemplar_time"
	exemplarLabels = "exemplar_labels"
)

// sampleScanner scans samples.
type sampleScanner struct {
	lines
	open  bool // whether the format is that of OpenMetrics
	eof   bool // whether # EOF was read
	ended bool
}

// Errors of OpenMetrics.
var (
	errCutOff = errors.New("the last line is not # EOF: the input may be cut off")
	errOpen   = errors.New("it has the format of OpenMetrics, with times in seconds: add --format openmetrics")
	errAfter  = errors.New("it follows # EOF: read each exposition by itself")
)

// Scan implements [Scanner].
func (s *sampleScanner) Scan(r *Record) error {
	for {
		read, number, err := s.next()
		switch r.reset(read, number); {
		case err == io.EOF && s.open && !s.eof && !s.ended:
			s.ended = true
			return &InputError{Line: number, Column: 1, Err: errCutOff}
		case err != nil:
			return err
		case s.eof && s.open:
			return &InputError{Line: number, Column: 1, Err: errAfter}
		}
		p := &sampleLine{line: &line{Record: r}, open: s.open}
		if p.blanks(blank); p.at < len(read) && p.peek() != '#' {
			return broken(p.parse(), read)
		}
		comment := openComment.FindString(string(read[p.at:]))
		switch {
		case !s.open && (comment == "# EOF" || comment == "# UNIT "):
			return errOpen
		case !s.open:
		case comment == "":
			return r.fail(0, "want a sample, # TYPE, # HELP, # UNIT or # EOF")
		case comment == "# EOF":
			s.eof = true
		}
	}
}

// openComment matches the comments of OpenMetrics.
var openComment = regexp.MustCompile(`^# (EOF$|(TYPE|HELP|UNIT) )`)

// sampleLine is a line that is parsed.
type sampleLine struct {
	*line
	open   bool
	metric bool // whether the metric was parsed
}

// parse parses the line.
func (p *sampleLine) parse() error {
	if begin := p.at; p.peek() != '{' {
		name := p.word("{ \t")
		if !isMetricName(name) {
			return p.fail(begin, "want the name of a metric")
		}
		p.add(Value{Part: MetricPart, Text: name, at: begin})
		p.metric = true
	}
	if p.blanks(blank); p.peek() == '{' {
		if err := p.labels(TagPart); err != nil {
			return err
		}
	}
	if !p.metric {
		return p.fail(p.at, "want the name of a metric")
	}
	if err := p.number(FieldPart, sampleValue); err != nil {
		return err
	}
	if p.blanks(blank); p.at < len(p.text) && p.peek() != '#' {
		if err := p.time(TimePart, ""); err != nil {
			return err
		}
	}
	if p.blanks(blank); p.open && p.peek() == '#' {
		if err := p.exemplar(); err != nil {
			return err
		}
	}
	if p.blanks(blank); p.at < len(p.text) {
		return p.fail(p.at, "want a line break")
	}
	return nil
}

// labels parses labels in braces. In those of a sample, the first may be the name of the metric.
func (p *sampleLine) labels(part Part) error {
	p.at++
	for {
		p.blanks(blank)
		if p.peek() == '}' {
			p.at++
			return nil
		}
		begin := p.at
		name, quoted, err := p.name()
		if err != nil {
			return err
		}
		if p.blanks(blank); quoted && !p.metric && p.peek() != '=' {
			p.add(Value{Part: MetricPart, Text: name, at: begin})
			p.metric = true
		} else if err := p.label(part, name, begin); err != nil {
			return err
		}
		switch p.blanks(blank); p.peek() {
		case ',':
			p.at++
		case '}':
		default:
			return p.fail(p.at, "want a comma or } after a label")
		}
	}
}

// name parses the name of a label, which may be in quotes.
func (p *sampleLine) name() (name []byte, quoted bool, err error) {
	if p.peek() == '"' {
		name, err = p.quoted()
		return name, true, err
	}
	begin := p.at
	if name = p.word("=,{}\" \t"); !isLabelName(name) {
		return nil, false, p.fail(begin, "want the name of a label")
	}
	return name, false, nil
}

// label parses the equals sign and the value of a label.
func (p *sampleLine) label(part Part, name []byte, begin int) error {
	if p.peek() != '=' {
		return p.fail(p.at, "want = after the name of a label")
	}
	p.at++
	if p.blanks(blank); p.peek() != '"' {
		return p.fail(p.at, "want the value of a label in quotes")
	}
	text, err := p.quoted()
	switch {
	case err != nil:
	case part == TagPart && !p.metric && string(name) == "__name__": // as promtool prints it
		p.add(Value{Part: MetricPart, Text: text, at: begin})
		p.metric = true
	case len(text) > 0 || part != TagPart:
		p.add(Value{Part: part, Name: name, Text: text, at: begin})
	}
	return err
}

// quoted parses a string in quotes.
func (p *sampleLine) quoted() ([]byte, error) {
	begin, from := p.at, len(p.arena)
	for i := begin + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			return p.arena[from:], nil
		case c != '\\':
			p.arena = append(p.arena, c)
		case i+1 == len(p.text):
		default:
			i++
			switch c := p.text[i]; c {
			case '\\', '"':
				p.arena = append(p.arena, c)
			case 'n':
				p.arena = append(p.arena, '\n')
			default:
				return nil, p.fail(i-1, `want \\, \" or \n after a backslash`)
			}
		}
	}
	return nil, p.fail(begin, "the string has no end")
}

// number parses a value.
func (p *sampleLine) number(part Part, name string) error {
	p.blanks(blank)
	begin := p.at
	if p.peek() == '{' {
		return p.fail(begin, "native histograms are not read: export classic ones, whose buckets are samples")
	}
	text := p.word(" \t")
	if _, err := strconv.ParseFloat(string(text), 64); err != nil && !errors.Is(err, strconv.ErrRange) || ofSource(text) {
		return p.fail(begin, "want a number, NaN, +Inf or -Inf")
	}
	p.add(Value{Part: part, Kind: FloatKind, Name: []byte(name), Text: text, at: begin})
	return nil
}

// time parses a timestamp.
func (p *sampleLine) time(part Part, name string) error {
	begin := p.at
	text := p.word(" \t")
	switch {
	case p.open && !isDecimal(text):
		return p.fail(begin, "want a time in seconds")
	case !p.open && !isInteger(text):
		return p.fail(begin, "want a time in milliseconds, an integer")
	}
	p.add(Value{Part: part, Kind: FloatKind, Name: []byte(name), Text: text, at: begin})
	return nil
}

// exemplar parses an exemplar, whose labels are one value.
func (p *sampleLine) exemplar() error {
	begin := p.at
	p.at++
	if p.blanks(blank); p.peek() != '{' {
		return p.fail(p.at, "want the labels of an exemplar")
	}
	first := len(p.Values)
	if err := p.labels(FieldPart); err != nil {
		return err
	}
	var pairs []pair
	for _, v := range p.Values[first:] {
		pairs = append(pairs, pair{string(v.Name), string(v.Text)})
	}
	text, err := joined(pairs)
	if err != nil {
		return errorAt(p.text, p.Line, begin, "", err)
	}
	p.Values = append(p.Values[:first], Value{Part: FieldPart, Name: []byte(exemplarLabels), Text: []byte(text), at: begin})
	if err := p.number(FieldPart, exemplarValue); err != nil {
		return err
	}
	if p.blanks(blank); p.at < len(p.text) {
		return p.time(FieldPart, exemplarTime)
	}
	return nil
}

// Conditions of names of metrics and of labels that need no quotes.
var (
	isMetricName = regexp.MustCompile(`^[A-Za-z_:][0-9A-Za-z_:]*$`).Match
	isLabelName  = regexp.MustCompile(`^[A-Za-z_][0-9A-Za-z_]*$`).Match
)
