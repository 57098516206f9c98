package evolve_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// setting is a version of a schema with up to two tables that can serve all of its reads.
type setting struct {
	tables string          // "a", "b", "ab" or "ba"
	idle   string          // the one with serves: false; empty if there is none
	short  map[string]bool // those with a short time to live
	query  string          // the table that a query names, or "any"; empty if there is no query
	text   string
	layout *layout.Layout
}

// settings returns all versions that are valid.
func settings(t *testing.T) []setting {
	t.Helper()
	var out []setting
	for _, tables := range []string{"a", "b", "ab", "ba"} {
		for _, idle := range []string{"", "a", "b"} {
			for _, short := range []string{"", "a", "b", "ab"} {
				for _, query := range []string{"", "any", "a", "b"} {
					if s, ok := newSetting(tables, idle, short, query); ok {
						out = append(out, s)
					}
				}
			}
		}
	}
	if len(out) < 80 {
		t.Fatal(len(out), " settings")
	}
	return out
}

func newSetting(tables, idle, short, query string) (setting, bool) {
	if idle != "" && (!strings.Contains(tables, idle) || len(tables) == 1) {
		return setting{}, false
	}
	s := setting{tables: tables, idle: idle, query: query, short: map[string]bool{}}
	text := "btgen: v1\npackage: app\nname: Event\nseries: {host: string}\ntime: {precision: 1s}\nfields: {value: int64}\ntables:\n"
	for _, r := range tables {
		name, ttl, more := string(r), "{max_age: 1000d}", ""
		if s.short[name] = strings.Contains(short, name); s.short[name] {
			ttl = "{max_age: 10d}"
		}
		if name == idle {
			more = "serves: false, "
		}
		text += fmt.Sprintf("  %s: {%spattern: bucket_new_cells, key: {delimiter: \"#\", segments: [host, bucket]}, bucket: 1d, family: m, ttl: %s, allow: {C07: a test}}\n", name, more, ttl)
	}
	if strings.Trim(short, tables) != "" {
		return s, false
	}
	switch query {
	case "":
	case "any":
		text += "queries:\n  ByHost: {by: [host]}\n"
	default:
		text += "queries:\n  ByHost: {by: [host], table: " + query + "}\n"
	}
	s.text = text
	r := gen.Resolve([]gen.Input{{Name: "s.yaml", Text: []byte(text)}})
	if r.Diagnostics.HasErrors() {
		return s, false
	}
	s.layout = r.Layouts[0]
	return s, true
}

// serving returns the table of a read; empty if there is no such read.
func (s *setting) serving(read string) string {
	if read == lock.ReadName {
		return s.layout.Read.ID
	}
	for _, q := range s.layout.Queries {
		return q.Table.ID
	}
	return ""
}

// world is what a program has written: the stages in which the events of each table were written.
// Stages are 20 days apart.
type world map[string]map[int]bool

// live writes the events of a stage with the code of a version, after those that have expired are
// deleted.
func (w world) live(s *setting, stage int) world {
	out := world{}
	for _, r := range s.tables {
		name := string(r)
		out[name] = map[int]bool{stage: true}
		for was := range w[name] {
			if !s.short[name] {
				out[name][was] = true
			}
		}
	}
	for name := range w { // tables that were removed are left alone
		if out[name] == nil {
			out[name] = maps.Clone(w[name])
		}
	}
	return out
}

// finds returns what a read finds in a table, right after its code is deployed.
func (w world) finds(s *setting, table string, stage int) map[int]bool {
	out := map[int]bool{}
	for at := range w[table] {
		if at == stage || !s.short[table] {
			out[at] = true
		}
	}
	return out
}

// backfill copies all events to a table, as far as its age allows.
func (w world) backfill(s *setting, table string, stage int) {
	if w[table] == nil {
		w[table] = map[int]bool{}
	}
	for _, events := range w {
		for at := range events {
			if at == stage || !s.short[table] {
				w[table][at] = true
			}
		}
	}
}

// TestServing deploys versions of a schema one after the other, whose tables come, go, serve reads
// or do not, in any order, with any age. An edit after which a read no longer finds an event that
// it found is of class DATA, unless a backfill was stated before; and an edit after which the
// reads find all events of all tables is not said to miss any.
func TestServing(t *testing.T) {
	all := settings(t)
	hidden, moved := 0, 0
	for i := 0; i < len(all); i += testlong.Pick(9, 1) {
		first := diffAll(&lock.Lock{}, []*layout.Layout{all[i].layout}).Next(nil)
		for k := range all {
			s := served{t: t, versions: []*setting{&all[i]}, lock: first, world: world{}.live(&all[i], 0)}
			if !s.edit(&all[k], &hidden, &moved) {
				continue
			}
			for m := range all {
				if (i+k+m)%testlong.Pick(97, 13) > 0 {
					continue
				}
				next := served{t: t, versions: slices.Clone(s.versions), lock: s.lock, world: s.world}
				next.edit(&all[m], &hidden, &moved)
			}
		}
	}
	t.Logf("%d edits hide events, and %d reads move", hidden, moved)
	if least := testlong.Pick(20, 200); hidden < least || moved < least {
		t.Errorf("%d edits hide events, and %d reads move", hidden, moved)
	}
}

// served is the life of a schema.
type served struct {
	t        *testing.T
	versions []*setting
	lock     *lock.Lock
	world    world
}

// edit deploys a version, and reports whether the life goes on: no events are hidden, or the
// table was backfilled.
func (s *served) edit(new *setting, hidden, moved *int) bool {
	s.t.Helper()
	old, stage := s.versions[len(s.versions)-1], len(s.versions)-1
	c := diffAll(s.lock, []*layout.Layout{new.layout})
	data := dataOf(c)
	lost, whole := "", true
	for _, read := range []string{lock.ReadName, "ByHost"} {
		from, to := old.serving(read), new.serving(read)
		if from == "" || to == "" {
			continue
		}
		if from != to {
			*moved++
		}
		finds := s.world.finds(new, to, stage)
		for _, table := range old.tables {
			for at := range s.world.finds(old, string(table), stage) {
				whole = whole && finds[at]
			}
		}
		for at := range s.world.finds(old, from, stage) {
			if !finds[at] {
				lost = fmt.Sprintf("%s no longer finds the events of stage %d", read, at)
			}
		}
	}
	s.versions = append(s.versions, new)
	reads := slices.DeleteFunc(slices.Clone(data), func(name string) bool { return !strings.HasPrefix(name, "E21:") })
	switch {
	case slices.ContainsFunc(data, func(name string) bool { return strings.HasPrefix(name, "X01:") }):
		s.t.Fatalf("%q, and all tables have equal layouts%s", data, s.story())
	case lost != "" && len(data) == 0:
		s.t.Fatalf("%s, and it is no change of class DATA%s", lost, s.story())
	case len(s.versions) == 2 && whole && len(reads) > 0 && old.idle == "" && len(old.tables) == 2 && old.short["a"] == old.short["b"] && !new.short["a"] && !new.short["b"]:
		s.t.Fatalf("%q, but nothing is lost%s", reads, s.story())
	}
	if lost != "" {
		*hidden++
	}
	if len(data) > len(reads) || slices.ContainsFunc(reads, func(name string) bool { return strings.Contains(name, "/") }) {
		return false // a removed table, or a shorter age
	}
	for _, name := range reads {
		s.world.backfill(new, strings.TrimPrefix(name, "E21:"), stage)
	}
	s.lock = acceptAll(s.t, c)
	if again := dataOf(diffAll(s.lock, []*layout.Layout{new.layout})); len(again) > 0 {
		s.t.Fatalf("%q again%s", again, s.story())
	}
	s.world = s.world.live(new, stage+1)
	return true
}

// story returns the versions.
func (s *served) story() string {
	out := ""
	for i, v := range s.versions {
		out += fmt.Sprintf("\n--- version %d\n%s", i, v.text)
	}
	return out
}

// TestLacksOfLastTable removes all other tables of a schema while one that lacks events is left, in
// any way: that it serves reads is a change of its own.
func TestLacksOfLastTable(t *testing.T) {
	version := func(tables, idle, short, name string) []*layout.Layout {
		s, ok := newSetting(tables, idle, short, "")
		if !ok {
			t.Fatal(tables, idle, short)
		}
		text := strings.Replace(s.text, "name: Event", "name: "+name, 1)
		return gen.Resolve([]gen.Input{{Name: "s.yaml", Text: []byte(text)}}).Layouts
	}
	steps := func(versions ...[]*layout.Layout) *lock.Lock {
		l := &lock.Lock{}
		for _, v := range versions {
			l = acceptAll(t, diffAll(l, v))
		}
		return l
	}
	earlier := steps(version("a", "", "", "Event"), version("ab", "b", "", "Event"))
	expired := steps(version("ab", "b", "b", "Event"), version("ab", "b", "", "Event"))
	meantime := steps(version("ab", "b", "", "Event"), version("a", "", "", "Event"), version("ab", "b", "", "Event"))
	for _, test := range []struct {
		name string
		old  *lock.Lock
		new  []*layout.Layout
	}{
		{"earlier", earlier, version("b", "", "", "Event")},
		{"expired", expired, version("b", "", "", "Event")},
		{"meantime", meantime, version("b", "", "", "Event")},
		{"ttl in the same edit", steps(version("ab", "", "b", "Event")), version("b", "", "", "Event")},
		{"renamed in the same edit", earlier, version("b", "", "", "Happening")},
	} {
		c := diffAll(test.old, test.new)
		if got := dataOf(c); !slices.Equal(got, []string{"E01:a", "E21:b"}) && !slices.Equal(got, []string{"E21:b", "E01:a"}) {
			t.Errorf("%s: %q", test.name, got)
			continue
		}
		if all := c.Refused(nil); !strings.Contains(all[len(all)-1].Note, "all of these in one run: btgen generate --accept 'E") || strings.Count(all[len(all)-1].Note, "=REASON'") != 3 {
			t.Errorf("%s: %q", test.name, all[len(all)-1].Note)
		}
		for _, accept := range []string{"E01:a", "E21:b"} {
			accepted, err := c.Accept([]string{accept + "=a test"})
			if err != nil {
				t.Fatal(err)
			}
			if left := c.Refused(accepted); len(left) != 1 {
				t.Errorf("%s: %s is accepted, and refused is %v", test.name, accept, left)
			}
		}
	}
}
