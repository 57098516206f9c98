package explain_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/assert"
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

// written returns the explanation of meters with a pattern and a bucket; an error if the schema has errors.
func written(pattern, bucket, rollup string) (*document.Document, error) {
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
		return nil, err
	}
	doc, err := explain.New(r.Schemas, r.Layouts, explain.Options{})
	return &doc.Document, err
}

// TestChoicesAsWritten checks figures that stand for those of another schema: each alternative is the schema with another
// pattern or bucket and all its other settings, whatever its rollup is. It has the sizes that the explanation of this schema
// has, and none if there can be no such schema.
func TestChoicesAsWritten(t *testing.T) {
	possible, impossible := 0, 0
	for _, rollup := range []string{"", "{every: 1h, family: h, ttl: {max_age: 1825d}}", "{every: 1h, family: h, ttl: {keep: forever}}", "{every: 12h, family: h, ttl: {keep: forever}, fields: [energy]}"} {
		for _, base := range [][2]string{{"bucket_new_cells", "1w"}, {"bucket_serialized", "1d"}, {"bucket_offsets", "1d"}} {
			doc, err := written(base[0], base[1], rollup)
			must(t, err)
			for _, c := range table(doc, choices).Rows {
				pattern, bucket, _ := strings.Cut(c.Cells[0], ", ")
				own, err := written(pattern, bucket, rollup)
				if err != nil {
					reason := strings.TrimPrefix(c.Cells[1], "no: ")
					if impossible++; c.Style != document.Refused || reason == c.Cells[1] || !strings.Contains(err.Error(), reason) {
						t.Errorf("%v with rollup %s: %v, want %v", base, rollup, c, err)
					}
					continue
				}
				possible++
				want := table(own, choices).Rows[0]
				want.Style = c.Style
				if diff := cmp.Diff(dataOf[any](t, want), dataOf[any](t, c)); diff != "" || !slices.Equal(want.Cells, c.Cells) {
					t.Errorf("%s beside %v with rollup %s: (-written +choice)\n%s", c.Cells[0], base, rollup, diff)
				}
				if size := row(table(own, "size"), "event"); size.Cells[1] != c.Cells[1] {
					t.Errorf("%s with rollup %s: %v, %v", c.Cells[0], rollup, size, c)
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
	grows := row(table(doc, "size"), "table")
	var run float64
	fmt.Sscanf(runSize.FindStringSubmatch(doc.Text(document.TextOptions{Width: 1000}))[1], "%g", &run)
	perYear := 20000 * 365 / 7 * run * 1000
	if yearly := dataOf[estimate.Bounds](t, grows); yearly.Typical < perYear*0.99 || yearly.Typical > perYear*1.01 || !strings.Contains(grows.Cells[2], "windows of the rollup are kept forever") {
		t.Errorf("%v, want growth by %v a year", grows, perYear)
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
	assert.Same(t, 1, advice, found)
}

// runSize matches the size of the run of a bucket.
var runSize = regexp.MustCompile(`windows and about ([0-9.]+) kB, from`)
