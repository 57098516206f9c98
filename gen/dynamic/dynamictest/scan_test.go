package dynamictest_test

import (
	"context"
	"flag"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestScan scans tables of all kinds of schemas in disjoint ranges of row keys, some of them
// after a break: it yields exactly what reads of all series return, in order of row keys.
// Digests of the events are those of what every other table of the schema returns.
func TestScan(t *testing.T) {
	fewChecks(t, testlong.Pick(2, 4))
	for name, l := range deletable(t, 1) {
		traffic, ok := dynamictest.NewTraffic(l)
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := newDeletion(t, l, traffic)
			rapid.Check(t, d.scan)
		})
	}
}

// fewChecks makes properties try n cases in this test, also in a long run: there are many
// schemas.
func fewChecks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// scan writes events and compares scans with reads.
func (d *deletion) scan(t *rapid.T) {
	ctx := context.Background()
	const prefix = "all_"
	if _, err := setup.Setup(ctx, d.server.Admin, d.server.Client, d.schema.Tables(), setup.Options{TablePrefix: prefix, AllowDrafts: true}); err != nil {
		t.Fatal(err)
	}
	defer d.drop(ctx)
	for _, e := range d.traffic.Events(t, 12) {
		d.write(ctx, t, prefix, e)
	}
	from, to := time.Time{}, scan.MaxTime
	if edges := d.traffic.Edges(); rapid.Bool().Draw(t, "limited") {
		from, to = rapid.SampledFrom(edges).Draw(t, "from"), rapid.SampledFrom(edges).Draw(t, "to")
		if to.Before(from) {
			from, to = to, from
		}
	}
	o := store.ReaderOptions{TablePrefix: prefix, Now: func() time.Time { return d.traffic.Now }}
	for _, m := range d.schema.Mappings() {
		id := m.Table.ID
		want, got := d.sums(t, id), d.sums(t, id)
		reader := store.NewReader(d.server.Client, m, o)
		for _, series := range d.traffic.Series() {
			for e, err := range reader.Read(ctx, store.SeriesOf(dynamic.Event{Series: series}), from, to) {
				if err != nil {
					t.Fatal(err)
				}
				want.add(e)
			}
		}
		scanned := map[string]bool{}
		for _, period := range m.Periods() {
			if table := period.Table.ID; !scanned[table] {
				scanned[table] = true
				d.scanTable(ctx, t, table, from, to, o, got)
			}
		}
		if diff := cmp.Diff(want.events, got.events); diff != "" {
			t.Fatalf("table %s from %v to %v: (-want +got)\n%s", id, from, to, diff)
		}
	}
}

// sums collects the digests of events.
type sums struct {
	t        *rapid.T
	digester *store.Digester[dynamic.Event]
	events   map[store.Digest]int
}

// sums returns an empty collection for a table.
func (d *deletion) sums(t *rapid.T, table string) *sums {
	digester, err := store.NewDigester(d.schema.Mappings(), table, d.traffic.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &sums{t, digester, map[store.Digest]int{}}
}

// add adds an event.
func (s *sums) add(e dynamic.Event) {
	sum, err := s.digester.Of(&e)
	if err != nil {
		s.t.Fatal(err)
	}
	s.events[sum]++
}

// scanTable scans a table in ranges that are drawn.
func (d *deletion) scanTable(ctx context.Context, t *rapid.T, table string, from, to time.Time, o store.ReaderOptions, into *sums) {
	scanner, err := store.NewScanner(d.server.Client, d.schema.Mappings(), table, o)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for row := range dynamictest.Rows(ctx, d.server.Client, o.TablePrefix+table) {
		keys = append(keys, row)
	}
	slices.Sort(keys)
	cuts := []string{""}
	for _, key := range keys {
		if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
			cuts = append(cuts, key)
		}
	}
	for i, start := range cuts {
		within, left := store.KeyRange{Start: start}, true
		if i+1 < len(cuts) {
			within.End = cuts[i+1]
		}
		for left {
			left = false
			last := ""
			for row, err := range scanner.Rows(ctx, within, from, to) {
				switch {
				case err != nil:
					t.Fatal(err)
				case row.Key < last || !within.Contains(row.Key):
					t.Fatalf("row %q after %q in %+v", row.Key, last, within)
				}
				last = row.Key
				for _, e := range row.Events {
					into.add(e)
				}
				if rapid.IntRange(0, 3).Draw(t, "break") == 0 {
					within, left = within.After(last)
					break
				}
			}
		}
	}
}
