package output

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/btgen-dev/btgen/gen/internal/files"
)

// disk is what changes files. All that does is here, so that a test can end the
// process before each step.
var disk operations

type operations struct {
	before func(what, path string) // is called before each step; nil outside of tests
}

func (d operations) step(what, path string) {
	if d.before != nil {
		d.before(what, path)
	}
}

func (d operations) mkdir(dir string) error {
	d.step("mkdir", dir)
	return os.Mkdir(dir, 0o777)
}

// create makes a file that is not there.
func (d operations) create(path string) (*os.File, error) {
	d.step("create", path)
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

func (d operations) write(f *os.File, content []byte) error {
	d.step("write", f.Name())
	_, err := f.Write(content)
	return err
}

// sync has the content of a file on disk before its name is.
func (d operations) sync(f *os.File) error {
	d.step("sync", f.Name())
	return f.Sync()
}

// syncDir has the names in a folder on disk.
func (d operations) syncDir(dir string) error {
	d.step("syncDir", dir)
	if runtime.GOOS == "windows" { // which does that by itself, and opens no folders
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); !isAny(err, syscall.EINVAL, syscall.ENOTSUP, errors.ErrUnsupported) {
		return err
	}
	return nil // not all file systems can do that
}

func (d operations) rename(from, to string) error {
	d.step("rename", to)
	return os.Rename(from, to)
}

func (d operations) remove(path string) error {
	d.step("remove", path)
	return os.Remove(path)
}

// rmdir removes an empty folder.
func (d operations) rmdir(dir string) error {
	d.step("rmdir", dir)
	return os.Remove(dir)
}

// A partial file is one that is being written, beside the one that it becomes. Its
// name says which that is, and that it is btgen's: .btgen-HASH-RANDOM.tmp.
const partialPrefix, partialSuffix = ".btgen-", ".tmp"

var partialForm = regexp.MustCompile(`^\.btgen-[0-9a-f]{8}-[0-9a-f]{16}\.tmp$`)

// partialName returns the name of a new partial file.
func partialName(path string) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	return filepath.Join(filepath.Dir(path), partialStart(path)+hex.EncodeToString(random[:])+partialSuffix)
}

// partialStart is what the names of the partial files of a file begin with.
func partialStart(path string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(path))) // it never fails
	return partialPrefix + hex.EncodeToString(h.Sum(nil)) + "-"
}

// isPartial reports whether a file is a generated one that was being written when
// its process was killed: by its name, and by what it holds of the header.
func isPartial(path string) bool {
	if !partialForm.MatchString(filepath.Base(path)) {
		return false
	}
	head, err := files.Head(path, int64(len(Header)))
	return err == nil && bytes.HasPrefix([]byte(Header), head)
}

// partialsOf returns the partial files of a file that the user has named.
func partialsOf(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, d := range entries {
		if strings.HasPrefix(d.Name(), partialStart(path)) && partialForm.MatchString(d.Name()) && d.Type().IsRegular() {
			out = append(out, filepath.Join(filepath.Dir(path), d.Name()))
		}
	}
	return out, err
}
