package lock_test

import (
	"os"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/assert"
)

// A table or family is removed if no layout that is in use stores events there.
func TestRemoved(t *testing.T) {
	families := func(names ...string) (out []lock.Family) {
		for _, name := range names {
			out = append(out, lock.Family{Name: name})
		}
		return out
	}
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	l := &lock.Lock{Tables: []lock.Table{
		{Name: "gone", Family: "m", Removed: "E01:gone: nobody reads it", Layouts: []lock.Layout{{Families: families("m", "n")}}},
		{Name: "shared", Family: "a", Removed: "E01:shared/a: merged", Layouts: []lock.Layout{{Families: families("a")}}},
		{Name: "shared", Family: "b", Layouts: []lock.Layout{{Families: families("b")}}},
		{Name: "now", Family: "m", Layouts: []lock.Layout{
			{Since: at, Families: families("m")},
			{Table: "before", Families: families("m")}, // in use: a layout by time
			{Families: families("k")},                  // an accepted change replaced it
		}},
		{Name: "before", Family: "x", Removed: "E01:before/x: twice", Layouts: []lock.Layout{{Families: families("x")}}},
	}}
	assert.Same(t, []string{"before/x", "gone", "gone/m", "gone/n", "now/k", "shared/a"}, l.Removed())
}

// A family whose layout was withdrawn before it began is only in an earlier epoch.
func TestRemovedBeforeItBegan(t *testing.T) {
	text, err := os.ReadFile("testdata/withdrawn.lock")
	assert.Is(t, nil, err)
	l, err := lock.Parse("btgen.lock", text)
	assert.Is(t, nil, err)
	assert.Same(t, []string{"days/n"}, l.Removed())
}
