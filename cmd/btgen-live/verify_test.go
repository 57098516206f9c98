package main_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// The tests of package verify stand here: a test program of their own would link the client.

// readings is a schema that tests edit.
const readings = `btgen: v1
package: verified
name: Reading
series: {site: string, sensor: int64}
time: {precision: 1s}
fields:
  pressure: {type: int64, number: 1}
  state: {type: enum, of: [info, critical], number: 2}
  note: {type: string, optional: true, number: 3}
tables:
  readings:
    pattern: PATTERN
    key: {delimiter: "#", segments: [site, sensor, bucket]}
    bucket: {every: 1d, label: "2006-01-02"}
    family: m
    ttl: {max_age: 30d}
`

// cells is the schema with events in cells of buckets.
var cells = strings.Replace(readings, "PATTERN", "bucket_new_cells", 1)

var at = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// written returns a server with a table of 20 events by code of a schema.
func written(t *testing.T, yaml string) *storetest.Bigtable {
	t.Helper()
	s := dynamic.New(dynamictest.Resolve(t, []byte(yaml)))
	b := dynamictest.Start(t, s)
	var events []dynamic.Event
	for i := range 20 {
		events = append(events, dynamic.Event{
			Series: []any{"oslo", int64(i % 10)}, Time: at.Add(time.Duration(i) * time.Minute), Values: []any{int64(5), "critical", "n"},
		})
	}
	must(t, s.NewWriter(b.Client, store.WriterOptions{Now: func() time.Time { return at.Add(time.Hour) }}).WriteAll(t.Context(), events))
	return b
}

// schemaOf returns a schema and its table.
func schemaOf(t *testing.T, yaml string) verify.Schema {
	t.Helper()
	l := dynamictest.Resolve(t, []byte(yaml))
	return verify.Schema{Layout: l, Table: l.Tables[0]}
}

var usual = verify.Options{Rows: 100, Timeout: time.Minute}

// Data is readable by the schema that wrote it, and data that an edit makes unreadable is
// attributed to that edit.
func TestEdits(t *testing.T) {
	for _, c := range []struct{ name, pattern, from, to, keys, columns, values, guess string }{
		{"nothing", "bucket_new_cells", "", "", "100% of 10", "100% of 60", "100% of 60", ""},
		{"nothing, serialized", "bucket_serialized", "", "", "100% of 10", "100% of 20", "100% of 20", ""},
		{"field added, optional", "bucket_new_cells", "  note:", "  more: {type: string, optional: true}\n  note:", "100% of 10", "100% of 60", "100% of 60", ""},
		{"narrower bucket", "bucket_new_cells", "{every: 1d, label: \"2006-01-02\"}", "{every: 1h, label: \"2006-01-02T15\"}", "0% of 10", "0 of 0", "0 of 0", "the bucket had a different width or label"},
		{"wider bucket, same label", "bucket_new_cells", "every: 1d", "every: 1w", "0% of 10", "0 of 0", "0 of 0", "the bucket was narrower or had a different origin, with the same label"},
		{"bucket as a number", "bucket_new_cells", "{every: 1d, label: \"2006-01-02\"}", "{every: 1d, label: \"%05d\", origin: 2026-01-01}", "0% of 10", "0 of 0", "0 of 0", "the bucket had a different width or label: \"2026-03-05\" has the form 2006-01-02"},
		{"another order", "bucket_new_cells", "[site, sensor, bucket]", "[site, bucket, sensor]", "0% of 10", "0 of 0", "0 of 0", "the segments were in a different order: site, sensor, bucket"},
		{"salt added", "bucket_new_cells", "[site, sensor, bucket]", "[{hash: [site, sensor], buckets: 4}, site, sensor, bucket]", "0% of 10", "0 of 0", "0 of 0", "a salt or another segment was added"},
		{"delimiter", "bucket_new_cells", `delimiter: "#"`, `delimiter: "/"`, "0% of 10", "0 of 0", "0 of 0", `the delimiter was "#"`},
		{"column renamed", "bucket_new_cells", "{type: int64,", "{type: int64, column: p,", "100% of 10", "66.6% of 60", "100% of 40", "a field was removed, or its column renamed"},
		{"family renamed", "bucket_new_cells", "family: m", "family: n", "100% of 10", "0% of 60", "0 of 0", "the family was renamed"},
		{"text", "bucket_new_cells", "    family: m", "    family: m\n    values: text", "100% of 10", "100% of 60", "33.3% of 60", "values were stored as binary"},
		{"type", "bucket_new_cells", "{type: int64", "{type: float64", "100% of 10", "100% of 60", "66.6% of 60", "the column was an integer"},
		{"type of another size", "bucket_new_cells", "{type: int64", "{type: bool", "100% of 10", "100% of 60", "66.6% of 60", "the type was different: the value is as long as a binary"},
		{"blob", "bucket_serialized", "    family: m", "    blob: {format: json}\n    family: m", "100% of 10", "100% of 20", "0% of 20", "events were stored as protobuf"},
		{"json", "bucket_serialized", "    family: m", "    blob: {format: json}\n    family: m", "100% of 10", "100% of 20", "0% of 20", "the format of the blob changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			yaml := strings.Replace(readings, "PATTERN", c.pattern, 1)
			edited := strings.Replace(yaml, c.from, c.to, 1)
			if c.from != "" && edited == yaml {
				t.Fatal("nothing edited")
			}
			b := written(t, yaml)
			got, err := verify.Table(t.Context(), b.Client, []verify.Schema{schemaOf(t, edited)}, usual)
			must(t, err)
			if got.Rows.String() != c.keys || got.Columns.String() != c.columns || got.Values.String() != c.values {
				t.Errorf("row keys %s, columns %s, values %s; want %s, %s, %s", got.Rows, got.Columns, got.Values, c.keys, c.columns, c.values)
			}
			if c.guess == "" != (len(got.Findings) == 0) || c.guess != "" && !strings.Contains(fmt.Sprint(got.Findings), c.guess) {
				t.Errorf("%+v, want %q", got.Findings, c.guess)
			}
		})
	}
}

// Cells that other programs wrote to unknown columns or outside of their bucket are findings.
func TestOthers(t *testing.T) {
	b := written(t, cells)
	m := bigtable.NewMutation()
	m.Set("m", "other", bigtable.Time(at), []byte("x"))
	m.Set("m", "pressure", bigtable.Time(at.Add(48*time.Hour)), make([]byte, 8))
	must(t, b.Client.Open("readings").Apply(t.Context(), "oslo#3#2026-03-05", m))
	got, err := verify.Table(t.Context(), b.Client, []verify.Schema{schemaOf(t, cells)}, usual)
	must(t, err)
	text := fmt.Sprint(got.Findings)
	if len(got.Findings) != 2 || !strings.Contains(text, "no such column") || !strings.Contains(text, "not in the bucket") {
		t.Errorf("%+v", got.Findings)
	}
}

// A sample respects its maximum number of rows. A table that does not exist and a canceled
// context are errors.
func TestLimits(t *testing.T) {
	b := written(t, cells)
	schemas := []verify.Schema{schemaOf(t, cells)}
	got, err := verify.Table(t.Context(), b.Client, schemas, verify.Options{Rows: 3, Timeout: time.Minute})
	if err != nil || got.Rows.Total != 3 {
		t.Errorf("%d rows, %v", got.Rows.Total, err)
	}
	_, err = verify.Table(t.Context(), b.Client, schemas, verify.Options{Prefix: "no_", Rows: 3, Timeout: time.Minute})
	assert.Is(t, verify.ErrNoTable, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Table(ctx, b.Client, schemas, usual); err == nil {
		t.Error("no error")
	}
}

// Times in row keys that are far from the timestamps of cells are findings: those that the schema
// reads in another unit, or in another format.
func TestTimes(t *testing.T) {
	const yaml = `btgen: v1
package: verified
name: Reading
series: {site: string}
time: {precision: 1s}
fields: {pressure: int64}
tables:
  readings:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [site, {time: TIME}]}
    values: text
    family: m
    ttl: TTL
`
	for _, c := range []struct {
		name, time, ttl, form string
		cells                 time.Duration // after the time in the key
		want, guess           string
	}{
		{"seconds", "unix_s", "{keep: forever}", "unix", 0, "100% of 20", ""},
		{"seconds, written later", "unix_s", "{keep: forever, from: write}", "unix", 400 * 24 * time.Hour, "100% of 20", ""},
		{"seconds, with a fast clock", "unix_s", "{keep: forever, from: write}", "unix", -time.Hour, "100% of 20", ""},
		{"seconds, of forecasts", "unix_s", "{keep: forever, from: write}", "unix", -300 * 24 * time.Hour, "100% of 20", ""},
		{"seconds, of another unit", "unix_s", "{keep: forever, from: write}", "unix", -367 * 24 * time.Hour, "0% of 20", "another unit"},
		{"an age, a day before", "unix_s", "{max_age: 3650d}", "unix", -25 * time.Hour, "0% of 20", "precedes"},
		{"hours, read as seconds", "unix_s", "{keep: forever, from: write}", "2006010215", time.Minute, "0% of 20", "has the form 2006010215"},
		{"hours, read as seconds of an age", "unix_s", "{max_age: 3650d}", "2006010215", time.Minute, "0% of 20", "has the form 2006010215"},
		{"an age, a day later", "unix_s", "{max_age: 3650d}", "unix", 24 * time.Hour, "100% of 20", ""},
		{"an age, cells from the write", "unix_s", "{max_age: 3650d}", "unix", 25 * time.Hour, "0% of 20", "at other times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
				return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "readings", ColumnFamilies: map[string]bigtable.Family{"m": {}}})
			})
			for i := range 20 {
				event := at.Add(time.Duration(i) * time.Hour)
				key := fmt.Sprintf("oslo#%d", event.Unix())
				if c.form != "unix" {
					key = "oslo#" + event.Format(c.form)
				}
				m := bigtable.NewMutation()
				m.Set("m", "pressure", bigtable.Time(event.Add(c.cells)), []byte("5"))
				must(t, b.Client.Open("readings").Apply(t.Context(), key, m))
			}
			edited := strings.NewReplacer("TIME", c.time, "TTL", c.ttl).Replace(yaml)
			got, err := verify.Table(t.Context(), b.Client, []verify.Schema{schemaOf(t, edited)}, usual)
			must(t, err)
			if got.Times.String() != c.want || got.Values.String() != "100% of 20" || c.guess == "" != (len(got.Findings) == 0) || !strings.Contains(fmt.Sprint(got.Findings), c.guess) {
				t.Errorf("times %s, values %s, %+v", got.Times, got.Values, got.Findings)
			}
		})
	}
}

// Rows of an earlier layout are readable, and those of a layout that the schema lacks are not.
func TestEarlierLayouts(t *testing.T) {
	days := cells
	hours := strings.Replace(days, `{every: 1d, label: "2006-01-02"}`, "1h", 1)
	b := written(t, days)
	for _, tt := range []struct {
		name, yaml string
		readable   bool
	}{
		{"hours alone", hours, false},
		{"hours, and days before", hours + "    since: 2027-01-11\n    before: [{bucket: 1d}]\n", true},
	} {
		l := dynamictest.Resolve(t, []byte(tt.yaml))
		var schemas []verify.Schema
		for _, p := range l.AllPeriods() {
			schemas = append(schemas, verify.Schema{Layout: dynamic.New(l).Layout(), Table: p})
		}
		report, err := verify.Table(t.Context(), b.Client, schemas, verify.Options{Rows: 100, Timeout: time.Minute})
		must(t, err)
		assert.Same(t, tt.readable, len(report.Findings) == 0 && report.Rows.Total > 0, tt.name, report)
	}
}

var must = assert.Must
