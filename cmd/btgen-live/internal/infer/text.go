package infer

import (
	"cmp"
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

// options are what the text of a draft may contain or not.
type options struct {
	expect bool     // the load
	ttl    int      // which of several ways to write the times to live
	rollup bool     // the rollup of the table
	worn   bool     // times to live without max_versions
	allow  []string // rules that the table breaks
}

// outline returns the schema of a draft.
func (d *draft) outline(o options) *outline {
	names := &d.names
	names.reset()
	for i := range d.fields {
		d.nameField(&d.fields[i], names)
	}
	segments, values := d.segments(names)
	t := d.key.table
	out := &outline{
		pkg: names.packageName(t.Table), event: names.eventName(t.Table), reason: strings.ToUpper(d.key.reason[:1]) + d.key.reason[1:] + ".",
		precision: d.precision, fieldsAsk: d.blobAsk, id: t.Table, count: d.series, partial: t.Sampled != nil && !t.Sampled.Complete,
	}
	for _, s := range values {
		out.series = append(out.series, d.seriesItem(s))
	}
	for i := range d.fields {
		out.fields = append(out.fields, d.fieldItem(&d.fields[i]))
	}
	out.tableEvidence = asked(slices.Concat(d.key.asks, d.asks, []string{d.lag.question(), t.untimed()}, d.leftOut())...)
	out.table = d.tableLines(segments, o)
	if o.expect {
		out.step = d.step
	}
	return out
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

// seriesItem returns a series value in the schema language.
func (d *draft) seriesItem(s series) item {
	out := item{name: s.name, typ: s.typ, evidence: asked(s.notes...)}
	ask := func(question string) {
		out.evidence = slices.Insert(out.evidence, len(out.evidence)-len(s.notes), evidence{asks: question})
	}
	if strings.HasPrefix(s.name, "key_") {
		ask(fmt.Sprintf("What is it called? It has %s in the sample, such as %s.", words.Count(float64(s.part.distinct), "value", "values"), show(s.part.values[0])))
	}
	if d.likeSalt(s) {
		ask("Is it a salt? Generated code would compute another one, so callers must specify it.")
	}
	ask(d.key.saltWithin(s))
	if s.part.distinct == 1 && len(s.part.values) > 1 && !s.part.binary {
		ask("It has a single value in the sample: is it constant, as in {const: " + show(s.part.values[0]) + "}?")
	}
	ask(d.key.hiddenTime(s.part))
	if s.typ == "string" {
		out.bytes = max(1, dataOf(s.part.values).bytes())
	}
	out.addExample(s.example)
	return out
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

// fieldItem returns a field in the schema language.
func (d *draft) fieldItem(f *field) item {
	out := item{name: f.name, typ: f.typ, bytes: f.bytes}
	add := func(has bool, option string) {
		if has {
			out.options = append(out.options, option)
		}
	}
	if f.was != "" {
		out.evidence = asked(fmt.Sprintf("The member %s has a name that a field cannot have. Can its writers use %s?", show(f.was), f.name))
	}
	if f.number > 0 && f.example != "" {
		out.evidence = append(out.evidence, evidence{shows: "For example, " + f.example + "."})
	}
	out.evidence = append(out.evidence, evidence{asks: f.doubt})
	add(f.optional, "optional: true")
	add(f.column != "", "column: "+schema.Quoted(f.column))
	add(len(d.families()) > 1, "family: "+schema.Quoted(f.family))
	add(d.blob == "" && f.values != "" && f.values != d.values(), "values: "+f.values)
	add(f.number > 0, fmt.Sprintf("number: %d", f.number))
	add(f.was != "", "was: ["+schema.Quoted(f.was)+"]")
	return out
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

// tableLines returns the lines of the table.
func (d *draft) tableLines(segments []string, o options) []conclusion {
	key := keyOf(d.key.delimiter, segments)
	key.evidence = []evidence{{shows: d.timeEvidence()}}
	lines := []conclusion{{"pattern: " + d.pattern.String(), []evidence{{shows: d.patternEvidence()}}}, key}
	if lines = append(lines, conclusion{evidence: asked(d.bucketAsk)}); d.bucket != "" {
		lines = append(lines, concluded("bucket: %s", d.bucket))
	}
	if d.blob == "" && d.values() == "text" {
		lines = append(lines, concluded("values: text"))
	}
	if d.blob != "" {
		lines = append(lines, concluded("blob: %s", d.blob))
	}
	lines = append(lines, d.familyLines(o)...)
	lines = append(lines, d.rollupLines(o)...)
	lines = append(lines, d.tier(), d.granularity())
	if len(o.allow) > 0 {
		lines = append(lines, concluded("allow:"))
		for _, rule := range o.allow {
			lines = append(lines, concluded("  %s: %q", rule, "the table exists"))
		}
	}
	return lines
}

// familyLines returns the families, with their times to live.
func (d *draft) familyLines(o options) (lines []conclusion) {
	families := d.families()
	switch {
	case d.classes != nil:
		var ages []string
		for _, f := range d.classes {
			ages = append(ages, schema.Quoted(f)+": "+schema.FormatDuration(d.key.table.Families[f].MaxAge))
		}
		return []conclusion{concluded("ttl: {classes: {%s}}", strings.Join(ages, ", "))}
	case len(families) == 1:
		ttl := conclusion{"ttl: " + d.ttl(families[0], o), asked(d.versionsQuestion(families[0], o))}
		return []conclusion{concluded("family: %s", schema.Quoted(families[0])), ttl}
	}
	lines = append(lines, concluded("families:"))
	for _, f := range families {
		ttl := "  " + schema.Quoted(f) + ": {ttl: " + d.ttl(f, o) + "}"
		lines = append(lines, conclusion{ttl, asked(d.versionsQuestion(f, o))})
	}
	return lines
}

// tier returns the tier of the table. Rules reject one that stays empty: a comment is left.
func (d *draft) tier() conclusion {
	after, moves := d.key.table.Tier.After()
	if !moves {
		return conclusion{}
	}
	age := schema.FormatDuration(after)
	for _, f := range d.families() {
		alive := d.key.table.Families[f].Retention(0)
		if alive == nil || alive[len(alive)-1].MaxAge == 0 || alive[len(alive)-1].MaxAge > after {
			return concluded("tier: {infrequent_access: {after: %s}}", age)
		}
	}
	empty := fmt.Sprintf("The table has an infrequent access tier from %s on, which stays empty: everything expires before.", age)
	return conclusion{evidence: []evidence{{shows: empty}}}
}

// granularity says what the granularity MICROS of the table means for the schema: its precision cannot say it.
func (d *draft) granularity() conclusion {
	table := d.key.table
	inMicros := func(row bigtable.Row) bool {
		for _, items := range row {
			if slices.ContainsFunc(items, func(i bigtable.ReadItem) bool { return i.Timestamp%1000 != 0 }) {
				return true
			}
		}
		return false
	}
	if !table.Micros && !slices.ContainsFunc(table.Rows, inMicros) {
		return conclusion{}
	}
	text := "The table has the granularity MICROS: timestamps are in microseconds. "
	if d.pattern.EventTimed() {
		text += "Reads are exact, but writers store whole milliseconds, and replace other events of theirs: do not write to this table with the schema."
	} else {
		text += "Writers store whole milliseconds."
	}
	return conclusion{evidence: []evidence{{shows: text}}}
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

// verified is a draft that the language accepts.
type verified struct {
	layout  *layout.Layout
	outline *outline
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
		outline := d.outline(o)
		text, _ := outline.write()
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
			return &verified{result.Layouts[0], outline}, nil
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
	of := cmp.Or(d.key.table.Sampled, &verify.Sampled{Rows: len(d.key.table.Rows), Complete: true})
	about := []string{
		fmt.Sprintf("Proposed by btgen-live infer from table %s: %s, %s.", d.key.table.Table, of, words.Count(float64(d.key.table.cells), "cell", "cells")),
		fmt.Sprintf("Of these, the schema reads %s row keys, %s columns and %s values.", r.Rows, r.Columns, r.Values),
	}
	for _, f := range r.Findings[:min(3, len(r.Findings))] {
		where := "row " + f.Row
		if f.Column != "" {
			where += ", column " + f.Column
		}
		about = append(about, fmt.Sprintf("Not read: %d like %s: %s", f.Count, where, f.Problem))
	}
	d.final.outline.about = about
	text, asks := d.final.outline.write()
	return &Proposal{Schema: formatted(text), Questions: asks, Report: r}
}

// timeEvidence says what shows that a part of the keys is a time.
func (d *draft) timeEvidence() string {
	k := d.key
	if k.time == nil {
		return ""
	}
	var first, last time.Time
	for _, v := range k.parts[k.at].values {
		at, _ := k.time.parse(v)
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	days := first.Format(time.DateOnly)
	if to := last.Format(time.DateOnly); to != days {
		days += " to " + to
	}
	return fmt.Sprintf("Part %d of all %d keys is a time in the form %s: %s.", k.at+1, len(k.rows), k.time.name(), days)
}

// patternEvidence says what of the cells shows the pattern.
func (d *draft) patternEvidence() string {
	switch several := d.key.times() > 1; {
	case d.pattern.Naming() != codec.NamedByField:
		return ""
	case d.bucket == "" && d.timed:
		return "Each row is an event: the timestamps of its cells are the time in its key."
	case d.bucket == "" && d.lag.n > 0 && d.lag.agree == d.lag.n:
		far := gap(d.lag.farthest())
		return fmt.Sprintf("Each row is an event: the timestamps of its cells are up to %s from the time in its key.", far)
	case several && d.bucket == "none":
		return "Rows have cells of several timestamps, and no time in their keys."
	case several:
		return "Rows have cells of several timestamps, all of them in the bucket of their row."
	}
	return ""
}
