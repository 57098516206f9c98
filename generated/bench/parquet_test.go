package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
