package cli

import (
	"errors"
	"io/fs"
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

// LockSteps compares the layouts of a project with its locks. It returns the steps that
// update the locks, and findings: errors for changes of stored data that are neither accepted
// nor allowed by the lock, and warnings for changes that need an order of deployment. accept
// are the arguments of --accept.
func LockSteps(p *project.Project, layouts []*layout.Layout, accept []string) ([]output.Step, diag.List, error) {
	locks, err := p.Locks()
	if err != nil {
		return nil, nil, err
	}
	var steps []output.Step
	var found diag.List
	accepted := 0
	for _, l := range locks {
		old, err := ReadLock(l.Path)
		if err != nil {
			return nil, nil, err
		}
		c := Compare(p, l, old, layouts, time.Time{})
		some, err := c.Accept(acceptedBy(c, accept, len(locks) > 1))
		if err != nil {
			return nil, nil, err
		}
		accepted += len(some)
		found = append(found, c.Refused(some)...)
		for _, f := range c.Findings {
			if f.Class == evolve.Rollout {
				found = append(found, f.Diagnostic)
			}
		}
		step, changed, err := lockStep(l.Path, c.Next(some))
		if err != nil {
			return nil, nil, err
		}
		if changed {
			steps = append(steps, step)
		}
	}
	if accepted < len(accept) && !found.HasErrors() {
		return nil, nil, &evolve.AcceptError{Argument: strings.Join(accept, " "), Reason: "no lock has this change"}
	}
	return steps, found, nil
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
