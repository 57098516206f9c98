package format

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
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
	NewScanner: scanSamples(false),
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
	NewScanner: scanSamples(true),
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
	lineScanner
	open  bool // whether the format is that of OpenMetrics
	eof   bool // whether # EOF was read
	ended bool
}

// scanSamples returns the scan of a format of samples.
func scanSamples(open bool) func(io.Reader, ReaderOptions) (Scanner, error) {
	return func(in io.Reader, _ ReaderOptions) (Scanner, error) {
		s := &sampleScanner{open: open}
		s.lineScanner = newLineScanner(in, escapedQuotes, s.sampleOrComment)
		return s, nil
	}
}

// Errors of OpenMetrics.
var (
	errCutOff = errors.New("the last line is not # EOF: the input may be cut off")
	errOpen   = errors.New("it has the format of OpenMetrics, with times in seconds: add --format openmetrics")
	errAfter  = errors.New("it follows # EOF: read each exposition by itself")
)

// Scan implements [Scanner].
func (s *sampleScanner) Scan(r *Record) error {
	err := s.lineScanner.Scan(r)
	if err == io.EOF && s.open && !s.eof && !s.ended {
		s.ended = true
		return &InputError{Line: r.Line, Column: 1, Err: errCutOff}
	}
	return err
}

// sampleOrComment parses a sample, or a comment.
func (s *sampleScanner) sampleOrComment(p *line) {
	if s.eof {
		p.err = &InputError{Line: p.Line, Column: 1, Err: errAfter}
		return
	}
	if p.isRecord("#") {
		p.sample(s.open)
		return
	}
	comment := openComment.FindString(string(p.text[p.at:]))
	switch s.eof = s.open && comment == "# EOF"; {
	case !s.open && (comment == "# EOF" || comment == "# UNIT "):
		p.err = errOpen
	case s.open && comment == "":
		p.err = errorAt(p.text, p.Line, 0, "", syntax("want a sample, # TYPE, # HELP, # UNIT or # EOF"))
	}
}

// openComment matches the comments of OpenMetrics.
var openComment = regexp.MustCompile(`^# (EOF$|(TYPE|HELP|UNIT) )`)

// sample parses a sample; open says that the format is that of OpenMetrics.
func (p *line) sample(open bool) {
	begin, named := p.at, p.peek() != '{'
	if named {
		name := p.word("{ \t")
		p.check(isMetricName(name), begin, "want the name of a metric")
		p.add(Value{Part: MetricPart, Text: name, at: begin})
	}
	if p.blanks(blank); p.skip('{') {
		named = p.labels(TagPart, named)
	}
	p.check(named, p.at, "want the name of a metric")
	p.number(sampleValue)
	if !p.ended() && p.peek() != '#' {
		p.time(TimePart, "", open)
	}
	if p.blanks(blank); open && p.peek() == '#' {
		p.exemplar()
	}
	p.blanks(blank)
	p.check(p.at == len(p.text), p.at, "want a line break")
}

// labels parses labels up to a brace. In those of a sample, the first may be the name of the metric. It reports
// whether that is known.
func (p *line) labels(part Part, named bool) bool {
	for p.blanks(blank); p.err == nil && !p.skip('}'); p.blanks(blank) {
		begin, quoted := p.at, p.peek() == '"'
		var name []byte
		if quoted {
			name = p.quoted()
		} else {
			name = p.word("=,{}\" \t")
			p.check(isLabelName(name), begin, "want the name of a label")
		}
		if p.blanks(blank); quoted && !named && p.peek() != '=' {
			p.add(Value{Part: MetricPart, Text: name, at: begin})
			named = true
		} else {
			named = p.label(part, named, Value{Part: part, Name: name, at: begin})
		}
		if p.blanks(blank); p.peek() != '}' {
			p.expect(',', "want a comma or } after a label")
		}
	}
	return named
}

// label parses the equals sign and the value of a label.
func (p *line) label(part Part, named bool, v Value) bool {
	p.expect('=', "want = after the name of a label")
	p.blanks(blank)
	p.check(p.peek() == '"', p.at, "want the value of a label in quotes")
	v.Text = p.quoted()
	switch {
	case part == TagPart && !named && string(v.Name) == "__name__": // as promtool prints it
		p.add(Value{Part: MetricPart, Text: v.Text, at: v.at})
		return true
	case len(v.Text) > 0 || part != TagPart:
		p.add(v)
	}
	return named
}

// quoted parses a string in quotes.
func (p *line) quoted() []byte {
	begin, from := p.at, len(p.arena)
	for i := begin + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			return p.arena[from:]
		case c != '\\':
			p.arena = append(p.arena, c)
		case i+1 < len(p.text):
			i++
			escape := strings.IndexByte(`\"n`, p.text[i])
			if escape < 0 {
				p.fail(i-1, `want \\, \" or \n after a backslash`)
				return nil
			}
			p.arena = append(p.arena, "\\\"\n"[escape])
		}
	}
	p.fail(begin, "the string has no end")
	return nil
}

// number parses a value.
func (p *line) number(name string) {
	p.blanks(blank)
	v := Value{Part: FieldPart, Kind: FloatKind, Name: []byte(name), at: p.at}
	p.check(p.peek() != '{', v.at, "native histograms are not read: export classic ones, whose buckets are samples")
	v.Text = p.word(blank)
	_, err := strconv.ParseFloat(string(v.Text), 64)
	isFloat := (err == nil || errors.Is(err, strconv.ErrRange)) && !ofSource(v.Text)
	p.check(isFloat, v.at, "want a number, NaN, +Inf or -Inf")
	p.add(v)
}

// time parses a timestamp.
func (p *line) time(part Part, name string, open bool) {
	v := Value{Part: part, Kind: FloatKind, Name: []byte(name), at: p.at}
	if v.Text = p.word(blank); open {
		p.check(isDecimal(v.Text), v.at, "want a time in seconds")
	} else {
		p.check(isInteger(v.Text), v.at, "want a time in milliseconds, an integer")
	}
	p.add(v)
}

// exemplar parses an exemplar of OpenMetrics, whose labels are one value.
func (p *line) exemplar() {
	begin, first := p.at, len(p.Values)
	p.skip('#')
	p.blanks(blank)
	p.expect('{', "want the labels of an exemplar")
	p.labels(FieldPart, true)
	if p.err != nil {
		return
	}
	var pairs []pair
	for _, v := range p.Values[first:] {
		pairs = append(pairs, pair{string(v.Name), string(v.Text)})
	}
	text, err := joined(pairs)
	if err != nil {
		p.refuse(begin, "", err)
		return
	}
	p.Values = append(p.Values[:first], Value{Part: FieldPart, Name: []byte(exemplarLabels), Text: []byte(text), at: begin})
	if p.number(exemplarValue); !p.ended() {
		p.time(FieldPart, exemplarTime, true)
	}
}

// Conditions of names of metrics and of labels that need no quotes.
var (
	isMetricName = regexp.MustCompile(`^[A-Za-z_:][0-9A-Za-z_:]*$`).Match
	isLabelName  = regexp.MustCompile(`^[A-Za-z_][0-9A-Za-z_]*$`).Match
)
