package hotspot_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// pick returns one of some texts.
func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomSchema returns a schema with a random key and load. It may have errors.
func randomSchema(r *rand.Rand) string {
	values := []string{
		"host: string", "user: uuid", "zone: {type: string, cardinality: " + pick(r, "1", "4", "11", "500") + "}",
		"account: " + pick(r, "int32", "int64", "uint32", "uint64"), "slot: {type: int32, cardinality: " + pick(r, "2", "30", "1000", "100000") + "}",
		"live: bool", "kind: {type: enum, of: [a, b, c]}", "began: timestamp",
	}
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	values = values[:1+r.IntN(3)]
	var names, segments []string
	for _, v := range values {
		name, _, _ := strings.Cut(v, ":")
		names = append(names, name)
		if name == "account" || name == "slot" {
			if pad := r.IntN(12); pad > 0 {
				name = fmt.Sprintf("{name: %s, encoding: %s, pad: %d}", name, pick(r, "decimal", "hex"), pad)
			}
		}
		segments = append(segments, name)
	}
	pattern, time, bucket := "single_unserialized", "time", ""
	switch r.IntN(3) {
	case 0:
		pattern, time, bucket = "bucket_new_cells", "bucket", "bucket: "+pick(r, "1m", "1h", "1d", "7d")
	case 1:
		pattern, time, bucket = "bucket_new_columns", "bucket", "bucket: "+pick(r, "1h", "1d")
		segments = append(segments, "metric")
	}
	segments = append(segments, time)
	if r.IntN(3) == 0 {
		salted := names[:1+r.IntN(len(names))]
		segments = append(segments, fmt.Sprintf("{hash: [%s], buckets: %s}", strings.Join(salted, ", "), pick(r, "2", "8", "16", "100")))
	}
	r.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	expect := []string{}
	if r.IntN(3) > 0 {
		expect = append(expect, "series: "+pick(r, "1", "2", "9", "30", "1000", "50000", "1000000", "1000000000"))
	}
	if r.IntN(3) > 0 {
		expect = append(expect, "rate: "+pick(r, "1/h", "1/m", "1/s", "100/s", "20000/s", "10000000/s"))
	}
	if r.IntN(3) == 0 {
		expect = append(expect, "skew: "+pick(r, "0.5", "0.9", "1", "1.5", "3"))
	}
	if r.IntN(3) == 0 {
		expect = append(expect, "arrival: "+pick(r, "bursts", "daily"))
	}
	return fmt.Sprintf(`btgen: v1
package: app
name: Event
series: {%s}
time: {precision: %s}
fields: {level: {type: int64, number: 1}, count: {type: int64, number: 2}}
tables:
  events:
    pattern: %s
    key: {delimiter: "#", segments: [%s]}
    %s
    family: m
    ttl: {max_age: %s}
expect: {%s}
`, strings.Join(values, ", "), pick(r, "1s", "1ms", "1m"), pattern, strings.Join(segments, ", "), bucket, pick(r, "1d", "30d", "3650d"), strings.Join(expect, ", "))
}

// TestRandomVerdicts is like TestVerdicts for random keys and loads.
func TestRandomVerdicts(t *testing.T) {
	testlong.SkipRaced(t)
	t.Parallel()
	tables, hot := 0, 0
	for seed := range testlong.Pick(20, 100) {
		text := randomSchema(rand.New(rand.NewPCG(1, uint64(seed))))
		s, found := schema.Parse("s.yaml", []byte(text))
		l, more := layout.Resolve(s)
		if found = append(found, more...); found.HasErrors() {
			continue
		}
		tables++
		if verdict(t, text, s, l, l.Tables[0], false) {
			hot++
		}
	}
	if tables < testlong.Pick(10, 15) || hot < 5 {
		t.Errorf("only %d tables, %d of them hot", tables, hot)
	}
}
