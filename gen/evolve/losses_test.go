package evolve_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// revision is a version of a schema with readings of a site and a device.
type revision struct {
	name    string    // of the schema; empty for Reading
	series  string    // the first series value; empty for site
	fields  string    // empty for temp and count
	tables  []string  // see tableOf
	queries string    // empty for All
	now     time.Time // zero if it is not known
}

// tableOf returns a table. Settings replace those of the same key, or follow them.
func tableOf(name string, settings ...string) string {
	all := []string{"pattern: bucket_new_cells", "key: {delimiter: \"#\", segments: [site, dev, bucket]}", "bucket: {every: 1d}", "family: m", "ttl: {max_age: 60d}"}
	for _, s := range settings {
		key, _, _ := strings.Cut(s, ":")
		if i := slices.IndexFunc(all, func(o string) bool { return strings.HasPrefix(o, key+":") }); i >= 0 {
			all[i] = s
		} else {
			all = append(all, s)
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return strings.HasSuffix(s, ": -") })
	return "  " + name + ": {" + strings.Join(all, ", ") + "}\n"
}

// text returns the schema.
func (r revision) text() []byte {
	text := "btgen: v1\npackage: app\nname: " + cmp.Or(r.name, "Reading") + "\nseries: {site: string, dev: string}\ntime: {precision: 1s}\nfields: {" +
		cmp.Or(r.fields, "temp: float64, count: int64") + "}\ntables:\n" + strings.Join(r.tables, "") +
		"queries: {" + cmp.Or(r.queries, "All: {by: [site, dev]}") + "}\n"
	return []byte(strings.ReplaceAll(text, "site", cmp.Or(r.series, "site")))
}

// after returns the lock after edits, and the names of the findings of class Data in the last one. All are accepted.
func after(t *testing.T, old *lock.Lock, revisions []revision) (*lock.Lock, []string) {
	t.Helper()
	var out []string
	for _, r := range revisions {
		s, l := testschema.Parse(t, "s.yaml", string(r.text()))
		c := diffOf(old, s, l, true, r.now)
		for _, f := range c.Findings {
			if strings.Contains(f.Diagnostic.Message, "which has all events") && slices.ContainsFunc(c.Findings, func(o evolve.Finding) bool {
				return strings.HasPrefix(o.Name, "X01:") && !strings.Contains(o.Name, "windows")
			}) {
				t.Errorf("beside a loss: %s", f.Diagnostic.Message)
			}
		}
		out, old = dataOf(c), acceptAll(t, c)
	}
	return old, out
}

// TestLosses edits schemas so that facts meet which alone are harmless, or were accepted: want are the findings that
// the last edit needs, and none if it is harmless. Once they are accepted, there are no more.
func TestLosses(t *testing.T) {
	const (
		flatKey = `key: {delimiter: "#", segments: [dev, site, bucket]}`
		rolled  = "rollup: {every: 1h, family: h, ttl: {max_age: 1825d}"
		single  = `key: {delimiter: "#", segments: [dev, site, time]}`
		idle    = "serves: false"
	)
	h, k := tableOf("readings", rolled+", serves: false}"), tableOf("readings", "rollup: {every: 1h, family: k, ttl: {max_age: 1825d}, serves: false}")
	readings, flat := tableOf("readings"), tableOf("flat", flatKey, "family: b")
	with := func(settings ...string) string {
		return tableOf("flat", append([]string{flatKey, "family: b"}, settings...)...)
	}
	of := func(tables ...string) revision { return revision{tables: tables} }
	narrow := with("bucket: {every: 1h}", "row: -")
	now := func(settings ...string) string {
		return tableOf("now", append([]string{"pattern: latest", "bucket: -", `key: {delimiter: "#", segments: [site, dev]}`, "family: n", "ttl: {max_age: 30d}", `allow: {C07: "failed writes are repeated"}`}, settings...)...)
	}
	big := func(settings ...string) string {
		return tableOf("readings", append([]string{rolled + "}"}, settings...)...)
	}
	copied := func(every, fields string, settings ...string) string {
		return with(append([]string{"rollup: {every: " + every + ", family: k, ttl: {max_age: 1825d}" + fields + "}"}, settings...)...)
	}
	begun := big("family: m2", "rollup: {every: 1h, family: h2, ttl: {max_age: 1825d}}", "since: 2027-01-01", "before: [{family: m, rollup: {every: 1h, family: h, ttl: {max_age: 1825d}}}]")
	planned := func(rollup string) revision { // a layout that begins next year, with a rollup
		before := "before: [{family: m, rollup: {every: 1h, family: h, ttl: {max_age: 1825d}}}]"
		if rollup == "" {
			return revision{tables: []string{tableOf("readings", "family: m2", "since: 2027-01-01", before)}, now: day("2026-12-01")}
		}
		return revision{tables: []string{big("family: m2", "rollup: {"+rollup+", ttl: {max_age: 1825d}}", "since: 2027-01-01", before)}, now: day("2026-12-01")}
	}
	hourly := tableOf("readings", "bucket: {every: 1h}", "since: 2027-01-01", "before: [{bucket: {every: 1d}}]")
	third := func(before string) string {
		return tableOf("readings", "bucket: {every: 6h}", "since: 2028-01-01", "before: ["+before+"{bucket: {every: 1d}}]")
	}
	elsewhere := tableOf("later", "since: 2027-01-01", "before: [{table: readings}]")
	thisYear := func(tables ...string) revision { return revision{tables: tables, now: day("2026-12-01")} }
	for _, c := range []struct {
		name, want string
		all        []revision
	}{
		{"the key of a copy changes, and then it serves", "E21:flat", []revision{of(readings, flat), of(readings, narrow), of(narrow, readings)}},
		{"the same in one edit", "E04:flat E21:flat", []revision{of(readings, flat), of(narrow, readings)}},
		{"the delimiter of a copy", "E21:flat", []revision{of(readings, flat), of(readings, with(`key: {delimiter: "|", segments: [dev, site, bucket]}`)), of(with(`key: {delimiter: "|", segments: [dev, site, bucket]}`), readings)}},
		{"the family of a copy", "E21:flat", []revision{of(readings, flat), of(readings, with("family: c")), of(with("family: c"), readings)}},
		{"the pattern of a copy", "E21:flat", []revision{of(readings, flat), of(readings, with("pattern: single_unserialized", "bucket: -", single)), of(with("pattern: single_unserialized", "bucket: -", single), readings)}},
		{"the encoding of a copy", "E10:flat/count E10:flat/temp", []revision{of(readings, flat), of(readings, with("values: text")), of(with("values: text"), readings)}},
		{"a query moves to such a copy", "E21:flat", []revision{of(readings, flat), of(readings, narrow), {tables: []string{readings, narrow}, queries: "All: {by: [site, dev], table: flat}"}}},
		{"the other table no longer serves", "E21:flat", []revision{of(readings, flat), of(readings, narrow), of(tableOf("readings", idle), narrow)}},
		{"the key of the newest events changes while it serves nothing", "E21:now", []revision{of(readings, now()), of(readings, now(idle)), of(readings, now(idle, `key: {delimiter: "#", segments: [dev, site]}`)), of(readings, now(`key: {delimiter: "#", segments: [dev, site]}`))}},
		{"an expired layout whose windows are there", "X01:readings/Read/windows", []revision{of(big()), of(begun), {tables: []string{big("family: m2", "rollup: {every: 1h, family: h2, ttl: {max_age: 1825d}}")}, now: day("2027-04-01")}}},
		{"the same, and events expire earlier", "E15:readings/m2 X01:readings/Read/windows", []revision{of(big()), of(begun), {tables: []string{big("family: m2", "ttl: {max_age: 20d}", "rollup: {every: 1h, family: h2, ttl: {max_age: 1825d}}")}, now: day("2027-04-01")}}},
		{"the same, and windows expire earlier", "E15:readings/h2 X01:readings/Read/windows", []revision{of(big()), of(begun), {tables: []string{big("family: m2", "rollup: {every: 1h, family: h2, ttl: {max_age: 1000d}}")}, now: day("2027-04-01")}}},
		{"the same, and events expire later", "E28:readings/m2 X01:readings/Read/windows", []revision{of(big()), of(begun), {tables: []string{big("family: m2", "ttl: {max_age: 90d}", "rollup: {every: 1h, family: h2, ttl: {max_age: 1825d}}")}, now: day("2027-04-01")}}},
		{"the same, and a field gets another type", "E10:readings/count X01:readings/Read/windows", []revision{of(big()), of(begun), {fields: "temp: float64, count: string", tables: []string{big("family: m2", "rollup: {every: 1h, family: h2, ttl: {max_age: 1825d}}")}, now: day("2027-04-01")}}},
		{"one whose windows have expired", "", []revision{of(big()), of(begun), {tables: []string{big("family: m2", "rollup: {every: 1h, family: h2, ttl: {max_age: 1825d}}")}, now: day("2032-04-01")}}},
		{"a planned layout in another table is abandoned", "", []revision{of(readings), of(tableOf("later", "since: 2027-01-01", "before: [{table: readings}]")), thisYear(readings)}},
		{"the same once it has begun", "E01:readings", []revision{of(readings), of(tableOf("later", "since: 2027-01-01", "before: [{table: readings}]")), {tables: []string{readings}, now: day("2027-12-01")}}},
		{"the middle of three layouts is abandoned", "", []revision{of(readings), of(hourly), of(third("{bucket: {every: 1h}, since: 2027-01-01}, ")), thisYear(third(""))}},
		{"the bucket of a planned layout", "", []revision{of(readings), of(hourly), thisYear(strings.Replace(hourly, "every: 1h", "every: 6h", 1))}},
		{"the same behind another table", "", []revision{of(flat, readings), of(flat, hourly), thisYear(flat, strings.Replace(hourly, "every: 1h", "every: 6h", 1))}},
		{"the windows of a planned rollup", "", []revision{of(big()), planned("every: 1h, family: h2"), planned("every: 1d, family: h2")}},
		{"the family of a planned rollup", "", []revision{of(big()), planned("every: 1h, family: h2"), planned("every: 1h, family: h3")}},
		{"a planned rollup is withdrawn", "", []revision{of(big()), planned("every: 1h, family: h2"), planned("")}},
		{"reads move to a rollup of fewer fields", "E26:flat/Read", []revision{of(big(), copied("1h", ", fields: [count]")), of(copied("1h", ", fields: [count]"), big())}},
		{"reads move to a rollup of wider windows", "E26:flat/Read", []revision{of(big(), copied("1d", "")), of(copied("1d", ""), big())}},
		{"reads move to a rollup that began later", "E26:flat/Read", []revision{of(big(), flat), of(big(), copied("1h", "")), of(copied("1h", ""), big())}},
		{"reads move to one whose earlier layout had none", "E26:flat/Read", []revision{of(big(), with("family: a")), of(big(), copied("1h", "", "since: 2027-01-01", "before: [{family: a, rollup: none}]")), of(copied("1h", "", "since: 2027-01-01", "before: [{family: a, rollup: none}]"), big())}},
		{"a table with a rollup is removed, restored and backfilled", "E21:readings E26:readings/Read", []revision{of(big(), flat), of(flat), of(flat, big(idle)), of(big(), flat)}},
		{"one without a rollup", "E21:readings", []revision{of(readings, flat), of(flat), of(flat, tableOf("readings", idle)), of(readings, flat)}},
		{"reads move to an equal rollup", "", []revision{of(big(), copied("1h", "")), of(copied("1h", ""), big())}},
		{"the only value of some events is removed", "X01:readings/Read", []revision{{fields: "temp: {type: float64, optional: true}, note: {type: string, optional: true}", tables: []string{readings}}, {fields: "note: {type: string, optional: true}", tables: []string{readings}}}},
		{"the same in a table that serves nothing", "X01:flat/copies X01:readings/Read", []revision{{fields: "temp: {type: float64, optional: true}, note: {type: string, optional: true}", tables: []string{readings, with(idle)}}, {fields: "note: {type: string, optional: true}", tables: []string{readings, with(idle)}}}},
		{"the only value of some events is removed, beside values of other types", "X01:readings/Read", []revision{{fields: "a: {type: int64, optional: true}, b: {type: float64, optional: true}, c: {type: string, optional: true}", tables: []string{readings}}, {fields: "a: {type: int64, optional: true}, b: {type: float64, optional: true}", tables: []string{readings}}}},
		{"a field that is back shows what was replaced without it", "X01:readings/Read/note", []revision{{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{readings}}, {fields: "temp: float64", tables: []string{readings}}, {fields: "temp: float64, note: {type: string, optional: true}", tables: []string{readings}}}},
		{"not if its events are serialized", "", []revision{{fields: "temp: {type: float64, number: 1}, note: {type: string, optional: true, number: 2}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}}, {fields: "temp: {type: float64, number: 1}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}}, {fields: "temp: {type: float64, number: 1}, note: {type: string, optional: true, number: 2}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}}}},
		{"a new query in a table of shorter ages", "", []revision{of(tableOf("readings", "ttl: {max_age: 60d}"), with(idle)), {tables: []string{tableOf("readings", "ttl: {max_age: 60d}"), with(idle)}, queries: "All: {by: [site, dev]}"}}},
		{"the only values of some events are removed", "X01:readings/Read", []revision{{fields: "a: {type: int64, optional: true}, b: {type: float64, optional: true}, c: {type: string, optional: true}, d: {type: bool, optional: true}", tables: []string{readings}}, {fields: "a: {type: int64, optional: true}, b: {type: float64, optional: true}", tables: []string{readings}}}},
		{"the only value of some serialized events is removed", "", []revision{{fields: "temp: {type: float64, optional: true, number: 1}, note: {type: string, optional: true, number: 2}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}}, {fields: "note: {type: string, optional: true, number: 2}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}}}},
		{"an entry of was is removed, and events expire earlier", "E15:readings/m E20:readings/total", []revision{of(readings), {fields: "temp: float64, total: {type: int64, was: [count]}", tables: []string{readings}}, {fields: "temp: float64, total: int64", tables: []string{tableOf("readings", "ttl: {max_age: 20d}")}}}},
		{"a column is read that was another field's, all fields have changed, and one has a default", "E14:readings/note", []revision{
			{fields: `count: {type: int64, default: 0}, note: {type: string, optional: true}, other: {type: int32, optional: true}`, tables: []string{readings}},
			{fields: `count: {type: int64, default: 0}, note: {type: string, optional: true}`, tables: []string{readings}},
			{fields: `n: {type: int64, default: 0, was: [count]}, note: {type: string, optional: true}`, tables: []string{readings}},
			{fields: `n: {type: int64, default: 0, was: [count]}, note: {type: string, optional: true, was: [{column: other, type: int32}]}`, tables: []string{readings}},
		}},
		{"the same, and no event has all fields", "E14:readings/note", []revision{
			{fields: `count: {type: int64, optional: true}, note: {type: string, optional: true}, other: {type: int32, optional: true}`, tables: []string{readings}},
			{fields: `count: {type: int64, optional: true}, note: {type: string, optional: true}`, tables: []string{readings}},
			{fields: `n: {type: int64, optional: true, was: [count]}, note: {type: string, optional: true}`, tables: []string{readings}},
			{fields: `n: {type: int64, optional: true, was: [count]}, note: {type: string, optional: true, was: [{column: other, type: int32}]}`, tables: []string{readings}},
		}},
		{"a field whose zero value protobuf omits is read from a column that was another field's", "E14:readings/note", []revision{
			{fields: "temp: {type: float64, number: 1}, note: {type: string, number: 2}, other: {type: string, optional: true, number: 3}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}},
			{fields: "temp: {type: float64, number: 1}, note: {type: string, number: 2}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}},
			{fields: "temp: {type: float64, number: 1}, note: {type: string, number: 2, was: [{number: 3}]}", tables: []string{tableOf("readings", "pattern: bucket_serialized")}},
		}},
		{"a column is reused, and events expire earlier", "E14:readings/note E15:readings/m", []revision{{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{readings}}, {fields: "temp: float64", tables: []string{readings}}, {fields: "temp: float64, note: {type: int64, optional: true}", tables: []string{tableOf("readings", "ttl: {max_age: 20d}")}}}},
		{"an entry of was is removed, and the type of another field changes", "E10:readings/temp E20:readings/total", []revision{of(readings), {fields: "temp: float64, total: {type: int64, was: [count]}", tables: []string{readings}}, {fields: "temp: string, total: int64", tables: []string{readings}}}},
		{"a field is removed, added again as it was, and again in another column", "E20:readings/note", []revision{{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{readings}}, {fields: "temp: float64", tables: []string{readings}}, {fields: "temp: float64, note: {type: string, optional: true, column: n}", tables: []string{readings}}}},
		{"a value beside one that all events have", "", []revision{{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{readings}}, {fields: "temp: float64", tables: []string{readings}}}},
		{"a rollup returns after another one", "E27:readings/h", []revision{of(h), of(k), of(h)}},
		{"a rollup stays while events move", "E08:readings/n", []revision{of(h), of(strings.Replace(h, "family: m", "family: n", 1))}},
		{"a rollup where events were", "E27:readings/h", []revision{of(tableOf("readings", "family: h")), of(readings), of(h)}},
		{"events where a rollup was before", "E08:readings/h E27:readings/h", []revision{of(h), of(readings), of(tableOf("readings", "family: n")), of(tableOf("readings", "family: h"))}},
		{"another type, beside an earlier layout", "E10:readings/count", []revision{of(hourly), {fields: "temp: float64, count: float64", tables: []string{hourly}}}},
		{"another type, and a field becomes required", "E10:readings/note E13:readings/note", []revision{{fields: "temp: float64, note: {type: int64, optional: true}", tables: []string{readings}}, {fields: "temp: float64, note: string", tables: []string{readings}}}},
		{"copies exchange places", "", []revision{of(readings, flat), of(flat, readings)}},
		{"the key of a copy that serves nothing", "E05:flat", []revision{of(readings, flat), of(readings, with(`key: {delimiter: "|", segments: [dev, site, bucket]}`))}},
		{"a copy that was added when a series value got another name", "E21:flat", []revision{of(readings), {series: "place", tables: []string{readings, with(idle)}}, {series: "place", tables: []string{flat, readings}}}},
		{"one that was added when the schema got another name", "E21:flat", []revision{of(readings), {name: "Measure", tables: []string{readings, with(idle)}}, {name: "Measure", tables: []string{flat, readings}}}},
		{"one that was added when a new layout began in another table", "E21:flat", []revision{of(readings), of(elsewhere, with(idle)), of(flat, elsewhere)}},
		{"a copy is removed, a series value gets another name, and it is restored", "", []revision{of(readings, flat), of(readings), {series: "place", tables: []string{readings}}, {series: "place", tables: []string{readings, with(idle)}}}},
		{"a copy that was added is left alone", "E01:readings E21:flat", []revision{of(readings), of(readings, with(idle)), of(flat)}},
		{"the same under another name", "E01:readings E21:flat", []revision{of(readings), of(readings, with(idle)), {name: "Measure", tables: []string{flat}}}},
		{"a copy whose events have expired is left alone", "E01:readings E21:flat", []revision{of(readings, with(idle, "ttl: {max_age: 5d}")), of(readings, with(idle)), of(flat)}},
		{"the same in one edit", "E01:readings E21:flat", []revision{of(readings, with("ttl: {max_age: 5d}")), of(flat)}},
		{"one that was removed in the meantime", "E01:readings E21:flat", []revision{of(readings, with(idle)), of(readings), of(readings, with(idle)), of(flat)}},
		{"a copy is removed, restored and backfilled", "", []revision{of(readings, flat), of(readings), of(readings, with(idle)), of(flat, readings), of(readings, flat)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, got := after(t, &lock.Lock{}, c.all)
			slices.Sort(got)
			assert.Same(t, c.want, strings.Join(got, " "))
			if _, again := after(t, next, c.all[len(c.all)-1:]); len(again) > 0 {
				t.Errorf("accepted, and still %q", again)
			}
		})
	}
}

// TestMovedLosses moves tables to another lock, in which their history is not: what was removed before may be stored, and one of
// them may lack events of the other one. So may one that is locked late, with serves: false.
func TestMovedLosses(t *testing.T) {
	with := revision{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{tableOf("readings")}}
	without, others := revision{fields: "temp: float64", tables: with.tables}, revision{name: "Other", tables: []string{tableOf("others")}}
	flat, idle := tableOf("flat", "family: b"), tableOf("flat", "family: b", "serves: false")
	both, serves := revision{tables: []string{with.tables[0], idle}}, revision{tables: []string{flat, with.tables[0]}}
	short := revision{tables: []string{with.tables[0], tableOf("flat", "family: b", "ttl: {max_age: 5d}", "serves: false")}}
	rolled := revision{fields: with.fields, tables: []string{tableOf("readings", "rollup: {every: 1h, family: h, ttl: {max_age: 1825d}}")}}
	for _, c := range []struct {
		want string
		from []revision
		now  revision
	}{
		{"X01:readings/Read/note", []revision{with, without}, with},
		{"E21:flat", []revision{{tables: with.tables}, both}, serves},
		{"E21:flat", []revision{{tables: []string{with.tables[0], flat}}, {tables: with.tables}, both}, serves},
		{"E21:flat", []revision{short, both}, serves},
		{"E21:flat", []revision{both}, serves},
		{"", []revision{{tables: []string{with.tables[0], flat}}}, serves},
		{"E27:readings/h", []revision{rolled, with}, rolled},
		{"", []revision{{tables: with.tables}, both, serves}, serves},
	} {
		from, _ := after(t, &lock.Lock{}, c.from)
		more := others
		more.fields = "temp: float64, count: int64, note: {type: string, optional: true}"
		to, _ := after(t, &lock.Lock{}, []revision{others, more})
		to.Tables = slices.Clone(to.Tables)
		for _, moved := range from.Tables {
			moved.Lacks = evolve.Lacks(from, &moved)
			to.Tables = append(to.Tables, moved)
		}
		to.Sort()
		_, got := after(t, to, []revision{c.now})
		got = slices.DeleteFunc(got, func(name string) bool { return name == "E01:others" })
		checkFound(t, fmt.Sprintf("%d steps", len(c.from)), c.want, got)
	}
	base, _ := after(t, &lock.Lock{}, []revision{both})
	gone := slices.Clone(base.Tables)
	for i := range gone {
		gone[i].Removed, gone[i].Serves = "moved to two/btgen.lock", nil
	}
	here, _ := after(t, base, []revision{{tables: both.tables, fields: "temp: float64, count: int64, note: {type: string, optional: true}"}})
	joined, err := lock.Parse(lock.Name, append(here.Text(), base.Next(gone).Text()...))
	assert.Must(t, err)
	_, got := after(t, joined, []revision{others})
	checkFound(t, "moved on one side", "", got)
	late, _ := after(t, &lock.Lock{}, []revision{others})
	_, got = after(t, late, []revision{both, serves})
	checkFound(t, "locked late", "E21:flat", got)
}

// checkFound checks that a finding is there; none if it is empty.
func checkFound(t *testing.T, what, want string, got []string) {
	t.Helper()
	if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) {
		t.Errorf("%s: found %q, want %q", what, got, want)
	}
}

// TestMergedLosses merges the locks of two branches, of which the schema of one is taken: want is the finding that this
// needs, and none if it is harmless.
func TestMergedLosses(t *testing.T) {
	const idle, h, k = "serves: false", "rollup: {every: 1h, family: h, ttl: {max_age: 1825d}", "rollup: {every: 1h, family: k, ttl: {max_age: 1825d}"
	readings, flat, narrow := tableOf("readings"), tableOf("flat", "family: b"), tableOf("flat", "family: b", "bucket: {every: 1h}", "row: -")
	later := tableOf("readings", "family: n", "since: 2030-01-01", "before: [{family: m}]")
	of := func(tables ...string) revision { return revision{tables: tables} }
	renamed := func(names, was string) []revision { // the last of some fields
		fields := strings.Join(strings.Split(names, ", "), ": {type: int64, optional: true}, ") + ": {type: int64, optional: true, was: [" + was + "]}"
		return []revision{{fields: strings.ReplaceAll(fields, ", was: []", ""), tables: []string{readings}}}
	}
	for _, c := range []struct {
		name, want         string
		base, ours, theirs []revision
		now                revision
	}{
		{"a table removed and restored there serves here", "E21:flat", []revision{of(readings, flat)}, []revision{of(readings), of(readings, flat)}, []revision{of(flat, readings)}, of(flat, readings)},
		{"it serves nothing", "", []revision{of(readings, flat)}, []revision{of(readings), of(readings, flat)}, []revision{of(readings, flat)}, of(readings, flat)},
		{"the bucket of a copy changes here, and it serves there", "E21:flat", []revision{of(readings, flat)}, []revision{of(readings, narrow)}, []revision{of(flat, readings)}, of(narrow, readings)},
		{"it serves nothing then", "", []revision{of(readings, flat)}, []revision{of(readings, narrow)}, []revision{of(flat, readings)}, of(readings, narrow)},
		{"a shorter age is accepted here, and a field is added there", "", []revision{of(readings)}, []revision{of(tableOf("readings", "ttl: {max_age: 20d}"))}, []revision{{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{readings}}}, revision{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{tableOf("readings", "ttl: {max_age: 20d}")}}},
		{"the column of a field that came and went there", "E14:readings/note", []revision{{fields: "temp: float64", tables: []string{readings}}}, []revision{{fields: "temp: float64", tables: []string{tableOf("readings", "ttl: {max_age: 20d}")}}},
			[]revision{{fields: "temp: float64, note: {type: string, optional: true}", tables: []string{readings}}, {fields: "temp: float64", tables: []string{readings}}},
			revision{fields: "temp: float64, note: {type: int64, optional: true}", tables: []string{tableOf("readings", "ttl: {max_age: 20d}")}}},
		{"both accept another key", "E05:readings", []revision{of(readings)}, []revision{of(tableOf("readings", `key: {delimiter: "|", segments: [dev, site, bucket]}`))}, []revision{of(tableOf("readings", `key: {delimiter: "/", segments: [dev, site, bucket]}`))}, of(tableOf("readings", `key: {delimiter: "/", segments: [dev, site, bucket]}`))},
		{"two longer ages", "", []revision{of(readings)}, []revision{of(tableOf("readings", "ttl: {max_age: 70d}"))}, []revision{of(tableOf("readings", "ttl: {max_age: 90d}"))}, of(tableOf("readings", "ttl: {max_age: 90d}"))},
		{"the shorter of them", "E15:readings/m", []revision{of(readings)}, []revision{of(tableOf("readings", "ttl: {max_age: 70d}"))}, []revision{of(tableOf("readings", "ttl: {max_age: 90d}"))}, of(tableOf("readings", "ttl: {max_age: 70d}"))},
		{"a new layout here, and a field there", "", []revision{of(readings)}, []revision{of(later)}, []revision{{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{readings}}}, revision{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{later}}},
		{"a column with two types", "E10:readings/note", []revision{of(readings)}, []revision{{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{readings}}}, []revision{{fields: "temp: float64, count: int64, note: {type: bool, optional: true}", tables: []string{readings}}}, revision{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{readings}}},
		{"a field gets two names, and is read from both", "", renamed("count", ""), renamed("sum", "count"), renamed("total", "count"), renamed("sum", "total, count")[0]},
		{"the other name", "", renamed("count", ""), renamed("sum", "count"), renamed("total", "count"), renamed("total", "sum, count")[0]},
		{"a third name", "", renamed("count", ""), renamed("sum", "count"), renamed("total", "count"), renamed("all", "sum, total, count")[0]},
		{"it is read from one of them", "E09:readings/sum", renamed("count", ""), renamed("sum", "count"), renamed("total", "count"), renamed("sum", "count")[0]},
		{"two fields are not one", "E17:readings/sum", renamed("temp", ""), renamed("temp, sum", ""), renamed("temp, total", ""), renamed("temp, sum", "total")[0]},
		{"a series value gets another name here, and a copy is added there", "", []revision{of(readings)}, []revision{{series: "place", tables: []string{readings}}}, []revision{of(readings, tableOf("flat", "family: b", idle))}, revision{series: "place", tables: []string{readings, tableOf("flat", "family: b", idle)}}},
		{"a field gets another name here, and a copy is added there", "", []revision{of(readings)}, []revision{{fields: "temp: float64, total: {type: int64, was: [count]}", tables: []string{readings}}}, []revision{of(readings, tableOf("flat", "family: b", idle))}, revision{fields: "temp: float64, total: {type: int64, was: [count]}", tables: []string{tableOf("flat", "family: b", idle), readings}}},
		{"the same with another name", "", []revision{of(readings)}, []revision{{fields: "temp: float64, amount: {type: int64, was: [count]}", tables: []string{readings}}}, []revision{of(readings, tableOf("flat", "family: b", idle))}, revision{fields: "temp: float64, amount: {type: int64, was: [count]}", tables: []string{readings, tableOf("flat", "family: b", idle)}}},
		{"the schema gets another name here, and a copy is added there", "", []revision{of(readings)}, []revision{{name: "Measure", tables: []string{readings}}}, []revision{of(readings, tableOf("flat", "family: b", idle))}, revision{name: "Measure", tables: []string{readings, tableOf("flat", "family: b", idle)}}},
		{"a copy is filled here, and written there, too", "", []revision{of(readings), of(readings, tableOf("flat", "family: b", idle))}, []revision{of(flat, readings)}, []revision{{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{readings, tableOf("flat", "family: b", idle)}}}, revision{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{flat, readings}}},
		{"a copy is filled here, and not known there", "E21:flat", []revision{of(readings)}, []revision{of(readings, tableOf("flat", "family: b", idle)), of(flat, readings)}, []revision{{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{readings}}}, revision{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{flat, readings}}},
		{"two rollups", "E25:readings/k", []revision{of(readings)}, []revision{of(tableOf("readings", h+", serves: false}")), of(tableOf("readings", h+"}"))}, []revision{of(tableOf("readings", k+", serves: false}")), of(tableOf("readings", k+"}"))}, of(tableOf("readings", k+"}"))},
		{"a rollup is removed here, and a field is added there", "", []revision{of(tableOf("readings", h+"}"))}, []revision{of(readings)}, []revision{{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{tableOf("readings", h+"}")}}}, revision{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{readings}}},
		{"a rollup is removed after the merge", "E26:readings/h", []revision{of(tableOf("readings", h+"}"))}, []revision{of(tableOf("readings", h+"}"), tableOf("flat", "family: b", idle))}, []revision{{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{tableOf("readings", h+"}")}}}, revision{fields: "temp: float64, count: int64, note: {type: string, optional: true}", tables: []string{readings, tableOf("flat", "family: b", idle)}}},
		{"two rollups, the other one", "E26:readings/k", []revision{of(readings)}, []revision{of(tableOf("readings", h+", serves: false}")), of(tableOf("readings", h+"}"))}, []revision{of(tableOf("readings", k+", serves: false}")), of(tableOf("readings", k+"}"))}, of(tableOf("readings", h+"}"))},
		{"one rollup, whose marks programs of the other side do not set", "E25:readings/k", []revision{of(readings)}, []revision{of(readings, tableOf("flat", "family: b", idle))}, []revision{of(tableOf("readings", k+", serves: false}")), of(tableOf("readings", k+"}"))}, of(tableOf("readings", k+"}"), tableOf("flat", "family: b", idle))},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, _ := after(t, &lock.Lock{}, c.base)
			ours, _ := after(t, base, c.ours)
			theirs, _ := after(t, base, c.theirs)
			joined, err := lock.Parse(lock.Name, append(ours.Text(), theirs.Text()...))
			assert.Must(t, err)
			_, got := after(t, joined, []revision{c.now})
			checkFound(t, "merged", c.want, got)
		})
	}
}

// harms are edits that are refused on their own, and the names by which they are accepted.
var harms = []struct {
	from, to, name string
	place          bool // it is about where rows and cells are, as is E03
}{
	{"bucket_new_cells", "bucket_serialized, blob: {format: protobuf}", "E03:t", true},
	{"bucket: 1d", "bucket: 1h", "E04:t", true},
	{"[host, at, bucket]", "[at, host, bucket]", "E05:t", true},
	{"family: m", "family: n", "E08:t/n", false},
	{"max_age: 30d", "max_age: 7d", "E15:t/m", false},
	{"value: {type: int64", "value: {type: string", "E10:t/value", false},
	{"{x: 1, y: 2}", "{x: 1, z: 2}", "E11:t/kind", false},
}

// TestPairsOfHarms makes each two harmful edits at once: each is refused by its own name, and still
// is when the other one is accepted. Another pattern says alone where rows and cells are.
func TestPairsOfHarms(t *testing.T) {
	const text = "btgen: v1\npackage: app\nname: Event\nseries: {host: string, at: int64}\ntime: {precision: 1s}\nfields: {value: {type: int64, number: 1}, kind: {type: enum, of: {x: 1, y: 2}, number: 2}}\n" +
		"tables:\n  t: {pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [host, at, bucket]}, bucket: 1d, family: m, ttl: {max_age: 30d}, allow: {C07: a test}}\n"
	version := func(text string) []*layout.Layout { return []*layout.Layout{testschema.Layout(t, text)} }
	known := diffAll(&lock.Lock{}, version(text)).Next(nil)
	for i, a := range harms {
		for _, b := range harms[i+1:] {
			if a.name[:3] == "E03" && b.place || a.name[:3] == "E08" && b.name[:3] == "E15" { // the new family is empty
				continue
			}
			c := diffAll(known, version(strings.Replace(strings.Replace(text, a.from, a.to, 1), b.from, b.to, 1)))
			if all := c.Refused(nil); !strings.Contains(all[len(all)-1].Note, "all of these in one run: btgen generate --accept 'E") || strings.Count(all[len(all)-1].Note, "=REASON'") != 3 {
				t.Errorf("%s and %s: %q", a.name, b.name, all[len(all)-1].Note)
			}
			for _, names := range [][2]string{{a.name, b.name}, {b.name, a.name}} {
				accepted, err := c.Accept([]string{names[0] + "=a test"})
				assert.Must(t, err, names)
				if left := c.Refused(accepted); len(left) != 1 || left[0].Rule != names[1][:3] {
					t.Errorf("%s is accepted: refused is %v instead of %s", names[0], left, names[1])
				}
			}
		}
	}
}

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
	assert.Must(t, err)
	return must(lock.Parse(lock.Name, c.Next(accepted).Text()))
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
		checkFound(t, tt.name, tt.want, got)
	}
}
