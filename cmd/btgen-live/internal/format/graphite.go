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
	scan: scanLines(false, parseGraphite),
}

// parseGraphite parses a line.
func parseGraphite(r *line) error {
	words := wordsOf(r.text)
	word := func(i int) []byte { return r.text[words[i][0]:words[i][1]] }
	if len(words) != 3 {
		return r.fail(0, "want a metric, a value and a timestamp")
	}
	path, tags, tagged := bytes.Cut(word(0), []byte(";"))
	r.add(Value{Part: MetricPart, Text: path, at: words[0][0]})
	for tagged {
		var tag []byte
		tag, tags, tagged = bytes.Cut(tags, []byte(";"))
		key, text, _ := bytes.Cut(tag, []byte("="))
		if len(key) == 0 || len(text) == 0 {
			return r.fail(words[0][0], "want tags, as in metric;key=value")
		}
		r.add(Value{Part: TagPart, Name: key, Text: text, at: words[0][0]})
	}
	if !isDecimal(word(1)) {
		return r.fail(words[1][0], "want a number")
	}
	r.add(Value{Part: FieldPart, Kind: FloatKind, Name: []byte(sampleValue), Text: word(1), at: words[1][0]})
	switch at := word(2); {
	case string(at) == "-1": // without a time
	case !isDecimal(at):
		return r.fail(words[2][0], "want a time in seconds")
	default:
		r.add(Value{Part: TimePart, Kind: FloatKind, Text: at, at: words[2][0]})
	}
	return nil
}
