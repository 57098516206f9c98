package setup_test

import (
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestHistoryOfBegunLayout adds a layout by time at all times before and after its beginning: to a
// table that has the one before it, with and without a history, and to one that does not exist,
// which holds no events.
func TestHistoryOfBegunLayout(t *testing.T) {
	edge, err := time.Parse(time.RFC3339, newYear)
	if err != nil {
		t.Fatal(err)
	}
	table := laidOut(byTime(since(newYear, hourly), until(newYear, daily)))
	for _, tt := range []struct {
		name    string
		before  []setup.Options // of the setup with the earlier layout; none if there was none
		now     time.Time
		refused bool
	}{
		{"before", []setup.Options{{}}, edge.Add(-time.Second), false},
		{"at", []setup.Options{{}}, edge, true},
		{"after", []setup.Options{{}}, edge.Add(400 * day), true},
		{"before, without a history", []setup.Options{{NoHistory: true}}, edge.Add(-time.Second), false},
		{"after, without a history", []setup.Options{{NoHistory: true}}, edge.Add(day), true},
		{"a new table", nil, edge.Add(day), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t)
			for _, o := range tt.before {
				if _, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(daily)}, o); err != nil {
					t.Fatal(err)
				}
			}
			o := setup.Options{Now: func() time.Time { return tt.now }}
			_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o)
			names := refused(err)
			if want := []string{"begun_layout:t/m"}; tt.refused != slices.Equal(names, want) || !tt.refused && err != nil {
				t.Fatalf("refused %q, %v", names, err)
			}
			o.Allow = names
			if _, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o); err != nil {
				t.Fatal(err)
			}
			o.Allow, o.Now = nil, func() time.Time { return edge.Add(100 * day) } // it is known from now on
			if plan, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o); err != nil || !plan.Empty() {
				t.Fatal(plan, err)
			}
		})
	}
}
