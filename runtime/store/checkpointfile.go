package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxCheckpoint is the maximum size of a checkpoint in bytes.
const maxCheckpoint = 256 << 20

// checkpointFile is a file that one process at a time reads and replaces. Its methods are not
// safe for concurrent use.
type checkpointFile struct {
	name   string
	unlock func()
	last   os.FileInfo // of the file as it was read or written; nil if it did not exist
	write  func(text []byte) error
}

// openCheckpoint locks a checkpoint. The lock is a file of the operating system, NAME.lock, that
// a process loses when it ends in any way; it stays and is empty.
func openCheckpoint(name string) (*checkpointFile, error) {
	unlock, err := lockFile(name + ".lock")
	switch {
	case errors.Is(err, errLocked):
		return nil, &CheckpointError{name, "in use by another process: wait until it ends, or use another file", nil}
	case err != nil:
		return nil, &CheckpointError{name, "not writable", err}
	}
	f := &checkpointFile{name: name, unlock: unlock}
	f.write = f.replace
	f.removePartial()
	return f, nil
}

// errLocked is the error of lockFile if another process has the lock.
var errLocked = errors.New("locked by another process")

// errLargeCheckpoint is the error of a file that no program has written as a checkpoint.
var errLargeCheckpoint = fmt.Errorf("it is larger than %d MB", maxCheckpoint>>20)

// read returns the contents; nil if the file does not exist. It reads regular files only, up to
// maxCheckpoint.
func (f *checkpointFile) read() ([]byte, error) {
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
	if info.Size() > maxCheckpoint {
		return nil, errLargeCheckpoint
	}
	file, err := os.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, errors.New("it was replaced while it was opened"))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxCheckpoint+1))
	if err == nil && len(text) > maxCheckpoint {
		return nil, errLargeCheckpoint
	}
	f.last = info
	return text, err
}

// errCheckpointReplaced is the error for a checkpoint that another process has written in spite of the lock.
var errCheckpointReplaced = errors.New("another process has replaced the file; only one of them may continue")

// replace replaces the file so that it has either its old or its new contents, whenever
// the process is killed or the machine loses power. It follows no symbolic link, and fails if
// another process, on another machine perhaps, has replaced the file.
func (f *checkpointFile) replace(text []byte) (err error) {
	info, err := os.Lstat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case f.last == nil || !os.SameFile(f.last, info):
		return errCheckpointReplaced
	}
	temporary := partialOf(f.name)
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // it has row keys
	if err != nil {
		return err
	}
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

// save replaces the contents by a value as JSON.
func (f *checkpointFile) save(contents any) error {
	text, err := checkedText(contents)
	switch {
	case err != nil:
		return err
	case len(text) > maxCheckpoint:
		return fmt.Errorf("it would be larger than %d MB", maxCheckpoint>>20)
	}
	return f.write(text)
}

// checkedText returns the contents of a file: JSON and a line with its SHA-256.
func checkedText(contents any) ([]byte, error) {
	body, err := json.Marshal(contents)
	return fmt.Appendf(body, "\n%s\n", checksum(body)), err
}

// The commands with checkpoints.
const (
	backfillCommand = "backfill"
	rollupCommand   = "rollup"
)

// foreignCheckpoint returns an error if the contents of a file are the checkpoint of another command, which is valid
// and must not be deleted.
func foreignCheckpoint(name string, text []byte, command string) error {
	var has struct { // what only the checkpoints of one command have
		Source  string   `json:"source"`
		Layouts []string `json:"layouts"`
	}
	body, _, _ := bytes.Cut(text, []byte("\n"))
	_ = json.Unmarshal(body, &has) // a damaged file belongs to none
	owner := command
	switch {
	case has.Source != "":
		owner = backfillCommand
	case has.Layouts != nil:
		owner = rollupCommand
	}
	if owner == command {
		return nil
	}
	return &CheckpointError{name, "belongs to another command, " + owner + ": use another file", nil}
}

// parseChecked is the inverse of checkedText.
func parseChecked(text []byte, to any) error {
	body, sum, found := bytes.Cut(text, []byte("\n"))
	if !found || string(bytes.TrimSuffix(sum, []byte("\n"))) != checksum(body) {
		return errors.New("damaged: the checksum is wrong")
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	return nil
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// A partial file is written next to the checkpoint, and then renamed. Its name is
// .btgen-checkpoint-HASH-RANDOM.tmp, with a hash of the final name.
var partialForm = regexp.MustCompile(`^\.btgen-checkpoint-[0-9a-f]{8}-[0-9a-f]{16}\.tmp$`)

// partialStart returns what the names of a file's partial files begin with.
func partialStart(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(name))) // never fails
	return fmt.Sprintf(".btgen-checkpoint-%08x-", h.Sum32())
}

// partialOf returns the name of a new partial file.
func partialOf(name string) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return filepath.Join(filepath.Dir(name), partialStart(name)+hex.EncodeToString(random[:])+".tmp")
}

// removePartial removes the partial files of processes that were killed.
func (f *checkpointFile) removePartial() {
	entries, err := os.ReadDir(filepath.Dir(f.name))
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type().IsRegular() && partialForm.MatchString(e.Name()) && strings.HasPrefix(e.Name(), partialStart(f.name)) {
			_ = os.Remove(filepath.Join(filepath.Dir(f.name), e.Name()))
		}
	}
}
