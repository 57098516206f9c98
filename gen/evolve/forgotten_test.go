package evolve_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// TestContinuedTableIsFound checks that a table whose events continue in another one is looked up by what the schemas
// say, although an accepted change replaced a layout of another table that was in it, too.
func TestContinuedTableIsFound(t *testing.T) {
	const table = "{pattern: single_unserialized, key: {delimiter: \"#\", segments: [host, %s]}, family: m, ttl: {max_age: 90d}%s}"
	next := func(old *lock.Lock, tables string) (*evolve.Comparison, *lock.Lock) {
		text := "btgen: v1\npackage: app\nname: Event\nseries: {host: string}\ntime: {precision: 1s}\nfields: {v: int64}\ntables:\n" + tables
		layouts := []*layout.Layout{testschema.Layout(t, text)}
		c := evolve.Diff(evolve.Input{Old: old, Layouts: layouts, Whole: true, Gone: gone})
		return c, acceptAll(t, c)
	}
	other := "  other: " + fmt.Sprintf(table, "time", "") + "\n"
	first := other + "  a: " + fmt.Sprintf(table, "time", ", serves: false") + "\n"
	_, l := next(new(lock.Lock), first)
	_, moved := next(l, other+"  b: "+fmt.Sprintf(table, "{time: unix_us}", ", since: 2029-01-01, before: [{table: a, key: {delimiter: \"#\", segments: [host, time]}}]")+"\n")
	for _, b := range moved.Tables {
		if b.Name == "b" {
			b.Layouts[0].Since, b.Lacks = time.Time{}, false
			l.Tables = append(l.Tables, b)
		}
	}
	l.Sort()
	other += "  b: " + fmt.Sprintf(table, "{time: unix_us}", "") + "\n"
	c, l := next(l, other+"  c: "+fmt.Sprintf(table, "{time: unix_us}", ", serves: false, since: 2030-01-01, before: [{table: a, key: {delimiter: \"#\", segments: [host, time]}}]")+"\n")
	c.Findings = nil
	c.AddForgotten(l, gone, "git checkout main --")
	if len(c.Findings) > 0 {
		t.Errorf("findings %q", dataOf(c))
	}
}
