package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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

// ReadLock reads a btgen.lock. Without a file, it returns an empty lock. The error for a file
// that cannot be used is a *lock.Error.
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
// --accept.
func CompareLocks(p *project.Project, layouts []*layout.Layout, accept []string) (*Locking, error) {
	locks, err := p.Locks()
	if err != nil {
		return nil, err
	}
	out := &Locking{Locked: map[string]int{}}
	accepted := 0
	for _, l := range locks {
		old, err := ReadLock(l.Path)
		if err != nil {
			return nil, err
		}
		c := Compare(p, l, old, layouts, time.Time{})
		some, err := c.Accept(acceptedBy(c, accept, len(locks) > 1))
		if err != nil {
			return nil, err
		}
		accepted += len(some)
		out.Found = append(out.Found, c.Refused(some)...)
		for _, f := range c.Findings {
			if f.Class == evolve.Rollout {
				out.Found = append(out.Found, f.Diagnostic)
			}
		}
		step, changed, err := lockStep(l.Path, c.Next(some))
		if err != nil {
			return nil, err
		}
		if changed {
			out.Steps = append(out.Steps, step)
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

// acceptedBy returns the arguments of --accept that apply to a lock: all if there is only one
// lock, and otherwise those that match its changes.
func acceptedBy(c *evolve.Comparison, accept []string, several bool) []string {
	if !several {
		return accept
	}
	return slices.DeleteFunc(slices.Clone(accept), func(a string) bool {
		_, err := c.Accept([]string{a})
		return err != nil
	})
}

// lockStep returns the step for a lock file, and whether there is anything to write.
func lockStep(path string, next *lock.Lock) (output.Step, bool, error) {
	_, err := os.Lstat(path)
	if len(next.Tables) == 0 && errors.Is(err, fs.ErrNotExist) {
		return output.Step{}, false, nil
	}
	step, err := output.Replace(path, next.Text())
	return step, true, err
}

// Compare compares the layouts of a lock's schemas with the lock. now is the zero time if the
// result must not depend on the clock.
func Compare(p *project.Project, l project.Lock, old *lock.Lock, layouts []*layout.Layout, now time.Time) *evolve.Comparison {
	own := slices.DeleteFunc(slices.Clone(layouts), func(o *layout.Layout) bool { return !l.Files[o.File] })
	var text []byte
	return evolve.Diff(evolve.Input{
		Old: old, Layouts: own, Whole: l.Whole, Now: now,
		Schema: schemasOf(p),
		Gone: func(t *lock.Table) diag.Pos {
			if text == nil {
				text = old.Text()
			}
			return diag.Pos{File: filepath.ToSlash(l.Path), Line: lock.Line(text, t)}
		},
	})
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
