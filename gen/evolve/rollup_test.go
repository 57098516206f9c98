package evolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// rollupTable is a schema whose table has the given keys.
func rollupTable(keys ...string) []byte {
	return []byte("btgen: v1\npackage: app\nname: Event\nseries: {host: string}\nfields: {value: int64}\ntables:\n  events:\n    pattern: bucket_new_cells\n" +
		"    key: {delimiter: \"#\", segments: [host, bucket]}\n    bucket: 1d\n    ttl: {max_age: 30d}\n    " + strings.Join(keys, "\n    ") + "\n")
}

// next returns the names of the changes of class Data from a lock to a schema, and the lock after they are accepted.
func next(t *testing.T, old *lock.Lock, text []byte) ([]string, *lock.Lock) {
	t.Helper()
	layouts := []*layout.Layout{testschema.Layout(t, string(text))}
	c := evolve.Diff(evolve.Input{Old: old, Layouts: layouts, Whole: true, Gone: gone})
	var names, arguments []string
	for _, f := range c.Findings {
		if f.Rule.Class == evolve.Data {
			names, arguments = append(names, f.Name), append(arguments, f.Name+"=it is empty")
		}
	}
	accepted, err := c.Accept(arguments)
	if err != nil {
		t.Fatal(err)
	}
	out, err := lock.Parse(lock.Name, c.Next(accepted).Text())
	if err != nil {
		t.Fatal(err)
	}
	return names, out
}

// TestFamiliesOfRollups checks that no family is used for a rollup that had one, or events, in any layout that the lock knows, and
// for events that had a rollup.
func TestFamiliesOfRollups(t *testing.T) {
	const h, k = "rollup: {every: 1h, family: h, ttl: {max_age: 52w}, serves: false}", "rollup: {every: 1h, family: k, ttl: {max_age: 52w}, serves: false}"
	for _, tt := range []struct {
		name  string
		steps [][]string // the keys of each version
		want  string     // the changes of the last step
	}{
		{"it returns", [][]string{{"family: m", h}, {"family: m"}, {"family: m", h}}, "E27:events/h"},
		{"it returns after another one", [][]string{{"family: m", h}, {"family: m", k}, {"family: m", h}}, "E27:events/h"},
		{"another family", [][]string{{"family: m", h}, {"family: m"}, {"family: m", k}}, ""},
		{"it stays while events move", [][]string{{"family: m", h}, {"family: n", h}}, "E08:events/n"},
		{"where events were", [][]string{{"family: h"}, {"family: m"}, {"family: m", h}}, "E27:events/h"},
		{"events where it was", [][]string{{"family: m", h}, {"family: m"}, {"family: h"}}, "E08:events/h E27:events/h"},
		{"events where it was before", [][]string{{"family: m", h}, {"family: m"}, {"family: n"}, {"family: h"}}, "E08:events/h E27:events/h"},
	} {
		known := &lock.Lock{}
		var names []string
		for _, keys := range tt.steps {
			names, known = next(t, known, rollupTable(keys...))
		}
		if slices.Sort(names); strings.Join(names, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, names, tt.want)
		}
		if again, _ := next(t, known, rollupTable(tt.steps[len(tt.steps)-1]...)); again != nil {
			t.Errorf("%s: accepted, and still %v", tt.name, again)
		}
	}
}
