package evolve_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
)

// forgetful explores a project whose btgen.lock is not always made from the one before: it is
// reverted, deleted, or the wrong side of a conflict. All sequences of a few versions are tried, with
// all locks that there were as the one from which btgen generate starts. CI compares each version
// with the lock before it, as btgen breaking --against does.
type forgetful struct {
	t        *testing.T
	versions []*layout.Layout // nil for one without the schema, whose removal is accepted
	// hides reports whether the last version of a sequence misreads events of those before.
	hides func(sequence []int) bool
	// unguarded leaves out the comparison of both locks.
	unguarded bool
	sequences int
	hidden    []string // sequences that pass, and misread events
}

// explore tries all sequences that continue one, of at most so many versions.
func (f *forgetful) explore(sequence []int, locks []*lock.Lock, most int) {
	if len(sequence) == most {
		return
	}
	for next, l := range f.versions {
		for from := range locks {
			after, passes := f.step(l, locks[from], locks[len(locks)-1])
			if !passes {
				continue
			}
			f.sequences++
			now := append(slices.Clone(sequence), next)
			if f.hides(now) {
				f.hidden = append(f.hidden, fmt.Sprintf("versions %v, the last from lock %d of %d", now, from, len(locks)-1))
				continue
			}
			f.explore(now, append(slices.Clone(locks), after), most)
		}
	}
}

// step runs generate for a version, from one of the locks, and compares it with the newest lock. It
// reports whether neither refuses it.
func (f *forgetful) step(l *layout.Layout, from, newest *lock.Lock) (*lock.Lock, bool) {
	input := func(old *lock.Lock) evolve.Input {
		in := evolve.Input{Old: old, Whole: true, Gone: gone}
		if l != nil {
			in.Layouts = []*layout.Layout{l}
		}
		return in
	}
	generated := evolve.Diff(input(from))
	if l != nil && len(dataOf(generated)) > 0 {
		return nil, false
	}
	after := acceptAll(f.t, generated)
	against := evolve.Diff(input(newest))
	against.MarkAccepted(after, evolve.Diff(input(after)))
	if !f.unguarded {
		against.AddForgotten(after, gone, "git checkout main --")
	}
	refused := slices.ContainsFunc(against.Findings, func(f evolve.Finding) bool { return f.Rule.Class == evolve.Data && f.Accepted == "" })
	return after, !refused
}

// TestForgottenFacts tries all sequences of versions with all stale locks: none that passes reads
// what an earlier version wrote as something else, or what it lacked with another default. Without the
// comparison of locks, some do.
func TestForgottenFacts(t *testing.T) {
	// A version that reads values of one kind misreads those of another; it writes what it reads.
	misreads := func(kinds ...string) func(sequence []int) bool {
		return func(sequence []int) bool {
			last := kinds[sequence[len(sequence)-1]]
			return last != "" && slices.ContainsFunc(sequence, func(v int) bool { return kinds[v] != "" && kinds[v] != last })
		}
	}
	// narrows tells whether the last version reads the values of a wider one.
	narrows := func(wide, narrow int) func(sequence []int) bool {
		return func(sequence []int) bool {
			return sequence[len(sequence)-1] == narrow && slices.Contains(sequence, wide)
		}
	}
	for name, tt := range map[string]struct {
		versions []string // the field x; empty for none
		hides    func(sequence []int) bool
	}{
		"types": {
			[]string{"", "{type: int64, optional: true}", "{type: float64, optional: true}", "{type: enum, of: {a: 1, b: 2}, optional: true}"},
			misreads("", "int64", "float64", "enum"),
		},
		"wider types": {
			[]string{"{type: int32, optional: true}", "{type: int64, optional: true}", ""},
			narrows(1, 0),
		},
		"wider types in removed tables": {
			[]string{"{type: int32, optional: true}", "{type: int64, optional: true}", removed},
			narrows(1, 0),
		},
		"values of an enum": {
			[]string{"{type: enum, of: {a: 1, b: 2}, optional: true}", "", "{type: enum, of: {a: 1, c: 2}, optional: true}"},
			misreads("b", "", "c"),
		},
		"defaults": { // of the events of the first version, which lack the field
			[]string{"", "{type: int64, default: 1}", "{type: int64, default: 2}", "{type: int64, optional: true}"},
			func(sequence []int) bool {
				last := sequence[len(sequence)-1]
				return last > 0 && slices.ContainsFunc(sequence, func(v int) bool { return (v == 1 || v == 2) && v != last })
			},
		},
	} {
		for _, unguarded := range []bool{false, true} {
			f := &forgetful{t: t, hides: tt.hides, unguarded: unguarded}
			for _, field := range tt.versions {
				if field == removed {
					f.versions = append(f.versions, nil)
					continue
				}
				f.versions = append(f.versions, withField(t, field))
			}
			first, _ := f.step(f.versions[0], new(lock.Lock), new(lock.Lock))
			f.explore([]int{0}, []*lock.Lock{new(lock.Lock), first}, 4)
			t.Logf("%s, unguarded %v: %d sequences, %d misread events", name, unguarded, f.sequences, len(f.hidden))
			if unguarded != (len(f.hidden) > 0) {
				t.Errorf("%s, unguarded %v: %d of %d sequences misread events: %q", name, unguarded, len(f.hidden), f.sequences, f.hidden[:min(3, len(f.hidden))])
			}
		}
	}
}

// removed stands for a version without the schema.
const removed = "removed"

// withField resolves a schema with the field x, or without it if its definition is empty.
func withField(t *testing.T, field string) *layout.Layout {
	t.Helper()
	if field != "" {
		field = ", x: " + field
	}
	text := `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1s}
fields: {v: int64` + field + `}
tables:
  events: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1d, family: m, ttl: {max_age: 30d}}
`
	r := gen.Resolve([]gen.Input{{Name: "s.yaml", Text: []byte(text)}})
	if r.Diagnostics.HasErrors() {
		t.Fatal(r.Diagnostics.Err())
	}
	return r.Layouts[0]
}

// TestContinuedTableIsFound checks that a table whose events continue in another one is looked up by what the schemas
// say, although an accepted change replaced a layout of another table that was in it, too.
func TestContinuedTableIsFound(t *testing.T) {
	const table = "{pattern: single_unserialized, key: {delimiter: \"#\", segments: [host, %s]}, family: m, ttl: {max_age: 90d}%s}"
	next := func(old *lock.Lock, tables string) (*evolve.Comparison, *lock.Lock) {
		text := "btgen: v1\npackage: app\nname: Event\nseries: {host: string}\ntime: {precision: 1s}\nfields: {v: int64}\ntables:\n" + tables
		r := gen.Resolve([]gen.Input{{Name: "s.yaml", Text: []byte(text)}})
		if r.Diagnostics.HasErrors() {
			t.Fatal(r.Diagnostics.Err())
		}
		c := evolve.Diff(evolve.Input{Old: old, Layouts: r.Layouts, Whole: true, Gone: gone})
		return c, acceptAll(t, c)
	}
	other := "  other: " + fmt.Sprintf(table, "time", "") + "\n"
	first := other + "  a: " + fmt.Sprintf(table, "time", ", serves: false") + "\n"
	_, l := next(new(lock.Lock), first)
	_, moved := next(l, other+"  b: "+fmt.Sprintf(table, "{time: unix_us}", ", since: 2029-01-01, before: [{table: a, key: {delimiter: \"#\", segments: [host, time]}}]")+"\n")
	for _, b := range moved.Tables {
		if b.Name == "b" {
			b.Layouts[0].Since, b.Lacks = time.Time{}, nil
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
