package format

import (
	"bytes"
	"io"
	"time"
)

// openTSDB is what OpenTSDB takes on its telnet interface and from files. By its documentation
// (OpenTSDB 2.4, "put", "tsdb import" and "Writing Data"):
//
//		[put] metric timestamp value tag_key=tag_value [tag_key=tag_value...]
//
//	  - Files of tsdb import, and what tsdb scan --import writes, lack the word put.
//	  - Timestamps are positive numbers of seconds since 1970 with up to 10 digits, or of milliseconds
//	    with up to 13 digits. The point in 1364410924.250 may precede the milliseconds.
//	  - Values are integers of 64 bits, or floating-point numbers such as 1.3E3.
//	  - Metrics and tags have no spaces, and there is at least one tag.
var openTSDB = Format{
	Name: "opentsdb", Title: "put lines of OpenTSDB",
	Unit: time.Second, Metric: "metric", Rest: "tags",
	NewScanner: func(in io.Reader, o ReaderOptions) (Scanner, error) {
		return scanLines(noQuotes, func(p *line) { parsePut(p, o.Unit) })(in, o)
	},
}

// words returns the first words of a line: as many as a record may have values, and one more.
func (p *line) words() (out []Value) {
	for !p.ended() && len(out) <= maxValues+1 {
		begin := p.at
		out = append(out, Value{Text: p.word(blank), at: begin})
	}
	return out
}

// parsePut parses a line, whose time has a unit; 0 if its digits say which.
func parsePut(p *line, unit time.Duration) {
	if !p.isRecord("") {
		return
	}
	words := p.words()
	if string(words[0].Text) == "put" && len(words) > 1 {
		words = words[1:]
	}
	if len(words) < 4 {
		p.fail(0, "want a metric, a timestamp, a value and a tag")
		return
	}
	metric, at, value := words[0], words[1], words[2]
	metric.Part = MetricPart
	p.add(metric)
	at.Part, at.Kind = TimePart, IntKind
	var ok bool
	at.Text, ok = milliseconds(p, at.Text, unit)
	p.check(ok, at.at, "want a time in seconds or milliseconds")
	p.add(at)
	value.Part, value.Kind, value.Name = FieldPart, FloatKind, []byte(sampleValue)
	if isInteger(value.Text) {
		value.Kind = IntKind
	}
	p.check(isDecimal(value.Text), value.at, "want a number")
	p.add(value)
	for _, tag := range words[3:] {
		key, text, ok := bytes.Cut(tag.Text, []byte("="))
		ok = ok && len(key) > 0 && len(text) > 0 && bytes.IndexByte(text, '=') < 0
		p.check(ok, tag.at, "want a tag, as in key=value")
		p.add(Value{Part: TagPart, Name: key, Text: text, at: tag.at})
	}
}

// milliseconds returns a timestamp in the unit of the format: seconds, with a fraction for
// milliseconds. It returns false for what is none.
func milliseconds(r *line, text []byte, unit time.Duration) ([]byte, bool) {
	const seconds, most = 10, 13 // digits
	whole, fraction, point := bytes.Cut(text, []byte("."))
	switch {
	case !isInteger(whole) || !isDigit(whole[0]) || point && (len(whole) > seconds || !isInteger(fraction) || !isDigit(fraction[0]) || len(fraction) > most-seconds):
		return nil, false
	case point || unit != 0 || len(text) <= seconds:
		return text, true
	case len(text) > most:
		return nil, false
	}
	from := len(r.arena)
	r.arena = append(r.arena, text[:len(text)-3]...)
	r.arena = append(append(r.arena, '.'), text[len(text)-3:]...)
	return r.arena[from:], true
}
