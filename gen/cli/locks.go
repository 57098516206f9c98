package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// maxLock is the size limit of a btgen.lock, in bytes.
const maxLock = 256 << 20

// ReadLock reads a btgen.lock. Without a file, it returns an empty lock, and of one that git has in
// conflict the facts of both sides. The error for a file that cannot be used is a *lock.Error.
func ReadLock(path string) (*lock.Lock, error) {
	text, err := files.Read(path, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return &lock.Lock{}, nil
	}
	if err != nil {
		return nil, err
	}
	return lock.Parse(filepath.ToSlash(path), text)
}

// Locking is what a project changes in its locks.
type Locking struct {
	Steps []output.Step // update the locks
	Paths []string      // of the locks that exist then
	// Found are errors for changes of stored data that are neither accepted nor allowed by the
	// lock, and warnings for changes that need an order of deployment.
	Found diag.List
	// Locked are the numbers of tables that are locked for the first time, by lock.
	Locked map[string]int
}

// Notes returns a line for each lock that gets new tables.
func (l *Locking) Notes() []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(l.Locked)) {
		tables := "1 table is locked"
		if n := l.Locked[path]; n > 1 {
			tables = fmt.Sprintf("%d tables are locked", n)
		}
		out = append(out, fmt.Sprintf("%s: %s: changes that lose stored events are refused from now on; for a table that stores nothing yet, undo this and set `draft: true`",
			words.Printable(filepath.ToSlash(path)), tables))
	}
	return out
}

// CompareLocks compares the layouts of a project with its locks. accept are the arguments of
// --accept, locked the tables that the locks had when the code on disk was generated, and now the
// time that decides which layouts have begun or expired; zero if nothing may depend on it.
func CompareLocks(p *project.Project, layouts []*layout.Layout, accept, locked []string, now time.Time) (*Locking, error) {
	locks, err := p.Locks()
	if err != nil {
		return nil, err
	}
	old, err := readLocks(p, locks, layouts)
	if err != nil {
		return nil, err
	}
	out := &Locking{Locked: map[string]int{}}
	comparisons := make([]*evolve.Comparison, len(locks))
	for i, l := range locks {
		comparisons[i] = compare(p, l, old[i], layouts, evolve.Input{Locked: locked, Now: now}, accept...)
	}
	of, err := acceptedBy(locks, comparisons, accept)
	if err != nil {
		return nil, err
	}
	accepted := 0
	for i, l := range locks {
		c := comparisons[i]
		some, err := c.Accept(of[i])
		if err != nil {
			return nil, err
		}
		accepted += len(some)
		out.Found = append(out.Found, c.Refused(some)...)
		for _, f := range c.Findings {
			if f.Rule.Class == evolve.Rollout {
				out.Found = append(out.Found, f.Diagnostic)
			}
		}
		step, changed, err := lockStep(l.Path, c.Next(some))
		if err != nil {
			return nil, err
		}
		if changed {
			out.Steps = append(out.Steps, step)
			out.Paths = append(out.Paths, l.Path)
		}
		if n := c.Locked(); n > 0 {
			out.Locked[l.Path] = n
		}
	}
	if accepted < len(accept) && !out.Found.HasErrors() {
		return nil, &evolve.AcceptError{Argument: strings.Join(accept, " "), Reason: "no lock has this change"}
	}
	return out, nil
}

// acceptedBy returns the arguments of --accept by the lock with the change: all if there is only
// one lock. An argument is for one change, and never for those of two locks.
func acceptedBy(locks []project.Lock, comparisons []*evolve.Comparison, accept []string) ([][]string, error) {
	out := make([][]string, len(locks))
	if len(locks) == 1 {
		out[0] = accept
		return out, nil
	}
	for _, argument := range accept {
		var in []string
		for i, c := range comparisons {
			if _, err := c.Accept([]string{argument}); err == nil {
				in = append(in, filepath.ToSlash(locks[i].Path))
				out[i] = append(out[i], argument)
			}
		}
		if len(in) > 1 {
			return nil, &evolve.AcceptError{Argument: argument, Reason: "several projects have such a change: " + strings.Join(in, ", ") + ": run btgen generate for one at a time"}
		}
	}
	return out, nil
}

// readLocks reads locks. A table whose schema is now in another project of the run, and no longer
// in its own one, moves to the lock of that, so that it is compared with what is stored.
func readLocks(p *project.Project, locks []project.Lock, layouts []*layout.Layout) ([]*lock.Lock, error) {
	out := make([]*lock.Lock, len(locks))
	for i, l := range locks {
		var err error
		if out[i], err = ReadLock(l.Path); err != nil {
			return nil, err
		}
	}
	for from := range locks {
		if len(locks) == 1 || !p.Complete(locks[from]) {
			continue // the schema may be in a file that the run does not include
		}
		own := tablesOf(locks[from], layouts)
		for k := range out[from].Tables {
			t := &out[from].Tables[k]
			if t.Removed != "" || own[t.Key()+t.Schema] {
				continue
			}
			for to := range locks {
				if to != from && tablesOf(locks[to], layouts)[t.Key()+t.Schema] {
					moveTable(out[from], t, out[to], "moved to "+relativeTo(locks[from].Path, locks[to].Path))
					break
				}
			}
		}
	}
	return out, nil
}

// relativeTo returns a lock as another one names it: the same in every working directory.
func relativeTo(from, to string) string {
	a, b := realPath(filepath.Dir(from)), realPath(filepath.Dir(to))
	if rel, err := filepath.Rel(a, b); err == nil {
		return filepath.ToSlash(filepath.Join(rel, lock.Name))
	}
	return lock.Name
}

// tablesOf returns the tables of the schemas of a lock, by their keys and schemas.
func tablesOf(l project.Lock, layouts []*layout.Layout) map[string]bool {
	out := map[string]bool{}
	for _, o := range layouts {
		for _, t := range o.Tables {
			if l.Files[o.File] {
				facts := lock.Of(o, t)
				out[facts.Key()+facts.Schema] = true
			}
		}
	}
	return out
}

// moveTable moves a table to another lock. One that the other lock has already, with other facts,
// was locked without a comparison: it is compared now.
func moveTable(from *lock.Lock, t *lock.Table, to *lock.Lock, where string) {
	moved := *t
	moved.Lacks = evolve.Lacks(from, t)
	t.Removed, t.Serves = where, nil
	i := slices.IndexFunc(to.Tables, func(o lock.Table) bool { return o.Key() == moved.Key() })
	switch {
	case i < 0:
		to.Tables = append(to.Tables, moved)
		to.Sort()
	case to.Tables[i].Removed != "" || !slices.EqualFunc(moved.Periods(), to.Tables[i].Periods(), func(a, b lock.Layout) bool { return a.Equal(&b) }):
		to.Tables[i] = moved
	}
}

// lockStep returns the step for a lock file, and whether there is anything to write.
func lockStep(path string, next *lock.Lock) (output.Step, bool, error) {
	_, err := files.Lstat(path)
	if len(next.Tables) == 0 && errors.Is(err, fs.ErrNotExist) {
		return output.Step{}, false, nil
	}
	step, err := output.Replace(path, next.Text())
	return step, true, err
}

// Compare compares the layouts of a lock's schemas with the lock. now is the zero time if the
// result must not depend on the clock.
func Compare(p *project.Project, l project.Lock, old *lock.Lock, layouts []*layout.Layout, now time.Time) *evolve.Comparison {
	return compare(p, l, old, layouts, evolve.Input{Now: now})
}

// compare compares the layouts of a lock's schemas with the lock. in has what else is known. Proposed commands repeat the
// given arguments of --accept.
func compare(p *project.Project, l project.Lock, old *lock.Lock, layouts []*layout.Layout, in evolve.Input, accept ...string) *evolve.Comparison {
	own := slices.DeleteFunc(slices.Clone(layouts), func(o *layout.Layout) bool { return !l.Files[o.File] })
	var text []byte
	in.Old, in.Layouts, in.Whole, in.Schema = old, own, l.Whole, schemasOf(p)
	in.Kept = newOtherLocks(p, l).has
	in.Command = "btgen generate" + p.Arguments()
	if !in.Now.IsZero() {
		in.Command += " --now " + in.Now.UTC().Format(time.RFC3339)
	}
	for _, argument := range accept {
		in.Command += " --accept " + words.Shell(argument)
	}
	in.Gone = func(t *lock.Table) diag.Pos {
		if text == nil {
			text = old.Text()
		}
		return diag.Pos{File: filepath.ToSlash(l.Path), Line: lock.Line(text, t)}
	}
	return evolve.Diff(in)
}

// schemasOf returns a function that parses a schema of a project, once.
func schemasOf(p *project.Project) func(file string) *schema.Schema {
	known := map[string]*schema.Schema{}
	return func(file string) *schema.Schema {
		s, ok := known[file]
		if !ok {
			s, _ = schema.Parse(file, p.Text(file)) // it has no errors
			known[file] = s
		}
		return s
	}
}
