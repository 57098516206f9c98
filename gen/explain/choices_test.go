package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/explain"
)

// meters are a schema with a pattern, the segments of its key, a bucket, and a rollup.
const meters = `btgen: v1
package: grid
name: Meter
doc: Meters.
series:
  region: {type: string, doc: Region, example: north}
  meter: {type: int64, doc: Meter, example: 42}
time: {precision: 15m}
fields:
  energy: {type: int64, doc: Energy, number: 1, example: 130}
  voltage: {type: float64, doc: Voltage, number: 2, example: 229.5}
tables:
  meter_quarters:
    pattern: %s
    key: {delimiter: "#", segments: [region, meter, %s]}%s
    family: m
    ttl: {max_age: 90d}%s
expect: {series: 20000, rate: 1/15m}
`

// written returns the explanation of meters with a pattern and a bucket; false if the schema has errors.
func written(pattern, bucket, rollup string) (table explain.Table, err error) {
	segments := "bucket"
	switch {
	case bucket == "":
		segments = "time"
	case pattern == "bucket_new_columns":
		segments = "metric, bucket"
	}
	if bucket != "" {
		bucket = "\n    bucket: " + bucket
	}
	if rollup != "" {
		rollup = "\n    rollup: " + rollup
	}
	r := gen.Resolve([]gen.Input{{Name: "meter.yaml", Text: fmt.Appendf(nil, meters, pattern, segments, bucket, rollup)}})
	if err := r.Diagnostics.Err(); err != nil {
		return table, err
	}
	return explain.New(r.Schemas, r.Layouts).Schemas[0].Tables[0], nil
}

// TestChoicesAsWritten checks figures that stand for those of another schema: each alternative is the schema with another
// pattern or bucket and all its other settings, whatever its rollup is. It has the sizes that the explanation of this schema
// has, and none if there can be no such schema.
func TestChoicesAsWritten(t *testing.T) {
	possible, impossible := 0, 0
	for _, rollup := range []string{"", "{every: 1h, family: h, ttl: {max_age: 1825d}}", "{every: 1h, family: h, ttl: {keep: forever}}", "{every: 12h, family: h, ttl: {keep: forever}, fields: [energy]}"} {
		for _, base := range [][2]string{{"bucket_new_cells", "1w"}, {"bucket_serialized", "1d"}, {"bucket_offsets", "1d"}} {
			table, err := written(base[0], base[1], rollup)
			must(t, err)
			for _, c := range table.Choices {
				own, err := written(c.Pattern, c.Bucket, rollup)
				if err != nil {
					if impossible++; c.Size != nil || c.Year != nil || len(c.Findings) == 0 || !strings.Contains(err.Error(), c.Findings[0].Message) {
						t.Errorf("%v with rollup %s: %+v, want %v", base, rollup, c, err)
					}
					continue
				}
				possible++
				want := own.Choices[0]
				want.Chosen = c.Chosen
				if diff := cmp.Diff(want, c); diff != "" {
					t.Errorf("%s, %s beside %v with rollup %s: (-written +choice)\n%s", c.Pattern, c.Bucket, base, rollup, diff)
				}
				if diff := cmp.Diff(&own.Size, c.Size); diff != "" {
					t.Errorf("%s, %s with rollup %s: (-table +choice)\n%s", c.Pattern, c.Bucket, rollup, diff)
				}
			}
		}
	}
	if possible == 0 || impossible == 0 {
		t.Error(possible, impossible)
	}
}

// TestGrowth checks what is kept forever beside events that expire: the table grows by it, in explanations, capacities and
// advice, instead of a size of zero.
func TestGrowth(t *testing.T) {
	text := fmt.Appendf(nil, meters, "bucket_new_cells", "bucket", "\n    bucket: 1w", "\n    rollup: {every: 1h, family: h, ttl: {keep: forever}}")
	doc := documentOf(t, gen.Input{Name: "meter.yaml", Text: text})
	size := doc.Schemas[0].Tables[0].Size
	perYear := 20000 * 365 / 7 * doc.Schemas[0].Tables[0].Rollup.Run.Typical
	if size.Table != nil || size.Yearly == nil || size.Yearly.Typical < perYear*0.99 || size.Yearly.Typical > perYear*1.01 {
		t.Errorf("%+v, want growth by %v a year", size, perYear)
	}
	if got := explain.Text(doc, explain.TextOptions{}); !strings.Contains(got, "windows of the rollup are kept forever") || strings.Contains(got, "steady state") {
		t.Error(got)
	}
	found := gen.Resolve([]gen.Input{{Name: "meter.yaml", Text: text}}).Diagnostics
	advice := 0
	for _, d := range found {
		if d.Rule == "T17" {
			if advice++; !strings.Contains(d.Message, "after a year, and grows") || !strings.Contains(d.Message, "windows forever") {
				t.Error(d.Message)
			}
		}
	}
	if advice != 1 {
		t.Error(found)
	}
}
