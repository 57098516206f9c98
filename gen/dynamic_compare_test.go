package gen_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/dynamictest"
)

// usual is a schema that tests edit.
const usual = `btgen: v1
package: usual
name: Reading
series: {site: string, sensor: int64}
time: {precision: 1s}
fields:
  pressure: {type: int64, number: 1}
  state: {type: enum, of: [info, critical], number: 2}
  note: {type: string, optional: true, number: 3}
tables:
  readings:
    pattern: PATTERN
    key: {delimiter: "#", segments: [site, sensor, bucket]}
    bucket: {every: 1d, label: "2006-01-02"}
    family: m
    ttl: {max_age: 30d}
queries:
  BySite: {by: [site]}
`

// The edits of the design that lose data, and some that do not: each has the effect that it is
// known for.
func TestCompare(t *testing.T) {
	lab := dynamictest.NewLab(t)
	for _, c := range []struct{ name, pattern, from, to, want string }{
		{"nothing", "bucket_new_cells", "", "", "safe"},
		{"query added", "bucket_new_cells", "BySite: {by: [site]}", "BySite: {by: [site]}\n  All: {by: [], scan: to be tried}", "safe"},
		{"longer age", "bucket_new_cells", "30d", "60d", "safe"},
		{"bucket narrowed", "bucket_new_cells", "{every: 1d, label: \"2006-01-02\"}", "{every: 1h, label: \"2006-01-02T15\"}", "lost"},
		{"another label", "bucket_new_cells", "2006-01-02", "20060102", "lost"},
		{"segments in another order", "bucket_new_cells", "[site, sensor, bucket]", "[site, bucket, sensor]", "lost"},
		{"salt added", "bucket_new_cells", "[site, sensor, bucket]", "[{hash: [site, sensor], buckets: 4}, site, sensor, bucket]", "lost"},
		{"type of a column", "bucket_new_cells", "pressure: {type: int64", "pressure: {type: float64", "changed"},
		{"enum reordered", "bucket_new_cells", "[info, critical]", "[critical, info]", "changed"},
		{"required column renamed", "bucket_new_cells", "pressure:", "force:", "errors"},
		{"values as text", "bucket_new_cells", "    family: m", "    family: m\n    values: text", "errors"},
		{"optional column with another name", "bucket_new_cells", "note: {type: string,", "note: {type: string, column: notes,", "hidden"},
		{"family renamed", "bucket_new_cells", "family: m", "family: n", "lost"},
		{"table renamed", "bucket_new_cells", "  readings:", "  newer:", "lost"},
		{"shorter age", "bucket_new_cells", "30d", "1s", "lost"},
		{"number of a field", "bucket_serialized", "number: 3", "number: 4", "hidden"},
		{"number taken by another field", "bucket_serialized", "note: {type: string", "remark: {type: string", "changed"},
		{"field added", "bucket_serialized", "  note:", "  more: {type: string, optional: true, number: 9}\n  note:", "safe"},
		{"bucket", "bucket_serialized", "{every: 1d, label: \"2006-01-02\"}", "{every: 6h, label: \"2006-01-02T15\"}", "lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := strings.Replace(usual, "PATTERN", c.pattern, 1)
			edited := strings.Replace(old, c.from, c.to, 1)
			if c.from != "" && edited == old {
				t.Fatal("nothing edited")
			}
			l := dynamictest.Resolve(t, []byte(old))
			e := dynamictest.Edit{Old: dynamic.New(l), New: dynamic.New(dynamictest.Resolve(t, []byte(edited)))}
			at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
			e.Now = at.Add(time.Hour)
			var events []dynamic.Event
			for i := range 4 {
				events = append(events, dynamic.Event{
					Series: []any{"a", int64(i % 2)}, Time: at.Add(time.Duration(i) * time.Minute), Values: []any{int64(5 + i), "critical", "n"},
				})
			}
			got, err := lab.Compare(t.Context(), e, events, dynamictest.Range{From: at, To: at.Add(time.Hour)})
			if err != nil || got.Events == 0 {
				t.Fatal(got.Events, err)
			}
			for name, n := range map[string]int{"safe": 0, "lost": len(got.Lost), "changed": len(got.Changed), "hidden": len(got.Hidden), "errors": len(got.Errors)} {
				if name == c.want && name != "safe" && n == 0 || c.want == "safe" && !got.Safe() {
					t.Errorf("want %s, got %+v", c.want, got)
				}
			}
		})
	}
}

// A schema that is not edited loses nothing, for any events.
func TestCompareUnedited(t *testing.T) {
	lab := dynamictest.NewLab(t)
	l := dynamictest.Resolve(t, []byte(strings.Replace(usual, "PATTERN", "bucket_new_cells", 1)))
	traffic, ok := dynamictest.NewTraffic(l)
	if !ok {
		t.Fatal("no events")
	}
	edges := traffic.Edges()
	s := dynamic.New(l)
	rapid.Check(t, func(rt *rapid.T) {
		got, err := lab.Compare(t.Context(), dynamictest.Edit{Old: s, New: s, Now: traffic.Now}, traffic.Events(rt, 4), dynamictest.Range{From: edges[0], To: edges[len(edges)-1]})
		if err != nil || !got.Safe() {
			rt.Fatal(got, err)
		}
	})
}
