package cli

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/btgen-dev/btgen/gen/words"
)

// Changes returns the schema changes of a project, most severe first, and notes about the
// comparison. against is "lock", the name of a folder with the schemas of an earlier version, or
// git: and a revision; exact compares with the revision itself, though the branch lacks commits of
// it. Errors in schemas are a [diag.List]. clock is the current time, which
// determines the layouts of tables that have begun or expired.
func Changes(p *project.Project, against string, exact bool, clock time.Time) ([]evolve.Finding, []string, error) {
	locks, err := p.Locks()
	if err != nil {
		return nil, nil, err
	}
	new, found := gen.Layouts(p.Inputs)
	if found.HasErrors() {
		return nil, nil, found
	}
	versions, err := beforeOf(p, against, exact, locks, new)
	if err != nil {
		return nil, nil, err
	}
	if versions != nil {
		return sinceVersions(p, locks, versions, new, clock)
	}
	now, err := readLocks(p, locks, new)
	if err != nil {
		return nil, nil, err
	}
	var out []evolve.Finding
	var notes []string
	for i, l := range locks {
		c := Compare(p, l, now[i], new, clock)
		c.Propose(waysOf(p, l, now[i], new, clock, ""))
		out = append(out, c.Findings...)
		if begun := now[i].Begun(clock); begun != nil {
			out = append(out, begunSince(p, l, new, clock, c)...)
			notes = append(notes, fmt.Sprintf("%s has layouts that have begun (%s): whether events since then are stored in the earlier ones, only a comparison with the revision that programs run (--against git:REVISION), or with the instance (btgen-live plan), can tell",
				filepath.ToSlash(l.Path), strings.Join(begun, ", ")))
		}
	}
	slices.SortStableFunc(out, func(a, b evolve.Finding) int { return int(a.Rule.Class - b.Rule.Class) })
	return out, notes, nil
}

// begunSince returns the findings for layouts that began in the past, and that the last commit of
// git does not have yet, beside those that are found anyway.
func begunSince(p *project.Project, l project.Lock, new []*layout.Layout, clock time.Time, than *evolve.Comparison) []evolve.Finding {
	text := project.LockAt("HEAD", l.Path)
	committed, err := lock.Parse(l.Path, text)
	if err != nil {
		return nil // there is none
	}
	c := Compare(p, l, committed, new, clock)
	c.Propose(waysOf(p, l, committed, new, clock, "git checkout HEAD -- "+filepath.ToSlash(l.Path)))
	return slices.DeleteFunc(c.Findings, func(f evolve.Finding) bool {
		return !f.MovesLayout() || slices.ContainsFunc(than.Findings, func(o evolve.Finding) bool { return o.Name == f.Name })
	})
}

// waysOf returns the comparisons with a lock that btgen generate makes: without a clock, and with
// --now. first is the command that restores the lock; empty if it is the present one.
func waysOf(p *project.Project, l project.Lock, old *lock.Lock, new []*layout.Layout, clock time.Time, first string) []evolve.Way {
	return []evolve.Way{
		{First: first, Then: Compare(p, l, old, new, time.Time{})},
		{First: first, Then: Compare(p, l, old, new, clock.UTC().Truncate(time.Second))},
	}
}

// sinceVersions returns the changes since any of several versions, and the notes about these.
func sinceVersions(p *project.Project, locks []project.Lock, all []*earlier, new []*layout.Layout, clock time.Time) ([]evolve.Finding, []string, error) {
	var out []evolve.Finding
	var notes []string
	for _, before := range all {
		some, err := sinceVersion(p, locks, before, new, clock)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range some {
			if !slices.ContainsFunc(out, func(o evolve.Finding) bool { return sameFinding(o, f) }) {
				out = append(out, f)
			}
		}
		notes = append(notes, before.notes...)
	}
	slices.SortStableFunc(out, func(a, b evolve.Finding) int { return int(a.Rule.Class - b.Rule.Class) })
	return out, notes, nil
}

// sameFinding reports whether two findings, since different versions, say the same.
func sameFinding(a, b evolve.Finding) bool {
	return a.Name == b.Name && a.Accepted == b.Accepted && a.Diagnostic.Rule == b.Diagnostic.Rule &&
		a.Diagnostic.Pos == b.Diagnostic.Pos && a.Diagnostic.Message == b.Diagnostic.Message
}

// sinceVersion returns the changes since another version: of all schemas at once, and of the
// facts that its lock has.
func sinceVersion(p *project.Project, locks []project.Lock, before *earlier, new []*layout.Layout, clock time.Time) ([]evolve.Finding, error) {
	present, err := readLocks(p, locks, new)
	if err != nil {
		return nil, err
	}
	now := &lock.Lock{}
	var ways []evolve.Way
	for i, l := range locks {
		ways = append(ways, waysOf(p, l, present[i], new, clock, "")...)
		one, err := ReadLock(l.Path)
		if err != nil {
			return nil, err
		}
		now.Tables, now.Epochs = append(now.Tables, one.Tables...), append(now.Epochs, one.Epochs...)
	}
	file := filepath.ToSlash(locks[0].Path)
	restore := cmp.Or(before.copy, before.restore+" "+file)
	if before.file != nil && len(locks) == 1 {
		ways = append(ways, waysOf(p, locks[0], before.file, new, clock, restore)...)
	}
	all := locks[0]
	all.Whole, all.Files = p.Whole() || !slices.ContainsFunc(locks, func(l project.Lock) bool { return !l.Whole }), map[string]bool{}
	for _, in := range p.Inputs {
		all.Files[in.Name] = true
	}
	before.lock.Tables = slices.DeleteFunc(before.lock.Tables, func(t lock.Table) bool { return movedAway(&t, now, locks) })
	c := Compare(p, all, before.lock, new, clock)
	c.AddNames(before.versions, versions(p.Inputs, new))
	c.MarkAccepted(now, Compare(p, all, &lock.Lock{Tables: now.Tables}, new, clock)) // whose epochs are of several locks
	c.Propose(ways)
	if before.locked {
		text := now.Text()
		at := func(t *lock.Table) diag.Pos { return diag.Pos{File: file, Line: lock.Line(text, t)} }
		c.AddForgotten(now, at, restore)
	}
	return c.Findings, nil
}

// earlier is an earlier version of a project.
type earlier struct {
	lock     *lock.Lock
	locked   bool       // whether it has a file with the lock
	file     *lock.Lock // that the command restores; nil if there is none
	versions []evolve.Version
	restore  string   // the command that restores this file, up to its name
	copy     string   // the command that takes it from another folder; empty if it is in this one
	notes    []string // about the choice of the version
}

// Earlier returns a text that changes whenever the earlier version of [Changes] may have: the commits of git, or the contents of
// the folder. It is empty for the locks of the project.
func Earlier(against string) string {
	if ref, isGit := strings.CutPrefix(against, "git:"); isGit {
		return project.Commits(ref)
	}
	if against == "lock" {
		return ""
	}
	inputs, err := project.LoadOther(against)
	text, unread := lockIn(against)
	for _, in := range inputs {
		text = fmt.Appendf(text, "%q%q", in.Name, in.Text)
	}
	return fmt.Sprintf("%x %v", sha256.Sum256(text), errors.Join(err, unread))
}

// lockIn returns the text of the lock in a folder; nil if there is none.
func lockIn(dir string) ([]byte, error) {
	text, err := files.Read(filepath.Join(dir, lock.Name), maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// beforeOf returns the versions that a project is compared with; nil for its locks.
func beforeOf(p *project.Project, against string, exact bool, locks []project.Lock, new []*layout.Layout) ([]*earlier, error) {
	ref, isGit := strings.CutPrefix(against, "git:")
	switch {
	case against == "lock":
		for _, l := range locks {
			if !files.IsRegular(l.Path) {
				return nil, fmt.Errorf("%[1]s does not exist: restore it with git checkout HEAD -- %[1]s, run btgen generate if there was none, or compare with another version: --against git:main", filepath.ToSlash(l.Path))
			}
		}
		return nil, nil
	case isGit:
		return revisionsOf(p, ref, exact, locks, new)
	}
	if _, err := files.Stat(against); errors.Is(err, fs.ErrNotExist) {
		name := words.Printable(against)
		return nil, fmt.Errorf("--against %s: there is no such folder, so nothing is compared; for a branch, tag or commit of git, write --against git:%s", name, name)
	}
	inputs, err := project.LoadOther(against)
	if err != nil {
		return nil, err
	}
	text, err := lockIn(against)
	if err != nil {
		return nil, err
	}
	out, err := earlierOf(inputs, filepath.Join(against, lock.Name), text)
	if err != nil {
		return nil, err
	}
	out.restore = "cp " + filepath.ToSlash(filepath.Join(against, lock.Name))
	return []*earlier{out}, nil
}

// revisionsOf returns the versions of a revision of git.
func revisionsOf(p *project.Project, ref string, exact bool, locks []project.Lock, new []*layout.Layout) ([]*earlier, error) {
	all, err := project.LoadRevisions(ref, exact)
	if err != nil {
		return nil, err
	}
	var out []*earlier
	for _, r := range all {
		one, err := earlierOf(r.Inputs, "git:"+ref+":"+lock.Name, r.Lock)
		if err != nil {
			return nil, err
		}
		one.restore = "git checkout " + ref + " --"
		if r.Base != "" {
			one.restore = "git checkout " + r.Base + " --"
			one.notes = []string{fmt.Sprintf("%s has commits that this branch lacks: compared with their last common commit, %s", words.Printable(ref), r.Base)}
		}
		newElsewhere(p, locks, new).add(one, r, cmp.Or(r.Base, ref))
		out = append(out, one)
	}
	return out, nil
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
		out.locked = true
		var err error
		if out.lock, err = lock.Parse(filepath.ToSlash(lockName), text); err != nil {
			return nil, err
		}
		file := *out.lock
		file.Tables = slices.Clone(file.Tables)
		out.file = &file
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
