package output

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// These variables make the test binary a process that is killed before a given step of
// a job in a folder.
const (
	crashJob  = "BTGEN_TEST_CRASH_JOB"
	crashStep = "BTGEN_TEST_CRASH_STEP"
	crashDir  = "BTGEN_TEST_CRASH_DIR"
)

func TestMain(m *testing.M) {
	if job, ok := crashJobs[os.Getenv(crashJob)]; ok {
		os.Exit(crash(job, os.Getenv(crashDir)))
	}
	os.Exit(m.Run())
}

// crash runs a job in a folder and kills the process before a step.
func crash(job func(dir string) (*Changes, error), dir string) int {
	at, err := strconv.Atoi(os.Getenv(crashStep))
	if err != nil {
		return 3
	}
	var steps atomic.Int64
	disk.before = func(string, string) {
		if steps.Add(1) == int64(at) {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // until the signal arrives
		}
	}
	changes, err := job(dir)
	if err == nil {
		err = changes.Commit(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// generating returns changes of a project's code.
func generating(dir string) (*Changes, error) {
	files := generated("a/keep.go", "k", "a/update.go", "new", "c/create.go", "c", "c/ctest/create.go", "c")
	return Compare(dir, files, owner{})
}

// crashJobs are the jobs to kill: changes of a project's code, and of files that the
// user has named.
var crashJobs = map[string]func(dir string) (*Changes, error){
	"generate": generating,
	"lock": func(dir string) (*Changes, error) {
		changes, err := generating(dir)
		step, err2 := Replace(filepath.Join(dir, "btgen.lock"), []byte("new lock"))
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		return changes, changes.Add(step)
	},
	"format": func(dir string) (*Changes, error) {
		one, err := Replace(filepath.Join(dir, "a/one.yaml"), []byte("new one"))
		two, err2 := Replace(filepath.Join(dir, "two.yaml"), []byte("new two"))
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		return ReplaceAll(one, two)
	},
}

// crashTree contains the files before a job. One of them looks like a partial file, but
// belongs to the user.
func crashTree() map[string]string {
	return map[string]string{
		"a/keep.go": ours("k"), "a/update.go": ours("old"), "b/stale.go": ours("s"), "b/btest/stale.go": ours("s"),
		"btgen.lock": "old lock",
		"a/one.yaml": "old one", "two.yaml": "old two", "a/mine.go": "package a",
		"a/.btgen-12345": "mine", "a/.btgen-notes.tmp": ours("mine"), "a/.btgen-01234567-0123456789abcdef.tmp": "mine, without the header",
	}
}

// The process is killed before each of its steps: no file is ever incomplete, no file
// of the user is changed, and the next run completes the job.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	for name, job := range crashJobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killed := true
			for step := 1; killed; step++ {
				dir := tree(t, crashTree())
				killed = killedAt(t, name, dir, step)
				checkWhole(t, dir)
				if now := contents(t, dir); name == "lock" && now["btgen.lock"] == "old lock" && (now["a/update.go"] != ours("old") || now["c/create.go"] != "" || now["b/stale.go"] == "") {
					t.Errorf("the code is new but the lock is old, which loses the accepted changes")
				}
				changes, err := job(dir)
				must(t, err)
				carryOut(t, changes)
				compare(t, afterCrash(name), contents(t, dir))
				if t.Failed() {
					t.Fatalf("killed before step %d", step)
				}
				if killed != (step <= steps[name]) {
					t.Fatalf("killed before step %d: %v", step, killed)
				}
			}
		})
	}
}

// steps is the number of steps of each job.
var steps = map[string]int{
	"generate": 2 + 3*3 + 3 + 2 + 6 + 2, // folders created; files staged, renamed and removed; folders synced and removed
	"lock":     2 + 4*3 + 4 + 2 + 6 + 2, // the same, and the lock
	"format":   2*3 + 2 + 2,
}

// killedAt runs a job that is killed before a step, and reports whether it was killed
// before its end.
func killedAt(t *testing.T, job, dir string, step int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashJob+"="+job, crashDir+"="+dir, crashStep+"="+strconv.Itoa(step))
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == 3 || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return err != nil
}

// checkWhole checks that every file is in its old or its new state.
func checkWhole(t *testing.T, dir string) {
	t.Helper()
	before, now := crashTree(), contents(t, dir)
	for name, content := range now {
		isAfter := func(job string) bool { return afterCrash(job)[name] == content }
		jobs := slices.Collect(maps.Keys(crashJobs))
		if content != before[name] && !slices.ContainsFunc(jobs, isAfter) && !strings.HasSuffix(name, partialSuffix) {
			t.Errorf("%s holds %q", name, content)
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok && !strings.HasPrefix(name, "b/") {
			t.Errorf("%s is gone", name)
		}
	}
}

// afterCrash returns the files after a job is done.
func afterCrash(job string) map[string]string {
	want := crashTree()
	switch job {
	case "generate":
		want["a/update.go"], want["c/create.go"], want["c/ctest/create.go"] = ours("new"), ours("c"), ours("c")
		delete(want, "b/stale.go")
		delete(want, "b/btest/stale.go")
	case "lock":
		want = afterCrash("generate")
		want["btgen.lock"] = "new lock"
	case "format":
		want["a/one.yaml"], want["two.yaml"] = "new one", "new two"
	}
	return want
}

// prepared returns a folder with the files before a job, and changes of its code.
func prepared(t *testing.T) (dir string, changes *Changes) {
	t.Helper()
	dir = tree(t, crashTree())
	changes, err := generating(dir)
	must(t, err)
	return dir, changes
}

// The content of a file is on disk before its name, and its name before the command
// reports success.
func TestSynced(t *testing.T) {
	_, changes := prepared(t)
	var mu sync.Mutex
	staged, synced, named := 0, 0, map[string]bool{}
	disk.before = func(what, path string) {
		mu.Lock()
		defer mu.Unlock()
		switch what {
		case "create":
			staged++
		case "sync":
			synced++
		case "rename":
			if synced < staged {
				t.Errorf("%s has its name before its content is on disk", path)
			}
			named[filepath.Dir(path)] = true
		case "remove", "mkdir":
			named[filepath.Dir(path)] = true
		case "syncDir":
			delete(named, path)
		}
	}
	defer func() { disk.before = nil }()
	carryOut(t, changes)
	if staged != 3 || len(named) > 0 {
		t.Errorf("%d files, and folders that are not on disk: %v", staged, named)
	}
}

// Interrupting a run between two steps restores the old files.
func TestInterrupted(t *testing.T) {
	defer func() { disk.before = nil }()
	for step := 1; step <= 2+3*3+3+2; step++ {
		dir, changes := prepared(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		asked := errors.New("asked to end")
		var done atomic.Int64
		disk.before = func(string, string) {
			if done.Add(1) == int64(step) {
				cancel(asked)
			}
		}
		err := changes.Commit(ctx)
		disk.before = nil
		want := crashTree()
		if err == nil && step == 2+3*3+3+2 {
			want = afterCrash("generate") // the interruption was too late
		} else if !errors.Is(err, asked) {
			t.Fatalf("interrupted before step %d: %v", step, err)
		}
		compare(t, want, contents(t, dir))
	}
}

// If a file changes while changes are committed, neither it nor any other file is
// changed.
func TestChangedMeanwhile(t *testing.T) {
	for _, name := range []string{"a/update.go", "b/stale.go", "c/create.go"} {
		dir, changes := prepared(t)
		want := crashTree()
		want[name] = "somebody's"
		path := filepath.Join(dir, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte("somebody's"), 0o666)))
		err := changes.Commit(t.Context())
		if changed, ok := errors.AsType[*ChangedError](err); !ok || changed.Path != path {
			t.Error(err)
		}
		compare(t, want, contents(t, dir))
	}
}

// Partial files of a killed run are identified by name and content and removed, and no
// other files.
func TestPartial(t *testing.T) {
	name := "/.btgen-01234567-0123456789abcdef.tmp"
	files := map[string]string{
		"a" + name: "", "b" + name: "// Code gen", "c" + name: Header, "d" + name: ours("all"), "a/keep.go": ours(""),
		"e" + name: Header[1:], "f/.btgen-1.tmp": "", "g/.btgen-01234567-0123456789abcdeX.tmp": "", "h" + name + "/x": "",
	}
	dir := tree(t, files)
	if err := os.Symlink("../a/keep.go", filepath.Join(dir, "f"+name)); err != nil {
		t.Skip(err)
	}
	carryOut(t, compared(t, dir, owner{stale: func(Record) bool { return false }}, "a/keep.go", ""))
	for _, gone := range []string{"a", "b", "c", "d"} {
		delete(files, gone+name)
	}
	compare(t, files, contents(t, dir))
	_, err := os.Lstat(filepath.Join(dir, "f"+name))
	assert.Is(t, nil, err)
}

// Only one process at a time holds the lock of a folder, even under different names of
// the folder.
func TestLock(t *testing.T) {
	dir := tree(t, map[string]string{"real/x": ""})
	if err := os.Symlink("real", filepath.Join(dir, "linked")); err != nil {
		t.Skip(err)
	}
	var inside atomic.Int64
	held := 0
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			unlock, err := Lock(filepath.Join(dir, []string{"real", "linked"}[i%2]))
			if err != nil {
				t.Error(err)
				return
			}
			compare(t, int64(1), inside.Add(1))
			held++
			inside.Add(-1)
			unlock()
		})
	}
	group.Wait()
	compare(t, 8, held)
	unlock, err := Lock(dir) // that of another folder
	must(t, err)
	unlock()
}
