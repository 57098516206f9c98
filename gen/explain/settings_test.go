package explain_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// compared are schemas without their names, whose settings are changed one by one.
var compared = map[string]string{
	"cells": `series: {site: {type: string, cardinality: 10}, unit: {type: int64, example: 5}, kind: {type: enum, of: [a, b]}}
time: {precision: 1s}
fields:
  load: {type: float64, unit: kW, optional: true, column: l}
  temp: {type: int64, default: 3, example: 7, values: big_endian, was: [{column: s, type: int32, values: text}]}
  state: {type: enum, of: [up, down]}
tables:
  p:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [{hash: [site], buckets: 16}, {const: c, kind: true}, {name: site, escape: true}, {name: unit, encoding: hex, pad: 16, reverse: true}, kind, bucket]}
    bucket: {every: 2d, origin: 2021-03-01, label: "%05d"}
    family: m
    values: text
    ttl: {max_age: 52w}
    rollup: {every: 1h, family: h, ttl: {max_age: 104w}, after: 1h, fields: [load, temp]}
    splits: [g, n]
    deletion_protection: true
    draft: true
    tier: {infrequent_access: {after: 40d}}
    allow: {C05: "as they were"}
queries:
  BySite: {by: [site], scan: "rarely"}
expect: {series: 50, rate: 1/m, value_bytes: 20, clusters: 2, lateness: 2h, skew: 1, arrival: bursts, reads: {BySite: {rate: 3/s, range: 2h}}}
`,
	"rows": `series: {region: string, line: uint32}
time: {precision: 1m}
fields:
  load: {type: float64, column: l, family: m}
  note: {type: string, optional: true, family: m, was: [{column: n, family: m, type: enum, of: [x]}]}
  extra: {type: int64, optional: true, family: o}
tables:
  p:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [region, {name: line, pad: 10}, {time: "2006-01-02-1504"}]}
    families: {m: {ttl: {max_age: 30d}}, o: {ttl: {max_age: 30d}}}
    row_key_schema: true
    materialized_views: {lines: {by: [line], every: 1h, fields: [load]}}
  other:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [{name: line, pad: 10}, region, {time: unix_s}]}
    families: {m: {ttl: {max_age: 30d}}, o: {ttl: {max_age: 30d}}}
    serves: true
queries:
  ByLines: {by: [region, line], many: line}
  ByRegionPrefix: {by: [region], prefix: region}
  ByLineRange: {by: [region, line], range: line, table: p}
  Loaded: {by: [region], where: {load: range}, scan: "rarely", allow: {K18: "rarely"}}
`,
	"serialized": `series: {region: bytes}
time: {precision: 1s}
fields:
  load: {type: float64, number: 1, was: [{number: 4}]}
  note: {type: string, number: 2}
tables:
  p:
    pattern: single_serialized
    key: {segments: [{name: region, encoding: raw, pad: 8, joined: true}, {time: binary_s, reverse: true}]}
    family: m
    blob: {column: e, format: protobuf}
    ttl: {max_age: 30d}
    schema_bundle: events
`,
	"layouts": `series: {region: string}
fields: {load: float64}
tables:
  p:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [region, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 300d}
    since: 2026-02-01
    before: [{table: q, bucket: 4h, rollup: {every: 1h, family: h, ttl: {max_age: 104w}}}]
`,
	"plain": `series: {region: string}
fields: {load: float64}
tables:
  p:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [region, time]}
    family: m
    ttl: {max_age: 31d}
`,
	"expiring": `series: {region: string}
fields: {load: {type: float64, number: 1}}
tables:
  p:
    pattern: single_serialized
    key: {delimiter: "#", segments: [region, time]}
    family: m
    blob: {column: e}
    ttl: {default_expiration: 3d}
`,
}

// TestCompareSettings changes each setting of the language once, and demands that a comparison has a difference.
func TestCompareSettings(t *testing.T) {
	for _, c := range testlong.Sample(settingChanges, 3) {
		t.Run(c.setting, func(t *testing.T) {
			base := compared[c.in]
			changed := strings.Replace(base, c.from, c.to, 1)
			a, b := explained(t, base), explained(t, changed)
			if got := explain.Compare(a, b); changed == base || len(got.Sections[0].Parts[0].Table.Rows) == 0 {
				t.Errorf("%s instead of %s: no difference", c.to, c.from)
			}
		})
	}
}

// explained explains such a schema without errors of the language; rules may find something.
func explained(t *testing.T, text string) *explain.Explanation {
	t.Helper()
	s, l := testschema.Parse(t, "p.yaml", "btgen: v1\npackage: p\nname: P\n"+text)
	doc, err := explain.New([]*schema.Schema{s}, []*layout.Layout{l}, explain.Options{})
	must(t, err)
	return doc
}

// change is a change of a setting, or of several, separated by spaces, in a schema of compared.
type change struct{ setting, in, from, to string }

var settingChanges = []change{
	{"time time.precision", "cells", "precision: 1s", "precision: 2s"},
	{"series.type", "cells", "{type: int64, example: 5}", "{type: int32, example: 5}"},
	{"series.cardinality", "cells", "cardinality: 10", "cardinality: 11"},
	{"series.example", "cells", "example: 5", "example: 6"},
	{"series.of", "cells", "of: [a, b]", "of: [a, c]"},
	{"series tables.key.segments.name", "cells", "kind, bucket]", "{name: kind, encoding: decimal}, bucket]"},
	{"fields", "rows", "  load:", "  more: {type: int64, optional: true, family: m}\n  load:"},
	{"fields.type", "cells", "load: {type: float64", "load: {type: float32"},
	{"fields.unit", "cells", "kW", "MW"},
	{"fields.optional", "cells", "optional: true,", ""},
	{"fields.quantiles", "cells", "column: l}", "column: l, quantiles: true}"},
	{"fields.column", "cells", "column: l}", "column: m}"},
	{"fields.default", "cells", "default: 3", "default: 4"},
	{"fields.example", "cells", "example: 7", "example: 8"},
	{"fields.values", "cells", "values: big_endian", "values: little_endian"},
	{"fields.of", "cells", "of: [up, down]", "of: [up, out]"},
	{"fields.family", "rows", "optional: true, family: m", "optional: true, family: o"},
	{"fields.number", "serialized", "number: 2", "number: 3"},
	{"fields.was fields.was.column", "cells", "column: s", "column: r"},
	{"fields.was.type", "cells", "type: int32", "type: uint32"},
	{"fields.was.values", "cells", "values: text}]", "values: binary}]"},
	{"fields.was.family", "rows", "family: m, type", "family: o, type"},
	{"fields.was.of", "rows", "of: [x]}", "of: [y]}"},
	{"fields.was.number", "serialized", "number: 4", "number: 5"},
	{"tables.pattern", "plain", "pattern: single_unserialized", "pattern: single_serialized\n    blob: {column: e, format: json}"},
	{"tables tables.key tables.key.delimiter", "expiring", `delimiter: "#"`, `delimiter: "|"`},
	{"tables.key.segments", "rows", "[{name: line, pad: 10}, region,", "[region, {name: line, pad: 10},"},
	{"tables.key.segments.hash", "cells", "hash: [site]", "hash: [unit]"},
	{"tables.key.segments.buckets", "cells", "buckets: 16", "buckets: 17"},
	{"tables.key.segments.const", "cells", "const: c", "const: d"},
	{"tables.key.segments.kind", "cells", "{const: c, kind: true}", "{const: c}"},
	{"tables.key.segments.escape", "cells", "escape: true", "escape: false"},
	{"tables.key.segments.encoding tables.key.segments.pad", "cells", "encoding: hex, pad: 16", "encoding: decimal, pad: 18"},
	{"tables.key.segments.reverse", "cells", "pad: 16, reverse: true", "pad: 16"},
	{"tables.key.segments.reverse", "serialized", "reverse: true", "reverse: false"},
	{"tables.key.segments.bucket", "layouts", "[region, bucket]", "[region, {bucket: unix_s}]"},
	{"tables.key.segments.time", "rows", "{time: unix_s}", "{time: unix_ms}"},
	{"tables.key.segments.sequence", "serialized", "{time: binary_s, reverse: true}]", "{time: binary_s, reverse: true}, {sequence: true}]"},
	{"tables.key.segments.joined", "serialized", "{segments: [{name: region, encoding: raw, pad: 8, joined: true}", `{delimiter: "#", segments: [{name: region, encoding: raw, pad: 8}`},
	{"tables.bucket tables.bucket.every", "cells", "every: 2d", "every: 4d"},
	{"tables.bucket.origin", "cells", "origin: 2021-03-01", "origin: 2021-03-02"},
	{"tables.bucket.label", "cells", `"%05d"`, `"%06d"`},
	{"tables.family", "cells", "family: m", "family: n"},
	{"tables.families tables.families.ttl ttl.max_age", "rows", "{m: {ttl: {max_age: 30d}", "{m: {ttl: {max_age: 31d}"},
	{"tables.values", "cells", "values: text\n", "values: binary\n"},
	{"tables.blob tables.blob.column", "serialized", "column: e", "column: f"},
	{"tables.blob.format", "expiring", "column: e", "column: e, format: json"},
	{"tables.rollup tables.rollup.every", "cells", "every: 1h, family", "every: 2h, family"},
	{"tables.rollup.family", "cells", "family: h", "family: i"},
	{"tables.rollup.ttl", "cells", "max_age: 104w", "max_age: 105w"},
	{"tables.rollup.after", "cells", "after: 1h", "after: 2h"},
	{"tables.rollup.after", "cells", "after: 1h,", ""},
	{"tables.rollup.fields", "cells", "fields: [load, temp]", "fields: [load, state]"},
	{"tables.rollup.serves", "cells", "after: 1h", "serves: false, after: 1h"},
	{"tables.splits", "cells", "[g, n]", "[g, o]"},
	{"tables.deletion_protection", "cells", "protection: true", "protection: false"},
	{"tables.draft", "cells", "draft: true", "draft: false"},
	{"tables.tier tables.tier.infrequent_access tables.tier.infrequent_access.after", "cells", "after: 40d", "after: 41d"},
	{"tables.tier", "cells", "{infrequent_access: {after: 40d}}", "ssd"},
	{"tables.allow", "cells", "as they were", "as they are"},
	{"tables.row_key_schema", "rows", "row_key_schema: true\n    materialized_views: {lines: {by: [line], every: 1h, fields: [load]}}", "row_key_schema: false"},
	{"tables.materialized_views tables.materialized_views.by", "rows", "by: [line], every", "by: [region], every"},
	{"tables.materialized_views.every", "rows", "every: 1h", "every: 1d"},
	{"tables.materialized_views.fields", "rows", ", fields: [load]}}", "}}"},
	{"tables.serves", "rows", "serves: true", "serves: false"},
	{"tables.schema_bundle", "serialized", "schema_bundle: events", "schema_bundle: other"},
	{"tables.schema_bundle.drop", "serialized", "schema_bundle: events", "schema_bundle: {drop: events}"},
	{"tables.since", "layouts", "2026-02-01", "2026-03-01"},
	{"tables.before", "layouts", "bucket: 4h", "bucket: 6h"},
	{"tables.before", "layouts", "family: h,", "serves: false, family: h,"},
	{"tables.table", "layouts", "table: q", "table: r"},
	{"tables.ttl ttl.max_age", "cells", "max_age: 52w", "max_age: 53w"},
	{"ttl.keep", "plain", "{max_age: 31d}", "{keep: forever}"},
	{"ttl.from", "plain", "{max_age: 31d}", "{max_age: 31d, from: write}"},
	{"ttl.max_versions ttl.any_of", "plain", "{max_age: 31d}", "{any_of: [{max_age: 31d}, {max_versions: 5}]}"},
	{"ttl.all_of", "plain", "{max_age: 31d}", "{all_of: [{max_age: 31d}, {max_versions: 5}]}"},
	{"ttl.one_second", "expiring", "default_expiration: 3d", "one_second: {}"},
	{"ttl.one_second.written_at", "expiring", "default_expiration: 3d", "one_second: {written_at: w}"},
	{"ttl.default_expiration ttl.default_expiration.age", "expiring", "default_expiration: 3d", "default_expiration: {age: 4d}"},
	{"ttl.default_expiration.written_at", "expiring", "default_expiration: 3d", "default_expiration: {age: 3d, written_at: w}"},
	{"ttl.written_at", "expiring", "default_expiration: 3d", "default_expiration: 3d, written_at: w"},
	{"ttl.classes", "expiring", "family: m\n    blob: {column: e}\n    ttl: {default_expiration: 3d}", "blob: {column: e}\n    ttl: {classes: {short: 1h, long: 3d}}"},
	{"queries queries.by", "cells", "by: [site]", "by: []"},
	{"queries.many", "rows", ", many: line", ""},
	{"queries.prefix", "rows", ", prefix: region", ""},
	{"queries.range", "rows", ", range: line", ""},
	{"queries.where", "rows", "load: range", "extra: range"},
	{"queries.table", "rows", "table: p", `table: other, allow: {K18: "rarely"}`},
	{"queries.scan", "rows", `scan: "rarely"`, `scan: "nightly"`},
	{"queries.series", "rows", "many: line", "many: line, series: true"},
	{"queries.delete", "rows", "many: line", "many: line, delete: true"},
	{"queries.allow", "rows", `K18: "rarely"`, `K18: "nightly"`},
	{"expect expect.series", "cells", "series: 50", "series: 51"},
	{"expect.rate", "cells", "rate: 1/m", "rate: 2/m"},
	{"expect.value_bytes", "cells", "value_bytes: 20", "value_bytes: 21"},
	{"expect.clusters", "cells", "clusters: 2", "clusters: 3"},
	{"expect.lateness", "cells", "lateness: 2h", "lateness: 3h"},
	{"expect.skew", "cells", "skew: 1", "skew: 1.5"},
	{"expect.arrival", "cells", "arrival: bursts", "arrival: daily"},
	{"expect.reads expect.reads.rate", "cells", "rate: 3/s", "rate: 4/s"},
	{"expect.reads.range", "cells", "range: 2h", "range: 3h"},
}

// notCompared are the settings that comparisons leave out.
var notCompared = map[string]string{
	"btgen": "there is one version", "package": "a name", "name": "a name",
	"doc": "prose", "series.doc": "prose", "fields.doc": "prose", "tables.doc": "prose", "queries.doc": "prose",
}

// TestCompareAllSettings checks that TestCompareSettings has all settings of the JSON Schema.
func TestCompareAllSettings(t *testing.T) {
	var root any
	must(t, json.Unmarshal(schema.JSONSchema(), &root))
	tested := map[string]bool{}
	for _, c := range settingChanges {
		for _, s := range strings.Fields(c.setting) {
			tested[s] = true
		}
	}
	paths := settingPaths(root, "")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if !tested[path] && notCompared[path] == "" {
			t.Errorf("%s: TestCompareSettings does not change it", path)
		}
		delete(tested, path)
		if tested[path] && notCompared[path] != "" {
			t.Errorf("%s: tested and left out", path)
		}
	}
	for path := range tested {
		t.Errorf("%s is no setting", path)
	}
}

// settingPaths returns the paths of the properties in a JSON Schema. A ttl has the same settings wherever it is,
// and so has an earlier layout.
func settingPaths(of any, at string) map[string]bool {
	out := map[string]bool{}
	switch of := of.(type) {
	case map[string]any:
		for key, inner := range of {
			properties, is := inner.(map[string]any)
			switch {
			case key == "definitions" || key == "if" || key == "then":
			case key == "properties" && is:
				for name, v := range properties {
					path := at + name
					out[path] = true
					if name == "ttl" {
						path = "ttl"
					}
					maps.Copy(out, settingPaths(v, strings.ReplaceAll(path+".", "tables.before.", "tables.")))
				}
			default:
				maps.Copy(out, settingPaths(inner, at))
			}
		}
	case []any:
		for _, inner := range of {
			maps.Copy(out, settingPaths(inner, at))
		}
	}
	return out
}
