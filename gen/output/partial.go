package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Partial is a file that gets its name once it is complete. Until then, its content is in a file
// next to it with a random name, which did not exist before.
type Partial struct {
	*os.File
	partial, final place
}

// CreatePartial creates a partial file, with the permissions of the file that it replaces, if
// any. If the name is a symbolic link to a file, that file is replaced, and the link kept.
func CreatePartial(name string) (*Partial, error) {
	base := Base(name)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	final := place{base, name}
	partial := partialName(final)
	f, err := disk.create(partial)
	if err != nil {
		return nil, err
	}
	if info, failed := os.Stat(name); failed == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	p := &Partial{f, partial, final}
	if err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	return p, nil
}

// Complete gives the file its name. Its content is then on disk. After an error, the file that
// had the name before is unchanged.
func (p *Partial) Complete() error {
	err := disk.sync(p.File)
	if err = errors.Join(err, p.Close()); err == nil {
		err = disk.rename(p.partial, p.final)
	}
	if err != nil {
		return errors.Join(err, disk.remove(p.partial))
	}
	return disk.syncDir(filepath.Dir(p.final.path))
}

// Discard closes and removes the file.
func (p *Partial) Discard() error { return errors.Join(p.Close(), disk.remove(p.partial)) }

// WriteNew creates a file and the folders that it lacks. The error is fs.ErrExist if the file exists.
func WriteNew(path string, content []byte) error {
	at := place{Base(path), path}
	for _, dir := range missing(filepath.Dir(path)) {
		if err := disk.mkdir(place{at.base, dir}); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	f, err := disk.create(at)
	if err != nil {
		return err
	}
	if err = errors.Join(disk.write(f, content), f.Close()); err != nil {
		return errors.Join(err, disk.remove(at)) // incomplete
	}
	return nil
}
