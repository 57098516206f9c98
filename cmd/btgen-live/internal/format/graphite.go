package format

import (
	"bytes"
	"time"
)

// graphite is the plaintext protocol of Graphite. By its documentation ("Feeding In Your Data" and "Graphite Tag
// Support", Graphite 1.1):
//
//		metric_path[;tag=value...] value timestamp
//
//	  - Words are separated by blanks.
//	  - Timestamps are in seconds since 1970, of which carbon drops fractions; -1 is the time of arrival.
//	  - Values are floating-point numbers; carbon drops NaN.
var graphite = Format{
	Name: "graphite", Title: "plaintext protocol of Graphite",
	Unit: time.Second, Metric: "metric", Rest: "tags",
	NewScanner: scanLines(noQuotes, parseGraphite),
}

// parseGraphite parses a line.
func parseGraphite(p *line) {
	if !p.isRecord("") {
		return
	}
	words := p.words()
	if len(words) != 3 {
		p.fail(0, "want a metric, a value and a timestamp")
		return
	}
	path, tags, tagged := bytes.Cut(words[0].Text, []byte(";"))
	p.add(Value{Part: MetricPart, Text: path, at: words[0].at})
	for tagged {
		var tag []byte
		tag, tags, tagged = bytes.Cut(tags, []byte(";"))
		key, text, _ := bytes.Cut(tag, []byte("="))
		p.check(len(key) > 0 && len(text) > 0, words[0].at, "want tags, as in metric;key=value")
		p.add(Value{Part: TagPart, Name: key, Text: text, at: words[0].at})
	}
	value, at := words[1], words[2]
	p.check(isDecimal(value.Text), value.at, "want a number")
	value.Part, value.Kind, value.Name = FieldPart, FloatKind, []byte(sampleValue)
	p.add(value)
	if string(at.Text) != "-1" { // without a time
		p.check(isDecimal(at.Text), at.at, "want a time in seconds")
		at.Part, at.Kind = TimePart, FloatKind
		p.add(at)
	}
}
