package setup_test

import (
	"slices"
	"strings"
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
	must(t, err)
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
				_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(daily)}, o)
				must(t, err)
			}
			o := setup.Options{Now: func() time.Time { return tt.now }}
			_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o)
			names := refused(err)
			if want := []string{"begun_layout:t/m"}; tt.refused != slices.Equal(names, want) || !tt.refused && err != nil {
				t.Fatalf("refused %q, %v", names, err)
			}
			o.Allow = names
			_, err = setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o)
			must(t, err)
			o.Allow, o.Now = nil, func() time.Time { return edge.Add(100 * day) } // it is known from now on
			if plan, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{table}, o); err != nil || !plan.Empty() {
				t.Fatal(plan, err)
			}
		})
	}
}

// TestHistoryOfWithdrawnLayout withdraws a layout by time before and after it has begun: only before, the refusal says how.
func TestHistoryOfWithdrawnLayout(t *testing.T) {
	b := start(t)
	edge, err := time.Parse(time.RFC3339, newYear)
	must(t, err)
	at := func(now time.Time) setup.Options { return setup.Options{Now: func() time.Time { return now }} }
	planned := laidOut(byTime(since(newYear, hourly), until(newYear, daily)))
	_, err = setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{planned}, at(edge.Add(-time.Hour)))
	must(t, err)
	for _, now := range []time.Time{edge.Add(-time.Second), edge} {
		_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(daily)}, at(now))
		if same(t, "refused", refused(err), []string{"older_layout:t/m"}); strings.Contains(err.Error(), "is withdrawn") != now.Before(edge) {
			t.Errorf("at %s: %v", now, err)
		}
	}
}
