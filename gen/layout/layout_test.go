package layout_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

const day = 24 * time.Hour

// cells returns a table with bucket_new_cells.
func cells(bucket, ttl string) string {
	return fmt.Sprintf(`  cells: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, id, bucket]}, bucket: %s, family: m, ttl: %s}
`, bucket, ttl)
}

func TestMaxCells(t *testing.T) {
	for _, test := range []struct {
		precision, bucket string
		want              int64
	}{
		{"1m", "1h", 60}, {"1m", "1w", 10080}, {"1ms", "1m", 60_000}, {"1h", "1mo", 31 * 24}, {"1d", "1y", 366}, {"1h", "1h", 1},
	} {
		l := testschema.Tables(t, test.precision, cells(test.bucket, "{keep: forever}"))
		compare(t, test.want, l.Tables[0].MaxCells, test.bucket, test.precision)
	}
}

func TestRetention(t *testing.T) {
	for ttl, want := range map[string]codec.Retention{
		"{keep: forever}": nil,
		"{max_age: 30d}":  {{MaxAge: 30 * day}},
		"{any_of: [{max_age: 30d}, {max_age: 1d}]}":                               {{MaxAge: day}},
		"{all_of: [{max_age: 30d}, {max_age: 1d}]}":                               {{MaxAge: 30 * day}},
		"{all_of: [{max_age: 1d}, {max_versions: 3}]}":                            {{MaxAge: day}, {Versions: 3}},
		"{all_of: [{max_age: 1d}, {max_versions: 60}]}":                           nil, // a bucket never has more
		"{max_versions: 60}":                                                      nil,
		"{any_of: [{max_age: 30d}, {max_versions: 60}]}":                          {{MaxAge: 30 * day}},
		"{all_of: [{max_age: 1d}, {all_of: [{max_age: 2d}, {max_versions: 1}]}]}": {{MaxAge: 2 * day}, {Versions: 1}},
	} {
		l := testschema.Tables(t, "1m", cells("1h", ttl))
		compare(t, want, l.Tables[0].Families[0].Life.Retention, ttl)
	}
}

// TestHarmonic compares the weight of all series with the sum of their weights.
func TestHarmonic(t *testing.T) {
	for _, s := range []float64{0, 0.5, 0.99, 1, 1.2, 3} {
		for _, n := range []int64{1, 2, 1000, 1001, 200_000} {
			want := 0.0
			for k := range n {
				want += math.Pow(float64(k+1), -s)
			}
			if got := layout.Harmonic(n, s); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%d series with skew %v: %v, want %v", n, s, got, want)
			}
		}
	}
}

// A year of windows is no longer than a leap year, though twelve long months would be.
func TestWidest(t *testing.T) {
	for every, want := range map[schema.Span]time.Duration{
		{}: 0, {Fixed: 7 * day}: 7 * day, {Months: 1}: 31 * day, {Months: 12}: 366 * day, {Months: 14}: 428 * day,
	} {
		compare(t, want, (&layout.MaterializedView{Every: every}).Widest(), every)
	}
}
