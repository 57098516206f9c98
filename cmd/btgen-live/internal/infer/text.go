package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// options are what the text of a draft may contain or not.
type options struct {
	expect bool     // the load
	rollup bool     // the rollup of the table
	worn   bool     // times to live without max_versions
	allow  []string // rules that the table breaks
}

func (d *draft) write(o options) *page {
	k, t := d.key, d.key.table
	d.names.taken = map[string]bool{}
	for i := range d.fields {
		f := &d.fields[i]
		f.name = d.names.name(cmp.Or(f.column, f.was, f.name), "field_")
	}
	segments, series := d.segments()
	out := outline{
		table: t.Table, reason: strings.ToUpper(k.reason[:1]) + k.reason[1:] + ".", series: series, precision: d.precision, fieldsAsk: d.blobAsk,
		questions: slices.Concat(k.questions, d.questions, []string{d.lag.question(), t.untimed()}, d.leftOut()),
		lines:     func(p *page) { d.writeTable(p, segments, o) }, partial: t.Sampled != nil && !t.Sampled.Complete,
	}
	for i := range d.fields {
		out.fields = append(out.fields, d.fieldItem(&d.fields[i]))
	}
	if o.expect {
		out.load = d.load
	}
	return out.write(&d.names)
}

// segments returns the segments of the key in the schema language, and the series values.
func (d *draft) segments() (segments []string, items []item) {
	k := d.key
	var indexes []int
	for i, p := range k.parts {
		if i != k.at && p != d.metric && !p.constant {
			indexes = append(indexes, i)
		}
	}
	salted, buckets := k.salt(indexes)
	names, named := map[int]string{}, map[int]string{}
	for _, i := range indexes[min(len(salted), 1):] {
		of, segment := d.seriesItem(i)
		named[i], names[i], items = segment, of.name, append(items, of)
	}
	for i, p := range k.parts {
		switch {
		case named[i] != "":
			segments = append(segments, named[i])
		case p == d.metric:
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
				of = append(of, names[i])
			}
			segments = append(segments, fmt.Sprintf("{hash: [%s], buckets: %d}", strings.Join(of, ", "), buckets))
		}
	}
	if d.sequence {
		segments = append(segments, "{sequence: true}")
	}
	return segments, items
}

// seriesItem returns the series value of a part, and its segment.
func (d *draft) seriesItem(i int) (out item, segment string) {
	p := d.key.parts[i]
	typ, options, doubt := d.key.typeOf(i)
	out, first := item{name: d.names.name(nameOf(d.key, i), "key_"), typ: typ}, show(p.values[0])
	out.ask(strings.HasPrefix(out.name, "key_"), "What is it called? It has %s in the sample, such as %s.", words.Count(float64(p.distinct), "value", "values"), first)
	out.ask(d.key.likeSalt(p, typ), "Is the number in %s a salt? Generated code would not compute it, so callers must specify it.", first)
	out.ask(p.distinct == 1 && len(p.values) > 1 && !p.binary, "It has a single value in the sample: is it constant, as in {const: %s}?", first)
	out.questions = append(out.questions, d.key.hiddenTime(p), doubt)
	if typ == "string" {
		out.bytes = max(1, dataOf(p.values).bytes())
	}
	if typ == "string" || isDigits(p.values[0]) && p.values[0][0] != '0' || typ == "int64" && p.values[0][0] == '-' {
		out.addExample(p.values[0])
	}
	if options == nil {
		return out, out.name
	}
	return out, "{name: " + out.name + ", " + strings.Join(options, ", ") + "}"
}

// salted matches values that are a number of two digits or so, or begin with one and a separator, but not
// those that consist of numbers, such as MAC addresses.
var salted = regexp.MustCompile(`^([0-9a-f]{1,3}|[0-9A-F]{1,3})(?:([-_~/|@])(.*[^-_~/|@0-9A-Fa-f].*|[0-9A-Fa-f]+))?$`)

// likeSalt reports whether a series value at the start of keys may be a salt, or begin with one: one of few numbers, or hexadecimal
// digits that depend on the rest of the key.
func (k *key) likeSalt(p *part, typ string) bool {
	few := len(k.parts) > 2 && p.distinct > 1 && p.distinct <= 256 && p.distinct*4 <= len(p.values) && len(p.values[0]) <= 3
	if p != k.parts[0] || typ != "string" || !all(p.values, salted.MatchString) {
		return p == k.parts[0] && typ != "string" && few
	}
	salts, found, digits, separator := map[string]string{}, map[string]bool{}, false, salted.FindStringSubmatch(p.values[0])[2]
	for r, v := range p.values {
		m := salted.FindStringSubmatch(v)
		rest := m[3] + k.id(r, p)
		if of, ok := salts[rest]; m[2] != separator || ok && of != m[1] {
			return false
		}
		salts[rest], found[m[1]], digits = m[1], true, digits || strings.ContainsAny(m[1], "0123456789")
	}
	return digits && len(found) > 1 && (few || separator != "")
}

func (d *draft) fieldItem(f *field) item {
	out := item{name: f.name, typ: f.typ, bytes: f.bytes}
	add := func(when bool, name, value string) {
		if when && value != "" {
			out.options = append(out.options, name+": "+value)
		}
	}
	renamed := f.was != "" && f.was != f.name
	out.ask(renamed, "The member %s has a name that a field cannot have. Can its writers use %s?", show(f.was), f.name)
	if f.number > 0 && f.example != "" {
		out.shows = "For example, " + f.example + "."
	}
	out.questions = append(out.questions, f.doubt)
	add(f.optional, "optional", "true")
	add(f.column != "" && f.column != f.name, "column", schema.Quoted(f.column))
	add(d.blob == "" && len(d.families()) > 1, "family", schema.Quoted(f.family))
	add(d.blob == "" && f.values != d.values(), "values", f.values)
	add(f.number > 0, "number", fmt.Sprint(f.number))
	add(renamed, "was", "["+schema.Quoted(f.was)+"]")
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
	names := []string{d.family}
	for _, f := range d.fields {
		if f.family != "" && d.blob == "" {
			names = append(names, f.family)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

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

// resolve finds the fullest description that the language accepts, and reads a part of the sample with it.
func (d *draft) resolve() (err error) {
	t := d.key.table
	for left := range 8 { // what is left out, in bits
		o := options{expect: left&1 == 0, rollup: left&2 == 0, worn: left&4 != 0}
		if o.rollup && (len(t.rollups) == 0 || t.rollups[0].every == 0) || o.worn && !d.countsVersions() {
			continue
		}
		var result gen.Result
		if d.page, result, err = accepted(&d.names, &o.allow, func() *page { return d.write(o) }); err == nil {
			d.layout = result.Layouts[0]
			break
		}
		if o.rollup {
			d.noRollup = err.Error()
		}
		if !o.worn {
			d.noVersions = err.Error()
		}
	}
	const fewRows, fewCells = 300, 20_000
	var rows []bigtable.Row
	for _, r := range spread(t.Rows, fewRows) {
		if err != nil || d.reads.Total > fewCells {
			break
		}
		for _, items := range r {
			d.reads.Total += len(items)
		}
		rows = append(rows, r)
	}
	if err == nil {
		d.reads.Readable = d.report(rows).Values.Readable
	}
	return err
}

func (d *draft) report(rows []bigtable.Row) *verify.Report {
	return verify.Rows([]verify.Schema{{Layout: d.layout, Table: d.layout.Tables[0]}}, rows)
}

// propose returns the proposal, with what it reads of the whole sample at the top.
func (d *draft) propose() *Proposal {
	t := d.key.table
	r := d.report(t.Rows)
	r.Sample = t.Sampled
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
	return &Proposal{Schema: d.page.text(about...), Questions: d.page.asks, Report: r}
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
	return fmt.Sprintf("Part %d of all %d keys is a time in the form %s: %s.", k.at+1, len(k.rows), k.time, days)
}

// patternEvidence says what of the cells shows the pattern.
func (d *draft) patternEvidence() string {
	switch {
	case d.pattern.Naming() != codec.NamedByField:
		return ""
	case d.bucket == "" && d.timed:
		return "Each row is an event: the timestamps of its cells are the time in its key."
	case d.bucket == "" && d.lag.agree > 0 && d.lag.agree == len(d.lag.all):
		return fmt.Sprintf("Each row is an event: the timestamps of its cells are up to %s from the time in its key.", gap(d.lag.farthest()))
	case d.bucket == "none" && d.key.several():
		return "Rows have cells of several timestamps, and no time in their keys."
	case d.bucket != "" && d.key.several():
		return "Rows have cells of several timestamps, all of them in the bucket of their row."
	}
	return ""
}
