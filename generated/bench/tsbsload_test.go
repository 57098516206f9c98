package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

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
