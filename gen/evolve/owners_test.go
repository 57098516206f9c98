package evolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
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
			if of == "" {
				continue
			}
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
	rest, other := table("rest", "f", ""), table("other", "f", "")
	one, one0 := table("one", "g", "{table: shared}"), table("one", "g", "")
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
		{"the table of a removed schema", [][]string{{one0, other}, {"", other}, {"", other, one0}}, "E22:one"},
		{"that of a schema that was restored, which is a rename", [][]string{{one0, other}, {"", other}, {one0, other}, {"", other, one0}}, ""},
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
