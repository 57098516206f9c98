package evolve_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// day parses a date; the zero time if it is empty.
func day(text string) (out time.Time) {
	if text != "" {
		out = must(time.Parse(time.DateOnly, text))
	}
	return out
}

// schemaOf returns a schema with one table, which ends as given.
func schemaOf(t *testing.T, table string) (*schema.Schema, *layout.Layout) {
	t.Helper()
	text := `btgen: v1
package: p
name: P
series: {region: string, device: int64}
time: {precision: 1s}
fields: {value: int64}
tables:
  readings:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [region, device, bucket]}
` + table
	if !strings.Contains(table, "\n    ttl:") {
		text += "    ttl: {max_age: 400d}\n"
	}
	if !strings.Contains(table, "\n    family:") {
		text += "    family: m\n"
	}
	return testschema.Parse(t, "s.yaml", text)
}

// diffOf compares a schema, which may be one of several, with a lock.
func diffOf(old *lock.Lock, s *schema.Schema, l *layout.Layout, whole bool, now time.Time) *evolve.Comparison {
	return evolve.Diff(evolve.Input{
		Old: old, Layouts: []*layout.Layout{l}, Whole: whole, Now: now, Gone: gone,
		Schema: func(string) *schema.Schema { return s },
	})
}

func namesOf(c *evolve.Comparison) []string {
	var names []string
	for _, f := range c.Findings {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// Each schema follows the one before it, as accepted. With a clock, a layout that has begun already is a change of
// stored data, and one whose events have expired may go.
func TestChangesOfPeriods(t *testing.T) {
	const days = "    bucket: 1d\n"
	const hours = "    bucket: 1h\n    since: 2027-01-11\n    before:\n      - bucket: 1d\n"
	const minutes = "    bucket: 10m\n    since: 2027-02-01\n    before:\n      - bucket: 1h\n        since: 2027-01-11\n      - bucket: 1d\n"
	moved := strings.Replace(hours, "01-11", "01-18", 1)
	for _, tt := range []struct {
		name, now, old, new string
		want                []string
	}{
		{"a new layout", "", days, hours, []string{"E38:readings/2027-01-11"}},
		{"two new layouts", "", days, minutes, []string{"E38:readings/2027-01-11", "E38:readings/2027-02-01"}},
		{"one more", "", hours, minutes, []string{"E38:readings/2027-02-01"}},
		{"nothing", "", minutes, minutes, nil},
		{"in place", "", days, "    bucket: 1h\n", []string{"E04:readings"}},
		{"since later", "", hours, strings.Replace(hours, "01-11", "01-12", 1), []string{"E19:readings/2027-01-12"}},
		{"since earlier", "", hours, strings.Replace(hours, "01-11", "01-10", 1), []string{"E19:readings/2027-01-10"}},
		{"the edge of an older layout", "", minutes, strings.Replace(minutes, "2027-01-11", "2027-01-12", 1), []string{"E19:readings/2027-01-12"}},
		{"an older layout", "", hours, strings.Replace(hours, "- bucket: 1d", "- bucket: 6h", 1), []string{"E04:readings/until-2027-01-11"}},
		{"its table", "", hours, strings.Replace(hours, "- bucket: 1d", "- {bucket: 1d, table: old}", 1), []string{"E01:readings/until-2027-01-11"}},
		{"the oldest removed", "", minutes, "    bucket: 10m\n    since: 2027-02-01\n    before:\n      - bucket: 1h\n", []string{"E18:readings/2027-01-11"}},
		{"all removed", "", minutes, "    bucket: 10m\n", []string{"E18:readings/2027-01-11", "E18:readings/2027-02-01"}},
		{"a new layout in another family", "", days, hours + "        family: m\n    family: n\n", []string{"E38:readings/2027-01-11"}},
		{"one more, and the edge", "", hours, strings.Replace(minutes, "2027-01-11", "2027-01-12", 1), []string{"E04:readings", "E04:readings/until-2027-02-01", "E19:readings/2027-01-12", "E19:readings/2027-02-01"}},
		{"to come", "2027-01-10", days, hours, []string{"E38:readings/2027-01-11"}},
		{"begins now", "2027-01-11", days, hours, []string{"E19:readings/2027-01-11"}},
		{"in the past", "2027-03-01", days, hours, []string{"E19:readings/2027-01-11"}},
		{"moved in time", "2027-01-10", hours, moved, []string{"E38:readings/2027-01-11", "E38:readings/2027-01-18"}},
		{"moved too late", "2027-01-12", hours, moved, []string{"E19:readings/2027-01-18"}},
		{"alive", "2028-02-22", hours, "    bucket: 1h\n", []string{"E18:readings/2027-01-11"}},
		{"expired", "2028-02-24", hours, "    bucket: 1h\n", []string{"E72:readings/2027-01-11"}},
	} {
		_, l := schemaOf(t, tt.old)
		old := &lock.Lock{Tables: []lock.Table{lock.Of(l, l.Tables[0])}}
		s, l := schemaOf(t, tt.new)
		c := diffOf(old, s, l, true, day(tt.now))
		assert.Same(t, tt.want, namesOf(diffOf(old, s, l, false, day(tt.now))), tt.name)
		assert.Same(t, tt.want, namesOf(c), tt.name)
		checkNext(t, tt.name, acceptAll(t, c), s, l)
	}
}

// A removed layout says from when on it may go, and that is so, or that no time allows it.
func TestRemovedLayoutWay(t *testing.T) {
	const hours = "    bucket: 1h\n    since: 2027-01-11\n    before:\n      - bucket: 1d\n"
	named := regexp.MustCompile("`btgen generate --now ([^`]+)`")
	for _, ttl := range []string{
		"{max_age: 400d}", "{max_age: 1d}", "{max_age: 90m}", "{keep: forever}", "{max_versions: 1}", "{one_second: {}}", "{default_expiration: 30d}",
		"{max_age: 400d, from: write}", "{any_of: [{max_age: 30d}, {max_versions: 1}]}", "{all_of: [{max_age: 30d}, {max_versions: 5}]}",
	} {
		with := func(table string) *layout.Layout {
			_, l := schemaOf(t, table+"    ttl: "+ttl+"\n")
			return l
		}
		before, after := with(hours), with("    bucket: 1h\n")
		at := func(now time.Time) *evolve.Comparison {
			old := &lock.Lock{Tables: []lock.Table{lock.Of(before, before.Tables[0])}}
			return evolve.Diff(evolve.Input{Old: old, Layouts: []*layout.Layout{after}, Whole: true, Now: now})
		}
		c := at(time.Time{})
		now := time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
		want := "E18:readings/2027-01-11"
		if m := named.FindStringSubmatch(c.Findings[0].Diagnostic.Hint); m != nil {
			now = must(time.Parse(time.RFC3339, m[1]))
			want = "E72:readings/2027-01-11"
			if names := namesOf(at(now.AddDate(0, 0, -2))); names[0] != c.Findings[0].Name {
				t.Errorf("%s: two days before %v: %q", ttl, now, names)
			}
		}
		assert.Same(t, []string{want}, namesOf(at(now)), ttl, now, want)
	}
}

// checkNext checks that the schema that a lock was made for has no more changes.
func checkNext(t *testing.T, name string, next *lock.Lock, s *schema.Schema, l *layout.Layout) {
	t.Helper()
	for _, f := range diffOf(next, s, l, true, time.Time{}).Findings {
		t.Errorf("%s: after it was accepted: %s", name, f.Name)
	}
	numbers := map[string]bool{}
	for _, l := range next.Tables[0].Layouts {
		if n := fmt.Sprint(l.Number); numbers[n] {
			t.Errorf("%s: layout %s is there twice", name, n)
		} else {
			numbers[n] = true
		}
	}
}

// TestNotBegun checks that without a clock, the help for an edit of a layout that may not have begun
// says how to tell that it has not, and that the edit is harmless then.
func TestNotBegun(t *testing.T) {
	const days, hours = "    bucket: 1d\n", "    bucket: 1h\n"
	const first, later, before = "    since: 2027-06-01\n", "    since: 2027-08-01\n", "    before:\n      - bucket: 1d\n"
	_, l := schemaOf(t, hours+first+before)
	old := &lock.Lock{Tables: []lock.Table{lock.Of(l, l.Tables[0])}}
	for name, test := range map[string]struct {
		table, help string // no help if the edit loses events, whatever the time
	}{
		"withdrawn": {days, "if the layout from 2027-06-01 on has not begun, add --now and the present time"},
		"moved":     {hours + later + before, "if neither time has come, add --now and the present time"},
		"for all":   {hours, ""},
	} {
		s, l := schemaOf(t, test.table)
		helped := slices.ContainsFunc(diffOf(old, s, l, true, time.Time{}).Findings, func(f evolve.Finding) bool {
			return strings.Contains(f.Diagnostic.Hint, "--now and the present time") && strings.Contains(f.Diagnostic.Hint, test.help)
		})
		assert.Same(t, test.help != "", helped, name, test.help)
		now := diffOf(old, s, l, true, day("2027-01-01"))
		if lost := slices.ContainsFunc(now.Findings, func(f evolve.Finding) bool { return f.Rule.Class == evolve.Data }); lost == helped {
			t.Errorf("%s: before the layout begins: %+v", name, now.Findings)
		}
	}
}
