package infer

import (
	"cmp"
	"errors"
	"fmt"
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

// options are what the text of a draft may contain or not.
type options struct {
	expect bool     // the load
	ttl    int      // which of several ways to write the times to live
	rollup bool     // the rollup of the table
	worn   bool     // times to live without max_versions
	allow  []string // rules that the table breaks
}

// write returns the text of a draft.
func (d *draft) write(o options) *page {
	k, t, names, p := d.key, d.key.table, &d.names, &page{}
	names.reset()
	for i := range d.fields {
		d.nameField(&d.fields[i])
	}
	segments, values := d.segments()
	p.head(names, t.Table, strings.ToUpper(k.reason[:1])+k.reason[1:]+".")
	var items []item
	for i := range values {
		items = append(items, d.writeSeries(p, &values[i]))
	}
	p.line("time: {precision: %s}\nfields:", schema.FormatDuration(d.precision))
	p.ask("  ", d.blobAsk)
	for i := range d.fields {
		items = append(items, d.writeField(p, &d.fields[i]))
	}
	p.line("tables:")
	p.ask("  ", slices.Concat(k.asks, d.asks, []string{d.lag.question(), t.untimed()}, d.leftOut())...)
	p.line("  %s:", schema.Quoted(t.Table))
	d.writeTable(p, segments, o)
	if o.expect {
		p.load(d.series, d.step, t.Sampled != nil && !t.Sampled.Complete, items)
	}
	return p
}

// nameField gives a field a valid name, and the column or the member that it has if that is
// another one.
func (d *draft) nameField(f *field) {
	stored := cmp.Or(f.column, f.was, f.name)
	f.name = d.names.name(stored, "field_")
	switch {
	case d.blob == "":
		f.column = stored
	case f.number == 0:
		f.was = stored
	}
}

// segments returns the segments of the key in the schema language, and the series values.
func (d *draft) segments() (segments []string, values []series) {
	k := d.key
	var indexes []int
	for i, p := range k.parts {
		if i != k.at && i != d.metric && !p.constant {
			indexes = append(indexes, i)
		}
	}
	salted, buckets := k.salt(indexes)
	if salted != nil {
		indexes = indexes[1:]
	}
	named := map[int]series{}
	for _, i := range indexes {
		s := k.seriesOf(i)
		s.name = d.names.name(s.name, "key_")
		named[i], values = s, append(values, s)
	}
	for i, p := range k.parts {
		s, ok := named[i]
		switch {
		case ok:
			segments = append(segments, s.segment())
		case i == d.metric:
			segments = append(segments, "metric")
		case p.constant:
			segments = append(segments, "{const: "+schema.Quoted(p.values[0])+"}")
		case i == k.at && d.bucket == "":
			segments = append(segments, k.time.segment("time"))
		case i == k.at:
			segments = append(segments, cmp.Or(d.label, "bucket"))
		default:
			var of []string
			for _, i := range salted {
				of = append(of, named[i].name)
			}
			segments = append(segments, fmt.Sprintf("{hash: [%s], buckets: %d}", strings.Join(of, ", "), buckets))
		}
	}
	if d.sequence {
		segments = append(segments, "{sequence: true}")
	}
	return segments, values
}

// writeSeries writes a series value.
func (d *draft) writeSeries(p *page, s *series) item {
	of := s.part
	first, out := show(of.values[0]), item{name: s.name, typ: s.typ}
	ask := func(when bool, format string, args ...any) {
		if when {
			out.asks = append(out.asks, fmt.Sprintf(format, args...))
		}
	}
	ask(strings.HasPrefix(s.name, "key_"), "What is it called? It has %s in the sample, such as %s.", words.Count(float64(of.distinct), "value", "values"), first)
	ask(d.key.likeSalt(s), "Is the number in %s a salt? Generated code would not compute it, so callers must specify it.", first)
	ask(of.distinct == 1 && len(of.values) > 1 && !of.binary, "It has a single value in the sample: is it constant, as in {const: %s}?", first)
	out.asks = append(append(out.asks, d.key.hiddenTime(of)), s.asks...)
	if s.typ == "string" {
		out.bytes = max(1, dataOf(of.values).bytes())
	}
	out.addExample(s.example)
	p.item(out)
	return out
}

// salted matches values that are a number of two digits or so, or begin with one and a separator, but not
// those that consist of numbers, such as MAC addresses.
var salted = regexp.MustCompile(`^([0-9a-f]{1,3}|[0-9A-F]{1,3})(?:([-_~/|@])(.*[^-_~/|@0-9A-Fa-f].*|[0-9A-Fa-f]+))?$`)

// likeSalt reports whether a series value at the start of keys may be a salt, or begin with one: one of few numbers, or hexadecimal
// digits that depend on the rest of the key.
func (k *key) likeSalt(s *series) bool {
	p := s.part
	few := len(k.parts) > 2 && p.distinct > 1 && p.distinct <= 256 && p.distinct*4 <= len(p.values) && len(p.values[0]) <= 3
	if p != k.parts[0] || s.typ != "string" || !all(p.values, salted.MatchString) {
		return p == k.parts[0] && s.typ != "string" && few
	}
	salts, digits, separator := map[string]string{}, false, salted.FindStringSubmatch(p.values[0])[2]
	for r, v := range p.values {
		m := salted.FindStringSubmatch(v)
		rest := m[3] + k.id(r, 0)
		if of, ok := salts[rest]; m[2] != separator || ok && of != m[1] {
			return false
		}
		salts[rest], digits = m[1], digits || strings.ContainsAny(m[1], "0123456789")
	}
	distinct := map[string]bool{}
	for _, salt := range salts {
		distinct[salt] = true
	}
	return digits && len(distinct) > 1 && (few || separator != "")
}

// writeField writes a field.
func (d *draft) writeField(p *page, f *field) item {
	out := item{name: f.name, typ: f.typ, bytes: f.bytes}
	add := func(when bool, name, value string) {
		if when {
			out.add(name, value)
		}
	}
	renamed := f.was != "" && f.was != f.name
	if renamed {
		out.asks = append(out.asks, fmt.Sprintf("The member %s has a name that a field cannot have. Can its writers use %s?", show(f.was), f.name))
	}
	if f.number > 0 && f.example != "" {
		out.shows = "For example, " + f.example + "."
	}
	out.asks = append(out.asks, f.doubt)
	add(f.optional, "optional", "true")
	add(f.column != f.name, "column", quoted(f.column))
	add(len(d.families()) > 1, "family", quoted(f.family))
	add(d.blob == "" && f.values != d.values(), "values", f.values)
	add(f.number > 0, "number", fmt.Sprint(f.number))
	add(renamed, "was", "["+schema.Quoted(f.was)+"]")
	p.item(out)
	return out
}

// values returns how most fields are stored in cells: text or binary.
func (d *draft) values() string {
	n := 0
	for _, f := range d.fields {
		n += map[string]int{"text": 1, "binary": -1}[f.values]
	}
	if n > 0 {
		return "text"
	}
	return "binary"
}

// families returns the families of the fields, sorted.
func (d *draft) families() []string {
	names := []string{d.column}
	for _, f := range d.fields {
		if f.family != "" && d.blob == "" {
			names = append(names, f.family)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// writeTable writes the table.
func (d *draft) writeTable(p *page, segments []string, o options) {
	const indent = "    "
	p.note(indent, d.patternEvidence())
	p.line(indent+"pattern: %s", d.pattern)
	p.note(indent, d.timeEvidence())
	p.key(d.key.delimiter, segments)
	if p.ask(indent, d.bucketAsk); d.bucket != "" {
		p.line(indent+"bucket: %s", d.bucket)
	}
	if d.blob != "" {
		p.line(indent+"blob: %s", d.blob)
	} else if d.values() == "text" {
		p.line(indent + "values: text")
	}
	switch families := d.families(); {
	case d.classes != nil:
		var ages []string
		for _, f := range d.classes {
			ages = append(ages, schema.Quoted(f)+": "+schema.FormatDuration(d.key.table.Families[f].MaxAge))
		}
		p.line(indent+"ttl: {classes: {%s}}", strings.Join(ages, ", "))
	case len(families) == 1:
		p.line(indent+"family: %s", schema.Quoted(families[0]))
		p.ask(indent, d.versionsQuestion(families[0], o))
		p.line(indent+"ttl: %s", d.ttl(families[0], o))
	default:
		p.line(indent + "families:")
		for _, f := range families {
			p.ask(indent, d.versionsQuestion(f, o))
			p.line(indent+"  %s: {ttl: %s}", schema.Quoted(f), d.ttl(f, o))
		}
	}
	d.writeRollup(p, o)
	if after, moves := d.key.table.Tier.After(); moves {
		if age := schema.FormatDuration(after); d.outlives(after) {
			p.line(indent+"tier: {infrequent_access: {after: %s}}", age)
		} else { // rules reject one that stays empty
			p.note(indent, fmt.Sprintf("The table has an infrequent access tier from %s on, which stays empty: everything expires before.", age))
		}
	}
	p.note(indent, d.granularity())
	if len(o.allow) > 0 {
		p.line(indent + "allow:")
		for _, rule := range o.allow {
			p.line(indent+"  %s: %q", rule, "the table exists")
		}
	}
}

// outlives reports whether cells may be older than an age.
func (d *draft) outlives(age time.Duration) bool {
	return slices.ContainsFunc(d.families(), func(f string) bool {
		alive := d.key.table.Families[f].Retention(0)
		return alive == nil || alive[len(alive)-1].MaxAge == 0 || alive[len(alive)-1].MaxAge > age
	})
}

// granularity says what the granularity MICROS of the table means for the schema: its precision cannot say it.
func (d *draft) granularity() string {
	t := d.key.table
	inMicros := func(r row) bool {
		return slices.ContainsFunc(r.cells, func(c cell) bool { return c.at%1000 != 0 })
	}
	if !t.Micros && !slices.ContainsFunc(t.rows, inMicros) {
		return ""
	}
	text := "The table has the granularity MICROS: timestamps are in microseconds. "
	if d.pattern.EventTimed() {
		return text + "Reads are exact, but writers store whole milliseconds, and replace other events of theirs: do not write to this table with the schema."
	}
	return text + "Writers store whole milliseconds."
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
	text := ruleText(rule, !d.timed && o.ttl == 1)
	if !d.timed && o.ttl == 0 && (rule.Kind != codec.GCNone || d.bucket != "none") {
		text = strings.TrimSuffix(text, "}") + ", from: write}"
	}
	return text
}

// ruleText returns a garbage collection rule in the schema language.
func ruleText(r codec.GCRule, fromWrite bool) string {
	switch r.Kind {
	case codec.GCNone:
		return "{keep: forever}"
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

// verified is a draft that the language accepts.
type verified struct {
	layout *layout.Layout
	page   *page
}

// resolve checks the draft, from the fullest description on, and reads a part of the sample with it. Errors say why the language
// does not accept it.
func (d *draft) resolve() (err error) {
	for i := range 2 * 2 * 2 * ways {
		o := options{ttl: i % ways, expect: i/ways%2 == 0, rollup: i/ways/2%2 == 0, worn: i/ways/4 == 1}
		if o.rollup && !d.key.table.summarizes() || o.worn && !d.countsVersions() {
			continue
		}
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

// measure reads a part of the sample with the draft.
func (d *draft) measure() {
	const fewRows, fewCells = 300, 20_000
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
	d.reads = verify.Share{Readable: d.final.report(rows).Values.Readable, Total: total}
}

// report reads rows with the schema.
func (v *verified) report(rows []bigtable.Row) *verify.Report {
	return verify.Rows([]verify.Schema{{Layout: v.layout, Table: v.layout.Tables[0]}}, rows)
}

// accepted returns the text of a draft that allows what the rules find in the table.
func (d *draft) accepted(o options) (*verified, error) {
	const most = 5 // rounds: each allows rules or changes names
	for range most {
		p := d.write(o)
		text := []byte(p.b.String())
		result := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: text}})
		more := false
		for _, f := range result.Diagnostics {
			switch {
			case f.Severity == diag.Advice:
			case allowable(f.Rule) && !slices.Contains(o.allow, f.Rule):
				o.allow, more = append(o.allow, f.Rule), true
			case f.Severity == diag.Error && !allowable(f.Rule) && d.names.learn(text, diag.List{f}):
				more = true
			case f.Severity == diag.Error && !allowable(f.Rule):
				return nil, refusal(text, f)
			}
		}
		switch {
		case !more && result.Diagnostics.HasErrors():
			return nil, refusal(text, result.Diagnostics...)
		case !more:
			return &verified{result.Layouts[0], p}, nil
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
	t := d.key.table
	r := d.final.report(t.Rows)
	r.Sample = t.Sampled
	d.lag.report(r)
	of := cmp.Or(t.Sampled, &verify.Sampled{Rows: len(t.Rows), Complete: true})
	about := []string{
		fmt.Sprintf("Proposed by btgen-live infer from table %s: %s, %s.", t.Table, of, words.Count(float64(t.cells), "cell", "cells")),
		fmt.Sprintf("Of these, the schema reads %s row keys, %s columns and %s values.", r.Rows, r.Columns, r.Values),
	}
	for _, f := range r.Findings[:min(3, len(r.Findings))] {
		where := "row " + f.Row
		if f.Column != "" {
			where += ", column " + f.Column
		}
		about = append(about, fmt.Sprintf("Not read: %d like %s: %s", f.Count, where, f.Problem))
	}
	return &Proposal{Schema: d.final.page.text(about...), Questions: d.final.page.asks, Report: r}
}

// timeEvidence says what shows that a part of the keys is a time.
func (d *draft) timeEvidence() string {
	k := d.key
	if k.time == nil {
		return ""
	}
	days := slices.MinFunc(k.time.at, time.Time.Compare).Format(time.DateOnly)
	if to := slices.MaxFunc(k.time.at, time.Time.Compare).Format(time.DateOnly); to != days {
		days += " to " + to
	}
	return fmt.Sprintf("Part %d of all %d keys is a time in the form %s: %s.", k.at+1, len(k.rows), k.time.name(), days)
}

// patternEvidence says what of the cells shows the pattern.
func (d *draft) patternEvidence() string {
	switch {
	case d.pattern.Naming() != codec.NamedByField:
		return ""
	case d.bucket == "" && d.timed:
		return "Each row is an event: the timestamps of its cells are the time in its key."
	case d.bucket == "" && d.lag.n > 0 && d.lag.agree == d.lag.n:
		return fmt.Sprintf("Each row is an event: the timestamps of its cells are up to %s from the time in its key.", gap(d.lag.farthest()))
	case d.bucket == "none" && d.key.several():
		return "Rows have cells of several timestamps, and no time in their keys."
	case d.bucket != "" && d.key.several():
		return "Rows have cells of several timestamps, all of them in the bucket of their row."
	}
	return ""
}
