package dynamictest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// TestGroupsOfAllTypes combines series with an event each at the same instant, whose fields have all types, grouped by
// nothing and by a series value of each type, in every table. Class of faults: values that compare in generated code, and
// panic as values of any type.
func TestGroupsOfAllTypes(t *testing.T) {
	yaml, err := os.ReadFile("../../../schemas/all_types.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l := dynamictest.Resolve(t, yaml)
	traffic, _ := dynamictest.NewTraffic(l)
	s := dynamic.New(l)
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	prefixes := 0
	fewChecks(t, testlong.Pick(1, 3))
	rapid.Check(t, func(rt *rapid.T) {
		prefixes++
		prefix := fmt.Sprintf("p%d_", prefixes)
		if _, err := setup.Setup(t.Context(), b.Admin, b.Client, s.Tables(), setup.Options{TablePrefix: prefix}); err != nil {
			rt.Fatal(err)
		}
		now := func() time.Time { return traffic.Now }
		var events []dynamic.Event
		for _, series := range traffic.Series() {
			e := traffic.Events(rt, 1)[0]
			e.Series, e.Time = series, traffic.Edges()[0]
			events = append(events, e)
		}
		if err := s.NewWriter(b.Client, store.WriterOptions{TablePrefix: prefix, Now: now}).WriteAll(t.Context(), events); err != nil {
			rt.Fatal(err)
		}
		r := s.NewReader(b.Client, store.ReaderOptions{TablePrefix: prefix, Now: now})
		by := [][]store.SeriesValue{{}}
		for i := range l.Series {
			by = append(by, []store.SeriesValue{store.SeriesValue(l.Series[i].Name)})
		}
		for _, table := range l.Tables {
			for _, group := range by {
				found, of := int64(0), dynamic.Table(table.ID)
				for w, err := range r.Windows(t.Context(), of, time.Time{}, scan.MaxTime, window.Whole(), store.WindowOptions{By: group}) {
					if err != nil {
						rt.Fatalf("table %s, by %v: %v", table.ID, group, err)
					}
					for i := range l.Series {
						if kept := slices.Contains(group, store.SeriesValue(l.Series[i].Name)); (w.Series[i] != nil) != kept {
							rt.Errorf("table %s, by %v: series %v", table.ID, group, w.Series)
						}
					}
					found += w.Events
				}
				if found != int64(len(events)) {
					rt.Errorf("table %s, by %v: %d events, want %d", table.ID, group, found, len(events))
				}
			}
		}
	})
}
