package beamstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/infer"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/beamstore"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// year is the first year of a company: its instance, the programs that it has deployed, and all that
// readers were promised, which knows nothing of how tables store it.
type year struct {
	t      *testing.T
	random *rand.Rand
	bt     *storetest.Bigtable
	dir    string // of the repository
	btgen  string // the command
	text   string // of the schema
	now    time.Time
	builds []*dynamic.Schema // that were deployed, the newest last
	older  time.Time         // until then, the build before the newest one also writes
	events map[trip]map[int64]map[string]any
	counts map[string]int
}

// trip is a series.
type trip struct {
	customer string
	vehicle  int64
}

// TestYear plays a year: a table of another program is adopted, and its schema is edited again and again while programs
// write, rewrite and delete. At every stage, every event, the newest ones and windows are what was promised.
func TestYear(t *testing.T) {
	y := newYear(t)
	y.adopt()
	y.edit("a field more", "", "  speed: ", "  fuel: {type: float64, optional: true}\n  speed: ")
	y.weeks(4)
	y.edit("a field is renamed", "", "  note:  {type: string, optional: true}", "  remark: {type: string, optional: true, was: [note]}", "note: 6}", "remark: 6}")
	y.weeks(4)
	y.edit("a field is converted", "", "  speed: int64", "  speed: {type: float64, column: kmh, was: [{column: speed, type: int64}]}")
	y.weeks(4)
	y.edit("buckets are narrower", "", `    bucket: {every: 1d, label: "2006-01-02"}`+"\n", `    bucket: {every: 1h, label: "2006-01-02T15"}
    since: 2025-05-26
    before: [{bucket: {every: 1d, label: "2006-01-02"}}]
`)
	y.weeks(6)
	y.edit("a table more", "", "expect:\n", `  by_vehicle:
    serves: false
    pattern: bucket_new_cells
    key: {delimiter: "/", segments: [vehicle, customer, bucket]}
    bucket: 1d
    family: v
    values: text
    ttl: {keep: forever}
expect:
`)
	y.weeks(2)
	y.fill("trips", "by_vehicle")
	y.edit("the table serves reads", "E21:by_vehicle=it is filled and verified", "    serves: false\n", "", "expect:\n", `queries:
  ByVehicle: {by: [vehicle]}
  OfCustomer: {by: [customer], delete: true, scan: "a few times a year"}
expect:
`)
	y.weeks(3)
	y.branches()
	y.weeks(2)
	y.edit("another pattern", "", `    pattern: bucket_new_cells
    key: {delimiter: "/", segments: [customer, vehicle, bucket]}
    bucket: {every: 1h, label: "2006-01-02T15"}
    since: 2025-05-26
    before: [{bucket: {every: 1d, label: "2006-01-02"}}]
    family: d
    values: text
`, `    pattern: bucket_serialized
    key: {delimiter: "/", segments: [customer, vehicle, bucket]}
    bucket: {every: 1d, label: "2006-01-02"}
    since: 2025-08-25
    before:
      - {pattern: bucket_new_cells, bucket: {every: 1h, label: "2006-01-02T15"}, family: d, values: text, since: 2025-05-26}
      - {bucket: {every: 1d, label: "2006-01-02"}}
    family: e
    blob: {format: json}
`)
	y.weeks(5)
	y.erase("umbra")
	y.edit("a rollup", "", "    blob: {format: json}\n", "    blob: {format: json}\n    rollup: {every: 1h, family: h, ttl: {keep: forever}, serves: false}\n")
	y.weeks(2)
	y.summarize(true)
	const marked = "all programs mark, and all buckets are summarized"
	y.edit("the rollup serves reads", "E25:trips/h="+marked+"\nE25:trips/h/until-2025-05-26="+marked+"\nE25:trips/h/until-2025-08-25="+marked, ", serves: false}", "}")
	y.weeks(2)
	y.edit("the state of now", "", "queries:\n", `  now:
    serves: false
    pattern: latest
    key: {delimiter: "/", segments: [customer, vehicle]}
    family: n
    values: text
    ttl: {max_versions: 1}
    allow: {C07: "failed writes are repeated"}
queries:
`)
	y.weeks(2)
	y.fill("", "now")
	y.edit("the state of now serves reads", "E21:now=it is filled and verified", "    serves: false\n", "")
	y.weeks(3)
	y.edit("buckets of the other table are wider", "", "    bucket: 1d\n    family: v\n", `    bucket: {every: 1w, label: "2006-01-02"}
    since: 2025-12-01
    before: [{bucket: 1d, family: v}]
    family: w
`)
	y.weeks(5)
	y.edit("a table with another key", "", "  now:\n", `  salted:
    serves: false
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [{hash: [vehicle], buckets: 8}, customer, vehicle, bucket]}
    bucket: 1d
    family: s
    values: text
    ttl: {keep: forever}
  now:
`)
	y.weeks(2)
	y.pipeline("trips", "salted")
	y.edit("the moved table serves reads", "", "    serves: false\n", "")
	y.weeks(1)
	begin, end := strings.Index(y.text, "  trips:\n"), strings.Index(y.text, "  by_vehicle:\n")
	y.edit("the table that was moved is removed", "E01:trips=moved\nE21:salted=it is filled and verified", y.text[begin:end], "")
	y.weeks(1)
	if y.counts["buckets from a rollup"] < 1000 {
		y.t.Error("few windows come from the rollup")
	}
	y.t.Logf("%s: %v", y.now.Format(time.DateOnly), y.counts)
}

// newYear starts the instance, and creates the repository.
func newYear(t *testing.T) *year {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	bt := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	y := &year{
		t: t, random: rand.New(rand.NewPCG(2025, 2)), bt: bt, dir: t.TempDir(),
		now: time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC), events: map[trip]map[int64]map[string]any{}, counts: map[string]int{},
	}
	y.btgen = filepath.Join(t.TempDir(), "btgen")
	y.sh("go", "build", "-C", y.root(), "-o", y.btgen, "./cmd/btgen")
	y.sh("git", "init", "-q", "-b", "main")
	y.must(os.Mkdir(filepath.Join(y.dir, "schemas"), 0o777))
	y.must(os.WriteFile(filepath.Join(y.dir, "go.mod"), []byte("module example.com/trips\n"), 0o666))
	return y
}

// root is the folder of the root module.
func (y *year) root() string {
	root, err := filepath.Abs("../..")
	y.must(err)
	return root
}

// must fails the test if there is an error.
func (y *year) must(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatalf("%s: %v", y.now.Format(time.DateOnly), err)
	}
}

// sh runs a command in the repository, which must succeed.
func (y *year) sh(name string, args ...string) string {
	y.t.Helper()
	out, err := y.try(name, args...)
	if err != nil {
		y.t.Fatalf("%s: %s %s: %v\n%s", y.now.Format(time.DateOnly), name, strings.Join(args, " "), err, out)
	}
	return out
}

// try runs a command in the repository.
func (y *year) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = y.dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// adopt takes over a table that another program writes, which knows nothing of btgen.
func (y *year) adopt() {
	ctx := y.t.Context()
	y.must(y.bt.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "trips", ColumnFamilies: map[string]bigtable.Family{"d": {}}}))
	table := y.bt.Client.Open("trips")
	for week := range 4 {
		for _, trip := range trips {
			for range 15 {
				at := y.now.Add(time.Duration(y.random.IntN(7*24*60)) * time.Minute)
				e := map[string]any{"speed": float64(y.random.IntN(120))}
				m := bigtable.NewMutation()
				m.Set("d", "speed", bigtable.Time(at), fmt.Append(nil, int64(e["speed"].(float64))))
				if y.random.IntN(3) == 0 {
					e["note"] = fmt.Sprintf("stop %d", week)
					m.Set("d", "note", bigtable.Time(at), []byte(e["note"].(string)))
				} else if _, is := y.events[trip][at.Unix()]; is {
					continue // it would keep the note of the other event
				}
				y.must(table.Apply(ctx, fmt.Sprintf("%s/%d/%s", trip.customer, trip.vehicle, at.Format(time.DateOnly)), m))
				y.put(trip, at, e)
			}
		}
		y.now = y.now.AddDate(0, 0, 7)
	}
	s := infer.Sample{Table: "trips"}
	y.must(table.ReadRows(ctx, bigtable.InfiniteRange(""), func(r bigtable.Row) bool { s.Rows = append(s.Rows, r); return true }))
	p, err := infer.Propose(s)
	y.must(err)
	if len(p.Report.Findings) > 0 || len(p.Questions) != 2 {
		y.t.Fatalf("%v, %q", p.Report.Findings, p.Questions)
	}
	y.text = strings.NewReplacer("key_1", "customer", "key_2", "vehicle").Replace(string(p.Schema))
	y.edit("adopted", "")
	y.weeks(2)
}

// trips are the series.
var trips = []trip{{"acme", 17}, {"acme", 1042}, {"initech", 3}, {"umbra", 17}, {"umbra", 88}, {"umbra", 1042}}

// put remembers an event.
func (y *year) put(of trip, at time.Time, e map[string]any) {
	if y.events[of] == nil {
		y.events[of] = map[int64]map[string]any{}
	}
	y.events[of][at.Unix()] = e
	y.counts["written"]++
}

// edit changes the schema as pairs of old and new texts say, generates and commits it, sets up the
// instance, and deploys the programs. The build before goes on writing for a week.
func (y *year) edit(what, accept string, pairs ...string) {
	y.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(y.text, pairs[i]) != 1 {
			y.t.Fatalf("%s: the schema has %q %d times:\n%s", what, pairs[i], strings.Count(y.text, pairs[i]), y.text)
		}
		y.text = strings.Replace(y.text, pairs[i], pairs[i+1], 1)
	}
	y.commit(what, accept)
	y.deploy(what)
}

// commit generates code from the schema, and commits it.
func (y *year) commit(what, accept string) {
	y.t.Helper()
	y.must(os.WriteFile(filepath.Join(y.dir, "schemas", "trip.yaml"), []byte(y.text), 0o666))
	args := []string{"generate", "--now", y.now.Format(time.RFC3339)}
	if accept != "" {
		if out, err := y.try(y.btgen, args...); err == nil {
			y.t.Fatalf("%s: not refused:\n%s", what, out)
		}
		for name := range strings.SplitSeq(accept, "\n") {
			args = append(args, "--accept", name)
		}
	}
	y.sh(y.btgen, args...)
	y.sh("git", "add", ".")
	y.sh("git", "commit", "-qm", what)
}

// deploy sets up the instance for the schema, and makes programs use it.
func (y *year) deploy(what string) {
	y.t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "trip.yaml", Text: []byte(y.text)}})
	if len(r.Layouts) != 1 || r.Diagnostics.HasErrors() {
		y.t.Fatalf("%s: %v", what, r.Diagnostics)
	}
	s := dynamic.New(r.Layouts[0])
	if _, err := setup.Setup(y.t.Context(), y.bt.Admin, y.bt.Client, s.Tables(), setup.Options{Now: y.clock}); err != nil {
		y.t.Fatalf("%s: %v", what, err)
	}
	y.builds = append(y.builds, s)
	y.older = y.now.AddDate(0, 0, 7)
	y.check(what)
}

// clock is the time in the year.
func (y *year) clock() time.Time { return y.now }

// weeks lets programs write, rewrite, move and delete events.
func (y *year) weeks(n int) {
	y.t.Helper()
	for range n {
		for _, of := range trips {
			if y.events[of] != nil { // not erased
				y.week(of)
			}
		}
		y.now = y.now.AddDate(0, 0, 7)
		y.check("a week")
		if y.random.IntN(2) == 0 {
			y.summarize(false)
		}
	}
}

// summarize summarizes what has changed, if there is a rollup.
func (y *year) summarize(all bool) {
	y.t.Helper()
	noWait := func(context.Context, time.Duration) error { return nil } // nothing is written meanwhile
	_, err := y.newest().Rollup(y.t.Context(), y.bt.Client, store.RollupOptions{All: all, Now: y.clock, Sleep: noWait})
	if errors.Is(err, store.ErrNoRollup) {
		return
	}
	y.must(err)
	y.check("a summary")
}

// newest is the build that was deployed last.
func (y *year) newest() *dynamic.Schema { return y.builds[len(y.builds)-1] }

// week lets programs change one series, in some order.
func (y *year) week(of trip) {
	newest := y.newest()
	for range 12 {
		at := y.now.Add(time.Duration(y.random.IntN(7*24*60)) * time.Minute)
		if y.random.IntN(5) == 0 {
			at = at.AddDate(0, 0, -y.random.IntN(60)) // late
		}
		build := newest
		if _, is := y.events[of][at.Unix()]; !is && y.now.Before(y.older) && len(y.builds) > 1 && y.random.IntN(2) == 0 {
			build = y.builds[len(y.builds)-2]
			y.counts["written by an older build"]++
		}
		e := y.draw(build.Layout())
		y.must(y.writer(build).WriteAll(y.t.Context(), []dynamic.Event{y.event(build.Layout(), of, at, e)}))
		y.put(of, at, e)
	}
	times := slices.Sorted(maps.Keys(y.events[of]))
	at := time.Unix(times[y.random.IntN(len(times))], 0).UTC()
	was := y.events[of][at.Unix()]
	switch y.random.IntN(3) {
	case 0: // corrected
		e := y.draw(newest.Layout())
		y.must(y.writer(newest).Write(y.t.Context(), y.event(newest.Layout(), of, at, e)))
		y.put(of, at, e)
	case 1:
		_, err := y.writer(newest).Delete(y.t.Context(), []dynamic.Event{y.event(newest.Layout(), of, at, was)})
		y.must(err)
		delete(y.events[of], at.Unix())
	case 2: // moved to another time
		to := at.Add(time.Duration(1+y.random.IntN(500)) * time.Minute)
		y.must(y.writer(newest).Replace(y.t.Context(), y.event(newest.Layout(), of, at, was), y.event(newest.Layout(), of, to, was)))
		delete(y.events[of], at.Unix())
		y.put(of, to, was)
	}
}

// writer returns the writer of a build.
func (y *year) writer(of *dynamic.Schema) *store.Writer[dynamic.Event] {
	return of.NewWriter(y.bt.Client, store.WriterOptions{Now: y.clock})
}

// draw draws the values that a build can write. Names are those of the first build that had a field.
func (y *year) draw(l *layout.Layout) map[string]any {
	e := map[string]any{}
	for i := range l.Fields {
		switch name := first(l.Fields[i].Name); {
		case l.Fields[i].Optional && y.random.IntN(2) == 0:
		case l.Fields[i].Type == schema.String:
			e[name] = []string{"", "late", "Zürich\n"}[y.random.IntN(3)]
		case l.Fields[i].Type == schema.Enum:
			e[name] = l.Fields[i].Enum[y.random.IntN(len(l.Fields[i].Enum))].Name
		case name == "speed":
			e[name] = float64(y.random.IntN(120))
		default:
			e[name] = float64(y.random.IntN(1000)) / 8
		}
	}
	return e
}

// first returns the first name of a field.
func first(name string) string {
	if name == "remark" {
		return "note"
	}
	return name
}

// event returns an event of a build.
func (y *year) event(l *layout.Layout, of trip, at time.Time, e map[string]any) dynamic.Event {
	out := dynamic.Event{Series: []any{of.customer, of.vehicle}, Time: at, Values: make([]any, len(l.Fields))}
	for i := range l.Fields {
		v := e[first(l.Fields[i].Name)]
		if number, is := v.(float64); is && l.Fields[i].Type == schema.Int64 {
			v = int64(number)
		}
		out.Values[i] = v
	}
	return out
}

// fill back-fills a table, and verifies it.
func (y *year) fill(source, target string) {
	y.t.Helper()
	_, err := store.Backfill(y.t.Context(), y.bt.Client, y.newest().Mappings(), store.BackfillOptions{Source: source, Target: target, Now: y.clock, Timeout: 5 * time.Second})
	y.must(err)
	y.verify(source, target)
}

// verify compares two tables.
func (y *year) verify(source, target string) {
	y.t.Helper()
	newest := y.newest()
	o := store.BackfillOptions{Source: source, Target: target, To: y.now.AddDate(1, 0, 0), Verify: true, Now: y.clock}
	if target == "now" {
		o.To = time.Time{}
	}
	report, err := store.Backfill(y.t.Context(), y.bt.Client, newest.Mappings(), o)
	y.must(err)
	if len(report.Differences) > 0 || report.Events == 0 {
		y.t.Fatalf("%s: %+v", target, report)
	}
}

// branches merges the branches of two teams, each of which adds a field.
func (y *year) branches() {
	y.t.Helper()
	text := y.text
	y.sh("git", "checkout", "-qb", "one")
	y.text = strings.Replace(text, "  speed: ", "  axle: {type: float64, optional: true}\n  speed: ", 1)
	y.commit("one", "")
	y.sh("git", "checkout", "-q", "main")
	y.text = strings.Replace(text, "  speed: ", "  state: {type: enum, of: [idle, moving, broken], optional: true}\n  speed: ", 1)
	y.commit("other", "")
	if out, err := y.try("git", "merge", "-q", "one"); err == nil {
		y.t.Fatalf("no conflict:\n%s", out)
	}
	// The schema is resolved by hand, and btgen.lock is left as it is.
	y.text = strings.Replace(text, "  speed: ", "  axle: {type: float64, optional: true}\n  state: {type: enum, of: [idle, moving, broken], optional: true}\n  speed: ", 1)
	y.commit("merged", "")
	y.sh(y.btgen, "check")
	y.deploy("merged")
}

// erase deletes all events of a customer.
func (y *year) erase(customer string) {
	y.t.Helper()
	newest := y.newest()
	_, err := newest.DeleteAll(y.t.Context(), y.writer(newest), dynamic.Query("OfCustomer", dynamic.Values{customer}))
	y.must(err)
	for _, of := range trips {
		if of.customer == customer {
			delete(y.events, of)
		}
	}
	for _, table := range newest.Tables() {
		y.must(y.bt.Client.Open(table.ID).ReadRows(y.t.Context(), bigtable.InfiniteRange(""), func(r bigtable.Row) bool {
			if strings.Contains(r.Key(), customer) {
				y.t.Errorf("table %s has row %q of an erased customer", table.ID, r.Key())
			}
			return true
		}))
	}
	y.check("erased")
}

// pipeline copies a table to one with another key on Apache Beam.
func (y *year) pipeline(source, target string) {
	y.t.Helper()
	inThisProcess()
	newest := y.newest()
	inPipelines.Mappings, inPipelines.Table = newest.Mappings(), source
	must(y.t, func(scope beam.Scope) error {
		return inPipelines.Backfill(scope, connection(y.bt.Addr), beamstore.BackfillOptions{Source: source, Targets: []string{target}, To: y.now.AddDate(1, 0, 0), Timeout: brief})
	})
	y.verify(source, target)
}

// inPipelines is the schema in pipelines. Beam must know it before the tests begin.
var inPipelines = beamstore.Register(&beamstore.Schema[dynamic.Event]{
	Name: "trips.Trip",
	Encode: func(e dynamic.Event) []byte {
		b, _ := json.Marshal(e) // always valid
		return b
	},
	Decode: func(b []byte) (e dynamic.Event, err error) {
		err = json.Unmarshal(b, &e)
		for i := range e.Series {
			if number, is := e.Series[i].(float64); is {
				e.Series[i] = int64(number)
			}
		}
		return e, err
	},
	Series: func(e *dynamic.Event) dynamic.Event { return dynamic.Event{Series: e.Series} },
})

// check compares everything that the newest build can read with what was promised.
func (y *year) check(what string) {
	y.t.Helper()
	newest := y.newest()
	o := store.ReaderOptions{Now: y.clock}
	o.Hooks.End = func(_ context.Context, op store.Operation, _ error) { y.counts["buckets from a rollup"] += op.Runs }
	r := newest.NewReader(y.bt.Client, o)
	ctx := y.t.Context()
	for _, of := range trips {
		want := y.promised(func(o trip) bool { return o == of })
		where := fmt.Sprintf("%s: %s, %v", y.now.Format(time.DateOnly), what, of)
		series := []any{of.customer, of.vehicle}
		y.same(where, want, r.Read(ctx, dynamic.Series(series), time.Time{}, scan.MaxTime))
		latest, err := r.Latest(ctx, series)
		switch {
		case len(want) == 0 && errors.Is(err, store.ErrNotFound):
		case err != nil:
			y.t.Fatalf("%s: the newest event: %v", where, err)
		default:
			y.same(where+": the newest event", want[len(want)-1:], storetest.One(latest, err))
		}
		y.windows(where, want, r.Windows(ctx, dynamic.Series(series), time.Time{}, scan.MaxTime, window.Days(1, time.UTC)))
	}
	if len(newest.Layout().Queries) > 0 {
		for _, vehicle := range []int64{3, 17, 1042} {
			y.same(fmt.Sprintf("%s: %s, vehicle %d", y.now.Format(time.DateOnly), what, vehicle), y.promised(func(o trip) bool { return o.vehicle == vehicle }),
				r.Read(ctx, dynamic.Query("ByVehicle", dynamic.Values{vehicle}), time.Time{}, scan.MaxTime))
		}
	}
}

// read is an event as it is compared: text, so that events of several series can be sorted.
func read(of trip, at time.Time, e map[string]any) string {
	text := fmt.Sprintf("%s %d %s", of.customer, of.vehicle, at.UTC().Format(time.RFC3339Nano))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		text += fmt.Sprintf(" %s=%q", name, fmt.Sprint(e[name]))
	}
	return text
}

// promised returns the events of some series, in order.
func (y *year) promised(is func(trip) bool) (out []string) {
	for of, events := range y.events {
		for at, e := range events {
			if is(of) {
				out = append(out, read(of, time.Unix(at, 0), e))
			}
		}
	}
	slices.Sort(out)
	return out
}

// same compares events.
func (y *year) same(what string, want []string, got iter.Seq2[dynamic.Event, error]) {
	y.t.Helper()
	l := y.newest().Layout()
	var found []string
	for e, err := range got {
		if err != nil {
			y.t.Fatalf("%s: %v", what, err)
		}
		values := map[string]any{}
		for i, v := range e.Values {
			if v != nil {
				values[first(l.Fields[i].Name)] = v
			}
		}
		found = append(found, read(trip{e.Series[0].(string), e.Series[1].(int64)}, e.Time, values))
	}
	slices.Sort(found)
	y.counts["read"] += len(found)
	if diff := gocmp.Diff(want, found); diff != "" {
		y.t.Fatalf("%s: (-want +got)\n%s\n%s", what, diff, y.text)
	}
}

// windows compares the number of events of each day, and their newest speeds.
func (y *year) windows(what string, want []string, got iter.Seq2[dynamic.Window, error]) {
	y.t.Helper()
	l := y.newest().Layout()
	speed := slices.IndexFunc(l.Fields, func(f layout.Field) bool { return f.Name == "speed" })
	days, found := map[string]string{}, map[string]string{}
	counts := map[string]int{}
	for _, text := range want { // in order of time
		day := strings.Fields(text)[2][:len(time.DateOnly)]
		counts[day]++
		_, last, _ := strings.Cut(text, ` speed="`)
		days[day] = fmt.Sprintf("%d events, %s", counts[day], strings.TrimSuffix(strings.Fields(last)[0], `"`))
	}
	for w, err := range got {
		if err != nil || w.Inexact {
			y.t.Fatalf("%s: windows: %v, inexact %t", what, err, w.Inexact)
		}
		found[w.Start.Format(time.DateOnly)] = fmt.Sprintf("%d events, %v", w.Events, dynamic.Last.Of(&w, &l.Fields[speed], speed))
	}
	if diff := gocmp.Diff(days, found); diff != "" {
		y.t.Fatalf("%s: windows (-want +got)\n%s", what, diff)
	}
}
