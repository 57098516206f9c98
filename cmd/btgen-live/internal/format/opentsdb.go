package format

import (
	"bytes"
	"io"
	"regexp"
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
	scan: func(in io.Reader, o ReaderOptions) (Scanner, error) {
		return scanLines(false, func(p *line) error { return parsePut(p, o.Unit) })(in, o)
	},
}

// wordSyntax matches a word of a line.
var wordSyntax = regexp.MustCompile(`[^ \t]+`)

// wordsOf returns the offsets of the first words of a line: those of as many values as a record may have, and
// one more.
func wordsOf(line []byte) [][]int { return wordSyntax.FindAllIndex(line, maxValues+2) }

// parsePut parses a line, whose time has a unit; 0 if its digits say which.
func parsePut(r *line, unit time.Duration) error {
	words := wordsOf(r.text)
	word := func(i int) []byte { return r.text[words[i][0]:words[i][1]] }
	if string(word(0)) == "put" && len(words) > 1 {
		words = words[1:]
	}
	if len(words) < 4 {
		return r.fail(0, "want a metric, a timestamp, a value and a tag")
	}
	r.add(Value{Part: MetricPart, Text: word(0), at: words[0][0]})
	at, ok := milliseconds(r, word(1), unit)
	if !ok {
		return r.fail(words[1][0], "want a time in seconds or milliseconds")
	}
	r.add(Value{Part: TimePart, Kind: IntKind, Text: at, at: words[1][0]})
	value := Value{Part: FieldPart, Kind: FloatKind, Name: []byte(sampleValue), Text: word(2), at: words[2][0]}
	if isInteger(value.Text) {
		value.Kind = IntKind
	} else if !isDecimal(value.Text) {
		return r.fail(value.at, "want a number")
	}
	r.add(value)
	for i := 3; i < len(words); i++ {
		key, text, ok := bytes.Cut(word(i), []byte("="))
		if !ok || len(key) == 0 || len(text) == 0 || bytes.IndexByte(text, '=') >= 0 {
			return r.fail(words[i][0], "want a tag, as in key=value")
		}
		r.add(Value{Part: TagPart, Name: key, Text: text, at: words[i][0]})
	}
	return nil
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
