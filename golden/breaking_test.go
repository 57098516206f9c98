package golden

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// edit is a case of the catalog of edits: versions of a schema, and what is found in the last
// edit.
type edit struct {
	name     string
	title    string
	findings string              // as they were reviewed
	versions []gen.Input         // the first one, if any, the old and the new one
	beside   map[int][]gen.Input // further schemas of versions, by the index of the version
}

// findings is the name of the file with the findings of an edit.
const findings = archive.Results + "findings"

// edits reads the catalog.
func edits(t *testing.T) []edit {
	t.Helper()
	paths, err := filepath.Glob("breaking/*.txtar")
	if err != nil || len(paths) < 60 {
		t.Fatal(len(paths), " cases: ", err)
	}
	var out []edit
	for _, path := range paths {
		a, err := archive.ParseFile(path)
		assert.Must(t, err)
		e := edit{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), title: strings.TrimSpace(string(a.Comment)), beside: map[int][]gen.Input{}}
		for _, f := range a.Files {
			in := gen.Input{Name: f.Name, Text: f.Data}
			last := len(e.versions) - 1
			switch {
			case f.Name == findings:
				e.findings = string(f.Data)
			case last >= 0 && filepath.Dir(f.Name) == filepath.Dir(e.versions[last].Name):
				e.beside[last] = append(e.beside[last], in)
			default:
				e.versions = append(e.versions, in)
			}
		}
		out = append(out, e)
	}
	return out
}

// resolved are the layouts by the text of their schema, because several tests have the same versions.
var resolved = map[string]*layout.Layout{}

// layoutOf resolves a version, which has no errors, not even of rules.
func layoutOf(t *testing.T, in gen.Input) *layout.Layout {
	t.Helper()
	key := in.Name + "\n" + string(in.Text)
	if l := resolved[key]; l != nil {
		return l
	}
	r := gen.Resolve([]gen.Input{in})
	if r.Diagnostics.HasErrors() {
		t.Fatal(r.Diagnostics)
	}
	resolved[key] = r.Layouts[0]
	return r.Layouts[0]
}

// compared are the results of compare by the text of all versions, because most tests are about all edits.
var compared = map[string]func() (*lock.Lock, *evolve.Comparison){}

// compare returns the lock of the old versions, and the changes of the last edit.
func (e edit) compare(t *testing.T) (*lock.Lock, *evolve.Comparison) {
	t.Helper()
	n, key := len(e.versions), ""
	for i := range n {
		key += fmt.Sprintf("version %d %v\n", i, e.schemas(i))
	}
	if c := compared[key]; c != nil {
		return c()
	}
	known := &lock.Lock{}
	for i := range n - 1 {
		known = acceptAll(t, e.diff(t, known, i))
	}
	c := e.diff(t, known, n-1)
	c.AddNames(e.named(t, n-2), e.named(t, n-1))
	compared[key] = func() (*lock.Lock, *evolve.Comparison) { return known, c }
	return known, c
}

// schemas returns the schemas of a version.
func (e edit) schemas(version int) []gen.Input {
	return append([]gen.Input{e.versions[version]}, e.beside[version]...)
}

// named returns the schemas of a version with their layouts.
func (e edit) named(t *testing.T, version int) []evolve.Version {
	var out []evolve.Version
	for _, in := range e.schemas(version) {
		out = append(out, evolve.Version{Layout: layoutOf(t, in), Text: in.Text})
	}
	return out
}

// layouts returns the layouts of a version.
func (e edit) layouts(t *testing.T, version int) []*layout.Layout {
	var out []*layout.Layout
	for _, in := range e.schemas(version) {
		out = append(out, layoutOf(t, in))
	}
	return out
}

// diff compares a version with a lock.
func (e edit) diff(t *testing.T, old *lock.Lock, version int) *evolve.Comparison {
	return evolve.Diff(evolve.Input{
		Old: old, Layouts: e.layouts(t, version), Whole: true,
		Schema: func(file string) *schema.Schema {
			for _, in := range e.schemas(version) {
				if in.Name == file {
					s, _ := schema.Parse(in.Name, in.Text)
					return s
				}
			}
			return nil
		},
		Gone: func(t *lock.Table) diag.Pos { return diag.Pos{File: lock.Name, Line: lock.Line(old.Text(), t)} },
	})
}

// TestBreaking compares the findings of each edit with those that were reviewed.
func TestBreaking(t *testing.T) {
	for _, e := range edits(t) {
		t.Run(e.name, func(t *testing.T) {
			known, c := e.compare(t)
			var found diag.List
			for i := range c.Findings {
				f := &c.Findings[i]
				found = append(found, f.Report())
				if f.Rule.Class == evolve.Data && f.Old != "" && f.Old == f.New {
					t.Errorf("%s: what is stored, and what is read, look the same: %s", f.Name, f.Old)
				}
			}
			got := found.Format(func(file string) []byte {
				if file == lock.Name {
					return known.Text()
				}
				for _, in := range e.schemas(len(e.versions) - 1) {
					if in.Name == file {
						return in.Text
					}
				}
				return nil
			})
			if e.findings != got && *update {
				assert.Must(t, archive.Save("breaking/"+e.name+".txtar", []txtar.File{{Name: findings, Data: []byte(got)}}))
			} else if diff := cmp.Diff(e.findings, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// unedited are sentences of changes that no edit in breaking has: those of times that have come, of locks that were lost, and
// of several edits at once.
var unedited = []string{
	"events-removed", "facts-forgotten", "forgotten", "layout-expired", "layout-past", "lock-lost", "query-inputs", "query-series",
	"rollup-default", "rollup-number", "rollup-type", "rollup-unused", "second-lock", "table-again",
	"table-moved", "table-renamed", "windows-of-events", "windows-unknown", "withdrawn", "write-time",
}

// TestBreakingRules checks that every rule of changes has an edit that breaks it, and an edit of the
// same kind of fact that does not, and that every sentence of changes is that of an edit.
func TestBreakingRules(t *testing.T) {
	breaks, all := map[string]map[string]bool{}, map[string]bool{} // kinds of facts, by rule
	spares, said := map[string]map[string]bool{}, ""
	for _, e := range edits(t) {
		known, c := e.compare(t)
		found := map[string]bool{}
		for _, f := range c.Findings {
			found[f.Rule.ID] = true
			said += f.Diagnostic.Message + "\n"
			if d := f.Diagnostic; d.Rule != f.Rule.ID || d.Class != f.Rule.Class.String() || d.Severity != f.Rule.Class.Severity() {
				t.Errorf("%s: %v", e.name, f.Diagnostic)
			}
		}
		kinds := changedFacts(factsOf(known), factsOf(evolve.LockOf(e.layouts(t, len(e.versions)-1))))
		for _, rule := range evolve.Rules() {
			of := spares
			if found[rule.ID] {
				of = breaks
			}
			if of[rule.ID] == nil {
				of[rule.ID] = map[string]bool{}
			}
			maps.Copy(of[rule.ID], kinds)
		}
		maps.Copy(all, kinds)
	}
	if len(all) < 15 {
		t.Errorf("edits of %d kinds of facts", len(all))
	}
	for _, rule := range evolve.Rules() {
		if rule.ID == "E23" || rule.ID == "E24" {
			continue // no edit of a schema: see TestBreakingForgotten
		}
		if len(breaks[rule.ID]) == 0 {
			t.Errorf("no edit breaks rule %s: %s", rule.ID, rule.Title)
		}
		maps.DeleteFunc(breaks[rule.ID], func(kind string, _ bool) bool { return !spares[rule.ID][kind] })
		if len(breaks[rule.ID]) == 0 {
			t.Errorf("every edit of the same facts breaks rule %s: %s", rule.ID, rule.Title)
		}
	}
	text, err := os.ReadFile("../gen/evolve/rules.txt")
	assert.Must(t, err)
	for _, rule := range diag.ReadEntries(string(text)) {
		for _, line := range rule.Lines {
			name, says, _ := strings.Cut(line, " ")
			name, isSentence := strings.CutPrefix(name, "says:")
			edited := regexp.MustCompile(strings.Trim(diag.Sentence{Says: says}.Pattern(), "^$")).MatchString(said)
			if isSentence && edited == slices.Contains(unedited, name) {
				t.Errorf("sentence %q is that of an edit: %v", name, edited)
			}
		}
	}
}

// changedFacts returns the kinds of facts of a lock that an edit changes, such as "bucket"; one for
// code if it changes none.
func changedFacts(old, new []string) map[string]bool {
	out := map[string]bool{}
	for _, sides := range [][2][]string{{old, new}, {new, old}} {
		for _, line := range sides[0] {
			words := strings.SplitN(line, " ", 4)
			if slices.Contains(sides[1], line) {
				continue
			}
			kind := words[1]
			if strings.Trim(kind, "0123456789") == "" { // the number of a layout
				kind = words[2]
			}
			out[kind] = true
		}
	}
	if len(out) == 0 {
		out["code"] = true
	}
	return out
}

// factsOf returns the facts of a lock, after the keys of their tables.
func factsOf(l *lock.Lock) (out []string) {
	for _, e := range new(lock.Lock).Next(l.Tables).Epochs {
		for _, c := range e.Changes {
			out = append(out, c.Table+" "+c.Fact)
		}
	}
	return out
}

// TestBreakingOnce checks that after an edit was accepted, the lock knows the new facts: the
// same schema has no findings, and the edit back is again one of the same class.
func TestBreakingOnce(t *testing.T) {
	for _, e := range testlong.Sample(edits(t), 3) {
		_, c := e.compare(t)
		if slices.ContainsFunc(c.Findings, func(f evolve.Finding) bool { return f.Rule.NoAccept }) {
			continue
		}
		again, err := lock.Parse(lock.Name, acceptAll(t, c).Text())
		assert.Must(t, err, e.name)
		if second := e.diff(t, again, len(e.versions)-1); len(second.Findings) > 0 && e.name != "table_draft_again" {
			t.Errorf("%s: found again after it was accepted: %v", e.name, second.Findings[0].Diagnostic)
		}
	}
}

// TestBreakingForgotten takes the last epoch out of the locks after all edits, as a revert or the wrong side of a merge
// conflict does, and compares them with those before: it is missed. A lock that generate has written has forgotten none.
func TestBreakingForgotten(t *testing.T) {
	at := func(*lock.Table) diag.Pos { return diag.Pos{File: lock.Name} }
	forgotten := func(e edit, old, now *lock.Lock) []evolve.Finding {
		c := e.diff(t, old, len(e.versions)-1)
		c.AddForgotten(now, at, "git checkout main -- btgen.lock")
		return slices.DeleteFunc(c.Findings, func(f evolve.Finding) bool { return f.Diagnostic.Rule != "E23" })
	}
	taken := 0
	for _, e := range testlong.Sample(edits(t), 12) {
		known, c := e.compare(t)
		next := acceptAll(t, c)
		for _, f := range forgotten(e, known, next) {
			t.Errorf("%s: generate has forgotten a fact: %v", e.name, f.Diagnostic)
		}
		if n := len(next.Epochs) - 1; n > 0 {
			taken++
			last := next.Epochs[n]
			if got := forgotten(e, next, &lock.Lock{Tables: known.Tables, Epochs: next.Epochs[:n]}); !slices.ContainsFunc(got, func(f evolve.Finding) bool {
				name, _, _ := strings.Cut(last.Changes[0].Table, "/")
				return f.Name == "E23:"+name+"/"+last.ID
			}) {
				t.Errorf("%s: epoch %s is not missed: %v", e.name, last.ID, got)
			}
		}
		for i, table := range next.Tables {
			less := &lock.Lock{Tables: slices.Delete(slices.Clone(next.Tables), i, i+1)} // of a file without epochs
			if len(forgotten(e, &lock.Lock{Tables: next.Tables}, less)) == 0 {
				t.Errorf("%s: table %s is not missed", e.name, table.Name)
			}
		}
	}
	if taken < testlong.Pick(7, 100) {
		t.Errorf("%d epochs", taken)
	}
}
