package format

import (
	"bytes"
	"errors"
	"regexp"
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
//	  - Strings may contain line breaks.
//	  - Times are numbers of nanoseconds, or of the unit that the writer said.
//	  - Lines with the same measurement, tags and time are one point, which has the fields of all of
//	    them, and the last value of a field.
var influx = Format{
	Name: "influx", Title: "line protocol of InfluxDB", Extensions: []string{".lp"},
	Unit: time.Nanosecond, Metric: "measurement", Rest: "tags", Typed: true, Points: true,
	NewScanner: scanLines(escapedQuotes, (*line).influx),
}

// influx parses a point.
func (p *line) influx() {
	if !p.isRecord("#") {
		return
	}
	begin := p.at
	name := p.token(", \n", ", ")
	p.check(len(name) > 0, begin, "want a measurement")
	p.add(Value{Part: MetricPart, Text: name, at: begin})
	for p.skip(',') {
		begin = p.at
		key := p.influxKey("want a tag, as in key=value")
		at := p.at
		value := p.token(",= \n", ",= ")
		p.check(len(value) > 0, at, "the value of a tag is empty: leave out the tag")
		p.add(Value{Part: TagPart, Name: key, Text: value, at: begin})
	}
	p.check(p.blanks(" "), p.at, "want a space and the fields")
	for more := true; more; more = p.skip(',') {
		p.influxField()
	}
	if p.blanks(" ") && p.at < len(p.text) {
		begin = p.at
		text := p.token(" \n", "")
		p.check(isInteger(text), begin, "want a time, an integer")
		p.add(Value{Part: TimePart, Kind: IntKind, Text: text, at: begin})
		p.blanks(" ")
	}
	p.check(p.at == len(p.text), p.at, "want a line break")
	if failed, is := errors.AsType[*InputError](p.err); is && influxOpen.Match(influxStrings.ReplaceAll(p.text, nil)) {
		p.err = &BrokenError{*failed}
	}
}

// After an error, a quote may be that of a string which goes on in the next line, unless it is one of a string of a
// field, or follows a backslash; and a line goes on after a backslash at its end.
var (
	influxStrings = regexp.MustCompile(`="(?:[^"\\]|\\.)*"(?:[, ]|$)|\\.`)
	influxOpen    = regexp.MustCompile(`"|\\$`)
)

// influxKey parses the key of a tag or a field, and the equals sign.
func (p *line) influxKey(want string) []byte {
	begin := p.at
	key := p.token(",= \n", ",= ")
	p.check(len(key) > 0 && p.skip('='), begin, want)
	return key
}

// influxField parses a field.
func (p *line) influxField() {
	v := Value{Part: FieldPart, Kind: StringKind, Name: p.influxKey("want a field, as in key=value")}
	if v.at = p.at; p.skip('"') {
		v.Text = p.token(`"`, `"\`)
		p.check(p.skip('"'), v.at, "the string has no end")
	} else {
		v.Text, v.Kind = influxValue(p.token(", \n", ""))
		p.check(v.Text != nil, v.at, "want a number such as 1.5, 1i or 1u, a boolean, or a string in quotes")
	}
	p.add(v)
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
