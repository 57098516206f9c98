package capacity_test

import (
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// rolledUp resolves a schema with a table of buckets of a day, an event each hour, and a rollup or none.
func rolledUp(t *testing.T, rollup string) *layout.Layout {
	t.Helper()
	return testschema.Layout(t, `btgen: v1
package: p
name: P
series: {id: {type: uuid}}
time: {precision: 1s}
fields: {value: int64}
tables:
  p:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [id, {bucket: unix_s}]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
`+rollup+`
expect: {series: 1000, rate: 1/h}
`)
}

// TestRollup compares what a rollup takes with figures computed by hand.
func TestRollup(t *testing.T) {
	const rollup = "    rollup: {every: 1h, family: h, ttl: {max_age: 52w}}"
	if p := capacity.Of(rolledUp(t, "")); p.Summaries != nil {
		t.Errorf("%+v", p.Summaries)
	}
	l := rolledUp(t, rollup)
	p, e := capacity.Of(l), estimate.Of(l, l.Tables[0])
	const (
		key   = 36 + 1 + 10
		mark  = key + 1 + 12 + 8
		grace = 0.5 // hours: a 48th of a day
		event = key + 1 + 5 + 8 + 8
	)
	run := e.Rollup.Run.Bytes().Upper
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"bytes of a mark", e.Rollup.Mark.Bytes().Upper, mark},
		{"marks of a series", e.Rollup.Marks.Typical, 24 * ((24+0.5+2*grace)/24 - 0.5)}, // each event has its own
		{"marks of a series, summarized once a day", e.Rollup.Marks.Upper, 24 * (24 + 0.5 + 2*grace + 24) / 24},
		{"rows summarized", p.Summaries.Rows, 1000.0 / 86400},
		{"bytes that a search walks over", p.Summaries.Walked, 1000 * (37*24*event + 365*run + e.Rollup.Marks.Upper*mark)},
		{"stored marks at first", e.StoredAfter(time.Hour).Upper, 1000 * (event + run/24 + mark)},
	} {
		if math.Abs(c.got-c.want) > 1e-6*c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	for walked, want := range map[float64]time.Duration{220e6 * 60: time.Minute, 1e30: 30 * 365 * 24 * time.Hour, math.Inf(1): 30 * 365 * 24 * time.Hour} {
		assert.Same(t, want, (&capacity.Summaries{Walked: walked}).Search(), walked)
	}
}
