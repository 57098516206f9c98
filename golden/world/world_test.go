package world_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/generated/alltypes"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/world"
)

// parallel is how many scripts are played at a time. They wait longer than they compute: streams that broke are resumed after
// a pause.
const parallel = "12"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	m.Run()
}

// module is the import path of this folder.
const module = "github.com/btgen-dev/btgen/golden/world/"

// folders are those of the schemas from which others are drawn. The first two are what people read as examples.
var folders = []string{"../../schemas", "../../golden/code", "../../golden/rules", "../../golden/breaking"}

// load returns the corpus of some folders.
func load(t *testing.T, n int) *corpus.Corpus {
	t.Helper()
	c, err := corpus.Load(folders[:n]...)
	must(t, err)
	return c
}

// scripts returns the numbers of the scripts to play: n of them, or those between two numbers in the environment
// variable BTGEN_WORLD, such as 2000-3000.
func scripts(t *testing.T, n int) (first, end int) {
	t.Helper()
	if text := os.Getenv("BTGEN_WORLD"); text != "" {
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &n); err != nil {
			t.Fatal(err)
		}
	}
	return first, n
}

// TestWorld plays scripts on schemas that are drawn from parts of others, and on some of this package, in which
// what others rarely have meets.
func TestWorld(t *testing.T) {
	c := load(t, testlong.Pick(1, len(folders)))
	meetings, err := corpus.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	first, end := scripts(t, testlong.Pick(9, 1000))
	for i := first; i < end; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(2, uint64(i)))
			d := c.Draw(random, i%6)
			if i%3 == 2 {
				d = meetings.Draw(random, 0)
			}
			if later := future(d.Text); corpus.Layout(later) != nil {
				d.Text = later
			}
			w := world.Start(t)
			w.Check(t, d.Text, nil, random.Uint64())
			t.Log(w.Counts)
		})
	}
}

// generated has schemas of the project with their generated code.
var generated = []struct {
	schema string
	code   world.Code
}{
	{"all_types", world.Code{NewWriter: alltypes.NewSampleWriter, NewReader: alltypes.NewSampleReader, NewBatcher: alltypes.NewSampleBatcher, Windows: new(alltypes.SampleWindowColumns), ParseKeys: []any{
		alltypes.ParseSampleColumnsKey, alltypes.ParseSampleColumnsTextKey, alltypes.ParseSampleCellsKey, alltypes.ParseSampleCellsTextKey, alltypes.ParseSampleCombinedKey,
		alltypes.ParseSampleCombinedJSONKey, alltypes.ParseSampleSerializedKey, alltypes.ParseSampleSerializedJSONKey, alltypes.ParseSampleUnserializedKey, alltypes.ParseSampleUnserializedTextKey,
	}}},
	{"grid_meters", world.Code{NewWriter: examples.NewMeterWriter, NewReader: examples.NewMeterReader, NewBatcher: examples.NewMeterBatcher, Windows: new(examples.MeterWindowColumns), ParseKeys: []any{examples.ParseMeterQuartersKey}}},
	{"sparse", world.Code{NewWriter: alltypes.NewSparseWriter, NewReader: alltypes.NewSparseReader, NewBatcher: alltypes.NewSparseBatcher, Windows: new(alltypes.SparseWindowColumns), ParseKeys: []any{alltypes.ParseSparseColumnsKey, alltypes.ParseSparseCellsKey, alltypes.ParseSparseUnserializedKey}}},
	{"transit_positions", world.Code{NewWriter: examples.NewPositionWriter, NewReader: examples.NewPositionReader, NewBatcher: examples.NewPositionBatcher, Windows: new(examples.PositionWindowColumns), ParseKeys: []any{examples.ParsePositionsKey}}},
	{"vehicles_now", world.Code{NewWriter: examples.NewVehicleWriter, NewReader: examples.NewVehicleReader, NewBatcher: examples.NewVehicleBatcher, Windows: new(examples.VehicleWindowColumns), ParseKeys: []any{examples.ParseVehicleEventsKey, examples.ParseVehicleNowKey}}},
	{"balloon_layouts", world.Code{NewWriter: weather.NewBalloonLayoutsWriter, NewReader: weather.NewBalloonLayoutsReader, NewBatcher: weather.NewBalloonLayoutsBatcher}},
	{"cpu", world.Code{NewWriter: examples.NewUsageWriter, NewReader: examples.NewUsageReader, NewBatcher: examples.NewUsageBatcher}},
	{"device_alarms", world.Code{NewWriter: examples.NewAlarmWriter, NewReader: examples.NewAlarmReader, NewBatcher: examples.NewAlarmBatcher}},
	{"feed_activities", world.Code{NewWriter: examples.NewActivityWriter, NewReader: examples.NewActivityReader, NewBatcher: examples.NewActivityBatcher}},
	{"market_ticks", world.Code{NewWriter: examples.NewTickWriter, NewReader: examples.NewTickReader, NewBatcher: examples.NewTickBatcher}},
	{"meter", world.Code{NewWriter: examples.NewMeterReadingWriter, NewReader: examples.NewMeterReadingReader, NewBatcher: examples.NewMeterReadingBatcher}},
	{"noaa_daily", world.Code{NewWriter: examples.NewDailyWriter, NewReader: examples.NewDailyReader, NewBatcher: examples.NewDailyBatcher}},
	{"seismic_tremors", world.Code{NewWriter: examples.NewTremorWriter, NewReader: examples.NewTremorReader, NewBatcher: examples.NewTremorBatcher}},
	{"transit_delays", world.Code{NewWriter: examples.NewDelayWriter, NewReader: examples.NewDelayReader, NewBatcher: examples.NewDelayBatcher}},
}

// TestWorldOfGenerated plays scripts with generated code of the project, which need not be compiled for it.
func TestWorldOfGenerated(t *testing.T) {
	first, end := scripts(t, testlong.Pick(2, 30))
	for _, of := range generated {
		t.Run(of.schema, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("../../schemas", of.schema+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			w := world.Start(t)
			for i := first; i < end; i++ {
				w.Check(t, text, &of.code, uint64(i))
			}
		})
	}
}

// since is a year in which a layout begins.
var since = regexp.MustCompile(`\bsince: 20[0-9][0-9]`)

// future returns a schema whose layouts begin 56 years later, when days have the same names, so that the events of
// several layouts are alive. The server removes what has expired by its own clock.
func future(text []byte) []byte {
	return since.ReplaceAllFunc(text, func(of []byte) []byte {
		year, _ := strconv.Atoi(string(of[len(of)-4:]))
		return fmt.Appendf(nil, "since: %d", year+56)
	})
}

// TestWorldOfEdits edits drawn schemas that have events. What the judge of edits does not refuse hides and changes
// nothing.
func TestWorldOfEdits(t *testing.T) {
	c := load(t, testlong.Pick(1, len(folders)))
	first, end := scripts(t, testlong.Pick(4, 400))
	for i := first; i < end; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(4, uint64(i)))
			d := c.Draw(random, i%3)
			edited := d.Text
			for range 1 + i%2 {
				if more, ok := c.Edit(random, edited); ok {
					edited = more
				}
			}
			w := world.Start(t)
			how, err := w.Edit(t.Context(), d.Layout, corpus.Layout(edited), random.Uint64())
			if t.Log(how, w.Counts); err != nil {
				t.Errorf("%v\n%s\n%s", err, d.Text, edited)
			}
		})
	}
}

// packageOf is the name of the package in a schema.
var packageOf = regexp.MustCompile(`(?m)^package: .*$`)

// compiled is a schema whose code is compiled.
type compiled struct{ Package, Name, Text string }

// TestWorldOfCode compiles the code of drawn schemas, and plays scripts with it.
func TestWorldOfCode(t *testing.T) {
	c := load(t, testlong.Pick(1, len(folders)))
	first, end := scripts(t, testlong.Pick(4, 40))
	dir := testlong.Scratch(t)
	root := module + filepath.ToSlash(dir)
	var drawn []compiled
	for i := first; i < end; i++ {
		d := c.Draw(rand.New(rand.NewPCG(3, uint64(i))), i%6)
		text := packageOf.ReplaceAll(d.Text, fmt.Appendf(nil, "package: p%d", i))
		r, err := gen.Generate([]gen.Input{{Name: "schema.yaml", Text: text}}, emit.Target{ImportPath: root})
		if err != nil || r.Diagnostics.HasErrors() {
			t.Fatal(err, r.Diagnostics)
		}
		for _, f := range r.Files {
			if !strings.HasSuffix(f.Path, "_test.go") && !strings.Contains(f.Path, "test/") {
				write(t, filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content)
			}
		}
		drawn = append(drawn, compiled{r.Layouts[0].Package, r.Layouts[0].Name, string(text)})
	}
	var main bytes.Buffer
	if err := codeTest.Execute(&main, map[string]any{"Root": root, "Drawn": drawn, "Scripts": testlong.Pick(3, 8)}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "code_test.go"), main.Bytes())
	cmd := exec.Command("go", "test", "-vet=off", "-parallel", parallel, testlong.CompileFast(root), "./"+filepath.ToSlash(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// write writes a file in a folder that it makes.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// codeTest plays scripts with generated packages.
var codeTest = template.Must(template.New("").Parse(`package code_test

import (
	"testing"

	"github.com/btgen-dev/btgen/golden/world"
{{- range .Drawn}}
	"{{$.Root}}/{{.Package}}"
{{- end}}
)
{{range .Drawn}}
func Test_{{.Package}}(t *testing.T) {
	t.Parallel()
	w := world.Start(t)
	for i := range {{$.Scripts}} {
		w.Check(t, []byte({{printf "%q" .Text}}), &world.Code{NewWriter: {{.Package}}.New{{.Name}}Writer, NewReader: {{.Package}}.New{{.Name}}Reader, NewBatcher: {{.Package}}.New{{.Name}}Batcher}, uint64(i))
	}
}
{{end}}`))

var must = assert.Must
