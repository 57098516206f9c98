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

// ChangedError says that a file is not as it was when the plan was made.
type ChangedError struct{ Path string }

// Error names the file and what to do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was changed meanwhile by somebody else, and is left alone: run the command again", words.Printable(e.Path))
}

// Commit carries the plan out, all of it or nothing: new contents are written
// beside the files first, and only when all of them are on disk are they put in
// place. Where that fails half-way, or ctx ends, what was done is undone.
//
// A process that is killed leaves old files, new ones and partial ones under names
// of their own. Then the next plan has what is left to do, and removes these. No
// file is ever incomplete under its name, also when the machine stops.
func (p *Plan) Commit(ctx context.Context) (err error) {
	c := &commit{plan: p, staged: make([]string, len(p.Steps))}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.undo())
		}
	}()
	for _, path := range p.partial {
		if err := disk.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// commit is a plan that is being carried out.
type commit struct {
	plan    *Plan
	staged  []string // the partial file of each step; empty where there is none (any more)
	placed  []Step   // in the order in which they were done
	folders []string // that were made, outer ones first
}

// stage writes the new contents beside the files.
func (c *commit) stage(ctx context.Context) error {
	for _, s := range c.plan.Steps {
		if s.Action != Create && s.Action != Update {
			continue
		}
		for _, dir := range missing(filepath.Dir(s.Path)) {
			if err := disk.mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			c.folders = append(c.folders, dir)
		}
	}
	errs := make([]error, len(c.plan.Steps))
	parallel.Waiting(len(c.plan.Steps), func(i int) {
		s := c.plan.Steps[i]
		if s.Action != Create && s.Action != Update {
			return
		}
		if errs[i] = context.Cause(ctx); errs[i] == nil {
			c.staged[i], errs[i] = stage(s.Path, s.New)
		}
	})
	return first(errs)
}

// first returns the first error that there is.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// place puts the new files in place, and then removes the others.
func (c *commit) place(ctx context.Context) error {
	for i, s := range c.plan.Steps {
		if c.staged[i] == "" {
			continue
		}
		if err := errors.Join(context.Cause(ctx), unchanged(s)); err != nil {
			return err
		}
		if err := disk.rename(c.staged[i], s.Path); err != nil {
			return err
		}
		c.staged[i] = ""
		c.placed = append(c.placed, s)
	}
	for _, s := range c.plan.Steps {
		if s.Action != Remove {
			continue
		}
		if err := errors.Join(context.Cause(ctx), unchanged(s)); err != nil {
			return err
		}
		if err := disk.remove(s.Path); err != nil {
			return err
		}
		c.placed = append(c.placed, s)
	}
	return nil
}

// unchanged fails if a file is not as the plan has seen it.
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

// settle has the folders on disk, and removes those that removals have left empty.
func (c *commit) settle() error {
	dirs := map[string]bool{}
	for _, s := range c.placed {
		dirs[filepath.Dir(s.Path)] = true
	}
	for _, dir := range c.folders {
		dirs[filepath.Dir(dir)] = true
	}
	for dir := range dirs {
		if err := disk.syncDir(dir); err != nil {
			return err
		}
	}
	for _, s := range c.placed {
		if s.Action == Remove {
			c.plan.prune(filepath.Dir(s.Path))
		}
	}
	return nil
}

// undo brings back what was there, and removes what was made.
func (c *commit) undo() error {
	var errs []error
	for _, name := range c.staged {
		if name != "" {
			errs = append(errs, disk.remove(name))
		}
	}
	for _, s := range slices.Backward(c.placed) {
		if s.Action == Create {
			errs = append(errs, disk.remove(s.Path))
			continue
		}
		name, err := stage(s.Path, s.Old)
		if err == nil {
			err = disk.rename(name, s.Path)
		}
		errs = append(errs, err)
	}
	for _, dir := range slices.Backward(c.folders) {
		_ = disk.rmdir(dir) // others may have put something there
	}
	return errors.Join(errs...)
}

// missing returns the folders that have to be made for dir, outer ones first.
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

// prune removes a folder that is empty, and those above it below the output folder.
// A symbolic link to a folder stays.
func (p *Plan) prune(dir string) {
	for ; dir != p.root && len(dir) > len(p.root); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || disk.rmdir(dir) != nil {
			return // only an empty folder can be removed
		}
	}
}

// stage writes content beside a file, and returns the name that it has there. It has
// the permissions of the file, or the usual ones.
func stage(path string, content []byte) (string, error) {
	name := partialName(path)
	f, err := disk.create(name)
	if err != nil {
		return "", err
	}
	err = disk.write(f, content)
	if info, failed := os.Stat(path); err == nil && failed == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = disk.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, disk.remove(name))
	}
	return name, nil
}
