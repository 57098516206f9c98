// Package checkpoint keeps the progress of a long call in a file that one process at a time reads and replaces, so that the
// same call can be continued in another process. It does not know what calls do.
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// version is the version of the format.
const version = 4

// Call identifies a call: its command, and the options and other facts with which it can be continued.
type Call struct {
	Command string `json:"command"`
	Facts   []Fact `json:"facts"`
	Again   string `json:"-"` // what to do about a damaged checkpoint, after a colon
}

// Fact is one of the facts about a call: what it is about, such as "instance", and its value.
type Fact struct {
	What string `json:"what"`
	Is   string `json:"is"`
}

// Error is a store.CheckpointError: it reports a checkpoint that cannot be used.
type Error struct {
	File   string
	Reason string
	Err    error // of the file system; may be nil
}

// Error says what is wrong with the file.
func (e *Error) Error() string {
	s := fmt.Sprintf("checkpoint %s: %s", e.File, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Damaged returns the error for a checkpoint that is that of no call, or of one of another version. Its File is open.
func (f *File) Damaged(reason error) error {
	return &Error{File: f.name, Reason: fmt.Sprintf("%v: %s", reason, f.call.Again)}
}

// differs returns why a call does not continue the one of a checkpoint; empty if it does.
func (c Call) differs(saved Call) string {
	if saved.Command != c.Command {
		return "belongs to another command, " + saved.Command + ": use another file"
	}
	for i, f := range c.Facts {
		if is := saved.Facts[min(i, len(saved.Facts)-1)]; is != f {
			return fmt.Sprintf("belongs to another call: its %s is %q, not %q: use another file", f.What, is.Is, f.Is)
		}
	}
	return ""
}

// Text returns the contents of a file: JSON and a line with its SHA-256.
func Text(call Call, progress any) ([]byte, error) {
	body, err := json.Marshal(struct {
		Version int `json:"version"`
		Call
		Progress any `json:"progress"`
	}{version, call, progress})
	return fmt.Appendf(body, "\n%s\n", checksum(body)), err
}

// Parse is the inverse of Text.
func Parse(text []byte) (call Call, progress json.RawMessage, err error) {
	body, sum, found := bytes.Cut(text, []byte("\n"))
	if !found || string(sum) != checksum(body)+"\n" {
		return call, nil, errors.New("damaged: the checksum is wrong")
	}
	var saved struct {
		Version int `json:"version"`
		Call
		Progress json.RawMessage `json:"progress"`
	}
	switch err := json.Unmarshal(body, &saved); {
	case err != nil:
		return call, nil, fmt.Errorf("damaged: %w", err)
	case saved.Version != version:
		return call, nil, fmt.Errorf("another version of btgen wrote it, in format %d, not %d", saved.Version, version)
	case len(saved.Facts) == 0:
		return call, nil, errors.New("damaged: it says nothing about its call")
	}
	return saved.Call, saved.Progress, nil
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Load sets the progress to that of the file; false if the file does not exist. Its error is an *[Error].
func (f *File) Load(progress any) (found bool, err error) {
	text, err := f.read()
	if err != nil {
		return false, &Error{f.name, "not readable", err}
	}
	if text == nil {
		return false, nil
	}
	saved, body, err := Parse(text)
	if err != nil {
		return false, f.Damaged(err)
	}
	if why := f.call.differs(saved); why != "" {
		return false, &Error{File: f.name, Reason: why}
	}
	if err := json.Unmarshal(body, progress); err != nil {
		return false, f.Damaged(fmt.Errorf("damaged: %w", err))
	}
	return true, nil
}

// Save replaces the file by one with other progress. Its error is an *[Error].
func (f *File) Save(progress any) error {
	text, err := Text(f.call, progress)
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("it would be larger than %d MB", maxSize>>20)
	}
	if err == nil {
		err = f.Write(text)
	}
	if err != nil {
		return &Error{f.name, "not writable", err}
	}
	return nil
}

// Open locks the checkpoint of a call, unless another process has. The lock is a file of the operating system, NAME.lock, that
// a process loses when it ends in any way; it stays and is empty. The error is an *[Error].
func Open(name string, call Call) (*File, error) {
	unlock, err := lockFile(name + ".lock")
	switch {
	case errors.Is(err, errLocked):
		return nil, &Error{File: name, Reason: "in use by another process: wait until it ends, or use another file"}
	case err != nil:
		return nil, &Error{name, "not writable", err}
	}
	f := &File{name: name, call: call, unlock: unlock}
	f.Write = f.replace
	f.removePartial()
	return f, nil
}

// Close unlocks the checkpoint.
func (f *File) Close() { f.unlock() }
