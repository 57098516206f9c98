package gen

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/btgen-dev/btgen/gen/internal/model"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// TestModel compiles random schemas and runs their code against an in-memory server.
// Writes, garbage collection and reads must behave like the model, and a read must
// transfer no more than its events and the access paths of the layout require. The
// generated tests of the schemas must pass, too. A normal run uses one schema per pattern and one with a
// history. A long one uses three strategies per pattern: generated code states what its tables are, the
// runtime does the rest, and [TestDynamicModel] tries all strategies without compiling anything.
// BTGEN_MODEL_CASES is the total number of cases; from 1000 on, as in a nightly run, all strategies are
// compiled. BTGEN_MODEL_SEED selects other schemas.
func TestModel(t *testing.T) {
	total := numberOf(t, "BTGEN_MODEL_CASES", testlong.Pick(10, 250))
	seed := numberOf(t, "BTGEN_MODEL_SEED", 1)
	schemas := testlong.Sample(perPattern(seed, testlong.Pick(1, 3)), 3)
	if total >= 1000 {
		schemas = model.Matrix(seed)
	}
	for i := range testlong.Pick(0, 6) {
		schemas = append(schemas, model.Random(100*seed+i))
	}
	histories := model.Histories(seed)
	for i := range testlong.Pick(1, 4) {
		schemas = append(schemas, histories[(seed+7*i)%len(histories)])
	}
	dir := testlong.Scratch(t)
	var inputs []Input
	for i := range schemas {
		s := &schemas[i]
		s.Name = fmt.Sprintf("s%02d", i)
		inputs = append(inputs, Input{Name: s.Name + ".yaml", Text: []byte(s.YAML())})
	}
	root := "github.com/btgen-dev/btgen/gen/" + filepath.ToSlash(dir)
	for _, d := range Resolve(inputs).Diagnostics {
		if strings.Contains(d.Message, "to allow") {
			t.Errorf("%s: %s", d.Pos, d.Message)
		}
	}
	result := generateRandom(t, inputs, root)
	writeTested(t, dir, 0, result.Files)
	readModel(t)
	access := map[string]map[string]model.AccessPath{}
	for _, l := range result.Layouts {
		access[l.Package] = accessOf(l)
	}
	paths := pathsOf(len(schemas), seed)
	for n := range testPackages() {
		var some []model.Schema
		var theirs []string
		for i := n; i < len(schemas); i += testPackages() {
			some, theirs = append(some, schemas[i]), append(theirs, paths[i])
		}
		var main bytes.Buffer
		if err := modelTest.Execute(&main, map[string]any{"Root": root, "Schemas": some, "Access": access, "Paths": theirs}); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(testFolder(dir, n), "model_test.go"), main.Bytes())
	}
	checks := strconv.Itoa(1 + (total-1)/len(schemas))
	cmd := exec.Command("go", append(append([]string{"test", "-vet=off", testlong.CompileFast(root)}, testFolders(dir)...), "-rapid.checks="+checks, "-rapid.nofailfile", "-rapid.shrinktime=5s")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// perPattern returns some schemas of the matrix per pattern, with different strategies, up to five.
func perPattern(seed, some int) []model.Schema {
	of := map[string][]model.Schema{}
	for _, s := range model.Matrix(seed) {
		of[s.Pattern] = append(of[s.Pattern], s)
	}
	var out []model.Schema
	for i, pattern := range codec.Patterns() {
		if pattern.NewestOnly() {
			continue // beside another table
		}
		all := of[pattern.String()]
		for k := range some {
			out = append(out, all[(i+seed+k*len(all)/some)%len(all)])
		}
	}
	return out
}

// pathsOf returns how the clients of the schemas connect: every other one with
// ClientOptions. The next seed exchanges them.
func pathsOf(schemas, seed int) []string {
	paths := make([]string, schemas)
	for i := range paths {
		paths[i] = [...]string{"Connect", "ConnectPlain"}[(i+seed)%2]
	}
	return paths
}

// accessOf returns how a layout answers the reads of its schema, by their names in the
// driver.
func accessOf(l *layout.Layout) map[string]model.AccessPath {
	access := map[string]model.AccessPath{}
	for _, q := range append(slices.Clone(l.Queries), l.ReadQuery()) {
		access[q.Name] = accessPath(l, &q)
	}
	return access
}

// accessPath returns how a layout answers a query.
func accessPath(l *layout.Layout, q *layout.Query) model.AccessPath {
	streams := q.Salts
	if q.Table.Metrics() {
		streams *= len(q.Table.Columns)
	}
	series := make([]any, len(l.Series))
	for i := range series {
		series[i] = sample.SeriesValue(l, q.Table, i)
	}
	spans, _ := q.Spans(&codec.KeyValues{Series: value.Pointers(l, series, nil)}, q.Table.MetricNames()) // examples are valid
	out := model.AccessPath{
		Streams: streams, Gathered: q.Table.Shape(l).Gathers(&scan.Read{Spans: spans, MultiSeries: q.MultiSeries()}),
		Timed:      q.Timed,
		Contiguous: q.Contiguous() && !q.Table.Metrics() && !q.Table.Endless(),
		Single:     len(q.By) == len(l.Series),
		Edges:      q.Table.Pattern == codec.BucketOffsets && q.Timed && !q.Table.Shape(l).ByTimestamp() && !q.Table.HasPoints(),
	}
	for i := range q.Older {
		out.Earlier = append(out.Earlier, accessPath(l, &q.Older[i]))
	}
	return out
}

// readModel reads the source of the model, most of which is not linked into this test,
// so that go test knows that its result depends on it.
func readModel(t *testing.T) {
	t.Helper()
	paths, err := filepath.Glob("internal/model/*.go")
	for _, path := range paths {
		if err == nil {
			_, err = os.ReadFile(path)
		}
	}
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
}

// numberOf returns the number in an environment variable, or otherwise.
func numberOf(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// modelTest runs the generated packages.
var modelTest = template.Must(template.New("").Parse(`package tests_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/internal/model"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
{{- range .Schemas}}
	"{{$.Root}}/{{.Name}}"
{{- end}}
)

func nothing(context.Context, *storetest.Bigtable) error { return nil }
{{range $i, $_ := .Schemas}}
func Test_{{.Name}}_{{.Pattern}}(t *testing.T) {
	t.Parallel()
	bt := storetest.New(t, nothing)
	schema := {{printf "%#v" .}}
	traffic := &model.Traffic{}
	client, err := storetest.{{index $.Paths $i}}(t.Context(), bt.Addr, grpc.WithChainStreamInterceptor(traffic.Intercept))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	faults := &model.Faults{}
	faulty, err := storetest.{{index $.Paths $i}}(t.Context(), bt.Addr, grpc.WithChainStreamInterceptor(faults.Intercept), grpc.WithChainUnaryInterceptor(faults.InterceptUnary))
	if err != nil {
		t.Fatal(err)
	}
	defer faulty.Close()
	driver := model.Driver[{{.Name}}.EventEvent]{
		Client: bt.Client,
		Traffic: traffic,
		Faults: faults,
		Paths: {{printf "%#v" (index $.Access .Name)}},
		Setup: func(prefix string) error {
			_, err := {{.Name}}.SetupEvent(t.Context(), bt.Admin, bt.Client, setup.Options{TablePrefix: prefix})
			return err
		},
		Drop: func(prefix string) {
			for _, id := range schema.Tables() {
				_ = bt.Admin.DeleteTable(t.Context(), prefix+id)
			}
		},
		Open: func(prefix string, now func() time.Time) model.Access[{{.Name}}.EventEvent] {
			w := {{.Name}}.NewEventWriter(faulty, store.WriterOptions{TablePrefix: prefix, Now: now})
			r := {{.Name}}.NewEventReader(client, store.ReaderOptions{TablePrefix: prefix, Now: now})
			var columns {{.Name}}.EventColumns
			return model.Access[{{.Name}}.EventEvent]{
				WriteAll: func(ctx context.Context, events []{{.Name}}.EventEvent) error {
					return {{.Name}}.NewEventWriter(bt.Client, store.WriterOptions{TablePrefix: prefix, Now: now}).WriteAll(ctx, events, store.WriteOptions{LastWins: true})
				},
				Failures: func(err error) (out map[int]error, short bool) {
					out = map[int]error{}
					if failed, ok := errors.AsType[*store.WriteError](err); ok {
						for _, f := range failed.Failures {
							if strings.HasSuffix(f.Table, model.ShortTable) {
								short = true
								continue
							}
							out[f.Index] = f.Err
						}
					}
					return out, short
				},
				Read: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.Read(ctx, base.EventSeries, from, to)
				},
				Columns: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time) ([]{{.Name}}.EventEvent, error) {
					columns.Reset() // the same for all reads
					err := r.ReadColumns(ctx, base.EventSeries, from, to, &columns)
					return model.Rows[{{.Name}}.EventEvent](columns, "EventSeries"), err
				},
				Fields: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time, names []string) iter.Seq2[{{.Name}}.EventEvent, error] {
					fields := []store.Field{}
					for _, name := range names {
						fields = append(fields, store.Field(name))
					}
					return r.Read(ctx, base.EventSeries, from, to, store.ReadOptions{Fields: fields})
				},
				Ordered: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time, how model.Order) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.Read(ctx, base.EventSeries, from, to, how.Options())
				},
				Latest: func(ctx context.Context, base {{.Name}}.EventEvent) ({{.Name}}.EventEvent, error) {
					return r.Latest(ctx, base.EventSeries)
				},
				NotFound: store.ErrNotFound,
				ReadMany: func(ctx context.Context, bases []{{.Name}}.EventEvent, from, to time.Time, how model.Order) iter.Seq2[{{.Name}}.EventEvent, error] {
					var series []{{.Name}}.EventSeries
					for _, base := range bases {
						series = append(series, base.EventSeries)
					}
					return r.ReadMany(ctx, series, from, to, how.Options())
				},
				LatestMany: func(ctx context.Context, bases []{{.Name}}.EventEvent) iter.Seq2[{{.Name}}.EventEvent, error] {
					var series []{{.Name}}.EventSeries
					for _, base := range bases {
						series = append(series, base.EventSeries)
					}
					return r.LatestMany(ctx, series)
				},
				Series: map[string]func(context.Context, model.Values, time.Time, time.Time) iter.Seq2[model.Series, error]{
					{{- range .Queries}}
					"{{.Name}}": func(ctx context.Context, v model.Values, from, to time.Time) iter.Seq2[model.Series, error] {
						return func(yield func(model.Series, error) bool) {
							for s, err := range r.{{.Name}}Series(ctx{{.Args}}, from, to) {
								if !yield(model.Series{Host: s.Host, Shard: s.Shard}, err) {
									return
								}
							}
						}
					},
					{{- end}}
				},
				Delete: func(ctx context.Context, events []{{.Name}}.EventEvent, o store.DeleteOptions) (store.Deletion, error) {
					return w.Delete(ctx, events, o)
				},
				DeleteRange: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time, o store.DeleteOptions) (store.Deletion, error) {
					return w.DeleteRange(ctx, base.EventSeries, from, to, o)
				},
				DeleteSeries: func(ctx context.Context, base {{.Name}}.EventEvent, o store.DeleteOptions) (store.Deletion, error) {
					return w.DeleteSeries(ctx, base.EventSeries, o)
				},
				Replace: func(ctx context.Context, old, updated {{.Name}}.EventEvent) error { return w.Replace(ctx, old, updated) },
				DeleteQueries: map[string]func(context.Context, model.Values, time.Time, time.Time, store.DeleteOptions) (store.Deletion, error){
					{{- range .Queries}}
					"{{.Name}}": func(ctx context.Context, v model.Values, from, to time.Time, o store.DeleteOptions) (store.Deletion, error) {
						return w.Delete{{.Name}}(ctx{{.Args}}, from, to, o)
					},
					{{- end}}
				},
				DeleteAllQueries: map[string]func(context.Context, model.Values, store.DeleteOptions) (store.Deletion, error){
					{{- range .Queries}}
					"{{.Name}}": func(ctx context.Context, v model.Values, o store.DeleteOptions) (store.Deletion, error) {
						return w.DeleteAll{{.Name}}(ctx{{.Args}}, o)
					},
					{{- end}}
				},
				Queries: map[string]model.Ask[{{.Name}}.EventEvent]{
					{{- $name := .Name}}{{range .Queries}}
					"{{.Name}}": func(ctx context.Context, v model.Values, from, to time.Time, how model.Order) iter.Seq2[{{$name}}.EventEvent, error] {
						return r.{{.Name}}(ctx{{.Args}}, from, to, how.Options())
					},
					{{- end}}
				},
			}
		},
		Refusals: map[model.Refusal]error{
			model.Expired: codec.ErrExpired, model.NoExpiry: codec.ErrNoExpiry,
			model.NoClass: codec.ErrClass, model.NoValue: codec.ErrNoValue,
			model.NoSequence: store.ErrNoSequence,
		},
	}
	rapid.Check(t, func(c *rapid.T) { model.Check(c, t.Context(), &schema, &driver) })
}
{{end}}`))
