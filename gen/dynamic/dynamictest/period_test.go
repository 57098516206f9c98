package dynamictest

import (
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
)

// Events between the old and the new beginning of a layout are hidden, and so are those of a layout
// that is removed. A new layout that begins at a time hides nothing that was written before.
func TestMovedLayouts(t *testing.T) {
	const days = `btgen: v1
package: p
name: P
series: {region: string}
time: {precision: 1s}
fields: {value: int64}
tables:
  readings:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [region, bucket]}
    family: m
    ttl: {max_age: 400d}
    bucket: 1d
`
	hours := strings.Replace(days, "bucket: 1d", "bucket: 1h\n    since: 2021-03-08\n    before: [{bucket: 1d}]", 1)
	lab := NewLab(t)
	edge := time.Date(2021, 3, 8, 0, 0, 0, 0, time.UTC)
	var events []dynamic.Event
	for h := -48; h < 48; h += 12 {
		events = append(events, dynamic.Event{Series: []any{"eu"}, Time: edge.Add(time.Duration(h) * time.Hour), Values: []any{int64(h)}})
	}
	for _, tt := range []struct {
		name, old, new string
		events         []dynamic.Event
		safe           bool
	}{
		{"added before its time", days, hours, events[:4], true},
		{"added after its time", days, hours, events, false},
		{"moved", hours, strings.Replace(hours, "03-08", "03-09", 1), events, false},
		{"removed", hours, strings.Replace(days, "1d", "1h", 1), events, false},
		{"unchanged", hours, hours, events, true},
	} {
		old, new := dynamic.New(Resolve(t, []byte(tt.old))), dynamic.New(Resolve(t, []byte(tt.new)))
		got, err := lab.Compare(t.Context(), Edit{Old: old, New: new, Now: edge.AddDate(0, 0, 10)}, tt.events, Range{To: edge.AddDate(0, 0, 10)})
		if err != nil {
			t.Fatal(err)
		}
		if got.Events == 0 || got.Safe() != tt.safe {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
