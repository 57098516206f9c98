package hotspot_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/hotspot"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestVerdicts checks that simulations and rules agree about the tables of the golden cases
// (about all of them in long runs, and about some that concern these rules in others): K01 finds keys whose writes all begin in one tablet, K03
// those whose busiest tablet takes too much, K02 those where too many writes go to one tablet if
// every number is new, and K09 the queries whose events have several salts.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../golden/" + testlong.Pick("rules/K0[1239]*.txtar", "*/*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	tables, hot := 0, 0
	for i, path := range paths {
		if i%2 > 0 && !testlong.Enabled() {
			continue
		}
		a, err := archive.ParseFile(path)
		assert.Must(t, err)
		for _, f := range a.Files {
			s, found := schema.Parse(f.Name, f.Data)
			if filepath.Ext(f.Name) != ".yaml" || found.HasErrors() {
				continue
			}
			l, found := layout.Resolve(s)
			if found.HasErrors() {
				continue
			}
			for i := range l.Queries {
				fansOut(t, path+"/"+f.Name, s, l, &l.Queries[i])
			}
			for _, table := range l.Tables {
				if table.Complete() {
					tables++
					if verdict(t, path+"/"+f.Name, s, l, table) {
						hot++
					}
				}
			}
		}
	}
	if tables < testlong.Pick(10, 100) || hot < 5 {
		t.Errorf("only %d tables, %d of them hot", tables, hot)
	}
}

// verdict compares the verdicts about a table, and reports whether it is hot.
func verdict(t *testing.T, name string, s *schema.Schema, l *layout.Layout, table *layout.Table) bool {
	t.Helper()
	alone := *l
	unexcused := *table
	unexcused.Allow = nil
	alone.Tables, alone.Queries = []*layout.Table{&unexcused}, nil
	found := lint.Check(s, &alone)
	load := hotspot.Load{Load: l.Load(), Seed: hotspot.Seed}
	ends, of := hotspot.EndsOf(l, table), l
	if has(found, "K03") && len(ends.Open) > 0 && !hotspot.Hot(table, load.Load, ends.Busiest) { // K03 is about the fewest values
		of = fewest(l)
	}
	got := hotspot.Simulate(of, table, load)
	if has(found, "K01") != hotspot.InOnePlace(l, table) || has(found, "K01") && !table.Pattern.Bucketed() && got.Hottest.Peak < 0.999 { // a wide bucket is several parts
		t.Errorf("%s, table %s: K01 is %v, but the hottest part has %v", name, table.ID, has(found, "K01"), got.Hottest)
	}
	// Parts of a picture may have several ends, and hashes of few series differ by chance, so that only clear verdicts are compared.
	// Where an even share is more than a node writes, parts are too wide.
	peak := got.Hottest.Peak
	clear := hotspot.Hot(table, load.Load, 2*peak) == hotspot.Hot(table, load.Load, peak/2) && hotspot.Total(table, load.Load) <= hotspot.NodeWrites
	if hot := hotspot.Hot(table, load.Load, peak); clear && !has(found, "K01") && hot != has(found, "K03") {
		t.Errorf("%s, table %s: K03 is %v, but the hottest part has %v; %+v", name, table.ID, has(found, "K03"), got.Hottest, ends)
	}
	share := hotspot.NewShare(l, table, load.Load)
	assert.Same(t, share >= hotspot.HotShare, has(found, "K02"), name, table.ID, share)
	if share > 0 {
		load.New = true
		worst := hotspot.Simulate(l, table, load)
		want := max(share, ends.Busiest+1.0/hotspot.Bands, peak)
		slack := 0.25*want + 4*math.Sqrt(want/float64(min(1000, load.Series)))
		if fires := has(found, "K02"); !fires && worst.Hottest.Peak > want+slack || fires && worst.Hottest.Peak < share-slack || share == 1 && worst.Hottest.Peak < 0.999 {
			t.Errorf("%s, table %s: new series have %v, but the hottest part of them has %v", name, table.ID, share, worst.Hottest)
		}
	}
	return has(found, "K01") || has(found, "K03")
}

// fansOut compares the verdicts about a query: K08 takes the place of K09 for many salts.
func fansOut(t *testing.T, name string, s *schema.Schema, l *layout.Layout, q *layout.Query) {
	t.Helper()
	if q.Table == nil || !q.Table.Complete() || len(q.By) == 0 {
		return
	}
	alone, unexcused := *l, *q
	unexcused.Allow = nil
	table := *q.Table
	table.Allow, table.Older = nil, nil
	unexcused.Table, unexcused.Older = &table, nil
	alone.Tables, alone.Read, alone.Queries = []*layout.Table{&table}, &table, []layout.Query{unexcused}
	found := lint.Check(s, &alone)
	salts := hotspot.FanOut(l, q)
	if fires := has(found, "K09") || has(found, "K08"); fires != (salts > 1) || fires && salts != q.Salts {
		t.Errorf("%s, query %s: K09 is %v, but its events have %d salts, %d of them read", name, q.Name, fires, salts, q.Salts)
	}
}

// fewest returns a layout whose undeclared cardinalities are 1.
func fewest(l *layout.Layout) *layout.Layout {
	out := *l
	out.Series = slices.Clone(l.Series)
	for i := range out.Series {
		out.Series[i].Cardinality = max(1, out.Series[i].Cardinality)
	}
	return &out
}

func has(found diag.List, rule string) bool {
	for _, d := range found {
		if d.Rule == rule {
			return true
		}
	}
	return false
}
