package gen_test

import (
	"fmt"

	"github.com/btgen-dev/btgen/gen"
)

// edges are parts of schemas for which it is hard to find events that a test can write:
// series, precision, fields, the pattern with its key, and the rest.
var edges = []struct{ what, series, precision, fields, key, rest string }{
	{"one version a column", "host: string", "1s", "v: int64", `bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}`,
		"bucket: 1d, ttl: {max_versions: 1}, allow: {T02: only the newest counts}"},
	{"one version a value", "host: string", "1s", "v: bool", `bucket_new_columns, key: {delimiter: "#", segments: [host, metric, bucket]}`,
		"bucket: 1mo, ttl: {max_versions: 1}, allow: {T03: only the newest counts}"},
	{"labels that end soon", "host: string", "1m", "v: int64", `bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}`,
		"bucket: {every: 1d, origin: 2026-01-01, label: d%03d}, ttl: {max_age: 30d}"},
	{"labels without order", "host: string", "1h", "v: int64", `bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}`,
		"bucket: {every: 1w, origin: 2021-03-01, label: week%d}, ttl: {max_age: 30d}, allow: {K04: as documented}"},
	{"labels that begin late", "host: string", "1h", "v: int64", `bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}`,
		"bucket: {every: 1w, origin: 2200-03-01, label: week%02d}, ttl: {max_age: 30d}"},
	{"a second to live", "host: string", "1h", "v: int64", `bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}`,
		"bucket: 1y, ttl: {max_age: 1s}"},
	{"one version an hour", "host: string", "1s", "v: int64", `bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}`,
		"bucket: 1mo, ttl: {any_of: [{max_age: 1h}, {max_versions: 1}]}, allow: {T02: only the newest counts}"},
	{"a microsecond", "host: string", "1us", "v: int64", `bucket_offsets, key: {segments: [host, bucket]}`,
		"bucket: 1h, ttl: {one_second: {}}"},
	{"a nanosecond", "host: string", "1ns", "v: int64", `single_unserialized, key: {delimiter: "#", segments: [host, {time: unix_ns, reverse: true}]}`,
		"ttl: {default_expiration: 2d, written_at: w}"},
	{"a day, and buckets that begin at noon", "host: string", "1d", "v: int64", `bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}`,
		"bucket: {every: 1d, origin: 2021-03-01T12:00:00Z}, ttl: {keep: forever}"},
	{"a delimiter that is in many texts", "host: string", "1s", "v: int64", `single_unserialized, key: {delimiter: "o", segments: [host, time]}`,
		"ttl: {keep: forever}"},
	{"bytes of a length, and a flag", "id: bytes, on: bool", "1s", "v: int64", `single_unserialized, key: {delimiter: "#", segments: [{name: id, encoding: raw, pad: 1}, on, time]}`,
		"ttl: {keep: forever}"},
	{"a number of one digit", "id: int64", "1s", "v: int64", `single_unserialized, key: {delimiter: "#", segments: [{name: id, encoding: decimal, pad: 1, reverse: true}, time]}`,
		"ttl: {keep: forever}"},
	{"one series", "kind: {type: enum, of: [only]}", "1s", "v: {type: json, optional: true}", `single_unserialized, key: {delimiter: "#", segments: [kind, time]}`,
		"ttl: {keep: forever}"},
	{"nothing but optional fields", "host: string", "1s", "v: {type: bytes, optional: true}, u: {type: uuid, optional: true}", `single_unserialized, key: {delimiter: "#", segments: [host, time]}`,
		"ttl: {one_second: {}}"},
}

// edgeSchemas returns one schema for each of the edges.
func edgeSchemas() []gen.Input {
	var out []gen.Input
	for i, e := range edges {
		text := fmt.Appendf(nil, "# %s\nbtgen: v1\npackage: edge%d\nname: Event\nseries: {%s}\ntime: {precision: %s}\nfields: {%s}\ntables:\n  edge%d: {pattern: %s, family: m, %s}\n",
			e.what, i, e.series, e.precision, e.fields, i, e.key, e.rest)
		out = append(out, gen.Input{Name: fmt.Sprintf("edge%d.yaml", i), Text: text})
	}
	return out
}
