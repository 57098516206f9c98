package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// edit is a case of the catalog of edits: versions of a schema, and what is found in the last
// edit.
type edit struct {
	name     string
	archive  *txtar.Archive
	versions []gen.Input // the first one, if any, the old and the new one
}

// edits reads the catalog.
func edits(t *testing.T) []edit {
	t.Helper()
	paths, err := filepath.Glob("breaking/*.txtar")
	if err != nil || len(paths) < 60 {
		t.Fatal(len(paths), " cases: ", err)
	}
	var out []edit
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		e := edit{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), archive: archive}
		for _, f := range archive.Files {
			if !strings.HasPrefix(f.Name, "want/") {
				e.versions = append(e.versions, gen.Input{Name: f.Name, Text: f.Data})
			}
		}
		out = append(out, e)
	}
	return out
}

// resolved are the layouts by the text of their schema, because several tests have the same
// versions.
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

// compare returns the lock of the old versions, and the changes of the last edit.
func (e edit) compare(t *testing.T) (*lock.Lock, *evolve.Comparison) {
	t.Helper()
	known := &lock.Lock{}
	n := len(e.versions)
	for _, in := range e.versions[:n-1] {
		known = diff(known, in, layoutOf(t, in)).Next(nil)
	}
	old, new := e.versions[n-2], e.versions[n-1]
	last := layoutOf(t, new)
	c := diff(known, new, last)
	c.AddNames([]evolve.Version{{Layout: layoutOf(t, old), Text: old.Text}}, []evolve.Version{{Layout: last, Text: new.Text}})
	return known, c
}

// diff compares a schema with a lock.
func diff(old *lock.Lock, in gen.Input, l *layout.Layout) *evolve.Comparison {
	return evolve.Diff(evolve.Input{
		Old: old, Layouts: []*layout.Layout{l}, Whole: true,
		Schema: func(string) *schema.Schema {
			s, _ := schema.Parse(in.Name, in.Text)
			return s
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
				if f.Class == evolve.Data && f.Old != "" && f.Old == f.New {
					t.Errorf("%s: what is stored, and what is read, look the same: %s", f.Name, f.Old)
				}
			}
			got := found.Format(func(file string) []byte {
				if file == lock.Name {
					return known.Text()
				}
				return e.versions[len(e.versions)-1].Text
			})
			n := len(e.archive.Files) - 1
			if want := string(e.archive.Files[n].Data); want != got && *update {
				e.archive.Files[n].Data = []byte(got)
				if err := os.WriteFile("breaking/"+e.name+".txtar", txtar.Format(e.archive), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestBreakingRules checks that the catalog has an edit for every rule of changes.
func TestBreakingRules(t *testing.T) {
	found := map[string]bool{}
	for _, e := range edits(t) {
		_, c := e.compare(t)
		for _, f := range c.Findings {
			found[f.Diagnostic.Rule] = true
			if f.Diagnostic.Class != f.Class.String() || f.Diagnostic.Severity != f.Class.Severity() {
				t.Errorf("%s: %v", e.name, f.Diagnostic)
			}
		}
	}
	for _, rule := range lint.Rules() {
		if rule.By == lint.ByLock && !found[rule.ID] {
			t.Errorf("no edit breaks rule %s: %s", rule.ID, rule.Title)
		}
	}
}

// TestBreakingOnce checks that after an edit was accepted, the lock knows the new facts: the
// same schema has no findings, and the edit back is again one of the same class.
func TestBreakingOnce(t *testing.T) {
	for _, e := range edits(t) {
		_, c := e.compare(t)
		var accept []string
		for _, f := range c.Findings {
			if f.Class == evolve.Data {
				accept = append(accept, f.Name+"=a test")
			}
		}
		accepted, err := c.Accept(accept)
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		next := c.Next(accepted)
		again, err := lock.Parse(lock.Name, next.Text())
		if err != nil {
			t.Errorf("%s: %v\n%s", e.name, err, next.Text())
			continue
		}
		new := e.versions[len(e.versions)-1]
		if second := diff(again, new, layoutOf(t, new)); len(second.Findings) > 0 && e.name != "table_draft_again" {
			t.Errorf("%s: found again after it was accepted: %v", e.name, second.Findings[0].Diagnostic)
		}
	}
}

// BenchmarkBreaking compares 1,000 schemas with their lock, as btgen breaking does, from the
// texts on.
func BenchmarkBreaking(b *testing.B) {
	archive, err := txtar.ParseFile("breaking/bucket_narrower.txtar")
	if err != nil {
		b.Fatal(err)
	}
	version := func(file txtar.File) []gen.Input {
		var out []gen.Input
		for i := range 1000 {
			text := strings.NewReplacer("readings", fmt.Sprintf("readings_%d", i), "weather", fmt.Sprintf("weather%d", i)).Replace(string(file.Data))
			out = append(out, gen.Input{Name: fmt.Sprintf("schemas/%d.yaml", i), Text: []byte(text)})
		}
		return out
	}
	old, new := version(archive.Files[0]), version(archive.Files[1])
	before, _ := gen.Layouts(old)
	text := evolve.LockOf(before).Text()
	for b.Loop() {
		known, err := lock.Parse(lock.Name, text)
		if err != nil {
			b.Fatal(err)
		}
		now, found := gen.Layouts(new)
		c := evolve.Diff(evolve.Input{Old: known, Layouts: now, Whole: true})
		if len(c.Findings) != 1000 || found.HasErrors() {
			b.Fatal(len(c.Findings), found)
		}
	}
}
