package gen_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestLatestOfJoinedKeys finds the newest events of several series at once, when the keys of another one begin with those of one of
// them: its row was taken for that of the one, whose events were not found.
func TestLatestOfJoinedKeys(t *testing.T) {
	s := dynamic.New(dynamictest.Resolve(t, []byte(`btgen: v1
package: app
name: Reading
series: {site: string, meter: string}
time: {precision: 1s}
fields: {power: int64}
tables:
  readings:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [site, {name: meter, encoding: base32hex, joined: true}, bucket]}
    bucket: 1h
    family: m
    ttl: {max_age: 30d}
`)))
	b := dynamictest.Start(t, s)
	now := time.Date(2100, 3, 5, 13, 0, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	events := []dynamic.Event{
		{Series: []any{"a", "meter"}, Time: now.Add(-time.Minute), Values: []any{int64(1)}}, // in the bucket before
		{Series: []any{"a", "meter0"}, Time: now, Values: []any{int64(2)}},
		{Series: []any{"b", "meter"}, Time: now, Values: []any{int64(3)}},
	}
	assert.Must(t, s.NewWriter(b.Client, store.WriterOptions{Now: clock}).WriteAll(t.Context(), events))
	r := s.NewReader(b.Client, store.ReaderOptions{Now: clock})
	for _, asked := range [][]int{{2, 0}, {0, 1}, {0, 1, 2}, {1, 2}} {
		var series [][]any
		got, want := "", ""
		for _, i := range asked {
			series, want = append(series, events[i].Series), want+fmt.Sprint(events[i].Series, events[i].Values)
		}
		for e, err := range r.LatestMany(t.Context(), series) {
			if got += fmt.Sprint(e.Series, e.Values); err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
