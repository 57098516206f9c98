package gen_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// Events of earlier versions of schemas, before fields were renamed, converted or moved, are read
// as they were written.
func TestEarlier(t *testing.T) {
	lab := dynamictest.NewLab(t)
	for _, name := range []string{"testdata/conversions", "../schemas/all_types", "../schemas/meter", "../schemas/market_ticks"} {
		whole := dynamictest.Resolve(t, corpus.Inputs(t, name+".yaml")[0].Text)
		for _, table := range whole.Tables {
			l := *whole
			l.Tables, l.Read, l.Queries = []*layout.Table{table}, table, nil
			t.Run(path.Base(name)+"/"+table.ID, func(t *testing.T) { earlierEvents(t, lab, &l) })
		}
	}
}

// earlierEvents tries events of earlier versions of a layout.
func earlierEvents(t *testing.T, lab *dynamictest.Lab, l *layout.Layout) {
	traffic, ok := dynamictest.NewTraffic(l)
	if !ok {
		t.Fatal("no events")
	}
	traffic.Small = true
	edges := traffic.Edges()
	testlong.Checks(t, testlong.Pick(4, 50))
	rapid.Check(t, func(rt *rapid.T) {
		earlier := dynamictest.Earlier(l, func(f *layout.Field) int { return rapid.IntRange(0, len(f.Was)-1).Draw(rt, "version of "+f.Name) })
		edit := dynamictest.Edit{Old: dynamic.New(earlier), New: dynamic.New(l), Now: traffic.Now, Renamed: map[string]string{}}
		for i := range earlier.Fields {
			edit.Renamed[earlier.Fields[i].Name] = l.Fields[i].Name
		}
		got, err := lab.Compare(t.Context(), edit, traffic.At(earlier).Events(rt, 8), dynamictest.Range{From: edges[0], To: edges[len(edges)-1]})
		assert.Must(rt, err)
		if !got.Safe() {
			rt.Fatalf("%+v", got)
		}
	})
}

// An older integer that is no float64 is an error, and so that it cannot be taken for another.
func TestEarlierInexact(t *testing.T) {
	const yaml = `{btgen: v1, package: p, name: P, series: {region: string}, time: {precision: 1s},
  fields: {value: {type: float64, was: [{column: v, type: int64}]}}, tables: {cells: {
    pattern: bucket_new_cells, key: {delimiter: "#", segments: [region, bucket]}, bucket: 1d, family: m, ttl: {max_age: 30d}}}}`
	l := dynamictest.Resolve(t, []byte(yaml))
	traffic, _ := dynamictest.NewTraffic(l)
	earlier := dynamictest.Earlier(l, func(*layout.Field) int { return 0 })
	event := dynamic.Event{Series: traffic.Series()[0], Time: traffic.Edges()[0], Values: []any{int64(1<<53 + 1)}}
	edges := traffic.Edges()
	got, err := dynamictest.NewLab(t).Compare(t.Context(), dynamictest.Edit{Old: dynamic.New(earlier), New: dynamic.New(l), Now: traffic.Now}, []dynamic.Event{event}, dynamictest.Range{From: edges[0], To: edges[len(edges)-1]})
	if err != nil || got.Events == 0 || len(got.Errors) != 1 || !strings.Contains(got.Errors[0], `9007199254740993 is beyond 2^53`) {
		t.Errorf("%+v, %v", got, err)
	}
}
