// Package files reads untrusted files: only regular ones, and only up to a size limit.
package files

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

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
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > most {
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
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// IsDir reports whether path is a folder.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
