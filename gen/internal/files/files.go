// Package files is how the commands read the disk: untrusted files, only regular ones and only up to
// a size limit, and what there is in folders. A [Trace] records what was read, so that a later run can
// tell whether it would read the same.
package files

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/btgen-dev/btgen/gen/words"
)

// NotRegularError is the error for a file that is not regular, such as a named pipe.
type NotRegularError struct {
	Path string
	Kind string // such as "a named pipe"
}

// Error returns the name of the file and what it is.
func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%s is %s and was not read: replace it with a regular file, or remove it", words.Printable(e.Path), e.Kind)
}

// TooLargeError is the error for a file over the size limit.
type TooLargeError struct {
	Path string
	Most int64 // bytes
}

// Error names the file and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %s and was not read: replace it with a smaller file, or remove it", words.Printable(e.Path), words.Size(float64(e.Most)))
}

// Read returns the content of a regular file. The error is a *[TooLargeError] if the file
// is larger than most bytes, and a *[NotRegularError] if it is not regular. Read follows
// symbolic links.
func Read(path string, most int64) ([]byte, error) {
	if info, err := Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > most {
		untraceable()                          // its size is not recorded
		return nil, &TooLargeError{path, most} // without its content in memory
	}
	content, err := Head(path, most+1)
	if err == nil && int64(len(content)) > most {
		return nil, &TooLargeError{path, most}
	}
	return content, err
}

// Head returns the first n bytes of a regular file, or all of a shorter one. The error is a
// *[NotRegularError] if the file is not regular.
func Head(path string, n int64) ([]byte, error) {
	content, err := head(path, n)
	answered(question{"head", path, n}, err, content)
	return content, err
}

func head(path string, n int64) ([]byte, error) {
	info, err := os.Stat(path) // opening a named pipe would block until it has a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &NotRegularError{path, kind(info.Mode())}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const spare = bytes.MinRead // ReadFrom grows what has less
	content := bytes.NewBuffer(make([]byte, 0, max(0, min(info.Size(), n))+spare))
	_, err = content.ReadFrom(io.LimitReader(f, n)) // the size that Stat returns is not reliable
	return content.Bytes(), err
}

// IsRegular reports whether path is a regular file.
func IsRegular(path string) bool {
	info, err := Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// IsDir reports whether path is a folder.
func IsDir(path string) bool {
	info, err := Stat(path)
	return err == nil && info.IsDir()
}

// Stat is [os.Stat]. A [Trace] records the type of the file alone.
func Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	answered(question{"stat", path, 0}, err, typeOf(info, err))
	return info, err
}

// Lstat is [os.Lstat]. A [Trace] records the type of the file alone.
func Lstat(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	answered(question{"lstat", path, 0}, err, typeOf(info, err))
	return info, err
}

// typeOf returns the type of a file, for a trace.
func typeOf(info fs.FileInfo, err error) []byte {
	if err != nil {
		return nil
	}
	return []byte(info.Mode().Type().String())
}

// ReadDir is [os.ReadDir].
func ReadDir(path string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(path)
	var names []byte
	for _, d := range entries {
		names = fmt.Appendf(names, "%q %s\n", d.Name(), d.Type())
	}
	answered(question{"list", path, 0}, err, names)
	return entries, err
}

// WalkDir is [filepath.WalkDir].
func WalkDir(root string, f fs.WalkDirFunc) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		result := f(path, d, err)
		if result == nil && (d == nil || d.IsDir()) {
			_, _ = ReadDir(path) // for the trace, and before WalkDir reads the folder: what changes between is then another answer
		}
		return result
	})
}

// Real is [filepath.EvalSymlinks].
func Real(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	answered(question{"real", path, 0}, err, []byte(real))
	return real, err
}

// Same is [os.SameFile], which a [Trace] cannot record.
func Same(a, b fs.FileInfo) bool {
	untraceable()
	return os.SameFile(a, b)
}

// Ignored reports whether git ignores a file: it is then in no commit, unless it was added before.
func Ignored(path string) bool {
	ignored := exec.Command("git", "check-ignore", "-q", "--", path).Run() == nil
	answered(question{"ignored", path, 0}, nil, strconv.AppendBool(nil, ignored))
	return ignored
}

// kind describes the type of a file that is not regular.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}
