package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// fleetLines is the environment variable with the name of a file that TSBS itself has generated, for use case cpu-only in
// format influx.
const fleetLines = "BTGEN_TSBS_LINES"

// TestTSBSLoaded loads the line protocol that TSBS has generated, without renaming anything, and compares the answers of generated code
// with those of plain loops over the lines:
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
	f, err := readFleet(name)
	if err != nil {
		t.Fatal(err)
	}
	b := examplestest.New(t)
	live := liveCommand(t, b.Addr, storetest.Project, storetest.Instance, "../../schemas/cpu.yaml")
	begin := time.Now()
	printed := live("write", "Usage", name, "--format", "influx")
	t.Logf("%d hosts, %v, in %v: %s", len(f.hosts), f.end().Sub(fleetBegin), time.Since(begin).Round(time.Second), printed)
	checkQueries(t, b.Client, f, 3)
}

// readFleet reads a file of lines as a fleet.
func readFleet(name string) (*fleet, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, hosts := &fleet{step: fleetStep}, map[string]int{}
	var values [][]float64 // by host
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		s, reading, nanos, err := parseLine(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		host, ok := hosts[s.Hostname]
		if !ok {
			host, hosts[s.Hostname] = len(f.hosts), len(f.hosts)
			f.hosts, values = append(f.hosts, s), append(values, nil)
		}
		if at := f.at(len(values[host]) / len(fleetFields)); s != f.hosts[host] || nanos != at.UnixNano() {
			return nil, fmt.Errorf("line %d: %v at %d, want %v at %v", n, s, nanos, f.hosts[host], at)
		}
		values[host] = append(values[host], reading...)
	}
	for _, v := range values {
		f.values = append(f.values, v...)
	}
	f.steps = len(f.values) / len(fleetFields) / max(1, len(f.hosts))
	return f, lines.Err()
}

// parseLine parses a line of TSBS, which escapes nothing.
func parseLine(line string) (s examples.UsageSeries, values []float64, nanos int64, err error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return s, nil, 0, fmt.Errorf("%d parts", len(parts))
	}
	for i, tag := range strings.Split(parts[0], ",")[1:] { // in the order of the schema, as fields are
		_, value, _ := strings.Cut(tag, "=")
		reflect.ValueOf(&s).Elem().Field(i).SetString(value)
	}
	for _, field := range strings.Split(parts[1], ",") {
		_, value, _ := strings.Cut(field, "=")
		v, err := strconv.Atoi(strings.TrimSuffix(value, "i"))
		if err != nil {
			return s, nil, 0, err
		}
		values = append(values, float64(v))
	}
	nanos, err = strconv.ParseInt(parts[2], 10, 64)
	return s, values, nanos, err
}
