package evolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// strategy is a way to say how long a table keeps events, and where it stores them.
type strategy struct {
	yaml     string
	families map[string]kept // what is stored in each family
	fields   map[string]string
}

// kept is what the cells of a family are, and how long they live.
type kept struct {
	is   string // "class", or the meaning of timestamps
	days int    // 0 for ever
}

// strategies are those of a table; a field without a family is in all of them.
var strategies = map[string]strategy{
	"an age":               {"family: m, ttl: {max_age: 30d}", map[string]kept{"m": {"event", 30}}, nil},
	"a longer age":         {"family: m, ttl: {max_age: 60d}", map[string]kept{"m": {"event", 60}}, nil},
	"forever":              {"family: m, ttl: {keep: forever}", map[string]kept{"m": {"event", 0}}, nil},
	"another family":       {"family: long, ttl: {max_age: 30d}", map[string]kept{"long": {"event", 30}}, nil},
	"one_second":           {"family: m, ttl: {one_second: {}}", map[string]kept{"m": {"expiry", 0}}, nil},
	"default_expiration":   {"family: m, ttl: {default_expiration: 30d}", map[string]kept{"m": {"shifted by 30d", 0}}, nil},
	"a longer default":     {"family: m, ttl: {default_expiration: 60d}", map[string]kept{"m": {"shifted by 60d", 0}}, nil},
	"classes":              {"ttl: {classes: {short: 7d, long: 30d}}", map[string]kept{"short": {"class", 7}, "long": {"class", 30}}, nil},
	"more classes":         {"ttl: {classes: {short: 7d, mid: 14d, long: 30d}}", map[string]kept{"short": {"class", 7}, "mid": {"class", 14}, "long": {"class", 30}}, nil},
	"other classes":        {"ttl: {classes: {brief: 7d, lasting: 30d}}", map[string]kept{"brief": {"class", 7}, "lasting": {"class", 30}}, nil},
	"classes with m":       {"ttl: {classes: {m: 30d, long: 60d}}", map[string]kept{"m": {"class", 30}, "long": {"class", 60}}, nil},
	"families":             {"families: {m: {ttl: {max_age: 30d}}, x: {ttl: {max_age: 30d}}}", map[string]kept{"m": {"event", 30}, "x": {"event", 30}}, map[string]string{"value": "m", "note": "x"}},
	"families exchanged":   {"families: {m: {ttl: {max_age: 30d}}, x: {ttl: {max_age: 30d}}}", map[string]kept{"m": {"event", 30}, "x": {"event", 30}}, map[string]string{"value": "x", "note": "m"}},
	"families with a name": {"families: {a: {ttl: {max_age: 30d}}, b: {ttl: {max_age: 30d}}}", map[string]kept{"a": {"event", 30}, "b": {"event", 30}}, map[string]string{"value": "a", "note": "b"}},
	"families of classes":  {"families: {short: {ttl: {max_age: 7d}}, long: {ttl: {max_age: 30d}}}", map[string]kept{"short": {"event", 7}, "long": {"event", 30}}, map[string]string{"value": "long", "note": "short"}},
}

// family returns where a field is stored; "" for all families.
func (s strategy) family(field string) string {
	if of := s.fields[field]; of != "" {
		return of
	}
	if len(s.families) == 1 {
		for name := range s.families {
			return name
		}
	}
	return ""
}

// keepsAll reports whether all that was stored by one strategy is read, and kept as long, by another.
func (s strategy) keepsAll(old strategy) bool {
	for name, was := range old.families {
		is, ok := s.families[name]
		if !ok || is.is != was.is || is.days > 0 && (was.days == 0 || is.days < was.days) {
			return false
		}
	}
	return old.family("value") == s.family("value") && old.family("note") == s.family("note")
}

// layout returns a schema with the strategy; nil if it is invalid.
func (s strategy) layout(pattern string) *layout.Layout {
	key, more, number := "[host, bucket]", "bucket: 1d, ", 0
	switch {
	case strings.HasPrefix(pattern, "single"):
		key, more = "[host, time]", ""
	case pattern == "bucket_new_columns":
		key = "[host, metric, bucket]"
	}
	field := func(name, typ string) string {
		number++
		text := fmt.Sprintf("%s: {type: %s, number: %d", name, typ, number)
		if of := s.fields[name]; of != "" {
			text += ", family: " + of
		}
		return text + "}"
	}
	text := "btgen: v1\npackage: app\nname: Event\nseries: {host: string}\ntime: {precision: 1s}\nfields: {" + field("value", "int64") + ", " + field("note", "string, optional: true") + "}\ntables:\n" +
		fmt.Sprintf("  events: {pattern: %s, key: {delimiter: \"#\", segments: %s}, %s%s}\n", pattern, key, more, s.yaml)
	r := gen.Resolve([]gen.Input{{Name: "s.yaml", Text: []byte(text)}})
	if r.Diagnostics.HasErrors() {
		return nil
	}
	return r.Layouts[0]
}

// TestStrategies changes each strategy to each other one, in tables of all patterns: what was stored
// must be read and kept as long, or the edit is of class DATA.
func TestStrategies(t *testing.T) {
	tried, harmful := 0, 0
	patterns := []string{"bucket_new_cells", "bucket_serialized", "bucket_new_columns", "bucket_offsets", "single_unserialized", "single_serialized"}
	for _, pattern := range testlong.Sample(patterns, 3) {
		layouts := map[string]*layout.Layout{}
		for name, s := range strategies {
			layouts[name] = s.layout(pattern)
		}
		for from, old := range strategies {
			for to, new := range strategies {
				a, b := layouts[from], layouts[to]
				if a == nil || b == nil {
					continue
				}
				tried++
				first := diffAll(&lock.Lock{}, []*layout.Layout{a}).Next(nil)
				c := diffAll(first, []*layout.Layout{b})
				found, safe := dataOf(c), new.keepsAll(old)
				if safe == (len(found) > 0) {
					t.Errorf("%s: %s becomes %s: findings %q", pattern, from, to, found)
				}
				if !safe {
					harmful++
				}
				if again := dataOf(diffAll(acceptAll(t, c), []*layout.Layout{b})); len(again) > 0 {
					t.Errorf("%s: %s becomes %s: %q again", pattern, from, to, again)
				}
			}
		}
	}
	t.Logf("%d of %d edits", harmful, tried)
	if tried < testlong.Pick(100, 500) || harmful < testlong.Pick(60, 300) {
		t.Errorf("%d of %d edits", harmful, tried)
	}
}

// newTable is a schema whose newest layout may be in another table than the one before.
func newTable(t *testing.T, numbers, tables string) *layout.Layout {
	t.Helper()
	text := "btgen: v1\npackage: app\nname: Event\nseries: {host: string}\ntime: {precision: 1s}\nfields: {" + numbers + "}\ntables:\n" + tables
	return testschema.Layout(t, text)
}

// A layout by time in another table continues the table before it: nothing is removed, and every
// other change of what is stored there is found. Each edit is made to the lock after the ones
// before it.
func TestLayoutsInNewTables(t *testing.T) {
	const (
		numbers   = "sent: {type: int64, number: 1}, lost: {type: int64, number: 2}"
		exchanged = "sent: {type: int64, number: 2}, lost: {type: int64, number: 1}"
		old       = "  old:\n    pattern: bucket_serialized\n    key: {delimiter: \"#\", segments: [host, bucket]}\n    bucket: 1d\n    family: m\n    ttl: {max_age: 30d}\n"
		two       = "  new:\n    pattern: bucket_serialized\n    key: {delimiter: \"#\", segments: [host, bucket]}\n    bucket: 1h\n    family: m\n    ttl: {max_age: 30d}\n    since: 2027-01-11\n    before: [{table: old, bucket: 1d}]\n"
		three     = "  newer:\n    pattern: bucket_serialized\n    key: {delimiter: \"#\", segments: [host, bucket]}\n    bucket: 6h\n    family: m\n    ttl: {max_age: 30d}\n    since: 2027-02-01\n    before: [{table: new, since: 2027-01-11, bucket: 1h}, {table: old, bucket: 1d}]\n"
	)
	known := diffAll(&lock.Lock{}, []*layout.Layout{newTable(t, numbers, old)}).Next(nil)
	for _, tt := range []struct {
		name, numbers, tables string
		want                  []string
	}{
		{"in a new table", numbers, two, []string{"E38:new/2027-01-11"}},
		{"with numbers exchanged", exchanged, two, []string{"E17:new/lost/until-2027-01-11", "E17:new/sent/until-2027-01-11", "E38:new/2027-01-11"}},
		{"with another bucket", numbers, strings.Replace(two, "bucket: 1d", "bucket: 1w", 1), []string{"E04:new/until-2027-01-11", "E38:new/2027-01-11"}},
		{"renamed", numbers, strings.Replace(old, "old:", "new:", 1), []string{"E01:old"}},
	} {
		c := diffAll(known, []*layout.Layout{newTable(t, tt.numbers, tt.tables)})
		assert.Same(t, tt.want, namesOf(c), tt.name)
		// An acceptance is for one change: each alone leaves the others refused.
		for _, name := range dataOf(c) {
			one, err := c.Accept([]string{name + "=a test"})
			if err != nil {
				t.Fatal(err)
			}
			if left := c.Refused(one); len(left) != len(dataOf(c))-1 {
				t.Errorf("%s: after %s was accepted, %d of %d are left", tt.name, name, len(left), len(dataOf(c)))
			}
		}
		next := acceptAll(t, c)
		if again := diffAll(next, []*layout.Layout{newTable(t, tt.numbers, tt.tables)}); len(again.Findings) > 0 {
			t.Errorf("%s: %v again\n%s", tt.name, namesOf(again), next.Text())
		}
	}
	l := newTable(t, numbers, two)
	known = diffAll(known, []*layout.Layout{l}).Next(nil)
	if keys := []string{known.Tables[0].Key()}; len(known.Tables) != 1 || !slices.Equal(keys, []string{"new/m"}) {
		t.Errorf("the lock has %d tables, the first of them %q", len(known.Tables), keys)
	}
	if got := namesOf(diffAll(known, []*layout.Layout{newTable(t, numbers, three)})); !slices.Equal(got, []string{"E38:newer/2027-02-01"}) {
		t.Errorf("one more: %q", got)
	}
	if got := dataOf(diffAll(known, []*layout.Layout{newTable(t, numbers, old)})); len(got) == 0 {
		t.Error("the newest layout is removed: no change of class DATA")
	}
}

// An acceptance names one change: no two changes of class DATA of one comparison have one name.
func TestNamesOfChanges(t *testing.T) {
	const text = "btgen: v1\npackage: app\nname: %s\nseries: {host: string}\ntime: {precision: 1s}\nfields: {value: %s}\ntables:\n" +
		"  events: {pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [host, bucket]}, bucket: %s, family: %s, ttl: {max_age: %s}}\n"
	version := func(typ, bucket, ttl string) []*layout.Layout {
		var out []*layout.Layout
		for _, name := range []string{"A", "B"} {
			_, l := testschema.Parse(t, name+".yaml", fmt.Sprintf(text, name, typ, bucket, strings.ToLower(name), ttl))
			out = append(out, l)
		}
		return out
	}
	first := diffAll(&lock.Lock{}, version("int64", "1d", "30d")).Next(nil)
	c := diffAll(first, version("string", "1h", "7d"))
	names := dataOf(c)
	slices.Sort(names)
	want := []string{"E04:events/a", "E04:events/b", "E10:events/a/value", "E10:events/b/value", "E15:events/a/a", "E15:events/b/b"}
	assert.Same(t, want, names)
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
	version := func(text string) []*layout.Layout {
		return []*layout.Layout{testschema.Layout(t, text)}
	}
	known := diffAll(&lock.Lock{}, version(text)).Next(nil)
	for i, a := range harms {
		for _, b := range harms[i+1:] {
			if a.name[:3] == "E03" && b.place || a.name[:3] == "E08" && b.name[:3] == "E15" { // the new family is empty
				continue
			}
			c := diffAll(known, version(strings.Replace(strings.Replace(text, a.from, a.to, 1), b.from, b.to, 1)))
			for _, names := range [][2]string{{a.name, b.name}, {b.name, a.name}} {
				accepted, err := c.Accept([]string{names[0] + "=a test"})
				if err != nil {
					t.Errorf("%s and %s: %v", a.name, b.name, err)
					continue
				}
				if left := c.Refused(accepted); len(left) != 1 || left[0].Rule != names[1][:3] {
					t.Errorf("%s is accepted: refused is %v instead of %s", names[0], left, names[1])
				}
			}
		}
	}
}
