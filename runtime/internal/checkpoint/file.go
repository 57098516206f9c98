package checkpoint

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSize is the maximum size of a checkpoint in bytes.
const maxSize = 256 << 20

// File is the checkpoint of a call. Its methods are not safe for concurrent use.
type File struct {
	// Write replaces the contents of the file. A test may set another function.
	Write func(text []byte) error

	name   string
	call   Call
	unlock func()
	last   os.FileInfo // of the file as it was read or written; nil if it did not exist
}

// errLocked is the error of lockFile if another process has the lock.
var errLocked = errors.New("locked by another process")

// errLarge is the error of a file that no program has written as a checkpoint.
var errLarge = fmt.Errorf("it is larger than %d MB", maxSize>>20)

// read returns the contents; nil if the file does not exist. It reads regular files only, up to
// maxSize.
func (f *File) read() ([]byte, error) {
	info, err := os.Lstat(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a named pipe would wait for its writer
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > maxSize {
		return nil, errLarge
	}
	file, err := os.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, errors.New("it was replaced while it was opened"))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err == nil && len(text) > maxSize {
		return nil, errLarge
	}
	f.last = info
	return text, err
}

// ErrReplaced is the error for a checkpoint that another process has written in spite of the lock.
var ErrReplaced = errors.New("another process has replaced the file; only one of them may continue")

// replace replaces the file so that it has either its old or its new contents, whenever
// the process is killed or the machine loses power. It follows no symbolic link, and fails if
// another process, on another machine perhaps, has replaced the file.
func (f *File) replace(text []byte) (err error) {
	info, err := os.Lstat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case f.last == nil || !os.SameFile(f.last, info):
		return ErrReplaced
	}
	file, err := os.CreateTemp(filepath.Dir(f.name), partialStart(f.name)+"*"+partialEnd) // only its owner may read row keys
	if err != nil {
		return err
	}
	temporary := file.Name()
	defer func() {
		if err != nil {
			_ = os.Remove(temporary)
		}
	}()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync()); err == nil {
		info, err = file.Stat()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, f.name); err != nil {
		return err
	}
	f.last = info
	if dir, err := os.Open(filepath.Dir(f.name)); err == nil {
		_ = dir.Sync() // not supported by all systems
		_ = dir.Close()
	}
	return nil
}

// A partial file is written next to the checkpoint, and then renamed. partialStart returns what its name begins with.
func partialStart(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(name))) // never fails
	return fmt.Sprintf(".btgen-checkpoint-%08x-", h.Sum32())
}

// partialEnd ends the names of partial files.
const partialEnd = ".tmp"

// removePartial removes the partial files of processes that were killed.
func (f *File) removePartial() {
	entries, _ := os.ReadDir(filepath.Dir(f.name)) // without the folder, there are none
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), partialStart(f.name)) && strings.HasSuffix(e.Name(), partialEnd) {
			_ = os.Remove(filepath.Join(filepath.Dir(f.name), e.Name()))
		}
	}
}
