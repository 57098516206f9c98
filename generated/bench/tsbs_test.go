package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	diff "github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// query is one of the devops queries of TSBS, with parameters. Each is one call of generated code, and is also answered by
// code by hand and by SQL.
type query struct {
	name     string
	hosts    []string // their names; nil for all hosts
	fields   int      // the first ones
	from, to time.Time
	width    time.Duration // of windows; 0 for events
	kind     *queryKind
}

// queryKind is what queries share that differ by their parameters.
type queryKind struct {
	byHost bool // windows are of each host
	limit  int  // windows, from the newest on; 0 for all from the oldest on
	value  func(s *window.Float64[float64]) float64
	sql    func(q query) string
	sorted bool // the order of answers matters
}

// answer is a row of the answer to a query.
type answer struct {
	Host   string // empty for several hosts together
	Time   time.Time
	Values []float64
}

// threshold is the usage above which a host is busy.
const threshold = 90

// maximum is the maximum of each field, of several hosts together.
var maximum = &queryKind{
	value: func(s *window.Float64[float64]) float64 { return s.Max },
	sql: func(q query) string {
		return "SELECT '' AS host, " + q.columns("max(%s)", bucketSQL(q.width)) + q.conditions() + " GROUP BY millis ORDER BY millis"
	},
	sorted: true,
}

// mean is the mean of each field of each host.
var mean = &queryKind{
	byHost: true,
	value:  func(s *window.Float64[float64]) float64 { return s.Mean() },
	sql: func(q query) string {
		return "SELECT hostname AS host, " + q.columns("avg(%s)", bucketSQL(q.width)) + q.conditions() + " GROUP BY host, millis"
	},
}

// lastMaxima are the last five maxima of all hosts before a time.
var lastMaxima = &queryKind{
	limit:  5,
	value:  maximum.value,
	sql:    func(q query) string { return maximum.sql(q) + " DESC LIMIT 5" },
	sorted: true,
}

// busy are the readings above a threshold.
var busy = &queryKind{
	sql: func(q query) string {
		return "SELECT hostname, " + q.columns("%s", "epoch_ms(time)") + otherTags + q.conditions() + fmt.Sprintf(" AND usage_user > %d", threshold)
	},
}

// lastPoint is the last reading of each host of the last day.
var lastPoint = &queryKind{
	sql: func(q query) string {
		return "SELECT hostname, " + q.columns("%s", "epoch_ms(time)") + otherTags +
			" FROM cpu JOIN (SELECT hostname, max(time) AS time FROM cpu GROUP BY hostname) USING (hostname, time)"
	},
}

// windows are the windows of the answer.
func (q query) windows(ctx context.Context, r *examples.UsageReader) iter.Seq2[examples.UsageWindow, error] {
	if q.hosts != nil {
		return r.ByHostsWindows(ctx, q.hosts, q.from, q.to, window.Every(q.width), q.options())
	}
	return r.AllWindows(ctx, q.since(), q.to, window.Every(q.width), q.options())
}

// options are the options of windows.
func (q query) options() store.WindowOptions {
	o := store.WindowOptions{Fields: q.fieldNames(), By: []store.SeriesValue{}, NewestFirst: q.kind.limit > 0, Limit: q.kind.limit}
	if q.kind.byHost {
		o.By = append(o.By, examples.UsageSeriesHostname)
	}
	return o
}

// since is when windows begin: those before a time have no other limit.
func (q query) since() time.Time {
	if q.kind.limit > 0 {
		return time.Time{}
	}
	return q.from
}

// above is the least usage above the threshold, because ranges contain their start.
var above = math.Nextafter(threshold, 100)

// events are the readings of the answer.
func (q query) events(ctx context.Context, r *examples.UsageReader) iter.Seq2[examples.UsageEvent, error] {
	switch {
	case q.kind == busy && q.hosts != nil:
		return r.BusyByHost(ctx, q.hosts[0], above, math.Inf(1), q.from, q.to)
	case q.kind == busy:
		return r.Busy(ctx, above, math.Inf(1), q.from, q.to)
	}
	var hosts []examples.UsageSeries
	for s, err := range r.AllSeries(ctx, q.from, q.to) {
		if err != nil {
			return func(yield func(examples.UsageEvent, error) bool) { yield(examples.UsageEvent{}, err) }
		}
		hosts = append(hosts, s)
	}
	return r.LatestMany(ctx, hosts)
}

// queries returns the devops queries of TSBS on a fleet, with random hosts and times. Time ranges are
// those of its documentation or, where the code is said to differ, the longer ones.
func queries(f *fleet, random *rand.Rand) []query {
	var out []query
	add := func(name string, kind *queryKind, hosts, fields int, span, width time.Duration) {
		q := query{name: name, kind: kind, fields: fields, width: width, to: f.end()}
		for _, host := range random.Perm(len(f.hosts))[:hosts] {
			q.hosts = append(q.hosts, f.hosts[host].Hostname)
		}
		if rest := f.end().Sub(fleetBegin) - span; rest > 0 {
			q.to = q.to.Add(-time.Duration(random.Int64N(int64(rest))).Truncate(time.Millisecond))
		}
		q.from = q.to.Add(-span)
		out = append(out, q)
	}
	for _, s := range []struct{ fields, hosts, hours int }{{1, 1, 1}, {1, 1, 12}, {1, 8, 1}, {5, 1, 1}, {5, 1, 12}, {5, 8, 1}} {
		add(fmt.Sprintf("single-groupby-%d-%d-%d", s.fields, s.hosts, s.hours), maximum, s.hosts, s.fields, time.Duration(s.hours)*time.Hour, 5*time.Minute)
	}
	add("cpu-max-all-1", maximum, 1, 10, 8*time.Hour, time.Hour)
	add("cpu-max-all-8", maximum, 8, 10, 8*time.Hour, time.Hour)
	add("double-groupby-1", mean, 0, 1, 24*time.Hour, time.Hour)
	add("double-groupby-5", mean, 0, 5, 24*time.Hour, time.Hour)
	add("double-groupby-all", mean, 0, 10, 24*time.Hour, time.Hour)
	add("high-cpu-1", busy, 1, 10, 12*time.Hour, 0)
	one := &out[len(out)-1]
	one.hosts[0] = f.hosts[max(0, slices.IndexFunc(f.hosts, func(s examples.UsageSeries) bool { return f.isBusy(s, one.from, one.to) }))].Hostname
	add("high-cpu-all", busy, 0, 10, 12*time.Hour, 0)
	add("lastpoint", lastPoint, 0, 10, 24*time.Hour, 0)
	out[len(out)-1].from, out[len(out)-1].to = f.end().Add(-24*time.Hour), f.end()
	add("groupby-orderby-limit", lastMaxima, 0, 1, 24*time.Hour, time.Minute)
	out[len(out)-1].from = fleetBegin
	return out
}

// fieldNames returns the fields of the query, as reads take them: nil for all.
func (q query) fieldNames() []store.Field {
	if q.fields == len(fleetFields) {
		return nil
	}
	var out []store.Field
	for _, f := range fleetFields[:q.fields] {
		out = append(out, store.Field(f))
	}
	return out
}

// answerKey identifies a window.
type answerKey struct {
	host  string
	start int64 // in microseconds
}

// keyOf returns the window of a reading.
func (q query) keyOf(host string, micros int64) answerKey {
	if !q.kind.byHost {
		host = ""
	}
	return answerKey{host, micros / q.width.Microseconds() * q.width.Microseconds()}
}

// sortedAnswers sorts answers by host and time.
func sortedAnswers(all []answer) []answer {
	slices.SortFunc(all, func(a, b answer) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), a.Time.Compare(b.Time))
	})
	return all
}

// sorted returns answers in the order of the query, or sorted if it has none.
func (q query) sorted(all []answer) []answer {
	if q.kind.sorted {
		return all
	}
	return sortedAnswers(all)
}

// read returns the answers of generated code.
func (q query) read(ctx context.Context, r *examples.UsageReader) (out []answer, err error) {
	err = q.each(ctx, r, func(get func() answer) { out = append(out, get()) })
	return q.sorted(out), err
}

// each calls take with each row that generated code returns, which is converted only if get is called.
func (q query) each(ctx context.Context, r *examples.UsageReader, take func(get func() answer)) error {
	if q.width == 0 {
		for e, err := range q.events(ctx, r) {
			if err != nil {
				return err
			}
			take(func() answer { return answer{e.Hostname, e.Time, q.values(&e, reflect.Value.Float)} })
		}
		return nil
	}
	value := func(s reflect.Value) float64 { return q.kind.value(s.Addr().Interface().(*window.Float64[float64])) }
	for w, err := range q.windows(ctx, r) {
		if err != nil {
			return err
		}
		take(func() answer { return answer{w.Hostname, w.Start, q.values(&w, value)} })
	}
	return nil
}

// values returns values of the fields of an event or a window.
func (q query) values(of any, value func(field reflect.Value) float64) (out []float64) {
	for i := range q.fields {
		out = append(out, value(reflect.ValueOf(of).Elem().Field(fieldIndex+i)))
	}
	return out
}

// Environment variables that set the size of the fleet of a long run.
const (
	fleetHosts = "BTGEN_TSBS_HOSTS"
	fleetHours = "BTGEN_TSBS_HOURS"
)

// longFleet returns the fleet of a long run: by default, 100 hosts for three days.
func longFleet() *fleet {
	size := func(name string, usual int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			return n
		}
		return usual
	}
	return newFleet(size(fleetHosts, 100), time.Duration(size(fleetHours, 72))*time.Hour, fleetStep)
}

// fleetReader returns a reader at the end of the readings.
func fleetReader(client *bigtable.Client, f *fleet) *examples.UsageReader {
	return examples.NewUsageReader(client, store.ReaderOptions{Now: f.end, Timeout: store.NoTimeout}) // servers may compute all responses first
}

// checkQueries compares the answers of generated code with those of code by hand.
func checkQueries(t *testing.T, client *bigtable.Client, f *fleet, seed uint64) {
	t.Helper()
	r := fleetReader(client, f)
	for _, q := range queries(f, rand.New(rand.NewPCG(29, seed))) {
		t.Run(q.name, func(t *testing.T) {
			got, err := q.read(t.Context(), r)
			assert.Must(t, err)
			want, err := q.byHand(t.Context(), client)
			if err != nil || len(want) == 0 {
				t.Fatalf("%d rows by hand, %v", len(want), err)
			}
			n := 0 // equal rows at the beginning
			for n < min(len(want), len(got)) && reflect.DeepEqual(want[n], got[n]) {
				n++
			}
			if n < len(want) || n < len(got) {
				t.Errorf("%v from %v until %v: %d rows instead of %d, after %d that are right (-by hand +generated): %s", q.hosts, q.from, q.to,
					len(got), len(want), n, diff.Diff(want[n:min(n+3, len(want))], got[n:min(n+3, len(got))]))
			}
		})
	}
}

// TestTSBS compares the answers of generated code to the devops queries of TSBS with those of code by hand: with what a generated
// writer has stored, and with a larger fleet.
func TestTSBS(t *testing.T) {
	testlong.Skip(t, "all queries about a day of a fleet")
	t.Run("stored", func(t *testing.T) {
		f := newFleet(9, 20*time.Minute, fleetStep)
		b := examplestest.New(t)
		var events []examples.UsageEvent
		for host := range f.hosts {
			for step := range f.steps {
				events = append(events, f.event(host, step))
			}
		}
		assert.Must(t, examples.NewUsageWriter(b.Client).WriteAll(t.Context(), events))
		checkQueries(t, b.Client, f, 1)
		checkStored(t, b.Client, f)
	})
	t.Run("fleet", func(t *testing.T) {
		f := testlong.Pick(func() *fleet { return newFleet(9, 25*time.Hour, fleetStep) }, longFleet)()
		checkQueries(t, inProcess(t, newServer(f.tables())).wire, f, 2)
	})
}

// checkStored checks that the server of larger fleets has the cells that a writer stores.
func checkStored(t *testing.T, client *bigtable.Client, f *fleet) {
	t.Helper()
	replayed := inProcess(t, newServer(f.tables())).ordinary
	for table := range f.tables() {
		stored, got := dynamictest.Rows(t.Context(), client, table), dynamictest.Rows(t.Context(), replayed, table)
		if len(stored) == 0 || !reflect.DeepEqual(stored, got) {
			t.Errorf("%s: (-stored +replayed) %s", table, diff.Diff(stored, got))
		}
	}
}

// costRuns is the number of measurements of which the median counts.
const costRuns = 5

// costOf measures the CPU time of the client in a read, in milliseconds, and the bytes on the wire, both ways.
func costOf(t *testing.T, on *bed, read func() error) (spent float64, received int64) {
	t.Helper()
	var all []time.Duration
	for range 1 + costRuns {
		runtime.GC() // the garbage of what was measured before
		traffic, begin := on.traffic.Load(), cputime.Spent()
		assert.Must(t, read())
		all = append(all, cputime.Spent()-begin)
		received = on.traffic.Load() - traffic
	}
	all = all[1:]
	slices.Sort(all)
	return all[costRuns/2].Seconds() * 1000, received
}

// TestTSBSCosts prints the table of docs/reference/tsbs.md, but for its last column: what the answer to each query takes, with
// generated code, of which the answer as a whole is no part, and with code by hand on the official client, and what
// Bigtable's nodes would read for it. Both answers must be the same.
func TestTSBSCosts(t *testing.T) {
	if os.Getenv(fleetHosts) == "" {
		t.Skipf("it measures: %s=100 runs it", fleetHosts)
	}
	f := longFleet()
	on := newBed(t, startAway(t, "fleet"))
	inside := newServer(f.tables()) // its counts can be read
	counted := fleetReader(inProcess(t, inside).wire, f)
	cells := 0
	o := store.ReaderOptions{Now: f.end, Timeout: store.NoTimeout}
	o.Hooks.End = func(_ context.Context, done store.Operation, _ error) { cells += done.Cells }
	r := examples.NewUsageReader(on.wire, o)
	for _, q := range queries(f, rand.New(rand.NewPCG(29, 3))) {
		got, err := q.read(t.Context(), r)
		assert.Must(t, err)
		if want, err := q.byHand(t.Context(), on.ordinary); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: generated code answers %d rows, and code by hand %d others, %v", q.name, len(got), len(want), err)
		}
		generated, received := costOf(t, on, func() error {
			cells = 0
			return q.each(t.Context(), r, func(func() answer) {})
		})
		byHand, _ := costOf(t, on, func() error { _, err := q.byHand(t.Context(), on.ordinary); return err })
		nodes := inside.scannedBy(func() {
			assert.Must(t, q.each(t.Context(), counted, func(func() answer) {}))
		})
		t.Logf("| `%s` | %s | %s | %.1f | %.1f | %.1f |", q.name, count(float64(cells)), count(float64(received)/1000), generated, byHand, nodes.bound())
	}
}

// What Google states for a node with SSD (https://cloud.google.com/bigtable/docs/performance), per second.
const (
	nodeReads = 17_000 // of single rows
	nodeScan  = 220e6  // in bytes, of adjacent rows
)

// bound is the time that one node takes at these rates, in milliseconds.
func (s scanned) bound() float64 {
	return 1000 * (float64(s.places)/nodeReads + float64(s.Bytes)/nodeScan)
}

// fleetLines is the environment variable with the name of a file that TSBS itself has generated, for use case cpu-only in
// format influx.
const fleetLines = "BTGEN_TSBS_LINES"

// TestTSBSLoaded loads the line protocol that TSBS has generated, without renaming anything, and checks that generated code reads an
// event for each line:
//
//	go build ./cmd/tsbs_generate_data                 # in a clone of TSBS
//	./tsbs_generate_data --use-case=cpu-only --seed=123 --scale=10 --log-interval=10s --format=influx \
//	  --timestamp-start=2016-01-01T00:00:00Z --timestamp-end=2016-01-04T00:00:00Z > cpu.lp
//	BTGEN_TSBS_LINES=$PWD/cpu.lp go test ./generated/bench -run TestTSBSLoaded -count=1 -v -timeout 0    # here
func TestTSBSLoaded(t *testing.T) {
	name := os.Getenv(fleetLines)
	if name == "" {
		t.Skipf("it needs TSBS: %s=FILE runs it", fleetLines)
	}
	text, err := os.ReadFile(name)
	assert.Must(t, err)
	lines := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		lines[strings.TrimSpace(line)] = true
	}
	b := examplestest.New(t)
	live := liveCommand(t, b.Addr, storetest.Project, storetest.Instance, "../../schemas/cpu.yaml")
	t.Logf("%d lines: %s", len(lines), live("write", "Usage", name, "--format", "influx"))
	for e, err := range examples.NewUsageReader(b.Client).All(t.Context(), time.Time{}, time.Now()) {
		if line := lineOf(e); err != nil || !lines[line] {
			t.Errorf("%s is no line: %v", line, err)
		} else {
			delete(lines, line)
		}
	}
	for line := range lines {
		t.Error("no event of ", line)
	}
}

// lineOf returns a reading as TSBS writes it, with the tags in the order of the schema.
func lineOf(e examples.UsageEvent) string {
	var b strings.Builder
	b.WriteString("cpu")
	for i, tag := range strings.Split("hostname"+otherTags, ", ") {
		fmt.Fprintf(&b, ",%s=%s", tag, reflect.ValueOf(e.UsageSeries).Field(i))
	}
	separator := " "
	for i, field := range fleetFields {
		fmt.Fprintf(&b, "%s%s=%vi", separator, field, reflect.ValueOf(e).Field(fieldIndex+i))
		separator = ","
	}
	return fmt.Sprintf("%s %d", &b, e.Time.UnixNano())
}
