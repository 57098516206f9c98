package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// onceRun is a remembered run, as its file has it.
type onceRun struct {
	Read []struct {
		Op, Path, Answer string
		Most             int64
	}
	Stdout, Stderr []byte
}

// TestRunOnce checks that a run is repeated as soon as anything differs that it has read: it changes one after the other, whatever
// the trace names.
func TestRunOnce(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Chdir(dir)
	do := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		cli.RunOnce(newRoot(), args, &out, &out)
		return out.String()
	}
	if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("git: %s", out)
	}
	writeFile(t, "go.mod", "module example.com/app\n\ngo 1.26\n")
	writeFile(t, "schemas/event.yaml", strings.Replace(watchedSchema, "    draft: true\n", "", 1))
	writeFile(t, "schemas/README", "")
	writeFile(t, "other/btgen.lock", "")
	do("generate")
	assert.Contains(t, "up to date", do("generate"))
	must(t, os.RemoveAll("generated"))
	assert.Contains(t, "created", do("generate"), "after removing all files")
	must(t, os.Remove("other/btgen.lock"))
	before, err := os.ReadDir(filepath.Join(cache, "btgen", "runs"))
	must(t, err)
	do("lint")
	if after, err := os.ReadDir(filepath.Join(cache, "btgen", "runs")); err != nil || len(after) != len(before) {
		t.Errorf("lint is remembered: %v", err)
	}

	for _, args := range testlong.Pick([][]string{{"check"}}, [][]string{{"check"}, {"check", "schemas/event.yaml"}, {"generate"}}) {
		files, err := filepath.Glob(filepath.Join(cache, "btgen", "runs", "*"))
		must(t, err)
		for _, file := range files {
			must(t, os.Remove(file))
		}
		do(args...)
		files, _ = filepath.Glob(filepath.Join(cache, "btgen", "runs", "*"))
		if len(files) != 1 {
			t.Fatalf("%s: %d runs are remembered", args, len(files))
		}
		text, err := os.ReadFile(files[0])
		must(t, err)
		var run onceRun
		must(t, json.Unmarshal(text, &run))
		run.Stdout = []byte("remembered\n")
		text, err = json.Marshal(run)
		must(t, err)
		// remembered reports whether the run is not repeated.
		remembered := func() bool {
			t.Helper()
			must(t, os.WriteFile(files[0], text, 0o600))
			return strings.HasPrefix(do(args...), "remembered\n")
		}
		if !remembered() {
			t.Fatalf("%s: a run that would read the same was repeated", args)
		}
		changed := 0
		for _, q := range testlong.Sample(run.Read, 4) {
			if undo := onceChange(t, dir, q.Op, q.Path, q.Answer); undo != nil {
				if changed++; remembered() {
					t.Errorf("%s: the answer to %s %s differs, and the run was not repeated", args, q.Op, q.Path)
				}
				undo()
			}
		}
		if changed < 5 || !remembered() {
			t.Errorf("%s: %d changes were tried; remembered after these: %t", args, changed, remembered())
		}
	}
}

// onceChange changes the answer to a question, and returns a function that undoes it; nil if it is not about the folder.
func onceChange(t *testing.T, dir, op, path, answer string) (undo func()) {
	t.Helper()
	abs, err := filepath.Abs(path)
	must(t, err)
	if rel, err := filepath.Rel(dir, abs); err != nil || !filepath.IsLocal(rel) || rel == "." && op != "list" || strings.HasPrefix(answer, "error") {
		return nil
	}
	aside := filepath.Join(t.TempDir(), "aside")
	switch {
	case op == "ignored":
		must(t, os.WriteFile(".gitignore", []byte(filepath.Base(path)+"\n"), 0o666))
		return func() { must(t, os.Remove(".gitignore")) }
	case op == "list" && answer != "none":
		added := filepath.Join(path, "added")
		must(t, os.WriteFile(added, nil, 0o666))
		return func() { must(t, os.Remove(added)) }
	case answer == "none":
		if os.Mkdir(path, 0o777) != nil {
			return nil // its folder is missing, too
		}
		return func() { must(t, os.RemoveAll(path)) }
	case op == "head":
		text, err := os.ReadFile(path)
		if err != nil {
			return nil // a folder
		}
		must(t, os.WriteFile(path, append([]byte("\n"), text...), 0o666))
		return func() { must(t, os.WriteFile(path, text, 0o666)) }
	}
	must(t, os.Rename(path, aside))
	return func() {
		must(t, os.RemoveAll(path))
		must(t, os.Rename(aside, path))
	}
}
