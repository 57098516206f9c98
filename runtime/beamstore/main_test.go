package beamstore_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"

	"github.com/btgen-dev/btgen/runtime/beamstore"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/plantbeam"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Environment variables that make this program a worker or a driver.
const (
	pidFile = "BTGEN_BEAM_PID_FILE" // the file to which a worker writes its process ID
	driver  = "BTGEN_BEAM_DRIVER"   // the backfill that a driver runs
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(pidFile) != "":
		exit(work(os.Getenv(pidFile)))
	case os.Getenv(command) != "":
		exit(runCommand())
	case os.Getenv(driver) != "":
		exit(drive(os.Getenv(driver)))
	}
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// exit ends the program.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work runs the program as a worker of Prism until the runner disconnects.
func work(file string) error {
	var id, endpoint string
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--id":
			id = strings.Trim(value, "'") // Prism quotes it as if for a shell
		case "--provision_endpoint":
			endpoint = value // Prism has one endpoint for everything
		}
	}
	os.Args = os.Args[:1]
	flag.Parse()
	beam.Init()
	if err := os.WriteFile(file+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	return harness.MainWithOptions(grpcx.WriteWorkerID(context.Background(), id), endpoint, endpoint, harness.Options{})
}

// attempt is a backfill by a driver, which contains the runner, and a worker, each of them a
// process.
type attempt struct {
	Addr     string // of the server
	From, To time.Time
	PIDFile  string // of the worker
}

// brief is the time limit of requests of backfills, which wait three times as long at the end.
const brief = 2 * time.Second

// drive runs an attempt.
func drive(config string) error {
	var a attempt
	if err := json.Unmarshal([]byte(config), &a); err != nil {
		return err
	}
	os.Args = os.Args[:1]
	flag.Parse()
	beam.Init()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	worker, err := json.Marshal(map[string]any{"command": self, "env": map[string]string{pidFile: a.PIDFile}})
	if err != nil {
		return err
	}
	binary := a.PIDFile + ".binary" // Prism stages it, but starts the command
	if err := os.WriteFile(binary, []byte("unused"), 0o600); err != nil {
		return err
	}
	*jobopts.EnvironmentType, *jobopts.EnvironmentConfig, *jobopts.WorkerBinary = "PROCESS", string(worker), binary
	p, s := beam.NewPipelineWithRoot()
	if err := plantbeam.Sample.Backfill(s, connection(a.Addr), beamstore.BackfillOptions{From: a.From, To: a.To, Timeout: brief}); err != nil {
		return err
	}
	_, err = beam.Run(context.Background(), "prism", p)
	return err
}

// inThisProcess runs the workers of the following pipelines in this process.
func inThisProcess() { *jobopts.EnvironmentType = "LOOPBACK" }

// connection returns the connection to a server at an address.
func connection(addr string) beamstore.Connection {
	return beamstore.Connection{Project: storetest.Project, Instance: storetest.Instance, Emulator: addr}
}

// run runs a pipeline on Prism and returns its metrics.
func run(t *testing.T, build func(s beam.Scope) error) (map[string]int64, error) {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	check(t, build(s))
	result, err := beam.Run(t.Context(), "prism", p)
	if err != nil {
		return nil, err
	}
	counters := map[string]int64{}
	for _, c := range result.Metrics().AllMetrics().Counters() {
		if c.Key.Namespace == "btgen" {
			counters[c.Key.Name] += c.Committed
		}
	}
	return counters, nil
}

// must runs a pipeline that succeeds. Its counts are lower bounds: Prism loses those of bundles that end at about the same time
// and are the first with a count.
func must(t *testing.T, build func(s beam.Scope) error) map[string]int64 {
	t.Helper()
	counters, err := run(t, build)
	check(t, err)
	return counters
}

// begin is the time of the first event.
var begin = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// sensors is the number of series of the model.
const sensors = 100

// apart is the time between two events of a series: a row has the 100 events of an hour.
const apart = 36 * time.Second

// event returns the i-th event of the model.
func event(i int) plant.SampleEvent {
	e := plant.SampleEvent{SampleSeries: plant.SampleSeries{Area: "north", Sensor: int64(i % sensors)}, Value: int64(i) * 7}
	if e.Sensor%2 == 1 {
		e.Area = "south"
	}
	e.Time = begin.Add(time.Duration(i/sensors) * apart)
	return e
}

// timeOf returns the time of the i-th event.
func timeOf(i int) time.Time { return event(i).Time }

// fill writes the first n events of the model to one table.
func fill(t *testing.T, bt *storetest.Bigtable, table string, n int) {
	t.Helper()
	w := plant.NewSampleWriter(bt.Client, store.WriterOptions{Tables: []string{table}})
	batch := make([]plant.SampleEvent, 0, 50*sensors)
	for i := range n {
		batch = append(batch, event(i))
		if len(batch) == cap(batch) || i == n-1 {
			check(t, w.WriteAll(t.Context(), batch))
			batch = batch[:0]
		}
	}
}

// scan yields the rows of a table.
func scan(t *testing.T, bt *storetest.Bigtable, table string) iter.Seq2[store.ScannedRow[plant.SampleEvent], error] {
	mappings, _ := plant.BeamSample()
	scanner, err := store.NewScanner[plant.SampleEvent](bt.Client, mappings, table)
	check(t, err)
	return scanner.Rows(t.Context(), store.KeyRange{}, time.Time{}, begin.AddDate(10, 0, 0))
}

// contains fails the test unless a table contains exactly the events i of the model, among
// the first n, for which is returns true.
func contains(t *testing.T, bt *storetest.Bigtable, table string, n int, is func(i int) bool) {
	t.Helper()
	found := make([]bool, n)
	for row, err := range scan(t, bt, table) {
		check(t, err)
		for _, e := range row.Events {
			i := int(e.Value / 7)
			switch {
			case i < 0 || i >= n || e != event(i):
				t.Fatalf("table %s contains %+v, which is not in the model", table, e)
			case found[i]:
				t.Fatalf("table %s contains event %d twice", table, i)
			}
			found[i] = true
		}
	}
	for i, ok := range found {
		if ok != is(i) {
			t.Fatalf("table %s: event %d: found %t, want %t", table, i, ok, is(i))
		}
	}
}

func all(int) bool { return true }
