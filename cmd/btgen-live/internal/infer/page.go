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
	"github.com/btgen-dev/btgen/gen/words"
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
	out, _ := schema.Format("schema.yaml", []byte(head.b.String()+p.b.String())) // which was accepted
	return out
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
		if f.Severity == diag.Error {
			said := strings.TrimSuffix(f.Message+" ["+f.Rule+"]", " []")
			if f.Pos.Line > 0 && f.Pos.Line <= len(lines) {
				said += ", in " + diag.Code(strings.TrimSpace(lines[f.Pos.Line-1]))
			}
			why = append(why, said)
		}
	}
	return errors.New(strings.Join(why, "; "))
}

// allowable reports whether a schema can allow the findings of a rule.
func allowable(id string) bool {
	return slices.ContainsFunc(lint.Rules(), func(r lint.Rule) bool { return r.ID == id && r.Allowable() })
}

// known are forms of values whose names are known.
var known = []struct {
	syntax *regexp.Regexp
	name   string
}{
	{regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]{1,2}$`), "region"}, // such as us-west2
	{regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3}){3}$`), "ip"},
	{regexp.MustCompile(`^[^@ ]+@[^@ ]+\.[a-z]+$`), "email"},
	{regexp.MustCompile(`^X[A-Z]{3}$`), "exchange"}, // ISO 10383
	{regexp.MustCompile(`^[A-Z]{1,5}$`), "symbol"},
}

// entity matches a word that is followed by a number.
var entity = regexp.MustCompile(`^([a-z][a-z_]*?)[-_.]?[0-9]+$`)

// nameOf proposes the name of a part: that of a word in all values, such as sensor in
// sensor-12, of a form such as a region, or of the constant before it.
func nameOf(k *key, i int) string {
	values := k.parts[i].values
	for _, form := range known {
		if all(values, form.syntax.MatchString) {
			return form.name
		}
	}
	word := func(v string) string { return append(entity.FindStringSubmatch(v), "", "")[1] }
	switch first := word(values[0]); {
	case first != "" && all(values, func(v string) bool { return word(v) == first }):
		return first
	case i > 0 && k.parts[i-1].constant:
		return k.parts[i-1].values[0] + "_id"
	}
	return fmt.Sprintf("key_%d", i+1)
}

// namer makes names of packages, series values and fields that are distinct, also in Go, and that the schema
// language accepts.
type namer struct {
	taken   map[string]bool // by [sameName]
	pkg     string          // that it returned last
	refused map[string]bool // names that the language does not accept
}

// sameName returns a text that is equal for names that are equal in Go.
func sameName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// notPlain matches what a name cannot have.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9]+`)

// plain returns a valid name that resembles a text.
func (n *namer) plain(s, otherwise string) string {
	base := strings.Trim(notPlain.ReplaceAllString(s, "_"), "_")
	if base == "" || base[0] <= '9' {
		base = otherwise + base
	}
	if base = base[:min(len(base), 56)]; slices.Contains(reserved, strings.ToLower(base)) || n.refused[base] {
		base = otherwise + base
	}
	return base
}

// name returns a valid name that is not taken, and takes it.
func (n *namer) name(s, otherwise string) string {
	name := words.Free(n.plain(s, otherwise), func(name string) bool { return n.taken[sameName(name)] || n.refused[name] })
	n.taken[sameName(name)] = true
	return name
}

// nameStart matches the name at the beginning of a text.
var nameStart = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*`)

// learn remembers the names at the positions of errors in a text. It returns false if there are none.
func (n *namer) learn(text []byte, found diag.List) (more bool) {
	if n.refused == nil {
		n.refused = map[string]bool{}
	}
	lines := strings.Split(string(text), "\n")
	for _, f := range found {
		if f.Severity != diag.Error || f.Pos.Line < 1 || f.Pos.Line > len(lines) {
			continue
		}
		line := lines[f.Pos.Line-1]
		name := nameStart.FindString(line[min(max(f.Pos.Column-1, 0), len(line)):])
		if name != "" && !n.refused[name] && (name == n.pkg || n.taken[sameName(name)]) {
			n.refused[name], more = true, true
		}
	}
	return more
}

// reserved are names that series values and fields cannot have, or that events have anyway.
var reserved = strings.Fields("time bucket sequence class ttl expiresat expires_at writtenat written_at true false yes no on off null y n")

// packageName returns the name of the package for a table.
func (n *namer) packageName(table string) string {
	if n.pkg = n.plain(strings.ToLower(table), "table_"); n.refused[n.pkg] {
		n.pkg += "_table"
	}
	return n.pkg
}

// eventName returns the name of the events of a table: in the singular.
func (n *namer) eventName(table string) string {
	parts := strings.FieldsFunc(n.packageName(table), func(r rune) bool { return r == '_' })
	last := parts[len(parts)-1]
	if len(last) > 3 && strings.HasSuffix(last, "s") && !singular.MatchString(last) {
		parts[len(parts)-1] = last[:len(last)-1]
	}
	for i, word := range parts {
		parts[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(parts, "")
}

// singular matches words that end with s in the singular.
var singular = regexp.MustCompile(`(ss|us|is|as|ses)$`)
