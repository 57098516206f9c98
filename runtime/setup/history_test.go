package setup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/internal/latecopy"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Facts of layouts, as package lock of the generator writes them.
const (
	daily   = `pattern: bucket_new_cells; delimiter: "#"; key: string text, bucket; names: host; bucket: 1d "2006-01-02"; family m: events; column "cpu": float64 in m`
	hourly  = `pattern: bucket_new_cells; delimiter: "#"; key: string text, bucket; names: host; bucket: 1h "2006-01-02T15"; family m: events; column "cpu": float64 in m`
	weekly  = `pattern: bucket_new_cells; delimiter: "#"; key: string text, bucket; names: host; bucket: 1w "iso_week"; family m: events; column "cpu": float64 in m`
	foreign = `pattern: single_serialized; delimiter: "#"; key: string text, time; names: id; time: "unix_s"; blob: json "v"; family other: events; name "a": string`
	mem     = `; column "mem": integer in m`
	rolled  = `; rollup r: 1h0m0s`
)

// laidOut returns a table with a layout, and a family for each one in it.
func laidOut(layout string) store.Table {
	t := store.Table{ID: "t", Layout: layout}
	for _, name := range []string{"m", "n", "x", "other"} {
		if strings.Contains(layout, "family "+name+": ") {
			t.Families = append(t.Families, store.Family{Name: name, GC: age(30 * day)})
		}
	}
	if strings.Contains(layout, "rollup r: ") {
		t.Families = append(t.Families, store.Family{Name: "r"})
	}
	return t
}

// placed is laidOut with another ID.
func placed(id, layout string) store.Table {
	t := laidOut(layout)
	t.ID = id
	return t
}

// settle sets up a table, and ends the test if that fails.
func settle(t *testing.T, b *storetest.Bigtable, table store.Table, o ...setup.Options) setup.Plan {
	t.Helper()
	plan, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o...)
	must(t, err)
	return plan
}

// set sets up tables one after the other, as one build after the other does.
func set(t *testing.T, b *storetest.Bigtable, layouts ...string) {
	t.Helper()
	for _, layout := range layouts {
		settle(t, b, laidOut(layout))
	}
}

// history returns the layouts of the history, as "row column: value".
func history(t *testing.T, b *storetest.Bigtable) []string {
	t.Helper()
	return slices.DeleteFunc(wholeHistory(t, b), func(cell string) bool { return strings.Contains(cell, " layouts:#") })
}

// stepsOf returns the steps of the history of table t.
func stepsOf(t *testing.T, b *storetest.Bigtable) []string {
	t.Helper()
	var out []string
	for _, cell := range wholeHistory(t, b) {
		if step, ok := strings.CutPrefix(cell, "t layouts:#"); ok {
			_, step, _ = strings.Cut(step, "\n")
			out = append(out, step)
		}
	}
	return out
}

// wholeHistory returns the cells of the history, as "row column: value".
func wholeHistory(t *testing.T, b *storetest.Bigtable) []string {
	t.Helper()
	var out []string
	err := b.Client.Open(setup.HistoryTable).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, item := range row["layouts"] {
			out = append(out, fmt.Sprintf("%s %s: %s", row.Key(), item.Column, item.Value))
		}
		return true
	})
	if err != nil && status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	return out
}

// recordedAs returns the cells of the history that belong to layouts of table t.
func recordedAs(layouts ...string) []string {
	var out []string
	for i, layout := range layouts {
		out = append(out, fmt.Sprintf("t layouts:m/%04d: btgen layout v1\n%s", i+1, layout))
	}
	return out
}

// historyMade are the changes of a setup that creates the table of the history.
var historyMade = []string{"+ table btgen_layouts", "+ family layouts of table btgen_layouts: keep forever"}

// walkHistory is walk for setups of one table, after which the history has some layouts.
func walkHistory(t *testing.T, b *storetest.Bigtable, table store.Table, changes, want []string) {
	t.Helper()
	walk(t, on{b.Admin, b.Client}, setup.Options{}, func() string { return strings.Join(history(t, b), "\n") },
		stage{[]store.Table{table}, "", planOf(changes...), strings.Join(want, "\n")})
}

func TestHistoryOfNewTable(t *testing.T) {
	b := start(t)
	table := laidOut(daily)
	walkHistory(t, b, table, append(slices.Clone(historyMade), made(table)...), recordedAs(daily))
	same(t, "recorded", settle(t, b, table).Recorded, []setup.RecordedLayout{{Table: "t", Family: "m", Number: 1, Layout: daily}})
	if unknown, err := setup.UnknownTables(t.Context(), b.Admin, []store.Table{table}); err != nil || len(unknown) > 0 {
		t.Error("unknown tables", unknown, err)
	}
}

// older is the newest layout of the events of a table that has earlier ones.
func byTime(layouts ...string) string { return strings.Join(layouts, "\n") }

const newYear, summer = "2927-01-01T00:00:00Z", "2927-07-01T00:00:00Z" // after any run of these tests
const longAgo = "2020-01-06T00:00:00Z"

// named returns the layout of a schema with a name.
func named(schema, layout string) string { return "schema " + schema + ": events; " + layout }

// inFamily returns a layout in another family than m.
func inFamily(name, layout string) string {
	return strings.NewReplacer("family m", "family "+name, "in m", "in "+name).Replace(layout)
}

func since(at, layout string) string { return "since: " + at + "; " + layout }
func until(at, layout string) string { return "until: " + at + "; " + layout }

// TestHistoryOfChanges sets up a table after others: the plan, which names the rules by which btgen generate refuses the edit, and the
// history after it are those of testdata/history.txtar.
func TestHistoryOfChanges(t *testing.T) {
	golden := setup.Golden(t, "history.txtar")
	for _, tt := range []struct {
		name   string
		builds []string // set up one after the other
		layout string   // set up then
	}{
		{"same", []string{daily}, daily},
		{"column added", []string{daily}, daily + mem},
		{"column removed, or an older build", []string{daily, daily + mem}, daily},
		{"columns of two branches", []string{daily, daily + mem}, daily + `; column "net": string in m`},
		{"column of another type", []string{daily, daily + mem}, daily + `; column "mem": string in m`},
		{"removed column taken up again", []string{daily + mem, daily}, daily + `; column "mem": string in m`},
		{"enum value added", []string{daily + `; column "a": enum; column "a" enum 1: "x"`}, daily + `; column "a": enum; column "a" enum 1: "x"; column "a" enum 2: "y; z: \""`},
		{"enum reordered", []string{daily + `; column "a": enum; column "a" enum 1: "x"`}, daily + `; column "a": enum; column "a" enum 1: "y"`},
		{"series value renamed", []string{daily}, strings.Replace(daily, "names: host", "names: machine", 1)},
		{"family added", []string{daily}, daily + `; family n: events`},
		{"another family", []string{named("A", daily)}, named("A", inFamily("x", daily))},
		{"another family, without columns", []string{named("A", strings.ReplaceAll(foreign, "other", "m"))}, named("A", strings.ReplaceAll(foreign, "other", "x"))},
		{"another bucket in another family", []string{named("A", daily)}, named("A", inFamily("x", hourly))},
		{"another family after another name", []string{named("A", daily), named("B", daily)}, named("A", inFamily("x", hourly))},
		{"another name", []string{named("A", daily)}, named("B", daily)},
		{"another schema in another family", []string{named("A", daily)}, named("B", inFamily("x", hourly))},
		{"two schemas", []string{named("A", daily) + "\n\n" + named("B", inFamily("x", daily))}, named("B", inFamily("x", daily)) + "\n\n" + named("A", daily)},
		{"two schemas exchange their families", []string{named("A", daily) + "\n\n" + named("B", inFamily("x", daily))}, named("B", daily) + "\n\n" + named("A", inFamily("x", daily))},
		{"schemas of two packages exchange their names", []string{named("a.A", daily) + "\n\n" + named("b.B", inFamily("x", daily))}, named("a.B", daily) + "\n\n" + named("b.A", inFamily("x", daily))},
		{"the package of a name that was recorded without", []string{named("A", daily)}, named("app.A", daily)},
		{"names that were recorded without a package are exchanged", []string{named("A", daily) + "\n\n" + named("B", inFamily("x", daily))}, named("p.B", daily) + "\n\n" + named("p.A", inFamily("x", daily))},
		{"rollup added", []string{daily}, daily + rolled},
		{"rollup removed, or an older build", []string{daily + rolled}, daily},
		{"wider windows", []string{daily + rolled}, daily + `; rollup r: 24h0m0s`},
		{"narrower windows", []string{daily + rolled}, daily + `; rollup r: 30m0s`},
		{"an older build with wider ones", []string{daily + rolled, daily + `; rollup r: 30m0s`}, daily + rolled},
		{"a field in a second family", []string{daily}, strings.Replace(daily, "in m", "in n", 1) + `; family n: events; column "cpu" in m: float64 in m`},
		{"an expired layout whose windows are there", []string{byTime(since(longAgo, hourly+rolled), until(longAgo, daily+rolled))}, since(longAgo, hourly+rolled)},
		{"bucket", []string{daily}, hourly},
		{"key", []string{daily}, strings.Replace(daily, "key: string text", "key: integer text", 1)},
		{"salt", []string{daily}, strings.Replace(daily, "key: string", "key: salt 4 of 1, string", 1)},
		{"pattern", []string{daily}, strings.Replace(daily, "bucket_new_cells", "bucket_offsets", 1)},
		{"time", []string{strings.ReplaceAll(foreign, "other", "m")}, strings.NewReplacer("unix_s", "unix_ms", "other", "m").Replace(foreign)},
		{"a fact that an older build does not know", []string{daily + "; salt: 4"}, daily},
		{"a layout from a time on", []string{daily}, byTime(since(newYear, hourly), until(newYear, daily))},
		{"two more layouts", []string{daily}, byTime(since(summer, weekly), "since: "+newYear+"; until: "+summer+"; "+hourly, until(newYear, daily))},
		{"an older build without the newer layout", []string{byTime(since(newYear, hourly), until(newYear, daily))}, daily},
		{"the newest layout is in another table", []string{daily}, until(newYear, daily)},
		{"an older build, whose layout has no end", []string{until(newYear, daily)}, daily},
		{"another end", []string{until(newYear, daily)}, until(summer, daily)},
		{"another begin", []string{byTime(since(newYear, hourly), until(newYear, daily))}, byTime(since(summer, hourly), until(summer, daily))},
		{"an expired layout removed", []string{byTime(since(longAgo, hourly), until(longAgo, daily))}, since(longAgo, hourly)},
		{"an expired layout and its edge removed", []string{byTime(since(longAgo, hourly), until(longAgo, daily))}, hourly},
		{"and a column added", []string{byTime(since(longAgo, hourly), until(longAgo, daily))}, since(longAgo, hourly+mem)},
		{"an older build with the expired layout", []string{byTime(since(longAgo, hourly), until(longAgo, daily)), hourly}, byTime(since(longAgo, hourly), until(longAgo, daily))},
		{"and a column that is new", []string{hourly}, byTime(since(longAgo, hourly+mem), until(longAgo, daily))},
		{"a layout removed", []string{byTime(since(newYear, hourly), until(newYear, daily))}, since(newYear, hourly)},
		{"a layout and its edge removed", []string{byTime(since(newYear, hourly), until(newYear, daily))}, hourly},
		{"the edge removed", []string{since(newYear, hourly)}, hourly},
		{"the edge of a new layout added", []string{hourly}, since(newYear, hourly)},
		{"a layout added below", []string{hourly}, byTime(since(newYear, hourly), until(newYear, daily))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t)
			set(t, b, tt.builds...)
			plan := settle(t, b, laidOut(tt.layout), setup.Options{DryRun: true})
			before := history(t, b)
			_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(tt.layout)})
			if refused := len(plan.Refused()) > 0; refused != (err != nil) {
				t.Fatal(err)
			} else if refused {
				same(t, "history after a refusal", history(t, b), before)
			}
			golden(t, tt.name, plan.String()+strings.Join(history(t, b), "\n")+"\n")
		})
	}
}

// An older build is refused, also after many others, until it is allowed by name; then, the
// newer one is the older.
func TestHistoryOfOlderBuild(t *testing.T) {
	b := start(t)
	set(t, b, daily)
	allow := func(layout, name string) {
		t.Helper()
		settle(t, b, laidOut(layout), setup.Options{Allow: []string{name}})
	}
	allow(hourly, "other_layout:t/m")
	allow(weekly, "other_layout:t/m")
	for _, older := range []string{daily, hourly, daily + mem} {
		_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(older)}, setup.Options{Allow: []string{"other_layout:t/m"}})
		want := []string{"older_layout:t/m"}
		if older == daily+mem { // nobody knows
			want = nil
		}
		same(t, "refused "+older, refused(err), want)
		if older == daily+mem {
			break
		}
		var e *setup.RefusedError
		if !errors.As(err, &e) || len(e.Changes) != 1 || e.Changes[0].Kind != "layout" || !strings.HasPrefix(e.Changes[0].Says, `bucket: 1w "iso_week" → 1`) {
			t.Errorf("error %v, want the bucket", err)
		}
	}
	allow(weekly, "older_layout:t/m")
	_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(daily + mem)})
	same(t, "the build that was allowed", refused(err), []string{"older_layout:t/m"})
	same(t, "history", history(t, b), recordedAs(daily, hourly, weekly, daily+mem, weekly))
}

// Tables that were made before there was a history.
func TestHistoryOfExistingTable(t *testing.T) {
	b := start(t)
	bare := laidOut(daily)
	bare.Layout = ""
	walk(t, on{b.Admin, nil}, setup.Options{}, nil, stage{tables: []store.Table{bare}, plan: planOf(made(bare)...)})
	walkHistory(t, b, laidOut(daily), append(slices.Clone(historyMade), "~ layout of family m of table t (the table exists, but has no history)"), recordedAs(daily))
}

// Schemas that share a table have a history each, and so has each prefix.
func TestHistoryOfSharedTable(t *testing.T) {
	b := start(t)
	set(t, b, daily)
	plan := settle(t, b, laidOut(foreign))
	same(t, "changes", show(plan), []string{"~ layout of family other of table t (the schema is new in the table)", "+ family other of table t: max_age 30d"})
	set(t, b, daily)
	both := []store.Table{laidOut(daily), laidOut(foreign)}
	for range 2 {
		plan, err := setup.Setup(t.Context(), b.Admin, b.Client, both, setup.Options{TablePrefix: "x_"})
		must(t, err)
		both[0], both[1] = both[1], both[0]
		if len(plan.Recorded) > 0 && !plan.Empty() {
			t.Error(plan)
		}
	}
	_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(strings.Replace(foreign, "unix_s", "unix_ms", 1)), laidOut(daily)})
	same(t, "refused", refused(err), []string{"other_layout:t/other"})
	v1 := "btgen layout v1\n"
	same(t, "history", history(t, b), []string{
		"t layouts:m/0001: " + v1 + daily, "t layouts:other/0001: " + v1 + foreign,
		"x_t layouts:m/0001: " + v1 + daily, "x_t layouts:other/0001: " + v1 + foreign,
	})
}

// A table that was deleted has no events, so that it may get any layout.
func TestHistoryOfDeletedTable(t *testing.T) {
	b := start(t)
	set(t, b, daily)
	recorded := []string{daily}
	for _, layout := range []string{hourly, daily, daily} {
		must(t, b.Admin.DeleteTable(t.Context(), "t"))
		recorded = append(recorded, layout)
		walkHistory(t, b, laidOut(layout), made(laidOut(layout)), recordedAs(recorded...))
	}
	same(t, "steps", stepsOf(t, b), []string{"creates m/0001", "exists", "creates m/0002", "exists", "creates m/0003", "exists", "creates m/0004", "exists"})
}

func TestHistoryErrors(t *testing.T) {
	b := start(t)
	tables := []store.Table{laidOut(daily)}
	if _, err := setup.Setup(t.Context(), b.Admin, nil, tables); !isHistoryError(err, "there is no client to read and write it: pass a *bigtable.Client, or set setup.Options.NoHistory, or --no-history of btgen-live, to set up without a history") {
		t.Error("without a client:", err)
	}
	plan, err := setup.Setup(t.Context(), b.Admin, nil, tables, setup.Options{NoHistory: true})
	if err != nil || history(t, b) != nil {
		t.Error("without a history:", err, history(t, b))
	}
	same(t, "changes", show(plan), made(tables...))
	var table *setup.TableError
	if _, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{{ID: "layouts"}}, setup.Options{TablePrefix: "btgen_"}); !errors.As(err, &table) {
		t.Error("a table in place of the history:", err)
	}
	set(t, b, daily)
	for _, tt := range []struct{ column, value, want string }{
		{"m/0002", "btgen layout v9\n...", `column "m/0002" was written by a newer btgen`},
		{"m/0002", "btgen layout v1\nrubbish", `undecodable fact "rubbish"`},
		{"note", "hello", `unknown column "note"`},
	} {
		m := bigtable.NewMutation()
		m.DeleteCellsInFamily("layouts")
		m.Set("layouts", tt.column, 1000, []byte(tt.value))
		must(t, b.Client.Open(setup.HistoryTable).Apply(t.Context(), "t", m))
		if _, err := setup.Setup(t.Context(), b.Admin, b.Client, tables); !isHistoryError(err, tt.want) {
			t.Errorf("%s: %v", tt.value, err)
		}
	}
}

func isHistoryError(err error, part string) bool {
	var e *setup.HistoryError
	return errors.As(err, &e) && strings.Contains(err.Error(), part)
}

// meddler changes the calls of clients. It counts those that change something.
type meddler struct {
	mu    sync.Mutex
	calls int
	on    func(call int, method string, invoke func() error) error
}

// unary intercepts a call.
func (m *meddler) unary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	invoke := func() error { return next(ctx, method, req, reply, conn, opts...) }
	if strings.Contains(method, "Get") || strings.Contains(method, "Ping") {
		return invoke()
	}
	m.mu.Lock()
	m.calls++
	call := m.calls
	m.mu.Unlock()
	return m.on(call, method, invoke)
}

// clientsOf returns further clients of a server.
func clientsOf(t *testing.T, b *storetest.Bigtable, o ...grpc.DialOption) (*bigtable.AdminClient, *bigtable.Client) {
	t.Helper()
	admin, err := storetest.ConnectAdmin(t.Context(), b.Addr, o...)
	must(t, err)
	client, err := storetest.ConnectPlain(t.Context(), b.Addr, o...)
	must(t, err)
	t.Cleanup(func() { _, _ = admin.Close(), client.Close() })
	return admin, client
}

// clients returns clients with the calls of the meddler.
func (m *meddler) clients(t *testing.T, b *storetest.Bigtable) (*bigtable.AdminClient, *bigtable.Client) {
	t.Helper()
	return clientsOf(t, b, grpc.WithChainUnaryInterceptor(m.unary))
}

// steps are the calls of a setup that change something: the table of the history, an entry, and
// table t; or an entry, and a family.
func steps(t *testing.T, f func(t *testing.T, step int, b *storetest.Bigtable, want store.Table)) {
	for _, existing := range []bool{false, true} {
		for step := range 3 {
			t.Run(fmt.Sprintf("existing=%v/step=%d", existing, step+1), func(t *testing.T) {
				b := start(t)
				want := laidOut(daily)
				if existing {
					set(t, b, daily)
					want = laidOut(daily + "; family n: events")
				}
				f(t, step+1, b, want)
				settle(t, b, want)
				if plan := settle(t, b, want, setup.Options{DryRun: true}); !plan.Empty() {
					t.Error("still to do:", plan)
				}
				entries := []string{daily, want.Layout}
				if !existing {
					entries = entries[1:]
				}
				same(t, "history", history(t, b), recordedAs(entries...))
			})
		}
	}
}

// faultsOfCalls are the ways in which a call of a process fails, and what becomes of those after it.
var faultsOfCalls = map[string]func(call, step int, invoke func() error) error{
	"killed before": func(call, step int, invoke func() error) error {
		if call >= step {
			return errKilled
		}
		return invoke()
	},
	"killed after": func(call, step int, invoke func() error) error {
		if call > step {
			return errKilled
		}
		if err := invoke(); call < step {
			return err
		}
		return errKilled
	},
	"lost reply": func(call, step int, invoke func() error) error {
		if err := invoke(); call != step {
			return err
		}
		return status.Error(codes.Unavailable, "lost")
	},
}

// A process that is killed before or after any of its calls has at most recorded a layout that the table does not have
// yet, and repeating setup completes it. A call whose reply is lost is repeated, without a second entry.
func TestHistoryOfFaults(t *testing.T) {
	t.Parallel()
	for how, fault := range faultsOfCalls {
		t.Run(how, func(t *testing.T) {
			steps(t, func(t *testing.T, step int, b *storetest.Bigtable, want store.Table) {
				m := &meddler{}
				m.on = func(call int, _ string, invoke func() error) error { return fault(call, step, invoke) }
				admin, client := m.clients(t, b)
				plan, err := setup.Setup(t.Context(), admin, client, []store.Table{want})
				if lost := how == "lost reply"; lost && (err != nil || plan.Empty()) || !lost && err == nil && m.calls >= step {
					t.Fatal(plan, err)
				}
				if _, err := b.Admin.TableInfo(t.Context(), "t"); err == nil && len(history(t, b)) == 0 {
					t.Error("the table is ahead of its history")
				}
			})
		})
	}
}

// TestHistoryLateCopies executes each request of a setup that extends the history once more after another build has changed the
// layout: the history stays. Class of faults: unconditional mutations that arrive after their call has ended.
func TestHistoryLateCopies(t *testing.T) {
	for n := 0; ; n++ {
		b := start(t)
		late := &latecopy.Copy{N: n}
		_, err := setup.Setup(t.Context(), b.Admin, lateClient{b.Client, late}, []store.Table{laidOut(daily)})
		must(t, err)
		if late.Again == nil {
			if n < 2 {
				t.Errorf("%d requests", n)
			}
			break
		}
		before := wholeHistory(t, b)
		late.Again()
		same(t, "history", wholeHistory(t, b), before)
		settle(t, b, laidOut(byTime(since(newYear, hourly), until(newYear, daily))))
		before = wholeHistory(t, b)
		late.Again()
		same(t, "history after another build", wholeHistory(t, b), before)
	}
}

// lateClient is a client of which a request is executed once more.
type lateClient struct {
	store.Client
	late *latecopy.Copy
}

func (c lateClient) OpenTable(table string) bigtable.TableAPI {
	return c.late.Of(table, c.Client.OpenTable(table))
}

// What must not be allowed, or is not, says what to do. Tables stay as they are.
func TestHistoryPermissions(t *testing.T) {
	for _, tt := range []struct {
		method string
		code   codes.Code
		want   string
	}{
		{"CreateTable", codes.PermissionDenied, "grant permission to create the table, and to read and mutate its rows, or set setup.Options.NoHistory, or --no-history of btgen-live, to set up without a history"},
		{"CheckAndMutate", codes.PermissionDenied, "of table t, in table btgen_layouts: rpc error: code = PermissionDenied desc = no: grant permission"},
		{"CheckAndMutate", codes.FailedPrecondition, "use an app profile with single-cluster routing"},
	} {
		b := start(t)
		m := &meddler{on: func(_ int, method string, invoke func() error) error {
			if strings.Contains(method, tt.method) {
				return status.Error(tt.code, "no")
			}
			return invoke()
		}}
		admin, client := m.clients(t, b)
		_, err := setup.Setup(t.Context(), admin, client, []store.Table{laidOut(daily)}, setup.Options{Timeout: 10 * time.Second})
		if !isHistoryError(err, tt.want) {
			t.Errorf("%s: %v", tt.method, err)
		}
		if _, err := b.Admin.TableInfo(t.Context(), "t"); status.Code(err) != codes.NotFound {
			t.Errorf("%s: the table was created without a history: %v", tt.method, err)
		}
	}
}

// A table that was restored from a backup has neither rules nor protection. The plan says so, and setup brings them back once they
// are allowed by name; a table of which the history does not know that it had rules is not said to be restored. The class of fault: a
// state after a disaster is refused without being recognized.
func TestHistoryOfRestoredTable(t *testing.T) {
	const reason = "; no family has a rule, as after a restore from a backup: events that were deleted since it was made are back"
	b := start(t)
	table := laidOut(daily)
	table.DeletionProtection = bigtable.Protected
	must(t, b.Admin.CreateTableFromConf(t.Context(), &bigtable.TableConf{TableID: "t", ColumnFamilies: map[string]bigtable.Family{"m": {}}}))
	dry, allow := setup.Options{DryRun: true}, setup.Options{Allow: []string{"shorter_age:t/m"}}
	if plan := settle(t, b, table, dry); len(plan.Refused()) != 1 || strings.Contains(plan.String(), reason) {
		t.Errorf("a table of others: %v", plan)
	}
	settle(t, b, table, allow)
	// As after a restore.
	must(t, b.Admin.UpdateTableWithDeletionProtection(t.Context(), "t", bigtable.Unprotected))
	must(t, b.Admin.SetGCPolicy(t.Context(), "t", "m", bigtable.NoGcPolicy()))
	refused := settle(t, b, table, dry).Refused()
	if len(refused) != 1 || refused[0].Name() != "shorter_age:t/m" || !strings.Contains(refused[0].String(), reason) {
		t.Errorf("a restored table: %v", refused)
	}
	if plan := settle(t, b, table, allow); len(plan.Changes) != 2 {
		t.Errorf("changed %v", plan)
	}
	if plan := settle(t, b, table); !plan.Empty() {
		t.Errorf("left %v", plan)
	}
}

var must = assert.Must

// edge is newYear.
var edge = time.Date(2927, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns options with a clock.
func at(now time.Time) setup.Options { return setup.Options{Now: func() time.Time { return now }} }

// TestHistoryOfBegunLayout adds a layout by time at all times before and after its beginning: to a
// table that has the one before it, with and without a history, and to one that does not exist,
// which holds no events.
func TestHistoryOfBegunLayout(t *testing.T) {
	table := laidOut(byTime(since(newYear, hourly), until(newYear, daily)))
	for _, tt := range []struct {
		name    string
		before  []setup.Options // of the setup with the earlier layout; none if there was none
		now     time.Time
		refused bool
	}{
		{"before", []setup.Options{{}}, edge.Add(-time.Second), false},
		{"at", []setup.Options{{}}, edge, true},
		{"after", []setup.Options{{}}, edge.Add(400 * day), true},
		{"before, without a history", []setup.Options{{NoHistory: true}}, edge.Add(-time.Second), false},
		{"after, without a history", []setup.Options{{NoHistory: true}}, edge.Add(day), true},
		{"a new table", nil, edge.Add(day), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t)
			for _, o := range tt.before {
				settle(t, b, laidOut(daily), o)
			}
			o := at(tt.now)
			_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o)
			names := refused(err)
			if want := []string{"begun_layout:t/m"}; tt.refused != slices.Equal(names, want) || !tt.refused && err != nil {
				t.Fatalf("refused %q, %v", names, err)
			}
			o.Allow = names
			settle(t, b, table, o)
			if plan := settle(t, b, table, at(edge.Add(100*day))); !plan.Empty() { // it is known from now on
				t.Fatal(plan)
			}
		})
	}
}

// TestHistoryOfWithdrawnLayout withdraws a layout by time before and after it has begun: only before, the refusal says how.
func TestHistoryOfWithdrawnLayout(t *testing.T) {
	b := start(t)
	settle(t, b, laidOut(byTime(since(newYear, hourly), until(newYear, daily))), at(edge.Add(-time.Hour)))
	for _, now := range []time.Time{edge.Add(-time.Second), edge} {
		_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(daily)}, at(now))
		if same(t, "refused", refused(err), []string{"older_layout:t/m"}); strings.Contains(err.Error(), "is withdrawn") != now.Before(edge) {
			t.Errorf("at %s: %v", now, err)
		}
	}
}

// unsampled is a client that is denied to search table t.
type unsampled struct {
	store.Client
	wait bool // for the end of the call, instead
}

func (c unsampled) OpenTable(table string) bigtable.TableAPI {
	if api := c.Client.OpenTable(table); table != "t" {
		return api
	}
	return unsampledTable{c.Client.OpenTable(table), c.wait}
}

type unsampledTable struct {
	bigtable.TableAPI
	wait bool
}

func (t unsampledTable) SampleRowKeys(ctx context.Context) ([]string, error) {
	if t.wait {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return nil, status.Error(codes.PermissionDenied, "no sampling")
}

// TestHistoryOfSearchedLayout begins a layout by time later, in a table that cannot be searched for events that it would hide: nobody
// knows whether there are some. TestScripts searches tables that have some.
func TestHistoryOfSearchedLayout(t *testing.T) {
	tables := store.Tables([]*store.Mapping{{Table: laidOut(since(newYear, hourly)), Since: edge, Older: []*store.Mapping{{Table: laidOut(until(newYear, daily))}}}})
	for _, tt := range []struct {
		wait bool
		says string
	}{{false, "no sampling"}, {true, "it took longer than 1s"}} {
		b := start(t)
		settle(t, b, laidOut(daily))
		client, o := unsampled{b.Client, tt.wait}, at(edge.Add(-time.Hour))
		o.Timeout = time.Second
		_, err := setup.Setup(t.Context(), b.Admin, client, tables, o)
		if same(t, "refused", refused(err), []string{"later_events:t/m"}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
		o.Allow = refused(err)
		_, err = setup.Setup(t.Context(), b.Admin, client, tables, o)
		must(t, err)
		o.Allow = nil // it is known from now on, and nobody searches
		_, err = setup.Setup(t.Context(), b.Admin, client, tables, o)
		must(t, err)
	}
}
