package explain_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/assert"
)

// lasting is a schema whose events are cells that live long.
const lasting = `btgen: v1
package: telemetry
name: Reading
series: {plant: {type: string, example: lyon}, machine: {type: int64, example: 42}}
time: {precision: 1s}
fields:
  speed: {type: float64, example: 12.5}
  load: {type: int64, example: 80}
  note: {type: string, optional: true, example: ok}
expect: {series: 500, rate: 1/m, value_bytes: 10, clusters: 2}
tables:
  readings:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [plant, machine, bucket]}
    bucket: {every: 1w, label: "2006-01-02"}
    family: m
    ttl: {max_age: 730d}
    allow: {C07: "retried"}
`

// measuredOf returns made-up figures of a table: factors of what its events are estimated to take
// before compression.
func measuredOf(t *testing.T, text string, factors map[string][2]float64) ([]explain.Compression, gen.Result) {
	t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "reading.yaml", Text: []byte(text)}})
	must(t, r.Diagnostics.Err())
	c := explain.CompressionOf(r.Layouts[0], r.Layouts[0].Tables[0])
	c.Events, c.BlockBytes = 5000, 65536
	for _, d := range explain.Designs(r.Schemas[0], 0, r.Layouts[0]) {
		of, known := factors[d.Pattern]
		if !known {
			continue
		}
		event := estimate.Of(d.Layout, d.Table).Event.Typical
		c.Designs = append(c.Designs, explain.Compressed{Pattern: d.Pattern, Bucket: d.Bucket, Stored: event, Zstd: event * of[0], Snappy: event * of[1]})
	}
	return []explain.Compression{*c}, r
}

// usual are factors by which cells and blobs compress.
var usual = map[string][2]float64{"bucket_new_cells": {0.1, 0.3}, "bucket_serialized": {0.2, 0.4}, "single_unserialized": {0.1, 0.3}}

// TestYear compares the storage of a year, with measured compression and made-up prices, with a
// reviewed explanation; -update rewrites it.
func TestYear(t *testing.T) {
	measured, r := measuredOf(t, lasting, usual)
	doc, err := explain.New(r.Schemas, r.Layouts, explain.Options{Measured: measured, Prices: capacity.Prices{"node_hour": 1, "ssd_gib_month": 0.5}})
	must(t, err)
	check(t, &doc.Document)
	got := doc.Text(document.TextOptions{})
	golden(t, "year.txt", got[strings.Index(got, "  storage of a year"):strings.Index(got, "reads of Reading")])
}

// TestCheaperLayout checks when a layout for later events is proposed.
func TestCheaperLayout(t *testing.T) {
	for name, test := range map[string]struct {
		edit     []string
		factors  map[string][2]float64 // nil for no measurement
		proposes bool
	}{
		"cells for two years":  {nil, nil, true},
		"forever":              {[]string{"max_age: 730d", "keep: forever"}, nil, true},
		"cells for two months": {[]string{"max_age: 730d", "max_age: 60d"}, nil, false},
		"one field":            {[]string{"  load: {type: int64, example: 80}\n  note: {type: string, optional: true, example: ok}\n", ""}, nil, false},
		"rows":                 {[]string{"bucket_new_cells", "single_unserialized", "[plant, machine, bucket]", "[plant, machine, {time: \"2006-01-02-150405\"}]", "    bucket: {every: 1w, label: \"2006-01-02\"}\n", ""}, nil, true},
		"text":                 {[]string{"family: m", "family: m\n    values: text"}, nil, true},
		"a draft":              {[]string{"    family: m", "    draft: true\n    family: m"}, nil, true},
		"measured":             {nil, usual, true},
		"measured to be alike": {nil, map[string][2]float64{"bucket_new_cells": {0.02, 0.04}, "bucket_serialized": {0.3, 0.5}}, false},
	} {
		text := strings.NewReplacer(test.edit...).Replace(lasting)
		measured, r := measuredOf(t, text, test.factors)
		if test.factors == nil {
			measured = nil
		}
		doc, err := explain.New(r.Schemas, r.Layouts, explain.Options{Measured: measured})
		must(t, err)
		check(t, &doc.Document)
		if c := sections(doc.Sections, "a cheaper layout"); (c != nil) != test.proposes {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestOtherMeasurements checks that figures of other tables, layouts and events are refused.
func TestOtherMeasurements(t *testing.T) {
	for reason, change := range map[string]func(c *explain.Compression){
		"there is no table other":     func(c *explain.Compression) { c.Table = "other" },
		"of a schema Other":           func(c *explain.Compression) { c.Schema = "Other" },
		"they had plant: string, mac": func(c *explain.Compression) { c.Fields = append(slices.Clone(c.Fields), "more: int64") },
		"its layout was single_":      func(c *explain.Compression) { c.Designs[0].Pattern = "single_serialized" },
		"version 7 of the figures":    func(c *explain.Compression) { c.Version = 7 },
		"are not sizes":               func(c *explain.Compression) { c.Designs[0].Zstd = -1 },
		"of table readings are not":   func(c *explain.Compression) { c.Designs[0].Snappy = 1e300 },
		"readings are not sizes":      func(c *explain.Compression) { c.Designs[0].Stored = 1e300 },
		"no table has measured":       func(*explain.Compression) {},
		"it is no JSON, from byte 1":  func(*explain.Compression) {},
		"it has no figures of tables": func(*explain.Compression) {},
		"readings is measured twice":  func(*explain.Compression) {},
	} {
		measured, r := measuredOf(t, lasting, usual)
		change(&measured[0])
		tables := []struct{ Compression *explain.Compression }{{&measured[0]}}
		if strings.HasSuffix(reason, "twice") {
			tables = append(tables, tables[0])
		}
		text, err := json.Marshal(tables)
		must(t, err)
		if other, has := map[string]string{
			"no table has measured": `[{"table": "readings"}]`, "it is no JSON, from byte 1": "{",
			"it has no figures of tables": `{"table": [{"compression": 5}]}`,
		}[reason]; has {
			text = []byte(other)
		}
		path := filepath.Join(t.TempDir(), "sample.json")
		must(t, os.WriteFile(path, text, 0o600))
		read, err := explain.ReadCompressions(path)
		if err == nil {
			_, err = explain.New(r.Schemas, r.Layouts, explain.Options{Measured: read})
		}
		_, refused := errors.AsType[*explain.CompressionError](err)
		if !refused || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "struct") {
			t.Errorf("%v, want %s", err, reason)
		}
	}
}

// TestLackingPrices checks that costs which lack a price say which.
func TestLackingPrices(t *testing.T) {
	tiered := strings.Replace(lasting, "    family: m\n", "    family: m\n    tier: {infrequent_access: {after: 60d}}\n", 1)
	const ssd, hour, infrequent = "ssd_gib_month", "node_hour", "infrequent_access_gib_month"
	for _, test := range []struct {
		schema      string
		prices      capacity.Prices
		year, month []string
	}{
		{lasting, capacity.Prices{}, nil, nil},
		{lasting, capacity.Prices{ssd: 0.2}, nil, []string{hour}},
		{lasting, capacity.Prices{hour: 1}, []string{ssd}, []string{ssd}},
		{lasting, capacity.Prices{hour: 1, ssd: 0}, nil, nil},
		{tiered, capacity.Prices{ssd: 0.2}, []string{infrequent}, []string{hour, infrequent}},
		{tiered, capacity.Prices{ssd: 0.2, hour: 1, infrequent: 0.1}, nil, nil},
	} {
		_, r := measuredOf(t, test.schema, nil)
		doc, err := explain.New(r.Schemas, r.Layouts, explain.Options{Prices: test.prices})
		must(t, err)
		check(t, &doc.Document)
		year := dataOf[explain.Year](t, row(table(&doc.Document, "storage of a year"), "bucket_new_cells"))
		assert.Same(t, test.year, year.LacksPrices, test.prices)
		text := doc.Text(document.TextOptions{Width: 1000})
		if priced := strings.Contains(text, " a month\n"); len(test.prices) > 0 && ((year.Month == nil) != (test.year != nil) || priced != (test.month == nil)) {
			t.Errorf("%v: costs %v, %v", test.prices, year.Month, priced)
		}
		if test.month != nil && !strings.Contains(text, strings.Join(test.month, " and ")+", too.") {
			t.Errorf("%v: %s", test.prices, text)
		}
	}
}

// tiered is a schema with an infrequent access tier, in each place where readers select times.
const tiered = `btgen: v1
package: telemetry
name: Reading
series: {plant: {type: string, example: lyon}, machine: {type: int64, example: 42}}
time: {precision: 1s}
fields:
  speed: {type: float64, example: 12.5}
expect:
  series: 5000
  rate: 1/s
  reads:
    Read: {rate: 20/s, range: 1h}
    Latest: 200/s
    ByPlant: {rate: 1/1h, range: 90d}
    OfMachine: {rate: 1/1h, range: 1d}
tables:
  readings:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [plant, machine, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 730d}
    tier: {infrequent_access: {after: 60d}}
    allow: {C07: "retried", T21: "planned"}
  rows:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [machine, plant, {time: unix_s}]}
    family: m
    ttl: {max_age: 700d, from: write}
    tier: {infrequent_access: {after: 60d}}
    allow: {C07: "retried", K02: "not sequential", T21: "planned"}
queries:
  ByPlant: {by: [plant], allow: {K18: "rarely"}}
  OfMachine: {by: [machine], table: rows, allow: {K18: "rarely"}}
`

// TestTier compares the explanation of a schema with an infrequent access tier, and its comparison
// with the same schema without it, with reviewed ones; -update rewrites them. Prices are made up.
func TestTier(t *testing.T) {
	without := strings.ReplaceAll(strings.ReplaceAll(tiered, "    tier: {infrequent_access: {after: 60d}}\n", ""), `, T21: "planned"`, "")
	o := explain.Options{Prices: capacity.Prices{"node_hour": 1, "ssd_gib_month": 0.5, "infrequent_access_gib_month": 0.1}}
	with := explanationOf(t, o, gen.Input{Name: "tier.yaml", Text: []byte(tiered)})
	ssd := explanationOf(t, o, gen.Input{Name: "ssd.yaml", Text: []byte(without)})
	check(t, &with.Document)
	golden(t, "tier.txt", with.Text(document.TextOptions{}))
	golden(t, "tier_compared.txt", explain.Compare(ssd, with).Text(document.TextOptions{Width: 160}))
}
