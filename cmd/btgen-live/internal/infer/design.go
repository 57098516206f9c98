package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// design is a schema for a new table: events of another system that are moved to it.
type design struct {
	about        []string                                               // comments at the top
	unread       func(l *layout.Layout, o format.ReaderOptions) []error // see Proposal.Unread; nil without events
	table        string                                                 // in the other system
	series       []designValue
	partition    int // number of series values before the bucket
	fields       []designValue
	sequence     bool
	precisionAsk string
	questions    // about the table
	bucket       string
	bucketAsk    string
	ttl          codec.GCRule
	ttlAsk       string
	load                  // unless it is unknown
	file         string   // to load, as a word of a shell; empty if it is unknown
	loading      []string // flags of the command that loads the events, besides --map
	words        []string // names that mean something else for the reader of the format
	names        namer
	left         []string // columns that are left out
	timeName     string   // of the column with the time; empty if it has no name
}

// designValue is a series value or a field of a design.
type designValue struct {
	source   string      // in the other system
	part     format.Part // that it is there; MetricPart for what readers find by the name in the schema
	typ      string
	optional bool
	escape   bool // the delimiter in keys
	example  string
	bytes    int  // the average size of a text; 0 if unknown
	constant bool // whether example is the value of all events, which the file lacks
	questions

	name string // in the schema
}

// propose returns the proposal. Its schema has no errors.
func (d *design) propose() (*Proposal, error) {
	_, result, err := accepted(&d.names, nil, d.write)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", d.table, ErrNoSchema, err)
	}
	for _, f := range result.Diagnostics {
		d.ask(f.Severity == diag.Warning, "%s [%s]", f.Message, f.Rule)
	}
	command, o := d.command()
	if oneLine(command) != command {
		return nil, fmt.Errorf("%s: %w: a name has characters that no command can have: %q", d.table, ErrNoSchema, command)
	}
	p, out := d.write(), new(Proposal)
	if d.unread != nil {
		out.Unread = d.unread(result.Layouts[0], o)
	}
	for _, err := range out.Unread[:min(len(out.Unread), 3)] {
		d.about = append(d.about, "Not read: "+err.Error())
	}
	out.Schema, out.Questions = p.text(append(d.about, "Load them with "+command)...), p.asks
	return out, nil
}

// write returns the schema: a row per series and bucket, or per event if events are closer than the timestamps of
// cells.
func (d *design) write() *page {
	d.nameValues()
	out := outline{table: d.table, precision: d.precision, precisionAsk: d.precisionAsk, questions: d.questions, load: d.load, partial: true}
	var segments []string
	for _, v := range d.series {
		segment := v.name
		if v.escape {
			segment = "{name: " + v.name + ", escape: true}"
		}
		out.series, segments = append(out.series, v.item()), append(segments, segment)
	}
	pattern := codec.SingleUnserialized
	switch {
	case d.sequence:
		segments = append(segments, "{time: unix_ms}", "{sequence: true}")
	case d.precision < time.Microsecond:
		segments = append(segments, "{time: unix_ns}")
	case d.precision < time.Millisecond:
		segments = append(segments, "{time: unix_us}")
	default:
		pattern, segments = codec.BucketNewCells, slices.Insert(segments, d.partition, "bucket")
	}
	for _, v := range d.fields {
		out.fields = append(out.fields, v.item())
	}
	out.lines = func(p *page) {
		p.line("    draft: true\n    pattern: %s", pattern)
		p.key("#", segments)
		if pattern.Bucketed() {
			p.ask("    ", d.bucketAsk)
			p.line("    bucket: %s", d.bucket)
		}
		p.line("    family: m")
		p.ask("    ", d.ttlAsk)
		p.line("    ttl: %s", schema.TTLOf(d.ttl, false))
	}
	return out.write(&d.names)
}

// nameValues gives series values and fields their names. What readers find by the name in the schema keeps it.
func (d *design) nameValues() {
	names := &d.names
	names.taken = map[string]bool{}
	for i := range d.series {
		if v := &d.series[i]; v.part == format.MetricPart {
			v.name, names.taken[sameName(v.source)] = v.source, true
		}
	}
	for i := range d.series {
		if v := &d.series[i]; v.part != format.MetricPart {
			if v.name = names.name(v.source, "key_"); slices.Contains(d.words, v.name) {
				v.name = names.name("key_"+v.name, "")
			}
		}
	}
	for i := range d.fields {
		d.fields[i].name = names.name(d.fields[i].source, "field_")
	}
}

func (v *designValue) item() item {
	out := item{name: v.name, typ: v.typ, bytes: v.bytes, questions: v.questions}
	if v.optional {
		out.options = append(out.options, "optional: true")
	}
	if v.typ == "string" && !strings.Contains(v.example, "#") {
		out.addExample(v.example)
	}
	return out
}

// command returns the command that loads the events, and what it says about the names and the series of the file.
func (d *design) command() (string, format.ReaderOptions) {
	o := format.ReaderOptions{Names: map[string]string{}, Series: map[string]string{}}
	flags := append([]string{"btgen-live write", d.names.eventName(d.table), cmp.Or(d.file, "FILE")}, d.loading...)
	add := func(from, to string) {
		flags = append(flags, "--map "+words.ShellPair(from, to))
		o.Names[from] = to
	}
	if d.timeName != "" && d.timeName != "time" {
		add(d.timeName, "time")
	}
	for _, v := range slices.Concat(d.series, d.fields) {
		if v.constant {
			flags = append(flags, "--series "+words.ShellPair(v.name, v.example))
			o.Series[v.name] = v.example
		} else if v.name != v.source {
			add(v.part.Qualified(v.source), v.name)
		}
	}
	for _, name := range d.left {
		add(name, "")
	}
	return strings.Join(flags, " "), o
}

// bucketQuestion asks about the bucket of events that may be frequent.
const bucketQuestion = "How many events has a series a day? A row should have less than 20,000 cells."

// bucketFor returns the largest usual bucket in which a row has few cells of events that are a step apart.
func bucketFor(step time.Duration, fields int) string {
	const cells = 20_000
	switch span := float64(step) * cells / float64(max(1, fields)); {
	case step <= 0:
	case span >= float64(30*day):
		return "1mo"
	case span >= float64(7*day):
		return "1w"
	case span < float64(time.Hour):
		return "1m"
	case span < float64(day):
		return "1h"
	}
	return "1d"
}

// notID matches what an ID of a table cannot have.
var notID = regexp.MustCompile(`[^-._0-9A-Za-z]`)

// tableID returns a valid ID for a table.
func tableID(name string) string {
	id := strings.TrimLeft(notID.ReplaceAllString(name, "_"), "-.")
	return cmp.Or(id[:min(len(id), 50)], "events")
}

// listed returns some names for a message.
func listed(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %s", words.Count(float64(len(names)-most), "other", "others"))
	}
	return words.List(names, "and")
}
