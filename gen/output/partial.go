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
	name string // that the file gets
}

// CreatePartial creates a partial file, with the permissions of the file that it replaces, if
// any. If the name is a symbolic link to a file, that file is replaced, and the link kept.
func CreatePartial(name string) (*Partial, error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := disk.create(partialName(name))
	if err != nil {
		return nil, err
	}
	if info, failed := os.Stat(name); failed == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	p := &Partial{f, name}
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
		err = disk.rename(p.Name(), p.name)
	}
	if err != nil {
		return errors.Join(err, disk.remove(p.Name()))
	}
	return disk.syncDir(filepath.Dir(p.name))
}

// Discard closes and removes the file.
func (p *Partial) Discard() error { return errors.Join(p.Close(), disk.remove(p.Name())) }
