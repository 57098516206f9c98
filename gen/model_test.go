package gen

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"text/template"

	"github.com/btgen-dev/btgen/gen/internal/model"
)

// TestModel compiles random schemas and runs their code against an in-memory
// server: what is written, collected and read must be what the model says. Every
// strategy that fits a pattern is among them. BTGEN_MODEL_CASES is how many cases
// are run in all; a nightly run has 10000 or more, and BTGEN_MODEL_SEED gives it
// other schemas.
func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("builds code")
	}
	total := numberOf(t, "BTGEN_MODEL_CASES", 500)
	seed := numberOf(t, "BTGEN_MODEL_SEED", 1)
	schemas := model.Matrix(seed)
	for i := range 12 {
		schemas = append(schemas, model.Random(100*seed+i))
	}
	dir := scratch(t)
	var inputs []Input
	for i := range schemas {
		s := &schemas[i]
		s.Name = fmt.Sprintf("s%02d", i)
		inputs = append(inputs, Input{Name: s.Name + ".yaml", Text: []byte(s.YAML())})
	}
	root := "github.com/btgen-dev/btgen/gen/" + filepath.ToSlash(dir)
	for _, f := range generateRandom(t, inputs, root) {
		write(t, filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content)
	}
	readModel(t)
	var main bytes.Buffer
	if err := modelTest.Execute(&main, map[string]any{"Root": root, "Schemas": schemas}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "model_test.go"), main.Bytes())
	checks := strconv.Itoa(1 + (total-1)/len(schemas))
	cmd := exec.Command("go", "test", "./"+filepath.ToSlash(dir), "-rapid.checks="+checks, "-rapid.nofailfile", "-rapid.shrinktime=5s")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// readModel reads the source of the model, most of which is not part of this
// test's program, so that go test knows that its result depends on it.
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

// numberOf returns the number in an environment variable.
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
var modelTest = template.Must(template.New("").Parse(`package model_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/internal/model"
	"{{.Root}}/internal/storetest"
{{- range .Schemas}}
	"{{$.Root}}/{{.Name}}"
{{- end}}
)

func nothing(context.Context, *bigtable.AdminClient) error { return nil }
{{range .Schemas}}
func Test_{{.Name}}_{{.Pattern}}(t *testing.T) {
	t.Parallel()
	bt := storetest.New(t, nothing)
	schema := {{printf "%#v" .}}
	driver := model.Driver[{{.Name}}.EventEvent]{
		Client: bt.Client,
		Setup: func(prefix string) error {
			_, err := {{.Name}}.SetupEvent(t.Context(), bt.Admin, {{.Name}}.Options{TablePrefix: prefix})
			return err
		},
		Open: func(prefix string, now func() time.Time) model.Access[{{.Name}}.EventEvent] {
			o := {{.Name}}.Options{TablePrefix: prefix, Now: now}
			r := {{.Name}}.NewEventReader(bt.Client, o)
			return model.Access[{{.Name}}.EventEvent]{
				WriteAll: {{.Name}}.NewEventWriter(bt.Client, o).WriteAll,
				Failures: func(err error) map[int]error {
					out := map[int]error{}
					if failed, ok := errors.AsType[*{{.Name}}.WriteError](err); ok {
						for _, f := range failed.Failures {
							out[f.Event] = f.Err
						}
					}
					return out
				},
				Read: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.Read(ctx, base.EventSeries, from, to)
				},
				Columns: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time) ([]{{.Name}}.EventEvent, error) {
					var columns {{.Name}}.EventColumns
					if err := r.ReadColumns(ctx, base.EventSeries, from, to, &columns); err != nil {
						return nil, err
					}
					first := model.Rows[{{.Name}}.EventEvent](columns, "EventSeries")
					columns.Reset()
					err := r.ReadColumns(ctx, base.EventSeries, from, to, &columns)
					if len(columns.Time) != len(first) {
						t.Errorf("%d events, and %d with columns that are used again", len(first), len(columns.Time))
					}
					return first, err
				},
				Fields: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time, names []string) iter.Seq2[{{.Name}}.EventEvent, error] {
					fields := []{{.Name}}.Field{}
					for _, name := range names {
						fields = append(fields, {{.Name}}.Field(name))
					}
					return r.Read(ctx, base.EventSeries, from, to, {{.Name}}.ReadOptions{Fields: fields})
				},
				Newest: func(ctx context.Context, base {{.Name}}.EventEvent, from, to time.Time, limit int) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.Read(ctx, base.EventSeries, from, to, {{.Name}}.ReadOptions{NewestFirst: true, Limit: limit})
				},
				Latest: func(ctx context.Context, base {{.Name}}.EventEvent) ({{.Name}}.EventEvent, error) {
					return r.Latest(ctx, base.EventSeries)
				},
				NotFound: {{.Name}}.ErrNotFound,
				{{- if .Queries}}
				ByHost: func(ctx context.Context, host string, from, to time.Time) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.ByHost(ctx, host, from, to)
				},
				ByShard: func(ctx context.Context, shard int64, from, to time.Time) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.ByShard(ctx, shard, from, to)
				},
				Each: func(ctx context.Context, host string, from, to time.Time) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.ByHost(ctx, host, from, to, {{.Name}}.ReadOptions{LatestOnly: true})
				},
				Turned: func(ctx context.Context, host string, from, to time.Time) iter.Seq2[{{.Name}}.EventEvent, error] {
					return r.ByHost(ctx, host, from, to, {{.Name}}.ReadOptions{NewestFirst: true})
				},
				{{- end}}
			}
		},
		Refusals: map[model.Refusal]error{
			model.Expired: {{.Name}}.ErrExpired, model.NoExpiry: {{.Name}}.ErrNoExpiry,
			model.NoClass: {{.Name}}.ErrClass, model.NoValue: {{.Name}}.ErrNoValue,
		},
	}
	rapid.Check(t, func(c *rapid.T) { model.Check(c, t.Context(), &schema, &driver) })
}
{{end}}`))
