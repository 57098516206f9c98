package infer

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
)

// page is the text of a proposal: the lines of a schema, below comments with what they rest on, and with questions whose answers
// would contradict them.
type page struct {
	b    strings.Builder
	asks []string
}

// line writes a line.
func (p *page) line(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// note writes comments, apart from empty ones.
func (p *page) note(indent string, texts ...string) {
	for _, text := range texts {
		if text = oneLine(text); text != "" {
			p.line("%s# %s", indent, text)
		}
	}
}

// ask writes questions as comments.
func (p *page) ask(indent string, questions ...string) {
	for _, q := range questions {
		if q = oneLine(q); q != "" {
			p.asks = append(p.asks, q)
			p.note(indent, "? "+q)
		}
	}
}

// text returns the text below comments, as btgen formats it.
func (p *page) text(about ...string) []byte {
	head := &page{}
	if head.note("", about...); len(p.asks) > 0 {
		head.note("", "Comments with a question mark are about what it does not tell.")
	}
	text := []byte(head.b.String() + p.b.String())
	if out, found := schema.Format("schema.yaml", text); !found.HasErrors() {
		return out
	}
	return text
}

// head writes the names, and what precedes the series.
func (p *page) head(names *namer, table, reason string) {
	p.line("btgen: v1\npackage: %s\nname: %s", names.packageName(table), schema.Quoted(names.eventName(table)))
	p.note("", reason)
	p.line("series:")
}

// item is a series value or a field of a schema.
type item struct {
	name, typ string
	options   []string // besides the type
	bytes     int      // the average size; 0 if it is fixed
	shows     string   // what it rests on
	asks      []string
}

// add adds an option, if it has a value.
func (i *item) add(name, value string) {
	if value != "" {
		i.options = append(i.options, name+": "+value)
	}
}

// addExample adds an example, if it is one that a schema can have.
func (i *item) addExample(example string) {
	const longest = 64
	switch {
	case i.typ == "string" && oneLine(example) == example && len(example) <= longest:
		i.add("example", quoted(example))
	case i.typ == "int64" || i.typ == "uint64":
		i.add("example", example)
	}
}

// quoted returns a text as YAML; an empty one remains empty.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return schema.Quoted(text)
}

// item writes an item below its evidence and questions.
func (p *page) item(i item) {
	p.note("  ", i.shows)
	p.ask("  ", i.asks...)
	if len(i.options) > 0 {
		i.typ = "{" + strings.Join(append([]string{"type: " + i.typ}, i.options...), ", ") + "}"
	}
	p.line("  %s: %s", i.name, i.typ)
}

// key writes a row key.
func (p *page) key(delimiter string, segments []string) {
	if delimiter != "" {
		delimiter = "delimiter: " + schema.Quoted(delimiter) + ", "
	}
	p.line("    key: {%ssegments: [%s]}", delimiter, strings.Join(segments, ", "))
}

// load writes the expected load: events of a number of series that are a step apart, with items. It writes nothing if one is unknown.
func (p *page) load(series int, step time.Duration, partial bool, items []item) {
	if step <= 0 || series == 0 {
		return
	}
	if partial {
		p.ask("", fmt.Sprintf("How many series are there? The sample has %d.", series))
	}
	p.line("expect:\n  series: %d\n  rate: %s", series, rate(step))
	var sizes []string
	for _, i := range items {
		if i.bytes > 0 && (i.typ == "string" || i.typ == "bytes" || i.typ == "json") {
			sizes = append(sizes, fmt.Sprintf("%s: %d", i.name, i.bytes))
		}
	}
	if len(sizes) > 0 {
		p.line("  value_bytes: {%s}", strings.Join(sizes, ", "))
	}
}

// rate returns the rate of events so far apart.
func rate(step time.Duration) string {
	for i, per := range []time.Duration{time.Second, time.Minute, time.Hour, day} {
		if n := (per + step/2) / step; n >= 1 {
			return fmt.Sprintf("%d/%c", n, "smhd"[i])
		}
	}
	return fmt.Sprintf("1/%s", schema.FormatDuration(step.Round(day)))
}

// notInLine matches what a comment cannot contain.
var notInLine = regexp.MustCompile(`[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}\x{feff}\x{fffd}]`)

// oneLine replaces what a comment cannot contain.
func oneLine(s string) string { return notInLine.ReplaceAllString(s, " ") }
