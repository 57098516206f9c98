package setup_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// unsampled is a client that is denied to search table t.
type unsampled struct {
	store.Client
	wait bool // for the end of the call, instead
}

func (c unsampled) OpenTable(table string) bigtable.TableAPI {
	if api := c.Client.OpenTable(table); table != "t" {
		return api
	}
	return unsampledTable{c.Client.OpenTable(table), c.wait}
}

type unsampledTable struct {
	bigtable.TableAPI
	wait bool
}

func (t unsampledTable) SampleRowKeys(ctx context.Context) ([]string, error) {
	if t.wait {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return nil, status.Error(codes.PermissionDenied, "no sampling")
}

// TestHistoryOfSearchedLayout begins a layout by time later, in a table that cannot be searched for events that it would hide: nobody
// knows whether there are some. TestScripts searches tables that have some.
func TestHistoryOfSearchedLayout(t *testing.T) {
	edge, err := time.Parse(time.RFC3339, newYear)
	must(t, err)
	tables := store.Tables([]*store.Mapping{{Table: laidOut(since(newYear, hourly)), Since: edge, Older: []*store.Mapping{{Table: laidOut(until(newYear, daily))}}}})
	for _, tt := range []struct {
		wait bool
		says string
	}{{false, "no sampling"}, {true, "it took longer than 1s"}} {
		b := start(t)
		_, err = setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{laidOut(daily)})
		must(t, err)
		client, o := unsampled{b.Client, tt.wait}, setup.Options{Now: func() time.Time { return edge.Add(-time.Hour) }, Timeout: time.Second}
		_, err = setup.Setup(t.Context(), b.Admin, client, tables, o)
		if same(t, "refused", refused(err), []string{"later_events:t/m"}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
		o.Allow = refused(err)
		_, err = setup.Setup(t.Context(), b.Admin, client, tables, o)
		must(t, err)
		o.Allow = nil // it is known from now on, and nobody searches
		_, err = setup.Setup(t.Context(), b.Admin, client, tables, o)
		must(t, err)
	}
}
