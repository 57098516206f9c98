package store

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestMutations lists the requests that change rows: each sets a mark, which TestMarks checks, or changes no events.
func TestMutations(t *testing.T) {
	var found []string
	for _, dir := range []string{".", "../setup", "../beamstore", "../../cmd/btgen-live"} {
		for path, of := range functions(t, dir) {
			ast.Inspect(of, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch s, ok := call.Fun.(*ast.SelectorExpr); {
				case !ok:
				case slices.Contains([]string{"Apply", "ApplyEncoded", "ApplyBulk", "ApplyReadModifyWrite", "Send", "DropRowRange", "DropAllRows"}, s.Sel.Name):
					found = append(found, filepath.ToSlash(path)+" "+of.Name.Name+": "+s.Sel.Name)
				}
				return true
			})
		}
	}
	slices.Sort(found)
	same(t, strings.Join([]string{
		"../../cmd/btgen-live/write.go rehearse: DropAllRows", // of a table of its own
		"../setup/claim.go add: Apply",                        // records of setups
		"absent.go applyTo: Apply",                            // if absent, or of a table of states
		"erase.go apply: ApplyBulk",
		"seal.go send: Apply",    // replaces marks
		"settle.go apply: Apply", // of a table of states, which has no rollup
		"stage.go apply: Apply",
		"stage.go apply: ApplyEncoded",
		"stage.go applyBulk: ApplyBulk",
		"writer.go sendOne: Send",
	}, "\n"), strings.Join(slices.Compact(found), "\n"))
}

// rollupCells returns the names of the cells of the rollup in each row, and whether the row has others.
func rollupCells(t *testing.T, bt *storetest.Bigtable, table string) (names map[string][]string, events map[string]string) {
	t.Helper()
	names, events = map[string][]string{}, map[string]string{}
	eachCell(t, bt.Client, table, func(cell bigtable.ReadItem) {
		if name, is := strings.CutPrefix(cell.Column, "h:"); is {
			names[cell.Row] = append(names[cell.Row], name)
		} else {
			events[cell.Row] += fmt.Sprintln(cell.Column, cell.Timestamp, string(cell.Value))
		}
	})
	return names, events
}

// alone gives a marker marks of its own, as in another process.
func (m *marker) alone() { m.marks = newMarks(m.name, m.table.Grace) }

// TestSharedMarks writes with many writers, which share marks. Class of faults: a cost for each object of a process.
func TestSharedMarks(t *testing.T) {
	l := rolled(days(), 40*24*time.Hour)
	bt := newBigtable(t, l)
	write := func(client Client, i int) {
		must(t, newWriterOf(client, []*mappingOf[sample]{l}, writeAt(86400)).Write(t.Context(), sample{Series: "s", Time: at(i)}))
	}
	marks := func() int {
		names, _ := rollupCells(t, bt, l.Table.ID)
		return len(names["s#2021-03-05"])
	}
	for i := range 20 {
		write(bt.Client, i)
	}
	if n := marks(); n > 2 { // one, or a new one in between
		t.Errorf("%d marks of one process", n)
	}
	before := marks()
	for i := range 3 {
		write(tableClient{bt.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI { return api }}, i)
	}
	same(t, 3, marks()-before)
}

// TestMarks checks that all that changes events sets a mark in each row, with the client's encoding and with our own.
func TestMarks(t *testing.T) {
	t.Parallel()
	c, calls := newLateCase(t), maps.Clone(lateCalls)
	plain := opened(t)(storetest.ConnectPlain(t.Context(), c.Addr))
	calls["Batcher"] = lateCall{call: func(ctx context.Context, c *lateCase, client Client) error {
		b := newBatcherOf(c.writer(client), nil)
		return errors.Join(b.Add(ctx, sampleAt(915, 1)), b.Add(ctx, sampleAt(86400, 1)), b.Close(ctx))
	}}
	calls["Backfill of the events"] = lateCall{call: func(ctx context.Context, c *lateCase, client Client) error {
		c.differ()
		c.rolled.Table.WriteOnly, c.copies.Table.WriteOnly = true, false
		defer func() { c.rolled.Table.WriteOnly, c.copies.Table.WriteOnly = false, true }()
		return c.refill(ctx, client, "days", true)
	}}
	for name, of := range calls {
		for i, client := range []Client{c.Client, plain} {
			c.begin()
			names, before := rollupCells(t, c.Bigtable, "days")
			for row := range names {
				change(t, c.Client, "days", row, func(m *bigtable.Mutation) { m.DeleteCellsInFamily("h") })
			}
			must(t, of.call(t.Context(), c, client))
			names, after := rollupCells(t, c.Bigtable, "days")
			changed := 0
			for _, row := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after))) {
				if before[row] == after[row] {
					continue
				}
				if changed++; len(names[row]) == 0 {
					t.Errorf("%s, client %d: row %s has changed, and has no mark", name, i, row)
				}
			}
			fills, of := strings.CutPrefix(name, "Backfill")
			if others := of && fills != " of the events" || strings.HasPrefix(name, "steps") || name == "Rollup"; others != (changed == 0) {
				t.Errorf("%s, client %d: %d rows have changed", name, i, changed)
			}
		}
	}
}

// TestMarkIsUsedFor checks that a writer uses a mark for half of the grace, and that its requests end in a tenth of it.
func TestMarkIsUsedFor(t *testing.T) {
	l := rolled(days(), 0)
	bt := newBigtable(t, l)
	var longest atomic.Int64
	client := through(bt.Client, func(a asked, send func() error) error {
		end, has := a.ctx.Deadline()
		if !has {
			end = time.Now().Add(time.Hour)
		}
		longest.Store(max(longest.Load(), int64(time.Until(end))))
		return send()
	})
	w := newWriterOf(client, []*mappingOf[sample]{l}, WriterOptions{Timeout: NoTimeout})
	m, now := w.Writer.tables[0].marker, time.Now()
	m.alone()
	m.clock = func() time.Time { return now }
	grace := l.Rollup.Grace(l.Key.Bucket)
	same(t, 30*time.Minute, grace)
	for i, want := range []int{1, 1, 2, 2, 3} {
		must(t, w.WriteAll(t.Context(), []sample{{Series: "s", Time: at(i)}, {Series: "s", Time: at(i + 1)}}))
		names, _ := rollupCells(t, bt, l.Table.ID)
		assert.Same(t, want, len(names["s#2021-03-05"]), "after write", i)
		now = now.Add(grace/2 - time.Minute*time.Duration(1+i%2))
		if i%2 == 1 {
			now = now.Add(3 * time.Minute)
		}
	}
	if got := time.Duration(longest.Load()); got > grace/10 || got < grace/20 {
		t.Errorf("requests may take %v", got)
	}
}
