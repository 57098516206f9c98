package examples_test

import (
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestBackfill copies activities from one table to the other, whose query then finds them.
func TestBackfill(t *testing.T) {
	client, now := examplestest.New(t).Client, time.Now().UTC().Truncate(time.Millisecond)
	var all []examples.ActivityEvent
	for i := range 10 {
		all = append(all, examples.ActivityEvent{
			ActivitySeries: examples.ActivitySeries{Repository: "btgen", Actor: "gopher"}, Time: now.Add(-time.Duration(i) * time.Hour), Kind: examples.ActivityKindPush, Text: "typo",
		})
	}
	w := examples.NewActivityWriter(client, store.WriterOptions{Tables: []string{"activities_by_repository"}})
	if err := w.WriteAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	o := store.BackfillOptions{Source: "activities_by_repository", Target: "activities_by_actor"}
	report, err := examples.BackfillActivity(t.Context(), client, o)
	if err != nil || report.Events != 10 {
		t.Fatalf("%+v, %v", report, err)
	}
	i := 9
	for e, err := range examples.NewActivityReader(client).ByActor(t.Context(), "gopher", time.Time{}, now.Add(1)) {
		if err != nil || e != all[i] {
			t.Fatalf("%+v, want %+v: %v", e, all[i], err)
		}
		i--
	}
	if i != -1 {
		t.Errorf("%d activities are missing", i+1)
	}
	o.Verify, o.To = true, now.Add(1)
	if report, err = examples.BackfillActivity(t.Context(), client, o); err != nil || report.Events != 10 || len(report.Differences) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
