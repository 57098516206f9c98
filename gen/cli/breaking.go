package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/project"
)

// Changes returns the schema changes of a project, most severe first. against is "lock", the
// name of a folder with the schemas of an earlier version, or git: and a revision. Errors in
// schemas are a [diag.List]. clock is the current time, which determines the layouts of
// tables that have begun or expired.
func Changes(p *project.Project, against string, clock time.Time) ([]evolve.Finding, error) {
	locks, err := p.Locks()
	if err != nil {
		return nil, err
	}
	new, found := gen.Layouts(p.Inputs)
	if found.HasErrors() {
		return nil, found
	}
	before, err := beforeOf(p, against, locks)
	if err != nil {
		return nil, err
	}
	var out []evolve.Finding
	for i, l := range locks {
		now, err := ReadLock(l.Path)
		if err != nil {
			return nil, err
		}
		old := now
		if before != nil && i > 0 {
			continue // all schemas are compared with the other version at once
		}
		if before != nil {
			old, l.Whole = before.lock, p.Whole()
			for _, in := range p.Inputs {
				l.Files[in.Name] = true
			}
		}
		c := Compare(p, l, old, new, clock)
		if before != nil {
			c.AddNames(before.versions, versions(p.Inputs, new))
		}
		c.MarkAccepted(now)
		out = append(out, c.Findings...)
	}
	slices.SortStableFunc(out, func(a, b evolve.Finding) int { return int(a.Class - b.Class) })
	return out, nil
}

// earlier is an earlier version of a project.
type earlier struct {
	lock     *lock.Lock
	versions []evolve.Version
}

// beforeOf returns the version that a project is compared with; nil for its locks.
func beforeOf(p *project.Project, against string, locks []project.Lock) (*earlier, error) {
	ref, isGit := strings.CutPrefix(against, "git:")
	switch {
	case against == "lock":
		for _, l := range locks {
			if !files.IsRegular(l.Path) {
				return nil, fmt.Errorf("%s does not exist: run btgen generate to create it, or compare with another version: --against git:main", filepath.ToSlash(l.Path))
			}
		}
		return nil, nil
	case isGit:
		r, err := project.LoadRevision(ref)
		if err != nil {
			return nil, err
		}
		return earlierOf(r.Inputs, against+":"+lock.Name, r.Lock)
	}
	inputs, err := project.LoadOther(against)
	if err != nil {
		return nil, err
	}
	text, _ := files.Head(filepath.Join(against, lock.Name), maxLock) // there may be none
	if _, err := os.Stat(filepath.Join(against, lock.Name)); err != nil {
		text = nil
	}
	return earlierOf(inputs, filepath.Join(against, lock.Name), text)
}

// earlierOf resolves an earlier version. Its lock may be nil; then its facts are those of its
// schemas.
func earlierOf(inputs []gen.Input, lockName string, text []byte) (*earlier, error) {
	old, found := gen.Layouts(inputs)
	if found.HasErrors() {
		return nil, found
	}
	out := &earlier{lock: evolve.LockOf(old), versions: versions(inputs, old)}
	if text != nil {
		var err error
		if out.lock, err = lock.Parse(filepath.ToSlash(lockName), text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// versions returns layouts with the texts of their schemas.
func versions(inputs []gen.Input, layouts []*layout.Layout) []evolve.Version {
	texts := map[string][]byte{}
	for _, in := range inputs {
		texts[in.Name] = in.Text
	}
	var out []evolve.Version
	for _, l := range layouts {
		out = append(out, evolve.Version{Layout: l, Text: texts[l.File]})
	}
	return out
}

// ListOf returns the diagnostics of findings.
func ListOf(findings []evolve.Finding) diag.List {
	out := make(diag.List, len(findings))
	for i, f := range findings {
		out[i] = f.Report()
	}
	return out
}
