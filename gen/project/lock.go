package project

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/lock"
)

// Lock is a btgen.lock and the schemas of a run whose tables it has.
type Lock struct {
	Path  string          // relative to the working directory if that contains it
	Files map[string]bool // names of the inputs
	// Whole reports whether these are all schemas of the lock. A table of the lock that is in
	// none of them was then removed.
	Whole bool
}

// Locks returns the locks of the schemas, sorted by path. A lock is next to the btgen.yaml
// that names the schemas. Without one, it is the nearest existing one above the schema, up to
// the working directory, or next to the folder schemas above it, and otherwise in the working
// directory. For a schema outside of the working directory, a new lock is next to the folder
// of the schema.
func (p *Project) Locks() ([]Lock, error) {
	byDir := map[string]*Lock{}
	var dirs []string
	known := map[string]*config{}
	for _, in := range p.Inputs {
		dir, err := p.lockDir(filepath.FromSlash(in.Name), known)
		if err != nil {
			return nil, err
		}
		if byDir[dir] == nil {
			byDir[dir] = &Lock{Path: filepath.Join(dir, lock.Name), Files: map[string]bool{}}
			dirs = append(dirs, dir)
		}
		byDir[dir].Files[in.Name] = true
	}
	named := map[string]bool{}
	for _, dir := range p.folders { // its schemas may have moved
		if !files.IsRegular(filepath.Join(dir, lock.Name)) {
			continue
		}
		dir, err := shownPath(dir)
		if err != nil {
			return nil, err
		}
		if named[dir] = true; byDir[dir] == nil {
			byDir[dir] = &Lock{Path: filepath.Join(dir, lock.Name), Files: map[string]bool{}}
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	var out []Lock
	for _, dir := range dirs {
		l := byDir[dir]
		l.Whole = dir == "." && p.hasAll() || named[dir] && includes(l.Files, dir)
		out = append(out, *l)
	}
	return out, nil
}

// Complete reports whether the run includes all schemas of a lock's project.
func (p *Project) Complete(l Lock) bool {
	if l.Whole {
		return true
	}
	return includes(l.Files, filepath.Dir(l.Path))
}

// includes reports whether files are all schemas of the project of a folder.
func includes(names map[string]bool, dir string) bool {
	known := map[string]bool{}
	for name := range names {
		if abs, err := filepath.Abs(filepath.FromSlash(name)); err == nil {
			known[abs] = true
		}
	}
	inputs, err := LoadOther(dir)
	for _, in := range inputs {
		if abs, failed := filepath.Abs(filepath.FromSlash(in.Name)); failed != nil || !known[abs] {
			return false
		}
	}
	return err == nil || len(names) == 0 // all have moved
}

// Whole reports whether the schemas are all schemas of the project of the working directory.
func (p *Project) Whole() bool { return p.hasAll() }

// hasAll reports whether the schemas of the run are all schemas of the working directory's
// project: those of no arguments, or of arguments that contain the same folders. Without a
// btgen.yaml and the folder DefaultSchemas, any folders are those of the project.
func (p *Project) hasAll() bool {
	if p.whole {
		return true
	}
	has := func(root string) bool {
		return slices.ContainsFunc(p.folders, func(dir string) bool { return filepath.Clean(dir) == filepath.Clean(root) })
	}
	if p.config == nil && !files.IsDir(DefaultSchemas) {
		return len(p.folders) > 0
	}
	return !slices.ContainsFunc(p.config.schemas(), func(root string) bool { return !has(root) })
}

// lockDir returns the folder of the lock of a schema.
func (p *Project) lockDir(file string, known map[string]*config) (string, error) {
	if p.whole && p.config != nil {
		return ".", nil
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if p.config != nil && p.config.names(abs) {
		return ".", nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(wd, abs)
	inside := err == nil && filepath.IsLocal(rel)
	found := ""
	above := false // whether dir is above the working directory
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		if !p.whole && dir != wd {
			c, err := configOf(dir, known)
			if err != nil {
				return "", err
			}
			if c != nil && c.names(abs) {
				return shown(wd, dir), nil
			}
		}
		if found == "" && files.IsRegular(filepath.Join(dir, lock.Name)) && (!above || isDefault(dir, abs)) {
			found = dir
		}
		above = above || inside && dir == wd
		if dir == filepath.Dir(dir) {
			break
		}
	}
	switch {
	case found != "":
		return shown(wd, found), nil
	case inside:
		return ".", nil
	}
	return shown(wd, filepath.Dir(filepath.Dir(abs))), nil
}

// isDefault reports whether a file is in the default folder for schemas of a project.
func isDefault(project, file string) bool {
	rel, err := filepath.Rel(filepath.Join(project, DefaultSchemas), file)
	return err == nil && filepath.IsLocal(rel)
}

// configOf returns the btgen.yaml of a folder; nil if there is none. known caches them.
func configOf(dir string, known map[string]*config) (*config, error) {
	c, read := known[dir]
	if read {
		return c, nil
	}
	c, err := loadConfig(dir)
	if err == nil {
		known[dir] = c
	}
	return c, err
}

// shownPath is shown for a path as the user has written it.
func shownPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	wd, err := os.Getwd()
	return shown(wd, abs), err
}

// shown returns a folder relative to the working directory, if that contains it.
func shown(wd, dir string) string {
	if rel, err := filepath.Rel(wd, dir); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return dir
}
