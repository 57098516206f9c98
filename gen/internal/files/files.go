// Package files reads files that somebody else has put there: regular ones alone,
// and no more of them than fits into memory.
package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/btgen-dev/btgen/gen/words"
)

// NotRegularError says that a file is none that can be read to its end.
type NotRegularError struct {
	Path string
	Kind string // such as "a named pipe"
}

// Error names the file and what it is.
func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%s is %s, and is not read: replace it by a regular file, or remove it", words.Printable(e.Path), e.Kind)
}

// TooLargeError says that a file is larger than what is read of it.
type TooLargeError struct {
	Path string
	Most int64 // bytes
}

// Error names the file and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is over %s, and is not read: replace it by a smaller file, or remove it", words.Printable(e.Path), words.Size(float64(e.Most)))
}

// Read returns what a regular file holds. One that is larger than most bytes is
// a *[TooLargeError], one that is not regular a *[NotRegularError]. A symbolic
// link stands for the file that it leads to.
func Read(path string, most int64) ([]byte, error) {
	content, err := Head(path, most+1)
	if err == nil && int64(len(content)) > most {
		return nil, &TooLargeError{path, most}
	}
	return content, err
}

// Head returns the first n bytes of a regular file, or all of it if it is
// shorter. A file that is not regular is a *[NotRegularError].
func Head(path string, n int64) ([]byte, error) {
	info, err := os.Stat(path) // opening a named pipe would wait for its writer
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
	return io.ReadAll(io.LimitReader(f, n)) // what Stat says of a size is not always true
}

// IsRegular reports whether there is a regular file at the path.
func IsRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// IsDir reports whether there is a folder at the path.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// kind names a file that is not regular.
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
