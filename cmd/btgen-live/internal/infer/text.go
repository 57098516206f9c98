package infer

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// writer writes a schema.
type writer struct {
	b    strings.Builder
	asks []string
}

// line writes a line.
func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format+"\n", args...)
}

// note writes comments.
func (w *writer) note(indent, text string) {
	if text = oneLine(text); text != "" {
		w.line("%s# %s", indent, text)
	}
}

// ask writes a question as a comment.
func (w *writer) ask(indent, question string) {
	if question = oneLine(question); question != "" {
		w.asks = append(w.asks, question)
		w.line("%s# ? %s", indent, question)
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

// options are what the text of a draft may contain or not.
type options struct {
	expect bool     // the load
	ttl    int      // which of several ways to write the times to live
	rollup bool     // the rollup of the table
	worn   bool     // times to live without max_versions
	allow  []string // rules that the table breaks
}

// schema writes the schema of a draft.
func (d *draft) schema(o options) ([]byte, []string) {
	w := &writer{}
	names := &d.names
	names.reset()
	for i := range d.fields {
		d.nameField(&d.fields[i], names)
	}
	segments, values := d.segments(names)
	id := d.key.table.Table
	w.line("btgen: v1\npackage: %s\nname: %s", names.packageName(id), schema.Quoted(names.eventName(id)))
	w.note("", strings.ToUpper(d.key.reason[:1])+d.key.reason[1:]+".")
	w.line("series:")
	for _, s := range values {
		d.writeSeries(w, s)
	}
	w.line("time: {precision: %s}", schema.FormatDuration(d.precision))
	w.line("fields:")
	w.ask("  ", d.blobAsk)
	for i := range d.fields {
		d.writeField(w, &d.fields[i])
	}
	w.line("tables:")
	for _, q := range slices.Concat(d.key.asks, d.asks, []string{d.lag.question(), d.key.table.untimed()}, d.leftOut()) {
		w.ask("  ", q)
	}
	w.line("  %s:", schema.Quoted(id))
	d.writeTable(w, segments, o)
	if o.expect {
		d.writeLoad(w, values)
	}
	return []byte(w.b.String()), w.asks
}

// nameField gives a field a valid name, and the column or the member that it has if that is
// another one.
func (d *draft) nameField(f *field, names *namer) {
	stored := f.name
	if f.column != "" {
		stored = f.column
	} else if f.was != "" {
		stored = f.was
	}
	f.name = names.name(stored, "field_")
	switch {
	case d.blob == "" && stored != f.name:
		f.column = stored
	case d.blob == "":
		f.column = ""
	case f.number == 0 && stored != f.name:
		f.was = stored
	}
}

// segments returns the segments of the key in the schema language, and the series values.
func (d *draft) segments(names *namer) (segments []string, values []series) {
	k := d.key
	var indexes []int
	for i, p := range k.parts {
		if i != k.at && i != d.metric && !p.constant {
			indexes = append(indexes, i)
		}
	}
	salt := d.salt(indexes)
	for _, i := range indexes {
		s, ok := k.seriesOf(i)
		if !ok || i == salt {
			continue
		}
		name := names.name(s.name, "key_")
		if s.segment == s.name {
			s.segment = name
		} else {
			s.segment = strings.Replace(s.segment, "{name: "+s.name, "{name: "+name, 1)
		}
		s.name = name
		values = append(values, s)
	}
	rest := values
	for i, p := range k.parts {
		switch {
		case i == salt:
			of, buckets := k.saltOf(i, values, slices.DeleteFunc(slices.Clone(indexes), func(at int) bool { return at == salt }))
			segments = append(segments, fmt.Sprintf("{hash: [%s], buckets: %d}", strings.Join(of, ", "), buckets))
		case i == d.metric:
			segments = append(segments, "metric")
		case p.constant:
			segments = append(segments, "{const: "+schema.Quoted(p.values[0])+"}")
		case i == k.at && d.bucket == "":
			segments = append(segments, k.time.segment("time"))
		case i == k.at && d.label != "":
			segments = append(segments, d.label)
		case i == k.at:
			segments = append(segments, "bucket")
		default:
			segments, rest = append(segments, rest[0].segment), rest[1:]
		}
	}
	if d.sequence {
		segments = append(segments, "{sequence: true}")
	}
	return segments, values
}

// salt returns the part that is a salt, as the generated code computes it; -1 if there is none.
func (d *draft) salt(indexes []int) int {
	if len(indexes) < 2 || indexes[0] != 0 {
		return -1
	}
	var others []series
	for _, i := range indexes[1:] {
		others = append(others, series{part: d.key.parts[i]})
	}
	if _, buckets := d.key.saltOf(0, others, indexes[1:]); buckets > 0 {
		return 0
	}
	return -1
}

// writeSeries writes a series value.
func (d *draft) writeSeries(w *writer, s series) {
	if strings.HasPrefix(s.name, "key_") {
		w.ask("  ", fmt.Sprintf("What is it called? It has %s in the sample, such as %s.", words.Count(float64(s.part.distinct), "value", "values"), show(s.part.values[0])))
	}
	if d.likeSalt(s) {
		w.ask("  ", "Is it a salt? Generated code would compute another one, so callers must specify it.")
	}
	w.ask("  ", d.key.saltWithin(s))
	if s.part.distinct == 1 && len(s.part.values) > 1 && !s.part.binary {
		w.ask("  ", "It has a single value in the sample: is it constant, as in {const: "+show(s.part.values[0])+"}?")
	}
	if q := d.key.hiddenTime(s.part); q != "" {
		w.ask("  ", q)
	}
	for _, q := range s.notes {
		w.ask("  ", q)
	}
	text := "type: " + s.typ
	switch {
	case s.example != "" && s.typ == "string" && oneLine(s.example) == s.example && len(s.example) <= 64:
		text += ", example: " + schema.Quoted(s.example)
	case s.example != "" && (s.typ == "int64" || s.typ == "uint64"):
		text += ", example: " + s.example
	}
	w.line("  %s: %s", s.name, short(text))
}

// likeSalt reports whether a series value may be a salt: few numbers at the start of keys, or
// hexadecimal digits that depend on the other series values.
func (d *draft) likeSalt(s series) bool {
	k, p := d.key, s.part
	if p != k.parts[0] || len(k.parts) < 3 || p.distinct < 2 || p.distinct > 256 || p.distinct*4 > len(p.values) || len(p.values[0]) > 3 {
		return false
	}
	if s.typ != "string" {
		return true
	}
	if !all(p.values, hexadecimal.MatchString) || !slices.ContainsFunc(p.values, func(v string) bool { return strings.ContainsAny(v, "0123456789") }) {
		return false
	}
	salts := map[string]string{}
	for r, v := range p.values {
		id := k.id(r, 0)
		if of, ok := salts[id]; ok && of != v {
			return false
		}
		salts[id] = v
	}
	return true
}

// salted matches values that begin with a number of two digits or so, and a separator, but not
// those that consist of numbers, such as MAC addresses.
var salted = regexp.MustCompile(`^([0-9a-f]{1,3}|[0-9A-F]{1,3})([-_~/|@])(.*[^-_~/|@0-9A-Fa-f].*|[0-9A-Fa-f]+)$`)

// saltWithin asks about a series value at the start of keys that may begin with a salt: one of few
// numbers, which depends on the rest of it. It is empty if there is none.
func (k *key) saltWithin(s series) string {
	p := s.part
	if p != k.parts[0] || s.typ != "string" || !all(p.values, salted.MatchString) {
		return ""
	}
	salts, rests := map[string]bool{}, map[string]string{}
	digits, separator := false, salted.FindStringSubmatch(p.values[0])[2]
	for _, v := range p.values {
		m := salted.FindStringSubmatch(v)
		if of, ok := rests[m[3]]; m[2] != separator || ok && of != m[1] {
			return ""
		}
		salts[m[1]], rests[m[3]] = true, m[1]
		digits = digits || strings.ContainsAny(m[1], "0123456789")
	}
	if len(salts) < 2 || !digits {
		return ""
	}
	return fmt.Sprintf("It begins with numbers, as in %s. Is the number a salt? Generated code would not compute it, so callers must specify it.", show(p.values[0]))
}

// hexadecimal matches numbers with hexadecimal digits of one case.
var hexadecimal = regexp.MustCompile(`^([0-9a-f]+|[0-9A-F]+)$`)

// short returns a series value or a field in the schema language: its type, if it has nothing
// else.
func short(text string) string {
	if typ, ok := strings.CutPrefix(text, "type: "); ok && !strings.Contains(typ, ",") {
		return typ
	}
	return "{" + text + "}"
}

// writeField writes a field.
func (d *draft) writeField(w *writer, f *field) {
	if f.was != "" {
		w.ask("  ", fmt.Sprintf("The member %s has a name that a field cannot have. Can its writers use %s?", show(f.was), f.name))
	}
	if f.number > 0 && f.example != "" {
		w.note("  ", "For example, "+f.example+".")
	}
	w.ask("  ", f.doubt)
	text := "type: " + f.typ
	if f.optional {
		text += ", optional: true"
	}
	if f.column != "" {
		text += ", column: " + schema.Quoted(f.column)
	}
	if len(d.families()) > 1 {
		text += ", family: " + schema.Quoted(f.family)
	}
	if d.blob == "" && f.values != "" && f.values != d.values() {
		text += ", values: " + f.values
	}
	if f.number > 0 {
		text += fmt.Sprintf(", number: %d", f.number)
	}
	if f.was != "" {
		text += ", was: [" + schema.Quoted(f.was) + "]"
	}
	w.line("  %s: %s", f.name, short(text))
}

// values returns how most fields are stored in cells: text or binary.
func (d *draft) values() string {
	n := 0
	for _, f := range d.fields {
		switch f.values {
		case "text":
			n++
		case "binary":
			n--
		}
	}
	if n > 0 {
		return "text"
	}
	return "binary"
}

// families returns the families of the fields, sorted.
func (d *draft) families() []string {
	names := map[string]bool{d.column: true}
	for _, f := range d.fields {
		if f.family != "" && d.blob == "" {
			names[f.family] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// writeTable writes the table.
func (d *draft) writeTable(w *writer, segments []string, o options) {
	w.line("    pattern: %s", d.pattern)
	delimiter := ""
	if d.key.delimiter != "" {
		delimiter = "delimiter: " + schema.Quoted(d.key.delimiter) + ", "
	}
	w.line("    key: {%ssegments: [%s]}", delimiter, strings.Join(segments, ", "))
	w.ask("    ", d.bucketAsk)
	if d.bucket != "" {
		w.line("    bucket: %s", d.bucket)
	}
	families := d.families()
	if d.blob == "" && d.values() == "text" {
		w.line("    values: text")
	}
	if d.blob != "" {
		w.line("    blob: %s", d.blob)
	}
	switch {
	case d.classes != nil:
		var ages []string
		for _, f := range d.classes {
			ages = append(ages, schema.Quoted(f)+": "+schema.FormatDuration(d.key.table.Families[f].MaxAge))
		}
		w.line("    ttl: {classes: {%s}}", strings.Join(ages, ", "))
	case len(families) == 1:
		w.line("    family: %s", schema.Quoted(families[0]))
		w.ask("    ", d.versionsQuestion(families[0], o))
		w.line("    ttl: %s", d.ttl(families[0], o))
	default:
		w.line("    families:")
		for _, f := range families {
			w.ask("      ", d.versionsQuestion(f, o))
			w.line("      %s: {ttl: %s}", schema.Quoted(f), d.ttl(f, o))
		}
	}
	d.writeRollups(w, o)
	d.writeTier(w)
	d.writeGranularity(w)
	if len(o.allow) > 0 {
		w.line("    allow:")
		for _, rule := range o.allow {
			w.line("      %s: %q", rule, "the table exists")
		}
	}
}

// ways is the number of ways to write a time to live.
const ways = 3

// ttl returns the time to live of a family in the schema language. Where timestamps of cells
// are not those of events, ages count from the write.
func (d *draft) ttl(family string, o options) string {
	rule := d.key.table.Families[family].Normalize()
	if o.worn {
		rule = withoutVersions(rule)
	}
	if rule.Kind == codec.GCNone {
		if !d.timed && d.bucket != "none" && o.ttl == 0 {
			return "{keep: forever, from: write}"
		}
		return "{keep: forever}"
	}
	text := ruleText(rule, !d.timed && o.ttl == 1)
	if !d.timed && o.ttl == 0 {
		text = strings.TrimSuffix(text, "}") + ", from: write}"
	}
	return text
}

// ruleText returns a garbage collection rule in the schema language.
func ruleText(r codec.GCRule, fromWrite bool) string {
	switch r.Kind {
	case codec.GCMaxAge:
		if fromWrite {
			return "{max_age: " + schema.FormatDuration(r.MaxAge) + ", from: write}"
		}
		return "{max_age: " + schema.FormatDuration(r.MaxAge) + "}"
	case codec.GCMaxVersions:
		return fmt.Sprintf("{max_versions: %d}", r.MaxVersions)
	}
	var rules []string
	for _, rule := range r.Rules {
		rules = append(rules, ruleText(rule, fromWrite))
	}
	return map[codec.GCKind]string{codec.GCUnion: "{any_of: [", codec.GCIntersection: "{all_of: ["}[r.Kind] + strings.Join(rules, ", ") + "]}"
}

// writeLoad writes the expected load.
func (d *draft) writeLoad(w *writer, values []series) {
	if d.step <= 0 || d.series == 0 {
		return
	}
	if of := d.key.table.Sampled; of != nil && !of.Complete {
		w.ask("", fmt.Sprintf("How many series are there? The sample has %d.", d.series))
	}
	w.line("expect:\n  series: %d\n  rate: %s", d.series, rate(d.step))
	var sizes []string
	for _, s := range values {
		if s.typ == "string" {
			total := 0
			for _, v := range s.part.values {
				total += len(v)
			}
			sizes = append(sizes, fmt.Sprintf("%s: %d", s.name, max(1, total/len(s.part.values))))
		}
	}
	for _, f := range d.fields {
		if f.bytes > 0 && (f.typ == "string" || f.typ == "bytes" || f.typ == "json") {
			sizes = append(sizes, fmt.Sprintf("%s: %d", f.name, f.bytes))
		}
	}
	if len(sizes) > 0 {
		w.line("  value_bytes: {%s}", strings.Join(sizes, ", "))
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

// verified is a draft that the language accepts.
type verified struct {
	layout *layout.Layout
	text   []byte
	asks   []string
}

const (
	fewRows  = 300    // rows of the sample that each draft is tried with
	fewCells = 20_000 // and their cells
)

// resolve checks the draft and reads a part of the sample with it. Errors say why the language
// does not accept it.
func (d *draft) resolve() error {
	err := errors.New("no text")
	for _, o := range d.tries() {
		if d.final, err = d.accepted(o); err == nil {
			d.measure()
			return nil
		}
		if o.rollup {
			d.noRollup = err.Error()
		}
		if !o.worn {
			d.noVersions = err.Error()
		}
	}
	return err
}

// tries returns what the text of a draft may contain, from the fullest description on.
func (d *draft) tries() (out []options) {
	t := d.key.table
	for _, worn := range []bool{false, true} {
		for _, rollup := range []bool{true, false} {
			if rollup && !t.summarizes() || worn && !d.countsVersions() {
				continue
			}
			for _, expect := range []bool{true, false} {
				for way := range ways {
					out = append(out, options{expect: expect, ttl: way, rollup: rollup, worn: worn})
				}
			}
		}
	}
	return out
}

// measure reads a part of the sample with the draft.
func (d *draft) measure() {
	total := 0
	var rows []bigtable.Row
	for _, r := range spread(d.key.table.Rows, fewRows) {
		if total > fewCells {
			break
		}
		for _, items := range r {
			total += len(items)
		}
		rows = append(rows, r)
	}
	d.reads = float64(d.final.report(rows).Values.Readable) / float64(max(1, total))
	if d.weight > 0 {
		d.reads *= d.weight
	}
}

// report reads rows with the schema.
func (v *verified) report(rows []bigtable.Row) *verify.Report {
	return verify.Rows([]verify.Schema{{Layout: v.layout, Table: v.layout.Tables[0]}}, rows)
}

// accepted returns the text of a draft that allows what the rules find in the table.
func (d *draft) accepted(o options) (*verified, error) {
	const most = 5 // rounds: each allows rules or changes names
	for range most {
		text, asks := d.schema(o)
		result := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: text}})
		more := false
		for _, f := range result.Diagnostics {
			switch {
			case f.Severity == diag.Advice:
			case f.Rule != "" && allowable(f.Rule) && !slices.Contains(o.allow, f.Rule):
				o.allow, more = append(o.allow, f.Rule), true
			case f.Severity == diag.Error && !allowable(f.Rule) && d.names.learn(text, diag.List{f}):
				more = true
			case f.Severity == diag.Error && !allowable(f.Rule):
				return nil, refusal(text, f)
			}
		}
		if !more && result.Diagnostics.HasErrors() {
			return nil, refusal(text, result.Diagnostics...)
		}
		if !more {
			return &verified{result.Layouts[0], text, asks}, nil
		}
		slices.Sort(o.allow)
	}
	return nil, errors.New("rules contradict each other")
}

// refusal is an error with what the language refuses in a text that nobody sees: each finding with its line.
func refusal(text []byte, found ...diag.Diagnostic) error {
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

// propose returns the proposal, with what it reads of the whole sample at the top.
func (d *draft) propose() *Proposal {
	r := d.final.report(d.key.table.Rows)
	r.Sample = d.key.table.Sampled
	d.lag.report(r)
	w := &writer{}
	of := d.key.table.Sampled
	if of == nil {
		of = &verify.Sampled{Rows: len(d.key.table.Rows), Complete: true}
	}
	w.note("", fmt.Sprintf("Proposed by btgen-live infer from table %s: %s, %s.", d.key.table.Table, of, words.Count(float64(d.key.table.cells), "cell", "cells")))
	w.note("", fmt.Sprintf("Of these, the schema reads %s row keys, %s columns and %s values.", r.Rows, r.Columns, r.Values))
	for _, f := range r.Findings[:min(3, len(r.Findings))] {
		where := "row " + f.Row
		if f.Column != "" {
			where += ", column " + f.Column
		}
		w.note("", fmt.Sprintf("Not read: %d like %s: %s", f.Count, where, f.Problem))
	}
	if len(d.final.asks) > 0 {
		w.note("", "Comments with a question mark are about what the sample does not tell.")
	}
	text := append([]byte(w.b.String()), d.final.text...)
	if formatted, found := schema.Format("schema.yaml", text); !found.HasErrors() {
		text = formatted
	}
	return &Proposal{Schema: text, Questions: d.final.asks, Report: r}
}
