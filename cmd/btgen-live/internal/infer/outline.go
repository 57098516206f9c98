package infer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
)

// evidence is what a conclusion rests on: what the sample shows, and the question whose answer would contradict it.
// Either may be empty.
type evidence struct{ shows, asks string }

// asked returns questions as evidence.
func asked(questions ...string) (out []evidence) {
	for _, q := range questions {
		out = append(out, evidence{asks: q})
	}
	return out
}

// conclusion is a line of a schema, with what it rests on.
type conclusion struct {
	text     string // empty if there is only evidence
	evidence []evidence
}

// concluded returns a conclusion without evidence.
func concluded(format string, args ...any) conclusion {
	return conclusion{text: fmt.Sprintf(format, args...)}
}

// item is a series value or a field of a schema.
type item struct {
	name, typ string
	options   []string // besides the type
	evidence  []evidence
	bytes     int // the average size; 0 if it is fixed
}

// conclusion returns the line of an item.
func (i item) conclusion() conclusion {
	text := i.typ
	if len(i.options) > 0 {
		text = "{" + strings.Join(append([]string{"type: " + i.typ}, i.options...), ", ") + "}"
	}
	return conclusion{i.name + ": " + text, i.evidence}
}

// addExample adds an example, if it is one that a schema can have.
func (i *item) addExample(example string) {
	const longest = 64
	switch {
	case i.typ == "string" && example != "" && oneLine(example) == example && len(example) <= longest:
		i.options = append(i.options, "example: "+schema.Quoted(example))
	case (i.typ == "int64" || i.typ == "uint64") && example != "":
		i.options = append(i.options, "example: "+example)
	}
}

// outline is a proposed schema.
type outline struct {
	about          []string // comments at the top
	pkg, event     string
	reason         string // of the series
	series, fields []item
	precision      time.Duration
	precisionAsk   string
	fieldsAsk      string
	id             string     // of the table
	tableEvidence  []evidence // about all of it
	table          []conclusion
	step           time.Duration // between the events of a series; 0 if unknown
	count          int           // of series; 0 if unknown
	partial        bool          // whether there may be more series
}

// write writes the schema.
func (o *outline) write() ([]byte, []string) {
	w := &writer{}
	w.add("", concluded("btgen: v1\npackage: %s\nname: %s", o.pkg, schema.Quoted(o.event)))
	w.add("", conclusion{"series:", []evidence{{shows: o.reason}}})
	for _, i := range o.series {
		w.add("  ", i.conclusion())
	}
	w.add("", conclusion{fmt.Sprintf("time: {precision: %s}", schema.FormatDuration(o.precision)), asked(o.precisionAsk)})
	w.add("", concluded("fields:"))
	w.add("  ", conclusion{evidence: asked(o.fieldsAsk)})
	for _, i := range o.fields {
		w.add("  ", i.conclusion())
	}
	w.add("", concluded("tables:"))
	w.add("  ", conclusion{schema.Quoted(o.id) + ":", o.tableEvidence})
	for _, c := range o.table {
		w.add("    ", c)
	}
	o.writeLoad(w)
	head := &writer{}
	for _, line := range o.about {
		head.note("", line)
	}
	if len(w.asks) > 0 {
		head.note("", "Comments with a question mark are about what it does not tell.")
	}
	return []byte(head.b.String() + w.b.String()), w.asks
}

// formatted returns the text of a schema as btgen formats it.
func formatted(text []byte) []byte {
	if out, found := schema.Format("schema.yaml", text); !found.HasErrors() {
		return out
	}
	return text
}

// writeLoad writes the expected load.
func (o *outline) writeLoad(w *writer) {
	if o.step <= 0 || o.count == 0 {
		return
	}
	if o.partial {
		w.ask("", fmt.Sprintf("How many series are there? The sample has %d.", o.count))
	}
	w.add("", concluded("expect:\n  series: %d\n  rate: %s", o.count, rate(o.step)))
	var sizes []string
	for _, i := range slices.Concat(o.series, o.fields) {
		if i.bytes > 0 && (i.typ == "string" || i.typ == "bytes" || i.typ == "json") {
			sizes = append(sizes, fmt.Sprintf("%s: %d", i.name, i.bytes))
		}
	}
	if len(sizes) > 0 {
		w.add("  ", concluded("value_bytes: {%s}", strings.Join(sizes, ", ")))
	}
}

// rate returns the rate of events so far apart.
func rate(step time.Duration) string {
	for _, u := range []struct {
		per  time.Duration
		name string
	}{{time.Second, "s"}, {time.Minute, "m"}, {time.Hour, "h"}, {24 * time.Hour, "d"}} {
		if n := (u.per + step/2) / step; n >= 1 {
			return fmt.Sprintf("%d/%s", n, u.name)
		}
	}
	return fmt.Sprintf("1/%s", schema.FormatDuration(step.Round(24*time.Hour)))
}

// keyOf returns the line of a row key.
func keyOf(delimiter string, segments []string) conclusion {
	if delimiter != "" {
		delimiter = "delimiter: " + schema.Quoted(delimiter) + ", "
	}
	return concluded("key: {%ssegments: [%s]}", delimiter, strings.Join(segments, ", "))
}

// writer writes conclusions and their evidence.
type writer struct {
	b    strings.Builder
	asks []string
}

// add writes a conclusion below its evidence.
func (w *writer) add(indent string, c conclusion) {
	for _, e := range c.evidence {
		w.note(indent, e.shows)
		w.ask(indent, e.asks)
	}
	if c.text != "" {
		fmt.Fprintf(&w.b, "%s%s\n", indent, c.text)
	}
}

// note writes a comment.
func (w *writer) note(indent, text string) {
	if text = oneLine(text); text != "" {
		fmt.Fprintf(&w.b, "%s# %s\n", indent, text)
	}
}

// ask writes a question as a comment.
func (w *writer) ask(indent, question string) {
	if question = oneLine(question); question != "" {
		w.asks = append(w.asks, question)
		fmt.Fprintf(&w.b, "%s# ? %s\n", indent, question)
	}
}

// oneLine replaces what a comment cannot contain.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffd' {
			return ' '
		}
		return r
	}, s)
}
