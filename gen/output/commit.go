package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/words"
)

// ChangedError is the error for a file that has changed since Compare read it.
type ChangedError struct{ Path string }

// Error names the file and what to do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was changed by another process and left alone: run the command again", words.Printable(e.Path))
}

// Commit makes all of the changes, or none. It writes new contents to partial files
// next to the final ones, and renames them once all are on disk. If a step fails, or ctx is
// done, Commit undoes the previous steps.
//
// A process that is killed leaves a mixture of old, new and partial files. The next run
// completes the rest and removes the partial files. No file is ever incomplete under its
// final name, even after a power failure.
func (p *Changes) Commit(ctx context.Context) (err error) {
	c := &commit{changes: p, staged: make([]place, len(p.Steps))}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.undo())
		}
	}()
	for _, partial := range p.partial {
		if err := disk.remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := c.stage(ctx); err != nil {
		return err
	}
	if err := c.place(ctx); err != nil {
		return err
	}
	return c.settle()
}

// commit is the state of Changes.Commit.
type commit struct {
	changes *Changes
	staged  []place // the partial file of each step; zero if there is none, or no longer
	placed  []Step  // completed steps, in order
	folders []place // created folders, outer ones first
}

// stage creates missing folders, and writes the new contents to partial files.
func (c *commit) stage(ctx context.Context) error {
	for _, s := range c.changes.Steps {
		if s.Action != Create && s.Action != Update {
			continue
		}
		for _, dir := range missing(filepath.Dir(s.Path)) {
			folder := place{s.Base, dir}
			if err := disk.mkdir(folder); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			c.folders = append(c.folders, folder)
		}
	}
	errs := make([]error, len(c.changes.Steps))
	parallel.Waiting(len(c.changes.Steps), func(i int) {
		s := c.changes.Steps[i]
		if s.Action != Create && s.Action != Update {
			return
		}
		if errs[i] = context.Cause(ctx); errs[i] == nil {
			c.staged[i], errs[i] = stage(s.place(), s.New)
		}
	})
	return first(errs)
}

// first returns the first error that is not nil.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// place renames the partial files, and then removes files.
func (c *commit) place(ctx context.Context) error {
	for i, s := range c.changes.Steps {
		if c.staged[i] == (place{}) {
			continue
		}
		if err := errors.Join(context.Cause(ctx), unchanged(s)); err != nil {
			return err
		}
		if err := disk.rename(c.staged[i], s.place()); err != nil {
			return err
		}
		c.staged[i] = place{}
		c.placed = append(c.placed, s)
	}
	for _, s := range c.changes.Steps {
		if s.Action != Remove {
			continue
		}
		if err := errors.Join(context.Cause(ctx), unchanged(s)); err != nil {
			return err
		}
		if err := disk.remove(s.place()); err != nil {
			return err
		}
		c.placed = append(c.placed, s)
	}
	return nil
}

// unchanged returns a *ChangedError if a file has changed since Compare read it.
func unchanged(s Step) error {
	now, err := Replace(s.Path, s.Old)
	switch {
	case err != nil:
		return err
	case s.Action == Create && now.Action != Create, s.Action != Create && !bytes.Equal(now.Old, s.Old):
		return &ChangedError{s.Path}
	}
	return nil
}

// settle syncs the folders to disk, and removes folders that are now empty.
func (c *commit) settle() error {
	dirs := map[string]bool{}
	for _, s := range c.placed {
		dirs[filepath.Dir(s.Path)] = true
	}
	for _, dir := range c.folders {
		dirs[filepath.Dir(dir.path)] = true
	}
	for dir := range dirs {
		if err := disk.syncDir(dir); err != nil {
			return err
		}
	}
	for _, s := range c.placed {
		if s.Action == Remove {
			c.changes.prune(place{s.Base, filepath.Dir(s.Path)})
		}
	}
	return nil
}

// undo restores old files, and removes new files and folders.
func (c *commit) undo() error {
	var errs []error
	for _, name := range c.staged {
		if name != (place{}) {
			errs = append(errs, disk.remove(name))
		}
	}
	for _, s := range slices.Backward(c.placed) {
		if s.Action == Create {
			errs = append(errs, disk.remove(s.place()))
			continue
		}
		name, err := stage(s.place(), s.Old)
		if err == nil {
			err = disk.rename(name, s.place())
		}
		errs = append(errs, err)
	}
	for _, dir := range slices.Backward(c.folders) {
		_ = disk.rmdir(dir) // fails if another process has added files
	}
	return errors.Join(errs...)
}

// missing returns the folders to create for dir, outer ones first.
func missing(dir string) []string {
	var out []string
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			slices.Reverse(out)
			return out
		}
		out = append(out, dir)
		dir = filepath.Dir(dir)
	}
}

// prune removes an empty folder and its empty parents, up to the output folder. It keeps
// symbolic links.
func (p *Changes) prune(dir place) {
	root := p.rootOf(dir.path)
	for ; dir.path != root && len(dir.path) > len(root); dir.path = filepath.Dir(dir.path) {
		if info, err := os.Lstat(dir.path); err != nil || !info.IsDir() || disk.rmdir(dir) != nil {
			return // only an empty folder can be removed
		}
	}
}

// rootOf returns the innermost output folder that contains a folder; empty if there is none.
func (p *Changes) rootOf(dir string) string {
	out := ""
	for _, root := range p.roots {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) && len(root) > len(out) {
			out = root
		}
	}
	return out
}

// stage writes content to a partial file next to a file, with the permissions of the existing
// one, if any. It returns the partial file.
func stage(p place, content []byte) (place, error) {
	name := partialName(p)
	f, err := disk.create(name)
	if err != nil {
		return place{}, err
	}
	err = disk.write(f, content)
	if info, failed := os.Stat(p.path); err == nil && failed == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = disk.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return place{}, errors.Join(err, disk.remove(name))
	}
	return name, nil
}
