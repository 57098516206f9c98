package evolve_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// diffAll compares all schemas of a project with a lock.
func diffAll(old *lock.Lock, layouts []*layout.Layout) *evolve.Comparison {
	return evolve.Diff(evolve.Input{Old: old, Layouts: layouts, Whole: true, Gone: gone})
}

// dataOf returns the names of the changes of class DATA.
func dataOf(c *evolve.Comparison) []string {
	var out []string
	for _, f := range c.Findings {
		if f.Rule.Class == evolve.Data {
			out = append(out, f.Name)
		}
	}
	return out
}

// acceptAll accepts all changes of class DATA, and returns the next lock.
func acceptAll(t *testing.T, c *evolve.Comparison) *lock.Lock {
	t.Helper()
	var arguments []string
	for _, name := range dataOf(c) {
		arguments = append(arguments, name+"=a test")
	}
	accepted, err := c.Accept(arguments)
	if err != nil {
		t.Fatal(err)
	}
	next, err := lock.Parse(lock.Name, c.Next(accepted).Text())
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// A project is schemas of one layout, each with places for its events: "table/family".
type placed map[string][]string

func (p placed) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		out = append(out, name+strings.Join(p[name], "+"))
	}
	return strings.Join(out, " ")
}

// layouts resolves the schemas of a project.
func (p placed) layouts(t *testing.T, known map[string]*layout.Layout) []*layout.Layout {
	t.Helper()
	var out []*layout.Layout
	for _, part := range strings.Fields(p.String()) {
		if known[part] == nil {
			name := part[:1]
			text := fmt.Sprintf("btgen: v1\npackage: app\nname: %s\nseries: {host: string}\ntime: {precision: 1s}\nfields: {value: int64}\ntables:\n", name)
			for _, place := range p[name] {
				table, family, _ := strings.Cut(place, "/")
				text += fmt.Sprintf("  %s: {pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [host, bucket]}, bucket: 1d, family: %s, ttl: {max_age: 30d}, allow: {C07: a test}}\n", table, family)
			}
			_, known[part] = testschema.Parse(t, part+".yaml", text)
		}
		out = append(out, known[part])
	}
	return out
}

// TestExchanges gives the tables and families of two schemas with equal layouts to all schemas
// that may be there after an edit, and then again. Whoever has written events under a name must
// not read those of another name as his own: a table may pass only to a name that nobody had,
// from one that nobody has any more, and with all others of it.
func TestExchanges(t *testing.T) {
	known := map[string]*layout.Layout{}
	var projects []placed
	names := []string{"A", "B", "C", "D"}
	sets := [][]string{{"t/f"}, {"t/g"}, {"u/f"}, {"t/f", "u/f"}, {"t/g", "u/g"}}
	for i, first := range names {
		for _, a := range sets {
			projects = append(projects, placed{first: a})
			for _, second := range names[:i] {
				for _, b := range sets {
					if !slices.ContainsFunc(a, func(place string) bool { return slices.Contains(b, place) }) {
						projects = append(projects, placed{first: a, second: b})
					}
				}
			}
		}
	}
	wrong, right := 0, 0
	// step returns the owners of places after an edit, and whether it may pass.
	step := func(old, new placed, owners map[string]string) (map[string]string, bool) {
		out, passes := maps.Clone(owners), map[string]string{}
		ok := true
		for name, places := range new {
			for _, place := range places {
				if was := owners[place]; was != "" && was != name {
					_, had := old[name]
					_, has := new[was]
					ok = ok && !had && !has && (passes[was] == "" || passes[was] == name) && !slices.Contains(slices.Collect(maps.Values(owners)), name)
					ok = ok && !slices.ContainsFunc(places, func(o string) bool { return owners[o] != "" && owners[o] != was })
					passes[was] = name
				}
				out[place] = name
			}
		}
		for place, owner := range out {
			if heir := passes[owner]; heir != "" {
				out[place] = heir
			}
		}
		return out, ok
	}
	// check compares the findings of an edit with what is right, and reports whether it passes.
	check := func(story string, c *evolve.Comparison, new placed, owners map[string]string, ok bool) bool {
		t.Helper()
		found := slices.DeleteFunc(dataOf(c), func(name string) bool { return strings.HasPrefix(name, "E21:") }) // see TestServing
		foreign := slices.ContainsFunc(found, func(name string) bool { return strings.HasPrefix(name, "E22:") })
		kept := true // all places with events
		for place := range owners {
			kept = kept && slices.Contains(slices.Concat(slices.Collect(maps.Values(new))...), place)
		}
		switch {
		case !ok && !foreign, ok && kept && len(found) > 0, !kept && len(found) == 0:
			t.Fatalf("%s: findings %q", story, found)
		}
		return ok && kept
	}
	for _, old := range testlong.Sample(projects, 17) {
		owners := map[string]string{}
		for name, places := range old {
			for _, place := range places {
				owners[place] = name
			}
		}
		first := diffAll(&lock.Lock{}, old.layouts(t, known)).Next(nil)
		for _, new := range projects {
			c := diffAll(first, new.layouts(t, known))
			after, ok := step(old, new, owners)
			if !ok {
				wrong++
			}
			if !check(fmt.Sprintf("%v becomes %v", old, new), c, new, owners, ok) {
				continue
			}
			right++
			second := acceptAll(t, c)
			for i, last := range projects {
				if (i+right)%testlong.Pick(41, 1) > 0 {
					continue
				}
				_, ok := step(new, last, after)
				check(fmt.Sprintf("%v becomes %v becomes %v", old, new, last), diffAll(second, last.layouts(t, known)), last, after, ok)
			}
		}
	}
	if wrong < testlong.Pick(50, 1000) || right < testlong.Pick(25, 500) {
		t.Errorf("%d edits give events to others, %d do not", wrong, right)
	}
}

// TestRemovedOwner lets a schema of another name take the table of a removed schema: its events
// are those of the removed one, and a rename is possible only while the schema is there.
func TestRemovedOwner(t *testing.T) {
	known := map[string]*layout.Layout{}
	version := func(p placed) []*layout.Layout { return p.layouts(t, known) }
	first := diffAll(&lock.Lock{}, version(placed{"A": {"one/m"}, "B": {"two/m"}})).Next(nil)
	removed := acceptAll(t, diffAll(first, version(placed{"B": {"two/m"}})))
	taken := version(placed{"B": {"two/m"}, "C": {"one/m"}})
	assert.Same(t, []string{"E22:one"}, dataOf(diffAll(removed, taken)))
	restored := diffAll(removed, version(placed{"A": {"one/m"}, "B": {"two/m"}}))
	if got := dataOf(restored); len(got) > 0 {
		t.Errorf("the schema comes back: %q", got)
	}
	for name, old := range map[string]*lock.Lock{"restored": restored.Next(nil), "there": first} {
		if got := dataOf(diffAll(old, taken)); len(got) > 0 {
			t.Errorf("it is renamed while it is %s: %q", name, got)
		}
	}
}

// TestLayoutInRemovedTable lets a new layout begin in a table that was removed. In a family that
// nobody had, it moves no events, whatever earlier layouts the schema has in common with the removed
// table. In that of the removed table, the schema would read events of others.
func TestLayoutInRemovedTable(t *testing.T) {
	const common = "pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [host, bucket]}, bucket: 1d, ttl: {max_age: 30d}, allow: {C07: a test}"
	table := func(name, family, before string) string {
		if before != "" {
			before = ", since: 2027-02-01, before: [" + before + "]"
		}
		return fmt.Sprintf("  %s: {%s, family: %s%s}\n", name, common, family, before)
	}
	version := func(tables ...string) []*layout.Layout {
		var inputs []gen.Input
		for i, of := range tables {
			text := fmt.Sprintf("btgen: v1\npackage: app\nname: %c\nseries: {host: string}\ntime: {precision: 1s}\nfields: {value: int64}\ntables:\n%s", 'A'+i, of)
			inputs = append(inputs, gen.Input{Name: fmt.Sprint(i, ".yaml"), Text: []byte(text)})
		}
		r := gen.Resolve(inputs)
		if r.Diagnostics.HasErrors() {
			t.Fatal(r.Diagnostics)
		}
		return r.Layouts
	}
	shared := func(family, before string) string { return table("shared", family, before) }
	rest, one, other := table("rest", "f", ""), table("one", "g", "{table: shared}"), table("other", "f", "")
	for _, tt := range []struct {
		name  string
		steps [][]string // the tables of each schema; all changes but the last are accepted
		want  string     // one of the last changes of class DATA; empty if there are none
	}{
		{"the family of another schema", [][]string{{rest + shared("f", ""), other}, {rest, other}, {rest, shared("f", "{table: other}")}}, "E22:shared"},
		{"an unused family", [][]string{{rest + shared("f", ""), other}, {rest, other}, {rest, shared("unused", "{table: other, family: f}")}}, ""},
		{"the family of another schema, beside an earlier layout", [][]string{{rest + shared("f", ""), one + other}, {rest, one + other}, {rest, one + shared("f", "{table: other}")}}, "E22:shared"},
		{"an unused family, with an earlier layout of the removed table", [][]string{
			{rest + table("one", "g", "") + table("old", "g", "")},
			{rest + shared("g", "{table: old}")},
			{rest + table("one", "g", "{table: old}")},
			{rest + strings.Replace(shared("unused", "{table: one, family: g, since: 2027-02-01}, {table: old}"), "since: 2027-02-01", "since: 2027-03-01", 1)},
		}, ""},
		{"an earlier layout of the removed table alone", [][]string{{rest + shared("g", "{table: old}")}, {rest}, {rest + shared("unused", "{table: old, family: g, bucket: 1h}")}}, "E04:shared/until-2027-02-01"},
	} {
		known := &lock.Lock{}
		var got []string
		for i, tables := range tt.steps {
			c := diffAll(known, version(tables...))
			if got = dataOf(c); i < len(tt.steps)-1 {
				known = acceptAll(t, c)
			}
		}
		if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.Contains(got, tt.want) {
			t.Errorf("%s: %q instead of %q", tt.name, got, tt.want)
		}
	}
}
