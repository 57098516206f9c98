package explain_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/explain"
)

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
