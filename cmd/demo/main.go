// Command demo shows what btgen does, in a clone of its repository: it generates the
// code of the example schemas, sets up tables on an in-memory Bigtable, and writes and
// reads real weather data of NOAA through the generated code.
//
//	go run ./cmd/demo
//
// With --serve, it then shows the data in a browser until interrupted, as btgen-live serve does.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	serves := len(os.Args) == 2 && os.Args[1] == "--serve"
	if len(os.Args) > 1 && !serves {
		fmt.Fprintln(os.Stderr, "demo: the only argument is --serve")
		os.Exit(2)
	}
	if err := run(ctx, ".", os.Stdout, serves); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run runs the demo in a clone of the repository. If it serves, it ends with ctx.
func run(ctx context.Context, root string, stdout io.Writer, serves bool) error {
	if _, err := os.Stat(filepath.Join(root, "generated", "examples", "testdata")); err != nil {
		return fmt.Errorf("run it in the root of a clone of btgen: %w", err)
	}
	r := report{to: stdout}
	if err := generate(root, &r); err != nil {
		return err
	}
	begin := time.Now()
	bt, err := examplestest.Start(ctx)
	if err != nil {
		return err
	}
	r.step("set up", begin, "10 tables on an in-memory Bigtable")
	err = errors.Join(use(ctx, root, bt, &r), r.err)
	if err == nil && serves {
		err = serve(ctx, root, bt, stdout)
	}
	return errors.Join(err, bt.Close())
}

// serve runs btgen-live serve for the data until ctx ends.
func serve(ctx context.Context, root string, bt *storetest.Bigtable, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "btgen-demo")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "btgen-live.exe") // the extension that Windows needs
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/btgen-live")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "serve", filepath.Join("schemas", "noaa_daily.yaml"), filepath.Join("schemas", "noaa_normals.yaml"),
		"--project", storetest.Project, "--instance", storetest.Instance, "--addr", "localhost:0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, stdout, os.Stderr
	cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+bt.Addr)
	if err := cmd.Run(); ctx.Err() == nil {
		return err
	}
	return nil // interrupted
}

// generate generates the code of the schemas, and compares it with the code that is compiled
// into this program.
func generate(root string, r *report) error {
	begin := time.Now()
	p, err := project.Load([]string{filepath.Join(root, "schemas")}, filepath.Join(root, "generated"))
	if err != nil {
		return err
	}
	target, err := p.Target()
	if err != nil {
		return err
	}
	result, err := gen.Generate(p.Inputs, target.Target)
	if err == nil {
		err = result.Diagnostics.Err()
	}
	if err != nil {
		return err
	}
	size := 0
	for _, f := range result.Files {
		size += len(f.Content)
		compiled, err := os.ReadFile(filepath.Join(target.Dir, filepath.FromSlash(f.Path)))
		if err != nil || !bytes.Equal(compiled, f.Content) {
			return errors.Join(fmt.Errorf("generated/%s is out of date; run: go run ./cmd/btgen generate", f.Path), err)
		}
	}
	r.step("generate", begin, "%d schemas: %d files, %s of Go", len(p.Inputs), len(result.Files), bytesOf(size))
	return nil
}

// use writes and reads the data of both files.
func use(ctx context.Context, root string, bt *storetest.Bigtable, r *report) error {
	hours, err := loadHours(root)
	if err != nil {
		return err
	}
	days, err := loadDays(root)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := examples.NewNormalWriter(bt.Client).WriteAll(ctx, hours); err != nil {
		return err
	}
	r.step("write", begin, "%s events to 5 tables each: every hour of a year in Seattle", number(len(hours)))
	begin = time.Now()
	if err := examples.NewDailyWriter(bt.Client).WriteAll(ctx, days); err != nil {
		return err
	}
	r.step("write", begin, "%s events to 5 tables each: every day of four years in two cities", number(len(days)))
	if err := readHours(ctx, examples.NewNormalReader(bt.Client), r); err != nil {
		return err
	}
	if err := readDays(ctx, examples.NewDailyReader(bt.Client), r); err != nil {
		return err
	}
	year, err := summarize(ctx, examples.NewNormalReader(bt.Client), r)
	if err != nil {
		return err
	}
	if err := countTables(ctx, bt, len(hours), r); err != nil {
		return err
	}
	r.printf("\n%s", year.Text(0, false))
	return nil
}

// seattle is the series of the hours.
var seattle = examples.NormalSeries{Station: "seattle"}

// readHours reads a day, the newest event, and the year.
func readHours(ctx context.Context, reader *examples.NormalReader, r *report) error {
	july := time.Date(2010, 7, 4, 0, 0, 0, 0, time.UTC)
	begin := time.Now()
	coldest, warmest, n := math.Inf(1), math.Inf(-1), 0
	for e, err := range reader.Read(ctx, seattle, july, july.AddDate(0, 0, 1)) {
		if err != nil {
			return err
		}
		coldest, warmest = min(coldest, e.Temperature), max(warmest, e.Temperature)
		n++
	}
	r.step("read", begin, "4 July: %s events, %.1f to %.1f °C", number(n), coldest, warmest)
	begin = time.Now()
	e, err := reader.Latest(ctx, seattle)
	if err != nil {
		return err
	}
	r.step("latest", begin, "%s: %.1f hPa, %.1f °C, %.1f m/s", e.Time.Format("2 Jan 15:04"), e.Pressure, e.Temperature, e.Wind)
	begin = time.Now()
	var year examples.NormalColumns
	if err := reader.ReadColumns(ctx, seattle, july.AddDate(-1, 0, 0), july.AddDate(1, 0, 0), &year); err != nil {
		return err
	}
	r.step("columns", begin, "the year: %s events", number(len(year.Temperature)))
	return nil
}

// summarize summarizes the year by days, and returns their temperatures as a chart.
func summarize(ctx context.Context, reader *examples.NormalReader, r *report) (*chart.Chart, error) {
	from := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	begin := time.Now()
	var days []chart.Point
	for w, err := range reader.Windows(ctx, seattle, from, from.AddDate(1, 0, 0), window.Days(1, time.UTC)) {
		if err != nil {
			return nil, err
		}
		t := &w.Temperature
		days = append(days, chart.Point{Start: w.Start, End: w.End, Min: t.Min, Max: t.Max, Mean: t.Mean(), Count: t.Count})
	}
	r.step("windows", begin, "the year by days: %s windows", number(len(days)))
	return &chart.Chart{
		Title: "A normal year in Seattle", From: from, To: from.AddDate(1, 0, 0), Width: "day", Series: []string{"seattle"},
		Fields: []chart.Field{{Name: "temperature", Unit: "°C", Lines: [][]chart.Point{days}}},
	}, nil
}

// readDays runs the query of the schema.
func readDays(ctx context.Context, reader *examples.DailyReader, r *report) error {
	christmas := time.Date(2015, 12, 25, 0, 0, 0, 0, time.UTC)
	begin := time.Now()
	var found []examples.DailyEvent
	for e, err := range reader.AllCities(ctx, christmas, christmas.AddDate(0, 0, 1)) {
		if err != nil {
			return err
		}
		found = append(found, e)
	}
	r.step("query", begin, "AllCities on 25 December 2015: %s events", number(len(found)))
	for _, e := range found {
		r.line("%-9s %-7v %4.1f to %.1f °C", e.Location, e.Weather, e.TempMin, e.TempMax)
	}
	return nil
}
