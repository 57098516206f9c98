package evolve_test

import (
	"fmt"
	"slices"
	"testing"

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
	versions []*layout.Layout
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
		return evolve.Input{Old: old, Layouts: []*layout.Layout{l}, Whole: true, Gone: gone}
	}
	generated := evolve.Diff(input(from))
	if len(dataOf(generated)) > 0 {
		return nil, false
	}
	after, err := lock.Parse(lock.Name, generated.Next(nil).Text())
	if err != nil {
		f.t.Fatal(err)
	}
	against := evolve.Diff(input(newest))
	if !f.unguarded {
		against.AddForgotten(after, gone, "git checkout main --")
	}
	return after, len(dataOf(against)) == 0
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
	for name, tt := range map[string]struct {
		versions []string // the field x; empty for none
		hides    func(sequence []int) bool
	}{
		"types": {
			[]string{"", "{type: int64, optional: true}", "{type: float64, optional: true}", "{type: enum, of: {a: 1, b: 2}, optional: true}"},
			misreads("", "int64", "float64", "enum"),
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
