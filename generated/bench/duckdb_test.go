package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// duckDB is the package of DuckDB for Node.js.
const duckDB = "@duckdb/node-api@1.5.6-r.1"

// bucketSQL returns the start of the window of a reading, in milliseconds.
func bucketSQL(width time.Duration) string {
	return fmt.Sprintf("epoch_ms(time) // %d * %[1]d", width.Milliseconds())
}

// columns returns the columns of a query after the host: a time, and its fields in an expression.
func (q query) columns(of, at string) string {
	out := at + " AS millis"
	for _, f := range fleetFields[:q.fields] {
		out += ", " + fmt.Sprintf(of, f)
	}
	return out
}

// conditions returns the readings that a query is about.
func (q query) conditions() string {
	const format = "TIMESTAMPTZ '2006-01-02 15:04:05.000+00'"
	out := " FROM cpu WHERE time >= " + q.from.Format(format) + " AND time < " + q.to.Format(format)
	if q.hosts != nil {
		out += " AND hostname IN ('" + strings.Join(q.hosts, "', '") + "')"
	}
	return out
}

// duckAnswers are what DuckDB answers.
type duckAnswers struct {
	Version string
	Answers map[string]struct { // by query
		Micros int64 // CPU time, if queries were run several times
		Rows   [][]any
	}
}

// askDuckDB asks DuckDB queries, by name, about Parquet files, which are table cpu. It skips the test if
// DuckDB is not available.
func askDuckDB(t *testing.T, parquet string, sql map[string]string, runs int) (out duckAnswers) {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs Node.js: ", err)
		}
	}
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=30000", "--prefix", dir, duckDB)
	if printed, err := install.CombinedOutput(); err != nil {
		t.Skipf("needs %s: %v\n%s", duckDB, err, printed)
	}
	script, err := os.ReadFile("testdata/duckdb.mjs")
	assert.Must(t, err)
	assert.Must(t, os.WriteFile(filepath.Join(dir, "duckdb.mjs"), script, 0o666))
	asked, err := json.Marshal(map[string]any{"parquet": parquet, "queries": sql, "runs": runs})
	assert.Must(t, err)
	ask := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "duckdb.mjs"))
	ask.Stdin = bytes.NewReader(asked)
	printed, err := ask.Output()
	if failed, ok := err.(*exec.ExitError); ok {
		t.Fatalf("%v\n%s", err, failed.Stderr)
	}
	assert.Must(t, err)
	assert.Must(t, json.Unmarshal(printed, &out))
	return out
}

// answersOf converts rows of DuckDB. It returns integers as text.
func (q query) answersOf(rows [][]any) (out []answer, err error) {
	for _, row := range rows {
		ms, err := strconv.ParseInt(fmt.Sprint(row[1]), 10, 64)
		if err != nil {
			return nil, err
		}
		a := answer{Host: row[0].(string), Time: time.UnixMilli(ms).UTC()}
		for _, v := range row[2 : 2+q.fields] {
			a.Values = append(a.Values, v.(float64))
		}
		out = append(out, a)
	}
	return q.sorted(out), nil
}

// same reports whether answers are equal: means only up to the order in which DuckDB adds.
func (q query) same(a, b []answer) bool {
	return slices.EqualFunc(a, b, func(a, b answer) bool {
		return a.Host == b.Host && a.Time.Equal(b.Time) && slices.EqualFunc(a.Values, b.Values, func(v, w float64) bool {
			return v == w || q.kind == mean && math.Abs(v-w) <= 1e-12*math.Abs(v)
		})
	})
}

// TestDuckDB compares the answers of generated code to the devops queries of TSBS with those of DuckDB
// over the same readings, exported as Parquet. With -v, it prints the last column of the table of docs/reference/tsbs.md: the
// CPU time of DuckDB, which takes many times as long.
func TestDuckDB(t *testing.T) {
	testlong.Skip(t, "exports 2.6 million events")
	f := longFleet()
	addr := startAway(t, "fleet")
	parquet := export(t, addr, f)
	all := queries(f, rand.New(rand.NewPCG(29, 3)))
	runs := 0
	if testing.Verbose() {
		runs = costRuns
	}
	sql := map[string]string{}
	for _, q := range all {
		sql[q.name] = q.kind.sql(q)
	}
	const percentiles = "percentiles"
	hours := all[slices.IndexFunc(all, func(q query) bool { return q.name == "double-groupby-1" })]
	sql[percentiles] = "SELECT hostname, " + bucketSQL(hours.width) + " AS millis, quantile_cont(usage_user, 0.5), quantile_cont(usage_user, 0.99)" + hours.conditions() + " GROUP BY ALL"
	duck := askDuckDB(t, parquet, sql, runs)
	on := newBed(t, addr)
	checkPercentiles(t, on, f, hours, duck.Answers[percentiles].Rows)
	r := fleetReader(on.wire, f)
	for _, q := range all {
		got, err := q.read(t.Context(), r)
		assert.Must(t, err, q.name)
		d := duck.Answers[q.name]
		want, err := q.answersOf(d.Rows)
		if err != nil || !q.same(want, got) {
			t.Errorf("%s: DuckDB %s answers %d rows, %v, and generated code %d, others", q.name, duck.Version, len(want), err, len(got))
		}
		t.Logf("| `%s` | %.1f |", q.name, float64(d.Micros)/1000)
	}
}

// checkPercentiles compares the median and the 99th percentile of each host and hour with those of DuckDB, which are exact.
func checkPercentiles(t *testing.T, on *bed, f *fleet, q query, rows [][]any) {
	t.Helper()
	exact := map[string][2]float64{}
	for _, row := range rows {
		exact[fmt.Sprint(row[0], row[1])] = [2]float64{row[2].(float64), row[3].(float64)}
	}
	d := design{name: "percentiles", edits: []edit{{"usage_user:       {", "usage_user: {quantiles: true, "}}}
	s := d.schema(t)
	r := s.NewReader(on.wire, store.ReaderOptions{Now: f.end, Timeout: store.NoTimeout})
	o := store.WindowOptions{Fields: q.fieldNames(), By: []store.SeriesValue{examples.UsageSeriesHostname}}
	for w, err := range r.Windows(t.Context(), byHosts(q), q.from, q.to, window.Every(q.width), o) {
		assert.Must(t, err)
		key := fmt.Sprint(w.Series[0], w.Start.UnixMilli())
		for i, name := range []string{"p50", "p99"} {
			statistic, err := dynamic.ParseStatistic(name)
			assert.Must(t, err)
			got := statistic.Of(&w, &s.Layout().Fields[0], 0).(float64)
			if want := exact[key][i]; !(math.Abs(got-want) <= 0.01*want) {
				t.Errorf("%s of %s is %v, want %v", name, key, got, want)
			}
		}
		delete(exact, key)
	}
	if len(rows) == 0 || len(exact) > 0 {
		t.Errorf("%d of %d windows are lacking", len(exact), len(rows))
	}
}

// export writes the readings of a fleet on a server as Parquet files, one a day, with the command of the
// project. It returns their pattern.
func export(t *testing.T, addr string, f *fleet) string {
	t.Helper()
	dir := t.TempDir()
	live := liveCommand(t, addr, "p", "i", "../../schemas/cpu.yaml")
	for day := fleetBegin; day.Before(f.end()); day = day.AddDate(0, 0, 1) {
		date := day.Format(time.DateOnly)
		live("read", "Usage", "--query", "All", "--from", date, "--to", day.AddDate(0, 0, 1).Format(time.DateOnly), "--output", filepath.Join(dir, date+".parquet"))
	}
	return filepath.Join(dir, "*.parquet")
}

// liveCommand returns a function that runs the command of the project with a schema on a server, and returns what it
// printed.
func liveCommand(t *testing.T, addr, project, instance, schema string) func(args ...string) string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "btgen-live.exe") // the extension matters to Windows alone
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+addr)
		printed, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, printed)
		}
		return string(printed)
	}
	run("go", "build", "-o", command, "../../cmd/btgen-live")
	return func(args ...string) string {
		t.Helper()
		if args[0] != "setup" { // which has schemas as arguments
			args = append(args, "--schemas")
		}
		return run(command, append(args, schema, "--project", project, "--instance", instance)...)
	}
}

// typesSchema has a field of each type, and optional ones.
const typesSchema = `btgen: v1
package: app
name: Sample
series: {site: string, serial: uint64}
time: {precision: 1us}
fields:
  text: string
  raw: bytes
  flag: bool
  small: int32
  count: int64
  mask: uint32
  total: uint64
  load: float32
  ratio: float64
  at: timestamp
  took: duration
  id: uuid
  state: {type: enum, of: [idle, busy]}
  doc: json
  maybe_text: {type: string, optional: true}
  maybe_total: {type: uint64, optional: true}
  maybe_at: {type: timestamp, optional: true}
tables:
  samples:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [site, {name: serial, pad: 20}, {time: unix_us}]}
    family: m
    ttl: {keep: forever}
`

// typedEvents are events with extreme values, in order of time.
const typedEvents = `{"site":"b","serial":0,"time":"1971-01-01T00:00:00Z","text":"","raw":"","flag":false,"small":2147483647,"count":9007199254740993,"mask":0,"total":1,"load":"Infinity","ratio":5e-324,"at":"1969-12-31T23:59:59.999999Z","took":"2562047h47m16.854775807s","id":"ffffffff-ffff-ffff-ffff-ffffffffffff","state":"idle","doc":"s"}
{"site":"a","serial":18446744073709551615,"time":"2026-03-05T12:00:00.000001Z","text":"x\"é\n","raw":"AP8=","flag":true,"small":-2147483648,"count":-9223372036854775808,"mask":4294967295,"total":18446744073709551615,"load":"NaN","ratio":"-Infinity","at":"2026-01-01T00:00:00.123456Z","took":"-1ns","id":"f81d4fae-7dec-41d0-a765-00a0c91e6bf6","state":"busy","doc":{"a":[1,null]},"maybe_text":"y","maybe_total":9223372036854775808,"maybe_at":"2200-01-01T00:00:00Z"}
`

// TestParquetInDuckDB checks that DuckDB finds the types and values of events in Parquet files: those of all
// types, with extremes, NaN and missing ones. It has times in microseconds.
func TestParquetInDuckDB(t *testing.T) {
	testlong.Skip(t, "installs DuckDB")
	t.Setenv("TZ", "UTC") // in which DuckDB prints times
	dir := t.TempDir()
	schema, events, path := filepath.Join(dir, "sample.yaml"), filepath.Join(dir, "events.ndjson"), filepath.Join(dir, "events.parquet")
	for name, text := range map[string]string{schema: typesSchema, events: typedEvents} {
		assert.Must(t, os.WriteFile(name, []byte(text), 0o666))
	}
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	live := liveCommand(t, b.Addr, storetest.Project, storetest.Instance, schema)
	live("setup")
	live("write", "Sample", events)
	live("read", "Sample", "--output", path)
	duck := askDuckDB(t, path, map[string]string{
		"types":  "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM cpu)",
		"values": "SELECT COLUMNS(*)::VARCHAR FROM cpu ORDER BY time",
	}, 0)
	want := [][]any{
		{"site", "VARCHAR", "b", "a"},
		{"serial", "UBIGINT", "0", "18446744073709551615"},
		{"time", "TIMESTAMP WITH TIME ZONE", "1971-01-01 00:00:00+00", "2026-03-05 12:00:00.000001+00"},
		{"text", "VARCHAR", "", "x\"é\n"},
		{"raw", "BLOB", "", `\x00\xFF`},
		{"flag", "BOOLEAN", "false", "true"},
		{"small", "INTEGER", "2147483647", "-2147483648"},
		{"count", "BIGINT", "9007199254740993", "-9223372036854775808"},
		{"mask", "UINTEGER", "0", "4294967295"},
		{"total", "UBIGINT", "1", "18446744073709551615"},
		{"load", "FLOAT", "inf", "nan"},
		{"ratio", "DOUBLE", "5e-324", "-inf"},
		{"at", "TIMESTAMP WITH TIME ZONE", "1969-12-31 23:59:59.999999+00", "2026-01-01 00:00:00.123456+00"},
		{"took", "BIGINT", "9223372036854775807", "-1"},
		{"id", "UUID", "ffffffff-ffff-ffff-ffff-ffffffffffff", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"},
		{"state", "VARCHAR", "idle", "busy"},
		{"doc", "JSON", `"s"`, `{"a":[1,null]}`},
		{"maybe_text", "VARCHAR", nil, "y"},
		{"maybe_total", "UBIGINT", nil, "9223372036854775808"},
		{"maybe_at", "TIMESTAMP WITH TIME ZONE", nil, "2200-01-01 00:00:00+00"},
	}
	got := duck.Answers["types"].Rows
	for _, row := range duck.Answers["values"].Rows {
		for i, v := range row {
			got[i] = append(got[i], v)
		}
	}
	assert.Same(t, want, got)
}
