package format

import (
	"bytes"
	"io"
	"time"
)

// influx is the line protocol of InfluxDB. By its documentation ("Line protocol", InfluxDB 1 and 2):
//
//		measurement[,tag_key=tag_value...] field_key=field_value[,field_key=field_value...] [time]
//
//	  - A backslash precedes a comma or a space in a measurement; a comma, an equals sign or a space in
//	    a tag key, a tag value or a field key; and a quote or a backslash in a field value with quotes.
//	    Before any other character, it is a character like others.
//	  - Field values are floats (1, 1.0, 1e5, not NaN or infinities), integers (1i), unsigned integers
//	    (1u), strings in quotes, and booleans (t, T, true, True, TRUE, f, F, false, False, FALSE).
//	  - Tag values are not empty. Lines that begin with # are comments.
//	  - Strings may contain line breaks. Where a record ends, scanLine of InfluxDB 1 (models/points.go) decides.
//	  - Times are numbers of nanoseconds, or of the unit that the writer said.
//	  - Lines with the same measurement, tags and time are one point, which has the fields of all of
//	    them, and the last value of a field.
var influx = Format{
	Name: "influx", Title: "line protocol of InfluxDB", Extensions: []string{".lp"},
	Unit: time.Nanosecond, Metric: "measurement", Rest: "tags", Typed: true, Points: true,
	scan: func(in io.Reader, _ ReaderOptions) (Scanner, error) {
		parse := func(p *line) error { return (&influxLine{p}).parse() }
		return &lineScanner{lines: newLines(in), frame: &influxFrame{}, quoted: true, parse: parse}, nil
	},
}

// influxFrame is the frame of points.
type influxFrame struct {
	begun   bool // whether there was another character than spaces
	comment bool
	fields  bool // whether a space follows the tags
	open    int  // equals signs without a comma after them, among the fields
	quoted  bool
	escaped bool // whether a backslash precedes the next character
}

func (f *influxFrame) end(text []byte, seen int) int {
	if seen == 0 && *f == (influxFrame{}) {
		if i := plainLine(text, "\"\\"); i >= 0 {
			return i
		}
	}
	for i := seen; i < len(text); i++ {
		if c := text[i]; c == '\n' && !f.quoted && !f.escaped {
			*f = influxFrame{}
			return i
		} else if !f.comment {
			f.add(c)
		}
	}
	return -1
}

// add adds a character of a point.
func (f *influxFrame) add(c byte) {
	if !f.begun {
		f.begun = c != ' ' && c != '\t'
		f.comment = c == '#'
	}
	switch {
	case f.escaped:
		f.escaped = false
	case c == '\\':
		f.escaped = true
	case c == ' ':
		f.fields = f.begun
	case c == '"':
		f.quoted = f.quoted != (f.open > 0)
	case f.quoted || !f.fields:
	case c == '=':
		f.open++
	case c == ',':
		f.open--
	}
}

// influxLine is a line that is parsed.
type influxLine struct{ *line }

// parse parses the line.
func (p *influxLine) parse() error {
	begin := p.at
	name := p.token(", \n", ", ")
	if len(name) == 0 {
		return p.fail(begin, "want a measurement")
	}
	p.add(Value{Part: MetricPart, Text: name, at: begin})
	for p.skip(',') {
		if err := p.tag(); err != nil {
			return err
		}
	}
	if !p.blanks(" ") {
		return p.fail(p.at, "want a space and the fields")
	}
	for more := true; more; more = p.skip(',') {
		if err := p.field(); err != nil {
			return err
		}
	}
	return p.end()
}

// tag parses a tag.
func (p *influxLine) tag() error {
	begin := p.at
	key := p.token(",= \n", ",= ")
	if len(key) == 0 || !p.skip('=') {
		return p.fail(begin, "want a tag, as in key=value")
	}
	at := p.at
	value := p.token(",= \n", ",= ")
	if len(value) == 0 {
		return p.fail(at, "the value of a tag is empty: leave out the tag")
	}
	p.add(Value{Part: TagPart, Name: key, Text: value, at: begin})
	return nil
}

// field parses a field.
func (p *influxLine) field() error {
	begin := p.at
	key := p.token(",= \n", ",= ")
	if len(key) == 0 || !p.skip('=') {
		return p.fail(begin, "want a field, as in key=value")
	}
	v := Value{Part: FieldPart, Kind: StringKind, Name: key, at: p.at}
	if p.skip('"') {
		if v.Text = p.token(`"`, `"\`); !p.skip('"') {
			return p.fail(v.at, "the string has no end")
		}
	} else if v.Text, v.Kind = influxValue(p.token(", \n", "")); v.Text == nil {
		return p.fail(v.at, "want a number such as 1.5, 1i or 1u, a boolean, or a string in quotes")
	}
	p.add(v)
	return nil
}

// end parses the time and the end of the line.
func (p *influxLine) end() error {
	if p.blanks(" ") && p.at < len(p.text) {
		begin := p.at
		text := p.token(" \n", "")
		if !isInteger(text) {
			return p.fail(begin, "want a time, an integer")
		}
		p.add(Value{Part: TimePart, Kind: IntKind, Text: text, at: begin})
		p.blanks(" ")
	}
	if p.at < len(p.text) {
		return p.fail(p.at, "want a line break")
	}
	return nil
}

// influxValue returns the text of a value without quotes, and its kind; nil if it is none.
func influxValue(text []byte) ([]byte, Kind) {
	if isDecimal(text) {
		return text, FloatKind
	}
	switch string(text) {
	case "t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE":
		return text, BoolKind
	}
	if number, ok := bytes.CutSuffix(text, []byte("i")); ok && isInteger(number) {
		return number, IntKind
	}
	if number, ok := bytes.CutSuffix(text, []byte("u")); ok && isInteger(number) && number[0] != '-' {
		return number, UintKind
	}
	return nil, 0
}
