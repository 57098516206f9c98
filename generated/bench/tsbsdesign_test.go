package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
	"github.com/btgen-dev/btgen/schemas"
)

var update = flag.Bool("update", false, "rewrite the table of designs in docs/reference/tsbs.md")

// design is a decision of schema cpu, taken otherwise.
type design struct {
	name  string
	edits []edit
	// What differs in how queries are answered.
	oneTag   bool // series have only a hostname
	newest   bool // lastpoint is one read
	unsifted bool // no table finds readings by their values
	sealed   bool // buckets are summarized
}

// edit replaces all occurrences of a text in the schema.
type edit struct{ old, new string }

// Parts of schema cpu.
const (
	saltText = "{hash: [hostname], buckets: 8}, "
	// otherTags are the tags that a reading has besides the name of its host.
	otherTags = ", region, datacenter, rack, os, arch, team, service, service_version, service_environment"
	keepText  = "    family: m\n    ttl: {keep: forever}\n  cpu_readings:"
)

// designs are what docs/reference/tsbs.md compares. The first is the schema itself.
var designs = []design{
	{name: "schema"},
	{name: "salt", edits: []edit{{saltText, ""}}},
	{name: "order", edits: []edit{
		{saltText + "bucket, hostname", "hostname, bucket"}, {saltText + "{time: unix_s}, hostname", "hostname, {time: unix_s}"},
		{"    series: true\n", "    series: true\n    scan: all hosts\n"}, {"  Busy:\n    by: []\n", "  Busy:\n    by: []\n    scan: all hosts\n"},
	}},
	{name: "narrow", edits: []edit{{"bucket: 1h", "bucket: 10m"}}},
	{name: "wide", edits: []edit{{"bucket: 1h", "bucket: 1d"}}},
	{name: "packed", edits: append(numbered(), edit{"pattern: bucket_new_cells", "pattern: bucket_serialized\n    blob: {column: e, format: protobuf}"})},
	{name: "readings", unsifted: true, edits: []edit{
		{between("  cpu_readings:\n", "\nqueries:"), ""}, {between("  BusyByHost:\n", "\nexpect:"), ""},
	}},
	{name: "latest", newest: true, edits: []edit{
		{"\nqueries:", "  cpu_now:\n    pattern: latest\n    key: {delimiter: \"#\", segments: [hostname" + otherTags + "]}\n    family: n\n    ttl: {keep: forever}\n\nqueries:"},
	}},
	{name: "rollup", sealed: true, edits: []edit{
		{keepText, strings.Replace(keepText, "forever}\n", "forever}\n    rollup: {every: 1h, family: r, ttl: {keep: forever}}\n", 1)},
	}},
	{name: "tags", oneTag: true, edits: []edit{{otherTags, ""}, {between("  region: ", "\ntime:"), ""}}},
}

// cpuText is the text of schema cpu.
var cpuText = schemas.All()["cpu"]

// between returns the part of the schema from one text until before another.
func between(from, to string) string {
	_, after, _ := strings.Cut(cpuText, from)
	part, _, _ := strings.Cut(after, to)
	return from + part
}

// numbered gives the fields numbers of protobuf.
func numbered() (out []edit) {
	for i, f := range fleetFields {
		line := between("  "+f+":", "}")
		out = append(out, edit{line, fmt.Sprintf("%s, number: %d", line, i+1)})
	}
	return out
}

// schema returns the schema of a design.
func (d *design) schema(t *testing.T) *dynamic.Schema {
	t.Helper()
	text := cpuText
	for _, e := range d.edits {
		if e.old == "" || !strings.Contains(text, e.old) {
			t.Fatalf("design %s: the schema does not contain %q", d.name, e.old)
		}
		text = strings.ReplaceAll(text, e.old, e.new)
	}
	return dynamic.New(testschema.Layout(t, text))
}

// events returns the readings of a fleet.
func (d *design) events(f *fleet) (out []dynamic.Event) {
	for host, s := range f.hosts {
		var series []any
		for _, tag := range strings.Split(tagsOf(s), "#") {
			series = append(series, tag)
		}
		if d.oneTag {
			series = series[:1]
		}
		for step := range f.steps {
			e := dynamic.Event{Series: series, Time: f.at(step)}
			for _, v := range f.reading(host, step) {
				e.Values = append(e.Values, v)
			}
			out = append(out, e)
		}
	}
	return out
}

// read returns the answers to a query.
func (d *design) read(ctx context.Context, r *dynamic.Reader, l *dynamic.Schema, q query) (out []answer, err error) {
	if q.width > 0 {
		return d.windows(ctx, r, l, q)
	}
	for e, err := range d.readings(ctx, r, q) {
		if err != nil {
			return nil, err
		}
		a := answer{Host: e.Series[0].(string), Time: e.Time}
		for _, v := range e.Values {
			a.Values = append(a.Values, v.(float64))
		}
		if q.kind != busy || a.Values[0] > threshold {
			out = append(out, a)
		}
	}
	return sortedAnswers(out), nil
}

// byHosts selects the hosts of a query, or all of them.
func byHosts(q query) dynamic.Selection {
	if q.hosts == nil {
		return dynamic.Query("All", nil)
	}
	var hosts []any
	for _, host := range q.hosts {
		hosts = append(hosts, host)
	}
	return dynamic.Query("ByHosts", dynamic.Values{hosts})
}

// windows returns the answers to a query for windows.
func (d *design) windows(ctx context.Context, r *dynamic.Reader, l *dynamic.Schema, q query) (out []answer, err error) {
	o, statistic := q.options(), dynamic.Max
	if o.Parallelism = -1; q.kind == mean {
		statistic = dynamic.Mean
	}
	for w, err := range r.Windows(ctx, byHosts(q), q.since(), q.to, window.Every(q.width), o) {
		if err != nil {
			return nil, err
		}
		a := answer{Time: w.Start}
		a.Host, _ = w.Series[0].(string)
		for i := range q.fields {
			a.Values = append(a.Values, statistic.Of(&w, &l.Layout().Fields[i], i).(float64))
		}
		out = append(out, a)
	}
	return q.sorted(out), nil
}

// readings returns the readings of a query.
func (d *design) readings(ctx context.Context, r *dynamic.Reader, q query) func(func(dynamic.Event, error) bool) {
	above := []any{above, math.Inf(1)}
	switch {
	case q.kind == busy && d.unsifted:
		return r.Read(ctx, byHosts(q), q.from, q.to)
	case q.kind == busy && q.hosts != nil:
		return r.Read(ctx, dynamic.Query("BusyByHost", dynamic.Values{q.hosts[0], above}), q.from, q.to)
	case q.kind == busy:
		return r.Read(ctx, dynamic.Query("Busy", dynamic.Values{above}), q.from, q.to)
	case d.newest:
		return r.Read(ctx, byHosts(q), q.from, q.to.Add(1), store.ReadOptions{LatestOnly: true})
	}
	var hosts [][]any
	for s, err := range r.ReadSeries(ctx, byHosts(q), q.from, q.to) {
		if err != nil {
			return func(yield func(dynamic.Event, error) bool) { yield(dynamic.Event{}, err) }
		}
		hosts = append(hosts, s)
	}
	return r.LatestMany(ctx, hosts)
}

// row stores the readings of a fleet with a design, and renders how much that is, and what the answers to queries take. They
// must be equal to those of code by hand, which the first design, that of the schema, gets of its client.
func (d *design) row(t *testing.T, f *fleet, all []query, want [][]answer) string {
	t.Helper()
	b, l := new(inmemory.Bigtable), d.schema(t)
	client := connected(t)(b.Connect(t.Context()))
	d.store(t, client, l, f)
	ranges, cells, bytes, scanned, scannedBy := 0, 0, 0, 0, map[string]int{}
	o := store.ReaderOptions{Now: f.end}
	o.Hooks.End = func(_ context.Context, done store.Operation, _ error) {
		cells, bytes = cells+done.Cells, bytes+done.Bytes
	}
	r := l.NewReader(client, o)
	for i, q := range all {
		if want[i] == nil {
			var err error
			if want[i], err = q.byHand(t.Context(), client); err != nil || len(want[i]) == 0 {
				t.Fatalf("%s: %d rows by hand, %v", q.name, len(want[i]), err)
			}
		}
		before, rangesBefore := b.Scanned()
		got, err := d.read(t.Context(), r, l, q)
		if err != nil || !q.same(want[i], got) {
			t.Errorf("design %s, %s: %d rows instead of %d, %v", d.name, q.name, len(got), len(want[i]), err)
		}
		after, rangesAfter := b.Scanned()
		ranges, scanned, scannedBy[q.name] = ranges+rangesAfter-rangesBefore, scanned+after.Bytes-before.Bytes, after.Bytes-before.Bytes
	}
	out := fmt.Sprintf("| %s | %s | %s", d.name, count(float64(ranges)), count(float64(cells)))
	for _, n := range []int{
		bytes, scanned, scannedBy["single-groupby-1-1-1"], scannedBy["high-cpu-1"], scannedBy["lastpoint"], scannedBy["groupby-orderby-limit"], b.Stored().Bytes,
	} {
		out += " | " + count(float64(n/1000))
	}
	return out + " |\n"
}

// store stores the readings of a fleet.
func (d *design) store(t *testing.T, client *bigtable.Client, l *dynamic.Schema, f *fleet) {
	t.Helper()
	assert.Must(t, l.NewWriter(client, store.WriterOptions{Now: f.end}).WriteAll(t.Context(), d.events(f)))
	if !d.sealed {
		return
	}
	after := func() time.Time { return f.end().Add(24 * time.Hour) } // buckets have ended
	report, err := l.Rollup(t.Context(), client, store.RollupOptions{Now: after, Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil || report.Sealed == 0 {
		t.Fatal(report, err)
	}
}

// TestTSBSDesigns checks the table of docs/reference/tsbs.md that compares the designs, and that all of them give
// the right answers.
func TestTSBSDesigns(t *testing.T) {
	testlong.Skip(t, "every design answers every query")
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most of the data stays
	f := newFleet(8, 25*time.Hour, time.Minute)       // readings every ten seconds take six times as long
	all := queries(f, rand.New(rand.NewPCG(29, 3)))
	want := make([][]answer, len(all))
	page, err := os.ReadFile(tsbsPage)
	assert.Must(t, err)
	var table strings.Builder
	for i := range designs {
		table.WriteString(designs[i].row(t, f, all, want))
	}
	text, err := marks{"<!-- designs -->\n", "<!-- end of designs -->"}.fill(tsbsPage, string(page), table.String())
	assert.Must(t, err)
	if *update {
		assert.Must(t, os.WriteFile(tsbsPage, []byte(text), 0o666))
	} else if text != string(page) {
		t.Errorf("%s is out of date: go test ./generated/bench -run %s -update", tsbsPage, t.Name())
	}
}

// tsbsPage is the page about TSBS.
const tsbsPage = "../../docs/reference/tsbs.md"
