package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/words"
)

// place is the path of a file or folder, and the folder that no symbolic link on the way may leave; empty for that of the path.
type place struct{ base, path string }

// Base returns the folder that a file which the user has named must not leave through symbolic links: the working directory, for a
// path below it; empty for others, which say themselves where they lead.
func Base(path string) string {
	if filepath.IsLocal(path) {
		return "."
	}
	return ""
}

// LinkError is the error for a path that a symbolic link leads out of the folder in which it is.
type LinkError struct {
	Path string
	Real string // the folder that it leads to
	Base string // the folder that it leaves
}

// Error names the path, where it leads, and what to write instead.
func (e *LinkError) Error() string {
	return fmt.Sprintf("%s leads through a symbolic link to %s, out of %s, and is not written: name the folder itself, with out in btgen.yaml or on the command line",
		words.Printable(e.Path), words.Printable(e.Real), words.Printable(e.Base))
}

// in changes a file in its folder, whatever happens to the folders on the way meanwhile. op is the name of the change in errors.
func (p place) in(op string, change func(root *os.Root, name string) error) error {
	base, name, err := p.resolve()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	err = change(root, name)
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return &fs.PathError{Op: op, Path: p.path, Err: of.Err}
	}
	return err
}

// resolve returns the folder that the path must not leave, and the path relative to it, without symbolic links except for the last
// element. The error is a *[LinkError] if it leaves it.
func (p place) resolve() (base, name string, err error) {
	if base, err = realPath(cmp.Or(p.base, filepath.Dir(p.path))); err != nil {
		return "", "", err
	}
	parent, err := realPath(filepath.Dir(p.path))
	if err != nil {
		return "", "", err
	}
	name, err = filepath.Rel(base, filepath.Join(parent, filepath.Base(p.path)))
	if err != nil || !filepath.IsLocal(name) {
		return "", "", &LinkError{p.path, parent, base}
	}
	return base, name, nil
}

// check returns the error of a path that leaves its folder, also if parts of the path do not exist yet.
func (p place) check() error {
	_, _, err := p.resolve()
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(p.path) != p.path {
		return place{p.base, filepath.Dir(p.path)}.check()
	}
	return err
}

// realPath returns the absolute path of an existing folder without symbolic links.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return files.Real(abs)
}
