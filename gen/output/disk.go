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

// disk contains all operations that change files, so that a test can end the process before
// each of them.
var disk operations

type operations struct {
	before func(what, path string) // called before each operation; nil outside of tests
}

func (d operations) step(what, path string) {
	if d.before != nil {
		d.before(what, path)
	}
}

func (d operations) mkdir(dir place) error {
	d.step("mkdir", dir.path)
	return dir.in("mkdir", func(root *os.Root, name string) error { return root.Mkdir(name, 0o777) })
}

// create creates a file, which must not exist.
func (d operations) create(p place) (f *os.File, err error) {
	d.step("create", p.path)
	err = p.in("open", func(root *os.Root, name string) error {
		f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	return f, err
}

func (d operations) write(f *os.File, content []byte) error {
	d.step("write", f.Name())
	_, err := f.Write(content)
	return err
}

// sync writes the content of a file to disk, so that it is there before its name.
func (d operations) sync(f *os.File) error {
	d.step("sync", f.Name())
	return f.Sync()
}

// syncDir writes the file names in a folder to disk.
func (d operations) syncDir(dir string) error {
	d.step("syncDir", dir)
	if runtime.GOOS == "windows" { // it syncs folders automatically, and cannot open them
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
	return nil // some file systems do not support it
}

// rename renames a file in its folder.
func (d operations) rename(from, to place) error {
	d.step("rename", to.path)
	return to.in("rename", func(root *os.Root, name string) error {
		return root.Rename(filepath.Join(filepath.Dir(name), filepath.Base(from.path)), name)
	})
}

func (d operations) remove(p place) error {
	d.step("remove", p.path)
	return p.in("remove", (*os.Root).Remove)
}

// rmdir removes an empty folder.
func (d operations) rmdir(dir place) error {
	d.step("rmdir", dir.path)
	return dir.in("rmdir", (*os.Root).Remove)
}

// A partial file is written next to the final one, and then renamed. Its name is
// .btgen-HASH-RANDOM.tmp, with a hash of the final name.
const partialPrefix, partialSuffix = ".btgen-", ".tmp"

var partialForm = regexp.MustCompile(`^\.btgen-[0-9a-f]{8}-[0-9a-f]{16}\.tmp$`)

// partialName returns the place of a new partial file.
func partialName(p place) place {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return place{p.base, filepath.Join(filepath.Dir(p.path), partialStart(p.path)+hex.EncodeToString(random[:])+partialSuffix)}
}

// partialStart returns the prefix of the names of a file's partial files.
func partialStart(path string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(path))) // never fails
	return partialPrefix + hex.EncodeToString(h.Sum(nil)) + "-"
}

// isPartial reports whether a file is the partial file of a generated one, left by a killed
// process. It checks the name, and the header as far as it was written.
func isPartial(path string) bool {
	if !partialForm.MatchString(filepath.Base(path)) {
		return false
	}
	head, err := files.Head(path, int64(len(Header)))
	return err == nil && bytes.HasPrefix([]byte(Header), head)
}

// partialsOf returns the partial files of a file.
func partialsOf(p place) ([]place, error) {
	entries, err := files.ReadDir(filepath.Dir(p.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []place
	for _, d := range entries {
		if strings.HasPrefix(d.Name(), partialStart(p.path)) && partialForm.MatchString(d.Name()) && d.Type().IsRegular() {
			out = append(out, place{p.base, filepath.Join(filepath.Dir(p.path), d.Name())})
		}
	}
	return out, err
}
