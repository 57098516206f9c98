package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// call is a call with a checkpoint.
var call = Call{Command: "copy", Facts: []Fact{{"instance", "i"}, {"source", "s"}}, Again: "delete it"}

var must = assert.Must

// saves opens a checkpoint, loads it, and saves another number.
func saves(name string, of Call, n int) (before int, err error) {
	f, err := Open(name, of)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Load(&before); err != nil {
		return 0, err
	}
	return before, f.Save(n)
}

// TestCalls continues with the checkpoint of the same call, and refuses others, damaged ones and one in use.
func TestCalls(t *testing.T) {
	name := filepath.Join(t.TempDir(), "checkpoint")
	for n := range 3 {
		if before, err := saves(name, call, n+1); before != n || err != nil {
			t.Errorf("%d, %v", before, err)
		}
	}
	refused := func(of Call, want string) {
		t.Helper()
		if _, err := saves(name, of, 0); err == nil || !strings.HasPrefix(err.Error(), "checkpoint "+name+": "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	refused(Call{Command: "roll", Facts: call.Facts}, "belongs to another command, copy: use")
	refused(Call{Command: "copy", Facts: []Fact{{"instance", "i"}, {"source", "other"}}}, `belongs to another call: its source is "s", not "other": use`)
	refused(Call{Command: "copy", Facts: append(call.Facts[:2:2], Fact{"target", "t"})}, "belongs to another call: ")
	text, err := os.ReadFile(name)
	must(t, err)
	for i := range text {
		damaged := slices.Clone(text)
		damaged[i] ^= 1
		must(t, os.WriteFile(name, damaged, 0o600))
		refused(call, "damaged: ")
	}
	empty, err := Text(Call{}, 1)
	must(t, err)
	must(t, os.WriteFile(name, empty, 0o600))
	refused(call, "damaged: ")
	wrong, err := Text(call, "text")
	must(t, err)
	must(t, os.WriteFile(name, wrong, 0o600))
	refused(call, "damaged: ")
	for body, want := range map[string]string{ // of a back-fill and a rollup of before the first release
		`{"version":2,"instance":"i","source":"a","target":"b","ranges":[]}`: "another version of btgen wrote it, in format 2, not 4: delete it",
		`{"version":1,"instance":"i","layouts":["a: "],"ranges":[]}`:         "another version of btgen wrote it, in format 1, not 4: delete it",
	} {
		must(t, os.WriteFile(name, []byte(body+"\n"+checksum([]byte(body))+"\n"), 0o600))
		refused(call, want)
	}
	f, err := Open(name, call)
	must(t, err)
	defer f.Close()
	refused(call, "in use by another process: ")
	must(t, os.Rename(name, name+".1"))
	must(t, os.WriteFile(name, []byte("of another machine"), 0o600))
	if err := f.Save(1); !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
}

// mkfifo creates a named pipe; nil if the operating system has none.
var mkfifo func(path string, mode uint32) error

// TestCheckpointFiles leaves the files of others alone: it follows no symbolic links, reads
// regular files of a limited size only, and writes to a new file.
func TestCheckpointFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links and named pipes")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "checkpoint")
	victim := filepath.Join(dir, "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	refused := func(what string) {
		t.Helper()
		if _, err := saves(file, call, 1); err == nil {
			t.Errorf("%s: %v", what, err)
		}
		must(t, os.RemoveAll(file))
	}
	must(t, os.Symlink(victim, file))
	refused("a link")
	must(t, os.Symlink("/dev/zero", file))
	refused("a device")
	if mkfifo != nil {
		must(t, mkfifo(file, 0o600))
		refused("a named pipe")
	}
	large, err := os.Create(file)
	must(t, err)
	must(t, errors.Join(large.Truncate(maxSize+1), large.Close()))
	refused("a large file")
	must(t, os.Remove(file+".lock"))
	must(t, os.Symlink(victim, file+".lock"))
	refused("a link as lock")
	must(t, os.Remove(file+".lock"))
	must(t, os.WriteFile(filepath.Join(dir, partialStart(file)+"1"+partialEnd), []byte("{"), 0o600)) // of a killed process
	other := partialStart("other") + "1" + partialEnd
	must(t, os.WriteFile(filepath.Join(dir, other), nil, 0o600))
	_, err = saves(file, call, 1)
	must(t, err)
	var names []string
	must(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		names = append(names, d.Name())
		return err
	}))
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" || !slices.Equal(names[1:], []string{other, "checkpoint", "checkpoint.lock", "victim"}) {
		t.Errorf("%q, %v, %v", text, err, names)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
