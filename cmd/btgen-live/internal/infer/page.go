package infer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
)

// page is the text of a proposal: the lines of a schema, below comments with what they rest on, and with questions whose answers
// would contradict them.
type page struct {
	b    strings.Builder
	asks []string
}

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

// questions are what a sample does not tell.
type questions []string

// ask adds a question if there is reason for it.
func (q *questions) ask(reason bool, format string, args ...any) {
	if reason {
		*q = append(*q, fmt.Sprintf(format, args...))
	}
}

// outline is what the schemas of all proposals have in common.
type outline struct {
	table, reason           string // and what precedes the series
	series, fields          []item
	precision               time.Duration
	precisionAsk, fieldsAsk string
	questions               // about the table
	lines                   func(p *page)
	load                    load
	partial                 bool // whether there may be more series
}

func (o *outline) write(names *namer) *page {
	p := &page{}
	p.line("btgen: v1\npackage: %s\nname: %s", names.packageName(o.table), schema.Quoted(names.eventName(o.table)))
	p.note("", o.reason)
	p.line("series:")
	for _, i := range o.series {
		p.item(i)
	}
	p.ask("", o.precisionAsk)
	p.line("time: {precision: %s}\nfields:", schema.FormatDuration(o.precision))
	p.ask("  ", o.fieldsAsk)
	for _, i := range o.fields {
		p.item(i)
	}
	p.line("tables:")
	p.ask("  ", o.questions...)
	p.line("  %s:", schema.Quoted(tableID(o.table)))
	o.lines(p)
	if o.load.step > 0 {
		p.load(o)
	}
	return p
}

// item is a series value or a field of a schema.
type item struct {
	name, typ string
	options   []string // besides the type
	bytes     int      // the average size; 0 if it is fixed
	shows     string   // what it rests on
	questions
}

// addExample adds an example, if it is one that a schema can have.
func (i *item) addExample(example string) {
	const longest = 64
	switch {
	case i.typ == "string" && example != "" && oneLine(example) == example && len(example) <= longest:
		i.options = append(i.options, "example: "+schema.Quoted(example))
	case i.typ == "int64" || i.typ == "uint64":
		i.options = append(i.options, "example: "+example)
	}
}

// item writes an item below its evidence and questions.
func (p *page) item(i item) {
	p.note("  ", i.shows)
	p.ask("  ", i.questions...)
	if len(i.options) > 0 {
		i.typ = "{" + strings.Join(append([]string{"type: " + i.typ}, i.options...), ", ") + "}"
	}
	p.line("  %s: %s", i.name, i.typ)
}

func (p *page) key(delimiter string, segments []string) {
	if delimiter != "" {
		delimiter = "delimiter: " + schema.Quoted(delimiter) + ", "
	}
	p.line("    key: {%ssegments: [%s]}", delimiter, strings.Join(segments, ", "))
}

// load writes the expected load: events of a number of series that are a step apart.
func (p *page) load(o *outline) {
	if o.partial {
		p.ask("", fmt.Sprintf("How many series are there? The sample has %d.", o.load.series))
	}
	p.line("expect:\n  series: %d\n  rate: %s", o.load.series, rate(o.load.step))
	var sizes []string
	for _, i := range slices.Concat(o.series, o.fields) {
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

// accepted writes a schema until the language accepts it: with other names for those that it refuses, and with rules that the
// table may break, unless allow is nil. Errors say what it refuses.
func accepted(names *namer, allow *[]string, write func() *page) (*page, gen.Result, error) {
	const most = 100 // rounds: each allows rules or changes names
	for range most {
		p := write()
		text := []byte(p.b.String())
		result, more := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: text}}), false
		for _, f := range result.Diagnostics {
			if f.Severity != diag.Advice && allow != nil && allowable(f.Rule) && !slices.Contains(*allow, f.Rule) {
				*allow, more = append(*allow, f.Rule), true
				slices.Sort(*allow)
			}
		}
		switch {
		case more:
		case !result.Diagnostics.HasErrors():
			return p, result, nil
		case !names.learn(text, result.Diagnostics):
			return nil, result, refusal(text, result.Diagnostics)
		}
	}
	return nil, gen.Result{}, errors.New("rules contradict each other")
}

// refusal is an error with what the language refuses in a text that nobody sees: each finding with its line.
func refusal(text []byte, found diag.List) error {
	lines, why := strings.Split(string(text), "\n"), []string(nil)
	for _, f := range found {
		if f.Severity != diag.Error {
			continue
		}
		said := f.Message
		if f.Rule != "" {
			said += " [" + f.Rule + "]"
		}
		if f.Pos.Line > 0 && f.Pos.Line <= len(lines) {
			said += ", in " + diag.Code(strings.TrimSpace(lines[f.Pos.Line-1]))
		}
		why = append(why, said)
	}
	return errors.New(strings.Join(why, "; "))
}

// allowable reports whether a schema can allow the findings of a rule.
func allowable(id string) bool {
	return slices.ContainsFunc(lint.Rules(), func(r lint.Rule) bool { return r.ID == id && r.Allowable() })
}
